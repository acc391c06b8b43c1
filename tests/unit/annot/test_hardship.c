/* SPDX-License-Identifier: Apache-2.0 */
/* libstepscope where memory, files and processes are not as they should be: it records less, counts
 * what it does not record, and harms no other process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../../fakes/own_recorder.h"
#include <stepscope/stepscope.h>

enum { PATIENCE_S = 100, EVENTS = 100 };

static int setup(void **state)
{
    struct recorded *recorded = malloc(sizeof *recorded);
    alarm(PATIENCE_S); /* a thread that waits for itself is killed */
    start(recorded, SS_RING_MIN_SLOTS_LOG2 + 6, now());
    *state = recorded;
    return 0;
}

static int teardown(void **state)
{
    alarm(0);
    stop(*state);
    free(*state);
    return 0;
}

static void mark_many(int count)
{
    stepscope_name name = stepscope_intern("hardship", 8);
    for (int i = 0; i < count; i++) {
        stepscope_mark(0, name);
    }
}

static uint64_t unbuffered_events(const struct recorded *recorded)
{
    return atomic_load(&recorded->consumer.header->dropped);
}

/* --- another image of this program, under other conditions ------------------------------------ */

static struct ss_ring_header *recorders_page(void)
{
    char path[512];
    snprintf(path, sizeof path, "%s/" SS_RING_RECORDER_FILE, folder);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    void *page = mmap(NULL, SS_RING_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(page != MAP_FAILED);
    close(fd);
    return page;
}

/* What programs that start now find: a recorder at work. */
static struct ss_ring_header *open_gate_of_page(void)
{
    struct ss_ring_header *page = recorders_page();
    atomic_store(&page->heartbeat_ns, now());
    atomic_store(&page->recorder_pid, (int32_t)getpid());
    atomic_store(&page->unbuffered_processes, 0);
    atomic_store(&page->gate, SS_RING_GATE_RECORDING | SS_RING_GATE_ALL);
    return page;
}

/* Starts this program as `role` after `prepare`; returns its wait status. */
static int run_as(const char *role, void (*prepare)(void), pid_t *pid)
{
    struct ss_ring_header *page = open_gate_of_page();
    int status = -1;
    *pid = fork();
    assert_true(*pid >= 0);
    if (*pid == 0) {
        if (prepare != NULL) {
            prepare();
        }
        execl("/proc/self/exe", "hardship", role, (char *)NULL);
        _exit(99);
    }
    assert_int_equal(waitpid(*pid, &status, 0), *pid);
    atomic_store(&page->gate, 0);
    munmap(page, SS_RING_PAGE_BYTES);
    return status;
}

static uint32_t count_unbuffered(void)
{
    struct ss_ring_header *page = recorders_page();
    uint32_t count = atomic_load(&page->unbuffered_processes);
    munmap(page, SS_RING_PAGE_BYTES);
    return count;
}

static void check_events_of(pid_t pid, uint64_t recorded_events, uint64_t dropped)
{
    struct recorded child;
    open_recorded(&child, pid);
    drain(&child);
    assert_int_equal(child.records, recorded_events);
    assert_int_equal(check_sums(&child), recorded_events);
    assert_int_equal(unbuffered_events(&child), dropped);
    close_recorded(&child);
}

/* A kernel before 4.14, or an imitation of one: memory cannot be wiped on fork. */
static void refuse_wipe(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_WIPEONFORK, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        _exit(77);
    }
}

static int be_forking(void)
{
    int status = -1;
    mark_many(EVENTS);
    pid_t pid = fork();
    if (pid == 0) {
        mark_many(EVENTS);
        _exit(0);
    }
    return waitpid(pid, &status, 0) == pid ? status : 1;
}

static void test_kernel_that_wipes_nothing(void **state)
{
    (void)state;
    pid_t pid;
    int status = run_as("forking", refuse_wipe, &pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("this kernel filters no system calls\n");
        skip();
    }
    assert_int_equal(status, 0);
}

