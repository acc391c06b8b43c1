/* SPDX-License-Identifier: Apache-2.0 */
#include "record/tracks/annotation_tracks.h"

#include <string.h>

#include "base/alloc.h"
#include "record/tracks/annotation_tracks_inside.h"

/* --- names ----------------------------------------------------------------------------------- */

struct ss_strview ss_tracks_text(const struct ss_annotation_tracks *tracks, uint32_t text)
{
    return ss_intern_get(&tracks->names->texts, text);
}

static uint32_t name_ref(struct ss_annotation_tracks *tracks, const struct ss_event_name *name)
{
    struct ss_error err = {0};
    uint32_t ref = ss_event_names_put(tracks->names, tracks->context->recording, name, &err);
    ss_record_context_check(tracks->context, err.status, &err);
    return ref;
}

/* 0 for name 0. */
static uint32_t text_of_name(const struct ss_annotation_tracks *tracks, uint32_t name)
{
    return name < tracks->name_entries.count ? tracks->name_entries.data[name].text : 0;
}

static void on_name(void *context, const struct ss_annot_name *name)
{
    struct ss_annotation_tracks *tracks = context;
    if (name->id >= tracks->name_entries.count) {
        ss_vec_resize(&tracks->name_entries, (size_t)name->id + 1);
    }
    struct ss_track_name_entry *entry = &tracks->name_entries.data[name->id];
    entry->text = ss_intern_put(&tracks->names->texts, name->text.data, name->text.length);
    struct ss_event_name key = {.text = entry->text,
                                .category = text_of_name(tracks, name->category),
                                .argb = name->argb,
                                .file = text_of_name(tracks, name->file),
                                .line = name->line,
                                .type = name->type};
    entry->ref = name_ref(tracks, &key);
}

static void on_domain(void *context, uint32_t id, struct ss_strview text)
{
    struct ss_annotation_tracks *tracks = context;
    if (id >= tracks->domains.count) {
        ss_vec_resize(&tracks->domains, (size_t)id + 1);
    }
    tracks->domains.data[id] = ss_intern_put(&tracks->names->texts, text.data, text.length);
}

static void on_counter(void *context, const struct ss_annot_counter *counter)
{
    struct ss_annotation_tracks *tracks = context;
    if (counter->name < tracks->name_entries.count && counter->unit < tracks->name_entries.count) {
        struct ss_track_name_entry *entry = &tracks->name_entries.data[counter->name];
        entry->unit = tracks->name_entries.data[counter->unit].text;
        entry->counter = counter->kind;
        entry->quantity = counter->quantity;
    }
}

uint32_t ss_tracks_plain_ref(struct ss_annotation_tracks *tracks, const char *text)
{
    struct ss_event_name key = {.text = ss_intern_put(&tracks->names->texts, text, strlen(text))};
    return name_ref(tracks, &key);
}

/* The name of events whose own name found no space in the ring file. */
static uint32_t other_ref(struct ss_annotation_tracks *tracks)
{
    return ss_tracks_plain_ref(tracks, "<other>");
}

uint32_t ss_tracks_name_ref(struct ss_annotation_tracks *tracks, uint32_t name)
{
    uint32_t ref = name < tracks->name_entries.count ? tracks->name_entries.data[name].ref : 0;
    return ref != 0 ? ref : other_ref(tracks);
}

uint32_t ss_annotation_tracks_name(const struct ss_annotation_tracks *tracks, uint32_t name)
{
    return name < tracks->name_entries.count ? tracks->name_entries.data[name].ref : 0;
}

/* --- tracks ---------------------------------------------------------------------------------- */

uint32_t ss_tracks_add(struct ss_annotation_tracks *tracks, struct ss_trace_track track)
{
    struct ss_error err = {0};
    track.ref = ++tracks->context->track_refs;
    ss_record_context_check(tracks->context,
                            ss_recording_track(tracks->context->recording, &track, &err), &err);
    return track.ref;
}

uint32_t ss_annotation_tracks_put_name(struct ss_annotation_tracks *tracks, struct ss_strview text,
                                       struct ss_strview category, enum ss_event_type type)
{
    struct ss_intern *texts = &tracks->names->texts;
    struct ss_event_name key = {.text = ss_intern_put(texts, text.data, text.length),
                                .category = ss_intern_put(texts, category.data, category.length),
                                .type = type};
    return name_ref(tracks, &key);
}

uint32_t ss_annotation_tracks_put_group(struct ss_annotation_tracks *tracks,
                                        const struct ss_trace_group *group)
{
    uint32_t text = ss_intern_put(&tracks->names->texts, group->name.data, group->name.length);
    for (size_t i = 0; i < tracks->groups.count; i++) {
        if (tracks->groups.data[i].text == text) {
            return tracks->groups.data[i].ref;
        }
    }
    struct ss_error err = {0};
    struct ss_trace_group record = *group;
    record.ref = ++tracks->context->group_refs;
    ss_record_context_check(tracks->context,
                            ss_recording_group(tracks->context->recording, &record, &err), &err);
    ss_vec_push(&tracks->groups, (struct ss_track_group){text, record.ref});
    return record.ref;
}

