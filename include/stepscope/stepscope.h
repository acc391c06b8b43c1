/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libstepscope: annotations that stay in the code. They cost less than a nanosecond while the
 * program is not recorded.
 *
 *     #include <stepscope/stepscope.h>
 *
 *     void train(void)
 *     {
 *         STEPSCOPE_FUNC();
 *         for (int i = 0; i < steps; i++) {
 *             stepscope_step(i);
 *             STEPSCOPE_RANGE("forward");
 *             …
 *         }
 *     }
 *
 *     cc program.c $(pkg-config --cflags --libs stepscope) -o program
 *     stepscope record -- ./program
 *
 * With and without the library. Compiled as pkg-config and CMake have it (STEPSCOPE_LINKED), a
 * program needs libstepscope.so to run. Compiled with this header alone it refers to the library
 * weakly: it links and runs without it, and every call does nothing and returns 0. When
 * the library is there as the program or shared object is loaded (linked, or preloaded), the calls
 * work; when it comes later, by dlopen, they stay without effect in what was loaded before.
 *
 * Threads and signals. Every function may be called from any thread. stepscope_push and
 * stepscope_pop belong to the calling thread, begin and end to any. In signal handlers
 * push, pop, mark, begin, end, flow, count, step and phase may be called; a handler pops what it
 * pushed. Signals wait while a thread sets up its first event. Forked children record on their own,
 * from their first event on.
 *
 * Names are copied and become numbers once (STEPSCOPE_RANGE does it on first use). A program has at
 * most 65,535 names of at most 1,023 bytes, and 255 domains; what is beyond counts as name or
 * domain 0. No function fails, and errno stays as it was.
 *
 * The events of a ring that is full are dropped and counted; the report says how many.
 */
#ifndef STEPSCOPE_STEPSCOPE_H
#define STEPSCOPE_STEPSCOPE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t stepscope_name;   /* 0: "<other>" */
typedef uint32_t stepscope_domain; /* 0: the default one */
typedef uint64_t stepscope_id;     /* of an asynchronous range or a flow; 0: none */

/* Bits of the gate: what is being recorded. */
enum { STEPSCOPE_RANGES = 1, STEPSCOPE_COUNTERS = 2, STEPSCOPE_MARKS = 4, STEPSCOPE_ANY = 7 };

/* How a payload's or fact's 64 bits are meant. */
enum {
    STEPSCOPE_NO_PAYLOAD = 0,
    STEPSCOPE_UINT = 1,
    STEPSCOPE_INT = 2,
    STEPSCOPE_DOUBLE = 3,
    STEPSCOPE_NAME = 4 /* a stepscope_name */
};

/* What the values of a counter are. */
enum {
    STEPSCOPE_GAUGE = 0,     /* a level */
    STEPSCOPE_DELTA = 1,     /* what it grew by */
    STEPSCOPE_CUMULATIVE = 2 /* a total that only grows */
};

enum { STEPSCOPE_FLOW_START = 0, STEPSCOPE_FLOW_STEP = 1, STEPSCOPE_FLOW_END = 2 };

/* The file of a window is finished. */
enum {
    STEPSCOPE_SEALED_PARTIAL =
        1,                      /* the window was cut: by its epoch, the program or the recording */
    STEPSCOPE_SEALED_FAILED = 2 /* its file could not be written whole; `path` may be missing */
};
struct stepscope_sealed {
    size_t size;     /* sizeof this, by the caller */
    uint64_t window; /* of this process, from 0 */
    int64_t first_step, last_step;
    uint32_t flags;  /* STEPSCOPE_SEALED_… */
    char path[4096]; /* absolute; the trace, or what was asked for in its place */
};

/*
 * The one runtime of the process, as a table. Later versions append members; `size` is that of the
 * version at hand. Languages without this header, and other libraries in the process, call it
 * directly: a caller that does not read `gate` first pays one call while nothing is recorded.
 */
