/* SPDX-License-Identifier: Apache-2.0 */
/* XSpaces of JAX and TensorFlow, encoded here field by field. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/shared_names.h"
#include "model/files/importer.h"
#include "wire/proto.h"

static struct ss_model model;
static struct ss_error err;
static struct ss_wire_buffer space;

/* --- writing: the numbers are those of xplane.proto ------------------------------------------- */

static void put_entry(uint32_t map, uint64_t id, const char *name, const char *shown)
{
    size_t entry = ss_wire_begin(&space, map);
    ss_wire_put_uint(&space, 1, id);
    size_t value = ss_wire_begin(&space, 2);
    ss_wire_put_uint(&space, 1, id);
    ss_wire_put_text(&space, 2, name);
    if (shown != NULL) {
        ss_wire_put_text(&space, 4, shown);
    }
    ss_wire_end(&space, value);
    ss_wire_end(&space, entry);
}

static void put_event(uint64_t name, uint64_t offset_ps, uint64_t duration_ps, int step)
{
    size_t event = ss_wire_begin(&space, 4);
    ss_wire_put_uint(&space, 1, name);
    ss_wire_put_nonzero(&space, 2, offset_ps);
    ss_wire_put_nonzero(&space, 3, duration_ps);
    if (step >= 0) {
        size_t stat = ss_wire_begin(&space, 4);
        ss_wire_put_uint(&space, 1, 9);
        ss_wire_put_uint(&space, 4, (uint64_t)step);
        ss_wire_end(&space, stat);
    }
    ss_wire_end(&space, event);
}

static void put_stat(uint64_t name, uint64_t value)
{
    size_t stat = ss_wire_begin(&space, 6);
    ss_wire_put_uint(&space, 1, name);
    ss_wire_put_uint(&space, 3, value);
    ss_wire_end(&space, stat);
}

/* Three steps of a training with a call of Python in each, and an evaluation. Names come after the
 * lines that use them. */
static void put_host(void)
{
    size_t plane = ss_wire_begin(&space, 1);
    ss_wire_put_text(&space, 2, "/host:CPU");
    size_t line = ss_wire_begin(&space, 3);
    ss_wire_put_uint(&space, 1, 4711);
    ss_wire_put_text(&space, 2, "python");
    ss_wire_put_uint(&space, 3, 1000);
    for (int i = 0; i < 3; i++) {
        uint64_t at_ps = (uint64_t)i * 1000000;
        put_event(1, at_ps, 800000, i);
        put_event(3, at_ps + 100000, 200000, -1);
    }
    put_event(2, 4000000, 500000, 0);
    ss_wire_end(&space, line);
    put_entry(4, 1, "train", NULL);
    put_entry(4, 2, "eval", NULL);
    put_entry(4, 3, "$lib/data.py:42 batch", NULL);
    put_entry(5, 9, "step_num", NULL);
    put_entry(5, 7, "process_id", NULL);
    put_stat(7, 321);
    ss_wire_end(&space, plane);
}

static void put_device(void)
{
    size_t plane = ss_wire_begin(&space, 1);
    ss_wire_put_uint(&space, 1, 1);
    ss_wire_put_text(&space, 2, "/device:GPU:0");
    size_t line = ss_wire_begin(&space, 3);
    ss_wire_put_uint(&space, 1, 7);
    ss_wire_put_text(&space, 2, "Stream #7");
    ss_wire_put_uint(&space, 3, 1000);
    put_event(1, 300000, 250000, -1);
    ss_wire_end(&space, line);
    put_entry(4, 1, "%fusion.3 = f32[8]{0} fusion(a)", "fusion.3");
    ss_wire_end(&space, plane);
}

static void put_start(uint64_t start_ns)
{
    size_t plane = ss_wire_begin(&space, 1);
    ss_wire_put_text(&space, 2, "Task Environment");
    put_entry(5, 2, "profile_start_time", NULL);
    put_stat(2, start_ns);
    ss_wire_end(&space, plane);
}

/* --- reading ---------------------------------------------------------------------------------- */

static enum ss_status load(void)
{
    struct ss_import_file file = {.path = "a.xplane.pb",
                                  .head = (const char *)space.data,
                                  .head_length = space.length,
                                  .fd = -1};
    struct ss_model_load all = {.sample_phases = true, .quiet = true};
    ss_model_init(&model);
    return ss_importer_xspace.load(&model, &file, &all, &err);
}

static void end(void)
{
    ss_model_fini(&model);
    ss_wire_fini(&space);
    space = (struct ss_wire_buffer){0};
}

static const char *name_of(const struct ss_model_range *range)
{
    return ss_model_text(&model, model.names.data[model.paths.data[range->path].name].text);
}

