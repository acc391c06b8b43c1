/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/mpi/calls.h"

#include <stddef.h>
#include <string.h>

#include "annot/define.h"
#include "annot/events.h"
#include "base/shared_names.h"
#include "inject/mpi/groups.h"

static uint32_t domain_of_mpi(void)
{
    static _Atomic uint32_t domain;
    uint32_t known = atomic_load_explicit(&domain, memory_order_relaxed);
    if (__builtin_expect(known == 0, 0)) {
        known = ss_define_domain(ss_domain_mpi, sizeof ss_domain_mpi - 1);
        atomic_store_explicit(&domain, known, memory_order_relaxed);
    }
    return known;
}

static uint32_t name_of(struct ss_mpi_function *function, bool is_collective)
{
    uint32_t name = atomic_load_explicit(&function->names[is_collective], memory_order_relaxed);
    if (__builtin_expect(name == 0, 0)) {
        enum ss_event_type type = is_collective ? SS_EVENT_TYPE_collective : SS_EVENT_TYPE_range;
        name = ss_define_styled(ss_define_name(function->text, strlen(function->text)),
                                (struct ss_name_style){.type = type});
        atomic_store_explicit(&function->names[is_collective], name, memory_order_relaxed);
    }
    return name;
}

static struct ss_event_value bytes_of(const struct ss_mpi_call *call)
{
    return call->bytes >= 0 ? (struct ss_event_value){(uint64_t)call->bytes, SS_RING_VALUE_SIGNED}
                            : (struct ss_event_value){0};
}

/* A collective counts in its group also while nothing is recorded. */
uint64_t ss_mpi_begin(const struct ss_mpi_call *call)
{
    struct ss_mpi_group *group = call->group;
    int64_t sequence = -1;
    if (group != NULL && call->is_collective) {
        sequence = atomic_fetch_add_explicit(&group->collectives, 1, memory_order_relaxed);
    }
    if (!ss_event_is_on(SS_RING_GATE_RANGES)) {
        return 0;
    }
    if (group == NULL || group->name == 0 || call->waits_for_none || !call->function->transfers) {
        return ss_event_begin(domain_of_mpi(), name_of(call->function, false), bytes_of(call));
    }
    struct ss_event_collective collective = {.library = SS_RING_MPI,
                                             .direction = call->is_collective ? SS_RING_OF_ALL
                                                                              : SS_RING_OF_TWO,
                                             .group = group->name,
                                             .datatype = call->datatype,
                                             .size = group->size,
                                             .sequence = sequence,
                                             .bytes = call->bytes,
                                             .root = ss_mpi_world_rank(group, call->rank)};
    return ss_event_begin_collective(domain_of_mpi(), name_of(call->function, true), &collective);
}

void ss_mpi_end(uint64_t id)
{
    ss_event_end(id);
}
