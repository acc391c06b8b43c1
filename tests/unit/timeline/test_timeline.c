/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks, lanes, links and pictures of models; pictures against the plain answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../random.h"
#include "../launched_model.h"
#include "timeline/labels.h"
#include "timeline/links.h"
#include "timeline/picture.h"

static const struct ss_selection_options everything = {.size = sizeof everything,
                                                       .idle = SS_IDLE_ALL};

struct fixture {
    struct ss_model model;
    struct ss_selection selection;
    struct ss_timeline timeline;
};

static void begin(struct fixture *fixture)
{
    *fixture = (struct fixture){0};
    ss_model_init(&fixture->model);
    ss_vec_push(&fixture->model.inputs,
                (struct ss_model_input){.kind = SS_INPUT_IMPORT, .rate_hz = 100});
}

static void build(struct fixture *fixture)
{
    assert_int_equal(ss_selection_init(&fixture->selection, &fixture->model, &everything, NULL),
                     SS_OK);
    ss_timeline_init(&fixture->timeline, &fixture->selection);
}

static void end(struct fixture *fixture)
{
    ss_timeline_fini(&fixture->timeline);
    ss_selection_fini(&fixture->selection);
    ss_model_fini(&fixture->model);
}

static const char *label_of(const struct ss_timeline *timeline, uint32_t lane, uint32_t position)
{
    static char text[256];
    struct ss_strbuf label;
    const struct ss_timeline_track *track = &timeline->tracks.data[timeline->track_of_lane[lane]];
    ss_strbuf_init(&label, 1024);
    ss_label_append(&label, timeline, track, ss_lane_slice(&timeline->lanes.data[lane], position),
                    100);
    snprintf(text, sizeof text, "%s", label.data);
    ss_strbuf_fini(&label);
    return text;
}

/* Slices of a lane never overlap, and every drawn range has one. */
static void check_lanes(const struct ss_timeline *timeline)
{
    for (size_t i = 0; i < timeline->lanes.count; i++) {
        const struct ss_lane *lane = &timeline->lanes.data[i];
        for (uint32_t at = 1; at < lane->count; at++) {
            assert_true(ss_lane_slice(lane, at)->begin_ns >= ss_lane_slice(lane, at - 1)->end_ns);
        }
    }
    for (size_t i = 0; i < timeline->tracks.count; i++) {
        const struct ss_timeline_track *track = &timeline->tracks.data[i];
        size_t drawn = 0;
        for (size_t j = track->first_range; j < track->end_range; j++) {
            drawn += (track->ranges[j].flags & SS_RANGE_OUTSIDE) == 0;
        }
        if (track->kind != SS_TIMELINE_COUNTER && timeline->hidden == 0) {
            assert_int_equal(track->slices, drawn);
        }
    }
}

/* --- order and names -------------------------------------------------------------------------- */

static void test_tracks_of_a_training(void **state)
{
    static const enum ss_timeline_kind order[] = {
        SS_TIMELINE_STEPS, SS_TIMELINE_PHASES, SS_TIMELINE_MAIN,  SS_TIMELINE_MAIN,
        SS_TIMELINE_MAIN,  SS_TIMELINE_THREAD, SS_TIMELINE_STREAM};
    struct launched made;
    struct ss_timeline timeline;
    (void)state;
    launched_init(&made, NULL, NULL);
    ss_timeline_init(&timeline, &made.selection);
    check_lanes(&timeline);
    assert_int_equal(timeline.groups.count, 1);
    assert_int_equal(timeline.groups.data[0].process, made.process);
    assert_int_equal(timeline.tracks.count, sizeof order / sizeof *order);
    for (size_t i = 0; i < timeline.tracks.count; i++) {
        assert_int_equal(timeline.tracks.data[i].kind, order[i]);
    }
    const struct ss_timeline_track *steps = &timeline.tracks.data[0];
    assert_int_equal(steps->slices, LAUNCHED_STEPS);
    assert_string_equal(label_of(&timeline, steps->first_lane, 1), "step 1");
    ss_timeline_fini(&timeline);
    launched_fini(&made);
}

