/* SPDX-License-Identifier: Apache-2.0 */
/* Cut, flipped, shuffled and hostile files: never a crash, never a wrong sample, and never more
 * lost than the damaged units and what depended on them. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../random.h"
#include "base/vec.h"
#include "sample_recording.h"
#include "trace/event_fields.h"
#include "trace/rewrite.h"
#include "trace/writer_tracks.h"

/* Rebuilds what was recorded, checking each sample against the one that was written. */
struct check {
    const struct recording *recording;
    struct ss_vec_of(struct ss_trace_stack) stacks;
    struct ss_vec_of(uint32_t) frame_numbers; /* by ref - 1: function_N */
    struct ss_vec_of(int32_t) tids;           /* by ref - 1 */
    uint64_t samples, damages;
    uint64_t gaps_before; /* damages reported before the newest sample */
    uint32_t next;        /* number of the next sample when nothing is lost */
    bool in_order;        /* samples must come in the order written */
};

static enum ss_status on_thread(void *context, const struct ss_trace_thread *thread)
{
    struct check *check = context;
    if (thread->ref > check->tids.count) {
        ss_vec_resize(&check->tids, thread->ref);
    }
    check->tids.data[thread->ref - 1] = thread->tid;
    return SS_OK;
}

static enum ss_status on_frame(void *context, const struct ss_trace_frame *frame)
{
    struct check *check = context;
    char name[64] = "";
    assert_in_range(frame->function.length, 10, sizeof name - 1);
    memcpy(name, frame->function.data, frame->function.length);
    unsigned number = 0;
    assert_int_equal(sscanf(name, "Outer.function_%u", &number), 1);
    assert_int_equal(frame->line, number * 2);
    assert_int_equal(frame->first_line, number);
    assert_int_equal(frame->name.length, frame->function.length - 6);
    assert_int_equal(frame->ref, check->frame_numbers.count + 1);
    ss_vec_push(&check->frame_numbers, number);
    return SS_OK;
}

static enum ss_status on_stack(void *context, const struct ss_trace_stack *stack)
{
    struct check *check = context;
    assert_int_equal(stack->ref, check->stacks.count + 1);
    ss_vec_push(&check->stacks, *stack);
    return SS_OK;
}

static enum ss_status on_sample(void *context, const struct ss_trace_sample *sample)
{
    struct check *check = context;
    uint64_t period = RECORDING_SECOND / check->recording->rate_hz;
    uint32_t number = (uint32_t)((sample->time_ns - RECORDING_START) / period);
    struct ss_trace_sample expected = recording_sample(check->recording, number);
    assert_int_equal(sample->time_ns, expected.time_ns);
    assert_int_equal(sample->weight, expected.weight);
    assert_int_equal(sample->state, expected.state);
    assert_int_equal(sample->gil, expected.gil);
    assert_int_equal(sample->wait, expected.wait);
    assert_int_equal(sample->partial, expected.partial);
    assert_int_equal(sample->step, expected.step);
    assert_int_equal(check->tids.data[sample->thread_ref - 1], 2000 + (int)expected.thread_ref);
    uint32_t stack = expected.stack_ref, at = sample->stack_ref;
    while (stack != 0) {
        assert_int_not_equal(at, 0);
        uint32_t frame = check->stacks.data[at - 1].frame_ref;
        assert_int_equal(check->frame_numbers.data[frame - 1], stack);
        at = check->stacks.data[at - 1].parent_ref;
        stack = stack % 20 == 1 ? 0 : stack - 1;
    }
    assert_int_equal(at, 0);
    assert_true(number >= check->next);
    check->next = number + 1;
    check->samples++;
    return SS_OK;
}

static enum ss_status on_damage(void *context, const struct ss_trace_damage *damage)
{
    struct check *check = context;
    assert_non_null(damage->reason);
    check->damages++;
    return SS_OK;
}

static const struct ss_trace_visitor visitor = {.thread = on_thread,
                                                .frame = on_frame,
                                                .stack = on_stack,
                                                .sample = on_sample,
                                                .damage = on_damage};

