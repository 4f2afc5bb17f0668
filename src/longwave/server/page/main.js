// The page: its parts are made here, and told of each other through the state (`state.js`) and the link (`link.js`).

import { Collection, collections, Gone, onTokenNeeded } from "./api.js";
import { asker } from "./asking.js";
import { Columns } from "./columns.js";
import { Controls } from "./controls.js";
import { drawCurve } from "./curve.js";
import { find, make } from "./dom.js";
import * as exporting from "./exporting.js";
import { Filters, shownColumns } from "./filters.js";
import { Finder } from "./finder.js";
import { kept } from "./kept.js";
import { listenKeys } from "./keys.js";
import { Link } from "./link.js";
import { WaveMap } from "./map.js";
import * as notice from "./notice.js";
import { Pictures } from "./picture.js";
import { QueryCard } from "./query.js";
import { question, whyQuestion } from "./question.js";
import { asksAnew, hasQuery, queryOf, START, Store } from "./state.js";
import { startTheme, toggleTheme } from "./theme.js";
import { showTimes } from "./times.js";
import { askToken } from "./token.js";
import { Trail } from "./trail.js";
import { Why } from "./why.js";
import { belongs, confidence, nameOf, plural, summary, unknown } from "./words.js";

const store = new Store();
const link = new Link();
let collection = null;
let answered = null; // { answer, question }: what is on the screen

// ---------------------------------------------------------------- what one can do

const NOTHING = { ids: [], not: [], text: null, upload: null, box: null };
const changeQuery = (patch) => store.change({ ...patch, why: null }, { step: true });
const actions = {
  query: (id) => changeQuery({ ...NOTHING, ids: [String(id)] }),
  ask: (text) => changeQuery({ ...NOTHING, text }),
  more: (id) => changeQuery({ ids: with_(store.state.ids, id), not: without(store.state.not, id) }),
  less: (id) => changeQuery({ not: with_(store.state.not, id), ids: without(store.state.ids, id) }),
  why: (id) => store.change({ why: String(id) }),
};
const without = (ids, id) => ids.filter((other) => other !== String(id));
const with_ = (ids, id) => [...without(ids, id), String(id)];

async function random() {
  const [id] = await collection.ids(Math.floor(Math.random() * collection.info.items), 1);
  actions.query(id);
}

async function share() {
  store.flush();
  try {
    await navigator.clipboard.writeText(location.href);
    notice.say("The address is in the clipboard.");
    find("#share").textContent = "Copied";
    setTimeout(() => (find("#share").textContent = "Copy link"), 1500);
  } catch {
    notice.warn("The address of this page is the link: copy it from the address bar.");
  }
}

function save(kind) {
  if (!answered) return;
  const text = kind === "csv" ? exporting.csv(answered.answer) : exporting.json(answered.answer, answered.question);
  exporting.save(`${collection.info.name}-hits.${kind}`, kind === "csv" ? "text/csv" : "application/json", text);
}

// ---------------------------------------------------------------- the parts

const pictures = new Pictures({
  asked: (upload) => changeQuery({ ...NOTHING, upload }),
  refused: notice.warn,
});
const columns = new Columns(find("#results"), actions, link);
const controls = new Controls(find("#panel"), store);
const filters = new Filters(find("#panel"), store);
const finder = new Finder(find("header"), {
  query: actions.query,
  ask: actions.ask,
  unknown: (id) => notice.warn(`There is no item called “${id}”.${answered ? ` ${belongs(store.state)}` : ""}`),
  refused: notice.warn,
  failed: fail,
});
const trail = new Trail(find("#panel"), pictures, changeQuery);
const map = new WaveMap(find("#map"), link, {
  query: actions.query,
  select: (area) => store.change({ area }, { step: true }),
  say: notice.say,
});
const why = new Why(find("#why"), link, { query: actions.query, close: () => store.change({ why: null }) });
const queryCard = new QueryCard(find("#panel"), pictures, { change: changeQuery, boxOnItem });

async function boxOnItem(id, box) {
  try {
    const { upload } = await pictures.ofItem(id);
    changeQuery({ ...NOTHING, upload, box });
  } catch (error) {
    fail(error);
  }
}

// ---------------------------------------------------------------- questions and answers

const drawn = (state) => (state.area && map.ready ? map.within(state.area) : null);
const body = (state) => question(collection, state, drawn(state));

const compare = asker((body, signal) => notice.busy(collection.compare(body, signal)), showHits, failHits);
const wave = asker(
  (body, signal) => collection.wave(body, signal),
  (roots) => map.wave(roots),
  fail,
);
const response = asker(
  (filter, signal) => collection.response(filter, signal),
  (curve) => drawCurve(find("#curve"), collection.info.eigenvalues, curve),
  fail,
);
const explain = asker(
  (body, signal) => collection.explain(body, signal),
  (answer) => why.show(collection, answer, queryCard.face(collection, store.state)),
  failWhy,
);

function ask(state, how = {}) {
  if (!collection || !hasQuery(state)) return;
  const asked = body(state);
  if (how.settles && answered && same(answered.question, asked)) return;
  compare(asked, how);
  wave(asked, how);
  response(controls.filter(state), how);
  if (state.why !== null) explain(whyQuestion(collection, state), how);
}

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

function showHits(answer, asked) {
  answered = { answer, question: asked };
  notice.clear();
  if (answer.version !== collection.info.version) renew();
  columns.show(collection, answer, shownColumns(collection.info, store.state));
  filters.learn(answer.manifold.columns ?? {});
  const trust = confidence(answer.manifold.confidence);
  Object.assign(find("#trust"), { textContent: trust.text }).dataset.tone = trust.tone;
  showTimes(answer.milliseconds, answer.manifold.route);
  mark();
  notice.say(summary(answer));
}

