// Elements in one call: make("button", { class: "quiet", "aria-label": "Back", onclick: back }, "←").

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function make(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

export function draw(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

export const find = (selector, root = document) => root.querySelector(selector);

/** A button whose face is a sign: it has a name for those who cannot see it, and a title for those who wonder. */
export function signButton(sign, name, onclick, properties = {}) {
  return make("button", { type: "button", "aria-label": name, title: name, onclick, ...properties }, sign);
}

/** Whether someone asked their system for less movement. */
export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
