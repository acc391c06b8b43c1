/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A timeline as one file, so that a large recording opens without being read and analysed again.
 * It has the columns that answers need, as they lie in memory: a file of this machine and this
 * build for itself, which a key identifies, and no format for anything else.
 *
 * The file may be any bytes: sizes are checked against what is there, each reference against its
 * table, and the whole against a checksum, before anything is used. One owner; saving only reads.
 */
#ifndef SS_TIMELINE_SAVED_H
#define SS_TIMELINE_SAVED_H

#include <stdatomic.h>

#include "analysis/steps/steps.h"
#include "timeline/links.h"
#include "view/output/sink.h"

/* A timeline and what it borrows. */
struct ss_viewed {
    struct ss_model model;
    struct ss_selection selection; /* of the model */
    struct ss_timeline timeline;   /* of the selection */
    struct ss_timeline_links links;
    struct ss_step_summary steps;
    /* What was printed about the recording, and the exit status that it has. */
    struct ss_strbuf messages;
    int exit_status;
};

enum { SS_SAVED_MESSAGE_BYTES = 1 << 20, SS_SAVED_KEY_BYTES = 1 << 24 };

/* Empty; it must not be moved once it is filled. */
void ss_viewed_init(struct ss_viewed *viewed);
void ss_viewed_fini(struct ss_viewed *viewed);

/* Writes it; the sink has the failures. Stops early once `*stops` is set: the sink's content is no
 * saved timeline then. */
void ss_viewed_save(const struct ss_viewed *viewed, struct ss_strview key, const atomic_bool *stops,
                    struct ss_sink *sink);

/* About the size of the file. */
uint64_t ss_viewed_saved_bytes(const struct ss_viewed *viewed);

/* `is_unsummed`: fuzzers make no checksums. */
struct ss_restore_options {
    size_t size;
    struct ss_strview key;
    uint64_t most_bytes;
    bool is_unsummed;
};

/* Fills an empty one from a file that is open for reading: the model has the tables that answers
 * read, and no others. SS_E_FORMAT: the file is of another recording or build, cut or damaged, and
 * `viewed` is as it was. */
enum ss_status ss_viewed_restore(struct ss_viewed *viewed, int fd,
                                 const struct ss_restore_options *options, struct ss_error *err);

#endif
