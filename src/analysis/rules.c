/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rules_waits.h"
#include "analysis/uncertainty.h"

enum {
    FEWEST_STEPS = 5, /* fewer: what is said is uncertain */
    FEWEST_EPOCHS = 2,
    WORKER_BATCH_NS = 500000,
    LEAST_GAIN_PERCENT = 4, /* of what must be changed with care */
    SELDOM_STEPS = 20,      /* once in so many steps is not often */
    COLD_PERCENT = 15       /* of an interruption: what computing is slower by behind it; 10 to 25
                             * were measured, see tests/corpus */
};

static void add(struct ss_advice *advice, const char *what, enum ss_evidence_unit unit,
                double value)
{
    if (advice->evidence_count < SS_ADVICE_MAX_EVIDENCE) {
        advice->evidence[advice->evidence_count++] = (struct ss_evidence){what, unit, value};
    }
}

/* What is not in every step, of steps with outliers. */
static void set_spread_cost(const struct ss_training_facts *facts, struct ss_advice *advice,
                            uint64_t cost_ns)
{
    advice->cost_ns = advice->recoverable_ns = cost_ns;
    advice->of_ns = facts->spread_ns;
    advice->is_spread = true;
}

static void set_cost(struct ss_advice *advice, uint64_t cost_ns, uint64_t recoverable_ns)
{
    advice->cost_ns = cost_ns;
    advice->recoverable_ns = recoverable_ns < cost_ns ? recoverable_ns : cost_ns;
}

/* The cost is that share of `of_ns`. Samples that continue another one count as if they were drawn
 * by themselves: the error is rather too large. */
static void set_error(struct ss_advice *advice, uint64_t samples, uint64_t all, uint64_t of_ns)
{
    advice->error_ns = ss_share_error_ns(samples, all, all, of_ns);
}

/* Too few samples name no line. */
static void set_line(struct ss_advice *advice, const struct ss_phase_line *line,
                     const char *line_of)
{
    if (line != NULL && line->frame != 0 && line->samples >= SS_MIN_CLAIM_SAMPLES) {
        advice->line = line;
        advice->line_of = line_of;
    }
}

static void set_phase_line(struct ss_advice *advice, const struct ss_training_facts *facts,
                           const char *phase, const char *line_of)
{
    const struct ss_step_phase *row = ss_training_phase(facts, phase);
    set_line(advice, row != NULL ? &row->line : NULL, line_of);
}

static uint64_t share_of(uint64_t ns, double share)
{
    double part = share > 0 ? (double)ns * (share < 1 ? share : 1) : 0;
    return part < (double)INT64_MAX ? (uint64_t)part : INT64_MAX;
}

/* At least so many percent. */
static bool is_part_of(uint64_t ns, uint64_t of_ns, double percent)
{
    return 100 * (double)ns >= percent * (double)of_ns;
}

/* Kernels ran whose times were not recorded: what the host did is not what took the time. */
static bool knows_compute(const struct ss_training_facts *facts)
{
    return !facts->uses_cuda || facts->records_gpu;
}

/* --- data ------------------------------------------------------------------------------------ */

/* Bytes of a step's batches. */
static double batch_bytes(const struct ss_training_facts *facts)
{
    return fmax((double)facts->batch_bytes, 0) * fmax(facts->batches, 1);
}

/* What a batch from a worker costs the trainer: it is unpickled; its memory is mapped, and each
 * page of it met and given back. See tests/bench/bench_handover.py. */
static uint64_t handover_ns(const struct ss_training_facts *facts)
{
    static const double of_byte_ns = 0.5;
    return (uint64_t)((double)WORKER_BATCH_NS * fmax(facts->batches, 1) +
                      of_byte_ns * batch_bytes(facts));
}

/* What it costs its worker: it is copied into memory that both share. */
static double sharing_ns(const struct ss_training_facts *facts)
{
    static const double of_byte_ns = 0.6;
    return of_byte_ns * batch_bytes(facts);
}

/* All work of a step spread over the cores; that of other programs too where it is not told apart.
 */
static double spread_work_ns(const struct ss_training_facts *facts, uint64_t data_ns)
{
    double cores = (double)facts->cores, step_ns = (double)facts->step_ns;
    if (facts->cores == 0) {
        return 0;
    }
    if (facts->cpu_busy >= 0) {
        return facts->cpu_busy * (facts->cpu_own >= 0 ? facts->cpu_own : 1) * step_ns;
    }
    double threads = fmax((double)facts->threads, 1) * (double)facts->steps->processes;
    double rest_ns = step_ns - fmin((double)data_ns, step_ns);
    return (rest_ns * fmin(threads, cores) + (double)data_ns) / cores;
}

/* The step that two workers or more would leave: its other work with the batches' hand-over, or all
 * work spread over the cores; a first batch of each epoch is still waited for. */
static uint64_t step_with_workers_ns(const struct ss_training_facts *facts, uint64_t data_ns)
{
    uint64_t rest_ns = facts->step_ns > data_ns ? facts->step_ns - data_ns : 0;
    double steps = fmax((double)facts->steps->steps.count, 1);
    double more_ns =
        ((double)handover_ns(facts) + sharing_ns(facts)) / fmax((double)facts->cores, 1);
    double step_ns =
        fmax((double)(rest_ns + handover_ns(facts)), spread_work_ns(facts, data_ns) + more_ns);
    double first_ns = (double)data_ns * (double)facts->iterators / steps;
    return (uint64_t)(step_ns + first_ns);
}

/* Of two workers, which start once, spread over the steps. Not part of the bound: a training has
 * more steps than its recording. */
