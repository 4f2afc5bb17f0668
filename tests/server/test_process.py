"""`longwave serve` as a process of its own."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

from commands import instead_of, run
from longwave.cli.serving import serve
from longwave.errors import LongwaveError
from serving import TOKEN

AT = "/v1/collections/digits"


@pytest.fixture
def start(digits_folder):
    """Start `longwave serve`, read the address that it prints."""
    begun = []

    def make(*options, **environment):
        command = [sys.executable, "-m", "longwave", "serve", str(digits_folder), "--port", "0", *map(str, options)]
        env = {**os.environ, **environment}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
        begun.append(process)
        address = process.stdout.readline().split()[0]
        assert address.startswith("http://127.0.0.1:"), address
        return process, httpx.Client(base_url=address, timeout=60)

    yield make
    for process in begun:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_it_serves_and_ends_when_it_is_told(start, index, held_out_digits):
    process, client = start()
    with client:
        found = client.post(f"{AT}/search", json={"vectors": held_out_digits[:1].tolist()}).json()
        assert found["hits"][0]["ids"] == index.search(held_out_digits[:1]).ids[0].tolist()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) in (0, -signal.SIGTERM)
    assert process.stderr.read() == ""


def test_what_it_took_is_answered_before_it_ends(start, held_out_digits):
    """Large batches on one thread are running and waiting when the signal comes."""
    process, client = start("--threads", 1, "--timeout", 300)
    rows = (held_out_digits.tolist() * 50)[:2000]
    answers = []

    def ask():
        answers.append(client.post(f"{AT}/search", json={"vectors": rows, "k": 50, "tolerance": 1e-4}, timeout=300))

    with client:
        client.get("/healthz")
        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        while "longwave_busy_threads 1.0" not in client.get("/metrics").text:
            time.sleep(0.01)
        while "longwave_queue_requests 2.0" not in client.get("/metrics").text and not answers:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join()
    assert [answer.status_code for answer in answers] == [200] * 3
    assert all(len(answer.json()["hits"]) == 2000 for answer in answers)
    assert process.wait(30) in (0, -signal.SIGTERM)


def test_the_token_from_the_environment_a_file_and_an_option(start, tmp_path):
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")
    for options, environment in (
        ([], {"LONGWAVE_TOKEN": TOKEN}),
        (["--token-file", file], {"LONGWAVE_TOKEN": "another one 123456"}),
        (["--token", TOKEN], {}),
    ):
        _, client = start(*options, **environment)
        with client:
            assert client.get(AT).status_code == 401
            assert client.get(AT, headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"host": "0.0.0.0"}, "give a token"),
        ({"token_file": "empty"}, "is empty"),
        ({"token_file": "none"}, "cannot read the token"),
        ({"token": TOKEN, "token_file": "empty"}, "not both"),
        ({"collections": ["."]}, "index"),
        ({"labels": "kind"}, "no column 'kind'"),
        ({"port": 99_999}, "65,535"),
        ({"max_body": "lots"}, "such as 20G"),
    ],
)
def test_what_it_refuses_to_begin_with(digits_folder, tmp_path, monkeypatch, options, told):
    monkeypatch.chdir(tmp_path)
    Path("empty").write_text("")
    given = {name: Path(value) if name == "token_file" else value for name, value in options.items()}
    with pytest.raises(LongwaveError, match=told):
        serve(**{"collections": [digits_folder], **given})


def test_without_the_extra(digits_folder, tmp_path):
    hidden = instead_of("starlette", "raise ImportError('no starlette')", tmp_path)
    code, _, err = run("serve", digits_folder, **hidden)
    assert code == 1
    assert err == "longwave: longwave serve needs the extra 'serve'. Install it with: pip install 'longwave[serve]'\n"


def test_a_port_that_is_taken(digits_folder):
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, _, err = run("serve", digits_folder, "--port", port)
    assert code == 1
    assert err == f"longwave: cannot listen on 127.0.0.1, port {port}: Address already in use; choose another --port\n"
