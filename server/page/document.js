/** The dialog of a document. It shows the indexed text, marks the passage that was found, and can save the file. */

import { call, callForFile } from "./api.js";
import { byId, count, icon, make, strange } from "./dom.js";
import { describe } from "./failures.js";
import { dateOf, isNamed, splitAtSentence } from "./kinds.js";

const dialog = byId("document");
const FILE_STATES = {
  changed: "The file has changed since it was indexed. This is the text as it was read then.",
  gone: "The file is not there any more. This is the text as it was read.",
};

/**
 * Open the document that contains a passage of a result, and scroll to that passage.
 * @param {object} passage One of the `documents` of a result, whose `collection` says where it is indexed.
 * @param {string} [sentence] The sentence to mark, instead of the passage's best one.
 */
export async function openDocumentOf(passage, sentence = "") {
  const name = passage.collection || (await defaultCollection());
  await open(name, `passages/${encodeURIComponent(passage.id)}`, passage, sentence);
}

/** @param {string} name The collection. @param {string} id The document. */
export async function openDocument(name, id) {
  await open(name, `documents/${encodeURIComponent(id)}`);
}

async function defaultCollection() {
  const { collections } = await call("collections");
  return collections.find((one) => one.default)?.name ?? "";
}

async function open(name, path, found = null, sentence = "") {
  show(make("p", { class: "hint" }, "Loading …"));
  if (!dialog.open) dialog.showModal();
  try {
    const opened = await call(`collections/${encodeURIComponent(name)}/${path}`);
    show(...content(name, opened, found, sentence));
    scrollToFound();
  } catch (failure) {
    const { title, text } = describe(failure);
    show(make("p", { class: "problem" }, icon("warning"), strange("span", `${title}. ${text}`)));
  }
  dialog.querySelector("#document-close").focus();
}

// Scroll several times: as long as passages are not laid out, the browser only estimates their height.
function scrollToFound(times = 4) {
  const found = dialog.querySelector(".sheet mark") ?? dialog.querySelector(".sheet img") ?? dialog.querySelector(".is-found mark") ?? dialog.querySelector(".is-found");
  found?.scrollIntoView({ block: found.matches("img") ? "start" : "center" });
  if (found && times) requestAnimationFrame(() => scrollToFound(times - 1));
}

function show(...parts) {
  dialog.replaceChildren(
    make("header", { class: "panel-head" }, make("span", { class: "kind kind-own" }, icon("own"), "Your documents"),
      make("span", { class: "spacer" }),
      make("button", { type: "button", id: "document-close", class: "icon-button", "aria-label": "Close",
        on: { click: () => dialog.close() } }, icon("close"))),
    make("div", { class: "panel-body", tabindex: "0", role: "region", "aria-label": "The document" },
      make("h2", { id: "document-title", class: "visually-hidden" }, "Document"), parts));
}

function content(name, opened, found, sentence) {
  const { first, of, passages } = opened;
  const shown = passages.length < of ? `passages ${first} to ${first + passages.length - 1} of ${of}` : count(of, "passage");
  const status = make("p", { role: "status", class: "upload-status" });
  return [
    strange("p", opened.title || opened.name, "document-name"),
    strange("p", [isNamed(opened.title || opened.name, opened.name) ? "" : opened.name, dateOf(opened), shown].filter(Boolean).join(" · "), "hint"),
    opened.loss && strange("p", `Not all of it could be read: ${opened.loss}`, "notice"),
    FILE_STATES[opened.file] && make("p", { class: "notice" }, FILE_STATES[opened.file]),
    make("p", { class: "panel-actions" },
      opened.hash && make("button", { type: "button", class: "quiet-button", on: { click: () => askAbout(name, opened) } }, icon("attached"), "Ask only about this"),
      opened.original && make("button", {
        type: "button", class: "quiet-button", on: { click: () => save(name, opened, status) },
      }, icon("out"), "Save the file")),
    status,
    opened.original && opened.kind === "pdf" && pdfPage(name, opened, found, sentence),
    make("ol", { class: `passages passages-${opened.kind === "code" ? "code" : "text"}` }, passages.map((passage, number) =>
      passageItem(passage, passages[number - 1], passage.id === found?.id ? found : null, sentence))),
  ];
}

function passageItem(passage, before, found, sentence) {
  const place = ["attachment", "heading", "page", "line"]
    .filter((name) => passage[name] && (name === "line" || passage[name] !== before?.[name]))
    .map((name) => (name === "page" || name === "line" ? `${name} ${passage[name]}` : passage[name])).join(" · ");
  const [head, marked, tail] = found ? splitAtSentence(found, sentence) : [passage.content, "", ""];
  return make("li", { class: found ? "is-found" : "" },
    place && strange("p", place, "hint"),
    make("p", { class: "passage-text strange", dir: "auto" }, head, marked && make("mark", {}, marked), tail),
    found && make("p", { class: "hint" }, "This is the passage that was found."));
}

// A picture of the page with the sentence marked. The page's words lie over the picture, so that users can select them.
function pdfPage(name, { id }, found, sentence) {
  const sheet = make("div", { class: "sheet" });
  const told = make("span", { role: "status", class: "hint" });
  const marked = found ? splitAtSentence(found, sentence)[1] || found.content : "";
  const start = found?.page ?? 1;
  let number = start;
  const turn = (by, label) => make("button", {
    type: "button", class: "icon-button", "aria-label": label, on: { click: () => draw(number + by) },
  }, icon(by < 0 ? "previous" : "next"));
  const [back, on] = [turn(-1, "Previous page"), turn(1, "Next page")];
  async function draw(wanted) {
    told.textContent = "Loading …";
    try {
      const asked = new URLSearchParams(wanted === start ? { sentence: marked.slice(0, 2000) } : {});
      const drawn = await call(`collections/${encodeURIComponent(name)}/documents/${encodeURIComponent(id)}/pages/${wanted}?${asked}`);
      number = drawn.page;
      const picture = make("img", { alt: `Page ${number}`, width: drawn.width, height: drawn.height });
      picture.src = `data:image/png;base64,${drawn.png}`;
      sheet.replaceChildren(picture, ...drawn.marks.map((place) => placed("mark", place)),
        ...drawn.runs.map((place) => placed("span", place, place.text)));
      told.textContent = `Page ${number} of ${drawn.pages}`;
      back.disabled = number <= 1;
      on.disabled = number >= drawn.pages;
      if (found || wanted !== start) scrollToFound();
    } catch (failure) {
      told.textContent = describe(failure).text || describe(failure).title;
    }
  }
  draw(number);
  return make("figure", { class: "pdf-page" }, make("figcaption", {}, back, told, on), sheet);
}

function placed(tag, { left, top, width, height }, text = "") {
  const node = make(tag, {}, text);
  for (const [name, share] of Object.entries({ left, top, width, height })) node.style[name] = `${100 * share}%`;
  return node;
}

function askAbout(collection, { name, hash }) {
  for (const one of document.querySelectorAll("dialog[open]")) one.close();
  document.dispatchEvent(new CustomEvent("ask-about", { detail: { collection, name, hash } }));
}

async function save(name, { id, name: file }, status) {
  try {
    const address = URL.createObjectURL(await callForFile(`collections/${encodeURIComponent(name)}/documents/${encodeURIComponent(id)}/original`));
    const link = make("a", { download: file });
    link.href = address;
    link.click();
    URL.revokeObjectURL(address);
    status.textContent = "Saved.";
  } catch (failure) {
    status.textContent = `${describe(failure).title}. ${describe(failure).text}`;
  }
}

// A click beside the panel also closes it.
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});
