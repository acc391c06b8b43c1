/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/procfs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/secrets.h"

enum { PATH_BYTES = 96, CMDLINE_BYTES = 4096, ENVIRON_BYTES = 128 * 1024 };

ssize_t ss_procfs_read(const char *path, char *buffer, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    size_t used = 0;
    while (used < size - 1) {
        ssize_t got = read(fd, buffer + used, size - 1 - used);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 && used == 0) {
            int saved = errno;
            close(fd);
            errno = saved;
            return -1;
        }
        if (got <= 0) {
            break;
        }
        used += (size_t)got;
    }
    close(fd);
    buffer[used] = '\0';
    return (ssize_t)used;
}

/* comm may contain blanks and parentheses: it ends at the last ')'. */
bool ss_procfs_parse_stat(const char *text, struct ss_procfs_stat *stat)
{
    const char *open_at = strchr(text, '(');
    const char *close_at = strrchr(text, ')');
    if (open_at == NULL || close_at == NULL || close_at < open_at || close_at[1] != ' ') {
        return false;
    }
    *stat = (struct ss_procfs_stat){.state = close_at[2]};
    size_t length = (size_t)(close_at - open_at - 1);
    if (length >= sizeof stat->comm) {
        length = sizeof stat->comm - 1;
    }
    memcpy(stat->comm, open_at + 1, length);
    const char *at = close_at + 2;
    for (int field = 3; field <= 22 && at != NULL; field++) {
        if (field == 4) {
            stat->parent_pid = (int32_t)strtol(at, NULL, 10);
        } else if (field == 20) {
            stat->thread_count = (int32_t)strtol(at, NULL, 10);
        } else if (field == 22) {
            stat->start_time_ticks = strtoull(at, NULL, 10);
            return true;
        }
        at = strchr(at, ' ');
        at = at != NULL ? at + 1 : NULL;
    }
    return false;
}

bool ss_procfs_stat(pid_t pid, pid_t tid, struct ss_procfs_stat *stat)
{
    char path[PATH_BYTES];
    char text[1024];
    if (tid == 0) {
        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    } else {
        snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)tid);
    }
    return ss_procfs_read(path, text, sizeof text) > 0 && ss_procfs_parse_stat(text, stat);
}

bool ss_procfs_task_parents(pid_t tid, pid_t *tgid, pid_t *parent_pid)
{
    char path[PATH_BYTES];
    char text[1024];
    snprintf(path, sizeof path, "/proc/%d/status", (int)tid);
    if (ss_procfs_read(path, text, sizeof text) <= 0) {
        return false;
    }
    const char *tgid_at = strstr(text, "\nTgid:");
    const char *parent_at = strstr(text, "\nPPid:");
    if (tgid_at == NULL || parent_at == NULL) {
        return false;
    }
    *tgid = (pid_t)strtol(tgid_at + 6, NULL, 10);
    *parent_pid = (pid_t)strtol(parent_at + 6, NULL, 10);
    return true;
}

pid_t ss_procfs_inner_tid(pid_t pid, pid_t tid)
{
    char path[PATH_BYTES];
    char text[2048];
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)pid, (int)tid);
    if (ss_procfs_read(path, text, sizeof text) <= 0) {
        return 0;
    }
    const char *at = strstr(text, "\nNSpid:");
    if (at == NULL) {
        return tid;
    }
    pid_t innermost = tid;
    at += 7;
    while (*at != '\n' && *at != '\0') {
        char *end;
        long value = strtol(at, &end, 10);
        if (end == at) {
            break;
        }
        innermost = (pid_t)value;
        at = end;
    }
    return innermost;
}

void ss_procfs_cmdline(pid_t pid, bool keeps_secrets, struct ss_strbuf *out)
{
    char path[PATH_BYTES];
    char text[CMDLINE_BYTES];
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    ssize_t length = ss_procfs_read(path, text, sizeof text);
    while (length > 0 && text[length - 1] == '\0') {
        length--;
    }
    if (!keeps_secrets && length > 0) {
        ss_secrets_append_masked(out, text, (size_t)length);
        return;
    }
    for (ssize_t i = 0; i < length; i++) {
        ss_strbuf_append_char(out, text[i] == '\0' ? ' ' : text[i]);
    }
}

char *ss_procfs_environment_block(pid_t pid, size_t *length)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    char *text = ss_alloc(ENVIRON_BYTES);
    ssize_t got = ss_procfs_read(path, text, ENVIRON_BYTES);
    *length = got > 0 ? (size_t)got : 0;
    return text;
}

bool ss_procfs_environment(pid_t pid, const char *name, char *value, size_t size)
{
    size_t length, name_length = strlen(name);
    char *text = ss_procfs_environment_block(pid, &length);
    bool found = false;
    for (const char *at = text; at < text + length && !found;) {
        size_t entry = strnlen(at, (size_t)(text + length - at));
        found = entry > name_length && at[name_length] == '=' && memcmp(at, name, name_length) == 0;
        if (found) {
            snprintf(value, size, "%.*s", (int)(entry - name_length - 1), at + name_length + 1);
        }
        at += entry + 1;
    }
    ss_free(text);
    return found;
}

void ss_procfs_link(pid_t pid, const char *name, struct ss_strbuf *out)
{
    char path[PATH_BYTES];
    char target[4096];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    ssize_t length = readlink(path, target, sizeof target);
    if (length > 0) {
        ss_strbuf_append(out, target, (size_t)length);
    }
}

static uint64_t namespace_of(pid_t pid, const char *kind)
{
    char path[PATH_BYTES];
    struct stat info;
    snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)pid, kind);
    return stat(path, &info) == 0 ? (uint64_t)info.st_ino : 0;
}

uint64_t ss_procfs_pid_namespace(pid_t pid)
{
    return namespace_of(pid, "pid");
}

bool ss_procfs_is_alive(pid_t pid, uint64_t start_time_ticks)
{
    struct ss_procfs_stat stat;
    if (!ss_procfs_stat(pid, 0, &stat)) { /* also where no file can be opened any more */
        return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM);
    }
    if (stat.state == 'Z' || stat.state == 'X') {
        return false;
    }
    uint64_t its_time = namespace_of(pid, "time"); /* 0: not readable, of another user */
    return stat.start_time_ticks == start_time_ticks ||
           (its_time != 0 && its_time != namespace_of(getpid(), "time"));
}

pid_t ss_procfs_last_pid(int loadavg_fd)
{
    char text[128];
    ssize_t length = pread(loadavg_fd, text, sizeof text - 1, 0);
    if (length <= 0) {
        return 0;
    }
    text[length] = '\0';
    const char *last = strrchr(text, ' ');
    return last != NULL ? (pid_t)strtol(last + 1, NULL, 10) : 0;
}

bool ss_procfs_each_id(const char *path, void (*visit)(void *context, pid_t id), void *context)
{
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return false;
    }
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (isdigit((unsigned char)entry->d_name[0])) {
            visit(context, (pid_t)strtol(entry->d_name, NULL, 10));
        }
    }
    closedir(folder);
    return true;
}
