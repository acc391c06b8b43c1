/* SPDX-License-Identifier: Apache-2.0 */
/* The socket that a local server listens on: a port of the loopback, or a file that only its owner
 * may open. One owner. */
#ifndef SS_SERVE_LISTENING_H
#define SS_SERVE_LISTENING_H

#include <sys/stat.h>

#include "base/error.h"

struct ss_listening {
    int fd;
    int port;         /* 0: a file */
    const char *path; /* borrowed; NULL: a port */
    struct stat file; /* what the path was bound to */
};

/* `path` NULL: a port of 127.0.0.1; port 0: any free one. A socket file without a listener is
 * replaced; anything else at the path is left alone, and SS_E_BUSY. */
enum ss_status ss_listening_open(struct ss_listening *listening, int port, const char *path,
                                 struct ss_error *err);
/* Also removes the file, if it is still the same. */
void ss_listening_close(struct ss_listening *listening);

#endif
