// Play the attacker: guess a housemate's test from your own scores.

import { ask } from "./wire.js";

const HEIGHT = 240;
const EDGE = { left: 14, top: 14, bottom: HEIGHT - 44 };

export function open(root, question) {
  return new Attacker(root, question);
}

class Attacker {
  constructor(root, question) {
    this.question = question;
    this.batch = 0;
    this.noise = true;
    this.tally = { on: { right: 0, rounds: 0, machine: 0 }, off: { right: 0, rounds: 0, machine: 0 } };
    this.history = { on: [], off: [] };
    this.build(root);
    this.load();
  }

  build(root) {
    const lead = "You live with somebody who was tested on day 0 and keeps the result secret. Your phone shows you a score "
      + "every day, computed from what phones told each other with the method and the noise of plan A. Was the test positive? "
      + "The noise is there so that you cannot tell.";
    this.status = make("p", { class: "progress", role: "status" });
    this.toggle = make("input", { type: "checkbox", id: "attacker-noise" });
    this.toggle.checked = true;
    this.toggle.addEventListener("change", () => {
      this.noise = this.toggle.checked;
      this.load();
    });
    this.plot = make("div", { class: "trace" });
    this.yes = make("button", { type: "button", class: "primary" }, "Positive");
    this.no = make("button", { type: "button", class: "primary" }, "Negative");
    this.yes.addEventListener("click", () => this.guess(true));
    this.no.addEventListener("click", () => this.guess(false));
    this.auto = make("button", { type: "button" }, "Guess 20 rounds by the nearer line");
    this.auto.addEventListener("click", () => this.guessMany(20));
    this.verdict = make("p", { class: "verdict", role: "status" }, "\u00a0");
    this.score = make("table", { class: "tally" });
    this.words = make("p", { class: "about" });
    this.again = make("button", { type: "button" }, "Play with plan A as it is now");
    this.again.hidden = true;
    this.again.addEventListener("click", () => this.fresh());
    const figure = make("figure", {}, make("div", { class: "legend" }), make("div", { class: "plot", tabindex: "0", role: "group", "aria-label": "Share of right guesses. Left and right arrows read the values." }));
    this.figure = figure;
    this.body = make("div", { class: "attack" },
      make("div", {},
        make("label", { class: "switch" }, this.toggle, " Noise on (as the method adds it). Off: what scores would reveal."),
        this.plot,
        make("p", { class: "question" }, "Was your housemate’s test positive?"),
        make("div", { class: "go" }, this.yes, this.no, this.auto),
        this.verdict),
      make("div", {}, make("h3", {}, "How well you do"), make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Right guesses" }, this.score), figure, this.words),
    );
    this.body.hidden = true;
    root.replaceChildren(make("h2", {}, "Play the attacker"), make("p", {}, lead), this.status, this.again, this.body);
  }

  async load() {
    const turn = (this.turn = (this.turn ?? 0) + 1);
    this.status.textContent = "Dealing rounds…";
    this.busy(true);
    try {
      const { a } = this.question().arms;
      this.asked = JSON.stringify(a);
      const data = await ask("rounds", { arms: { a }, noise: this.noise, round: this.batch++ });
      if (turn !== this.turn) return;
      this.data = data;
    } catch (error) {
      this.status.textContent = error.message;
      this.again.hidden = false;
      return;
    }
    this.status.textContent = "";
    this.body.hidden = false;
    this.at = 0;
    this.busy(false);
    this.show();
    this.count();
  }

  busy(is) {
    for (const button of [this.yes, this.no, this.auto]) button.disabled = is;
  }

  changed() {
    if (this.data) this.again.hidden = JSON.stringify(this.question().arms.a) === this.asked;
  }

  fresh() {
    this.again.hidden = true;
    for (const side of ["on", "off"]) {
      this.tally[side] = { right: 0, rounds: 0, machine: 0 };
      this.history[side] = [];
    }
    this.verdict.textContent = "\u00a0";
    this.load();
  }

  // ---- A round ----------------------------------------------------------------------------------

  get round() {
    return this.data.rounds[this.at];
  }

  show() {
    const { days, typical } = this.data;
    const all = [...this.data.rounds.flatMap((r) => r.scores), ...typical.negative, ...typical.positive];
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const span = high - low || 1;
    const width = Math.min(640, Math.max(320, this.plot.clientWidth)); // texts keep their size on a phone
    const right = width - EDGE.left;
    const x = (i) => EDGE.left + (i / (days.length - 1)) * (right - EDGE.left);
    const y = (v) => EDGE.bottom - ((v - low) / span) * (EDGE.bottom - EDGE.top);
    const path = (values) => `M${values.map((v, i) => `${x(i).toFixed(1)} ${y(v).toFixed(1)}`).join("L")}`;
    const test = days.indexOf(0);
    const svg = draw("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img" });
    svg.setAttribute("aria-label", `Your scores from day ${days[0]} to day ${days.at(-1)} after the test: ${this.round.scores.map((v) => v.toFixed(2)).join(", ")}. ${this.hint()}`);
    svg.append(
      draw("line", { class: "grid", x1: x(test), x2: x(test), y1: EDGE.top, y2: EDGE.bottom }),
      draw("text", { x: x(test) + 4, y: EDGE.top + 4 }, "the test"),
      draw("line", { class: "axis", x1: EDGE.left, x2: right, y1: EDGE.bottom, y2: EDGE.bottom }),
      draw("path", { class: "series c7 v0", d: path(typical.negative), "stroke-dasharray": "7 3" }),
      draw("path", { class: "series c1 v0", d: path(typical.positive), "stroke-dasharray": "2 3" }),
      draw("path", { class: "series c0 v0 own", d: path(this.round.scores) }),
    );
    this.round.scores.forEach((v, i) => svg.append(draw("circle", { class: "dot c0 v0", cx: x(i), cy: y(v), r: 3 })));
    days.forEach((day, i) => {
      if (day % 2 === 0) svg.append(draw("text", { x: x(i), y: EDGE.bottom + 16, "text-anchor": "middle" }, shown(day)));
    });
    svg.append(draw("text", { class: "name", x: EDGE.left, y: HEIGHT - 8 }, "days after your housemate’s test; up: more at risk"));
    const key = make("p", { class: "note key" }, swatch({ colour: "c0", shade: "v0" }), " your scores ", swatch({ colour: "c1", shade: "v0", dash: "2 3" }), " typical if positive ", swatch({ colour: "c7", shade: "v0", dash: "7 3" }), " typical if negative");
    this.plot.replaceChildren(svg, key);
  }

