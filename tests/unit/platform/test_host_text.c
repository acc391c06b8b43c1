/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's texts, as many kernels write them, and what is not such a text at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "platform/cgroup.h"
#include "platform/counter_step.h"
#include "platform/host_cpu.h"
#include "platform/host_devices.h"
#include "platform/host_facts.h"
#include "platform/host_memory.h"
#include "platform/process_usage.h"

static struct ss_strview view(const char *text)
{
    return ss_strview_of(text);
}

static void cpu_rows_of_many_kernels(void **state)
{
    (void)state;
    struct ss_cpu_times rows[8];
    /* 6.x: ten columns; core 1 is offline */
    assert_int_equal(3, ss_host_cpu_parse(view("cpu  28739 3333 8720 72018 910 5 180 21 7 1\n"
                                               "cpu0 9584 1460 3752 41920 212 0 25 7 0 0\n"
                                               "cpu2 19154 1873 4967 30098 697 0 155 13 0 0\n"
                                               "intr 534298 0 0 0\nctxt 1064639\n"),
                                          rows, 8));
    assert_int_equal(rows[0].number, -1);
    assert_int_equal(rows[0].ticks[SS_CPU_USER], 28739);
    assert_int_equal(rows[0].ticks[SS_CPU_GUEST_NICE], 1);
    assert_int_equal(rows[1].number, 0);
    assert_int_equal(rows[2].number, 2);
    assert_int_equal(rows[2].ticks[SS_CPU_STEAL], 13);
    /* 2.4: four columns, and no column after them */
    assert_int_equal(1, ss_host_cpu_parse(view("cpu  10 20 30 40\ndisk 0"), rows, 8));
    assert_int_equal(rows[0].ticks[SS_CPU_IDLE], 40);
    assert_int_equal(rows[0].ticks[SS_CPU_STEAL], 0);
    /* 2.6.11: steal, no guest */
    assert_int_equal(1, ss_host_cpu_parse(view("cpu0 1 2 3 4 5 6 7 8"), rows, 8));
    assert_int_equal(rows[0].ticks[SS_CPU_STEAL], 8);
    assert_int_equal(rows[0].ticks[SS_CPU_GUEST], 0);
}

static void cpu_rows_beyond_the_room_are_counted(void **state)
{
    (void)state;
    char text[4096] = "cpu 1 1 1 1\n";
    for (int i = 0; i < 100; i++) {
        size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, "cpu%d 1 2 3 4\n", i);
    }
    struct ss_cpu_times rows[4];
    assert_int_equal(101, ss_host_cpu_parse(view(text), rows, 4));
    assert_int_equal(rows[3].number, 2);
}

static void what_is_no_cpu_row_is_none(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "\n",
                                        "cpu",
                                        "cpu0 1 2 3\n",
                                        "cpux 1 2",
                                        "cpu-1 1 2 3 4",
                                        "cp 1 2 3 4",
                                        "intr 1 2 3 4",
                                        "cpu99999999999999999999 1 2 3 4"};
    struct ss_cpu_times rows[2];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(0, ss_host_cpu_parse(view(texts[i]), rows, 2));
    }
    assert_int_equal(0, ss_host_cpu_parse(view("cpu 5 -1 2 3 4"), rows, 2));
    assert_int_equal(1, ss_host_cpu_parse(view("cpu 99999999999999999999999 1 2 3"), rows, 2));
    assert_true(rows[0].ticks[SS_CPU_USER] == UINT64_MAX);
}

