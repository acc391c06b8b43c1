/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the events of a file of Chrome's trace format into rows of the model. Owned by one loader.
 * Private to model/.
 */
#ifndef SS_MODEL_CHROME_CHROME_EVENTS_H
#define SS_MODEL_CHROME_CHROME_EVENTS_H

#include "model/chrome/chrome_async.h"
#include "model/chrome/chrome_devices.h"
#include "model/chrome/chrome_fields.h"
#include "model/files/json_window.h"

struct ss_chrome_loading {
    struct ss_json_window *window; /* which counts what is skipped */
    struct ss_chrome_rows rows;
    struct ss_chrome_async async;
    struct ss_chrome_devices devices;
    struct ss_chrome_fields fields; /* of the event that is being added */
    uint64_t events;                /* added */
    int64_t first_ns, last_ns;      /* of them, as in the file */
    bool has_base, has_properties, is_kineto;
    int64_t base_ns;
    int64_t rank, world_size; /* -1: unknown */
    bool is_composer;
};

void ss_chrome_loading_init(struct ss_chrome_loading *loading, struct ss_json_window *window,
                            struct ss_model_builder *builder);
void ss_chrome_loading_fini(struct ss_chrome_loading *loading);
/* Times, processes, steps and what was skipped; then ends the builder. */
enum ss_status ss_chrome_loading_end(struct ss_chrome_loading *loading,
                                     struct ss_model_load *request, struct ss_error *err);

void ss_chrome_event_add(struct ss_chrome_loading *loading, const struct ss_chrome_event *event);
/* Members of the file beside its events; they return true. */
bool ss_chrome_base_time(struct ss_chrome_loading *loading, struct ss_strview value);
bool ss_chrome_property(struct ss_chrome_loading *loading, struct ss_strview key,
                        struct ss_strview value);

#endif
