/* SPDX-License-Identifier: Apache-2.0 */
/* The state of packet sequences: what they interned, and their defaults. */
#include "model/perfetto/perfetto_loading.h"
#include "wire/perfetto.h"

enum { MOST_SEQUENCES = 1 << 16 };

uint32_t ss_perfetto_sequence_of(struct ss_perfetto_loading *loading, uint64_t id)
{
    uint32_t known = ss_perfetto_map_get(&loading->sequence_of, id);
    if (known == 0) {
        if (loading->sequences.count >= MOST_SEQUENCES) {
            return UINT32_MAX;
        }
        ss_vec_push_zero(&loading->sequences);
        known = (uint32_t)loading->sequences.count;
        ss_perfetto_map_put(&loading->sequence_of, id, known);
    }
    return known - 1;
}

void ss_perfetto_clear(struct ss_perfetto_sequence *sequence)
{
    for (size_t i = 0; i < SS_PERFETTO_INTERNED; i++) {
        ss_perfetto_map_clear(&sequence->interned[i]);
    }
    sequence->default_track = sequence->default_clock = 0;
}

void ss_perfetto_sequence_fini(struct ss_perfetto_sequence *sequence)
{
    for (size_t i = 0; i < SS_PERFETTO_INTERNED; i++) {
        ss_perfetto_map_fini(&sequence->interned[i]);
    }
    ss_vec_fini(&sequence->clocks);
}

/* --- interned data ---------------------------------------------------------------------------- */

/* Which texts a field of InternedData has; SS_PERFETTO_INTERNED: none. */
static enum ss_perfetto_interned kind_of_texts(uint32_t number)
{
    switch (number) {
    case SS_PF_EVENT_CATEGORIES:
        return SS_PERFETTO_CATEGORIES;
    case SS_PF_EVENT_NAMES:
        return SS_PERFETTO_NAMES;
    case SS_PF_ANNOTATION_NAMES:
        return SS_PERFETTO_ANNOTATION_NAMES;
    case SS_PF_ANNOTATION_STRINGS:
        return SS_PERFETTO_ANNOTATION_STRINGS;
    case SS_PF_FUNCTION_NAMES:
        return SS_PERFETTO_FUNCTIONS;
    case SS_PF_MAPPING_PATHS:
        return SS_PERFETTO_MAPPING_PATHS;
    case SS_PF_SOURCE_PATHS:
        return SS_PERFETTO_SOURCE_PATHS;
    default:
        return SS_PERFETTO_INTERNED;
    }
}

/* {iid 1, name 2}: all messages of texts. */
static bool read_text(struct ss_perfetto_loading *loading, uint32_t sequence,
                      enum ss_perfetto_interned kind, struct ss_wire_cursor body)
{
    struct ss_wire_field field;
    enum ss_wire_next next;
    uint64_t iid = 0;
    struct ss_strview text = {"", 0};
    while ((next = ss_wire_next(&body, &field)) == SS_WIRE_FIELD) {
        if (field.number == SS_PF_IID) {
            iid = field.value;
        } else if (field.number == SS_PF_STRING_BYTES && field.type == SS_WIRE_BYTES) {
            text = ss_wire_view(field.body);
        }
    }
    ss_perfetto_map_put(&ss_perfetto_sequence_at(loading, sequence)->interned[kind], iid,
                        1 + ss_model_builder_text(loading->builder, text));
    return next == SS_WIRE_END;
}

/* Frames refer to texts, stacks to frames: whatever their order in the packet. */
static bool read_stack_parts(struct ss_perfetto_loading *loading, uint32_t sequence,
                             struct ss_wire_cursor body)
{
    static const uint32_t order[] = {SS_PF_MAPPINGS, SS_PF_FRAMES, SS_PF_CALLSTACKS,
                                     SS_PF_TASK_CONTEXTS};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        struct ss_wire_cursor cursor = body;
        struct ss_wire_field field;
        while (ss_wire_next(&cursor, &field) == SS_WIRE_FIELD) {
            if (field.number == order[i] && field.type == SS_WIRE_BYTES &&
                !ss_perfetto_read_stack_part(loading, sequence, field.number, field.body)) {
                return false;
            }
        }
    }
    return true;
}

bool ss_perfetto_read_interned(struct ss_perfetto_loading *loading, uint32_t sequence,
                               struct ss_wire_cursor body)
{
    struct ss_wire_cursor cursor = body;
    struct ss_wire_field field;
    enum ss_wire_next next;
    bool has_stack_parts = false;
    while ((next = ss_wire_next(&cursor, &field)) == SS_WIRE_FIELD) {
        enum ss_perfetto_interned kind = kind_of_texts(field.number);
        if (kind == SS_PERFETTO_INTERNED || field.type != SS_WIRE_BYTES) {
            has_stack_parts = has_stack_parts || field.number == SS_PF_MAPPINGS ||
                              field.number == SS_PF_FRAMES || field.number == SS_PF_CALLSTACKS ||
                              field.number == SS_PF_TASK_CONTEXTS;
        } else if (!read_text(loading, sequence, kind, field.body)) {
            return false;
        }
    }
    return next == SS_WIRE_END && (!has_stack_parts || read_stack_parts(loading, sequence, body));
}

/* --- defaults --------------------------------------------------------------------------------- */

/* The field of the message at the path of two numbers; 0: it is absent. */
static uint64_t find_number(struct ss_wire_cursor body, uint32_t number)
{
    struct ss_wire_field field;
    uint64_t found = 0;
    while (ss_wire_next(&body, &field) == SS_WIRE_FIELD) {
        found = field.number == number && field.type != SS_WIRE_BYTES ? field.value : found;
    }
    return found;
}

/* The rate of samples, which the first sequence with one decides. */
static void read_rate(struct ss_perfetto_loading *loading, struct ss_wire_cursor body)
{
    struct ss_wire_field field;
    while (ss_wire_next(&body, &field) == SS_WIRE_FIELD) {
        if (field.number != SS_PF_PERF_DEFAULT_TIMEBASE || field.type != SS_WIRE_BYTES) {
            continue;
        }
        uint64_t rate_hz = find_number(field.body, SS_PF_TIMEBASE_FREQUENCY);
        if (rate_hz > 0 && rate_hz <= 1000000 && !loading->has_rate) {
            struct ss_trace_attribute rate = {
                .key = ss_strview_of("rate_hz"), .is_integer = true, .integer = (int64_t)rate_hz};
            ss_model_builder_attribute(loading->builder, &rate);
            loading->has_rate = true;
        }
    }
}

bool ss_perfetto_read_defaults(struct ss_perfetto_loading *loading, uint32_t sequence,
                               struct ss_wire_cursor body)
{
    struct ss_perfetto_sequence *state = ss_perfetto_sequence_at(loading, sequence);
    struct ss_wire_field field;
    enum ss_wire_next next;
    while ((next = ss_wire_next(&body, &field)) == SS_WIRE_FIELD) {
        if (field.number == SS_PF_DEFAULT_CLOCK_ID) {
            state->default_clock = field.value;
        } else if (field.number == SS_PF_DEFAULT_TRACK_EVENT && field.type == SS_WIRE_BYTES) {
            state->default_track = find_number(field.body, SS_PF_DEFAULT_TRACK_UUID);
        } else if (field.number == SS_PF_DEFAULT_PERF_SAMPLE && field.type == SS_WIRE_BYTES) {
            read_rate(loading, field.body);
        }
    }
    return next == SS_WIRE_END;
}
