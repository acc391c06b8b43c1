/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials and confinement of a process, from /proc/PID/status. Stateless; thread-safe. */
#ifndef SS_PLATFORM_PROC_STATUS_H
#define SS_PLATFORM_PROC_STATUS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { SS_CAP_SYS_PTRACE = 19, SS_CAP_SYS_ADMIN = 21, SS_CAP_PERFMON = 38 };

struct ss_proc_status {
    char state; /* R S D T t Z X I; 0 unknown */
    pid_t parent_pid;
    uid_t uid[3]; /* real, effective, saved */
    gid_t gid[3];
    uint64_t cap_permitted;
    uint64_t cap_effective;
    int seccomp; /* 0 none, 1 strict, 2 filter; -1 not reported by the kernel */
    int filters; /* number of seccomp filters; before Linux 5.9, 1 for one or more */
    bool no_new_privs;
    bool has_memory; /* false for kernel threads and zombies */
};

/* false: the text lacks the credentials. */
bool ss_proc_status_parse(const char *text, struct ss_proc_status *status);
/* pid 0: this process. Returns 0 or an errno. */
int ss_proc_status_read(pid_t pid, struct ss_proc_status *status);

static inline bool ss_proc_status_can(const struct ss_proc_status *status, int capability)
{
    return (status->cap_effective >> capability & 1) != 0;
}

#endif
