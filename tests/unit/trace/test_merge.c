/* SPDX-License-Identifier: Apache-2.0 */
/* Random recordings whose pids, tids, tracks and flows collide, merged and read back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../random.h"
#include "base/vec.h"
#include "trace/merge.h"
#include "trace/reader.h"
#include "trace/writer.h"
#include "trace/writer_entities.h"
#include "trace/writer_tracks.h"

enum { PARTS = 5, PROCESSES = 4, EVENTS = 300, PATH_BYTES = 256, ROUNDS = 20, BUSY_EVENTS = 60000 };
#define START_NS UINT64_C(1000000000000)

static char folder[PATH_BYTES / 2];

static const char *path_of(const char *name, unsigned number)
{
    static char paths[64][PATH_BYTES];
    static unsigned next;
    char *path = paths[next++ % 64];
    snprintf(path, PATH_BYTES, "%.127s/%.60s%u.pftrace", folder, name, number);
    return path;
}

static void put_text(struct ss_trace_writer *writer, const char *key, const char *text)
{
    const struct ss_trace_attribute attribute = {.key = ss_strview_of(key),
                                                 .text = ss_strview_of(text)};
    assert_int_equal(ss_trace_writer_attribute(writer, &attribute, NULL), SS_OK);
}

static void put_number(struct ss_trace_writer *writer, const char *key, int64_t number)
{
    const struct ss_trace_attribute attribute = {
        .key = ss_strview_of(key), .is_integer = true, .integer = number};
    assert_int_equal(ss_trace_writer_attribute(writer, &attribute, NULL), SS_OK);
}

/* The name of each event says where it is from: "part process flow". */
static void put_event(struct ss_trace_writer *writer, unsigned part, uint32_t process,
                      uint64_t time_ns, uint32_t *name)
{
    char text[64];
    uint64_t flow =
        next_random() % 3 == 0 ? next_random() % 8 : next_random() % 3 + (UINT64_C(1) << 63);
    snprintf(text, sizeof text, "%u %u %llu", part, process, (unsigned long long)flow);
    const struct ss_trace_name row = {.ref = ++*name, .text = ss_strview_of(text)};
    const struct ss_trace_event event = {.time_ns = time_ns,
                                         .track_ref = process,
                                         .name_ref = row.ref,
                                         .kind = SS_EVENT_INSTANT,
                                         .flow = SS_FLOW_THROUGH,
                                         .flow_id = flow};
    assert_int_equal(ss_trace_writer_name(writer, &row, NULL), SS_OK);
    assert_int_equal(ss_trace_writer_event(writer, &event, NULL), SS_OK);
}

/* Pids are of a small range, so that most are there in several parts. */
static void put_process(struct ss_trace_writer *writer, unsigned part, uint32_t ref, int32_t pid)
{
    char label[64];
    snprintf(label, sizeof label, "%u %u", part, ref);
    const struct ss_trace_process process = {.ref = ref,
                                             .pid = pid,
                                             .start_time_ticks = part * 100 + ref,
                                             .name = ss_strview_of("python"),
                                             .label = ss_strview_of(label)};
    const struct ss_trace_thread thread = {
        .ref = ref, .process_ref = ref, .tid = pid, .is_main = true};
    const struct ss_trace_thread other = {
        .ref = PROCESSES + ref, .process_ref = ref, .tid = 200 + (int32_t)(next_random() % 3)};
    const struct ss_trace_track track = {.ref = ref, .kind = SS_TRACK_RANGES, .thread_ref = ref};
    assert_int_equal(ss_trace_writer_process(writer, &process, NULL), SS_OK);
    assert_int_equal(ss_trace_writer_thread(writer, &thread, NULL), SS_OK);
    assert_int_equal(ss_trace_writer_thread(writer, &other, NULL), SS_OK);
    assert_int_equal(ss_trace_writer_track(writer, &track, NULL), SS_OK);
    const struct ss_trace_sample sample = {
        .time_ns = START_NS + 1, .thread_ref = other.ref, .weight = 1, .step = -1};
    assert_int_equal(ss_trace_writer_sample(writer, &sample, NULL), SS_OK);
}

