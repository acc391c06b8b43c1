/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds and typed fields of events: through a file with restart points, as debug annotations for
 * other programs, on all kinds of tracks; what the writer refuses and the reader skips. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "entity_recording.h"
#include "trace/encode.h"
#include "trace/encode_tracks.h"
#include "trace/profile.h"
#include "trace/rewrite.h"
#include "trace/unit.h"
#include "wire/perfetto.h"

struct seen {
    uint32_t begins, ends, types[3];
    uint32_t field_count; /* of the last event with fields */
    struct ss_event_value fields[SS_MAX_EVENT_FIELDS];
    char texts[SS_MAX_EVENT_FIELDS][64]; /* of `fields`: the reader's are gone after the event */
    bool is_checked;                     /* each start has the fields of entity_recording_fields */
};

static void assert_equal_fields(const struct ss_event_value *a, const struct ss_event_value *b)
{
    assert_int_equal(a->field, b->field);
    assert_int_equal(a->value.type, b->value.type);
    if (a->value.type == SS_VALUE_TEXT) {
        assert_true(ss_strview_equal(a->value.text, b->value.text));
    } else {
        assert_true(a->value.natural == b->value.natural);
    }
}

static enum ss_status on_name(void *context, const struct ss_trace_name *name)
{
    struct seen *seen = context;
    assert_in_range(name->ref, 1, 2);
    seen->types[name->ref] = name->type;
    return SS_OK;
}

static enum ss_status on_event(void *context, const struct ss_trace_event *event)
{
    struct seen *seen = context;
    if (event->kind == SS_EVENT_END) {
        seen->ends++;
        return SS_OK;
    }
    struct ss_event_value wanted[ENTITY_RECORDING_FIELDS];
    uint64_t number = (event->time_ns - RECORDING_START) / 10000;
    entity_recording_fields((uint32_t)number, wanted);
    for (uint32_t i = 0; seen->is_checked && i < ENTITY_RECORDING_FIELDS; i++) {
        assert_int_equal(event->field_count, ENTITY_RECORDING_FIELDS);
        assert_equal_fields(&event->fields[i], &wanted[i]);
    }
    seen->field_count = event->field_count;
    for (uint32_t i = 0; i < event->field_count; i++) {
        seen->fields[i] = event->fields[i];
        if (event->fields[i].value.type == SS_VALUE_TEXT) {
            struct ss_strview text = event->fields[i].value.text;
            assert_in_range(text.length, 0, sizeof seen->texts[i]);
            memcpy(seen->texts[i], text.data, text.length);
            seen->fields[i].value.text.data = seen->texts[i];
        }
    }
    seen->begins++;
    return SS_OK;
}

static const struct ss_trace_visitor visitor = {.name = on_name, .event = on_event};

static void fields_survive_restart_points(void **state)
{
    (void)state;
    struct ss_trace_summary summary;
    struct seen seen = {.is_checked = true};
    const char *path = recording_path("fields");
    entity_recording_write(path, 3000);
    MUST(ss_trace_read(path, &visitor, &seen, &summary, must_err));
    assert_true(summary.restart_points > 2);
    assert_int_equal(seen.begins, 3000);
    assert_int_equal(seen.ends, 3000);
    assert_int_equal(seen.types[1], SS_EVENT_TYPE_kernel);
    assert_int_equal(seen.types[2], SS_EVENT_TYPE_collective);
    unlink(path);
}

/* The events behind the damage have their fields. */
static void repair_keeps_fields(void **state)
{
    (void)state;
    struct ss_trace_summary summary;
    struct seen seen = {.is_checked = true};
    char path[600], repaired[700];
    snprintf(path, sizeof path, "%s", recording_path("fields"));
    snprintf(repaired, sizeof repaired, "%s.repaired", path);
    entity_recording_write(path, 3000);
    FILE *file = fopen(path, "r+");
    fseek(file, 200, SEEK_SET);
    fputs("damage", file);
    fclose(file);
    unlink(repaired);
    MUST(ss_trace_repair(path, repaired, &summary, must_err));
    MUST(ss_trace_read(repaired, &visitor, &seen, &summary, must_err));
    assert_in_range(seen.begins, 1000, 2999);
    unlink(path);
    unlink(repaired);
}

