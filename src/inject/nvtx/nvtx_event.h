/* SPDX-License-Identifier: Apache-2.0 */
/* The attributes of an event, up to the size that the program states for its structure. */
#ifndef SS_INJECT_NVTX_NVTX_EVENT_H
#define SS_INJECT_NVTX_NVTX_EVENT_H

#include "annot/events.h"
#include "inject/nvtx/nvtx_abi.h"

struct ss_nvtx_attributes {
    uint32_t name;
    struct ss_event_value value; /* type 0: none */
};

/* `domain` is that of the category and of the payload's schema. `event` NULL: an event without
 * message. */
struct ss_nvtx_attributes ss_nvtx_read_event(uint32_t domain, const struct ss_nvtx_event *event);

/* Whether this domain is that of NCCL (nvtx_nccl.h). */
bool ss_nvtx_is_nccl(const void *handle);

/* Converts a level to what NVTX returns: SS_NVTX_NOT_TRACKED if nothing was recorded. */
static inline int ss_nvtx_level(int level)
{
    return level == SS_EVENT_OFF ? SS_NVTX_NOT_TRACKED : level;
}

static inline int ss_nvtx_push(uint32_t domain, struct ss_nvtx_attributes attributes)
{
    return ss_nvtx_level(attributes.value.type != SS_RING_VALUE_NONE
                             ? ss_event_push_value(domain, attributes.name, attributes.value)
                             : ss_event_push(domain, attributes.name));
}

#endif
