/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/terminal.h"
#include "cli/info/info_text_inside.h"
#include "view/output/text_cell.h"
#include "view/output/text_table.h"

enum { SHOWN_DAMAGES = 5, KEY_WIDTH = 18 };

struct ss_info_style ss_info_style_of(bool colour)
{
    return colour ? (struct ss_info_style){SS_BOLD, SS_DIM, ss_style(SS_STYLE_GREEN),
                                           ss_style(SS_STYLE_BOLD_RED), SS_OFF}
                  : (struct ss_info_style){"", "", "", "", ""};
}

char *ss_info_text_clean(struct ss_strview view)
{
    struct ss_strbuf out;
    ss_strbuf_init(&out, view.length * 3 + 1);
    ss_text_append_clean(&out, view);
    char *text = ss_strbuf_take(&out);
    ss_strbuf_fini(&out); /* ss_strbuf_take leaves an empty buffer */
    return text;
}

const char *ss_info_text_grouped(uint64_t value, char text[32])
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, value);
    int used = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            text[used++] = ',';
        }
        text[used++] = digits[i];
    }
    text[used] = '\0';
    return text;
}

static const char *bytes_text(uint64_t bytes, char text[32])
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1024;
        unit++;
    }
    snprintf(text, 32, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return text;
}

static const char *duration_text(uint64_t ns, char text[32])
{
    double s = (double)ns / 1e9;
    if (s < 120) {
        snprintf(text, 32, "%.1f s", s);
    } else if (s < 7200) {
        snprintf(text, 32, "%d min %02d s", (int)(s / 60), (int)s % 60);
    } else {
        snprintf(text, 32, "%d h %02d min", (int)(s / 3600), (int)(s / 60) % 60);
    }
    return text;
}

static void print_key(const struct ss_info_style *style, const char *key)
{
    fprintf(ss_stdout(), "  %s%-*s%s", style->dim, KEY_WIDTH, key, style->off);
}

static void print_attribute(const struct ss_info_facts *facts, const struct ss_info_style *style,
                            const char *label, const char *key)
{
    const struct ss_trace_attribute *attribute = ss_info_attribute(facts, key);
    if (attribute == NULL) {
        return;
    }
    print_key(style, label);
    if (attribute->is_integer) {
        fprintf(ss_stdout(), "%" PRId64 "\n", attribute->integer);
    } else {
        char *text = ss_info_text_clean(attribute->text);
        fprintf(ss_stdout(), "%s\n", text);
        ss_free(text);
    }
}

static void print_recorded(const struct ss_info_facts *facts, const struct ss_info_style *style)
{
    char text[64], duration[32];
    time_t began = (time_t)(facts->first_clock.realtime_ns / UINT64_C(1000000000));
    struct tm local;
    print_key(style, "recorded");
    if (facts->clock_count > 0 && localtime_r(&began, &local) != NULL &&
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %z", &local) > 0) {
        fprintf(ss_stdout(), "%s, ", text);
    }
    fprintf(ss_stdout(), "%s", duration_text(ss_info_duration_ns(facts), duration));
    const struct ss_trace_attribute *host = ss_info_attribute(facts, "hostname");
    if (host != NULL && !host->is_integer) {
        char *name = ss_info_text_clean(host->text);
        fprintf(ss_stdout(), ", on %s", name);
        ss_free(name);
    }
    fprintf(ss_stdout(), "\n");
}

static void print_damages(const struct ss_info_facts *facts, const struct ss_info_style *style)
{
    char text[32];
    for (size_t i = 0; i < facts->damages.count && i < SHOWN_DAMAGES; i++) {
        const struct ss_info_damage *damage = &facts->damages.data[i];
        print_key(style, "");
        fprintf(ss_stdout(), "byte %" PRIu64 ": %s", damage->offset, damage->reason);
        if (damage->length > 0) {
            fprintf(ss_stdout(), ", %s bytes left out", ss_info_text_grouped(damage->length, text));
        }
        fprintf(ss_stdout(), "\n");
    }
    if (facts->damages.count > SHOWN_DAMAGES) {
        print_key(style, "");
        fprintf(ss_stdout(), "and %zu%s more damaged places\n",
                facts->damages.count - SHOWN_DAMAGES,
                facts->damages.count == SS_INFO_MAX_DAMAGES ? " or" : "");
    }
}

