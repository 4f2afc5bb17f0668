"""Plug-ins as a user would write them: test_plugins.py imports them, pytest does not."""

collect_ignore_glob = ["*.py"]
