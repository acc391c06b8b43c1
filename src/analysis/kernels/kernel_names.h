/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of kernels for people. Compilers give kernels their whole C++ signature. Pure; any text is
 * accepted.
 */
#ifndef SS_ANALYSIS_KERNELS_KERNEL_NAMES_H
#define SS_ANALYSIS_KERNELS_KERNEL_NAMES_H

#include "base/strbuf.h"
#include "base/strview.h"

/* The name of the function alone, as Nsight Systems' base name: without return type, namespaces,
 * template arguments and parameters. "void at::native::fill<int>(int*)" is "fill". A part of
 * `name`. */
struct ss_strview ss_kernel_base_name(struct ss_strview name);
/* Appends the name without return type, namespaces and parameters, but with its template arguments,
 * which often distinguish kernels of one base name. */
void ss_kernel_short_name(struct ss_strview name, struct ss_strbuf *out);

#endif
