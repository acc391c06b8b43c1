/* SPDX-License-Identifier: Apache-2.0 */
/* A model of several files is the same, row by row, whether each was loaded into it or absorbed. */
#include "model/builder/absorb.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../trace/sample_recording.h"
#include "model/core/rows.h"
#include "model/files/importer.h"
#include "model/load/load_parts.h"
#include "model/load/part_wire.h"
#include "trace/event_fields.h"
#include "trace/writer_tracks.h"

enum { FILES = 4 };

static struct ss_trace_writer *writer;

static struct ss_strview text(const char *value)
{
    return ss_strview_of(value);
}

/* Ranks 0 and 1 share a machine, its host, its device and its groups; rank 2 has another boot,
 * whose clock began 400 s earlier; rank 3 is a second machine of the same boot and has one more
 * name.
 */
static void define(unsigned rank)
{
    const char *boot = rank == 2 ? "boot-b" : "boot-a";
    uint64_t now_ns = RECORDING_START + (rank == 2 ? 400 * RECORDING_SECOND : 0);
    PUT(attribute, writer, .key = text("boot_id"), .text = text(boot));
    PUT(attribute, writer, .key = text("rank"), .is_integer = true, .integer = rank);
    PUT(attribute, writer, .key = text("rate_hz"), .is_integer = true, .integer = 100);
    PUT(clock, writer, now_ns, now_ns, now_ns, UINT64_C(1700000000000000000), 20 + rank);
    PUT(source, writer, .ref = 1, .name = text("python"), .status = SS_SOURCE_RAN);
    PUT(host, writer, .ref = 1, .boot_id = text(boot), .name = text(rank == 3 ? "node1" : "node0"));
    PUT(device, writer, .ref = 1, .kind = SS_DEVICE_GPU, .number = 1, .uuid = text("GPU-7"),
        .model = text("A100"), .memory_bytes = 80 + rank);
    PUT(process, writer, .ref = 1, .pid = 10 + (int32_t)rank, .start_time_ticks = 5 + rank,
        .host_ref = 1, .name = text("train.py"), .rank = rank, .world_size = FILES,
        .has_rank = true, .first_seen_ns = now_ns);
    PUT(process, writer, .ref = 2, .parent_ref = 1, .pid = 50 + (int32_t)rank,
        .start_time_ticks = 6 + rank); /* when it was first seen is unknown */
    PUT(thread, writer, .ref = 1, .process_ref = 1, .tid = 10 + (int32_t)rank, .is_main = true);
    PUT(thread, writer, .ref = 2, .process_ref = 2, .tid = 50 + (int32_t)rank);
    PUT(context, writer, .ref = 1, .process_ref = 1, .device_ref = 1, .number = 1);
    PUT(stream, writer, .ref = 1, .device_ref = 1, .context_ref = 1, .number = 7);
    PUT(group, writer, .ref = 1, .kind = SS_GROUP_NCCL, .number = 99, .name = text("world"),
        .size = FILES);
    PUT(track, writer, .ref = 1, .kind = SS_TRACK_STEPS, .thread_ref = 1, .name = text("step"));
    PUT(track, writer, .ref = 2, .kind = SS_TRACK_RANGES, .thread_ref = 1, .name = text("torch"));
    PUT(track, writer, .ref = 3, .kind = SS_TRACK_COUNTER, .process_ref = 1, .name = text("loss"));
    PUT(track, writer, .ref = 4, .kind = SS_TRACK_COUNTER, .name = text("cpu"), .unit = text("%"));
    PUT(track, writer, .ref = 5, .kind = SS_TRACK_RANGES, .stream_ref = 1);
    for (uint32_t i = 1; i <= 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "op%u", i + (rank == 3 ? 1 : 0));
        PUT(name, writer, .ref = i, .text = text(name), .category = text("c"));
        PUT(frame, writer, .ref = i, .function = text(name), .name = text(name),
            .file = text("/home/user/train.py"), .line = (int32_t)(i + rank), .first_line = 1);
        PUT(stack, writer, .ref = i, .parent_ref = i - 1, .frame_ref = i);
    }
}

