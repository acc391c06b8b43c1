/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of stacks, and what sequences intern of them. */
#include <inttypes.h>
#include <stdio.h>

#include "base/strbuf.h"
#include "model/perfetto/perfetto_loading.h"
#include "wire/perfetto.h"

enum { MAX_STACK_NODES = 0x3ffff000 };

/* --- interned parts --------------------------------------------------------------------------- */

static uint32_t interned(struct ss_perfetto_loading *loading, uint32_t sequence,
                         enum ss_perfetto_interned kind, uint64_t iid)
{
    return ss_perfetto_map_get(&ss_perfetto_sequence_at(loading, sequence)->interned[kind], iid);
}

static struct ss_strview text_of(struct ss_perfetto_loading *loading, uint32_t sequence,
                                 enum ss_perfetto_interned kind, uint64_t iid)
{
    uint32_t text = interned(loading, sequence, kind, iid);
    return ss_intern_get(&loading->model->strings, text > 0 ? text - 1 : 0);
}

/* A mapping is known by the last part of its path, which has parts. */
static bool read_mapping(struct ss_perfetto_loading *loading, uint32_t sequence,
                         struct ss_wire_cursor body)
{
    struct ss_wire_field field;
    enum ss_wire_next next;
    uint64_t iid = 0;
    struct ss_strbuf path;
    ss_strbuf_init(&path, 1 << 16);
    while ((next = ss_wire_next(&body, &field)) == SS_WIRE_FIELD) {
        if (field.number == SS_PF_IID) {
            iid = field.value;
        } else if (field.number == SS_PF_MAPPING_PATH_IDS && field.type == SS_WIRE_VARINT) {
            ss_strbuf_append_text(&path, "/");
            ss_strbuf_append_view(
                &path, text_of(loading, sequence, SS_PERFETTO_MAPPING_PATHS, field.value));
        }
    }
    uint32_t text =
        ss_model_builder_text(loading->builder, (struct ss_strview){path.data, path.length});
    ss_strbuf_fini(&path);
    ss_perfetto_map_put(&ss_perfetto_sequence_at(loading, sequence)->interned[SS_PERFETTO_MAPPINGS],
                        iid, 1 + text);
    return next == SS_WIRE_END;
}

struct frame_fields {
    uint64_t iid, function, mapping, address, source, line, kind;
};

static uint32_t put_frame(struct ss_perfetto_loading *loading, uint32_t sequence,
                          const struct frame_fields *fields)
{
    static const enum ss_frame_kind kinds[] = {SS_FRAME_UNKNOWN, SS_FRAME_NATIVE, SS_FRAME_KERNEL,
                                               SS_FRAME_INTERPRETED};
    struct ss_strview source = text_of(loading, sequence, SS_PERFETTO_SOURCE_PATHS, fields->source);
    struct ss_strview library = text_of(loading, sequence, SS_PERFETTO_MAPPINGS, fields->mapping);
    struct ss_strview function =
        text_of(loading, sequence, SS_PERFETTO_FUNCTIONS, fields->function);
    char address[24];
    if (function.length == 0) {
        snprintf(address, sizeof address, "0x%" PRIx64, fields->address);
        function = ss_strview_of(address);
    }
    bool is_native = source.length == 0 && library.length > 0;
    enum ss_frame_kind kind =
        fields->kind < sizeof kinds / sizeof *kinds ? kinds[fields->kind] : SS_FRAME_UNKNOWN;
    struct ss_trace_frame frame = {.function = function,
                                   .file = source.length > 0 ? source : library,
                                   .line = fields->line <= INT32_MAX ? (int32_t)fields->line : 0,
                                   .kind = kind == SS_FRAME_UNKNOWN && is_native ? SS_FRAME_NATIVE
                                                                                 : kind};
    return ss_model_builder_frame(loading->builder, &frame);
}

