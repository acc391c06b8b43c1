/* SPDX-License-Identifier: Apache-2.0 */
/* Each launcher as it was seen to set its variables: the rows marked "seen" are from the launcher
 * itself (Slurm 22.05, Open MPI 4.1, MPICH 4.0, torchrun 2.13), the others from its source or
 * manual. */
#include "base/launchers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { UNKNOWN = -1 };

static const struct row {
    const char *what;
    const char *environment; /* separated by blanks */
    const char *text;
    int local_world_size, restart; /* UNKNOWN: not set */
    const char *run_id;
} rows[] = {
    {"nothing", "HOME=/ PATH=/bin", "no launcher", UNKNOWN, UNKNOWN, ""},
    {"torchrun (seen)",
     "GROUP_RANK=1 GROUP_WORLD_SIZE=2 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 MASTER_PORT=29500 RANK=3 "
     "ROLE_RANK=3 TORCHELASTIC_RESTART_COUNT=2 TORCHELASTIC_RUN_ID=night WORLD_SIZE=4",
     "rank 3 of 4, local rank 1, node 1, from torchrun (RANK)", 2, 2, "night"},
    {"torchrun without a name, in a job",
     "LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 RANK=0 TORCHELASTIC_RESTART_COUNT=0 TORCHELASTIC_RUN_ID=none "
     "WORLD_SIZE=4 GROUP_RANK=0 SLURM_JOB_ID=77",
     "rank 0 of 4, local rank 0, node 0, from torchrun (RANK)", 2, 0, "77"},
    {"torchrun under srun",
     "SLURM_PROCID=1 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_NODEID=1 SLURM_LOCALID=0 "
     "SLURM_JOB_ID=77 LOCAL_RANK=1 LOCAL_WORLD_SIZE=4 RANK=5 TORCHELASTIC_RUN_ID=77 WORLD_SIZE=8 "
     "GROUP_RANK=1",
     "rank 5 of 8, local rank 1, node 1, from torchrun (RANK)", 4, UNKNOWN, "77"},
    {"accelerate",
     "ACCELERATE_MIXED_PRECISION=no LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 RANK=1 GROUP_RANK=0 "
     "TORCHELASTIC_RUN_ID=none TORCHELASTIC_RESTART_COUNT=0 WORLD_SIZE=2",
     "rank 1 of 2, local rank 1, node 0, from accelerate (RANK)", 2, 0, ""},
    {"accelerate without ranks", "ACCELERATE_MIXED_PRECISION=no", "no launcher", UNKNOWN, UNKNOWN,
     ""},
    {"deepspeed", "WORLD_SIZE=8 CROSS_RANK=1 CROSS_SIZE=2 LOCAL_SIZE=4 RANK=6 LOCAL_RANK=2",
     "rank 6 of 8, local rank 2, node 1, from deepspeed (RANK)", 4, UNKNOWN, ""},
    {"composer", "RANK=6 WORLD_SIZE=8 LOCAL_RANK=2 LOCAL_WORLD_SIZE=4 NODE_RANK=1 MASTER_PORT=1",
     "rank 6 of 8, local rank 2, node 1, from composer (RANK)", 4, UNKNOWN, ""},
    {"variables of torch.distributed", "RANK=2 WORLD_SIZE=8 LOCAL_RANK=2",
     "rank 2 of 8, local rank 2, from a launcher of torch.distributed (RANK)", UNKNOWN, UNKNOWN,
     ""},
    {"RANK and WORLD_SIZE", "RANK=2 WORLD_SIZE=8",
     "rank 2 of 8, from the variables of torch.distributed (RANK)", UNKNOWN, UNKNOWN, ""},
    {"RANK alone", "RANK=2", "no launcher", UNKNOWN, UNKNOWN, ""},
    {"Open MPI 4 (seen)",
     "OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=2 OMPI_COMM_WORLD_NODE_RANK=1 "
     "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 PMIX_RANK=1 PMIX_NAMESPACE=1754136577",
     "rank 1 of 2, local rank 1, node 0, from mpiexec of Open MPI (OMPI_COMM_WORLD_RANK)", 2,
     UNKNOWN, "1754136577"},
    {"Open MPI 5 on two nodes in a job",
     "OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=2 OMPI_COMM_WORLD_NODE_RANK=0 "
     "OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4 PMIX_RANK=2 PMIX_NAMESPACE=prterun-a-77@1 "
     "SLURM_JOB_ID=5 SLURM_PROCID=0 SLURM_NTASKS=4",
     "rank 2 of 4, local rank 0, from mpiexec of Open MPI (OMPI_COMM_WORLD_RANK)", 2, UNKNOWN,
     "5.prterun-a-77@1"},
    {"MPICH 4 (seen)",
     "HYDI_CONTROL_FD=7 MPI_LOCALNRANKS=2 MPI_LOCALRANKID=1 PMI_FD=8 PMI_RANK=1 PMI_SIZE=2",
     "rank 1 of 2, local rank 1, node 0, from mpiexec of MPICH or Intel MPI (PMI_RANK)", 2, UNKNOWN,
     ""},
    {"MPICH in a job of Slurm (seen)",
     "MPI_LOCALNRANKS=2 MPI_LOCALRANKID=1 PMI_RANK=3 PMI_SIZE=4 SLURM_LOCALID=0 SLURM_NODEID=1 "
     "SLURM_JOB_ID=1 SLURM_NTASKS=4 SLURM_PROCID=1 SLURM_STEP_ID=3 SLURM_STEP_NUM_TASKS=2",
     "rank 3 of 4, local rank 1, from mpiexec of MPICH or Intel MPI (PMI_RANK)", 2, UNKNOWN, "1.3"},
    {"srun (seen)",
     "SLURM_JOB_ID=1 SLURM_LOCALID=0 SLURM_NODEID=1 SLURM_NTASKS=4 SLURM_PROCID=3 SLURM_STEP_ID=0 "
     "SLURM_STEP_NUM_TASKS=4 SLURM_STEP_TASKS_PER_NODE=3,1",
     "rank 3 of 4, local rank 0, node 1, from srun (SLURM_PROCID)", 1, UNKNOWN, "1.0"},
    {"srun on equal nodes, requeued",
     "SLURM_JOB_ID=1 SLURM_LOCALID=1 SLURM_NODEID=3 SLURM_PROCID=13 SLURM_STEP_ID=2 "
     "SLURM_STEP_NUM_TASKS=14 SLURM_STEP_TASKS_PER_NODE=4(x3),2 SLURM_RESTART_COUNT=1",
     "rank 13 of 14, local rank 1, node 3, from srun (SLURM_PROCID)", 2, 1, "1.2"},
    {"srun --mpi=pmi2 (seen)",
     "PMI_FD=11 PMI_JOBID=1.1 PMI_RANK=1 PMI_SIZE=2 SLURM_JOB_ID=1 SLURM_LOCALID=0 SLURM_NODEID=1 "
     "SLURM_PROCID=1 SLURM_STEP_ID=1 SLURM_STEP_NUM_TASKS=2 SLURM_STEP_TASKS_PER_NODE=1(x2)",
     "rank 1 of 2, local rank 0, node 1, from srun (SLURM_PROCID)", 1, UNKNOWN, "1.1"},
    {"srun --mpi=pmix (seen)",
     "PMIX_HOSTNAME=n0 PMIX_NAMESPACE=slurm.pmix.1.2 PMIX_RANK=1 SLURM_JOB_ID=1 SLURM_LOCALID=1 "
     "SLURM_NODEID=0 SLURM_PROCID=1 SLURM_STEP_ID=2 SLURM_STEP_NUM_TASKS=2 "
     "SLURM_STEP_TASKS_PER_NODE=2",
     "rank 1 of 2, local rank 1, node 0, from srun (SLURM_PROCID)", 2, UNKNOWN, "1.2"},
    {"a batch shell of Slurm (seen)",
     "SLURM_JOB_ID=1 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_NPROCS=4 SLURM_NTASKS=4 SLURM_PROCID=0 "
     "SLURM_TASKS_PER_NODE=3,1",
     "no launcher", UNKNOWN, UNKNOWN, "1"},
    {"a shell of salloc (seen)", "SLURM_JOB_ID=2 SLURM_NTASKS=3 SLURM_TASKS_PER_NODE=3",
     "no launcher", UNKNOWN, UNKNOWN, "2"},
    {"a batch shell whose script sets RANK, in a task",
     "RANK=0 WORLD_SIZE=4 SLURM_JOB_ID=1 SLURM_LOCALID=0 SLURM_NODEID=1 SLURM_PROCID=3 "
     "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4",
     "rank 3 of 4, local rank 0, node 1, from srun (SLURM_PROCID)", UNKNOWN, UNKNOWN, "1.0"},
    {"PALS",
     "PALS_APID=0a-1 PALS_RANKID=13 PALS_LOCAL_RANKID=1 PALS_LOCAL_SIZE=12 PALS_NODEID=1 "
     "PMI_RANK=13 PMI_SIZE=24 PBS_JOBID=123.aurora",
     "rank 13 of 24, local rank 1, node 1, from mpiexec of PALS (PALS_RANKID)", 12, UNKNOWN,
     "123.aurora.0a-1"},
    {"PMI of Cray", "PMI_RANK=13 PMI_SIZE=24 PMI_LOCAL_RANK=1 PMI_LOCAL_SIZE=12",
     "rank 13 of 24, local rank 1, from a launcher with PMI (PMI_RANK)", 12, UNKNOWN, ""},
    {"PMIx without a size", "PMIX_RANK=3 PMIX_NAMESPACE=prte-1@2",
     "rank 3, from a launcher with PMIx (PMIX_RANK)", UNKNOWN, UNKNOWN, "prte-1@2"},
    {"no numbers", "RANK=x WORLD_SIZE=-1 LOCAL_RANK=99999999999", "no launcher", UNKNOWN, UNKNOWN,
     ""},
    {"a list of tasks that is cut",
     "SLURM_PROCID=3 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 SLURM_NODEID=2 "
     "SLURM_STEP_TASKS_PER_NODE=1(x2",
     "rank 3 of 4, node 2, from srun (SLURM_PROCID)", UNKNOWN, UNKNOWN, ""},
};

