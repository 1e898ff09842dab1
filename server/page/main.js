/** Connects the parts of the page: its views, its conversations, the key and the colours. */

import { call, callIfThere } from "./api.js";
import { connectConversations, drawConversations } from "./conversations.js";
import { byId } from "./dom.js";
import { areReady, attachDocument, attachment, connectAttachments, detachAll, showAttaching } from "./attach.js";
import { add, confirm, showDocuments, shownCollection } from "./documents.js";
import { describe } from "./failures.js";
import { showFolder } from "./folder.js";
import { clearConversations, historyOf, keepConversation, newConversation } from "./history.js";
import { isRemembered, keepKey, readKey } from "./key.js";
import { narrowing } from "./narrow.js";
import { chosenCollection, chosenPipeline, onlyOwn, runOptions, showOptions } from "./options.js";
import { TurnView } from "./run.js";
import { showSuggestions } from "./suggestions.js";
import { useToken } from "./token.js";

const question = byId("question");
let conversation = newConversation();
let running = null;
let waiting = false;
let access = null;
let collections = null;

async function start() {
  const refused = await useToken();
  try {
    access = await callIfThere("access");
    const { pipelines } = await call("pipelines");
    await listCollections();
    showOptions(pipelines, collections);
    if (refused && !access?.writes) notice(refused);
    else notice(pipelines.length ? "" : "The service is still starting. Reload the page in a moment.");
  } catch (failure) {
    const { title, text } = describe(failure);
    notice(failure.status === 401 ? refused || "You need an access key to ask here." : `${title}. ${text}`);
    if (failure.status !== 401) return;
  }
  byId("key-button").hidden = !(readKey() || access?.needs_key);
  byId("key-name").textContent = access?.key || "Access key";
  byId("show-documents").hidden = !collections;
  byId("examples").hidden = !collections?.some((one) => one.default && one.name === "demo");
  document.dispatchEvent(new CustomEvent("options"));
}

async function listCollections() {
  const listed = await callIfThere("collections");
  collections = listed?.collections ?? null;
  showFolder(collections ?? [], listCollections);
  return collections ?? [];
}

function notice(text) {
  byId("notice").hidden = !text;
  byId("notice").textContent = text;
}

// Asking

async function ask(text, isSuggested = false) {
  if (running || waiting || !text) return;
  if (!chosenPipeline()) {
    await start();
    // Leave the question in its field.
    if (!chosenPipeline()) return;
  }
  waiting = true;
  const ready = await areReady().finally(() => { waiting = false; });
  // Leave the question in its field: the list of attachments shows what is wrong with a file.
  if (!ready) return;
  if (question.value.trim() === text) question.value = "";
  fit();
  const earlier = historyOf(conversation.turns);
  const { names, options } = attachment();
  // Questions with attached files and suggested questions are about certain documents already, so do not narrow them.
  const narrowed = names.length || isSuggested ? { options: {}, words: "" } : narrowing();
  const turn = { question: text, pipeline: chosenPipeline(), options: { ...runOptions(), ...narrowed.options, ...options, ...(isSuggested ? onlyOwn() : {}) },
    isSuggested, attached: names, narrowed: narrowed.words, events: [], result: null, failure: null };
  const body = { question: text, ...turn.options, ...(earlier.length ? { history: earlier } : {}) };
  conversation.turns.push(turn);
  const view = addTurn(turn, conversation);
  view.node.scrollIntoView({ block: "start" });
  running = new AbortController();
  showRunning();
  try {
    await view.run(body, running.signal);
  } finally {
    running = null;
    showRunning();
    drawConversations();
  }
}

function addTurn(turn, owner) {
  const view = new TurnView(turn, () => keepConversation(owner), () => ask(turn.question, turn.isSuggested));
  showWelcome(false);
  byId("turns").append(view.node);
  return view;
}

function showWelcome(shown) {
  byId("welcome").hidden = !shown;
  byId("ask-title").hidden = shown;
}

function showRunning() {
  byId("send").hidden = Boolean(running);
  byId("stop").hidden = !running;
  document.body.classList.toggle("is-running", Boolean(running));
}

byId("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  ask(question.value.trim());
});

question.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    byId("composer").requestSubmit();
  }
});

for (const example of byId("examples").querySelectorAll("button")) {
  example.addEventListener("click", () => ask(example.textContent));
}

byId("stop").addEventListener("click", () => {
  running?.abort();
  question.focus();
});

function fit() {
  question.rows = Math.min(8, Math.max(1, question.value.split("\n").length, Math.ceil(question.value.length / 70)));
}
question.addEventListener("input", fit);

// Conversations

function open(one) {
  running?.abort();
  conversation = one;
  byId("turns").replaceChildren();
  showWelcome(!one.turns.length);
  suggest();
  one.turns.forEach((turn) => addTurn(turn, one).restore());
  drawConversations();
  showView("ask");
  showSidebar(false);
  question.focus();
}