uint32_t ss_annotation_tracks_put_track(struct ss_annotation_tracks *tracks,
                                        const struct ss_trace_track *track)
{
    return ss_tracks_add(tracks, *track);
}

static struct ss_strview domain_text(const struct ss_annotation_tracks *tracks, uint32_t domain)
{
    return ss_tracks_text(tracks,
                          domain < tracks->domains.count ? tracks->domains.data[domain] : 0);
}

static struct ss_track_lane *lane_of(struct ss_annotation_tracks *tracks,
                                     const struct ss_annot_event *event)
{
    if (event->lane >= tracks->lanes.count) {
        ss_vec_resize(&tracks->lanes, (size_t)event->lane + 1);
    }
    struct ss_track_lane **lane = &tracks->lanes.data[event->lane];
    if (*lane == NULL) {
        *lane = ss_alloc_zero(1, sizeof **lane);
    }
    if ((*lane)->thread != event->thread) {
        **lane = (struct ss_track_lane){.thread = event->thread};
        (*lane)->thread_ref = ss_recorded_process_thread(tracks->process, event->tid);
    }
    return *lane;
}

uint32_t ss_tracks_of_ranges(struct ss_annotation_tracks *tracks,
                             const struct ss_annot_event *event)
{
    struct ss_track_lane *lane = lane_of(tracks, event);
    uint32_t domain = event->domain < SS_TRACK_LANE_DOMAINS ? event->domain : 0;
    if (lane->tracks[domain] == 0) {
        lane->tracks[domain] =
            ss_tracks_add(tracks, (struct ss_trace_track){.kind = SS_TRACK_RANGES,
                                                          .process_ref = tracks->process_ref,
                                                          .thread_ref = lane->thread_ref,
                                                          .name = domain_text(tracks, domain)});
    }
    return lane->tracks[domain];
}

uint32_t ss_tracks_of_async(struct ss_annotation_tracks *tracks, uint32_t domain)
{
    domain = domain < SS_TRACK_LANE_DOMAINS ? domain : 0;
    if (tracks->async_tracks[domain] == 0) {
        tracks->async_tracks[domain] =
            ss_tracks_add(tracks, (struct ss_trace_track){.kind = SS_TRACK_ASYNC,
                                                          .process_ref = tracks->process_ref,
                                                          .name = domain_text(tracks, domain)});
    }
    return tracks->async_tracks[domain];
}

uint32_t ss_tracks_of_counter(struct ss_annotation_tracks *tracks, uint32_t name)
{
    if (name == 0 || name >= tracks->name_entries.count) {
        return 0;
    }
    struct ss_track_name_entry *entry = &tracks->name_entries.data[name];
    if (entry->counter_track == 0) {
        entry->counter_track = ss_tracks_add(
            tracks, (struct ss_trace_track){.kind = SS_TRACK_COUNTER,
                                            .process_ref = tracks->process_ref,
                                            .name = ss_tracks_text(tracks, entry->text),
                                            .unit = ss_tracks_text(tracks, entry->unit),
                                            .counter = (enum ss_counter_kind)entry->counter,
                                            .quantity = entry->quantity});
    }
    return entry->counter_track;
}

_Static_assert((int)SS_RING_GAUGE == (int)SS_COUNTER_GAUGE &&
                   (int)SS_RING_DELTA == (int)SS_COUNTER_DELTA &&
                   (int)SS_RING_CUMULATIVE == (int)SS_COUNTER_CUMULATIVE,
               "the ring's counters are those of the trace");

/* --- life ------------------------------------------------------------------------------------ */

struct ss_annotation_tracks *ss_annotation_tracks_new(struct ss_record_context *context,
                                                      struct ss_recorded_process *process)
{
    struct ss_annotation_tracks *tracks = ss_alloc_zero(1, sizeof *tracks);
    tracks->context = context;
    tracks->names = &context->names;
    tracks->process = process;
    tracks->process_ref = ss_recorded_process_ref(process);
    return tracks;
}

void ss_annotation_tracks_free(struct ss_annotation_tracks *tracks)
{
    if (tracks == NULL) {
        return;
    }
    struct ss_track_async_range *range, *next;
    HASH_ITER(hh, tracks->async, range, next)
    {
        HASH_DEL(tracks->async, range);
        ss_free(range);
    }
    for (size_t i = 0; i < tracks->lanes.count; i++) {
        ss_free(tracks->lanes.data[i]);
    }
    ss_vec_fini(&tracks->lanes);
    ss_vec_fini(&tracks->name_entries);
    ss_vec_fini(&tracks->domains);
    ss_vec_fini(&tracks->early);
    ss_vec_fini(&tracks->groups);
    ss_free(tracks);
}

struct ss_annot_sink ss_annotation_tracks_sink(struct ss_annotation_tracks *tracks)
{
    return (struct ss_annot_sink){tracks, on_name, on_domain, on_counter, ss_tracks_on_event};
}

uint64_t ss_annotation_tracks_refused(const struct ss_annotation_tracks *tracks)
{
    return tracks->refused;
}
