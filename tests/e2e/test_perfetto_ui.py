# SPDX-License-Identifier: Apache-2.0
"""The first screen of Perfetto's interface: which rows it shows of our files, and in which order."""

import pytest
from browser import chromium  # noqa: F401 (a fixture)
from perfetto_ui import Interface, serve

@pytest.fixture(scope="module")
def interface(chromium):  # noqa: F811
    server = serve()
    yield Interface(chromium, server)
    server.shutdown()


def rows(interface, path):
    interface.open(path)
    titles = interface.titles()
    assert titles[0] == "System"  # Perfetto's own, of clocks; closed
    return titles[1:]


def test_a_training(interface, recordings):
    *top, process = rows(interface, recordings("perfetto_ui_training").trace)
    assert top == ["Steps of train.py", "Steps of train.py: phases", "The main thread of train.py", "host",
                   "recording"]
    assert process.startswith("train.py ")
    # Both are found by name, and what follows the last step is none.
    found, shown = interface.search("step 2", 1)
    assert found == 1 and "Name\nstep 2\n" in shown
    found, shown = interface.search("forward", 6)
    assert found == 6 and "Name\nforward\n" in shown  # and the work in it
    assert interface.search("step 3", 0)[0] == 0


def test_ranks(interface, recordings):
    shown = rows(interface, recordings("perfetto_ui_ranks").trace)
    assert shown[:8] == ["Steps of rank 0", "Steps of rank 0: phases", "Steps of rank 1",
                         "Steps of rank 1: phases", "The main thread of rank 0", "The main thread of rank 1",
                         "host", "recording"]
    assert sorted(name.rsplit(" ", 1)[0] for name in shown[8:])[:2] == ["rank 0: ranks.py", "rank 1: ranks.py"]


def test_streams_of_a_device(interface, recordings):
    shown = rows(interface, recordings("perfetto_ui_device").trace)
    streams = [name for name in shown if name.startswith("device 0 stream ")]
    assert streams and shown.index(streams[-1]) < shown.index("host") < shown.index("recording")
