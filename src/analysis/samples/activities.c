/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/samples/activities.h"

#include <string.h>

#include "base/alloc.h"
#include "model/core/origin.h"
#include "model/core/owner.h"

struct activity {
    bool is_wait;
    const char *text, *cure;
};

struct frame_row {
    enum ss_activity activity;
    const char *module, *functions;
};

struct call_row {
    enum ss_activity activity;
    const char *call;
};

#define SS_ACTIVITY(id, is_wait, text, cure) [SS_ACTIVITY_##id] = {is_wait, text, cure},
static const struct activity activity_table[SS_ACTIVITY_COUNT] = {
    [SS_ACTIVITY_NOTHING] = {false, "", NULL},
#include "analysis/samples/activities.def"
};

#define SS_ACTIVITY_FRAME(id, module, functions) {SS_ACTIVITY_##id, module, functions},
static const struct frame_row frame_rows[] = {
#include "analysis/samples/activities.def"
};

#define SS_ACTIVITY_CALL(id, call) {SS_ACTIVITY_##id, call},
static const struct call_row call_rows[] = {
#include "analysis/samples/activities.def"
};

_Static_assert(SS_ACTIVITY_COUNT < UINT8_MAX, "fits the caches");

void ss_activities_init(struct ss_activities *activities, const struct ss_model *model,
                        const struct ss_source_lines *source)
{
    bool reads = source != NULL && source->line != NULL;
    *activities = (struct ss_activities){.model = model,
                                         .source = reads ? source : NULL,
                                         .computing = ss_alloc_zero(model->frames.count + 1, 1),
                                         .sleeping = ss_alloc_zero(model->frames.count + 1, 1)};
}

void ss_activities_fini(struct ss_activities *activities)
{
    ss_free(activities->computing);
    ss_free(activities->sleeping);
    *activities = (struct ss_activities){0};
}

/* --- library frames --------------------------------------------------------------------------- */

static bool is_one_of(const char *functions, struct ss_strview name)
{
    for (const char *at = functions; at != NULL; at = strchr(at, '|')) {
        at += *at == '|';
        size_t length = strcspn(at, "|");
        if (length == name.length && memcmp(at, name.data, length) == 0) {
            return true;
        }
    }
    return functions == NULL;
}

static enum ss_activity find_frame(const struct ss_model *model, const struct ss_model_frame *frame)
{
    struct ss_strview path = ss_intern_get(&model->strings, frame->short_file);
    ss_module_of_path(ss_intern_get(&model->strings, frame->file), frame->origin, &path);
    struct ss_strview name = ss_intern_get(&model->strings, frame->name);
    for (size_t i = 0; i < sizeof frame_rows / sizeof *frame_rows; i++) {
        if (ss_module_is(path, frame_rows[i].module) && is_one_of(frame_rows[i].functions, name)) {
            return frame_rows[i].activity;
        }
    }
    return SS_ACTIVITY_NOTHING;
}

static enum ss_activity activity_of_frame(struct ss_activities *activities, uint32_t id)
{
    const struct ss_model_frame *frame = &activities->model->frames.data[id];
    uint8_t *cached = &activities->computing[id];
    if (*cached == 0) {
        bool is_library = ss_owner_is_stdlib(frame->owner) || ss_owner_is_package(frame->owner);
        *cached = (uint8_t)(1 + (is_library ? find_frame(activities->model, frame)
                                            : SS_ACTIVITY_NOTHING));
    }
    return (enum ss_activity)(*cached - 1);
}

/* --- lines of user code ----------------------------------------------------------------------- */

enum { MAX_LINE_BYTES = 1024 };

