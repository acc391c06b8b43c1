/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline/saved_rules.h"

#include <string.h>

/* A field is below the number of rows of `target`; without one, below `limit`. */
struct rule {
    enum ss_saved_table table;
    size_t offset, width;
    enum ss_saved_table target;
    uint64_t limit;
};

#define FIELD(table, type, field)                                                                  \
    SS_SAVED_##table, offsetof(type, field), sizeof(((type *)NULL)->field)
#define IS_ROW(table, type, field, target)                                                         \
    {                                                                                              \
        FIELD(table, type, field), SS_SAVED_##target, 0                                            \
    }
#define IS_BELOW(table, type, field, limit)                                                        \
    {                                                                                              \
        FIELD(table, type, field), SS_SAVED_NONE, limit                                            \
    }
#define IS_TRUTH(table, type, field) IS_BELOW(table, type, field, 2)

static const struct rule rules[] = {
    IS_ROW(INPUTS, struct ss_saved_input, clock_domain, CLOCK_DOMAINS),
    IS_BELOW(INPUTS, struct ss_saved_input, kind, SS_INPUT_IMPORT + 1),
    IS_BELOW(CLOCK_DOMAINS, struct ss_model_clock_domain, mapping, SS_CLOCK_FITTED + 1),
    IS_TRUTH(PROCESSES, struct ss_model_process, has_rank),
    IS_TRUTH(PROCESSES, struct ss_model_process, has_local_rank),
    IS_TRUTH(PROCESSES, struct ss_model_process, has_node),
    IS_TRUTH(PROCESSES, struct ss_model_process, has_exit_status),
    IS_ROW(THREADS, struct ss_model_thread, process, PROCESSES),
    IS_TRUTH(THREADS, struct ss_model_thread, is_main),
    IS_BELOW(FRAMES, struct ss_model_frame, origin, UINT8_MAX),
    IS_BELOW(FRAMES, struct ss_model_frame, kind, UINT8_MAX),
    IS_BELOW(FRAMES, struct ss_model_frame, owner, UINT8_MAX),
    IS_ROW(STREAMS, struct ss_model_stream, device, DEVICES),
    IS_TRUTH(STREAMS, struct ss_model_stream, is_default),
    IS_ROW(MODEL_TRACKS, struct ss_model_track, process, PROCESSES),
    IS_ROW(MODEL_TRACKS, struct ss_model_track, thread, THREADS),
    IS_ROW(MODEL_TRACKS, struct ss_model_track, device, DEVICES),
    IS_ROW(MODEL_TRACKS, struct ss_model_track, stream, STREAMS),
    IS_ROW(MODEL_TRACKS, struct ss_model_track, parent, MODEL_TRACKS),
    IS_BELOW(NAMES, struct ss_model_name, type, SS_EVENT_TYPE_COUNT),
    IS_ROW(PATHS, struct ss_model_path, name, NAMES),
    IS_BELOW(PAYLOADS, struct ss_model_payload, type, SS_VALUE_TEXT + 1),
    IS_ROW(PAYLOADS, struct ss_model_payload, first_field, FIELDS),
    IS_BELOW(FIELDS, struct ss_model_field, field, SS_EVENT_FIELD_COUNT),
    IS_BELOW(FIELDS, struct ss_model_field, type, SS_VALUE_TEXT + 1),
    IS_TRUTH(VALUES, struct ss_model_value, is_integer),
    IS_ROW(RANGES, struct ss_model_range, path, PATHS),
    IS_ROW(RANGES, struct ss_model_range, payload, PAYLOADS),
    IS_ROW(OWN, struct ss_model_range, payload, PAYLOADS),
    IS_ROW(FORTH, struct ss_timeline_link, from, RANGES),
    IS_ROW(FORTH, struct ss_timeline_link, to, RANGES),
    IS_BELOW(FORTH, struct ss_timeline_link, kind, SS_LINK_EVENT + 1),
    IS_ROW(BACK, struct ss_timeline_link, from, RANGES),
    IS_ROW(BACK, struct ss_timeline_link, to, RANGES),
    IS_BELOW(BACK, struct ss_timeline_link, kind, SS_LINK_EVENT + 1),
    IS_ROW(STEPS, struct ss_step, process, PROCESSES),
    IS_BELOW(STEPS, struct ss_step, kind, SS_STEP_OUTSIDE + 1),
    IS_TRUTH(STEPS, struct ss_step, has_operators),
    IS_TRUTH(STEPS, struct ss_step, counts_operators),
    IS_TRUTH(STEPS, struct ss_step, is_whole),
    IS_TRUTH(STEPS, struct ss_step, is_summed),
    IS_TRUTH(STEPS, struct ss_step, has_device_work),
    IS_TRUTH(STEPS, struct ss_step, lacks_kernels),
    IS_BELOW(TRACKS, struct ss_saved_track, kind, SS_TIMELINE_KINDS),
    IS_BELOW(TRACKS, struct ss_saved_track, naming, SS_NAMED_BY_NAME + 1),
    IS_BELOW(TRACKS, struct ss_saved_track, lanes, SS_SAVED_MOST_LANES),
    IS_TRUTH(TRACKS, struct ss_saved_track, is_own),
    IS_ROW(TRACKS, struct ss_saved_track, track, MODEL_TRACKS),
    IS_ROW(TRACKS, struct ss_saved_track, thread, THREADS),
    IS_ROW(TRACKS, struct ss_saved_track, group, GROUPS),
    IS_ROW(GROUPS, struct ss_timeline_group, process, PROCESSES),
    IS_ROW(GROUPS, struct ss_timeline_group, first_track, TRACKS),
};

