/* SPDX-License-Identifier: Apache-2.0 */
#include "folded_input.h"

#include "base/strbuf.h"
#include "view/flame/flame_layout.h"

static uint32_t find(const struct ss_flame_tree *tree, uint32_t parent, const char *name)
{
    for (uint32_t child = tree->nodes.data[parent].first_child; child != 0;
         child = tree->nodes.data[child].next_sibling) {
        if (strcmp(ss_intern_text(&tree->strings, ss_flame_label_of(tree, child)->name), name) ==
            0) {
            return child;
        }
    }
    return 0;
}

/* Follows names from the root; fails when one is not there. */
static const struct ss_flame_node *at(const struct ss_flame_tree *tree, const char *const *names)
{
    uint32_t node = 0;
    for (; *names != NULL; names++) {
        node = find(tree, node, *names);
        if (node == 0) {
            fail_msg("no box %s", *names);
        }
    }
    return &tree->nodes.data[node];
}
#define AT(tree, ...) at(tree, (const char *const[]){__VA_ARGS__, NULL})

/* Every parent is its own self time and its children, on both sides. */
static void check_sums(const struct ss_flame_tree *tree)
{
    for (size_t i = 0; i < tree->nodes.count; i++) {
        const struct ss_flame_node *node = &tree->nodes.data[i];
        uint64_t sums[SS_FLAME_SIDES] = {node->self[0], node->self[1]};
        uint32_t before = 0;
        for (uint32_t child = node->first_child; child != 0;
             child = tree->nodes.data[child].next_sibling) {
            assert_true(child > i);
            assert_int_equal(tree->nodes.data[child].parent, i);
            assert_true(before == 0 || ss_flame_share(tree, before) >= ss_flame_share(tree, child));
            before = child;
            sums[0] += tree->nodes.data[child].total[0];
            sums[1] += tree->nodes.data[child].total[1];
        }
        assert_int_equal(node->total[0], sums[0]);
        assert_int_equal(node->total[1], sums[1]);
    }
}

static const char two_paths[] = "main (m.py:1);a (m.py:2);b (m.py:3) 5\n"
                                "main (m.py:1);a (m.py:2) 2\n"
                                "main (m.py:1);b (m.py:3) 3\n"
                                "main (m.py:9) 1\n";

static void test_forward(void **state)
{
    (void)state;
    struct folded_input input;
    folded_text(&input, two_paths);
    struct ss_flame_tree tree;
    struct ss_flame_tree_options options = {.size = sizeof options};
    ss_flame_tree_init(&tree, &input.selection, NULL, &options);
    check_sums(&tree);
    assert_int_equal(tree.nodes.data[0].total[0], 11);
    assert_int_equal(AT(&tree, "main", "a")->total[0], 7);
    assert_int_equal(AT(&tree, "main", "a")->self[0], 2);
    assert_int_equal(AT(&tree, "main", "a", "b")->total[0], 5);
    assert_int_equal(AT(&tree, "main", "b")->self[0], 3);
    assert_int_equal(tree.depth, 3);
    ss_flame_tree_fini(&tree);

    /* Without lines both places of main are one box. */
    options.style.no_lines = true;
    ss_flame_tree_init(&tree, &input.selection, NULL, &options);
    check_sums(&tree);
    assert_int_equal(AT(&tree, "main")->total[0], 11);
    assert_int_equal(AT(&tree, "main")->self[0], 1);
    ss_flame_tree_fini(&tree);
    folded_fini(&input);
}

static void test_reverse(void **state)
{
    (void)state;
    struct folded_input input;
    folded_text(&input, two_paths);
    struct ss_flame_tree tree;
    struct ss_flame_tree_options options = {.size = sizeof options, .reverse = true};
    ss_flame_tree_init(&tree, &input.selection, NULL, &options);
    check_sums(&tree);
    assert_int_equal(tree.nodes.data[0].total[0], 11);
    assert_int_equal(AT(&tree, "b")->total[0], 8);
    assert_int_equal(AT(&tree, "b", "a", "main")->self[0], 5);
    assert_int_equal(AT(&tree, "b", "main")->self[0], 3);
    ss_flame_tree_fini(&tree);

    /* Narrow boxes are counted, not expanded. */
    options.minimum_share = 0.3;
    ss_flame_tree_init(&tree, &input.selection, NULL, &options);
    check_sums(&tree);
    assert_int_equal(AT(&tree, "a")->self[0], 2);
    assert_int_equal(AT(&tree, "b", "main")->total[0], 3);
    ss_flame_tree_fini(&tree);
    folded_fini(&input);
}

