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

/* Correlations are kept by their lower 32 bits, which differ within a file. */
struct ss_chrome_call {
    uint32_t correlation;
    uint32_t name; /* row of the model */
};

enum ss_chrome_call_name { SS_CHROME_CALL_NEW, SS_CHROME_CALL_KNOWN, SS_CHROME_CALL_UNKNOWN };

struct ss_chrome_devices {
    struct ss_vec_of(struct ss_chrome_call) calls; /* of names that are not known to launch */
    struct ss_vec_of(uint32_t) works;              /* their correlations */
    struct ss_vec_of(uint8_t) names; /* enum ss_chrome_call_name, by row of the model */
};

void ss_chrome_devices_fini(struct ss_chrome_devices *devices);

/* The kind of an event by its category, else by what is known of its process and arguments. */
enum ss_chrome_kind ss_chrome_kind_of_event(struct ss_chrome_rows *rows,
                                            const struct ss_chrome_event *event);
/* Whether a process of this name is a device. */
bool ss_chrome_names_device(struct ss_strview process_name);

/* A call whose name does not say what it does may launch work; others are not kept. */
void ss_chrome_devices_add_call(struct ss_chrome_devices *devices, uint64_t correlation,
                                struct ss_strview text, uint32_t name);
void ss_chrome_devices_add_work(struct ss_chrome_devices *devices, uint64_t correlation);
/* Gives the names of calls that launched work the type of launches. */
void ss_chrome_devices_end(struct ss_chrome_devices *devices, struct ss_model_builder *builder);

#endif
