// The server may want a token. It is kept until the window closes.

import { find } from "./dom.js";

let asked = null;

/** Ask for a token; `again` where one was refused. Several who ask at once get the same answer. */
export function askToken(again) {
  asked ??= new Promise((resolve) => {
    const dialog = find("#token");
    const input = find("#token-value");
    find("#token-again").hidden = !again;
    const given = (event) => {
      event.preventDefault();
      if (!input.value.trim()) return;
      dialog.close();
      find("#token-form").removeEventListener("submit", given);
      asked = null;
      resolve(input.value.trim());
      input.value = "";
    };
    find("#token-form").addEventListener("submit", given);
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    dialog.showModal();
    input.focus();
  });
  return asked;
}
