/* SPDX-License-Identifier: Apache-2.0 */
/* Steps on their devices, computed by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../timed_device.h"
#include "analysis/devices/device_steps.h"
#include "analysis/ranks/rank_profiles.h"
#include "analysis/ranks/stage_frontier.h"

struct split {
    uint64_t compute, communication, copy, idle;
};

static void check_split(const struct ss_device_step *row, struct split expected)
{
    assert_int_equal(row->times.class_ns[SS_WORK_COMPUTE], expected.compute);
    assert_int_equal(row->times.class_ns[SS_WORK_COMMUNICATION], expected.communication);
    assert_int_equal(row->times.class_ns[SS_WORK_COPY], expected.copy);
    assert_int_equal(row->times.idle_ns, expected.idle);
}

/* Whatever there is, the parts are the step, and the causes its idle time. */
static void check_sums(const struct timed *timed, const struct ss_device_summary *summary)
{
    for (size_t i = 0; i < summary->steps.count; i++) {
        const struct ss_device_step *row = &summary->steps.data[i];
        const struct ss_step *step = &timed->training.steps.data[row->step];
        uint64_t causes_ns = 0;
        for (size_t cause = 0; cause < SS_GAP_CAUSES; cause++) {
            causes_ns += row->gap_ns[cause];
        }
        assert_int_equal(ss_busy_sum(&row->times) + row->times.idle_ns,
                         step->end_ns - step->begin_ns);
        assert_int_equal(causes_ns, row->times.idle_ns);
    }
}

/* Two steps of 1000. The first launches, at 100, 200 and 300, a kernel of 300 at 150, a collective
 * of 200 at 400, a copy of 100 at 650, and at 900 a kernel of 400 that runs from 950 into the
 * second step; the second launches a kernel at 400, which runs for 50 at once. */
static void make(struct timed *timed)
{
    timed_begin(timed);
    timed_step(timed, 1000, 2000);
    timed_step(timed, 2000, 3000);
    timed_launch(timed, 1100, 1110, 1);
    timed_launch(timed, 1200, 1210, 2);
    timed_call(timed, "cudaMemcpyAsync", SS_EVENT_TYPE_launch, 1300, 1310, 3);
    timed_launch(timed, 1900, 1910, 4);
    timed_launch(timed, 2400, 2410, 5);
    uint32_t device = timed_device(timed, 2);
    uint32_t stream = timed_stream(timed, device, 7);
    timed_kernel(timed, stream, "gemm", 1150, 1450, 1);
    timed_copy(timed, stream, "Memcpy HtoD (Pinned -> Device)", 1650, 1750, 3);
    timed_kernel(timed, stream, "gemm", 1950, 2350, 4);
    timed_kernel(timed, stream, "gemm", 2400, 2450, 5);
    uint32_t other = timed_stream(timed, device, 20);
    timed_kernel(timed, other, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 1400, 1600, 2);
}

static void the_parts_of_a_step(void **state)
{
    (void)state;
    struct timed timed;
    struct ss_device_summary summary;
    make(&timed);
    timed_load(&timed);
    ss_device_summary_init(&summary, &timed.selection, &timed.training);
    ss_device_summary_find_queues(&summary, timed.selection.model, &timed.training);
    assert_int_equal(summary.steps.count, 2);
    const struct ss_device_step *first = &summary.steps.data[0], *second = &first[1];
    /* [1150, 1450) and [1950, 2000); the collective from 1450 on; the copy; the rest */
    check_split(first,
                (struct split){.compute = 350, .communication = 150, .copy = 100, .idle = 400});
    assert_int_equal(first->times.communication_ns, 200);
    assert_int_equal(first->times.overlap_ns, 50);
    check_split(second, (struct split){.compute = 400, .idle = 600});
    check_sums(&timed, &summary);
    ss_device_summary_fini(&summary);
    timed_end(&timed);
}

