/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls and lines of selected functions, recorded without a change to their source.
 *
 * Each selected code object has one struct ss_code, which is in the code object's own extra slot
 * and is freed with it. The interpreter emits its calls and lines: through sys.monitoring from
 * Python 3.12 on, before that through the profile and trace hooks of each thread. Without a
 * recording only the events are enabled that detect the begin of one.
 *
 *   tracing.c     the selection, and when events are enabled
 *   calls.c       ranges around calls
 *   lines.c       times of lines, summed here and emitted periodically
 *   monitoring.c  Python 3.12 and later
 *   hooks.c       Python before 3.12
 *
 * All of it runs under the GIL, except for the first steps of a forked child.
 */
#ifndef SS_PYTHON_TRACING_H
#define SS_PYTHON_TRACING_H

#include "extension.h" /* Python.h wants to be first */

#define SS_HAS_MONITORING (PY_VERSION_HEX >= 0x030C0000)

struct ss_line {
    uint64_t hits, ticks; /* since they were last emitted */
};

struct ss_code {
    struct ss_code *previous, *next; /* of all selected ones */
    PyObject *code;                  /* borrowed: it outlives this */
    stepscope_name name;
    uint32_t choice; /* ss_tracing.choice when it was checked */
    bool has_calls, has_c_calls, has_lines;
    bool has_unsent; /* lines that were not emitted */
    uint32_t first_line, line_count;
    struct ss_line *line; /* line_count of them, from first_line on */
};

/* A thread of another generation than the present one discards its open calls. */
extern struct ss_tracing {
    struct ss_code *codes;
    PyObject *decide; /* called with (code, module name); NULL: no filters */
    uint32_t choice;  /* counts requests */
    uint32_t generation;
    uint32_t recording; /* as the gate counts them */
    bool is_on;         /* all events are enabled */
} ss_tracing;

/* --- tracing.c --- */

/* Whether a recording is active. Enables or disables events when that has changed. */
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
/* A step begins: counts so far belong to the previous one. Also detects recordings. */
void ss_tracing_step(void);
/* NULL: not selected. */
struct ss_code *ss_code_known(PyObject *code);
/* The same, after calling `decide` if that was not done yet. `frame_globals` may be NULL. */
struct ss_code *ss_code_of(PyObject *code, PyObject *frame_globals);
bool ss_is_deciding(void);
/* Whether filters decide about new code objects. */
static inline bool ss_tracing_has_filters(void)
{
    return ss_tracing.decide != NULL;
}
bool ss_tracing_init(PyObject *module);
extern PyMethodDef ss_tracing_methods[];

/* --- calls.c --- */

bool ss_calls_init(void);
void ss_call_begin(const struct ss_code *code);
void ss_call_end(const struct ss_code *code);
/* A function written in C, called by selected code. */
void ss_c_call_begin(PyObject *callable);
void ss_c_call_end(void);

/* --- lines.c --- */

bool ss_lines_init(void);
void ss_lines_enter(struct ss_code *code);
/* A generator or coroutine resumes in this line. */
void ss_lines_resume(struct ss_code *code, int line);
void ss_lines_line(struct ss_code *code, int line);
void ss_lines_leave(struct ss_code *code);
/* Emits all counts. */
void ss_lines_flush(void);
/* The same, if the last time is long enough ago, or if steps belong to windows. */
void ss_lines_flush_for_step(void);
/* Steps belong to windows from here on. */
void ss_lines_follow_schedule(void);
void ss_lines_flush_code(struct ss_code *code);
void ss_lines_forget(void);

/* --- monitoring.c, hooks.c --- */

/* Enables the events for is_on, the selected code and decide. Returns false with an exception if
 * another tool uses the hook. */
bool ss_listen(void);
/* One code object alone. */
bool ss_listen_to(struct ss_code *code);
bool ss_listen_init(PyObject *module);

#endif