#define STEPSCOPE_RUNTIME_VERSION 1
typedef struct stepscope_runtime {
    size_t size;
    /* Not 0 while the program is recorded: STEPSCOPE_RANGES… Stays at this address. */
    const uint32_t *gate;

    stepscope_domain (*domain)(const char *name);
    stepscope_name (*intern)(const char *text, size_t length);
    void (*style)(stepscope_name name, uint32_t argb, const char *category);
    stepscope_name (*counter)(const char *name, const char *unit, unsigned kind);

    int (*push)(stepscope_domain domain, stepscope_name name);
    int (*push_value)(stepscope_domain domain, stepscope_name name, unsigned type, uint64_t bits);
    int (*pop)(stepscope_domain domain);
    void (*mark)(stepscope_domain domain, stepscope_name name);
    void (*mark_value)(stepscope_domain domain, stepscope_name name, unsigned type, uint64_t bits);
    stepscope_id (*begin)(stepscope_domain domain, stepscope_name name, unsigned type,
                          uint64_t bits);
    void (*end)(stepscope_id id);
    stepscope_id (*flow_id)(void);
    void (*flow)(stepscope_id id, unsigned where);
    void (*count)(stepscope_name counter, unsigned type, uint64_t bits);

    void (*step)(int64_t step);
    void (*epoch)(int64_t epoch);
    void (*phase)(stepscope_name phase);
    /* For the schedule: `action` begins now, before `step`, in `window`. */
    void (*window)(unsigned action, int64_t step, uint32_t window);
    void (*thread_name)(const char *name);
    void (*fact)(stepscope_name key, unsigned type, uint64_t bits);

    /* The current step ends (step 0, if none was marked) and the next begins; or step `number`, if
     * it is not negative. */
    void (*next_step)(int64_t number);
    /* Epoch `number` begins (-1: the next), with `length` batches (-1: not known), at batch
     * `resumed_at`. */
    void (*begin_epoch)(int64_t number, int64_t length, int64_t resumed_at);

    /* The wrappers below say what these do. */
    int (*schedule)(const char *text);
    int (*sealed)(uint64_t number, uint32_t timeout_ms, struct stepscope_sealed *out);
    int (*flush)(uint32_t timeout_ms);

    /* A new name, for a function that begins in this line of this file (a name): give each function
     * one, and keep it. */
    stepscope_name (*function)(const char *text, size_t length, stepscope_name file, uint32_t line);
    /* The clock of all that is recorded, in ticks of its own. */
    uint64_t (*ticks)(void);
    /* A line of a function has been hit so often, and took so long, since this was last said. 0: it
     * was not recorded, and may be said again. */
    int (*line)(stepscope_name function, uint32_t line, uint64_t hits, uint64_t ticks);
} stepscope_runtime;

#if defined(STEPSCOPE_LINKED) || defined(STEPSCOPE_BUILDING)
__attribute__((visibility("default")))
#else
__attribute__((visibility("default"), weak))
#endif
const stepscope_runtime *
stepscope_runtime_get(uint32_t version);

#ifndef STEPSCOPE_BUILDING

/* --- the gate: one word per program or shared object ------------------------------------------ */

struct stepscope_link {
    const uint32_t *gate;
    const stepscope_runtime *runtime;
    uint32_t off;
};

/* One per program or shared object: weak, so that its source files share it, and hidden. */
#ifdef __cplusplus
extern struct stepscope_link stepscope_link_;
#endif
__attribute__((weak, visibility("hidden"))) struct stepscope_link stepscope_link_ = {
    &stepscope_link_.off, NULL, 0};

__attribute__((constructor, unused)) static void stepscope_connect_(void)
{
#ifndef STEPSCOPE_LINKED
    if (!stepscope_runtime_get) {
        return;
    }
#endif
    if (stepscope_link_.runtime == NULL) {
        const stepscope_runtime *runtime = stepscope_runtime_get(STEPSCOPE_RUNTIME_VERSION);
        if (runtime != NULL) {
            stepscope_link_.runtime = runtime;
            stepscope_link_.gate = runtime->gate;
        }
    }
}

