/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/device/launch_stack.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "annot/process.h"
#include "base/alloc.h"
#include "inject/device/texts.h"
#include "unwind/cpython_code.h"
#include "unwind/cpython_layout.h"

enum {
    FIRST_SLOTS = 1024,
    MOST_SLOTS = 1 << 17,
    CHECK_EVERY = 4096, /* launches between two checks for reused code objects */
    CHECK_BATCH = 128,
    OWNED_BY_C = 3,    /* frame_owner from 3.12 on: an entry from C, which is not a Python frame */
    CODE_TAG_BITS = 7, /* low bits of a reference, which are not address bits, from 3.14 on */
    MOST_RANGES = 256
};

struct frame {
    uint64_t code, instruction;
};

struct known {
    uint64_t hash; /* 0: free */
    uint32_t stack;
};

struct ss_launch_stacks {
    struct ss_code_cache cache;
    struct ss_memory_reader reader;
    struct known *known; /* open addressing, at most half full */
    uint32_t slots, count, until_check;
};

/* --- this process's Python -------------------------------------------------------------------- */

enum { UNKNOWN, READABLE, UNREADABLE };

static struct {
    _Atomic int state; /* publishes the rest */
    void *(*thread_state)(void);
    struct ss_cpython_layout layout;
    char problem[160];
} python;

/* Reads this process like another one: a wrong address is an error, not a crash. */
static int read_self(struct ss_memory_reader *reader, struct ss_memory_range *ranges, size_t count)
{
    struct iovec to[MOST_RANGES], from[MOST_RANGES];
    for (size_t first = 0; first < count; first += MOST_RANGES) {
        size_t n = count - first < MOST_RANGES ? count - first : MOST_RANGES;
        for (size_t i = 0; i < n; i++) {
            struct ss_memory_range *range = &ranges[first + i];
            range->got = 0;
            to[i] = (struct iovec){range->buffer, range->length};
            from[i] = (struct iovec){(void *)(uintptr_t)range->address, range->length};
        }
        ssize_t got = process_vm_readv(ss_process_pid(), to, n, from, n, 0);
        reader->syscalls++;
        for (size_t i = 0; i < n && got > 0; i++) {
            struct ss_memory_range *range = &ranges[first + i];
            range->got = (size_t)got < range->length ? (size_t)got : range->length;
            got -= (ssize_t)range->got;
        }
    }
    return 0;
}

static uint64_t word_at(uint64_t address)
{
    uint64_t value;
    memcpy(&value, (const void *)(uintptr_t)address, sizeof value);
    return value;
}

/* A layout fits this Python if the thread state it decodes names this thread. */
static bool fits_thread(const struct ss_cpython_layout *layout, uint64_t state)
{
    struct ss_memory_reader reader = {.read = read_self};
    uint64_t thread = 0;
    return ss_memory_read(&reader, state + (uint64_t)layout->tstate_thread_id, &thread,
                          sizeof thread) &&
           thread == (uint64_t)pthread_self();
}

static bool find_layout(const char *version, uint64_t state)
{
    unsigned major = 0, minor = 0;
    uint32_t hex;
    const void *runtime = dlsym(RTLD_DEFAULT, "_PyRuntime");
    if (sscanf(version, "%u.%u", &major, &minor) != 2 || major != 3 || minor > 99) {
        return false;
    }
    if (minor >= 13) {
        return runtime != NULL &&
               ss_debug_offsets_parse(runtime, SS_DEBUG_OFFSETS_BYTES, &python.layout, &hex,
                                      NULL) == SS_OK &&
               fits_thread(&python.layout, state);
    }
    uint16_t wanted = (uint16_t)(major << 8 | minor);
    for (const struct ss_cpython_layout *layout = ss_cpython_layout_next(NULL, wanted);
         layout != NULL; layout = ss_cpython_layout_next(layout, wanted)) {
        if (fits_thread(layout, state)) {
            python.layout = *layout;
            return true;
        }
    }
    return false;
}

