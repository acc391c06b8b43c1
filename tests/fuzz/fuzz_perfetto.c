/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a Perfetto trace of another program: refused, or a model whose parts fit. */
#include "import_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_import(&ss_importer_perfetto, data, size);
    return 0;
}
