/* SPDX-License-Identifier: Apache-2.0 */
/* What counters measure whose readers need to know it, whatever they are called. Numbers never
 * change. */
#ifndef SS_BASE_QUANTITIES_H
#define SS_BASE_QUANTITIES_H

enum ss_quantity {
    SS_QUANTITY_NONE, /* as its name says */
    /* Memory of a device, by a framework's allocator: given out, taken from the driver, and the
     * highest that was given out. */
    SS_QUANTITY_DEVICE_ALLOCATED,
    SS_QUANTITY_DEVICE_RESERVED,
    SS_QUANTITY_DEVICE_PEAK,
    SS_QUANTITY_COUNT
};

#endif
