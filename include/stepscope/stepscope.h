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
 * With and without the library. Compiled with the flags of pkg-config or CMake (STEPSCOPE_LINKED),
 * a program needs libstepscope.so to run. Compiled with this header alone it refers to the library
 * weakly: it links and runs without the library, and every call does nothing and returns 0. The
 * calls work if the library is present when the program or shared object is loaded (linked or
 * preloaded). If dlopen loads the library later, the objects loaded before it stay unconnected.
 *
 * Threads and signals. Every function may be called from any thread. stepscope_push and
 * stepscope_pop act on the calling thread; any thread may end what another began. Signal handlers
 * may call push, pop, mark, begin, end, flow, count, step and phase; a handler must pop what it
 * pushed. Signals are blocked while a thread sets up its first event. Forked children record
 * independently, from their first event on.
 *
 * Names are copied and converted to numbers once (STEPSCOPE_RANGE does it on first use). A program
 * has at most 65,535 names of at most 1,023 bytes, and 255 domains; names and domains beyond these
 * become name or domain 0. No function fails, and errno is preserved.
 *
 * Events that find their ring full are dropped and counted; the report shows the count.
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

/* The type of the 64 bits of a payload or fact. */
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
    STEPSCOPE_DELTA = 1,     /* an increment */
    STEPSCOPE_CUMULATIVE = 2 /* a total that only grows */
};

enum { STEPSCOPE_FLOW_START = 0, STEPSCOPE_FLOW_STEP = 1, STEPSCOPE_FLOW_END = 2 };

/* The file of a window is finished. */
enum {
    STEPSCOPE_SEALED_PARTIAL =
        1,                      /* the window was cut: by its epoch, the program or the recording */
    STEPSCOPE_SEALED_FAILED = 2 /* its file is incomplete; `path` may not exist */
};
struct stepscope_sealed {
    size_t size;     /* sizeof this struct, set by the caller */
    uint64_t window; /* of this process, from 0 */
    int64_t first_step, last_step;
    uint32_t flags;  /* STEPSCOPE_SEALED_… */
    char path[4096]; /* absolute; the trace, or its conversion if one was requested */
};

/*
 * The one runtime of the process, as a table of functions. Later versions append members; `size` is
 * the size of the loaded version. Languages without this header, and other libraries in the
 * process, call the table directly: a caller that does not read `gate` first pays one call while
 * nothing is recorded.
 */
