/* SPDX-License-Identifier: Apache-2.0 */
/* Which collective a training waits for most, by the module that it belongs to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "../model_builder.h"
#include "analysis/ranks/exposed_collectives.h"
#include "analysis/report/report_parts.h"

#define MS UINT64_C(1000000)

enum { STEPS = 20 };

struct made {
    struct ss_model model;
    struct ss_selection selection;
    struct ss_step_summary steps;
    uint32_t collectives, phases;
};

static void add_field(struct ss_model *model, struct ss_model_field field)
{
    ss_vec_push(&model->fields, field);
}

/* bucket -1: of no bucket; module NULL: unknown */
static uint32_t payload_of(struct ss_model *model, const char *module, int64_t bucket)
{
    struct ss_model_payload payload = {.first_field = (uint32_t)model->fields.count};
    if (module != NULL) {
        add_field(model, (struct ss_model_field){.field = SS_EVENT_FIELD_module,
                                                 .type = SS_VALUE_TEXT,
                                                 .text = build_text(model, module)});
    }
    if (bucket >= 0) {
        add_field(model, (struct ss_model_field){.field = SS_EVENT_FIELD_bucket,
                                                 .type = SS_VALUE_UINT,
                                                 .natural = (uint64_t)bucket});
        add_field(model, (struct ss_model_field){
                             .field = SS_EVENT_FIELD_buckets, .type = SS_VALUE_UINT, .natural = 4});
    }
    add_field(model, (struct ss_model_field){.field = 0});
    ss_vec_push(&model->payloads, payload);
    return (uint32_t)model->payloads.count - 1;
}

static void add_collective(struct made *made, const char *name, uint64_t begin_ns, uint64_t ms,
                           uint32_t payload)
{
    BUILD_RANGE(&made->model, .track = made->collectives, .name = name, .begin_ns = begin_ns,
                .end_ns = begin_ns + ms * MS, .payload = payload);
}

/* Of each step of 20 ms: 2 ms for layers.0, 3 ms for layers.1, and 4 ms of which nothing is known.
 */
static void begin(struct made *made, int64_t bucket)
{
    struct ss_selection_options all = {.idle = SS_IDLE_ALL};
    struct ss_steps_options none = {0};
    *made = (struct made){0};
    ss_model_init(&made->model);
    struct ss_model *model = &made->model;
    uint32_t process = BUILD_PROCESS(model, .pid = 40);
    uint32_t steps = BUILD_TRACK(model, .kind = SS_TRACK_STEPS, .process = process, .name = "step");
    made->phases = BUILD_TRACK(model, .kind = SS_TRACK_PHASES, .process = process, .name = "phase");
    made->collectives =
        BUILD_TRACK(model, .kind = SS_TRACK_ASYNC, .process = process, .name = "torch");
    for (uint64_t i = 0; i < STEPS; i++) {
        BUILD_RANGE(model, .track = steps, .name = "step", .begin_ns = (1000 + 20 * i) * MS,
                    .end_ns = (1020 + 20 * i) * MS);
    }
    for (uint64_t i = 0; i < STEPS; i++) {
        uint64_t at = (1000 + 20 * i) * MS;
        BUILD_RANGE(model, .track = made->phases, .name = "communication", .begin_ns = at,
                    .end_ns = at + 12 * MS);
        BUILD_RANGE(model, .track = made->phases, .name = "forward", .begin_ns = at + 12 * MS,
                    .end_ns = at + 20 * MS);
    }
    uint32_t first = payload_of(model, "layers.0", -1),
             second = payload_of(model, "layers.1", bucket);
    uint32_t unknown = payload_of(model, NULL, -1);
    for (uint64_t i = 0; i < STEPS; i++) {
        uint64_t at = (1000 + 20 * i) * MS;
        add_collective(made, "gloo:all_gather", at, 2, first);
        add_collective(made, "gloo:all_gather", at + 3 * MS, 3, second);
        add_collective(made, "gloo:all_gather", at + 7 * MS, 4, unknown);
    }
    assert_int_equal(ss_selection_init(&made->selection, model, &all, NULL), SS_OK);
    ss_step_summary_init(&made->steps, &made->selection, &none);
}

