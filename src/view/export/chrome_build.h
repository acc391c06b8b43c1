/* SPDX-License-Identifier: Apache-2.0 */
/* State shared by the writers of Chrome events (samples, tracks). Private to chrome*.c. */
#ifndef SS_VIEW_EXPORT_CHROME_BUILD_H
#define SS_VIEW_EXPORT_CHROME_BUILD_H

#include "base/vec.h"
#include "view/export/chrome.h"
#include "view/output/spans.h"

/* Ids of processes and threads whose own id is unknown, of processes whose pid is already used by
 * one of another machine, and of lanes of tracks. Greater than all ids of Linux (4,194,304). */
enum { FIRST_SYNTHETIC_ID = 5000000 };

struct ss_chrome_writing {
    const struct ss_selection *selection;
    const struct ss_chrome_options *options;
    struct ss_sink *sink;
    struct ss_spans spans;
    ss_span_list list;
    /* By process of the model; process 0 is the host of the first input. After the processes come
     * the hosts of all inputs; the first of these entries is unused. */
    int64_t *pid_of_process;
    bool *process_named;
    struct ss_vec_of(uint32_t) open, path; /* frames, outermost first */
    bool any_event;
};

/* Writes "{", after a comma unless it is the first event. */
void ss_chrome_begin_event(struct ss_chrome_writing *writing);
void ss_chrome_metadata(struct ss_chrome_writing *writing, const char *what, const char *key,
                        int64_t pid, int64_t tid, struct ss_strview text);
void ss_chrome_name_process(struct ss_chrome_writing *writing, uint32_t process);
/* The process, or host, of a track: an index into pid_of_process. */
uint32_t ss_chrome_owner(const struct ss_chrome_writing *writing, uint32_t track);

/* chrome_arguments.c */
void ss_chrome_write_real(struct ss_sink *sink, double real);
void ss_chrome_write_arguments(struct ss_chrome_writing *writing, uint32_t track, uint32_t payload,
                               enum ss_event_type type, uint8_t flags);

/* chrome_tracks.c: ranges, marks, flows and counters. */
bool ss_chrome_has_tracks(const struct ss_selection *selection);
void ss_chrome_write_tracks(struct ss_chrome_writing *writing);

#endif
