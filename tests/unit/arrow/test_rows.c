/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of models as columns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../arrow_consumer.h"
#include "../model_builder.h"
#include "arrow/exported.h"
#include "arrow/rows.h"

/* --- reading columns -------------------------------------------------------------------------- */

static const struct ss_arrow_column *column(const struct ss_columns *columns, const char *key)
{
    for (size_t c = 0; c < columns->column_count; c++) {
        if (strcmp(columns->columns[c].key, key) == 0) {
            return &columns->columns[c];
        }
    }
    fail_msg("no column %s of %s", key, columns->name);
    return NULL;
}

static bool has(const struct ss_columns *columns, const char *key, size_t row)
{
    return ss_column_has(column(columns, key), row);
}

static int64_t integer(const struct ss_columns *columns, const char *key, size_t row)
{
    const struct ss_arrow_column *one = column(columns, key);
    assert_true(ss_column_has(one, row));
    return one->type == SS_COLUMN_INT32 ? ((const int32_t *)one->values)[row]
                                        : ((const int64_t *)one->values)[row];
}

static double real(const struct ss_columns *columns, const char *key, size_t row)
{
    assert_true(has(columns, key, row));
    return ((const double *)column(columns, key)->values)[row];
}

static bool flag(const struct ss_columns *columns, const char *key, size_t row)
{
    assert_true(has(columns, key, row));
    return (((const uint8_t *)column(columns, key)->values)[row / 8] >> (row % 8) & 1) != 0;
}

static void assert_text(const struct ss_columns *columns, const char *key, size_t row,
                        const char *text)
{
    assert_true(has(columns, key, row));
    struct ss_strview found = ss_column_text(column(columns, key), row);
    if (!ss_strview_equal(found, ss_strview_of(text))) {
        fail_msg("%s of row %zu is %.*s, not %s", key, row, (int)found.length, found.data, text);
    }
}

static void assert_exports(struct ss_columns *columns)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    ss_arrow_export_schema(columns, &schema);
    ss_arrow_export_array(columns, &array);
    const char *wrong = consumer_check(&schema, &array);
    if (wrong != NULL) {
        fail_msg("%s: broken: %s", columns->name, wrong);
    }
    schema.release(&schema);
    array.release(&array);
}

static struct ss_columns *rows_of(const struct ss_selection *selection, const char *id)
{
    const struct ss_row_kind *kind = ss_row_kind_find(id);
    assert_non_null(kind);
    struct ss_columns *columns = kind->build(selection);
    assert_string_equal(columns->name, id);
    assert_exports(columns);
    return columns;
}

/* --- a model of two processes ----------------------------------------------------------------- */

struct made {
    struct ss_model model;
    struct ss_selection selection;
};

static void select_all(struct made *made, const char *process)
{
    struct ss_selection_options options = {
        .size = sizeof options, .idle = SS_IDLE_ALL, .process = process};
    assert_int_equal(ss_selection_init(&made->selection, &made->model, &options, NULL), SS_OK);
}

static void add_events(struct ss_model *model, uint32_t process, uint32_t thread)
{
    uint32_t own = BUILD_TRACK(model, .kind = SS_TRACK_RANGES, .process = process, .thread = thread,
                               .name = "torch");
    uint32_t steps = BUILD_TRACK(model, .kind = SS_TRACK_STEPS, .process = process, .name = "step");
    uint32_t counter = BUILD_TRACK(model, .kind = SS_TRACK_COUNTER, .process = process,
                                   .group = "memory", .name = "rss", .unit = "bytes");
    uint32_t outer = BUILD_RANGE(model, .track = own, .name = "outer", .category = "loop",
                                 .begin_ns = 100, .end_ns = 900);
    BUILD_RANGE(model, .track = own, .name = "inner", .around = outer, .begin_ns = 200,
                .end_ns = 300, .payload = build_words(model, "text"), .flags = SS_RANGE_END_UNSEEN);
    BUILD_RANGE(model, .track = own, .name = "before", .begin_ns = 0, .end_ns = 1,
                .flags = SS_RANGE_OUTSIDE);
    BUILD_RANGE(model, .track = steps, .name = "step", .begin_ns = 50, .end_ns = 950,
                .payload = build_integer(model, 7));
    BUILD_MARK(model, .track = own, .name = "saved", .time_ns = 500,
               .payload = build_integer(model, -3));
    build_level(model, counter, 1000, 2.5);
    build_count(model, counter, 2000, INT64_MAX);
    ss_vec_push(&model->flows, (struct ss_model_flow){
                                   .id = UINT64_MAX, .time_ns = 10, .track = own, .is_end = true});
}

