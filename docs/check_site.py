"""Open the built documents in a browser, and the guides in JupyterLab: `python docs/check_site.py SITE PICTURES`.

Each page is opened at the width of a desk and of a phone, in light and in dark. There must be no error in the console,
no request that fails, and nothing wider than the window. The search must find a known name. SITE is the folder that
Sphinx built, PICTURES a folder for screenshots. `--lab` also opens the guides in JupyterLab. The exit status is 1 if
there was a fault. You need playwright and a Chromium: that of `CHROMIUM`, an installed one, or that of playwright.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page as Tab, Request, sync_playwright

ROOT = Path(__file__).parents[1]
GUIDES = ROOT / "docs" / "guides"
SAMPLE = ROOT / "examples" / "sample.nc"
SIZES = {"desk": (1280, 900), "phone": (390, 844)}
SCHEMES = ("light", "dark")
SHOWN = (
    *("index", "quickstart", "safety", "notebook", "formats", "architecture", "performance", "differences", "search"),
    "other_languages",
    *("commands/index", "commands/convert", "python/index", "python/errors"),
    *("python/generated/ds_format.read", "python/generated/ds_format.File"),
    *("gallery/index", "gallery/plot_4_gaps", "gallery/plot_7_terminal"),
)
"""One page of each kind, of which there are screenshots; besides all guides."""
SOUGHT = "open_many"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
TOO_WIDE = """() => {
    const width = document.documentElement.clientWidth, found = [];
    if (document.documentElement.scrollWidth <= width) return found;
    for (const element of document.body.querySelectorAll("*"))
        if (element.getBoundingClientRect().right > width + 1 && getComputedStyle(element).position !== "fixed")
            found.push(element.tagName.toLowerCase() + "." + element.className);
    return [`${document.documentElement.scrollWidth} pixels of ${width}`, ...found.slice(0, 3)];
}"""


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, without a log."""

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on this machine, and give its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


def watch(tab: Tab, found: list[str]) -> None:
    """Collect what goes wrong in a tab."""
    tab.on("console", lambda said: found.append(f"console: {said.text}") if said.type == "error" else None)
    tab.on("pageerror", lambda error: found.append(f"error: {error}"))
    tab.on("requestfailed", lambda request: None if left(request) else found.append(f"failed: {request.url}"))
    tab.on("response", lambda got: found.append(f"status {got.status}: {got.url}") if got.status >= 400 else None)


def left(request: Request) -> bool:
    """Return whether a request ended because its page was left."""
    return bool(request.failure and "ERR_ABORTED" in request.failure)


def check_pages(browser: Browser, site: Path, address: str, pictures: Path) -> Iterator[str]:
    """Yield what is wrong with pages."""
    names = [path.relative_to(site).with_suffix("").as_posix() for path in sorted(site.rglob("*.html"))]
    absent = [name for name in SHOWN if name not in names]
    if absent:
        yield f"not there: {', '.join(absent)}"
    for kind, (width, height) in SIZES.items():
        context = browser.new_context(viewport={"width": width, "height": height})
        tab, found = context.new_page(), list[str]()
        watch(tab, found)
        for name in names:
            for scheme in SCHEMES:
                tab.emulate_media(color_scheme=scheme)
                if scheme == SCHEMES[0]:
                    tab.goto(f"{address}/{name}.html", wait_until="load")
                found += [f"too wide: {part}" for part in tab.evaluate(TOO_WIDE)]
                if name in SHOWN or name.startswith(("guides/", "coming_from/")):
                    target = pictures / f"{name.replace('/', '-')}-{kind}-{scheme}.png"
                    tab.screenshot(path=target, full_page=True)
            yield from (f"{name}, {kind}: {what}" for what in dict.fromkeys(found))
            found.clear()
        context.close()
    print(f"{len(names)} pages, at {len(SIZES)} sizes, in {' and '.join(SCHEMES)}")


