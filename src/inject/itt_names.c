/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/itt_names.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "annot/define.h"
#include "inject/itt_functions.h"
#include "ring/layout.h"

enum { CHUNK_BYTES = 256 << 10, MOST_TEXT_BYTES = 4095, FUNCTION_ROWS = 1024 };

const char ss_itt_known;

/* --- memory ----------------------------------------------------------------------------------- */

struct chunk {
    alignas(16) _Atomic size_t used;
    alignas(16) char data[CHUNK_BYTES - 16];
};

/* Taken from the front, by any thread, without a lock: a forked child or a signal handler finds
 * nothing half done. */
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
            munmap(more, sizeof *chunk); /* somebody was quicker */
        }
        errno = saved;
        if (more == MAP_FAILED) {
            return NULL;
        }
    }
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* What could not be had now is asked for again. Several threads may write the same. */
/* NOLINTNEXTLINE(readability-non-const-parameter): the built-in writes there */
static uint32_t remember(uint32_t number, int *extra1, void **extra2)
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

/* What the domain of a name goes into, where that is another one. */
static struct {
    _Atomic(const char *) from;
    const char *to;
} sent;

static uint32_t number_of_domain(const char *text)
{
    /* Pairs with the release in ss_itt_send_domain. */
    const char *from = atomic_load_explicit(&sent.from, memory_order_acquire);
    const char *name = text != NULL && from != NULL && strcmp(text, from) == 0 ? sent.to : text;
    return name != NULL && name[0] != '\0' ? ss_define_domain(name, strlen(name)) : 0;
}

/* Those that were made with us. */
static _Atomic(struct ss_itt_domain *) made_domains[SS_RING_MAX_DOMAINS];

void ss_itt_send_domain(const char *from, const char *to)
{
    struct ss_itt_domain *domain =
        atomic_load_explicit(&made_domains[number_of_domain(from)], memory_order_acquire);
    sent.to = to;
    atomic_store_explicit(&sent.from, from, memory_order_release);
    if (domain != NULL) {
        __atomic_store_n(&domain->extra1, (int)number_of_domain(from), __ATOMIC_RELAXED);
    }
}

uint32_t ss_itt_meet_string(struct ss_itt_string *string)
{
    return string != NULL && string->text != NULL
               ? remember(ss_itt_name_of_text(string->text), &string->extra1, &string->extra2)
               : 0;
}

uint32_t ss_itt_meet_domain(struct ss_itt_domain *domain)
{
    return domain != NULL && domain->name != NULL
               ? remember(number_of_domain(domain->name), &domain->extra1, &domain->extra2)
               : 0;
}

/* --- what programs ask us for ----------------------------------------------------------------- */

static const char *copy_text(const char *text)
{
    size_t length = strnlen(text, MOST_TEXT_BYTES);
    char *copy = ss_itt_allocate(length + 1);
    if (copy != NULL) {
        memcpy(copy, text, length);
    }
    return copy;
}

/* One for each number: newer copies of ITT leave the making of domains and strings to their
 * collector. They must not be NULL, so that programs go on as they would with another collector. */
struct ss_itt_domain *ss_itt_domain_create(const char *name)
{
    static struct ss_itt_domain other = {.flags = 1, .name = "", .extra2 = (void *)&ss_itt_known};
    if (name == NULL) {
        return NULL;
    }
    uint32_t number = number_of_domain(name);
    struct ss_itt_domain *domain =
        atomic_load_explicit(&made_domains[number], memory_order_acquire);
    if (number == 0 || domain != NULL) {
        return domain != NULL ? domain : &other;
    }
    struct ss_itt_domain *mine = ss_itt_allocate(sizeof *mine);
    const char *text = mine != NULL ? copy_text(name) : NULL;
    if (text == NULL) {
        return &other;
    }
    *mine = (struct ss_itt_domain){
        .flags = 1, .name = text, .extra1 = (int)number, .extra2 = (void *)&ss_itt_known};
    bool is_first = atomic_compare_exchange_strong_explicit(
        &made_domains[number], &domain, mine, memory_order_release, memory_order_acquire);
    return is_first ? mine : domain;
}

struct ss_itt_string *ss_itt_string_handle_create(const char *text)
{
    static _Atomic(struct ss_itt_string *) made[SS_RING_MAX_NAMES];
    static struct ss_itt_string other = {.text = "<other>", .extra2 = (void *)&ss_itt_known};
    if (text == NULL) {
        return NULL;
    }
    uint32_t number = ss_itt_name_of_text(text);
    struct ss_itt_string *string = atomic_load_explicit(&made[number], memory_order_acquire);
    if (number == 0 || string != NULL) {
        return string != NULL ? string : &other;
    }
    struct ss_itt_string *mine = ss_itt_allocate(sizeof *mine);
    const char *copy = mine != NULL ? copy_text(text) : NULL;
    if (copy == NULL) {
        return &other;
    }
    *mine = (struct ss_itt_string){
        .text = copy, .extra1 = (int)number, .extra2 = (void *)&ss_itt_known};
    bool is_first = atomic_compare_exchange_strong_explicit(
        &made[number], &string, mine, memory_order_release, memory_order_acquire);
    return is_first ? mine : string;
}

/* --- functions -------------------------------------------------------------------------------- */

static uint32_t look_up_function(void *function)
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
    /* An address and its name, in one word: user addresses have 47 bits, names 16. */
    static _Atomic uint64_t rows[FUNCTION_ROWS];
    uint64_t address = (uint64_t)(uintptr_t)function & ((UINT64_C(1) << 48) - 1);
    _Atomic uint64_t *row = &rows[(address ^ address >> 10) % FUNCTION_ROWS];
    uint64_t found = atomic_load_explicit(row, memory_order_relaxed);
    if (function != NULL && found >> 16 == address && (found & 0xffff) != 0) {
        return (uint32_t)(found & 0xffff);
    }
    int saved = errno;
    uint32_t name = function != NULL ? look_up_function(function) : 0;
    errno = saved;
    atomic_store_explicit(row, address << 16 | name, memory_order_relaxed);
    return name;
}