static uint64_t start_of_workers_ns(const struct ss_training_facts *facts)
{
    static const uint64_t start_ns = UINT64_C(100000000); /* forked */
    size_t steps = facts->steps->steps.count;
    return start_ns / (steps > 0 ? steps : 1);
}

static bool no_workers(const struct ss_training_facts *facts, struct ss_advice *advice)
{
    uint64_t data_ns = ss_training_phase_ns(facts, "data");
    if (facts->workers != 0 || facts->fetch_ns == 0) {
        return false;
    }
    uint64_t with_ns = step_with_workers_ns(facts, data_ns);
    uint64_t gain_ns = with_ns < facts->step_ns ? facts->step_ns - with_ns : 0;
    set_cost(advice, data_ns, gain_ns);
    advice->phase = ss_training_phase(facts, "data");
    set_phase_line(advice, facts, "data", "that wait");
    add(advice, "fetching in the step", SS_EVIDENCE_NS, (double)facts->fetch_ns);
    if (facts->batches > 1.5) {
        add(advice, "batches in a step", SS_EVIDENCE_COUNT, facts->batches);
    }
    if (facts->batch_size > 0) {
        add(advice, "samples in a batch", SS_EVIDENCE_COUNT, (double)facts->batch_size);
    }
    if (facts->fetch_collate_ns * 2 >= facts->fetch_ns) {
        add(advice, "collate of the fetch", SS_EVIDENCE_PERCENT,
            100 * (double)facts->fetch_collate_ns / (double)facts->fetch_ns);
    }
    if (facts->cores > 0) {
        add(advice, "cores", SS_EVIDENCE_COUNT, (double)facts->cores);
    }
    uint64_t start_ns = start_of_workers_ns(facts);
    return gain_ns > start_ns && is_part_of(gain_ns - start_ns, facts->step_ns, LEAST_GAIN_PERCENT);
}

/* How many workers would have a batch ready each time; 0: unknown. */
static uint64_t workers_needed(const struct ss_training_facts *facts)
{
    uint64_t data_ns = ss_training_phase_ns(facts, "data");
    uint64_t rest_ns = facts->step_ns > data_ns ? facts->step_ns - data_ns : 1;
    return facts->worker_batch_ns / rest_ns + 1;
}

/* Workers that started together have their batches ready together: of each round the first is
 * waited for, and counts. */
static bool workers_are_late(const struct ss_training_facts *facts)
{
    uint64_t waited = (uint64_t)(facts->workers > 0 ? facts->workers : 1) * facts->empty_nexts;
    bool empty = facts->nexts == 0 || 2 * waited >= facts->nexts;
    /* A worker that holds its GIL all the time hands its batches over late: then they are ready,
     * and waited for. */
    double least_busy = empty ? 0.5 : 0.85;
    return facts->workers > 0 && facts->worker_batches > 0 && facts->worker_busy >= least_busy;
}

/* A disk, a network or a lock, while they fetch: then more of them need no core. */
static bool workers_wait(const struct ss_training_facts *facts)
{
    const struct ss_training_samples *samples = &facts->samples;
    return samples->of_workers >= SS_MIN_CLAIM_SAMPLES &&
           (double)samples->computing_workers <
               0.5 * fmin(facts->worker_busy, 1) * (double)samples->of_workers;
}

/* Room for one more at least; where the cores' use is not recorded, each process is taken to have
 * one. */
static bool has_room(const struct ss_training_facts *facts)
{
    uint64_t running = (uint64_t)(facts->workers + 1) * facts->steps->processes;
    if (facts->cores == 0 || workers_wait(facts)) {
        return true;
    }
    if (facts->cpu_busy < 0) {
        return running < facts->cores;
    }
    return facts->cpu_busy < 0.9 && (1 - facts->cpu_busy) * (double)facts->cores >= 0.5;
}

static void add_workers(const struct ss_training_facts *facts, struct ss_advice *advice)
{
    add(advice, "workers", SS_EVIDENCE_COUNT, (double)facts->workers);
    add(advice, "workers that would keep up", SS_EVIDENCE_COUNT, (double)workers_needed(facts));
    add(advice, "a batch in a worker", SS_EVIDENCE_NS, (double)facts->worker_batch_ns);
    add(advice, "workers fetching", SS_EVIDENCE_PERCENT, 100 * fmin(facts->worker_busy, 1));
    if (facts->nexts > 0) {
        add(advice, "no batch ready", SS_EVIDENCE_PERCENT,
            100 * (double)facts->empty_nexts / (double)facts->nexts);
    }
    if (facts->cpu_busy >= 0) {
        add(advice, "of all cores busy", SS_EVIDENCE_PERCENT, 100 * facts->cpu_busy);
    }
    set_line(advice, &facts->samples.workers, "the workers' time");
}

/* Without what the beginnings of epochs cost: more workers do not mend that. */
static uint64_t late_data_ns(const struct ss_training_facts *facts)
{
    uint64_t data_ns = ss_training_phase_ns(facts, "data"), begins = facts->epochs.usual_wait_ns;
    return facts->epochs.starts < FEWEST_EPOCHS ? data_ns : data_ns > begins ? data_ns - begins : 0;
}

static bool few_workers(const struct ss_training_facts *facts, struct ss_advice *advice)
{
    uint64_t data_ns = late_data_ns(facts);
    set_cost(advice, data_ns, data_ns);
    advice->phase = ss_training_phase(facts, "data");
    add_workers(facts, advice);
    return workers_are_late(facts) && has_room(facts);
}

