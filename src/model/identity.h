/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows that several inputs define: a process, its threads and tracks in the files of two windows
 * are one. Maps what identifies a row to its id. An input that defines two rows of one identity (a
 * thread id that was used again) has two rows. Private to model/. One owner; zero is empty.
 */
#ifndef SS_MODEL_IDENTITY_H
#define SS_MODEL_IDENTITY_H

#include "model/slots.h"

struct ss_identity {
    uint64_t key[4];
};

struct ss_identity_row {
    struct ss_identity identity;
    uint32_t id;
    uint32_t input; /* the last one that defined it */
};

struct ss_identities {
    struct ss_slots slots;
    struct ss_vec_of(struct ss_identity_row) rows;
};

/* The id that an earlier input gave the row, which is now of `input` too; 0: none. */
uint32_t ss_identities_find(struct ss_identities *identities, const struct ss_identity *identity,
                            uint32_t input);
void ss_identities_add(struct ss_identities *identities, const struct ss_identity *identity,
                       uint32_t input, uint32_t id);
void ss_identities_fini(struct ss_identities *identities);

#endif