static void print_state(const struct ss_info_facts *facts, const struct ss_info_style *style)
{
    const struct ss_trace_summary *summary = &facts->summary;
    const char *state = ss_info_state(facts);
    bool complete = strcmp(state, "complete") == 0;
    char text[32];
    print_key(style, "state");
    fprintf(ss_stdout(), "%s%s%s", complete ? style->good : style->bad, state, style->off);
    if (complete) {
        fprintf(ss_stdout(), ": closed, all checksums correct");
    } else if (summary->lost_bytes == 0 && summary->damaged_units == 0) {
        fprintf(ss_stdout(),
                ": not closed (killed, or still being written); all %s units are intact",
                ss_info_text_grouped(summary->units, text));
    }
    fprintf(ss_stdout(), "\n");
    print_damages(facts, style);
    if (summary->lost_samples + summary->lost_events > 0) {
        print_key(style, "");
        fprintf(ss_stdout(),
                "%s records cannot be read: their definitions were in the damaged "
                "places\n",
                ss_info_text_grouped(summary->lost_samples + summary->lost_events, text));
    }
    if (!complete) {
        print_key(style, "");
        fprintf(ss_stdout(),
                "stepscope repair %s -o FIXED.pftrace makes a closed file of what is left\n",
                facts->path);
    }
}

enum { MIN_SAMPLES = 30 }; /* with fewer, most of the size is definitions */

static void print_size(const struct ss_info_facts *facts, const struct ss_info_style *style)
{
    const struct ss_trace_summary *summary = &facts->summary;
    char a[32], b[32], c[32];
    print_key(style, "size");
    fprintf(ss_stdout(), "%s written, %s plain; %s units, %s restart point%s\n",
            bytes_text(summary->file_bytes, a), bytes_text(summary->plain_bytes, b),
            ss_info_text_grouped(summary->units, c),
            ss_info_text_grouped(summary->restart_points, (char[32]){0}),
            summary->restart_points == 1 ? "" : "s");
    print_key(style, "samples");
    fprintf(ss_stdout(), "%s in %s records", ss_info_text_grouped(facts->ticks, a),
            ss_info_text_grouped(summary->samples, b));
    if (summary->samples >= MIN_SAMPLES && summary->plain_bytes > summary->track_bytes) {
        /* Samples are compressed together with events and counter values: the bytes are divided by
         * plain size. */
        double plain = (double)(summary->plain_bytes - summary->track_bytes);
        double part = plain / (double)summary->plain_bytes;
        fprintf(ss_stdout(), ", %s%.1f bytes each as written, %.1f plain",
                summary->track_bytes > 0 ? "about " : "",
                (double)summary->read_bytes * part / (double)summary->samples,
                plain / (double)summary->samples);
    }
    fprintf(ss_stdout(), "; %s stacks, %s frames\n", ss_info_text_grouped(facts->stack_count, a),
            ss_info_text_grouped(facts->frame_count, b));
}

static void print_amount(const char *separator, uint64_t count, const char *what)
{
    if (count > 0) {
        fprintf(ss_stdout(), "%s%s %s%s", separator, ss_info_text_grouped(count, (char[32]){0}),
                what, count == 1 ? "" : "s");
    }
}

/* The content of tracks, if there is any. */
static void print_tracks(const struct ss_info_facts *facts, const struct ss_info_style *style)
{
    const uint64_t *begins = facts->begins;
    uint64_t ranges = begins[SS_TRACK_RANGES] + begins[SS_TRACK_ASYNC];
    if (facts->summary.events > 0) {
        print_key(style, "ranges");
        fprintf(ss_stdout(), "%s", ss_info_text_grouped(ranges, (char[32]){0}));
        print_amount(" in ", facts->tracks[SS_TRACK_RANGES] + facts->tracks[SS_TRACK_ASYNC], "row");
        print_amount(" of ", facts->name_count, "name");
        print_amount("; ", begins[SS_TRACK_STEPS], "step");
        print_amount("; ", begins[SS_TRACK_PHASES], "phase");
        print_amount("; ", facts->marks, "mark");
        print_amount("; ", facts->flow_points, "arrow end");
        uint64_t begun = ranges + begins[SS_TRACK_STEPS] + begins[SS_TRACK_PHASES];
        if (begun > facts->ends) {
            fprintf(ss_stdout(), "; %s without an end",
                    ss_info_text_grouped(begun - facts->ends, (char[32]){0}));
        }
        fprintf(ss_stdout(), "\n");
    }
    if (facts->summary.counter_values > 0) {
        print_key(style, "counters");
        fprintf(ss_stdout(), "%s values",
                ss_info_text_grouped(facts->summary.counter_values, (char[32]){0}));
        print_amount(" of ", facts->tracks[SS_TRACK_COUNTER], "counter");
        fprintf(ss_stdout(), "\n");
    }
}

