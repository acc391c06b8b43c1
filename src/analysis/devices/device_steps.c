/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/devices/device_steps.h"

#include "base/alloc.h"
#include "base/search.h"

/* What the steps are cut from; freed when they are. */
struct device_times {
    struct ss_busy *busy; /* by part */
    struct ss_device_gaps gaps;
};

/* --- steps ------------------------------------------------------------------------------------ */

static void add_gaps(const struct ss_device_gaps *found, const struct ss_step *step,
                     struct ss_device_step *row)
{
    const struct ss_device_gap *gaps = found->rows.data;
    /* The first of the part that ends after the step's begin. */
    size_t low =
        ss_search(i, 0, found->rows.count,
                  ss_pair_at_most(gaps[i].part, gaps[i].end_ns, row->part, step->begin_ns));
    uint64_t found_ns = 0;
    for (size_t i = low;
         i < found->rows.count && gaps[i].part == row->part && gaps[i].begin_ns < step->end_ns;
         i++) {
        uint64_t from_ns = gaps[i].begin_ns > step->begin_ns ? gaps[i].begin_ns : step->begin_ns;
        uint64_t to_ns = gaps[i].end_ns < step->end_ns ? gaps[i].end_ns : step->end_ns;
        row->gap_ns[gaps[i].cause] += to_ns - from_ns;
        found_ns += to_ns - from_ns;
    }
    row->gap_ns[SS_GAP_UNKNOWN] += row->times.idle_ns - found_ns; /* outside of all ranges */
}

/* NULL: no step, or one that has no row. */
static const struct ss_step *recorded_step_at(const struct ss_step_summary *training,
                                              uint32_t process, uint64_t time_ns)
{
    const struct ss_step *step = ss_step_at(training, process, time_ns);
    return step != NULL && step->has_device_work ? step : NULL;
}

/* Sums over the works of a part: those that began in the step, and those that it launched. */
static void add_works(const struct ss_device_summary *summary, const struct ss_model *model,
                      const struct ss_step_summary *training, size_t *row_of_step)
{
    for (size_t i = 0; i < summary->works->parts.count; i++) {
        const struct ss_device_part *part = &summary->works->parts.data[i];
        for (size_t j = part->first; j < part->end; j++) {
            const struct ss_device_work *work = &summary->works->works.data[j];
            uint64_t length_ns = work->end_ns - work->begin_ns;
            const struct ss_step *step = recorded_step_at(training, work->process, work->begin_ns);
            if (step != NULL && work->type == SS_EVENT_TYPE_kernel) {
                struct ss_device_step *row =
                    &summary->steps.data[row_of_step[step - training->steps.data] + i];
                row->kernels++;
                row->kernel_ns += length_ns;
            }
            if (work->launch == 0) {
                continue;
            }
            uint64_t launch_ns = model->ranges.data[work->launch - 1].begin_ns;
            step = recorded_step_at(training, work->process, launch_ns);
            if (step == NULL) {
                continue;
            }
            struct ss_device_step *row =
                &summary->steps.data[row_of_step[step - training->steps.data] + i];
            uint64_t late_from_ns = work->begin_ns > step->end_ns ? work->begin_ns : step->end_ns;
            row->launches++;
            row->launched_ns += length_ns;
            row->late_ns += work->end_ns > late_from_ns ? work->end_ns - late_from_ns : 0;
            row->delay_ns += work->begin_ns > launch_ns ? work->begin_ns - launch_ns : 0;
        }
    }
}

/* Steps whose device work was not recorded have no rows. Rows of a step lie at row_of_step + part:
 * the parts of a process are consecutive. */
static void add_steps(struct ss_device_summary *summary, const struct ss_model *model,
                      const struct ss_step_summary *training, const struct device_times *times)
{
    size_t *row_of_step = ss_alloc_zero(training->steps.count + 1, sizeof *row_of_step);
    for (size_t i = 0; i < training->steps.count; i++) {
        const struct ss_step *step = &training->steps.data[i];
        bool is_first = true;
        for (size_t part = 0; part < summary->works->parts.count; part++) {
            if (summary->works->parts.data[part].process != step->process ||
                !step->has_device_work) {
                continue;
            }
            struct ss_device_step row = {.step = i, .part = part};
            ss_busy_add_between(&times->busy[part], step->begin_ns, step->end_ns, &row.times);
            add_gaps(&times->gaps, step, &row);
            if (is_first) { /* may be less than 0 before the part is added */
                row_of_step[i] = summary->steps.count - part;
                is_first = false;
            }
            ss_vec_push(&summary->steps, row);
        }
    }
    if (summary->steps.count > 0) {
        add_works(summary, model, training, row_of_step);
    }
    ss_free(row_of_step);
}

