/* SPDX-License-Identifier: Apache-2.0 */
/* The variables are those that the launchers set, as observed under Slurm 22.05, MPICH 4.0 and Open
 * MPI 4.1. */
#include "workers/choice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct variable {
    enum ss_env id;
    const char *value;
};

#define SRUN                                                                                       \
    {SS_ENV_SLURM_PROCID, "1"}, {SS_ENV_SLURM_STEP_ID, "0"},                                       \
    {                                                                                              \
        SS_ENV_SLURM_STEP_NUM_TASKS, "4"                                                           \
    }

static const struct launch {
    enum ss_workers_mpi expected;
    struct variable variables[6]; /* ends with a NULL value */
} launches[] = {
    {SS_WORKERS_NONE, {{0, NULL}}},
    {SS_WORKERS_UNJOINED, {SRUN, {0, NULL}}},
    {SS_WORKERS_MPICH, {SRUN, {SS_ENV_PMI_RANK, "1"}, {SS_ENV_PMI_SIZE, "4"}, {0, NULL}}},
    {SS_WORKERS_OPENMPI,
     {SRUN, {SS_ENV_PMIX_RANK, "1"}, {SS_ENV_PMIX_NAMESPACE, "slurm.pmix.9.0"}, {0, NULL}}},
    {SS_WORKERS_MPICH, {SRUN, {SS_ENV_PALS_RANKID, "1"}, {0, NULL}}},
    {SS_WORKERS_MPICH, /* mpiexec of MPICH in a task of srun */
     {SRUN, {SS_ENV_PMI_RANK, "0"}, {SS_ENV_MPI_LOCALRANKID, "0"}, {0, NULL}}},
    {SS_WORKERS_OPENMPI,
     {{SS_ENV_OMPI_COMM_WORLD_RANK, "2"}, {SS_ENV_OMPI_COMM_WORLD_SIZE, "3"}, {0, NULL}}},
    {SS_WORKERS_NONE, /* a batch shell of Slurm, which has no step */
     {{SS_ENV_SLURM_PROCID, "0"}, {SS_ENV_SLURM_JOB_ID, "7"}, {0, NULL}}},
    {SS_WORKERS_NONE, /* torchrun in a task of srun */
     {SRUN, {SS_ENV_RANK, "3"}, {SS_ENV_WORLD_SIZE, "4"}, {SS_ENV_LOCAL_RANK, "3"}}},
};

static const char *value_of(void *context, enum ss_env id)
{
    const struct launch *launch = context;
    for (size_t i = 0; i < sizeof launch->variables / sizeof *launch->variables; i++) {
        if (launch->variables[i].value != NULL && launch->variables[i].id == id) {
            return launch->variables[i].value;
        }
    }
    return NULL;
}

static void test_what_joins_the_processes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof launches / sizeof *launches; i++) {
        struct ss_rank_facts facts;
        struct launch launch = launches[i];
        ss_rank_facts_find(value_of, &launch, &facts);
        if (ss_workers_choose(&facts, value_of, &launch) != launch.expected) {
            fail_msg("launch %zu", i);
        }
    }
}

static void test_names_of_launchers(void **state)
{
    (void)state;
    assert_true(ss_workers_is_launcher("slurmstepd"));
    assert_true(ss_workers_is_launcher("hydra_pmi_prox")); /* cut off */
    assert_true(ss_workers_is_launcher("orted"));
    assert_false(ss_workers_is_launcher("bash"));
    assert_false(ss_workers_is_launcher("slurmstepd2"));
    assert_false(ss_workers_is_launcher(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_joins_the_processes),
        cmocka_unit_test(test_names_of_launchers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
