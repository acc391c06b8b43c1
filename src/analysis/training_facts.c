/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/training_facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/distribution.h"
#include "analysis/ranges.h"
#include "analysis/recorded_steps.h"
#include "analysis/rule_limits.h"
#include "base/alloc.h"
#include "base/shared_names.h"

const char *const ss_training_tracks[] = {
    /* Domains of ranges. */
    ss_domain_torch, ss_domain_torch_module, ss_domain_torch_data, ss_domain_torch_checkpoint,
    ss_domain_torch_compile, ss_domain_torch_flops, "python.gc",
    /* Counters of the program. */
    ss_counter_ready_batches, ss_counter_operators_recorded, SS_MEMORY_TRACKS,
    /* Of DeepSpeed's flops profiler: python/stepscope/_deepspeed.py. */
    "deepspeed params per GPU", "deepspeed fwd MACs per GPU", "deepspeed fwd flops per GPU",
    "deepspeed fwd latency", "deepspeed fwd FLOPS per GPU", "deepspeed batch size per GPU",
    "deepspeed bwd latency", "deepspeed step latency", "deepspeed iter latency",
    "deepspeed bwd FLOPS per GPU (assumed)", "deepspeed FLOPS per GPU (bwd assumed)",
    "deepspeed samples/s",
    /* CPU/busy of the machine, container/CPU limit and CPU used, usage/CPU of processes. */
    "busy", "CPU limit", "CPU used", "CPU", NULL};

/* --- notes and attributes -------------------------------------------------------------------- */

/* The text after "key = "; NULL where the note has another key. */
static const char *value_of(const struct ss_model *model, const struct ss_model_note *note,
                            const char *key)
{
    size_t length = strlen(key);
    const char *text = ss_model_text(model, note->text);
    bool same = strcmp(ss_model_text(model, note->kind), "fact") == 0 &&
                strncmp(text, key, length) == 0 && strncmp(text + length, " = ", 3) == 0;
    return same ? text + length + 3 : NULL;
}

/* Whether the first trainer descends from the process. */
static bool is_above_trainer(const struct ss_training_facts *facts, uint32_t process)
{
    uint32_t trainer = facts->steps->steps.count > 0 ? facts->steps->steps.data[0].process : 0;
    while (trainer != 0 && trainer != process) {
        trainer = facts->model->processes.data[trainer].parent;
    }
    return trainer != 0;
}

/* The last value of a trainer, else that of a process above the first trainer; NULL: none. */
static const char *fact_text(const struct ss_training_facts *facts, const char *key)
{
    const char *above = NULL;
    for (size_t i = facts->model->notes.count; i-- > 0;) {
        const struct ss_model_note *note = &facts->model->notes.data[i];
        const char *text = value_of(facts->model, note, key);
        if (text != NULL && ss_training_has_steps(facts, note->process)) {
            return text;
        }
        if (text != NULL && above == NULL && is_above_trainer(facts, note->process)) {
            above = text;
        }
    }
    return above;
}

/* Caps: the file may be hostile. */
static const int64_t most_count = INT64_C(1) << 24, most_bytes = INT64_C(1) << 40;

static int64_t number_in(const char *text, int64_t most)
{
    long long number = strtoll(text, NULL, 10);
    return number < -1 ? -1 : number > most ? most : number;
}

static int64_t fact_number(const struct ss_training_facts *facts, const char *key)
{
    const char *text = fact_text(facts, key);
    return text != NULL ? number_in(text, most_count) : -1;
}

/* Steady-state steps of the process that ended in [from, to). */
static size_t steps_ended(const struct ss_step_summary *steps, uint32_t process, uint64_t from_ns,
                          uint64_t to_ns)
{
    size_t count = 0;
    for (size_t i = 0; i < steps->steps.count; i++) {
        const struct ss_step *step = &steps->steps.data[i];
        count += step->process == process && step->kind == SS_STEP_STEADY &&
                 step->end_ns >= from_ns && step->end_ns < to_ns;
    }
    return count;
}

/* When the process next recorded the key; UINT64_MAX: never. */
static uint64_t next_note_ns(const struct ss_model *model, const struct ss_model_note *note,
                             const char *key)
{
    uint64_t next_ns = UINT64_MAX;
    for (size_t i = 0; i < model->notes.count; i++) {
        const struct ss_model_note *other = &model->notes.data[i];
        if (other->process == note->process && other->time_ns > note->time_ns &&
            other->time_ns < next_ns && value_of(model, other, key) != NULL) {
            next_ns = other->time_ns;
        }
    }
    return next_ns;
}

/* The value of the loader that most steps follow: a program has other loaders too, for its
 * validation. Many notes are those of many epochs: the last ones suffice. */
