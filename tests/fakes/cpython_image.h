/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A made-up CPython process in a buffer: one interpreter, one thread, a few frames, laid out by
 * one of the real tables (3.8 to 3.15). Behind it a memory reader, so that walks can be tested
 * against memory that changes under them or lies.
 */
#ifndef SS_TESTS_CPYTHON_IMAGE_H
#define SS_TESTS_CPYTHON_IMAGE_H

#include <errno.h>
#include <string.h>

#include "base/memory_reader.h"
#include "cpython_published.h"
#include "unwind/cpython_layout.h"
#include "unwind/python.h"

#ifndef IMAGE_BYTES
#define IMAGE_BYTES (1 << 17)
#endif

enum {
    IMAGE_INTERPRETER_BYTES = 8192,
    IMAGE_CHUNK_BYTES = 16384,
    IMAGE_FRAME_BYTES = 128, /* distance of frames on the data stack */
    IMAGE_MAX_FRAMES = 64,
    IMAGE_PTHREAD = 0x7000,
    IMAGE_TID = 4242,
    IMAGE_PID = 4242,
};
#define IMAGE_BASE UINT64_C(0x10000)

struct image {
    struct ss_memory_reader reader; /* first */
    const struct ss_cpython_layout *layout;
    uint8_t *bytes; /* IMAGE_BYTES, the caller's */
    uint64_t used;
    uint64_t runtime, interpreter, tstate, cframe, chunk, code_type;
    uint64_t entry;                    /* from 3.12 on: the outermost frame, which C made; else 0 */
    uint64_t frames[IMAGE_MAX_FRAMES]; /* outermost first */
    size_t frame_count;
    bool is_gone;
    /* Called before each range is copied: `serial` counts the ranges of the reader's life. */
    void (*on_range)(struct image *image, uint64_t serial);
    uint64_t ranges;
    void *context;
};

static inline uint8_t *image_at(struct image *image, uint64_t address)
{
    return image->bytes + (address - IMAGE_BASE);
}

static inline void image_put(struct image *image, uint64_t address, int32_t offset, uint64_t value,
                             size_t size)
{
    if (offset != SS_ABSENT) {
        memcpy(image_at(image, address + (uint64_t)(int64_t)offset), &value, size);
    }
}

static inline void image_put_word(struct image *image, uint64_t address, int32_t offset,
                                  uint64_t value)
{
    image_put(image, address, offset, value, 8);
}

static inline uint64_t image_alloc(struct image *image, uint64_t size)
{
    uint64_t address = IMAGE_BASE + image->used;
    image->used += (size + 15) & ~UINT64_C(15);
    return image->used <= IMAGE_BYTES ? address : 0;
}

static inline int image_read(struct ss_memory_reader *reader, struct ss_memory_range *ranges,
                             size_t count)
{
    struct image *image = (struct image *)reader;
    reader->syscalls++;
    for (size_t i = 0; i < count; i++) {
        struct ss_memory_range *range = &ranges[i];
        if (image->on_range != NULL) {
            image->on_range(image, image->ranges);
        }
        image->ranges++;
        range->got = 0;
        if (image->is_gone) {
            return ESRCH;
        }
        if (range->address >= IMAGE_BASE && range->address < IMAGE_BASE + IMAGE_BYTES) {
            uint64_t there = IMAGE_BASE + IMAGE_BYTES - range->address;
            range->got = range->length < there ? range->length : (size_t)there;
            memcpy(range->buffer, image_at(image, range->address), range->got);
        }
    }
    return 0;
}

static inline uint64_t image_text(struct image *image, const char *text)
{
    const struct ss_cpython_layout *layout = image->layout;
    size_t length = strlen(text);
    uint64_t address = image_alloc(image, (uint64_t)layout->unicode_ascii_data + length + 1);
    uint32_t state = 1U << layout->unicode_kind_shift | 1U << layout->unicode_compact_shift |
                     1U << layout->unicode_ascii_shift;
    image_put_word(image, address, layout->unicode_length, length);
    image_put(image, address, layout->unicode_state, state, 4);
    memcpy(image_at(image, address + (uint64_t)layout->unicode_ascii_data), text, length + 1);
    return address;
}

static inline uint64_t image_bytes(struct image *image, const void *bytes, size_t length)
{
    uint64_t address = image_alloc(image, (uint64_t)image->layout->bytes_data + length + 1);
    image_put_word(image, address, image->layout->var_size, length);
    memcpy(image_at(image, address + (uint64_t)image->layout->bytes_data), bytes, length);
    return address;
}

