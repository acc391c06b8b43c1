/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "trace/merge_inside.h"

static void table_init(struct ss_merge_table *table)
{
    ss_intern_init(&table->keys);
}

static void table_fini(struct ss_merge_table *table)
{
    ss_intern_fini(&table->keys);
    ss_vec_fini(&table->rows);
}

void ss_merge_maps_init(struct ss_merge *merge)
{
    for (int i = 0; i < SS_SCHEMA_ALL; i++) {
        table_init(&merge->tables[i]);
    }
    ss_intern_init(&merge->strings);
    ss_intern_init(&merge->numbers);
    ss_intern_init(&merge->counts.keys);
    merge->next_number = SS_MERGE_FIRST_NEW_NUMBER;
}

void ss_merge_input_fini(struct ss_merge_input *input)
{
    ss_trace_reader_close(input->reader);
    input->reader = NULL;
    ss_ref_maps_fini(&input->refs);
    ss_vec_fini(&input->attributes);
    ss_vec_fini(&input->merged);
}

void ss_merge_maps_fini(struct ss_merge *merge)
{
    for (size_t i = 0; i < merge->inputs.count; i++) {
        ss_merge_input_fini(&merge->inputs.data[i]);
    }
    for (int i = 0; i < SS_SCHEMA_ALL; i++) {
        table_fini(&merge->tables[i]);
    }
    ss_intern_fini(&merge->strings);
    ss_intern_fini(&merge->numbers);
    ss_vec_fini(&merge->number_of);
    ss_vec_fini(&merge->pids);
    ss_vec_fini(&merge->tids);
    ss_vec_fini(&merge->inputs);
    ss_vec_fini(&merge->heap);
    ss_vec_fini(&merge->written);
    ss_vec_fini(&merge->newest);
    ss_vec_fini(&merge->fields);
    ss_wire_fini(&merge->key);
    ss_intern_fini(&merge->counts.keys);
    ss_vec_fini(&merge->counts.parts);
    ss_vec_fini(&merge->counts.sums);
    ss_vec_fini(&merge->identities);
    ss_free(merge->flows);
}

static struct ss_merge_row *row_of(struct ss_merge_table *table, const struct ss_wire_buffer *key)
{
    uint32_t id = ss_intern_put(&table->keys, (const char *)key->data, key->length);
    if (id >= table->rows.count) {
        ss_vec_resize(&table->rows, (size_t)id + 1);
    }
    return &table->rows.data[id];
}

uint32_t ss_merge_find(struct ss_merge_input *input, enum ss_schema_id kind,
                       const struct ss_wire_buffer *key)
{
    struct ss_merge *merge = input->merge;
    struct ss_merge_row *row = row_of(&merge->tables[kind], key);
    if (row->ref == 0 || row->part == input->number) {
        row->ref = ++merge->next_ref[kind];
    }
    row->part = (uint32_t)input->number;
    return row->ref;
}

uint32_t ss_merge_share(struct ss_merge *merge, enum ss_schema_id kind,
                        const struct ss_wire_buffer *key)
{
    struct ss_merge_row *row = row_of(&merge->tables[kind], key);
    if (row->ref == 0) {
        row->ref = ++merge->next_ref[kind];
    }
    return row->ref;
}

/* --- pids and tids ---------------------------------------------------------------------------- */

/* Claims the number; false: another process or thread has it. The main thread has the number of its
 * process. */
static bool claim(struct ss_merge *merge, int32_t number, uint32_t process, uint32_t thread)
{
    uint32_t id = ss_intern_put(&merge->numbers, (const char *)&number, sizeof number);
    if (id >= merge->number_of.count) {
        ss_vec_resize(&merge->number_of, (size_t)id + 1);
    }
    uint64_t *owner = &merge->number_of.data[id];
    uint64_t wanted = (uint64_t)process << 32 | thread;
    bool is_free = *owner == 0 || *owner == wanted || (*owner == (uint64_t)process << 32);
    if (is_free) {
        *owner = wanted;
    }
    return is_free;
}

int32_t ss_merge_number(struct ss_merge *merge, int32_t wanted, uint32_t process, uint32_t thread)
{
    int32_t number = wanted;
    while (!claim(merge, number, process, thread)) {
        number = merge->next_number++;
    }
    merge->result.renumbered += number != wanted;
    return number;
}

/* --- flows ------------------------------------------------------------------------------------ */

static struct ss_merge_flow *flow_at(struct ss_merge *merge, uint64_t id, uint32_t part)
{
    size_t at = ss_hash_u64(id ^ (uint64_t)part << 40) & (merge->flow_room - 1);
    while (merge->flows[at].part != 0 &&
           (merge->flows[at].id != id || merge->flows[at].part != part)) {
        at = (at + 1) & (merge->flow_room - 1);
    }
    return &merge->flows[at];
}

static void grow_flows(struct ss_merge *merge)
{
    struct ss_merge_flow *before = merge->flows;
    size_t room = merge->flow_room;
    merge->flow_room = room == 0 ? 1024 : room * 2;
    merge->flows = ss_alloc_zero(merge->flow_room, sizeof *merge->flows);
    for (size_t i = 0; i < room; i++) {
        if (before[i].part != 0) {
            *flow_at(merge, before[i].id, before[i].part) = before[i];
        }
    }
    ss_free(before);
}

/* The entries of part ANY say which ids the output has. */
enum { ANY = UINT32_MAX };

static bool take_id(struct ss_merge *merge, uint64_t id)
{
    struct ss_merge_flow *any = flow_at(merge, id, ANY);
    bool is_free = any->part == 0;
    if (is_free) {
        *any = (struct ss_merge_flow){.id = id, .part = ANY};
        merge->flow_count++;
    }
    return is_free;
}

uint64_t ss_merge_flow_id(struct ss_merge *merge, size_t part, uint64_t id)
{
    if ((merge->flow_count + 2) * 4 > merge->flow_room * 3) {
        grow_flows(merge);
    }
    struct ss_merge_flow *own = flow_at(merge, id, (uint32_t)part + 1);
    if (own->part != 0) {
        return own->new_id;
    }
    uint64_t new_id = id;
    for (uint64_t i = 1; !take_id(merge, new_id); i++) {
        new_id = ss_hash_u64(id ^ (uint64_t)(part + 1) << 48) + i;
    }
    own = flow_at(merge, id, (uint32_t)part + 1); /* `take_id` may have used its place */
    *own = (struct ss_merge_flow){.id = id, .new_id = new_id, .part = (uint32_t)part + 1};
    merge->flow_count++;
    return new_id;
}
