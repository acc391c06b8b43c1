/* SPDX-License-Identifier: Apache-2.0 */
/* Files of Chrome's trace format: ranges, async ranges, flows, counters and names of the model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/files/importer.h"

#define AT(tid, ts) "\"pid\":1,\"tid\":" #tid ",\"ts\":" #ts

static struct ss_model model;
static struct ss_error err;

static enum ss_status load_text(const char *text)
{
    struct ss_import_file file = {
        .path = "t.json", .head = text, .head_length = strlen(text), .fd = -1};
    struct ss_model_load load = {.size = sizeof load, .quiet = true, .keep_samples = true};
    err = (struct ss_error){0};
    ss_model_fini(&model);
    ss_model_init(&model);
    return ss_importer_chrome.load(&model, &file, &load, &err);
}

static const char *name_of(const struct ss_model_range *range)
{
    uint32_t name = model.paths.data[range->path].name;
    return ss_model_text(&model, model.names.data[name].text);
}

/* The only range of this name. */
static const struct ss_model_range *range_of(const char *name)
{
    const struct ss_model_range *found = NULL;
    for (size_t i = 0; i < model.ranges.count; i++) {
        if (strcmp(name_of(&model.ranges.data[i]), name) == 0) {
            assert_null(found);
            found = &model.ranges.data[i];
        }
    }
    assert_non_null(found);
    return found;
}

static uint64_t us_of(const char *name)
{
    const struct ss_model_range *range = range_of(name);
    return (range->end_ns - range->begin_ns) / 1000;
}

static const struct ss_model_track *track_of(const char *name)
{
    return &model.tracks.data[range_of(name)->track];
}

/* --- ranges of threads ------------------------------------------------------------------------ */

static void complete_ranges_nest(void **state)
{
    (void)state;
    assert_int_equal(
        load_text("[{\"ph\":\"X\",\"name\":\"inner\"," AT(
            5, 20.5) ",\"dur\":2},"
                     "{\"ph\":\"X\",\"name\":\"outer\"," AT(5, 10) ",\"dur\":\"30\"}]"),
        SS_OK);
    assert_int_equal(us_of("outer"), 30);
    assert_int_equal(range_of("inner")->begin_ns - range_of("outer")->begin_ns, 10500);
    assert_int_equal(model.paths.data[range_of("inner")->path].parent, range_of("outer")->path);
    assert_int_equal(model.threads.data[track_of("outer")->thread].tid, 5);
    assert_int_equal(model.processes.data[track_of("outer")->process].pid, 1);
}

static void begin_and_end_are_one_range(void **state)
{
    (void)state;
    assert_int_equal(
        load_text("[{\"ph\":\"B\",\"name\":\"outer\"," AT(
            5, 0) "},"
                  "{\"ph\":\"B\",\"name\":\"inner\"," AT(
                      5, 20) "},"
                             "{\"ph\":\"E\"," AT(5, 50) "},{\"ph\":\"E\"," AT(5, 100) "}]"),
        SS_OK);
    assert_int_equal(us_of("outer"), 100);
    assert_int_equal(us_of("inner"), 30);
    assert_int_equal(model.open_ranges + model.unmatched_ends, 0);
}

/* An operator's begin lies on the track of operators; its end names nothing. */
static void an_end_without_a_category_ends_the_last_begin(void **state)
{
    (void)state;
    assert_int_equal(load_text("[{\"ph\":\"B\",\"name\":\"aten::mm\",\"cat\":\"cpu_op\"," AT(
                         5, 10) "},"
                                "{\"ph\":\"E\"," AT(5, 14) "}]"),
                     SS_OK);
    assert_int_equal(us_of("aten::mm"), 4);
    assert_int_equal(range_of("aten::mm")->flags, 0);
    assert_int_equal(model.unmatched_ends, 0);
}

static void an_end_of_another_name_ends_nothing(void **state)
{
    (void)state;
    assert_int_equal(
        load_text("[{\"ph\":\"B\",\"name\":\"outer\"," AT(
            5, 0) "},"
                  "{\"ph\":\"B\",\"name\":\"inner\"," AT(
                      5, 20) "},"
                             "{\"ph\":\"E\",\"name\":\"other\"," AT(
                                 5, 60) "},"
                                        "{\"ph\":\"E\",\"name\":\"inner\"," AT(
                                            5, 100) "},"
                                                    "{\"ph\":\"E\",\"name\":\"outer\"," AT(
                                                        5, 100) "}]"),
        SS_OK);
    assert_int_equal(us_of("outer"), 100);
    assert_int_equal(us_of("inner"), 80);
    assert_int_equal(model.unmatched_ends, 1);
}