static void make(struct made *made, const char *process)
{
    struct ss_model *model = &made->model;
    ss_model_init(model);
    ss_model_new_input(model, SS_INPUT_TRACE, "made.pftrace");
    uint32_t trains = BUILD_PROCESS(model, .pid = 42, .name = "train");
    uint32_t loads = BUILD_PROCESS(model, .pid = 43, .parent = trains, .name = "load");
    uint32_t main =
        BUILD_THREAD(model, .process = trains, .tid = 42, .is_main = true, .name = "MainThread");
    uint32_t worker = BUILD_THREAD(model, .process = loads, .tid = 43, .is_main = true);
    add_events(model, trains, main);
    uint32_t stack = BUILD_CALL(model, 0, .function = "main", .file = "train.py", .line = 3);
    stack = BUILD_CALL(model, stack, .function = "step", .file = "train.py", .line = 9);
    ss_vec_push(&model->samples, (struct ss_model_sample){.time_ns = 77,
                                                          .thread = main,
                                                          .stack = stack,
                                                          .weight = 4,
                                                          .state = SS_STATE_SLEEPING,
                                                          .gil = SS_GIL_WAITED,
                                                          .partial = true});
    ss_vec_push(&model->samples,
                (struct ss_model_sample){.time_ns = 78, .thread = worker, .weight = 1});
    select_all(made, process);
}

static void made_fini(struct made *made)
{
    ss_selection_fini(&made->selection);
    ss_model_fini(&made->model);
}

static void ranges_have_their_owner_path_and_payload(void **state)
{
    (void)state;
    struct made made;
    make(&made, NULL);
    struct ss_columns *ranges = rows_of(&made.selection, "ranges");
    assert_int_equal(ranges->row_count, 3); /* the one outside of the time is none */
    assert_text(ranges, "name", 0, "outer");
    assert_text(ranges, "category", 0, "loop");
    assert_text(ranges, "kind", 0, "range");
    assert_text(ranges, "domain", 0, "torch");
    assert_int_equal(integer(ranges, "duration_ns", 0), 800);
    assert_int_equal(integer(ranges, "pid", 0), 42);
    assert_int_equal(integer(ranges, "process_id", 0), 1);
    assert_text(ranges, "process", 0, "train");
    assert_text(ranges, "thread", 0, "MainThread");
    assert_false(flag(ranges, "cut", 0));
    assert_false(has(ranges, "value", 0));
    assert_text(ranges, "path", 1, "outer;inner");
    assert_int_equal(integer(ranges, "depth", 1), 2);
    assert_text(ranges, "value_text", 1, "text");
    assert_true(flag(ranges, "cut", 1));
    assert_text(ranges, "kind", 2, "step");
    assert_int_equal(integer(ranges, "step", 2), 7);
    assert_int_equal(integer(ranges, "value_integer", 2), 7);
    assert_false(has(ranges, "domain", 2));
    assert_false(has(ranges, "thread_id", 2));
    assert_false(has(ranges, "step", 0));
    ss_columns_release(ranges);
    made_fini(&made);
}

static void marks_counters_and_flows_have_their_times(void **state)
{
    (void)state;
    struct made made;
    make(&made, NULL);
    struct ss_columns *marks = rows_of(&made.selection, "marks");
    assert_int_equal(marks->row_count, 1);
    assert_int_equal(integer(marks, "time_ns", 0), 500);
    assert_text(marks, "kind", 0, "instant");
    assert_true(real(marks, "value", 0) == -3.0);
    struct ss_columns *counters = rows_of(&made.selection, "counters");
    assert_int_equal(counters->row_count, 2);
    assert_text(counters, "name", 0, "rss");
    assert_text(counters, "group", 0, "memory");
    assert_text(counters, "unit", 0, "bytes");
    assert_true(real(counters, "value", 0) == 2.5);
    assert_false(has(counters, "value_integer", 0));
    assert_int_equal(integer(counters, "value_integer", 1), INT64_MAX);
    struct ss_columns *flows = rows_of(&made.selection, "flows");
    assert_int_equal(integer(flows, "flow", 0), -1); /* its 64 bits */
    assert_true(flag(flows, "is_end", 0));
    ss_columns_release(marks);
    ss_columns_release(counters);
    ss_columns_release(flows);
    made_fini(&made);
}

