/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/cupti/records.h"

#include <string.h>

#include "inject/cupti/decode.h"
#include "inject/cupti/graph_nodes.h"
#include "inject/cupti/launches.h"
#include "inject/cupti/samples.h"
#include "inject/cupti/tee.h"
#include "inject/nccl/operations.h"

static const struct ss_cupti *cupti;
static enum ss_collecting_level wanted;

/* Beside another client, there are records of what only it wants. */
static bool is_ours(const void *record, size_t bytes)
{
    uint32_t kind = 0, function = 0;
    memcpy(&kind, record, bytes < sizeof kind ? bytes : sizeof kind);
    if ((kind == SS_CUPTI_RUNTIME_CALL || kind == SS_CUPTI_DRIVER_CALL) &&
        bytes >= SS_CUPTI_call_BYTES) {
        function = ss_cupti_call_function(record);
    }
    return ss_cupti_is_wanted(cupti, wanted, (int)kind, function);
}

static bool next_record(uint8_t *bytes, size_t valid, void **record)
{
    bool is_there;
    size_t at;
    do {
        is_there =
            cupti->ActivityGetNextRecord(bytes, valid, record) == SS_CUPTI_OK && *record != NULL;
        at = is_there ? (size_t)((uint8_t *)*record - bytes) : valid;
    } while (is_there && at < valid && ss_cupti_tee_is_connected() &&
             !is_ours(*record, valid - at));
    return is_there;
}

static bool complete(struct ss_device_output *output, struct ss_device_event *event)
{
    if (event->message.head.kind == SS_DEVICE_WORK) {
        event->message.work.name = ss_device_output_name(output, event->name);
    } else if (event->message.head.kind == SS_DEVICE_CALL) {
        struct ss_device_call_message *call = &event->message.call;
        int domain =
            call->domain == SS_DEVICE_RUNTIME ? SS_CUPTI_DOMAIN_RUNTIME : SS_CUPTI_DOMAIN_DRIVER;
        call->name = ss_launches_name(cupti, domain, event->function);
        return !ss_launches_is_call(domain, event->function);
    } else if (event->message.head.kind == SS_DEVICE_DEVICE) {
        event->message.device.name = ss_device_output_name(output, event->name);
    }
    return true;
}

static uint32_t function_name(int domain, uint32_t function)
{
    return ss_launches_name(cupti, domain, function);
}

static enum ss_device_domain ring_domain(int domain)
{
    return domain == SS_CUPTI_DOMAIN_RUNTIME ? SS_DEVICE_RUNTIME : SS_DEVICE_DRIVER;
}

static bool read_clock(uint64_t *theirs)
{
    return cupti->GetTimestamp(theirs) == SS_CUPTI_OK;
}

static void flush(void)
{
    cupti->ActivityFlushAll(SS_CUPTI_FLUSH_NORMAL);
}

/* Reading resets CUPTI's count. No lock is held: CUPTI may hold its own in the callbacks. */
static uint64_t take_dropped(void)
{
    size_t dropped = 0;
    if (cupti->ActivityGetNumDroppedRecords(NULL, 0, &dropped) != SS_CUPTI_OK) {
        return 0;
    }
    ss_cupti_tee_add_dropped(dropped);
    return dropped + ss_cupti_tee_take_dropped();
}

const struct ss_device_interface *ss_cupti_interface(const struct ss_cupti *of,
                                                     enum ss_collecting_level level)
{
    static const struct ss_device_interface interface = {.number = SS_DEVICE_OF_CUPTI,
                                                         .next_record = next_record,
                                                         .decode = ss_cupti_decode,
                                                         .complete = complete,
                                                         .function_name = function_name,
                                                         .is_call = ss_launches_is_call,
                                                         .ring_domain = ring_domain,
                                                         .read_clock = read_clock,
                                                         .flush = flush,
                                                         .take_dropped = take_dropped,
                                                         .take_collectives = ss_nccl_take,
                                                         .drain_nodes = ss_graph_nodes_drain,
                                                         .drain_samples = ss_cupti_samples_drain};
    cupti = of;
    wanted = level;
    return &interface;
}
