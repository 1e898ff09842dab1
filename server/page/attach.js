/** The files that a question is asked about, and the dropping of files on the page. */

import { call, callIfThere } from "./api.js";
import { announce, byId, icon, make, strange } from "./dom.js";
import { chooseCollection, chosenCollection, onlyOwn } from "./options.js";
import { filesOf, folderRefusal, MAY_NOT_WRITE, sentenceOf, upload } from "./upload.js";

const list = byId("attachments");
const field = byId("attach");
const HASH_FIELD = "meta.file_hash";
let page = { mayWrite: () => false, changed: () => {}, addToDocuments: null };
// Each attached file has a name. While it is uploaded it has `words` (its progress), then a `hash` or a `problem`;
// `arrival` is a promise that ends with the upload.
let attached = [];
let coming = Promise.resolve();

/**
 * Connect the attached files with the rest of the page.
 * @param {{mayWrite: () => boolean, changed: () => Promise<any>, documentsView: () => null|{name: string, add: Function}}} around
 *     `mayWrite` says whether the user may add files, `changed` reloads the collections, and `documentsView` returns
 *     the view of documents while it is shown.
 */
export function connectAttachments(around) {
  page = around;
}

/** Show the attached files and, if the user may add files, the button for it. */
export function showAttaching() {
  byId("attach-label").hidden = !page.mayWrite();
  draw();
}

/** @returns {object[]} The files that are attached now. */
export function attachedFiles() {
  return [...attached];
}

/**
 * Wait until files are uploaded.
 * @param {object[]} files Some of the attached files.
 * @returns {Promise<string>} Why a question cannot be asked about all of them, in a sentence; empty if it can.
 */
export async function whenRead(files) {
  await Promise.all(files.map((file) => file.arrival));
  if (!files.every((file) => attached.includes(file))) return "Not asked: an attached file was removed while it was being read.";
  return files.every((file) => file.hash) ? "" : "Not asked: an attached file cannot be searched. Remove it to ask about the others.";
}

/** @param {object[]} files Files that are read. @returns {object} Options with which a question searches only them. */
export function onlyFiles(files) {
  return { ...onlyOwn(), filters: { field: HASH_FIELD, operator: "in", value: files.map((file) => file.hash) } };
}

/** @param {import("./history.js").Turn} turn A turn, whose files are attached again, and no others. */
export function attachAsIn({ attached: names, options: { filters } }) {
  const hashes = filters?.field === HASH_FIELD && Array.isArray(filters.value) ? filters.value : [];
  attached = hashes.map((hash, number) => ({ name: names?.[number] ?? "A file", hash, collection: chosenCollection() }));
  draw();
}

/** Detach all files, so that the next question searches the whole collection. */
export function detachAll() {
  attached = [];
  draw();
}

/** @param {{collection: string, name: string, hash: string}} document A document to ask about. */
export function attachDocument({ collection, name, hash }) {
  if (collection !== chosenCollection()) chooseCollection(collection);
  attached = [...attached.filter((one) => one.hash !== hash), { name, hash, collection }];
  draw();
}

function attach(files, folders = []) {
  const collection = chosenCollection();
  const refused = [...folders.map((name) => [name, folderRefusal(name)]), ...(page.mayWrite() ? [] : files.map((file) => [file.name, MAY_NOT_WRITE]))];
  attached.push(...refused.map(([name, problem]) => ({ name, problem, collection })));
  if (page.mayWrite() && files.length) {
    const arriving = files.map((file) => ({ name: file.name, words: "", collection }));
    attached.push(...arriving);
    // Send one group of files after another, as the service indexes them.
    coming = coming.then(() => send(collection, files, arriving)).catch(() => lost(arriving));
    for (const file of arriving) file.arrival = coming;
  }
  draw();
}