/* The ranges of tracks of this kind. */
static size_t count(enum ss_track_kind kind, const char *name)
{
    size_t found = 0;
    for (size_t i = 0; i < model.ranges.count; i++) {
        const struct ss_model_range *range = &model.ranges.data[i];
        found += model.tracks.data[range->track].kind == kind && strcmp(name_of(range), name) == 0;
    }
    return found;
}

static void test_steps_have_their_numbers(void **state)
{
    (void)state;
    put_host();
    assert_int_equal(ss_importer_xspace.probe((const char *)space.data, space.length),
                     SS_IMPORT_CERTAIN);
    assert_int_equal(load(), SS_OK);
    int64_t next = 0;
    for (size_t i = 0; i < model.ranges.count; i++) {
        const struct ss_model_range *range = &model.ranges.data[i];
        if (model.tracks.data[range->track].kind == SS_TRACK_STEPS) {
            assert_int_equal(model.payloads.data[range->payload].integer, next);
            assert_int_equal(range->begin_ns, 1000 + 1000 * next);
            /* To the next mark: devices compute after the mark has ended. */
            bool is_last = next == 2;
            assert_int_equal(range->end_ns - range->begin_ns, is_last ? 800 : 1000);
            assert_int_equal((range->flags & SS_RANGE_END_UNSEEN) != 0, is_last);
            next++;
        }
    }
    assert_int_equal(next, 3);
    assert_int_equal(count(SS_TRACK_RANGES, "eval"), 1); /* of another loop */
    assert_int_equal(model.processes.data[model.processes.count - 1].pid, 321);
    end();
}

/* Calls of Python have their file and line, and are samples. */
static void test_calls_of_python(void **state)
{
    (void)state;
    put_host();
    assert_int_equal(load(), SS_OK);
    assert_int_equal(count(SS_TRACK_RANGES, "batch"), 3);
    bool is_found = false;
    for (size_t i = 1; i < model.names.count; i++) {
        const struct ss_model_name *name = &model.names.data[i];
        if (strcmp(ss_model_text(&model, name->text), "batch") == 0) {
            assert_string_equal(ss_model_text(&model, name->file), "lib/data.py");
            assert_int_equal(name->line, 42);
            is_found = true;
        }
    }
    assert_true(is_found);
    end();
}

static void test_work_of_a_device(void **state)
{
    (void)state;
    put_host();
    put_device();
    assert_int_equal(load(), SS_OK);
    size_t kernels = 0;
    for (size_t i = 0; i < model.ranges.count; i++) {
        const struct ss_model_range *range = &model.ranges.data[i];
        if (model.tracks.data[range->track].stream != 0) {
            assert_string_equal(name_of(range), "fusion.3");
            assert_int_equal(range->begin_ns, 1300);
            assert_int_equal(range->end_ns, 1550);
            kernels++;
        }
    }
    assert_int_equal(kernels, 1);
    end();
}

static void test_times_count_from_the_start_of_the_profile(void **state)
{
    (void)state;
    put_host();
    put_start(UINT64_C(1796142932000000000));
    assert_int_equal(load(), SS_OK);
    bool is_found = false;
    for (size_t i = 0; i < model.attributes.count; i++) {
        const struct ss_model_attribute *row = &model.attributes.data[i];
        if (strcmp(ss_model_text(&model, row->key), "start_realtime_ns") == 0) {
            assert_int_equal(row->integer, INT64_C(1796142932000001000));
            is_found = true;
        }
    }
    assert_true(is_found);
    end();
}

static void test_damage(void **state)
{
    (void)state;
    put_host();
    size_t whole = space.length;
    put_device();
    space.length = whole + 20; /* the second plane is cut */
    assert_int_equal(load(), SS_OK);
    assert_int_equal(count(SS_TRACK_RANGES, "batch"), 3);
    assert_false(model.inputs.data[0].summary.sealed);
    end();
    put_start(1);
    assert_int_equal(load(), SS_E_FORMAT);
    assert_non_null(strstr(err.message, "an XSpace without an event that can be read"));
    end();
}

static void test_others_are_not_taken_for_one(void **state)
{
    (void)state;
    static const char *const others[] = {"", "\n", "\n\x04text", "\n\x10\x0a\x0e", "{\"a\": 1}"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_equal(ss_importer_xspace.probe(others[i], strlen(others[i])), SS_IMPORT_NO);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_have_their_numbers),
        cmocka_unit_test(test_calls_of_python),
        cmocka_unit_test(test_work_of_a_device),
        cmocka_unit_test(test_times_count_from_the_start_of_the_profile),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_others_are_not_taken_for_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
