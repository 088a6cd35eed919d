// Small charts in SVG: lines with bands, points with bars, levels. A chart is drawn from a plain
// description, again whenever a choice or the width changes.

/**
 * Draws what `describe()` returns into the plot of a figure:
 *   title, summary   texts for those who do not see it
 *   x, y             {label, kind: "linear" | "log" | "classes", names?, most?}
 *   series           [{label, name?, colour, shade, dash, level?, line?, band?, points}]
 *   points           [{x, y, low, high, left?, right?, hollow?, text, title?}]
 *   front            draw the Pareto front of all points
 *   empty            what to say when there is no series
 *   together         a tooltip tells all series at one x, not one point
 */
class Chart {
  constructor(figure, describe) {
    this.describe = describe;
    this.plot = figure.querySelector(".plot");
    this.tip = make("div", { class: "tip", role: "status" });
    this.tip.hidden = true;
    this.listen();
    new ResizeObserver(() => {
      if (this.plot.clientWidth !== this.width) this.redraw();
    }).observe(this.plot);
  }

  redraw() {
    const chart = this.describe();
    this.width = this.plot.clientWidth;
    this.height = Math.round(Math.min(420, Math.max(270, this.width * 0.5)));
    const picture = draw("svg", { role: "img", viewBox: `0 0 ${this.width} ${this.height}` });
    picture.setAttribute("aria-label", `${chart.title}. ${chart.summary}`);
    picture.append(draw("title", {}, chart.title), draw("desc", {}, chart.summary));
    this.overlay = draw("g", { "aria-hidden": "true" });
    const points = chart.series.flatMap((s) => s.points).filter((p) => p.y !== null);
    const empty = chart.series.length ? "There are no values." : (chart.empty ?? "Nothing is shown: press a name.");
    this.stops = [];
    if (points.length) this.fill(picture, chart, points);
    else picture.append(draw("text", { class: "name", x: 12, y: 40 }, empty));
    picture.append(this.overlay);
    this.plot.replaceChildren(picture, this.tip);
    this.together = chart.together;
    // A chart that grows keeps telling the place that is pointed at.
    if (this.keepsTip && this.current >= 0 && this.current < this.stops.length) this.tell(this.current);
    else this.hide();
  }

  fill(picture, chart, points) {
    const scales = this.scales(chart, points);
    this.area = scales.area;
    picture.append(this.axes(chart, scales));
    const inside = (p) => p.y !== null && scales.y.holds(p.y) && (p.x === null || scales.x.holds(p.x));
    for (const one of chart.series) picture.append(this.one(one, scales, inside));
    if (chart.front) picture.append(frontOf(points.filter(inside), scales));
    this.stops = chart.together ? stopsByX(chart, scales, inside) : stopsByPoint(chart, scales, inside);
  }

  scales(chart, points) {
    const tops = points.map((p) => p.high ?? p.y);
    const positive = points.map((p) => p.y).filter((v) => v > 0);
    const log = chart.y.kind === "log" && positive.length > 0;
    const area = { left: 56, right: this.width - 14, top: 26, bottom: this.height - 44 };
    const top = Math.min(Math.max(...tops), chart.y.most ?? Infinity) || 1;
    const y = log
      ? logScale(Math.min(...positive) / 1.3, top * 1.1, area.bottom, area.top)
      : linearScale(0, top, area.bottom, area.top);
    const across = points.filter((p) => p.x !== null);
    return { area, x: this.across(chart.x, across, area), y };
  }

  across(axis, points, area) {
    if (axis.kind === "classes") return classScale(axis.names, area.left, area.right);
    const low = Math.min(...points.map((p) => p.left ?? p.x));
    const high = Math.max(...points.map((p) => p.right ?? p.x));
    if (!points.length) return linearScale(0, 1, area.left, area.right);
    if (axis.kind === "log") return logScale(low / 1.5, high * 1.5, area.left, area.right);
    return linearScale(Math.min(0, low), high, area.left, area.right);
  }

