/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/report/scaling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/devices/device_steps.h"
#include "analysis/ranks/rank_profiles.h"
#include "analysis/table/mean_error.h"
#include "analysis/training/training_facts.h"

static const double joules_of_wh = 3600;

/* --- a run -------------------------------------------------------------------------------------
 */

static size_t count_nodes(const struct ss_model *model)
{
    size_t nodes = 0;
    for (uint32_t i = 0; i < model->inputs.count; i++) {
        uint32_t boot = model->inputs.data[i].boot;
        bool is_new = boot != 0;
        for (uint32_t k = 0; k < i && is_new; k++) {
            is_new = model->inputs.data[k].boot != boot;
        }
        nodes += is_new;
    }
    return nodes;
}

/* Devices that did work. */
static size_t count_devices(const struct ss_model *model)
{
    bool *has_work = ss_alloc_zero(model->devices.count + 1, sizeof *has_work);
    size_t count = 0;
    for (uint32_t i = 1; i < model->streams.count; i++) {
        uint32_t device = model->streams.data[i].device;
        if (device < model->devices.count && device != 0 && !has_work[device]) {
            has_work[device] = true;
            count++;
        }
    }
    ss_free(has_work);
    return count;
}

/* A counter of energy: the ranks of one machine may all record it. */
struct meter {
    uint32_t device, boot, name, parent; /* the last three only without a device */
    double joules;
};
struct meters ss_vec_of(struct meter);

static struct meter *meter_of(struct meters *meters, const struct meter *wanted)
{
    for (size_t i = 0; i < meters->count; i++) {
        struct meter *meter = &meters->data[i];
        if (meter->device == wanted->device && meter->boot == wanted->boot &&
            meter->name == wanted->name && meter->parent == wanted->parent) {
            return meter;
        }
    }
    ss_vec_push(meters, *wanted);
    return &meters->data[meters->count - 1];
}

/* "energy since start" of NVML, and what other sources count so. */
static bool is_energy(const struct ss_model *model, const struct ss_model_track *track)
{
    return track->kind == SS_TRACK_COUNTER && strcmp(ss_model_text(model, track->unit), "J") == 0 &&
           strncmp(ss_model_text(model, track->name), "energy", strlen("energy")) == 0;
}

/* What each counter grew by; of counters of one meter the most complete. */
static double find_energy_wh(const struct ss_model *model)
{
    struct span {
        double first, last;
        bool is_known;
    } *spans = ss_alloc_zero(model->tracks.count + 1, sizeof *spans);
    struct meters meters = {0};
    double joules = 0;
    for (size_t i = 0; i < model->values.count; i++) {
        const struct ss_model_value *value = &model->values.data[i];
        struct span *span = &spans[value->track];
        span->first = span->is_known ? span->first : ss_model_real(value);
        span->last = ss_model_real(value);
        span->is_known = true;
    }
    for (uint32_t i = 1; i < model->tracks.count; i++) {
        const struct ss_model_track *track = &model->tracks.data[i];
        if (!is_energy(model, track) || !spans[i].is_known) {
            continue;
        }
        struct meter wanted = {.device = track->device};
        if (track->device == 0) {
            wanted.boot = model->inputs.data[track->input].boot;
            wanted.name = track->name;
            wanted.parent = track->parent != 0 ? model->tracks.data[track->parent].name : 0;
        }
        struct meter *meter = meter_of(&meters, &wanted);
        meter->joules = fmax(meter->joules, spans[i].last - spans[i].first);
    }
    for (size_t i = 0; i < meters.count; i++) {
        joules += meters.data[i].joules;
    }
    ss_vec_fini(&meters);
    ss_free(spans);
    return joules / joules_of_wh;
}

/* Mean over the ranks; negative: nothing communicates that is recorded, as with a single rank. */
static double find_exposed(const struct ss_rank_profiles *profiles)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < profiles->rows.count; i++) {
        const struct ss_rank_profile *rank = &profiles->rows.data[i];
        if (rank->steps > 0 && rank->step_ns > 0) {
            sum += 100.0 * (double)rank->communication_ns / (double)rank->step_ns;
            count++;
        }
    }
    return count > 0 ? sum / (double)count : -1;
}