static void limit_file_size(rlim_t bytes)
{
    struct rlimit limit = {bytes, bytes};
    setrlimit(RLIMIT_FSIZE, &limit);
}

static void allow_a_page(void)
{
    limit_file_size(100000);
}

static void allow_no_file(void)
{
    limit_file_size(100);
}

/* The kernel sends SIGXFSZ, which kills, to who goes beyond the limit. */
static void test_limited_file_sizes(void **state)
{
    (void)state;
    pid_t pid;
    assert_int_equal(run_as("marking", allow_a_page, &pid), 0);
    check_events_of(pid, 0, EVENTS);
    assert_int_equal(count_unbuffered(), 0);
    assert_int_equal(run_as("marking", allow_no_file, &pid), 0);
    assert_int_equal(count_unbuffered(), 1);
}

static void make_folder_unwritable(void)
{
    chmod(folder, 0500);
}

static void test_folder_that_takes_no_files(void **state)
{
    (void)state;
    pid_t pid;
    if (geteuid() == 0) {
        print_message("root writes everywhere\n");
        skip();
    }
    int status = run_as("forking", make_folder_unwritable, &pid);
    chmod(folder, 0700);
    assert_int_equal(status, 0);
    assert_int_equal(count_unbuffered(), 1); /* its child inherits that it is not recorded */
}

static int be_without_descriptors(void)
{
    struct rlimit limit, none;
    getrlimit(RLIMIT_NOFILE, &limit);
    none = limit;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
    errno = 88;
    mark_many(EVENTS);
    int kept = errno;
    setrlimit(RLIMIT_NOFILE, &limit);
    uint64_t begin_ns = now();
    while (stepscope_push(0, 1) == 0 && now() - begin_ns < 20000000000) {
    }
    return kept == 88 ? 0 : 1;
}

static void test_no_descriptor_is_left(void **state)
{
    (void)state;
    pid_t pid;
    struct recorded child;
    assert_int_equal(run_as("without descriptors", NULL, &pid), 0);
    open_recorded(&child, pid);
    drain(&child);
    assert_true(unbuffered_events(&child) >= EVENTS);
    assert_int_equal(child.records, 1); /* it tried again */
    close_recorded(&child);
}

/* --- this process ----------------------------------------------------------------------------- */

/* Opening the ring's file is where a cancelled thread would end: with the lock. */
static void *mark_cancelled(void *unused)
{
    pthread_cancel(pthread_self());
    mark_many(1);
    pthread_testcancel();
    return unused;
}

static void *mark_some(void *count)
{
    mark_many(*(int *)count);
    return NULL;
}

static void test_cancelled_thread_gives_the_lock_back(void **state)
{
    struct recorded *recorded = *state;
    pthread_t thread;
    void *result;
    assert_int_equal(pthread_create(&thread, NULL, mark_cancelled, NULL), 0);
    pthread_join(thread, &result);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    int count = EVENTS;
    assert_int_equal(pthread_create(&thread, NULL, mark_some, &count), 0);
    pthread_join(thread, NULL);
    drain(recorded);
    assert_int_equal(recorded->records, EVENTS + 1);
}

enum { SHORT_THREADS = 5000, AT_ONCE = 50, EACH = 4 };

static void test_thousands_of_short_threads(void **state)
{
    struct recorded *recorded = *state;
    int each = EACH;
    for (int i = 0; i < SHORT_THREADS / AT_ONCE; i++) {
        pthread_t threads[AT_ONCE];
        for (int j = 0; j < AT_ONCE; j++) {
            assert_int_equal(pthread_create(&threads[j], NULL, mark_some, &each), 0);
        }
        for (int j = 0; j < AT_ONCE; j++) {
            pthread_join(threads[j], NULL);
        }
        if (i % 10 == 0) { /* up to 500 rings wait for their recorder */
            drain(recorded);
        }
    }
    drain(recorded);
    assert_int_equal(recorded->records, SHORT_THREADS * EACH);
    assert_int_equal(check_sums(recorded), recorded->records);
    assert_in_range(recorded->consumer.lanes.count, 1, 1000);
}

