/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A writer's frames and stacks, and which of them the current restart period has already defined.
 * Interning ids (iids) are dense from 1 in order of first use within a period. One owner.
 */
#ifndef SS_TRACE_DEFINITIONS_H
#define SS_TRACE_DEFINITIONS_H

#include "base/error.h"
#include "base/intern.h"
#include "base/vec.h"
#include "trace/records.h"
#include "wire/proto.h"

/* An iid, valid in `period` only. */
struct ss_period_iid {
    uint32_t iid;
    uint32_t period;
};

struct ss_frame_definition {
    uint32_t function, name, file; /* strings */
    uint32_t short_file_offset;
    int32_t line, first_line;
    struct ss_period_iid iid;
    uint8_t kind;
    bool known, is_installed;
};

struct ss_stack_definition {
    uint32_t parent;
    uint32_t frame;
    uint32_t depth; /* 0: unknown */
    struct ss_period_iid iid;
};

enum ss_string_role { SS_ROLE_FUNCTION, SS_ROLE_PATH, SS_ROLE_COUNT };

struct ss_definitions {
    struct ss_intern strings;
    struct ss_vec_of(struct ss_frame_definition) frames; /* by ref */
    struct ss_vec_of(struct ss_stack_definition) stacks; /* by ref */
    struct ss_vec_of(struct ss_period_iid) string_iids[SS_ROLE_COUNT];
    struct ss_vec_of(uint32_t) path; /* scratch: frames of one stack, innermost first */
    uint32_t period;
    uint32_t next_string[SS_ROLE_COUNT], next_frame, next_stack;
    uint32_t mappings_defined; /* bit per frame kind */
    /* Definitions of the current unit: the content of InternedData, and our frame payloads. */
    struct ss_wire_buffer interned;
    struct ss_wire_buffer extras;
    /* Writes and empties both buffers. Called between frames when they hold more than `flush_at`
     * bytes: a stack of many long names must not produce an oversized unit. */
    void (*flush)(void *context);
    void *flush_context;
    size_t flush_at;
};

void ss_definitions_init(struct ss_definitions *definitions);
void ss_definitions_fini(struct ss_definitions *definitions);
/* Invalidates all iids: each definition is written again on its next use. */
void ss_definitions_restart(struct ss_definitions *definitions);
size_t ss_definitions_memory(const struct ss_definitions *definitions);
/* True when the period has assigned so many iids that a restart point is required. */
bool ss_definitions_exhausted(const struct ss_definitions *definitions);

enum ss_status ss_definitions_put_frame(struct ss_definitions *definitions,
                                        const struct ss_trace_frame *frame, struct ss_error *err);
enum ss_status ss_definitions_put_stack(struct ss_definitions *definitions,
                                        const struct ss_trace_stack *stack, struct ss_error *err);

/* The callstack iid of a stack; defines what the period lacks. Sets `*cut` when the stack exceeds
 * the depth limit of the format and only its root side is written. 0: no such stack. */
uint32_t ss_definitions_use_stack(struct ss_definitions *definitions, uint32_t ref, bool *cut);

#endif
