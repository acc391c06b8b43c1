/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector of the work of AMD devices: rocprofiler-sdk calls it through rocm.so when the
 * program initialises ROCm, before any work. It records in windows of the schedule only, if there
 * is one. Where the SDK refuses, the program runs on and the fact "gpu.problem" says why nothing is
 * recorded. Other tools may use the SDK beside it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "annot/first.h"
#include "annot/process.h"
#include "annot/schedule.h"
#include "base/shared_names.h"
#include "inject/device/collecting.h"
#include "inject/device/launch_queue.h"
#include "inject/device/pool.h"
#include "inject/device/writer.h"
#include "inject/nccl/operations.h"
#include "inject/rocm/entities.h"
#include "inject/rocm/launches.h"
#include "inject/rocm/rccl.h"
#include "inject/rocm/records.h"
#include "inject/rocm/tool.h"

enum {
    BUFFER_BYTES = 4 << 20,
    WATERMARK_BYTES = 3 << 20,
    MOST_IDLE_MS = 3000, /* how long the end waits for a writer that writes nothing */
    TEXT_BYTES = 512
};

static struct {
    struct ss_collecting collecting;
    struct ss_rocm rocm;
    uint32_t version;
    const void *caller;
    uint64_t names, work, buffer; /* contexts: of loaded kernels and RCCL, always on; of work */
    uint32_t kinds[SS_ROCM_AGENT + 1];
    bool has_streams;
    pthread_mutex_t lock; /* of the next members */
    bool is_on, has_failed, has_ended;
} collector = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_owner(void)
{
    return ss_collecting_is_owner(&collector.collecting);
}

/* --- facts ------------------------------------------------------------------------------------ */

static void describe(void)
{
    char text[TEXT_BYTES + 200];
    const char *frames = ss_launch_stack_problem();
    uint32_t version = collector.rocm.version;
    snprintf(text, sizeof text, "%s, rocprofiler-sdk %u.%u.%u, level %s%s, its own clock%s%s",
             collector.rocm.path, version / 10000, version / 100 % 100, version % 100,
             ss_collecting_level_name(collector.collecting.settings.level),
             collector.has_streams ? "" : ", queues for streams", frames[0] != '\0' ? "; " : "",
             frames);
    ss_collecting_set_fact(ss_fact_gpu_collector, text);
}

static void fail(const char *what, uint32_t status)
{
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "rocprofiler-sdk refuses %s: %s (%u)", what,
             ss_rocm_status_text(&collector.rocm, status), status);
    collector.has_failed = true;
    ss_collecting_set_fact(ss_fact_gpu_problem, text);
    ss_device_writer_set_state(SS_DEVICE_REFUSED);
}

/* --- callbacks of the SDK --------------------------------------------------------------------- */

static void on_buffer(uint64_t context, uint64_t buffer, struct ss_rocm_record_header **headers,
                      size_t count, void *data, uint64_t dropped)
{
    (void)context;
    (void)buffer;
    (void)data;
    if (is_owner()) {
        ss_rocm_put_records(collector.kinds, headers, count, dropped);
    }
}

static void observe_symbol(const struct ss_rocm_event *event, uint64_t *user)
{
    (void)user;
    if (event->operation == SS_ROCM_SYMBOL_LOADED && event->phase == SS_ROCM_ENTERS &&
        event->payload != NULL) {
        ss_rocm_define_symbol(event->payload);
    }
}

/* A kind that is not the one asked for shows that the event has another layout. */
static void on_event(struct ss_rocm_event event, uint64_t *user, void *data)
{
    const struct ss_rocm_subject *subject = data;
    if (is_owner() && event.kind == subject->kind) {
        subject->observe(&event, user);
    }
}

static void on_old_event(struct ss_rocm_old_event old, uint64_t *user, void *data)
{
    struct ss_rocm_event event = {.context = old.context,
                                  .thread = old.thread,
                                  .correlation = old.correlation,
                                  .external = old.external,
                                  .kind = old.kind,
                                  .operation = old.operation,
                                  .phase = old.phase,
                                  .payload = old.payload};
    on_event(event, user, data);
}

/* --- on and off ------------------------------------------------------------------------------- */

static void turn_on(void)
{
    uint32_t status = collector.rocm.start_context(collector.work);
    if (status != SS_ROCM_OK) {
        fail("to record work", status);
        return;
    }
    ss_launches_switch(true);
    ss_nccl_want_channels(false); /* launches are observed */
    collector.is_on = true;
    ss_device_writer_set_state(SS_DEVICE_COLLECTS);
}

static void turn_off(void)
{
    collector.rocm.stop_context(collector.work);
    ss_launches_switch(false);
    collector.is_on = false;
    ss_device_pool_wake();
}