static void check_init(struct check *check, const struct recording *recording)
{
    *check = (struct check){.recording = recording};
}

static void check_fini(struct check *check)
{
    ss_vec_fini(&check->stacks);
    ss_vec_fini(&check->frame_numbers);
    ss_vec_fini(&check->tids);
}

/* Eight units a restart period, small and many. */
static const struct recording base = {
    .seconds = 40, .rate_hz = 50, .options = {.restart_ns = 8 * UINT64_C(1000000000)}};

struct fixture {
    uint8_t *bytes;
    size_t length;
    struct ss_vec_of(size_t) unit_ends; /* offsets */
    uint64_t samples;
};

static int setup(void **state)
{
    static struct fixture fixture;
    const char *path = recording_path("damage");
    recording_write(&base, path);
    fixture.bytes = recording_bytes(path, &fixture.length);
    unlink(path);
    fixture.samples = base.seconds * base.rate_hz;
    static const uint8_t marker[] = {0xa2, 0x02, 0x10, 0x82, 0x47, 0x7a};
    for (size_t at = 2; at < fixture.length;) {
        const uint8_t *hit = memmem(fixture.bytes + at, fixture.length - at, marker, sizeof marker);
        if (hit == NULL) {
            break;
        }
        if (hit > fixture.bytes + 2) {
            ss_vec_push(&fixture.unit_ends, (size_t)(hit - fixture.bytes) - 2);
        }
        at = (size_t)(hit - fixture.bytes) + 1;
    }
    ss_vec_push(&fixture.unit_ends, fixture.length);
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    ss_free(fixture->bytes);
    ss_vec_fini(&fixture->unit_ends);
    return 0;
}

static void test_the_whole_file(void **state)
{
    struct fixture *fixture = *state;
    struct check check;
    check_init(&check, &base);
    struct ss_trace_summary summary;
    MUST(ss_trace_read_memory(fixture->bytes, fixture->length, &visitor, &check, &summary,
                              must_err));
    assert_int_equal(check.samples, fixture->samples);
    assert_int_equal(summary.units, fixture->unit_ends.count);
    assert_in_range(summary.restart_points, 4, 6);
    assert_true(summary.sealed);
    assert_int_equal(check.damages, 0);
    check_fini(&check);
}

/* Any prefix is readable up to the last whole unit. */
static void test_a_thousand_cuts(void **state)
{
    struct fixture *fixture = *state;
    random_state = 4711;
    for (int turn = 0; turn < 1000; turn++) {
        size_t cut = next_random() % fixture->length;
        size_t whole = 0, units = 0;
        while (units < fixture->unit_ends.count && fixture->unit_ends.data[units] <= cut) {
            whole = fixture->unit_ends.data[units++];
        }
        struct check check;
        check_init(&check, &base);
        struct ss_trace_summary summary;
        /* A copy of exactly that size: the sanitizer sees a read behind it. */
        uint8_t *copy = ss_alloc(cut);
        memcpy(copy, fixture->bytes, cut);
        struct ss_error err = {0};
        enum ss_status status = ss_trace_read_memory(copy, cut, &visitor, &check, &summary, &err);
        ss_free(copy);
        assert_int_equal(status, units > 0 ? SS_OK : SS_E_FORMAT);
        assert_int_equal(summary.units, units);
        assert_int_equal(summary.read_bytes, whole);
        assert_int_equal(summary.lost_bytes, cut - whole);
        assert_int_equal(summary.lost_samples, 0);
        assert_false(summary.sealed);
        if (units == 0) {
            assert_non_null(strstr(err.message, "byte 0"));
        }
        check_fini(&check);
    }
}

