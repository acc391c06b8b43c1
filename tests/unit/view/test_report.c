/* SPDX-License-Identifier: Apache-2.0 */
/* The views of a report: every kind of block in each of them. */
#include "folded_input.h"

#include <stdio.h>
#include <stdlib.h>

#include "analysis/report/report.h"
#include "analysis/tables/overview.h"
#include "view/output/report.h"
#include "view/output/sentence_text.h"
#include "view/output/text_cell.h"

static const struct ss_column columns[] = {{.key = "name"},
                                           {.key = "wait_ns", .unit = "ns"},
                                           {.key = "half_ns", .unit = "ns", .is_for_people = true}};

/* Freed by the caller. */
/* Not inlined: GCC 12 would take the text for one that does not outlive the call. */
__attribute__((noinline)) static char *render(ss_report_render *view,
                                              const struct ss_document *document, size_t width)
{
    struct ss_report_style style = {.width = width};
    struct ss_error err = {0};
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    if (view(document, &style, out, &err) != SS_OK) {
        fail_msg("%s", err.message);
    }
    fclose(out);
    return text;
}

static void check(ss_report_render *view, const struct ss_document *document, size_t width,
                  const char *wanted)
{
    char *text = render(view, document, width);
    assert_string_equal(text, wanted);
    free(text);
}

static struct ss_sentence words(struct ss_document *document, const char *text)
{
    struct ss_sentence sentence = ss_sentence_of(&document->arena);
    ss_sentence_add_name(&sentence, ss_strview_of(text));
    return sentence;
}

static void add_header(struct ss_document *document)
{
    struct ss_block *block = ss_document_add(document, SS_BLOCK_TITLE);
    block->title.what = "stepscope report";
    block->title.of = words(document, "a|b.pftrace");
    block = ss_document_add(document, SS_BLOCK_HEADER);
    ss_vec_push_zero(&block->header);
    struct ss_header_row *row = &block->header.data[0];
    row->key = "Samples";
    ss_vec_push(&row->facts, (struct ss_header_fact){.text = words(document, "3 recorded")});
    ss_vec_push(&row->facts, (struct ss_header_fact){.joint = SS_JOINT_EQUALS,
                                                     .text = words(document, "3 shown")});
}

static void add_training(struct ss_document *document)
{
    ss_document_add(document, SS_BLOCK_HEADLINE)->headline = words(document, "A step takes *long*");
    struct ss_block *block = ss_document_join(document, SS_BLOCK_BAR);
    ss_vec_push(&block->bar, (struct ss_bar_share){ss_strview_of("data"), 75, 0});
    ss_vec_push(&block->bar, (struct ss_bar_share){ss_strview_of("other"), 25, -1});
    block = ss_document_add(document, SS_BLOCK_FINDINGS);
    ss_vec_push_zero(&block->findings);
    struct ss_document_finding *finding = &block->findings.data[0];
    finding->headline = words(document, "75 % waits");
    ss_vec_push(&finding->details, words(document, "at a.py:1 f_g"));
    ss_vec_push(&finding->evidence, words(document, "cores 8"));
    ss_vec_push(&finding->evidence, words(document, "workers 0"));
    finding->fix = words(document, "num_workers=2");
    block = ss_document_add(document, SS_BLOCK_SERIES);
    block->series.label = "step by step";
    block->series.unit = "ns";
    block->series.top = 4;
    ss_vec_push(&block->series.values, 0);
    ss_vec_push(&block->series.values, 2);
    ss_vec_push(&block->series.values, 9);
    *ss_document_add_note(document, SS_NOTE_ASIDE) = words(document, "median of 3 steps");
}

static void add_table(struct ss_document *document, enum ss_block_audience audience)
{
    struct ss_block *block = ss_document_add(document, SS_BLOCK_TABLE);
    struct ss_table table = {.name = "new", .columns = columns, .column_count = 3};
    struct ss_cell *cells = ss_table_add_row(&table);
    cells[0] = ss_cell_text(ss_strview_of("x|<y>"));
    cells[1] = ss_cell_integer(2000);
    cells[2] = ss_cell_integer(1000);
    block->audience = audience;
    block->table.title = audience == SS_FOR_PEOPLE ? "People's" : "Waits";
    block->table.data = table;
}

static void fill(struct ss_document *document)
{
    ss_document_init(document);
    add_header(document);
    add_training(document);
    add_table(document, SS_FOR_ALL);
    add_table(document, SS_FOR_PEOPLE);
    add_table(document, SS_FOR_PROGRAMS);
    *ss_document_add_note(document, SS_NOTE_WARNING) = words(document, "beware");
    struct ss_block *block = ss_document_add(document, SS_BLOCK_COMMANDS);
    ss_vec_push(&block->commands,
                (struct ss_document_command){"stepscope flame 'a|b.pftrace'", "a picture"});
    ss_figure_put_known(document->figures, "header", 1.5);
}

