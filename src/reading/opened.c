/* SPDX-License-Identifier: Apache-2.0 */
#include "reading/opened.h"

#include <pthread.h>

#include "analysis/report/report.h"
#include "analysis/tables/overview.h"
#include "base/alloc.h"
#include "reading/source_text.h"

/* --- models ----------------------------------------------------------------------------------- */

enum { KEPT_MODELS = 3 };

struct ss_opened_model {
    unsigned references;
    struct ss_model_load load; /* that it was loaded for */
    struct ss_model model;     /* immutable */
};

struct ss_opened {
    char **paths;
    size_t path_count;
    uint64_t max_memory_bytes;                   /* 0: the limits of the formats */
    pthread_mutex_t mutex;                       /* of the next; locked while a model is loaded */
    struct ss_opened_model *models[KEPT_MODELS]; /* the last one used first; NULL: none */
};

static struct ss_opened_model *share_model(struct ss_opened_model *model)
{
    /* Relaxed: the caller has a reference, or the lock of one that has. */
    __atomic_fetch_add(&model->references, 1, __ATOMIC_RELAXED);
    return model;
}

static void release_model(struct ss_opened_model *model)
{
    /* Each release publishes what its owner read; the last one acquires that before it frees. */
    if (model != NULL && __atomic_sub_fetch(&model->references, 1, __ATOMIC_ACQ_REL) == 0) {
        ss_model_fini(&model->model);
        ss_free(model);
    }
}

/* Whether a model that was loaded for `a` is the one that `b` asks for. */
static bool is_same_load(const struct ss_model_load *a, const struct ss_model_load *b)
{
    return a->keep_samples == b->keep_samples && a->keep_lines == b->keep_lines &&
           a->no_tracks == b->no_tracks && a->only_tracks == b->only_tracks &&
           a->sample_phases == b->sample_phases && a->sample_ranges == b->sample_ranges &&
           a->strict == b->strict && a->has_steps == b->has_steps &&
           a->first_step == b->first_step && a->last_step == b->last_step &&
           a->has_time_range == b->has_time_range && a->on_axis == b->on_axis &&
           a->from_ns == b->from_ns && a->to_ns == b->to_ns && a->max_samples == b->max_samples &&
           a->max_operators == b->max_operators;
}

/* Moves the model at `at` to the front. */
static void use_first(struct ss_opened *opened, size_t at)
{
    struct ss_opened_model *used = opened->models[at];
    memmove(&opened->models[1], &opened->models[0], at * sizeof *opened->models);
    opened->models[0] = used;
}

static enum ss_status load_model(struct ss_opened *opened, const struct ss_model_load *load,
                                 struct ss_error *err)
{
    struct ss_opened_model *made = ss_alloc_zero(1, sizeof *made);
    made->references = 1;
    made->load = *load;
    ss_model_init(&made->model);
    struct ss_model_load limited = *load;
    limited.max_memory_bytes = opened->max_memory_bytes;
    enum ss_status status = ss_model_add_inputs(&made->model, (const char *const *)opened->paths,
                                                opened->path_count, &limited, err);
    if (status != SS_OK) {
        release_model(made);
        return status;
    }
    release_model(opened->models[KEPT_MODELS - 1]);
    opened->models[KEPT_MODELS - 1] = made;
    use_first(opened, KEPT_MODELS - 1);
    return SS_OK;
}

/* The model for this load; *model is the caller's reference. */
static enum ss_status get_model(struct ss_opened *opened, const struct ss_model_load *load,
                                struct ss_opened_model **model, struct ss_error *err)
{
    enum ss_status status = SS_OK;
    size_t at = 0;
    pthread_mutex_lock(&opened->mutex);
    while (at < KEPT_MODELS &&
           (opened->models[at] == NULL || !is_same_load(&opened->models[at]->load, load))) {
        at++;
    }
    if (at < KEPT_MODELS) {
        use_first(opened, at);
    } else {
        status = load_model(opened, load, err);
    }
    *model = status == SS_OK ? share_model(opened->models[0]) : NULL;
    pthread_mutex_unlock(&opened->mutex);
    return status;
}

