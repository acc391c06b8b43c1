# SPDX-License-Identifier: Apache-2.0
"""Each rule finds what it is there to find, and nothing else."""

import unittest

import rules


class Rules(unittest.TestCase):
    def complaints(self, check, *arguments):
        return list(check(*arguments))

    def test_layers(self):
        good = {"src/view/a.c": '#include "model/core/model.h"\n#include "view/b.h"\n#include <stdio.h>\n'}
        self.assertEqual([], self.complaints(rules.check_layers, good))
        for bad in ('#include "trace/reader.h"\n', '  #  include "cli/line/command_help.h"\n', '#include "b.h"\n'):
            self.assertEqual(1, len(self.complaints(rules.check_layers, {"src/view/a.c": bad})))
        self.assertEqual(1, len(self.complaints(rules.check_layers, {"src/utils/a.c": ""})))

    def test_layers_see_forward_declarations(self):
        files = {"src/record/b.h": "struct ss_b {\n    int x;\n};\n",
                 "src/platform/a.h": "/* what */\nstruct ss_b;\nvoid f(struct ss_b *b);\n"}
        self.assertEqual(["src/platform/a.h: platform must not know struct ss_b of src/record/b.h"],
                         self.complaints(rules.check_layers, files))
        # Opaque: record/b.h declares it, record/b.c defines it.
        files["src/record/b.c"] = '#include "record/b.h"\n' + files["src/record/b.h"]
        files["src/record/b.h"] = "struct ss_b;\n"
        self.assertEqual(1, len(self.complaints(rules.check_layers, files)))
        # An opaque handle: no header of ours defines its struct.
        files["src/record/b.c"] = ""
        self.assertEqual([], self.complaints(rules.check_layers, files))

    def test_include_cycles(self):
        files = {"src/a/x.h": '#include "a/y.h"\n', "src/a/y.h": '#include "a/z.h"\n',
                 "src/a/z.h": ""}
        self.assertEqual([], self.complaints(rules.check_include_cycles, files))
        files["src/a/z.h"] = '#include "a/x.h"\n'
        self.assertEqual(["include cycle: a/x.h, a/y.h, a/z.h"],
                         self.complaints(rules.check_include_cycles, files))
        # The same, with a forward declaration in place of the last include.
        files["src/a/x.h"] += "struct ss_x {\n    int a;\n};\n"
        files["src/a/z.h"] = "struct ss_x;\n"
        self.assertEqual(["include cycle: a/x.h, a/y.h, a/z.h"],
                         self.complaints(rules.check_include_cycles, files))

    def test_an_opaque_struct_is_no_cycle(self):
        definition = "struct ss_x {\n    int a;\n};\n"
        private = "/* SPDX */\n/* Internals of struct ss_x. Private to x.c. */\n"
        files = {"src/a/x.h": "struct ss_x;\n", "src/a/y.h": "struct ss_x;\n",
                 "src/a/x_inside.h": private + '#include "a/x.h"\n' + definition,
                 "src/a/x.c": '#include "a/x_inside.h"\n'}
        self.assertEqual({"ss_x": {"src/a/x.h"}}, rules.struct_homes(files))
        self.assertEqual([("src/a/y.h", "ss_x", "src/a/x.h")], rules.forward_arrows(files))
        self.assertEqual([], self.complaints(rules.check_include_cycles, files))

    def test_cycles_of_folders(self):
        files = {"src/a/x.h": '#include "b/y.h"\n', "src/b/y.h": "", "src/b/z.h": ""}
        self.assertEqual([], self.complaints(rules.check_folder_cycles, files))
        files["src/b/z.h"] = '#include "a/x.h"\n'
        self.assertEqual(["cycle of folders: a, b"],
                         self.complaints(rules.check_folder_cycles, files))

    def test_cycles_of_classes(self):
        files = {"src/a/steps.h": "", "src/a/steps.c": '#include "a/step_rows.h"\n',
                 "src/a/step_rows.h": '#include "a/steps.h"\n'}
        self.assertEqual([], self.complaints(rules.check_class_cycles, files)) # one class
        files = {"src/a/x.h": "", "src/a/x.c": '#include "a/y.h"\n',
                 "src/a/y.h": '#include "a/x.h"\n'}
        self.assertEqual(["cycle of headers with their sources: src/a/x, src/a/y"],
                         self.complaints(rules.check_class_cycles, files))
        files.update({f"src/a/z{number}.h": "" for number in range(97)}) # 3 of 100
        self.assertEqual([], self.complaints(rules.check_class_cycles, files))

    def test_file_sizes(self):
        self.assertEqual([], self.complaints(rules.check_file_sizes,
                                             {"src/a/x.c": "\n" * 600, "src/a/x.inc": "\n" * 601,
                                              "tests/unit/a/test_x.c": "\n" * 601}))
        self.assertEqual(1, len(self.complaints(rules.check_file_sizes,
                                                {"src/a/x.c": "\n" * 601})))

    def test_long_functions(self):
        def function(lines, above="", inside=""):
            body = "".join(f"    f({number});\n" for number in range(lines - 4))
            return f"struct a {{\n    int b;\n}};\n{above}static void\nlong_name(int x)\n{{\n{inside}{body}}}\n"
        short = {"src/a/x.c": function(40)}
        self.assertEqual([("long_name", 4, 43)], rules.functions(short["src/a/x.c"]))
        self.assertEqual([], self.complaints(rules.check_long_functions, short))
        self.assertEqual(["src/a/x.c:4: long_name has 41 lines: shorten it, or say above it why it "
                          "is long"],
                         self.complaints(rules.check_long_functions, {"src/a/x.c": function(41)}))
        for text in (function(41, above="/* Long: one case\n * per row. */\n"),
                     function(41, inside="    /* Long: one case per row. */\n")):
            self.assertEqual([], self.complaints(rules.check_long_functions, {"src/a/x.c": text}))
        self.assertEqual(1, len(self.complaints(rules.check_long_functions,
                                                {"src/a/x.c": function(41, "/* Frees. */\n")})))

    def test_the_layers_themselves_are_acyclic(self):
        self.assertEqual([], self.complaints(rules.check_layer_cycles, rules.LAYERS))
        self.assertTrue(self.complaints(rules.check_layer_cycles, {"a": {"b"}, "b": {"a"}}))

    def test_clocks(self):
        read = "uint64_t now_ns = ss_clock_monotonic_ns();\n"
        good = {"src/record/run/witness.c": read, "tests/unit/a/test_x.c": read + "// usleep(1)\n",
                "src/view/a.c": "uint64_t now_ns = ss_clock_now_ns(clock);\n"}
        self.assertEqual([], self.complaints(rules.check_clocks, good))
        self.assertEqual(1, len(self.complaints(rules.check_clocks, {"src/view/a.c": read})))
        self.assertEqual(1, len(self.complaints(rules.check_clocks,
                                                {"tests/unit/a/test_x.c": "usleep (1);"})))

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

    def test_shared_names(self):
        table = ('SS_SHARED_NAME(domain, torch_data, "torch.data", "fetches")\n'
                 'SS_SHARED_NAME(phase, data, "data", "the loop waits")\n'
                 'SS_SHARED_NAME(counter, ready, "ready batches", "that wait")\n')
        def complaints(path, text):
            return self.complaints(rules.check_shared_names,
                                   {"src/base/shared_names.def": table, path: text})
        self.assertEqual([], complaints("src/a/x.c", '/* "torch.data" */ f("data", "torch.x");\n'))
        self.assertEqual(1, len(complaints("src/a/x.c", 'f("torch.data");\n')))
        self.assertEqual(1, len(complaints("src/a/x.h", '#define X "ready batches"\n')))
        hook = "src/inject/torch_hooks/a.py"
        self.assertEqual([], complaints(hook, 'define_domain(DOMAIN_TORCH_DATA)\n'
                                        'define_counter(COUNTER_READY, "")\nx.set_fact("y", 1)\n'
                                        'set_fact("a." + key, 1)\ndefine_counter(f"{a} b", "")\n'))
        for text in ('set_fact("torch.data", 1)\n', 'set_fact_text("a.b", "c")\n',
                     'define_domain("torch.data")\n'):
            self.assertEqual(1, len(complaints(hook, text)), text)

    def test_searches(self):
        middle = "size_t at = from + (to - from) / 2;\n"
        for bad in ("if (rows[at] < key) {\n from = at + 1;\n} else {\n to = at;\n}\n",
                    "if (rows[at] > key) {\n to = at;\n} else {\n from = at + 1;\n}\n",
                    "from = is_before ? at + 1 : from;\nto = is_before ? to : at;\n"):
            self.assertEqual(["src/view/a.c:1: ss_search (base/search.h) finds it"],
                             self.complaints(rules.check_searches, {"src/view/a.c": middle + bad}))
        mean = "return from + (to - from) / 2;\n" + middle + "return rows[at];\n"
        self.assertEqual([], self.complaints(rules.check_searches, {"src/view/a.c": mean}))

    def test_figures_name_crowded_rooms(self):
        files = {f"src/view/a/x{i}.c": "int x;\n" for i in range(rules.MOST_FILES_OF_A_ROOM + 1)}
        self.assertIn("src/view/a 41", rules.figures(files | {"src/view/b/y.c": "int f(void)\n{\n}\n"})[-1])

    def test_rooms(self):
        first, second = rules.ROOMS["analysis"][:2]
        good = {f"src/analysis/{second}/b.c": f'#include "analysis/{first}/a.h"\n', f"src/analysis/{first}/a.h": "",
                "src/base/x.c": ""}
        self.assertEqual([], self.complaints(rules.check_rooms, good))
        up = {f"src/analysis/{first}/a.c": f'#include "analysis/{second}/b.h"\n', f"src/analysis/{second}/b.h": ""}
        for bad in (up, {"src/analysis/a.c": ""}, {"src/analysis/elsewhere/a.c": ""},
                    {f"src/analysis/{first}/{number}.c": "" for number in range(41)}):
            self.assertTrue(self.complaints(rules.check_rooms, bad), bad)

    def test_rule_limits(self):
        def files(code, fires="more than {MOST}", limits="SS_RULE_LIMIT(MOST, 7, COUNT, \"x\")"):
            return {"src/analysis/table/rule_limits.def": limits + "\n",
                    "src/analysis/diagnosis/rules.def": f'SS_RULE(a, "a", "head", "needs", "{fires}",\n'
                                              '        "of 0 workers", "the fix of 12 things")\n',
                    "src/analysis/diagnosis/rules_a.c": code, "src/analysis/samples/hot_lines.c": "SS_LIMIT_MOST + 3"}
        good = "/* 3 */ ns > SS_LIMIT_MOST && x[0] + 100 * y1 > 1 && count / 2"
        self.assertEqual([], self.complaints(rules.check_rule_limits, files(good)))
        for bad in (files("ns > 3"), files("ns > 0.5"), files("ns / 4"), files("2 * ns"),
                    files(good, fires="more than 3"), files(good, fires="twice or more"),
                    files(good, fires="more than {LEAST}"),
                    files(good, limits='SS_RULE_LIMIT(MOST, 7, COUNT, "x")\n'
                                       'SS_RULE_LIMIT(LEAST, 7, COUNT, "x")')):
            self.assertEqual(1, len(self.complaints(rules.check_rule_limits, bad)), bad)

    def test_rule_cases(self):
        table = {"src/analysis/diagnosis/rules.def": 'SS_RULE(a, "a", 1)\nSS_RULE(\n    b_c, "b-c", 1)\n'}
        cases = [f"rule_{rule}_{case}" for rule in ("a", "b_c")
                 for case in ("fires", "just_does_not_fire", "beside_a_larger_one")]

        def files(*tests):
            text = "".join(f"        cmocka_unit_test({test}),\n" for test in tests)
            return {**table, "tests/unit/analysis/test_rules_x.c": text,
                    "tests/unit/model/test_x.c": "cmocka_unit_test(rule_of_another_kind)"}
        self.assertEqual([], self.complaints(rules.check_rule_cases, files(*cases, "test_x")))
        for missing in cases:
            others = [case for case in cases if case != missing]
            for tests in (others, [*others, f"/* {missing} */ x"]):
                self.assertEqual([f"tests/unit/analysis: no test {missing}"],
                                 self.complaints(rules.check_rule_cases, files(*tests)))
        self.assertEqual(["tests/unit/analysis: rule_d_fires is no case of a rule"],
                         self.complaints(rules.check_rule_cases, files(*cases, "rule_d_fires")))

    def test_table_cases(self):
        table = {"src/analysis/tables/tables.c":
                 'const struct ss_table_kind ss_table_kinds[] = {\n    {.id = "gpu-work",\n'
                 '     .summary = "a, b",\n     .build = ss_build_a},\n    {.id = "op",\n'
                 '     .columns = "own",\n     .build = build_b},\n    {.id = NULL}};\n'}

        def case(name, row, cells="a=1; b=2; c=-"):
            return (f"static void {name}(void **state)\n{{\n    build_tables(&made.built, {row}, &s, t);\n"
                    f'    check_cells(&made.built.tables[0], 0, /* why */\n                "{cells}");\n}}\n'
                    f"    cmocka_unit_test({name}),\n")

        good = case("table_gpu_work", '"gpu-work", NULL'), case("table_op_own", '"op", "own"')

        def complaints(*cases):
            path = "tests/unit/analysis/test_x.c"
            return self.complaints(rules.check_table_cases, {**table, path: "".join(cases)})
        self.assertEqual([], complaints(*good))
        self.assertEqual(["tests/unit/analysis: no test table_op_own"], complaints(good[0]))
        self.assertEqual(["tests/unit/analysis: no test table_op_own"],
                         complaints(good[0], good[1].replace("cmocka_unit_test", "x")))
        self.assertEqual(["tests/unit/analysis: table_gpu is of no table"],
                         complaints(*good, case("table_gpu", '"gpu", NULL')))
        for row in ('"op", NULL', '"op", "key_averages"', '"gpu-work", NULL'):
            self.assertEqual(["tests/unit/analysis: table_op_own does not build its table"],
                             complaints(good[0], case("table_op_own", row)))
        self.assertEqual(["tests/unit/analysis: table_op_own compares fewer than three cells of a row"],
                         complaints(good[0], case("table_op_own", '"op", "own"', "a=1; b=2")))

    def test_importer_cases(self):
        good = {"src/model/load/importers.c": "const struct ss_importer *const ss_importers[] = {&ss_importer_raw,\n"
                                         "    &ss_importer_ncu,\n    NULL};\n",
                "tests/unit/model/test_raw.c": "", "tests/unit/model/test_load_ncu.c": "",
                "tests/fuzz/fuzz_ncu.c": "", "tests/fuzz/fuzz_all.c": "load(&ss_importer_raw)"}
        self.assertEqual([], self.complaints(rules.check_importer_cases, good))
        for path, what in (("tests/unit/model/test_raw.c", "tests/unit/model: no test_load_raw.c"),
                           ("tests/fuzz/fuzz_ncu.c", "tests/fuzz: no target reads ss_importer_ncu"),
                           ("tests/fuzz/fuzz_all.c", "tests/fuzz: no target reads ss_importer_raw")):
            files = {name: text for name, text in good.items() if name != path}
            self.assertEqual([what], self.complaints(rules.check_importer_cases, files))

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
        for bad in ("/ro" "ot/x", "/wo" "rk/", "see issu" "e 12", "Issu" "e #1", "fixes #" "7.", "Fix #" "1",
                    "closes #" "1", "Resolves #" "2", "PR #" "3", "Pull request #" "4", "TO" "DO", "FIX" "ME",
                    "XX" "X", "HA" "CK", "pypi" ".org/simple", "files.python" "hosted.org", "deb.debian" ".org",
                    "registry.npm" "js.org", "npm" "js.com", "clau" "de", "Chat" "GPT", "GP" "T-4", "LL" "M",
                    "language" " model", "AI" "-generated"):
            self.assertTrue(self.complaints(rules.check_forbidden_words, {"a.md": bad}), bad)

    def test_retired_words(self):
        def lines(path, text):
            return sorted(int(one.split(":")[1]) for one in
                          self.complaints(rules.check_retired_words, {path: text}))

        self.assertEqual([], lines("src/ring/a.c", "/* The recorder polls each ring, looks up names, "
                                   'looks like it. */\n#include "told.h"\nint wishful;'))
        self.assertEqual([2, 2, 3], lines("src/ring/a.c", "int a; /* b\n * whoever tells */\n// his"))
        self.assertEqual([1], lines("src/ring/a.c", 'puts("torch was met");'))
        self.assertEqual([1, 2], lines("tests/e2e/test_a.py", "def test_it_is_told():\n    self._told = 1"))
        self.assertEqual([1], lines("docs/a.md", "Files are passed over."))
        self.assertEqual([], lines("docs/a.svg", "whoever"))

    def test_links(self):
        files = {"docs/a.md": "# One `two`\n[x](b.md#deep-end) [y](#one-two) [z](https://x.y)\n"
                              "```\n[no](link.md)\n```\n", "docs/b.md": "## Deep end\n"}
        self.assertEqual([], self.complaints(rules.check_links, files, files.__contains__))
        files["docs/a.md"] = "[x](c.md) [y](b.md#shallow)"
        self.assertEqual(2, len(self.complaints(rules.check_links, files, files.__contains__)))

    def test_named_files(self):
        text = "`base/a.c` and src/base/a.c, then base/b.h; base/X.c and tests/test_x.py are examples"
        self.assertEqual([], list(rules.check_named_files("A.md", text, ["src/base/a.c", "src/base/b.h"])))
        self.assertEqual(["A.md: base/b.h does not exist"],
                         list(rules.check_named_files("A.md", text, ["src/base/a.c"])))

    def test_output(self):
        good = 'int f(void) {\n/* stdout */ fprintf(out, "%s\\n", "stderr");\nwrite(fd, p, 2); }'
        self.assertEqual([], self.complaints(rules.check_output, {"src/cli/a.c": good}))
        for bad in ("fputs(name, stdout);", 'fprintf(stderr, "x");', 'printf("%s", name);',
                    "puts(name);", "perror(name);", "write(STDERR_FILENO, name, 3);",
                    "write(2, name, 3);", 'dprintf(1, "%s", name);', 'out("\\033[1m");',
                    'out("\\x1B[2K");', 'open("/dev/tty", 0);'):
            self.assertEqual(1, len(self.complaints(rules.check_output, {"src/view/a.c": bad})), bad)
        self.assertEqual([], self.complaints(rules.check_output, {"src/base/terminal.c": bad}))

    def test_getenv(self):
        self.assertEqual([], self.complaints(rules.check_getenv, {"src/base/env.c": "getenv(x)"}))
        self.assertTrue(self.complaints(rules.check_getenv, {"src/cli/a.c": "secure_getenv(x)"}))


if __name__ == "__main__":
    unittest.main()
