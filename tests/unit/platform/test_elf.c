/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "platform/elf.h"

enum { NULL_SECTION, NAMES, STRINGS, SYMBOLS, RODATA, SECTIONS };

static const char section_names[] = "\0.shstrtab\0.strtab\0.symtab\0.rodata";
static const char symbol_names[] = "\0x_PyRuntime\0other";

/* A sparse file of 1 TB whose headers a test may bend. */
struct file {
    Elf64_Ehdr header;
    Elf64_Shdr sections[SECTIONS];
    Elf64_Sym symbols[3];
};

static const uint64_t tables_at = 0x10000, file_bytes = UINT64_C(1) << 40;

static struct file good_file(void)
{
    struct file file = {
        .header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                               EV_CURRENT},
                   .e_type = ET_DYN,
                   .e_machine = EM_X86_64,
                   .e_version = EV_CURRENT,
                   .e_ehsize = sizeof(Elf64_Ehdr),
                   .e_phentsize = sizeof(Elf64_Phdr),
                   .e_shentsize = sizeof(Elf64_Shdr),
                   .e_shoff = 0x1000,
                   .e_shnum = SECTIONS,
                   .e_shstrndx = NAMES},
        .sections = {[NAMES] = {.sh_name = 1,
                                .sh_type = SHT_STRTAB,
                                .sh_offset = 0x2000,
                                .sh_size = sizeof section_names},
                     [STRINGS] = {.sh_name = 11,
                                  .sh_type = SHT_STRTAB,
                                  .sh_offset = 0x3000,
                                  .sh_size = sizeof symbol_names},
                     [SYMBOLS] = {.sh_name = 19,
                                  .sh_type = SHT_SYMTAB,
                                  .sh_offset = tables_at,
                                  .sh_size = 3 * sizeof(Elf64_Sym),
                                  .sh_entsize = sizeof(Elf64_Sym),
                                  .sh_link = STRINGS},
                     [RODATA] = {.sh_name = 27,
                                 .sh_type = SHT_PROGBITS,
                                 .sh_offset = 0x4000,
                                 .sh_addr = 0x4000,
                                 .sh_size = 16}},
        /* "_PyRuntime" shares the end of a longer name, as linkers do it. */
        .symbols = {[1] = {.st_name = 2, .st_shndx = SHN_UNDEF, .st_value = 1},
                    [2] = {.st_name = 2, .st_shndx = RODATA, .st_value = 0x1234, .st_size = 8}}};
    return file;
}

static int write_file(const struct file *file)
{
    char path[] = "/tmp/stepscope-elf-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    if (ftruncate(fd, (off_t)file_bytes) != 0) {
        close(fd);
        skip(); /* a file system without sparse files of 1 TB */
    }
    assert_int_equal(pwrite(fd, &file->header, sizeof file->header, 0), sizeof file->header);
    assert_int_equal(pwrite(fd, file->sections, sizeof file->sections, 0x1000),
                     sizeof file->sections);
    assert_int_equal(pwrite(fd, section_names, sizeof section_names, 0x2000), sizeof section_names);
    assert_int_equal(pwrite(fd, symbol_names, sizeof symbol_names, 0x3000), sizeof symbol_names);
    assert_int_equal(pwrite(fd, file->symbols, sizeof file->symbols, (off_t)tables_at),
                     sizeof file->symbols);
    return fd;
}

static bool has_symbol(const struct file *file, const char *name, struct ss_elf_location *place,
                       uint64_t *read_bytes)
{
    struct ss_elf *elf = NULL;
    struct ss_error err;
    assert_int_equal(ss_elf_open(write_file(file), &elf, &err), SS_OK);
    bool found = ss_elf_symbol(elf, name, place);
    *read_bytes = ss_elf_read_bytes(elf);
    ss_elf_close(elf);
    return found;
}

static void test_a_good_file(void **state)
{
    (void)state;
    struct file file = good_file();
    struct ss_elf_location place;
    uint64_t read_bytes;
    assert_true(has_symbol(&file, "_PyRuntime", &place, &read_bytes));
    assert_int_equal(place.address, 0x1234);
    assert_int_equal(place.size, 8);
    assert_false(has_symbol(&file, "PyRuntime", &place, &read_bytes)); /* no symbol begins there */
    assert_false(has_symbol(&file, "other", &place, &read_bytes));
}

