"""What Longwave keeps on disk: the index folder, and what a long build has finished so far.

An index folder is files that never change, and numbered manifests that say which of them are the index. No pickle.

::

    flowers.longwave/
        manifests/00000042.json     facts, parent, time, message; file, shape, type, size and checksum of every array;
                                    its own checksum
        data/vectors-1a2b….npy      opened as memory maps; those of up to a mebibyte are read at once
        lock                        held by the writer; its content says nothing

A commit adds files and one manifest, and changes nothing that is there. The newest whole manifest is the index. There
is never a moment without one: killed at any moment, a writer leaves the old state or the new one, and perhaps files
that no manifest names. There is one writer at a time, by a lock that the kernel frees when the writer's process ends,
however it ends; and should the lock not work, two writers still cannot both take a number. Readers change nothing.

Format versions 2 and 3, one `manifest.json` with the arrays beside it, are read as version number 0. The first commit
turns such a folder into one of version 4; the old files stay until a vacuum.

Of the folder: `disk` has the calls that change something, `opening` opens what is there, `manifest` and `array_file`
are the two kinds of files; `reading` and `writing` go by versions, `warming` reads ahead, `target` is where a folder
may stand, `cleaning` removes what no version needs, `saving` replaces all of an index. Of what is in it: `packing` and
`settings`. Of builds under way: `checkpoints`. Leans on `rows`, `stores`, `graph` and `spectrum`.
"""

from longwave.storage.cleaning import Vacuumed
from longwave.storage.disk import DISK, Files, Opened
from longwave.storage.manifest import FORMAT, FORMAT_VERSION, Commit, Entry, plain
from longwave.storage.reading import Report, State, history, is_index, read, verify
from longwave.storage.saving import save
from longwave.storage.target import check_target
from longwave.storage.writing import Kept, Writer, vacuum, writer

__all__ = [
    "read",
    "writer",
    "save",
    "vacuum",
    "verify",
    "history",
    "is_index",
    "check_target",
    "plain",
    "State",
    "Commit",
    "Entry",
    "Report",
    "Vacuumed",
    "Writer",
    "Kept",
    "Files",
    "Opened",
    "DISK",
    "FORMAT",
    "FORMAT_VERSION",
]
