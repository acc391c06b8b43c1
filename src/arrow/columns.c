/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/columns.h"

#include "base/alloc.h"
#include "base/utf8.h"

/* --- texts ------------------------------------------------------------------------------------ */

static void append_bytes(struct ss_column_texts *texts, const char *bytes, size_t length)
{
    size_t used = texts->bytes.count;
    ss_vec_reserve(&texts->bytes, used + length);
    if (length > 0) {
        memcpy(texts->bytes.data + used, bytes, length);
    }
    texts->bytes.count = used + length;
}

/* As ss_utf8_append_valid, without a maximum. */
static void append_valid(struct ss_column_texts *texts, struct ss_strview text)
{
    if (ss_utf8_valid(text.data, text.length)) {
        append_bytes(texts, text.data, text.length);
        return;
    }
    for (size_t at = 0; at < text.length;) {
        size_t step = ss_utf8_length(text.data + at, text.length - at);
        append_bytes(texts, step > 0 ? text.data + at : "\xef\xbf\xbd", step > 0 ? step : 3);
        at += step > 0 ? step : 1;
    }
}

static void end_text(struct ss_column_texts *texts)
{
    ss_vec_push(&texts->ends, (int64_t)texts->bytes.count);
}

/* The common form has 32-bit offsets; more bytes need the large one. */
static void finish_texts(struct ss_column_texts *texts)
{
    ss_vec_reserve(&texts->bytes, 1);
    if (texts->bytes.count > INT32_MAX) {
        return;
    }
    texts->narrow_ends = ss_alloc(texts->ends.count * sizeof *texts->narrow_ends);
    for (size_t i = 0; i < texts->ends.count; i++) {
        texts->narrow_ends[i] = (int32_t)texts->ends.data[i];
    }
}

static void texts_fini(struct ss_column_texts *texts)
{
    ss_vec_fini(&texts->bytes);
    ss_vec_fini(&texts->ends);
    ss_free(texts->narrow_ends);
}

/* --- columns ---------------------------------------------------------------------------------- */

/* Bytes of a value; 0: of TEXT and NULL. BOOLEAN is a byte while building, then a bit. */
static size_t value_size(enum ss_column_type type)
{
    static const size_t sizes[] = {
        [SS_COLUMN_BOOLEAN] = 1, [SS_COLUMN_INT32] = 4, [SS_COLUMN_INT64] = 8,
        [SS_COLUMN_FLOAT64] = 8, [SS_COLUMN_TEXT] = 0,  [SS_COLUMN_WORDS] = 4};
    return sizes[type];
}

static const char *copy(struct ss_columns *columns, const char *text)
{
    return text != NULL ? ss_arena_strndup(&columns->arena, text, strlen(text)) : NULL;
}

size_t ss_columns_add(struct ss_columns *columns, const struct ss_column_kind *kind)
{
    size_t index = columns->column_count++;
    columns->columns =
        ss_realloc(columns->columns, columns->column_count, sizeof *columns->columns);
    struct ss_arrow_column *column = &columns->columns[index];
    *column = (struct ss_arrow_column){
        .key = copy(columns, kind->key), .unit = copy(columns, kind->unit), .type = kind->type};
    ss_vec_push(&column->texts.ends, 0);
    if (column->type == SS_COLUMN_WORDS) {
        ss_intern_init(&column->words);
    }
    return index;
}

