/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared rows of several inputs: the files of two windows define the same process, with its threads
 * and tracks. Maps the identity of a row to its id. An input that defines one identity twice (a
 * reused thread id) has two rows, of which the first 64 are found by later inputs. Private to
 * model/. One owner; zero is empty.
 */
#ifndef SS_MODEL_CORE_IDENTITY_H
#define SS_MODEL_CORE_IDENTITY_H

#include <stdbool.h>

#include "model/core/slots.h"

struct ss_identity {
    uint64_t key[4];
};

struct ss_identity_row {
    struct ss_identity identity;
    uint32_t id;
    uint32_t input; /* the last input that defined it */
};

struct ss_identities {
    struct ss_slots slots;
    struct ss_vec_of(struct ss_identity_row) rows;
};

/* The id that an earlier input gave the row; the row now belongs to `input` too. 0: none. */
uint32_t ss_identities_find(struct ss_identities *identities, const struct ss_identity *identity,
                            uint32_t input);
/* The id of the row, whatever input defined it: of rows that an input may share with itself. */
uint32_t ss_identities_find_any(const struct ss_identities *identities,
                                const struct ss_identity *identity);
/* Whether find would find it. */
bool ss_identities_has(const struct ss_identities *identities, const struct ss_identity *identity,
                       uint32_t input);
void ss_identities_add(struct ss_identities *identities, const struct ss_identity *identity,
                       uint32_t input, uint32_t id);
void ss_identities_fini(struct ss_identities *identities);

#endif