static bool slow_workers(const struct ss_training_facts *facts, struct ss_advice *advice)
{
    uint64_t data_ns = late_data_ns(facts);
    set_cost(advice, data_ns, data_ns);
    advice->phase = ss_training_phase(facts, "data");
    add_workers(facts, advice);
    return workers_are_late(facts) && !has_room(facts);
}

static bool worker_restarts(const struct ss_training_facts *facts, struct ss_advice *advice)
{
    const struct ss_training_epochs *epochs = &facts->epochs;
    set_spread_cost(facts, advice, epochs->restart_ns + epochs->behind_ns);
    advice->interrupts = true;
    add(advice, "restarts", SS_EVIDENCE_COUNT, (double)epochs->restarts);
    add(advice, "each", SS_EVIDENCE_NS, (double)epochs->each_restart_ns);
    add(advice, "slower computing behind each", SS_EVIDENCE_NS, (double)epochs->each_behind_ns);
    add(advice, "steps to an epoch", SS_EVIDENCE_COUNT, (double)epochs->steps);
    if (facts->workers > 0) {
        add(advice, "workers", SS_EVIDENCE_COUNT, (double)facts->workers);
    }
    return epochs->restarts >= FEWEST_EPOCHS;
}

static bool epoch_starts(const struct ss_training_facts *facts, struct ss_advice *advice)
{
    const struct ss_training_epochs *epochs = &facts->epochs;
    set_spread_cost(facts, advice, epochs->wait_ns);
    add(advice, "epochs begun", SS_EVIDENCE_COUNT, (double)epochs->starts);
    add(advice, "waited at each", SS_EVIDENCE_NS, (double)epochs->each_wait_ns);
    add(advice, "steps to an epoch", SS_EVIDENCE_COUNT, (double)epochs->steps);
    add(advice, "a batch in a worker", SS_EVIDENCE_NS, (double)facts->worker_batch_ns);
    if (facts->workers > 0) {
        add(advice, "workers", SS_EVIDENCE_COUNT, (double)facts->workers);
    }
    if (facts->cores > 0) {
        add(advice, "cores", SS_EVIDENCE_COUNT, (double)facts->cores);
    }
    return epochs->starts >= FEWEST_EPOCHS;
}

static bool slow_collate(const struct ss_training_facts *facts, struct ss_advice *advice)
{
    bool in_workers = facts->workers > 0;
    uint64_t fetch_ns = in_workers ? facts->worker_batch_ns : facts->fetch_ns;
    uint64_t collate_ns = in_workers ? facts->worker_collate_ns : facts->fetch_collate_ns;
    double share = fetch_ns > 0 ? (double)collate_ns / (double)fetch_ns : 0;
    uint64_t data_ns = ss_training_phase_ns(facts, "data");
    uint64_t cost_ns = in_workers ? share_of(data_ns, share) : collate_ns;
    set_cost(advice, cost_ns, cost_ns);
    advice->phase = ss_training_phase(facts, "data");
    advice->is_part = true;
    add(advice, "collate of the fetch", SS_EVIDENCE_PERCENT, 100 * share);
    add(advice, "collating a batch", SS_EVIDENCE_NS, (double)collate_ns);
    set_line(advice, &facts->samples.collates, "it");
    return share >= 0.5;
}

/* --- compute --------------------------------------------------------------------------------- */

static void add_reads(const struct ss_training_facts *facts, struct ss_advice *advice)
{
    add(advice, facts->reads_lost ? "reads a step, at least" : "reads a step", SS_EVIDENCE_COUNT,
        facts->reads);
}

/* With CUDA a read waits for kernels, and a copy to the host is no operator of its own: of it the
 * samples tell. */
static bool host_sync(const struct ss_training_facts *facts, struct ss_advice *advice)
{
    const struct ss_training_samples *samples = &facts->samples;
    uint64_t ns = facts->reads_ns;
    if (facts->uses_cuda && samples->reads.all >= SS_MIN_CLAIM_SAMPLES) {
        uint64_t sampled_ns =
            share_of(facts->spread_ns, (double)samples->reads.all / (double)samples->all);
        if (sampled_ns > ns) {
            ns = sampled_ns;
            set_error(advice, samples->reads.all, samples->all, facts->spread_ns);
        }
    }
    if (!knows_compute(facts)) {
        advice->headline = "waits for kernels, unknown ones, to read values of tensors";
    }
    set_cost(advice, ns, ns);
    advice->interrupts = !facts->uses_cuda;
    set_line(advice, &facts->samples.reads, "the samples in such lines");
    add_reads(facts, advice);
    return facts->reads >= 1 || facts->uses_cuda;
}

static uint64_t median_of(const struct ss_training_facts *facts, const char *phase)
{
    const struct ss_step_phase *row = ss_training_phase(facts, phase);
    return row != NULL ? row->p50_ns : 0;
}

/* Of a step; fewer are layers, not a loop over time. */
enum { FEWEST_CELL_CALLS = 8 };

/* Both passes, as the backward of cells takes the same part of its phase. */
static uint64_t time_of_cells(const struct ss_training_facts *facts)
{
    uint64_t forward_ns = ss_training_phase_ns(facts, "forward");
    uint64_t backward_ns = ss_training_phase_ns(facts, "backward");
    double share = forward_ns > 0 ? (double)facts->cells_ns / (double)forward_ns : 0;
    return facts->cells_ns + share_of(backward_ns, share);
}