/* A flipped byte costs its unit, and of the same restart period what was defined there. */
static void test_a_thousand_flips(void **state)
{
    struct fixture *fixture = *state;
    random_state = 815;
    uint64_t least = fixture->samples;
    for (int turn = 0; turn < 1000; turn++) {
        size_t at = next_random() % fixture->length;
        uint8_t was = fixture->bytes[at];
        fixture->bytes[at] ^= (uint8_t)(1 + next_random() % 255);
        struct check check;
        check_init(&check, &base);
        struct ss_trace_summary summary;
        MUST(ss_trace_read_memory(fixture->bytes, fixture->length, &visitor, &check, &summary,
                                  must_err));
        fixture->bytes[at] = was;
        assert_int_equal(summary.units, fixture->unit_ends.count - 1); /* the checksum saw it */
        assert_true(summary.first_damage_offset <= at);
        assert_in_range(check.damages, 1, 2);
        assert_true(check.samples + summary.lost_samples + base.rate_hz >= fixture->samples);
        least = check.samples < least ? check.samples : least;
        check_fini(&check);
    }
    assert_true(least >= fixture->samples - 9 * base.rate_hz); /* at most a restart period */
}

/* Several kinds of heavier damage at once. */
static void test_garbage_between_and_instead(void **state)
{
    struct fixture *fixture = *state;
    random_state = 99;
    for (int turn = 0; turn < 300; turn++) {
        size_t length = fixture->length;
        uint8_t *copy = ss_alloc(length);
        memcpy(copy, fixture->bytes, length);
        for (int blow = 0; blow < 5; blow++) {
            size_t at = next_random() % length, run = next_random() % 3000;
            run = run < length - at ? run : length - at;
            switch (next_random() % 4) {
            case 0:
                memset(copy + at, (int)(next_random() & 0xff), run);
                break;
            case 1: /* bytes missing */
                memmove(copy + at, copy + at + run, length - at - run);
                length -= run;
                break;
            case 2: /* a piece of the file again */
                memcpy(copy + at, fixture->bytes + next_random() % (fixture->length - run), run);
                break;
            default:
                for (size_t i = 0; i < run; i++) {
                    copy[at + i] = (uint8_t)next_random();
                }
            }
            if (length == 0) {
                break;
            }
        }
        struct ss_trace_summary summary;
        struct ss_trace_visitor silent = {0}; /* a piece again may repeat samples */
        struct ss_error err = {0};
        enum ss_status status = ss_trace_read_memory(copy, length, &silent, NULL, &summary, &err);
        assert_true(status == SS_OK || status == SS_E_FORMAT);
        assert_true(summary.read_bytes + summary.lost_bytes <= length);
        ss_free(copy);
    }
}

static void test_a_missing_unit_is_noticed(void **state)
{
    struct fixture *fixture = *state;
    size_t from = fixture->unit_ends.data[4], to = fixture->unit_ends.data[5];
    size_t length = fixture->length - (to - from);
    uint8_t *copy = ss_alloc(length);
    memcpy(copy, fixture->bytes, from);
    memcpy(copy + from, fixture->bytes + to, fixture->length - to);
    struct check check;
    check_init(&check, &base);
    struct ss_trace_summary summary;
    MUST(ss_trace_read_memory(copy, length, &visitor, &check, &summary, must_err));
    assert_int_equal(summary.damaged_units, 1);
    assert_int_equal(summary.first_damage_offset, from);
    assert_non_null(strstr(summary.damage, "missing"));
    check_fini(&check);
    ss_free(copy);
}

/* Two files one behind the other are one valid trace. */
static void test_two_files_together(void **state)
{
    struct fixture *fixture = *state;
    uint8_t *copy = ss_alloc(fixture->length * 2);
    memcpy(copy, fixture->bytes, fixture->length);
    memcpy(copy + fixture->length, fixture->bytes, fixture->length);
    struct ss_trace_visitor silent = {0};
    struct ss_trace_summary summary;
    MUST(ss_trace_read_memory(copy, fixture->length * 2, &silent, NULL, &summary, must_err));
    assert_int_equal(summary.samples, 2 * fixture->samples);
    assert_int_equal(summary.lost_bytes, 0);
    assert_int_equal(summary.damaged_units, 0);
    ss_free(copy);
}

