/* SPDX-License-Identifier: Apache-2.0 */
/* The ranges of all rows as complete events. */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/device_api.h"
#include "base/intern.h"
#include "view/export/kineto_inside.h"
#include "view/output/json_text.h"

enum { NAME_BYTES = 1 << 20 };

/* A range that is open: what begins next is inside. */
struct open_range {
    uint64_t end_ns;
    uint32_t id;
};

typedef struct ss_vec_of(struct open_range) open_ranges;

/* A row that is being written. */
struct row_writing {
    struct ss_kineto_writing *writing;
    uint32_t index;
    const struct ss_kineto_row *row;
    ss_kineto_items items;
    open_ranges operators, functions;
    struct ss_strbuf name;
    uint32_t *module_ids; /* by name, plus one */
    uint32_t modules;
    bool has_scopes; /* annotations of devices need those of the host */
};

/* --- open ranges ------------------------------------------------------------------------------ */

/* The id of the innermost range that is open at the time; 0: none. */
static uint32_t innermost(open_ranges *open, uint64_t time_ns)
{
    while (open->count > 0 && open->data[open->count - 1].end_ns <= time_ns) {
        open->count--;
    }
    return open->count > 0 ? open->data[open->count - 1].id : 0;
}

static void push_open(open_ranges *open, uint64_t end_ns, uint32_t id)
{
    struct open_range range = {end_ns, id};
    ss_vec_push(open, range);
}

/* --- names ------------------------------------------------------------------------------------ */

/* What follows the last step of a training is none: readers would count it. */
static void append_step(struct row_writing *row, const struct ss_model_range *range,
                        struct ss_strview text)
{
    const struct ss_model *model = row->writing->model;
    const struct ss_model_payload *payload = &model->payloads.data[range->payload];
    const char *track = ss_model_text(model, model->tracks.data[range->track].name);
    bool has_number = payload->type == SS_VALUE_INT ||
                      (payload->type == SS_VALUE_UINT && payload->natural <= INT64_MAX);
    bool is_cut = (range->flags & (SS_RANGE_END_UNSEEN | SS_RANGE_BEGIN_UNSEEN)) != 0;
    if (has_number && payload->integer >= 0 && strcmp(track, "step") == 0 && !is_cut) {
        ss_strbuf_append_format(&row->name, "ProfilerStep#%" PRId64, payload->integer);
        return;
    }
    ss_strbuf_append_view(&row->name, text);
    if (has_number) {
        ss_strbuf_append_format(&row->name, " %" PRId64, payload->integer);
    }
}

/* As Kineto writes it; valid until the next call. */
static struct ss_strview name_of(struct row_writing *row, const struct ss_kineto_item *item)
{
    const struct ss_model *model = row->writing->model;
    const struct ss_model_range *range = &model->ranges.data[item->range];
    const struct ss_model_name *name = &model->names.data[model->paths.data[range->path].name];
    struct ss_strview text = ss_intern_get(&model->strings, name->text);
    ss_strbuf_clear(&row->name);
    if (item->kind == SS_KINETO_STEP) {
        append_step(row, range, text);
    } else if (item->kind == SS_KINETO_MODULE) {
        ss_strbuf_append_text(&row->name, "nn.Module: ");
        ss_strbuf_append_view(&row->name, text);
    } else if (item->kind == SS_KINETO_PYTHON && name->file != 0) {
        ss_strbuf_append_view(&row->name, ss_intern_get(&model->strings, name->file));
        ss_strbuf_append_format(&row->name, "(%u): ", name->line);
        ss_strbuf_append_view(&row->name, text);
    } else {
        return text;
    }
    return (struct ss_strview){row->name.data, row->name.length};
}

/* cuLaunchKernel, but not cudaLaunchKernel. */
static bool is_driver_call(struct ss_strview name)
{
    return name.length > 2 && memcmp(name.data, "cu", 2) == 0 && name.data[2] >= 'A' &&
           name.data[2] <= 'Z';
}

/* "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__" */
static bool is_loader_scope(struct ss_strview name)
{
    static const char *const prefixes[] = {"enumerate(DataLoader)#", "enumerate(DataPipe)#"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t length = strlen(prefixes[i]);
        if (name.length >= length && memcmp(name.data, prefixes[i], length) == 0) {
            return true;
        }
    }
    return false;
}

/* For torch_tb_profiler, scopes of collectives and loaders are operators, as in Kineto's files of
 * its time: it joins kernels with the former, and counts the time of the latter. */