static int64_t loader_number(const struct ss_training_facts *facts, const char *key, int64_t most)
{
    enum { MOST_NOTES = 64 };
    const struct ss_model *model = facts->model;
    int64_t number = -1;
    size_t most_steps = 0, examined = 0;
    for (size_t i = model->notes.count; i-- > 0 && examined < MOST_NOTES;) {
        const struct ss_model_note *note = &model->notes.data[i];
        const char *text = value_of(model, note, key);
        if (text == NULL || !ss_training_has_steps(facts, note->process)) {
            continue;
        }
        examined++;
        size_t steps =
            steps_ended(facts->steps, note->process, note->time_ns, next_note_ns(model, note, key));
        if (number < 0 || steps > most_steps) {
            most_steps = steps;
            number = number_in(text, most);
        }
    }
    return number;
}

static uint64_t core_count(const struct ss_model *model)
{
    uint64_t cores = 0;
    for (size_t i = 0; i < model->attributes.count; i++) {
        const struct ss_model_attribute *attribute = &model->attributes.data[i];
        if (attribute->is_integer && attribute->integer > 0 &&
            strcmp(ss_model_text(model, attribute->key), "cpu_count") == 0) {
            cores = (uint64_t)attribute->integer;
        }
    }
    return cores;
}

/* The names of all sources that record kernels begin so. */
static bool has_kernels(const struct ss_model *model)
{
    for (size_t i = 0; i < model->sources.count; i++) {
        const char *name = ss_model_text(model, model->sources.data[i].name);
        if (model->sources.data[i].status == SS_SOURCE_RAN &&
            (strncmp(name, "cuda", 4) == 0 || strncmp(name, "gpu", 3) == 0)) {
            return true;
        }
    }
    return false;
}

static const char *text_or_empty(const char *text)
{
    return text != NULL ? text : "";
}

static void find_notes(struct ss_training_facts *facts)
{
    facts->torch_version = text_or_empty(fact_text(facts, ss_fact_torch_version));
    facts->operator_source = text_or_empty(fact_text(facts, ss_fact_torch_operators));
    facts->step_source = text_or_empty(fact_text(facts, ss_fact_torch_steps));
    facts->threads = fact_number(facts, ss_fact_torch_threads);
    facts->uses_cuda = fact_number(facts, ss_fact_torch_cuda) > 0;
    facts->records_gpu = has_kernels(facts->model);
    facts->has_anomaly_detection = fact_number(facts, ss_fact_torch_anomaly) > 0;
    facts->dtype = text_or_empty(fact_text(facts, ss_fact_model_dtype));
    facts->workers = loader_number(facts, ss_fact_loader_workers, most_count);
    facts->batch_size = loader_number(facts, ss_fact_loader_batch_size, most_count);
    facts->batch_bytes = loader_number(facts, ss_fact_loader_batch_bytes, most_bytes);
    facts->cores = core_count(facts->model);
}

/* --- when steps ran -------------------------------------------------------------------------- */

struct span {
    uint32_t process;
    enum ss_step_kind kind;
    uint64_t begin_ns, end_ns;
    uint64_t before_ns;    /* of the process's steady-state steps before it */
    size_t number;         /* in its process */
    bool counts_operators; /* none was lost */
    bool has_operators;
    uint64_t reads;
    uint64_t operators_ns, long_operators_ns;
};

struct part {
    uint32_t process;
    bool is_compile, is_backward;
    bool has_reads; /* values read in it are the program's: not the loader's, not the optimizer's,
                     * not of a phase with rules of its own */
    uint64_t begin_ns, end_ns;
};

struct parts ss_vec_of(struct part);

struct scan {
    struct ss_training_facts *facts;
    const struct ss_model *model;
    struct span *spans; /* all steps, by process, then by begin */
    size_t span_count;
    enum ss_step_kind operator_kind; /* of the steps whose operators count */
    struct parts parts;              /* phases, by process, then by begin */
    struct ss_vec_of(uint64_t) operator_ns;
    bool *reads_value, *checks_nan; /* by name of the model */
    uint64_t all_after_third, all_but_warm_up;
    uint64_t cell_steps; /* with calls of cells */
    size_t last_cell_step;
};

static int compare_parts(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static const char *name_of(const struct ss_model *model, const struct ss_model_range *range)
{
    return ss_model_text(model, model->names.data[model->paths.data[range->path].name].text);
}

static bool has_own_reads(const char *phase)
{
    static const char *const others[] = {ss_phase_data,          ss_phase_optimizer,
                                         ss_phase_evaluation,    ss_phase_checkpoint,
                                         ss_phase_communication, ss_phase_compile};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strcmp(phase, others[i]) == 0) {
            return false;
        }
    }
    return true;
}

