/* SPDX-License-Identifier: Apache-2.0 */
/* From the files of torch.profiler to the events of the trace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "record/tracks/torch_profiles.h"
#include "recorded_story.h"
#include "source/torch_profile.h"

/* Numbers of the texts in each file, from 1. */
enum { ADD = 1, KERNEL, SCOPE, NCCL, WITH_FLOPS, OF_GROUP, DETAILS, REASON, TEXTS = REASON };

static const char *const texts[TEXTS] = {
    "aten::add",          "gemm",
    "record_param_comms", "ncclDevKernel_AllReduce_Sum",
    "\"flops\":8",        "\"Process Group Name\":\"world\",\"Group size\":4",
    "shapes, memory",     "out of steps"};

struct fixture {
    struct recorded_story story;
    struct ss_torch_profiles profiles;
    struct ss_torch_files files;
    char folder[64];
    unsigned next; /* number of the next file */
};

static void on_changed(struct ss_torch_profiles *profiles)
{
    profiles->source_ref++; /* counts the calls */
}

static void begin(struct fixture *fixture)
{
    char ring[96];
    memset(fixture, 0, sizeof *fixture);
    story_begin(&fixture->story);
    snprintf(fixture->folder, sizeof fixture->folder, "/tmp/stepscope-test-XXXXXX");
    assert_non_null(mkdtemp(fixture->folder));
    snprintf(ring, sizeof ring, "%s/1.2.3" SS_RING_FILE_SUFFIX, fixture->folder);
    fixture->profiles.context = &fixture->story.context;
    fixture->profiles.changed = on_changed;
    ss_torch_files_init(&fixture->files, &fixture->profiles, fixture->story.tracks,
                        fixture->story.process, ring);
}

static void end(struct fixture *fixture)
{
    ss_torch_files_fini(&fixture->files);
    story_end(&fixture->story);
    assert_int_equal(rmdir(fixture->folder), 0); /* what was read is removed */
}

static struct ss_torch_profile_head head_of(int64_t first_step, int64_t last_step)
{
    return (struct ss_torch_profile_head){.version = SS_TORCH_PROFILE_VERSION,
                                          .first_step = first_step,
                                          .last_step = last_step,
                                          .real_begin_ns = 1000,
                                          .monotonic_begin_ns = (int64_t)STORY_BASE_NS,
                                          .real_end_ns = 9000,
                                          .monotonic_end_ns = (int64_t)STORY_BASE_NS + 8000,
                                          .texts = TEXTS,
                                          .details = DETAILS};
}

static void path_of(const struct fixture *fixture, char *path, size_t size)
{
    snprintf(path, size, "%s/1.2.3.%u" SS_RING_TORCH_SUFFIX, fixture->folder, fixture->next);
}

static void put_file(struct fixture *fixture, struct ss_torch_profile_head head,
                     const struct ss_torch_event *events, size_t count)
{
    char path[128];
    path_of(fixture, path, sizeof path);
    fixture->next++;
    head.events = (int64_t)count;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fwrite("SSTORCH1", 8, 1, file);
    fwrite(&head, sizeof head, 1, file);
    for (size_t i = 0; i < TEXTS; i++) {
        int64_t length = (int64_t)strlen(texts[i]);
        fwrite(&length, sizeof length, 1, file);
    }
    for (size_t i = 0; i < TEXTS; i++) {
        fwrite(texts[i], strlen(texts[i]), 1, file);
    }
    fwrite(events, sizeof *events, count, file);
    fwrite("SSTORCH1", 8, 1, file);
    fclose(file);
}

/* Until 100,000 ns everything has happened. */
static void collect(struct fixture *fixture)
{
    ss_torch_files_collect(&fixture->files, STORY_BASE_NS + 100000);
}

/* torch's clock is 1000 behind the zero of the story. */
static struct ss_torch_event event_of(enum ss_torch_kind kind, int64_t name, int64_t lane,
                                      int64_t begin_ns, int64_t duration_ns)
{
    return (struct ss_torch_event){.kind = kind,
                                   .name = name,
                                   .lane = lane,
                                   .begin_ns = 1000 + begin_ns,
                                   .duration_ns = duration_ns,
                                   .number = -1};
}