/* Across the edge of a piece, too, wherever it falls. */
static void test_names_across_pieces(void **state)
{
    (void)state;
    for (uint64_t edge = 65536 - 14; edge < 65536 + 3; edge++) {
        struct file file = good_file();
        struct ss_elf_location place;
        file.sections[STRINGS].sh_offset = 0x80000 - edge;
        file.sections[STRINGS].sh_size = 65536 * 3;
        file.symbols[2].st_name = (uint32_t)edge;
        int fd = write_file(&file);
        assert_int_equal(pwrite(fd, "_PyRuntime", 11, 0x80000), 11);
        struct ss_elf *elf = NULL;
        assert_int_equal(ss_elf_open(fd, &elf, NULL), SS_OK);
        assert_true(ss_elf_symbol(elf, "_PyRuntime", &place));
        ss_elf_close(elf);
    }
}

static void test_huge_tables_have_a_budget(void **state)
{
    (void)state;
    struct ss_elf_location place;
    uint64_t read_bytes;
    struct file file = good_file();
    file.sections[STRINGS].sh_size = file_bytes - 0x3000;
    file.sections[SYMBOLS].sh_size = file_bytes - tables_at;
    assert_false(has_symbol(&file, "no_such", &place, &read_bytes));
    assert_in_range(read_bytes, 1, 129 << 20);
    file = good_file();
    file.sections[SYMBOLS].sh_size = file_bytes - tables_at;
    file.symbols[2].st_shndx = SHN_UNDEF;
    assert_false(has_symbol(&file, "_PyRuntime", &place, &read_bytes));
    assert_in_range(read_bytes, 1, 129 << 20);
    /* Offsets that wrap. */
    file.sections[SYMBOLS].sh_offset = UINT64_MAX - 64;
    assert_false(has_symbol(&file, "_PyRuntime", &place, &read_bytes));
}

static void test_numbers_of_headers_have_caps(void **state)
{
    (void)state;
    struct ss_elf *elf = NULL;
    struct ss_error err = {0};
    struct file file = good_file();
    file.header.e_shnum = 0; /* the real number is in the first section */
    file.sections[NULL_SECTION].sh_size = 20000000;
    assert_int_equal(ss_elf_open(write_file(&file), &elf, &err), SS_E_FORMAT);
    file = good_file();
    file.header.e_shnum = 0xfeff;
    assert_int_equal(ss_elf_open(write_file(&file), &elf, &err), SS_E_FORMAT);
    file = good_file();
    file.header.e_phnum = PN_XNUM;
    file.header.e_phoff = 0x8000;
    file.sections[NULL_SECTION].sh_info = 100000000;
    assert_int_equal(ss_elf_open(write_file(&file), &elf, &err), SS_E_FORMAT);
}

static void test_section_names_have_a_cap(void **state)
{
    (void)state;
    struct ss_elf *elf = NULL;
    struct ss_elf_location place;
    size_t length;
    struct file file = good_file();
    file.sections[NAMES].sh_size = file_bytes - 0x2000;
    assert_int_equal(ss_elf_open(write_file(&file), &elf, NULL), SS_OK);
    assert_false(ss_elf_section(elf, ".rodata", &place));
    ss_elf_close(elf);
    file = good_file();
    file.sections[RODATA].sh_size = file_bytes - 0x4000;
    assert_int_equal(ss_elf_open(write_file(&file), &elf, NULL), SS_OK);
    assert_true(ss_elf_section(elf, ".rodata", &place));
    char *content = ss_elf_section_content(elf, ".rodata", 1 << 20, &length);
    assert_non_null(content);
    assert_int_equal(length, 1 << 20);
    ss_free(content);
    ss_elf_close(elf);
}

static void test_all_of_that_cost_little_memory(void **state)
{
    (void)state;
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    assert_in_range(usage.ru_maxrss, 1, 256 * 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_good_file),
        cmocka_unit_test(test_names_across_pieces),
        cmocka_unit_test(test_huge_tables_have_a_budget),
        cmocka_unit_test(test_numbers_of_headers_have_caps),
        cmocka_unit_test(test_section_names_have_a_cap),
        cmocka_unit_test(test_all_of_that_cost_little_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
