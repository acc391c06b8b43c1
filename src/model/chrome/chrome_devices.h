/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work of devices that no list of categories names: MTIA, Ascend, Gaudi, TPUs and whatever comes
 * next. A process that is named as a device has its work; so has a category whose events carry the
 * correlation of a call. A call whose correlation some work has is a launch, whatever its name.
 * Owned by one loader. Private to model/.
 */
#ifndef SS_MODEL_CHROME_CHROME_DEVICES_H
#define SS_MODEL_CHROME_CHROME_DEVICES_H

#include "model/chrome/chrome_rows.h"

struct ss_chrome_call {
    uint64_t correlation;
    uint32_t name; /* row of the model */
};

struct ss_chrome_devices {
    struct ss_vec_of(struct ss_chrome_call) calls; /* of names that are not known to launch */
    struct ss_vec_of(uint64_t) works;              /* their correlations */
};

void ss_chrome_devices_fini(struct ss_chrome_devices *devices);

/* The kind of an event by its category, else by what is known of its process and arguments. */
enum ss_chrome_kind ss_chrome_kind_of_event(struct ss_chrome_rows *rows,
                                            const struct ss_chrome_event *event);
/* Whether a process of this name is a device. */
bool ss_chrome_names_device(struct ss_strview process_name);
/* Whether the name does not say what the call does: it may launch work. */
bool ss_chrome_is_unknown_call(struct ss_strview name);

void ss_chrome_devices_add_call(struct ss_chrome_devices *devices, uint64_t correlation,
                                uint32_t name);
void ss_chrome_devices_add_work(struct ss_chrome_devices *devices, uint64_t correlation);
/* Gives the names of calls that launched work the type of launches. */
void ss_chrome_devices_end(struct ss_chrome_devices *devices, struct ss_model_builder *builder);

#endif
