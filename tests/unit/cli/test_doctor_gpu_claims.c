/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor/doctor_gpu_claims.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct ss_gpu_facts facts;
static struct ss_gpu_claim claims[SS_GPU_MOST_CLAIMS];

static void expect(const char *name, enum ss_gpu_state state, const char *text)
{
    size_t count = ss_gpu_claims(&facts, claims);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(claims[i].name, name) == 0) {
            if (claims[i].state != state || strstr(claims[i].text, text) == NULL) {
                print_message("%s: %d: %s\n", name, (int)claims[i].state, claims[i].text);
                fail();
            }
            /* What fails has a fix; else there is nothing to do. */
            assert_int_equal(claims[i].fix[0] != '\0', state == SS_GPU_FAILS);
            return;
        }
    }
    fail_msg("no claim %s", name);
}

/* A device that ran all, and a recording of its numbered kernels, which took 1 us each. */
static int start(void **state)
{
    (void)state;
    memset(&facts, 0, sizeof facts);
    struct ss_gpu_sheet *sheet = &facts.runs[SS_GPU_RUN_RECORDED].sheet;
    *sheet = (struct ss_gpu_sheet){.device = "Device",
                                   .has_device = 1,
                                   .capability = 90,
                                   .multiprocessors = 100,
                                   .clock_khz = 1000000,
                                   .memory_clock_khz = 1000000,
                                   .memory_bus_bits = 4000,
                                   .launched = SS_GPU_NUMBERED + SS_GPU_LAST,
                                   .is_right = {true, true, true},
                                   .has_ended = true};
    for (unsigned i = 0; i < SS_GPU_NUMBERED; i++) {
        uint64_t at_ns = 1000000 + 10000 * i;
        sheet->numbered[i] = (struct ss_gpu_span){at_ns, at_ns + 3000};
        struct ss_gpu_kernel_work kernel = {.span = {at_ns + 5000, at_ns + 6000},
                                            .launch = {at_ns + 500, at_ns + 2500},
                                            .blocks = i + 1};
        ss_vec_push(&facts.recorded.kernels[SS_GPU_KERNEL_EMPTY], kernel);
    }
    sheet->numbered_until = (struct ss_gpu_span){1000000, 2000000};
    for (unsigned i = 0; i < SS_GPU_LAST; i++) {
        struct ss_gpu_kernel_work kernel = {.blocks = SS_GPU_LAST_GRID};
        ss_vec_push(&facts.recorded.kernels[SS_GPU_KERNEL_EMPTY], kernel);
    }
    facts.recorded.is_there = true;
    snprintf(facts.recorded.collector, sizeof facts.recorded.collector, "libcupti.so.13");
    facts.runs[SS_GPU_RUN_ALONE].sheet = *sheet;
    return 0;
}

static int stop(void **state)
{
    (void)state;
    ss_gpu_recorded_fini(&facts.recorded);
    ss_gpu_recorded_fini(&facts.one_buffer);
    return 0;
}

static void a_device_is_needed(void **state)
{
    (void)state;
    facts.runs[SS_GPU_RUN_ALONE].sheet.has_device = 0;
    expect("driver", SS_GPU_FAILS, "no device could be used");
    expect("loss", SS_GPU_NOT_MEASURABLE, "there is no device");
    facts.runs[SS_GPU_RUN_ALONE].sheet.has_device = 1;
    expect("driver", SS_GPU_HOLDS, "compute capability 9.0");
    facts.runs[SS_GPU_RUN_ALONE].sheet.is_right[1] = false;
    expect("kernels", SS_GPU_FAILS, "the kernel that copies is wrong");
    facts.runs[SS_GPU_RUN_ALONE].sheet.has_ended = false;
    facts.runs[SS_GPU_RUN_ALONE].has_timed_out = true;
    expect("kernels", SS_GPU_FAILS, "did not end within two minutes");
}

