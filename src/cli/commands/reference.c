/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands/reference.h"
#include "base/shared_names.h"

#include <string.h>

#include "analysis/diagnosis/rules.h"
#include "analysis/table/rule_limits.h"
#include "base/env.h"
#include "base/version.h"
#include "cli/line/command.h"
#include "cli/line/translation.h"
#include "cli/reading/formats.h"
#include "trace/event_fields.h"
#include "trace/schema.h"

enum { LAST_EXIT_CODE = 5, MAX_RULE_TEXT_BYTES = 4096 };

const char *ss_exit_code_meaning(int exit_code)
{
    static const char *const meanings[LAST_EXIT_CODE + 1] = {
        "done",
        "a requested check failed",
        "the command line is wrong",
        "the data cannot be read, or not all of it",
        "the environment prevents it: files, permissions, the system",
        "a bug in stepscope",
    };
    return exit_code >= 0 && exit_code <= LAST_EXIT_CODE ? meanings[exit_code] : NULL;
}

static bool is_last(const struct ss_option *option)
{
    return option->long_name == NULL && option->short_name == 0;
}

/* Pipes end a cell of a table, also inside `code`. */
static void append_cell(struct ss_strbuf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '|') {
            ss_strbuf_append_char(out, '\\');
        }
        ss_strbuf_append_char(out, *text == '\n' ? ' ' : *text);
    }
}

static void markdown_option(struct ss_strbuf *out, const struct ss_option *option)
{
    ss_strbuf_append_text(out, "| ");
    if (option->short_name != 0) {
        ss_strbuf_append_format(out, "`-%c`%s", option->short_name,
                                option->long_name != NULL ? ", " : "");
    }
    bool is_optional = option->argument != NULL && option->argument[0] == '[';
    if (option->long_name != NULL) {
        ss_strbuf_append_format(out, is_optional ? "`--%s" : "`--%s`", option->long_name);
    }
    if (option->argument != NULL) {
        ss_strbuf_append_text(out, is_optional ? "" : " `");
        append_cell(out, option->argument);
        ss_strbuf_append_text(out, "`");
    }
    ss_strbuf_append_text(out, " | ");
    append_cell(out, option->help);
    ss_strbuf_append_text(out, " |\n");
}

static void markdown_choices(struct ss_strbuf *out, const struct ss_command *command)
{
    const char *word, *meaning;
    const struct ss_option_choices *choices = command->choices;
    for (; choices != NULL && choices->option != NULL; choices++) {
        ss_strbuf_append_format(out, "\n| `--%s` | |\n|---|---|\n", choices->option);
        for (size_t i = 0; (word = choices->choice(i, &meaning)) != NULL; i++) {
            ss_strbuf_append_format(out, "| `%s` | ", word);
            append_cell(out, meaning);
            ss_strbuf_append_text(out, " |\n");
        }
    }
}

static void markdown_options(struct ss_strbuf *out, const struct ss_option *option)
{
    const char *group = "Options";
    const char *printed = NULL;
    for (; !is_last(option); option++) {
        group = option->group != NULL ? option->group : group;
        if (option->hidden) {
            continue;
        }
        if (printed == NULL || strcmp(printed, group) != 0) {
            ss_strbuf_append_format(out, "\n| %s | |\n|---|---|\n", group);
            printed = group;
        }
        markdown_option(out, option);
    }
}

static void markdown_command(struct ss_strbuf *out, const struct ss_command *command)
{
    ss_strbuf_append_format(out, "\n## stepscope %s\n\n    stepscope %s ", command->name,
                            command->name);
    for (const char *at = command->synopsis; *at != '\0'; at++) { /* indents code */
        ss_strbuf_append_char(out, *at);
        ss_strbuf_append_text(out, *at == '\n' ? "    " : "");
    }
    ss_strbuf_append_text(out, "\n\n");
    for (const char *at = command->description; *at != '\0'; at++) {
        ss_strbuf_append_text(out, *at == '\n' ? "\n\n" : "");
        if (*at != '\n') {
            ss_strbuf_append_char(out, *at);
        }
    }
    ss_strbuf_append_char(out, '\n');
    markdown_options(out, command->options);
    markdown_choices(out, command);
    if (command->examples != NULL && command->examples[0] != NULL) {
        ss_strbuf_append_text(out, "\n```sh\n");
        for (int i = 0; command->examples[i] != NULL; i += 2) {
            ss_strbuf_append_format(out, "%s   # %s\n", command->examples[i],
                                    command->examples[i + 1]);
        }
        ss_strbuf_append_text(out, "```\n");
    }
}

