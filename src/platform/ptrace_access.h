/* SPDX-License-Identifier: Apache-2.0 */
/*
 * May this process read the memory of another one, and if not, who says no and what helps?
 *
 * The kernel answers only EPERM. It asks, in this order: a seccomp filter, user and group ids,
 * dumpability, capabilities and user namespaces, then Yama and other security modules. The facts
 * are collected in one place and judged in another, so that the judgement can be tested.
 * Stateless; thread-safe.
 */
#ifndef SS_PLATFORM_PTRACE_ACCESS_H
#define SS_PLATFORM_PTRACE_ACCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "platform/proc_status.h"

enum ss_ptrace_refusal {
    SS_PTRACE_ALLOWED,
    SS_PTRACE_GONE,           /* no such process */
    SS_PTRACE_HIDDEN,         /* /proc is mounted with hidepid and it is not ours */
    SS_PTRACE_NO_MEMORY,      /* a zombie or a kernel thread */
    SS_PTRACE_SECCOMP,        /* a filter forbids the system call itself */
    SS_PTRACE_USER_NAMESPACE, /* it lives in another user namespace, where we have no rights */
    SS_PTRACE_UID,            /* it belongs to another user or group */
    SS_PTRACE_DUMPABLE,       /* set-uid program, file capabilities, prctl, unreadable executable */
    SS_PTRACE_CAPABILITIES,   /* it holds capabilities that we lack */
    SS_PTRACE_YAMA,           /* kernel.yama.ptrace_scope */
    SS_PTRACE_SECURITY_MODULE /* what is left: SELinux, AppArmor, Smack */
};

struct ss_ptrace_facts {
    pid_t pid; /* 0: not a certain one, "another process of yours" */
    struct ss_proc_status own, target;
    bool target_known;       /* /proc/PID/status could be read */
    bool target_exists;      /* kill(pid, 0) finds it */
    int read_errno;          /* of the attempt; 0: it worked */
    bool self_read_refused;  /* not even our own memory can be read with that call */
    bool target_undumpable;  /* its /proc files belong to root although it does not run as root */
    uint64_t own_user_ns;    /* inodes; 0 unknown */
    uint64_t target_user_ns; /* 0: may not be looked at */
    int yama_scope;          /* 0…3; -1: not in this kernel */
    bool is_descendant;      /* of this process, orphans that it adopted included */
    bool in_container;
    char security_label[64]; /* of the target, "unconfined" or "" when there is none */
};

/* Tries to read; collects the rest only when that is refused. */
void ss_ptrace_facts_collect(pid_t pid, struct ss_ptrace_facts *facts);
enum ss_ptrace_refusal ss_ptrace_judge(const struct ss_ptrace_facts *facts);

/* For people: who refused, and what helps. Both "" for SS_PTRACE_ALLOWED. */
struct ss_ptrace_advice {
    char reason[256];
    char fix[256];
};
void ss_ptrace_advise(const struct ss_ptrace_facts *facts, enum ss_ptrace_refusal refusal,
                      struct ss_ptrace_advice *advice);
/* The same as an error, "reason: fix" in one line; SS_OK for SS_PTRACE_ALLOWED. */
enum ss_status ss_ptrace_describe(const struct ss_ptrace_facts *facts,
                                  enum ss_ptrace_refusal refusal, struct ss_error *err);

/* All of it: SS_OK when `pid` can be read, else the reason and the fix in *err. */
enum ss_status ss_ptrace_explain(pid_t pid, struct ss_error *err);

/* What holds for a child of this process, and for one that is no descendant of it: tried out on
 * processes made for it, which are gone afterwards. False: no process could be made. */
bool ss_ptrace_probe_child(struct ss_ptrace_facts *facts);
bool ss_ptrace_probe_stranger(struct ss_ptrace_facts *facts);

int ss_ptrace_yama_scope(void); /* -1: this kernel has no Yama */
bool ss_platform_in_container(void);

#endif
