/* SPDX-License-Identifier: Apache-2.0 */
/* Facts on a training's operators and modules, of the steps whose operators were recorded. */
#include <string.h>

#include "analysis/table/distribution.h"
#include "analysis/table/rule_limits.h"
#include "analysis/training/training_facts.h"
#include "base/alloc.h"
#include "base/shared_names.h"

enum { FEWEST_STEPS_OF_WORK = 9 };

/* The operators of one step. */
struct span {
    uint32_t process;
    bool has_operators;
    uint64_t reads, operators;
    uint64_t operators_ns, long_operators_ns;
};

struct scan {
    struct ss_training_facts *facts;
    const struct ss_model *model;
    struct span *spans;              /* by step of the summary */
    enum ss_step_kind operator_kind; /* of the steps whose operators count */
    struct ss_vec_of(uint64_t) operator_ns;
    bool *reads_value, *checks_nan; /* by name of the model */
};

/* Whether values read in the phase are the program's: not the loader's, not the optimizer's, not of
 * a phase with rules of its own. */
static bool has_own_reads(const char *phase)
{
    static const char *const others[] = {
        ss_phase_data,          ss_phase_optimizer, ss_phase_evaluation, ss_phase_checkpoint,
        ss_phase_communication, ss_phase_compile,   ss_phase_profiler};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strcmp(phase, others[i]) == 0) {
            return false;
        }
    }
    return true;
}

/* The phase's name; "": none. */
static const char *phase_at(const struct scan *scan, uint32_t process, uint64_t time_ns)
{
    const struct ss_phase_time *phase =
        ss_phase_times_at(&scan->facts->steps->index.phases, process, time_ns);
    return phase != NULL ? ss_model_text(scan->model, phase->name) : "";
}

/* Operators are those of steady-state steps; of outliers where no steady-state step has all of its
 * operators recorded, since recording takes time itself. */
