/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of struct ss_trace_writer. Private to writer*.c. */
#ifndef SS_TRACE_WRITER_STATE_H
#define SS_TRACE_WRITER_STATE_H

#include "base/clock.h"
#include "base/pages.h"
#include "base/vec.h"
#include "trace/definitions.h"
#include "trace/encode_tracks.h"
#include "trace/entities.h"
#include "trace/output.h"
#include "trace/packer.h"
#include "trace/unit.h"
#include "trace/writer.h"

/* Whether the main thread of a process has its row at the top (writer_top.c). */
enum ss_leading { SS_LEADING_UNDECIDED, SS_LEADING_YES, SS_LEADING_NO };

struct ss_writer_process {
    struct ss_trace_process record; /* its texts are interned; ref 0: unknown */
    uint64_t uuid;
    uint32_t period;                    /* of the last write */
    bool was_put, was_named;            /* in viewers */
    uint64_t parent_uuid;               /* valid also after the parent is forgotten */
    uint32_t first_thread, first_track; /* 0: none */
    struct ss_strview title;            /* in titles of tracks; empty: none yet */
    bool shares_title;                  /* of another process, but for the pid */
    enum ss_leading leading;
};

struct ss_writer_thread {
    struct ss_trace_thread record;
    uint64_t uuid;
    struct ss_period_iid iid;
    bool changed;
    uint32_t next; /* thread of the same process; 0: none */
};

struct ss_writer_entity {
    union ss_trace_entity record; /* its texts are interned; ref 0: unknown */
    uint32_t period;              /* of the last write, of those written when used */
};
typedef struct ss_vec_of(struct ss_writer_entity) ss_writer_entities; /* by ref - 1 */

struct ss_writer_counts {
    struct ss_trace_counts record;
    bool pending;
};

/* A lane of an ASYNC track. */
struct ss_writer_lane {
    uint64_t uuid;
    uint64_t id;      /* of its open range */
    uint64_t last_ns; /* time of its latest event */
    uint32_t period;  /* of the last descriptor */
    bool open;
};

struct ss_writer_track {
    struct ss_trace_track record; /* its texts are interned; ref 0: unknown */
    uint64_t uuid;
    uint32_t period; /* of the last descriptor */
    bool changed;
    bool is_at_top;    /* of viewers, beside the processes (writer_top.c) */
    bool is_explained; /* there: in this file */
    uint32_t sequence; /* its track sequence: index + 1; 0: the main sequence */
    uint32_t next;     /* track of the same process; 0: none */
    /* The running total of a DELTA counter. */
    int64_t total;
    double real_total;
    bool is_real;
    struct ss_vec_of(struct ss_writer_lane) lanes; /* by number - 1 */
};

struct ss_writer_name {
    uint32_t text, category; /* strings */
    uint32_t colour;
    uint32_t file, line; /* of functions; a string of definitions.strings */
    uint32_t shown;      /* string: the category for viewers; 0: none */
    uint8_t type;        /* enum ss_event_type */
    bool known;
    struct ss_period_iid iid;
};

struct ss_trace_writer {
    struct ss_output output;
    struct ss_trace_writer_options options;
    struct ss_deflater *deflater; /* NULL: compression is off */
    struct ss_packer *packer;     /* NULL: the caller's thread compresses */
    struct ss_definitions definitions;
    struct ss_pages processes, threads, tracks;   /* by ref, until forgotten */
    ss_writer_entities entities[SS_SCHEMA_COUNT]; /* by kind */
    struct ss_vec_of(struct ss_trace_attribute) attributes;
    size_t lasting_attributes; /* number of attributes that outlive the file */
    struct ss_vec_of(struct ss_writer_counts) counts;
    struct ss_vec_of(struct ss_writer_name) names;                          /* by ref */
    struct ss_vec_of(struct ss_period_iid) category_iids;                   /* by string */
    struct ss_iid_set main_names, main_categories, main_fields, main_texts; /* defined on the main
                                                                        sequence */
    uint64_t trace_uuid[2];
    struct ss_vec_of(uint32_t) free_sequences; /* by number, from 1 */
    uint32_t newest_forgotten_track;
    uint64_t forgotten_lost; /* losses of forgotten processes */
    uint64_t lost_shown;     /* last value of the "lost samples" track + 1; 0: none yet */
    uint32_t next_thread_iid, next_name_iid; /* names and categories share the second counter */

    struct ss_unit unit;
    struct ss_clock_reading clock; /* at the start of the unit */
    bool has_clock;
    uint64_t base_ns; /* of the last unit; 0: none yet */
    bool unit_restarts, unit_has_gap;
    bool restart_pending;
    uint32_t unit_number;
    uint64_t period_began_ns;
    uint64_t period_bytes;
    struct ss_trace_writer_stats stats;
    struct ss_error failure; /* sticky */
};

/* NULL: unknown or forgotten. */
static inline struct ss_writer_process *ss_writer_process_at(const struct ss_trace_writer *writer,
                                                             uint32_t ref)
{
    return ss_pages_get(&writer->processes, ref);
}
static inline struct ss_writer_thread *ss_writer_thread_at(const struct ss_trace_writer *writer,
                                                           uint32_t ref)
{
    return ss_pages_get(&writer->threads, ref);
}
static inline struct ss_writer_track *ss_writer_track_at(const struct ss_trace_writer *writer,
                                                         uint32_t ref)
{
    return ss_pages_get(&writer->tracks, ref);
}

