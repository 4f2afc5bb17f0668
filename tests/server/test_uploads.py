"""Collections of pictures: shown, and searched with pictures that clients send."""

import io
import shutil
import struct
import zlib
from urllib.parse import quote

import numpy as np
import pytest
from PIL import Image

import longwave as lw
from longwave.pictures import Gallery, build_index
from serving import running

AT = "/v1/collections/photos"
NAMES = ("china", "coins", "page", "astronaut", "moon")
pytestmark = pytest.mark.filterwarnings("ignore:.*pictures are left out")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, views):
    """Views of some pictures, one of them in a folder with a space."""
    place = tmp_path_factory.mktemp("uploads") / "photos"
    (place / "deep er").mkdir(parents=True)
    for path in views.iterdir():
        if path.name.split("-")[0] in NAMES:
            shutil.copy(path, place / ("deep er" if path.name == "moon-half.jpg" else "") / path.name)
    (place.parent / "secret.jpg").write_bytes((views / "china-whole.jpg").read_bytes())
    return place


@pytest.fixture(scope="module")
def photos(folder, lite0):
    path = folder.parent / "photos.longwave"
    build_index(folder, encoder=lite0, size=128, k=5, spectrum=lw.Exact(), progress=False).save(path)
    return path


@pytest.fixture(scope="module")
def gallery(photos):
    return Gallery(lw.Index.load(photos))


@pytest.fixture(scope="module")
def client(photos):
    with running(photos, writable=True, max_body=4 << 20) as own:
        yield own


def upload(client, data, media="image/jpeg"):
    return client.post(f"{AT}/pictures", content=data, headers={"Content-Type": media})


def test_a_picture_of_an_item(client, gallery):
    assert client.get("/v1/collections").json()["collections"][0]["pictures"] is True
    assert "pictures" not in dict(client.get(AT).json()["info"])  # where they lie is not told
    for own in ("china-whole.jpg", "deep er/moon-half.jpg"):
        answer = client.get(f"{AT}/pictures/{quote(own)}")
        assert answer.headers["content-type"] == "image/jpeg"
        assert answer.content == gallery.thumbnail(own)
        again = client.get(f"{AT}/pictures/{quote(own, safe='')}", headers={"If-None-Match": answer.headers["etag"]})
        assert again.status_code == 304
    small = client.get(f"{AT}/pictures/china-whole.jpg", params={"size": 64})
    assert max(Image.open(io.BytesIO(small.content)).size) == 64
    for size in ("0", "100000", "x"):
        assert client.get(f"{AT}/pictures/china-whole.jpg", params={"size": size}).status_code == 422


@pytest.mark.parametrize(
    "name",
    [
        "../secret.jpg",
        "..%2fsecret.jpg",
        "%2e%2e/secret.jpg",
        "deep er/../../secret.jpg",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "china-whole",
        "china-whole.jpg%00",
        "",
        "x" * 5000,
        "china-whole.jpg/",
        "%2e%2fchina-whole.jpg",
    ],
)
def test_only_the_pictures_of_items_are_read(client, name):
    answer = client.get(f"{AT}/pictures/{name}")
    assert answer.status_code in (404, 405)
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_picture_that_is_gone(folder, photos, lite0, tmp_path):
    other = tmp_path / "gone"
    shutil.copytree(folder, other)
    path = tmp_path / "gone.longwave"
    build_index(other, encoder=lite0, size=128, k=5, spectrum=lw.Exact(), progress=False).save(path)
    (other / "china-whole.jpg").unlink()
    (other / "coins-half.jpg").write_bytes(b"no picture")
    with running(path) as client:
        for own in ("china-whole.jpg", "coins-half.jpg"):
            answer = client.get(f"/v1/collections/gone/pictures/{own}")
            assert answer.status_code == 404
            assert str(tmp_path) not in answer.text


