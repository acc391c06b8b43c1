/* SPDX-License-Identifier: Apache-2.0 */
/* What passes of operators and modules, and what becomes sums, as lines of text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/details/detail_filter.h"

#define MS UINT64_C(1000000)

enum { MAIN_TID = 100, OTHER_TID = 101, TEXT_BYTES = 1 << 14, MOST_NAMES = 64 };
enum { TORCH = 1, MODULES, OWN, OTHER, GC }; /* domains */

struct fixture {
    struct ss_detail_budget budget;
    struct ss_detail_filter *filter;
    struct ss_annot_sink sink;
    char names[MOST_NAMES][64];
    uint32_t name_count;
    char text[TEXT_BYTES];
    size_t used;
};

static void say(struct fixture *fixture, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = vsnprintf(fixture->text + fixture->used, TEXT_BYTES - fixture->used, format, list);
    va_end(list);
    assert_in_range(length, 0, TEXT_BYTES - fixture->used - 1);
    fixture->used += (size_t)length;
}

static void on_event(void *context, const struct ss_annot_event *event)
{
    struct fixture *fixture = context;
    static const char *const kinds[] = {[SS_ANNOT_RANGE_BEGIN] = "begin",
                                        [SS_ANNOT_RANGE_END] = "end",
                                        [SS_ANNOT_STEP] = "step",
                                        [SS_ANNOT_PROCESS_END] = "exit"};
    if (event->kind == SS_ANNOT_RANGE_BEGIN || event->kind == SS_ANNOT_RANGE_END ||
        event->kind == SS_ANNOT_PROCESS_END) {
        say(fixture, "%" PRIu64 " %s%s%s\n", event->time_ns / MS, kinds[event->kind],
            event->kind == SS_ANNOT_RANGE_BEGIN ? " " : "",
            event->kind == SS_ANNOT_RANGE_BEGIN ? fixture->names[event->name] : "");
    }
}

static void on_name(void *context, const struct ss_annot_name *name)
{
    (void)context, (void)name;
}

static void on_domain(void *context, uint32_t id, struct ss_strview text)
{
    (void)context, (void)id, (void)text;
}

static void on_detail(void *context, uint64_t time_ns, enum ss_detail detail)
{
    static const char *const words[] = {"sums", "full", "stood out"};
    say(context, "%" PRIu64 " %s\n", time_ns / MS, words[detail]);
}

static void on_sums(void *context, const struct ss_detail_interval *interval,
                    const struct ss_detail_sum *rows, size_t count)
{
    struct fixture *fixture = context;
    say(fixture, "%" PRIu64 "-%" PRIu64 " of %" PRIu64 " steps, %" PRIu64 " ms",
        interval->begin_ns / MS, interval->end_ns / MS, interval->steps, interval->steps_ns / MS);
    say(fixture, ", %" PRIu64 " with operators\n", interval->operator_steps);
    for (size_t i = 0; i < count; i++) {
        say(fixture, " %s%s%s: %" PRIu64 " calls, self %" PRIu64 ", total %" PRIu64 "%s%s\n",
            rows[i].kind == SS_DETAIL_MODULES ? "module " : "", fixture->names[rows[i].name],
            rows[i].in_backward ? " (backward)" : "", rows[i].calls, rows[i].self_ns / MS,
            rows[i].total_ns / MS, rows[i].module != 0 ? " in " : "",
            rows[i].module != 0 ? fixture->names[rows[i].module] : "");
    }
}

static void on_wait(void *context, uint64_t begin_ns, uint64_t end_ns)
{
    say(context, "waits %" PRIu64 "-%" PRIu64 "\n", begin_ns / MS, end_ns / MS);
}

static uint32_t put_name(struct fixture *fixture, const char *text, uint32_t category,
                         enum ss_event_type type)
{
    struct ss_annot_name name = {.id = ++fixture->name_count,
                                 .text = ss_strview_of(text),
                                 .category = category,
                                 .type = type};
    snprintf(fixture->names[name.id], sizeof fixture->names[0], "%s", text);
    fixture->sink.name(fixture->sink.context, &name);
    return name.id;
}