static void a_kernel_of_another_call_is_found(void **state)
{
    (void)state;
    expect("correlation", SS_GPU_HOLDS, "32 of 32");
    expect("order", SS_GPU_HOLDS, "32 of 32");
    struct ss_gpu_kernel_work *kernels = facts.recorded.kernels[SS_GPU_KERNEL_EMPTY].data;
    kernels[3].launch = kernels[4].launch;
    kernels[7].launch = (struct ss_gpu_span){0, 0};
    expect("correlation", SS_GPU_FAILS, "30 of 32");
    kernels[5].span.begin_ns -= 20000;
    expect("order", SS_GPU_FAILS, "1 of 32 kernels lie outside");
}

static void late_records_are_no_losses(void **state)
{
    (void)state;
    expect("loss", SS_GPU_HOLDS, "each of 82 kernels");
    expect("end", SS_GPU_HOLDS, "50 kernels");
    facts.recorded.kernels[SS_GPU_KERNEL_EMPTY].count -= 20;
    expect("loss", SS_GPU_HOLDS, "each of 62 kernels");
    expect("end", SS_GPU_FAILS, "20 of the 50 kernels");
    facts.runs[SS_GPU_RUN_RECORDED].sheet.launched += 5;
    expect("loss", SS_GPU_FAILS, "25 of 87 kernels were not recorded, and only 0 are counted");
    expect("end", SS_GPU_NOT_MEASURABLE, "of the whole program");
    facts.recorded.dropped = 25;
    expect("loss", SS_GPU_FAILS, "25 records dropped by CUPTI");
    facts.recorded.untimed = 3;
    expect("times", SS_GPU_FAILS, "3 works have no times");
}

static void refused_buffers_have_to_be_explained(void **state)
{
    (void)state;
    struct ss_gpu_run *run = &facts.runs[SS_GPU_RUN_ONE_BUFFER];
    run->sheet.launched = 10;
    run->status = 128 + 11;
    expect("refused buffers", SS_GPU_FAILS, "the program was killed (Segmentation fault) when");
    run->sheet.has_ended = true;
    expect("refused buffers", SS_GPU_NOT_MEASURABLE, "asked for no second buffer");
    facts.one_buffer.refused = 4;
    facts.one_buffer.unlaunched = 9;
    expect("refused buffers", SS_GPU_FAILS, "10 of 10 kernels are missing, and only 9 of them");
    facts.one_buffer.lost_launches = 1;
    expect("refused buffers", SS_GPU_HOLDS, "each of the 10 missing kernels is counted");
}

static void copies_need_bytes_and_memories(void **state)
{
    static const char *const memories[][2] = {
        {"pinned", "device"}, {"device", "pinned"}, {"pageable", "device"}, {"device", "device"}};
    (void)state;
    for (size_t i = 0; i < SS_GPU_COPIES; i++) {
        struct ss_gpu_copy_work copy = {.bytes = ss_gpu_copy_bytes[i],
                                        .is_set = i == SS_GPU_MEMSET};
        snprintf(copy.from, sizeof copy.from, "%s", copy.is_set ? "" : memories[i][0]);
        snprintf(copy.to, sizeof copy.to, "%s", copy.is_set ? "" : memories[i][1]);
        ss_vec_push(&facts.recorded.copies, copy);
    }
    expect("bytes", SS_GPU_HOLDS, "have the bytes");
    snprintf(facts.recorded.copies.data[SS_GPU_COPY_PAGEABLE_TO_DEVICE].from, 16, "pinned");
    expect("bytes", SS_GPU_FAILS,
           "4 of 5 copies and memsets have their bytes and kinds of memory: the "
           "one from pageable memory does not");
    facts.recorded.copies.data[SS_GPU_MEMSET].bytes++;
    facts.recorded.dropped = 1;
    expect("bytes", SS_GPU_NOT_MEASURABLE, "3 of 5");
}

static void add_pair(enum ss_gpu_kernel kind, uint64_t blocks, uint64_t first_ns,
                     uint64_t second_ns)
{
    facts.recorded.kernels[kind].count = 0;
    struct ss_gpu_kernel_work kernels[] = {{.span = {0, first_ns}, .blocks = blocks},
                                           {.span = {0, second_ns}, .blocks = blocks}};
    ss_vec_push(&facts.recorded.kernels[kind], kernels[0]);
    ss_vec_push(&facts.recorded.kernels[kind], kernels[1]);
}

