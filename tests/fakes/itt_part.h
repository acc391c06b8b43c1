/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program's copy of ITT as far as a collector sees it: a global structure, a list of functions,
 * and a pointer for each that the collector fills. What it makes before it has a collector is in
 * its lists; afterwards domains and strings come from the collector, as in ITT 3.26.
 *
 *     struct itt_part part;
 *     itt_part_init(&part);
 *     itt_part_connect(&part, getenv("INTEL_LIBITTNOTIFY64"));
 *     ITT(&part, task_end)(domain);
 */
#ifndef ITT_PART_H
#define ITT_PART_H

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "inject/itt/itt_functions.h"

enum {
#define NUMBER(name) ITT_##name,
    SS_ITT_FUNCTIONS(NUMBER)
#undef NUMBER
        ITT_sync_acquired, /* not ours */
    ITT_invented,          /* of no group */
    ITT_COUNT
};

struct itt_part {
    struct ss_itt_global global;
    struct ss_itt_function functions[ITT_COUNT + 1];
    void *pointers[ITT_COUNT];
    struct ss_itt_domain early_domain;
    struct ss_itt_string early_string;
    struct ss_itt_counter early_counter;
};

typedef void (*itt_init)(struct ss_itt_global *global, int groups);

/* The pointer to call through; NULL: ITT's macros do nothing. */
#define ITT(part, name) ((__typeof__(&ss_itt_##name))(part)->pointers[ITT_##name])

static int itt_part_without_collector(void)
{
    return 0;
}

static void itt_part_init(struct itt_part *part)
{
    static const char *const names[] = {
#define NAME(name) "__itt_" #name,
        SS_ITT_FUNCTIONS(NAME)
#undef NAME
            "__itt_sync_acquired",
        "__itt_invented_by_none"};
    static const unsigned char magic[] = {0xed, 0xab, 0xab, 0xec, 0x0d, 0xee, 0xda, 0x30};
    memset(part, 0, sizeof *part);
    for (int i = 0; i < ITT_COUNT; i++) {
        part->functions[i] = (struct ss_itt_function){names[i], &part->pointers[i],
                                                      (void *)itt_part_without_collector, NULL, -1};
    }
    part->functions[ITT_domain_create].otherwise = part->functions[ITT_domain_create].initially;
    memcpy(part->global.magic, magic, sizeof magic);
    part->global.version_major = 3;
    part->global.version_build = 20250807;
    part->global.functions = part->functions;
    part->early_domain = (struct ss_itt_domain){.flags = 1, .name = "early"};
    part->early_string = (struct ss_itt_string){.text = "early task"};
    part->early_counter = (struct ss_itt_counter){
        .name = "early counter", .domain = "early", .type = SS_ITT_S32, .extra1 = 0x55555555};
    part->global.domains = &part->early_domain;
    part->global.strings = &part->early_string;
    part->global.counters = &part->early_counter;
}

/* As ITT does it. NULL: why not. */
__attribute__((unused)) static const char *itt_part_connect(struct itt_part *part,
                                                            const char *library)
{
    void *handle = library != NULL ? dlopen(library, RTLD_LAZY) : NULL;
    if (handle == NULL) {
        return library != NULL ? dlerror() : "no collector";
    }
    itt_init init = NULL;
    *(void **)&init = dlsym(handle, "__itt_api_init");
    if (init == NULL) {
        return "no __itt_api_init";
    }
    init(&part->global, -1);
    return NULL;
}

#endif
