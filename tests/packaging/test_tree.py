# SPDX-License-Identifier: Apache-2.0
"""cmake --install gives a tree that works wherever it lies, and that others can build against."""

import os
import pathlib
import re
import shutil
import subprocess


from conftest import ROOT, run

EXAMPLE = ROOT / "examples" / "c" / "hottest.c"
ANNOTATED = ROOT / "examples" / "c" / "annotated.c"
C11 = ["cc", "-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror"]


def pkg_config(tree, *arguments, package="stepscope-reader"):
    output = run(["pkg-config", *arguments, package],
                 env={**os.environ, "PKG_CONFIG_PATH": str(tree / "lib" / "pkgconfig")})
    # A blank in the path is escaped, as a shell would read it.
    return [word.replace("\\ ", " ") for word in re.split(r"(?<!\\)\s+", output.strip())]


def show_hottest(program, tree, recording):
    return run([program, recording], env={**os.environ, "LD_LIBRARY_PATH": str(tree / "lib")})


def test_what_is_in_the_tree(tree):
    found = {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()}
    assert {"bin/stepscope", "include/stepscope/reader.h", "lib/libstepscope-reader.so",
            "include/stepscope/stepscope.h", "lib/libstepscope.so", "lib/pkgconfig/stepscope.pc",
            "lib/pkgconfig/stepscope-reader.pc", "lib/cmake/stepscope/stepscope-config.cmake",
            "share/man/man1/stepscope.1", "share/bash-completion/completions/stepscope",
            "libexec/stepscope/preload.so", "share/doc/stepscope/LICENSE"} <= found
    # it is first on the PYTHONPATH of recorded programs: nothing else may lie there
    python = {path for path in found
              if path.startswith("libexec/stepscope/python/") and "__pycache__" not in path}
    assert python == {"libexec/stepscope/python/sitecustomize.py"}
    assert not [path for path in found if re.match(r"lib/[^/]+-linux-gnu", path)]


def test_program_runs_from_there(tree):
    assert run([tree / "bin" / "stepscope", "--version"]).startswith("stepscope ")


def test_program_needs_no_library_of_ours(tree):
    needed = run(["readelf", "-d", tree / "bin" / "stepscope"])
    assert "libstepscope" not in needed
    assert "RPATH" not in needed and "RUNPATH" not in needed


def test_recorded_programs_are_handed_the_library_of_the_tree(tree, tmp_path):
    output = run([tree / "bin" / "stepscope", "record", "-q", "-o", tmp_path / "t.pftrace", "--",
                  "sh", "-c", "echo $INTEL_LIBITTNOTIFY64; echo ${PYTHONPATH%%:*}"])
    assert output.splitlines() == [str(tree.resolve() / "lib" / "libstepscope.so.0"),
                              str(tree.resolve() / "libexec" / "stepscope" / "python")]


def test_example_builds_with_pkg_config_and_reads_a_recording(tree, recording, tmp_path):
    program = tmp_path / "hottest"
    run([*C11, EXAMPLE, *pkg_config(tree, "--cflags", "--libs"), "-o", program])
    output = show_hottest(program, tree, recording)
    assert re.search(r"^ *[\d.]+ %  spin_here \(.*spin\.py:[34]\)$", output, re.M)
    assert "of " in output.splitlines()[0]


