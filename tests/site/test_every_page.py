"""Every page of the site, on a screen of 390 pixels: it shows, it fits, and nothing is missing."""


def test_there_are_many_pages(crawl):
    assert len(crawl.seen) > 80


def test_no_page_complains(crawl):
    assert not crawl.offenders(lambda page: page.complaints)


def test_nothing_fails_to_load(crawl):
    assert not crawl.offenders(lambda page: page.failed)


def test_nothing_comes_from_a_network(crawl):
    assert not crawl.offenders(lambda page: page.outside)


def test_every_picture_shows_and_has_a_text(crawl):
    assert not crawl.offenders(lambda page: page.facts["blank"])
    assert not crawl.offenders(lambda page: page.facts["unnamed"])
    assert sum(page.facts["pictures"] for page in crawl.seen.values()) > 40


def test_every_formula_is_rendered(crawl):
    assert not crawl.offenders(lambda page: page.facts["unrendered"])
    assert sum(page.facts["formulas"] for page in crawl.seen.values()) > 30


def test_no_page_is_wider_than_a_phone(crawl):
    """Tables and code may be scrolled, in a frame of their own."""
    assert not crawl.offenders(lambda page: page.facts["wide"])
    assert not crawl.offenders(lambda page: page.facts["width"] > 390 and page.facts["width"])


def test_every_page_has_a_title(crawl):
    assert not crawl.offenders(lambda page: not page.facts["title"])
    assert not crawl.offenders(lambda page: page.facts["heading"] != 1)


def test_no_link_is_broken(crawl):
    assert crawl.broken_links() == []
    assert sum(len(page.links) for page in crawl.anchors.values()) > 1000
