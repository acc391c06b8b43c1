/* SPDX-License-Identifier: Apache-2.0 */
/* A program with NVTX's own headers: its six tables and two extensions. Compiled by
 * tests/e2e/test_nvtx.py where there are headers. */
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtOpenCL.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSemanticsCounters.h>
#include <nvtx3/nvToolsExtSemanticsTime.h>
#include <nvtx3/nvToolsExtSync.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static nvtxDomainHandle_t domain;

static nvtxEventAttributes_t attributes(const char *text)
{
    nvtxEventAttributes_t event;
    memset(&event, 0, sizeof event);
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = nvtxDomainRegisterStringA(domain, text);
    event.colorType = NVTX_COLOR_ARGB;
    event.color = 0xff112233;
    event.category = 4;
    event.payloadType = NVTX_PAYLOAD_TYPE_INT32;
    event.payload.iValue = -7;
    return event;
}

static void *end_range(void *id)
{
    nvtxRangeEnd(*(nvtxRangeId_t *)id);
    return NULL;
}

static void core(void)
{
    nvtxRangeId_t id = nvtxRangeStartA("from thread to thread");
    pthread_t thread;
    nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "the main thread");
    nvtxRangePushA("bytes");
    nvtxRangePushW(L"wide \u20ac");
    nvtxMarkA("mark in bytes");
    nvtxMarkW(L"wide mark");
    nvtxRangePop();
    nvtxRangePop();
    pthread_create(&thread, NULL, end_range, &id);
    pthread_join(thread, NULL);
}

static void core2(void)
{
    domain = nvtxDomainCreateA("everything");
    nvtxDomainNameCategoryA(domain, 4, "four");
    nvtxEventAttributes_t event = attributes("registered");
    nvtxDomainRangePushEx(domain, &event);
    nvtxDomainMarkEx(domain, &event);
    nvtxRangeId_t id = nvtxDomainRangeStartEx(domain, &event);
    nvtxDomainRangeEnd(domain, id);
    nvtxDomainRangePop(domain);
    nvtxResourceAttributes_t resource;
    memset(&resource, 0, sizeof resource);
    resource.version = NVTX_VERSION;
    resource.size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE;
    resource.identifierType = NVTX_RESOURCE_TYPE_GENERIC_HANDLE;
    resource.identifier.ullValue = 0x77;
    resource.messageType = NVTX_MESSAGE_TYPE_ASCII;
    resource.message.ascii = "a handle";
    nvtxDomainResourceDestroy(nvtxDomainResourceCreate(domain, &resource));
}

static void things(void)
{
    nvtxNameCuDeviceA(1, "device one");
    nvtxNameCuStreamW((CUstream)(size_t)0x11, L"stream of the driver");
    nvtxNameCudaStreamA((cudaStream_t)(size_t)0x22, "stream of the runtime");
    nvtxNameClCommandQueueA((cl_command_queue)(size_t)0x33, "queue");
    nvtxSyncUserAttributes_t sync;
    memset(&sync, 0, sizeof sync);
    sync.version = NVTX_VERSION;
    sync.size = NVTX_SYNCUSER_ATTRIB_STRUCT_SIZE;
    sync.messageType = NVTX_MESSAGE_TYPE_ASCII;
    sync.message.ascii = "lock";
    nvtxSyncUser_t lock = nvtxDomainSyncUserCreate(domain, &sync);
    nvtxDomainSyncUserAcquireStart(lock);
    nvtxDomainSyncUserAcquireSuccess(lock);
    nvtxDomainSyncUserReleasing(lock);
    nvtxDomainSyncUserDestroy(lock);
}

struct step {
    const char *message;
    uint32_t category, colour;
    uint32_t mode;
    double loss;
};

static void payloads(void)
{
    const nvtxPayloadEnum_t modes[] = {{"training", 0, 0}, {"validation", 1, 0}};
    nvtxPayloadEnumAttr_t mode;
    memset(&mode, 0, sizeof mode);
    mode.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE;
    mode.entries = modes;
    mode.numEntries = 2;
    mode.sizeOfEnum = sizeof(uint32_t);
    uint64_t mode_id = nvtxPayloadEnumRegister(domain, &mode);
    const nvtxPayloadSchemaEntry_t entries[] = {
        {NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "message"},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY, "category"},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_COLOR_ARGB, "colour"},
        {0, mode_id, "mode"},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, "loss"}};
    nvtxPayloadSchemaAttr_t schema;
    memset(&schema, 0, sizeof schema);
    schema.fieldMask =
        NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
        NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
    schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
    schema.entries = entries;
    schema.numEntries = sizeof entries / sizeof *entries;
    schema.payloadStaticSize = sizeof(struct step);
    struct step step = {"validate", 4, 0xff00ff00, 1, 0.5};
    nvtxPayloadData_t data = {nvtxPayloadSchemaRegister(domain, &schema), sizeof step, &step};
    nvtxRangePushPayload(domain, &data, 1);
    nvtxMarkPayload(domain, &data, 1);
    nvtxRangePopPayload(domain, NULL, 0);
    nvtxRangeEndPayload(domain, nvtxRangeStartPayload(domain, &data, 1), NULL, 0);
    double alone = 2.25;
    nvtxPayloadData_t number = {NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, sizeof alone, &alone};
    nvtxEventAttributes_t event = attributes("with bytes");
    event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    event.reserved0 = 1;
    event.payload.ullValue = (uint64_t)(size_t)&number;
    nvtxDomainMarkEx(domain, &event);
}

