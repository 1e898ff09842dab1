/** The documents of a collection: listed, uploaded, deleted. */

import { call } from "./api.js";
import { openDocument } from "./document.js";
import { announce, byId, count, icon, make, strange } from "./dom.js";
import { describe } from "./failures.js";

const view = byId("documents-view");
const NAME = /^[\w][\w.-]{0,63}$/;
const SHOWN = 200;
let collections = [];
let chosen = "";
let mayWrite = false;
let onChange = () => {};

/**
 * Show the documents.
 * @param {object[]} listed What `GET /collections` lists.
 * @param {boolean} writes Whether the key may write.
 * @param {() => Promise<object[]>} changed Lists the collections anew, after a change.
 */
export async function showDocuments(listed, writes, changed) {
  collections = listed;
  mayWrite = writes;
  onChange = changed;
  if (!collections.some((one) => one.name === chosen)) chosen = (collections.find((one) => one.default) ?? collections[0])?.name ?? "";
  await draw();
}

async function draw(said = null) {
  const collection = collections.find((one) => one.name === chosen);
  const writes = mayWrite && (collection?.writes ?? true);
  const list = make("div", { class: "document-list" }, make("p", { class: "hint" }, "Loading …"));
  const problem = make("div", { role: "status", class: "upload-status" }, said);
  view.replaceChildren(
    make("div", { class: "documents-head" }, make("h1", {}, "Documents"), collectionChoice()),
    collection && make("p", { class: "hint" }, summaryOf(collection)),
    writes ? dropZone(problem) : make("p", { class: "notice" }, "You can read here. Uploading and deleting need a key that may write. On the machine that serves, open the address that its terminal shows."),
    problem, list);
  if (!collection) {
    list.replaceChildren(make("p", { class: "empty" }, "There is nothing yet."));
    return;
  }
  try {
    const { documents } = await call(`collections/${encodeURIComponent(chosen)}/documents`);
    list.replaceChildren(...documents.length
      ? searchedList(documents, writes)
      : [make("p", { class: "empty" }, collection.passages ? "Its passages did not come from files, so there are none to list." : "This collection holds no documents.")]);
  } catch (failure) {
    list.replaceChildren(make("p", { class: "problem" }, describe(failure).title, ". ", describe(failure).text));
  }
}

function summaryOf({ files = 0, passages = 0, web }) {
  const held = [files && count(files, "file"), count(passages, "passage")].filter(Boolean).join(", ");
  return `${held}.${web ? " Questions on it may go to the web." : ""}`;
}

function collectionChoice() {
  const names = collections.map((one) => one.name);
  const select = make("select", { id: "collection" }, names.map((name) => make("option", { value: name, selected: name === chosen }, name)),
    chosen && !names.includes(chosen) && make("option", { value: chosen, selected: true }, chosen));
  select.addEventListener("change", () => { chosen = select.value; draw(); });
  const field = make("input", { type: "text", maxlength: 64, autocomplete: "off", spellcheck: "false", "aria-label": "Name of the new collection", placeholder: "New collection" });
  const form = mayWrite && make("form", { class: "new-collection" }, field, make("button", { type: "submit", class: "quiet-button" }, icon("plus"), "Add"));
  if (form) form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!NAME.test(field.value)) {
      field.setCustomValidity("Letters, digits, dots, dashes and underscores, at most 64.");
      field.reportValidity();
      field.addEventListener("input", () => field.setCustomValidity(""), { once: true });
      return;
    }
    chosen = field.value;
    draw("It is made with the first file that you upload to it.");
  });
  return make("div", { class: "collection-choice" },
    make("label", { class: "choice" }, make("span", {}, "Collection"), select), form);
}

function dropZone(status) {
  const input = make("input", { type: "file", multiple: true, id: "files", class: "visually-hidden" });
  const zone = make("div", { class: "drop" }, icon("upload"), make("p", {}, "Drop files here, or"),
    input, make("label", { for: "files", class: "button" }, "Choose files"));
  input.addEventListener("change", () => upload([...input.files], status));
  zone.addEventListener("dragover", (event) => { event.preventDefault(); zone.classList.add("is-over"); });
  zone.addEventListener("dragleave", () => zone.classList.remove("is-over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("is-over");
    upload([...event.dataTransfer.files], status);
  });
  return zone;
}

