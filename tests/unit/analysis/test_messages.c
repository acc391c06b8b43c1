/* SPDX-License-Identifier: Apache-2.0 */
/* Sends and the receives that belong to them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../rank_builder.h"
#include "analysis/pipeline/messages.h"
#include "analysis/ranks/collective_table.h"

struct made {
    struct ss_model model;
    struct ss_selection selection;
    uint32_t tracks[3]; /* by rank */
};

struct half {
    unsigned rank;
    const char *name;
    int64_t peer, tag, sequence;
    uint64_t begin_ns, end_ns;
};

static void add(struct made *made, struct half half)
{
    struct ss_model *model = &made->model;
    uint32_t first = (uint32_t)model->fields.count;
    const struct {
        uint32_t field;
        int64_t value;
    } fields[] = {{SS_EVENT_FIELD_sequence, half.sequence},
                  {SS_EVENT_FIELD_tag, half.tag},
                  {SS_EVENT_FIELD_peer, half.peer}};
    for (size_t i = half.sequence < 0; i < sizeof fields / sizeof *fields; i++) {
        ss_vec_push(&model->fields, (struct ss_model_field){.field = (uint16_t)fields[i].field,
                                                            .type = SS_VALUE_INT,
                                                            .integer = fields[i].value});
    }
    ss_vec_push_zero(&model->fields);
    ss_vec_push(&model->payloads, (struct ss_model_payload){
                                      .type = SS_VALUE_INT, .integer = 4096, .first_field = first});
    model->names.data[build_name(model, half.name, NULL)].type = SS_EVENT_TYPE_collective;
    BUILD_RANGE(model, .track = made->tracks[half.rank], .name = half.name,
                .begin_ns = half.begin_ns, .end_ns = half.end_ns,
                .payload = (uint32_t)model->payloads.count - 1);
}

static void begin(struct made *made)
{
    *made = (struct made){0};
    ss_model_init(&made->model);
    for (unsigned rank = 0; rank < 3; rank++) {
        made->tracks[rank] =
            build_collective_track(&made->model, build_rank(&made->model, rank, 3));
    }
}

static void find(struct made *made, struct ss_messages *messages)
{
    build_sort_ranges(&made->model);
    struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    struct ss_range_runs runs;
    assert_int_equal(ss_selection_init(&made->selection, &made->model, &all, NULL), SS_OK);
    ss_range_runs_init(&runs, &made->model);
    ss_messages_init(messages, &made->selection, &runs);
    ss_range_runs_fini(&runs);
}

static void end(struct made *made, struct ss_messages *messages)
{
    ss_messages_fini(messages);
    ss_selection_fini(&made->selection);
    ss_model_fini(&made->model);
}

/* Both ways, with two tags, and a receive that was not recorded. */
static void make(struct made *made)
{
    begin(made);
    add(made, (struct half){0, "gloo:send", 1, 0, 0, 100, 110});
    add(made, (struct half){0, "gloo:send", 1, 0, 1, 200, 210});
    add(made, (struct half){0, "gloo:send", 1, 7, 0, 300, 310});
    add(made, (struct half){0, "gloo:recv", 1, 0, 0, 320, 410});
    add(made, (struct half){0, "gloo:send", 2, 0, 0, 500, 510});
    add(made, (struct half){1, "gloo:recv", 0, 0, 0, 50, 120});
    add(made, (struct half){1, "gloo:recv", 0, 0, 1, 230, 240});
    add(made, (struct half){1, "gloo:recv", 0, 7, 0, 290, 330});
    add(made, (struct half){1, "gloo:send", 0, 0, 0, 400, 405});
    add(made, (struct half){1, "gloo:recv", 0, 0, -1, 600, 610});
}

static void test_a_send_has_its_receive(void **state)
{
    (void)state;
    struct made made;
    struct ss_messages messages;
    make(&made);
    find(&made, &messages);
    assert_int_equal(messages.rows.count, 4);
    assert_int_equal(messages.unmatched, 1);
    const struct ss_message *rows = messages.rows.data;
    const struct {
        int64_t from, to, tag, sequence;
        uint64_t first_ns, last_ns, receive_ns;
    } expected[] = {{0, 1, 0, 0, 50, 100, 120},
                    {0, 1, 0, 1, 200, 230, 240},
                    {0, 1, 7, 0, 290, 300, 330},
                    {1, 0, 0, 0, 320, 400, 410}};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(rows[i].from, expected[i].from);
        assert_int_equal(rows[i].to, expected[i].to);
        assert_int_equal(rows[i].tag, expected[i].tag);
        assert_int_equal(rows[i].sequence, expected[i].sequence);
        assert_int_equal(rows[i].first_ns, expected[i].first_ns);
        assert_int_equal(rows[i].last_ns, expected[i].last_ns);
        assert_int_equal(rows[i].receive_ns, expected[i].receive_ns);
    }
    end(&made, &messages);
}

static void test_messages_are_among_the_collectives(void **state)
{
    (void)state;
    struct made made;
    struct ss_messages messages;
    static const struct ss_step_summary no_steps;
    struct ss_table table;
    make(&made);
    for (unsigned rank = 0; rank < 3; rank++) {
        BUILD_COLLECTIVE(&made.model, .track = made.tracks[rank], .group = "0", .size = 3,
                         .sequence = 0, .begin_ns = 700 + rank, .end_ns = 800, .bytes = 4);
    }
    find(&made, &messages);
    ss_collective_table(&made.selection, &no_steps, 0, &table);
    assert_int_equal(table.row_count, 5);
    assert_int_equal(ss_table_cell(&table, 3, SS_COLLECTIVE_FROM)->integer, 1);
    assert_int_equal(ss_table_cell(&table, 3, SS_COLLECTIVE_TO)->integer, 0);
    assert_int_equal(ss_table_cell(&table, 3, SS_COLLECTIVE_BYTES)->integer, 4096);
    assert_int_equal(ss_table_cell(&table, 3, SS_COLLECTIVE_TRANSFER)->integer, 10);
    assert_int_equal(ss_table_cell(&table, 3, SS_COLLECTIVE_NUMBER)->type, SS_CELL_ABSENT);
    assert_int_equal(ss_table_cell(&table, 4, SS_COLLECTIVE_NUMBER)->integer, 0);
    assert_int_equal(ss_table_cell(&table, 4, SS_COLLECTIVE_FROM)->type, SS_CELL_ABSENT);
    ss_table_fini(&table);
    ss_collective_table(&made.selection, &no_steps, 2, &table);
    assert_int_equal(table.row_count, 2);
    assert_int_equal(table.hidden_rows, 3);
    ss_table_fini(&table);
    end(&made, &messages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_send_has_its_receive),
        cmocka_unit_test(test_messages_are_among_the_collectives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
