/* SPDX-License-Identifier: Apache-2.0 */
#include "base/launchers.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define SS_LAUNCHER(id, name) name,
#define SS_LAUNCHER_MARK(id, variable)
#define SS_LAUNCHER_FACT(id, fact, variable)
#define SS_LAUNCHER_PROGRAM(id, name)
#include "base/launchers.def"
};

static const struct mark {
    enum ss_launcher launcher;
    enum ss_env variable;
} marks[] = {
#define SS_LAUNCHER(id, name)
#define SS_LAUNCHER_MARK(id, variable) {SS_LAUNCHER_##id, SS_ENV_##variable},
#define SS_LAUNCHER_FACT(id, fact, variable)
#define SS_LAUNCHER_PROGRAM(id, name)
#include "base/launchers.def"
};

static const struct source {
    enum ss_launcher launcher;
    enum ss_rank_fact fact;
    enum ss_env variable;
} sources[] = {
#define SS_LAUNCHER(id, name)
#define SS_LAUNCHER_MARK(id, variable)
#define SS_LAUNCHER_FACT(id, fact, variable) {SS_LAUNCHER_##id, SS_##fact, SS_ENV_##variable},
#define SS_LAUNCHER_PROGRAM(id, name)
#include "base/launchers.def"
};

static const struct program {
    enum ss_launcher launcher;
    const char *name;
} programs[] = {
#define SS_LAUNCHER(id, name)
#define SS_LAUNCHER_MARK(id, variable)
#define SS_LAUNCHER_FACT(id, fact, variable)
#define SS_LAUNCHER_PROGRAM(id, name) {SS_LAUNCHER_##id, name},
#include "base/launchers.def"
};

enum { MARKS = sizeof marks / sizeof *marks, SOURCES = sizeof sources / sizeof *sources };

const char *ss_launcher_name(enum ss_launcher launcher)
{
    return launcher < SS_LAUNCHER_COUNT ? names[launcher] : "";
}

enum ss_launcher ss_launcher_of_program(const char *name)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        if (strcmp(programs[i].name, name) == 0) {
            return programs[i].launcher;
        }
    }
    return SS_LAUNCHER_JOB;
}

static bool parse(const char *text, const char **end, uint32_t *number)
{
    char *after;
    errno = 0;
    unsigned long value = text[0] >= '0' && text[0] <= '9' ? strtoul(text, &after, 10) : 0;
    bool is_number = text[0] >= '0' && text[0] <= '9' && errno == 0 && value <= INT32_MAX;
    *number = is_number ? (uint32_t)value : 0;
    *end = is_number ? after : text;
    return is_number;
}

/* Slurm's list of tasks per node, such as "3(x2),1": that of the node. */
static bool parse_list(const char *text, uint32_t node, uint32_t *number)
{
    uint32_t repeat;
    while (parse(text, &text, number)) {
        repeat = 1;
        if (strncmp(text, "(x", 2) == 0 && (!parse(text + 2, &text, &repeat) || *text++ != ')')) {
            return false;
        }
        if (node < repeat) {
            return true;
        }
        node -= repeat;
        text += *text == ',';
    }
    return false;
}

/* The first value of a fact among the variables of the launcher; NULL: none. */
static const char *find_text(ss_variable_get *get, void *context, enum ss_launcher launcher,
                             enum ss_rank_fact fact, enum ss_env *variable)
{
    for (int i = 0; i < SOURCES; i++) {
        const struct source *source = &sources[i];
        const char *text = source->launcher == launcher && source->fact == fact
                               ? get(context, source->variable)
                               : NULL;
        if (text != NULL && text[0] != '\0') {
            *variable = source->variable;
            return text;
        }
    }
    return NULL;
}

static void find_number(ss_variable_get *get, void *context, enum ss_rank_fact fact,
                        struct ss_rank_facts *facts)
{
    enum ss_env variable = SS_ENV_COUNT;
    const char *end, *text = find_text(get, context, facts->launcher, fact, &variable);
    if (text == NULL && fact == SS_RESTART) {
        text = find_text(get, context, SS_LAUNCHER_JOB, fact, &variable);
    }
    if (text == NULL) {
        return;
    }
    uint32_t *number = &facts->numbers[fact];
    facts->has[fact] = parse(text, &end, number) && *end == '\0';
    if (!facts->has[fact] && variable == SS_ENV_SLURM_STEP_TASKS_PER_NODE) {
        facts->has[fact] = parse_list(text, facts->numbers[SS_NODE], number);
    }
    if (fact == SS_RANK && facts->has[fact]) {
        facts->variable = variable;
    }
}

static void copy_text(ss_variable_get *get, void *context, enum ss_launcher launcher,
                      enum ss_rank_fact fact, char *copy, size_t size)
{
    enum ss_env variable;
    const char *text = find_text(get, context, launcher, fact, &variable);
    snprintf(copy, size, "%s", text != NULL ? text : "");
}

