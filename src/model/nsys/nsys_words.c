/* SPDX-License-Identifier: Apache-2.0 */
#include "model/nsys/nsys_words.h"

#include <stdio.h>
#include <string.h>

static const char *const memory_labels[] = {"Pageable",       "Pinned",  "Device",
                                            "Array",          "Managed", "Device Static",
                                            "Managed Static", "Unknown"};
static const char *const copy_words[] = {"",     "HTOD",     "DTOH",     "HTOA",    "ATOH",
                                         "ATOA", "ATOD",     "DTOA",     "DTOD",    "HTOH",
                                         "PTOP", "UVM_HTOD", "UVM_DTOH", "UVM_DTOD"};

static void set_word(char *word, struct ss_strview text)
{
    if (text.length > 0 && text.length < SS_NSYS_MOST_WORD_BYTES) {
        memcpy(word, text.data, text.length);
        word[text.length] = '\0';
    }
}

/* "HTOD" of "CUDA_MEMCPY_KIND_HTOD" */
static struct ss_strview last_part(struct ss_strview name)
{
    static const char marker[] = "_KIND_";
    const char *at = memmem(name.data, name.length, marker, sizeof marker - 1);
    if (at == NULL) {
        return (struct ss_strview){"", 0};
    }
    at += sizeof marker - 1;
    return (struct ss_strview){at, (size_t)(name.data + name.length - at)};
}

static void read_table(struct ss_sqlite_file *file, const char *table, const char *column,
                       bool is_last_part, char words[][SS_NSYS_MOST_WORD_BYTES])
{
    const char *const columns[] = {"id", column};
    struct ss_sqlite_rows rows;
    ss_sqlite_begin(&rows, file, table, columns, 2);
    while (ss_sqlite_next(&rows)) {
        int64_t number;
        struct ss_strview text = ss_sqlite_text(&rows, 1);
        if (ss_sqlite_integer(&rows, 0, &number) && number >= 0 && number < SS_NSYS_MOST_WORDS) {
            set_word(words[number], is_last_part ? last_part(text) : text);
        }
    }
    ss_sqlite_end(&rows);
}

void ss_nsys_words_init(struct ss_nsys_words *words, struct ss_sqlite_file *file)
{
    memset(words, 0, sizeof *words);
    for (size_t i = 0; i < sizeof memory_labels / sizeof *memory_labels; i++) {
        set_word(words->memories[i], ss_strview_of(memory_labels[i]));
    }
    for (size_t i = 0; i < sizeof copy_words / sizeof *copy_words; i++) {
        set_word(words->copies[i], ss_strview_of(copy_words[i]));
    }
    read_table(file, "ENUM_CUDA_MEM_KIND", "label", false, words->memories);
    read_table(file, "ENUM_CUDA_MEMCPY_OPER", "name", true, words->copies);
}

/* --- memories --------------------------------------------------------------------------------- */

static bool is_word(int64_t kind)
{
    return kind >= 0 && kind < SS_NSYS_MOST_WORDS;
}

const char *ss_nsys_memory_label(const struct ss_nsys_words *words, int64_t kind)
{
    return is_word(kind) && words->memories[kind][0] != '\0' ? words->memories[kind] : "Unknown";
}

const char *ss_nsys_memory(const struct ss_nsys_words *words, int64_t kind)
{
    static const char *const memories[][2] = {
        {"Pageable", "pageable"}, {"Pinned", "pinned"},         {"Device", "device"},
        {"Array", "array"},       {"Managed", "managed"},       {"Device Static", "device"},
        {"Host", "host"},         {"Managed Static", "managed"}};
    const char *label = ss_nsys_memory_label(words, kind);
    for (size_t i = 0; i < sizeof memories / sizeof *memories; i++) {
        if (strcmp(label, memories[i][0]) == 0) {
            return memories[i][1];
        }
    }
    return "";
}

/* --- copies ----------------------------------------------------------------------------------- */

/* The letters of the two ends: "HTOD", "UVM_HTOD". False: an unknown word. */
static bool read_ends(const char *word, char *from, char *to, bool *is_unified)
{
    static const char unified[] = "UVM_";
    *is_unified = strncmp(word, unified, sizeof unified - 1) == 0;
    word += *is_unified ? sizeof unified - 1 : 0;
    bool is_known = strlen(word) == 4 && word[1] == 'T' && word[2] == 'O';
    *from = is_known ? word[0] : '\0';
    *to = is_known ? word[3] : '\0';
    return is_known;
}

static const char *word_of(const struct ss_nsys_words *words, int64_t kind)
{
    return is_word(kind) ? words->copies[kind] : "";
}

static const char *memory_of_end(char letter)
{
    return letter == 'H'                    ? "host"
           : letter == 'D' || letter == 'P' ? "device"
           : letter == 'A'                  ? "array"
                                            : "";
}

struct ss_nsys_copy ss_nsys_copy_of(const struct ss_nsys_words *words, int64_t kind, int64_t from,
                                    int64_t to)
{
    char from_letter, to_letter;
    bool is_unified;
    struct ss_nsys_copy copy = {.kind = is_word(kind) ? kind : -1,
                                .from_kind = is_word(from) ? from : -1,
                                .to_kind = is_word(to) ? to : -1};
    copy.key = ((copy.kind + 1) * 64 + copy.from_kind + 1) * 64 + copy.to_kind + 1;
    read_ends(word_of(words, copy.kind), &from_letter, &to_letter, &is_unified);
    copy.from = ss_nsys_memory(words, copy.from_kind);
    copy.to = ss_nsys_memory(words, copy.to_kind);
    copy.from = copy.from[0] != '\0' ? copy.from : memory_of_end(from_letter);
    copy.to = copy.to[0] != '\0' ? copy.to : memory_of_end(to_letter);
    return copy;
}

void ss_nsys_copy_name(const struct ss_nsys_words *words, const struct ss_nsys_copy *copy,
                       char *text, size_t size)
{
    char from, to, ends[8] = "";
    bool is_unified;
    if (read_ends(word_of(words, copy->kind), &from, &to, &is_unified)) {
        snprintf(ends, sizeof ends, "%cto%c ", from, to);
    }
    snprintf(text, size, "Memcpy %s%s(%s -> %s)", ends, is_unified ? "unified " : "",
             ss_nsys_memory_label(words, copy->from_kind),
             ss_nsys_memory_label(words, copy->to_kind));
}