def check_search(browser: Browser, address: str, pictures: Path) -> Iterator[str]:
    """Yield what is wrong with the search."""
    for kind, (width, height) in SIZES.items():
        tab, found = browser.new_page(viewport={"width": width, "height": height}), list[str]()
        watch(tab, found)
        tab.goto(f"{address}/search.html?q={SOUGHT}")
        results = tab.locator("#search-results li a")
        try:
            results.first.wait_for(timeout=20_000)
            tab.wait_for_function("() => !document.querySelector('#search-progress')?.textContent.includes('...')")
        except Exception as error:  # noqa: BLE001 - whatever it was, nothing was found
            yield f"search for {SOUGHT}, {kind}: {error}"
        words = results.all_inner_texts()
        if not any(SOUGHT in text for text in words):
            yield f"search for {SOUGHT}, {kind}: found {words}"
        tab.screenshot(path=pictures / f"search-results-{kind}.png")
        yield from (f"search, {kind}: {what}" for what in found)
        tab.close()


@contextmanager
def lab() -> Iterator[tuple[str, list[str]]]:
    """Run JupyterLab in a folder with the guides, and give its address and their names."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(SAMPLE, folder)
        names = [path.name for path in sorted(GUIDES.glob("*.ipynb"))]
        for name in names:
            shutil.copy(GUIDES / name, folder)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        settings = {
            "IdentityProvider.token": "",
            "ServerApp.root_dir": folder,
            "ServerApp.port": port,
            "ServerApp.open_browser": False,
            "ServerApp.allow_root": True,
        }
        config = Path(folder, ".CONFIG", "labconfig")
        config.mkdir(parents=True)
        quiet = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
        (config / "page_config.json").write_text(json.dumps(quiet))
        command = [sys.executable, "-m", "jupyterlab", *(f"--{key}={value}" for key, value in settings.items())]
        homes = {f"JUPYTER_{name}_DIR": f"{folder}/.{name}" for name in ("CONFIG", "DATA", "RUNTIME")}
        with open(Path(folder, ".log"), "w+b") as log:
            server = subprocess.Popen(command, env=os.environ | homes, stdout=log, stderr=log)
            try:
                await_port(port, server)
                yield f"http://127.0.0.1:{port}", names
            finally:
                server.terminate()
                server.wait()


def await_port(port: int, server: subprocess.Popen[bytes]) -> None:
    """Wait until a server listens.

    Raises
    ------
    RuntimeError
        If it ends, or does not within a minute.
    """
    for _ in range(600):
        if server.poll() is not None:
            break
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError("JupyterLab does not listen")


def check_lab(browser: Browser, pictures: Path) -> Iterator[str]:
    """Yield what is wrong with the guides in JupyterLab."""
    with lab() as (address, names):
        for name in names:
            tab, found = browser.new_page(viewport={"width": 1280, "height": 900}), list[str]()
            tab.on("pageerror", lambda error, found=found: found.append(f"error: {error}"))
            tab.goto(f"{address}/lab/tree/{name}?reset")
            try:
                tab.locator(".jp-NotebookPanel .jp-Cell").first.wait_for(timeout=60_000)
                tab.locator(".jp-OutputArea-output").first.wait_for(timeout=20_000)
                tab.wait_for_timeout(1000)
            except Exception as error:  # noqa: BLE001 - whatever it was, the notebook is not there
                yield f"{name} in JupyterLab: {error}"
            for sort in ("application/vnd.jupyter.stderr", "application/vnd.jupyter.error"):
                for text in tab.locator(f"[data-mime-type='{sort}']").all_inner_texts():
                    yield f"{name} in JupyterLab: {sort}: {text[:200]}"
            tab.screenshot(path=pictures / f"lab-{Path(name).stem}.png")
            yield from (f"{name} in JupyterLab: {what}" for what in found)
            tab.close()
        print(f"{len(names)} guides in JupyterLab")


def main() -> int:
    """Check all, print what is wrong, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("site", type=Path)
    parser.add_argument("pictures", type=Path)
    parser.add_argument("--lab", action="store_true", help="open the guides in JupyterLab, too")
    arguments = parser.parse_args()
    arguments.pictures.mkdir(parents=True, exist_ok=True)
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    n_found = 0
    with sync_playwright() as playwright, served(arguments.site) as address:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        steps = [
            check_pages(browser, arguments.site, address, arguments.pictures),
            check_search(browser, address, arguments.pictures),
            *([check_lab(browser, arguments.pictures)] if arguments.lab else []),
        ]
        for step in steps:
            for what in step:
                n_found += 1
                print(what, flush=True)
        browser.close()
    print(f"screenshots are in {arguments.pictures}")
    return 1 if n_found else 0


if __name__ == "__main__":
    sys.exit(main())
