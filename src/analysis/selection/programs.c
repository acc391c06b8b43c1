/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/selection/programs.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/selection/range_runs.h"
#include "base/alloc.h"

/* --- which process belongs to which ----------------------------------------------------------- */

/* The rank of a process: its topmost ancestor of the nearest rank, since processes below a rank
 * inherit its environment. 0: none. */
static uint32_t rank_above(const struct ss_model *model, uint32_t process)
{
    uint32_t found = 0;
    for (; process != 0; process = model->processes.data[process].parent) {
        const struct ss_model_process *row = &model->processes.data[process];
        bool is_same =
            found != 0 && row->has_rank && row->rank == model->processes.data[found].rank;
        if ((found == 0 && row->has_rank) || is_same) {
            found = process;
        } else if (found != 0) {
            break;
        }
    }
    return found;
}

static uint32_t process_of(const struct ss_model *model, uint32_t track)
{
    const struct ss_model_track *row = &model->tracks.data[track];
    return row->thread != 0 ? model->threads.data[row->thread].process : row->process;
}

/* By process: it has ranges, marks or values. */
static bool *find_active(const struct ss_model *model)
{
    bool *is_active = ss_alloc_zero(model->processes.count + 1, sizeof *is_active);
    for (size_t i = 0; i < model->ranges.count; i++) {
        is_active[process_of(model, model->ranges.data[i].track)] = true;
    }
    for (size_t i = 0; i < model->marks.count; i++) {
        is_active[process_of(model, model->marks.data[i].track)] = true;
    }
    return is_active;
}

/* By process: it has a track of a device. */
static bool *find_users(const struct ss_model *model)
{
    bool *uses_device = ss_alloc_zero(model->processes.count + 1, sizeof *uses_device);
    for (uint32_t i = 1; i < model->tracks.count; i++) {
        uses_device[model->tracks.data[i].process] |= model->tracks.data[i].device != 0;
    }
    return uses_device;
}

static uint32_t user_above(const struct ss_model *model, const bool *uses_device, uint32_t process)
{
    while (process != 0 && !uses_device[process]) {
        process = model->processes.data[process].parent;
    }
    return process;
}

/* Of an input: its first process, and one of its ranks and one of the users of its devices. */
struct heads_of_input {
    uint32_t first, rank, user; /* processes */
    bool has_ranks, has_users;  /* more than one */
};

static void count_head(struct heads_of_input *input, uint32_t process, uint32_t rank, uint32_t user)
{
    input->first = input->first == 0 ? process : input->first;
    input->has_ranks |= rank != 0 && input->rank != 0 && input->rank != rank;
    input->has_users |= user != 0 && input->user != 0 && input->user != user;
    input->rank = rank != 0 ? rank : input->rank;
    input->user = user != 0 ? user : input->user;
}

/* By process: the one that stands for its program; 0: it belongs to none. Beside several ranks, or
 * several users of devices, another process belongs to none of them. */
static uint32_t *find_heads(const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    bool *uses_device = find_users(model);
    uint32_t *heads = ss_alloc_zero(model->processes.count + 1, sizeof *heads);
    struct heads_of_input *inputs = ss_alloc_zero(model->inputs.count + 1, sizeof *inputs);
    for (uint32_t i = 1; i < model->processes.count; i++) {
        if (selection->processes[i]) {
            heads[i] = rank_above(model, i);
            count_head(&inputs[model->processes.data[i].input], i, heads[i],
                       uses_device[i] ? i : 0);
        }
    }
    for (uint32_t i = 1; i < model->processes.count; i++) {
        const struct heads_of_input *input = &inputs[model->processes.data[i].input];
        if (selection->processes[i] && heads[i] == 0 && !input->has_ranks) {
            heads[i] = input->rank != 0   ? input->rank
                       : input->has_users ? user_above(model, uses_device, i)
                                          : input->first;
        }
    }
    ss_free(inputs);
    ss_free(uses_device);
    return heads;
}

