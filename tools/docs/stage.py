"""Lays the tree's pages out as the site has them: stage.py ROOT PAGES. README.md is the front page; public headers lead to their pages
of the reference, sources of examples become pages, and links are written anew. Markdown of a forge is made into that of mkdocs: a list
that follows a line of text gets an empty line before it, and lists in lists are indented by four.
"""
import pathlib
import re
import shutil
import sys
import urllib.parse

OUTSIDE = re.compile(r"[a-z][a-z+.-]*:|//|#", re.IGNORECASE)
TOP = {"README.md": "index.md", "ARCHITECTURE.md": "architecture.md", "CONTRIBUTING.md": "contributing.md",
       "CHANGELOG.md": "changelog.md", "LICENSE": "license.md", "man/holdfast.1": "manual.md", "bench/racing/README.md": "race.md",
       "tests/fault/FOUND.md": "found.md", "include/holdfast": "reference/index.md",
       "examples": "examples/index.md", "examples/redisson": "examples/index.md", "examples/prometheus": "examples/index.md",
       "contrib": "contrib/index.md", "docs/decisions": "decisions/index.md"}
ITEM = re.compile(r"(\s*)([-*]|\d+\.)(\s+)")


def place_of(source):
    """Where the site has a file of the tree, or none."""
    if source in TOP:
        return TOP[source]
    if source.startswith("docs/"):
        return re.sub(r"(^|/)README\.md$", r"\1index.md", source.removeprefix("docs/"))
    if source.startswith("include/holdfast/"):
        return "reference/" + pathlib.PurePath(source).name.replace(".hpp", ".md")
    folder, _, rest = source.partition("/")
    if folder in ("examples", "contrib"):
        return f"{folder}/" + re.sub(r"\W", "_", rest) + ".md"
    return None


def relative(target, page):
    """The way from one page to another."""
    up = len(pathlib.PurePath(page).parts) - 1
    return "../" * up + target


class stage:
    def __init__(self, root, pages):
        self.root, self.pages, self.wrong = root, pages, []

    def write(self, place, text):
        path = self.pages / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def link(self, found, source):
        path, hash_mark, anchor = found[2].partition("#")
        if OUTSIDE.match(found[2]):
            return found[0]
        target = (self.root / source).parent / urllib.parse.unquote(path)
        name = str(target.resolve().relative_to(self.root))
        place = place_of(name)
        if place is None:
            self.wrong.append(f"{source}: the site has no place for {found[2]} (tools/docs/stage.py)")
            return found[0]
        return f"{found[1]}{relative(place, place_of(source))}{hash_mark}{anchor}{found[3]}"

    def page(self, source):
        lines, fence, before, item = [], None, "", False
        for line in (self.root / source).read_text().split("\n"):
            mark = re.match(r"(```+)", line)
            if mark and (fence is None or line.startswith(fence)):
                fence = None if fence else mark[1]
            elif fence is None:
                line, item = self.as_mkdocs(line, before, item, lines)
                if not line.startswith("    ") or item:
                    line = re.sub(r"(\]\()([^)\s]+)(\))", lambda found: self.link(found, source), line)
            lines.append(line)
            before = line
        self.write(place_of(source), "\n".join(lines))

    @staticmethod
    def as_mkdocs(line, before, item, lines):
        """One line outside of code; and whether a list goes on."""
        found = ITEM.match(line)
        if found and (item or not line.startswith("    ")):
            if not item and before.strip():
                lines.append("")
            indent = "" if not found[1] else "    "
            return indent + found[2] + " " + line[found.end():], True
        if item and line.startswith(" ") and before.strip():
            return "    " + line.strip(), True
        if item and not before.strip() and line.startswith("   ") and line.strip():
            return line, True  # code, or a paragraph, that belongs to the item
        return line, item and not line.strip()

    def source(self, path):
        name = str(path.relative_to(self.root))
        language = {".cpp": "cpp", ".java": "java", ".xml": "xml", ".json": "json", ".yml": "yaml"}[path.suffix]
        self.write(place_of(name), f"# {name}\n\n```{language}\n{path.read_text()}```\n")
        return f"- [{name}]({pathlib.PurePath(place_of(name)).name})\n"

    def all(self):
        for name in TOP:
            if name.endswith(".md"):
                self.page(name)
        self.write("license.md", "# License\n\n" + "".join(f"    {line}\n" for line in (self.root / "LICENSE").read_text().split("\n")))
        for path in sorted(self.root.glob("docs/**/*")):
            name = str(path.relative_to(self.root))
            if path.suffix == ".md":
                self.page(name)
            elif path.is_file():
                (self.pages / place_of(name)).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, self.pages / place_of(name))
        examples = [self.source(path) for path in sorted(self.root.glob("examples/**/*.*")) if path.is_file()]
        self.write("examples/index.md", "# Examples\n\nThe tests build and run each of them.\n\n" + "".join(examples))
        contrib = [self.source(path) for path in sorted(self.root.glob("contrib/**/*.*")) if path.is_file()]
        self.write("contrib/index.md", "# For other programs\n\nTheir use is in [metrics](../metrics.md).\n\n" + "".join(contrib))
        decisions = "# Decisions\n\nWhy Holdfast is built this way.\n\n"
        for path in sorted(self.root.glob("docs/decisions/*.md")):
            title = path.read_text().split("\n")[0].removeprefix("# ")
            number, _, about = title.partition(". ")
            decisions += f"- [Decision {number}: {about}]({path.name})\n"
        self.write("decisions/index.md", decisions)


def main(root, pages):
    work = stage(pathlib.Path(root).resolve(), pathlib.Path(pages).resolve())
    work.all()
    print("\n".join(work.wrong) if work.wrong else f"laid out {sum(1 for _ in work.pages.rglob('*.md'))} pages")
    return 1 if work.wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
