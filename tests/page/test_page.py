"""The page of `longwave serve`, used in a browser as people use it."""

import base64
import json
import re
from pathlib import Path

import pytest
from served import Server

pytest.importorskip("playwright", reason="no playwright: pip install 'longwave[test]'")
from playwright.sync_api import expect

expect.set_options(timeout=60_000)  # the first search and the first map compile their loops
QUERY = "#collection=digits&id=17"
STEPS = [step / 60 for step in range(6, 55)]  # across the map


def ids(page, column="manifold"):
    return page.locator(f"#{column} .hit").evaluate_all("all => all.map((own) => own.dataset.id)")


def opened(visit, address, **how):
    """A page that has drawn its first answer and its map."""
    page = visit(address, **how)
    expect(page.locator("#manifold .hit").first).to_be_attached()
    expect(page.locator("#map-note")).to_be_empty()
    return page


def asks(page, **wanted):
    """Waits until a comparison with these values, which begins inside, is answered."""

    def right(answer):
        if not (answer.url.endswith("/compare") and answer.ok):
            return False
        body = json.loads(answer.request.post_data)
        return all(body[name] == value for name, value in wanted.items())

    return page.expect_response(right)


def until(page, holds):
    """Waits for something that is true in the end. The page forbids `eval`, which Playwright's own waiting needs."""
    for _ in range(400):
        if holds():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it did not come")


def drawn(page, action, column="manifold"):
    """What an action changes of the hits."""
    before = ids(page, column)
    action()
    until(page, lambda: ids(page, column) != before)
    return before, ids(page, column)


def bright(page):
    """Pixels of the map that the wave has reached, by their green."""
    return page.evaluate(
        """async () => {
          await new Promise((done) => setTimeout(done, 100));
          await new Promise(requestAnimationFrame);
          const canvas = document.querySelector("#map-dots");
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          let count = 0;
          for (let i = 1; i < data.length; i += 4) count += data[i] > 110;
          return count;
        }"""
    )


# ---------------------------------------------------------------- searching


def test_first_visit_shows_a_random_item_and_one_sentence(server, visit):
    page = opened(visit, server.address)
    assert len(ids(page)) == len(ids(page, "nearest")) == 24
    expect(page.locator("#intro")).to_contain_text("nearest neighbours")
    page.wait_for_url(re.compile(r"id=\d+"))
    page.get_by_role("button", name="Got it").click()
    page.reload()
    expect(page.locator("#manifold .hit").first).to_be_visible()
    expect(page.locator("#intro")).to_be_hidden()


def test_a_click_asks_anew_and_back_returns(server, visit):
    page = opened(visit, server.address + QUERY)
    expect(page.locator("#back")).to_be_disabled()
    second = ids(page)[2]
    before, _ = drawn(page, lambda: page.locator("#manifold .hit").nth(2).locator(".hit-main").click())
    expect(page.locator(".query-name")).to_have_text(second)
    expect(page.locator("#trail button")).to_have_count(1)
    drawn(page, lambda: page.locator("#back").click())
    expect(page.locator(".query-name")).to_have_text("17")
    assert ids(page) == before
    expect(page.locator("#back")).to_be_disabled()


def test_an_overtaken_question_is_cancelled(server, visit):
    page = opened(visit, server.address + QUERY)
    held, given_up = [], []

    def failed(request):
        if request.url.endswith("/compare"):
            given_up.append(json.loads(request.post_data)["query"]["ids"])

    page.on("requestfailed", failed)

    def hold_the_first(route):
        if held:
            route.continue_()
        else:
            held.append(route)

    page.route("**/compare", hold_the_first)
    first, second = ids(page)[:2]
    page.locator(f'#manifold .hit[data-id="{first}"] .hit-main').click()
    until(page, lambda: held)
    drawn(page, lambda: page.locator(f'#manifold .hit[data-id="{second}"] .hit-main').click())
    assert given_up == [[int(first)]]
    expect(page.locator(".query-name")).to_have_text(second)


