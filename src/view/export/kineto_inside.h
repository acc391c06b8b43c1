/* SPDX-License-Identifier: Apache-2.0 */
/* State shared by the writers of Kineto's format. Private to kineto*.c. */
#ifndef SS_VIEW_EXPORT_KINETO_INSIDE_H
#define SS_VIEW_EXPORT_KINETO_INSIDE_H

#include "analysis/selection/range_runs.h"
#include "base/vec.h"
#include "view/export/autograd_pairs.h"
#include "view/export/kineto.h"
#include "view/output/pair_ids.h"

enum ss_kineto_kind {
    SS_KINETO_STEP,
    SS_KINETO_ANNOTATION,
    SS_KINETO_OPERATOR,
    SS_KINETO_API,    /* calls of a device's runtime or driver */
    SS_KINETO_PYTHON, /* calls of functions */
    SS_KINETO_MODULE,
    SS_KINETO_OVERHEAD,
    SS_KINETO_OTHER, /* in the category that it had in another tool's file */
    SS_KINETO_KERNEL,
    SS_KINETO_COPY,
    SS_KINETO_MEMSET,
    SS_KINETO_DEVICE_ANNOTATION,
    SS_KINETO_DEVICE_SYNC
};

static inline bool ss_kineto_is_work(enum ss_kineto_kind kind)
{
    return kind == SS_KINETO_KERNEL || kind == SS_KINETO_COPY || kind == SS_KINETO_MEMSET;
}

/* --- rows: kineto_rows.c ---------------------------------------------------------------------- */

/* A pid and tid of the file: of a thread, of a stream, or of a track that belongs to neither. */
struct ss_kineto_row {
    uint32_t process, thread; /* of the model; 0: none */
    uint32_t device, track;   /* 0: none; the track is the first of the row */
    bool is_stream;
    int64_t stream; /* number */
    int64_t pid, tid;
    struct ss_vec_of(int64_t) lanes; /* tids of lanes from 1 */
};

struct ss_kineto_rows {
    const struct ss_selection *selection;
    struct ss_vec_of(struct ss_kineto_row) rows; /* the program's threads first */
    uint32_t *row_of_track;                      /* index + 1; 0: not selected */
    int64_t *pids;                               /* by process */
    struct ss_pair_ids used;                     /* by hash of pid and tid */
    int64_t next_tid;
};

void ss_kineto_rows_init(struct ss_kineto_rows *rows, const struct ss_selection *selection,
                         const struct ss_range_runs *runs);
void ss_kineto_rows_fini(struct ss_kineto_rows *rows);
/* The row of a track, NULL: it is not selected. */
const struct ss_kineto_row *ss_kineto_row_of(const struct ss_kineto_rows *rows, uint32_t track);
/* The tid of a lane; new lanes get one that nothing else has. */
int64_t ss_kineto_lane_tid(struct ss_kineto_rows *rows, uint32_t row, uint16_t lane);

/* --- what a range is: kineto_kinds.c ---------------------------------------------------------- */

/* Where torch.profiler recorded calls that the callback for operators recorded too. */
struct ss_kineto_window {
    uint32_t process;
    uint64_t begin_ns, end_ns;
};

struct ss_kineto_kinds {
    const struct ss_model *model;
    uint8_t *by_track;                                 /* enum role of kineto_kinds.c */
    uint8_t *by_name;                                  /* 1 + enum ss_kineto_kind, of threads */
    bool *has_steps;                                   /* by process */
    struct ss_vec_of(struct ss_kineto_window) windows; /* by process, then by begin */
};

void ss_kineto_kinds_init(struct ss_kineto_kinds *kinds, const struct ss_model *model,
                          const struct ss_range_runs *runs);
void ss_kineto_kinds_fini(struct ss_kineto_kinds *kinds);
enum ss_kineto_kind ss_kineto_kind_of(struct ss_kineto_kinds *kinds,
                                      const struct ss_model_range *range);
/* True for a call of which torch.profiler's record is written instead, and for torch.profiler's
 * mark of a step where the recording has steps. */
bool ss_kineto_is_double(const struct ss_kineto_kinds *kinds, const struct ss_model_range *range,
                         enum ss_kineto_kind kind);
bool ss_kineto_is_imported(const struct ss_model *model, uint32_t track);

/* --- ranges of a row: kineto_lanes.c ---------------------------------------------------------- */

struct ss_kineto_item {
    uint64_t begin_ns, end_ns;
    uint32_t range;
    uint16_t lane;
    uint8_t kind; /* enum ss_kineto_kind */
};

typedef struct ss_vec_of(struct ss_kineto_item) ss_kineto_items;

/* Sorts the items, outer before inner, and gives each a lane whose items nest, work beside work. */
void ss_kineto_place_items(ss_kineto_items *items);

/* --- links: kineto_links.c -------------------------------------------------------------------- */

/* An annotation of the host, by its name. */
struct ss_kineto_scope {
    uint64_t name; /* hash */
    uint64_t begin_ns, end_ns;
    uint32_t id;
};

struct ss_kineto_links {
    uint32_t *launches;     /* by range: index of the call that launched it + 1; NULL: no work */
    uint32_t *external_ids; /* by range; 0: none */
    uint16_t *lanes;        /* by range */
    ss_autograd_operators autograd;
    struct ss_vec_of(struct ss_kineto_scope) scopes;
    bool scopes_sorted;
};

