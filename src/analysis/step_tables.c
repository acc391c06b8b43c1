/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of steps and phases. */
#include <string.h>

#include "analysis/steps.h"
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

void ss_steps_table(const struct ss_step_summary *summary, const struct ss_selection *selection,
                    const struct ss_steps_options *options, struct ss_table *table)
{
    static const char *const kinds[] = {[SS_STEP_STEADY] = "usual",
                                        [SS_STEP_WARM_UP] = "warm-up",
                                        [SS_STEP_OUTLIER] = "outlier",
                                        [SS_STEP_CUT] = "cut",
                                        [SS_STEP_OUTSIDE] = "outside"};
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
        cells[SS_STEP_PID] = ss_cell_integer(process->pid);
        if (process->name != 0) {
            cells[SS_STEP_PROCESS] = ss_cell_text(ss_intern_get(&model->strings, process->name));
        }
        cells[SS_STEP_NUMBER] = ss_cell_integer(step->number);
        cells[SS_STEP_KIND] = ss_cell_text(ss_strview_of(kinds[step->kind]));
        cells[SS_STEP_BEGIN] = ss_cell_integer((int64_t)(step->begin_ns - origin_ns));
        cells[SS_STEP_DURATION] = ss_cell_integer((int64_t)(step->end_ns - step->begin_ns));
        for (size_t p = 0; p < summary->phases.count; p++) {
            cells[SS_STEP_COLUMNS + p] =
                ss_cell_integer((int64_t)summary->phase_ns[i * summary->phases.count + p]);
        }
    }
}

static const struct ss_column phase_columns[SS_PHASE_COLUMNS] = {
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

void ss_phases_table(const struct ss_step_summary *summary, const struct ss_selection *selection,
                     struct ss_table *table)
{
    *table = (struct ss_table){.name = "phase",
                               .title = "Phases of a step",
                               .is_of_program = true,
                               .empty_text = no_steps,
                               .columns = phase_columns,
                               .column_count = SS_PHASE_COLUMNS};
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
    }
}