static void test_ranks_come_first_and_in_order(void **state)
{
    struct fixture fixture;
    (void)state;
    begin(&fixture);
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t process = BUILD_PROCESS(&fixture.model, .pid = 10 + (int32_t)i);
        struct ss_model_process *row = &fixture.model.processes.data[process];
        row->has_rank = i > 0;
        row->rank = i == 1 ? 11 : i == 2 ? 2 : 3;
        uint32_t track = BUILD_TRACK(&fixture.model, .process = process, .name = "x");
        BUILD_RANGE(&fixture.model, .track = track, .name = "r", .begin_ns = i, .end_ns = 9);
    }
    uint32_t host = BUILD_TRACK(&fixture.model, .kind = SS_TRACK_COUNTER, .name = "load");
    build_level(&fixture.model, host, 5, 1.5);
    build(&fixture);
    static const uint32_t order[] = {3, 4, 2, 1, 0}; /* ranks 2, 3, 11, none, the host */
    assert_int_equal(fixture.timeline.groups.count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(fixture.timeline.groups.data[i].process, order[i]);
    }
    end(&fixture);
}

/* --- what does not nest ----------------------------------------------------------------------- */

static void test_ranges_that_overlap_have_lanes_of_their_own(void **state)
{
    struct fixture fixture;
    (void)state;
    begin(&fixture);
    uint32_t process = BUILD_PROCESS(&fixture.model, .pid = 1);
    uint32_t track = BUILD_TRACK(&fixture.model, .process = process, .name = "stream");
    BUILD_RANGE(&fixture.model, .track = track, .name = "a", .begin_ns = 0, .end_ns = 100);
    BUILD_RANGE(&fixture.model, .track = track, .name = "b", .begin_ns = 50, .end_ns = 150);
    BUILD_RANGE(&fixture.model, .track = track, .name = "c", .begin_ns = 120, .end_ns = 130);
    BUILD_RANGE(&fixture.model, .track = track, .name = "d", .begin_ns = 125, .end_ns = 200,
                .flags = SS_RANGE_OUTSIDE);
    build(&fixture);
    check_lanes(&fixture.timeline);
    assert_int_equal(fixture.timeline.lanes.count, 2);
    assert_int_equal(fixture.timeline.lanes.data[0].count, 2);
    assert_int_equal(fixture.timeline.slices, 3);
    end(&fixture);
}

static void test_deep_nesting_is_counted(void **state)
{
    struct fixture fixture;
    uint32_t around = 0;
    (void)state;
    begin(&fixture);
    uint32_t process = BUILD_PROCESS(&fixture.model, .pid = 1);
    uint32_t track = BUILD_TRACK(&fixture.model, .process = process, .name = "deep");
    for (uint64_t i = 0; i < SS_TIMELINE_MAX_LANES + 7; i++) {
        around = BUILD_RANGE(&fixture.model, .track = track, .around = around, .name = "f",
                             .begin_ns = i, .end_ns = 5000 - i);
    }
    build(&fixture);
    assert_int_equal(fixture.timeline.lanes.count, SS_TIMELINE_MAX_LANES);
    assert_int_equal(fixture.timeline.hidden, 7);
    end(&fixture);
}

static void test_marks_are_slices_without_a_duration(void **state)
{
    struct fixture fixture;
    (void)state;
    begin(&fixture);
    uint32_t process = BUILD_PROCESS(&fixture.model, .pid = 1);
    uint32_t track = BUILD_TRACK(&fixture.model, .process = process, .name = "x");
    BUILD_MARK(&fixture.model, .track = track, .name = "late", .time_ns = 30);
    BUILD_MARK(&fixture.model, .track = track, .name = "early", .time_ns = 10);
    BUILD_MARK(&fixture.model, .track = track, .name = "", .time_ns = 20); /* carries a flow */
    build(&fixture);
    assert_int_equal(fixture.timeline.slices, 2);
    assert_string_equal(label_of(&fixture.timeline, 0, 0), "early");
    assert_string_equal(label_of(&fixture.timeline, 0, 1), "late");
    end(&fixture);
}

