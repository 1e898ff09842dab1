/** The list of conversations. They can be searched, named, pinned, deleted, saved to a file and opened from a file. */

import { announce, byId, icon, make } from "./dom.js";
import { SIDES, addConversation, changeConversation, forgetConversation, newConversation, newId, nameOf, readConversations } from "./history.js";
import { markdownOf } from "./markdown.js";

const dialog = byId("conversation-dialog");
const list = byId("conversations");
const search = byId("conversation-search");
const KIND = "prefrag conversation";
const MOST_BYTES = 5_000_000;
const OPTIONS = ["index", "sources", "filters", "folders", "kinds", "since", "until"];
let at = { current: () => null, open: () => {}, begin: () => {} };
let chosen = null;

/**
 * Connect the list with the page.
 * @param {{current: () => object, open: (one: object) => void, begin: () => void}} page `current` returns the shown
 *     conversation, `open` shows another conversation, and `begin` starts a new one.
 */
export function connectConversations(page) {
  at = page;
  drawConversations();
}

/** Show the conversations that contain the words in the search field, pinned ones first. */
export function drawConversations() {
  const all = readConversations();
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = all.filter((one) => words.every((word) => textOf(one).includes(word)));
  list.replaceChildren(...found.map(item));
  search.parentElement.hidden = all.length < 2;
  byId("clear-history").hidden = !all.length;
  byId("no-conversation").hidden = Boolean(found.length) || !all.length;
}

function textOf(one) {
  return [nameOf(one), ...one.turns.flatMap((turn) => [turn.question, String(turn.result?.answer ?? "")])].join("\n").toLowerCase();
}

function item(one) {
  const title = nameOf(one);
  const isCurrent = one.id === at.current()?.id;
  return make("li", { class: isCurrent ? "is-current" : "" },
    make("button", { type: "button", class: "conversation strange", dir: "auto", "aria-current": isCurrent ? "true" : null,
      on: { click: () => at.open(one) } }, one.pinned && icon("pin"), title),
    make("button", { type: "button", class: "icon-button", "aria-label": `More: ${title}`, on: { click: () => choose(one) } },
      icon("more")));
}

function choose(one) {
  chosen = one;
  byId("conversation-name").value = nameOf(one);
  byId("conversation-pinned").checked = Boolean(one.pinned);
  byId("conversation-problem").hidden = true;
  dialog.showModal();
}

byId("conversation-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const changes = { name: byId("conversation-name").value.trim(), pinned: byId("conversation-pinned").checked };
  const problem = changeConversation(chosen.id, changes);
  byId("conversation-problem").hidden = !problem;
  byId("conversation-problem").textContent = problem;
  if (problem) return;
  if (chosen.id === at.current()?.id) Object.assign(at.current(), changes);
  dialog.close();
  drawConversations();
});

byId("conversation-delete").addEventListener("click", () => {
  forgetConversation(chosen.id);
  dialog.close();
  if (chosen.id === at.current()?.id) at.begin();
  drawConversations();
  byId("new-conversation").focus();
});

byId("conversation-markdown").addEventListener("click", () => save("md", "text/markdown", markdownOf(chosen)));
byId("conversation-file").addEventListener("click", () => save("json", "application/json", JSON.stringify({ kind: KIND, ...chosen })));

function save(suffix, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = make("a", { download: `${nameOf(chosen).replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 60) || "conversation"}.${suffix}` });
  link.href = address;
  link.click();
  URL.revokeObjectURL(address);
  announce("Saved.");
}

byId("conversation-open").addEventListener("change", async ({ target }) => {
  const [file] = target.files;
  target.value = "";
  if (!file) return;
  const read = file.size <= MOST_BYTES ? readFile(await file.text()) : null;
  let problem = read ? "" : "This file is not a conversation that was saved from this page.";
  try {
    // Show the conversation first: if this fails, the conversation is not stored.
    if (read) at.open(read);
    if (read && !addConversation(read)) problem = "There is no space left for this conversation: delete some others first.";
  } catch {
    problem = "This conversation cannot be shown.";
    at.begin();
  }
  byId("not-opened").hidden = !problem;
  byId("not-opened").textContent = problem;
  drawConversations();
});

// Anybody may have written the file, so read only what the page itself would have saved in it.
function readFile(text) {
  let given;
  try {
    given = JSON.parse(text);
  } catch {
    return null;
  }
  const isEvent = (event) => isObject(event) && typeof event.kind === "string" && isObject(event.data);
  const isTurn = (turn) => typeof turn?.question === "string" && typeof turn.pipeline === "string" && isObject(turn.options) &&
    Array.isArray(turn.events) && turn.events.every(isEvent) && (turn.result === null || isResult(turn.result)) &&
    (turn.failure === null || isObject(turn.failure));
  if (given?.kind !== KIND || !Array.isArray(given.turns) || !given.turns.every(isTurn)) return null;
  const name = typeof given.name === "string" ? given.name : "";
  const turns = given.turns.map(({ question, pipeline, options, isSuggested, attached, narrowed, pair, side, events, result, failure }) => ({
    id: newId(), question, pipeline, options: optionsOf(options), isSuggested: Boolean(isSuggested), attached: Array.isArray(attached) ? attached.map(String) : [],
    narrowed: String(narrowed ?? ""), ...(Object.hasOwn(SIDES, side) ? { side, pair: String(pair) } : {}), events: events.map(({ kind, step, text: words, data }) => ({ kind, step, text: words, data })), result, failure }));
  return { ...newConversation(), name, pinned: false, turns };
}

// These only limit a question. The web and the model can be closed here, but not opened.
function optionsOf(options) {
  const limits = OPTIONS.filter((name) => name in options).map((name) => [name, options[name]]);
  return { ...Object.fromEntries(limits), ...(options.web === false ? { web: false } : {}), ...(options.model === false ? { model: false } : {}) };
}

function isResult(result) {
  return isObject(result) && ["answer", "answer_with_citations", "asked_back"].every((name) => typeof (result[name] ?? "") === "string") &&
    ["documents", "steps", "queries_sent_out"].every((name) => Array.isArray(result[name] ?? []) && (result[name] ?? []).every(isObject));
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

search.addEventListener("input", drawConversations);
byId("conversation-cancel").addEventListener("click", () => dialog.close());