struct ss_opened *ss_opened_new(const char *const *paths, size_t count, uint64_t max_memory_bytes)
{
    struct ss_opened *opened = ss_alloc_zero(1, sizeof *opened);
    opened->paths = ss_alloc_zero(count, sizeof *opened->paths);
    opened->path_count = count;
    opened->max_memory_bytes = max_memory_bytes;
    for (size_t i = 0; i < count; i++) {
        opened->paths[i] = ss_strdup(paths[i]);
    }
    pthread_mutex_init(&opened->mutex, NULL);
    return opened;
}

void ss_opened_free(struct ss_opened *opened)
{
    if (opened == NULL) {
        return;
    }
    for (size_t i = 0; i < KEPT_MODELS; i++) {
        release_model(opened->models[i]);
    }
    for (size_t i = 0; i < opened->path_count; i++) {
        ss_free(opened->paths[i]);
    }
    ss_free(opened->paths);
    pthread_mutex_destroy(&opened->mutex);
    ss_free(opened);
}

/* --- tables ----------------------------------------------------------------------------------- */

static struct ss_strview source_line(void *context, struct ss_strview path, uint32_t line)
{
    return ss_source_text_line(context, path, line);
}

static void compose(const struct ss_selection *selection, struct ss_query_plan *plan,
                    struct ss_opened_report *report)
{
    struct ss_report_options options = {.kind = plan->kind, .table = &plan->table};
    report->source = ss_source_text_new();
    plan->table.source = (struct ss_source_lines){.line = source_line, .context = report->source};
    ss_document_init(&report->document);
    ss_report_compose(selection, &options, &report->document);
}

/* The model of the plan. An overview follows what the model holds. */
static enum ss_status get_model_of_tables(struct ss_opened *opened, struct ss_query_plan *plan,
                                          struct ss_opened_model **model, struct ss_error *err)
{
    SS_TRY(get_model(opened, &plan->load, model, err));
    if (plan->kind == &ss_overview && ss_overview_of(&(*model)->model) != plan->kind) {
        ss_query_plan_change(plan, ss_overview_of(&(*model)->model));
        release_model(*model);
        return get_model(opened, &plan->load, model, err);
    }
    return SS_OK;
}

enum ss_status ss_opened_tables(struct ss_opened *opened, const struct ss_query *query,
                                struct ss_opened_report *report, struct ss_error *err)
{
    struct ss_query_plan plan;
    struct ss_selection selection;
    SS_TRY(ss_query_plan_tables(query, &plan, err));
    SS_TRY(get_model_of_tables(opened, &plan, &report->model, err));
    enum ss_status status =
        ss_selection_init(&selection, &report->model->model, &plan.selection, err);
    if (status == SS_OK) {
        compose(&selection, &plan, report);
    } else {
        release_model(report->model);
    }
    ss_selection_fini(&selection);
    return status;
}

void ss_opened_report_fini(struct ss_opened_report *report)
{
    ss_document_fini(&report->document);
    ss_source_text_free(report->source);
    release_model(report->model);
}

enum ss_status ss_opened_contents(struct ss_opened *opened, const struct ss_query *query,
                                  const char *id, struct ss_columns **columns, struct ss_error *err)
{
    struct ss_query_plan plan;
    struct ss_opened_model *model;
    struct ss_selection selection;
    SS_TRY(ss_query_plan_contents(query, id, &plan, err));
    SS_TRY(get_model(opened, &plan.load, &model, err));
    enum ss_status status = ss_selection_init(&selection, &model->model, &plan.selection, err);
    if (status == SS_OK) {
        *columns = plan.contents->build(&selection);
    }
    ss_selection_fini(&selection);
    release_model(model);
    return status;
}
