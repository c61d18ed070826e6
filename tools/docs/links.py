"""Checks the links of the tree, or of the built site.

    links.py ROOT             each link of each page (README.md, ARCHITECTURE.md, CONTRIBUTING.md, CHANGELOG.md, docs, tests) leads to a file
                              that is there, and to a heading of it; each mention of a page in the headers, the command and the manual
                              page is true; each picture is well-formed, has a title and is shown on a page
    links.py --site FOLDER    each link of the HTML below FOLDER leads to a file below it, and to an id in it
    links.py --self-test      breaches of each of these are found
"""
import html.parser
import pathlib
import re
import sys
import tempfile
import urllib.parse
import xml.etree.ElementTree

OUTSIDE = re.compile(r"[a-z][a-z+.-]*:|//", re.IGNORECASE)


def without_code(text):
    """The same lines, those of fenced and indented code empty, and code in a line taken out."""
    lines, fence = [], None
    for line in text.split("\n"):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if fence:
            if mark and line.strip().startswith(fence):
                fence = None
            lines.append("")
        elif mark:
            fence = mark[1]
            lines.append("")
        else:
            lines.append("" if line.startswith("    ") else re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "``", line))
    return lines


def slug(heading):
    """The name that a forge gives a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip())
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def headings(page):
    """The anchors of a page of Markdown."""
    found, fence = {}, None
    for line in page.read_text().split("\n"):
        mark = re.match(r"(```+|~~~+)", line)
        if mark and (fence is None or line.startswith(fence)):
            fence = None if fence else mark[1]
        title = re.match(r"#+ (.*)", line)
        if title and fence is None:
            name = slug(title[1])
            found[name] = found.get(name, -1) + 1
    return {name if n == 0 else f"{name}-{n}" for name, count in found.items() for n in range(count + 1)}


def links(page):
    """Each link of a page of Markdown, with the number of its line."""
    for number, line in enumerate(without_code(page.read_text()), 1):
        for found in re.finditer(r"\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)", line):
            yield number, found[1]


def pages_of(root):
    return sorted([*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("tests/**/*.md")])


def check_pages(root):
    wrong, shown = [], set()
    for page in pages_of(root):
        for number, link in links(page):
            if OUTSIDE.match(link):
                continue
            path, _, anchor = urllib.parse.unquote(link).partition("#")
            target = (page.parent / path).resolve() if path else page
            at = f"{page.relative_to(root)}:{number}"
            shown.add(target)
            if not target.is_relative_to(root) or not target.exists():
                wrong.append(f"{at}: {link} leads nowhere")
            elif anchor and (target.suffix != ".md" or anchor not in headings(target)):
                wrong.append(f"{at}: {link}: there is no such heading")
    for picture in root.glob("docs/**/*.svg"):
        at = picture.relative_to(root)
        try:
            top = xml.etree.ElementTree.parse(picture).getroot()
        except xml.etree.ElementTree.ParseError as problem:
            wrong.append(f"{at}: {problem}")
            continue
        if not any(child.tag.endswith("}title") and child.text for child in top):
            wrong.append(f"{at}: has no title, so those who can't see it learn nothing")
        if picture.resolve() not in shown:
            wrong.append(f"{at}: no page shows it")
    return wrong


def check_mentions(root):
    """Pages and sections that the headers, the command and the manual page name."""
    wrong = []
    sources = [*root.glob("include/**/*.hpp"), *root.glob("cli/**/*.[ch]pp"), *root.glob("src/**/*.[ch]pp"),
               *root.glob("scripts/**/*.lua"), *root.glob("examples/**/*.*"), *root.glob("man/*")]
    for source in sorted(sources):
        for number, line in enumerate(source.read_text().split("\n"), 1):
            for found in re.finditer(r"\bdocs/[\w./-]*[\w]", line):
                mention = found[0]
                if "." not in mention.rsplit("/", 1)[1] and not (root / mention).is_dir() and not list(root.glob(mention + "*")):
                    wrong.append(f"{source.relative_to(root)}:{number}: there is no {mention}")
                elif "." in mention.rsplit("/", 1)[1] and not (root / mention).exists():
                    wrong.append(f"{source.relative_to(root)}:{number}: there is no {mention}")
    return wrong


class page_reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids, self.links = set(), []

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or (name == "name" and tag == "a"):
                self.ids.add(value)
            elif value and (name == "href" or name == "src"):
                self.links.append(value)


def check_site(site):
    pages = {}
    for page in site.rglob("*.html"):
        pages[page.resolve()] = page_reader()
        pages[page.resolve()].feed(page.read_text())
    wrong = []
    for page, read in sorted(pages.items()):
        if page.name == "404.html":  # its links begin at the root of the host
            continue
        for link in read.links:
            if OUTSIDE.match(link):
                continue
            path, _, anchor = urllib.parse.unquote(link).partition("#")
            path = path.partition("?")[0]
            target = (page.parent / path).resolve() if path else page
            if target.is_dir():
                target = target / "index.html"
            if not target.exists():
                wrong.append(f"{page.relative_to(site.resolve())}: {link} leads nowhere")
            elif anchor and target in pages and anchor not in pages[target].ids:
                wrong.append(f"{page.relative_to(site.resolve())}: {link}: there is no such id")
    return wrong if pages else [f"{site}: there are no pages"]


def self_test():
    """Writes a tree with one breach of each kind, and a site with two."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder).resolve()
        for name in ("docs/images", "include", "site"):
            (root / name).mkdir(parents=True)
        (root / "README.md").write_text("# A\n[b](docs/b.md#a-b) [c](docs/c.md) [d](docs/b.md#d) `[code](x.md)`\n\n    [code](x.md)\n")
        (root / "docs/b.md").write_text("# A, b!\n```\n# D\n[code](x.md)\n```\n")
        (root / "docs/images/e.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
        (root / "docs/images/f.svg").write_text("<svg")
        (root / "include/g.hpp").write_text("// see docs/b.md and docs/h.md\n")
        (root / "site/index.html").write_text("<p id='i'><a href='#i'><a href='#j'><a href='k.html'><a href='https://elsewhere'>")
        found = len(check_pages(root)), len(check_mentions(root)), len(check_site(root / "site"))
        return [] if found == (5, 1, 2) else [f"found {found} breaches instead of (5, 1, 2)"]


def main(arguments):
    if arguments == ["--self-test"]:
        wrong = self_test()
    elif arguments[0] == "--site":
        wrong = check_site(pathlib.Path(arguments[1]))
    else:
        root = pathlib.Path(arguments[0]).resolve()
        wrong = check_pages(root) + check_mentions(root)
    print("\n".join(wrong) if wrong else "all links are true")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
