/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/python.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "unwind/python_state.h"

enum { CHECK_PER_CALL = 4096, NEWEST_KNOWN_MINOR = 15 };

static int32_t least(int32_t a, int32_t b)
{
    return a == SS_ABSENT || (b != SS_ABSENT && b < a) ? b : a;
}

static int32_t most(int32_t a, int32_t b)
{
    return a > b ? a : b; /* SS_ABSENT is the smallest value */
}

static void set_window(struct ss_python *python)
{
    const struct ss_cpython_layout *layout = &python->layout;
    const int32_t wanted[] = {layout->tstate_thread_id, layout->tstate_cframe,
                              layout->tstate_current_frame, layout->tstate_frame,
                              layout->tstate_datastack_chunk};
    int32_t start = SS_ABSENT, end = SS_ABSENT;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        start = least(start, wanted[i]);
        end = most(end, wanted[i]);
    }
    python->window_start = start;
    python->window_bytes = (uint32_t)(end - start) + 8;
}

static void set_version(struct ss_python *python, uint32_t version_hex)
{
    const struct ss_cpython_layout *layout = &python->layout;
    unsigned level = (version_hex >> 4) & 15;
    char micro[16] = "", suffix[8] = "";
    if ((version_hex >> 16) == layout->version && (version_hex & 0xffff) != 0) {
        snprintf(micro, sizeof micro, ".%u", (version_hex >> 8) & 255);
    }
    if (micro[0] != '\0' && level >= 10 && level < 15) {
        snprintf(suffix, sizeof suffix, "%s%u",
                 level == 10   ? "a"
                 : level == 11 ? "b"
                               : "rc",
                 version_hex & 15);
    }
    snprintf(python->version, sizeof python->version, "%u.%u%s%s%s%s", layout->version >> 8,
             layout->version & 255U, micro, suffix, layout->is_free_threaded ? "t" : "",
             layout->is_debug ? " debug" : "");
}

static void reset_threads(struct ss_python *python)
{
    for (size_t i = 0; i < python->threads.count; i++) {
        ss_python_walk_free(python->threads.data[i]->walk);
        ss_free(python->threads.data[i]);
    }
    ss_vec_clear(&python->threads);
    ss_vec_clear(&python->interpreters);
    python->tid_position = 0;
}

/* Checks that the layout fits the process: every list is consistent and the stack of at least one
 * thread verifies. SS_E_AGAIN: no contradiction, but no thread has frames yet. */
static enum ss_status self_check(struct ss_python *python)
{
    reset_threads(python);
    ss_code_cache_fini(&python->codes);
    ss_code_cache_init(&python->codes, python->reader, &python->layout, python->options.no_lines);
    set_window(python);
    if (ss_python_update_threads(python, true, NULL, NULL, NULL) != SS_OK) {
        return SS_E_AGAIN;
    }
    if (python->threads.count == 0) {
        return python->threads_stale ? SS_E_UNSUPPORTED : SS_E_AGAIN;
    }
    /* The stacks of a call-heavy program may not verify at the first attempt. */
    enum { ROUNDS = 32, THREADS = 64 };
    bool is_empty = true;
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < python->threads.count && i < THREADS; i++) {
            struct ss_python_stack stack;
            enum ss_python_result result =
                ss_python_walk_thread(python, python->threads.data[i], &stack);
            if (result == SS_PYTHON_OK || result == SS_PYTHON_PARTIAL) {
                return SS_OK;
            }
            is_empty &= result == SS_PYTHON_EMPTY;
        }
    }
    return is_empty ? SS_E_AGAIN : SS_E_UNSUPPORTED;
}

/* From 3.13: the interpreter publishes its layout. */
static enum ss_status open_published(struct ss_python *python, const uint8_t *bytes, size_t got,
                                     const struct ss_python_location *location,
                                     struct ss_error *err)
{
    uint32_t version_hex;
    SS_TRY(ss_debug_offsets_parse(bytes, got, &python->layout, &version_hex, err));
    python->layout.is_debug = location->is_debug;
    unsigned minor = (version_hex >> 16) & 255;
    enum ss_status status = self_check(python);
    set_version(python, version_hex);
    if (status == SS_E_UNSUPPORTED) {
        return ss_fail(
            err, status, "CPython %s%s: its stacks could not be verified; %s", python->version,
            minor > NEWEST_KNOWN_MINOR ? " is newer than this stepscope knows" : "",
            minor > NEWEST_KNOWN_MINOR ? "update stepscope" : "the interpreter may be modified");
    }
    if (status == SS_E_AGAIN) {
        return ss_fail(err, status, "the interpreter of process %d is not initialised yet",
                       (int)python->reader->pid);
    }
    return SS_OK;
}

/* Up to 3.12: tries the version's tables, matching is_debug first; each must pass self_check. */
static enum ss_status open_from_tables(struct ss_python *python,
                                       const struct ss_python_location *location,
                                       struct ss_error *err)
{
    uint16_t version = (uint16_t)(location->version_hex >> 16);
    enum ss_status result = SS_E_UNSUPPORTED;
    for (int pass = 0; pass < 2; pass++) {
        for (const struct ss_cpython_layout *table = ss_cpython_layout_next(NULL, version);
             table != NULL; table = ss_cpython_layout_next(table, version)) {
            if (table->version >= 0x030d ||
                (table->is_debug == location->is_debug) != (pass == 0)) {
                continue;
            }
            python->layout = *table;
            enum ss_status status = self_check(python);
            if (status == SS_OK) {
                set_version(python, location->version_hex);
                return SS_OK;
            }
            result = status == SS_E_AGAIN ? status : result;
        }
    }
    if (result == SS_E_AGAIN) {
        return ss_fail(err, result, "the interpreter of process %d is not initialised yet",
                       (int)python->reader->pid);
    }
    if (version != 0) {
        return ss_fail(err, result,
                       "CPython %u.%u: its stacks could not be verified; stepscope reads 3.8 to "
                       "3.%d",
                       version >> 8, version & 255U, NEWEST_KNOWN_MINOR);
    }
    return ss_fail(err, result,
                   "the Python of process %d is of an unknown version; stepscope "
                   "reads CPython 3.8 to 3.%d",
                   (int)python->reader->pid, NEWEST_KNOWN_MINOR);
}

