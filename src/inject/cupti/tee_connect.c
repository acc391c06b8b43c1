/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of CUPTI of the loaded libraries: the dynamic linker has a table of addresses in each
 * library, through which it calls others. The entries of CUPTI's functions get ours. Those that
 * the program finds by dlsym, or that are linked into it, stay as they are.
 */
#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inject/cupti/tee.h"
#include "inject/cupti/tee_client.h"

#if defined(__x86_64__)
enum { JUMP_SLOT = R_X86_64_JUMP_SLOT, GLOBAL_DATA = R_X86_64_GLOB_DAT };
#elif defined(__aarch64__)
enum { JUMP_SLOT = R_AARCH64_JUMP_SLOT, GLOBAL_DATA = R_AARCH64_GLOB_DAT };
#else
enum { JUMP_SLOT = -1, GLOBAL_DATA = -1 };
#endif

static _Atomic bool is_connected;

struct tables {
    uintptr_t base;
    const ElfW(Sym) * symbols;
    const char *texts;
    const ElfW(Rela) * jumps, *others;
    size_t jump_bytes, other_bytes;
    uintptr_t sealed, sealed_end; /* what the linker has made read-only */
};

/* Addresses are relocated in most objects. */
static uintptr_t address_of(const struct dl_phdr_info *object, const ElfW(Dyn) * entry)
{
    uintptr_t value = entry->d_un.d_ptr;
    return value < object->dlpi_addr ? value + object->dlpi_addr : value;
}

static void read_dynamic(const struct dl_phdr_info *object, const ElfW(Dyn) * entry,
                         struct tables *tables)
{
    for (; entry->d_tag != DT_NULL; entry++) {
        switch (entry->d_tag) {
        case DT_SYMTAB:
            tables->symbols = (const void *)address_of(object, entry);
            break;
        case DT_STRTAB:
            tables->texts = (const void *)address_of(object, entry);
            break;
        case DT_JMPREL:
            tables->jumps = (const void *)address_of(object, entry);
            break;
        case DT_PLTRELSZ:
            tables->jump_bytes = entry->d_un.d_val;
            break;
        case DT_RELA:
            tables->others = (const void *)address_of(object, entry);
            break;
        case DT_RELASZ:
            tables->other_bytes = entry->d_un.d_val;
            break;
        default:
            break;
        }
    }
}

static void read_tables(const struct dl_phdr_info *object, struct tables *tables)
{
    *tables = (struct tables){.base = object->dlpi_addr};
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        uintptr_t begin = object->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_DYNAMIC) {
            read_dynamic(object, (const void *)begin, tables);
        } else if (part->p_type == PT_GNU_RELRO) {
            tables->sealed = begin;
            tables->sealed_end = begin + part->p_memsz;
        }
    }
}

static void *replacement_in(const struct ss_cupti_tee_call *calls, size_t count, const char *name)
{
    void *function = NULL;
    for (size_t i = 0; i < count && function == NULL; i++) {
        if (strcmp(calls[i].name, name) == 0) {
            memcpy(&function, &calls[i].function, sizeof function);
        }
    }
    return function;
}

static void *replacement_of(const char *name)
{
    if (strncmp(name, "cupti", 5) != 0) {
        return NULL;
    }
    void *found = replacement_in(ss_cupti_tee_record_calls, SS_CUPTI_TEE_RECORD_CALLS, name);
    return found != NULL ? found
                         : replacement_in(ss_cupti_tee_subscription_calls,
                                          SS_CUPTI_TEE_SUBSCRIPTION_CALLS, name);
}

static bool set_entry(const struct tables *tables, void **entry, void *function)
{
    uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)entry;
    void *page = (void *)(at & ~(page_bytes - 1));
    bool is_sealed = at >= tables->sealed && at < tables->sealed_end;
    if (is_sealed && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) {
        return false;
    }
    __atomic_store_n(entry, function, __ATOMIC_RELEASE);
    if (is_sealed) {
        mprotect(page, page_bytes, PROT_READ);
    }
    return true;
}

static void connect_table(const struct tables *tables, const ElfW(Rela) * entries, size_t bytes,
                          bool *is_found)
{
    for (size_t i = 0; entries != NULL && i < bytes / sizeof *entries; i++) {
        size_t type = ELF64_R_TYPE(entries[i].r_info);
        if (type != (size_t)JUMP_SLOT && type != (size_t)GLOBAL_DATA) {
            continue;
        }
        const char *name = tables->texts + tables->symbols[ELF64_R_SYM(entries[i].r_info)].st_name;
        void *function = replacement_of(name);
        void **entry = (void **)(tables->base + entries[i].r_offset);
        if (function != NULL && set_entry(tables, entry, function)) {
            *is_found = true;
        }
    }
}

static int connect_object(struct dl_phdr_info *object, size_t size, void *context)
{
    struct tables tables;
    (void)size;
    const char *path = object->dlpi_name != NULL ? object->dlpi_name : "";
    const char *slash = strrchr(path, '/');
    const char *file = slash != NULL ? slash + 1 : path;
    if (strncmp(file, "linux-vdso", 10) == 0 || strncmp(file, "libcupti", 8) == 0) {
        return 0;
    }
    read_tables(object, &tables);
    if (tables.symbols != NULL && tables.texts != NULL) {
        connect_table(&tables, tables.jumps, tables.jump_bytes, context);
        connect_table(&tables, tables.others, tables.other_bytes, context);
    }
    return 0;
}

bool ss_cupti_tee_connect(void)
{
    bool is_found = false;
    dl_iterate_phdr(connect_object, &is_found);
    if (is_found) {
        atomic_store_explicit(&is_connected, true, memory_order_release);
    }
    return is_found;
}

bool ss_cupti_tee_is_connected(void)
{
    return atomic_load_explicit(&is_connected, memory_order_acquire);
}
