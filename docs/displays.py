"""Draw the pictures of docs/pictures.md by running its examples: ``python docs/displays.py``.

Every example leaves a ``display``; its figure becomes the image that follows the example. Names of
images as arguments, for instance ``display-loss.png``, draw only those.
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
    text = (FOLDER / "pictures.md").read_text(encoding="utf-8")
    found = re.findall(r"```python\n(.*?)```\s*!\[[^\]]*\]\(images/([\w.-]+)\)", text, re.S)
    return {name: code for code, name in found}


def draw(code: str, path: Path) -> None:
    """Run an example and save the figure of its display."""
    names: dict[str, object] = {"__name__": "__main__"}
    exec(compile(code, path.name, "exec"), names)
    drawn = BytesIO()
    names["display"].ax_.figure.savefig(drawn, dpi=DPI)
    # A palette of 256 colours makes the files a third as large, and looks the same.
    Image.open(drawn).convert("RGB").quantize(256).save(path, optimize=True)


def main(chosen: list[str]) -> None:
    for name, code in examples().items():
        if not chosen or name in chosen:
            draw(code, FOLDER / "images" / name)
            print(f"saved {name}")


if __name__ == "__main__":
    main(sys.argv[1:])