/* Without a published layout, which 3.13 and later always have: while the loader still maps the
 * file, its address has other bytes. */
static enum ss_status open_unpublished(struct ss_python *python,
                                       const struct ss_python_location *location,
                                       struct ss_error *err)
{
    uint16_t version = (uint16_t)(location->version_hex >> 16);
    if (version < 0x030d) {
        return open_from_tables(python, location, err);
    }
    return ss_fail(err, SS_E_AGAIN, "CPython %u.%u of process %d does not publish its layout yet",
                   version >> 8, version & 255U, (int)python->reader->pid);
}

static void copy_options(struct ss_python *python, const struct ss_python_options *options)
{
    if (options != NULL) {
        size_t known = options->size < sizeof *options ? options->size : sizeof *options;
        memcpy(&python->options, options, known);
    }
}

enum ss_status ss_python_open(struct ss_memory_reader *reader,
                              const struct ss_python_location *location,
                              const struct ss_python_options *options, struct ss_python **result,
                              struct ss_error *err)
{
    uint8_t bytes[SS_DEBUG_OFFSETS_BYTES];
    struct ss_memory_range range = {location->runtime_address, bytes, sizeof bytes, 0};
    int error = reader->read(reader, &range, 1);
    if (error != 0) {
        return ss_fail_errno(err, error, "cannot read process %d", (int)reader->pid);
    }
    if (range.got < 8) {
        return ss_fail(err, SS_E_AGAIN, "the interpreter of process %d is not mapped yet",
                       (int)reader->pid);
    }
    struct ss_python *python = ss_alloc_zero(1, sizeof *python);
    copy_options(python, options);
    python->reader = reader;
    python->runtime = location->runtime_address;
    python->scratch = ss_walk_scratch_new(NULL);
    python->frames = ss_alloc_zero(SS_PYTHON_MAX_DEPTH, sizeof *python->frames);
    ss_code_cache_init(&python->codes, reader, &python->layout, python->options.no_lines);
    enum ss_status status = ss_debug_offsets_present(bytes, range.got)
                                ? open_published(python, bytes, range.got, location, err)
                                : open_unpublished(python, location, err);
    if (status != SS_OK) {
        ss_python_close(python);
        return status;
    }
    *result = python;
    return SS_OK;
}

void ss_python_close(struct ss_python *python)
{
    if (python == NULL) {
        return;
    }
    reset_threads(python);
    ss_vec_fini(&python->threads);
    ss_vec_fini(&python->interpreters);
    ss_code_cache_fini(&python->codes);
    ss_walk_batch_free(python->batch);
    ss_walk_scratch_free(python->scratch);
    ss_free(python->frames);
    ss_free(python);
}

const char *ss_python_version(const struct ss_python *python)
{
    return python->version;
}

uint32_t ss_python_frame_count(const struct ss_python *python)
{
    return (uint32_t)python->codes.frames.count;
}

void ss_python_frame_get(const struct ss_python *python, uint32_t id, struct ss_python_frame *frame)
{
    memset(frame, 0, sizeof *frame);
    if (id == 0 || id > python->codes.frames.count) {
        return;
    }
    const struct ss_code_frame *known = &python->codes.frames.data[id - 1];
    const struct ss_code *code = &python->codes.codes.data[known->code];
    frame->function = ss_intern_get(&python->codes.texts, code->function);
    frame->name = ss_intern_get(&python->codes.texts, code->name);
    frame->file = ss_intern_get(&python->codes.texts, code->file);
    frame->line = known->line;
    frame->first_line = code->first_line;
}

bool ss_python_check_frames(struct ss_python *python, const uint32_t *frames, size_t count,
                            bool *replaced)
{
    uint32_t dropped;
    bool is_readable = ss_code_cache_check_frames(&python->codes, frames, count, &dropped);
    *replaced = dropped > 0;
    return is_readable;
}

uint64_t ss_python_loads(const struct ss_python *python)
{
    return python->codes.loads;
}

bool ss_python_frame_is_replaced(const struct ss_python *python, uint32_t id)
{
    return ss_code_frame_is_dead(&python->codes, id);
}

uint32_t ss_python_frame_unknown(struct ss_python *python)
{
    return ss_code_mark(&python->codes, ss_strview_of("<unknown: its code was replaced>"));
}

bool ss_python_check_cache(struct ss_python *python)
{
    return ss_code_cache_check(&python->codes, CHECK_PER_CALL) > 0;
}

size_t ss_python_memory_bytes(const struct ss_python *python)
{
    return sizeof *python + ss_code_cache_bytes(&python->codes) +
           ss_walk_scratch_bytes(python->scratch) + ss_walk_batch_bytes(python->batch) +
           SS_PYTHON_MAX_DEPTH * sizeof *python->frames +
           python->threads.count * sizeof(struct ss_python_thread);
}
