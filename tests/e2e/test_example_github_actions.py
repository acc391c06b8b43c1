# SPDX-License-Identifier: Apache-2.0
"""The workflow of examples/github-actions: its steps run here as they stand, with a `gh` that writes down
what it is asked."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKFLOW = ROOT / "examples" / "github-actions" / "speed.yml"
COMPARED = ROOT / "tests" / "workloads" / "compared.py"
GH = """#!/bin/sh
printf '%s\\n' "$*" >> gh.log
case "$*" in
*--paginate*) cat comments ;;
esac
"""


@pytest.fixture(scope="module")
def workflow():
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    return yaml.safe_load(WORKFLOW.read_text())


@pytest.fixture
def machine(workflow, stepscope, python, package, tmp_path):
    """A machine that runs steps of the workflow; machine(name): the CompletedProcess of one."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, target in (("stepscope", stepscope.path), ("python", python)):
        (tools / name).symlink_to(target)
    for name, text in (("gh", GH), ("sudo", '#!/bin/sh\necho "$*"\n'), ("pip", '#!/bin/sh\necho pip "$*"\n')):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    (work / "comments").write_text("")
    env = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(package),
           "GITHUB_REPOSITORY": "owner/project", "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
           **{name: str(value) for name, value in workflow["env"].items()}, "RUNS": "3"}
    steps = {step["name"]: step for step in workflow["jobs"]["training"]["steps"] if "run" in step}
    known = {"${{ github.token }}": "token", "${{ github.event.pull_request.number }}": "17"}

    def run(name):
        own = {key: known[value] for key, value in steps[name].get("env", {}).items()}
        script = tmp_path / "step.sh"
        script.write_text(steps[name]["run"])
        # As GitHub runs a step with `shell: bash`
        return subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", script], cwd=work,
                              env={**env, **own}, text=True, capture_output=True, timeout=300, check=False)

    def train(side, data):
        (work / side).mkdir()
        (work / side / "train.py").write_text(
            "import runpy, sys\nassert sys.argv[1:] == ['--steps', '100']\n"
            f"sys.argv[1:] = ['15', 'data={data}', 'forward=0.005']\n"
            f"runpy.run_path({str(COMPARED)!r}, run_name='__main__')\n")

    run.folder, run.train, run.summary = work, train, tmp_path / "summary.md"
    return run


def test_it_is_a_workflow(workflow):
    # YAML 1.1 reads the key `on` as true
    assert workflow[True] == "pull_request" and workflow["defaults"]["run"]["shell"] == "bash"
    assert workflow["permissions"] == {"contents": "read", "pull-requests": "write"}
    text = WORKFLOW.read_text()
    for step in workflow["jobs"]["training"]["steps"]:
        assert ("run" in step) != ("uses" in step)
        # What others name, such as branches, gets into commands through variables only.
        assert "${{" not in step.get("run", "")
        assert "@v" in step.get("uses", "@v")
        done = subprocess.run(["bash", "-n"], input=step.get("run", ""), text=True, check=False)
        assert done.returncode == 0
    assert "\t" not in text and max(map(len, text.splitlines())) <= 120


def test_it_is_clean_for_yamllint():
    pytest.importorskip("yamllint", reason="yamllint is not installed")
    rules = "{extends: default, rules: {line-length: {max: 120}, document-start: disable, truthy: disable, " \
            "comments: disable, braces: {max-spaces-inside: 0}}}"
    done = subprocess.run([sys.executable, "-m", "yamllint", "-d", rules, WORKFLOW], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout


def test_what_it_installs_is_there(machine):
    said = machine("Install").stdout.splitlines()
    assert said == ["make -C stepscope install PREFIX=/usr/local", "pip install -r after/requirements.txt"]
    done = subprocess.run(["make", "-n", "install", "PREFIX=/usr/local"], cwd=ROOT, text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0 and "cmake --install" in done.stdout


def test_a_slower_pull_request_fails_and_has_a_comment(machine):
    machine.train("before", 0.01)
    machine.train("after", 0.1)
    done = machine("Record the branch and the pull request in turn")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (machine.folder / "runs").glob("*/*.pftrace")) == [
        "1.pftrace", "1.pftrace", "2.pftrace", "2.pftrace", "3.pftrace", "3.pftrace"]
    done = machine("Compare")
    assert done.returncode == 1 and "--threshold allows 5 %" in done.stderr
    assert machine("Pages").returncode == 0
    summary = machine.summary.read_text()
    assert summary == (machine.folder / "diff.md").read_text() and "data +" in summary
    assert "</html>" in (machine.folder / "runs" / "diff.html").read_text()
    assert machine("Comment").returncode == 0
    comment = (machine.folder / "comment.md").read_text()
    assert comment.startswith("<!-- stepscope -->\n# stepscope diff: ")
    assert "per step" in comment and len(comment) < 65536
    asked = (machine.folder / "gh.log").read_text().splitlines()
    assert "--paginate repos/owner/project/issues/17/comments" in asked[0]
    assert asked[1:] == ["api --silent --method POST repos/owner/project/issues/17/comments -F body=@comment.md"]

    # The second time the same comment is changed.
    (machine.folder / "comments").write_text("4711\n4712\n")
    assert machine("Comment").returncode == 0
    assert (machine.folder / "gh.log").read_text().splitlines()[-1] == \
        "api --silent --method PATCH repos/owner/project/issues/comments/4711 -F body=@comment.md"


def test_a_pull_request_that_changes_nothing_passes(machine):
    for side in ("before", "after"):
        machine.train(side, 0.01)
    assert machine("Record the branch and the pull request in turn").returncode == 0
    shutil.rmtree(machine.folder / "runs" / "after")  # what is equal but for the noise of this machine
    shutil.copytree(machine.folder / "runs" / "before", machine.folder / "runs" / "after")
    done = machine("Compare")
    assert done.returncode == 0, done.stderr
    assert "No significant change per step" in (machine.folder / "diff.md").read_text()


def test_a_training_that_fails_ends_the_job(machine):
    machine.train("before", 0.01)
    (machine.folder / "after").mkdir()
    (machine.folder / "after" / "train.py").write_text("raise SystemExit(3)\n")
    assert machine("Record the branch and the pull request in turn").returncode == 3


def test_the_comment_is_found_by_its_mark(workflow):
    """The expression by which gh selects the comment, with jq where there is one."""
    if shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    step = next(one for one in workflow["jobs"]["training"]["steps"] if one.get("name") == "Comment")
    mark = step["run"].split("mark='")[1].split("'")[0]
    wanted = step["run"].split('--jq \\\n')[1].split(" | sed")[0].strip()[1:-1]
    wanted = wanted.replace('\\"', '"').replace("$mark", mark)
    comments = [{"id": 1, "user": {"type": "User"}, "body": mark}, {"id": 2, "user": {"type": "Bot"}, "body": "x"},
                {"id": 3, "user": {"type": "Bot"}, "body": mark + "\nA"}]
    done = subprocess.run(["jq", wanted], input=json.dumps(comments), text=True, capture_output=True, check=True)
    assert done.stdout.split() == ["3"]
