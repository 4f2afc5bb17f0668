// Single keys, for the whole page. They can be switched off: some speak to their computer, and would press many.

import { find } from "./dom.js";
import { kept } from "./kept.js";

const writes = (element) =>
  element.closest("input:not([type=range]):not([type=checkbox]), select, textarea, [contenteditable]");

/** actions: { key: function }. */
export function listenKeys(actions) {
  const box = find("#keys-on");
  const help = find("#help");
  box.checked = kept.get("keys") !== "off";
  box.addEventListener("change", () => kept.set("keys", box.checked ? "on" : "off"));
  find("#help-button").addEventListener("click", () => help.showModal());
  find("#help-close").addEventListener("click", () => help.close());
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || !box.checked) return;
    if (writes(event.target) || document.querySelector("dialog:modal")) return;
    const act = { "?": () => help.showModal(), ...actions }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}
