/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a report, what they leave out, and why they are empty. */
#include <string.h>

#include "analysis/report/report_parts.h"
#include "analysis/table/uncertainty.h"

/* --- what a table leaves out ------------------------------------------------------------------ */

void ss_report_add_hidden_rows(const struct ss_table *table, struct ss_document *document)
{
    const char *more = table->more_option != NULL ? table->more_option : "--num-rows all";
    struct ss_sentence *out = ss_document_add_note(document, SS_NOTE_ASIDE);
    ss_sentence_add_count(out, table->hidden_rows);
    ss_sentence_add(out, " ");
    ss_sentence_add(out, table->row_noun != NULL ? table->row_noun : "row");
    ss_sentence_add_plural(out, table->hidden_rows);
    ss_sentence_add(out, " not shown: ");
    ss_sentence_add(out, more);
}

static void add_hidden_samples(const struct ss_table *table, struct ss_document *document)
{
    bool small = table->small_rows == table->hidden_rows;
    double share = table->shown_samples > 0
                       ? 100 * (double)table->hidden_samples / (double)table->shown_samples
                       : 0;
    struct ss_sentence *out = ss_document_add_note(document, SS_NOTE_ASIDE);
    ss_sentence_add_count(out, table->hidden_rows);
    ss_sentence_add(out, " row");
    ss_sentence_add_plural(out, table->hidden_rows);
    ss_sentence_add(out, small ? " under 30 samples with " : " with ");
    ss_sentence_add_percent(out, share, 1);
    ss_sentence_add(out, " of the samples not shown: ");
    if (small) {
        ss_sentence_add(out, "see --by ");
        ss_sentence_add(out, table->name);
    } else {
        ss_sentence_add(out, table->more_option != NULL ? table->more_option : "--num-rows all");
    }
}

static void add_hidden(const struct ss_table *table, struct ss_document *document)
{
    if (table->hidden_rows > 0 && table->samples_key == NULL) {
        ss_report_add_hidden_rows(table, document);
    } else if (table->hidden_rows > 0) {
        add_hidden_samples(table, document);
    }
    if (table->dropped_samples > 0) {
        struct ss_sentence *out = ss_document_add_note(document, SS_NOTE_ASIDE);
        ss_sentence_add_count(out, table->dropped_samples);
        ss_sentence_add(out, " samples of module code only are in no row: see --by function");
    }
}

/* --- empty tables ----------------------------------------------------------------------------- */

/* That the program did nothing of the kind is certain only if all events were recorded. */
static void add_empty(const struct ss_report_parts *parts, const struct ss_table *table,
                      struct ss_document *document)
{
    const char *why = parts->trust.why_no_marks;
    struct ss_sentence *out = ss_document_add_note(document, SS_NOTE_ASIDE);
    if (table->empty_text == NULL) {
        ss_sentence_add(out, table->hidden_rows > 0
                                 ? "no row has 30 samples or more: too few to name any"
                                 : "no samples");
    } else if (parts->selection->model->filtered_samples > 0) {
        ss_sentence_add(out, "nothing of it in the requested time: --from and --to count from the "
                             "first sample of all files");
    } else if (why == NULL || !table->is_of_program) {
        ss_sentence_add(out, table->empty_text);
    } else {
        ss_sentence_add(out, "nothing of the kind was recorded: ");
        ss_sentence_add_name(out, ss_strview_of(why));
    }
}

/* --- recordings without samples --------------------------------------------------------------- */

static bool has_no_samples(const struct ss_report_parts *parts)
{
    return parts->trust.all.samples == 0 && parts->selection->filtered == 0 &&
           parts->selection->model->filtered_samples == 0;
}

/* Files of other tools that say nothing but names lack more than samples: the header says so. */
static bool has_names_only(const struct ss_model *model)
{
    for (size_t i = 0; i < model->inputs.count; i++) {
        const struct ss_model_input *input = &model->inputs.data[i];
        if (input->kind != SS_INPUT_IMPORT || input->summary.events > 0) {
            return false;
        }
    }
    return true;
}

/* The recorder's note in the file, or what failed. */
static const char *why_no_samples(const struct ss_model *model, const struct ss_trust *trust)
{
    const char *why = "";
    bool all_are_imports = true;
    for (size_t i = 0; i < model->inputs.count; i++) {
        all_are_imports = all_are_imports && model->inputs.data[i].kind == SS_INPUT_IMPORT;
    }
    if (all_are_imports) {
        return "the files have no calls of Python functions (torch.profiler writes them with "
               "with_stack=True)";
    }
    for (size_t i = 0; i < trust->problems.count; i++) {
        const struct ss_trust_problem *problem = &trust->problems.data[i];
        bool explains =
            problem->kind == SS_PROBLEM_UNAVAILABLE || problem->kind == SS_PROBLEM_NO_SAMPLES;
        why = why[0] == '\0' && explains ? problem->reason : why;
    }
    return why[0] != '\0' ? why
                          : "Python ran, but ended before the first sample, or no stack of it "
                            "could be read";
}

