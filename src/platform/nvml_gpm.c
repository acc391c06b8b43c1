/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/nvml_gpm.h"

#include <dlfcn.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

enum { OK = 0, NO_PERMISSION = 4, VERSION = 1 };

struct support {
    unsigned int version, supported;
};
struct metric {
    unsigned int number;
    int status;
    double value;
    const char *names[3]; /* short name, long name, unit */
};
/* NVML's structure has room for all metrics; it reads and writes as many as `count` says. */
struct request {
    unsigned int version, count;
    void *begin, *end;
    struct metric metrics[SS_NVML_GPM_FIELDS];
};
_Static_assert(offsetof(struct request, metrics) == 24 && sizeof(struct metric) == 40,
               "as the library has them");

struct ss_nvml_gpm {
    void *device;
    int (*get)(void *device, void *sample);
    int (*release)(void *sample);
    int (*compute)(struct request *request);
    void *earlier, *later; /* samples */
    uint64_t earlier_ns;   /* 0: none */
};

static const struct {
    unsigned int number;
    double factor;
} fields[SS_NVML_GPM_FIELDS] = {
#define GPM_FIELD(name, number, factor, decimals, series, unit) {number, factor},
#include "platform/nvml_gpm.def"
#undef GPM_FIELD
};

static void find(void *library, void *function, const char *name)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol); /* C has no cast from an object to a function */
}

static bool is_supported(void *library, void *device, char *reason)
{
    int (*query)(void *device, struct support *support);
    struct support support = {.version = VERSION};
    find(library, &query, "nvmlGpmQueryDeviceSupport");
    bool supported = query != NULL && query(device, &support) == OK && support.supported != 0;
    if (!supported) {
        snprintf(reason, SS_NVML_GPM_REASON_BYTES, "%s",
                 query == NULL ? "this driver has no GPM" : "this GPU has no GPM");
    }
    return supported;
}

/* One sample, to learn whether this user may have any. */
static bool is_permitted(struct ss_nvml_gpm *gpm, char *reason)
{
    int status = gpm->get(gpm->device, gpm->earlier);
    if (status == NO_PERMISSION) {
        snprintf(reason, SS_NVML_GPM_REASON_BYTES,
                 "the driver refuses GPM to this user (root may have it)");
    } else if (status != OK) {
        snprintf(reason, SS_NVML_GPM_REASON_BYTES, "GPM cannot be read (NVML status %d)", status);
    }
    return status == OK;
}

struct ss_nvml_gpm *ss_nvml_gpm_open(void *library, void *device, char *reason)
{
    int (*reserve)(void **sample);
    if (!is_supported(library, device, reason)) {
        return NULL;
    }
    struct ss_nvml_gpm *gpm = ss_alloc_zero(1, sizeof *gpm);
    gpm->device = device;
    find(library, &reserve, "nvmlGpmSampleAlloc");
    find(library, &gpm->release, "nvmlGpmSampleFree");
    find(library, &gpm->get, "nvmlGpmSampleGet");
    find(library, &gpm->compute, "nvmlGpmMetricsGet");
    bool complete = reserve != NULL && gpm->release != NULL && gpm->get != NULL &&
                    gpm->compute != NULL && reserve(&gpm->earlier) == OK &&
                    reserve(&gpm->later) == OK;
    if (!complete) {
        snprintf(reason, SS_NVML_GPM_REASON_BYTES, "this driver's GPM is incomplete");
    }
    if (!complete || !is_permitted(gpm, reason)) {
        ss_nvml_gpm_close(gpm);
        return NULL;
    }
    return gpm;
}

void ss_nvml_gpm_close(struct ss_nvml_gpm *gpm)
{
    if (gpm == NULL) {
        return;
    }
    if (gpm->release != NULL && gpm->earlier != NULL) {
        gpm->release(gpm->earlier);
    }
    if (gpm->release != NULL && gpm->later != NULL) {
        gpm->release(gpm->later);
    }
    ss_free(gpm);
}

static void compute(const struct ss_nvml_gpm *gpm, struct ss_nvml_gpm_sample *sample)
{
    struct request request = {
        .version = VERSION, .count = SS_NVML_GPM_FIELDS, .begin = gpm->earlier, .end = gpm->later};
    for (size_t i = 0; i < SS_NVML_GPM_FIELDS; i++) {
        request.metrics[i].number = fields[i].number;
    }
    if (gpm->compute(&request) != OK) {
        return;
    }
    sample->begin_ns = gpm->earlier_ns;
    for (size_t i = 0; i < SS_NVML_GPM_FIELDS; i++) {
        double value = request.metrics[i].value;
        if (request.metrics[i].status == OK && isfinite(value) && value >= 0) {
            sample->known |= UINT32_C(1) << i;
            sample->values[i] = value * fields[i].factor;
        }
    }
}

void ss_nvml_gpm_read(struct ss_nvml_gpm *gpm, uint64_t now_ns, struct ss_nvml_gpm_sample *sample)
{
    *sample = (struct ss_nvml_gpm_sample){.begin_ns = 0};
    if (gpm->get(gpm->device, gpm->later) != OK) {
        gpm->earlier_ns = 0; /* an average over a hole would hide it */
        return;
    }
    if (gpm->earlier_ns != 0) {
        compute(gpm, sample);
    }
    void *free_sample = gpm->earlier;
    gpm->earlier = gpm->later;
    gpm->later = free_sample;
    gpm->earlier_ns = now_ns;
}
