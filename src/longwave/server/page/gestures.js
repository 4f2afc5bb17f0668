// What fingers, mouse and keys do to the map. It draws nothing: it moves a `View` and tells what was meant.

const STILL = 5; // pixels that a click may move

/**
 * tell: { moved(), hover(x, y) | hover(null), click(x, y), lasso(path, done), enter() }; lassoing(): whether a drag
 * draws. Shift + drag always draws.
 */
export function listen(stage, view, lassoing, tell) {
  const fingers = new Map();
  let path = null;
  let travelled = 0;
  const place = (event) => {
    const box = stage.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  stage.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    stage.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, place(event));
    travelled = fingers.size > 1 ? Infinity : 0;
    path = fingers.size === 1 && (event.shiftKey || lassoing()) ? [place(event)] : null;
  });

  stage.addEventListener("pointermove", (event) => {
    const now = place(event);
    const before = fingers.get(event.pointerId);
    if (!before) {
      tell.hover(...now);
      return;
    }
    travelled += Math.hypot(now[0] - before[0], now[1] - before[1]);
    if (path) {
      path.push(now);
      tell.lasso(path, false);
    } else if (fingers.size === 1) {
      view.pan(now[0] - before[0], now[1] - before[1]);
      tell.moved();
    } else {
      pinch(event.pointerId, now, before);
    }
    fingers.set(event.pointerId, now);
  });

  function pinch(id, now, before) {
    const [, other] = [...fingers].find(([own]) => own !== id);
    const span = ([x, y]) => Math.max(1, Math.hypot(x - other[0], y - other[1]));
    view.zoomAt(span(now) / span(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    view.pan((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
    tell.moved();
  }

  const release = (event) => {
    if (!fingers.delete(event.pointerId)) return;
    if (travelled < STILL && event.type === "pointerup") tell.click(...place(event));
    else if (path && travelled >= STILL) tell.lasso(path, true);
    path = null;
  };
  stage.addEventListener("pointerup", release);
  stage.addEventListener("pointercancel", release);
  stage.addEventListener("pointerleave", () => tell.hover(null));

  stage.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      view.zoomAt(Math.exp(-0.0016 * event.deltaY * (event.deltaMode ? 16 : 1)), ...place(event));
      tell.moved();
    },
    { passive: false },
  );

  stage.addEventListener("keydown", (event) => {
    if (event.target !== stage || event.altKey || event.ctrlKey || event.metaKey) return;
    const step = 40;
    const keys = {
      ArrowLeft: () => view.pan(step, 0),
      ArrowRight: () => view.pan(-step, 0),
      ArrowUp: () => view.pan(0, step),
      ArrowDown: () => view.pan(0, -step),
      "+": () => view.zoomAt(1.4),
      "=": () => view.zoomAt(1.4),
      "-": () => view.zoomAt(1 / 1.4),
      0: () => view.reset(),
    };
    if (event.key === "Enter") tell.enter();
    else if (keys[event.key]) {
      keys[event.key]();
      tell.moved(true);
    } else return;
    event.preventDefault();
  });
}
