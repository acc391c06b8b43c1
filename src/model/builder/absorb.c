/* SPDX-License-Identifier: Apache-2.0 */
#include "model/builder/absorb.h"

#include <string.h>

#include "base/clock.h"
#include "model/builder/builder_state.h"
#include "model/builder/load_tracks.h"
#include "model/clock/clock_domains.h"
#include "model/core/index.h"
#include "model/core/rows.h"
#include "trace/event_fields.h"

struct absorbing {
    struct ss_model *to;
    const struct ss_model *part;
    uint32_t input;
    struct ss_row_maps maps;
    uint32_t *texts, *rows[SS_ROWS_COUNT]; /* what maps points to */
};

static uint32_t *new_map(struct absorbing *absorbing, enum ss_rows_id id, size_t count)
{
    uint32_t *map = ss_alloc_zero(count + 1, sizeof *map);
    absorbing->rows[id] = map;
    absorbing->maps.rows[id] = map;
    return map;
}

static void free_maps(struct absorbing *absorbing)
{
    ss_free(absorbing->texts);
    for (size_t i = 0; i < SS_ROWS_COUNT; i++) {
        ss_free(absorbing->rows[i]);
    }
}

/* --- whether ---------------------------------------------------------------------------------- */

/* The process is among those of earlier inputs. */
static bool is_shared_process(const struct ss_model *to, const struct ss_model *part,
                              const struct ss_identity *identity)
{
    struct ss_strview boot = ss_intern_get(&part->strings, (uint32_t)identity->key[0]);
    struct ss_identity mapped = *identity;
    mapped.key[0] = ss_intern_find(&to->strings, boot.data, boot.length);
    return mapped.key[0] != 0 &&
           ss_identities_has(&to->index->processes, &mapped, (uint32_t)to->inputs.count);
}

static bool shares_processes(const struct ss_model *to, const struct ss_model *part)
{
    for (size_t i = 0; i < part->index->processes.rows.count; i++) {
        if (is_shared_process(to, part, &part->index->processes.rows.data[i].identity)) {
            return true;
        }
    }
    return false;
}

/* A file that names its boot after its first time has no domain that follows from its end. */
static bool has_plain_clock(const struct ss_model *part)
{
    const struct ss_model_input *input = &part->inputs.data[0];
    const struct ss_model_clock_domain *domain = &part->clock_domains.data[input->clock_domain];
    return input->clock_domain == 0
               ? part->clock_domains.count == 1 && !(input->has_clock && input->boot != 0)
               : part->clock_domains.count == 2 && domain->boot == input->boot &&
                     domain->wall_offset_ns == input->wall_offset_ns && domain->shift_ns == 0;
}

static bool can_absorb(const struct ss_model *to, const struct ss_model *part,
                       const struct ss_model_load *load)
{
    uint64_t most_samples =
        load->max_samples > 0 ? load->max_samples : SS_MODEL_DEFAULT_MAX_SAMPLES;
    return part->inputs.count == 1 && part->inputs.data[0].kind != SS_INPUT_RAW &&
           !part->index->shares_tracks &&
           part->index->total_samples <= INT64_MAX - to->index->total_samples &&
           to->samples.count + part->samples.count <= most_samples && has_plain_clock(part) &&
           !shares_processes(to, part);
}

/* Whether no time of the part leaves what 64 bits hold: it would have been cut off before ranges
 * were nested. */
static bool can_shift(const struct ss_model *part, int64_t shift_ns)
{
    for (enum ss_rows_id id = 0; shift_ns != 0 && id < SS_ROWS_COUNT; id++) {
        const struct ss_rows *rows = &ss_rows[id];
        struct ss_rows_view view = ss_rows_get(part, id);
        for (size_t m = 0; m < rows->member_count; m++) {
            const struct ss_member *member = &rows->members[m];
            if (member->kind != SS_MEMBER_TIME && member->kind != SS_MEMBER_KNOWN_TIME) {
                continue;
            }
            bool may_be_unknown = member->kind == SS_MEMBER_KNOWN_TIME;
            for (size_t i = rows->has_none; i < view.count; i++) {
                const char *row = (const char *)view.data + i * rows->row_bytes;
                uint64_t time_ns = ss_member_number(row, member->offset, member->size);
                uint64_t moved_ns = ss_clock_shifted(time_ns, shift_ns);
                if ((moved_ns == 0 || moved_ns == UINT64_MAX) &&
                    !(may_be_unknown && time_ns == 0)) {
                    return false;
                }
            }
        }
    }
    return true;
}