function mark() {
  if (!answered) return;
  const { nearest, manifold } = answered.answer;
  map.mark({ query: store.state.ids, nearest: nearest.ids, manifold: manifold.ids, area: store.state.area });
}

/** There is no answer to what is asked now, and the last one would pass for it. */
function failHits(error) {
  if (!(error instanceof Gone)) clearAnswer();
  fail(error);
}

function clearAnswer() {
  answered = null;
  columns.clear();
  map.clear();
  find("#trust").textContent = "";
  find("#times").replaceChildren();
}

async function fail(error) {
  if (error instanceof Gone) {
    notice.gone(() => (collection ? recover() : start()));
    return;
  }
  const { upload } = store.state;
  if (upload && /no such upload|upload expired/i.test(`${error.title} ${error.message}`)) {
    const fresh = await pictures.again(upload).catch(() => null);
    if (fresh) return store.change({ upload: fresh });
  }
  notice.warn(/there is no item/i.test(error.message) ? unknown(store.state) : error.message);
}

/** The server is back, perhaps with another version. */
function recover() {
  ask(store.state);
  if (!map.ready) openMap();
}

function failWhy(error) {
  why.fail(error.message);
  if (error instanceof Gone) fail(error);
}

// ---------------------------------------------------------------- what follows from a change

function show(state) {
  controls.show(state);
  filters.show(state, drawn(state)?.length ?? null);
  queryCard.show(collection, state);
  finder.show(state);
  find("#back").disabled = store.depth === 0;
  document.body.dataset.view = state.view;
  for (const tab of document.querySelectorAll("[data-view-button]"))
    tab.setAttribute("aria-pressed", String(tab.dataset.viewButton === state.view));
  find("#enlarge").setAttribute("aria-pressed", String(state.view === "map"));
  if (state.why === null) why.close();
  document.title = `${nameOf(state)} – ${collection.info.name} – Longwave`;
}

function openWhy(id) {
  why.open(id);
  why.wait();
}

store.subscribe((state, before, how) => {
  if (state.collection !== before.collection && state.collection !== collection?.info.name) {
    open(state.collection);
    return;
  }
  if (!collection) return;
  if (!same(queryOf(state), queryOf(before))) trail.leave(collection, before);
  show(state);
  const anotherWhy = state.why !== null && state.why !== before.why;
  if (anotherWhy) openWhy(state.why);
  if (asksAnew(state, before) || how.settles) ask(state, how);
  else if (anotherWhy) explain(whyQuestion(collection, state));
  if (!same(state.area, before.area)) mark();
});

async function open(name) {
  try {
    await renew(name);
    clearAnswer();
    trail.clear();
    find("#collection").value = name;
    if (!hasQuery(store.state)) {
      const [id] = await collection.ids(Math.floor(Math.random() * collection.info.items), 1);
      store.change({ collection: name, ids: [String(id)] });
      return;
    }
    show(store.state);
    if (store.state.why !== null) openWhy(store.state.why);
    ask(store.state);
  } catch (error) {
    collection = null;
    fail(error);
  }
}

/** What is known of a collection, anew: another one, or another version of the same. */
async function renew(name = collection.info.name) {
  collection = await Collection.open(name);
  for (const part of [controls, filters, finder, pictures]) part.open(collection);
  find("#about").textContent = `${plural(collection.info.items, "item")} · version ${collection.info.version}`;
  const mapped = openMap();
  if (store.state.area) await mapped; // what is drawn on it is part of the question
}

async function openMap() {
  try {
    await map.open(collection);
    mark();
    if (!hasQuery(store.state)) return;
    show(store.state);
    wave(body(store.state));
  } catch (error) {
    map.fail(error.message);
  }
}

async function start() {
  try {
    const all = await collections();
    if (!all.length)
      return notice.warn("The server has no collection. Start it with one: longwave serve photos.longwave");
    const chosen = all.find(({ name }) => name === store.state.collection) ?? all[0];
    const select = find("#collection");
    select.replaceChildren(...all.map(({ name }) => make("option", { value: name }, name)));
    select.hidden = all.length < 2;
    find("#collection-name").textContent = all.length < 2 ? chosen.name : "";
    if (store.state.collection !== chosen.name) store.change({ collection: chosen.name });
    else await open(chosen.name);
  } catch (error) {
    fail(error);
  }
}

// ---------------------------------------------------------------- buttons and keys

const onClick = (selector, act) => find(selector).addEventListener("click", act);
const back = () => store.depth > 0 && history.back();
const toggleMap = () => store.change({ view: store.state.view === "map" ? "results" : "map" });

onClick("#back", back);
onClick(".skip", (event) => {
  event.preventDefault(); // the part behind # is the state
  find("#results").focus();
});
onClick("#random", random);
onClick("#share", share);
onClick("#enlarge", toggleMap);
onClick("#save-csv", () => save("csv"));
onClick("#save-json", () => save("json"));
onClick("#intro-close", () => {
  kept.set("intro", "seen");
  find("#intro").hidden = true;
});
for (const tab of document.querySelectorAll("[data-view-button]"))
  tab.addEventListener("click", () => store.change({ view: tab.dataset.viewButton }));
find("#collection").addEventListener("change", (event) =>
  store.change({ ...START, collection: event.target.value }, { step: true }),
);
find("#intro").hidden = kept.get("intro") === "seen";
listenKeys({
  "/": () => find("#find").focus(),
  b: back,
  r: random,
  m: toggleMap,
  t: toggleTheme,
  Escape: () => store.change({ why: null }),
});
onTokenNeeded(askToken);
startTheme();
start();