static void text_separates_what_does_not_belong_together(void **state)
{
    (void)state;
    struct ss_document document;
    fill(&document);
    check(ss_report_text, &document, 40,
          "stepscope report  a|b.pftrace\n\n"
          "Samples    3 recorded = 3 shown\n\n"
          "A step takes *long*\n"
          "  ▕data░░░░░░░░░░░░░░░░░░░░░░░▕other░░░▏\n\n"
          "75 % waits\n"
          "  at a.py:1 f_g\n"
          "  cores 8 · workers 0\n"
          "  → num_workers=2\n\n"
          "  ▁▄█  step by step\n"
          "median of 3 steps\n\n"
          "Waits\n"
          "name      wait     half\n"
          "x|<y>  2.00 µs  1.00 µs\n\n"
          "People's\n"
          "name      wait     half\n"
          "x|<y>  2.00 µs  1.00 µs\n"
          "! beware\n\n"
          "Next\n"
          "  stepscope flame 'a|b.pftrace'   a picture\n");
    ss_document_fini(&document);
}

static void programs_get_the_tables_for_them_and_no_columns_for_people(void **state)
{
    (void)state;
    struct ss_document document;
    fill(&document);
    check(ss_report_csv, &document, 0,
          "name,wait_ns\r\nx|<y>,2000\r\n\r\nname,wait_ns\r\nx|<y>,2000\r\n");
    char *json = render(ss_report_json, &document, 0);
    assert_non_null(strstr(json, "\"header\": 1.5"));
    assert_non_null(strstr(json, "\"wait_ns\": 2000"));
    assert_null(strstr(json, "half_ns"));
    free(json);
    ss_document_fini(&document);
}

static void markdown_has_lists_pipe_tables_and_escapes(void **state)
{
    (void)state;
    struct ss_document document;
    fill(&document);
    check(ss_report_markdown, &document, 40,
          "# stepscope report: a\\|b.pftrace\n\n"
          "- **Samples:** 3 recorded = 3 shown\n\n"
          "**A step takes \\*long\\***\n\n"
          "| data | other |\n|---:|---:|\n| 75.0 % | 25.0 % |\n\n"
          "1. **75 % waits**\n"
          "   - at a.py:1 f_g\n"
          "   - cores 8 · workers 0\n"
          "   - → num_workers=2\n\n"
          "`▁▄█` step by step\n\n"
          "median of 3 steps\n\n"
          "## Waits\n\n"
          "| name | wait | half |\n|---|---:|---:|\n| x\\|\\<y\\> | 2.00 µs | 1.00 µs |\n\n"
          "## People's\n\n"
          "| name | wait | half |\n|---|---:|---:|\n| x\\|\\<y\\> | 2.00 µs | 1.00 µs |\n\n"
          "> [!WARNING]\n> beware\n\n"
          "## Next\n\n```sh\nstepscope flame 'a|b.pftrace'   # a picture\n```\n");
    ss_document_fini(&document);
}

