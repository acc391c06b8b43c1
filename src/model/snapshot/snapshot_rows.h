/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns what a snapshot of PyTorch's memory holds into rows of the model. A free that has the
 * frames of its allocation (its own were not recorded) becomes one without frames. Owned by one
 * loader. Private to model/.
 */
#ifndef SS_MODEL_SNAPSHOT_SNAPSHOT_ROWS_H
#define SS_MODEL_SNAPSHOT_SNAPSHOT_ROWS_H

#include "base/strbuf.h"
#include "model/builder/builder.h"
#include "model/files/input_budget.h"
#include "wire/pickle.h"

/* Keys and words of snapshots, as texts of the pickle. */
#define SS_SNAPSHOT_WORDS(word)                                                                    \
    word(segments) word(device_traces) word(external_annotations) word(device) word(address)       \
        word(addr) word(total_size) word(size) word(requested_size) word(state) word(blocks)       \
            word(history) word(real_size) word(frames) word(filename) word(line) word(name)        \
                word(is_expandable) word(action) word(device_free) word(time_us) word(stage)       \
                    word(alloc) word(free_requested) word(segment_alloc) word(segment_free)        \
                        word(segment_map) word(segment_unmap) word(oom) word(active_allocated)     \
                            word(START) word(END)

struct ss_snapshot_words {
#define SS_SNAPSHOT_WORD(text) uint32_t text;
    SS_SNAPSHOT_WORDS(SS_SNAPSHOT_WORD)
#undef SS_SNAPSHOT_WORD
};

enum ss_snapshot_mark {
    SS_SNAPSHOT_ALLOC,
    SS_SNAPSHOT_BEFORE,
    SS_SNAPSHOT_SEGMENT,
    SS_SNAPSHOT_SEGMENT_PART, /* of a segment that grows */
    SS_SNAPSHOT_SEGMENT_BEFORE,
    SS_SNAPSHOT_SEGMENT_PART_BEFORE,
    SS_SNAPSHOT_OOM,
    SS_SNAPSHOT_MARKS
};

struct ss_snapshot_rows {
    struct ss_model_builder *builder;
    struct ss_pickle *pickle;
    struct ss_input_budget *budget; /* NULL: no limits */
    struct ss_snapshot_words words;
    uint32_t process, thread, memory_track, torch_track, step_track; /* 0: not used yet */
    uint32_t names[SS_SNAPSHOT_MARKS];
    struct ss_vec_of(uint32_t) devices;  /* by number: row; 0: not used yet */
    struct ss_intern stacks;             /* texts of the field */
    struct ss_vec_of(uint32_t) stack_of; /* by object of the pickle: text + 1; 0: not made yet */
    struct ss_strbuf text;
    bool has_times, has_events;
    uint64_t first_ns, last_ns, events;
};

void ss_snapshot_rows_init(struct ss_snapshot_rows *rows, struct ss_model_builder *builder,
                           struct ss_pickle *pickle, struct ss_input_budget *budget);
void ss_snapshot_rows_fini(struct ss_snapshot_rows *rows);

/* Counts an entry of a list, before its keys are read. */
enum ss_status ss_snapshot_charge(const struct ss_snapshot_rows *rows, struct ss_pickle_value entry,
                                  struct ss_error *err);
/* A natural number of a dict; `other` where it has none. */
uint64_t ss_snapshot_number(const struct ss_snapshot_rows *rows, struct ss_pickle_value dict,
                            uint32_t key, uint64_t other);
/* Whether the value is this word. */
bool ss_snapshot_is(struct ss_pickle_value value, uint32_t word);

struct ss_snapshot_event {
    enum ss_snapshot_mark mark;
    uint64_t time_ns, device;
    int64_t bytes;
    uint64_t address, requested; /* requested: of OOM, which has no address */
    struct ss_pickle_value frames;
};
void ss_snapshot_add(struct ss_snapshot_rows *rows, const struct ss_snapshot_event *event);
/* A range that the program marked, or a step. */
void ss_snapshot_add_range(struct ss_snapshot_rows *rows, uint64_t begin_ns, uint64_t end_ns,
                           struct ss_strview name);

/* The events of a device, with what its history begins with (snapshot_traces.c). `segments`: the
 * snapshot's list. SS_E_FORMAT with what is wrong. */
enum ss_status ss_snapshot_add_device(struct ss_snapshot_rows *rows, uint64_t device,
                                      struct ss_pickle_value segments, struct ss_pickle_value trace,
                                      struct ss_error *err);

#endif