static void write_part(const char *path, unsigned part, const char *boot)
{
    const struct ss_trace_writer_options options = {
        .size = sizeof options, .path = path, .replay = true, .unit_bytes = 2048};
    struct ss_trace_writer *writer = NULL;
    uint32_t name = 0;
    uint64_t time_ns = START_NS + next_random() % 1000;
    assert_int_equal(ss_trace_writer_open(&options, &writer, NULL), SS_OK);
    put_text(writer, "boot_id", boot);
    put_text(writer, "hostname", "node");
    put_text(writer, "command", "train");
    put_number(writer, "rank", part);
    const struct ss_trace_clock clock = {.monotonic_ns = START_NS,
                                         .boottime_ns = START_NS,
                                         .monotonic_raw_ns = START_NS,
                                         .realtime_ns = 2 * START_NS};
    assert_int_equal(ss_trace_writer_clock(writer, &clock, NULL), SS_OK);
    int32_t pid = 100 + (int32_t)(next_random() % 2);
    for (uint32_t ref = 1; ref <= PROCESSES; ref++) {
        put_process(writer, part, ref, pid++);
    }
    for (int i = 0; i < EVENTS; i++) {
        time_ns += next_random() % 100000;
        put_event(writer, part, 1 + (uint32_t)(next_random() % PROCESSES), time_ns, &name);
    }
    assert_int_equal(ss_trace_writer_close(writer, NULL), SS_OK);
}

/* --- what the merged file has ------------------------------------------------------------------
 */

struct flow_seen {
    uint64_t id;
    char name[64];
};

struct seen {
    int32_t pids[1000], tids[2000];
    char labels[1000][64], names[PARTS * EVENTS + 1][64];
    uint32_t process_of[2000]; /* by track */
    size_t processes, threads, events, samples;
    struct ss_vec_of(struct flow_seen) flows;
    uint64_t last_ns;
};

static enum ss_status on_process(void *context, const struct ss_trace_process *process)
{
    struct seen *seen = context;
    seen->pids[process->ref] = process->pid;
    snprintf(seen->labels[process->ref], 64, "%.*s", (int)process->label.length,
             process->label.data);
    seen->processes = process->ref > seen->processes ? process->ref : seen->processes;
    return SS_OK;
}

static enum ss_status on_thread(void *context, const struct ss_trace_thread *thread)
{
    struct seen *seen = context;
    seen->tids[thread->ref] = thread->tid;
    if (thread->is_main) {
        assert_int_equal(thread->tid, seen->pids[thread->process_ref]);
    }
    seen->threads = thread->ref > seen->threads ? thread->ref : seen->threads;
    return SS_OK;
}

static enum ss_status on_track(void *context, const struct ss_trace_track *track)
{
    struct seen *seen = context;
    seen->process_of[track->ref] = track->process_ref;
    return SS_OK;
}

static enum ss_status on_name(void *context, const struct ss_trace_name *name)
{
    struct seen *seen = context;
    snprintf(seen->names[name->ref], 64, "%.*s", (int)name->text.length, name->text.data);
    return SS_OK;
}

/* The event is on the track of the process that its name says. */
static enum ss_status on_event(void *context, const struct ss_trace_event *event)
{
    struct seen *seen = context;
    const char *name = seen->names[event->name_ref];
    const char *label = seen->labels[seen->process_of[event->track_ref]];
    assert_int_equal(strncmp(name, label, strlen(label)), 0);
    struct flow_seen flow = {.id = event->flow_id};
    snprintf(flow.name, sizeof flow.name, "%c%s", name[0], strrchr(name, ' '));
    ss_vec_push(&seen->flows, flow);
    seen->events++;
    return SS_OK;
}

static enum ss_status on_sample(void *context, const struct ss_trace_sample *sample)
{
    struct seen *seen = context;
    seen->samples += sample->weight;
    return SS_OK;
}

static struct seen *read_all(const char *path)
{
    static const struct ss_trace_visitor visitor = {.process = on_process,
                                                    .thread = on_thread,
                                                    .track = on_track,
                                                    .name = on_name,
                                                    .sample = on_sample,
                                                    .event = on_event};
    struct seen *seen = ss_alloc_zero(1, sizeof *seen);
    struct ss_trace_summary summary;
    assert_int_equal(ss_trace_read(path, &visitor, seen, &summary, NULL), SS_OK);
    assert_true(summary.sealed);
    assert_int_equal(summary.lost_events + summary.lost_samples + summary.damaged_units, 0);
    return seen;
}

static void free_seen(struct seen *seen)
{
    ss_vec_fini(&seen->flows);
    ss_free(seen);
}

static void check_unique(const int32_t *numbers, size_t count)
{
    for (size_t i = 1; i <= count; i++) {
        for (size_t k = i + 1; k <= count; k++) {
            assert_int_not_equal(numbers[i], numbers[k]);
        }
    }
}