static void append_list(struct ss_strbuf *out, const char *const *names, const char *before,
                        const char *after)
{
    for (int i = 0; i < 4 && names[i] != NULL; i++) {
        ss_strbuf_append_format(out, "%s%s%s%s", i > 0 ? ", " : "", before, names[i], after);
    }
}

static void markdown_formats(struct ss_strbuf *out)
{
    ss_strbuf_append_text(out,
                          "\n## Formats\n\n`record -f`, `export --to` and the ending of a file "
                          "name all take these.\n\n"
                          "| format | also called | endings | written by | what it is |\n"
                          "|---|---|---|---|---|\n");
    for (const struct ss_format_row *row = ss_formats; row->name != NULL; row++) {
        ss_strbuf_append_format(out, "| `%s` | ", row->name);
        append_list(out, row->aliases, "`", "`");
        ss_strbuf_append_text(out, " | ");
        append_list(out, row->endings, "`", "`");
        ss_strbuf_append_format(out, " | %s%s%s | ", row->record ? "record" : "",
                                row->record && row->export ? ", " : "",
                                row->export ? "export" : "");
        append_cell(out, row->help);
        ss_strbuf_append_text(out, " |\n");
    }
}

static void append_schema_head(struct ss_strbuf *out)
{
    ss_strbuf_append_text(out, "\n## Trace records\n\nThe fields of stepscope's payload in a trace "
                               "([the trace format](trace-format.md)).\n\n"
                               "| field | name | type | meaning |\n|---|---|---|---|\n");
    for (const struct ss_payload_field *field = ss_payload_fields; field->name != NULL; field++) {
        ss_strbuf_append_format(out, "| %u | `%s` | %s | ", field->number, field->name,
                                field->type);
        append_cell(out, field->meaning);
        ss_strbuf_append_text(out, " |\n");
    }
    ss_strbuf_append_text(out, "\nIts other fields are messages. A field that is 0 or empty is "
                               "absent, except where it is always written.\n");
}

static void append_schema_field(struct ss_strbuf *out, const struct ss_schema_field *field)
{
    static const char *const types[SS_FIELD_TYPE_COUNT] = {[SS_FIELD_ID] = "varint",
                                                           [SS_FIELD_U32] = "varint",
                                                           [SS_FIELD_U64] = "varint",
                                                           [SS_FIELD_I32] = "varint, zigzag",
                                                           [SS_FIELD_I64] = "varint, zigzag",
                                                           [SS_FIELD_BOOL] = "varint",
                                                           [SS_FIELD_FIXED32] = "fixed32",
                                                           [SS_FIELD_ENUM] = "varint",
                                                           [SS_FIELD_KIND] = "varint",
                                                           [SS_FIELD_REF] = "varint",
                                                           [SS_FIELD_PACKED] = "packed varints",
                                                           [SS_FIELD_TEXT] = "bytes"};
    ss_strbuf_append_format(out, "| %u | `%s` | %s%s | %s | ", field->number, field->name,
                            types[field->type], field->is_key ? ", always written" : "",
                            field->unit);
    append_cell(out, field->meaning);
    ss_strbuf_append_text(out, " |\n");
}

/* What the payload of a trace contains. */
static void markdown_schema(struct ss_strbuf *out)
{
    append_schema_head(out);
    for (int i = 0; i < SS_SCHEMA_COUNT; i++) {
        const struct ss_schema_record *record = &ss_schema[i];
        ss_strbuf_append_format(out, "\nField %u, `%s`: ", record->number, record->name);
        ss_strbuf_append_format(out,
                                "%s.\n\n| field | name | type | unit | meaning "
                                "|\n|---|---|---|---|---|\n",
                                record->meaning);
        for (size_t k = 0; k < record->field_count; k++) {
            append_schema_field(out, &record->fields[k]);
        }
    }
}

/* A text of a rule as a cell, with the values of its limits. */
static void append_rule_cell(struct ss_strbuf *out, const char *text)
{
    struct ss_strbuf cell;
    ss_strbuf_init(&cell, MAX_RULE_TEXT_BYTES);
    ss_rule_text_append(text, &cell);
    append_cell(out, cell.data);
    ss_strbuf_fini(&cell);
}

