/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of threads, and their stacks: in a table of its own, the innermost frame first. */
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "model/builder/load_tracks.h"
#include "model/nsys/nsys_loading.h"

enum { MOST_FRAMES = 1024 };

/* Of ENUM_SAMPLING_THREAD_STATE. */
static enum ss_thread_state state_of(int64_t state)
{
    switch (state) {
    case 1:
        return SS_STATE_ON_CPU;
    case 2:
    case 7: /* waiting */
        return SS_STATE_SLEEPING;
    case 3:
        return SS_STATE_UNINTERRUPTIBLE;
    case 4:
        return SS_STATE_STOPPED;
    case 6: /* not scheduled */
        return SS_STATE_RUNNABLE;
    default:
        return SS_STATE_UNKNOWN;
    }
}

/* --- stacks ----------------------------------------------------------------------------------- */

struct chain {
    int64_t number; /* of the sample */
    uint32_t stack;
    bool is_partial;
};

struct chains {
    struct ss_nsys_loading *loading;
    struct ss_vec_of(struct chain) chains; /* by number */
    uint32_t frames[MOST_FRAMES];          /* of the chain that is being read */
    size_t count;
    int64_t number;
    bool is_broken, has_caller, is_unwound;
};

enum { SAMPLE, SYMBOL, MODULE, IS_KERNEL, IS_UNRESOLVED, UNWINDING };

/* Addresses without a symbol differ from run to run: one frame of their module stands for them. */
static uint32_t add_frame(struct ss_nsys_loading *loading, int64_t symbol, int64_t module,
                          bool is_kernel, bool is_unresolved)
{
    struct ss_strview text = ss_nsys_string(&loading->names, module);
    uint32_t file = ss_model_builder_text(loading->builder, text);
    struct ss_trace_frame row = {
        .function =
            is_unresolved ? ss_strview_of("[unknown]") : ss_nsys_string(&loading->names, symbol),
        .file = ss_intern_get(&ss_model_builder_model(loading->builder)->strings, file),
        .kind = is_kernel ? SS_FRAME_KERNEL : SS_FRAME_NATIVE};
    row.name = row.function;
    const char *slash = memrchr(row.file.data, '/', row.file.length);
    row.short_file_offset = slash != NULL ? (uint32_t)(slash + 1 - row.file.data) : 0;
    return ss_model_builder_frame(loading->builder, &row);
}

static uint32_t frame_of(struct ss_nsys_loading *loading, const struct ss_sqlite_rows *rows)
{
    int64_t symbol = 0, module = 0, is_kernel = 0, is_unresolved = 0;
    ss_sqlite_integer(rows, SYMBOL, &symbol);
    ss_sqlite_integer(rows, MODULE, &module);
    ss_sqlite_integer(rows, IS_KERNEL, &is_kernel);
    ss_sqlite_integer(rows, IS_UNRESOLVED, &is_unresolved);
    int64_t flags = (is_kernel != 0) * 2 + (is_unresolved != 0);
    int64_t key = is_unresolved != 0 ? 0 : symbol;
    uint32_t known = *ss_nsys_entry(&loading->rows, SS_NSYS_FRAME, key, module, flags);
    if (known == 0) {
        known = 1 + add_frame(loading, symbol, module, is_kernel != 0, is_unresolved != 0);
        *ss_nsys_entry(&loading->rows, SS_NSYS_FRAME, key, module, flags) = known;
    }
    return known - 1;
}

/* "[Broken backtraces]" */
static bool is_end_mark(struct ss_nsys_loading *loading, const struct ss_sqlite_rows *rows)
{
    int64_t symbol, module;
    return ss_sqlite_integer(rows, SYMBOL, &symbol) && ss_sqlite_integer(rows, MODULE, &module) &&
           symbol == module &&
           ss_strview_equal(ss_nsys_string(&loading->names, symbol),
                            ss_strview_of("[Broken backtraces]"));
}

/* A stack begins with its outermost frame. Nsight Systems can unwind only every nth sample: of the
 * others, the innermost frame is all that is known. */
static void end_chain(struct chains *chains)
{
    uint32_t stack = 0;
    if (chains->count == 0) {
        return;
    }
    for (size_t i = chains->count; i-- > 0;) {
        stack = ss_model_builder_stack(chains->loading->builder, stack, chains->frames[i]);
    }
    bool is_partial = chains->is_broken || chains->count == MOST_FRAMES || !chains->is_unwound;
    ss_vec_push(&chains->chains, (struct chain){chains->number, stack, is_partial});
    chains->count = 0;
}

