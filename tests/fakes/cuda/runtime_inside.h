/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the fake libcudart. */
#ifndef FAKE_CUDART_INSIDE_H
#define FAKE_CUDART_INSIDE_H

#include "driver_extra.h"
#include "runtime_api.h"

#ifndef EXPORT
#define EXPORT __attribute__((visibility("default")))
#endif

struct host_call {
    cudaHostFn_t function;
    void *argument;
};

static inline cudaError_t as_error(enum sim_result result)
{
    return (cudaError_t)result; /* the same numbers */
}

/* Device memory for a variable of the program, made when it is first asked for. */
void sim_register_variable(const void *host, size_t size);
void *sim_variable_at(const void *host, size_t *size);

#endif