static void put_step(unsigned rank, int64_t step, uint64_t at_ns)
{
    const struct ss_event_value fields[] = {
        {SS_EVENT_FIELD_group, {.type = SS_VALUE_UINT, .natural = 1}},
        {SS_EVENT_FIELD_sequence, {.type = SS_VALUE_INT, .integer = step}},
        {SS_EVENT_FIELD_algorithm, {.type = SS_VALUE_TEXT, .text = text("ring")}}};
    PUT(event, writer, .time_ns = at_ns, .track_ref = 1, .kind = SS_EVENT_BEGIN,
        .payload = {.type = SS_VALUE_INT, .integer = step});
    for (uint32_t i = 1; i <= 3; i++) {
        PUT(event, writer, .time_ns = at_ns + i * 1000, .track_ref = 2, .name_ref = i,
            .kind = SS_EVENT_BEGIN, .fields = fields, .field_count = i,
            .flow = i == 1 ? SS_FLOW_THROUGH : SS_FLOW_NONE, .flow_id = 7,
            .payload = {.type = SS_VALUE_TEXT, .text = text(i == 2 ? "two" : "other")});
    }
    PUT(event, writer, .time_ns = at_ns + 4000, .track_ref = 2, .name_ref = 2,
        .kind = SS_EVENT_INSTANT);
    for (uint32_t i = 1; i <= 3; i++) {
        PUT(event, writer, .time_ns = at_ns + 5000 + i, .track_ref = 2, .kind = SS_EVENT_END);
    }
    PUT(event, writer, .time_ns = at_ns + 900000, .track_ref = 1, .kind = SS_EVENT_END);
    PUT(counter, writer, .time_ns = at_ns, .track_ref = 3, .real = 1.5 + rank);
    PUT(counter, writer, .time_ns = at_ns, .track_ref = 4, .is_integer = true, .integer = step);
    for (uint32_t thread = 1; thread <= 2; thread++) {
        PUT(sample, writer, .time_ns = at_ns + 3000, .thread_ref = thread,
            .stack_ref = 1 + (uint32_t)(step % 3), .weight = 2, .state = SS_STATE_ON_CPU,
            .gil = thread == 2 ? SS_GIL_HELD : SS_GIL_WAITED, .step = thread == 1 ? step : -1);
    }
    PUT(line, writer, .time_ns = at_ns, .process_ref = 1, .name_ref = 1, .line = 4, .hits = 2,
        .total_ns = 100);
}

static void write_file(const char *path, unsigned rank)
{
    const struct ss_trace_writer_options options = {
        .size = sizeof options, .path = path, .replay = true};
    uint64_t start_ns = RECORDING_START + (rank == 2 ? 400 * RECORDING_SECOND : 0);
    MUST(ss_trace_writer_open(&options, &writer, must_err));
    define(rank);
    for (int64_t step = 0; step < 6; step++) {
        put_step(rank, step, start_ns + (uint64_t)(step + 1) * 1000000 + rank);
    }
    PUT(event, writer, .time_ns = start_ns + 8000000, .track_ref = 2, .name_ref = 1,
        .kind = SS_EVENT_BEGIN);
    PUT(counts, writer, .source_ref = 1, .process_ref = 1, .time_ns = start_ns, .seen = 12);
    PUT(note, writer, .time_ns = start_ns + 9000000, .process_ref = 1, .kind = text("process-exit"),
        .value = 256);
    MUST(ss_trace_writer_close(writer, must_err));
}

static void path_of(char *path, size_t size, unsigned rank)
{
    snprintf(path, size, "/tmp/stepscope-absorb-%d-%u.pftrace", (int)getpid(), rank);
}

static const struct ss_model_load requests[] = {
    {.size = sizeof(struct ss_model_load), .sample_phases = true, .keep_samples = true},
    {.size = sizeof(struct ss_model_load), .sample_ranges = true},
    {.size = sizeof(struct ss_model_load), .no_tracks = true},
};

static void assert_same_member(const struct ss_rows *rows, const struct ss_member *member,
                               const char *a, const char *b)
{
    if (member->kind == SS_MEMBER_CHARS) {
        assert_string_equal(a + member->offset, b + member->offset);
        return;
    }
    uint64_t of_a = ss_member_number(a, member->offset, member->size);
    uint64_t of_b = ss_member_number(b, member->offset, member->size);
    if (of_a != of_b) {
        fail_msg("%s, member at %u: %" PRIu64 " is not %" PRIu64, rows->name, member->offset, of_a,
                 of_b);
    }
}

static void assert_same_models(const struct ss_model *a, const struct ss_model *b)
{
    assert_int_equal(a->strings.count, b->strings.count);
    for (uint32_t i = 0; i < a->strings.count; i++) {
        assert_string_equal(ss_model_text(a, i), ss_model_text(b, i));
    }
    for (enum ss_rows_id id = 0; id < SS_ROWS_COUNT; id++) {
        struct ss_rows_view of_a = ss_rows_get(a, id), of_b = ss_rows_get(b, id);
        if (of_a.count != of_b.count) {
            fail_msg("%s: %zu rows, not %zu", ss_rows[id].name, of_a.count, of_b.count);
        }
        for (size_t i = 0; i < of_a.count * ss_rows[id].member_count; i++) {
            size_t at = i / ss_rows[id].member_count * ss_rows[id].row_bytes;
            assert_same_member(&ss_rows[id], &ss_rows[id].members[i % ss_rows[id].member_count],
                               (const char *)of_a.data + at, (const char *)of_b.data + at);
        }
    }
    assert_int_equal(a->open_ranges, b->open_ranges);
    assert_int_equal(a->filtered_samples, b->filtered_samples);
}

