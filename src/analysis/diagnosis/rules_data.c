/* SPDX-License-Identifier: Apache-2.0 */
/* Rules on the data phase: too few workers, slow workers, their start, collating. */
#include "analysis/diagnosis/rule_parts.h"

#include <math.h>
#include <string.h>

#include "analysis/table/uncertainty.h"
#include "base/shared_names.h"

/* Bytes of a step's batches. */
static double batch_bytes(const struct ss_training_facts *facts)
{
    return fmax((double)facts->batch_bytes, 0) * fmax(facts->batches, 1);
}

/* The trainer's cost of the batches of a step. */
static uint64_t transfer_ns(const struct ss_training_facts *facts)
{
    return (uint64_t)(SS_LIMIT_BATCH_TRANSFER_NS * fmax(facts->batches, 1) +
                      ss_limit_ps_as_ns(SS_LIMIT_BYTE_TRANSFER_PS) * batch_bytes(facts));
}

/* The workers' cost of the same. */
static double sharing_ns(const struct ss_training_facts *facts)
{
    return ss_limit_ps_as_ns(SS_LIMIT_BYTE_SHARING_PS) * batch_bytes(facts);
}

/* The step's work spread over all cores; includes that of other programs where the recording does
 * not separate it. */
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

/* The duration of a step with two or more workers: its other work with the transfer of batches, or
 * all work spread over the cores. The first batch of each epoch is still waited for. */
static uint64_t step_with_workers_ns(const struct ss_training_facts *facts, uint64_t data_ns)
{
    uint64_t rest_ns = facts->step_ns > data_ns ? facts->step_ns - data_ns : 0;
    double steps = fmax((double)facts->steps->steps.count, 1);
    double more_ns =
        ((double)transfer_ns(facts) + sharing_ns(facts)) / fmax((double)facts->cores, 1);
    double step_ns =
        fmax((double)(rest_ns + transfer_ns(facts)), spread_work_ns(facts, data_ns) + more_ns);
    double first_ns = (double)data_ns * (double)facts->iterators / steps;
    return (uint64_t)(step_ns + first_ns);
}

/* Two workers start once, spread over the steps. Not part of the bound: a training has more steps
 * than its recording. */
static uint64_t start_of_workers_ns(const struct ss_training_facts *facts)
{
    size_t steps = facts->steps->steps.count;
    return SS_LIMIT_WORKER_START_NS / (steps > 0 ? steps : 1);
}

bool ss_rule_no_workers(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    uint64_t data_ns = ss_training_phase_ns(facts, ss_phase_data);
    if (facts->workers != 0 || facts->fetch_ns == 0) {
        return false;
    }
    uint64_t with_ns = step_with_workers_ns(facts, data_ns);
    uint64_t gain_ns = with_ns < facts->step_ns ? facts->step_ns - with_ns : 0;
    ss_finding_set_cost(finding, data_ns, gain_ns);
    finding->phase = ss_training_phase(facts, ss_phase_data);
    ss_finding_set_phase_line(finding, facts, ss_phase_data, "that wait");
    ss_finding_add(finding, "fetching in the step", SS_EVIDENCE_NS, (double)facts->fetch_ns);
    if (facts->batches > ss_limit_factor(SS_LIMIT_SEVERAL_BATCHES_HUNDREDTHS)) {
        ss_finding_add(finding, "batches in a step", SS_EVIDENCE_COUNT, facts->batches);
    }
    if (facts->batch_size > 0) {
        ss_finding_add(finding, "samples in a batch", SS_EVIDENCE_COUNT, (double)facts->batch_size);
    }
    if (ss_is_percent_of(facts->fetch_collate_ns, facts->fetch_ns, SS_LIMIT_COLLATE_PERCENT)) {
        ss_finding_add(finding, "collate of the fetch", SS_EVIDENCE_PERCENT,
                       100 * (double)facts->fetch_collate_ns / (double)facts->fetch_ns);
    }
    if (facts->cores > 0) {
        ss_finding_add(finding, "cores", SS_EVIDENCE_COUNT, (double)facts->cores);
    }
    uint64_t start_ns = start_of_workers_ns(facts);
    return gain_ns > start_ns &&
           ss_is_percent_of(gain_ns - start_ns, facts->step_ns, SS_LIMIT_GAIN_PERCENT);
}