enum { RULES = sizeof rules / sizeof *rules };
_Static_assert((int)RULES <= (int)SS_SAVED_RULES, "struct ss_saved_maxima has room");

static uint64_t largest32(const char *at, size_t stride, size_t count)
{
    uint32_t most = 0, value;
    for (size_t i = 0; i < count; i++, at += stride) {
        memcpy(&value, at, sizeof value);
        most = value > most ? value : most;
    }
    return most;
}

static uint64_t largest(const char *at, size_t width, size_t stride, size_t count)
{
    uint64_t most = 0;
    if (width == sizeof(uint32_t)) {
        return largest32(at, stride, count);
    }
    for (size_t i = 0; i < count; i++, at += stride) {
        uint64_t value = 0;
        memcpy(&value, at, width); /* little-endian, as all machines that this runs on */
        most = value > most ? value : most;
    }
    return most;
}

static bool has_reversed(const struct ss_model_range *ranges, size_t count)
{
    bool reversed = false;
    for (size_t i = 0; i < count; i++) {
        reversed |= ranges[i].end_ns < ranges[i].begin_ns;
    }
    return reversed;
}

void ss_saved_rules_see(struct ss_saved_maxima *maxima, enum ss_saved_table table, const char *rows,
                        size_t row_bytes, size_t count)
{
    for (size_t i = 0; i < RULES; i++) {
        if (rules[i].table == table) {
            uint64_t most = largest(rows + rules[i].offset, rules[i].width, row_bytes, count);
            maxima->of[i] = most > maxima->of[i] ? most : maxima->of[i];
        }
    }
    if (table == SS_SAVED_RANGES || table == SS_SAVED_OWN) {
        maxima->has_reversed |=
            has_reversed((const struct ss_model_range *)(const void *)rows, count);
    }
}

bool ss_saved_rules_hold(const struct ss_saved_maxima *maxima,
                         const uint64_t counts[SS_SAVED_TABLES])
{
    bool holds = !maxima->has_reversed;
    for (size_t i = 0; i < RULES; i++) {
        const struct rule *rule = &rules[i];
        uint64_t limit = rule->target != SS_SAVED_NONE ? counts[rule->target] : rule->limit;
        holds = holds && (counts[rule->table] == 0 || maxima->of[i] < limit);
    }
    return holds;
}