/* Steps, phases, lanes and marks are on the main sequence, which has definitions of its own. */
static void all_kinds_of_tracks_carry_fields(void **state)
{
    (void)state;
    static const enum ss_track_kind kinds[] = {SS_TRACK_RANGES, SS_TRACK_ASYNC, SS_TRACK_STEPS,
                                               SS_TRACK_PHASES};
    struct ss_trace_summary summary;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct seen seen = {0};
        const char *path = recording_path("fields");
        struct ss_trace_writer_options options = {
            .size = sizeof options, .path = path, .replay = true};
        struct ss_trace_writer *writer;
        MUST(ss_trace_writer_open(&options, &writer, must_err));
        entity_recording_define(writer);
        struct ss_trace_track track = {.ref = 3, .kind = kinds[i], .process_ref = 1};
        MUST(ss_trace_writer_track(writer, &track, must_err));
        struct ss_event_value fields[ENTITY_RECORDING_FIELDS];
        entity_recording_fields(1, fields);
        struct ss_trace_event event = {.time_ns = RECORDING_START,
                                       .track_ref = 3,
                                       .lane = kinds[i] == SS_TRACK_ASYNC,
                                       .name_ref = 2,
                                       .fields = fields,
                                       .field_count = ENTITY_RECORDING_FIELDS};
        MUST(ss_trace_writer_event(writer, &event, must_err));
        MUST(ss_trace_writer_close(writer, must_err));
        MUST(ss_trace_read(path, &visitor, &seen, &summary, must_err));
        assert_int_equal(seen.field_count, ENTITY_RECORDING_FIELDS);
        /* No track of the first stream is used: the second is the first of the file. */
        fields[1].value.natural = 1;
        for (uint32_t k = 0; k < ENTITY_RECORDING_FIELDS; k++) {
            assert_equal_fields(&seen.fields[k], &fields[k]);
        }
        unlink(path);
    }
}

static enum ss_status on_long_event(void *context, const struct ss_trace_event *event)
{
    struct ss_strbuf *lengths = context;
    for (uint32_t i = 0; i < event->field_count; i++) {
        struct ss_strview text = event->fields[i].value.text;
        assert_true(text.length == 0 || text.data[text.length - 1] == 'x');
        ss_strbuf_append_format(lengths, "%zu ", text.length);
    }
    return SS_OK;
}

/* Stacks and shapes of torch.profiler are kilobytes. One text has at most 16 KiB; the event behind
 * is whole. */
static void long_texts_are_stored(void **state)
{
    (void)state;
    enum { FIELDS = 7, LENGTH = 12000 };
    static char text[4 * LENGTH];
    struct ss_event_value fields[FIELDS];
    const char *path = recording_path("fields");
    struct ss_trace_writer_options options = {.size = sizeof options, .path = path, .replay = true};
    struct ss_trace_writer *writer;
    struct ss_trace_summary summary;
    struct ss_strbuf lengths;
    ss_strbuf_init(&lengths, 4096);
    memset(text, 'x', sizeof text);
    MUST(ss_trace_writer_open(&options, &writer, must_err));
    entity_recording_define(writer);
    for (int event = 0; event < 2; event++) {
        for (size_t i = 0; i < FIELDS; i++) {
            size_t length = event == 0 ? LENGTH : i == 0 ? sizeof text : 3;
            fields[i] = (struct ss_event_value){SS_EVENT_FIELD_stack,
                                                {SS_VALUE_TEXT, {.text = {text, length}}}};
        }
        struct ss_trace_event begin = {.time_ns = RECORDING_START + (uint64_t)event,
                                       .track_ref = 1,
                                       .name_ref = 1,
                                       .fields = fields,
                                       .field_count = event == 0 ? FIELDS : 2};
        MUST(ss_trace_writer_event(writer, &begin, must_err));
    }
    MUST(ss_trace_writer_close(writer, must_err));
    const struct ss_trace_visitor long_visitor = {.event = on_long_event};
    MUST(ss_trace_read(path, &long_visitor, &lengths, &summary, must_err));
    assert_string_equal(lengths.data, "12000 12000 12000 12000 12000 12000 12000 16384 3 ");
    ss_strbuf_fini(&lengths);
    unlink(path);
}

