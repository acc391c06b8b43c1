/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of CUPTI's binary interface that stepscope uses, from 11.8 to 13.x: its own
 * declarations, so that the build needs no vendor header. tests/e2e/test_cupti_layout.py compares
 * them with the headers of each version.
 */
#ifndef SS_INJECT_CUPTI_CUPTI_ABI_H
#define SS_INJECT_CUPTI_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* CUptiResult */
enum ss_cupti_result {
    SS_CUPTI_OK = 0,
    SS_CUPTI_NOT_INITIALIZED = 15,
    SS_CUPTI_NOT_PERMITTED = 35,
    SS_CUPTI_OTHER_SUBSCRIBER = 39,
    SS_CUPTI_UNKNOWN_ERROR = 999
};

/* CUpti_ActivityKind */
enum ss_cupti_kind {
    SS_CUPTI_COPY = 1,
    SS_CUPTI_MEMSET = 2,
    SS_CUPTI_KERNEL = 3,
    SS_CUPTI_DRIVER_CALL = 4,
    SS_CUPTI_RUNTIME_CALL = 5,
    SS_CUPTI_DEVICE = 8,
    SS_CUPTI_CONTEXT = 9,
    SS_CUPTI_CONCURRENT_KERNEL = 10,
    SS_CUPTI_OVERHEAD = 17,
    SS_CUPTI_PEER_COPY = 22,
    SS_CUPTI_EVENT = 36,
    SS_CUPTI_WAIT = 38,
    SS_CUPTI_EXTERNAL = 39,
    SS_CUPTI_MEMORY = 49,
    SS_CUPTI_POOL = 50,
    SS_CUPTI_GRAPH_LAUNCH = 51,
    SS_CUPTI_COMPILATION = 52
};

/* CUpti_ActivityAttribute */
enum ss_cupti_attribute {
    SS_CUPTI_ATTRIBUTE_DEVICE_BUFFER_SIZE = 0,
    SS_CUPTI_ATTRIBUTE_ZEROED_BUFFERS = 5,
    SS_CUPTI_ATTRIBUTE_DEVICE_BUFFERS_BEFOREHAND = 6
};

enum { SS_CUPTI_FLUSH_NORMAL = 0, SS_CUPTI_FLUSH_FORCED = 1 }; /* CUpti_ActivityFlag */
/* CUpti_CallbackDomain */
enum { SS_CUPTI_DOMAIN_DRIVER = 1, SS_CUPTI_DOMAIN_RUNTIME = 2, SS_CUPTI_DOMAIN_RESOURCE = 3 };
/* CUpti_CallbackIdResource, CUgraphNodeType */
enum {
    SS_CUPTI_GRAPH_ENDS = 10,
    SS_CUPTI_NODE_MADE = 13,
    SS_CUPTI_EXECUTABLE_ENDS = 19,
    SS_CUPTI_NODE_CLONED = 20
};
enum { SS_CUPTI_KERNEL_NODE = 0 };
enum { SS_CUPTI_ENTERS = 0, SS_CUPTI_EXITS = 1 }; /* CUpti_ApiCallbackSite */
enum { SS_CUPTI_SYSTEM_THREAD_IDS = 1 };          /* CUpti_ActivityThreadIdType */
enum { SS_CUPTI_COPY_IS_ASYNC = 1 };              /* CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC */
/* CUpti_ActivityMemoryOperationType, CUpti_ActivityMemoryPoolType */
enum { SS_CUPTI_ALLOCATES = 1, SS_CUPTI_RELEASES = 2, SS_CUPTI_LOCAL_POOL = 1 };

/* CUpti_CallbackData */
struct ss_cupti_callback_data {
    uint32_t site;
    const char *function;
    const void *parameters;
    void *return_value;
    const char *symbol;
    void *context;
    uint32_t context_number;
    uint64_t *correlation_data;
    uint32_t correlation;
};

/* CUpti_ResourceData */
struct ss_cupti_resource_data {
    void *context, *stream;
    const void *descriptor; /* of nodes: struct ss_cupti_graph_data */
};

/* CUpti_GraphData */
struct ss_cupti_graph_data {
    void *graph, *original_graph, *node, *original_node;
    int type;
    void *dependency, *executable;
};

/* CUpti_SubscriberParams */
struct ss_cupti_subscriber_params {
    size_t size;
    const char *name;
    char *old_name;
    size_t old_name_size;
};

/* CUuuid */
struct ss_cupti_uuid {
    uint8_t bytes[16];
};

typedef void ss_cupti_request_buffer(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void ss_cupti_buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                                       size_t valid_size);
typedef uint64_t ss_cupti_timestamp(void);
typedef void ss_cupti_callback(void *user, int domain, uint32_t function, const void *data);

/* The functions, by the name that follows "cupti". */
#define SS_CUPTI_NEEDED_FUNCTIONS(X)                                                               \
    X(GetVersion, uint32_t *version)                                                               \
    X(GetTimestamp, uint64_t *timestamp)                                                           \
    X(GetResultString, uint32_t result, const char **text)                                         \
    X(GetCallbackName, int domain, uint32_t function, const char **name)                           \
    X(Subscribe, void **subscriber, ss_cupti_callback *callback, void *user)                       \
    X(Unsubscribe, void *subscriber)                                                               \
    X(EnableCallback, uint32_t enable, void *subscriber, int domain, uint32_t function)            \
    X(ActivityRegisterCallbacks, ss_cupti_request_buffer *request,                                 \
      ss_cupti_buffer_completed *completed)                                                        \
    X(ActivityEnable, int kind)                                                                    \
    X(ActivityDisable, int kind)                                                                   \
    X(ActivityFlushAll, uint32_t flag)                                                             \
    X(ActivityGetNextRecord, uint8_t *buffer, size_t valid_size, void **record)                    \
    X(ActivityGetNumDroppedRecords, void *context, uint32_t stream, size_t *dropped)               \
    X(ActivitySetAttribute, int attribute, size_t *size, void *value)
/* Those that some versions, or other implementations, lack. */
#define SS_CUPTI_OPTIONAL_FUNCTIONS(X)                                                             \
    X(ActivityEnableAndDump, int kind)                                                             \
    X(ActivityFlushPeriod, uint32_t ms)                                                            \
    X(ActivityRegisterTimestampCallback, ss_cupti_timestamp *timestamp)                            \
    X(ActivityEnableRuntimeApi, uint32_t function, uint8_t enable)                                 \
    X(ActivityEnableDriverApi, uint32_t function, uint8_t enable)                                  \
    X(ActivityEnableAllSyncRecords, uint8_t enable)                                                \
    X(SetThreadIdType, int type)                                                                   \
    X(GetGraphNodeId, void *node, uint64_t *id)                                                    \
    X(GetGraphExecId, const void *executable, uint32_t *id)                                        \
    X(Subscribe_v2, void **subscriber, ss_cupti_callback *callback, void *user, void *params)

/* --- records ---------------------------------------------------------------------------------- */

/* SS_CUPTI_<record>_BYTES: how much of the record is read. ss_cupti_<record>_<field>(record) reads
 * a field of a record that has so much. */
#define SS_CUPTI_RECORD(record, vendor, size) enum { SS_CUPTI_##record##_BYTES = size };
#define SS_CUPTI_FIELD(record, field, member, type, offset)                                        \
    static inline type ss_cupti_##record##_##field(const void *bytes)                              \
    {                                                                                              \
        type value;                                                                                \
        memcpy(&value, (const char *)bytes + (offset), sizeof value);                              \
        return value;                                                                              \
    }
#include "inject/cupti/cupti_layout.def"

#endif
