/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/kernels/kernel_names.h"

#include <string.h>

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '$' || c == '~' || (c & 0x80) != 0;
}

static bool begins_with(struct ss_strview text, size_t at, const char *word)
{
    size_t length = strlen(word);
    return text.length - at >= length && memcmp(text.data + at, word, length) == 0;
}

/* The end of the parameters, template arguments or anonymous namespace that open at `at`. */
static size_t skip_nested(struct ss_strview name, size_t at)
{
    size_t depth = 0;
    for (; at < name.length; at++) {
        char c = name.data[at];
        if (c == '(' || c == '<' || c == '[' || c == '{') {
            depth++;
        } else if ((c == ')' || c == ']' || c == '}' ||
                    (c == '>' && (at == 0 || name.data[at - 1] != '-'))) &&
                   --depth == 0) {
            return at + 1;
        }
    }
    return name.length;
}

/* The function's own name, [begin, end), and the end of its template arguments. */
struct parts {
    size_t begin, end, arguments_end;
};

/* Only whole C++ signatures have parameters or a return type: "Memcpy HtoD (Pageable -> Device)"
 * and names with spaces of other tools do not. */
static bool is_signature(struct ss_strview name)
{
    const char *space = memchr(name.data, ' ', name.length);
    const char *bracket = memchr(name.data, '<', name.length);
    const char *brace = memchr(name.data, '(', name.length);
    const char *first = bracket != NULL && (brace == NULL || bracket < brace) ? bracket : brace;
    return first != NULL && (begins_with(name, 0, "void ") || space == NULL || space > first);
}

static struct parts find_parts(struct ss_strview name)
{
    struct parts parts = {0, name.length, name.length};
    if (!is_signature(name)) {
        return parts;
    }
    size_t at = begins_with(name, 0, "void ") ? 5 : 0;
    parts.begin = at;
    while (at < name.length) {
        char c = name.data[at];
        if (begins_with(name, at, "(anonymous namespace)")) {
            at += sizeof "(anonymous namespace)" - 1;
        } else if (begins_with(name, at, "::")) {
            at += 2;
            parts.begin = at;
        } else if (c == '<' && at > parts.begin) {
            parts.end = at;
            at = skip_nested(name, at);
            parts.arguments_end = at;
            if (!begins_with(name, at, "::")) {
                return parts;
            }
        } else if (c == '(') {
            break;
        } else {
            at++;
        }
    }
    parts.end = parts.arguments_end = at;
    return parts;
}

struct ss_strview ss_kernel_base_name(struct ss_strview name)
{
    struct parts parts = find_parts(name);
    return parts.end > parts.begin
               ? (struct ss_strview){name.data + parts.begin, parts.end - parts.begin}
               : name;
}

void ss_kernel_short_name(struct ss_strview name, struct ss_strbuf *out)
{
    struct parts parts = find_parts(name);
    size_t at = parts.begin, word = out->length;
    while (at < parts.arguments_end) {
        char c = name.data[at];
        if (begins_with(name, at, "(anonymous namespace)::")) {
            at += sizeof "(anonymous namespace)::" - 1;
        } else if (begins_with(name, at, "::")) {
            out->length = word < out->length ? word : out->length;
            out->data[out->length] = '\0';
            at += 2;
        } else {
            ss_strbuf_append_char(out, c);
            word = is_word(c) ? word : out->length;
            at++;
        }
    }
}
