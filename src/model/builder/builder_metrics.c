/* SPDX-License-Identifier: Apache-2.0 */
/* What hardware counters measured of an event of a recording: a JSON object of lists,
 * {"dram__bytes_read.sum": [4096, "byte"], …}. Input is hostile: what is not of this form is left
 * out. */
#include "model/builder/builder_state.h"
#include "wire/json_scan.h"

enum { MOST_METRICS = 1024, MOST_NAME_BYTES = 512 };

/* Names and units of ours have no escapes. */
static bool read_text(struct ss_json_cursor *cursor, struct ss_strview *text)
{
    struct ss_json_text read;
    if (ss_json_peek(cursor) != SS_JSON_STRING ||
        ss_json_read_string(cursor, &read) != SS_JSON_OK || read.has_escapes ||
        read.raw.length > MOST_NAME_BYTES) {
        return false;
    }
    *text = read.raw;
    return true;
}

/* [VALUE, "UNIT"] */
static bool read_value(struct ss_strview list, double *value, struct ss_strview *unit)
{
    struct ss_json_cursor cursor = {list.data, list.data + list.length};
    struct ss_strview token;
    if (ss_json_peek(&cursor) != SS_JSON_ARRAY) {
        return false;
    }
    cursor.at++;
    return ss_json_peek(&cursor) == SS_JSON_NUMBER &&
           ss_json_read_token(&cursor, &token) == SS_JSON_OK && ss_json_real(token, value) &&
           read_text(&cursor, unit);
}

void ss_model_builder_own_metrics(struct ss_model_builder *builder, uint32_t payload,
                                  struct ss_strview text)
{
    struct ss_json_cursor cursor = {text.data, text.data + text.length};
    struct ss_json_text name;
    struct ss_strview list;
    if (ss_json_peek(&cursor) != SS_JSON_OBJECT) {
        return;
    }
    cursor.at++;
    for (int i = 0; i < MOST_METRICS && ss_json_next_member(&cursor, &name, &list); i++) {
        struct ss_builder_metric_kind kind = {.name = name.raw};
        struct ss_model_metric row = {.payload = payload};
        if (!name.has_escapes && name.raw.length > 0 && name.raw.length <= MOST_NAME_BYTES &&
            read_value(list, &row.real, &kind.unit)) {
            row.kind = ss_model_builder_metric_kind(builder, &kind);
            ss_vec_push(&builder->model->metrics, row);
        }
    }
}
