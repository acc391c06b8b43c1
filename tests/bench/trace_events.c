/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_events FILE: prints what a trace holds beside stacks, one JSON object a line: processes,
 * threads, tracks, names, events, counters, labels of samples, counts, notes. For tests.
 */
#include <inttypes.h>
#include <stdio.h>

#include "trace/event_fields.h"
#include "trace/reader.h"
#include "trace/track_records.h"

static void put_text(const char *key, struct ss_strview text)
{
    printf(", \"%s\": \"", key);
    for (size_t i = 0; i < text.length; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c < ' ' || c == '"' || c == '\\') {
            printf("\\u%04x", c);
        } else {
            putchar(c);
        }
    }
    putchar('"');
}

static enum ss_status on_process(void *context, const struct ss_trace_process *process)
{
    (void)context;
    printf("{\"is\": \"process\", \"ref\": %u, \"parent\": %u, \"pid\": %d", process->ref,
           process->parent_ref, process->pid);
    put_text("name", process->name);
    puts("}");
    return SS_OK;
}

static enum ss_status on_thread(void *context, const struct ss_trace_thread *thread)
{
    (void)context;
    printf("{\"is\": \"thread\", \"ref\": %u, \"process\": %u, \"tid\": %d", thread->ref,
           thread->process_ref, thread->tid);
    put_text("name", thread->name);
    puts("}");
    return SS_OK;
}

static enum ss_status on_track(void *context, const struct ss_trace_track *track)
{
    static const char *const kinds[] = {"ranges", "async", "counter", "steps", "phases", "group"};
    (void)context;
    printf("{\"is\": \"track\", \"ref\": %u, \"kind\": \"%s\", \"process\": %u, \"thread\": %u, "
           "\"quantity\": %d",
           track->ref, kinds[track->kind], track->process_ref, track->thread_ref,
           (int)track->quantity);
    put_text("name", track->name);
    put_text("unit", track->unit);
    puts("}");
    return SS_OK;
}

static enum ss_status on_name(void *context, const struct ss_trace_name *name)
{
    (void)context;
    printf("{\"is\": \"name\", \"ref\": %u, \"colour\": %u", name->ref, name->colour);
    put_text("text", name->text);
    put_text("category", name->category);
    put_text("type", ss_strview_of(
                         name->type != SS_EVENT_TYPE_NONE ? ss_event_types[name->type].name : ""));
    puts("}");
    return SS_OK;
}

static enum ss_status on_event(void *context, const struct ss_trace_event *event)
{
    static const char *const kinds[] = {"begin", "end", "instant"};
    (void)context;
    printf("{\"is\": \"event\", \"ns\": %" PRIu64 ", \"track\": %u, \"lane\": %u, \"name\": %u, "
           "\"kind\": \"%s\", \"flags\": %u, \"flow\": %d, \"flow_id\": %" PRIu64,
           event->time_ns, event->track_ref, event->lane, event->name_ref, kinds[event->kind],
           event->flags, (int)event->flow, event->flow_id);
    if (event->payload.type == SS_VALUE_INT) {
        printf(", \"payload\": %" PRId64, event->payload.integer);
    } else if (event->payload.type == SS_VALUE_UINT) {
        printf(", \"payload\": %" PRIu64, event->payload.natural);
    } else if (event->payload.type == SS_VALUE_REAL) {
        printf(", \"payload\": %.17g", event->payload.real);
    } else if (event->payload.type == SS_VALUE_TEXT) {
        put_text("payload", event->payload.text);
    }
    puts("}");
    return SS_OK;
}

static enum ss_status on_counter(void *context, const struct ss_trace_counter *counter)
{
    (void)context;
    double value = counter->is_integer ? (double)counter->integer : counter->real;
    printf("{\"is\": \"counter\", \"ns\": %" PRIu64 ", \"track\": %u, \"value\": %.17g}\n",
           counter->time_ns, counter->track_ref, value);
    return SS_OK;
}

static enum ss_status on_sample(void *context, const struct ss_trace_sample *sample)
{
    (void)context;
    printf("{\"is\": \"sample\", \"thread\": %u, \"weight\": %u, \"step\": %" PRId64
           ", \"phase\": %u, \"range\": %u, \"stack\": %u}\n",
           sample->thread_ref, sample->weight, sample->step, sample->phase_name, sample->range_name,
           sample->stack_ref);
    return SS_OK;
}

static enum ss_status on_source(void *context, const struct ss_trace_source *source)
{
    (void)context;
    printf("{\"is\": \"source\", \"ref\": %u, \"status\": %d", source->ref, (int)source->status);
    put_text("name", source->name);
    put_text("reason", source->reason);
    puts("}");
    return SS_OK;
}

static enum ss_status on_counts(void *context, const struct ss_trace_counts *counts)
{
    (void)context;
    printf("{\"is\": \"counts\", \"source\": %u, \"process\": %u, \"seen\": %" PRIu64
           ", \"ok\": %" PRIu64 ", \"lost\": %" PRIu64 ", \"dropped\": %" PRIu64 "}\n",
           counts->source_ref, counts->process_ref, counts->seen, counts->ok, counts->lost,
           counts->dropped);
    return SS_OK;
}

static enum ss_status on_note(void *context, const struct ss_trace_note *note)
{
    (void)context;
    printf("{\"is\": \"note\", \"process\": %u, \"value\": %" PRId64, note->process_ref,
           note->value);
    put_text("kind", note->kind);
    put_text("text", note->text);
    puts("}");
    return SS_OK;
}

int main(int argc, char **argv)
{
    static const struct ss_trace_visitor visitor = {.process = on_process,
                                                    .thread = on_thread,
                                                    .track = on_track,
                                                    .name = on_name,
                                                    .event = on_event,
                                                    .counter = on_counter,
                                                    .sample = on_sample,
                                                    .source = on_source,
                                                    .counts = on_counts,
                                                    .note = on_note};
    struct ss_trace_summary summary;
    struct ss_error err;
    if (argc != 2) {
        fprintf(stderr, "usage: trace_events FILE\n");
        return 2;
    }
    if (ss_trace_read(argv[1], &visitor, NULL, &summary, &err) != SS_OK) {
        fprintf(stderr, "trace_events: %s\n", err.message);
        return 1;
    }
    return 0;
}
