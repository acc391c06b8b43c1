/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/line/translation.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/line/suggestion.h"
#include "cli/line/translation_inside.h"

enum { MOST_REMARKS_BYTES = 1 << 16, MOST_NAME_BYTES = 64, MOST_GIVEN = 256 };

#define COUNT_OF(table) (sizeof(table) / sizeof *(table))

/* --- what is given ---------------------------------------------------------------------------- */

struct given {
    const struct ss_translation_row *row;
    const char *value;
};

struct parse {
    enum ss_translated_mode mode;
    struct ss_translation *to;
    struct given given[MOST_GIVEN];
    size_t given_count;
    struct ss_vec_of(char *) environment; /* NAME=VALUE for the program; owned */
    char *const *rest;                    /* the program, or what is left of the command line */
    struct ss_vec_of(char *) inputs;      /* words that are no options; borrowed */
    struct ss_error *err;
};

static void push_word(struct ss_translation *to, const char *text, size_t length)
{
    char *word = ss_alloc_zero(length + 1, 1);
    memcpy(word, text, length);
    ss_vec_push(&to->words, word);
}

static enum ss_status refuse(struct parse *parse, const char *text)
{
    return ss_fail(parse->err, SS_E_USAGE, "%s", text);
}

static void add_remark(struct parse *parse, const char *text)
{
    ss_strbuf_append_format(&parse->to->remarks, "%s\n", text);
}

/* The words of "--rate %s|remark". A value is one word, whatever is in it. */
static void give(struct parse *parse, const char *text, const char *value)
{
    const char *end = text + strcspn(text, "|");
    while (text < end) {
        size_t length = strcspn(text, " |");
        if (length == 2 && memcmp(text, "%s", 2) == 0) {
            push_word(parse->to, value, strlen(value));
        } else if (length > 0) {
            push_word(parse->to, text, length);
        }
        text += length + (text[length] == ' ');
    }
    if (*end == '|') {
        add_remark(parse, end + 1);
    }
}

/* "run" and "run.nsys-rep" are "run.pftrace"; a name with one of our endings is that name. */
static void give_output(struct parse *parse, const char *value)
{
    static const char *const theirs[] = {".nsys-rep", ".qdrep", ".ncu-rep", ".sqlite"};
    static const char *const ours[] = {".pftrace", ".stepscope", ".svg",
                                       ".json",    ".json.gz",   ".raw"};
    size_t length = strlen(value);
    for (size_t i = 0; i < COUNT_OF(ours); i++) {
        size_t suffix = strlen(ours[i]);
        if (length > suffix && strcmp(value + length - suffix, ours[i]) == 0) {
            give(parse, "--output %s", value);
            return;
        }
    }
    for (size_t i = 0; i < COUNT_OF(theirs); i++) {
        size_t suffix = strlen(theirs[i]);
        if (length > suffix && strcmp(value + length - suffix, theirs[i]) == 0) {
            length -= suffix;
            break;
        }
    }
    struct ss_strbuf name;
    ss_strbuf_init(&name, length + sizeof ".pftrace");
    ss_strbuf_append(&name, value, length);
    ss_strbuf_append_text(&name, ".pftrace");
    give(parse, "--output %s", name.data);
    ss_strbuf_fini(&name);
}

/* A name is the whole name of a function; "regex:" an expression. */
static void give_kernel(struct parse *parse, const char *value)
{
    static const char prefix[] = "regex:";
    if (strncmp(value, prefix, sizeof prefix - 1) == 0) {
        give(parse, "--kernel %s", value + sizeof prefix - 1);
        return;
    }
    struct ss_strbuf expression;
    ss_strbuf_init(&expression, 2 * strlen(value) + 64);
    ss_strbuf_append_text(&expression, "(^|[^A-Za-z0-9_])");
    for (const char *at = value; *at != '\0'; at++) {
        if (strchr(".[]()*+?{}^$|\\", *at) != NULL) {
            ss_strbuf_append_char(&expression, '\\');
        }
        ss_strbuf_append_char(&expression, *at);
    }
    ss_strbuf_append_text(&expression, "([^A-Za-z0-9_]|$)");
    give(parse, "--kernel %s", expression.data);
    ss_strbuf_fini(&expression);
}

