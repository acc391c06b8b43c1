/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/ptrace_access.h"

#include <errno.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Two processes of user 1000, none of them special; the read was refused. */
static struct ss_ptrace_facts refused(void)
{
    struct ss_ptrace_facts facts = {.pid = 4321,
                                    .target_known = true,
                                    .target_exists = true,
                                    .read_errno = EPERM,
                                    .own_user_ns = 1,
                                    .target_user_ns = 1,
                                    .yama_scope = 0};
    for (int i = 0; i < 3; i++) {
        facts.own.uid[i] = facts.target.uid[i] = 1000;
        facts.own.gid[i] = facts.target.gid[i] = 1000;
    }
    facts.target.has_memory = true;
    return facts;
}

static void expect(const struct ss_ptrace_facts *facts, enum ss_ptrace_refusal refusal,
                   enum ss_status status, const char *why, const char *fix)
{
    struct ss_error err = {0};
    assert_int_equal(ss_ptrace_classify(facts), refusal);
    assert_int_equal(ss_ptrace_describe(facts, refusal, &err), status);
    assert_non_null(strstr(err.message, why));
    assert_non_null(strstr(err.message, fix));
    assert_null(strchr(err.message, '\n'));
}

static void test_allowed_when_the_read_works(void **state)
{
    (void)state;
    struct ss_ptrace_facts facts = refused();
    facts.read_errno = 0;
    assert_int_equal(ss_ptrace_classify(&facts), SS_PTRACE_ALLOWED);
    assert_int_equal(ss_ptrace_describe(&facts, SS_PTRACE_ALLOWED, NULL), SS_OK);
}

static void test_yama_names_its_level_and_record(void **state)
{
    (void)state;
    struct ss_ptrace_facts facts = refused();
    facts.yama_scope = 1;
    expect(&facts, SS_PTRACE_YAMA, SS_E_PERMISSION, "ptrace_scope is 1", "stepscope record --");
    facts.yama_scope = 2;
    expect(&facts, SS_PTRACE_YAMA, SS_E_PERMISSION, "ptrace_scope is 2", "sudo");
    facts.in_container = true;
    expect(&facts, SS_PTRACE_YAMA, SS_E_PERMISSION, "ptrace_scope is 2", "--cap-add=SYS_PTRACE");
    facts.own.cap_effective = UINT64_MAX;
    facts.yama_scope = 3;
    expect(&facts, SS_PTRACE_YAMA, SS_E_PERMISSION, "ptrace_scope is 3", "reboot");
}

static void test_yama_is_not_blamed_for_descendants_or_the_capable(void **state)
{
    (void)state;
    struct ss_ptrace_facts facts = refused();
    facts.yama_scope = 1;
    facts.is_descendant = true;
    assert_int_equal(ss_ptrace_classify(&facts), SS_PTRACE_SECURITY_MODULE);
    facts.is_descendant = false;
    facts.own.cap_effective = UINT64_C(1) << SS_CAP_SYS_PTRACE;
    assert_int_equal(ss_ptrace_classify(&facts), SS_PTRACE_SECURITY_MODULE);
}

static void test_another_user(void **state)
{
    (void)state;
    struct ss_ptrace_facts facts = refused();
    facts.yama_scope = 1; /* ids are asked first */
    facts.target.uid[0] = facts.target.uid[1] = facts.target.uid[2] = 33;
    expect(&facts, SS_PTRACE_UID, SS_E_PERMISSION, "belongs to user id 33", "as that user");
    facts = refused();
    facts.target.gid[2] = 4;
    expect(&facts, SS_PTRACE_UID, SS_E_PERMISSION, "not all yours", "sudo");
}

static void test_namespace_comes_before_ids(void **state)
{
    (void)state;
    struct ss_ptrace_facts facts = refused();
    facts.target_user_ns = 2;
    facts.target.uid[1] = 65534;
    expect(&facts, SS_PTRACE_USER_NAMESPACE, SS_E_PERMISSION, "user namespace", "inside");
    facts.target_user_ns = 0; /* unknown is not evidence */
    assert_int_equal(ss_ptrace_classify(&facts), SS_PTRACE_UID);
}

