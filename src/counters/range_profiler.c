/* SPDX-License-Identifier: Apache-2.0 */
#include "counters/range_profiler.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

enum { MOST_IMAGE_BYTES = 256 << 20 };
static const char range_name[] = "stepscope";

#define CALL(ranges, name, params, action)                                                         \
    SS_TRY(ss_profiler_call((ranges)->profiler, (ranges)->profiler->name, &(params), err, action))

static enum ss_status find_chip(struct ss_range_profiler *ranges, size_t device,
                                struct ss_error *err)
{
    struct ss_profiler_start_profilers start = SS_PROFILER_PARAMS(start_profilers);
    struct ss_profiler_device_chip chip = SS_PROFILER_PARAMS(device_chip);
    CALL(ranges, start_profilers, start, "use the counters");
    chip.device = device;
    CALL(ranges, device_chip, chip, "name the chip of the device");
    snprintf(ranges->chip, sizeof ranges->chip, "%s", chip.chip != NULL ? chip.chip : "");
    return SS_OK;
}

static enum ss_status find_available(struct ss_range_profiler *ranges, void *context,
                                     struct ss_error *err)
{
    struct ss_profiler_availability params = SS_PROFILER_PARAMS(availability);
    params.context = context;
    CALL(ranges, availability, params, "read which counters the device allows");
    if (params.image_bytes == 0 || params.image_bytes > MOST_IMAGE_BYTES) {
        return ss_fail(err, SS_E_LIMIT, "CUPTI's list of counters has %zu bytes: not usable",
                       params.image_bytes);
    }
    ranges->availability = ss_alloc_zero(1, params.image_bytes);
    params.image = ranges->availability;
    CALL(ranges, availability, params, "read which counters the device allows");
    return SS_OK;
}

static enum ss_status choose(struct ss_range_profiler *ranges, const char *request,
                             struct ss_error *err)
{
    struct ss_metric_target target = {.profiler = ranges->profiler,
                                      .chip = ranges->chip,
                                      .availability = ranges->availability,
                                      .kind = SS_PROFILER_OF_RANGES};
    SS_TRY(ss_counters_choose(&target, request, &ranges->choice, NULL, err));
    SS_TRY(ss_metric_config_init(&target, ranges->choice.names, ranges->choice.count,
                                 &ranges->config, err));
    return ss_metric_host_open(&target, &ranges->host, err);
}

static enum ss_status enable(struct ss_range_profiler *ranges, void *context, struct ss_error *err)
{
    struct ss_profiler_range_enable params = SS_PROFILER_PARAMS(range_enable);
    params.context = context;
    CALL(ranges, range_enable, params, "measure ranges on the device");
    ranges->object = params.profiler;
    struct ss_profiler_range_data_size size = SS_PROFILER_PARAMS(range_data_size);
    size.profiler = ranges->object;
    size.names = (const char **)ranges->choice.names;
    size.count = ranges->choice.count;
    size.most_ranges = 1;
    size.most_nodes = 1;
    CALL(ranges, range_data_size, size, "measure ranges on the device");
    if (size.bytes == 0 || size.bytes > MOST_IMAGE_BYTES) {
        return ss_fail(err, SS_E_LIMIT, "CUPTI's counter data has %zu bytes: not usable",
                       size.bytes);
    }
    ranges->data = ss_alloc_zero(1, size.bytes);
    ranges->data_bytes = size.bytes;
    return SS_OK;
}

enum ss_status ss_range_profiler_open(struct ss_range_profiler *ranges,
                                      const struct ss_profiler *profiler, void *context,
                                      size_t device, const char *request, enum ss_ranges_by by,
                                      struct ss_error *err)
{
    *ranges = (struct ss_range_profiler){.profiler = profiler, .by = by};
    enum ss_status status = find_chip(ranges, device, err);
    status = status == SS_OK ? find_available(ranges, context, err) : status;
    status = status == SS_OK ? choose(ranges, request, err) : status;
    status = status == SS_OK ? enable(ranges, context, err) : status;
    if (status != SS_OK) {
        ss_range_profiler_close(ranges);
    }
    return status;
}

