/* SPDX-License-Identifier: Apache-2.0 */
/* From the annotations of a process to the events of the trace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "base/shared_names.h"
#include "recorded_story.h"

enum { NO_NAME = 0, MOST_EARLY = 4096 };

struct fixture {
    struct recorded_story story;
    struct ss_annot_sink sink;
    uint32_t names;
};

static void begin(struct fixture *fixture)
{
    memset(fixture, 0, sizeof *fixture);
    story_begin(&fixture->story);
    fixture->sink = ss_annotation_tracks_sink(fixture->story.tracks);
}

static void end(struct fixture *fixture)
{
    story_end(&fixture->story);
}

static uint32_t put_name(struct fixture *fixture, const char *text)
{
    struct ss_annot_name name = {.id = ++fixture->names, .text = ss_strview_of(text)};
    fixture->sink.name(fixture->sink.context, &name);
    return name.id;
}

static struct ss_annot_event event_of(enum ss_annot_kind kind, uint64_t time_ns, uint32_t name)
{
    struct ss_annot_event event = {.kind = kind,
                                   .time_ns = STORY_BASE_NS + time_ns,
                                   .thread = 1,
                                   .tid = (int32_t)getpid(),
                                   .name = name};
    event.collective.sequence = event.collective.root = -1;
    event.collective.tag = event.collective.self = -1;
    return event;
}

static void put(struct fixture *fixture, struct ss_annot_event event)
{
    fixture->sink.event(fixture->sink.context, &event);
}

static void put_plain(struct fixture *fixture, enum ss_annot_kind kind, uint64_t time_ns,
                      uint32_t name)
{
    put(fixture, event_of(kind, time_ns, name));
}

static void put_id(struct fixture *fixture, enum ss_annot_kind kind, uint64_t time_ns,
                   uint32_t name, uint64_t id)
{
    struct ss_annot_event event = event_of(kind, time_ns, name);
    event.id = id;
    put(fixture, event);
}

static void put_number(struct fixture *fixture, enum ss_annot_kind kind, uint64_t time_ns,
                       int64_t number)
{
    struct ss_annot_event event = event_of(kind, time_ns, NO_NAME);
    event.value_type = SS_RING_VALUE_SIGNED;
    event.value = (uint64_t)number;
    put(fixture, event);
}

static struct ss_annot_event with_real(struct ss_annot_event event, double value)
{
    event.value_type = SS_RING_VALUE_DOUBLE;
    memcpy(&event.value, &value, sizeof value);
    return event;
}

static struct ss_annot_event with_value(struct ss_annot_event event, enum ss_ring_value type,
                                        uint64_t value)
{
    event.value_type = type;
    event.value = value;
    return event;
}

/* --- ranges ----------------------------------------------------------------------------------- */

static void ranges_have_the_track_of_their_thread_and_domain(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    uint32_t work = put_name(&fixture, "work");
    fixture.sink.domain(fixture.sink.context, 2, ss_strview_of("library"));
    put_plain(&fixture, SS_ANNOT_RANGE_BEGIN, 10, work);
    struct ss_annot_event inner = event_of(SS_ANNOT_RANGE_BEGIN, 20, work);
    inner.domain = 2;
    put(&fixture, inner);
    inner.kind = SS_ANNOT_RANGE_END, inner.time_ns += 10;
    put(&fixture, inner);
    struct ss_annot_event last = event_of(SS_ANNOT_RANGE_END, 40, NO_NAME);
    last.unseen_end = true;
    put(&fixture, last);
    put_plain(&fixture, SS_ANNOT_MARK, 50, 99); /* its name found no space */
    end(&fixture);
    story_has(&fixture.story, "+10  begin work ()\n+40  end unseen\n+50  instant <other> ()\n");
    story_has(&fixture.story, "+20 library begin work ()\n+30 library end\n");
}