void ss_scaling_measure(struct ss_scaling_run *run, const struct ss_selection *selection)
{
    const struct ss_steps_options all = {.size = sizeof all};
    const struct ss_source_lines no_lines = {0};
    struct ss_step_summary training;
    struct ss_training_facts facts;
    ss_step_summary_init(&training, selection, &all);
    ss_training_facts_init(&facts, selection, &training, &no_lines);
    run->ranks = training.processes;
    run->nodes = count_nodes(selection->model);
    run->devices = count_devices(selection->model);
    run->steps = training.steady;
    run->step_ns = training.steady > 0 ? (double)training.mean_ns : 0;
    run->samples_per_s = facts.throughput.samples_per_s;
    run->exposed_percent = find_exposed(ss_steps_ranks(selection, &training));
    run->energy_wh = find_energy_wh(selection->model);
    ss_training_facts_fini(&facts);
    ss_step_summary_fini(&training);
}

/* --- sizes -------------------------------------------------------------------------------------
 */

static double value_at(const struct ss_scaling_run *run, size_t offset)
{
    double value;
    memcpy(&value, (const char *)run + offset, sizeof value);
    return value;
}

/* Of the runs of one size; unknown where one of them lacks it. */
static struct ss_scaling_figure figure_of(const struct ss_scaling_run *runs, size_t count,
                                          size_t ranks, size_t offset, double least)
{
    double *values = ss_alloc_zero(count + 1, sizeof *values), sum = 0;
    size_t found = 0, of_size = 0;
    for (size_t i = 0; i < count; i++) {
        double value = value_at(&runs[i], offset);
        of_size += runs[i].ranks == ranks;
        if (runs[i].ranks == ranks && value >= least) {
            values[found++] = value;
            sum += value;
        }
    }
    struct ss_scaling_figure figure = {NAN, NAN};
    if (found > 0 && found == of_size) {
        figure = (struct ss_scaling_figure){sum / (double)found,
                                            ss_mean_error_independent(values, found)};
    }
    ss_free(values);
    return figure;
}

#define FIGURE(member, least)                                                                      \
    figure_of(runs, count, ranks, offsetof(struct ss_scaling_run, member), least)

static void add_size(struct ss_scaling *scaling, const struct ss_scaling_run *runs, size_t count,
                     size_t ranks)
{
    const double positive = 1e-300;
    struct ss_scaling_size size = {.ranks = ranks,
                                   .step_ns = FIGURE(step_ns, positive),
                                   .samples_per_s = FIGURE(samples_per_s, positive),
                                   .exposed = FIGURE(exposed_percent, 0),
                                   .energy_wh = FIGURE(energy_wh, positive)};
    for (size_t i = 0; i < count; i++) {
        if (runs[i].ranks == ranks) {
            size.runs++;
            size.nodes = runs[i].nodes > size.nodes ? runs[i].nodes : size.nodes;
            size.devices = runs[i].devices > size.devices ? runs[i].devices : size.devices;
        }
    }
    ss_vec_push(&scaling->sizes, size);
}

/* What a size does in a second. */
static struct ss_scaling_figure rate_of(const struct ss_scaling *scaling,
                                        const struct ss_scaling_size *size)
{
    if (scaling->is_by_samples) {
        return size->samples_per_s;
    }
    double rate = (scaling->is_weak ? (double)size->ranks : 1) * 1e9 / size->step_ns.mean;
    return (struct ss_scaling_figure){rate, rate * size->step_ns.error / size->step_ns.mean};
}

/* The errors of the two rates are independent; the smallest size is compared with itself. */
static void find_speed_ups(struct ss_scaling *scaling)
{
    const struct ss_scaling_size *base = &scaling->sizes.data[0];
    struct ss_scaling_figure from = rate_of(scaling, base);
    for (size_t i = 0; i < scaling->sizes.count; i++) {
        struct ss_scaling_size *size = &scaling->sizes.data[i];
        struct ss_scaling_figure to = rate_of(scaling, size);
        double ratio = to.mean / from.mean;
        double error = i == 0 ? NAN : ratio * hypot(to.error / to.mean, from.error / from.mean);
        double ideal = (double)size->ranks / (double)base->ranks;
        size->speed_up = (struct ss_scaling_figure){ratio, error};
        size->efficiency = (struct ss_scaling_figure){100 * ratio / ideal, 100 * error / ideal};
    }
}

static int by_number(const void *left, const void *right)
{
    size_t a = *(const size_t *)left, b = *(const size_t *)right;
    return (a > b) - (a < b);
}

