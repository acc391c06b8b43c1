/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/itt/itt_names.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "annot/define.h"
#include "inject/itt/itt_functions.h"
#include "ring/layout.h"

enum { CHUNK_BYTES = 256 << 10, MOST_TEXT_BYTES = 4095, FUNCTION_SLOTS = 1024 };

const char ss_itt_known;

/* --- memory ----------------------------------------------------------------------------------- */

struct chunk {
    alignas(16) _Atomic size_t used;
    alignas(16) char data[CHUNK_BYTES - 16];
};

/* A lock-free bump allocator for all threads: a forked child or a signal handler finds no half-done
 * state. */
void *ss_itt_allocate(size_t bytes)
{
    static _Atomic(struct chunk *) current;
    bytes = (bytes + 15) & ~(size_t)15;
    for (;;) {
        struct chunk *chunk = atomic_load_explicit(&current, memory_order_acquire);
        size_t at = chunk != NULL
                        ? atomic_fetch_add_explicit(&chunk->used, bytes, memory_order_relaxed)
                        : sizeof chunk->data;
        if (at <= sizeof chunk->data && bytes <= sizeof chunk->data - at) {
            return chunk->data + at;
        }
        int saved = errno;
        void *more = bytes <= sizeof chunk->data
                         ? mmap(NULL, sizeof *chunk, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                         : MAP_FAILED;
        if (more != MAP_FAILED &&
            !atomic_compare_exchange_strong_explicit(&current, &chunk, more, memory_order_release,
                                                     memory_order_relaxed)) {
            munmap(more, sizeof *chunk); /* another thread installed its chunk first */
        }
        errno = saved;
        if (more == MAP_FAILED) {
            return NULL;
        }
    }
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* A failed lookup (0) is not cached: the next use retries it. Several threads may store the same
 * values. */
/* NOLINTNEXTLINE(readability-non-const-parameter): the built-in writes there */
static uint32_t cache_number(uint32_t number, int *extra1, void **extra2)
{
    if (number != 0) {
        __atomic_store_n(extra1, (int)number, __ATOMIC_RELAXED);
        __atomic_store_n(extra2, (void *)&ss_itt_known, __ATOMIC_RELEASE);
    }
    return number;
}

uint32_t ss_itt_name_of_text(const char *text)
{
    return text != NULL ? ss_define_name(text, strlen(text)) : 0;
}

/* A domain whose events go into another one, by name. */
static struct {
    _Atomic(const char *) from;
    const char *to;
} redirect;

static uint32_t number_of_domain(const char *text)
{
    /* Pairs with the release in ss_itt_redirect_domain. */
    const char *from = atomic_load_explicit(&redirect.from, memory_order_acquire);
    const char *name = text != NULL && from != NULL && strcmp(text, from) == 0 ? redirect.to : text;
    return name != NULL && name[0] != '\0' ? ss_define_domain(name, strlen(name)) : 0;
}

/* Domains that this collector created, by number. */
static _Atomic(struct ss_itt_domain *) created_domains[SS_RING_MAX_DOMAINS];

void ss_itt_redirect_domain(const char *from, const char *to)
{
    struct ss_itt_domain *domain =
        atomic_load_explicit(&created_domains[number_of_domain(from)], memory_order_acquire);
    redirect.to = to;
    atomic_store_explicit(&redirect.from, from, memory_order_release);
    if (domain != NULL) {
        __atomic_store_n(&domain->extra1, (int)number_of_domain(from), __ATOMIC_RELAXED);
    }
}

uint32_t ss_itt_number_string(struct ss_itt_string *string)
{
    return string != NULL && string->text != NULL
               ? cache_number(ss_itt_name_of_text(string->text), &string->extra1, &string->extra2)
               : 0;
}

uint32_t ss_itt_number_domain(struct ss_itt_domain *domain)
{
    return domain != NULL && domain->name != NULL
               ? cache_number(number_of_domain(domain->name), &domain->extra1, &domain->extra2)
               : 0;
}

/* --- domains and strings that programs create ------------------------------------------------- */

static const char *copy_text(const char *text)
{
    size_t length = strnlen(text, MOST_TEXT_BYTES);
    char *copy = ss_itt_allocate(length + 1);
    if (copy != NULL) {
        memcpy(copy, text, length);
    }
    return copy;
}

/* One object per number: newer copies of ITT have their collector create domains and strings. A
 * failure must not return NULL, so that the program continues as with any other collector. */
struct ss_itt_domain *ss_itt_domain_create(const char *name)
{
    static struct ss_itt_domain fallback = {
        .flags = 1, .name = "", .extra2 = (void *)&ss_itt_known};
    if (name == NULL) {
        return NULL;
    }
    uint32_t number = number_of_domain(name);
    struct ss_itt_domain *domain =
        atomic_load_explicit(&created_domains[number], memory_order_acquire);
    if (number == 0 || domain != NULL) {
        return domain != NULL ? domain : &fallback;
    }
    struct ss_itt_domain *created = ss_itt_allocate(sizeof *created);
    const char *text = created != NULL ? copy_text(name) : NULL;
    if (text == NULL) {
        return &fallback;
    }
    *created = (struct ss_itt_domain){
        .flags = 1, .name = text, .extra1 = (int)number, .extra2 = (void *)&ss_itt_known};
    bool is_first = atomic_compare_exchange_strong_explicit(
        &created_domains[number], &domain, created, memory_order_release, memory_order_acquire);
    return is_first ? created : domain;
}

struct ss_itt_string *ss_itt_string_handle_create(const char *text)
{
    static _Atomic(struct ss_itt_string *) created_strings[SS_RING_MAX_NAMES];
    static struct ss_itt_string fallback = {.text = "<other>", .extra2 = (void *)&ss_itt_known};
    if (text == NULL) {
        return NULL;
    }
    uint32_t number = ss_itt_name_of_text(text);
    struct ss_itt_string *string =
        atomic_load_explicit(&created_strings[number], memory_order_acquire);
    if (number == 0 || string != NULL) {
        return string != NULL ? string : &fallback;
    }
    struct ss_itt_string *created = ss_itt_allocate(sizeof *created);
    const char *copy = created != NULL ? copy_text(text) : NULL;
    if (copy == NULL) {
        return &fallback;
    }
    *created = (struct ss_itt_string){
        .text = copy, .extra1 = (int)number, .extra2 = (void *)&ss_itt_known};
    bool is_first = atomic_compare_exchange_strong_explicit(
        &created_strings[number], &string, created, memory_order_release, memory_order_acquire);
    return is_first ? created : string;
}

/* --- functions -------------------------------------------------------------------------------- */

static uint32_t describe_function(void *function)
{
    Dl_info info = {0};
    char text[512];
    if (dladdr(function, &info) == 0 || info.dli_fname == NULL) {
        snprintf(text, sizeof text, "%p", function);
    } else if (info.dli_sname != NULL) {
        snprintf(text, sizeof text, "%s", info.dli_sname);
    } else {
        const char *slash = strrchr(info.dli_fname, '/');
        snprintf(text, sizeof text, "%.400s+0x%zx", slash != NULL ? slash + 1 : info.dli_fname,
                 (size_t)((const char *)function - (const char *)info.dli_fbase));
    }
    return ss_itt_name_of_text(text);
}

uint32_t ss_itt_name_of_function(void *function)
{
    /* One word holds an address and its name, which has 16 bits. Addresses have 47; with page
     * tables of five levels up to 56, and then they are described each time. */
    static _Atomic uint64_t slots[FUNCTION_SLOTS];
    uint64_t address = (uint64_t)(uintptr_t)function;
    _Atomic uint64_t *slot = &slots[(address ^ address >> 10) % FUNCTION_SLOTS];
    uint64_t cached = atomic_load_explicit(slot, memory_order_relaxed);
    if (function != NULL && cached >> 16 == address && (cached & 0xffff) != 0) {
        return (uint32_t)(cached & 0xffff);
    }
    int saved = errno;
    uint32_t name = function != NULL ? describe_function(function) : 0;
    errno = saved;
    if (address >> 48 == 0) {
        atomic_store_explicit(slot, address << 16 | name, memory_order_relaxed);
    }
    return name;
}