/* What other findings say of the phases that compute. */
static uint64_t time_told_of_compute(const struct ss_training_facts *facts)
{
    static const char *const phases[] = {"forward", "backward", "optimizer"};
    uint64_t ns = facts->cell_calls >= FEWEST_CELL_CALLS ? time_of_cells(facts) : 0;
    for (size_t i = 0; i < facts->hot_lines.count; i++) {
        const struct ss_hot_line *line = &facts->hot_lines.rows[i];
        for (size_t k = 0; k < sizeof phases / sizeof *phases; k++) {
            ns += line->phase == ss_training_phase(facts, phases[k]) ? line->cost_ns : 0;
        }
    }
    return ns;
}

/* By medians: on a busy machine the means tell of the machine. */
static bool tiny_batches(const struct ss_training_facts *facts, struct ss_advice *advice)
{
    uint64_t compute_ns =
        median_of(facts, "forward") + median_of(facts, "backward") + median_of(facts, "optimizer");
    uint64_t others_ns = facts->long_operators_ns + time_told_of_compute(facts);
    uint64_t outside_ns = compute_ns > others_ns ? compute_ns - others_ns : 0;
    set_cost(advice, outside_ns, outside_ns);
    advice->of_ns = facts->steps->p50_ns;
    add(advice, "operators a step", SS_EVIDENCE_COUNT, (double)facts->operators);
    add(advice, "time in all of them", SS_EVIDENCE_NS, (double)facts->operators_ns);
    add(advice, "median operator", SS_EVIDENCE_NS, (double)facts->operator_p50_ns);
    if (facts->batch_size > 0) {
        add(advice, "samples in a batch", SS_EVIDENCE_COUNT, (double)facts->batch_size);
    }
    if (facts->workers < 0) {
        advice->fix = "make batches larger; or torch.compile the model";
    }
    return knows_compute(facts) && facts->operators >= 50 &&
           facts->operator_p50_ns < SS_TINY_OPERATOR_NS && 2 * outside_ns > compute_ns;
}

/* Its tracebacks are in the samples, its search for NaN in the operators of the backward. */
static bool anomaly_detection(const struct ss_training_facts *facts, struct ss_advice *advice)
{
    const struct ss_training_samples *samples = &facts->samples;
    double all = samples->all > 0 ? (double)samples->all : 1;
    uint64_t ns =
        facts->nan_checks_ns + share_of(facts->step_ns, (double)samples->tracebacks / all);
    set_cost(advice, ns, ns);
    advice->interrupts = true;
    set_error(advice, samples->tracebacks, samples->all, facts->step_ns);
    add(advice, "search for NaN in the backward", SS_EVIDENCE_NS, (double)facts->nan_checks_ns);
    add(advice, "samples in tracebacks", SS_EVIDENCE_COUNT, (double)samples->tracebacks);
    return facts->has_anomaly_detection;
}

/* Half as many bytes, and twice as many numbers in each instruction; more of them fit into caches,
 * and functions such as exp gain more than twice: up to 57 % of the operators' time was measured.
 */
static bool float64(const struct ss_training_facts *facts, struct ss_advice *advice)
{
    set_cost(advice, facts->long_operators_ns, share_of(facts->operators_ns, 0.6));
    advice->of_ns = facts->steps->p50_ns;
    add(advice, "in operators of 30 µs and more", SS_EVIDENCE_NS, (double)facts->long_operators_ns);
    return strcmp(facts->dtype, "float64") == 0 && knows_compute(facts);
}

/* What a layer over all time steps leaves of it depends on its size: about a quarter. */
static bool time_loop(const struct ss_training_facts *facts, struct ss_advice *advice)
{
    uint64_t ns = time_of_cells(facts);
    set_cost(advice, ns, ns - ns / 4);
    add(advice, "calls of cells in a step", SS_EVIDENCE_COUNT, (double)facts->cell_calls);
    add(advice, "in them in the forward", SS_EVIDENCE_NS, (double)facts->cells_ns);
    return facts->cell_calls >= FEWEST_CELL_CALLS && knows_compute(facts);
}

static bool recompilation(const struct ss_training_facts *facts, struct ss_advice *advice)
{
    set_spread_cost(facts, advice, facts->late_compile_ns);
    add(advice, "compiled after the third step", SS_EVIDENCE_COUNT, (double)facts->late_compiles);
    add(advice, "in steps", SS_EVIDENCE_COUNT, (double)facts->late_compile_steps);
    return facts->late_compile_steps >= 2;
}

/* So much of the cores' use that they would not be waited for without others. */
static bool uses_most(const struct ss_training_facts *facts)
{
    return facts->cpu_own >= 0.6;
}

/* More threads than cores: an operator waits for the last of them as well, asleep. */
static bool waits_for_cores(const struct ss_training_facts *facts, struct ss_advice *advice)
{
    const struct ss_training_samples *samples = &facts->samples;
    bool has_too_many = facts->threads > (int64_t)facts->cores;
    uint64_t waits = samples->runnable + (has_too_many ? samples->asleep_in_operators : 0);
    if (waits < SS_MIN_CLAIM_SAMPLES) {
        return false;
    }
    double share = (double)waits / (double)samples->all;
    uint64_t waits_ns = share_of(facts->step_ns, share);
    set_cost(advice, waits_ns, waits_ns);
    set_error(advice, waits, samples->all, facts->step_ns);
    return true;
}

static void add_cores(const struct ss_training_facts *facts, struct ss_advice *advice)
{
    add(advice, "cores", SS_EVIDENCE_COUNT, (double)facts->cores);
    if (facts->cpu_own >= 0) {
        add(advice, "of their use by these processes", SS_EVIDENCE_PERCENT, 100 * facts->cpu_own);
    }
}

