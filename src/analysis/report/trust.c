/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/report/trust.h"

#include <string.h>

#include "analysis/selection/program_facts.h"
#include "analysis/selection/recorded_steps.h"
#include "base/shared_names.h"

/* Where the rows of an input begin and end in a table. Inputs are loaded one after the other, so
 * that few rows of others, or none, lie between. */
struct rows {
    size_t first, end;
};

/* An input, its overhead, and its rows in the tables that grow with the number of inputs. */
struct part {
    uint32_t input;
    struct ss_overhead overhead;
    struct rows attributes, counts, notes, sources;
};

/* The newest value of an attribute; NULL when the recording has none. */
static const struct ss_model_attribute *find_attribute(const struct ss_model *model,
                                                       const struct part *part, const char *key)
{
    for (size_t i = part->attributes.end; i-- > part->attributes.first;) {
        const struct ss_model_attribute *attribute = &model->attributes.data[i];
        if (attribute->input == part->input &&
            strcmp(ss_model_text(model, attribute->key), key) == 0) {
            return attribute;
        }
    }
    return NULL;
}

static const char *attribute_text(const struct ss_model *model, const struct part *part,
                                  const char *key)
{
    const struct ss_model_attribute *attribute = find_attribute(model, part, key);
    return attribute != NULL && !attribute->is_integer ? ss_model_text(model, attribute->text) : "";
}

static int64_t attribute_integer(const struct ss_model *model, const struct part *part,
                                 const char *key)
{
    const struct ss_model_attribute *attribute = find_attribute(model, part, key);
    return attribute != NULL && attribute->is_integer ? attribute->integer : 0;
}

static bool is_of_annotations(const struct ss_model *model, const struct ss_model_counts *row)
{
    return row->source < model->sources.count &&
           strcmp(ss_model_text(model, model->sources.data[row->source].name), "annotations") == 0;
}

static void sum_events(const struct ss_model *model, const struct part *part,
                       struct ss_trust_input *out)
{
    for (size_t i = part->counts.first; i < part->counts.end; i++) {
        const struct ss_model_counts *row = &model->counts.data[i];
        if (row->input == part->input && is_of_annotations(model, row)) {
            out->events += row->totals.seen;
            out->events_dropped += row->totals.dropped;
        }
    }
}

/* A source counts its ticks once and its threads per process: a row without a process that has
 * seen threads already holds their sum. */
static void sum_counts(const struct ss_model *model, const struct part *part,
                       struct ss_trust_input *out)
{
    bool has_sum = false;
    for (size_t i = part->counts.first; i < part->counts.end; i++) {
        const struct ss_model_counts *row = &model->counts.data[i];
        has_sum =
            has_sum || (row->input == part->input && row->process == 0 && row->totals.seen > 0);
    }
    for (size_t i = part->counts.first; i < part->counts.end; i++) {
        const struct ss_model_counts *row = &model->counts.data[i];
        if (row->input != part->input || is_of_annotations(model, row)) {
            continue;
        }
        out->has_counts = true;
        if (row->process == 0) {
            out->due += row->totals.due;
            out->done += row->totals.done;
            out->skipped += row->totals.skipped;
            out->late += row->totals.late;
        }
        if ((row->process == 0) == has_sum) {
            out->seen += row->totals.seen;
            out->partial += row->totals.partial;
            out->lost += row->totals.lost;
            out->dropped += row->totals.dropped;
            out->processes_short += row->totals.processes_short;
        }
    }
}

static void sum_repairs(const struct ss_model *model, const struct part *part,
                        struct ss_trust_input *out)
{
    for (size_t i = part->notes.first; i < part->notes.end; i++) {
        const struct ss_model_note *note = &model->notes.data[i];
        if (note->input == part->input &&
            strcmp(ss_model_text(model, note->kind), "file-damage") == 0) {
            out->repaired_places++;
            out->repaired_bytes += note->value > 0 ? (uint64_t)note->value : 0;
        }
    }
}