static void payloads_keep_their_type(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    uint32_t name = put_name(&fixture, "m"), text = put_name(&fixture, "text");
    struct ss_annot_event mark = event_of(SS_ANNOT_MARK, 10, name);
    put(&fixture, with_real(mark, 0.5));
    put(&fixture, with_value(mark, SS_RING_VALUE_UNSIGNED, UINT64_MAX));
    put(&fixture, with_value(mark, SS_RING_VALUE_SIGNED, (uint64_t)-3));
    put(&fixture, with_value(mark, SS_RING_VALUE_NAME, text));
    put(&fixture, with_value(mark, SS_RING_VALUE_NAME, 99));
    put(&fixture, mark);
    end(&fixture);
    story_has(&fixture.story, "m () = 0.5\n+10  instant m () = 18446744073709551615\n+10  instant "
                              "m () = -3\n+10  instant m () = text\n");
    story_has(&fixture.story, "+10  instant m ()\n");
}

static void a_name_has_its_category(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    uint32_t category = put_name(&fixture, "io");
    struct ss_annot_name name = {
        .id = ++fixture.names, .text = ss_strview_of("read"), .category = category};
    fixture.sink.name(fixture.sink.context, &name);
    put_plain(&fixture, SS_ANNOT_MARK, 10, name.id);
    assert_int_equal(ss_annotation_tracks_name(fixture.story.tracks, 99), 0);
    assert_int_not_equal(ss_annotation_tracks_name(fixture.story.tracks, name.id), 0);
    end(&fixture);
    story_has(&fixture.story, "instant read (io)\n");
}

static void flows_connect_ranges(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    uint32_t name = put_name(&fixture, "work");
    put_id(&fixture, SS_ANNOT_RANGE_BEGIN, 10, name, 7);
    put_id(&fixture, SS_ANNOT_FLOW, 20, NO_NAME, 7);
    struct ss_annot_event last = event_of(SS_ANNOT_FLOW, 30, name);
    last.id = 7, last.detail = 2;
    put(&fixture, last);
    put_id(&fixture, SS_ANNOT_FLOW, 40, name, 8);
    end(&fixture);
    story_has(&fixture.story, "+10  begin work () flow 1\n+20  instant flow () flow 1\n"
                              "+30  instant work () flow-end 1\n+40  instant work () flow 2\n");
}

static void counters_have_series(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    uint32_t loss = put_name(&fixture, "loss"), unit = put_name(&fixture, "nats");
    struct ss_annot_counter counter = {.name = loss, .unit = unit};
    fixture.sink.counter(fixture.sink.context, &counter);
    counter.name = 99; /* no name of the process */
    fixture.sink.counter(fixture.sink.context, &counter);
    put(&fixture, with_real(event_of(SS_ANNOT_COUNT, 10, loss), 0.25));
    put(&fixture, with_value(event_of(SS_ANNOT_COUNT, 20, unit), SS_RING_VALUE_SIGNED, 5));
    put(&fixture, with_value(event_of(SS_ANNOT_COUNT, 30, 99), SS_RING_VALUE_SIGNED, 5));
    put(&fixture, with_value(event_of(SS_ANNOT_COUNT, 30, 0), SS_RING_VALUE_SIGNED, 5));
    assert_int_equal(ss_annotation_tracks_refused(fixture.story.tracks), 2);
    end(&fixture);
    story_has(&fixture.story, "+10 loss: 0.25 nats\n");
    story_has(&fixture.story, "+20 nats: 5\n");
    story_lacks(&fixture.story, "+30");
}

static void lines_have_hits_and_time(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    struct ss_annot_event line = event_of(SS_ANNOT_LINE, 10, put_name(&fixture, "f"));
    line.detail = 42, line.id = 7, line.value = 900;
    put(&fixture, line);
    end(&fixture);
    story_has(&fixture.story, "+10 line f ():42 × 7, 900 ns\n");
}

/* --- asynchronous ranges ---------------------------------------------------------------------- */