def test_search_by_id_proposes_and_refuses(server, visit):
    page = opened(visit, server.address + QUERY, expected=["422", "404"])
    field = page.get_by_role("combobox", name="Search by id")
    field.fill("59")
    expect(page.locator("#find-list").get_by_role("option").first).to_have_text("59")
    field.press("ArrowDown")
    field.press("Enter")
    expect(page.locator(".query-name")).to_have_text("59")
    field.fill("100000")
    field.press("Enter")
    expect(page.locator("#notice")).to_contain_text("100000")
    page.locator("#back").click()
    expect(page.locator("#notice")).to_be_hidden()


def test_an_unknown_name_leaves_the_query_and_says_so(server, visit):
    page = opened(visit, server.address + "#collection=pictures&id=moon-whole.jpg")
    before = ids(page)
    field = page.get_by_role("combobox", name="Search by id")
    field.fill("no such picture.jpg")
    field.press("Enter")
    expect(page.locator("#notice")).to_contain_text("There is no item called “no such picture.jpg”")
    expect(page.locator("#notice")).to_contain_text("still those of moon-whole.jpg")
    expect(page.locator(".query-name")).to_have_text("moon-whole.jpg")
    assert ids(page) == before
    field.fill("horse-whole.jpg")
    field.press("Enter")
    expect(page.locator(".query-name")).to_have_text("horse-whole.jpg")
    expect(page.locator("#notice")).to_be_hidden()


def test_hits_of_another_query_do_not_stay(server, visit):
    page = opened(visit, server.address + "#collection=pictures&id=moon-whole.jpg", expected=["422", "404"])
    assert bright(page) > 0
    page.evaluate("location.hash = 'collection=pictures&id=gone.jpg'")
    expect(page.locator(".hit")).to_have_count(0)
    expect(page.locator("#notice")).to_contain_text("There is no item called “gone.jpg” in this collection.")
    assert "index.ids" not in page.locator("#notice").inner_text()
    expect(page.locator("#trust")).to_be_empty()
    assert page.locator(".column-facts").all_inner_texts() == ["", ""]
    assert bright(page) == 0
    page.locator("#random").click()
    expect(page.locator("#manifold .hit").first).to_be_visible()
    expect(page.locator("#notice")).to_be_hidden()


def test_columns_are_linked_and_marked(server, visit):
    page = opened(visit, server.address + QUERY)
    near, along = ids(page, "nearest"), ids(page)
    both = next(own for own in along if own in near)
    page.locator(f'#manifold .hit[data-id="{both}"]').hover()
    expect(page.locator(f'#nearest .hit[data-id="{both}"]')).to_have_class(re.compile("lit"))
    for own in along:
        kind = page.locator(f'#manifold .hit[data-id="{own}"]').get_attribute("data-moved")
        assert (kind == "new") == (own not in near)
    shift = near.index(both) - along.index(both)
    text = page.locator(f'#manifold .hit[data-id="{both}"] .move').inner_text()
    assert text == ("=" if shift == 0 else f"{'↑' if shift > 0 else '↓'}{abs(shift)}")
    assert page.locator("#manifold .truth.right").count() > 0
    expect(page.locator("#manifold .column-facts")).to_contain_text("AP")


def test_alpha_moves_the_order_and_the_wave(server, visit):
    page = opened(visit, server.address + QUERY)
    expect(page.locator("#curve path")).to_be_attached()
    slider = page.get_by_role("slider", name="α")
    with asks(page, filter="lowpass:0"):
        slider.press("Home")
    expect(page.locator("#filter-sliders output")).to_have_text("0")
    page.wait_for_load_state("networkidle")
    near, little, curve = ids(page), bright(page), page.locator("#curve path").get_attribute("d")
    with asks(page, filter="lowpass:0.999"):
        slider.press("End")
    expect(page.locator("#filter-sliders output")).to_have_text("0.999")
    page.wait_for_load_state("networkidle")
    assert ids(page) != near
    assert bright(page) > 2 * little
    assert page.locator("#curve path").get_attribute("d") != curve


