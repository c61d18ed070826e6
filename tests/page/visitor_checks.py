"""What visitors do: with keys alone, with tokens, releases by force; and servers that go away and come back."""

import pathlib
import subprocess

from look_checks import open_lock
from servers import Serve, eventually, owner

FOCUSED = "const it = document.activeElement; return it === document.body ? '' : it.textContent.trim() || it.id"


def tab_to(browser, wanted, most=60):
    """By the key alone; each element on the way shows that it has the focus."""
    for _ in range(most):
        browser.press("Tab")
        if browser.run("return document.activeElement !== document.body && getComputedStyle(document.activeElement).outlineStyle === 'none'"):
            raise AssertionError("no focus to be seen: " + browser.run("return document.activeElement.outerHTML.slice(0, 100)"))
        if wanted in browser.run(FOCUSED):
            return
    raise AssertionError(f"no key leads to {wanted}")


def keys_are_enough(page):
    page.redis.hold("keys:1")
    page.redis.hold("keys:2", 2)
    page.browser.open(page.url + "#/locks?q=keys:&sort=name")
    eventually(lambda: page.browser.count("main tbody tr") == 2)
    page.browser.run("document.activeElement.blur()")
    page.browser.press("j", "j")
    eventually(lambda: page.browser.run(FOCUSED) == "keys:2")
    page.browser.press("k")
    eventually(lambda: page.browser.run(FOCUSED) == "keys:1")
    page.browser.press("Enter")
    eventually(lambda: "Queue: 0" in page.browser.text())
    page.browser.press("Escape")
    eventually(lambda: "locks that are held" in page.browser.text())
    page.browser.press("/")
    eventually(lambda: page.browser.run(FOCUSED) == "search")
    page.browser.type("keys:2")
    eventually(lambda: "1 to 1 of 1 locks" in page.browser.text())
    assert page.browser.run(FOCUSED) == "search", "what is typed goes on into the field"
    page.browser.run("document.activeElement.blur()")
    page.browser.press("?")
    eventually(lambda: "Escape: back to the list" in page.browser.text())
    page.browser.press("Escape")
    page.browser.press("p")
    eventually(lambda: "Paused." in page.browser.text())
    page.browser.press("p")
    eventually(lambda: "Paused." not in page.browser.text())
    # From the top to the release of a lock.
    page.browser.open("about:blank")
    page.browser.open(page.url + "#/locks?q=keys:2")
    eventually(lambda: page.browser.count("main tbody tr") == 1)
    tab_to(page.browser, "keys:2")
    page.browser.press("Enter")
    eventually(lambda: page.browser.count("button.danger") == 1)
    tab_to(page.browser, "Release…")
    page.browser.press("Enter")
    eventually(lambda: page.browser.count("dialog[open]") == 1)
    assert page.browser.run(FOCUSED) == "Cancel", "the harmless answer is the first"
    page.browser.press("Enter")
    eventually(lambda: page.browser.count("dialog[open]") == 0)
    assert page.redis.holds("keys:2")
    tab_to(page.browser, "Release…", 3) if page.browser.run(FOCUSED) != "Release…" else None
    page.browser.press("Enter")
    eventually(lambda: page.browser.count("dialog[open]") == 1)
    page.browser.press("Tab", "Enter")
    eventually(lambda: not page.redis.holds("keys:2"))


def the_focus_stays_as_waits_change(page):
    page.redis.hold("first", 1)
    page.redis.queue("first", 2)
    page.redis.hold("focused", 1)
    page.redis.queue("focused", 2, 3)
    page.browser.open(page.url + "#/blocking")
    eventually(lambda: page.browser.count("main tbody tr") == 3)
    tab_to(page.browser, "focused")
    page.redis.queue("first", 4, 5)
    eventually(lambda: page.browser.count("main tbody tr") == 5)
    assert page.browser.run(FOCUSED) == "focused"


