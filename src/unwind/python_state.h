/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of struct ss_python. Private to the implementation of python.h. */
#ifndef SS_UNWIND_PYTHON_STATE_H
#define SS_UNWIND_PYTHON_STATE_H

#include "base/vec.h"
#include "unwind/cpython_code.h"
#include "unwind/cpython_layout.h"
#include "unwind/python.h"

enum { SS_MAX_INTERPRETERS = 1024, SS_MAX_THREADS = 65536 };

struct ss_python_interpreter {
    uint64_t address, next, threads_head;
    uint64_t gil; /* 0: none */
    int64_t id;
    bool is_main;
};

struct ss_python {
    struct ss_memory_reader *reader;
    struct ss_cpython_layout layout;
    struct ss_python_options options;
    uint64_t runtime;
    uint64_t interpreters_head;
    char version[48];
    struct ss_code_cache codes;
    struct ss_vec_of(struct ss_python_interpreter) interpreters;
    struct ss_vec_of(struct ss_python_thread *) threads;
    bool threads_stale; /* a walk found a changed thread state: refresh the list */
    uint32_t thread_round;
    int32_t tid_position; /* of the kernel tid in struct pthread; 0: unknown */

    int32_t window_start; /* the part of a thread state that every walk reads */
    uint32_t window_bytes;

    struct ss_walk_scratch *scratch; /* cpython_walk.c */
    struct ss_walk_batch *batch;     /* walk_batch.c; NULL until it is needed */
    struct ss_python_gil gil;        /* as last read; see has_gil */
    bool has_gil;
    bool heads_wanted; /* the next ss_python_walk_threads reads the list heads… */
    bool heads_fresh;  /* …and found them unchanged */
    uint32_t *frames;  /* the last result, outermost first */
};

/* A 64-bit word of fetched bytes; 0 for an absent field. */
static inline uint64_t ss_word(const uint8_t *bytes, int32_t offset)
{
    uint64_t value = 0;
    if (offset >= 0) {
        __builtin_memcpy(&value, bytes + offset, sizeof value);
    }
    return value;
}

struct ss_python_walk *ss_python_walk_new(void);
void ss_python_walk_free(struct ss_python_walk *walk);
/* `reversed`: the ring of another scratch, shared; NULL: allocates one. */
struct ss_walk_scratch *ss_walk_scratch_new(uint32_t *reversed);
void ss_walk_scratch_free(struct ss_walk_scratch *scratch);
size_t ss_walk_scratch_bytes(const struct ss_walk_scratch *scratch);
void ss_walk_batch_free(struct ss_walk_batch *batch);
size_t ss_walk_batch_bytes(const struct ss_walk_batch *batch);

/* The range of the only GIL of the process, which shows which thread can run Python; false: no GIL,
 * or several. */
bool ss_python_only_gil(const struct ss_python *python, struct ss_memory_range *range,
                        uint8_t *buffer);
/* Decodes the bytes of that range; false: incomplete. */
bool ss_python_decode_gil(const struct ss_python *python, const struct ss_memory_range *range,
                          struct ss_python_gil *gil);
enum { SS_GIL_BYTES = 96 };

enum {
    SS_INTERPRETER_BYTES = 512, /* maximum span of next, id and thread list head */
    SS_FEW_INTERPRETERS = 16,
    SS_HEAD_RANGES = 1 + SS_FEW_INTERPRETERS
};

/* The heads of the lists of interpreters and thread states. */
struct ss_python_heads {
    uint64_t first;
    int32_t start;
    uint8_t bytes[SS_FEW_INTERPRETERS][SS_INTERPRETER_BYTES];
};

/* Writes the ranges of the heads and returns their number; 0: none, or more than SS_HEAD_RANGES. */
size_t ss_python_put_heads(const struct ss_python *python, struct ss_python_heads *heads,
                           struct ss_memory_range *ranges);
bool ss_python_are_heads_same(const struct ss_python *python, const struct ss_python_heads *heads,
                              const struct ss_memory_range *ranges);

#endif