static bool busy_machine(const struct ss_training_facts *facts, struct ss_advice *advice)
{
    bool others = facts->cpu_own >= 0 && !uses_most(facts) && facts->cpu_busy >= 0.8;
    if (!others || !waits_for_cores(facts, advice)) {
        return false;
    }
    advice->recoverable_ns = 0; /* not by a change of the program */
    add_cores(facts, advice);
    return true;
}

/* Of the waits, what as many threads as cores would leave out: they do the work of all. Where the
 * main thread runs more than its share of the cores, the work is not spread over the threads: they
 * wait, or spin. */
static uint64_t waits_without_work(const struct ss_training_facts *facts, uint64_t waits_ns)
{
    const struct ss_training_samples *samples = &facts->samples;
    double threads = (double)facts->threads * (double)facts->steps->processes;
    double runs = (double)samples->runs_in_operators / (double)samples->all;
    double more = threads / (double)facts->cores - 1;
    if (more <= 0 || runs * (more + 1) > 1) {
        return waits_ns;
    }
    uint64_t work_ns = share_of(facts->step_ns, runs * more);
    return work_ns < waits_ns / 2 ? waits_ns - work_ns : waits_ns / 2;
}

static bool oversubscription(const struct ss_training_facts *facts, struct ss_advice *advice)
{
    bool has_workers = facts->workers > 0 && facts->worker_busy > 0;
    double each = (double)facts->threads +
                  (has_workers ? (double)facts->workers * fmin(facts->worker_busy, 1) : 0);
    bool others = facts->cpu_own >= 0 && !uses_most(facts);
    if (facts->threads < 1 || facts->cores == 0 || others ||
        each * (double)facts->steps->processes < 1.5 * (double)facts->cores ||
        !waits_for_cores(facts, advice)) {
        return false;
    }
    advice->recoverable_ns = waits_without_work(facts, advice->cost_ns);
    advice->interrupts = true;
    add(advice, "trainers", SS_EVIDENCE_COUNT, (double)facts->steps->processes);
    add(advice, "threads of operators in each", SS_EVIDENCE_COUNT, (double)facts->threads);
    if (facts->workers > 0) {
        add(advice, "workers of each", SS_EVIDENCE_COUNT, (double)facts->workers);
    }
    add_cores(facts, advice);
    return true;
}

/* --- interruptions --------------------------------------------------------------------------- */

static bool gc_pauses(const struct ss_training_facts *facts, struct ss_advice *advice)
{
    set_spread_cost(facts, advice, facts->collections_ns);
    advice->interrupts = true;
    add(advice, "collections", SS_EVIDENCE_COUNT, (double)facts->collections);
    if (facts->samples.collects.samples >= SS_MIN_CLAIM_SAMPLES) {
        advice->headline = "goes into calls of gc.collect()";
        advice->fix = "call it when much was freed, not in each step; Python collects by itself";
        set_line(advice, &facts->samples.collects, "those calls");
    }
    return facts->collections > 1;
}

static bool checkpoint_stalls(const struct ss_training_facts *facts, struct ss_advice *advice)
{
    const struct ss_training_seldom *checkpoints = &facts->checkpoints;
    bool has_more = checkpoints->mean_ns > facts->saves_ns; /* a framework's, around torch.save */
    set_spread_cost(facts, advice, has_more ? checkpoints->mean_ns : facts->saves_ns);
    advice->phase = ss_training_phase(facts, "checkpoint");
    set_phase_line(advice, facts, "checkpoint", "that time");
    advice->ends_with_line = true;
    advice->interrupts = true;
    uint64_t count = checkpoints->steps > 0 ? checkpoints->steps : facts->saves;
    add(advice, checkpoints->steps > 0 ? "steps with a checkpoint" : "checkpoints",
        SS_EVIDENCE_COUNT, (double)count);
    if (facts->saves > count) {
        add(advice, "calls of torch.save", SS_EVIDENCE_COUNT, (double)facts->saves);
    }
    return count > 1;
}

/* Samples are of slow steps too. */
static uint64_t logs_time_ns(const struct ss_training_facts *facts)
{
    const struct ss_training_samples *samples = &facts->samples;
    double all = samples->all > 0 ? (double)samples->all : 1;
    return share_of(facts->spread_ns, (double)samples->logs.all / all);
}

/* Other rules know more of what makes at least half of it. */
static bool periodic_stalls(const struct ss_training_facts *facts, struct ss_advice *advice)
{
    const struct ss_training_period *period = &facts->period;
    uint64_t known_ns = facts->reads_ns + facts->collections_ns + logs_time_ns(facts);
    if (period->phase == NULL || 2 * known_ns >= period->more_ns) {
        return false;
    }
    struct ss_strview phase = ss_step_phase_text(facts->model, period->phase);
    if (ss_strview_equal(phase, ss_strview_of("evaluation"))) {
        return false; /* it has a rule of its own */
    }
    if (ss_strview_equal(phase, ss_strview_of("data"))) {
        advice->headline = "waits for data that comes late again and again";
    }
    set_spread_cost(facts, advice, period->more_ns);
    advice->interrupts = true;
    set_line(advice, &period->phase->line, "that phase");
    add(advice, "a slow step every", SS_EVIDENCE_COUNT, (double)period->every);
    add(advice, "slow steps", SS_EVIDENCE_COUNT, (double)period->slow);
    add(advice, "each longer by", SS_EVIDENCE_NS, (double)period->each_ns);
    return true;
}