/* A function of eight instructions, all on its first line but the last four, which are on the
 * next. */
static inline void image_fill_code(struct image *image, uint64_t code, const char *name,
                                   int32_t first_line)
{
    const struct ss_cpython_layout *layout = image->layout;
    static const uint8_t notab[] = {8, 1}, deltas[] = {8, 0, 8, 1},
                         locations[] = {0x80 | 13 << 3 | 3, 0, 0x80 | 13 << 3 | 3, 2};
    uint64_t table = layout->version < 0x030a   ? image_bytes(image, notab, sizeof notab)
                     : layout->version < 0x030b ? image_bytes(image, deltas, sizeof deltas)
                                                : image_bytes(image, locations, sizeof locations);
    uint8_t nothing[16] = {0};
    uint64_t text = image_text(image, name);
    image_put_word(image, code, layout->object_type, image->code_type);
    image_put_word(image, code, layout->code_name, text);
    image_put_word(image, code, layout->code_qualname, text);
    image_put_word(image, code, layout->code_filename, image_text(image, "/tmp/made_up.py"));
    image_put_word(image, code, layout->code_linetable, table);
    image_put(image, code, layout->code_firstlineno, (uint32_t)first_line, 4);
    image_put(image, code, layout->code_framesize, IMAGE_FRAME_BYTES / 8, 4);
    image_put(image, code, layout->code_stacksize,
              IMAGE_FRAME_BYTES / 8 - (uint64_t)layout->frame_locals / 8, 4);
    if (layout->code_bytecode != SS_ABSENT) {
        image_put_word(image, code, layout->var_size, 8);
    } else {
        image_put_word(image, code, layout->code_code, image_bytes(image, nothing, sizeof nothing));
    }
}

static inline uint64_t image_code(struct image *image, const char *name, int32_t first_line)
{
    uint64_t code = image_alloc(image, (uint64_t)image->layout->code_size + 16);
    image_fill_code(image, code, name, first_line);
    return code;
}

/* Writes a frame that executes instruction `unit` (0 to 7). */
static inline void image_fill_frame(struct image *image, uint64_t frame, uint64_t code,
                                    uint64_t previous, unsigned unit)
{
    const struct ss_cpython_layout *layout = image->layout;
    image_put_word(image, frame, layout->frame_code, code);
    image_put_word(image, frame, layout->frame_previous, previous);
    if (layout->frame_instr != SS_ABSENT) {
        image_put_word(image, frame, layout->frame_instr,
                       code + (uint64_t)layout->code_bytecode + unit * 2);
        image_put(image, frame, layout->frame_owner, 0, 1);
        image_put_word(image, frame, layout->frame_stackpointer,
                       frame + (uint64_t)layout->frame_locals + 8);
    } else {
        image_put(image, frame, layout->frame_lasti, layout->version == 0x030a ? unit : unit * 2,
                  4);
        image_put(image, frame, layout->frame_state, (uint64_t)layout->frame_executing, 1);
    }
}

/* From 3.11 on a frame says whether it runs itself or waits for what it called. */
static inline void image_set_running(struct image *image, uint64_t frame, bool is_running)
{
    uint64_t stack = frame + (uint64_t)image->layout->frame_locals + 8;
    image_put(image, frame, image->layout->frame_stacktop, is_running ? UINT32_MAX : 2, 4);
    image_put_word(image, frame, image->layout->frame_stackpointer, is_running ? 0 : stack);
}

/* Ends a frame: from 3.14 on it then has no code. */
static inline void image_end_frame(struct image *image, uint64_t frame)
{
    image_set_running(image, frame, false);
    if (image->layout->frame_stackpointer != SS_ABSENT) {
        image_put_word(image, frame, image->layout->frame_code, 1);
    }
}

/* Makes instruction `unit` of a code object one that returns. */
static inline void image_put_return(struct image *image, uint64_t code, unsigned unit)
{
    image_put(image, code, image->layout->code_bytecode + (int32_t)unit * 2,
              (uint64_t)image->layout->op_return_value, 1);
}

/* Makes `frame` the innermost one (0: none). */
static inline void image_set_leaf(struct image *image, uint64_t frame)
{
    const struct ss_cpython_layout *layout = image->layout;
    image_put_word(image, image->tstate, layout->tstate_frame, frame);
    image_put_word(image, image->tstate, layout->tstate_current_frame, frame);
    if (layout->cframe_current_frame != SS_ABSENT) {
        image_put_word(image, image->cframe, layout->cframe_current_frame, frame);
    }
}

