/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of foreign SQLite files: what of a file counts, and what a hostile one cannot do. */
#include "sqlite_writer.h"

#include "model/files/sqlite_file.h"

static struct ss_sqlite_file *file;

static void open_statements(const char *statements)
{
    write_file(statements);
    assert_int_equal(ss_sqlite_open(path, path, &file, &err), SS_OK);
}

static void close_file(void)
{
    ss_sqlite_close(file);
    file = NULL;
}

/* Overwrites bytes of the file. */
static void patch(long at, const void *bytes, size_t length)
{
    FILE *out = fopen(path, "r+b");
    assert_non_null(out);
    assert_int_equal(fseek(out, at, SEEK_SET), 0);
    assert_int_equal(fwrite(bytes, 1, length, out), length);
    assert_int_equal(fclose(out), 0);
}

static size_t count_rows(const char *table, const char *column)
{
    struct ss_sqlite_rows rows;
    size_t count = 0;
    ss_sqlite_begin(&rows, file, table, &column, 1);
    while (ss_sqlite_next(&rows)) {
        count++;
    }
    ss_sqlite_end(&rows);
    return count;
}

static void columns_that_are_missing_are_empty(void **state)
{
    (void)state;
    static const char *const columns[] = {"a", "none", "b", "end"};
    struct ss_sqlite_rows rows;
    int64_t number;
    double real;
    open_statements("CREATE TABLE t (end REAL, b TEXT, a INTEGER); INSERT INTO t VALUES "
                    "(1.5,'x',7), (NULL,x'00ff',NULL);");
    assert_true(ss_sqlite_begin(&rows, file, "t", columns, 4));
    assert_true(ss_sqlite_next(&rows));
    assert_true(ss_sqlite_integer(&rows, 0, &number));
    assert_int_equal(number, 7);
    assert_false(ss_sqlite_integer(&rows, 1, &number));
    assert_int_equal(ss_sqlite_text(&rows, 1).length, 0);
    assert_int_equal(ss_sqlite_text(&rows, 2).length, 1);
    assert_false(ss_sqlite_integer(&rows, 2, &number));
    assert_false(ss_sqlite_integer(&rows, 3, &number));
    assert_true(ss_sqlite_real(&rows, 3, &real));
    assert_true(real == 1.5);
    assert_true(ss_sqlite_next(&rows));
    assert_false(ss_sqlite_integer(&rows, 0, &number));
    assert_false(ss_sqlite_real(&rows, 3, &real));
    assert_memory_equal(ss_sqlite_text(&rows, 2).data, "\0\xff", 2);
    assert_false(ss_sqlite_next(&rows));
    ss_sqlite_end(&rows);
    assert_false(ss_sqlite_begin(&rows, file, "t", columns + 1, 1)); /* none of its columns */
    assert_false(ss_sqlite_next(&rows));
    ss_sqlite_end(&rows);
    assert_int_equal(ss_sqlite_last_row(file, "t"), 2);
    assert_int_equal(ss_sqlite_last_row(file, "none"), 0);
    assert_null(ss_sqlite_reading(file).first_damage);
    close_file();
}

/* They would run code of the file. */
static void only_plain_tables_count(void **state)
{
    (void)state;
    open_statements("CREATE TABLE t (a INTEGER, g INTEGER AS (a * 2)); INSERT INTO t VALUES (1);"
                    "CREATE VIEW v AS WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM"
                    " n) SELECT a FROM n;"
                    "CREATE VIRTUAL TABLE f USING fts4(a);"
                    "CREATE TABLE \"pragma_table_info\" (a INTEGER);");
    assert_true(ss_sqlite_has_table(file, "t"));
    assert_int_equal(count_rows("t", "a"), 1);
    assert_int_equal(count_rows("t", "g"), 0);
    assert_false(ss_sqlite_has_table(file, "v"));
    assert_int_equal(count_rows("v", "a"), 0);
    assert_false(ss_sqlite_has_table(file, "f"));
    assert_int_equal(count_rows("f", "a"), 0);
    assert_int_equal(count_rows("pragma_table_info", "a"), 0);
    close_file();
}

static void texts_are_found_by_number(void **state)
{
    (void)state;
    static const char *const schemas[] = {
        "CREATE TABLE s (id INTEGER PRIMARY KEY, value TEXT);",
        "CREATE TABLE s (id INTEGER, value TEXT);", /* a copy lost its key */
        "PRAGMA encoding='UTF-16'; CREATE TABLE s (value TEXT, id INTEGER PRIMARY KEY);"};
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
        char statements[512];
        struct ss_strview found;
        snprintf(statements, sizeof statements,
                 "%s INSERT INTO s (id, value) VALUES (90,'c'), (-5,'\xc3\xa4'), (7,'b');",
                 schemas[i]);
        open_statements(statements);
        struct ss_sqlite_texts *texts = ss_sqlite_texts_new(file, "s", "id", "value");
        assert_true(ss_sqlite_texts_get(texts, -5, &found));
        assert_int_equal(found.length, 2);
        assert_memory_equal(found.data, "\xc3\xa4", 2);
        assert_true(ss_sqlite_texts_get(texts, 90, &found));
        assert_memory_equal(found.data, "c", 1);
        assert_false(ss_sqlite_texts_get(texts, 1, &found));
        ss_sqlite_texts_free(texts);
        texts = ss_sqlite_texts_new(file, "none", "id", "value");
        assert_false(ss_sqlite_texts_get(texts, 7, &found));
        ss_sqlite_texts_free(texts);
        close_file();
    }
}

