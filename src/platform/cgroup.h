/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control group of a process: its folder, and parsers of the files in it. Versions 1 and 2,
 * and the mixture that systemd calls hybrid. Pure functions over text.
 */
#ifndef SS_PLATFORM_CGROUP_H
#define SS_PLATFORM_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strview.h"

/* Finds the cgroup folder of a process for `controller` ("cpu", "memory"; "": version 2) from the
 * text of the process's cgroup and mountinfo files. The first `mount_length` bytes of `path` are
 * the mount point: this process cannot see folders above it. false: no such folder. */
struct ss_cgroup_folder {
    char path[1024];
    size_t mount_length;
};
bool ss_cgroup_find(struct ss_strview cgroup, struct ss_strview mountinfo, const char *controller,
                    struct ss_cgroup_folder *folder);
/* Replaces `folder` by its parent; false: `folder` is the mount point. */
bool ss_cgroup_up(struct ss_cgroup_folder *folder);

/* cpu.max, "max 100000" or "200000 100000": the limit in cores; false: no limit. */
bool ss_cgroup_parse_cpu_max(struct ss_strview text, double *cores);
/* cpu.cfs_quota_us and cpu.cfs_period_us of version 1. */
bool ss_cgroup_parse_cpu_quota(struct ss_strview quota, struct ss_strview period, double *cores);
/* memory.max, memory.limit_in_bytes. false: no limit ("max", or a number beyond any machine). */
bool ss_cgroup_parse_limit(struct ss_strview text, uint64_t *bytes);
bool ss_cgroup_parse_number(struct ss_strview text, uint64_t *value);

/* cpu.stat of either version, in ns. */
struct ss_cgroup_cpu {
    bool has_usage; /* false for version 1, which has cpuacct.usage instead */
    uint64_t usage_ns;
    bool has_throttled;
    uint64_t throttled_ns;
};
bool ss_cgroup_parse_cpu_stat(struct ss_strview text, struct ss_cgroup_cpu *cpu);

#endif
