/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of rocprofiler-sdk's interface that stepscope uses, declared by itself, so that building
 * needs nothing of ROCm: 0.4 (ROCm 6.2) and later. Handles are structs of one number in the SDK,
 * which are passed as the number. Kinds of records have other numbers in each version, and the same
 * names (kinds.h). tests/e2e/test_rocm_layout.py compares this with the SDK's headers.
 */
#ifndef SS_INJECT_ROCM_ROCM_ABI_H
#define SS_INJECT_ROCM_ROCM_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Other numbers change with the versions, and are shown by the SDK's own words. */
enum ss_rocm_status { SS_ROCM_OK = 0, SS_ROCM_ERROR = 1, SS_ROCM_CONFLICT = 12 };

enum { SS_ROCM_OLDEST_VERSION = 400, SS_ROCM_LONG_IDS_FROM = 10000 /* 1.0 */ };

enum {
    SS_ROCM_CATEGORY_TRACING = 1,
    SS_ROCM_GPU = 2,     /* type of an agent */
    SS_ROCM_DISCARD = 1, /* what a full buffer does */
    SS_ROCM_ENTERS = 1,
    SS_ROCM_LEAVES = 2,
    SS_ROCM_SYMBOL_LOADED = 2, /* operation of code objects */
    SS_ROCM_STREAM_SET = 3,    /* operation of streams */
    SS_ROCM_REQUEST_COPY = 10, /* kinds of requests of external ids */
    SS_ROCM_REQUEST_KERNEL = 11
};

/* Operations of copies. */
enum ss_rocm_copy {
    SS_ROCM_HOST_TO_HOST = 1,
    SS_ROCM_HOST_TO_DEVICE,
    SS_ROCM_DEVICE_TO_HOST,
    SS_ROCM_DEVICE_TO_DEVICE
};

/* rocprofiler_record_header_t */
struct ss_rocm_record_header {
    uint32_t category, kind;
    const void *payload;
};

/* rocprofiler_callback_tracing_record_t; before 1.0 without `ancestor`. Passed by value. */
struct ss_rocm_event {
    uint64_t context, thread;
    uint64_t correlation, external, ancestor;
    uint32_t kind;
    int32_t operation;
    uint32_t phase;
    const void *payload;
};
struct ss_rocm_old_event {
    uint64_t context, thread;
    uint64_t correlation, external;
    uint32_t kind;
    int32_t operation;
    uint32_t phase;
    const void *payload;
};

/* rocprofiler_client_id_t */
struct ss_rocm_client {
    const char *name;
    uint32_t handle;
};

typedef void ss_rocm_finalize_client(struct ss_rocm_client client);

/* rocprofiler_tool_configure_result_t */
struct ss_rocm_tool {
    size_t size;
    int (*initialize)(ss_rocm_finalize_client *finalize, void *data);
    void (*finalize)(void *data);
    void *data;
};

typedef void ss_rocm_on_buffer(uint64_t context, uint64_t buffer,
                               struct ss_rocm_record_header **headers, size_t count, void *data,
                               uint64_t dropped);
typedef void ss_rocm_on_event(struct ss_rocm_event event, uint64_t *user, void *data);
typedef void ss_rocm_on_old_event(struct ss_rocm_old_event event, uint64_t *user, void *data);
typedef int ss_rocm_on_request(uint64_t thread, uint64_t context, uint32_t kind, int32_t operation,
                               uint64_t correlation, uint64_t *external, void *data);
typedef uint32_t ss_rocm_on_agents(int version, const void **agents, size_t count, void *data);

/* The functions, by the name that follows "rocprofiler_". */
#define SS_ROCM_NEEDED_FUNCTIONS(X)                                                                \
    X(get_timestamp, uint64_t *timestamp)                                                          \
    X(create_context, uint64_t *context)                                                           \
    X(start_context, uint64_t context)                                                             \
    X(stop_context, uint64_t context)                                                              \
    X(create_buffer, uint64_t context, size_t size, size_t watermark, int policy,                  \
      ss_rocm_on_buffer *callback, void *data, uint64_t *buffer)                                   \
    X(flush_buffer, uint64_t buffer)                                                               \
    X(configure_buffer_tracing_service, uint64_t context, uint32_t kind,                           \
      const int32_t *operations, size_t count, uint64_t buffer)                                    \
    X(configure_callback_tracing_service, uint64_t context, uint32_t kind,                         \
      const int32_t *operations, size_t count, void *callback, void *data)                         \
    X(query_buffer_tracing_kind_name, uint32_t kind, const char **name, uint64_t *length)          \
    X(query_callback_tracing_kind_name, uint32_t kind, const char **name, uint64_t *length)        \
    X(query_buffer_tracing_kind_operation_name, uint32_t kind, int32_t operation,                  \
      const char **name, uint64_t *length)                                                         \
    X(query_available_agents, int version, ss_rocm_on_agents *callback, size_t agent_size,         \
      void *data)
/* Those without which less is recorded. */
#define SS_ROCM_OPTIONAL_FUNCTIONS(X)                                                              \
    X(context_is_valid, uint64_t context, int *is_valid)                                           \
    X(configure_external_correlation_id_request_service, uint64_t context, const uint32_t *kinds,  \
      size_t count, ss_rocm_on_request *callback, void *data)

/* rocprofiler_uuid_t */
struct ss_rocm_uuid {
    uint8_t bytes[16];
};

/* --- records ---------------------------------------------------------------------------------- */

/* SS_ROCM_<record>_BYTES: how much of the record is read. ss_rocm_<record>_<field>(record) reads a
 * field of a record that has so much. */
#define SS_ROCM_RECORD(record, vendor, size) enum { SS_ROCM_##record##_BYTES = size };
#define SS_ROCM_FIELD(record, field, member, type, offset)                                         \
    static inline type ss_rocm_##record##_##field(const void *bytes)                               \
    {                                                                                              \
        type value;                                                                                \
        memcpy(&value, (const char *)bytes + (offset), sizeof value);                              \
        return value;                                                                              \
    }
#include "inject/rocm/rocm_layout.def"

#endif
