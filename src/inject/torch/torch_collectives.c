/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/torch/torch_collectives.h"

#include <stdatomic.h>
#include <string.h>

#include "annot/define.h"
#include "inject/torch/torch.h"
#include "inject/torch/torch_buckets.h"
#include "inject/torch/torch_check.h"

enum { MOST_GROUPS = 1024, MOST_THREADS = 4096, MOST_NESTED = 4, DETAILS = 64 };
enum { COLLECTIVE_ARGUMENTS = 5, TRANSFER_ARGUMENTS = 7 };

/* What a call passes to its group. */
struct details {
    uint32_t datatype, module; /* names */
    int64_t bytes, root;
};

/* Written by the calling thread before the operation is queued. `operation` publishes the rest; -1
 * while it is written. */
struct slot {
    _Atomic int64_t operation;
    _Atomic uint32_t datatype, module;
    _Atomic int64_t bytes, root;
};

/* Groups have numbers from 1, in the order of their definition. */
static struct group {
    uint32_t name, size;
    _Atomic int64_t operations, collectives; /* begun so far */
    struct slot slots[DETAILS];
} groups[MOST_GROUPS];
static _Atomic uint32_t group_count, implicit;

/* Threads of groups, in the order of their creation. A thread id that is reused comes later. */
static struct {
    _Atomic int32_t tid;
    _Atomic uint32_t group;
} threads[MOST_THREADS];
static _Atomic uint32_t thread_count;

/* The calls of torch.distributed that are under way on this thread, the innermost last. Few bytes:
 * there is little room for the variables of threads in a library that is loaded late. */
static _Thread_local struct call {
    uint32_t group;
    struct details details; /* of a transfer: its root is the partner */
} calls[MOST_NESTED];
static _Thread_local uint32_t depth;
/* What the collectives that this thread calls belong to, a name. */
static _Thread_local uint32_t module;

/* What else is known of a call that starts a transfer. */
static _Thread_local struct transfer {
    uint32_t depth; /* of the call, from 1; 0: there is none */
    int32_t self;
    int64_t tag, sequence;
} transfer;

static struct group *group_of(int64_t number)
{
    uint32_t count = atomic_load_explicit(&group_count, memory_order_acquire);
    return number > 0 && number <= (int64_t)count ? &groups[number - 1] : NULL;
}

static struct group *group_of_thread(int32_t tid)
{
    uint32_t count = atomic_load_explicit(&thread_count, memory_order_acquire);
    for (uint32_t i = count; i > 0; i--) {
        if (atomic_load_explicit(&threads[i - 1].tid, memory_order_relaxed) == tid) {
            return group_of(atomic_load_explicit(&threads[i - 1].group, memory_order_relaxed));
        }
    }
    return NULL;
}

/* pairs with put_details; false: the program has not called it. Of a call that too many others
 * followed, nothing is known. */
static bool find_details(struct group *group, int64_t operation, struct details *found)
{
    struct slot *slot = &group->slots[operation % DETAILS];
    int64_t last = atomic_load_explicit(&slot->operation, memory_order_acquire);
    *found = (struct details){.bytes = -1, .root = -1};
    if (last != operation) {
        return last > operation;
    }
    struct details details = {atomic_load_explicit(&slot->datatype, memory_order_relaxed),
                              atomic_load_explicit(&slot->module, memory_order_relaxed),
                              atomic_load_explicit(&slot->bytes, memory_order_relaxed),
                              atomic_load_explicit(&slot->root, memory_order_relaxed)};
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&slot->operation, memory_order_relaxed) == operation) {
        *found = details;
    }
    return true;
}

static void put_details(struct group *group, int64_t operation, struct details details)
{
    struct slot *slot = &group->slots[operation % DETAILS];
    atomic_store_explicit(&slot->operation, -1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&slot->datatype, details.datatype, memory_order_relaxed);
    atomic_store_explicit(&slot->module, details.module, memory_order_relaxed);
    atomic_store_explicit(&slot->bytes, details.bytes, memory_order_relaxed);
    atomic_store_explicit(&slot->root, details.root, memory_order_relaxed);
    atomic_store_explicit(&slot->operation, operation, memory_order_release);
}

