/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content of a speedscope file, compact: its frames may follow the profiles that use them, and
 * the unit of a profile its numbers. Owned by one loader. Private to model/.
 */
#ifndef SS_MODEL_STACKS_SPEEDSCOPE_FILE_H
#define SS_MODEL_STACKS_SPEEDSCOPE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/intern.h"
#include "base/vec.h"
#include "model/files/json_window.h"

enum ss_speedscope_unit {
    SS_SPEEDSCOPE_UNKNOWN, /* not read yet, or another one: counted like NONE */
    SS_SPEEDSCOPE_NONE,
    SS_SPEEDSCOPE_BYTES,
    SS_SPEEDSCOPE_NANOSECONDS, /* this and the following: times */
    SS_SPEEDSCOPE_MICROSECONDS,
    SS_SPEEDSCOPE_MILLISECONDS,
    SS_SPEEDSCOPE_SECONDS
};

/* In ns; of units without time, in millionths. While the unit of the profile is unknown: real. */
union ss_speedscope_number {
    int64_t fixed;
    double real;
};

/* A number that cannot be read. */
#define SS_SPEEDSCOPE_UNREADABLE INT64_MIN

enum { SS_SPEEDSCOPE_MILLION = 1000000 };

struct ss_speedscope_frame {
    uint32_t name, file; /* texts */
    int32_t line;        /* -1: unknown */
};

/* Of an evented profile: a frame begins or ends. */
struct ss_speedscope_event {
    union ss_speedscope_number at;
    uint32_t frame; /* UINT32_MAX: unreadable */
    bool is_end;
};

struct ss_speedscope_profile {
    uint32_t name; /* text */
    enum ss_speedscope_unit unit;
    bool is_real;                          /* its numbers are */
    union ss_speedscope_number start, end; /* 0: unknown */
    struct ss_vec_of(uint32_t) stacks;     /* of samples: index into the file's stacks */
    struct ss_vec_of(union ss_speedscope_number) weights;
    struct ss_vec_of(struct ss_speedscope_event) events;
    uint64_t offset; /* in the file, in bytes */
};

struct ss_speedscope_file {
    struct ss_intern texts;  /* names and paths */
    struct ss_intern stacks; /* lists of frames as written: "[6,5,4]", the outermost first */
    struct ss_vec_of(struct ss_speedscope_frame) frames;
    struct ss_vec_of(struct ss_speedscope_profile) profiles;
    bool has_frames;         /* their list was found */
    uint32_t name, exporter; /* texts */
    uint32_t active;         /* the profile that a viewer shows first */
};

void ss_speedscope_file_init(struct ss_speedscope_file *file);
void ss_speedscope_file_fini(struct ss_speedscope_file *file);
/* Reads on to the end of the window's file. Afterwards no number is real. */
void ss_speedscope_file_read(struct ss_speedscope_file *file, struct ss_json_window *window);

static inline bool ss_speedscope_is_time(enum ss_speedscope_unit unit)
{
    return unit >= SS_SPEEDSCOPE_NANOSECONDS;
}

#endif
