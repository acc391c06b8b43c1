/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of GPUs and network interfaces as counters. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "model/nsys/nsys_loading.h"

enum kind { OF_GPU, OF_NETWORK };

/* A metric of a list, as the tables TARGET_INFO_… describe it. */
static void put_metric(struct ss_nsys_loading *loading, enum kind kind, int64_t list,
                       int64_t number, struct ss_strview name)
{
    uint32_t string = ss_model_builder_text(loading->builder, name);
    *ss_nsys_entry(&loading->rows, SS_NSYS_METRIC, kind, list, number) = string;
}

/* The unit is in brackets: "SMs Active [Throughput %]", "GPC Clock Frequency [MHz]". */
static struct ss_strview cut_unit(struct ss_strview *name)
{
    const char *bracket = memrchr(name->data, '[', name->length);
    if (bracket == NULL || bracket == name->data || name->data[name->length - 1] != ']') {
        return (struct ss_strview){"", 0};
    }
    struct ss_strview unit = {bracket + 1, (size_t)(name->data + name->length - bracket) - 2};
    name->length = (size_t)(bracket - name->data);
    while (name->length > 0 && name->data[name->length - 1] == ' ') {
        name->length--;
    }
    return memchr(unit.data, '%', unit.length) != NULL ? ss_strview_of("%") : unit;
}

static void put_value(struct ss_nsys_loading *loading, const struct ss_sqlite_rows *rows,
                      int column, uint32_t track, uint64_t time_ns)
{
    struct ss_trace_counter counter = {.time_ns = time_ns, .track_ref = track};
    counter.is_integer = ss_sqlite_integer(rows, column, &counter.integer);
    if (!counter.is_integer && !ss_sqlite_real(rows, column, &counter.real)) {
        ss_nsys_skip(loading, "a metric without a value");
        return;
    }
    ss_nsys_count(loading, time_ns);
    ss_model_builder_counter(loading->builder, &counter);
}

/* --- GPUs ------------------------------------------------------------------------------------- */

static void read_gpu_names(struct ss_nsys_loading *loading)
{
    static const char *const columns[] = {"typeId", "metricId", "metricName"};
    struct ss_sqlite_rows rows;
    ss_sqlite_begin(&rows, loading->file, "TARGET_INFO_GPU_METRICS", columns, 3);
    while (ss_nsys_next(loading, &rows)) {
        int64_t list = 0, metric;
        ss_sqlite_integer(&rows, 0, &list);
        if (ss_sqlite_integer(&rows, 1, &metric)) {
            put_metric(loading, OF_GPU, list, metric, ss_sqlite_text(&rows, 2));
        }
    }
    ss_sqlite_end(&rows);
}

/* The low byte of the type is the number of the GPU. */
static uint32_t gpu_track(struct ss_nsys_loading *loading, int64_t type, int64_t metric)
{
    uint32_t known = *ss_nsys_entry(&loading->rows, SS_NSYS_COUNTER, OF_GPU, type, metric);
    uint32_t string = *ss_nsys_entry(&loading->rows, SS_NSYS_METRIC, OF_GPU, type, metric);
    if (known == 0 && string != 0) {
        struct ss_strview name =
            ss_intern_get(&ss_model_builder_model(loading->builder)->strings, string);
        uint32_t device = ss_nsys_device(&loading->rows, type & 0xff);
        struct ss_trace_track row = {.kind = SS_TRACK_COUNTER,
                                     .device_ref = device,
                                     .parent_ref = ss_nsys_device_group(&loading->rows, 0, device)};
        row.unit = cut_unit(&name);
        row.name = name;
        known = ss_model_builder_track(loading->builder, 0, &row);
        *ss_nsys_entry(&loading->rows, SS_NSYS_COUNTER, OF_GPU, type, metric) = known;
    }
    return known;
}

static void load_gpu_metrics(struct ss_nsys_loading *loading)
{
    static const char *const columns[] = {"timestamp", "typeId", "metricId", "value"};
    struct ss_sqlite_rows rows;
    read_gpu_names(loading);
    ss_sqlite_begin(&rows, loading->file, "GPU_METRICS", columns, 4);
    while (ss_nsys_next(loading, &rows)) {
        int64_t type, metric;
        uint64_t time_ns;
        uint32_t track = 0;
        if (ss_sqlite_integer(&rows, 1, &type) && ss_sqlite_integer(&rows, 2, &metric)) {
            track = gpu_track(loading, type, metric);
        }
        if (track == 0) {
            ss_nsys_skip(loading, "a metric without a name");
        } else if (ss_nsys_time(loading, &rows, 0, &time_ns)) {
            put_value(loading, &rows, 3, track, time_ns);
        }
    }
    ss_sqlite_end(&rows);
}

/* --- network interfaces ----------------------------------------------------------------------- */

