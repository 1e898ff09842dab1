/** The fields that narrow a question to a folder, a kind of file, or a time. */

import { call } from "./api.js";
import { byId, make, strange } from "./dom.js";
import { describe } from "./failures.js";
import { formName } from "./kinds.js";
import { byName } from "./tree.js";
import { chosenCollection } from "./options.js";

const box = byId("narrow");
let chosen = { folder: "", kind: "", since: "", until: "" };
let owner = null, listed = null;

/** @returns {{options: object, words: string}} The chosen fields as options of a question, and in words. */
export function narrowing() {
  const { folder, kind, since, until } = chosen;
  return {
    options: { ...(folder && { folders: [folder] }), ...(kind && { kinds: [kind] }), ...(since && { since }), ...(until && { until }) },
    words: [folder, kind && formName(kind), since && `since ${since}`, until && `until ${until}`].filter(Boolean).join(" · "),
  };
}

/** Open the fields, so that the user can choose again. */
export function openNarrowing() {
  box.open = true;
  box.scrollIntoView({ block: "nearest" });
  byId("narrow-words").focus();
}

function showWords() {
  const { words } = narrowing();
  byId("narrow-words").replaceChildren(words ? strange("span", `Only ${words}`) : "All documents");
  box.classList.toggle("is-narrowed", Boolean(words));
}

async function showFields() {
  if (!box.open || listed === chosenCollection()) return;
  const asked = listed = chosenCollection();
  const fields = byId("narrow-fields");
  fields.replaceChildren(make("p", { class: "hint" }, "Loading …"));
  try {
    const { documents } = await call(`collections/${encodeURIComponent(asked)}/documents`);
    // The user may have chosen another collection meanwhile.
    if (listed !== asked) return;
    const kinds = [...new Set(documents.map((one) => one.kind))].filter((kind) => kind !== "corpus").map((kind) => ({ value: kind, name: formName(kind) })).sort(byName);
    fields.replaceChildren(...[choose("Folder", "folder", foldersOf(documents)), choose("Kind", "kind", kinds),
      day("Since", "since"), day("Until", "until"),
      make("button", { type: "button", class: "quiet-button", on: { click: () => forget(true) } }, "All documents"),
      make("p", { class: "hint" }, "The dates are those that the documents state. If you limit your question to some documents, the web is not searched.")]);
  } catch (failure) {
    if (listed !== asked) return;
    listed = null;
    fields.replaceChildren(make("p", { class: "problem" }, describe(failure).title));
  }
}

function foldersOf(documents) {
  const all = new Set();
  for (const { folder } of documents) {
    const parts = folder ? folder.split("/") : [];
    parts.forEach((_, at) => all.add(parts.slice(0, at + 1).join("/")));
  }
  return [...all].map((name) => ({ value: name, name })).sort(byName);
}

function choose(label, name, values) {
  return values.length > 0 && make("label", { class: "choice" }, make("span", {}, label), make("select", { on: { change: ({ target }) => set(name, target.value) } },
    make("option", { value: "" }, "All"), values.map((one) => make("option", { value: one.value, selected: one.value === chosen[name] }, one.name))));
}

function day(label, name) {
  const input = make("input", { type: "date", on: { change: () => set(name, input.value) } });
  input.value = chosen[name];
  return make("label", { class: "choice" }, make("span", {}, label), input);
}

function set(name, value) {
  chosen[name] = value;
  showWords();
}

function forget(again = false) {
  chosen = { folder: "", kind: "", since: "", until: "" };
  listed = null;
  showWords();
  if (again) showFields().then(() => box.querySelector("select, input")?.focus());
}

box.addEventListener("toggle", showFields);
// Another collection has other folders, and the same collection may have new folders.
document.addEventListener("options", () => {
  if (owner !== chosenCollection()) forget();
  owner = chosenCollection();
  listed = null;
  showFields();
});
showWords();