static void add_times(struct ss_busy_times *sum, const struct ss_busy_times *times)
{
    for (size_t i = 0; i < SS_WORK_CLASSES; i++) {
        sum->class_ns[i] += times->class_ns[i];
    }
    sum->idle_ns += times->idle_ns;
    sum->communication_ns += times->communication_ns;
    sum->overlap_ns += times->overlap_ns;
}

static void add_up(struct ss_device_summary *summary, const struct ss_step_summary *training)
{
    struct ss_device_mean *mean = &summary->mean;
    for (size_t i = 0; i < summary->steps.count; i++) {
        const struct ss_device_step *row = &summary->steps.data[i];
        const struct ss_step *step = &training->steps.data[row->step];
        if (step->kind != SS_STEP_STEADY) {
            continue;
        }
        mean->steps++;
        mean->total_ns += step->end_ns - step->begin_ns;
        add_times(&mean->times, &row->times);
        for (size_t cause = 0; cause < SS_GAP_CAUSES; cause++) {
            mean->gap_ns[cause] += row->gap_ns[cause];
        }
        mean->launches += row->launches;
        mean->launched_ns += row->launched_ns;
        mean->late_ns += row->late_ns;
        mean->delay_ns += row->delay_ns;
        mean->kernels += row->kernels;
        mean->kernel_ns += row->kernel_ns;
    }
}

static void init_times(struct device_times *times, const struct ss_model *model,
                       const struct ss_device_works *works, const struct ss_step_summary *training)
{
    times->busy = ss_alloc_zero(works->parts.count + 1, sizeof *times->busy);
    for (size_t i = 0; i < works->parts.count; i++) {
        const struct ss_device_part *part = &works->parts.data[i];
        ss_busy_init(&times->busy[i], &works->works.data[part->first], part->end - part->first);
    }
    ss_device_gaps_init(&times->gaps, model, works, times->busy, &training->index.phases);
}

static void fini_times(struct device_times *times, const struct ss_device_works *works)
{
    for (size_t i = 0; i < works->parts.count; i++) {
        ss_busy_fini(&times->busy[i]);
    }
    ss_free(times->busy);
    ss_device_gaps_fini(&times->gaps);
}

void ss_device_summary_init(struct ss_device_summary *summary, const struct ss_selection *selection,
                            const struct ss_step_summary *training)
{
    *summary = (struct ss_device_summary){.works = ss_selection_works(selection)};
    if (training->steps.count == 0 || !ss_model_has_device_work(selection->model)) {
        return;
    }
    struct device_times times;
    init_times(&times, selection->model, summary->works, training);
    add_steps(summary, selection->model, training, &times);
    fini_times(&times, summary->works);
    add_up(summary, training);
}

static void *build(const void *of)
{
    const struct ss_step_analysis *steps = of;
    struct ss_device_summary *summary = ss_alloc_zero(1, sizeof *summary);
    ss_device_summary_init(summary, steps->selection, steps->training);
    return summary;
}

static void free_part(void *part)
{
    ss_device_summary_fini(part);
    ss_free(part);
}

const struct ss_device_summary *ss_steps_devices(const struct ss_selection *selection,
                                                 const struct ss_step_summary *training)
{
    static const struct ss_analysis_part devices = {"device steps", build, free_part};
    return ss_step_analysis_get(selection, training, &devices);
}

void ss_device_summary_find_queues(struct ss_device_summary *summary, const struct ss_model *model,
                                   const struct ss_step_summary *training)
{
    for (size_t part = 0; part < summary->works->parts.count; part++) {
        struct ss_device_queue queue;
        ss_device_queue_init(&queue, model, summary->works, &summary->works->parts.data[part]);
        for (size_t i = 0; i < summary->steps.count; i++) {
            struct ss_device_step *row = &summary->steps.data[i];
            const struct ss_step *step = &training->steps.data[row->step];
            if (row->part == part) {
                row->queued = ss_device_queue_between(&queue, step->begin_ns, step->end_ns);
            }
        }
        ss_device_queue_fini(&queue);
    }
}

void ss_device_summary_fini(struct ss_device_summary *summary)
{
    ss_vec_fini(&summary->steps);
    *summary = (struct ss_device_summary){0};
}
