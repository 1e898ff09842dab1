/** The view of a collection's documents, which can be searched, uploaded and deleted there. */

import { call } from "./api.js";
import { openDocument } from "./document.js";
import { announce, byId, count, icon, make, strange } from "./dom.js";
import { describe } from "./failures.js";
import { formName, isWithin } from "./kinds.js";
import { byName, DocumentTree } from "./tree.js";
import { folderRefusal, sentenceOf, upload } from "./upload.js";

const view = byId("documents-view");
const NAME = /^[\w][\w.-]{0,63}$/;
// The search field appears above FEW documents. Up to OPEN documents, all folders are open at first.
const FEW = 5, OPEN = 40;
// The list is read in parts of so many documents.
const PAGE = 5_000;
const MOST_FAILED = 200;
let status = null;
let collections = [];
let chosen = "";
let may = { writes: false, takesNew: false, hasKey: false };
let onChange = () => {};

/**
 * Show the documents.
 * @param {object[]} listed The collections from `GET /collections`.
 * @param {{writes: boolean, takesNew: boolean, hasKey: boolean}} allowed Whether the user may add and delete documents and make collections, and whether the service has keys.
 * @param {() => Promise<object[]>} changed Is called after a change, to fetch the collections again.
 */
export async function showDocuments(listed, allowed, changed) {
  collections = listed;
  may = allowed;
  onChange = changed;
  if (!collections.some((one) => one.name === chosen)) chosen = (collections.find((one) => one.default) ?? collections[0])?.name ?? "";
  await draw();
}

async function draw(said = null) {
  const collection = collections.find((one) => one.name === chosen);
  const writes = may.writes && (collection?.writes ?? true);
  const list = make("div", { class: "document-list" }, make("p", { class: "hint" }, "Loading …"));
  status = make("div", { role: "status", class: "upload-status" }, said);
  view.replaceChildren(
    make("div", { class: "documents-head" }, make("h1", {}, "Documents"), collectionChoice()),
    ...(collection ? [make("p", { class: "hint" }, summaryOf(collection), webButton(collection))] : []),
    writes ? dropZone() : make("p", { class: "notice" }, refusalOf(collection)),
    status, list);
  if (!collection) {
    list.replaceChildren(make("p", { class: "empty" }, "There are no documents yet."));
    return;
  }
  try {
    const { documents, failed } = await readList(chosen);
    if (!list.isConnected) return;
    list.replaceChildren(...(documents.length ? [] : [make("p", { class: "empty" }, collection.passages
      ? "This collection was not made from files, so there are no files to list." : "This collection holds no documents.")]));
    if (documents.length) showTree(list, documents, writes);
    if (!failed) list.append(make("p", { class: "hint" }, "The files of this collection that could not be read are not listed here: the terminal shows them when the files are indexed."));
    else if (failed.length) list.append(failedFiles(failed));
    const [head, ...kinds] = collection.folder?.left_out ?? [];
    if (head) list.append(make("details", { class: "failed-files" }, make("summary", {}, head),
      make("ul", { class: "skipped" }, kinds.map((one) => make("li", {}, icon("warning"), strange("span", one))))));
  } catch (failure) {
    list.replaceChildren(make("p", { class: "problem" }, describe(failure).title, ". ", describe(failure).text));
  }
}

function summaryOf({ files = 0, passages = 0, web }) {
  const held = [files && count(files, "file"), count(passages, "passage")].filter(Boolean).join(", ");
  return `${held}.${web ? " Questions on it may go to the web." : ""}`;
}

function refusalOf(collection) {
  if (may.writes) return `The files of ${collection.name} cannot be changed here.`;
  return `${may.hasKey ? "With your access key you" : "You"} can ask, but not add or delete files. If you run this service yourself, open the address that its terminal shows.`;
}

function webButton({ name, web, opens_web: mayDecide }) {
  if (!mayDecide) return null;
  const button = make("button", { type: "button", class: "text-button" }, web ? "Close the web …" : "Open the web …");
  button.addEventListener("click", () => document.dispatchEvent(new CustomEvent("decide-on-web", { detail: { name, open: !web } })));
  return [" ", button];
}

function collectionChoice() {
  const names = collections.map((one) => one.name);
  const select = make("select", { id: "collection" }, names.map((name) => make("option", { value: name, selected: name === chosen }, name)),
    chosen && !names.includes(chosen) && make("option", { value: chosen, selected: true }, chosen));
  select.addEventListener("change", () => { chosen = select.value; draw(); });
  const field = make("input", { type: "text", maxlength: 64, autocomplete: "off", spellcheck: "false", "aria-label": "Name of the new collection", placeholder: "New collection" });
  const form = may.writes && may.takesNew && make("form", { class: "new-collection" }, field, make("button", { type: "submit", class: "quiet-button" }, icon("plus"), "Add"));
  if (form) form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!NAME.test(field.value)) {
      field.setCustomValidity("Letters, digits, dots, dashes and underscores, at most 64.");
      field.reportValidity();
      field.addEventListener("input", () => field.setCustomValidity(""), { once: true });
      return;
    }
    chosen = field.value;
    draw("It is created when you upload its first file.");
  });
  return make("div", { class: "collection-choice" },
    make("label", { class: "choice" }, make("span", {}, "Collection"), select), form);
}

function dropZone() {
  const input = make("input", { type: "file", multiple: true, id: "files", class: "visually-hidden" });
  input.addEventListener("change", () => {
    add([...input.files]);
    // Otherwise the same file, chosen again after a failure, would not count as a change.
    input.value = "";
  });
  return make("div", { class: "drop" }, icon("upload"), make("p", {}, "Drop files anywhere on the page, or"),
    input, make("label", { for: "files", class: "button" }, "Choose files"));
}