static void sum_devices(const struct ss_model *model, const struct part *part,
                        struct ss_trust_input *out)
{
    static const char *const kinds[SS_TRUST_DEVICE_COUNTS] = {
        [SS_TRUST_KERNELS] = "gpu-kernels",
        [SS_TRUST_DROPPED_RECORDS] = "gpu-dropped-records",
        [SS_TRUST_REFUSED_BUFFERS] = "gpu-refused-buffers",
        [SS_TRUST_UNTIMED_KERNELS] = "gpu-untimed-kernels",
        [SS_TRUST_UNRECORDED_KERNELS] = "gpu-launches-without-kernel",
        [SS_TRUST_LOST_RECORDS] = "gpu-lost-messages",
        [SS_TRUST_EARLY_WORKS] = "gpu-early-works"};
    for (size_t i = part->notes.first; i < part->notes.end; i++) {
        const struct ss_model_note *note = &model->notes.data[i];
        const char *kind = ss_model_text(model, note->kind);
        for (int count = 0; note->input == part->input && count < SS_TRUST_DEVICE_COUNTS; count++) {
            if (strcmp(kind, kinds[count]) == 0) {
                out->has_device_counts = true;
                out->device_counts[count] += note->value > 0 ? (uint64_t)note->value : 0;
            }
        }
    }
}

static const char *first_torch_route(const struct ss_model *model, const struct part *part)
{
    for (size_t i = part->notes.first; i < part->notes.end; i++) {
        const struct ss_model_note *note = &model->notes.data[i];
        if (note->input == part->input && ss_program_fact_is(model, note, ss_fact_torch_route)) {
            return ss_program_fact_text(model, note).data; /* the end of the note's text */
        }
    }
    return "";
}

/* Adds each source once. */
static void leave_out(struct ss_trust *trust, const char *name, const char *reason)
{
    for (size_t i = 0; i < trust->left_out.count; i++) {
        if (strcmp(trust->left_out.data[i].source, name) == 0) {
            return;
        }
    }
    struct ss_trust_absence absence = {name, reason};
    ss_vec_push(&trust->left_out, absence);
}

/* The first reason is reported. */
static void set_why_no_marks(struct ss_trust *trust, const char *reason)
{
    trust->why_no_marks = trust->why_no_marks != NULL ? trust->why_no_marks : reason;
}

/* Why the rings of a process could not be created or read; NULL: no such process. */
static const char *lost_annotations(const struct ss_model *model, const struct part *part)
{
    for (size_t i = part->notes.first; i < part->notes.end; i++) {
        const struct ss_model_note *note = &model->notes.data[i];
        if (note->input == part->input &&
            strcmp(ss_model_text(model, note->kind), "annotations-lost") == 0) {
            return ss_model_text(model, note->text);
        }
    }
    return NULL;
}

static void find_absences(struct ss_trust *trust, const struct ss_model *model,
                          const struct part *part)
{
    for (size_t i = part->sources.first; i < part->sources.end; i++) {
        const struct ss_model_source *source = &model->sources.data[i];
        const char *name = ss_model_text(model, source->name);
        const char *reason = ss_model_text(model, source->reason);
        bool is_unavailable = source->status == SS_SOURCE_UNAVAILABLE;
        if (source->input != part->input || !(is_unavailable || source->status == SS_SOURCE_OFF)) {
            continue;
        }
        if (is_unavailable) { /* one that the user turned off is not a loss to report */
            leave_out(trust, name, reason);
        }
        if (strcmp(name, "annotations") == 0) {
            set_why_no_marks(trust, reason);
        }
    }
    const char *lost = lost_annotations(model, part);
    if (lost != NULL) {
        leave_out(trust, "annotations", lost);
        set_why_no_marks(trust, lost);
    }
    const char *missed = ss_program_missed_torch(model, part->input);
    if (missed != NULL) {
        leave_out(trust, "torch", missed);
        set_why_no_marks(trust, missed);
    }
}

static void describe_import(const struct ss_model *model, const struct ss_model_input *input,
                            struct ss_trust_input *out)
{
    out->tool = ss_model_text(model, input->tool);
    out->is_untimed = input->is_untimed;
    out->unit = ss_model_text(model, input->unit);
    out->skipped_events = input->skipped.events;
    out->skipped_offset = input->skipped.first_offset;
    out->skip_reason = ss_model_text(model, input->skipped.reason);
}

