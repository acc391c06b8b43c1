/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/access.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"

enum { TOKEN_BYTES = SS_TOKEN_DIGITS / 2 };

static void put_hex(char *text, const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    }
}

bool ss_access_init(struct ss_access *access)
{
    unsigned char bytes[TOKEN_BYTES];
    if (!ss_random_bytes(bytes, sizeof bytes)) {
        return false;
    }
    put_hex(access->token, bytes, TOKEN_BYTES);
    return true;
}

bool ss_access_is_token(const struct ss_access *access, const char *text)
{
    unsigned char difference = 0;
    if (text == NULL || strlen(text) != SS_TOKEN_DIGITS) {
        return false;
    }
    for (size_t i = 0; i < SS_TOKEN_DIGITS; i++) {
        difference |= (unsigned char)(text[i] ^ access->token[i]);
    }
    return difference == 0;
}

bool ss_access_is_authorization(const struct ss_access *access, const char *text)
{
    static const char scheme[] = "Bearer ";
    return text != NULL && strncasecmp(text, scheme, sizeof scheme - 1) == 0 &&
           ss_access_is_token(access, text + sizeof scheme - 1);
}

/* The port after a host's name: none, or ":" and digits. */
static bool is_port(const char *text)
{
    if (text[0] == '\0') {
        return true;
    }
    size_t digits = strspn(text + 1, "0123456789");
    return text[0] == ':' && digits >= 1 && digits <= 5 && text[1 + digits] == '\0';
}

bool ss_access_is_host(const char *host)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    for (size_t i = 0; host != NULL && i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        if (strncasecmp(host, names[i], length) == 0 && is_port(host + length)) {
            return true;
        }
    }
    return false;
}

bool ss_access_is_origin(const char *origin, const char *host)
{
    static const char scheme[] = "http://";
    return origin == NULL || (host != NULL && strncmp(origin, scheme, sizeof scheme - 1) == 0 &&
                              strcasecmp(origin + sizeof scheme - 1, host) == 0);
}

bool ss_access_is_path(const char *path)
{
    if (path[0] != '/') {
        return false;
    }
    for (const char *c = path; *c != '\0'; c++) {
        bool is_mark = strchr("./-_", *c) != NULL;
        bool is_doubled = is_mark && (c[1] != '\0' && strchr("./", c[1]) != NULL);
        if ((!is_mark && !isalnum((unsigned char)*c)) || is_doubled) {
            return false;
        }
    }
    return true;
}
