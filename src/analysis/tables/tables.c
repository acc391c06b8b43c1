/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/tables/tables.h"

#include "analysis/loading/loader_workers.h"
#include "analysis/memory/allocation_tables.h"
#include "analysis/memory/memories.h"
#include "analysis/operators/flops.h"
#include "analysis/operators/modules.h"
#include "analysis/operators/operators.h"
#include "analysis/samples/counters.h"
#include "analysis/samples/hotspots.h"
#include "analysis/steps/range_rows.h"
#include "analysis/steps/ranges.h"
#include "analysis/steps/step_series.h"
#include "analysis/tables/tables_calls.h"
#include "analysis/tables/tables_devices.h"
#include "analysis/tables/tables_memory.h"
#include "analysis/tables/tables_roofline.h"
#include "analysis/tables/tables_samples.h"
#include "base/shared_names.h"
#include "model/core/domains.h"

/* --- ranges, counters, lines ------------------------------------------------------------------ */

static struct ss_ranges_options ranges_options(const struct ss_table_options *options)
{
    return (struct ss_ranges_options){.sort = (enum ss_sort)options->sort,
                                      .max_rows = options->max_rows,
                                      .grouping = options->grouping};
}

static size_t build_ranges(const struct ss_table_input *input, struct ss_table *tables)
{
    struct ss_ranges_options ranges = ranges_options(input->options);
    ss_ranges_table(input->selection, &ranges, &tables[0]);
    return 1;
}

static size_t build_counters(const struct ss_table_input *input, struct ss_table *tables)
{
    struct ss_counters_options counters = {.max_rows = input->options->max_rows};
    ss_counters_table(input->selection, &counters, &tables[0]);
    return 1;
}

static size_t build_line_times(const struct ss_table_input *input, struct ss_table *tables)
{
    struct ss_line_times_options lines = {.max_functions = input->options->max_rows,
                                          .source = input->options->source};
    ss_line_times_table(input->selection, &lines, &tables[0]);
    return 1;
}

/* --- a training's steps ----------------------------------------------------------------------- */

static size_t build_steps(const struct ss_table_input *input, struct ss_table *tables)
{
    struct ss_steps_options steps = input->options->steps;
    steps.max_rows = input->options->max_rows;
    ss_steps_table(input->training, input->selection, &steps, &tables[0]);
    return 1;
}

static size_t build_phases(const struct ss_table_input *input, struct ss_table *tables)
{
    struct ss_memories memories;
    ss_memories_init(&memories, input->selection, input->training);
    ss_phases_table(input->training, input->selection, &tables[0]);
    ss_memory_put_phases(&memories, input->selection, &tables[0]);
    ss_memories_fini(&memories);
    if (input->options->has_errors) {
        struct ss_step_series series;
        ss_step_series_init(&series, input->training, SS_STEADY_OF_ALL);
        ss_step_series_put_phases(&series, &tables[0]);
        ss_step_series_fini(&series);
    }
    return 1;
}

static size_t build_operators(const struct ss_table_input *input, struct ss_table *tables)
{
    struct ss_operators_options operators = {.sort = (enum ss_operator_sort)input->options->sort,
                                             .max_rows = input->options->max_rows,
                                             .grouping = input->options->grouping,
                                             .has_errors = input->options->has_errors};
    ss_operators_table(input->selection, input->training, &operators, &tables[0]);
    return 1;
}

/* Memory by process, and by phase; nothing where it was not recorded. */
static size_t add_memory(const struct ss_table_input *input, struct ss_table *tables)
{
    struct ss_memories memories;
    ss_memories_init(&memories, input->selection, input->training);
    ss_memory_table(&memories, input->selection, input->training, &tables[0]);
    ss_memory_phases_table(&memories, NULL, input->selection, input->training, &tables[1]);
    ss_memories_fini(&memories);
    return tables[1].row_count > 0 ? 2 : tables[0].row_count > 0;
}

static size_t build_key_averages(const struct ss_table_input *input, struct ss_table *tables)
{
    struct ss_operators_options operators = {.sort = (enum ss_operator_sort)input->options->sort,
                                             .max_rows = input->options->max_rows,
                                             .grouping = input->options->grouping};
    ss_key_averages_table(input->selection, input->training, &operators, &tables[0]);
    return 1 + add_memory(input, &tables[1]);
}