def test_other_filters_and_sliders(server, visit):
    page = opened(visit, server.address + QUERY)
    page.get_by_label("Kind of filter").select_option("heat")
    expect(page.get_by_role("slider", name="time")).to_be_visible()
    page.get_by_role("slider", name="Hits").fill("50")
    expect(page.locator("#more-sliders output").first).not_to_have_text("24")
    until(page, lambda: len(ids(page)) == int(page.locator("#more-sliders output").first.inner_text()))
    with asks(page, blend=0):
        page.get_by_role("slider", name="Blend").fill("0")
    with asks(page, blend=None):
        page.get_by_role("button", name="Blend: as the collection says").click()
    with asks(page, filter="walk:0.99,10"):
        page.get_by_label("Kind of filter").select_option("walk")
    with asks(page, filter="walk:0.99,100"):
        page.get_by_role("slider", name="steps").press("End")


def test_examples_for_and_against(server, visit):
    page = opened(visit, server.address + QUERY)
    first, second = ids(page)[:2]

    def press(name):
        page.locator("#manifold").get_by_role("button", name=name, exact=True).click(force=True)

    _, after = drawn(page, lambda: press(f"More like {first}"))
    assert first not in after
    _, after = drawn(page, lambda: press(f"Less like {second}"))
    assert second not in after
    expect(page.locator(".example.for")).to_have_count(2)
    expect(page.locator(".example.against")).to_have_count(1)
    drawn(page, lambda: page.get_by_role("button", name=f"Remove example {second}").click())
    expect(page.locator(".example.against")).to_have_count(0)


def test_why_tells_the_way(server, visit):
    page = opened(visit, server.address + QUERY)
    wanted = ids(page)[-1]
    page.locator(f'#manifold .hit[data-id="{wanted}"] .ask-why').click(force=True)
    panel = page.get_by_role("dialog", name=f"Why {wanted}?")
    expect(panel.locator(".way .mini").last).to_have_attribute("data-id", wanted)
    assert panel.locator(".bars li").count() >= 3
    assert panel.locator(".graph circle").count() > 10
    widths = panel.locator(".bar").evaluate_all("all => all.map((own) => own.getBoundingClientRect().width)")
    assert widths == sorted(widths, reverse=True)
    with page.expect_response(re.compile("/explain")):
        page.get_by_role("slider", name="α").fill("20")
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()


# ---------------------------------------------------------------- filters, the map, the address


def test_metadata_makes_a_condition(server, visit):
    page = opened(visit, server.address + QUERY)
    page.get_by_label("Column").select_option("label")
    page.get_by_label("Value").fill("seven")
    page.get_by_role("button", name="Add").click()
    expect(page.locator("#where-note")).to_contain_text("not a number")
    page.get_by_label("Value").fill("3")
    drawn(page, lambda: page.get_by_role("button", name="Add").click())
    expect(page.locator(".chip")).to_have_text(re.compile("label = 3"))
    page.get_by_role("checkbox", name="label").check()
    values = page.locator("#manifold .hit .facts span:not(.term):not(:has(*))")
    expect(values).to_have_count(24)
    assert set(values.all_inner_texts()) == {"3"}
    drawn(page, lambda: page.get_by_role("button", name="Remove: label = 3").click())
    expect(page.locator(".chip")).to_have_count(0)