void ss_kineto_links_init(struct ss_kineto_links *links, const struct ss_selection *selection);
void ss_kineto_links_fini(struct ss_kineto_links *links);
/* The id of the latest annotation of this name around the time; 0: none. */
uint32_t ss_kineto_scope_at(struct ss_kineto_links *links, uint64_t name, uint64_t time_ns);

/* --- values: kineto_values.c ------------------------------------------------------------------ */

/* Texts of fields that should be lists in JSON: recordings are hostile, so each is read once. */
struct ss_kineto_values {
    const struct ss_model *model;
    uint8_t *checked; /* by string */
};

void ss_kineto_values_init(struct ss_kineto_values *values, const struct ss_model *model);
void ss_kineto_values_fini(struct ss_kineto_values *values);
/* The list; a string, if it is none. */
void ss_kineto_write_list(struct ss_kineto_values *values, struct ss_sink *sink, uint32_t string);
/* A list of frames as one string, ';' between. */
void ss_kineto_write_frames(struct ss_kineto_values *values, struct ss_sink *sink, uint32_t string);
/* The members of the file, which come before its events. */
void ss_kineto_write_head(const struct ss_selection *selection, struct ss_sink *sink, bool has_base,
                          uint64_t base_ns);

/* --- arguments: kineto_arguments.c ------------------------------------------------------------ */

/* An object that is being written. */
struct ss_kineto_arguments {
    struct ss_kineto_values *values;
    struct ss_sink *sink;
    const struct ss_model *model;
    bool has_any;
    uint64_t seen[2]; /* fields, by number: keys are unique */
};

void ss_kineto_begin_arguments(struct ss_kineto_arguments *arguments,
                               struct ss_kineto_values *values, struct ss_sink *sink);
/* Leaves the field out of what follows. */
static inline void ss_kineto_skip_field(struct ss_kineto_arguments *arguments, uint32_t field)
{
    arguments->seen[field / 64] |= UINT64_C(1) << field % 64;
}
void ss_kineto_put_integer(struct ss_kineto_arguments *arguments, const char *key, int64_t number);
void ss_kineto_put_null(struct ss_kineto_arguments *arguments, const char *key);
/* What the payload of an event of this type stands for, and its typed fields. */
void ss_kineto_put_payload(struct ss_kineto_arguments *arguments, uint32_t payload,
                           enum ss_event_type type, enum ss_kineto_kind kind, bool is_imported);
void ss_kineto_put_bandwidth(struct ss_kineto_arguments *arguments, uint32_t payload,
                             uint64_t duration_ns);
void ss_kineto_end_arguments(struct ss_kineto_arguments *arguments);

/* --- events ----------------------------------------------------------------------------------- */

struct ss_kineto_writing {
    const struct ss_selection *selection;
    const struct ss_model *model;
    const struct ss_kineto_options *options;
    struct ss_sink *sink;
    const struct ss_range_runs *runs;
    struct ss_kineto_rows rows;
    struct ss_kineto_kinds kinds;
    struct ss_kineto_links links;
    struct ss_kineto_values values;
    int64_t *shifts_ns;         /* by input: added to times */
    uint64_t first_ns, last_ns; /* of what is selected, shifted */
    uint32_t external_id, python_id;
    bool any_event;
};

/* kineto.c */
/* "{", phase, pid and tid, after a comma. */
void ss_kineto_begin_event(struct ss_kineto_writing *writing, const char *phase, int64_t pid,
                           int64_t tid);
void ss_kineto_put_time(struct ss_kineto_writing *writing, uint32_t track, uint64_t time_ns);
void ss_kineto_put_times(struct ss_kineto_writing *writing, uint32_t track, uint64_t begin_ns,
                         uint64_t end_ns);
void ss_kineto_put_text(struct ss_kineto_writing *writing, const char *key, struct ss_strview text);
/* An event of metadata: { "name": what, "args": { key: text or number } } */
void ss_kineto_metadata(struct ss_kineto_writing *writing, const char *what, int64_t pid,
                        int64_t tid, const char *key, struct ss_strview text);
void ss_kineto_metadata_number(struct ss_kineto_writing *writing, const char *what, int64_t pid,
                               int64_t tid, const char *key, int64_t number);
/* The name of a tid, whose ranges are of thread `of`. */
void ss_kineto_metadata_lane(struct ss_kineto_writing *writing, int64_t pid, int64_t tid,
                             int64_t of, struct ss_strview name);
bool ss_kineto_in_span(const struct ss_kineto_writing *writing, uint64_t time_ns);
/* True when writing may stop. */
bool ss_kineto_is_full(const struct ss_kineto_writing *writing);

/* kineto_names.c: the names of processes, devices and threads. */
void ss_kineto_name_processes(struct ss_kineto_writing *writing);
void ss_kineto_name_row(struct ss_kineto_writing *writing, uint32_t row, uint16_t lanes);
/* kineto_ranges.c: the ranges of all rows. */
void ss_kineto_write_ranges(struct ss_kineto_writing *writing);
/* kineto_flows.c: from launches to work, from forward to backward. */
void ss_kineto_write_flows(struct ss_kineto_writing *writing);
/* kineto_marks.c: marks, arrows of programs, counters. */
void ss_kineto_write_marks(struct ss_kineto_writing *writing);

#endif
