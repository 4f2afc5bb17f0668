"""`longwave compile`."""

from __future__ import annotations

from longwave.cli.application import app
from longwave.cli.screen import out
from longwave.errors import LongwaveError


@app.command("compile")
def compile_command() -> None:
    """Compile the inner loops now, before they are needed.

    Otherwise they are compiled when they are first used: the first build and the first search of a fresh installation
    take some ten seconds longer. Run this while the image of a container is made, or once after an installation. It
    takes about a minute. `NUMBA_CACHE_DIR` says where the code is kept.
    """
    from longwave.compiling import compile_loops
    from longwave.rows.compiled import kept_in

    folder = kept_in()
    if folder is None:
        raise LongwaveError(
            "compiled code cannot be kept: neither the folder of the package nor ~/.cache can be written to; set "
            "NUMBA_CACHE_DIR to a folder that can"
        )
    compile_loops()
    out.print(f"All loops are compiled, and kept in {folder}", highlight=False, soft_wrap=True)
