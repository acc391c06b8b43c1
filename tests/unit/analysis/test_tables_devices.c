/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of devices and of what launches their work, as the registry builds them. The figures
 * follow from launched_model.h: 4 steps of 1000 ns with works of 40, 20, 7, 50 and 9, one of 3
 * before and one of 2 after them, 509 in all, of which copies are 80. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../launched_model.h"
#include "base/shared_names.h"
#include "device_shape.h"
#include "table_checks.h"

/* --- launches and their work ------------------------------------------------------------------ */

struct made {
    struct launched launched;
    struct built_tables built;
};

static const struct ss_table *begin(struct made *made)
{
    launched_init(&made->launched, NULL, NULL);
    return &made->built.tables[0];
}

static void end(struct made *made)
{
    fini_tables(&made->built);
    launched_fini(&made->launched);
}

static void table_kernel(void **state)
{
    (void)state;
    struct made made;
    const struct ss_table *table = begin(&made);
    build_tables(&made.built, "kernel", NULL, &made.launched.selection, &made.launched.training);
    assert_int_equal(table->row_count, 5);
    /* 360 of 509 - 80; of 8 instances, half are 5 below the mean: √(8 × 25 / 7). */
    check_cells(table, 0,
                "name=matmul; operation=kernel; time_percent=83.9161; total_ns=360; instances=8; "
                "avg_ns=45; med_ns=45; min_ns=40; max_ns=50; stddev_ns=5.34522; step_percent=9; "
                "step_instances=2; step_ns=90");
    check_cells(table, 1, "name=ncclAllReduce; operation=communication; total_ns=36; instances=4");
    check_cells(table, 2, "name=other; total_ns=28; instances=4; step_ns=7");
    check_cells(table, 3, "name=early; total_ns=3; instances=1; step_instances=0.25");
    check_cells(table, 4, "name=late; total_ns=2; instances=1; step_instances=0");
    end(&made);
}

/* The last step is in sums: figures per step are of the others, and the table says so. */
static void kernels_of_steps_in_full(void **state)
{
    (void)state;
    static const struct ss_steps_options all_steps = {0};
    struct made made;
    const struct ss_table *table = begin(&made);
    struct launched *launched = &made.launched;
    uint32_t detail = launched_track(launched, SS_TRACK_COUNTER, 0, ss_counter_detail_recorded);
    build_count(&launched->model, detail, launched->training.steps.data[3].begin_ns, 0);
    ss_step_summary_fini(&launched->training);
    ss_step_summary_init(&launched->training, &launched->selection, &all_steps);
    build_tables(&made.built, "kernel", NULL, &launched->selection, &launched->training);
    check_cells(table, 0, "name=matmul; instances=8; step_instances=2; step_ns=90");
    assert_int_equal(table->notes.count, 1);
    assert_int_equal(launched->training.summed, 1);
    end(&made);
}

static void table_memcpy(void **state)
{
    (void)state;
    struct made made;
    const struct ss_table *table = begin(&made);
    build_tables(&made.built, "memcpy", NULL, &made.launched.selection, &made.launched.training);
    assert_int_equal(table->row_count, 1);
    check_cells(table, 0, /* 4096 bytes in 20 ns */
                "name=Memcpy HtoD; operation=copy; time_percent=100; total_ns=80; instances=4; "
                "avg_ns=20; step_percent=2; step_instances=1; step_ns=20; total_bytes=16384; "
                "avg_bytes=4096; bandwidth_bytes_per_s=2.048e+11");
    end(&made);
}

static void table_gpu_work(void **state)
{
    (void)state;
    struct made made;
    const struct ss_table *table = begin(&made);
    build_tables(&made.built, "gpu-work", NULL, &made.launched.selection, &made.launched.training);
    assert_int_equal(table->row_count, 6);
    check_cells(table, 0, /* of 509 */
                "name=matmul; operation=kernel; time_percent=70.7269; total_ns=360; instances=8");
    check_cells(table, 1,
                "name=Memcpy HtoD; operation=copy; time_percent=15.7171; total_ns=80; "
                "total_bytes=16384");
    check_cells(table, 2, "name=ncclAllReduce; operation=communication; total_ns=36");
    end(&made);
}

