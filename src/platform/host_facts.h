/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine offers to a profiler: kernel, clock, perf events, confinement, file systems.
 * Facts only; src/cli/doctor_checks evaluates them. Stateless; thread-safe. */
#ifndef SS_PLATFORM_HOST_FACTS_H
#define SS_PLATFORM_HOST_FACTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/utsname.h>

#include "platform/proc_status.h"

struct ss_host_facts {
    char kernel[sizeof(struct utsname)]; /* "Linux 6.1.0-18-amd64 x86_64" */
    int cores;                           /* on which this process may run */
    char clock_source[32];               /* "tsc", "kvm-clock", …; "" unknown */
    int perf_paranoid;                   /* kernel.perf_event_paranoid */
    bool perf_known;                     /* false: this kernel has no perf events */
    int perf_errno; /* of opening the event that reports new processes; 0: success */
    bool in_container;
    struct ss_proc_status self;
    bool proc_hidepid; /* processes of other users are not visible */
};

void ss_host_facts_collect(struct ss_host_facts *facts);
/* The whole of it: what a kernel was built for ends its release, such as
 * "-microsoft-standard-WSL2". */
void ss_host_facts_put_kernel(struct ss_host_facts *facts, const struct utsname *name);

struct ss_folder_facts {
    char path[512];
    char file_system[24]; /* "ext4", "nfs", … */
    uint64_t free_bytes;  /* available to this user */
    uint64_t size_bytes;  /* of the file system */
    uint64_t free_inodes; /* UINT64_MAX where the file system does not count them */
    bool writable;
    int error; /* errno of the query; 0: the other fields are valid */
};

void ss_folder_facts_collect(const char *path, struct ss_folder_facts *facts);
/* Network and cluster file systems: locks and small writes are slow there. */
bool ss_file_system_is_remote(const char *file_system);

#endif