/* More threads at once than there are rings: the rest is counted. */
enum { CROWD = SS_RING_MAX_THREADS + 52 };

struct crowd {
    pthread_barrier_t barrier;
};

static void *mark_together(void *context)
{
    struct crowd *crowd = context;
    mark_many(1);
    pthread_barrier_wait(&crowd->barrier);
    return NULL;
}

static void test_more_threads_than_rings(void **state)
{
    struct recorded *recorded = *state;
    static pthread_t threads[CROWD];
    struct crowd crowd;
    pthread_attr_t small;
    int created = 0;
    uint64_t before = unbuffered_events(recorded);
    pthread_barrier_init(&crowd.barrier, NULL, CROWD);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 << 10);
    for (; created < CROWD; created++) {
        if (pthread_create(&threads[created], &small, mark_together, &crowd) != 0) {
            print_message("only %d threads at once here\n", created);
            skip(); /* they wait for the rest until this program ends */
        }
    }
    for (int i = 0; i < CROWD; i++) {
        pthread_join(threads[i], NULL);
    }
    drain(recorded);
    assert_int_equal(recorded->records + unbuffered_events(recorded) - before, CROWD);
    assert_in_range(recorded->records, SS_RING_MAX_THREADS - 500, SS_RING_MAX_THREADS);
    pthread_barrier_destroy(&crowd.barrier);
}

static void count_names(void *context, const struct ss_ring_defined *defined)
{
    ((uint32_t *)context)[defined->kind]++;
}

static int be_full_of_names(void)
{
    char text[32];
    int refused = 0;
    mark_many(1);
    for (int i = 0; i < 70000; i++) {
        int length = snprintf(text, sizeof text, "name %d", i);
        refused += stepscope_intern(text, (size_t)length) == 0;
    }
    for (int i = 0; i < 300; i++) {
        snprintf(text, sizeof text, "domain %d", i);
        refused += stepscope_domain_get(text) == 0;
    }
    bool finds = stepscope_intern("name 7", 6) != 0 && stepscope_domain_get("domain 7") != 0;
    mark_many(1);
    return finds && refused > 4000 ? 0 : 1;
}

static void test_more_names_than_there_can_be(void **state)
{
    (void)state;
    struct recorded child;
    pid_t pid;
    uint32_t defined[SS_RING_DEFINE_KIND_COUNT] = {0};
    assert_int_equal(run_as("full of names", NULL, &pid), 0);
    open_recorded(&child, pid);
    drain(&child);
    ss_ring_consumer_define(&child.consumer, count_names, defined);
    assert_false(child.consumer.definitions_broken);
    assert_int_equal(defined[SS_RING_DEFINE_NAME], SS_RING_MAX_NAMES - 1);
    assert_int_equal(defined[SS_RING_DEFINE_DOMAIN], SS_RING_MAX_DOMAINS - 1);
    uint64_t refused = 70000 + 1 - (SS_RING_MAX_NAMES - 1) + 300 - (SS_RING_MAX_DOMAINS - 1);
    assert_int_equal(atomic_load(&child.consumer.header->lost_names), refused);
    assert_int_equal(child.records, 2);
    close_recorded(&child);
}

/* --- ends ------------------------------------------------------------------------------------- */

static _Atomic int rounds; /* of all threads that mark */

static void *mark_for_ever(void *unused)
{
    for (;;) {
        mark_many(1);
        rounds++;
    }
    return unused;
}

static bool is_leaving;

static void mark_at_exit(void)
{
    mark_many(EVENTS);
}

/* Behind the library's own, as far as this file can be. */
__attribute__((destructor(101))) static void mark_last(void)
{
    if (is_leaving) {
        mark_many(EVENTS);
    }
}

static void *leave_by_exit(void *unused)
{
    while (rounds < EVENTS) {
        sched_yield();
    }
    exit(unused != NULL);
}

