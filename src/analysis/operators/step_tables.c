/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of steps and phases. */
#include <string.h>

#include "analysis/kernels/launch_places.h"
#include "analysis/steps/steps.h"
#include "analysis/table/owner_cells.h"
#include "base/alloc.h"
#include "base/strbuf.h"

static const char no_steps[] =
    "no steps: the program marked none (stepscope.step(), stepscope_step), and no optimizer of "
    "PyTorch updated a model";

static const struct ss_column step_columns[SS_STEP_COLUMNS] = {
    [SS_STEP_PID] = {.key = "pid"},
    [SS_STEP_PROCESS] = {.key = "process"},
    [SS_STEP_NUMBER] = {.key = "step"},
    [SS_STEP_KIND] = {.key = "kind"},
    [SS_STEP_BEGIN] = {.key = "begin_ns", .unit = "ns"},
    [SS_STEP_DURATION] = {.key = "duration_ns", .unit = "ns"},
};

enum { MAX_KEY_BYTES = 4096 };

/* A phase named "duration" must not have that column's key. */
static const char *phase_key(const struct ss_model *model, const struct ss_step_phase *phase,
                             struct ss_arena *arena)
{
    struct ss_strbuf key;
    ss_strbuf_init(&key, MAX_KEY_BYTES);
    struct ss_strview name = ss_step_phase_text(model, phase);
    bool taken = phase->name != 0 && (ss_strview_equal(name, ss_strview_of("other")) ||
                                      ss_strview_equal(name, ss_strview_of("begin")) ||
                                      ss_strview_equal(name, ss_strview_of("duration")));
    ss_strbuf_append_text(&key, taken ? "phase_" : "");
    ss_strbuf_append_view(&key, name);
    ss_strbuf_append_text(&key, "_ns");
    const char *copy = ss_arena_strndup(arena, key.data, key.length);
    ss_strbuf_fini(&key);
    return copy;
}

static void init_step_columns(const struct ss_step_summary *summary, const struct ss_model *model,
                              struct ss_table *table)
{
    size_t count = SS_STEP_COLUMNS + summary->phases.count;
    struct ss_column *columns = ss_arena_alloc(&table->texts, count * sizeof *columns);
    memcpy(columns, step_columns, sizeof step_columns);
    for (size_t i = 0; i < summary->phases.count; i++) {
        columns[SS_STEP_COLUMNS + i] = (struct ss_column){
            .key = phase_key(model, &summary->phases.data[i], &table->texts), .unit = "ns"};
    }
    table->columns = columns;
    table->column_count = count;
}

const char *ss_step_kind_name(enum ss_step_kind kind)
{
    static const char *const kinds[] = {
        [SS_STEP_STEADY] = "steady",   [SS_STEP_WARM_UP] = "warm-up",
        [SS_STEP_OUTLIER] = "outlier", [SS_STEP_PROFILED] = "profiled",
        [SS_STEP_CUT] = "cut",         [SS_STEP_OUTSIDE] = "outside"};
    return kinds[kind];
}

void ss_steps_table(const struct ss_step_summary *summary, const struct ss_selection *selection,
                    const struct ss_steps_options *options, struct ss_table *table)
{
    const struct ss_model *model = selection->model;
    *table = (struct ss_table){
        .name = "step", .title = "Steps", .is_of_program = true, .empty_text = no_steps};
    init_step_columns(summary, model, table);
    uint64_t origin_ns = UINT64_MAX;
    for (size_t i = 0; i < summary->steps.count; i++) {
        uint64_t begin_ns = summary->steps.data[i].begin_ns;
        origin_ns = begin_ns < origin_ns ? begin_ns : origin_ns;
    }
    for (size_t i = 0; i < summary->steps.count; i++) {
        const struct ss_step *step = &summary->steps.data[i];
        const struct ss_model_process *process = &model->processes.data[step->process];
        if (options->max_rows != 0 && i >= options->max_rows) {
            table->hidden_rows = summary->steps.count - i;
            break;
        }
        struct ss_cell *cells = ss_table_add_row(table);
        cells[SS_STEP_PID] = ss_process_cell(model, step->process);
        if (process->name != 0) {
            cells[SS_STEP_PROCESS] = ss_cell_text(ss_intern_get(&model->strings, process->name));
        }
        cells[SS_STEP_NUMBER] = ss_cell_integer(step->number);
        cells[SS_STEP_KIND] = ss_cell_text(ss_strview_of(ss_step_kind_name(step->kind)));
        cells[SS_STEP_BEGIN] = ss_cell_integer((int64_t)(step->begin_ns - origin_ns));
        cells[SS_STEP_DURATION] = ss_cell_integer((int64_t)(step->end_ns - step->begin_ns));
        for (size_t p = 0; p < summary->phases.count; p++) {
            cells[SS_STEP_COLUMNS + p] =
                ss_cell_integer((int64_t)summary->phase_ns[i * summary->phases.count + p]);
        }
    }
}

