/* SPDX-License-Identifier: Apache-2.0 */
/* Rules on what the devices did: what keeps them from computing, and what they compute in vain. */
#include "analysis/diagnosis/rule_parts.h"

#include "base/shared_names.h"

/* A sum over the steady-state steps, per step of a device. */
static uint64_t per_step(const struct ss_training_facts *facts, uint64_t sum)
{
    return ss_training_per(sum, facts->device.summary->mean.steps);
}

static void add_count(struct ss_finding *finding, const struct ss_training_facts *facts,
                      const char *what, uint64_t sum)
{
    ss_finding_add(finding, what, SS_EVIDENCE_COUNT,
                   ss_device_per_step(facts->device.summary, sum));
}

static void add_time(struct ss_finding *finding, const struct ss_training_facts *facts,
                     const char *what, uint64_t sum_ns)
{
    ss_finding_add(finding, what, SS_EVIDENCE_NS,
                   ss_device_per_step(facts->device.summary, sum_ns));
}

static bool set_cost(struct ss_finding *finding, const struct ss_training_facts *facts,
                     uint64_t sum_ns, uint64_t recoverable_ns)
{
    const struct ss_device_mean *mean = &facts->device.summary->mean;
    ss_finding_set_cost(finding, per_step(facts, sum_ns), per_step(facts, recoverable_ns));
    finding->of_ns = ss_training_per(mean->total_ns, mean->steps);
    return facts->device.has_steps;
}

bool ss_rule_device_input(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_device_mean *mean = &facts->device.summary->mean;
    finding->phase = ss_training_phase(facts, ss_phase_data);
    add_time(finding, facts, "idle", mean->times.idle_ns);
    ss_finding_set_phase_line(finding, facts, ss_phase_data, "the samples that wait for data");
    return set_cost(finding, facts, mean->gap_ns[SS_GAP_INPUT], mean->gap_ns[SS_GAP_INPUT]);
}

/* The gaps of late launches and of their latency: with graphs, or fewer and longer kernels, both
 * go. */
bool ss_rule_launch_bound(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_device_mean *mean = &facts->device.summary->mean;
    uint64_t late_ns = mean->gap_ns[SS_GAP_HOST] + mean->gap_ns[SS_GAP_LATENCY];
    add_count(finding, facts, "launches a step", mean->launches);
    ss_finding_add(finding, "median kernel", SS_EVIDENCE_NS, (double)facts->device.kernel_p50_ns);
    add_time(finding, facts, "computing on the device", mean->times.class_ns[SS_WORK_COMPUTE]);
    return set_cost(finding, facts, late_ns, late_ns) &&
           mean->gap_ns[SS_GAP_HOST] >= mean->gap_ns[SS_GAP_LATENCY];
}

static const struct ss_device_wait *longest_wait(const struct ss_device_facts *device)
{
    const struct ss_device_wait *longest = NULL;
    for (size_t i = 0; i < device->waits.rows.count; i++) {
        const struct ss_device_wait *wait = &device->waits.rows.data[i];
        if (wait->steady_count > 0 && (longest == NULL || wait->steady_ns > longest->steady_ns)) {
            longest = wait;
        }
    }
    return longest;
}

/* The wait itself costs nothing: the device computes meanwhile. What costs is that nothing is
 * queued as it ends. */
bool ss_rule_device_wait(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_device_mean *mean = &facts->device.summary->mean;
    add_count(finding, facts, "waits a step", facts->device.wait_calls);
    add_time(finding, facts, "the host waits", facts->device.wait_calls_ns);
    finding->wait = longest_wait(&facts->device);
    return set_cost(finding, facts, mean->gap_ns[SS_GAP_WAIT], mean->gap_ns[SS_GAP_WAIT]) &&
           facts->device.wait_calls > 0;
}

/* Nodes of a graph that was captured before the recording, work of another process, or a device
 * that is really idle: the recording is the same in each case. */
bool ss_rule_device_unexplained(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_device_mean *mean = &facts->device.summary->mean;
    add_time(finding, facts, "total idle", mean->times.idle_ns);
    if (facts->device.wait_calls > 0) {
        add_time(finding, facts, "the host waits", facts->device.wait_calls_ns);
        finding->wait = longest_wait(&facts->device);
    }
    return set_cost(finding, facts, mean->gap_ns[SS_GAP_UNKNOWN], mean->gap_ns[SS_GAP_UNKNOWN]);
}

/* Exposed copies are all that faster ones can recover. */
bool ss_rule_pageable_copies(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_device_facts *device = &facts->device;
    uint64_t exposed_ns = device->summary->mean.times.class_ns[SS_WORK_COPY];
    uint64_t cost_ns = device->pageable_ns < exposed_ns ? device->pageable_ns : exposed_ns;
    add_count(finding, facts, "copies a step", device->pageable_copies);
    ss_finding_add(finding, "size", SS_EVIDENCE_BYTES,
                   ss_device_per_step(device->summary, device->pageable_bytes));
    return set_cost(finding, facts, cost_ns, cost_ns) && device->pageable_copies > 0;
}

