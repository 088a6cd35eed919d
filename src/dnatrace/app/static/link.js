// The settings of the page as the end of its address, readable and restorable:
// #preset=quick&a.tests.capacity=0.04&b.method.name=fn&seeds=5&view=inside
// B begins where A does, unless b.preset and b.scenario name a situation of its own.

export const VIEWS = ["whatif", "inside", "attacker"];

/** Return the settings that stand behind the # of a link, and under `strange` what was not understood. */
export function readLink(text) {
  const state = { preset: null, scenario: null, a: {}, b: null, own: null, seeds: null, view: "whatif", understood: 0, given: false, strange: [] };
  const end = text.includes("#") ? text.slice(text.indexOf("#") + 1) : /^\w+:\/\//.test(text) ? "" : text;
  for (const [name, written] of new URLSearchParams(end.trim())) {
    const [arm, ...rest] = name.split(".");
    if (name === "preset" || name === "scenario") state[name] = written;
    else if (name === "b.preset" || name === "b.scenario") (state.own ??= { preset: null, scenario: null })[rest[0]] = written;
    else if (name === "seeds" && Number.isInteger(Number(written)) && written) state.seeds = Number(written);
    else if (name === "view" && VIEWS.includes(written)) state.view = written;
    else if (name === "b" && !written) state.b ??= {};
    else if ((arm === "a" || arm === "b") && rest.length && rest.every(Boolean) && written) (state[arm] ??= {})[rest.join(".")] = parsed(written);
    else {
      state.strange.push(written ? `${name}=${written}` : name);
      continue;
    }
    if (name !== "view") state.understood += 1;
  }
  state.given = state.understood > 0;
  if (state.own) state.b ??= {};
  return state;
}

/** Return the end of an address that restores the settings. */
export function writeLink({ preset, scenario, a, b, own, seeds, view }) {
  const parts = new URLSearchParams();
  if (preset) parts.set("preset", preset);
  if (scenario) parts.set("scenario", scenario);
  for (const [key, value] of Object.entries(a)) parts.set(`a.${key}`, written(value));
  if (b) {
    parts.set("b", "");
    if (own) parts.set("b.preset", own.preset);
    if (own?.scenario) parts.set("b.scenario", own.scenario);
    for (const [key, value] of Object.entries(b)) parts.set(`b.${key}`, written(value));
  }
  if (seeds) parts.set("seeds", seeds);
  if (view && view !== "whatif") parts.set("view", view);
  return `#${parts}`;
}

/** A value as people type it: a number, true or false, a list, or a word. */
export function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export function written(value) {
  if (typeof value !== "string") return JSON.stringify(value);
  return typeof parsed(value) === "string" ? value : JSON.stringify(value);
}
