/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../rank_builder.h"
#include "model/clock/clock_align.h"

#define MS INT64_C(1000000)

enum { MOST_RANKS = 3, CALLS = 40 };

/* How far the clock of a rank is ahead of the axis, and what it drifts. */
struct skew {
    int64_t ahead_ns;
    double drift;
};

struct made {
    struct ss_model model;
    uint32_t ranks[MOST_RANKS], tracks[MOST_RANKS];
};

static void begin(struct made *made, unsigned ranks, enum ss_clock_mapping mapping)
{
    *made = (struct made){0};
    ss_model_init(&made->model);
    for (unsigned i = 0; i < ranks; i++) {
        made->ranks[i] = build_rank(&made->model, i, ranks);
        build_clock(&made->model, made->ranks[i], i == 0 ? SS_CLOCK_IS_AXIS : mapping, 0);
        made->tracks[i] = build_collective_track(&made->model, made->ranks[i]);
        made->model.tracks.data[made->tracks[i]].input =
            made->model.processes.data[made->ranks[i]].input;
    }
}

static void end(struct made *made)
{
    ss_model_fini(&made->model);
}

static int64_t shown(int64_t time_ns, struct skew skew)
{
    return time_ns + skew.ahead_ns + (int64_t)(skew.drift * (double)(time_ns - 1000 * MS));
}

/* All ranks arrive one after the other, another one last each time, and leave together. */
static void add_calls(struct made *made, unsigned rank, unsigned first, unsigned ranks,
                      const char *group, struct skew skew)
{
    for (unsigned i = 0; i < CALLS; i++) {
        int64_t base_ns = 1000 * MS + i * 50 * MS;
        int64_t late_ns = ((rank - first + i) % ranks) * MS;
        int64_t end_ns = base_ns + (ranks - 1) * MS + MS / 10;
        BUILD_COLLECTIVE(&made->model, .track = made->tracks[rank], .group = group, .size = ranks,
                         .sequence = i, .begin_ns = (uint64_t)shown(base_ns + late_ns, skew),
                         .end_ns = (uint64_t)shown(end_ns, skew));
    }
}

static const struct ss_model_alignment *alignment_of(const struct made *made, unsigned rank)
{
    return &made->model.inputs.data[made->model.processes.data[made->ranks[rank]].input].alignment;
}

/* The largest distance of a rank's ends from those of rank 0, which are the truth. */
static uint64_t worst_of(const struct made *made, unsigned rank)
{
    uint64_t worst_ns = 0;
    for (size_t i = 0; i < CALLS; i++) {
        uint64_t truth_ns = 0, end_ns = 0;
        size_t of_truth = 0, of_rank = 0;
        for (size_t r = 0; r < made->model.ranges.count; r++) {
            const struct ss_model_range *range = &made->model.ranges.data[r];
            if (range->track == made->tracks[0] && of_truth++ == i) {
                truth_ns = range->end_ns;
            }
            if (range->track == made->tracks[rank] && of_rank++ == i) {
                end_ns = range->end_ns;
            }
        }
        uint64_t distance_ns = (uint64_t)llabs((long long)(end_ns - truth_ns));
        worst_ns = distance_ns > worst_ns ? distance_ns : worst_ns;
    }
    return worst_ns;
}

static void other_machines_are_aligned_by_collectives(void **state)
{
    (void)state;
    struct made made;
    begin(&made, 2, SS_CLOCK_BY_WALL);
    add_calls(&made, 0, 0, 2, "a", (struct skew){0, 0});
    add_calls(&made, 1, 0, 2, "a", (struct skew){-7 * MS, 30e-6});
    ss_clock_align(&made.model);
    const struct ss_model_alignment *alignment = alignment_of(&made, 1);
    assert_true(alignment->is_fitted);
    assert_int_equal(alignment->segments, 1);
    assert_true(worst_of(&made, 1) <= alignment->error_ns);
    assert_true(alignment->error_ns < 400000);
    assert_int_equal(made.model.clock_domains.data[made.model.clock_domains.count - 1].mapping,
                     SS_CLOCK_FITTED);
    assert_false(alignment_of(&made, 0)->is_fitted);
    end(&made);
}

/* Rank 2 has collectives with rank 1 only: the errors add up. */
static void a_rank_is_aligned_through_another(void **state)
{
    (void)state;
    struct made made;
    begin(&made, 3, SS_CLOCK_BY_WALL);
    add_calls(&made, 0, 0, 2, "a", (struct skew){0, 0});
    add_calls(&made, 1, 0, 2, "a", (struct skew){300 * MS, -20e-6});
    add_calls(&made, 1, 1, 2, "b", (struct skew){300 * MS, -20e-6});
    add_calls(&made, 2, 1, 2, "b", (struct skew){-900 * MS, 10e-6});
    ss_clock_align(&made.model);
    const struct ss_model_alignment *near = alignment_of(&made, 1), *far = alignment_of(&made, 2);
    assert_true(near->is_fitted && far->is_fitted);
    assert_true(far->error_ns > near->error_ns);
    assert_true(worst_of(&made, 2) <= far->error_ns);
    end(&made);
}