static void test_labels_of_processes_and_threads(void **state)
{
    (void)state;
    struct folded_input input;
    folded_text(&input, "process 1:\"py a\";thread (7): T;f (a.py:1) 2\n"
                        "process 1:\"py a\";process 2:\"py b\";thread (8): U;f (a.py:1) 3\n");
    struct ss_flame_tree tree;
    struct ss_flame_tree_options options = {
        .size = sizeof options, .processes = true, .threads = true};
    ss_flame_tree_init(&tree, &input.selection, NULL, &options);
    check_sums(&tree);
    assert_int_equal(AT(&tree, "process 1:\"py a\"")->total[0], 5);
    assert_int_equal(
        AT(&tree, "process 1:\"py a\"", "process 2:\"py b\"", "thread (8): U", "f")->self[0], 3);
    ss_flame_tree_fini(&tree);
    options.processes = options.threads = false;
    ss_flame_tree_init(&tree, &input.selection, NULL, &options);
    assert_int_equal(AT(&tree, "f")->total[0], 5);
    ss_flame_tree_fini(&tree);
    folded_fini(&input);
}

static void test_difference(void **state)
{
    (void)state;
    struct folded_input now, base;
    folded_text(&now, "main (m.py:1);new (m.py:2) 6\nmain (m.py:1) 2\n");
    folded_text(&base, "main (m.py:1);gone (m.py:3) 4\nmain (m.py:1) 2\n");
    struct ss_flame_tree tree;
    struct ss_flame_tree_options options = {.size = sizeof options};
    ss_flame_tree_init(&tree, &now.selection, &base.selection, &options);
    check_sums(&tree);
    const struct ss_flame_node *node = AT(&tree, "main");
    assert_int_equal(node->total[SS_FLAME_NOW], 8);
    assert_int_equal(node->total[SS_FLAME_BASE], 6);
    assert_int_equal(AT(&tree, "main", "new")->total[SS_FLAME_BASE], 0);
    assert_int_equal(AT(&tree, "main", "gone")->total[SS_FLAME_BASE], 4);
    /* A vanished box is kept by its width in the baseline. */
    struct ss_flame_layout layout;
    ss_flame_layout_init(&layout, &tree, 0.1, SS_FLAME_MAX_CELLS);
    assert_int_equal(layout.cells.count, 4);
    assert_int_equal(layout.folded, 0);
    ss_flame_layout_fini(&layout);
    ss_flame_tree_fini(&tree);
    folded_fini(&now);
    folded_fini(&base);
}

/* A chain of `depth` calls of a cycle of functions, then a leaf. */
static void deep_text(struct ss_strbuf *text, int depth, int cycle)
{
    ss_strbuf_init(text, 64 * 1024 * 1024);
    ss_strbuf_append_text(text, "main (m.py:1)");
    for (int i = 0; i < depth; i++) {
        ss_strbuf_append_format(text, ";f%d (m.py:%d)", i % cycle, 10 + i % cycle);
    }
    ss_strbuf_append_text(text, ";leaf (m.py:99) 7\n");
}

static void test_recursion_is_merged(void **state)
{
    (void)state;
    for (int cycle = 1; cycle <= 8; cycle++) {
        struct ss_strbuf text;
        deep_text(&text, 4096 / cycle * cycle, cycle);
        struct folded_input input;
        folded_text(&input, text.data);
        struct ss_flame_tree tree;
        struct ss_flame_tree_options options = {.size = sizeof options, .merge_recursion = true};
        ss_flame_tree_init(&tree, &input.selection, NULL, &options);
        check_sums(&tree);
        assert_true(tree.recursion_merged);
        assert_int_equal(tree.depth, 1 + cycle + 1);
        assert_int_equal(tree.nodes.data[0].total[0], 7);
        ss_flame_tree_fini(&tree);
        folded_fini(&input);
        ss_strbuf_fini(&text);
    }
}

