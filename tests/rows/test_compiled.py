"""What the compiled loops say of themselves."""

import logging

import numba

from longwave.rows import compiled


def test_compiling_is_told_once_and_only_ours(caplog, monkeypatch):
    def ours(x):
        return x + 1

    def theirs(x):
        return x + 2

    ours.__module__ = compiled.__name__
    monkeypatch.setattr(compiled._telling, "told", False)
    with caplog.at_level(logging.INFO, "longwave"):
        numba.njit(theirs)(1)
        assert not caplog.messages
        increase = numba.njit(ours)
        assert (increase(1), increase(1.5)) == (2, 2.5)  # compiled twice, told once
    assert [message.partition(":")[0] for message in caplog.messages] == ["compiling the inner loops"]