static bool is_wanted(void)
{
    return ss_collecting_is_recorded() && !collector.has_ended && !collector.has_failed &&
           ss_collecting_has_come_to(&collector.collecting, SS_SCHEDULE_WARMUP);
}

/* What is collected to warm up is left out. */
static bool is_recording(void)
{
    return collector.is_on && ss_collecting_has_come_to(&collector.collecting, SS_SCHEDULE_RECORD);
}

static void update(void)
{
    pthread_mutex_lock(&collector.lock);
    ss_collecting_follow_recorder(&collector.collecting);
    if (is_wanted() != collector.is_on) {
        if (collector.is_on) {
            turn_off();
        } else {
            turn_on();
        }
    }
    ss_device_writer_switch(is_recording());
    pthread_mutex_unlock(&collector.lock);
}

static bool is_on(void)
{
    update(); /* the recording may have ended */
    return collector.is_on;
}

static bool is_due(void)
{
    return ss_collecting_is_behind(&collector.collecting);
}

static void on_window(unsigned action)
{
    if (ss_collecting_enter_window(&collector.collecting, action)) {
        update();
    }
}

/* --- configuring ------------------------------------------------------------------------------ */

/* The kinds of records, and from which level on. */
static const struct {
    enum ss_rocm_what what;
    const char *kind;
    enum ss_collecting_level level;
    bool is_needed, is_call;
} kinds[] = {
    {SS_ROCM_KERNEL, "KERNEL_DISPATCH", SS_COLLECTING_LIGHT, true, false},
    {SS_ROCM_COPY, "MEMORY_COPY", SS_COLLECTING_LIGHT, false, false},
    {SS_ROCM_HIP_CALL, "HIP_RUNTIME_API", SS_COLLECTING_DEFAULT, false, true},
    {SS_ROCM_RCCL_CALL, "RCCL_API", SS_COLLECTING_DEFAULT, false, true},
    {SS_ROCM_COMPILER_CALL, "HIP_COMPILER_API", SS_COLLECTING_FULL, false, true},
};

static struct ss_rocm_operations operations; /* of the thread that configures */

static uint32_t record_kind(size_t i)
{
    const struct ss_rocm *rocm = &collector.rocm;
    uint32_t kind = ss_rocm_kind(rocm, false, kinds[i].kind);
    operations.count = 0;
    if (kinds[i].is_call) {
        ss_rocm_calls_list_recorded(kinds[i].what, &operations);
        if (operations.count == 0) { /* none would be all */
            return SS_ROCM_OK;
        }
    }
    uint32_t status = kind == 0
                          ? SS_ROCM_ERROR
                          : rocm->configure_buffer_tracing_service(
                                collector.work, kind, operations.count > 0 ? operations.list : NULL,
                                operations.count, collector.buffer);
    collector.kinds[kinds[i].what] = status == SS_ROCM_OK ? kind : 0;
    return kinds[i].is_needed ? status : SS_ROCM_OK;
}

/* Asks for events of a kind; false: this SDK has none, or refuses. */
static bool observe(struct ss_rocm_subject *subject, uint64_t context, const char *name)
{
    const struct ss_rocm *rocm = &collector.rocm;
    ss_rocm_on_event *current = on_event;
    ss_rocm_on_old_event *old = on_old_event;
    void *callback = rocm->version >= SS_ROCM_LONG_IDS_FROM ? *(void **)&current : *(void **)&old;
    subject->kind = ss_rocm_kind(rocm, true, name);
    return subject->kind != 0 &&
           rocm->configure_callback_tracing_service(
               context, subject->kind, operations.count > 0 ? operations.list : NULL,
               operations.count, callback, subject) == SS_ROCM_OK;
}

/* Streams come as an external id of each work, which is asked for within the call that launches. */
static bool observe_streams(void)
{
    static struct ss_rocm_subject streams = {.observe = ss_rocm_observe_stream};
    static const uint32_t requests[] = {SS_ROCM_REQUEST_KERNEL, SS_ROCM_REQUEST_COPY};
    const struct ss_rocm *rocm = &collector.rocm;
    operations.count = 0;
    return rocm->configure_external_correlation_id_request_service != NULL &&
           observe(&streams, collector.work, "HIP_STREAM") &&
           rocm->configure_external_correlation_id_request_service(
               collector.work, requests, sizeof requests / sizeof *requests, ss_rocm_give_stream,
               NULL) == SS_ROCM_OK;
}