static void markdown_escapes_what_it_would_read(void **state)
{
    (void)state;
    static const struct {
        const char *text, *wanted;
    } cases[] = {{"+ a", "\\+ a\n"},
                 {"a + b", "a + b\n"},
                 {"# a", "\\# a\n"},
                 {"__init__ a_b _", "\\_\\_init\\_\\_ a_b \\_\n"},
                 {"<b> `c` [d](e) f~g & $h$", "\\<b\\> \\`c\\` \\[d\\](e) f\\~g \\& \\$h\\$\n"},
                 {"a\nb\x1b", "a\xef\xbf\xbd"
                              "b\xef\xbf\xbd\n"},
                 {"a\\|b", "a\\\\\\|b\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ss_document document;
        ss_document_init(&document);
        *ss_document_add_note(&document, SS_NOTE_FACT) = words(&document, cases[i].text);
        check(ss_report_markdown, &document, 0, cases[i].wanted);
        ss_document_fini(&document);
    }
}

/* One note instead of two empty tables; programs still find the columns. */
static void without_samples_there_is_one_note(void **state)
{
    (void)state;
    struct ss_model model;
    struct ss_selection selection;
    struct ss_selection_options all = {.size = sizeof all, .idle = SS_IDLE_ALL};
    struct ss_table_options options = {.max_rows = 10};
    struct ss_report_options report = {.kind = &ss_overview, .table = &options};
    struct ss_document document;
    ss_model_init(&model);
    ss_vec_push_zero(&model.inputs);
    assert_int_equal(ss_selection_init(&selection, &model, &all, NULL), SS_OK);
    ss_document_init(&document);
    ss_report_compose(&selection, &report, &document);
    char *text = render(ss_report_text, &document, 0);
    assert_non_null(strstr(text, "\n\nNo samples were recorded, so there are no tables of "));
    assert_null(strstr(text, "Hottest"));
    free(text);
    char *table = render(ss_report_csv, &document, 0);
    assert_memory_equal(table, "name,path,line,", 15);
    free(table);
    ss_document_fini(&document);
    ss_selection_fini(&selection);
    ss_model_fini(&model);
}

static void long_notes_are_wrapped(void **state)
{
    (void)state;
    struct ss_document document;
    ss_document_init(&document);
    ss_document_add(&document, SS_BLOCK_HEADING)->heading = "Memory";
    *ss_document_add_item(&document, SS_NOTE_FACT) = words(&document, "one two three four five");
    *ss_document_add_note(&document, SS_NOTE_WARNING) = words(&document, "six seven eight nine");
    check(ss_report_text, &document, 16,
          "Memory\n  one two three\n  four five\n! six seven\n  eight nine\n\n");
    ss_document_fini(&document);
}

static void every_view_has_a_row_and_renders_any_document(void **state)
{
    (void)state;
    struct folded_input input;
    struct ss_table_options options = {.max_rows = 10};
    struct ss_report_options report = {.kind = &ss_overview, .table = &options};
    struct ss_document all, empty, recorded;
    folded_text(&input, "main (m.py:1);work|x (m.py:2) 60\nmain (m.py:1) 40\n");
    fill(&all);
    ss_document_init(&empty);
    ss_document_init(&recorded);
    ss_report_compose(&input.selection, &report, &recorded);
    for (const struct ss_report_view *view = ss_report_views; view->name != NULL; view++) {
        assert_non_null(view->summary);
        assert_true(view->ending[0] == '.');
        free(render(view->render, &all, 0));
        free(render(view->render, &empty, 80));
        char *text = render(view->render, &recorded, 80);
        assert_non_null(strstr(text, "work"));
        free(text);
    }
    ss_document_fini(&recorded);
    ss_document_fini(&empty);
    ss_document_fini(&all);
    folded_fini(&input);
}

static void a_sentence_has_units(void **state)
{
    (void)state;
    struct ss_arena arena = {0};
    struct ss_sentence sentence = ss_sentence_of(&arena);
    struct ss_strbuf out;
    ss_strbuf_init(&out, 1000);
    ss_sentence_add_count(&sentence, 1234);
    ss_sentence_add(&sentence, " ");
    ss_sentence_add_duration(&sentence, 1500000);
    ss_sentence_add(&sentence, " ");
    ss_sentence_add_bytes(&sentence, 2048);
    ss_sentence_add(&sentence, " ");
    ss_sentence_add_flop_rate(&sentence, 3.2e12);
    ss_sentence_add(&sentence, " ");
    ss_sentence_add_time(&sentence, 86400 * INT64_C(1000000000));
    ss_sentence_add_name(&sentence, ss_strview_of(" \x1b[2J"));
    ss_sentence_append_clean(&sentence, &out);
    assert_string_equal(
        out.data, "1,234 1.50 ms 2.0 KiB 3.20 TFLOP/s 1970-01-02 00:00:00 UTC \xef\xbf\xbd[2J");
    ss_strbuf_fini(&out);
    ss_arena_fini(&arena);
}

/* Each column of a map shows the slowest of its steps; no name ends the script. */
static void a_page_has_maps_and_no_markup_of_names(void **state)
{
    (void)state;
    enum { STEPS = 1500 };
    struct ss_document document;
    ss_document_init(&document);
    add_header(&document);
    ss_document_add(&document, SS_BLOCK_HEADLINE)->headline = words(&document, "</script><!--&");
    struct ss_block *block = ss_document_join(&document, SS_BLOCK_HEAT);
    block->heat.label = "own time";
    block->heat.columns = STEPS;
    block->heat.low = 1;
    block->heat.high = 9;
    ss_vec_push(&block->heat.rows, INT64_C(7));
    for (size_t i = 0; i < STEPS; i++) {
        ss_vec_push(&block->heat.values, i < 3 ? -1.0 : i == 4 ? 9.0 : 1.0);
    }
    char *page = render(ss_report_html, &document, 0);
    assert_non_null(strstr(page, "\"rows\":[7],\"columns\":500,\"each\":3"));
    assert_non_null(strstr(page, "\"values\":[-1.0,9.0,1.0,"));
    assert_non_null(strstr(page, "\\u003c/script\\u003e\\u003c!--\\u0026"));
    assert_null(strstr(page, "</script><!--"));
    free(page);
    for (const struct ss_report_view *view = ss_report_views; view->name != NULL; view++) {
        free(render(view->render, &document, 80));
    }
    ss_document_fini(&document);
}

/* From behind the style sheet on. */
static void check_notebook(const struct ss_document *document, const char *wanted)
{
    char *text = render(ss_report_notebook, document, 0);
    char *begin = strstr(text, "</style>\n");
    assert_memory_equal(text, "<div class=\"stepscope ", 22);
    assert_non_null(begin);
    assert_string_equal(begin + strlen("</style>\n"), wanted);
    free(text);
}

static void notebooks_get_a_sentence_a_bar_and_sections_without_scripts(void **state)
{
    (void)state;
    struct ss_document document;
    fill(&document);
    check_notebook(
        &document,
        "<details><summary>Recording</summary>\n"
        "<table>\n<tr><td>Samples</td><td style=\"white-space:normal\">3 recorded = 3 shown</td>"
        "</tr>\n</table>\n</details>\n"
        "<p><b>A step takes *long*</b></p>\n"
        "<div aria-hidden=\"true\" style=\"display:flex;height:16px;max-width:760px\">"
        "<span style=\"width:75.00%;background:#c8443a\" title=\"data 75.0 %\"></span>"
        "<span style=\"width:25.00%;background:#64748b\" title=\"other 25.0 %\"></span></div>\n"
        "<p><span class=\"share\"><span class=\"swatch\" style=\"background:#c8443a\"></span> data "
        "75.0 %</span> <span class=\"share\"><span class=\"swatch\" style=\"background:#64748b\">"
        "</span> other 25.0 %</span> </p>\n"
        "<ol>\n<li><b>75 % waits</b><br>\nat a.py:1 f_g<br>\n"
        "<span class=\"soft\">cores 8 · workers 0</span><br>\n→ num_workers=2</li>\n</ol>\n"
        "<p><span aria-hidden=\"true\">▁▄█</span> <span class=\"soft\">step by step</span></p>\n"
        "<p class=\"soft\">median of 3 steps</p>\n"
        "<details open><summary>Waits</summary>\n<div class=\"wide\"><table>\n<thead><tr><th>name"
        "</th><th class=\"right\">wait</th><th class=\"right\">half</th></tr>\n</thead>\n<tbody>\n"
        "<tr><td>x|&#60;y&#62;</td><td class=\"right\">2.00 µs</td><td class=\"right\">1.00 µs</td>"
        "</tr>\n</tbody>\n</table></div>\n</details>\n"
        "<details><summary>People&#39;s</summary>\n<div class=\"wide\"><table>\n<thead><tr><th>name"
        "</th><th class=\"right\">wait</th><th class=\"right\">half</th></tr>\n</thead>\n<tbody>\n"
        "<tr><td>x|&#60;y&#62;</td><td class=\"right\">2.00 µs</td><td class=\"right\">1.00 µs</td>"
        "</tr>\n</tbody>\n</table></div>\n"
        "<p><b>!</b> beware</p>\n</details>\n</div>\n");
    ss_document_fini(&document);
}

/* What does not fit is left out as a whole block, and every element ends. */
static void the_output_of_a_notebook_is_small_whatever_the_report(void **state)
{
    (void)state;
    enum { NOTES = 1000 };
    char name[1000];
    struct ss_document document;
    ss_document_init(&document);
    memset(name, '"', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    add_table(&document, SS_FOR_ALL);
    for (int i = 0; i < NOTES; i++) {
        *ss_document_add_note(&document, SS_NOTE_FACT) = words(&document, name);
    }
    char *text = render(ss_report_notebook, &document, 0);
    size_t length = strlen(text);
    assert_in_range(length, SS_REPORT_NOTEBOOK_MAX_BYTES - 8000, SS_REPORT_NOTEBOOK_MAX_BYTES);
    const char *end =
        "&#34;</p>\n</details>\n<p><b>!</b> The rest is left out, for a notebook should "
        "stay small: choose one table, or fewer rows.</p>\n</div>\n";
    assert_string_equal(text + length - strlen(end), end);
    free(text);
    ss_document_fini(&document);
}

int main(void)
{
    ss_text_use_utf8();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_separates_what_does_not_belong_together),
        cmocka_unit_test(programs_get_the_tables_for_them_and_no_columns_for_people),
        cmocka_unit_test(markdown_has_lists_pipe_tables_and_escapes),
        cmocka_unit_test(markdown_escapes_what_it_would_read),
        cmocka_unit_test(without_samples_there_is_one_note),
        cmocka_unit_test(long_notes_are_wrapped),
        cmocka_unit_test(every_view_has_a_row_and_renders_any_document),
        cmocka_unit_test(a_sentence_has_units),
        cmocka_unit_test(notebooks_get_a_sentence_a_bar_and_sections_without_scripts),
        cmocka_unit_test(the_output_of_a_notebook_is_small_whatever_the_report),
        cmocka_unit_test(a_page_has_maps_and_no_markup_of_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