  axes(chart, { area, x, y }) {
    const group = draw("g", { "aria-hidden": "true" });
    for (const tick of y.ticks) {
      const at = y.at(tick);
      group.append(draw("line", { class: "grid", x1: area.left, x2: area.right, y1: at, y2: at }));
      group.append(draw("text", { x: area.left - 6, y: at + 4, "text-anchor": "end" }, shown(tick)));
    }
    const longest = Math.max(...(chart.x.names ?? [""]).map((name) => name.length));
    const every = chart.x.names ? Math.ceil((longest * 8 * x.ticks.length) / (area.right - area.left)) : 1;
    for (const tick of x.ticks) {
      if (chart.x.names && tick % every) continue; // narrow screens: not every name fits
      const name = chart.x.names ? chart.x.names[tick] : shown(tick);
      group.append(draw("text", { x: x.at(tick), y: area.bottom + 16, "text-anchor": "middle" }, name));
    }
    const base = { class: "axis", x1: area.left, x2: area.right, y1: area.bottom, y2: area.bottom };
    const middle = { x: (area.left + area.right) / 2, y: this.height - 8, "text-anchor": "middle" };
    group.append(draw("line", base));
    group.append(draw("text", { class: "name", x: 2, y: 13 }, chart.y.label));
    group.append(draw("text", { class: "name", ...middle }, chart.x.label));
    return group;
  }

  one(one, scales, inside) {
    const look = `${one.colour} ${one.shade}`;
    const group = draw("g", { "data-series": one.label });
    if (one.level) {
      const { left: x1, right: x2 } = scales.area;
      const at = scales.y.at(one.points[0].y);
      if (inside(one.points[0])) group.append(draw("line", { class: `level ${look}`, x1, x2, y1: at, y2: at }));
      return group;
    }
    const place = (p) => [scales.x.at(p.x) + (one.shift ?? 0), scales.y.at(p.y)];
    if (one.band) group.append(draw("path", { class: `band ${look}`, d: bandPath(one.points, scales, inside) }));
    if (one.line) {
      const path = draw("path", { class: `series ${look}`, d: linePath(one.points, place, inside) });
      if (one.dash) path.setAttribute("stroke-dasharray", one.dash);
      group.append(path);
    }
    if (one.band) return group;
    for (const p of one.points.filter(inside)) {
      const [x, y] = place(p);
      group.append(...bars(p, x, y, scales, look), dot(one, x, y, p.hollow));
    }
    return group;
  }

  // ---- Reading values: pointer and keyboard ----

  listen() {
    const on = (names, action) => names.forEach((name) => this.plot.addEventListener(name, action));
    on(["pointermove", "pointerdown"], (event) => this.follow(event));
    on(["pointerleave", "blur"], () => this.hide());
    on(["keydown"], (event) => this.press(event));
  }

  follow(event) {
    if (!this.stops.length) return;
    const box = this.plot.getBoundingClientRect();
    const zoom = this.width / box.width;
    const [x, y] = [(event.clientX - box.left) * zoom, (event.clientY - box.top) * zoom];
    const distance = (stop) => {
      if (this.together) return Math.abs(stop.x - x);
      return stop.x === null ? Math.abs(stop.y - y) * 1.5 : Math.hypot(stop.x - x, stop.y - y);
    };
    let best = 0;
    this.stops.forEach((stop, i) => {
      if (distance(stop) < distance(this.stops[best])) best = i;
    });
    this.tell(best);
  }

  press(event) {
    const last = this.stops.length - 1;
    const places = {
      ArrowRight: Math.min(last, this.current + 1),
      ArrowLeft: this.current < 0 ? last : Math.max(0, this.current - 1),
      Home: 0,
      End: last,
    };
    if (event.key === "Escape") this.hide();
    else if (event.key in places && last >= 0) {
      event.preventDefault();
      this.tell(places[event.key]);
    }
  }

  tell(index) {
    this.current = index;
    const stop = this.stops[index];
    const rows = stop.rows.slice(0, MOST_SHOWN).map((row) =>
      make("p", { class: "row" }, swatch(row.one), make("span", {}, row.text)),
    );
    const rest = stop.rows.length - rows.length;
    if (rest > 0) rows.push(make("p", {}, `and ${rest} lower`));
    this.tip.replaceChildren(make("p", { class: "title" }, stop.title), ...rows);
    this.tip.hidden = false;
    this.point(stop);
    const x = stop.x ?? this.width / 2;
    const wide = this.tip.offsetWidth;
    const left = x + 14 + wide < this.width ? x + 14 : Math.max(0, x - 14 - wide);
    this.tip.style.left = `${Math.min(left, this.width - wide)}px`;
    const high = this.tip.offsetHeight;
    const below = stop.y + 12 + high < this.height ? stop.y + 12 : stop.y - 12 - high;
    this.tip.style.top = `${this.together ? this.area.top : below}px`;
  }

