"""The status page in a real Chromium: the login form, events as they come, what its policy forbids."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time

import pytest

from tests.beds.serving import PASSWORD, Served

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine"),
]


class Browser:
    """A Chromium that is driven over a pipe, by the protocol of its developer tools."""

    def __init__(self, folder):
        to_it, ours = os.pipe()
        ours_too, from_it = os.pipe()
        words = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={folder}"]
        script = f'exec "$0" "$@" 3<&{to_it} 4>&{from_it}'
        argv = ["/bin/bash", "-c", script, str(CHROMIUM), *words, "about:blank"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(argv, pass_fds=(to_it, from_it), **quiet)
        os.close(to_it)
        os.close(from_it)
        self._write, self._read = os.fdopen(ours, "wb", 0), os.fdopen(ours_too, "rb", 0)
        self._number, self._rest, self._session = 0, b"", ""
        #: messages of the console
        self.said = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method, **params):
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._write.write(json.dumps(message).encode() + b"\0")
        while True:
            found = self._message()
            if found.get("id") == self._number:
                assert "error" not in found, found
                return found["result"]
            if found.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown"):
                self.said.append(json.dumps(found["params"]))

    def _message(self):
        while b"\0" not in self._rest:
            data = self._read.read(65536)
            assert data, "chromium has ended"
            self._rest += data
        text, _, self._rest = self._rest.partition(b"\0")
        return json.loads(text)

    def value(self, script):
        return self.call("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def wait(self, script):
        """Wait until a script gives something true."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            found = self.value(script)
            if found:
                return found
            time.sleep(0.2)
        raise AssertionError(f"never: {script}: {self.value('document.body.innerText')} {self.said}")

    def close(self):
        self._process.terminate()
        self._process.wait()
        self._write.close()
        self._read.close()


@pytest.fixture
def browser(tmp_path):
    found = Browser(tmp_path / "chromium")
    yield found
    found.close()


def test_a_login_and_events_as_they_come(tmp_path, browser):
    with Served(tmp_path) as served:
        browser.call("Page.navigate", url=served.url)
        browser.wait("document.readyState === 'complete' && !!document.querySelector('form.login')")
        browser.value(
            f"document.querySelector('[name=username]').value = 'anna';"
            f"document.querySelector('[name=password]').value = '{PASSWORD}';"
            f"document.querySelector('form.login button').click()"
        )
        browser.wait("(document.getElementById('state') || {}).textContent === 'New events are shown.'")
        said = list(browser.said)
        served.low("anna", client="runner", fun="event.send", arg=["app/<b>live</b>"])
        browser.wait("document.getElementById('events').innerText.includes('app/<b>live</b>')")
        [row] = served.low("anna", client="local_async", tgt="web*", fun="test.sleep", arg=[5]).data["return"]
        browser.wait(f"document.getElementById('live').innerText.includes('{row['jid']}')")
        browser.wait("document.getElementById('live').innerText.includes('Nothing is running.')")
        assert browser.value(f"document.getElementById('jobs').innerText.includes('{row['jid']}')")
        browser.call("Page.navigate", url=f"{served.url}jobs/{row['jid']}")
        browser.wait("document.querySelectorAll('.target').length === 2")
        browser.call("Page.navigate", url=served.url)
        browser.wait("!!document.querySelector('form.logout')")
        browser.value("document.querySelector('form.logout button').click()")
        browser.wait("!!document.querySelector('form.login')")
        refused = [text for text in browser.said if "401" not in text]
    assert [text for text in said if "401" not in text] == []
    assert refused == []
