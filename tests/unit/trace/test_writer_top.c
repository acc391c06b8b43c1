/* SPDX-License-Identifier: Apache-2.0 */
/* Which tracks viewers of Perfetto traces show at the top, and what all of them are called. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <string.h>

#include "base/shared_names.h"
#include "sample_recording.h"
#include "trace/profile.h"
#include "trace/writer_tracks.h"
#include "wire/perfetto.h"
#include "wire/proto.h"

enum { MOST_TRACKS = 64, TEXT_BYTES = 128 };
enum { LAUNCHER = 1, TRAINING, WORKER, OTHER };

struct shown_track {
    uint64_t uuid, parent;
    int64_t rank;
    char name[TEXT_BYTES];
};

struct fixture {
    struct ss_trace_writer *writer;
    struct shown_track tracks[MOST_TRACKS];
    size_t count;
    char instants[4096]; /* names of instants, a line each */
};

/* --- what a viewer reads ---------------------------------------------------------------------- */

static void copy_text(struct ss_wire_cursor body, char text[TEXT_BYTES])
{
    struct ss_strview view = ss_wire_view(body);
    snprintf(text, TEXT_BYTES, "%.*s", (int)view.length, view.data);
}

static void read_descriptor(struct fixture *fixture, struct ss_wire_cursor body)
{
    struct shown_track track = {0};
    struct ss_wire_field field;
    while (ss_wire_next(&body, &field) == SS_WIRE_FIELD) {
        if (field.number == SS_PF_TRACK_UUID) {
            track.uuid = field.value;
        } else if (field.number == SS_PF_TRACK_PARENT) {
            track.parent = field.value;
        } else if (field.number == SS_PF_TRACK_RANK) {
            track.rank = (int64_t)field.value;
        } else if (field.number == SS_PF_TRACK_NAME) {
            copy_text(field.body, track.name);
        }
    }
    assert_true(fixture->count < MOST_TRACKS);
    fixture->tracks[fixture->count++] = track;
}

static void read_event(struct fixture *fixture, struct ss_wire_cursor body)
{
    struct ss_wire_field field;
    char text[TEXT_BYTES];
    while (ss_wire_next(&body, &field) == SS_WIRE_FIELD) {
        if (field.number == SS_PF_EVENT_NAME) {
            copy_text(field.body, text);
            strcat(strcat(fixture->instants, text), "\n");
        }
    }
}

static void read_file(struct fixture *fixture, const char *path)
{
    static uint8_t bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    struct ss_wire_cursor cursor = ss_wire_cursor_of(bytes, length);
    struct ss_wire_field packet, field;
    while (ss_wire_next(&cursor, &packet) == SS_WIRE_FIELD) {
        struct ss_wire_cursor body = packet.body;
        while (packet.number == SS_PF_TRACE_PACKET &&
               ss_wire_next(&body, &field) == SS_WIRE_FIELD) {
            if (field.number == SS_PF_TRACK_DESCRIPTOR) {
                read_descriptor(fixture, field.body);
            } else if (field.number == SS_PF_TRACK_EVENT) {
                read_event(fixture, field.body);
            }
        }
    }
}

static const struct shown_track *find(const struct fixture *fixture, const char *name)
{
    for (size_t i = 0; i < fixture->count; i++) {
        if (strcmp(fixture->tracks[i].name, name) == 0) {
            return &fixture->tracks[i];
        }
    }
    for (size_t i = 0; i < fixture->count; i++) {
        print_message("%s\n", fixture->tracks[i].name);
    }
    fail_msg("no track is called %s", name);
    return NULL;
}

static const struct shown_track *parent_of(const struct fixture *fixture, const char *name)
{
    uint64_t uuid = find(fixture, name)->parent;
    for (size_t i = 0; i < fixture->count; i++) {
        if (fixture->tracks[i].uuid == uuid) {
            return &fixture->tracks[i];
        }
    }
    fail_msg("%s has no parent", name);
    return NULL;
}

static void assert_at_top(const struct fixture *fixture, const char *name)
{
    assert_int_equal(find(fixture, name)->parent, 0);
}

static void assert_below(const struct fixture *fixture, const char *name)
{
    assert_int_not_equal(find(fixture, name)->parent, 0);
}

/* --- a recording ------------------------------------------------------------------------------ */

