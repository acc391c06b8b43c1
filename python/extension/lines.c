/* SPDX-License-Identifier: Apache-2.0 */
/* Times of lines, added up per line and handed to the recorder now and then: a record for each
 * event would be a thousand times as much. */
#include "tracing.h"

#include <pthread.h>
#include <stdlib.h>

/* A call of a function whose lines are timed. */
struct open_lines {
    struct ss_code *code; /* only compared, until it is known to be alive */
    uint32_t line;        /* index, or NO_LINE */
    bool is_hit;          /* it began here; else it continues */
    uint64_t since;
};

#define NO_LINE UINT32_MAX

static __thread struct {
    uint32_t depth, capacity, generation;
    struct open_lines *calls;
} open;
static pthread_key_t open_key;

/* In ticks of 0.25 to 1 ns: half a second at most; when the last such call returns, earlier. */
static const uint64_t flush_after = UINT64_C(1) << 29, flush_early_after = UINT64_C(1) << 26;
static uint64_t flushed_at;
static bool has_windows; /* a schedule says which steps are recorded */

/* --- emission -------------------------------------------------------------------------------- */

void ss_lines_flush_code(struct ss_code *code)
{
    if (!code->has_unsent || !ss_recording(STEPSCOPE_RANGES)) {
        return;
    }
    for (uint32_t i = 0; i < code->line_count; i++) {
        struct ss_line *line = &code->line[i];
        if ((line->hits | line->ticks) == 0) {
            continue;
        }
        if (!ss_runtime->line(code->name, code->first_line + i, line->hits, line->ticks)) {
            return; /* no room: next time */
        }
        *line = (struct ss_line){0};
    }
    code->has_unsent = false;
}

void ss_lines_flush(void)
{
    for (struct ss_code *code = ss_tracing.codes; code != NULL; code = code->next) {
        ss_lines_flush_code(code);
    }
    flushed_at = ss_runtime->ticks();
}

void ss_lines_flush_for_step(void)
{
    if (has_windows || ss_runtime->ticks() - flushed_at > flush_early_after) {
        ss_lines_flush();
    }
}

void ss_lines_follow_schedule(void)
{
    has_windows = true;
    ss_lines_flush();
}

/* Safe right after a fork: nothing but stores. */
void ss_lines_forget(void)
{
    for (struct ss_code *code = ss_tracing.codes; code != NULL; code = code->next) {
        if (code->has_unsent) {
            memset(code->line, 0, code->line_count * sizeof *code->line);
            code->has_unsent = false;
        }
    }
}

/* --- counting -------------------------------------------------------------------------------- */

static inline void end_line(struct open_lines *call, uint64_t now)
{
    if (call->line != NO_LINE) {
        struct ss_line *line = &call->code->line[call->line];
        line->hits += call->is_hit;
        line->ticks += now - call->since;
        call->code->has_unsent = true;
    }
}

static bool grow(void)
{
    uint32_t capacity = open.capacity > 0 ? open.capacity * 2 : 64;
    struct open_lines *calls = realloc(open.calls, capacity * sizeof *calls);
    if (calls == NULL || pthread_setspecific(open_key, calls) != 0) {
        return false;
    }
    open.calls = calls;
    open.capacity = capacity;
    return true;
}

/* NULL: no memory. */
static struct open_lines *push(struct ss_code *code)
{
    if (__builtin_expect(open.generation != ss_tracing.generation, 0)) {
        open.generation = ss_tracing.generation;
        open.depth = 0;
    }
    if (__builtin_expect(open.depth == open.capacity, 0) && !grow()) {
        return NULL;
    }
    struct open_lines *call = &open.calls[open.depth++];
    *call = (struct open_lines){.code = code, .line = NO_LINE};
    return call;
}

/* The innermost open call of the code; those above it have lost their end. NULL: it began before
 * the lines were timed. */
static inline struct open_lines *find(const struct ss_code *code)
{
    if (__builtin_expect(open.generation != ss_tracing.generation, 0)) {
        return NULL;
    }
    for (uint32_t depth = open.depth; depth > 0; depth--) {
        if (__builtin_expect(open.calls[depth - 1].code == code, 1)) {
            open.depth = depth;
            return &open.calls[depth - 1];
        }
    }
    return NULL;
}

static inline uint32_t index_of(const struct ss_code *code, int line)
{
    uint32_t index = (uint32_t)line - code->first_line;
    return line > 0 && index < code->line_count ? index : NO_LINE;
}

void ss_lines_enter(struct ss_code *code)
{
    push(code);
}

void ss_lines_resume(struct ss_code *code, int line)
{
    struct open_lines *call = push(code);
    if (call != NULL && (uint32_t)line != code->first_line) {
        call->line = index_of(code, line);
        call->since = ss_runtime->ticks();
    }
}

void ss_lines_line(struct ss_code *code, int line)
{
    uint64_t now = ss_runtime->ticks();
    struct open_lines *call = find(code);
    if (__builtin_expect(call == NULL, 0) && (call = push(code)) == NULL) {
        return;
    }
    end_line(call, now);
    call->line = index_of(code, line);
    call->is_hit = true;
    call->since = now;
    if (__builtin_expect(now - flushed_at > flush_after, 0)) {
        ss_lines_flush();
    }
}

void ss_lines_leave(struct ss_code *code)
{
    struct open_lines *call = find(code);
    if (call == NULL) {
        return;
    }
    uint64_t now = ss_runtime->ticks();
    end_line(call, now);
    open.depth--;
    if (now - flushed_at > (open.depth == 0 ? flush_early_after : flush_after)) {
        ss_lines_flush();
    }
}

bool ss_lines_init(void)
{
    has_windows = getenv("STEPSCOPE_SCHEDULE") != NULL;
    return pthread_key_create(&open_key, free) == 0;
}