/* --- programs --------------------------------------------------------------------------------- */

static void add_program(struct ss_programs *programs, const struct ss_selection *selection,
                        uint32_t head, const uint32_t *heads)
{
    const struct ss_model *model = selection->model;
    const struct ss_model_process *row = &model->processes.data[head];
    struct ss_program program = {.selection = *selection,
                                 .process = head,
                                 .input = row->input,
                                 .has_rank = row->has_rank,
                                 .rank = row->has_rank ? row->rank : 0,
                                 .world_size = row->world_size};
    program.selection.processes = ss_alloc_zero(model->processes.count + 1, sizeof(bool));
    program.selection.threads = ss_alloc_zero(model->threads.count + 1, sizeof(bool));
    for (uint32_t i = 1; i < model->processes.count; i++) {
        program.selection.processes[i] = heads[i] == head;
    }
    for (uint32_t i = 1; i < model->threads.count; i++) {
        program.selection.threads[i] =
            selection->threads[i] && heads[model->threads.data[i].process] == head;
    }
    ss_vec_push(&programs->rows, program);
}

static int compare_programs(const void *left, const void *right)
{
    const struct ss_program *a = left, *b = right;
    if (a->has_rank != b->has_rank) {
        return a->has_rank ? -1 : 1;
    }
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    if (a->input != b->input) {
        return a->input < b->input ? -1 : 1;
    }
    return a->process < b->process ? -1 : a->process > b->process;
}

void ss_programs_init(struct ss_programs *programs, const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    uint32_t *heads = find_heads(selection);
    bool *is_active = find_active(model);
    bool *is_added = ss_alloc_zero(model->processes.count + 1, sizeof *is_added);
    *programs = (struct ss_programs){0};
    for (uint32_t i = 1; i < model->processes.count; i++) {
        uint32_t head = heads[i];
        if (!is_active[i] || !selection->processes[i]) {
            continue;
        }
        if (head == 0) {
            programs->left_out++;
        } else if (!is_added[head]) {
            is_added[head] = true;
            add_program(programs, selection, head, heads);
        }
    }
    if (programs->rows.count > 1) {
        qsort(programs->rows.data, programs->rows.count, sizeof *programs->rows.data,
              compare_programs);
    }
    for (size_t i = 1; i < programs->rows.count; i++) {
        struct ss_program *row = &programs->rows.data[i];
        if (!row->has_rank && !row[-1].has_rank && row->input == row[-1].input) {
            row->shares_input = row[-1].shares_input = true;
        }
    }
    ss_free(heads);
    ss_free(is_active);
    ss_free(is_added);
}

void ss_programs_fini(struct ss_programs *programs)
{
    for (size_t i = 0; i < programs->rows.count; i++) {
        ss_free(programs->rows.data[i].selection.processes);
        ss_free(programs->rows.data[i].selection.threads);
    }
    ss_vec_fini(&programs->rows);
}

/* --- steps ------------------------------------------------------------------------------------ */

void ss_program_steps(const struct ss_program *program, struct ss_program_steps *begins)
{
    const struct ss_model *model = program->selection.model;
    const struct ss_range_run *run = NULL, *longest = NULL;
    struct ss_range_runs runs;
    ss_range_runs_init(&runs, model);
    while ((run = ss_range_runs_next(&runs, run, SS_ROLE_STEPS)) != NULL) {
        bool is_own = program->selection.processes[ss_range_run_process(model, run)];
        if (is_own && (longest == NULL || run->end - run->first > longest->end - longest->first)) {
            longest = run;
        }
    }
    ss_vec_clear(begins);
    for (size_t i = longest != NULL ? longest->first : 0; longest != NULL && i < longest->end;
         i++) {
        ss_vec_push(begins, model->ranges.data[i].begin_ns);
    }
    ss_range_runs_fini(&runs);
}