/* Once, on a thread with Python: a process may load Python late. */
static void examine(uint64_t state)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const char *(*get_version)(void) = NULL;
    pthread_mutex_lock(&lock);
    if (atomic_load_explicit(&python.state, memory_order_relaxed) == UNKNOWN) {
        *(void **)&get_version = dlsym(RTLD_DEFAULT, "Py_GetVersion");
        const char *version = get_version != NULL ? get_version() : "";
        bool is_known = find_layout(version, state);
        if (!is_known) {
            snprintf(python.problem, sizeof python.problem,
                     "the frames of Python %.60s cannot be read: launches have no lines", version);
        }
        atomic_store_explicit(&python.state, is_known ? READABLE : UNREADABLE,
                              memory_order_release);
    }
    pthread_mutex_unlock(&lock);
}

const char *ss_launch_stack_problem(void)
{
    return atomic_load_explicit(&python.state, memory_order_acquire) == UNREADABLE ? python.problem
                                                                                   : "";
}

/* The state of this thread; 0: it has none, or it cannot be read. */
static uint64_t thread_state(void)
{
    static _Atomic(void *) function;
    void *found = atomic_load_explicit(&function, memory_order_relaxed);
    if (found == NULL) {
        found = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
        if (found == NULL) {
            return 0;
        }
        atomic_store_explicit(&function, found, memory_order_relaxed);
    }
    void *(*get)(void) = NULL;
    *(void **)&get = found;
    uint64_t state = (uint64_t)(uintptr_t)get();
    if (state != 0 && atomic_load_explicit(&python.state, memory_order_acquire) == UNKNOWN) {
        examine(state);
    }
    return atomic_load_explicit(&python.state, memory_order_acquire) == READABLE ? state : 0;
}

/* --- the walk --------------------------------------------------------------------------------- */

static uint64_t first_frame(const struct ss_cpython_layout *layout, uint64_t state)
{
    if (layout->tstate_current_frame != SS_ABSENT) {
        return word_at(state + (uint64_t)layout->tstate_current_frame);
    }
    if (layout->tstate_cframe != SS_ABSENT) {
        uint64_t entry = word_at(state + (uint64_t)layout->tstate_cframe);
        return entry != 0 ? word_at(entry + (uint64_t)layout->cframe_current_frame) : 0;
    }
    return word_at(state + (uint64_t)layout->tstate_frame);
}

static uint64_t instruction_of(const struct ss_cpython_layout *layout, uint64_t frame)
{
    int32_t index;
    if (layout->frame_instr != SS_ABSENT) {
        return word_at(frame + (uint64_t)layout->frame_instr);
    }
    memcpy(&index, (const void *)(uintptr_t)(frame + (uint64_t)layout->frame_lasti), sizeof index);
    return (uint32_t)index;
}

/* The frames, the innermost first, and their hash, which is never 0. */
static uint32_t walk(uint64_t state, struct frame *frames, uint64_t *hash)
{
    const struct ss_cpython_layout *layout = &python.layout;
    const uint64_t code_mask = layout->version >= 0x030e ? ~(uint64_t)CODE_TAG_BITS : UINT64_MAX;
    bool has_shims = layout->version >= 0x030c && layout->frame_owner != SS_ABSENT;
    uint64_t mixed = 0;
    uint32_t count = 0;
    for (uint64_t at = first_frame(layout, state); at != 0 && count < SS_LAUNCH_STACK_DEPTH;
         at = word_at(at + (uint64_t)layout->frame_previous)) {
        if (has_shims &&
            *(const uint8_t *)(uintptr_t)(at + (uint64_t)layout->frame_owner) >= OWNED_BY_C) {
            continue;
        }
        struct frame *frame = &frames[count++];
        frame->code = word_at(at + (uint64_t)layout->frame_code) & code_mask;
        frame->instruction = instruction_of(layout, at);
        mixed = (mixed ^ frame->code ^ frame->instruction << 20) * UINT64_C(0x9e3779b97f4a7c15);
        mixed ^= mixed >> 29;
    }
    *hash = mixed | 1;
    return count;
}

/* --- names ------------------------------------------------------------------------------------ */

static uint32_t text_of(const struct ss_code_cache *cache, uint32_t text)
{
    struct ss_strview view = ss_intern_get(&cache->texts, text);
    return ss_device_text_put(view.data, view.length);
}

