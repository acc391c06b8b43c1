/* SPDX-License-Identifier: Apache-2.0 */
/* Documents: what belongs together, what is for programs only, and tables with their notes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/report/document.h"
#include "analysis/samples/hotspots.h"

static void a_sentence_has_typed_parts_and_copies_its_texts(void **state)
{
    (void)state;
    struct ss_arena arena = {0};
    struct ss_sentence sentence = ss_sentence_of(&arena);
    char name[] = "data";
    assert_true(ss_sentence_is_empty(&sentence));
    ss_sentence_add(&sentence, "");
    ss_sentence_add_plural(&sentence, 1);
    assert_true(ss_sentence_is_empty(&sentence));
    ss_sentence_add_percent(&sentence, 12.5, 1);
    ss_sentence_add_name(&sentence, ss_strview_of(name));
    ss_sentence_add_plural(&sentence, 0);
    name[0] = 'x';
    const struct ss_part *part = sentence.first;
    assert_int_equal(part->kind, SS_PART_PERCENT);
    assert_int_equal(part->digits, 1);
    part = part->next;
    assert_int_equal(part->kind, SS_PART_NAME);
    assert_string_equal(part->text.data, "data");
    assert_int_equal(part->next->kind, SS_PART_WORDS);
    assert_null(part->next->next);
    ss_arena_fini(&arena);
}

static void figures_keep_their_order_and_know_what_is_unknown(void **state)
{
    (void)state;
    struct ss_arena arena = {0};
    struct ss_figure *object = ss_figure_new(&arena);
    ss_figure_put_known(object, "rate", 0);
    ss_figure_put_text(object, "name", "");
    struct ss_figure *list = ss_figure_put_list(object, "list");
    ss_figure_put_integer(list, NULL, -3);
    ss_figure_put_count(object, "count", 7);
    const struct ss_figure *at = object->members.first;
    assert_int_equal(at->type, SS_FIGURE_NULL);
    assert_int_equal(at->next->type, SS_FIGURE_NULL);
    assert_int_equal(at->next->next->members.first->integer, -3);
    assert_string_equal(at->next->next->next->key, "count");
    assert_null(at->next->next->next->next);
    ss_arena_fini(&arena);
}

static void a_note_belongs_to_the_block_before_it(void **state)
{
    (void)state;
    struct ss_document document;
    ss_document_init(&document);
    ss_document_add(&document, SS_BLOCK_HEADING)->heading = "Memory";
    ss_sentence_add(ss_document_add_item(&document, SS_NOTE_FACT), "much");
    assert_false(document.blocks.data[0].is_joined);
    assert_true(document.blocks.data[1].is_joined);
    assert_true(document.blocks.data[1].note.is_item);
    assert_null(ss_block_table_for_programs(&document.blocks.data[1]));
    ss_document_fini(&document);
}

static void tables_know_their_readers(void **state)
{
    (void)state;
    struct ss_document document;
    ss_document_init(&document);
    struct ss_block *block = ss_document_add(&document, SS_BLOCK_TABLE);
    assert_ptr_equal(ss_block_table_for_programs(block), &block->table.data);
    assert_true(ss_block_is_for_people(block));
    block->audience = SS_FOR_PEOPLE;
    assert_null(ss_block_table_for_programs(block));
    block->audience = SS_FOR_PROGRAMS;
    assert_non_null(ss_block_table_for_programs(block));
    assert_false(ss_block_is_for_people(block));
    ss_document_fini(&document);
}

static void rows_on_few_samples_are_weak(void **state)
{
    (void)state;
    static const struct ss_column columns[] = {{.key = "samples"}, {.key = "percent"}};
    struct ss_table table = {
        .name = "t", .samples_key = "samples", .columns = columns, .column_count = 2};
    ss_table_add_row(&table)[0] = ss_cell_integer(29);
    ss_table_add_row(&table)[0] = ss_cell_integer(30);
    assert_true(ss_table_row_is_weak(&table, 0));
    assert_false(ss_table_row_is_weak(&table, 1));
    assert_true(ss_table_has_any(&table, 0));
    assert_false(ss_table_has_any(&table, 1));
    table.samples_key = NULL; /* measured */
    assert_false(ss_table_row_is_weak(&table, 0));
    ss_table_fini(&table);
}

/* main → (a → b → c, d) */
static void only_branches_of_a_tree_are_indented(void **state)
{
    (void)state;
    static const int64_t parents[] = {-1, 0, 1, 2, 0};
    static const size_t indents[] = {0, 1, 1, 1, 1};
    struct ss_table tree = {.name = "tree", .column_count = SS_HOT_COUNT};
    for (size_t i = 0; i < 5; i++) {
        ss_table_add_row(&tree)[SS_HOT_PARENT] = ss_cell_integer(parents[i]);
    }
    struct ss_tree_branch *branches = ss_tree_branches_new(&tree);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(branches[i].parent, parents[i]);
        assert_int_equal(branches[i].indent, indents[i]);
    }
    assert_true(branches[1].is_branch && !branches[1].is_last);
    assert_false(branches[2].is_branch);
    assert_true(branches[4].is_branch && branches[4].is_last);
    ss_free(branches);
    ss_table_fini(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sentence_has_typed_parts_and_copies_its_texts),
        cmocka_unit_test(figures_keep_their_order_and_know_what_is_unknown),
        cmocka_unit_test(a_note_belongs_to_the_block_before_it),
        cmocka_unit_test(tables_know_their_readers),
        cmocka_unit_test(rows_on_few_samples_are_weak),
        cmocka_unit_test(only_branches_of_a_tree_are_indented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