static void table_api(void **state)
{
    (void)state;
    struct made made;
    const struct ss_table *table = begin(&made);
    build_tables(&made.built, "api", NULL, &made.launched.selection, &made.launched.training);
    assert_int_equal(table->row_count, 2);
    check_cells(table, 0, /* 4 of each step's 5 calls, of 10 ns each */
                "name=cudaLaunchKernel; operation=launch; time_percent=80; total_ns=160; "
                "instances=16; avg_ns=10; step_percent=4; step_instances=4; step_ns=40");
    check_cells(table, 1,
                "name=cudaMemcpyAsync; operation=launch; time_percent=20; total_ns=40; "
                "instances=4; step_instances=1");
    end(&made);
}

/* addmm launches 40 and a copy of 20 in line 10, and its backward 50; main() launches 7; autograd
 * alone 9. */
static void table_kernel_line(void **state)
{
    (void)state;
    struct made made;
    const struct ss_table *table = begin(&made);
    build_tables(&made.built, "kernel-line", NULL, &made.launched.selection,
                 &made.launched.training);
    assert_int_equal(table->row_count, 5);
    check_cells(table, 0,
                "path=train.py; line=10; function=forward; percent=86.444; total_ns=440; "
                "kernels=8; works=12; step_ns=110; step_kernels=2; backward_ns=200; copy_ns=80; "
                "heaviest=matmul; heaviest_ns=360");
    check_cells(table, 1, "path=train.py; line=80; function=main; total_ns=28; heaviest=other");
    check_cells(table, 2,
                "path=-; function=(no line known); total_ns=36; backward_ns=36; "
                "communication_ns=36");
    check_cells(table, 3, "function=(launched before the recording); total_ns=3; works=1");
    check_cells(table, 4, "function=(launch not recorded); total_ns=2; works=1");
    end(&made);
}

/* Each step has 510 ns of operators and calls of the main thread and autograd. */
static void table_op_own(void **state)
{
    (void)state;
    struct made made;
    const struct ss_table *table = begin(&made);
    build_tables(&made.built, "op", "own", &made.launched.selection, &made.launched.training);
    assert_int_equal(table->row_count, 11);
    check_cells(table, 0, /* 180 less two calls of 10 */
                "name=addmm; kind=operator; calls=4; self_percent=31.3725; self_ns=640; "
                "total_ns=720; mean_ns=180; step_percent=16; step_calls=1; step_self_ns=160; "
                "step_total_ns=180; device_self_percent=47.1513; device_self_ns=240; "
                "device_works=8; step_device_self_ns=60");
    check_cells(table, 1,
                "name=AddmmBackward0; kind=backward; self_ns=400; backward_self_ns=400; "
                "total_ns=720; device_self_ns=0; device_total_ns=200");
    check_cells(table, 3, "name=mm; self_ns=280; device_self_ns=200; step_device_self_ns=50");
    check_cells(table, 4, "name=cudaLaunchKernel; kind=runtime; calls=16; self_ns=160");
    check_cells(table, 8, "name=(in no operator); kind=unattributed; device_self_ns=28");
    end(&made);
}

/* In µs, as torch.profiler has them; kernels have rows of their own. */
static void table_op_key_averages(void **state)
{
    (void)state;
    struct made made;
    const struct ss_table *table = begin(&made);
    build_tables(&made.built, "op", "key_averages", &made.launched.selection,
                 &made.launched.training);
    assert_int_equal(table->row_count, 14);
    check_cells(table, 0,
                "name=addmm; self_cpu_percent=31.3725; self_cpu_time_total=0.64; "
                "cpu_time_total=0.72; cpu_time=0.18; count=4; device_type=CPU; "
                "self_device_time_total=0.24; device_time=0.06");
    check_cells(table, 10,
                "name=matmul; self_cpu_time_total=0; count=8; device_type=CUDA; "
                "self_device_time_total=0.36; self_device_percent=70.7269; device_time=0.045");
    end(&made);
}