static void test_packets_of_others_are_skipped(void **state)
{
    struct fixture *fixture = *state;
    /* TracePacket { timestamp: 1 } twice, in front and behind. */
    static const uint8_t foreign[] = {0x0a, 2, 0x40, 1, 0x0a, 2, 0x40, 1};
    size_t length = fixture->length + 2 * sizeof foreign;
    uint8_t *copy = ss_alloc(length);
    memcpy(copy, foreign, sizeof foreign);
    memcpy(copy + sizeof foreign, fixture->bytes, fixture->length);
    memcpy(copy + sizeof foreign + fixture->length, foreign, sizeof foreign);
    struct check check;
    check_init(&check, &base);
    struct ss_trace_summary summary;
    MUST(ss_trace_read_memory(copy, length, &visitor, &check, &summary, must_err));
    assert_int_equal(check.samples, fixture->samples);
    assert_int_equal(summary.lost_bytes, 0);
    check_fini(&check);
    ss_free(copy);
    struct ss_error err = {0};
    struct ss_trace_visitor silent = {0};
    assert_int_equal(ss_trace_read_memory(foreign, sizeof foreign, &silent, NULL, &summary, &err),
                     SS_E_FORMAT);
    assert_non_null(strstr(err.message, "another program"));
    assert_int_equal(ss_trace_read_memory("", 0, &silent, NULL, &summary, &err), SS_E_FORMAT);
    assert_int_equal(ss_trace_read_memory("hello, world", 12, &silent, NULL, &summary, &err),
                     SS_E_FORMAT);
}

static void test_repair_gives_a_whole_file(void **state)
{
    struct fixture *fixture = *state;
    char broken[512], fixed[512];
    snprintf(broken, sizeof broken, "%s", recording_path("broken"));
    snprintf(fixed, sizeof fixed, "%s", recording_path("fixed"));
    size_t at = (fixture->unit_ends.data[9] + fixture->unit_ends.data[10]) / 2;
    uint8_t was = fixture->bytes[at];
    fixture->bytes[at] ^= 0x55;
    recording_put_bytes(broken, fixture->bytes, fixture->length - 10);
    fixture->bytes[at] = was;

    struct check check;
    check_init(&check, &base);
    struct ss_trace_summary summary, again;
    MUST(ss_trace_read(broken, &visitor, &check, &summary, must_err));
    uint64_t readable = check.samples;
    assert_int_equal(check.damages, 2);
    check_fini(&check);
    MUST(ss_trace_repair(broken, fixed, &summary, must_err));
    assert_int_equal(summary.damaged_units, 2);

    check_init(&check, &base);
    MUST(ss_trace_read(fixed, &visitor, &check, &again, must_err));
    assert_int_equal(check.samples, readable);
    assert_true(again.sealed);
    assert_int_equal(again.lost_bytes, 0);
    assert_int_equal(again.lost_samples, 0);
    assert_int_equal(again.damaged_units, 0);
    check_fini(&check);

    struct ss_error err = {0};
    assert_int_equal(ss_trace_repair(broken, broken, NULL, &err), SS_E_USAGE);
    recording_put_bytes(broken, "nothing", 7);
    unlink(fixed);
    assert_int_equal(ss_trace_repair(broken, fixed, NULL, &err), SS_E_FORMAT);
    assert_int_equal(access(fixed, F_OK), -1); /* no husk is left */
    unlink(broken);
}

static size_t read_file(const char *path, uint8_t **bytes)
{
    int fd = open(path, O_RDONLY);
    struct stat status;
    assert_true(fd >= 0 && fstat(fd, &status) == 0);
    *bytes = ss_alloc((size_t)status.st_size + 1);
    assert_int_equal(read(fd, *bytes, (size_t)status.st_size), status.st_size);
    close(fd);
    return (size_t)status.st_size;
}

