/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the reader library. Private to lib/. */
#ifndef SS_LIB_READER_INSIDE_H
#define SS_LIB_READER_INSIDE_H

#include <stepscope/reader.h>

#include "base/intern.h"
#include "base/vec.h"
#include "trace/reader.h"

/* The trace reader assigns dense refs; a larger gap means damage. */
enum { LARGEST_REF_JUMP = 1 << 16 };

struct stepscope_reader {
    char *path;
    struct ss_intern strings;
    stepscope_summary summary;
    struct ss_vec_of(stepscope_process) processes; /* by ref - 1; ref 0 marks an unused entry */
    struct ss_vec_of(stepscope_thread) threads;
    struct ss_vec_of(stepscope_frame) frames;
    struct ss_vec_of(stepscope_stack) stacks;
    struct ss_vec_of(stepscope_attribute) attributes;
    struct ss_vec_of(stepscope_counts) counts;
    struct ss_vec_of(uint32_t) counts_source_ref; /* parallel to counts */
    struct ss_vec_of(stepscope_track) tracks;
    struct ss_vec_of(stepscope_event_name) event_names;
    /* `hosts`, `devices`, …: the entities of trace/schema.def, by ref - 1 */
#define SS_ENTITY(name, number, when, meaning) struct ss_vec_of(stepscope_##name) name##s;
#include "trace/schema.def"
};

/* Grows the vector to `wanted` entries; new entries are zero. */
#define SS_READER_GROW(vec, wanted)                                                                \
    do {                                                                                           \
        if ((wanted) == 0 || (wanted) > (vec)->count + LARGEST_REF_JUMP) {                         \
            return SS_E_FORMAT;                                                                    \
        }                                                                                          \
        if ((wanted) > (vec)->count) {                                                             \
            ss_vec_resize((vec), (wanted));                                                        \
        }                                                                                          \
    } while (0)

/* The entry of a ref; NULL when there is none. */
#define SS_READER_ROW(vec, wanted)                                                                 \
    ((wanted) != 0 && (wanted) <= (vec).count && (vec).data[(wanted)-1].ref != 0                   \
         ? &(vec).data[(wanted)-1]                                                                 \
         : NULL)

stepscope_status ss_reader_fail(stepscope_error *error, stepscope_status status,
                                const char *message);
stepscope_status ss_reader_forward(stepscope_error *error, const struct ss_error *err);
const char *ss_reader_intern(struct stepscope_reader *reader, struct ss_strview text);

/* reader_tracks.c: visitors of definitions. */
enum ss_status ss_reader_on_track(void *context, const struct ss_trace_track *track);
enum ss_status ss_reader_on_name(void *context, const struct ss_trace_name *name);

/* reader_entities.c: ss_reader_on_host, … */
#define SS_ENTITY(name, number, when, meaning)                                                     \
    enum ss_status ss_reader_on_##name(void *context, const struct ss_trace_##name *record);
#include "trace/schema.def"
void ss_reader_free_entities(struct stepscope_reader *reader);

#endif
