/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A member of an archive as a file of its own, for formats that are not read from begin to end. It
 * lies in $TMPDIR (default /tmp), so that its size costs room there and no memory. It has no name
 * while it is written, where the file system supports that, and the caller takes the name away as
 * soon as the file is open: nothing is left behind. Owned by one loader. Private to model/.
 */
#ifndef SS_MODEL_FILES_UNPACKED_H
#define SS_MODEL_FILES_UNPACKED_H

#include "model/files/importer.h"

struct ss_unpacked {
    int fd;
    char path[4096]; /* of the copy; "" without a name */
};

/* `stated_bytes`: what the start of the member says of its size, of which no more is read; 0: it
 * does not. SS_E_LIMIT: more than an archive of this size may hold. */
enum ss_status ss_unpacked_init(struct ss_unpacked *unpacked, const struct ss_import_file *member,
                                uint64_t stated_bytes, struct ss_error *err);
/* Takes the name away; the content lasts as long as the file is open. */
void ss_unpacked_unlink(struct ss_unpacked *unpacked);
void ss_unpacked_fini(struct ss_unpacked *unpacked);

#endif
