/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the Perfetto importer share: the state of packet sequences, tracks, names, and
 * the rows of the model behind them. Texts are ids of the model's strings. Owned by one loader.
 * Private to model/.
 */
#ifndef SS_MODEL_PERFETTO_PERFETTO_LOADING_H
#define SS_MODEL_PERFETTO_PERFETTO_LOADING_H

#include "model/builder/builder.h"
#include "model/files/import_window.h"
#include "model/perfetto/perfetto_clocks.h"
#include "model/perfetto/perfetto_map.h"

/* What a sequence interns, each with ids of its own. */
enum ss_perfetto_interned {
    SS_PERFETTO_CATEGORIES, /* this and the next ones: texts, plus one */
    SS_PERFETTO_NAMES,
    SS_PERFETTO_ANNOTATION_NAMES,
    SS_PERFETTO_ANNOTATION_STRINGS,
    SS_PERFETTO_FUNCTIONS,
    SS_PERFETTO_MAPPING_PATHS,
    SS_PERFETTO_SOURCE_PATHS,
    SS_PERFETTO_MAPPINGS,
    SS_PERFETTO_FRAMES, /* rows of the model */
    SS_PERFETTO_STACKS, /* the same, plus one */
    SS_PERFETTO_TASKS,  /* index into threads, plus one */
    SS_PERFETTO_INTERNED
};

struct ss_perfetto_sequence {
    bool has_state;                        /* what it interned is complete */
    uint64_t default_track, default_clock; /* 0: none */
    bool has_thread; /* of old traces: events without a track are of this thread */
    int64_t pid, tid;
    uint64_t last_us;
    struct ss_perfetto_map interned[SS_PERFETTO_INTERNED];
    struct ss_perfetto_clock_list clocks;
};

struct ss_perfetto_process {
    int64_t pid;
    uint32_t name, cmdline, label; /* texts */
    uint32_t row;                  /* of the model; 0: no event yet */
};

struct ss_perfetto_thread {
    uint32_t process; /* index */
    int64_t tid;
    uint32_t name; /* text */
    uint32_t row;  /* of the model; 0: no event yet */
    uint64_t events;
};

struct ss_perfetto_track {
    uint64_t uuid, parent;
    uint32_t name, unit;      /* texts */
    uint32_t process, thread; /* index plus one; 0: as the parent's, or none */
    uint32_t row;             /* of the model; 0: no event yet */
    uint32_t complete_row;    /* the same, for ranges whose end is known at once */
    int64_t multiplier;       /* of a counter */
    bool is_counter, is_incremental;
    int64_t sum; /* of an incremental counter */
    double real_sum;
};

/* A range that is open on no track: of old traces, whose ends find it by an id. */
struct ss_perfetto_open {
    uint64_t begin_ns;
    uint32_t track, name; /* rows of the model */
    bool is_open;
};

struct ss_perfetto_loading {
    struct ss_model *model;
    struct ss_model_builder *builder;
    const struct ss_model_load *load;
    struct ss_import_window *window; /* counts what is skipped */
    uint64_t offset;                 /* of the current packet */
    struct ss_perfetto_clocks clocks;
    struct ss_perfetto_map sequence_of, track_of, process_of; /* by id, uuid, pid: index plus one */
    struct ss_perfetto_map thread_of;                         /* by process and tid */
    struct ss_vec_of(struct ss_perfetto_sequence) sequences;
    struct ss_vec_of(struct ss_perfetto_process) processes;
    struct ss_vec_of(struct ss_perfetto_thread) threads;
    struct ss_vec_of(struct ss_perfetto_track) tracks;
    struct ss_perfetto_map name_of;     /* by text and category: row of the model */
    struct ss_perfetto_map field_of;    /* by text of an annotation: enum ss_event_field_id + 1 */
    struct ss_perfetto_map async_track; /* by process and category: row of the model */
    struct ss_perfetto_map legacy_counter;
    struct ss_intern async_keys;
    struct ss_vec_of(struct ss_perfetto_open) async; /* by key */
    uint64_t events, samples;
    uint64_t first_ns, last_ns; /* of both */
    uint64_t first_sample_ns, last_sample_ns;
    bool has_rate;
    enum ss_status status; /* of adding a sample */
    struct ss_error *err;
};