/* Two events have the same flow in the output exactly if they had it, in the same part. */
static void check_flows(const struct seen *seen)
{
    for (size_t i = 0; i < seen->flows.count; i++) {
        for (size_t k = i + 1; k < seen->flows.count; k++) {
            const struct flow_seen *a = &seen->flows.data[i], *b = &seen->flows.data[k];
            assert_int_equal(a->id == b->id, strcmp(a->name, b->name) == 0);
        }
    }
}

static struct ss_merge_result merge_paths(const char *const *paths, size_t count, const char *out)
{
    struct ss_merge_part parts[2 * PARTS];
    const struct ss_merge_options options = {
        .size = sizeof options, .path = out, .perf_samples = true};
    struct ss_merge_result result = {0};
    struct ss_error err = {0};
    for (size_t i = 0; i < count; i++) {
        parts[i] = (struct ss_merge_part){paths[i], true};
    }
    assert_int_equal(ss_trace_merge(parts, count, &options, &result, &err), SS_OK);
    return result;
}

static bool is_same(const char *a, const char *b)
{
    FILE *left = fopen(a, "re"), *right = fopen(b, "re");
    int one, other;
    do {
        one = fgetc(left);
        other = fgetc(right);
    } while (one == other && one != EOF);
    fclose(left);
    fclose(right);
    return one == other;
}

static void test_nothing_collides(void **state)
{
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        const char *paths[PARTS];
        for (unsigned i = 0; i < PARTS; i++) {
            paths[i] = path_of("part", i);
            write_part(paths[i], i, round % 2 == 0 ? "boot" : (i % 2 == 0 ? "boot" : "other"));
        }
        struct ss_merge_result result = merge_paths(paths, PARTS, path_of("all", 0));
        assert_int_equal(result.records, PARTS * (EVENTS + PROCESSES));
        struct seen *seen = read_all(path_of("all", 0));
        assert_int_equal(seen->processes, PARTS * PROCESSES);
        assert_int_equal(seen->events, PARTS * EVENTS);
        assert_int_equal(seen->samples, PARTS * PROCESSES);
        check_unique(seen->pids, seen->processes);
        check_unique(seen->tids, seen->threads);
        check_flows(seen);
        free_seen(seen);
    }
}

static void test_merging_again_changes_nothing(void **state)
{
    (void)state;
    const char *paths[PARTS + 2];
    for (unsigned i = 0; i < PARTS; i++) {
        paths[i] = path_of("again", i);
        write_part(paths[i], i, "boot");
    }
    merge_paths(paths, PARTS, path_of("once", 0));
    merge_paths(paths, PARTS, path_of("once", 1));
    assert_true(is_same(path_of("once", 0), path_of("once", 1)));
    const char *once = path_of("once", 0);
    merge_paths(&once, 1, path_of("twice", 0));
    assert_true(is_same(once, path_of("twice", 0)));
    paths[PARTS] = paths[2]; /* given twice */
    paths[PARTS + 1] = once; /* merged already */
    struct ss_merge_result result = merge_paths(paths, PARTS + 2, path_of("twice", 1));
    assert_int_equal(result.parts, 1);
    assert_int_equal(result.repeated, PARTS + 1);
    assert_true(is_same(once, path_of("twice", 1)));
}

/* In two stages: nothing collides, although the first stage has renumbered already. */
static void test_in_stages(void **state)
{
    (void)state;
    const char *paths[PARTS], *stages[3];
    for (unsigned i = 0; i < PARTS; i++) {
        paths[i] = path_of("stage", i);
        write_part(paths[i], i, "boot");
    }
    stages[0] = path_of("left", 0);
    stages[1] = path_of("right", 0);
    stages[2] = paths[4];
    merge_paths(paths, 2, stages[0]);
    merge_paths(paths + 2, 2, stages[1]);
    merge_paths(stages, 3, path_of("staged", 0));
    struct seen *seen = read_all(path_of("staged", 0));
    assert_int_equal(seen->processes, PARTS * PROCESSES);
    assert_int_equal(seen->events, PARTS * EVENTS);
    check_unique(seen->pids, seen->processes);
    check_unique(seen->tids, seen->threads);
    check_flows(seen);
    free_seen(seen);
    const char *overlapping[] = {stages[0], path_of("both", 0)};
    const char *half[] = {paths[1], paths[2]};
    merge_paths(half, 2, overlapping[1]);
    struct ss_merge_part parts[] = {{overlapping[0], true}, {overlapping[1], true}};
    const struct ss_merge_options options = {.size = sizeof options, .path = path_of("no", 0)};
    struct ss_merge_result result;
    struct ss_error err;
    assert_int_equal(ss_trace_merge(parts, 2, &options, &result, &err), SS_E_USAGE);
    assert_non_null(strstr(err.message, "in common"));
    assert_int_not_equal(access(path_of("no", 0), F_OK), 0);
}

