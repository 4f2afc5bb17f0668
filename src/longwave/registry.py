"""Names for the parts that can be exchanged: filters, solvers, eigen-solvers, kernels, blends and stores.

    register("filter", "lowpass", LowPass)

From then on the text ``lowpass:0.9`` means ``LowPass(0.9)``: on the command line, and in the settings of an index. A
part of your own is one file that ends with such a line (docs/contributing.md).

What is registered is a frozen dataclass, whose fields are the numbers after the colon, or a plain function, which has
none. The module with the line must be imported before the name is used. An installed package is imported by itself
if it names the module as an entry point of the group "longwave".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import Field, fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any, TypeAlias

from longwave.checks import number_text
from longwave.errors import InputError

#: What a name stands for: a class that makes values, or a function that is one.
Part: TypeAlias = Callable[..., Any]
# Name to part, for every kind of part. "spectrum" is an eigen-solver, as in --spectrum.
_TABLES: dict[str, dict[str, Part]] = {
    kind: {} for kind in ("filter", "solver", "spectrum", "kernel", "blend", "store")
}
# Words that mean something else where a name is read.
_RESERVED = ("none", "own")


def register(kind: str, name: str, part: Part) -> None:
    """Give a part its name. kind: "filter", "solver", "spectrum" (an eigen-solver), "kernel", "blend" or "store".

    A name is given once; only the same definition, run again as in a notebook, replaces itself.
    """
    known = _table(kind).get(name, part)
    if not re.fullmatch(r"[a-z][a-z0-9_-]*", name) or name in _RESERVED:
        raise InputError(
            f"a {kind} cannot be named '{name}'; use lower-case letters, digits, - and _, not none and not own"
        )
    if not callable(part):
        raise InputError(f"{kind} '{name}' must be a class or a function, got {part!r}")
    if _origin(known) != _origin(part):
        raise InputError(f"the {kind} '{name}' is already {_origin(known)}; choose another name for {_origin(part)}")
    _table(kind)[name] = part


def names(kind: str) -> list[str]:
    """All names of a kind, in the order of registration."""
    return list(_table(kind))


def find(kind: str, name: str, *, also: Sequence[str] = ()) -> Part:
    """The class or function of this name. also: names that the caller reads itself, for the error."""
    part = _look_up(kind, name)
    if part is None:
        raise _unknown(kind, name, [*names(kind), *also])
    return part


def parse(kind: str, text: str, *, also: Sequence[str] = (), **options: Any) -> Any:
    """The value that a text such as ``lowpass:0.9`` means. options: further fields, by name. also: as for `find`."""
    name, colon, rest = text.partition(":")
    part = _look_up(kind, name)
    if part is None:
        raise _unknown(kind, text, [*(_form(n, p) for n, p in _table(kind).items()), *also])
    try:
        given = _values(part, rest.split(",") if colon else [])
        return part(*given, **options) if isinstance(part, type) else part
    except InputError:
        raise
    except (TypeError, ValueError) as error:
        raise InputError(f"{kind} '{text}' must look like {_form(name, part)}, with numbers") from error


def text_of(kind: str, value: Any) -> str | None:
    """The text that `parse` reads as this value; None if its class or function has no name."""
    for name, part in _table(kind).items():
        if value is part:
            return name
        if type(value) is part:
            held = [getattr(value, field.name) for field in parameters(part)]
            try:
                numbers = [n for entry in held for n in (entry if isinstance(entry, tuple) else [entry])]
                text = ":".join([name, ",".join(map(number_text, numbers))][: 1 + bool(held)])
                if parse(kind, text) == value:
                    return text
            except (TypeError, ValueError):
                pass
            raise InputError(f"{value!r} cannot be written as text: the fields of a {kind} with a name are numbers")
    return None


def parameters(part: Part) -> list[Field[Any]]:
    """The fields that a text can set, in their order."""
    return [field for field in fields(part) if field.init] if isinstance(part, type) and is_dataclass(part) else []


def _table(kind: str) -> dict[str, Part]:
    if kind not in _TABLES:
        raise InputError(f"there is no kind '{kind}'; a part is one of {', '.join(_TABLES)}")
    return _TABLES[kind]


def _look_up(kind: str, name: str) -> Part | None:
    if name not in _table(kind):
        _import_installed()
    return _table(kind).get(name)


def _values(part: Part, texts: list[str]) -> list[Any]:
    """Numbers for the fields; a last field that is a Sequence takes all that are left."""
    numbers, wanted = [float(text) for text in texts], parameters(part)
    rest: list[Any] = []
    if wanted and _type(wanted[-1]) == "Sequence" and len(numbers) >= len(wanted):
        numbers, rest = numbers[: len(wanted) - 1], [tuple(numbers[len(wanted) - 1 :])]
    typed = zip(numbers, wanted[: len(numbers)], strict=True)  # a ValueError where there are too many
    return [int(n) if _type(field) == "int" and n.is_integer() else n for n, field in typed] + rest


def _type(field: Field[Any]) -> str:
    """The first word of a field's type, which is a class or its name: int of ``int | None``."""
    return re.split(r"\W", getattr(field.type, "__name__", str(field.type)))[0]


def _form(name: str, part: Part) -> str:
    """How its text looks: walk:ALPHA,STEPS."""
    words = [field.name.upper() + ",..." * (_type(field) == "Sequence") for field in parameters(part)]
    return f"{name}:{','.join(words)}" if words else name


def _origin(part: Part) -> str:
    return f"{part.__module__}.{getattr(part, '__qualname__', repr(part))}"


def _unknown(kind: str, text: str, choices: list[str]) -> InputError:
    near = get_close_matches(text.partition(":")[0], [choice.partition(":")[0] for choice in choices], 1, 0.5)
    hint = f", did you mean {near[0]}?" if near else ";"
    return InputError(
        f"unknown {kind} '{text}'{hint} {kind} must be one of {', '.join(choices)}; "
        "if a plug-in has that name, import the module that registers it first"
    )


@cache
def _import_installed() -> None:
    """Import what installed packages declare for Longwave: once, when a name is not known."""
    from importlib.metadata import entry_points

    for entry in entry_points(group="longwave"):
        try:
            entry.load()
        except ImportError as error:
            raise InputError(f"the plug-in {entry.name} ({entry.value}) cannot be imported: {error}") from error