/* The number of workers that have a batch ready each time. */
static uint64_t workers_needed(const struct ss_training_facts *facts)
{
    uint64_t data_ns = ss_training_phase_ns(facts, ss_phase_data);
    uint64_t rest_ns = facts->step_ns > data_ns ? facts->step_ns - data_ns : 1;
    return facts->worker_batch_ns / rest_ns + 1;
}

/* Workers that start together finish their batches together: the trainer waits for the first batch
 * of each round, and each such wait counts for the round. */
static bool workers_are_late(const struct ss_training_facts *facts)
{
    uint64_t waited = (uint64_t)(facts->workers > 0 ? facts->workers : 1) * facts->empty_nexts;
    bool empty = ss_is_percent_of(waited, facts->nexts, SS_LIMIT_NO_BATCH_READY_PERCENT);
    enum ss_rule_limit_value least =
        empty ? SS_LIMIT_BUSY_WORKERS_PERCENT : SS_LIMIT_BUSY_READY_WORKERS_PERCENT;
    return facts->workers > 0 && facts->worker_batches > 0 &&
           facts->worker_busy >= ss_limit_factor(least);
}

/* Whether workers wait for a disk, a network or a lock while they fetch: then more of them need no
 * core. */
static bool workers_wait(const struct ss_training_facts *facts)
{
    const struct ss_training_samples *samples = &facts->samples;
    return samples->of_workers >= SS_MIN_CLAIM_SAMPLES &&
           (double)samples->computing_workers <
               ss_limit_factor(SS_LIMIT_COMPUTING_WORKERS_PERCENT) * fmin(facts->worker_busy, 1) *
                   (double)samples->of_workers;
}

/* Whether the cores have room for at least one more worker; where their use is not recorded, each
 * process counts as one core. */
static bool has_room(const struct ss_training_facts *facts)
{
    uint64_t running = (uint64_t)(facts->workers + 1) * facts->steps->processes;
    if (facts->cores == 0 || workers_wait(facts)) {
        return true;
    }
    if (facts->cpu_busy < 0) {
        return running < facts->cores;
    }
    double free_cores = (1 - facts->cpu_busy) * (double)facts->cores;
    return facts->cpu_busy < ss_limit_factor(SS_LIMIT_FULL_CORES_PERCENT) &&
           free_cores >= ss_limit_factor(SS_LIMIT_FREE_CORE_PERCENT);
}

static void add_workers(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    ss_finding_add(finding, "workers", SS_EVIDENCE_COUNT, (double)facts->workers);
    ss_finding_add(finding, "workers that would keep up", SS_EVIDENCE_COUNT,
                   (double)workers_needed(facts));
    ss_finding_add(finding, "a batch in a worker", SS_EVIDENCE_NS, (double)facts->worker_batch_ns);
    ss_finding_add(finding, "workers fetching", SS_EVIDENCE_PERCENT,
                   100 * fmin(facts->worker_busy, 1));
    if (facts->nexts > 0) {
        ss_finding_add(finding, "no batch ready", SS_EVIDENCE_PERCENT,
                       100 * (double)facts->empty_nexts / (double)facts->nexts);
    }
    if (facts->cpu_busy >= 0) {
        ss_finding_add(finding, "of all cores busy", SS_EVIDENCE_PERCENT, 100 * facts->cpu_busy);
    }
    ss_finding_set_line(finding, &facts->samples.workers, "the workers' time");
}

/* Without the cost of epoch starts, which more workers do not reduce. */
static uint64_t late_data_ns(const struct ss_training_facts *facts)
{
    uint64_t data_ns = ss_training_phase_ns(facts, ss_phase_data), begins = facts->epochs.steady_ns;
    return facts->epochs.starts < SS_LIMIT_FEWEST_EPOCHS ? data_ns
           : data_ns > begins                            ? data_ns - begins
                                                         : 0;
}

bool ss_rule_few_workers(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    uint64_t data_ns = late_data_ns(facts);
    ss_finding_set_cost(finding, data_ns, data_ns);
    finding->phase = ss_training_phase(facts, ss_phase_data);
    add_workers(facts, finding);
    return workers_are_late(facts) && has_room(facts);
}

bool ss_rule_slow_workers(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    uint64_t data_ns = late_data_ns(facts);
    ss_finding_set_cost(finding, data_ns, data_ns);
    finding->phase = ss_training_phase(facts, ss_phase_data);
    add_workers(facts, finding);
    return workers_are_late(facts) && !has_room(facts);
}