static void print_rate(const struct ss_info_facts *facts, const struct ss_info_style *style)
{
    const struct ss_trace_attribute *requested = ss_info_attribute(facts, "rate_hz");
    uint64_t duration_ns = ss_info_duration_ns(facts);
    if (requested == NULL) {
        return;
    }
    print_key(style, "rate");
    char *text = requested->is_integer ? NULL : ss_info_text_clean(requested->text);
    if (text != NULL) {
        fprintf(ss_stdout(), "%s Hz requested", text);
    } else {
        fprintf(ss_stdout(), "%" PRId64 " Hz requested", requested->integer);
    }
    ss_free(text);
    uint64_t done = 0;
    for (size_t i = 0; i < facts->entities[SS_SCHEMA_source].count; i++) {
        uint64_t of_source =
            ss_info_totals(facts, facts->entities[SS_SCHEMA_source].data[i].ref).done;
        done = of_source > done ? of_source : done;
    }
    if (done > 0 && duration_ns > 0) {
        fprintf(ss_stdout(), ", %.1f Hz achieved", (double)done / ((double)duration_ns / 1e9));
    }
    fprintf(ss_stdout(), "\n");
}

static void print_clocks(const struct ss_info_facts *facts, const struct ss_info_style *style)
{
    if (facts->clock_count == 0) {
        return;
    }
    char text[32];
    print_key(style, "clocks");
    fprintf(ss_stdout(),
            "%s readings, accurate to %.1f µs; the wall clock moved %+.3f ms relative to the "
            "trace's",
            ss_info_text_grouped(facts->clock_count, text), (double)facts->widest_clock_ns / 1e3,
            (double)ss_info_realtime_drift_ns(facts) / 1e6);
    if (ss_info_suspended_ns(facts) > UINT64_C(1000000)) {
        fprintf(ss_stdout(), "; suspended for %s",
                duration_text(ss_info_suspended_ns(facts), text));
    }
    fprintf(ss_stdout(), "\n");
}

static void print_more_attributes(const struct ss_info_facts *facts,
                                  const struct ss_info_style *style)
{
    /* Attributes that other lines show. */
    static const char *const shown_elsewhere[] = {
        "command", "hostname", "rate_hz", "start_realtime_ns", "boot_id", "stepscope_version"};
    for (size_t i = 0; i < facts->attributes.count; i++) {
        const struct ss_trace_attribute *attribute = &facts->attributes.data[i];
        bool is_shown = false;
        for (size_t k = 0; k < sizeof shown_elsewhere / sizeof *shown_elsewhere; k++) {
            is_shown =
                is_shown || ss_strview_equal(attribute->key, ss_strview_of(shown_elsewhere[k]));
        }
        if (is_shown) {
            continue;
        }
        char *key = ss_info_text_clean(attribute->key), *text = ss_info_text_clean(attribute->text);
        fprintf(ss_stdout(), "  %s%-*s%s ", style->dim, KEY_WIDTH - 1, key, style->off);
        if (attribute->is_integer) {
            fprintf(ss_stdout(), "%" PRId64 "\n", attribute->integer);
        } else {
            fprintf(ss_stdout(), "%s\n", text);
        }
        ss_free(key);
        ss_free(text);
    }
}

void ss_info_print_text(const struct ss_info_facts *facts,
                        const struct ss_info_text_options *options)
{
    ss_text_use_utf8();
    struct ss_info_style style = ss_info_style_of(options->colour);
    fprintf(ss_stdout(), "%s%s%s\n", style.bold, facts->path, style.off);
    print_recorded(facts, &style);
    print_attribute(facts, &style, "command", "command");
    print_state(facts, &style);
    print_size(facts, &style);
    print_tracks(facts, &style);
    print_rate(facts, &style);
    print_clocks(facts, &style);
    print_attribute(facts, &style, "written by", "stepscope_version");
    print_more_attributes(facts, &style);
    ss_info_text_print_tables(facts, options, &style);
    fflush(ss_stdout());
}