/* Kinds and typed fields of events. */
static void markdown_events(struct ss_strbuf *out)
{
    static const char *const types[] = {[SS_VALUE_NONE] = "",
                                        [SS_VALUE_INT] = "integer",
                                        [SS_VALUE_UINT] = "unsigned integer",
                                        [SS_VALUE_REAL] = "real",
                                        [SS_VALUE_TEXT] = "text"};
    ss_strbuf_append_text(out, "\n## Events\n\nThe name of an event says its kind.\n\n"
                               "| number | kind | its payload, if it is a number | meaning |\n"
                               "|---|---|---|---|\n");
    for (int i = 1; i < SS_EVENT_TYPE_COUNT; i++) {
        const struct ss_event_type_row *row = &ss_event_types[i];
        const char *payload = ss_event_fields[row->payload].name;
        ss_strbuf_append_format(out, "| %d | `%s` | %s | ", i, row->name,
                                payload != NULL ? payload : "");
        append_cell(out, row->meaning);
        ss_strbuf_append_text(out, " |\n");
    }
    ss_strbuf_append_text(out,
                          "\nTyped fields that an event may carry: debug annotations with these "
                          "names.\n\n| number | field | type | unit | meaning |\n"
                          "|---|---|---|---|---|\n");
    for (int i = 1; i < SS_EVENT_FIELD_COUNT; i++) {
        const struct ss_event_field *field = &ss_event_fields[i];
        bool is_ref = field->entity != SS_SCHEMA_COUNT;
        ss_strbuf_append_format(
            out, "| %d | `%s` | %s%s | %s | ", i, field->name, is_ref ? "id of a " : "",
            is_ref ? ss_schema[field->entity].name : types[field->type], field->unit);
        append_cell(out, field->meaning);
        ss_strbuf_append_text(out, " |\n");
    }
}

/* What C and PyTorch's hooks call the same. */
static void markdown_names(struct ss_strbuf *out)
{
    ss_strbuf_append_text(out,
                          "\n## Names\n\nDomains of ranges, phases of steps, facts of processes "
                          "and counters that recordings of trainings have.\n\n"
                          "| kind | name | meaning |\n|---|---|---|\n");
    for (const struct ss_shared_name *name = ss_shared_names; name->kind != NULL; name++) {
        ss_strbuf_append_format(out, "| %s | `%s` | ", name->kind, name->text);
        append_cell(out, name->meaning);
        ss_strbuf_append_text(out, " |\n");
    }
}

static void markdown_rules(struct ss_strbuf *out)
{
    ss_strbuf_append_format(
        out,
        "\n## Rules\n\nThe rules behind the findings of `report`. A rule reports a finding when "
        "its cause costs at least this share of a step, and never below %d %%; a rule without a "
        "figure is not about time.\n\n| rule | says | when | needs | at least | recoverable at "
        "most |\n|---|---|---|---|---|---|\n",
        SS_LIMIT_FINDING_PERCENT);
    for (const struct ss_rule *rule = ss_rules; rule->id != NULL; rule++) {
        const char *const cells[] = {rule->headline, rule->fires, rule->needs};
        ss_strbuf_append_format(out, "| `%s`", rule->id);
        for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
            ss_strbuf_append_text(out, " | ");
            append_rule_cell(out, cells[i]);
        }
        if (rule->least_percent > 0) {
            ss_strbuf_append_format(out, " | %.0f %%", rule->least_percent);
        } else {
            ss_strbuf_append_text(out, " | ");
        }
        ss_strbuf_append_text(out, " | ");
        append_rule_cell(out, rule->estimate);
        ss_strbuf_append_text(out, " |\n");
    }
}

static void markdown_rule_limits(struct ss_strbuf *out)
{
    ss_strbuf_append_text(out, "\n### Limits of the rules\n\n| limit | value | of what |\n"
                               "|---|---|---|\n");
    for (const struct ss_rule_limit *limit = ss_rule_limits; limit->name != NULL; limit++) {
        ss_strbuf_append_format(out, "| `%s` | ", limit->name);
        ss_rule_limit_append(limit, out);
        ss_strbuf_append_text(out, " | ");
        append_cell(out, limit->meaning);
        ss_strbuf_append_text(out, " |\n");
    }
}

