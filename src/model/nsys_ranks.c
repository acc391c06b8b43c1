/* SPDX-License-Identifier: Apache-2.0 */
#include "model/nsys_ranks.h"

#include "base/env.h"
#include "wire/json_scan.h"

enum { MOST_VARIABLES = 5 };

/* The first that is set counts: those that are set for each process precede those of batch systems.
 */
static const enum ss_env variables[SS_NSYS_RANK_KINDS][MOST_VARIABLES] = {
    [SS_NSYS_RANK_OF_WORLD] = {SS_ENV_RANK, SS_ENV_OMPI_COMM_WORLD_RANK, SS_ENV_PMIX_RANK,
                               SS_ENV_PMI_RANK, SS_ENV_SLURM_PROCID},
    [SS_NSYS_LOCAL_RANK] = {SS_ENV_LOCAL_RANK, SS_ENV_OMPI_COMM_WORLD_LOCAL_RANK,
                            SS_ENV_MPI_LOCALRANKID, SS_ENV_PALS_LOCAL_RANKID, SS_ENV_SLURM_LOCALID},
    [SS_NSYS_WORLD_SIZE] = {SS_ENV_WORLD_SIZE, SS_ENV_OMPI_COMM_WORLD_SIZE, SS_ENV_PMI_SIZE,
                            SS_ENV_SLURM_NTASKS, SS_ENV_COUNT}};

static struct ss_strview without_quotes(struct ss_strview value)
{
    bool has = value.length >= 2 && value.data[0] == '"' && value.data[value.length - 1] == '"';
    return has ? (struct ss_strview){value.data + 1, value.length - 2} : value;
}

void ss_nsys_ranks_read(struct ss_nsys_ranks *ranks, struct ss_strview variable)
{
    const char *equals = memchr(variable.data, '=', variable.length);
    if (equals == NULL) {
        return;
    }
    struct ss_strview name = {variable.data, (size_t)(equals - variable.data)};
    struct ss_strview value =
        without_quotes((struct ss_strview){equals + 1, variable.length - name.length - 1});
    for (int kind = 0; kind < SS_NSYS_RANK_KINDS; kind++) {
        for (int i = 0; i < MOST_VARIABLES && variables[kind][i] != SS_ENV_COUNT; i++) {
            int64_t number;
            bool is_better = ranks->places[kind] == 0 || i + 1 < ranks->places[kind];
            if (is_better &&
                ss_strview_equal(name, ss_strview_of(ss_env_name(variables[kind][i]))) &&
                ss_json_is_integer(value) && ss_json_decimal(value, 0, &number) && number >= 0 &&
                number <= INT32_MAX) {
                ranks->numbers[kind] = number;
                ranks->places[kind] = i + 1;
            }
        }
    }
}

/* The row of the only process with a context; 0: there are none or several. */
static uint32_t only_process(const struct ss_nsys_rows *rows)
{
    uint32_t process = rows->contexts.count > 0 ? rows->contexts.data[0].process : 0;
    for (size_t i = 1; i < rows->contexts.count; i++) {
        process = rows->contexts.data[i].process == process ? process : 0;
    }
    return process;
}

void ss_nsys_ranks_put(const struct ss_nsys_ranks *ranks, struct ss_nsys_rows *rows)
{
    uint32_t process = only_process(rows);
    if (process == 0 || ranks->places[SS_NSYS_RANK_OF_WORLD] == 0) {
        return;
    }
    const struct ss_model_process *known =
        &ss_model_builder_model(rows->builder)->processes.data[process];
    if (known->has_rank) {
        return;
    }
    struct ss_trace_process row = {.pid = known->pid,
                                   .parent_pid = known->parent_pid,
                                   .has_rank = true,
                                   .rank = (uint32_t)ranks->numbers[SS_NSYS_RANK_OF_WORLD],
                                   .has_local_rank = ranks->places[SS_NSYS_LOCAL_RANK] != 0,
                                   .local_rank = (uint32_t)ranks->numbers[SS_NSYS_LOCAL_RANK],
                                   .world_size = ranks->places[SS_NSYS_WORLD_SIZE] != 0
                                                     ? (uint32_t)ranks->numbers[SS_NSYS_WORLD_SIZE]
                                                     : 0};
    ss_model_builder_process(rows->builder, process, &row);
}