/* Units in front of a cut are not written anew: what a later version put into them stays. */
static void test_repair_keeps_whole_units_to_the_byte(void **state)
{
    struct fixture *fixture = *state;
    char cut[512], fixed[512];
    snprintf(cut, sizeof cut, "%s", recording_path("cut"));
    snprintf(fixed, sizeof fixed, "%s", recording_path("closed"));
    struct ss_trace_visitor silent = {0};
    for (size_t i = 0; i < fixture->unit_ends.count; i++) {
        size_t end = fixture->unit_ends.data[i], more = i % 3 == 0 ? 0 : 5 + i;
        size_t length = end + more < fixture->length ? end + more : fixture->length;
        recording_put_bytes(cut, fixture->bytes, length);
        struct ss_trace_summary before, after;
        MUST(ss_trace_repair(cut, fixed, &before, must_err));
        MUST(ss_trace_read(fixed, &silent, NULL, &after, must_err));
        assert_true(after.sealed && after.damaged_units == 0 && after.lost_bytes == 0);
        assert_int_equal(after.samples, before.samples);
        uint8_t *bytes;
        size_t fixed_length = read_file(fixed, &bytes);
        assert_true(fixed_length >= end);
        assert_memory_equal(bytes, fixture->bytes, end);
        assert_int_equal(fixed_length == end, end == fixture->length);
        ss_free(bytes);
    }
    unlink(cut);
    unlink(fixed);
}

/* A file is read through a window: what it gives must not depend on where the window ends. */
static void test_files_read_as_memory_does(void **state)
{
    (void)state;
    struct fixture *fixture = *state;
    const char *path = recording_path("windows");
    random_state = 31;
    for (int turn = 0; turn < 12; turn++) {
        size_t most = 12 * (fixture->length + 3000000), length = 0;
        uint8_t *bytes = ss_alloc(most);
        for (int piece = 0; piece < 6; piece++) {
            size_t gap = piece == 0 ? 0 : next_random() % 3 == 0 ? next_random() % 3000000 : 7;
            gap = turn % 2 == 0 ? gap / 6 * 6 : gap; /* whole packets of another program */
            for (size_t i = 0; i < gap; i++) {
                static const uint8_t packet[6] = {0x0a, 4, 0x50, 9, 0x68, 1};
                bytes[length + i] = turn % 2 == 0 ? packet[i % 6] : (uint8_t)(next_random() >> 9);
            }
            length += gap;
            memcpy(bytes + length, fixture->bytes, fixture->length);
            length += fixture->length - (next_random() % 2 == 0 ? 0 : next_random() % 2000);
        }
        recording_put_bytes(path, bytes, length);
        struct ss_trace_visitor silent = {0};
        struct ss_trace_summary of_file, of_memory;
        MUST(ss_trace_read(path, &silent, NULL, &of_file, must_err));
        MUST(ss_trace_read_memory(bytes, length, &silent, NULL, &of_memory, must_err));
        assert_int_equal(of_file.units, of_memory.units);
        assert_int_equal(of_file.samples, of_memory.samples);
        assert_int_equal(of_file.damaged_units, of_memory.damaged_units);
        assert_int_equal(of_file.lost_bytes, of_memory.lost_bytes);
        assert_int_equal(of_file.first_damage_offset, of_memory.first_damage_offset);
        assert_string_equal(of_file.damage, of_memory.damage);
        assert_true(of_file.units > 5 * (fixture->unit_ends.count - 3));
        ss_free(bytes);
    }
    unlink(path);
}

/* A record of four thousand million ticks is not written out tick by tick. */
static void test_compat_refuses_absurd_weights(void **state)
{
    (void)state;
    char in[512], out[512];
    snprintf(in, sizeof in, "%s", recording_path("heavy"));
    snprintf(out, sizeof out, "%s", recording_path("heavy-compat"));
    struct ss_trace_writer_options options = {.size = sizeof options, .path = in, .replay = true};
    struct ss_trace_writer *writer;
    MUST(ss_trace_writer_open(&options, &writer, must_err));
    recording_define(writer);
    struct ss_trace_sample sample = {.time_ns = 5, .thread_ref = 1, .weight = UINT32_MAX};
    MUST(ss_trace_writer_sample(writer, &sample, must_err));
    MUST(ss_trace_writer_close(writer, must_err));
    struct ss_error err = {0};
    assert_int_equal(ss_trace_export_compat(in, out, 0, &err), SS_E_LIMIT);
    assert_non_null(strstr(err.message, "4294967295 samples"));
    assert_int_equal(access(out, F_OK), -1);
    unlink(in);
}