void ss_range_profiler_close(struct ss_range_profiler *ranges)
{
    if (ranges->object != NULL) {
        struct ss_profiler_range_disable params = SS_PROFILER_PARAMS(range_disable);
        params.profiler = ranges->object;
        ss_profiler_call(ranges->profiler, ranges->profiler->range_disable, &params, NULL, "end");
    }
    ss_metric_host_close(&ranges->host);
    ss_metric_config_fini(&ranges->config);
    ss_free(ranges->availability);
    ss_free(ranges->data);
    ranges->object = NULL;
    ranges->availability = ranges->data = NULL;
    ranges->is_started = false;
}

void ss_range_profiler_restart(struct ss_range_profiler *ranges, enum ss_ranges_by by)
{
    ranges->passes_done = 0;
    ranges->by = by;
}

/* Before the first pass. */
static enum ss_status configure(struct ss_range_profiler *ranges, struct ss_error *err)
{
    bool is_kernel = ranges->by == SS_RANGES_BY_KERNEL;
    struct ss_profiler_range_data_init init = SS_PROFILER_PARAMS(range_data_init);
    init.profiler = ranges->object;
    init.bytes = ranges->data_bytes;
    init.data = ranges->data;
    CALL(ranges, range_data_init, init, "begin a range");
    struct ss_profiler_range_configure params = SS_PROFILER_PARAMS(range_configure);
    params.profiler = ranges->object;
    params.config = ranges->config.image;
    params.config_bytes = ranges->config.bytes;
    params.data = ranges->data;
    params.data_bytes = ranges->data_bytes;
    params.range = is_kernel ? SS_PROFILER_AUTO_RANGE : SS_PROFILER_USER_RANGE;
    params.replay = is_kernel ? SS_PROFILER_KERNEL_REPLAY : SS_PROFILER_USER_REPLAY;
    params.ranges_per_pass = 1;
    params.levels = params.first_level = params.target_level = 1;
    CALL(ranges, range_configure, params, "begin a range");
    return SS_OK;
}

enum ss_status ss_range_profiler_begin(struct ss_range_profiler *ranges, struct ss_error *err)
{
    if (ranges->passes_done == 0) {
        SS_TRY(configure(ranges, err));
    }
    struct ss_profiler_range_start start = SS_PROFILER_PARAMS(range_start);
    start.profiler = ranges->object;
    CALL(ranges, range_start, start, "begin a range");
    ranges->is_started = true;
    if (ranges->by == SS_RANGES_BY_CALLER) {
        struct ss_profiler_range_push push = SS_PROFILER_PARAMS(range_push);
        push.profiler = ranges->object;
        push.name = range_name;
        CALL(ranges, range_push, push, "begin a range");
    }
    return SS_OK;
}

enum ss_status ss_range_profiler_end(struct ss_range_profiler *ranges, bool *is_complete,
                                     struct ss_error *err)
{
    *is_complete = false;
    if (ranges->by == SS_RANGES_BY_CALLER) {
        struct ss_profiler_range_pop pop = SS_PROFILER_PARAMS(range_pop);
        pop.profiler = ranges->object;
        CALL(ranges, range_pop, pop, "end a range");
    }
    struct ss_profiler_range_stop stop = SS_PROFILER_PARAMS(range_stop);
    stop.profiler = ranges->object;
    ranges->is_started = false;
    CALL(ranges, range_stop, stop, "end a range");
    ranges->passes_done++;
    *is_complete = stop.all_passes != 0;
    if (!*is_complete && ranges->passes_done > ranges->config.passes) {
        return ss_fail(err, SS_E_BUG, "%zu passes were to suffice, and CUPTI wants more",
                       ranges->config.passes);
    }
    return SS_OK;
}

enum ss_status ss_range_profiler_values(struct ss_range_profiler *ranges, double *values,
                                        struct ss_error *err)
{
    ranges->passes_done = 0;
    struct ss_profiler_range_decode decode = SS_PROFILER_PARAMS(range_decode);
    decode.profiler = ranges->object;
    CALL(ranges, range_decode, decode, "read what was counted");
    struct ss_profiler_range_data_info info = SS_PROFILER_PARAMS(range_data_info);
    info.data = ranges->data;
    info.bytes = ranges->data_bytes;
    CALL(ranges, range_data_info, info, "read what was counted");
    if (info.ranges == 0 || decode.dropped > 0) {
        return ss_fail(err, SS_E_EMPTY, "nothing was counted: the range launched no work");
    }
    return ss_metric_evaluate(&ranges->host, ranges->data, ranges->data_bytes, 0,
                              ranges->choice.names, ranges->choice.count, values, err);
}
