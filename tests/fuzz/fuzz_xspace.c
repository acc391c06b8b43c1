/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an XSpace of JAX or TensorFlow: refused, or a model whose sums agree. */
#include "import_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_import(&ss_importer_xspace, data, size);
    return 0;
}
