/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/memory_limit.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "platform/cgroup.h"
#include "platform/host_memory.h"
#include "platform/procfs.h"

enum { TEXT_BYTES = 256 * 1024, PATH_BYTES = 2048 };

/* Empty: not readable. */
static struct ss_strview read_text(const char *folder, const char *name, char *text)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    ssize_t length = ss_procfs_read(path, text, TEXT_BYTES);
    return (struct ss_strview){text, length > 0 ? (size_t)length : 0};
}

static uint64_t lower(uint64_t a, uint64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/* The tightest limit of the control group and the folders above it; 0: none. */
static uint64_t limit_of_group(struct ss_strview cgroup, struct ss_strview mounts, char *text)
{
    static const struct {
        const char *controller, *file;
    } versions[] = {{"", "memory.max"}, {"memory", "memory.limit_in_bytes"}};
    uint64_t tightest = 0;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        struct ss_cgroup_folder folder;
        bool is_there = ss_cgroup_find(cgroup, mounts, versions[i].controller, &folder);
        while (is_there) {
            uint64_t limit = 0;
            if (ss_cgroup_parse_limit(read_text(folder.path, versions[i].file, text), &limit)) {
                tightest = lower(tightest, limit);
            }
            is_there = ss_cgroup_up(&folder);
        }
    }
    return tightest;
}

uint64_t ss_memory_limit_in(const char *proc_root)
{
    struct ss_host_memory memory = {0};
    char *text = ss_alloc((size_t)3 * TEXT_BYTES);
    if (!ss_host_memory_parse(read_text(proc_root, "meminfo", text), &memory)) {
        memory.total_bytes = 0;
    }
    struct ss_strview cgroup = read_text(proc_root, "self/cgroup", text);
    struct ss_strview mounts = read_text(proc_root, "self/mountinfo", text + TEXT_BYTES);
    uint64_t limit = limit_of_group(cgroup, mounts, text + (size_t)2 * TEXT_BYTES);
    ss_free(text);
    return lower(memory.total_bytes, limit);
}

uint64_t ss_memory_limit_bytes(void)
{
    return ss_memory_limit_in("/proc");
}