static void collect_parts(struct scan *scan, const struct ss_selection *selection)
{
    const struct ss_model *model = scan->model;
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_track *track = &model->tracks.data[range->track];
        if (track->kind == SS_TRACK_PHASES && ss_selection_has_track(selection, range->track)) {
            const char *name = name_of(model, range);
            ss_vec_push(&scan->parts,
                        (struct part){.process = track->process,
                                      .has_reads = has_own_reads(name),
                                      .is_backward = strcmp(name, ss_phase_backward) == 0,
                                      .is_compile = strcmp(name, ss_phase_compile) == 0,
                                      .begin_ns = range->begin_ns,
                                      .end_ns = range->end_ns});
        }
    }
    if (scan->parts.count > 0) {
        qsort(scan->parts.data, scan->parts.count, sizeof *scan->parts.data, compare_parts);
    }
}

/* The first part of the process that begins at this time or later. */
static size_t part_from(const struct scan *scan, uint32_t process, uint64_t time_ns)
{
    const struct part key = {.process = process, .begin_ns = time_ns};
    size_t low = 0, high = scan->parts.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        bool is_before = compare_parts(&scan->parts.data[middle], &key) < 0;
        low = is_before ? middle + 1 : low;
        high = is_before ? high : middle;
    }
    return low;
}

/* The phase at `time_ns`; NULL: none. */
static const struct part *part_at(const struct scan *scan, uint32_t process, uint64_t time_ns)
{
    size_t next = part_from(scan, process, time_ns + 1);
    const struct part *part = next > 0 ? &scan->parts.data[next - 1] : NULL;
    return part != NULL && part->process == process && time_ns < part->end_ns ? part : NULL;
}

static void list_spans(struct scan *scan)
{
    const struct ss_step_summary *steps = scan->facts->steps;
    struct ss_recorded_steps recorded;
    ss_recorded_steps_init(&recorded, scan->model);
    uint64_t before_ns = 0;
    scan->span_count = steps->steps.count;
    scan->spans = ss_alloc_zero(steps->steps.count + 1, sizeof *scan->spans);
    for (size_t i = 0; i < steps->steps.count; i++) {
        const struct ss_step *step = &steps->steps.data[i];
        struct span *span = &scan->spans[i];
        bool is_first = i == 0 || step->process != span[-1].process;
        scan->facts->reads_lost =
            scan->facts->reads_lost || ss_recorded_steps_lost_some(&recorded, step->process);
        before_ns = is_first ? 0 : before_ns;
        *span = (struct span){.process = step->process,
                              .kind = step->kind,
                              .begin_ns = step->begin_ns,
                              .end_ns = step->end_ns,
                              .before_ns = before_ns,
                              .counts_operators =
                                  ss_recorded_steps_counts(&recorded, step->process, step->end_ns),
                              .number = is_first ? 0 : span[-1].number + 1};
        scan->all_after_third += span->number >= SS_LIMIT_LAST_COMPILING_STEP &&
                                 step->kind != SS_STEP_CUT && step->kind != SS_STEP_OUTSIDE;
        scan->all_but_warm_up += step->kind == SS_STEP_STEADY || step->kind == SS_STEP_OUTLIER;
        if (step->kind == SS_STEP_STEADY) {
            before_ns += step->end_ns - step->begin_ns;
        }
    }
    ss_recorded_steps_fini(&recorded);
}

/* Operators are those of steady-state steps; of outliers where no steady-state step has all of its
 * operators recorded, since recording takes time itself. */
static void choose_operator_steps(struct scan *scan)
{
    enum ss_step_kind kind = SS_STEP_OUTLIER;
    for (size_t i = 0; i < scan->span_count; i++) {
        const struct span *span = &scan->spans[i];
        kind = span->counts_operators && span->kind == SS_STEP_STEADY ? SS_STEP_STEADY : kind;
    }
    scan->operator_kind = kind;
}

/* The last step of the process that begins at or before `time_ns`; NULL: none. */
static const struct span *last_span(const struct scan *scan, uint32_t process, uint64_t time_ns)
{
    size_t low = 0, high = scan->span_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct span *span = &scan->spans[middle];
        bool is_before =
            span->process != process ? span->process < process : span->begin_ns <= time_ns;
        low = is_before ? middle + 1 : low;
        high = is_before ? high : middle;
    }
    const struct span *span = low > 0 ? &scan->spans[low - 1] : NULL;
    return span != NULL && span->process == process ? span : NULL;
}

/* The step at `time_ns`; NULL: none. */
static const struct span *span_at(const struct scan *scan, uint32_t process, uint64_t time_ns)
{
    const struct span *span = last_span(scan, process, time_ns);
    return span != NULL && time_ns < span->end_ns ? span : NULL;
}

static const struct span *steady_step_at(const struct scan *scan, uint32_t process,
                                         uint64_t time_ns)
{
    const struct span *span = span_at(scan, process, time_ns);
    return span != NULL && span->kind == SS_STEP_STEADY ? span : NULL;
}

