/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/rows.h"

#include <string.h>

#include "arrow/rows_inside.h"

const struct ss_row_kind ss_row_kinds[] = {
    {.id = "ranges",
     .summary = "annotated ranges, operators, steps, phases, kernels, …: each with its begin, end "
                "and fields",
     .build = ss_rows_of_ranges},
    {.id = "marks", .summary = "named moments", .build = ss_rows_of_marks},
    {.id = "counters", .summary = "values of counters", .build = ss_rows_of_counters},
    {.id = "flows",
     .summary = "points of arrows between ranges: the points of one flow, by time, are its path",
     .build = ss_rows_of_flows},
    {.id = "samples",
     .summary = "samples: thread, state, stack, and its innermost frame",
     .needs_samples = true,
     .build = ss_rows_of_samples},
    {.id = "stacks",
     .summary = "nodes of the call tree that samples refer to: a frame and its caller's node",
     .needs_samples = true,
     .build = ss_rows_of_stacks},
    {.id = "inputs", .summary = "files of the recording", .build = ss_rows_of_inputs},
    {.id = "hosts", .summary = "machines", .build = ss_rows_of_hosts},
    {.id = "processes", .summary = "processes", .build = ss_rows_of_processes},
    {.id = "threads", .summary = "threads", .build = ss_rows_of_threads},
    {.id = "devices", .summary = "accelerators", .build = ss_rows_of_devices},
    {.id = "contexts", .summary = "what processes have on devices", .build = ss_rows_of_contexts},
    {.id = "streams", .summary = "queues of work on devices", .build = ss_rows_of_streams},
    {.id = "groups", .summary = "communication groups", .build = ss_rows_of_groups},
    {.id = "tracks", .summary = "rows of the timeline", .build = ss_rows_of_tracks},
    {.id = NULL}};

const struct ss_row_kind *ss_row_kind_find(const char *id)
{
    for (const struct ss_row_kind *kind = ss_row_kinds; kind->id != NULL; kind++) {
        if (strcmp(kind->id, id) == 0) {
            return kind;
        }
    }
    return NULL;
}

void ss_row_kind_load(const struct ss_row_kind *kind, struct ss_model_load *load)
{
    load->no_tracks = kind->needs_samples;
    load->keep_samples = kind->needs_samples;
}

/* --- shared by the kinds ---------------------------------------------------------------------- */

void ss_rows_put_id(struct ss_columns *columns, size_t column, uint32_t id)
{
    if (id != 0) {
        ss_columns_put_integer(columns, column, id);
    }
}

void ss_rows_put_string(struct ss_columns *columns, size_t column, const struct ss_model *model,
                        uint32_t string)
{
    if (string != 0 && !ss_columns_put_again(columns, column, string)) {
        ss_columns_put_word(columns, column, string, ss_intern_get(&model->strings, string));
    }
}

void ss_rows_put_name(struct ss_columns *columns, size_t column, const char *const *names,
                      size_t count, size_t index)
{
    if (index < count && names[index] != NULL) {
        ss_columns_put_word(columns, column, (uint32_t)index, ss_strview_of(names[index]));
    }
}

void ss_rows_put_owner(struct ss_columns *columns, size_t first, const struct ss_model *model,
                       uint32_t process, uint32_t thread)
{
    ss_rows_put_id(columns, first, process);
    if (process != 0) {
        const struct ss_model_process *row = &model->processes.data[process];
        if (row->pid >= 0) {
            ss_columns_put_integer(columns, first + 1, row->pid);
        }
        ss_rows_put_string(columns, first + 2, model, row->name);
    }
    ss_rows_put_id(columns, first + 3, thread);
    if (thread != 0) {
        const struct ss_model_thread *row = &model->threads.data[thread];
        if (row->tid >= 0) {
            ss_columns_put_integer(columns, first + 4, row->tid);
        }
        ss_rows_put_string(columns, first + 5, model, row->name);
    }
}