static bool counts_as_operator(const struct row_writing *row, const struct ss_kineto_item *item,
                               struct ss_strview name)
{
    return item->kind == SS_KINETO_OPERATOR ||
           (item->kind == SS_KINETO_ANNOTATION && row->writing->options->for_tensorboard &&
            (ss_collective_scope(name) || is_loader_scope(name)));
}

static struct ss_strview category_of(const struct row_writing *row,
                                     const struct ss_kineto_item *item, struct ss_strview name)
{
    static const char *const categories[] = {[SS_KINETO_STEP] = "user_annotation",
                                             [SS_KINETO_ANNOTATION] = "user_annotation",
                                             [SS_KINETO_OPERATOR] = "cpu_op",
                                             [SS_KINETO_API] = "cuda_runtime",
                                             [SS_KINETO_PYTHON] = "python_function",
                                             [SS_KINETO_MODULE] = "python_function",
                                             [SS_KINETO_OVERHEAD] = "overhead",
                                             [SS_KINETO_OTHER] = "",
                                             [SS_KINETO_KERNEL] = "kernel",
                                             [SS_KINETO_COPY] = "gpu_memcpy",
                                             [SS_KINETO_MEMSET] = "gpu_memset",
                                             [SS_KINETO_DEVICE_ANNOTATION] = "gpu_user_annotation",
                                             [SS_KINETO_DEVICE_SYNC] = "cuda_sync"};
    const struct ss_model *model = row->writing->model;
    const struct ss_model_range *range = &model->ranges.data[item->range];
    if (item->kind == SS_KINETO_OTHER) {
        uint32_t id = model->names.data[model->paths.data[range->path].name].category;
        return ss_intern_get(&model->strings, id);
    }
    if (item->kind == SS_KINETO_API) {
        return ss_strview_of(row->writing->options->for_tensorboard ? "Runtime"
                             : is_driver_call(name)                 ? "cuda_driver"
                                                                    : "cuda_runtime");
    }
    bool is_operator = counts_as_operator(row, item, name);
    return ss_strview_of(categories[is_operator ? SS_KINETO_OPERATOR : item->kind]);
}

/* --- ids -------------------------------------------------------------------------------------- */

static void add_scope(struct row_writing *row, const struct ss_kineto_item *item,
                      struct ss_strview name, uint32_t id)
{
    if (row->has_scopes) {
        struct ss_kineto_scope scope = {.name = ss_hash_bytes(name.data, name.length),
                                        .begin_ns = item->begin_ns,
                                        .end_ns = item->end_ns,
                                        .id = id};
        ss_vec_push(&row->writing->links.scopes, scope);
    }
}

/* The launch of work; that of the first work in an annotation of a device. Index + 1; 0: none. */
static uint32_t launch_of(const struct row_writing *row, size_t at)
{
    const uint32_t *launches = row->writing->links.launches;
    uint64_t end_ns = row->items.data[at].end_ns;
    for (size_t i = at; launches != NULL && i < row->items.count; i++) {
        const struct ss_kineto_item *item = &row->items.data[i];
        if (i > at && item->begin_ns >= end_ns) {
            break;
        }
        if (ss_kineto_is_work((enum ss_kineto_kind)item->kind)) {
            return launches[item->range];
        }
    }
    return 0;
}

/* Calls and work have the id of the innermost operator around the call, annotations of devices that
 * of the host's. */
static uint32_t external_id_of(struct row_writing *row, size_t at, struct ss_strview name)
{
    struct ss_kineto_writing *writing = row->writing;
    const struct ss_kineto_item *item = &row->items.data[at];
    enum ss_kineto_kind kind = (enum ss_kineto_kind)item->kind;
    if (kind == SS_KINETO_OPERATOR || kind == SS_KINETO_ANNOTATION || kind == SS_KINETO_STEP) {
        uint32_t id = ++writing->external_id;
        if (counts_as_operator(row, item, name)) {
            innermost(&row->operators, item->begin_ns);
            push_open(&row->operators, item->end_ns, id);
        }
        if (kind != SS_KINETO_OPERATOR) {
            add_scope(row, item, name, id);
        }
        return id;
    }
    if (kind == SS_KINETO_API) {
        return innermost(&row->operators, item->begin_ns);
    }
    uint32_t launch = 0;
    if (ss_kineto_is_work(kind) || kind == SS_KINETO_DEVICE_ANNOTATION) {
        launch = launch_of(row, at);
    }
    if (launch == 0) {
        return 0;
    }
    return kind != SS_KINETO_DEVICE_ANNOTATION
               ? writing->links.external_ids[launch - 1]
               : ss_kineto_scope_at(&writing->links, ss_hash_bytes(name.data, name.length),
                                    writing->model->ranges.data[launch - 1].begin_ns);
}

