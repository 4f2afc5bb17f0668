"""Build what is published, and try it where nothing else is installed.

    python -m handbook.release              wheel and sdist in dist/, tried with every Python that is found
    python -m handbook.release --tagged     also: this commit has the tag vVERSION, and CHANGELOG.md a dated section

The version is written once, in src/longwave/__init__.py. Nothing is uploaded.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def version() -> str:
    """The version that is written in the package."""
    return re.search(r'__version__ = "(.+)"', (ROOT / "src/longwave/__init__.py").read_text("utf-8"))[1]


def check_tag() -> None:
    """Stop unless this commit is tagged as its version, and the changelog has that version with a date."""
    own = version()
    tags = subprocess.run(["git", "tag", "--points-at", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    if f"v{own}" not in tags.stdout.split():
        sys.exit(f"the package says {own}, but this commit has no tag v{own}: git tag v{own}")
    if not re.search(
        rf"^## \[{re.escape(own)}\] - \d{{4}}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M
    ):
        sys.exit(f"CHANGELOG.md has no dated section: ## [{own}] - YYYY-MM-DD")


def build(target: Path) -> list[Path]:
    """Wheel and sdist into a folder, the wheel made from the sdist."""
    subprocess.run([sys.executable, "-m", "build", "--outdir", str(target), str(ROOT)], check=True, capture_output=True)
    return sorted(target.glob(f"longwave-{version()}*"))


def interpreters() -> dict[str, str]:
    """Supported versions of Python that can be started here, and how."""
    own = {".".join(map(str, sys.version_info[:2])): sys.executable}
    return {name: command for name in PYTHONS if (command := own.get(name) or _command(name))}


def _command(name: str) -> str | None:
    """One that can make environments: on the path, or kept by pyenv, whose commands do not work in every folder."""
    kept = sorted((Path.home() / ".pyenv" / "versions").glob(f"{name}.*/bin/python"))
    for command in filter(None, [shutil.which(f"python{name}"), *map(str, kept)]):
        if subprocess.run([command, "-c", "import venv"], capture_output=True, check=False).returncode == 0:
            return command
    return None


def smoke(python: str, package: Path) -> str:
    """Install a package into an empty environment, and use it; what it says."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", f"{folder}/venv"], check=True)
        own = f"{folder}/venv/bin/python"
        subprocess.run([own, "-m", "pip", "install", "--quiet", str(package)], check=True, stderr=subprocess.DEVNULL)
        Path(f"{folder}/empty").mkdir()
        command = [own, "-I", str(ROOT / "handbook" / "smoke.py"), f"{folder}/empty"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{package.name} with {python}:\n{done.stdout}{done.stderr}")
        return done.stdout.strip()


def main(tagged: bool) -> None:
    if tagged:
        check_tag()
    target = ROOT / "dist"
    shutil.rmtree(target, ignore_errors=True)
    packages = build(target)
    print("built", *(package.name for package in packages))
    found = interpreters()
    for name in PYTHONS:
        print(smoke(found[name], packages[0]) if name in found else f"Python {name}: not here", flush=True)
    print(smoke(sys.executable, packages[1]), "(from the sdist)")


if __name__ == "__main__":
    main("--tagged" in sys.argv)
