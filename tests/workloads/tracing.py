# SPDX-License-Identifier: Apache-2.0
"""Checks of profile_functions() and lines() against the runtime of tests/fakes, in any CPython from
3.8 on: tracing.py FAKE-RUNTIME. Prints one line per check: its name, and "ok" or what went wrong."""

import asyncio
import cProfile
import collections
import ctypes
import functools
import gc
import os
import sys
import threading
import time
import traceback
import types

fake = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
fake.fake_log.restype = ctypes.c_char_p

import stepscope  # noqa: E402

MONITORED = sys.version_info >= (3, 12)
FLAGS = 7
recordings = 0


def gate(on):
    """Each recording has another number, as with the real runtime."""
    global recordings
    recordings += bool(on)
    fake.fake_gate((recordings << 8 | FLAGS) if on else 0)


class recording:
    """What was called while the block ran, with the gate open: "+name" and "-" of calls."""

    def __init__(self, *kinds):
        self.kinds = kinds or ("push", "pop")

    def __enter__(self):
        self.calls = []
        fake.fake_clear()
        gate(True)
        stepscope.mark("poll")  # nothing, but that a call into the package
        stepscope.step()
        fake.fake_clear()
        return self.calls

    def __exit__(self, *raised):
        stepscope._stepscope._flush_lines()
        gate(False)
        for line in fake.fake_log().decode().splitlines():
            if line.split()[0] in self.kinds:
                self.calls.append(line.replace("push functions:", "+").replace("pop functions", "-"))
        return False


def equal(found, wanted):
    assert found == wanted, f"{found!r} is not {wanted!r}"


