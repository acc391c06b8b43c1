/* SPDX-License-Identifier: Apache-2.0 */
#include "workers/choice.h"

#include <string.h>

/* What Slurm's plug-ins set. Open MPI needs PMIx; MPICH needs PMI (pmi2) or what PALS has
 * (cray_shasta). */
static enum ss_workers_mpi of_slurm(ss_variable_get *get, void *context)
{
    return get(context, SS_ENV_PMIX_RANK) != NULL     ? SS_WORKERS_OPENMPI
           : get(context, SS_ENV_PMI_RANK) != NULL    ? SS_WORKERS_MPICH
           : get(context, SS_ENV_PALS_RANKID) != NULL ? SS_WORKERS_MPICH
                                                      : SS_WORKERS_UNJOINED;
}

enum ss_workers_mpi ss_workers_choose(const struct ss_rank_facts *facts, ss_variable_get *get,
                                      void *context)
{
    if (!facts->has[SS_RANK]) {
        return SS_WORKERS_NONE;
    }
    switch (facts->launcher) {
    case SS_LAUNCHER_OPEN_MPI:
    case SS_LAUNCHER_PMIX:
        return SS_WORKERS_OPENMPI;
    case SS_LAUNCHER_HYDRA:
    case SS_LAUNCHER_PALS:
    case SS_LAUNCHER_PMI:
        return SS_WORKERS_MPICH;
    case SS_LAUNCHER_SLURM:
        return of_slurm(get, context);
    default:
        return SS_WORKERS_NONE;
    }
}

bool ss_workers_is_launcher(const char *name)
{
    static const char *const launchers[] = {
        "mpiexec",      "mpirun",          "mpiexec.hydra",  "mpiexec.mpich",   "mpirun.mpich",
        "mpirun.hydra", "mpiexec.openmpi", "mpiexec.openmp", "mpirun.openmpi",  "orterun",
        "prterun",      "orted",           "prted",          "hydra_pmi_proxy", "hydra_pmi_prox",
        "pmi_proxy",    "slurmstepd",      "palsd"};
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        if (strcmp(name, launchers[i]) == 0) {
            return true;
        }
    }
    return false;
}