static void add_row(struct chains *chains, const struct ss_sqlite_rows *rows)
{
    int64_t number, method = 0;
    if (!ss_sqlite_integer(rows, SAMPLE, &number)) {
        return;
    }
    if (chains->count == 0 || chains->number != number) {
        end_chain(chains);
        chains->number = number;
        chains->is_broken = chains->is_unwound = false;
    }
    ss_sqlite_integer(rows, UNWINDING, &method);
    chains->is_unwound = chains->is_unwound || method != 0 || chains->count > 0;
    if (is_end_mark(chains->loading, rows)) {
        chains->is_broken = true;
    } else if (chains->count < MOST_FRAMES) {
        chains->frames[chains->count++] = frame_of(chains->loading, rows);
    }
}

static int compare_chains(const void *left, const void *right)
{
    const struct chain *a = left, *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

static void read_chains(struct chains *chains)
{
    static const char *const columns[] = {"id",         "symbol",     "module",
                                          "kernelMode", "unresolved", "unwindMethod"};
    struct ss_sqlite_rows rows;
    bool is_sorted = true;
    ss_sqlite_begin(&rows, chains->loading->file, "SAMPLING_CALLCHAINS", columns, 6);
    while (ss_nsys_next(chains->loading, &rows)) {
        add_row(chains, &rows);
    }
    end_chain(chains);
    ss_sqlite_end(&rows);
    for (size_t i = 1; i < chains->chains.count; i++) {
        is_sorted = is_sorted && chains->chains.data[i - 1].number <= chains->chains.data[i].number;
    }
    if (!is_sorted) {
        qsort(chains->chains.data, chains->chains.count, sizeof *chains->chains.data,
              compare_chains);
    }
}

static const struct chain *find_chain(const struct chains *chains, int64_t number)
{
    size_t low = ss_search(i, 0, chains->chains.count, chains->chains.data[i].number < number);
    bool has = low < chains->chains.count && chains->chains.data[low].number == number;
    return has ? &chains->chains.data[low] : NULL;
}

/* --- samples ---------------------------------------------------------------------------------- */

/* The time comes first, as ss_sort_by_time requires. */
struct sample {
    uint64_t time_ns;
    uint32_t thread, stack;
    uint8_t state;
    bool is_partial;
};

struct samples ss_vec_of(struct sample);

static void read_samples(struct ss_nsys_loading *loading, const struct chains *chains,
                         struct samples *samples)
{
    static const char *const columns[] = {"id", "start", "globalTid", "threadState"};
    struct ss_sqlite_rows rows;
    ss_sqlite_begin(&rows, loading->file, "COMPOSITE_EVENTS", columns, 4);
    while (ss_nsys_next(loading, &rows)) {
        struct sample sample = {.is_partial = true};
        int64_t number = -1, global_tid, state = 0;
        if (!ss_sqlite_integer(&rows, 2, &global_tid)) {
            ss_nsys_skip(loading, "a sample without a thread");
            continue;
        }
        if (!ss_nsys_time(loading, &rows, 1, &sample.time_ns)) {
            continue;
        }
        ss_sqlite_integer(&rows, 0, &number);
        ss_sqlite_integer(&rows, 3, &state);
        const struct chain *chain = find_chain(chains, number);
        if (chain != NULL) {
            sample.stack = chain->stack;
            sample.is_partial = chain->is_partial;
        }
        sample.thread = ss_nsys_thread(&loading->rows, global_tid);
        sample.state = (uint8_t)state_of(state);
        ss_nsys_count(loading, sample.time_ns);
        ss_vec_push(samples, sample);
    }
    ss_sqlite_end(&rows);
    ss_sort_by_time(samples->data, samples->count, sizeof *samples->data);
}

static enum ss_status put_samples(struct ss_nsys_loading *loading, const struct samples *samples,
                                  struct ss_error *err)
{
    for (size_t i = 0; i < samples->count; i++) {
        const struct sample *sample = &samples->data[i];
        const struct ss_nsys_thread *thread = &loading->rows.threads.data[sample->thread];
        struct ss_trace_sample row = {
            .time_ns = sample->time_ns,
            .thread_ref = thread->row,
            .stack_ref = sample->stack,
            .weight = 1,
            .state = (enum ss_thread_state)sample->state,
            .partial = sample->is_partial,
            .step = ss_nsys_step_at(&loading->steps, thread->process, sample->time_ns)};
        SS_TRY(ss_model_builder_sample(loading->builder, &row, err));
    }
    return SS_OK;
}

enum ss_status ss_nsys_load_samples(struct ss_nsys_loading *loading, struct ss_error *err)
{
    struct chains *chains = ss_alloc_zero(1, sizeof *chains);
    struct samples samples = {0};
    chains->loading = loading;
    read_chains(chains);
    read_samples(loading, chains, &samples);
    ss_vec_fini(&chains->chains);
    ss_free(chains);
    enum ss_status status = put_samples(loading, &samples, err);
    ss_vec_fini(&samples);
    return status;
}
