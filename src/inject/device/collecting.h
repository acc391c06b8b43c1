/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the collectors of devices share: the process that a collector belongs to, its settings, and
 * when it records. It records while a recorder wants it, in windows of the schedule only, if there
 * is one; from the warm-up of a window on it collects. Any thread.
 */
#ifndef SS_INJECT_DEVICE_COLLECTING_H
#define SS_INJECT_DEVICE_COLLECTING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "inject/device/settings.h"

struct ss_collecting {
    /* Publishes what the collector has; 0: it does not collect. A forked child is not it, and may
     * start anew. */
    _Atomic pid_t owner;
    _Atomic pid_t started;
    struct ss_collecting_settings settings;
    _Atomic bool follows; /* a schedule */
    _Atomic unsigned action;
    _Atomic bool is_opened; /* by the recorder; as last followed */
};

/* Reads the settings. false: nothing is to be collected, or the process collects already. */
bool ss_collecting_claim(struct ss_collecting *collecting);
/* What the program itself asks for, in the syntax of STEPSCOPE_GPU, in place of that variable; "":
 * the variable counts. */
void ss_collecting_request(const char *settings);
/* The collector has ended; the process may claim it again. */
void ss_collecting_release(struct ss_collecting *collecting);
/* The collector is ready. `on_window`: calls ss_collecting_enter_window. */
void ss_collecting_begin(struct ss_collecting *collecting, void (*on_window)(unsigned action));
/* false: of another process. */
bool ss_collecting_enter_window(struct ss_collecting *collecting, unsigned action);

/* Whether the recorder has opened or closed a window since. Any thread. */
bool ss_collecting_is_behind(const struct ss_collecting *collecting);
/* Follows the windows that the recorder opens. With the lock of the collector. */
void ss_collecting_follow_recorder(struct ss_collecting *collecting);

bool ss_collecting_is_owner(const struct ss_collecting *collecting);
/* Whether a recorder wants the process. */
bool ss_collecting_is_recorded(void);
/* Whether the schedule, if there is one, has come to that (enum ss_schedule_action). */
bool ss_collecting_has_come_to(const struct ss_collecting *collecting, unsigned action);

void ss_collecting_set_fact(const char *key, const char *text);

#endif
