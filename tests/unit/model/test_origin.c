/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/core/origin.h"

static void check_path(const char *path, enum ss_code_origin origin)
{
    if (ss_origin_of_path(ss_strview_of(path)) != origin) {
        fail_msg("%s: %d", path, ss_origin_of_path(ss_strview_of(path)));
    }
}

static void check_short(const char *path, enum ss_code_origin origin)
{
    if (ss_origin_of_short_path(ss_strview_of(path)) != origin) {
        fail_msg("%s: %d", path, ss_origin_of_short_path(ss_strview_of(path)));
    }
}

static void test_full_paths(void **state)
{
    (void)state;
    check_path("/home/u/train.py", SS_ORIGIN_USER);
    check_path("train.py", SS_ORIGIN_USER);
    check_path("queue.py", SS_ORIGIN_USER);
    check_path("<string>", SS_ORIGIN_USER);
    check_path("<frozen importlib._bootstrap>", SS_ORIGIN_STDLIB);
    check_path("/usr/lib/python3.11/threading.py", SS_ORIGIN_STDLIB);
    check_path("/usr/lib64/python3.9/asyncio/events.py", SS_ORIGIN_STDLIB);
    check_path("/opt/conda/lib/python3.10/site-packages/torch/nn/functional.py", SS_ORIGIN_PACKAGE);
    check_path("/home/me/src/stepscope/integrations/lightning.py", SS_ORIGIN_PACKAGE);
    check_path("<stepscope torch>", SS_ORIGIN_PACKAGE);
    check_path("/usr/lib/python3/dist-packages/numpy/core.py", SS_ORIGIN_PACKAGE);
    check_path("/src/cpython/Lib/queue.py", SS_ORIGIN_STDLIB);
    check_path("/home/u/Lib/mine.py", SS_ORIGIN_USER);
    check_path("/usr/lib/python311.zip/os.py", SS_ORIGIN_STDLIB);
    check_path("/home/u/python3/train.py", SS_ORIGIN_USER);
    check_path("", SS_ORIGIN_UNKNOWN);
}

static void test_short_paths(void **state)
{
    (void)state;
    check_short("train.py", SS_ORIGIN_USER);
    check_short("queue.py", SS_ORIGIN_STDLIB);
    check_short("asyncio/events.py", SS_ORIGIN_STDLIB);
    check_short("asyncio.py", SS_ORIGIN_USER);
    check_short("queue/x.py", SS_ORIGIN_USER);
    check_short("test.py", SS_ORIGIN_USER);
    check_short("torch/nn/functional.py", SS_ORIGIN_PACKAGE);
    check_short("torch.py", SS_ORIGIN_PACKAGE);
    check_short("torchy/nn.py", SS_ORIGIN_USER);
    check_short("mine/nn.py", SS_ORIGIN_USER);
    check_short("site-packages/anything/x.py", SS_ORIGIN_PACKAGE);
    check_short("/usr/lib/python3.11/threading.py", SS_ORIGIN_STDLIB);
}

static void test_native(void **state)
{
    (void)state;
    static const char *const native[] = {"libc.so.6", "libtorch_cpu.so",  "python3.11", "kernel.cu",
                                         "a/b/x.cpp", "/usr/bin/python3", "[vdso]"};
    static const char *const python[] = {"train.py", "<string>", "", "so.py", "python_tools.py"};
    for (size_t i = 0; i < sizeof native / sizeof *native; i++) {
        assert_true(ss_path_is_native(ss_strview_of(native[i])));
    }
    for (size_t i = 0; i < sizeof python / sizeof *python; i++) {
        assert_false(ss_path_is_native(ss_strview_of(python[i])));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_paths),
        cmocka_unit_test(test_short_paths),
        cmocka_unit_test(test_native),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
