/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreters and thread states of a process. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "unwind/python_state.h"

enum {
    PTHREAD_BYTES = 2304, /* searched part of struct pthread, for the kernel tid */
    MAX_TID = 1 << 22,    /* PID_MAX_LIMIT of the kernel */
    FETCH_AT_ONCE = 512,  /* thread states per call */
};

/* Detects a cycle in a list of the target: guard_passes returns false for a repeated address, at
 * the latest one round later. */
struct cycle_guard {
    uint64_t mark;
    size_t steps, limit;
};

static bool guard_passes(struct cycle_guard *guard, uint64_t address)
{
    if (guard->steps > 0 && address == guard->mark) {
        return false;
    }
    if (guard->steps++ >= guard->limit) {
        guard->limit = guard->limit * 2 + 1;
        guard->mark = address;
    }
    return true;
}

/* --- interpreters --- */

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static int32_t most(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* The mutable fields of an interpreter: one range from 3.8 to 3.15. */
static struct ss_memory_range interpreter_range(const struct ss_cpython_layout *layout,
                                                uint64_t address, uint8_t *buffer, int32_t *start)
{
    *start = least(least(layout->interp_next, layout->interp_id), layout->interp_threads_head);
    int32_t end = most(most(layout->interp_next, layout->interp_id), layout->interp_threads_head);
    size_t length = (size_t)(end - *start) + 8;
    length = length <= SS_INTERPRETER_BYTES ? length : 0;
    return (struct ss_memory_range){address + (uint64_t)*start, buffer, length, 0};
}

static bool read_interpreter(struct ss_python *python, uint64_t address,
                             struct ss_python_interpreter *interpreter)
{
    const struct ss_cpython_layout *layout = &python->layout;
    uint8_t bytes[SS_INTERPRETER_BYTES];
    int32_t start;
    uint64_t gil = 0;
    struct ss_memory_range ranges[2] = {interpreter_range(layout, address, bytes, &start)};
    size_t count = 1;
    if (layout->interp_gil != SS_ABSENT) {
        ranges[count++] =
            (struct ss_memory_range){address + (uint64_t)layout->interp_gil, &gil, sizeof gil, 0};
    }
    if (ranges[0].length == 0 || python->reader->read(python->reader, ranges, count) != 0 ||
        ranges[0].got < ranges[0].length) {
        return false;
    }
    interpreter->address = address;
    interpreter->next = ss_word(bytes, layout->interp_next - start);
    interpreter->threads_head = ss_word(bytes, layout->interp_threads_head - start);
    interpreter->id = (int64_t)ss_word(bytes, layout->interp_id - start);
    interpreter->gil =
        layout->runtime_gil != SS_ABSENT ? python->runtime + (uint64_t)layout->runtime_gil : gil;
    return true;
}

static bool read_interpreters(struct ss_python *python)
{
    const struct ss_cpython_layout *layout = &python->layout;
    uint64_t head, main_interpreter;
    struct ss_memory_range ranges[2] = {
        {python->runtime + (uint64_t)layout->runtime_interpreters_head, &head, 8, 0},
        {python->runtime + (uint64_t)layout->runtime_interpreters_main, &main_interpreter, 8, 0}};
    if (python->reader->read(python->reader, ranges, 2) != 0 || ranges[0].got < 8 ||
        ranges[1].got < 8) {
        return false;
    }
    python->interpreters_head = head;
    ss_vec_clear(&python->interpreters);
    struct cycle_guard guard = {0};
    for (uint64_t address = head;
         address != 0 && python->interpreters.count < SS_MAX_INTERPRETERS;) {
        struct ss_python_interpreter interpreter;
        if (!guard_passes(&guard, address) || !read_interpreter(python, address, &interpreter)) {
            break;
        }
        interpreter.is_main = address == main_interpreter;
        ss_vec_push(&python->interpreters, interpreter);
        address = interpreter.next;
    }
    return python->interpreters.count > 0;
}

/* --- the GIL --- */

enum {
    /* pthread_cond_t of glibc from 2.25 counts its waiters in this word, from bit 3 on. Callers
     * compare the number with kernel data, since the C library may not be glibc. */
    CONDITION_WAITERS = 36,
    CONDITION_WAITERS_SHIFT = 3
};

bool ss_python_only_gil(const struct ss_python *python, struct ss_memory_range *range,
                        /* NOLINTNEXTLINE(readability-non-const-parameter): filled by the caller */
                        uint8_t *buffer)
{
    const struct ss_cpython_layout *layout = &python->layout;
    size_t length = (size_t)layout->gil_switch_number + 8 + CONDITION_WAITERS + 4;
    if (python->interpreters.count != 1 || python->interpreters.data[0].gil == 0 ||
        layout->is_free_threaded || layout->gil_switch_number == SS_ABSENT ||
        length > SS_GIL_BYTES) {
        return false;
    }
    *range = (struct ss_memory_range){python->interpreters.data[0].gil, buffer, length, 0};
    return true;
}

bool ss_python_decode_gil(const struct ss_python *python, const struct ss_memory_range *range,
                          struct ss_python_gil *gil)
{
    const struct ss_cpython_layout *layout = &python->layout;
    const uint8_t *bytes = range->buffer;
    uint32_t locked, waiters;
    if (range->got < range->length) {
        return false;
    }
    memcpy(&locked, bytes + layout->gil_locked, sizeof locked);
    memcpy(&waiters, bytes + layout->gil_switch_number + 8 + CONDITION_WAITERS, sizeof waiters);
    *gil = (struct ss_python_gil){.holder = ss_word(bytes, layout->gil_last_holder),
                                  .switches = ss_word(bytes, layout->gil_switch_number),
                                  .waiters = waiters >> CONDITION_WAITERS_SHIFT,
                                  .is_held = locked == 1};
    return true;
}

bool ss_python_get_gil(const struct ss_python *python, struct ss_python_gil *gil)
{
    *gil = python->gil;
    return python->has_gil;
}

/* --- the heads of the lists --- */

size_t ss_python_put_heads(const struct ss_python *python, struct ss_python_heads *heads,
                           struct ss_memory_range *ranges)
{
    size_t count = python->interpreters.count;
    if (count == 0 || count > SS_FEW_INTERPRETERS) {
        return 0;
    }
    ranges[0] = (struct ss_memory_range){
        python->runtime + (uint64_t)python->layout.runtime_interpreters_head, &heads->first, 8, 0};
    for (size_t i = 0; i < count; i++) {
        ranges[1 + i] = interpreter_range(&python->layout, python->interpreters.data[i].address,
                                          heads->bytes[i], &heads->start);
    }
    return ranges[1].length > 0 ? 1 + count : 0;
}

bool ss_python_are_heads_same(const struct ss_python *python, const struct ss_python_heads *heads,
                              const struct ss_memory_range *ranges)
{
    const struct ss_cpython_layout *layout = &python->layout;
    bool same = ranges[0].got == 8 && heads->first == python->interpreters_head;
    for (size_t i = 0; i < python->interpreters.count && same; i++) {
        const struct ss_python_interpreter *known = &python->interpreters.data[i];
        const uint8_t *bytes = heads->bytes[i];
        same = ranges[1 + i].got == ranges[1 + i].length &&
               ss_word(bytes, layout->interp_threads_head - heads->start) == known->threads_head &&
               ss_word(bytes, layout->interp_next - heads->start) == known->next;
    }
    return same;
}

/* Reads the heads of all lists and the GIL in one small read. true: the heads are unchanged. */
static bool is_unchanged(struct ss_python *python, bool *is_gone)
{
    struct ss_python_heads heads;
    uint8_t gil[SS_GIL_BYTES];
    struct ss_memory_range ranges[SS_HEAD_RANGES + 1];
    *is_gone = false;
    size_t count = ss_python_put_heads(python, &heads, ranges);
    if (count == 0) {
        return false;
    }
    bool has_gil = ss_python_only_gil(python, &ranges[count], gil);
    if (python->reader->read(python->reader, ranges, count + has_gil) != 0 || ranges[0].got < 8) {
        *is_gone = true;
        return false;
    }
    python->has_gil = has_gil && ss_python_decode_gil(python, &ranges[count], &python->gil);
    return ss_python_are_heads_same(python, &heads, ranges);
}

bool ss_python_poll_heads(struct ss_python *python)
{
    bool are_fresh = python->heads_fresh && !python->threads_stale;
    python->heads_fresh = python->has_gil = false;
    python->heads_wanted = true;
    return are_fresh;
}

/* --- kernel thread ids --- */

/* Up to 3.10 a thread state has only the pthread_t, the address of the C library's struct pthread.
 * The kernel tid is a word in that struct; its offset is where the main thread's struct has the
 * pid. */
static void learn_tid_position(struct ss_python *python, uint64_t main_pthread)
{
    int32_t words[PTHREAD_BYTES / 4];
    int32_t pid = python->options.pid_in_namespace != 0 ? python->options.pid_in_namespace
                                                        : python->reader->pid;
    struct ss_memory_range range = {main_pthread, words, sizeof words, 0};
    if (pid == 0 || main_pthread == 0 || python->reader->read(python->reader, &range, 1) != 0) {
        return;
    }
    for (size_t i = 1; i < range.got / 4; i++) {
        if (words[i] == pid) {
            python->tid_position = (int32_t)i * 4;
            return;
        }
    }
}

static int32_t tid_of_pthread(struct ss_python *python, uint64_t pthread)
{
    if (python->options.tid_of_pthread != NULL) {
        int32_t tid = python->options.tid_of_pthread(python->options.context, pthread);
        if (tid > 0) {
            return tid;
        }
    }
    int32_t tid = 0;
    if (python->tid_position == 0 ||
        !ss_memory_read(python->reader, pthread + (uint64_t)python->tid_position, &tid,
                        sizeof tid)) {
        return 0;
    }
    return tid > 0 && tid <= MAX_TID ? tid : 0;
}

/* --- thread states --- */

struct tstate {
    uint64_t address, interp, next, pthread;
    int32_t tid;
    bool not_started;
};

static void decode_tstate(const struct ss_python *python, uint64_t address, const uint8_t *bytes,
                          struct tstate *tstate)
{
    const struct ss_cpython_layout *layout = &python->layout;
    tstate->address = address;
    tstate->interp = ss_word(bytes, layout->tstate_interp);
    tstate->next = ss_word(bytes, layout->tstate_next);
    tstate->pthread = ss_word(bytes, layout->tstate_thread_id);
    uint64_t tid = ss_word(bytes, layout->tstate_native_thread_id);
    tstate->tid = tid <= MAX_TID ? (int32_t)tid : 0;
    tstate->not_started = false;
}

typedef struct ss_vec_of(struct ss_python_thread *) thread_list;
typedef struct ss_vec_of(struct tstate) tstate_list;

static int by_address(const void *a, const void *b)
{
    const struct ss_python_thread *left = *(struct ss_python_thread *const *)a;
    const struct ss_python_thread *right = *(struct ss_python_thread *const *)b;
    return (left->tstate_address > right->tstate_address) -
           (left->tstate_address < right->tstate_address);
}

/* The known threads in address order, for binary search: there can be thousands. */
static void index_threads(const struct ss_python *python, thread_list *index)
{
    for (size_t i = 0; i < python->threads.count; i++) {
        ss_vec_push(index, python->threads.data[i]);
    }
    if (index->count > 1) {
        qsort(index->data, index->count, sizeof(struct ss_python_thread *), by_address);
    }
}

static struct ss_python_thread *find_thread(const thread_list *index, const struct tstate *tstate)
{
    struct ss_python_thread key = {.tstate_address = tstate->address};
    struct ss_python_thread *wanted = &key;
    struct ss_python_thread **found = index->count > 0
                                          ? bsearch(&wanted, index->data, index->count,
                                                    sizeof(struct ss_python_thread *), by_address)
                                          : NULL;
    return found != NULL && (*found)->pthread == tstate->pthread ? *found : NULL;
}

/* Thread states do not move: the known ones are fetched in batches, and the walk of the list then
 * finds nearly all of them here. */
struct fetched {
    uint8_t *bytes; /* count × size */
    size_t size;
    struct ss_memory_range *ranges;
    size_t count;
    size_t next; /* the list has about the same order as in the previous walk */
};

static void fetch_known(struct ss_python *python, uint64_t interpreter_id, struct fetched *fetched)
{
    *fetched = (struct fetched){.size = (size_t)python->layout.tstate_size};
    size_t known = python->threads.count;
    if (known < 2) {
        return;
    }
    fetched->bytes = ss_alloc(known * fetched->size);
    fetched->ranges = ss_alloc_zero(known, sizeof *fetched->ranges);
    for (size_t i = known; i-- > 0;) { /* newest first, as in the list */
        const struct ss_python_thread *thread = python->threads.data[i];
        if (thread->interpreter_id == interpreter_id) {
            size_t at = fetched->count++;
            fetched->ranges[at] = (struct ss_memory_range){
                thread->tstate_address, fetched->bytes + at * fetched->size, fetched->size, 0};
        }
    }
    for (size_t at = 0; at < fetched->count; at += FETCH_AT_ONCE) {
        size_t count = fetched->count - at < FETCH_AT_ONCE ? fetched->count - at : FETCH_AT_ONCE;
        if (python->reader->read(python->reader, fetched->ranges + at, count) != 0) {
            fetched->count = at;
            return;
        }
    }
}

static void fetched_fini(struct fetched *fetched)
{
    ss_free(fetched->bytes);
    ss_free(fetched->ranges);
}

static const uint8_t *find_fetched(struct fetched *fetched, uint64_t address)
{
    enum { SEARCH_WINDOW = 64 };
    for (size_t i = 0; i < SEARCH_WINDOW && fetched->next + i < fetched->count; i++) {
        const struct ss_memory_range *range = &fetched->ranges[fetched->next + i];
        if (range->address == address && range->got == range->length) {
            fetched->next += i + 1;
            return range->buffer;
        }
    }
    return NULL;
}

static bool read_tstate(struct ss_python *python, uint64_t address, struct fetched *fetched,
                        struct tstate *tstate)
{
    uint8_t bytes[SS_TSTATE_MAX_BYTES];
    const uint8_t *found = find_fetched(fetched, address);
    if (found == NULL) {
        if ((address & 7) != 0 ||
            !ss_memory_read(python->reader, address, bytes, (size_t)python->layout.tstate_size)) {
            return false;
        }
        found = bytes;
    }
    decode_tstate(python, address, found, tstate);
    return true;
}

/* All thread states of an interpreter, newest first. */
static bool list_tstates(struct ss_python *python, const struct ss_python_interpreter *interpreter,
                         tstate_list *list)
{
    struct fetched fetched;
    bool whole = true;
    ss_vec_clear(list);
    struct cycle_guard guard = {0};
    fetch_known(python, (uint64_t)interpreter->id, &fetched);
    for (uint64_t address = interpreter->threads_head;
         address != 0 && list->count < SS_MAX_THREADS;) {
        struct tstate tstate;
        if (!guard_passes(&guard, address) || !read_tstate(python, address, &fetched, &tstate) ||
            tstate.interp != interpreter->address) {
            whole = false; /* the list changed during the walk: the next call reads the rest */
            break;
        }
        ss_vec_push(list, tstate);
        address = tstate.next;
    }
    fetched_fini(&fetched);
    return whole;
}

struct pthread_key {
    uint64_t pthread;
    size_t index;
};

static int by_pthread(const void *a, const void *b)
{
    const struct pthread_key *left = a, *right = b;
    if (left->pthread != right->pthread) {
        return left->pthread > right->pthread ? 1 : -1;
    }
    return (left->index > right->index) - (left->index < right->index);
}

/* A parent creates the thread state of a new thread, with the parent's ids; the new thread sets its
 * own when it starts. Until then an older state of the interpreter has the same pthread id. */
static void mark_not_started(tstate_list *list)
{
    struct ss_vec_of(struct pthread_key) keys = {0};
    for (size_t i = 0; i < list->count; i++) {
        ss_vec_push(&keys, (struct pthread_key){list->data[i].pthread, i});
    }
    if (keys.count > 1) {
        qsort(keys.data, keys.count, sizeof *keys.data, by_pthread);
    }
    for (size_t i = 0; i + 1 < keys.count; i++) {
        if (keys.data[i].pthread == keys.data[i + 1].pthread) {
            list->data[keys.data[i].index].not_started = true;
        }
    }
    ss_vec_fini(&keys);
}

static void put_thread(struct ss_python *python, const thread_list *index,
                       const struct tstate *tstate, const struct ss_python_interpreter *interpreter,
                       bool is_oldest, uint32_t round)
{
    struct ss_python_thread *thread = find_thread(index, tstate);
    bool is_new = thread == NULL;
    if (is_new) {
        thread = ss_alloc_zero(1, sizeof *thread);
        thread->tstate_address = tstate->address;
        thread->pthread = tstate->pthread;
        thread->walk = ss_python_walk_new();
        ss_vec_push(&python->threads, thread);
    }
    thread->interpreter_id = (uint64_t)interpreter->id;
    thread->is_main = interpreter->is_main && is_oldest;
    if (python->layout.tstate_native_thread_id != SS_ABSENT) {
        thread->tid = tstate->tid;
    } else if (is_new || thread->tid == 0) {
        if (thread->is_main && python->tid_position == 0) {
            learn_tid_position(python, thread->pthread);
        }
        thread->tid = tid_of_pthread(python, thread->pthread);
    }
    thread->seen = round;
}

static void remove_unseen(struct ss_python *python, uint32_t round,
                          void (*removed)(void *context, struct ss_python_thread *thread),
                          void *context)
{
    size_t remaining = 0;
    for (size_t i = 0; i < python->threads.count; i++) {
        struct ss_python_thread *thread = python->threads.data[i];
        if (thread->seen == round) {
            python->threads.data[remaining++] = thread;
            continue;
        }
        if (removed != NULL) {
            removed(context, thread);
        }
        ss_python_walk_free(thread->walk);
        ss_free(thread);
    }
    python->threads.count = remaining;
}

enum ss_status ss_python_update_threads(struct ss_python *python, bool force,
                                        void (*removed)(void *context,
                                                        struct ss_python_thread *thread),
                                        void *context, struct ss_error *err)
{
    bool is_gone = false;
    python->has_gil = python->heads_fresh = false;
    if (!force && !python->threads_stale && is_unchanged(python, &is_gone)) {
        return SS_OK;
    }
    if (is_gone || !read_interpreters(python)) {
        return ss_fail(err, SS_E_GONE, "process %d has ended or is ending",
                       (int)python->reader->pid);
    }
    python->threads_stale = false;
    uint32_t round = ++python->thread_round;
    tstate_list list = {0};
    thread_list index = {0};
    index_threads(python, &index);
    for (size_t i = python->interpreters.count; i-- > 0;) { /* the main interpreter is the last */
        const struct ss_python_interpreter *interpreter = &python->interpreters.data[i];
        if (!list_tstates(python, interpreter, &list)) {
            python->threads_stale = true;
        }
        mark_not_started(&list);
        /* Oldest first: the main thread before the threads that it starts. */
        for (size_t k = list.count; k-- > 0;) {
            if (list.data[k].not_started) {
                python->threads_stale = true;
                continue;
            }
            put_thread(python, &index, &list.data[k], interpreter, k + 1 == list.count, round);
        }
    }
    ss_vec_fini(&list);
    ss_vec_fini(&index);
    remove_unseen(python, round, removed, context);
    return SS_OK;
}

uint32_t ss_python_thread_round(const struct ss_python *python)
{
    return python->thread_round;
}

size_t ss_python_thread_count(const struct ss_python *python)
{
    return python->threads.count;
}

struct ss_python_thread *ss_python_thread_at(struct ss_python *python, size_t index)
{
    return python->threads.data[index];
}

bool ss_python_gil_range(const struct ss_python *python, const struct ss_python_thread *thread,
                         uint64_t *address, size_t *length)
{
    if (python->layout.is_free_threaded) {
        return false;
    }
    for (size_t i = 0; i < python->interpreters.count; i++) {
        const struct ss_python_interpreter *interpreter = &python->interpreters.data[i];
        if ((uint64_t)interpreter->id == thread->interpreter_id && interpreter->gil != 0) {
            *address = interpreter->gil;
            *length = (size_t)python->layout.gil_size;
            return true;
        }
    }
    return false;
}
