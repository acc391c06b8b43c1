/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons of trainings with known differences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../model_builder.h"
#include "analysis/diff/diff.h"
#include "analysis/tables/overview.h"
#include "view/output/report.h"
#include "view/output/sentence_text.h"

#define US UINT64_C(1000)

/* --- trainings -------------------------------------------------------------------------------- */

/* Steps of a data phase, a forward phase and the rest, which vary by a few percent. */
struct shape {
    uint32_t steps;
    uint64_t data_us, forward_us, rest_us;
    const char *forward; /* NULL: "forward" */
    int64_t threads;     /* 0: unknown */
    int64_t workers;     /* of its loader; -1: unknown */
    bool has_operators;
    const char *torch; /* version; NULL: unknown */
};

static const struct shape usual = {
    .steps = 60, .data_us = 40000, .forward_us = 50000, .rest_us = 10000, .workers = -1};

static uint64_t varied(uint64_t us, uint64_t step, uint64_t salt)
{
    return us * US / 100 * (97 + (step * 5 + salt) % 7);
}

struct side {
    struct ss_model model;
    struct ss_selection selection;
};

static void add_facts(struct ss_model *model, uint32_t process, const struct shape *shape)
{
    char text[64];
    if (shape->threads > 0) {
        build_fact(model, process, "torch.threads", shape->threads);
    }
    if (shape->workers >= 0) {
        build_fact(model, process, "dataloader.workers", shape->workers);
    }
    if (shape->torch != NULL) {
        snprintf(text, sizeof text, "torch.version = %s", shape->torch);
        BUILD_NOTE(model, .process = process, .kind = "fact", .text = text);
    }
}

static void build(struct side *side, const struct shape *shape)
{
    struct ss_model *model = &side->model;
    ss_model_init(model);
    ss_model_new_input(model, SS_INPUT_TRACE, "run.pftrace");
    model->inputs.data[0].summary.sealed = true;
    uint32_t process = BUILD_PROCESS(model, .pid = 42);
    uint32_t thread = BUILD_THREAD(model, .process = process, .tid = 42, .is_main = true);
    uint32_t steps = BUILD_TRACK(model, .kind = SS_TRACK_STEPS, .process = process, .name = "step");
    uint32_t phases =
        BUILD_TRACK(model, .kind = SS_TRACK_PHASES, .process = process, .name = "phase");
    uint32_t torch = BUILD_TRACK(model, .kind = SS_TRACK_RANGES, .process = process,
                                 .thread = thread, .name = "torch");
    uint32_t data_track = BUILD_TRACK(model, .kind = SS_TRACK_RANGES, .process = process,
                                      .thread = thread, .name = "torch.data");
    add_facts(model, process, shape);
    for (int part = 0; part < 4; part++) {
        uint64_t at = US;
        for (uint32_t i = 0; i < shape->steps; i++) {
            uint64_t data = varied(shape->data_us, i, 0), forward = varied(shape->forward_us, i, 2);
            uint64_t end = at + data + forward + varied(shape->rest_us, i, 4);
            const char *name = shape->forward != NULL ? shape->forward : "forward";
            if (part == 0) {
                BUILD_RANGE(model, .track = steps, .name = "step", .begin_ns = at, .end_ns = end,
                            .payload = build_integer(model, i));
            } else if (part == 1) {
                BUILD_RANGE(model, .track = phases, .name = "data", .begin_ns = at,
                            .end_ns = at + data);
                BUILD_RANGE(model, .track = phases, .name = name, .begin_ns = at + data,
                            .end_ns = at + data + forward);
            } else if (part == 2 && shape->workers == 0) {
                BUILD_RANGE(model, .track = data_track, .name = "fetch", .begin_ns = at,
                            .end_ns = at + data);
            } else if (part == 3 && shape->has_operators) {
                BUILD_RANGE(model, .track = torch, .name = "aten::mm", .begin_ns = at + data,
                            .end_ns = at + data + forward / 2);
                BUILD_RANGE(model, .track = torch, .name = name,
                            .begin_ns = at + data + forward / 2, .end_ns = at + data + forward);
            }
            at = end;
        }
    }
}

/* --- comparisons ------------------------------------------------------------------------------ */

struct compared {
    struct side sides[SS_SIDES];
    struct ss_document document;
    struct ss_diff_result result;
    struct ss_strbuf text;
};