def test_what_is_drawn_on_the_map_is_searched_alone(server, visit):
    page = opened(visit, server.address + QUERY)
    page.locator('[data-mode-button="lasso"]').click()
    box = page.locator("#map-stage").bounding_box()
    left, top = box["x"], box["y"]

    def lasso(first, last):
        page.mouse.move(left + first * box["width"], top + 0.02 * box["height"])
        page.mouse.down()
        for x, y in ((last, 0.02), (last, 0.98), (first, 0.98)):
            page.mouse.move(left + x * box["width"], top + y * box["height"], steps=4)
        page.mouse.up()

    before = ids(page)
    with asks(page):
        lasso(0.02, 0.55)
    page.wait_for_timeout(300)  # the answer is shown
    if ids(page) == before:  # which side a hit is on depends on the processor: all are on the left
        drawn(page, lambda: lasso(0.55, 0.98))
    expect(page.locator(".chip")).to_contain_text("on the map")
    count = int(page.locator(".chip").inner_text().split()[0].replace(",", ""))
    assert 0 < count < 600
    page.wait_for_url(re.compile("area="))
    restored = opened(visit, page.url)
    expect(restored.locator(".chip")).to_have_text(page.locator(".chip").text_content())
    assert ids(restored) == ids(page)


def test_the_map_is_hovered_zoomed_and_clicked(server, visit):
    page = opened(visit, server.address + QUERY + "&view=map")
    stage = page.locator("#map-stage")
    stage.focus()
    for key in ("+", "+", "ArrowLeft", "ArrowUp"):
        stage.press(key)
    page.wait_for_timeout(600)  # the live region speaks when things have come to rest
    expect(page.locator("#live")).to_contain_text("In the middle")
    middle = page.locator("#live").inner_text().split(": ")[1]
    stage.press("Enter")
    expect(page.locator(".query-name")).to_have_text(middle)
    stage.press("0")
    box, tip = stage.bounding_box(), page.locator("#map-tip")
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for y in (0.5, 0.4, 0.6) for x in STEPS]
    for place in places:
        page.mouse.move(*place)
        if tip.is_visible():
            break
    wanted = tip.locator(".name").inner_text()
    page.mouse.down()
    page.mouse.up()
    expect(page.locator(".query-name")).to_have_text(wanted)


def test_the_address_is_the_whole_state(server, visit):
    page = opened(visit, server.address + QUERY)
    page.get_by_label("Kind of filter").select_option("ideal")
    drawn(page, lambda: page.get_by_role("slider", name="Hits").fill("60"))
    page.get_by_label("Column").select_option("even")
    page.get_by_label("Value").fill("true")
    drawn(page, lambda: page.get_by_role("button", name="Add").click())
    page.wait_for_url(re.compile("where="))
    page.wait_for_load_state("networkidle")
    other = opened(visit, page.url)
    assert ids(other) == ids(page)
    assert ids(other, "nearest") == ids(page, "nearest")
    assert other.get_by_label("Kind of filter").input_value() == "ideal"
    expect(other.locator(".chip")).to_have_text(re.compile("even = true"))


def test_hits_are_saved(server, visit, tmp_path):
    page = opened(visit, server.address + QUERY)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save hits as CSV").click()
    lines = saved.value.path().read_text("utf-8").splitlines()
    assert lines[0] == "search,rank,id,score,relevant"
    assert [line.split(",")[2] for line in lines[1:]] == ids(page, "nearest") + ids(page)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save hits as JSON").click()
    told = json.loads(saved.value.path().read_text("utf-8"))
    assert told["question"]["query"] == {"ids": [17]}
    assert [str(hit["id"]) for hit in told["hits"][24:]] == ids(page)


# ---------------------------------------------------------------- pictures


