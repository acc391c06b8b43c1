/* SPDX-License-Identifier: Apache-2.0 */
/* The host source over a synthetic /proc: what it emits from one tick to the next. Time is a manual
 * clock: a tick comes exactly one pause after the one before, and rates are exact. Tests that read
 * the kernel's counters of a real process set that clock to the system's time, and assert counts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../manual_clock.h"
#include "source/host.h"
#include "source/metric.h"

/* --- a sink that remembers -------------------------------------------------------------------- */

enum { MOST = 4096 };

struct series {
    uint32_t process_ref, parent;
    char name[64], unit[16];
    size_t points;
    uint64_t first_ns, last_ns;
    double first, last;
};

struct sink {
    char groups[MOST][128];
    struct series series[MOST];
    uint32_t group_count, series_count;
};

static struct sink sink;

static uint32_t on_group(void *context, struct ss_metric_owner owner, uint32_t parent,
                         enum ss_metric_subject subject, const char *name)
{
    (void)subject;
    (void)owner;
    struct sink *self = context;
    assert_true(self->group_count + 1 < MOST);
    char above[64];
    snprintf(above, sizeof above, "%.60s%s", self->groups[parent], parent != 0 ? "/" : "");
    snprintf(self->groups[++self->group_count], 128, "%s%.60s", above, name);
    return self->group_count;
}

static uint32_t on_series(void *context, struct ss_metric_owner owner, uint32_t parent,
                          const char *name, const char *unit)
{
    struct sink *self = context;
    assert_true(self->series_count + 1 < MOST);
    struct series *series = &self->series[++self->series_count];
    *series = (struct series){.process_ref = owner.process_ref, .parent = parent};
    snprintf(series->name, sizeof series->name, "%s", name);
    snprintf(series->unit, sizeof series->unit, "%s", unit);
    return self->series_count;
}

static void on_real(void *context, uint32_t ref, uint64_t time_ns, double value)
{
    struct series *series = &((struct sink *)context)->series[ref];
    if (series->points++ == 0) {
        series->first_ns = time_ns;
        series->first = value;
    }
    assert_true(time_ns >= series->last_ns);
    series->last_ns = time_ns;
    series->last = value;
}

static void on_integer(void *context, uint32_t ref, uint64_t time_ns, int64_t value)
{
    on_real(context, ref, time_ns, (double)value);
}

static const struct series *find(const char *group, const char *name)
{
    for (uint32_t i = 1; i <= sink.series_count; i++) {
        if (strcmp(sink.groups[sink.series[i].parent], group) == 0 &&
            strcmp(sink.series[i].name, name) == 0) {
            return &sink.series[i];
        }
    }
    return NULL;
}

static double last(const char *group, const char *name)
{
    const struct series *series = find(group, name);
    if (series == NULL || series->points == 0) {
        fail_msg("there is no %s, %s", group, name);
        return 0;
    }
    return series->last;
}

/* --- a synthetic /proc ------------------------------------------------------------------------ */

static char root[64], sys_root[80];
static uint64_t began_ns;
static struct manual_clock manual;