static void add_no_samples(const struct ss_report_parts *parts, struct ss_document *document)
{
    struct ss_sentence *out = ss_document_add_note(document, SS_NOTE_FACT);
    document->blocks.data[document->blocks.count - 1].is_joined = false;
    ss_sentence_add(out, "No samples were recorded, so there are no tables of functions, lines and "
                         "threads: ");
    ss_sentence_add_name(out,
                         ss_strview_of(why_no_samples(parts->selection->model, &parts->trust)));
}

/* --- notes on all tables ---------------------------------------------------------------------- */

static void add_outside(uint64_t samples, struct ss_document *document)
{
    struct ss_sentence *out = ss_document_add_note(document, SS_NOTE_ASIDE);
    ss_sentence_add_count(out, samples);
    ss_sentence_add(out, " samples outside these steps (imports, the first step, what lies between "
                         "and after them) not shown: see --by function");
}

void ss_report_add_footer(const struct ss_report_parts *parts, struct ss_document *document)
{
    size_t first = document->blocks.count;
    uint64_t outside = 0;
    bool is_last_sampled = true, has_weak = false;
    for (size_t i = 0; i < first; i++) {
        const struct ss_table *table = ss_block_table_for_programs(&document->blocks.data[i]);
        if (table != NULL) { /* tables of tracks precede tables of samples */
            is_last_sampled = table->samples_key != NULL;
            outside = table->outside_samples > outside ? table->outside_samples : outside;
            has_weak = has_weak || ss_table_has_weak_rows(table);
        }
    }
    if (parts->selection->idle > 0 && is_last_sampled) {
        struct ss_sentence *out = ss_document_add_note(document, SS_NOTE_ASIDE);
        ss_sentence_add_count(out, parts->selection->idle);
        ss_sentence_add(out, " idle samples not shown: --idle all counts them");
    }
    if (outside > 0) {
        add_outside(outside, document);
    }
    if (has_weak) {
        ss_sentence_add(ss_document_add_note(document, SS_NOTE_ASIDE),
                        "Rows with fewer than 30 samples are too uncertain to be hotspots.");
        document->blocks.data[document->blocks.count - 1].note.is_of_marking = true;
    }
    if (document->blocks.count > first) {
        document->blocks.data[first].is_joined = false;
    }
}

/* --- blocks ----------------------------------------------------------------------------------- */

static void add_table_notes(const struct ss_table *table, bool before, struct ss_document *document)
{
    for (size_t i = 0; i < table->notes.count; i++) {
        const struct ss_table_note *note = &table->notes.data[i];
        if (note->is_before == before && table->row_count > 0) {
            *ss_document_add_note(document, note->severity) = note->text;
        }
    }
}

void ss_report_add_table_notes(const struct ss_table *table, struct ss_document *document)
{
    add_table_notes(table, false, document);
}

static bool has_intro(const struct ss_table *table)
{
    return table->row_count > 0 && table->notes.count > 0 && table->notes.data[0].is_before;
}

/* Programs find the columns that they expect, people would read an empty table. */
static void add_for_programs(const struct ss_table *table, struct ss_document *document)
{
    struct ss_block *block = ss_document_add(document, SS_BLOCK_TABLE);
    block->audience = SS_FOR_PROGRAMS;
    block->table.title = table->title;
    block->table.data = *table;
}

static void add_table(const struct ss_report_parts *parts, const struct ss_table *table,
                      struct ss_document *document)
{
    bool is_tree = strcmp(table->name, "tree") == 0, is_introduced = has_intro(table);
    if (is_introduced) {
        ss_document_add(document, SS_BLOCK_HEADING)->heading = table->title;
        add_table_notes(table, true, document);
    }
    struct ss_block *block = ss_document_add(document, is_tree ? SS_BLOCK_TREE : SS_BLOCK_TABLE);
    block->is_joined = is_introduced;
    block->table.title = is_introduced ? NULL : table->title;
    block->table.data = *table;
    block->table.branches = is_tree ? ss_tree_branches_new(table) : NULL;
    ss_report_add_table_notes(table, document);
    if (table->row_count == 0) {
        add_empty(parts, table, document);
    }
    add_hidden(table, document);
}

void ss_report_add_tables(const struct ss_report_parts *parts, const struct ss_table *tables,
                          size_t count, struct ss_document *document)
{
    bool lacks_samples = false, has_samples = !has_no_samples(parts);
    for (size_t i = 0; i < count; i++) {
        if (has_samples || tables[i].samples_key == NULL) {
            add_table(parts, &tables[i], document);
        } else {
            add_for_programs(&tables[i], document);
            lacks_samples = true;
        }
    }
    if (lacks_samples && !has_names_only(parts->selection->model)) {
        add_no_samples(parts, document);
    }
}
