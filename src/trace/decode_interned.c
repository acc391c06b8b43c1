/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/decode_step.h"
#include "trace/event_fields.h"
#include "trace/wire_records.h"
#include "wire/perfetto.h"

static enum ss_outcome put_string(struct ss_step *step, struct ss_wire_cursor body,
                                  struct ss_id_map *map)
{
    uint64_t iid;
    struct ss_strview text;
    SS_STEP_TRY(ss_step_interned(step, body, &iid, &text));
    uint32_t string = ss_intern_put(&step->decoder->tables.strings, text.data, text.length);
    return ss_id_map_put(map, iid, string + 1)
               ? SS_STEP_GOOD
               : ss_step_malformed(step, "an interning id is too large");
}

/* Frame payloads are in the order of the frames: the next one belongs to this frame. */
static enum ss_outcome next_rest(struct ss_step *step, struct ss_wire_cursor *extras,
                                 struct ss_trace_frame_rest *rest)
{
    *rest = (struct ss_trace_frame_rest){0};
    struct ss_wire_field field;
    SS_EACH_FIELD(step, *extras, field)
    {
        if (field.number == SS_PAYLOAD_frame_rest && field.type == SS_WIRE_BYTES) {
            return ss_schema_read(SS_SCHEMA_frame_rest, field.body, rest, NULL)
                       ? SS_STEP_GOOD
                       : ss_step_malformed(step, "a message is cut or not protocol-buffer data");
        }
    }
    return SS_STEP_GOOD;
}

static int32_t to_line(uint64_t value)
{
    return value <= INT32_MAX ? (int32_t)value : 0;
}

static void apply_rest(struct ss_intern *strings, const struct ss_trace_frame_rest *rest,
                       struct ss_frame_row *row)
{
    struct ss_strview function = ss_intern_get(strings, row->function);
    struct ss_strview file = ss_intern_get(strings, row->file);
    row->name = row->function;
    if (rest->has_name) {
        row->name = ss_intern_put(strings, rest->name.data, rest->name.length);
    } else if (rest->name_tail > 0 && rest->name_tail < function.length) {
        row->name = ss_intern_put(strings, function.data + function.length - rest->name_tail,
                                  rest->name_tail);
    }
    row->is_installed = rest->has_is_installed && rest->is_installed;
    row->short_file_offset = rest->short_file_offset <= file.length ? rest->short_file_offset : 0;
    if (rest->has_above_line && rest->above_line > -INT32_MAX && rest->above_line < INT32_MAX) {
        row->first_line = to_line((uint64_t)((int64_t)row->line - rest->above_line));
    }
}

static enum ss_outcome emit_frame(struct ss_step *step, uint32_t ref)
{
    const struct ss_tables *tables = &step->decoder->tables;
    const struct ss_frame_row *row = &tables->frames.data[ref];
    struct ss_trace_frame frame = {.ref = ref,
                                   .function = ss_intern_get(&tables->strings, row->function),
                                   .name = ss_intern_get(&tables->strings, row->name),
                                   .file = ss_intern_get(&tables->strings, row->file),
                                   .short_file_offset = row->short_file_offset,
                                   .line = row->line,
                                   .first_line = row->first_line,
                                   .kind = (enum ss_frame_kind)row->kind,
                                   .is_installed = row->is_installed};
    SS_STEP_EMIT(step, frame, &frame);
    return SS_STEP_GOOD;
}

/* Long: one case for each field, then the row that they make. */
static enum ss_outcome put_frame(struct ss_step *step, struct ss_wire_cursor body,
                                 struct ss_wire_cursor *extras)
{
    struct ss_decoder *decoder = step->decoder;
    struct ss_frame_row row = {0};
    uint64_t iid = 0, function_iid = 0, path_iid = 0;
    struct ss_wire_field field;
    SS_EACH_FIELD(step, body, field)
    {
        switch (field.number) {
        case SS_PF_IID:
            iid = field.value;
            break;
        case SS_PF_FRAME_FUNCTION:
            function_iid = field.value;
            break;
        case SS_PF_FRAME_SOURCE_PATH:
            path_iid = field.value;
            break;
        case SS_PF_FRAME_LINE:
            row.line = to_line(field.value);
            break;
        case SS_PF_FRAME_KIND:
            row.kind = field.value <= SS_FRAME_GC ? (uint32_t)field.value : SS_FRAME_UNKNOWN;
            break;
        default:
            break;
        }
    }
    struct ss_trace_frame_rest rest;
    SS_STEP_TRY(next_rest(step, extras, &rest));
    uint32_t function = ss_id_map_get(&decoder->functions, function_iid);
    uint32_t path = ss_id_map_get(&decoder->paths, path_iid);
    if (function == 0 || path == 0) {
        return SS_STEP_GOOD; /* lost with a damaged unit; samples that use it count as lost */
    }
    row.function = function - 1;
    row.file = path - 1;
    apply_rest(&decoder->tables.strings, &rest, &row);
    bool is_new;
    uint32_t ref = ss_tables_put_frame(&decoder->tables, &row, &is_new);
    if (!ss_id_map_put(&decoder->frames, iid, ref)) {
        return ss_step_malformed(step, "an interning id is too large");
    }
    return is_new ? emit_frame(step, ref) : SS_STEP_GOOD;
}

