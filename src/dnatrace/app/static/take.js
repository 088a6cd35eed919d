// Take it away: files, the chart as a picture, the same numbers in other words, the link.

export class Take {
  constructor(offered, link) {
    document.getElementById("store").textContent = offered.store;
    const said = document.getElementById("took");
    const press = (id, act) => document.getElementById(id).addEventListener("click", async () => {
      try {
        said.textContent = await act();
      } catch (error) {
        said.textContent = `This did not work: ${error.message}`;
      }
    });
    press("take-svg", () => save(new Blob([picture().text], { type: "image/svg+xml" }), "dnatrace-chart.svg"));
    press("take-png", async () => save(await pixels(picture()), "dnatrace-chart.png"));
    press("take-link", () => copy(link()));
  }

  /** The files of a study, and its question in other words. */
  offer(id, words) {
    for (const [name, file] of [["report", "report.html"], ["days", "days.csv"], ["runs", "runs.csv"]]) {
      const link = document.getElementById(`take-${name}`);
      link.href = `studies/${id}/${file}`;
      link.download = `dnatrace-${file}`;
    }
    document.getElementById("one-seed").textContent = onSeeds(words.seeds);
    block("commands", Object.entries(words.command).map(([arm, text]) => [arm.toUpperCase(), text, null]));
    block("python", [["", words.python, "dnatrace_study.py"]]);
    block("tomls", Object.entries(words.toml).map(([arm, text]) => [arm.toUpperCase(), text, `dnatrace-${arm}.toml`]));
  }
}

/** What a command gives of several runs. */
function onSeeds([first, ...others]) {
  if (!others.length) return "";
  const all = `${first} to ${others.at(-1)}`;
  return `Each command is one run, with seed ${first}. The means above are over the seeds ${all}: repeat it with each, or let Python do it.`;
}

/** Texts with a button that copies and one that saves each. */
function block(id, texts) {
  const parts = texts.flatMap(([title, text, file]) => {
    const buttons = [button("Copy", () => copy(text))];
    if (file) buttons.push(button("Save", () => save(new Blob([text], { type: "text/plain" }), file)));
    const head = title && texts.length > 1 ? [make("h3", {}, title)] : [];
    return [...head, make("pre", { tabindex: "0" }, text), make("div", { class: "downloads" }, ...buttons)];
  });
  document.getElementById(id).replaceChildren(...parts);
}

function button(name, act) {
  const element = make("button", { type: "button" }, name);
  element.addEventListener("click", async () => {
    document.getElementById("took").textContent = await act();
    element.textContent = name === "Copy" ? "Copied" : "Saved";
    setTimeout(() => (element.textContent = name), 1500);
  });
  return element;
}

async function copy(text) {
  await navigator.clipboard.writeText(text);
  return "Copied.";
}

function save(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = make("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
  return `Saved as ${name}.`;
}

const STYLED = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-family", "stroke-linejoin"];

/** The chart as a file of its own: every look is written into its elements, the names beside it. */
export function picture() {
  const drawn = document.querySelector("#live .plot > svg");
  const copied = drawn.cloneNode(true);
  const originals = [drawn, ...drawn.querySelectorAll("*")];
  [copied, ...copied.querySelectorAll("*")].forEach((element, i) => {
    const look = getComputedStyle(originals[i]);
    for (const name of STYLED) element.setAttribute(name, look.getPropertyValue(name));
    element.removeAttribute("class");
  });
  const [, , width, height] = drawn.getAttribute("viewBox").split(" ").map(Number);
  const legend = [...document.querySelectorAll("#live .legend button[aria-pressed=true]")];
  const tall = height + 22 * legend.length + 8;
  const ink = getComputedStyle(document.body);
  copied.setAttribute("viewBox", `0 0 ${width} ${tall}`);
  copied.setAttribute("width", width);
  copied.setAttribute("height", tall);
  copied.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copied.prepend(draw("rect", { width, height: tall, fill: ink.backgroundColor }));
  legend.forEach((entry, i) => {
    const line = entry.querySelector("path");
    const y = height + 14 + 22 * i;
    const stroke = getComputedStyle(line).stroke;
    const dash = line.getAttribute("stroke-dasharray") ?? "none";
    copied.append(draw("path", { d: `M56 ${y}h26`, stroke, "stroke-width": 2, "stroke-dasharray": dash, fill: "none" }));
    copied.append(draw("text", { x: 90, y: y + 4, fill: ink.color, "font-size": "12px", "font-family": ink.fontFamily }, entry.textContent));
  });
  return { text: new XMLSerializer().serializeToString(copied), width, height: tall };
}

/** The same as pixels, twice as fine as the screen. */
function pixels({ text, width, height }) {
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => {
      const canvas = make("canvas", { width: 2 * width, height: 2 * height });
      canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
      canvas.toBlob(resolve, "image/png");
    };
    image.onerror = () => reject(new Error("the picture cannot be drawn"));
    image.src = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  });
}
