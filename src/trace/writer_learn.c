/* SPDX-License-Identifier: Apache-2.0 */
/* Copies the definitions of one writer to another. */
#include "trace/writer_state.h"
#include "trace/writer_tracks.h"

static struct ss_strview text_of(const struct ss_trace_writer *from, uint32_t string)
{
    return ss_intern_get(&from->definitions.strings, string);
}

static enum ss_status copy_recording(struct ss_trace_writer *writer,
                                     const struct ss_trace_writer *from, struct ss_error *err)
{
    size_t count = from->output.fd >= 0 ? from->lasting_attributes : from->attributes.count;
    for (size_t i = 0; i < count; i++) {
        SS_TRY(ss_trace_writer_attribute(writer, &from->attributes.data[i], err));
    }
    return ss_writer_copy_entities(writer, from, err);
}

static enum ss_status copy_processes(struct ss_trace_writer *writer,
                                     const struct ss_trace_writer *from, struct ss_error *err)
{
    for (uint32_t ref = 0; ref < from->processes.end; ref++) {
        const struct ss_writer_process *known = ss_writer_process_at(from, ref);
        if (known != NULL) {
            SS_TRY(ss_trace_writer_process(writer, &known->record, err));
        }
    }
    for (uint32_t ref = 0; ref < from->threads.end; ref++) {
        const struct ss_writer_thread *known = ss_writer_thread_at(from, ref);
        if (known != NULL) {
            SS_TRY(ss_trace_writer_thread(writer, &known->record, err));
        }
    }
    return SS_OK;
}

static enum ss_status copy_stacks(struct ss_trace_writer *writer,
                                  const struct ss_trace_writer *from, struct ss_error *err)
{
    const struct ss_definitions *definitions = &from->definitions;
    for (size_t i = 0; i < definitions->frames.count; i++) {
        const struct ss_frame_definition *known = &definitions->frames.data[i];
        struct ss_trace_frame frame = {.ref = (uint32_t)i,
                                       .function = text_of(from, known->function),
                                       .name = text_of(from, known->name),
                                       .file = text_of(from, known->file),
                                       .short_file_offset = known->short_file_offset,
                                       .line = known->line,
                                       .first_line = known->first_line,
                                       .kind = (enum ss_frame_kind)known->kind,
                                       .is_installed = known->is_installed};
        if (known->known) {
            SS_TRY(ss_trace_writer_frame(writer, &frame, err));
        }
    }
    /* A parent has a smaller ref than its children: it is copied first. */
    for (size_t i = 0; i < definitions->stacks.count; i++) {
        const struct ss_stack_definition *known = &definitions->stacks.data[i];
        struct ss_trace_stack stack = {
            .ref = (uint32_t)i, .parent_ref = known->parent, .frame_ref = known->frame};
        if (known->depth != 0) {
            SS_TRY(ss_trace_writer_stack(writer, &stack, err));
        }
    }
    return SS_OK;
}

static enum ss_status copy_tracks(struct ss_trace_writer *writer,
                                  const struct ss_trace_writer *from, struct ss_error *err)
{
    for (uint32_t ref = 0; ref < from->tracks.end; ref++) {
        const struct ss_writer_track *known = ss_writer_track_at(from, ref);
        if (known != NULL) {
            SS_TRY(ss_trace_writer_track(writer, &known->record, err));
        }
    }
    for (size_t i = 0; i < from->names.count; i++) {
        const struct ss_writer_name *known = &from->names.data[i];
        struct ss_trace_name name = {.ref = (uint32_t)i,
                                     .text = text_of(from, known->text),
                                     .category = text_of(from, known->category),
                                     .colour = known->colour,
                                     .file = text_of(from, known->file),
                                     .line = known->line,
                                     .type = (enum ss_event_type)known->type};
        if (known->known) {
            SS_TRY(ss_trace_writer_name(writer, &name, err));
        }
    }
    return SS_OK;
}

enum ss_status ss_trace_writer_copy_definitions(struct ss_trace_writer *writer,
                                                const struct ss_trace_writer *from,
                                                struct ss_error *err)
{
    SS_TRY(copy_recording(writer, from, err));
    SS_TRY(copy_processes(writer, from, err));
    SS_TRY(copy_stacks(writer, from, err));
    return copy_tracks(writer, from, err);
}
