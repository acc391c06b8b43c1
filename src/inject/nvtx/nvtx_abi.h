/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface between programs with NVTX 3 and the tool that they load: layouts and numbers that
 * the NVTX headers publish, as far as stepscope uses them. tests/workloads/nvtx/published.c
 * compares them with NVTX's own headers where these are installed. All of it comes from the
 * program: pointers may be NULL, structures shorter or longer than these, numbers unknown.
 */
#ifndef SS_INJECT_NVTX_NVTX_ABI_H
#define SS_INJECT_NVTX_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

/* --- the entry ------------------------------------------------------------------------------- */

enum { SS_NVTX_VERSION = 3 };

enum { SS_NVTX_EXPORT_CALLBACKS = 1, SS_NVTX_EXPORT_VERSION = 3 };

typedef void (*ss_nvtx_function)(void);
typedef const void *ss_nvtx_get_export_table(uint32_t id);

struct ss_nvtx_callbacks {
    size_t struct_size;
    /* Returns 1 if `*table` holds `*size` addresses of slots, the first of them NULL. */
    int (*get_module)(int module, ss_nvtx_function ***table, unsigned *size);
};

struct ss_nvtx_version_info {
    size_t struct_size;
    uint32_t version;
    uint32_t reserved;
    void (*set_tool_version)(uint32_t version);
};

enum ss_nvtx_module {
    SS_NVTX_CORE = 1,
    SS_NVTX_CUDA,
    SS_NVTX_OPENCL,
    SS_NVTX_CUDART,
    SS_NVTX_CORE2,
    SS_NVTX_SYNC,
    SS_NVTX_MODULE_COUNT
};

/* Slots of each module, from 1. */
enum {
    SS_NVTX_MARK_EX = 1,
    SS_NVTX_MARK_A,
    SS_NVTX_MARK_W,
    SS_NVTX_START_EX,
    SS_NVTX_START_A,
    SS_NVTX_START_W,
    SS_NVTX_END,
    SS_NVTX_PUSH_EX,
    SS_NVTX_PUSH_A,
    SS_NVTX_PUSH_W,
    SS_NVTX_POP,
    SS_NVTX_NAME_CATEGORY_A,
    SS_NVTX_NAME_CATEGORY_W,
    SS_NVTX_NAME_THREAD_A,
    SS_NVTX_NAME_THREAD_W,
    SS_NVTX_CORE_COUNT
};
enum {
    SS_NVTX_DOMAIN_MARK = 1,
    SS_NVTX_DOMAIN_START,
    SS_NVTX_DOMAIN_END,
    SS_NVTX_DOMAIN_PUSH,
    SS_NVTX_DOMAIN_POP,
    SS_NVTX_RESOURCE_CREATE,
    SS_NVTX_RESOURCE_DESTROY,
    SS_NVTX_DOMAIN_CATEGORY_A,
    SS_NVTX_DOMAIN_CATEGORY_W,
    SS_NVTX_REGISTER_A,
    SS_NVTX_REGISTER_W,
    SS_NVTX_DOMAIN_CREATE_A,
    SS_NVTX_DOMAIN_CREATE_W,
    SS_NVTX_DOMAIN_DESTROY,
    SS_NVTX_INITIALIZE,
    SS_NVTX_CORE2_COUNT
};
/* CUDA, OpenCL and CUDART only name objects, first in bytes, then in wide characters. */
enum { SS_NVTX_CUDA_COUNT = 9, SS_NVTX_OPENCL_COUNT = 15, SS_NVTX_CUDART_COUNT = 7 };
enum {
    SS_NVTX_SYNC_CREATE = 1,
    SS_NVTX_SYNC_DESTROY,
    SS_NVTX_SYNC_ACQUIRE,
    SS_NVTX_SYNC_FAILED,
    SS_NVTX_SYNC_ACQUIRED,
    SS_NVTX_SYNC_RELEASING,
    SS_NVTX_SYNC_COUNT
};

/* --- attributes ------------------------------------------------------------------------------ */

/* What a push returns if the tool does not track levels. */
enum { SS_NVTX_NOT_TRACKED = -2 };

enum ss_nvtx_message_type { SS_NVTX_NO_MESSAGE, SS_NVTX_ASCII, SS_NVTX_WIDE, SS_NVTX_REGISTERED };

enum { SS_NVTX_ARGB = 1 };

