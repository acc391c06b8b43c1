/* SPDX-License-Identifier: Apache-2.0 */
/*
 * May this process read the memory of another process? If not: which check refuses, and the fix.
 *
 * The kernel returns only EPERM. It checks, in this order: seccomp filters, user and group ids,
 * dumpability, capabilities and user namespaces, then Yama and other security modules. One function
 * collects the facts and another evaluates them, so that tests can cover the evaluation.
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
    SS_PTRACE_HIDDEN,         /* hidepid hides the process, which is not ours */
    SS_PTRACE_NO_MEMORY,      /* a zombie or a kernel thread */
    SS_PTRACE_SECCOMP,        /* a filter forbids the system call itself */
    SS_PTRACE_USER_NAMESPACE, /* it is in a user namespace without rights for us */
    SS_PTRACE_UID,            /* it belongs to another user or group */
    SS_PTRACE_DUMPABLE,       /* set-uid program, file capabilities, prctl, unreadable executable */
    SS_PTRACE_CAPABILITIES,   /* it has capabilities that we lack */
    SS_PTRACE_YAMA,           /* kernel.yama.ptrace_scope */
    SS_PTRACE_SECURITY_MODULE /* no other cause found: SELinux, AppArmor, Smack */
};

struct ss_ptrace_facts {
    pid_t pid; /* 0: no specific process, "another process of yours" */
    struct ss_proc_status own, target;
    bool target_known;       /* /proc/PID/status is readable */
    bool target_exists;      /* by /proc/PID/status or kill(pid, 0) */
    int read_errno;          /* errno of the trial read; 0: success */
    bool self_read_refused;  /* process_vm_readv also fails on our own memory */
    bool target_undumpable;  /* its /proc files belong to root although it does not run as root */
    uint64_t own_user_ns;    /* inodes; 0 unknown */
    uint64_t target_user_ns; /* 0: not readable */
    int yama_scope;          /* 0…3; -1: this kernel has no Yama */
    bool is_descendant;      /* of this process, including orphans that it adopted */
    bool in_container;
    char security_label[64]; /* of the target; "unconfined" or "": none */
};

/* Tries to read; collects the other facts only when the read is refused. */
void ss_ptrace_facts_collect(pid_t pid, struct ss_ptrace_facts *facts);
enum ss_ptrace_refusal ss_ptrace_classify(const struct ss_ptrace_facts *facts);

/* For people: the cause of the refusal and the fix. Both "" for SS_PTRACE_ALLOWED. */
struct ss_ptrace_diagnosis {
    char reason[256];
    char fix[256];
};
void ss_ptrace_diagnose(const struct ss_ptrace_facts *facts, enum ss_ptrace_refusal refusal,
                        struct ss_ptrace_diagnosis *advice);
/* The same as an error, "reason: fix" in one line; SS_OK for SS_PTRACE_ALLOWED. */
enum ss_status ss_ptrace_describe(const struct ss_ptrace_facts *facts,
                                  enum ss_ptrace_refusal refusal, struct ss_error *err);

/* Collects, evaluates and describes: SS_OK when `pid` is readable, else reason and fix in *err. */
enum ss_status ss_ptrace_explain(pid_t pid, struct ss_error *err);

/* The facts for a child of this process, and for a process that is not a descendant. Each forks a
 * temporary process for the trial read. false: no process could be created. */
bool ss_ptrace_probe_child(struct ss_ptrace_facts *facts);
bool ss_ptrace_probe_stranger(struct ss_ptrace_facts *facts);

int ss_ptrace_yama_scope(void); /* -1: this kernel has no Yama */
bool ss_platform_in_container(void);

#endif
