/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rank_selection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool parse_number(const char **at, uint32_t *number)
{
    char *end;
    errno = 0;
    unsigned long value = **at >= '0' && **at <= '9' ? strtoul(*at, &end, 10) : 0;
    bool is_number = **at >= '0' && **at <= '9' && errno == 0 && value <= INT32_MAX;
    *number = is_number ? (uint32_t)value : 0;
    *at = is_number ? end : *at;
    return is_number;
}

static bool skip_word(const char **at, const char *word)
{
    bool is_there = strncmp(*at, word, strlen(word)) == 0;
    *at += is_there ? strlen(word) : 0;
    return is_there;
}

static bool parse_item(const char **at, struct ss_rank_item *item)
{
    item->kind = SS_RANKS_BETWEEN;
    if (skip_word(at, "every:")) {
        item->kind = SS_RANKS_EVERY;
        return parse_number(at, &item->first) && item->first > 0;
    }
    if (skip_word(at, "local")) {
        item->kind = SS_RANKS_LOCAL;
    }
    bool is_good = parse_number(at, &item->first);
    item->last = item->first;
    if (is_good && skip_word(at, "-")) {
        is_good = parse_number(at, &item->last) && item->last >= item->first;
    }
    return is_good;
}

enum ss_status ss_rank_selection_parse(const char *text, struct ss_rank_selection *selection,
                                       struct ss_error *err)
{
    const char *at = text;
    *selection = (struct ss_rank_selection){0};
    if (text[0] == '\0' || strcmp(text, "all") == 0) {
        return SS_OK;
    }
    while (selection->count < SS_RANK_SELECTION_ITEMS) {
        if (!parse_item(&at, &selection->items[selection->count++]) ||
            (*at != ',' && *at != '\0')) {
            return ss_fail(err, SS_E_USAGE,
                           "ranks are numbers, as in 0,8-15,local0,every:64, not \"%.60s\"", text);
        }
        if (*at++ == '\0') {
            return SS_OK;
        }
    }
    return ss_fail(err, SS_E_USAGE, "more than %d items of ranks: \"%.60s…\"",
                   SS_RANK_SELECTION_ITEMS, text);
}

static bool is_in(const struct ss_rank_item *item, uint32_t number)
{
    return number >= item->first && number <= item->last;
}

/* By the items that do not depend on nodes. */
static bool has_by_number(const struct ss_rank_selection *selection, uint32_t rank)
{
    for (uint32_t i = 0; i < selection->count; i++) {
        const struct ss_rank_item *item = &selection->items[i];
        if ((item->kind == SS_RANKS_BETWEEN && is_in(item, rank)) ||
            (item->kind == SS_RANKS_EVERY && rank % item->first == 0)) {
            return true;
        }
    }
    return selection->count == 0;
}

static bool has_local(const struct ss_rank_selection *selection, uint32_t local_rank)
{
    for (uint32_t i = 0; i < selection->count; i++) {
        if (selection->items[i].kind == SS_RANKS_LOCAL && is_in(&selection->items[i], local_rank)) {
            return true;
        }
    }
    return false;
}

/* How many selected ranks are before `rank`; stops at the maximum. */
static uint32_t count_before(const struct ss_rank_selection *selection, uint32_t rank)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < rank && count < selection->most; i++) {
        count += has_by_number(selection, i);
    }
    return count;
}

/* The number of its node, from 0; without one, as if ranks filled nodes one after the other. */
static uint32_t node_of(const struct ss_rank_facts *facts)
{
    uint32_t size = facts->has[SS_LOCAL_WORLD_SIZE] ? facts->numbers[SS_LOCAL_WORLD_SIZE] : 0;
    return facts->has[SS_NODE] ? facts->numbers[SS_NODE]
           : size > 0          ? facts->numbers[SS_RANK] / size
                               : 0;
}

/* At most as many before it as there are on nodes with a lower number, and on its own. */
static uint64_t count_local_before(const struct ss_rank_selection *selection,
                                   const struct ss_rank_facts *facts)
{
    uint64_t per_node = 0, on_node = 0;
    for (uint32_t i = 0; i < selection->count; i++) {
        const struct ss_rank_item *item = &selection->items[i];
        if (item->kind == SS_RANKS_LOCAL) {
            uint32_t local = facts->numbers[SS_LOCAL_RANK];
            per_node += item->last - item->first + 1;
            on_node += local > item->last    ? item->last - item->first + 1
                       : local > item->first ? local - item->first
                                             : 0;
        }
    }
    return per_node * node_of(facts) + on_node;
}

bool ss_rank_selection_has(const struct ss_rank_selection *selection,
                           const struct ss_rank_facts *facts)
{
    uint32_t rank = facts->numbers[SS_RANK];
    bool is_selected =
        has_by_number(selection, rank) || has_local(selection, facts->numbers[SS_LOCAL_RANK]);
    return is_selected &&
           (selection->most == 0 ||
            count_before(selection, rank) + count_local_before(selection, facts) < selection->most);
}

bool ss_rank_selection_is_by_number(const struct ss_rank_selection *selection)
{
    for (uint32_t i = 0; i < selection->count; i++) {
        if (selection->items[i].kind == SS_RANKS_LOCAL) {
            return false;
        }
    }
    return true;
}

bool ss_rank_selection_has_number(const struct ss_rank_selection *selection, uint32_t rank)
{
    return has_by_number(selection, rank) &&
           (selection->most == 0 || count_before(selection, rank) < selection->most);
}

/* The lowest by number; of local ranks the lowest of the first node. */
bool ss_rank_selection_is_first(const struct ss_rank_selection *selection,
                                const struct ss_rank_facts *facts)
{
    uint32_t lowest = UINT32_MAX, lowest_local = UINT32_MAX;
    for (uint32_t i = 0; i < selection->count; i++) {
        const struct ss_rank_item *item = &selection->items[i];
        uint32_t first = item->kind == SS_RANKS_EVERY ? 0 : item->first;
        uint32_t *known = item->kind == SS_RANKS_LOCAL ? &lowest_local : &lowest;
        *known = first < *known ? first : *known;
    }
    if (selection->count == 0 || lowest != UINT32_MAX) {
        return facts->numbers[SS_RANK] == (selection->count == 0 ? 0 : lowest);
    }
    return node_of(facts) == 0 && facts->numbers[SS_LOCAL_RANK] == lowest_local;
}
