/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trigger/trigger_run.h"

#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/terminal.h"
#include "base/vec.h"
#include "view/output/text_cell.h"

enum { POLL_US = 50000, MOST_RECORDERS = 1 << 20, NAME_BYTES = SS_ON_DEMAND_NAME_BYTES };
/* Beyond the time in which recorders read requests: for the file system, and a busy machine. */
static const double spare_s = 1;
/* What it may take until a rank that takes part has answered, where nothing shows that it lives. */
static const double unlocked_patience_s = 5;

/* A process that has answered. */
struct answered {
    int32_t pid, rank;
};

struct recorder {
    char name[NAME_BYTES];
    struct ss_on_demand_recorder facts;
    bool is_gone;
    struct ss_vec_of(struct answered) answered; /* its processes, when it last answered */
};

struct line {
    char recorder[NAME_BYTES];
    char host[65];
    struct ss_on_demand_answer answer;
    char *path;
};

struct run {
    const struct ss_on_demand_folder *folder;
    struct ss_vec_of(struct recorder) recorders;
    struct ss_vec_of(struct line) lines;
    struct ss_strbuf text, seen;
    struct ss_on_demand_request request;
    char request_name[NAME_BYTES];
    double period_s; /* the longest of any recorder */
};

/* For the handler of signals, which removes the request. */
static struct {
    int folder_fd;
    char name[NAME_BYTES];
} pending;

static double now_s(void)
{
    return (double)ss_clock_now_ns(NULL) / 1e9;
}

/* --- recorders and answers -------------------------------------------------------------------- */

static void on_recorder(void *context, const char *name)
{
    struct run *run = context;
    struct ss_error err = {0};
    struct recorder recorder = {.is_gone = false};
    if (ss_on_demand_is_recorder(name) && run->recorders.count < MOST_RECORDERS &&
        ss_on_demand_read(run->folder, name, &run->text, &err) == SS_OK &&
        ss_on_demand_get_recorder(run->text.data, &recorder.facts)) {
        snprintf(recorder.name, sizeof recorder.name, "%s", name);
        double period_s = (double)recorder.facts.period_ms / 1e3;
        run->period_s = period_s > run->period_s ? period_s : run->period_s;
        ss_vec_push(&run->recorders, recorder);
    }
}

static void clear_lines(struct run *run)
{
    for (size_t i = 0; i < run->lines.count; i++) {
        ss_free(run->lines.data[i].path);
    }
    run->lines.count = 0;
}

static void add_line(struct run *run, const struct recorder *recorder,
                     const struct ss_on_demand_answer *answer)
{
    struct line line = {.answer = *answer};
    snprintf(line.recorder, sizeof line.recorder, "%s", recorder->name);
    snprintf(line.host, sizeof line.host, "%s", recorder->facts.host);
    line.path = ss_strndup(answer->path, answer->path_length);
    line.answer.path = line.path;
    line.answer.rank = answer->rank >= 0 ? answer->rank : recorder->facts.rank;
    if (recorder->is_gone && !ss_on_demand_is_final(answer->state)) {
        line.answer.state = SS_ON_DEMAND_GONE;
    }
    ss_vec_push(&run->lines, line);
}

/* The answers of one recorder to our request. Returns how many there are. */
static size_t read_said(struct run *run, const struct recorder *recorder)
{
    char said[NAME_BYTES + 8];
    struct ss_error err = {0};
    size_t count = 0;
    snprintf(said, sizeof said, "%s" SS_ON_DEMAND_SAID_SUFFIX, recorder->name);
    if (ss_on_demand_read(run->folder, said, &run->text, &err) != SS_OK) {
        return 0;
    }
    for (const char *at = run->text.data, *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        struct ss_on_demand_answer answer;
        if (ss_on_demand_get_answer(at, (size_t)(end - at), &answer) &&
            answer.id == run->request.id) {
            add_line(run, recorder, &answer);
            count++;
        }
    }
    return count;
}

/* Its processes are known from an earlier answer. */
static void add_gone(struct run *run, const struct recorder *recorder)
{
    for (size_t i = 0; i < recorder->answered.count; i++) {
        struct ss_on_demand_answer answer = {.id = run->request.id,
                                             .rank = recorder->answered.data[i].rank,
                                             .pid = recorder->answered.data[i].pid,
                                             .state = SS_ON_DEMAND_GONE,
                                             .step = -1,
                                             .path = ""};
        add_line(run, recorder, &answer);
    }
}

/* A recorder that has said nothing: a rank whose program has no step yet, or that has ended. */
static void add_silent(struct run *run, const struct recorder *recorder)
{
    if (recorder->is_gone && recorder->answered.count > 0) {
        add_gone(run, recorder);
        return;
    }
    struct ss_on_demand_answer answer = {.id = run->request.id,
                                         .rank = recorder->facts.rank,
                                         .pid = recorder->facts.pid,
                                         .state = recorder->is_gone ? SS_ON_DEMAND_GONE
                                                                    : SS_ON_DEMAND_WAITING,
                                         .step = -1,
                                         .path = ""};
    add_line(run, recorder, &answer);
}