static void choose_steps(struct scan *scan)
{
    const struct ss_step_summary *steps = scan->facts->steps;
    scan->operator_kind = SS_STEP_OUTLIER;
    for (size_t i = 0; i < steps->steps.count; i++) {
        const struct ss_step *step = &steps->steps.data[i];
        scan->spans[i].process = step->process;
        if (step->counts_operators && step->kind == SS_STEP_STEADY) {
            scan->operator_kind = SS_STEP_STEADY;
        }
    }
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
    uint32_t process;
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
    const char *phase = phase_at(scan, span->process, begin_ns);
    if (facts->has_anomaly_detection && strcmp(phase, ss_phase_backward) == 0) {
        facts->nan_checks_ns += ns; /* a sum until the end */
    } else if (scan->reads_value[name] && has_own_reads(phase)) {
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
    span->operators++;
    span->operators_ns += ns;
    ss_vec_push(&scan->operator_ns, ns);
}

static void add_operator(struct scan *scan, struct operator_cursor *cursor,
                         const struct ss_model_range *range)
{
    const struct ss_model *model = scan->model;
    const struct ss_step_summary *steps = scan->facts->steps;
    uint32_t name = model->paths.data[range->path].name;
    if (strcmp(ss_model_text(model, model->names.data[name].category), "operator") != 0) {
        return;
    }
    const struct ss_step *at = ss_step_at(steps, cursor->process, range->begin_ns);
    bool counts = at != NULL && at->counts_operators && at->kind == scan->operator_kind;
    struct span *span = counts ? &scan->spans[at - steps->steps.data] : NULL;
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

static void add_operators(struct scan *scan, const struct ss_range_run *run, uint32_t process)
{
    struct operator_cursor cursor = {.process = process};
    for (size_t i = run->first; i < run->end; i++) {
        const struct ss_model_range *range = &scan->model->ranges.data[i];
        if ((range->flags & SS_RANGE_OUTSIDE) == 0) {
            add_operator(scan, &cursor, range);
        }
    }
    close_node(&cursor);
}

/* --- figures --------------------------------------------------------------------------------- */

/* Uses the median: on a busy machine some operators are long, and a mean measures the machine. */
static uint64_t median_of_operators(struct scan *scan, bool only_long)
{
    size_t count = 0;
    ss_vec_clear(&scan->operator_ns);
    for (size_t i = 0; i < scan->facts->steps->steps.count; i++) {
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
    return ss_median_u64(scan->operator_ns.data, count);
}

/* The median: where a program reads between steps, the first step has no reads. The mean where most
 * steps have none. */
static double reads_of_step(struct scan *scan)
{
    double sum = 0;
    size_t count = 0;
    ss_vec_clear(&scan->operator_ns);
    for (size_t i = 0; i < scan->facts->steps->steps.count; i++) {
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
    uint64_t median = ss_median_u64(scan->operator_ns.data, count);
    return median > 0 ? (double)median : sum / (double)count;
}

/* Adds the steps from `first` to `last` of those of a process that have operators. */
static void add_work(const struct scan *scan, uint32_t process, size_t first, size_t last,
                     double *operators, double *ns)
{
    const struct ss_step_summary *steps = scan->facts->steps;
    size_t number = 0;
    for (size_t i = 0; i < steps->steps.count; i++) {
        const struct span *span = &scan->spans[i];
        if (span->has_operators && span->process == process && number++ >= first &&
            number <= last + 1) {
            const struct ss_step *step = &steps->steps.data[i];
            *operators += (double)span->operators / (double)(last - first + 1);
            *ns += (double)(step->end_ns - step->begin_ns) / (double)(last - first + 1);
        }
    }
}

static void find_work(struct scan *scan)
{
    const struct ss_drifts *drifts = &scan->facts->drifts;
    struct ss_work_growth *work = &scan->facts->work;
    size_t count = 0;
    if (drifts->largest >= drifts->rows.count) {
        return;
    }
    uint32_t process = drifts->rows.data[drifts->largest].process;
    for (size_t i = 0; i < scan->facts->steps->steps.count; i++) {
        count += scan->spans[i].has_operators && scan->spans[i].process == process;
    }
    if (count < FEWEST_STEPS_OF_WORK) {
        return;
    }
    size_t third = count / 3;
    add_work(scan, process, 0, third - 1, &work->operators_before, &work->ns_before);
    add_work(scan, process, count - third, count - 1, &work->operators_after, &work->ns_after);
}

/* Turns sums into figures per step. */
static void finish_operators(struct scan *scan)
{
    struct ss_training_facts *facts = scan->facts;
    size_t count = scan->operator_ns.count;
    if (count > 0) {
        ss_sort_u64(scan->operator_ns.data, count);
        facts->operator_p50_ns = ss_median_u64(scan->operator_ns.data, count);
    }
    uint64_t steps = facts->operator_steps;
    facts->operators = ss_training_per(facts->operators, steps);
    facts->operators_ns = median_of_operators(scan, false);
    facts->long_operators_ns = median_of_operators(scan, true);
    facts->reads = reads_of_step(scan);
    facts->reads_ns = ss_training_per(facts->reads_ns, steps);
    facts->nan_checks_ns = ss_training_per(facts->nan_checks_ns, steps);
}

void ss_training_operators_find(struct ss_training_facts *facts,
                                const struct ss_selection *selection)
{
    const struct ss_model *model = facts->model;
    const struct ss_step_summary *steps = facts->steps;
    struct scan scan = {.facts = facts,
                        .model = model,
                        .spans = ss_alloc_zero(steps->steps.count + 1, sizeof *scan.spans)};
    facts->reads_lost = steps->lost_operators;
    choose_steps(&scan);
    find_reading_names(&scan);
    const struct ss_range_run *run = NULL;
    while ((run = ss_range_runs_next(&steps->index.runs, run, SS_ROLE_OPERATORS)) != NULL) {
        uint32_t process = ss_range_run_process(model, run);
        bool is_main = model->threads.data[model->tracks.data[run->track].thread].is_main;
        if (is_main && ss_training_has_steps(facts, process) &&
            ss_training_has_run(facts, selection, run)) {
            add_operators(&scan, run, process);
        }
    }
    find_work(&scan);
    finish_operators(&scan);
    ss_free(scan.reads_value);
    ss_free(scan.checks_nan);
    ss_vec_fini(&scan.operator_ns);
    ss_free(scan.spans);
}

/* --- recurrent cells ------------------------------------------------------------------------- */

struct cells {
    uint64_t calls, ns;
    uint64_t steps; /* with calls */
    const struct ss_step *last;
};

/* "rnn (LSTMCell)" */
static bool is_cell(const char *name)
{
    const char *class = strchr(name, '(');
    class = class != NULL ? class + 1 : name;
    return strncmp(class, "LSTMCell", 8) == 0 || strncmp(class, "GRUCell", 7) == 0 ||
           strncmp(class, "RNNCell", 7) == 0;
}

/* The calls of recurrent cells in one run of modules; cells: sums over all steps. */
static void add_cells(struct ss_training_facts *facts, const struct ss_range_run *run,
                      uint32_t process, struct cells *cells)
{
    const struct ss_model *model = facts->model;
    for (size_t i = run->first; i < run->end; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        const struct ss_step *step = ss_step_at(facts->steps, process, range->begin_ns);
        if ((range->flags & SS_RANGE_OUTSIDE) == 0 && step != NULL &&
            step->kind == SS_STEP_STEADY && is_cell(ss_training_range_name(model, range))) {
            cells->steps += step != cells->last;
            cells->last = step;
            cells->calls++;
            cells->ns += range->end_ns - range->begin_ns;
        }
    }
}

void ss_training_cells_find(struct ss_training_facts *facts, const struct ss_selection *selection)
{
    struct cells cells = {0};
    const struct ss_range_run *run = NULL;
    while ((run = ss_range_runs_next(&facts->steps->index.runs, run, SS_ROLE_MODULES)) != NULL) {
        if (ss_training_has_run(facts, selection, run)) {
            add_cells(facts, run, ss_range_run_process(facts->model, run), &cells);
        }
    }
    facts->cell_calls = ss_training_per(cells.calls, cells.steps);
    facts->cells_ns = ss_training_per(cells.ns, cells.steps);
}
