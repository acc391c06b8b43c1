/* SPDX-License-Identifier: Apache-2.0 */
#include "record/recording/program_settings.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "platform/git_commit.h"
#include "platform/procfs.h"

enum { MAX_NAME_BYTES = 64, MAX_VALUE_BYTES = 256 };

static const char *const variables[] = {
#define SS_PROGRAM_VARIABLE(name) #name,
#include "record/recording/program_settings.def"
#undef SS_PROGRAM_VARIABLE
};

static enum ss_status put(struct ss_recording *recording, const char *key, struct ss_strview value,
                          struct ss_error *err)
{
    struct ss_trace_attribute attribute = {.key = ss_strview_of(key), .text = value};
    return ss_recording_attribute(recording, &attribute, err);
}

/* Whether "NAME=VALUE" is one that is recorded; a long value, or one of several lines, is none. */
static bool take_variable(const char *entry, char key[MAX_NAME_BYTES], struct ss_strview *value)
{
    const char *equals = strchr(entry, '=');
    for (size_t i = 0; equals != NULL && i < sizeof variables / sizeof *variables; i++) {
        size_t length = strlen(variables[i]);
        if (length == (size_t)(equals - entry) && memcmp(entry, variables[i], length) == 0) {
            snprintf(key, MAX_NAME_BYTES, "env.%s", variables[i]);
            *value = ss_strview_of(equals + 1);
            return value->length <= MAX_VALUE_BYTES && strchr(equals, '\n') == NULL;
        }
    }
    return false;
}

static enum ss_status put_variables(struct ss_recording *recording, pid_t pid, struct ss_error *err)
{
    enum ss_status status = SS_OK;
    size_t length;
    char *block = ss_procfs_environment_block(pid, &length);
    for (size_t at = 0; at < length && status == SS_OK; at += strlen(block + at) + 1) {
        char key[MAX_NAME_BYTES];
        struct ss_strview value;
        if (take_variable(block + at, key, &value)) {
            status = put(recording, key, value, err);
        }
    }
    ss_free(block);
    return status;
}

static enum ss_status put_commit(struct ss_recording *recording, pid_t pid, struct ss_error *err)
{
    char folder[64], commit[SS_GIT_COMMIT_BYTES];
    snprintf(folder, sizeof folder, "/proc/%d/cwd", (int)pid);
    return ss_git_commit_find(folder, commit)
               ? put(recording, "git_commit", ss_strview_of(commit), err)
               : SS_OK;
}

/* taskset, cpusets and batch systems give a program fewer CPUs than the machine has. */
static enum ss_status put_allowed_cpus(struct ss_recording *recording, pid_t pid,
                                       struct ss_error *err)
{
    cpu_set_t allowed;
    if (sched_getaffinity(pid, sizeof allowed, &allowed) != 0) {
        return SS_OK; /* not ours, or a machine with more than 1,024 */
    }
    struct ss_trace_attribute attribute = {
        .key = ss_strview_of("cpus_allowed"), .is_integer = true, .integer = CPU_COUNT(&allowed)};
    return ss_recording_attribute(recording, &attribute, err);
}

enum ss_status ss_program_settings_write(struct ss_recording *recording, pid_t pid,
                                         struct ss_error *err)
{
    pid_t subject = pid != 0 ? pid : getpid();
    SS_TRY(put_variables(recording, subject, err));
    SS_TRY(put_commit(recording, subject, err));
    return put_allowed_cpus(recording, subject, err);
}