static void the_end_of_an_outer_range_ends_what_is_within(void **state)
{
    (void)state;
    assert_int_equal(load_text("[{\"ph\":\"B\",\"name\":\"outer\"," AT(
                         5, 0) "},"
                               "{\"ph\":\"B\",\"name\":\"inner\"," AT(
                                   5, 20) "},"
                                          "{\"ph\":\"E\",\"name\":\"outer\"," AT(5, 90) "}]"),
                     SS_OK);
    assert_int_equal(us_of("outer"), 90);
    assert_int_equal(us_of("inner"), 70);
    assert_int_equal(range_of("outer")->flags, 0);
    assert_int_equal(range_of("inner")->flags, SS_RANGE_END_UNSEEN);
    assert_int_equal(model.open_ranges, 1);
}

static void a_begin_without_an_end_lasts_until_the_end(void **state)
{
    (void)state;
    assert_int_equal(load_text("[{\"ph\":\"B\",\"name\":\"open\"," AT(
                         5, 10) "},"
                                "{\"ph\":\"X\",\"name\":\"last\"," AT(6, 50) ",\"dur\":20}]"),
                     SS_OK);
    assert_int_equal(us_of("open"), 60);
    assert_int_equal(range_of("open")->flags, SS_RANGE_END_UNSEEN);
}

/* --- async ranges ----------------------------------------------------------------------------- */

#define ASYNC(ph, id, ts)                                                                          \
    "{\"ph\":\"" ph "\",\"cat\":\"request\",\"id\":" id ",\"name\":\"" ph id "\"," AT(1, ts) "}"

/* Two requests at one time lie on two lanes; the third takes the lane that is free again. */
static void async_ranges_have_a_lane_while_they_are_open(void **state)
{
    (void)state;
    assert_int_equal(
        load_text("[" ASYNC(
            "b", "1",
            100) ",{\"ph\":\"b\",\"cat\":\"request\",\"id\":\"two\","
                 "\"name\":\"second\",\"pid\":1,\"ts\":110},"
                 "{\"ph\":\"e\",\"cat\":\"request\",\"id\":1,\"pid\":1,\"ts\":120}," ASYNC(
                     "b", "3", 130) ",{\"ph\":\"e\",\"cat\":\"request\",\"id\":\"3\",\"name\":"
                                    "\"b3\",\"pid\":1,\"ts\":135},{\"ph\":\"e\",\"cat\":"
                                    "\"request\",\"id\":\"two\","
                                    "\"pid\":1,\"ts\":150}]"),
        SS_OK);
    assert_int_equal(us_of("b1"), 20);
    assert_int_equal(us_of("second"), 40);
    assert_int_equal(us_of("b3"), 5);
    assert_int_equal(range_of("b1")->lane, 1);
    assert_int_equal(range_of("second")->lane, 2);
    assert_int_equal(range_of("b3")->lane, 1);
    assert_int_equal(track_of("b1")->kind, SS_TRACK_ASYNC);
    assert_string_equal(ss_model_text(&model, track_of("b1")->name), "request");
    assert_int_equal(range_of("b1")->track, range_of("b3")->track);
}

static void async_ranges_of_one_id_nest(void **state)
{
    (void)state;
    assert_int_equal(load_text("[{\"ph\":\"b\",\"cat\":\"io\",\"id2\":{\"local\":\"0x1\"},"
                               "\"name\":\"read\",\"pid\":1,\"ts\":10},"
                               "{\"ph\":\"b\",\"cat\":\"io\",\"id2\":{\"local\":\"0x1\"},"
                               "\"name\":\"seek\",\"pid\":1,\"ts\":12},"
                               "{\"ph\":\"e\",\"cat\":\"io\",\"id2\":{\"local\":\"0x1\"},"
                               "\"name\":\"seek\",\"pid\":1,\"ts\":15},"
                               "{\"ph\":\"e\",\"cat\":\"io\",\"id2\":{\"local\":\"0x1\"},"
                               "\"name\":\"read\",\"pid\":1,\"ts\":40}]"),
                     SS_OK);
    assert_int_equal(us_of("read"), 30);
    assert_int_equal(us_of("seek"), 3);
    assert_int_equal(range_of("seek")->lane, range_of("read")->lane);
    assert_int_equal(model.paths.data[range_of("seek")->path].parent, range_of("read")->path);
}