/* The backward of addmm, 200 on autograd's thread and 50 on the device, belongs to Linear. */
static void table_module(void **state)
{
    (void)state;
    struct made made;
    const struct ss_table *table = begin(&made);
    build_tables(&made.built, "module", NULL, &made.launched.selection, &made.launched.training);
    assert_int_equal(table->row_count, 5);
    check_cells(table, 0,
                "name=Net; calls=4; self_ns=40; total_ns=880; backward_ns=800; "
                "backward_self_ns=0; mean_ns=220; step_percent=42; step_total_ns=220; "
                "step_backward_ns=200; device_percent=86.444; device_ns=240; device_self_ns=0; "
                "device_backward_ns=200");
    check_cells(table, 1,
                "name=Linear; self_ns=840; total_ns=840; backward_self_ns=800; step_percent=41; "
                "device_self_ns=240; device_backward_self_ns=200; step_device_ns=60");
    check_cells(table, 2, "name=(in no module); calls=-; device_ns=64; step_device_ns=16");
    end(&made);
}

static void table_step(void **state)
{
    (void)state;
    struct made made;
    const struct ss_table *table = begin(&made);
    build_tables(&made.built, "step", NULL, &made.launched.selection, &made.launched.training);
    assert_int_equal(table->row_count, LAUNCHED_STEPS);
    check_cells(table, 3,
                "pid=42; step=3; kind=steady; begin_ns=3000; duration_ns=1000; forward_ns=360; "
                "backward_ns=310; other_ns=330");
    end(&made);
}

/* The forward launches 40, 20 and 7, the backward 50 and 9. */
static void table_phase(void **state)
{
    (void)state;
    struct made made;
    const struct ss_table *table = begin(&made);
    build_tables(&made.built, "phase", NULL, &made.launched.selection, &made.launched.training);
    assert_int_equal(table->row_count, 3);
    check_cells(table, 0,
                "phase=forward; percent=36; total_ns=1440; mean_ns=360; p50_ns=360; max_ns=360; "
                "steps=4; device_percent=53.1746; device_total_ns=268; device_step_ns=67; "
                "device_step_works=3");
    check_cells(table, 1,
                "phase=backward; percent=31; mean_ns=310; device_total_ns=236; device_step_ns=59");
    check_cells(table, 2, "phase=other; percent=33; mean_ns=330; device_total_ns=0");
    end(&made);
}

/* --- the device ------------------------------------------------------------------------------- */

/* Of a step, works are launched at 150, 200, 400, 530 and 710, and begin at 600, 650, 680, 700 and
 * 800. Until the launch after the last work of a step, at 809, the host is late; the other gaps are
 * latency: 450 + 10 + 10 + 13 + 50. The first step also has work of 3 without a launch. */
static void table_device_step(void **state)
{
    (void)state;
    struct made made;
    const struct ss_table *table = begin(&made);
    build_tables(&made.built, "device-step", NULL, &made.launched.selection,
                 &made.launched.training);
    assert_int_equal(table->row_count, LAUNCHED_STEPS);
    check_cells(table, 1,
                "pid=42; device=0; step=1; kind=steady; duration_ns=1000; compute_ns=97; "
                "exposed_communication_ns=9; exposed_copy_ns=20; idle_ns=874; overlap_percent=0; "
                "idle_wait_ns=0; idle_host_ns=341; idle_latency_ns=533; idle_unknown_ns=0; "
                "launched=5; launched_ns=126; after_step_ns=0; launch_delay_ns=288; "
                "queued_avg=1.44; queued_max=4");
    check_cells(table, 0, "step=0; compute_ns=100; idle_ns=871");
    end(&made);
}

