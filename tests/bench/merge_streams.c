/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of events to merge, and the bare merge that `stepscope merge` is measured against:
 *
 *   merge_streams traces FOLDER STREAMS EVENTS   FOLDER/ranks/r00000.pftrace, … of a run
 *   merge_streams packed FOLDER STREAMS EVENTS   the same, compressed
 *   merge_streams raw FOLDER STREAMS EVENTS      as many 40-byte records: FOLDER/0.raw, …
 *   merge_streams heap FOLDER STREAMS OUT        merges those by a heap, each clock mapped
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../random.h"
#include "base/strbuf.h"
#include "trace/writer.h"
#include "trace/writer_entities.h"
#include "trace/writer_tracks.h"

enum { NAMES = 40, MOST_STREAMS = 1024, PATH_BYTES = 4096 };
#define START UINT64_C(5000000000000)
#define STEP_NS 1000

struct raw {
    uint64_t time_ns;
    uint32_t stream, kind;
    uint64_t payload[3];
};

static void fail(const char *what)
{
    fprintf(stderr, "merge_streams: %s\n", what);
    exit(1);
}

static void must(enum ss_status status, const struct ss_error *err)
{
    if (status != SS_OK) {
        fail(err->message);
    }
}

static void put_text(struct ss_trace_writer *writer, const char *key, const char *text)
{
    struct ss_error err = {0};
    struct ss_trace_attribute attribute = {.key = ss_strview_of(key), .text = ss_strview_of(text)};
    must(ss_trace_writer_attribute(writer, &attribute, &err), &err);
}

static void define(struct ss_trace_writer *writer, uint32_t rank, uint32_t ranks)
{
    struct ss_error err = {0};
    const struct ss_trace_attribute number = {
        .key = ss_strview_of("rank"), .is_integer = true, .integer = rank};
    const struct ss_trace_clock clock = {START, START, START, UINT64_C(1700000000000000000), 20};
    const struct ss_trace_process process = {.ref = 1,
                                             .pid = 1000 + (int32_t)(rank % 8),
                                             .start_time_ticks = 99 + rank,
                                             .name = ss_strview_of("train.py"),
                                             .rank = rank,
                                             .world_size = ranks,
                                             .has_rank = true};
    const struct ss_trace_thread thread = {
        .ref = 1, .process_ref = 1, .tid = process.pid, .is_main = true};
    const struct ss_trace_track track = {.ref = 1, .kind = SS_TRACK_RANGES, .thread_ref = 1};
    put_text(writer, "boot_id", "one");
    put_text(writer, "hostname", "node");
    put_text(writer, "run_id", "bench");
    must(ss_trace_writer_attribute(writer, &number, &err), &err);
    must(ss_trace_writer_clock(writer, &clock, &err), &err);
    must(ss_trace_writer_process(writer, &process, &err), &err);
    must(ss_trace_writer_thread(writer, &thread, &err), &err);
    must(ss_trace_writer_track(writer, &track, &err), &err);
    for (uint32_t i = 1; i <= NAMES; i++) {
        char text[40];
        snprintf(text, sizeof text, "aten::operator_%u", i);
        struct ss_trace_name name = {.ref = i, .text = ss_strview_of(text)};
        must(ss_trace_writer_name(writer, &name, &err), &err);
    }
}

static void write_trace(const char *folder, uint32_t rank, uint32_t ranks, uint64_t events,
                        bool is_plain)
{
    struct ss_error err = {0};
    struct ss_trace_writer *writer = NULL;
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/ranks/r%05u.pftrace", folder, rank);
    const struct ss_trace_writer_options options = {
        .size = sizeof options, .path = path, .replay = true, .compression = is_plain ? -1 : 0};
    must(ss_trace_writer_open(&options, &writer, &err), &err);
    define(writer, rank, ranks);
    uint64_t time_ns = START + rank;
    for (uint64_t i = 0; i < events; i++) {
        struct ss_trace_event event = {.time_ns = time_ns, .track_ref = 1};
        event.kind = i % 2 == 0 ? SS_EVENT_BEGIN : SS_EVENT_END;
        event.name_ref = i % 2 == 0 ? 1 + (uint32_t)(next_random() % NAMES) : 0;
        must(ss_trace_writer_event(writer, &event, &err), &err);
        time_ns += 1 + next_random() % (2 * STEP_NS);
    }
    must(ss_trace_writer_close(writer, &err), &err);
}

static FILE *open_raw(const char *folder, uint32_t stream, const char *mode)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%u.raw", folder, stream);
    FILE *file = fopen(path, mode);
    if (file == NULL) {
        fail(path);
    }
    return file;
}

static void write_raw(const char *folder, uint32_t stream, uint64_t events)
{
    FILE *file = open_raw(folder, stream, "wbe");
    struct raw record = {.time_ns = START + stream, .stream = stream};
    for (uint64_t i = 0; i < events; i++) {
        record.payload[0] = next_random();
        fwrite(&record, sizeof record, 1, file);
        record.time_ns += 1 + next_random() % (2 * STEP_NS);
    }
    fclose(file);
}

struct head {
    struct raw record;
    FILE *file;
};

static void sift(struct head **heap, uint32_t count, uint32_t at)
{
    for (;;) {
        uint32_t least = at;
        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++) {
            least = heap[child]->record.time_ns < heap[least]->record.time_ns ? child : least;
        }
        if (least == at) {
            return;
        }
        struct head *swapped = heap[at];
        heap[at] = heap[least];
        heap[least] = swapped;
        at = least;
    }
}

/* The clock of each stream: an offset and a drift. */
static bool read_next(struct head *head)
{
    if (fread(&head->record, sizeof head->record, 1, head->file) != 1) {
        return false;
    }
    double since = (double)(head->record.time_ns - START);
    head->record.time_ns += (uint64_t)(since * 1e-9 * head->record.stream);
    return true;
}

static void merge_by_heap(const char *folder, uint32_t streams, const char *out)
{
    static struct head heads[MOST_STREAMS];
    static struct head *heap[MOST_STREAMS];
    uint32_t count = 0;
    FILE *output = fopen(out, "wbe");
    if (output == NULL) {
        fail(out);
    }
    for (uint32_t i = 0; i < streams; i++) {
        heads[i].file = open_raw(folder, i, "rbe");
        if (read_next(&heads[i])) {
            heap[count++] = &heads[i];
        }
    }
    for (uint32_t i = count / 2; i-- > 0;) {
        sift(heap, count, i);
    }
    while (count > 0) {
        fwrite(&heap[0]->record, sizeof heap[0]->record, 1, output);
        if (!read_next(heap[0])) {
            heap[0] = heap[--count];
        }
        sift(heap, count, 0);
    }
    fclose(output);
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fail("takes traces|packed|raw FOLDER STREAMS EVENTS, or heap FOLDER STREAMS OUT");
    }
    uint32_t streams = (uint32_t)strtoul(argv[3], NULL, 10);
    if (streams == 0 || streams > MOST_STREAMS) {
        fail("between 1 and 1024 streams");
    }
    if (strcmp(argv[1], "heap") == 0) {
        merge_by_heap(argv[2], streams, argv[4]);
        return 0;
    }
    uint64_t events = strtoull(argv[4], NULL, 10) / streams;
    for (uint32_t i = 0; i < streams; i++) {
        bool is_plain = strcmp(argv[1], "traces") == 0;
        if (is_plain || strcmp(argv[1], "packed") == 0) {
            write_trace(argv[2], i, streams, events, is_plain);
        } else {
            write_raw(argv[2], i, events);
        }
    }
    return 0;
}
