// What each figure of the report shows, by the choices above it.

const DATA = JSON.parse(document.getElementById("data").textContent);

function start() {
  const builders = { curves, epsilon, pareto, burden };
  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    figure.querySelector(".controls").hidden = false;
    builders[figure.dataset.chart](figure);
  }
  differences(document.getElementById("results"));
  openForPrint();
}

/** Connect legend, choices and tables of a figure; `describe(visible)` says what to draw. */
function build(figure, series, describe, initially = firstShown(series)) {
  const legend = new Legend(figure.querySelector(".legend"), series, initially, () => chart.redraw());
  const note = figure.querySelector("[data-note]");
  const chart = new Chart(figure, () => {
    const drawn = describe(series.filter((one) => legend.shown.has(one.label)));
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

/** The entry of a list that is chosen above a figure. */
function chosen(figure, name, list) {
  return list.find((entry) => entry.key === figure.querySelector(`[name=${name}]`).value);
}

/** The vertical axis of a quantity, as is chosen above a figure; shares end at their whole. */
function upright(figure, quantity) {
  const whole = { "%": 100, "‰ of people": 1000 };
  const kind = figure.querySelector("[name=log]")?.checked ? "log" : "linear";
  return { label: quantity.name, kind, most: whole[quantity.unit] };
}

/** The numbers at one place of columns of numbers. */
function at({ mean, half, median }, i) {
  return mean[i] === null ? null : { mean: mean[i], half: half[i], median: median[i] };
}

/** Mean with its interval as a point; no number of a run is negative, so no interval is. */
function point(x, numbers) {
  if (numbers === null) return { x, y: null, low: null, high: null, text: "–" };
  const { mean, half } = numbers;
  const interval = half === null ? { low: null, high: null } : { low: Math.max(0, mean - half), high: mean + half };
  return { x, y: mean, ...interval, text: described(numbers) };
}

function curves(figure) {
  const series = dress(DATA.curves.series.map((s) => ({ ...s, band: true, line: true })), DATA.methods);
  build(figure, series, (visible) => {
    const quantity = chosen(figure, "quantity", DATA.curves.quantities);
    const drawn = visible.map((s) => {
      return { ...s, points: s.days.map((day, i) => point(day, at(s.values[quantity.key], i))) };
    });
    return {
      title: `${quantity.label} by day`,
      summary: heights(drawn, (p) => `on day ${p.x}`),
      table: quantity.key,
      x: { label: "day", kind: "linear" },
      y: upright(figure, quantity),
      series: drawn,
      together: true,
    };
  });
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
  build(figure, series, (visible) => {
    const quantity = chosen(figure, "quantity", DATA.results.outcomes);
    const axis = chosen(figure, "axis", DATA.epsilon.axes);
    const drawn = visible.map((s) => ({ ...s, points: epsilonPoints(s, axis, quantity) }));
    const unbounded = visible.filter((s, i) => s.private && !drawn[i].points.length);
    return {
      title: `${quantity.label} against ${axis.label}`,
      summary: epsilonSummary(drawn),
      remark: unbounded.length ? `No bound on this ε, or none told: ${unbounded.map((s) => s.label).join("; ")}.` : "",
      x: { label: `${axis.label} (logarithmic)`, kind: "log" },
      y: upright(figure, quantity),
      series: drawn.filter((s) => s.points.length),
    };
  });
}

function epsilonPoints(series, axis, quantity) {
  return series.points
    .filter((p) => series.level || p.epsilons[axis.key])
    .map((p) => {
      const x = series.level ? null : p.epsilons[axis.key];
      const up = point(x, p.values[quantity.key]);
      const cost = series.level ? "no noise" : `${axis.label}: ${shown(x)}${p.so_far[axis.key] ?? ""}${p.sound ? "" : ", not proved"}`;
      return { ...up, title: p.label, text: [up.text, cost], hollow: !p.sound };
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
  build(figure, methods, (visible) => {
    const burden = chosen(figure, "burden", DATA.results.burdens);
    const quantity = chosen(figure, "quantity", DATA.results.outcomes);
    const drawn = visible.map((m) => {
      const own = DATA.results.rows.filter((p) => p.method === m.label && p.values[burden.key]);
      return { ...m, points: own.map((p) => planePoint(p, burden, quantity)) };
    });
    return {
      title: `${quantity.label} against ${burden.label.toLowerCase()}`,
      summary: drawn.flatMap((s) => s.points).map((p) => `${p.title}: ${p.text.join(", ")}`).join("; "),
      x: { label: burden.name, kind: "linear" },
      y: upright(figure, quantity),
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
  build(figure, series, (visible) => {
    const kind = chosen(figure, "kind", DATA.burden.kinds);
    const quantity = chosen(figure, "quantity", DATA.burden.quantities);
    const table = `${kind.key}/${quantity.key}`;
    const drawn = visible.map((s, i, all) => ({
      ...s,
      shift: (i - (all.length - 1) / 2) * 2, // bars of neighbours stay apart
      points: kind.classes.map((_, k) => point(k, at(s.values[table], k))),
    }));
    return {
      title: `${quantity.label} by ${kind.key}`,
      summary: heights(drawn, (p) => `at ${kind.key} ${kind.classes[p.x]}`),
      table,
      x: { label: kind.key, kind: "classes", names: kind.classes },
      y: upright(figure, quantity),
      series: drawn,
      together: true,
    };
  });
}

/** In every cell of the table of results, the difference from the setting that is chosen above it. */
function differences(section) {
  const choice = section.querySelector("[name=baseline]");
  if (!choice) return;
  const { rows, quantities } = DATA.results;
  const show = () => {
    for (const old of section.querySelectorAll("small.difference")) old.remove();
    const base = choice.value === "" ? null : rows[Number(choice.value)];
    section.querySelector("[data-baseline]").textContent = base
      ? `Differences from ${base.label} are means over the seeds that both have, seed by seed, ± half of their ` +
        "90 % interval. One whose interval holds 0 may be chance; a dash: no common seed." + otherExtent(rows, base)
      : "";
    if (!base) return;
    section.querySelectorAll("tbody tr").forEach((line, i) => {
      quantities.forEach(({ key }, k) => {
        const gain = rows[i].days === base.days ? paired(rows[i].each, base.each, key) : null;
        const text = rows[i] === base ? "baseline" : `difference ${signed(gain)}`;
        line.children[k + 2].append(make("small", { class: "difference" }, text)); // after label and seeds
      });
    });
  };
  choice.addEventListener("change", show);
  choice.closest(".controls").hidden = false;
  show();
}

/** Which settings last differently long than one, or have another number of people. */
function otherExtent(rows, base) {
  const among = (key, words) => rows.filter((row) => row[key] !== base[key]).map((row) => `${row.label} ${words(row[key].toLocaleString("en"))}`);
  const longer = among("days", (days) => `lasts ${days} days`);
  const larger = among("people", (people) => `has ${people} people`);
  const why = "Without a difference, which would not be one of policies";
  return (longer.length ? ` ${why}: ${longer.join("; ")}, the baseline ${base.days}.` : "") +
    (larger.length ? ` Compared per person: ${larger.join("; ")}, the baseline ${base.people.toLocaleString("en")}.` : "");
}

/** Mean and half interval of the differences over common seeds; null when there is none. */
function paired(ours, theirs, key) {
  const before = new Map(theirs.seed.map((seed, i) => [seed, theirs[key][i]]));
  const both = ours.seed.map((seed, i) => [ours[key][i], before.get(seed) ?? null]);
  const gains = both.filter(([a, b]) => a !== null && b !== null).map(([a, b]) => gain(a, b));
  const n = gains.length;
  if (!n) return null;
  const mean = gains.reduce((sum, one) => sum + one, 0) / n;
  const squares = gains.reduce((sum, one) => sum + (one - mean) ** 2, 0);
  const half = n > 1 ? DATA.results.quantiles[n - 2] * Math.sqrt(squares / (n - 1) / n) : null;
  const least = ROUNDING * Math.max(...gains.map(Math.abs));
  return { mean: Math.abs(mean) > least ? mean : 0, half: half === null || half > least ? half : 0 };
}

const ROUNDING = 1e-12; // as in `sweeps/spread.py`

/** A difference; 0 where nothing but rounding differs. */
function gain(after, before) {
  return Math.abs(after - before) > ROUNDING * Math.max(Math.abs(after), Math.abs(before)) ? after - before : 0;
}

function signed(numbers) {
  if (numbers === null) return "–";
  const { mean, half } = numbers;
  return `${mean > 0 ? "+" : ""}${shown(mean)}${half === null ? "" : ` ± ${shown(half)}`}`;
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
