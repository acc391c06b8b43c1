/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracks and what lies on them as packets, for the main sequence and for the parts that
 * sequence.c needs. Pure but for the buffer.
 */
#ifndef SS_TRACE_ENCODE_TRACKS_H
#define SS_TRACE_ENCODE_TRACKS_H

#include "trace/track_records.h"
#include "wire/proto.h"

/* 0: none. */
struct ss_track_uuids {
    uint64_t own, process, thread, parent; /* parent: of the GROUP track */
    /* What viewers show around tracks that belong to nothing else, and around a process's steps and
     * phases. */
    uint64_t host, steps;
};

/* The packet that defines a track: Perfetto's descriptor, where the track is one to it, and our
 * record. */
void ss_encode_track_record(struct ss_wire_buffer *out, const struct ss_trace_track *track,
                            const struct ss_track_uuids *uuids);
void ss_encode_lane(struct ss_wire_buffer *out, const struct ss_trace_track *track,
                    const struct ss_track_uuids *uuids, uint64_t lane_uuid, uint32_t lane);
/* An entry of InternedData.event_names and what belongs to it in our payload. */
void ss_encode_event_name(struct ss_wire_buffer *interned, struct ss_wire_buffer *extras,
                          const struct ss_trace_name *name, uint32_t iid);
void ss_encode_event_category(struct ss_wire_buffer *interned, struct ss_strview category,
                              uint32_t iid);

/* The fields of a TrackEvent that few events have: payload, flow, what the flags mean. */
void ss_encode_event_rest(struct ss_wire_buffer *out, const struct ss_trace_event *event);
/* Our payload of an event, where it needs one. */
void ss_encode_event_payload(struct ss_wire_buffer *out, const struct ss_trace_event *event);
bool ss_event_has_rest(const struct ss_trace_event *event);
/* What comes behind the sequence flags of a packet of the main sequence. */
void ss_encode_event(struct ss_wire_buffer *out, const struct ss_trace_event *event,
                     const struct ss_trace_track *track, uint64_t uuid, uint32_t name_iid,
                     uint32_t category_iid);
void ss_encode_counter(struct ss_wire_buffer *out, const struct ss_trace_counter *counter,
                       uint64_t uuid);

#endif
