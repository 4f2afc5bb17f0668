"""How fluid the map is: times between frames while it is moved, zoomed and coloured anew.

    python tests/page/frames.py http://127.0.0.1:8808/ --collection NAME

Asks a running server, with a browser without a window and without a graphics card.
"""

import argparse
import json

from served import HOW, chromium

# Wheel and drag events, one for each frame, as fast as the browser takes them.
_RUN = """async (kind) => {
  const stage = document.querySelector("#map-stage");
  const box = stage.getBoundingClientRect();
  const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
  const at = (dx) => ({ clientX: x + dx, clientY: y, pointerId: 1, bubbles: true, button: 0 });
  const times = [];
  stage.setPointerCapture = () => {};
  if (kind === "pan") stage.dispatchEvent(new PointerEvent("pointerdown", at(0)));
  let last = await new Promise(requestAnimationFrame);
  for (let i = 0; i < 90; i++) {
    if (kind === "pan") stage.dispatchEvent(new PointerEvent("pointermove", at(80 * Math.sin(i / 8))));
    const wheel = { ...at(0), deltaY: i < 45 ? -60 : 60, cancelable: true };
    if (kind === "zoom") stage.dispatchEvent(new WheelEvent("wheel", wheel));
    const now = await new Promise(requestAnimationFrame);
    times.push(now - last);
    last = now;
  }
  if (kind === "pan") stage.dispatchEvent(new PointerEvent("pointerup", at(0)));
  return times.slice(5);
}"""


def measured(page, kind):
    """Milliseconds between frames, and of processor time for each: the second says the same on a busy machine."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def worked():
        return {own["name"]: own["value"] for own in session.send("Performance.getMetrics")["metrics"]}["TaskDuration"]

    before = worked()
    times = sorted(page.evaluate(_RUN, kind))
    return {
        "median": round(times[len(times) // 2], 1),
        "95 %": round(times[int(0.95 * len(times))], 1),
        "processor": round(1000 * (worked() - before) / 90, 1),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("address")
    parser.add_argument("--collection", required=True)
    given = parser.parse_args()
    with chromium() as browser:
        if browser is None:
            raise SystemExit(HOW)
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.goto(f"{given.address}#collection={given.collection}&view=map")
        page.locator("#map-note:empty").wait_for(state="attached", timeout=120_000)
        page.wait_for_load_state("networkidle")
        found = {kind: measured(page, kind) for kind in ("pan", "zoom")}
        canvas = page.locator("#map-dots").evaluate("own => [own.width, own.height]")
    print(json.dumps({"canvas": canvas, "milliseconds a frame": found}, indent=2))


if __name__ == "__main__":
    main()
