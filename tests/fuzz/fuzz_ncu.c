/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a table of Nsight Compute: refused, or kernels whose metrics are theirs. */
#include "import_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_import(&ss_importer_ncu, data, size);
    return 0;
}