static bool is_identifier(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

/* Copies the line without comments and string contents, cut at MAX_LINE_BYTES. */
static size_t put_code(struct ss_strview line, char *text)
{
    size_t length = 0;
    char quote = 0;
    for (size_t i = 0; i < line.length && length < MAX_LINE_BYTES; i++) {
        char c = line.data[i];
        if (quote == 0 && c == '#') {
            break;
        }
        if (quote == 0) {
            text[length++] = c;
            quote = c == '"' || c == '\'' ? c : 0;
        } else if (c == '\\') {
            i++;
        } else if (c == quote) {
            text[length++] = c;
            quote = 0;
        }
    }
    return length;
}

static bool calls(const char *text, size_t length, const char *call)
{
    size_t size = strlen(call);
    const char *end = text + length, *at = text;
    bool is_free = call[0] == '.' || call[0] == '_';
    while ((at = memmem(at, (size_t)(end - at), call, size)) != NULL) {
        if (is_free || at == text || !is_identifier(at[-1])) {
            return true;
        }
        at++;
    }
    return false;
}

static enum ss_activity find_call(const char *text, size_t length, bool sleeps)
{
    enum ss_activity fallback = SS_ACTIVITY_NOTHING;
    for (size_t i = 0; i < sizeof call_rows / sizeof *call_rows; i++) {
        enum ss_activity activity = call_rows[i].activity;
        bool fits_state = activity_table[activity].is_wait == sleeps;
        bool is_candidate = fits_state || fallback == SS_ACTIVITY_NOTHING;
        if (is_candidate && calls(text, length, call_rows[i].call)) {
            if (fits_state) {
                return activity;
            }
            fallback = activity;
        }
    }
    return fallback;
}

/* "x, y = a[i], b[i]" and "return a[i]": a line that indexes, and calls nothing. */
static bool only_indexes(const char *text, size_t length)
{
    size_t begin = 0;
    while (begin < length && text[begin] == ' ') {
        begin++;
    }
    bool returns = length - begin > 7 && memcmp(text + begin, "return ", 7) == 0;
    const char *value = returns ? text + begin + 6 : memmem(text, length, " = ", 3);
    if (value == NULL) {
        return false;
    }
    size_t rest = length - (size_t)(value - text);
    return memchr(value, '[', rest) != NULL && memchr(text, '(', length) == NULL;
}

static enum ss_activity activity_of_line(struct ss_activities *activities, uint32_t id, bool sleeps)
{
    const struct ss_model *model = activities->model;
    const struct ss_model_frame *frame = &model->frames.data[id];
    uint8_t *cached = sleeps ? &activities->sleeping[id] : &activities->computing[id];
    if (*cached == 0 && activities->source != NULL && frame->line > 0) {
        struct ss_strview line = activities->source->line(
            activities->source->context, ss_intern_get(&model->strings, frame->file),
            (uint32_t)frame->line);
        char text[MAX_LINE_BYTES];
        size_t length = line.data != NULL ? put_code(line, text) : 0;
        enum ss_activity activity = find_call(text, length, sleeps);
        bool indexes = activity == SS_ACTIVITY_NOTHING && !sleeps && only_indexes(text, length);
        *cached = (uint8_t)(1 + (indexes ? SS_ACTIVITY_INDEXING : activity));
    }
    return *cached > 0 ? (enum ss_activity)(*cached - 1) : SS_ACTIVITY_NOTHING;
}

/* --- stacks ---------------------------------------------------------------------------------- */

static enum ss_activity find_stack(struct ss_activities *activities, uint32_t stack, bool sleeps)
{
    const struct ss_model *model = activities->model;
    enum ss_activity found = SS_ACTIVITY_NOTHING;
    for (uint32_t at = stack; at != 0; at = model->stacks.data[at].parent) {
        uint32_t id = model->stacks.data[at].frame;
        if (model->frames.data[id].owner == SS_OWNER_PROGRAM) {
            return at == stack ? activity_of_line(activities, id, sleeps) : found;
        }
        enum ss_activity activity = activity_of_frame(activities, id);
        found = activity != SS_ACTIVITY_NOTHING ? activity : found;
    }
    return found;
}

enum ss_activity ss_activity_of_stack(struct ss_activities *activities, uint32_t stack,
                                      enum ss_thread_state state, enum ss_gil_state gil)
{
    if (gil == SS_GIL_WAITED) {
        return SS_ACTIVITY_GIL_WAIT;
    }
    bool sleeps = state == SS_STATE_SLEEPING || state == SS_STATE_UNINTERRUPTIBLE;
    enum ss_activity activity = find_stack(activities, stack, sleeps);
    bool is_disk = activity == SS_ACTIVITY_NOTHING && state == SS_STATE_UNINTERRUPTIBLE;
    return is_disk ? SS_ACTIVITY_DISK_WAIT : activity;
}

/* The activity of a kernel wait. A futex has none: the threads of an operator wait for each other
 * in one, too. */
static enum ss_activity activity_of_wait(enum ss_wait_kind wait)
{
    switch (wait) {
    case SS_WAIT_TIMER:
        return SS_ACTIVITY_SLEEP;
    case SS_WAIT_SOCKET:
        return SS_ACTIVITY_NETWORK;
    case SS_WAIT_PIPE:
        return SS_ACTIVITY_PROCESS_WAIT;
    case SS_WAIT_FILE:
        return SS_ACTIVITY_DISK_WAIT;
    case SS_WAIT_CHILD:
        return SS_ACTIVITY_SUBPROCESS;
    default:
        return SS_ACTIVITY_NOTHING;
    }
}

/* A named pipe and a socket are read and written like files. */
static bool is_no_file(enum ss_activity activity, enum ss_activity wait)
{
    return (activity == SS_ACTIVITY_FILES || activity == SS_ACTIVITY_FILE_WRITES) &&
           (wait == SS_ACTIVITY_PROCESS_WAIT || wait == SS_ACTIVITY_NETWORK);
}

/* A thread that sleeps in a futex at a `with` statement waits for the lock that it enters. */
static bool enters_lock(struct ss_activities *activities, const struct ss_model_total *total)
{
    const struct ss_model *model = activities->model;
    uint32_t id = model->stacks.data[total->stack].frame;
    const struct ss_model_frame *frame = &model->frames.data[id];
    if (total->wait != SS_WAIT_FUTEX || total->in_operator == SS_OPERATOR_INSIDE ||
        frame->owner != SS_OWNER_PROGRAM || activities->source == NULL || frame->line <= 0) {
        return false;
    }
    struct ss_strview line = activities->source->line(activities->source->context,
                                                      ss_intern_get(&model->strings, frame->file),
                                                      (uint32_t)frame->line);
    size_t indent = 0;
    while (indent < line.length && line.data[indent] == ' ') {
        indent++;
    }
    return line.length - indent > 5 && memcmp(line.data + indent, "with ", 5) == 0;
}

/* A notebook's kernel runs any code within an event loop of Tornado. */
static bool handles_request(struct ss_activities *activities, uint32_t id)
{
    const struct ss_model *model = activities->model;
    return activity_of_frame(activities, id) == SS_ACTIVITY_REQUESTS &&
           strstr(ss_model_text(model, model->frames.data[id].file), "/tornado/platform/") == NULL;
}

/* In the handler of a request, a bare socket is the client's. */
static bool reads_request(struct ss_activities *activities, uint32_t stack)
{
    const struct ss_model *model = activities->model;
    uint32_t at = stack;
    for (; at != 0; at = model->stacks.data[at].parent) {
        const struct ss_model_frame *frame = &model->frames.data[model->stacks.data[at].frame];
        const char *file = ss_model_text(model, frame->file);
        if (frame->owner == SS_OWNER_PROGRAM) {
            break;
        }
        if (strstr(file, "/socket.py") == NULL && strstr(file, "/ssl.py") == NULL) {
            return false;
        }
    }
    while (at != 0 && !handles_request(activities, model->stacks.data[at].frame)) {
        at = model->stacks.data[at].parent;
    }
    return at != 0;
}

/* What the stack says, and, for a thread that sleeps, the kernel. */
static enum ss_activity refine(struct ss_activities *activities, const struct ss_model_total *total)
{
    enum ss_thread_state state = (enum ss_thread_state)total->state;
    enum ss_activity activity =
        ss_activity_of_stack(activities, total->stack, state, (enum ss_gil_state)total->gil);
    enum ss_activity wait = activity_of_wait((enum ss_wait_kind)total->wait);
    bool is_specific_wait = ss_activity_is_wait(activity) && activity != SS_ACTIVITY_DISK_WAIT &&
                            !is_no_file(activity, wait);
    if (is_specific_wait || total->wait == SS_WAIT_UNKNOWN) {
        return activity;
    }
    bool is_disk = activity == SS_ACTIVITY_DISK_WAIT; /* from the state, which other waits share */
    return wait != SS_ACTIVITY_NOTHING ? wait : is_disk ? SS_ACTIVITY_NOTHING : activity;
}

enum ss_activity ss_activity_of_total(struct ss_activities *activities,
                                      const struct ss_model_total *total)
{
    enum ss_activity activity = refine(activities, total);
    if (activity == SS_ACTIVITY_NOTHING && enters_lock(activities, total)) {
        return SS_ACTIVITY_LOCK_WAIT;
    }
    bool is_of_client = activity == SS_ACTIVITY_NETWORK && reads_request(activities, total->stack);
    return is_of_client ? SS_ACTIVITY_REQUESTS : activity;
}

bool ss_activity_imports(struct ss_activities *activities, uint32_t stack)
{
    const struct ss_model *model = activities->model;
    uint32_t at = stack;
    while (at != 0 &&
           activity_of_frame(activities, model->stacks.data[at].frame) != SS_ACTIVITY_IMPORT) {
        at = model->stacks.data[at].parent;
    }
    return at != 0;
}

/* --- the table ------------------------------------------------------------------------------- */

const char *ss_activity_text(enum ss_activity activity)
{
    return activity_table[activity].text;
}

const char *ss_activity_fix(enum ss_activity activity)
{
    return activity_table[activity].cure;
}

bool ss_activity_is_wait(enum ss_activity activity)
{
    return activity_table[activity].is_wait;
}

void ss_activity_count(struct ss_activity_counts *counts, enum ss_activity activity,
                       uint64_t samples)
{
    counts->samples[activity] += samples;
    counts->all += samples;
}

static bool is_half(uint64_t samples, const struct ss_activity_counts *counts)
{
    return samples > 0 && 2 * samples >= counts->all;
}

enum ss_activity ss_activity_majority(const struct ss_activity_counts *counts)
{
    const uint64_t *samples = counts->samples;
    for (size_t i = 1; i < SS_ACTIVITY_COUNT; i++) {
        if (is_half(samples[i], counts)) {
            return (enum ss_activity)i;
        }
    }
    /* Parts of one work, as a log that is serialised, written and flushed in each step. */
    uint64_t reads = samples[SS_ACTIVITY_FILES] + samples[SS_ACTIVITY_DISK_WAIT];
    uint64_t writes = samples[SS_ACTIVITY_FILE_WRITES];
    if (is_half(reads + writes, counts)) {
        return writes > reads ? SS_ACTIVITY_FILE_WRITES : SS_ACTIVITY_FILES;
    }
    return is_half(reads + writes + samples[SS_ACTIVITY_SERIALISATION], counts)
               ? SS_ACTIVITY_STORING
               : SS_ACTIVITY_NOTHING;
}
