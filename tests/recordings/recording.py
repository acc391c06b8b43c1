# SPDX-License-Identifier: Apache-2.0
"""Recorded inputs: the recordings in tests/recordings/recorded/, and how each is recorded again.

inputs.py lists them. `make` stores them; tests/recorded/ reads them, or, with `--record-anew`, records
each input while the tests run and holds the new recording to the same assertions."""

import dataclasses
import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent
ROOT = TESTS.parent
STORE = HERE / "recorded"
FACTS = STORE / "recorded.json"
LARGEST_BYTES, LARGEST_TOTAL_BYTES = 100_000, 8_000_000
BESIDE = "trials/", "corpus/"  # folders beside tests/workloads
# Options of several ranks, whose import of PyTorch would be most of the samples.
FEW_SAMPLES = "-r", 10, "--host-interval", 5

MPI = "mpich", "openmpi"
ACCELERATE = ("-m", "accelerate.commands.launch", "--multi_gpu", "--num_machines", 1, "--mixed_precision", "no",
              "--dynamo_backend", "no", "--main_process_port", 0, "--num_processes")
# Starts a process for each rank in torchrun's environment, and waits for them.
RANKS = """
for rank in $(seq 0 $((WORLD_SIZE - 1))); do
    RANK=$rank LOCAL_RANK=$rank "$@" &
    pids="$pids $!"
done
status=0
for pid in $pids; do wait $pid || status=1; done
exit $status
"""


@dataclasses.dataclass(frozen=True)
class Input:
    """How one recording is made.

    program: a file or folder of tests/workloads, or a file of another folder ("examples/…", "trials/…",
        "corpus/…"), with its arguments. In these and in `env`, `{run}` is the folder it runs in, `{out}` the
        folder of `is_folder`.
    built: `program` is one of those that the build makes of tests/workloads.
    code: the text of a program instead of `program`.
    is_folder: what is stored is a folder. It has what `-o {out}/…` in `options` names or, without any
        `options`, what the program itself writes, which no recorder records then.
    device: options of tests/fakes/cuda/run: the program runs on the simulated device.
    package: the program imports stepscope, and finds the program `stepscope` in PATH.
    ranks: that many processes in torchrun's environment; 0: one process, without that.
    launcher: "torchrun", "accelerate": it starts the ranks; "": a shell does, since these import PyTorch too;
        "mpich", "openmpi": mpiexec does, and `program` is a file in C, which mpicc compiles.
    options: of `stepscope record`. env: of the program.
    namespaces: the program makes time namespaces.
    needs: Python modules without which the program cannot run; "torch_cuda": a build of PyTorch for CUDA.
    status: the exit status of the program."""

    program: tuple = ()
    built: bool = False
    code: str = ""
    is_folder: bool = False
    device: tuple = None
    package: bool = False
    namespaces: bool = False
    ranks: int = 0
    launcher: str = ""
    options: tuple = ()
    env: dict = dataclasses.field(default_factory=dict)
    needs: tuple = ("torch",)
    status: int = 0
    timeout_s: int = 600

    def lacks(self):
        """What this machine lacks; None: the program can run."""
        for name in self.needs:
            if name == "torch_cuda" and not has_torch_for_cuda():
                return "build of PyTorch for CUDA"
            if name != "torch_cuda" and importlib.util.find_spec(name) is None:
                return f"module {name}"
        if self.namespaces and not has_time_namespaces():
            return "right to make time namespaces"
        if self.launcher in MPI and shutil.which(f"mpicc.{self.launcher}") is None:
            return f"mpicc.{self.launcher}"
        return None if self.device is None or device_environment(()) else "headers of CUDA"

    def sources(self):
        """What the program is made of: `make` has to run again when these change."""
        how = repr((self.program, self.ranks, self.launcher, self.options, sorted(self.env.items())))
        more = self.built, self.is_folder, self.device, self.package
        how += "" if more == (False, False, None, False) else repr(more)
        return hashlib.sha256(self._text() + how.encode()).hexdigest()[:16]

    def _text(self):
        if self.code:
            return self.code.encode()
        path = file_of(self.program[0])
        if path.is_dir() or self.program[0].startswith("examples/"):
            folder = path if path.is_dir() else path.parent
            return b"".join(one.read_bytes() for one in sorted(folder.glob("*.py")))
        if self.program[0].startswith("corpus/"):
            return path.read_bytes() + path.with_name("corpus.py").read_bytes()
        beside = [path.with_name(word) for word in self.program[1:] if str(word).endswith(".py")]
        return b"".join(one.read_bytes() for one in (path.with_suffix(".c") if self.built else path, *beside))


def file_of(program, workloads=TESTS / "workloads", examples=ROOT / "examples"):
    if program.startswith("examples/"):
        return examples / program.removeprefix("examples/")
    return (workloads.parent if program.startswith(BESIDE) else workloads) / program


@functools.lru_cache(None)
def has_torch_for_cuda():
    try:
        files = importlib.metadata.files("torch") or ()
    except importlib.metadata.PackageNotFoundError:
        files = ()
    return any(one.name == "libtorch_cuda.so" for one in files)


@functools.lru_cache(None)
def has_time_namespaces():
    return shutil.which("unshare") is not None and subprocess.run(
        ["unshare", "--mount", "--time", "--fork", "true"], capture_output=True, check=False).returncode == 0


