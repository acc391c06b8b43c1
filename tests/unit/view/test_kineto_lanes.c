/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../random.h"
#include "view/export/kineto_inside.h"

static void add(ss_kineto_items *items, enum ss_kineto_kind kind, uint64_t begin_ns,
                uint64_t end_ns)
{
    struct ss_kineto_item item = {.begin_ns = begin_ns,
                                  .end_ns = end_ns,
                                  .range = (uint32_t)items->count,
                                  .kind = (uint8_t)kind};
    ss_vec_push(items, item);
}

/* The lane of the item that was added as number `range`. */
static int lane_of(const ss_kineto_items *items, uint32_t range)
{
    for (size_t i = 0; i < items->count; i++) {
        if (items->data[i].range == range) {
            return items->data[i].lane;
        }
    }
    return -1;
}

static void test_nested_ranges_share_a_lane(void **state)
{
    (void)state;
    ss_kineto_items items = {0};
    add(&items, SS_KINETO_OPERATOR, 20, 30);
    add(&items, SS_KINETO_PYTHON, 10, 50);
    add(&items, SS_KINETO_OPERATOR, 30, 50);
    add(&items, SS_KINETO_OPERATOR, 50, 50);
    ss_kineto_place_items(&items);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(lane_of(&items, i), 0);
    }
    assert_int_equal(items.data[0].range, 1);
    ss_vec_fini(&items);
}

static void test_calls_of_python_give_way(void **state)
{
    (void)state;
    ss_kineto_items items = {0};
    add(&items, SS_KINETO_PYTHON, 10, 50);
    add(&items, SS_KINETO_PYTHON, 12, 45);
    add(&items, SS_KINETO_OPERATOR, 40, 60); /* crosses both */
    add(&items, SS_KINETO_STEP, 55, 90);     /* crosses the operator */
    ss_kineto_place_items(&items);
    assert_int_equal(lane_of(&items, 0), 2);
    assert_int_equal(lane_of(&items, 1), 2);
    assert_int_equal(lane_of(&items, 2), 1);
    assert_int_equal(lane_of(&items, 3), 0);
    ss_vec_fini(&items);
}

static void test_work_lies_beside_work(void **state)
{
    (void)state;
    ss_kineto_items items = {0};
    add(&items, SS_KINETO_DEVICE_ANNOTATION, 9, 60);
    add(&items, SS_KINETO_KERNEL, 10, 10); /* before the next: it takes no time */
    add(&items, SS_KINETO_KERNEL, 10, 30);
    add(&items, SS_KINETO_COPY, 12, 20); /* within the kernel */
    add(&items, SS_KINETO_KERNEL, 30, 60);
    ss_kineto_place_items(&items);
    const int lanes[] = {0, 0, 0, 1, 0};
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(lane_of(&items, i), lanes[i]);
    }
    ss_vec_fini(&items);
}

/* Ranges of a lane nest, whatever they are, and keep their times below 64 lanes. */
static void check_lanes(const ss_kineto_items *items)
{
    for (uint16_t lane = 0; lane < 64; lane++) {
        struct ss_vec_of(const struct ss_kineto_item *) open = {0};
        for (size_t i = 0; i < items->count; i++) {
            const struct ss_kineto_item *item = &items->data[i];
            if (item->lane != lane) {
                continue;
            }
            while (open.count > 0 && open.data[open.count - 1]->end_ns <= item->begin_ns) {
                open.count--;
            }
            if (open.count > 0) {
                const struct ss_kineto_item *outer = open.data[open.count - 1];
                bool beside = ss_kineto_is_work((enum ss_kineto_kind)outer->kind) &&
                              ss_kineto_is_work((enum ss_kineto_kind)item->kind);
                assert_true(item->end_ns <= outer->end_ns);
                assert_true(lane == 63 || !beside);
            }
            ss_vec_push(&open, item);
        }
        ss_vec_fini(&open);
    }
}

static void test_any_ranges(void **state)
{
    (void)state;
    for (int round = 0; round < 60; round++) {
        ss_kineto_items items = {0};
        uint64_t longest = round % 3 == 0 ? 500 : 20;
        for (int i = 0; i < 300; i++) {
            uint64_t begin_ns = next_random() % 1000;
            enum ss_kineto_kind kind =
                (enum ss_kineto_kind)(next_random() % (SS_KINETO_DEVICE_SYNC + 1));
            add(&items, kind, begin_ns, begin_ns + next_random() % longest);
        }
        ss_kineto_place_items(&items);
        check_lanes(&items);
        ss_vec_fini(&items);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nested_ranges_share_a_lane),
        cmocka_unit_test(test_calls_of_python_give_way),
        cmocka_unit_test(test_work_lies_beside_work),
        cmocka_unit_test(test_any_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
