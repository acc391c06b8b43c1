/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/table/rule_limits.h"

#include <inttypes.h>
#include <string.h>

#define SS_RULE_LIMIT(name, value, unit, meaning) {#name, (value), SS_LIMIT_IN_##unit, meaning},
const struct ss_rule_limit ss_rule_limits[] = {
#include "analysis/table/rule_limits.def"
    {0}};
#undef SS_RULE_LIMIT

/* "0.5 ns": the largest unit of which there is at least one. */
static void append_time(double ns, struct ss_strbuf *out)
{
    static const struct {
        double ns;
        const char *text;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (ns >= units[i].ns) {
            ss_strbuf_append_format(out, "%g %s", ns / units[i].ns, units[i].text);
            return;
        }
    }
    ss_strbuf_append_format(out, "%g ns", ns);
}

static void append_bytes(double bytes, struct ss_strbuf *out)
{
    static const double kib = 1024, mib = 1024 * 1024;
    if (bytes >= mib) {
        ss_strbuf_append_format(out, "%g MiB", bytes / mib);
    } else {
        ss_strbuf_append_format(out, "%g KiB", bytes / kib);
    }
}

static void append_ordinal(int64_t number, struct ss_strbuf *out)
{
    static const char *const words[] = {"first", "second", "third", "fourth", "fifth"};
    if (number >= 1 && number <= (int64_t)(sizeof words / sizeof *words)) {
        ss_strbuf_append_text(out, words[number - 1]);
    } else {
        ss_strbuf_append_format(out, "%" PRId64 "th", number);
    }
}

void ss_rule_limit_append(const struct ss_rule_limit *limit, struct ss_strbuf *out)
{
    double value = (double)limit->value;
    switch (limit->unit) {
    case SS_LIMIT_IN_COUNT:
        ss_strbuf_append_format(out, "%" PRId64, limit->value);
        break;
    case SS_LIMIT_IN_ORDINAL:
        append_ordinal(limit->value, out);
        break;
    case SS_LIMIT_IN_PERCENT:
        ss_strbuf_append_format(out, "%" PRId64 " %%", limit->value);
        break;
    case SS_LIMIT_IN_HUNDREDTHS:
        ss_strbuf_append_format(out, "%g", value / 100);
        break;
    case SS_LIMIT_IN_NS:
        append_time(value, out);
        break;
    case SS_LIMIT_IN_PS:
        append_time(value / 1000, out);
        break;
    case SS_LIMIT_IN_BYTES:
        append_bytes(value, out);
        break;
    }
}

static const struct ss_rule_limit *find(const char *name, size_t length)
{
    for (const struct ss_rule_limit *limit = ss_rule_limits; limit->name != NULL; limit++) {
        if (strlen(limit->name) == length && memcmp(limit->name, name, length) == 0) {
            return limit;
        }
    }
    return NULL;
}

bool ss_rule_text_append(const char *text, struct ss_strbuf *out)
{
    bool all_known = true;
    const char *open, *close;
    while ((open = strchr(text, '{')) != NULL && (close = strchr(open, '}')) != NULL) {
        const struct ss_rule_limit *limit = find(open + 1, (size_t)(close - open - 1));
        ss_strbuf_append(out, text, (size_t)(open - text));
        if (limit != NULL) {
            ss_rule_limit_append(limit, out);
        } else {
            ss_strbuf_append(out, open, (size_t)(close + 1 - open));
        }
        all_known = all_known && limit != NULL;
        text = close + 1;
    }
    ss_strbuf_append_text(out, text);
    return all_known;
}
