/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that the program names: devices, contexts, streams and events of CUDA, objects of OpenCL,
 * resources of a domain, synchronisation objects. A name is recorded as a fact of the process
 * ("cuda stream 0x55d0 = copies"). Waiting for a user-defined synchronisation object and holding it
 * are ranges, which may overlap on a thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "annot/define.h"
#include "annot/names.h"
#include "inject/nvtx/nvtx_event.h"
#include "inject/nvtx/nvtx_names.h"
#include "inject/nvtx/nvtx_tables.h"

enum { MAX_NAMED = 16384, MAX_OBJECTS = 4096 };

/* --- names ----------------------------------------------------------------------------------- */

/* Each named object uses a name, of which there are 65,535: the limit leaves some for ranges. */
static _Atomic uint32_t named_count;

static void record_name(const char *kind, bool is_number, uint64_t identifier, uint32_t name)
{
    char text[96];
    if (name == 0 || !ss_event_is_on(SS_RING_GATE_ALL) ||
        atomic_fetch_add_explicit(&named_count, 1, memory_order_relaxed) >= MAX_NAMED) {
        return;
    }
    int length = is_number ? snprintf(text, sizeof text, "%s %" PRIu64, kind, identifier)
                           : snprintf(text, sizeof text, "%s 0x%" PRIx64, kind, identifier);
    uint32_t key = ss_define_name(text, (size_t)length);
    ss_event_fact(key, (struct ss_event_value){name, SS_RING_VALUE_NAME});
}

/* CUDA devices are numbers; all other objects have an address. */
#define NAMING_FUNCTIONS(function, kind)                                                           \
    static void function(const void *handle, const char *name)                                     \
    {                                                                                              \
        record_name(kind, false, (uintptr_t)handle, ss_nvtx_name(name));                           \
    }                                                                                              \
    static void function##_wide(const void *handle, const wchar_t *name)                           \
    {                                                                                              \
        record_name(kind, false, (uintptr_t)handle, ss_nvtx_name_wide(name));                      \
    }

static void name_device(int device, const char *name)
{
    record_name("cuda device", true, (uint32_t)device, ss_nvtx_name(name));
}

static void name_device_wide(int device, const wchar_t *name)
{
    record_name("cuda device", true, (uint32_t)device, ss_nvtx_name_wide(name));
}

NAMING_FUNCTIONS(name_context, "cuda context")
NAMING_FUNCTIONS(name_stream, "cuda stream")
NAMING_FUNCTIONS(name_event, "cuda event")
NAMING_FUNCTIONS(name_cl_device, "opencl device")
NAMING_FUNCTIONS(name_cl_context, "opencl context")
NAMING_FUNCTIONS(name_cl_queue, "opencl queue")
NAMING_FUNCTIONS(name_cl_memory, "opencl memory")
NAMING_FUNCTIONS(name_cl_sampler, "opencl sampler")
NAMING_FUNCTIONS(name_cl_program, "opencl program")
NAMING_FUNCTIONS(name_cl_event, "opencl event")

/* Slot 0 is unused; then, per kind, the function for bytes and the one for wide characters. */
#define BOTH(function) (ss_nvtx_function)(function), (ss_nvtx_function)function##_wide

static const ss_nvtx_function cuda[SS_NVTX_CUDA_COUNT] = {
    NULL, BOTH(name_device), BOTH(name_context), BOTH(name_stream), BOTH(name_event)};
static const ss_nvtx_function cudart[SS_NVTX_CUDART_COUNT] = {NULL, BOTH(name_device),
                                                              BOTH(name_stream), BOTH(name_event)};
static const ss_nvtx_function opencl[SS_NVTX_OPENCL_COUNT] = {NULL,
                                                              BOTH(name_cl_device),
                                                              BOTH(name_cl_context),
                                                              BOTH(name_cl_queue),
                                                              BOTH(name_cl_memory),
                                                              BOTH(name_cl_sampler),
                                                              BOTH(name_cl_program),
                                                              BOTH(name_cl_event)};

const struct ss_nvtx_table ss_nvtx_cuda = {cuda, SS_NVTX_CUDA_COUNT};
const struct ss_nvtx_table ss_nvtx_cudart = {cudart, SS_NVTX_CUDART_COUNT};
const struct ss_nvtx_table ss_nvtx_opencl = {opencl, SS_NVTX_OPENCL_COUNT};

/* --- resources ------------------------------------------------------------------------------- */

static const struct {
    int32_t type;
    const char *kind;
} kinds[] = {{0x10001, "pointer"},
             {0x10002, "handle"},
             {0x10003, "thread"},
             {0x10004, "pthread"},
             {0x20001, "mutex"},
             {0x20002, "futex"},
             {0x20003, "semaphore"},
             {0x20004, "completion"},
             {0x20005, "spinlock"},
             {0x20006, "seqlock"},
             {0x20007, "rcu"},
             {0x30001, "pthread mutex"},
             {0x30002, "pthread cond"},
             {0x30003, "pthread rwlock"},
             {0x30004, "pthread barrier"},
             {0x30005, "pthread spinlock"},
             {0x30006, "pthread once"},
             {0x40001, "cuda device"},
             {0x40002, "cuda context"},
             {0x40003, "cuda stream"},
             {0x40004, "cuda event"},
             {0x50000, "cuda device"},
             {0x50001, "cuda stream"},
             {0x50002, "cuda event"},
             {0x60001, "opencl device"},
             {0x60002, "opencl context"},
             {0x60003, "opencl queue"},
             {0x60004, "opencl memory"},
             {0x60005, "opencl sampler"},
             {0x60006, "opencl program"},
             {0x60007, "opencl event"}};

