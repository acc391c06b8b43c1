/* SPDX-License-Identifier: Apache-2.0 */
#include "model/core/identity.h"

#include <string.h>

static uint64_t hash(const struct ss_identity *identity)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof identity->key / sizeof *identity->key; i++) {
        sum = ss_hash_u64(sum ^ identity->key[i]);
    }
    return sum;
}

/* Equal rows of one input lie one behind the other: more of them would cost the square of their
 * number. */
enum { MOST_EQUAL = 64, ANY_INPUT = -1 };

/* The row of another input; NULL: none. */
static struct ss_identity_row *find(const struct ss_identities *identities,
                                    const struct ss_identity *identity, int64_t input)
{
    const struct ss_slots *slots = &identities->slots;
    if (slots->count == 0) {
        return NULL;
    }
    uint32_t slot = (uint32_t)hash(identity) & (slots->count - 1);
    for (; slots->ids[slot] != 0; slot = (slot + 1) & (slots->count - 1)) {
        struct ss_identity_row *row = &identities->rows.data[slots->ids[slot] - 1];
        if (row->input != input && memcmp(&row->identity, identity, sizeof *identity) == 0) {
            return row;
        }
    }
    return NULL;
}

uint32_t ss_identities_find_any(const struct ss_identities *identities,
                                const struct ss_identity *identity)
{
    struct ss_identity_row *row = find(identities, identity, ANY_INPUT);
    return row != NULL ? row->id : 0;
}

uint32_t ss_identities_find(struct ss_identities *identities, const struct ss_identity *identity,
                            uint32_t input)
{
    struct ss_identity_row *row = find(identities, identity, input);
    if (row == NULL) {
        return 0;
    }
    row->input = input;
    return row->id;
}

bool ss_identities_has(const struct ss_identities *identities, const struct ss_identity *identity,
                       uint32_t input)
{
    return find(identities, identity, input) != NULL;
}

static bool has_many(const struct ss_identities *identities, const struct ss_identity *identity)
{
    const struct ss_slots *slots = &identities->slots;
    int equal = 0;
    if (slots->count == 0) {
        return false;
    }
    uint32_t slot = (uint32_t)hash(identity) & (slots->count - 1);
    for (; slots->ids[slot] != 0 && equal < MOST_EQUAL; slot = (slot + 1) & (slots->count - 1)) {
        const struct ss_identity_row *row = &identities->rows.data[slots->ids[slot] - 1];
        equal += memcmp(&row->identity, identity, sizeof *identity) == 0;
    }
    return equal == MOST_EQUAL;
}

void ss_identities_add(struct ss_identities *identities, const struct ss_identity *identity,
                       uint32_t input, uint32_t id)
{
    struct ss_slots *slots = &identities->slots;
    if (has_many(identities, identity)) {
        return;
    }
    if (ss_slots_grow(slots)) {
        for (uint32_t i = 0; i < identities->rows.count; i++) {
            ss_slots_insert(slots, hash(&identities->rows.data[i].identity), i);
        }
    }
    ss_slots_insert(slots, hash(identity), (uint32_t)identities->rows.count);
    ss_vec_push(&identities->rows, (struct ss_identity_row){*identity, id, input});
}

void ss_identities_fini(struct ss_identities *identities)
{
    ss_free(identities->slots.ids);
    ss_vec_fini(&identities->rows);
    *identities = (struct ss_identities){0};
}
