/* SPDX-License-Identifier: Apache-2.0 */
#include "record/recording/facts.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/version.h"
#include "platform/procfs.h"
#include "record/recording/program_settings.h"
#include "record/run/clock_domain.h"
#include "record/run/naming.h"
#include "record/run/ranks.h"
#include "record/run/run_folder.h"

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

/* The host as an entity, and as attributes, which version 0.1.0 reads. Time namespaces have
 * monotonic clocks of their own; kernels before 5.6 have none. */
static enum ss_status put_host(struct ss_recording *recording, const char *name,
                               struct ss_error *err)
{
    struct ss_record_clock_domain domain;
    ss_record_clock_domain_read(&domain);
    struct ss_trace_host host = {.ref = 1,
                                 .boot_id = ss_strview_of(domain.boot_id),
                                 .time_namespace = domain.time_namespace,
                                 .name = ss_strview_of(name)};
    SS_TRY(ss_recording_host(recording, &host, err));
    SS_TRY(put_text(recording, "boot_id", domain.boot_id, err));
    return domain.time_namespace != 0
               ? put_integer(recording, "time_namespace", (int64_t)host.time_namespace, err)
               : SS_OK;
}

/* Of the recorder itself, which its launcher counts as one of the ranks; if its program is another
 * launcher, the ranks are that one's children, and this is a task. */
static enum ss_status put_rank_facts(struct ss_recording *recording,
                                     const struct ss_record_options *options, struct ss_error *err)
{
    bool is_task = ss_name_launcher(options->program) != SS_LAUNCHER_JOB;
    struct ss_rank_facts facts;
    ss_rank_find(0, &facts);
    if (facts.has[SS_RANK]) {
        SS_TRY(put_integer(recording, is_task ? "task" : "rank", facts.numbers[SS_RANK], err));
        SS_TRY(put_text(recording, "launcher",
                        facts.is_explicit ? "--rank" : ss_launcher_name(facts.launcher), err));
    }
    if (facts.has[SS_RANK] && !facts.is_explicit) {
        SS_TRY(put_text(recording, "rank_variable", ss_env_name(facts.variable), err));
    }
    if (facts.has[SS_WORLD_SIZE]) {
        SS_TRY(put_integer(recording, is_task ? "tasks" : "world_size",
                           facts.numbers[SS_WORLD_SIZE], err));
    }
    if (facts.has[SS_RESTART] && facts.numbers[SS_RESTART] > 0) {
        SS_TRY(put_integer(recording, "restart", facts.numbers[SS_RESTART], err));
    }
    struct ss_strbuf run_id;
    ss_strbuf_init(&run_id, SS_RUN_ID_BYTES);
    ss_run_id(&facts, &run_id);
    enum ss_status status =
        run_id.length > 0 ? put_text(recording, "run_id", run_id.data, err) : SS_OK;
    ss_strbuf_fini(&run_id);
    return status;
}

void ss_record_process_ranks(pid_t pid, struct ss_trace_process *process)
{
    struct ss_rank_facts facts;
    ss_rank_find(pid, &facts);
    if (facts.has[SS_RANK]) {
        process->has_rank = true;
        process->rank = facts.numbers[SS_RANK];
        process->has_local_rank = facts.has[SS_LOCAL_RANK];
        process->local_rank = facts.numbers[SS_LOCAL_RANK];
        process->has_node = facts.has[SS_NODE];
        process->node = facts.numbers[SS_NODE];
        process->world_size = facts.numbers[SS_WORLD_SIZE];
    }
}

/* "Intel(R) Xeon(R) …"; "": unknown, as on processors whose kernel shows none. */
static void read_cpu_model(char *text, size_t size)
{
    static const char key[] = "model name";
    char begin[4096]; /* the entry of the first core */
    text[0] = '\0';
    const char *found =
        ss_procfs_read("/proc/cpuinfo", begin, sizeof begin) > 0 ? strstr(begin, key) : NULL;
    const char *colon = found != NULL ? strchr(found, ':') : NULL;
    if (colon != NULL) {
        const char *value = colon + 1 + strspn(colon + 1, " \t");
        snprintf(text, size, "%.*s", (int)strcspn(value, "\n"), value);
    }
}

/* What differs in recordings of different machines. */
static enum ss_status put_hardware(struct ss_recording *recording, struct ss_error *err)
{
    char text[256];
    read_cpu_model(text, sizeof text);
    SS_TRY(text[0] != '\0' ? put_text(recording, "cpu_model", text, err) : SS_OK);
    read_line("/sys/module/nvidia/version", text, sizeof text);
    SS_TRY(text[0] != '\0' ? put_text(recording, "nvidia_driver", text, err) : SS_OK);
    return put_integer(recording, "cpu_count", sysconf(_SC_NPROCESSORS_ONLN), err);
}

static enum ss_status put_machine(struct ss_recording *recording, struct ss_error *err)
{
    struct utsname system = {0};
    char text[256];
    if (uname(&system) == 0) {
        SS_TRY(put_text(recording, "hostname", system.nodename, err));
        snprintf(text, sizeof text, "%.100s %.100s", system.sysname, system.release);
        SS_TRY(put_text(recording, "kernel", text, err));
    }
    SS_TRY(put_host(recording, system.nodename, err));
    read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", text,
              sizeof text);
    SS_TRY(put_text(recording, "clock_source", text, err));
    return put_hardware(recording, err);
}

enum ss_status ss_record_facts_write(struct ss_recording *recording,
                                     const struct ss_record_options *options, struct ss_error *err)
{
    struct ss_clock_reading clock;
    char rate[32];
    ss_clock_now(options->clock, &clock);
    snprintf(rate, sizeof rate, "%.10g", options->rate_hz);
    SS_TRY(put_text(recording, "stepscope_version", SS_VERSION, err));
    SS_TRY(put_text(recording, "command", options->command_line, err));
    SS_TRY(put_text(recording, "rate_hz", rate, err));
    SS_TRY(put_text(recording, "mode", options->attach_pid != 0 ? "attach" : "launch", err));
    if (options->schedule != NULL) {
        SS_TRY(put_text(
            recording, "schedule",
            options->schedule_words != NULL ? options->schedule_words : options->schedule, err));
    }
    SS_TRY(put_integer(recording, "follow_children", options->follow_children, err));
    SS_TRY(put_integer(recording, "start_realtime_ns", (int64_t)clock.realtime_ns, err));
    SS_TRY(put_machine(recording, err));
    SS_TRY(ss_program_settings_write(recording, options->attach_pid, err));
    return put_rank_facts(recording, options, err);
}
