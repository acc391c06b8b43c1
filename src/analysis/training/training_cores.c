/* SPDX-License-Identifier: Apache-2.0 */
/* The cores of a training's machine or container, and how busy they are while steps run. */
#include <math.h>
#include <string.h>

#include "analysis/table/rule_limits.h"
#include "analysis/training/training_facts.h"

static uint64_t core_count(const struct ss_model *model)
{
    uint64_t cores = 0;
    for (size_t i = 0; i < model->attributes.count; i++) {
        const struct ss_model_attribute *attribute = &model->attributes.data[i];
        if (attribute->is_integer && attribute->integer > 0 &&
            strcmp(ss_model_text(model, attribute->key), "cpu_count") == 0) {
            cores = (uint64_t)attribute->integer;
        }
    }
    return cores;
}

/* A gauge of CPU use in percent of a core; each value holds until the next. */
struct use {
    const char *group, *name;
    uint64_t from_ns, to_ns;
    double sum, held_ns; /* of all its tracks */
};

static void add_value(const struct ss_model *model, size_t index, struct use *use)
{
    const struct ss_model_value *value = &model->values.data[index];
    const struct ss_model_track *track = &model->tracks.data[value->track];
    if (strcmp(ss_model_text(model, track->name), use->name) != 0 ||
        strcmp(ss_model_text(model, model->tracks.data[track->parent].name), use->group) != 0) {
        return;
    }
    bool is_last = index + 1 == model->values.count || value[1].track != value->track;
    uint64_t begin_ns = value->time_ns > use->from_ns ? value->time_ns : use->from_ns;
    uint64_t end_ns = is_last || value[1].time_ns > use->to_ns ? use->to_ns : value[1].time_ns;
    if (begin_ns < end_ns) {
        use->sum += ss_model_real(value) * (double)(end_ns - begin_ns);
        use->held_ns += (double)(end_ns - begin_ns);
    }
}

void ss_training_cores_find(struct ss_training_facts *facts)
{
    const struct ss_model *model = facts->model;
    facts->cores = core_count(model);
    struct use all = {.group = "CPU", .name = "busy", .from_ns = UINT64_MAX};
    for (size_t i = 0; i < facts->steps->steps.count; i++) {
        const struct ss_step *step = &facts->steps->steps.data[i];
        all.from_ns = step->begin_ns < all.from_ns ? step->begin_ns : all.from_ns;
        all.to_ns = step->end_ns > all.to_ns ? step->end_ns : all.to_ns;
    }
    struct use own = all, limit = all, used = all;
    own.group = "usage";
    own.name = "CPU";
    limit.group = used.group = "container";
    limit.name = "CPU limit";
    used.name = "CPU used";
    for (size_t i = 0; i < model->values.count; i++) {
        add_value(model, i, &all);
        add_value(model, i, &own);
        add_value(model, i, &limit);
        add_value(model, i, &used);
    }
    double most = limit.held_ns > 0 ? limit.sum / limit.held_ns / 100 : 0;
    if (most > 0 && used.held_ns > 0 && most < (double)facts->cores) {
        facts->cores = most > 1 ? (uint64_t)most : 1;
        all = used;
    }
    bool is_known = all.held_ns > 0 && facts->cores > 0 && all.sum >= 0;
    facts->cpu_busy = is_known ? all.sum / all.held_ns / 100 / (double)facts->cores : -1;
    bool is_own_known = is_known && own.held_ns > 0 && own.sum >= 0 && all.sum > 0;
    facts->cpu_own = is_own_known ? fmin(own.sum / all.sum, 1) : -1;
    facts->is_disturbed = facts->cpu_own >= 0 &&
                          facts->cpu_own < ss_limit_factor(SS_LIMIT_OWN_USE_PERCENT) &&
                          facts->cpu_busy >= ss_limit_factor(SS_LIMIT_BUSY_CORES_PERCENT);
}