static void samples_refer_to_stacks(void **state)
{
    (void)state;
    struct made made;
    make(&made, NULL);
    struct ss_columns *samples = rows_of(&made.selection, "samples");
    struct ss_columns *stacks = rows_of(&made.selection, "stacks");
    assert_int_equal(samples->row_count, 2);
    assert_int_equal(integer(samples, "weight", 0), 4);
    assert_text(samples, "state", 0, "sleeping");
    assert_text(samples, "gil", 0, "waited");
    assert_true(flag(samples, "partial", 0));
    assert_text(samples, "function", 0, "step");
    assert_int_equal(integer(samples, "line", 0), 9);
    assert_int_equal(integer(samples, "stack_id", 0), integer(stacks, "stack_id", 1));
    assert_int_equal(integer(stacks, "parent_id", 1), integer(stacks, "stack_id", 0));
    assert_false(has(stacks, "parent_id", 0));
    assert_false(has(samples, "stack_id", 1)); /* no frames known */
    assert_false(has(samples, "state", 1));
    ss_columns_release(samples);
    ss_columns_release(stacks);
    made_fini(&made);
}

static void a_selection_leaves_out_other_processes(void **state)
{
    (void)state;
    static const char *const all[] = {"ranges", "marks", "counters", "flows", "tracks"};
    struct made made;
    make(&made, "43");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct ss_columns *none = rows_of(&made.selection, all[i]);
        assert_int_equal(none->row_count, 0);
        ss_columns_release(none);
    }
    struct ss_columns *processes = rows_of(&made.selection, "processes");
    assert_int_equal(processes->row_count, 1);
    assert_int_equal(integer(processes, "process_id", 0), 2); /* the id of all tables */
    assert_int_equal(integer(processes, "parent_id", 0), 1);
    struct ss_columns *samples = rows_of(&made.selection, "samples");
    assert_int_equal(samples->row_count, 1);
    assert_int_equal(integer(samples, "tid", 0), 43);
    ss_columns_release(processes);
    ss_columns_release(samples);
    made_fini(&made);
}

static void a_field_of_another_type_than_its_own_is_absent(void **state)
{
    (void)state;
    struct made made;
    make(&made, NULL);
    struct ss_model *model = &made.model;
    uint32_t first = (uint32_t)model->fields.count;
    ss_vec_push(&model->fields, (struct ss_model_field){.field = SS_EVENT_FIELD_datatype,
                                                        .type = SS_VALUE_INT,
                                                        .integer = 1});
    ss_vec_push(&model->fields, (struct ss_model_field){.field = SS_EVENT_FIELD_bytes,
                                                        .type = SS_VALUE_INT,
                                                        .integer = 64});
    ss_vec_push(&model->fields, (struct ss_model_field){.field = SS_EVENT_FIELD_bytes,
                                                        .type = SS_VALUE_INT,
                                                        .integer = 65});
    ss_vec_push(&model->fields, (struct ss_model_field){0});
    model->payloads.data[model->ranges.data[3].payload].first_field = first;
    struct ss_columns *ranges = rows_of(&made.selection, "ranges");
    assert_false(has(ranges, "datatype", 2));
    assert_int_equal(integer(ranges, "bytes", 2), 65);
    assert_string_equal(column(ranges, "bytes")->unit, "bytes");
    ss_columns_release(ranges);
    made_fini(&made);
}

/* --- files ------------------------------------------------------------------------------------ */

static void load(struct made *made, const char *name, const char *id)
{
    char path[1024];
    struct ss_model_load load = {.size = sizeof load, .quiet = true};
    struct ss_error err;
    snprintf(path, sizeof path, "%s/tests/golden/%s", SS_TEST_SOURCE_DIR, name);
    ss_row_kind_load(ss_row_kind_find(id), &load);
    ss_model_init(&made->model);
    if (ss_model_add_input(&made->model, path, &load, &err) != SS_OK) {
        fail_msg("%s", err.message);
    }
    select_all(made, NULL);
}

