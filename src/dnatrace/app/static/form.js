// What is asked: the situation, the controls of A and B, all parameters. The server checks every
// value as it is typed and says in words what is impossible.

import { ask } from "./wire.js";
import { parsed, written } from "./link.js";
import { tied } from "./differences.js";

const WAIT = 120; // milliseconds after the last key before the server is asked

export class Form {
  constructor(offered, changed) {
    this.offered = offered;
    this.changed = changed;
    this.fields = [];
    this.values = { a: {}, b: {} };
    this.problems = { a: {}, b: {} };
    this.private = { a: true, b: true };
    this.known = new Map(offered.parameters.map((one) => [one.key, one]));
    this.element = document.getElementById("question");
    this.buildCards();
    this.buildControls();
    this.buildOther();
    this.compare = document.getElementById("compare");
    this.compare.addEventListener("change", () => this.toggleB());
    this.seeds = document.getElementById("seeds");
    this.seeds.addEventListener("input", () => this.edited());
    document.getElementById("reset").addEventListener("click", () => this.restore({ ...this.base(), a: {}, b: null, own: null }));
    const all = document.getElementById("all");
    all.addEventListener("toggle", () => all.open && this.buildParameters());
    document.getElementById("find").addEventListener("input", () => this.filter());
  }

  base() {
    return { preset: this.state.preset, scenario: this.state.scenario };
  }

  /** Take settings as a link has them. */
  restore({ preset, scenario, a = {}, b = null, own = null, seeds = null }) {
    const first = this.offered.situations[0].preset;
    this.state = { preset: preset ?? first, scenario: scenario ?? null, a: { ...a }, b: b && { ...b }, own: null };
    if (b && own) this.state.own = { preset: own.preset ?? first, scenario: own.scenario ?? null };
    this.seeds.value = seeds ?? (this.seeds.value || this.offered.seeds);
    this.compare.checked = this.state.b !== null;
    this.markCard();
    this.show();
    return this.check(true);
  }

  /** The question as the server takes it. */
  question() {
    const { a, b } = this.state;
    const arms = { a: { ...this.situation("a"), set: { ...a } } };
    if (b) arms.b = { ...this.situation("b"), set: { ...b } };
    return { arms, seeds: Number(this.seeds.value) };
  }

  /** Where a plan begins: B has a situation of its own, or that of A. */
  situation(arm) {
    const { preset, scenario } = (arm === "b" && this.state.own) || this.state;
    return { preset, scenario };
  }

  /** The question with all values that hold, to be compared with later ones. */
  held() {
    const question = this.question();
    const values = Object.fromEntries(Object.keys(question.arms).map((arm) => [arm, { ...this.values[arm] }]));
    return { question, values };
  }

  settings() {
    return { ...this.state, seeds: Number(this.seeds.value) };
  }

  // ---- Situations -------------------------------------------------------------------------------

  buildCards() {
    const first = document.getElementById("situations");
    const more = document.querySelector("#more-situations .cards");
    for (const situation of this.offered.situations) {
      const radio = make("input", { type: "radio", name: "situation", value: situation.name });
      radio.situation = situation;
      radio.addEventListener("change", () => {
        const { b, own } = this.state;
        this.restore({ ...situation, a: {}, b: own ? b : b && {}, own });
      });
      const words = make("span", {}, make("strong", {}, situation.label), tied(situation.title));
      (situation.first ? first : more).append(make("label", { class: "card" }, radio, words));
    }
  }

  markCard() {
    for (const radio of this.element.querySelectorAll("[name=situation]")) {
      const { preset, scenario } = radio.situation;
      radio.checked = preset === this.state.preset && scenario === this.state.scenario;
      if (radio.checked && !radio.situation.first) document.getElementById("more-situations").open = true;
    }
  }

