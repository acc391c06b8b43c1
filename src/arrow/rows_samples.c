/* SPDX-License-Identifier: Apache-2.0 */
/* Samples, and the stacks that they refer to. */
#include "arrow/rows_inside.h"

/* The columns of a frame, in this order. */
#define FRAME_KINDS                                                                                \
    {"function", NULL, SS_COLUMN_WORDS}, {"path", NULL, SS_COLUMN_WORDS},                          \
    {                                                                                              \
        "line", NULL, SS_COLUMN_INT32                                                              \
    }
enum frame_column { FRAME_FUNCTION, FRAME_PATH, FRAME_LINE, FRAME_COLUMNS };

static void put_frame(struct ss_columns *columns, size_t first, const struct ss_model *model,
                      uint32_t frame)
{
    const struct ss_model_frame *row = &model->frames.data[frame];
    ss_rows_put_string(columns, first + FRAME_FUNCTION, model, row->function);
    ss_rows_put_string(columns, first + FRAME_PATH, model, row->short_file);
    if (row->line >= 0) {
        ss_columns_put_integer(columns, first + FRAME_LINE, row->line);
    }
}

/* --- samples ---------------------------------------------------------------------------------- */

enum sample_column {
    SAMPLE_TIME,
    SAMPLE_OWNER,
    SAMPLE_WEIGHT = SAMPLE_OWNER + SS_OWNER_COLUMN_COUNT,
    SAMPLE_STATE,
    SAMPLE_GIL,
    SAMPLE_PARTIAL,
    SAMPLE_STACK,
    SAMPLE_DEPTH,
    SAMPLE_FRAME
};

static const struct ss_column_kind sample_columns[] = {{"time_ns", "ns", SS_COLUMN_INT64},
                                                       SS_OWNER_COLUMNS,
                                                       {"weight", "samples", SS_COLUMN_INT64},
                                                       {"state", NULL, SS_COLUMN_WORDS},
                                                       {"gil", NULL, SS_COLUMN_WORDS},
                                                       {"partial", NULL, SS_COLUMN_BOOLEAN},
                                                       {"stack_id", NULL, SS_COLUMN_INT32},
                                                       {"depth", NULL, SS_COLUMN_INT32},
                                                       FRAME_KINDS};

/* What a stored sample and a total have in common. */
struct sample {
    uint32_t thread, stack;
    uint64_t weight;
    uint8_t state, gil;
    bool partial;
};

static void put_sample(struct ss_columns *columns, const struct ss_model *model,
                       const struct sample *sample)
{
    static const char *const states[SS_STATE_COUNT] = {[SS_STATE_ON_CPU] = "on-cpu",
                                                       [SS_STATE_RUNNABLE] = "runnable",
                                                       [SS_STATE_SLEEPING] = "sleeping",
                                                       [SS_STATE_UNINTERRUPTIBLE] =
                                                           "uninterruptible",
                                                       [SS_STATE_STOPPED] = "stopped"};
    static const char *const gil[SS_GIL_COUNT] = {
        [SS_GIL_NONE] = "none", [SS_GIL_HELD] = "held", [SS_GIL_WAITED] = "waited"};
    uint32_t process = model->threads.data[sample->thread].process;
    ss_rows_put_owner(columns, SAMPLE_OWNER, model, process, sample->thread);
    ss_columns_put_natural(columns, SAMPLE_WEIGHT, sample->weight);
    SS_ROWS_PUT_NAME(columns, SAMPLE_STATE, states, sample->state);
    SS_ROWS_PUT_NAME(columns, SAMPLE_GIL, gil, sample->gil);
    ss_columns_put_boolean(columns, SAMPLE_PARTIAL, sample->partial);
    ss_rows_put_id(columns, SAMPLE_STACK, sample->stack);
    if (sample->stack != 0) {
        const struct ss_model_stack *stack = &model->stacks.data[sample->stack];
        ss_columns_put_integer(columns, SAMPLE_DEPTH, stack->depth);
        put_frame(columns, SAMPLE_FRAME, model, stack->frame);
    }
}

