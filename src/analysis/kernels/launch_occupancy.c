/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/kernels/launch_occupancy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/launches/device_work.h"

enum { WARP = 32 };
static const double most_number = 1e12, most_blocks = 1e6;
/* Achieved occupancy that is so many points below the theoretical one has another reason. */
static const double clear_points = 10;
static const double most_partial = 0.9; /* waves */

/* --- needs ------------------------------------------------------------------------------------ */

/* By a counter or else a field; 0: neither has it, or as much as that: zeros are not written. */
static uint64_t number_of(const struct ss_model *model, const struct ss_model_range *range,
                          const struct ss_gauges *gauges, enum ss_kernel_gauge gauge,
                          enum ss_event_field_id field)
{
    int64_t number;
    if (gauges->has[gauge]) {
        return gauges->value[gauge] < most_number ? (uint64_t)llround(gauges->value[gauge]) : 0;
    }
    bool is_number = ss_event_number(model, range, (uint32_t)field, &number) && number > 0 &&
                     (double)number < most_number;
    return is_number ? (uint64_t)number : 0;
}

/* The product of three fields; 0: not all are known, or it is none. */
static double volume_of(const struct ss_model *model, const struct ss_model_range *range,
                        const enum ss_event_field_id fields[3])
{
    double product = 1;
    for (int i = 0; i < 3; i++) {
        int64_t number;
        if (!ss_event_number(model, range, (uint32_t)fields[i], &number) || number <= 0) {
            return 0;
        }
        product *= (double)number;
    }
    return product < most_number ? product : 0;
}

static double threads_of(const struct ss_model *model, const struct ss_model_range *range,
                         const struct ss_gauges *gauges)
{
    static const enum ss_event_field_id block[] = {SS_EVENT_FIELD_block_x, SS_EVENT_FIELD_block_y,
                                                   SS_EVENT_FIELD_block_z};
    double threads = gauges->value[SS_GAUGE_BLOCK];
    return threads > 0 && threads < most_number ? threads : volume_of(model, range, block);
}

static void find_needs(const struct ss_model *model, const struct ss_model_range *range,
                       const struct ss_gauges *gauges, struct ss_block_needs *needs)
{
    int64_t whole;
    needs->threads = (uint64_t)threads_of(model, range, gauges);
    needs->registers =
        number_of(model, range, gauges, SS_GAUGE_REGISTERS, SS_EVENT_FIELD_registers);
    needs->shared_bytes = number_of(model, range, gauges, SS_GAUGE_STATIC_SHARED,
                                    SS_EVENT_FIELD_static_shared_bytes) +
                          number_of(model, range, gauges, SS_GAUGE_DYNAMIC_SHARED,
                                    SS_EVENT_FIELD_dynamic_shared_bytes);
    if (needs->shared_bytes == 0 &&
        ss_event_number(model, range, SS_EVENT_FIELD_shared_bytes, &whole) && whole > 0 &&
        (double)whole < most_number) {
        needs->shared_bytes = (uint64_t)whole; /* both in one */
    }
}

/* --- limits ----------------------------------------------------------------------------------- */

static const struct ss_device_limits *device_of(const struct ss_model *model,
                                                const struct ss_model_range *range,
                                                const struct ss_gauges *gauges)
{
    double major = gauges->value[SS_GAUGE_CAPABILITY_MAJOR];
    double minor = gauges->value[SS_GAUGE_CAPABILITY_MINOR];
    if (major > 0 && major < 100 && minor < 100) {
        char capability[16];
        snprintf(capability, sizeof capability, "%d.%d", (int)major, (int)minor);
        return ss_device_limits_of_capability(ss_strview_of(capability));
    }
    uint32_t device = model->tracks.data[range->track].device;
    return ss_device_limits_of(ss_intern_get(&model->strings, model->devices.data[device].model));
}

/* 0: unknown. */
static double blocks_of(const struct ss_gauges *gauges, enum ss_kernel_gauge gauge)
{
    return gauges->value[gauge] < most_blocks ? floor(gauges->value[gauge]) : 0;
}

static void find_limits(const struct ss_gauges *gauges, struct ss_launch_occupancy *occupancy)
{
    struct ss_block_limits *limits = &occupancy->limits;
    occupancy->is_reported = blocks_of(gauges, SS_GAUGE_BY_WARPS) > 0;
    if (occupancy->is_reported) {
        *limits = (struct ss_block_limits){.by_registers = blocks_of(gauges, SS_GAUGE_BY_REGISTERS),
                                           .by_shared = blocks_of(gauges, SS_GAUGE_BY_SHARED),
                                           .by_warps = blocks_of(gauges, SS_GAUGE_BY_WARPS),
                                           .by_blocks = blocks_of(gauges, SS_GAUGE_BY_BLOCKS),
                                           .by_barriers = blocks_of(gauges, SS_GAUGE_BY_BARRIERS)};
    } else if (occupancy->device == NULL || occupancy->needs.registers == 0 ||
               !ss_block_limits_find(occupancy->device, &occupancy->needs, limits)) {
        *limits = (struct ss_block_limits){.by_blocks = 0};
    }
}

static uint64_t warps_of_block(const struct ss_launch_occupancy *occupancy)
{
    return (occupancy->needs.threads + WARP - 1) / WARP;
}