  /** B begins in the situation of A, or in one of its own. */
  buildOther() {
    this.other = document.getElementById("situation-b");
    this.other.append(make("option", { value: "" }, "the same situation as A"));
    for (const { name, label } of this.offered.situations) this.other.append(make("option", { value: name }, label));
    this.other.addEventListener("change", async () => {
      const card = this.offered.situations.find(({ name }) => name === this.other.value);
      const own = card ? { preset: card.preset, scenario: card.scenario } : null;
      const b = own ? await this.sizeOfA(own) : {};
      this.restore({ ...this.state, b, own });
    });
  }

  /** What makes another situation as large and as long as A, so that the two can be compared. */
  async sizeOfA(own) {
    const { a } = await ask("check", { arms: { a: { ...own, set: {} } } });
    const differ = (key) => a.values && a.values[key] !== this.values.a[key];
    const keys = [...(differ("people") ? ["people", "initially_infected"] : []), ...(differ("days") ? ["days"] : [])];
    return Object.fromEntries(keys.map((key) => [key, this.values.a[key]]).filter(([, value]) => value !== null));
  }

  // ---- Controls ---------------------------------------------------------------------------------

  buildControls() {
    for (const [id, controls] of [["controls", this.offered.controls], ["lever-grid", this.offered.levers]]) {
      const grid = document.getElementById(id);
      grid.append(make("span", { class: "head" }), head("A"), head("B"));
      for (const control of controls) grid.append(...this.row(control, control.label, control.unit));
    }
  }

  /** A label, and an input each for A and B. */
  row(spec, label, hint) {
    const id = `${spec.label ? "c" : "p"}-${spec.key.replaceAll(".", "-")}`;
    const long = spec.kind === "choice" && spec.label ? " long" : "";
    const name = make("label", { for: `${id}-a`, class: `name${long}` }, label);
    if (hint) name.append(make("small", {}, hint));
    const cells = ["a", "b"].map((arm) => {
      const field = new Field(spec, arm, id, label, (value) => this.set(arm, spec.key, value));
      this.fields.push(field);
      if (long) field.cell.classList.add("long");
      return field.cell;
    });
    return [name, ...cells];
  }

  buildParameters() {
    const grid = document.getElementById("parameters");
    if (grid.childElementCount) return;
    grid.append(make("span", { class: "head" }), head("A"), head("B"));
    this.rows = this.offered.parameters.map((known) => {
      const source = known.source ? `${known.meaning}. Source: ${known.source}` : known.meaning;
      const whose = known.of.length ? ` (of ${known.of.join(", ")})` : "";
      const parts = this.row(known, known.key, source + whose);
      grid.append(...parts);
      return { known, parts, text: `${known.key} ${known.meaning} ${known.source}`.toLowerCase() };
    });
    this.show();
    this.filter();
  }

  /** Show parameters that hold the words that are looked for and mean something to what is chosen. */
  filter() {
    const words = document.getElementById("find").value.toLowerCase().split(/\s+/);
    for (const { known, parts, text } of this.rows ?? []) {
      const idle = ["a", "b"].every((arm) => !this.state[arm] || (this.isIdle(arm, known.key) && !(known.key in this.state[arm])));
      const hidden = idle || !words.every((word) => text.includes(word));
      for (const part of parts) part.classList.toggle("gone", Boolean(hidden));
    }
  }

  toggleB() {
    this.state.b = this.compare.checked ? { ...this.state.a } : null;
    this.state.own = null;
    this.values.b = { ...this.values.a };
    this.private.b = this.private.a;
    this.show();
    this.filter();
    this.edited();
  }

  set(arm, key, value) {
    const own = this.state[arm];
    if (value === undefined) delete own[key];
    else own[key] = value;
    const name = `${key.split(".")[0]}.name`;
    if (key === name) {
      // What the last method or policy alone had goes with it.
      for (const other of Object.keys(own)) if (other.split(".")[0] === key.split(".")[0] && this.isOfOthers(other, value)) delete own[other];
    } else if (value !== undefined && this.isIdle(arm, key)) own[name] = this.known.get(key).of[0]; // who sets a lever wants its policy
    this.edited();
  }

  /** Whether a setting belongs to other methods or policies than the named one. */
  isOfOthers(key, name) {
    const of = this.known.get(key)?.of ?? [];
    return of.length > 0 && !of.includes(name);
  }

