# SPDX-License-Identifier: Apache-2.0
"""Checks of the Python package against the runtime of tests/fakes, in any CPython from 3.8 on:
annotations.py FAKE-RUNTIME. Prints one line per check: its name, and "ok" or what went wrong."""

import asyncio
import contextlib
import copy
import ctypes
import functools
import gc
import inspect
import os
import pickle
import sys
import threading
import traceback
import weakref

fake = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
fake.fake_log.restype = ctypes.c_char_p

import stepscope  # noqa: E402


class recording:
    """What was called while the block ran, with the gate open."""

    def __enter__(self):
        self.calls = []
        fake.fake_clear()
        fake.fake_gate(7)
        return self.calls

    def __exit__(self, *raised):
        fake.fake_gate(0)
        self.calls += fake.fake_log().decode().splitlines()
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


def check_the_runtime_is_found():
    assert stepscope._stepscope.has_runtime
    equal(stepscope.enabled(), False)
    fake.fake_gate(7)
    equal(stepscope.enabled(), True)
    fake.fake_gate(0)


def check_blocks():
    with recording() as calls:
        with stepscope.annotate("outer") as outer:
            equal(outer.name, "outer")
            with stepscope.annotate("inner", domain="mine"):
                pass
    equal(calls, ["push outer", "push mine:inner", "pop mine", "pop"])


def check_nothing_without_a_recording():
    fake.fake_clear()
    with stepscope.annotate("x", domain="mine"):
        stepscope.mark("y")
        stepscope.counter("z", 1)
        stepscope.push("p")
        stepscope.pop()
        stepscope.phase("data")
    equal(fake.fake_log(), b"")


def check_one_object_many_times():
    span = stepscope.annotate("again")
    with recording() as calls:
        for _ in range(2):
            with span:
                with span:
                    pass
    equal(calls, ["push again", "push again", "pop", "pop"] * 2)


def check_a_recording_may_begin_and_end_within():
    span = stepscope.annotate("late")
    with span:
        with recording() as calls:
            with span:
                pass
        span.__enter__()
    equal(calls, ["push late", "pop"])
    span.__exit__(None, None, None)
    with recording() as calls:
        span.__enter__()
        fake.fake_gate(0)
        span.__exit__(None, None, None)
    equal(calls, ["push late", "pop"])
    for _ in range(3):
        span.__exit__(None, None, None)  # too many: nothing


def check_exceptions_pass():
    with recording() as calls:
        try:
            with stepscope.annotate("x"):
                raise KeyError(1)
        except KeyError as error:
            equal(error.args, (1,))
    equal(calls, ["push x", "pop"])


def check_exit_stack():
    with recording() as calls:
        with contextlib.ExitStack() as stack:
            stack.enter_context(stepscope.annotate("a"))
            stack.enter_context(stepscope.annotate("b"))
    equal(calls, ["push a", "push b", "pop", "pop"])


def check_enter_is_a_method():
    span = stepscope.annotate("a")
    references = sys.getrefcount(span)
    for _ in range(10):
        with span:
            pass
    equal(sys.getrefcount(span), references)
    enter, again = span.__enter__, span.__enter__
    with recording() as calls:
        assert enter() is again() is type(span).__enter__(span) is span
        for _ in range(3):
            span.__exit__(None, None, None)
    equal(calls, ["push a"] * 3 + ["pop"] * 3)
    raises(TypeError, "no arguments", enter, 1)
    raises(TypeError, "", type(span).__enter__)
    raises(TypeError, "", type(span).__enter__, 1)
    raises(TypeError, "", type(enter))
    del span, again  # what is bound keeps its range
    gc.collect()
    equal(enter().name, "a")
    type(enter()).__exit__(None, None, None)
    stepscope.annotate.__exit__(None, None, None)