static size_t build_modules(const struct ss_table_input *input, struct ss_table *tables)
{
    struct ss_operators_options modules = {.sort = (enum ss_operator_sort)input->options->sort,
                                           .max_rows = input->options->max_rows,
                                           .grouping = input->options->grouping,
                                           .has_errors = input->options->has_errors};
    ss_modules_table(input->selection, input->training, &modules, &tables[0]);
    return 1;
}

static size_t build_workers(const struct ss_table_input *input, struct ss_table *tables)
{
    ss_workers_table(input->selection, input->training, input->options->max_rows, &tables[0]);
    if (input->options->is_single) {
        return 1;
    }
    ss_loaders_table(input->selection, input->training, &tables[1]);
    return tables[1].row_count > 0 ? 2 : 1;
}

static size_t build_flops(const struct ss_table_input *input, struct ss_table *tables)
{
    ss_flops_table(input->selection, input->training, input->options->max_rows, &tables[0]);
    return 1;
}

static size_t build_memory(const struct ss_table_input *input, struct ss_table *tables)
{
    size_t count = ss_add_allocations(input, tables);
    size_t more = add_memory(input, &tables[count]);
    return count + more > 0 ? count + more : 1; /* the empty table, which says why */
}

/* --- the rows --------------------------------------------------------------------------------- */

const struct ss_table_choice ss_sorts_of_samples[] = {
    {"self", SS_SORT_SELF}, {"total", SS_SORT_TOTAL}, {NULL, 0}};

static const struct ss_table_choice range_groups[] = {
    {"path", SS_GROUP_PATH},       {"name", SS_GROUP_NAME},     {"thread", SS_GROUP_THREAD},
    {"process", SS_GROUP_PROCESS}, {"domain", SS_GROUP_DOMAIN}, {NULL, 0}};

/* Counters mark the steps whose operators were recorded, and how; waits are of steps without. */
#define DETAIL_TRACKS                                                                              \
    ss_counter_operators_recorded, ss_counter_detail_recorded, ss_domain_torch_waits
#define SUM_TRACKS ss_domain_torch_sums, ss_domain_torch_module_sums
static const char *const step_tracks[] = {ss_domain_torch,      DETAIL_TRACKS,
                                          ss_domain_cuda_calls, ss_domain_hip_calls,
                                          SS_MEMORY_TRACKS,     NULL};
static const char *const memory_tracks[] = {ss_domain_torch, DETAIL_TRACKS, SS_MEMORY_TRACKS,
                                            SS_ALLOCATION_TRACKS, NULL};
static const char *const operator_tracks[] = {
    ss_domain_torch, ss_domain_cuda_calls, ss_domain_hip_calls, DETAIL_TRACKS, SUM_TRACKS, NULL};
static const char *const module_tracks[] = {ss_domain_torch,
                                            ss_domain_torch_module,
                                            ss_domain_cuda_calls,
                                            ss_domain_hip_calls,
                                            DETAIL_TRACKS,
                                            SUM_TRACKS,
                                            NULL};
static const char *const key_averages_tracks[] = {ss_domain_torch,
                                                  ss_domain_torch_profiler,
                                                  ss_domain_cuda_calls,
                                                  ss_domain_hip_calls,
                                                  DETAIL_TRACKS,
                                                  SS_MEMORY_TRACKS,
                                                  NULL};

enum {
    OF_SAMPLES = SS_ACCEPTS_SAMPLES | SS_ACCEPTS_THREAD,
    OF_STEPS = SS_NEEDS_TRACKS | SS_NEEDS_STEPS
};

