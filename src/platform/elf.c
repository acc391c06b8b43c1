/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/elf.h"

#include <elf.h>
#include <endian.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

enum {
    /* Linkers create some dozens of sections; libelf allocates for each that a file claims. */
    MAX_SECTIONS = 4096,
    MAX_SEGMENTS = 4096,
    MAX_SECTION_NAMES_BYTES = 1 << 20,
    MAX_TABLE_BYTES = 128 << 20, /* symbols and their names, all tables of a file */
    PIECE_BYTES = 64 * 1024,
    MAX_NAME_OFFSETS = 16, /* occurrences of a name in a string table: linkers share suffixes */
};

struct ss_elf {
    Elf *elf;
    int fd;
    size_t names; /* index of the section with the section names; 0: not readable */
    uint64_t read_bytes;
};

static bool read_at(int fd, void *buffer, size_t length, uint64_t offset)
{
    return offset <= INT64_MAX && pread(fd, buffer, length, (off_t)offset) == (ssize_t)length;
}

/* Checks the counts that libelf trusts. */
static bool has_sane_counts(int fd)
{
    Elf64_Ehdr header;
    Elf64_Shdr first = {0};
    if (!read_at(fd, &header, sizeof header, 0) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != (BYTE_ORDER == LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB)) {
        return false;
    }
    if (header.e_shoff != 0 && (header.e_shnum == 0 || header.e_phnum == PN_XNUM) &&
        !read_at(fd, &first, sizeof first, header.e_shoff)) {
        return false;
    }
    uint64_t sections = header.e_shnum != 0 ? header.e_shnum : first.sh_size;
    uint64_t segments = header.e_phnum != PN_XNUM ? header.e_phnum : first.sh_info;
    return sections <= MAX_SECTIONS && segments <= MAX_SEGMENTS;
}

/* libelf reads all section names at once, and first inflates compressed ones. */
static bool has_sane_names(Elf *elf, size_t section)
{
    GElf_Shdr header;
    Elf_Scn *names = elf_getscn(elf, section);
    return names != NULL && gelf_getshdr(names, &header) != NULL &&
           header.sh_size <= MAX_SECTION_NAMES_BYTES && (header.sh_flags & SHF_COMPRESSED) == 0;
}

enum ss_status ss_elf_open(int fd, struct ss_elf **result, struct ss_error *err)
{
    struct ss_elf elf = {.fd = fd};
    GElf_Ehdr header;
    if (elf_version(EV_CURRENT) == EV_NONE) {
        close(fd);
        return ss_fail(err, SS_E_UNSUPPORTED, "libelf is too old: %s", elf_errmsg(-1));
    }
    elf.elf = has_sane_counts(fd) ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
    if (elf.elf == NULL || elf_kind(elf.elf) != ELF_K_ELF || gelf_getclass(elf.elf) != ELFCLASS64 ||
        gelf_getehdr(elf.elf, &header) == NULL || elf_getshdrstrndx(elf.elf, &elf.names) != 0) {
        elf_end(elf.elf);
        close(fd);
        return ss_fail(err, SS_E_FORMAT, "not a 64-bit ELF file of this machine");
    }
    elf.names = has_sane_names(elf.elf, elf.names) ? elf.names : 0;
    *result = ss_alloc(sizeof elf);
    **result = elf;
    return SS_OK;
}

uint64_t ss_elf_read_bytes(const struct ss_elf *elf)
{
    return elf->read_bytes;
}

void ss_elf_close(struct ss_elf *elf)
{
    if (elf != NULL) {
        elf_end(elf->elf);
        close(elf->fd);
        ss_free(elf);
    }
}

static Elf_Scn *find_section(struct ss_elf *elf, const char *name, GElf_Shdr *header)
{
    Elf_Scn *section = NULL;
    while (elf->names != 0 && (section = elf_nextscn(elf->elf, section)) != NULL) {
        if (gelf_getshdr(section, header) == NULL) {
            continue;
        }
        const char *found = elf_strptr(elf->elf, elf->names, header->sh_name);
        if (found != NULL && strcmp(found, name) == 0) {
            return section;
        }
    }
    return NULL;
}

bool ss_elf_section(struct ss_elf *elf, const char *name, struct ss_elf_location *location)
{
    GElf_Shdr header;
    if (find_section(elf, name, &header) == NULL || header.sh_addr == 0) {
        return false;
    }
    *location = (struct ss_elf_location){header.sh_addr, header.sh_size};
    return true;
}

/* Offsets of "name\0" in a string table: the st_name values that a symbol of that name can have. */
struct name_offsets {
    uint64_t offsets[MAX_NAME_OFFSETS];
    size_t count;
};

/* Reads a table in pieces, so that memory use does not depend on its size. Returns the length of
 * the next piece; 0 at the end of the table or file, and when the file's budget is spent. */
static size_t next_piece(struct ss_elf *elf, const GElf_Shdr *table, uint64_t done, char *piece)
{
    uint64_t left = table->sh_size > done ? table->sh_size - done : 0;
    size_t wanted = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
    if (wanted == 0 || elf->read_bytes > MAX_TABLE_BYTES ||
        table->sh_offset > (uint64_t)INT64_MAX - done) {
        return 0;
    }
    ssize_t got = pread(elf->fd, piece, wanted, (off_t)(table->sh_offset + done));
    elf->read_bytes += got > 0 ? (uint64_t)got : 0;
    return got > 0 ? (size_t)got : 0;
}

