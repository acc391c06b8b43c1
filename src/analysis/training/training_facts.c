/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/training/training_facts.h"

#include "analysis/steps/ranges.h"
#include "base/shared_names.h"
#include "model/core/domains.h"

const char *const ss_training_tracks[] = {
    /* Domains of ranges. */
    ss_domain_torch, ss_domain_torch_module, ss_domain_torch_data, ss_domain_torch_checkpoint,
    ss_domain_torch_compile, ss_domain_torch_flops, ss_domain_python_gc, SS_DOMAIN_PYTHON,
    ss_domain_cuda_calls, ss_domain_hip_calls, SS_DOMAIN_MEMORY, ss_domain_cuda_memory,
    "CUDA compilations*",
    /* Counters of the program. */
    ss_counter_ready_batches, ss_counter_operators_recorded, ss_counter_device_work_recorded,
    ss_counter_detail_recorded, ss_domain_torch_waits, ss_domain_torch_sums,
    ss_domain_torch_module_sums, ss_counter_batch_examples, ss_counter_batch_tokens,
    ss_counter_batch_length, ss_counter_batch_elements, SS_MEMORY_TRACKS,
    /* Of DeepSpeed's flops profiler: python/stepscope/_deepspeed.py. */
    "deepspeed params per GPU", "deepspeed fwd MACs per GPU", "deepspeed fwd flops per GPU",
    "deepspeed fwd latency", "deepspeed fwd FLOPS per GPU", "deepspeed batch size per GPU",
    "deepspeed bwd latency", "deepspeed step latency", "deepspeed iter latency",
    "deepspeed bwd FLOPS per GPU (assumed)", "deepspeed FLOPS per GPU (bwd assumed)",
    "deepspeed samples/s",
    /* CPU/busy of the machine, container/CPU limit and CPU used, usage/CPU of processes. */
    "busy", "CPU limit", "CPU used", "CPU", NULL};

bool ss_training_has_steps(const struct ss_training_facts *facts, uint32_t process)
{
    return ss_step_has_process(facts->steps, process);
}

uint32_t ss_training_trainer(const struct ss_training_facts *facts, uint32_t process)
{
    while (process != 0 && !ss_training_has_steps(facts, process)) {
        process = facts->model->processes.data[process].parent;
    }
    return process;
}

bool ss_training_has_run(const struct ss_training_facts *facts,
                         const struct ss_selection *selection, const struct ss_range_run *run)
{
    uint32_t process = ss_range_run_process(facts->model, run);
    uint32_t trainer = ss_training_trainer(facts, process);
    return trainer == process ? ss_selection_has_track(selection, run->track)
                              : trainer != 0 && selection->processes[trainer];
}

const char *ss_training_range_name(const struct ss_model *model, const struct ss_model_range *range)
{
    return ss_model_text(model, model->names.data[model->paths.data[range->path].name].text);
}

uint64_t ss_training_per(uint64_t sum, uint64_t count)
{
    return count > 0 ? sum / count : 0;
}

static void find_step_means(struct ss_training_facts *facts)
{
    uint64_t sum_ns = 0, early = 0, later_ns = 0, later = 0;
    for (size_t i = 0; i < facts->steps->steps.count; i++) {
        const struct ss_step *step = &facts->steps->steps.data[i];
        uint64_t ns = step->end_ns - step->begin_ns;
        bool is_first = i == 0 || step->process != step[-1].process;
        if (step->kind != SS_STEP_CUT && step->kind != SS_STEP_PROFILED &&
            ns < UINT64_MAX - sum_ns - later_ns) {
            bool counts = step->kind == SS_STEP_WARM_UP || step->kind == SS_STEP_STEADY;
            sum_ns += counts ? ns : 0;
            early += counts;
            later_ns += step->kind != SS_STEP_WARM_UP ? ns : 0;
            later += step->kind != SS_STEP_WARM_UP;
            facts->first_ns = is_first && ns > facts->first_ns ? ns : facts->first_ns;
        }
    }
    facts->warm_mean_ns = ss_training_per(sum_ns, early);
    facts->spread_ns = ss_training_per(later_ns, later);
}

