# SPDX-License-Identifier: Apache-2.0
"""A header that needs another one and does not include it is found, built or not."""

import json
import os
import pathlib
import shutil
import tempfile
import unittest

import headers

GUARDED = "/* a */\n#ifndef X_H\n#define X_H\n\n{}#endif\n"
FILES = {"src/a/x.h": GUARDED.format('#include "a/y.h"\n\nint f(uint8_t);\n'),
         "src/a/y.h": "#include <stdint.h>\n", "src/a/z.h": "int g(uint8_t);\n"}


class FirstIncludes(unittest.TestCase):
    def chain(self, text):
        return headers.first_includes(text, FILES)

    def test_nothing_may_stand_before(self):
        self.assertEqual(["src/a/x.h", "src/a/y.h"], self.chain('/* b */\n// c\n#include "a/x.h"\nint x;\n'))
        for before in ("#include <stdint.h>\n", '#include "a/none.h"\n', "#define A\n", "#if A\n",
                       "typedef int uint8_t;\n", "#ifndef A\n#define B\n", "#ifndef A\n#define A 1\n"):
            self.assertEqual([], self.chain(before + '#include "a/x.h"\n'), before)

    def test_the_second_is_not_proven(self):
        self.assertEqual(["src/a/y.h"], self.chain('#include "a/y.h"\n#include "a/z.h"\n'))

    def test_headers_that_include_each_other_end(self):
        files = {"src/a/x.h": '#include "a/y.h"\n', "src/a/y.h": '#include "a/x.h"\n'}
        self.assertEqual(["src/a/x.h", "src/a/y.h"], headers.first_includes('#include "a/x.h"\n', files))


class Proven(unittest.TestCase):
    """A tree with one source file and its object."""

    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="ü b"))
        self.addCleanup(shutil.rmtree, self.root)
        self.files = {**FILES, "src/a/x.c": '#include "a/x.h"\n#include "a/z.h"\n'}
        for path, text in self.files.items():
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            os.utime(file, (1000, 1000))
        (self.root / "x.o").touch()
        os.utime(self.root / "x.o", (2000, 2000))
        self.commands()

    def commands(self, flags="-D_GNU_SOURCE -Wall -Wextra -Werror -std=gnu11"):
        text = json.dumps([{"directory": str(self.root), "file": str(self.root / "src/a/x.c"),
                            "command": f"cc {flags} -o x.o -c x.c"}])
        (self.root / "compile_commands.json").write_text(text)

    def proven(self):
        return headers.proven(self.root, self.root, self.files)

    def test_what_a_built_file_includes_first_is(self):
        self.assertEqual({"src/a/x.h", "src/a/y.h"}, self.proven())

    def test_an_object_older_than_any_included_file_proves_nothing(self):
        for path in self.files:
            os.utime(self.root / path, (3000, 3000))
            self.assertEqual(set(), self.proven(), path)
            os.utime(self.root / path, (1000, 1000))
        (self.root / "x.o").unlink()
        self.assertEqual(set(), self.proven())

    def test_a_build_that_allows_warnings_proves_nothing(self):
        self.commands("-D_GNU_SOURCE -Wall -Wextra -std=gnu11")
        self.assertEqual(set(), self.proven())

    def test_without_a_build_nothing_is(self):
        (self.root / "compile_commands.json").unlink()
        self.assertEqual(set(), self.proven())

    @unittest.skipUnless(shutil.which("cc"), "cc is not installed")
    def test_the_compiler_names_a_header_that_forgets_an_include(self):
        found = headers.complaints(["cc", "-x", "c", "-std=gnu11"], [self.root / "src"], self.root,
                                   ["src/a/x.h", "src/a/z.h"])
        self.assertTrue(found)
        self.assertEqual([], [error for error in found if "src/a/z.h:1:" not in error])


if __name__ == "__main__":
    unittest.main()
