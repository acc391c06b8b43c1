/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/operators/operator_arguments.h"

#include <string.h>

/* Larger sizes are not those of tensors in memory; products of a few stay finite. */
static const int64_t largest_size = INT64_C(1) << 40;

/* --- JSON lists ------------------------------------------------------------------------------- */

struct cursor {
    const char *at, *end;
};

static void skip_blanks(struct cursor *cursor)
{
    while (cursor->at < cursor->end && (*cursor->at == ' ' || *cursor->at == '\n' ||
                                        *cursor->at == '\t' || *cursor->at == '\r')) {
        cursor->at++;
    }
}

/* Takes this character, if it is the next but blanks. */
static bool take(struct cursor *cursor, char c)
{
    skip_blanks(cursor);
    bool is_next = cursor->at < cursor->end && *cursor->at == c;
    cursor->at += is_next;
    return is_next;
}

static bool take_number(struct cursor *cursor, int64_t *number)
{
    skip_blanks(cursor);
    const char *begin = cursor->at;
    bool is_negative = cursor->at < cursor->end && *cursor->at == '-';
    int64_t value = 0;
    const char *digits = cursor->at += is_negative;
    while (cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9') {
        int digit = *cursor->at++ - '0';
        value = value > (INT64_MAX - digit) / 10 ? INT64_MAX : 10 * value + digit;
    }
    *number = is_negative ? -value : value;
    if (cursor->at == digits) {
        cursor->at = begin;
        return false;
    }
    return true;
}

/* A text in quotes, its escapes as written. */
static bool take_text(struct cursor *cursor, struct ss_strview *text)
{
    if (!take(cursor, '"')) {
        return false;
    }
    const char *begin = cursor->at;
    while (cursor->at < cursor->end && *cursor->at != '"') {
        cursor->at += *cursor->at == '\\' && cursor->at + 1 < cursor->end ? 2 : 1;
    }
    *text = (struct ss_strview){begin, (size_t)(cursor->at - begin)};
    return take(cursor, '"');
}

/* After an entry of a list: true, another follows; false, it has ended, or is damaged. */
static bool take_comma(struct cursor *cursor, bool *is_damaged)
{
    if (take(cursor, ',')) {
        return true;
    }
    *is_damaged = *is_damaged || !take(cursor, ']');
    return false;
}

/* --- shapes ----------------------------------------------------------------------------------- */

/* The numbers of a shape behind its bracket, the first of which may have been read. */
static bool read_sizes(struct cursor *cursor, struct ss_operator_argument *argument)
{
    bool is_damaged = false;
    int64_t size;
    argument->elements = 1;
    argument->dimensions = 0;
    if (take(cursor, ']')) {
        return true;
    }
    do {
        if (!take_number(cursor, &size) || size < 0 || size > largest_size ||
            argument->dimensions == SS_OPERATOR_MOST_DIMENSIONS) {
            return false;
        }
        argument->sizes[argument->dimensions++] = size;
        argument->elements *= (double)size;
    } while (take_comma(cursor, &is_damaged));
    return !is_damaged;
}

/* [[2, 3], [4]]: a list of tensors, behind its bracket. */
static bool read_list(struct cursor *cursor, struct ss_operator_argument *argument)
{
    bool is_damaged = false;
    double elements = 0;
    do {
        if (!take(cursor, '[') || !read_sizes(cursor, argument)) {
            return false;
        }
        elements += argument->elements;
    } while (take_comma(cursor, &is_damaged));
    argument->kind = SS_ARGUMENT_TENSORS;
    argument->dimensions = 0;
    argument->elements = elements;
    return !is_damaged;
}

static bool read_shape(struct cursor *cursor, struct ss_operator_argument *argument)
{
    if (!take(cursor, '[')) {
        return false;
    }
    struct cursor inside = *cursor;
    if (take(&inside, '[')) {
        return read_list(cursor, argument);
    }
    argument->kind = SS_ARGUMENT_TENSOR;
    return read_sizes(cursor, argument);
}

static bool read_shapes(struct ss_operator_arguments *arguments, struct ss_strview text)
{
    struct cursor cursor = {text.data, text.data + text.length};
    bool is_damaged = false;
    if (!take(&cursor, '[')) {
        return false;
    }
    if (take(&cursor, ']')) {
        return true;
    }
    do {
        if (arguments->count == SS_OPERATOR_MOST_ARGUMENTS) {
            return false;
        }
        struct ss_operator_argument *argument = &arguments->list[arguments->count];
        *argument = (struct ss_operator_argument){.value = {"", 0}};
        if (!read_shape(&cursor, argument)) {
            return false;
        }
        arguments->count++;
    } while (take_comma(&cursor, &is_damaged));
    return !is_damaged;
}