  isIdle(arm, key) {
    const name = `${key.split(".")[0]}.name`;
    return this.isOfOthers(key, this.state[arm]?.[name] ?? this.values[arm][name]);
  }

  // ---- Checking ---------------------------------------------------------------------------------

  edited() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.check(), WAIT);
    this.changed();
  }

  /**
   * Ask the server what is wrong and which values hold; the last question counts. Beside what is
   * wrong the last values stay, unless the settings are others altogether: then those of the rest.
   */
  async check(anew = false) {
    clearTimeout(this.timer);
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const question = this.question();
    const found = await ask("check", { arms: question.arms });
    if (turn !== this.turn) return this.ok;
    for (const arm of ["a", "b"]) {
      this.problems[arm] = found[arm]?.problems ?? {};
      const held = found[arm]?.values ? found[arm] : anew && found[arm]?.rest;
      if (!held) continue;
      this.values[arm] = held.values;
      this.private[arm] = held.private;
    }
    this.show();
    this.unfold();
    this.filter();
    this.changed();
    return this.ok;
  }

  /** Open what is folded where there is something to see: levers that are in use, what is wrong. */
  unfold() {
    const levers = document.getElementById("levers");
    const uses = Object.keys(this.question().arms).some((arm) => this.values[arm]["policy.name"] === this.offered.lever_policy);
    if (uses && !this.used) levers.open = true;
    this.used = uses;
    if (levers.querySelector("[aria-invalid=true]")) levers.open = true;
  }

  get ok() {
    return this.seedsOk && ["a", "b"].every((arm) => !Object.keys(this.problems[arm]).length);
  }

  get seedsProblem() {
    return `Runs per plan: a whole number from 1 to ${this.offered.most_seeds}.`;
  }

  get seedsOk() {
    const n = Number(this.seeds.value);
    return Number.isInteger(n) && n >= 1 && n <= this.offered.most_seeds;
  }

  show() {
    const withB = this.state.b !== null;
    this.element.classList.toggle("with-b", withB);
    const { own } = this.state;
    const named = own && this.offered.situations.find((one) => one.preset === own.preset && one.scenario === own.scenario);
    this.other.value = named?.name ?? "";
    document.getElementById("about-b").textContent = withB && named ? tied(`${named.title}.`) : "";
    for (const field of this.fields) {
      const arm = field.arm;
      if (arm === "b" && !withB) continue;
      const { key } = field.spec;
      const idle = this.isIdle(arm, key);
      field.show(this.state[arm][key], idle ? undefined : this.values[arm][key], this.problems[arm][key]);
      field.mark(arm === "b" && JSON.stringify(this.values.b[key]) !== JSON.stringify(this.values.a[key]));
      field.idle(key.startsWith("privacy.") && !this.private[arm] && !field.spec.meaning);
      field.offer(idle ? this.known.get(key).of[0] : "");
    }
    for (const arm of ["a", "b"]) this.showRest(arm);
    const seeds = document.getElementById("problem-seeds");
    seeds.hidden = this.seedsOk;
    seeds.textContent = this.seedsOk ? "" : this.seedsProblem;
    this.seeds.setAttribute("aria-invalid", String(!this.seedsOk));
  }

  /** Problems that no visible field shows. */
  showRest(arm) {
    const place = document.getElementById(`problem-${arm}`);
    const shown = new Set(this.fields.map((field) => field.spec.key));
    const rest = Object.entries(this.problems[arm]).filter(([key]) => !shown.has(key)).map(([, words]) => words);
    place.hidden = !rest.length;
    place.textContent = rest.length ? `${arm.toUpperCase()}: ${rest.join(" ")}` : "";
  }
}

function head(text) {
  return make("span", { class: `head ${text.toLowerCase()}` }, text);
}

