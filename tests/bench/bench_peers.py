# SPDX-License-Identifier: Apache-2.0
"""What other systems that record ranges in C cost, beside ours: peers/pairs.c built for each that is
installed, all run in turn, each recorded by its own recorder. Debian: liblttng-ust-dev and
lttng-tools, uftrace; Tracy is built from the sources in $BENCH_TRACY (the folder that holds
`public`). What is absent is left out, with the reason."""

import contextlib
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
STEPSCOPE = pathlib.Path(os.environ["STEPSCOPE"]).resolve()
SOURCE = HERE / "peers" / "pairs.c"
TURNS = 5


class Absent(Exception):
    """Why a peer is left out."""


def run(command, env=None, timeout=120):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=timeout, check=False, env={**os.environ, **(env or {})})
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Absent(str(error)) from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Absent(f"{command[0]}: {said[0] if said else f'exit status {done.returncode}'}")
    return done.stdout


def ns_of(command, env=None):
    return float(run(command, env).split()[-1])


def need(*programs):
    for program in programs:
        if shutil.which(program) is None:
            raise Absent(f"{program} is not installed")


def build(folder, name, *options, last=()):
    output = folder / name
    run(["cc", "-O2", f"-DPEER_{name.upper()}", *options, SOURCE, "-o", output, *last])
    return output


class Stepscope:
    title = "stepscope"

    def __init__(self, folder, stack):
        library = STEPSCOPE.parent
        self.program = build(folder, "stepscope", "-DSTEPSCOPE_LINKED", f"-I{ROOT}/include",
                             last=[f"-L{library}", "-lstepscope", f"-Wl,-rpath,{library}"])
        self.trace = folder / "stepscope.pftrace"

    def off(self):
        return ns_of([self.program])

    def on(self):
        return ns_of([STEPSCOPE, "record", "-q", "-o", self.trace, "--", self.program])


class Lttng:
    """A separate session daemon, which ends with this process."""

    title = "LTTng-UST"

    def __init__(self, folder, stack):
        need("lttng", "lttng-sessiond")
        try:
            self.program = build(folder, "lttng", f"-I{SOURCE.parent}",
                                 last=["-llttng-ust", "-ldl"])
        except Absent:
            raise Absent("its headers are not installed (liblttng-ust-dev)") from None
        self.env = {"LTTNG_HOME": str(folder / "lttng-home")}
        os.mkdir(self.env["LTTNG_HOME"])
        self.off_ns = ns_of([self.program], {**self.env, "LTTNG_UST_REGISTER_TIMEOUT": "0"})
        log = stack.enter_context(open(folder / "lttng.log", "w+"))
        daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel"], stdin=subprocess.DEVNULL,
                                  stdout=log, stderr=log, env={**os.environ, **self.env})
        stack.callback(self.end, daemon)
        self.control("create", "bench", f"--output={folder}/lttng-trace", tries=50)
        stack.callback(self.quietly, "destroy", "bench")
        self.control("enable-channel", "-u", "-s", "bench", "--subbuf-size=4M", "--num-subbuf=8",
                     "all")
        self.control("enable-event", "-u", "-s", "bench", "-c", "all", "stepscope_bench:*")
        self.control("start", "bench")

    @staticmethod
    def end(daemon):
        daemon.terminate()
        try:
            daemon.wait(20)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()

    def control(self, *arguments, tries=1):
        for left in range(tries - 1, -1, -1):
            try:
                return run(["lttng", "--no-sessiond", *arguments], self.env)
            except Absent:
                if left == 0:
                    raise
                time.sleep(0.1)

    def quietly(self, *arguments):
        with contextlib.suppress(Absent):
            self.control(*arguments)

    def off(self):
        return self.off_ns

    def on(self):
        return ns_of([self.program], self.env)


class Uftrace:
    title = "uftrace"

    def __init__(self, folder, stack):
        need("uftrace")
        self.program = build(folder, "uftrace", "-pg")
        self.folder = folder

    def off(self):
        return ns_of(["env", "-C", self.folder, self.program])  # -pg leaves a gmon.out

    def on(self):
        data = self.folder / "uftrace.data"
        value = ns_of(["uftrace", "record", "-d", data, self.program])
        shutil.rmtree(data, ignore_errors=True)
        return value


class Tracy:
    title = "Tracy (no server connected)"

    def __init__(self, folder, stack):
        public = pathlib.Path(os.environ.get("BENCH_TRACY", "/nonexistent")) / "public"
        if not (public / "TracyClient.cpp").exists():
            raise Absent("its sources are not in $BENCH_TRACY")
        need("c++")
        client = folder / "tracy.o"
        run(["c++", "-std=c++17", "-O2", "-DTRACY_ENABLE", f"-I{public}", "-c",
             public / "TracyClient.cpp", "-o", client], timeout=600)
        self.program = build(folder, "tracy", "-DTRACY_ENABLE", f"-I{public}",
                             last=[client, "-lstdc++", "-lpthread", "-ldl", "-lm"])
        self.without = folder / "tracy-off"
        run(["cc", "-O2", "-DPEER_TRACY", f"-I{public}", SOURCE, "-o", self.without])

    def off(self):
        return ns_of([self.without])

    def on(self):
        return ns_of([self.program])


def main():
    found = {}
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(
            tempfile.TemporaryDirectory()))
        for kind in (Stepscope, Lttng, Uftrace, Tracy):
            try:
                found[kind] = (kind(folder, stack), [], [])
            except Absent as error:
                print(f"{kind.title} is left out: {error}")
        if Stepscope not in found:
            return
        for _ in range(TURNS):
            for kind in list(found):
                peer, on, off = found[kind]
                try:
                    on.append(peer.on())
                    off.append(peer.off())
                except Absent as error:
                    print(f"{kind.title} is left out: {error}")
                    del found[kind]
                    if kind is Stepscope:
                        return
    ours = statistics.median(found[Stepscope][1])
    for kind, (_, on, off) in found.items():
        if kind is not Stepscope:
            value = statistics.median(on)
            print(f"peer_{kind.__name__.lower()}\t{value / ours:.1f}\t{kind.title} {value:.1f} ns, "
                  f"ours {ours:.1f} (off: {statistics.median(off):.1f}, "
                  f"{statistics.median(found[Stepscope][2]):.1f}), recorded, medians of {TURNS}")


main()