async function upload(files, status) {
  if (!files.length) return;
  status.replaceChildren(make("p", { class: "hint" }, make("span", { class: "pulse", "aria-hidden": "true" }), `Indexing ${count(files.length, "file")} …`));
  const form = new FormData();
  files.forEach((file) => form.append("files", file, file.name));
  try {
    const report = await call(`collections/${encodeURIComponent(chosen)}/documents`, { method: "POST", form });
    collections = await onChange();
    await draw(reportOf(report));
  } catch (failure) {
    const { title, text } = describe(failure);
    status.replaceChildren(make("p", { class: "problem" }, icon("warning"), strange("span", `${title}. ${text}`)));
  }
}

function reportOf({ written = 0, replaced = 0, unchanged = 0, skipped = [] }) {
  const parts = [`${count(written, "passage")} written`];
  if (replaced) parts.push(`${replaced} replaced`);
  if (unchanged) parts.push(`${unchanged} unchanged`);
  return make("div", {}, make("p", { class: "done" }, icon("keep"), `${parts.join(", ")}.`),
    skipped.length > 0 && make("ul", { class: "skipped" }, skipped.map((one) =>
      make("li", {}, icon("warning"), strange("span", `${one.name}: ${one.reason}`)))));
}

// A folder can hold many thousands: those that fit a few screens are drawn, and more when they are asked for.
function searchedList(documents, writes) {
  const search = make("input", { type: "search", placeholder: "Search by name", "aria-label": "Search the documents by name", autocomplete: "off" });
  const told = make("p", { class: "hint", role: "status" });
  const files = make("ul", { class: "files" });
  const more = make("button", { type: "button", class: "quiet-button" }, `Show ${SHOWN} more`);
  let found = documents;
  let shown = 0;
  function show() {
    files.append(...found.slice(shown, shown + SHOWN).map((document) => fileItem(document, writes)));
    shown = files.childElementCount;
    more.hidden = shown === found.length;
    told.textContent = found.length === documents.length && more.hidden ? "" : `${count(found.length, "document")}, ${shown} shown.`;
  }
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    found = documents.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
    files.replaceChildren();
    shown = 0;
    show();
  });
  more.addEventListener("click", show);
  show();
  return [documents.length > 5 && make("div", { class: "document-search" }, search, told), files, more].filter(Boolean);
}

function fileItem(document, writes) {
  const remove = writes && make("button", {
    type: "button", class: "icon-button", "aria-label": `Delete ${document.name}`,
    on: { click: (event) => askToDelete(document, event.currentTarget) },
  }, icon("trash"));
  const open = make("button", {
    type: "button", class: "file-name link-button strange", dir: "auto", on: { click: () => openDocument(chosen, document.id) },
  }, document.name);
  return make("li", { class: "file" }, icon("own"), open,
    make("span", { class: "hint" }, count(document.passages ?? 0, "passage")), remove);
}

async function askToDelete(document) {
  if (!(await confirm("Delete this document?", `${document.name} and its ${count(document.passages ?? 0, "passage")} are removed from ${chosen}.` +
    (document.uploaded === false ? " The file itself stays where it is." : ""), "Delete"))) return;
  try {
    const { deleted } = await call(`collections/${encodeURIComponent(chosen)}/documents/${encodeURIComponent(document.id)}`, { method: "DELETE" });
    collections = await onChange();
    await draw(make("p", { class: "done" }, icon("keep"), `${count(deleted, "passage")} deleted.`));
    announce(`${document.name} was deleted.`);
  } catch (failure) {
    await draw(make("p", { class: "problem" }, icon("warning"), `${describe(failure).title}. ${describe(failure).text}`));
  }
}

/**
 * Ask before something is deleted; Escape means no.
 * @param {string} title The question.
 * @param {string} text What happens.
 * @param {string} yes The word of the button.
 * @returns {Promise<boolean>}
 */
export function confirm(title, text, yes) {
  const dialog = byId("confirm-dialog");
  byId("confirm-title").textContent = title;
  byId("confirm-text").textContent = text;
  byId("confirm-yes").textContent = yes;
  return new Promise((resolve) => {
    byId("confirm-yes").onclick = () => dialog.close("yes");
    byId("confirm-no").onclick = () => dialog.close("no");
    dialog.returnValue = "";
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
    dialog.showModal();
    byId("confirm-no").focus();
  });
}