static void entities_and_typed_fields_come_from_a_file(void **state)
{
    (void)state;
    struct made made;
    load(&made, "good/entities.pftrace", "ranges");
    struct ss_columns *ranges = rows_of(&made.selection, "ranges");
    assert_text(ranges, "kind", 1, "kernel");
    assert_int_equal(integer(ranges, "grid_x", 1), 2);
    assert_int_equal(integer(ranges, "bytes", 1), -2);
    assert_int_equal(integer(ranges, "correlation", 1), -3); /* 2^64 - 3 */
    assert_true(real(ranges, "occupancy", 1) == 62.5);
    assert_text(ranges, "datatype", 1, "bfloat16");
    assert_int_equal(integer(ranges, "group_id", 3), 2);
    assert_int_equal(integer(ranges, "stream_id", 3), 2);
    assert_false(has(ranges, "group_id", 1));
    struct ss_columns *streams = rows_of(&made.selection, "streams");
    assert_text(streams, "name", 1, "copies");
    assert_int_equal(integer(streams, "device_id", 1), 1);
    struct ss_columns *groups = rows_of(&made.selection, "groups");
    assert_text(groups, "kind", 0, "NCCL");
    assert_text(groups, "ranks", 0, "0-63");
    struct ss_columns *processes = rows_of(&made.selection, "processes");
    assert_text(processes, "role", 0, "trains");
    assert_int_equal(integer(processes, "local_rank", 0), 3);
    assert_int_equal(integer(processes, "world_size", 0), 64);
    struct ss_columns *hosts = rows_of(&made.selection, "hosts");
    assert_text(hosts, "boot_id", 0, "5c1f-boot");
    ss_columns_release(ranges);
    ss_columns_release(streams);
    ss_columns_release(groups);
    ss_columns_release(processes);
    ss_columns_release(hosts);
    made_fini(&made);
}

static void every_kind_is_exported_from_every_file(void **state)
{
    (void)state;
    static const char *const files[] = {"good/entities.pftrace", "good/tracks.pftrace",
                                        "good/small.pftrace",    "0.1.0/training.pftrace",
                                        "broken/cut.pftrace",    "broken/flipped.pftrace"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        for (const struct ss_row_kind *kind = ss_row_kinds; kind->id != NULL; kind++) {
            struct made made;
            load(&made, files[i], kind->id);
            ss_columns_release(rows_of(&made.selection, kind->id));
            made_fini(&made);
        }
    }
}

static void samples_of_raw_files_have_no_times(void **state)
{
    (void)state;
    static const char raw[] = "main (a.py:1);work (a.py:2) 5\nmain (a.py:1) 2\n";
    struct made made;
    struct ss_model_load load = {.size = sizeof load, .quiet = true};
    ss_model_init(&made.model);
    assert_int_equal(
        ss_model_add_raw_memory(&made.model, "raw.txt", raw, sizeof raw - 1, &load, NULL), SS_OK);
    select_all(&made, NULL);
    struct ss_columns *samples = rows_of(&made.selection, "samples");
    assert_int_equal(samples->row_count, 2);
    assert_false(has(samples, "time_ns", 0));
    assert_false(has(samples, "pid", 0));
    assert_int_equal(integer(samples, "weight", 0), 5);
    assert_text(samples, "function", 0, "work");
    struct ss_columns *inputs = rows_of(&made.selection, "inputs");
    assert_text(inputs, "kind", 0, "raw");
    assert_int_equal(integer(inputs, "lines", 0), 2);
    ss_columns_release(samples);
    ss_columns_release(inputs);
    made_fini(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_have_their_owner_path_and_payload),
        cmocka_unit_test(marks_counters_and_flows_have_their_times),
        cmocka_unit_test(samples_refer_to_stacks),
        cmocka_unit_test(a_selection_leaves_out_other_processes),
        cmocka_unit_test(a_field_of_another_type_than_its_own_is_absent),
        cmocka_unit_test(entities_and_typed_fields_come_from_a_file),
        cmocka_unit_test(every_kind_is_exported_from_every_file),
        cmocka_unit_test(samples_of_raw_files_have_no_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