static void put_external_id(struct row_writing *row, struct ss_kineto_arguments *arguments,
                            size_t at, struct ss_strview name)
{
    const struct ss_kineto_item *item = &row->items.data[at];
    enum ss_kineto_kind kind = (enum ss_kineto_kind)item->kind;
    uint32_t id = external_id_of(row, at, name);
    bool needs_zero = row->writing->options->for_tensorboard &&
                      (kind == SS_KINETO_API || ss_kineto_is_work(kind));
    row->writing->links.external_ids[item->range] = id;
    if (id != 0 || needs_zero) {
        ss_kineto_put_integer(arguments, "External id", id);
    }
}

static void put_python_ids(struct row_writing *row, struct ss_kineto_arguments *arguments,
                           const struct ss_kineto_item *item)
{
    const struct ss_model *model = row->writing->model;
    uint32_t parent = innermost(&row->functions, item->begin_ns);
    uint32_t id = ++row->writing->python_id;
    if (parent != 0) {
        ss_kineto_put_integer(arguments, "Python parent id", parent);
    } else {
        ss_kineto_put_null(arguments, "Python parent id");
    }
    ss_kineto_put_integer(arguments, "Python id", id);
    if (item->kind == SS_KINETO_MODULE) {
        uint32_t path = model->ranges.data[item->range].path;
        uint32_t *known = &row->module_ids[model->paths.data[path].name];
        *known = *known != 0 ? *known : ++row->modules;
        ss_kineto_put_integer(arguments, "Python module id", *known - 1);
    }
    push_open(&row->functions, item->end_ns, id);
}

/* --- events ----------------------------------------------------------------------------------- */

static void put_arguments(struct row_writing *row, size_t at, struct ss_strview name)
{
    struct ss_kineto_writing *writing = row->writing;
    const struct ss_model *model = writing->model;
    const struct ss_kineto_item *item = &row->items.data[at];
    const struct ss_model_range *range = &model->ranges.data[item->range];
    enum ss_kineto_kind kind = (enum ss_kineto_kind)item->kind;
    enum ss_event_type type = model->names.data[model->paths.data[range->path].name].type;
    struct ss_kineto_arguments arguments;
    ss_kineto_begin_arguments(&arguments, &writing->values, writing->sink);
    if (kind == SS_KINETO_PYTHON || kind == SS_KINETO_MODULE) {
        put_python_ids(row, &arguments, item);
    } else if (kind != SS_KINETO_OVERHEAD && kind != SS_KINETO_OTHER) {
        put_external_id(row, &arguments, at, name);
    }
    if (ss_kineto_is_work(kind) || kind == SS_KINETO_DEVICE_SYNC) {
        ss_kineto_put_integer(&arguments, "device", row->row->pid);
        ss_kineto_put_integer(&arguments, "stream", row->row->is_stream ? row->row->stream : -1);
    }
    if (kind == SS_KINETO_DEVICE_ANNOTATION && item->lane > 0 && row->row->is_stream) {
        ss_kineto_put_integer(&arguments, "around stream", row->row->stream); /* not its tid */
    }
    /* Readers take what has a stream for work of a device. */
    ss_kineto_skip_field(&arguments, SS_EVENT_FIELD_device);
    ss_kineto_skip_field(&arguments, SS_EVENT_FIELD_stream);
    if (kind != SS_KINETO_STEP) {
        ss_kineto_put_payload(&arguments, range->payload, type, kind,
                              ss_kineto_is_imported(model, range->track));
    }
    if (kind == SS_KINETO_COPY || kind == SS_KINETO_MEMSET) {
        ss_kineto_put_bandwidth(&arguments, range->payload, item->end_ns - item->begin_ns);
    }
    if (range->flags != 0) {
        ss_kineto_put_integer(&arguments, "cut", 1);
    }
    ss_kineto_end_arguments(&arguments);
}

static void write_item(struct row_writing *row, size_t at)
{
    struct ss_kineto_writing *writing = row->writing;
    const struct ss_kineto_item *item = &row->items.data[at];
    struct ss_strview name = name_of(row, item);
    uint32_t track = writing->model->ranges.data[item->range].track;
    writing->links.lanes[item->range] = item->lane;
    ss_kineto_begin_event(writing, "X", row->row->pid,
                          ss_kineto_lane_tid(&writing->rows, row->index, item->lane));
    ss_kineto_put_times(writing, track, item->begin_ns, item->end_ns);
    ss_kineto_put_text(writing, "cat", category_of(row, item, name));
    ss_kineto_put_text(writing, "name", name);
    put_arguments(row, at, name);
    if (item->kind == SS_KINETO_OPERATOR) {
        ss_autograd_add(&writing->links.autograd, writing->model, item->range, row->row->process);
    }
}

