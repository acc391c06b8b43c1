/* SPDX-License-Identifier: Apache-2.0 */
/* Columns, their export, and tables as columns. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../arrow_consumer.h"
#include "arrow/cells.h"
#include "arrow/exported.h"

static const struct ss_column_kind all_types[] = {
    {"nothing", NULL, SS_COLUMN_NULL}, {"flag", NULL, SS_COLUMN_BOOLEAN},
    {"small", NULL, SS_COLUMN_INT32},  {"large", "ns", SS_COLUMN_INT64},
    {"real", "%", SS_COLUMN_FLOAT64},  {"text", NULL, SS_COLUMN_TEXT},
    {"word", NULL, SS_COLUMN_WORDS},
};
enum { NOTHING, FLAG, SMALL, LARGE, REAL, TEXT, WORD, TYPES };

static void fill_row(struct ss_columns *columns, int64_t i)
{
    ss_columns_put_boolean(columns, FLAG, i % 3 == 0);
    ss_columns_put_integer(columns, SMALL, i);
    ss_columns_put_integer(columns, LARGE, i << 40);
    ss_columns_put_real(columns, REAL, (double)i / 2);
    ss_columns_put_text(columns, TEXT, ss_strview_of(i % 2 == 0 ? "even" : "ungerade ⊕"));
    ss_columns_put_word(columns, WORD, (uint32_t)(i % 5), ss_strview_of(&"abcdef"[i % 5]));
}

/* Every seventh row is absent. */
static struct ss_columns *made_columns(int64_t rows)
{
    struct ss_columns *columns = ss_columns_new("all", all_types, TYPES);
    for (int64_t i = 0; i < rows; i++) {
        ss_columns_add_row(columns);
        if (i % 7 != 6) {
            fill_row(columns, i);
        }
    }
    ss_columns_finish(columns);
    return columns;
}

static void assert_exports(struct ss_columns *columns)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    ss_arrow_export_schema(columns, &schema);
    ss_arrow_export_array(columns, &array);
    const char *wrong = consumer_check(&schema, &array);
    if (wrong != NULL) {
        fail_msg("broken: %s", wrong);
    }
    schema.release(&schema);
    array.release(&array);
    assert_null(schema.release);
    assert_null(array.release);
}

static void every_type_is_exported_with_its_nulls(void **state)
{
    (void)state;
    for (int64_t rows = 0; rows < 200; rows += rows < 10 ? 1 : 63) {
        struct ss_columns *columns = made_columns(rows);
        assert_int_equal(columns->row_count, rows);
        assert_exports(columns);
        ss_columns_release(columns);
    }
}

static void cells_are_read_as_they_were_put(void **state)
{
    (void)state;
    struct ss_columns *columns = made_columns(100);
    const struct ss_arrow_column *all = columns->columns;
    for (size_t i = 0; i < 100; i++) {
        bool has = i % 7 != 6;
        assert_false(ss_column_has(&all[NOTHING], i));
        for (size_t c = FLAG; c < TYPES; c++) {
            assert_int_equal(ss_column_has(&all[c], i), has);
        }
        if (!has) {
            continue;
        }
        assert_int_equal(((uint8_t *)all[FLAG].values)[i / 8] >> (i % 8) & 1, i % 3 == 0);
        assert_int_equal(((int32_t *)all[SMALL].values)[i], i);
        assert_int_equal(((int64_t *)all[LARGE].values)[i], (int64_t)i << 40);
        assert_true(((double *)all[REAL].values)[i] == (double)i / 2);
        assert_int_equal(ss_column_text(&all[TEXT], i).length, i % 2 == 0 ? 4 : 12);
        assert_true(
            ss_strview_equal(ss_column_text(&all[WORD], i), ss_strview_of(&"abcdef"[i % 5])));
    }
    assert_int_equal(ss_column_text_count(&all[WORD].texts), 5);
    ss_columns_release(columns);
}

static void numbers_beyond_the_type_are_absent_or_its_largest(void **state)
{
    (void)state;
    struct ss_columns *columns = ss_columns_new("all", all_types, TYPES);
    ss_columns_add_row(columns);
    ss_columns_put_integer(columns, SMALL, (int64_t)INT32_MAX + 1);
    ss_columns_put_natural(columns, LARGE, UINT64_MAX);
    ss_columns_finish(columns);
    assert_false(ss_column_has(&columns->columns[SMALL], 0));
    assert_int_equal(((int64_t *)columns->columns[LARGE].values)[0], INT64_MAX);
    ss_columns_release(columns);
}

