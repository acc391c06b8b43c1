/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts, contexts, streams, groups and ranks through a file with restart points, repair and a
 * second writer; what is written only when used; hostile runs of ranks. STEPSCOPE_WRITE_GOLDEN=1
 * makes tests/golden/good/entities.pftrace anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "entity_recording.h"
#include "trace/rewrite.h"

struct seen {
    unsigned hosts, contexts, streams, groups;
    struct ss_trace_process process;
    struct ss_trace_context context;
    struct ss_trace_stream streams_by_ref[3];
    uint32_t ranks[3][64];
    size_t rank_counts[3];
    uint32_t track_streams[3];
    uint64_t time_namespace;
};

static enum ss_status on_host(void *context, const struct ss_trace_host *host)
{
    struct seen *seen = context;
    seen->hosts++;
    seen->time_namespace = host->time_namespace;
    assert_true(ss_strview_equal(host->boot_id, ss_strview_of("5c1f-boot")));
    assert_true(ss_strview_equal(host->name, ss_strview_of("node17")));
    return SS_OK;
}

static enum ss_status on_process(void *context, const struct ss_trace_process *process)
{
    ((struct seen *)context)->process = *process;
    return SS_OK;
}

static enum ss_status on_context(void *context, const struct ss_trace_context *record)
{
    struct seen *seen = context;
    seen->contexts++;
    seen->context = *record;
    return SS_OK;
}

static enum ss_status on_stream(void *context, const struct ss_trace_stream *stream)
{
    struct seen *seen = context;
    assert_in_range(stream->ref, 1, 2);
    assert_int_equal(stream->name.length, stream->is_default ? 0 : strlen("copies"));
    seen->streams++;
    seen->streams_by_ref[stream->ref] = *stream;
    return SS_OK;
}

static enum ss_status on_group(void *context, const struct ss_trace_group *group)
{
    struct seen *seen = context;
    assert_in_range(group->ref, 1, 2);
    seen->groups++;
    size_t *count = &seen->rank_counts[group->ref];
    struct ss_strview runs = group->ranks;
    *count = 0;
    for (struct ss_rank_run run; ss_rank_runs_next(&runs, &run);) {
        for (uint32_t i = 0; i < run.count; i++) {
            assert_true(*count < 64);
            seen->ranks[group->ref][(*count)++] = run.first + i * run.stride;
        }
    }
    return SS_OK;
}

static enum ss_status on_track(void *context, const struct ss_trace_track *track)
{
    struct seen *seen = context;
    assert_in_range(track->ref, 1, 2);
    seen->track_streams[track->ref] = track->stream_ref;
    return SS_OK;
}

static void read_trace(const char *path, struct seen *seen, struct ss_trace_summary *summary)
{
    static const struct ss_trace_visitor visitor = {.host = on_host,
                                                    .process = on_process,
                                                    .context = on_context,
                                                    .stream = on_stream,
                                                    .group = on_group,
                                                    .track = on_track};
    *seen = (struct seen){0};
    MUST(ss_trace_read(path, &visitor, seen, summary, must_err));
}

static void check(const struct seen *seen)
{
    static const uint32_t some[] = {0, 8, 16, 24, 5, 63};
    assert_int_equal(seen->hosts, 1);
    assert_int_equal(seen->contexts, 1);
    assert_int_equal(seen->streams, 2);
    assert_int_equal(seen->groups, 2);
    assert_int_equal(seen->time_namespace, 4026531834);
    assert_int_equal(seen->process.host_ref, 1);
    assert_true(seen->process.has_rank && seen->process.rank == 0);
    assert_true(seen->process.has_local_rank && seen->process.local_rank == 3);
    assert_true(seen->process.has_node && seen->process.node == 0);
    assert_int_equal(seen->process.world_size, 64);
    assert_int_equal(seen->process.role, SS_PROCESS_ROLE_TRAINS);
    assert_int_equal(seen->context.process_ref, 1);
    assert_int_equal(seen->context.device_ref, 1);
    assert_int_equal(seen->context.number, 7);
    assert_int_equal(seen->streams_by_ref[1].context_ref, 1);
    assert_int_equal(seen->streams_by_ref[1].priority, -1);
    assert_true(seen->streams_by_ref[2].number == UINT64_C(0x7f00deadbeef));
    assert_int_equal(seen->rank_counts[1], 64);
    assert_int_equal(seen->ranks[1][63], 63);
    assert_int_equal(seen->rank_counts[2], 6);
    assert_memory_equal(seen->ranks[2], some, sizeof some);
    assert_int_equal(seen->track_streams[1], 1);
    assert_int_equal(seen->track_streams[2], 2);
}