static bool read_frame(struct ss_perfetto_loading *loading, uint32_t sequence,
                       struct ss_wire_cursor body)
{
    struct ss_wire_field field;
    enum ss_wire_next next;
    struct frame_fields fields = {0};
    while ((next = ss_wire_next(&body, &field)) == SS_WIRE_FIELD) {
        uint64_t *known = field.number == SS_PF_IID                 ? &fields.iid
                          : field.number == SS_PF_FRAME_FUNCTION    ? &fields.function
                          : field.number == SS_PF_FRAME_MAPPING     ? &fields.mapping
                          : field.number == SS_PF_FRAME_ADDRESS     ? &fields.address
                          : field.number == SS_PF_FRAME_SOURCE_PATH ? &fields.source
                          : field.number == SS_PF_FRAME_LINE        ? &fields.line
                          : field.number == SS_PF_FRAME_KIND        ? &fields.kind
                                                                    : NULL;
        if (known != NULL && field.type == SS_WIRE_VARINT) {
            *known = field.value;
        }
    }
    ss_perfetto_map_put(&ss_perfetto_sequence_at(loading, sequence)->interned[SS_PERFETTO_FRAMES],
                        fields.iid, put_frame(loading, sequence, &fields));
    return next == SS_WIRE_END;
}

/* Adds a frame below `stack`. Unknown frames are left out. */
static uint32_t push_frame(struct ss_perfetto_loading *loading, uint32_t sequence, uint32_t stack,
                           uint64_t iid)
{
    uint32_t frame = interned(loading, sequence, SS_PERFETTO_FRAMES, iid);
    if (loading->model->stacks.count >= MAX_STACK_NODES) {
        loading->status =
            ss_fail(loading->err, SS_E_LIMIT, "more than %d stack nodes", MAX_STACK_NODES);
        return stack;
    }
    return frame != 0 ? ss_model_builder_stack(loading->builder, stack, frame) : stack;
}

static bool read_stack(struct ss_perfetto_loading *loading, uint32_t sequence,
                       struct ss_wire_cursor body)
{
    struct ss_wire_field field;
    enum ss_wire_next next;
    uint64_t iid = 0, frame;
    uint32_t stack = 0;
    while ((next = ss_wire_next(&body, &field)) == SS_WIRE_FIELD) {
        if (field.number == SS_PF_IID) {
            iid = field.value;
        } else if (field.number == SS_PF_CALLSTACK_FRAMES && field.type == SS_WIRE_BYTES) {
            while (field.body.at < field.body.end && ss_wire_get_varint(&field.body, &frame)) {
                stack = push_frame(loading, sequence, stack, frame);
            }
        } else if (field.number == SS_PF_CALLSTACK_FRAMES) {
            stack = push_frame(loading, sequence, stack, field.value);
        }
    }
    ss_perfetto_map_put(&ss_perfetto_sequence_at(loading, sequence)->interned[SS_PERFETTO_STACKS],
                        iid, 1 + stack);
    return next == SS_WIRE_END;
}

/* The thread of a task context, as index plus one. */
static bool read_task(struct ss_perfetto_loading *loading, struct ss_wire_cursor body,
                      uint64_t *iid, uint32_t *thread)
{
    struct ss_wire_field field;
    enum ss_wire_next next;
    int64_t pid = -1, tid = -1;
    while ((next = ss_wire_next(&body, &field)) == SS_WIRE_FIELD) {
        if (field.number == SS_PF_IID) {
            *iid = field.value;
        } else if (field.number == SS_PF_TASK_PID) {
            pid = (int32_t)field.value;
        } else if (field.number == SS_PF_TASK_TID) {
            tid = (int64_t)field.value;
        }
    }
    *thread = 1 + ss_perfetto_thread_of(loading, pid, tid);
    return next == SS_WIRE_END;
}

