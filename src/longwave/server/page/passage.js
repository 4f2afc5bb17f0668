// Long texts of metadata: some lines of them, and the whole where one asks for it.

import { find, make } from "./dom.js";

// Characters from which a value is a text to read, not a fact in a line.
const LONG = 80;

// Lines that were broken at a width, as editors do, flow again; short lines, lists and tables stay as they are.
const flowing = (text) => text.replace(/([^\n]{60,})\n(?=[^\s\-*|#>\d])/g, "$1 ");

export const isLong = (value) => typeof value === "string" && value.length > LONG;

// A text that fits into its lines needs no button; how much fits depends on the width.
const watch = new ResizeObserver((seen) => {
  for (const host of new Set(seen.map(({ target }) => target.closest(".folds")))) if (host) suit(host);
});

function suit(host) {
  const button = find(".unfold", host);
  if (!button || host.classList.contains("unfolded")) return;
  button.hidden = ![...host.querySelectorAll(".passage")].some((own) => own.scrollHeight > own.clientHeight + 1);
}

/** The text of a value that is long. Inside of an element that `fold` has made ready. */
export function passage(text, tag = "span") {
  const made = make(tag, { class: "passage" }, flowing(text));
  watch.observe(made);
  return made;
}

/** An element whose passages show some lines, and the button that shows them whole. name: what the text is of. */
export function fold(host, name) {
  const button = make(
    "button",
    {
      type: "button",
      class: "unfold",
      hidden: true,
      "aria-expanded": "false",
      "aria-label": `Whole text of ${name}`,
      onclick: () => {
        const whole = host.classList.toggle("unfolded");
        button.textContent = whole ? "Less" : "Whole text";
        button.setAttribute("aria-expanded", String(whole));
      },
    },
    "Whole text",
  );
  host.classList.add("folds");
  return button;
}
