/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of the target's code objects, by address, and of the frames derived from them.
 *
 * A code object is read once; afterwards (code address, instruction) → frame id is one probe of a
 * hash table. Addresses are reused: each entry has a fingerprint of pointers that is re-checked in
 * batches, and a changed entry is dropped (its frame ids stay valid and are never reused). Owned by
 * one ss_python.
 */
#ifndef SS_UNWIND_CPYTHON_CODE_H
#define SS_UNWIND_CPYTHON_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/intern.h"
#include "base/memory_reader.h"
#include "base/vec.h"
#include "unwind/code_fingerprint.h"
#include "unwind/cpython_layout.h"
#include "unwind/cpython_lines.h"

enum {
    SS_FRAME_NONE = 0,          /* no frame: the code object or the instruction is invalid */
    SS_FRAME_SHIM = UINT32_MAX, /* an internal entry frame of the interpreter */
};

struct ss_code {
    uint64_t address;
    struct ss_code_fingerprint fingerprint;
    uint64_t bytecode;             /* address of the first instruction; 0 up to 3.10 */
    uint32_t bytecode_bytes;       /* UINT32_MAX: unknown */
    uint32_t function, name, file; /* interned */
    int32_t first_line;
    bool is_shim;
    bool is_dead;         /* the address was reused, or there is none: ss_code_mark */
    uint32_t round;       /* of the last ss_code_cache_check_frames with it */
    uint32_t doubts;      /* number of instructions outside the bytecode */
    uint32_t frame_bytes; /* of its frames on the data stack; 0 unknown */
    bool is_generator;    /* or a coroutine; known up to 3.10 */
    struct ss_line_entry *lines;
    uint32_t line_count;
};

struct ss_code_frame {
    uint32_t code; /* index */
    int32_t line;
};

/* Whether an instruction ends its frame. */
enum ss_code_end { SS_CODE_END_UNKNOWN, SS_CODE_ENDS, SS_CODE_GOES_ON };

struct ss_code_lookup {
    uint64_t code, instruction;
    uint32_t frame;
    uint8_t end; /* enum ss_code_end */
};

struct ss_code_cache {
    struct ss_memory_reader *reader;        /* borrowed */
    const struct ss_cpython_layout *layout; /* borrowed */
    struct ss_intern texts;
    struct ss_vec_of(struct ss_code) codes;
    struct ss_vec_of(struct ss_code_frame) frames; /* by id - 1 */
    struct ss_code_lookup *lookups;                /* open addressing; code 0 = free */
    uint32_t lookup_count, lookup_slots;
    uint32_t *by_address; /* open addressing; index + 1 */
    uint32_t by_address_slots;
    uint32_t *by_line; /* (code, line) → frame id; 0 = free */
    uint32_t by_line_slots;
    uint64_t code_type;  /* address of PyCode_Type; 0 until known */
    uint32_t check_next; /* where the next ss_code_cache_check continues */
    uint32_t round;
    uint64_t loads;                     /* code objects read so far */
    struct ss_vec_of(uint32_t) marks;   /* ids of ss_code_mark */
    struct ss_vec_of(uint32_t) checked; /* indices of the codes that are checked now */
    bool no_lines;
    size_t line_bytes;
};

void ss_code_cache_init(struct ss_code_cache *cache, struct ss_memory_reader *reader,
                        const struct ss_cpython_layout *layout, bool no_lines);
void ss_code_cache_fini(struct ss_code_cache *cache);

/* The id of the frame that executes `instruction` (an address from 3.11, f_lasti before) of the
 * code object at `code`. SS_FRAME_NONE: either is invalid. SS_FRAME_SHIM: internal code. */
uint32_t ss_code_frame_slow(struct ss_code_cache *cache, uint64_t code, uint64_t instruction);

static inline uint32_t ss_code_lookup_hash(uint64_t code, uint64_t instruction)
{
    uint64_t key = (code >> 4) * UINT64_C(0x9e3779b97f4a7c15) ^
                   (instruction >> 1) * UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(key >> 32);
}

static inline uint32_t ss_code_frame(struct ss_code_cache *cache, uint64_t code,
                                     uint64_t instruction)
{
    uint32_t mask = cache->lookup_slots - 1;
    for (uint32_t slot = ss_code_lookup_hash(code, instruction) & mask;; slot = (slot + 1) & mask) {
        const struct ss_code_lookup *entry = &cache->lookups[slot];
        if (entry->code == code && entry->instruction == instruction && code != 0) {
            return entry->frame;
        }
        if (entry->code == 0) {
            return ss_code_frame_slow(cache, code, instruction);
        }
    }
}

/* The id of a frame of no code object, whose function is `text`: it stands for what is not known.
 */
uint32_t ss_code_mark(struct ss_code_cache *cache, struct ss_strview text);

/* true: the instruction, which ss_code_frame has accepted, is a return. */
bool ss_code_is_return(struct ss_code_cache *cache, uint64_t code, uint64_t instruction);

/* How large a frame of this code is on the data stack: the frame that it calls follows it. 0:
 * unknown, and up to 3.10. */
uint32_t ss_code_frame_bytes(const struct ss_code_cache *cache, uint64_t code);
/* Whether its frames belong to generators or coroutines; false from 3.11 on. */
bool ss_code_is_generator(const struct ss_code_cache *cache, uint64_t code);

/* Re-reads the fingerprints of up to `maximum` code objects and drops changed ones. Returns the
 * number dropped. */
uint32_t ss_code_cache_check(struct ss_code_cache *cache, uint32_t maximum);

/* The same for the code objects of these frames: after it, each of them that is not dead was the
 * same since it was loaded or last checked. false: the target cannot be read. */
bool ss_code_cache_check_frames(struct ss_code_cache *cache, const uint32_t *frames, size_t count,
                                uint32_t *dropped);
/* true: the code object of the frame has been replaced, or may have been since its last check. */
static inline bool ss_code_frame_is_dead(const struct ss_code_cache *cache, uint32_t frame)
{
    const struct ss_code *code = &cache->codes.data[cache->frames.data[frame - 1].code];
    return code->is_dead && code->address != 0;
}

size_t ss_code_cache_bytes(const struct ss_code_cache *cache);

#endif
