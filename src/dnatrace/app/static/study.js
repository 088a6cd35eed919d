// What comes of a question: curves that grow day by day, the sentence on top, the table.

import { ask, listen, trouble } from "./wire.js";
import { tied } from "./differences.js";

const LOOKS = {
  a: { colour: "c0", shade: "v0", dash: "" },
  b: { colour: "c1", shade: "v0", dash: "" },
  floor: { colour: "c7", shade: "v0", dash: "7 3" },
  nothing: { colour: "c3", shade: "v0", dash: "2 3" },
};
const HEADS = { a: "A", b: "B", floor: "Floor of A", nothing: "Nothing done" };
const SHORT = { a: "A", b: "B", floor: "floor", nothing: "nothing done" };

export class StudyView {
  constructor(offered, ended) {
    this.offered = offered;
    this.ended = ended;
    this.figure = document.getElementById("live");
    this.id = this.shown = null; // the study that was asked for, and the one that is shown
    this.pending = false;
    this.invitation = document.getElementById("progress").textContent;
    this.hidden = new Set();
    const select = this.figure.querySelector("[name=quantity]");
    select.append(...offered.quantities.map((q) => make("option", { value: q.key }, q.label)));
    this.figure.querySelector(".controls").addEventListener("change", () => this.forget());
    for (const name of ["arm", "seed"]) {
      document.querySelector(`#digits [name=${name}]`).addEventListener("change", () => this.showDigits());
    }
    document.getElementById("digits").addEventListener("toggle", () => this.showDigits());
  }

  /** A question is on its way: until its own study speaks, what is shown answers another one. */
  asking() {
    this.pending = true;
    this.mark();
  }

  /** The question was asked, or could not be: its study, or the last one, is what counts. */
  asked() {
    this.pending = false;
    this.mark();
  }

  /** Ask, and follow what happens. The same question finds the same study, also from another tab. */
  async run(question) {
    const before = this.id;
    const { id } = await ask("studies", question);
    if (before && before !== id && this.isRunning) ask(`studies/${before}/stop`, {}).catch(() => {});
    this.follow(id);
  }

  follow(id) {
    this.source?.close();
    this.id = id;
    this.source = listen(`studies/${id}/events`, (event) => this.hear(event), (lost) => this.lost(lost));
    this.mark();
  }

  /** Whether what is shown is, to its last run, the answer to the last question. */
  get isAnswer() {
    return !this.isElsewhere && !this.isRunning;
  }

  /** Whether what is shown belongs to another question than the last one. */
  get isElsewhere() {
    return this.pending || this.id !== this.shown;
  }

  /** Tell, also those who cannot see it, whether the answer is there, and of which study it is. */
  mark() {
    const place = document.getElementById("answer");
    place.setAttribute("aria-busy", String(!this.isAnswer));
    if (this.shown) place.dataset.study = this.shown;
    this.progress();
  }

  /** Tell that the stream broke; it connects again by itself, unless the server knows it no more. */
  async lost(forGood) {
    try {
      await ask("health");
      if (forGood) trouble("The server was restarted and does not know this question. Press Run: finished runs are in the store.");
    } catch (error) {
      trouble(error.message);
    }
    if (!forGood) return;
    this.id = this.shown;
    this.over("stopped");
  }

  stop() {
    return ask(`studies/${this.id}/stop`, {});
  }

  get isRunning() {
    return this.state === "running";
  }

  // ---- Events -----------------------------------------------------------------------------------

  hear(event) {
    trouble(null);
    const handlers = { snapshot: this.begin, day: this.day, again: this.again, done: this.done, failed: this.failed };
    handlers[event.kind]?.call(this, event);
    if (event.kind === "answer") this.say(event);
    if (event.kind === "note") this.note(event.text);
    if (event.kind === "state") this.over(event.state);
    this.wantFrame();
  }

  begin(event) {
    Object.assign(this, { arms: event.arms, seeds: event.seeds, places: event.places, runs: event.runs });
    this.people = Object.fromEntries(event.arms.map((arm, i) => [arm.key, event.people[i]]));
    this.state = event.state;
    this.shown = event.id;
    document.getElementById("notes").replaceChildren();
    event.notes.forEach((words) => this.note(words));
    event.runs.forEach(({ error }) => this.tellFailure(error));
    this.figure.hidden = false;
    document.getElementById("examples").hidden = true;
    this.forget();
    this.buildLegend();
    this.say(event.answer);
    this.over(event.state);
  }

  day({ run, row }) {
    const one = this.runs[run];
    one.state = "running";
    one.rows.push(row);
  }

  again({ run }) {
    this.runs[run].rows = [];
  }

  done({ run, rows, numbers, people }) {
    Object.assign(this.runs[run], { state: "done", numbers, people }, rows ? { rows } : {});
    this.means = new Map();
  }

