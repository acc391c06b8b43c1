/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Titles of tracks in viewers of Perfetto traces, and the tracks that they show at the top. Such a
 * viewer opens a file with all processes closed: it shows only tracks that belong to no process,
 * have children, and stand before the processes, sorted by name. The rows of a training are such
 * tracks: steps, phases, the main thread, the streams of devices. Their names give the order.
 */
#include <inttypes.h>
#include <string.h>

#include "base/shared_names.h"
#include "base/strbuf.h"
#include "trace/encode.h"
#include "trace/process_names.h"
#include "trace/writer_state.h"

enum { MOST_ANCESTORS = 64, MAX_TITLE_BYTES = 1024 };

static bool begins_with(struct ss_strview text, const char *with)
{
    size_t length = strlen(with);
    return text.length >= length && memcmp(text.data, with, length) == 0;
}

/* --- which tracks ----------------------------------------------------------------------------- */

/* Whether the process is the outermost of its ancestors whose main thread has ranges: a training,
 * not one of its workers. Decided once. */
static bool leads(struct ss_trace_writer *writer, struct ss_writer_process *process)
{
    if (process->leading == SS_LEADING_UNDECIDED) {
        uint32_t ref = process->record.parent_ref;
        bool follows = process->record.role == SS_PROCESS_ROLE_LOADS_DATA;
        for (int i = 0; i < MOST_ANCESTORS && !follows; i++) {
            const struct ss_writer_process *ancestor = ss_writer_process_at(writer, ref);
            if (ancestor == NULL) {
                break;
            }
            follows = ancestor->leading == SS_LEADING_YES;
            ref = ancestor->record.parent_ref;
        }
        process->leading = follows ? SS_LEADING_NO : SS_LEADING_YES;
    }
    return process->leading == SS_LEADING_YES;
}

/* Domains of a main thread that stay with the thread: figures and a library's inner life. */
static bool is_aside(struct ss_strview domain)
{
    return ss_strview_equal(domain, ss_strview_of(ss_domain_python_gc)) ||
           ss_strview_equal(domain, ss_strview_of(ss_domain_torch_flops)) ||
           begins_with(domain, "dnnl::");
}

bool ss_writer_is_at_top(struct ss_trace_writer *writer, const struct ss_trace_track *track)
{
    struct ss_writer_process *process = ss_writer_process_at(writer, track->process_ref);
    if (process == NULL) {
        return false;
    }
    if (track->kind == SS_TRACK_STEPS || track->kind == SS_TRACK_PHASES) {
        return track->parent_ref == 0;
    }
    if (track->kind != SS_TRACK_RANGES || track->stream_ref != 0) {
        return track->kind == SS_TRACK_RANGES;
    }
    const struct ss_writer_thread *thread = ss_writer_thread_at(writer, track->thread_ref);
    return thread != NULL && thread->record.is_main && !is_aside(track->name) &&
           track->parent_ref == 0 && leads(writer, process);
}

/* --- the name of a process -------------------------------------------------------------------- */

/* Ranks are padded, so that they are in order when they are sorted as text. */
static void append_process(const struct ss_trace_process *process, struct ss_strbuf *out)
{
    int width = 1;
    for (uint32_t most = process->world_size; most > 10; most = (most + 9) / 10) {
        width++;
    }
    if (process->has_rank) {
        ss_strbuf_append_format(out, "rank %*" PRIu32, width, process->rank);
    } else if (process->label.length > 0) {
        ss_strbuf_append_view(out, process->label);
    } else {
        ss_strbuf_append_view(out, ss_process_short_name(process));
    }
}

static bool is_taken(const struct ss_trace_writer *writer, struct ss_strview title)
{
    for (uint32_t ref = 0; ref < writer->processes.end; ref++) {
        const struct ss_writer_process *other = ss_writer_process_at(writer, ref);
        if (other != NULL && ss_strview_equal(other->title, title)) {
            return true;
        }
    }
    return false;
}

/* The same as long as the writer knows the process; with the pid where it is not the only one. */
static struct ss_strview process_title(struct ss_trace_writer *writer,
                                       struct ss_writer_process *process)
{
    if (process->title.length == 0) {
        struct ss_strbuf text;
        ss_strbuf_init(&text, MAX_TITLE_BYTES);
        append_process(&process->record, &text);
        if (is_taken(writer, (struct ss_strview){text.data, text.length})) {
            ss_strbuf_append_format(&text, " %" PRId32, process->record.pid);
            process->shares_title = true;
        }
        process->title = ss_writer_intern(writer, (struct ss_strview){text.data, text.length});
        ss_strbuf_fini(&text);
    }
    return process->title;
}

