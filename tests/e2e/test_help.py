# SPDX-License-Identifier: Apache-2.0
"""What is generated from the command tables: reference page, man page, completion."""

import re
import subprocess


def complete(script, *words):
    """What bash offers for the last of the words."""
    quoted = " ".join(f"'{word}'" for word in words)
    code = (f"{script}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _stepscope\n"
            'printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_completion(stepscope, needs_tool):
    needs_tool("bash")
    script = stepscope("help", "--format", "bash").stdout
    assert "doctor" in complete(script, "stepscope", "")
    assert complete(script, "stepscope", "doc") == ["doctor"]
    assert complete(script, "stepscope", "doctor", "--fo") == ["--format"]
    assert complete(script, "stepscope", "doctor", "--format", "j") == ["json"]
    assert complete(script, "stepscope", "doctor", "plainfile") == []


def test_man_page_is_clean(stepscope, needs_tool):
    man = needs_tool("man")
    page = stepscope("help", "--format", "man").stdout
    assert page.count("\n.SS stepscope ") == len(re.findall(r"^\| \[`", stepscope(
        "help", "--format", "markdown").stdout, re.M))
    done = subprocess.run([man, "--warnings=all", "-l", "-"], input=page, capture_output=True,
                          text=True, env={"MANWIDTH": "80", "LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"},
                          check=False)
    assert done.returncode == 0
    assert done.stderr == ""