/* Times of a note, an event and a clock reading, as read back. */
struct times {
    uint64_t note_ns, event_ns, queued_ns, submitted_ns, monotonic_ns, realtime_ns;
};

static enum ss_status see_note(void *context, const struct ss_trace_note *note)
{
    ((struct times *)context)->note_ns = note->time_ns;
    return SS_OK;
}

static enum ss_status see_event(void *context, const struct ss_trace_event *event)
{
    struct times *times = context;
    times->event_ns = event->time_ns;
    assert_int_equal(event->field_count, 2);
    times->queued_ns = event->fields[0].value.natural;
    times->submitted_ns = event->fields[1].value.natural;
    return SS_OK;
}

static enum ss_status see_clock(void *context, const struct ss_trace_clock *clock)
{
    struct times *times = context;
    times->monotonic_ns = clock->monotonic_ns;
    times->realtime_ns = clock->realtime_ns;
    return SS_OK;
}

static void write_times(const char *path)
{
    struct ss_trace_writer_options options = {.size = sizeof options, .path = path, .replay = true};
    struct ss_trace_writer *writer;
    struct ss_trace_clock clock = {3000, 3000, 3000, 90000, 10};
    MUST(ss_trace_writer_open(&options, &writer, must_err));
    MUST(ss_trace_writer_clock(writer, &clock, must_err));
    recording_define(writer);
    struct ss_trace_track track = {.ref = 900, .kind = SS_TRACK_RANGES, .process_ref = 1};
    struct ss_event_value fields[] = {
        {SS_EVENT_FIELD_queued_ns, {SS_VALUE_UINT, {.natural = 3500}}},
        {SS_EVENT_FIELD_submitted_ns, {SS_VALUE_UINT, {.natural = 0}}}};
    struct ss_trace_event event = {.time_ns = 4000,
                                   .track_ref = 900,
                                   .kind = SS_EVENT_INSTANT,
                                   .fields = fields,
                                   .field_count = 2};
    struct ss_trace_note note = {.time_ns = 5000, .kind = ss_strview_of("k")};
    MUST(ss_trace_writer_track(writer, &track, must_err));
    MUST(ss_trace_writer_event(writer, &event, must_err));
    MUST(ss_trace_writer_note(writer, &note, must_err));
    MUST(ss_trace_writer_close(writer, must_err));
}

/* The monotonic clock is another, the wall clock is the same. */
static void test_compat_moves_times_to_another_axis(void **state)
{
    (void)state;
    static const struct ss_trace_visitor times_seen = {
        .note = see_note, .event = see_event, .clock = see_clock};
    char in[512], out[512];
    struct times times = {0};
    snprintf(in, sizeof in, "%s", recording_path("axis"));
    snprintf(out, sizeof out, "%s", recording_path("axis-compat"));
    write_times(in);
    MUST(ss_trace_export_compat(in, out, 700, must_err));
    MUST(ss_trace_read(out, &times_seen, &times, NULL, must_err));
    assert_int_equal(times.monotonic_ns, 3700);
    assert_int_equal(times.realtime_ns, 90000);
    assert_int_equal(times.event_ns, 4700);
    assert_int_equal(times.queued_ns, 4200);
    assert_int_equal(times.submitted_ns, 0); /* unknown */
    assert_int_equal(times.note_ns, 5700);
    unlink(in);
    unlink(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_whole_file),
        cmocka_unit_test(test_a_thousand_cuts),
        cmocka_unit_test(test_a_thousand_flips),
        cmocka_unit_test(test_garbage_between_and_instead),
        cmocka_unit_test(test_a_missing_unit_is_noticed),
        cmocka_unit_test(test_two_files_together),
        cmocka_unit_test(test_packets_of_others_are_skipped),
        cmocka_unit_test(test_repair_gives_a_whole_file),
        cmocka_unit_test(test_repair_keeps_whole_units_to_the_byte),
        cmocka_unit_test(test_files_read_as_memory_does),
        cmocka_unit_test(test_compat_refuses_absurd_weights),
        cmocka_unit_test(test_compat_moves_times_to_another_axis),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