static void find_devices(struct ss_training_facts *facts, const struct ss_selection *selection,
                         const struct ss_step_summary *steps)
{
    ss_device_facts_find(&facts->device, selection, steps);
    if (facts->device.has_steps && facts->flops.steps == 0) {
        ss_roofline_find_steps(&facts->roofline, selection, steps);
    }
}

static void find_pipeline(struct ss_training_facts *facts, const struct ss_selection *selection)
{
    struct ss_pipelines pipelines;
    ss_pipelines_init(&pipelines, selection, facts->steps);
    facts->pipeline_slowest = -1;
    for (size_t i = 0; i < pipelines.rows.count; i++) {
        const struct ss_pipeline *row = &pipelines.rows.data[i];
        if (row->steps > 0 && row->stages > facts->pipeline.stages) {
            facts->pipeline = *row;
            facts->pipeline_slowest = pipelines.stages.data[row->slowest].rank;
        }
    }
    ss_pipelines_fini(&pipelines);
}

static void find_ranks(struct ss_training_facts *facts, const struct ss_selection *selection)
{
    facts->late = ss_steps_lateness(selection, facts->steps);
    facts->joint_communication = ss_training_phase(facts, ss_phase_communication) != NULL
                                     ? ss_joint_communication_share(selection, facts->steps)
                                     : -1;
    facts->exposed = ss_exposed_on_host(selection->model, facts->steps);
    find_pipeline(facts, selection);
}

/* Long: one call for each group of facts. */
void ss_training_facts_init(struct ss_training_facts *facts, const struct ss_selection *selection,
                            const struct ss_step_summary *steps,
                            const struct ss_source_lines *source)
{
    *facts = (struct ss_training_facts){.steps = steps,
                                        .model = selection->model,
                                        .step_ns = steps->mean_ns,
                                        .cpu_busy = -1,
                                        .cpu_own = -1,
                                        .threads = -1,
                                        .workers = -1,
                                        .batch_size = -1,
                                        .worker_busy = -1,
                                        .device.summary = ss_steps_devices(selection, steps)};
    ss_training_settings_find(facts);
    find_step_means(facts);
    facts->evaluations =
        ss_phase_spread_of(facts->steps, ss_training_phase(facts, ss_phase_evaluation));
    facts->checkpoints =
        ss_phase_spread_of(facts->steps, ss_training_phase(facts, ss_phase_checkpoint));
    ss_flops_figures_find(&facts->flops, selection, steps);
    ss_throughput_find(&facts->throughput, selection, steps, facts->batch_size);
    ss_training_cores_find(facts);
    ss_memories_init(&facts->memories, selection, steps);
    ss_drifts_init(&facts->drifts, selection->model, steps);
    if (steps->steady == 0) {
        return;
    }
    find_devices(facts, selection, steps);
    ss_training_operators_find(facts, selection);
    ss_training_cells_find(facts, selection);
    ss_training_loading_find(facts, selection);
    ss_training_slow_samples_find(facts, selection);
    ss_training_interruptions_find(facts, selection);
    ss_training_epochs_find(facts, selection);
    ss_training_period_find(facts);
    find_ranks(facts, selection);
    ss_training_samples_find(facts, selection, source);
    ss_waits_find(&facts->waits, selection, steps, source, facts->workers >= 0);
}

void ss_training_facts_fini(struct ss_training_facts *facts)
{
    ss_memories_fini(&facts->memories);
    ss_drifts_fini(&facts->drifts);
    ss_device_facts_fini(&facts->device);
}

const struct ss_step_phase *ss_training_phase(const struct ss_training_facts *facts,
                                              const char *name)
{
    for (size_t i = 0; i < facts->steps->phases.count; i++) {
        const struct ss_step_phase *phase = &facts->steps->phases.data[i];
        struct ss_strview text = ss_step_phase_text(facts->model, phase);
        if (ss_strview_equal(text, ss_strview_of(name))) {
            return phase;
        }
    }
    return NULL;
}

uint64_t ss_training_phase_ns(const struct ss_training_facts *facts, const char *name)
{
    const struct ss_step_phase *phase = ss_training_phase(facts, name);
    return phase != NULL ? phase->mean_ns : 0;
}