static void put_file(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    /* In place: the source keeps its files open, as it does those of the kernel. */
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void make_folder(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void no_process(void *context, void (*visit)(void *visitor, pid_t pid, uint32_t ref),
                       void *visitor)
{
    (void)context;
    (void)visit;
    (void)visitor;
}

static const char *proc_root; /* NULL: the synthetic one */
static void (*each_process)(void *context, void (*visit)(void *visitor, pid_t pid, uint32_t ref),
                            void *visitor) = no_process;

static int set_up(void **state)
{
    (void)state;
    memset(&sink, 0, sizeof sink);
    snprintf(root, sizeof root, "/tmp/ss-host-XXXXXX");
    assert_non_null(mkdtemp(root));
    snprintf(sys_root, sizeof sys_root, "%s/sys", root);
    make_folder("net");
    make_folder("pressure");
    make_folder("self");
    proc_root = NULL;
    each_process = no_process;
    manual_clock_init(&manual, UINT64_C(5000000000000));
    began_ns = manual.now.monotonic_ns;
    return 0;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
    return 0;
}

static const uint64_t interval_ns = UINT64_C(20000000);

static void *open_source(char *reason)
{
    struct ss_source_setup setup = {.proc_root = proc_root != NULL ? proc_root : root,
                                    .sys_root = sys_root,
                                    .interval_ns = interval_ns,
                                    .clock = &manual.clock,
                                    .since_ns = began_ns,
                                    .metrics = {.context = &sink,
                                                .group = on_group,
                                                .series = on_series,
                                                .integer = on_integer,
                                                .real = on_real},
                                    .each_process = each_process};
    void *source = NULL;
    ss_source_host.start(&setup, &source, reason);
    return source;
}

enum { PAUSE_NS = 30000000 };

/* The next tick, one pause after the last. */
static void wait_and_tick(void *source)
{
    ss_source_host.tick(source, manual_clock_advance(&manual, PAUSE_NS));
}

/* A rate of `step` in `pauses`, within its rounding. */
static void assert_rate(double rate, double step, int pauses)
{
    double expected = step / (pauses * PAUSE_NS / 1e9);
    assert_true(rate >= expected - 1 && rate <= expected + 1);
}

static void *begin(void)
{
    char reason[SS_SOURCE_REASON_BYTES];
    void *source = open_source(reason);
    assert_non_null(source);
    ss_source_host.tick(source, manual.now.monotonic_ns);
    return source;
}

static void end(void *source)
{
    char reason[SS_SOURCE_REASON_BYTES];
    ss_source_host.stop(source, manual.now.monotonic_ns, reason);
}

static void shares_of_cpu_time_add_up(void **state)
{
    (void)state;
    put_file("stat", "cpu 100 10 50 1000 20 5 5 10 30 0\n"
                     "cpu0 50 5 25 500 10 2 3 5 15 0\ncpu1 50 5 25 500 10 3 2 5 15 0\n");
    void *source = begin();
    assert_null(find("CPU", "busy")); /* one reading makes no rate */
    uint64_t first_ns = manual.now.monotonic_ns;
    /* 100 ticks each: core 0 is all user, of which a guest has a quarter; core 1 waits */
    put_file("stat", "cpu 200 10 50 1040 80 5 5 10 55 0\n"
                     "cpu0 150 5 25 500 10 2 3 5 40 0\ncpu1 50 5 25 540 70 3 2 5 15 0\n");
    wait_and_tick(source);
    assert_true(last("CPU", "busy") == 100 && last("CPU", "user") == 75);
    assert_true(last("CPU", "guest") == 25 && last("CPU", "iowait") == 60);
    assert_true(last("CPU", "system") == 0);
    assert_true(last("CPU cores/core 0", "busy") == 100);
    assert_true(last("CPU cores/core 1", "busy") == 0);
    assert_true(last("CPU cores/core 1", "iowait") == 60);
    assert_null(find("CPU", "steal")); /* there was none */
    assert_null(find("CPU cores/core 0", "iowait"));
    /* where the interval began */
    assert_int_equal(find("CPU", "busy")->last_ns, first_ns);
    /* iowait may go backwards; steal comes up, and was 0 before */
    put_file("stat", "cpu 200 10 50 1120 70 5 5 30 55 0\n"
                     "cpu0 150 5 25 500 10 2 3 5 40 0\ncpu1 50 5 25 620 60 3 2 25 15 0\n");
    wait_and_tick(source);
    assert_true(last("CPU cores/core 1", "steal") == 20 && last("CPU", "steal") == 40);
    assert_int_equal(find("CPU", "steal")->first_ns, first_ns);
    assert_true(find("CPU", "steal")->first == 0 && last("CPU", "iowait") == 0);
    end(source);
}

static void cores_go_and_come_back(void **state)
{
    (void)state;
    put_file("stat", "cpu 0 0 0 0\ncpu0 0 0 0 0\ncpu1 0 0 0 0\n");
    void *source = begin();
    put_file("stat", "cpu 100 0 0 100\ncpu0 50 0 0 50\ncpu1 50 0 0 50\n");
    wait_and_tick(source);
    assert_true(last("CPU cores/core 1", "busy") == 50 && last("CPU", "busy") == 100);
    put_file("stat", "cpu 150 0 0 150\ncpu0 100 0 0 100\n");
    wait_and_tick(source);
    assert_true(last("CPU cores/core 1", "busy") == 0);
    assert_true(last("CPU", "busy") == 50); /* of the one core that is left */
    size_t points = find("CPU cores/core 1", "busy")->points;
    put_file("stat", "cpu 250 0 0 200\ncpu0 150 0 0 150\ncpu1 90 0 0 60\n");
    wait_and_tick(source);
    assert_int_equal(find("CPU cores/core 1", "busy")->points, points); /* first reading again */
    put_file("stat", "cpu 350 0 0 200\ncpu0 150 0 0 150\ncpu1 190 0 0 60\n");
    wait_and_tick(source);
    assert_true(last("CPU cores/core 1", "busy") == 100);
    end(source);
}

static void a_stat_file_that_never_changes_has_no_values(void **state)
{
    (void)state;
    put_file("stat", "cpu 0 0 0 0\ncpu0 0 0 0 0\n"); /* as gVisor has it */
    void *source = begin();
    wait_and_tick(source);
    wait_and_tick(source);
    assert_int_equal(sink.series_count, 0);
    end(source);
}

static void memory_load_and_pressure(void **state)
{
    (void)state;
    put_file("meminfo", "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 400 kB\n"
                        "SwapTotal: 50 kB\nSwapFree: 20 kB\n");
    put_file("loadavg", "1.50 2.25 3.00 4/140 22183\n");
    put_file("pressure/io", "some avg10=0 total=1000\nfull avg10=0 total=0\n");
    put_file("vmstat", "pswpin 0\npswpout 0\npgmajfault 100\n");
    void *source = begin();
    assert_true(last("memory", "used") == 600 * 1024 && last("memory", "swap used") == 30 * 1024);
    assert_true(last("memory", "available") == 400 * 1024);
    assert_string_equal(find("memory", "used")->unit, "bytes");
    assert_true(last("load", "1 min") == 1.5 && last("load", "runnable now") == 4);
    assert_null(find("pressure", "io some"));
    put_file("pressure/io", "some avg10=0 total=6000\nfull avg10=0 total=0\n");
    put_file("vmstat", "pswpin 10\npswpout 0\npgmajfault 150\n");
    wait_and_tick(source);
    assert_rate(last("pressure", "io some"), 0.5, 1); /* 5 ms, in per cent */
    assert_true(last("pressure", "io full") == 0);
    assert_rate(last("memory", "swapped in"), 10.0 * (double)sysconf(_SC_PAGESIZE), 1);
    assert_rate(last("memory", "major faults"), 50, 1);
    assert_null(find("memory", "swapped out"));
    /* more waiting than time: the kernel's clock and ours differ */
    put_file("pressure/io", "some avg10=0 total=90000000\nfull avg10=0 total=0\n");
    wait_and_tick(source);
    assert_true(last("pressure", "io some") == 100);
    /* a truncated file has no values, and breaks nothing */
    size_t points = find("memory", "used")->points;
    put_file("meminfo", "MemTotal: 1");
    wait_and_tick(source);
    assert_int_equal(find("memory", "used")->points, points);
    end(source);
}

static void disks_by_rule_rate_and_reset(void **state)
{
    (void)state;
    make_folder("sys");
    make_folder("sys/block");
    make_folder("sys/block/sda");
    put_file("diskstats", "8 0 sda 10 0 100 0 20 0 200 0 0 4294967290 0\n"
                          "8 1 sda1 10 0 100 0 20 0 200 0 0 50 0\n"
                          "7 0 loop0 10 0 100 0 20 0 200 0 0 50 0\n"
                          "8 16 sdb 0 0 0 0 0 0 0 0 0 0 0\n");
    void *source = begin();
    put_file("diskstats", "8 0 sda 15 0 1100 0 20 0 200 0 0 4 0\n" /* busy time wrapped */
                          "8 1 sda1 15 0 1100 0 20 0 200 0 0 60 0\n"
                          "7 0 loop0 20 0 200 0 30 0 400 0 0 60 0\n"
                          "8 16 sdb 0 0 0 0 0 0 0 0 0 0 0\n");
    wait_and_tick(source);
    assert_rate(last("disk sda", "read"), 1000 * 512, 1);
    assert_rate(last("disk sda", "reads"), 5, 1);
    assert_true(last("disk sda", "written") == 0);
    assert_rate(last("disk sda", "utilisation"), 1, 1); /* 10 ms, in per cent */
    assert_null(find("disk sda1", "read"));
    assert_null(find("disk loop0", "read"));
    assert_null(find("disk sdb", "read"));
    /* reset: no rate for this interval; then it continues */
    size_t points = find("disk sda", "read")->points;
    put_file("diskstats", "8 0 sda 1 0 10 0 1 0 10 0 0 5 0\n");
    wait_and_tick(source);
    assert_int_equal(find("disk sda", "read")->points, points);
    put_file("diskstats", "8 0 sda 2 0 2010 0 1 0 10 0 0 5 0\n");
    wait_and_tick(source);
    assert_rate(last("disk sda", "read"), 2000 * 512, 1);
    /* unplugged: the series ends with 0, and continues when it comes back */
    put_file("diskstats", "\n");
    wait_and_tick(source);
    assert_true(last("disk sda", "read") == 0);
    put_file("diskstats", "8 0 sda 2 0 2010 0 1 0 10 0 0 5 0\n");
    wait_and_tick(source);
    put_file("diskstats", "8 0 sda 2 0 3010 0 1 0 10 0 0 5 0\n");
    wait_and_tick(source);
    assert_rate(last("disk sda", "read"), 1000 * 512, 1);
    end(source);
}

static void networks_show_when_they_carry_something(void **state)
{
    (void)state;
    put_file("net/dev", "lo: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
                        "eth0: 4294967000 10 0 0 0 0 0 0 500 5 0 0 0 0 0 0\n"
                        "ifb0: 5 5 5 5 5 5 5 5 5 5 5 5 5 5 5 5\n");
    void *source = begin();
    assert_int_equal(sink.series_count, 0);
    put_file("net/dev", "lo: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
                        "eth0: 704 20 0 3 0 0 0 0 500 5 0 0 0 0 0 0\n" /* wrapped: 1,000 */
                        "ifb0: 5 5 5 5 5 5 5 5 5 5 5 5 5 5 5 5\n");
    wait_and_tick(source);
    assert_rate(last("net eth0", "received"), 1000, 1);
    assert_rate(last("net eth0", "packets received"), 10, 1);
    assert_rate(last("net eth0", "receive drops"), 3, 1);
    assert_true(last("net eth0", "sent") == 0);
    assert_null(find("net eth0", "receive errors"));
    assert_null(find("net lo", "received"));
    assert_null(find("net ifb0", "received"));
    end(source);
}

static char many[400 * 1024];

static void list_interfaces(int count, int bytes)
{
    size_t length = 0;
    for (int i = 0; i < count; i++) {
        length += (size_t)snprintf(many + length, sizeof many - length,
                                   "veth%05x: %d 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n", i, bytes);
    }
    put_file("net/dev", many);
}

static void thousands_of_interfaces_are_bounded_and_counted(void **state)
{
    (void)state;
    char reason[SS_SOURCE_REASON_BYTES];
    list_interfaces(2000, 5);
    void *source = begin();
    list_interfaces(2000, 6);
    wait_and_tick(source);
    assert_int_equal(sink.series_count, 4 * 256);
    assert_non_null(find("net veth000ff", "received"));
    list_interfaces(5, 7); /* most of them are gone */
    wait_and_tick(source);
    assert_true(last("net veth00004", "received") > 0);
    assert_true(last("net veth00005", "received") == 0);
    ss_source_host.stop(source, manual.now.monotonic_ns, reason);
    assert_non_null(strstr(reason, "1744 devices left out"));
}

static void limits_of_the_container(void **state)
{
    (void)state;
    char text[256];
    make_folder("g");
    put_file("loadavg", "1 2 3 4/5 6\n");
    put_file("self/cgroup", "0::/g\n");
    snprintf(text, sizeof text, "29 23 0:26 / %s rw - cgroup2 cgroup2 rw\n", root);
    put_file("self/mountinfo", text);
    put_file("g/cpu.max", "150000 100000\n");
    put_file("g/cpu.stat", "usage_usec 1000\nthrottled_usec 500\n");
    put_file("g/memory.max", "1073741824\n");
    put_file("g/memory.current", "4096\n");
    void *source = begin();
    assert_true(last("container", "CPU limit") == 150);
    assert_true(last("container", "memory limit") == 1073741824);
    assert_true(last("container", "memory used") == 4096);
    put_file("g/cpu.stat", "usage_usec 31000\nthrottled_usec 3500\n");
    wait_and_tick(source);
    assert_rate(last("container", "CPU used"), 3, 1); /* 30 ms, in per cent of a core */
    assert_rate(last("container", "CPU throttled"), 0.3, 1);
    end(source);
}

/* --- processes -------------------------------------------------------------------------------- */

enum { FAKE_PID = 5000000, MOST_PROCESSES = 200 };
static pid_t pids[MOST_PROCESSES];
static int pid_count;

static void each_pid(void *context, void (*visit)(void *visitor, pid_t pid, uint32_t ref),
                     void *visitor)
{
    (void)context;
    for (int i = 0; i < pid_count; i++) {
        visit(visitor, pids[i], (uint32_t)i + 1);
    }
}

static const struct series *of_process(uint32_t ref, const char *name)
{
    for (uint32_t i = 1; i <= sink.series_count; i++) {
        if (sink.series[i].process_ref == ref && strcmp(sink.series[i].name, name) == 0) {
            return &sink.series[i];
        }
    }
    return NULL;
}

/* Works for 60 ms of CPU time, writes 100,000 bytes, reports that, and ends on request. */
static pid_t start_worker(int *done, int *finish)
{
    int up[2] = {-1, -1}, down[2] = {-1, -1};
    assert_true(pipe(up) == 0 && pipe(down) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        static char block[100000];
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when the test fails */
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        while (ss_clock_process_cpu_ns() < UINT64_C(60000000)) {
        }
        bool wrote = write(null, block, sizeof block) > 0 && write(up[1], "x", 1) == 1;
        _exit(wrote && read(down[0], block, 1) == 1 ? 0 : 1);
    }
    assert_true(pid > 0);
    close(up[1]);
    close(down[0]);
    *done = up[0];
    *finish = down[1];
    return pid;
}

/* A sanitizer has threads of its own. */
static int threads_of(pid_t pid)
{
    char path[64];
    int count = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        count += entry->d_name[0] != '.';
    }
    closedir(folder);
    return count;
}

static void a_process_that_begins_now_is_whole_and_ends_with_zeros(void **state)
{
    (void)state;
    char byte;
    int done, finish;
    proc_root = "/proc";
    manual_clock_set_to_system(&manual);
    began_ns = manual.now.monotonic_ns;
    each_process = each_pid;
    pids[0] = start_worker(&done, &finish);
    pid_count = 1;
    assert_int_equal(read(done, &byte, 1), 1);
    manual_clock_set_to_system(&manual);
    void *source = begin();
    const struct series *cpu = of_process(1, "CPU");
    assert_non_null(cpu); /* at the first reading: it used all of it since the recording began */
    double seconds = (double)(manual.now.monotonic_ns - began_ns) / 1e9;
    /* 60 ms, in per cent of a core, within the rounding of the rate */
    assert_true(cpu->last * seconds > 5.9 - 0.06 * seconds);
    assert_true(of_process(1, "written by calls")->last * seconds > 90000);
    assert_true(of_process(1, "resident memory")->last > 0);
    assert_true(of_process(1, "threads")->last == threads_of((pid_t)pids[0]));
    assert_int_equal(write(finish, "x", 1), 1);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pids[0], &info, WEXITED | WNOWAIT), 0);
    ss_source_host.process_ending(source, pids[0], manual.now.monotonic_ns);
    assert_true(of_process(1, "resident memory")->last == 0);
    assert_true(of_process(1, "CPU")->last == 0);
    size_t points = of_process(1, "threads")->points;
    waitpid(pids[0], NULL, 0);
    pid_count = 0;
    wait_and_tick(source);
    assert_int_equal(of_process(1, "threads")->points, points);
    end(source);
    close(done);
    close(finish);
}

