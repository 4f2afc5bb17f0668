// Pictures from outside: dropped, pasted or chosen. They are uploaded once, and again if the server forgot them.

import { find } from "./dom.js";

export class Pictures {
  /** tell: { asked(upload), refused(text) } */
  constructor(tell) {
    this.tell = tell;
    this.uploads = new Map(); // token → { picture, url, width, height }
    this.input = find("#picture-file");
    this.input.addEventListener("change", () => {
      if (this.input.files.length) this.take(this.input.files[0]);
      this.input.value = "";
    });
    find("#picture-button").addEventListener("click", () => this.input.click());
    this.#drop();
    addEventListener("paste", (event) => {
      const picture = [...(event.clipboardData?.files ?? [])].find(isPicture);
      if (!picture) return;
      event.preventDefault();
      this.take(picture);
    });
  }

  open(collection) {
    this.collection = collection;
    find("#picture-button").hidden = !collection.info.pictures;
  }

  #drop() {
    const veil = find("#drop-veil");
    const carries = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
    let inside = 0;
    const enter = (step) => (event) => {
      if (!carries(event)) return;
      event.preventDefault();
      inside = Math.max(0, inside + step);
      veil.hidden = inside === 0;
    };
    addEventListener("dragenter", enter(1));
    addEventListener("dragleave", enter(-1));
    addEventListener("dragover", (event) => carries(event) && event.preventDefault());
    addEventListener("drop", (event) => {
      if (!carries(event)) return;
      event.preventDefault();
      inside = 0;
      veil.hidden = true;
      const picture = [...event.dataTransfer.files].find(isPicture);
      if (picture) this.take(picture);
      else this.tell.refused("That is not a picture.");
    });
  }

  /** Upload a picture, and ask with it. */
  async take(picture) {
    if (!this.collection?.info.pictures) {
      this.tell.refused("This collection has no pictures to compare with: search by an item of it.");
      return;
    }
    try {
      this.tell.asked((await this.#upload(picture)).upload);
    } catch (error) {
      this.tell.refused(error.message);
    }
  }

  async #upload(picture) {
    const known = await this.collection.upload(picture);
    this.uploads.set(known.upload, { ...known, picture, url: URL.createObjectURL(picture) });
    return known;
  }

  /** A token for an item's own picture, so that a box can be drawn on it. */
  async ofItem(id) {
    return this.#upload(await this.collection.pictureBytes(id));
  }

  known = (token) => this.uploads.get(token) ?? null;

  /** A fresh token for a picture that the server no longer has; null if the page has it neither. */
  async again(token) {
    const old = this.uploads.get(token);
    return old ? (await this.#upload(old.picture)).upload : null;
  }
}

const isPicture = (file) => file.type.startsWith("image/");