/* Long: one entry for each field. */
static void describe_input(const struct ss_model *model, const struct part *part,
                           struct ss_trust_input *out)
{
    const struct ss_model_input *input = &model->inputs.data[part->input];
    *out = (struct ss_trust_input){.path = ss_model_text(model, input->path),
                                   .kind = input->kind,
                                   .command = attribute_text(model, part, "command"),
                                   .hostname = attribute_text(model, part, "hostname"),
                                   .runtime = ss_model_text(model, input->runtime),
                                   .torch_route = first_torch_route(model, part),
                                   .start_unix_ns =
                                       attribute_integer(model, part, "start_realtime_ns"),
                                   .requested_hz = input->rate_hz,
                                   .samples = input->samples,
                                   .clock = model->clock_domains.data[input->clock_domain],
                                   .lines = input->lines,
                                   .skipped_lines = input->skipped_lines};
    describe_import(model, input, out);
    const struct ss_trace_summary *summary = &input->summary;
    if (input->is_untimed) {
        out->duration_s = 0;
    } else if (summary->last_ns > summary->first_ns) {
        out->duration_s = (double)(summary->last_ns - summary->first_ns) / 1e9;
    } else if (summary->last_event_ns > summary->first_event_ns) {
        out->duration_s = (double)(summary->last_event_ns - summary->first_event_ns) / 1e9;
    }
    out->processes = input->processes;
    out->threads = input->threads;
    sum_counts(model, part, out);
    if (input->kind == SS_INPUT_IMPORT) {
        out->events = summary->events;
    } else {
        sum_events(model, part, out);
    }
    sum_repairs(model, part, out);
    sum_devices(model, part, out);
    out->overhead = part->overhead;
    if (out->due > 0 && out->requested_hz > 0) {
        out->achieved_hz = out->requested_hz * (double)out->done / (double)out->due;
    }
}

/* --- warnings --------------------------------------------------------------------------------- */

static void add_warning(struct ss_trust *trust, const struct ss_trust_warning *warning)
{
    for (size_t i = 0; i < trust->warnings.count; i++) {
        struct ss_trust_warning *known = &trust->warnings.data[i];
        if (known->is_error == warning->is_error && strcmp(known->text, warning->text) == 0 &&
            strcmp(known->tool, warning->tool) == 0) {
            known->count++;
            return;
        }
    }
    if (trust->warnings.count < SS_TRUST_MOST_WARNINGS) {
        ss_vec_push(&trust->warnings, *warning);
    } else {
        trust->more_warnings++;
    }
}

