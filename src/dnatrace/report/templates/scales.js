"use strict";
// What charts are made of: elements, numbers, scales, colours, legends. Texts are set as text, never
// as markup.

const SVG = "http://www.w3.org/2000/svg";
const DASHES = ["", "7 3", "2 3", "9 3 2 3", "14 4", "1 4"];
const COLOURS = 8;
const SHADES = 3;
const MOST_SHOWN = 8; // lines at first, and rows of a tooltip

function make(tag, attributes = {}, ...children) {
  return furnish(document.createElement(tag), attributes, children);
}

function draw(tag, attributes = {}, ...children) {
  return furnish(document.createElementNS(SVG, tag), attributes, children);
}

function furnish(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** A number as in the tables and on the terminal: digit for digit `shown` of `runs/quantities.py`. */
function shown(value) {
  if (!Number.isFinite(value)) return "–";
  const size = rounded(Math.abs(value));
  const text = size >= 1000 ? size.toLocaleString("en") : size > 0 && size < 1e-4 ? inPowers(size) : String(size);
  return value < 0 && size > 0 ? `−${text}` : text; // a minus sign, not a hyphen
}

/** Three significant digits, whole from 1,000 on, halves upwards; of the twelve digits that count. */
function rounded(size) {
  const [digits, power] = size.toExponential(11).split("e");
  const whole = Number(digits.replace(".", ""));
  const dropped = Math.max(0, power >= 3 ? 11 - power : 9);
  const unit = 10 ** dropped;
  const kept = Math.floor(whole / unit) + (2 * (whole % unit) >= unit ? 1 : 0);
  return Number(`${kept}e${power - 11 + dropped}`);
}

function inPowers(size) {
  return size.toExponential().replace(/e-(\d)$/, "e-0$1");
}

/** Mean ± half of the 90 % interval, and the median when there are several seeds. */
function described(numbers) {
  if (numbers.half === null) return shown(numbers.mean);
  return `${shown(numbers.mean)} ± ${shown(numbers.half)}, median ${shown(numbers.median)}`;
}

// ---- Scales: from values to pixels -----------------------------------------------------------

function linearScale(low, high, from, to) {
  if (high <= low) high = low + 1;
  const step = niceStep((high - low) / Math.max(2, Math.abs(to - from) / 70));
  const last = Math.ceil(high / step - 1e-9) * step;
  const ticks = [];
  for (let k = Math.ceil(low / step); k * step <= last + step / 1e6; k++) ticks.push(k * step);
  return { at: (v) => from + ((v - low) / (last - low)) * (to - from), ticks, holds: () => true };
}

function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find((m) => m * power >= rough * 0.999);
}

function logScale(low, high, from, to) {
  const [a, b] = low === high ? [low / 2, high * 2] : [low, high];
  const span = Math.log10(b) - Math.log10(a);
  const marks = span < 1.5 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(span / (Math.abs(to - from) / 45)));
  const ticks = [];
  for (let k = Math.floor(Math.log10(a)); k <= Math.ceil(Math.log10(b)); k++) {
    if (k % every) continue;
    for (const m of marks) {
      const tick = Number((m * 10 ** k).toPrecision(1));
      if (tick >= a * 0.999 && tick <= b * 1.001) ticks.push(tick);
    }
  }
  const at = (v) => from + ((Math.log10(v) - Math.log10(a)) / span) * (to - from);
  return { at, ticks, holds: (v) => v > 0 };
}

function classScale(names, from, to) {
  const width = (to - from) / names.length;
  return { at: (i) => from + width * (i + 0.5), ticks: names.map((_, i) => i), holds: () => true };
}

// ---- Colours: one per method, shades and dashes for its variants --------------------------------

/**
 * Give every series a look: the plain variant of a method has its full colour and no dashes. With
 * one method alone, every series has a colour of its own.
 */
function dress(series, methods) {
  const seen = new Map();
  for (const one of series) if (one.plain) seen.set(one.method, 1);
  series.forEach((one, i) => {
    const variant = one.plain ? 0 : (seen.get(one.method) ?? 0);
    if (!one.plain) seen.set(one.method, variant + 1);
    const alone = methods.length === 1;
    one.colour = `c${(alone ? i : methods.indexOf(one.method)) % COLOURS}`;
    one.shade = `v${alone ? 0 : variant % SHADES}`;
    one.dash = DASHES[(alone ? Math.floor(i / COLOURS) : variant) % DASHES.length];
  });
  return series;
}

/** Which series to show at first: all when few; else of every method the plain one, or the first. */
function firstShown(series) {
  if (series.length <= MOST_SHOWN) return new Set(series.map((s) => s.label));
  const chosen = new Map();
  for (const s of series) if (s.plain || !chosen.has(s.method)) chosen.set(s.method, s.label);
  if (chosen.size > 1) return new Set(chosen.values());
  return new Set(series.slice(0, MOST_SHOWN).map((s) => s.label));
}

function swatch(one) {
  const sample = draw("svg", { class: "swatch", viewBox: "0 0 26 10", "aria-hidden": "true" });
  const look = { class: `series ${one.colour} ${one.shade}`, d: "M0 5H26" };
  if (one.level) look.class = `level ${one.colour} ${one.shade}`;
  else if (one.dash) look["stroke-dasharray"] = one.dash;
  sample.append(one.dots ? dot(one, 13, 5, false) : draw("path", look));
  return sample;
}

function dot(one, x, y, hollow) {
  const kind = hollow ? "dot hollow" : "dot";
  return draw("circle", { class: `${kind} ${one.colour} ${one.shade}`, cx: x, cy: y, r: 4 });
}

// ---- Legend: a button per series ---------------------------------------------------------------

class Legend {
  constructor(element, series, initially, changed) {
    this.shown = initially;
    this.changed = changed;
    this.buttons = new Map(series.map((one) => [one.label, this.button(one)]));
    element.replaceChildren(...this.buttons.values());
    if (series.length > MOST_SHOWN) element.append(this.every("show all", true), this.every("hide all", false));
    element.hidden = series.length < 2;
  }

  button(one) {
    const button = make("button", { type: "button", "aria-pressed": String(this.shown.has(one.label)) });
    button.append(swatch(one), one.label);
    button.addEventListener("click", () => this.show([one.label], !this.shown.has(one.label)));
    return button;
  }

  every(name, value) {
    const button = make("button", { type: "button", class: "all" }, name);
    button.addEventListener("click", () => this.show(this.buttons.keys(), value));
    return button;
  }

  show(labels, value) {
    for (const label of labels) {
      if (value) this.shown.add(label);
      else this.shown.delete(label);
      this.buttons.get(label).setAttribute("aria-pressed", String(value));
    }
    this.changed();
  }
}
