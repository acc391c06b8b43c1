/* SPDX-License-Identifier: Apache-2.0 */
#include "base/secrets.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/strview.h"

enum { MAX_NAME_BYTES = 64, MIN_HEX_DIGITS = 40, MIN_TOKEN_BYTES = 12 };

static const char mask[] = "***";

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), end_length = strlen(end);
    return length >= end_length && strcmp(name + length - end_length, end) == 0;
}

/* "--HF-Token" → "hf_token"; false: empty, or too long for a name. */
static bool normalize_name(struct ss_strview text, char *name)
{
    while (text.length > 0 && text.data[0] == '-') {
        text.data++;
        text.length--;
    }
    if (text.length == 0 || text.length >= MAX_NAME_BYTES) {
        return false;
    }
    for (size_t i = 0; i < text.length; i++) {
        char c = text.data[i];
        name[i] = c == '-' || c == '.' ? '_' : (char)tolower((unsigned char)c);
    }
    name[text.length] = '\0';
    return true;
}

static bool is_secret_name(struct ss_strview text)
{
    static const char *const ends[] = {"password", "passwd",     "passphrase",  "secret",
                                       "apikey",   "api_key",    "access_key",  "secret_key",
                                       "auth_key", "credential", "credentials", NULL};
    /* Tokens of language models, not of accounts. */
    static const char *const harmless[] = {"pad_token", "eos_token",   "bos_token",
                                           "unk_token", "sep_token",   "mask_token",
                                           "cls_token", "image_token", NULL};
    char name[MAX_NAME_BYTES];
    if (!normalize_name(text, name)) {
        return false;
    }
    for (size_t i = 0; ends[i] != NULL; i++) {
        if (ends_with(name, ends[i])) {
            return true;
        }
    }
    for (size_t i = 0; harmless[i] != NULL; i++) {
        if (ends_with(name, harmless[i])) {
            return false;
        }
    }
    return strcmp(name, "token") == 0 || ends_with(name, "_token") || strcmp(name, "pwd") == 0 ||
           ends_with(name, "wandb_key");
}

static bool has_secret_form(struct ss_strview word)
{
    static const char *const starts[] = {"hf_",         "sk-",    "ghp_",  "gho_",  "ghs_",
                                         "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA",
                                         "ASIA",        "AIza",   "ya29.", "eyJ",   NULL};
    for (size_t i = 0; starts[i] != NULL; i++) {
        size_t length = strlen(starts[i]);
        if (word.length >= length + MIN_TOKEN_BYTES && memcmp(word.data, starts[i], length) == 0 &&
            memchr(word.data, '/', word.length) == NULL) {
            return true;
        }
    }
    size_t digits = 0;
    while (digits < word.length && isxdigit((unsigned char)word.data[digits])) {
        digits++;
    }
    return digits == word.length && digits >= MIN_HEX_DIGITS;
}

/* Masks the password of "scheme://user:password@host"; false: no secret in a URL. */
static bool append_url(struct ss_strbuf *out, struct ss_strview word)
{
    const char *host = memmem(word.data, word.length, "://", 3);
    const char *end = word.data + word.length;
    if (host == NULL) {
        return false;
    }
    host += 3;
    const char *slash = memchr(host, '/', (size_t)(end - host));
    const char *at = memrchr(host, '@', (size_t)((slash != NULL ? slash : end) - host));
    const char *colon = at != NULL ? memchr(host, ':', (size_t)(at - host)) : NULL;
    bool is_token = at != NULL && colon == NULL &&
                    has_secret_form((struct ss_strview){host, (size_t)(at - host)});
    if (colon == NULL && !is_token) {
        return false;
    }
    const char *secret = colon != NULL ? colon + 1 : host;
    ss_strbuf_append(out, word.data, (size_t)(secret - word.data));
    ss_strbuf_append_text(out, mask);
    ss_strbuf_append(out, at, (size_t)(end - at));
    return true;
}

/* How to treat the next word. */
enum next { NEXT_PLAIN, NEXT_SECRET, NEXT_ALL_SECRET /* to the end of the argument */ };

static enum next next_after(struct ss_strview word)
{
    bool is_scheme = (word.length == 6 && strncasecmp(word.data, "bearer", 6) == 0);
    if (is_scheme) {
        return NEXT_SECRET;
    }
    if (word.length == 14 && strncasecmp(word.data, "authorization:", 14) == 0) {
        return NEXT_ALL_SECRET;
    }
    bool is_option = word.length > 1 && word.data[0] == '-';
    return is_option && is_secret_name(word) ? NEXT_SECRET : NEXT_PLAIN;
}

static void append_word(struct ss_strbuf *out, struct ss_strview word)
{
    const char *equals = memchr(word.data, '=', word.length);
    size_t name = equals != NULL ? (size_t)(equals - word.data) : 0;
    if (equals != NULL && is_secret_name((struct ss_strview){word.data, name})) {
        ss_strbuf_append(out, word.data, name + 1);
        ss_strbuf_append_text(out, word.length > name + 1 ? mask : "");
        return;
    }
    struct ss_strview value = word;
    if (equals != NULL) {
        value = (struct ss_strview){equals + 1, word.length - name - 1};
        ss_strbuf_append(out, word.data, name + 1);
    }
    if (has_secret_form(value)) {
        ss_strbuf_append_text(out, mask);
    } else if (!append_url(out, value)) {
        ss_strbuf_append_view(out, value);
    }
}

/* An argument may be a whole script, bash -c "KEY=… python train.py": it is split into words. */
static enum next append_argument(struct ss_strbuf *out, struct ss_strview argument, enum next next)
{
    static const char separators[] = " \t\r\n;&|\"'()";
    bool is_option = argument.length > 0 && argument.data[0] == '-';
    if (next != NEXT_PLAIN && !is_option && argument.length > 0) {
        ss_strbuf_append_text(out, mask);
        return NEXT_PLAIN;
    }
    next = NEXT_PLAIN;
    for (size_t at = 0; at < argument.length;) {
        size_t length = 0;
        while (at + length < argument.length &&
               (argument.data[at + length] == '\0' ||
                strchr(separators, argument.data[at + length]) == NULL)) {
            length++;
        }
        struct ss_strview word = {argument.data + at, length};
        if (length > 0 && next == NEXT_ALL_SECRET) {
            ss_strbuf_append_text(out, mask);
            return NEXT_PLAIN;
        }
        if (length > 0 && next == NEXT_SECRET && word.data[0] != '-') {
            ss_strbuf_append_text(out, mask);
            next = NEXT_PLAIN;
        } else if (length > 0) {
            append_word(out, word);
            next = next_after(word);
        }
        at += length;
        if (at < argument.length) {
            ss_strbuf_append_char(out, argument.data[at++]);
        }
    }
    return next;
}

void ss_secrets_append_masked(struct ss_strbuf *out, const char *arguments, size_t length)
{
    enum next next = NEXT_PLAIN;
    for (size_t at = 0; at < length;) {
        size_t size = strnlen(arguments + at, length - at);
        ss_strbuf_append_text(out, at > 0 ? " " : "");
        next = append_argument(out, (struct ss_strview){arguments + at, size}, next);
        at += size + 1;
    }
}