static uint64_t later(void *context, size_t part, uint64_t time_ns)
{
    (void)context;
    return time_ns + part * 1000000;
}

static enum ss_status remember_first(void *context, const struct ss_trace_event *event)
{
    uint64_t *first_ns = context;
    *first_ns = event->time_ns < *first_ns ? event->time_ns : *first_ns;
    return SS_OK;
}

static uint64_t first_event_of(const char *path)
{
    static const struct ss_trace_visitor visitor = {.event = remember_first};
    uint64_t first_ns = UINT64_MAX;
    assert_int_equal(ss_trace_read(path, &visitor, &first_ns, NULL, NULL), SS_OK);
    return first_ns;
}

static void test_times_are_moved_to_the_axis(void **state)
{
    (void)state;
    const char *path = path_of("moved", 0), *out = path_of("moved", 1);
    write_part(path_of("moved", 2), 0, "boot");
    write_part(path, 1, "boot");
    struct ss_merge_part parts[] = {{path, false}, {path, false}};
    const struct ss_merge_options options = {.size = sizeof options, .path = out, .on_axis = later};
    struct ss_merge_result result;
    assert_int_equal(ss_trace_merge(parts, 1, &options, &result, NULL), SS_OK);
    assert_int_equal(first_event_of(out), first_event_of(path));
    struct ss_merge_part both[] = {{path_of("moved", 2), true}, {path, false}};
    assert_int_equal(ss_trace_merge(both, 2, &options, &result, NULL), SS_OK);
    uint64_t first = first_event_of(path_of("moved", 2)), second = first_event_of(path) + 1000000;
    assert_int_equal(first_event_of(out), first < second ? first : second);
}

/* Ranges that fill several units of the usual size. */
static void write_busy(const char *path, unsigned part)
{
    const struct ss_trace_writer_options options = {
        .size = sizeof options, .path = path, .replay = true};
    struct ss_trace_writer *writer = NULL;
    assert_int_equal(ss_trace_writer_open(&options, &writer, NULL), SS_OK);
    put_text(writer, "boot_id", "boot");
    put_number(writer, "rank", part);
    put_process(writer, part, 1, 100 + (int32_t)part);
    const struct ss_trace_name name = {.ref = 1, .text = ss_strview_of("busy")};
    assert_int_equal(ss_trace_writer_name(writer, &name, NULL), SS_OK);
    for (uint64_t i = 0; i < BUSY_EVENTS; i++) {
        const struct ss_trace_event begin = {.time_ns = START_NS + i * 1000 + next_random() % 300,
                                             .track_ref = 1,
                                             .name_ref = 1,
                                             .kind = SS_EVENT_BEGIN};
        const uint64_t end_ns = begin.time_ns + 400 + next_random() % 200;
        assert_int_equal(ss_trace_writer_range(writer, &begin, end_ns, NULL), SS_OK);
    }
    assert_int_equal(ss_trace_writer_close(writer, NULL), SS_OK);
}

/* Compressed in threads, the file is the same. */
static void test_threads_change_nothing(void **state)
{
    const char *in = path_of("busy", 0);
    const struct ss_merge_part parts[] = {{in, true}, {path_of("busy", 1), true}};
    (void)state;
    for (unsigned part = 0; part < 2; part++) {
        write_busy(parts[part].path, part);
    }
    for (int compression = 0; compression < 2; compression++) {
        for (unsigned threads = 0; threads < 4; threads++) {
            const struct ss_merge_options options = {.size = sizeof options,
                                                     .path = path_of("packed", threads),
                                                     .compression = compression,
                                                     .threads = threads};
            struct ss_merge_result result = {0};
            struct ss_error err = {0};
            assert_int_equal(ss_trace_merge(parts, 2, &options, &result, &err), SS_OK);
            assert_int_equal(result.records, 2 * (2 * BUSY_EVENTS + 1)); /* and a sample each */
            assert_true(is_same(options.path, path_of("packed", 0)));
        }
    }
}