static void load_and_pressure(void **state)
{
    (void)state;
    struct ss_host_load load;
    assert_true(ss_host_load_parse(view("3.05 1.31 0.56 10/140 22183\n"), &load));
    assert_true(load.one > 3.0499 && load.one < 3.0501 && load.fifteen > 0.5599);
    assert_int_equal(load.runnable, 10);
    assert_int_equal(load.tasks, 140);
    assert_false(ss_host_load_parse(view("3.05 1.31"), &load));
    assert_false(ss_host_load_parse(view("a b c d/e"), &load));
    assert_false(ss_host_load_parse(view("1 2 3 4"), &load));

    struct ss_host_pressure pressure;
    assert_true(
        ss_host_pressure_parse(view("some avg10=73.78 avg60=25.17 avg300=8.72 total=40607104\n"
                                    "full avg10=0.00 avg60=0.00 avg300=0.00 total=17\n"),
                               &pressure));
    assert_true(pressure.has_some && pressure.has_full);
    assert_int_equal(pressure.some_us, 40607104);
    assert_int_equal(pressure.full_us, 17);
    /* cpu before 5.13 has no "full", irq no "some" */
    assert_true(ss_host_pressure_parse(view("some avg10=0 total=5"), &pressure));
    assert_true(pressure.has_some && !pressure.has_full);
    assert_false(ss_host_pressure_parse(view("some avg10=1 total=x\nfull total="), &pressure));
    assert_false(ss_host_pressure_parse(view(""), &pressure));
}

static void memory_of_old_and_new_kernels(void **state)
{
    (void)state;
    struct ss_host_memory memory;
    assert_true(ss_host_memory_parse(view("MemTotal:       24684092 kB\n"
                                          "MemFree:        23470464 kB\n"
                                          "MemAvailable:   24168896 kB\n"
                                          "Buffers:           21388 kB\n"
                                          "Cached:           822756 kB\n"
                                          "SwapCached:            3 kB\n"
                                          "SwapTotal:          1000 kB\n"
                                          "SwapFree:            400 kB\n"
                                          "Dirty:              5580 kB\n"
                                          "Shmem:              8856 kB\n"
                                          "SReclaimable:     150120 kB\n"),
                                     &memory));
    assert_int_equal(memory.total_bytes, UINT64_C(24684092) * 1024);
    assert_int_equal(memory.available_bytes, UINT64_C(24168896) * 1024);
    assert_int_equal(memory.cached_bytes, (UINT64_C(21388) + 822756 + 150120) * 1024);
    assert_int_equal(memory.swap_total_bytes - memory.swap_free_bytes, 600 * 1024);
    /* 3.10 does not publish the available memory */
    assert_true(ss_host_memory_parse(view("MemTotal: 1000 kB\nMemFree: 100 kB\nBuffers: 10 kB\n"
                                          "Cached: 200 kB\nSReclaimable: 5 kB\n"),
                                     &memory));
    assert_int_equal(memory.available_bytes, 315 * 1024);
    /* more than there is, and numbers without an end */
    assert_true(ss_host_memory_parse(view("MemTotal: 10 kB\nMemFree: 99999999999999999999999 kB\n"
                                          "Cached: 18446744073709551615 kB\nSwapFree: 5 kB\n"),
                                     &memory));
    assert_int_equal(memory.free_bytes, 10 * 1024);
    assert_int_equal(memory.available_bytes, 10 * 1024);
    assert_int_equal(memory.swap_free_bytes, 0);
    assert_false(ss_host_memory_parse(view("MemTotal: kB\nMemFree: 1 kB"), &memory));
    assert_false(ss_host_memory_parse(view(""), &memory));

    struct ss_host_paging paging;
    assert_true(
        ss_host_paging_parse(view("pgpgin 5\npswpin 7\npswpout 9\npgmajfault 11\n"), &paging));
    assert_true(paging.has_swap && paging.has_faults);
    assert_int_equal(paging.pages_in, 7);
    assert_int_equal(paging.major_faults, 11);
    assert_true(ss_host_paging_parse(view("pgmajfault 11"), &paging)); /* built without swap */
    assert_false(paging.has_swap);
    assert_false(ss_host_paging_parse(view("pgmajfault\n\n \n"), &paging));
}

