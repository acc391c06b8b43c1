/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a ring file. The first byte chooses the mode and who
 * reads; the rest is laid over the places that
 * the consumer reads: header, directory, definitions and the first segments. Reading ends, stays in
 * bounds (the memory is exactly as large as the map says) and counts no more than there was. */
#include <stdio.h>
#include <stdlib.h>

#include "../fakes/ring_memory.h"
#include "source/annot.h"

enum { MEMORY_BYTES = SS_RING_SEGMENTS_AT + (64 << 10), ROUNDS = 8 };

static void define(void *context, const struct ss_ring_defined *defined)
{
    size_t *bytes = context;
    for (size_t i = 0; i < defined->text.length; i++) {
        *bytes += (unsigned char)defined->text.data[i];
    }
}

static void lay(char *memory, size_t offset, size_t room, const uint8_t **data, size_t *size)
{
    size_t bytes = *size < room ? *size : room;
    memcpy(memory + offset, *data, bytes);
    *data += bytes;
    *size -= bytes;
}

static void read_all(struct ss_ring_consumer *consumer, bool is_final)
{
    static struct ss_ring_record records[100];
    size_t text = 0;
    ss_ring_consumer_refresh(consumer);
    for (uint32_t i = 0; i < consumer->lanes.count; i++) {
        size_t got = ss_ring_consumer_read(consumer, i, records, 100, is_final);
        for (size_t j = 0; j < got; j++) {
            if (records[j].more > SS_RING_MAX_CONTINUATIONS ||
                records[j].type >= SS_RING_TYPE_COUNT) {
                fprintf(stderr, "broken: an invalid record\n");
                abort();
            }
        }
        ss_ring_consumer_count(consumer, i);
        ss_ring_consumer_release(consumer, i);
        if (consumer->lanes.data[i].thread != NULL) {
            struct ss_ring_live_copy copy;
            uint32_t name, domain;
            ss_ring_read_live(consumer->lanes.data[i].thread, &copy);
            ss_ring_read_innermost(consumer->lanes.data[i].thread, &name, &domain);
        }
    }
    ss_ring_consumer_define(consumer, define, &text);
}

/* --- the same memory through the recorder's consumer -------------------------------------------
 */

struct heard {
    uint64_t begins, ends, last_ns[SS_RING_MAX_THREADS];
};

static void hear_name(void *context, const struct ss_annot_name *name)
{
    size_t bytes = 0;
    struct ss_ring_defined defined = {.text = name->text};
    (void)context;
    define(&bytes, &defined);
}

static void hear_domain(void *context, uint32_t id, struct ss_strview text)
{
    struct ss_annot_name name = {.id = id, .text = text};
    hear_name(context, &name);
}

static void hear_counter(void *context, const struct ss_annot_counter *counter)
{
    (void)context;
    if (counter->kind >= SS_RING_COUNTER_COUNT || counter->quantity >= SS_QUANTITY_COUNT) {
        abort();
    }
}

static void hear(void *context, const struct ss_annot_event *event)
{
    struct heard *heard = context;
    heard->begins += event->kind == SS_ANNOT_RANGE_BEGIN;
    heard->ends += event->kind == SS_ANNOT_RANGE_END;
    /* These may have their own time, if they are deferred. */
    bool may_be_late = event->kind == SS_ANNOT_MARK || event->kind == SS_ANNOT_COUNT ||
                       event->kind == SS_ANNOT_ASYNC_BEGIN || event->kind == SS_ANNOT_ASYNC_END;
    if (may_be_late) {
        return;
    }
    if (event->kind != SS_ANNOT_PROCESS_END && event->time_ns < heard->last_ns[event->lane]) {
        fprintf(stderr, "broken: time runs backwards\n");
        abort();
    }
    heard->last_ns[event->lane] = event->time_ns;
}

static void record_all(const struct ss_ring_memory *map)
{
    static struct heard heard;
    struct ss_stamp_clock clock = {0};
    struct ss_annot *annot;
    struct ss_annot_sink sink = {&heard, hear_name, hear_domain, hear_counter, hear};
    memset(&heard, 0, sizeof heard);
    ss_stamp_clock_put(&clock, (struct ss_stamp_reading){1000, 5000});
    ss_stamp_clock_put(&clock, (struct ss_stamp_reading){3000, 6000});
    if (ss_annot_open(map, &clock, 10, &sink, &annot, NULL) != SS_OK) {
        return;
    }
    for (uint64_t i = 0; i < ROUNDS; i++) {
        struct ss_annot_label label;
        ss_annot_label(annot, (int32_t)i, &label);
        ss_annot_drain(annot, 1000 + i);
    }
    ss_annot_end(annot, 2000, 1500, true);
    ss_annot_free(annot);
    if (heard.begins != heard.ends) {
        fprintf(stderr, "broken: a range without an end\n");
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ring_memory memory;
    if (size < 1) {
        return 0;
    }
    unsigned choice = data[0];
    data++;
    size--;
    ring_memory_open(&memory, MEMORY_BYTES);
    lay(memory.bytes, SS_RING_LINE_BYTES, 192, &data, &size); /* behind the magic */
    lay(memory.bytes, SS_RING_DIRECTORY_AT, 64, &data, &size);
    lay(memory.bytes, SS_RING_DEFINITIONS_AT, choice & 2 ? 256 : 0, &data, &size);
    lay(memory.bytes, SS_RING_SEGMENTS_AT, choice & 4 ? 512 : 256, &data, &size);
    lay(memory.bytes, SS_RING_SEGMENTS_AT + SS_RING_PAGE_BYTES, 60 << 10, &data, &size);
    struct ss_ring_memory map = {&memory, ring_memory_map};
    struct ss_ring_consumer consumer;
    if (choice & 16) {
        record_all(&map);
        ring_memory_close(&memory);
        return 0;
    }
    if (ss_ring_consumer_open(&map, &consumer, NULL) == SS_OK) {
        if (choice & 8) {
            struct ss_ring_request request = {.gate = SS_RING_GATE_ALL,
                                              .mode = (enum ss_ring_mode)(choice & 1)};
            ss_ring_consumer_start(&consumer, &request);
        }
        consumer.is_overwriting = choice & 1;
        for (int i = 0; i < ROUNDS; i++) {
            read_all(&consumer, i == ROUNDS - 1);
        }
        ss_ring_consumer_heartbeat(&consumer, 1);
        ss_ring_consumer_stop(&consumer);
    }
    ss_ring_consumer_close(&consumer);
    ring_memory_close(&memory);
    return 0;
}
