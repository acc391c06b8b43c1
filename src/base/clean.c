/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clean.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/utf8.h"

enum { ESCAPE_BYTES = 17, CLEANED_BYTES = 64 * 1024 };

static const char replacement[] = "\xef\xbf\xbd";
static char escape[ESCAPE_BYTES + 1];
static pthread_once_t escape_once = PTHREAD_ONCE_INIT;

bool ss_clean_is_harmful(uint32_t character)
{
    bool is_control = character < ' ' && character != '\n' && character != '\t';
    return is_control || (character >= 0x7f && character <= 0x9f) ||
           character == 0x61c ||                           /* Arabic letter mark */
           (character >= 0x2028 && character <= 0x202e) || /* separators, embeddings, overrides */
           (character >= 0x2066 && character <= 0x206f) || /* isolates, deprecated formats */
           (character >= 0xfdd0 && character <= 0xfdef) || /* noncharacters */
           (character & 0xfffe) == 0xfffe ||               /* noncharacters */
           (character >= 0xfff9 && character <= 0xfffb) || /* interlinear annotation */
           (character >= 0xe0000 && character <= 0xe0fff); /* tags */
}

static uint32_t decode(const char *text, size_t length)
{
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t character = (unsigned char)text[0] & masks[length];
    for (size_t i = 1; i < length; i++) {
        character = character << 6 | ((unsigned char)text[i] & 0x3f);
    }
    return character;
}

bool ss_clean_is_harmful_text(const char *text, size_t length)
{
    return ss_clean_is_harmful(decode(text, length));
}

static void choose_escape(void)
{
    uint64_t secret = 0;
    if (!ss_random_bytes(&secret, sizeof secret)) {
        secret = ss_clock_monotonic_ns() * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)getpid() << 40;
    }
    snprintf(escape, sizeof escape, "\033%016llx", (unsigned long long)secret);
}

const char *ss_escape(void)
{
    pthread_once(&escape_once, choose_escape);
    return escape;
}

/* ESCAPE_BYTES if `text` starts with ss_escape(), 0 if not, ESCAPE_BYTES + 1 if more bytes are
 * needed to decide. */
static size_t match_escape(const char *text, size_t available)
{
    size_t compared = available < ESCAPE_BYTES ? available : ESCAPE_BYTES;
    if (memcmp(text, ss_escape(), compared) != 0) {
        return 0;
    }
    return available < ESCAPE_BYTES ? ESCAPE_BYTES + 1 : ESCAPE_BYTES;
}

/* True when the bytes may be the start of a longer character. */
static bool may_be_truncated(const char *text, size_t available)
{
    char filled[4];
    unsigned char first = (unsigned char)text[0];
    size_t whole = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || available >= whole) {
        return false;
    }
    /* The lowest and the highest continuation byte: after any valid start, one of them is valid. */
    for (int fill = 0x80; fill <= 0xbf; fill += 0x3f) {
        memset(filled, fill, sizeof filled);
        memcpy(filled, text, available);
        if (ss_utf8_length(filled, whole) == whole) {
            return true;
        }
    }
    return false;
}

/* Appends one character, cleaned. Returns its bytes; 0: more bytes are needed to decide. */
static size_t append_character(struct ss_strbuf *out, const char *text, size_t available)
{
    if (text[0] == '\033') {
        size_t own = match_escape(text, available);
        if (own > ESCAPE_BYTES) {
            return 0;
        }
        ss_strbuf_append_text(out, own > 0 ? "\033" : replacement);
        return own > 0 ? own : 1;
    }
    if (text[0] == '\r') { /* valid in CRLF (RFC 4180); alone it overwrites the line */
        if (available == 1) {
            return 0;
        }
        ss_strbuf_append_text(out, text[1] == '\n' ? "\r" : replacement);
        return 1;
    }
    size_t length = ss_utf8_length(text, available);
    if (length == 0 && may_be_truncated(text, available)) {
        return 0;
    }
    if (length == 0 || ss_clean_is_harmful(decode(text, length))) {
        ss_strbuf_append_text(out, replacement);
        return length > 0 ? length : 1;
    }
    ss_strbuf_append(out, text, length);
    return length;
}

static size_t plain_run(const char *text, size_t length)
{
    size_t run = 0;
    while (run < length && text[run] >= ' ' && text[run] < 0x7f) {
        run++;
    }
    return run;
}

/* Appends the complete characters of `text`; returns the number of bytes consumed. */
static size_t append_complete(struct ss_strbuf *out, const char *text, size_t length)
{
    size_t done = 0;
    while (done < length) {
        size_t step = plain_run(text + done, length - done);
        if (step > 0) {
            ss_strbuf_append(out, text + done, step);
        } else {
            step = append_character(out, text + done, length - done);
        }
        if (step == 0) {
            break;
        }
        done += step;
    }
    return done;
}

void ss_clean_append(struct ss_clean *clean, struct ss_strbuf *out, const char *bytes,
                     size_t length)
{
    while (clean->held_count > 0 && length > 0) {
        clean->held[clean->held_count++] = *bytes++;
        length--;
        size_t done = append_complete(out, clean->held, clean->held_count);
        clean->held_count -= done;
        memmove(clean->held, clean->held + done, clean->held_count);
    }
    size_t done = length > 0 ? append_complete(out, bytes, length) : 0;
    if (done < length) {
        memcpy(clean->held, bytes + done, length - done);
        clean->held_count = length - done;
    }
}

void ss_clean_append_name(struct ss_strbuf *out, struct ss_strview name)
{
    for (size_t at = 0; at < name.length;) {
        size_t length = ss_utf8_length(name.data + at, name.length - at);
        if (length == 0 || ss_clean_is_harmful(decode(name.data + at, length))) {
            ss_strbuf_append_text(out, replacement);
        } else {
            ss_strbuf_append(out, name.data + at, length);
        }
        at += length > 0 ? length : 1;
    }
}

void ss_clean_write(int fd, const char *text, size_t length)
{
    struct ss_clean clean = {.held_count = 0};
    struct ss_strbuf out;
    ss_strbuf_init(&out, CLEANED_BYTES);
    ss_clean_append(&clean, &out, text, length);
    ssize_t written = write(fd, out.data, out.length);
    (void)written; /* a failed write cannot be reported */
    ss_strbuf_fini(&out);
}