static void test_too_deep_is_folded(void **state)
{
    (void)state;
    struct ss_strbuf text;
    deep_text(&text, 4096, 4096);
    struct folded_input input;
    folded_text(&input, text.data);
    struct ss_flame_tree tree;
    struct ss_flame_tree_options options = {.size = sizeof options};
    ss_flame_tree_init(&tree, &input.selection, NULL, &options);
    assert_int_equal(tree.depth, 4098);
    struct ss_flame_layout layout;
    ss_flame_layout_init(&layout, &tree, 0.001, SS_FLAME_MAX_CELLS);
    assert_int_equal(layout.rows, SS_FLAME_MAX_ROWS + 1);
    const struct ss_flame_cell *last = &layout.cells.data[layout.cells.count - 1];
    assert_int_equal(last->folded, 4098 - SS_FLAME_MAX_ROWS + 1);
    assert_int_equal(layout.cut, last->folded);
    assert_int_equal(last->total[0], 7);
    ss_flame_layout_fini(&layout);
    ss_flame_tree_fini(&tree);
    folded_fini(&input);
    ss_strbuf_fini(&text);
}

/* Boxes never overlap, lie within their parents, and nothing is lost to folding. */
static void check_layout(const struct ss_flame_layout *layout, const struct ss_flame_tree *tree)
{
    double right[SS_FLAME_MAX_ROWS + 2] = {0};
    const struct ss_flame_cell *parents[SS_FLAME_MAX_ROWS + 2] = {NULL};
    uint64_t frames = 0;
    for (size_t i = 0; i < layout->cells.count; i++) {
        const struct ss_flame_cell *cell = &layout->cells.data[i];
        double end = cell->left[0] + (double)cell->total[0];
        assert_true(cell->left[0] >= right[cell->depth] - 1e-6);
        right[cell->depth] = end;
        if (cell->depth > 0) {
            const struct ss_flame_cell *parent = parents[cell->depth - 1];
            assert_true(cell->left[0] >= parent->left[0] - 1e-6);
            assert_true(end <= parent->left[0] + (double)parent->total[0] + 1e-6);
        }
        if (cell->folded == 0) {
            parents[cell->depth] = cell;
            frames++;
        }
    }
    assert_int_equal(frames + layout->folded, tree->nodes.count);
}

static void test_budget(void **state)
{
    (void)state;
    struct ss_strbuf text;
    ss_strbuf_init(&text, 64 * 1024 * 1024);
    uint64_t random = 1;
    for (int i = 0; i < 30000; i++) {
        ss_strbuf_append_text(&text, "main (m.py:1)");
        random = ss_hash_u64(random + 1);
        for (int k = 0; k < 5; k++) {
            unsigned pick = (unsigned)(random >> (8 * k)) % (k < 2 ? 5 : 90);
            ss_strbuf_append_format(&text, ";f%u (m.py:%u)", pick, pick + 1);
        }
        ss_strbuf_append_text(&text, " 3\n");
    }
    struct folded_input input;
    folded_text(&input, text.data);
    struct ss_flame_tree tree;
    struct ss_flame_tree_options options = {.size = sizeof options};
    ss_flame_tree_init(&tree, &input.selection, NULL, &options);
    check_sums(&tree);
    assert_true(tree.nodes.count > 30000);
    const uint32_t budgets[] = {20, 1000, SS_FLAME_MAX_CELLS};
    for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++) {
        struct ss_flame_layout layout;
        ss_flame_layout_init(&layout, &tree, 1e-9, budgets[i]);
        assert_in_range(layout.cells.count, 1, budgets[i]);
        assert_true(layout.minimum_share > 1e-9);
        check_layout(&layout, &tree);
        ss_flame_layout_fini(&layout);
    }
    /* The asked minimum holds when it is above what the budget needs. */
    struct ss_flame_layout layout;
    ss_flame_layout_init(&layout, &tree, 0.01, SS_FLAME_MAX_CELLS);
    assert_true(layout.minimum_share == 0.01);
    check_layout(&layout, &tree);
    ss_flame_layout_fini(&layout);
    ss_flame_tree_fini(&tree);
    folded_fini(&input);
    ss_strbuf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward),
        cmocka_unit_test(test_reverse),
        cmocka_unit_test(test_labels_of_processes_and_threads),
        cmocka_unit_test(test_difference),
        cmocka_unit_test(test_recursion_is_merged),
        cmocka_unit_test(test_too_deep_is_folded),
        cmocka_unit_test(test_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
