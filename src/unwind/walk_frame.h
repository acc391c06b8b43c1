/* SPDX-License-Identifier: Apache-2.0 */
/* A frame decoded from bytes of the target. Used by the files that walk. */
#ifndef SS_UNWIND_WALK_FRAME_H
#define SS_UNWIND_WALK_FRAME_H

#include <string.h>

#include "unwind/python_state.h"

enum {
    SS_WALK_OWNED_BY_C = 3,    /* this owner and above: an entry from C, 3.12 on */
    SS_WALK_CODE_TAG_BITS = 7, /* low bits of a _PyStackRef that are not address bits, 3.14 on */
};

struct ss_walk_frame {
    uint64_t address, code, previous, instruction;
    uint8_t owner;
    bool is_stale;   /* up to 3.10: it does not execute, or no longer */
    bool is_running; /* 3.11 to 3.13: it executes, or C code that it called does; from 3.14 on only
                      * while it executes itself */
    bool is_entry;   /* 3.11: called from C */
};

static inline void ss_walk_decode(const struct ss_cpython_layout *layout, const uint8_t *bytes,
                                  struct ss_walk_frame *frame)
{
    frame->code = ss_word(bytes, layout->frame_code);
    frame->previous = ss_word(bytes, layout->frame_previous);
    if (layout->frame_instr != SS_ABSENT) {
        frame->instruction = ss_word(bytes, layout->frame_instr);
    } else {
        int32_t lasti;
        memcpy(&lasti, bytes + layout->frame_lasti, sizeof lasti);
        frame->instruction = (uint32_t)lasti;
    }
    int32_t stacktop = 0;
    if (layout->frame_stacktop != SS_ABSENT) {
        memcpy(&stacktop, bytes + layout->frame_stacktop, sizeof stacktop);
    }
    frame->owner = layout->frame_owner != SS_ABSENT ? bytes[layout->frame_owner] : 0;
    frame->is_stale = layout->frame_state != SS_ABSENT &&
                      (int8_t)bytes[layout->frame_state] != layout->frame_executing;
    frame->is_running = layout->frame_stackpointer != SS_ABSENT
                            ? ss_word(bytes, layout->frame_stackpointer) == 0
                            : stacktop == -1;
    frame->is_entry = layout->frame_is_entry != SS_ABSENT && bytes[layout->frame_is_entry] != 0;
    if (layout->version >= 0x030e) {
        frame->code &= ~(uint64_t)SS_WALK_CODE_TAG_BITS;
    }
}

static inline bool ss_walk_is_shim(const struct ss_python *python,
                                   const struct ss_walk_frame *frame)
{
    return frame->owner >= SS_WALK_OWNED_BY_C && python->layout.version >= 0x030c;
}

#endif
