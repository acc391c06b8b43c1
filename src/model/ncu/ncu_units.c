/* SPDX-License-Identifier: Apache-2.0 */
#include "model/ncu/ncu_units.h"

#include <string.h>

static const struct time_unit {
    const char *name;
    double ns;
} time_units[] = {{"ns", 1},        {"nsecond", 1}, {"us", 1e3},     {"usecond", 1e3}, {"ms", 1e6},
                  {"msecond", 1e6}, {"s", 1e9},     {"second", 1e9}, {"min", 6e10}};

/* Words that a prefix may precede. */
static const char *const scaled_words[] = {"byte",  "bit",    "hz",      "Hz",     "inst",
                                           "cycle", "sector", "request", "thread", "warp",
                                           "block", "flop",   "sample",  "op",     "second"};

/* 0: no time. */
static double nanoseconds_of(struct ss_strview word)
{
    for (size_t i = 0; i < sizeof time_units / sizeof *time_units; i++) {
        if (ss_strview_equal(word, ss_strview_of(time_units[i].name))) {
            return time_units[i].ns;
        }
    }
    return 0;
}

/* "Gbyte" → 1e9 and "byte"; a word without prefix: 1. */
static double split_prefix(struct ss_strview *word)
{
    static const struct {
        char letter;
        double factor;
    } prefixes[] = {{'K', 1e3}, {'M', 1e6}, {'G', 1e9}, {'T', 1e12}, {'P', 1e15}};
    struct ss_strview rest = {word->data + 1, word->length - 1};
    for (size_t i = 0; word->length > 1 && i < sizeof prefixes / sizeof *prefixes; i++) {
        for (size_t w = 0; w < sizeof scaled_words / sizeof *scaled_words; w++) {
            if (word->data[0] == prefixes[i].letter &&
                ss_strview_equal(rest, ss_strview_of(scaled_words[w]))) {
                *word = rest;
                return prefixes[i].factor;
            }
        }
    }
    return 1;
}

double ss_ncu_unit(struct ss_strview unit, struct ss_strbuf *plain)
{
    const char *slash = unit.length > 0 ? memchr(unit.data, '/', unit.length) : NULL;
    struct ss_strview above = {unit.data,
                               slash != NULL ? (size_t)(slash - unit.data) : unit.length};
    double ns = nanoseconds_of(above), factor = 1;
    if (ns != 0) {
        factor = ns;
        ss_strbuf_append_text(plain, "ns");
    } else {
        factor = split_prefix(&above);
        bool is_hertz = ss_strview_equal(above, ss_strview_of("hz"));
        ss_strbuf_append_view(plain, is_hertz ? ss_strview_of("Hz") : above);
    }
    if (slash == NULL) {
        return factor;
    }
    struct ss_strview below = {slash + 1, unit.length - (size_t)(slash + 1 - unit.data)};
    ns = nanoseconds_of(below);
    ss_strbuf_append_char(plain, '/');
    if (ns == 0) {
        ss_strbuf_append_view(plain, below);
        return factor;
    }
    ss_strbuf_append_text(plain, "s");
    return factor * (1e9 / ns);
}
