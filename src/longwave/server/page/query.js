// The query: one picture, large, on which a box can be drawn; or several examples, each with its sign.

import { Box } from "./box.js";
import { find, make, signButton } from "./dom.js";
import { fold, isLong, passage } from "./passage.js";
import { pictureOf } from "./tile.js";
import { shortName } from "./words.js";

export class QueryCard {
  #shown = null;

  /** tell: { change(patch), boxOnItem(id, box) } */
  constructor(root, pictures, tell) {
    this.body = find("#query-body", root);
    this.pictures = pictures;
    this.tell = tell;
  }

  show(collection, state) {
    const key = JSON.stringify([collection.info.name, state.ids, state.not, state.text, state.upload, state.box]);
    if (key === this.#shown) return;
    this.#shown = key;
    const examples = state.ids.length + state.not.length + (state.upload ? 1 : 0) + (state.text !== null ? 1 : 0);
    const body =
      examples > 1
        ? this.#several(collection, state)
        : state.upload
          ? this.#uploaded(state)
          : state.text !== null
            ? asked(state.text)
            : this.#item(collection, state.ids[0]);
    this.body.replaceChildren(...body.filter(Boolean));
    this.body.dataset.kind = examples > 1 ? "several" : "one";
  }

  /** A small likeness of the query; of several examples, the first. */
  face(collection, { ids, upload }) {
    const known = this.pictures.known(upload);
    const alt = "The query";
    if (known) return make("img", { class: "face", src: known.url, alt });
    if (!upload && ids.length && collection.visible) {
      const image = pictureOf(collection, ids[0], { size: 128, alt });
      image.classList.add("face");
      return image;
    }
    return make("span", { class: "face name" }, alt);
  }

  #item(collection, id) {
    if (id === undefined) return [make("p", { class: "hint" }, "Nothing is asked yet.")];
    const name = make("p", { class: "query-name" }, shortName(id));
    if (!collection.visible) return [name, this.#facts(collection, id)];
    const frame = make(
      "div",
      { class: "query-frame" },
      pictureOf(collection, id, { size: 1024, alt: `The query, ${id}` }),
    );
    if (collection.info.pictures) {
      const image = find("img", frame);
      const ready = () =>
        new Box(
          frame,
          { width: image.naturalWidth, height: image.naturalHeight },
          null,
          (box) => box && this.tell.boxOnItem(id, box),
        );
      image.addEventListener("load", ready, { once: true });
    }
    const hint = collection.info.pictures && make("p", { class: "hint" }, "Draw a box on it to search with a part.");
    return [frame, make("div", {}, name, hint || null, this.#facts(collection, id))];
  }

  #facts(collection, id) {
    if (!collection.info.columns.length) return null;
    const list = make("dl", { class: "facts" });
    const card = make("div", {}, list);
    const fact = ([name, value]) =>
      isLong(value)
        ? make("div", { class: "long" }, make("dt", { class: "unseen" }, name), passage(value, "dd"))
        : make("div", {}, make("dt", {}, name), make("dd", {}, String(value ?? "–")));
    collection.item(id).then(
      ({ metadata }) => {
        list.append(...Object.entries(metadata).slice(0, 8).map(fact));
        if (Object.values(metadata).some(isLong)) list.after(fold(card, id));
      },
      () => list.remove(),
    );
    return card;
  }

  #uploaded(state) {
    const known = this.pictures.known(state.upload);
    if (!known)
      return [make("p", { class: "hint" }, "A picture that this page no longer has. Drop it again to draw on it.")];
    const frame = make(
      "div",
      { class: "query-frame" },
      make("img", { src: known.url, alt: "Your picture, the query" }),
    );
    new Box(frame, known, state.box, (box) => this.tell.change({ box }));
    const whole =
      state.box &&
      make(
        "button",
        { type: "button", class: "quiet", onclick: () => this.tell.change({ box: null }) },
        "Whole picture",
      );
    const hint = state.box ? null : make("p", { class: "hint" }, "Draw a box on it to search with a part.");
    return [
      frame,
      make(
        "div",
        {},
        make("p", { class: "query-name" }, state.box ? "Part of your picture" : "Your picture"),
        hint,
        whole,
      ),
    ];
  }

  #several(collection, { ids, not, text, upload, box }) {
    const without = (list, id) => list.filter((other) => other !== id);
    const example = (face, sign, name, drop) =>
      make(
        "li",
        { class: sign === "+" ? "example for" : "example against" },
        face,
        make("span", { class: "sign", "aria-hidden": "true" }, sign),
        drop && signButton("×", `Remove example ${name}`, drop),
      );
    const face = (id) =>
      collection.visible
        ? pictureOf(collection, id, { size: 128, alt: String(id) })
        : make("span", { class: "name" }, shortName(id));
    const known = this.pictures.known(upload);
    const picture = known
      ? make("img", { src: known.url, alt: "Your picture" })
      : make("span", { class: "name" }, "Your picture");
    const words = make("span", { class: "name", title: text ?? "" }, "Your question");
    const last = ids.length === 1 && !upload && text === null;
    return [
      make(
        "ul",
        { class: "examples", "aria-label": "Examples" },
        upload &&
          example(
            picture,
            "+",
            "Your picture",
            ids.length ? () => this.tell.change({ upload: null, box: null }) : null,
          ),
        text === null
          ? null
          : example(words, "+", "Your question", ids.length ? () => this.tell.change({ text: null }) : null),
        ...ids.map((id) => example(face(id), "+", id, last ? null : () => this.tell.change({ ids: without(ids, id) }))),
        ...not.map((id) => example(face(id), "−", id, () => this.tell.change({ not: without(not, id) }))),
      ),
      make("p", { class: "hint" }, box ? "Of your picture only the box counts." : "More like +, less like −."),
    ];
  }
}

/** A question in words. */
const asked = (text) => [make("p", { class: "query-name" }, `“${text}”`), make("p", { class: "hint" }, "Your question.")];
