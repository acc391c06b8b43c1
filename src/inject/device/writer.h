/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector's thread: decodes full buffers, adds the places of launches, and writes both to the
 * device ring. Once a second it has the interface return what is complete, and reads its losses.
 */
#ifndef SS_INJECT_DEVICE_WRITER_H
#define SS_INJECT_DEVICE_WRITER_H

#include <stdbool.h>
#include <stddef.h>

#include "inject/device/interface.h"
#include "ring/device_ring.h"

struct ss_device_writer_hooks {
    bool (*is_on)(void);    /* called often: whether the interface is in use now */
    bool (*is_due)(void);   /* whether is_on is to be called at once */
    void (*describe)(void); /* what is used has changed */
};

/* Before the pool and the writer are started, which a process has one of. false: another interface
 * has them, as `problem` says. */
bool ss_device_writer_is_free(char *problem, size_t size);
/* Creates the ring and the thread: one in a process. `version`: of the interface. false: `problem`
 * says why. */
bool ss_device_writer_start(const struct ss_device_interface *interface, uint32_t version,
                            const struct ss_device_writer_hooks *hooks, char *problem, size_t size);
/* Writes what is there and ends the thread; waits while it writes, at most half a minute, and at
 * most `wait_ms` while it does not. */
void ss_device_writer_end(unsigned wait_ms);
/* After that: unmaps the ring, so that a writer can be started again. false: the thread has not
 * ended, and keeps what it has. */
bool ss_device_writer_close(void);
/* Launches of kernels whose kernel has not been written. Any thread. */
uint32_t ss_device_writer_outstanding(void);
void ss_device_writer_set_state(enum ss_device_collector state);
/* Whether a window of the schedule is open: what ended before it opened is left out. */
void ss_device_writer_set_window(bool is_open);
/* Whether work is recorded from now on. */
void ss_device_writer_switch(bool on);
/* What hardware counters measured, `count` values; their texts are defined. Any thread. More than
 * the writer can hold are counted as lost. */
void ss_device_writer_put_metrics(const struct ss_device_metrics_message *metrics,
                                  const struct ss_device_metric *values);
/* The interface's times are on a clock of its own. */
void ss_device_writer_calibrate(bool needed);
bool ss_device_writer_is_calibrated(void);

#endif
