// Look inside: one neighbourhood of about 150 people over time, and the fortnight of one of them.

import { ask } from "./wire.js";

const TILE = 100; // side of a house in the picture
const RADIUS = 15;
const PACE = 450; // milliseconds per day
const WORDS = { S: "healthy", E: "infected, feels nothing", I: "ill", R: "recovered", D: "dead" };
const SHORT = { S: "", E: "infected", I: "ill", R: "recovered", D: "dead" };
const LAYERS = {
  truth: "who is infected (nobody knows)",
  heard: "what phones heard (secret)",
  quiet: "what phones would show without noise (secret)",
  shown: "what phones show",
};

export function open(root, question) {
  return new Inside(root, question);
}

class Inside {
  constructor(root, question) {
    this.question = question;
    this.day = 0;
    this.person = 0;
    this.layer = "truth";
    this.build(root);
    this.record();
  }

  // ---- Frame ------------------------------------------------------------------------------------

  build(root) {
    this.status = make("p", { class: "progress", role: "status" });
    this.again = make("button", { type: "button" }, "Record with plan A as it is now");
    this.again.addEventListener("click", () => this.record());
    this.again.hidden = true;
    this.body = make("div", { class: "inside" });
    this.body.hidden = true;
    const lead = "About 150 neighbours out of a small city with the settings of plan A: who meets whom, who is infected, who is "
      + "tested, what a phone heard and what it shows. In reality nobody sees this.";
    root.replaceChildren(make("h2", {}, "Look inside"), make("p", {}, lead), this.status, this.again, this.body);
    this.body.append(this.stage(), this.side());
  }

  stage() {
    this.map = draw("svg", { role: "group", tabindex: "0", class: "map" });
    this.map.setAttribute("aria-label", "The neighbourhood. Left and right arrows choose a person, up and down a day.");
    this.map.addEventListener("keydown", (event) => this.press(event));
    this.slider = make("input", { type: "range", min: "0", max: "0", value: "0", id: "inside-day" });
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    this.play = make("button", { type: "button", class: "primary" }, "Play");
    this.play.addEventListener("click", () => this.toggle());
    this.dayName = make("output", { for: "inside-day" });
    const layer = make("select", { id: "inside-layer" });
    for (const [key, label] of Object.entries(LAYERS)) layer.append(make("option", { value: key }, label));
    layer.addEventListener("change", () => {
      this.layer = layer.value;
      this.show();
    });
    const label = make("label", { for: "inside-day" }, "Day ", this.dayName);
    this.key = make("p", { class: "note key" });
    return make("div", { class: "stage" },
      make("div", { class: "controls" }, make("label", { for: "inside-layer" }, "Colours: "), layer),
      this.map,
      make("div", { class: "clock" }, this.play, label, this.slider),
      this.key,
      make("p", { class: "note" }, "A square is a household, a line a meeting of the day outside of it. A ring: at home. "
        + "+ and −: a test of the day and its result."),
    );
  }

