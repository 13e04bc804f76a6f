"""Visits every page of the site and writes down what is wrong with it."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

SEEN = """async () => {
  if (window.MathJax && MathJax.startup && MathJax.startup.promise) await MathJax.startup.promise;
  const pictures = [...document.images];
  pictures.forEach((picture) => (picture.loading = "eager"));
  await Promise.all(pictures.map((picture) => picture.decode().catch(() => null)));
  const visible = (node) => node.getClientRects().length > 0;
  // Beyond the edge of the screen, and in nothing inside the article that can be scrolled.
  const beyond = (node) => {
    if (!visible(node) || node.getBoundingClientRect().right <= innerWidth + 1) return false;
    for (let at = node; at.tagName !== "ARTICLE"; at = at.parentElement) {
      if (["auto", "scroll"].includes(getComputedStyle(at).overflowX)) return false;
      if (at.matches("mjx-assistive-mml, svg")) return false;
    }
    return true;
  };
  const fault = "mjx-merror, mtext[mathcolor=red]"; // the latter: an unknown command
  return {
    blank: pictures.filter((p) => visible(p) && p.naturalWidth === 0).map((p) => p.src),
    unnamed: pictures.filter((p) => !p.hasAttribute("alt")).map((p) => p.src),
    pictures: pictures.length,
    wide: [...document.querySelectorAll("article *")].filter((node) => beyond(node)).slice(0, 3)
      .map((node) => node.outerHTML.slice(0, 120)),
    width: document.documentElement.scrollWidth,
    formulas: document.querySelectorAll(".math").length,
    unrendered: [...document.querySelectorAll(".math")]
      .filter((node) => !node.querySelector("mjx-container") || node.querySelector(fault))
      .map((node) => node.textContent.slice(0, 80)),
    title: document.title,
    heading: document.querySelectorAll("main h1").length,
  };
}"""


class Anchors(HTMLParser):
    """The targets and the links of a page."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids |= {found[name] for name in ("id", "name") if found.get(name)}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])


@dataclass
class Seen:
    """One page."""

    complaints: list = field(default_factory=list)
    failed: list = field(default_factory=list)
    outside: list = field(default_factory=list)
    facts: dict = field(default_factory=dict)


class Crawl:
    """All pages, by their path in the site."""

    def __init__(self, browser, address, site):
        self.browser, self.address, self.site = browser, address, site
        self.paths = sorted(p.relative_to(site).as_posix() for p in site.rglob("*.html"))
        self.paths = [path for path in self.paths if not path.startswith("_static/")]
        self.anchors = {
            path: Anchors((site / path).read_text(encoding="utf-8")) for path in self.paths
        }
        self.seen = {}

    def run(self):
        context = self.browser.new_context(viewport={"width": 390, "height": 800})
        page = context.new_page()
        page.on(
            "console", lambda said: said.type == "error" and self.now.complaints.append(said.text)
        )
        page.on("pageerror", lambda error: self.now.complaints.append(str(error)))
        page.on("requestfailed", self.miss)
        page.on(
            "response", lambda r: r.status >= 400 and self.now.failed.append(f"{r.status} {r.url}")
        )
        page.on("request", self.note)
        for path in self.paths:
            self.now = self.seen[path] = Seen()
            page.goto(self.address + path, wait_until="load")
            self.now.facts = page.evaluate(SEEN)
        context.close()
        return self

    def miss(self, request):
        if (
            request.failure != "net::ERR_ABORTED"
        ):  # the icon, when the next page is opened before it
            self.now.failed.append(request.url)

    def note(self, request):
        if not request.url.startswith((self.address, "data:", "blob:")):
            self.now.outside.append(request.url)

    def offenders(self, judge):
        """Path and fault of the pages of which ``judge`` says one."""
        found = {path: judge(page) for path, page in self.seen.items()}
        return {path: fault for path, fault in found.items() if fault}

    def broken_links(self):
        """Links to pages, files or anchors of the site that are not there."""
        broken = []
        for path, anchors in self.anchors.items():
            for link in anchors.links:
                parts = urlsplit(link)
                if parts.scheme or parts.netloc:
                    continue
                target, anchor = urldefrag(urljoin(path, link))
                target = unquote(urlsplit(target).path) or path
                file = self.site / target
                file = file / "index.html" if file.is_dir() else file
                name = file.relative_to(self.site).as_posix()
                if not file.exists():
                    broken.append(f"{path}: {link}")
                elif (
                    anchor
                    and name in self.anchors
                    and unquote(anchor) not in self.anchors[name].ids
                ):
                    broken.append(f"{path}: {link} (no such anchor)")
        return broken