/* --- gradients ------------------------------------------------------------------------------- */

/* Elements of the tensor that a call transfers; -1: unknown. */
static int64_t elements_of(const struct ss_torch_call *torch_call)
{
    struct ss_torch_shape shape;
    size_t count = 0;
    if (ss_torch_layout.inputs == 0 || ss_torch_layout.sizes == 0) {
        return -1;
    }
    const struct ss_torch_value *inputs = ss_torch_inputs(&ss_torch_layout, torch_call, &count);
    if (count != 1 || !ss_torch_shape_of(&ss_torch_layout, inputs, &shape)) {
        return -1;
    }
    int64_t elements = 1;
    for (size_t i = 0; i < shape.count; i++) {
        if (shape.sizes[i] < 0 || __builtin_mul_overflow(elements, shape.sizes[i], &elements)) {
            return -1;
        }
    }
    return elements;
}

static bool is_all_reduce(const char *scope)
{
    return strstr(scope, "all_reduce") != NULL && strstr(scope, "barrier") == NULL;
}

/* Of an operation that starts below Python. */
static struct details details_below(const struct group *group, const char *scope,
                                    const struct ss_torch_call *torch_call)
{
    struct ss_torch_bucket bucket;
    struct details none = {.bytes = -1, .root = -1};
    if (!is_all_reduce(scope) ||
        !ss_torch_bucket_next((uint32_t)(group - groups) + 1, elements_of(torch_call), &bucket)) {
        return none;
    }
    return (struct details){bucket.datatype, bucket.name, bucket.bytes, -1};
}

/* --- operations ------------------------------------------------------------------------------- */

/* "gloo:send": what torch calls the backend. */
static enum ss_ring_library library_of(const char *scope)
{
    return strncmp(scope, "gloo:", 5) == 0   ? SS_RING_GLOO
           : strncmp(scope, "nccl:", 5) == 0 ? SS_RING_NCCL
           : strncmp(scope, "mpi:", 4) == 0  ? SS_RING_MPI
                                             : SS_RING_OTHER_LIBRARY;
}

static enum ss_ring_direction direction_of(const char *scope)
{
    const char *name = strchr(scope, ':');
    return name == NULL                                                       ? SS_RING_OF_ALL
           : strncmp(name + 1, "send", 4) == 0                                ? SS_RING_SENDS
           : strncmp(name + 1, "recv", 4) == 0                                ? SS_RING_RECEIVES
           : strcmp(name + 1, "isend") == 0 || strcmp(name + 1, "irecv") == 0 ? SS_RING_OF_TWO
                                                                              : SS_RING_OF_ALL;
}

/* A transfer begins within the call that starts it. */
static bool put_transfer(const struct group *group, const struct call *call, const char *scope,
                         struct ss_event_collective *collective)
{
    if (call == NULL || transfer.depth != depth || group_of(call->group) != group) {
        return false;
    }
    *collective = (struct ss_event_collective){.library = library_of(scope),
                                               .direction = direction_of(scope),
                                               .group = group->name,
                                               .size = group->size,
                                               .sequence = transfer.sequence,
                                               .datatype = call->details.datatype,
                                               .module = call->details.module,
                                               .bytes = call->details.bytes,
                                               .root = call->details.root,
                                               .has_tag = transfer.tag >= 0 &&
                                                          transfer.tag <= SS_RING_MOST_TAG,
                                               .tag = (uint32_t)transfer.tag,
                                               .self = transfer.self};
    return group->name != 0;
}

