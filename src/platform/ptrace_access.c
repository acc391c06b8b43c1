/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/ptrace_access.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_ANCESTORS = 256 };

static ssize_t read_file(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    ssize_t length = read(fd, text, size - 1);
    close(fd);
    text[length > 0 ? length : 0] = '\0';
    return length;
}

int ss_ptrace_yama_scope(void)
{
    char text[16];
    if (read_file("/proc/sys/kernel/yama/ptrace_scope", text, sizeof text) <= 0) {
        return -1;
    }
    return text[0] >= '0' && text[0] <= '3' ? text[0] - '0' : -1;
}

bool ss_platform_in_container(void)
{
    if (access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0 ||
        access("/singularity", F_OK) == 0 || access("/.singularity.d", F_OK) == 0) {
        return true;
    }
    char text[4096];
    if (read_file("/proc/1/cgroup", text, sizeof text) > 0) {
        return strstr(text, "docker") != NULL || strstr(text, "kubepods") != NULL ||
               strstr(text, "libpod") != NULL || strstr(text, "containerd") != NULL;
    }
    return false;
}

static uint64_t user_namespace(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
    struct stat status;
    return stat(path, &status) == 0 ? (uint64_t)status.st_ino : 0;
}

static bool find_descent(pid_t pid)
{
    pid_t own = getpid();
    for (int i = 0; i < MAX_ANCESTORS && pid > 1; i++) {
        if (pid == own) {
            return true;
        }
        struct ss_proc_status status;
        if (ss_proc_status_read(pid, &status) != 0) {
            return false;
        }
        pid = status.parent_pid;
    }
    return false;
}

/* Reads address 0, which is never mapped. The kernel checks permissions first, so a readable
 * process gives EFAULT. EPERM comes from a seccomp filter or from that check: see
 * self_read_refused. */
static int try_read(pid_t pid)
{
    char byte;
    struct iovec local = {&byte, 1}, remote = {NULL, 1};
    if (process_vm_readv(pid, &local, 1, &remote, 1, 0) >= 0 || errno == EFAULT) {
        return 0;
    }
    return errno;
}

/* root owns the files below /proc/PID (not the folder) of an undumpable process. */
static bool find_undumpable(const struct ss_ptrace_facts *facts)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)facts->pid);
    struct stat status;
    return stat(path, &status) == 0 && facts->target_known && facts->target.uid[1] != 0 &&
           status.st_uid == 0;
}

static void read_label(pid_t pid, char *label, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/attr/current", (int)pid);
    if (read_file(path, label, size) < 0) {
        label[0] = '\0';
    }
    label[strcspn(label, "\n")] = '\0';
}

void ss_ptrace_facts_collect(pid_t pid, struct ss_ptrace_facts *facts)
{
    *facts = (struct ss_ptrace_facts){.pid = pid, .yama_scope = -1};
    facts->read_errno = try_read(pid);
    facts->target_known = ss_proc_status_read(pid, &facts->target) == 0;
    facts->target_exists = facts->target_known || kill(pid, 0) == 0 || errno == EPERM;
    if (facts->read_errno == 0) {
        return;
    }
    ss_proc_status_read(0, &facts->own);
    facts->self_read_refused = try_read(getpid()) != 0;
    facts->target_undumpable = find_undumpable(facts);
    facts->own_user_ns = user_namespace(getpid());
    facts->target_user_ns = user_namespace(pid);
    facts->yama_scope = ss_ptrace_yama_scope();
    facts->is_descendant = find_descent(pid);
    facts->in_container = ss_platform_in_container();
    read_label(pid, facts->security_label, sizeof facts->security_label);
}

static bool same_owner(const struct ss_proc_status *own, const struct ss_proc_status *target)
{
    for (int i = 0; i < 3; i++) {
        if (target->uid[i] != own->uid[0] || target->gid[i] != own->gid[0]) {
            return false;
        }
    }
    return true;
}