static void load(struct ss_model *model, const char *path, const struct ss_model_load *request)
{
    MUST(ss_import_file(model, path, true, request, must_err));
}

static void absorb(struct ss_model *model, const char *path, const struct ss_model_load *request,
                   bool is_expected)
{
    struct ss_model part;
    ss_model_init(&part);
    load(&part, path, request);
    assert_int_equal(ss_model_absorb(model, &part, request), is_expected);
    ss_model_fini(&part);
}

/* As a message of a worker. */
static void absorb_message(struct ss_model *model, const char *path,
                           const struct ss_model_load *request)
{
    struct ss_model part, sent;
    struct ss_wire_buffer message = {0};
    ss_model_init(&part);
    load(&part, path, request);
    ss_part_encode(&part, &message);
    MUST(ss_part_decode(message.data, message.length, &sent, must_err));
    assert_same_models(&part, &sent);
    assert_true(ss_model_absorb(model, &sent, request));
    ss_model_fini(&sent);
    ss_model_fini(&part);
    ss_wire_fini(&message);
}

static void test_messages_are_the_same(void **state)
{
    struct ss_model loaded, absorbed;
    char path[64];
    (void)state;
    ss_model_init(&loaded);
    ss_model_init(&absorbed);
    for (unsigned rank = 0; rank < FILES; rank++) {
        path_of(path, sizeof path, rank);
        load(&loaded, path, &requests[0]);
        absorb_message(&absorbed, path, &requests[0]);
    }
    assert_same_models(&loaded, &absorbed);
    path_of(path, sizeof path, 0); /* the identities of its processes came along */
    absorb(&absorbed, path, &requests[0], false);
    ss_model_fini(&loaded);
    ss_model_fini(&absorbed);
}

static void assert_refused(const struct ss_wire_buffer *message, size_t length, const char *why)
{
    struct ss_model part;
    struct ss_error err = {0};
    assert_int_equal(ss_part_decode(message->data, length, &part, &err), SS_E_FORMAT);
    assert_non_null(strstr(err.message, why));
    ss_model_fini(&part);
}

static void test_damaged_messages_are_refused(void **state)
{
    struct ss_model part;
    struct ss_wire_buffer message = {0};
    char path[64];
    (void)state;
    ss_model_init(&part);
    path_of(path, sizeof path, 1);
    load(&part, path, &requests[0]);
    ss_part_encode(&part, &message);
    assert_refused(&message, 7, "too short");
    assert_refused(&message, message.length - 1, "checksum");
    message.data[message.length / 2] ^= 4;
    assert_refused(&message, message.length, "checksum");
    message.data[8]++;
    assert_refused(&message, message.length, "another version");
    message.data[0]++;
    assert_refused(&message, message.length, "it is none");
    part.ranges.data[0].track = (uint32_t)part.tracks.count;
    ss_part_encode(&part, &message);
    assert_refused(&message, message.length, "refers to one that is not there");
    part.ranges.data[0].track = 1;
    part.processes.data[1].parent = 2; /* whose parent it is */
    ss_part_encode(&part, &message);
    assert_refused(&message, message.length, "its own ancestor");
    ss_model_fini(&part);
    ss_wire_fini(&message);
}

static void test_requests_arrive(void **state)
{
    static const char *const paths[] = {"a", "b", "c", "d"}, *const tracks[] = {"loss", NULL};
    static const bool is_named[] = {true, false, true, true};
    const struct ss_part_paths own = {paths, is_named, 4, 1, 2};
    struct ss_model_load wanted = requests[0];
    struct ss_part_request request;
    struct ss_wire_buffer message = {0};
    (void)state;
    wanted.only_tracks = tracks;
    wanted.max_operators = 1000;
    ss_part_request_encode(&wanted, &own, &message);
    MUST(ss_part_request_decode(message.data, message.length, &request, must_err));
    assert_int_equal(request.paths.count, 2);
    assert_string_equal(request.paths.data[0], "b");
    assert_string_equal(request.paths.data[1], "d");
    assert_false(request.is_named.data[0]);
    assert_true(request.is_named.data[1]);
    assert_true(request.load.sample_phases && request.load.keep_samples);
    assert_false(request.load.no_tracks || request.load.strict);
    assert_int_equal(request.load.max_operators, 1000);
    assert_string_equal(request.load.only_tracks[0], "loss");
    assert_null(request.load.only_tracks[1]);
    ss_part_request_fini(&request);
    ss_wire_fini(&message);
}