/** One input: shows the value that holds until another is typed; empty means the situation's own. */
class Field {
  constructor(spec, arm, id, label, typed) {
    Object.assign(this, { spec, arm, typed });
    this.input = this.build();
    this.input.id = `${id}-${arm}`;
    if (arm === "b") this.input.setAttribute("aria-label", `${label}, B`);
    this.problem = make("small", { class: "problem", id: `${id}-${arm}-problem` });
    this.problem.hidden = true;
    this.input.setAttribute("aria-describedby", this.problem.id);
    this.cell = make("div", { class: `cell ${arm}` }, this.input, this.problem);
    this.input.addEventListener(this.spec.kind === "number" || this.spec.kind === "text" ? "input" : "change", () =>
      typed(this.read()),
    );
  }

  build() {
    const { kind, choices } = this.spec;
    if (kind === "switch") return make("input", { type: "checkbox" });
    if (kind !== "choice") return make("input", { type: "text", inputmode: kind === "number" ? "decimal" : "text", autocomplete: "off" });
    const select = make("select");
    if (this.spec.absent) select.append(make("option", { value: "" }, "absent"));
    for (const { value, label } of choices) select.append(make("option", { value }, label));
    return select;
  }

  /** What was typed as a value of the setting; undefined for nothing. */
  read() {
    const { kind, scale, whole, unit = "" } = this.spec;
    if (kind === "switch") return this.input.checked;
    const typed = this.input.value.trim();
    const text = unit.startsWith("%") ? typed.replace(/(?<=\d)\s*%$/, "") : typed;
    if (text === "") return undefined;
    if (kind === "choice") return text;
    // 10,000 as this page writes it, 10.000 and 10 000 for whole numbers; a comma elsewhere is a decimal point.
    const thousands = whole ? /^\d{1,3}([,.\s’']\d{3})+$/ : /^\d{1,3}(,\d{3})+$/;
    const number = Number(thousands.test(text) ? text.replace(/\D/g, "") : text.replace(",", "."));
    if (kind === "number" && Number.isFinite(number)) return scale ? Number((number / scale).toPrecision(12)) : number;
    return parsed(text);
  }

  show(own, holds, problem) {
    if (document.activeElement !== this.input || own === undefined) this.put(own, holds);
    this.problem.hidden = !problem;
    this.problem.textContent = problem ? this.inUnits(own) ?? problem : "";
    this.input.setAttribute("aria-invalid", String(Boolean(problem)));
    this.cell.classList.toggle("changed", own !== undefined);
  }

  /** What is wrong with a number in the units of the field, where the setting has others. */
  inUnits(own) {
    const { scale, low, high, unit } = this.spec;
    if (!scale || typeof own !== "number") return null;
    const written = (value) => `${this.text(value).replace("-", "−")}${unit.startsWith("%") ? "\u00a0%" : ""}`;
    if (high !== null && own > high) return `at most ${written(high)}, not ${written(own)}`;
    if (low !== null && own < low) return `at least ${written(low)}, not ${written(own)}`;
    return null;
  }

  put(own, holds) {
    const value = own ?? holds ?? null;
    if (this.spec.kind === "switch") this.input.checked = Boolean(value);
    else if (this.spec.kind === "choice") this.input.value = value ?? "";
    else if (document.activeElement === this.input) return;
    else if (own === undefined && Array.isArray(value)) {
      this.input.value = "";
      this.input.placeholder = "by age";
    } else {
      this.input.value = value === null ? "" : this.text(value);
      this.input.placeholder = "";
    }
  }

  text(value) {
    if (typeof value !== "number") return written(value);
    return String(this.spec.scale ? Number((value * this.spec.scale).toPrecision(12)) : value);
  }

  /** A setting that the plan does not have yet: typing one chooses what has it. */
  offer(owner) {
    if (owner && this.input.type === "text") this.input.placeholder = "off";
    this.input.title = owner ? `A value here chooses “${owner}”.` : this.quiet;
  }

  mark(differs) {
    this.cell.classList.toggle("differs", differs);
  }

  idle(idle) {
    this.cell.classList.toggle("idle", idle);
    this.quiet = idle ? "This method adds no noise: ε has no effect." : "";
  }
}
