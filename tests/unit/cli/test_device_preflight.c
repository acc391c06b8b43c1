/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/device_preflight.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "counters/profiler.h"

static struct ss_device_probe probe;
static struct ss_preflight_finding findings[SS_PREFLIGHT_MOST];

/* A machine on which everything works. */
static struct ss_preflight_facts good(unsigned devices)
{
    probe = (struct ss_device_probe){.has_ended = true,
                                     .has_driver = true,
                                     .cuda = 13000,
                                     .devices = devices,
                                     .version = 130001,
                                     .path = "/lib/libcupti.so.13"};
    return (struct ss_preflight_facts){.has_counters = true,
                                       .knows_python = true,
                                       .has_device_file = true,
                                       .driver = {.is_loaded = true, .release = 580},
                                       .probe = &probe};
}

/* Exactly one finding, with these words. */
static void expect(const struct ss_preflight_facts *facts, bool is_certain, const char *words)
{
    size_t count = ss_preflight_judge(facts, findings);
    for (size_t i = 0; i < count; i++) {
        print_message("%d %s\n", findings[i].is_certain, findings[i].text);
    }
    assert_int_equal(count, 1);
    assert_non_null(strstr(findings[0].text, words));
    assert_int_equal(findings[0].is_certain, is_certain);
}

static void test_nothing_is_missing(void **state)
{
    (void)state;
    struct ss_preflight_facts facts = good(2);
    assert_int_equal(ss_preflight_judge(&facts, findings), 0);
    probe.version = 26; /* CUPTI 12.8 with a driver of CUDA 13 */
    assert_int_equal(ss_preflight_judge(&facts, findings), 0);
}

static void test_drivers(void **state)
{
    (void)state;
    struct ss_preflight_facts facts = good(1);
    probe.has_driver = false;
    probe.devices = 0;
    strcpy(probe.driver, "there is no driver of CUDA: libcuda.so.1");
    expect(&facts, false, "start it with --gpus all");
    facts.has_device_file = false;
    expect(&facts, true, "run on a machine with an NVIDIA device");
    facts = good(0);
    probe.driver_result = 100;
    strcpy(probe.driver, "no device");
    expect(&facts, true, "CUDA_VISIBLE_DEVICES");
    facts = good(0);
    probe.driver_result = 803;
    strcpy(probe.driver, "versions differ (CUDA's error 803)");
    expect(&facts, true, "error 803");
    facts = good(1);
    probe.cuda = 12080;
    expect(&facts, true, "the driver is too old: it knows CUDA up to 12.8");
    facts = good(1);
    memset(&probe, 0, sizeof probe);
    expect(&facts, false, "did not answer");
}

static void test_cupti(void **state)
{
    (void)state;
    struct ss_preflight_facts facts = good(1);
    probe.cupti_status = SS_E_NOTFOUND;
    strcpy(probe.cupti, "no CUPTI was found");
    expect(&facts, true, "no CUPTI was found");
    facts.knows_python = false; /* a script may set where it is */
    expect(&facts, false, "no CUPTI was found");
    probe.cupti_status = SS_E_UNSUPPORTED;
    strcpy(probe.cupti, "CUPTI 12.6 or later is needed");
    expect(&facts, true, "CUPTI 12.6");
    facts = good(1);
    strcpy(probe.metrics, "no libnvperf_host.so");
    expect(&facts, true, "no libnvperf_host.so (of /lib/libcupti.so.13)");
}

static void test_devices(void **state)
{
    (void)state;
    struct ss_preflight_facts facts = good(2);
    probe.device[0].support = SS_PROFILER_WSL;
    expect(&facts, false, "device 0: WSL");
    probe.device[1].support = SS_PROFILER_WSL;
    expect(&facts, true, "WSL");
    facts = good(2);
    probe.device[1].is_unknown = true;
    strcpy(probe.device[1].chip, "GX1");
    expect(&facts, false, "the chip GX1");
    facts = good(1);
    probe.device[0].samples = SS_PROFILER_UNSUPPORTED; /* of samples, which are not asked for */
    assert_int_equal(ss_preflight_judge(&facts, findings), 0);
    facts.has_samples = true;
    expect(&facts, true, "no such counters");
    facts = good(1);
    probe.device[0].samples = SS_PROFILER_NOT_PERMITTED;
    expect(&facts, true, "NVreg_RestrictProfilingToAdminUsers=0");
    facts = good(1);
    strcpy(probe.device[0].metrics, "GA100 has no metric");
    expect(&facts, true, "GA100 has no metric");
    facts = good(1);
    probe.device[0].is_part = true;
    expect(&facts, false, "(MIG)");
}