/* Its last `count` lines are its answers. */
static void remember(const struct run *run, struct recorder *recorder, size_t count)
{
    recorder->answered.count = 0;
    for (size_t i = run->lines.count - count; i < run->lines.count; i++) {
        const struct ss_on_demand_answer *answer = &run->lines.data[i].answer;
        struct answered process = {answer->pid, answer->rank};
        ss_vec_push(&recorder->answered, process);
    }
}

static int compare_lines(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    if (x->answer.rank != y->answer.rank) {
        return x->answer.rank < y->answer.rank ? -1 : 1;
    }
    int order = strcmp(x->host, y->host);
    return order != 0 ? order : (x->answer.pid > y->answer.pid) - (x->answer.pid < y->answer.pid);
}

static void read_answers(struct run *run, double waited_s)
{
    clear_lines(run);
    for (size_t i = 0; i < run->recorders.count; i++) {
        struct recorder *recorder = &run->recorders.data[i];
        bool has_locks;
        bool is_gone = ss_on_demand_is_abandoned(run->folder, recorder->name, &has_locks);
        size_t count = read_said(run, recorder);
        recorder->is_gone = is_gone || (!has_locks && count == 0 &&
                                        waited_s > unlocked_patience_s + 2 * run->period_s);
        if (is_gone && count > 0) { /* its last words may be newer than what was read */
            run->lines.count -= count;
            for (size_t k = 0; k < count; k++) {
                ss_free(run->lines.data[run->lines.count + k].path);
            }
            count = read_said(run, recorder);
        }
        if (count == 0) {
            add_silent(run, recorder);
        } else {
            remember(run, recorder, count);
        }
    }
    if (run->lines.count > 1) {
        qsort(run->lines.data, run->lines.count, sizeof *run->lines.data, compare_lines);
    }
}

/* --- requests --------------------------------------------------------------------------------- */

static void on_signal(int number)
{
    unlinkat(pending.folder_fd, pending.name, 0);
    signal(number, SIG_DFL);
    raise(number);
}

static void remove_on_signals(const struct run *run)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    pending.folder_fd = run->folder->fd;
    snprintf(pending.name, sizeof pending.name, "%s", run->request_name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        signal(ends[i], on_signal);
    }
}

static enum ss_status leave_request(struct run *run, enum ss_on_demand_kind kind, int64_t first,
                                    int64_t last, struct ss_error *err)
{
    run->request = (struct ss_on_demand_request){.kind = kind, .first = first, .last = last};
    if (!ss_random_bytes(&run->request.id, sizeof run->request.id)) {
        return ss_fail(err, SS_E_IO, "no random number for a request");
    }
    snprintf(run->request_name, sizeof run->request_name, "%016" PRIx64 SS_ON_DEMAND_REQUEST_SUFFIX,
             run->request.id);
    ss_strbuf_clear(&run->text);
    ss_on_demand_put_request(&run->text, &run->request, &run->folder->key);
    remove_on_signals(run);
    return ss_on_demand_write(run->folder, run->request_name, run->text.data, run->text.length,
                              err);
}

/* Whether no answer can change any more, or, without --wait, each says what will become of it. */
static bool is_answered(const struct run *run, bool waits)
{
    for (size_t i = 0; i < run->lines.count; i++) {
        enum ss_on_demand_state state = run->lines.data[i].answer.state;
        bool is_done = ss_on_demand_is_final(state) || (!waits && state != SS_ON_DEMAND_WAITING);
        if (!is_done) {
            return false;
        }
    }
    return true;
}

/* Whether any answer has changed since the last call. */
static bool has_changed(struct run *run)
{
    struct ss_strbuf *now = &run->text;
    ss_strbuf_clear(now);
    for (size_t i = 0; i < run->lines.count; i++) {
        ss_on_demand_put_answer(now, &run->lines.data[i].answer);
    }
    bool changed =
        now->length != run->seen.length || memcmp(now->data, run->seen.data, now->length) != 0;
    ss_strbuf_clear(&run->seen);
    ss_strbuf_append(&run->seen, now->data, now->length);
    return changed;
}

static bool has_unanswered(const struct run *run)
{
    for (size_t i = 0; i < run->lines.count; i++) {
        if (run->lines.data[i].answer.state == SS_ON_DEMAND_WAITING) {
            return true;
        }
    }
    return false;
}

/* The window of ranks that are armed may be hours away: `timeout_s` limits that only if the user
 * gave it. */
