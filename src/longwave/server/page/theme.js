// Light or dark: as the system says, until someone chooses.

import { find } from "./dom.js";
import { kept } from "./kept.js";

const dark = matchMedia("(prefers-color-scheme: dark)");
const button = find("#theme");

export function toggleTheme() {
  const next = shown() === "dark" ? "light" : "dark";
  kept.set("theme", next);
  show();
}

const shown = () => kept.get("theme") ?? (dark.matches ? "dark" : "light");

function show() {
  document.documentElement.dataset.theme = shown();
  button.setAttribute("aria-pressed", String(shown() === "dark"));
}

export function startTheme() {
  button.addEventListener("click", toggleTheme);
  dark.addEventListener("change", show);
  show();
}
