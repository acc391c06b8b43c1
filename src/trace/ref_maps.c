/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/ref_maps.h"

void ss_ref_maps_fini(struct ss_ref_maps *maps)
{
    for (int id = 0; id < SS_SCHEMA_ALL; id++) {
        ss_vec_fini(&maps->of[id]);
    }
}

void ss_ref_maps_put(struct ss_ref_maps *maps, enum ss_schema_id id, uint32_t ref, uint32_t value)
{
    struct ss_ref_map *map = &maps->of[id];
    if (ref >= map->count) {
        ss_vec_resize(map, (size_t)ref + 1);
    }
    map->data[ref] = value;
}

void ss_ref_maps_move_field(const struct ss_ref_maps *maps, struct ss_event_value *field)
{
    enum ss_schema_id entity = ss_event_fields[field->field].entity;
    if (entity != SS_SCHEMA_COUNT) {
        uint64_t ref = field->value.natural <= UINT32_MAX ? field->value.natural : 0;
        field->value.natural = ss_ref_maps_get(maps, entity, (uint32_t)ref);
    }
}