def releases_by_force_after_a_question(page):
    page.redis.hold("stuck", 0x20)
    open_lock(page, "stuck")
    eventually(lambda: page.browser.count("button.danger") == 1)
    page.browser.run("document.querySelector('main button.danger').click()")
    question = eventually(lambda: page.browser.run("return document.querySelector('dialog[open]')?.innerText"))
    assert "00000020" in question and "two holders may be at work" in question, question
    page.browser.run("document.querySelector('dialog button.danger').click()")
    eventually(lambda: not page.redis.holds("stuck"))
    result = eventually(lambda: page.browser.run("return document.querySelector('dialog[open]')?.innerText"))
    assert "deleted." in result, result
    assert "audit: a visitor at 127.0.0.1 releases \"stuck\" by force" in page.serve.said


def asks_the_holder_before_it_takes_a_lock(page):
    job = subprocess.Popen([page.holdfast, "run", "--url", page.redis.url, "--label", "nightly", "nightly", "--", "sleep", "600"], stderr=subprocess.PIPE, text=True)
    try:
        open_lock(page, "nightly")
        eventually(lambda: "‘nightly’" in page.browser.text() and page.browser.count("button.danger") == 1)
        page.browser.run("document.querySelector('main button.danger').click()")
        assert "‘nightly’" in eventually(lambda: page.browser.run("return document.querySelector('dialog[open]')?.innerText"))
        page.browser.run("document.querySelector('dialog button.danger').click()")
        eventually(lambda: "released by holder" in page.browser.text())
        assert job.wait(60) == 79
    finally:
        job.kill()
        job.wait()


def lets_in_who_has_a_token_over_tls(page):
    folder = pathlib.Path(page.redis.folder)
    make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 -keyout serve.key -out serve.crt && chmod o-r serve.key"
    subprocess.run(make, shell=True, check=True, cwd=folder, stderr=subprocess.DEVNULL)
    (folder / "tokens").write_text("anna anna-0123456789abcdef\nben ben-0123456789abcdef\n")
    (folder / "tokens").chmod(0o600)
    serve = Serve(page.holdfast, page.redis, "--token-file", folder / "tokens", "--tls-cert", folder / "serve.crt", "--tls-key", folder / "serve.key")
    try:
        page.redis.hold("secret")
        page.browser.open(serve.url)
        for token, wanted in (("wrong-0123456789", "That token is wrong."), ("ben-0123456789abcdef", "of 1 locks")):
            eventually(lambda: page.browser.count("dialog[open] input") == 1)
            assert "secret" not in page.browser.text()
            page.browser.run("document.querySelector('dialog input').focus()")
            page.browser.type(token)
            page.browser.press("Enter")
            eventually(lambda: wanted in page.browser.text())
        assert page.browser.run("return document.cookie") == "", "no script sees it"
        assert page.browser.run("return fetch('/api/v1/session').then((answer) => answer.json()).then((session) => session.user)") == "ben"
        page.browser.run("document.querySelector('#logout').click()")
        eventually(lambda: page.browser.count("dialog[open] input") == 1)
        assert "0123456789" not in serve.said
    finally:
        serve.stop()
        page.browser.errors()  # 401s are meant


def says_that_servers_are_gone_and_goes_on(page):
    page.redis.hold("deploy")
    page.browser.open(page.url + "#/locks?q=deploy")
    eventually(lambda: page.browser.count("main tbody tr") == 1)
    page.redis.stop()
    eventually(lambda: "Redis doesn't answer since" in page.browser.text())
    assert page.browser.run("return document.body.classList.contains('stale')")
    assert "deploy" in page.browser.text(), "the last state is still there"
    page.redis.start()
    page.redis.hold("deploy", 7)
    eventually(lambda: "Redis doesn't answer" not in page.browser.text() and "00000007" in page.browser.text())
    page.serve.stop()
    eventually(lambda: "holdfast serve doesn't answer since" in page.browser.text())
    assert page.browser.run("return document.body.classList.contains('stale')")
    page.start(page.serve.address)
    page.redis.hold("deploy", 8)
    eventually(lambda: "doesn't answer" not in page.browser.text() and "00000008" in page.browser.text())
    assert not page.browser.run("return document.body.classList.contains('stale')")
    page.browser.errors()  # refused connections are meant


CHECKS = [keys_are_enough, the_focus_stays_as_waits_change, releases_by_force_after_a_question, asks_the_holder_before_it_takes_a_lock, lets_in_who_has_a_token_over_tls, says_that_servers_are_gone_and_goes_on]
