/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a training, in the overview. */
#include "analysis/report/report_parts.h"

/* "memory rss: 301.3 MiB at the first step, 301.8 MiB at the last, at most 557.5 MiB in backward of
 * step 0: 2.3 % of the machine's memory" */
static void add_memory(const struct ss_memory *memory, const struct ss_step_summary *training,
                       const struct ss_model *model, struct ss_sentence *out)
{
    ss_sentence_add_name(out, ss_intern_get(&model->strings, memory->name));
    ss_sentence_add(out, ": ");
    ss_sentence_add_bytes(out, memory->first);
    ss_sentence_add(out, " at the first step, ");
    ss_sentence_add_bytes(out, memory->last);
    ss_sentence_add(out, " at the last, at most ");
    ss_sentence_add_bytes(out, memory->peak);
    if (memory->peak_phase < training->phases.count) {
        ss_sentence_add(out, " in ");
        ss_report_add_phase(model, &training->phases.data[memory->peak_phase], out);
        ss_sentence_add(out, " of step ");
        ss_sentence_add_number(out, memory->peak_step);
    } else if (memory->was_before) {
        ss_sentence_add(out, ", from before the first step");
    }
    if (memory->limit > 0) {
        double percent = 100 * memory->peak / memory->limit;
        ss_sentence_add(out, ": ");
        ss_sentence_add_percent(out, percent, percent < 10);
        ss_sentence_add(out, " of ");
        ss_sentence_add(out, memory->limit_of);
        ss_sentence_add(out, ", ");
        ss_sentence_add_bytes(out, memory->limit);
    }
    if (memory->grows) {
        ss_sentence_add(out, "; grows by ");
        ss_sentence_add_bytes(out, memory->bytes_per_step);
        ss_sentence_add(out, " with each step");
    }
}

/* Adds a line for each memory of a process; true: other processes have memories too. */
static bool add_memories(const struct ss_report_parts *parts, uint32_t process,
                         struct ss_document *document)
{
    const struct ss_memories *memories = &parts->facts.memories;
    bool has_more = false;
    for (size_t i = 0; i < memories->rows.count; i++) {
        const struct ss_memory *memory = &memories->rows.data[i];
        has_more = has_more || memory->process != process;
        if (memory->process == process) {
            struct ss_sentence *item = ss_document_add_item(document, SS_NOTE_FACT);
            add_memory(memory, &parts->training, parts->selection->model, item);
        }
    }
    return has_more;
}

void ss_report_add_memory(const struct ss_report_parts *parts, struct ss_document *document)
{
    const struct ss_memories *memories = &parts->facts.memories;
    const struct ss_memory *main_memory = ss_memories_main(memories);
    if (memories->rows.count == 0) {
        return;
    }
    ss_document_add(document, SS_BLOCK_HEADING)->heading = "Memory";
    uint32_t process = main_memory != NULL ? main_memory->process : memories->rows.data[0].process;
    bool has_more = add_memories(parts, process, document);
    if (main_memory != NULL) {
        struct ss_table table;
        ss_memory_phases_table(memories, main_memory, parts->selection, &parts->training, &table);
        struct ss_block *block = ss_document_join(document, SS_BLOCK_TABLE);
        block->audience = SS_FOR_PEOPLE;
        block->table.data = table;
        block->table.has_one_owner = true;
        ss_report_add_table_notes(&table, document);
    }
    if (has_more) {
        ss_sentence_add(ss_document_add_note(document, SS_NOTE_FACT),
                        "of one process; of all of them: --by memory");
    }
}