static void markdown_environment(struct ss_strbuf *out)
{
    ss_strbuf_append_text(out, "\n## Environment\n\n| variable | meaning |\n|---|---|\n");
    for (int i = 0; i < SS_ENV_COUNT; i++) {
        ss_strbuf_append_format(out, "| `%s` | ", ss_env_name((enum ss_env)i));
        append_cell(out, ss_env_text((enum ss_env)i));
        ss_strbuf_append_text(out, " |\n");
    }
}

/* The variables that `record` sets for the program, from the recorder's own table. */
static void markdown_child_environment(struct ss_strbuf *out)
{
    static const struct {
        const char *name, *text;
    } rows[] = {
#define SS_CHILD_ENV(name, value, text) {#name, text},
#define SS_CHILD_INJECT(name, value, source, text) {#name, text},
#define SS_CHILD_APPEND(name, value, separator, source, text) {#name, text},
#define SS_CHILD_PREPEND(name, value, separator, source, text) {#name, text},
#include "record/run/child_env.def"
#undef SS_CHILD_ENV
#undef SS_CHILD_INJECT
#undef SS_CHILD_APPEND
#undef SS_CHILD_PREPEND
    };
    ss_strbuf_append_text(out, "\n`record` sets these variables for the program that it starts, "
                               "unless `--no-inject` is given or the variable is set already "
                               "(`record` extends lists):\n\n| variable | meaning |\n|---|---|\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ss_strbuf_append_format(out, "| `%s` | ", rows[i].name);
        append_cell(out, rows[i].text);
        ss_strbuf_append_text(out, " |\n");
    }
}

static void append_statuses(struct ss_strbuf *out, int exit_code)
{
    bool first = true;
    for (int i = 0; i < SS_STATUS_COUNT; i++) {
        if (ss_status_exit_code((enum ss_status)i) == exit_code) {
            ss_strbuf_append_format(out, "%s%s", first ? "" : "; ",
                                    ss_status_text((enum ss_status)i));
            first = false;
        }
    }
}

static void markdown_exit_codes(struct ss_strbuf *out)
{
    ss_strbuf_append_text(out, "\n## Exit status\n\n"
                               "| status | meaning | what it can be |\n|---|---|---|\n");
    for (int code = 0; code <= LAST_EXIT_CODE; code++) {
        ss_strbuf_append_format(out, "| %d | %s | ", code, ss_exit_code_meaning(code));
        append_statuses(out, code);
        ss_strbuf_append_text(out, " |\n");
    }
    ss_strbuf_append_text(
        out, "\n`stepscope record -- PROGRAM` ends as the program does: with its status, or by the "
             "same signal. 127: the program was not found; 126: it could not be started; 125: "
             "stepscope could not start it.\n");
}

void ss_reference_markdown(struct ss_strbuf *out)
{
    ss_strbuf_append_text(out, "<!-- SPDX-License-Identifier: Apache-2.0. Generated by \"stepscope "
                               "help --format markdown\"; run make docs. -->\n"
                               "# Reference\n\n| command | what it does |\n|---|---|\n");
    for (int i = 0; ss_commands[i] != NULL; i++) {
        ss_strbuf_append_format(out, "| [`%s`](#stepscope-%s) | %s |\n", ss_commands[i]->name,
                                ss_commands[i]->name, ss_commands[i]->summary);
    }
    ss_strbuf_append_text(out, "\nA command may be shortened as long as it stays unambiguous "
                               "(`rec`). Every command has `--help`.\n");
    for (int i = 0; ss_commands[i] != NULL; i++) {
        markdown_command(out, ss_commands[i]);
    }
    ss_translation_append_tables(out);
    markdown_formats(out);
    markdown_rules(out);
    markdown_rule_limits(out);
    markdown_schema(out);
    markdown_events(out);
    markdown_names(out);
    markdown_environment(out);
    markdown_child_environment(out);
    markdown_exit_codes(out);
}

/* Escapes hyphens, backslashes, and lines that roff would read as requests. */
static void append_roff(struct ss_strbuf *out, const char *text)
{
    bool line_start = true;
    for (; *text != '\0'; text++) {
        if (line_start && (*text == '.' || *text == '\'')) {
            ss_strbuf_append_text(out, "\\&");
        }
        if (*text == '\\') {
            ss_strbuf_append_text(out, "\\e");
        } else if (*text == '-') {
            ss_strbuf_append_text(out, "\\-");
        } else if (*text == '\n') {
            ss_strbuf_append_text(out, "\n.PP\n");
        } else if (*text != '`') {
            ss_strbuf_append_char(out, *text);
        }
        line_start = *text == '\n';
    }
}

