/* SPDX-License-Identifier: Apache-2.0 */
/* What a walk predicts for the next one, from the chain that it followed. */
#include <string.h>

#include "unwind/walk_plan.h"

enum {
    MAX_CHUNK_BYTES = 16 << 20,
    MAX_CHUNKS = 512,
    TOP_EXTERNALS = 6,    /* maximum of externals that are read several times */
    SPARE_EXTERNALS = 16, /* cached although the last chain did not contain them */
    MEMORY_WALKS = 128,   /* walks for which a high-water mark or spare external is cached */
};

void ss_walk_remember_cframe(struct ss_python_walk *walk, uint64_t cframe)
{
    uint32_t position = 0;
    while (position < walk->cframe_count && walk->cframes[position] != cframe) {
        position++;
    }
    if (position == walk->cframe_count) {
        if (walk->cframe_count < SS_WALK_MAX_CFRAMES) {
            walk->cframe_count++;
        } else {
            position--;
        }
    }
    memmove(walk->cframes + 1, walk->cframes, position * sizeof walk->cframes[0]);
    walk->cframes[0] = cframe;
}

bool ss_walk_in_current_chunk(const struct ss_python_walk *walk, uint64_t address)
{
    return walk->chunks.count > 0 && address >= walk->chunks.data[0].address &&
           address < walk->chunks.data[0].used_end;
}

void ss_walk_note_frame(const struct ss_python_walk *walk, uint64_t address,
                        struct ss_walk_observation *observation)
{
    bool on_stack = ss_walk_in_current_chunk(walk, address);
    observation->externals += !on_stack;
    if (on_stack && observation->highest == 0) {
        observation->highest = address;
    }
    observation->is_beyond_top |= (on_stack && address + walk->top_bytes < observation->highest) ||
                                  observation->externals > TOP_EXTERNALS;
    if (!observation->is_beyond_top) {
        observation->anchor = address;
        observation->top_externals = observation->externals;
        observation->lowest = on_stack ? address : observation->lowest;
    }
    if (address == walk->anchor) {
        observation->is_anchor_reached = true;
        observation->anchor_externals = observation->externals;
    }
}

bool ss_walk_is_in_chunks(const struct ss_python_walk *walk, uint64_t address)
{
    for (size_t i = 0; i < walk->chunks.count; i++) {
        if (address >= walk->chunks.data[i].address && address < walk->chunks.data[i].used_end) {
            return true;
        }
    }
    return false;
}

/* Reads the header of a chunk: *previous, and where its frames end. false: no chunk. */
static bool read_chunk(const struct ss_python *python, uint64_t address, bool is_newest,
                       struct ss_walk_chunk *chunk, uint64_t *previous)
{
    const struct ss_cpython_layout *layout = &python->layout;
    uint8_t header[24]; /* previous, size in bytes, top in words */
    if (!ss_memory_read(python->reader, address, header, sizeof header)) {
        return false;
    }
    uint64_t size = ss_word(header, layout->chunk_size);
    uint64_t top = ss_word(header, layout->chunk_size + 8);
    if (size < (uint64_t)layout->chunk_data || size > MAX_CHUNK_BYTES) {
        return false;
    }
    /* CPython writes `top` when it starts a newer chunk: the newest chunk has none yet. */
    uint64_t used = size;
    if (!is_newest && top < size / 8) {
        used = (uint64_t)layout->chunk_data + top * 8;
        used = used < size ? used : size;
    }
    *chunk = (struct ss_walk_chunk){address, address + used};
    *previous = ss_word(header, layout->chunk_previous);
    return true;
}

/* Walks the list of chunks: their addresses and used sizes. The first frame of a chunk links it to
 * the one before, which cannot change as long as that frame is there. */
static void update_chunks(struct ss_python *python, struct ss_python_walk *walk, uint64_t newest)
{
    ss_vec_clear(&walk->chunks);
    for (uint64_t address = newest; address != 0 && walk->chunks.count < MAX_CHUNKS;) {
        struct ss_walk_chunk chunk;
        if (!read_chunk(python, address, walk->chunks.count == 0, &chunk, &address)) {
            break;
        }
        ss_vec_push(&walk->chunks, chunk);
    }
    walk->anchor = walk->chunks.count > 1
                       ? walk->chunks.data[0].address + (uint64_t)python->layout.chunk_data
                       : 0;
    walk->high_water = walk->next_high_water = 0;
    walk->top_start = walk->anchor;
    walk->top_externals = 0;
    walk->spans_known = false;
}

static void note_high_water(const struct ss_python *python, struct ss_python_walk *walk,
                            uint64_t address)
{
    uint64_t end = address + (uint64_t)python->layout.frame_size;
    walk->high_water = end > walk->high_water ? end : walk->high_water;
    walk->next_high_water = end > walk->next_high_water ? end : walk->next_high_water;
}

