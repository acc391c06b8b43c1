# SPDX-License-Identifier: Apache-2.0
"""Does each header compile alone? What a source file includes first is proven by the build: nothing
stands before it, so that it got no help. The same holds for what that header includes first. Only
the other headers, and those whose objects are older than they, are compiled here."""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess

import rules

# Up to the first include: comments, which are blanks by then, and the include guard.
FIRST = re.compile(r'\s*(?:#ifndef (\w+)\n#define \1\n\s*)?#include "([^"]+)"')
# The build must have asked for what is asked here, of the same language.
ASKED = {"-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror"}


def first_include(text, files):
    """The file of ours that the text includes before it says anything else, or None."""
    match = FIRST.match(rules.without_comments(text))
    path = f"src/{match.group(2)}" if match else None
    return path if path in files else None


def first_includes(text, files):
    """All that stand first: the include, the first include of that one, and so on."""
    chain = []
    while (path := first_include(text, files)) is not None and path not in chain:
        chain.append(path)
        text = files[path]
    return chain


def closures(files):
    """A function from a path to all files that it includes, over any number of steps."""
    targets, known = rules.includes(files), {}

    def of(path):
        if path not in known:
            known[path] = set() # in a cycle, the others have the rest
            known[path] = set(targets[path]).union(*map(of, targets[path]))
        return known[path]

    return of


def objects(root, build):
    """{path: its object}: what the build compiles with our warnings as errors."""
    commands = build / "compile_commands.json"
    found = {}
    for one in json.loads(commands.read_text()) if commands.exists() else ():
        words = shlex.split(one["command"])
        path = pathlib.Path(one["file"])
        if ASKED <= set(words) and "-o" in words and path.is_relative_to(root):
            found[str(path.relative_to(root))] = \
                pathlib.Path(one["directory"], words[words.index("-o") + 1])
    return found


def changed_ns(path):
    return path.stat().st_mtime_ns if path.exists() else 0


def proven(root, build, files):
    """The headers that the objects of the build prove to compile alone."""
    of, changed, alone = closures(files), {}, set()
    for path, made in objects(root, build).items():
        text = files.get(path)
        chain = first_includes(text, files) if text is not None else ()
        if set(chain) <= alone:
            continue
        for one in (path, *of(path)):
            changed.setdefault(one, changed_ns(root / one))
        if max(changed[one] for one in (path, *of(path))) < changed_ns(made):
            alone.update(chain)
    return alone


def complaints(compiler, folders, root, paths):
    """The errors of the headers that do not compile alone; each is compiled by itself, in one process
    for each core."""
    command = [*compiler, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused",
               *(f"-I{folder}" for folder in folders)]
    cores = len(os.sched_getaffinity(0))

    def compile_some(some):
        done = subprocess.run([*command, *(root / path for path in some)], capture_output=True, text=True,
                              env={**os.environ, "LC_ALL": "C"}, check=False)
        errors = re.findall(r"^.*\berror: .*$", done.stderr, re.M)
        return errors or [done.stderr] if done.returncode else []

    shares = [paths[core::cores] for core in range(cores)]
    with concurrent.futures.ThreadPoolExecutor(cores) as pool:
        found = [error for errors in pool.map(compile_some, filter(None, shares)) for error in errors]
    return list(dict.fromkeys(found)) # once, however many include the file
