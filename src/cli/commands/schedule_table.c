/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands/schedule_table.h"

#include <inttypes.h>

#include "annot/schedule_run.h"

void ss_schedule_plan_walk(const struct ss_schedule_plan *plan,
                           bool (*visit)(void *context, const struct ss_schedule_row *row),
                           void *context)
{
    for (size_t epoch = 0; epoch < plan->lengths.count; epoch++) {
        int64_t length = plan->lengths.data[epoch];
        struct ss_schedule_position place = {
            .resumed_at = epoch == 0 ? plan->resume_at : 0,
            .length = plan->schedule.per_epoch && !plan->unknown_length ? length : -1};
        for (place.step = 0; place.step < length; place.step++) {
            struct ss_schedule_row row = {(int64_t)epoch, place.step,
                                          ss_schedule_at(&plan->schedule, &place)};
            if (!visit(context, &row)) {
                return;
            }
        }
    }
}

/* --- windows --- */

struct collection {
    const struct ss_schedule_plan *plan;
    struct ss_schedule_plan_facts *facts;
    bool open;
};

static void close_window(struct collection *collection, bool partial)
{
    struct ss_schedule_plan_facts *facts = collection->facts;
    facts->windows.data[facts->windows.count - 1].partial = partial;
    facts->partial += partial;
    collection->open = false;
}

static bool collect_row(void *context, const struct ss_schedule_row *row)
{
    struct collection *collection = context;
    struct ss_schedule_plan_facts *facts = collection->facts;
    facts->steps++;
    if (collection->open && facts->windows.data[facts->windows.count - 1].epoch != row->epoch) {
        close_window(collection, true);
    }
    if (!ss_schedule_records(row->action)) {
        return true;
    }
    facts->recorded++;
    if (!collection->open) {
        struct ss_schedule_window window = {.epoch = row->epoch, .first = row->step};
        ss_vec_push(&facts->windows, window);
        collection->open = true;
    }
    facts->windows.data[facts->windows.count - 1].last = row->step;
    if (row->action == SS_SCHEDULE_RECORD_AND_SAVE) {
        struct ss_schedule_position place = {
            .step = row->step, .resumed_at = row->epoch == 0 ? collection->plan->resume_at : 0};
        close_window(collection, !ss_schedule_ends_cycle(&collection->plan->schedule, &place));
    }
    return true;
}

/* Fills why_nothing for the run that the plan describes. */
static void explain(struct ss_schedule_plan_facts *facts, const struct ss_schedule_plan *plan)
{
    struct ss_schedule_run run = {.schedule = plan->schedule, .starts = 1, .steps = facts->steps};
    run.windows = facts->windows.count > 0;
    for (size_t i = 0; i < plan->lengths.count; i++) {
        int64_t length = plan->lengths.data[i] - (i == 0 ? plan->resume_at : 0);
        run.longest = length > run.longest ? length : run.longest;
    }
    ss_schedule_run_why_nothing(&run, facts->why_nothing, sizeof facts->why_nothing);
}

void ss_schedule_plan_facts_init(struct ss_schedule_plan_facts *facts,
                                 const struct ss_schedule_plan *plan)
{
    *facts = (struct ss_schedule_plan_facts){0};
    struct collection collection = {.plan = plan, .facts = facts};
    ss_schedule_plan_walk(plan, collect_row, &collection);
    if (collection.open) {
        close_window(&collection, true);
    }
    explain(facts, plan);
}

void ss_schedule_plan_facts_fini(struct ss_schedule_plan_facts *facts)
{
    ss_vec_fini(&facts->windows);
}

/* --- CSV and JSON --- */

struct csv {
    FILE *out;
    bool per_epoch;
};

static bool print_csv_row(void *context, const struct ss_schedule_row *row)
{
    const struct csv *csv = context;
    if (csv->per_epoch) {
        fprintf(csv->out, "%" PRId64 ",", row->epoch);
    }
    fprintf(csv->out, "%" PRId64 ",%s\n", row->step, ss_schedule_action_name(row->action));
    return !ferror(csv->out);
}

void ss_schedule_print_csv(const struct ss_schedule_plan *plan, FILE *out)
{
    struct csv csv = {out, plan->schedule.per_epoch};
    fputs(csv.per_epoch ? "epoch,batch,action\n" : "step,action\n", out);
    ss_schedule_plan_walk(plan, print_csv_row, &csv);
}

struct json {
    FILE *out;
    bool per_epoch, first;
};

static void print_position(const struct json *json, int64_t epoch, const char *name, int64_t step)
{
    if (json->per_epoch) {
        fprintf(json->out, "\"epoch\": %" PRId64 ", ", epoch);
    }
    fprintf(json->out, "\"%s\": %" PRId64 ", ", name, step);
}

static bool print_json_row(void *context, const struct ss_schedule_row *row)
{
    struct json *json = context;
    fputs(json->first ? "\n    {" : ",\n    {", json->out);
    json->first = false;
    print_position(json, row->epoch, json->per_epoch ? "batch" : "step", row->step);
    fprintf(json->out, "\"action\": \"%s\"}", ss_schedule_action_name(row->action));
    return !ferror(json->out);
}

static void print_json_head(const struct ss_schedule_plan *plan, FILE *out)
{
    const struct ss_schedule *schedule = &plan->schedule;
    fprintf(out,
            "{\n  \"schema\": 1,\n  \"counts\": \"%s\",\n"
            "  \"skip_first\": %" PRId64 ",\n  \"skip_first_wait\": %" PRId64 ",\n"
            "  \"wait\": %" PRId64 ",\n  \"warmup\": %" PRId64 ",\n  \"active\": %" PRId64 ",\n"
            "  \"repeat\": %" PRId64 ",\n",
            schedule->per_epoch ? "batches" : "steps", schedule->skip_first,
            schedule->skip_first_wait, schedule->wait, schedule->warmup, schedule->active,
            schedule->repeat);
}

void ss_schedule_print_json(const struct ss_schedule_plan *plan,
                            const struct ss_schedule_plan_facts *facts, FILE *out)
{
    struct json json = {out, plan->schedule.per_epoch, true};
    print_json_head(plan, out);
    fputs("  \"rows\": [", out);
    ss_schedule_plan_walk(plan, print_json_row, &json);
    fputs("\n  ],\n  \"windows\": [", out);
    for (size_t i = 0; i < facts->windows.count; i++) {
        const struct ss_schedule_window *window = &facts->windows.data[i];
        fprintf(out, "%s\n    {\"window\": %zu, ", i > 0 ? "," : "", i);
        print_position(&json, window->epoch, "first", window->first);
        fprintf(out, "\"last\": %" PRId64 ", \"partial\": %s}", window->last,
                window->partial ? "true" : "false");
    }
    fprintf(out,
            "%s],\n  \"steps\": %" PRId64 ",\n  \"recorded_steps\": %" PRId64
            ",\n  \"why_nothing\": %s%s%s\n}\n",
            facts->windows.count > 0 ? "\n  " : "", facts->steps, facts->recorded,
            facts->why_nothing[0] != '\0' ? "\"" : "null", facts->why_nothing,
            facts->why_nothing[0] != '\0' ? "\"" : "");
}
