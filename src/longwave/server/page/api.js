// Everything the page asks the server. Paths are relative, so the page also works below a prefix of a proxy.

/** The server answered, and said no. `detail` is its own text. */
export class Problem extends Error {
  constructor(status, { title, detail }) {
    super(detail || title || `The server answered ${status}.`);
    this.status = status;
    this.title = title ?? "";
  }
}

/** The server did not answer. */
export class Gone extends Error {}

const KEY = "longwave-token";
let token = sessionStorage.getItem(KEY);
let askForToken = null;

/** What to do where the server wants a token: a function that resolves to one. */
export function onTokenNeeded(ask) {
  askForToken = ask;
}

async function request(path, { body, signal, type, method } = {}) {
  const headers = {};
  const used = token;
  if (used) headers.Authorization = `Bearer ${used}`;
  if (body !== undefined) headers["Content-Type"] = type ?? "application/json";
  const content = body === undefined || type ? body : JSON.stringify(body);
  let answer;
  try {
    answer = await fetch(path, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers,
      body: content,
      signal,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Gone(error.message);
  }
  if (answer.ok) return answer;
  const problem = await problemOf(answer);
  if (answer.status === 429) await pause(1000 * (Number(answer.headers.get("Retry-After")) || 1));
  else if (answer.status === 401 && askForToken) await renewToken(used);
  else throw problem;
  signal?.throwIfAborted();
  return request(path, { body, signal, type, method });
}

/** What the server says is wrong. A proxy whose server is gone says something else. */
async function problemOf(answer) {
  const told = await answer.json().catch(() => null);
  return told || answer.status < 502 ? new Problem(answer.status, told ?? {}) : new Gone(answer.statusText);
}

/** Asks again where the server takes longer than a request may last. */
async function patient(work) {
  for (let turn = 0; ; turn++) {
    try {
      return await work();
    } catch (error) {
      if (error.status !== 503 || turn === 20) throw error;
      await pause(3000);
    }
  }
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Several requests may be refused at once; one of them asks for a token. */
async function renewToken(used) {
  if (used !== token) return;
  token = await askForToken(used !== null);
  sessionStorage.setItem(KEY, token);
}

const json = async (path, options) => (await request(path, options)).json();
const floats = async (path, options) => new Float32Array(await (await request(path, options)).arrayBuffer());

export async function alive() {
  const answer = await fetch("healthz", { cache: "no-store" }).catch(() => null);
  return answer?.ok ?? false;
}

export const collections = async () => (await json("v1/collections")).collections;

/** The calls of one collection. */
export class Collection {
  constructor(info) {
    this.info = info;
    this.root = `v1/collections/${encodeURIComponent(info.name)}`;
  }

  static async open(name) {
    return new Collection(await json(`v1/collections/${encodeURIComponent(name)}`));
  }

  /** Ids are text in addresses and on the page; the server may count with numbers. */
  id(text) {
    return this.info.id_kind === "int" ? Number(text) : text;
  }

  compare = (body, signal) => timed(() => json(`${this.root}/compare`, { body, signal }));
  explain = (body, signal) => json(`${this.root}/explain`, { body, signal });
  wave = (body, signal) => floats(`${this.root}/wave`, { body, signal });
  response = (filter, signal) => json(`${this.root}/response?filter=${encodeURIComponent(filter)}`, { signal });
  item = (id) => json(`${this.root}/items/${encodeURIComponent(id)}`);
  find = async (text, signal) => (await json(`${this.root}/find?k=8&text=${encodeURIComponent(text)}`, { signal })).ids;
  /** Places of all items. A large map may take longer to make than a request may last; the server goes on with it. */
  map = () => patient(() => floats(`${this.root}/map`));

  /** Whether questions in words can be asked: { possible, detail }. The server opens what it needs for them. */
  questions = () => patient(() => json(`${this.root}/questions`));

  upload = (picture) => json(`${this.root}/pictures`, { body: picture, type: picture.type || "image/jpeg" });

  ids = async (start, count) => (await json(`${this.root}/ids?start=${start}&count=${count}`)).ids;

  async allIds() {
    let all = [];
    while (all.length < this.info.items) {
      const page = await this.ids(all.length, 100_000);
      if (!page.length) break;
      all = all.concat(page);
    }
    return all;
  }

  /** Whether there is something to see of an item, and where. */
  get visible() {
    return this.info.pictures || this.info.draw !== null;
  }

  async picture(id, size = 256) {
    const kind = this.info.pictures ? "pictures" : "drawing";
    const path = `${this.root}/${kind}/${encodeURIComponent(id)}${this.info.pictures ? `?size=${size}` : ""}`;
    return token ? blobUrl(path) : path;
  }

  /** The bytes of an item's picture. */
  pictureBytes = async (id) => (await request(`${this.root}/pictures/${encodeURIComponent(id)}?size=1024`)).blob();
}

async function timed(work) {
  const start = performance.now();
  const answer = await work();
  answer.milliseconds = { ...answer.milliseconds, whole: performance.now() - start };
  return answer;
}

// <img> sends no headers: where a token is needed, pictures are fetched and kept, the oldest leaves first.
const kept = new Map();

async function blobUrl(path) {
  if (!kept.has(path))
    kept.set(
      path,
      request(path)
        .then((answer) => answer.blob())
        .then(URL.createObjectURL),
    );
  while (kept.size > 2000) {
    const [oldest, url] = kept.entries().next().value;
    kept.delete(oldest);
    url.then(URL.revokeObjectURL, () => {});
  }
  return kept.get(path).catch((error) => {
    kept.delete(path);
    throw error;
  });
}