def test_search_with_an_upload_and_a_box(client, gallery, folder):
    data = (folder / "china-whole.jpg").read_bytes()
    answer = upload(client, data)
    assert answer.status_code == 200, answer.text
    sent = answer.json()
    assert (sent["width"], sent["height"]) == Image.open(io.BytesIO(data)).size
    box = [10, 20, 200, 180]
    for part in (None, box):
        asked = gallery.query(data, box=None if part is None else tuple(part))
        found = client.post(f"{AT}/compare", json={"query": {"upload": sent["upload"], "box": part}, "k": 5}).json()
        hits = gallery.index.search(asked.vectors, 5, query_groups=asked.query_of)
        assert found["manifold"]["ids"] == hits.ids[0].tolist()
        assert np.array_equal(np.float32(found["manifold"]["scores"]), hits.scores[0])
        near = gallery.index.search(asked.vectors, 5, query_groups=asked.query_of, solver=lw.Euclidean())
        assert found["nearest"]["ids"] == near.ids[0].tolist()
        wave = client.post(f"{AT}/wave", json={"query": {"upload": sent["upload"], "box": part}})
        assert len(wave.content) == 4 * len(gallery.index)
    why = client.post(f"{AT}/explain", json={"query": {"upload": sent["upload"]}, "id": "china-crop.jpg"}).json()
    assert why["path"][-1] == "china-crop.jpg"
    for wrong in ([0, 0, 10**6, 5], [5, 5, 5, 5], [0, 0, 2, 2], [1, 2, 3], "x"):
        answer = client.post(f"{AT}/compare", json={"query": {"upload": sent["upload"], "box": wrong}})
        assert answer.status_code == 422, wrong
    assert "upload the picture again" in client.post(f"{AT}/compare", json={"query": {"upload": "other"}}).text


def test_an_upload_becomes_an_item(client, gallery, views):
    sent = upload(client, (views / "horse-whole.jpg").read_bytes()).json()["upload"]
    answer = client.post(f"{AT}/items", json={"uploads": [sent], "ids": ["horse.jpg"]})
    assert answer.status_code == 200, answer.text
    found = client.post(f"{AT}/compare", json={"query": {"upload": sent}, "k": 1}).json()
    assert found["manifold"]["ids"] == ["horse.jpg"]
    assert client.get(f"{AT}/pictures/horse.jpg").status_code == 404  # its file is not in the folder
    assert client.request("DELETE", f"{AT}/items", json={"ids": ["horse.jpg"]}).status_code == 200


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_bomb(side):
    """A PNG of a few bytes that announces very many pixels."""
    head = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(bytes(10**6), 9))
        + chunk(b"IEND", b"")
    )


def zip_bomb():
    import zipfile

    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("a.jpg", bytes(20 << 20))
    return file.getvalue()


@pytest.mark.parametrize(
    ("make", "status"),
    [
        (lambda: b"", 422),
        (lambda: b"no picture", 422),
        (lambda: png_bomb(60_000), 422),
        (lambda: png_bomb(20_000), 422),
        (zip_bomb, 422),
        (lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", 422),  # Pillow would start another program
        (lambda: bytes(5 << 20), 413),
    ],
)
def test_uploads_that_are_refused(client, make, status):
    answer = upload(client, make())
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_uploads_must_be_called_pictures(client, folder):
    data = (folder / "china-whole.jpg").read_bytes()
    for media in ("application/octet-stream", "text/plain", "multipart/form-data", "application/json"):
        assert upload(client, data, media).status_code == 415
    assert upload(client, data, "image/webp").status_code == 200  # what it is, is looked at


def test_collections_of_vectors_take_no_pictures(served, folder):
    data = (folder / "china-whole.jpg").read_bytes()
    answer = served.post("/v1/collections/digits/pictures", content=data, headers={"Content-Type": "image/jpeg"})
    assert answer.status_code == 422
    assert served.get("/v1/collections/digits/pictures/3").status_code == 404
    assert "cannot be drawn" not in served.get("/v1/collections/digits/drawing/3").text