static void the_older_async_phases_are_ranges_too(void **state)
{
    (void)state;
    assert_int_equal(load_text("[" ASYNC("S", "7", 10) ",{\"ph\":\"F\",\"cat\":\"request\","
                                                       "\"id\":7,\"pid\":1,\"ts\":33},"
                                                       "{\"ph\":\"e\",\"cat\":\"request\","
                                                       "\"id\":8,\"pid\":1,\"ts\":34}]"),
                     SS_OK);
    assert_int_equal(us_of("S7"), 23);
    assert_int_equal(model.inputs.data[0].skipped.events, 1); /* an end without its start */
}

/* --- flows ------------------------------------------------------------------------------------ */

static void flows_join_ranges_by_bind_id(void **state)
{
    (void)state;
    assert_int_equal(
        load_text("[{\"ph\":\"X\",\"name\":\"send\"," AT(
            1, 10) ",\"dur\":20,\"bind_id\":\"0x7\","
                   "\"flow_out\":true},{\"ph\":\"X\",\"name\":\"pass\"," AT(
                       2, 40) ",\"dur\":5,"
                              "\"bind_id\":\"0x7\",\"flow_in\":true,\"flow_out\":true},"
                              "{\"ph\":\"X\",\"name\":\"receive\"," AT(
                                  3, 50) ",\"dur\":20,\"bind_id\":\"0x7\","
                                         "\"flow_in\":true},{\"ph\":\"X\",\"name\":\"none\"," AT(
                                             4, 60) ",\"dur\":1,"
                                                    "\"bind_id\":\"0x7\",\"flow_in\":false}]"),
        SS_OK);
    assert_int_equal(model.flows.count, 3);
    static const char *const names[] = {"send", "pass", "receive"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(model.flows.data[i].id, model.flows.data[0].id);
        assert_int_equal(model.flows.data[i].track, range_of(names[i])->track);
        assert_int_equal(model.flows.data[i].time_ns, range_of(names[i])->begin_ns);
        assert_int_equal(model.flows.data[i].is_end, i == 2);
    }
}

/* --- devices ---------------------------------------------------------------------------------- */

static enum ss_event_type type_of(const char *name)
{
    return model.names.data[model.paths.data[range_of(name)->path].name].type;
}

#define CALL(cat, name, correlation)                                                               \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name                                           \
    "\"," AT(5, 10) ",\"dur\":1,\"args\":{\"correlation\":" #correlation "}}"
#define WORK(cat, name, correlation)                                                               \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name                                           \
    "\",\"pid\":20,\"tid\":7,\"ts\":20,\"dur\":5,\"args\":{\"correlation\":" #correlation "}}"

/* The category of the work is in no list: it has the correlation of a call of another process. */
static void work_is_known_by_its_correlation(void **state)
{
    (void)state;
    assert_int_equal(load_text("[" CALL("new_runtime", "submit", 1) "," WORK(
                         "new_ccp", "matmul", 1) ","
                                                 "" CALL("new_runtime", "query", 9) "," WORK(
                                                     "new_ccp", "event_wait", 1) "]"),
                     SS_OK);
    assert_int_equal(type_of("matmul"), SS_EVENT_TYPE_kernel);
    assert_int_equal(type_of("event_wait"), SS_EVENT_TYPE_synchronisation);
    assert_int_equal(type_of("submit"), SS_EVENT_TYPE_launch);
    assert_int_not_equal(type_of("query"), SS_EVENT_TYPE_launch);
    assert_int_equal(model.devices.count, 2); /* row 0 is none */
    assert_int_equal(model.devices.data[1].number, 20);
}

static void work_is_known_by_the_name_of_its_process(void **state)
{
    (void)state;
    assert_int_equal(
        load_text(
            "[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":3,\"tid\":0,\"args\":{\"name\":"
            "\"/device:TPU:0\"}},{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":3,\"tid\":1,"
            "\"args\":{\"name\":\"XLA Modules\"}},{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":3,"
            "\"tid\":2,\"args\":{\"name\":\"XLA Ops\"}},{\"ph\":\"X\",\"name\":\"jit_step\","
            "\"pid\":3,\"tid\":1,\"ts\":10,\"dur\":90},{\"ph\":\"X\",\"name\":\"fusion.1\","
            "\"pid\":3,\"tid\":2,\"ts\":10,\"dur\":40},{\"ph\":\"X\",\"name\":\"main\"," AT(
                5, 0) ",\"dur\":200}]"),
        SS_OK);
    assert_int_equal(type_of("fusion.1"), SS_EVENT_TYPE_kernel);
    assert_int_equal(type_of("jit_step"), SS_EVENT_TYPE_range); /* the same work once more */
    assert_int_equal(track_of("main")->device, 0);
}

