/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/samples/lock_holder.h"

#include <string.h>

#include "analysis/samples/line_samples.h"
#include "base/alloc.h"
#include "model/core/owner.h"

enum { MOST_LINES_ABOVE = 200, MOST_LOCKS = 4 };

struct names {
    struct ss_strview names[MOST_LOCKS];
    size_t count;
};

/* --- a line of source ------------------------------------------------------------------------- */

static bool is_of_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

static size_t indent_of(struct ss_strview line)
{
    size_t indent = 0;
    while (indent < line.length && line.data[indent] == ' ') {
        indent++;
    }
    return indent;
}

static bool begins_with(struct ss_strview line, const char *word)
{
    size_t indent = indent_of(line), length = strlen(word);
    return line.length - indent >= length && memcmp(line.data + indent, word, length) == 0;
}

/* The last name of an expression, before what it calls or indexes: "lock" of "self.lock". */
static struct ss_strview last_name(struct ss_strview expression)
{
    size_t end = 0, begin;
    while (end < expression.length &&
           (is_of_name(expression.data[end]) || expression.data[end] == '.' ||
            expression.data[end] == ' ')) {
        end++;
    }
    while (end > 0 && expression.data[end - 1] == ' ') {
        end--;
    }
    for (begin = end; begin > 0 && is_of_name(expression.data[begin - 1]);) {
        begin--;
    }
    return (struct ss_strview){expression.data + begin, end - begin};
}

static void add_name(struct names *names, struct ss_strview expression)
{
    const char *as = memmem(expression.data, expression.length, " as ", 4);
    if (as != NULL) {
        expression.length = (size_t)(as - expression.data);
    }
    struct ss_strview name = last_name(expression);
    if (name.length > 0 && names->count < MOST_LOCKS) {
        names->names[names->count++] = name;
    }
}

/* What a `with` statement enters: "a" and "b" of "with self.a, b[0] as x: f()". */
static void find_entered(struct ss_strview line, struct names *names)
{
    if (!begins_with(line, "with ")) {
        return;
    }
    size_t first = indent_of(line) + strlen("with "), depth = 0;
    for (size_t i = first; i < line.length; i++) {
        char c = line.data[i];
        depth += c == '(' || c == '[' || c == '{';
        depth -= depth > 0 && (c == ')' || c == ']' || c == '}');
        if (depth == 0 && (c == ',' || c == ':')) {
            add_name(names, (struct ss_strview){line.data + first, i - first});
            first = i + 1;
        }
        if (depth == 0 && c == ':') {
            return;
        }
    }
}

static void find_acquired(struct ss_strview line, struct names *names)
{
    const char *at = memmem(line.data, line.length, ".acquire(", strlen(".acquire("));
    if (at != NULL) {
        const char *begin = at;
        while (begin > line.data && (is_of_name(begin[-1]) || begin[-1] == '.')) {
            begin--;
        }
        add_name(names, (struct ss_strview){begin, (size_t)(at - begin)});
    }
}

/* --- a thread with the lock ------------------------------------------------------------------- */

struct search {
    const struct ss_model *model;
    const struct ss_source_lines *source;
    struct ss_strview lock;
    uint8_t *holds; /* by frame; 0: unknown, else 1 + whether its line lies in such a statement */
};

static struct ss_strview line_of(const struct search *search, const struct ss_model_frame *frame,
                                 int32_t line)
{
    struct ss_strview path = ss_intern_get(&search->model->strings, frame->file);
    struct ss_strview none = {0};
    return line > 0 ? search->source->line(search->source->context, path, (uint32_t)line) : none;
}

static bool enters(const struct search *search, struct ss_strview line)
{
    struct names names = {0};
    find_entered(line, &names);
    for (size_t i = 0; i < names.count; i++) {
        if (ss_strview_equal(names.names[i], search->lock)) {
            return true;
        }
    }
    return false;
}

