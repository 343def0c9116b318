"""What the site has beside the pages of docs/: hooks of mkdocs, for `make docs`.

The first page is README.md; CONTRIBUTING.md and CHANGELOG.md are pages, too, and the scripts of
examples/ are files. The gallery shows the report of `openset demo`, which `make docs` writes first.
"""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pymdownx.slugs import slugify

ROOT = Path(__file__).parents[1]
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
REPORT, SHOWN = ROOT / "build/demo/run/report.html", "demo/report.html"
PLACE = "<!-- report of the demo -->"
FRAME = f"""<p><a href="{SHOWN}">Open it alone.</a></p>
<iframe src="{SHOWN}" title="Report of openset demo" loading="lazy"
  style="width: 100%; height: 85vh; border: 1px solid #8888"></iframe>"""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Headings get the anchors that they have on GitHub, where letters are not only Latin."""
    config.mdx_configs["toc"]["slugify"] = slugify(case="lower")
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and files that are not in docs/."""
    for source, page in PAGES.items():
        text = moved((ROOT / source).read_text("utf-8"))
        files.append(File.generated(config, page, content=text))
    given = {f"examples/{path.name}": path for path in sorted(ROOT.glob("examples/*.py"))}
    for name, path in {**given, SHOWN: REPORT}.items():
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Show the report where a page has a place for it."""
    return markdown.replace(PLACE, FRAME)


def moved(text: str) -> str:
    """A page of the root with its links as they are from within docs/."""
    text = re.sub(r"\]\(docs/", "](", text)
    for source, page in PAGES.items():
        text = text.replace(f"]({source}", f"]({page}")
    return text