static void read_network_names(struct ss_nsys_loading *loading)
{
    static const char *const metrics[] = {"metricsListId", "metricsIdx", "name", "unit"};
    static const char *const interfaces[] = {"nicId", "name"};
    static const char *const ids[] = {"nicId", "globalId"};
    struct ss_sqlite_rows rows;
    int64_t a, b;
    struct ss_strbuf name;
    ss_strbuf_init(&name, 1 << 16);
    ss_sqlite_begin(&rows, loading->file, "TARGET_INFO_NETWORK_METRICS", metrics, 4);
    while (ss_nsys_next(loading, &rows)) {
        ss_strbuf_clear(&name);
        ss_strbuf_append_view(&name, ss_sqlite_text(&rows, 2));
        struct ss_strview unit = ss_sqlite_text(&rows, 3);
        if (unit.length > 0) {
            ss_strbuf_append_format(&name, " [%.*s]", (int)unit.length, unit.data);
        }
        if (ss_sqlite_integer(&rows, 0, &a) && ss_sqlite_integer(&rows, 1, &b)) {
            put_metric(loading, OF_NETWORK, a, b, (struct ss_strview){name.data, name.length});
        }
    }
    ss_sqlite_end(&rows);
    ss_strbuf_fini(&name);
    ss_sqlite_begin(&rows, loading->file, "TARGET_INFO_NIC_INFO", interfaces, 2);
    while (ss_nsys_next(loading, &rows)) {
        if (ss_sqlite_integer(&rows, 0, &a)) {
            uint32_t text = ss_model_builder_text(loading->builder, ss_sqlite_text(&rows, 1));
            *ss_nsys_entry(&loading->rows, SS_NSYS_NIC, a, 0, 0) = text;
        }
    }
    ss_sqlite_end(&rows);
    ss_sqlite_begin(&rows, loading->file, "NIC_ID_MAP", ids, 2);
    while (ss_nsys_next(loading, &rows)) {
        if (ss_sqlite_integer(&rows, 0, &a) && ss_sqlite_integer(&rows, 1, &b) && a >= 0 &&
            a < UINT32_MAX) {
            *ss_nsys_entry(&loading->rows, SS_NSYS_NIC_OF_METRICS, b, 0, 0) = (uint32_t)a + 1;
        }
    }
    ss_sqlite_end(&rows);
}

/* The string before the names of an interface's metrics: "mlx5_0 port 2 ". */
static uint32_t interface_prefix(struct ss_nsys_loading *loading, int64_t global, int64_t port)
{
    uint32_t known = *ss_nsys_entry(&loading->rows, SS_NSYS_NIC_PREFIX, global, port, 0);
    if (known == 0) {
        struct ss_strbuf prefix;
        uint32_t nic = *ss_nsys_entry(&loading->rows, SS_NSYS_NIC_OF_METRICS, global, 0, 0);
        uint32_t text =
            nic != 0 ? *ss_nsys_entry(&loading->rows, SS_NSYS_NIC, (int64_t)nic - 1, 0, 0) : 0;
        ss_strbuf_init(&prefix, 1 << 16);
        ss_strbuf_append_text(
            &prefix,
            text != 0 ? ss_model_text(ss_model_builder_model(loading->builder), text) : "network");
        if (port > 1) {
            ss_strbuf_append_format(&prefix, " port %" PRId64, port);
        }
        ss_strbuf_append_char(&prefix, ' ');
        known = ss_model_builder_text(loading->builder,
                                      (struct ss_strview){prefix.data, prefix.length});
        ss_strbuf_fini(&prefix);
        *ss_nsys_entry(&loading->rows, SS_NSYS_NIC_PREFIX, global, port, 0) = known;
    }
    return known;
}

static uint32_t network_track(struct ss_nsys_loading *loading, const int64_t *ids)
{
    enum { GLOBAL, PORT, LIST, METRIC };
    uint32_t metric =
        *ss_nsys_entry(&loading->rows, SS_NSYS_METRIC, OF_NETWORK, ids[LIST], ids[METRIC]);
    uint32_t prefix = interface_prefix(loading, ids[GLOBAL], ids[PORT]);
    uint32_t *known = ss_nsys_entry(&loading->rows, SS_NSYS_COUNTER, OF_NETWORK, prefix, metric);
    if (*known == 0 && metric != 0) {
        const struct ss_model *model = ss_model_builder_model(loading->builder);
        struct ss_strview name = ss_intern_get(&model->strings, metric);
        struct ss_trace_track row = {.kind = SS_TRACK_COUNTER, .unit = cut_unit(&name)};
        struct ss_strbuf text;
        ss_strbuf_init(&text, 1 << 17);
        ss_strbuf_append_view(&text, ss_intern_get(&model->strings, prefix));
        ss_strbuf_append_view(&text, name);
        row.name = (struct ss_strview){text.data, text.length};
        *known = ss_model_builder_track(loading->builder, 0, &row);
        ss_strbuf_fini(&text);
    }
    return *known;
}

static void load_network_metrics(struct ss_nsys_loading *loading, const char *table)
{
    static const char *const columns[] = {"start",         "globalId",   "portId",
                                          "metricsListId", "metricsIdx", "value"};
    struct ss_sqlite_rows rows;
    ss_sqlite_begin(&rows, loading->file, table, columns, 6);
    while (ss_nsys_next(loading, &rows)) {
        int64_t ids[4] = {0};
        uint64_t time_ns;
        for (int i = 0; i < 4; i++) {
            ss_sqlite_integer(&rows, 1 + i, &ids[i]);
        }
        uint32_t track = network_track(loading, ids);
        if (track == 0) {
            ss_nsys_skip(loading, "a metric without a name");
        } else if (ss_nsys_time(loading, &rows, 0, &time_ns)) {
            put_value(loading, &rows, 5, track, time_ns);
        }
    }
    ss_sqlite_end(&rows);
}

void ss_nsys_load_metrics(struct ss_nsys_loading *loading)
{
    load_gpu_metrics(loading);
    read_network_names(loading);
    load_network_metrics(loading, "NET_NIC_METRIC");
    load_network_metrics(loading, "NET_IB_SWITCH_METRIC");
}
