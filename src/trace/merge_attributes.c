/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/merge_inside.h"

/* "merged_parts.0", …: identities as 16 hexadecimal digits each, below the limit of a text. */
static const char identities_key[] = "merged_parts.";
static const char count_key[] = "merged_files", error_key[] = "merged_clock_error_ns";
enum { IDENTITY_DIGITS = 16, IDENTITIES_A_TEXT = 512 };

static struct ss_strview interned(struct ss_merge *merge, struct ss_strview text)
{
    return ss_intern_get(&merge->strings, ss_intern_put(&merge->strings, text.data, text.length));
}

static bool begins(struct ss_strview key, const char *with)
{
    return key.length >= strlen(with) && memcmp(key.data, with, strlen(with)) == 0;
}

static struct ss_trace_attribute *find(struct ss_merge_attributes *attributes,
                                       struct ss_strview key)
{
    for (size_t i = 0; i < attributes->count; i++) {
        if (ss_strview_equal(attributes->data[i].key, key)) {
            return &attributes->data[i];
        }
    }
    return NULL;
}

static void read_identities(struct ss_merge_input *input, struct ss_strview text)
{
    for (size_t at = 0; at + IDENTITY_DIGITS <= text.length; at += IDENTITY_DIGITS) {
        char digits[IDENTITY_DIGITS + 1];
        memcpy(digits, text.data + at, IDENTITY_DIGITS);
        digits[IDENTITY_DIGITS] = '\0';
        uint64_t identity = strtoull(digits, NULL, 16);
        bool is_known = false;
        for (size_t i = 0; i < input->merged.count && !is_known; i++) {
            is_known = input->merged.data[i] == identity;
        }
        if (!is_known && input->merged.count < SS_MERGE_MOST_PARTS) {
            ss_vec_push(&input->merged, identity);
        }
    }
}

enum ss_status ss_merge_on_attribute(void *context, const struct ss_trace_attribute *attribute)
{
    struct ss_merge_input *input = context;
    if (begins(attribute->key, "merged_")) {
        if (begins(attribute->key, identities_key)) {
            read_identities(input, attribute->text);
        }
        return SS_OK;
    }
    struct ss_trace_attribute copy = *attribute;
    copy.key = interned(input->merge, attribute->key);
    copy.text = interned(input->merge, attribute->text);
    struct ss_trace_attribute *known = find(&input->attributes, copy.key);
    if (known != NULL) {
        *known = copy;
    } else {
        ss_vec_push(&input->attributes, copy);
    }
    if (ss_strview_equal(copy.key, ss_strview_of("boot_id"))) {
        input->boot = copy.text;
    } else if (ss_strview_equal(copy.key, ss_strview_of("hostname"))) {
        input->host = copy.text;
    } else if (ss_strview_equal(copy.key, ss_strview_of("rank")) && copy.is_integer) {
        char rank[32];
        snprintf(rank, sizeof rank, "%" PRId64, copy.integer);
        input->rank = interned(input->merge, ss_strview_of(rank));
    }
    input->is_window = input->is_window || ss_strview_equal(copy.key, ss_strview_of("window"));
    return SS_OK;
}

static bool is_same(const struct ss_trace_attribute *a, const struct ss_trace_attribute *b)
{
    return a->is_integer == b->is_integer &&
           (a->is_integer ? a->integer == b->integer : ss_strview_equal(a->text, b->text));
}

static bool is_common(struct ss_merge *merge, const struct ss_trace_attribute *attribute)
{
    static const char *const of_axis[] = {"boot_id", "time_namespace"};
    for (size_t i = 0; i < sizeof of_axis / sizeof *of_axis; i++) {
        if (ss_strview_equal(attribute->key, ss_strview_of(of_axis[i]))) {
            return true;
        }
    }
    for (size_t i = 1; i < merge->inputs.count; i++) {
        const struct ss_trace_attribute *other =
            find(&merge->inputs.data[i].attributes, attribute->key);
        if (other == NULL || !is_same(attribute, other)) {
            return false;
        }
    }
    return true;
}

enum ss_status ss_merge_put_attributes(struct ss_merge *merge, struct ss_error *err)
{
    const struct ss_merge_attributes *first = &merge->inputs.data[0].attributes;
    for (size_t i = 0; i < first->count; i++) {
        const struct ss_trace_attribute *attribute = &first->data[i];
        const struct ss_trace_attribute *written = find(&merge->written, attribute->key);
        if ((written == NULL || !is_same(written, attribute)) && is_common(merge, attribute)) {
            SS_TRY(ss_trace_writer_attribute(merge->writer, attribute, err));
            ss_vec_push(&merge->written, *attribute);
        }
    }
    return SS_OK;
}

static enum ss_status put_number(struct ss_merge *merge, const char *key, uint64_t number,
                                 struct ss_error *err)
{
    const struct ss_trace_attribute attribute = {
        .key = ss_strview_of(key), .is_integer = true, .integer = (int64_t)number};
    return ss_trace_writer_attribute(merge->writer, &attribute, err);
}

enum ss_status ss_merge_put_identities(struct ss_merge *merge, struct ss_error *err)
{
    for (size_t at = 0; at < merge->identities.count; at += IDENTITIES_A_TEXT) {
        char text[IDENTITIES_A_TEXT * IDENTITY_DIGITS + 1], key[64];
        size_t count = 0;
        for (; count < IDENTITIES_A_TEXT && at + count < merge->identities.count; count++) {
            snprintf(text + count * IDENTITY_DIGITS, IDENTITY_DIGITS + 1, "%016" PRIx64,
                     merge->identities.data[at + count]);
        }
        snprintf(key, sizeof key, "%s%zu", identities_key, at / IDENTITIES_A_TEXT);
        const struct ss_trace_attribute attribute = {.key = ss_strview_of(key),
                                                     .text = {text, count * IDENTITY_DIGITS}};
        SS_TRY(ss_trace_writer_attribute(merge->writer, &attribute, err));
    }
    SS_TRY(put_number(merge, count_key, merge->identities.count, err));
    return merge->options->clock_error_ns > 0
               ? put_number(merge, error_key, merge->options->clock_error_ns, err)
               : SS_OK;
}