/* "A=1,B=2": a comma begins the next variable only if a name and "=" follow it. */
static void give_environment(struct parse *parse, const char *value)
{
    while (*value != '\0') {
        size_t length = strlen(value);
        for (const char *at = value; (at = strchr(at, ',')) != NULL; at++) {
            size_t name =
                strspn(at + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
            if (name > 0 && at[1 + name] == '=') {
                length = (size_t)(at - value);
                break;
            }
        }
        char *variable = ss_alloc_zero(length + 1, 1);
        memcpy(variable, value, length);
        ss_vec_push(&parse->environment, variable);
        value += length + (value[length] == ',');
    }
}

static enum ss_status fail_word(struct parse *parse, const struct ss_translation_row *row,
                                const char *word, size_t length)
{
    struct ss_suggestion meant = {0};
    char text[MOST_NAME_BYTES];
    snprintf(text, sizeof text, "%.*s", (int)length, word);
    meant.word = text;
    for (size_t i = 0; i < ss_translation_word_count; i++) {
        const struct ss_translation_word *known = &ss_translation_words[i];
        if (known->mode == parse->mode && known->word != NULL &&
            strcmp(known->name, row->name) == 0) {
            ss_suggestion_offer(&meant, known->word);
        }
    }
    return ss_fail(parse->err, SS_E_USAGE, "--%s: \"%s\" is not known here%s%s%s", row->name, text,
                   meant.name != NULL ? "; did you mean \"" : "",
                   meant.name != NULL ? meant.name : "", meant.name != NULL ? "\"?" : "");
}

static enum ss_status apply(struct parse *parse, enum ss_translated_action action, const char *name,
                            const char *text, const char *value)
{
    switch (action) {
    case GIVE:
        give(parse, text, value);
        break;
    case REMARK:
        add_remark(parse, text);
        break;
    case INSTEAD:
        return ss_fail(parse->err, SS_E_USAGE, "--%s is not here; instead: %s", name, text);
    case OUTPUT:
        give_output(parse, value);
        break;
    case KERNEL:
        give_kernel(parse, value);
        break;
    case ENVIRONMENT:
        give_environment(parse, value);
        break;
    default:
        break; /* ALWAYS */
    }
    return SS_OK;
}

static enum ss_status apply_word(struct parse *parse, const struct ss_translation_row *row,
                                 const char *word, size_t length)
{
    for (size_t i = 0; i < ss_translation_word_count; i++) {
        const struct ss_translation_word *known = &ss_translation_words[i];
        if (known->mode == parse->mode && strcmp(known->name, row->name) == 0 &&
            (known->word == NULL ||
             (strlen(known->word) == length && memcmp(known->word, word, length) == 0))) {
            return apply(parse, known->action, row->name, known->text, word);
        }
    }
    return fail_word(parse, row, word, length);
}

static enum ss_status apply_words(struct parse *parse, const struct ss_translation_row *row,
                                  const char *value)
{
    while (true) {
        size_t length = strcspn(value, ",");
        SS_TRY(apply_word(parse, row, value, length));
        if (value[length] == '\0') {
            return SS_OK;
        }
        value += length + 1;
    }
}

static enum ss_status apply_bool(struct parse *parse, const struct ss_translation_row *row,
                                 const char *value)
{
    bool is_true = strcmp(value, "true") == 0;
    if (!is_true && strcmp(value, "false") != 0) {
        return ss_fail(parse->err, SS_E_USAGE, "--%s takes true or false, not \"%s\"", row->name,
                       value);
    }
    if ((row->action == IF_TRUE && is_true) || (row->action == IF_FALSE && !is_true)) {
        give(parse, row->text, value);
    }
    return SS_OK;
}

static enum ss_status apply_row(struct parse *parse, const struct ss_translation_row *row,
                                const char *value)
{
    for (size_t i = 0; i < parse->given_count; i++) {
        if (parse->given[i].row == row && row->action == ONE_OF) {
            return ss_fail(parse->err, SS_E_USAGE, "--%s is given twice: one at a time", row->name);
        }
    }
    if (parse->given_count == MOST_GIVEN) {
        return refuse(parse, "too many options");
    }
    parse->given[parse->given_count++] = (struct given){row, value};
    if (row->argument == BOOL) {
        return apply_bool(parse, row, value);
    }
    if (row->action == ONE_OF) {
        return apply_word(parse, row, value, strlen(value));
    }
    return row->action == SOME_OF ? apply_words(parse, row, value)
                                  : apply(parse, row->action, row->name, row->text, value);
}

/* --- the command line ------------------------------------------------------------------------- */

static const struct ss_translation_row *find_name(enum ss_translated_mode mode, const char *name,
                                                  size_t length)
{
    for (size_t i = 0; i < ss_translation_row_count; i++) {
        if (ss_translation_rows[i].mode == mode && strlen(ss_translation_rows[i].name) == length &&
            memcmp(ss_translation_rows[i].name, name, length) == 0) {
            return &ss_translation_rows[i];
        }
    }
    return NULL;
}

static const struct ss_translation_row *find_letter(enum ss_translated_mode mode, char letter)
{
    for (size_t i = 0; i < ss_translation_row_count; i++) {
        if (ss_translation_rows[i].mode == mode && ss_translation_rows[i].letter == letter) {
            return &ss_translation_rows[i];
        }
    }
    return NULL;
}

static enum ss_status fail_option(struct parse *parse, const char *word)
{
    struct ss_suggestion meant = {0};
    char name[MOST_NAME_BYTES];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    meant.word = name + (strncmp(name, "--", 2) == 0 ? 2 : 0);
    for (size_t i = 0; i < ss_translation_row_count && meant.word != name; i++) {
        if (ss_translation_rows[i].mode == parse->mode) {
            ss_suggestion_offer(&meant, ss_translation_rows[i].name);
        }
    }
    return ss_fail(parse->err, SS_E_USAGE, "%s has no translation%s%s%s", name,
                   meant.name != NULL ? "; did you mean --" : ": see docs/reference.md",
                   meant.name != NULL ? meant.name : "", meant.name != NULL ? "?" : "");
}

/* The value of an option whose word is *words: after "=" or in the same word (`attached`), else the
 * next word. NULL: there is none. */
static const char *value_of(char *const **words, const char *attached)
{
    if (attached != NULL) {
        return attached + (*attached == '=');
    }
    if ((*words)[1] == NULL) {
        return NULL;
    }
    ++*words;
    return **words;
}

static enum ss_status take(struct parse *parse, const struct ss_translation_row *row,
                           char *const **words, const char *attached)
{
    const char *value = row->argument == NONE ? "" : value_of(words, attached);
    if (value == NULL) {
        return ss_fail(parse->err, SS_E_USAGE, "--%s needs a value", row->name);
    }
    return apply_row(parse, row, value);
}

static enum ss_status take_long(struct parse *parse, char *const **words)
{
    const char *name = **words + 2;
    size_t length = strcspn(name, "=");
    const struct ss_translation_row *row = find_name(parse->mode, name, length);
    bool has_value = name[length] == '=';
    if (row == NULL) {
        return fail_option(parse, **words);
    }
    if (has_value && row->argument == NONE) {
        return ss_fail(parse->err, SS_E_USAGE, "--%s takes no value", row->name);
    }
    return take(parse, row, words, has_value ? name + length : NULL);
}

/* "-st", "-r100", "-r=100", "-r 100" */
static enum ss_status take_letters(struct parse *parse, char *const **words)
{
    const char *word = **words;
    for (const char *at = word + 1; *at != '\0'; at++) {
        const struct ss_translation_row *row = find_letter(parse->mode, *at);
        if (row == NULL) {
            return fail_option(parse, word);
        }
        if (row->argument != NONE) {
            return take(parse, row, words, at[1] != '\0' ? at + 1 : NULL);
        }
        SS_TRY(take(parse, row, words, NULL));
    }
    return SS_OK;
}

static enum ss_status parse_words(struct parse *parse, char *const *words)
{
    bool has_program = ss_translation_modes[parse->mode].has_program;
    for (; *words != NULL; words++) {
        const char *word = *words;
        if (strcmp(word, "--") == 0) {
            parse->rest = words + 1;
            return SS_OK;
        }
        if (word[0] != '-' || word[1] == '\0') {
            if (has_program) {
                parse->rest = words;
                return SS_OK;
            }
            ss_vec_push(&parse->inputs, *words);
            continue;
        }
        SS_TRY(word[1] == '-' ? take_long(parse, &words) : take_letters(parse, &words));
        const struct given *last = &parse->given[parse->given_count - 1];
        if (last->row->action == SETS) {
            return SS_OK;
        }
    }
    parse->rest = words;
    return SS_OK;
}

static bool was_given(const struct parse *parse, const struct ss_translation_absent *absent,
                      bool *has_word)
{
    bool found = false;
    *has_word = false;
    for (size_t i = 0; i < parse->given_count; i++) {
        const struct given *given = &parse->given[i];
        if (strcmp(given->row->name, absent->name) != 0) {
            continue;
        }
        found = true;
        for (const char *at = given->value; absent->word != NULL && at != NULL;) {
            *has_word |= strncmp(at, absent->word, strlen(absent->word)) == 0;
            at = strchr(at, ',');
            at = at != NULL ? at + 1 : NULL;
        }
    }
    return found;
}

static void add_absent(struct parse *parse)
{
    for (size_t i = 0; i < ss_translation_absent_count; i++) {
        const struct ss_translation_absent *absent = &ss_translation_absents[i];
        bool has_word, is_given;
        if (absent->mode != parse->mode) {
            continue;
        }
        is_given = was_given(parse, absent, &has_word);
        if (absent->word == NULL ? !is_given : is_given && !has_word) {
            give(parse, absent->text, "");
        }
    }
}

static const char *given_value(const struct parse *parse, const char *name)
{
    const char *value = NULL;
    for (size_t i = 0; i < parse->given_count; i++) {
        value = strcmp(parse->given[i].row->name, name) == 0 ? parse->given[i].value : value;
    }
    return value;
}

static void give_to(void *context, const char *text, const char *value)
{
    give(context, text, value);
}

static enum ss_status add_captures(struct parse *parse)
{
    struct ss_translated_captures captures = {.range = given_value(parse, "capture-range"),
                                              .end = given_value(parse, "capture-range-end"),
                                              .name = given_value(parse, "nvtx-capture"),
                                              .delay = given_value(parse, "delay"),
                                              .duration = given_value(parse, "duration"),
                                              .give = give_to,
                                              .context = parse};
    return parse->mode == SS_TRANSLATED_NSYS_PROFILE ? ss_translate_captures(&captures, parse->err)
                                                     : SS_OK;
}

static void add_rest(struct parse *parse)
{
    for (size_t i = 0; i < parse->inputs.count; i++) {
        push_word(parse->to, parse->inputs.data[i], strlen(parse->inputs.data[i]));
    }
    if (*parse->rest != NULL) {
        push_word(parse->to, "--", 2);
    }
    if (*parse->rest != NULL && parse->environment.count > 0) {
        push_word(parse->to, "env", 3);
        for (size_t i = 0; i < parse->environment.count; i++) {
            push_word(parse->to, parse->environment.data[i], strlen(parse->environment.data[i]));
        }
    }
    for (char *const *word = parse->rest; *word != NULL; word++) {
        push_word(parse->to, *word, strlen(*word));
    }
}

static void forget_words(struct ss_translation *to)
{
    for (size_t i = 0; i < to->words.count; i++) {
        ss_free(to->words.data[i]);
    }
    ss_vec_clear(&to->words);
    ss_strbuf_clear(&to->remarks);
}

static void parse_fini(struct parse *parse)
{
    for (size_t i = 0; i < parse->environment.count; i++) {
        ss_free(parse->environment.data[i]);
    }
    ss_vec_fini(&parse->environment);
    ss_vec_fini(&parse->inputs);
}

static enum ss_translated_mode find_mode(const char *id)
{
    int mode = 0;
    while (strcmp(ss_translation_modes[mode].id, id) != 0) {
        mode++;
    }
    return (enum ss_translated_mode)mode;
}

/* `words`: after the subcommand. */
static enum ss_status translate_as(enum ss_translated_mode mode, char *const *words,
                                   struct ss_translation *to, struct ss_error *err)
{
    struct parse parse = {.mode = mode, .to = to, .rest = words, .err = err};
    push_word(to, ss_translation_modes[mode].command, strlen(ss_translation_modes[mode].command));
    enum ss_status status = parse_words(&parse, words);
    const struct ss_translation_row *last =
        parse.given_count > 0 ? parse.given[parse.given_count - 1].row : NULL;
    bool is_other = status == SS_OK && last != NULL && last->action == SETS;
    if (status == SS_OK && !is_other) {
        add_absent(&parse);
        status = add_captures(&parse);
        add_rest(&parse);
    }
    parse_fini(&parse);
    if (is_other) {
        forget_words(to);
        return translate_as(find_mode(last->text), words, to, err);
    }
    return status;
}

static enum ss_status fail_subcommand(const char *tool, const char *word, struct ss_error *err)
{
    struct ss_strbuf list;
    ss_strbuf_init(&list, 1024);
    for (size_t i = 0; i < SS_TRANSLATED_MODES; i++) {
        if (strcmp(ss_translation_modes[i].tool, tool) == 0 &&
            ss_translation_modes[i].command != NULL) {
            ss_strbuf_append_format(&list, "%s%s", list.length > 0 ? ", " : "",
                                    ss_translation_modes[i].word);
        }
    }
    enum ss_status status =
        word == NULL ? ss_fail(err, SS_E_USAGE, "takes one of %s", list.data)
                     : ss_fail(err, SS_E_USAGE, "\"%.60s\" has no translation: %s have one", word,
                               list.data);
    ss_strbuf_fini(&list);
    return status;
}

bool ss_translation_has(const char *tool)
{
    for (size_t i = 0; i < SS_TRANSLATED_MODES; i++) {
        if (strcmp(ss_translation_modes[i].tool, tool) == 0) {
            return true;
        }
    }
    return false;
}

enum ss_status ss_translate(char *const *words, struct ss_translation *translation,
                            struct ss_error *err)
{
    *translation = (struct ss_translation){0};
    ss_strbuf_init(&translation->remarks, MOST_REMARKS_BYTES);
    for (size_t i = 0; i < SS_TRANSLATED_MODES; i++) {
        const struct ss_translation_mode *mode = &ss_translation_modes[i];
        if (strcmp(mode->tool, words[0]) != 0) {
            continue;
        }
        bool has_word = mode->word != NULL;
        if (has_word && (words[1] == NULL || strcmp(mode->word, words[1]) != 0)) {
            continue;
        }
        if (mode->command == NULL) {
            return ss_fail(err, SS_E_USAGE, "%s is not here; instead: %s", mode->word,
                           mode->instead);
        }
        enum ss_status status =
            translate_as((enum ss_translated_mode)i, words + 1 + has_word, translation, err);
        ss_vec_push(&translation->words, NULL);
        translation->words.count--;
        return status;
    }
    return fail_subcommand(words[0], words[1], err);
}

void ss_translation_fini(struct ss_translation *translation)
{
    forget_words(translation);
    ss_vec_fini(&translation->words);
    ss_strbuf_fini(&translation->remarks);
}

void ss_translation_append_line(const struct ss_translation *translation, struct ss_strbuf *out)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "-_=+./:,@%";
    ss_strbuf_append_text(out, "stepscope");
    for (size_t i = 0; i < translation->words.count; i++) {
        const char *word = translation->words.data[i];
        ss_strbuf_append_char(out, ' ');
        if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
            ss_strbuf_append_text(out, word);
            continue;
        }
        ss_strbuf_append_char(out, '\'');
        for (const char *at = word; *at != '\0'; at++) {
            if (*at == '\'') {
                ss_strbuf_append_text(out, "'\\''");
            } else {
                ss_strbuf_append_char(out, *at);
            }
        }
        ss_strbuf_append_char(out, '\'');
    }
}
