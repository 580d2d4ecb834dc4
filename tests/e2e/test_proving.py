"""The tutorial of docs/prove.md from the demo to CI, as a person does it: commands, a browser, a keyboard.

`PICTURES=docs/pictures pytest tests/e2e/test_proving.py` writes the pictures of that page.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from e2e.conftest import Detail

from draftcritic.labels import read_labels
from draftcritic.replay import read_runs

pytestmark = pytest.mark.e2e
DRAFTCRITIC = Path(sys.executable).with_name("draftcritic")
NOW = "selective_gate = true\n"
NEW = NOW + 'fabrication = "refuse"\n'
MADE_UP = ("K-77315", "FREESHOES100")
"""Numbers that the demo's agent invents; whoever labels looks for them in the evidence and finds nothing."""
CASE = {
    "name": "no invented order",
    "draft": "Your order number is ZX-99817.",
    "messages": [{"role": "user", "content": "Where is it?"}],
    "expect": {"gate": "fired", "findings": ["reference"]},
}
TEST = 'def test_policy(draftcritic_check):\n    draftcritic_check("cases.jsonl", config="new.toml")\n'
LARGE = "1200,900"


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "DRAFTCRITIC_"))}
    return subprocess.run(
        [str(DRAFTCRITIC), *arguments],
        cwd=folder,
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@contextmanager
def chromium() -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver")
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", f"window-size={LARGE}"):
        options.add_argument(f"--{argument}")
    chrome = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        yield chrome
    finally:
        chrome.quit()


@contextmanager
def label_page(folder: Path) -> Iterator[str]:
    command = [str(DRAFTCRITIC), "label", "runs.jsonl", "--n", "12", "--who", "ann"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, env=environment) as page:
        try:
            assert page.stdout is not None
            yield next(found[1] for line in page.stdout if (found := re.search(r"open (http://\S+)", line)))
        finally:
            page.terminate()


def label_all(chrome: Any, url: str) -> int:
    """Label every draft by keyboard, and return how many there were."""
    from selenium.webdriver.support.ui import WebDriverWait

    chrome.get(url)
    number = 0
    while not chrome.find_elements("id", "finished"):
        number += 1
        said = chrome.find_element("id", "draft").text
        if any(token in said for token in MADE_UP) and number > 1:
            picture(chrome, "label.png")
        chrome.find_element("css selector", "body").send_keys("x" if any(token in said for token in MADE_UP) else "a")
        WebDriverWait(chrome, 20, ignored_exceptions=(Exception,)).until(
            lambda _, number=number: chrome.find_element("id", "progress").text.startswith(f"{number} of ")
        )
    return number


def picture(chrome: Any, name: str) -> None:
    if os.environ.get("PICTURES"):
        chrome.save_screenshot(str(Path(os.environ["PICTURES"]).resolve() / name))


def test_from_the_demo_to_ci(tmp_path: Path, detail: Detail) -> None:
    for name, content in (
        ("now.toml", NOW),
        ("new.toml", NEW),
        ("cases.jsonl", json.dumps(CASE)),
        ("test_ci.py", TEST),
    ):
        (tmp_path / name).write_text(content)
    capture = {
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
        "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
    }
    assert run(tmp_path, "demo", "--save", "demo.jsonl", **capture).returncode == 0
    options = ("--config", "new.toml", "--against", "now.toml")
    replayed = run(tmp_path, "replay", "demo.jsonl", *options, "--out", "runs.jsonl")
    assert replayed.returncode == 0, replayed.stderr
    runs = list(read_runs(tmp_path / "runs.jsonl"))
    assert len(runs) == 16
    assert not any(each.turn.missing for each in runs)
    assert run(tmp_path, "replay", "demo.jsonl", *options, "--out", "again.jsonl").returncode == 0
    assert (tmp_path / "runs.jsonl").read_bytes() == (tmp_path / "again.jsonl").read_bytes()
    with chromium() as chrome:
        with label_page(tmp_path) as url:
            count = label_all(chrome, url)
        labels = read_labels([tmp_path / "runs.jsonl.labels.jsonl"])
        assert len(labels.labels) == count
        bounds = ("--false-refuse", "0.03", "--miss", "0.02", "--report", "report.html")
        calibrated = run(tmp_path, "calibrate", "runs.jsonl", "runs.jsonl.labels.jsonl", *bounds)
        assert calibrated.returncode == 3, calibrated.stderr  # so few drafts cannot show these bounds
        assert "is not shown" in calibrated.stdout.splitlines()[0]
        chrome.get((tmp_path / "report.html").as_uri())
        picture(chrome, "calibration.png")
        assert "is not shown" in chrome.find_element("css selector", "body").text
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "test_ci.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert tested.returncode == 0, tested.stdout
    (tmp_path / "new.toml").write_text(NEW + 'never_flag = ["ZX-99817"]\n')
    failing = run(tmp_path, "check", "cases.jsonl", "--config", "new.toml")
    assert failing.returncode == 1
    assert "FAILED no invented order" in failing.stdout
    print(replayed.stdout, calibrated.stdout, tested.stdout, failing.stdout, sep="\n----\n")
    words = Counter(label.label for label in labels.labels.values())
    detail(f"{len(runs)} turns, labels {dict(words)}, first line: {calibrated.stdout.splitlines()[0]}")
