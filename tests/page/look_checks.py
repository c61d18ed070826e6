"""How the page looks: its structure, small screens, what it is for those who hear it, names of any bytes."""

import structure
from servers import eventually, owner


def fill(redis):
    """Locks of several kinds, the same in each run."""
    redis.hold("deploy:web", 1)
    redis.queue("deploy:web", 2, 3)
    redis.hold("orders:<b>\u202e\"'&", 2)
    redis.queue("orders:<b>\u202e\"'&", 1)
    others = {"pool": f"holdfast_permit 5 {owner(4)}", "config": owner(5) + ":r", "legacy": "of another library"}
    for name, value in others.items():
        redis.send(["SET", name, value, "PX", 600_000], ["SET", f"{{{name}}}:holdfast_token", 1])


def open_view(page, view):
    page.browser.open(page.url + "#/" + view)
    eventually(lambda: page.browser.count("main table") > 0 and "still searching" not in page.browser.text())


def open_lock(page, name):
    page.browser.open(f"{page.url}#/locks?q={name}")
    eventually(lambda: page.browser.count("main tbody tr") == 1)
    page.browser.run("document.querySelector('main tbody a').click()")
    eventually(lambda: page.browser.count("main .charts") == 1)


def looks_as_it_did(page):
    fill(page.redis)
    for width in (1200, 360):
        page.browser.size(width, 800)
        open_view(page, "locks?sort=name")
        eventually(lambda: page.browser.count("main tbody tr") == 5)
        structure.compare(page.browser, f"locks-{width}", page.update)
        assert structure.misplaced(page.browser) == []
        open_view(page, "blocking")
        structure.compare(page.browser, f"blocking-{width}", page.update)
        assert structure.misplaced(page.browser) == []
        open_view(page, "processes")
        structure.compare(page.browser, f"processes-{width}", page.update)
        assert structure.misplaced(page.browser) == []
        open_lock(page, "deploy")
        structure.compare(page.browser, f"lock-{width}", page.update)
        assert structure.misplaced(page.browser) == []
        page.browser.run("document.querySelector('button.danger').click()")
        structure.compare(page.browser, f"question-{width}", page.update)
        assert structure.misplaced(page.browser) == []
        page.browser.run("document.querySelector('dialog').close()")
        open_view(page, "findings")
        assert structure.misplaced(page.browser) == []
    page.browser.size(1200, 800)


def has_no_barriers(page):
    """By axe-core, in the light and in the dark, on a wide screen and on a narrow one."""
    axe = page.axe.read_text()
    fill(page.redis)
    run = "return axe.run(document).then((found) => found.violations.map((each) => `${each.id}: ${each.nodes.map((node) => node.html.slice(0, 120) + ' ' + node.failureSummary)}`))"
    for scheme, width in (("light", 1200), ("dark", 360)):
        page.browser.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        page.browser.size(width, 800)
        for view in ("locks", "blocking", "processes", "findings", "lock"):
            if view == "lock":
                open_lock(page, "deploy")
            else:
                open_view(page, view)
            page.browser.run(axe + "\nwindow.axe = axe")
            found = page.browser.run(run)
            assert found == [], f"{view}, {scheme}: {found}"
        page.browser.run("document.querySelector('button.danger').click()")
        found = page.browser.run(run)
        assert found == [], f"the question, {scheme}: {found}"
    page.browser.command("Emulation.setEmulatedMedia", features=[])
    page.browser.size(1200, 800)


def names_of_any_bytes_do_no_harm(page):
    page.redis.hold("<img src=x onerror=document.title='broken'>\u202e\u061c\"'&", 3)
    page.browser.open(page.url + "#/locks?q=onerror")
    eventually(lambda: page.browser.count("main tbody tr") == 1)
    assert "\\u{202e}\\u{61c}" in page.browser.text()
    assert page.browser.count("main img") == 0
    assert "broken" not in page.browser.run("return document.title").split("–")[0]


def owners_without_an_id_do_no_harm(page):
    """Whatever somebody wrote into keys: the other rows are shown."""
    page.redis.read("read", 0x10)
    page.redis.send(["ZADD", "{read}:holdfast_readers", 9_999_999_999_999, ":r"], ["ZADD", "{read}:holdfast_queue", 1, "", 2, owner(0x11)])
    for view, rows in [("blocking", 2), ("processes", 2)]:
        page.browser.open(f"{page.url}#/{view}")
        eventually(lambda: page.browser.count("main tbody tr") == rows)
    open_lock(page, "read")
    eventually(lambda: page.browser.count("main tbody tr") >= 4)
    assert "doesn't answer" not in page.browser.text()


def marks_circles(page):
    page.redis.hold("left", 0x10)
    page.redis.hold("right", 0x11)
    page.redis.queue("left", 0x11)
    page.redis.queue("right", 0x10)
    page.browser.open(page.url + "#/blocking")
    eventually(lambda: "in a circle" in page.browser.text())
    assert page.browser.count("svg .box.circle") == 2


def draws_the_most_important_of_many(page):
    page.redis.hold("left", 0x10)
    page.redis.hold("right", 0x11)
    page.redis.queue("left", 0x11)
    page.redis.queue("right", 0x10)
    for lock in range(8):
        page.redis.hold(f"busy:{lock}", 0x100 + lock)
        page.redis.queue(f"busy:{lock}", *range(0x1000 + 16 * lock, 0x100A + 16 * lock))
    page.browser.open(page.url + "#/blocking")
    eventually(lambda: "60 of 90 processes are drawn" in page.browser.text())
    assert page.browser.count("svg .box") == 60
    assert page.browser.count("svg .box.circle") == 2
    assert page.browser.run("return [...document.querySelectorAll('svg text')].filter((each) => each.textContent.includes('wait)')).length") > 0
    assert page.browser.count("main tbody tr") == 82


def marks_circles_through_any_reader(page):
    """Whoever waits to write waits for all readers."""
    page.redis.read("config", 0x13, 0x12, 0x11)
    page.redis.hold("right", 0x10)
    page.redis.queue("config", 0x10)
    page.redis.queue("right", 0x12)
    page.browser.open(page.url + "#/blocking")
    eventually(lambda: page.browser.count("svg .box") == 4)
    assert page.browser.count("svg .box.circle") == 2
    assert page.browser.count("svg .edge") == 4
    assert "+2" in page.browser.text()


def marks_no_circle_through_one_of_several_with_permits(page):
    late = 9_999_999_999_999
    page.redis.send(["ZADD", "pool", -2, "holdfast_permits:2", late, owner(0x13), late, owner(0x12)], ["ZADD", "{pool}:holdfast_permit_queue", 1, owner(0x10)], ["SET", "{pool}:holdfast_token", 1])
    page.redis.hold("right", 0x10)
    page.redis.queue("right", 0x12)
    page.browser.open(page.url + "#/blocking")
    eventually(lambda: page.browser.count("svg .box") == 3)
    assert page.browser.count("svg .edge") == 3 and page.browser.count("svg .circle") == 0


CHECKS = [looks_as_it_did, has_no_barriers, names_of_any_bytes_do_no_harm, owners_without_an_id_do_no_harm, marks_circles, draws_the_most_important_of_many, marks_circles_through_any_reader, marks_no_circle_through_one_of_several_with_permits]
