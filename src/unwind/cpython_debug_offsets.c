/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `_Py_DebugOffsets`: the offsets that CPython publishes from 3.13 at the start of `_PyRuntime`.
 * The struct is a sequence of 64-bit words after an 8-byte cookie. Minor versions insert words, so
 * each minor has a table of word indices.
 */
#include <string.h>

#include "unwind/cpython_layout.h"

enum { VERSION_WORD = 1, FREE_THREADED_WORD = 2, MAX_OFFSET = 4 << 20, MAX_SIZE = 16 << 20 };

/* Maps a word of the struct to a field of the layout. */
struct word {
    uint16_t index;
    uint16_t field; /* offset in struct ss_cpython_layout */
};
#define WORD(index, name)                                                                          \
    {                                                                                              \
        index, offsetof(struct ss_cpython_layout, name)                                            \
    }

static const struct word words_3_13[] = {
    WORD(3, runtime_size),
    WORD(5, runtime_interpreters_head),
    WORD(6, interp_size),
    WORD(7, interp_id),
    WORD(8, interp_next),
    WORD(9, interp_threads_head),
    WORD(11, interp_modules),
    WORD(14, interp_gil),
    WORD(19, tstate_size),
    WORD(21, tstate_next),
    WORD(22, tstate_interp),
    WORD(23, tstate_current_frame),
    WORD(24, tstate_thread_id),
    WORD(25, tstate_native_thread_id),
    WORD(26, tstate_datastack_chunk),
    WORD(29, frame_previous),
    WORD(30, frame_code),
    WORD(31, frame_instr),
    WORD(32, frame_locals),
    WORD(33, frame_owner),
    WORD(34, code_size),
    WORD(35, code_filename),
    WORD(36, code_name),
    WORD(37, code_qualname),
    WORD(38, code_linetable),
    WORD(39, code_firstlineno),
    WORD(43, code_bytecode),
    WORD(45, object_type),
    WORD(47, type_name),
    WORD(49, type_flags),
    WORD(57, dict_keys),
    WORD(58, dict_values),
    WORD(62, long_tag),
    WORD(63, long_digits),
    WORD(65, var_size),
    WORD(66, bytes_data),
    WORD(68, unicode_state),
    WORD(69, unicode_length),
    WORD(70, unicode_ascii_data),
};

static const struct word words_3_14[] = {
    WORD(3, runtime_size),
    WORD(5, runtime_interpreters_head),
    WORD(6, interp_size),
    WORD(7, interp_id),
    WORD(8, interp_next),
    WORD(9, interp_threads_head),
    WORD(12, interp_modules),
    WORD(15, interp_gil),
    WORD(22, tstate_size),
    WORD(24, tstate_next),
    WORD(25, tstate_interp),
    WORD(26, tstate_current_frame),
    WORD(27, tstate_thread_id),
    WORD(28, tstate_native_thread_id),
    WORD(29, tstate_datastack_chunk),
    WORD(32, frame_previous),
    WORD(33, frame_code),
    WORD(34, frame_instr),
    WORD(35, frame_locals),
    WORD(36, frame_owner),
    WORD(37, frame_stackpointer),
    WORD(39, code_size),
    WORD(40, code_filename),
    WORD(41, code_name),
    WORD(42, code_qualname),
    WORD(43, code_linetable),
    WORD(44, code_firstlineno),
    WORD(48, code_bytecode),
    WORD(49, code_tlbc),
    WORD(51, object_type),
    WORD(53, type_name),
    WORD(55, type_flags),
    WORD(67, dict_keys),
    WORD(68, dict_values),
    WORD(72, long_tag),
    WORD(73, long_digits),
    WORD(75, var_size),
    WORD(76, bytes_data),
    WORD(78, unicode_state),
    WORD(79, unicode_length),
    WORD(80, unicode_ascii_data),
};

static const struct word words_3_15[] = {
    WORD(3, runtime_size),
    WORD(5, runtime_interpreters_head),
    WORD(6, interp_size),
    WORD(7, interp_id),
    WORD(8, interp_next),
    WORD(9, interp_threads_head),
    WORD(12, interp_modules),
    WORD(15, interp_gil),
    WORD(22, tstate_size),
    WORD(24, tstate_next),
    WORD(25, tstate_interp),
    WORD(26, tstate_current_frame),
    WORD(30, tstate_thread_id),
    WORD(31, tstate_native_thread_id),
    WORD(32, tstate_datastack_chunk),
    WORD(40, frame_previous),
    WORD(41, frame_code),
    WORD(42, frame_instr),
    WORD(43, frame_locals),
    WORD(44, frame_owner),
    WORD(45, frame_stackpointer),
    WORD(47, code_size),
    WORD(48, code_filename),
    WORD(49, code_name),
    WORD(50, code_qualname),
    WORD(51, code_linetable),
    WORD(52, code_firstlineno),
    WORD(56, code_bytecode),
    WORD(57, code_tlbc),
    WORD(59, object_type),
    WORD(61, type_name),
    WORD(63, type_flags),
    WORD(79, dict_keys),
    WORD(80, dict_values),
    WORD(84, long_tag),
    WORD(85, long_digits),
    WORD(87, var_size),
    WORD(88, bytes_data),
    WORD(90, unicode_state),
    WORD(91, unicode_length),
    WORD(92, unicode_ascii_data),
};