/* Which of `bits` are being recorded: two loads and a test. */
static inline uint32_t stepscope_enabled(uint32_t bits)
{
#ifdef __clang_analyzer__
    if (stepscope_link_.runtime == NULL) {
        return 0; /* without a runtime the gate is the closed one above */
    }
#endif
    return __builtin_expect(__atomic_load_n(stepscope_link_.gate, __ATOMIC_RELAXED) & bits, 0);
}

/* --- names: once, not per event --------------------------------------------------------------- */

/* The same name gives the same number. */
static inline stepscope_domain stepscope_domain_get(const char *name)
{
    return stepscope_link_.runtime != NULL ? stepscope_link_.runtime->domain(name) : 0;
}

/* `length` bytes at `text`; they are copied. The same text gives the same number. */
static inline stepscope_name stepscope_intern(const char *text, size_t length)
{
    return stepscope_link_.runtime != NULL ? stepscope_link_.runtime->intern(text, length) : 0;
}

/* Colour (0xAARRGGBB; 0: as the viewer likes) and category (NULL: none) of all ranges and marks of
 * this name. */
static inline void stepscope_name_style(stepscope_name name, uint32_t argb, const char *category)
{
    if (stepscope_link_.runtime != NULL) {
        stepscope_link_.runtime->style(name, argb, category);
    }
}

/* `unit`: "bytes", "ns", "count", "%"… or NULL. `kind`: STEPSCOPE_GAUGE, _DELTA, _CUMULATIVE. */
static inline stepscope_name stepscope_counter(const char *name, const char *unit, unsigned kind)
{
    return stepscope_link_.runtime != NULL ? stepscope_link_.runtime->counter(name, unit, kind) : 0;
}

/* --- ranges ----------------------------------------------------------------------------------- */

/* Opens a range of the calling thread. Returns how many were open. */
static inline int stepscope_push(stepscope_domain domain, stepscope_name name)
{
    return stepscope_enabled(STEPSCOPE_RANGES) ? stepscope_link_.runtime->push(domain, name) : 0;
}

/* With a payload: STEPSCOPE_UINT…, and its 64 bits. */
static inline int stepscope_push_value(stepscope_domain domain, stepscope_name name, unsigned type,
                                       uint64_t bits)
{
    return stepscope_enabled(STEPSCOPE_RANGES)
               ? stepscope_link_.runtime->push_value(domain, name, type, bits)
               : 0;
}

/* Closes the calling thread's innermost range of this domain; without one it is counted as
 * unmatched. Returns how many are open. */
static inline int stepscope_pop(stepscope_domain domain)
{
    return stepscope_enabled(STEPSCOPE_RANGES) ? stepscope_link_.runtime->pop(domain) : 0;
}

/* A range that any thread may end. */
static inline stepscope_id stepscope_begin(stepscope_domain domain, stepscope_name name)
{
    return stepscope_enabled(STEPSCOPE_RANGES)
               ? stepscope_link_.runtime->begin(domain, name, STEPSCOPE_NO_PAYLOAD, 0)
               : 0;
}

static inline stepscope_id stepscope_begin_value(stepscope_domain domain, stepscope_name name,
                                                 unsigned type, uint64_t bits)
{
    return stepscope_enabled(STEPSCOPE_RANGES)
               ? stepscope_link_.runtime->begin(domain, name, type, bits)
               : 0;
}

static inline void stepscope_end(stepscope_id id)
{
    if (stepscope_enabled(STEPSCOPE_RANGES)) {
        stepscope_link_.runtime->end(id);
    }
}

/* --- marks, flows, counters ------------------------------------------------------------------- */

/* Something that happens now, on this thread. */
static inline void stepscope_mark(stepscope_domain domain, stepscope_name name)
{
    if (stepscope_enabled(STEPSCOPE_MARKS)) {
        stepscope_link_.runtime->mark(domain, name);
    }
}

