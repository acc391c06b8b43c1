/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of programs that no optimizer updates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "../model_builder.h"
#include "model/builder/load_tracks.h"

struct made {
    struct ss_model model;
    uint32_t process, steps, phases;
};

static void add_range(struct made *made, uint32_t track, const char *name, uint64_t begin_ns,
                      uint64_t end_ns, uint8_t flags)
{
    BUILD_RANGE(&made->model, .track = track, .name = name, .begin_ns = begin_ns, .end_ns = end_ns,
                .flags = flags);
}

static void add_process(struct made *made, int32_t pid)
{
    struct ss_model *model = &made->model;
    made->process = BUILD_PROCESS(model, .pid = pid);
    made->steps =
        BUILD_TRACK(model, .kind = SS_TRACK_STEPS, .process = made->process, .name = "step");
    made->phases =
        BUILD_TRACK(model, .kind = SS_TRACK_PHASES, .process = made->process, .name = "phase");
    add_range(made, made->steps, "step", 0, 10000, SS_RANGE_END_UNSEEN);
}

static void begin(struct made *made)
{
    *made = (struct made){0};
    ss_model_init(&made->model);
    ss_vec_push(&made->model.inputs, (struct ss_model_input){0});
    add_process(made, 42);
}

/* `count` loops of 100 ns from `at_ns` on; a phase per letter, 10 ns each, with a gap of 5 behind
 * it: d data, f forward, e evaluation, b backward, o optimizer. */
static void add_loops(struct made *made, uint64_t at_ns, unsigned count, const char *phases)
{
    static const char *const names[] = {"data", "forward", "evaluation", "backward", "optimizer"};
    for (unsigned i = 0; i < count; i++) {
        uint64_t begin_ns = at_ns + UINT64_C(100) * i;
        for (const char *letter = phases; *letter != '\0'; letter++) {
            const char *found = strchr("dfebo", *letter);
            assert_non_null(found);
            add_range(made, made->phases, names[found - "dfebo"], begin_ns, begin_ns + 10, 0);
            begin_ns += 15;
        }
    }
}

static size_t step_count(const struct made *made, uint32_t track)
{
    size_t count = 0;
    for (size_t i = 0; i < made->model.ranges.count; i++) {
        const struct ss_model_range *range = &made->model.ranges.data[i];
        count += range->track == track && (range->flags & SS_RANGE_END_UNSEEN) == 0;
    }
    return count;
}

/* From the end of one backward pass to that of the next. */
static void test_backward_passes(void **state)
{
    (void)state;
    struct made made;
    begin(&made);
    add_loops(&made, 1000, 4, "dfb");
    size_t before = made.model.ranges.count;
    ss_load_derive_steps(&made.model, 0);
    assert_int_equal(made.model.ranges.count, before + 4);
    for (uint64_t i = 0; i < 4; i++) {
        const struct ss_model_range *step = &made.model.ranges.data[before + i];
        assert_int_equal(step->track, made.steps);
        assert_int_equal(step->begin_ns, i == 0 ? 1000 : 1040 + 100 * (i - 1));
        assert_int_equal(step->end_ns, 1040 + 100 * i);
        assert_int_equal(made.model.payloads.data[step->payload].integer, i);
    }
    assert_int_equal(made.model.notes.count, 1);
    assert_string_equal(ss_model_text(&made.model, made.model.notes.data[0].text),
                        "torch.steps = backward passes");
    ss_model_fini(&made.model);
}

static size_t steps_of(const char *phases, unsigned count)
{
    struct made made;
    begin(&made);
    add_loops(&made, 1000, count, phases);
    ss_load_derive_steps(&made.model, 0);
    size_t found = step_count(&made, made.steps);
    ss_model_fini(&made.model);
    return found;
}

static void test_what_makes_steps(void **state)
{
    (void)state;
    assert_int_equal(steps_of("fb", 3), 3);
    assert_int_equal(steps_of("fb", 2), 0);  /* no loop */
    assert_int_equal(steps_of("fbo", 5), 0); /* the updates make them, elsewhere */
    assert_int_equal(steps_of("f", 4), 4);   /* an inference */
    assert_int_equal(steps_of("df", 4), 4);
    assert_int_equal(steps_of("dff", 4), 4); /* a second model, or a metric, with the same batch */
    assert_int_equal(steps_of("ff", 4), 8);  /* who knows? */
    assert_int_equal(steps_of("d", 9), 0);
}