static void what_a_step_launches(void **state)
{
    (void)state;
    struct timed timed;
    struct ss_device_summary summary;
    make(&timed);
    timed_load(&timed);
    ss_device_summary_init(&summary, &timed.selection, &timed.training);
    ss_device_summary_find_queues(&summary, timed.selection.model, &timed.training);
    const struct ss_device_step *first = &summary.steps.data[0], *second = &first[1];
    assert_int_equal(first->launches, 4);
    assert_int_equal(first->launched_ns, 300 + 200 + 100 + 400);
    assert_int_equal(first->late_ns, 350); /* of the last kernel */
    assert_int_equal(first->delay_ns, 50 + 200 + 350 + 50);
    assert_int_equal(first->kernels, 3);
    assert_int_equal(first->kernel_ns, 300 + 200 + 400);
    /* as long as the delays are queued: two at a time, the collective and the copy */
    assert_true(first->queued.sum == 50 + 200 + 350 + 50);
    assert_int_equal(first->queued.most, 2);
    assert_int_equal(second->launches, 1);
    assert_int_equal(second->launched_ns, 50);
    assert_int_equal(second->late_ns, 0);
    assert_int_equal(second->delay_ns, 0);
    assert_int_equal(second->kernels, 1);
    assert_int_equal(second->queued.most, 0);
    ss_device_summary_fini(&summary);
    timed_end(&timed);
}

static void the_causes_of_idle_time(void **state)
{
    (void)state;
    struct timed timed;
    struct ss_device_summary summary;
    make(&timed);
    timed_load(&timed);
    ss_device_summary_init(&summary, &timed.selection, &timed.training);
    ss_device_summary_find_queues(&summary, timed.selection.model, &timed.training);
    const struct ss_device_step *first = &summary.steps.data[0], *second = &first[1];
    /* [1000, 1100) until the launch, 50 behind it; [1600, 1650) behind a launch of long before;
     * [1750, 1900) until the launch, 50 behind it */
    assert_int_equal(first->gap_ns[SS_GAP_HOST], 100 + 150);
    assert_int_equal(first->gap_ns[SS_GAP_LATENCY], 50 + 50 + 50);
    /* [2350, 2400) until the launch, and behind the last work until the step ends */
    assert_int_equal(second->gap_ns[SS_GAP_HOST], 50 + 550);
    ss_device_summary_fini(&summary);
    timed_end(&timed);
}

/* Works of before the first step, of no length, of a graph, and without any number; on two devices,
 * which begin at number 2. */
static void odd_works_add_up_too(void **state)
{
    (void)state;
    struct timed timed;
    struct ss_device_summary summary;
    struct ss_table table;
    timed_begin(&timed);
    timed_step(&timed, 1000, 2000);
    timed_step(&timed, 2000, 3000);
    timed_call(&timed, "cudaGraphLaunch", SS_EVENT_TYPE_launch, 1100, 1110, 1);
    uint32_t stream = timed_stream(&timed, timed_device(&timed, 2), 7);
    timed_kernel(&timed, stream, "before", 900, 1050, 99); /* launched before the recording */
    timed_kernel(&timed, stream, "node", 1200, 1250, 1);
    timed_kernel(&timed, stream, "node", 1240, 1300, 1);
    timed_kernel(&timed, stream, "node", 1300, 1300, 1);
    uint32_t other = timed_stream(&timed, timed_device(&timed, 3), 0);
    timed_kernel(&timed, other, "Cijk_Ailk", 1500, 2500, TIMED_NONE);
    timed_load(&timed);
    ss_device_summary_init(&summary, &timed.selection, &timed.training);
    ss_device_summary_find_queues(&summary, timed.selection.model, &timed.training);
    assert_int_equal(summary.steps.count, 4);
    check_split(&summary.steps.data[0], (struct split){.compute = 50 + 100, .idle = 850});
    check_split(&summary.steps.data[1], (struct split){.compute = 500, .idle = 500});
    check_split(&summary.steps.data[2], (struct split){.idle = 1000});
    check_split(&summary.steps.data[3], (struct split){.compute = 500, .idle = 500});
    check_sums(&timed, &summary);
    const struct ss_device_step *first = &summary.steps.data[0];
    assert_int_equal(first->launches, 3);
    assert_int_equal(first->launched_ns, 50 + 60);
    assert_int_equal(first->delay_ns, 100 + 140 + 200);
    assert_int_equal(first->queued.most, 3);
    assert_int_equal(first->kernels, 3); /* that of before began before */
    assert_int_equal(summary.steps.data[1].kernel_ns, 1000);
    ss_device_steps_table(&timed.selection, &timed.training, 0, &table);
    for (size_t row = 0; row < 4; row++) {
        assert_int_equal(ss_table_cell(&table, row, SS_DEVICE_STEP_DEVICE)->integer,
                         row % 2 == 0 ? 2 : 3);
    }
    assert_true(ss_table_cell(&table, 0, SS_DEVICE_STEP_QUEUED)->real ==
                (100 + 140 + 200) / 1000.0);
    assert_int_equal(ss_table_cell(&table, 0, SS_DEVICE_STEP_DELAY)->integer,
                     (100 + 140 + 200) / 3);
    assert_int_equal(ss_table_cell(&table, 1, SS_DEVICE_STEP_DELAY)->type, SS_CELL_ABSENT);
    ss_table_fini(&table);
    ss_device_summary_fini(&summary);
    timed_end(&timed);
}

