/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "platform/elf.h"
#include "platform/elf_image.h"
#include "platform/maps.h"
#include "platform/memory.h"

/* The test searches it in its own file and memory. */
extern const char ss_test_marker[];
const char ss_test_marker[] __attribute__((used, visibility("default"), section(".ss_marker"))) =
    "here I am";

static struct ss_elf *open_self(void)
{
    struct ss_elf *elf = NULL;
    struct ss_error err;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_int_equal(ss_elf_open(fd, &elf, &err), SS_OK);
    return elf;
}

static void sections_symbols_and_content_are_found(void **state)
{
    (void)state;
    struct ss_elf *elf = open_self();
    struct ss_elf_location section, symbol;
    char content[sizeof ss_test_marker];
    assert_true(ss_elf_section(elf, ".ss_marker", &section));
    assert_true(ss_elf_symbol(elf, "ss_test_marker", &symbol));
    assert_int_equal(section.address, symbol.address);
    assert_int_equal(symbol.size, sizeof ss_test_marker);
    assert_true(ss_elf_read(elf, symbol.address, content, sizeof content));
    assert_string_equal(content, ss_test_marker);
    assert_false(ss_elf_section(elf, ".no_such_section", &section));
    assert_false(ss_elf_symbol(elf, "no_such_symbol", &symbol));
    assert_false(ss_elf_symbol(elf, "printf", &symbol)); /* not defined here */
    assert_false(ss_elf_read(elf, UINT64_MAX - 4, content, sizeof content));
    ss_elf_close(elf);
}

static void a_mapping_and_a_segment_give_the_load_address(void **state)
{
    (void)state;
    struct ss_elf *elf = open_self();
    struct ss_elf_location symbol;
    struct ss_elf_segment segment;
    struct ss_maps maps;
    struct ss_error err;
    uint64_t found = 0;
    assert_true(ss_elf_symbol(elf, "ss_test_marker", &symbol));
    assert_int_equal(ss_maps_read(getpid(), &maps, &err), SS_OK);
    for (size_t i = 0; i < maps.count && found == 0; i++) {
        uint64_t here = (uint64_t)(uintptr_t)ss_test_marker;
        if (here < maps.maps[i].start || here >= maps.maps[i].end) {
            continue;
        }
        for (size_t k = 0; ss_elf_segment(elf, k, &segment); k++) {
            if (segment.offset == maps.maps[i].offset) {
                found = symbol.address + maps.maps[i].start - segment.address;
            }
        }
        int fd = ss_map_open_file(getpid(), &maps.maps[i]);
        assert_true(fd >= 0);
        close(fd);
    }
    assert_int_equal(found, (uint64_t)(uintptr_t)ss_test_marker);
    ss_maps_fini(&maps);
    ss_elf_close(elf);
}

/* libc as the loader mapped it, without reading its file. */
static void symbols_are_found_in_memory(void **state)
{
    (void)state;
    struct ss_maps maps;
    struct ss_memory_reader *reader = NULL;
    struct ss_error err;
    Dl_info info;
    uint64_t address = 0;
    assert_int_equal(ss_memory_open(getpid(), &reader, &err), SS_OK);
    void *wanted = dlsym(RTLD_DEFAULT, "strtoull");
    assert_true(dladdr(wanted, &info) != 0);
    uint64_t start = (uint64_t)(uintptr_t)info.dli_fbase;
    assert_true(ss_elf_image_symbol(reader, start, "strtoull", &address));
    assert_int_equal(address, (uint64_t)(uintptr_t)wanted);
    assert_false(ss_elf_image_symbol(reader, start, "no_such_symbol", &address));
    assert_false(ss_elf_image_symbol(reader, start + 4096, "strtoull", &address));
    assert_false(ss_elf_image_symbol(reader, 0, "strtoull", &address));
    /* Every mapping treated as an ELF file: most are not. */
    assert_int_equal(ss_maps_read(getpid(), &maps, &err), SS_OK);
    for (size_t i = 0; i < maps.count; i++) {
        ss_elf_image_symbol(reader, maps.maps[i].start, "strtoull", &address);
    }
    ss_maps_fini(&maps);
    ss_memory_close(reader);
}

static void what_is_no_elf_file_is_refused(void **state)
{
    (void)state;
    struct ss_elf *elf = NULL;
    struct ss_error err;
    assert_int_equal(ss_elf_open(open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC), &elf, &err),
                     SS_E_FORMAT);
    assert_int_equal(ss_elf_open(open("/dev/null", O_RDONLY | O_CLOEXEC), &elf, &err), SS_E_FORMAT);
    assert_null(elf);
}

static void maps_of_no_process_are_gone(void **state)
{
    (void)state;
    struct ss_maps maps;
    struct ss_error err;
    assert_int_equal(ss_maps_read(1 << 23, &maps, &err), SS_E_GONE);
}

static void mappings_are_in_order_and_named(void **state)
{
    (void)state;
    struct ss_maps maps;
    struct ss_error err;
    bool has_stack = false;
    assert_int_equal(ss_maps_read(getpid(), &maps, &err), SS_OK);
    assert_true(maps.count > 5);
    for (size_t i = 0; i < maps.count; i++) {
        assert_true(maps.maps[i].start < maps.maps[i].end);
        assert_true(i == 0 || maps.maps[i - 1].end <= maps.maps[i].start);
        has_stack |= strcmp(maps.maps[i].path, "[stack]") == 0;
        if (maps.maps[i].inode == 0) {
            assert_int_equal(ss_map_open_file(getpid(), &maps.maps[i]), -1);
        }
    }
    assert_true(has_stack);
    ss_maps_fini(&maps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_symbols_and_content_are_found),
        cmocka_unit_test(a_mapping_and_a_segment_give_the_load_address),
        cmocka_unit_test(symbols_are_found_in_memory),
        cmocka_unit_test(what_is_no_elf_file_is_refused),
        cmocka_unit_test(maps_of_no_process_are_gone),
        cmocka_unit_test(mappings_are_in_order_and_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
