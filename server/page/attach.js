/** The files that a question is asked about, and the dropping of files on the page. */

import { call } from "./api.js";
import { announce, byId, icon, make, strange } from "./dom.js";
import { chooseCollection, chosenCollection, onlyOwn } from "./options.js";
import { filesOf, folderRefusal, MAY_NOT_WRITE, sentenceOf, upload } from "./upload.js";

const list = byId("attachments");
const field = byId("attach");
let page = { mayWrite: () => false, changed: () => {}, addToDocuments: null };
// Each attached file has a name. While it is uploaded it has `words` (its progress), then a `hash` or a `problem`.
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

/** @returns {Promise<boolean>} Whether every attached file can be searched. Waits until all files are uploaded. */
export async function areReady() {
  await coming;
  return attached.every((one) => one.hash);
}

/** @returns {{names: string[], options: object}} The names of the attached files, and options that search only them. */
export function attachment() {
  const names = attached.map((one) => one.name);
  const only = { field: "meta.file_hash", operator: "in", value: attached.map((one) => one.hash) };
  return { names, options: names.length ? { ...onlyOwn(), filters: only } : {} };
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
    coming = coming.then(() => send(collection, files, arriving));
  }
  draw();
}

async function send(collection, files, arriving) {
  try {
    const { documents, skipped } = await upload(collection, files, (words) => {
      arriving.forEach((one) => { one.words = words; });
      draw();
    });
    const reasons = new Map(skipped.map(({ name, reason }) => [name, reason]));
    for (const one of arriving) {
      // The service stores names in one Unicode form and with single spaces.
      const kept = documents.find(({ name }) => name === one.name.normalize("NFC").trim().replace(/\s+/g, " "));
      if (kept) one.hash = (await call(`collections/${encodeURIComponent(collection)}/documents/${kept.id}`)).hash;
      else one.problem = reasons.has(one.name) ? `Not added: ${reasons.get(one.name)}.` : "The file was added to the collection. You cannot ask about it alone, because each of its entries is a document of its own.";
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
