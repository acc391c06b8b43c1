/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compressed files and archives as a sequence of members: gzip, bzip2, xz and zstd, alone or around
 * a tar; zip. Read front to back in bounded memory. Owned by one thread. Private to model/.
 */
#ifndef SS_MODEL_FILES_ARCHIVE_H
#define SS_MODEL_FILES_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/files/input_budget.h"

struct ss_archive;

/* Whether the first bytes are those of an archive or of a compressed file. */
bool ss_archive_is(const char *head, size_t length);
enum ss_status ss_archive_open(const char *path, struct ss_archive **archive, struct ss_error *err);
void ss_archive_close(struct ss_archive *archive);
/* Charges what is unpacked, members that are skipped included, to this budget instead of one of its
 * own. Borrowed. */
void ss_archive_charge(struct ss_archive *archive, struct ss_input_budget *budget);
/* The size of the archive; 0: unknown. */
uint64_t ss_archive_bytes(const struct ss_archive *archive);
/* Moves to the next regular file; the rest of the current one is skipped. `*name` is "" for the
 * content of a compressed file, after which there is nothing; NULL at the end; borrowed until the
 * next call. */
enum ss_status ss_archive_next(struct ss_archive *archive, const char **name, struct ss_error *err);
/* Reads on in the current member; `*got` 0: its end. */
enum ss_status ss_archive_read(struct ss_archive *archive, char *buffer, size_t capacity,
                               size_t *got, struct ss_error *err);

#endif
