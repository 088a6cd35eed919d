// How the page talks to the server behind it. Addresses are relative: the token is in the path.

/** Ask and return plain values; what is wrong comes back as an Error in words. */
export async function ask(path, question) {
  const options = question === undefined
    ? {}
    : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(question) };
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Gone();
  }
  if (response.status === 403) throw new Error(await response.text());
  let values;
  try {
    values = await response.json();
  } catch {
    throw new Error(`The server answered ${response.status}.`);
  }
  if (!response.ok) throw new Error(values.error ?? `The server answered ${response.status}.`);
  return values;
}

/** The server does not answer at all. */
export class Gone extends Error {
  constructor() {
    super("The server does not answer. Start `dnatrace app` again: finished runs are in the store, nothing is lost.");
  }
}

/** Listen to a stream of events until its end; it connects again by itself and begins with the state. */
export function listen(path, hear, trouble) {
  const source = new EventSource(path);
  source.onmessage = (message) => {
    const event = JSON.parse(message.data);
    if (event.kind === "end") source.close();
    hear(event);
  };
  source.onerror = () => trouble(source.readyState === EventSource.CLOSED);
  return source;
}

/** Say what is wrong on top of the page, or that nothing is. */
export function trouble(words) {
  const place = document.getElementById("trouble");
  place.hidden = !words;
  place.textContent = words ?? "";
}
