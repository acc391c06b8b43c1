/* SPDX-License-Identifier: Apache-2.0 */
/* Categories and names of events, and which type of event a name has. */
#include <string.h>

#include "base/device_api.h"
#include "model/chrome/chrome_rows.h"
#include "model/core/torch_names.h"

static const struct {
    const char *category;
    enum ss_chrome_kind kind;
} categories[] = {
    {"cpu_op", SS_CHROME_OPERATOR},
    {"Operator", SS_CHROME_OPERATOR}, /* this and the other capitals: PyTorch before 1.11 */
    {"user_annotation", SS_CHROME_ANNOTATION},
    {"cpu_instant_event", SS_CHROME_ANNOTATION},
    {"nvtx", SS_CHROME_ANNOTATION},
    {"python_function", SS_CHROME_PYTHON},
    {"cuda_runtime", SS_CHROME_API},
    {"cuda_driver", SS_CHROME_API},
    {"cuda_api", SS_CHROME_API},
    {"xpu_runtime", SS_CHROME_API},
    {"xpu_driver", SS_CHROME_API},
    {"mtia_runtime", SS_CHROME_API},
    {"glow_runtime", SS_CHROME_API},
    {"privateuse1_runtime", SS_CHROME_API},
    {"privateuse1_driver", SS_CHROME_API},
    {"Runtime", SS_CHROME_API},
    {"kernel", SS_CHROME_KERNEL},
    {"Kernel", SS_CHROME_KERNEL},
    {"cuda", SS_CHROME_KERNEL}, /* converters of Nsight Systems' files */
    {"concurrent_kernel", SS_CHROME_KERNEL},
    {"gpu_memcpy", SS_CHROME_COPY},
    {"Memcpy", SS_CHROME_COPY},
    {"gpu_memset", SS_CHROME_MEMSET},
    {"Memset", SS_CHROME_MEMSET},
    {"gpu_user_annotation", SS_CHROME_DEVICE_ANNOTATION},
    {"nvtx-kernel", SS_CHROME_DEVICE_ANNOTATION},
    {"cuda_sync", SS_CHROME_DEVICE_SYNC},
    {"overhead", SS_CHROME_OVERHEAD},
    {"Trace", SS_CHROME_SPAN},
};

enum ss_chrome_kind ss_chrome_kind_of(struct ss_chrome_rows *rows, struct ss_json_text category)
{
    uint32_t id = ss_intern_put(&rows->categories, category.raw.data, category.raw.length);
    if (id >= rows->kinds.count) {
        ss_vec_resize(&rows->kinds, (size_t)id + 1);
    }
    uint8_t *kind = &rows->kinds.data[id];
    for (size_t i = 0; *kind == 0 && i < sizeof categories / sizeof *categories; i++) {
        if (ss_strview_equal(category.raw, ss_strview_of(categories[i].category))) {
            *kind = (uint8_t)(1 + categories[i].kind);
        }
    }
    *kind = *kind != 0 ? *kind : 1 + SS_CHROME_OTHER;
    return (enum ss_chrome_kind)(*kind - 1);
}

/* "torch/nn/modules/module.py(117): __call__" is a function of a file and its first line. */
static void set_function(struct ss_trace_name *name)
{
    struct ss_strview text = name->text;
    const char *colon = memmem(text.data, text.length, "): ", 3);
    const char *brace = colon != NULL ? memrchr(text.data, '(', (size_t)(colon - text.data)) : NULL;
    int64_t line = 0;
    if (brace == NULL || brace == text.data || text.data[0] == '<' ||
        !ss_json_decimal((struct ss_strview){brace + 1, (size_t)(colon - brace - 1)}, 0, &line) ||
        line < 0 || line > INT32_MAX) {
        return;
    }
    name->file = (struct ss_strview){text.data, (size_t)(brace - text.data)};
    name->line = (uint32_t)line;
    name->text = (struct ss_strview){colon + 3, (size_t)(text.data + text.length - colon - 3)};
}

