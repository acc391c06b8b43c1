/* SPDX-License-Identifier: Apache-2.0 */
/* The public reader over the golden trace of ranges (made by tests/bench/trace_ranges.c, which
 * describes its content), and over what is left of it when bytes are missing or turned. */
#include <stepscope/reader.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define MS 1000000
static const char golden[] = SS_TEST_SOURCE_DIR "/tests/golden/good/tracks.pftrace";

struct seen {
    const stepscope_reader *reader;
    unsigned by_kind[6], cut, deepest, points, arrows, notes;
    uint64_t forward_ns, attention_ns, last_begin_ns;
    uint32_t last_track, last_lane;
    int64_t steps;
    double loss, tokens, payloads;
    unsigned values, stop_after;
};

static int visit_range(void *context, const stepscope_range *range)
{
    struct seen *seen = context;
    const stepscope_track *track = stepscope_reader_track(seen->reader, range->track_ref);
    assert_non_null(track);
    assert_true(range->begin_ns <= range->end_ns);
    bool same = range->track_ref == seen->last_track && range->lane == seen->last_lane;
    assert_true(!same || range->begin_ns >= seen->last_begin_ns);
    seen->last_track = range->track_ref;
    seen->last_lane = range->lane;
    seen->last_begin_ns = range->begin_ns;
    seen->by_kind[track->kind]++;
    seen->cut += range->end_unseen != 0;
    seen->deepest = range->depth > seen->deepest ? range->depth : seen->deepest;
    if (track->kind == STEPSCOPE_TRACK_STEPS) {
        assert_int_equal(range->payload.type, STEPSCOPE_VALUE_UNSIGNED);
        seen->steps += (int64_t)range->payload.unsigned_value;
    } else if (track->kind == STEPSCOPE_TRACK_RANGES) {
        const stepscope_event_name *name =
            stepscope_reader_event_name(seen->reader, range->name_ref);
        uint64_t duration_ns = range->end_ns - range->begin_ns;
        if (strcmp(name->text, "forward") == 0) {
            assert_string_equal(name->category, "compute");
            seen->forward_ns += duration_ns;
            seen->payloads += (double)range->payload.signed_value;
        } else if (strcmp(name->text, "attention") == 0) {
            seen->attention_ns += duration_ns;
        }
    }
    return seen->stop_after != 0 && --seen->stop_after == 0;
}

static int visit_mark(void *context, const stepscope_mark *mark)
{
    struct seen *seen = context;
    seen->points += mark->flow_id == 0;
    seen->arrows += mark->flow_ends != 0;
    if (mark->flow_id == 0) {
        assert_string_equal(stepscope_reader_event_name(seen->reader, mark->name_ref)->text,
                            "checkpoint saved");
        assert_int_equal(mark->payload.type, STEPSCOPE_VALUE_TEXT);
        assert_string_equal(mark->payload.text, "a.pt");
    }
    return 0;
}

static int visit_value(void *context, const stepscope_counter_value *value)
{
    struct seen *seen = context;
    const stepscope_track *track = stepscope_reader_track(seen->reader, value->track_ref);
    seen->values++;
    if (strcmp(track->name, "tokens") == 0) {
        assert_int_equal(track->values, STEPSCOPE_VALUES_DELTA);
        assert_string_equal(track->unit, "count");
        seen->tokens = value->real;
    } else if (strcmp(track->name, "loss") == 0) {
        seen->loss = value->real;
    } else {
        const stepscope_track *group = stepscope_reader_track(seen->reader, track->parent_ref);
        assert_int_equal(group->kind, STEPSCOPE_TRACK_GROUP);
    }
    return 0;
}

static int visit_note(void *context, const stepscope_note *note)
{
    struct seen *seen = context;
    assert_true(note->kind[0] != '\0');
    seen->notes++;
    return 0;
}