static void disks_of_many_kernels(void **state)
{
    (void)state;
    struct ss_disk_counters disk;
    struct ss_strview text = view(
        "   8    0 sda 446216 784926 9550688 4382310 424847 312726 5922052 19310380 0 3376340 "
        "23705160\n"                               /* 2.6.25 */
        "   8    1 sda1 35486 38030 38030 38030\n" /* 2.6.18: a partition has four */
        "garbage\n\n 8 x sdb 1 2 3\n"
        " 104    0 cciss/c0d0 1 2 3 4 5 6 7 8 9 10 11\n"
        " 254       0 vda 81961 21123 7114618 57755 58489 49240 5858448 21193 0 15980 81596 18342 "
        "46 671968 2168 9949 478\n"); /* 6.18 */
    struct ss_text_scan rows = ss_text_scan_of(text);
    assert_true(ss_host_disk_next(&rows, &disk));
    assert_string_equal(disk.name, "sda");
    assert_int_equal(disk.reads, 446216);
    assert_int_equal(disk.read_sectors, 9550688);
    assert_int_equal(disk.writes, 424847);
    assert_int_equal(disk.written_sectors, 5922052);
    assert_int_equal(disk.busy_ms, 3376340);
    assert_true(ss_host_disk_next(&rows, &disk));
    assert_string_equal(disk.name, "cciss/c0d0");
    assert_true(ss_host_disk_next(&rows, &disk));
    assert_string_equal(disk.name, "vda");
    assert_int_equal(disk.busy_ms, 15980);
    assert_false(ss_host_disk_next(&rows, &disk));

    static const char *const no_disks[] = {"loop0", "ram3", "zram0", "sr0", "fd0"};
    static const char *const parts[] = {"sda1", "vda12", "xvdb3", "nvme0n1p2", "mmcblk0p1", "hda3"};
    static const char *const wholes[] = {"sda",  "vda",  "nvme0n1", "mmcblk0", "dm-0", "md127",
                                         "nbd4", "sdaa", "loop",    "p1",      "1"};
    for (size_t i = 0; i < sizeof no_disks / sizeof *no_disks; i++) {
        assert_false(ss_host_disk_is_disk(no_disks[i]));
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        assert_true(ss_host_disk_is_part(parts[i]));
    }
    for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++) {
        assert_false(ss_host_disk_is_part(wholes[i]));
        assert_true(ss_host_disk_is_disk(wholes[i]));
    }
}

static void networks_with_and_without_blanks(void **state)
{
    (void)state;
    struct ss_network_counters network;
    struct ss_strview text = view(
        "Inter-|   Receive                                                |  Transmit\n"
        " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs "
        "drop fifo colls carrier compressed\n"
        "    lo: 12699001    6080    0    0    0     0          0         0 12699001    6080    0 "
        "   0    0     0       0          0\n"
        "  eth0:4294967295 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
        "  cut0: 1 2 3\n: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
        "a-name-that-is-far-too-long-for-an-interface: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n");
    struct ss_text_scan rows = ss_text_scan_of(text);
    assert_true(ss_host_network_next(&rows, &network));
    assert_string_equal(network.name, "lo");
    assert_int_equal(network.values[SS_NET_RX_BYTES], 12699001);
    assert_int_equal(network.values[SS_NET_TX_PACKETS], 6080);
    assert_true(ss_host_network_next(&rows, &network));
    assert_string_equal(network.name, "eth0");
    static const uint64_t values[] = {4294967295, 2, 3, 4, 9, 10, 11, 12};
    assert_memory_equal(network.values, values, sizeof values);
    assert_false(ss_host_network_next(&rows, &network));
}

