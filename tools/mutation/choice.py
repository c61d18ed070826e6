"""Which places are broken: those of the standing sample, or others by a seed."""

import functools
import hashlib
import pathlib
import random
from typing import NamedTuple, Union

import cpp
import lua

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SAMPLE = pathlib.Path(__file__).resolve().parent / "sample.tsv"
FOLDERS = ("engine", "script", "sync", "wire")


class Place(NamedTuple):
    path: str  # below the root
    which: int  # of the places of this file where the same is done to the same text
    mutant: Union[cpp.Mutant, lua.Mutant]

    @property
    def is_script(self):
        return isinstance(self.mutant, lua.Mutant)

    @property
    def what(self):
        return " ".join(self.mutant.what.split())

    def key(self):
        return self.path, self.which, self.what


def script_files():
    """{path below scripts/: text}."""
    return {str(path.relative_to(ROOT / "scripts")): path.read_text() for path in sorted((ROOT / "scripts").rglob("*.lua"))}


def places_of(path, mutants):
    seen = {}
    for mutant in mutants:
        which = seen[mutant.what] = seen.get(mutant.what, -1) + 1
        yield Place(path, which, mutant)


@functools.cache
def candidates():
    """All places of the sources, and of the scripts; those of a file beside one another."""
    sources = [place for folder in FOLDERS for path in sorted((ROOT / "src" / folder).rglob("*.?pp"))
               for place in places_of(str(path.relative_to(ROOT)), cpp.mutants_of(path.read_text()))]
    scripts = [place for path, text in script_files().items() for place in places_of(f"scripts/{path}", lua.mutants_of(text))]
    return sources, scripts


def fits(place, others):
    return place.is_script or cpp.fits(place.mutant, [other.mutant for other in others])


def spread(found, count, chance):
    """So many of them: one of each file, then a second of each, and so on."""
    files = {}
    for place in found:
        files.setdefault(place.path, []).append(place)
    for of_file in files.values():
        chance.shuffle(of_file)
    order = list(files)
    chance.shuffle(order)
    chosen = []
    while len(chosen) < count and order:
        for path in list(order):
            others = [other for other in chosen if other.path == path]
            place = next((each for each in files[path] if fits(each, others)), None)
            if place is None:
                order.remove(path)
                continue
            files[path].remove(place)
            chosen.append(place)
            if len(chosen) == count:
                break
    return chosen


def by_seed(seed, sources, scripts):
    found_sources, found_scripts = candidates()
    return dict(enumerate(spread(found_sources, sources, random.Random(seed)) + spread(found_scripts, scripts, random.Random(seed)), 1))


def standing():
    """The sample that docs/reliability.md speaks of, by the numbers that it has there; and the numbers of what is no more."""
    known = {place.key(): place for of_kind in candidates() for place in of_kind}
    chosen, gone = {}, []
    for line in SAMPLE.read_text().splitlines():
        number, path, which, what = line.split("\t")
        place = known.get((path, int(which), what))
        if place is None:
            gone.append(int(number))
        else:
            chosen[int(number)] = place
    return chosen, gone


def with_others_for(chosen, gone):
    """These, with another place for each number whose text is no more: where the same is done to the same text now, as it was moved; or
    another of its file, or else of its folder, by chance."""
    rows = {int(number): (path, int(which), what)
            for number, path, which, what in (line.split("\t") for line in SAMPLE.read_text().splitlines())}
    whole = dict(chosen)
    for number in gone:
        path, which, what = rows[number]
        taken = {place.key() for place in whole.values()}
        free = [place for place in candidates()[path.startswith("scripts/")] if place.key() not in taken
                and fits(place, [other for other in whole.values() if other.path == place.path])]
        folder = str(pathlib.PurePath(path).parent)
        moved = [place for place in free if place.what == what]
        near = ([place for place in moved if place.which == which] or moved or [place for place in free if place.path == path]
                or [place for place in free if str(pathlib.PurePath(place.path).parent) == folder])
        if near:
            whole[number] = random.Random(number).choice(near)
    return whole


def keep(chosen):
    SAMPLE.write_text("".join(f"{number}\t{place.path}\t{place.which}\t{place.what}\n" for number, place in sorted(chosen.items())))


def fingerprint(place):
    """What a result is about: it counts as long as the text that was broken is what it was."""
    return hashlib.sha1(repr(place.key()).encode() + (ROOT / place.path).read_bytes()).hexdigest()