static void test_undumpable_and_capabilities(void **state)
{
    (void)state;
    struct ss_ptrace_facts facts = refused();
    facts.target_undumpable = true;
    expect(&facts, SS_PTRACE_DUMPABLE, SS_E_PERMISSION, "undumpable", "sudo");
    facts = refused();
    facts.target.cap_permitted = 0x2000;
    expect(&facts, SS_PTRACE_CAPABILITIES, SS_E_PERMISSION, "0x2000", "sudo");
}

static void test_seccomp_and_missing_call(void **state)
{
    (void)state;
    struct ss_ptrace_facts facts = refused();
    facts.self_read_refused = true;
    facts.in_container = true;
    facts.yama_scope = 2; /* the filter speaks before anything else */
    expect(&facts, SS_PTRACE_SECCOMP, SS_E_PERMISSION, "seccomp", "seccomp=unconfined");
    facts = refused();
    facts.read_errno = ENOSYS;
    assert_int_equal(ss_ptrace_classify(&facts), SS_PTRACE_SECCOMP);
}

static void test_gone_hidden_and_without_memory(void **state)
{
    (void)state;
    struct ss_ptrace_facts facts = refused();
    facts.target_exists = facts.target_known = false;
    facts.read_errno = ESRCH;
    expect(&facts, SS_PTRACE_GONE, SS_E_GONE, "no process 4321", "");
    facts = refused();
    facts.target_known = false;
    expect(&facts, SS_PTRACE_HIDDEN, SS_E_PERMISSION, "hidepid", "sudo");
    facts = refused();
    facts.read_errno = ESRCH;
    facts.target.has_memory = false;
    facts.target.state = 'Z';
    expect(&facts, SS_PTRACE_NO_MEMORY, SS_E_NOTFOUND, "has ended", "");
}

static void test_security_module_names_the_label(void **state)
{
    (void)state;
    struct ss_ptrace_facts facts = refused();
    snprintf(facts.security_label, sizeof facts.security_label, "docker-default (enforce)");
    expect(&facts, SS_PTRACE_SECURITY_MODULE, SS_E_PERMISSION, "docker-default (enforce)",
           "policy");
}

static void test_status_file_is_parsed(void **state)
{
    (void)state;
    struct ss_proc_status status;
    assert_true(ss_proc_status_parse("Name:\tState: x\nState:\tS (sleeping)\nPPid:\t7\n"
                                     "Uid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nVmSize:\t  8 kB\n"
                                     "CapPrm:\t00000000000000ff\nCapEff:\t0000000000080000\n"
                                     "NoNewPrivs:\t1\nSeccomp:\t2\n",
                                     &status));
    assert_int_equal(status.state, 'S');
    assert_int_equal(status.parent_pid, 7);
    assert_int_equal(status.uid[1], 2);
    assert_int_equal(status.gid[2], 7);
    assert_int_equal(status.cap_permitted, 0xff);
    assert_true(ss_proc_status_can(&status, SS_CAP_SYS_PTRACE));
    assert_false(ss_proc_status_can(&status, SS_CAP_SYS_ADMIN));
    assert_true(status.no_new_privs && status.has_memory);
    assert_int_equal(status.seccomp, 2);
    assert_false(ss_proc_status_parse("", &status));
    assert_false(ss_proc_status_parse("State:\tR\nUid:\t1\t2\t3\t4\n", &status));
}

/* A child that does `prepare`, says so, and sleeps until it is killed. */
static pid_t start_child(void (*prepare)(void))
{
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(ready[0]);
        if (prepare != NULL) {
            prepare();
        }
        if (write(ready[1], "r", 1) != 1) {
            _exit(1);
        }
        pause();
        _exit(0);
    }
    close(ready[1]);
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