#define STEPSCOPE_RUNTIME_VERSION 1
typedef struct stepscope_runtime {
    size_t size;
    /* Not 0 while the program is recorded: STEPSCOPE_RANGES… The address never changes. */
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
    /* Called by the schedule: `action` begins now, before `step`, in `window`. */
    void (*window)(unsigned action, int64_t step, uint32_t window);
    void (*thread_name)(const char *name);
    void (*fact)(stepscope_name key, unsigned type, uint64_t bits);

    /* The current step ends (step 0, if none was marked) and the next begins: step `number`, or the
     * following one if `number` is negative. */
    void (*next_step)(int64_t number);
    /* Epoch `number` begins (-1: the next), with `length` batches (-1: unknown), at batch
     * `resumed_at`. */
    void (*begin_epoch)(int64_t number, int64_t length, int64_t resumed_at);

    /* The wrappers below document these. */
    int (*schedule)(const char *text);
    int (*sealed)(uint64_t number, uint32_t timeout_ms, struct stepscope_sealed *out);
    int (*flush)(uint32_t timeout_ms);

    /* A new name for a function that begins at this line of this file (a name). Call it once per
     * function and keep the result. */
    stepscope_name (*function)(const char *text, size_t length, stepscope_name file, uint32_t line);
    /* The clock of all events, in ticks. */
    uint64_t (*ticks)(void);
    /* Adds the hits and ticks of a line of a function since the last call. Returns 0 if they were
     * not recorded; the caller may pass them again. */
    int (*line)(stepscope_name function, uint32_t line, uint64_t hits, uint64_t ticks);
    /* Before a recorder attaches to this process: makes its ring file again if there is none, or if
     * another program has deleted it. Returns 1 if there is one then, 0 if none can be made, -1 if
     * it was deleted after a recording had used it. */
    int (*prepare)(void);
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

/* The subset of `bits` that is being recorded: two loads and a test. */
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

/* Colour (0xAARRGGBB; 0: the viewer chooses) and category (NULL: none) of all ranges and marks of
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

/* --- payloads --------------------------------------------------------------------------------- */

/* A number or a name beside an event: stepscope_payload_double(0.5). */
typedef struct stepscope_payload {
    unsigned type; /* STEPSCOPE_UINT… */
    uint64_t bits;
} stepscope_payload;

static inline stepscope_payload stepscope_payload_uint(uint64_t value)
{
    stepscope_payload payload = {STEPSCOPE_UINT, value};
    return payload;
}

static inline stepscope_payload stepscope_payload_int(int64_t value)
{
    stepscope_payload payload = {STEPSCOPE_INT, (uint64_t)value};
    return payload;
}

static inline stepscope_payload stepscope_payload_double(double value)
{
    stepscope_payload payload = {STEPSCOPE_DOUBLE, 0};
    __builtin_memcpy(&payload.bits, &value, sizeof payload.bits);
    return payload;
}

static inline stepscope_payload stepscope_payload_name(stepscope_name value)
{
    stepscope_payload payload = {STEPSCOPE_NAME, value};
    return payload;
}

/* --- ranges ----------------------------------------------------------------------------------- */

/* Opens a range on the calling thread. Returns how many were open before. */
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

static inline int stepscope_push_payload(stepscope_domain domain, stepscope_name name,
                                         stepscope_payload payload)
{
    return stepscope_push_value(domain, name, payload.type, payload.bits);
}

/* Closes the calling thread's innermost range of this domain. Without an open range the pop is
 * counted as unmatched. Returns how many are still open. */
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

static inline stepscope_id stepscope_begin_payload(stepscope_domain domain, stepscope_name name,
                                                   stepscope_payload payload)
{
    return stepscope_begin_value(domain, name, payload.type, payload.bits);
}

static inline void stepscope_end(stepscope_id id)
{
    if (stepscope_enabled(STEPSCOPE_RANGES)) {
        stepscope_link_.runtime->end(id);
    }
}

/* --- marks, flows, counters ------------------------------------------------------------------- */

/* A named moment: now, on the calling thread. */
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

static inline void stepscope_mark_payload(stepscope_domain domain, stepscope_name name,
                                          stepscope_payload payload)
{
    stepscope_mark_value(domain, name, payload.type, payload.bits);
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

/* Step `step` begins now and the previous one ends. Samples from now on carry this step. */
static inline void stepscope_step(int64_t step)
{
    if (stepscope_enabled(STEPSCOPE_ANY)) {
        stepscope_link_.runtime->step(step);
    }
}

/* The alternative: call it at the end of each step. The first call ends step 0. */
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

/* The same for a schedule that counts the batches of each epoch: `length` batches (-1: unknown),
 * the first of which is `resumed_at` when the epoch is resumed (else 0). */
static inline void stepscope_epoch_begin(int64_t epoch, int64_t length, int64_t resumed_at)
{
    if (stepscope_enabled(STEPSCOPE_ANY)) {
        stepscope_link_.runtime->begin_epoch(epoch, length, resumed_at);
    }
}

/* Phase `phase` of the step begins now on this thread ("data", "forward", "backward",
 * "optimizer", "communication") and the previous one ends; 0: no phase. */
static inline void stepscope_phase(stepscope_name phase)
{
    if (stepscope_enabled(STEPSCOPE_ANY)) {
        stepscope_link_.runtime->phase(phase);
    }
}

/* Sets the schedule by which steps are recorded from now on: "wait=5,warmup=1,active=3,repeat=2",
 * as in `stepscope record --schedule`. Its first step begins now (with per_epoch: with the next
 * epoch). It replaces the previous schedule, whose open window is cut. NULL ends the schedule:
 * nothing more is recorded of this process. "" removes it, for later recordings. Returns 0 on
 * success, -1 if the text is not a schedule, -2 if another thread is changing it. */
static inline int stepscope_schedule(const char *text)
{
    const stepscope_runtime *runtime = stepscope_link_.runtime;
    return runtime != NULL && runtime->size > offsetof(stepscope_runtime, schedule)
               ? runtime->schedule(text)
               : 0;
}

/* Waits until the recorder has finished the file of a window of this process: notice `number`,
 * counted from 0 in the order in which files are finished. Returns 1 and fills *out (set out->size
 * before); 0 after `timeout_ms`; -1 if there is no such notice and none will follow, because the
 * program is not recorded or the recording has ended. It sleeps: call it from a separate thread,
 * never from a signal handler. The same notice can be read again. */
static inline int stepscope_wait_sealed(uint64_t number, uint32_t timeout_ms,
                                        struct stepscope_sealed *out)
{
    const stepscope_runtime *runtime = stepscope_link_.runtime;
    return runtime != NULL && runtime->size > offsetof(stepscope_runtime, sealed)
               ? runtime->sealed(number, timeout_ms, out)
               : -1;
}

/* Waits until all events of this process so far are in the recording's file. Returns 1 then, 0
 * after `timeout_ms`, -1 if the program is not recorded. */
static inline int stepscope_flush(uint32_t timeout_ms)
{
    const stepscope_runtime *runtime = stepscope_link_.runtime;
    return runtime != NULL && runtime->size > offsetof(stepscope_runtime, flush)
               ? runtime->flush(timeout_ms)
               : -1;
}

/* --- facts ------------------------------------------------------------------------------------ */

/* The name of the calling thread in reports. It is stored while the program is not recorded; a
 * later recording gets it with the thread's first event. "" removes it. */
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

static inline void stepscope_fact_payload(const char *key, stepscope_payload payload)
{
    stepscope_fact(key, payload.type, payload.bits);
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

/* A range from here to the end of the block. The text must be the same on each execution. */
#define STEPSCOPE_RANGE(text) STEPSCOPE_SCOPE_(0, text, __COUNTER__)
#define STEPSCOPE_RANGE_IN(domain, text) STEPSCOPE_SCOPE_(domain, text, __COUNTER__)
#define STEPSCOPE_FUNC() STEPSCOPE_SCOPE_(0, __func__, __COUNTER__)

#endif

#ifdef __cplusplus
}
#endif

#endif
