/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records whose refs become others: of a merged trace, of a model. One map for each kind of record
 * that refs refer to; schema.def says which member of a record refers to what. One owner.
 */
#ifndef SS_TRACE_REF_MAPS_H
#define SS_TRACE_REF_MAPS_H

#include "base/vec.h"
#include "trace/event_fields.h"
#include "trace/schema.h"

struct ss_ref_map ss_vec_of(uint32_t); /* by ref; 0: none yet */

struct ss_ref_maps {
    struct ss_ref_map of[SS_SCHEMA_ALL];
};

void ss_ref_maps_fini(struct ss_ref_maps *maps);
void ss_ref_maps_put(struct ss_ref_maps *maps, enum ss_schema_id id, uint32_t ref, uint32_t value);

/* 0: there is none. */
static inline uint32_t ss_ref_maps_get(const struct ss_ref_maps *maps, enum ss_schema_id id,
                                       uint32_t ref)
{
    const struct ss_ref_map *map = &maps->of[id];
    return ref < map->count ? map->data[ref] : 0;
}

/* Maps all refs of the record but its own. */
static inline void ss_ref_maps_move(const struct ss_ref_maps *maps, enum ss_schema_id id,
                                    void *record)
{
    const struct ss_schema_links *links = &ss_schema_links[id];
    for (uint32_t i = 0; i < links->ref_count; i++) {
        uint32_t *ref = ss_schema_ref_at(&links->refs[i], record);
        *ref = ss_ref_maps_get(maps, (enum ss_schema_id)links->refs[i].target, *ref);
    }
}

/* Maps the value of a typed field of an event, if it is a ref. */
void ss_ref_maps_move_field(const struct ss_ref_maps *maps, struct ss_event_value *field);

#endif