static void asynchronous_ranges_may_overlap(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    uint32_t a = put_name(&fixture, "a"), b = put_name(&fixture, "b");
    put_id(&fixture, SS_ANNOT_ASYNC_BEGIN, 10, a, 1);
    put_id(&fixture, SS_ANNOT_ASYNC_BEGIN, 20, b, 2);
    put_id(&fixture, SS_ANNOT_ASYNC_BEGIN, 25, b, 2); /* the id is in use */
    put_id(&fixture, SS_ANNOT_ASYNC_END, 30, NO_NAME, 1);
    put_plain(&fixture, SS_ANNOT_PROCESS_END, 40, NO_NAME);
    assert_int_equal(ss_annotation_tracks_refused(fixture.story.tracks), 1);
    end(&fixture);
    story_has(&fixture.story, "+10  begin a ()\n");
    story_has(&fixture.story, "+20  begin b ()\n");
    story_has(&fixture.story, "+30  end\n");
    story_has(&fixture.story, "+40  end unseen\n");
    story_lacks(&fixture.story, "+25");
}

/* The begin may be in a ring that is drained later, but not by more than one drain. */
static void an_end_waits_one_drain_for_its_begin(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    uint32_t a = put_name(&fixture, "a");
    put_id(&fixture, SS_ANNOT_ASYNC_END, 30, NO_NAME, 1);
    put_id(&fixture, SS_ANNOT_ASYNC_END, 35, NO_NAME, 2);
    ss_annotation_tracks_drained(fixture.story.tracks);
    put_id(&fixture, SS_ANNOT_ASYNC_BEGIN, 10, a, 1);
    assert_int_equal(ss_annotation_tracks_refused(fixture.story.tracks), 0);
    ss_annotation_tracks_drained(fixture.story.tracks);
    assert_int_equal(ss_annotation_tracks_refused(fixture.story.tracks), 1);
    put_id(&fixture, SS_ANNOT_ASYNC_BEGIN, 20, a, 2);
    put_plain(&fixture, SS_ANNOT_PROCESS_END, 40, NO_NAME);
    end(&fixture);
    story_has(&fixture.story, "+10  begin a ()\n");
    story_has(&fixture.story, "+30  end\n");
    story_has(&fixture.story, "+20  begin a ()\n");
    story_has(&fixture.story, "+40  end unseen\n");
}

static void too_many_early_ends_are_counted(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    for (uint64_t id = 1; id <= MOST_EARLY + 3; id++) {
        put_id(&fixture, SS_ANNOT_ASYNC_END, 30, NO_NAME, id);
    }
    assert_int_equal(ss_annotation_tracks_refused(fixture.story.tracks), 3);
    end(&fixture);
}

/* --- steps, epochs, phases -------------------------------------------------------------------- */

static void steps_and_epochs_follow_each_other(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    put_number(&fixture, SS_ANNOT_EPOCH, 5, 0);
    put_number(&fixture, SS_ANNOT_STEP, 10, 3);
    put_number(&fixture, SS_ANNOT_STEP, 20, 4);
    put_plain(&fixture, SS_ANNOT_PROCESS_END, 30, NO_NAME);
    end(&fixture);
    story_has(&fixture.story, "+5 epoch begin = 0\n");
    story_has(&fixture.story, "+30 epoch end unseen\n");
    story_has(&fixture.story, "+10 step begin = 3\n+20 step end\n+20 step begin = 4\n"
                              "+30 step end unseen\n");
    assert_int_equal(fixture.story.role, SS_PROCESS_ROLE_TRAINS);
}

