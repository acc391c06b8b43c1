/* SPDX-License-Identifier: Apache-2.0 */
#include "record/processes/context.h"

void ss_record_context_check(struct ss_record_context *context, enum ss_status status,
                             const struct ss_error *err)
{
    if (status != SS_OK && context->error.status == SS_OK) {
        context->error = *err;
    }
}
