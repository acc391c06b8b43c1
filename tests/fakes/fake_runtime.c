/* SPDX-License-Identifier: Apache-2.0 */
/* A libstepscope that writes down how it is called, for tests of what calls it: preload it, or load
 * it first. fake_gate opens and closes the gate, fake_log gives what was called, one line each. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define STEPSCOPE_BUILDING
#include "stepscope/stepscope.h"

#define EXPORT __attribute__((visibility("default")))
enum { MAX_NAMES = 4096, MAX_TEXT = 128, LOG_BYTES = 1 << 20 };

static char texts[MAX_NAMES][MAX_TEXT], domain_texts[256][MAX_TEXT], text_log[LOG_BYTES];
static uint32_t text_count = 1, domain_count = 1, gate_word;
static size_t log_used;

EXPORT void fake_gate(uint32_t bits);
EXPORT const char *fake_log(void);
EXPORT void fake_clear(void);

void fake_gate(uint32_t bits)
{
    gate_word = bits;
}

const char *fake_log(void)
{
    return text_log;
}

void fake_clear(void)
{
    log_used = 0;
    text_log[0] = '\0';
}

static __attribute__((format(printf, 1, 2))) void print_call(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (log_used + 512 < LOG_BYTES) {
        log_used += (size_t)vsnprintf(text_log + log_used, 512, format, list);
        text_log[log_used++] = '\n';
        text_log[log_used] = '\0';
    }
    va_end(list);
}

static uint32_t find(char table[][MAX_TEXT], uint32_t *count, uint32_t limit, const char *text,
                     size_t length)
{
    for (uint32_t i = 1; i < *count; i++) {
        if (strlen(table[i]) == length && memcmp(table[i], text, length) == 0) {
            return i;
        }
    }
    if (*count == limit || length >= MAX_TEXT) {
        return 0;
    }
    memcpy(table[*count], text, length);
    return (*count)++;
}

static stepscope_domain domain(const char *name)
{
    return find(domain_texts, &domain_count, 255, name, strlen(name));
}
static stepscope_name intern(const char *text, size_t length)
{
    return find(texts, &text_count, MAX_NAMES, text, length);
}
static void style(stepscope_name name, uint32_t argb, const char *category)
{
    print_call("style %s %08x %s", texts[name], argb, category != NULL ? category : "-");
}
static stepscope_name counter(const char *name, const char *unit, unsigned kind)
{
    print_call("counter %s %s %u", name, unit != NULL ? unit : "-", kind);
    return intern(name, strlen(name));
}

static const char *value(unsigned type, uint64_t bits)
{
    static char text[64];
    double real;
    memcpy(&real, &bits, sizeof real);
    switch (type) {
    case STEPSCOPE_UINT:
        snprintf(text, sizeof text, "u%" PRIu64, bits);
        break;
    case STEPSCOPE_INT:
        snprintf(text, sizeof text, "i%" PRId64, (int64_t)bits);
        break;
    case STEPSCOPE_DOUBLE:
        snprintf(text, sizeof text, "f%g", real);
        break;
    default:
        snprintf(text, sizeof text, "n%s", texts[bits]);
    }
    return text;
}

static int push(stepscope_domain in, stepscope_name name)
{
    print_call("push %s%s%s", domain_texts[in], in != 0 ? ":" : "", texts[name]);
    return 1;
}
static int push_value(stepscope_domain in, stepscope_name name, unsigned type, uint64_t bits)
{
    print_call("push %s%s%s = %s", domain_texts[in], in != 0 ? ":" : "", texts[name],
               value(type, bits));
    return 1;
}
static int pop(stepscope_domain in)
{
    print_call("pop%s%s", in != 0 ? " " : "", domain_texts[in]);
    return 0;
}
static void mark(stepscope_domain in, stepscope_name name)
{
    print_call("mark %s%s%s", domain_texts[in], in != 0 ? ":" : "", texts[name]);
}
static void mark_value(stepscope_domain in, stepscope_name name, unsigned type, uint64_t bits)
{
    print_call("mark %s%s%s = %s", domain_texts[in], in != 0 ? ":" : "", texts[name],
               value(type, bits));
}
static stepscope_id begin(stepscope_domain in, stepscope_name name, unsigned type, uint64_t bits)
{
    (void)in;
    (void)type;
    (void)bits;
    print_call("begin %s", texts[name]);
    return 7;
}
static void end(stepscope_id id)
{
    print_call("end %" PRIu64, id);
}
static stepscope_id flow_id(void)
{
    return 99;
}
static void flow(stepscope_id id, unsigned where)
{
    print_call("flow %" PRIu64 " %u", id, where);
}
static void count(stepscope_name number, unsigned type, uint64_t bits)
{
    print_call("count %s %s", texts[number], value(type, bits));
}
static void step(int64_t number)
{
    print_call("step %" PRId64, number);
}
static void epoch(int64_t number)
{
    print_call("epoch %" PRId64, number);
}
static void next_step(int64_t number)
{
    print_call("next %" PRId64, number);
}
static void begin_epoch(int64_t number, int64_t length, int64_t resumed_at)
{
    print_call("epoch %" PRId64 " %" PRId64 " %" PRId64, number, length, resumed_at);
}
static void phase(stepscope_name name)
{
    print_call("phase %s", texts[name]);
}
static void window(unsigned action, int64_t number, uint32_t which)
{
    print_call("window %u %" PRId64 " %u", action, number, which);
}
static void thread_name(const char *name)
{
    print_call("thread %s", name);
}
static void fact(stepscope_name key, unsigned type, uint64_t bits)
{
    print_call("fact %s %s", texts[key], value(type, bits));
}

static int schedule(const char *text)
{
    print_call("schedule %s", text != NULL ? text : "-");
    return 0;
}

static int sealed(uint64_t number, uint32_t timeout_ms, struct stepscope_sealed *out)
{
    (void)out;
    print_call("sealed %" PRIu64 " %" PRIu32, number, timeout_ms);
    return -1;
}

static int flush(uint32_t timeout_ms)
{
    print_call("flush %" PRIu32, timeout_ms);
    return 1;
}

static stepscope_name function(const char *text, size_t length, stepscope_name file, uint32_t line)
{
    if (text_count == MAX_NAMES || length >= MAX_TEXT) {
        return 0;
    }
    memcpy(texts[text_count], text, length);
    const char *path = strrchr(texts[file], '/');
    print_call("function %s %s:%u", texts[text_count], path != NULL ? path + 1 : texts[file], line);
    return text_count++;
}

static uint64_t ticks(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Times differ from run to run: only whether there is one. */
static int line(stepscope_name name, uint32_t number, uint64_t hits, uint64_t spent)
{
    print_call("line %s %u %" PRIu64 " %s", texts[name], number, hits,
               spent > 0 ? "took time" : "-");
    return 1;
}

static const stepscope_runtime runtime = {.size = sizeof runtime,
                                          .gate = &gate_word,
                                          .domain = domain,
                                          .intern = intern,
                                          .style = style,
                                          .counter = counter,
                                          .push = push,
                                          .push_value = push_value,
                                          .pop = pop,
                                          .mark = mark,
                                          .mark_value = mark_value,
                                          .begin = begin,
                                          .end = end,
                                          .flow_id = flow_id,
                                          .flow = flow,
                                          .count = count,
                                          .step = step,
                                          .epoch = epoch,
                                          .phase = phase,
                                          .window = window,
                                          .thread_name = thread_name,
                                          .fact = fact,
                                          .next_step = next_step,
                                          .begin_epoch = begin_epoch,
                                          .schedule = schedule,
                                          .sealed = sealed,
                                          .flush = flush,
                                          .function = function,
                                          .ticks = ticks,
                                          .line = line};

const stepscope_runtime *stepscope_runtime_get(uint32_t version)
{
    return version == STEPSCOPE_RUNTIME_VERSION ? &runtime : NULL;
}
