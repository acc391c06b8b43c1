/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/device/collecting.h"

#include <stdio.h>
#include <string.h>

#include "annot/define.h"
#include "annot/facts.h"
#include "annot/process.h"
#include "annot/schedule.h"
#include "annot/training.h"
#include "base/env.h"
#include "inject/device/writer.h"

void ss_collecting_set_fact(const char *key, const char *text)
{
    struct ss_event_value value = {ss_define_name(text, strlen(text)), SS_RING_VALUE_NAME};
    ss_fact_set(ss_define_name(key, strlen(key)), value);
}

bool ss_collecting_is_owner(const struct ss_collecting *collecting)
{
    return atomic_load_explicit(&collecting->owner, memory_order_acquire) == ss_process_pid();
}

bool ss_collecting_is_recorded(void)
{
    return (atomic_load_explicit(&ss_process_header->gate, memory_order_relaxed) &
            SS_RING_GATE_ALL) != 0;
}

static bool is_opened_by_recorder(void)
{
    return atomic_load_explicit(&ss_process_header->capture, memory_order_relaxed) ==
           SS_RING_CAPTURE_OPEN;
}

bool ss_collecting_has_come_to(const struct ss_collecting *collecting, unsigned action)
{
    return !atomic_load_explicit(&collecting->follows, memory_order_relaxed) ||
           atomic_load_explicit(&collecting->action, memory_order_relaxed) >= action ||
           (is_opened_by_recorder() && action <= SS_SCHEDULE_RECORD);
}

bool ss_collecting_is_behind(const struct ss_collecting *collecting)
{
    return is_opened_by_recorder() !=
           atomic_load_explicit(&collecting->is_opened, memory_order_relaxed);
}

void ss_collecting_follow_recorder(struct ss_collecting *collecting)
{
    bool is_open = is_opened_by_recorder();
    if (is_open != collecting->is_opened) {
        collecting->is_opened = is_open;
        atomic_store_explicit(&collecting->follows, true, memory_order_relaxed);
        ss_device_writer_set_window(ss_collecting_has_come_to(collecting, SS_SCHEDULE_RECORD));
    }
}

static char own_settings[64]; /* changed while nothing is claimed */

void ss_collecting_request(const char *settings)
{
    snprintf(own_settings, sizeof own_settings, "%s", settings);
}

bool ss_collecting_claim(struct ss_collecting *collecting)
{
    const char *settings =
        own_settings[0] != '\0' ? own_settings : ss_env_get(SS_ENV_STEPSCOPE_GPU);
    collecting->settings = ss_collecting_settings_parse(settings);
    return collecting->settings.level != SS_COLLECTING_OFF && ss_process_is_set_up() &&
           ss_collecting_is_recorded() &&
           atomic_exchange(&collecting->started, ss_process_pid()) != ss_process_pid() &&
           atomic_load_explicit(&collecting->owner, memory_order_relaxed) == 0;
}

void ss_collecting_release(struct ss_collecting *collecting)
{
    ss_training_observe_windows(NULL);
    atomic_store_explicit(&collecting->owner, 0, memory_order_release);
    atomic_store(&collecting->started, 0);
}

static bool follows_schedule(void)
{
    const char *schedule = ss_env_get(SS_ENV_STEPSCOPE_SCHEDULE);
    return (schedule != NULL && schedule[0] != '\0') ||
           atomic_load_explicit(&ss_process_header->scheduled, memory_order_relaxed) > 0 ||
           atomic_load_explicit(&ss_process_header->capture, memory_order_relaxed) !=
               SS_RING_NO_CAPTURE;
}

void ss_collecting_begin(struct ss_collecting *collecting, void (*on_window)(unsigned action))
{
    atomic_store_explicit(&collecting->follows, follows_schedule(), memory_order_relaxed);
    atomic_store_explicit(&collecting->action,
                          atomic_load_explicit(&ss_process_header->action, memory_order_relaxed),
                          memory_order_relaxed);
    ss_device_writer_set_window(ss_collecting_has_come_to(collecting, SS_SCHEDULE_RECORD));
    atomic_store_explicit(&collecting->owner, ss_process_pid(), memory_order_release);
    ss_training_observe_windows(on_window);
}

bool ss_collecting_enter_window(struct ss_collecting *collecting, unsigned action)
{
    if (!ss_collecting_is_owner(collecting)) {
        return false;
    }
    atomic_store_explicit(&collecting->follows, true, memory_order_relaxed);
    atomic_store_explicit(&collecting->action, action, memory_order_relaxed);
    ss_device_writer_set_window(action >= SS_SCHEDULE_RECORD);
    return true;
}