/* Appends the frame iids of a Callstack field, single or packed. */
static enum ss_outcome push_frame_iids(struct ss_step *step, const struct ss_wire_field *field)
{
    struct ss_decoder *decoder = step->decoder;
    struct ss_wire_cursor packed = field->body;
    bool is_packed = field->type == SS_WIRE_BYTES;
    while (!is_packed || packed.at < packed.end) {
        uint64_t iid = field->value;
        if (is_packed && !ss_wire_get_varint(&packed, &iid)) {
            return ss_step_malformed(step, "a callstack is cut");
        }
        if (decoder->scratch.count >= SS_MAX_STACK_DEPTH) {
            return ss_step_malformed(step, "a callstack is too deep");
        }
        ss_vec_push(&decoder->scratch, ss_id_map_get(&decoder->frames, iid));
        if (!is_packed) {
            break;
        }
    }
    return SS_STEP_GOOD;
}

static enum ss_outcome put_stack(struct ss_step *step, struct ss_wire_cursor body)
{
    struct ss_decoder *decoder = step->decoder;
    uint64_t iid = 0;
    ss_vec_clear(&decoder->scratch);
    struct ss_wire_field field;
    SS_EACH_FIELD(step, body, field)
    {
        if (field.number == SS_PF_IID) {
            iid = field.value;
        } else if (field.number == SS_PF_CALLSTACK_FRAMES) {
            SS_STEP_TRY(push_frame_iids(step, &field));
        }
    }
    uint32_t stack = 0;
    for (size_t i = 0; i < decoder->scratch.count; i++) {
        uint32_t frame = decoder->scratch.data[i];
        if (frame == 0) {
            return SS_STEP_GOOD; /* as in put_frame */
        }
        bool is_new;
        uint32_t parent = stack;
        stack = ss_tables_put_stack(&decoder->tables, parent, frame, &is_new);
        if (is_new) {
            struct ss_trace_stack record = {stack, parent, frame};
            SS_STEP_EMIT(step, stack, &record);
        }
    }
    return ss_id_map_put(&decoder->stacks, iid, stack)
               ? SS_STEP_GOOD
               : ss_step_malformed(step, "an interning id is too large");
}

/* A name that is not a field's comes from another program or a later version. */
static enum ss_outcome put_field_name(struct ss_step *step, struct ss_wire_cursor body,
                                      uint32_t sequence)
{
    uint64_t iid;
    struct ss_strview text;
    SS_STEP_TRY(ss_step_interned(step, body, &iid, &text));
    return ss_id_map_put(&step->decoder->sequences.data[sequence].fields, iid,
                         ss_event_field_named(text))
               ? SS_STEP_GOOD
               : ss_step_malformed(step, "an interning id is too large");
}

/* Long: one case for each kind of text. */
enum ss_outcome ss_decode_interned(struct ss_step *step, struct ss_wire_cursor body,
                                   struct ss_wire_cursor extras, uint32_t sequence)
{
    struct ss_wire_cursor name_extras = extras;
    struct ss_wire_field field;
    SS_EACH_FIELD(step, body, field)
    {
        if (field.type != SS_WIRE_BYTES) {
            continue;
        }
        if (field.number == SS_PF_EVENT_NAMES) {
            SS_STEP_TRY(ss_decode_name(step, field.body, &name_extras, sequence));
        }
        if (field.number == SS_PF_ANNOTATION_NAMES) {
            SS_STEP_TRY(put_field_name(step, field.body, sequence));
        }
        if (field.number == SS_PF_ANNOTATION_STRINGS) {
            SS_STEP_TRY(
                put_string(step, field.body, &step->decoder->sequences.data[sequence].texts));
        }
        if (sequence != SS_SEQUENCE) {
            continue; /* a track sequence defines only names, categories, fields and their texts */
        }
        switch (field.number) {
        case SS_PF_FUNCTION_NAMES:
            SS_STEP_TRY(put_string(step, field.body, &step->decoder->functions));
            break;
        case SS_PF_SOURCE_PATHS:
            SS_STEP_TRY(put_string(step, field.body, &step->decoder->paths));
            break;
        case SS_PF_FRAMES:
            SS_STEP_TRY(put_frame(step, field.body, &extras));
            break;
        case SS_PF_CALLSTACKS:
            SS_STEP_TRY(put_stack(step, field.body));
            break;
        default:
            break;
        }
    }
    return SS_STEP_GOOD;
}
