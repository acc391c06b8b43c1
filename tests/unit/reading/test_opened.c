/* SPDX-License-Identifier: Apache-2.0 */
/* Opened recordings: results of many requests, from several threads, after the recording is gone.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "arrow/cells.h"
#include "base/alloc.h"
#include "reading/opened.h"

#define GOLDEN SS_TEST_SOURCE_DIR "/tests/golden/"

static struct ss_opened *opened_file(const char *path)
{
    return ss_opened_new(&path, 1, 0);
}

static struct ss_opened_report report_of(struct ss_opened *opened, struct ss_query query)
{
    struct ss_opened_report report;
    struct ss_error err;
    if (ss_opened_tables(opened, &query, &report, &err) != SS_OK) {
        fail_msg("%s", err.message);
    }
    return report;
}

static const struct ss_table *first_table(const struct ss_opened_report *report)
{
    for (size_t i = 0; i < report->document.blocks.count; i++) {
        const struct ss_table *table =
            ss_block_table_for_programs(&report->document.blocks.data[i]);
        if (table != NULL) {
            return table;
        }
    }
    fail_msg("no table");
    return NULL;
}

static void a_report_outlives_its_recording(void **state)
{
    (void)state;
    struct ss_opened *opened = opened_file(GOLDEN "0.1.0/training.pftrace");
    struct ss_opened_report report = report_of(opened, (struct ss_query){.table = "function"});
    ss_opened_free(opened);
    const struct ss_table *table = first_table(&report);
    assert_string_equal(table->name, "function");
    struct ss_columns *columns = ss_columns_of_table(table); /* reads all texts */
    assert_int_equal(columns->row_count, table->row_count);
    ss_opened_report_fini(&report);
    ss_columns_release(columns);
}

static void requests_for_the_same_data_share_a_model(void **state)
{
    (void)state;
    struct ss_opened *opened = opened_file(GOLDEN "0.1.0/training.pftrace");
    struct ss_opened_report one = report_of(opened, (struct ss_query){.table = "function"});
    struct ss_opened_report same =
        report_of(opened, (struct ss_query){.table = "line", .thread = "MainThread"});
    struct ss_opened_report other = report_of(opened, (struct ss_query){.table = "op"});
    struct ss_opened_report part =
        report_of(opened, (struct ss_query){.table = "function", .has_time = true, .to_s = 0.5});
    assert_ptr_equal(one.model, same.model);
    assert_ptr_not_equal(one.model, other.model);
    assert_ptr_not_equal(one.model, part.model);
    ss_opened_report_fini(&one);
    ss_opened_report_fini(&same);
    ss_opened_report_fini(&other);
    ss_opened_report_fini(&part);
    ss_opened_free(opened);
}

static void every_table_and_content_of_a_damaged_file_is_made(void **state)
{
    (void)state;
    struct ss_opened *opened = opened_file(GOLDEN "broken/cut.pftrace");
    for (const struct ss_table_kind *kind = ss_table_kinds; kind->id != NULL; kind++) {
        struct ss_opened_report report =
            report_of(opened, (struct ss_query){.table = kind->id, .columns = kind->columns});
        assert_int_equal(report.document.problems.count, 1);
        ss_opened_report_fini(&report);
    }
    for (const struct ss_row_kind *kind = ss_row_kinds; kind->id != NULL; kind++) {
        struct ss_columns *columns = NULL;
        assert_int_equal(
            ss_opened_contents(opened, &(struct ss_query){0}, kind->id, &columns, NULL), SS_OK);
        ss_columns_release(columns);
    }
    ss_opened_free(opened);
}

static void errors_leave_nothing_behind(void **state)
{
    (void)state;
    struct ss_opened *absent = opened_file(GOLDEN "none"), *there;
    struct ss_opened_report report;
    struct ss_columns *columns;
    struct ss_error err;
    struct ss_query wrong = {.table = "function", .match = "("};
    assert_int_equal(ss_opened_tables(absent, &(struct ss_query){0}, &report, &err), SS_E_NOTFOUND);
    assert_int_equal(ss_opened_contents(absent, &(struct ss_query){0}, "ranges", &columns, &err),
                     SS_E_NOTFOUND);
    ss_opened_free(absent);
    there = opened_file(GOLDEN "0.1.0/training.pftrace");
    assert_int_equal(ss_opened_tables(there, &wrong, &report, &err), SS_E_USAGE);
    wrong.process = "(";
    assert_int_equal(ss_opened_contents(there, &wrong, "ranges", &columns, &err), SS_E_USAGE);
    ss_opened_free(there);
}

static void an_overview_without_samples_has_the_ranges(void **state)
{
    (void)state;
    struct ss_opened *opened = opened_file(GOLDEN "good/entities.pftrace");
    struct ss_opened_report report = report_of(opened, (struct ss_query){0});
    bool has_ranges = false;
    for (size_t i = 0; i < report.document.blocks.count; i++) {
        const struct ss_table *table = ss_block_table_for_programs(&report.document.blocks.data[i]);
        has_ranges = has_ranges || (table != NULL && strcmp(table->name, "range") == 0);
    }
    assert_true(has_ranges);
    assert_string_equal(first_table(&report)->name, "kernel");
    ss_opened_report_fini(&report);
    ss_opened_free(opened);
}

static void *ask(void *context)
{
    static const char *const tables[] = {"function", "op", "step", "range", "line", "phase"};
    size_t *rows = ss_alloc_zero(1, sizeof *rows);
    for (size_t i = 0; i < 24; i++) {
        struct ss_query query = {.table = tables[i % 6]};
        struct ss_opened_report report;
        if (ss_opened_tables(context, &query, &report, NULL) == SS_OK) {
            *rows += first_table(&report)->row_count;
            ss_opened_report_fini(&report);
        }
    }
    return rows;
}

static void threads_get_the_same_answers(void **state)
{
    (void)state;
    struct ss_opened *opened = opened_file(GOLDEN "0.1.0/training.pftrace");
    pthread_t threads[4];
    size_t *rows[4];
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ask, opened), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        pthread_join(threads[i], (void **)&rows[i]);
        assert_true(*rows[i] > 0 && *rows[i] == *rows[0]);
    }
    for (size_t i = 0; i < 4; i++) {
        ss_free(rows[i]);
    }
    ss_opened_free(opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_outlives_its_recording),
        cmocka_unit_test(requests_for_the_same_data_share_a_model),
        cmocka_unit_test(every_table_and_content_of_a_damaged_file_is_made),
        cmocka_unit_test(errors_leave_nothing_behind),
        cmocka_unit_test(an_overview_without_samples_has_the_ranges),
        cmocka_unit_test(threads_get_the_same_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
