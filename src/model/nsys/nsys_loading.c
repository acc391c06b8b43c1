/* SPDX-License-Identifier: Apache-2.0 */
#include "model/nsys/nsys_loading.h"

void ss_nsys_skip(struct ss_nsys_loading *loading, const char *reason)
{
    loading->skip_reason = loading->skip_reason != NULL ? loading->skip_reason : reason;
    loading->skipped++;
}

static bool shifted(const struct ss_nsys_loading *loading, int64_t time_ns, int64_t *sum_ns)
{
    return !__builtin_add_overflow(time_ns, loading->base_ns, sum_ns);
}

bool ss_nsys_time(struct ss_nsys_loading *loading, const struct ss_sqlite_rows *rows, int column,
                  uint64_t *time_ns)
{
    int64_t time, sum_ns;
    if (!ss_sqlite_integer(rows, column, &time)) {
        ss_nsys_skip(loading, "no time");
        return false;
    }
    if (!shifted(loading, time, &sum_ns) || sum_ns < 0) {
        ss_nsys_skip(loading, "a time below 0 or beyond 63 bits");
        return false;
    }
    *time_ns = (uint64_t)sum_ns;
    return true;
}

static void count(struct ss_nsys_loading *loading, int64_t begin_ns, int64_t end_ns)
{
    bool is_first = loading->events == 0;
    loading->first_ns = is_first || begin_ns < loading->first_ns ? begin_ns : loading->first_ns;
    loading->last_ns = is_first || end_ns > loading->last_ns ? end_ns : loading->last_ns;
    loading->events++;
}

void ss_nsys_count(struct ss_nsys_loading *loading, uint64_t time_ns)
{
    count(loading, (int64_t)time_ns, (int64_t)time_ns);
}

/* What began before the session, in a file without a clock, begins with it. */
static bool is_span(const struct ss_nsys_loading *loading, int64_t *begin_ns, int64_t *end_ns)
{
    if (!shifted(loading, *begin_ns, begin_ns) || !shifted(loading, *end_ns, end_ns) ||
        *end_ns < 0 || *end_ns < *begin_ns) {
        return false;
    }
    *begin_ns = *begin_ns < 0 ? 0 : *begin_ns;
    return true;
}

bool ss_nsys_span(struct ss_nsys_loading *loading, const struct ss_sqlite_rows *rows,
                  struct ss_builder_range *range, bool *has_end)
{
    int64_t begin_ns, end_ns;
    *has_end = ss_sqlite_integer(rows, 1, &end_ns);
    if (!ss_sqlite_integer(rows, 0, &begin_ns)) {
        ss_nsys_skip(loading, "no time");
        return false;
    }
    if (!*has_end) {
        end_ns = loading->duration_ns > begin_ns ? loading->duration_ns : begin_ns;
    }
    if (!is_span(loading, &begin_ns, &end_ns)) {
        ss_nsys_skip(loading, "an end before its begin, or a time below 0 or beyond 63 bits");
        return false;
    }
    count(loading, begin_ns, end_ns);
    *range = (struct ss_builder_range){.begin_ns = (uint64_t)begin_ns,
                                       .end_ns = (uint64_t)end_ns,
                                       .flags = *has_end ? 0 : SS_EVENT_END_UNSEEN};
    return true;
}

int64_t ss_nsys_process_in(const struct ss_nsys_loading *loading, const struct ss_sqlite_rows *rows,
                           int column)
{
    int64_t global;
    return ss_sqlite_integer(rows, column, &global) ? ss_nsys_process_key(global)
                                                    : loading->rows.first_process;
}

bool ss_nsys_next(struct ss_nsys_loading *loading, struct ss_sqlite_rows *rows)
{
    enum { ROWS_BETWEEN_REPORTS = 1 << 16 };
    const struct ss_model_load *load = loading->load;
    if (load->progress != NULL) {
        struct ss_sqlite_reading reading = ss_sqlite_reading(loading->file);
        if (reading.rows % ROWS_BETWEEN_REPORTS == 0 && loading->expected_rows > 0) {
            double share = (double)reading.rows / (double)loading->expected_rows;
            double done = (share < 1 ? share : 1) * (double)reading.file_bytes;
            load->progress(load->progress_context, loading->path, (uint64_t)done,
                           reading.file_bytes);
        }
    }
    return ss_sqlite_next(rows);
}

/* --- fields ----------------------------------------------------------------------------------- */

static void add(struct ss_nsys_fields *fields, uint32_t field, struct ss_trace_value value)
{
    if (fields->count < SS_MAX_EVENT_FIELDS) {
        fields->values[fields->count++] = (struct ss_event_value){field, value};
    }
}

void ss_nsys_add_natural(struct ss_nsys_fields *fields, uint32_t field, uint64_t number)
{
    add(fields, field, (struct ss_trace_value){SS_VALUE_UINT, {.natural = number}});
}

void ss_nsys_add_column(struct ss_nsys_fields *fields, uint32_t field,
                        const struct ss_sqlite_rows *rows, int column)
{
    int64_t number;
    if (ss_sqlite_integer(rows, column, &number) && number >= 0) {
        ss_nsys_add_natural(fields, field, (uint64_t)number);
    }
}

void ss_nsys_add_text(struct ss_nsys_fields *fields, uint32_t field, struct ss_strview text)
{
    if (text.length > 0) {
        add(fields, field, (struct ss_trace_value){SS_VALUE_TEXT, {.text = text}});
    }
}

void ss_nsys_add_real(struct ss_nsys_fields *fields, uint32_t field, double number)
{
    add(fields, field, (struct ss_trace_value){SS_VALUE_REAL, {.real = number}});
}