static void test_holders(void **state)
{
    (void)state;
    struct ss_preflight_facts facts = good(2);
    strcpy(facts.holder, "nv-hostengine (process 7)");
    expect(&facts, false, "nv-hostengine (process 7) is running, which may");
    probe.device[0].samples = probe.device[1].samples = SS_PROFILER_BUSY;
    expect(&facts, true, "nv-hostengine (process 7) is running");
    facts.is_one_of_many = true; /* a rank beside it */
    expect(&facts, false, "another program uses the device's counters");
    probe.device[0].samples = SS_PROFILER_OK;
    expect(&facts, false, "1 of 2 devices");
}

static void test_permission_by_the_module(void **state)
{
    (void)state;
    struct ss_preflight_facts facts = good(1);
    facts.driver.knows_permission = facts.driver.is_admin_only = true;
    assert_int_equal(ss_preflight_judge(&facts, findings), 0); /* CUPTI has allowed it */
    memset(&probe, 0, sizeof probe);
    assert_int_equal(ss_preflight_judge(&facts, findings), 2);
    assert_true(findings[1].is_certain);
    assert_non_null(strstr(findings[1].text, "NVreg_RestrictProfilingToAdminUsers=0"));
    facts.host.self.cap_effective = UINT64_C(1) << SS_CAP_PERFMON; /* enough since 565 */
    assert_int_equal(ss_preflight_judge(&facts, findings), 1);
}

static void test_without_counters(void **state)
{
    (void)state;
    struct ss_preflight_facts facts = good(1);
    facts.has_counters = false;
    facts.probe = NULL;
    assert_int_equal(ss_preflight_judge(&facts, findings), 0); /* it may not use a device */
    facts.has_cuda_packages = true;
    expect(&facts, false, "no CUPTI was found");
    strcpy(facts.cupti, "/env/lib/libcupti.so.13");
    assert_int_equal(ss_preflight_judge(&facts, findings), 0);
    facts.driver.release = 550;
    expect(&facts, false, "CUDA 13 needs the driver 580");
    strcpy(facts.cupti, "/env/lib/libcupti.so.12");
    assert_int_equal(ss_preflight_judge(&facts, findings), 0);
    facts.has_device_file = false;
    facts.cupti[0] = '\0';
    assert_int_equal(ss_preflight_judge(&facts, findings), 0);
}

static void put_program(const char *folder, const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0755), 0);
}

static void test_the_environment_of_python(void **state)
{
    (void)state;
    char folder[] = "/tmp/stepscope-preflight-XXXXXX", bin[300], script[400], found[300];
    assert_non_null(mkdtemp(folder));
    snprintf(bin, sizeof bin, "%s/bin", folder);
    assert_int_equal(mkdir(bin, 0755), 0);
    put_program(bin, "python3.11", "");
    snprintf(script, sizeof script, "#!%s/python3.11\nimport this\n", bin);
    put_program(bin, "torchrun", script);
    put_program(bin, "launch", "#!/usr/bin/env python3.11\n");
    put_program(bin, "run.sh", "#!/bin/sh\n");
    put_program(bin, "empty", "");
    static const char *const pythons[] = {"python3.11", "torchrun", "launch"};
    for (size_t i = 0; i < sizeof pythons / sizeof *pythons; i++) {
        assert_true(ss_preflight_find_python(pythons[i], bin, found, sizeof found));
        assert_string_equal(found, folder);
        snprintf(script, sizeof script, "%s/%s", bin, pythons[i]);
        assert_true(ss_preflight_find_python(script, bin, found, sizeof found));
        assert_string_equal(found, folder);
    }
    static const char *const others[] = {"run.sh", "empty", "nothing", ""};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_false(ss_preflight_find_python(others[i], bin, found, sizeof found));
    }
    assert_false(ss_preflight_find_python("torchrun", NULL, found, sizeof found));
    assert_true(ss_preflight_find_python("bin/python", NULL, found, sizeof found));
    assert_string_equal(found, ".");
    snprintf(script, sizeof script, "rm -r '%s'", folder);
    assert_int_equal(system(script), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_missing),
        cmocka_unit_test(test_drivers),
        cmocka_unit_test(test_cupti),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_holders),
        cmocka_unit_test(test_permission_by_the_module),
        cmocka_unit_test(test_without_counters),
        cmocka_unit_test(test_the_environment_of_python),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