/* From 50 to 4002. */
static void table_stream(void **state)
{
    (void)state;
    struct made made;
    const struct ss_table *table = begin(&made);
    build_tables(&made.built, "stream", NULL, &made.launched.selection, &made.launched.training);
    assert_int_equal(table->row_count, 1);
    check_cells(table, 0,
                "device=0; stream=7; pid=42; kernels=18; kernel_ns=429; communication=4; "
                "communication_ns=36; copies=4; copy_ns=80; busy_ns=509; busy_percent=12.8796");
    end(&made);
}

static void table_gpu(void **state)
{
    (void)state;
    struct made made;
    const struct ss_table *table = begin(&made);
    build_tables(&made.built, "gpu", NULL, &made.launched.selection, &made.launched.training);
    assert_int_equal(table->row_count, 1);
    check_cells(table, 0,
                "device=0; pid=42; streams=1; kernels=18; kernel_ns=429; span_ns=3952; "
                "busy_ns=509; busy_percent=12.8796; compute_ns=393; exposed_communication_ns=36; "
                "exposed_copy_ns=80; idle_ns=3443; communication_ns=36; without_launch=2");
    end(&made);
}

/* --- waits and memory ------------------------------------------------------------------------- */

/* In each of 20 steps of 10 ms, the host waits from 200 µs on for a matrix product. */
static void table_wait(void **state)
{
    (void)state;
    struct device_made made;
    struct built_tables built;
    struct device_shape shape = device_clean;
    shape.calls[1] = (struct shaped_call){"cudaStreamSynchronize", 200, 9910, 0};
    device_make(&made, &shape);
    build_tables(&built, "wait", NULL, &made.timed.selection, &made.timed.training);
    assert_int_equal(built.tables[0].row_count, 1);
    check_cells(&built.tables[0], 0,
                "waits_at=-; call=cudaStreamSynchronize; count=20; total_ns=194200000; "
                "avg_ns=9710000; max_ns=9710000; step_count=1; step_ns=9710000; waits_for=gemm");
    fini_tables(&built);
    device_end(&made);
}

/* Of the frames of the call that waits, and of the launch, the innermost of the program's own code.
 */
static void waits_have_the_line_of_their_call(void **state)
{
    (void)state;
    struct device_made made;
    struct built_tables built;
    struct device_shape shape = device_clean;
    shape.calls[0].stack =
        "[\"torch/nn/linear.py(5): forward\", \"/home/u/model.py(31): forward\"]";
    shape.calls[1] = (struct shaped_call){"cudaStreamSynchronize", 200, 9910, 0,
                                          "[\"/home/u/train.py(88): main\"]"};
    device_make(&made, &shape);
    build_tables(&built, "wait", NULL, &made.timed.selection, &made.timed.training);
    assert_int_equal(built.tables[0].row_count, 1);
    check_cells(&built.tables[0], 0,
                "waits_at=/home/u/train.py:88 main; operator=-; call=cudaStreamSynchronize; "
                "count=20; total_ns=194200000; avg_ns=9710000; max_ns=9710000; step_count=1; "
                "step_ns=9710000; waits_for=gemm; launched_at=/home/u/model.py:31 forward");
    fini_tables(&built);
    device_end(&made);
}