static uint32_t configure_callbacks(void)
{
    static struct ss_rocm_subject symbols = {.observe = observe_symbol},
                                  calls = {.observe = ss_rocm_observe_call},
                                  rccl = {.observe = ss_rccl_observe};
    operations.count = 0;
    observe(&symbols, collector.names, "CODE_OBJECT");
    ss_rccl_list(&collector.rocm, &operations);
    if (operations.count > 0) { /* always: calls are counted */
        observe(&rccl, collector.names, "RCCL_API");
    }
    ss_rocm_calls_list_launches(&operations);
    if (operations.count > 0) {
        observe(&calls, collector.work, "HIP_RUNTIME_API");
    }
    collector.has_streams = observe_streams();
    return collector.rocm.start_context(collector.names);
}

static uint32_t configure(void)
{
    const struct ss_rocm *rocm = &collector.rocm;
    uint32_t status = rocm->create_context(&collector.names);
    status = status == SS_ROCM_OK ? rocm->create_context(&collector.work) : status;
    if (status != SS_ROCM_OK) {
        return status;
    }
    status = rocm->create_buffer(collector.work, BUFFER_BYTES, WATERMARK_BYTES, SS_ROCM_DISCARD,
                                 on_buffer, NULL, &collector.buffer);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && status == SS_ROCM_OK; i++) {
        if (kinds[i].level <= collector.collecting.settings.level) {
            status = record_kind(i);
        }
    }
    return status == SS_ROCM_OK ? configure_callbacks() : status;
}

static uint32_t take_agents(int version, const void **agents, size_t count, void *data)
{
    (void)version;
    (void)data;
    for (size_t i = 0; i < count; i++) {
        if (ss_rocm_agent_size(agents[i]) >= SS_ROCM_agent_BYTES &&
            ss_rocm_agent_type(agents[i]) == SS_ROCM_GPU) {
            ss_rocm_define_gpu(ss_rocm_agent_agent(agents[i]),
                               (uint32_t)ss_rocm_agent_number(agents[i]));
            ss_rocm_put_agent(agents[i]);
        }
    }
    return SS_ROCM_OK;
}

/* --- begin and end ---------------------------------------------------------------------------- */

static bool prepare(char *problem, size_t size)
{
    struct ss_device_writer_hooks hooks = {.is_on = is_on, .is_due = is_due, .describe = describe};
    if (!ss_device_writer_is_free(problem, size) ||
        !ss_rocm_load(&collector.rocm, collector.version, collector.caller, problem, size)) {
        return false;
    }
    ss_rocm_calls_init(&collector.rocm);
    uint32_t status = configure();
    if (status != SS_ROCM_OK) {
        snprintf(problem, size, "rocprofiler-sdk cannot be used: %s (%u)",
                 ss_rocm_status_text(&collector.rocm, status), status);
        return false;
    }
    ss_device_pool_init(true, collector.collecting.settings.buffers);
    collector.rocm.query_available_agents(1, take_agents, SS_ROCM_agent_BYTES, NULL);
    return ss_device_writer_start(
        ss_rocm_interface(&collector.rocm, &collector.buffer, collector.has_streams),
        collector.rocm.version, &hooks, problem, size);
}

static int initialize(ss_rocm_finalize_client *finalize, void *data)
{
    char problem[TEXT_BYTES] = "";
    (void)finalize;
    (void)data;
    if (!prepare(problem, sizeof problem)) {
        ss_collecting_set_fact(ss_fact_gpu_problem, problem);
        return -1; /* the SDK forgets what was configured */
    }
    ss_device_writer_calibrate(true);
    ss_collecting_begin(&collector.collecting, on_window);
    update();
    describe();
    return 0;
}

/* The SDK calls it at the program's exit, when work has ended. */
static void finalize(void *data)
{
    (void)data;
    if (!is_owner()) {
        return;
    }
    pthread_mutex_lock(&collector.lock);
    collector.has_ended = true;
    if (collector.is_on) {
        turn_off();
    }
    pthread_mutex_unlock(&collector.lock);
    collector.rocm.flush_buffer(collector.buffer);
    ss_device_writer_end(MOST_IDLE_MS);
}

__attribute__((visibility("default"))) ss_rocm_configure stepscope_rocm_configure;

struct ss_rocm_tool *stepscope_rocm_configure(uint32_t version, const void *caller,
                                              struct ss_rocm_client *client)
{
    static struct ss_rocm_tool tool = {
        .size = sizeof tool, .initialize = initialize, .finalize = finalize};
    ss_rocm_configure *first = NULL;
    *(void **)&first = ss_first_function("stepscope_rocm_configure");
    if (first != NULL) {
        return first(version, caller, client);
    }
    if (!ss_collecting_claim(&collector.collecting)) {
        return NULL;
    }
    client->name = "stepscope";
    collector.version = version;
    collector.caller = caller;
    return &tool;
}
