/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/process_names.h"

#include <string.h>

static bool begins_with(struct ss_strview text, const char *with)
{
    size_t length = strlen(with);
    return text.length >= length && memcmp(text.data, with, length) == 0;
}

static struct ss_strview base_name(struct ss_strview path)
{
    size_t begin = path.length;
    while (begin > 0 && path.data[begin - 1] != '/') {
        begin--;
    }
    return (struct ss_strview){path.data + begin, path.length - begin};
}

static struct ss_strview next_word(struct ss_strview *rest)
{
    const char *space = rest->length > 0 ? memchr(rest->data, ' ', rest->length) : NULL;
    size_t length = space != NULL ? (size_t)(space - rest->data) : rest->length;
    struct ss_strview word = {rest->data, length};
    size_t skip = space != NULL ? length + 1 : length;
    rest->data += skip;
    rest->length -= skip;
    return word;
}

struct ss_strview ss_process_short_name(const struct ss_trace_process *process)
{
    struct ss_strview rest = process->cmdline;
    struct ss_strview program = base_name(next_word(&rest)), word;
    if (begins_with(program, "python")) {
        while ((word = next_word(&rest)).length > 0) {
            if (word.data[0] != '-' || begins_with(word, "-c")) {
                break;
            }
            if (begins_with(word, "-m")) {
                word = next_word(&rest);
                break;
            }
            if (ss_strview_equal(word, ss_strview_of("-X")) ||
                ss_strview_equal(word, ss_strview_of("-W"))) {
                next_word(&rest);
            }
        }
        word = base_name(word);
        if (word.length > 0 && word.data[0] != '-') {
            return word;
        }
    }
    return program.length > 0         ? program
           : process->name.length > 0 ? process->name
                                      : ss_strview_of("process");
}

void ss_process_append_title(const struct ss_trace_process *process, struct ss_strbuf *out)
{
    if (process->label.length > 0) {
        ss_strbuf_append_view(out, process->label);
        ss_strbuf_append_text(out, ": ");
    }
    ss_strbuf_append_view(out, ss_process_short_name(process));
}