static void follow(struct run *run, bool waits, bool is_limited, double timeout_s)
{
    double begin_s = now_s(), changed_s = begin_s;
    for (;;) {
        read_answers(run, now_s() - begin_s);
        if (is_answered(run, waits)) {
            return;
        }
        changed_s = waits && has_changed(run) ? now_s() : changed_s;
        if (now_s() - changed_s > timeout_s && (is_limited || has_unanswered(run))) {
            return;
        }
        usleep(POLL_US);
    }
}

/* A rank that has no step yet is likely not to have any. */
static void name_programs_without_steps(struct run *run)
{
    for (size_t i = 0; i < run->lines.count; i++) {
        struct ss_on_demand_answer *answer = &run->lines.data[i].answer;
        if (answer->state == SS_ON_DEMAND_WAITING && answer->step < 0) {
            answer->state = SS_ON_DEMAND_NO_STEPS;
        }
    }
}

/* --- where the ranks are ---------------------------------------------------------------------- */

/* -1: no rank has a step. */
static enum ss_status find_furthest(struct run *run, double timeout_s, int64_t *step,
                                    struct ss_error *err)
{
    *step = -1;
    SS_TRY(leave_request(run, SS_ON_DEMAND_POSITION, 0, 0, err));
    follow(run, false, true, timeout_s);
    ss_on_demand_remove(run->folder, run->request_name);
    for (size_t i = 0; i < run->lines.count; i++) {
        int64_t its = run->lines.data[i].answer.step;
        *step = its > *step ? its : *step;
    }
    return SS_OK;
}

/* How fast the ranks advance is seen from two answers. */
static enum ss_status place_ahead(struct run *run, const struct ss_trigger_options *options,
                                  struct ss_trigger_steps *placed, struct ss_error *err)
{
    int64_t before, after;
    double begin_s = now_s();
    SS_TRY(find_furthest(run, options->timeout_s, &before, err));
    double middle_s = now_s();
    SS_TRY(find_furthest(run, options->timeout_s, &after, err));
    double end_s = now_s(), apart_s = end_s - middle_s;
    if (after < 0) {
        return ss_fail(err, SS_E_EMPTY,
                       "no rank has marked a step yet: give the steps themselves (--steps A:B), "
                       "or --seconds");
    }
    double per_second = apart_s > 0 ? (double)(after - before) / apart_s : 0;
    /* The answers took time, too; the speed was measured over a short time. */
    double delay_s = 2 * (run->period_s + spare_s) + 2 * (end_s - begin_s);
    *placed = ss_trigger_steps_place(&options->steps, after, 2 * per_second, delay_s);
    return SS_OK;
}

static enum ss_status leave_seconds(struct run *run, double seconds, struct ss_error *err)
{
    struct ss_clock_reading now;
    ss_clock_now(NULL, &now);
    double lead_s = run->period_s + spare_s;
    int64_t begin_ns = (int64_t)now.realtime_ns + (int64_t)(lead_s * 1e9);
    return leave_request(run, SS_ON_DEMAND_SECONDS, begin_ns, begin_ns + (int64_t)(seconds * 1e9),
                         err);
}

/* --- output ----------------------------------------------------------------------------------- */

static bool is_good(enum ss_on_demand_state state, bool waits)
{
    return state == SS_ON_DEMAND_RECORDED ||
           (!waits && (state == SS_ON_DEMAND_ARMED || state == SS_ON_DEMAND_OPEN ||
                       state == SS_ON_DEMAND_WRITTEN));
}

static void print_line(FILE *out, const struct line *line, bool seconds)
{
    const struct ss_on_demand_answer *answer = &line->answer;
    char who[32];
    snprintf(who, sizeof who, answer->rank >= 0 ? "rank %d" : "process %d",
             answer->rank >= 0 ? (int)answer->rank : (int)answer->pid);
    fprintf(out, "%-12s %-10s", who, ss_on_demand_state_word(answer->state));
    if (answer->state == SS_ON_DEMAND_RECORDED || answer->state == SS_ON_DEMAND_PARTIAL) {
        struct ss_strbuf path;
        ss_strbuf_init(&path, 65536);
        ss_text_append_clean(&path, ss_strview_of(line->path));
        fprintf(out, " %s", path.data);
        ss_strbuf_fini(&path);
    } else if (answer->state == SS_ON_DEMAND_ARMED && !seconds && answer->step >= 0) {
        fprintf(out, " in step %" PRId64, answer->step);
    } else if (!seconds && answer->step >= 0) {
        fprintf(out, " in step %" PRId64 ": %s", answer->step,
                ss_on_demand_state_meaning(answer->state));
    } else if (answer->state != SS_ON_DEMAND_ARMED) {
        fprintf(out, " %s", ss_on_demand_state_meaning(answer->state));
    }
    fprintf(out, "  (%s)\n", line->host);
}

