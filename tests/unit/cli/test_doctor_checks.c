/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/checks/doctor_checks.h"
#include "unwind/cpython_layout.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <stdlib.h>
#include <unistd.h>

static void expect(const struct ss_check *finding, enum ss_check_result verdict, const char *text,
                   const char *fix)
{
    assert_int_equal(finding->verdict, verdict);
    if (strstr(finding->text, text) == NULL || strstr(finding->fix, fix) == NULL) {
        print_message("text: %s\nfix: %s\n", finding->text, finding->fix);
        fail();
    }
    /* What does not work has a fix; what works needs none. */
    assert_true(verdict != SS_CHECK_NO || finding->fix[0] != '\0');
    assert_true(verdict != SS_CHECK_OK || finding->fix[0] == '\0');
}

static struct ss_ptrace_facts of_same_user(int read_errno)
{
    struct ss_ptrace_facts facts = {
        .target_known = true, .target_exists = true, .read_errno = read_errno, .yama_scope = 1};
    facts.target.has_memory = true;
    return facts;
}

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void test_counters_of_gpus(void **state)
{
    (void)state;
    struct ss_check finding;
    struct ss_host_facts host = {.cores = 1};
    struct ss_nvidia_driver driver;
    char folder[] = "/tmp/stepscope-driver-XXXXXX", path[300];
    assert_non_null(mkdtemp(folder));
    ss_nvidia_driver_read(folder, &driver);
    ss_check_gpu_counters(&driver, &host, &finding);
    expect(&finding, SS_CHECK_FACT, "no driver", "");
    write_text(folder, "version",
               "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release\n");
    ss_nvidia_driver_read(folder, &driver);
    assert_int_equal(driver.release, 580);
    ss_check_gpu_counters(&driver, &host, &finding);
    expect(&finding, SS_CHECK_FACT, "not readable", "");
    write_text(folder, "params", "EnableMSI: 1\nRmProfilingAdminOnly: 1\n");
    ss_nvidia_driver_read(folder, &driver);
    ss_check_gpu_counters(&driver, &host, &finding);
    expect(&finding, SS_CHECK_LIMITED, "administrators only", "NVreg_RestrictProfiling");
    host.self.cap_effective = UINT64_C(1) << SS_CAP_PERFMON;
    ss_check_gpu_counters(&driver, &host, &finding);
    expect(&finding, SS_CHECK_OK, "which this process is", "");
    driver.release = 550;
    ss_check_gpu_counters(&driver, &host, &finding);
    expect(&finding, SS_CHECK_LIMITED, "administrators only", "CAP_SYS_ADMIN");
    write_text(folder, "params", "RmProfilingAdminOnly: 0\n");
    ss_nvidia_driver_read(folder, &driver);
    ss_check_gpu_counters(&driver, &host, &finding);
    expect(&finding, SS_CHECK_OK, "every user", "");
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, i == 0 ? "version" : "params");
        unlink(path);
    }
    rmdir(folder);
}

static void test_record_and_attach(void **state)
{
    (void)state;
    struct ss_check finding;
    struct ss_host_facts host = {.cores = 1};
    struct ss_ptrace_facts readable = of_same_user(0), refused = of_same_user(EPERM);
    ss_check_record(&readable, true, &finding);
    expect(&finding, SS_CHECK_OK, "child", "");
    ss_check_record(NULL, false, &finding);
    expect(&finding, SS_CHECK_NO, "no child process", "ulimit -u");
    ss_check_attach(&refused, true, &host, &finding);
    expect(&finding, SS_CHECK_LIMITED, "another process of yours", "stepscope record --");
    ss_check_attach(&readable, true, &host, &finding);
    expect(&finding, SS_CHECK_OK, "your own user", "");
    host.self.cap_effective = UINT64_C(1) << SS_CAP_SYS_PTRACE;
    ss_check_attach(&readable, true, &host, &finding);
    expect(&finding, SS_CHECK_OK, "every user", "");
    refused.self_read_refused = true;
    ss_check_record(&refused, true, &finding);
    expect(&finding, SS_CHECK_NO, "seccomp", "sandbox");
}

static void add(struct ss_python_installs *list, int minor, int pid)
{
    struct ss_python_install python = {.major = 3, .minor = minor, .pid = pid};
    ss_vec_push(list, python);
}

