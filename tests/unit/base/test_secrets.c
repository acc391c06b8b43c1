/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/secrets.h"

/* Arguments are separated by "|" here. */
static void check(const char *arguments, const char *expected)
{
    char text[512];
    size_t length = strlen(arguments);
    memcpy(text, arguments, length + 1);
    for (size_t i = 0; i < length; i++) {
        text[i] = text[i] == '|' ? '\0' : text[i];
    }
    struct ss_strbuf out;
    ss_strbuf_init(&out, 4096);
    ss_secrets_append_masked(&out, text, length);
    assert_string_equal(out.data, expected);
    ss_strbuf_fini(&out);
}

static void test_by_name(void **state)
{
    (void)state;
    check("python|t.py|--api-key|a b c|--lr|0.1", "python t.py --api-key *** --lr 0.1");
    check("t|--wandb_api_key=abc", "t --wandb_api_key=***");
    check("t|--hf-token|x|--Password=y|DB_PASSWORD=z",
          "t --hf-token *** --Password=*** DB_PASSWORD=***");
    check("bash|-c|export WANDB_API_KEY=abc; python t.py --token xyz",
          "bash -c export WANDB_API_KEY=***; python t.py --token ***");
    check("curl|-H|Authorization: Basic abc", "curl -H Authorization: ***");
    check("t|--use-auth-token|--fp16|x", "t --use-auth-token --fp16 x");
}

static void test_by_form(void **state)
{
    (void)state;
    check("t|hf_abcdefghijklmnopqrst", "t ***");
    check("t|--key|0123456789abcdef0123456789abcdef01234567", "t --key ***");
    check("t|--init=postgres://me:pw@host/db", "t --init=postgres://me:***@host/db");
    check("git|https://ghp_abcdefghijklmnop@host/x", "git https://***@host/x");
}

static void test_what_stays(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "python train.py --max-tokens 512 --tokenizer gpt2 --pad-token <pad>",
        "python -m torch.distributed.run --rdzv-endpoint tcp://host:29500 t.py",
        "t /data/hf_cache_of_everybody/x sk-1 --seed 1234567890 --run 2f0a", "t --token", ""};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char text[256];
        size_t length = strlen(lines[i]);
        memcpy(text, lines[i], length + 1);
        for (size_t k = 0; k < length; k++) {
            text[k] = text[k] == ' ' ? '|' : text[k];
        }
        check(text, lines[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_name),
        cmocka_unit_test(test_by_form),
        cmocka_unit_test(test_what_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
