# SPDX-License-Identifier: Apache-2.0
"""itwinai's own report functions, to compare with: the released package, without its dependencies
(they include PyTorch), in a folder of the build tree. None where it cannot be had."""

import importlib.util
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "build" / "peers" / "itwinai"
MODULE = pathlib.Path("itwinai", "torch", "profiling", "py_spy_aggregation.py")
VERSION = "0.4.2"


def _install(*wanted):
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-compile",
           "--target", str(FOLDER)]
    for packages in wanted:
        done = subprocess.run([*pip, *packages], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=300, check=False)
        if done.returncode != 0:
            return done.stderr.strip().splitlines()[-1:] or ["pip failed"]
    return []


def load():
    """(module, "") or (None, why not)."""
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
    lacks = [] if (FOLDER / MODULE).exists() else [["--no-deps", f"itwinai=={VERSION}"]]
    lacks += [] if importlib.util.find_spec("pydantic") else [["pydantic"]]
    if lacks:
        try:
            why = _install(*lacks)
            importlib.invalidate_caches()
        except (OSError, subprocess.SubprocessError) as error:
            why = [str(error)]
        if why:
            return None, f"itwinai {VERSION} could not be installed: {why[0]}"
    spec = importlib.util.spec_from_file_location("itwinai_aggregation", FOLDER / MODULE)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except ImportError as error:
        return None, f"itwinai {VERSION} could not be loaded: {error}"
    return module, ""


def report(module, path, library, aggregate):
    """Rows (name, path, line, library name, path, line, proportion, samples) in the order of
    `itwinai generate-py-spy-report --num-rows all`: the calls that its command makes."""
    traces = module.read_stack_traces(path=pathlib.Path(path))
    module.add_library_information(stack_traces=traces, library_name=library)
    leaves = [trace[-1] for trace in traces]
    if aggregate:
        leaves = module.get_aggregated_paths(stack_frames=leaves)
    leaves.sort(reverse=True)
    total = sum(leaf.num_samples for leaf in leaves)
    return [(leaf.name, leaf.path, leaf.line, leaf.library_function_name,
             leaf.library_function_path, leaf.library_function_line,
             f"{100 * leaf.num_samples / total:.2f}%", leaf.num_samples) for leaf in leaves]
