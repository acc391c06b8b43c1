/* SPDX-License-Identifier: Apache-2.0 */
#include "model/chrome/chrome_async.h"

#include <string.h>

enum { MOST_LANES = 60000 }; /* of a track; the model has 16 bits for them */

void ss_chrome_async_init(struct ss_chrome_async *async)
{
    *async = (struct ss_chrome_async){0};
    ss_intern_init(&async->keys);
}

void ss_chrome_async_fini(struct ss_chrome_async *async)
{
    for (size_t i = 0; i < async->tracks.count; i++) {
        ss_vec_fini(&async->tracks.data[i].is_lane_taken);
    }
    ss_vec_fini(&async->tracks);
    ss_vec_fini(&async->ids);
    ss_vec_fini(&async->by_key);
    ss_intern_fini(&async->keys);
}

/* b and e nest; S and F are their predecessors. */
static bool is_begin(char phase)
{
    return phase == 'b' || phase == 'S';
}

bool ss_chrome_is_async(char phase)
{
    return is_begin(phase) || phase == 'e' || phase == 'F';
}

enum table { OF_TRACK, OF_ID };

struct key {
    uint32_t table, row;
    uint32_t text; /* in the texts of the rows, plus one; 0: the id is a number */
    uint32_t process;
    int64_t number;
};

/* The entry of by_key; 0: there is no row yet. */
static uint32_t *find(struct ss_chrome_async *async, const struct key *key)
{
    uint32_t id = ss_intern_put(&async->keys, (const char *)key, sizeof *key);
    if (id >= async->by_key.count) {
        ss_vec_resize(&async->by_key, (size_t)id + 1);
    }
    return &async->by_key.data[id];
}

/* Each category of a process has a track, by whose name it is known. */
static uint32_t track_of(struct ss_chrome_async *async, struct ss_chrome_rows *rows,
                         const struct ss_chrome_event *event, uint32_t process)
{
    struct ss_strview category = event->category.raw;
    struct key key = {.table = OF_TRACK,
                      .row = ss_intern_put(&rows->texts, category.data, category.length),
                      .process = process};
    uint32_t *known = find(async, &key);
    if (*known == 0) {
        struct ss_trace_track row = {.kind = SS_TRACK_ASYNC,
                                     .process_ref = ss_chrome_process_row(rows, process),
                                     .name = ss_chrome_unescaped(rows, event->category)};
        ss_vec_push(&async->tracks, (struct ss_chrome_async_track){
                                        .row = ss_model_builder_track(rows->builder, 0, &row)});
        *known = (uint32_t)async->tracks.count;
    }
    return *known - 1;
}

static struct ss_chrome_async_id *id_of(struct ss_chrome_async *async, struct ss_chrome_rows *rows,
                                        const struct ss_chrome_event *event)
{
    uint32_t process = ss_chrome_process(rows, &event->pid);
    uint32_t track = track_of(async, rows, event, process);
    struct ss_strview text = event->id.text.raw;
    struct key key = {.table = OF_ID, .row = track, .number = event->id.number};
    key.text = event->id.is_number ? 0 : 1 + ss_intern_put(&rows->texts, text.data, text.length);
    key.number = event->id.is_number ? event->id.number : 0;
    uint32_t *known = find(async, &key);
    if (*known == 0) {
        ss_vec_push(&async->ids, (struct ss_chrome_async_id){.track = track});
        *known = (uint32_t)async->ids.count;
    }
    return &async->ids.data[*known - 1];
}

/* The lowest lane that no other id uses; 0: all are taken. */
static uint32_t take_lane(struct ss_chrome_async_track *track)
{
    size_t lane = track->first_free > 0 ? track->first_free : 1;
    while (lane < track->is_lane_taken.count && track->is_lane_taken.data[lane]) {
        lane++;
    }
    track->first_free = lane;
    if (lane >= MOST_LANES) {
        return 0;
    }
    if (lane >= track->is_lane_taken.count) {
        ss_vec_resize(&track->is_lane_taken, lane + 1);
    }
    track->is_lane_taken.data[lane] = true;
    return (uint32_t)lane;
}

static void put_edge(struct ss_chrome_rows *rows, const struct ss_chrome_event *event,
                     uint32_t track, uint32_t lane)
{
    bool begins = is_begin(event->phase);
    struct ss_trace_event edge = {.time_ns = (uint64_t)event->time_ns,
                                  .track_ref = track,
                                  .lane = lane,
                                  .kind = begins ? SS_EVENT_BEGIN : SS_EVENT_END};
    edge.name_ref = begins || event->name.raw.length > 0
                        ? ss_chrome_name(rows, SS_CHROME_OTHER, event->name, event->category)
                        : 0;
    ss_model_builder_event(rows->builder, &edge);
}

const char *ss_chrome_async_add(struct ss_chrome_async *async, struct ss_chrome_rows *rows,
                                const struct ss_chrome_event *event)
{
    struct ss_chrome_async_id *id = id_of(async, rows, event);
    struct ss_chrome_async_track *track = &async->tracks.data[id->track];
    if (!is_begin(event->phase)) {
        if (id->open == 0) {
            return "the end of an async range that did not begin";
        }
        put_edge(rows, event, track->row, id->lane);
        id->open--;
        if (id->open == 0) {
            track->is_lane_taken.data[id->lane] = false;
            track->first_free = id->lane < track->first_free ? id->lane : track->first_free;
        }
        return NULL;
    }
    if (id->open == 0) {
        id->lane = take_lane(track);
    }
    if (id->lane == 0) {
        return "more async ranges at one time than a track has lanes";
    }
    id->open++;
    put_edge(rows, event, track->row, id->lane);
    return NULL;
}
