"""What bench/race makes of results: medians, who is ahead of whom, and what is said where a library couldn't race."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "racing"))
from driver import charts, figures, peers, rows, tables  # noqa: E402: found by the line above
from driver.figures import Figure  # noqa: E402


def results(row, racing, **errors):
    """Of one row: `racing` has a list of rounds for each peer, `errors` why a peer was left out."""
    said = {name: {"version": "1", "rows": {row: rounds}} for name, rounds in racing.items()}
    said |= {name.replace("_", "-"): {"error": error, "rows": {}} for name, error in errors.items()}
    settings = rows.dataclasses.asdict(rows.Settings())
    return {"date": "2026-01-01", "command": "bench/race", "machine": "a machine", "server": "Redis 7", "load": 0.0, "pinned": True,
            "settings": settings, "rows": [row], "peers": said}


def free(*p50s):
    return [{"p50_us": p50, "p99_us": 500, "requests": 2, "commands": 7} for p50 in p50s]


def recovered(*times):
    return [{"200000": {"ms": time}} for time in times]


def page(said):
    return "\n".join(tables.page(said))


class a_figure(unittest.TestCase):
    def test_is_the_median_of_its_rounds_with_least_and_greatest(self):
        self.assertEqual(Figure.of(free(5, 1, 9), ["p50_us"]), Figure(5, 1, 9))

    def test_is_of_those_rounds_that_have_it(self):
        self.assertEqual(Figure.of([*free(4), {"error": "no answer"}], ["p50_us"]), Figure(4, 4, 4))
        self.assertIsNone(Figure.of([{"error": "no answer"}], ["p50_us"]))

    def test_that_did_not_come_in_time_is_later_than_all_others(self):
        late = Figure.of(recovered(None, 3, None), ["200000", "ms"])
        self.assertTrue(Figure(3, 3, 3).beats(Figure.of(recovered(None), ["200000", "ms"]), "low"))
        self.assertFalse(late.beats(Figure(4, 4, 4), "low"))

    def test_beats_another_only_if_each_of_its_rounds_does(self):
        self.assertTrue(Figure(2, 1, 3).beats(Figure(5, 4, 6), "low"))
        self.assertFalse(Figure(2, 1, 4).beats(Figure(5, 4, 6), "low"))
        self.assertTrue(Figure(5, 4, 6).beats(Figure(2, 1, 3), "high"))


class a_table(unittest.TestCase):
    def test_has_the_medians(self):
        said = page(results("uncontended", {"holdfast": free(300, 100, 200)}))
        self.assertIn("Medians of 3 rounds.", said)
        self.assertIn("| Holdfast | 200 | 500 | 2.00 | 7.00 |", said)

    def test_names_a_library_that_is_ahead_of_stock_holdfast_and_where_its_best_row_stands(self):
        said = page(results("uncontended", {"holdfast": free(300, 310), "holdfast-module": free(80, 90), "redislock": free(100, 110)}))
        self.assertIn("- *p50*: bsm/redislock 105 (100–110); Holdfast 305 (300–310). The best of Holdfast's other rows, "
                      "*Holdfast, module in the server* with 85.0 (80.0–90.0), is ahead of that.", said)
        self.assertIn("So it isn't the number of commands.", said)

    def test_calls_nobody_ahead_whose_rounds_overlap(self):
        said = page(results("uncontended", {"holdfast": free(300, 100), "redislock": free(90, 110)}))
        self.assertNotIn("Ahead of stock Holdfast", said)
        self.assertIn("bsm/redislock in *p50*", said)

    def test_says_so_where_holdfast_is_ahead_of_all(self):
        faster = [{**one, "p99_us": 400} for one in free(100, 110)]
        said = page(results("uncontended", {"holdfast": faster, "redislock": free(200, 210)}))
        self.assertIn("Stock Holdfast is ahead of all the libraries here, in every round.", said)

    def test_compares_no_floor(self):
        said = page(results("uncontended", {"holdfast": free(300), "hiredis": free(100)}))
        self.assertIn("Measured once", said)
        self.assertNotIn("head of", said)

    def test_says_what_failed_in_some_of_the_rounds(self):
        said = page(results("uncontended", {"holdfast": [*free(1, 2), {"error": "no answer"}]}))
        self.assertIn("Holdfast failed in 1 of its 3 rounds: no answer.", said)

    def test_says_why_a_library_is_left_out_even_if_all_are(self):
        said = page(results("uncontended", {}, redisson="left out: it needs Maven", redis_py="left out: no | network"))
        self.assertIn("| Redisson | left out: it needs Maven |  |  |  |", said)
        self.assertIn("| redis-py | left out: no / network |  |  |  |", said)

    def test_has_no_line_of_a_peer_that_does_not_race_there(self):
        said = page(results("uncontended", {"holdfast": free(1)}, holdfast_fair="left out: it isn't there"))
        self.assertNotIn("fair_mutex", said)


class a_chart(unittest.TestCase):
    def test_has_a_line_without_a_bar_for_what_has_no_figure(self):
        said = results("recovery", {"holdfast": recovered(3, 4), "rueidislock": recovered(None)}, redisson="left out: it needs Maven")
        [(name, _, text)] = charts.all_charts(said)
        self.assertEqual(name, "race-recovery")
        self.assertEqual(text.count("<rect"), 1)
        self.assertIn(">not within 8 s<", text)
        self.assertIn(">left out<", text)

    def test_is_left_out_if_nothing_has_a_figure(self):
        self.assertEqual(list(charts.all_charts(results("recovery", {"rueidislock": recovered(None)}))), [])


class a_peer(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("built", "root"):
            self.addCleanup(setattr, peers, name, getattr(peers, name))
            setattr(peers, name, self.folder)

    def lacking(self, name):
        made = self.folder / name
        return peers.lacking(peers.Peer(name, name, made, (str(made),)))

    def test_is_not_lacking_if_it_was_made(self):
        (self.folder / "redis-py").mkdir()
        self.assertEqual(self.lacking("redis-py"), "")

    def test_lacks_what_the_tools_wrote_down(self):
        (self.folder / "redis-py.lacking").write_text("it needs Maven\n", encoding="utf-8")
        self.assertEqual(self.lacking("redis-py"), "it needs Maven")

    def test_lacks_what_nobody_has_tried_to_make(self):
        self.assertEqual(self.lacking("redis-py"), "redis-py isn't there")


class the_tools(unittest.TestCase):
    def test_make_all_that_is_looked_for_in_their_folder(self):
        said = "".join((peers.root / "tools" / name).read_text(encoding="utf-8") for name in ("prepare-peers", "prepare-race"))
        for peer in peers.ALL:
            if peers.root / "build" / "peers" in peer.made.parents:
                self.assertRegex(said, rf"(?m)^(peer|prepare) {peer.made.name} ")


if __name__ == "__main__":
    unittest.main()