/* --- rows ------------------------------------------------------------------------------------- */

/* When a range counts as begun: for work of a device, when it was launched. */
static uint64_t begin_of(const struct ss_kineto_writing *writing, size_t range)
{
    const struct ss_model *model = writing->model;
    uint32_t launch = writing->links.launches != NULL ? writing->links.launches[range] : 0;
    return launch != 0 ? model->ranges.data[launch - 1].begin_ns
                       : model->ranges.data[range].begin_ns;
}

static void gather(struct row_writing *row, const struct ss_range_run *run)
{
    struct ss_kineto_writing *writing = row->writing;
    const struct ss_model *model = writing->model;
    for (size_t i = run->first; i < run->end; i++) {
        const struct ss_model_range *range = &model->ranges.data[i];
        enum ss_kineto_kind kind = ss_kineto_kind_of(&writing->kinds, range);
        bool is_left_out = writing->options->for_tensorboard && kind == SS_KINETO_DEVICE_ANNOTATION;
        if ((range->flags & SS_RANGE_OUTSIDE) != 0 || is_left_out ||
            !ss_kineto_in_span(writing, begin_of(writing, i)) ||
            ss_kineto_is_double(&writing->kinds, range, kind)) {
            continue;
        }
        struct ss_kineto_item item = {.begin_ns = range->begin_ns,
                                      .end_ns = range->end_ns,
                                      .range = (uint32_t)i,
                                      .kind = (uint8_t)kind};
        ss_vec_push(&row->items, item);
    }
}

static uint16_t lanes_of(const ss_kineto_items *items)
{
    uint16_t last = 0;
    for (size_t i = 0; i < items->count; i++) {
        last = items->data[i].lane > last ? items->data[i].lane : last;
    }
    return last + 1;
}

static void write_row(struct row_writing *row, uint32_t index, const uint32_t *runs, size_t count)
{
    struct ss_kineto_writing *writing = row->writing;
    row->index = index;
    row->row = &writing->rows.rows.data[index];
    ss_vec_clear(&row->items);
    ss_vec_clear(&row->operators);
    ss_vec_clear(&row->functions);
    for (size_t i = 0; i < count; i++) {
        gather(row, &writing->runs->rows.data[runs[i]]);
    }
    ss_kineto_place_items(&row->items);
    ss_kineto_name_row(writing, index, lanes_of(&row->items));
    for (size_t i = 0; i < row->items.count && !ss_kineto_is_full(writing); i++) {
        write_item(row, i);
    }
}

/* The runs of each row, row by row: `ends` has where those of a row end. */
static uint32_t *runs_by_row(const struct ss_kineto_writing *writing, size_t *ends)
{
    const struct ss_range_runs *runs = writing->runs;
    const uint32_t *row_of_track = writing->rows.row_of_track;
    size_t rows = writing->rows.rows.count;
    uint32_t *order = ss_alloc((runs->rows.count + 1) * sizeof *order);
    for (size_t i = 0; i < runs->rows.count; i++) {
        ends[row_of_track[runs->rows.data[i].track]]++;
    }
    for (size_t i = 1; i <= rows; i++) {
        ends[i] += ends[i - 1];
    }
    for (size_t i = runs->rows.count; i > 0; i--) {
        order[--ends[row_of_track[runs->rows.data[i - 1].track]]] = (uint32_t)i - 1;
    }
    ends[rows + 1] = runs->rows.count;
    return order;
}

void ss_kineto_write_ranges(struct ss_kineto_writing *writing)
{
    size_t rows = writing->rows.rows.count;
    size_t *begins = ss_alloc_zero(rows + 2, sizeof *begins); /* by row + 1; 0: not selected */
    uint32_t *order = runs_by_row(writing, begins);
    struct row_writing row = {
        .writing = writing,
        .module_ids = ss_alloc_zero(writing->model->names.count + 1, sizeof *row.module_ids),
        .has_scopes = writing->links.launches != NULL && !writing->options->for_tensorboard};
    ss_strbuf_init(&row.name, NAME_BYTES);
    for (uint32_t i = 0; i < rows && !ss_kineto_is_full(writing); i++) {
        write_row(&row, i, order + begins[i + 1], begins[i + 2] - begins[i + 1]);
    }
    ss_vec_fini(&row.items);
    ss_vec_fini(&row.operators);
    ss_vec_fini(&row.functions);
    ss_strbuf_fini(&row.name);
    ss_free(row.module_ids);
    ss_free(begins);
    ss_free(order);
}
