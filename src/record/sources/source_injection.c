/* SPDX-License-Identifier: Apache-2.0 */
/* The sources "torch", "mpi", "itt" and "nvtx": libstepscope in the program
 * (record/recording/injection.h). What they record arrives in the program's rings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/run/launch.h"
#include "record/sources/recorder.h"
#include "record/sources/source_registry.h"

/* The row of child_env.def that loads stepscope for this source. */
static const struct ss_child_env *row_of(const char *name)
{
    size_t i = 0;
    while (ss_child_env_table[i].injected == NULL ||
           strcmp(ss_child_env_table[i].injected, name) != 0) {
        i++;
    }
    return &ss_child_env_table[i];
}

static enum ss_source_state describe_mpi(const struct ss_injection *injection, char *reason)
{
    if (injection->mpi[0] == '\0') {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "%s", injection->no_mpi);
        return strcmp(injection->no_mpi, "--no-mpi") == 0 ? SS_SOURCE_NOT_REQUESTED
                                                          : SS_SOURCE_NOT_AVAILABLE;
    }
    snprintf(reason, SS_SOURCE_REASON_BYTES, "LD_PRELOAD=%s", injection->mpi);
    return SS_SOURCE_RUNS;
}

static enum ss_source_state describe_preload(const struct ss_injection *injection,
                                             const char *variable, char *reason)
{
    if (injection->preload[0] != '\0') {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "%s=%s", variable, injection->preload);
        return SS_SOURCE_RUNS;
    }
    if (injection->python[0] != '\0') {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "PYTHONPATH=%s; %.300s", injection->python,
                 injection->no_preload);
        return SS_SOURCE_RUNS;
    }
    snprintf(reason, SS_SOURCE_REASON_BYTES, "%s", injection->no_preload);
    return strcmp(injection->no_preload, "--no-torch") == 0 ? SS_SOURCE_NOT_REQUESTED
                                                            : SS_SOURCE_NOT_AVAILABLE;
}

static enum ss_source_state describe_library(const struct ss_injection *injection,
                                             const struct ss_child_env *row, char *reason)
{
    const char *present = getenv(row->name);
    if (ss_injection_user_value(row) != NULL) {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "%s is set already (%s) and was left as it is",
                 row->name, present);
        return SS_SOURCE_NOT_AVAILABLE;
    }
    snprintf(reason, SS_SOURCE_REASON_BYTES, "%s=%s", row->name,
             present != NULL ? present : injection->library);
    return SS_SOURCE_RUNS;
}

static enum ss_source_state start(const struct ss_recorder *recorder, const char *name,
                                  char *reason)
{
    const struct ss_injection *injection = recorder->context.injection;
    const struct ss_child_env *row = row_of(name);
    if (injection->is_off) {
        snprintf(reason, SS_SOURCE_REASON_BYTES, "%s", injection->reason);
        return injection->is_refused ? SS_SOURCE_NOT_REQUESTED : SS_SOURCE_NOT_AVAILABLE;
    }
    if (strcmp(name, ss_source_mpi.name) == 0) {
        return describe_mpi(injection, reason);
    }
    return row->separator != 0 ? describe_preload(injection, row->name, reason)
                               : describe_library(injection, row, reason);
}

static enum ss_source_state start_torch(const struct ss_source_setup *setup, void **source,
                                        char *reason)
{
    struct ss_recorder *recorder = setup->recorder;
    if (recorder->options->attach_pid != 0) { /* the program may load the hooks itself */
        *source = recorder;
        snprintf(reason, SS_SOURCE_REASON_BYTES, "by the program itself");
        return SS_SOURCE_RUNS;
    }
    return start(recorder, ss_source_torch.name, reason);
}

static enum ss_source_state stop_torch(void *source, uint64_t now_ns, char *reason)
{
    const struct ss_recorder *recorder = source;
    (void)now_ns;
    if (recorder->context.torch_route[0] == '\0') {
        return start(recorder, ss_source_torch.name, reason);
    }
    snprintf(reason, SS_SOURCE_REASON_BYTES, "by %s", recorder->context.torch_route);
    return SS_SOURCE_RUNS;
}

static enum ss_source_state start_mpi(const struct ss_source_setup *setup, void **source,
                                      char *reason)
{
    (void)source;
    return start(setup->recorder, ss_source_mpi.name, reason);
}

static enum ss_source_state start_itt(const struct ss_source_setup *setup, void **source,
                                      char *reason)
{
    (void)source;
    return start(setup->recorder, ss_source_itt.name, reason);
}

static enum ss_source_state start_nvtx(const struct ss_source_setup *setup, void **source,
                                       char *reason)
{
    (void)source;
    return start(setup->recorder, ss_source_nvtx.name, reason);
}

const struct ss_source_ops ss_source_torch = {
    .name = "torch",
    .summary = "steps, phases, operators, modules and memory of PyTorch programs",
    .start = start_torch,
    .stop = stop_torch,
};

const struct ss_source_ops ss_source_mpi = {
    .name = "mpi",
    .summary = "calls of MPI: collectives, transfers, what waits for them",
    .start = start_mpi,
};

const struct ss_source_ops ss_source_itt = {
    .name = "itt",
    .summary = "annotations of programs with ITT",
    .start = start_itt,
};

const struct ss_source_ops ss_source_nvtx = {
    .name = "nvtx",
    .summary = "annotations of programs with NVTX 3",
    .start = start_nvtx,
};