static void add_stored(struct ss_columns *columns, const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    for (size_t i = 0; i < model->samples.count; i++) {
        const struct ss_model_sample *row = &model->samples.data[i];
        if (selection->threads[row->thread]) {
            ss_columns_add_row(columns);
            ss_columns_put_natural(columns, SAMPLE_TIME, row->time_ns);
            put_sample(columns, model,
                       &(struct sample){row->thread, row->stack, row->weight, row->state, row->gil,
                                        row->partial});
        }
    }
}

static bool is_raw(const struct ss_model *model, uint32_t thread)
{
    uint32_t process = model->threads.data[thread].process;
    return model->inputs.data[model->processes.data[process].input].is_untimed;
}

/* Raw files have no times: one row for equal samples. */
static void add_totals_of_raw_files(struct ss_columns *columns,
                                    const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    for (size_t i = 0; i < model->totals.count; i++) {
        const struct ss_model_total *row = &model->totals.data[i];
        if (selection->threads[row->thread] && is_raw(model, row->thread)) {
            ss_columns_add_row(columns);
            put_sample(columns, model,
                       &(struct sample){row->thread, row->stack, row->samples, row->state, row->gil,
                                        row->partial});
        }
    }
}

struct ss_columns *ss_rows_of_samples(const struct ss_selection *selection)
{
    struct ss_columns *columns =
        ss_columns_new("samples", sample_columns, sizeof sample_columns / sizeof *sample_columns);
    add_stored(columns, selection);
    add_totals_of_raw_files(columns, selection);
    ss_columns_finish(columns);
    return columns;
}

/* --- stacks ----------------------------------------------------------------------------------- */

enum stack_column {
    STACK_ID,
    STACK_PARENT,
    STACK_DEPTH,
    STACK_FRAME,
    STACK_NAME = STACK_FRAME + FRAME_COLUMNS,
    STACK_FILE,
    STACK_FIRST_LINE,
    STACK_KIND
};

static const struct ss_column_kind stack_columns[] = {
    {"stack_id", NULL, SS_COLUMN_INT32},   {"parent_id", NULL, SS_COLUMN_INT32},
    {"depth", NULL, SS_COLUMN_INT32},      FRAME_KINDS,
    {"name", NULL, SS_COLUMN_WORDS},       {"file", NULL, SS_COLUMN_WORDS},
    {"first_line", NULL, SS_COLUMN_INT32}, {"kind", NULL, SS_COLUMN_WORDS}};

struct ss_columns *ss_rows_of_stacks(const struct ss_selection *selection)
{
    static const char *const kinds[] = {[SS_FRAME_NATIVE] = "native",
                                        [SS_FRAME_KERNEL] = "kernel",
                                        [SS_FRAME_INTERPRETED] = "interpreted",
                                        [SS_FRAME_JIT] = "jit",
                                        [SS_FRAME_GC] = "gc"};
    const struct ss_model *model = selection->model;
    struct ss_columns *columns =
        ss_columns_new("stacks", stack_columns, sizeof stack_columns / sizeof *stack_columns);
    for (uint32_t i = 1; i < model->stacks.count; i++) {
        const struct ss_model_stack *stack = &model->stacks.data[i];
        const struct ss_model_frame *frame = &model->frames.data[stack->frame];
        ss_columns_add_row(columns);
        ss_rows_put_id(columns, STACK_ID, i);
        ss_rows_put_id(columns, STACK_PARENT, stack->parent);
        ss_columns_put_integer(columns, STACK_DEPTH, stack->depth);
        put_frame(columns, STACK_FRAME, model, stack->frame);
        ss_rows_put_string(columns, STACK_NAME, model, frame->name);
        ss_rows_put_string(columns, STACK_FILE, model, frame->file);
        if (frame->first_line >= 0) {
            ss_columns_put_integer(columns, STACK_FIRST_LINE, frame->first_line);
        }
        SS_ROWS_PUT_NAME(columns, STACK_KIND, kinds, frame->kind);
    }
    ss_columns_finish(columns);
    return columns;
}
