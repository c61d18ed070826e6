"""What the page does as locks change: lists, charts, pauses, crowds."""

import socket
import subprocess
import time

from servers import eventually, owner


def many(redis, verb):
    for first in range(0, 10_000, 1000):
        if verb == "SET":
            redis.send(*[c for i in range(first, first + 1000) for c in (["SET", f"many:{i}", f"{i % 90:08x}-2222-4333-8444-555555555555:{i}", "PX", 600_000], ["SET", f"{{many:{i}}}:holdfast_token", 1])])
        else:
            redis.send(*[["DEL", f"many:{i}", f"{{many:{i}}}:holdfast_token"] for i in range(first, first + 1000)])


def shows_the_first_hundred_of_ten_thousand(page):
    many(page.redis, "SET")
    page.browser.open(page.url + "#/locks?q=many:")
    eventually(lambda: "of 10000 locks" in page.browser.text(), 300)
    assert page.browser.count("main tbody tr") == 100
    page.browser.open("about:blank")
    page.browser.open(page.url + "#/locks?q=many:")
    painted = eventually(lambda: page.browser.run("return window.painted"))
    print(f"     the first hundred were painted after {painted:.0f} ms")
    page.browser.run("document.querySelector('#search').value = 'many:77'; document.querySelector('#search').dispatchEvent(new Event('input', {bubbles: true}))")
    eventually(lambda: "of 111 locks" in page.browser.text())
    assert "q=many" in page.browser.run("return location.hash")
    many(page.redis, "DEL")


def shows_changes_as_they_happen(page):
    page.redis.hold("deploy", 1)
    page.browser.open(page.url + "#/locks?q=deploy")
    eventually(lambda: "00000001" in page.browser.text())
    began = time.monotonic()
    page.redis.hold("deploy", 0xABCDEF)
    eventually(lambda: "00abcdef" in page.browser.text())
    print(f"     a change was seen after {(time.monotonic() - began) * 1000:.0f} ms")


def lists_processes_by_host(page):
    page.redis.hold("of another library")
    job = subprocess.Popen([page.holdfast, "run", "--url", page.redis.url, "nightly", "--", "sleep", "600"])
    try:
        page.browser.open(page.url + "#/processes")
        host = f"{socket.gethostname()}: 1 held, 0 waited for"
        eventually(lambda: host in page.browser.text() and "Unknown hosts: 1 held, 0 waited for" in page.browser.text())
        assert page.browser.count("main table") == 2
    finally:
        job.terminate()
        job.wait()


def stands_still_while_it_is_paused(page):
    page.redis.hold("paused", 1)
    page.browser.open(page.url + "#/locks?q=paused")
    eventually(lambda: "00000001" in page.browser.text())
    page.browser.run("document.querySelector('#pause').click()")
    eventually(lambda: "Paused." in page.browser.text())
    page.redis.hold("paused", 0xABCDEF)
    # Others see it by now, so this page would have, too.
    page.wait_for_holder("paused", 0xABCDEF)
    assert "00abcdef" not in page.browser.text()
    ttl = "document.querySelector('main .ttl').textContent"
    stood_still = f"const before = {ttl}; return new Promise((done) => setTimeout(() => done(before === {ttl}), 2500))"
    assert page.browser.run(stood_still), "whether it was renewed since isn't known"
    page.browser.run("document.querySelector('#pause').click()")
    eventually(lambda: "00abcdef" in page.browser.text())


def leaves_connections_for_other_tabs(page):
    """A browser has six for all tabs together, and each of them gets events."""
    page.redis.hold("tabs", 1)
    first = page.browser.ask("GET", "/window")
    tabs = []
    for _ in range(8):
        tabs.append(page.browser.ask("POST", "/window/new", {"type": "tab"})["handle"])
        page.browser.ask("POST", "/window", {"handle": tabs[-1]})
        page.browser.open(page.url + "#/locks?q=tabs")
        eventually(lambda: "00000001" in page.browser.text())
    for tab in tabs:
        page.browser.ask("POST", "/window", {"handle": tab})
        page.browser.ask("DELETE", "/window")
    page.browser.ask("POST", "/window", {"handle": first})


def shows_a_thousand_waiters_of_one_name(page):
    page.redis.hold("crowd")
    page.redis.queue("crowd", *range(0x1000, 0x1000 + 1000))
    page.browser.open(page.url + "#/locks?q=crowd")
    eventually(lambda: page.browser.count("main tbody tr") == 1 and "1000" in page.browser.text())
    page.browser.run("document.querySelector('main tbody a').click()")
    eventually(lambda: "Queue: 1000" in page.browser.text())
    assert page.browser.count("main tbody tr") >= 1001


def draw_times(page, name):
    """Opens the page of a lock that is handed over meanwhile."""
    page.redis.hold(name, 1)
    page.redis.queue(name, 2)
    page.browser.open(f"{page.url}#/locks?q={name}&waiting=1")
    eventually(lambda: page.browser.count("main tbody tr") == 1)
    page.browser.run("document.querySelector('main tbody a').click()")
    eventually(lambda: "Queue: 1" in page.browser.text())
    page.redis.send(["ZREM", f"{{{name}}}:holdfast_queue", owner(2)])
    page.redis.hold(name, 2)
    eventually(lambda: page.browser.count(".charts svg:nth-child(1) .bar") == 2 and page.browser.count(".charts svg:nth-child(2) .bar") == 2)
    assert page.browser.count("svg .span") == 1, "who had it before, over time"


def draws_how_long_waits_and_holds_lasted(page):
    draw_times(page, "drawn")


def draws_by_the_clock_of_the_server(page):
    """That of the viewer may differ by more than a chart shows."""
    late = "const now = Date.now; Date.now = () => now() + 2_000_000;"
    script = page.browser.command("Page.addScriptToEvaluateOnNewDocument", source=f"{{ {late} }}")
    try:
        page.browser.open("about:blank")
        assert page.browser.run("return Date.now()") > time.time() * 1000 + 1_000_000
        draw_times(page, "drawn:late")
        assert page.browser.run("return [...document.querySelectorAll('.charts .bar')].every((bar) => bar.x.baseVal.value >= 0)")
    finally:
        page.browser.command("Page.removeScriptToEvaluateOnNewDocument", **script)


CHECKS = [shows_changes_as_they_happen, lists_processes_by_host, stands_still_while_it_is_paused, leaves_connections_for_other_tabs, shows_a_thousand_waiters_of_one_name, draws_how_long_waits_and_holds_lasted, draws_by_the_clock_of_the_server, shows_the_first_hundred_of_ten_thousand]