bool ss_torch_collective_next(const struct ss_torch_call *torch_call, const char *scope,
                              struct ss_event_collective *collective)
{
    const struct call *call = depth > 0 && depth <= MOST_NESTED ? &calls[depth - 1] : NULL;
    struct group *group = group_of_thread(ss_thread_tid());
    bool is_of_thread = group != NULL;
    if (!is_of_thread) {
        group = group_of(call != NULL ? call->group
                                      : atomic_load_explicit(&implicit, memory_order_relaxed));
    }
    if (group == NULL) {
        return false;
    }
    int64_t operation = atomic_fetch_add_explicit(&group->operations, 1, memory_order_relaxed);
    enum ss_ring_direction direction = direction_of(scope);
    if (direction == SS_RING_SENDS || direction == SS_RING_RECEIVES) {
        return put_transfer(group, call, scope, collective);
    }
    struct details details;
    if (call != NULL && !is_of_thread) {
        details = call->details;
    } else if (!find_details(group, operation, &details)) {
        details = details_below(group, scope, torch_call);
    }
    *collective = (struct ss_event_collective){
        .library = library_of(scope),
        .direction = direction,
        .group = group->name,
        .size = group->size,
        .sequence = atomic_fetch_add_explicit(&group->collectives, 1, memory_order_relaxed),
        .datatype = details.datatype,
        .module = details.module,
        .bytes = details.bytes,
        .root = details.root};
    return group->name != 0;
}

/* --- functions of the hooks ------------------------------------------------------------------- */

static bool read_numbers(ss_python_object *const *args, ptrdiff_t count, int64_t *numbers)
{
    for (ptrdiff_t i = 0; i < count; i++) {
        numbers[i] = ss_python.PyLong_AsLongLong(args[i]);
    }
    return ss_python.PyErr_Occurred() == NULL;
}

/* name, size → number; 0: too many. Under the lock of the hooks. */
static ss_python_object *define_group(ss_python_object *self, ss_python_object *const *args,
                                      ptrdiff_t count)
{
    (void)self;
    int64_t size;
    const char *name =
        ss_torch_has_arguments(count, 2) ? ss_python.PyUnicode_AsUTF8(args[0]) : NULL;
    if (name == NULL || !read_numbers(&args[1], 1, &size)) {
        return NULL;
    }
    uint32_t number = atomic_load_explicit(&group_count, memory_order_relaxed);
    if (number >= MOST_GROUPS) {
        return ss_python.PyLong_FromLongLong(0);
    }
    struct group *group = &groups[number];
    group->name = ss_define_name(name, strlen(name));
    group->size = size > 0 && size < UINT32_MAX ? (uint32_t)size : 0;
    for (size_t i = 0; i < DETAILS; i++) {
        atomic_store_explicit(&group->slots[i].operation, -1, memory_order_relaxed);
    }
    atomic_store_explicit(&group_count, number + 1, memory_order_release);
    return ss_python.PyLong_FromLongLong(number + 1);
}

/* number of a group, id of a thread that runs its operations. Under the lock of the hooks. */
static ss_python_object *set_group_thread(ss_python_object *self, ss_python_object *const *args,
                                          ptrdiff_t count)
{
    (void)self;
    int64_t numbers[2];
    if (!ss_torch_has_arguments(count, 2) || !read_numbers(args, count, numbers)) {
        return NULL;
    }
    uint32_t row = atomic_load_explicit(&thread_count, memory_order_relaxed);
    if (row < MOST_THREADS && group_of(numbers[0]) != NULL) {
        atomic_store_explicit(&threads[row].tid, (int32_t)numbers[1], memory_order_relaxed);
        atomic_store_explicit(&threads[row].group, (uint32_t)numbers[0], memory_order_relaxed);
        atomic_store_explicit(&thread_count, row + 1, memory_order_release);
    }
    return ss_python_none();
}

/* number of a group; 0: none */
static ss_python_object *set_implicit_group(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    int64_t number = ss_python.PyLong_AsLongLong(argument);
    atomic_store_explicit(&implicit, group_of(number) != NULL ? (uint32_t)number : 0,
                          memory_order_relaxed);
    return ss_python_none();
}

