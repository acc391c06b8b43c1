/* SPDX-License-Identifier: Apache-2.0 */
/* A tool that collects NVTX, as a library for NVTX_INJECTION64_PATH: writes a line for each call
 * that it takes to the file $COLLECTED. Compiled with NVTX's own headers it is what a tool is. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvtx3/nvToolsExt.h"

static FILE *out;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int depth;
static uint64_t ids;
static char names[64][64];
static unsigned domain_count;

static void print_event(const char *what, nvtxDomainHandle_t domain,
                        const nvtxEventAttributes_t *event)
{
    pthread_mutex_lock(&lock);
    fprintf(out, "%s [%s]", what, domain != NULL ? (const char *)domain : "");
    if (event != NULL) {
        fprintf(out, " \"%s\"",
                event->messageType == NVTX_MESSAGE_TYPE_ASCII ? event->message.ascii : "?");
        if (event->version != NVTX_VERSION || event->size != sizeof *event) {
            fprintf(out, " version %d size %d", event->version, event->size);
        }
        if (event->colorType == NVTX_COLOR_ARGB) {
            fprintf(out, " %08x", event->color);
        }
        if (event->category != 0) {
            fprintf(out, " category");
        }
        if (event->payloadType == NVTX_PAYLOAD_TYPE_INT64) {
            fprintf(out, " %" PRId64, event->payload.llValue);
        } else if (event->payloadType == NVTX_PAYLOAD_TYPE_UNSIGNED_INT64) {
            fprintf(out, " %" PRIu64, event->payload.ullValue);
        } else if (event->payloadType == NVTX_PAYLOAD_TYPE_DOUBLE) {
            fprintf(out, " %g", event->payload.dValue);
        }
    }
    fputc('\n', out);
    fflush(out);
    pthread_mutex_unlock(&lock);
}

static int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
    print_event("push", domain, event);
    return depth++;
}

static int pop(nvtxDomainHandle_t domain)
{
    print_event("pop", domain, NULL);
    return --depth;
}

static void mark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
    print_event("mark", domain, event);
}

static nvtxRangeId_t start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
    print_event("start", domain, event);
    return UINT64_C(0xfff0000000000000) + ++ids;
}

static void end(nvtxDomainHandle_t domain, nvtxRangeId_t id)
{
    char text[64];
    snprintf(text, sizeof text, "end %" PRIu64, id - UINT64_C(0xfff0000000000000));
    print_event(text, domain, NULL);
}

static nvtxDomainHandle_t create(const char *name)
{
    char *kept = names[domain_count++ % 64];
    snprintf(kept, sizeof names[0], "%s", name);
    return (nvtxDomainHandle_t)kept;
}

static void category(nvtxDomainHandle_t domain, uint32_t number, const char *name)
{
    char text[128];
    snprintf(text, sizeof text, "category %s", name);
    print_event(text, domain, NULL);
}

static void put(NvtxGetExportTableFunc_t get, unsigned slot, void *function)
{
    const NvtxExportTableCallbacks *callbacks = get(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table;
    unsigned size;
    if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 1 &&
        slot < size) {
        *table[slot] = (NvtxFunctionPointer)function;
    }
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get)
{
    const NvtxExportTableVersionInfo *version = get(NVTX_ETID_VERSIONINFO);
    const NvtxExportTableCallbacks *callbacks = get(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table;
    unsigned size;
    if (version->version != NVTX_VERSION || version->struct_size < sizeof *version ||
        callbacks->struct_size < sizeof *callbacks) {
        return 0;
    }
    for (int module = NVTX_CB_MODULE_CORE; module < NVTX_CB_MODULE_SIZE; module++) {
        if (callbacks->GetModuleFunctionTable(module, &table, &size) != 1 || table[0] != NULL) {
            return 0; /* the first slot of each module is unused */
        }
        for (unsigned i = 1; i < size; i++) {
            *table[i] = NULL;
        }
    }
    out = fopen(getenv("COLLECTED"), "w");
    if (out == NULL) {
        return 0;
    }
    put(get, NVTX_CBID_CORE2_DomainMarkEx, mark);
    put(get, NVTX_CBID_CORE2_DomainRangeStartEx, start);
    put(get, NVTX_CBID_CORE2_DomainRangeEnd, end);
    put(get, NVTX_CBID_CORE2_DomainRangePushEx, push);
    put(get, NVTX_CBID_CORE2_DomainRangePop, pop);
    put(get, NVTX_CBID_CORE2_DomainNameCategoryA, category);
    put(get, NVTX_CBID_CORE2_DomainCreateA, create);
    return 1;
}
