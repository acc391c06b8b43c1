/* SPDX-License-Identifier: Apache-2.0 */
#include "base/intern.h"
#include "trace/encode_tracks.h"
#include "trace/profile.h"
#include "trace/writer_state.h"
#include "trace/writer_tracks.h"

enum { MAX_NAME_REF = 1 << 24 };

static uint32_t intern_string(struct ss_trace_writer *writer, struct ss_strview text)
{
    size_t length = text.length < SS_MAX_TEXT_BYTES ? text.length : SS_MAX_TEXT_BYTES;
    return length > 0 ? ss_intern_put(&writer->definitions.strings, text.data, length) : 0;
}

enum ss_status ss_trace_writer_name(struct ss_trace_writer *writer,
                                    const struct ss_trace_name *name, struct ss_error *err)
{
    SS_TRY(ss_writer_failed(writer, err));
    if (name->ref == 0 || name->ref > MAX_NAME_REF) {
        return ss_fail(err, SS_E_BUG, "name %u is out of range", name->ref);
    }
    if (name->ref >= writer->names.count) {
        ss_vec_resize(&writer->names, (size_t)name->ref + 1);
    }
    writer->names.data[name->ref] =
        (struct ss_writer_name){.text = intern_string(writer, name->text),
                                .category = intern_string(writer, name->category),
                                .colour = name->colour,
                                .file = intern_string(writer, name->file),
                                .line = name->line,
                                .known = true};
    return SS_OK;
}

static uint32_t use_category(struct ss_trace_writer *writer, struct ss_name_scope *scope,
                             uint32_t string)
{
    uint32_t period = writer->definitions.period;
    if (string >= writer->category_iids.count) {
        ss_vec_resize(&writer->category_iids, (size_t)string + 1);
    }
    struct ss_period_iid *entry = &writer->category_iids.data[string];
    if (entry->period != period) {
        *entry = (struct ss_period_iid){writer->next_name_iid++, period};
    }
    if (ss_iid_set_add(scope->categories, period, entry->iid)) {
        ss_encode_event_category(scope->interned,
                                 ss_intern_get(&writer->definitions.strings, string), entry->iid);
    }
    return entry->iid;
}

uint32_t ss_writer_use_name(struct ss_trace_writer *writer, struct ss_name_scope *scope,
                            uint32_t ref, uint32_t *category_iid)
{
    *category_iid = 0;
    if (ref == 0 || ref >= writer->names.count || !writer->names.data[ref].known) {
        return 0;
    }
    struct ss_writer_name *name = &writer->names.data[ref];
    uint32_t period = writer->definitions.period;
    if (name->iid.period != period) {
        name->iid = (struct ss_period_iid){writer->next_name_iid++, period};
    }
    if (name->category != 0) {
        *category_iid = use_category(writer, scope, name->category);
    }
    if (ss_iid_set_add(scope->names, period, name->iid.iid)) {
        const struct ss_intern *strings = &writer->definitions.strings;
        struct ss_trace_name record = {.text = ss_intern_get(strings, name->text),
                                       .category = ss_intern_get(strings, name->category),
                                       .colour = name->colour,
                                       .file = ss_intern_get(strings, name->file),
                                       .line = name->line};
        ss_encode_event_name(scope->interned, scope->extras, &record, name->iid.iid);
    }
    return name->iid.iid;
}

struct ss_name_scope ss_writer_main_scope(struct ss_trace_writer *writer)
{
    return (struct ss_name_scope){&writer->main_names, &writer->main_categories,
                                  &writer->definitions.interned, &writer->definitions.extras};
}

uint32_t ss_writer_use_main_name(struct ss_trace_writer *writer, uint32_t ref)
{
    if (ref == 0) {
        return 0;
    }
    struct ss_name_scope scope = ss_writer_main_scope(writer);
    uint32_t category_iid;
    return ss_writer_use_name(writer, &scope, ref, &category_iid);
}