static void test_pythons(void **state)
{
    (void)state;
    struct ss_python_installs installed = {0}, running = {0};
    struct ss_check finding;
    ss_check_python(&installed, &running, &finding);
    expect(&finding, SS_CHECK_LIMITED, "no CPython 3.8 to 3.15 found", "PATH");
    add(&running, 12, 77);
    ss_check_python(&installed, &running, &finding);
    expect(&finding, SS_CHECK_OK, "running: 3.12 (process 77)", "");
    add(&installed, 7, 0);
    add(&installed, 11, 0);
    add(&installed, 11, 0);
    ss_check_python(&installed, &running, &finding);
    expect(&finding, SS_CHECK_OK,
           "CPython 3.11; running: 3.12 (process 77); cannot be recorded: 3.7", "");
    for (int pid = 100; pid < 200; pid++) {
        add(&running, 13, pid);
    }
    ss_check_python(&installed, &running, &finding);
    expect(&finding, SS_CHECK_OK, "(process 101) and 98 more; cannot be", "");
    ss_vec_fini(&installed);
    ss_vec_fini(&running);
}

/* What is said to be recordable is what the sampler has a layout for. */
static void test_python_versions(void **state)
{
    (void)state;
    for (int minor = 0; minor < 30; minor++) {
        struct ss_python_installs installed = {0}, running = {0};
        struct ss_check finding;
        add(&installed, minor, 0);
        ss_check_python(&installed, &running, &finding);
        bool is_readable = ss_cpython_layout_next(NULL, (uint16_t)(3 << 8 | minor)) != NULL;
        assert_int_equal(is_readable, minor >= 8 && minor <= 15);
        expect(&finding, is_readable ? SS_CHECK_OK : SS_CHECK_LIMITED,
               is_readable ? "CPython 3." : "no CPython 3.8 to 3.15 found; cannot be recorded: 3.",
               is_readable ? "" : "PATH");
        ss_vec_fini(&installed);
    }
}

static void test_children(void **state)
{
    (void)state;
    struct ss_check finding;
    struct ss_host_facts host = {.perf_known = true, .perf_paranoid = 3};
    ss_check_children(&host, &finding);
    expect(&finding, SS_CHECK_OK, "every new process", "");
    host.perf_errno = EACCES;
    ss_check_children(&host, &finding);
    expect(&finding, SS_CHECK_LIMITED, "perf_event_paranoid is 3", "perf_event_paranoid=2");
    host.perf_paranoid = 2;
    host.self.seccomp = 2;
    ss_check_children(&host, &finding);
    expect(&finding, SS_CHECK_LIMITED, "seccomp filter", "--cap-add=PERFMON");
    host.perf_known = false;
    host.perf_errno = ENOSYS;
    ss_check_children(&host, &finding);
    expect(&finding, SS_CHECK_LIMITED, "no perf events", "");
}

static void test_clock(void **state)
{
    (void)state;
    struct ss_check finding;
    struct ss_host_facts host = {.clock_source = "tsc"};
    ss_check_clock(&host, &finding);
    expect(&finding, SS_CHECK_OK, "tsc", "");
    strcpy(host.clock_source, "hpet");
    ss_check_clock(&host, &finding);
    expect(&finding, SS_CHECK_LIMITED, "hpet", "clocksource=tsc");
    host.clock_source[0] = '\0';
    ss_check_clock(&host, &finding);
    expect(&finding, SS_CHECK_FACT, "does not publish", "");
}

static void test_folder(void **state)
{
    (void)state;
    struct ss_check finding;
    struct ss_folder_facts folder = {.path = "/data",
                                     .file_system = "lustre",
                                     .free_bytes = UINT64_C(5) << 30,
                                     .free_inodes = 10,
                                     .writable = true};
    ss_check_folder("this folder", &folder, &finding);
    expect(&finding, SS_CHECK_OK, "/data (lustre): 5.0 GiB free, over the network", "");
    folder.size_bytes = 101 * (UINT64_C(1) << 30);
    ss_check_folder("this folder", &folder, &finding);
    expect(&finding, SS_CHECK_LIMITED, "5.0 GiB free, less than 5 % of the disk", "-o");
    folder.size_bytes = 99 * (UINT64_C(1) << 30);
    ss_check_folder("this folder", &folder, &finding);
    expect(&finding, SS_CHECK_OK, "5.0 GiB free, over the network", "");
    folder.free_bytes = 100 << 20;
    ss_check_folder("this folder", &folder, &finding);
    expect(&finding, SS_CHECK_LIMITED, "100 MiB left", "-o");
    folder.free_inodes = 0;
    ss_check_folder("this folder", &folder, &finding);
    expect(&finding, SS_CHECK_NO, "no inode", "-o");
    folder.writable = false;
    ss_check_folder("this folder", &folder, &finding);
    expect(&finding, SS_CHECK_LIMITED, "cannot be written", "-o");
    folder.error = ENOENT;
    ss_check_folder("this folder", &folder, &finding);
    expect(&finding, SS_CHECK_NO, "No such file", "-o");
}