static void usage_of_processes_with_any_name(void **state)
{
    (void)state;
    struct ss_process_usage usage;
    assert_true(ss_process_usage_parse(
        view("22186 (a) R (b\n) S 1 22169 10281 0 -1 4194304 102 7 3 0 11 12 0 0 20 0 5 0 57479 "
             "3133440 408 18446744073709551615 1 1"),
        &usage));
    assert_int_equal(usage.state, 'S');
    assert_int_equal(usage.minor_faults, 102);
    assert_int_equal(usage.major_faults, 3);
    assert_int_equal(usage.user_ticks, 11);
    assert_int_equal(usage.system_ticks, 12);
    assert_int_equal(usage.threads, 5);
    assert_int_equal(usage.start_time_ticks, 57479);
    assert_int_equal(usage.rss_pages, 408);
    assert_false(ss_process_usage_parse(view(""), &usage));
    assert_false(ss_process_usage_parse(view("1 (x"), &usage));
    assert_false(ss_process_usage_parse(view("1 (x) S 1 2 3"), &usage));
    assert_false(ss_process_usage_parse(view("1 (x) S a b c d e f g h i j k l m n o p q r s t u v"),
                                        &usage));

    struct ss_process_io io;
    assert_true(ss_process_io_parse(view("rchar: 7277\nwchar: 301\nsyscr: 12\nsyscw: 1\n"
                                         "read_bytes: 4096\nwrite_bytes: 8192\n"
                                         "cancelled_write_bytes: 0\n"),
                                    &io));
    assert_int_equal(io.read_bytes, 4096);
    assert_int_equal(io.written_call_bytes, 301);
    assert_false(ss_process_io_parse(view("rchar: 7277\n"), &io));

    struct ss_thread_switches switches;
    assert_true(ss_thread_switches_parse(view("Name:\tx y\nvoluntary_ctxt_switches:\t150\n"
                                              "nonvoluntary_ctxt_switches:\t545\n"),
                                         &switches));
    assert_int_equal(switches.voluntary, 150);
    assert_int_equal(switches.involuntary, 545);
    assert_false(ss_thread_switches_parse(view("Name:\tcat"), &switches));
}

static void counters_grow_wrap_and_are_reset(void **state)
{
    (void)state;
    uint64_t step;
    assert_true(ss_counter_step(5, 7, &step) && step == 2);
    assert_true(ss_counter_step(UINT64_C(1) << 40, (UINT64_C(1) << 40) + 9, &step) && step == 9);
    assert_true(ss_counter_step(UINT32_MAX - 9, 90, &step) && step == 100); /* wrapped */
    assert_false(ss_counter_step(1000, 10, &step));                         /* reset */
    assert_false(ss_counter_step(UINT64_C(1) << 40, 10, &step));
    assert_false(ss_counter_step(UINT32_MAX - 9, UINT32_MAX - 20, &step)); /* went back a little */
    assert_int_equal(step, 0);
}

static void folder_is(const char *cgroup, const char *mounts, const char *controller,
                      const char *wanted)
{
    struct ss_cgroup_folder folder;
    bool found = ss_cgroup_find(view(cgroup), view(mounts), controller, &folder);
    assert_int_equal(found, wanted != NULL);
    if (found) {
        assert_string_equal(folder.path, wanted);
    }
}

static void control_groups_of_all_kinds(void **state)
{
    (void)state;
    static const char two[] = "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 "
                              "rw,nsdelegate\n";
    static const char docker_one[] =
        "40 30 0:30 /docker/1f3 /sys/fs/cgroup/memory ro,nosuid master:1 - cgroup cgroup "
        "rw,memory\n"
        "41 30 0:31 /docker/1f3 /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n";
    folder_is("0::/user.slice/a\n", two, "", "/sys/fs/cgroup/user.slice/a");
    folder_is("0::/\n", two, "", "/sys/fs/cgroup");
    folder_is("0::/../b\n", two, "", "/sys/fs/cgroup"); /* outside our namespace */
    folder_is("0::/a\n", two, "memory", NULL);
    folder_is("4:memory:/docker/1f3\n3:cpu,cpuacct:/docker/1f3/sub\n", docker_one, "memory",
              "/sys/fs/cgroup/memory");
    folder_is("4:memory:/docker/1f3\n3:cpu,cpuacct:/docker/1f3/sub\n", docker_one, "cpu",
              "/sys/fs/cgroup/cpu,cpuacct/sub");
    folder_is("4:memory:/docker/1f34\n", docker_one, "memory", "/sys/fs/cgroup/memory");
    folder_is("4:memory:relative\n", docker_one, "memory", NULL);
    folder_is("::::\n0:\n\n0", "1 2 3\n- - - -\n", "", NULL);
    folder_is("0::/x", "1 2 3 / /a\\040b rw - cgroup2 none rw", "", NULL);

    struct ss_cgroup_folder folder;
    assert_true(ss_cgroup_find(view("0::/a/b\n"), view(two), "", &folder));
    assert_true(ss_cgroup_up(&folder));
    assert_string_equal(folder.path, "/sys/fs/cgroup/a");
    assert_true(ss_cgroup_up(&folder));
    assert_string_equal(folder.path, "/sys/fs/cgroup");
    assert_false(ss_cgroup_up(&folder));
}