static void begin(struct fixture *fixture)
{
    struct ss_trace_writer_options options = {
        .size = sizeof options, .path = recording_path("top"), .compression = -1, .replay = true};
    memset(fixture, 0, sizeof *fixture);
    MUST(ss_trace_writer_open(&options, &fixture->writer, must_err));
}

static void end(struct fixture *fixture)
{
    MUST(ss_trace_writer_close(fixture->writer, must_err));
    read_file(fixture, recording_path("top"));
    unlink(recording_path("top"));
}

/* With a main thread of the same number. */
static void put_process(struct fixture *fixture, uint32_t ref, uint32_t parent,
                        struct ss_trace_process more)
{
    more.ref = ref;
    more.parent_ref = parent;
    more.pid = 1000 + (int32_t)ref;
    more.start_time_ticks = ref;
    MUST(ss_trace_writer_process(fixture->writer, &more, must_err));
    PUT(thread, fixture->writer, .ref = ref, .process_ref = ref, .tid = 1000 + (int32_t)ref,
        .is_main = true, .name = ss_strview_of("main"));
}

static struct ss_trace_process named(const char *name)
{
    return (struct ss_trace_process){.name = ss_strview_of(name), .cmdline = ss_strview_of(name)};
}

static struct ss_trace_process ranked(uint32_t rank, uint32_t world_size)
{
    struct ss_trace_process process = named("train.py");
    process.has_rank = true;
    process.rank = rank;
    process.world_size = world_size;
    return process;
}

/* A track, and an event on it: others are not written. */
static void put_track(struct fixture *fixture, struct ss_trace_track track)
{
    struct ss_trace_event event = {.time_ns = RECORDING_START,
                                   .track_ref = track.ref,
                                   .kind = SS_EVENT_BEGIN,
                                   .payload = {.type = SS_VALUE_INT, .integer = 7}};
    MUST(ss_trace_writer_track(fixture->writer, &track, must_err));
    if (track.kind != SS_TRACK_STEPS) {
        struct ss_trace_name name = {.ref = track.ref, .text = ss_strview_of("event")};
        MUST(ss_trace_writer_name(fixture->writer, &name, must_err));
        event.name_ref = track.ref;
    }
    MUST(ss_trace_writer_event(fixture->writer, &event, must_err));
}

static struct ss_trace_track steps_of(uint32_t ref, uint32_t process, const char *name)
{
    return (struct ss_trace_track){
        .ref = ref, .kind = SS_TRACK_STEPS, .process_ref = process, .name = ss_strview_of(name)};
}

static struct ss_trace_track ranges_of(uint32_t ref, uint32_t process, uint32_t thread,
                                       const char *domain)
{
    return (struct ss_trace_track){.ref = ref,
                                   .kind = SS_TRACK_RANGES,
                                   .process_ref = process,
                                   .thread_ref = thread,
                                   .name = ss_strview_of(domain)};
}

static void steps_epochs_and_phases_are_at_the_top(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    put_process(&fixture, TRAINING, 0, named("train.py"));
    put_track(&fixture, steps_of(1, TRAINING, "step"));
    put_track(&fixture, steps_of(2, TRAINING, "epoch"));
    put_track(&fixture, steps_of(3, TRAINING, "batch"));
    struct ss_trace_track phases = steps_of(4, TRAINING, "phase");
    phases.kind = SS_TRACK_PHASES;
    put_track(&fixture, phases);
    struct ss_trace_track group = {.ref = 5,
                                   .kind = SS_TRACK_GROUP,
                                   .process_ref = TRAINING,
                                   .name = ss_strview_of("a group")};
    MUST(ss_trace_writer_track(fixture.writer, &group, must_err));
    struct ss_trace_track inner = steps_of(6, TRAINING, "inner");
    inner.parent_ref = 5;
    put_track(&fixture, inner);
    end(&fixture);
    assert_at_top(&fixture, "Steps of train.py");
    assert_at_top(&fixture, "Epochs of train.py");
    assert_at_top(&fixture, "Steps of train.py: batch");
    assert_at_top(&fixture, "Steps of train.py: phases");
    assert_int_equal(find(&fixture, "inner")->parent, find(&fixture, "a group")->uuid);
    assert_below(&fixture, "a group");
    /* What they belong to, below each of them; and the number of each step. */
    assert_int_equal(find(&fixture, "process")->parent, find(&fixture, "Steps of train.py")->uuid);
    assert_non_null(strstr(fixture.instants, "train.py 1002\n"));
    assert_non_null(strstr(fixture.instants, "step 7\n"));
    assert_non_null(strstr(fixture.instants, "batch 7\n"));
    assert_non_null(strstr(fixture.instants, "inner 7\n"));
}

