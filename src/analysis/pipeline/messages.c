/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/pipeline/messages.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/launches/device_work.h"
#include "analysis/selection/program_facts.h"
#include "base/device_api.h"

/* A send or a receive. */
struct half {
    uint32_t range, process, group;
    int64_t from, to, tag, sequence;
    bool receives;
};

struct halves ss_vec_of(struct half);

static struct ss_strview name_of(const struct ss_model *model, const struct ss_model_range *range)
{
    return ss_intern_get(&model->strings,
                         model->names.data[model->paths.data[range->path].name].text);
}

static uint32_t group_of(const struct ss_model *model, const struct ss_model_range *range)
{
    const struct ss_model_field *group =
        ss_model_field_of(model, range->payload, SS_EVENT_FIELD_group);
    return group != NULL && group->natural < model->groups.count
               ? model->groups.data[group->natural].name
               : 0;
}

static void add(struct halves *halves, const struct ss_model *model, uint32_t number,
                uint32_t process)
{
    const struct ss_model_range *range = &model->ranges.data[number];
    struct ss_strview name = name_of(model, range);
    int64_t own = ss_rank_of(model, process), peer, tag, sequence;
    if (own < 0 || !ss_event_number(model, range, SS_EVENT_FIELD_peer, &peer) ||
        !ss_event_number(model, range, SS_EVENT_FIELD_tag, &tag) ||
        !ss_event_number(model, range, SS_EVENT_FIELD_sequence, &sequence) ||
        ss_collective_flow_of(name) != SS_FLOW_OF_TWO) {
        return;
    }
    bool receives = memmem(name.data, name.length, "recv", 4) != NULL;
    ss_vec_push(halves, (struct half){.range = number,
                                      .process = process,
                                      .group = group_of(model, range),
                                      .from = receives ? peer : own,
                                      .to = receives ? own : peer,
                                      .tag = tag,
                                      .sequence = sequence,
                                      .receives = receives});
}

static void collect(struct halves *halves, const struct ss_selection *selection,
                    const struct ss_range_runs *runs)
{
    const struct ss_model *model = selection->model;
    const unsigned cut = SS_RANGE_BEGIN_UNSEEN | SS_RANGE_END_UNSEEN | SS_RANGE_OUTSIDE;
    const struct ss_range_run *run = NULL;
    while ((run = ss_range_runs_next(runs, run, SS_ROLE_COLLECTIVES)) != NULL) {
        uint32_t process = ss_range_run_process(model, run);
        for (size_t i = run->first; i < run->end && selection->processes[process]; i++) {
            if ((model->ranges.data[i].flags & cut) == 0) {
                add(halves, model, (uint32_t)i, process);
            }
        }
    }
}

static int compare_key(const struct half *a, const struct half *b)
{
    const int64_t pairs[][2] = {{a->group, b->group},
                                {a->from, b->from},
                                {a->to, b->to},
                                {a->tag, b->tag},
                                {a->sequence, b->sequence}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (pairs[i][0] != pairs[i][1]) {
            return pairs[i][0] < pairs[i][1] ? -1 : 1;
        }
    }
    return 0;
}

static int compare_halves(const void *left, const void *right)
{
    const struct half *a = left, *b = right;
    int order = compare_key(a, b);
    return order != 0 ? order : (int)a->receives - (int)b->receives;
}

static struct ss_message join(const struct ss_model *model, const struct half *send,
                              const struct half *receive)
{
    const struct ss_model_range *sent = &model->ranges.data[send->range];
    const struct ss_model_range *received = &model->ranges.data[receive->range];
    bool sends_first = sent->begin_ns < received->begin_ns;
    return (struct ss_message){.send = send->range,
                               .receive = receive->range,
                               .sender = send->process,
                               .receiver = receive->process,
                               .group = send->group,
                               .from = send->from,
                               .to = send->to,
                               .tag = send->tag,
                               .sequence = send->sequence,
                               .first_ns = sends_first ? sent->begin_ns : received->begin_ns,
                               .last_ns = sends_first ? received->begin_ns : sent->begin_ns,
                               .end_ns = sent->end_ns < received->end_ns ? sent->end_ns
                                                                         : received->end_ns,
                               .receive_ns = received->end_ns};
}

static int compare_rows(const void *left, const void *right)
{
    const struct ss_message *a = left, *b = right;
    if (a->last_ns != b->last_ns) {
        return a->last_ns < b->last_ns ? -1 : 1;
    }
    return (a->send > b->send) - (a->send < b->send);
}

/* A number that occurs more than twice, as after a restart, says nothing. */
void ss_messages_init(struct ss_messages *messages, const struct ss_selection *selection,
                      const struct ss_range_runs *runs)
{
    struct halves halves = {0};
    *messages = (struct ss_messages){0};
    collect(&halves, selection, runs);
    if (halves.count > 1) {
        qsort(halves.data, halves.count, sizeof *halves.data, compare_halves);
    }
    for (size_t first = 0, end; first < halves.count; first = end) {
        const struct half *half = &halves.data[first];
        for (end = first + 1; end < halves.count && compare_key(half, &halves.data[end]) == 0;) {
            end++;
        }
        if (end - first == 2 && !half[0].receives && half[1].receives) {
            ss_vec_push(&messages->rows, join(selection->model, &half[0], &half[1]));
        } else {
            messages->unmatched += end - first;
        }
    }
    if (messages->rows.count > 1) {
        qsort(messages->rows.data, messages->rows.count, sizeof *messages->rows.data, compare_rows);
    }
    ss_vec_fini(&halves);
}

void ss_messages_fini(struct ss_messages *messages)
{
    ss_vec_fini(&messages->rows);
}