static void man_option(struct ss_strbuf *out, const struct ss_option *option)
{
    ss_strbuf_append_text(out, ".TP\n");
    if (option->short_name != 0) {
        ss_strbuf_append_format(out, "\\fB\\-%c\\fR%s", option->short_name,
                                option->long_name != NULL ? ", " : "");
    }
    if (option->long_name != NULL) {
        ss_strbuf_append_text(out, "\\fB\\-\\-");
        append_roff(out, option->long_name);
        ss_strbuf_append_text(out, "\\fR");
    }
    if (option->argument != NULL) {
        ss_strbuf_append_text(out, option->argument[0] == '[' ? "\\fI" : " \\fI");
        append_roff(out, option->argument);
        ss_strbuf_append_text(out, "\\fR");
    }
    ss_strbuf_append_char(out, '\n');
    append_roff(out, option->help);
    ss_strbuf_append_char(out, '\n');
}

static void man_choices(struct ss_strbuf *out, const struct ss_option_choices *choices)
{
    const char *word, *meaning;
    ss_strbuf_append_text(out, ".RS\n");
    for (size_t i = 0; (word = choices->choice(i, &meaning)) != NULL; i++) {
        ss_strbuf_append_text(out, ".TP\n\\fB");
        append_roff(out, word);
        ss_strbuf_append_text(out, "\\fR\n");
        append_roff(out, meaning);
        ss_strbuf_append_char(out, '\n');
    }
    ss_strbuf_append_text(out, ".RE\n");
}

static void man_command(struct ss_strbuf *out, const struct ss_command *command)
{
    ss_strbuf_append_text(out, ".SS stepscope ");
    append_roff(out, command->name);
    ss_strbuf_append_char(out, ' ');
    append_roff(out, command->synopsis);
    ss_strbuf_append_text(out, strchr(command->synopsis, '\n') != NULL ? "\n.PP\n" : "\n");
    append_roff(out, command->description);
    ss_strbuf_append_char(out, '\n');
    for (const struct ss_option *option = command->options; !is_last(option); option++) {
        if (!option->hidden) {
            man_option(out, option);
        }
        const struct ss_option_choices *choices = ss_option_choices_of(command, option);
        if (choices != NULL) {
            man_choices(out, choices);
        }
    }
    for (int i = 0; command->examples != NULL && command->examples[i] != NULL; i += 2) {
        ss_strbuf_append_text(out, i == 0 ? ".PP\nExamples:\n" : "");
        ss_strbuf_append_text(out, ".TP\n\\fB");
        append_roff(out, command->examples[i]);
        ss_strbuf_append_text(out, "\\fR\n");
        append_roff(out, command->examples[i + 1]);
        ss_strbuf_append_char(out, '\n');
    }
}

static void man_tables(struct ss_strbuf *out)
{
    ss_strbuf_append_text(out, ".SH FORMATS\n");
    for (const struct ss_format_row *row = ss_formats; row->name != NULL; row++) {
        ss_strbuf_append_text(out, ".TP\n\\fB");
        append_roff(out, row->name);
        ss_strbuf_append_text(out, "\\fR (");
        append_list(out, row->endings, "", "");
        ss_strbuf_append_text(out, ")\n");
        append_roff(out, row->help);
        ss_strbuf_append_char(out, '\n');
    }
    ss_strbuf_append_text(out, ".SH ENVIRONMENT\n");
    for (int i = 0; i < SS_ENV_COUNT; i++) {
        ss_strbuf_append_format(out, ".TP\n\\fB%s\\fR\n", ss_env_name((enum ss_env)i));
        append_roff(out, ss_env_text((enum ss_env)i));
        ss_strbuf_append_char(out, '\n');
    }
    ss_strbuf_append_text(out, ".SH \"EXIT STATUS\"\n");
    for (int code = 0; code <= LAST_EXIT_CODE; code++) {
        ss_strbuf_append_format(out, ".TP\n\\fB%d\\fR\n%s\n", code, ss_exit_code_meaning(code));
    }
    ss_strbuf_append_text(out, ".PP\nstepscope record ends as the recorded program does; 125 means "
                               "that it could not be started.\n");
}

