/* SPDX-License-Identifier: Apache-2.0 */
/* A track event of a Perfetto trace: its fields as read, and what puts them into the model. Private
 * to model/. */
#ifndef SS_MODEL_PERFETTO_PERFETTO_EVENT_H
#define SS_MODEL_PERFETTO_PERFETTO_EVENT_H

#include "model/perfetto/perfetto_loading.h"
#include "trace/event_fields.h"

enum { SS_PERFETTO_US = 1000 };

struct ss_perfetto_legacy {
    bool is_there, has_duration, has_id, has_pid, has_tid;
    int64_t phase, duration_us, pid, tid;
    uint64_t id, name_iid, bind_id, flow_direction;
    struct ss_strview scope;
};

struct ss_perfetto_event {
    const struct ss_perfetto_packet *packet;
    struct ss_perfetto_sequence *sequence;
    uint64_t type, track_uuid, name_iid, category_iid;
    bool has_track, has_value, is_real, has_delta, has_absolute;
    uint64_t delta_us, absolute_us;
    int64_t value;
    double real;
    struct ss_strview name, category; /* data NULL: interned, or absent */
    struct ss_perfetto_legacy legacy;
    uint64_t time_ns;
    struct ss_event_value fields[SS_MAX_EVENT_FIELDS];
    uint32_t field_count;
};

struct ss_perfetto_annotation {
    uint32_t name; /* text */
    struct ss_trace_value value;
};

/* perfetto_event.c. False: malformed. */
bool ss_perfetto_parse_event(struct ss_perfetto_loading *loading,
                             const struct ss_perfetto_packet *packet,
                             struct ss_perfetto_event *event);
bool ss_perfetto_read_annotation(struct ss_perfetto_loading *loading,
                                 const struct ss_perfetto_event *event, struct ss_wire_cursor body,
                                 struct ss_perfetto_annotation *annotation);
/* Texts; and the row of the model. */
uint32_t ss_perfetto_category(struct ss_perfetto_loading *loading,
                              const struct ss_perfetto_event *event);
uint32_t ss_perfetto_event_text(struct ss_perfetto_loading *loading,
                                const struct ss_perfetto_event *event);
uint32_t ss_perfetto_name(struct ss_perfetto_loading *loading,
                          const struct ss_perfetto_event *event);

/* perfetto_events.c. `row`: of the model's tracks; `track`: an index. */
void ss_perfetto_put_flow(struct ss_perfetto_loading *loading,
                          const struct ss_perfetto_event *event, uint32_t row, uint64_t id,
                          bool is_end);
void ss_perfetto_put_event(struct ss_perfetto_loading *loading,
                           const struct ss_perfetto_event *event, uint32_t track,
                           enum ss_event_kind kind);
void ss_perfetto_put_range(struct ss_perfetto_loading *loading,
                           const struct ss_perfetto_event *event, uint32_t track);

/* perfetto_legacy.c. An event of an old trace, by its phase. False: malformed. */
bool ss_perfetto_put_phase(struct ss_perfetto_loading *loading,
                           const struct ss_perfetto_event *event, uint32_t track);

#endif
