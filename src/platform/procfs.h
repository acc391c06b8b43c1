/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small readers of /proc/PID and /proc/PID/task/TID. The text is untrusted: reads are bounded,
 * parsers tolerant. Stateless; thread-safe.
 */
#ifndef SS_PLATFORM_PROCFS_H
#define SS_PLATFORM_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/strbuf.h"

/* Reads a small file into `buffer`, NUL-terminated. Returns the length, or -1 (errno). */
ssize_t ss_procfs_read(const char *path, char *buffer, size_t size);

struct ss_procfs_stat {
    char comm[64];
    char state; /* R S D T t Z X I */
    int32_t parent_pid;
    int32_t thread_count;
    uint64_t start_time_ticks;
};
/* Reads the stat file of a process (tid 0) or of one of its threads. */
bool ss_procfs_stat(pid_t pid, pid_t tid, struct ss_procfs_stat *stat);
/* Parses the content of a stat file; false: not a stat file. */
bool ss_procfs_parse_stat(const char *text, struct ss_procfs_stat *stat);

/* Tgid and PPid of any task id. `tgid` differs from `tid` except for the main thread. */
bool ss_procfs_task_parents(pid_t tid, pid_t *tgid, pid_t *parent_pid);
/* Innermost value of NSpid: the id of the task in its own pid namespace; 0: unknown. */
pid_t ss_procfs_inner_tid(pid_t pid, pid_t tid);

/* argv joined by single blanks, at most 4 KiB; "": not readable. */
void ss_procfs_cmdline(pid_t pid, bool keeps_secrets, struct ss_strbuf *out);
/* Value of an environment variable at the time of exec; false: not set or not readable. Searches
 * the first 128 KiB. */
bool ss_procfs_environment(pid_t pid, const char *name, char *value, size_t size);
/* All of them: entries that end in NUL, at most the first 128 KiB; *length is 0 when there are none
 * or they are not readable. The caller frees the block. */
char *ss_procfs_environment_block(pid_t pid, size_t *length);
void ss_procfs_link(pid_t pid, const char *name, struct ss_strbuf *out); /* exe, cwd, … */
uint64_t ss_procfs_pid_namespace(pid_t pid);                             /* inode; 0 unknown */
/* Whether the process that had this id and start time lives. If the one that has the id is in
 * another time namespace, which shifts start times, its id decides. */
bool ss_procfs_is_alive(pid_t pid, uint64_t start_time_ticks);

/* The newest task id allocated in our pid namespace (/proc/loadavg); 0: unknown. */
pid_t ss_procfs_last_pid(int loadavg_fd);

/* Calls `visit` for each numeric entry of `path` ("/proc", "/proc/PID/task"). false: unreadable. */
bool ss_procfs_each_id(const char *path, void (*visit)(void *context, pid_t id), void *context);

#endif
