"""Docstrings as Markdown: examples become code, equations stay as they are."""

import re

from griffe import Extension

# An example: lines from `>>>` to the next empty line.
_EXAMPLE = re.compile(r"^(>>> .*(?:\n.+)*)", re.MULTILINE)
# What announces an indented block; Markdown needs only the indentation.
_COLONS = re.compile(r"^::\n", re.MULTILINE)


class Examples(Extension):
    """Puts the examples of docstrings into code blocks, which Markdown would take for quotations."""

    def on_instance(self, *, obj, **_):
        """Rewrite one docstring."""
        if obj.docstring:
            text = _COLONS.sub("", obj.docstring.value)
            obj.docstring.value = _EXAMPLE.sub(r"```pycon\n\1\n```", text)