  failed({ run, error }) {
    Object.assign(this.runs[run], { state: "failed", error, rows: [] });
    this.tellFailure(error);
  }

  /** Say why runs failed; a reason that many share is told once. */
  tellFailure(error) {
    const words = `A run failed: ${error}`;
    const told = [...document.getElementById("notes").children].some((note) => note.textContent === words);
    if (error && !told) this.note(words);
  }

  over(state) {
    this.state = state;
    this.headline();
    this.ended(state !== "running");
    if (state !== "running" && this.runs) this.draw(); // the picture is there when the answer is
    this.mark();
  }

  note(words) {
    document.getElementById("notes").append(make("p", { class: "warning" }, words));
  }

  // ---- Words and numbers ------------------------------------------------------------------------

  say({ sentences, topics, sure, table, statements }) {
    document.getElementById("said").hidden = false;
    document.getElementById("meaning").hidden = sentences.length < 2;
    document.getElementById("numbers").hidden = !table.length;
    document.getElementById("take").hidden = !table.length;
    const [first, ...rest] = sentences;
    this.first = first;
    this.headline();
    document.getElementById("sentences").replaceChildren(
      ...rest.flatMap((text, i) => [make("dt", {}, topics[i + 1] === topics[i] ? "" : topics[i + 1]), make("dd", {}, tied(text))]),
    );
    document.getElementById("sure").textContent = tied(sure);
    if (table.length) this.showTable(table);
    this.showPromises(statements);
    this.fillDigits();
  }

  headline() {
    const none = this.isRunning ? "The first run is on its way, day by day." : "There is no answer: no run of A came to its end.";
    document.getElementById("sentence").textContent = tied(this.first ?? none);
  }

  showTable(rows) {
    const head = make("tr", {}, make("th", { scope: "col" }, ""));
    for (const { key } of this.arms) head.append(make("th", { scope: "col", class: `arm ${LOOKS[key].colour} v0` }, HEADS[key]));
    document.querySelector("#table thead").replaceChildren(head);
    document.querySelector("#table tbody").replaceChildren(
      ...rows.map(({ label, cells, differences }) => {
        const line = make("tr", {}, make("th", { scope: "row" }, label));
        for (const { key } of this.arms) {
          const cell = make("td", {}, cells[key]);
          const apart = differences[key];
          if (apart?.text) cell.append(make("small", apart.clear ? { class: "clear" } : {}, apart.text));
          line.append(cell);
        }
        return line;
      }),
    );
  }

  showPromises(statements) {
    const place = document.querySelector("#promises div");
    const parts = this.arms.filter(({ key }) => (key === "a" || key === "b") && statements[key]);
    place.replaceChildren(
      ...parts.flatMap(({ key, label }) => [
        make("h3", {}, label),
        ...statements[key].split("\n\n").map((text) => make("p", {}, text)),
      ]),
    );
  }

  fillDigits() {
    const arm = document.querySelector("#digits [name=arm]");
    const seed = document.querySelector("#digits [name=seed]");
    const keep = [arm.value, seed.value];
    arm.replaceChildren(...this.arms.map(({ key, label }) => make("option", { value: key }, label)));
    seed.replaceChildren(...this.seeds.map((s) => make("option", { value: s }, s)));
    if (keep[0] && this.arms.some(({ key }) => key === keep[0])) arm.value = keep[0];
    if (keep[1] && this.seeds.includes(Number(keep[1]))) seed.value = keep[1];
    this.showDigits();
  }

  showDigits() {
    if (!this.runs || !document.getElementById("digits").open) return;
    const arm = document.querySelector("#digits [name=arm]").value;
    const seed = Number(document.querySelector("#digits [name=seed]").value);
    const numbers = this.runs[this.places[arm][this.seeds.indexOf(seed)]].numbers;
    const rows = numbers ? Object.entries(numbers) : [["", "this run is not over yet"]];
    document.querySelector("#digits tbody").replaceChildren(
      ...rows.map(([key, value]) => make("tr", {}, make("th", { scope: "row" }, key), make("td", {}, value))),
    );
  }

  progress() {
    const place = document.getElementById("progress");
    if (this.isElsewhere) place.textContent = "Asking: the first day comes in a moment.";
    else if (!this.runs) place.textContent = this.invitation; // nothing was asked
    if (this.isElsewhere || !this.runs) return;
    const total = this.runs.length;
    const done = this.runs.filter((run) => run.state === "done").length;
    const days = this.runs.reduce((sum, run) => sum + run.rows.length, 0);
    const longest = Math.max(1, ...this.runs.map((run) => run.rows.length));
    document.getElementById("bar").style.width = `${Math.min(100, (100 * days) / (total * longest))}%`;
    const words = {
      running: days ? `${done} of ${total} runs are over.` : "Getting ready: the first day comes in a moment.",
      done: done < total ? `${done} of ${total} runs are complete; the others failed.` : `All ${total} runs are over.`,
      stopped: `Stopped: ${done} of ${total} runs are over and kept.`,
      failed: "All runs failed.",
    };
    if (place.textContent !== words[this.state]) place.textContent = words[this.state];
  }