static void print_text(const struct run *run, const struct ss_trigger_options *options)
{
    if (options->has_steps) {
        fprintf(ss_stdout(), "steps %" PRId64 " to %" PRId64 "\n", run->request.first,
                run->request.last);
    }
    for (size_t i = 0; i < run->lines.count; i++) {
        print_line(ss_stdout(), &run->lines.data[i], !options->has_steps);
    }
}

static void print_json(const struct run *run, const struct ss_trigger_options *options)
{
    json_t *ranks = json_array();
    for (size_t i = 0; i < run->lines.count; i++) {
        const struct line *line = &run->lines.data[i];
        const struct ss_on_demand_answer *answer = &line->answer;
        json_t *rank = json_object();
        json_object_set_new(rank, "rank",
                            answer->rank >= 0 ? json_integer(answer->rank) : json_null());
        json_object_set_new(rank, "pid", json_integer(answer->pid));
        json_object_set_new(rank, "host", json_string(line->host));
        json_object_set_new(rank, "state", json_string(ss_on_demand_state_word(answer->state)));
        json_object_set_new(rank, "step",
                            answer->step >= 0 ? json_integer(answer->step) : json_null());
        json_t *path = line->path[0] != '\0' ? json_string(line->path) : NULL;
        json_object_set_new(rank, "path", path != NULL ? path : json_null());
        json_array_append_new(ranks, rank);
    }
    json_t *all = json_object();
    json_object_set_new(all, options->has_steps ? "first_step" : "begin_ns",
                        json_integer(run->request.first));
    json_object_set_new(all, options->has_steps ? "last_step" : "end_ns",
                        json_integer(run->request.last));
    json_object_set_new(all, "ranks", ranks);
    json_dumpf(all, ss_stdout(), JSON_INDENT(1));
    fputc('\n', ss_stdout());
    json_decref(all);
}

/* --- the whole -------------------------------------------------------------------------------- */

static void remove_leftover(void *context, const char *name)
{
    const struct run *run = context;
    if (strcmp(name, "token") == 0 || ss_on_demand_is_said(name) ||
        ss_on_demand_is_recorder(name)) {
        ss_on_demand_remove(run->folder, name);
    }
}

/* Recorders that end leave their last answers to those who wait. */
static void clean_up(struct run *run)
{
    bool has_locks = true, is_one_there = false;
    ss_on_demand_remove(run->folder, run->request_name);
    for (size_t i = 0; i < run->recorders.count && !is_one_there; i++) {
        is_one_there =
            !ss_on_demand_is_abandoned(run->folder, run->recorders.data[i].name, &has_locks);
    }
    if (!is_one_there) {
        ss_on_demand_list(run->folder, remove_leftover, run);
        rmdir(run->folder->path);
    }
}

static enum ss_status request(struct run *run, const struct ss_trigger_options *options,
                              struct ss_error *err)
{
    struct ss_trigger_steps placed = options->steps;
    if (!options->has_steps) {
        return leave_seconds(run, options->seconds, err);
    }
    if (placed.is_ahead) {
        SS_TRY(place_ahead(run, options, &placed, err));
    }
    return leave_request(run, SS_ON_DEMAND_STEPS, placed.first, placed.last, err);
}

enum ss_status ss_trigger_run(const struct ss_on_demand_folder *folder,
                              const struct ss_trigger_options *options, bool *is_recorded,
                              struct ss_error *err)
{
    struct run run = {.folder = folder};
    ss_strbuf_init(&run.text, SS_ON_DEMAND_FILE_BYTES);
    ss_strbuf_init(&run.seen, SS_ON_DEMAND_FILE_BYTES);
    ss_on_demand_list(folder, on_recorder, &run);
    enum ss_status status =
        run.recorders.count > 0
            ? request(&run, options, err)
            : ss_fail(err, SS_E_GONE, "%s: no recorder of the run is there", folder->path);
    if (status == SS_OK) {
        double window_s = options->has_steps ? 0 : options->seconds;
        follow(&run, options->waits, options->has_timeout || !options->waits,
               options->timeout_s + window_s);
        name_programs_without_steps(&run);
        clean_up(&run);
        ss_text_use_utf8();
        (options->is_json ? print_json : print_text)(&run, options);
        *is_recorded = run.lines.count > 0;
        for (size_t i = 0; i < run.lines.count; i++) {
            *is_recorded = *is_recorded && is_good(run.lines.data[i].answer.state, options->waits);
        }
    }
    clear_lines(&run);
    for (size_t i = 0; i < run.recorders.count; i++) {
        ss_vec_fini(&run.recorders.data[i].answered);
    }
    ss_vec_fini(&run.lines);
    ss_vec_fini(&run.recorders);
    ss_strbuf_fini(&run.seen);
    ss_strbuf_fini(&run.text);
    return status;
}