static void operators_are_on_their_thread(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    struct ss_torch_event events[] = {
        event_of(SS_TORCH_SCOPE, SCOPE, getpid(), 100, 500),
        event_of(SS_TORCH_OPERATOR, ADD, getpid(), 200, 100),
        event_of(SS_TORCH_BACKWARD, ADD, getpid(), 300, 300),
        event_of(SS_TORCH_OPERATOR, ADD, 0, 100, 100), /* not a thread */
        event_of(SS_TORCH_OPERATOR, 0, getpid(), 700, 99999999)};
    events[1].details = WITH_FLOPS;
    put_file(&fixture, head_of(3, 5), events, 5);
    collect(&fixture);
    end(&fixture);
    story_has(&fixture.story, "+100 torch.profiler begin record_param_comms (scope)");
    story_has(&fixture.story, "+200 torch.profiler begin aten::add (operator) flops=8\n"
                              "+300 torch.profiler end\n"
                              "+300 torch.profiler begin aten::add (backward)\n"
                              "+600 torch.profiler end\n+600 torch.profiler end\n");
    story_has(&fixture.story, "+700 torch.profiler begin <unknown> (operator)\n"
                              "+100000 torch.profiler end\n");
    story_has(&fixture.story, "[fact] 0 torch.profiler = steps 3 to 5, with shapes, memory, 4 "
                              "events, 0.0 ms pause\n");
    assert_int_equal(fixture.profiles.windows, 1);
    assert_int_equal(fixture.profiles.steps, 3);
    assert_int_equal(fixture.profiles.events, 4);
    assert_int_equal(fixture.profiles.source_ref, 1);
    assert_string_equal(fixture.profiles.problem, "");
}

static void work_of_devices_is_on_their_streams(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    struct ss_torch_event events[] = {event_of(SS_TORCH_DEVICE, KERNEL, 7, 100, 50),
                                      event_of(SS_TORCH_DEVICE, KERNEL, 7, 200, 50),
                                      event_of(SS_TORCH_DEVICE, NCCL, 8, 100, 50),
                                      event_of(SS_TORCH_DEVICE, KERNEL, 7, 100, 50),
                                      event_of(SS_TORCH_DEVICE_SCOPE, SCOPE, 9, 100, 50)};
    events[0].number = 55;
    events[2].details = OF_GROUP;
    events[3].device = 1;
    put_file(&fixture, head_of(3, 3), events, 5);
    collect(&fixture);
    end(&fixture);
    struct recorded_story *story = &fixture.story;
    story_has(story, "+100 GPU 0/stream 7 begin gemm () correlation=55\n"
                     "+150 GPU 0/stream 7 end\n+200 GPU 0/stream 7 begin gemm ()\n");
    story_has(story, "+100 GPU 0/stream 8 begin ncclDevKernel_AllReduce_Sum ()");
    story_has(story, " group=1\n");
    story_has(story, "+100 GPU 1/stream 7 begin gemm ()\n");
    story_has(story, "+100 GPU 0/stream 9 begin record_param_comms (scope)\n");
    /* The extent of the window. */
    story_has(story, "+0 device work recorded: 1\n");
    story_has(story, "+8000 device work recorded: 0\n");
    assert_int_equal(story->device_count, 2);
    assert_int_equal(story->devices[0].number, 1); /* 0: unknown */
    assert_int_equal(story->devices[1].number, 2);
    assert_int_equal(story->stream_count, 4);
    assert_int_equal(story->groups[0].size, 4);
    assert_string_equal(story->group_names[0], "world");
}

/* What stands in for the callback is written like its ranges. */
static void in_place_of_the_callback_ranges_have_their_sequence(void **state)
{
    (void)state;
    for (int is_instead = 0; is_instead < 2; is_instead++) {
        struct fixture fixture;
        begin(&fixture);
        struct ss_torch_event event = event_of(SS_TORCH_OPERATOR, ADD, getpid(), 200, 100);
        event.number = 12;
        struct ss_torch_profile_head head = head_of(3, 3);
        head.is_instead = is_instead;
        put_file(&fixture, head, &event, 1);
        collect(&fixture);
        end(&fixture);
        if (is_instead) {
            story_has(&fixture.story, "+200 torch begin aten::add (operator) = 12\n");
            story_has(&fixture.story, ", because operators cannot be recorded, 1 events");
        } else {
            story_has(&fixture.story, "+200 torch.profiler begin aten::add (operator)");
            story_lacks(&fixture.story, "= 12\n");
        }
    }
}