enum ss_ptrace_refusal ss_ptrace_classify(const struct ss_ptrace_facts *facts)
{
    if (!facts->target_exists || facts->read_errno == ESRCH) {
        /* process_vm_readv also fails with ESRCH for a task without memory. */
        return facts->target_exists && facts->target_known && !facts->target.has_memory
                   ? SS_PTRACE_NO_MEMORY
                   : SS_PTRACE_GONE;
    }
    if (facts->read_errno == 0) {
        return facts->target_known && !facts->target.has_memory ? SS_PTRACE_NO_MEMORY
                                                                : SS_PTRACE_ALLOWED;
    }
    if (facts->self_read_refused || facts->read_errno == ENOSYS) {
        return SS_PTRACE_SECCOMP;
    }
    if (!facts->target_known) {
        return SS_PTRACE_HIDDEN;
    }
    bool capable = ss_proc_status_can(&facts->own, SS_CAP_SYS_PTRACE);
    bool other_namespace = facts->target_user_ns != 0 && facts->own_user_ns != 0 &&
                           facts->target_user_ns != facts->own_user_ns;
    if (other_namespace) {
        return SS_PTRACE_USER_NAMESPACE;
    }
    if (!capable && !same_owner(&facts->own, &facts->target)) {
        return SS_PTRACE_UID;
    }
    if (!capable && facts->target_undumpable) {
        return SS_PTRACE_DUMPABLE;
    }
    if (!capable && (facts->target.cap_permitted & ~facts->own.cap_permitted) != 0) {
        return SS_PTRACE_CAPABILITIES;
    }
    if (facts->yama_scope == 3 || (facts->yama_scope == 2 && !capable) ||
        (facts->yama_scope == 1 && !capable && !facts->is_descendant)) {
        return SS_PTRACE_YAMA;
    }
    return SS_PTRACE_SECURITY_MODULE;
}

/* The fix that gives stepscope CAP_SYS_PTRACE. */
static const char *capability_fix(const struct ss_ptrace_facts *facts)
{
    if (facts->in_container) {
        return facts->own.uid[1] == 0
                   ? "start the container with --cap-add=SYS_PTRACE"
                   : "start the container with --cap-add=SYS_PTRACE and run stepscope as its root";
    }
    return "run stepscope with sudo";
}

static void set(struct ss_ptrace_diagnosis *diagnosis, const char *fix, const char *format, ...)
    SS_PRINTF(3, 4);
static void set(struct ss_ptrace_diagnosis *diagnosis, const char *fix, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(diagnosis->reason, sizeof diagnosis->reason, format, arguments);
    va_end(arguments);
    snprintf(diagnosis->fix, sizeof diagnosis->fix, "%s", fix);
}

static void diagnose_yama(const struct ss_ptrace_facts *facts, const char *process,
                          struct ss_ptrace_diagnosis *diagnosis)
{
    if (facts->yama_scope == 3) {
        set(diagnosis, "set it to 1 in /etc/sysctl.d and reboot",
            "Yama refuses to read %s (kernel.yama.ptrace_scope is 3: no process may until the "
            "next boot)",
            process);
    } else if (facts->yama_scope == 2) {
        set(diagnosis, capability_fix(facts),
            "Yama refuses to read %s (kernel.yama.ptrace_scope is 2: only with CAP_SYS_PTRACE)",
            process);
    } else {
        set(diagnosis, "",
            "Yama refuses to read %s (kernel.yama.ptrace_scope is 1: only ancestors may)", process);
        snprintf(diagnosis->fix, sizeof diagnosis->fix,
                 "start the program with \"stepscope record -- …\", or %s, or \"sudo sysctl "
                 "kernel.yama.ptrace_scope=0\"",
                 capability_fix(facts));
    }
}

static void diagnose_uid(const struct ss_ptrace_facts *facts, const char *process,
                         struct ss_ptrace_diagnosis *diagnosis)
{
    const struct ss_proc_status *target = &facts->target;
    if (target->uid[1] == facts->own.uid[0]) {
        set(diagnosis, capability_fix(facts),
            "%s runs with ids that are not all yours (users %u, %u, %u; groups %u, %u, %u)",
            process, (unsigned)target->uid[0], (unsigned)target->uid[1], (unsigned)target->uid[2],
            (unsigned)target->gid[0], (unsigned)target->gid[1], (unsigned)target->gid[2]);
        return;
    }
    set(diagnosis, "", "%s belongs to user id %u and you are user id %u without CAP_SYS_PTRACE",
        process, (unsigned)target->uid[1], (unsigned)facts->own.uid[0]);
    snprintf(diagnosis->fix, sizeof diagnosis->fix, "run stepscope as that user, or %s",
             capability_fix(facts));
}

static void diagnose_seccomp(const struct ss_ptrace_facts *facts,
                             struct ss_ptrace_diagnosis *diagnosis)
{
    if (facts->in_container) {
        set(diagnosis,
            "start the container with --cap-add=SYS_PTRACE or --security-opt seccomp=unconfined",
            "a seccomp filter of this container forbids process_vm_readv");
    } else {
        set(diagnosis, "run stepscope outside of that sandbox",
            "a seccomp filter forbids process_vm_readv here");
    }
}

