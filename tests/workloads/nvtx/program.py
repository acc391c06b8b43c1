# SPDX-License-Identifier: Apache-2.0
"""What users of Python's nvtx package write."""

import threading

import nvtx


@nvtx.annotate(color="red", domain="model")
def forward():
    pass


@nvtx.annotate("named by hand", category="io")
def load():
    raise ValueError


def inner():
    pass


def outer():
    inner()


with nvtx.annotate("epoch", color="blue", payload=3):
    for i in range(5):
        forward()
        try:
            load()
        except ValueError:
            pass
nvtx.push_range("pushed", category="io")
nvtx.pop_range()
nvtx.mark("reached", payload=2.5)

started = nvtx.start_range("asynchronous", domain="model")
thread = threading.Thread(target=nvtx.end_range, args=(started,))
thread.start()
thread.join()

domain = nvtx.get_domain("own")
attributes = domain.get_event_attributes(message="cheap", color="green", category="c", payload=1)
for i in range(7):
    domain.push_range(attributes)
    domain.pop_range()
domain.mark(attributes)
domain.end_range(domain.start_range(attributes))

if hasattr(domain, "get_counter"):
    loss = domain.get_counter("loss", float)
    loss.sample(0.5)
    times = [domain.get_timestamp() for i in range(3)]
    loss.batch_submit([1.0, 2.0, 3.0], times)

profile = nvtx.Profile(linenos=False, annotate_cfuncs=False)
profile.enable()
outer()
profile.disable()
