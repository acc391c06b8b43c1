/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/python_sampler_inside.h"

/* Not every thread has a name, and a program that is slow to start imports threading late: after
 * these polls, each pause is twice the one before. */
enum { QUICK_NAME_POLLS = 10, MAX_NAME_DOUBLINGS = 6 };

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

unsigned ss_sampler_poll_names(struct ss_python_sampler *sampler)
{
    uint32_t fewest = UINT32_MAX;
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
        if (!entry->named) {
            sampler->names_wanted = true;
            entry->name_polls++;
            fewest = entry->name_polls < fewest ? entry->name_polls : fewest;
        }
    }
    uint32_t doublings =
        sampler->names_wanted && fewest > QUICK_NAME_POLLS ? fewest - QUICK_NAME_POLLS : 0;
    return doublings < MAX_NAME_DOUBLINGS ? doublings : MAX_NAME_DOUBLINGS;
}
