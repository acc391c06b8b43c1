/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline/answer_names.h"

#include "timeline/labels.h"
#include "view/output/json_text.h"

uint32_t ss_answer_names_put(struct ss_answer_names *names, const struct ss_timeline *timeline,
                             const struct ss_timeline_track *track,
                             const struct ss_model_range *slice)
{
    uint32_t *id = ss_pair_ids_at(&names->ids, ss_label_key(timeline, track, slice));
    if (*id == 0) {
        ss_vec_push(&names->names, (struct ss_answer_name){track, slice});
        *id = (uint32_t)names->names.count;
    }
    return *id - 1;
}

void ss_answer_write_label(const struct ss_timeline *timeline,
                           const struct ss_timeline_track *track,
                           const struct ss_model_range *slice, size_t maximum_bytes,
                           struct ss_sink *sink)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, 8 * maximum_bytes);
    ss_label_append(&text, timeline, track, slice, maximum_bytes);
    ss_json_write_plain(sink, (struct ss_strview){text.data, text.length});
    ss_strbuf_fini(&text);
}

void ss_answer_names_write(const struct ss_answer_names *names, const struct ss_timeline *timeline,
                           struct ss_sink *sink)
{
    for (size_t i = 0; i < names->names.count; i++) {
        const struct ss_answer_name *name = &names->names.data[i];
        ss_sink_write(sink, ",", i > 0);
        ss_answer_write_label(timeline, name->track, name->slice, SS_LABEL_BYTES, sink);
    }
}

void ss_answer_names_fini(struct ss_answer_names *names)
{
    ss_pair_ids_fini(&names->ids);
    ss_vec_fini(&names->names);
}