/* A packet whose body is being read. */
struct ss_perfetto_packet {
    uint32_t sequence; /* index */
    bool has_time, has_clock;
    uint64_t timestamp, clock, flags;
    uint64_t time_ns; /* on the trace's clock, when it has one */
    struct ss_wire_cursor interned, defaults, clocks, event, descriptor, process, thread, tree,
        perf_sample, stack_sample; /* at NULL: absent */
};

static inline struct ss_perfetto_sequence *
ss_perfetto_sequence_at(struct ss_perfetto_loading *loading, uint32_t index)
{
    return &loading->sequences.data[index];
}
void ss_perfetto_skip(struct ss_perfetto_loading *loading, const char *reason);
void ss_perfetto_count(struct ss_perfetto_loading *loading, uint64_t begin_ns, uint64_t end_ns);

/* perfetto_sequence.c. Indices; UINT32_MAX: there are too many. */
uint32_t ss_perfetto_sequence_of(struct ss_perfetto_loading *loading, uint64_t id);
void ss_perfetto_clear(struct ss_perfetto_sequence *sequence);
void ss_perfetto_sequence_fini(struct ss_perfetto_sequence *sequence);
/* False: malformed. */
bool ss_perfetto_read_interned(struct ss_perfetto_loading *loading, uint32_t sequence,
                               struct ss_wire_cursor body);
bool ss_perfetto_read_defaults(struct ss_perfetto_loading *loading, uint32_t sequence,
                               struct ss_wire_cursor body);

/* perfetto_tracks.c */
bool ss_perfetto_read_track(struct ss_perfetto_loading *loading, struct ss_wire_cursor body);
bool ss_perfetto_read_process(struct ss_perfetto_loading *loading, struct ss_wire_cursor body);
/* Of old traces: also the thread of the sequence. */
bool ss_perfetto_read_thread(struct ss_perfetto_loading *loading, uint32_t sequence,
                             struct ss_wire_cursor body);
bool ss_perfetto_read_tree(struct ss_perfetto_loading *loading, struct ss_wire_cursor body);
uint32_t ss_perfetto_process_of(struct ss_perfetto_loading *loading, int64_t pid);
uint32_t ss_perfetto_thread_of(struct ss_perfetto_loading *loading, int64_t pid, int64_t tid);
/* UINT32_MAX: there are too many. */
uint32_t ss_perfetto_track_of(struct ss_perfetto_loading *loading, uint64_t uuid);
uint32_t ss_perfetto_thread_track(struct ss_perfetto_loading *loading, uint32_t thread);
/* Rows of the model, added with the first event. */
uint32_t ss_perfetto_process_row(struct ss_perfetto_loading *loading, uint32_t process);
uint32_t ss_perfetto_thread_row(struct ss_perfetto_loading *loading, uint32_t thread);
uint32_t ss_perfetto_track_row(struct ss_perfetto_loading *loading, uint32_t track,
                               bool is_complete);
/* The process of a track: its index. */
uint32_t ss_perfetto_owner(struct ss_perfetto_loading *loading, uint32_t track);
/* What is known only at the end: names, main threads. */
void ss_perfetto_finish_rows(struct ss_perfetto_loading *loading);

/* perfetto_events.c, perfetto_samples.c. False: malformed. */
bool ss_perfetto_read_event(struct ss_perfetto_loading *loading,
                            const struct ss_perfetto_packet *packet);
/* What is still open at the end. */
void ss_perfetto_end_async(struct ss_perfetto_loading *loading);
bool ss_perfetto_read_perf_sample(struct ss_perfetto_loading *loading,
                                  const struct ss_perfetto_packet *packet);
bool ss_perfetto_read_stack_sample(struct ss_perfetto_loading *loading,
                                   const struct ss_perfetto_packet *packet);
/* An interned frame, mapping or stack; after the texts of its packet. */
bool ss_perfetto_read_stack_part(struct ss_perfetto_loading *loading, uint32_t sequence,
                                 uint32_t number, struct ss_wire_cursor body);

#endif