/**
 * Upload files to the collection that is shown.
 * @param {File[]} files The files.
 * @param {string[]} [folders] The names of folders that were dropped with the files. They are refused.
 */
export async function add(files, folders = []) {
  const refused = folders.map((name) => make("p", { class: "problem" }, icon("warning"), strange("span", folderRefusal(name))));
  status.replaceChildren(...refused);
  if (!files.length) return;
  const words = make("span", {});
  status.replaceChildren(make("p", { class: "hint" }, make("span", { class: "pulse", "aria-hidden": "true" }), words), ...refused);
  try {
    const report = await upload(chosen, files, (how) => { words.textContent = `${count(files.length, "file")}: ${how}`; });
    collections = await onChange();
    await draw(make("div", {}, reportOf(report), refused));
  } catch (failure) {
    status.replaceChildren(make("p", { class: "problem" }, icon("warning"), strange("span", sentenceOf(failure))), ...refused);
  }
}

/** @returns {string} The collection that is shown. */
export const shownCollection = () => chosen;

function reportOf({ written = 0, replaced = 0, unchanged = 0, skipped = [] }) {
  const parts = [`${count(written, "passage")} written`];
  if (replaced) parts.push(`${replaced} replaced`);
  if (unchanged) parts.push(`${unchanged} unchanged`);
  return make("div", {}, make("p", { class: "done" }, icon("keep"), `${parts.join(", ")}.`),
    skipped.length > 0 && make("ul", { class: "skipped" }, skipped.map((one) =>
      make("li", {}, icon("warning"), strange("span", `${one.name}: ${one.reason}`)))));
}

async function readList(name) {
  const documents = [];
  for (let offset = 0; ;) {
    const read = await call(`collections/${encodeURIComponent(name)}/documents?limit=${PAGE}&offset=${offset}`);
    documents.push(...read.documents);
    if (!read.next) return { documents, failed: read.failed ?? [] };
    offset = read.next;
  }
}

function showTree(list, documents, writes) {
  documents.sort(byName);
  const tree = new DocumentTree(view, { open: (one) => openDocument(chosen, one.id), remove: writes ? askToDelete : null });
  const field = (label, input) => make("label", { class: "choice" }, make("span", {}, label), input);
  const search = make("input", { type: "search", placeholder: "Search by name", "aria-label": "Search the documents by name", autocomplete: "off" });
  const kinds = [...new Set(documents.map((one) => one.kind))].map((kind) => ({ kind, name: formName(kind) })).sort(byName);
  const kind = make("select", {}, make("option", { value: "" }, "All"), kinds.map((one) => make("option", { value: one.kind }, one.name)));
  const [from, to] = [make("input", { type: "date" }), make("input", { type: "date" })];
  const told = make("p", { class: "hint", role: "status" });
  function show(again = false) {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const isNarrowed = Boolean(words.length || kind.value || from.value || to.value);
    const found = isNarrowed ? documents.filter((one) => words.every((word) => one.name.toLowerCase().includes(word)) &&
      (!kind.value || one.kind === kind.value) && isWithin(one.date ?? one.modified, from.value, to.value)) : documents;
    tree.show(found, isNarrowed || documents.length <= OPEN, again);
    tree.node.hidden = !found.length;
    told.textContent = isNarrowed ? `${found.length.toLocaleString("en")} of ${count(documents.length, "document")}.` : "";
  }
  for (const one of [search, kind, from, to]) one.addEventListener("input", () => show());
  list.append(...(documents.length > FEW ? [make("div", { class: "document-search", role: "group", "aria-label": "Narrow the list" }, search,
    field("Kind", kind), field("From", from), field("To", to), told)] : []), tree.node);
  show();
}

function failedFiles(failed) {
  const items = failed.slice(0, MOST_FAILED).map(({ name, folder, reason }) => make("li", {}, icon("warning"),
    make("span", {}, strange("span", folder ? `${folder}/${name}` : name), ": ", strange("span", reason))));
  return make("details", { class: "failed-files" },
    make("summary", {}, `${count(failed.length, "file")} could not be read, or only in part`),
    make("ul", { class: "skipped" }, items),
    failed.length > items.length && make("p", { class: "hint" }, `Only the first ${items.length} are shown.`));
}

async function askToDelete(document) {
  if (!(await confirm("Delete this document?", `${document.name} and its ${count(document.passages ?? 0, "passage")} are removed from ${chosen}.` +
    (document.uploaded !== false ? "" : !collections.find((one) => one.name === chosen)?.follows ? " The file itself stays where it is."
      : " The file itself stays in your folder, so it is read again when it changes or when prefrag starts again. To remove it for good, delete the file."), "Delete"))) return;
  try {
    const { deleted, note } = await call(`collections/${encodeURIComponent(chosen)}/documents/${encodeURIComponent(document.id)}`, { method: "DELETE" });
    collections = await onChange();
    await draw(make("p", { class: "done" }, icon("keep"), `${count(deleted, "passage")} deleted. ${note ?? ""}`));
    announce(`${document.name} was deleted.`);
  } catch (failure) {
    await draw(make("p", { class: "problem" }, icon("warning"), `${describe(failure).title}. ${describe(failure).text}`));
  }
}

/**
 * Ask the user before something is deleted. The Escape key means no.
 * @param {string} title The question.
 * @param {string} text What will happen.
 * @param {string} yes The label of the button that agrees.
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
