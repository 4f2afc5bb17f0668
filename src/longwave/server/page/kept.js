// Small choices that outlive a visit. Where the browser keeps nothing (private windows), they last as long as the page.

const own = new Map();

export const kept = {
  get(name) {
    try {
      return localStorage.getItem(`longwave-${name}`) ?? own.get(name) ?? null;
    } catch {
      return own.get(name) ?? null;
    }
  },
  set(name, value) {
    own.set(name, value);
    try {
      localStorage.setItem(`longwave-${name}`, value);
    } catch {
      return;
    }
  },
};
