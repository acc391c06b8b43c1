/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/view/view_pages.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern const char ss_timeline_page[], ss_timeline_sheet[];
extern const size_t ss_timeline_page_length, ss_timeline_sheet_length;
extern const char *const ss_timeline_scripts[]; /* name and text of each, then NULL */

enum { ANSWER_BYTES = 64 << 20 };

static void reply_text(struct ss_serve_reply *reply, const char *type, const char *text,
                       size_t length)
{
    reply->type = type;
    reply->text = text;
    reply->text_length = length;
}

static void fail(struct ss_serve_reply *reply, int status, const char *why)
{
    reply->status = status;
    reply_text(reply, "text/plain; charset=utf-8", why, strlen(why));
}

/* --- the page's own files --------------------------------------------------------------------- */

/* "/NAME.js" */
static bool find_script(const char *path, struct ss_serve_reply *reply)
{
    size_t length = strlen(path);
    if (length < 5 || strcmp(path + length - 3, ".js") != 0) {
        return false;
    }
    for (size_t i = 0; ss_timeline_scripts[i] != NULL; i += 2) {
        const char *name = ss_timeline_scripts[i];
        if (strlen(name) == length - 4 && strncmp(path + 1, name, length - 4) == 0) {
            reply_text(reply, "text/javascript; charset=utf-8", ss_timeline_scripts[i + 1],
                       strlen(ss_timeline_scripts[i + 1]));
            return true;
        }
    }
    return false;
}

static bool find_file(const char *path, struct ss_serve_reply *reply)
{
    if (strcmp(path, "/") == 0) {
        reply_text(reply, "text/html; charset=utf-8", ss_timeline_page, ss_timeline_page_length);
        return true;
    }
    if (strcmp(path, "/sheet.css") == 0) {
        reply_text(reply, "text/css; charset=utf-8", ss_timeline_sheet, ss_timeline_sheet_length);
        return true;
    }
    return find_script(path, reply);
}

bool ss_view_is_public(const char *path)
{
    struct ss_serve_reply reply = {.file_fd = -1};
    return find_file(path, &reply);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* "1,2,30": ids of tracks. */
static bool parse_tracks(const struct ss_timeline *timeline, const char *text,
                         struct ss_picture_request *picture)
{
    while (text != NULL && *text != '\0') {
        char *end;
        if (*text < '0' || *text > '9' || picture->track_count == SS_PICTURE_MAX_TRACKS) {
            return false;
        }
        unsigned long long id = strtoull(text, &end, 10);
        if (id >= timeline->tracks.count || (*end != ',' && *end != '\0')) {
            return false;
        }
        picture->tracks[picture->track_count++] = (uint32_t)id;
        text = *end == ',' ? end + 1 : end;
    }
    return picture->track_count > 0;
}

static bool parse_range(const struct ss_serve_request *request, uint64_t *from_ns, uint64_t *to_ns)
{
    return ss_serve_number(request, "from", INT64_MAX, from_ns) &&
           ss_serve_number(request, "to", INT64_MAX, to_ns) && *from_ns < *to_ns;
}

static bool answer_picture(const struct ss_answering *answering,
                           const struct ss_serve_request *request, struct ss_sink *sink)
{
    struct ss_picture_request picture = {0};
    uint64_t px, first_lane = 0, lanes = 0;
    if (!parse_range(request, &picture.from_ns, &picture.to_ns) ||
        !ss_serve_number(request, "px", SS_PICTURE_MAX_PX, &px) || px == 0 ||
        !parse_tracks(answering->timeline, ss_serve_argument(request, "tracks"), &picture)) {
        return false;
    }
    picture.px = (uint32_t)px;
    if (ss_serve_number(request, "first_lane", UINT32_MAX, &first_lane) &&
        ss_serve_number(request, "lanes", UINT32_MAX, &lanes)) {
        picture.first_lane = (uint32_t)first_lane;
        picture.lanes = (uint32_t)lanes;
    }
    ss_answer_picture(answering, &picture, sink);
    return true;
}

static bool answer_overview(const struct ss_answering *answering,
                            const struct ss_serve_request *request, struct ss_sink *sink)
{
    (void)request;
    ss_answer_overview(answering, sink);
    return true;
}

static bool answer_slice(const struct ss_answering *answering,
                         const struct ss_serve_request *request, struct ss_sink *sink)
{
    const struct ss_timeline *timeline = answering->timeline;
    uint64_t track, lane, position;
    return ss_serve_number(request, "track", UINT32_MAX, &track) &&
           track < timeline->tracks.count && ss_serve_number(request, "lane", UINT32_MAX, &lane) &&
           lane < timeline->tracks.data[track].lanes &&
           ss_serve_number(request, "position", UINT32_MAX, &position) &&
           ss_answer_slice(answering, timeline->tracks.data[track].first_lane + (uint32_t)lane,
                           (uint32_t)position, sink);
}

static bool answer_sums(const struct ss_answering *answering,
                        const struct ss_serve_request *request, struct ss_sink *sink)
{
    uint64_t from_ns, to_ns;
    if (!parse_range(request, &from_ns, &to_ns)) {
        return false;
    }
    ss_answer_sums(answering, from_ns, to_ns, sink);
    return true;
}

static bool answer_search(const struct ss_answering *answering,
                          const struct ss_serve_request *request, struct ss_sink *sink)
{
    const struct ss_timeline *timeline = answering->timeline;
    const char *text = ss_serve_argument(request, "text");
    struct ss_search_place after = {.lane = UINT32_MAX};
    uint64_t track, lane;
    bool has_after = ss_serve_number(request, "after", INT64_MAX, &after.begin_ns);
    if (text == NULL || text[0] == '\0') {
        return false;
    }
    /* The lane of the last match; without one, what begins at the very time is behind. */
    if (ss_serve_number(request, "track", UINT32_MAX, &track) && track < timeline->tracks.count &&
        ss_serve_number(request, "lane", UINT32_MAX, &lane)) {
        after.lane = timeline->tracks.data[track].first_lane + (uint32_t)lane;
    }
    ss_answer_search(answering, ss_strview_of(text), has_after ? &after : NULL,
                     ss_serve_argument(request, "backward") != NULL, sink);
    return true;
}

static bool answer_step(const struct ss_answering *answering,
                        const struct ss_serve_request *request, struct ss_sink *sink)
{
    static const char *const names[] = {"next", "previous", "outlier"};
    const char *which = ss_serve_argument(request, "which");
    uint64_t process = 0, at_ns = 0;
    bool has_time = ss_serve_number(request, "at", INT64_MAX, &at_ns);
    ss_serve_number(request, "process", UINT32_MAX, &process);
    if (process >= answering->timeline->selection->model->processes.count) {
        return false;
    }
    for (int i = 0; which != NULL && i < 3; i++) {
        if (strcmp(which, names[i]) == 0) {
            ss_answer_step(answering, (uint32_t)process, !has_time, at_ns, (enum ss_step_choice)i,
                           sink);
            return true;
        }
    }
    return false;
}

/* False: the arguments are wrong. */
typedef bool view_answer(const struct ss_answering *answering,
                         const struct ss_serve_request *request, struct ss_sink *sink);

static const struct view_path {
    const char *path;
    view_answer *answer;
} answers[] = {
    {"/api/overview", answer_overview}, {"/api/picture", answer_picture},
    {"/api/slice", answer_slice},       {"/api/sums", answer_sums},
    {"/api/search", answer_search},     {"/api/step", answer_step},
};

static bool find_answer(const struct ss_view_pages *pages, const struct ss_serve_request *request,
                        struct ss_serve_reply *reply)
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        struct ss_sink sink;
        if (strcmp(request->path, answers[i].path) != 0) {
            continue;
        }
        ss_sink_open_memory(&sink, ANSWER_BYTES);
        if (!answers[i].answer(&pages->answering, request, &sink)) {
            fail(reply, 400, "The request is not understood.\n");
        } else if (ss_sink_failed(&sink)) {
            fail(reply, 500, "The answer is too large.\n");
        } else {
            reply->type = "application/json";
            ss_strbuf_append(&reply->body, sink.buffer.data, sink.buffer.length);
        }
        ss_sink_abandon(&sink);
        return true;
    }
    return false;
}