/* A pass that communication or compiling interrupts is one. */
static void test_a_pass_that_goes_on(void **state)
{
    (void)state;
    struct made made;
    begin(&made);
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t at_ns = 1000 + 100 * i;
        add_range(&made, made.phases, "forward", at_ns, at_ns + 20, 0);
        add_range(&made, made.phases, "backward", at_ns + 20, at_ns + 40, 0);
        add_range(&made, made.phases, "communication", at_ns + 40, at_ns + 50, 0);
        add_range(&made, made.phases, "backward", at_ns + 50, at_ns + 60, 0);
    }
    ss_load_derive_steps(&made.model, 0);
    assert_int_equal(step_count(&made, made.steps), 3);
    const struct ss_model_range *first = NULL;
    for (size_t i = made.model.ranges.count; i-- > 0;) {
        const struct ss_model_range *range = &made.model.ranges.data[i];
        first =
            range->track == made.steps && (range->flags & SS_RANGE_END_UNSEEN) == 0 ? range : first;
    }
    assert_int_equal(first->end_ns, 1060);
    ss_model_fini(&made.model);
}

static void test_own_steps_stay(void **state)
{
    (void)state;
    struct made made;
    begin(&made);
    add_range(&made, made.steps, "step", 1000, 1100, 0);
    add_loops(&made, 1000, 4, "fb");
    ss_load_derive_steps(&made.model, 0);
    assert_int_equal(step_count(&made, made.steps), 1);
    assert_int_equal(made.model.notes.count, 0);
    ss_model_fini(&made.model);
}

/* The parent of processes that train evaluates at the end: it infers nothing. */
static void test_evaluation_beside_a_training(void **state)
{
    (void)state;
    struct made made;
    begin(&made);
    add_loops(&made, 5000, 6, "e");
    uint32_t of_parent = made.steps;
    add_process(&made, 43);
    add_loops(&made, 1000, 6, "fb");
    ss_load_derive_steps(&made.model, 0);
    assert_int_equal(step_count(&made, of_parent), 0);
    assert_int_equal(step_count(&made, made.steps), 6);
    ss_model_fini(&made.model);
}

/* What evaluates where nothing is trained is an inference. */
static void test_evaluation_alone(void **state)
{
    (void)state;
    struct made made;
    begin(&made);
    add_loops(&made, 1000, 4, "e");
    ss_load_derive_steps(&made.model, 0);
    assert_int_equal(step_count(&made, made.steps), 4);
    size_t inferences = 0;
    for (size_t i = 0; i < made.model.ranges.count; i++) {
        const struct ss_model_range *range = &made.model.ranges.data[i];
        uint32_t name = made.model.paths.data[range->path].name;
        inferences +=
            range->track == made.phases &&
            strcmp(ss_model_text(&made.model, made.model.names.data[name].text), "inference") == 0;
    }
    assert_int_equal(inferences, 4);
    ss_model_fini(&made.model);
}

/* A range of a thread of the process. */
static uint32_t add_torch_track(struct made *made, int64_t tid)
{
    uint32_t thread = BUILD_THREAD(&made->model, .process = made->process, .tid = tid);
    return BUILD_TRACK(&made->model, .kind = SS_TRACK_RANGES, .process = made->process,
                       .thread = thread, .name = "torch");
}

static void derive(struct made *made)
{
    ss_load_derive_marked_steps(&made->model, 0);
    ss_load_derive_steps(&made->model, 0);
}

/* Numbers of the steps on the track, of which each is 100 ns. */
static void check_numbers(const struct made *made, uint32_t track, const int64_t *numbers,
                          size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < made->model.ranges.count; i++) {
        const struct ss_model_range *range = &made->model.ranges.data[i];
        if (range->track == track && (range->flags & SS_RANGE_END_UNSEEN) == 0) {
            assert_true(found < count);
            assert_int_equal(made->model.payloads.data[range->payload].integer, numbers[found]);
            assert_int_equal(range->end_ns - range->begin_ns, 100);
            found++;
        }
    }
    assert_int_equal(found, count);
}