enum ss_nvtx_payload_type {
    SS_NVTX_NO_PAYLOAD,
    SS_NVTX_UINT64,
    SS_NVTX_INT64,
    SS_NVTX_DOUBLE,
    SS_NVTX_UINT32,
    SS_NVTX_INT32,
    SS_NVTX_FLOAT,
    SS_NVTX_EXTENDED = -541261815 /* 0xDFBD0009: `reserved` structures of the payload extension */
};

union ss_nvtx_message {
    const char *ascii;
    const wchar_t *wide;
    const void *registered;
};

struct ss_nvtx_event {
    uint16_t version;
    uint16_t size;
    uint32_t category;
    int32_t colour_type;
    uint32_t colour;
    int32_t payload_type;
    int32_t reserved;
    union {
        uint64_t u64;
        int64_t i64;
        double f64;
        uint32_t u32;
        int32_t i32;
        float f32;
    } payload;
    int32_t message_type;
    union ss_nvtx_message message;
};

struct ss_nvtx_resource {
    uint16_t version;
    uint16_t size;
    int32_t type; /* class << 16 | kind */
    uint64_t identifier;
    int32_t message_type;
    union ss_nvtx_message message;
};

struct ss_nvtx_sync {
    uint16_t version;
    uint16_t size;
    int32_t message_type;
    union ss_nvtx_message message;
};

/* --- extensions ------------------------------------------------------------------------------ */

struct ss_nvtx_segment {
    size_t id;
    size_t slot_count;
    intptr_t *slots;
};

struct ss_nvtx_extension {
    uint16_t version;
    uint16_t size;
    uint16_t module;
    uint16_t compatible; /* 0x0104: version 1.4 */
    size_t segment_count;
    struct ss_nvtx_segment *segments;
    intptr_t (*get_export)(uint32_t id);
    const void *info;
};

enum { SS_NVTX_EXT_PAYLOAD = 2, SS_NVTX_EXT_COUNTERS = 4 };
enum {
    SS_NVTX_EXT_PAYLOAD_KIND = 0x0104,
    SS_NVTX_EXT_PAYLOAD_OLDER = 0x0103, /* of NCCL */
    SS_NVTX_EXT_COUNTERS_KIND = 0x0102
};

/* Slots of the payload extension. */
enum {
    SS_NVTX_SCHEMA_REGISTER,
    SS_NVTX_ENUM_REGISTER,
    SS_NVTX_MARK_PAYLOAD,
    SS_NVTX_PUSH_PAYLOAD,
    SS_NVTX_POP_PAYLOAD,
    SS_NVTX_START_PAYLOAD,
    SS_NVTX_END_PAYLOAD,
    SS_NVTX_DOMAIN_ENABLED,
    SS_NVTX_TIMESTAMP_GET,
    SS_NVTX_TIME_DOMAIN_REGISTER,
    SS_NVTX_TIMER_SOURCE,
    SS_NVTX_TIMER_SOURCE_DATA,
    SS_NVTX_SCOPE_REGISTER,
    SS_NVTX_SYNC_POINT,
    SS_NVTX_SYNC_POINT_TABLE,
    SS_NVTX_CONVERSION_FACTOR,
    SS_NVTX_EVENT_SUBMIT,
    SS_NVTX_EVENT_BATCH,
    SS_NVTX_PAYLOAD_COUNT
};

/* Slots of the counter extension. */
enum {
    SS_NVTX_COUNTER_REGISTER,
    SS_NVTX_COUNTER_INT64,
    SS_NVTX_COUNTER_FLOAT64,
    SS_NVTX_COUNTER_SAMPLE,
    SS_NVTX_COUNTER_NO_VALUE,
    SS_NVTX_COUNTER_BATCH,
    SS_NVTX_COUNTERS_COUNT
};

