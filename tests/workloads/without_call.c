/* SPDX-License-Identifier: Apache-2.0 */
/* without_call NUMBER PROGRAM ARGUMENT…: runs a program, and all that it starts, on a kernel that
 * does not have this system call: it fails with ENOSYS. Status 100: no filter can be set here. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    if (count < 3) {
        fprintf(stderr, "usage: without_call NUMBER PROGRAM ARGUMENT...\n");
        return 2;
    }
    unsigned number = (unsigned)strtoul(arguments[1], NULL, 10);
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        return 100;
    }
    execvp(arguments[2], arguments + 2);
    perror(arguments[2]);
    return 127;
}
