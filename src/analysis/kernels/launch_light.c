/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/kernels/launch_light.h"

#include <math.h>

/* In percent of the peak: from here on a unit limits the kernel, and is what it mostly waits for.
 * Below both, nothing is busy enough. The limits are those of Nsight Compute's own rule. */
static const double near_peak = 80, most_used = 60;
/* Compute and memory within so many points of each other are balanced. */
static const double balanced = 10;
/* Memory's throughput is that of its most used part, which may be another than L1, L2 and DRAM. */
static const double other_part = 5;

/* --- derived ---------------------------------------------------------------------------------- */

static double value_of(const struct ss_gauges *gauges, enum ss_kernel_gauge gauge)
{
    return gauges->value[gauge]; /* 0 where there is none */
}

static void derive(struct ss_launch_light *light, enum ss_light which, double percent)
{
    if (!light->has[which] && isfinite(percent)) {
        light->has[which] = light->is_derived[which] = true;
        light->percent[which] = percent;
    }
}

static bool has_dram_bytes(const struct ss_gauges *gauges)
{
    return gauges->has[SS_GAUGE_DRAM_BYTES] ||
           (gauges->has[SS_GAUGE_DRAM_READ] && gauges->has[SS_GAUGE_DRAM_WRITTEN]);
}

static double dram_bytes(const struct ss_gauges *gauges)
{
    return gauges->has[SS_GAUGE_DRAM_BYTES]
               ? value_of(gauges, SS_GAUGE_DRAM_BYTES)
               : value_of(gauges, SS_GAUGE_DRAM_READ) + value_of(gauges, SS_GAUGE_DRAM_WRITTEN);
}

static void derive_memory(const struct ss_gauges *gauges, double s, double bandwidth,
                          struct ss_launch_light *light)
{
    double peak = value_of(gauges, SS_GAUGE_DRAM_PEAK);
    peak = peak > 0 ? peak : bandwidth;
    if (has_dram_bytes(gauges) && peak > 0) {
        derive(light, SS_LIGHT_OF_DRAM, 100 * dram_bytes(gauges) / s / peak);
    }
    if (gauges->has[SS_GAUGE_L2_BYTES] && value_of(gauges, SS_GAUGE_L2_PEAK) > 0) {
        derive(light, SS_LIGHT_OF_L2,
               100 * value_of(gauges, SS_GAUGE_L2_BYTES) / s / value_of(gauges, SS_GAUGE_L2_PEAK));
    }
    if (gauges->has[SS_GAUGE_L1_BYTES] && value_of(gauges, SS_GAUGE_L1_PEAK) > 0) {
        derive(light, SS_LIGHT_OF_L1,
               100 * value_of(gauges, SS_GAUGE_L1_BYTES) / s / value_of(gauges, SS_GAUGE_L1_PEAK));
    }
}

/* The most used part of compute, of those that were measured; negative: none was. */
static double most_of_compute(const struct ss_gauges *gauges, double s)
{
    static const enum ss_kernel_gauge busy[] = {SS_GAUGE_TENSOR_BUSY, SS_GAUGE_ALU_BUSY,
                                                SS_GAUGE_FMA_BUSY, SS_GAUGE_ISSUE_BUSY};
    static const enum ss_kernel_gauge rates[][2] = {{SS_GAUGE_FP32_FUSED, SS_GAUGE_FP32_PEAK},
                                                    {SS_GAUGE_FP64_FUSED, SS_GAUGE_FP64_PEAK},
                                                    {SS_GAUGE_BF16_OPS, SS_GAUGE_BF16_PEAK}};
    double cycles = value_of(gauges, SS_GAUGE_CYCLES), most = -1;
    double active = cycles > 0 ? value_of(gauges, SS_GAUGE_CYCLES_ACTIVE) / cycles : 0;
    bool has_active = cycles > 0 && gauges->has[SS_GAUGE_CYCLES_ACTIVE];
    for (size_t i = 0; i < sizeof busy / sizeof *busy; i++) {
        if (gauges->has[busy[i]] && has_active) { /* of the active cycles → of all */
            most = fmax(most, value_of(gauges, busy[i]) * fmin(active, 1));
        }
    }
    for (size_t i = 0; i < sizeof rates / sizeof *rates && s > 0; i++) {
        if (gauges->has[rates[i][0]] && value_of(gauges, rates[i][1]) > 0) {
            most =
                fmax(most, 100 * value_of(gauges, rates[i][0]) / s / value_of(gauges, rates[i][1]));
        }
    }
    return most;
}

void ss_launch_light_find(const struct ss_gauges *gauges, double ns, double bandwidth,
                          struct ss_launch_light *light)
{
    *light = (struct ss_launch_light){.has = {false}};
    for (int which = 0; which < SS_LIGHTS; which++) {
        light->has[which] = gauges->has[which];
        light->percent[which] = gauges->value[which];
    }
    double s = (gauges->has[SS_GAUGE_NS] ? value_of(gauges, SS_GAUGE_NS) : ns) / 1e9;
    double compute = most_of_compute(gauges, s);
    if (compute >= 0) {
        derive(light, SS_LIGHT_OF_COMPUTE, compute);
    }
    if (s > 0) {
        derive_memory(gauges, s, bandwidth, light);
    }
    double memory = -1;
    for (int which = SS_LIGHT_OF_L1; which <= SS_LIGHT_OF_DRAM; which++) {
        memory = light->has[which] ? fmax(memory, light->percent[which]) : memory;
    }
    if (memory >= 0) {
        derive(light, SS_LIGHT_OF_MEMORY, memory);
    }
}