struct past {
    int64_t begin, end;
    uint64_t size;
};

static int64_t monotonic(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Two ranges of 10 ms that overlap, deferred. */
static void deferred(void)
{
    nvtxSemanticsTime_t clock;
    memset(&clock, 0, sizeof clock);
    clock.header.structSize = sizeof clock;
    clock.header.semanticId = NVTX_SEMANTIC_ID_TIME_V1;
    clock.header.version = NVTX_TIME_SEMANTIC_VERSION;
    clock.timeDomainId = NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC;
    const nvtxPayloadSchemaEntry_t entries[] = {
        {NVTX_PAYLOAD_ENTRY_FLAG_RANGE_BEGIN | NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP,
         NVTX_PAYLOAD_ENTRY_TYPE_INT64, "begin", NULL, 0, 0, &clock.header},
        {NVTX_PAYLOAD_ENTRY_FLAG_RANGE_END | NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP,
         NVTX_PAYLOAD_ENTRY_TYPE_INT64, "end", NULL, 0, 0, &clock.header},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "size"}};
    nvtxPayloadSchemaAttr_t schema;
    memset(&schema, 0, sizeof schema);
    schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_FLAGS |
                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
    schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
    schema.flags = NVTX_PAYLOAD_SCHEMA_FLAG_RANGE_STARTEND;
    schema.entries = entries;
    schema.numEntries = 3;
    schema.payloadStaticSize = sizeof(struct past);
    uint64_t id = nvtxPayloadSchemaRegister(domain, &schema);
    int64_t begin = monotonic();
    usleep(20000);
    struct past past[2] = {{begin, begin + 10000000, 64}, {begin + 5000000, begin + 15000000, 128}};
    nvtxEventBatch_t batch;
    memset(&batch, 0, sizeof batch);
    batch.eventSchemaId = id;
    batch.size = sizeof past;
    batch.events = past;
    nvtxEventBatchSubmit(domain, &batch);
}

static void counters(void)
{
    nvtxSemanticsCounter_t semantics;
    memset(&semantics, 0, sizeof semantics);
    semantics.header.structSize = sizeof semantics;
    semantics.header.semanticId = NVTX_SEMANTIC_ID_COUNTERS_V1;
    semantics.header.version = NVTX_COUNTER_SEMANTIC_VERSION;
    semantics.unit = "bytes";
    semantics.unitScaleNumerator = semantics.unitScaleDenominator = 1;
    nvtxCounterAttr_t counter;
    memset(&counter, 0, sizeof counter);
    counter.structSize = sizeof counter;
    counter.schemaId = NVTX_PAYLOAD_ENTRY_TYPE_INT64;
    counter.name = "allocated";
    counter.semantics = &semantics.header;
    uint64_t id = nvtxCounterRegister(domain, &counter);
    nvtxCounterSampleInt64(domain, id, 4096);
    int64_t times[3], values[3] = {1, 2, 3};
    for (int i = 0; i < 3; i++) {
        times[i] = nvtxTimestampGet();
    }
    nvtxCounterBatch_t batch;
    memset(&batch, 0, sizeof batch);
    batch.counterId = id;
    batch.counters = values;
    batch.countersSize = sizeof values;
    batch.timestamps = times;
    batch.timestampsSize = sizeof times;
    nvtxCounterBatchSubmit(domain, &batch);
    counter.schemaId = NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE;
    counter.name = "share";
    nvtxCounterSampleFloat64(domain, nvtxCounterRegister(domain, &counter), 0.75);
}

int main(void)
{
    core();
    core2();
    things();
    payloads();
    deferred();
    counters();
    printf("%d\n", nvtxDomainIsEnabled(domain));
    nvtxDomainDestroy(domain);
    return 0;
}
