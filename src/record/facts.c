/* SPDX-License-Identifier: Apache-2.0 */
#include "record/facts.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/version.h"
#include "platform/procfs.h"
#include "record/ranks.h"
#include "source/registry.h"

static enum ss_status put_text(struct ss_recording *recording, const char *key, const char *text,
                               struct ss_error *err)
{
    struct ss_trace_attribute attribute = {.key = ss_strview_of(key), .text = ss_strview_of(text)};
    return ss_recording_attribute(recording, &attribute, err);
}

static enum ss_status put_integer(struct ss_recording *recording, const char *key, int64_t integer,
                                  struct ss_error *err)
{
    struct ss_trace_attribute attribute = {
        .key = ss_strview_of(key), .is_integer = true, .integer = integer};
    return ss_recording_attribute(recording, &attribute, err);
}

static void read_line(const char *path, char *text, size_t size)
{
    if (ss_procfs_read(path, text, size) < 0) {
        text[0] = '\0';
    }
    text[strcspn(text, "\n")] = '\0';
}

/* Time namespaces have monotonic clocks of their own. Kernels before 5.6 have none. */
static enum ss_status put_time_namespace(struct ss_recording *recording, struct ss_error *err)
{
    struct stat status;
    return stat("/proc/self/ns/time", &status) == 0
               ? put_integer(recording, "time_namespace", (int64_t)status.st_ino, err)
               : SS_OK;
}

static enum ss_status put_rank(struct ss_recording *recording, const char *key,
                               enum ss_rank_kind kind, struct ss_error *err)
{
    int64_t value;
    return ss_rank_get(0, kind, &value) ? put_integer(recording, key, value, err) : SS_OK;
}

void ss_record_process_label(pid_t pid, char *label, size_t size)
{
    int64_t rank;
    label[0] = '\0';
    if (ss_rank_get(pid, SS_RANK, &rank)) {
        snprintf(label, size, "rank %lld", (long long)rank);
    }
}

static enum ss_status put_machine(struct ss_recording *recording, struct ss_error *err)
{
    struct utsname system;
    char text[256];
    if (uname(&system) == 0) {
        SS_TRY(put_text(recording, "hostname", system.nodename, err));
        snprintf(text, sizeof text, "%.100s %.100s", system.sysname, system.release);
        SS_TRY(put_text(recording, "kernel", text, err));
    }
    read_line("/proc/sys/kernel/random/boot_id", text, sizeof text);
    SS_TRY(put_text(recording, "boot_id", text, err));
    SS_TRY(put_time_namespace(recording, err));
    read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", text,
              sizeof text);
    SS_TRY(put_text(recording, "clock_source", text, err));
    return put_integer(recording, "cpu_count", sysconf(_SC_NPROCESSORS_ONLN), err);
}

enum ss_status ss_record_facts_write(struct ss_recording *recording,
                                     const struct ss_record_options *options,
                                     uint32_t *python_source, struct ss_error *err)
{
    struct ss_clock_reading clock;
    char rate[32];
    ss_clock_read(&clock);
    snprintf(rate, sizeof rate, "%.10g", options->rate_hz);
    SS_TRY(put_text(recording, "stepscope_version", SS_VERSION, err));
    SS_TRY(put_text(recording, "command", options->command_line, err));
    SS_TRY(put_text(recording, "rate_hz", rate, err));
    SS_TRY(put_text(recording, "mode", options->attach_pid != 0 ? "attach" : "launch", err));
    if (options->schedule != NULL) {
        SS_TRY(put_text(recording, "schedule", options->schedule, err));
    }
    SS_TRY(put_integer(recording, "follow_children", options->follow_children, err));
    SS_TRY(put_integer(recording, "start_realtime_ns", (int64_t)clock.realtime_ns, err));
    SS_TRY(put_machine(recording, err));
    SS_TRY(put_rank(recording, "rank", SS_RANK, err));
    SS_TRY(put_rank(recording, "world_size", SS_WORLD_SIZE, err));
    *python_source = ss_recording_new_source(recording);
    struct ss_trace_source python = {.ref = *python_source,
                                     .name = ss_strview_of(ss_source_python.name),
                                     .status = SS_SOURCE_RAN,
                                     .reason = ss_strview_of(ss_source_python.summary)};
    SS_TRY(ss_recording_source(recording, &python, err));
    struct ss_trace_source native = {.ref = ss_recording_new_source(recording),
                                     .name = ss_strview_of("native"),
                                     .status = SS_SOURCE_OFF,
                                     .reason = ss_strview_of("not recorded by this version")};
    return ss_recording_source(recording, &native, err);
}
