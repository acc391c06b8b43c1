/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/host_cpu.h"

#include <string.h>

#include "platform/text_scan.h"

enum { MAX_CORES = 1 << 20 };

/* "cpu": all cores, number -1; "cpu12": core 12. */
static bool parse_name(struct ss_strview word, int32_t *number)
{
    if (word.length < 3 || memcmp(word.data, "cpu", 3) != 0) {
        return false;
    }
    struct ss_text_scan digits = {word.data + 3, word.data + word.length};
    uint64_t value = 0;
    *number = -1;
    if (word.length > 3) {
        if (!ss_text_scan_number(&digits, &value) || value >= MAX_CORES) {
            return false;
        }
        *number = (int32_t)value;
    }
    return true;
}

size_t ss_host_cpu_parse(struct ss_strview view, struct ss_cpu_times *times, size_t capacity)
{
    struct ss_text_scan text = ss_text_scan_of(view), line;
    size_t count = 0;
    while (ss_text_scan_line(&text, &line)) {
        struct ss_strview word;
        struct ss_cpu_times entry;
        /* The cpu lines come first; the rest can be long and is not parsed. */
        if (!ss_text_scan_word(&line, &word) || !parse_name(word, &entry.number)) {
            break;
        }
        /* Old kernels write four numbers, newer ones more; missing numbers are 0. */
        if (ss_text_scan_numbers(&line, entry.ticks, SS_CPU_USES) < 4) {
            continue;
        }
        if (count < capacity) {
            times[count] = entry;
        }
        count++;
    }
    return count;
}

/* Parses "0.20 0.18 0.12 1/80 11206". */
bool ss_host_load_parse(struct ss_strview view, struct ss_host_load *load)
{
    struct ss_text_scan text = ss_text_scan_of(view), line;
    struct ss_strview word;
    *load = (struct ss_host_load){0};
    if (!ss_text_scan_line(&text, &line) || !ss_text_scan_fraction(&line, &load->one) ||
        !ss_text_scan_fraction(&line, &load->five) ||
        !ss_text_scan_fraction(&line, &load->fifteen) || !ss_text_scan_word(&line, &word)) {
        return false;
    }
    const char *slash = memchr(word.data, '/', word.length);
    struct ss_text_scan first = {word.data, word.data + word.length};
    struct ss_text_scan second = {slash != NULL ? slash + 1 : first.end, first.end};
    return ss_text_scan_number(&first, &load->runnable) &&
           ss_text_scan_number(&second, &load->tasks);
}

/* Parses "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345". */
static bool parse_total(struct ss_text_scan *line, uint64_t *total)
{
    struct ss_strview word;
    while (ss_text_scan_word(line, &word)) {
        if (word.length > 6 && memcmp(word.data, "total=", 6) == 0) {
            struct ss_text_scan digits = {word.data + 6, word.data + word.length};
            return ss_text_scan_number(&digits, total);
        }
    }
    return false;
}

bool ss_host_pressure_parse(struct ss_strview view, struct ss_host_pressure *pressure)
{
    struct ss_text_scan text = ss_text_scan_of(view), line;
    *pressure = (struct ss_host_pressure){0};
    while (ss_text_scan_line(&text, &line)) {
        struct ss_strview word;
        if (!ss_text_scan_word(&line, &word)) {
            continue;
        }
        if (ss_strview_equal(word, ss_strview_of("some"))) {
            pressure->has_some = parse_total(&line, &pressure->some_us);
        } else if (ss_strview_equal(word, ss_strview_of("full"))) {
            pressure->has_full = parse_total(&line, &pressure->full_us);
        }
    }
    return pressure->has_some || pressure->has_full;
}