/* Steady-state time of the process until `time_ns`. */
static uint64_t steady_time_until(const struct scan *scan, uint32_t process, uint64_t time_ns)
{
    const struct span *span = last_span(scan, process, time_ns);
    if (span == NULL || span->kind != SS_STEP_STEADY) {
        return span == NULL ? 0 : span->before_ns;
    }
    return span->before_ns + (time_ns < span->end_ns ? time_ns : span->end_ns) - span->begin_ns;
}

bool ss_training_has_steps(const struct ss_training_facts *facts, uint32_t process)
{
    size_t low = 0, high = facts->steps->steps.count;
    while (low < high) { /* steps are ordered by process */
        size_t middle = low + (high - low) / 2;
        bool is_before = facts->steps->steps.data[middle].process < process;
        low = is_before ? middle + 1 : low;
        high = is_before ? high : middle;
    }
    return low < facts->steps->steps.count && facts->steps->steps.data[low].process == process;
}

uint32_t ss_training_trainer(const struct ss_training_facts *facts, uint32_t process)
{
    while (process != 0 && !ss_training_has_steps(facts, process)) {
        process = facts->model->processes.data[process].parent;
    }
    return process;
}

/* --- operators ------------------------------------------------------------------------------- */

static bool checks_nan(const char *name)
{
    return strcmp(name, "aten::isnan") == 0 || strcmp(name, "aten::_is_any_true") == 0 ||
           strcmp(name, "aten::any") == 0;
}

static bool reads_value(const char *name)
{
    return strcmp(name, "aten::item") == 0 || strcmp(name, "aten::_local_scalar_dense") == 0 ||
           strcmp(name, "aten::is_nonzero") == 0;
}

static void find_reading_names(struct scan *scan)
{
    const struct ss_model *model = scan->model;
    scan->reads_value = ss_alloc_zero(model->names.count + 1, sizeof *scan->reads_value);
    scan->checks_nan = ss_alloc_zero(model->names.count + 1, sizeof *scan->checks_nan);
    for (size_t i = 0; i < model->names.count; i++) {
        const char *text = ss_model_text(model, model->names.data[i].text);
        scan->reads_value[i] = reads_value(text);
        scan->checks_nan[i] = checks_nan(text);
    }
}

/* A cursor over the operators of one thread. */
struct operator_cursor {
    uint32_t track;
    uint32_t process;
    bool is_main;
    uint64_t end_ns;      /* of the last outermost operator */
    uint64_t node_end_ns; /* of that operator where it is an autograd node; else 0 */
    uint64_t inner_end_ns;
    struct span *node_span; /* NULL: of a step that does not count */
    uint64_t node_ns;       /* without its inner operators so far */
};

static void add_long(struct span *span, uint64_t ns)
{
    if (span != NULL && ns >= SS_LIMIT_TINY_OPERATOR_NS) {
        span->long_operators_ns += ns;
    }
}

static void close_node(struct operator_cursor *cursor)
{
    add_long(cursor->node_span, cursor->node_ns);
    cursor->node_end_ns = 0;
    cursor->node_span = NULL;
}

/* Operators that the program or an autograd node calls do the computing; the rest of a node is
 * dispatching. After each node, within its range, anomaly detection searches what the node returned
 * for NaN. */
static void add_inner(struct scan *scan, struct operator_cursor *cursor, uint32_t name,
                      const struct ss_model_range *range, uint64_t end_ns)
{
    if (cursor->node_span == NULL || range->begin_ns >= cursor->node_end_ns ||
        range->begin_ns < cursor->inner_end_ns || end_ns < range->begin_ns) {
        return;
    }
    uint64_t ns = end_ns - range->begin_ns;
    cursor->node_ns -= ns < cursor->node_ns ? ns : cursor->node_ns;
    cursor->inner_end_ns = range->end_ns;
    if (scan->facts->has_anomaly_detection && (scan->checks_nan[name] || scan->reads_value[name])) {
        scan->facts->nan_checks_ns += ns; /* a sum until the end */
    }
    add_long(cursor->node_span, ns);
}

static bool is_node(const char *name)
{
    static const char stem[] = "autograd::engine::evaluate_function";
    return strncmp(name, stem, sizeof stem - 1) == 0;
}

/* Counts an operator as a search for NaN or as a read of a value. */
static void add_read(struct scan *scan, struct span *span, uint32_t name, uint64_t begin_ns,
                     uint64_t ns)
{
    struct ss_training_facts *facts = scan->facts;
    const struct part *part = part_at(scan, span->process, begin_ns);
    if (facts->has_anomaly_detection && part != NULL && part->is_backward) {
        facts->nan_checks_ns += ns; /* a sum until the end */
    } else if (scan->reads_value[name] && (part == NULL || part->has_reads)) {
        facts->reads_ns += ns;
        span->reads++;
    }
}

