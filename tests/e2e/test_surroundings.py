# SPDX-License-Identifier: Apache-2.0
"""What surrounds a recorded program: variables, the commit, the CPUs."""

import json
import pathlib
import shutil
import subprocess

COMPARED = pathlib.Path(__file__).resolve().parents[1] / "workloads" / "compared.py"


def test_what_differs_is_in_every_format(stepscope, python, package, tmp_path):
    """Variables that change the speed, the commit and the CPUs; no other variable."""
    git = shutil.which("git")
    folders, commits = [tmp_path / "one", tmp_path / "two"], []
    for folder, threads in zip(folders, "13"):
        folder.mkdir()
        if git is not None:
            for words in (["init", "-q"], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-q",
                                           "--allow-empty", "-m", folder.name]):
                subprocess.run([git, *words], cwd=folder, check=True)
            commits.append(subprocess.run([git, "rev-parse", "HEAD"], cwd=folder, check=True, text=True,
                                          capture_output=True).stdout.strip())
        stepscope("record", "-q", "-o", folder / "run.pftrace", "--", python, COMPARED, "8", "data=0.01",
                  cwd=folder, env={"PYTHONPATH": str(package), "OMP_NUM_THREADS": threads,
                                   "NCCL_ALGO": "Ring\nTree", "MY_TOKEN": f"token{threads}"})
    pair = [folder / "run.pftrace" for folder in folders]
    tables = json.loads(stepscope("diff", "-f", "json", *pair).stdout)["tables"]
    rows = {row["setting"]: (row["a"], row["b"])
            for table in tables if table["by"] == "environment" for row in table["rows"]}
    wanted = {"env.OMP_NUM_THREADS": ("1", "3")}
    if git is not None:
        wanted["git_commit"] = tuple(commits)
    assert {name: rows.get(name) for name in wanted} == wanted
    page = tmp_path / "page.html"
    stepscope("diff", *pair, "--html", page)
    for shown in (stepscope("diff", *pair).stdout, stepscope("diff", "-f", "markdown", *pair).stdout,
                  page.read_text()):
        assert all(name.replace("_", "") in shown.replace("\\", "").replace("_", "") for name in wanted)
        assert all(value in shown for values in wanted.values() for value in values)
    attributes = json.loads(stepscope("info", "--format", "json", pair[0]).stdout)
    text = json.dumps(attributes)
    assert "token1" not in text and "NCCL_ALGO" not in text and "cpus_allowed" in text
    if "model name" in pathlib.Path("/proc/cpuinfo").read_text():
        assert "cpu_model" in text