/* Each step takes 1000 bytes and gives them back. */
static void table_device_memory(void **state)
{
    (void)state;
    struct device_made made;
    struct built_tables built;
    struct device_shape shape = device_clean;
    shape.allocated_bytes = 1000;
    device_make(&made, &shape);
    build_tables(&built, "device-memory", NULL, &made.timed.selection, &made.timed.training);
    assert_int_equal(built.count, 2);
    check_cells(&built.tables[0], 0,
                "device=0; pid=42; memory=device; allocations=20; releases=20; "
                "allocated_bytes=20000; peak_bytes=1000; peak_step=0; end_bytes=0; "
                "never_released=0; kept_bytes=0; allocations_per_step=1; "
                "allocated_per_step=1000");
    assert_int_equal(built.tables[1].row_count, DEVICE_STEPS);
    check_cells(&built.tables[1], 7,
                "device=0; pid=42; step=7; allocations=1; releases=1; allocated_bytes=1000; "
                "peak_bytes=1000; end_bytes=0");
    fini_tables(&built);
    device_end(&made);
}

/* A copy of 4 KiB that takes 40 µs, and a memset of 1 MiB that takes 10 µs. */
static void begin_fills(struct timed *timed)
{
    timed_begin(timed);
    uint32_t stream = timed_stream(timed, timed_device(timed, 0), 7);
    timed_copy_from(timed, stream, "Memcpy HtoD", 1000, 41000, TIMED_NONE, "pinned", 4096);
    timed_range(timed, stream, "Memset (Device)", "memset", SS_EVENT_TYPE_memset, 50000, 60000,
                build_integer(&timed->model, 1 << 20));
    timed_load(timed);
}

static void table_memset(void **state)
{
    (void)state;
    struct timed timed;
    struct built_tables built;
    begin_fills(&timed);
    build_tables(&built, "memset", NULL, &timed.selection, &timed.training);
    assert_int_equal(built.tables[0].row_count, 1);
    check_cells(&built.tables[0], 0,
                "name=Memset (Device); operation=memset; time_percent=100; total_ns=10000; "
                "instances=1; total_bytes=1048576");
    fini_tables(&built);
    timed_end(&timed);
}

static void table_gpu_memory(void **state)
{
    (void)state;
    struct timed timed;
    struct built_tables built;
    begin_fills(&timed);
    build_tables(&built, "gpu-memory", NULL, &timed.selection, &timed.training);
    assert_int_equal(built.tables[0].row_count, 2);
    check_cells(&built.tables[0], 0,
                "name=Memcpy HtoD; time_percent=80; total_ns=40000; total_bytes=4096; "
                "from=pinned");
    check_cells(&built.tables[0], 1, "name=Memset (Device); time_percent=20; total_ns=10000");
    fini_tables(&built);
    timed_end(&timed);
}

/* The same in the other order. */
static void table_gpu_memory_size(void **state)
{
    (void)state;
    struct timed timed;
    struct built_tables built;
    begin_fills(&timed);
    build_tables(&built, "gpu-memory-size", NULL, &timed.selection, &timed.training);
    assert_int_equal(built.tables[0].row_count, 2);
    check_cells(&built.tables[0], 0, "name=Memset (Device); total_ns=10000; total_bytes=1048576");
    check_cells(&built.tables[0], 1, "name=Memcpy HtoD; total_ns=40000; total_bytes=4096");
    fini_tables(&built);
    timed_end(&timed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_kernel),        cmocka_unit_test(kernels_of_steps_in_full),
        cmocka_unit_test(table_memcpy),        cmocka_unit_test(table_gpu_work),
        cmocka_unit_test(table_api),           cmocka_unit_test(table_kernel_line),
        cmocka_unit_test(table_op_own),        cmocka_unit_test(table_op_key_averages),
        cmocka_unit_test(table_module),        cmocka_unit_test(table_step),
        cmocka_unit_test(table_phase),         cmocka_unit_test(table_device_step),
        cmocka_unit_test(table_stream),        cmocka_unit_test(table_gpu),
        cmocka_unit_test(table_wait),          cmocka_unit_test(waits_have_the_line_of_their_call),
        cmocka_unit_test(table_device_memory), cmocka_unit_test(table_memset),
        cmocka_unit_test(table_gpu_memory),    cmocka_unit_test(table_gpu_memory_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
