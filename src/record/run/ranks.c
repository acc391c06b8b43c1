/* SPDX-License-Identifier: Apache-2.0 */
#include "record/run/ranks.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "platform/procfs.h"
#include "record/run/naming.h"

/* Of the command line; written before the recording starts. */
static struct {
    bool is_set, launches;
    uint32_t rank, world_size;
} given;

void ss_rank_set_own(uint32_t rank, uint32_t world_size)
{
    given.is_set = true;
    given.rank = rank;
    given.world_size = world_size;
}

void ss_rank_program_launches(void)
{
    given.launches = true;
}

static void apply_given(struct ss_rank_facts *facts)
{
    facts->is_explicit = true;
    facts->has[SS_RANK] = true;
    facts->numbers[SS_RANK] = given.rank;
    facts->has[SS_WORLD_SIZE] = facts->has[SS_WORLD_SIZE] || given.world_size > 0;
    facts->numbers[SS_WORLD_SIZE] =
        given.world_size > 0 ? given.world_size : facts->numbers[SS_WORLD_SIZE];
}

static bool are_same_rank(const struct ss_rank_facts *a, const struct ss_rank_facts *b)
{
    return a->has[SS_RANK] == b->has[SS_RANK] && a->variable == b->variable &&
           a->numbers[SS_RANK] == b->numbers[SS_RANK];
}

/* By the environment alone. false: it is empty, or not readable. */
static bool read_facts(pid_t pid, struct ss_rank_facts *facts)
{
    size_t length;
    char *block = ss_procfs_environment_block(pid, &length);
    ss_rank_facts_of_environment(block, length, facts);
    ss_free(block);
    return length > 0;
}

void ss_rank_find(pid_t pid, struct ss_rank_facts *facts)
{
    struct ss_rank_facts own;
    if (pid == 0) {
        ss_rank_facts_own(facts);
    } else {
        read_facts(pid, facts);
    }
    if (!given.is_set && (pid == 0 || !given.launches)) {
        return;
    }
    ss_rank_facts_own(&own);
    bool is_inherited = pid != 0 && are_same_rank(facts, &own);
    if (is_inherited && given.launches) {
        *facts = (struct ss_rank_facts){.launcher = SS_LAUNCHER_JOB, .variable = SS_ENV_COUNT};
    } else if (given.is_set && (pid == 0 || is_inherited)) {
        apply_given(facts);
    }
}

/* torchrun as one of srun's tasks sets RANK, perhaps to the same number as SLURM_PROCID. */
bool ss_rank_is_assigned(pid_t pid, pid_t parent)
{
    struct ss_rank_facts own, before;
    return parent > 0 && read_facts(pid, &own) && own.has[SS_RANK] && read_facts(parent, &before) &&
           !are_same_rank(&own, &before);
}

void ss_rank_explain_shared_path(const char *path, struct ss_error *err)
{
    struct ss_rank_facts facts;
    struct ss_strbuf advice;
    ss_rank_find(0, &facts);
    if (!ss_rank_is_of_many(&facts)) {
        return;
    }
    ss_strbuf_init(&advice, 65536);
    ss_name_append_for_ranks(path, &advice);
    ss_fail(err, SS_E_BUSY, "%s is being written by another recording; %s", path, advice.data);
    ss_strbuf_fini(&advice);
}