/* --- types and values ------------------------------------------------------------------------- */

/* Calls `put` for each text of the list. */
static void read_texts(struct ss_operator_arguments *arguments, struct ss_strview list,
                       void (*put)(struct ss_operator_argument *, struct ss_strview))
{
    struct cursor cursor = {list.data, list.data + list.length};
    struct ss_strview text;
    bool is_damaged = false;
    if (!take(&cursor, '[')) {
        return;
    }
    for (size_t i = 0; i < arguments->count && take_text(&cursor, &text); i++) {
        put(&arguments->list[i], text);
        if (!take_comma(&cursor, &is_damaged)) {
            return;
        }
    }
}

static bool is_text(struct ss_strview text, const char *other)
{
    return ss_strview_equal(text, ss_strview_of(other));
}

/* Numbers and lists of them have the shape [] as tensors without dimensions do, but types of their
 * own: "Scalar", "ScalarList", before that "Int", "Bool", …; an argument that is not given has "".
 */
static void put_type(struct ss_operator_argument *argument, struct ss_strview type)
{
    argument->element = ss_element_of(type);
    bool is_number = argument->element.bytes == 0 && !is_text(type, "TensorList");
    if (argument->kind == SS_ARGUMENT_TENSOR && argument->dimensions == 0 && is_number) {
        argument->kind = SS_ARGUMENT_OTHER;
    }
    if (is_text(type, "TensorList")) { /* before PyTorch 2.1 without shapes */
        argument->kind =
            argument->kind == SS_ARGUMENT_TENSORS ? SS_ARGUMENT_TENSORS : SS_ARGUMENT_OTHER;
    }
}

static void put_value(struct ss_operator_argument *argument, struct ss_strview value)
{
    argument->value = value;
}

bool ss_operator_arguments_read(struct ss_operator_arguments *arguments, struct ss_strview shapes,
                                struct ss_strview types, struct ss_strview values)
{
    arguments->count = 0;
    if (!read_shapes(arguments, shapes)) {
        arguments->count = 0;
        return false;
    }
    read_texts(arguments, types, put_type);
    read_texts(arguments, values, put_value);
    return true;
}

const struct ss_operator_argument *ss_operator_tensor(const struct ss_operator_arguments *arguments,
                                                      size_t index)
{
    return index < arguments->count && arguments->list[index].kind == SS_ARGUMENT_TENSOR
               ? &arguments->list[index]
               : NULL;
}

size_t ss_operator_numbers(const struct ss_operator_arguments *arguments, size_t index,
                           int64_t *numbers, size_t most)
{
    if (index >= arguments->count || arguments->list[index].value.length == 0) {
        return 0;
    }
    struct ss_strview value = arguments->list[index].value;
    struct cursor cursor = {value.data, value.data + value.length};
    bool is_damaged = false;
    size_t count = 0;
    if (!take(&cursor, '[')) {
        return most > 0 && take_number(&cursor, numbers) && cursor.at == cursor.end ? 1 : 0;
    }
    do {
        if (count == most || !take_number(&cursor, &numbers[count])) {
            return 0;
        }
        count++;
    } while (take_comma(&cursor, &is_damaged));
    return is_damaged ? 0 : count;
}

static bool take_word(struct cursor *cursor, const char *word)
{
    size_t length = strlen(word);
    skip_blanks(cursor);
    bool is_next =
        (size_t)(cursor->end - cursor->at) >= length && memcmp(cursor->at, word, length) == 0;
    cursor->at += is_next ? length : 0;
    return is_next;
}

int ss_operator_flags(const struct ss_operator_arguments *arguments, size_t index)
{
    enum { MOST_FLAGS = 8 };
    if (index >= arguments->count) {
        return -1;
    }
    struct ss_strview value = arguments->list[index].value;
    struct cursor cursor = {value.data, value.data + value.length};
    int flags = 0;
    take(&cursor, '[');
    for (int i = 0; i < MOST_FLAGS; i++) {
        bool is_true = take_word(&cursor, "True") || take_word(&cursor, "true");
        if (!is_true && !take_word(&cursor, "False") && !take_word(&cursor, "false")) {
            return -1;
        }
        flags |= is_true << i;
        if (!take(&cursor, ',')) {
            return flags;
        }
    }
    return -1;
}