bool ss_rule_worker_restarts(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_training_epochs *epochs = &facts->epochs;
    ss_finding_set_spread_cost(facts, finding, epochs->restart_ns + epochs->behind_ns);
    finding->interrupts = true;
    ss_finding_add(finding, "restarts", SS_EVIDENCE_COUNT, (double)epochs->restarts);
    ss_finding_add(finding, "each", SS_EVIDENCE_NS, (double)epochs->each_restart_ns);
    ss_finding_add(finding, "slower computing after each", SS_EVIDENCE_NS,
                   (double)epochs->each_behind_ns);
    ss_finding_add(finding, "steps to an epoch", SS_EVIDENCE_COUNT, (double)epochs->steps);
    if (facts->workers > 0) {
        ss_finding_add(finding, "workers", SS_EVIDENCE_COUNT, (double)facts->workers);
    }
    return epochs->restarts >= SS_LIMIT_FEWEST_EPOCHS;
}

bool ss_rule_epoch_starts(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_training_epochs *epochs = &facts->epochs;
    ss_finding_set_spread_cost(facts, finding, epochs->wait_ns);
    ss_finding_add(finding, "epochs begun", SS_EVIDENCE_COUNT, (double)epochs->starts);
    ss_finding_add(finding, "waited at each", SS_EVIDENCE_NS, (double)epochs->each_wait_ns);
    ss_finding_add(finding, "steps to an epoch", SS_EVIDENCE_COUNT, (double)epochs->steps);
    ss_finding_add(finding, "a batch in a worker", SS_EVIDENCE_NS, (double)facts->worker_batch_ns);
    if (facts->workers > 0) {
        ss_finding_add(finding, "workers", SS_EVIDENCE_COUNT, (double)facts->workers);
    }
    if (facts->cores > 0) {
        ss_finding_add(finding, "cores", SS_EVIDENCE_COUNT, (double)facts->cores);
    }
    return epochs->starts >= SS_LIMIT_FEWEST_EPOCHS;
}

/* Whether a faster collate function shortens the step: not where workers have batches ready. */
static bool waits_for_collate(const struct ss_training_facts *facts)
{
    return facts->workers <= 0 || workers_are_late(facts);
}

/* A collate function may do anything: its fix is that of what it does. */
static void name_collating(const struct ss_training_samples *samples, struct ss_finding *finding)
{
    const char *fix = ss_activity_fix(samples->collate_activity);
    bool collates_only = samples->collate_activity == SS_ACTIVITY_COLLATE;
    if (samples->collates.all >= SS_MIN_CLAIM_SAMPLES && !collates_only && fix != NULL) {
        finding->activity = samples->collate_activity;
        finding->fix = fix;
    }
}

/* Where workers and the training share full cores, the training gains what workers no longer do. */
static void add_freed_cores(const struct ss_training_facts *facts, uint64_t collate_ns,
                            struct ss_finding *finding)
{
    if (facts->workers > 0 && facts->cores > 0 && !has_room(facts)) {
        uint64_t freed_ns = collate_ns / facts->cores;
        finding->recoverable_ns += freed_ns;
        ss_finding_add(finding, "and for the training, of full cores", SS_EVIDENCE_NS,
                       (double)freed_ns);
    }
}

bool ss_rule_slow_collate(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    bool in_workers = facts->workers > 0;
    uint64_t fetch_ns = in_workers ? facts->worker_batch_ns : facts->fetch_ns;
    uint64_t collate_ns = in_workers ? facts->worker_collate_ns : facts->fetch_collate_ns;
    double share = fetch_ns > 0 ? (double)collate_ns / (double)fetch_ns : 0;
    uint64_t data_ns = ss_training_phase_ns(facts, ss_phase_data);
    uint64_t cost_ns = in_workers ? ss_share_of_ns(data_ns, share) : collate_ns;
    ss_finding_set_cost(finding, cost_ns, cost_ns);
    finding->interrupts = !in_workers;
    add_freed_cores(facts, collate_ns, finding);
    finding->phase = ss_training_phase(facts, ss_phase_data);
    finding->is_part = true;
    ss_finding_add(finding, "collate of the fetch", SS_EVIDENCE_PERCENT, 100 * share);
    ss_finding_add(finding, "collating a batch", SS_EVIDENCE_NS, (double)collate_ns);
    ss_finding_set_line(finding, &facts->samples.collates, "it");
    name_collating(&facts->samples, finding);
    return share >= ss_limit_factor(SS_LIMIT_COLLATE_PERCENT) && waits_for_collate(facts);
}