static void test_torch(void **state)
{
    static const char preload[] = "/usr/libexec/stepscope/preload.so";
    (void)state;
    struct ss_check finding;
    ss_check_torch(preload, true, &finding);
    expect(&finding, SS_CHECK_OK, preload, "");
    ss_check_torch("/a folder: ü/preload.so", true, &finding);
    expect(&finding, SS_CHECK_OK, "/a folder: ü/preload.so", "");
    ss_check_torch("", true, &finding);
    expect(&finding, SS_CHECK_LIMITED, "preload.so is neither", "install");
    ss_check_torch(preload, false, &finding);
    expect(&finding, SS_CHECK_LIMITED, "libstepscope", "install");
}

static void test_backends(void **state)
{
    (void)state;
    struct ss_check finding;
    const struct ss_device_backend *amd = ss_device_backend_named("rocprofiler-sdk");
    ss_check_backend(amd, "/opt/rocm/lib/librocprofiler-sdk.so.1", true, &finding);
    expect(&finding, SS_CHECK_OK, "AMD devices: /opt/rocm/lib/librocprofiler-sdk.so.1", "");
    ss_check_backend(amd, "/opt/rocm/lib/librocprofiler-sdk.so.1", false, &finding);
    expect(&finding, SS_CHECK_OK, "no driver", "");
    ss_check_backend(amd, "", true, &finding);
    expect(&finding, SS_CHECK_LIMITED, "is not found", "ROCm 6.2");
    ss_check_backend(amd, "", false, &finding);
    expect(&finding, SS_CHECK_FACT, "there is no device", "");
    ss_check_backend(ss_device_backend_named("level-zero"), "", true, &finding);
    expect(&finding, SS_CHECK_FACT, "Intel devices are not recorded: this version has no", "");
}

static void test_injection(void **state)
{
    (void)state;
    struct ss_check finding;
    ss_check_injection("/usr/lib/libstepscope.so.0", "", &finding);
    expect(&finding, SS_CHECK_OK, "/usr/lib/libstepscope.so.0", "");
    ss_check_injection("/usr/lib/libstepscope.so.0", "A_VARIABLE (x.so)", &finding);
    expect(&finding, SS_CHECK_LIMITED, "A_VARIABLE (x.so)", "unset");
    ss_check_injection("", "", &finding);
    expect(&finding, SS_CHECK_LIMITED, "libstepscope.so.0", "install");
}

static void test_build(void **state)
{
    (void)state;
    struct ss_check finding;
    ss_check_build(&(struct ss_build_parts){true, true, true}, &finding);
    expect(&finding, SS_CHECK_OK, "with all its parts", "");
    ss_check_build(&(struct ss_build_parts){false, true, false}, &finding);
    expect(&finding, SS_CHECK_LIMITED, "without the server of `stepscope view`, Open MPI",
           "libmicrohttpd-dev libopenmpi-dev");
}

static void test_facts_of_this_machine(void **state)
{
    (void)state;
    struct ss_host_facts host;
    ss_host_facts_collect(&host);
    assert_non_null(strstr(host.kernel, "Linux"));
    assert_true(host.cores >= 1);
    assert_true(host.self.has_memory);
    struct ss_folder_facts folder;
    ss_folder_facts_collect(".", &folder);
    assert_int_equal(folder.error, 0);
    assert_int_equal(folder.path[0], '/');
    ss_folder_facts_collect("/no/such/folder", &folder);
    assert_int_equal(folder.error, ENOENT);
    assert_true(ss_file_system_is_remote("nfs"));
    assert_false(ss_file_system_is_remote("ext4"));
}

static void test_version_in_name(void **state)
{
    (void)state;
    int major, minor;
    assert_true(ss_python_version_in_name("/usr/bin/python3.11", &major, &minor));
    assert_int_equal(major, 3);
    assert_int_equal(minor, 11);
    assert_true(ss_python_version_in_name("/opt/lib/libpython3.8.so.1.0", &major, &minor));
    assert_int_equal(minor, 8);
    assert_true(ss_python_version_in_name("python3.14t", &major, &minor));
    assert_true(ss_python_version_in_name("libpython3.7m.so", &major, &minor));
    assert_true(ss_python_version_in_name("/usr/bin/python3.11 (deleted)", &major, &minor));
    assert_false(ss_python_version_in_name("/usr/bin/python3.11-config", &major, &minor));
    assert_false(ss_python_version_in_name("/usr/bin/python3", &major, &minor));
    assert_false(ss_python_version_in_name("/python3.11/bin/app", &major, &minor));
    assert_false(ss_python_version_in_name("", &major, &minor));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counters_of_gpus),
        cmocka_unit_test(test_record_and_attach),
        cmocka_unit_test(test_pythons),
        cmocka_unit_test(test_python_versions),
        cmocka_unit_test(test_children),
        cmocka_unit_test(test_clock),
        cmocka_unit_test(test_folder),
        cmocka_unit_test(test_torch),
        cmocka_unit_test(test_backends),
        cmocka_unit_test(test_injection),
        cmocka_unit_test(test_build),
        cmocka_unit_test(test_facts_of_this_machine),
        cmocka_unit_test(test_version_in_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
