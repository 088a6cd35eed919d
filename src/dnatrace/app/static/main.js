// Puts the page together: views, the question, its answer, the link.

import { ask, trouble } from "./wire.js";
import { Form } from "./form.js";
import { StudyView } from "./study.js";
import { Take } from "./take.js";
import { readLink, writeLink, VIEWS } from "./link.js";
import { Words } from "./differences.js";

const EXAMPLES = [
  ["Does it still hold with half the tests?", "#preset=standard&b.tests.capacity=0.04&seeds=5"],
  ["What if only six in ten have the app?", "#preset=standard&b.app.adoption=0.6&seeds=5"],
  ["What does stronger privacy cost?", "#preset=standard&a.tests.capacity=0.04&a.privacy.epsilon=10&b.tests.capacity=0.04&b.privacy.epsilon=1&seeds=5"],
  ["Many tests, or fewer and quarantine by score?", "#preset=standard&b.preset=standard&b.scenario=quarantine&seeds=5"],
  ["Would an app have helped in England in 2020?", "#preset=standard&scenario=uk-2020-autumn&seeds=5"],
  ["There: tests by score, or contacts told to stay at home?", "#preset=standard&scenario=uk-2020-autumn&b.tests.capacity=0&b.policy.notification.consent=1&seeds=5"],
  ["What if only half stay at home when told to?", "#preset=standard&b.isolation.adherence=0.5&seeds=5"],
];
const OTHERS = {
  inside: () => import("./inside.js"),
  attacker: () => import("./attacker.js"),
};

class Page {
  async start() {
    this.opened = {};
    this.offered = await ask("offered");
    document.getElementById("version").textContent = `dnatrace ${this.offered.version}`;
    this.form = new Form(this.offered, () => this.edited());
    this.study = new StudyView(this.offered, (over) => this.ended(over));
    this.words = new Words(this.offered);
    this.take = new Take(this.offered, () => new URL(this.answered.link, location.href).href);
    this.listen();
    this.showExamples();
    const linked = this.understood(location.hash);
    this.tellLink(linked, await this.form.restore(linked));
    this.show(linked.view);
    this.ready = true;
    this.mark();
    if (linked.given && linked.view === "whatif") await this.run();
    document.documentElement.dataset.ready = "yes";
  }

