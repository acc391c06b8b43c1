/* SPDX-License-Identifier: Apache-2.0 */
#include "model/nsys/nsys_ranks.h"

#include "base/launchers.h"

static struct ss_strview without_quotes(struct ss_strview value)
{
    bool has = value.length >= 2 && value.data[0] == '"' && value.data[value.length - 1] == '"';
    return has ? (struct ss_strview){value.data + 1, value.length - 2} : value;
}

void ss_nsys_ranks_read(struct ss_nsys_ranks *ranks, struct ss_strview variable)
{
    const char *equals = memchr(variable.data, '=', variable.length);
    if (equals == NULL) {
        return;
    }
    struct ss_strview name = {variable.data, (size_t)(equals - variable.data)};
    struct ss_strview value =
        without_quotes((struct ss_strview){equals + 1, variable.length - name.length - 1});
    size_t entry = name.length + 1 + value.length + 1;
    for (int i = 0; i < SS_ENV_COUNT; i++) {
        if (ss_strview_equal(name, ss_strview_of(ss_env_name((enum ss_env)i))) &&
            ranks->length + entry <= sizeof ranks->environment) {
            char *at = ranks->environment + ranks->length;
            memcpy(at, name.data, name.length);
            at[name.length] = '=';
            memcpy(at + name.length + 1, value.data, value.length);
            at[entry - 1] = '\0';
            ranks->length += entry;
        }
    }
}

/* The row of the only process with a context; 0: there are none or several. */
static uint32_t only_process(const struct ss_nsys_rows *rows)
{
    uint32_t process = rows->contexts.count > 0 ? rows->contexts.data[0].process : 0;
    for (size_t i = 1; i < rows->contexts.count; i++) {
        process = rows->contexts.data[i].process == process ? process : 0;
    }
    return process;
}

void ss_nsys_ranks_put(const struct ss_nsys_ranks *ranks, struct ss_nsys_rows *rows)
{
    uint32_t process = only_process(rows);
    struct ss_rank_facts facts;
    ss_rank_facts_of_environment(ranks->environment, ranks->length, &facts);
    if (process == 0 || !facts.has[SS_RANK]) {
        return;
    }
    const struct ss_model_process *known =
        &ss_model_builder_model(rows->builder)->processes.data[process];
    if (known->has_rank) {
        return;
    }
    struct ss_trace_process row = {.pid = known->pid,
                                   .parent_pid = known->parent_pid,
                                   .has_rank = true,
                                   .rank = facts.numbers[SS_RANK],
                                   .has_local_rank = facts.has[SS_LOCAL_RANK],
                                   .local_rank = facts.numbers[SS_LOCAL_RANK],
                                   .has_node = facts.has[SS_NODE],
                                   .node = facts.numbers[SS_NODE],
                                   .world_size = facts.numbers[SS_WORLD_SIZE]};
    ss_model_builder_process(rows->builder, process, &row);
}
