/* SPDX-License-Identifier: Apache-2.0 */
#include "model/stacks/speedscope_owner.h"

#include <string.h>

static bool skip_word(struct ss_strview *text, const char *word)
{
    size_t length = strlen(word);
    bool begins = text->length >= length && memcmp(text->data, word, length) == 0;
    if (begins) {
        *text = (struct ss_strview){text->data + length, text->length - length};
    }
    return begins;
}

static void skip_separators(struct ss_strview *text)
{
    while (skip_word(text, " ") || skip_word(text, ",") || skip_word(text, ":")) {
    }
}

static int digit_of(char c, int base)
{
    int lower = c | 0x20;
    return c >= '0' && c <= '9'                         ? c - '0'
           : base == 16 && lower >= 'a' && lower <= 'f' ? lower - 'a' + 10
                                                        : -1;
}

/* "12", "0x7F00". False: none of them, or beyond 63 bits; then nothing is skipped. */
static bool skip_number(struct ss_strview *text, int64_t *number)
{
    struct ss_strview at = *text;
    int base = skip_word(&at, "0x") || skip_word(&at, "0X") ? 16 : 10;
    size_t length = 0;
    int64_t value = 0;
    for (; length < at.length && digit_of(at.data[length], base) >= 0; length++) {
        if (value > (INT64_MAX - 15) / 16) {
            return false;
        }
        value = value * base + digit_of(at.data[length], base);
    }
    if (length == 0) {
        return false;
    }
    *number = value;
    *text = (struct ss_strview){at.data + length, at.length - length};
    return true;
}

/* Text in parentheses. */
static bool skip_parentheses(struct ss_strview *text, struct ss_strview *inner)
{
    const char *close =
        text->length > 0 && text->data[0] == '(' ? memchr(text->data, ')', text->length) : NULL;
    if (close == NULL) {
        return false;
    }
    size_t length = (size_t)(close - text->data) - 1;
    *inner = (struct ss_strview){text->data + 1, length};
    *text = (struct ss_strview){close + 1, text->length - length - 2};
    return true;
}

/* A name in quotes, which it may contain, too. */
static void skip_quoted(struct ss_strview *text, struct ss_strview *name)
{
    const char *close =
        text->length > 1 && text->data[0] == '"' ? memrchr(text->data, '"', text->length) : NULL;
    if (close == NULL || close == text->data) {
        return;
    }
    size_t length = (size_t)(close - text->data) - 1;
    *name = (struct ss_strview){text->data + 1, length};
    *text = (struct ss_strview){close + 1, text->length - length - 2};
}

static void read_process(struct ss_strview *text, struct ss_speedscope_owner *owner)
{
    struct ss_strview at = *text;
    int64_t pid;
    if (!skip_word(&at, "Process ") || !skip_number(&at, &pid)) {
        return;
    }
    skip_separators(&at);
    if (skip_parentheses(&at, &owner->label)) {
        skip_separators(&at);
    }
    owner->pid = pid <= INT32_MAX ? (int32_t)pid : -1;
    *text = at;
}

static void read_thread(struct ss_strview *text, struct ss_speedscope_owner *owner)
{
    struct ss_strview at = *text, inner;
    if (!skip_word(&at, "Thread") && !skip_word(&at, "thread")) {
        return;
    }
    skip_separators(&at);
    bool has_number = skip_number(&at, &owner->tid);
    if (!has_number && skip_parentheses(&at, &inner)) {
        has_number = skip_number(&inner, &owner->tid);
    }
    skip_separators(&at);
    size_t before = at.length;
    skip_quoted(&at, &owner->name);
    if (!has_number && at.length == before) {
        return; /* a word of another kind: "Thread pool" */
    }
    owner->has_thread = true;
    skip_separators(&at);
    *text = at;
}

struct ss_speedscope_owner ss_speedscope_owner_of(struct ss_strview name)
{
    struct ss_speedscope_owner owner = {.pid = -1, .tid = -1};
    struct ss_strview text = name;
    read_process(&text, &owner);
    read_thread(&text, &owner);
    owner.rest = text;
    if (!owner.has_thread) {
        owner.name = text;
    }
    return owner;
}
