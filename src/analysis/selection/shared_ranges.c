/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/selection/shared_ranges.h"

#include "base/alloc.h"

static void *build_finder(const void *selection)
{
    const struct ss_selection *of = selection;
    struct ss_range_finder *finder = ss_alloc_zero(1, sizeof *finder);
    ss_range_finder_init(finder, of->model);
    return finder;
}

static void free_finder(void *part)
{
    ss_range_finder_fini(part);
    ss_free(part);
}

static void *build_runs(const void *selection)
{
    const struct ss_selection *of = selection;
    struct ss_range_runs *runs = ss_alloc_zero(1, sizeof *runs);
    ss_range_runs_init(runs, of->model);
    return runs;
}

static void free_runs(void *part)
{
    ss_range_runs_fini(part);
    ss_free(part);
}

const struct ss_range_finder *ss_selection_finder(const struct ss_selection *selection)
{
    static const struct ss_analysis_part finder = {"range finder", build_finder, free_finder};
    return ss_analysis_get(selection->analysis, &finder, selection);
}

const struct ss_range_runs *ss_selection_runs(const struct ss_selection *selection)
{
    static const struct ss_analysis_part runs = {"runs of ranges", build_runs, free_runs};
    return ss_analysis_get(selection->analysis, &runs, selection);
}