/* From 3.13 on: writes the layout to the start of the runtime, as the interpreter does. */
static inline void image_publish(struct image *image)
{
    uint64_t words[PUBLISHED_WORDS];
    const struct ss_cpython_layout *layout = image->layout;
    if (layout->version >= 0x030d) {
        published_fill(words, layout->version, layout->is_free_threaded);
        memcpy(image_at(image, image->runtime), words,
               (size_t)layout->runtime_interpreters_head < sizeof words
                   ? (size_t)layout->runtime_interpreters_head
                   : sizeof words);
    }
}

/* Calls a function: its frame lies on the data stack or, up to 3.10, where there is room. */
static inline uint64_t image_push(struct image *image, uint64_t code, unsigned unit)
{
    bool on_stack = image->layout->tstate_datastack_chunk != SS_ABSENT;
    uint64_t frame = on_stack ? image->chunk + (uint64_t)image->layout->chunk_data +
                                    image->frame_count * IMAGE_FRAME_BYTES
                              : image_alloc(image, (uint64_t)image->layout->frame_size + 400);
    uint64_t previous =
        image->frame_count > 0 ? image->frames[image->frame_count - 1] : image->entry;
    image_fill_frame(image, frame, code, previous, unit);
    image->frames[image->frame_count++] = frame;
    image_set_leaf(image, frame);
    return frame;
}

static inline void image_build(struct image *image, const struct ss_cpython_layout *layout,
                               uint8_t *bytes)
{
    memset(image, 0, sizeof *image);
    memset(bytes, 0, IMAGE_BYTES);
    image->reader.read = image_read;
    image->reader.pid = IMAGE_PID;
    image->layout = layout;
    image->bytes = bytes;
    image->runtime = image_alloc(image, 2048);
    image->interpreter = image_alloc(
        image, layout->version >= 0x030d ? IMAGE_INTERPRETER_BYTES : IMAGE_INTERPRETER_BYTES / 2);
    image->tstate = image_alloc(image, (uint64_t)layout->tstate_size);
    image->cframe = image->tstate + (uint64_t)layout->tstate_size - 24; /* root_cframe is last */
    image->chunk = image_alloc(image, IMAGE_CHUNK_BYTES);
    image->code_type = image_alloc(image, 512);
    if (layout->version >= 0x030c) { /* the frame that C made, outermost */
        image->entry = image_alloc(image, (uint64_t)layout->frame_size + 16);
        image_put(image, image->entry, layout->frame_owner, 3, 1);
    }
    uint64_t name = image_alloc(image, 16);
    memcpy(image_at(image, name), "code", 5);
    image_put_word(image, image->code_type, layout->type_name, name);
    image_put_word(image, image->runtime, layout->runtime_interpreters_head, image->interpreter);
    image_put_word(image, image->runtime, layout->runtime_interpreters_main, image->interpreter);
    image_put_word(image, image->interpreter, layout->interp_threads_head, image->tstate);
    image_put_word(image, image->tstate, layout->tstate_interp, image->interpreter);
    image_put_word(image, image->tstate, layout->tstate_thread_id, IMAGE_PTHREAD);
    image_put_word(image, image->tstate, layout->tstate_native_thread_id, IMAGE_TID);
    image_put_word(image, image->tstate, layout->tstate_cframe, image->cframe);
    image_put_word(image, image->tstate, layout->tstate_datastack_chunk, image->chunk);
    if (layout->chunk_size != SS_ABSENT) {
        image_put_word(image, image->chunk, layout->chunk_size, IMAGE_CHUNK_BYTES);
    }
}

static inline uint64_t image_word(struct image *image, uint64_t address, int32_t offset)
{
    uint64_t value;
    memcpy(&value, image_at(image, address + (uint64_t)(int64_t)offset), sizeof value);
    return value;
}

/* The code object of the frame that is so many from the innermost one. */
static inline uint64_t image_code_of(struct image *image, size_t from_leaf)
{
    return image_word(image, image->frames[image->frame_count - 1 - from_leaf],
                      image->layout->frame_code);
}

static inline struct ss_python_location image_location(const struct image *image)
{
    return (struct ss_python_location){.runtime_address = image->runtime,
                                       .version_hex = (uint32_t)image->layout->version << 16,
                                       .is_debug = image->layout->is_debug,
                                       .is_free_threaded = image->layout->is_free_threaded};
}

#endif
