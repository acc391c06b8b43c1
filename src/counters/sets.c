/* SPDX-License-Identifier: Apache-2.0 */
#include "counters/sets.h"

#include <string.h>

static const struct {
    const char *name, *meaning;
} sets[SS_COUNTER_SETS] = {
#define SS_COUNTER_SET(name, letter, meaning) [SS_COUNTERS_##name] = {#name, meaning},
#include "counters/sets.def"
};

enum set_bit {
#define SS_COUNTER_SET(name, letter, meaning) letter = 1U << SS_COUNTERS_##name,
#include "counters/sets.def"
};

static const struct ss_counter counters[] = {
#define SS_COUNTER(sets, title, unit, metric) {title, unit, metric, sets},
#include "counters/sets.def"
};
enum { COUNTERS = sizeof counters / sizeof *counters };
_Static_assert((int)COUNTERS <= (int)SS_METRICS_MOST, "a set fits a choice");

const char *ss_counter_set_name(enum ss_counter_set set)
{
    return sets[set].name;
}

const char *ss_counter_set_meaning(enum ss_counter_set set)
{
    return sets[set].meaning;
}

const struct ss_counter *ss_counter_at(size_t index)
{
    return index < COUNTERS ? &counters[index] : NULL;
}

const struct ss_counter *ss_counter_of_metric(const char *metric)
{
    for (size_t i = 0; i < COUNTERS; i++) {
        if (strcmp(counters[i].metric, metric) == 0) {
            return &counters[i];
        }
    }
    return NULL;
}

/* --- requests --------------------------------------------------------------------------------- */

static bool find_set(const char *request, enum ss_counter_set *set)
{
    for (int i = 0; i < SS_COUNTER_SETS; i++) {
        if (strcmp(sets[i].name, request) == 0) {
            *set = (enum ss_counter_set)i;
            return true;
        }
    }
    return false;
}

/* Splits the list in choice->text. */
static enum ss_status split(const char *request, struct ss_counter_choice *choice,
                            struct ss_error *err)
{
    size_t length = strlen(request);
    choice->count = 0;
    if (length >= sizeof choice->text) {
        return ss_fail(err, SS_E_LIMIT, "a list of metrics has %zu bytes: %zu at most", length,
                       sizeof choice->text - 1);
    }
    memcpy(choice->text, request, length + 1);
    for (char *at = choice->text; at != NULL;) {
        char *comma = strchr(at, ',');
        if (comma != NULL) {
            *comma = '\0';
        }
        if (strstr(at, "__") == NULL || choice->count == SS_METRICS_MOST) {
            return ss_fail(err, SS_E_USAGE,
                           "\"%.80s\" is neither a set of counters (memory, roofline, detailed) "
                           "nor a list of metrics, as in dram__bytes_read.sum",
                           request);
        }
        choice->names[choice->count++] = at;
        at = comma != NULL ? comma + 1 : NULL;
    }
    return SS_OK;
}

enum ss_status ss_counters_check(const char *request, struct ss_error *err)
{
    struct ss_counter_choice choice;
    enum ss_counter_set set;
    return find_set(request, &set) ? SS_OK : split(request, &choice, err);
}

static bool has_title(const struct ss_counter_choice *choice, const char *title)
{
    bool found = false;
    for (size_t i = 0; i < choice->count && !found; i++) {
        found = strcmp(ss_counter_of_metric(choice->names[i])->title, title) == 0;
    }
    return found;
}

static void list_missing(const struct ss_counter_choice *choice, enum ss_counter_set set,
                         struct ss_strbuf *missing)
{
    const char *last = "";
    for (size_t i = 0; i < COUNTERS; i++) {
        if ((counters[i].sets & 1U << set) != 0 && strcmp(counters[i].title, last) != 0 &&
            !has_title(choice, counters[i].title)) {
            last = counters[i].title;
            ss_strbuf_append_format(missing, "%s%s", missing->length > 0 ? ", " : "", last);
        }
    }
}

enum ss_status ss_counters_choose(const struct ss_metric_target *target, const char *request,
                                  struct ss_counter_choice *choice, struct ss_strbuf *missing,
                                  struct ss_error *err)
{
    enum ss_counter_set set;
    choice->count = 0;
    if (!find_set(request, &set)) {
        return split(request, choice, err);
    }
    for (size_t i = 0; i < COUNTERS; i++) {
        if ((counters[i].sets & 1U << set) != 0 && ss_metric_exists(target, counters[i].metric)) {
            choice->names[choice->count++] = counters[i].metric;
        }
    }
    if (choice->count == 0) {
        return ss_fail(err, SS_E_UNSUPPORTED, "%s has no metric of the set %s", target->chip,
                       sets[set].name);
    }
    if (missing != NULL) {
        list_missing(choice, set, missing);
    }
    return SS_OK;
}