bool ss_perfetto_read_stack_part(struct ss_perfetto_loading *loading, uint32_t sequence,
                                 uint32_t number, struct ss_wire_cursor body)
{
    uint64_t iid = 0;
    uint32_t thread;
    switch (number) {
    case SS_PF_MAPPINGS:
        return read_mapping(loading, sequence, body);
    case SS_PF_FRAMES:
        return read_frame(loading, sequence, body);
    case SS_PF_CALLSTACKS:
        return read_stack(loading, sequence, body);
    default:
        if (!read_task(loading, body, &iid, &thread)) {
            return false;
        }
        ss_perfetto_map_put(
            &ss_perfetto_sequence_at(loading, sequence)->interned[SS_PERFETTO_TASKS], iid, thread);
        return true;
    }
}

/* --- samples ---------------------------------------------------------------------------------- */

/* One tick: what weights count differs between sources. `thread`: index plus one. */
static void put_sample(struct ss_perfetto_loading *loading, const struct ss_perfetto_packet *packet,
                       uint32_t thread, uint64_t stack_iid)
{
    uint32_t stack = interned(loading, packet->sequence, SS_PERFETTO_STACKS, stack_iid);
    if (!packet->has_time) {
        ss_perfetto_skip(loading, "a sample without a readable time");
        return;
    }
    if (thread == 0 || (stack_iid != 0 && stack == 0)) {
        ss_perfetto_skip(loading, "a sample whose thread or stack is not defined");
        return;
    }
    struct ss_trace_sample sample = {.time_ns = packet->time_ns,
                                     .thread_ref = ss_perfetto_thread_row(loading, thread - 1),
                                     .stack_ref = stack > 0 ? stack - 1 : 0,
                                     .weight = 1,
                                     .step = -1};
    enum ss_status status = ss_model_builder_sample(loading->builder, &sample, loading->err);
    loading->status = loading->status == SS_OK ? status : loading->status;
    bool is_first = loading->samples == 0;
    uint64_t at_ns = packet->time_ns;
    loading->first_sample_ns =
        is_first || at_ns < loading->first_sample_ns ? at_ns : loading->first_sample_ns;
    loading->last_sample_ns =
        is_first || at_ns > loading->last_sample_ns ? at_ns : loading->last_sample_ns;
    loading->samples++;
}

bool ss_perfetto_read_perf_sample(struct ss_perfetto_loading *loading,
                                  const struct ss_perfetto_packet *packet)
{
    struct ss_wire_cursor body = packet->perf_sample;
    struct ss_wire_field field;
    enum ss_wire_next next;
    int64_t pid = -1, tid = -1;
    uint64_t stack_iid = 0;
    while ((next = ss_wire_next(&body, &field)) == SS_WIRE_FIELD) {
        if (field.number == SS_PF_PERF_PID) {
            pid = (int32_t)field.value;
        } else if (field.number == SS_PF_PERF_TID) {
            tid = (int32_t)field.value;
        } else if (field.number == SS_PF_PERF_CALLSTACK_IID) {
            stack_iid = field.value;
        }
    }
    if (next == SS_WIRE_END && tid >= 0) { /* others state a loss */
        put_sample(loading, packet, 1 + ss_perfetto_thread_of(loading, pid, tid), stack_iid);
    }
    return next == SS_WIRE_END;
}

bool ss_perfetto_read_stack_sample(struct ss_perfetto_loading *loading,
                                   const struct ss_perfetto_packet *packet)
{
    struct ss_wire_cursor body = packet->stack_sample;
    struct ss_wire_field field;
    enum ss_wire_next next;
    uint64_t stack_iid = 0, iid;
    uint32_t thread = 0;
    while ((next = ss_wire_next(&body, &field)) == SS_WIRE_FIELD) {
        if (field.number == SS_PF_SAMPLE_TASK && field.type == SS_WIRE_BYTES) {
            if (!read_task(loading, field.body, &iid, &thread)) {
                return false;
            }
        } else if (field.number == SS_PF_SAMPLE_TASK_IID) {
            thread = interned(loading, packet->sequence, SS_PERFETTO_TASKS, field.value);
        } else if (field.number == SS_PF_SAMPLE_CALLSTACK_IID) {
            stack_iid = field.value;
        }
    }
    if (next == SS_WIRE_END) {
        put_sample(loading, packet, thread, stack_iid);
    }
    return next == SS_WIRE_END;
}