struct ss_columns *ss_columns_new(const char *name, const struct ss_column_kind *kinds,
                                  size_t count)
{
    struct ss_columns *columns = ss_alloc_zero(1, sizeof *columns);
    columns->references = 1;
    columns->name = copy(columns, name);
    for (size_t i = 0; i < count; i++) {
        ss_columns_add(columns, &kinds[i]);
    }
    return columns;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* New bytes are zero: absent cells have defined values. */
static void *grow_zeroed(void *memory, size_t old_bytes, size_t new_bytes)
{
    char *grown = ss_realloc(memory, new_bytes, 1);
    memset(grown + old_bytes, 0, new_bytes - old_bytes);
    return grown;
}

/* Columns get their buffers with their first value: many have none. */
static void begin_column(struct ss_arrow_column *column, size_t capacity)
{
    size_t size = value_size(column->type);
    column->validity = ss_alloc_zero(capacity / 8, 1);
    column->values = size > 0 ? ss_alloc_zero(capacity, size) : NULL;
}

static void grow(struct ss_columns *columns)
{
    size_t old = columns->row_capacity, new = old > 0 ? 2 * old : 64;
    for (size_t c = 0; c < columns->column_count; c++) {
        struct ss_arrow_column *column = &columns->columns[c];
        size_t size = value_size(column->type);
        if (column->validity != NULL) {
            column->validity = grow_zeroed(column->validity, old / 8, new / 8);
            column->values = size > 0 ? grow_zeroed(column->values, old * size, new *size) : NULL;
        }
    }
    columns->row_capacity = new;
}

/* Texts end with their row, filled or not. */
static void end_row(struct ss_columns *columns)
{
    for (size_t c = 0; c < columns->column_count && columns->row_count > 0; c++) {
        if (columns->columns[c].type == SS_COLUMN_TEXT) {
            end_text(&columns->columns[c].texts);
        }
    }
}

void ss_columns_add_row(struct ss_columns *columns)
{
    end_row(columns);
    if (columns->row_count == columns->row_capacity) {
        grow(columns);
    }
    columns->row_count++;
}

/* Marks the cell of the last row as present. */
static struct ss_arrow_column *put(struct ss_columns *columns, size_t index)
{
    struct ss_arrow_column *column = &columns->columns[index];
    size_t row = columns->row_count - 1;
    uint8_t bit = (uint8_t)(1 << (row % 8));
    if (column->validity == NULL) {
        begin_column(column, columns->row_capacity);
    }
    column->present += (column->validity[row / 8] & bit) == 0;
    column->validity[row / 8] |= bit;
    return column;
}

void ss_columns_put_boolean(struct ss_columns *columns, size_t column, bool value)
{
    ((uint8_t *)put(columns, column)->values)[columns->row_count - 1] = value;
}

void ss_columns_put_integer(struct ss_columns *columns, size_t column, int64_t value)
{
    if (columns->columns[column].type == SS_COLUMN_INT64) {
        ((int64_t *)put(columns, column)->values)[columns->row_count - 1] = value;
    } else if (value >= INT32_MIN && value <= INT32_MAX) {
        ((int32_t *)put(columns, column)->values)[columns->row_count - 1] = (int32_t)value;
    }
}

void ss_columns_put_natural(struct ss_columns *columns, size_t column, uint64_t value)
{
    ss_columns_put_integer(columns, column, value < INT64_MAX ? (int64_t)value : INT64_MAX);
}

void ss_columns_put_real(struct ss_columns *columns, size_t column, double value)
{
    ((double *)put(columns, column)->values)[columns->row_count - 1] = value;
}

void ss_columns_put_text(struct ss_columns *columns, size_t column, struct ss_strview text)
{
    append_valid(&put(columns, column)->texts, text);
}

/* The word of a text; equal texts are one word, as consumers require of a dictionary. */
static uint32_t word_of(struct ss_arrow_column *column, struct ss_strview text)
{
    if (ss_utf8_valid(text.data, text.length)) {
        return ss_intern_put(&column->words, text.data, text.length);
    }
    struct ss_column_texts valid = {0};
    append_valid(&valid, text);
    uint32_t word = ss_intern_put(&column->words, valid.bytes.data, valid.bytes.count);
    texts_fini(&valid);
    return word;
}

void ss_columns_put_word(struct ss_columns *columns, size_t index, uint32_t key,
                         struct ss_strview text)
{
    struct ss_arrow_column *column = &columns->columns[index];
    if (text.length == 0) {
        return;
    }
    if (key >= column->word_of.count) {
        ss_vec_resize(&column->word_of, (size_t)key + 1);
    }
    uint32_t *word = &column->word_of.data[key];
    if (*word == 0) {
        *word = word_of(column, text);
    }
    ss_columns_put_again(columns, index, key);
}

bool ss_columns_put_again(struct ss_columns *columns, size_t index, uint32_t key)
{
    const struct ss_arrow_column *column = &columns->columns[index];
    uint32_t word = key < column->word_of.count ? column->word_of.data[key] : 0;
    if (word != 0) { /* word 0 is the empty text, which the dictionary leaves out */
        ((int32_t *)put(columns, index)->values)[columns->row_count - 1] = (int32_t)(word - 1);
    }
    return word != 0;
}

/* --- finish ----------------------------------------------------------------------------------- */

static void finish_words(struct ss_arrow_column *column)
{
    for (uint32_t word = 1; word < column->words.count; word++) {
        struct ss_strview text = ss_intern_get(&column->words, word);
        append_bytes(&column->texts, text.data, text.length);
        end_text(&column->texts);
    }
    ss_intern_fini(&column->words);
    ss_vec_fini(&column->word_of);
}

/* Eight rows to a byte. */
static void pack_booleans(struct ss_arrow_column *column, size_t rows)
{
    uint8_t *values = column->values;
    for (size_t row = 0; row < rows; row++) {
        bool value = values[row] != 0;
        if (row % 8 == 0) {
            values[row / 8] = 0;
        }
        values[row / 8] |= (uint8_t)(value << (row % 8));
    }
}

/* Leaves the buffers that an array exports, each as long as its rows need. */
static void finish_column(struct ss_arrow_column *column, size_t rows)
{
    size_t size = value_size(column->type);
    column->null_count = (int64_t)rows - column->present;
    if (column->validity == NULL) { /* consumers expect buffers, even of columns without values */
        begin_column(column, rows + 8);
    }
    if (column->null_count == 0) {
        ss_free(column->validity);
        column->validity = NULL;
    }
    if (column->type == SS_COLUMN_WORDS) {
        finish_words(column);
    } else if (column->type == SS_COLUMN_BOOLEAN) {
        pack_booleans(column, rows);
    }
    if (size > 0) {
        column->values = ss_realloc(column->values, rows, size);
    }
    finish_texts(&column->texts);
}

void ss_columns_finish(struct ss_columns *columns)
{
    end_row(columns);
    for (size_t c = 0; c < columns->column_count; c++) {
        finish_column(&columns->columns[c], columns->row_count);
    }
}

struct ss_strview ss_column_text(const struct ss_arrow_column *column, size_t row)
{
    size_t text =
        column->type == SS_COLUMN_WORDS ? (size_t)((const int32_t *)column->values)[row] : row;
    int64_t begin = column->texts.ends.data[text], end = column->texts.ends.data[text + 1];
    return (struct ss_strview){column->texts.bytes.data + begin, (size_t)(end - begin)};
}

/* --- references ------------------------------------------------------------------------------- */

struct ss_columns *ss_columns_share(struct ss_columns *columns)
{
    /* Relaxed: the caller has a reference already. */
    __atomic_fetch_add(&columns->references, 1, __ATOMIC_RELAXED);
    return columns;
}

void ss_columns_release(struct ss_columns *columns)
{
    /* Each release publishes what its owner read; the last one acquires that before it frees. */
    if (columns == NULL || __atomic_sub_fetch(&columns->references, 1, __ATOMIC_ACQ_REL) > 0) {
        return;
    }
    for (size_t c = 0; c < columns->column_count; c++) {
        struct ss_arrow_column *column = &columns->columns[c];
        ss_free(column->validity);
        ss_free(column->values);
        texts_fini(&column->texts);
        ss_intern_fini(&column->words); /* of columns that were not finished */
        ss_vec_fini(&column->word_of);
    }
    ss_free(columns->columns);
    ss_arena_fini(&columns->arena);
    ss_free(columns);
}