static void a_process_that_was_there_before_has_levels_first(void **state)
{
    (void)state;
    proc_root = "/proc";
    manual_clock_set_to_system(&manual);
    began_ns = manual.now.monotonic_ns;
    each_process = each_pid;
    pids[0] = getppid(); /* older than this test */
    pid_count = 1;
    void *source = begin();
    assert_non_null(of_process(1, "threads"));
    assert_null(of_process(1, "CPU"));
    wait_and_tick(source);
    assert_non_null(of_process(1, "CPU"));
    assert_true(of_process(1, "CPU")->last < 10000);
    uint64_t ended_ns = manual.now.monotonic_ns;
    end(source); /* what it had held until then */
    assert_true(of_process(1, "threads")->last > 0);
    assert_true(of_process(1, "threads")->last_ns >= ended_ns);
}

static void put_process(pid_t pid, int start, int faults)
{
    char name[64], text[256];
    snprintf(name, sizeof name, "%d/stat", (int)pid);
    snprintf(text, sizeof text,
             "%d (x) S 1 1 1 0 -1 0 %d 0 0 0 0 0 0 0 20 0 1 0 %d 3133440 10 1 1\n", (int)pid,
             faults, start);
    put_file(name, text);
}

static void an_id_that_is_used_again_is_another_process(void **state)
{
    (void)state;
    char name[32];
    each_process = each_pid;
    pid_count = 150; /* more than have their files kept open */
    put_file("loadavg", "1 2 3 4/5 6\n");
    for (int i = 0; i < pid_count; i++) {
        pids[i] = FAKE_PID + i;
        snprintf(name, sizeof name, "%d", (int)pids[i]);
        make_folder(name);
        put_process(pids[i], 100, 0);
    }
    void *source = begin();
    put_process(pids[148], 100, 10);
    put_process(pids[149], 101, 10);
    wait_and_tick(source);
    assert_rate(of_process(149, "minor faults")->last, 10, 1);
    assert_null(of_process(150, "minor faults"));
    end(source);
}

