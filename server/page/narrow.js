/** The fields that narrow a question to a folder, a kind of file, or a time. */

import { call } from "./api.js";
import { byId, make, strange } from "./dom.js";
import { describe } from "./failures.js";
import { formName } from "./kinds.js";
import { byName } from "./tree.js";
import { chosenCollection } from "./options.js";

const box = byId("narrow");
const NOTHING = { folder: "", kind: "", since: "", until: "" };
let chosen = { ...NOTHING };
let owner = null, listed = null;

/** @returns {{options: object, words: string}} The chosen fields as options of a question, and in words. */
export function narrowing() {
  const { folder, kind, since, until } = chosen;
  return {
    options: { ...(folder && { folders: [folder] }), ...(kind && { kinds: [kind] }), ...(since && { since }), ...(until && { until }) },
    words: [folder, kind && formName(kind), since && `since ${since}`, until && `until ${until}`].filter(Boolean).join(" · "),
  };
}

/** @param {object} options The options of an earlier question, whose folder, kind and time are chosen again. */
export function narrowAsIn({ folders, kinds, since, until }) {
  choose({ folder: folders?.[0] ?? "", kind: kinds?.[0] ?? "", since: since ?? "", until: until ?? "" });
  showFields();
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
    fields.replaceChildren(...[choice("Folder", "folder", foldersOf(documents)), choice("Kind", "kind", kinds),
      day("Since", "since"), day("Until", "until"),
      make("button", { type: "button", class: "quiet-button", on: { click: () => {
        choose(NOTHING);
        showFields().then(() => box.querySelector("select, input")?.focus());
      } } }, "All documents"),
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

function choice(label, name, documented) {
  // What an earlier question was limited to may be there no more, but still limits the next one.
  const isMissing = chosen[name] && !documented.some(({ value }) => value === chosen[name]);
  const values = isMissing ? [...documented, { value: chosen[name], name: chosen[name] }] : documented;
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

function choose(fields) {
  chosen = { ...fields };
  listed = null;
  showWords();
}

box.addEventListener("toggle", showFields);
// Another collection has other folders, and the same collection may have new folders.
document.addEventListener("options", () => {
  if (owner !== chosenCollection()) choose(NOTHING);
  owner = chosenCollection();
  listed = null;
  showFields();
});
showWords();