/* --- input ------------------------------------------------------------------------------------ */

static void map_texts(struct absorbing *absorbing)
{
    const struct ss_intern *strings = &absorbing->part->strings;
    absorbing->texts = ss_alloc_zero((size_t)strings->count + 1, sizeof *absorbing->texts);
    for (uint32_t i = 1; i < strings->count; i++) {
        struct ss_strview text = ss_intern_get(strings, i);
        absorbing->texts[i] = ss_intern_put(&absorbing->to->strings, text.data, text.length);
    }
    absorbing->maps.texts = absorbing->texts;
}

static void shift_known(uint64_t *time_ns, int64_t shift_ns)
{
    *time_ns = *time_ns != 0 ? ss_clock_shifted(*time_ns, shift_ns) : 0;
}

/* As the builder does. */
static void shift_summary(struct ss_trace_summary *summary, int64_t shift_ns)
{
    shift_known(&summary->first_ns, shift_ns);
    shift_known(&summary->last_ns, shift_ns);
    if (summary->last_event_ns != 0) {
        summary->first_event_ns = ss_clock_shifted(summary->first_event_ns, shift_ns);
    }
    shift_known(&summary->last_event_ns, shift_ns);
}

/* Adds the input and its clock domain. false: its times cannot be moved. */
static bool add_input(struct absorbing *absorbing)
{
    struct ss_model *to = absorbing->to;
    struct ss_model_input row = absorbing->part->inputs.data[0];
    bool has_domain = row.clock_domain != 0;
    new_map(absorbing, SS_ROWS_inputs, 1)[0] = absorbing->input;
    row.clock_domain = 0;
    absorbing->maps.rows[SS_ROWS_clock_domains] = NULL;
    ss_row_map(SS_ROWS_inputs, &row, &absorbing->maps);
    ss_vec_push(&to->inputs, row);
    absorbing->maps.shift_ns = has_domain ? ss_clock_domains_place(to, absorbing->input) : 0;
    shift_summary(&to->inputs.data[absorbing->input].summary, absorbing->maps.shift_ns);
    if (!can_shift(absorbing->part, absorbing->maps.shift_ns)) {
        to->inputs.count--;
        return false;
    }
    return true;
}

/* --- rows that inputs share ------------------------------------------------------------------- */