/* The time of fetching samples that the step waits for. */
static uint64_t waits_for_samples_ns(const struct ss_training_facts *facts)
{
    if (facts->workers > 0) {
        double share = facts->worker_batch_ns > 0
                           ? 1 - (double)facts->worker_collate_ns / (double)facts->worker_batch_ns
                           : 1;
        return workers_are_late(facts) ? ss_share_of_ns(late_data_ns(facts), share) : 0;
    }
    return facts->fetch_ns > facts->fetch_collate_ns ? facts->fetch_ns - facts->fetch_collate_ns
                                                     : 0;
}

static void add_worst(const struct ss_slow_samples *samples, struct ss_finding *finding)
{
    static const char *const indices[] = {"slowest: index", "then index"};
    for (size_t i = 0; i < SS_WORST_SAMPLES && samples->worst[i].ns > 0; i++) {
        if (samples->worst[i].index >= 0) {
            ss_finding_add(finding, indices[i], SS_EVIDENCE_NUMBER,
                           (double)samples->worst[i].index);
        }
        ss_finding_add(finding, "takes", SS_EVIDENCE_NS, (double)samples->worst[i].ns);
    }
}

bool ss_rule_slow_samples(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_slow_samples *samples = &facts->slow_samples;
    if (samples->samples < SS_LIMIT_FEWEST_SAMPLES || samples->slow == 0 ||
        100 * samples->slow > SS_LIMIT_FEW_SAMPLES_PERCENT * samples->samples ||
        !ss_is_percent_of(samples->slow_ns, samples->total_ns, SS_LIMIT_SLOW_SAMPLES_PERCENT)) {
        return false;
    }
    double more_ns = (double)samples->slow_ns - (double)samples->slow * (double)samples->p50_ns;
    uint64_t ns = ss_share_of_ns(waits_for_samples_ns(facts), more_ns / (double)samples->total_ns);
    ss_finding_set_cost(finding, ns, ns);
    finding->phase = ss_training_phase(facts, ss_phase_data);
    finding->is_part = true;
    ss_finding_set_phase_line(finding, facts, ss_phase_data, "that wait");
    ss_finding_add(finding, "slow samples", SS_EVIDENCE_PERCENT,
                   100 * (double)samples->slow / (double)samples->samples);
    ss_finding_add(finding, "of the time of all samples", SS_EVIDENCE_PERCENT,
                   100 * (double)samples->slow_ns / (double)samples->total_ns);
    ss_finding_add(finding, "a median sample", SS_EVIDENCE_NS, (double)samples->p50_ns);
    add_worst(samples, finding);
    return true;
}

/* Each tensor of a batch is received by itself: memory of the worker that the trainer maps. */
bool ss_rule_received_batches(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_training_samples *samples = &facts->samples;
    uint64_t data_ns = late_data_ns(facts);
    if (facts->workers <= 0 || workers_are_late(facts) ||
        samples->receives.all < SS_MIN_CLAIM_SAMPLES) {
        return false;
    }
    double share = (double)samples->receives.all / (double)samples->in_data;
    uint64_t cost_ns = ss_share_of_ns(data_ns, share);
    ss_finding_set_cost(finding, cost_ns,
                        ss_share_of_ns(cost_ns, ss_limit_factor(SS_LIMIT_RECEIVED_GAIN_PERCENT)));
    ss_finding_set_error(finding, samples->receives.all, samples->in_data, data_ns);
    finding->phase = ss_training_phase(facts, ss_phase_data);
    finding->is_part = true;
    if (facts->batch_tensors > 0) {
        ss_finding_add(finding, "tensors in a batch", SS_EVIDENCE_COUNT,
                       (double)facts->batch_tensors);
    }
    if (facts->batch_bytes > 0) {
        ss_finding_add(finding, "size of a batch", SS_EVIDENCE_BYTES, (double)facts->batch_bytes);
    }
    if (facts->nexts > 0) {
        ss_finding_add(finding, "no batch ready", SS_EVIDENCE_PERCENT,
                       100 * (double)facts->empty_nexts / (double)facts->nexts);
    }
    ss_finding_add(finding, "workers", SS_EVIDENCE_COUNT, (double)facts->workers);
    ss_finding_set_line(finding, &samples->receives, "it");
    return ss_is_percent_of(samples->receives.all, samples->in_data, SS_LIMIT_RECEIVED_PERCENT);
}