static void only_the_outermost_main_thread_is_at_the_top(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    put_process(&fixture, TRAINING, 0, named("train.py"));
    struct ss_trace_process worker = named("worker.py");
    put_process(&fixture, WORKER, TRAINING, worker);
    struct ss_trace_process loader = named("loader.py");
    loader.role = SS_PROCESS_ROLE_LOADS_DATA;
    put_process(&fixture, OTHER, 0, loader);
    PUT(thread, fixture.writer, .ref = 9, .process_ref = TRAINING, .tid = 99,
        .name = ss_strview_of("saver"));
    put_track(&fixture, ranges_of(1, TRAINING, TRAINING, "torch"));
    put_track(&fixture, ranges_of(2, WORKER, WORKER, "of a worker"));
    put_track(&fixture, ranges_of(3, OTHER, OTHER, "of a loader"));
    put_track(&fixture, ranges_of(4, TRAINING, 9, "disk"));
    put_track(&fixture, ranges_of(5, TRAINING, TRAINING, ss_domain_python_gc));
    put_track(&fixture, ranges_of(6, TRAINING, TRAINING, ss_domain_torch_flops));
    put_track(&fixture, ranges_of(7, TRAINING, TRAINING, "dnnl::conv"));
    end(&fixture);
    assert_at_top(&fixture, "The main thread of train.py");
    assert_below(&fixture, "of a worker");
    assert_below(&fixture, "of a loader");
    assert_below(&fixture, "saver: disk"); /* a row of a thread begins with its name */
    assert_below(&fixture, ss_domain_python_gc);
    assert_below(&fixture, ss_domain_torch_flops);
    assert_below(&fixture, "dnnl::conv");
}

static struct ss_trace_track stream_of(uint32_t ref, uint32_t process, const char *name)
{
    return (struct ss_trace_track){.ref = ref,
                                   .kind = SS_TRACK_RANGES,
                                   .process_ref = process,
                                   .parent_ref = process,
                                   .stream_ref = 1,
                                   .name = ss_strview_of(name)};
}

static void put_device(struct fixture *fixture, uint32_t process)
{
    struct ss_trace_track group = {.ref = process,
                                   .kind = SS_TRACK_GROUP,
                                   .process_ref = process,
                                   .name = ss_strview_of("GPU 3")};
    MUST(ss_trace_writer_track(fixture->writer, &group, must_err));
}

static void streams_of_devices_are_at_the_top(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    put_process(&fixture, TRAINING, 0, named("train.py"));
    put_process(&fixture, OTHER, 0, ranked(1, 2));
    PUT(device, fixture.writer, .ref = 1, .kind = SS_DEVICE_GPU);
    PUT(stream, fixture.writer, .ref = 1, .device_ref = 1);
    put_device(&fixture, TRAINING);
    put_device(&fixture, OTHER);
    put_track(&fixture, stream_of(10, TRAINING, "stream 7"));
    put_track(&fixture, stream_of(11, TRAINING, "stream 8 (2)")); /* a lane */
    put_track(&fixture, stream_of(12, OTHER, "stream 7"));
    end(&fixture);
    assert_at_top(&fixture, "device 3 stream 7");
    assert_at_top(&fixture, "device 3 stream 8");
    assert_at_top(&fixture, "device 3 stream 7 of rank 1");
}