/* Types of schema entries. */
enum {
    SS_NVTX_TYPE_CHAR = 1,
    SS_NVTX_TYPE_UCHAR,
    SS_NVTX_TYPE_SHORT,
    SS_NVTX_TYPE_USHORT,
    SS_NVTX_TYPE_INT,
    SS_NVTX_TYPE_UINT,
    SS_NVTX_TYPE_LONG,
    SS_NVTX_TYPE_ULONG,
    SS_NVTX_TYPE_LONGLONG,
    SS_NVTX_TYPE_ULONGLONG,
    SS_NVTX_TYPE_INT8,
    SS_NVTX_TYPE_UINT8,
    SS_NVTX_TYPE_INT16,
    SS_NVTX_TYPE_UINT16,
    SS_NVTX_TYPE_INT32,
    SS_NVTX_TYPE_UINT32,
    SS_NVTX_TYPE_INT64,
    SS_NVTX_TYPE_UINT64,
    SS_NVTX_TYPE_FLOAT,
    SS_NVTX_TYPE_DOUBLE,
    SS_NVTX_TYPE_LONGDOUBLE,
    SS_NVTX_TYPE_SIZE,
    SS_NVTX_TYPE_ADDRESS,
    SS_NVTX_TYPE_WCHAR,
    SS_NVTX_TYPE_CHAR8,
    SS_NVTX_TYPE_CHAR16,
    SS_NVTX_TYPE_CHAR32,
    SS_NVTX_TYPE_BYTE = 32,
    SS_NVTX_TYPE_INT128,
    SS_NVTX_TYPE_UINT128,
    SS_NVTX_TYPE_FLOAT16 = 42,
    SS_NVTX_TYPE_FLOAT32,
    SS_NVTX_TYPE_FLOAT64,
    SS_NVTX_TYPE_FLOAT128,
    SS_NVTX_TYPE_BF16 = 50,
    SS_NVTX_TYPE_TF32 = 52,
    SS_NVTX_TYPE_RANGE_ID = 67, /* in newer headers only */
    SS_NVTX_TYPE_CATEGORY,
    SS_NVTX_TYPE_COLOUR,
    SS_NVTX_TYPE_SCOPE,
    SS_NVTX_TYPE_PID32,
    SS_NVTX_TYPE_PID64,
    SS_NVTX_TYPE_TID32,
    SS_NVTX_TYPE_TID64,
    SS_NVTX_TYPE_CSTRING,
    SS_NVTX_TYPE_CSTRING_UTF8,
    SS_NVTX_TYPE_CSTRING_UTF16,
    SS_NVTX_TYPE_CSTRING_UTF32,
    SS_NVTX_TYPE_REGISTERED = 80,
    SS_NVTX_TYPE_SELECTOR = 100,
    SS_NVTX_TYPE_REFERENCED = 1022,
    SS_NVTX_TYPE_RAW
};
/* Ids that the program assigns lie between these; ids that the tool assigns lie above. */
#define SS_NVTX_FIRST_STATIC (UINT64_C(1) << 24)
#define SS_NVTX_FIRST_DYNAMIC (UINT64_C(1) << 32)

/* Flags of a schema entry. */
enum {
    SS_NVTX_ENTRY_POINTER = 1 << 1,
    SS_NVTX_ENTRY_FROM_BASE = 1 << 2,
    SS_NVTX_ENTRY_FROM_HERE = 1 << 3,
    SS_NVTX_ENTRY_ARRAY = 7 << 4, /* mask; one of: */
    SS_NVTX_ENTRY_FIXED = 1 << 4,
    SS_NVTX_ENTRY_TERMINATED = 2 << 4,
    SS_NVTX_ENTRY_LENGTH_INDEX = 3 << 4,
    SS_NVTX_ENTRY_MESSAGE = 1 << 10,
    SS_NVTX_ENTRY_TIMESTAMP = 2 << 10,
    SS_NVTX_ENTRY_EVENT = 7 << 12, /* mask; one of: */
    SS_NVTX_ENTRY_BEGIN = 1 << 12,
    SS_NVTX_ENTRY_END = 2 << 12,
    SS_NVTX_ENTRY_MARK = 3 << 12,
    SS_NVTX_ENTRY_COUNTER = 4 << 12
};

enum { SS_NVTX_SCHEMA_STATIC = 1, SS_NVTX_SCHEMA_DYNAMIC };

struct ss_nvtx_semantics {
    uint32_t size;
    uint16_t id;
    uint16_t version;
    const struct ss_nvtx_semantics *next;
};
enum { SS_NVTX_SEMANTICS_TIME = 2, SS_NVTX_SEMANTICS_COUNTER = 5 };

struct ss_nvtx_time_semantics {
    struct ss_nvtx_semantics header;
    uint64_t time_domain;
};

struct ss_nvtx_counter_semantics {
    struct ss_nvtx_semantics header;
    uint64_t flags;
    const char *unit;
    uint64_t unit_numerator, unit_denominator;
    int64_t limit_type;
    uint64_t least, most;
};
enum {
    SS_NVTX_COUNTER_KIND = 7 << 4, /* mask; one of: */
    SS_NVTX_COUNTER_ABSOLUTE = 1 << 4,
    SS_NVTX_COUNTER_DELTA = 2 << 4,
    SS_NVTX_COUNTER_SINCE_START = 3 << 4
};

struct ss_nvtx_entry {
    uint64_t flags;
    uint64_t type;
    const char *name;
    const char *description;
    uint64_t detail; /* length of a string or an array */
    uint64_t offset;
    const struct ss_nvtx_semantics *semantics;
    const void *reserved;
};