static inline void stepscope_mark_value(stepscope_domain domain, stepscope_name name, unsigned type,
                                        uint64_t bits)
{
    if (stepscope_enabled(STEPSCOPE_MARKS)) {
        stepscope_link_.runtime->mark_value(domain, name, type, bits);
    }
}

/* A new flow: an arrow through ranges of any threads of this process. */
static inline stepscope_id stepscope_flow_new(void)
{
    return stepscope_enabled(STEPSCOPE_RANGES) ? stepscope_link_.runtime->flow_id() : 0;
}

/* The flow passes through the calling thread's innermost open range. `where`: STEPSCOPE_FLOW_… */
static inline void stepscope_flow(stepscope_id id, unsigned where)
{
    if (stepscope_enabled(STEPSCOPE_RANGES)) {
        stepscope_link_.runtime->flow(id, where);
    }
}

static inline void stepscope_count_i(stepscope_name counter, int64_t value)
{
    if (stepscope_enabled(STEPSCOPE_COUNTERS)) {
        stepscope_link_.runtime->count(counter, STEPSCOPE_INT, (uint64_t)value);
    }
}

static inline void stepscope_count_f(stepscope_name counter, double value)
{
    if (stepscope_enabled(STEPSCOPE_COUNTERS)) {
        uint64_t bits;
        __builtin_memcpy(&bits, &value, sizeof bits);
        stepscope_link_.runtime->count(counter, STEPSCOPE_DOUBLE, bits);
    }
}

/* --- training --------------------------------------------------------------------------------- */

/* Step `step` begins now, the one before ends. Every sample taken from now on carries it. */
static inline void stepscope_step(int64_t step)
{
    if (stepscope_enabled(STEPSCOPE_ANY)) {
        stepscope_link_.runtime->step(step);
    }
}

/* The other way of marking: at the end of each step. The first call ends step 0. */
static inline void stepscope_next_step(void)
{
    if (stepscope_enabled(STEPSCOPE_ANY)) {
        stepscope_link_.runtime->next_step(-1);
    }
}

static inline void stepscope_epoch(int64_t epoch)
{
    if (stepscope_enabled(STEPSCOPE_ANY)) {
        stepscope_link_.runtime->epoch(epoch);
    }
}

/* The same for a schedule that counts the batches of epochs: `length` of them (-1: not known), the
 * first of which is `resumed_at` when the epoch is taken up again (else 0). */
static inline void stepscope_epoch_begin(int64_t epoch, int64_t length, int64_t resumed_at)
{
    if (stepscope_enabled(STEPSCOPE_ANY)) {
        stepscope_link_.runtime->begin_epoch(epoch, length, resumed_at);
    }
}

/* Phase `phase` of the step begins now on this thread ("data", "forward", "backward",
 * "optimizer", "communication"), the one before ends; 0: none. */
static inline void stepscope_phase(stepscope_name phase)
{
    if (stepscope_enabled(STEPSCOPE_ANY)) {
        stepscope_link_.runtime->phase(phase);
    }
}

/* Steps are recorded by this schedule from here on: "wait=5,warmup=1,active=3,repeat=2", as in
 * `stepscope record --schedule`; its first step begins now (with per_epoch: with the next epoch).
 * It takes the place of the one before, whose open window is cut. NULL: it is over, and nothing
 * more is recorded of this process. "": for recordings to come, as if there had been none. 0: done;
 * -1: the text is no schedule; -2: another thread is at it. */
static inline int stepscope_schedule(const char *text)
{
    const stepscope_runtime *runtime = stepscope_link_.runtime;
    return runtime != NULL && runtime->size > offsetof(stepscope_runtime, schedule)
               ? runtime->schedule(text)
               : 0;
}

