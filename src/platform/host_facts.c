/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/host_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/ptrace_access.h"

static bool read_line(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t length = read(fd, text, size - 1);
    close(fd);
    text[length > 0 ? length : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return length > 0;
}

/* The event with which `record` follows new processes: it counts nothing and samples no stacks. */
static int try_perf_event(void)
{
    struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE,
                                         .size = sizeof attributes,
                                         .config = PERF_COUNT_SW_DUMMY,
                                         .disabled = 1,
                                         .exclude_kernel = 1,
                                         .exclude_hv = 1,
                                         .task = 1};
    long fd = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0) {
        return errno;
    }
    close((int)fd);
    return 0;
}

/* Reads the options of the /proc mount; the last mount wins. */
static bool find_hidepid(void)
{
    FILE *file = fopen("/proc/self/mounts", "re");
    if (file == NULL) {
        return false;
    }
    char line[1024];
    bool hidden = false;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strstr(line, " /proc proc ") != NULL) {
            const char *option = strstr(line, "hidepid=");
            hidden = option != NULL && option[8] != '0' && strncmp(option + 8, "off", 3) != 0;
        }
    }
    fclose(file);
    return hidden;
}

void ss_host_facts_put_kernel(struct ss_host_facts *facts, const struct utsname *name)
{
    snprintf(facts->kernel, sizeof facts->kernel, "%s %s %s", name->sysname, name->release,
             name->machine);
}

void ss_host_facts_collect(struct ss_host_facts *facts)
{
    *facts = (struct ss_host_facts){0};
    struct utsname name;
    if (uname(&name) == 0) {
        ss_host_facts_put_kernel(facts, &name);
    }
    cpu_set_t set;
    facts->cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                               : (int)sysconf(_SC_NPROCESSORS_ONLN);
    read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource",
              facts->clock_source, sizeof facts->clock_source);
    char text[32];
    facts->perf_known = read_line("/proc/sys/kernel/perf_event_paranoid", text, sizeof text);
    facts->perf_paranoid = facts->perf_known ? (int)strtol(text, NULL, 10) : 0;
    facts->perf_errno = try_perf_event();
    facts->in_container = ss_platform_in_container();
    ss_proc_status_read(0, &facts->self);
    facts->proc_hidepid = find_hidepid();
}

/* statfs(2) returns a magic number; these file systems are common for training. */
static const struct {
    uint32_t magic;
    const char *name;
    bool remote;
} file_systems[] = {
    {0xef53, "ext4", false},         {0x58465342, "xfs", false},   {0x9123683e, "btrfs", false},
    {0x01021994, "tmpfs", false},    {0x858458f6, "ramfs", false}, {0x794c7630, "overlay", false},
    {0x2fc12fc1, "zfs", false},      {0xf2f52010, "f2fs", false},  {0x6969, "nfs", true},
    {0x0bd00bd0, "lustre", true},    {0x47504653, "gpfs", true},   {0x19830326, "beegfs", true},
    {0x00c36400, "ceph", true},      {0xff534d42, "cifs", true},   {0xfe534d42, "smb2", true},
    {0x65735546, "fuse", true},      {0x01021997, "9p", true},     {0x5346414f, "afs", true},
    {0x73717368, "squashfs", false},
};

bool ss_file_system_is_remote(const char *file_system)
{
    for (size_t i = 0; i < sizeof file_systems / sizeof *file_systems; i++) {
        if (strcmp(file_systems[i].name, file_system) == 0) {
            return file_systems[i].remote;
        }
    }
    return false;
}

void ss_folder_facts_collect(const char *path, struct ss_folder_facts *facts)
{
    *facts = (struct ss_folder_facts){.free_inodes = UINT64_MAX};
    char real[PATH_MAX];
    snprintf(facts->path, sizeof facts->path, "%.*s", (int)sizeof facts->path - 1,
             realpath(path, real) != NULL ? real : path);
    struct statfs kind;
    struct statvfs space;
    if (statfs(path, &kind) != 0 || statvfs(path, &space) != 0) {
        facts->error = errno;
        return;
    }
    snprintf(facts->file_system, sizeof facts->file_system, "type 0x%x", (unsigned)kind.f_type);
    for (size_t i = 0; i < sizeof file_systems / sizeof *file_systems; i++) {
        if (file_systems[i].magic == (uint32_t)kind.f_type) {
            snprintf(facts->file_system, sizeof facts->file_system, "%s", file_systems[i].name);
        }
    }
    facts->free_bytes = (uint64_t)space.f_bavail * space.f_frsize;
    facts->size_bytes = (uint64_t)space.f_blocks * space.f_frsize;
    facts->free_inodes = space.f_files != 0 ? space.f_favail : UINT64_MAX;
    facts->writable = access(path, W_OK | X_OK) == 0;
}