void ss_reference_man(struct ss_strbuf *out)
{
    ss_strbuf_append_format(out,
                            ".\\\" SPDX-License-Identifier: Apache-2.0\n"
                            ".TH STEPSCOPE 1 \"\" \"stepscope %s\" \"User Commands\"\n"
                            ".SH NAME\nstepscope \\- one timeline of a training run, and where its "
                            "time went\n"
                            ".SH SYNOPSIS\n\\fBstepscope\\fR \\fICOMMAND\\fR [options] …\n"
                            ".SH COMMANDS\n",
                            SS_VERSION);
    for (int i = 0; ss_commands[i] != NULL; i++) {
        man_command(out, ss_commands[i]);
    }
    man_tables(out);
}

/* True for "text|csv|json": an argument that lists its values. */
static bool lists_choices(const char *argument)
{
    return argument != NULL && strchr(argument, '|') != NULL &&
           strspn(argument, "abcdefghijklmnopqrstuvwxyz0123456789-|") == strlen(argument);
}

static void append_words(struct ss_strbuf *out, const char *choices)
{
    for (; *choices != '\0'; choices++) {
        ss_strbuf_append_char(out, *choices == '|' ? ' ' : *choices);
    }
}

static void bash_values(struct ss_strbuf *out, const struct ss_command *command)
{
    for (const struct ss_option *option = command->options; !is_last(option); option++) {
        const struct ss_option_choices *choices = ss_option_choices_of(command, option);
        if (option->hidden || option->long_name == NULL ||
            (choices == NULL && !lists_choices(option->argument))) {
            continue;
        }
        ss_strbuf_append_format(out, "        %s:--%s", command->name, option->long_name);
        if (option->short_name != 0) {
            ss_strbuf_append_format(out, " | %s:-%c", command->name, option->short_name);
        }
        ss_strbuf_append_text(out, ") words=\"");
        const char *word, *meaning;
        for (size_t i = 0; choices != NULL && (word = choices->choice(i, &meaning)) != NULL; i++) {
            ss_strbuf_append_format(out, "%s%s", i > 0 ? " " : "", word);
        }
        append_words(out, choices != NULL ? "" : option->argument);
        ss_strbuf_append_text(out, "\" ;;\n");
    }
}

static void bash_options(struct ss_strbuf *out, const struct ss_command *command)
{
    ss_strbuf_append_format(out, "        %s) words=\"--help", command->name);
    for (const struct ss_option *option = command->options; !is_last(option); option++) {
        if (!option->hidden && option->long_name != NULL) {
            ss_strbuf_append_format(out, " --%s", option->long_name);
        }
    }
    ss_strbuf_append_text(out, "\" ;;\n");
}

void ss_reference_bash(struct ss_strbuf *out)
{
    ss_strbuf_append_text(
        out, "# SPDX-License-Identifier: Apache-2.0\n"
             "# bash completion for stepscope; generated from its command tables.\n"
             "_stepscope()\n{\n"
             "    local current=\"${COMP_WORDS[COMP_CWORD]}\" words=\"\"\n"
             "    local previous=\"${COMP_WORDS[COMP_CWORD - 1]}\"\n"
             "    COMPREPLY=()\n"
             "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        words=\"--help --version");
    for (int i = 0; ss_commands[i] != NULL; i++) {
        ss_strbuf_append_format(out, " %s", ss_commands[i]->name);
    }
    ss_strbuf_append_text(out, "\"\n    else\n"
                               "        case \"${COMP_WORDS[1]}:$previous\" in\n");
    for (int i = 0; ss_commands[i] != NULL; i++) {
        bash_values(out, ss_commands[i]);
    }
    ss_strbuf_append_text(out, "        *) ;;\n        esac\n    fi\n"
                               "    if [ -z \"$words\" ] && [ \"${current#-}\" != \"$current\" ]; "
                               "then\n        case \"${COMP_WORDS[1]}\" in\n");
    for (int i = 0; ss_commands[i] != NULL; i++) {
        bash_options(out, ss_commands[i]);
    }
    ss_strbuf_append_text(out, "        *) ;;\n        esac\n    fi\n"
                               "    # shellcheck disable=SC2207\n"
                               "    [ -n \"$words\" ] && COMPREPLY=($(compgen -W \"$words\" -- "
                               "\"$current\"))\n    return 0\n}\n"
                               "complete -o bashdefault -o default -F _stepscope stepscope\n");
}