static void add_outermost(struct scan *scan, struct span *span, uint32_t name, uint64_t begin_ns,
                          uint64_t ns)
{
    struct ss_training_facts *facts = scan->facts;
    facts->operator_steps += !span->has_operators;
    span->has_operators = true;
    if (scan->reads_value[name] || scan->checks_nan[name]) {
        add_read(scan, span, name, begin_ns, ns);
    }
    facts->operators++;
    span->operators_ns += ns;
    ss_vec_push(&scan->operator_ns, ns);
}

static void add_operator(struct scan *scan, struct operator_cursor *cursor,
                         const struct ss_model_range *range)
{
    const struct ss_model *model = scan->model;
    uint32_t name = model->paths.data[range->path].name;
    if (!cursor->is_main ||
        strcmp(ss_model_text(model, model->names.data[name].category), "operator") != 0) {
        return;
    }
    const struct span *at = span_at(scan, cursor->process, range->begin_ns);
    bool counts = at != NULL && at->counts_operators && at->kind == scan->operator_kind;
    struct span *span = counts ? &scan->spans[at - scan->spans] : NULL;
    uint64_t end_ns = counts && range->end_ns > at->end_ns ? at->end_ns : range->end_ns;
    uint64_t ns = end_ns - range->begin_ns;
    if (range->begin_ns < cursor->end_ns) {
        add_inner(scan, cursor, name, range, end_ns);
        return;
    }
    close_node(cursor);
    if (is_node(ss_model_text(model, model->names.data[name].text))) {
        cursor->node_end_ns = range->end_ns;
        cursor->node_span = span;
        cursor->node_ns = ns;
        cursor->inner_end_ns = 0;
    } else {
        add_long(span, ns);
    }
    if (span != NULL) {
        add_outermost(scan, span, name, range->begin_ns, ns);
    }
    cursor->end_ns = range->end_ns;
}

/* --- batches --------------------------------------------------------------------------------- */

static bool has_payload(const struct ss_model *model, const struct ss_model_range *range,
                        int64_t *number)
{
    const struct ss_model_payload *payload = &model->payloads.data[range->payload];
    *number = payload->integer;
    return range->payload != 0 && (payload->type == SS_VALUE_INT || payload->type == SS_VALUE_UINT);
}

struct fetches {
    uint64_t ns, collate_ns; /* of all batches of all workers */
    uint64_t in_steps_ns;    /* the part within steady-state steps */
};

static void add_worker_range(struct scan *scan, uint32_t trainer,
                             const struct ss_model_range *range, bool is_fetch,
                             struct fetches *workers)
{
    uint64_t ns = range->end_ns - range->begin_ns;
    uint64_t from_ns = steady_time_until(scan, trainer, range->begin_ns);
    uint64_t to_ns = steady_time_until(scan, trainer, range->end_ns);
    if (to_ns <= from_ns) {
        return;
    }
    if (is_fetch) {
        scan->facts->worker_batches++;
        workers->ns += ns;
        workers->in_steps_ns += to_ns - from_ns;
    } else {
        workers->collate_ns += ns;
    }
}

/* With 0 workers the trainer itself fetches, while it requests a batch. */
static void add_data_range(struct scan *scan, uint32_t process, const struct ss_model_range *range,
                           struct fetches *workers)
{
    struct ss_training_facts *facts = scan->facts;
    const char *name = name_of(scan->model, range);
    bool is_fetch = strcmp(name, "fetch") == 0, is_collate = strcmp(name, "collate") == 0;
    uint32_t trainer = ss_training_trainer(facts, process);
    int64_t ready;
    if (trainer != process) {
        if (trainer != 0 && (is_fetch || is_collate)) {
            add_worker_range(scan, trainer, range, is_fetch, workers);
        }
        return;
    }
    if (steady_step_at(scan, process, range->begin_ns) == NULL) {
        return;
    }
    facts->fetch_ns += is_fetch ? range->end_ns - range->begin_ns : 0; /* a sum until the end */
    facts->fetches += is_fetch;
    facts->iterators += strcmp(name, "iterate") == 0;
    facts->fetch_collate_ns += is_collate ? range->end_ns - range->begin_ns : 0;
    if (strcmp(name, "next") == 0 && has_payload(scan->model, range, &ready)) {
        facts->nexts++;
        facts->empty_nexts += ready <= 0;
    }
}

/* --- interruptions --------------------------------------------------------------------------- */

static void add_collection(struct scan *scan, const struct span *span,
                           const struct ss_model_range *range)
{
    const struct part *part = part_at(scan, span->process, range->begin_ns);
    bool counts = span->kind == SS_STEP_STEADY || span->kind == SS_STEP_OUTLIER;
    if (!counts || (part != NULL && part->is_compile)) {
        return;
    }
    scan->facts->collections++;
    scan->facts->collections_ns += range->end_ns - range->begin_ns;
}

