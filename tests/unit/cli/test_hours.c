/* SPDX-License-Identifier: Apache-2.0 */
/* Twelve hours of a training, whose time the test moves, through the recording half once within a
 * limit and once in full: what the report finds is the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>
#include <sys/stat.h>

#include "../record/recorded_story.h"
#include "base/shared_names.h"
#include "command_line.h"
#include "json_output.h"
#include "record/details/detail_filter.h"

#define MS UINT64_C(1000000)
#define STEP_NS (4000 * MS)

enum { STEPS = 12 * 3600 / 4, OPERATORS = 60, SLOW_EACH = 450, MAX_BYTES = 6 << 20 };
enum { TORCH = 1, MODULES };
enum { OPERATOR = 1, FORWARD, BACKWARD, LAYER, MM, NODE, ITEM, REDUCE };

struct hours {
    struct recorded_story story;
    struct ss_detail_filter *filter;
    struct ss_annot_sink sink;
    uint64_t random, at_ns;
};

static void put(struct hours *hours, enum ss_annot_kind kind, uint32_t domain, uint32_t name,
                int64_t value)
{
    struct ss_annot_event event = {.kind = kind,
                                   .time_ns = hours->at_ns,
                                   .thread = 1,
                                   .tid = getpid(),
                                   .domain = domain,
                                   .name = name,
                                   .value_type = SS_RING_VALUE_SIGNED,
                                   .value = (uint64_t)value};
    hours->sink.event(hours->sink.context, &event);
}

/* From 0.75 to 1.25 of it. */
static uint64_t around(struct hours *hours, uint64_t ns)
{
    hours->random = hours->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ns * 3 / 4 + (hours->random >> 33) % (ns / 2);
}

static void put_name(struct hours *hours, uint32_t id, const char *text, uint32_t category)
{
    struct ss_annot_name name = {.id = id, .text = ss_strview_of(text), .category = category};
    hours->sink.name(hours->sink.context, &name);
}

static void define(struct hours *hours)
{
    hours->sink.domain(hours->sink.context, TORCH, ss_strview_of(ss_domain_torch));
    hours->sink.domain(hours->sink.context, MODULES, ss_strview_of(ss_domain_torch_module));
    put_name(hours, OPERATOR, "operator", 0);
    put_name(hours, FORWARD, ss_phase_forward, 0);
    put_name(hours, BACKWARD, ss_phase_backward, 0);
    put_name(hours, LAYER, "net.layer (Linear)", 0);
    put_name(hours, MM, "aten::mm", OPERATOR);
    put_name(hours, NODE, "MmBackward0", BACKWARD);
    put_name(hours, ITEM, "aten::item", OPERATOR);
    put_name(hours, REDUCE, "gloo:all_reduce", 0);
}

static void call(struct hours *hours, uint32_t name, uint64_t ns, int64_t number)
{
    put(hours, SS_ANNOT_RANGE_BEGIN, TORCH, name, number);
    hours->at_ns += ns;
    put(hours, SS_ANNOT_RANGE_END, TORCH, 0, 0);
    hours->at_ns += MS / 10;
}

/* On another thread, from `at_ns` until the present. */
static void reduce(struct hours *hours, uint64_t step, uint64_t at_ns)
{
    struct ss_annot_event event = {.kind = SS_ANNOT_ASYNC_BEGIN,
                                   .time_ns = at_ns,
                                   .id = step + 1,
                                   .domain = TORCH,
                                   .name = REDUCE};
    event.collective.sequence = event.collective.root = -1;
    event.collective.tag = event.collective.self = -1;
    hours->sink.event(hours->sink.context, &event);
    event.kind = SS_ANNOT_ASYNC_END;
    event.time_ns = hours->at_ns;
    hours->sink.event(hours->sink.context, &event);
}

/* The gradients are reduced in the second half of the backward pass, which waits for that. */
static void pass(struct hours *hours, uint64_t step)
{
    put(hours, SS_ANNOT_PHASE, 0, FORWARD, 0);
    put(hours, SS_ANNOT_RANGE_BEGIN, MODULES, LAYER, 0);
    for (int64_t i = 0; i < OPERATORS; i++) {
        call(hours, MM, around(hours, 16 * MS), (int64_t)step * OPERATORS + i);
    }
    put(hours, SS_ANNOT_RANGE_END, MODULES, 0, 0);
    put(hours, SS_ANNOT_PHASE, 0, BACKWARD, 0);
    uint64_t half_ns = 0;
    for (int64_t i = OPERATORS; i-- > 0;) {
        call(hours, NODE, around(hours, 24 * MS), (int64_t)step * OPERATORS + i);
        half_ns = i == OPERATORS / 2 ? hours->at_ns : half_ns;
    }
    hours->at_ns += around(hours, 300 * MS);
    reduce(hours, step, half_ns);
    put(hours, SS_ANNOT_PHASE, 0, 0, 0);
}

/* A step in which the program reads a value, which is slow now and then. */
static void run_step(struct hours *hours, uint64_t step)
{
    put(hours, SS_ANNOT_STEP, 0, 0, (int64_t)step);
    pass(hours, step);
    call(hours, ITEM, around(hours, (step % SLOW_EACH == 0 ? 6000 : 900) * MS), -1);
    hours->at_ns += around(hours, 350 * MS);
}

static void update(struct hours *hours)
{
    struct ss_trace_writer_stats stats;
    struct ss_error err = {0};
    uint64_t now_ns = hours->at_ns;
    manual_clock_advance(&hours->story.clock, now_ns - hours->story.clock.now.monotonic_ns);
    ss_detail_filter_drained(hours->filter, now_ns);
    assert_int_equal(ss_recording_tick(hours->story.context.recording, now_ns, NULL, &err), SS_OK);
    ss_recording_get_stats(hours->story.context.recording, &stats);
    struct ss_detail_figures figures = {
        .now_ns = now_ns, .bytes = stats.bytes_written, .records = stats.events + stats.samples};
    ss_detail_budget_update(&hours->story.context.detail, &figures);
}