/* Waits until the recorder has finished the file of a window of this process: notice `number`,
 * counted from 0 in the order in which files are finished. Fills *out (set out->size before) and
 * returns 1; 0: not within `timeout_ms`; -1: there is no such notice, and none will come: the
 * program is not recorded, or the recording is over. Sleeps: for a thread of its own, never for a
 * signal handler. The same notice can be read again. */
static inline int stepscope_wait_sealed(uint64_t number, uint32_t timeout_ms,
                                        struct stepscope_sealed *out)
{
    const stepscope_runtime *runtime = stepscope_link_.runtime;
    return runtime != NULL && runtime->size > offsetof(stepscope_runtime, sealed)
               ? runtime->sealed(number, timeout_ms, out)
               : -1;
}

/* Waits until all that this process has marked so far is in the recording's file. 1: it is; 0: not
 * within `timeout_ms`; -1: the program is not recorded. */
static inline int stepscope_flush(uint32_t timeout_ms)
{
    const stepscope_runtime *runtime = stepscope_link_.runtime;
    return runtime != NULL && runtime->size > offsetof(stepscope_runtime, flush)
               ? runtime->flush(timeout_ms)
               : -1;
}

/* --- facts ------------------------------------------------------------------------------------ */

/* The name of the calling thread in reports. Stored while the program is not recorded: a later
 * recording gets it with the thread's first event. "": no name any more. */
static inline void stepscope_thread_name(const char *name)
{
    if (stepscope_link_.runtime != NULL) {
        stepscope_link_.runtime->thread_name(name);
    }
}

/* A fact of this process that the recording keeps ("batch size" = 32). */
static inline void stepscope_fact(const char *key, unsigned type, uint64_t bits)
{
    if (stepscope_enabled(STEPSCOPE_ANY)) {
        stepscope_link_.runtime->fact(stepscope_link_.runtime->intern(key, __builtin_strlen(key)),
                                      type, bits);
    }
}

/* --- scopes: to the end of the block ---------------------------------------------------------- */

/* NOLINTNEXTLINE(readability-non-const-parameter): the built-in writes there */
static inline int stepscope_scope_begin_(stepscope_domain domain, stepscope_name *name,
                                         const char *text)
{
    if (!stepscope_enabled(STEPSCOPE_RANGES)) {
        return 0;
    }
    stepscope_name known = __atomic_load_n(name, __ATOMIC_RELAXED);
    if (__builtin_expect(known == 0, 0)) {
        known = stepscope_link_.runtime->intern(text, __builtin_strlen(text));
        __atomic_store_n(name, known, __ATOMIC_RELAXED);
    }
    stepscope_link_.runtime->push(domain, known);
    return (int)domain + 1;
}

static inline void stepscope_scope_end_(const int *scope)
{
    if (__builtin_expect(*scope != 0, 0)) {
        stepscope_link_.runtime->pop((stepscope_domain)(*scope - 1));
    }
}

#define STEPSCOPE_PASTE_(a, b) a##b
#define STEPSCOPE_JOIN_(a, b) STEPSCOPE_PASTE_(a, b)
#define STEPSCOPE_SCOPE_(domain, text, number)                                                     \
    static stepscope_name STEPSCOPE_JOIN_(stepscope_name_, number) = 0;                            \
    __attribute__((cleanup(stepscope_scope_end_), unused)) const int STEPSCOPE_JOIN_(              \
        stepscope_scope_, number) =                                                                \
        stepscope_scope_begin_((domain), &STEPSCOPE_JOIN_(stepscope_name_, number), (text))

/* A range from here to the end of the block. The text must always be the same at one place. */
#define STEPSCOPE_RANGE(text) STEPSCOPE_SCOPE_(0, text, __COUNTER__)
#define STEPSCOPE_RANGE_IN(domain, text) STEPSCOPE_SCOPE_(domain, text, __COUNTER__)
#define STEPSCOPE_FUNC() STEPSCOPE_SCOPE_(0, __func__, __COUNTER__)

#endif

#ifdef __cplusplus
}
#endif

#endif