static void put_switches(int turn)
{
    char name[64], text[128];
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "%d/task/%d/status", FAKE_PID, FAKE_PID + i);
        snprintf(text, sizeof text,
                 "Name: x\nvoluntary_ctxt_switches:\t%d\nnonvoluntary_ctxt_switches:\t0\n",
                 turn * 10);
        put_file(name, text);
    }
}

static void switches_of_many_threads_are_summed_in_turns(void **state)
{
    (void)state;
    char name[64];
    each_process = each_pid;
    pids[0] = FAKE_PID;
    pid_count = 1;
    put_file("loadavg", "1 2 3 4/5 6\n");
    snprintf(name, sizeof name, "%d", FAKE_PID);
    make_folder(name);
    snprintf(name, sizeof name, "%d/task", FAKE_PID);
    make_folder(name);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "%d/task/%d", FAKE_PID, FAKE_PID + i);
        make_folder(name);
    }
    put_process(FAKE_PID, 100, 0);
    put_switches(0);
    void *source = begin();
    for (int turn = 1; turn <= 6; turn++) {
        put_switches(turn);
        wait_and_tick(source);
    }
    /* 10 a turn each; a tick reads 64 threads, so that each is read in every second one */
    assert_rate(of_process(1, "voluntary switches")->last, 100 * 10, 1);
    assert_true(of_process(1, "involuntary switches")->last == 0);
    end(source);
}

