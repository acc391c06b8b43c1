/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/definitions.h"

#include "trace/profile.h"
#include "trace/wire_records.h"
#include "wire/perfetto.h"

/* The recorder assigns refs; a corrupt ref would allocate up to its value, so it is rejected. */
enum { MAX_REF = 1 << 28 };

void ss_definitions_init(struct ss_definitions *definitions)
{
    *definitions = (struct ss_definitions){0};
    ss_intern_init(&definitions->strings);
    ss_definitions_restart(definitions);
}

void ss_definitions_fini(struct ss_definitions *definitions)
{
    ss_intern_fini(&definitions->strings);
    ss_vec_fini(&definitions->frames);
    ss_vec_fini(&definitions->stacks);
    for (int role = 0; role < SS_ROLE_COUNT; role++) {
        ss_vec_fini(&definitions->string_iids[role]);
    }
    ss_vec_fini(&definitions->path);
    ss_wire_fini(&definitions->interned);
    ss_wire_fini(&definitions->extras);
}

void ss_definitions_restart(struct ss_definitions *definitions)
{
    definitions->period++;
    definitions->next_frame = 1;
    definitions->next_stack = 1;
    for (int role = 0; role < SS_ROLE_COUNT; role++) {
        definitions->next_string[role] = 1;
    }
    definitions->mappings_defined = 0;
}

bool ss_definitions_exhausted(const struct ss_definitions *definitions)
{
    const uint32_t most = SS_MAX_IID - 2 * SS_MAX_STACK_DEPTH;
    return definitions->next_frame > most || definitions->next_stack > most ||
           definitions->next_string[SS_ROLE_FUNCTION] > most ||
           definitions->next_string[SS_ROLE_PATH] > most;
}

size_t ss_definitions_memory(const struct ss_definitions *definitions)
{
    const struct ss_intern *strings = &definitions->strings;
    size_t total = strings->arena.total_bytes +
                   strings->text_capacity * (sizeof *strings->texts + sizeof *strings->hashes) +
                   strings->slot_count * sizeof *strings->slots;
    total += definitions->frames.capacity * sizeof *definitions->frames.data;
    total += definitions->stacks.capacity * sizeof *definitions->stacks.data;
    for (int role = 0; role < SS_ROLE_COUNT; role++) {
        total += definitions->string_iids[role].capacity * sizeof(struct ss_period_iid);
    }
    return total + definitions->interned.capacity + definitions->extras.capacity +
           definitions->path.capacity * sizeof(uint32_t);
}

static uint32_t put_text(struct ss_definitions *definitions, struct ss_strview text)
{
    size_t length = text.length < SS_MAX_TEXT_BYTES ? text.length : SS_MAX_TEXT_BYTES;
    return length == 0 ? 0 : ss_intern_put(&definitions->strings, text.data, length);
}

enum ss_status ss_definitions_put_frame(struct ss_definitions *definitions,
                                        const struct ss_trace_frame *frame, struct ss_error *err)
{
    if (frame->ref == 0 || frame->ref > MAX_REF) {
        return ss_fail(err, SS_E_BUG, "frame %u is out of range", frame->ref);
    }
    if (frame->ref >= definitions->frames.count) {
        ss_vec_resize(&definitions->frames, (size_t)frame->ref + 1);
    }
    definitions->frames.data[frame->ref] =
        (struct ss_frame_definition){.function = put_text(definitions, frame->function),
                                     .name = put_text(definitions, frame->name),
                                     .file = put_text(definitions, frame->file),
                                     .short_file_offset = frame->short_file_offset,
                                     .line = frame->line > 0 ? frame->line : 0,
                                     .first_line = frame->first_line > 0 ? frame->first_line : 0,
                                     .kind = (uint8_t)frame->kind,
                                     .known = true,
                                     .is_installed = frame->is_installed};
    return SS_OK;
}

enum ss_status ss_definitions_put_stack(struct ss_definitions *definitions,
                                        const struct ss_trace_stack *stack, struct ss_error *err)
{
    if (stack->ref == 0 || stack->ref > MAX_REF) {
        return ss_fail(err, SS_E_BUG, "stack %u is out of range", stack->ref);
    }
    uint32_t depth = 1;
    if (stack->parent_ref != 0) {
        if (stack->parent_ref >= definitions->stacks.count ||
            definitions->stacks.data[stack->parent_ref].depth == 0) {
            return ss_fail(err, SS_E_BUG, "stack %u has no parent %u", stack->ref,
                           stack->parent_ref);
        }
        depth = definitions->stacks.data[stack->parent_ref].depth + 1;
    }
    if (stack->frame_ref >= definitions->frames.count ||
        !definitions->frames.data[stack->frame_ref].known) {
        return ss_fail(err, SS_E_BUG, "stack %u has no frame %u", stack->ref, stack->frame_ref);
    }
    if (stack->ref >= definitions->stacks.count) {
        ss_vec_resize(&definitions->stacks, (size_t)stack->ref + 1);
    }
    definitions->stacks.data[stack->ref] = (struct ss_stack_definition){
        .parent = stack->parent_ref, .frame = stack->frame_ref, .depth = depth};
    return SS_OK;
}

static uint32_t use_string(struct ss_definitions *definitions, enum ss_string_role role,
                           uint32_t string)
{
    static const uint32_t fields[SS_ROLE_COUNT] = {SS_PF_FUNCTION_NAMES, SS_PF_SOURCE_PATHS};
    if (string >= definitions->string_iids[role].count) {
        ss_vec_resize(&definitions->string_iids[role], (size_t)string + 1);
    }
    struct ss_period_iid *entry = &definitions->string_iids[role].data[string];
    if (entry->period != definitions->period) {
        *entry = (struct ss_period_iid){definitions->next_string[role]++, definitions->period};
        struct ss_strview text = ss_intern_get(&definitions->strings, string);
        size_t message = ss_wire_begin(&definitions->interned, fields[role]);
        ss_wire_put_uint(&definitions->interned, SS_PF_IID, entry->iid);
        ss_wire_put_bytes(&definitions->interned, SS_PF_STRING_BYTES, text.data, text.length);
        ss_wire_end(&definitions->interned, message);
    }
    return entry->iid;
}