static void entities_survive_restart_points(void **state)
{
    (void)state;
    struct seen seen;
    struct ss_trace_summary summary;
    const char *path = recording_path("entities");
    entity_recording_write(path, 3000);
    read_trace(path, &seen, &summary);
    assert_true(summary.restart_points > 2);
    assert_int_equal(summary.lost_events, 0);
    check(&seen);
    unlink(path);
}

/* Without its first restart period, a file still has what its later events refer to. */
static void repair_keeps_entities(void **state)
{
    (void)state;
    struct seen seen;
    struct ss_trace_summary summary;
    char path[600], repaired[700];
    snprintf(path, sizeof path, "%s", recording_path("entities"));
    snprintf(repaired, sizeof repaired, "%s.repaired", path);
    entity_recording_write(path, 3000);
    FILE *file = fopen(path, "r+");
    fseek(file, 200, SEEK_SET);
    fputs("damage", file);
    fclose(file);
    unlink(repaired);
    MUST(ss_trace_repair(path, repaired, &summary, must_err));
    read_trace(repaired, &seen, &summary);
    check(&seen);
    unlink(path);
    unlink(repaired);
}

static struct ss_trace_writer *new_writer(const char *path)
{
    struct ss_trace_writer_options options = {.size = sizeof options, .path = path, .replay = true};
    struct ss_trace_writer *writer;
    MUST(ss_trace_writer_open(&options, &writer, must_err));
    return writer;
}

static void streams_are_written_only_when_used(void **state)
{
    (void)state;
    struct seen seen;
    struct ss_trace_summary summary;
    const char *path = recording_path("entities");
    struct ss_trace_writer *first = new_writer(NULL);
    entity_recording_define(first);
    struct ss_trace_writer *second = new_writer(path);
    MUST(ss_trace_writer_copy_definitions(second, first, must_err));
    struct ss_trace_event mark = {
        .time_ns = RECORDING_START, .track_ref = 2, .name_ref = 1, .kind = SS_EVENT_INSTANT};
    MUST(ss_trace_writer_event(second, &mark, must_err));
    MUST(ss_trace_writer_close(second, must_err));
    MUST(ss_trace_writer_close(first, must_err));
    read_trace(path, &seen, &summary);
    assert_int_equal(seen.groups, 2);
    assert_int_equal(seen.contexts, 1);
    assert_int_equal(seen.streams, 1);
    assert_true(seen.streams_by_ref[1].number == UINT64_C(0x7f00deadbeef));
    unlink(path);
}

static void unknown_refs_are_refused(void **state)
{
    (void)state;
    struct ss_error err = {0};
    struct ss_trace_writer *writer = new_writer("/dev/null");
    assert_int_equal(ss_trace_writer_stream(writer, &(struct ss_trace_stream){.ref = 0}, &err),
                     SS_E_BUG);
    assert_int_equal(
        ss_trace_writer_group(writer, &(struct ss_trace_group){.ref = UINT32_MAX}, &err), SS_E_BUG);
    MUST(ss_trace_writer_close(writer, must_err));
}

static void hostile_runs_end(void **state)
{
    (void)state;
    static const char *const hostile[] = {"\x01",
                                          "\x01\x02",
                                          "\x01\x80",
                                          "\x01\x00\x01",
                                          "\x01\xff\xff\xff\xff\x0f\x02",
                                          "\xff\xff\xff\xff\xff\x01\x01\x01"};
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        struct ss_strview runs = ss_strview_of(hostile[i]);
        struct ss_rank_run run;
        assert_false(ss_rank_runs_next(&runs, &run));
        assert_int_equal(runs.length, 0);
    }
    struct ss_strview last = {"\xff\xff\xff\xff\x0f\x01\x09", 7};
    struct ss_rank_run run;
    assert_true(ss_rank_runs_next(&last, &run));
    assert_true(run.first == UINT32_MAX && run.count == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entities_survive_restart_points),
        cmocka_unit_test(repair_keeps_entities),
        cmocka_unit_test(streams_are_written_only_when_used),
        cmocka_unit_test(unknown_refs_are_refused),
        cmocka_unit_test(hostile_runs_end),
    };
    if (getenv("STEPSCOPE_WRITE_GOLDEN") != NULL) {
        entity_recording_write(SS_TEST_SOURCE_DIR "/tests/golden/good/entities.pftrace", 4);
        chmod(SS_TEST_SOURCE_DIR "/tests/golden/good/entities.pftrace", 0644);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