/* Names are sorted as text: ranks are as wide as the highest one. */
static void ranks_are_in_order(void **state)
{
    (void)state;
    static const struct {
        uint32_t rank, world_size;
        const char *title;
    } cases[] = {{3, 10, "Steps of rank 3"},      {3, 11, "Steps of rank  3"},
                 {10, 11, "Steps of rank 10"},    {3, 100, "Steps of rank  3"},
                 {3, 101, "Steps of rank   3"},   {3, 1000, "Steps of rank   3"},
                 {3, 1001, "Steps of rank    3"}, {3, 0, "Steps of rank 3"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture;
        begin(&fixture);
        put_process(&fixture, TRAINING, 0, ranked(cases[i].rank, cases[i].world_size));
        put_track(&fixture, steps_of(1, TRAINING, "step"));
        end(&fixture);
        assert_at_top(&fixture, cases[i].title);
    }
}

static void processes_of_one_name_have_their_pid(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    put_process(&fixture, TRAINING, 0, named("train.py"));
    put_process(&fixture, OTHER, 0, named("train.py"));
    struct ss_trace_process labelled = named("train.py");
    labelled.label = ss_strview_of("the other half");
    put_process(&fixture, WORKER, 0, labelled);
    PUT(device, fixture.writer, .ref = 1, .kind = SS_DEVICE_GPU);
    PUT(stream, fixture.writer, .ref = 1, .device_ref = 1);
    put_device(&fixture, OTHER);
    put_track(&fixture, steps_of(10, TRAINING, "step"));
    put_track(&fixture, steps_of(11, OTHER, "step"));
    put_track(&fixture, steps_of(12, WORKER, "step"));
    put_track(&fixture, stream_of(13, OTHER, "stream 7"));
    end(&fixture);
    assert_at_top(&fixture, "Steps of train.py");
    assert_at_top(&fixture, "Steps of train.py 1004");
    assert_at_top(&fixture, "Steps of the other half");
    assert_at_top(&fixture, "device 3 stream 7 of train.py 1004");
}

/* Without an owner a track belongs to the machine; its group "host" has no parent. */
static void tracks_of_the_machine_are_below_the_host(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    struct ss_trace_track group = {
        .ref = 1, .kind = SS_TRACK_GROUP, .name = ss_strview_of(SS_HOST_TRACK_NAME)};
    MUST(ss_trace_writer_track(fixture.writer, &group, must_err));
    struct ss_trace_track other = {.ref = 2, .kind = SS_TRACK_GROUP, .name = ss_strview_of("disk")};
    MUST(ss_trace_writer_track(fixture.writer, &other, must_err));
    for (uint32_t ref = 3; ref <= 4; ref++) {
        struct ss_trace_track counter = {.ref = ref,
                                         .kind = SS_TRACK_COUNTER,
                                         .parent_ref = ref - 2,
                                         .name = ss_strview_of(ref == 3 ? "load" : "reads")};
        MUST(ss_trace_writer_track(fixture.writer, &counter, must_err));
        PUT(counter, fixture.writer, .time_ns = RECORDING_START, .track_ref = ref, .real = 1);
    }
    end(&fixture);
    const struct shown_track *host = parent_of(&fixture, "load");
    assert_string_equal(host->name, SS_HOST_TRACK_NAME);
    assert_int_equal(host->parent, 0);
    assert_int_not_equal(host->uuid, find(&fixture, "disk")->parent); /* that of the machine */
    assert_int_equal(find(&fixture, "reads")->parent, find(&fixture, "disk")->uuid);
    assert_below(&fixture, "disk");
}

static void kinds_of_tracks_are_in_order(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    put_process(&fixture, TRAINING, 0, named("train.py"));
    put_track(&fixture, steps_of(1, TRAINING, "step"));
    struct ss_trace_track own = steps_of(2, TRAINING, "own");
    own.rank = -25;
    put_track(&fixture, own);
    put_track(&fixture, ranges_of(3, TRAINING, TRAINING, ss_domain_python_gc));
    end(&fixture);
    assert_int_equal(find(&fixture, "Steps of train.py")->rank, -20);
    assert_int_equal(find(&fixture, "Steps of train.py: own")->rank, -25);
    assert_int_equal(find(&fixture, ss_domain_python_gc)->rank, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_epochs_and_phases_are_at_the_top),
        cmocka_unit_test(only_the_outermost_main_thread_is_at_the_top),
        cmocka_unit_test(streams_of_devices_are_at_the_top),
        cmocka_unit_test(ranks_are_in_order),
        cmocka_unit_test(processes_of_one_name_have_their_pid),
        cmocka_unit_test(tracks_of_the_machine_are_below_the_host),
        cmocka_unit_test(kinds_of_tracks_are_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
