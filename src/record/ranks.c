/* SPDX-License-Identifier: Apache-2.0 */
#include "record/ranks.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/env.h"
#include "platform/procfs.h"

enum { MOST_VARIABLES = 6 };

/* The first variable that is set wins: torchrun's, which are set per process, precede those of the
 * batch systems. SS_ENV_COUNT ends a row. */
static const enum ss_env variables[SS_RANK_KIND_COUNT][MOST_VARIABLES] = {
    [SS_RANK] = {SS_ENV_RANK, SS_ENV_OMPI_COMM_WORLD_RANK, SS_ENV_PMIX_RANK, SS_ENV_PMI_RANK,
                 SS_ENV_SLURM_PROCID, SS_ENV_COUNT},
    [SS_LOCAL_RANK] = {SS_ENV_LOCAL_RANK, SS_ENV_OMPI_COMM_WORLD_LOCAL_RANK, SS_ENV_MPI_LOCALRANKID,
                       SS_ENV_PALS_LOCAL_RANKID, SS_ENV_SLURM_LOCALID, SS_ENV_COUNT},
    [SS_WORLD_SIZE] = {SS_ENV_WORLD_SIZE, SS_ENV_OMPI_COMM_WORLD_SIZE, SS_ENV_PMI_SIZE,
                       SS_ENV_SLURM_NTASKS, SS_ENV_COUNT},
    [SS_LOCAL_WORLD_SIZE] = {SS_ENV_LOCAL_WORLD_SIZE, SS_ENV_OMPI_COMM_WORLD_LOCAL_SIZE,
                             SS_ENV_MPI_LOCALNRANKS, SS_ENV_COUNT},
    [SS_NODE_RANK] = {SS_ENV_GROUP_RANK, SS_ENV_NODE_RANK, SS_ENV_OMPI_COMM_WORLD_NODE_RANK,
                      SS_ENV_SLURM_NODEID, SS_ENV_COUNT}};

static bool read_variable(pid_t pid, enum ss_env variable, char *text, size_t size)
{
    if (pid != 0) {
        return ss_procfs_environment(pid, ss_env_name(variable), text, size);
    }
    const char *own = ss_env_get(variable);
    return own != NULL && (size_t)snprintf(text, size, "%s", own) < size;
}

/* The variable with the value; SS_ENV_COUNT: there is none. */
static enum ss_env find(pid_t pid, enum ss_rank_kind kind, int64_t *value)
{
    int i = 0;
    for (; variables[kind][i] != SS_ENV_COUNT; i++) {
        char text[32];
        char *end;
        if (read_variable(pid, variables[kind][i], text, sizeof text)) {
            long long number = strtoll(text, &end, 10);
            if (end != text && *end == '\0') {
                *value = number;
                break;
            }
        }
    }
    return variables[kind][i];
}

bool ss_rank_get(pid_t pid, enum ss_rank_kind kind, int64_t *value)
{
    return find(pid, kind, value) != SS_ENV_COUNT;
}

/* torchrun as one of srun's tasks sets RANK, perhaps to the same number as SLURM_PROCID. */
bool ss_rank_is_assigned(pid_t pid, pid_t parent)
{
    int64_t own = -1, before = -1;
    enum ss_env variable = find(pid, SS_RANK, &own);
    if (variable == SS_ENV_COUNT || parent <= 0 || !ss_procfs_has_environment(parent)) {
        return false;
    }
    return find(parent, SS_RANK, &before) != variable || before != own;
}