static void test_rows_are_the_same(void **state)
{
    char path[64];
    (void)state;
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        struct ss_model loaded, absorbed;
        ss_model_init(&loaded);
        ss_model_init(&absorbed);
        for (unsigned rank = 0; rank < FILES; rank++) {
            path_of(path, sizeof path, rank);
            load(&loaded, path, &requests[i]);
            absorb(&absorbed, path, &requests[i], true);
        }
        assert_int_equal(loaded.processes.count, 1 + 2 * FILES);
        assert_int_equal(loaded.hosts.count, 1 + 3);
        assert_int_equal(loaded.clock_domains.count, 1 + 2);
        assert_int_equal(loaded.clock_domains.data[2].shift_ns, -400 * (int64_t)RECORDING_SECOND);
        assert_int_equal(loaded.processes.data[6].first_seen_ns, 0);
        assert_same_models(&loaded, &absorbed);
        ss_model_fini(&loaded);
        ss_model_fini(&absorbed);
    }
}

/* The file of a process that an earlier file has is loaded; what follows it is absorbed again. */
static void test_windows_are_loaded(void **state)
{
    struct ss_model loaded, mixed;
    char path[64];
    (void)state;
    ss_model_init(&loaded);
    ss_model_init(&mixed);
    for (unsigned i = 0; i < FILES; i++) {
        path_of(path, sizeof path, i % 3);
        load(&loaded, path, &requests[0]);
        absorb(&mixed, path, &requests[0], i < 3);
        if (i == 3) {
            load(&mixed, path, &requests[0]);
        }
    }
    path_of(path, sizeof path, 3);
    load(&loaded, path, &requests[0]);
    absorb(&mixed, path, &requests[0], true);
    assert_int_equal(loaded.processes.count, 1 + 2 * FILES);
    assert_same_models(&loaded, &mixed);
    ss_model_fini(&loaded);
    ss_model_fini(&mixed);
}

static void test_limits_are_those_of_all(void **state)
{
    struct ss_model model;
    struct ss_model_load request = requests[0];
    char path[64];
    (void)state;
    request.max_samples = 20; /* a file has 12 */
    ss_model_init(&model);
    path_of(path, sizeof path, 0);
    absorb(&model, path, &request, true);
    path_of(path, sizeof path, 1);
    absorb(&model, path, &request, false);
    assert_int_equal(model.inputs.count, 1);
    ss_model_fini(&model);
}

static void test_threads(void **state)
{
    char paths[FILES][64];
    const char *names[FILES];
    struct ss_model models[2];
    (void)state;
    for (unsigned i = 0; i < FILES; i++) {
        path_of(paths[i], sizeof paths[i], i);
        names[i] = paths[i];
    }
    for (unsigned i = 0; i < 2; i++) {
        struct ss_model_load request = requests[0];
        request.threads = 1 + 2 * i;
        ss_model_init(&models[i]);
        MUST(ss_model_add_inputs(&models[i], names, FILES, &request, must_err));
    }
    assert_same_models(&models[0], &models[1]);
    ss_model_fini(&models[0]);
    ss_model_fini(&models[1]);
}

static void test_parts_that_are_not_taken(void **state)
{
    char path[64];
    (void)state;
    path_of(path, sizeof path, 0);
    const struct ss_part_file files[] = {{path, true}, {path, true}, {path, true}, {path, true}};
    struct ss_model_load request = requests[0];
    request.threads = 2;
    struct ss_load_parts *parts;
    struct ss_model part;
    MUST(ss_load_parts_begin(files, FILES, &request, &parts, must_err));
    MUST(ss_load_parts_take(parts, 0, &part, must_err));
    ss_model_fini(&part);
    ss_load_parts_end(parts);
}

static int write_files(void **state)
{
    char path[64];
    (void)state;
    for (unsigned rank = 0; rank < FILES; rank++) {
        path_of(path, sizeof path, rank);
        write_file(path, rank);
    }
    return 0;
}

static int remove_files(void **state)
{
    char path[64];
    (void)state;
    for (unsigned rank = 0; rank < FILES; rank++) {
        path_of(path, sizeof path, rank);
        unlink(path);
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_the_same),
        cmocka_unit_test(test_messages_are_the_same),
        cmocka_unit_test(test_damaged_messages_are_refused),
        cmocka_unit_test(test_requests_arrive),
        cmocka_unit_test(test_windows_are_loaded),
        cmocka_unit_test(test_limits_are_those_of_all),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_parts_that_are_not_taken),
    };
    return cmocka_run_group_tests(tests, write_files, remove_files);
}