def test_a_picture_is_asked_with_and_a_box_of_it(server, visit, sample_pictures):
    page = opened(visit, server.address + "#collection=pictures&id=moon-whole.jpg")
    drawn(page, lambda: page.locator("#picture-file").set_input_files(sample_pictures["motorcycle_left"]))
    expect(page.locator(".query-name")).to_have_text("Your picture")
    assert ids(page)[0].startswith("motorcycle")
    frame = page.locator(".query-frame").bounding_box()

    def box():
        page.mouse.move(frame["x"] + 0.1 * frame["width"], frame["y"] + 0.1 * frame["height"])
        page.mouse.down()
        page.mouse.move(frame["x"] + 0.5 * frame["width"], frame["y"] + 0.6 * frame["height"], steps=3)
        page.mouse.up()

    with asks(page) as answer:
        box()
    asked = json.loads(answer.value.request.post_data)["query"]["box"]
    size = page.locator(".query-frame img").evaluate("own => [own.naturalWidth, own.naturalHeight]")
    expected = [0.1 * size[0], 0.1 * size[1], 0.5 * size[0], 0.6 * size[1]]
    assert all(abs(a - b) < 0.02 * size[0] for a, b in zip(asked, expected, strict=True))
    expect(page.locator(".query-name")).to_have_text("Part of your picture")
    with asks(page):
        page.get_by_role("button", name="Whole picture").click()
    with asks(page):
        page.get_by_role("button", name="More like china-whole.jpg", exact=True).last.click(force=True)
    expect(page.locator(".example.for")).to_have_count(2)


def test_a_picture_is_pasted_and_dropped(server, visit, sample_pictures):
    page = opened(visit, server.address + "#collection=pictures&id=moon-whole.jpg")
    carry = """([data, kind]) => {
      const bytes = Uint8Array.from(atob(data), (own) => own.charCodeAt(0));
      const carried = new DataTransfer();
      carried.items.add(new File([bytes], "own.png", { type: "image/png" }));
      const how = { bubbles: true, cancelable: true };
      if (kind === "paste") dispatchEvent(new ClipboardEvent("paste", { ...how, clipboardData: carried }));
      else document.body.dispatchEvent(new DragEvent("drop", { ...how, dataTransfer: carried }));
    }"""
    for kind, name in (("paste", "horse"), ("drop", "coins")):
        data = base64.b64encode(sample_pictures[name].read_bytes()).decode()
        drawn(page, lambda own=(data, kind): page.evaluate(carry, list(own)))
        assert ids(page)[0].startswith(name)


def test_a_box_on_an_item(server, visit):
    page = opened(visit, server.address + "#collection=pictures&id=china-whole.jpg")
    frame = page.locator(".query-frame")
    expect(frame).to_have_attribute("tabindex", "0")
    frame.focus()
    with asks(page) as answer:
        frame.press("Enter")
    assert len(json.loads(answer.value.request.post_data)["query"]["box"]) == 4
    expect(page.locator(".query-name")).to_have_text("Part of your picture")


# ---------------------------------------------------------------- texts


NOTE = "#collection=notes&id=town%2F3.md"


def test_a_question_is_asked(notes_server, visit):
    page = opened(visit, notes_server.address + NOTE)
    field = page.get_by_role("combobox", name="Ask a question")
    expect(field).to_have_attribute("placeholder", "Ask a question, or name an item")
    field.fill("where do sheep find clover?")
    drawn(page, lambda: page.get_by_role("button", name="Ask", exact=True).click())
    expect(page.locator(".query-name")).to_have_text("“where do sheep find clover?”")
    assert {own.split("/")[0] for own in ids(page)[:5]} == {"hill"}
    assert "text=where" in page.url
    asked = ids(page)
    page.locator("#manifold .hit .ask-why").first.click(force=True)
    expect(page.locator("#why .bars li").first).to_be_visible()
    page.keyboard.press("Escape")
    drawn(page, lambda: page.locator("#back").click())
    expect(field).to_have_value("")
    page.go_forward()
    until(page, lambda: ids(page) == asked)
    expect(field).to_have_value("where do sheep find clover?")
    page.reload()
    until(page, lambda: ids(page) == asked)
    first = asked[0]
    with asks(page) as answer:
        page.locator("#manifold").get_by_role("button", name=f"More like {first}", exact=True).click(force=True)
    query = json.loads(answer.value.request.post_data)["query"]
    assert query == {"text": "where do sheep find clover?", "ids": [first]}
    expect(page.locator(".example.for")).to_have_count(2)
    expect(field).to_be_visible()
    field.fill("sea/4.md")
    drawn(page, lambda: field.press("Enter"))
    expect(page.locator(".query-name")).to_have_text("4.md")
    assert "text=" not in page.url