static void test_golden(void **state)
{
    (void)state;
    struct seen seen = {0};
    stepscope_reader *reader;
    stepscope_error error;
    assert_int_equal(stepscope_reader_open(golden, &reader, &error), STEPSCOPE_OK);
    assert_int_equal(stepscope_reader_summary(reader)->counter_values, 12);
    assert_int_equal(stepscope_reader_summary(reader)->lost_events, 0);
    assert_int_equal(stepscope_reader_track_count(reader), 12);
    assert_int_equal(stepscope_reader_event_name_count(reader), 9);
    assert_null(stepscope_reader_track(reader, 0));
    assert_null(stepscope_reader_track(reader, 13));
    assert_null(stepscope_reader_event_name(reader, UINT32_MAX));
    seen.reader = reader;
    assert_int_equal(stepscope_reader_each_range(reader, visit_range, &seen, &error), STEPSCOPE_OK);
    assert_int_equal(seen.by_kind[STEPSCOPE_TRACK_RANGES], 22);
    assert_int_equal(seen.by_kind[STEPSCOPE_TRACK_ASYNC], 6);
    assert_int_equal(seen.by_kind[STEPSCOPE_TRACK_STEPS], 3);
    assert_int_equal(seen.by_kind[STEPSCOPE_TRACK_PHASES], 6);
    assert_int_equal(seen.cut, 1);
    assert_int_equal(seen.deepest, 1);
    assert_int_equal(seen.steps, 1 + 2 + 3);
    assert_int_equal(seen.forward_ns, 120 * MS);
    assert_int_equal(seen.attention_ns, 60 * MS);
    assert_true(seen.payloads == 96);
    assert_int_equal(stepscope_reader_each_mark(reader, visit_mark, &seen, NULL), STEPSCOPE_OK);
    assert_int_equal(seen.points, 1);
    assert_int_equal(seen.arrows, 3);
    assert_int_equal(stepscope_reader_each_counter_value(reader, visit_value, &seen, NULL),
                     STEPSCOPE_OK);
    assert_int_equal(seen.values, 12);
    assert_true(seen.tokens == 1536 && seen.loss == 4.0 / 3);
    assert_int_equal(stepscope_reader_each_note(reader, visit_note, &seen, NULL), STEPSCOPE_OK);
    struct seen few = {.reader = reader, .stop_after = 2};
    assert_int_equal(stepscope_reader_each_range(reader, visit_range, &few, NULL), STEPSCOPE_OK);
    assert_int_equal(few.by_kind[0] + few.by_kind[1] + few.by_kind[3] + few.by_kind[4], 2);
    stepscope_reader_close(reader);
}

static int count_range(void *context, const stepscope_range *range)
{
    const struct seen *seen = context;
    assert_true(range->begin_ns <= range->end_ns);
    assert_non_null(stepscope_reader_track(seen->reader, range->track_ref));
    return 0;
}

static int count_mark(void *context, const stepscope_mark *mark)
{
    const struct seen *seen = context;
    assert_non_null(stepscope_reader_track(seen->reader, mark->track_ref));
    return 0;
}

static int count_value(void *context, const stepscope_counter_value *value)
{
    const struct seen *seen = context;
    assert_non_null(stepscope_reader_track(seen->reader, value->track_ref));
    return 0;
}

static void walk_all(const char *path)
{
    stepscope_reader *reader;
    if (stepscope_reader_open(path, &reader, NULL) == STEPSCOPE_OK) {
        struct seen seen = {.reader = reader};
        stepscope_reader_each_range(reader, count_range, &seen, NULL);
        stepscope_reader_each_mark(reader, count_mark, &seen, NULL);
        stepscope_reader_each_counter_value(reader, count_value, &seen, NULL);
        stepscope_reader_each_note(reader, visit_note, &seen, NULL);
    }
    stepscope_reader_close(reader);
}

static void test_damage_never_breaks(void **state)
{
    (void)state;
    static unsigned char bytes[1 << 16], turned[1 << 16];
    FILE *file = fopen(golden, "rb");
    assert_non_null(file);
    size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    char path[] = "/tmp/stepscope-reader-tracks-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (size_t at = 0; at < length; at += 7) {
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, bytes, at, 0), (ssize_t)at);
        walk_all(path);
        memcpy(turned, bytes, length);
        turned[at] ^= 0x55;
        assert_int_equal(pwrite(fd, turned, length, 0), (ssize_t)length);
        walk_all(path);
    }
    close(fd);
    unlink(path);
}

static int visit_fields(void *context, const stepscope_range *range)
{
    struct seen *seen = context;
    const stepscope_event_name *name = stepscope_reader_event_name(seen->reader, range->name_ref);
    bool is_kernel = strcmp(name->type, "kernel") == 0;
    assert_true(is_kernel || strcmp(name->type, "collective") == 0);
    assert_int_equal(range->field_count, 7);
    assert_string_equal(range->fields[0].name, is_kernel ? "stream" : "group");
    const stepscope_field *bytes = &range->fields[is_kernel ? 6 : 4];
    assert_string_equal(bytes->name, "bytes");
    assert_string_equal(bytes->unit, "bytes");
    assert_int_equal(bytes->value.type, STEPSCOPE_VALUE_SIGNED);
    const stepscope_field *text = &range->fields[5];
    assert_string_equal(text->value.text, is_kernel ? "bfloat16" : "sum");
    seen->payloads++;
    return 0;
}

static void test_typed_fields(void **state)
{
    (void)state;
    stepscope_reader *reader;
    static const char path[] = SS_TEST_SOURCE_DIR "/tests/golden/good/entities.pftrace";
    assert_int_equal(stepscope_reader_open(path, &reader, NULL), STEPSCOPE_OK);
    struct seen seen = {.reader = reader};
    assert_int_equal(stepscope_reader_each_range(reader, visit_fields, &seen, NULL), STEPSCOPE_OK);
    assert_true(seen.payloads == 4);
    stepscope_reader_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden),
                                       cmocka_unit_test(test_damage_never_breaks),
                                       cmocka_unit_test(test_typed_fields)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