static void begin(struct fixture *fixture)
{
    memset(fixture, 0, sizeof *fixture);
    struct ss_annot_sink sink = {fixture, on_name, on_domain, NULL, on_event};
    struct ss_detail_output output = {fixture, on_detail, on_sums, on_wait};
    ss_detail_budget_init(&fixture->budget, UINT64_C(16) << 20, 0);
    fixture->filter = ss_detail_filter_new(&sink, &output, &fixture->budget, MAIN_TID);
    fixture->sink = ss_detail_filter_sink(fixture->filter);
    fixture->sink.domain(fixture->sink.context, TORCH, ss_strview_of("torch"));
    fixture->sink.domain(fixture->sink.context, MODULES, ss_strview_of("torch.module"));
    fixture->sink.domain(fixture->sink.context, OWN, ss_strview_of("mine"));
    fixture->sink.domain(fixture->sink.context, OTHER, ss_strview_of("theirs"));
    fixture->sink.domain(fixture->sink.context, GC, ss_strview_of("python.gc"));
}

static void end(struct fixture *fixture)
{
    ss_detail_filter_free(fixture->filter);
}

/* The first steps have used up their share. */
static void use_up(struct fixture *fixture)
{
    struct ss_detail_figures figures = {.now_ns = 1, .bytes = 1 << 20, .records = 1 << 17};
    ss_detail_budget_spend(&fixture->budget, SS_DETAIL_FULL, 1 << 18);
    ss_detail_budget_update(&fixture->budget, &figures);
    assert_true(ss_detail_budget_thins(&fixture->budget));
}

static void put(struct fixture *fixture, enum ss_annot_kind kind, uint64_t ms, uint32_t domain,
                uint32_t name, int32_t tid)
{
    struct ss_annot_event event = {.kind = kind,
                                   .time_ns = ms * MS,
                                   .lane = tid == MAIN_TID ? 1 : 0,
                                   .thread = tid == MAIN_TID ? 1 : 2,
                                   .tid = tid,
                                   .domain = domain,
                                   .name = name};
    fixture->sink.event(fixture->sink.context, &event);
}

static void range(struct fixture *fixture, uint32_t name, uint64_t from_ms, uint64_t to_ms)
{
    put(fixture, SS_ANNOT_RANGE_BEGIN, from_ms, TORCH, name, MAIN_TID);
    put(fixture, SS_ANNOT_RANGE_END, to_ms, TORCH, 0, MAIN_TID);
}

static void numbered(struct fixture *fixture, uint64_t ms, uint32_t name, uint64_t number,
                     int32_t tid)
{
    struct ss_annot_event event = {.kind = SS_ANNOT_RANGE_BEGIN,
                                   .time_ns = ms * MS,
                                   .lane = tid == MAIN_TID ? 1 : 0,
                                   .thread = tid == MAIN_TID ? 1 : 2,
                                   .tid = tid,
                                   .domain = TORCH,
                                   .name = name,
                                   .value_type = SS_RING_VALUE_SIGNED,
                                   .value = number};
    fixture->sink.event(fixture->sink.context, &event);
}

static void step(struct fixture *fixture, uint64_t ms)
{
    put(fixture, SS_ANNOT_STEP, ms, 0, 0, MAIN_TID);
}

static void leave(struct fixture *fixture, uint64_t ms)
{
    put(fixture, SS_ANNOT_PROCESS_END, ms, 0, 0, MAIN_TID);
}