def check_names_of_blocks():
    with recording() as calls:
        with stepscope.annotate():
            pass
        with stepscope.annotate(domain="d"):
            pass
        stepscope.mark()
    line = check_names_of_blocks.__code__.co_firstlineno + 2
    equal(calls, [f"push annotations.py:{line}", "pop",
                  f"push d:annotations.py:{line + 2}", "pop d",
                  f"mark annotations.py:{line + 4}"])


def check_payloads():
    with recording() as calls:
        for payload in (3, -3, 2**63, 2**80, 0.5, "text", None, True):
            with stepscope.annotate("p", payload=payload):
                pass
    equal([call for call in calls if call != "pop"],
          ["push p = i3", "push p = i-3", "push p = u9223372036854775808",
           "push p = f1.20893e+24", "push p = f0.5", "push p = ntext", "push p", "push p = i1"])


def check_styles_are_given_once():
    with recording() as calls:
        for _ in range(3):
            with stepscope.annotate("styled", color="red", category="math"):
                pass
        stepscope.mark("styled2", color=0x123456)
        stepscope.mark("styled3", color="#80ff0040")
    equal([call for call in calls if call.startswith("style")],
          ["style styled ffff0000 math", "style styled2 ff123456 -", "style styled3 4080ff00 -"])


def check_wrong_arguments():
    annotate = stepscope.annotate
    raises(TypeError, "unexpected keyword argument 'colour'", annotate, "x", colour="red")
    raises(TypeError, "multiple values for argument 'name'", annotate, "x", name="y")
    raises(TypeError, "at most 5 arguments", annotate, "x", None, None, None, None, None)
    raises(ValueError, "is not a colour", annotate, "x", color="reddish")
    raises(ValueError, "colour number", annotate, "x", color=-1)
    raises(TypeError, "color must be", annotate, "x", color=1.5)
    raises(TypeError, "domain must be a str", annotate, "x", domain=3)
    raises(TypeError, "category must be a str", annotate, "x", category=3)
    raises(TypeError, "takes a name (str) or a function, not 3", annotate, 3)
    raises(TypeError, "not the class int", annotate, int)
    raises(TypeError, "", annotate, "x", payload=[])
    raises(TypeError, "takes one function", annotate("x"))
    raises(TypeError, "takes a name", stepscope.mark, 3)
    raises(TypeError, "takes a name", stepscope.push, 3)
    raises(TypeError, "takes a name", stepscope.phase, 3)
    raises(TypeError, "one number at most", stepscope.step, 1, 2)
    with recording():
        raises(ValueError, "kind is", stepscope.counter, "k", 1, None, "level")
        raises(TypeError, "", stepscope.counter, "k", "text")


@stepscope.annotate
def plain(a, b=2, *rest, key=None, **more):
    """What it does."""
    return a, b, rest, key, more


@stepscope.annotate("named", color="blue", payload=7)
def named():
    return None


@stepscope.annotate()
def with_parentheses():
    return 5


def check_functions():
    with recording() as calls:
        equal(plain(1), (1, 2, (), None, {}))
        equal(plain(1, 3, 4, key=5, z=6), (1, 3, (4,), 5, {"z": 6}))
        equal(plain(*[1], **{"b": 9}), (1, 9, (), None, {}))
        equal(named(), None)
        equal(with_parentheses(), 5)
    equal([call for call in calls if call != "pop"],
          ["push plain", "push plain", "push plain", "push named = i7", "push with_parentheses"])
    equal(calls.count("pop"), 5)
    equal(plain(1), (1, 2, (), None, {}))


def check_functions_look_like_themselves():
    equal(plain.__name__, "plain")
    equal(plain.__doc__, "What it does.")
    equal(plain.__module__, __name__)
    equal(plain.__defaults__, (2,))
    equal(str(inspect.signature(plain)), "(a, b=2, *rest, key=None, **more)")
    equal(inspect.unwrap(plain).__code__.co_name, "plain")
    equal(pickle.loads(pickle.dumps(plain)), plain)
    equal(copy.deepcopy(plain), plain)
    assert weakref.ref(plain)() is plain
    plain.attribute = 3
    equal(plain.attribute, 3)
    assert "annotated" in repr(plain)
    assert callable(plain)