static void equal_words_are_one_even_when_only_their_cleaned_texts_are(void **state)
{
    (void)state;
    struct ss_columns *columns = ss_columns_new("all", all_types, TYPES);
    static const char *const texts[] = {"a\xff", "a\xfe", "a\xef\xbf\xbd", "a\xff"};
    for (uint32_t i = 0; i < 4; i++) {
        ss_columns_add_row(columns);
        assert_int_equal(ss_columns_put_again(columns, WORD, i % 3), i == 3);
        ss_columns_put_word(columns, WORD, i % 3, ss_strview_of(texts[i]));
        ss_columns_put_text(columns, TEXT, ss_strview_of(texts[i]));
    }
    ss_columns_add_row(columns);
    ss_columns_put_word(columns, WORD, 9, ss_strview_of("")); /* unknown */
    ss_columns_finish(columns);
    assert_int_equal(ss_column_text_count(&columns->columns[WORD].texts), 1);
    assert_int_equal(columns->columns[WORD].null_count, 1);
    assert_exports(columns);
    ss_columns_release(columns);
}

static void only_damaged_bytes_of_a_text_are_replaced(void **state)
{
    (void)state;
    static const char expected[] = "\xc3\xa9\xef\xbf\xbd\xe2\x8a\x95"; /* é, replaced, ⊕ */
    struct ss_columns *columns = ss_columns_new("all", all_types, TYPES);
    ss_columns_add_row(columns);
    ss_columns_put_text(columns, TEXT, ss_strview_of("\xc3\xa9\xff\xe2\x8a\x95"));
    ss_columns_finish(columns);
    const struct ss_column_texts *texts = &columns->columns[TEXT].texts;
    assert_int_equal(texts->ends.data[texts->ends.count - 1], sizeof expected - 1);
    assert_memory_equal(texts->bytes.data, expected, sizeof expected - 1);
    ss_columns_release(columns);
}

static void a_cell_that_is_put_twice_counts_once(void **state)
{
    (void)state;
    struct ss_columns *columns = ss_columns_new("all", all_types, TYPES);
    ss_columns_add_row(columns);
    ss_columns_add_row(columns);
    ss_columns_put_integer(columns, LARGE, 1);
    ss_columns_put_integer(columns, LARGE, 2);
    ss_columns_finish(columns);
    assert_int_equal(columns->columns[LARGE].null_count, 1);
    assert_exports(columns);
    ss_columns_release(columns);
}

/* --- lifetimes -------------------------------------------------------------------------------- */

static void an_array_outlives_its_columns(void **state)
{
    (void)state;
    struct ss_columns *columns = made_columns(50);
    struct ArrowSchema schema;
    struct ArrowArray array;
    ss_arrow_export_schema(columns, &schema);
    ss_arrow_export_array(columns, &array);
    ss_columns_release(columns);
    assert_null(consumer_check(&schema, &array));
    schema.release(&schema);
    assert_int_equal(((const int64_t *)array.children[LARGE]->buffers[1])[3], INT64_C(3) << 40);
    array.release(&array);
}

/* As importers do: children are moved out, the rest is released, then the children are. */
static void moved_children_outlive_their_parent(void **state)
{
    (void)state;
    struct ss_columns *columns = made_columns(50);
    struct ArrowSchema schema, type;
    struct ArrowArray array, words;
    ss_arrow_export_schema(columns, &schema);
    ss_arrow_export_array(columns, &array);
    ss_columns_release(columns);
    type = *schema.children[WORD];
    schema.children[WORD]->release = NULL;
    words = *array.children[WORD];
    array.children[WORD]->release = NULL;
    schema.release(&schema);
    array.release(&array);
    assert_null(consumer_check(&type, &words));
    type.release(&type);
    struct ArrowArray dictionary = *words.dictionary;
    words.dictionary->release = NULL;
    words.release(&words);
    assert_int_equal(dictionary.length, 5);
    assert_memory_equal(dictionary.buffers[2], "abcdef", 6);
    dictionary.release(&dictionary);
}

static void a_stream_has_one_array_and_its_schema_any_number_of_times(void **state)
{
    (void)state;
    struct ss_columns *columns = made_columns(9);
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray array;
    ss_arrow_export_stream(columns, &stream);
    ss_columns_release(columns);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(stream.get_schema(&stream, &schema), 0);
        if (i == 0) {
            schema.release(&schema);
        }
    }
    assert_int_equal(stream.get_next(&stream, &array), 0);
    assert_null(consumer_check(&schema, &array));
    array.release(&array);
    assert_int_equal(stream.get_next(&stream, &array), 0);
    assert_null(array.release); /* the end */
    assert_null(stream.get_last_error(&stream));
    schema.release(&schema);
    stream.release(&stream);
    assert_null(stream.release);
}

