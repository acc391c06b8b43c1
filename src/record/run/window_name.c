/* SPDX-License-Identifier: Apache-2.0 */
#include "record/run/window_name.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum kind { TEXT, NUMBER, SECONDS };
enum { MAX_WIDTH = 20, MAX_NAME = 40 };

static const struct variable {
    const char *name;
    enum kind kind;
    bool differs; /* between windows of a process */
    size_t offset;
} variables[] = {
#define ROW(name, kind, differs)                                                                   \
    {                                                                                              \
#name, kind, differs, offsetof(struct ss_window_name_values, name)                         \
    }
    ROW(run_name, TEXT, false),
    ROW(rank, NUMBER, false),
    ROW(local_rank, NUMBER, false),
    ROW(world_size, NUMBER, false),
    ROW(local_world_size, NUMBER, false),
    ROW(node_rank, NUMBER, false),
    ROW(epoch, NUMBER, true),
    ROW(batch, NUMBER, true),
    ROW(batch_in_epoch, NUMBER, true),
    ROW(last_step, NUMBER, true),
    ROW(last_batch, NUMBER, true),
    ROW(last_batch_in_epoch, NUMBER, true),
    ROW(sample, NUMBER, true),
    ROW(sample_in_epoch, NUMBER, true),
    ROW(token, NUMBER, true),
    ROW(token_in_epoch, NUMBER, true),
    ROW(total_wct, SECONDS, true),
    ROW(epoch_wct, SECONDS, true),
    ROW(batch_wct, SECONDS, true),
    ROW(window, NUMBER, true),
    ROW(step, NUMBER, true),
    ROW(host, TEXT, false),
    ROW(pid, NUMBER, false),
#undef ROW
};
enum { VARIABLE_COUNT = sizeof variables / sizeof *variables };

struct ss_window_name_values ss_window_name_unknown(void)
{
    struct ss_window_name_values values;
    memset(&values, 0, sizeof values);
    for (int i = 0; i < VARIABLE_COUNT; i++) {
        char *at = (char *)&values + variables[i].offset;
        int64_t unknown = SS_WINDOW_NAME_UNKNOWN;
        double nothing = NAN;
        if (variables[i].kind == NUMBER) {
            memcpy(at, &unknown, sizeof unknown);
        } else if (variables[i].kind == SECONDS) {
            memcpy(at, &nothing, sizeof nothing);
        }
    }
    return values;
}

/* --- reading --------------------------------------------------------------------------------- */

struct piece {
    const char *text; /* literal text; NULL: a variable */
    size_t length;
    const struct variable *variable;
    int width; /* 0: none */
};

static enum ss_status unknown_variable(const char *name, size_t length, struct ss_error *err)
{
    char list[400] = "";
    size_t used = 0;
    for (int i = 0; i < VARIABLE_COUNT && used < sizeof list; i++) {
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "",
                                 variables[i].name);
    }
    return ss_fail(err, SS_E_USAGE, "{%.*s} in the name is not known; there are %s",
                   length > MAX_NAME ? MAX_NAME : (int)length, name, list);
}

static enum ss_status read_width(const struct variable *variable, const char *text, size_t length,
                                 int *width, struct ss_error *err)
{
    size_t digits = length > 0 && text[length - 1] == 'd' ? length - 1 : length;
    *width = 0;
    for (size_t i = 0; i < digits && *width <= MAX_WIDTH; i++) {
        *width = isdigit((unsigned char)text[i]) ? *width * 10 + (text[i] - '0') : MAX_WIDTH + 1;
    }
    if (variable->kind != NUMBER || digits < 2 || text[0] != '0' || *width < 1 ||
        *width > MAX_WIDTH) {
        return ss_fail(err, SS_E_USAGE,
                       "{%s:%.*s} in the name: a number may be filled with zeros, as in {rank:04}, "
                       "up to %d digits",
                       variable->name, length > MAX_NAME ? MAX_NAME : (int)length, text, MAX_WIDTH);
    }
    return SS_OK;
}

/* Parses from after "{" to its "}". */
static enum ss_status read_variable(const char **at, struct piece *piece, struct ss_error *err)
{
    size_t length = strcspn(*at, "{}");
    if ((*at)[length] != '}') {
        return ss_fail(err, SS_E_USAGE, "a { in the name has no }; write {{ for a literal brace");
    }
    size_t name_length = strcspn(*at, ":}");
    *piece = (struct piece){0};
    for (int i = 0; i < VARIABLE_COUNT; i++) {
        if (strlen(variables[i].name) == name_length &&
            memcmp(variables[i].name, *at, name_length) == 0) {
            piece->variable = &variables[i];
        }
    }
    if (piece->variable == NULL) {
        return unknown_variable(*at, name_length, err);
    }
    if (name_length < length) {
        SS_TRY(read_width(piece->variable, *at + name_length + 1, length - name_length - 1,
                          &piece->width, err));
    }
    *at += length + 1;
    return SS_OK;
}

