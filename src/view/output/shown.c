/* SPDX-License-Identifier: Apache-2.0 */
#include "view/output/shown.h"

bool ss_selection_has_processes(const struct ss_selection *selection)
{
    const struct ss_model *model = selection->model;
    uint32_t first = 0;
    for (size_t i = 0; i < model->totals.count; i++) {
        const struct ss_model_total *total = &model->totals.data[i];
        uint32_t process = model->threads.data[total->thread].process;
        if (process == first || process == 0 || !selection->totals[i]) {
            continue;
        }
        if (first != 0) {
            return true;
        }
        first = process;
    }
    return false;
}

enum ss_status ss_fail_no_samples(const struct ss_selection *selection, struct ss_error *err)
{
    const struct ss_model *model = selection->model;
    const char *path =
        model->inputs.count > 0 ? ss_model_text(model, model->inputs.data[0].path) : "the input";
    if (selection->recorded == 0) {
        return model->weight == SS_WEIGHT_DEVICE_NS
                   ? ss_fail(err, SS_E_EMPTY,
                             "%s holds no work of a device: record it with torch.profiler "
                             "(record --torch-profiler), or take a trace that has kernels",
                             path)
                   : ss_fail(err, SS_E_EMPTY, "%s holds no samples", path);
    }
    if (model->weight == SS_WEIGHT_DEVICE_NS) {
        return ss_fail(err, SS_E_EMPTY,
                       "no work of a device in %s is left: the filters exclude all of it", path);
    }
    return ss_fail(err, SS_E_EMPTY,
                   "no sample of %s is left: %llu idle (-i shows them), %llu without the "
                   "GIL, %llu filtered, %llu without frames",
                   path, (unsigned long long)selection->idle, (unsigned long long)selection->no_gil,
                   (unsigned long long)selection->filtered,
                   (unsigned long long)selection->frameless);
}