static void the_writer_refuses_other_types(void **state)
{
    (void)state;
    static const struct ss_event_value wrong[] = {
        {SS_EVENT_FIELD_bytes, {SS_VALUE_REAL, {.real = 1}}},
        {SS_EVENT_FIELD_NONE, {SS_VALUE_INT, {.integer = 1}}},
        {SS_EVENT_FIELD_COUNT, {SS_VALUE_INT, {.integer = 1}}},
        {SS_EVENT_FIELD_stream, {SS_VALUE_UINT, {.natural = 3}}},
        {SS_EVENT_FIELD_stream, {SS_VALUE_UINT, {.natural = UINT64_MAX}}}};
    struct ss_error err;
    struct ss_trace_writer_options options = {
        .size = sizeof options, .path = "/dev/null", .replay = true};
    struct ss_trace_writer *writer;
    MUST(ss_trace_writer_open(&options, &writer, must_err));
    entity_recording_define(writer);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct ss_trace_event event = {.time_ns = RECORDING_START,
                                       .track_ref = 1,
                                       .name_ref = 1,
                                       .fields = &wrong[i],
                                       .field_count = 1};
        assert_int_equal(ss_trace_writer_event(writer, &event, &err), SS_E_BUG);
    }
    MUST(ss_trace_writer_close(writer, must_err));
}

static void put_annotation(struct ss_wire_buffer *out, uint64_t iid, uint64_t value)
{
    size_t annotation = ss_wire_begin(out, SS_PF_EVENT_ANNOTATIONS);
    ss_wire_put_uint(out, SS_PF_ANNOTATION_NAME_IID, iid);
    ss_wire_put_uint(out, SS_PF_ANNOTATION_UINT, value);
    ss_wire_end(out, annotation);
}

static void put_field_names(struct ss_wire_buffer *out)
{
    static const char *const names[] = {"grid_x", "of a later version", "bytes", "stream"};
    size_t packet = ss_encode_packet_begin(out);
    size_t interned = ss_wire_begin(out, SS_PF_INTERNED_DATA);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t entry = ss_wire_begin(out, SS_PF_ANNOTATION_NAMES);
        ss_wire_put_uint(out, SS_PF_IID, 900 + i);
        ss_wire_put_text(out, SS_PF_STRING_BYTES, names[i]);
        ss_wire_end(out, entry);
    }
    ss_wire_end(out, interned);
    ss_wire_end(out, packet);
}

/* Ids of names are the file's own; what is unknown, of another type or too much is skipped. */
static void the_reader_skips_what_it_does_not_know(void **state)
{
    (void)state;
    struct ss_trace_summary summary;
    struct ss_unit unit = {0};
    struct seen seen = {0};
    struct ss_wire_buffer *out = &unit.plain;
    struct ss_trace_track track = {.kind = SS_TRACK_RANGES};
    struct ss_track_uuids uuids = {.own = 77};
    ss_encode_track_record(out, &track, &uuids);
    put_field_names(out);
    size_t packet = ss_encode_packet_begin(out);
    size_t event = ss_wire_begin(out, SS_PF_TRACK_EVENT);
    ss_wire_put_uint(out, SS_PF_EVENT_TYPE, SS_PF_EVENT_SLICE_BEGIN);
    ss_wire_put_uint(out, SS_PF_EVENT_TRACK, 77);
    put_annotation(out, 901, 5);               /* unknown */
    put_annotation(out, 902, 5);               /* bytes are signed */
    put_annotation(out, 903, 5);               /* no such stream */
    put_annotation(out, UINT64_C(1) << 50, 5); /* not defined */
    for (uint64_t i = 0; i < 100; i++) {
        put_annotation(out, 900, i);
    }
    ss_wire_end(out, event);
    ss_wire_put_uint(out, SS_PF_TIMESTAMP_CLOCK_ID, SS_PF_MONOTONIC);
    ss_wire_put_uint(out, SS_PF_TIMESTAMP, RECORDING_START);
    ss_wire_end(out, packet);
    struct ss_unit_seal seal = {.restart = true, .sealed = true, .period = 1};
    ss_unit_frame(&unit, &seal, NULL);
    MUST(ss_trace_read_memory(unit.stored.data, unit.stored.length, &visitor, &seen, &summary,
                              must_err));
    assert_int_equal(seen.field_count, SS_MAX_EVENT_FIELDS);
    assert_int_equal(seen.fields[0].field, SS_EVENT_FIELD_stream);
    assert_int_equal(seen.fields[0].value.natural, 0);
    assert_int_equal(seen.fields[1].field, SS_EVENT_FIELD_grid_x);
    assert_int_equal(seen.fields[SS_MAX_EVENT_FIELDS - 1].value.natural, SS_MAX_EVENT_FIELDS - 2);
    ss_unit_fini(&unit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_survive_restart_points),
        cmocka_unit_test(repair_keeps_fields),
        cmocka_unit_test(all_kinds_of_tracks_carry_fields),
        cmocka_unit_test(long_texts_are_stored),
        cmocka_unit_test(the_writer_refuses_other_types),
        cmocka_unit_test(the_reader_skips_what_it_does_not_know),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
