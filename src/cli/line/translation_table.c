/* SPDX-License-Identifier: Apache-2.0 */
/* The translations as tables for people. */
#include "cli/line/translation.h"

#include <string.h>

#include "cli/line/translation_inside.h"

static void append_words(struct ss_strbuf *out, const char *text)
{
    size_t length = strcspn(text, "|");
    if (length > 0) {
        ss_strbuf_append_char(out, '`');
        for (size_t i = 0; i < length; i++) {
            bool is_value = text[i] == '%' && text[i + 1] == 's';
            ss_strbuf_append(out, is_value ? "…" : text + i, is_value ? strlen("…") : 1);
            i += is_value;
        }
        ss_strbuf_append_char(out, '`');
    }
    if (text[length] == '|') {
        const char *remark = text + length + 1;
        const char *colon = length == 0 ? strstr(remark, ": ") : NULL;
        ss_strbuf_append_format(out, "%s%s", length > 0 ? "; " : "",
                                colon != NULL ? colon + 2 : remark);
    }
}

/* What `action` with `text` does, as a cell. */
static void append_effect(struct ss_strbuf *out, enum ss_translated_action action, const char *text)
{
    const char *colon;
    switch (action) {
    case GIVE:
    case CAPTURE:
        append_words(out, text);
        break;
    case IF_TRUE:
    case IF_FALSE:
        ss_strbuf_append_format(out, "%s: ", action == IF_TRUE ? "true" : "false");
        append_words(out, text);
        break;
    case REMARK:
        colon = strstr(text, ": ");
        ss_strbuf_append_text(out, colon != NULL ? colon + 2 : text);
        break;
    case INSTEAD:
        ss_strbuf_append_format(out, "refused; instead: %s", text);
        break;
    case OUTPUT:
        ss_strbuf_append_text(out, "`--output NAME.pftrace`");
        break;
    case KERNEL:
        ss_strbuf_append_text(out, "`--kernel REGEX`");
        break;
    case ENVIRONMENT:
        ss_strbuf_append_text(out, "`env NAME=VALUE` before the program");
        break;
    case SETS:
        ss_strbuf_append_text(out, "see below");
        break;
    default:
        ss_strbuf_append_format(out, "always: %s", text);
        break;
    }
}

static void append_row_name(struct ss_strbuf *out, const struct ss_translation_row *row,
                            const char *word)
{
    ss_strbuf_append_text(out, "| ");
    if (row->letter != 0) {
        ss_strbuf_append_format(out, "`-%c`, ", row->letter);
    }
    ss_strbuf_append_format(out, "`--%s%s%s` | ", row->name, word != NULL ? " " : "",
                            word != NULL ? word : "");
}

static void append_row(struct ss_strbuf *out, const struct ss_translation_row *row)
{
    if (row->action != ONE_OF && row->action != SOME_OF) {
        append_row_name(out, row, NULL);
        append_effect(out, row->action, row->text);
        ss_strbuf_append_text(out, " |\n");
        return;
    }
    for (size_t i = 0; i < ss_translation_word_count; i++) {
        const struct ss_translation_word *word = &ss_translation_words[i];
        if (word->mode == row->mode && strcmp(word->name, row->name) == 0) {
            append_row_name(out, row, word->word != NULL ? word->word : "…");
            append_effect(out, word->action, word->text);
            ss_strbuf_append_text(out, " |\n");
        }
    }
}

void ss_translation_append_table(struct ss_strbuf *out, const char *tool)
{
    for (size_t i = 0; i < SS_TRANSLATED_MODES; i++) {
        const struct ss_translation_mode *mode = &ss_translation_modes[i];
        if (strcmp(mode->tool, tool) != 0) {
            continue;
        }
        ss_strbuf_append_format(out, "\n### `%s%s%s`\n\n", tool, mode->word != NULL ? " " : "",
                                mode->word != NULL ? mode->word : "");
        if (mode->command == NULL) {
            ss_strbuf_append_format(out, "Refused; instead: %s.\n", mode->instead);
            continue;
        }
        ss_strbuf_append_format(out, "Is `stepscope %s`.\n\n| Option | Here |\n|---|---|\n",
                                mode->command);
        for (size_t j = 0; j < ss_translation_row_count; j++) {
            if (ss_translation_rows[j].mode == (enum ss_translated_mode)i) {
                append_row(out, &ss_translation_rows[j]);
            }
        }
    }
}

void ss_translation_append_tables(struct ss_strbuf *out)
{
    static const char *const tools[] = {"nsys", "ncu", "py-spy"};
    ss_strbuf_append_text(
        out,
        "\n## Command lines of other profilers\n\n`stepscope nsys profile …`, `stepscope ncu …` "
        "and `stepscope py-spy record …` take the options of those tools. The first line that "
        "they print is the command line of stepscope that they run.\n");
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
        ss_translation_append_table(out, tools[i]);
    }
}
