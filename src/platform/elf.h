/* SPDX-License-Identifier: Apache-2.0 */
/* Queries on an ELF file: the address of a section or symbol, and bytes of its data. Files come
 * from processes of other users, and sparse files can claim any size: the numbers of sections and
 * segments are capped before libelf reads the file, tables are read in pieces, and the bytes read
 * from tables have a budget per file. One owner. */
#ifndef SS_PLATFORM_ELF_H
#define SS_PLATFORM_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct ss_elf;

/* Owns `fd`, also on failure. SS_E_FORMAT: not an ELF file of this machine. */
enum ss_status ss_elf_open(int fd, struct ss_elf **elf, struct ss_error *err);
void ss_elf_close(struct ss_elf *elf);

/* Bytes read so far from tables and section contents. */
uint64_t ss_elf_read_bytes(const struct ss_elf *elf);

struct ss_elf_location {
    uint64_t address; /* link-time address: add the load bias */
    uint64_t size;
};

bool ss_elf_section(struct ss_elf *elf, const char *name, struct ss_elf_location *location);
/* Searches the defined symbols of .dynsym, then of .symtab. */
bool ss_elf_symbol(struct ss_elf *elf, const char *name, struct ss_elf_location *location);
/* File content at a link-time address; false when the file does not contain it. */
bool ss_elf_read(struct ss_elf *elf, uint64_t address, void *buffer, size_t length);
/* Content of a section, at most `maximum` bytes; the caller frees with ss_free. NULL: none. */
void *ss_elf_section_content(struct ss_elf *elf, const char *name, size_t maximum, size_t *length);

/* A segment as the loader maps it; the load bias of a mapping of the file at `offset` is
 * mapping start - segment address. false: `index` is past the last segment. */
struct ss_elf_segment {
    uint64_t offset, address; /* rounded down to pages */
    uint64_t data_address, data_size;
    bool is_writable;
};
bool ss_elf_segment(struct ss_elf *elf, size_t index, struct ss_elf_segment *segment);

#endif