static void windows_add_up(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    struct ss_torch_event event = event_of(SS_TORCH_OPERATOR, ADD, getpid(), 200, 100);
    static const int64_t pauses[] = {3000000, 9000000, -5};
    for (int i = 0; i < 3; i++) {
        struct ss_torch_profile_head head = head_of(10 * i, 10 * i + 4);
        head.pause_ns = pauses[i];
        head.left_out = i - 1;
        put_file(&fixture, head, &event, 1);
    }
    collect(&fixture);
    collect(&fixture); /* there are no more */
    struct ss_torch_profile_head odd = head_of(7, 6);
    odd.reason = REASON;
    put_file(&fixture, odd, &event, 1);
    collect(&fixture);
    end(&fixture);
    assert_int_equal(fixture.profiles.windows, 4);
    assert_int_equal(fixture.profiles.steps, 15);
    assert_int_equal(fixture.profiles.events, 4);
    assert_int_equal(fixture.profiles.left_out, 1);
    assert_int_equal(fixture.profiles.longest_pause_ns, 9000000);
    assert_string_equal(fixture.profiles.problem, "ended before its last step: out of steps");
    story_has(&fixture.story, "steps 10 to 14, with shapes, memory, 1 events, 9.0 ms pause\n");
    story_has(&fixture.story, "1 events, 0.0 ms pause, not all: out of steps\n");
}

static void what_did_not_run_is_said(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    struct ss_torch_profile_head head = head_of(-1, -1);
    head.reason = REASON;
    put_file(&fixture, head, NULL, 0);
    collect(&fixture);
    end(&fixture);
    story_has(&fixture.story, "[fact] 0 torch.profiler = did not run: out of steps\n");
    assert_string_equal(fixture.profiles.problem, "out of steps");
    assert_int_equal(fixture.profiles.windows, 0);
    assert_int_equal(fixture.profiles.source_ref, 0);
}

static void a_file_that_is_none_is_a_problem_and_the_next_is_read(void **state)
{
    (void)state;
    struct fixture fixture;
    char path[128];
    begin(&fixture);
    path_of(&fixture, path, sizeof path);
    FILE *file = fopen(path, "wb");
    fputs("no profile", file);
    fclose(file);
    fixture.next++;
    path_of(&fixture, path, sizeof path);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    fixture.next++;
    struct ss_torch_event event = event_of(SS_TORCH_OPERATOR, ADD, getpid(), 200, 100);
    put_file(&fixture, head_of(0, 0), &event, 1);
    collect(&fixture);
    end(&fixture);
    assert_non_null(strstr(fixture.profiles.problem, ".1" SS_RING_TORCH_SUFFIX));
    assert_int_equal(fixture.profiles.windows, 1);
}

/* Tracks of one process; of the first file they serve the second too. */
static void tracks_are_limited_and_last(void **state)
{
    (void)state;
    enum { MOST_LANES = 4096 };
    static struct ss_torch_event events[MOST_LANES + 2];
    struct fixture fixture;
    begin(&fixture);
    for (int64_t i = 0; i < MOST_LANES + 2; i++) {
        events[i] = event_of(SS_TORCH_OPERATOR, ADD, 1000000 + i, 200, 100);
    }
    put_file(&fixture, head_of(0, 0), events, MOST_LANES + 2);
    collect(&fixture);
    assert_int_equal(fixture.files.lanes.count, MOST_LANES);
    assert_int_equal(fixture.profiles.events, MOST_LANES);
    put_file(&fixture, head_of(1, 1), events, 1);
    collect(&fixture);
    assert_int_equal(fixture.profiles.events, MOST_LANES + 1);
    ss_torch_files_fini(&fixture.files);
    assert_int_equal(rmdir(fixture.folder), 0);
    story_close(&fixture.story); /* more tracks than a story has */
    unlink(fixture.story.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_are_on_their_thread),
        cmocka_unit_test(work_of_devices_is_on_their_streams),
        cmocka_unit_test(in_place_of_the_callback_ranges_have_their_sequence),
        cmocka_unit_test(windows_add_up),
        cmocka_unit_test(what_did_not_run_is_said),
        cmocka_unit_test(a_file_that_is_none_is_a_problem_and_the_next_is_read),
        cmocka_unit_test(tracks_are_limited_and_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