/* "No CUDA events collected.": something is missing in the file. */
static bool says_missing(const char *text)
{
    static const char *const words[] = {"No ",           "Not all",    "not collected",
                                        "not supported", "lost",       "dropped",
                                        "missing",       "incomplete", "failed"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strstr(text, words[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static void find_warnings(struct ss_trust *trust, const struct ss_model *model, bool wants_errors,
                          bool wants_missing)
{
    const char *kind = wants_errors ? "nsys-error" : "nsys-warning";
    for (size_t i = 0; i < model->notes.count; i++) {
        const struct ss_model_note *note = &model->notes.data[i];
        if (strcmp(ss_model_text(model, note->kind), kind) == 0 &&
            says_missing(ss_model_text(model, note->text)) == wants_missing) {
            uint32_t tool = model->inputs.data[note->input].tool;
            add_warning(trust, &(struct ss_trust_warning){.tool = ss_model_text(model, tool),
                                                          .text = ss_model_text(model, note->text),
                                                          .is_error = wants_errors,
                                                          .count = 1});
        }
    }
}

/* --- problems --------------------------------------------------------------------------------- */

static void add_problem(struct ss_trust *trust, enum ss_trust_problem_kind kind, const char *input,
                        const char *reason)
{
    struct ss_trust_problem problem = {.kind = kind, .input = input, .reason = reason};
    ss_vec_push(&trust->problems, problem);
}

/* "" when there was a readable Python: then sampling itself yielded nothing. */
static const char *why_no_samples(const struct ss_model *model, const struct part *part)
{
    for (size_t i = part->notes.first; i < part->notes.end; i++) {
        const struct ss_model_note *note = &model->notes.data[i];
        if (note->input == part->input &&
            strcmp(ss_model_text(model, note->kind), "python-unreadable") == 0) {
            return ss_model_text(model, note->text);
        }
    }
    return model->inputs.data[part->input].runtime == 0 &&
                   model->inputs.data[part->input].kind == SS_INPUT_TRACE
               ? "no program that ran was a Python that stepscope reads (CPython 3.8 to 3.15)"
               : "";
}

/* The rank whose file it is, if it says so. */
static void add_no_events(struct ss_trust *trust, const struct ss_model *model, uint32_t input)
{
    add_problem(trust, SS_PROBLEM_NO_EVENTS, ss_model_text(model, model->inputs.data[input].path),
                "");
    struct ss_trust_problem *problem = &trust->problems.data[trust->problems.count - 1];
    for (size_t i = 1; i < model->processes.count && !problem->has_rank; i++) {
        const struct ss_model_process *process = &model->processes.data[i];
        if (process->input == input && process->has_rank) {
            problem->has_rank = true;
            problem->rank = process->rank;
            problem->world_size = process->world_size;
        }
    }
}

static bool may_lack_samples(const struct ss_model *model, const struct ss_model_input *input)
{
    return (input->kind == SS_INPUT_IMPORT && input->summary.events > 0) ||
           model->weight != SS_WEIGHT_SAMPLES;
}

/* Recordings that ended before the program did, and say so themselves. */
static void find_early_ends(struct ss_trust *trust, const struct ss_model *model,
                            const struct part *part)
{
    const char *path = ss_model_text(model, model->inputs.data[part->input].path);
    for (size_t i = part->notes.first; i < part->notes.end; i++) {
        const struct ss_model_note *note = &model->notes.data[i];
        const char *kind = ss_model_text(model, note->kind);
        const char *text = ss_model_text(model, note->text);
        if (note->input != part->input) {
            continue;
        }
        if (strcmp(kind, "recording-ended") == 0 && strcmp(text, "failed") == 0) {
            add_problem(trust, SS_PROBLEM_FAILED, path, "it ended before the program did");
        } else if (strcmp(kind, "disk-full") == 0) {
            add_problem(trust, SS_PROBLEM_FAILED, path, text);
        }
    }
}

/* Of the file itself. */
static void find_damage(struct ss_trust *trust, const struct ss_model *model, uint32_t number)
{
    const struct ss_model_input *input = &model->inputs.data[number];
    const char *path = ss_model_text(model, input->path);
    const struct ss_trace_summary *summary = &input->summary;
    if (input->kind == SS_INPUT_TRACE && (summary->damaged_units > 0 || summary->lost_bytes > 0)) {
        add_problem(trust, SS_PROBLEM_DAMAGED, path, summary->damage);
        struct ss_trust_problem *problem = &trust->problems.data[trust->problems.count - 1];
        problem->offset = summary->first_damage_offset;
        problem->lost_bytes = summary->lost_bytes;
    } else if (input->kind == SS_INPUT_TRACE && !summary->sealed) {
        add_problem(trust, SS_PROBLEM_UNSEALED, path, "");
    } else if (input->skipped.is_cut) {
        add_problem(trust, SS_PROBLEM_CUT, path, "");
    }
}

static void find_problems(struct ss_trust *trust, const struct ss_model *model,
                          const struct part *part)
{
    const struct ss_model_input *input = &model->inputs.data[part->input];
    const char *path = ss_model_text(model, input->path);
    find_damage(trust, model, part->input);
    for (size_t i = part->sources.first; i < part->sources.end; i++) {
        const struct ss_model_source *source = &model->sources.data[i];
        const char *name = ss_model_text(model, source->name);
        if (source->input != part->input) {
            continue;
        }
        if (source->status == SS_SOURCE_FAILED) {
            add_problem(trust, SS_PROBLEM_FAILED, path, ss_model_text(model, source->reason));
        } else if (source->status == SS_SOURCE_UNAVAILABLE && strcmp(name, "python") == 0) {
            add_problem(trust, SS_PROBLEM_UNAVAILABLE, path, ss_model_text(model, source->reason));
        }
    }
    find_early_ends(trust, model, part);
    bool lacks_samples =
        input->samples == 0 && trust->selection->filtered == 0 && !may_lack_samples(model, input);
    if (lacks_samples && input->kind == SS_INPUT_IMPORT) {
        add_no_events(trust, model, part->input);
    } else if (lacks_samples) {
        add_problem(trust, SS_PROBLEM_NO_SAMPLES, path, why_no_samples(model, part));
    }
}

static void find_missing_ranks(struct ss_trust *trust, const struct ss_model *model)
{
    for (size_t i = 0; i < model->runs.count; i++) {
        const struct ss_model_run *run = &model->runs.data[i];
        if (run->missing_count > 0) {
            add_problem(trust, SS_PROBLEM_MISSING_RANKS, ss_model_text(model, run->folder),
                        ss_model_text(model, run->missing));
        }
    }
}

static void add_up(struct ss_trust_input *all, const struct ss_trust_input *one)
{
    all->duration_s = one->duration_s > all->duration_s ? one->duration_s : all->duration_s;
    all->samples += one->samples;
    all->lines += one->lines;
    all->skipped_lines += one->skipped_lines;
    all->skipped_events += one->skipped_events;
    all->has_counts = all->has_counts || one->has_counts;
    all->due += one->due;
    all->done += one->done;
    all->skipped += one->skipped;
    all->late += one->late;
    all->seen += one->seen;
    all->partial += one->partial;
    all->lost += one->lost;
    all->dropped += one->dropped;
    all->events += one->events;
    all->events_dropped += one->events_dropped;
    all->processes_short += one->processes_short;
    all->has_device_counts = all->has_device_counts || one->has_device_counts;
    for (int count = 0; count < SS_TRUST_DEVICE_COUNTS; count++) {
        all->device_counts[count] += one->device_counts[count];
    }
    all->repaired_places += one->repaired_places;
    all->repaired_bytes += one->repaired_bytes;
    if (ss_overhead_share(&one->overhead) > ss_overhead_share(&all->overhead)) {
        all->overhead = one->overhead;
    }
    /* Inputs with different rates have no common rate. */
    all->requested_hz = all->requested_hz == one->requested_hz ? all->requested_hz : 0;
}

/* --- parts ------------------------------------------------------------------------------------ */

#define FIND_ROWS(parts, model, table)                                                             \
    for (size_t i_ = 0; i_ < (model)->table.count; i_++) {                                         \
        uint32_t input_ = (model)->table.data[i_].input;                                           \
        struct rows *rows_ = input_ < (model)->inputs.count ? &(parts)[input_].table : NULL;       \
        if (rows_ != NULL) { /* else of a file that could not be loaded */                         \
            rows_->first = rows_->end == 0 ? i_ : rows_->first;                                    \
            rows_->end = i_ + 1;                                                                   \
        }                                                                                          \
    }

/* By input; freed with ss_free. */
static struct part *find_parts(const struct ss_model *model)
{
    size_t count = model->inputs.count;
    struct part *parts = ss_alloc_zero(count + 1, sizeof *parts);
    struct ss_overhead *overheads = ss_alloc_zero(count + 1, sizeof *overheads);
    ss_overheads_init(overheads, model);
    for (uint32_t i = 0; i < count; i++) {
        parts[i].input = i;
        parts[i].overhead = overheads[i];
    }
    FIND_ROWS(parts, model, attributes);
    FIND_ROWS(parts, model, counts);
    FIND_ROWS(parts, model, notes);
    FIND_ROWS(parts, model, sources);
    ss_free(overheads);
    return parts;
}

void ss_trust_init(struct ss_trust *trust, const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    *trust = (struct ss_trust){.selection = selection,
                               .skipped_files = model->skipped_files,
                               .sums_ranges = ss_model_has_summed_ranges(model)};
    struct part *parts = find_parts(model);
    for (uint32_t i = 0; i < model->inputs.count; i++) {
        struct ss_trust_input one;
        describe_input(model, &parts[i], &one);
        if (i == 0) {
            trust->all = one;
        } else {
            add_up(&trust->all, &one);
        }
        ss_vec_push(&trust->inputs, one);
        find_problems(trust, model, &parts[i]);
        find_absences(trust, model, &parts[i]);
    }
    ss_free(parts);
    find_warnings(trust, model, true, true);
    find_warnings(trust, model, true, false);
    find_warnings(trust, model, false, true);
    find_warnings(trust, model, false, false);
    find_missing_ranks(trust, model);
    struct ss_trust_input *all = &trust->all;
    /* Several files may contain the same process. */
    all->processes = model->processes.count - 1;
    all->threads = model->threads.count - 1;
    all->achieved_hz = all->due > 0 && all->requested_hz > 0
                           ? all->requested_hz * (double)all->done / (double)all->due
                           : 0;
}

void ss_trust_fini(struct ss_trust *trust)
{
    ss_vec_fini(&trust->inputs);
    ss_vec_fini(&trust->problems);
    ss_vec_fini(&trust->left_out);
    ss_vec_fini(&trust->warnings);
    *trust = (struct ss_trust){0};
}

void ss_trust_add_lost_kernels(struct ss_trust *trust, const struct ss_lost_kernels *lost)
{
    trust->launches = lost->launches;
    trust->lost_kernels = lost->rows.count;
    trust->lost_at_end = lost->at_end;
}

void ss_trust_add_detail(struct ss_trust *trust, size_t steps, size_t summed, size_t stood_out)
{
    trust->steps = steps;
    trust->summed_steps = summed;
    trust->outstanding_steps = stood_out;
}

void ss_trust_allow_no_samples(struct ss_trust *trust)
{
    size_t remaining = 0;
    for (size_t i = 0; i < trust->problems.count; i++) {
        const struct ss_trust_problem *problem = &trust->problems.data[i];
        if (problem->kind == SS_PROBLEM_NO_SAMPLES) {
            trust->why_no_samples = problem->reason;
        } else {
            trust->problems.data[remaining++] = *problem;
        }
    }
    trust->problems.count = remaining;
}
