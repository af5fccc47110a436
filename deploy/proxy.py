"""Prepares a folder for nginx: its configuration, and the files that it serves without a worker.

``python deploy/proxy.py OUT --worker localhost:8501 --worker localhost:8502`` writes what
``nginx -c OUT/nginx.conf`` reads. Run it again when Streamlit, plotly or the ledger was updated.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import hashlib
import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import jinja2
import plotly
import streamlit

HERE = Path(__file__).parent
ROOT = HERE.parent
STATIC = Path(streamlit.__file__).parent / "static"
LIBRARY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
# As pages/ui/charts/renderer.py declares it.
LIBRARY_PATH = "component/pages.ui.charts.renderer.plotly_js/plotly.min.js"
# Streamlit's largest chunks that every page asks for, in the order of size, without their hashes.
CHUNKS = (
    "arrowFormatUtils", "serialization", "recordbatch", "useSyncComboBoxEnterTargetFocus", "moment",
    "numbro", "useMenuTrigger", "purify.es", "Slider", "BidiComponent", "Selectbox", "NumberInput",
    "Metric", "CustomTheme", "useLoadMoreSentinel", "Quiver", "Table", "TextArea",
    "useFormValidation", "sprintfjs", "ButtonGroup", "formatNumber", "useTextField", "Html",
)  # fmt: skip
COMPRESSED = {".js", ".css", ".json", ".svg", ".map", ".wasm"}


def policy(page: str) -> str:
    """The content-security policy of a page: its own inline scripts, and no others.

    Charts and the sidebar's search are components whose scripts the front end loads from ``blob:``
    addresses, protobuf multiplies in WebAssembly, and React sets styles in place.
    """
    hashes = " ".join(f"'{_hash(script)}'" for script in inline_scripts(page))
    return (
        f"default-src 'self'; script-src 'self' blob: 'wasm-unsafe-eval' {hashes}; "
        "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
        "connect-src 'self'; worker-src 'self' blob:; object-src 'none'; base-uri 'self'; "
        "form-action 'self'; frame-ancestors 'self'"
    )


def inline_scripts(page: str) -> Sequence[str]:
    """The texts of a page's scripts that stand in it."""
    found: list[str] = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    return found


def _hash(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def head(base: str, address: str) -> str:
    """What the proxy adds to the head of every page, on one line.

    Where the app's root is, the chunks and the chart library that every page needs, and the picture
    that chat tools show. Style and title are in it already, by ``serve.py``.
    """
    files = STATIC / "static" / "js"
    found = [chunk for name in CHUNKS for chunk in sorted(files.glob(f"{name}.????????.js"))]
    chart = f"{base}/{LIBRARY_PATH}?v={plotly.__version__}"
    picture = f"{address}{base}/head/decode.png"
    return "".join(
        [
            f'<script src="{base}/head/root.js"></script>',
            *(f'<link rel="modulepreload" crossorigin href="{base}/static/js/{chunk.name}">'
              for chunk in found),
            f'<link rel="preload" as="script" href="{chart}">',
            f'<meta property="og:image" content="{picture}">',
            '<meta name="twitter:card" content="summary_large_image">',
        ]
    )  # fmt: skip


def configuration(
    out: Path,
    workers: Sequence[str],
    base: str = "/ledger",
    port: int = 443,
    tls: Sequence[str] = (),
    logs: Sequence[str] = ("/dev/stdout", "stderr"),
    writes: Path | None = None,
) -> str:
    """The text of nginx.conf.

    Parameters
    ----------
    out : Path
        Where its files are.
    workers : sequence of str
        Each a host and a port.
    base : str
        Path of the app; empty for the root.
    port : int
        That nginx listens on.
    tls : sequence of str
        Certificate and key; empty for plain HTTP.
    logs : sequence of str
        Of requests and of errors.
    writes : Path, optional
        Where nginx writes what it keeps while it runs; by default beside its files.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template("nginx.conf").render(
        out=out, writes=writes or out, workers=workers, base=base, port=port, tls=tls,
        access=logs[0], errors=logs[1],
        policy=policy((STATIC / "index.html").read_text(encoding="utf-8")),
        head=head(base, "$scheme://$http_host"),
    )  # fmt: skip


def files(out: Path, base: str) -> None:
    """Copy what is served from disk, each beside a compressed copy of it."""
    there = out / "files"
    shutil.rmtree(there, ignore_errors=True)
    shutil.copytree(STATIC / "static", there / "static")
    _copy(LIBRARY, there / LIBRARY_PATH)
    _copy(ROOT / "docs" / "decode.png", there / "head" / "decode.png")
    # Otherwise the front end looks for its server below every page first, and finds nothing there.
    root = f'window.__streamlit = {{ BACKEND_BASE_URL: location.origin + "{base}/" }};\n'
    (there / "head" / "root.js").write_text(root, encoding="utf-8")
    compress(there.rglob("*"))


def compress(paths: Iterable[Path]) -> None:
    """Write a compressed copy beside each text."""
    for path in list(paths):
        if path.suffix in COMPRESSED:
            packed = gzip.compress(path.read_bytes(), 9, mtime=0)
            path.with_name(f"{path.name}.gz").write_bytes(packed)


def _copy(file: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, to)


def main() -> None:
    """Write the folder that the arguments ask for."""
    parser = argparse.ArgumentParser(description="Prepare a folder for nginx.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--worker", action="append", required=True, help="host:port, for each")
    parser.add_argument("--base", default="/ledger", help="path of the app; empty for the root")
    parser.add_argument("--port", type=int, default=443)
    parser.add_argument("--tls", nargs=2, default=(), metavar=("CERTIFICATE", "KEY"))
    parser.add_argument("--at", type=Path, help="folder that nginx may write to; by default OUT")
    parser.add_argument("--logs", nargs=2, default=("/dev/stdout", "stderr"),
                        metavar=("ACCESS", "ERRORS"))  # fmt: skip
    given = parser.parse_args()
    out = given.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    base = f"/{given.base.strip('/')}" if given.base.strip("/") else ""
    files(out, base)
    written = configuration(
        out, given.worker, base, given.port, given.tls, given.logs, given.at or out
    )
    (out / "nginx.conf").write_text(written, encoding="utf-8")


if __name__ == "__main__":
    main()
