/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A subscriber to the life of the recorded processes, which knows their annotations: the processes
 * publish, and never call it by name. Called on the recorder's thread.
 */
#ifndef SS_RECORD_PROCESSES_PROCESS_OBSERVER_H
#define SS_RECORD_PROCESSES_PROCESS_OBSERVER_H

#include <stdbool.h>
#include <stdint.h>

struct ss_record_client; /* the annotations of one process */
struct ss_trace_sample;
struct ss_window;

struct ss_process_observer {
    void *context; /* NULL: there is no subscriber */
    /* A process is about to be removed: the last chance to attach ring files of its last image. */
    void (*before_removal)(void *context, uint64_t now_ns);
    /* The process ended; and: it called exec. */
    void (*ended)(void *context, struct ss_record_client *client, uint64_t now_ns);
    void (*image_ended)(void *context, struct ss_record_client *client, uint64_t now_ns);
    /* It ended a while ago: its data can be freed. */
    void (*forget)(void *context, uint32_t process_ref);
    /* The processes are about to be sampled. */
    void (*before_sampling)(void *context, uint64_t now_ns);
    /* The file of a window is finished. */
    void (*sealed)(void *context, const struct ss_window *window);
    /* With a schedule: whether the nearest of the process, its parent, … that marks steps is in a
     * window now; if none marks steps (and for 0), whether any process is. Without: true. */
    bool (*is_in_window)(void *context, uint32_t process_ref, uint64_t now_ns);
    /* Of a client: its own window, from 1 (0: none); a sample lies in that window, so that its file
     * is wanted; the current step, phase and innermost range of a thread. */
    uint32_t (*window)(const struct ss_record_client *client);
    void (*ensure_window)(struct ss_record_client *client, uint32_t window);
    void (*label)(struct ss_record_client *client, int32_t tid, struct ss_trace_sample *sample);
};

#endif
