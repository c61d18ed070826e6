"""Chromium, driven by chromedriver, which speaks WebDriver (W3C)."""

import json
import os
import re
import subprocess
import urllib.error
import urllib.request

KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c"}

# When the list of the first hundred was painted, in the page's own time: the second frame after their rows were there.
PAINTED = """
window.painted = null;
const watched = new MutationObserver(() => {
  if (window.painted !== null || document.querySelectorAll('main tbody tr').length < 100) return;
  watched.disconnect();
  requestAnimationFrame(() => requestAnimationFrame(() => { window.painted = performance.now(); }));
});
watched.observe(document, { childList: true, subtree: true });
"""


class NoBrowser(RuntimeError):
    """Chromium can't run here, as where its sandbox isn't allowed."""


class Browser:
    def __init__(self, folder):
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True)
        try:
            self.begin(folder)
        except BaseException:
            self.end_driver()
            raise

    def begin(self, folder):
        for line in self.driver.stdout:
            if found := re.search(r"started successfully on port (\d+)", line):
                break
        else:
            raise RuntimeError("chromedriver doesn't start")
        self.url = f"http://127.0.0.1:{found[1]}/session"
        arguments = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={folder}"]
        if os.getuid() == 0:
            arguments.append("--no-sandbox")  # it refuses to run as root otherwise
        wanted = {"goog:chromeOptions": {"args": arguments}, "goog:loggingPrefs": {"browser": "ALL"}, "acceptInsecureCerts": True}
        try:
            answer = self.ask("POST", "", {"capabilities": {"alwaysMatch": wanted}})
        except RuntimeError as problem:
            raise NoBrowser(str(problem)) from problem
        self.url += "/" + answer["sessionId"]

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            return json.load(urllib.request.urlopen(request, timeout=120))["value"]
        except urllib.error.HTTPError as problem:
            raise RuntimeError(problem.read().decode()[:500]) from problem

    def command(self, name, **values):
        """Of Chromium's own protocol."""
        return self.ask("POST", "/goog/cdp/execute", {"cmd": name, "params": values})

    def open(self, url):
        self.ask("POST", "/url", {"url": url})

    def run(self, script, *values):
        """The value of the script, and of a promise what it becomes."""
        return self.ask("POST", "/execute/sync", {"script": script, "args": list(values)})

    def press(self, *keys):
        actions = [{"type": kind, "value": KEYS.get(key, key)} for key in keys for kind in ("keyDown", "keyUp")]
        self.ask("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def type(self, text):
        self.press(*text)

    def size(self, width, height):
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def watch_for_paint(self):
        """From the next page on."""
        self.command("Page.addScriptToEvaluateOnNewDocument", source=PAINTED)

    def text(self):
        return self.run("return document.body.innerText")

    def count(self, selector):
        return self.run("return document.querySelectorAll(arguments[0]).length", selector)

    def errors(self):
        return [entry["message"] for entry in self.ask("POST", "/se/log", {"type": "browser"}) if entry["level"] == "SEVERE"]

    def end(self):
        try:
            self.ask("DELETE", "")
        finally:
            self.end_driver()

    def end_driver(self):
        self.driver.terminate()
        self.driver.wait()
