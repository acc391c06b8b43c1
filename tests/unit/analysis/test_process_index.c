/* SPDX-License-Identifier: Apache-2.0 */
/* The ranges of a recording by role, and steps and phases by process and time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/steps/steps.h"

struct made {
    struct ss_model model;
    struct ss_selection selection;
    struct ss_step_summary steps;
    uint32_t process, other;
};

static uint32_t text_id(struct made *made, const char *text)
{
    return ss_intern_put_text(&made->model.strings, text);
}

static uint32_t add_track(struct made *made, enum ss_track_kind kind, uint32_t process,
                          const char *name)
{
    ss_vec_push(
        &made->model.tracks,
        (struct ss_model_track){.kind = kind, .process = process, .name = text_id(made, name)});
    return (uint32_t)made->model.tracks.count - 1;
}

static void add_range(struct made *made, uint32_t track, const char *name, uint64_t begin_ns,
                      uint64_t end_ns)
{
    ss_vec_push(&made->model.names, (struct ss_model_name){.text = text_id(made, name)});
    uint32_t path = ss_model_path_id(&made->model, 0, (uint32_t)made->model.names.count - 1);
    ss_vec_push(&made->model.ranges,
                (struct ss_model_range){
                    .begin_ns = begin_ns, .end_ns = end_ns, .track = track, .path = path});
}

/* Two steps of a process, which it begins at 100, with phases; another process without steps. */
static void begin(struct made *made)
{
    struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    struct ss_steps_options none = {0};
    *made = (struct made){0};
    ss_model_init(&made->model);
    ss_vec_push(&made->model.processes, (struct ss_model_process){.pid = 40});
    made->process = (uint32_t)made->model.processes.count - 1;
    ss_vec_push(&made->model.processes, (struct ss_model_process){.pid = 41});
    made->other = made->process + 1;
    uint32_t steps = add_track(made, SS_TRACK_STEPS, made->process, "step");
    uint32_t phases = add_track(made, SS_TRACK_PHASES, made->process, "phase");
    uint32_t torch = add_track(made, SS_TRACK_RANGES, made->process, "torch");
    uint32_t empty = add_track(made, SS_TRACK_RANGES, made->process, "torch.module");
    uint32_t loader = add_track(made, SS_TRACK_RANGES, made->other, "torch.data");
    uint32_t gloo = add_track(made, SS_TRACK_ASYNC, made->process, "torch");
    uint32_t collector = add_track(made, SS_TRACK_RANGES, made->process, "python.gc");
    (void)empty;
    add_range(made, steps, "step", 100, 200);
    add_range(made, steps, "step", 200, 300);
    add_range(made, phases, "forward", 100, 150);
    add_range(made, phases, "backward", 160, 190);
    add_range(made, torch, "aten::mm", 110, 120);
    add_range(made, torch, "aten::add", 120, 130);
    add_range(made, loader, "fetch", 100, 140);
    add_range(made, gloo, "gloo:all_reduce", 150, 160);
    add_range(made, collector, "collect", 170, 175);
    add_range(made, torch, "aten::mul", 180, 185); /* a track with lanes has several runs */
    assert_int_equal(ss_selection_init(&made->selection, &made->model, &all, NULL), SS_OK);
    ss_step_summary_init(&made->steps, &made->selection, &none);
}

static void end(struct made *made)
{
    ss_step_summary_fini(&made->steps);
    ss_selection_fini(&made->selection);
    ss_model_fini(&made->model);
}

static size_t ranges_of(const struct ss_range_runs *runs, enum ss_track_role role, size_t *count)
{
    size_t ranges = 0;
    const struct ss_range_run *run = NULL;
    for (*count = 0; (run = ss_range_runs_next(runs, run, role)) != NULL; (*count)++) {
        ranges += run->end - run->first;
    }
    return ranges;
}

static void ranges_are_found_by_role(void **state)
{
    (void)state;
    struct made made;
    size_t runs;
    begin(&made);
    const struct ss_range_runs *all = &made.steps.index.runs;
    assert_int_equal(ranges_of(all, SS_ROLE_STEPS, &runs), 2);
    assert_int_equal(ranges_of(all, SS_ROLE_PHASES, &runs), 2);
    assert_int_equal(ranges_of(all, SS_ROLE_OPERATORS, &runs), 3);
    assert_int_equal(runs, 2);
    assert_int_equal(ranges_of(all, SS_ROLE_MODULES, &runs), 0);
    assert_int_equal(runs, 0);
    assert_int_equal(ranges_of(all, SS_ROLE_LOADER, &runs), 1);
    assert_int_equal(ranges_of(all, SS_ROLE_COLLECTIVES, &runs), 1);
    assert_int_equal(ranges_of(all, SS_ROLE_RANGES, &runs), 1);
    const struct ss_range_run *loader = ss_range_runs_next(all, NULL, SS_ROLE_LOADER);
    assert_int_equal(ss_range_run_process(&made.model, loader), made.other);
    const struct ss_range_run *torch = ss_range_runs_next(all, NULL, SS_ROLE_OPERATORS);
    assert_int_equal(all->spans[torch->track].first, 4);
    assert_int_equal(all->spans[torch->track].end, 10);
    end(&made);
}

static void steps_are_found_by_time(void **state)
{
    (void)state;
    struct made made;
    begin(&made);
    const struct ss_step *steps = made.steps.steps.data;
    assert_ptr_equal(ss_step_at(&made.steps, made.process, 100), &steps[0]);
    assert_ptr_equal(ss_step_at(&made.steps, made.process, 199), &steps[0]);
    assert_ptr_equal(ss_step_at(&made.steps, made.process, 200), &steps[1]);
    assert_null(ss_step_at(&made.steps, made.process, 99));
    assert_null(ss_step_at(&made.steps, made.process, 300));
    assert_ptr_equal(ss_step_last(&made.steps, made.process, 1000), &steps[1]);
    assert_null(ss_step_last(&made.steps, made.process, 99));
    assert_null(ss_step_last(&made.steps, made.other, 1000));
    assert_true(ss_step_has_process(&made.steps, made.process));
    assert_false(ss_step_has_process(&made.steps, made.other));
    end(&made);
}

static void phases_are_found_by_time(void **state)
{
    (void)state;
    struct made made;
    begin(&made);
    const struct ss_phase_times *phases = &made.steps.index.phases;
    assert_int_equal(phases->parts.count, 2);
    assert_ptr_equal(ss_phase_times_at(phases, made.process, 100), &phases->parts.data[0]);
    assert_ptr_equal(ss_phase_times_at(phases, made.process, 189), &phases->parts.data[1]);
    assert_null(ss_phase_times_at(phases, made.process, 150));
    assert_null(ss_phase_times_at(phases, made.process, 190));
    assert_null(ss_phase_times_at(phases, made.other, 100));
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_found_by_role),
        cmocka_unit_test(steps_are_found_by_time),
        cmocka_unit_test(phases_are_found_by_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
