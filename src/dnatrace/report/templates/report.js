// What each figure of the report shows, by the choices above it.

const DATA = JSON.parse(document.getElementById("data").textContent);

function start() {
  const builders = { curves, epsilon, pareto, burden };
  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    figure.querySelector(".controls").hidden = false;
    builders[figure.dataset.chart](figure);
  }
  openForPrint();
}

/** Connect legend, choices and tables of a figure; `describe(legend)` says what to draw. */
function build(figure, series, describe, initially) {
  const legend = new Legend(figure.querySelector(".legend"), series, initially, () => chart.redraw());
  const note = figure.querySelector("[data-note]");
  const chart = new Chart(figure, () => {
    const drawn = describe(legend);
    showTable(figure, drawn.table);
    const hidden = series.length - legend.shown.size;
    const text = hidden ? [`${legend.shown.size} of ${series.length} are shown; press a name to add it.`] : [];
    note.textContent = [...text, drawn.remark].filter(Boolean).join(" ");
    return drawn;
  });
  figure.querySelector(".controls").addEventListener("change", () => chart.redraw());
  chart.redraw();
}

/** The tables of a figure are all in the page; show the one of the current choice. */
function showTable(figure, key) {
  for (const table of figure.querySelectorAll("[data-quantity]")) table.hidden = table.dataset.quantity !== key;
}

function chosen(figure, name) {
  return figure.querySelector(`[name=${name}]`).value;
}

function scaleOf(figure) {
  return figure.querySelector("[name=log]").checked ? "log" : "linear";
}

function named(quantity) {
  return quantity.unit ? `${quantity.label}, ${quantity.unit}` : quantity.label;
}

/** The vertical axis of a quantity; shares end at their whole. */
function upright(quantity, kind) {
  const whole = { "%": 100, "‰ of people": 1000 };
  return { label: named(quantity), kind, most: whole[quantity.unit] };
}

function find(list, key) {
  return list.find((entry) => entry.key === key);
}

/** The numbers at one place of columns of numbers. */
function at({ mean, half, median }, i) {
  return mean[i] === null ? null : { mean: mean[i], half: half[i], median: median[i] };
}

/** Mean with its interval as a point. */
function point(x, numbers) {
  if (numbers === null) return { x, y: null, low: null, high: null, text: "–" };
  const { mean, half } = numbers;
  const interval = half === null ? { low: null, high: null } : { low: mean - half, high: mean + half };
  return { x, y: mean, ...interval, text: described(numbers) };
}

function curves(figure) {
  const series = dress(DATA.curves.series.map((s) => ({ ...s, band: true, line: true })), DATA.methods);
  build(figure, series, (legend) => {
    const quantity = find(DATA.curves.quantities, chosen(figure, "quantity"));
    const visible = series.filter((s) => legend.shown.has(s.label)).map((s) => {
      return { ...s, points: s.days.map((day, i) => point(day, at(s.values[quantity.key], i))) };
    });
    return {
      title: `${quantity.label} by day`,
      summary: heights(visible, (p) => `on day ${p.x}`),
      table: quantity.key,
      x: { label: "day", kind: "linear" },
      y: upright(quantity, scaleOf(figure)),
      series: visible,
      together: true,
    };
  }, firstShown(series));
}

/** Where every series is highest, for those who do not see the chart. */
function heights(series, where) {
  const parts = series.map((s) => {
    const there = s.points.filter((p) => p.y !== null);
    if (!there.length) return `${s.label}: no values`;
    const top = there.reduce((a, b) => (b.y > a.y ? b : a));
    return `${s.label}: highest ${shown(top.y)} ${where(top)}`;
  });
  return parts.join("; ");
}