def test_no_question_without_an_encoder(silent_server, server, visit):
    page = opened(visit, silent_server.address + NOTE)
    expect(page.locator("#find-note")).to_contain_text("You cannot ask questions in words here")
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_hidden()
    expect(page.locator("#find")).to_have_attribute("placeholder", "Name of an item")
    page = opened(visit, server.address + QUERY)
    expect(page.locator("#find-note")).to_be_hidden()
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_hidden()


@pytest.mark.parametrize(("width", "least"), [(390, 320), (1280, 250)])
def test_long_texts_are_read(notes_server, visit, width, least):
    page = opened(visit, notes_server.address + NOTE, width=width, height=844, phone=width < 400)
    boxes = """all => all.map((own) => {
      const [inner, outer] = [own.getBoundingClientRect(), own.closest(".hit, .card").getBoundingClientRect()];
      return { align: getComputedStyle(own).textAlign, width: own.clientWidth, over: own.scrollWidth - own.clientWidth,
        inside: inner.left >= outer.left && inner.right <= outer.right, height: own.clientHeight };
    })"""
    texts = page.locator("#manifold .passage")
    expect(texts).to_have_count(24)
    for one in [*texts.evaluate_all(boxes), *page.locator("#query-body .passage").evaluate_all(boxes)]:
        assert one["align"] in ("left", "start")
        assert one["inside"]
        assert one["over"] <= 0
        assert one["height"] <= 220  # some lines of it
    assert min(one["width"] for one in texts.evaluate_all(boxes)) >= least
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    whole = page.locator("#manifold .hit").first.get_by_role("button", name="Whole text of")
    whole.click()
    expect(whole).to_have_attribute("aria-expanded", "true")
    assert texts.first.evaluate("own => own.scrollHeight - own.clientHeight") <= 1
    assert texts.first.evaluate("own => own.clientHeight") > 400
    if width < 400:
        expect(page.locator("#nearest .hit").first).to_be_hidden()
        page.get_by_role("button", name="Nearest neighbours", exact=True).click()
        expect(page.locator("#manifold .hit").first).to_be_hidden()
    expect(page.locator("#nearest .unfold").first).to_be_visible()


# ---------------------------------------------------------------- for everyone