/* --- counters, names, documents --------------------------------------------------------------- */

static void counters_may_be_in_quotes(void **state)
{
    (void)state;
    assert_int_equal(load_text("[{\"ph\":\"C\",\"name\":\"memory\"," AT(
                         1, 10) ",\"args\":"
                                "{\"used\":\"2048\",\"part\":\"0.5\",\"word\":\"none\"}}]"),
                     SS_OK);
    assert_int_equal(model.values.count, 2);
    assert_true(model.values.data[0].is_integer);
    assert_int_equal(model.values.data[0].integer, 2048);
    assert_true(model.values.data[1].real > 0.49 && model.values.data[1].real < 0.51);
}

/* Paths of Windows, as a writer leaves them that escapes nothing. */
static void backslashes_that_are_no_escapes_stay(void **state)
{
    (void)state;
    assert_int_equal(
        load_text("[{\"ph\":\"X\",\"name\":\"C:\\users\\tom\\new\"," AT(
            1, 10) ",\"dur\":1},{\"ph\":\"X\",\"name\":\"a\\tb\\\\c\"," AT(1, 20) ",\"dur\":1}]"),
        SS_OK);
    assert_string_equal(name_of(&model.ranges.data[0]), "C:\\users\\tom\\new");
    assert_string_equal(name_of(&model.ranges.data[1]), "a\tb\\c");
}

static void a_second_document_is_read_too(void **state)
{
    (void)state;
    assert_int_equal(
        load_text("{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"first\"," AT(
            1, 10) ",\"dur\":5}]}\n[{\"ph\":\"X\",\"name\":\"second\"," AT(1, 30) ",\"dur\":6}]\n"),
        SS_OK);
    assert_int_equal(us_of("first"), 5);
    assert_int_equal(us_of("second"), 6);
    assert_int_equal(model.inputs.data[0].skipped.events, 0);
}

static void what_follows_the_trace_is_counted(void **state)
{
    (void)state;
    assert_int_equal(
        load_text("[{\"ph\":\"X\",\"name\":\"first\"," AT(1, 10) ",\"dur\":5}]\nsome log line\n"),
        SS_OK);
    assert_int_equal(us_of("first"), 5);
    assert_int_equal(model.inputs.data[0].skipped.events, 1);
}

/* The offset is that of the event's brace. */
static void events_that_all_are_skipped_are_an_error_that_says_so(void **state)
{
    (void)state;
    assert_int_equal(load_text("[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"ts\":\"12x\"},"
                               "{\"ph\":\"X\",\"name\":\"b\",\"pid\":1,\"ts\":\"soon\"}]"),
                     SS_E_FORMAT);
    assert_string_equal(err.message, "t.json has no event that can be read: 2 skipped, the first "
                                     "at byte 1: no readable time");
    assert_int_equal(load_text("{\"traceEvents\":[]}"), SS_E_FORMAT);
    assert_non_null(strstr(err.message, "JSON without an event of a trace"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(complete_ranges_nest),
        cmocka_unit_test(begin_and_end_are_one_range),
        cmocka_unit_test(an_end_without_a_category_ends_the_last_begin),
        cmocka_unit_test(an_end_of_another_name_ends_nothing),
        cmocka_unit_test(the_end_of_an_outer_range_ends_what_is_within),
        cmocka_unit_test(a_begin_without_an_end_lasts_until_the_end),
        cmocka_unit_test(async_ranges_have_a_lane_while_they_are_open),
        cmocka_unit_test(async_ranges_of_one_id_nest),
        cmocka_unit_test(the_older_async_phases_are_ranges_too),
        cmocka_unit_test(flows_join_ranges_by_bind_id),
        cmocka_unit_test(work_is_known_by_its_correlation),
        cmocka_unit_test(work_is_known_by_the_name_of_its_process),
        cmocka_unit_test(counters_may_be_in_quotes),
        cmocka_unit_test(backslashes_that_are_no_escapes_stay),
        cmocka_unit_test(a_second_document_is_read_too),
        cmocka_unit_test(what_follows_the_trace_is_counted),
        cmocka_unit_test(events_that_all_are_skipped_are_an_error_that_says_so),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ss_model_fini(&model);
    return failed;
}
