# SPDX-License-Identifier: Apache-2.0
"""Random inputs of `report --by leaf`: texts of py-spy, names of libraries."""

from hypothesis import strategies as st

# What py-spy can write and itwinai can read: no blank in a name, no parenthesis or colon in a path.
LETTERS = "abcxyz_<>.é0"
NAME = st.one_of(
    st.sampled_from(["forward", "_engine_run_backward", "<listcomp>", "<lambda>", "<module>",
                     "thread", "process", "operator()", "f(x"]),
    st.text(alphabet=LETTERS + "()[]:\"", min_size=1, max_size=6))
PATH = st.one_of(
    st.sampled_from(["train.py", "torch/nn/functional.py", "torchvision/ops.py", "itwinai/cli.py",
                     "my itwinai tools/x.py", "<frozen importlib._bootstrap>",
                     "<frozen importlib._bootstrap_external>", "<frozen runpy>", "<string>"]),
    st.text(alphabet=LETTERS + "/ ", min_size=1, max_size=12))
LINE = st.integers(min_value=0, max_value=2**31 - 1)
FRAME = st.builds("{} ({}:{})".format, NAME, PATH, LINE)
LABEL = st.builds('process {}:"{}"'.format, st.integers(0, 2**31 - 1),
                  st.text(alphabet="abc /-.'=", max_size=10))
STACK = st.builds(lambda labels, frames: ";".join(labels + frames),
                  st.lists(LABEL, max_size=2), st.lists(FRAME, max_size=6))
COUNT = st.one_of(st.integers(0, 5), st.integers(0, 2**40))
ROW = st.builds(lambda stack, blanks, count, end: f"{stack}{' ' * blanks}{count}{end}", STACK,
                st.integers(1, 3), COUNT, st.sampled_from(["\n", "\r\n", "\n"]))
TEXT = st.lists(ROW, min_size=1, max_size=12).map("".join)
LIBRARY = st.sampled_from(["itwinai", "torch", "", "built", "x", "train.py", "é"])
AGGREGATE = st.booleans()