static void end_child(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void become(unsigned id)
{
    if (setgroups(0, NULL) != 0 || setresgid(id, id, id) != 0 || setresuid(id, id, id) != 0) {
        _exit(111);
    }
    prctl(PR_SET_DUMPABLE, 1); /* the change of ids took it away */
}

static void become_other_user(void)
{
    become(65534);
}

static void become_undumpable_daemon(void)
{
    become(1);
    prctl(PR_SET_DUMPABLE, 0);
}

/* What ss_ptrace_classify says of `pid` in a process that did `prepare`. */
static int judge_in_another(void (*prepare)(void), pid_t pid)
{
    pid_t judge = fork();
    assert_true(judge >= 0);
    if (judge == 0) {
        prepare();
        struct ss_ptrace_facts facts;
        ss_ptrace_facts_collect(pid, &facts);
        _exit((int)ss_ptrace_classify(&facts));
    }
    int status;
    assert_int_equal(waitpid(judge, &status, 0), judge);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void become_daemon(void)
{
    become(1);
}

static void forbid_reading(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        _exit(112);
    }
}

static void test_really_reads_an_own_child(void **state)
{
    (void)state;
    pid_t pid = start_child(NULL);
    struct ss_error err = {0};
    assert_int_equal(ss_ptrace_explain(pid, &err), SS_OK);
    end_child(pid);
    assert_int_equal(ss_ptrace_explain(pid, &err), SS_E_GONE);
}

static void test_really_refused_by_a_filter(void **state)
{
    (void)state;
    pid_t pid = start_child(NULL);
    int verdict = judge_in_another(forbid_reading, pid);
    end_child(pid);
    if (verdict == 112) {
        print_message("this kernel has no seccomp filters\n");
        skip();
    }
    assert_int_equal(verdict, SS_PTRACE_SECCOMP);
}

static void test_really_refused_by_ids_and_dumpability(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        print_message("needs root\n");
        skip();
    }
    pid_t other = start_child(become_other_user);
    pid_t undumpable = start_child(become_undumpable_daemon);
    int by_uid = judge_in_another(become_daemon, other);
    int by_dumpable = judge_in_another(become_daemon, undumpable);
    end_child(other);
    end_child(undumpable);
    assert_int_equal(by_uid, SS_PTRACE_UID);
    assert_int_equal(by_dumpable, SS_PTRACE_DUMPABLE);
}

static void test_probes_on_processes_of_its_own(void **state)
{
    (void)state;
    struct ss_ptrace_facts facts;
    assert_true(ss_ptrace_probe_child(&facts));
    assert_int_equal(ss_ptrace_classify(&facts), SS_PTRACE_ALLOWED);
    assert_true(ss_ptrace_probe_stranger(&facts));
    enum ss_ptrace_refusal stranger = ss_ptrace_classify(&facts);
    assert_true(stranger == SS_PTRACE_ALLOWED || stranger == SS_PTRACE_YAMA);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nothing is left behind */
}

static void test_zombie_has_no_memory(void **state)
{
    (void)state;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        _exit(0);
    }
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    struct ss_error err = {0};
    assert_int_equal(ss_ptrace_explain(pid, &err), SS_E_NOTFOUND);
    assert_non_null(strstr(err.message, "has ended"));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allowed_when_the_read_works),
        cmocka_unit_test(test_yama_names_its_level_and_record),
        cmocka_unit_test(test_yama_is_not_blamed_for_descendants_or_the_capable),
        cmocka_unit_test(test_another_user),
        cmocka_unit_test(test_namespace_comes_before_ids),
        cmocka_unit_test(test_undumpable_and_capabilities),
        cmocka_unit_test(test_seccomp_and_missing_call),
        cmocka_unit_test(test_gone_hidden_and_without_memory),
        cmocka_unit_test(test_security_module_names_the_label),
        cmocka_unit_test(test_status_file_is_parsed),
        cmocka_unit_test(test_really_reads_an_own_child),
        cmocka_unit_test(test_really_refused_by_a_filter),
        cmocka_unit_test(test_really_refused_by_ids_and_dumpability),
        cmocka_unit_test(test_probes_on_processes_of_its_own),
        cmocka_unit_test(test_zombie_has_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