/* What a late rank explains is told as that. */
static uint64_t late_rank_ns(const struct ss_training_facts *facts)
{
    const struct ss_late_rank *late = &facts->late_rank;
    bool is_much =
        late->process != 0 && is_part_of(late->waits_ns, late->of_ns, LEAST_GAIN_PERCENT);
    return is_much ? late->waits_ns : 0;
}

static bool communication(const struct ss_training_facts *facts, struct ss_advice *advice)
{
    uint64_t all_ns = ss_training_phase_ns(facts, "communication"), ns = all_ns;
    if (facts->joint_communication >= 0) {
        uint64_t joint_ns = share_of(facts->step_ns, facts->joint_communication);
        ns = joint_ns < all_ns ? joint_ns : all_ns;
        add(advice, "besides, for ranks to come", SS_EVIDENCE_NS, (double)(all_ns - ns));
    }
    set_cost(advice, ns, ns);
    advice->phase = ss_training_phase(facts, "communication");
    add(advice, "trainers in this recording", SS_EVIDENCE_COUNT, (double)facts->steps->processes);
    return advice->phase != NULL && late_rank_ns(facts) == 0;
}

static bool late_rank(const struct ss_training_facts *facts, struct ss_advice *advice)
{
    const struct ss_late_rank *late = &facts->late_rank;
    set_cost(advice, late->waits_ns, late->waits_ns);
    advice->interrupts = true;
    advice->of_ns = late->of_ns;
    advice->phase = ss_training_phase(facts, "communication");
    advice->is_part = true; /* why the others wait: more than what that rank does meanwhile */
    if (late->process != 0) {
        if (late->rank >= 0) {
            add(advice, "late: rank", SS_EVIDENCE_NUMBER, (double)late->rank);
        }
        add(advice, late->rank >= 0 ? "process ID" : "late: process ID", SS_EVIDENCE_NUMBER,
            (double)facts->model->processes.data[late->process].pid);
        add(advice, "the others wait longer by", SS_EVIDENCE_NS, (double)late->waits_ns);
        add(advice, "it takes longer itself by", SS_EVIDENCE_NS, (double)late->more_ns);
        set_line(advice, &late->line, "its samples in the phase that takes it longer");
    }
    return late_rank_ns(facts) > 0;
}

/* Evaluating more seldom is what recovers: once in SELDOM_STEPS steps. */
static bool evaluation(const struct ss_training_facts *facts, struct ss_advice *advice)
{
    const struct ss_training_seldom *evaluations = &facts->evaluations;
    double every =
        evaluations->steps > 0 ? (double)evaluations->all_steps / (double)evaluations->steps : 0;
    if (evaluations->steps < 2 || every >= SELDOM_STEPS) {
        return false;
    }
    set_spread_cost(facts, advice, evaluations->mean_ns);
    advice->interrupts = true;
    advice->recoverable_ns = share_of(evaluations->mean_ns, 1 - every / SELDOM_STEPS);
    advice->phase = ss_training_phase(facts, "evaluation");
    set_phase_line(advice, facts, "evaluation", "that time");
    add(advice, "steps with an evaluation", SS_EVIDENCE_COUNT, (double)evaluations->steps);
    add(advice, "one in so many steps", SS_EVIDENCE_COUNT, every);
    add(advice, "each", SS_EVIDENCE_NS, (double)evaluations->each_ns);
    return true;
}

static bool logging(const struct ss_training_facts *facts, struct ss_advice *advice)
{
    const struct ss_training_samples *samples = &facts->samples;
    if (samples->logs.all < SS_MIN_CLAIM_SAMPLES) {
        return false;
    }
    set_spread_cost(facts, advice, logs_time_ns(facts));
    advice->interrupts = true;
    advice->is_spread = false;
    set_error(advice, samples->logs.all, samples->all, facts->spread_ns);
    set_line(advice, &samples->logs, "that time");
    add(advice, "samples", SS_EVIDENCE_COUNT, (double)samples->logs.all);
    return true;
}

/* --- what is no matter of time --------------------------------------------------------------- */

static bool memory_growth(const struct ss_training_facts *facts, struct ss_advice *advice)
{
    const struct ss_memory *grows = NULL;
    for (size_t i = 0; i < facts->memories.rows.count; i++) {
        const struct ss_memory *memory = &facts->memories.rows.data[i];
        grows = grows == NULL && memory->grows ? memory : grows;
    }
    if (grows == NULL) {
        return false;
    }
    const struct ss_step_summary *steps = facts->steps;
    if (grows->growing_phase < steps->phases.count) {
        advice->grows_in = &steps->phases.data[grows->growing_phase];
    }
    add(advice, ss_model_text(facts->model, grows->name), SS_EVIDENCE_BYTES, grows->last);
    add(advice, "more with each step", SS_EVIDENCE_BYTES, grows->bytes_per_step);
    add(advice, "steps", SS_EVIDENCE_COUNT, (double)grows->steps);
    return true;
}

static bool warm_up(const struct ss_training_facts *facts, struct ss_advice *advice)
{
    if (facts->steps->warm_up == 0 || facts->step_ns == 0) {
        return false;
    }
    add(advice, "mean with the first steps", SS_EVIDENCE_NS, (double)facts->warm_mean_ns);
    add(advice, "of the usual ones", SS_EVIDENCE_NS, (double)facts->step_ns);
    add(advice, "first step", SS_EVIDENCE_NS, (double)facts->first_ns);
    return (double)facts->warm_mean_ns >= 1.5 * (double)facts->step_ns;
}

/* --- lines ----------------------------------------------------------------------------------- */