/* What follows the last update of a training is not a step: it loads, evaluates and saves. */
static void a_step_begins_with_its_first_work(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    uint32_t data = put_name(&fixture, ss_phase_data), work = put_name(&fixture, "forward");
    uint32_t others[] = {data, put_name(&fixture, ss_phase_evaluation),
                         put_name(&fixture, ss_phase_checkpoint)};
    put_plain(&fixture, SS_ANNOT_PHASE, 5, work);
    put_number(&fixture, SS_ANNOT_STEP, 10, 0);
    put_plain(&fixture, SS_ANNOT_PHASE, 10, data);
    put_plain(&fixture, SS_ANNOT_PHASE, 12, work);
    put_number(&fixture, SS_ANNOT_STEP, 20, 1);
    for (size_t i = 0; i < 3; i++) {
        put_plain(&fixture, SS_ANNOT_PHASE, 21 + i, others[i]);
    }
    put_plain(&fixture, SS_ANNOT_PHASE, 25, NO_NAME);
    put_plain(&fixture, SS_ANNOT_PROCESS_END, 30, NO_NAME);
    end(&fixture);
    story_has(&fixture.story, "+10 step begin = 0\n");
    story_has(&fixture.story, "+20 step end\n");
    story_lacks(&fixture.story, "= 1\n");
    story_has(&fixture.story, "+21 phase begin data ()\n+22 phase end\n");
    story_has(&fixture.story, "+25 phase end\n");
    story_lacks(&fixture.story, "unseen");
}

/* Two steps without work between them: the first one is written when the second begins. */
static void a_waiting_step_is_written_by_the_next(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    put_plain(&fixture, SS_ANNOT_PHASE, 5, put_name(&fixture, "forward"));
    put_number(&fixture, SS_ANNOT_STEP, 10, 0);
    put_number(&fixture, SS_ANNOT_STEP, 20, 1);
    struct ss_annot_event last = event_of(SS_ANNOT_STEPS_END, 30, NO_NAME);
    put(&fixture, last);
    put_number(&fixture, SS_ANNOT_STEP, 40, 2);
    end(&fixture);
    story_has(&fixture.story, "+10 step begin = 0\n+20 step end\n");
    story_lacks(&fixture.story, "= 1\n");
    story_has(&fixture.story, "+30 phase end unseen\n");
}

/* --- collectives ------------------------------------------------------------------------------ */

static struct ss_annot_event collective_of(struct fixture *fixture, const char *name, uint64_t id)
{
    struct ss_annot_event event = event_of(SS_ANNOT_ASYNC_BEGIN, 10 * id, put_name(fixture, name));
    event.id = id;
    event.collective.is_described = true;
    event.collective.library = SS_RING_NCCL;
    event.collective.group = put_name(fixture, "world");
    event.collective.size = 8;
    return with_value(event, SS_RING_VALUE_SIGNED, 4096);
}

static void a_collective_has_its_fields(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    struct ss_annot_event event = collective_of(&fixture, "ncclAllReduce", 1);
    event.collective.datatype = put_name(&fixture, "float32");
    event.collective.algorithm = put_name(&fixture, "ring");
    event.collective.protocol = put_name(&fixture, "LL");
    event.collective.reduction = 1;
    event.collective.sequence = 12;
    event.collective.root = 3;
    put(&fixture, event);
    event = collective_of(&fixture, "gloo:broadcast", 2); /* nothing else is known */
    put(&fixture, event);
    event = collective_of(&fixture, "nccl:send", 3);
    event.collective.is_described = false;
    put(&fixture, event);
    end(&fixture);
    story_has(&fixture.story, "+10  begin ncclAllReduce () = 4096 group=1 sequence=12 "
                              "datatype=float32 algorithm=ring protocol=LL collective=allreduce "
                              "reduction=sum root=3\n");
    story_has(&fixture.story, "+20  begin gloo:broadcast () = 4096 group=1");
    story_has(&fixture.story, "+30  begin nccl:send () = 4096\n");
    assert_int_equal(fixture.story.group_count, 1); /* of one name */
    assert_int_equal(fixture.story.groups[0].size, 8);
    assert_int_equal(fixture.story.groups[0].kind, SS_GROUP_NCCL);
    assert_string_equal(fixture.story.group_names[0], "world");
}

