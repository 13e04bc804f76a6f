"""Draw the pictures of three pages by running their examples: ``python docs/displays.py``.

Every example leaves a ``display`` or a ``figure``, which becomes the image that follows the
example. Names of images as arguments, for instance ``display-loss.png``, draw only those.
"""

import re
import sys
from io import BytesIO
from pathlib import Path

import matplotlib
from PIL import Image

matplotlib.use("Agg")

FOLDER = Path(__file__).parent
# Dots per inch at which the default figure is 704 pixels wide.
DPI = 110


def examples() -> dict[str, str]:
    """The code of every picture, by the name of its file."""
    pages = [FOLDER / name for name in ("pictures.md", "explaining.md", "how-it-works.md")]
    block = r"```python\n((?:(?!```).)*)```\s*(?:```text\n(?:(?!```).)*```\s*)?"
    picture = r"!\[[^\]]*\]\(images/([\w.-]+)\)"
    texts = "".join(page.read_text(encoding="utf-8") for page in pages)
    return {name: code for code, name in re.findall(block + picture, texts, re.S)}


def draw(code: str, path: Path) -> None:
    """Run an example and save the figure of its display."""
    names: dict[str, object] = {"__name__": "__main__"}
    exec(compile(code, path.name, "exec"), names)
    drawn = BytesIO()
    figure = names["display"].ax_.figure if "display" in names else names["figure"]
    figure.savefig(drawn, dpi=DPI)
    # A palette of 256 colours makes the files a third as large, and looks the same.
    Image.open(drawn).convert("RGB").quantize(256).save(path, optimize=True)


def main(chosen: list[str]) -> None:
    for name, code in examples().items():
        if not chosen or name in chosen:
            draw(code, FOLDER / "images" / name)
            print(f"saved {name}")


if __name__ == "__main__":
    main(sys.argv[1:])