/* Where nothing is known to help, only what is heavy is worth a line. */
static double least_percent_of(const struct ss_hot_line *line)
{
    enum { LEAST_KNOWN = 3, LEAST_UNKNOWN = 6 };
    return line->activity != SS_ACTIVITY_NOTHING ? LEAST_KNOWN : LEAST_UNKNOWN;
}

static bool put_hot_line(const struct ss_training_facts *facts, const struct ss_hot_line *line,
                         struct ss_advice *advice)
{
    set_spread_cost(facts, advice, line->cost_ns);
    advice->is_spread = false;
    advice->interrupts = true;
    advice->error_ns = line->error_ns;
    advice->phase = line->phase;
    advice->line = &line->line;
    advice->line_of = "the samples of that phase";
    advice->is_of_line = true;
    advice->hot_line = line;
    advice->activity = line->activity;
    advice->fix = ss_activity_cure(line->activity);
    add(advice, "of the samples of that phase", SS_EVIDENCE_PERCENT,
        100 * (double)line->line.samples / (double)line->line.all);
    add(advice, "samples at the line", SS_EVIDENCE_COUNT, (double)line->line.samples);
    if (line->activity == SS_ACTIVITY_TENSOR_READ && facts->reads >= 1) {
        add_reads(facts, advice);
    }
    return is_part_of(line->cost_ns, facts->spread_ns, least_percent_of(line));
}

static bool hot_line(const struct ss_training_facts *facts, struct ss_advice *advice)
{
    return facts->hot_lines.count > 0 && put_hot_line(facts, &facts->hot_lines.rows[0], advice);
}

/* --- the table ------------------------------------------------------------------------------- */

#define SS_RULE(function, id, headline, needs, fires, least, estimate, fix)                        \
    {id, headline, needs, fires, least, estimate, fix},
const struct ss_rule ss_rules[] = {
#include "analysis/rules.def"
    {0}};
#undef SS_RULE

#define SS_RULE(function, id, headline, needs, fires, least, estimate, fix) function,
static bool (*const evaluations[])(const struct ss_training_facts *, struct ss_advice *) = {
#include "analysis/rules.def"
};
#undef SS_RULE

static bool is_worth_it(const struct ss_advice *advice)
{
    const struct ss_rule *rule = advice->rule;
    double least = rule->least_percent;
    return least <= 0 || (advice->cost_ns > 0 && advice->percent >= least &&
                          advice->percent >= SS_RULE_LEAST_PERCENT);
}

/* In the table's order where they are equal, as the table is an array of its own. */
static int compare(const void *left, const void *right)
{
    const struct ss_advice *a = left, *b = right;
    if (a->recoverable_ns != b->recoverable_ns) {
        return a->recoverable_ns > b->recoverable_ns ? -1 : 1;
    }
    return (a->rule > b->rule) - (a->rule < b->rule);
}

/* A stack of the line of `inner` passes that of `outer`, or its caller's. */
static bool lies_below(const struct ss_model *model, const struct ss_advice *inner,
                       const struct ss_advice *outer)
{
    uint32_t caller = outer->hot_line != NULL ? outer->hot_line->caller : 0;
    for (uint32_t i = 1; i < model->stacks.count; i++) {
        if (model->stacks.data[i].frame != inner->line->frame) {
            continue;
        }
        for (uint32_t at = i; at != 0; at = model->stacks.data[at].parent) {
            uint32_t frame = model->stacks.data[at].frame;
            if (frame == outer->line->frame || (caller != 0 && frame == caller)) {
                return true;
            }
        }
    }
    return false;
}

/* The time of a finding is another's too: that of the whole phase, or of lines of which one calls
 * the other. */
static bool share_time(const struct ss_model *model, const struct ss_advice *a,
                       const struct ss_advice *b)
{
    bool have_lines =
        a->line != NULL && b->line != NULL && a->line->frame != 0 && b->line->frame != 0;
    bool one_line = have_lines && a->line->frame == b->line->frame;
    one_line = one_line || (have_lines && (a->is_of_line || b->is_of_line) &&
                            (lies_below(model, a, b) || lies_below(model, b, a)));
    bool one_phase = a->phase != NULL && a->phase == b->phase;
    bool both_lines = a->is_of_line && b->is_of_line;
    return one_line || (one_phase && !both_lines);
}

/* How much a finding knows of its time: a line, a rule of a whole phase, of a part of it. */
static int knowledge_of(const struct ss_advice *advice)
{
    return advice->is_of_line ? 0 : advice->is_part ? 2 : 1;
}

static bool is_line_of_reads(const struct ss_advice *advice)
{
    return advice->is_of_line && advice->activity == SS_ACTIVITY_TENSOR_READ;
}

/* The part of what a wider finding would recover that an exact one has to explain. Workers are
 * worth it even where there are few cores: they take the line off the step as it is. */
static double least_explained(const struct ss_advice *exact)
{
    return strcmp(exact->rule->id, "no-workers") == 0 ? 0.2 : 0.4;
}

/* Of two findings of the same time the one that knows more stays, unless it explains too little of
 * what the other would recover. A line that reads values knows of its reads as well, and goes
 * with all that it does around them. */
