# SPDX-License-Identifier: Apache-2.0
"""Threads that each stand still in a stack of known shape.

A line with "# @name" is where a frame of that name is expected to be. Prints one JSON line when all
threads stand: {"threads": {thread name: [[function, qualified name, marker], ... outermost first]}}.
Runs on CPython 3.8 to 3.15."""

import json
import sys
import threading
import time

READY = []
EXPECTED = {}


def stand():
    READY.append(1)
    time.sleep(3600)  # @stand


STAND = ["stand", "stand", "stand"]


def recurse(depth):
    if depth == 0:
        stand()  # @recurse_end
    else:
        recurse(depth - 1)  # @recurse


def case_recursion():
    recurse(5)  # @case_recursion


EXPECTED["recursion"] = (
    [["case_recursion", "case_recursion", "case_recursion"]]
    + [["recurse", "recurse", "recurse"]] * 5
    + [["recurse", "recurse", "recurse_end"], STAND]
)


def case_deep():
    recurse(3000)  # @case_deep


EXPECTED["deep"] = (
    [["case_deep", "case_deep", "case_deep"]]
    + [["recurse", "recurse", "recurse"]] * 3000
    + [["recurse", "recurse", "recurse_end"], STAND]
)


def inner_generator():
    yield 1
    stand()  # @inner_generator
    yield 2


def outer_generator():
    yield from inner_generator()  # @outer_generator


def case_generator():
    for _ in outer_generator():  # @case_generator
        pass


EXPECTED["generator"] = [
    ["case_generator", "case_generator", "case_generator"],
    ["outer_generator", "outer_generator", "outer_generator"],
    ["inner_generator", "inner_generator", "inner_generator"],
    STAND,
]


async def inner_coroutine():
    stand()  # @inner_coroutine


async def outer_coroutine():
    await inner_coroutine()  # @outer_coroutine


def case_coroutine():
    outer_coroutine().send(None)  # @case_coroutine


EXPECTED["coroutine"] = [
    ["case_coroutine", "case_coroutine", "case_coroutine"],
    ["outer_coroutine", "outer_coroutine", "outer_coroutine"],
    ["inner_coroutine", "inner_coroutine", "inner_coroutine"],
    STAND,
]


class Outer:
    class Inner:
        def __init__(self, value):
            self.value = value
            if value < 0:
                self.method()  # @init

        def method(self):
            self.class_method()  # @method

        @classmethod
        def class_method(cls):
            cls.static_method()  # @class_method

        @staticmethod
        def static_method():
            stand()  # @static_method


def make(value):
    return Outer.Inner(value)  # @make


def case_class():
    # Often enough for the interpreter to specialise the call of __init__ (3.12 on).
    for i in range(2000):
        make(i)
    make(-1)  # @case_class


EXPECTED["class"] = [
    ["case_class", "case_class", "case_class"],
    ["make", "make", "make"],
    ["__init__", "Outer.Inner.__init__", "init"],
    ["method", "Outer.Inner.method", "method"],
    ["class_method", "Outer.Inner.class_method", "class_method"],
    ["static_method", "Outer.Inner.static_method", "static_method"],
    STAND,
]


def key_function(value):
    list(map(lambda one: stand(), [value]))  # @key_function @lambda


def case_callbacks():
    sorted([1, 2], key=key_function)  # @case_callbacks


EXPECTED["callbacks"] = [
    ["case_callbacks", "case_callbacks", "case_callbacks"],
    ["key_function", "key_function", "key_function"],
    ["<lambda>", "key_function.<locals>.<lambda>", "lambda"],
    STAND,
]


def größe():
    функция()  # @latin


def функция():
    𐐀𐐁()  # @ucs2


def 𐐀𐐁():
    stand()  # @ucs4


EXPECTED["größe 関数 𐐀"] = [
    ["größe", "größe", "latin"],
    ["функция", "функция", "ucs2"],
    ["𐐀𐐁", "𐐀𐐁", "ucs4"],
    STAND,
]


class Manager:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        stand()  # @exit


def case_cleanup():
    try:
        with Manager(): raise ValueError  # @case_cleanup
    except KeyError:
        pass


EXPECTED["cleanup"] = [
    ["case_cleanup", "case_cleanup", "case_cleanup"],
    ["__exit__", "Manager.__exit__", "exit"],
    STAND,
]

SUB_CODE = """
import time
def in_sub():
    time.sleep(3600)
in_sub()
"""


def case_subinterpreter():
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    try:
        interp = interpreters.create("legacy")
    except TypeError:
        interp = interpreters.create()
    READY.append(1)
    interpreters.run_string(interp, SUB_CODE)  # @case_subinterpreter


EXPECTED["subinterpreter"] = [
    ["case_subinterpreter", "case_subinterpreter", "case_subinterpreter"]
]

CASES = {
    "recursion": case_recursion,
    "deep": case_deep,
    "generator": case_generator,
    "coroutine": case_coroutine,
    "class": case_class,
    "callbacks": case_callbacks,
    "größe 関数 𐐀": größe,
    "cleanup": case_cleanup,
    "subinterpreter": case_subinterpreter,
}


def main():
    sys.setrecursionlimit(10000)
    threading.stack_size(64 << 20)
    for name, case in CASES.items():
        before = len(READY)
        threading.Thread(target=case, name=name, daemon=True).start()
        while len(READY) == before:
            time.sleep(0.01)
    time.sleep(0.2)
    print(json.dumps({"threads": EXPECTED, "version": sys.version_info[:3]}), flush=True)
    time.sleep(3600)  # @main


main()  # @module