static void compose(struct compared *compared, const struct shape *a, const struct shape *b,
                    struct ss_diff_options options)
{
    const struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    const struct shape *shapes[] = {a, b};
    const struct ss_selection *selections[SS_SIDES];
    options.kind = options.kind != NULL ? options.kind : &ss_overview;
    for (int i = 0; i < SS_SIDES; i++) {
        struct side *side = &compared->sides[i];
        build(side, shapes[i]);
        assert_int_equal(ss_selection_init(&side->selection, &side->model, &all, NULL), SS_OK);
        selections[i] = &side->selection;
    }
    ss_document_init(&compared->document);
    ss_diff_compose(selections, &options, &compared->document, &compared->result);
    ss_strbuf_init(&compared->text, 1 << 20);
}

static void end(struct compared *compared)
{
    ss_strbuf_fini(&compared->text);
    ss_document_fini(&compared->document);
    for (int i = 0; i < SS_SIDES; i++) {
        ss_selection_fini(&compared->sides[i].selection);
        ss_model_fini(&compared->sides[i].model);
    }
}

static const char *headline(struct compared *compared)
{
    ss_strbuf_clear(&compared->text);
    for (size_t i = 0; i < compared->document.blocks.count; i++) {
        const struct ss_block *block = &compared->document.blocks.data[i];
        if (block->kind == SS_BLOCK_HEADLINE) {
            ss_sentence_append_raw(&block->headline, &compared->text);
        }
    }
    return compared->text.data;
}

static const struct ss_table *find_table(const struct compared *compared, const char *name)
{
    for (size_t i = 0; i < compared->document.blocks.count; i++) {
        const struct ss_table *table =
            ss_block_table_for_programs(&compared->document.blocks.data[i]);
        if (table != NULL && strcmp(table->name, name) == 0) {
            return table;
        }
    }
    return NULL;
}

static bool is_text(const struct ss_cell *cell, const char *text)
{
    return cell->type == SS_CELL_TEXT && ss_strview_equal(cell->text, ss_strview_of(text));
}

/* The cells of the row that begins with this text; NULL: none. */
static const struct ss_cell *find_row(const struct ss_table *table, const char *name)
{
    for (size_t row = 0; table != NULL && row < table->row_count; row++) {
        const struct ss_cell *cells = ss_table_cell(table, row, 0);
        if (is_text(&cells[0], name)) {
            return cells;
        }
    }
    return NULL;
}

static const struct ss_cell *change_of(const struct compared *compared, const char *table,
                                       const char *row, enum ss_compared_column column)
{
    const struct ss_table *found = find_table(compared, table);
    const struct ss_cell *cells = find_row(found, row);
    assert_non_null(cells);
    return &cells[found->comparison.keys + column];
}

