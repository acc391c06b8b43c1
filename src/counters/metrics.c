/* SPDX-License-Identifier: Apache-2.0 */
#include "counters/metrics.h"

#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/strbuf.h"

enum { MOST_IMAGE_BYTES = 64 << 20, MOST_LIST_BYTES = 400 };

enum ss_status ss_metric_chips(const struct ss_profiler *profiler, const char *const **chips,
                               size_t *count, struct ss_error *err)
{
    struct ss_profiler_host_chips params = SS_PROFILER_PARAMS(host_chips);
    SS_TRY(ss_profiler_call(profiler, profiler->host_chips, &params, err, "list the chips"));
    *chips = params.chips;
    *count = params.count;
    return SS_OK;
}

enum ss_status ss_metric_check_chip(const struct ss_profiler *profiler, const char *chip,
                                    struct ss_error *err)
{
    const char *const *chips = NULL;
    size_t count = 0;
    SS_TRY(ss_metric_chips(profiler, &chips, &count, err));
    struct ss_strbuf list;
    ss_strbuf_init(&list, MOST_LIST_BYTES);
    bool known = false;
    for (size_t i = 0; i < count; i++) {
        known = known || strcmp(chips[i], chip) == 0;
        ss_strbuf_append_format(&list, "%s%s", i > 0 ? ", " : "", chips[i]);
    }
    enum ss_status status =
        known ? SS_OK
              : ss_fail(err, SS_E_NOTFOUND, "this CUPTI has no chip \"%.40s\", but %s", chip,
                        list.data);
    ss_strbuf_fini(&list);
    return status;
}

/* --- host objects ----------------------------------------------------------------------------- */

enum ss_status ss_metric_host_open(const struct ss_metric_target *target,
                                   struct ss_metric_host *host, struct ss_error *err)
{
    struct ss_profiler_host_open params = SS_PROFILER_PARAMS(host_open);
    params.profiler = (int)target->kind;
    params.chip = target->chip;
    params.availability = target->availability;
    *host = (struct ss_metric_host){.profiler = target->profiler};
    SS_TRY(ss_profiler_call(target->profiler, target->profiler->host_open, &params, err,
                            "read the metrics of the chip"));
    host->object = params.host;
    return SS_OK;
}

void ss_metric_host_close(struct ss_metric_host *host)
{
    if (host->object != NULL) {
        struct ss_profiler_host_close params = SS_PROFILER_PARAMS(host_close);
        params.host = host->object;
        ss_profiler_call(host->profiler, host->profiler->host_close, &params, NULL, "close");
        host->object = NULL;
    }
}

enum ss_status ss_metric_list(const struct ss_metric_host *host, enum ss_metric_type type,
                              const char ***names, size_t *count, struct ss_error *err)
{
    struct ss_profiler_host_metrics params = SS_PROFILER_PARAMS(host_metrics);
    params.host = host->object;
    params.type = (int)type;
    SS_TRY(ss_profiler_call(host->profiler, host->profiler->host_metrics, &params, err,
                            "list the metrics"));
    *names = params.names;
    *count = params.count;
    return SS_OK;
}

enum ss_status ss_metric_list_submetrics(const struct ss_metric_host *host,
                                         enum ss_metric_type type, const char *name,
                                         const char ***submetrics, size_t *count,
                                         struct ss_error *err)
{
    struct ss_profiler_host_submetrics params = SS_PROFILER_PARAMS(host_submetrics);
    params.host = host->object;
    params.type = (int)type;
    params.name = name;
    SS_TRY(ss_profiler_call(host->profiler, host->profiler->host_submetrics, &params, err,
                            "list what a metric has"));
    *submetrics = params.names;
    *count = params.count;
    return SS_OK;
}

enum ss_status ss_metric_describe(const struct ss_metric_host *host, const char *name,
                                  const char **description, const char **unit, struct ss_error *err)
{
    struct ss_profiler_host_properties params = SS_PROFILER_PARAMS(host_properties);
    params.host = host->object;
    params.name = name;
    SS_TRY(ss_profiler_call(host->profiler, host->profiler->host_properties, &params, err,
                            "describe a metric"));
    *description = params.description != NULL ? params.description : "";
    *unit = params.unit != NULL ? params.unit : "";
    return SS_OK;
}