static int64_t number_at(const struct ss_table *table, size_t row, size_t column)
{
    const struct ss_cell *cell = ss_table_cell(table, row, column);
    return cell->type == SS_CELL_INTEGER ? cell->integer : -1;
}

/* The kernel of the second of four steps is lost: nothing is known of its device. The launch at the
 * end of the last is cut off, as its kernel would be. */
static void a_step_whose_kernel_is_lost(void **state)
{
    (void)state;
    static const char *const known[] = {"recorded", "unknown", "recorded", "recorded"};
    struct timed timed;
    struct ss_device_summary summary;
    struct ss_table table;
    timed_begin(&timed);
    for (uint64_t i = 1; i <= 4; i++) {
        timed_step(&timed, 1000 * i, 1000 * i + 1000);
    }
    for (uint64_t i = 1; i <= 4; i++) {
        timed_launch(&timed, 1000 * i + 10, 1000 * i + 20, (int64_t)i);
    }
    timed_launch(&timed, 4950, 4960, 5);
    uint32_t stream = timed_stream(&timed, timed_device(&timed, 0), 7);
    timed_kernel(&timed, stream, "gemm", 1020, 1520, 1);
    timed_kernel(&timed, stream, "gemm", 3020, 3520, 3);
    timed_kernel(&timed, stream, "gemm", 4020, 4920, 4);
    timed_load(&timed);
    assert_int_equal(timed.training.lacking_kernels, 1);
    ss_device_summary_init(&summary, &timed.selection, &timed.training);
    assert_int_equal(summary.steps.count, 3);
    assert_int_equal(summary.mean.steps, 3);
    assert_int_equal(summary.mean.times.idle_ns, 500 + 500 + 100);
    ss_device_steps_table(&timed.selection, &timed.training, 0, &table);
    assert_int_equal(table.row_count, 4);
    for (size_t row = 0; row < 4; row++) {
        assert_string_equal(ss_table_cell(&table, row, SS_DEVICE_STEP_WORK)->text.data, known[row]);
        assert_int_equal(number_at(&table, row, SS_DEVICE_STEP_NUMBER), row);
        assert_int_equal(number_at(&table, row, SS_DEVICE_STEP_DEVICE), 0);
    }
    assert_int_equal(number_at(&table, 0, SS_DEVICE_STEP_IDLE), 500);
    assert_int_equal(number_at(&table, 1, SS_DEVICE_STEP_IDLE), -1);
    assert_int_equal(number_at(&table, 1, SS_DEVICE_STEP_COMPUTE), -1);
    assert_int_equal(number_at(&table, 1, SS_DEVICE_STEP_LOST), 1);
    assert_int_equal(number_at(&table, 3, SS_DEVICE_STEP_LOST), 1);
    ss_table_fini(&table);
    ss_device_steps_table(&timed.selection, &timed.training, 1, &table);
    assert_int_equal(table.row_count, 1);
    assert_int_equal(table.hidden_rows, 3);
    ss_table_fini(&table);
    ss_device_summary_fini(&summary);
    timed_end(&timed);
}

