# SPDX-License-Identifier: Apache-2.0
"""A running `stepscope view`, and requests to it as a browser or an attacker sends them."""

import contextlib
import http.client
import json
import re
import signal
import subprocess
import urllib.parse

from target import HANGS_AFTER_S


class Viewing:
    """`stepscope view INPUT…`; `get` has the token, `raw` only what it is given."""

    def __init__(self, stepscope, *arguments):
        self.process = subprocess.Popen([stepscope.path, "view", *map(str, arguments)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            raise AssertionError(self.process.stderr.read())
        parts = urllib.parse.urlsplit(self.address)
        self.host, self.port = parts.netloc, parts.port
        self.token = urllib.parse.parse_qs(parts.fragment)["token"][0]
        self.authorization = {"Authorization": f"Bearer {self.token}"}

    def raw(self, path, method="GET", body=None, headers=None):
        """(status, headers, body) of a request with exactly these headers, and Host."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANGS_AFTER_S)
        with contextlib.closing(connection):
            connection.request(method, path, body, {"Host": self.host, **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    def get(self, path, method="GET", body=None, **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.raw(path, method, body, {**self.authorization, **named})

    def ask(self, path, **values):
        status, _, body = self.get(f"/api/{path}?{urllib.parse.urlencode(values)}")
        assert status == 200, body
        return json.loads(body)

    def save(self, content, **headers):
        text = content if isinstance(content, bytes) else json.dumps(content).encode()
        return self.get("/api/notes", "PUT", text, **{"Origin": f"http://{self.host}", **headers})

    def track(self, pattern):
        """The first track whose name matches."""
        tracks = [track for group in self.ask("overview")["groups"] for track in group["tracks"]]
        return next(track for track in tracks if re.search(pattern, track["name"]))

    def end(self, how=signal.SIGINT):
        """Its exit status."""
        self.process.send_signal(how)
        status = self.process.wait(HANGS_AFTER_S)
        self.process.stdout.close()
        self.process.stderr.close()
        return status


@contextlib.contextmanager
def viewing(stepscope, *arguments):
    view = Viewing(stepscope, *arguments)
    try:
        yield view
    finally:
        if view.process.poll() is None:
            view.end(signal.SIGKILL)