static void learn_stack(struct ss_python *python, struct ss_python_walk *walk,
                        const uint8_t *window, const struct ss_walk_observation *observation)
{
    const struct ss_walk_scratch *scratch = python->scratch;
    uint64_t chunk = ss_word(window, python->layout.tstate_datastack_chunk - python->window_start);
    bool is_missing = walk->chunks.count == 0 || chunk != walk->chunks.data[0].address;
    for (size_t i = 0; i < scratch->missed.count && !is_missing; i++) {
        is_missing = !ss_walk_is_in_chunks(walk, scratch->missed.data[i]);
    }
    if (is_missing) {
        update_chunks(python, walk, chunk);
    }
    for (size_t i = 0; i < scratch->missed.count; i++) {
        if (ss_walk_in_current_chunk(walk, scratch->missed.data[i])) {
            note_high_water(python, walk, scratch->missed.data[i]);
        }
    }
    if (ss_walk_in_current_chunk(walk, observation->highest)) {
        note_high_water(python, walk, observation->highest);
    }
    if (walk->number % MEMORY_WALKS == 0) {
        walk->high_water = walk->next_high_water;
        walk->next_high_water = 0;
    }
}

static bool is_same_chain(const struct ss_walk_scratch *scratch, const struct ss_python_walk *walk)
{
    if (scratch->missed.count > 0 || scratch->chain.count > walk->externals.count) {
        return false;
    }
    for (size_t i = 0; i < scratch->chain.count; i++) {
        if (scratch->chain.data[i].address != walk->externals.data[i].address) {
            return false;
        }
    }
    return true;
}

/* Stores the chain's externals, in its order, then some recent other ones. */
static void learn_externals(struct ss_python *python, struct ss_python_walk *walk)
{
    struct ss_walk_scratch *scratch = python->scratch;
    size_t chain_count = 0;
    if (is_same_chain(scratch, walk)) {
        for (size_t i = 0; i < scratch->chain.count; i++) {
            walk->externals.data[i] = scratch->chain.data[i];
            walk->externals.data[i].last_walk = walk->number;
        }
        return;
    }
    for (size_t i = 0; i < scratch->chain.count; i++) {
        /* A frame outside all ranges may turn out to be in a chunk. */
        if (scratch->missed.count == 0 ||
            !ss_walk_is_in_chunks(walk, scratch->chain.data[i].address)) {
            scratch->chain.data[chain_count] = scratch->chain.data[i];
            scratch->chain.data[chain_count++].last_walk = walk->number;
        }
    }
    scratch->chain.count = chain_count;
    size_t spare = 0;
    for (size_t i = 0; i < walk->externals.count && spare < SPARE_EXTERNALS; i++) {
        const struct ss_walk_external *old = &walk->externals.data[i];
        bool is_useless = walk->number - old->last_walk > MEMORY_WALKS;
        for (size_t k = 0; k < chain_count && !is_useless; k++) {
            is_useless = scratch->chain.data[k].address == old->address;
        }
        if (!is_useless) {
            ss_vec_push(&scratch->chain, *old);
            spare++;
        }
    }
    walk->spans_known = false;
    ss_vec_resize(&walk->externals, scratch->chain.count);
    if (scratch->chain.count > 0) {
        memcpy(walk->externals.data, scratch->chain.data,
               scratch->chain.count * sizeof *scratch->chain.data);
    }
}

/* The anchor stays as long as it fits: it links the rest to the top, and outer frames rarely
 * change. */
static void learn_anchor(struct ss_python_walk *walk, const struct ss_walk_observation *observation)
{
    size_t before = walk->top_externals;
    bool fits = observation->is_anchor_reached && observation->anchor_externals <= TOP_EXTERNALS &&
                observation->highest > walk->top_start + walk->top_bytes / 2 &&
                observation->highest < walk->top_start + 2 * walk->top_bytes;
    if (fits) {
        walk->top_externals = observation->anchor_externals;
    } else {
        walk->anchor = observation->anchor;
        walk->top_start = observation->lowest;
        walk->top_externals = observation->top_externals;
    }
    if (walk->top_externals > walk->externals.count) {
        walk->top_externals = walk->externals.count;
    }
    walk->spans_known &= walk->top_externals == before;
}

void ss_walk_learn(struct ss_python *python, struct ss_python_walk *walk, const uint8_t *window,
                   const struct ss_walk_observation *observation)
{
    if (ss_walk_has_datastack(python)) {
        learn_stack(python, walk, window, observation);
    }
    if (!observation->is_torn) {
        learn_externals(python, walk);
        learn_anchor(walk, observation);
    }
}