def test_keys_alone(server, visit):
    page = opened(visit, server.address + QUERY)
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('#manifold .hit-main')"):
            break
    expect(page.locator("#manifold .hit-main").first).to_be_focused()
    page.keyboard.press("ArrowRight")
    second = ids(page)[1]
    expect(page.locator(f'#manifold .hit[data-id="{second}"] .hit-main')).to_be_focused()
    page.keyboard.press("w")
    expect(page.get_by_role("dialog", name=f"Why {second}?")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(f'#manifold .hit[data-id="{second}"] .hit-main')).to_be_focused()
    drawn(page, lambda: page.keyboard.press("Enter"))
    expect(page.locator(".query-name")).to_have_text(second)
    drawn(page, lambda: page.keyboard.press("b"))
    page.keyboard.press("/")
    expect(page.locator("#find")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(server, visit, scheme):
    odd = '&where=[{"column":"even","operator":"%24eq","value":false}]'
    page = opened(visit, server.address + QUERY + odd, scheme=scheme)
    page.locator("#manifold .hit .ask-why").first.click(force=True)
    expect(page.locator("#why .bars li").first).to_be_visible()
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    assert page.evaluate(Path(__file__).with_name("contrast.js").read_text("utf-8")) == []


def test_dark_and_light_can_be_chosen(server, visit):
    page = opened(visit, server.address + QUERY, scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate(ground) != dark
    page.reload()
    expect(page.locator("#manifold .hit").first).to_be_visible()
    assert page.evaluate(ground) != dark


@pytest.mark.parametrize("where", ["#collection=digits&id=17&why=3", "#collection=pictures&id=moon-whole.jpg"])
def test_everything_has_a_name(server, visit, where):
    page = opened(visit, server.address + where)
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    pressed = {"button", "slider", "combobox", "textbox", "searchbox", "checkbox", "link", "option", "dialog", "region"}
    nodes = [own for own in tree if not own.get("ignored") and own.get("role", {}).get("value") in pressed]
    unnamed = [own["role"]["value"] for own in nodes if not own.get("name", {}).get("value")]
    assert len(nodes) > 40
    assert unnamed == []
    assert page.locator("img:not([alt])").count() == 0
    names = page.locator("[id]").evaluate_all("all => all.map((own) => own.id)")
    assert len(names) == len(set(names))


def test_results_are_told(server, visit):
    page = opened(visit, server.address + QUERY)
    expect(page.locator("#live")).to_contain_text("24 hits")
    expect(page.locator("#trust")).to_contain_text("The graph")
    expect(page.locator("#times")).to_contain_text("First search")
    expect(page.locator("#times")).to_contain_text("Network")


@pytest.mark.parametrize("view", ["results", "map", "settings"])
def test_a_phone_never_scrolls_sideways(server, visit, view):
    page = opened(visit, server.address + QUERY + "&why=3", width=360, height=740, phone=True)
    sideways = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    expect(page.locator("#why .bars li").first).to_be_visible()
    assert page.evaluate(sideways) <= 0
    assert page.locator("#why").evaluate("own => own.scrollWidth - own.clientWidth") <= 0
    page.get_by_role("button", name="Close").click()
    page.locator(f'[data-view-button="{view}"]').click()
    shown = {"results": "#manifold .hit", "map": "#map-stage", "settings": "#where"}[view]
    expect(page.locator(shown).first).to_be_visible()
    assert page.evaluate(sideways) <= 0
    sizes = page.locator("button:visible").evaluate_all("all => all.map((own) => [own.offsetWidth, own.offsetHeight])")
    assert min(map(min, sizes)) >= 24


# ---------------------------------------------------------------- a server that wants a token, goes, and comes back


def test_token_and_recovery(digits_folder, visit):
    token = "0123456789abcdef"
    server = Server(digits_folder, LONGWAVE_TOKEN=token).start()
    try:
        page = visit(server.address + QUERY, expected=["Failed to load resource"])
        page.get_by_label("Token", exact=True).fill("no such token 0")
        page.get_by_role("button", name="Go on").click()
        expect(page.locator("#token-again")).to_be_visible()
        page.get_by_label("Token", exact=True).fill(token)
        page.get_by_role("button", name="Go on").click()
        expect(page.locator("#manifold .hit").first).to_be_visible()
        expect(page.locator("#manifold .hit img").first).to_have_attribute("src", re.compile("^blob:"))
        before = ids(page)
        server.stop()
        page.get_by_role("slider", name="Hits").fill("20")
        expect(page.locator("#notice")).to_contain_text("does not answer")
        server.start()
        expect(page.locator("#notice")).to_be_hidden(timeout=30_000)
        until(page, lambda: len(ids(page)) != len(before))
        assert ids(page) == before[: len(ids(page))]
    finally:
        server.stop()


# ---------------------------------------------------------------- small parts, by themselves


def test_parts_in_the_browser(server, visit):
    page = opened(visit, server.address + QUERY)

    def inside(code):
        return page.evaluate(f"async () => {{ const part = (name) => import(`/static/${{name}}.js`); {code} }}")

    state = inside(
        """const { read, write, START } = await part("state");
        const examples = { ids: ["a/b", "=c&d"], not: ["é"], text: "a & b?", box: [1, 2, 3, 4] };
        const own = { ...START, ...examples, filter: "walk:0.9,5", blend: 0, area: [[0.1, -0.2]] };
        return [own, read(`#${write(own)}`), write(START)];"""
    )
    assert state[0] == state[1]
    assert state[2] == ""
    places = inside(
        """const { placeOf, valueAt } = await part("scales");
        const range = { parameter: "alpha", min: 0, max: 0.999 };
        const astray = (own) => Math.abs(placeOf(valueAt(own, range), range) - own) > 1;
        return [valueAt(0, range), valueAt(200, range), [...Array(201).keys()].filter(astray)];"""
    )
    assert places == [0, 0.999, []]
    wheres = inside(
        """const { valueOf, whereOf, operatorsOf } = await part("where");
        const values = [valueOf("3, 4", "int64", "$in"), valueOf("true", "bool", "$eq")];
        return [...values, whereOf([]), operatorsOf("date32[day]").length,
          whereOf([{ column: "a", operator: "$gte", value: 1 }, { column: "b", operator: "$ne", value: "x" }])];"""
    )
    assert wheres == [[3, 4], True, None, 8, {"$and": [{"a": {"$gte": 1}}, {"b": {"$ne": "x"}}]}]
    text = inside(
        """const { csv } = await part("exporting");
        const hits = { ids: ['=1+1', 'a"b,c'], scores: [1, 0.5], columns: { when: [null, 3] } };
        return csv({ nearest: hits, manifold: { ids: [], scores: [] }, truth: null });"""
    )
    assert text.split("\r\n")[1:3] == ["nearest,1,'=1+1,1,", 'nearest,2,"a""b,c",0.5,3']
    inside_out = inside(
        """const { Points } = await part("points");
        const all = new Points(Float32Array.of(-1, -1, 0, 0, 1, 1, 0.5, 0.4));
        const square = [[-0.1, -0.1], [0.6, -0.1], [0.6, 0.6], [-0.1, 0.6]];
        const nearest = [all.nearest(0.45, 0.45, [0.2, 0.2]), all.nearest(-0.5, 0.5, [0.1, 0.1])];
        return [...nearest, all.inside(square).sort()];"""
    )
    assert inside_out == [3, -1, [1, 3]]
    flat, full, far, told = inside(
        """const { levels } = await part("ramp");
        const { ends } = await part("words");
        const shown = (shares) => {
          const out = new Uint8Array(shares.length);
          const told = levels(Float32Array.from(shares, (own) => own ** 0.25), out);
          return [[...out], told];
        };
        const all = [...Array(150).keys()].map((i) => 0.57 + 0.0004 * i);
        const [flat, told] = shown([1, ...all]);
        const [parts] = shown([1, ...all, ...Array(50).fill(0)]);
        const [far] = shown([...Array(1000).keys()].map((i) => Math.exp(-i / 20)));
        return [flat, parts, far, [ends(told.low, told.full), ends(0, 0.0004)]];"""
    )
    assert max(flat) == 255
    assert min(flat) <= 48
    assert len(set(flat)) > 90  # a wave is seen, though all have more than half of the largest
    assert full[-50:] == [0] * 50
    assert min(full[:-50]) >= 40  # what is reached is told from what is not
    assert far[200] < 5  # where a wave falls to nothing, what it leaves stays dark
    assert told == [
        {"from": "x: 57 %", "to": "62 % of the best or more"},
        {"from": "x: none", "to": "0.04 % of the best or more"},
    ]
    lightness = inside(
        """const { RAMP } = await part("ramp");
        const light = RAMP.map(([r, g, b]) => 0.2126 * r ** 2.2 + 0.7152 * g ** 2.2 + 0.0722 * b ** 2.2);
        return light.every((own, i) => i === 0 || own >= light[i - 1]);"""
    )
    assert lightness