static bool gives_way(const struct ss_advice *advice, const struct ss_advice *other)
{
    bool know_alike = knowledge_of(advice) == knowledge_of(other);
    bool are_reads = is_line_of_reads(other) && strcmp(advice->rule->id, "host-sync") == 0;
    are_reads =
        are_reads || (is_line_of_reads(advice) && strcmp(other->rule->id, "host-sync") == 0);
    if (know_alike || are_reads) {
        return compare(advice, other) > 0;
    }
    bool knows_more = knowledge_of(advice) > knowledge_of(other);
    const struct ss_advice *exact = knows_more ? advice : other;
    const struct ss_advice *wide = knows_more ? other : advice;
    bool wide_stays =
        (double)exact->recoverable_ns < least_explained(exact) * (double)wide->recoverable_ns;
    return knows_more == wide_stays;
}

/* A wait takes the place of its line, which may do more than wait: who moves the line off the
 * thread gains all of it. A wait that is a phase of its own is in none of the line's samples. */
static void take_rest_of_line(struct ss_advice *advice, const struct ss_advice *line)
{
    bool is_one_line =
        line->is_of_line && advice->line != NULL && line->line->frame == advice->line->frame;
    uint64_t waits_ns = advice->phase == NULL ? advice->recoverable_ns : 0;
    if (is_one_line && line->recoverable_ns > waits_ns) {
        uint64_t more_ns = line->recoverable_ns - waits_ns;
        add(advice, "the line computes besides", SS_EVIDENCE_NS, (double)more_ns);
        advice->recoverable_ns += more_ns;
        advice->error_ns = line->error_ns;
    }
}

/* No time is in two findings. */
static void drop_shared(struct ss_verdict *verdict, const struct ss_model *model)
{
    size_t kept = 0;
    for (size_t i = 0; i < verdict->advice.count; i++) {
        const struct ss_advice *advice = &verdict->advice.data[i];
        bool is_kept = true;
        for (size_t j = 0; j < verdict->advice.count && is_kept; j++) {
            const struct ss_advice *other = &verdict->advice.data[j];
            is_kept = j == i || other->dropped || advice->cost_ns == 0 || other->cost_ns == 0 ||
                      !share_time(model, advice, other) || !gives_way(advice, other);
        }
        verdict->advice.data[i].dropped = !is_kept;
    }
    for (size_t i = 0; i < verdict->advice.count; i++) {
        struct ss_advice *advice = &verdict->advice.data[i];
        for (size_t j = 0; j < verdict->advice.count && advice->ends_with_line; j++) {
            if (!advice->dropped && verdict->advice.data[j].dropped) {
                take_rest_of_line(advice, &verdict->advice.data[j]);
            }
        }
    }
    for (size_t i = 0; i < verdict->advice.count; i++) {
        if (!verdict->advice.data[i].dropped) {
            verdict->advice.data[kept++] = verdict->advice.data[i];
        }
    }
    verdict->advice.count = kept;
}

static void judge(struct ss_verdict *verdict, bool fires, struct ss_advice *advice)
{
    double share = (double)advice->cost_ns / (double)(advice->of_ns > 0 ? advice->of_ns : 1);
    advice->percent = 100 * fmin(share, 1);
    if (advice->recoverable_ns > advice->of_ns) {
        advice->recoverable_ns = advice->of_ns;
    }
    if (fires && is_worth_it(advice)) {
        ss_vec_push(&verdict->advice, *advice);
    }
}

/* What is promised is a bound, whatever the samples missed by chance and the step gains besides. */
static void widen_bound(struct ss_advice *advice)
{
    advice->expected_ns = advice->recoverable_ns;
    uint64_t cold_ns =
        advice->interrupts ? share_of(advice->recoverable_ns, COLD_PERCENT / 100.0) : 0;
    uint64_t bound_ns = advice->recoverable_ns + advice->error_ns + cold_ns;
    if (advice->recoverable_ns == 0) {
        return;
    }
    advice->recoverable_ns = bound_ns < advice->of_ns ? bound_ns : advice->of_ns;
    if (advice->error_ns > 0) {
        add(advice, "sampling error", SS_EVIDENCE_NS, (double)advice->error_ns);
    }
    if (cold_ns > 0) {
        add(advice, "cold caches behind it, at most", SS_EVIDENCE_NS, (double)cold_ns);
    }
}

static struct ss_advice empty_advice(const struct ss_training_facts *facts,
                                     const struct ss_rule *rule)
{
    return (struct ss_advice){
        .rule = rule, .headline = rule->headline, .fix = rule->fix, .of_ns = facts->step_ns};
}

void ss_verdict_init(struct ss_verdict *verdict, const struct ss_training_facts *facts)
{
    *verdict = (struct ss_verdict){.judged = facts->steps->usual > 0,
                                   .is_uncertain = facts->steps->usual < FEWEST_STEPS,
                                   .host_time = !knows_compute(facts)};
    for (size_t i = 0; ss_rules[i].id != NULL && verdict->judged; i++) {
        struct ss_advice advice = empty_advice(facts, &ss_rules[i]);
        judge(verdict, evaluations[i](facts, &advice), &advice);
        for (size_t k = 1; evaluations[i] == hot_line && k < facts->hot_lines.count; k++) {
            advice = empty_advice(facts, &ss_rules[i]);
            judge(verdict, put_hot_line(facts, &facts->hot_lines.rows[k], &advice), &advice);
        }
    }
    drop_shared(verdict, facts->model);
    if (verdict->advice.count > 0) {
        qsort(verdict->advice.data, verdict->advice.count, sizeof *verdict->advice.data, compare);
    }
    for (size_t i = 0; i < verdict->advice.count; i++) {
        widen_bound(&verdict->advice.data[i]);
    }
}

void ss_verdict_fini(struct ss_verdict *verdict)
{
    ss_vec_fini(&verdict->advice);
    *verdict = (struct ss_verdict){0};
}