/* --- stacks ----------------------------------------------------------------------------------- */

static void test_samples_become_calls(void **state)
{
    struct fixture fixture;
    (void)state;
    begin(&fixture);
    uint32_t process = BUILD_PROCESS(&fixture.model, .pid = 1);
    uint32_t thread = BUILD_THREAD(&fixture.model, .process = process, .is_main = true);
    uint32_t main_1 = BUILD_CALL(&fixture.model, 0, .function = "main", .line = 1, .first_line = 1);
    uint32_t main_2 = BUILD_CALL(&fixture.model, 0, .function = "main", .line = 2, .first_line = 1);
    uint32_t load = BUILD_CALL(&fixture.model, main_1, .function = "load", .line = 9);
    uint32_t train = BUILD_CALL(&fixture.model, main_2, .function = "train", .line = 5);
    const uint32_t stacks[] = {load, load, train, main_2, train};
    for (uint64_t i = 0; i < 5; i++) {
        ss_vec_push(&fixture.model.samples, (struct ss_model_sample){.time_ns = 10000000 * (i + 1),
                                                                     .thread = thread,
                                                                     .stack = stacks[i],
                                                                     .weight = 1});
        ss_model_add_total(&fixture.model,
                           &(struct ss_model_total){
                               .thread = thread, .stack = stacks[i], .samples = 1, .records = 1});
    }
    build(&fixture);
    check_lanes(&fixture.timeline);
    assert_int_equal(fixture.timeline.lanes.count, 2);
    /* One main, at whatever line; load, then train twice. */
    assert_int_equal(fixture.timeline.lanes.data[0].count, 1);
    assert_int_equal(fixture.timeline.lanes.data[1].count, 3);
    assert_string_equal(label_of(&fixture.timeline, 0, 0), "main");
    assert_string_equal(label_of(&fixture.timeline, 1, 0), "load");
    assert_int_equal(ss_lane_duration(&fixture.timeline.lanes.data[0], 0), 50000000);
    assert_int_equal(ss_lane_duration(&fixture.timeline.lanes.data[1], 0), 20000000);
    end(&fixture);
}

/* --- links ------------------------------------------------------------------------------------ */

static void check_place(const struct ss_timeline *timeline, uint32_t range)
{
    uint32_t lane, position;
    assert_true(ss_timeline_place(timeline, range, &lane, &position));
    assert_int_equal(timeline->lanes.data[lane].slices[position], range);
}

static void test_links_of_a_training(void **state)
{
    struct launched made;
    struct ss_timeline timeline;
    struct ss_timeline_links links;
    size_t kinds[SS_LINK_EVENT + 1] = {0}, count;
    (void)state;
    launched_init(&made, NULL, NULL);
    ss_timeline_init(&timeline, &made.selection);
    ss_timeline_links_init(&links, &timeline);
    for (size_t i = 0; i < links.forth.count; i++) {
        const struct ss_timeline_link *link = &links.forth.data[i];
        kinds[link->kind]++;
        check_place(&timeline, link->from);
        check_place(&timeline, link->to);
        const struct ss_timeline_link *back = ss_timeline_links_of(&links, link->to, true, &count);
        assert_true(count > 0 && back->to == link->to);
        assert_true(made.model.ranges.data[link->from].begin_ns <=
                    made.model.ranges.data[link->to].begin_ns);
    }
    assert_int_equal(kinds[SS_LINK_LAUNCH], 5 * LAUNCHED_STEPS);
    assert_int_equal(kinds[SS_LINK_BACKWARD], LAUNCHED_STEPS);
    ss_timeline_links_of(&links, UINT32_MAX, false, &count);
    assert_int_equal(count, 0);
    ss_timeline_links_fini(&links);
    ss_timeline_fini(&timeline);
    launched_fini(&made);
}