static int be_leaving(void)
{
    pthread_t thread;
    is_leaving = true;
    atexit(mark_at_exit);
    for (int i = 0; i < 4; i++) {
        pthread_create(&thread, NULL, i < 3 ? mark_for_ever : leave_by_exit, NULL);
    }
    mark_for_ever(NULL);
    return 1;
}

static void test_exit_from_a_thread_while_others_mark(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        pid_t pid;
        struct recorded child;
        assert_int_equal(run_as("leaving", NULL, &pid), 0);
        open_recorded(&child, pid);
        drain(&child);
        assert_true(check_sums(&child) + unbuffered_events(&child) >= 2 * EVENTS);
        close_recorded(&child);
    }
}

/* --- shared objects --------------------------------------------------------------------------- */

typedef void mark_function(int count);

static mark_function *function_of(void *library)
{
    mark_function *function = NULL;
    assert_non_null(library);
    *(void **)&function = dlsym(library, "plugin_mark");
    assert_non_null(function);
    return function;
}

static void test_shared_objects_come_and_go(void **state)
{
    struct recorded *recorded = *state;
    for (int i = 0; i < 3; i++) {
        void *plugin = dlopen(SS_TEST_BINARY_DIR "/tests/fakes/annotated_plugin.so", RTLD_NOW);
        function_of(plugin)(EVENTS);
        dlclose(plugin);
    }
    drain(recorded);
    assert_int_equal(recorded->by_type[SS_RING_PUSH], 3 * EVENTS);
    assert_int_equal(recorded->by_type[SS_RING_POP], 3 * EVENTS);
}

static int be_twofold(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 77; /* a second copy of the sanitizer does not start */
#else
    mark_many(EVENTS);
    void *plugin =
        dlmopen(LM_ID_NEWLM, SS_TEST_BINARY_DIR "/tests/fakes/annotated_plugin.so", RTLD_NOW);
    if (plugin == NULL) {
        return 77;
    }
    function_of(plugin)(EVENTS);
    mark_many(EVENTS);
    return 0;
#endif
}

/* dlmopen brings a second libstepscope: the file of the first stays the only one. */
static void test_second_copy_of_the_library(void **state)
{
    (void)state;
    pid_t pid;
    int status = run_as("twofold", NULL, &pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("dlmopen loads nothing here\n");
        skip();
    }
    assert_int_equal(status, 0);
    check_events_of(pid, 2 * EVENTS, 0);
    char path[512];
    assert_true(find_file(pid, path, sizeof path));
    assert_non_null(strstr(path, ".0" SS_RING_FILE_SUFFIX));
    assert_int_equal(count_unbuffered(), 0);
}

static int be(const char *role)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } roles[] = {{"forking", be_forking},
                 {"without descriptors", be_without_descriptors},
                 {"full of names", be_full_of_names},
                 {"leaving", be_leaving},
                 {"twofold", be_twofold}};
    alarm(PATIENCE_S);
    if (stepscope_link_.runtime == NULL) {
        return 1;
    }
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        if (strcmp(role, roles[i].name) == 0) {
            return roles[i].run();
        }
    }
    mark_many(EVENTS);
    return 0;
}

int main(int argc, char **argv)
{
    if (own_recorder_begin(argv) != 0) {
        return 1;
    }
    if (argc > 1) {
        return be(argv[1]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernel_that_wipes_nothing),
        cmocka_unit_test(test_limited_file_sizes),
        cmocka_unit_test(test_folder_that_takes_no_files),
        cmocka_unit_test(test_no_descriptor_is_left),
        cmocka_unit_test(test_more_names_than_there_can_be),
        cmocka_unit_test(test_exit_from_a_thread_while_others_mark),
        cmocka_unit_test(test_second_copy_of_the_library),
        cmocka_unit_test_setup_teardown(test_cancelled_thread_gives_the_lock_back, setup, teardown),
        cmocka_unit_test_setup_teardown(test_thousands_of_short_threads, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shared_objects_come_and_go, setup, teardown),
        cmocka_unit_test_setup_teardown(test_more_threads_than_rings, setup, teardown),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    own_recorder_end();
    return failed;
}