async function send(collection, files, arriving) {
  try {
    await nameApart(collection, arriving);
    const { documents, skipped } = await upload(collection, files, (words) => {
      arriving.forEach((one) => { one.words = words; });
      draw();
    }, arriving.map((file) => file.name));
    for (const [number, file] of arriving.entries()) {
      const taken = documents.find(({ position }) => position === number);
      const refused = skipped.find(({ position }) => position === number);
      if (taken) file.hash = (await call(`collections/${encodeURIComponent(collection)}/documents/${taken.id}`)).hash;
      else file.problem = refused ? `Not added: ${refused.reason}.` : "The file was added to the collection. You cannot ask about it alone, because each of its entries is a document of its own.";
    }
    announce(arriving.map((one) => one.problem ?? `${one.name} was read.`).join(" "));
    await page.changed();
  } catch (failure) {
    const problem = sentenceOf(failure);
    for (const one of arriving) if (!one.hash) one.problem = problem;
    announce(problem);
  }
  draw();
}

// What broke is no failure that the service has reported, such as a reply that ends in its middle.
function lost(arriving) {
  for (const one of arriving) if (!one.hash) one.problem = "The file did not arrive: attach it again.";
  announce(arriving.map((one) => one.problem ?? `${one.name} was read.`).join(" "));
  draw();
}

// A file replaces an earlier one of the same name. So a file gets another name if one of its name is attached already.
async function nameApart(collection, arriving) {
  const taken = new Set(attached.filter((file) => file.hash && !arriving.includes(file)).map(storedName));
  let listed = null;
  for (const file of arriving) {
    if (taken.has(storedName(file))) {
      listed ??= (await callIfThere(`collections/${encodeURIComponent(collection)}/documents`))?.documents ?? [];
      const others = new Set([...taken, ...listed.map(storedName)]);
      const [, stem, ending] = file.name.match(/^(.*?)(\.[^.]*)?$/s);
      for (let number = 2; others.has(storedName(file)); number += 1) file.name = `${stem} (${number})${ending ?? ""}`;
    }
    taken.add(storedName(file));
  }
}

// The service stores names in one Unicode form and with single spaces, and some disks do not tell capitals apart.
const storedName = ({ name }) => name.normalize("NFC").trim().replace(/\s+/g, " ").toLowerCase();

function draw() {
  // A question searches one collection, so detach the files of other collections.
  attached = attached.filter((one) => one.collection === chosenCollection());
  list.hidden = !attached.length;
  list.replaceChildren(...attached.map(item),
    attached.some((one) => !one.problem) ? make("li", { class: "hint" }, "Only attached files are searched for your question. To ask about all documents, click the cross beside each file; the files stay in the collection.") : "");
}

function item(one) {
  const off = make("button", { type: "button", class: "icon-button", "aria-label": `Remove ${one.name}`, on: { click: () => {
    attached = attached.filter((other) => other !== one);
    draw();
    byId("question").focus();
  } } }, icon("close"));
  return make("li", { class: one.problem ? "attached problem" : "attached" }, icon(one.problem ? "warning" : "attached"),
    strange("span", one.name, "attached-name"), one.problem && strange("span", one.problem),
    !one.problem && !one.hash && make("span", { class: "hint" }, one.words), off);
}

// Dropping files anywhere on the page

const sign = byId("drop-sign");
const hasFiles = (event) => event.dataTransfer?.types.includes("Files");

document.addEventListener("dragover", (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  const shown = page.documentsView();
  const collection = shown?.name ?? chosenCollection();
  byId("drop-words").textContent = !page.mayWrite() ? MAY_NOT_WRITE : shown ? `Drop to add to ${collection}` : `Drop to add to ${collection} and ask about it`;
  sign.hidden = Boolean(document.querySelector("dialog[open]"));
});
document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) sign.hidden = true; });
document.addEventListener("drop", (event) => {
  sign.hidden = true;
  if (!hasFiles(event)) return;
  // Otherwise the browser would leave the page and open the file.
  event.preventDefault();
  if (document.querySelector("dialog[open]")) return;
  const { files, folders } = filesOf(event.dataTransfer);
  const shown = page.documentsView();
  if (!shown) attach(files, folders);
  else if (page.mayWrite()) shown.add(files, folders);
});
field.addEventListener("change", () => {
  attach([...field.files]);
  field.value = "";
});
