/* SPDX-License-Identifier: Apache-2.0 */
#include "record/recording/event_names.h"

void ss_event_names_init(struct ss_event_names *names)
{
    ss_intern_init(&names->texts);
    ss_intern_init(&names->keys);
}

void ss_event_names_fini(struct ss_event_names *names)
{
    ss_intern_fini(&names->texts);
    ss_intern_fini(&names->keys);
}

uint32_t ss_event_names_put(struct ss_event_names *names, struct ss_recording *recording,
                            const struct ss_event_name *name, struct ss_error *err)
{
    uint32_t known = names->keys.count;
    uint32_t ref = ss_intern_put(&names->keys, (const char *)name, sizeof *name);
    if (ref >= known) {
        struct ss_trace_name record = {.ref = ref,
                                       .text = ss_intern_get(&names->texts, name->text),
                                       .category = ss_intern_get(&names->texts, name->category),
                                       .colour = name->argb,
                                       .file = ss_intern_get(&names->texts, name->file),
                                       .line = name->line,
                                       .type = name->type};
        ss_recording_name(recording, &record, err);
    }
    return ref;
}