static const char *kind_of(int32_t type)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i].type == type) {
            return kinds[i].kind;
        }
    }
    return "resource";
}

static bool is_number(int32_t type)
{
    return type == 0x10003 || type == 0x40001 || type == 0x50000;
}

const void *ss_nvtx_resource_create(const void *domain, const struct ss_nvtx_resource *resource)
{
    (void)domain;
    if (resource == NULL || resource->size < sizeof *resource) {
        return NULL;
    }
    uint32_t name = ss_nvtx_name_message(resource->message_type, resource->message);
    record_name(kind_of(resource->type), is_number(resource->type), resource->identifier, name);
    return ss_nvtx_string_handle(name);
}

void ss_nvtx_resource_destroy(const void *resource)
{
    (void)resource; /* its name stays a fact of the time when it existed */
}

/* --- synchronisation objects ------------------------------------------------------------------ */

/* Entries are never reused: the program may still hold the handle of a destroyed object. */
static struct object {
    _Atomic uint32_t wait, hold; /* names; 0: none */
    _Atomic uint32_t domain;
} objects[MAX_OBJECTS];
static _Atomic uint32_t object_count;

enum object_range { WAITS = 1, HOLDS = 2 };

static struct object *object_of(const void *handle)
{
    uintptr_t at = (uintptr_t)handle - (uintptr_t)objects;
    bool is_ours = at < sizeof objects && at % sizeof *objects == 0;
    return is_ours ? &objects[at / sizeof *objects] : NULL;
}

/* At most one range is open per object, thread and kind: its id is computed, not stored. */
static uint64_t id_of(const struct object *object, enum object_range range)
{
    uint64_t bits = (uintptr_t)&ss_thread_current ^ (uint64_t)(uintptr_t)object << 20 ^
                    (uint64_t)range << 62 ^ (uint64_t)(uint32_t)ss_process_header->pid << 32;
    bits = (bits ^ bits >> 31) * UINT64_C(0xd6e8feb86659fd93);
    bits = (bits ^ bits >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return bits ^ bits >> 29;
}

static uint32_t prefixed(const char *prefix, uint32_t name)
{
    char text[SS_RING_MAX_TEXT_BYTES + 16];
    size_t length = 0;
    const char *known = ss_names_text(name, &length);
    int text_length =
        snprintf(text, sizeof text, "%s %.*s", prefix, (int)length, known != NULL ? known : "");
    return ss_define_name(text, (size_t)text_length);
}

static const void *sync_create(const void *domain, const struct ss_nvtx_sync *sync)
{
    bool has_name = sync != NULL && sync->size >= sizeof *sync;
    uint32_t name =
        has_name ? ss_nvtx_name_message(sync->message_type, sync->message) : ss_nvtx_name_none();
    uint32_t number = atomic_fetch_add_explicit(&object_count, 1, memory_order_relaxed);
    if (number >= MAX_OBJECTS) {
        atomic_store_explicit(&object_count, MAX_OBJECTS, memory_order_relaxed);
        return NULL;
    }
    struct object *object = &objects[number];
    atomic_store_explicit(&object->domain, ss_nvtx_domain(domain), memory_order_relaxed);
    atomic_store_explicit(&object->wait, prefixed("wait", name), memory_order_relaxed);
    atomic_store_explicit(&object->hold, prefixed("hold", name), memory_order_relaxed);
    return object;
}

static void sync_destroy(const void *handle)
{
    (void)handle;
}

static void begin(const void *handle, enum object_range range)
{
    const struct object *object = object_of(handle);
    if (object != NULL && ss_event_is_on(SS_RING_GATE_RANGES)) {
        ss_event_begin_as(id_of(object, range),
                          atomic_load_explicit(&object->domain, memory_order_relaxed),
                          atomic_load_explicit(range == WAITS ? &object->wait : &object->hold,
                                               memory_order_relaxed));
    }
}

static void end(const void *handle, enum object_range range)
{
    const struct object *object = object_of(handle);
    if (object != NULL) {
        ss_event_end(id_of(object, range));
    }
}

static void sync_acquire(const void *handle)
{
    begin(handle, WAITS);
}

static void sync_failed(const void *handle)
{
    end(handle, WAITS);
}

static void sync_acquired(const void *handle)
{
    end(handle, WAITS);
    begin(handle, HOLDS);
}

static void sync_releasing(const void *handle)
{
    end(handle, HOLDS);
}

static const ss_nvtx_function sync_functions[SS_NVTX_SYNC_COUNT] = {
    [SS_NVTX_SYNC_CREATE] = (ss_nvtx_function)sync_create,
    [SS_NVTX_SYNC_DESTROY] = (ss_nvtx_function)sync_destroy,
    [SS_NVTX_SYNC_ACQUIRE] = (ss_nvtx_function)sync_acquire,
    [SS_NVTX_SYNC_FAILED] = (ss_nvtx_function)sync_failed,
    [SS_NVTX_SYNC_ACQUIRED] = (ss_nvtx_function)sync_acquired,
    [SS_NVTX_SYNC_RELEASING] = (ss_nvtx_function)sync_releasing};
const struct ss_nvtx_table ss_nvtx_sync = {sync_functions, SS_NVTX_SYNC_COUNT};