/* --- the limiter ------------------------------------------------------------------------------ */

const char *ss_limiter_name(enum ss_limiter limiter)
{
    static const char *const names[] = {
        [SS_LIMITED_UNKNOWN] = NULL,        [SS_LIMITED_BY_COMPUTE] = "compute",
        [SS_LIMITED_BY_MEMORY] = "memory",  [SS_LIMITED_BY_L1] = "L1",
        [SS_LIMITED_BY_L2] = "L2",          [SS_LIMITED_BY_DRAM] = "DRAM",
        [SS_LIMITED_BY_LATENCY] = "latency"};
    return names[limiter];
}

/* The part of memory that is used most. */
static enum ss_limiter part_of_memory(const struct ss_launch_light *light)
{
    static const enum ss_limiter limiters[] = {SS_LIMITED_BY_L1, SS_LIMITED_BY_L2,
                                               SS_LIMITED_BY_DRAM};
    enum ss_limiter limiter = SS_LIMITED_BY_MEMORY;
    double most = light->percent[SS_LIGHT_OF_MEMORY] - other_part;
    for (int i = 0; i < 3; i++) {
        int which = SS_LIGHT_OF_L1 + i;
        if (light->has[which] && light->percent[which] >= most) {
            most = light->percent[which];
            limiter = limiters[i];
        }
    }
    return limiter;
}

static double percent_of(const struct ss_launch_light *light, enum ss_limiter limiter)
{
    enum ss_light which = limiter == SS_LIMITED_BY_COMPUTE ? SS_LIGHT_OF_COMPUTE
                          : limiter == SS_LIMITED_BY_L1    ? SS_LIGHT_OF_L1
                          : limiter == SS_LIMITED_BY_L2    ? SS_LIGHT_OF_L2
                          : limiter == SS_LIMITED_BY_DRAM  ? SS_LIGHT_OF_DRAM
                                                           : SS_LIGHT_OF_MEMORY;
    return light->percent[which];
}

/* What of the two that matter was not measured; a kernel may be limited by it. */
static const char *unmeasured(const struct ss_launch_light *light)
{
    return !light->has[SS_LIGHT_OF_COMPUTE]         ? "compute was not measured"
           : !light->has[SS_LIGHT_OF_MEMORY]        ? "memory was not measured"
           : light->is_derived[SS_LIGHT_OF_COMPUTE] ? "not all parts of compute were measured"
           : light->is_derived[SS_LIGHT_OF_MEMORY]  ? "not all parts of memory were measured"
                                                    : NULL;
}

static enum ss_limiter say_latency(const struct ss_launch_light *light, double occupancy,
                                   struct ss_strbuf *out)
{
    const char *missing = unmeasured(light);
    ss_strbuf_append_format(out, "%s", missing != NULL ? "no measured unit" : "neither compute");
    if (missing == NULL) {
        ss_strbuf_append_format(out, " (%.3g %%) nor memory (%.3g %%)",
                                light->percent[SS_LIGHT_OF_COMPUTE],
                                light->percent[SS_LIGHT_OF_MEMORY]);
    }
    ss_strbuf_append_format(out, " comes to %.0f %% of its peak", most_used);
    if (missing != NULL) {
        ss_strbuf_append_format(out, "; %s", missing);
        return SS_LIMITED_UNKNOWN;
    }
    ss_strbuf_append_text(out, ": latency limits it");
    if (occupancy >= 0 && occupancy < most_used) {
        ss_strbuf_append_format(out, ", with %.3g %% of the warps that could hide it", occupancy);
    }
    return SS_LIMITED_BY_LATENCY;
}

enum ss_limiter ss_launch_light_limiter(const struct ss_launch_light *light, double occupancy,
                                        struct ss_strbuf *sentence)
{
    double compute = light->has[SS_LIGHT_OF_COMPUTE] ? light->percent[SS_LIGHT_OF_COMPUTE] : -1;
    double memory = light->has[SS_LIGHT_OF_MEMORY] ? light->percent[SS_LIGHT_OF_MEMORY] : -1;
    double top = fmax(compute, memory);
    if (top < 0) {
        return SS_LIMITED_UNKNOWN;
    }
    if (top < most_used) {
        return say_latency(light, occupancy, sentence);
    }
    enum ss_limiter limiter = compute > memory ? SS_LIMITED_BY_COMPUTE : part_of_memory(light);
    ss_strbuf_append_format(sentence, "%s at %.3g %% of its peak %s", ss_limiter_name(limiter),
                            percent_of(light, limiter),
                            top >= near_peak ? "limits it" : "is what it uses most");
    if (compute >= 0 && memory >= 0 && fabs(compute - memory) < balanced) {
        ss_strbuf_append_format(sentence, "; %s is close to it at %.3g %%",
                                compute > memory ? "memory" : "compute", fmin(compute, memory));
    } else if (compute >= 0 && memory >= 0) {
        ss_strbuf_append_format(sentence, "; %s is at %.3g %%",
                                compute > memory ? "memory" : "compute", fmin(compute, memory));
    } else {
        ss_strbuf_append_format(sentence, "; %s", unmeasured(light));
    }
    return limiter;
}
