/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clients of a recording: the processes with ring files, and what annotations.h keeps of each.
 * Private to annotations.c and annotation_*.c, which are one class: clients (their life), windows
 * (of schedules), drain (the rings), annotations (the recording's view of all of them).
 */
#ifndef SS_RECORD_ANNOTATIONS_ANNOTATION_CLIENTS_H
#define SS_RECORD_ANNOTATIONS_ANNOTATION_CLIENTS_H

#include "base/pages.h"
#include "base/vec.h"
#include "record/annotations/annotations.h"
#include "record/details/detail_filter.h"
#include "record/devices/device_tracks.h"
#include "record/processes/process_observer.h"
#include "record/processes/process_table.h"
#include "record/run/ring_directory.h"
#include "record/tracks/annotation_tracks.h"
#include "record/tracks/torch_profiles.h"
#include "record/windows/window_filter.h"
#include "ring/folder.h"
#include "source/annot.h"
#include "source/ring_file.h"

/* The time between the first drains; it adapts to how fast the rings fill. */
enum { SS_DRAIN_FIRST_NS = 4000000 };

enum { SS_CLIENT_PATH_BYTES = SS_RING_PATH_BYTES + 300, SS_CLIENT_MAX_PAST_EDGES = 64 };

struct ss_demand_row;

struct ss_past_edge {
    struct ss_window_edge edge;
    bool opens;
};
struct ss_record_client {
    struct ss_record_annotations *annotations;
    char path[SS_CLIENT_PATH_BYTES];
    pid_t pid;
    uint64_t start_time_ticks;
    struct ss_ring_file *file;
    struct ss_annot *annot;
    struct ss_annotation_tracks *tracks;
    struct ss_torch_files torch;                 /* results of torch.profiler */
    struct ss_device_tracks *devices;            /* NULL: none */
    struct ss_detail_filter *detail;             /* between the window filter and the tracks */
    struct ss_window_filter *filter;             /* NULL: no schedule */
    struct ss_vec_of(struct ss_past_edge) edges; /* the latest, for followers that start later */
    uint64_t drained_ns;                         /* begin of the last complete drain of its ring */
    char sealed_path[SS_CLIENT_PATH_BYTES];      /* notices of finished files to the process */
    uint32_t header_window;                      /* last value in the header */
    uint32_t demanded_window;                    /* the recorder has opened; 0: none */
    uint32_t windows_of_seconds;                 /* so far */
    bool marks_steps;
    bool is_scheduled; /* by a schedule that the program set itself */
    bool wants_flush;  /* a flush is pending: flush_number… */
    uint32_t flush_number;
    int flush_drains; /* …and the drains since the request */
    struct ss_recorded_process *process;
    uint32_t process_ref;
    bool is_ended;   /* all data is written; the entry stays so that its file is not opened again */
    bool is_dead;    /* the process has ended: sealed_path has no reader */
    bool is_refused; /* never started: unreadable, or not part of this recording */
    bool is_unreadable;             /* opening it failed */
    bool is_confined;               /* it has set a seccomp filter */
    uint64_t confinement_polled_ns; /* last poll for such a filter */
    uint64_t seen_ns;
    struct ss_annot_totals totals;
    uint64_t produced_before, dropped_before; /* from earlier images of the process */
};

struct ss_drained_window {
    uint32_t process_ref, window;
    uint64_t since_ns;
};

struct ss_record_annotations {
    struct ss_torch_profiles *torch_profiles; /* borrowed */
    struct ss_device_totals *device_totals;   /* borrowed */
    struct ss_record_context *context;
    const struct ss_record_options *options; /* borrowed */
    struct ss_process_table *processes;
    pid_t attach_pid;
    bool is_off;
    struct ss_ring_directory directory;
    int inotify_fd;
    struct ss_stamp_clock clock;
    struct ss_vec_of(struct ss_record_client *) clients;
    struct ss_pages by_process; /* struct ss_record_client *, by ref; only while not ended */
    uint32_t unreadable_before; /* unreadable clients that were removed */
    struct ss_vec_of(struct ss_drained_window) drained; /* their files are to be finished */
    uint32_t scheduled;                                 /* processes with a schedule of their own */
    uint64_t since_ns, drain_period_ns, next_ns;
    size_t first_client; /* of the next drain: after the one where the last drain stopped */
    uint32_t live;
    struct ss_record_windows ended; /* of ended processes */
    uint64_t any_in_window_ns;      /* last update of any_in_window */
    bool any_in_window;
    struct ss_vec_of(struct ss_demand_row *) demands; /* annotation_demands.h */
    uint32_t windows_of_all, open_windows_of_all;     /* of seconds, without clients */
    bool is_captured;                                 /* annotation_captures.h: one is open */
    uint32_t demand_number;                           /* of the last one that was posted */
    bool wants_flush;                                 /* of any process */
    int inherited_filters; /* seccomp filters that the program inherits from the recorder */
    uint64_t confinement_polled_ns;
    size_t confinement_client;
};

/* --- annotation_clients.c --------------------------------------------------------------------- */

void ss_annotations_note(struct ss_record_annotations *annotations, uint32_t process_ref,
                         const char *kind, const char *text, uint64_t now_ns);
struct ss_record_client *ss_annotations_client(const struct ss_record_annotations *annotations,
                                               uint32_t process_ref);
void ss_client_write_counts(struct ss_record_client *client, uint64_t now_ns);
void ss_client_end(struct ss_record_client *client, uint64_t now_ns, bool is_dead);
/* A refused file is not opened again at each event: closing it causes one. */
void ss_annotations_scan_file(struct ss_record_annotations *annotations, const char *name,
                              uint64_t now_ns, bool retry_refused);
void ss_annotations_scan(struct ss_record_annotations *annotations, uint64_t now_ns);
/* Says of which processes the ring files were truncated before the recorder had opened them. For
 * the recorder's own folder, at the end of the recording. */
void ss_annotations_note_empty_files(struct ss_record_annotations *annotations, uint64_t now_ns);
bool ss_client_is_unread(const struct ss_record_client *client);
/* Frees the clients that never started and whose files are gone: a recorder that is attached finds
 * the files of every process of the user. */
void ss_annotations_forget_refused(struct ss_record_annotations *annotations);

/* --- annotation_windows.c --------------------------------------------------------------------- */

void ss_client_add_windows(const struct ss_record_client *client, struct ss_record_windows *sum);
/* The window owner of a process that marks no steps itself; NULL: none. */
struct ss_record_client *ss_client_window_owner(const struct ss_record_client *client);
/* For a process that started after its window owner had marked edges. */
void ss_client_replay_edges(struct ss_record_client *client);
void ss_annotations_finish_windows(struct ss_record_annotations *annotations);
/* The recorder attached during a window, which began before the recording. */
void ss_client_enter_open_window(struct ss_record_client *client, uint64_t now_ns);
bool ss_client_poll_header(struct ss_record_client *client);
void ss_client_start_filter(struct ss_record_client *client);

/* --- annotation_demands.c --------------------------------------------------------------------- */

/* The recorder opens a window of the process; 0: closes it. */
void ss_client_emit_edge(struct ss_record_client *client, uint32_t window, uint64_t now_ns);
void ss_client_demand_begins(struct ss_record_client *client, const struct ss_window_edge *edge);
void ss_client_demand_ends(struct ss_record_client *client, const struct ss_window_edge *edge,
                           int64_t last_step);
void ss_annotations_demand_drained(struct ss_record_annotations *annotations, uint32_t process_ref,
                                   uint32_t window);
void ss_client_demand_ended(struct ss_record_client *client);
void ss_annotations_demand_sealed(struct ss_record_annotations *annotations,
                                  const struct ss_window *window);
void ss_annotations_free_demands(struct ss_record_annotations *annotations);

/* --- annotation_drain.c ----------------------------------------------------------------------- */

int ss_count_seccomp_filters(pid_t pid);
void ss_client_drain(struct ss_record_client *client, uint64_t now_ns);

/* --- struct ss_process_observer: declared there ----------------------------------------------- */

void ss_client_process_ended(struct ss_record_annotations *annotations,
                             struct ss_record_client *annotated, uint64_t now_ns);
/* Frees the ended clients of a process. */
void ss_annotations_forget(struct ss_record_annotations *annotations, uint32_t process_ref);
void ss_client_image_ended(struct ss_record_annotations *annotations,
                           struct ss_record_client *annotated, uint64_t now_ns);
void ss_client_label(struct ss_record_client *annotated, int32_t tid,
                     struct ss_trace_sample *sample);
bool ss_annotations_is_in_window(struct ss_record_annotations *annotations, uint32_t process_ref,
                                 uint64_t now_ns);
uint32_t ss_client_window(const struct ss_record_client *annotated);
void ss_client_ensure_window(struct ss_record_client *annotated, uint32_t window);

#endif