/* Perfetto importers before v58 drop frames without a mapping: one mapping per frame kind. */
static uint32_t use_mapping(struct ss_definitions *definitions, uint8_t kind)
{
    static const char *const names[] = {"unknown", "native", "kernel", "python", "jit", "gc"};
    uint8_t index = kind < sizeof names / sizeof *names ? kind : 0;
    uint32_t iid = index + 1u;
    if ((definitions->mappings_defined & 1u << index) == 0) {
        definitions->mappings_defined |= 1u << index;
        struct ss_wire_buffer *out = &definitions->interned;
        size_t path = ss_wire_begin(out, SS_PF_MAPPING_PATHS);
        ss_wire_put_uint(out, SS_PF_IID, iid);
        ss_wire_put_text(out, SS_PF_STRING_BYTES, names[index]);
        ss_wire_end(out, path);
        size_t mapping = ss_wire_begin(out, SS_PF_MAPPINGS);
        ss_wire_put_uint(out, SS_PF_IID, iid);
        ss_wire_put_uint(out, SS_PF_MAPPING_PATH_IDS, iid);
        ss_wire_end(out, mapping);
    }
    return iid;
}

static void put_frame_rest(struct ss_definitions *definitions,
                           const struct ss_frame_definition *frame)
{
    struct ss_strview function = ss_intern_get(&definitions->strings, frame->function);
    struct ss_strview name = ss_intern_get(&definitions->strings, frame->name);
    bool same = frame->name == frame->function;
    bool tail = name.length > 0 && name.length < function.length &&
                memcmp(function.data + function.length - name.length, name.data, name.length) == 0;
    struct ss_trace_frame_rest rest = {.name_tail = (uint32_t)name.length,
                                       .has_name_tail = tail,
                                       .name = name,
                                       .has_name = !tail && !same,
                                       .short_file_offset = frame->short_file_offset,
                                       .above_line = (int64_t)frame->line - frame->first_line,
                                       .has_above_line = frame->first_line != 0,
                                       .is_installed = frame->is_installed,
                                       .has_is_installed = frame->is_installed};
    ss_schema_put(&definitions->extras, SS_SCHEMA_frame_rest, &rest, NULL);
}

static uint32_t use_frame(struct ss_definitions *definitions, uint32_t ref)
{
    struct ss_frame_definition *frame = &definitions->frames.data[ref];
    if (frame->iid.period == definitions->period) {
        return frame->iid.iid;
    }
    uint32_t function = use_string(definitions, SS_ROLE_FUNCTION, frame->function);
    uint32_t path = use_string(definitions, SS_ROLE_PATH, frame->file);
    uint32_t mapping = use_mapping(definitions, frame->kind);
    frame->iid = (struct ss_period_iid){definitions->next_frame++, definitions->period};
    struct ss_wire_buffer *out = &definitions->interned;
    size_t message = ss_wire_begin(out, SS_PF_FRAMES);
    ss_wire_put_uint(out, SS_PF_IID, frame->iid.iid);
    ss_wire_put_uint(out, SS_PF_FRAME_FUNCTION, function);
    ss_wire_put_uint(out, SS_PF_FRAME_MAPPING, mapping);
    ss_wire_put_uint(out, SS_PF_FRAME_SOURCE_PATH, path);
    ss_wire_put_nonzero(out, SS_PF_FRAME_LINE, (uint64_t)frame->line);
    ss_wire_put_nonzero(out, SS_PF_FRAME_KIND, frame->kind);
    ss_wire_end(out, message);
    put_frame_rest(definitions, frame);
    return frame->iid.iid;
}

uint32_t ss_definitions_use_stack(struct ss_definitions *definitions, uint32_t ref, bool *cut)
{
    if (ref == 0 || ref >= definitions->stacks.count || definitions->stacks.data[ref].depth == 0) {
        return 0;
    }
    while (definitions->stacks.data[ref].depth > SS_MAX_STACK_DEPTH) {
        ref = definitions->stacks.data[ref].parent;
        *cut = true;
    }
    struct ss_stack_definition *stack = &definitions->stacks.data[ref];
    if (stack->iid.period == definitions->period) {
        return stack->iid.iid;
    }
    ss_vec_clear(&definitions->path);
    for (uint32_t at = ref; at != 0; at = definitions->stacks.data[at].parent) {
        uint32_t frame = definitions->stacks.data[at].frame;
        if (definitions->flush != NULL &&
            definitions->interned.length + definitions->extras.length > definitions->flush_at) {
            definitions->flush(definitions->flush_context);
        }
        ss_vec_push(&definitions->path, use_frame(definitions, frame));
    }
    stack->iid = (struct ss_period_iid){definitions->next_stack++, definitions->period};
    struct ss_wire_buffer *out = &definitions->interned;
    size_t message = ss_wire_begin(out, SS_PF_CALLSTACKS);
    ss_wire_put_uint(out, SS_PF_IID, stack->iid.iid);
    for (size_t i = definitions->path.count; i > 0; i--) {
        ss_wire_put_uint(out, SS_PF_CALLSTACK_FRAMES, definitions->path.data[i - 1]);
    }
    ss_wire_end(out, message);
    return stack->iid.iid;
}