/* "rnn (LSTMCell)" */
static bool is_cell(const char *name)
{
    const char *class = strchr(name, '(');
    class = class != NULL ? class + 1 : name;
    return strncmp(class, "LSTMCell", 8) == 0 || strncmp(class, "GRUCell", 7) == 0 ||
           strncmp(class, "RNNCell", 7) == 0;
}

static void add_module_call(struct scan *scan, uint32_t process, const struct ss_model_range *range)
{
    const struct span *span = steady_step_at(scan, process, range->begin_ns);
    if (span == NULL || !is_cell(name_of(scan->model, range))) {
        return;
    }
    size_t step = (size_t)(span - scan->spans) + 1;
    scan->cell_steps += step != scan->last_cell_step;
    scan->last_cell_step = step;
    scan->facts->cell_calls++; /* a sum until the end */
    scan->facts->cells_ns += range->end_ns - range->begin_ns;
}

static void add_interruption(struct scan *scan, const char *domain, uint32_t process, bool is_main,
                             const struct ss_model_range *range, uint32_t *last_step)
{
    struct ss_training_facts *facts = scan->facts;
    const struct span *span = last_span(scan, process, range->begin_ns);
    uint64_t ns = range->end_ns - range->begin_ns;
    bool is_outermost = scan->model->paths.data[range->path].depth == 1;
    if (span == NULL || !is_outermost) {
        return; /* before the first step */
    }
    bool is_last = span + 1 == scan->spans + scan->span_count || span[1].process != process;
    bool in_step = range->begin_ns < span->end_ns;
    if (is_last && !in_step) {
        return; /* after the last one */
    }
    if (strcmp(domain, ss_domain_torch_compile) == 0 &&
        span->number >= SS_LIMIT_LAST_COMPILING_STEP) {
        uint32_t step = (uint32_t)(span - scan->spans) + 1;
        facts->late_compiles++;
        facts->late_compile_steps += step != *last_step;
        facts->late_compile_ns += ns;
        *last_step = step;
    } else if (strcmp(domain, ss_domain_torch_checkpoint) == 0 && is_main) {
        facts->saves++;
        facts->saves_ns += ns;
    } else if (strcmp(domain, "python.gc") == 0 && in_step && is_main) {
        add_collection(scan, span, range);
    }
}

/* --- all ranges ------------------------------------------------------------------------------ */

/* Workers follow the selection of their trainer, whatever their own names. */
static bool is_selected(const struct ss_training_facts *facts, const struct ss_selection *selection,
                        uint32_t track, uint32_t process)
{
    uint32_t trainer = ss_training_trainer(facts, process);
    return trainer == process ? ss_selection_has_track(selection, track)
                              : trainer != 0 && selection->processes[trainer];
}

static void scan_ranges(struct scan *scan, const struct ss_selection *selection,
                        struct fetches *workers)
{
    const struct ss_model *model = scan->model;
    struct operator_cursor cursor = {0};
    uint32_t last_step = 0;
    for (size_t i = 0; i < model->ranges.count; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_model_track *track = &model->tracks.data[range->track];
        const struct ss_model_thread *thread = &model->threads.data[track->thread];
        uint32_t process = track->thread != 0 ? thread->process : track->process;
        if (track->kind != SS_TRACK_RANGES || (range->flags & SS_RANGE_OUTSIDE) != 0 ||
            !is_selected(scan->facts, selection, range->track, process)) {
            continue;
        }
        const char *domain = ss_model_text(model, track->name);
        if (range->track != cursor.track) {
            close_node(&cursor);
            cursor.track = range->track;
            cursor.process = process;
            cursor.is_main = thread->is_main && ss_training_has_steps(scan->facts, process);
            cursor.end_ns = 0;
        }
        if (strcmp(domain, ss_domain_torch) == 0) {
            add_operator(scan, &cursor, range);
        } else if (strcmp(domain, ss_domain_torch_data) == 0) {
            add_data_range(scan, process, range, workers);
        } else if (strcmp(domain, ss_domain_torch_module) == 0) {
            add_module_call(scan, process, range);
        } else {
            add_interruption(scan, domain, process, thread->is_main, range, &last_step);
        }
    }
    close_node(&cursor);
}

static uint64_t per(uint64_t sum, uint64_t count)
{
    return count > 0 ? sum / count : 0;
}

/* Uses the median: on a busy machine some operators are long, and a mean measures the machine. */
static uint64_t median_of_operators(struct scan *scan, bool only_long)
{
    size_t count = 0;
    ss_vec_clear(&scan->operator_ns);
    for (size_t i = 0; i < scan->span_count; i++) {
        const struct span *span = &scan->spans[i];
        if (span->has_operators) {
            ss_vec_push(&scan->operator_ns,
                        only_long ? span->long_operators_ns : span->operators_ns);
            count++;
        }
    }
    if (count == 0) {
        return 0;
    }
    ss_sort_u64(scan->operator_ns.data, count);
    return ss_percentile_u64(scan->operator_ns.data, count, 50);
}