static void end(struct made *made)
{
    ss_step_summary_fini(&made->steps);
    ss_selection_fini(&made->selection);
    ss_model_fini(&made->model);
}

static void check_sentence(const struct ss_sentence *sentence, const char *expected)
{
    char text[256] = "";
    for (const struct ss_part *part = sentence->first; part != NULL; part = part->next) {
        size_t used = strlen(text);
        if (part->kind == SS_PART_WORDS || part->kind == SS_PART_NAME) {
            snprintf(text + used, sizeof text - used, "%s", part->text.data);
        } else if (part->kind == SS_PART_PERCENT) {
            snprintf(text + used, sizeof text - used, "%.0f %%", part->real);
        } else {
            snprintf(text + used, sizeof text - used, "%lld", (long long)part->integer);
        }
    }
    assert_string_equal(text, expected);
}

static void check_text(const struct made *made, const struct ss_exposed_collective *exposed,
                       const char *expected)
{
    struct ss_arena arena = {0};
    struct ss_sentence sentence = ss_sentence_of(&arena);
    ss_exposed_collective_add(&made->model, exposed, &sentence);
    check_sentence(&sentence, expected);
    ss_arena_fini(&arena);
}

static void test_the_longest_is_named(void **state)
{
    (void)state;
    struct made made;
    begin(&made, -1);
    struct ss_exposed_collective exposed = ss_exposed_on_host(&made.model, &made.steps);
    assert_int_equal(exposed.count, made.steps.steady);
    assert_int_equal(exposed.ns, made.steps.steady * 3 * MS);
    assert_int_equal(exposed.all_ns, made.steps.steady * 5 * MS);
    check_text(&made, &exposed, "all_gather of layers.1");
    end(&made);
}

static void test_a_bucket_has_its_number(void **state)
{
    (void)state;
    struct made made;
    begin(&made, 2);
    struct ss_exposed_collective exposed = ss_exposed_on_host(&made.model, &made.steps);
    check_text(&made, &exposed, "all_gather of layers.1 (bucket 2 of 4)");
    end(&made);
}

static void check_finding(const struct made *made, const struct ss_finding *finding)
{
    struct ss_arena arena = {0};
    struct ss_document_finding shown = {0};
    ss_report_fill_finding(finding, &made->model, &arena, &shown);
    assert_int_equal(shown.details.count, 1);
    check_sentence(&shown.details.data[0], "longest: all_gather of layers.1, 60 % of the waits for "
                                           "collectives whose module is known");
    ss_vec_fini(&shown.details);
    ss_vec_fini(&shown.evidence);
    ss_arena_fini(&arena);
}

static void test_the_finding_has_it(void **state)
{
    (void)state;
    struct made made;
    struct ss_training_facts facts;
    struct ss_diagnosis diagnosis;
    bool is_found = false;
    begin(&made, -1);
    struct ss_source_lines source = {NULL, NULL};
    ss_training_facts_init(&facts, &made.selection, &made.steps, &source);
    ss_diagnosis_init(&diagnosis, &facts);
    for (size_t i = 0; i < diagnosis.findings.count; i++) {
        const struct ss_finding *finding = &diagnosis.findings.data[i];
        if (strcmp(finding->rule->id, "communication") == 0) {
            is_found = true;
            check_finding(&made, finding);
        }
    }
    assert_true(is_found);
    ss_diagnosis_fini(&diagnosis);
    ss_training_facts_fini(&facts);
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_longest_is_named),
                                       cmocka_unit_test(test_a_bucket_has_its_number),
                                       cmocka_unit_test(test_the_finding_has_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
