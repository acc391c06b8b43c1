/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A web server for one user of this machine, over libmicrohttpd: on the loopback or a private
 * socket file, for those who have its token (serve/access.h). What it serves is the caller's: a
 * function that answers a request. Nothing is served by a path of the file system.
 *
 * The page's address has the token behind its "#", which browsers do not send; the page sends it
 * with its requests (Authorization). Only what is public is answered without it. Requests from
 * pages of other sites are refused. A connection that takes longer than SS_SERVE_PATIENCE_S to send
 * a request, or to receive the answer, is closed, and one that has not shown the token within
 * SS_SERVE_STRANGER_S. Of these there are SS_SERVE_MAX_STRANGERS at most: a new one ends the
 * oldest.
 *
 * `answer` is called by several threads at once. Start and stop belong to one thread.
 */
#ifndef SS_SERVE_SERVER_H
#define SS_SERVE_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "serve/access.h"
#include "serve/listening.h"

enum {
    SS_SERVE_MAX_CONNECTIONS = 1000,
    SS_SERVE_MAX_STRANGERS = 64,
    SS_SERVE_PATIENCE_S = 30,
    SS_SERVE_STRANGER_S = 5,
    SS_SERVE_MAX_BODY_BYTES = 1 << 20
};

struct ss_serve_request {
    const char *path;
    bool is_put; /* else GET or HEAD */
    struct ss_strview body;
    void *connection; /* private: for ss_serve_argument */
};

/* Filled by the answer: a text of static storage, else a file, else `body`. */
struct ss_serve_reply {
    int status; /* 200 unless set */
    const char *type;
    const char *text;
    size_t text_length;
    int file_fd; /* -1: none; the server closes it */
    uint64_t file_bytes;
    struct ss_strbuf body;
};

typedef void ss_serve_answer(void *context, const struct ss_serve_request *request,
                             struct ss_serve_reply *reply);

struct ss_serve_options {
    size_t size;
    const struct ss_access *access;
    ss_serve_answer *answer;
    bool (*is_public)(const char *path); /* what all may ask for; NULL: nothing */
    void *context;
    const struct ss_clock *clock; /* NULL: the system's */
};

struct ss_server;

/* NULL: not in the request. */
const char *ss_serve_argument(const struct ss_serve_request *request, const char *name);
/* A whole number in [0, most]; false: it is absent or another text. */
bool ss_serve_number(const struct ss_serve_request *request, const char *name, uint64_t most,
                     uint64_t *number);

/* Whether this stepscope was built with a server. */
bool ss_server_is_built(void);
/* Borrows everything; the server closes the socket. SS_E_UNSUPPORTED: built without libmicrohttpd.
 */
enum ss_status ss_server_start(struct ss_server **server, const struct ss_listening *listening,
                               const struct ss_serve_options *options, struct ss_error *err);
/* Closes connections that are too slow; call it every second or so. */
void ss_server_tick(struct ss_server *server);
/* Ends open connections. */
void ss_server_stop(struct ss_server *server);

#endif