const struct ss_table_kind ss_table_kinds[] = {
    {.id = "leaf",
     .summary = "the deepest function of each stack, with the function of a library, or of your "
                "own code, that led there",
     .needs = SS_NEEDS_LINES,
     .accepts = OF_SAMPLES | SS_ACCEPTS_LIBRARY,
     .idle = SS_IDLE_NONE,
     .rows = 10,
     .build = ss_build_leaf},
    {.id = "function",
     .summary = "functions: samples in each, and below it",
     .accepts = OF_SAMPLES,
     .idle = SS_IDLE_MAIN,
     .rows = 10,
     .sorts = ss_sorts_of_samples,
     .sort = SS_SORT_SELF,
     .is_in_diff = true,
     .build = ss_build_functions},
    {.id = "line",
     .summary = "lines: samples in each, and below it",
     .accepts = OF_SAMPLES,
     .idle = SS_IDLE_MAIN,
     .rows = 10,
     .sorts = ss_sorts_of_samples,
     .sort = SS_SORT_SELF,
     .is_in_diff = true,
     .build = ss_build_lines},
    {.id = "file",
     .summary = "files: samples in each, and below it",
     .accepts = OF_SAMPLES,
     .idle = SS_IDLE_MAIN,
     .rows = 10,
     .sorts = ss_sorts_of_samples,
     .sort = SS_SORT_SELF,
     .build = ss_build_files},
    {.id = "thread",
     .page = {SS_PAGE_SAMPLES, 1},
     .summary = "threads and their samples",
     .accepts = OF_SAMPLES,
     .idle = SS_IDLE_MAIN,
     .rows = 10,
     .sorts = ss_sorts_of_samples,
     .sort = SS_SORT_SELF,
     .build = ss_build_threads},
    {.id = "process",
     .page = {SS_PAGE_SAMPLES, 2},
     .summary = "processes: samples in each, and in its descendants",
     .accepts = OF_SAMPLES,
     .idle = SS_IDLE_MAIN,
     .rows = 10,
     .sorts = ss_sorts_of_samples,
     .sort = SS_SORT_SELF,
     .is_not_compared = true,
     .build = ss_build_processes},
    {.id = "tree",
     .summary = "calls by function, callers first",
     .accepts = OF_SAMPLES | SS_ACCEPTS_SHARE,
     .idle = SS_IDLE_MAIN,
     .is_not_compared = true,
     .build = ss_build_tree},
    {.id = "range",
     .page = {SS_PAGE_TRACKS, 18},
     .summary = "annotated ranges, and what each costs",
     .needs = SS_NEEDS_TRACKS,
     .accepts = SS_ACCEPTS_THREAD,
     .idle = SS_IDLE_MAIN,
     .rows = 10,
     .sorts = ss_sorts_of_samples,
     .sort = SS_SORT_TOTAL,
     .groups = range_groups,
     .build = build_ranges},
    {.id = "counter",
     .page = {SS_PAGE_TRACKS, 19},
     .summary = "counters of the program, the host and its devices",
     .needs = SS_NEEDS_TRACKS,
     .accepts = SS_ACCEPTS_THREAD,
     .idle = SS_IDLE_MAIN,
     .build = build_counters},
    {.id = "line-time",
     .page = {SS_PAGE_TRACKS, 20},
     .summary = "lines of the functions that stepscope.lines timed",
     .needs = SS_NEEDS_TRACKS,
     .idle = SS_IDLE_MAIN,
     .build = build_line_times},
    {.id = "sample-range",
     .summary = "annotated ranges, and the samples that fell into each",
     .needs = SS_NEEDS_TRACKS | SS_NEEDS_SAMPLE_RANGES,
     .accepts = OF_SAMPLES,
     .idle = SS_IDLE_MAIN,
     .rows = 10,
     .sorts = ss_sorts_of_samples,
     .sort = SS_SORT_SELF,
     .build = ss_build_sample_ranges},
    {.id = "step",
     .page = {SS_PAGE_TRACKS, 21},
     .summary = "steps of a training, and their phases",
     .needs = OF_STEPS,
     .accepts = SS_ACCEPTS_THREAD,
     .idle = SS_IDLE_MAIN,
     .tracks = step_tracks,
     .quantities = SS_MEMORY_QUANTITIES,
     .is_each_step = true,
     .build = build_steps},
    {.id = "phase",
     .page = {SS_PAGE_STEPS, 1},
     .summary = "phases of a step, with the line where most of each goes, and memory",
     .needs = OF_STEPS,
     .accepts = SS_ACCEPTS_THREAD,
     .idle = SS_IDLE_MAIN,
     .tracks = step_tracks,
     .quantities = SS_MEMORY_QUANTITIES,
     .is_in_diff = true,
     .build = build_phases},
    {.id = "op",
     .columns = "own",
     .summary = "operators of PyTorch: calls, time, and time in a step",
     .needs = OF_STEPS,
     .accepts = SS_ACCEPTS_THREAD,
     .idle = SS_IDLE_MAIN,
     .rows = 20,
     .sorts = ss_call_sorts,
     .sort = SS_OPERATORS_BY_STEP,
     .groups = ss_call_groups,
     .tracks = operator_tracks,
     .is_in_diff = true,
     .build = build_operators},
    {.id = "op",
     .columns = "key_averages",
     .summary = "the same in the columns of torch.profiler's key_averages, with memory at its end",
     .needs = OF_STEPS,
     .accepts = SS_ACCEPTS_THREAD,
     .idle = SS_IDLE_MAIN,
     .rows = 100,
     .sorts = ss_call_sorts,
     .sort = SS_OPERATORS_BY_SELF,
     .groups = ss_key_averages_groups,
     .tracks = key_averages_tracks,
     .quantities = SS_MEMORY_QUANTITIES,
     .hides_steps = true,
     .build = build_key_averages},
    {.id = "module",
     .summary = "modules of a network: forward, backward, and time in a step",
     .needs = OF_STEPS,
     .accepts = SS_ACCEPTS_THREAD,
     .idle = SS_IDLE_MAIN,
     .rows = 20,
     .sorts = ss_call_sorts,
     .sort = SS_OPERATORS_BY_STEP,
     .groups = ss_call_groups,
     .tracks = module_tracks,
     .is_in_diff = true,
     .build = build_modules},
    {.id = "worker",
     .page = {SS_PAGE_TRACKS, 17},
     .summary = "processes that load batches, and processes that wait for them",
     .needs = OF_STEPS,
     .accepts = SS_ACCEPTS_THREAD,
     .idle = SS_IDLE_MAIN,
     .tracks = ss_loader_tracks,
     .add_processes = ss_loader_consumers,
     .build = build_workers},
    {.id = "flops",
     .summary = "floating-point operations of a step, by operator and by module",
     .needs = OF_STEPS,
     .accepts = SS_ACCEPTS_THREAD,
     .idle = SS_IDLE_MAIN,
     .tracks = ss_flops_tracks,
     .build = build_flops},
    {.id = "kernel",
     .aliases = "cuda_gpu_kern_sum gpukernsum",
     .summary = "kernels of devices by name",
     .needs = OF_STEPS,
     .idle = SS_IDLE_MAIN,
     .rows = 20,
     .sorts = ss_work_sorts,
     .sort = SS_WORK_BY_TOTAL,
     .groups = ss_work_groups,
     .hides_steps = true,
     .is_in_diff = true,
     .build = ss_build_kernels},
    {.id = "kernel-line",
     .page = {SS_PAGE_TRACKS, 5},
     .summary = "lines of Python by the time of the kernels and copies that they launched",
     .needs = OF_STEPS,
     .accepts = SS_ACCEPTS_THREAD,
     .idle = SS_IDLE_MAIN,
     .rows = 20,
     .sorts = ss_kernel_line_sorts,
     .sort = SS_KERNEL_LINES_BY_TOTAL,
     .hides_steps = true,
     .build = ss_build_kernel_lines},
    {.id = "memcpy",
     .page = {SS_PAGE_TRACKS, 6},
     .summary = "copies from and to devices: time, size and bandwidth",
     .needs = OF_STEPS,
     .idle = SS_IDLE_MAIN,
     .rows = 20,
     .sorts = ss_work_sorts,
     .sort = SS_WORK_BY_TOTAL,
     .groups = ss_work_groups,
     .hides_steps = true,
     .build = ss_build_copies},
    {.id = "memset",
     .page = {SS_PAGE_TRACKS, 7},
     .summary = "memsets of devices: time and size",
     .needs = OF_STEPS,
     .idle = SS_IDLE_MAIN,
     .rows = 20,
     .sorts = ss_work_sorts,
     .sort = SS_WORK_BY_TOTAL,
     .groups = ss_work_groups,
     .hides_steps = true,
     .build = ss_build_memsets},
    {.id = "gpu-memory",
     .aliases = "cuda_gpu_mem_time_sum gpumemtimesum",
     .summary = "copies and memsets by time",
     .needs = OF_STEPS,
     .idle = SS_IDLE_MAIN,
     .rows = 20,
     .sorts = ss_work_sorts,
     .sort = SS_WORK_BY_TOTAL,
     .groups = ss_work_groups,
     .hides_steps = true,
     .build = ss_build_memory_work},
    {.id = "gpu-memory-size",
     .aliases = "cuda_gpu_mem_size_sum gpumemsizesum",
     .summary = "copies and memsets by size",
     .needs = OF_STEPS,
     .idle = SS_IDLE_MAIN,
     .rows = 20,
     .sorts = ss_work_sorts,
     .sort = SS_WORK_BY_BYTES,
     .groups = ss_work_groups,
     .hides_steps = true,
     .build = ss_build_memory_work},
    {.id = "gpu-work",
     .aliases = "cuda_gpu_sum gpusum",
     .summary = "kernels, copies and memsets by time",
     .needs = OF_STEPS,
     .idle = SS_IDLE_MAIN,
     .rows = 20,
     .sorts = ss_work_sorts,
     .sort = SS_WORK_BY_TOTAL,
     .groups = ss_work_groups,
     .hides_steps = true,
     .build = ss_build_all_work},
    {.id = "api",
     .page = {SS_PAGE_TRACKS, 8},
     .aliases = "cuda_api_sum cudaapisum",
     .summary = "calls of the device's runtime and driver: launches, waits and others",
     .needs = OF_STEPS,
     .accepts = SS_ACCEPTS_THREAD,
     .idle = SS_IDLE_MAIN,
     .rows = 20,
     .sorts = ss_work_sorts,
     .sort = SS_WORK_BY_TOTAL,
     .groups = ss_api_groups,
     .hides_steps = true,
     .build = ss_build_api},
    {.id = "metric",
     .page = {SS_PAGE_TRACKS, 16},
     .summary = "hardware counters of kernels, by kernel",
     .needs = SS_NEEDS_TRACKS,
     .idle = SS_IDLE_MAIN,
     .rows = 100,
     .groups = ss_metric_groups,
     .build = ss_build_metrics},
    {.id = "speed-of-light",
     .page = {SS_PAGE_TRACKS, 3},
     .aliases = "sol",
     .summary = "kernels in percent of what compute, L1, L2 and DRAM can do, by hardware counters, "
                "and which of them limits each",
     .needs = SS_NEEDS_TRACKS,
     .idle = SS_IDLE_MAIN,
     .rows = 20,
     .groups = ss_metric_groups,
     .build = ss_build_light},
    {.id = "occupancy",
     .page = {SS_PAGE_TRACKS, 4},
     .summary = "warps of kernels that are resident: at most, achieved, and what limits them",
     .needs = SS_NEEDS_TRACKS,
     .idle = SS_IDLE_MAIN,
     .rows = 20,
     .build = ss_build_occupancy},
    {.id = "device-step",
     .page = {SS_PAGE_STEPS, 2},
     .summary = "steps on their devices: compute, exposed communication and copies, idle time and "
                "its causes",
     .needs = OF_STEPS,
     .idle = SS_IDLE_MAIN,
     .rows = 20,
     .is_in_diff = true,
     .build = ss_build_device_steps},
    {.id = "wait",
     .page = {SS_PAGE_TRACKS, 9},
     .summary = "calls that wait for a device, and the work that each waits for",
     .needs = OF_STEPS,
     .accepts = SS_ACCEPTS_THREAD,
     .idle = SS_IDLE_MAIN,
     .rows = 20,
     .hides_steps = true,
     .build = ss_build_device_waits},
    {.id = "collective",
     .page = {SS_PAGE_TRACKS, 14},
     .aliases = "device-collective",
     .summary = "collectives over the ranks: who was last, and what the others waited",
     .needs = OF_STEPS,
     .idle = SS_IDLE_MAIN,
     .rows = 20,
     .hides_steps = true,
     .is_not_compared = true,
     .build = ss_build_collectives},
    {.id = "rank",
     .page = {SS_PAGE_TRACKS, 13},
     .summary = "ranks of a run: their steps, and who made the others wait",
     .needs = OF_STEPS,
     .idle = SS_IDLE_MAIN,
     .hides_steps = true,
     .build = ss_build_ranks},
    {.id = "stage",
     .summary = "stages of a step: what each adds to the slowest rank, and where one falls behind",
     .needs = OF_STEPS,
     .idle = SS_IDLE_MAIN,
     .hides_steps = true,
     .build = ss_build_stages},
    {.id = "pipeline",
     .summary = "stages of a pipeline: what each waits for the others, and which is slowest",
     .needs = OF_STEPS,
     .idle = SS_IDLE_MAIN,
     .hides_steps = true,
     .build = ss_build_pipelines},
    {.id = "drift",
     .summary = "steps and stages that become slower or faster over the run, in which ranks",
     .needs = OF_STEPS,
     .idle = SS_IDLE_MAIN,
     .rows = 20,
     .hides_steps = true,
     .is_not_compared = true,
     .build = ss_build_drift},
    {.id = "critical-path",
     .page = {SS_PAGE_TRACKS, 15},
     .summary = "what a step's time is spent on, by the rank that the others wait for, and what if "
                "that were otherwise",
     .needs = OF_STEPS,
     .idle = SS_IDLE_MAIN,
     .rows = 20,
     .hides_steps = true,
     .build = ss_build_critical_path},
    {.id = "stream",
     .page = {SS_PAGE_TRACKS, 10},
     .summary = "streams of devices: kernels, copies, and how busy each is",
     .needs = SS_NEEDS_TRACKS,
     .idle = SS_IDLE_MAIN,
     .rows = 20,
     .build = ss_build_streams},
    {.id = "gpu",
     .page = {SS_PAGE_TRACKS, 11},
     .summary = "devices: how busy each is, and with what",
     .needs = SS_NEEDS_TRACKS,
     .idle = SS_IDLE_MAIN,
     .is_in_diff = true,
     .build = ss_build_gpus},
    {.id = "device-memory",
     .page = {SS_PAGE_TRACKS, 12},
     .summary = "memory that programs take from devices and give back: peak, steps, what is kept",
     .needs = OF_STEPS,
     .idle = SS_IDLE_MAIN,
     .rows = 20,
     .is_in_diff = true,
     .build = ss_build_device_memory},
    {.id = "roofline",
     .page = {SS_PAGE_TRACKS, 1},
     .summary = "kernels against the peaks of their device: FLOPs and bytes estimated from shapes",
     .needs = OF_STEPS,
     .idle = SS_IDLE_MAIN,
     .rows = 20,
     .sorts = ss_roofline_sorts,
     .sort = SS_ROOFLINE_SORT_TIME,
     .groups = ss_roofline_groups,
     .hides_steps = true,
     .build = ss_build_roofline},
    {.id = "step-roofline",
     .page = {SS_PAGE_TRACKS, 2},
     .summary = "steps against the peaks of their device: FLOPs and bytes of all their kernels",
     .needs = OF_STEPS,
     .idle = SS_IDLE_MAIN,
     .rows = 20,
     .hides_steps = true,
     .is_not_compared = true,
     .build = ss_build_step_roofline},
    {.id = "memory",
     .summary = "memory of processes and devices, and by phase",
     .needs = OF_STEPS,
     .accepts = SS_ACCEPTS_THREAD,
     .idle = SS_IDLE_MAIN,
     .tracks = memory_tracks,
     .quantities = SS_MEMORY_QUANTITIES,
     .is_in_diff = true,
     .build = build_memory},
    {.id = "allocation",
     .summary = "allocations by what they are, and what allocated them: alive at the peak, and all",
     .needs = OF_STEPS,
     .idle = SS_IDLE_MAIN,
     .rows = 20,
     .sorts = ss_allocation_sorts,
     .sort = SS_ALLOCATIONS_SORT_PEAK,
     .groups = ss_allocation_groups,
     .tracks = memory_tracks,
     .hides_steps = true,
     .build = ss_build_allocations},
    {.id = NULL}};