static void a_group_is_of_the_library_of_its_first_collective(void **state)
{
    (void)state;
    static const struct {
        enum ss_ring_library library;
        enum ss_group_kind kind;
    } cases[] = {{SS_RING_GLOO, SS_GROUP_GLOO},
                 {SS_RING_NCCL, SS_GROUP_NCCL},
                 {SS_RING_MPI, SS_GROUP_MPI},
                 {SS_RING_OTHER_LIBRARY, SS_GROUP_OTHER}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture;
        begin(&fixture);
        struct ss_annot_event event = collective_of(&fixture, "all ranks, together", 1);
        event.collective.library = cases[i].library;
        put(&fixture, event);
        event.id = 2;
        event.collective.library = SS_RING_OTHER_LIBRARY;
        put(&fixture, event);
        end(&fixture);
        assert_int_equal(fixture.story.group_count, 1);
        assert_int_equal(fixture.story.groups[0].kind, cases[i].kind);
    }
}

static struct ss_annot_event transfer_of(struct fixture *fixture, const char *name, uint64_t id,
                                         int64_t self, int64_t peer)
{
    struct ss_annot_event event = collective_of(fixture, name, id);
    bool receives = strcmp(name, "gloo:recv") == 0;
    event.collective.direction = receives ? SS_RING_RECEIVES : SS_RING_SENDS;
    event.collective.self = self;
    event.collective.root = peer;
    event.collective.tag = 5;
    event.collective.sequence = 9;
    return event;
}

/* Both ranks compute the same id, without talking to each other. */
static void a_send_flows_into_its_receive(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    put(&fixture, transfer_of(&fixture, "gloo:send", 1, 0, 1));
    put(&fixture, transfer_of(&fixture, "gloo:recv", 2, 1, 0));
    put_id(&fixture, SS_ANNOT_ASYNC_END, 30, NO_NAME, 2);
    put(&fixture, transfer_of(&fixture, "gloo:send", 4, 1, 0)); /* the other way */
    struct ss_annot_event other = transfer_of(&fixture, "gloo:send", 5, 0, 1);
    other.collective.tag = 6;
    put(&fixture, other);
    other = transfer_of(&fixture, "gloo:send", 6, 0, 1);
    other.collective.sequence = 10;
    put(&fixture, other);
    other = transfer_of(&fixture, "gloo:send", 7, 0, 1);
    other.collective.group = put_name(&fixture, "another");
    put(&fixture, other);
    put(&fixture, transfer_of(&fixture, "gloo:recv", 8, 1, 0));
    put_plain(&fixture, SS_ANNOT_PROCESS_END, 90, NO_NAME); /* its end was not seen */
    end(&fixture);
    story_has(&fixture.story, "+10  begin gloo:send () = 4096 group=1 sequence=9 tag=5 peer=1 "
                              "flow 1\n");
    story_has(&fixture.story, "+20  begin gloo:recv () = 4096 group=1 sequence=9 tag=5 peer=0\n");
    story_has(&fixture.story, "+30  end flow-end 1\n");
    for (int i = 2; i <= 5; i++) {
        char part[16];
        snprintf(part, sizeof part, " flow %d\n", i);
        story_has(&fixture.story, part);
    }
    story_lacks(&fixture.story, "unseen flow");
}

static void a_transfer_that_is_not_described_has_no_flow(void **state)
{
    (void)state;
    for (int missing = 0; missing < 5; missing++) {
        struct fixture fixture;
        begin(&fixture);
        struct ss_annot_event event = transfer_of(&fixture, "gloo:send", 1, 0, 1);
        event.collective.tag = missing == 0 ? -1 : event.collective.tag;
        event.collective.self = missing == 1 ? -1 : event.collective.self;
        event.collective.root = missing == 2 ? -1 : event.collective.root;
        event.collective.sequence = missing == 3 ? -1 : event.collective.sequence;
        event.collective.group = missing == 4 ? 0 : event.collective.group;
        put(&fixture, event);
        end(&fixture);
        story_lacks(&fixture.story, "flow");
    }
}

/* --- facts, windows, names of threads --------------------------------------------------------- */

