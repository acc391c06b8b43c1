# SPDX-License-Identifier: Apache-2.0
"""Firefox through its own protocol, Marionette: no driver of its own is needed."""

import json
import pathlib
import socket
import subprocess
import time

from target import HANGS_AFTER_S

PREFERENCES = {
    "marionette.port": 0, "app.update.enabled": False, "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False, "toolkit.telemetry.enabled": False,
    "network.captive-portal-service.enabled": False, "network.connectivity-service.enabled": False,
    "browser.startup.page": 0, "extensions.update.enabled": False,
}


class Firefox:
    """One browser without a window; `profile` is an empty folder."""

    def __init__(self, program, profile, starts_within_s=60):
        self.profile = pathlib.Path(profile)
        lines = [f'user_pref("{key}", {json.dumps(value)});' for key, value in PREFERENCES.items()]
        (self.profile / "user.js").write_text("\n".join(lines) + "\n")
        self.process = subprocess.Popen(
            [program, "--headless", "--no-remote", "--marionette", "--profile", str(self.profile)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.number, self.bytes = 0, b""
        self.socket = socket.create_connection(("127.0.0.1", self.port(starts_within_s)), 60)
        self.receive()  # its greeting
        self.call("WebDriver:NewSession", {"capabilities": {"alwaysMatch": {}}})

    def port(self, starts_within_s):
        """It writes the port that it has chosen into its profile."""
        end = time.monotonic() + starts_within_s
        while time.monotonic() < end:
            try:
                return int((self.profile / "MarionetteActivePort").read_text())
            except (OSError, ValueError):
                assert self.process.poll() is None, "Firefox ended"
                time.sleep(0.02)
        raise TimeoutError("Firefox does not listen")

    def receive(self):
        """A message is its length, a colon, and JSON."""
        while b":" not in self.bytes:
            self.bytes += self.socket.recv(1 << 16)
        length, self.bytes = self.bytes.split(b":", 1)
        while len(self.bytes) < int(length):
            self.bytes += self.socket.recv(1 << 16)
        message, self.bytes = self.bytes[:int(length)], self.bytes[int(length):]
        return json.loads(message)

    def call(self, name, arguments=None):
        self.number += 1
        text = json.dumps([0, self.number, name, arguments or {}])
        self.socket.sendall(f"{len(text.encode())}:{text}".encode())
        _, _, error, result = self.receive()
        assert error is None, error
        return result

    def get(self, url):
        self.call("WebDriver:Navigate", {"url": url})

    def execute_script(self, script, *arguments):
        return self.call("WebDriver:ExecuteScript",
                         {"script": script, "args": list(arguments)})["value"]

    def execute_async_script(self, script, *arguments):
        """The script calls its last argument with its result."""
        return self.call("WebDriver:ExecuteAsyncScript",
                         {"script": script, "args": list(arguments), "scriptTimeout": 30000})["value"]

    def act(self, kind, actions):
        """Input as of a person: `kind` is "key" or "pointer"; the actions are those of WebDriver."""
        self.call("WebDriver:PerformActions", {"actions": [{"type": kind, "id": kind, "actions": actions}]})

    def keys(self, text):
        self.act("key", [{"type": kind, "value": one} for one in text for kind in ("keyDown", "keyUp")])

    def drag(self, begin, end):
        """From one point of the page to another; a click where both are the same."""
        self.act("pointer", [{"type": "pointerMove", "x": round(begin[0]), "y": round(begin[1])},
                             {"type": "pointerDown", "button": 0},
                             {"type": "pointerMove", "x": round(end[0]), "y": round(end[1]), "duration": 50},
                             {"type": "pointerUp", "button": 0}])

    def quit(self):
        self.process.terminate()
        self.process.wait(HANGS_AFTER_S)
        self.socket.close()