/* group, how many operations it has had (-1: unknown), bytes (-1: unknown), a name of the datatype
 * (0: unknown), root (-1: none) → how many calls enclose it, the argument of end_collective */
static ss_python_object *begin_collective(ss_python_object *self, ss_python_object *const *args,
                                          ptrdiff_t count)
{
    (void)self;
    int64_t numbers[COLLECTIVE_ARGUMENTS];
    if (!ss_torch_has_arguments(count, COLLECTIVE_ARGUMENTS) ||
        !read_numbers(args, count, numbers)) {
        return NULL;
    }
    struct details details = {(uint32_t)numbers[3], module, numbers[2], numbers[4]};
    struct group *group = group_of(numbers[0]);
    if (group != NULL && numbers[1] >= 0) {
        put_details(group, numbers[1], details);
    }
    if (depth < MOST_NESTED) {
        calls[depth] =
            (struct call){.group = group != NULL ? (uint32_t)numbers[0] : 0, .details = details};
    }
    return ss_python.PyLong_FromLongLong(depth++);
}

/* group, bytes (-1: unknown), a name of the datatype (0: unknown), the partner and the own rank in
 * the world, tag, number among those of this direction, partner and tag (each -1: unknown) → how
 * many calls enclose it, the argument of end_collective */
static ss_python_object *begin_transfer(ss_python_object *self, ss_python_object *const *args,
                                        ptrdiff_t count)
{
    (void)self;
    int64_t numbers[TRANSFER_ARGUMENTS];
    if (!ss_torch_has_arguments(count, TRANSFER_ARGUMENTS) || !read_numbers(args, count, numbers)) {
        return NULL;
    }
    if (depth < MOST_NESTED) {
        calls[depth] =
            (struct call){.group = group_of(numbers[0]) != NULL ? (uint32_t)numbers[0] : 0,
                          .details = {(uint32_t)numbers[2], module, numbers[1], numbers[3]}};
        bool has_self = numbers[4] >= 0 && numbers[4] <= SS_RING_MOST_SELF;
        transfer = (struct transfer){.depth = depth + 1,
                                     .self = has_self ? (int32_t)numbers[4] : -1,
                                     .tag = numbers[5],
                                     .sequence = numbers[6]};
    }
    return ss_python.PyLong_FromLongLong(depth++);
}

/* what begin_collective returned */
static ss_python_object *end_collective(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    int64_t enclosing = ss_python.PyLong_AsLongLong(argument);
    if (enclosing >= 0 && enclosing < (int64_t)depth) {
        depth = (uint32_t)enclosing;
        transfer.depth = transfer.depth > depth ? 0 : transfer.depth;
    }
    return ss_python_none();
}

/* a name: what the collectives that this thread calls from now on belong to; 0: unknown → the one
 * before */
static ss_python_object *set_collective_module(ss_python_object *self, ss_python_object *argument)
{
    (void)self;
    int64_t name = ss_python.PyLong_AsLongLong(argument);
    uint32_t before = module;
    module = name > 0 && name < SS_RING_MAX_NAMES ? (uint32_t)name : 0;
    return ss_python.PyLong_FromLongLong(before);
}

static struct ss_python_method methods[] = {
    {"define_group", {define_group}, SS_PYTHON_FASTCALL},
    {"set_group_thread", {set_group_thread}, SS_PYTHON_FASTCALL},
    {"set_implicit_group", {.one = set_implicit_group}, SS_PYTHON_ONE},
    {"begin_collective", {begin_collective}, SS_PYTHON_FASTCALL},
    {"begin_transfer", {begin_transfer}, SS_PYTHON_FASTCALL},
    {"end_collective", {.one = end_collective}, SS_PYTHON_ONE},
    {"set_collective_module", {.one = set_collective_module}, SS_PYTHON_ONE},
};

bool ss_torch_add_collective_functions(ss_python_object *functions)
{
    return ss_torch_add_methods(functions, methods, sizeof methods / sizeof *methods);
}