void ss_scaling_init(struct ss_scaling *scaling, const struct ss_scaling_run *runs, size_t count,
                     bool is_weak)
{
    size_t *ranks = ss_alloc_zero(count + 1, sizeof *ranks);
    *scaling = (struct ss_scaling){.is_by_samples = true, .is_weak = is_weak};
    for (size_t i = 0; i < count; i++) {
        ranks[i] = runs[i].ranks;
        scaling->is_by_samples = scaling->is_by_samples && runs[i].samples_per_s > 0;
    }
    qsort(ranks, count, sizeof *ranks, by_number);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || ranks[i] != ranks[i - 1]) {
            add_size(scaling, runs, count, ranks[i]);
        }
    }
    ss_free(ranks);
    find_speed_ups(scaling);
}

void ss_scaling_fini(struct ss_scaling *scaling)
{
    ss_vec_fini(&scaling->sizes);
}

/* --- document ----------------------------------------------------------------------------------
 */

static const struct ss_column columns[SS_SCALING_COLUMNS] = {
    [SS_SCALING_RANKS] = {.key = "ranks", .comparison = SS_COMPARES_KEY},
    [SS_SCALING_NODES] = {.key = "nodes"},
    [SS_SCALING_DEVICES] = {.key = "devices"},
    [SS_SCALING_RUNS] = {.key = "runs"},
    [SS_SCALING_STEP] = {.key = "step_ns", .unit = "ns", .error_key = "step_pm_ns"},
    [SS_SCALING_STEP_ERROR] = {.key = "step_pm_ns", .unit = "ns"},
    [SS_SCALING_SAMPLES] = {.key = "samples_per_s", .unit = "1/s", .error_key = "samples_pm_per_s"},
    [SS_SCALING_SAMPLES_ERROR] = {.key = "samples_pm_per_s", .unit = "1/s"},
    [SS_SCALING_SPEED_UP] = {.key = "speed_up", .error_key = "speed_up_pm"},
    [SS_SCALING_SPEED_UP_ERROR] = {.key = "speed_up_pm"},
    [SS_SCALING_EFFICIENCY] = {.key = "efficiency_percent",
                               .unit = "percent",
                               .error_key = "efficiency_pm_points"},
    [SS_SCALING_EFFICIENCY_ERROR] = {.key = "efficiency_pm_points", .unit = "points"},
    [SS_SCALING_EXPOSED] = {.key = "exposed_communication_percent",
                            .unit = "percent",
                            .error_key = "exposed_communication_pm_points"},
    [SS_SCALING_EXPOSED_ERROR] = {.key = "exposed_communication_pm_points", .unit = "points"},
    [SS_SCALING_ENERGY] = {.key = "energy_wh", .unit = "Wh", .error_key = "energy_pm_wh"},
    [SS_SCALING_ENERGY_ERROR] = {.key = "energy_pm_wh", .unit = "Wh"}};

static void put_figure(struct ss_cell *cells, enum ss_scaling_column column,
                       struct ss_scaling_figure figure)
{
    if (isfinite(figure.mean)) {
        cells[column] = ss_cell_real(figure.mean);
    }
    if (isfinite(figure.error)) {
        cells[column + 1] = ss_cell_real(figure.error);
    }
}

static void put_row(const struct ss_scaling_size *size, struct ss_table *table)
{
    struct ss_cell *cells = ss_table_add_row(table);
    cells[SS_SCALING_RANKS] = ss_cell_integer((int64_t)size->ranks);
    cells[SS_SCALING_RUNS] = ss_cell_integer((int64_t)size->runs);
    if (size->nodes > 0) {
        cells[SS_SCALING_NODES] = ss_cell_integer((int64_t)size->nodes);
    }
    if (size->devices > 0) {
        cells[SS_SCALING_DEVICES] = ss_cell_integer((int64_t)size->devices);
    }
    put_figure(cells, SS_SCALING_STEP, size->step_ns);
    put_figure(cells, SS_SCALING_SAMPLES, size->samples_per_s);
    put_figure(cells, SS_SCALING_SPEED_UP, size->speed_up);
    put_figure(cells, SS_SCALING_EFFICIENCY, size->efficiency);
    put_figure(cells, SS_SCALING_EXPOSED, size->exposed);
    put_figure(cells, SS_SCALING_ENERGY, size->energy_wh);
}