/* Two steps, and the empty one that the end of the profile closes; those of another thread, such as
 * of a second profile, do not count. */
static void test_steps_of_the_programs_profiler(void **state)
{
    (void)state;
    struct made made;
    begin(&made);
    uint32_t torch = add_torch_track(&made, 42), other = add_torch_track(&made, 43);
    add_range(&made, torch, "ProfilerStep#7", 1000, 1100, 0);
    add_range(&made, torch, "aten::mm", 1010, 1090, 0);
    add_range(&made, torch, "ProfilerStep#8", 1100, 1200, 0);
    add_range(&made, torch, "ProfilerStep#9", 1200, 1205, 0);
    add_range(&made, other, "ProfilerStep#0", 1000, 1100, 0);
    add_range(&made, other, "aten::mm", 1010, 1090, 0);
    derive(&made);
    check_numbers(&made, made.steps, (int64_t[]){7, 8}, 2);
    const struct ss_model_note *note = &made.model.notes.data[0];
    assert_int_equal(made.model.notes.count, 1);
    assert_string_equal(ss_model_text(&made.model, note->text),
                        "torch.steps = the program's torch.profiler");
    assert_int_equal(note->time_ns, 1200);
    ss_model_fini(&made.model);
}

/* A last step that something ran in is one; so is one that is cut by none. */
static void test_a_last_step_with_work(void **state)
{
    (void)state;
    struct made made;
    begin(&made);
    uint32_t torch = add_torch_track(&made, 42);
    add_range(&made, torch, "ProfilerStep#0", 1000, 1100, 0);
    add_range(&made, torch, "ProfilerStep#1", 1100, 1200, 0);
    add_range(&made, torch, "aten::mm", 1110, 1190, 0);
    add_range(&made, torch, "ProfilerStep#2", 1200, 1300, SS_RANGE_END_UNSEEN);
    derive(&made);
    check_numbers(&made, made.steps, (int64_t[]){0, 1}, 2);
    ss_model_fini(&made.model);
}

/* Without a track of steps, it gets one; passes are not steps then. */
static void test_they_precede_passes(void **state)
{
    (void)state;
    struct made made;
    begin(&made);
    add_loops(&made, 1000, 4, "dfb");
    made.model.tracks.data[made.steps].kind = SS_TRACK_RANGES;
    uint32_t torch = add_torch_track(&made, 42);
    add_range(&made, torch, "ProfilerStep#0", 1000, 1100, 0);
    add_range(&made, torch, "ProfilerStep#1", 1100, 1200, 0);
    add_range(&made, torch, "aten::mm", 1110, 1190, 0);
    size_t tracks = made.model.tracks.count;
    derive(&made);
    assert_int_equal(made.model.tracks.count, tracks + 1);
    assert_int_equal(made.model.tracks.data[tracks].kind, SS_TRACK_STEPS);
    assert_int_equal(made.model.tracks.data[tracks].process, made.process);
    check_numbers(&made, (uint32_t)tracks, (int64_t[]){0, 1}, 2);
    assert_int_equal(made.model.notes.count, 1);
    ss_model_fini(&made.model);
}

/* What the program marks itself, or its optimizer, is better. */
static void test_own_steps_precede_them(void **state)
{
    (void)state;
    struct made made;
    begin(&made);
    add_range(&made, made.steps, "step", 10000, 10100, 0);
    uint32_t torch = add_torch_track(&made, 42);
    add_range(&made, torch, "ProfilerStep#0", 1000, 1100, 0);
    add_range(&made, torch, "ProfilerStep#1", 1100, 1200, 0);
    derive(&made);
    assert_int_equal(step_count(&made, made.steps), 1);
    assert_int_equal(made.model.notes.count, 0);
    ss_model_fini(&made.model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backward_passes),
        cmocka_unit_test(test_what_makes_steps),
        cmocka_unit_test(test_a_pass_that_goes_on),
        cmocka_unit_test(test_own_steps_stay),
        cmocka_unit_test(test_evaluation_beside_a_training),
        cmocka_unit_test(test_evaluation_alone),
        cmocka_unit_test(test_steps_of_the_programs_profiler),
        cmocka_unit_test(test_a_last_step_with_work),
        cmocka_unit_test(test_they_precede_passes),
        cmocka_unit_test(test_own_steps_precede_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
