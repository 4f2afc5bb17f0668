"""Who may ask, and what every answer carries."""

import pytest

from longwave.errors import InputError
from longwave.server import Options
from serving import TOKEN, running

AT = "/v1/collections/digits"
OUTSIDE = [
    "/static/../secret.txt",
    "/static/%2e%2e/secret.txt",
    "/static/..%2fsecret.txt",
    "/static//etc/passwd",
    "/static/%2fetc/passwd",
    "/static/link.txt",
    "/static/..\\secret.txt",
    "/static/",
    "/static/%00",
]


@pytest.fixture(scope="module")
def guarded(digits_folder):
    with running(
        digits_folder, token=TOKEN, allow_hosts=("search.example.org",), cors=("https://page.example",)
    ) as client:
        yield client


def test_a_token_is_needed_for_all_but_the_page_and_the_probes(guarded):
    assert guarded.get(AT).status_code == 200
    for header in (
        "",
        "Bearer wrong",
        f"Basic {TOKEN}",
        TOKEN,
        f"Bearer {TOKEN}x",
        "Bearer",
        "Bearer ü".encode("latin-1"),
    ):
        for path in (AT, "/v1/collections", "/metrics", "/openapi.json", f"{AT}/map", "/nowhere"):
            answer = guarded.get(path, headers={"Authorization": header})
            assert answer.status_code == 401, (path, header)
            assert answer.headers["www-authenticate"] == "Bearer"
            assert answer.headers["content-type"] == "application/problem+json"
    for path in ("/healthz", "/readyz"):
        assert guarded.get(path, headers={"Authorization": ""}).status_code == 200
    assert guarded.get("/", headers={"Authorization": ""}).status_code in (200, 404)
    assert guarded.get(AT, headers={"Authorization": f"bearer {TOKEN}"}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "localhost:99",
        "[::1]:8808",
        "10.1.2.3:80",
        "search.example.org",
        "SEARCH.example.org.:80",
    ],
)
def test_names_that_are_known(guarded, host):
    assert guarded.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "search.example.org.evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "evil.example:8808",
        "[",
        "a@localhost:b",
        "",
    ],
)
def test_names_that_are_not(guarded, host):
    answer = guarded.get("/healthz", headers={"Host": host})
    assert answer.status_code in (400, 421)  # 400: uvicorn does not take it for a name
    if answer.status_code == 421:
        assert "--allow-host" in answer.json()["detail"]


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost.evil.example"]
)
def test_pages_of_other_origins_may_not_ask(served, origin):
    for method, path in (("GET", AT), ("POST", f"{AT}/refresh"), ("DELETE", f"{AT}/items")):
        answer = served.request(method, path, headers={"Origin": origin})
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers
    asked = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }
    answer = served.options(f"{AT}/search", headers=asked)
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


def test_the_own_page_may_ask(served):
    assert served.get(AT, headers={"Origin": served.url}).status_code == 200
    assert served.get(AT, headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200


def test_a_body_that_a_form_of_another_page_could_send_is_refused(served):
    for media in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        answer = served.post(f"{AT}/search", content=b'{"vectors": [[1]]}', headers={"Content-Type": media})
        assert answer.status_code == 415


def test_origins_that_were_allowed(guarded):
    page = {"Origin": "https://page.example"}
    answer = guarded.get(AT, headers=page)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "https://page.example"
    before = {
        **page,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type",
    }
    answer = guarded.options(f"{AT}/search", headers={"Authorization": "", **before})
    assert answer.status_code == 200
    assert "POST" in answer.headers["access-control-allow-methods"]
    assert guarded.get(AT, headers={"Authorization": "", **page}).status_code == 401
    assert guarded.get(AT, headers={"Origin": "https://other.example"}).status_code == 403


def test_every_answer_is_guarded(served):
    for path in ("/", AT, f"{AT}/map", "/nowhere", f"{AT}/drawing/3"):
        headers = served.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in headers


def test_the_page_is_served_and_nothing_beside_it(digits_folder, tmp_path, monkeypatch):
    page = tmp_path / "page"
    page.mkdir()
    (page / "index.html").write_text("<title>here</title>")
    (page / "page.js").write_text("1")
    (tmp_path / "secret.txt").write_text("secret")
    (page / "link.txt").symlink_to(tmp_path / "secret.txt")
    monkeypatch.setattr("longwave.server.asgi.PAGE", page)
    with running(digits_folder) as client:
        answer = client.get("/")
        assert answer.text == "<title>here</title>"
        assert answer.headers["content-type"].startswith("text/html")
        assert client.get("/static/page.js").headers["content-type"].startswith("text/javascript")
        for path in OUTSIDE:
            answer = client.request("GET", client.url + path)
            assert answer.status_code == 404, path
            assert "secret" not in answer.text


def test_addresses_that_others_reach_need_a_token():
    for host in ("0.0.0.0", "::", "192.168.1.5", "example.org"):
        with pytest.raises(InputError, match="give a token"):
            Options(host=host)
        Options(host=host, token=TOKEN)
    for host in ("127.0.0.1", "127.0.0.2", "::1", "localhost"):
        Options(host=host)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"token": "short"}, "16"),
        ({"token": "x" * 16 + "\n"}, "16"),
        ({"port": 70_000}, "65,535"),
        ({"threads": 0}, "threads"),
        ({"queue": 0}, "queue"),
        ({"batch": 0}, "batch"),
        ({"timeout": 0}, "timeout"),
        ({"max_body": 1}, "max_body"),
    ],
)
def test_options_that_are_wrong(wrong, told):
    with pytest.raises(InputError, match=told):
        Options(**wrong)


def test_the_token_is_not_shown():
    assert TOKEN not in repr(Options(token=TOKEN))
