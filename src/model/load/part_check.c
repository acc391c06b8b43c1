/* SPDX-License-Identifier: Apache-2.0 */
#include "model/load/part_check.h"

#include "model/core/index.h"
#include "model/core/rows.h"
#include "trace/event_fields.h"

static bool is_member_valid(const struct ss_model *part, const size_t *counts,
                            const struct ss_member *member, const char *row)
{
    uint64_t texts = part->strings.count;
    uint64_t number =
        member->kind != SS_MEMBER_CHARS ? ss_member_number(row, member->offset, member->size) : 0;
    switch (member->kind) {
    case SS_MEMBER_TEXT:
        return number < texts;
    case SS_MEMBER_REF:
        return number < counts[member->of];
    case SS_MEMBER_FLAG:
        return number <= 1;
    case SS_MEMBER_ENUM:
        return number < member->of;
    case SS_MEMBER_VALUE:
        return ss_member_number(row, member->of, member->type_size) != SS_VALUE_TEXT ||
               (uint32_t)number < texts;
    case SS_MEMBER_CHARS:
        return row[member->offset + member->size - 1] == '\0';
    default:
        return true;
    }
}

static bool are_members_valid(const struct ss_model *part)
{
    size_t counts[SS_ROWS_COUNT];
    for (enum ss_rows_id id = 0; id < SS_ROWS_COUNT; id++) {
        counts[id] = ss_rows_get(part, id).count;
    }
    for (enum ss_rows_id id = 0; id < SS_ROWS_COUNT; id++) {
        const struct ss_rows *rows = &ss_rows[id];
        const char *row = ss_rows_get(part, id).data;
        for (size_t i = 0; i < counts[id]; i++, row += rows->row_bytes) {
            for (size_t m = 0; m < rows->member_count; m++) {
                if (!is_member_valid(part, counts, &rows->members[m], row)) {
                    return false;
                }
            }
        }
    }
    return true;
}

/* Rows of trees come after their parents; processes and tracks may come in any order. */
static bool are_trees(const struct ss_model *part)
{
    for (uint32_t i = 1; i < part->stacks.count; i++) {
        if (part->stacks.data[i].parent >= i) {
            return false;
        }
    }
    for (uint32_t i = 1; i < part->paths.count; i++) {
        if (part->paths.data[i].parent >= i) {
            return false;
        }
    }
    return true;
}

/* Of processes or tracks; `parent` is read at an offset of rows of `size` bytes. A walk marks what
 * it passes, so that all walks together are linear. */
static bool is_acyclic(const void *rows, size_t count, size_t size, size_t parent_offset)
{
    uint32_t *walks = ss_alloc_zero(count + 1, sizeof *walks);
    bool is_good = true;
    for (uint32_t i = 1; i < count && is_good; i++) {
        uint32_t at = i;
        while (at != 0 && walks[at] == 0) {
            walks[at] = i;
            at = (uint32_t)ss_member_number((const char *)rows + at * size, (uint32_t)parent_offset,
                                            sizeof at);
        }
        is_good = at == 0 || walks[at] != i;
    }
    ss_free(walks);
    return is_good;
}

static bool are_fields_valid(const struct ss_model *part)
{
    const size_t counts[SS_SCHEMA_COUNT] = {[SS_SCHEMA_device] = part->devices.count,
                                            [SS_SCHEMA_context] = part->contexts.count,
                                            [SS_SCHEMA_stream] = part->streams.count,
                                            [SS_SCHEMA_group] = part->groups.count};
    size_t length = 0;
    for (size_t i = 1; i < part->fields.count; i++) {
        const struct ss_model_field *field = &part->fields.data[i];
        enum ss_schema_id entity = ss_event_fields[field->field].entity;
        length = field->field != 0 ? length + 1 : 0;
        bool is_ref = field->field != 0 && entity != SS_SCHEMA_COUNT;
        if (length > SS_MAX_EVENT_FIELDS ||
            (is_ref && (field->type != SS_VALUE_UINT || field->natural >= counts[entity]))) {
            return false;
        }
    }
    return length == 0 && part->fields.data[0].field == 0;
}

static bool are_details_valid(const struct ss_model *part)
{
    for (size_t i = 0; i < part->groups.count; i++) {
        const struct ss_model_group *group = &part->groups.data[i];
        if ((uint64_t)group->first_run + group->run_count > part->rank_runs.count) {
            return false;
        }
    }
    for (size_t i = 0; i < part->metrics.count; i++) {
        if (part->metrics.data[i].is_text && part->metrics.data[i].text >= part->strings.count) {
            return false;
        }
    }
    for (size_t i = 0; i < part->ranges.count; i++) {
        if (part->ranges.data[i].begin_ns > part->ranges.data[i].end_ns) {
            return false;
        }
    }
    return true;
}

static bool is_pair_valid(uint64_t pair, size_t high, size_t low)
{
    return pair >> 32 < high && (uint32_t)pair < low;
}

static bool are_identities_valid(const struct ss_model *part)
{
    const struct ss_model_index *index = part->index;
    size_t texts = part->strings.count;
    bool is_valid = true;
    for (size_t i = 0; i < index->processes.rows.count; i++) {
        const struct ss_identity_row *row = &index->processes.rows.data[i];
        is_valid = is_valid && row->identity.key[0] < texts && row->id < part->processes.count;
    }
    for (size_t i = 0; i < index->threads.rows.count; i++) {
        const struct ss_identity_row *row = &index->threads.rows.data[i];
        is_valid = is_valid && row->identity.key[0] < part->processes.count &&
                   row->id < part->threads.count;
    }
    for (size_t i = 0; i < index->tracks.rows.count; i++) {
        const struct ss_identity_row *row = &index->tracks.rows.data[i];
        const uint64_t *key = row->identity.key;
        is_valid = is_valid && is_pair_valid(key[0], part->processes.count, part->threads.count) &&
                   is_pair_valid(key[1], part->tracks.count, texts) &&
                   is_pair_valid(key[3], part->streams.count, texts) &&
                   row->id < part->tracks.count;
    }
    for (size_t i = 0; i < index->names.rows.count; i++) {
        is_valid = is_valid && index->names.rows.data[i].id < part->names.count;
    }
    for (size_t i = 0; i < index->step_names.count; i++) {
        is_valid = is_valid && index->step_names.data[i] < part->names.count;
    }
    return is_valid && index->step_names.count <= part->tracks.count &&
           index->first_steps.count <= part->processes.count;
}

const char *ss_part_check(const struct ss_model *part)
{
    if (part->inputs.count != 1 || !are_members_valid(part)) {
        return "a row refers to one that is not there";
    }
    if (!are_trees(part) ||
        !is_acyclic(part->processes.data, part->processes.count, sizeof *part->processes.data,
                    offsetof(struct ss_model_process, parent)) ||
        !is_acyclic(part->tracks.data, part->tracks.count, sizeof *part->tracks.data,
                    offsetof(struct ss_model_track, parent))) {
        return "a row is its own ancestor";
    }
    if (!are_fields_valid(part) || !are_details_valid(part)) {
        return "a value is none of its type";
    }
    return are_identities_valid(part) ? NULL : "an identity has no row";
}