static void limits_of_control_groups(void **state)
{
    (void)state;
    double cores = 0;
    uint64_t bytes;
    struct ss_cgroup_cpu cpu;
    assert_true(ss_cgroup_parse_cpu_max(view("250000 100000\n"), &cores) && cores == 2.5);
    assert_false(ss_cgroup_parse_cpu_max(view("max 100000\n"), &cores));
    assert_false(ss_cgroup_parse_cpu_max(view("100000 0\n"), &cores));
    assert_false(ss_cgroup_parse_cpu_max(view(""), &cores));
    assert_true(ss_cgroup_parse_cpu_quota(view("50000\n"), view("100000\n"), &cores));
    assert_true(cores == 0.5);
    assert_false(ss_cgroup_parse_cpu_quota(view("-1\n"), view("100000\n"), &cores));
    assert_true(ss_cgroup_parse_limit(view("1073741824\n"), &bytes) && bytes == 1073741824);
    assert_false(ss_cgroup_parse_limit(view("max\n"), &bytes));
    assert_false(ss_cgroup_parse_limit(view("9223372036854771712\n"), &bytes));
    assert_true(ss_cgroup_parse_cpu_stat(view("usage_usec 11\nuser_usec 5\nnr_throttled 2\n"
                                              "throttled_usec 3\n"),
                                         &cpu));
    assert_true(cpu.has_usage && cpu.usage_ns == 11000 && cpu.throttled_ns == 3000);
    assert_true(ss_cgroup_parse_cpu_stat(view("nr_periods 1\nthrottled_time 42\n"), &cpu));
    assert_true(!cpu.has_usage && cpu.throttled_ns == 42);
    assert_false(ss_cgroup_parse_cpu_stat(view("x"), &cpu));
}

static void the_name_of_a_kernel_is_whole(void **state)
{
    (void)state;
    struct ss_host_facts facts = {0};
    struct utsname name = {
        .sysname = "Linux", .release = "6.6.114.1-microsoft-standard-WSL2", .machine = "x86_64"};
    ss_host_facts_put_kernel(&facts, &name);
    assert_string_equal(facts.kernel, "Linux 6.6.114.1-microsoft-standard-WSL2 x86_64");
    memset(name.release, 'r', sizeof name.release - 1);
    ss_host_facts_put_kernel(&facts, &name);
    assert_non_null(strstr(facts.kernel, "rr x86_64"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_name_of_a_kernel_is_whole),
        cmocka_unit_test(cpu_rows_of_many_kernels),
        cmocka_unit_test(cpu_rows_beyond_the_room_are_counted),
        cmocka_unit_test(what_is_no_cpu_row_is_none),
        cmocka_unit_test(load_and_pressure),
        cmocka_unit_test(memory_of_old_and_new_kernels),
        cmocka_unit_test(disks_of_many_kernels),
        cmocka_unit_test(networks_with_and_without_blanks),
        cmocka_unit_test(usage_of_processes_with_any_name),
        cmocka_unit_test(counters_grow_wrap_and_are_reset),
        cmocka_unit_test(control_groups_of_all_kinds),
        cmocka_unit_test(limits_of_control_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
