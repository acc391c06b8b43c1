/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What both recordings state of their environment, where it differs: attributes of recordings,
 * facts of processes, interpreters and devices. Several values of one key, those of several
 * processes, are one set.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diff/diff_parts.h"
#include "analysis/selection/program_facts.h"
#include "base/alloc.h"
#include "base/shared_names.h"
#include "base/strbuf.h"

/* More is not an environment of a program. */
enum { MOST_SETTINGS = 256, MOST_VALUES = 8, MAX_VALUE_BYTES = 1 << 12 };

/* --- what always differs ---------------------------------------------------------------------- */

/* No settings: they name the recording, or are measured. */
static const char *const own_of_recording[] = {"start_realtime_ns",
                                               "boot_id",
                                               "time_namespace",
                                               "window",
                                               "window_pid",
                                               "window_epoch",
                                               "window_first_step",
                                               "rank",
                                               ss_fact_torch_operator_ns,
                                               ss_fact_torch_hooks_ns,
                                               ss_fact_torch_hooks_ppm,
                                               ss_fact_torch_rank,
                                               ss_fact_loader_worker};

/* Measured, and worth reading where it differs by more than this. */
static const struct {
    const char *key;
    double tolerance;
} measured[] = {{ss_fact_cpu_mhz, 0.1}};

static bool is_own(struct ss_strview key)
{
    for (size_t i = 0; i < sizeof own_of_recording / sizeof *own_of_recording; i++) {
        if (ss_strview_equal(key, ss_strview_of(own_of_recording[i]))) {
            return true;
        }
    }
    return false;
}

/* --- settings --------------------------------------------------------------------------------- */

struct setting {
    struct ss_strview key;
    struct ss_strview values[SS_SIDES][MOST_VALUES]; /* sorted, each once */
    size_t counts[SS_SIDES];
};

struct environment {
    struct ss_arena *arena;
    struct ss_vec_of(struct setting) settings;
};

static int compare_texts(struct ss_strview a, struct ss_strview b)
{
    int order = memcmp(a.data, b.data, a.length < b.length ? a.length : b.length);
    return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

/* NULL: there are too many. */
static struct setting *setting_of(struct environment *environment, struct ss_strview key)
{
    for (size_t i = 0; i < environment->settings.count; i++) {
        if (ss_strview_equal(environment->settings.data[i].key, key)) {
            return &environment->settings.data[i];
        }
    }
    if (environment->settings.count == MOST_SETTINGS) {
        return NULL;
    }
    const char *copy = ss_arena_strndup(environment->arena, key.data, key.length);
    ss_vec_push(&environment->settings, (struct setting){.key = {copy, key.length}});
    return &environment->settings.data[environment->settings.count - 1];
}

static void add_value(struct environment *environment, int side, struct ss_strview key,
                      struct ss_strview value)
{
    /* What has lines is a description of more than a setting, such as all that a driver knows. */
    bool is_setting = value.length > 0 && memchr(value.data, '\n', value.length) == NULL;
    bool is_compared = is_setting && !is_own(key);
    struct setting *setting = is_compared ? setting_of(environment, key) : NULL;
    if (setting == NULL) {
        return;
    }
    struct ss_strview *values = setting->values[side];
    size_t at = 0, count = setting->counts[side];
    while (at < count && compare_texts(values[at], value) < 0) {
        at++;
    }
    bool is_known = at < count && ss_strview_equal(values[at], value);
    if (is_known || count == MOST_VALUES) {
        return;
    }
    const char *copy = ss_arena_strndup(environment->arena, value.data, value.length);
    memmove(&values[at + 1], &values[at], (count - at) * sizeof *values);
    values[at] = (struct ss_strview){copy, value.length};
    setting->counts[side]++;
}

static void add_number(struct environment *environment, int side, const char *key, int64_t number)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MAX_VALUE_BYTES);
    ss_strbuf_append_format(&text, "%lld", (long long)number);
    add_value(environment, side, ss_strview_of(key), ss_strview_of(text.data));
    ss_strbuf_fini(&text);
}

static void add_attributes(struct environment *environment, int side, const struct ss_model *model)
{
    for (size_t i = 0; i < model->attributes.count; i++) {
        const struct ss_model_attribute *attribute = &model->attributes.data[i];
        if (attribute->is_integer) {
            add_number(environment, side, ss_model_text(model, attribute->key), attribute->integer);
        } else {
            add_value(environment, side, ss_intern_get(&model->strings, attribute->key),
                      ss_intern_get(&model->strings, attribute->text));
        }
    }
}