function epsilon(figure) {
  const series = dress(DATA.epsilon.series.map((s) => ({ ...s, level: !s.private, line: true })), DATA.methods);
  build(figure, series, (legend) => {
    const quantity = find(DATA.epsilon.quantities, chosen(figure, "quantity"));
    const axis = find(DATA.epsilon.axes, chosen(figure, "axis"));
    const visible = series.filter((s) => legend.shown.has(s.label));
    const drawn = visible.map((s) => ({ ...s, points: epsilonPoints(s, axis, quantity) }));
    const unbounded = visible.filter((s, i) => s.private && !drawn[i].points.length);
    return {
      title: `${quantity.label} against ${axis.label}`,
      summary: epsilonSummary(drawn),
      remark: unbounded.length ? `No bound on this ε: ${unbounded.map((s) => s.label).join("; ")}.` : "",
      x: { label: `${axis.label} (logarithmic)`, kind: "log" },
      y: upright(quantity, scaleOf(figure)),
      series: drawn.filter((s) => s.points.length),
    };
  }, firstShown(series));
}

function epsilonPoints(series, axis, quantity) {
  return series.points
    .filter((p) => series.level || p.epsilons[axis.key])
    .map((p) => {
      const x = series.level ? null : p.epsilons[axis.key];
      const text = [p.outcomes[quantity.key] ? described(p.outcomes[quantity.key]) : "–"];
      text.push(series.level ? "no noise" : `${axis.label}: ${shown(x)}${p.sound ? "" : ", not proved"}`);
      return { ...point(x, p.outcomes[quantity.key]), title: p.label, text, hollow: !p.sound };
    })
    .sort((a, b) => a.x - b.x);
}

function epsilonSummary(series) {
  const told = (p) => (p.x === null ? shown(p.y) : `${shown(p.y)} at ${shown(p.x)}`);
  return series.map((s) => `${s.label}: ${s.points.map(told).join(", ")}`).join("; ");
}

function pareto(figure) {
  const methods = DATA.methods.map((name) => ({ label: name, method: name, dots: true, dash: "" }));
  dress(methods, DATA.methods.length > 1 ? DATA.methods : [""]);
  build(figure, methods, (legend) => {
    const burden = find(DATA.pareto.burdens, chosen(figure, "burden"));
    const quantity = find(DATA.pareto.outcomes, chosen(figure, "quantity"));
    const drawn = methods.filter((m) => legend.shown.has(m.label)).map((m) => {
      const own = DATA.pareto.points.filter((p) => p.method === m.label && p.values[burden.key]);
      return { ...m, points: own.map((p) => planePoint(p, burden, quantity)) };
    });
    return {
      title: `${quantity.label} against ${burden.label.toLowerCase()}`,
      summary: drawn.flatMap((s) => s.points).map((p) => `${p.title}: ${p.text.join(", ")}`).join("; "),
      x: { label: named(burden), kind: "linear" },
      y: upright(quantity, scaleOf(figure)),
      series: drawn,
      front: true,
    };
  }, new Set(DATA.methods));
}

function planePoint(p, burden, quantity) {
  const across = point(null, p.values[burden.key]);
  const up = point(null, p.values[quantity.key]);
  const text = [`${quantity.label}: ${up.text}`, `${burden.label}: ${across.text}`];
  return { ...up, x: across.y, left: across.low, right: across.high, title: p.label, text };
}

function burden(figure) {
  const series = dress(DATA.burden.series.map((s) => ({ ...s, line: true })), DATA.methods);
  build(figure, series, (legend) => {
    const kind = find(DATA.burden.kinds, chosen(figure, "kind"));
    const quantity = find(DATA.burden.quantities, chosen(figure, "quantity"));
    const visible = series.filter((s) => legend.shown.has(s.label)).map((s, i, all) => ({
      ...s,
      shift: (i - (all.length - 1) / 2) * 2, // bars of neighbours stay apart
      points: kind.classes.map((_, k) => point(k, at(s.values[kind.key][quantity.key], k))),
    }));
    return {
      title: `${quantity.label} by ${kind.key}`,
      summary: heights(visible, (p) => `at ${kind.key} ${kind.classes[p.x]}`),
      table: `${kind.key}/${quantity.key}`,
      x: { label: kind.key, kind: "classes", names: kind.classes },
      y: upright(quantity, "linear"),
      series: visible,
      together: true,
    };
  }, firstShown(series));
}

/** Paper has nothing to press: open what is folded, and fold it again afterwards. */
function openForPrint() {
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const details of opened) details.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const details of opened) details.open = false;
  });
}

start();