  /** For those who do not see the lines: which of the two typical ones is nearer. */
  hint() {
    return `Nearer to what is typical of a ${this.nearer() ? "positive" : "negative"} test.`;
  }

  nearer() {
    const { negative, positive } = this.data.typical;
    const away = (typical) => this.round.scores.reduce((sum, v, i) => sum + (v - typical[i]) ** 2, 0);
    return away(positive) < away(negative);
  }

  guess(positive) {
    const { positive: truth, machine } = this.round;
    const side = this.noise ? "on" : "off";
    const tally = this.tally[side];
    tally.rounds += 1;
    tally.right += positive === truth;
    tally.machine += machine === truth;
    this.history[side].push((100 * tally.right) / tally.rounds);
    this.verdict.textContent = `Last round: ${positive === truth ? "right" : "wrong"}, the test was ${truth ? "positive" : "negative"}.`;
    this.at += 1;
    if (this.at >= this.data.rounds.length) {
      this.count();
      this.load();
      return;
    }
    this.show();
    this.count();
  }

  guessMany(n) {
    for (let i = 0; i < n && this.at < this.data.rounds.length - 1; i++) this.guess(this.nearer());
    this.verdict.textContent = "Guessed by the nearer line: see the table. In few rounds luck counts.";
  }

  // ---- Success ----------------------------------------------------------------------------------

  count() {
    const cell = (right, rounds) => (rounds ? `${right} of ${rounds} (${Math.round((100 * right) / rounds)} %)` : "–");
    const rows = [["on", "with noise"], ["off", "without noise"]].map(([side, name]) => {
      const { right, rounds, machine } = this.tally[side];
      return make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, cell(right, rounds)), make("td", {}, cell(machine, rounds)));
    });
    const head = make("tr", {}, ...["Right guesses", "you", "a machine"].map((name) => make("th", { scope: "col" }, name)));
    this.score.replaceChildren(make("thead", {}, head), make("tbody", {}, ...rows));
    this.draw();
    this.say();
  }

  draw() {
    const look = { on: ["c0", "with noise"], off: ["c1", "without noise"] };
    const series = Object.entries(look).map(([side, [colour, label]]) => ({
      label, colour, shade: "v0", dash: side === "off" ? "7 3" : "", line: true, band: true,
      points: this.history[side].map((share, i) => ({ x: i + 1, y: share, low: null, high: null, text: `${shown(share)} %` })),
    }));
    const most = Math.max(20, ...series.map((s) => s.points.length));
    const level = (label, y, colour, dash) => ({
      label, colour, shade: "v0", dash, line: true, band: true,
      points: [1, most].map((x) => ({ x, y, low: null, high: null, text: `${shown(y)} %` })),
    });
    series.push(level("a coin", 50, "c7", "2 3"));
    if (this.data.limit < 1 && this.noise) series.push(level("the most the promise allows", 100 * this.data.limit, "c3", "9 3 2 3"));
    this.described = {
      title: "Your right guesses over the rounds", summary: series.map((s) => s.points.length ? `${s.label}: ${s.points.at(-1).text}` : "").filter(Boolean).join("; "),
      x: { label: "round", kind: "linear" }, y: { label: "right guesses so far, %", kind: "linear", most: 100 },
      series: series.filter((s) => s.points.length), together: true,
    };
    this.legend = new Legend(this.figure.querySelector(".legend"), this.described.series, new Set(this.described.series.map((s) => s.label)), () => this.chart.redraw());
    this.chart ??= new Chart(this.figure, () => ({ ...this.described, series: this.described.series.filter((s) => this.legend.shown.has(s.label)) }));
    this.chart.redraw();
  }

  say() {
    const { machine, limit, epsilon } = this.data;
    const [low, high] = machine.interval;
    const parts = [
      `A machine that has seen 1,000 rounds of each kind is right ${shown(100 * machine.success)} times in 100 (${shown(100 * low)} to ${shown(100 * high)}, ${machine.rounds.toLocaleString("en")} rounds); a coin 50 times.`,
    ];
    if (!this.noise) parts.push("Without noise nothing limits you.");
    else if (epsilon === null) parts.push("Nothing is proved that would limit you over all time.");
    else if (limit > 0.999) parts.push(`ε = ${shown(epsilon)} for one test of a person, for ever: so large that it limits nobody.`);
    else parts.push(`ε = ${shown(epsilon)} for one test of a person, for ever: nobody, whatever they compute, is right more than ${shown(100 * limit)} times in 100: odds of ${shown(limit / (1 - limit))} to 1 where a coin has 1 to 1.`);
    this.words.textContent = parts.join(" ");
  }
}
