/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples one Python process: every tick, each thread's state, GIL state and Python stack.
 *
 * A sleeping thread without a timeslice since its last sample is not read again: its weight grows
 * and is emitted when the thread moves, or on ss_python_sampler_flush. Threads without Python
 * frames are polled ten times a second, for their state only.
 *
 * Owned by the recorder's thread. The sink is called synchronously.
 */
#ifndef SS_SOURCE_PYTHON_SAMPLER_H
#define SS_SOURCE_PYTHON_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "base/error.h"
#include "platform/task_state.h"
#include "unwind/python.h"

enum ss_sampler_gil {
    SS_SAMPLER_GIL_UNKNOWN,
    SS_SAMPLER_GIL_NONE,
    SS_SAMPLER_GIL_HELD,
    SS_SAMPLER_GIL_WAITED
};

struct ss_sampler_thread {
    uint32_t id; /* dense from 1 in this process, never reused */
    pid_t tid;   /* in our pid namespace; 0 unknown */
    bool is_main;
    bool has_python;
    char name[64];
};

struct ss_sampler_sample {
    const struct ss_sampler_thread *thread;
    uint64_t time_ns;
    uint32_t weight; /* ticks */
    enum ss_task_activity activity;
    enum ss_task_wait wait; /* of a sleeping thread */
    enum ss_sampler_gil gil;
    bool partial;
    bool same_stack;        /* as in the previous sample of the thread: frames is NULL */
    bool counted_before;    /* accumulated weight of earlier ticks without movement */
    bool is_confirmed;      /* its code objects were the same before and after the stack was read */
    const uint32_t *frames; /* ids of ss_python_frame_get, outermost first */
    uint32_t depth;
};

struct ss_sampler_sink {
    void *context;
    void (*thread)(void *context, const struct ss_sampler_thread *thread); /* new or renamed */
    void (*sample)(void *context, const struct ss_sampler_sample *sample);
    const struct ss_clock *clock; /* NULL: the system's */
};

struct ss_sampler_counts {
    uint64_t seen, ok, partial, lost, unchanged, retries, read_syscalls;
};

struct ss_python_sampler;

/* Errors of ss_python_locate and ss_python_open: SS_E_NOTFOUND and SS_E_AGAIN mean "not a Python
 * process, or not yet". */
enum ss_status ss_python_sampler_open(pid_t pid, const struct ss_sampler_sink *sink,
                                      struct ss_python_sampler **sampler, struct ss_error *err);
/* One tick. SS_E_GONE: the process has ended. SS_E_AGAIN: the interpreter has changed (exec): close
 * and reopen. */
enum ss_status ss_python_sampler_tick(struct ss_python_sampler *sampler, uint64_t now_ns,
                                      struct ss_error *err);
/* A thread was created or has ended: list the tasks again soon. */
void ss_python_sampler_threads_changed(struct ss_python_sampler *sampler);
void ss_python_sampler_flush(struct ss_python_sampler *sampler); /* emits accumulated weights */
void ss_python_sampler_close(struct ss_python_sampler *sampler); /* flushes first */

/* For the sink, which keeps samples until this has confirmed their frames: see
 * ss_python_check_frames. */
bool ss_python_sampler_check_frames(struct ss_python_sampler *sampler, const uint32_t *frames,
                                    size_t count, bool *replaced);
uint32_t ss_python_sampler_unknown_frame(struct ss_python_sampler *sampler);
/* A sample that was whole has lost a frame: it counts as partial. */
void ss_python_sampler_count_partial(struct ss_python_sampler *sampler);

const struct ss_python *ss_python_sampler_python(const struct ss_python_sampler *sampler);
void ss_python_sampler_get_counts(const struct ss_python_sampler *sampler,
                                  struct ss_sampler_counts *counts);
uint32_t ss_python_sampler_thread_count(const struct ss_python_sampler *sampler);

#endif
