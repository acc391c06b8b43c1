/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/cupti/records.h"

#include "inject/cupti/launches.h"

static const struct ss_cupti *cupti;

static bool next_record(uint8_t *bytes, size_t valid, void **record)
{
    return cupti->ActivityGetNextRecord(bytes, valid, record) == SS_CUPTI_OK && *record != NULL;
}

static bool complete(struct ss_cupti_output *output, struct ss_cupti_event *event)
{
    if (event->message.head.kind == SS_DEVICE_WORK) {
        event->message.work.name = ss_cupti_output_name(output, event->name);
    } else if (event->message.head.kind == SS_DEVICE_CALL) {
        struct ss_device_call_message *call = &event->message.call;
        int domain =
            call->domain == SS_DEVICE_RUNTIME ? SS_CUPTI_DOMAIN_RUNTIME : SS_CUPTI_DOMAIN_DRIVER;
        call->name = ss_launches_name(cupti, domain, event->function);
        return !ss_launches_is_call(domain, event->function);
    } else if (event->message.head.kind == SS_DEVICE_DEVICE) {
        event->message.device.name = ss_cupti_output_name(output, event->name);
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
    return cupti->ActivityGetNumDroppedRecords(NULL, 0, &dropped) == SS_CUPTI_OK ? dropped : 0;
}

const struct ss_device_interface *ss_cupti_interface(const struct ss_cupti *of)
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
                                                         .take_dropped = take_dropped};
    cupti = of;
    return &interface;
}