/* 60,000 rows, of which a page has some 300; then the table's root refers 200 times to one page,
 * and the others are cut off. */
static void few_bytes_do_not_make_many_rows(void **state)
{
    (void)state;
    enum { PAGE = 4096, KEPT_PAGES = 4 };
    unsigned char root[PAGE];
    write_file("CREATE TABLE t (a INTEGER);"
               "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000) "
               "INSERT INTO t SELECT i FROM n;");
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    assert_int_equal(fseek(in, PAGE, SEEK_SET), 0); /* page 2 */
    assert_int_equal(fread(root, 1, PAGE, in), PAGE);
    fclose(in);
    assert_int_equal(root[0], 5); /* an inner page of a table */
    size_t cells = (size_t)root[3] << 8 | root[4];
    assert_true(cells > 100);
    for (size_t i = 0; i < cells; i++) {
        size_t at = (size_t)root[12 + 2 * i] << 8 | root[13 + 2 * i];
        memcpy(root + at, "\0\0\0\3", 4);
    }
    memcpy(root + 8, "\0\0\0\3", 4);
    patch(PAGE, root, PAGE);
    patch(28, "\0\0\0\4", 4);
    assert_int_equal(truncate(path, (off_t)KEPT_PAGES * PAGE), 0);
    assert_int_equal(ss_sqlite_open(path, path, &file, &err), SS_OK);
    size_t rows = count_rows("t", "a");
    assert_in_range(rows, 300, KEPT_PAGES * PAGE / 4);
    assert_non_null(strstr(ss_sqlite_reading(file).first_damage, "more content than the file"));
    close_file();
}

static void damage_ends_a_table(void **state)
{
    (void)state;
    unsigned char garbage[4096];
    memset(garbage, 0xff, sizeof garbage);
    write_file("CREATE TABLE t (a INTEGER); CREATE TABLE u (a INTEGER);"
               "INSERT INTO u VALUES (1), (2);"
               "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) "
               "INSERT INTO t SELECT i FROM n;");
    patch(6L * 4096, garbage, sizeof garbage);
    assert_int_equal(ss_sqlite_open(path, path, &file, &err), SS_OK);
    assert_in_range(count_rows("t", "a"), 300, 4700);
    assert_int_equal(count_rows("u", "a"), 2); /* other tables are whole */
    assert_int_equal(ss_sqlite_reading(file).damages, 1);
    assert_int_equal(strncmp(ss_sqlite_reading(file).first_damage, "t: ", 3), 0);
    close_file();
}

static void what_is_no_database_is_refused(void **state)
{
    (void)state;
    static const char head[] = "SQLite format 3";
    unsigned char garbage[8192];
    memset(garbage, 0x5a, sizeof garbage);
    assert_true(ss_sqlite_is(head, sizeof head));
    assert_false(ss_sqlite_is(head, sizeof head - 1));
    assert_false(ss_sqlite_is("SQLite format 4", 16));
    assert_int_equal(truncate(path, 0), 0);
    patch(0, garbage, sizeof garbage);
    patch(0, head, sizeof head);
    patch(16, "\x10\0\1\1\0\x40\x20\x20\0\0\0\0\0\0\0\2", 16);
    assert_int_equal(ss_sqlite_open(path, path, &file, &err), SS_E_FORMAT);
    assert_non_null(strstr(err.message, path));
    patch(28, "\0\1\0\0", 4);
    assert_int_equal(ss_sqlite_open(path, path, &file, &err), SS_E_FORMAT);
    assert_non_null(strstr(err.message, "is cut: 8192 of 268435456 bytes"));
    assert_int_equal(ss_sqlite_open("/dev/null", "/dev/null", &file, &err), SS_E_FORMAT);
    assert_non_null(strstr(err.message, "must be a regular file"));
    assert_int_equal(ss_sqlite_open("/nonexistent", "/nonexistent", &file, &err), SS_E_NOTFOUND);
}

/* The limit of SQLite's memory is the process's: it is as before. */
static void the_limit_ends_with_the_file(void **state)
{
    (void)state;
    sqlite3_int64 before = sqlite3_soft_heap_limit64(-1);
    open_statements("CREATE TABLE t (a INTEGER);");
    close_file();
    assert_int_equal(sqlite3_soft_heap_limit64(-1), before);
#if SQLITE_VERSION_NUMBER >= 3031000
    assert_int_equal(sqlite3_hard_heap_limit64(-1), 0);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_that_are_missing_are_empty),
        cmocka_unit_test(only_plain_tables_count),
        cmocka_unit_test(texts_are_found_by_number),
        cmocka_unit_test(few_bytes_do_not_make_many_rows),
        cmocka_unit_test(damage_ends_a_table),
        cmocka_unit_test(what_is_no_database_is_refused),
        cmocka_unit_test(the_limit_ends_with_the_file),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