/* The findings of a side only, or of both, by the figures for programs. */
static size_t count_findings(const struct compared *compared, const char *rule, const char *in)
{
    size_t count = 0;
    const struct ss_figure *list = compared->document.figures->members.first;
    while (strcmp(list->key, "findings") != 0) {
        list = list->next;
    }
    for (const struct ss_figure *at = list->members.first; at != NULL; at = at->next) {
        const struct ss_figure *id = at->members.first, *where = id->next;
        count += ss_strview_equal(id->text, ss_strview_of(rule)) &&
                 ss_strview_equal(where->text, ss_strview_of(in));
    }
    return count;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void a_training_and_itself_do_not_differ(void **state)
{
    (void)state;
    struct compared compared;
    struct shape shape = usual;
    shape.has_operators = true;
    shape.workers = 0;
    compose(&compared, &shape, &shape, (struct ss_diff_options){.has_threshold = true});
    assert_true(compared.result.has_steps && compared.result.is_known);
    assert_false(compared.result.is_significant || compared.result.is_above_threshold);
    assert_non_null(strstr(headline(&compared), "No significant change per step"));
    for (size_t i = 0; i < compared.document.blocks.count; i++) {
        const struct ss_table *table =
            ss_block_table_for_programs(&compared.document.blocks.data[i]);
        size_t column = table != NULL ? table->comparison.keys + SS_COMPARED_SIGNIFICANT : 0;
        for (size_t row = 0; column > SS_COMPARED_SIGNIFICANT && row < table->row_count; row++) {
            assert_false(is_text(ss_table_cell(table, row, column), "yes"));
        }
    }
    assert_int_equal(find_table(&compared, "environment")->row_count, 0);
    assert_int_equal(count_findings(&compared, "no-workers", "both"), 1);
    end(&compared);
}

/* Other lengths, too: only steps count. */
static void a_faster_phase_is_named(void **state)
{
    (void)state;
    struct compared compared;
    struct shape b = usual;
    b.data_us = 20000;
    b.steps = 90;
    compose(&compared, &usual, &b, (struct ss_diff_options){0});
    assert_true(compared.result.is_significant);
    assert_true(fabs(compared.result.percent + 20) < 0.5);
    assert_non_null(strstr(headline(&compared), "B is 1.25 × faster per step (100"));
    assert_non_null(strstr(headline(&compared), "): data −2"));
    assert_null(strstr(headline(&compared), "forward"));
    assert_true(is_text(change_of(&compared, "phase", "data", SS_COMPARED_SIGNIFICANT), "yes"));
    assert_true(is_text(change_of(&compared, "phase", "forward", SS_COMPARED_SIGNIFICANT), "no"));
    assert_int_equal(change_of(&compared, "step", "steady-state steps", SS_COMPARED_B)->integer,
                     90);
    end(&compared);
}

static void what_one_phase_gains_another_may_lose(void **state)
{
    (void)state;
    struct compared compared;
    struct shape b = usual;
    b.data_us += 10000;
    b.forward_us -= 10000;
    compose(&compared, &usual, &b, (struct ss_diff_options){0});
    assert_false(compared.result.is_significant);
    assert_non_null(strstr(headline(&compared), "), but "));
    assert_non_null(strstr(headline(&compared), "data +10"));
    assert_non_null(strstr(headline(&compared), "forward −"));
    end(&compared);
}

static void a_phase_of_one_side_is_shown_as_such(void **state)
{
    (void)state;
    struct compared compared;
    struct shape b = usual;
    b.forward = "inference";
    compose(&compared, &usual, &b, (struct ss_diff_options){0});
    assert_true(is_text(change_of(&compared, "phase", "forward", SS_COMPARED_ONLY_IN), "A"));
    assert_true(is_text(change_of(&compared, "phase", "inference", SS_COMPARED_ONLY_IN), "B"));
    end(&compared);
}

static void a_threshold_is_of_a_significant_change(void **state)
{
    (void)state;
    static const struct {
        uint64_t data_us;
        double threshold;
        bool is_above;
    } cases[] = {{48000, 5, true}, {48000, 10, false}, {40000, 0, false}, {20000, 0, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct compared compared;
        struct shape b = usual;
        b.data_us = cases[i].data_us;
        compose(&compared, &usual, &b,
                (struct ss_diff_options){.has_threshold = true,
                                         .threshold_percent = cases[i].threshold});
        assert_int_equal(compared.result.is_above_threshold, cases[i].is_above);
        end(&compared);
    }
}

static void few_steps_are_not_judged(void **state)
{
    (void)state;
    struct compared compared;
    struct shape b = usual;
    b.steps = 4;
    b.data_us *= 2;
    compose(&compared, &usual, &b, (struct ss_diff_options){.has_threshold = true});
    assert_true(compared.result.has_steps);
    assert_false(compared.result.is_known || compared.result.is_above_threshold);
    assert_non_null(strstr(headline(&compared), "too few steps"));
    end(&compared);
}

static void without_steps_runs_are_compared(void **state)
{
    (void)state;
    struct compared compared;
    struct shape none = usual;
    none.steps = 0;
    compose(&compared, &usual, &none, (struct ss_diff_options){0});
    assert_false(compared.result.has_steps);
    assert_non_null(strstr(headline(&compared), "Only A has steady-state steps"));
    assert_null(find_table(&compared, "step"));
    end(&compared);
    compose(&compared, &none, &none, (struct ss_diff_options){0});
    assert_non_null(strstr(headline(&compared), "No steady-state steps"));
    end(&compared);
}

static void operators_are_compared_per_step(void **state)
{
    (void)state;
    struct compared compared;
    struct shape a = usual, b = usual;
    a.has_operators = b.has_operators = true;
    b.forward = "extra";
    b.forward_us = 30000;
    b.steps = 30;
    compose(&compared, &a, &b, (struct ss_diff_options){.kind = ss_table_kind_find("op", NULL)});
    const struct ss_cell *mm = change_of(&compared, "op", "aten::mm", SS_COMPARED_A);
    assert_true(fabs((double)mm[0].integer - 25e6) < 2e5);
    assert_true(fabs((double)mm[SS_COMPARED_CHANGE].integer + 10e6) < 3e5);
    assert_true(is_text(&mm[SS_COMPARED_SIGNIFICANT], "yes"));
    assert_true(is_text(change_of(&compared, "op", "extra", SS_COMPARED_ONLY_IN), "B"));
    assert_null(find_table(&compared, "environment"));
    end(&compared);
}

static void findings_come_and_go(void **state)
{
    (void)state;
    struct compared compared;
    struct shape a = usual, b = usual;
    a.workers = 0;
    b.workers = 4;
    b.data_us = 1000;
    compose(&compared, &a, &b, (struct ss_diff_options){0});
    assert_int_equal(count_findings(&compared, "no-workers", "A"), 1);
    assert_int_equal(count_findings(&compared, "no-workers", "B"), 0);
    end(&compared);
    compose(&compared, &b, &a, (struct ss_diff_options){0});
    assert_int_equal(count_findings(&compared, "no-workers", "B"), 1);
    end(&compared);
}

static void the_environment_has_what_differs(void **state)
{
    (void)state;
    struct compared compared;
    struct shape a = usual, b = usual;
    a.torch = "2.12";
    b.torch = "2.13";
    a.threads = b.threads = 4;
    b.workers = 2;
    compose(&compared, &a, &b, (struct ss_diff_options){0});
    const struct ss_table *table = find_table(&compared, "environment");
    const struct ss_cell *version = find_row(table, "torch.version");
    const struct ss_cell *workers = find_row(table, "dataloader.workers");
    assert_true(version != NULL && workers != NULL);
    assert_int_equal(table->row_count, 2);
    assert_true(is_text(&version[1], "2.12") && is_text(&version[2], "2.13"));
    assert_true(workers[1].type == SS_CELL_ABSENT && is_text(&workers[2], "2"));
    end(&compared);
}

static void a_single_table_is_that_of_the_step(void **state)
{
    (void)state;
    struct compared compared;
    compose(&compared, &usual, &usual, (struct ss_diff_options){.is_single = true});
    size_t tables = 0;
    for (size_t i = 0; i < compared.document.blocks.count; i++) {
        tables += ss_block_table_for_programs(&compared.document.blocks.data[i]) != NULL;
    }
    assert_int_equal(tables, 1);
    assert_non_null(find_table(&compared, "step"));
    end(&compared);
}

/* Every table of the registry that may be compared has keys and something to compare. */
static void every_table_is_comparable(void **state)
{
    (void)state;
    struct shape shape = usual;
    shape.has_operators = true;
    for (const struct ss_table_kind *kind = ss_table_kinds; kind->id != NULL; kind++) {
        struct compared compared;
        if (kind->is_not_compared || ss_table_kind_find(kind->id, NULL) != kind) {
            continue;
        }
        compose(&compared, &shape, &shape, (struct ss_diff_options){.kind = kind});
        size_t tables = 0;
        for (size_t i = 0; i < compared.document.blocks.count; i++) {
            const struct ss_table *table =
                ss_block_table_for_programs(&compared.document.blocks.data[i]);
            tables += table != NULL && table->comparison.keys > 0;
        }
        if (tables == 0) {
            fail_msg("--by %s compares nothing", kind->id);
        }
        end(&compared);
    }
}

static void every_view_renders_it(void **state)
{
    (void)state;
    struct shape b = usual;
    b.data_us = 20000;
    b.workers = 0;
    for (const struct ss_report_view *view = ss_report_views; view->name != NULL; view++) {
        struct compared compared;
        const struct ss_report_style style = {.width = 80, .colour = true};
        char *text = NULL;
        size_t length = 0;
        compose(
            &compared, &usual, &b,
            (struct ss_diff_options){.inputs = {"one", "two"}, .is_single = view->is_single_table});
        FILE *out = open_memstream(&text, &length);
        assert_int_equal(view->render(&compared.document, &style, out, NULL), SS_OK);
        fclose(out);
        assert_non_null(strstr(text, "mean"));
        assert_true(view->is_single_table || strstr(text, "1.25 × faster") != NULL);
        free(text);
        end(&compared);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_training_and_itself_do_not_differ),
        cmocka_unit_test(a_faster_phase_is_named),
        cmocka_unit_test(what_one_phase_gains_another_may_lose),
        cmocka_unit_test(a_phase_of_one_side_is_shown_as_such),
        cmocka_unit_test(a_threshold_is_of_a_significant_change),
        cmocka_unit_test(few_steps_are_not_judged),
        cmocka_unit_test(without_steps_runs_are_compared),
        cmocka_unit_test(operators_are_compared_per_step),
        cmocka_unit_test(findings_come_and_go),
        cmocka_unit_test(the_environment_has_what_differs),
        cmocka_unit_test(a_single_table_is_that_of_the_step),
        cmocka_unit_test(every_table_is_comparable),
        cmocka_unit_test(every_view_renders_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