static void put_thread(int number, int switches)
{
    char name[64], text[96];
    snprintf(name, sizeof name, "%d/task/%d/status", FAKE_PID, FAKE_PID + number);
    snprintf(text, sizeof text, "voluntary_ctxt_switches: %d\nnonvoluntary_ctxt_switches: 0\n",
             switches);
    put_file(name, text);
}

/* Their number stays the same, so they are not listed at each tick. */
static void a_thread_that_takes_another_ones_place_is_seen(void **state)
{
    (void)state;
    char name[64], gone[128], added[128];
    each_process = each_pid;
    pids[0] = FAKE_PID;
    pid_count = 1;
    put_file("loadavg", "1 2 3 4/5 6\n");
    snprintf(name, sizeof name, "%d", FAKE_PID);
    make_folder(name);
    snprintf(name, sizeof name, "%d/task", FAKE_PID);
    make_folder(name);
    snprintf(name, sizeof name, "%d/task/%d", FAKE_PID, FAKE_PID);
    make_folder(name);
    put_process(FAKE_PID, 100, 0);
    put_thread(0, 0);
    void *source = begin();
    wait_and_tick(source);
    assert_true(of_process(1, "voluntary switches")->last == 0);
    snprintf(gone, sizeof gone, "%s/%d/task/%d", root, FAKE_PID, FAKE_PID);
    snprintf(added, sizeof added, "%s/%d/task/%d", root, FAKE_PID, FAKE_PID + 1);
    assert_int_equal(rename(gone, added), 0);
    put_thread(1, 1000);
    for (int turn = 0; turn < 4; turn++) {
        wait_and_tick(source);
        put_thread(1, 2000 + turn * 1000); /* also when it is seen late, it has a rate */
    }
    assert_true(of_process(1, "voluntary switches")->last > 0);
    end(source);
}