/* A minor newer than the last row is tried with the last row. */
static const struct shape {
    uint16_t version;
    uint16_t count;
    const struct word *words;
} shapes[] = {
    {0x030d, sizeof words_3_13 / sizeof words_3_13[0], words_3_13},
    {0x030e, sizeof words_3_14 / sizeof words_3_14[0], words_3_14},
    {0x030f, sizeof words_3_15 / sizeof words_3_15[0], words_3_15},
};

static uint64_t word_at(const void *bytes, size_t index)
{
    uint64_t value;
    memcpy(&value, (const char *)bytes + index * sizeof value, sizeof value);
    return value;
}

bool ss_debug_offsets_present(const void *bytes, size_t length)
{
    return length >= 3 * sizeof(uint64_t) && memcmp(bytes, "xdebugpy", 8) == 0;
}

/* Derives unpublished fields from published ones: their distance is the same in every version so
 * far. */
static void derive(struct ss_cpython_layout *layout)
{
    layout->runtime_interpreters_main = layout->runtime_interpreters_head + 8;
    layout->tstate_datastack_top = layout->tstate_datastack_chunk + 8;
    layout->frame_size = layout->frame_owner + 1;
    if (layout->frame_stacktop != SS_ABSENT) {
        layout->frame_stacktop = layout->frame_instr + 8;
    }
    if (layout->code_framesize != SS_ABSENT) {
        layout->code_framesize = layout->code_firstlineno + 8;
    }
    layout->unicode_compact_data = layout->unicode_ascii_data + 16;
    if (!layout->is_free_threaded) {
        layout->code_tlbc = SS_ABSENT;
    }
}

/* The readers copy these structures into fixed-size buffers: all offsets must lie inside. */
static bool is_sane(const struct ss_cpython_layout *layout)
{
    const int32_t in_tstate[] = {layout->tstate_next,          layout->tstate_interp,
                                 layout->tstate_thread_id,     layout->tstate_native_thread_id,
                                 layout->tstate_current_frame, layout->tstate_datastack_chunk + 8};
    const int32_t in_code[] = {
        layout->code_filename,    layout->code_name, layout->code_qualname, layout->code_linetable,
        layout->code_firstlineno, layout->var_size,  layout->object_type,   layout->code_tlbc};
    for (size_t i = 0; i < sizeof in_tstate / sizeof in_tstate[0]; i++) {
        if (in_tstate[i] + 8 > layout->tstate_size) {
            return false;
        }
    }
    for (size_t i = 0; i < sizeof in_code / sizeof in_code[0]; i++) {
        if (in_code[i] + 8 > layout->code_size) {
            return false;
        }
    }
    return layout->tstate_size <= SS_TSTATE_MAX_BYTES && layout->code_size <= SS_CODE_MAX_BYTES &&
           layout->code_bytecode <= layout->code_size &&
           layout->interp_threads_head < layout->interp_size &&
           layout->frame_owner < layout->frame_locals &&
           layout->frame_code + 8 <= layout->frame_owner &&
           layout->frame_previous + 8 <= layout->frame_owner &&
           layout->frame_instr + 8 <= layout->frame_owner &&
           layout->frame_stacktop + 4 <= layout->frame_owner &&
           layout->frame_stackpointer + 8 <= layout->frame_owner &&
           layout->frame_locals <= SS_FRAME_MAX_BYTES && layout->bytes_data <= 128 &&
           layout->var_size + 8 <= layout->bytes_data && layout->unicode_ascii_data <= 128 &&
           layout->unicode_length + 8 <= layout->unicode_ascii_data &&
           layout->unicode_state + 4 <= layout->unicode_ascii_data;
}

/* The shape of a version, or of the newest one before it; NULL: there is none. */
static const struct shape *shape_of(uint16_t version)
{
    const struct shape *shape = NULL;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        if (shapes[i].version <= version) {
            shape = &shapes[i];
        }
    }
    return shape;
}

enum ss_status ss_debug_offsets_parse(const void *bytes, size_t length,
                                      struct ss_cpython_layout *layout, uint32_t *version_hex,
                                      struct ss_error *err)
{
    if (!ss_debug_offsets_present(bytes, length)) {
        return ss_fail(err, SS_E_UNSUPPORTED, "the interpreter does not publish its layout");
    }
    *version_hex = (uint32_t)word_at(bytes, VERSION_WORD);
    uint16_t version = (uint16_t)(*version_hex >> 16);
    bool is_free_threaded = word_at(bytes, FREE_THREADED_WORD) == 1;
    const struct shape *shape = shape_of(version);
    if (shape == NULL) {
        return ss_fail(err, SS_E_UNSUPPORTED, "CPython 3.%u publishes a layout of unknown shape",
                       version & 0xffU);
    }
    *layout = *ss_cpython_layout_get(shape->version, false, is_free_threaded);
    layout->version = version;
    for (size_t i = 0; i < shape->count; i++) {
        size_t index = shape->words[i].index;
        uint64_t value = (index + 1) * 8 <= length ? word_at(bytes, index) : UINT64_MAX;
        if (value > MAX_OFFSET) {
            return ss_fail(err, SS_E_UNSUPPORTED,
                           "CPython 3.%u publishes a layout of unknown shape (word %zu)",
                           version & 0xffU, index);
        }
        int32_t offset = (int32_t)value;
        memcpy((char *)layout + shape->words[i].field, &offset, sizeof offset);
    }
    derive(layout);
    if (!is_sane(layout)) {
        return ss_fail(err, SS_E_UNSUPPORTED,
                       "CPython 3.%u publishes a layout that this stepscope does not know",
                       version & 0xffU);
    }
    return SS_OK;
}
