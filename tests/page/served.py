"""What the page is shown with: a `longwave serve` process, a browser, small collections."""

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
HOW = "no Chromium: run `make browser`, or install the Debian package chromium"


class Server:
    """`longwave serve` as a process of its own; it can be stopped, and started again at the same address."""

    def __init__(self, *folders, **environment):
        self.folders, self.environment = [str(folder) for folder in folders], environment
        self.port, self.process = 0, None

    def start(self):
        command = [sys.executable, "-m", "longwave", "serve", *self.folders, "--port", str(self.port)]
        env = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"} | self.environment
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)
        line = self.process.stdout.readline()
        assert line.startswith("http"), "the server said nothing of its address"
        self.address = line.split()[0]
        self.port = int(self.address.rstrip("/").rsplit(":", 1)[1])
        return self

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
        self.process.stdout.close()


@contextmanager
def chromium():
    """A browser without a window, or None where there is none."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        yield None
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        own = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield own
        own.close()


def build_digits(folder, count=None):
    """Handwritten digits with labels and two more columns, drawn from their vectors."""
    import longwave as lw

    data = lw.datasets.digits()
    vectors, labels = data.vectors[:count], data.labels[:count].tolist()
    index = lw.Index.build(vectors, progress=False)
    about = {"label": labels, "ink": vectors.sum(axis=1).astype(int).tolist(), "even": [own % 2 == 0 for own in labels]}
    index = index.with_metadata(about).attach({"draw": {"kind": "digits", "width": 8, "height": 8}})
    index.save(folder)
    return folder