  side() {
    this.choice = make("select", { id: "inside-person" });
    this.choice.addEventListener("change", () => this.choose(Number(this.choice.value)));
    this.about = make("p", { class: "about", "aria-live": "polite" });
    this.fortnight = make("tbody");
    const columns = ["Day", "Truth", "Met", "of them ill", "Test", "At home", "Heard*", "Quiet*", "Shown"];
    const head = make("tr", {}, ...columns.map((name) => make("th", { scope: "col" }, name)));
    const table = make("table", {}, make("thead", {}, head), this.fortnight);
    return make("div", { class: "side" },
      make("label", { for: "inside-person" }, "Person "), this.choice, this.about,
      make("h3", {}, "Their fortnight"),
      make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "The fortnight of the chosen person" }, table),
      make("p", { class: "note" }, "* A secret of the phone. Heard: how many of the people met on the days it keeps the phone believes to be "
        + "infectious. Shown: the share of all people whose score is lower; quiet: what it would be without noise. Of the "
        + "people met, those in the picture count as ill or not."),
    );
  }

  // ---- Data -------------------------------------------------------------------------------------

  async record() {
    this.pause();
    this.again.hidden = true;
    this.status.textContent = "Recording a small city…";
    const { a } = this.question().arms;
    this.asked = JSON.stringify(a);
    try {
      this.data = await ask("neighbourhood", { arms: { a } });
    } catch (error) {
      this.status.textContent = error.message;
      this.again.hidden = false;
      return;
    }
    const { people, days, city, method } = this.data;
    this.status.textContent = `${people.length} of ${city.toLocaleString("en")} people, ${days.length} day${days.length === 1 ? "" : "s"}, method ${method}.`;
    this.body.hidden = false;
    this.slider.max = days.length - 1;
    this.place();
    this.person = this.interesting();
    this.choice.replaceChildren(...people.map((_, i) => make("option", { value: i }, this.named(i))));
    this.choose(this.person);
    this.go(0);
  }

  /** Settings have changed since: offer to record anew. */
  changed() {
    if (this.data) this.again.hidden = JSON.stringify(this.question().arms.a) === this.asked;
  }

  named(i) {
    const { house, age } = this.data.people[i];
    return `${i + 1}, ${age === 8 ? "80 or older" : age === 0 ? "a child" : `${10 * age} to ${10 * age + 9}`}, house ${house + 1}`;
  }

  /** Somebody who is infected and tested positive has most to tell. */
  interesting() {
    for (const day of this.data.days) {
      const hit = day.tested.find(([, positive]) => positive);
      if (hit) return hit[0];
    }
    return 0;
  }

  state(i, day = this.day) {
    return this.data.days[day].dead.includes(i) ? "D" : this.data.days[day].states[i];
  }

  // ---- Picture ----------------------------------------------------------------------------------

  /** Houses on a spiral from the middle: those who meet most are next to each other. */
  place() {
    const { people } = this.data;
    const houses = Math.max(...people.map((p) => p.house)) + 1;
    const spots = spiral(houses, this.map.parentElement.clientWidth < 600 ? 0.8 : 1.5);
    const members = Array.from({ length: houses }, () => []);
    people.forEach((p, i) => members[p.house].push(i));
    this.spots = [];
    const walls = draw("g", { class: "houses" });
    members.forEach((inside, house) => {
      const [column, row] = spots[house];
      walls.append(draw("rect", { x: column * TILE + 5, y: row * TILE + 5, width: TILE - 10, height: TILE - 10, rx: 10 }));
      inside.forEach((person, k) => (this.spots[person] = seat(column, row, k, inside.length)));
    });
    const width = (Math.max(...spots.map(([x]) => x)) + 1) * TILE;
    const height = (Math.max(...spots.map(([, y]) => y)) + 1) * TILE;
    this.map.setAttribute("viewBox", `-4 -14 ${width + 22} ${height + 18}`); // room for marks beside people
    this.lines = draw("g", { class: "meets" });
    this.dots = people.map((_, i) => this.dot(i));
    this.map.replaceChildren(walls, this.lines, ...this.dots.map((dot) => dot.group));
  }

  dot(i) {
    const [x, y] = this.spots[i];
    const ring = draw("circle", { class: "home", cx: x, cy: y, r: RADIUS + 5 });
    const circle = draw("circle", { class: "body", cx: x, cy: y, r: RADIUS });
    const letter = draw("text", { x, y: y + 6, "text-anchor": "middle" });
    const test = draw("text", { class: "test", x: x + RADIUS + 3, y: y - RADIUS + 5 });
    const group = draw("g", { class: "person", "data-person": i }, ring, circle, letter, test);
    group.addEventListener("click", () => this.choose(i));
    return { group, ring, circle, letter, test };
  }

  show() {
    const today = this.data.days[this.day];
    this.slider.value = this.day;
    this.slider.setAttribute("aria-valuetext", `day ${this.day + 1}`);
    this.dayName.textContent = this.day + 1;
    const home = new Set(today.isolated);
    const tests = new Map(today.tested);
    this.dots.forEach(({ group, ring, circle, letter, test }, i) => {
      const [look, text, strength] = this.look(i, today);
      group.setAttribute("class", `person ${look}${i === this.person ? " chosen" : ""}`);
      circle.setAttribute("fill-opacity", strength);
      letter.textContent = text;
      ring.style.display = home.has(i) ? "" : "none";
      test.textContent = tests.has(i) ? (tests.get(i) ? "+" : "−") : "";
    });
    this.drawLines(today);
    this.tell();
  }

  /** How a person looks in the chosen layer: class, letter, strength of the colour. */
  look(i, today) {
    if (this.layer === "truth") {
      const state = this.state(i);
      return [state, state === "S" ? "" : state, 1];
    }
    const value = today[this.layer][i];
    if (value === null) return ["none", "", 1];
    if (this.layer === "heard") return ["score", value >= 0.5 ? shown(value) : "", Math.min(1, value / 2)];
    return ["score", value >= 95 ? Math.floor(value) : "", Math.max(0, (value - 50) / 50) ** 2];
  }

  drawLines(today) {
    const lines = today.meets.filter(([a, b]) => this.data.people[a].house !== this.data.people[b].house);
    this.lines.replaceChildren(
      ...lines.map(([a, b]) => {
        const mine = a === this.person || b === this.person;
        const [[x1, y1], [x2, y2]] = [this.spots[a], this.spots[b]];
        return draw("line", { class: mine ? "mine" : "other", x1, y1, x2, y2 });
      }),
    );
    const words = {
      truth: "E: infected without symptoms, I: ill, R: recovered, D: dead; plain: not infected.",
      heard: "The darker, the more infectious people the phone believes its owner has met; numbers from a half on.",
    };
    this.key.textContent = words[this.layer] ?? "The darker, the higher the score; from 95 on, the share of people with a lower one.";
  }

  // ---- Words ------------------------------------------------------------------------------------

  tell() {
    const today = this.data.days[this.day];
    const i = this.person;
    const home = today.isolated.includes(i) ? " They stay at home." : "";
    const test = new Map(today.tested).get(i);
    const tested = test === undefined ? "" : ` They are tested today: ${test ? "positive" : "negative"}.`;
    this.about.textContent = `Day ${this.day + 1}: ${WORDS[this.state(i)]}.${home}${tested} ${this.phone(i, today)}`;
    const first = Math.max(0, this.day - 13);
    const rows = [];
    for (let day = this.day; day >= first; day--) rows.push(this.row(i, day));
    this.fortnight.replaceChildren(...rows);
  }

  phone(i, today) {
    if (!this.data.app[i]) return "They have no app.";
    const heard = `The phone has heard of ${shown(today.heard[i])} infectious people in ${this.data.window} days (secret).`;
    const shows = `It shows a score above ${shown(today.shown[i])} % of all people`;
    if (!this.data.private) return `${heard} ${shows}; this method adds no noise.`;
    return `${heard} ${shows}; without noise it would be ${shown(today.quiet[i])} %.`;
  }

  row(i, day) {
    const d = this.data.days[day];
    const met = d.meets.filter(([a, b]) => a === i || b === i).map(([a, b]) => (a === i ? b : a));
    const ill = new Set(met.filter((other) => this.state(other, day) === "I")).size;
    const test = new Map(d.tested).get(i);
    const cells = [
      SHORT[this.state(i, day)],
      d.contacts[i],
      ill,
      test === undefined ? "" : test ? "positive" : "negative",
      d.isolated.includes(i) ? "yes" : "",
      shown(d.heard[i]),
      this.data.app[i] ? `${shown(d.quiet[i])} %` : "–",
      this.data.app[i] ? `${shown(d.shown[i])} %` : "–",
    ];
    return make("tr", {}, make("th", { scope: "row" }, String(day + 1)), ...cells.map((text) => make("td", {}, String(text))));
  }

  // ---- Moving -----------------------------------------------------------------------------------

  choose(i) {
    this.person = i;
    this.choice.value = i;
    this.show();
  }

  go(day) {
    this.day = Math.max(0, Math.min(this.data.days.length - 1, day));
    this.show();
  }

  press(event) {
    const n = this.data.people.length;
    const acts = {
      ArrowRight: () => this.choose((this.person + 1) % n),
      ArrowLeft: () => this.choose((this.person + n - 1) % n),
      ArrowUp: () => this.go(this.day + 1),
      ArrowDown: () => this.go(this.day - 1),
    };
    if (!(event.key in acts)) return;
    event.preventDefault();
    acts[event.key]();
  }

  toggle() {
    if (this.timer) {
      this.pause();
      return;
    }
    if (this.day === this.data.days.length - 1) this.go(0);
    this.play.textContent = "Pause";
    this.timer = setInterval(() => {
      if (this.day === this.data.days.length - 1) this.pause();
      else this.go(this.day + 1);
    }, PACE);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.play.textContent = "Play";
  }
}

/** Places on a grid from the middle outwards, about so many times as wide as high. */
function spiral(count, shape) {
  const columns = Math.max(1, Math.round(Math.sqrt(count * shape)));
  const rows = Math.ceil(count / columns);
  const [middleX, middleY] = [(columns - 1) / 2, (rows - 1) / 2];
  const places = [];
  for (let x = 0; x < columns; x++) for (let y = 0; y < rows; y++) places.push([x, y]);
  const far = ([x, y]) => Math.hypot((x - middleX) / shape, y - middleY);
  return places.sort((a, b) => far(a) - far(b)).slice(0, count);
}

/** Where the k-th of n housemates stands in a house. */
function seat(column, row, k, n) {
  const [x, y] = [(column + 0.5) * TILE, (row + 0.5) * TILE];
  if (n === 1) return [x, y];
  const angle = (2 * Math.PI * k) / n - Math.PI / 2 + (n === 2 ? Math.PI / 2 : 0);
  const away = n === 2 ? 21 : 29;
  return [x + away * Math.cos(angle), y + away * Math.sin(angle)];
}