def check_recursion():
    @stepscope.annotate("fact")
    def factorial(n):
        return n * factorial(n - 1) if n > 0 else 1
    with recording() as calls:
        equal(factorial(5), 120)
    equal(calls, ["push fact"] * 6 + ["pop"] * 6)
    deep = stepscope.annotate("deep")
    with recording() as calls:
        with contextlib.ExitStack() as stack:
            for _ in range(500):
                stack.enter_context(deep)
    equal((calls.count("push deep"), calls.count("pop")), (500, 500))


def check_raising_functions():
    @stepscope.annotate
    def fails():
        raise OSError("no")
    with recording() as calls:
        raises(OSError, "no", fails)
    equal(calls, ["push check_raising_functions.<locals>.fails", "pop"])


class Thing:
    @stepscope.annotate
    def method(self, x):
        return self, x

    @stepscope.annotate("class method")
    @classmethod
    def of_class(cls):
        return cls

    @classmethod
    @stepscope.annotate
    def inner(cls):
        return cls

    @stepscope.annotate
    @staticmethod
    def static(x):
        return x

    @stepscope.annotate
    @property
    def size(self):
        return 4

    @stepscope.annotate
    def __call__(self):
        return "called"


def check_methods():
    thing = Thing()
    with recording() as calls:
        equal(thing.method(1), (thing, 1))
        equal(Thing.method(thing, 2), (thing, 2))
        bound = thing.method
        equal(bound(x=3), (thing, 3))
        equal(Thing.of_class(), Thing)
        equal(thing.inner(), Thing)
        equal(thing.static(5), 5)
        equal(thing.size, 4)
        equal(thing(), "called")
    equal([call for call in calls if call != "pop"],
          ["push Thing.method"] * 3 + ["push class method", "push Thing.inner",
                                       "push Thing.static", "push Thing.size",
                                       "push Thing.__call__"])
    equal(calls.count("pop"), 8)


def check_other_callables():
    with recording() as calls:
        equal(stepscope.annotate(len)("abc"), 3)
        equal(stepscope.annotate("part")(functools.partial(plain, 1))()[0], 1)
    equal([call for call in calls if call != "pop"], ["push len", "push part", "push plain"])


def check_generators():
    @stepscope.annotate("gen")
    def numbers():
        try:
            got = yield 1
            yield got
        except KeyError:
            yield "caught"
        return "done"

    def outer():
        return (yield from numbers())
    assert inspect.isgeneratorfunction(numbers)
    with recording() as calls:
        generator = outer()
        equal(next(generator), 1)
        equal(generator.send("sent"), "sent")
        equal(generator.throw(KeyError()), "caught")
        try:
            next(generator)
        except StopIteration as stop:
            equal(stop.value, "done")
    equal(calls, ["push gen", "pop"] * 4)
    with recording() as calls:
        generator = numbers()
        next(generator)
        generator.close()
    equal(calls, ["push gen", "pop"] * 2)


def check_coroutines():
    @stepscope.annotate
    async def work(name, times):
        for _ in range(times):
            await asyncio.sleep(0)
        return name

    @stepscope.annotate("fails")
    async def fails():
        await asyncio.sleep(0)
        raise KeyError("k")

    async def both():
        equal(await asyncio.gather(work("a", 1), work("b", 2)), ["a", "b"])
        try:
            await fails()
        except KeyError:
            return True
    assert inspect.iscoroutinefunction(work)
    with recording() as calls:
        equal(asyncio.run(both()), True)
    qualified = "push check_coroutines.<locals>.work"
    # Each resume is a range of its own, never two at a time: other tasks run in between.
    equal(calls, [qualified, "pop"] * 5 + ["push fails", "pop"] * 2)


