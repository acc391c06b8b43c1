/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Annotated programs that set a filter of system calls which ends the process (seccomp) at whatever
 * a program without annotations does not call.
 *
 *   filtered threads N   after the filter, N threads one after the other, 10 ranges each; the main
 *                        thread has a ring already. Opening and reading files is allowed. Says
 *                        "ready" and reads a line before it sets the filter
 *   filtered strict N    the same, and nothing that opens a file. Says "ready" and reads a line
 * after it has set the filter filtered quick       the same, without sleep or threads: it must not
 * be looked up either filtered idle        no range at all; sets the filter and ends
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <stepscope/stepscope.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int always[] = {
    SYS_write,        SYS_read,         SYS_exit,          SYS_exit_group,      SYS_futex,
    SYS_mmap,         SYS_munmap,       SYS_mprotect,      SYS_madvise,         SYS_brk,
    SYS_clone,        SYS_clone3,       SYS_rseq,          SYS_set_robust_list, SYS_rt_sigprocmask,
    SYS_rt_sigaction, SYS_rt_sigreturn, SYS_clock_gettime, SYS_clock_nanosleep, SYS_sched_yield};
static const int files[] = {SYS_openat, SYS_close, SYS_newfstatat, SYS_fstat, SYS_lseek};

enum { MOST = 64 };

static int set_filter(int with_files)
{
    struct sock_filter code[2 * MOST];
    size_t count = 0;
    code[count++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < sizeof always / sizeof *always; i++) {
        code[count++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)always[i], 0, 1);
        code[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    for (size_t i = 0; with_files && i < sizeof files / sizeof *files; i++) {
        code[count++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)files[i], 0, 1);
        code[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    code[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {(unsigned short)count, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void *mark(void *nothing)
{
    for (int i = 0; i < 10; i++) {
        STEPSCOPE_RANGE("after");
    }
    return nothing;
}

static void wait_for_line(void)
{
    static const char ready[] = "ready\n";
    char byte = 0;
    if (write(STDOUT_FILENO, ready, sizeof ready - 1) > 0) {
        while (read(STDIN_FILENO, &byte, 1) == 1 && byte != '\n') {
        }
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    long threads = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    if (strcmp(how, "idle") != 0) {
        STEPSCOPE_RANGE("before");
    }
    if (strcmp(how, "threads") == 0) {
        wait_for_line();
    }
    if (!set_filter(strcmp(how, "threads") == 0 || strcmp(how, "idle") == 0)) {
        return errno == EINVAL || errno == ENOSYS ? 77 : 1;
    }
    if (strcmp(how, "strict") == 0) {
        wait_for_line();
    }
    for (long i = 0; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, mark, NULL) != 0) {
            return 1;
        }
        pthread_join(thread, NULL);
    }
    if (strcmp(how, "idle") != 0) {
        mark(NULL);
    }
    static const char end[] = "ended\n";
    return write(STDOUT_FILENO, end, sizeof end - 1) == sizeof end - 1 ? 0 : 1;
}