/* Until the last rank arrives: certain waits in collectives of steady-state steps. */
static uint64_t certain_waits(const struct ss_training_facts *facts)
{
    const struct ss_rank_profiles *ranks = facts->late != NULL ? facts->late->ranks : NULL;
    bool is_known = ranks != NULL && ranks->scope.steps != NULL && ranks->collectives->ranks > 1 &&
                    ranks->collectives->calls.is_of_devices;
    return is_known ? ranks->waits.wait_ns : 0;
}

/* What of it is exposed communication. */
static uint64_t waits_for_ranks(const struct ss_training_facts *facts)
{
    uint64_t exposed_ns = facts->device.summary->mean.times.class_ns[SS_WORK_COMMUNICATION];
    uint64_t wait_ns = certain_waits(facts);
    return wait_ns < exposed_ns ? wait_ns : exposed_ns;
}

/* Where one rank is late, the cost is what each other one waits for it. Where that varies, it is
 * what all of them wait, in the mean. */
bool ss_rule_device_late_rank(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_lateness *late = facts->late;
    uint64_t wait_ns = waits_for_ranks(facts);
    bool has_waits = set_cost(finding, facts, wait_ns, wait_ns) && wait_ns > 0;
    bool is_one = late != NULL && late->verdict == SS_LATE_ONE && late->is_of_devices;
    if (is_one) {
        ss_finding_set_late_rank(finding, facts, late);
    }
    add_time(finding, facts, "waits for the last rank", certain_waits(facts));
    if (is_one && late->claim.by == SS_LATE_BY_COLLECTIVES) {
        const struct ss_rank_waits *waits = &late->ranks->waits.ranks[late->claim.row->process];
        ss_finding_add(finding, "last in collectives", SS_EVIDENCE_COUNT,
                       (double)waits->times_last);
        ss_finding_add(finding, "of", SS_EVIDENCE_COUNT, (double)waits->collectives);
    }
    return facts->device.has_steps && (is_one || has_waits);
}

bool ss_rule_device_communication(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_device_mean *mean = &facts->device.summary->mean;
    uint64_t exposed_ns = mean->times.class_ns[SS_WORK_COMMUNICATION] - waits_for_ranks(facts);
    finding->exposed = facts->device.exposed.ns > 0 ? &facts->device.exposed : NULL;
    add_time(finding, facts, "total communication", mean->times.communication_ns);
    if (mean->times.communication_ns > 0) {
        ss_finding_add(finding, "hidden behind computation", SS_EVIDENCE_PERCENT,
                       100 * (double)mean->times.overlap_ns / (double)mean->times.communication_ns);
    }
    return set_cost(finding, facts, exposed_ns, exposed_ns);
}

/* No bound is known of what another kernel would take: all of it. */
bool ss_rule_main_kernel(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_device_facts *device = &facts->device;
    finding->kernel = device->main_kernel;
    add_count(finding, facts, "instances a step", device->main_count);
    ss_finding_add(finding, "mean", SS_EVIDENCE_NS,
                   (double)ss_training_per(device->main_kernel_ns, device->main_count));
    return set_cost(finding, facts, device->main_kernel_ns, device->main_kernel_ns) &&
           !device->is_main_expected && device->main_kernel != 0;
}

/* Where the host is late, longer kernels are not the first thing to want. */
bool ss_rule_short_kernels(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_device_facts *device = &facts->device;
    const struct ss_device_mean *mean = &device->summary->mean;
    uint64_t cost_ns = device->short_ns + mean->gap_ns[SS_GAP_LATENCY];
    add_count(finding, facts, "kernels a step", mean->kernels);
    add_count(finding, facts, "of them shorter than {SHORT_KERNEL_NS}", device->short_kernels);
    add_time(finding, facts, "gaps between them", mean->gap_ns[SS_GAP_LATENCY]);
    bool is_first = mean->gap_ns[SS_GAP_HOST] < mean->gap_ns[SS_GAP_LATENCY];
    return set_cost(finding, facts, cost_ns, cost_ns) && is_first &&
           ss_device_per_step(device->summary, device->short_kernels) >=
               SS_LIMIT_FEWEST_SHORT_KERNELS;
}

bool ss_rule_float32_products(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_device_facts *device = &facts->device;
    double share = ss_limit_factor(SS_LIMIT_FLOAT32_PERCENT);
    add_time(finding, facts, "in these kernels", device->float32_ns);
    return set_cost(finding, facts, device->float32_ns,
                    ss_share_of_ns(device->float32_ns, share)) &&
           device->float32_ns > 0;
}

bool ss_rule_conversions(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_device_facts *device = &facts->device;
    add_count(finding, facts, "kernels a step", device->conversions);
    return set_cost(finding, facts, device->conversion_ns, device->conversion_ns);
}

bool ss_rule_device_allocations(const struct ss_training_facts *facts, struct ss_finding *finding)
{
    const struct ss_device_facts *device = &facts->device;
    add_count(finding, facts, "calls a step", device->allocations);
    if (device->allocated_bytes > 0) {
        ss_finding_add(finding, "allocated a step", SS_EVIDENCE_BYTES,
                       ss_device_per_step(device->summary, device->allocated_bytes));
    }
    return set_cost(finding, facts, device->allocation_ns, device->allocation_ns) &&
           device->allocations >= device->summary->mean.steps;
}