static void add_rank(struct timed *timed, uint32_t rank, uint64_t kernel_ns, bool has_all)
{
    timed->model.processes.data[timed->process].has_rank = true;
    timed->model.processes.data[timed->process].rank = rank;
    timed_step(timed, 1000, 2000);
    timed_step(timed, 2000, 3000);
    timed_launch(timed, 1010, 1020, 1);
    timed_launch(timed, 2010, 2020, 2);
    timed_launch(timed, 2910, 2920, 3);
    uint32_t stream = timed_stream(timed, timed_device(timed, (int32_t)rank), 7);
    timed_kernel(timed, stream, "gemm", 1020, 1020 + kernel_ns, 1);
    if (has_all) {
        timed_kernel(timed, stream, "gemm", 2020, 2020 + kernel_ns, 2);
    }
    timed_kernel(timed, stream, "gemm", 2920, 2930, 3);
}

/* Ranks are compared in steps that are known of all; the mean of each is that of its known ones. */
static void a_rank_that_lacks_a_kernel(void **state)
{
    (void)state;
    struct timed timed;
    timed_begin(&timed);
    add_rank(&timed, 0, 200, true);
    timed_process(&timed, 43);
    add_rank(&timed, 1, 400, false);
    timed_load(&timed);
    const struct ss_stage_frontier *frontier = ss_steps_frontier(&timed.selection, &timed.training);
    assert_int_equal(frontier->steps, 1);
    assert_int_equal(frontier->skipped, 1);
    const struct ss_rank_profiles *profiles = ss_steps_ranks(&timed.selection, &timed.training);
    assert_int_equal(profiles->rows.count, 2);
    assert_int_equal(profiles->rows.data[0].compute_ns, (200 + 210) / 2);
    assert_int_equal(profiles->rows.data[1].steps, 2);
    assert_int_equal(profiles->rows.data[1].compute_ns, 400);
    timed_end(&timed);
}

static void without_any_kernel_no_step_is_idle(void **state)
{
    (void)state;
    struct timed timed;
    struct ss_table table;
    timed_begin(&timed);
    timed_step(&timed, 1000, 2000);
    timed_launch(&timed, 1010, 1020, 1);
    timed_load(&timed);
    ss_device_steps_table(&timed.selection, &timed.training, 0, &table);
    assert_int_equal(table.row_count, 1);
    assert_string_equal(ss_table_cell(&table, 0, SS_DEVICE_STEP_WORK)->text.data, "unknown");
    assert_int_equal(number_at(&table, 0, SS_DEVICE_STEP_DEVICE), -1);
    ss_table_fini(&table);
    timed_end(&timed);
}

static void without_work_there_is_nothing(void **state)
{
    (void)state;
    struct timed timed;
    struct ss_device_summary summary;
    timed_begin(&timed);
    timed_step(&timed, 1000, 2000);
    timed_load(&timed);
    ss_device_summary_init(&summary, &timed.selection, &timed.training);
    ss_device_summary_find_queues(&summary, timed.selection.model, &timed.training);
    assert_int_equal(summary.steps.count, 0);
    assert_int_equal(summary.mean.steps, 0);
    ss_device_summary_fini(&summary);
    timed_end(&timed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_parts_of_a_step),
        cmocka_unit_test(what_a_step_launches),
        cmocka_unit_test(the_causes_of_idle_time),
        cmocka_unit_test(odd_works_add_up_too),
        cmocka_unit_test(a_step_whose_kernel_is_lost),
        cmocka_unit_test(a_rank_that_lacks_a_kernel),
        cmocka_unit_test(without_any_kernel_no_step_is_idle),
        cmocka_unit_test(without_work_there_is_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
