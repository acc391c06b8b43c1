/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program is asked to measure, as the text of STEPSCOPE_COUNTERS:
 * "skip=5;count=3;counters=memory" or, of kernels, "skip=0;count=10;counters=detailed;kernel=gemm".
 * The name of a kernel comes last, since it may have any characters.
 */
#ifndef SS_COUNTERS_REQUEST_H
#define SS_COUNTERS_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum { SS_COUNTER_REQUEST_BYTES = 5000, SS_COUNTER_REQUEST_MOST = 1000000000 };

struct ss_counter_request {
    long long skip;  /* steps, or launches of such kernels, before the first that is measured */
    long long count; /* measurements; 0: to the end */
    bool is_kernel;
    char counters[4096]; /* ss_counters_check */
    char kernel[512];    /* a regular expression (POSIX extended), of the readable name */
};

/* SS_E_LIMIT: a text is too long. */
enum ss_status ss_counter_request_set(struct ss_counter_request *request, const char *counters,
                                      const char *kernel, struct ss_error *err);
void ss_counter_request_put(const struct ss_counter_request *request, char *text, size_t size);
/* NULL and "": false, nothing is to be measured; so is a text that is not of this form. */
bool ss_counter_request_parse(const char *text, struct ss_counter_request *request);

#endif
