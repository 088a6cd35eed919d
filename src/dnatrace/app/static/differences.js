// Settings in words: what a question was, and in what two questions differ.

import { written } from "./link.js";

const EXTENT = ["people", "days"]; // where plans differ in these, both are told
const MOST = 4; // differences that are told one by one

/** A text whose numbers stay on one line with their signs: “8 %”, “53 ± 33”, “ε = 1”. */
export function tied(text) {
  return text.replace(/(\d) (?=[%‰])/g, "$1\u00a0").replaceAll("ε = ", "ε\u00a0=\u00a0").replaceAll(" ± ", "\u00a0±\u00a0");
}

export class Words {
  constructor(offered) {
    this.situations = offered.situations;
    this.leverPolicy = offered.lever_policy;
    this.controls = new Map([...offered.controls, ...offered.levers].map((one) => [one.key, one]));
  }

  /** The name of a card, or of what no card stands for. */
  situation({ preset, scenario }) {
    const card = this.situations.find((one) => one.preset === preset && one.scenario === scenario);
    return card?.label ?? [preset, scenario].filter(Boolean).join(" with ");
  }

  name(key) {
    const control = this.controls.get(key);
    return control ? control.label.charAt(0).toLowerCase() + control.label.slice(1) : key;
  }

  value(key, value) {
    if (value === undefined) return "off";
    if (value === null) return "absent";
    const { scale, unit = "", choices = [] } = this.controls.get(key) ?? {};
    const choice = choices.find((one) => one.value === value);
    if (choice) return `“${choice.label.split(":")[0]}”`; // as its field says it
    if (typeof value !== "number") return `“${written(value)}”`;
    const text = scale ? Number((value * scale).toPrecision(12)) : value;
    const short = unit.startsWith("%") ? " %" : unit.startsWith("days") ? ` day${text === 1 ? "" : "s"}` : "";
    return `${text.toLocaleString("en", { maximumSignificantDigits: 12 })}${short}`;
  }

  /** A question in a line: where each plan begins, what was changed there, and other people or days. */
  question({ arms }, values) {
    const apart = arms.b ? EXTENT.filter((key) => values.a[key] !== values.b[key]) : [];
    const plans = Object.entries(arms).map(([arm, { set, ...situation }]) => {
      const levers = set["policy.name"] === this.leverPolicy && Object.keys(set).filter((key) => key.startsWith("policy.")).length > 1;
      const told = Object.entries(set).filter(([key]) => !(levers && key === "policy.name")); // its levers say it
      const changes = told.map(([key, value]) => `${this.name(key)} ${this.value(key, value)}`);
      const extent = apart.filter((key) => !(key in set)).map((key) => `${this.name(key)} ${this.value(key, values[arm][key])}`);
      return `${arm.toUpperCase()}: ${[`“${this.situation(situation)}”`, ...changes, ...extent].join(", ")}.`;
    });
    return `Asked: ${plans.join(" ")}`;
  }

  /** In what the settings of now differ from those of an answer; no words for in nothing. */
  differences(then, now) {
    const found = [];
    for (const arm of ["a", "b"]) {
      const plan = arm.toUpperCase();
      const [old, fresh] = [then.values[arm], now.values[arm]];
      if (!old && fresh) found.push("there is a plan B");
      if (old && !fresh) found.push("there is no plan B");
      if (!old || !fresh) continue;
      const keys = [...new Set([...Object.keys(old), ...Object.keys(fresh)])];
      const changed = keys.filter((key) => JSON.stringify(old[key]) !== JSON.stringify(fresh[key]));
      const [from, to] = [then, now].map(({ question }) => this.situation(question.arms[arm]));
      if (changed.length && from !== to) found.push(`${plan} begins with “${to}” instead of “${from}”`);
      const told = changed.filter((key) => from === to || this.controls.has(key));
      const words = told.map((key) => `${plan}: ${this.name(key)} ${this.value(key, fresh[key])} instead of ${this.value(key, old[key])}`);
      found.push(...words.slice(0, MOST));
      if (words.length > MOST) found.push(`and ${words.length - MOST} more of ${plan}`);
    }
    const [runs, before] = [now.question.seeds, then.question.seeds];
    if (runs !== before) found.push(`${runs} runs per plan instead of ${before}`);
    return found;
  }
}