static void clocks_of_one_machine_are_left_alone(void **state)
{
    (void)state;
    struct made made;
    begin(&made, 2, SS_CLOCK_BY_SHARED_WALL);
    add_calls(&made, 0, 0, 2, "a", (struct skew){0, 0});
    add_calls(&made, 1, 0, 2, "a", (struct skew){1000, 0});
    ss_clock_align(&made.model);
    assert_false(alignment_of(&made, 1)->is_fitted);
    assert_int_equal(worst_of(&made, 1), 1000);
    end(&made);
}

/* The numbers of the two do not mean the same collectives. */
static void a_contradiction_is_marked(void **state)
{
    (void)state;
    struct made made;
    begin(&made, 2, SS_CLOCK_BY_WALL);
    add_calls(&made, 0, 0, 2, "a", (struct skew){0, 0});
    for (unsigned i = 0; i < CALLS; i++) {
        uint64_t begin_ns = (uint64_t)(1000 * MS + (int64_t)(i * 7919 % CALLS) * 90 * MS);
        BUILD_COLLECTIVE(&made.model, .track = made.tracks[1], .group = "a", .size = 2,
                         .sequence = i, .begin_ns = begin_ns,
                         .end_ns = begin_ns + (uint64_t)MS / 10);
    }
    ss_clock_align(&made.model);
    assert_true(alignment_of(&made, 1)->is_contradictory);
    assert_false(alignment_of(&made, 1)->is_fitted);
    end(&made);
}

static void without_collectives_the_wall_clock_remains(void **state)
{
    (void)state;
    struct made made;
    begin(&made, 2, SS_CLOCK_BY_WALL);
    add_calls(&made, 0, 0, 2, "a", (struct skew){0, 0});
    add_calls(&made, 1, 0, 2, "b", (struct skew){50, 0});
    ss_clock_align(&made.model);
    assert_false(alignment_of(&made, 1)->is_fitted);
    assert_false(alignment_of(&made, 1)->is_contradictory);
    assert_int_equal(made.model.clock_domains.data[made.model.clock_domains.count - 1].mapping,
                     SS_CLOCK_BY_WALL);
    end(&made);
}

/* Other tools' files: moved only where the wall clock cannot be right. */
static void files_of_other_tools_are_moved_if_they_must(void **state)
{
    (void)state;
    for (int is_skewed = 0; is_skewed < 2; is_skewed++) {
        struct made made;
        begin(&made, 2, SS_CLOCK_BY_WALL);
        for (size_t i = 0; i < made.model.inputs.count; i++) {
            made.model.inputs.data[i].kind = SS_INPUT_IMPORT;
            made.model.inputs.data[i].clock_domain = 1;
        }
        add_calls(&made, 0, 0, 2, "a", (struct skew){0, 0});
        add_calls(&made, 1, 0, 2, "a", (struct skew){is_skewed ? 20 * MS : 10000, 0});
        ss_clock_align(&made.model);
        assert_int_equal(alignment_of(&made, 1)->is_fitted, is_skewed);
        assert_true(worst_of(&made, 1) <= (is_skewed ? alignment_of(&made, 1)->error_ns : 10000));
        end(&made);
    }
}

/* Rank 1 is ahead by 40 ms; its messages take 3 us there and 1 us back. */
static void pings_align_closer_than_collectives(void **state)
{
    (void)state;
    struct made made;
    begin(&made, 2, SS_CLOCK_BY_WALL);
    struct skew skew = {40 * MS, 25e-6};
    add_calls(&made, 0, 0, 2, "a", (struct skew){0, 0});
    add_calls(&made, 1, 0, 2, "a", skew);
    struct ss_model *model = &made.model;
    struct ss_model_clock_domain *axis = &model->clock_domains.data[1];
    axis->boot = build_text(model, "first");
    axis->time_namespace = 77;
    uint32_t track = BUILD_TRACK(model, .kind = SS_TRACK_RANGES, .name = "clock of first/77");
    model->tracks.data[track].input = model->processes.data[made.ranks[1]].input;
    for (unsigned i = 0; i < 20; i++) {
        int64_t sent_ns = 1000 * MS + i * 100 * MS;
        BUILD_MARK(model, .track = track, .name = "at most",
                   .time_ns = (uint64_t)shown(sent_ns, skew),
                   .payload = build_integer(model, sent_ns + 3000));
        BUILD_MARK(model, .track = track, .name = "at least",
                   .time_ns = (uint64_t)shown(sent_ns + 5000, skew),
                   .payload = build_integer(model, sent_ns + 4000));
    }
    for (size_t i = 1; i < model->names.count; i++) {
        const char *text = ss_model_text(model, model->names.data[i].text);
        if (text[0] == 'a') {
            model->names.data[i].type = SS_EVENT_TYPE_clock;
        }
    }
    ss_clock_align(model);
    const struct ss_model_alignment *alignment = alignment_of(&made, 1);
    assert_true(alignment->is_fitted);
    assert_true(alignment->error_ns < 10000);
    assert_true(worst_of(&made, 1) <= alignment->error_ns);
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_machines_are_aligned_by_collectives),
        cmocka_unit_test(a_rank_is_aligned_through_another),
        cmocka_unit_test(clocks_of_one_machine_are_left_alone),
        cmocka_unit_test(a_contradiction_is_marked),
        cmocka_unit_test(without_collectives_the_wall_clock_remains),
        cmocka_unit_test(pings_align_closer_than_collectives),
        cmocka_unit_test(files_of_other_tools_are_moved_if_they_must),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
