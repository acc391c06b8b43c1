/* SPDX-License-Identifier: Apache-2.0 */
/* The FLOPs of a model in the steady-state steps of its training. */
#include "analysis/roofline/roofline_inside.h"
#include "base/alloc.h"

struct sums {
    double forward, backward, again;
    double of_type[SS_DATATYPES];
    bool *has_flops; /* by step of the training */
};

static const struct ss_step *steady_step(const struct ss_step_summary *training,
                                         const struct ss_model *model, uint32_t range)
{
    const struct ss_model_range *row = &model->ranges.data[range];
    const struct ss_step *step =
        ss_step_at(training, model->tracks.data[row->track].process, row->begin_ns);
    return step != NULL && step->kind == SS_STEP_STEADY ? step : NULL;
}

static void add_call(struct sums *sums, const struct ss_roofline_building *building,
                     const struct ss_operator_work *work, uint32_t range)
{
    uint32_t known = building->known_of[range];
    enum ss_datatype type = known != 0 ? building->known.data[known - 1].type : work->type;
    sums->of_type[type] += work->flops;
    if (ss_sequences_runs_again(&building->sequences, range)) {
        sums->again += work->flops;
    } else if (ss_sequences_node_around(&building->sequences, range) != 0) {
        sums->backward += work->flops;
    } else {
        sums->forward += work->flops;
    }
}

static void add_calls(struct sums *sums, const struct ss_roofline_building *building,
                      const struct ss_step_summary *training)
{
    const struct ss_model *model = building->model;
    for (uint32_t i = 0; i < model->ranges.count; i++) {
        const struct ss_operator_work *work = ss_operator_call_work(&building->calls, i);
        const struct ss_step *step =
            work != NULL && work->is_product ? steady_step(training, model, i) : NULL;
        if (step != NULL) {
            sums->has_flops[step - training->steps.data] = true;
            add_call(sums, building, work, i);
        }
    }
}

static bool has_backward(const struct ss_roofline_building *building,
                         const struct ss_step_summary *training)
{
    for (size_t i = 0; i < building->sequences.nodes.count; i++) {
        uint32_t node = building->sequences.nodes.data[i].range;
        if (steady_step(training, building->model, node) != NULL) {
            return true;
        }
    }
    return false;
}

/* The peaks of the devices on which a process computes; 0: of one of them it is unknown. */
static double process_peak(const struct ss_roofline_building *building, uint32_t process,
                           enum ss_datatype type, const struct ss_device_peaks **first)
{
    double sum = 0;
    for (size_t i = 0; i < building->works->parts.count; i++) {
        const struct ss_device_part *part = &building->works->parts.data[i];
        bool computes = false;
        for (size_t w = part->first; w < part->end && part->process == process && !computes; w++) {
            computes = ss_roofline_counts(building, &building->works->works.data[w]);
        }
        if (computes) {
            const struct ss_device_peaks *peaks = building->peaks[part->device];
            double peak = ss_device_peak(peaks, type, true);
            if (peak == 0) {
                return 0;
            }
            *first = *first == NULL ? peaks : *first;
            sum += peak;
        }
    }
    return sum;
}

static void add_peaks(struct ss_roofline_steps *steps, const struct ss_roofline_building *building,
                      const struct ss_step_summary *training, const bool *has_flops)
{
    bool is_known = true;
    uint32_t process = 0;
    double peak = 0;
    for (size_t i = 0; i < training->steps.count; i++) {
        const struct ss_step *step = &training->steps.data[i];
        if (!has_flops[i]) {
            continue;
        }
        uint64_t ns = step->end_ns - step->begin_ns;
        if (steps->steps == 0 || step->process != process) {
            process = step->process;
            peak = process_peak(building, process, steps->type, &steps->peaks);
        }
        steps->steps++;
        steps->total_ns += ns;
        steps->peak_flops += peak * (double)ns / 1e9;
        is_known = is_known && peak > 0;
    }
    steps->peak_flops = is_known ? steps->peak_flops : 0;
}

/* Kernels that multiply but have no estimate: what they compute is not in the FLOPs of a step. */
static double unknown_percent(const struct ss_roofline_building *building)
{
    double all_ns = 0, unknown_ns = 0;
    for (size_t i = 0; i < building->works->works.count; i++) {
        const struct ss_device_work *work = &building->works->works.data[i];
        enum ss_kernel_family family = ss_roofline_family(building, work->name);
        uint32_t owner = building->owners[i];
        if (ss_roofline_counts(building, work) &&
            (family == SS_KERNEL_MATMUL || family == SS_KERNEL_ATTENTION ||
             family == SS_KERNEL_CONVOLUTION)) {
            bool is_known = owner != 0 && building->known_of[owner - 1] != 0;
            all_ns += (double)(work->end_ns - work->begin_ns);
            unknown_ns += is_known ? 0 : (double)(work->end_ns - work->begin_ns);
        }
    }
    return all_ns > 0 ? 100 * unknown_ns / all_ns : 0;
}

void ss_roofline_steps_find(struct ss_roofline_steps *steps,
                            const struct ss_roofline_building *building,
                            const struct ss_step_summary *training)
{
    *steps = (struct ss_roofline_steps){0};
    if (training == NULL || training->steady == 0) {
        return;
    }
    struct sums sums = {.has_flops = ss_alloc_zero(training->steps.count + 1, sizeof(bool))};
    add_calls(&sums, building, training);
    for (int type = 1; type < SS_DATATYPES; type++) {
        steps->type =
            sums.of_type[type] > sums.of_type[steps->type] ? (enum ss_datatype)type : steps->type;
    }
    steps->is_forward_only = !has_backward(building, training);
    steps->is_assumed = !steps->is_forward_only && sums.backward == 0 && sums.forward > 0;
    steps->backward_flops = steps->is_assumed ? 2 * sums.forward : sums.backward;
    steps->flops = sums.forward + steps->backward_flops;
    steps->again_flops = sums.again;
    steps->unknown_percent = unknown_percent(building);
    add_peaks(steps, building, training, sums.has_flops);
    ss_free(sums.has_flops);
}

double ss_roofline_rate(const struct ss_roofline_steps *steps)
{
    return steps->total_ns > 0 ? steps->flops / (double)steps->total_ns * 1e9 : 0;
}

double ss_roofline_mfu(const struct ss_roofline_steps *steps)
{
    return steps->peak_flops > 0 ? 100 * steps->flops / steps->peak_flops : 0;
}
