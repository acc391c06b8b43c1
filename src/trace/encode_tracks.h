/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes tracks, names, events and counter values, for the main sequence and for sequence.c. Pure
 * apart from the output buffer.
 */
#ifndef SS_TRACE_ENCODE_TRACKS_H
#define SS_TRACE_ENCODE_TRACKS_H

#include "trace/track_records.h"
#include "wire/proto.h"

/* The uuids of a track and its relatives; 0: none. */
struct ss_track_uuids {
    uint64_t own, process, thread, parent; /* parent: of the GROUP track */
    uint64_t host;                         /* the viewer folder of tracks without owner */
    bool is_at_top;                        /* viewers show it beside the processes, not in one */
    struct ss_strview title;               /* in viewers; empty: the name */
};

/* The packet that defines a track: our record, and a Perfetto descriptor if the track needs one. */
void ss_encode_track_record(struct ss_wire_buffer *out, const struct ss_trace_track *track,
                            const struct ss_track_uuids *uuids);
void ss_encode_lane(struct ss_wire_buffer *out, const struct ss_trace_track *track,
                    const struct ss_track_uuids *uuids, uint64_t lane_uuid, uint32_t lane);
/* An entry of InternedData.event_names and its entry in the extension payload. */
void ss_encode_event_name(struct ss_wire_buffer *interned, struct ss_wire_buffer *extras,
                          const struct ss_trace_name *name, uint32_t iid);
void ss_encode_event_category(struct ss_wire_buffer *interned, struct ss_strview category,
                              uint32_t iid);

/* An entry of InternedData.debug_annotation_names: the iid of a field is its number. */
void ss_encode_field_name(struct ss_wire_buffer *interned, uint32_t field);

/* An entry of InternedData.debug_annotation_string_values. */
void ss_encode_field_text(struct ss_wire_buffer *interned, struct ss_strview text, uint32_t iid);

/* What an event refers to; 0: nothing. `texts`: by field, its interned text; `launches` as
 * of ss_encode_event_rest. */
struct ss_event_iids {
    uint32_t name, category;
    const uint32_t *texts;
    uint64_t launches;
};

/* The rare fields of a TrackEvent: typed fields, payload, flow, and annotations for the flags.
 * `launches`: the ids of flows of its process (ss_launch_flows); 0: none. */
void ss_encode_event_rest(struct ss_wire_buffer *out, const struct ss_trace_event *event,
                          const uint32_t *text_iids, uint64_t launches);
/* The extension payload of an event, if it needs one. */
void ss_encode_event_payload(struct ss_wire_buffer *out, const struct ss_trace_event *event);
bool ss_event_has_rest(const struct ss_trace_event *event);
/* The packet fields after the sequence flags, for an event on the main sequence. */
void ss_encode_event(struct ss_wire_buffer *out, const struct ss_trace_event *event,
                     const struct ss_trace_track *track, uint64_t uuid,
                     const struct ss_event_iids *iids);
void ss_encode_counter(struct ss_wire_buffer *out, const struct ss_trace_counter *counter,
                       uint64_t uuid);

#endif