/* The run of the launcher, else of the job; two starts of mpiexec in one job differ. torchrun's run
 * is "none" unless the user names it. */
static void find_run(ss_variable_get *get, void *context, struct ss_rank_facts *facts)
{
    char launch[SS_RUN_ID_BYTES / 2], step[24];
    copy_text(get, context, SS_LAUNCHER_JOB, SS_JOB, facts->job, sizeof facts->job);
    copy_text(get, context, facts->launcher, SS_RUN, facts->run_id, sizeof facts->run_id);
    if (facts->run_id[0] != '\0' && strcmp(facts->run_id, "none") != 0) {
        return;
    }
    copy_text(get, context, facts->launcher, SS_LAUNCH, launch, sizeof launch);
    copy_text(get, context, SS_LAUNCHER_JOB, SS_STEP, step, sizeof step);
    bool has_job = facts->job[0] != '\0';
    const char *part = step[0] != '\0' ? step : launch;
    snprintf(facts->run_id, sizeof facts->run_id, "%s%s%s", facts->job,
             has_job && part[0] != '\0' ? "." : "", has_job ? part : launch);
}

static enum ss_launcher find_launcher(ss_variable_get *get, void *context)
{
    for (int i = 0; i < MARKS;) {
        enum ss_launcher launcher = marks[i].launcher;
        bool are_set = true;
        for (; i < MARKS && marks[i].launcher == launcher; i++) {
            const char *text = are_set ? get(context, marks[i].variable) : NULL;
            are_set = text != NULL && text[0] != '\0';
        }
        if (are_set) {
            return launcher;
        }
    }
    return SS_LAUNCHER_JOB;
}

void ss_rank_facts_find(ss_variable_get *get, void *context, struct ss_rank_facts *facts)
{
    *facts =
        (struct ss_rank_facts){.launcher = find_launcher(get, context), .variable = SS_ENV_COUNT};
    find_number(get, context, SS_NODE, facts); /* which the list of local world sizes needs */
    for (int fact = 0; fact < SS_RANK_FACT_NUMBERS; fact++) {
        find_number(get, context, (enum ss_rank_fact)fact, facts);
    }
    bool is_small = facts->has[SS_WORLD_SIZE] && facts->has[SS_LOCAL_WORLD_SIZE] &&
                    facts->numbers[SS_WORLD_SIZE] == facts->numbers[SS_LOCAL_WORLD_SIZE];
    if (is_small && !facts->has[SS_NODE]) { /* all ranks are on one node */
        facts->has[SS_NODE] = true;
    }
    find_run(get, context, facts);
}

static const char *get_own(void *context, enum ss_env variable)
{
    (void)context;
    return ss_env_get(variable);
}

void ss_rank_facts_own(struct ss_rank_facts *facts)
{
    ss_rank_facts_find(get_own, NULL, facts);
}

struct block {
    const char *text;
    size_t length;
};

static const char *get_of_block(void *context, enum ss_env variable)
{
    const struct block *block = context;
    const char *name = ss_env_name(variable), *end = block->text + block->length;
    size_t name_length = strlen(name);
    for (const char *at = block->text; at < end;) {
        size_t entry = strnlen(at, (size_t)(end - at));
        if (at + entry < end && entry > name_length && at[name_length] == '=' &&
            memcmp(at, name, name_length) == 0) {
            return at + name_length + 1;
        }
        at += entry + 1;
    }
    return NULL;
}

void ss_rank_facts_of_environment(const char *block, size_t length, struct ss_rank_facts *facts)
{
    struct block context = {block, length};
    ss_rank_facts_find(get_of_block, &context, facts);
}

static void append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void append(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list list;
    va_start(list, format);
    vsnprintf(text + used, size - used, format, list);
    va_end(list);
}

void ss_rank_facts_text(const struct ss_rank_facts *facts, char *text, size_t size)
{
    text[0] = '\0';
    if (!facts->has[SS_RANK]) {
        snprintf(text, size, "%s", names[SS_LAUNCHER_JOB]);
        return;
    }
    append(text, size, "rank %u", facts->numbers[SS_RANK]);
    if (facts->has[SS_WORLD_SIZE]) {
        append(text, size, " of %u", facts->numbers[SS_WORLD_SIZE]);
    }
    if (facts->has[SS_LOCAL_RANK]) {
        append(text, size, ", local rank %u", facts->numbers[SS_LOCAL_RANK]);
    }
    if (facts->has[SS_NODE]) {
        append(text, size, ", node %u", facts->numbers[SS_NODE]);
    }
    if (facts->is_explicit) {
        append(text, size, ", as --rank says");
    } else {
        append(text, size, ", from %s (%s)", names[facts->launcher], ss_env_name(facts->variable));
    }
}
