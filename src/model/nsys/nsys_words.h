/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the numbers of CUDA's kinds of copies and memories mean: by the tables of a file, or as CUDA
 * numbers them. Immutable once read. Private to model/.
 */
#ifndef SS_MODEL_NSYS_NSYS_WORDS_H
#define SS_MODEL_NSYS_NSYS_WORDS_H

#include "model/files/sqlite_file.h"

enum { SS_NSYS_MOST_WORDS = 32, SS_NSYS_MOST_WORD_BYTES = 48 };

struct ss_nsys_words {
    char memories[SS_NSYS_MOST_WORDS][SS_NSYS_MOST_WORD_BYTES]; /* "Pinned", … */
    char copies[SS_NSYS_MOST_WORDS][SS_NSYS_MOST_WORD_BYTES];   /* "HTOD", "UVM_HTOD", … */
};

struct ss_nsys_copy {
    int64_t key; /* of the three kinds */
    int64_t kind, from_kind, to_kind;
    const char *from, *to; /* as the fields from_memory and to_memory; "": unknown */
};

void ss_nsys_words_init(struct ss_nsys_words *words, struct ss_sqlite_file *file);
/* Kinds that are unknown are -1. */
struct ss_nsys_copy ss_nsys_copy_of(const struct ss_nsys_words *words, int64_t kind, int64_t from,
                                    int64_t to);
/* "Memcpy HtoD (Pageable -> Device)" */
void ss_nsys_copy_name(const struct ss_nsys_words *words, const struct ss_nsys_copy *copy,
                       char *text, size_t size);
/* "pinned"; "": unknown. */
const char *ss_nsys_memory(const struct ss_nsys_words *words, int64_t kind);
/* "Pinned"; "Unknown". */
const char *ss_nsys_memory_label(const struct ss_nsys_words *words, int64_t kind);

#endif