/* The sticky failure; SS_OK when there is none. */
enum ss_status ss_writer_failed(const struct ss_trace_writer *writer, struct ss_error *err);
/* Before an event: closes a full unit and forces an overdue restart. */
enum ss_status ss_writer_make_room(struct ss_trace_writer *writer, struct ss_error *err);

/* Tracks of the whole recording. */
enum {
    SS_LOST_TRACK = 1,
    SS_NOTES_TRACK = 2,
    SS_HOST_TRACK = 3,
    SS_RECORDING_TRACK = 4,
    SS_ABOUT_TRACK = 5
};
uint64_t ss_writer_track_uuid(const struct ss_trace_writer *writer, uint64_t which);

uint64_t ss_writer_process_uuid(const struct ss_trace_writer *writer, uint32_t ref); /* 0: none */
void ss_writer_put_process(struct ss_trace_writer *writer, struct ss_writer_process *entry);
/* Writes it again if viewers have no name of it. */
void ss_writer_name_process(struct ss_trace_writer *writer, struct ss_writer_process *entry);
/* Writes the process if this period does not contain it yet. */
void ss_writer_use_process(struct ss_trace_writer *writer, uint32_t ref);

void ss_writer_put_counts(struct ss_trace_writer *writer, const struct ss_trace_counts *counts);

/* The task context iid of the thread, written if this period lacks it; 0: no such thread. */
uint32_t ss_writer_use_thread(struct ss_trace_writer *writer, uint32_t ref);
void ss_writer_forget_track(struct ss_trace_writer *writer, uint32_t ref); /* writer_tracks.c */
/* The interned copy of a text, truncated to the limit of the format. */
struct ss_strview ss_writer_intern(struct ss_trace_writer *writer, struct ss_strview text);

/* writer_entities.c */
/* Appends the entities that every restart point has. */
void ss_writer_put_entities(struct ss_trace_writer *writer, struct ss_wire_buffer *out);
/* Writes the entity, and those that it refers to, if this period lacks them. false: unknown. */
bool ss_writer_use_entity(struct ss_trace_writer *writer, enum ss_schema_id id, uint32_t ref);
enum ss_status ss_writer_copy_entities(struct ss_trace_writer *writer,
                                       const struct ss_trace_writer *from, struct ss_error *err);
void ss_writer_entities_fini(struct ss_trace_writer *writer);
size_t ss_writer_entities_memory(const struct ss_trace_writer *writer);

/* writer_names.c */
/* The defined iids of a sequence, and the buffers for new definitions. */
struct ss_name_scope {
    struct ss_iid_set *names, *categories, *fields, *texts;
    struct ss_wire_buffer *interned, *extras;
};
struct ss_name_scope ss_writer_main_scope(struct ss_trace_writer *writer);
/* The iid of a name, defined in the scope if needed. 0: no such name. */
uint32_t ss_writer_use_name(struct ss_trace_writer *writer, struct ss_name_scope *scope,
                            uint32_t ref, uint32_t *category_iid);

/* Defines the names of the event's fields, their long texts, and what they refer to. Sets the iids
 * of the texts; 0: the text is not interned. */
enum ss_status ss_writer_use_fields(struct ss_trace_writer *writer, struct ss_name_scope *scope,
                                    const struct ss_trace_event *event,
                                    uint32_t text_iids[SS_MAX_EVENT_FIELDS], struct ss_error *err);

/* writer_tracks.c */
static inline bool ss_writer_is_described(const struct ss_trace_writer *writer,
                                          const struct ss_writer_track *track)
{
    uint32_t thread = track->record.thread_ref;
    bool renamed = thread != 0 && ss_writer_thread_at(writer, thread)->changed;
    return track->period == writer->definitions.period && !track->changed && !renamed;
}
/* Writes the track and its owners if the period lacks them. */
void ss_writer_describe_track(struct ss_trace_writer *writer, uint32_t ref);
struct ss_track_uuids ss_writer_track_uuids(struct ss_trace_writer *writer,
                                            const struct ss_writer_track *track);
void ss_writer_tracks_fini(struct ss_trace_writer *writer);
/* For a new file: resets open ranges and counter totals. */
void ss_writer_tracks_begin(struct ss_trace_writer *writer);
size_t ss_writer_tracks_memory(const struct ss_trace_writer *writer);
/* The iid of a name on the main sequence; 0: no such name. */
uint32_t ss_writer_use_main_name(struct ss_trace_writer *writer, uint32_t ref);

/* writer_top.c */
/* Whether viewers show the track at the top; of a new track. */
bool ss_writer_is_at_top(struct ss_trace_writer *writer, const struct ss_trace_track *track);
/* The title of a track in viewers; empty: its name. */
struct ss_strview ss_writer_title(struct ss_trace_writer *writer,
                                  const struct ss_writer_track *track);
/* Gives a track at the top its child, which viewers require of tracks there: an instant that names
 * the process. Returns where its event begins in the blobs of the unit. */
size_t ss_writer_explain_track(struct ss_trace_writer *writer, struct ss_writer_track *track);

#endif