static void find(const char *environment, struct ss_rank_facts *facts)
{
    char block[1024];
    size_t length = strlen(environment) + 1;
    assert_true(length <= sizeof block);
    memcpy(block, environment, length);
    for (size_t i = 0; i < length; i++) {
        block[i] = block[i] == ' ' ? '\0' : block[i];
    }
    ss_rank_facts_of_environment(block, length, facts);
}

static void test_each_launcher(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        struct ss_rank_facts facts;
        char text[256];
        find(row->environment, &facts);
        ss_rank_facts_text(&facts, text, sizeof text);
        if (strcmp(text, row->text) != 0 || strcmp(facts.run_id, row->run_id) != 0) {
            fail_msg("%s: \"%s\", run \"%s\"", row->what, text, facts.run_id);
        }
        int local = facts.has[SS_LOCAL_WORLD_SIZE] ? (int)facts.numbers[SS_LOCAL_WORLD_SIZE] : -1;
        int restart = facts.has[SS_RESTART] ? (int)facts.numbers[SS_RESTART] : -1;
        if (local != row->local_world_size || restart != row->restart) {
            fail_msg("%s: %d ranks on the node, restart %d", row->what, local, restart);
        }
    }
}

static void test_an_entry_that_is_cut_off_does_not_count(void **state)
{
    (void)state;
    static const char block[] = "WORLD_SIZE=8\0RANK=12";
    struct ss_rank_facts facts;
    ss_rank_facts_of_environment(block, sizeof block - 2, &facts);
    assert_false(facts.has[SS_RANK]);
    ss_rank_facts_of_environment(block, sizeof block, &facts);
    assert_int_equal(facts.numbers[SS_RANK], 12);
    ss_rank_facts_of_environment("", 0, &facts);
    assert_false(facts.has[SS_RANK]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_launcher),
        cmocka_unit_test(test_an_entry_that_is_cut_off_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
