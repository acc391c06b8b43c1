# SPDX-License-Identifier: Apache-2.0
"""mutate: writes small faults into the C code and counts those that the tests notice."""

import argparse
import pathlib
import sys

import kill
import report
from tree import Tree

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ["unwind", "trace", "model", "analysis", "view", "record"]


def parse():
    parser = argparse.ArgumentParser(prog="mutate", description=__doc__)
    parser.add_argument("--home", default=ROOT / "build" / "mutants", type=pathlib.Path,
                        help="folder of the copy, the sample and the results")
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser("build", help="copy a revision, choose mutants, build them all")
    build.add_argument("--revision", default="HEAD")
    build.add_argument("--count", type=int, default=100, help="mutants of each folder")
    build.add_argument("--like", type=pathlib.Path, metavar="HOME",
                       help="take the mutants of another tree, not chosen anew")
    build.add_argument("--folders", nargs="+", default=FOLDERS)
    commands.add_parser("run", help="run the test programs on each mutant; goes on where it was")
    pytest = commands.add_parser("pytest", help="run tests of pytest on mutants that survived")
    pytest.add_argument("--python", default=sys.executable, help="the one that has pytest")
    pytest.add_argument("--count", type=int, default=25, help="survivors of each folder")
    pytest.add_argument("--budget", type=float, default=60, metavar="SECONDS",
                        help="of tests for each mutant, the fastest that reach it")
    pytest.add_argument("files", nargs="+", help="below the root of the repository")
    commands.add_parser("report", help="the table and the mutants that survived")
    return parser.parse_args()


def main():
    options = parse()
    options.home.mkdir(parents=True, exist_ok=True)
    tree = Tree(options.home)
    if options.command == "build":
        tree.copy(ROOT, options.revision)
        tree.configure()
        rows = (tree.choose_like(Tree(options.like).sample) if options.like else
                tree.choose(options.folders, options.count))
        tree.write_mutants(rows)
        tree.compile()
        print(f"{len(rows)} mutants in {tree.build}")
    elif options.command == "run":
        kill.kill_with_programs(tree)
    elif options.command == "pytest":
        kill.kill_with_pytest(tree, options.files, options.python, options.count, options.budget)
    if options.command != "build":
        report.show(tree)
    return 0


sys.exit(main())