@functools.lru_cache(None)
def device_environment(options):
    """The variables with which programs run on the simulated device; empty: it cannot be built here."""
    done = subprocess.run([sys.executable, TESTS / "fakes" / "cuda" / "run", "--print-environment",
                           *options, sys.executable], capture_output=True, text=True, check=False)
    if done.returncode == 77:
        return {}
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return dict(line.split("=", 1) for line in done.stdout.splitlines())


@dataclasses.dataclass(frozen=True)
class Recorded:
    """trace: the recording, a file or a folder of ranks. said: what the program printed."""

    trace: pathlib.Path
    said: str


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a program runs: folders as the program sees them."""

    stepscope: pathlib.Path
    python: pathlib.Path
    workloads: pathlib.Path
    examples: pathlib.Path
    run: pathlib.Path
    env: dict
    moved: tuple = ()  # (a folder as this machine has it, as the program sees it)

    def seen(self, text):
        for real, inside in self.moved:
            text = text.replace(str(real), str(inside))
        return text


def here(stepscope, run):
    """The place of the tests themselves."""
    return Place(pathlib.Path(stepscope), pathlib.Path(sys.executable), TESTS / "workloads",
                 ROOT / "examples", run, {})


def free_port():
    import socket  # pylint: disable=import-outside-toplevel
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def command_of(one, place):
    words = [filled(word, place) for word in one.program]
    if one.code:
        program = place.run / "train.py"
        program.write_text(one.code)
        words.insert(0, program)
    elif one.built:
        return [place.stepscope.parent / "tests" / words[0], *words[1:]]
    else:
        words[0] = file_of(words[0], place.workloads, place.examples)
    if one.launcher in MPI:
        program = place.run / "program"
        subprocess.run([f"mpicc.{one.launcher}", "-O1", "-w", words[0], "-o", program, "-lpthread", "-ldl"],
                       check=True)
        return [f"mpiexec.{one.launcher}", "-n", one.ranks, program, *words[1:]]
    if one.launcher == "torchrun":
        return [place.python, "-m", "torch.distributed.run", "--nproc-per-node", one.ranks, *words]
    if one.launcher == "accelerate":
        return [place.python, *ACCELERATE, one.ranks, *words]
    if one.ranks:
        return ["env", f"WORLD_SIZE={one.ranks}", f"LOCAL_WORLD_SIZE={one.ranks}",
                "MASTER_ADDR=127.0.0.1", f"MASTER_PORT={free_port()}", "sh", "-c", RANKS, "ranks",
                place.python, *words]
    return [place.python, *words]


def filled(word, place):
    return word.replace("{run}", str(place.run)).replace("{out}", str(place.run / "out")) \
        if isinstance(word, str) else word


def environment(one, place):
    ranks = {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"} if one.ranks else {}
    own = {key: filled(value, place) for key, value in one.env.items()}
    env = {**os.environ, **ranks, **place.env, **own}
    if one.device is not None:
        env.update({key: place.seen(value) for key, value in device_environment(one.device).items()})
    if one.package:
        build = place.stepscope.parent
        for key, folder in (("PYTHONPATH", build / "python"), ("PATH", build)):
            env[key] = ":".join(filter(None, [str(folder), env.get(key)]))
    return env


def record(one, place, trace):
    """Records the input. Raises what says why it did not work."""
    words = command_of(one, place)
    if one.is_folder:
        (place.run / "out").mkdir()
        options = [filled(word, place) for word in one.options]
        words = [place.stepscope, "record", "-q", *options, "--", *words] if options else words
    else:
        words = [place.stepscope, "record", "-q", *one.options, "-o", trace, "--", *words]
    done = subprocess.run(list(map(str, words)), cwd=place.run, env=environment(one, place),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=one.timeout_s, check=False)
    if done.returncode != one.status:
        raise RuntimeError(f"exit status {done.returncode}, not {one.status}:\n{done.stderr[-4000:]}")
    if one.is_folder:
        trace = trace.with_suffix(".folder")
        shutil.move(place.run / "out", trace)
    return Recorded(trace, done.stdout)


def trace_of(folder, name):
    """The stored recording: one file, or a folder of files."""
    return next((path for ending in (".pftrace", ".stepscope", ".folder")
                 if (path := folder / (name + ending)).exists()), folder / (name + ".pftrace"))


def stored(name):
    said = STORE / (name + ".out")
    return Recorded(trace_of(STORE, name), said.read_text() if said.exists() else "")


def bytes_of(path):
    files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
    return sum(one.stat().st_size for one in files)


def facts():
    """Of each stored input: the versions that made it, and the digest of its sources."""
    return json.loads(FACTS.read_text()) if FACTS.exists() else {}


def keep(name, recorded, one, versions):
    """Stores the recording and what is known of it."""
    size = bytes_of(recorded.trace)
    if size > LARGEST_BYTES:
        raise RuntimeError(f"{size} bytes: more than {LARGEST_BYTES}; make the program shorter")
    for old in STORE.glob(name + ".*"):
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    target = STORE / (name + recorded.trace.suffix)
    shutil.copytree(recorded.trace, target) if recorded.trace.is_dir() else shutil.copyfile(
        recorded.trace, target)
    if recorded.said:
        (STORE / (name + ".out")).write_text(recorded.said)
    known = facts()
    known[name] = {"sources": one.sources(), **versions}
    FACTS.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")
    return size