static void no_kernel_exceeds_its_device(void **state)
{
    (void)state;
    struct ss_gpu_sheet *sheet = &facts.runs[SS_GPU_RUN_RECORDED].sheet;
    expect("bandwidth", SS_GPU_NOT_MEASURABLE, "0 of its 2 kernels");
    sheet->copy_bytes[1] = 100000000; /* the peak is 1 TB/s: 100 us */
    add_pair(SS_GPU_KERNEL_COPY, 800, 50000, 100000);
    expect("bandwidth", SS_GPU_HOLDS, "1000 GB/s, of at most 1000 GB/s");
    add_pair(SS_GPU_KERNEL_COPY, 800, 45000, 90000);
    expect("bandwidth", SS_GPU_FAILS, "1111 GB/s, of at most 1000 GB/s");
    add_pair(SS_GPU_KERNEL_COPY, 800, 200000, 200000);
    expect("bandwidth", SS_GPU_FAILS, "1/1.00 of the time");
    sheet->fma_flops[1] = UINT64_C(20000000000); /* the peak is 25.6 TFLOP/s */
    sheet->fmas[1] = (struct ss_gpu_span){0, 1000000};
    sheet->fma_cycles[1] = 1000000;
    add_pair(SS_GPU_KERNEL_FMA, 400, 500000, 1000000);
    expect("flops", SS_GPU_HOLDS,
           "20.00 TFLOP/s, of at most 25.60 at 1000 MHz; its clock ran at 1000");
    add_pair(SS_GPU_KERNEL_FMA, 400, 350000, 700000);
    expect("flops", SS_GPU_FAILS, "28.57 TFLOP/s");
    add_pair(SS_GPU_KERNEL_FMA, 400, 700000, 1000000);
    expect("flops", SS_GPU_FAILS, "1/1.43 of the time");
}

static void costs_have_limits(void **state)
{
    (void)state;
    struct ss_gpu_sheet *alone = &facts.runs[SS_GPU_RUN_ALONE].sheet;
    struct ss_gpu_sheet *recorded = &facts.runs[SS_GPU_RUN_RECORDED].sheet;
    alone->loop_ns = 20000000;
    recorded->loop_ns = 20400000;
    expect("overhead", SS_GPU_HOLDS, "+2.00 %");
    recorded->loop_ns = 20600000;
    expect("overhead", SS_GPU_FAILS, "+3.00 %");
    alone->launch_ns = 2000;
    recorded->launch_ns = 7000;
    expect("launch", SS_GPU_HOLDS, "a launch takes 2.00 us, and +5.00 us more");
    recorded->launch_ns = 7001;
    expect("launch", SS_GPU_FAILS, "+5.00 us more");
    recorded->exit_ns = recorded->works_end_ns + 200000000;
    expect("flush", SS_GPU_HOLDS, "waits 200 ms");
    recorded->exit_ns += 50000000;
    expect("flush", SS_GPU_FAILS, "waits 250 ms for the last records: CUPTI is slow");
}

static void what_was_not_recorded_is_not_judged(void **state)
{
    (void)state;
    facts.recorded.kernels[SS_GPU_KERNEL_EMPTY].count = 0;
    snprintf(facts.recorded.problem, sizeof facts.recorded.problem, "another tool uses CUPTI");
    expect("collector", SS_GPU_FAILS, "another tool uses CUPTI");
    size_t count = ss_gpu_claims(&facts, claims);
    for (size_t i = 3; i < count; i++) {
        assert_int_equal(claims[i].state, SS_GPU_NOT_MEASURABLE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_device_is_needed, start, stop),
        cmocka_unit_test_setup_teardown(a_kernel_of_another_call_is_found, start, stop),
        cmocka_unit_test_setup_teardown(late_records_are_no_losses, start, stop),
        cmocka_unit_test_setup_teardown(refused_buffers_have_to_be_explained, start, stop),
        cmocka_unit_test_setup_teardown(copies_need_bytes_and_memories, start, stop),
        cmocka_unit_test_setup_teardown(no_kernel_exceeds_its_device, start, stop),
        cmocka_unit_test_setup_teardown(costs_have_limits, start, stop),
        cmocka_unit_test_setup_teardown(what_was_not_recorded_is_not_judged, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
