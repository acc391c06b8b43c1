/* SPDX-License-Identifier: Apache-2.0 */
/* What libstepscope exports for mpi.so and the observers. */
#include <string.h>

#include "annot/define.h"
#include "annot/facts.h"
#include "base/shared_names.h"
#include "inject/mpi/calls.h"
#include "inject/mpi/groups.h"
#include "inject/mpi/requests.h"

static uint32_t define(const char *text)
{
    return ss_define_name(text, strlen(text));
}

static void set_fact(const char *key, const char *text)
{
    ss_fact_set(define(key), (struct ss_event_value){define(text), SS_RING_VALUE_NAME});
}

static void set_number(const char *key, int64_t number)
{
    ss_fact_set(define(key), (struct ss_event_value){(uint64_t)number, SS_RING_VALUE_SIGNED});
}

static void begin_world(const struct ss_mpi_world *world)
{
    set_fact(ss_fact_mpi_library, world->library);
    set_fact(ss_fact_mpi_threads, world->threads);
    set_number(ss_fact_mpi_rank, world->rank);
    set_number(ss_fact_mpi_size, world->size);
}

static void end_world(void)
{
    uint64_t lost = ss_mpi_lost_requests();
    if (lost > 0) {
        set_number(ss_fact_mpi_lost_requests, (int64_t)lost);
    }
}

static const struct ss_mpi_recorder recorder = {.version = SS_MPI_RECORDER_VERSION,
                                                .begin = ss_mpi_begin,
                                                .end = ss_mpi_end,
                                                .find_group = ss_mpi_find_group,
                                                .add_group = ss_mpi_add_group,
                                                .remove_group = ss_mpi_remove_group,
                                                .group_size = ss_mpi_group_size,
                                                .lock_ranks = ss_mpi_lock_ranks,
                                                .unlock_ranks = ss_mpi_unlock_ranks,
                                                .put_request = ss_mpi_put_request,
                                                .put_persistent = ss_mpi_put_persistent,
                                                .start_request = ss_mpi_start_request,
                                                .free_request = ss_mpi_free_request,
                                                .claim = ss_mpi_claim,
                                                .complete = ss_mpi_complete,
                                                .release = ss_mpi_release,
                                                .define = define,
                                                .begin_world = begin_world,
                                                .end_world = end_world};

/* NULL: another version. */
__attribute__((visibility("default"))) const struct ss_mpi_recorder *
stepscope_mpi_recorder(uint32_t version);
const struct ss_mpi_recorder *stepscope_mpi_recorder(uint32_t version)
{
    return version == SS_MPI_RECORDER_VERSION ? &recorder : NULL;
}

/* The program has an MPI that no observer is for. */
__attribute__((visibility("default"))) void stepscope_mpi_missing(void);
void stepscope_mpi_missing(void)
{
    set_fact(ss_fact_mpi_problem, "no library of this installation observes the program's MPI: "
                                  "build stepscope with its headers");
}
