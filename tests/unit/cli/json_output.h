/* SPDX-License-Identifier: Apache-2.0 */
/* JSON that a command has printed: strict, and values by their path ("tables.0.rows.2.name"). */
#ifndef SS_TEST_JSON_OUTPUT_H
#define SS_TEST_JSON_OUTPUT_H

#include <jansson.h>

#include "command_line.h"

static inline json_t *parse_json(const char *text)
{
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL) {
        fail_msg("line %d: %s:\n%s", error.line, error.text, text);
    }
    return root;
}

static inline const json_t *json_at(const json_t *node, const char *path)
{
    char key[64];
    for (const char *at = path; *at != '\0';) {
        size_t length = strcspn(at, ".");
        snprintf(key, sizeof key, "%.*s", (int)length, at);
        node = json_is_array(node) ? json_array_get(node, (size_t)atoi(key))
                                   : json_object_get(node, key);
        if (node == NULL) {
            fail_msg("nothing at %s of %s", key, path);
        }
        at += length + (at[length] == '.');
    }
    return node;
}

static inline long long json_integer_at(const json_t *node, const char *path)
{
    const json_t *found = json_at(node, path);
    assert_true(json_is_integer(found));
    return json_integer_value(found);
}

static inline double json_number_at(const json_t *node, const char *path)
{
    const json_t *found = json_at(node, path);
    assert_true(json_is_number(found));
    return json_number_value(found);
}

static inline const char *json_text_at(const json_t *node, const char *path)
{
    const json_t *found = json_at(node, path);
    assert_true(json_is_string(found));
    return json_string_value(found);
}

static inline size_t json_count_at(const json_t *node, const char *path)
{
    const json_t *found = json_at(node, path);
    assert_true(json_is_array(found) || json_is_object(found));
    return json_is_array(found) ? json_array_size(found) : json_object_size(found);
}

#endif
