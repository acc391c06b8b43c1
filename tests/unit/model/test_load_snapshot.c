/* SPDX-License-Identifier: Apache-2.0 */
#include "model/files/importer.h"

#include <string.h>

#include "base/strbuf.h"
#include "model/core/domains.h"
#include "trace/event_fields.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* --- a pickle of protocol 2, value by value ------------------------------------------------------
 */

static struct ss_strbuf out;

static void put_bytes(const char *bytes, size_t length)
{
    ss_strbuf_append(&out, bytes, length);
}

static void put_code(char code)
{
    put_bytes(&code, 1);
}

static void put_text(const char *text)
{
    uint32_t length = (uint32_t)strlen(text);
    put_code('X');
    put_bytes((const char *)&length, sizeof length); /* little-endian, as this machine is */
    put_bytes(text, length);
}

static void put_number(int64_t number)
{
    put_bytes("\x8a\x08", 2);
    put_bytes((const char *)&number, sizeof number);
}

static void put_item(const char *key, int64_t number)
{
    put_text(key);
    put_number(number);
}

static void put_word(const char *key, const char *text)
{
    put_text(key);
    put_text(text);
}

static void begin_dict(void)
{
    put_bytes("}(", 2);
}

static void begin_list(void)
{
    put_bytes("](", 2);
}

static void end_dict(void)
{
    put_code('u');
}

static void end_list(void)
{
    put_code('e');
}

/* --- a snapshot
 * ----------------------------------------------------------------------------------- */

static void begin_snapshot(void)
{
    ss_strbuf_init(&out, 1 << 20);
    put_bytes("\x80\x02", 2);
    begin_dict();
}

/* A list of one frame; stored in the memo at `place` where that is not -1. */
static void put_frames(const char *function, int line, int place)
{
    put_text("frames");
    begin_list();
    begin_dict();
    put_word("filename", "/me/train.py");
    put_item("line", line);
    put_word("name", function);
    end_dict();
    end_list();
    if (place >= 0) {
        put_code('q');
        put_code((char)place);
    }
}

static void put_same_frames(int place)
{
    put_text("frames");
    put_code('h');
    put_code((char)place);
}

static void begin_event(const char *action, int64_t time_us, int64_t address, int64_t size)
{
    begin_dict();
    put_word("action", action);
    put_item(strcmp(action, "oom") == 0 ? "device_free" : "addr", address);
    put_item("size", size);
    if (time_us > 0) {
        put_item("time_us", time_us);
    }
}

static void put_event(const char *action, int64_t time_us, int64_t address, int64_t size)
{
    begin_event(action, time_us, address, size);
    end_dict();
}

static void put_block(int64_t address, int64_t size, int64_t requested, const char *state)
{
    begin_dict();
    put_item("address", address);
    put_item("size", size);
    put_item("requested_size", requested);
    put_word("state", state);
    end_dict();
}

static void begin_segment(int64_t device, int64_t address, int64_t size)
{
    begin_dict();
    put_item("device", device);
    put_item("address", address);
    put_item("total_size", size);
    put_text("blocks");
    begin_list();
}

static void end_segment(void)
{
    end_list();
    end_dict();
}

static struct ss_model model;
static struct ss_error err;

static enum ss_status load(void)
{
    struct ss_import_file file = {
        .path = "x.pickle", .head = out.data, .head_length = out.length, .fd = -1};
    struct ss_model_load request = {.quiet = true};
    ss_model_init(&model);
    enum ss_status status = ss_importer_snapshot.load(&model, &file, &request, &err);
    ss_strbuf_fini(&out);
    return status;
}

static enum ss_status load_snapshot(void)
{
    end_dict();
    put_code('.');
    return load();
}

/* --- marks
 * ---------------------------------------------------------------------------------------- */

static const char *name_at(size_t mark)
{
    return ss_model_text(&model, model.names.data[model.marks.data[mark].name].text);
}

static const struct ss_model_field *field_at(size_t mark, uint32_t field)
{
    return ss_model_field_of(&model, model.marks.data[mark].payload, field);
}

static void check_mark(size_t mark, const char *name, uint64_t time_us, int64_t bytes,
                       uint64_t address)
{
    assert_true(mark < model.marks.count);
    assert_string_equal(name_at(mark), name);
    assert_int_equal(model.marks.data[mark].time_ns, time_us * 1000);
    assert_int_equal(model.payloads.data[model.marks.data[mark].payload].integer, bytes);
    assert_int_equal(field_at(mark, SS_EVENT_FIELD_address)->natural, address);
}

/* --- tests
 * ---------------------------------------------------------------------------------------- */

