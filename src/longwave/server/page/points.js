// Points in the plane: which is nearest, which are inside. A grid makes both quick for a hundred thousand.

export class Points {
  /** positions: Float32Array x, y, x, y, … in [−1, 1]. */
  constructor(positions) {
    this.positions = positions;
    this.count = positions.length / 2;
    this.side = Math.max(1, Math.min(512, Math.ceil(Math.sqrt(this.count / 4))));
    this.#sort();
  }

  #cell(value) {
    return Math.max(0, Math.min(this.side - 1, Math.floor(((value + 1) / 2) * this.side)));
  }

  /** Points in the order of their cells, and where each cell begins: a counting sort. */
  #sort() {
    const { count, side, positions } = this;
    const cells = new Uint32Array(count);
    this.starts = new Uint32Array(side * side + 1);
    for (let i = 0; i < count; i++) {
      cells[i] = this.#cell(positions[2 * i + 1]) * side + this.#cell(positions[2 * i]);
      this.starts[cells[i] + 1]++;
    }
    for (let c = 0; c < side * side; c++) this.starts[c + 1] += this.starts[c];
    const next = this.starts.slice(0, -1);
    this.sorted = new Uint32Array(count);
    for (let i = 0; i < count; i++) this.sorted[next[cells[i]]++] = i;
  }

  /** Every point whose cell touches the rectangle. */
  *near(x0, y0, x1, y1) {
    const [left, right] = [this.#cell(x0), this.#cell(x1)];
    for (let row = this.#cell(y0); row <= this.#cell(y1); row++) {
      const [first, last] = [this.starts[row * this.side + left], this.starts[row * this.side + right + 1]];
      for (let i = first; i < last; i++) yield this.sorted[i];
    }
  }

  /** The point nearest to a place, within an ellipse of `reach`, [x, y]; −1 if there is none. */
  nearest(x, y, reach) {
    let [best, least] = [-1, 1];
    for (const i of this.near(x - reach[0], y - reach[1], x + reach[0], y + reach[1])) {
      const distance =
        ((this.positions[2 * i] - x) / reach[0]) ** 2 + ((this.positions[2 * i + 1] - y) / reach[1]) ** 2;
      if (distance <= least) [best, least] = [i, distance];
    }
    return best;
  }

  /** The points inside a polygon [[x, y], …]. */
  inside(polygon) {
    const xs = polygon.map(([x]) => x);
    const ys = polygon.map(([, y]) => y);
    const found = [];
    for (const i of this.near(Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys))) {
      if (contains(polygon, this.positions[2 * i], this.positions[2 * i + 1])) found.push(i);
    }
    return found;
  }
}

/** Whether a ray from the place to the right crosses the polygon an odd number of times. */
export function contains(polygon, x, y) {
  let inside = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const [[xi, yi], [xj, yj]] = [polygon[i], polygon[j]];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) inside = !inside;
  }
  return inside;
}