/* Copies the row of a table of the part, its refs as ids of the model. */
#define MAPPED(absorbing, table, type, index, row)                                                 \
    type row = (absorbing)->part->table.data[index];                                               \
    ss_row_map(SS_ROWS_##table, &row, &(absorbing)->maps)

static void add_hosts(struct absorbing *absorbing)
{
    struct ss_model *to = absorbing->to;
    uint32_t *map = new_map(absorbing, SS_ROWS_hosts, absorbing->part->hosts.count);
    for (uint32_t i = 1; i < absorbing->part->hosts.count; i++) {
        MAPPED(absorbing, hosts, struct ss_model_host, i, row);
        map[i] = ss_model_host_row(to, &row);
        to->hosts.data[map[i]] = row;
    }
}

static void add_devices(struct absorbing *absorbing)
{
    struct ss_model *to = absorbing->to;
    uint32_t *map = new_map(absorbing, SS_ROWS_devices, absorbing->part->devices.count);
    for (uint32_t i = 1; i < absorbing->part->devices.count; i++) {
        MAPPED(absorbing, devices, struct ss_model_device, i, row);
        map[i] = ss_model_device_row(to, absorbing->input, row.uuid);
        to->devices.data[map[i]] = row;
    }
}

static void add_groups(struct absorbing *absorbing)
{
    struct ss_model *to = absorbing->to;
    uint32_t *map = new_map(absorbing, SS_ROWS_groups, absorbing->part->groups.count);
    uint32_t before = (uint32_t)to->rank_runs.count;
    for (size_t i = 0; i < absorbing->part->rank_runs.count; i++) {
        ss_vec_push(&to->rank_runs, absorbing->part->rank_runs.data[i]);
    }
    for (uint32_t i = 1; i < absorbing->part->groups.count; i++) {
        MAPPED(absorbing, groups, struct ss_model_group, i, row);
        row.first_run += before;
        map[i] = ss_model_group_row(to, &row);
        to->groups.data[map[i]] = row;
    }
}

static void add_names(struct absorbing *absorbing)
{
    struct ss_model *to = absorbing->to;
    const struct ss_identities *known = &absorbing->part->index->names;
    size_t count = absorbing->part->names.count;
    uint32_t *map = new_map(absorbing, SS_ROWS_names, count);
    bool *is_named = ss_alloc_zero(count + 1, sizeof *is_named); /* has an identity */
    for (size_t i = 0; i < known->rows.count; i++) {
        is_named[known->rows.data[i].id] = true;
    }
    for (uint32_t i = 1; i < count; i++) {
        MAPPED(absorbing, names, struct ss_model_name, i, row);
        if (is_named[i]) {
            map[i] = ss_model_name_row(to, &row);
        } else {
            map[i] = (uint32_t)to->names.count;
            ss_vec_push(&to->names, row);
        }
    }
    ss_free(is_named);
}

static void add_stacks(struct absorbing *absorbing)
{
    const struct ss_model *part = absorbing->part;
    struct ss_model *to = absorbing->to;
    uint32_t *frames = new_map(absorbing, SS_ROWS_frames, part->frames.count);
    for (uint32_t i = 1; i < part->frames.count; i++) {
        MAPPED(absorbing, frames, struct ss_model_frame, i, row);
        frames[i] = ss_model_frame_id(to, &row);
    }
    uint32_t *stacks = new_map(absorbing, SS_ROWS_stacks, part->stacks.count);
    for (uint32_t i = 1; i < part->stacks.count; i++) {
        const struct ss_model_stack *row = &part->stacks.data[i];
        stacks[i] = ss_model_stack_id(to, stacks[row->parent], frames[row->frame]);
    }
    uint32_t *paths = new_map(absorbing, SS_ROWS_paths, part->paths.count);
    for (uint32_t i = 1; i < part->paths.count; i++) {
        const struct ss_model_path *row = &part->paths.data[i];
        paths[i] =
            ss_model_path_id(to, paths[row->parent], absorbing->rows[SS_ROWS_names][row->name]);
    }
}

/* Equal lists are stored once. */
static void add_fields(struct absorbing *absorbing)
{
    const struct ss_model *part = absorbing->part;
    uint32_t *map = new_map(absorbing, SS_ROWS_fields, part->fields.count);
    const uint32_t *const entities[SS_SCHEMA_COUNT] = {
        [SS_SCHEMA_device] = absorbing->rows[SS_ROWS_devices],
        [SS_SCHEMA_context] = absorbing->rows[SS_ROWS_contexts],
        [SS_SCHEMA_stream] = absorbing->rows[SS_ROWS_streams],
        [SS_SCHEMA_group] = absorbing->rows[SS_ROWS_groups]};
    for (size_t first = 1; first < part->fields.count;) {
        struct ss_model_field list[SS_MAX_EVENT_FIELDS + 1];
        size_t count = 0;
        memset(list, 0, sizeof list);
        for (; part->fields.data[first + count].field != 0; count++) {
            struct ss_model_field *row = &list[count];
            *row = part->fields.data[first + count];
            enum ss_schema_id entity = ss_event_fields[row->field].entity;
            ss_row_map(SS_ROWS_fields, row, &absorbing->maps);
            if (entity != SS_SCHEMA_COUNT && entities[entity] != NULL) {
                row->natural = entities[entity][row->natural];
            }
        }
        map[first] = ss_load_put_fields(absorbing->to, list, count);
        first += count + 1;
    }
}

/* --- rows of the input alone ------------------------------------------------------------------ */

/* Appends the rows of a table. */
static void add_rows(struct absorbing *absorbing, enum ss_rows_id id)
{
    const struct ss_rows *rows = &ss_rows[id];
    struct ss_rows_view from = ss_rows_get(absorbing->part, id);
    size_t before = ss_rows_get(absorbing->to, id).count, first = rows->has_none ? 1 : 0;
    if (rows->has_none || id == SS_ROWS_sources) { /* others refer to these */
        uint32_t *map = new_map(absorbing, id, from.count);
        for (size_t i = first; i < from.count; i++) {
            map[i] = (uint32_t)(before + i - first);
        }
    }
    if (from.count <= first) {
        return;
    }
    char *row = ss_rows_append(absorbing->to, id, from.count - first);
    memcpy(row, (const char *)from.data + first * rows->row_bytes,
           (from.count - first) * rows->row_bytes);
    for (size_t i = first; i < from.count; i++, row += rows->row_bytes) {
        ss_row_map(id, row, &absorbing->maps);
    }
}

static void add_samples(struct absorbing *absorbing)
{
    const struct ss_model *part = absorbing->part;
    for (size_t i = 0; i < part->totals.count; i++) {
        MAPPED(absorbing, totals, struct ss_model_total, i, row);
        ss_model_add_total(absorbing->to, &row);
    }
    add_rows(absorbing, SS_ROWS_samples);
    for (size_t i = 0; i < part->gil_spans.count; i++) {
        MAPPED(absorbing, gil_spans, struct ss_model_gil_span, i, row);
        if (absorbing->to->gil_spans.count < SS_MODEL_MOST_GIL_SPANS) {
            ss_vec_push(&absorbing->to->gil_spans, row);
        }
    }
}

static void add_metrics(struct absorbing *absorbing)
{
    const struct ss_model *part = absorbing->part;
    uint32_t *map = new_map(absorbing, SS_ROWS_metric_kinds, part->metric_kinds.count);
    for (uint32_t i = 1; i < part->metric_kinds.count; i++) {
        MAPPED(absorbing, metric_kinds, struct ss_model_metric_kind, i, row);
        map[i] = ss_model_metric_kind_row(absorbing->to, &row);
    }
    for (size_t i = 0; i < part->metrics.count; i++) {
        MAPPED(absorbing, metrics, struct ss_model_metric, i, row);
        row.text = row.is_text ? absorbing->texts[row.text] : row.text;
        ss_vec_push(&absorbing->to->metrics, row);
    }
}

static void add_counts(struct absorbing *absorbing)
{
    for (size_t i = 0; i < absorbing->part->counts.count; i++) {
        MAPPED(absorbing, counts, struct ss_model_counts, i, row);
        row.totals.source_ref = row.source + 1; /* as the builder takes it */
        ss_vec_push(&absorbing->to->counts, row);
    }
}

static void add_line_times(struct absorbing *absorbing)
{
    for (size_t i = 0; i < absorbing->part->line_times.count; i++) {
        MAPPED(absorbing, line_times, struct ss_model_line_time, i, row);
        ss_model_add_line_time(absorbing->to, &row);
    }
}

/* --- index ------------------------------------------------------------------------------------ */

static uint64_t map_pair(uint64_t pair, const uint32_t *high, const uint32_t *low)
{
    return (uint64_t)high[pair >> 32] << 32 | low[(uint32_t)pair];
}

/* What later inputs share; they are then loaded, not absorbed. */
static void add_identities(struct absorbing *absorbing)
{
    const struct ss_model_index *from = absorbing->part->index;
    struct ss_model_index *to = absorbing->to->index;
    uint32_t *const *rows = absorbing->rows;
    const uint32_t *texts = absorbing->texts;
    for (size_t i = 0; i < from->processes.rows.count; i++) {
        struct ss_identity_row row = from->processes.rows.data[i];
        row.identity.key[0] = texts[row.identity.key[0]];
        ss_identities_add(&to->processes, &row.identity, absorbing->input,
                          rows[SS_ROWS_processes][row.id]);
    }
    for (size_t i = 0; i < from->threads.rows.count; i++) {
        struct ss_identity_row row = from->threads.rows.data[i];
        row.identity.key[0] = rows[SS_ROWS_processes][row.identity.key[0]];
        ss_identities_add(&to->threads, &row.identity, absorbing->input,
                          rows[SS_ROWS_threads][row.id]);
    }
    for (size_t i = 0; i < from->tracks.rows.count; i++) {
        struct ss_identity_row row = from->tracks.rows.data[i];
        uint64_t *key = row.identity.key;
        key[0] = map_pair(key[0], rows[SS_ROWS_processes], rows[SS_ROWS_threads]);
        key[1] = map_pair(key[1], rows[SS_ROWS_tracks], texts);
        key[3] = map_pair(key[3], rows[SS_ROWS_streams], texts);
        ss_identities_add(&to->tracks, &row.identity, absorbing->input,
                          rows[SS_ROWS_tracks][row.id]);
    }
}

static void add_index(struct absorbing *absorbing)
{
    const struct ss_model_index *from = absorbing->part->index;
    struct ss_model_index *to = absorbing->to->index;
    add_identities(absorbing);
    if (from->step_names.count > 0) {
        ss_vec_resize(&to->step_names, absorbing->to->tracks.count);
    }
    for (size_t i = 1; i < from->step_names.count; i++) {
        to->step_names.data[absorbing->rows[SS_ROWS_tracks][i]] =
            absorbing->rows[SS_ROWS_names][from->step_names.data[i]];
    }
    if (from->first_steps.count > 0) {
        ss_vec_resize(&to->first_steps, absorbing->to->processes.count);
    }
    for (size_t i = 1; i < from->first_steps.count; i++) {
        to->first_steps.data[absorbing->rows[SS_ROWS_processes][i]] = from->first_steps.data[i];
    }
    to->total_samples += from->total_samples;
}

/* Tables after those that they refer to. */
static void add_tables(struct absorbing *absorbing)
{
    add_rows(absorbing, SS_ROWS_clock_readings);
    add_hosts(absorbing);
    add_devices(absorbing);
    add_rows(absorbing, SS_ROWS_processes);
    add_rows(absorbing, SS_ROWS_contexts);
    add_rows(absorbing, SS_ROWS_streams);
    add_groups(absorbing);
    add_rows(absorbing, SS_ROWS_threads);
    add_rows(absorbing, SS_ROWS_tracks);
    add_names(absorbing);
    add_stacks(absorbing);
    add_samples(absorbing);
    add_rows(absorbing, SS_ROWS_lines);
    add_rows(absorbing, SS_ROWS_attributes);
    add_rows(absorbing, SS_ROWS_sources);
    add_counts(absorbing);
    add_rows(absorbing, SS_ROWS_notes);
    add_fields(absorbing);
    add_rows(absorbing, SS_ROWS_payloads);
    add_rows(absorbing, SS_ROWS_ranges);
    add_rows(absorbing, SS_ROWS_marks);
    add_rows(absorbing, SS_ROWS_flows);
    add_metrics(absorbing);
    add_rows(absorbing, SS_ROWS_values);
    add_line_times(absorbing);
}

bool ss_model_absorb(struct ss_model *model, const struct ss_model *part,
                     const struct ss_model_load *load)
{
    struct absorbing absorbing = {
        .to = model, .part = part, .input = (uint32_t)model->inputs.count};
    if (!can_absorb(model, part, load)) {
        return false;
    }
    map_texts(&absorbing);
    bool is_added = add_input(&absorbing);
    if (is_added) {
        add_tables(&absorbing);
        add_index(&absorbing);
        model->filtered_samples += part->filtered_samples;
        model->unmatched_ends += part->unmatched_ends;
        model->open_ranges += part->open_ranges;
    }
    free_maps(&absorbing);
    return is_added;
}