static void test_flows_of_a_program(void **state)
{
    struct fixture fixture;
    struct ss_timeline_links links;
    size_t count;
    (void)state;
    begin(&fixture);
    uint32_t process = BUILD_PROCESS(&fixture.model, .pid = 1);
    uint32_t tracks[2];
    for (int i = 0; i < 2; i++) {
        uint64_t at = i == 0 ? 0 : 50;
        tracks[i] = BUILD_TRACK(&fixture.model, .process = process, .name = i == 0 ? "a" : "b");
        uint32_t outer = BUILD_RANGE(&fixture.model, .track = tracks[i], .name = "outer",
                                     .begin_ns = at, .end_ns = at + 100);
        BUILD_RANGE(&fixture.model, .track = tracks[i], .around = outer,
                    .name = i == 0 ? "send" : "receive", .begin_ns = at + 10, .end_ns = at + 20);
    }
    ss_vec_push(&fixture.model.flows,
                (struct ss_model_flow){.id = 7, .time_ns = 62, .track = tracks[1], .is_end = true});
    ss_vec_push(&fixture.model.flows,
                (struct ss_model_flow){.id = 7, .time_ns = 12, .track = tracks[0]});
    ss_vec_push(&fixture.model.flows,
                (struct ss_model_flow){.id = 8, .time_ns = 12, .track = tracks[0]});
    build(&fixture);
    ss_timeline_links_init(&links, &fixture.timeline);
    assert_int_equal(links.forth.count, 1);
    assert_int_equal(links.forth.data[0].from, 1); /* send */
    assert_int_equal(links.forth.data[0].to, 3);   /* receive */
    assert_int_equal(ss_timeline_links_of(&links, 3, true, &count)->kind, SS_LINK_FLOW);
    ss_timeline_links_fini(&links);
    end(&fixture);
}

/* --- pictures --------------------------------------------------------------------------------- */

/* Some tracks with nested ranges of very different lengths, and a counter. */
static void fill(struct fixture *fixture, uint32_t tracks, uint32_t ranges)
{
    begin(fixture);
    uint32_t process = BUILD_PROCESS(&fixture->model, .pid = 1);
    for (uint32_t i = 0; i < tracks; i++) {
        uint32_t track = BUILD_TRACK(&fixture->model, .process = process, .name = "t");
        uint64_t at = next_random() % 1000;
        for (uint32_t j = 0; j < ranges; j++) {
            uint64_t length = 4 + next_random() % (UINT64_C(1) << next_random() % 18);
            uint32_t outer = BUILD_RANGE(&fixture->model, .track = track, .name = "outer",
                                         .begin_ns = at, .end_ns = at + length);
            BUILD_RANGE(&fixture->model, .track = track, .around = outer, .name = "inner",
                        .begin_ns = at + 1, .end_ns = at + length - 1);
            at += length + next_random() % 300;
        }
    }
    uint32_t counter = BUILD_TRACK(&fixture->model, .kind = SS_TRACK_COUNTER, .process = process);
    for (uint32_t i = 0; i < 20000; i++) {
        build_level(&fixture->model, counter, 100 * i, (double)(next_random() % 50));
    }
    build(fixture);
}

/* The rectangles of a row stand for exactly the slices of the window, and some beside it. */
static void check_row(const struct ss_timeline *timeline, const struct ss_picture *picture,
                      const struct ss_picture_row *row, uint64_t from_ns, uint64_t to_ns)
{
    const struct ss_lane *lane = &timeline->lanes.data[row->lane];
    uint32_t first = ss_lane_find(lane, from_ns), next = UINT32_MAX;
    for (size_t i = row->first; i < row->end; i++) {
        const struct ss_lane_rect *rect = &picture->rects.data[i];
        assert_true(next == UINT32_MAX || next == rect->first);
        next = rect->first + rect->sum.count;
    }
    if (row->first < row->end) {
        assert_true(picture->rects.data[row->first].first <= first);
        assert_true(next == lane->count || ss_lane_slice(lane, next)->begin_ns >= to_ns);
    } else {
        assert_true(first == lane->count || ss_lane_slice(lane, first)->begin_ns >= to_ns);
    }
}

