/* SPDX-License-Identifier: Apache-2.0 */
/* Who owns a place in the code, by its path. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/builder/builder.h"
#include "model/core/model.h"
#include "model/core/origin.h"
#include "model/core/owner.h"

static void check(const char *path, enum ss_code_owner owner)
{
    struct ss_strview view = ss_strview_of(path);
    enum ss_code_origin origin =
        ss_path_is_native(view) ? SS_ORIGIN_NATIVE : ss_origin_of_path(view);
    if (ss_owner_of(origin, view) != owner) {
        fail_msg("%s: %d", path, ss_owner_of(origin, view));
    }
}

static void the_program_owns_its_files(void **state)
{
    (void)state;
    check("/home/u/train.py", SS_OWNER_PROGRAM);
    check("train.py", SS_OWNER_PROGRAM);
    check("<string>", SS_OWNER_PROGRAM);
    /* Folders that are called like a library are not the library. */
    check("/home/u/torch/train.py", SS_OWNER_PROGRAM);
    check("/home/u/rich/logging/train.py", SS_OWNER_PROGRAM);
    check("", SS_OWNER_UNKNOWN);
}

static void torch_has_parts(void **state)
{
    (void)state;
    check("/v/lib/python3.12/site-packages/torch/nn/modules/linear.py", SS_OWNER_TORCH);
    check("/v/lib/python3.12/site-packages/torch/utils/data/dataloader.py", SS_OWNER_TORCH_DATA);
    check("/v/lib/python3.12/site-packages/torch/optim/adamw.py", SS_OWNER_TORCH_OPTIMIZER);
    check("/v/lib/python3.12/site-packages/torch/_tensor_str.py", SS_OWNER_TORCH_LOGGING);
    check("/v/lib/python3.12/site-packages/torch/utils/tensorboard/writer.py",
          SS_OWNER_TORCH_LOGGING);
    check("/v/lib/python3.12/site-packages/torch/lib/libtorch_cpu.so", SS_OWNER_TORCH);
    check("/v/lib/python3.12/site-packages/torchvision/io.py", SS_OWNER_LIBRARY);
    check("/usr/lib/libc.so.6", SS_OWNER_NATIVE);
}

static void libraries_and_frameworks(void **state)
{
    (void)state;
    check("/v/lib/python3.12/site-packages/lightning/pytorch/loops/fit_loop.py",
          SS_OWNER_FRAMEWORK);
    check("/v/lib/python3.12/site-packages/transformers/trainer.py", SS_OWNER_FRAMEWORK);
    check("/v/lib/python3.12/site-packages/transformers/models/gpt2/modeling_gpt2.py",
          SS_OWNER_LIBRARY);
    check("/usr/lib/python3/dist-packages/numpy/core.py", SS_OWNER_DATA_LIBRARY);
    check("/v/lib/python3.12/site-packages/tqdm/std.py", SS_OWNER_LOGGING_LIBRARY);
    /* The folder of an environment is not its packages' owner. */
    check("/home/rich/torch/lib/python3.12/site-packages/timm/layers.py", SS_OWNER_LIBRARY);
    check("/v/lib/python3.12/site-packages/stepscope/_lines.py", SS_OWNER_STEPSCOPE);
    check("/home/u/stepscope/integrations/lightning.py", SS_OWNER_STEPSCOPE);
    check("<stepscope torch>", SS_OWNER_STEPSCOPE);
}

static void the_standard_library_wraps_and_logs(void **state)
{
    (void)state;
    check("/usr/lib/python3.11/json/decoder.py", SS_OWNER_STDLIB);
    check("/usr/lib/python3.11/contextlib.py", SS_OWNER_STDLIB_WRAPPER);
    check("/src/cpython/Lib/functools.py", SS_OWNER_STDLIB_WRAPPER);
    check("<frozen importlib._bootstrap>", SS_OWNER_STDLIB_WRAPPER);
    check("/usr/lib/python3.11/logging/__init__.py", SS_OWNER_STDLIB_LOGGING);
}

static void questions_that_rules_ask(void **state)
{
    (void)state;
    for (int i = SS_OWNER_UNKNOWN; i <= SS_OWNER_STEPSCOPE; i++) {
        enum ss_code_owner owner = (enum ss_code_owner)i;
        /* A place is of PyTorch, of the standard library or of neither. */
        assert_false(ss_owner_is_torch(owner) && ss_owner_is_stdlib(owner));
        assert_true(!ss_owner_is_torch(owner) || ss_owner_is_package(owner));
    }
    assert_true(ss_owner_logs(SS_OWNER_TORCH_LOGGING));
    assert_true(ss_owner_is_torch(SS_OWNER_TORCH_LOGGING));
    assert_false(ss_owner_is_package(SS_OWNER_PROGRAM));
    assert_false(ss_owner_is_package(SS_OWNER_NATIVE));
}

static void frames_have_their_owner(void **state)
{
    (void)state;
    struct ss_model model;
    ss_model_init(&model);
    static const char path[] = "/v/lib/python3.12/site-packages/torch/optim/sgd.py";
    uint32_t file = ss_intern_put(&model.strings, path, sizeof path - 1);
    uint32_t frame = ss_model_frame_id(
        &model, &(struct ss_model_frame){.file = file, .origin = SS_ORIGIN_PACKAGE});
    assert_int_equal(model.frames.data[frame].owner, SS_OWNER_TORCH_OPTIMIZER);
    ss_model_fini(&model);
}

/* As `pip install --target /opt/libs` puts them: the recorder found their metadata there. */
static void installed_packages_may_lie_anywhere(void **state)
{
    (void)state;
    static const char path[] = "/opt/libs/torch/optim/sgd.py";
    struct ss_model model;
    ss_model_init(&model);
    struct ss_model_frame row = {.file = ss_intern_put(&model.strings, path, sizeof path - 1),
                                 .short_file = ss_intern_put_text(&model.strings, path + 10),
                                 .origin = SS_ORIGIN_PACKAGE};
    uint32_t frame = ss_model_frame_id(&model, &row);
    assert_int_equal(model.frames.data[frame].owner, SS_OWNER_TORCH_OPTIMIZER);
    ss_model_fini(&model);
    ss_model_init(&model);
    struct ss_model_load all = {.size = sizeof all};
    struct ss_model_builder *builder =
        ss_model_builder_new(&model, SS_INPUT_TRACE, "run.pftrace", &all, NULL);
    struct ss_trace_frame read = {.ref = 1,
                                  .file = ss_strview_of(path),
                                  .short_file_offset = 10,
                                  .kind = SS_FRAME_INTERPRETED,
                                  .is_installed = true};
    frame = ss_model_builder_frame(builder, &read);
    assert_int_equal(model.frames.data[frame].owner, SS_OWNER_TORCH_OPTIMIZER);
    read.is_installed = false;
    frame = ss_model_builder_frame(builder, &read);
    assert_int_equal(model.frames.data[frame].owner, SS_OWNER_PROGRAM);
    ss_model_builder_free(builder);
    ss_model_fini(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_program_owns_its_files),
        cmocka_unit_test(torch_has_parts),
        cmocka_unit_test(libraries_and_frameworks),
        cmocka_unit_test(the_standard_library_wraps_and_logs),
        cmocka_unit_test(questions_that_rules_ask),
        cmocka_unit_test(frames_have_their_owner),
        cmocka_unit_test(installed_packages_may_lie_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
