"""What a collection asks of the index folder."""

from longwave.storage import (
    DISK,
    Commit,
    Entry,
    Files,
    Kept,
    State,
    Vacuumed,
    Writer,
    check_target,
    history,
    read,
    writer,
)

__all__ = [
    "DISK", "Commit", "Entry", "Files", "Kept", "State", "Vacuumed", "Writer",
    "check_target", "history", "read", "writer",
]  # fmt: skip