static void test_pictures_have_all_slices_and_few_rectangles(void **state)
{
    struct fixture fixture;
    (void)state;
    fill(&fixture, 12, 3000);
    uint32_t all = (uint32_t)fixture.timeline.tracks.count;
    for (int round = 0; round < 150; round++) {
        struct ss_picture_request request = {
            .from_ns = next_random() % (fixture.timeline.duration_ns + 1),
            .px = 1 + (uint32_t)(next_random() % SS_PICTURE_MAX_PX),
            .track_count = 1 + (uint32_t)(next_random() % all)};
        struct ss_picture picture;
        request.to_ns = request.from_ns + 1 + next_random() % (UINT64_C(1) << next_random() % 34);
        for (uint32_t i = 0; i < request.track_count; i++) {
            request.tracks[i] = i;
        }
        ss_picture_init(&picture, &fixture.timeline, &request);
        assert_true(picture.rects.count + picture.points.count <= SS_PICTURE_MAX_RECTS);
        for (size_t i = 0; i < picture.rows.count; i++) {
            const struct ss_picture_row *row = &picture.rows.data[i];
            const struct ss_timeline_track *track = &fixture.timeline.tracks.data[row->track];
            if (track->kind != SS_TIMELINE_COUNTER) {
                check_row(&fixture.timeline, &picture, row, track->base_ns + request.from_ns,
                          track->base_ns + request.to_ns);
            }
        }
        ss_picture_fini(&picture);
    }
    end(&fixture);
}

static void test_pictures_of_times_that_no_clock_shows(void **state)
{
    struct fixture fixture;
    struct ss_picture picture;
    (void)state;
    begin(&fixture);
    uint32_t process = BUILD_PROCESS(&fixture.model, .pid = 1);
    uint32_t track = BUILD_TRACK(&fixture.model, .process = process);
    for (uint64_t i = 0; i < 6000; i++) {
        uint64_t at = UINT64_MAX / 6001 * i;
        BUILD_RANGE(&fixture.model, .track = track, .name = "r", .begin_ns = at,
                    .end_ns = at + (i % 2) * 1000);
    }
    build(&fixture);
    struct ss_picture_request request = {
        .to_ns = UINT64_MAX, .px = SS_PICTURE_MAX_PX, .track_count = 1};
    ss_picture_init(&picture, &fixture.timeline, &request);
    assert_true(picture.rects.count > 0 && picture.rects.count <= SS_PICTURE_MAX_RECTS);
    ss_picture_fini(&picture);
    end(&fixture);
}

static void test_an_empty_model(void **state)
{
    struct fixture fixture;
    struct ss_timeline_links links;
    (void)state;
    begin(&fixture);
    build(&fixture);
    ss_timeline_links_init(&links, &fixture.timeline);
    assert_int_equal(fixture.timeline.groups.count, 0);
    assert_int_equal(fixture.timeline.duration_ns, 0);
    ss_timeline_links_fini(&links);
    end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tracks_of_a_training),
        cmocka_unit_test(test_ranks_come_first_and_in_order),
        cmocka_unit_test(test_ranges_that_overlap_have_lanes_of_their_own),
        cmocka_unit_test(test_deep_nesting_is_counted),
        cmocka_unit_test(test_marks_are_slices_without_a_duration),
        cmocka_unit_test(test_samples_become_calls),
        cmocka_unit_test(test_links_of_a_training),
        cmocka_unit_test(test_flows_of_a_program),
        cmocka_unit_test(test_pictures_have_all_slices_and_few_rectangles),
        cmocka_unit_test(test_pictures_of_times_that_no_clock_shows),
        cmocka_unit_test(test_an_empty_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