  point(stop) {
    const { left, right, top, bottom } = this.area;
    const line = (x1, x2, y1, y2) => draw("line", { class: "cursor", x1, x2, y1, y2 });
    if (this.together) this.overlay.replaceChildren(line(stop.x, stop.x, top, bottom));
    else if (stop.x === null) this.overlay.replaceChildren(line(left, right, stop.y, stop.y));
    else this.overlay.replaceChildren(draw("circle", { class: "ring", cx: stop.x, cy: stop.y, r: 8 }));
  }

  hide() {
    this.current = -1;
    this.tip.hidden = true;
    this.overlay?.replaceChildren();
  }
}

// ---- Shapes and stops ---------------------------------------------------------------------------

/** Points in a row that are kept, as lists: a line breaks where one is missing. */
function segments(points, keep) {
  const found = [[]];
  for (const p of points) {
    if (keep(p)) found.at(-1).push(p);
    else found.push([]);
  }
  return found.filter((part) => part.length);
}

function polygon(places) {
  return `M${places.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}`;
}

function linePath(points, place, inside) {
  return segments(points, inside).map((part) => polygon(part.map(place))).join("");
}

/** The height of an end of an interval, cut at the edges of the chart. */
function within(value, y, area) {
  return y.holds(value) ? Math.max(area.top, Math.min(area.bottom, y.at(value))) : area.bottom;
}

function bandPath(points, { x, y, area }, inside) {
  const edge = (part, end) => part.map((p) => [x.at(p.x), within(p[end], y, area)]);
  return segments(points, (p) => inside(p) && p.high !== null)
    .filter((part) => part.length > 1)
    .map((part) => `${polygon([...edge(part, "high"), ...edge(part, "low").reverse()])}Z`)
    .join("");
}

function bars(p, x, y, scales, look) {
  const found = [];
  const bar = (x1, y1, x2, y2) => found.push(draw("line", { class: `bar ${look}`, x1, y1, x2, y2 }));
  if (p.high !== null) bar(x, within(p.low, scales.y, scales.area), x, within(p.high, scales.y, scales.area));
  if (typeof p.right === "number") bar(Math.max(scales.area.left, scales.x.at(p.left)), y, scales.x.at(p.right), y);
  return found;
}

/** Points that no other beats in both: steps from the left end to the right one. */
function frontOf(points, { x, y }) {
  const sorted = [...points].sort((a, b) => a.x - b.x || a.y - b.y);
  let path = "";
  let best = Infinity;
  for (const p of sorted) {
    if (p.y >= best) continue;
    path += path ? `H${x.at(p.x).toFixed(1)}V${y.at(p.y).toFixed(1)}` : `M${x.at(p.x)} ${y.at(p.y)}`;
    best = p.y;
  }
  return draw("path", { class: "front", d: path });
}

function stopsByX(chart, scales, inside) {
  const rows = new Map();
  for (const one of chart.series) {
    for (const p of one.points.filter(inside)) {
      if (!rows.has(p.x)) rows.set(p.x, []);
      rows.get(p.x).push({ one, y: p.y, text: `${one.label}: ${p.text}` });
    }
  }
  const named = (x) => (chart.x.names ? chart.x.names[x] : x);
  return [...rows]
    .sort((a, b) => a[0] - b[0])
    .map(([x, found]) => ({
      x: scales.x.at(x),
      title: `${chart.x.label} ${named(x)}`,
      rows: found.sort((a, b) => b.y - a.y),
    }));
}

function stopsByPoint(chart, scales, inside) {
  return chart.series
    .flatMap((one) =>
      one.points.filter(inside).map((p) => ({
        x: one.level ? null : scales.x.at(p.x),
        y: scales.y.at(p.y),
        title: p.title,
        rows: p.text.map((text) => ({ one, text })),
      })),
    )
    .sort((a, b) => (a.x ?? Infinity) - (b.x ?? Infinity));
}