static bool lies_within(const struct search *search, const struct ss_model_frame *frame)
{
    struct ss_strview line = line_of(search, frame, frame->line);
    if (line.data == NULL) {
        return false;
    }
    size_t indent = indent_of(line);
    bool is_within = enters(search, line);
    for (int32_t at = frame->line - 1, tries = 0; !is_within && at > 0 && tries < MOST_LINES_ABOVE;
         at--, tries++) {
        line = line_of(search, frame, at);
        if (line.data == NULL || indent_of(line) == line.length || indent_of(line) >= indent) {
            continue;
        }
        indent = indent_of(line);
        if (begins_with(line, "def ") || begins_with(line, "class ")) {
            return false;
        }
        is_within = enters(search, line);
    }
    return is_within;
}

static bool holds_at(struct search *search, uint32_t id)
{
    const struct ss_model_frame *frame = &search->model->frames.data[id];
    if (frame->owner != SS_OWNER_PROGRAM) {
        return false;
    }
    if (search->holds[id] == 0) {
        search->holds[id] = (uint8_t)(1 + lies_within(search, frame));
    }
    return search->holds[id] == 2;
}

/* A thread that sleeps in the statement's own line waits for the lock, too, as far as is known. */
static bool holds(struct search *search, const struct ss_model_total *total)
{
    const struct ss_model *model = search->model;
    uint32_t leaf = model->stacks.data[total->stack].frame;
    for (uint32_t at = total->stack; at != 0; at = model->stacks.data[at].parent) {
        uint32_t id = model->stacks.data[at].frame;
        const struct ss_model_frame *frame = &model->frames.data[id];
        if (!holds_at(search, id)) {
            continue;
        }
        bool may_wait = id == leaf && total->state == SS_STATE_SLEEPING &&
                        (total->wait == SS_WAIT_FUTEX || total->wait == SS_WAIT_UNKNOWN);
        return !(may_wait && enters(search, line_of(search, frame, frame->line)));
    }
    return false;
}

static bool is_other_thread(const struct ss_model *model, const struct ss_step_summary *steps,
                            uint32_t thread)
{
    const struct ss_model_thread *row = &model->threads.data[thread];
    return !row->is_main && ss_step_has_process(steps, row->process);
}

/* Sets the thread with most samples that hold the lock. */
static void find_thread(struct search *search, const struct ss_step_summary *steps,
                        struct ss_lock_holder *holder)
{
    const struct ss_model *model = search->model;
    uint64_t most = 0, *samples = ss_alloc_zero(model->threads.count + 1, sizeof *samples);
    for (size_t i = 0; i < model->totals.count; i++) {
        const struct ss_model_total *total = &model->totals.data[i];
        if (is_other_thread(model, steps, total->thread) && holds(search, total)) {
            samples[total->thread] += total->samples;
            if (samples[total->thread] > most) {
                most = samples[total->thread];
                holder->thread = total->thread;
            }
        }
    }
    ss_free(samples);
}

static void find_line(struct search *search, struct ss_lock_holder *holder)
{
    const struct ss_model *model = search->model;
    struct ss_line_samples lines;
    ss_line_samples_init(&lines, model);
    for (size_t i = 0; i < model->totals.count && holder->thread != 0; i++) {
        const struct ss_model_total *total = &model->totals.data[i];
        if (total->thread == holder->thread && holds(search, total)) {
            ss_line_samples_add(&lines, model, 0, total, &holder->line);
        }
    }
    ss_line_samples_find(&lines, 0, &holder->line);
    ss_line_samples_fini(&lines);
}

void ss_lock_holder_find(struct ss_lock_holder *holder, const struct ss_model *model,
                         const struct ss_step_summary *steps, const struct ss_source_lines *source,
                         uint32_t frame)
{
    *holder = (struct ss_lock_holder){.thread = 0};
    if (frame == 0 || source == NULL || source->line == NULL) {
        return;
    }
    struct search search = {.model = model, .source = source};
    const struct ss_model_frame *waits = &model->frames.data[frame];
    struct ss_strview line = line_of(&search, waits, waits->line);
    struct names names = {0};
    if (line.data != NULL) {
        find_entered(line, &names);
        find_acquired(line, &names);
    }
    if (names.count == 0 || names.names[0].length >= sizeof holder->lock) {
        return;
    }
    search.lock = names.names[0];
    memcpy(holder->lock, search.lock.data, search.lock.length);
    search.holds = ss_alloc_zero(model->frames.count + 1, sizeof *search.holds);
    find_thread(&search, steps, holder);
    find_line(&search, holder);
    ss_free(search.holds);
}