static void find_theoretical(const struct ss_gauges *gauges, struct ss_launch_occupancy *occupancy)
{
    double blocks = ss_block_limits_least(&occupancy->limits);
    occupancy->theoretical = -1;
    if (gauges->has[SS_GAUGE_MOST_OCCUPANCY]) {
        occupancy->theoretical = gauges->value[SS_GAUGE_MOST_OCCUPANCY];
        occupancy->is_reported = true;
    } else if (blocks > 0 && occupancy->device != NULL && occupancy->needs.threads > 0) {
        occupancy->theoretical =
            100 * fmin(blocks * (double)warps_of_block(occupancy) / occupancy->device->warps, 1);
    }
}

/* How often the grid fills the device, with as many blocks as fit at once. */
static void find_waves(const struct ss_model *model, const struct ss_model_range *range,
                       const struct ss_gauges *gauges, struct ss_launch_occupancy *occupancy)
{
    static const enum ss_event_field_id grid[] = {SS_EVENT_FIELD_grid_x, SS_EVENT_FIELD_grid_y,
                                                  SS_EVENT_FIELD_grid_z};
    const struct ss_model_field *per_unit =
        ss_model_field_of(model, range->payload, SS_EVENT_FIELD_blocks_per_sm);
    double blocks = ss_block_limits_least(&occupancy->limits), of_unit = 0;
    double units = gauges->value[SS_GAUGE_UNITS];
    occupancy->waves = gauges->has[SS_GAUGE_WAVES] ? gauges->value[SS_GAUGE_WAVES] : -1;
    if (per_unit != NULL && per_unit->type == SS_VALUE_REAL && isfinite(per_unit->real)) {
        of_unit = per_unit->real;
    } else if (units > 0) {
        of_unit = volume_of(model, range, grid) / units;
    }
    if (occupancy->waves < 0 && of_unit > 0 && blocks > 0) {
        occupancy->waves = of_unit / blocks;
    }
}

void ss_launch_occupancy_find(const struct ss_model *model, const struct ss_model_range *range,
                              const struct ss_gauges *gauges, struct ss_launch_occupancy *occupancy)
{
    *occupancy = (struct ss_launch_occupancy){.device = device_of(model, range, gauges)};
    find_needs(model, range, gauges, &occupancy->needs);
    find_limits(gauges, occupancy);
    find_theoretical(gauges, occupancy);
    find_waves(model, range, gauges, occupancy);
    occupancy->achieved = gauges->has[SS_GAUGE_OCCUPANCY] ? gauges->value[SS_GAUGE_OCCUPANCY] : -1;
}

/* --- the limiter ------------------------------------------------------------------------------ */

/* Of limits that are alike, the one that a change of the kernel moves comes first. */
static const char *name_of_limit(const struct ss_launch_occupancy *occupancy)
{
    const struct ss_block_limits *limits = &occupancy->limits;
    double least = ss_block_limits_least(limits);
    if (least == 0 || occupancy->theoretical >= 99.95) {
        return NULL;
    }
    return limits->by_registers == least  ? "registers"
           : limits->by_shared == least   ? "shared memory"
           : limits->by_barriers == least ? "barriers"
                                          : "block size";
}

static void say_limit(const struct ss_launch_occupancy *occupancy, const char *name,
                      struct ss_strbuf *out)
{
    const struct ss_block_limits *limits = &occupancy->limits;
    double blocks = ss_block_limits_least(limits);
    const char *s = blocks == 1 ? "" : "s";
    if (strcmp(name, "registers") == 0) {
        ss_strbuf_append_format(out, "%llu registers of a thread leave room for %.0f block%s",
                                (unsigned long long)occupancy->needs.registers, blocks, s);
    } else if (strcmp(name, "shared memory") == 0) {
        ss_strbuf_append_format(out, "%llu bytes of shared memory leave room for %.0f block%s",
                                (unsigned long long)occupancy->needs.shared_bytes, blocks, s);
    } else if (strcmp(name, "barriers") == 0) {
        ss_strbuf_append_format(out, "barriers leave room for %.0f block%s", blocks, s);
    } else if (limits->by_blocks == blocks && limits->by_blocks < limits->by_warps) {
        ss_strbuf_append_format(out, "%.0f blocks, the most there are at once, have few threads",
                                blocks);
    } else {
        ss_strbuf_append_format(out, "%.0f block%s of %llu threads leave%s warps over", blocks, s,
                                (unsigned long long)occupancy->needs.threads,
                                blocks == 1 ? "s" : "");
    }
}

const char *ss_launch_occupancy_limiter(const struct ss_launch_occupancy *occupancy,
                                        struct ss_strbuf *sentence)
{
    const char *name = name_of_limit(occupancy);
    if (name != NULL) {
        say_limit(occupancy, name, sentence);
    } else if (occupancy->theoretical >= 99.95) {
        ss_strbuf_append_text(sentence, "all warps fit");
    }
    bool is_lower = occupancy->achieved >= 0 && occupancy->theoretical >= 0 &&
                    occupancy->achieved < occupancy->theoretical - clear_points;
    if (occupancy->waves >= 0 && occupancy->waves < most_partial) {
        ss_strbuf_append_format(sentence, "%sthe grid fills %.3g %% of the device",
                                sentence->length > 0 ? "; " : "", 100 * occupancy->waves);
    } else if (is_lower) {
        ss_strbuf_append_format(sentence,
                                "%sachieved is %.3g points less: blocks begin, end or "
                                "work unevenly",
                                sentence->length > 0 ? "; " : "",
                                occupancy->theoretical - occupancy->achieved);
    }
    return name;
}
