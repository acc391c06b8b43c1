/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls and lines of chosen functions, recorded without a change to their source.
 *
 * Each code object that somebody chose has one struct ss_code, which lies in the code object's own
 * extra slot and goes with it. The interpreter tells us of its calls and lines: by sys.monitoring
 * from Python 3.12 on, before that by the profile and the trace hook of each thread. While nobody
 * records, only as much is asked of it as it takes to notice that a recording begins.
 *
 *   tracing.c     what is chosen, and when the interpreter is asked to tell
 *   calls.c       ranges around calls
 *   lines.c       times of lines, added up here and handed to the recorder now and then
 *   monitoring.c  Python 3.12 and later
 *   hooks.c       Python before 3.12
 *
 * All of it runs under the GIL, but for what a forked child does first.
 */
#ifndef SS_PYTHON_TRACING_H
#define SS_PYTHON_TRACING_H

#include "extension.h" /* Python.h wants to be first */

#define SS_HAS_MONITORING (PY_VERSION_HEX >= 0x030C0000)

struct ss_line {
    uint64_t hits, ticks; /* since they were last handed over */
};

struct ss_code {
    struct ss_code *previous, *next; /* of all that are chosen */
    PyObject *code;                  /* borrowed: it outlives this */
    stepscope_name name;
    uint32_t choice; /* ss_tracing.choice when it was looked at */
    bool has_calls, has_c_calls, has_lines;
    bool has_news; /* lines that were not handed over */
    uint32_t first_line, line_count;
    struct ss_line *line; /* line_count of them, from first_line on */
};

/* A thread that saw another generation than the present one forgets what it has open. */
extern struct ss_tracing {
    struct ss_code *codes;
    PyObject *decide; /* called with (code, module name); NULL: nothing is looked for */
    uint32_t choice;  /* counts what was asked for */
    uint32_t generation;
    uint32_t recording; /* as the gate counts them */
    bool is_on;         /* the interpreter tells of everything */
} ss_tracing;

/* --- tracing.c --- */

/* Is it recorded now? Turns the interpreter's telling on or off when that has changed. */
bool ss_tracing_turn(void);
static inline bool ss_tracing_is_recorded(void)
{
    uint32_t gate = __atomic_load_n(ss_own_gate, __ATOMIC_RELAXED);
    if (__builtin_expect((gate & STEPSCOPE_RANGES) != 0 && ss_tracing.is_on &&
                             gate >> 8 == ss_tracing.recording,
                         1)) {
        return true;
    }
    return ss_tracing_turn();
}
/* A step begins: what was counted belongs to the one before. Also notices recordings. */
void ss_tracing_step(void);
/* NULL: not chosen. */
struct ss_code *ss_code_known(PyObject *code);
/* The same, after asking `decide` when that was not done yet. `frame_globals` may be NULL. */
struct ss_code *ss_code_of(PyObject *code, PyObject *frame_globals);
bool ss_is_deciding(void);
/* Is there anybody who wants to be asked about a code object that was not met before? */
static inline bool ss_tracing_looks(void)
{
    return ss_tracing.decide != NULL;
}
bool ss_tracing_init(PyObject *module);
extern PyMethodDef ss_tracing_methods[];

/* --- calls.c --- */

bool ss_calls_init(void);
void ss_call_begin(const struct ss_code *code);
void ss_call_end(const struct ss_code *code);
/* Something that is not written in Python, called by chosen code. */
void ss_c_call_begin(PyObject *callable);
void ss_c_call_end(void);

/* --- lines.c --- */

bool ss_lines_init(void);
void ss_lines_enter(struct ss_code *code);
/* A generator or coroutine goes on in this line. */
void ss_lines_resume(struct ss_code *code, int line);
void ss_lines_line(struct ss_code *code, int line);
void ss_lines_leave(struct ss_code *code);
/* Hands over what there is. */
void ss_lines_flush(void);
/* The same, when it is long enough since the last time, or steps belong to windows. */
void ss_lines_flush_for_step(void);
/* Steps belong to windows from here on. */
void ss_lines_follow_schedule(void);
void ss_lines_flush_code(struct ss_code *code);
void ss_lines_forget(void);

/* --- monitoring.c, hooks.c --- */

/* Makes the interpreter tell what is wanted now: is_on, the chosen codes, decide. false with an
 * exception when it cannot: somebody else is in the place. */
bool ss_listen(void);
/* One code object alone. */
bool ss_listen_to(struct ss_code *code);
bool ss_listen_init(PyObject *module);

#endif
