/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/exported.h"

#include "base/alloc.h"
#include "base/strbuf.h"

/* --- schemas ---------------------------------------------------------------------------------- */

static void release_schema(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (schema->children[i]->release != NULL) { /* else its consumer moved it elsewhere */
            schema->children[i]->release(schema->children[i]);
        }
        ss_free(schema->children[i]);
    }
    if (schema->dictionary != NULL) {
        if (schema->dictionary->release != NULL) {
            schema->dictionary->release(schema->dictionary);
        }
        ss_free(schema->dictionary);
    }
    ss_free(schema->children);
    ss_free((char *)schema->name);
    ss_free((char *)schema->metadata);
    schema->release = NULL;
}

static void append_piece(char **at, const char *text)
{
    int32_t length = (int32_t)strlen(text);
    memcpy(*at, &length, sizeof length);
    memcpy(*at + sizeof length, text, (size_t)length);
    *at += sizeof length + (size_t)length;
}

/* The number of pairs, then the length and bytes of each key and value; NULL without a value. */
static char *new_metadata(const char *key, const char *value)
{
    if (value == NULL) {
        return NULL;
    }
    int32_t pairs = 1;
    char *metadata = ss_alloc(3 * sizeof pairs + strlen(key) + strlen(value));
    char *at = metadata + sizeof pairs;
    memcpy(metadata, &pairs, sizeof pairs);
    append_piece(&at, key);
    append_piece(&at, value);
    return metadata;
}

static void fill_schema(struct ArrowSchema *out, const char *format, const char *name,
                        char *metadata)
{
    *out = (struct ArrowSchema){.format = format,
                                .name = ss_strdup(name),
                                .metadata = metadata,
                                .flags = ARROW_FLAG_NULLABLE,
                                .release = release_schema};
}

static const char *text_format(const struct ss_column_texts *texts)
{
    return texts->narrow_ends != NULL ? "u" : "U";
}

static const char *format_of(const struct ss_arrow_column *column)
{
    static const char *const formats[] = {
        [SS_COLUMN_NULL] = "n",  [SS_COLUMN_BOOLEAN] = "b", [SS_COLUMN_INT32] = "i",
        [SS_COLUMN_INT64] = "l", [SS_COLUMN_FLOAT64] = "g", [SS_COLUMN_WORDS] = "i"};
    return column->type == SS_COLUMN_TEXT ? text_format(&column->texts) : formats[column->type];
}

static struct ArrowSchema *new_child_schema(const struct ss_arrow_column *column)
{
    struct ArrowSchema *child = ss_alloc(sizeof *child);
    fill_schema(child, format_of(column), column->key, new_metadata("unit", column->unit));
    if (column->type == SS_COLUMN_WORDS) {
        child->dictionary = ss_alloc(sizeof *child->dictionary);
        fill_schema(child->dictionary, text_format(&column->texts), "", NULL);
    }
    return child;
}

void ss_arrow_export_schema(const struct ss_columns *columns, struct ArrowSchema *out)
{
    fill_schema(out, "+s", "", new_metadata("table", columns->name));
    out->flags = 0; /* no row is null as a whole */
    out->n_children = (int64_t)columns->column_count;
    out->children = ss_alloc(columns->column_count * sizeof(struct ArrowSchema *));
    for (size_t c = 0; c < columns->column_count; c++) {
        out->children[c] = new_child_schema(&columns->columns[c]);
    }
}

/* --- arrays ----------------------------------------------------------------------------------- */

enum { MOST_BUFFERS = 3 };

static void release_array(struct ArrowArray *array)
{
    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i]->release != NULL) {
            array->children[i]->release(array->children[i]);
        }
        ss_free(array->children[i]);
    }
    if (array->dictionary != NULL) {
        if (array->dictionary->release != NULL) {
            array->dictionary->release(array->dictionary);
        }
        ss_free(array->dictionary);
    }
    ss_free(array->children);
    ss_free(array->buffers);
    ss_columns_release(array->private_data);
    array->release = NULL;
}

static void fill_array(struct ArrowArray *out, struct ss_columns *columns, size_t length)
{
    *out = (struct ArrowArray){.length = (int64_t)length,
                               .buffers = ss_alloc_zero(MOST_BUFFERS, sizeof(void *)),
                               .release = release_array,
                               .private_data = ss_columns_share(columns)};
}

static void put_texts(struct ArrowArray *out, const struct ss_column_texts *texts)
{
    out->buffers[out->n_buffers++] =
        texts->narrow_ends != NULL ? (const void *)texts->narrow_ends : texts->ends.data;
    out->buffers[out->n_buffers++] = texts->bytes.data;
}

static struct ArrowArray *new_child_array(struct ss_columns *columns,
                                          const struct ss_arrow_column *column)
{
    struct ArrowArray *child = ss_alloc(sizeof *child);
    fill_array(child, columns, columns->row_count);
    child->null_count = column->null_count;
    if (column->type == SS_COLUMN_NULL) {
        return child;
    }
    child->buffers[child->n_buffers++] = column->validity;
    if (column->type == SS_COLUMN_TEXT) {
        put_texts(child, &column->texts);
    } else {
        child->buffers[child->n_buffers++] = column->values;
    }
    if (column->type == SS_COLUMN_WORDS) {
        child->dictionary = ss_alloc(sizeof *child->dictionary);
        fill_array(child->dictionary, columns, ss_column_text_count(&column->texts));
        child->dictionary->n_buffers = 1; /* no word is null */
        put_texts(child->dictionary, &column->texts);
    }
    return child;
}

void ss_arrow_export_array(struct ss_columns *columns, struct ArrowArray *out)
{
    fill_array(out, columns, columns->row_count);
    out->n_buffers = 1; /* of validity: none */
    out->n_children = (int64_t)columns->column_count;
    out->children = ss_alloc(columns->column_count * sizeof(struct ArrowArray *));
    for (size_t c = 0; c < columns->column_count; c++) {
        out->children[c] = new_child_array(columns, &columns->columns[c]);
    }
}

/* --- streams ---------------------------------------------------------------------------------- */

struct stream {
    struct ss_columns *columns;
    bool is_read;
};

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    const struct stream *own = stream->private_data;
    ss_arrow_export_schema(own->columns, out);
    return 0;
}

/* A released array ends the stream. */
static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct stream *own = stream->private_data;
    if (own->is_read) {
        *out = (struct ArrowArray){0};
    } else {
        ss_arrow_export_array(own->columns, out);
        own->is_read = true;
    }
    return 0;
}

/* Neither function fails. */
static const char *get_last_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return NULL;
}

static void release_stream(struct ArrowArrayStream *stream)
{
    struct stream *own = stream->private_data;
    ss_columns_release(own->columns);
    ss_free(own);
    stream->release = NULL;
}

void ss_arrow_export_stream(struct ss_columns *columns, struct ArrowArrayStream *out)
{
    struct stream *own = ss_alloc_zero(1, sizeof *own);
    own->columns = ss_columns_share(columns);
    *out = (struct ArrowArrayStream){.get_schema = get_schema,
                                     .get_next = get_next,
                                     .get_last_error = get_last_error,
                                     .release = release_stream,
                                     .private_data = own};
}