/* Which fields of a schema or an enumeration are set. */
enum {
    SS_NVTX_SCHEMA_HAS_NAME = 1 << 1,
    SS_NVTX_SCHEMA_HAS_TYPE = 1 << 2,
    SS_NVTX_SCHEMA_HAS_FLAGS = 1 << 3,
    SS_NVTX_SCHEMA_HAS_ENTRIES = 1 << 4,
    SS_NVTX_SCHEMA_HAS_COUNT = 1 << 5,
    SS_NVTX_SCHEMA_HAS_SIZE = 1 << 6,
    SS_NVTX_SCHEMA_HAS_ALIGNMENT = 1 << 7,
    SS_NVTX_SCHEMA_HAS_ID = 1 << 8,
    SS_NVTX_ENUM_HAS_NAME = 1 << 1,
    SS_NVTX_ENUM_HAS_ENTRIES = 1 << 2,
    SS_NVTX_ENUM_HAS_COUNT = 1 << 3,
    SS_NVTX_ENUM_HAS_SIZE = 1 << 4,
    SS_NVTX_ENUM_HAS_ID = 1 << 5
};

struct ss_nvtx_schema {
    uint64_t fields;
    const char *name;
    uint64_t type;
    uint64_t flags;
    const struct ss_nvtx_entry *entries;
    size_t entry_count;
    size_t size_bytes;
    size_t alignment; /* of packed structures; 0: natural */
    uint64_t id;
    void *extension;
};

struct ss_nvtx_enum_value {
    const char *name;
    uint64_t value;
    int8_t is_flag;
};

struct ss_nvtx_enum {
    uint64_t fields;
    const char *name;
    const struct ss_nvtx_enum_value *entries;
    size_t entry_count;
    size_t size_bytes;
    uint64_t id;
    void *extension;
};

struct ss_nvtx_payload {
    uint64_t schema;
    size_t size; /* SIZE_MAX: the size of the schema */
    const void *data;
};

struct ss_nvtx_scope {
    size_t size;
    const char *path;
    uint64_t parent;
    uint64_t id;
};

struct ss_nvtx_time_domain {
    uint64_t scope;
    uint64_t type; /* enum ss_nvtx_clock */
    uint64_t id;
    uint64_t flags;
    int64_t resolution;
    uint64_t start;
};

struct ss_nvtx_sync_point {
    int64_t from, to;
};

enum ss_nvtx_clock {
    SS_NVTX_CLOCK_NONE,
    SS_NVTX_CLOCK_TOOL,
    SS_NVTX_CLOCK_TSC = 10,
    SS_NVTX_CLOCK_TSC_PHYSICAL,
    SS_NVTX_CLOCK_REALTIME,
    SS_NVTX_CLOCK_REALTIME_COARSE,
    SS_NVTX_CLOCK_MONOTONIC,
    SS_NVTX_CLOCK_MONOTONIC_RAW,
    SS_NVTX_CLOCK_MONOTONIC_COARSE,
    SS_NVTX_CLOCK_BOOTTIME,
    SS_NVTX_CLOCK_TIMESPEC_GET = 42,
    SS_NVTX_CLOCK_STEADY = 50,
    SS_NVTX_CLOCK_HIGH_RESOLUTION,
    SS_NVTX_CLOCK_SYSTEM
};

struct ss_nvtx_event_batch {
    uint64_t schema;
    size_t size;
    const void *events;
    uint64_t scope;
    uint64_t flags;
    const void *flexible;
    size_t flexible_size;
    size_t flexible_offset;
};

struct ss_nvtx_counter {
    size_t size;
    uint64_t schema;
    const char *name;
    const char *description;
    uint64_t scope;
    const struct ss_nvtx_semantics *semantics;
    uint64_t id;
};

struct ss_nvtx_counter_batch {
    uint64_t counter;
    const void *values;
    size_t values_size;
    uint64_t flags;
    const int64_t *timestamps;
    size_t timestamps_size;
};
/* With one of these flags there are two timestamps: that of the first (last) sample, and the
 * interval. */
#define SS_NVTX_BATCH_FROM_BEGIN (UINT64_C(1) << 32)
#define SS_NVTX_BATCH_TO_END (UINT64_C(2) << 32)

enum { SS_NVTX_SAMPLE_ZERO, SS_NVTX_SAMPLE_UNCHANGED, SS_NVTX_SAMPLE_UNAVAILABLE };

#endif