  // ---- The chart --------------------------------------------------------------------------------

  buildLegend() {
    const series = this.arms.map(({ key, label }) => ({ label, ...LOOKS[key] }));
    const shown = new Set(series.map((one) => one.label).filter((label) => !this.hidden.has(label)));
    this.legend = new Legend(this.figure.querySelector(".legend"), series, shown, () => {
      this.hidden = new Set(series.map((one) => one.label).filter((label) => !this.legend.shown.has(label)));
      this.wantFrame();
    });
    this.chart ??= new Chart(this.figure, () => this.describe());
    this.chart.keepsTip = true;
  }

  forget() {
    this.means = new Map();
    this.wantFrame();
  }

  wantFrame() {
    if (this.frame || !this.runs) return;
    this.frame = requestAnimationFrame(() => this.draw());
  }

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = null;
    this.chart.redraw();
    this.progress();
  }

  get quantity() {
    const chosen = this.figure.querySelector("[name=quantity]").value;
    return this.offered.quantities.find(({ key }) => key === chosen);
  }

  describe() {
    const quantity = this.quantity;
    const visible = this.arms.filter(({ label }) => this.legend.shown.has(label));
    const series = visible.flatMap((arm) => this.series(arm, quantity));
    const whole = { "%": 100, "‰ of people": 1000 };
    const log = this.figure.querySelector("[name=log]").checked;
    return {
      title: `${quantity.label} by day`,
      summary: series.filter((s) => !s.thin).map(highest).join("; "),
      x: { label: "day", kind: "linear" },
      y: { label: quantity.name, kind: log ? "log" : "linear", most: whole[quantity.unit] },
      series,
      empty: !visible.length ? "Nothing is shown: press a name." : this.isRunning ? "The first day comes in a moment." : "There are no days to show.",
      together: true,
    };
  }

  /** The mean with its band over runs that are over, and a thin line for each on its way. */
  series({ key, label }, quantity) {
    const runs = this.places[key].map((place) => this.runs[place]);
    const over = runs.filter((run) => run.state === "done");
    const going = runs.filter((run) => run.state === "running" && run.rows.length);
    const look = { ...LOOKS[key], line: true, band: true };
    const found = [];
    if (over.length) {
      if (!this.means.has(key)) this.means.set(key, this.mean(over, key, quantity));
      found.push({ label, ...look, points: this.means.get(key) });
    }
    going.forEach((run, i) => {
      const alone = !over.length && i === 0;
      const points = run.rows.map((row) => point(row[0], this.value(row, key, quantity), null));
      const shade = alone ? look.shade : `${look.shade} thin`;
      const name = alone ? label : `${SHORT[key]}, on its way`;
      found.push({ label: name, ...look, shade, thin: !alone, points });
    });
    return found;
  }

  value(row, key, { columns, scale, per_person: perPerson }) {
    let sum = 0;
    for (const column of columns) {
      const value = row[this.offered.columns.indexOf(column)];
      if (value === null) return null;
      sum += value;
    }
    return (scale * sum) / (perPerson ? this.people[key] : 1);
  }

  mean(runs, key, quantity) {
    const days = Math.min(...runs.map((run) => run.rows.length));
    return Array.from({ length: days }, (_, i) => {
      const values = runs.map((run) => this.value(run.rows[i], key, quantity)).filter((v) => v !== null);
      const n = values.length;
      if (!n) return point(runs[0].rows[i][0], null, null);
      const mean = values.reduce((sum, v) => sum + v, 0) / n;
      const squares = values.reduce((sum, v) => sum + (v - mean) ** 2, 0);
      const half = n > 1 ? this.offered.quantiles[n - 2] * Math.sqrt(squares / (n - 1) / n) : null;
      return point(runs[0].rows[i][0], mean, half);
    });
  }
}

/** Mean with its interval; no number of a run is negative, so no interval is. */
function point(x, mean, half) {
  if (mean === null) return { x, y: null, low: null, high: null, text: "–" };
  const text = half === null ? shown(mean) : `${shown(mean)} ± ${shown(half)}`;
  const interval = half === null ? { low: null, high: null } : { low: Math.max(0, mean - half), high: mean + half };
  return { x, y: mean, ...interval, text };
}

/** Where a series is highest, for those who do not see the chart. */
function highest(one) {
  const there = one.points.filter((p) => p.y !== null);
  if (!there.length) return `${one.label}: no values`;
  const top = there.reduce((a, b) => (b.y > a.y ? b : a));
  return `${one.label}: highest ${shown(top.y)} on day ${top.x}`;
}