/* The median: where a program reads between steps, the first step has no reads. The mean where most
 * steps have none. */
static double reads_of_step(struct scan *scan)
{
    double sum = 0;
    size_t count = 0;
    ss_vec_clear(&scan->operator_ns);
    for (size_t i = 0; i < scan->span_count; i++) {
        if (scan->spans[i].has_operators) {
            ss_vec_push(&scan->operator_ns, scan->spans[i].reads);
            sum += (double)scan->spans[i].reads;
            count++;
        }
    }
    if (count == 0) {
        return 0;
    }
    ss_sort_u64(scan->operator_ns.data, count);
    uint64_t median = ss_percentile_u64(scan->operator_ns.data, count, 50);
    return median > 0 ? (double)median : sum / (double)count;
}

/* Turns sums into figures per step. */
static void finish_figures(struct scan *scan, const struct fetches *workers)
{
    struct ss_training_facts *facts = scan->facts;
    uint64_t steady = facts->steps->steady;
    size_t count = scan->operator_ns.count;
    if (count > 0) {
        ss_sort_u64(scan->operator_ns.data, count);
        facts->operator_p50_ns = ss_percentile_u64(scan->operator_ns.data, count, 50);
    }
    uint64_t steps = facts->operator_steps;
    facts->operators = per(facts->operators, steps);
    facts->operators_ns = median_of_operators(scan, false);
    facts->long_operators_ns = median_of_operators(scan, true);
    facts->reads = reads_of_step(scan);
    facts->reads_ns = per(facts->reads_ns, steps);
    facts->nan_checks_ns = per(facts->nan_checks_ns, steps);
    facts->cell_calls = per(facts->cell_calls, scan->cell_steps);
    facts->cells_ns = per(facts->cells_ns, scan->cell_steps);
    facts->fetch_ns = per(facts->fetch_ns, steady);
    facts->batches = (double)facts->fetches / (double)(steady > 0 ? steady : 1);
    facts->fetch_collate_ns = per(facts->fetch_collate_ns, steady);
    facts->worker_batch_ns = per(workers->ns, facts->worker_batches);
    facts->worker_collate_ns = per(workers->collate_ns, facts->worker_batches);
    if (facts->workers > 0 && facts->steps->total_ns > 0) {
        facts->worker_busy = (double)workers->in_steps_ns /
                             ((double)facts->workers * (double)facts->steps->total_ns);
    }
    facts->late_compile_ns = per(facts->late_compile_ns, scan->all_after_third);
    facts->collections_ns = per(facts->collections_ns, scan->all_but_warm_up);
    facts->saves_ns = per(facts->saves_ns, scan->all_but_warm_up);
}

static void find_step_means(struct ss_training_facts *facts)
{
    uint64_t sum_ns = 0, early = 0, later_ns = 0, later = 0;
    for (size_t i = 0; i < facts->steps->steps.count; i++) {
        const struct ss_step *step = &facts->steps->steps.data[i];
        uint64_t ns = step->end_ns - step->begin_ns;
        bool is_first = i == 0 || step->process != step[-1].process;
        if (step->kind != SS_STEP_CUT && ns < UINT64_MAX - sum_ns - later_ns) {
            bool counts = step->kind == SS_STEP_WARM_UP || step->kind == SS_STEP_STEADY;
            sum_ns += counts ? ns : 0;
            early += counts;
            later_ns += step->kind != SS_STEP_WARM_UP ? ns : 0;
            later += step->kind != SS_STEP_WARM_UP;
            facts->first_ns = is_first && ns > facts->first_ns ? ns : facts->first_ns;
        }
    }
    facts->warm_mean_ns = per(sum_ns, early);
    facts->spread_ns = per(later_ns, later);
}

/* A gauge of CPU use in percent of a core; each value holds until the next. */
struct use {
    const char *group, *name;
    uint64_t from_ns, to_ns;
    double sum, held_ns; /* of all its tracks */
};

static void add_value(const struct ss_model *model, size_t index, struct use *use)
{
    const struct ss_model_value *value = &model->values.data[index];
    const struct ss_model_track *track = &model->tracks.data[value->track];
    if (strcmp(ss_model_text(model, track->name), use->name) != 0 ||
        strcmp(ss_model_text(model, model->tracks.data[track->parent].name), use->group) != 0) {
        return;
    }
    bool is_last = index + 1 == model->values.count || value[1].track != value->track;
    uint64_t begin_ns = value->time_ns > use->from_ns ? value->time_ns : use->from_ns;
    uint64_t end_ns = is_last || value[1].time_ns > use->to_ns ? use->to_ns : value[1].time_ns;
    if (begin_ns < end_ns) {
        use->sum += ss_model_real(value) * (double)(end_ns - begin_ns);
        use->held_ns += (double)(end_ns - begin_ns);
    }
}