static void steady_ticks_allocate_nothing(void **state)
{
    (void)state;
    proc_root = "/proc";
    each_process = each_pid;
    pids[0] = getpid();
    pid_count = 1;
    void *source = begin();
    wait_and_tick(source);
    /* A busy machine may have a device that wakes up: one tick of a few must be quiet. */
    bool quiet = false;
    for (int turn = 0; turn < 10 && !quiet; turn++) {
        struct mallinfo2 before = mallinfo2();
        wait_and_tick(source);
        quiet = mallinfo2().uordblks == before.uordblks;
    }
    assert_true(quiet);
    end(source);
}

static void nothing_to_read_is_reported(void **state)
{
    (void)state;
    char reason[SS_SOURCE_REASON_BYTES];
    assert_null(open_source(reason));
    assert_non_null(strstr(reason, "nothing can be read in"));
    struct ss_source_setup setup = {.proc_root = root, .sys_root = sys_root};
    assert_int_equal(ss_source_host.probe(&setup, reason), SS_SOURCE_NOT_AVAILABLE);
    void *source = NULL;
    assert_int_equal(ss_source_host.start(&setup, &source, reason), SS_SOURCE_NOT_REQUESTED);
    assert_null(source); /* interval 0 */
    assert_string_equal(reason, "--host-interval 0");
    put_file("loadavg", "1 2 3 4/5 6\n");
    assert_int_equal(ss_source_host.probe(&setup, reason), SS_SOURCE_LIMITED);
    assert_non_null(strstr(reason, "load; not available: CPU, pressure, memory, paging, disks"));
}