def check_async_generators():
    log = []

    @stepscope.annotate("agen")
    async def numbers():
        try:
            got = yield 1
            log.append(got)
            await asyncio.sleep(0)
            try:
                yield 2
            except KeyError:
                yield "caught"
        finally:
            log.append("closed")

    async def use():
        generator = numbers()
        equal(await generator.__anext__(), 1)
        equal(await generator.asend("sent"), 2)
        equal(await generator.athrow(KeyError()), "caught")
        await generator.aclose()
        equal([n async for n in numbers()], [1, 2])
    assert inspect.isasyncgenfunction(numbers)
    with recording() as calls:
        asyncio.run(use())
    equal(log, ["sent", "closed", None, "closed"])
    equal(calls.count("push agen"), calls.count("pop"))
    assert all(calls[i] != calls[i + 1] for i in range(len(calls) - 1)), calls


def check_threads():
    @stepscope.annotate("threaded")
    def work(n):
        for _ in range(n):
            with stepscope.annotate("inner"):
                pass
    with recording() as calls:
        threads = [threading.Thread(target=work, args=(50,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    equal((calls.count("push threaded"), calls.count("push inner"), calls.count("pop")),
          (4, 200, 204))


def check_push_and_pop():
    with recording() as calls:
        stepscope.push("a", domain="d")
        stepscope.push("b")
        stepscope.pop("d")
        stepscope.pop()
    equal(calls, ["push d:a", "push b", "pop d", "pop"])


def check_marks_counters_flows_phases():
    with recording() as calls:
        stepscope.mark("m")
        stepscope.mark("m", domain="d", payload=1.5)
        for value in (1, 0.25):
            stepscope.counter("loss", value, unit="nat")
        stepscope.counter("bytes", 2**40, unit="bytes", kind="cumulative")
        stepscope.flow().start().step().end()
        stepscope.phase("data")
        stepscope.phase(None)
    equal(calls, ["mark m", "mark d:m = f1.5", "counter loss nat 0", "count loss i1",
                  "count loss f0.25", "counter bytes bytes 2", "count bytes i1099511627776",
                  "flow 99 0", "flow 99 1", "flow 99 2", "phase data", "phase "])


def check_steps_and_epochs():
    with recording() as calls:
        stepscope.epoch(length=12)
        stepscope.step()
        stepscope.step(10)
        stepscope.step(0)
        stepscope.epoch()
        stepscope.epoch(7, 12, resumed_at=4)
    equal(calls, ["epoch -1 12 0", "step 0", "next -1", "next 10", "next 0", "epoch -1 -1 0",
                  "epoch 7 12 4"])
    with recording() as calls:  # a forked child has announced nothing yet
        child = os.fork()
        if child == 0:
            stepscope.epoch()
            said = fake.fake_log().decode().splitlines()
            os._exit(0 if said == ["epoch -1 -1 0", "step 0"] else 1)
        equal(os.waitpid(child, 0)[1], 0)
    raises(ValueError, "number must not be negative", stepscope.step, -1)
    raises(ValueError, "length must not be negative", stepscope.epoch, 1, -1)
    raises(TypeError, "", stepscope.step, "x")


def check_odd_names():
    with recording() as calls:
        for name in ("é", "", "\ud800", type("S", (str,), {})("sub")):
            with stepscope.annotate(name):
                pass
    equal([call for call in calls if call != "pop"],
          ["push é", "push ", "push \\ud800", "push sub"])


def check_many_names_are_freed():
    """Names made on the fly do not pile up."""
    for i in range(5000):
        with recording():
            with stepscope.annotate(f"name {i % 100}"):
                pass
    for _ in range(2):
        @stepscope.annotate
        def garbage():
            return garbage
        ref = weakref.ref(garbage)
        del garbage
        gc.collect()
        assert ref() is None


def check_fork():
    with recording() as calls:
        with stepscope.annotate("parent"):
            pid = os.fork()
            if pid == 0:
                with stepscope.annotate("child"):
                    pass
                os._exit(0 if fake.fake_log().decode().endswith("push child\npop\n") else 1)
            equal(os.waitpid(pid, 0)[1], 0)
    equal(calls, ["push parent", "pop"])


def check_ranges_of_any_thread():
    with recording() as calls:
        number = stepscope.begin("async", payload=1)
        equal(number, 7)
        thread = threading.Thread(target=stepscope.end, args=(number,))
        thread.start()
        thread.join()
        stepscope.end(0)
    equal(calls, ["begin async", "end 7"])
    equal(stepscope.begin("off"), 0)
    raises(TypeError, "takes a name", stepscope.begin, 3)
    raises(TypeError, "", stepscope.end, "x")


def check_compat_nvtx():
    from stepscope.compat import nvtx

    @nvtx.annotate
    def bare():
        return 1

    @nvtx.annotate("named", color="cornflowerblue", domain="d", category=3, payload=[1, 2])
    def named(x):
        return x
    attributes = nvtx.get_domain("e").get_event_attributes("m", color="blue")
    with recording() as calls:
        equal((bare(), named(2)), (1, 2))
        with nvtx.annotate(message="block", color="green"):
            nvtx.mark("here", payload=1)
        nvtx.push_range("p", domain="d")
        nvtx.pop_range(domain="d")
        nvtx.end_range(nvtx.start_range("s"))
        domain = nvtx.get_domain("e")
        domain.push_range(attributes)
        domain.mark(attributes)
        domain.pop_range()
        assert nvtx.get_domain("e") is domain and nvtx.enabled()
    equal([call for call in calls if not call.startswith("style")],
          ["push check_compat_nvtx.<locals>.bare", "pop", "push d:named = n[1, 2]", "pop d",
           "push block", "mark here = i1", "pop", "push d:p", "pop d", "begin s", "end 7",
           "push e:m", "mark e:m", "pop e"])


def check_compat_record_function_and_marker():
    from stepscope.compat import marker, record_function
    span = marker("m", actions=(), categories=("a", "b"))
    assert marker("m") is span
    both = marker("both", record_instant_on_start=True, record_instant_on_finish=True)

    @span
    def decorated(x):
        return x

    @both
    def instants():
        return 5

    @record_function("torch", "args")
    def model():
        return 6
    with recording() as calls:
        with record_function("block"):
            pass
        equal((decorated(4), instants(), model()), (4, 5, 6))
        span.start()
        with span:
            span.instant()
        span.finish()
        span.counter({"x": 1, "y": 2.5})
    equal([call for call in calls if not call.startswith(("style", "counter"))],
          ["push block", "pop", "push m", "pop", "push both", "mark both", "mark both", "pop",
           "push torch = nargs", "pop", "push m", "push m", "mark m", "pop", "pop",
           "count m/x i1", "count m/y f2.5"])


def check_schedules():
    schedule = stepscope.schedule(wait=1, warmup=1, active=2, repeat=1)
    equal([int(schedule(step)) for step in range(6)], [0, 1, 2, 3, 0, 0])
    equal(schedule(3), stepscope.Action.RECORD_AND_SAVE)
    equal(str(schedule), "wait=1,warmup=1,active=2,repeat=1")
    cyclic = stepscope.cyclic_schedule()
    equal([int(cyclic(b, length=4)) for b in range(4)], [1, 2, 2, 3])
    equal([int(cyclic(b, length=9, resumed_at=3)) for b in range(9)], [0, 0, 0, 1, 2, 2, 2, 3, 0])
    raises(ValueError, "active is 0", stepscope.schedule, wait=1, warmup=0, active=0)
    raises(ValueError, "wait is -1", stepscope.schedule, wait=-1, warmup=0, active=1)
    raises(ValueError, "active is 0", stepscope.cyclic_schedule, active=0)
    raises(TypeError, "wait must be an int", stepscope.schedule, wait=1.5, warmup=0, active=1)
    raises(ValueError, "step is -1", schedule, -1)


def main():
    for name, check in list(globals().items()):
        if name.startswith("check_"):
            try:
                check()
                print(name, "ok")
            except Exception:
                print(name, traceback.format_exc().replace("\n", " | "))
            fake.fake_gate(0)


if __name__ == "__main__":
    main()
