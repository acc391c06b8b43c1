/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/python_sampler_inside.h"

enum { MAX_NAME_POLLS = 10 }; /* not every thread has a name */

static int compare_entries(const void *a, const void *b)
{
    const struct ss_sampler_entry *left = *(struct ss_sampler_entry *const *)a,
                                  *right = *(struct ss_sampler_entry *const *)b;
    uint64_t l = left->python->pthread, r = right->python->pthread;
    return (l > r) - (l < r);
}

static int compare_pthread(const void *key, const void *element)
{
    uint64_t l = *(const uint64_t *)key,
             r = (*(struct ss_sampler_entry *const *)element)->python->pthread;
    return (l > r) - (l < r);
}

static void on_name(void *context, uint64_t pthread, struct ss_strview text)
{
    struct ss_python_sampler *sampler = context;
    struct ss_sampler_entry **first = bsearch(&pthread, sampler->named.data, sampler->named.count,
                                              sizeof *sampler->named.data, compare_pthread);
    if (first == NULL) {
        return;
    }
    while (first > sampler->named.data && first[-1]->python->pthread == pthread) {
        first--;
    }
    struct ss_sampler_entry **end = sampler->named.data + sampler->named.count;
    for (struct ss_sampler_entry **at = first; at < end && (*at)->python->pthread == pthread;
         at++) {
        struct ss_sampler_entry *entry = *at;
        entry->named = true;
        char name[sizeof entry->public.name];
        snprintf(name, sizeof name, "%.*s", (int)text.length, text.data);
        if (strcmp(name, entry->public.name) != 0) {
            memcpy(entry->public.name, name, sizeof name);
            sampler->sink.thread(sampler->sink.context, &entry->public);
        }
    }
}

void ss_sampler_poll_names(struct ss_python_sampler *sampler)
{
    sampler->names_wanted = false;
    ss_vec_clear(&sampler->named);
    for (size_t i = 0; i < sampler->entries.count; i++) {
        if (sampler->entries.data[i]->python != NULL) {
            ss_vec_push(&sampler->named, sampler->entries.data[i]);
        }
    }
    if (sampler->named.count > 0) {
        qsort(sampler->named.data, sampler->named.count, sizeof *sampler->named.data,
              compare_entries);
        ss_python_thread_names(sampler->python, on_name, sampler);
    }
    /* Retry: a thread runs before it has a name, and the name table may change during the read. */
    for (size_t i = 0; i < sampler->named.count; i++) {
        struct ss_sampler_entry *entry = sampler->named.data[i];
        sampler->names_wanted |= !entry->named && ++entry->name_polls < MAX_NAME_POLLS;
    }
}