/* The history begins with a segment that it gives back, one that stays, and a block in that. */
static void test_history(void **state)
{
    (void)state;
    begin_snapshot();
    put_text("segments");
    begin_list();
    begin_segment(0, 4096, 2048);
    put_block(4096, 512, 500, "active_allocated");
    put_block(4608, 512, 512, "active_allocated");
    put_block(5120, 512, 0, "inactive");
    put_block(5632, 512, 512, "active_pending_free");
    end_segment();
    end_list();
    put_text("device_traces");
    begin_list();
    begin_list();
    put_event("segment_free", 10, 65536, 4096);
    put_event("alloc", 20, 4608, 512);
    put_event("free_requested", 30, 9999, 100);
    put_event("free_completed", 30, 9999, 100);
    put_event("snapshot", 40, 0, 0);
    end_list();
    end_list();
    assert_int_equal(load_snapshot(), SS_OK);
    assert_int_equal(model.marks.count, 6);
    check_mark(0, SS_MARK_SEGMENT_BEFORE, 10, 2048, 4096);
    check_mark(1, SS_MARK_ALLOCATED_BEFORE, 10, 500, 4096);
    check_mark(2, SS_MARK_SEGMENT_BEFORE, 10, 4096, 65536);
    check_mark(3, SS_MARK_SEGMENT, 10, -4096, 65536);
    check_mark(4, "[memory]", 20, 512, 4608);
    check_mark(5, "[memory]", 30, -100, 9999);
    assert_int_equal(model.devices.count, 2);
    assert_int_equal(model.devices.data[1].number, 0);
    assert_int_equal(field_at(5, SS_EVENT_FIELD_device)->natural, 1);
    assert_int_equal(model.names.data[model.marks.data[4].name].type, SS_EVENT_TYPE_allocation);
    ss_model_fini(&model);
}

/* Frames become a stack; a free that only repeats those of its allocation has none. */
static void test_frames(void **state)
{
    (void)state;
    begin_snapshot();
    put_text("segments");
    begin_list();
    end_list();
    put_text("device_traces");
    begin_list();
    begin_list();
    begin_event("alloc", 1, 512, 10);
    put_frames("forward", 7, 0);
    end_dict();
    begin_event("free_requested", 2, 512, 10);
    put_same_frames(0);
    end_dict();
    begin_event("alloc", 3, 512, 10);
    put_same_frames(0);
    end_dict();
    begin_event("free_requested", 4, 512, 10);
    put_frames("main", 8, -1);
    end_dict();
    begin_event("oom", 5, 77, 1 << 20);
    put_same_frames(0);
    end_dict();
    end_list();
    end_list();
    assert_int_equal(load_snapshot(), SS_OK);
    assert_int_equal(model.marks.count, 5);
    const struct ss_model_field *stack = field_at(0, SS_EVENT_FIELD_stack);
    assert_string_equal(ss_model_text(&model, stack->text), "[\"/me/train.py(7): forward\"]");
    assert_null(field_at(1, SS_EVENT_FIELD_stack));
    assert_int_equal(field_at(2, SS_EVENT_FIELD_stack)->text, stack->text);
    assert_string_equal(ss_model_text(&model, field_at(3, SS_EVENT_FIELD_stack)->text),
                        "[\"/me/train.py(8): main\"]");
    assert_string_equal(name_at(4), SS_MARK_OUT_OF_MEMORY);
    assert_int_equal(model.payloads.data[model.marks.data[4].payload].integer, 77);
    assert_int_equal(field_at(4, SS_EVENT_FIELD_bytes)->integer, 1 << 20);
    assert_null(field_at(4, SS_EVENT_FIELD_address));
    ss_model_fini(&model);
}

/* Of a segment that grows: what is mapped at the end, without what the history mapped, with what it
 * unmapped. */
static void test_expandable(void **state)
{
    (void)state;
    begin_snapshot();
    put_text("segments");
    begin_list();
    begin_segment(1, 8192, 3072);
    end_list();
    put_text("is_expandable");
    put_code('\x88');
    end_dict();
    end_list();
    put_text("device_traces");
    begin_list();
    begin_list();
    end_list();
    begin_list();
    put_event("segment_map", 1, 10240, 1024);
    put_event("segment_unmap", 2, 4096, 1024);
    end_list();
    end_list();
    assert_int_equal(load_snapshot(), SS_OK);
    assert_int_equal(model.marks.count, 4);
    check_mark(0, SS_MARK_SEGMENT_BEFORE, 1, 1024, 4096);
    check_mark(1, SS_MARK_SEGMENT_BEFORE, 1, 2048, 8192);
    check_mark(2, SS_MARK_SEGMENT, 1, 1024, 10240);
    check_mark(3, SS_MARK_SEGMENT, 2, -1024, 4096);
    uint32_t category = model.names.data[model.marks.data[0].name].category;
    assert_string_equal(ss_model_text(&model, category), SS_CATEGORY_EXPANDABLE);
    assert_int_equal(model.devices.data[field_at(0, SS_EVENT_FIELD_device)->natural].number, 1);
    ss_model_fini(&model);
}

/* Before 2.1: a list of segments; blocks without addresses, with their size and frames in a list.
 * Events have an order, but no times. */
