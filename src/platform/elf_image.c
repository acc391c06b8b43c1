/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/elf_image.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

enum {
    MAX_HEADERS = 64,
    MAX_DYNAMIC = 512,
    MAX_SYMBOLS = 1 << 20,
    MAX_STRINGS = 16 << 20,
};

struct image {
    struct ss_memory_reader *reader;
    uint64_t bias; /* load address - link-time address */
    uint64_t dynamic, dynamic_count;
    uint64_t symbols, symbol_count;
    uint64_t strings, string_bytes;
};

static bool read_headers(struct image *image, uint64_t start)
{
    Elf64_Ehdr header;
    Elf64_Phdr segments[MAX_HEADERS];
    bool has_load = false;
    if (!ss_memory_read(image->reader, start, &header, sizeof header) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_phentsize != sizeof segments[0] || header.e_phnum > MAX_HEADERS ||
        !ss_memory_read(image->reader, start + header.e_phoff, segments,
                        header.e_phnum * sizeof segments[0])) {
        return false;
    }
    for (size_t i = 0; i < header.e_phnum; i++) {
        if (segments[i].p_type == PT_LOAD && !has_load) {
            image->bias = start - (segments[i].p_vaddr & ~((uint64_t)sysconf(_SC_PAGESIZE) - 1));
            has_load = true;
        } else if (segments[i].p_type == PT_DYNAMIC) {
            image->dynamic = segments[i].p_vaddr;
            image->dynamic_count = segments[i].p_memsz / sizeof(Elf64_Dyn);
        }
    }
    image->dynamic += image->bias;
    return has_load && image->dynamic_count > 0;
}

/* glibc adds the load bias to the addresses in the dynamic section, musl leaves them as in the
 * file. */
static uint64_t relocated(const struct image *image, uint64_t address)
{
    return address < image->bias ? address + image->bias : address;
}

static bool read_dynamic(struct image *image)
{
    Elf64_Dyn entries[MAX_DYNAMIC];
    size_t count = image->dynamic_count < MAX_DYNAMIC ? (size_t)image->dynamic_count : MAX_DYNAMIC;
    if (!ss_memory_read(image->reader, image->dynamic, entries, count * sizeof entries[0])) {
        return false;
    }
    for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
        if (entries[i].d_tag == DT_SYMTAB) {
            image->symbols = relocated(image, entries[i].d_un.d_ptr);
        } else if (entries[i].d_tag == DT_STRTAB) {
            image->strings = relocated(image, entries[i].d_un.d_ptr);
        } else if (entries[i].d_tag == DT_STRSZ) {
            image->string_bytes = entries[i].d_un.d_val;
        }
    }
    /* No entry gives the number of symbols, but linkers place the strings right after them. */
    image->symbol_count =
        image->strings > image->symbols ? (image->strings - image->symbols) / sizeof(Elf64_Sym) : 0;
    return image->symbols != 0 && image->symbol_count > 0 && image->symbol_count <= MAX_SYMBOLS &&
           image->string_bytes > 0 && image->string_bytes <= MAX_STRINGS;
}

static bool find_symbol(const struct image *image, const Elf64_Sym *symbols, const char *strings,
                        const char *name, uint64_t *address)
{
    size_t length = strlen(name) + 1;
    for (uint64_t i = 0; i < image->symbol_count; i++) {
        if (symbols[i].st_shndx != SHN_UNDEF && symbols[i].st_name < image->string_bytes &&
            image->string_bytes - symbols[i].st_name >= length &&
            memcmp(strings + symbols[i].st_name, name, length) == 0) {
            *address = symbols[i].st_value + image->bias;
            return true;
        }
    }
    return false;
}

bool ss_elf_image_symbol(struct ss_memory_reader *reader, uint64_t start, const char *name,
                         uint64_t *address)
{
    struct image image = {.reader = reader};
    if (!read_headers(&image, start) || !read_dynamic(&image)) {
        return false;
    }
    Elf64_Sym *symbols = ss_alloc((size_t)image.symbol_count * sizeof *symbols);
    char *strings = ss_alloc((size_t)image.string_bytes);
    bool found = ss_memory_read(reader, image.symbols, symbols,
                                (size_t)image.symbol_count * sizeof *symbols) &&
                 ss_memory_read(reader, image.strings, strings, (size_t)image.string_bytes) &&
                 find_symbol(&image, symbols, strings, name, address);
    ss_free(symbols);
    ss_free(strings);
    return found;
}