/* An input of the recording as it is, for another viewer: by its number, never by a path. */
static bool find_input(const struct ss_view_pages *pages, const struct ss_serve_request *request,
                       struct ss_serve_reply *reply)
{
    const struct ss_model *model = pages->answering.timeline->selection->model;
    uint64_t number;
    struct stat file;
    if (strcmp(request->path, "/input") != 0 ||
        !ss_serve_number(request, "number", UINT32_MAX, &number) || number >= model->inputs.count) {
        return false;
    }
    const char *path = ss_model_text(model, model->inputs.data[number].path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &file) != 0 || !S_ISREG(file.st_mode)) {
        if (fd >= 0) {
            close(fd);
        }
        fail(reply, 404, "The recording cannot be read now.\n");
        return true;
    }
    reply->type = "application/octet-stream";
    reply->file_fd = fd;
    reply->file_bytes = (uint64_t)file.st_size;
    return true;
}

/* --- notes ------------------------------------------------------------------------------------ */

static void answer_notes(const struct ss_view_pages *pages, const struct ss_serve_request *request,
                         struct ss_serve_reply *reply)
{
    struct ss_error err = {0};
    struct ss_sink sink;
    enum ss_status status =
        request->is_put ? ss_view_notes_put(pages->notes, request->body, &err) : SS_OK;
    if (status != SS_OK) {
        reply->status = status == SS_E_FORMAT ? 400 : status == SS_E_AGAIN ? 409 : 500;
        ss_strbuf_append_format(&reply->body, "%s\n", err.message);
        return;
    }
    ss_sink_open_memory(&sink, ANSWER_BYTES);
    ss_view_notes_write(pages->notes, &sink);
    reply->type = "application/json";
    ss_strbuf_append(&reply->body, sink.buffer.data, sink.buffer.length);
    ss_sink_abandon(&sink);
}

void ss_view_answer(void *context, const struct ss_serve_request *request,
                    struct ss_serve_reply *reply)
{
    const struct ss_view_pages *pages = context;
    if (strcmp(request->path, "/api/notes") == 0) {
        answer_notes(pages, request, reply);
    } else if (request->is_put) {
        fail(reply, 405, "Nothing to change here.\n");
    } else if (!find_file(request->path, reply) && !find_answer(pages, request, reply) &&
               !find_input(pages, request, reply)) {
        fail(reply, 404, "No such page.\n");
    }
}
