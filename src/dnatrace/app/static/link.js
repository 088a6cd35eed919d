// The settings of the page as the end of its address, readable and restorable:
// #preset=quick&a.tests.capacity=0.04&b.method.name=fn&seeds=5&view=inside

export const VIEWS = ["whatif", "inside", "attacker"];

/** Return the settings that stand behind the # of a link; unknown parts are left out. */
export function readLink(text) {
  const state = { preset: null, scenario: null, a: {}, b: null, seeds: null, view: "whatif", given: false };
  for (const [name, written] of new URLSearchParams(text.slice(text.indexOf("#") + 1))) {
    const [arm, ...rest] = name.split(".");
    if (name === "preset" || name === "scenario") state[name] = written;
    else if (name === "seeds") state.seeds = Number(written);
    else if (name === "view" && VIEWS.includes(written)) state.view = written;
    else if (name === "b") state.b ??= {};
    else if ((arm === "a" || arm === "b") && rest.length) (state[arm] ??= {})[rest.join(".")] = parsed(written);
    else continue;
    if (name !== "view") state.given = true;
  }
  return state;
}

/** Return the end of an address that restores the settings. */
export function writeLink({ preset, scenario, a, b, seeds, view }) {
  const parts = new URLSearchParams();
  if (preset) parts.set("preset", preset);
  if (scenario) parts.set("scenario", scenario);
  for (const [key, value] of Object.entries(a)) parts.set(`a.${key}`, written(value));
  if (b) {
    parts.set("b", "");
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