function begin() {
  detachAll();
  open(newConversation());
}

byId("new-conversation").addEventListener("click", begin);
byId("clear-history").addEventListener("click", async () => {
  if (!(await confirm("Clear the history?", "All conversations are removed from this browser.", "Clear"))) return;
  clearConversations();
  begin();
});

// Views

function showView(name) {
  for (const one of ["ask", "documents"]) {
    byId(`${one}-view`).hidden = one !== name;
    if (one === name) byId(`show-${one}`).setAttribute("aria-current", "page");
    else byId(`show-${one}`).removeAttribute("aria-current");
  }
}

byId("show-ask").addEventListener("click", () => {
  showView("ask");
  question.focus();
});
byId("show-documents").addEventListener("click", async () => {
  showView("documents");
  showSidebar(false);
  await showDocuments(collections ?? [], Boolean(access?.writes), listAnew);
});

async function listAnew() {
  const listed = await listCollections();
  showOptions((await call("pipelines")).pipelines, collections);
  return listed;
}

connectAttachments({
  mayWrite: () => Boolean(access?.writes && (collections?.find((one) => one.name === chosenCollection())?.writes ?? true)),
  changed: listAnew,
  documentsView: () => (byId("documents-view").hidden ? null : { name: shownCollection(), add }),
});
document.addEventListener("ask-about", ({ detail }) => {
  showView("ask");
  attachDocument(detail);
  question.focus();
});
// The demo has its own questions. A suggested question may contain words of a document, so it is never sent to the web.
function suggest() {
  const isDemo = !byId("examples").hidden;
  showSuggestions(isDemo || byId("welcome").hidden ? "" : chosenCollection(), (text) => ask(text, true));
}

document.addEventListener("options", () => {
  showAttaching();
  suggest();
});

function showSidebar(open) {
  document.body.classList.toggle("has-sidebar", open);
  byId("menu").setAttribute("aria-expanded", String(open));
}
byId("menu").addEventListener("click", () => {
  const open = !document.body.classList.contains("has-sidebar");
  showSidebar(open);
  if (open) byId("new-conversation").focus();
});
byId("ask-view").addEventListener("pointerdown", () => showSidebar(false));
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && document.body.classList.contains("has-sidebar") && !document.querySelector("dialog[open]")) {
    showSidebar(false);
    byId("menu").focus();
  }
});

// Key

const keyDialog = byId("key-dialog");

function askForKey(reason) {
  if (keyDialog.open) return;
  byId("key-reason").textContent = reason;
  byId("key").value = "";
  byId("remember").checked = isRemembered();
  byId("key-forget").hidden = !readKey();
  byId("key-button").hidden = false;
  keyDialog.showModal();
  byId("key").focus();
}
document.addEventListener("key-needed", () => askForKey(readKey()
  ? "This service does not know the key that this browser sent. Enter another one."
  : "You need an access key to ask here. Whoever runs this service can give you one. If you run it yourself, open the address that its terminal shows."));
byId("key-button").addEventListener("click", () => askForKey(access?.key ? `The key in use is called ${access.key}.` : "Enter the key that you want to use."));
byId("key-cancel").addEventListener("click", () => keyDialog.close());
byId("key-forget").addEventListener("click", () => {
  keepKey("", false);
  location.reload();
});
byId("key-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const given = byId("key").value.trim();
  if (!given || [...given].some((sign) => sign < "!" || sign > "~")) {
    byId("key").setCustomValidity("A key has only digits, signs, and letters without accents.");
    byId("key").reportValidity();
    byId("key").addEventListener("input", () => byId("key").setCustomValidity(""), { once: true });
    return;
  }
  keepKey(given, byId("remember").checked);
  keyDialog.close();
  await start();
  question.focus();
});

// Theme

const THEMES = ["system", "light", "dark"];

function showTheme() {
  const theme = document.documentElement.dataset.theme ?? "system";
  byId("theme-button").setAttribute("aria-label", `Colours: ${theme === "system" ? "same as the system" : theme}`);
  byId("theme-button").title = byId("theme-button").getAttribute("aria-label");
}
byId("theme-button").addEventListener("click", () => {
  const theme = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme ?? "system") + 1) % THEMES.length];
  if (theme === "system") {
    delete document.documentElement.dataset.theme;
    localStorage.removeItem("prefrag.theme");
  } else {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem("prefrag.theme", theme);
  }
  showTheme();
});

showTheme();
connectConversations({ current: () => conversation, open, begin });
question.focus();
// If the user opens the address that the terminal shows in this tab, browsers do not reload the page.
addEventListener("hashchange", () => location.hash && start());
start();