static void find_name_offsets(struct ss_elf *elf, const GElf_Shdr *names, const char *name,
                              char *piece, struct name_offsets *name_offsets)
{
    size_t length = strlen(name) + 1, got;
    uint64_t done = 0;
    name_offsets->count = 0;
    while ((got = next_piece(elf, names, done, piece)) >= length &&
           name_offsets->count < MAX_NAME_OFFSETS) {
        const char *at = piece;
        while (name_offsets->count < MAX_NAME_OFFSETS &&
               (at = memmem(at, got - (size_t)(at - piece), name, length)) != NULL) {
            name_offsets->offsets[name_offsets->count++] = done + (uint64_t)(at - piece);
            at++;
        }
        done += got - (length - 1); /* a name that crosses the edge is found in the next piece */
    }
}

static bool has_offset(const struct name_offsets *name_offsets, uint64_t offset)
{
    for (size_t i = 0; i < name_offsets->count; i++) {
        if (name_offsets->offsets[i] == offset) {
            return true;
        }
    }
    return false;
}

static bool find_symbol(struct ss_elf *elf, const GElf_Shdr *table,
                        const struct name_offsets *name_offsets, char *piece,
                        struct ss_elf_location *location)
{
    uint64_t done = 0;
    size_t got;
    while ((got = next_piece(elf, table, done, piece)) >= sizeof(Elf64_Sym)) {
        size_t count = got / sizeof(Elf64_Sym);
        for (size_t i = 0; i < count; i++) {
            Elf64_Sym symbol;
            memcpy(&symbol, piece + i * sizeof symbol, sizeof symbol);
            if (symbol.st_shndx != SHN_UNDEF && has_offset(name_offsets, symbol.st_name)) {
                *location = (struct ss_elf_location){symbol.st_value, symbol.st_size};
                return true;
            }
        }
        done += count * sizeof(Elf64_Sym);
    }
    return false;
}

static bool find_in_table(struct ss_elf *elf, uint32_t type, const char *name,
                          struct ss_elf_location *location)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header, names;
    bool found = false;
    char *piece = ss_alloc(PIECE_BYTES);
    while (!found && (section = elf_nextscn(elf->elf, section)) != NULL) {
        if (gelf_getshdr(section, &header) == NULL || header.sh_type != type ||
            header.sh_entsize != sizeof(Elf64_Sym) ||
            gelf_getshdr(elf_getscn(elf->elf, header.sh_link), &names) == NULL ||
            names.sh_type != SHT_STRTAB || (names.sh_flags & SHF_COMPRESSED) != 0) {
            continue;
        }
        struct name_offsets name_offsets;
        find_name_offsets(elf, &names, name, piece, &name_offsets);
        found = name_offsets.count > 0 && find_symbol(elf, &header, &name_offsets, piece, location);
    }
    ss_free(piece);
    return found;
}

bool ss_elf_symbol(struct ss_elf *elf, const char *name, struct ss_elf_location *location)
{
    return find_in_table(elf, SHT_DYNSYM, name, location) ||
           find_in_table(elf, SHT_SYMTAB, name, location);
}

bool ss_elf_read(struct ss_elf *elf, uint64_t address, void *buffer, size_t length)
{
    size_t count;
    if (elf_getphdrnum(elf->elf, &count) != 0) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr segment;
        if (gelf_getphdr(elf->elf, (int)i, &segment) == NULL || segment.p_type != PT_LOAD ||
            address < segment.p_vaddr || address - segment.p_vaddr > segment.p_filesz ||
            segment.p_filesz - (address - segment.p_vaddr) < length) {
            continue;
        }
        off_t at = (off_t)(segment.p_offset + (address - segment.p_vaddr));
        return pread(elf->fd, buffer, length, at) == (ssize_t)length;
    }
    return false;
}

void *ss_elf_section_content(struct ss_elf *elf, const char *name, size_t maximum, size_t *length)
{
    GElf_Shdr header;
    if (find_section(elf, name, &header) == NULL || header.sh_type == SHT_NOBITS) {
        return NULL;
    }
    *length = header.sh_size < maximum ? (size_t)header.sh_size : maximum;
    void *content = ss_alloc(*length);
    ssize_t got = header.sh_offset <= INT64_MAX
                      ? pread(elf->fd, content, *length, (off_t)header.sh_offset)
                      : -1;
    if (got < 0) {
        ss_free(content);
        return NULL;
    }
    elf->read_bytes += (uint64_t)got;
    *length = (size_t)got;
    return content;
}

bool ss_elf_segment(struct ss_elf *elf, size_t index, struct ss_elf_segment *segment)
{
    size_t count;
    if (elf_getphdrnum(elf->elf, &count) != 0) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (gelf_getphdr(elf->elf, (int)i, &header) == NULL || header.p_type != PT_LOAD ||
            index-- > 0) {
            continue;
        }
        uint64_t into_page = header.p_vaddr % (uint64_t)sysconf(_SC_PAGESIZE);
        *segment = (struct ss_elf_segment){.offset = header.p_offset - into_page,
                                           .address = header.p_vaddr - into_page,
                                           .data_address = header.p_vaddr,
                                           .data_size = header.p_memsz,
                                           .is_writable = (header.p_flags & PF_W) != 0};
        return true;
    }
    return false;
}
