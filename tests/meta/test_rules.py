# SPDX-License-Identifier: Apache-2.0
"""Each rule finds what it is there to find, and nothing else."""

import unittest

import rules


class Rules(unittest.TestCase):
    def complaints(self, check, *arguments):
        return list(check(*arguments))

    def test_layers(self):
        good = {"src/view/a.c": '#include "model/model.h"\n#include "view/b.h"\n#include <stdio.h>\n'}
        self.assertEqual([], self.complaints(rules.check_layers, good))
        for bad in ('#include "trace/reader.h"\n', '  #  include "cli/command_help.h"\n', '#include "b.h"\n'):
            self.assertEqual(1, len(self.complaints(rules.check_layers, {"src/view/a.c": bad})))
        self.assertEqual(1, len(self.complaints(rules.check_layers, {"src/utils/a.c": ""})))

    def test_include_cycles(self):
        files = {"src/a/x.h": '#include "a/y.h"\n', "src/a/y.h": '#include "a/z.h"\n',
                 "src/a/z.h": ""}
        self.assertEqual([], self.complaints(rules.check_include_cycles, files))
        files["src/a/z.h"] = '#include "a/x.h"\n'
        self.assertIn("a/x.h -> a/y.h -> a/z.h -> a/x.h",
                      self.complaints(rules.check_include_cycles, files)[0])

    def test_the_layers_themselves_are_acyclic(self):
        self.assertEqual([], self.complaints(rules.check_layer_cycles, rules.LAYERS))
        self.assertTrue(self.complaints(rules.check_layer_cycles, {"a": {"b"}, "b": {"a"}}))

    def test_banned_calls(self):
        good = ("/* free(x) */ ss_free(a); x.free(b); y->exit(1); const char *t = \"system(1)\";\n"
                "_exit(0); my_malloc(3); '\"'; // malloc(\n")
        self.assertEqual([], self.complaints(rules.check_banned_calls, {"src/view/a.c": good}))
        for call in ("malloc(3)", "free (x)", "exit(1)", "sprintf(a, b)", "abort()"):
            self.assertEqual(1, len(self.complaints(rules.check_banned_calls,
                                                    {"src/view/a.c": call})), call)
        self.assertEqual([], self.complaints(rules.check_banned_calls,
                                             {"src/base/a.c": "malloc(3); free(x); abort();",
                                              "src/cli/a.c": "exit(2);"}))

    def test_spdx(self):
        line = "SPDX-License-Identifier: Apache-2.0"
        good = {"a.c": f"/* {line} */\n", "b": f"#!/bin/sh\n# {line}\n", "data.json": "{}",
                "CMakeLists.txt": f"# {line}\n"}
        self.assertEqual([], self.complaints(rules.check_spdx, good))
        bad = {"a.c": f"\n/* {line} */\n", "b": "#!/bin/sh\necho\n", "c.py": ""}
        self.assertEqual(3, len(self.complaints(rules.check_spdx, bad)))

    def test_forbidden_words(self):
        good = {"a.md": "colour #112233, fix 3 issues, a heading\n# 1. One\n&#39; href='#1' [x](#1) C# 3 /proc/root/x"}
        self.assertEqual([], self.complaints(rules.check_forbidden_words, good))
        # Put together here, so that this file itself passes.
        for bad in ("/ro" "ot/x", "see issu" "e 12", "fixes #" "7.", "TO" "DO", "pypi" ".org/simple"):
            self.assertTrue(self.complaints(rules.check_forbidden_words, {"a.md": bad}), bad)

    def test_retired_words(self):
        good = {"src/ring/a.c": '/* The recorder polls each ring, looks up names. */\nputs("tell");'}
        self.assertEqual([], self.complaints(rules.check_retired_words, good))
        bad = {"src/ring/a.c": "int a; /* b\n * whoever tells */\n// his"}
        self.assertEqual([2, 2, 3], sorted(int(one.split(":")[1])
                                           for one in self.complaints(rules.check_retired_words, bad)))

    def test_links(self):
        files = {"docs/a.md": "# One `two`\n[x](b.md#deep-end) [y](#one-two) [z](https://x.y)\n"
                              "```\n[no](link.md)\n```\n", "docs/b.md": "## Deep end\n"}
        self.assertEqual([], self.complaints(rules.check_links, files, files.__contains__))
        files["docs/a.md"] = "[x](c.md) [y](b.md#shallow)"
        self.assertEqual(2, len(self.complaints(rules.check_links, files, files.__contains__)))

    def test_output(self):
        good = 'int f(void) {\n/* stdout */ fprintf(out, "%s\\n", "stderr");\nwrite(fd, p, 2); }'
        self.assertEqual([], self.complaints(rules.check_output, {"src/cli/a.c": good}))
        for bad in ("fputs(name, stdout);", 'fprintf(stderr, "x");', 'printf("%s", name);',
                    "puts(name);", "perror(name);", "write(STDERR_FILENO, name, 3);",
                    "write(2, name, 3);", 'dprintf(1, "%s", name);', 'out("\\033[1m");',
                    'out("\\x1B[2K");'):
            self.assertEqual(1, len(self.complaints(rules.check_output, {"src/view/a.c": bad})), bad)
        self.assertEqual([], self.complaints(rules.check_output, {"src/base/terminal.c": bad}))

    def test_getenv(self):
        self.assertEqual([], self.complaints(rules.check_getenv, {"src/base/env.c": "getenv(x)"}))
        self.assertTrue(self.complaints(rules.check_getenv, {"src/cli/a.c": "secure_getenv(x)"}))


if __name__ == "__main__":
    unittest.main()
