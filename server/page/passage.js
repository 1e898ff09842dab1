/** The panel that shows a passage and marks the sentence closest to the answer. */

import { openDocumentOf } from "./document.js";
import { byId, icon, make, strange, webLink } from "./dom.js";
import { kindBadge, kindOf, placeLine, splitAtSentence, titleOf } from "./kinds.js";

const dialog = byId("passage");

/**
 * Open a passage. The Escape key closes it, and the focus returns to the element that opened it.
 * @param {object[]} documents The documents of the result.
 * @param {string} mark The mark of the passage to show.
 * @param {string} [sentence] The sentence to mark, instead of the passage's best one.
 */
export function openPassage(documents, mark, sentence = "") {
  const place = documents.findIndex((document) => document.mark === mark);
  if (place < 0) return;
  show(documents, place, sentence);
  if (!dialog.open) dialog.showModal();
  dialog.querySelector("#passage-close").focus();
}

function show(documents, place, wanted = "") {
  const document = documents[place];
  const kind = kindOf(document.mark);
  const [before, sentence, after] = splitAtSentence(document, wanted);
  const marked = sentence && make("mark", { id: "passage-mark" }, sentence);
  const step = (to, name, label) => make("button", {
    type: "button", class: "icon-button", "aria-label": label, disabled: to < 0 || to >= documents.length,
    on: { click: () => move(documents, to, name) }, "data-move": name,
  }, icon(name));
  dialog.className = `panel panel-${kind}`;
  dialog.replaceChildren(
    make("header", { class: "panel-head" },
      make("span", { class: `chip chip-${kind}` }, document.mark), kindBadge(kind, document.source),
      make("span", { class: "spacer" }),
      step(place - 1, "previous", "Previous passage"), step(place + 1, "next", "Next passage"),
      make("button", { type: "button", id: "passage-close", class: "icon-button", "aria-label": "Close",
        on: { click: () => dialog.close() } }, icon("close"))),
    make("div", { class: "panel-body", tabindex: "0", role: "region", "aria-label": "The passage" },
      make("h2", { id: "passage-title", class: "strange", dir: "auto" }, titleOf(document)),
      make("p", { class: "hint" }, placeLine(document)),
      webLink(document.url),
      make("p", { class: "passage-text strange", dir: "auto" }, before, marked, after),
      kind === "own" && make("p", {}, make("button", {
        type: "button", class: "quiet-button", on: { click: () => openDocumentOf(document, wanted) },
      }, icon("own"), "Open the document")),
      sentence && make("p", { class: "hint" }, "Highlighted: the sentence most similar to the answer or the question."),
      make("p", { class: "hint" }, `Found in step ${document.step ?? "?"}`,
        typeof document.score === "number" ? `, with a search score (higher is better) of ${document.score.toFixed(2)}` : "", ".")));
  const text = dialog.querySelector(".panel-body");
  text.scrollTop = 0;
  if (marked) requestAnimationFrame(() => marked.scrollIntoView({ block: "nearest" }));
}

function move(documents, to, name) {
  show(documents, to);
  const button = dialog.querySelector(`[data-move="${name}"]`);
  (button.disabled ? dialog.querySelector("#passage-close") : button).focus();
}

// A click beside the panel also closes it.
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});