def test_example_names_what_is_wrong_with_a_file(tree, tmp_path):
    program = tmp_path / "hottest"
    run([*C11, EXAMPLE, *pkg_config(tree, "--cflags", "--libs"), "-o", program])
    done = subprocess.run([program, EXAMPLE], env={"LD_LIBRARY_PATH": str(tree / "lib")},
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "hottest.c" in done.stderr


def test_annotated_example_builds_with_the_library(tree, tmp_path):
    program = tmp_path / "annotated"
    flags = pkg_config(tree, "--cflags", "--libs", package="stepscope")
    run([*C11, ANNOTATED, *flags, "-lm", "-pthread", "-o", program])
    assert "libstepscope.so" in run(["readelf", "-d", program])
    output = run([program, "2"], env={"LD_LIBRARY_PATH": str(tree / "lib")})
    assert output.startswith("lowest loss ")


def test_annotated_example_builds_and_runs_without_the_library(tree, tmp_path):
    for options in (["-fPIE", "-pie"], ["-fno-pie", "-no-pie"]):
        program = tmp_path / "annotated"
        run([*C11, *options, "-O2", ANNOTATED, f"-I{tree / 'include'}", "-lm", "-pthread",
             "-o", program])
        assert run([program, "2"], env={}).startswith("lowest loss ")


def test_annotations_serve_cplusplus(tree, tmp_path):
    one, two = tmp_path / "one.cpp", tmp_path / "two.cpp"
    one.write_text("#include <stepscope/stepscope.h>\nint two();\n"
                   "int main() { STEPSCOPE_FUNC(); { STEPSCOPE_RANGE(\"inner\"); "
                   "STEPSCOPE_RANGE(\"innermost\"); } return two(); }\n")
    two.write_text("#include <stepscope/stepscope.h>\n"
                   "int two() { STEPSCOPE_FUNC(); return stepscope_pop(0); }\n")
    program = tmp_path / "program"
    run(["g++", "-std=c++17", "-pedantic", "-Wall", "-Wextra", "-Werror", one, two,
         *pkg_config(tree, "--cflags", "--libs", package="stepscope"), "-o", program])
    run([program], env={"LD_LIBRARY_PATH": str(tree / "lib")})


def test_header_serves_cplusplus(tree, tmp_path):
    source = tmp_path / "version.cpp"
    source.write_text("#include <stepscope/reader.h>\n#include <cstdio>\n"
                      "int main() { std::puts(stepscope_reader_version()); }\n")
    program = tmp_path / "version"
    run(["g++", "-std=c++17", "-pedantic", "-Wall", "-Wextra", "-Werror", source,
         *pkg_config(tree, "--cflags", "--libs"), "-o", program])
    version = run([program], env={"LD_LIBRARY_PATH": str(tree / "lib")}).strip()
    assert version == pkg_config(tree, "--modversion")[0]


def test_cmake_finds_the_package(tree, recording, tmp_path):
    shutil.copy(EXAMPLE, tmp_path)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.22)\nproject(user C)\n"
        "find_package(stepscope 0.1 REQUIRED)\nadd_executable(hottest hottest.c)\n"
        "target_link_libraries(hottest PRIVATE stepscope::reader)\n")
    run(["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={tree}"])
    run(["cmake", "--build", tmp_path / "build"])
    # Here without LD_LIBRARY_PATH: CMake leaves the library's place in what it builds.
    assert "spin_here" in run([tmp_path / "build" / "hottest", recording])


def test_cmake_gives_the_annotations(tree, tmp_path):
    shutil.copy(ANNOTATED, tmp_path)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.22)\nproject(user C)\n"
        "find_package(stepscope 0.1 REQUIRED)\nadd_executable(annotated annotated.c)\n"
        "target_link_libraries(annotated PRIVATE stepscope::stepscope m)\n")
    run(["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={tree}"])
    run(["cmake", "--build", tmp_path / "build"])
    assert run([tmp_path / "build" / "annotated", "2"]).startswith("lowest loss ")


def test_man_page_and_completion_are_of_this_version(tree):
    version = run([tree / "bin" / "stepscope", "--version"]).split()[1]
    assert f"stepscope {version}" in (tree / "share/man/man1/stepscope.1").read_text()
    run(["bash", "-n", tree / "share/bash-completion/completions/stepscope"])


def test_staged_install(tmp_path):
    build = pathlib.Path(os.environ.get("STEPSCOPE", ROOT / "build/dev/stepscope")).parent
    run(["cmake", "--install", build, "--prefix", "/usr"],
        env={**os.environ, "DESTDIR": str(tmp_path)})
    assert (tmp_path / "usr/bin/stepscope").exists()