/* --- titles ----------------------------------------------------------------------------------- */

static void append_numbers(const struct ss_trace_track *track, struct ss_strview owner,
                           struct ss_strbuf *out)
{
    bool is_epochs = ss_strview_equal(track->name, ss_strview_of("epoch"));
    bool is_phases = ss_strview_equal(track->name, ss_strview_of("phase"));
    bool is_usual = is_epochs || ss_strview_equal(track->name, ss_strview_of("step"));
    ss_strbuf_append_text(out, is_epochs ? "Epochs of " : "Steps of ");
    ss_strbuf_append_view(out, owner);
    if (!is_usual) {
        ss_strbuf_append_text(out, ": ");
        ss_strbuf_append_view(out, track->name);
        ss_strbuf_append_text(out, is_phases ? "s" : "");
    }
}

/* "device 0 stream 7" of "GPU 0" and "stream 7 (2)": lanes of a stream are one row. */
static void append_stream(const struct ss_trace_writer *writer, const struct ss_trace_track *track,
                          struct ss_strbuf *out)
{
    const struct ss_writer_track *group = ss_writer_track_at(writer, track->parent_ref);
    struct ss_strview device = group != NULL ? group->record.name : (struct ss_strview){NULL, 0};
    struct ss_strview stream = track->name;
    const char *lane = stream.length > 0 ? memchr(stream.data, '(', stream.length) : NULL;
    if (begins_with(device, "GPU ")) {
        device = (struct ss_strview){device.data + 4, device.length - 4};
    }
    if (lane != NULL && lane > stream.data) {
        stream.length = (size_t)(lane - stream.data) - 1;
    }
    ss_strbuf_append_text(out, "device ");
    ss_strbuf_append_view(out, device);
    ss_strbuf_append_char(out, ' ');
    ss_strbuf_append_view(out, stream);
}

static void append_top_title(struct ss_trace_writer *writer, const struct ss_trace_track *track,
                             struct ss_strbuf *out)
{
    struct ss_writer_process *process = ss_writer_process_at(writer, track->process_ref);
    struct ss_strview owner = process_title(writer, process);
    if (track->kind == SS_TRACK_STEPS || track->kind == SS_TRACK_PHASES) {
        append_numbers(track, owner, out);
    } else if (track->stream_ref == 0) {
        ss_strbuf_append_text(out, "The main thread of ");
        ss_strbuf_append_view(out, owner);
    } else {
        append_stream(writer, track, out);
        if (process->record.has_rank || process->shares_title) {
            ss_strbuf_append_text(out, " of ");
            ss_strbuf_append_view(out, owner);
        }
    }
}

/* Empty: the track's own name. Rows of a thread's domains begin with the thread's name. */
struct ss_strview ss_writer_title(struct ss_trace_writer *writer,
                                  const struct ss_writer_track *track)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_TITLE_BYTES);
    const struct ss_writer_thread *thread = ss_writer_thread_at(writer, track->record.thread_ref);
    if (track->is_at_top) {
        append_top_title(writer, &track->record, &text);
    } else if (thread != NULL && !thread->record.is_main && thread->record.name.length > 0 &&
               track->record.kind == SS_TRACK_RANGES && track->record.name.length > 0) {
        ss_strbuf_append_view(&text, thread->record.name);
        ss_strbuf_append_text(&text, ": ");
        ss_strbuf_append_view(&text, track->record.name);
    }
    struct ss_strview title = ss_writer_intern(writer, (struct ss_strview){text.data, text.length});
    ss_strbuf_fini(&text);
    return title;
}

/* --- what a track at the top is --------------------------------------------------------------- */

size_t ss_writer_explain_track(struct ss_trace_writer *writer, struct ss_writer_track *track)
{
    const struct ss_trace_process *process =
        &ss_writer_process_at(writer, track->record.process_ref)->record;
    uint64_t uuid = ss_hash_u64(track->uuid ^ SS_ABOUT_TRACK) | 1;
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_TITLE_BYTES);
    ss_strbuf_append_view(&text, process->cmdline.length > 0 ? process->cmdline
                                                             : ss_process_short_name(process));
    ss_strbuf_append_format(&text, " %" PRId32, process->pid);
    size_t at = writer->unit.blobs.length;
    ss_encode_track(&writer->unit.descriptors, uuid, track->uuid, "process", false);
    ss_encode_instant(&writer->unit.blobs, uuid, (struct ss_strview){text.data, text.length});
    ss_strbuf_fini(&text);
    track->is_explained = true;
    return at;
}
