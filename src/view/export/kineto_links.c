/* SPDX-License-Identifier: Apache-2.0 */
/* What joins events: launches with the work that they submit, annotations of the host with those
 * of devices. */
#include <stdlib.h>

#include "analysis/launches/device_work.h"
#include "base/alloc.h"
#include "base/search.h"
#include "view/export/kineto_inside.h"

/* Annotations of one name nest at most this deep in those that are searched. */
enum { MOST_TRIED = 64 };

static void join_launches(struct ss_kineto_links *links, const struct ss_selection *selection)
{
    const struct ss_device_works *works = ss_selection_works(selection);
    if (works->works.count > 0) {
        size_t count = selection->model->ranges.count;
        links->launches = ss_alloc_zero(count, sizeof *links->launches);
    }
    for (size_t i = 0; i < works->works.count; i++) {
        links->launches[works->works.data[i].range] = works->works.data[i].launch;
    }
}

void ss_kineto_links_init(struct ss_kineto_links *links, const struct ss_selection *selection)
{
    size_t count = selection->model->ranges.count + 1;
    *links =
        (struct ss_kineto_links){.external_ids = ss_alloc_zero(count, sizeof *links->external_ids),
                                 .lanes = ss_alloc_zero(count, sizeof *links->lanes)};
    join_launches(links, selection);
}

void ss_kineto_links_fini(struct ss_kineto_links *links)
{
    ss_free(links->launches);
    ss_free(links->external_ids);
    ss_free(links->lanes);
    ss_vec_fini(&links->autograd);
    ss_vec_fini(&links->scopes);
}

static int compare_scopes(const void *left, const void *right)
{
    const struct ss_kineto_scope *a = left, *b = right;
    if (a->name != b->name) {
        return a->name < b->name ? -1 : 1;
    }
    return a->begin_ns != b->begin_ns ? (a->begin_ns < b->begin_ns ? -1 : 1)
                                      : (a->id > b->id) - (a->id < b->id);
}

uint32_t ss_kineto_scope_at(struct ss_kineto_links *links, uint64_t name, uint64_t time_ns)
{
    struct ss_kineto_scope key = {.name = name, .begin_ns = time_ns, .id = UINT32_MAX};
    if (!links->scopes_sorted && links->scopes.count > 1) {
        qsort(links->scopes.data, links->scopes.count, sizeof *links->scopes.data, compare_scopes);
    }
    links->scopes_sorted = true;
    /* The first that begins after the time. */
    size_t low =
        ss_search(i, 0, links->scopes.count, compare_scopes(&links->scopes.data[i], &key) < 0);
    for (int tried = 0; low > 0 && tried < MOST_TRIED; tried++) {
        const struct ss_kineto_scope *scope = &links->scopes.data[--low];
        if (scope->name != name) {
            break;
        }
        if (scope->end_ns > time_ns) {
            return scope->id;
        }
    }
    return 0;
}