/* XProf's calls of Python: "$module.py:117 __call__", "$builtins getattr". */
static void set_xprof_function(struct ss_trace_name *name)
{
    struct ss_strview text = {name->text.data + 1, name->text.length - 1};
    const char *blank = memchr(text.data, ' ', text.length);
    const char *colon = blank != NULL ? memrchr(text.data, ':', (size_t)(blank - text.data)) : NULL;
    int64_t line = 0;
    name->text = text;
    if (colon == NULL || colon == text.data ||
        !ss_json_decimal((struct ss_strview){colon + 1, (size_t)(blank - colon - 1)}, 0, &line) ||
        line < 0 || line > INT32_MAX) {
        return;
    }
    name->file = (struct ss_strview){text.data, (size_t)(colon - text.data)};
    name->line = (uint32_t)line;
    name->text = (struct ss_strview){blank + 1, (size_t)(text.data + text.length - blank - 1)};
}

static void set_kind(struct ss_trace_name *name, enum ss_chrome_kind kind)
{
    static const struct {
        const char *category;
        enum ss_event_type type;
    } kinds[SS_CHROME_KINDS] = {
        [SS_CHROME_OPERATOR] = {"operator", SS_EVENT_TYPE_operator},
        [SS_CHROME_ANNOTATION] = {"scope", SS_EVENT_TYPE_range},
        [SS_CHROME_API] = {"runtime", SS_EVENT_TYPE_NONE},
        [SS_CHROME_KERNEL] = {"kernel", SS_EVENT_TYPE_kernel},
        [SS_CHROME_COPY] = {"copy", SS_EVENT_TYPE_copy},
        [SS_CHROME_MEMSET] = {"memset", SS_EVENT_TYPE_memset},
        [SS_CHROME_DEVICE_ANNOTATION] = {"scope", SS_EVENT_TYPE_range},
        [SS_CHROME_DEVICE_SYNC] = {"synchronisation", SS_EVENT_TYPE_synchronisation}};
    if (kinds[kind].category != NULL) {
        name->category = ss_strview_of(kinds[kind].category);
        name->type = kinds[kind].type;
    }
    if (kind == SS_CHROME_OPERATOR && ss_torch_is_backward(name->text)) {
        name->category = ss_strview_of("backward");
    } else if (kind == SS_CHROME_OTHER && ss_strview_equal(name->text, ss_strview_of("[memory]"))) {
        name->type = SS_EVENT_TYPE_allocation;
    } else if (kind == SS_CHROME_API) {
        name->type = ss_device_call_type(name->text);
    } else if (kind == SS_CHROME_PYTHON) {
        name->category = ss_strview_of("");
        if (name->text.length > 1 && name->text.data[0] == '$') {
            set_xprof_function(name);
        } else {
            set_function(name);
        }
    }
}

uint32_t ss_chrome_name(struct ss_chrome_rows *rows, enum ss_chrome_kind kind,
                        struct ss_json_text name, struct ss_json_text category)
{
    uint32_t text = ss_intern_put(&rows->texts, name.raw.data, name.raw.length);
    if (kind == SS_CHROME_OTHER) { /* names of other categories differ by these */
        struct {
            uint32_t text, category;
        } pair = {text, ss_intern_put(&rows->categories, category.raw.data, category.raw.length)};
        text = ss_intern_put(&rows->keys, (const char *)&pair, sizeof pair);
    }
    if (text >= rows->names[kind].count) {
        ss_vec_resize(&rows->names[kind], (size_t)text + 1);
    }
    uint32_t *known = &rows->names[kind].data[text];
    if (*known == 0) {
        struct ss_trace_name row = {.text = ss_chrome_unescaped(rows, name),
                                    .category = category.raw};
        set_kind(&row, kind);
        *known = ss_model_builder_name(rows->builder, &row);
    }
    return *known;
}