static void add_facts(struct environment *environment, int side,
                      const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    for (size_t i = 0; i < model->notes.count; i++) {
        const struct ss_model_note *note = &model->notes.data[i];
        struct ss_strview value = ss_program_fact_text(model, note);
        const char *text = ss_model_text(model, note->text);
        if (value.length == 0 || !selection->processes[note->process] ||
            strcmp(ss_model_text(model, note->kind), "fact") != 0) {
            continue;
        }
        size_t key = (size_t)(value.data - text) - strlen(" = ");
        add_value(environment, side, (struct ss_strview){text, key}, value);
    }
}

static void add_machines(struct environment *environment, int index,
                         const struct ss_diff_side *side)
{
    const struct ss_selection *selection = side->report.selection;
    const struct ss_model *model = selection->model;
    for (size_t i = 1; i < model->processes.count; i++) {
        if (selection->processes[i]) {
            add_value(environment, index, ss_strview_of("runtime"),
                      ss_intern_get(&model->strings, model->processes.data[i].runtime));
        }
    }
    for (size_t i = 1; i < model->devices.count; i++) {
        add_value(environment, index, ss_strview_of("device"),
                  ss_intern_get(&model->strings, model->devices.data[i].model));
    }
    if (side->report.training.processes > 0) {
        add_number(environment, index, "training processes",
                   (int64_t)side->report.training.processes);
    }
}

/* --- differences ------------------------------------------------------------------------------ */

/* Whether both are numbers that differ by no more than a measurement does. */
static bool is_within_tolerance(const struct setting *setting)
{
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        if (ss_strview_equal(setting->key, ss_strview_of(measured[i].key)) &&
            setting->counts[SS_SIDE_A] > 0 && setting->counts[SS_SIDE_B] > 0) {
            double a = strtod(setting->values[SS_SIDE_A][0].data, NULL);
            double b = strtod(setting->values[SS_SIDE_B][0].data, NULL);
            return fabs(a - b) <= measured[i].tolerance * fmax(fabs(a), fabs(b));
        }
    }
    return false;
}

static bool differs(const struct setting *setting)
{
    bool is_equal = setting->counts[SS_SIDE_A] == setting->counts[SS_SIDE_B];
    for (size_t i = 0; i < setting->counts[SS_SIDE_A] && is_equal; i++) {
        is_equal = ss_strview_equal(setting->values[SS_SIDE_A][i], setting->values[SS_SIDE_B][i]);
    }
    return !is_equal && !is_within_tolerance(setting);
}

static struct ss_cell values_cell(const struct setting *setting, int side, struct ss_arena *arena)
{
    struct ss_strbuf text;
    ss_strbuf_init(&text, MOST_VALUES * MAX_VALUE_BYTES);
    for (size_t i = 0; i < setting->counts[side]; i++) {
        ss_strbuf_append_text(&text, i > 0 ? ", " : "");
        ss_strbuf_append_view(&text, setting->values[side][i]);
    }
    struct ss_cell cell = {0};
    if (text.length > 0) {
        const char *copy = ss_arena_strndup(arena, text.data, text.length);
        cell = ss_cell_text((struct ss_strview){copy, text.length});
    }
    ss_strbuf_fini(&text);
    return cell;
}

static const struct ss_column columns[] = {{.key = "setting"}, {.key = "a"}, {.key = "b"}};

void ss_diff_add_environment(const struct ss_diff *diff, struct ss_document *document)
{
    struct environment environment = {.arena = &document->arena};
    struct ss_table table = {.name = "environment",
                             .title = "What differs in command, versions, hardware and settings",
                             .columns = columns,
                             .column_count = sizeof columns / sizeof *columns};
    for (int i = 0; i < SS_SIDES; i++) {
        const struct ss_selection *selection = diff->sides[i].report.selection;
        add_attributes(&environment, i, selection->model);
        add_machines(&environment, i, &diff->sides[i]);
        add_facts(&environment, i, selection);
    }
    for (size_t i = 0; i < environment.settings.count; i++) {
        const struct setting *setting = &environment.settings.data[i];
        if (differs(setting)) {
            struct ss_cell *cells = ss_table_add_row(&table);
            cells[0] = ss_cell_text(setting->key);
            cells[1] = values_cell(setting, SS_SIDE_A, &table.texts);
            cells[2] = values_cell(setting, SS_SIDE_B, &table.texts);
        }
    }
    ss_vec_fini(&environment.settings);
    struct ss_block *block = ss_document_add(document, SS_BLOCK_TABLE);
    block->table.title = table.title;
    block->table.data = table;
    if (table.row_count == 0) {
        ss_sentence_add(ss_document_add_note(document, SS_NOTE_ASIDE),
                        "nothing of what was recorded of them");
    }
}