static const struct ss_column phase_columns[SS_PHASE_DEVICE_COLUMNS] = {
    [SS_PHASE_NAME] = {.key = "phase", .comparison = SS_COMPARES_KEY},
    [SS_PHASE_PERCENT] = {.key = "percent", .unit = "percent"},
    [SS_PHASE_TOTAL] = {.key = "total_ns", .unit = "ns"},
    [SS_PHASE_MEAN] = {.key = "mean_ns",
                       .unit = "ns",
                       .comparison = SS_COMPARES_STEP,
                       .error_key = "mean_pm_ns"},
    [SS_PHASE_P50] = {.key = "p50_ns", .unit = "ns"},
    [SS_PHASE_P95] = {.key = "p95_ns", .unit = "ns"},
    [SS_PHASE_MAX] = {.key = "max_ns", .unit = "ns"},
    [SS_PHASE_STEPS] = {.key = "steps", .unit = "steps"},
    [SS_PHASE_SAMPLES] = {.key = "samples", .unit = "samples"},
    [SS_PHASE_LINE_PERCENT] = {.key = "line_percent", .unit = "percent of samples"},
    [SS_PHASE_LINE_PATH] = {.key = "line_path"},
    [SS_PHASE_LINE] = {.key = "line"},
    [SS_PHASE_LINE_FUNCTION] = {.key = "line_function"},
    [SS_PHASE_LINE_LEAF] = {.key = "line_calls"},
    [SS_PHASE_MEMORY] = {.key = "memory"},
    [SS_PHASE_MEMORY_END] = {.key = "memory_end_bytes", .unit = "bytes"},
    [SS_PHASE_MEMORY_CHANGE] = {.key = "memory_change_bytes", .unit = "bytes"},
    [SS_PHASE_MEMORY_PEAK] = {.key = "memory_peak_bytes", .unit = "bytes"},
    [SS_PHASE_MEAN_PM] = {.key = "mean_pm_ns", .unit = "ns", .not_in_csv = true},
    [SS_PHASE_DEVICE_PERCENT] = {.key = "device_percent", .unit = "percent"},
    [SS_PHASE_DEVICE_TOTAL] = {.key = "device_total_ns", .unit = "ns"},
    [SS_PHASE_DEVICE_STEP] = {.key = "device_step_ns",
                              .unit = "ns",
                              .comparison = SS_COMPARES_STEP},
    [SS_PHASE_DEVICE_STEP_WORKS] = {.key = "device_step_works",
                                    .unit = "works",
                                    .comparison = SS_COMPARES_STEP},
};

static void put_line(const struct ss_model *model, const struct ss_phase_line *line,
                     struct ss_cell *cells)
{
    if (line->all > 0) {
        cells[SS_PHASE_SAMPLES] = ss_cell_integer((int64_t)line->all);
    }
    if (line->frame == 0) {
        return;
    }
    const struct ss_model_frame *frame = &model->frames.data[line->frame];
    cells[SS_PHASE_LINE_PERCENT] = ss_cell_real(100 * (double)line->samples / (double)line->all);
    cells[SS_PHASE_LINE_PATH] = ss_cell_text(ss_intern_get(&model->strings, frame->short_file));
    if (frame->line >= 0) {
        cells[SS_PHASE_LINE] = ss_cell_integer(frame->line);
    }
    cells[SS_PHASE_LINE_FUNCTION] = ss_cell_text(ss_intern_get(&model->strings, frame->function));
    if (line->leaf != 0) {
        cells[SS_PHASE_LINE_LEAF] =
            ss_cell_text(ss_intern_get(&model->strings, model->frames.data[line->leaf].function));
    }
}

/* --- work of devices, by the phase that launched it ------------------------------------------- */

struct phase_works {
    struct ss_launch_places places;
    struct ss_launch_sum *rows; /* by phase */
    struct ss_launch_sum steady, elsewhere;
};

static size_t phase_of(const struct ss_step_summary *summary, uint32_t process, uint64_t time_ns)
{
    const struct ss_phase_time *time = ss_phase_times_at(&summary->index.phases, process, time_ns);
    size_t at = 0, other = summary->phases.count - 1;
    while (at < other && (time == NULL || summary->phases.data[at].name != time->name)) {
        at++;
    }
    return at;
}

