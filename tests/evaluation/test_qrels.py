"""Known answers as TREC writes them."""

import numpy as np
import pytest

from longwave.errors import FileError, InputError
from longwave.evaluation import judgements_from_file

IDS = np.arange(20)
NAMES = np.array([f"news/{i}.txt" for i in range(20)])


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "qrels"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_grades_and_what_is_not_right(write):
    path = write("\ufeff301 0 3 2\n301\t0\t17\t1\n\n301 Q0 5 0\n302 0 4 -2\n301 0 99 0\n301 0 3 2\n")
    first, second = judgements_from_file(path, IDS)
    assert first.positive == [3, 17]
    assert first.grades == {3: 2, 17: 1}
    assert not first.junk
    assert second.positive == []


def test_queries_by_number_and_by_name(write):
    path = write("10 0 1 1\n9 0 2 1\n")
    assert [own.positive for own in judgements_from_file(path, IDS, count=2)] == [[2], [1]]  # 9 comes before 10
    named = judgements_from_file(path, IDS, names=["11", 10, "9"])
    assert [own.positive for own in named] == [[], [1], [2]]
    some = judgements_from_file(write("a 0 1 1\nb 0 2 1\n"), IDS, names=["b"])
    assert [own.positive for own in some] == [[2]]  # the file may have more queries than are asked


def test_items_by_name(write):
    (found,) = judgements_from_file(write("1 0 news/3.txt 1\n1 0 7 1\n"), NAMES)
    assert found.positive == ["news/3.txt", "news/7.txt"]


@pytest.mark.parametrize(
    ("text", "options", "kind", "words"),
    [
        ("", {}, FileError, "is empty; give lines of a qrels file"),
        ("301 0 3 1\n301 0 3\n", {}, FileError, r"line 2 \('301 0 3'\) has 3 words; .*QUERY 0 ITEM GRADE"),
        ("301 0 3 yes\n", {}, FileError, "line 1 .* has the grade 'yes'; .*with a whole number"),
        (b"1 0 \xff 1\n", {}, FileError, "line 1 is not text in UTF-8"),
        ("1 0 3 1\n1 0 3 2\n", {}, FileError, "line 2 gives item '3' of query '1' another grade"),
        ("1 0 3 1\n1 0 77 1\n", {}, InputError, "line 2 names item '77', which the index does not have .*leave out"),
        ("1 0 x 1\n", {}, InputError, "line 1 names item 'x'"),
        ("1 0 3 1\n", {"count": 2}, InputError, "has 1 query, for 2 that are asked .*--query-ids F"),
        ("a 0 3 1\n", {"count": 1}, InputError, "1 query by name .*say which query each row asks"),
        ("a 0 3 1\n", {"names": ["b"]}, InputError, "none of the query ids: they look like 'b', .* like 'a'"),
        ("a 0 3 1\n", {"names": ["a", "a"]}, InputError, "query ids must be distinct"),
    ],
)
def test_what_can_be_wrong(write, text, options, kind, words):
    with pytest.raises(kind, match=words):
        judgements_from_file(write(text), IDS, **options)