def raises(kind, part, function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except kind as error:
        assert part in str(error), f"{error!r} lacks {part!r}"
    else:
        raise AssertionError(f"no {kind.__name__}")


# --- what is traced ---


def leaf():
    return 1


def caller():
    return leaf() + leaf()


def not_chosen():
    return leaf()


def counted(number):
    return 1 if number == 0 else counted(number - 1)


def numbers(count):
    for number in range(count):
        got = yield number
        if got == "stop":
            return


def boom():
    raise ValueError("boom")


def catches():
    try:
        boom()
    except ValueError:
        return leaf()


class Model:
    def forward(self, value):
        return self.inner(value)

    def inner(self, value):
        return value + 1

    @staticmethod
    def static():
        return 1

    @classmethod
    def klass(cls):
        return 2

    @property
    def prop(self):
        return 3

    class Part:
        def run(self):
            return 4


# --- calls ---


def check_calls_and_what_is_left_alone():
    with stepscope.profile_functions([leaf, caller]):
        with recording() as calls:
            caller()
            not_chosen()
        equal(calls, ["+caller", "+leaf", "-", "+leaf", "-", "-", "+leaf", "-"])
    with recording() as calls:
        caller()
    equal(calls, [])


def check_recursion():
    with stepscope.profile_functions(counted), recording() as calls:
        counted(3)
    equal(calls, ["+counted"] * 4 + ["-"] * 4)


def check_exceptions():
    with stepscope.profile_functions([boom, catches, leaf]), recording() as calls:
        catches()
        raises(ValueError, "boom", boom)
    equal(calls, ["+catches", "+boom", "-", "+leaf", "-", "-", "+boom", "-"])


def check_generators():
    with stepscope.profile_functions([numbers, leaf]), recording() as calls:
        for _ in numbers(2):
            leaf()
    equal(calls, ["+numbers", "-", "+leaf", "-"] * 2 + ["+numbers", "-"])
    with stepscope.profile_functions(numbers), recording() as calls:
        generator = numbers(5)
        next(generator)
        raises(StopIteration, "", generator.send, "stop")
        generator = numbers(5)
        next(generator)
        raises(KeyError, "x", generator.throw, KeyError("x"))
        generator = numbers(5)
        next(generator)
        generator.close()
    # Closing what waits at a plain yield does not run it in newer interpreters.
    equal(calls[:8], ["+numbers", "-"] * 4)
    assert calls[8:] in (["+numbers", "-"], ["+numbers", "-"] * 2), calls


def check_coroutines():
    async def inner():
        await asyncio.sleep(0)
        return leaf()

    async def outer():
        return await inner()

    with stepscope.profile_functions([inner, outer]), recording() as calls:
        asyncio.run(outer())
    equal([call.replace("check_coroutines.<locals>.", "") for call in calls],
          ["+outer", "+inner", "-", "-"] * 2)


def check_threads():
    begin, end = threading.Event(), threading.Event()

    def early():
        begin.wait()
        leaf()

    thread = threading.Thread(target=early)
    thread.start()
    with stepscope.profile_functions(leaf), recording() as calls:
        begin.set()
        thread.join()
        late = threading.Thread(target=leaf)
        late.start()
        late.join()
    equal(calls, ["+leaf", "-"] * 2)


def check_names():
    def nested():
        return 1

    with stepscope.profile_functions(
            [Model, nested]), recording("push", "function") as calls:
        model = Model()
        equal(model.forward(1), 2)
        Model.static(), Model.klass(), model.prop, Model.Part().run(), nested()
    pushed = [call[1:] for call in calls if call.startswith("+")]
    equal(pushed, ["Model.forward", "Model.inner", "Model.static", "Model.klass", "Model.prop",
                   "Model.Part.run", "check_names.<locals>.nested"])


def functions_of(wanted, **options):
    """The names of what is called with a filter."""
    with stepscope.profile_functions(wanted, **options), recording() as calls:
        caller()
        Model().forward(1)
        Model.Part().run()
        collections.namedtuple("N", "a b")
    return sorted({call[1:] for call in calls if call.startswith("+")})


def check_filters():
    mine = ["Model.Part.run", "Model.forward", "Model.inner", "caller", "leaf"]
    here = os.path.abspath(__file__)
    for wanted in ("__main__", "__main__.*", "tracing.py", here, os.path.dirname(here) + "/*",
                   sys.modules["__main__"], lambda code: os.path.samefile(code.co_filename, here)
                   if os.path.exists(code.co_filename) else False):
        equal([name for name in functions_of(wanted) if "recording" not in name and
               "lambda" not in name and name != "gate"], mine)
    equal(functions_of("*.forward"), ["Model.forward"])
    equal(functions_of("__main__.Model"), mine[:3])
    equal(functions_of(["*.leaf", caller]), ["caller", "leaf"])
    equal(functions_of([], where=lambda code: code.co_name == "inner"), ["Model.inner"])
    equal([name for name in functions_of("collections") if "<" not in name], ["namedtuple"])
    equal(functions_of("coll"), [])
    equal(functions_of(functools.partial(leaf)), ["leaf"])


def check_filters_that_are_none():
    raises(TypeError, "takes what to trace", stepscope.profile_functions)
    raises(TypeError, "no Python code", stepscope.profile_functions, 3)
    raises(TypeError, "no Python code", stepscope.profile_functions, len)
    raises(TypeError, "where is a function", stepscope.profile_functions, leaf, where=3)
    raises(ValueError, "empty", stepscope.profile_functions, "")


def check_code_that_comes_later():
    with stepscope.profile_functions("made.*"), recording() as calls:
        module = types.ModuleType("made")
        exec("def fresh(): return 1\ndef again(): return fresh()", vars(module))
        module.again()
    equal(calls, ["+again", "+fresh", "-", "-"])


def check_a_later_filter_finds_what_an_earlier_one_left_out():
    with recording() as calls:
        with stepscope.profile_functions("__main__.caller") as first:
            caller()
            with stepscope.profile_functions("__main__.leaf"):
                caller()
            caller()
            first.stop()
            first.stop()
            caller()
    equal(calls, ["+caller", "-"] + ["+caller", "+leaf", "-", "+leaf", "-", "-"] + ["+caller", "-"])


def check_calls_from_before_and_until_after():
    def whole():
        with recording() as inside:
            leaf()
        return inside

    with stepscope.profile_functions([whole, leaf]):
        equal(whole(), ["+leaf", "-"])  # its own begin was not recorded, nor its end
    with recording() as calls:
        tracing = stepscope.profile_functions(leaf)
        leaf()
        tracing.stop()
        leaf()
    equal(calls, ["+leaf", "-"])


def check_nothing_is_emitted_without_a_recording():
    with stepscope.profile_functions("__main__.*"):
        fake.fake_clear()
        with stepscope.lines([not_chosen]):
            caller()
            not_chosen()
        emitted = [line for line in fake.fake_log().decode().splitlines()
                if line.split()[0] in ("push", "pop", "line")]
    equal(emitted, [])


def check_recordings_follow_each_other():
    with stepscope.profile_functions(leaf):
        for _ in range(3):
            with recording() as calls:
                leaf()
            equal(calls, ["+leaf", "-"])
            leaf()


def check_a_filter_that_raises():
    kept, sys.unraisablehook = sys.unraisablehook, lambda what: None
    try:
        with stepscope.profile_functions(where=lambda code: 1 / 0), recording() as calls:
            equal(caller(), 2)
    finally:
        sys.unraisablehook = kept
    equal(calls, [])


def check_c_functions():
    def works():
        [3, 1, 2].sort()
        raises_in_c()
        return len("ab") + leaf()

    def raises_in_c():
        try:
            int("x")
        except ValueError:
            pass

    with stepscope.profile_functions(works, c_calls=True), recording() as calls:
        works()
    own = [call for call in calls if "int" not in call]
    equal([call.split("<locals>.")[-1] for call in own],
          ["works", "+list.sort", "-", "+len", "-", "-"])


def check_other_profilers():
    if MONITORED:
        with stepscope.profile_functions(leaf), recording() as calls:
            profile = cProfile.Profile()
            profile.enable()
            leaf()
            profile.disable()
            leaf()
        equal(calls, ["+leaf", "-"] * 2)
        for tool in range(6):
            if sys.monitoring.get_tool(tool) is None:
                sys.monitoring.use_tool_id(tool, "test")
        raises(RuntimeError, "other tools hold all ids", stepscope.profile_functions, leaf)
        for tool in range(6):
            sys.monitoring.free_tool_id(tool)
    else:
        sys.setprofile(lambda *event: None)
        raises(RuntimeError, "another profiler", stepscope.profile_functions, leaf)
        sys.setprofile(None)
        sys.settrace(lambda *event: None)
        raises(RuntimeError, "another tracer", stepscope.lines, leaf)
        sys.settrace(None)
    with stepscope.profile_functions(leaf), recording() as calls:
        leaf()
    equal(calls, ["+leaf", "-"])


# --- lines ---


def mixed(count):
    total = 0
    for number in range(count):
        if number % 2:
            total += sum(value for value in range(number))
            continue
        total += len([value
                      for value in range(3)])
    while total > 50:
        total -= 10
    try:
        boom()
    except ValueError:
        total += 1
    finally:
        total += 1
    with open(os.devnull) as null:
        total += null.fileno()
    return (total +
            counted(3))


def leaves_by_exception(number):
    number += 1
    boom()
    return number


def tree(depth):
    if depth == 0:
        return 1
    return tree(depth - 1) + tree(depth - 1)


async def waits(count):
    for _ in range(count):
        await asyncio.sleep(0)
    return count


def work():
    mixed(9)
    raises(ValueError, "boom", leaves_by_exception, 1)
    tree(4)
    list(numbers(4))
    asyncio.run(both())
    threads = [threading.Thread(target=mixed, args=(5,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


async def both():
    await asyncio.gather(waits(3), waits(2))


TIMED = [mixed, leaves_by_exception, tree, numbers, waits]


def with_tool(hits, codes):
    def on_line(code, line):
        hits[codes[code], line] += 1

    monitoring = sys.monitoring
    monitoring.use_tool_id(monitoring.DEBUGGER_ID, "test")
    monitoring.register_callback(monitoring.DEBUGGER_ID, monitoring.events.LINE, on_line)
    for code in codes:
        monitoring.set_local_events(monitoring.DEBUGGER_ID, code, monitoring.events.LINE)
    work()
    for code in codes:
        monitoring.set_local_events(monitoring.DEBUGGER_ID, code, 0)
    monitoring.register_callback(monitoring.DEBUGGER_ID, monitoring.events.LINE, None)
    monitoring.free_tool_id(monitoring.DEBUGGER_ID)


def hits_by_the_interpreter():
    """The same by Python itself: a callback or trace function in Python."""
    codes = {function.__code__: function.__name__ for function in TIMED}
    hits = collections.Counter()

    if MONITORED:
        with_tool(hits, codes)
        return dict(hits)

    def on_line(frame, event, arg):
        if event == "line":
            hits[codes[frame.f_code], frame.f_lineno] += 1
        return on_line

    def on_call(frame, event, arg):
        return on_line if frame.f_code in codes else None

    threading.settrace(on_call)
    sys.settrace(on_call)
    try:
        work()
    finally:
        sys.settrace(None)
        threading.settrace(None)
    return dict(hits)


def lines_of(calls):
    hits = collections.Counter()
    for call in (call for call in calls if call.startswith("line")):
        _, name, line, count, *_ = call.split()
        hits[name, int(line)] += int(count)
    return {key: count for key, count in hits.items() if count > 0}


def check_lines_are_those_of_the_interpreter():
    wanted = hits_by_the_interpreter()
    assert len(wanted) > 25, wanted
    with stepscope.lines(*TIMED), recording("line") as calls:
        work()
    equal(lines_of(calls), wanted)
    assert all(call.endswith("took time") for call in calls), calls
    with recording("line") as calls:
        work()
    equal(calls, [])


def check_lines_of_decorated_things():
    @stepscope.lines
    def plain():
        return 1

    @stepscope.lines
    class Whole:
        def one(self):
            return 1

        @staticmethod
        def two():
            return 2

    @stepscope.lines()
    def with_parentheses():
        return 3

    assert isinstance(plain, types.FunctionType) and isinstance(Whole, type)
    with recording("line") as calls:
        plain(), Whole().one(), Whole.two(), with_parentheses()
    equal(sorted(call.split(".")[-1].split()[0] for call in calls),
          ["one", "plain", "two", "with_parentheses"])
    raises(TypeError, "no Python code", stepscope.lines, len)


def check_lines_of_functions_that_end():
    def make():
        namespace = {}
        exec("def short():\n    return 1", namespace)
        return stepscope.lines(namespace["short"])

    with recording("line") as calls:
        short = make()
        short()
        del short
        gc.collect()
    assert [call for call in calls if call.startswith("line short 2 1")], calls


def check_lines_asked_for_twice():
    with recording("line") as calls:
        outer = stepscope.lines([leaf])
        with stepscope.lines([leaf]):
            leaf()
        leaf()
        outer.stop()
        leaf()
    equal(list(lines_of(calls).values()), [2])


def check_lines_and_calls_together():
    with stepscope.lines([caller, leaf]), stepscope.profile_functions([caller, leaf]), \
            recording("push", "pop", "line") as calls:
        caller()
    equal([call for call in calls if not call.startswith("line")],
          ["+caller", "+leaf", "-", "+leaf", "-", "-"])
    equal(sorted(lines_of(calls).values()), [1, 2])


def check_lines_are_emitted_periodically():
    with stepscope.lines([tree, counted]), recording() as ignored:
        deadline = time.monotonic() + 30
        while b"line tree" not in fake.fake_log() and time.monotonic() < deadline:
            tree(6)
        assert b"line tree" in fake.fake_log()
    del ignored


def check_forked_children():
    with stepscope.lines([leaf]), stepscope.profile_functions(caller), recording("line") as calls:
        leaf()
        child = os.fork()
        if child == 0:
            fake.fake_clear()
            caller()
            stepscope._stepscope._flush_lines()
            emitted = fake.fake_log().decode().splitlines()
            # Its own hits, not those of its parent.
            hits = lines_of(emitted)
            ok = list(hits.values()) == [2] and {name for name, _ in hits} == {"leaf"}
            ok = ok and [line for line in emitted if line.startswith("push")] == [
                "push functions:caller"]
            os._exit(0 if ok else 1)
        equal(os.waitpid(child, 0)[1], 0)
    equal(list(lines_of(calls).values()), [1])


def main():
    for name, check in list(globals().items()):
        if name.startswith("check_"):
            try:
                check()
                print(name[6:], "ok")
            except BaseException:
                print(name[6:], traceback.format_exc().replace("\n", " | "))
            gate(False)


main()
