/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts, contexts, streams and groups as rows of the model, which two files of one recording share.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../trace/entity_recording.h"
#include "model/core/model.h"

static void check(const struct ss_model *model)
{
    assert_int_equal(model->hosts.count, 2); /* row 0 is "none" */
    assert_string_equal(ss_model_text(model, model->hosts.data[1].boot), "5c1f-boot");
    assert_int_equal(model->hosts.data[1].time_namespace, 4026531834);
    assert_int_equal(model->contexts.count, 2);
    assert_int_equal(model->contexts.data[1].process, 1);
    assert_int_equal(model->contexts.data[1].device, 1);
    assert_int_equal(model->streams.count, 3);
    assert_int_equal(model->streams.data[1].context, 1);
    assert_string_equal(ss_model_text(model, model->streams.data[2].name), "copies");
    assert_int_equal(model->groups.count, 3);
    assert_int_equal(model->groups.data[1].kind, SS_GROUP_NCCL);
    assert_int_equal(model->groups.data[1].run_count, 1);
    const struct ss_rank_run *all = &model->rank_runs.data[model->groups.data[1].first_run];
    assert_true(all->first == 0 && all->count == 64 && all->stride == 1);
    const struct ss_model_process *process = &model->processes.data[1];
    assert_true(process->host == 1 && process->has_rank && process->rank == 0);
    assert_true(process->has_local_rank && process->local_rank == 3 && process->world_size == 64);
    assert_int_equal(process->role, SS_PROCESS_ROLE_TRAINS);
}

static const struct ss_model_field *field_of(const struct ss_model *model, size_t range,
                                             uint32_t field)
{
    return ss_model_field_of(model, model->ranges.data[range].payload, field);
}

/* The ranges of the first stream, then those of the second. */
static void check_fields(const struct ss_model *model)
{
    const struct ss_model_path *path = &model->paths.data[model->ranges.data[0].path];
    assert_int_equal(model->names.data[path->name].type, SS_EVENT_TYPE_kernel);
    assert_int_equal(field_of(model, 2, SS_EVENT_FIELD_grid_x)->natural, 4);
    assert_int_equal(field_of(model, 2, SS_EVENT_FIELD_bytes)->integer, -4);
    assert_true(field_of(model, 2, SS_EVENT_FIELD_occupancy)->real == 62.5);
    assert_string_equal(ss_model_text(model, field_of(model, 2, SS_EVENT_FIELD_datatype)->text),
                        "bfloat16");
    assert_null(field_of(model, 2, SS_EVENT_FIELD_group));
    assert_int_equal(field_of(model, 5, SS_EVENT_FIELD_group)->natural, 2);
    assert_int_equal(field_of(model, 5, SS_EVENT_FIELD_stream)->natural, 2);
    assert_null(ss_model_field_of(model, 0, SS_EVENT_FIELD_bytes));
}

static void two_files_share_entities(void **state)
{
    (void)state;
    char first[600], second[700];
    snprintf(first, sizeof first, "%s", recording_path("entities-one"));
    snprintf(second, sizeof second, "%s", recording_path("entities-two"));
    entity_recording_write(first, 10);
    entity_recording_write(second, 10);
    struct ss_model model;
    struct ss_model_load how = {.size = sizeof how};
    ss_model_init(&model);
    MUST(ss_model_add_input(&model, first, &how, must_err));
    check(&model);
    check_fields(&model);
    assert_int_equal(model.tracks.data[2].stream, 2);
    /* The host's boot and clock make it a clock domain, without attributes. */
    assert_int_equal(model.inputs.data[0].clock_domain, 1);
    MUST(ss_model_add_input(&model, second, &how, must_err));
    assert_int_equal(model.inputs.data[1].clock_domain, 1);
    assert_int_equal(model.hosts.count, 2);
    assert_int_equal(model.contexts.count, 2);
    assert_int_equal(model.streams.count, 3);
    assert_int_equal(model.tracks.count, 3);
    assert_int_equal(model.ranges.count, 20);
    ss_model_fini(&model);
    unlink(first);
    unlink(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_files_share_entities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
