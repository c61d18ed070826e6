"""What is to be seen on a page, as a text: which elements in which order, what they say, and whether they are where they
should be. Not pixels, which differ by fonts and versions of the browser. Texts that differ from run to run are made alike."""

import difflib
import pathlib
import re

FOLDER = pathlib.Path(__file__).parent / "structure"

TREE = """
const lines = [];
const roleOf = (each) => each.getAttribute('role') ?? each.tagName.toLowerCase();
const visit = (each, depth) => {
  if (!each.checkVisibility() || each.matches('svg *')) return;
  const own = [...each.childNodes].filter((node) => node.nodeType === 3).map((node) => node.textContent.trim()).filter(Boolean).join(' … ');
  const state = ['aria-label', 'aria-current', 'aria-pressed', 'data-title'].filter((name) => each.hasAttribute(name)).map((name) => `${name}=${each.getAttribute(name)}`);
  const inner = each.matches('svg') ? Object.entries(Object.groupBy(each.querySelectorAll('rect, path, text'), (part) => part.getAttribute('class') ?? part.tagName)).map(([what, some]) => `${some.length} ${what}`) : [];
  const rendered = !['div', 'span'].includes(each.tagName.toLowerCase()) || own || each.className;
  if (rendered) lines.push('  '.repeat(depth) + [roleOf(each) + (each.className && !each.matches('svg') ? '.' + each.className.split(' ').join('.') : ''), ...state, ...inner, own].filter(Boolean).join(' | '));
  for (const child of each.children) visit(child, depth + (rendered ? 1 : 0));
};
visit(document.body, 0);
return lines.join('\\n');
"""

# Boxes of texts that lie over one another, or beside the screen where nothing can be scrolled.
MISPLACED = """
const wrong = [];
const texts = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const node = walker.currentNode;
  if (!node.textContent.trim() || !node.parentElement.checkVisibility() || node.parentElement.closest('option, title, thead')) continue;
  const range = document.createRange();
  range.selectNodeContents(node);
  for (const box of range.getClientRects()) if (box.width > 1 && box.height > 1) texts.push([box, node]);
}
const dialog = document.querySelector('dialog[open]');
for (const [box, node] of texts) {
  const scrolls = node.parentElement.closest('.scroll, .skip');
  if (!scrolls && (box.left < -1 || box.right > innerWidth + 1)) wrong.push(`beside the screen: ${node.textContent.trim().slice(0, 60)}`);
}
for (let i = 0; i < texts.length; i += 1) {
  for (let j = i + 1; j < texts.length; j += 1) {
    const [a, first] = texts[i];
    const [b, second] = texts[j];
    if (first === second || (dialog && dialog.contains(first) !== dialog.contains(second)) || first.parentElement.closest('.skip') || second.parentElement.closest('.skip')) continue;
    const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (width > 3 && height > 5) wrong.push(`over one another: ${first.textContent.trim().slice(0, 40)} / ${second.textContent.trim().slice(0, 40)}`);
  }
}
if (document.documentElement.scrollWidth > innerWidth) wrong.push(`it is ${document.documentElement.scrollWidth} wide, the screen ${innerWidth}`);
return wrong;
"""

ALIKE = [
    (r"redis\+unix://\S+?(?=[:\s]|$)", "URL"),
    (r"\d{1,2}:\d{2}(:\d{2})?(\s?[AP]M)?", "CLOCK"),
    (r"\d+(\.\d+)? (ms|s|min|h|d)( \d+ (s|min|h))?\b", "TIME"),
    (r"\b\d{16}\b", "TOKEN"),
]


def alike(text):
    for pattern, word in ALIKE:
        text = re.sub(pattern, word, text)
    return text.replace("\u202f", " ")


def compare(browser, name, update):
    """Raises with the difference to what is kept of that name; `update` keeps what is there now."""
    now = alike(browser.run(TREE)) + "\n"
    file = FOLDER / f"{name}.txt"
    if update:
        file.write_text(now)
        return
    before = file.read_text() if file.exists() else ""
    difference = list(difflib.unified_diff(before.splitlines(), now.splitlines(), f"{name}.txt", "now", lineterm=""))
    assert not difference, "\n".join(difference)


def misplaced(browser):
    return browser.run(MISPLACED)
