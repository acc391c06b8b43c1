/* SPDX-License-Identifier: Apache-2.0 */
/* The source around the lines of findings. */
#include "analysis/report/report_parts.h"

enum { LINES_BEFORE = 3, LINES_AFTER = 3 };

/* The frame of the finding's line; 0: it names none. */
static uint32_t frame_of(const struct ss_finding *finding)
{
    return finding->line != NULL ? finding->line->frame : 0;
}

/* A file that was changed after the recording began may not be what ran. */
static bool is_what_ran(const struct ss_report_parts *parts, struct ss_strview path)
{
    const struct ss_source_lines *source = parts->source;
    int64_t began_ns = parts->trust.all.start_unix_ns;
    if (source->line == NULL || source->changed_ns == NULL || began_ns <= 0) {
        return false;
    }
    int64_t changed_ns = source->changed_ns(source->context, path);
    return changed_ns > 0 && changed_ns < began_ns;
}

static bool is_blank(const struct ss_source_lines *source, struct ss_strview path, uint32_t line)
{
    return source->line(source->context, path, line).length == 0;
}

static void add_line(const struct ss_source_lines *source, struct ss_strview path, uint32_t line,
                     struct ss_arena *arena, struct ss_source_excerpt *out)
{
    struct ss_strview text = source->line(source->context, path, line);
    if (text.data != NULL) {
        const char *copy = ss_arena_strndup(arena, text.data, text.length);
        ss_vec_push(&out->lines, ((struct ss_strview){copy, text.length}));
    }
}

void ss_report_fill_excerpt(const struct ss_finding *finding, const struct ss_report_parts *parts,
                            struct ss_arena *arena, struct ss_source_excerpt *out)
{
    const struct ss_model *model = parts->selection->model;
    const struct ss_model_frame *frame = &model->frames.data[frame_of(finding)];
    struct ss_strview path = ss_intern_get(&model->strings, frame->file);
    if (frame_of(finding) == 0 || frame->line <= 0 || !is_what_ran(parts, path)) {
        return;
    }
    uint32_t line = (uint32_t)frame->line;
    out->path = ss_intern_get(&model->strings, frame->short_file);
    out->line = line;
    out->first = line > LINES_BEFORE ? line - LINES_BEFORE : 1;
    while (out->first < line && is_blank(parts->source, path, out->first)) {
        out->first++;
    }
    uint32_t last = line + LINES_AFTER;
    while (last > line && is_blank(parts->source, path, last)) {
        last--;
    }
    for (uint32_t at = out->first; at <= last; at++) {
        add_line(parts->source, path, at, arena, out);
    }
}