static void the_beat_is_kept(void **state)
{
    (void)state;
    char reason[SS_SOURCE_REASON_BYTES];
    put_file("loadavg", "1 2 3 4/5 6\n");
    void *source = open_source(reason);
    assert_non_null(source);
    uint64_t first_ns = ss_source_host.tick(source, 0); /* when the first is due */
    uint64_t next_ns = ss_source_host.tick(source, first_ns + interval_ns / 2);
    assert_int_equal(next_ns, first_ns + interval_ns);
    assert_int_equal(ss_source_host.tick(source, next_ns - 1), next_ns);
    next_ns = ss_source_host.tick(source, first_ns + 10 * interval_ns + 1); /* we were stopped */
    assert_int_equal(next_ns, first_ns + 11 * interval_ns);
    end(source);
}

/* --- energy ----------------------------------------------------------------------------------- */

static void put_domain(const char *folder, const char *name, const char *energy_uj)
{
    char path[128];
    snprintf(path, sizeof path, "sys/class/powercap/%s", folder);
    make_folder(path);
    snprintf(path, sizeof path, "sys/class/powercap/%s/name", folder);
    put_file(path, name);
    snprintf(path, sizeof path, "sys/class/powercap/%s/max_energy_range_uj", folder);
    put_file(path, "10000000\n");
    snprintf(path, sizeof path, "sys/class/powercap/%s/energy_uj", folder);
    put_file(path, energy_uj);
}

