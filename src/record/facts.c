/* SPDX-License-Identifier: Apache-2.0 */
#include "record/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/version.h"
#include "platform/procfs.h"
#include "source/registry.h"

static enum ss_status put_text(struct ss_trace_writer *writer, const char *key, const char *text,
                               struct ss_error *err)
{
    struct ss_trace_attribute attribute = {.key = ss_strview_of(key), .text = ss_strview_of(text)};
    return ss_trace_writer_attribute(writer, &attribute, err);
}

static enum ss_status put_integer(struct ss_trace_writer *writer, const char *key, int64_t integer,
                                  struct ss_error *err)
{
    struct ss_trace_attribute attribute = {
        .key = ss_strview_of(key), .is_integer = true, .integer = integer};
    return ss_trace_writer_attribute(writer, &attribute, err);
}

static void read_line(const char *path, char *text, size_t size)
{
    if (ss_procfs_read(path, text, size) < 0) {
        text[0] = '\0';
    }
    text[strcspn(text, "\n")] = '\0';
}

/* The rank variables of the launchers, first that is set wins; the order puts torchrun's, which
 * are set per process, before those of the batch systems. */
static const char *const rank_variables[] = {"RANK",     "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                             "PMI_RANK", "SLURM_PROCID",         NULL};
static const char *const world_variables[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                              "SLURM_NTASKS", NULL};

static enum ss_status put_variable(struct ss_trace_writer *writer, const char *key,
                                   const char *const *variables, struct ss_error *err)
{
    for (int i = 0; variables[i] != NULL; i++) {
        const char *text = getenv(variables[i]);
        char *end;
        long value = text != NULL ? strtol(text, &end, 10) : 0;
        if (text != NULL && end != text && *end == '\0') {
            return put_integer(writer, key, value, err);
        }
    }
    return SS_OK;
}

void ss_record_process_label(pid_t pid, char *label, size_t size)
{
    label[0] = '\0';
    for (int i = 0; rank_variables[i] != NULL; i++) {
        char text[32];
        char *end;
        if (ss_procfs_environment(pid, rank_variables[i], text, sizeof text)) {
            long rank = strtol(text, &end, 10);
            if (end != text && *end == '\0') {
                snprintf(label, size, "rank %ld", rank);
                return;
            }
        }
    }
}

static enum ss_status put_machine(struct ss_trace_writer *writer, struct ss_error *err)
{
    struct utsname system;
    char text[256];
    if (uname(&system) == 0) {
        SS_TRY(put_text(writer, "hostname", system.nodename, err));
        snprintf(text, sizeof text, "%.100s %.100s", system.sysname, system.release);
        SS_TRY(put_text(writer, "kernel", text, err));
    }
    read_line("/proc/sys/kernel/random/boot_id", text, sizeof text);
    SS_TRY(put_text(writer, "boot_id", text, err));
    read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", text,
              sizeof text);
    SS_TRY(put_text(writer, "clock_source", text, err));
    return put_integer(writer, "cpu_count", sysconf(_SC_NPROCESSORS_ONLN), err);
}

enum ss_status ss_record_facts_write(struct ss_trace_writer *writer,
                                     const struct ss_record_options *options, struct ss_error *err)
{
    struct ss_clock_reading clock;
    char rate[32];
    ss_clock_read(&clock);
    snprintf(rate, sizeof rate, "%.10g", options->rate_hz);
    SS_TRY(put_text(writer, "stepscope_version", SS_VERSION, err));
    SS_TRY(put_text(writer, "command", options->command_line, err));
    SS_TRY(put_text(writer, "rate_hz", rate, err));
    SS_TRY(put_text(writer, "mode", options->attach_pid != 0 ? "attach" : "launch", err));
    if (options->schedule != NULL) {
        SS_TRY(put_text(writer, "schedule", options->schedule, err));
    }
    SS_TRY(put_integer(writer, "follow_children", options->follow_children, err));
    SS_TRY(put_integer(writer, "start_realtime_ns", (int64_t)clock.realtime_ns, err));
    SS_TRY(put_machine(writer, err));
    SS_TRY(put_variable(writer, "rank", rank_variables, err));
    SS_TRY(put_variable(writer, "world_size", world_variables, err));
    struct ss_trace_source python = {.ref = 1,
                                     .name = ss_strview_of(ss_source_python.name),
                                     .status = SS_SOURCE_RAN,
                                     .reason = ss_strview_of(ss_source_python.summary)};
    SS_TRY(ss_trace_writer_source(writer, &python, err));
    struct ss_trace_source native = {.ref = 2,
                                     .name = ss_strview_of("native"),
                                     .status = SS_SOURCE_OFF,
                                     .reason = ss_strview_of("not recorded by this version")};
    return ss_trace_writer_source(writer, &native, err);
}
