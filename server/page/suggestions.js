/** Suggested questions, which the extractive reader can answer from the user's own documents. */

import { call } from "./api.js";
import { byId, icon, make, strange } from "./dom.js";

const box = byId("suggestions");
const SOON = 3000, TIMES = 20;
let timer = 0;
let shown = "";

/**
 * Show how often stated answers were wrong, if that was measured on a collection.
 * @param {string} collection The collection; empty for none.
 */
export async function showProof(collection) {
  const line = byId("proof");
  let sentence = "";
  try {
    if (collection) ({ sentence } = await call(`collections/${encodeURIComponent(collection)}/proof`));
  } catch {
    // No error is shown, because nobody asked for it.
  }
  line.hidden = !sentence;
  line.replaceChildren(strange("span", sentence));
}

/**
 * Show the questions of a collection, as soon as the service has found some.
 * @param {string} collection The collection; empty for none.
 * @param {(question: string) => void} ask Asks a question.
 * @param {number} [times] How many more times to ask the service, while it still looks for questions.
 */
export async function showSuggestions(collection, ask, times = TIMES) {
  clearTimeout(timer);
  if (shown !== collection) box.hidden = true;
  shown = collection;
  if (!collection) return;
  let found;
  try {
    found = await call(`collections/${encodeURIComponent(collection)}/questions`);
  } catch {
    // No error is shown, because nobody asked for suggestions.
    return;
  }
  if (shown !== collection) return;
  const { questions, pending } = found;
  box.hidden = !questions.length;
  box.replaceChildren(make("p", { class: "hint", id: "suggestions-title" }, "Your documents can answer, for example:"),
    make("ul", { "aria-labelledby": "suggestions-title" }, questions.map(({ question, name }) => make("li", {},
      make("button", { type: "button", class: "quiet-button", on: { click: () => ask(question) } }, strange("span", question),
        make("span", { class: "hint suggestion-name" }, icon("own"), strange("span", name)))))));
  if (pending && times) timer = setTimeout(() => showSuggestions(collection, ask, times - 1), SOON);
}
