/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/proc_status.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *find_line(const char *text, const char *key)
{
    size_t length = strlen(key);
    while (text != NULL) {
        if (strncmp(text, key, length) == 0 && text[length] == ':') {
            return text + length + 1;
        }
        text = strchr(text, '\n');
        text = text != NULL ? text + 1 : NULL;
    }
    return NULL;
}

static bool read_ids(const char *text, const char *key, unsigned *ids)
{
    const char *line = find_line(text, key);
    return line != NULL && sscanf(line, "%u %u %u", &ids[0], &ids[1], &ids[2]) == 3;
}

static long read_number(const char *text, const char *key, long fallback)
{
    const char *line = find_line(text, key);
    long value;
    return line != NULL && sscanf(line, "%ld", &value) == 1 ? value : fallback;
}

static uint64_t read_mask(const char *text, const char *key)
{
    const char *line = find_line(text, key);
    uint64_t value;
    return line != NULL && sscanf(line, "%" SCNx64, &value) == 1 ? value : 0;
}

bool ss_proc_status_parse(const char *text, struct ss_proc_status *status)
{
    *status = (struct ss_proc_status){0};
    const char *state = find_line(text, "State");
    if (state == NULL || sscanf(state, " %c", &status->state) != 1) {
        return false;
    }
    status->parent_pid = (pid_t)read_number(text, "PPid", 0);
    status->cap_permitted = read_mask(text, "CapPrm");
    status->cap_effective = read_mask(text, "CapEff");
    status->seccomp = (int)read_number(text, "Seccomp", -1);
    status->filters =
        (int)read_number(text, "Seccomp_filters", status->seccomp > 0) + (status->seccomp == 1);
    status->no_new_privs = read_number(text, "NoNewPrivs", 0) == 1;
    status->has_memory = find_line(text, "VmSize") != NULL;
    return read_ids(text, "Uid", status->uid) && read_ids(text, "Gid", status->gid);
}

int ss_proc_status_read(pid_t pid, struct ss_proc_status *status)
{
    char path[64] = "/proc/self/status";
    if (pid != 0) {
        snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return errno;
    }
    char text[4096];
    ssize_t length = read(fd, text, sizeof text - 1);
    int saved = length < 0 ? errno : 0;
    close(fd);
    if (saved != 0) {
        return saved;
    }
    text[length] = '\0';
    return ss_proc_status_parse(text, status) ? 0 : ESRCH;
}
