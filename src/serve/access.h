/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may ask the local server: a browser that has the token, for a page of this server alone.
 * Pure functions of the headers.
 */
#ifndef SS_SERVE_ACCESS_H
#define SS_SERVE_ACCESS_H

#include <stdbool.h>

enum { SS_TOKEN_DIGITS = 32 /* 128 bits, in hexadecimal */ };

struct ss_access {
    char token[SS_TOKEN_DIGITS + 1];
};

/* Random. False: the system gives no random bytes. */
bool ss_access_init(struct ss_access *access);
/* Compares in constant time. `text` may be NULL. */
bool ss_access_is_token(const struct ss_access *access, const char *text);
/* Whether an Authorization header has the token: "Bearer TOKEN". `text` may be NULL. No cookie: a
 * browser sends it to every port of a host, and other users serve on those. */
bool ss_access_is_authorization(const struct ss_access *access, const char *text);
/* Whether the Host header names this machine's loopback, whatever the port: a name that another
 * site resolves to 127.0.0.1 is refused. */
bool ss_access_is_host(const char *host);
/* Whether a request with this Origin header (NULL: none) comes from a page of the same host. */
bool ss_access_is_origin(const char *origin, const char *host);
/* Whether a path is one that the server may have: it begins with '/', then letters, digits and
 * single '.', '-', '_' and '/'. */
bool ss_access_is_path(const char *path);

#endif
