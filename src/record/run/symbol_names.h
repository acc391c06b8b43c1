/* SPDX-License-Identifier: Apache-2.0 */
/* The readable form of C++ symbols, such as the names of kernels: by the C++ runtime of this
 * machine, where there is one; else they stay as they are. One thread. */
#ifndef SS_RECORD_RUN_SYMBOL_NAMES_H
#define SS_RECORD_RUN_SYMBOL_NAMES_H

#include "base/strview.h"

/* `symbol` is hostile. Free the result with ss_symbol_free. NULL: it stays as it is. */
char *ss_symbol_demangle(struct ss_strview symbol);
void ss_symbol_free(char *name);

#endif