/* 0: no frame of the program. */
static uint32_t frame_of(struct ss_code_cache *cache, const struct frame *frame)
{
    uint32_t id = ss_code_frame(cache, frame->code, frame->instruction);
    if (id == SS_FRAME_NONE || id == SS_FRAME_SHIM) {
        return 0;
    }
    const struct ss_code_frame *found = &cache->frames.data[id - 1];
    const struct ss_code *code = &cache->codes.data[found->code];
    return ss_device_frame_put(text_of(cache, code->file), text_of(cache, code->function),
                               found->line > 0 ? found->line : 0);
}

static uint32_t resolve(struct ss_launch_stacks *stacks, const struct frame *frames, uint32_t count)
{
    uint32_t stack = 0;
    for (uint32_t i = count; i-- > 0;) {
        stack = ss_device_stack_put(stack, frame_of(&stacks->cache, &frames[i]));
    }
    return stack;
}

/* --- known stacks ----------------------------------------------------------------------------- */

static struct ss_launch_stacks *new_stacks(void)
{
    struct ss_launch_stacks *stacks = ss_alloc_zero(1, sizeof *stacks);
    stacks->reader = (struct ss_memory_reader){.read = read_self};
    ss_code_cache_init(&stacks->cache, &stacks->reader, &python.layout, false);
    stacks->slots = FIRST_SLOTS;
    stacks->known = ss_alloc_zero(FIRST_SLOTS, sizeof *stacks->known);
    stacks->until_check = CHECK_EVERY;
    return stacks;
}

void ss_launch_stacks_free(struct ss_launch_stacks *stacks)
{
    if (stacks != NULL) {
        ss_code_cache_fini(&stacks->cache);
        ss_free(stacks->known);
        ss_free(stacks);
    }
}

static struct known *find(const struct ss_launch_stacks *stacks, uint64_t hash)
{
    uint32_t mask = stacks->slots - 1, slot = (uint32_t)(hash >> 32) & mask;
    while (stacks->known[slot].hash != 0 && stacks->known[slot].hash != hash) {
        slot = (slot + 1) & mask;
    }
    return &stacks->known[slot];
}

static void forget_all(struct ss_launch_stacks *stacks, uint32_t slots)
{
    ss_free(stacks->known);
    stacks->slots = slots;
    stacks->count = 0;
    stacks->known = ss_alloc_zero(slots, sizeof *stacks->known);
}

static void grow(struct ss_launch_stacks *stacks)
{
    struct known *old = stacks->known;
    uint32_t slots = stacks->slots, count = stacks->count;
    if (slots >= MOST_SLOTS) {
        forget_all(stacks, slots);
        return;
    }
    stacks->slots = 2 * slots;
    stacks->known = ss_alloc_zero(stacks->slots, sizeof *stacks->known);
    for (uint32_t i = 0; i < slots; i++) {
        if (old[i].hash != 0) {
            *find(stacks, old[i].hash) = old[i];
        }
    }
    stacks->count = count;
    ss_free(old);
}

/* Addresses of code objects are reused. */
static void check_code(struct ss_launch_stacks *stacks)
{
    stacks->until_check = CHECK_EVERY;
    if (ss_code_cache_check(&stacks->cache, CHECK_BATCH) > 0) {
        forget_all(stacks, stacks->slots);
    }
}

uint32_t ss_launch_stack(struct ss_launch_stacks **stacks)
{
    struct frame frames[SS_LAUNCH_STACK_DEPTH];
    uint64_t hash, state = thread_state();
    uint32_t count = state != 0 ? walk(state, frames, &hash) : 0;
    if (count == 0) {
        return 0;
    }
    if (*stacks == NULL) {
        *stacks = new_stacks();
    }
    if (--(*stacks)->until_check == 0) {
        check_code(*stacks);
    }
    struct known *known = find(*stacks, hash);
    if (known->hash == hash) {
        return known->stack;
    }
    uint32_t stack = resolve(*stacks, frames, count);
    if (2 * ++(*stacks)->count > (*stacks)->slots) {
        grow(*stacks);
        known = find(*stacks, hash);
    }
    *known = (struct known){hash, stack};
    return stack;
}