static void test_old(void **state)
{
    (void)state;
    ss_strbuf_init(&out, 1 << 20);
    put_bytes("\x80\x02", 2);
    begin_list();
    begin_segment(0, 4096, 2048);
    begin_dict();
    put_item("size", 512);
    put_word("state", "inactive");
    end_dict();
    begin_dict();
    put_item("size", 1024);
    put_word("state", "active_allocated");
    put_text("history");
    begin_list();
    begin_dict();
    put_item("addr", 4608);
    put_item("real_size", 1000);
    put_frames("build", 3, -1);
    end_dict();
    end_list();
    end_dict();
    end_segment();
    end_list();
    put_code('.');
    assert_int_equal(load(), SS_OK);
    assert_int_equal(model.marks.count, 2);
    assert_string_equal(name_at(1), SS_MARK_ALLOCATED_BEFORE);
    assert_int_equal(field_at(1, SS_EVENT_FIELD_address)->natural, 4608);
    assert_int_equal(model.payloads.data[model.marks.data[1].payload].integer, 1000);
    assert_non_null(field_at(1, SS_EVENT_FIELD_stack));
    assert_int_equal(model.marks.data[0].time_ns, model.marks.data[1].time_ns);
    assert_non_null(strstr(ss_model_text(&model, model.inputs.data[0].tool), "without times"));
    ss_model_fini(&model);
}

static void put_annotation(const char *name, const char *stage, int64_t time_us)
{
    begin_dict();
    put_item("device", 0);
    put_item("time_us", time_us);
    put_word("name", name);
    put_word("stage", stage);
    end_dict();
}

static void test_annotations(void **state)
{
    (void)state;
    begin_snapshot();
    put_text("segments");
    begin_list();
    end_list();
    put_text("device_traces");
    begin_list();
    begin_list();
    put_event("alloc", 15, 512, 10);
    end_list();
    end_list();
    put_text("external_annotations");
    begin_list();
    put_annotation("ProfilerStep#4", "START", 10);
    put_annotation("Optimizer.step#SGD.step", "START", 12);
    put_annotation("Optimizer.step#SGD.step", "END", 18);
    put_annotation("ProfilerStep#4", "END", 20);
    put_annotation("x", "NEITHER", 21);
    put_annotation("y", "END", 22);
    put_annotation("open", "START", 23);
    put_annotation("inner", "START", 24);
    put_annotation("open", "END", 25);
    put_annotation("last", "START", 26);
    end_list();
    assert_int_equal(load_snapshot(), SS_OK);
    size_t steps = 0, ranges = 0;
    for (size_t i = 0; i < model.ranges.count; i++) {
        const struct ss_model_range *range = &model.ranges.data[i];
        const struct ss_model_track *track = &model.tracks.data[range->track];
        if (track->kind == SS_TRACK_STEPS) {
            steps++;
            assert_int_equal(model.payloads.data[range->payload].integer, 4);
            assert_int_equal(range->end_ns, 20000);
        } else if (track->kind == SS_TRACK_RANGES) {
            static const uint64_t begins[] = {12000, 23000, 26000}, ends[] = {18000, 25000, 26000};
            assert_true(ranges < 3);
            assert_int_equal(range->begin_ns, begins[ranges]);
            assert_int_equal(range->end_ns, ends[ranges]);
            ranges++;
        }
    }
    assert_int_equal(steps, 1);
    assert_int_equal(ranges, 3);
    ss_model_fini(&model);
}

/* Pickles of something else, and snapshots of nothing. */
static void test_others(void **state)
{
    (void)state;
    begin_snapshot();
    put_item("epoch", 3);
    assert_int_equal(load_snapshot(), SS_E_FORMAT);
    assert_string_equal(err.message,
                        "x.pickle is a pickle, but no snapshot of PyTorch's memory: it "
                        "has no segments");
    ss_model_fini(&model);
    begin_snapshot();
    put_text("segments");
    begin_list();
    end_list();
    assert_int_equal(load_snapshot(), SS_E_FORMAT);
    assert_non_null(strstr(err.message, "no memory in use and no history"));
    ss_model_fini(&model);
    begin_snapshot();
    put_text("segments");
    begin_list();
    begin_segment(1 << 20, 4096, 512);
    end_segment();
    end_list();
    assert_int_equal(load_snapshot(), SS_E_FORMAT);
    assert_non_null(strstr(err.message, "devices"));
    ss_model_fini(&model);
    begin_snapshot();
    put_text("device_traces");
    begin_list();
    begin_list();
    put_number(3);
    end_list();
    end_list();
    assert_int_equal(load_snapshot(), SS_E_FORMAT);
    assert_non_null(strstr(err.message, "event 0 of device 0 has no action"));
    ss_model_fini(&model);
}

static void test_probe(void **state)
{
    static const char snapshot[] = "\x80\x04\x95\0\0\0\0\0\0\0\0}\x94(\x8c\x08segments";
    (void)state;
    assert_int_equal(ss_importer_snapshot.probe(snapshot, sizeof snapshot - 1), SS_IMPORT_CERTAIN);
    assert_int_equal(ss_importer_snapshot.probe("\x80\x04}", 3), SS_IMPORT_LIKELY);
    assert_int_equal(ss_importer_snapshot.probe("segments", 8), SS_IMPORT_NO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_history),     cmocka_unit_test(test_frames),
        cmocka_unit_test(test_expandable),  cmocka_unit_test(test_old),
        cmocka_unit_test(test_annotations), cmocka_unit_test(test_others),
        cmocka_unit_test(test_probe)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