/* Records the hours into the folder of the test, and returns the size of the file. */
static uint64_t record(uint64_t max_bytes, const char *name)
{
    struct hours *hours = calloc(1, sizeof *hours);
    struct stat facts;
    assert_non_null(hours);
    story_begin(&hours->story);
    hours->at_ns = STORY_BASE_NS + 10 * MS;
    struct ss_annot_sink sink = ss_annotation_tracks_sink(hours->story.tracks);
    struct ss_detail_output output = ss_annotation_tracks_detail(hours->story.tracks);
    struct ss_detail_budget *budget = &hours->story.context.detail;
    ss_detail_budget_init(budget, max_bytes, STORY_BASE_NS);
    hours->filter = ss_detail_filter_new(&sink, &output, budget, getpid());
    hours->sink = ss_detail_filter_sink(hours->filter);
    define(hours);
    for (uint64_t step = 0; step < STEPS; step++) {
        run_step(hours, step);
        update(hours);
    }
    put(hours, SS_ANNOT_PROCESS_END, 0, 0, 0);
    ss_detail_filter_free(hours->filter);
    story_close(&hours->story);
    assert_int_equal(rename(hours->story.path, name), 0);
    assert_int_equal(stat(name, &facts), 0);
    free(hours);
    return (uint64_t)facts.st_size;
}

static json_t *report(const char *name, const char *by)
{
    struct ran ran = by != NULL ? stepscope("report", name, "--format", "json", "--by", by)
                                : stepscope("report", name, "--format", "json");
    return parse_json(ran.out);
}

static void assert_near(double value, double expected, double part)
{
    if (value < expected * (1 - part) || value > expected * (1 + part)) {
        fail_msg("%g is not %g", value, expected);
    }
}

static void compare_findings(const json_t *thinned, const json_t *full)
{
    const json_t *a = json_at(thinned, "training.advice"), *b = json_at(full, "training.advice");
    assert_true(json_array_size(b) > 0);
    assert_int_equal(json_array_size(a), json_array_size(b));
    for (size_t i = 0; i < json_array_size(b); i++) {
        const json_t *one = json_array_get(a, i), *other = json_array_get(b, i);
        assert_string_equal(json_text_at(one, "rule"), json_text_at(other, "rule"));
        assert_near(json_number_at(one, "cost_ns"), json_number_at(other, "cost_ns"), 0.02);
    }
}

/* Sums and what is in full are all calls: figures per step are those of the full recording. */
static void compare_rows(const char *by, const char *key)
{
    json_t *thinned = report("thinned.pftrace", by), *full = report("full.pftrace", by);
    const json_t *a = json_at(thinned, "tables.0.rows"), *b = json_at(full, "tables.0.rows");
    assert_true(json_array_size(b) > 0);
    assert_int_equal(json_array_size(a), json_array_size(b));
    for (size_t i = 0; i < json_array_size(b); i++) {
        const json_t *one = json_array_get(a, i), *other = json_array_get(b, i);
        assert_string_equal(json_text_at(one, "name"), json_text_at(other, "name"));
        assert_near(json_number_at(one, key), json_number_at(other, key), 0.005);
        assert_near(json_number_at(one, "calls"), json_number_at(other, "calls"), 0);
        assert_near(json_number_at(one, "total_ns"), json_number_at(other, "total_ns"), 1e-9);
    }
    json_decref(thinned);
    json_decref(full);
}

/* Times of phases are exact, also of the waits for communication that are found between operators.
 */
static void compare_phases(void)
{
    json_t *thinned = report("thinned.pftrace", "phase"), *full = report("full.pftrace", "phase");
    const json_t *a = json_at(thinned, "tables.0.rows"), *b = json_at(full, "tables.0.rows");
    bool communicates = false;
    assert_int_equal(json_array_size(a), json_array_size(b));
    for (size_t i = 0; i < json_array_size(b); i++) {
        const json_t *one = json_array_get(a, i), *other = json_array_get(b, i);
        const char *name = json_text_at(other, "phase");
        assert_string_equal(json_text_at(one, "phase"), name);
        assert_near(json_number_at(one, "mean_ns"), json_number_at(other, "mean_ns"), 1e-6);
        communicates = communicates || strcmp(name, ss_phase_communication) == 0;
    }
    assert_true(communicates);
    json_decref(thinned);
    json_decref(full);
}

static void twelve_hours_fit_and_say_the_same(void **state)
{
    (void)state;
    uint64_t full_bytes = record(0, "full.pftrace");
    uint64_t thinned_bytes = record(MAX_BYTES, "thinned.pftrace");
    print_message("full %" PRIu64 " bytes, thinned %" PRIu64 "\n", full_bytes, thinned_bytes);
    assert_true(full_bytes > 2 * MAX_BYTES && thinned_bytes < MAX_BYTES);
    json_t *thinned = report("thinned.pftrace", NULL), *full = report("full.pftrace", NULL);
    compare_findings(thinned, full);
    assert_true(json_integer_at(thinned, "header.detail.steps_summed") > STEPS / 2);
    assert_true(json_integer_at(thinned, "header.detail.steps_that_stood_out") > 0);
    assert_null(json_object_get(json_at(full, "header"), "detail"));
    json_decref(thinned);
    json_decref(full);
    compare_rows("op", "step_self_ns");
    compare_rows("module", "step_total_ns");
    compare_phases();
}

int main(void)
{
    const struct CMUnitTest tests[] = {in_folder(twelve_hours_fit_and_say_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