static void has(const struct fixture *fixture, const char *text)
{
    assert_string_equal(fixture->text, text);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void all_passes_at_once_until_steps_are_thinned(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    uint32_t add = put_name(&fixture, "add", 0, SS_EVENT_TYPE_NONE);
    step(&fixture, 10);
    range(&fixture, add, 11, 12);
    has(&fixture, "11 begin add\n12 end\n");
    ss_detail_filter_drained(fixture.filter, 20 * MS);
    step(&fixture, 20);
    leave(&fixture, 30);
    has(&fixture, "11 begin add\n12 end\n30 exit\n");
    end(&fixture);
}

/* The step after the share is used up becomes sums; the last one, in which the program ends, is in
 * full; ranges of the program's own pass always. */
static void a_thinned_step_is_in_sums(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    uint32_t add = put_name(&fixture, "add", 0, SS_EVENT_TYPE_NONE);
    step(&fixture, 10);
    use_up(&fixture);
    range(&fixture, add, 11, 12);
    step(&fixture, 20);
    range(&fixture, add, 21, 24);
    put(&fixture, SS_ANNOT_RANGE_BEGIN, 25, OWN, add, MAIN_TID);
    put(&fixture, SS_ANNOT_RANGE_END, 26, OWN, 0, MAIN_TID);
    range(&fixture, add, 27, 28);
    step(&fixture, 30);
    range(&fixture, add, 31, 32);
    has(&fixture, "11 begin add\n12 end\n25 begin add\n26 end\n");
    ss_detail_filter_drained(fixture.filter, 40 * MS);
    leave(&fixture, 41);
    has(&fixture, "11 begin add\n12 end\n25 begin add\n26 end\n20 sums\n30 stood out\n"
                  "31 begin add\n32 end\n"
                  "20-30 of 1 steps, 10 ms, 1 with operators\n"
                  " add: 2 calls, self 4, total 4\n41 exit\n");
    end(&fixture);
}

/* Sums count as analysis/calls/calls.h does: self times, recursion, and a call with its only inner
 * call of the same name. */
static void sums_count_nested_calls(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    uint32_t mm = put_name(&fixture, "mm", 0, SS_EVENT_TYPE_NONE);
    uint32_t linear = put_name(&fixture, "linear", 0, SS_EVENT_TYPE_NONE);
    use_up(&fixture);
    step(&fixture, 10);
    put(&fixture, SS_ANNOT_RANGE_BEGIN, 11, TORCH, linear, MAIN_TID);
    put(&fixture, SS_ANNOT_RANGE_BEGIN, 12, TORCH, mm, MAIN_TID);
    range(&fixture, mm, 13, 15); /* the only inner call of its name: one with it */
    put(&fixture, SS_ANNOT_RANGE_END, 16, TORCH, 0, MAIN_TID);
    put(&fixture, SS_ANNOT_RANGE_END, 18, TORCH, 0, MAIN_TID);
    step(&fixture, 20);
    ss_detail_filter_drained(fixture.filter, 30 * MS);
    leave(&fixture, 31);
    has(&fixture, "10 sums\n20 stood out\n10-20 of 1 steps, 10 ms, 1 with operators\n"
                  " mm: 1 calls, self 4, total 4\n linear: 1 calls, self 3, total 7\n31 exit\n");
    end(&fixture);
}

/* The backward pass of another thread, which is drained before the forward pass, belongs to the
 * module whose operator has its number. */
static void backward_belongs_to_its_module(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    uint32_t backward = put_name(&fixture, "backward", 0, SS_EVENT_TYPE_NONE);
    uint32_t node = put_name(&fixture, "AddBackward", backward, SS_EVENT_TYPE_NONE);
    uint32_t add = put_name(&fixture, "add", 0, SS_EVENT_TYPE_NONE);
    uint32_t layer = put_name(&fixture, "layer", 0, SS_EVENT_TYPE_NONE);
    use_up(&fixture);
    step(&fixture, 10);
    numbered(&fixture, 16, node, 7, OTHER_TID);
    put(&fixture, SS_ANNOT_RANGE_BEGIN, 17, TORCH, add, OTHER_TID);
    put(&fixture, SS_ANNOT_RANGE_END, 18, TORCH, 0, OTHER_TID);
    put(&fixture, SS_ANNOT_RANGE_END, 19, TORCH, 0, OTHER_TID);
    put(&fixture, SS_ANNOT_RANGE_BEGIN, 11, MODULES, layer, MAIN_TID);
    numbered(&fixture, 12, add, 7, MAIN_TID);
    put(&fixture, SS_ANNOT_RANGE_END, 14, TORCH, 0, MAIN_TID);
    put(&fixture, SS_ANNOT_RANGE_END, 15, MODULES, 0, MAIN_TID);
    step(&fixture, 20);
    ss_detail_filter_drained(fixture.filter, 30 * MS);
    leave(&fixture, 31);
    has(&fixture, "10 sums\n20 stood out\n10-20 of 1 steps, 10 ms, 1 with operators\n"
                  " add: 1 calls, self 2, total 2 in layer\n"
                  " module layer: 1 calls, self 4, total 4\n"
                  " add (backward): 1 calls, self 1, total 1 in layer\n"
                  " AddBackward (backward): 1 calls, self 2, total 3 in layer\n31 exit\n");
    end(&fixture);
}

/* 20 steps of 10 ms, one of 40 ms and one more: only the long one is written. */
static void a_step_that_stands_out_is_written(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    uint32_t add = put_name(&fixture, "add", 0, SS_EVENT_TYPE_NONE);
    use_up(&fixture);
    for (uint64_t i = 1; i <= 20; i++) {
        step(&fixture, 10 * i);
    }
    step(&fixture, 210);
    range(&fixture, add, 215, 245);
    step(&fixture, 250);
    range(&fixture, add, 251, 252);
    step(&fixture, 260);
    ss_detail_filter_drained(fixture.filter, 300 * MS);
    has(&fixture, "10 sums\n210 stood out\n215 begin add\n245 end\n250 sums\n");
    leave(&fixture, 301);
    end(&fixture);
}

/* A range that spans steps is written or not as a whole, so that nests stay nests. */
static void ranges_across_steps_are_whole(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    uint32_t outer = put_name(&fixture, "outer", 0, SS_EVENT_TYPE_NONE);
    uint32_t add = put_name(&fixture, "add", 0, SS_EVENT_TYPE_NONE);
    step(&fixture, 5);
    put(&fixture, SS_ANNOT_RANGE_BEGIN, 6, TORCH, outer, MAIN_TID);
    use_up(&fixture);
    step(&fixture, 10);
    range(&fixture, add, 11, 12);
    put(&fixture, SS_ANNOT_RANGE_END, 13, TORCH, 0, MAIN_TID); /* of outer: was written */
    put(&fixture, SS_ANNOT_RANGE_BEGIN, 14, TORCH, outer, MAIN_TID);
    step(&fixture, 20); /* the last one, in full */
    range(&fixture, add, 21, 22);
    put(&fixture, SS_ANNOT_RANGE_END, 23, TORCH, 0, MAIN_TID); /* of outer: was not */
    ss_detail_filter_drained(fixture.filter, 30 * MS);
    leave(&fixture, 31);
    has(&fixture, "6 begin outer\n10 sums\n13 end\n20 stood out\n21 begin add\n22 end\n"
                  "10-20 of 1 steps, 10 ms, 1 with operators\n"
                  " add: 1 calls, self 1, total 1\n31 exit\n");
    end(&fixture);
}

/* What waits for its step is not held without end. */
static void a_huge_step_becomes_sums_while_it_lasts(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    uint32_t add = put_name(&fixture, "add", 0, SS_EVENT_TYPE_NONE);
    use_up(&fixture);
    step(&fixture, 10);
    for (uint64_t i = 0; i <= SS_DETAIL_MOST_HELD / 2; i++) {
        range(&fixture, add, 11, 12);
    }
    ss_detail_filter_drained(fixture.filter, 20 * MS);
    has(&fixture, "10 sums\n");
    leave(&fixture, 31);
    end(&fixture);
}

/* Between the operators of a summed step, the main thread waits for a collective. */
static void waits_for_collectives_stay(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    uint32_t add = put_name(&fixture, "add", 0, SS_EVENT_TYPE_NONE);
    uint32_t reduce = put_name(&fixture, "gloo:all_reduce", 0, SS_EVENT_TYPE_collective);
    struct ss_annot_event collective = {
        .kind = SS_ANNOT_ASYNC_BEGIN, .time_ns = 12 * MS, .id = 3, .domain = TORCH, .name = reduce};
    use_up(&fixture);
    step(&fixture, 10);
    range(&fixture, add, 11, 13);
    fixture.sink.event(fixture.sink.context, &collective);
    range(&fixture, add, 15, 16);
    collective.kind = SS_ANNOT_ASYNC_END, collective.time_ns = 18 * MS;
    fixture.sink.event(fixture.sink.context, &collective);
    step(&fixture, 20);
    ss_detail_filter_drained(fixture.filter, 30 * MS);
    has(&fixture, "10 sums\nwaits 13-15\nwaits 16-18\n");
    leave(&fixture, 31);
    end(&fixture);
}

/* Of a step of 640 ms, waits of less than 20 ms are one for each phase. */
static void short_waits_are_one_for_each_phase(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    uint32_t add = put_name(&fixture, "add", 0, SS_EVENT_TYPE_NONE);
    uint32_t reduce = put_name(&fixture, "gloo:all_reduce", 0, SS_EVENT_TYPE_collective);
    struct ss_annot_event collective = {.kind = SS_ANNOT_ASYNC_BEGIN,
                                        .time_ns = 100 * MS,
                                        .id = 3,
                                        .domain = TORCH,
                                        .name = reduce};
    use_up(&fixture);
    step(&fixture, 100);
    fixture.sink.event(fixture.sink.context, &collective);
    for (uint64_t i = 0; i < 4; i++) { /* gaps of 5 ms; a phase begins in the third */
        range(&fixture, add, 105 + 50 * i, 150 + 50 * i);
        if (i == 2) {
            put(&fixture, SS_ANNOT_PHASE, 202, 0, add, MAIN_TID);
        }
    }
    range(&fixture, add, 400, 700); /* after 100 ms */
    collective.kind = SS_ANNOT_ASYNC_END, collective.time_ns = 703 * MS;
    fixture.sink.event(fixture.sink.context, &collective);
    step(&fixture, 740);
    ss_detail_filter_drained(fixture.filter, 800 * MS);
    has(&fixture, "100 sums\nwaits 190-202\nwaits 247-255\nwaits 300-400\nwaits 700-703\n");
    leave(&fixture, 801);
    end(&fixture);
}

/* A program without steps: slices of a second; modules, of which there are few, stay. */
static void a_program_without_steps_has_slices(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    uint32_t add = put_name(&fixture, "add", 0, SS_EVENT_TYPE_NONE);
    uint32_t model = put_name(&fixture, "model", 0, SS_EVENT_TYPE_NONE);
    use_up(&fixture);
    ss_detail_filter_drained(fixture.filter, 100 * MS);
    put(&fixture, SS_ANNOT_RANGE_BEGIN, 110, MODULES, model, MAIN_TID);
    range(&fixture, add, 111, 112);
    put(&fixture, SS_ANNOT_RANGE_END, 113, MODULES, 0, MAIN_TID);
    ss_detail_filter_drained(fixture.filter, 2000 * MS);
    leave(&fixture, 2100);
    has(&fixture, "110 begin model\n113 end\n99 sums\n99-1999 of 0 steps, 0 ms, 0 with operators\n"
                  " add: 1 calls, self 1, total 1\n2100 exit\n");
    end(&fixture);
}

/* A process that follows a schedule: what its windows have was asked for. What was open until then
 * is in full. */
static void a_stopped_filter_passes_all(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    uint32_t add = put_name(&fixture, "add", 0, SS_EVENT_TYPE_NONE);
    use_up(&fixture);
    step(&fixture, 10);
    range(&fixture, add, 11, 12);
    ss_detail_filter_stop(fixture.filter);
    step(&fixture, 20);
    range(&fixture, add, 21, 22);
    leave(&fixture, 31);
    has(&fixture, "10 stood out\n11 begin add\n12 end\n20 full\n21 begin add\n22 end\n31 exit\n");
    end(&fixture);
}

/* Events of devices come seconds later, or before their step has ended. */
static void steps_are_known_by_their_time(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    assert_int_equal(ss_detail_filter_at(fixture.filter, 15 * MS), SS_DETAIL_FULL);
    step(&fixture, 10);
    assert_int_equal(ss_detail_filter_at(fixture.filter, 15 * MS), SS_DETAIL_UNDECIDED);
    ss_detail_filter_drained(fixture.filter, 14 * MS);
    assert_int_equal(ss_detail_filter_at(fixture.filter, 12 * MS), SS_DETAIL_FULL);
    assert_int_equal(ss_detail_filter_at(fixture.filter, 15 * MS), SS_DETAIL_UNDECIDED);
    use_up(&fixture);
    step(&fixture, 20);
    step(&fixture, 30);
    assert_int_equal(ss_detail_filter_at(fixture.filter, 15 * MS), SS_DETAIL_FULL);
    assert_int_equal(ss_detail_filter_at(fixture.filter, 25 * MS), SS_DETAIL_SUMS);
    assert_int_equal(ss_detail_filter_at(fixture.filter, 35 * MS), SS_DETAIL_UNDECIDED);
    ss_detail_filter_drained(fixture.filter, 40 * MS);
    leave(&fixture, 41);
    assert_int_equal(ss_detail_filter_at(fixture.filter, 15 * MS), SS_DETAIL_FULL);
    assert_int_equal(ss_detail_filter_at(fixture.filter, 25 * MS), SS_DETAIL_SUMS);
    assert_int_equal(ss_detail_filter_at(fixture.filter, 35 * MS), SS_DETAIL_STOOD_OUT);
    end(&fixture);
}

static void range_of(struct fixture *fixture, uint32_t domain, uint32_t name, uint64_t from_ms,
                     uint64_t to_ms)
{
    put(fixture, SS_ANNOT_RANGE_BEGIN, from_ms, domain, name, MAIN_TID);
    put(fixture, SS_ANNOT_RANGE_END, to_ms, domain, 0, MAIN_TID);
}

/* Once the file has its size, from the next step on: domains nest apart, marks are counted, and
 * what the recorder itself observes stays. */
static void ranges_of_the_program_are_sums_at_last(void **state)
{
    (void)state;
    struct fixture fixture;
    struct ss_detail_figures full = {.now_ns = 2, .bytes = UINT64_C(16) << 20, .records = 1 << 20};
    begin(&fixture);
    uint32_t work = put_name(&fixture, "work", 0, SS_EVENT_TYPE_NONE);
    uint32_t part = put_name(&fixture, "part", 0, SS_EVENT_TYPE_NONE);
    use_up(&fixture);
    step(&fixture, 10);
    put(&fixture, SS_ANNOT_RANGE_BEGIN, 11, OWN, work, MAIN_TID);
    ss_detail_budget_update(&fixture.budget, &full);
    step(&fixture, 20);
    put(&fixture, SS_ANNOT_RANGE_END, 21, OWN, 0, MAIN_TID); /* was begun in full */
    put(&fixture, SS_ANNOT_RANGE_BEGIN, 22, OWN, work, MAIN_TID);
    put(&fixture, SS_ANNOT_RANGE_BEGIN, 23, OTHER, part, MAIN_TID);
    put(&fixture, SS_ANNOT_RANGE_END, 25, OWN, 0, MAIN_TID);
    put(&fixture, SS_ANNOT_RANGE_END, 27, OTHER, 0, MAIN_TID);
    put(&fixture, SS_ANNOT_MARK, 28, OWN, part, MAIN_TID);
    range_of(&fixture, GC, work, 28, 29);
    step(&fixture, 30);
    range_of(&fixture, OWN, work, 31, 32);
    ss_detail_filter_drained(fixture.filter, 40 * MS);
    leave(&fixture, 41);
    has(&fixture, "11 begin work\n28 begin work\n29 end\n10 sums\n21 end\n30 stood out\n"
                  "31 begin work\n32 end\n10-30 of 2 steps, 20 ms, 2 with operators\n"
                  " work: 1 calls, self 3, total 3\n part: 2 calls, self 4, total 4\n41 exit\n");
    end(&fixture);
}

/* A filter that is stopped within a range that was not written does not write its end either. */
static void a_stop_within_a_range(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    uint32_t add = put_name(&fixture, "add", 0, SS_EVENT_TYPE_NONE);
    use_up(&fixture);
    step(&fixture, 10);
    put(&fixture, SS_ANNOT_RANGE_BEGIN, 11, TORCH, add, MAIN_TID);
    step(&fixture, 20);
    ss_detail_filter_drained(fixture.filter, 30 * MS);
    ss_detail_filter_stop(fixture.filter);
    put(&fixture, SS_ANNOT_RANGE_END, 31, TORCH, 0, MAIN_TID);
    range(&fixture, add, 32, 33);
    leave(&fixture, 41);
    has(&fixture, "10 sums\n20 stood out\n10-20 of 1 steps, 10 ms, 1 with operators\n"
                  "32 begin add\n33 end\n41 exit\n");
    end(&fixture);
}

/* Sums are written each minute, later less often. */
static void sums_are_of_minutes(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    use_up(&fixture);
    for (uint64_t second = 1; second <= 130; second++) {
        step(&fixture, 1000 * second);
        ss_detail_filter_drained(fixture.filter, 1000 * second * MS + 2 * MS);
    }
    has(&fixture, "1000 sums\n1000-61000 of 60 steps, 60000 ms, 60 with operators\n"
                  "61000-121000 of 60 steps, 60000 ms, 60 with operators\n");
    end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_passes_at_once_until_steps_are_thinned),
        cmocka_unit_test(a_thinned_step_is_in_sums),
        cmocka_unit_test(sums_count_nested_calls),
        cmocka_unit_test(backward_belongs_to_its_module),
        cmocka_unit_test(a_step_that_stands_out_is_written),
        cmocka_unit_test(ranges_across_steps_are_whole),
        cmocka_unit_test(a_huge_step_becomes_sums_while_it_lasts),
        cmocka_unit_test(waits_for_collectives_stay),
        cmocka_unit_test(short_waits_are_one_for_each_phase),
        cmocka_unit_test(a_program_without_steps_has_slices),
        cmocka_unit_test(a_stopped_filter_passes_all),
        cmocka_unit_test(a_stop_within_a_range),
        cmocka_unit_test(ranges_of_the_program_are_sums_at_last),
        cmocka_unit_test(steps_are_known_by_their_time),
        cmocka_unit_test(sums_are_of_minutes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
