/* SPDX-License-Identifier: Apache-2.0 */
#include "platform/elf.h"

#include <gelf.h>
#include <libelf.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

enum { PAGE_BYTES = 4096, MAX_SYMBOLS = 16 << 20 };

struct ss_elf {
    Elf *elf;
    int fd;
    size_t names; /* section with the section names */
};

enum ss_status ss_elf_open(int fd, struct ss_elf **result, struct ss_error *err)
{
    struct ss_elf elf = {NULL, fd, 0};
    GElf_Ehdr header;
    if (elf_version(EV_CURRENT) == EV_NONE) {
        close(fd);
        return ss_fail(err, SS_E_UNSUPPORTED, "libelf is too old: %s", elf_errmsg(-1));
    }
    elf.elf = elf_begin(fd, ELF_C_READ, NULL);
    if (elf.elf == NULL || elf_kind(elf.elf) != ELF_K_ELF || gelf_getclass(elf.elf) != ELFCLASS64 ||
        gelf_getehdr(elf.elf, &header) == NULL || elf_getshdrstrndx(elf.elf, &elf.names) != 0) {
        elf_end(elf.elf);
        close(fd);
        return ss_fail(err, SS_E_FORMAT, "not a 64-bit ELF file");
    }
    *result = ss_alloc(sizeof elf);
    **result = elf;
    return SS_OK;
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
    while ((section = elf_nextscn(elf->elf, section)) != NULL) {
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

bool ss_elf_section(struct ss_elf *elf, const char *name, struct ss_elf_place *place)
{
    GElf_Shdr header;
    if (find_section(elf, name, &header) == NULL || header.sh_addr == 0) {
        return false;
    }
    *place = (struct ss_elf_place){header.sh_addr, header.sh_size};
    return true;
}

static bool find_in_table(struct ss_elf *elf, uint32_t type, const char *name,
                          struct ss_elf_place *place)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    while ((section = elf_nextscn(elf->elf, section)) != NULL) {
        if (gelf_getshdr(section, &header) == NULL || header.sh_type != type ||
            header.sh_entsize == 0) {
            continue;
        }
        Elf_Data *data = elf_getdata(section, NULL);
        uint64_t count = header.sh_size / header.sh_entsize;
        count = count < MAX_SYMBOLS ? count : MAX_SYMBOLS;
        for (uint64_t i = 0; data != NULL && i < count; i++) {
            GElf_Sym symbol;
            if (gelf_getsym(data, (int)i, &symbol) == NULL || symbol.st_shndx == SHN_UNDEF) {
                continue;
            }
            const char *found = elf_strptr(elf->elf, header.sh_link, symbol.st_name);
            if (found != NULL && strcmp(found, name) == 0) {
                *place = (struct ss_elf_place){symbol.st_value, symbol.st_size};
                return true;
            }
        }
    }
    return false;
}

bool ss_elf_symbol(struct ss_elf *elf, const char *name, struct ss_elf_place *place)
{
    return find_in_table(elf, SHT_DYNSYM, name, place) ||
           find_in_table(elf, SHT_SYMTAB, name, place);
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
    ssize_t got = pread(elf->fd, content, *length, (off_t)header.sh_offset);
    if (got < 0) {
        ss_free(content);
        return NULL;
    }
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
        uint64_t into_page = header.p_vaddr % PAGE_BYTES;
        *segment = (struct ss_elf_segment){.offset = header.p_offset - into_page,
                                           .address = header.p_vaddr - into_page,
                                           .data_address = header.p_vaddr,
                                           .data_size = header.p_memsz,
                                           .is_writable = (header.p_flags & PF_W) != 0};
        return true;
    }
    return false;
}
