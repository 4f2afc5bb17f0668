"""The index folder: files that never change, and numbered manifests that say which of them are the index. No pickle.

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

`files` changes the disk, `folder` opens what is there, `manifest` and `npy` are the two kinds of files; `reading`,
`writing`, `target` and `cleaning` are what they say.
"""

from longwave.storage_next.cleaning import Vacuumed
from longwave.storage_next.files import DISK, Files, Opened
from longwave.storage_next.manifest import FORMAT, FORMAT_VERSION, Commit, Entry, plain
from longwave.storage_next.reading import Report, State, history, is_index, read, verify
from longwave.storage_next.target import check_target
from longwave.storage_next.writing import Kept, Writer, vacuum, writer

__all__ = [
    "read",
    "writer",
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