/* "2 to 8 ranks: 3.1 times as fast, 78 % of what they could". */
static void put_headline(const struct ss_scaling *scaling, struct ss_sentence *text)
{
    const struct ss_scaling_size *first = &scaling->sizes.data[0];
    const struct ss_scaling_size *last = &scaling->sizes.data[scaling->sizes.count - 1];
    ss_sentence_add_count(text, first->ranks);
    if (scaling->sizes.count < 2 || !isfinite(last->speed_up.mean)) {
        ss_sentence_add(text, first->ranks == 1 ? " rank" : " ranks");
        ss_sentence_add(text, ": runs of one size alone say nothing of scaling");
        return;
    }
    ss_sentence_add(text, " to ");
    ss_sentence_add_count(text, last->ranks);
    ss_sentence_add(text, " ranks: ");
    ss_sentence_add_decimal(text, last->speed_up.mean, 2);
    ss_sentence_add(text, " times as fast, efficiency ");
    ss_sentence_add_percent(text, last->efficiency.mean, 0);
    if (isfinite(last->exposed.mean)) {
        ss_sentence_add(text, "; exposed communication ");
        ss_sentence_add_percent(text, last->exposed.mean, 0);
        ss_sentence_add(text, " of a step");
    }
}

static void put_notes(const struct ss_scaling *scaling, struct ss_document *document)
{
    bool has_single = false;
    ss_sentence_add(ss_document_add_note(document, SS_NOTE_ASIDE),
                    scaling->is_by_samples
                        ? "speed-up: samples per second, against the fewest ranks"
                    : scaling->is_weak
                        ? "speed-up: steps per second of all ranks together, against the fewest "
                          "ranks (--weak); the runs do not say how large a batch is"
                        : "speed-up: steps per second, against the fewest ranks; the runs do not "
                          "say how large a batch is (--weak: a rank's batch stays the same)");
    for (size_t i = 0; i < scaling->sizes.count; i++) {
        has_single = has_single || scaling->sizes.data[i].runs == 1;
    }
    if (has_single) {
        ss_sentence_add(ss_document_add_note(document, SS_NOTE_ASIDE),
                        "one run of a size has no spread: record repeats to know it");
    }
}

static void put_figures(const struct ss_scaling *scaling, const struct ss_scaling_run *runs,
                        size_t count, struct ss_figure *figures)
{
    ss_figure_put_name(figures, "speed_up_of",
                       ss_strview_of(scaling->is_by_samples ? "samples"
                                     : scaling->is_weak     ? "steps of all ranks"
                                                            : "steps"));
    struct ss_figure *list = ss_figure_put_list(figures, "recordings");
    for (size_t i = 0; i < count; i++) {
        struct ss_figure *run = ss_figure_put_object(list, NULL);
        ss_figure_put_name(run, "path", ss_strview_of(runs[i].name));
        ss_figure_put_count(run, "ranks", runs[i].ranks);
        ss_figure_put_count(run, "nodes", runs[i].nodes);
        ss_figure_put_count(run, "devices", runs[i].devices);
        ss_figure_put_count(run, "steps", runs[i].steps);
        ss_figure_put_known(run, "step_ns", runs[i].step_ns);
        ss_figure_put_known(run, "samples_per_s", runs[i].samples_per_s);
        ss_figure_put_real(run, "exposed_communication_percent",
                           runs[i].exposed_percent >= 0 ? runs[i].exposed_percent : NAN);
        ss_figure_put_known(run, "energy_wh", runs[i].energy_wh);
    }
}

void ss_scaling_compose(const struct ss_scaling *scaling, const struct ss_scaling_run *runs,
                        size_t count, struct ss_document *document)
{
    struct ss_block *title = ss_document_add(document, SS_BLOCK_TITLE);
    title->title.what = "stepscope scaling";
    title->title.of = ss_sentence_of(&document->arena);
    ss_sentence_add_count(&title->title.of, count);
    ss_sentence_add(&title->title.of, count == 1 ? " run" : " runs");
    struct ss_block *headline = ss_document_add(document, SS_BLOCK_HEADLINE);
    headline->headline = ss_sentence_of(&document->arena);
    put_headline(scaling, &headline->headline);
    struct ss_block *block = ss_document_add(document, SS_BLOCK_TABLE);
    block->table.title = "By the number of ranks";
    block->table.data = (struct ss_table){.name = "scaling",
                                          .title = "scaling",
                                          .columns = columns,
                                          .column_count = SS_SCALING_COLUMNS};
    for (size_t i = 0; i < scaling->sizes.count; i++) {
        put_row(&scaling->sizes.data[i], &block->table.data);
    }
    put_notes(scaling, document);
    document->figures = ss_figure_new(&document->arena);
    put_figures(scaling, runs, count, document->figures);
}
