/* SPDX-License-Identifier: Apache-2.0 */
/* without_call NUMBER[,NUMBER…][:ERRNO] PROGRAM ARGUMENT…: runs a program, and all that it starts,
 * on a kernel that does not have these system calls, or in a container that refuses them: they fail
 * with ENOSYS, or that error. Status 100: no filter can be set here. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { MAX_CALLS = 64 };

/* Two instructions for each call, from `at` on; returns the end. */
static unsigned short refuse(const char *calls, struct sock_filter *filter, unsigned short at)
{
    const char *colon = strchr(calls, ':');
    unsigned error = colon == NULL ? ENOSYS : (unsigned)strtoul(colon + 1, NULL, 10);
    for (char *end; at < 2 * MAX_CALLS; calls = end + 1) {
        unsigned number = (unsigned)strtoul(calls, &end, 10);
        filter[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
        filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
        if (*end != ',') {
            break;
        }
    }
    return at;
}

int main(int count, char **arguments)
{
    if (count < 3) {
        fprintf(stderr, "usage: without_call NUMBER PROGRAM ARGUMENT...\n");
        return 2;
    }
    struct sock_filter filter[2 * MAX_CALLS + 2] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    unsigned short length = refuse(arguments[1], filter, 1);
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {length, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        return 100;
    }
    execvp(arguments[2], arguments + 2);
    perror(arguments[2]);
    return 127;
}
