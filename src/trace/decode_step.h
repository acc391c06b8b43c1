/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the decoder's files: the outcome of a decoding step and the loops over fields. Private
 * to decode*.c.
 */
#ifndef SS_TRACE_DECODE_STEP_H
#define SS_TRACE_DECODE_STEP_H

#include "trace/decode.h"
#include "trace/profile.h"
#include "wire/perfetto.h"

/* Outcome of a decoding step: success, a malformed packet, or a visitor status other than SS_OK. */
enum ss_outcome { SS_STEP_GOOD, SS_STEP_MALFORMED, SS_STEP_STOPPED };

struct ss_step {
    struct ss_decoder *decoder;
    const char *reason;    /* of SS_STEP_MALFORMED */
    enum ss_status status; /* of SS_STEP_STOPPED */
};
static inline enum ss_outcome ss_step_malformed(struct ss_step *step, const char *reason)
{
    step->reason = reason;
    return SS_STEP_MALFORMED;
}

#define SS_STEP_TRY(expression)                                                                    \
    do {                                                                                           \
        enum ss_outcome try_outcome_ = (expression);                                               \
        if (try_outcome_ != SS_STEP_GOOD) {                                                        \
            return try_outcome_;                                                                   \
        }                                                                                          \
    } while (0)

/* Passes the record to the visitor if the visitor has this callback. */
#define SS_STEP_EMIT(step, member, record)                                                         \
    do {                                                                                           \
        const struct ss_trace_visitor *visitor_ = (step)->decoder->visitor;                        \
        if (visitor_->member != NULL) {                                                            \
            (step)->status = visitor_->member((step)->decoder->context, (record));                 \
            if ((step)->status != SS_OK) {                                                         \
                return SS_STEP_STOPPED;                                                            \
            }                                                                                      \
        }                                                                                          \
    } while (0)

#define SS_EACH_FIELD(step, cursor, field)                                                         \
    for (enum ss_wire_next next_; (next_ = ss_wire_next(&(cursor), &(field))) != SS_WIRE_END;)     \
        if (next_ == SS_WIRE_MALFORMED) {                                                          \
            return ss_step_malformed((step), "a message is cut or not protocol-buffer data");      \
        } else

/* Reads an InternedString: its iid (0: none) and its bytes. */
static inline enum ss_outcome ss_step_interned(struct ss_step *step, struct ss_wire_cursor body,
                                               uint64_t *iid, struct ss_strview *text)
{
    *iid = 0;
    *text = (struct ss_strview){"", 0};
    struct ss_wire_field field;
    SS_EACH_FIELD(step, body, field)
    {
        if (field.number == SS_PF_IID) {
            *iid = field.value;
        } else if (field.number == SS_PF_STRING_BYTES && field.type == SS_WIRE_BYTES) {
            *text = ss_wire_view(field.body);
        }
    }
    return SS_STEP_GOOD;
}

static inline bool ss_id_map_put(struct ss_id_map *map, uint64_t iid, uint32_t value)
{
    if (iid == 0 || iid > SS_MAX_IID) {
        return false;
    }
    if (iid >= map->count) {
        ss_vec_resize(map, (size_t)iid + 1);
    }
    map->data[iid] = value;
    return true;
}

static inline uint32_t ss_id_map_get(const struct ss_id_map *map, uint64_t iid)
{
    return iid < map->count ? map->data[iid] : 0;
}

/* decode_interned.c: the strings, frames and stacks of an InternedData; `payload` is the extension
 * payload of the same packet. */
enum ss_outcome ss_decode_interned(struct ss_step *step, struct ss_wire_cursor body,
                                   struct ss_wire_cursor payload, uint32_t sequence);

/* decode_records.c: maps the refs of a record of the file, and the ids of it that only the file
 * contains, to the reader's refs; 0: unknown. */
void ss_step_resolve(const struct ss_step *step, enum ss_schema_id kind, void *record,
                     const uint64_t *ids);
/* Decodes a payload field that is a record; ignores any other field. */
enum ss_outcome ss_decode_record(struct ss_step *step, const struct ss_wire_field *field);
enum ss_outcome ss_decode_attributes(struct ss_step *step, struct ss_wire_cursor list);
enum ss_outcome ss_decode_clocks(struct ss_step *step, struct ss_wire_cursor body,
                                 uint64_t width_ns, uint32_t sequence);

/* decode_tracks.c */
enum ss_outcome ss_decode_track(struct ss_step *step, struct ss_wire_cursor body);
enum ss_outcome ss_decode_lane(struct ss_step *step, struct ss_wire_cursor body);
/* An EventName; `extras` is the extension payload of the packet, in the same order. */
enum ss_outcome ss_decode_name(struct ss_step *step, struct ss_wire_cursor body,
                               struct ss_wire_cursor *extras, uint32_t sequence);
enum ss_outcome ss_decode_defaults(struct ss_step *step, struct ss_wire_cursor body,
                                   uint32_t sequence);
/* A foreign track: the reader skips its events and does not count them as lost. */
enum ss_outcome ss_decode_foreign_track(struct ss_step *step, struct ss_wire_cursor descriptor);
/* Decodes a packet in the compact form that ss_sequence_encode writes for most range events. False:
 * the packet has another form, and the decoder state is unchanged. */
bool ss_decode_small_event(struct ss_step *step, struct ss_wire_cursor packet,
                           enum ss_outcome *outcome);
/* `event` already holds the packet fields outside of the TrackEvent. */
enum ss_outcome ss_decode_event(struct ss_step *step, struct ss_wire_cursor body, uint32_t sequence,
                                struct ss_trace_event *event);

#endif
