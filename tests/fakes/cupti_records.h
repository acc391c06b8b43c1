/* SPDX-License-Identifier: Apache-2.0 */
/* Records of CUPTI, written by hand at the offsets of src/inject/cupti/cupti_layout.def, with the
 * sizes that versions of CUPTI give them. */
#ifndef SS_TEST_CUPTI_RECORDS_H
#define SS_TEST_CUPTI_RECORDS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "inject/cupti/cupti_abi.h"

/* ss_put_<record>_<field>(record, value) */
#define SS_CUPTI_FIELD(record, field, member, type, offset)                                        \
    static inline void ss_put_##record##_##field(void *bytes, type value)                          \
    {                                                                                              \
        memcpy((char *)bytes + (offset), &value, sizeof value);                                    \
    }
#include "inject/cupti/cupti_layout.def"

enum {
    SS_KERNEL_8_BYTES = 176,  /* CUPTI 11.8 */
    SS_KERNEL_9_BYTES = 208,  /* 12 */
    SS_KERNEL_10_BYTES = 216, /* 13.0 */
    SS_COPY_5_BYTES = 88,
    SS_COPY_6_BYTES = 96,
    SS_MEMSET_4_BYTES = 88,
    SS_PEER_COPY_4_BYTES = 96,
    SS_MEMORY_3_BYTES = 120,
    SS_MEMORY_4_BYTES = 128,
    SS_POOL_3_BYTES = 80,
    SS_COMPILATION_2_BYTES = 72,
    SS_EXTERNAL_BYTES = 24
};

static inline void ss_put_kind(void *record, uint32_t kind)
{
    memcpy(record, &kind, sizeof kind);
}

static inline void ss_put_kernel(void *record, uint32_t correlation, const char *name,
                                 uint64_t begin_ns, uint64_t end_ns)
{
    ss_put_kind(record, SS_CUPTI_CONCURRENT_KERNEL);
    ss_put_kernel_correlation(record, correlation);
    ss_put_kernel_name(record, (uint64_t)(uintptr_t)name);
    ss_put_kernel_begin(record, begin_ns);
    ss_put_kernel_end(record, end_ns);
    ss_put_kernel_stream(record, 7);
    ss_put_kernel_context(record, 1);
    ss_put_kernel_registers(record, 32);
    ss_put_kernel_grid_x(record, 4);
    ss_put_kernel_grid_y(record, 2);
    ss_put_kernel_grid_z(record, 1);
    ss_put_kernel_block_x(record, 256);
    ss_put_kernel_block_y(record, 1);
    ss_put_kernel_block_z(record, 1);
}

static inline void ss_put_call(void *record, uint32_t kind, uint32_t function, uint32_t thread,
                               uint32_t correlation, uint64_t begin_ns, uint64_t end_ns)
{
    ss_put_kind(record, kind);
    ss_put_call_function(record, function);
    ss_put_call_thread(record, thread);
    ss_put_call_correlation(record, correlation);
    ss_put_call_begin(record, begin_ns);
    ss_put_call_end(record, end_ns);
}

#endif