static void find_cpu_use(struct ss_training_facts *facts)
{
    const struct ss_model *model = facts->model;
    struct use all = {.group = "CPU", .name = "busy", .from_ns = UINT64_MAX};
    for (size_t i = 0; i < facts->steps->steps.count; i++) {
        const struct ss_step *step = &facts->steps->steps.data[i];
        all.from_ns = step->begin_ns < all.from_ns ? step->begin_ns : all.from_ns;
        all.to_ns = step->end_ns > all.to_ns ? step->end_ns : all.to_ns;
    }
    struct use own = all, limit = all, used = all;
    own.group = "usage";
    own.name = "CPU";
    limit.group = used.group = "container";
    limit.name = "CPU limit";
    used.name = "CPU used";
    for (size_t i = 0; i < model->values.count; i++) {
        add_value(model, i, &all);
        add_value(model, i, &own);
        add_value(model, i, &limit);
        add_value(model, i, &used);
    }
    double most = limit.held_ns > 0 ? limit.sum / limit.held_ns / 100 : 0;
    if (most > 0 && used.held_ns > 0 && most < (double)facts->cores) {
        facts->cores = most > 1 ? (uint64_t)most : 1;
        all = used;
    }
    bool is_known = all.held_ns > 0 && facts->cores > 0 && all.sum >= 0;
    facts->cpu_busy = is_known ? all.sum / all.held_ns / 100 / (double)facts->cores : -1;
    bool is_own_known = is_known && own.held_ns > 0 && own.sum >= 0 && all.sum > 0;
    facts->cpu_own = is_own_known ? fmin(own.sum / all.sum, 1) : -1;
}

void ss_training_facts_init(struct ss_training_facts *facts, const struct ss_selection *selection,
                            const struct ss_step_summary *steps,
                            const struct ss_source_lines *source)
{
    *facts = (struct ss_training_facts){.steps = steps,
                                        .model = selection->model,
                                        .step_ns = steps->mean_ns,
                                        .cpu_busy = -1,
                                        .cpu_own = -1,
                                        .threads = -1,
                                        .workers = -1,
                                        .batch_size = -1,
                                        .worker_busy = -1};
    find_notes(facts);
    find_step_means(facts);
    facts->evaluations =
        ss_phase_spread_of(facts->steps, ss_training_phase(facts, ss_phase_evaluation));
    facts->checkpoints =
        ss_phase_spread_of(facts->steps, ss_training_phase(facts, ss_phase_checkpoint));
    ss_flops_figures_find(&facts->flops, selection, steps);
    ss_throughput_find(&facts->throughput, selection, steps, facts->batch_size);
    find_cpu_use(facts);
    ss_memories_init(&facts->memories, selection, steps);
    if (steps->steady == 0) {
        return;
    }
    struct scan scan = {.facts = facts, .model = selection->model};
    struct fetches workers = {0};
    collect_parts(&scan, selection);
    list_spans(&scan);
    choose_operator_steps(&scan);
    find_reading_names(&scan);
    scan_ranges(&scan, selection, &workers);
    finish_figures(&scan, &workers);
    ss_training_epochs_find(facts, selection);
    ss_training_period_find(facts);
    ss_late_rank_find(&facts->late_rank, selection, steps);
    facts->joint_communication = ss_training_phase(facts, ss_phase_communication) != NULL
                                     ? ss_late_rank_joint_share(selection, steps)
                                     : -1;
    ss_training_samples_find(facts, selection, source);
    ss_waits_find(&facts->waits, selection, steps, source, facts->workers >= 0);
    ss_free(scan.reads_value);
    ss_free(scan.checks_nan);
    ss_vec_fini(&scan.operator_ns);
    ss_vec_fini(&scan.parts);
    ss_free(scan.spans);
}

void ss_training_facts_fini(struct ss_training_facts *facts)
{
    ss_memories_fini(&facts->memories);
}

const struct ss_step_phase *ss_training_phase(const struct ss_training_facts *facts,
                                              const char *name)
{
    for (size_t i = 0; i < facts->steps->phases.count; i++) {
        const struct ss_step_phase *phase = &facts->steps->phases.data[i];
        struct ss_strview text = ss_step_phase_text(facts->model, phase);
        if (ss_strview_equal(text, ss_strview_of(name))) {
            return phase;
        }
    }
    return NULL;
}

uint64_t ss_training_phase_ns(const struct ss_training_facts *facts, const char *name)
{
    const struct ss_step_phase *phase = ss_training_phase(facts, name);
    return phase != NULL ? phase->mean_ns : 0;
}