static void phase_works_init(struct phase_works *works, const struct ss_step_summary *summary,
                             const struct ss_selection *selection)
{
    *works =
        (struct phase_works){.rows = ss_alloc_zero(summary->phases.count + 1, sizeof *works->rows)};
    struct ss_launch_places *places = &works->places;
    ss_launch_places_init(places, selection,
                          &(struct ss_launch_places_options){.training = summary});
    for (size_t i = 0; i < places->rows.count; i++) {
        const struct ss_launch_place *place = &places->rows.data[i];
        if (place->is_steady) {
            uint32_t process = places->works->works.data[place->work].process;
            const struct ss_model_range *call = &selection->model->ranges.data[place->call - 1];
            ss_launch_sum_add(&works->rows[phase_of(summary, process, call->begin_ns)], place->ns);
            ss_launch_sum_add(&works->steady, place->ns);
        } else if (place->call != 0) {
            ss_launch_sum_add(&works->elsewhere, place->ns);
        }
    }
}

static void phase_works_fini(struct phase_works *works)
{
    ss_launch_places_fini(&works->places);
    ss_free(works->rows);
}

static void put_works(const struct phase_works *works, size_t phase, struct ss_cell *cells)
{
    const struct ss_launch_sum *sum = &works->rows[phase];
    double steps = (double)works->places.steps;
    if (works->places.steps == 0) {
        return;
    }
    cells[SS_PHASE_DEVICE_PERCENT] =
        ss_cell_real(works->steady.ns > 0 ? 100 * (double)sum->ns / (double)works->steady.ns : 0);
    cells[SS_PHASE_DEVICE_TOTAL] = ss_cell_integer((int64_t)sum->ns);
    cells[SS_PHASE_DEVICE_STEP] = ss_cell_integer((int64_t)(sum->ns / works->places.steps));
    cells[SS_PHASE_DEVICE_STEP_WORKS] = ss_cell_real((double)sum->count / steps);
}

static void add_part(struct ss_sentence *note, const struct ss_launch_sum *sum, const char *what)
{
    if (sum->count > 0) {
        ss_sentence_add(note, "; ");
        ss_sentence_add_duration(note, sum->ns);
        ss_sentence_add(note, what);
    }
}

/* The work that the rows do not have. */
static void note_other_works(const struct phase_works *works, struct ss_table *table)
{
    const struct ss_launch_sum *unlaunched = works->places.unlaunched;
    if (works->steady.count == works->places.all.count) {
        return;
    }
    struct ss_sentence *note = ss_table_add_note(table, SS_NOTE_ASIDE);
    ss_sentence_add(note, "work of devices: ");
    ss_sentence_add_duration(note, works->steady.ns);
    ss_sentence_add(note, " launched in steady-state steps");
    add_part(note, &works->elsewhere, " in other steps or between steps");
    add_part(note, &unlaunched[SS_LAUNCH_BEFORE], " launched before the recording");
    add_part(note, &unlaunched[SS_LAUNCH_LOST], " whose launch was not recorded");
}

/* --- phases ----------------------------------------------------------------------------------- */

void ss_phases_table(const struct ss_step_summary *summary, const struct ss_selection *selection,
                     struct ss_table *table)
{
    struct phase_works works;
    phase_works_init(&works, summary, selection);
    bool has_works = works.places.rows.count > 0;
    *table =
        (struct ss_table){.name = "phase",
                          .title = "Phases of a step",
                          .is_of_program = true,
                          .empty_text = no_steps,
                          .columns = phase_columns,
                          .column_count = has_works ? SS_PHASE_DEVICE_COLUMNS : SS_PHASE_COLUMNS};
    for (size_t i = 0; i < summary->phases.count && summary->steady > 0; i++) {
        const struct ss_step_phase *phase = &summary->phases.data[i];
        struct ss_cell *cells = ss_table_add_row(table);
        cells[SS_PHASE_NAME] = ss_cell_text(ss_step_phase_text(selection->model, phase));
        cells[SS_PHASE_PERCENT] = ss_cell_real(phase->percent);
        cells[SS_PHASE_TOTAL] = ss_cell_integer((int64_t)phase->total_ns);
        cells[SS_PHASE_MEAN] = ss_cell_integer((int64_t)phase->mean_ns);
        cells[SS_PHASE_P50] = ss_cell_integer((int64_t)phase->p50_ns);
        cells[SS_PHASE_P95] = ss_cell_integer((int64_t)phase->p95_ns);
        cells[SS_PHASE_MAX] = ss_cell_integer((int64_t)phase->max_ns);
        cells[SS_PHASE_STEPS] = ss_cell_integer((int64_t)phase->steps);
        put_line(selection->model, &phase->line, cells);
        if (has_works) {
            put_works(&works, i, cells);
        }
    }
    if (has_works && table->row_count > 0) {
        note_other_works(&works, table);
    }
    phase_works_fini(&works);
}