/* Parses the piece at *at, which is not the end. */
static enum ss_status read_piece(const char **at, struct piece *piece, struct ss_error *err)
{
    const char *text = *at;
    if ((text[0] == '{' || text[0] == '}') && text[1] == text[0]) {
        *piece = (struct piece){.text = text, .length = 1};
        *at += 2;
        return SS_OK;
    }
    if (text[0] == '}') {
        return ss_fail(err, SS_E_USAGE, "a } in the name has no {; write }} for a literal brace");
    }
    if (text[0] == '{') {
        ++*at;
        return read_variable(at, piece, err);
    }
    *piece = (struct piece){.text = text, .length = strcspn(text, "{}")};
    *at += piece->length;
    return SS_OK;
}

size_t ss_window_name_fixed(const char *template)
{
    size_t at = strcspn(template, "{}");
    while (template[at] != '\0' && template[at + 1] == template[at]) {
        at += 2;
        at += strcspn(template + at, "{}");
    }
    return at;
}

bool ss_window_name_is_template(const char *text)
{
    return text[ss_window_name_fixed(text)] != '\0';
}

bool ss_window_name_is_late(const char *template)
{
    bool is_late = false;
    for (const char *at = template; *at != '\0';) {
        struct piece piece = {0};
        if (read_piece(&at, &piece, NULL) != SS_OK) {
            return false;
        }
        is_late =
            is_late || (piece.variable != NULL && strncmp(piece.variable->name, "last_", 5) == 0);
    }
    return is_late;
}

enum ss_status ss_window_name_check(const char *template, bool many, struct ss_error *err)
{
    bool differs = false;
    for (const char *at = template; *at != '\0';) {
        struct piece piece = {0};
        SS_TRY(read_piece(&at, &piece, err));
        differs = differs || (piece.variable != NULL && piece.variable->differs);
    }
    if (many && !differs) {
        return ss_fail(err, SS_E_USAGE,
                       "the name %.200s is the same for every window: put {window}, or {epoch} and "
                       "{batch}, into it",
                       template);
    }
    return SS_OK;
}

/* --- writing --------------------------------------------------------------------------------- */

static enum ss_status not_known(const struct variable *variable, struct ss_error *err)
{
    return ss_fail(err, SS_E_USAGE,
                   "{%s} in the name: its value is unknown in this recording; leave it out",
                   variable->name);
}

static enum ss_status put_text(const struct variable *variable, const char *text,
                               struct ss_strbuf *out, struct ss_error *err)
{
    if (text == NULL) {
        return not_known(variable, err);
    }
    bool only_dots = text[strspn(text, ".")] == '\0';
    for (const char *at = text; *at != '\0'; at++) {
        bool leads_away = *at == '/' || (unsigned char)*at < ' ' || *at == 0x7f;
        ss_strbuf_append_char(out, leads_away || only_dots ? '_' : *at);
    }
    if (text[0] == '\0') {
        ss_strbuf_append_char(out, '_');
    }
    return SS_OK;
}

static enum ss_status put_variable(const struct piece *piece,
                                   const struct ss_window_name_values *values,
                                   struct ss_strbuf *out, struct ss_error *err)
{
    const char *at = (const char *)values + piece->variable->offset;
    const char *text;
    int64_t number;
    double seconds;
    switch (piece->variable->kind) {
    case TEXT:
        memcpy(&text, at, sizeof text);
        return put_text(piece->variable, text, out, err);
    case NUMBER:
        memcpy(&number, at, sizeof number);
        if (number == SS_WINDOW_NAME_UNKNOWN) {
            return not_known(piece->variable, err);
        }
        ss_strbuf_append_format(out, "%0*" PRId64, piece->width, number);
        return SS_OK;
    default:
        memcpy(&seconds, at, sizeof seconds);
        if (!isfinite(seconds)) {
            return not_known(piece->variable, err);
        }
        ss_strbuf_append_format(out, "%.3f", seconds);
        return SS_OK;
    }
}

enum ss_status ss_window_name_expand(const char *template,
                                     const struct ss_window_name_values *values,
                                     struct ss_strbuf *out, struct ss_error *err)
{
    for (const char *at = template; *at != '\0';) {
        struct piece piece = {0};
        SS_TRY(read_piece(&at, &piece, err));
        if (piece.variable != NULL) {
            SS_TRY(put_variable(&piece, values, out, err));
        } else {
            ss_strbuf_append(out, piece.text, piece.length);
        }
    }
    return out->overflow ? ss_fail(err, SS_E_USAGE,
                                   "the name of a window's file is too long; "
                                   "shorten it")
                         : SS_OK;
}