  listen() {
    const press = (id, act) => document.getElementById(id).addEventListener("click", () => this.guarded(act));
    document.getElementById("question").addEventListener("submit", (event) => {
      event.preventDefault();
      this.guarded(() => this.run(true));
    });
    press("stop", async () => {
      await this.asked?.catch(() => {}); // a question on its way is stopped too
      await this.study.stop();
    });
    press("restore-go", () => this.restore(document.getElementById("restore").value));
    press("stale-back", () => this.restore(this.answered.link));
    window.addEventListener("hashchange", () => {
      if (location.hash !== this.written) this.guarded(() => this.restore(location.hash));
    });
    const tabs = VIEWS.map((view) => document.getElementById(`tab-${view}`));
    tabs.forEach((tab, i) => {
      tab.addEventListener("click", () => this.show(VIEWS[i]));
      tab.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        const next = (i + step + VIEWS.length) % VIEWS.length;
        tabs[next].focus();
        this.show(VIEWS[next]);
      });
    });
  }

  showExamples() {
    const entries = EXAMPLES.map(([words, link]) => {
      const button = make("button", { type: "button" }, words);
      button.addEventListener("click", () => this.guarded(() => this.restore(link)));
      return make("li", {}, button);
    });
    document.getElementById("examples").replaceChildren(...entries);
  }

  async guarded(act) {
    try {
      trouble(null);
      await act();
    } catch (error) {
      trouble(error.message);
    }
  }

  /** Read a link; situations that do not exist are among what was not understood. */
  understood(link) {
    const linked = readLink(link);
    const { situations } = this.offered;
    let unknown = 0;
    for (const [place, prefix] of [[linked, ""], [linked.own, "b."]]) {
      for (const kind of ["preset", "scenario"]) {
        if (!place?.[kind] || situations.some((one) => one[kind] === place[kind])) continue;
        linked.strange.push(`${prefix}${kind}=${place[kind]}`);
        place[kind] = null;
        linked.given = linked.understood > ++unknown;
      }
    }
    if (linked.own && !linked.own.preset && !linked.own.scenario) linked.own = null;
    return linked;
  }

  /** Say in words what of a link was not understood, and which of its values cannot be. */
  tellLink({ strange, given }, ok) {
    const parts = strange.map((part) => `“${part}”`).join(", ");
    const rest = given ? "The rest was restored." : "Nothing was restored; a link of this page ends like #preset=quick&a.tests.capacity=0.04";
    const words = strange.length ? [`Not understood in this link: ${parts}. ${rest}`] : [];
    if (given && !ok) {
      const wrong = Object.values(this.form.problems).flatMap((one) => Object.values(one));
      if (!this.form.seedsOk) wrong.push(this.form.seedsProblem);
      words.push(`This link asks for what cannot be, so nothing was run: ${wrong.join("; ").replace(/\.$/, "")}.`);
    }
    const place = document.getElementById("linked");
    place.hidden = !words.length;
    place.textContent = words.join(" ");
  }

  async restore(link) {
    const linked = this.understood(link);
    const asks = linked.view === "whatif";
    if (!linked.given && !linked.strange.length) linked.strange.push(link.trim() || "an empty link");
    if (!linked.given) {
      this.tellLink(linked, true);
      return;
    }
    if (asks) this.study.asking(); // at once: what is shown is not the answer to this link
    try {
      this.tellLink(linked, await this.form.restore(linked));
    } finally {
      if (asks) this.study.asked();
    }
    this.mark();
    this.show(linked.view);
    if (asks) await this.run();
  }

  /** Ask what the form holds; wrong values are not asked. Of several in a row the last one counts. */
  async run(pressed = false) {
    const turn = (this.turn = (this.turn ?? 0) + 1);
    this.study.asking(); // before anything is awaited: an old answer must not look like the new one
    if (pressed) document.getElementById("linked").hidden = true;
    const before = this.asked;
    this.asked = this.ask(turn, before, pressed);
    try {
      await this.asked;
    } finally {
      if (turn === this.turn) this.study.asked();
    }
  }

  async ask(turn, before, pressed) {
    await before?.catch(() => {}); // whose trouble was told
    if (turn !== this.turn) return;
    if (!(await this.form.check())) {
      const wrong = document.querySelector("#question [aria-invalid=true]");
      wrong?.focus();
      return;
    }
    const question = this.form.question();
    const answered = { ...this.form.held(), link: writeLink(this.form.settings()) };
    const [words] = await Promise.all([ask("words", question), this.study.run(question)]);
    this.take.offer(this.study.id, words);
    this.answered = answered;
    document.getElementById("asked").textContent = this.words.question(question, answered.values);
    this.compareWithAnswer();
    this.write();
    if (pressed && innerWidth < 900) document.getElementById("answer").scrollIntoView({ behavior: "smooth" });
  }

  edited() {
    if (!this.ready) return;
    this.mark();
    this.write();
    this.compareWithAnswer();
    for (const view of Object.values(this.opened)) view.changed?.();
  }

  /** An answer beside other settings says so, and in what they differ. */
  compareWithAnswer() {
    if (!this.answered) return;
    const now = this.form.held();
    const wrong = this.form.ok ? [] : ["a value that cannot be"];
    const found = [...this.words.differences(this.answered, now), ...wrong];
    const place = document.getElementById("stale");
    place.hidden = !found.length;
    place.querySelector("p").replaceChildren(
      make("strong", {}, "This is the answer to other settings."), ` Changed since: ${found.join("; ")}. Press Run to ask again.`,
    );
    document.getElementById("answer").classList.toggle("old", found.length > 0);
  }

  /** Show what can be pressed. */
  mark() {
    const { a, b } = this.form.state;
    document.getElementById("reset").hidden = !b && !Object.keys(a).length;
    document.getElementById("run").setAttribute("aria-disabled", String(!this.form.ok));
  }

  ended(over) {
    document.getElementById("stop").disabled = over;
    document.getElementById("answer").classList.toggle("running", !over);
  }

  /** Keep the address in step with the settings, so that it can be copied at any time. */
  write() {
    this.written = writeLink({ ...this.form.settings(), view: this.view });
    history.replaceState(null, "", this.written);
  }

  async show(view) {
    this.view = view;
    for (const name of VIEWS) {
      const tab = document.getElementById(`tab-${name}`);
      tab.setAttribute("aria-selected", String(name === view));
      tab.tabIndex = name === view ? 0 : -1;
      document.getElementById(name).hidden = name !== view;
    }
    if (this.ready) this.write();
    if (view in OTHERS && !this.opened[view]) {
      const { open } = await OTHERS[view]();
      this.opened[view] ??= open(document.getElementById(view), () => this.form.question());
    }
    this.opened[view]?.shown?.();
  }
}

new Page().start().catch((error) => trouble(error.message));