static void units_and_names_are_metadata(void **state)
{
    (void)state;
    static const char unit[] = "\1\0\0\0\4\0\0\0unit\2\0\0\0ns";
    struct ss_columns *columns = made_columns(1);
    struct ArrowSchema schema;
    ss_arrow_export_schema(columns, &schema);
    assert_memory_equal(schema.children[LARGE]->metadata, unit, sizeof unit - 1);
    assert_null(schema.children[SMALL]->metadata);
    assert_memory_equal(schema.metadata + 8, "table\3\0\0\0all", 12);
    assert_int_equal(schema.children[LARGE]->flags, ARROW_FLAG_NULLABLE);
    schema.release(&schema);
    ss_columns_release(columns);
}

/* --- tables of analyses ----------------------------------------------------------------------- */

static const struct ss_column table_columns[] = {
    {.key = "name"},
    {.key = "count", .unit = "samples"},
    {.key = "mixed", .unit = "percent"},
    {.key = "either"},
    {.key = "empty"},
    {.key = "hidden", .is_for_people = true},
    {.key = "rare", .not_in_csv = true},
};

static struct ss_table made_table(bool has_rare)
{
    struct ss_table table = {.name = "made", .columns = table_columns, .column_count = 7};
    for (int i = 0; i < 3; i++) {
        struct ss_cell *cells = ss_table_add_row(&table);
        cells[0] = ss_cell_text(ss_strview_of("name"));
        cells[1] = i == 1 ? (struct ss_cell){0} : ss_cell_integer(i);
        cells[2] = i == 0 ? ss_cell_integer(7) : ss_cell_real(0.5);
        cells[3] = i == 0   ? ss_cell_integer(-7)
                   : i == 1 ? ss_cell_real(0.25)
                            : ss_cell_text(ss_strview_of("seven"));
        cells[5] = ss_cell_integer(1);
        cells[6] = has_rare && i == 2 ? ss_cell_integer(9) : (struct ss_cell){0};
    }
    return table;
}

static void columns_of_a_table_have_the_types_of_their_cells(void **state)
{
    (void)state;
    static const enum ss_column_type types[] = {SS_COLUMN_TEXT, SS_COLUMN_INT64, SS_COLUMN_FLOAT64,
                                                SS_COLUMN_TEXT, SS_COLUMN_NULL,  SS_COLUMN_INT64};
    static const char *const either[] = {"-7", "0.25", "seven"};
    struct ss_table table = made_table(true);
    struct ss_columns *columns = ss_columns_of_table(&table);
    ss_table_fini(&table); /* of which nothing is borrowed */
    assert_int_equal(columns->column_count, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(columns->columns[i].type, types[i]);
    }
    for (size_t i = 0; i < 3; i++) {
        assert_true(
            ss_strview_equal(ss_column_text(&columns->columns[3], i), ss_strview_of(either[i])));
    }
    assert_true(((double *)columns->columns[2].values)[0] == 7.0);
    assert_false(ss_column_has(&columns->columns[1], 1));
    assert_string_equal(columns->columns[1].unit, "samples");
    assert_string_equal(columns->columns[5].key, "rare");
    assert_exports(columns);
    ss_columns_release(columns);
}

static void columns_for_people_or_without_use_are_left_out(void **state)
{
    (void)state;
    struct ss_table table = made_table(false);
    struct ss_columns *columns = ss_columns_of_table(&table);
    assert_int_equal(columns->column_count, 5);
    ss_columns_release(columns);
    ss_table_fini(&table);
    table = (struct ss_table){.name = "made", .columns = table_columns, .column_count = 7};
    columns = ss_columns_of_table(&table); /* without rows */
    assert_int_equal(columns->row_count, 0);
    assert_exports(columns);
    ss_columns_release(columns);
    ss_table_fini(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_exported_with_its_nulls),
        cmocka_unit_test(cells_are_read_as_they_were_put),
        cmocka_unit_test(numbers_beyond_the_type_are_absent_or_its_largest),
        cmocka_unit_test(equal_words_are_one_even_when_only_their_cleaned_texts_are),
        cmocka_unit_test(only_damaged_bytes_of_a_text_are_replaced),
        cmocka_unit_test(a_cell_that_is_put_twice_counts_once),
        cmocka_unit_test(an_array_outlives_its_columns),
        cmocka_unit_test(moved_children_outlive_their_parent),
        cmocka_unit_test(a_stream_has_one_array_and_its_schema_any_number_of_times),
        cmocka_unit_test(units_and_names_are_metadata),
        cmocka_unit_test(columns_of_a_table_have_the_types_of_their_cells),
        cmocka_unit_test(columns_for_people_or_without_use_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
