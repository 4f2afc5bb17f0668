// What must be said: a bar for problems, a quiet region for those who listen, and waiting for a server that is gone.

import { alive } from "./api.js";
import { settled } from "./asking.js";
import { find } from "./dom.js";

const bar = find("#notice");
const words = find("#notice-text");
const region = find("#live");
let waiting = null;

find("#notice-close").addEventListener("click", () => clear());

export function warn(text) {
  if (waiting) return;
  bar.dataset.kind = "problem";
  words.textContent = text;
  bar.hidden = false;
}

export function clear() {
  if (waiting) return;
  bar.hidden = true;
  words.textContent = "";
}

let answers = 0;

/** Shows that an answer is waited for. */
export async function busy(answer) {
  answers++;
  document.body.classList.add("busy");
  try {
    return await answer;
  } finally {
    answers--;
    document.body.classList.toggle("busy", answers > 0);
  }
}

/** For screen readers, when things have come to rest. */
export const say = settled((text) => {
  region.textContent = text;
}, 500);

/** The server is gone: say so, ask after it until it is back, then go on. */
export function gone(back) {
  if (waiting) return;
  let pause = 500;
  bar.dataset.kind = "gone";
  bar.hidden = false;
  words.textContent = "The server does not answer. The page goes on by itself when it is back.";
  const look = async () => {
    if (await alive()) {
      waiting = null;
      clear();
      say("The server is back.");
      back();
      return;
    }
    pause = Math.min(5000, 1.5 * pause);
    waiting = setTimeout(look, pause);
  };
  waiting = setTimeout(look, pause);
}