static void diagnose_security_module(const struct ss_ptrace_facts *facts, const char *process,
                                     struct ss_ptrace_diagnosis *diagnosis)
{
    const char *fix = "allow ptrace in its policy, or run both programs under the same profile";
    if (facts->security_label[0] != '\0') {
        set(diagnosis, fix, "a security module or sandbox refuses to read %s (its label: %s)",
            process, facts->security_label);
    } else {
        set(diagnosis, fix, "a security module or sandbox refuses to read %s", process);
    }
}

/* Long: one case for each refusal. */
void ss_ptrace_diagnose(const struct ss_ptrace_facts *facts, enum ss_ptrace_refusal refusal,
                        struct ss_ptrace_diagnosis *diagnosis)
{
    char process[48] = "another process of yours";
    if (facts->pid != 0) {
        snprintf(process, sizeof process, "process %d", (int)facts->pid);
    }
    *diagnosis = (struct ss_ptrace_diagnosis){{0}, {0}};
    switch (refusal) {
    case SS_PTRACE_ALLOWED:
        break;
    case SS_PTRACE_GONE:
        set(diagnosis, "name one that runs", "there is no %s", process);
        break;
    case SS_PTRACE_HIDDEN:
        set(diagnosis, "run stepscope as its user or with sudo",
            "%s is hidden from you (/proc is mounted with hidepid)", process);
        break;
    case SS_PTRACE_NO_MEMORY:
        set(diagnosis, "name a running program", "%s has no memory to read (%s)", process,
            facts->target.state == 'Z' ? "it has ended and waits for its parent"
                                       : "a kernel thread");
        break;
    case SS_PTRACE_SECCOMP:
        diagnose_seccomp(facts, diagnosis);
        break;
    case SS_PTRACE_USER_NAMESPACE:
        set(diagnosis, "run stepscope inside that namespace, or as root outside",
            "%s lives in another user namespace (a rootless container or a sandbox)", process);
        break;
    case SS_PTRACE_UID:
        diagnose_uid(facts, process, diagnosis);
        break;
    case SS_PTRACE_DUMPABLE:
        set(diagnosis, capability_fix(facts),
            "%s is marked undumpable (set-uid program, file capabilities, or prctl)", process);
        break;
    case SS_PTRACE_CAPABILITIES:
        set(diagnosis, capability_fix(facts), "%s holds capabilities that you lack (0x%llx)",
            process, (unsigned long long)(facts->target.cap_permitted & ~facts->own.cap_permitted));
        break;
    case SS_PTRACE_YAMA:
        diagnose_yama(facts, process, diagnosis);
        break;
    case SS_PTRACE_SECURITY_MODULE:
        diagnose_security_module(facts, process, diagnosis);
        break;
    }
}

static enum ss_status status_of(enum ss_ptrace_refusal refusal)
{
    switch (refusal) {
    case SS_PTRACE_ALLOWED:
        return SS_OK;
    case SS_PTRACE_GONE:
        return SS_E_GONE;
    case SS_PTRACE_NO_MEMORY:
        return SS_E_NOTFOUND;
    default:
        return SS_E_PERMISSION;
    }
}

enum ss_status ss_ptrace_describe(const struct ss_ptrace_facts *facts,
                                  enum ss_ptrace_refusal refusal, struct ss_error *err)
{
    if (refusal == SS_PTRACE_ALLOWED) {
        return SS_OK;
    }
    struct ss_ptrace_diagnosis diagnosis;
    ss_ptrace_diagnose(facts, refusal, &diagnosis);
    return ss_fail(err, status_of(refusal), "%s: %s", diagnosis.reason, diagnosis.fix);
}

enum ss_status ss_ptrace_explain(pid_t pid, struct ss_error *err)
{
    struct ss_ptrace_facts facts;
    ss_ptrace_facts_collect(pid, &facts);
    return ss_ptrace_describe(&facts, ss_ptrace_classify(&facts), err);
}

bool ss_ptrace_probe_child(struct ss_ptrace_facts *facts)
{
    pid_t pid = fork();
    if (pid < 0) {
        return false;
    }
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
            pause();
        }
    }
    ss_ptrace_facts_collect(pid, facts);
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    return true;
}

/* A child of this process probes this process, which is not a descendant of the child. */
bool ss_ptrace_probe_stranger(struct ss_ptrace_facts *facts)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    pid_t pid = fork();
    if (pid == 0) {
        struct ss_ptrace_facts child_facts;
        ss_ptrace_facts_collect(getppid(), &child_facts);
        _exit(write(ends[1], &child_facts, sizeof child_facts) == sizeof child_facts ? 0 : 1);
    }
    close(ends[1]);
    bool complete = pid > 0 && read(ends[0], facts, sizeof *facts) == sizeof *facts;
    close(ends[0]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    facts->pid = 0;
    return complete;
}