static void facts_are_notes(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    uint32_t key = put_name(&fixture, "batch"), text = put_name(&fixture, "many");
    struct ss_annot_event fact = event_of(SS_ANNOT_FACT, 10, key);
    put(&fixture, with_value(fact, SS_RING_VALUE_SIGNED, (uint64_t)-7));
    put(&fixture, with_value(fact, SS_RING_VALUE_UNSIGNED, 8));
    put(&fixture, with_real(fact, 0.5));
    put(&fixture, with_value(fact, SS_RING_VALUE_NAME, text));
    end(&fixture);
    story_has(&fixture.story, "[fact] -7 batch = -7\n");
    story_has(&fixture.story, "[fact] 8 batch = 8\n");
    story_has(&fixture.story, "[fact] 0 batch = 0.5\n");
    story_has(&fixture.story, "[fact] 0 batch = many\n");
}

static void windows_are_notes_of_the_schedule(void **state)
{
    (void)state;
    static const char *const actions[] = {"skip", "warmup", "record", "record_and_save"};
    struct fixture fixture;
    begin(&fixture);
    for (uint32_t action = 0; action < 4; action++) {
        struct ss_annot_event window = event_of(SS_ANNOT_WINDOW, 10, NO_NAME);
        window.detail = action;
        window.id = 2;
        put(&fixture, with_value(window, SS_RING_VALUE_SIGNED, 30 + action));
    }
    struct ss_annot_event cut = event_of(SS_ANNOT_WINDOW, 10, NO_NAME);
    cut.detail = SS_RING_WINDOW_CUT;
    put(&fixture, with_value(cut, SS_RING_VALUE_SIGNED, (uint64_t)-1));
    end(&fixture);
    for (uint32_t action = 0; action < 4; action++) {
        char line[80];
        snprintf(line, sizeof line, "[schedule] 2 %s from step %u\n", actions[action], 30 + action);
        story_has(&fixture.story, line);
    }
    story_has(&fixture.story, "[schedule] 0 skip from step 0; the window before is partial\n");
}

static void a_thread_has_its_name(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    uint32_t name = put_name(&fixture, "worker");
    struct ss_annot_event own = event_of(SS_ANNOT_THREAD_NAME, 10, name);
    own.tid = INT32_MAX - 1;
    put(&fixture, own);
    own.kind = SS_ANNOT_MARK; /* a thread without events is not in the file */
    put(&fixture, own);
    struct ss_annot_event other = event_of(SS_ANNOT_THREAD_NAME, 20, put_name(&fixture, "gone"));
    other.detail = 1;
    other.tid = INT32_MAX; /* no thread of the process */
    put(&fixture, other);
    put_plain(&fixture, SS_ANNOT_THREAD_NAME, 10, 99);
    end(&fixture);
    assert_non_null(strstr(fixture.story.thread_names, "2147483646 worker;"));
    assert_null(strstr(fixture.story.thread_names, "gone"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_have_the_track_of_their_thread_and_domain),
        cmocka_unit_test(payloads_keep_their_type),
        cmocka_unit_test(a_name_has_its_category),
        cmocka_unit_test(flows_connect_ranges),
        cmocka_unit_test(counters_have_series),
        cmocka_unit_test(lines_have_hits_and_time),
        cmocka_unit_test(asynchronous_ranges_may_overlap),
        cmocka_unit_test(an_end_waits_one_drain_for_its_begin),
        cmocka_unit_test(too_many_early_ends_are_counted),
        cmocka_unit_test(steps_and_epochs_follow_each_other),
        cmocka_unit_test(a_step_begins_with_its_first_work),
        cmocka_unit_test(a_waiting_step_is_written_by_the_next),
        cmocka_unit_test(a_collective_has_its_fields),
        cmocka_unit_test(a_group_is_of_the_library_of_its_first_collective),
        cmocka_unit_test(a_send_flows_into_its_receive),
        cmocka_unit_test(a_transfer_that_is_not_described_has_no_flow),
        cmocka_unit_test(facts_are_notes),
        cmocka_unit_test(windows_are_notes_of_the_schedule),
        cmocka_unit_test(a_thread_has_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