/* --- totals of sources ------------------------------------------------------------------------ */

static void put_counts(struct ss_trace_writer *writer, uint64_t seconds, uint64_t done)
{
    const struct ss_trace_counts counts = {.source_ref = 1,
                                           .time_ns = START_NS + seconds * 1000000000,
                                           .due = 2 * done,
                                           .done = done,
                                           .skipped = 3 * done,
                                           .late = 4 * done,
                                           .seen = 5 * done,
                                           .ok = 6 * done,
                                           .partial = 7 * done,
                                           .lost = done / 10,
                                           .unchanged = 8 * done,
                                           .dropped = 9 * done,
                                           .retries = 10 * done,
                                           .read_syscalls = 11 * done,
                                           .processes_short = 12 * done};
    assert_int_equal(ss_trace_writer_counts(writer, &counts, NULL), SS_OK);
    assert_int_equal(ss_trace_writer_flush(writer, NULL), SS_OK);
}

static enum ss_status on_counts(void *context, const struct ss_trace_counts *counts)
{
    if (counts->process_ref == 0) {
        *(struct ss_trace_counts *)context = *counts;
    }
    return SS_OK;
}

/* Each part says its totals twice, the parts in turn: the last of each count. */
static void test_totals_of_sources_add_up(void **state)
{
    static const struct ss_trace_visitor visitor = {.counts = on_counts};
    struct ss_merge_part parts[PARTS];
    struct ss_trace_counts last = {0};
    (void)state;
    for (unsigned part = 0; part < PARTS; part++) {
        parts[part] = (struct ss_merge_part){path_of("counts", part), true};
        const struct ss_trace_writer_options options = {
            .size = sizeof options, .path = parts[part].path, .replay = true};
        const struct ss_trace_source source = {
            .ref = 1, .name = ss_strview_of("python"), .status = SS_SOURCE_RAN};
        struct ss_trace_writer *writer = NULL;
        assert_int_equal(ss_trace_writer_open(&options, &writer, NULL), SS_OK);
        put_text(writer, "boot_id", "boot");
        put_number(writer, "rank", part);
        assert_int_equal(ss_trace_writer_source(writer, &source, NULL), SS_OK);
        put_process(writer, part, 1, 100 + (int32_t)part);
        put_counts(writer, 1, 10 * (part + 1));
        put_counts(writer, 2, 100 * (part + 1));
        assert_int_equal(ss_trace_writer_close(writer, NULL), SS_OK);
    }
    const char *out = path_of("counted", 0);
    const struct ss_merge_options options = {.size = sizeof options, .path = out};
    struct ss_merge_result result = {0};
    struct ss_error err = {0};
    assert_int_equal(ss_trace_merge(parts, PARTS, &options, &result, &err), SS_OK);
    assert_int_equal(ss_trace_read(out, &visitor, &last, NULL, &err), SS_OK);
    const uint64_t done = UINT64_C(100) * (1 + 2 + 3 + 4 + 5);
    assert_int_equal(last.due, 2 * done);
    assert_int_equal(last.done, done);
    assert_int_equal(last.skipped, 3 * done);
    assert_int_equal(last.late, 4 * done);
    assert_int_equal(last.seen, 5 * done);
    assert_int_equal(last.ok, 6 * done);
    assert_int_equal(last.partial, 7 * done);
    assert_int_equal(last.lost, done / 10);
    assert_int_equal(last.unchanged, 8 * done);
    assert_int_equal(last.dropped, 9 * done);
    assert_int_equal(last.retries, 10 * done);
    assert_int_equal(last.read_syscalls, 11 * done);
    assert_int_equal(last.processes_short, 12 * done);
    assert_int_equal(last.time_ns, START_NS + UINT64_C(2000000000));
}

int main(void)
{
    snprintf(folder, sizeof folder, "%s/merge-XXXXXX", SS_TEST_BINARY_DIR);
    if (mkdtemp(folder) == NULL) {
        return 1;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nothing_collides),
                                       cmocka_unit_test(test_merging_again_changes_nothing),
                                       cmocka_unit_test(test_in_stages),
                                       cmocka_unit_test(test_threads_change_nothing),
                                       cmocka_unit_test(test_totals_of_sources_add_up),
                                       cmocka_unit_test(test_times_are_moved_to_the_axis)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[PATH_BYTES + 16];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command) != 0 ? 1 : failed;
}