enum ss_status ss_metric_evaluate(const struct ss_metric_host *host, const uint8_t *data,
                                  size_t bytes, size_t range, const char *const *names,
                                  size_t count, double *values, struct ss_error *err)
{
    struct ss_profiler_host_evaluate params = SS_PROFILER_PARAMS(host_evaluate);
    params.host = host->object;
    params.image = data;
    params.bytes = bytes;
    params.range = range;
    params.names = (const char **)names; /* CUPTI only reads them */
    params.count = count;
    params.values = values;
    return ss_profiler_call(host->profiler, host->profiler->host_evaluate, &params, err,
                            "evaluate what was counted");
}

/* --- config images ---------------------------------------------------------------------------- */

static enum ss_status add_metrics(const struct ss_metric_host *host, const char *const *names,
                                  size_t count, struct ss_error *err)
{
    struct ss_profiler_host_add params = SS_PROFILER_PARAMS(host_add);
    params.host = host->object;
    params.names = (const char **)names;
    params.count = count;
    return ss_profiler_call(host->profiler, host->profiler->host_add, &params, err,
                            "count the metrics");
}

static enum ss_status take_image(const struct ss_metric_host *host, struct ss_metric_config *config,
                                 struct ss_error *err)
{
    const struct ss_profiler *profiler = host->profiler;
    struct ss_profiler_host_config_size size = SS_PROFILER_PARAMS(host_config_size);
    size.host = host->object;
    SS_TRY(ss_profiler_call(profiler, profiler->host_config_size, &size, err, "configure metrics"));
    if (size.bytes == 0 || size.bytes > MOST_IMAGE_BYTES) {
        return ss_fail(err, SS_E_LIMIT, "CUPTI's image of the metrics has %zu bytes: not usable",
                       size.bytes);
    }
    config->image = ss_alloc(size.bytes);
    config->bytes = size.bytes;
    struct ss_profiler_host_config image = SS_PROFILER_PARAMS(host_config);
    image.host = host->object;
    image.bytes = config->bytes;
    image.image = config->image;
    SS_TRY(ss_profiler_call(profiler, profiler->host_config, &image, err, "configure metrics"));
    struct ss_profiler_host_passes passes = SS_PROFILER_PARAMS(host_passes);
    passes.bytes = config->bytes;
    passes.image = config->image;
    SS_TRY(ss_profiler_call(profiler, profiler->host_passes, &passes, err, "count the passes"));
    config->passes = passes.passes;
    return SS_OK;
}

bool ss_metric_exists(const struct ss_metric_target *target, const char *name)
{
    struct ss_metric_host host;
    const char *const names[] = {name};
    bool exists = ss_metric_host_open(target, &host, NULL) == SS_OK &&
                  add_metrics(&host, names, 1, NULL) == SS_OK;
    ss_metric_host_close(&host);
    return exists;
}

/* Names the first metric that the chip refuses, in place of CUPTI's general reason. */
static enum ss_status name_refused(const struct ss_metric_target *target, const char *const *names,
                                   size_t count, struct ss_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (!ss_metric_exists(target, names[i])) {
            return ss_fail(err, SS_E_NOTFOUND,
                           "%s has no metric \"%.200s\"%s: see `stepscope kernel --list-metrics "
                           "--chip %s`",
                           target->chip, names[i],
                           target->kind == SS_PROFILER_OF_SAMPLES ? " for sampling" : "",
                           target->chip);
        }
    }
    return ss_fail(err, SS_E_UNSUPPORTED, "%s cannot count these %zu metrics together",
                   target->chip, count);
}

enum ss_status ss_metric_config_init(const struct ss_metric_target *target,
                                     const char *const *names, size_t count,
                                     struct ss_metric_config *config, struct ss_error *err)
{
    struct ss_metric_host host;
    *config = (struct ss_metric_config){.image = NULL};
    if (count == 0 || count > SS_METRICS_MOST) {
        return ss_fail(err, SS_E_LIMIT, "%zu metrics at once: 1 to %d are possible", count,
                       SS_METRICS_MOST);
    }
    SS_TRY(ss_metric_host_open(target, &host, err));
    enum ss_status status = add_metrics(&host, names, count, err);
    if (status == SS_OK) {
        status = take_image(&host, config, err);
    } else {
        status = name_refused(target, names, count, err);
    }
    ss_metric_host_close(&host);
    if (status != SS_OK) {
        ss_metric_config_fini(config);
    }
    return status;
}

void ss_metric_config_fini(struct ss_metric_config *config)
{
    ss_free(config->image);
    *config = (struct ss_metric_config){.image = NULL};
}