/* Power is that of each domain; energy only where no other domain includes it. */
static void energy_wraps_and_is_counted_once(void **state)
{
    (void)state;
    put_file("loadavg", "0.00 0.00 0.00 1/2 3\n");
    make_folder("sys");
    make_folder("sys/class");
    make_folder("sys/class/powercap");
    put_domain("intel-rapl:1", "package-1\n", "9400000\n");
    put_domain("intel-rapl:1:0", "core\n", "100\n");
    put_domain("intel-rapl:1:1", "dram\n", "5\n");
    put_domain("intel-rapl-mmio:1", "package-1\n", "1\n");
    void *source = begin();
    put_file("sys/class/powercap/intel-rapl:1/energy_uj", "2400000\n");
    put_file("sys/class/powercap/intel-rapl:1:0/energy_uj", "600100\n");
    put_file("sys/class/powercap/intel-rapl:1:1/energy_uj", "150005\n");
    wait_and_tick(source);
    assert_rate(last("power package-1", "power, average"), 3, 1);
    assert_rate(last("power package-1 core", "power, average"), 0.6, 1);
    assert_true(last("power package-1", "energy since start") == 3);
    assert_true(last("power package-1 dram", "energy since start") == 0.15);
    assert_null(find("power package-1 core", "energy since start"));
    assert_string_equal(find("power package-1", "energy since start")->unit, "J");
    for (uint32_t i = 1; i <= sink.group_count; i++) {
        assert_null(strstr(sink.groups[i], "mmio"));
    }
    end(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(shares_of_cpu_time_add_up),
        TEST(cores_go_and_come_back),
        TEST(a_stat_file_that_never_changes_has_no_values),
        TEST(memory_load_and_pressure),
        TEST(disks_by_rule_rate_and_reset),
        TEST(networks_show_when_they_carry_something),
        TEST(thousands_of_interfaces_are_bounded_and_counted),
        TEST(energy_wraps_and_is_counted_once),
        TEST(limits_of_the_container),
        TEST(a_process_that_begins_now_is_whole_and_ends_with_zeros),
        TEST(a_process_that_was_there_before_has_levels_first),
        TEST(an_id_that_is_used_again_is_another_process),
        TEST(switches_of_many_threads_are_summed_in_turns),
        TEST(a_thread_that_takes_another_ones_place_is_seen),
        TEST(steady_ticks_allocate_nothing),
        TEST(nothing_to_read_is_reported),
        TEST(the_beat_is_kept),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
