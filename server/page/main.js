/** Connects the parts of the page: its views, its conversations, the key and the colours. */

import { showAbout } from "./about.js";
import { call, callIfThere } from "./api.js";
import { PairView, isComparing, pairOf, withModel } from "./compare.js";
import { connectConversations, drawConversations } from "./conversations.js";
import { announce, byId } from "./dom.js";
import { attachAsIn, attachDocument, attachedFiles, connectAttachments, detachAll, onlyFiles, showAttaching, whenRead } from "./attach.js";
import { add, confirm, showDocuments, shownCollection } from "./documents.js";
import { describe } from "./failures.js";
import { showFolder } from "./folder.js";
import { clearConversations, historyOf, isForgotten, keepTurn, newConversation, newId, onOtherTab, readConversations } from "./history.js";
import { isRemembered, keepKey, readKey } from "./key.js";
import { narrowAsIn, narrowing } from "./narrow.js";
import { chooseAsIn, chosenCollection, chosenModel, chosenPipeline, closeWeb, onlyOwn, runOptions, showOptions, withoutClosed } from "./options.js";
import { STOPPED, TurnView } from "./run.js";
import { writeStored } from "./storage.js";
import { showProof, showSuggestions } from "./suggestions.js";
import { useToken } from "./token.js";

const question = byId("question");
let conversation = newConversation();
let running = null;
// The turn that will be asked as soon as its files are read.
let waiting = null;
let access = null;
let collections = null;
let takesNew = false;
// The views of questions that are answered twice, by the id that their two turns share.
const pairs = new Map();

async function start() {
  const refused = await useToken();
  try {
    access = await callIfThere("access");
    const { pipelines } = await call("pipelines");
    await listCollections();
    const isFirst = !chosenPipeline();
    showOptions(pipelines, collections);
    // The user may have opened a conversation before there was anything to choose.
    if (isFirst && conversation.turns.length) say(chooseAgain(conversation.turns.at(-1)));
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
  takesNew = Boolean(listed?.takes_new);
  showFolder(collections ?? [], listCollections);
  about();
  return collections ?? [];
}

function about() {
  const collection = collections?.find((one) => one.name === chosenCollection());
  showAbout(collection, chosenModel(), {
    isOwner: Boolean(access?.started), isComparing: isComparing(), showDocuments: () => openDocuments(true) });
}

function notice(text) {
  byId("notice").hidden = !text;
  byId("notice").textContent = text;
}

// Asking

async function ask(text, isSuggested = false) {
  if (!text || !(await isReady())) return;
  say("");
  if (isSuggested) closeWeb();
  // What is on the page now is asked, whatever is chosen while the files are read.
  const files = attachedFiles();
  // Questions with attached files and suggested questions are about certain documents already, so do not narrow them.
  const narrowed = files.length || isSuggested ? { options: {}, words: "" } : narrowing();
  const turn = newTurn({ question: text, pipeline: chosenPipeline(), narrowed: narrowed.words, isSuggested,
    options: { ...runOptions(), ...narrowed.options, ...(files.length || isSuggested ? onlyOwn() : {}) } });
  waiting = turn;
  const problem = await whenRead(files).catch(() => "The attached files did not arrive: attach them again.");
  // If the user has opened another conversation, that has been said already.
  if (waiting !== turn) return;
  waiting = null;
  // Leave the question in its field.
  if (problem) return say(problem);
  if (files.length) Object.assign(turn, { attached: files.map((file) => file.name), options: { ...turn.options, ...onlyFiles(files) } });
  if (question.value.trim() === text) question.value = "";
  fit();
  await (isComparing() && chosenModel() ? runTwice(turn) : run(turn));
}

async function runTwice(turn) {
  const [first, second] = pairOf(turn, newId());
  await run(first);
  if (first.failure?.status !== STOPPED) await run(second);
}

// One side of a pair is asked again in its place. Then the other side is asked, if the run was stopped before it.
async function runSideAgain(turn, options) {
  if (turn.side === "model" && !chosenModel()) return say("Not asked again: there is no language model here now.");
  Object.assign(turn, newTurn({ ...turn, pipeline: chosenPipeline(), options }), { id: turn.id, partial: null });
  await run(turn);
  const isAlone = conversation.turns.filter(({ pair }) => pair === turn.pair).length === 1;
  if (!isAlone || turn.side === "model" || turn.failure?.status === STOPPED || !chosenModel()) return;
  await run({ ...newTurn({ ...turn, options: withModel(options) }), pair: turn.pair, side: "model" });
}

// A text that the user allows as a web query is sent only in the turn of that click.
async function askAgain(earlier, allowed = "") {
  if (!(await isReady())) return;
  const index = earlier.options.index;
  if (index && collections && !collections.some(({ name }) => name === index)) {
    return say(`Not asked again: the collection ${index} is not there any more.`);
  }
  say(chooseAgain(earlier, true));
  const { web_query: _, ...options } = withoutClosed(earlier.options);
  if (allowed && options.web === false) return say("Not asked: the web is switched off. Switch it on first.");
  if (earlier.side && !allowed) return runSideAgain(earlier, options);
  const turn = newTurn({ ...earlier, pipeline: chosenPipeline(), options: allowed ? { ...options, web_query: allowed } : options });
  if (!earlier.side) return run(turn);
  // The query is allowed for the question, so both answers to it may use it. The earlier ones stay where they are.
  turn.options = withModel(turn.options);
  await (chosenModel() ? runTwice(turn) : run(turn));
}

// Whether a question can be asked now, in the conversation that is shown.
async function isReady() {
  const shown = conversation;
  if (!chosenPipeline()) await start();
  return Boolean(chosenPipeline()) && conversation === shown && !running && !waiting;
}

function newTurn({ question: text, pipeline, options, isSuggested, attached = [], narrowed }) {
  return { id: newId(), question: text, pipeline, options, isSuggested, attached, narrowed, events: [], result: null, failure: null };
}

async function run(turn) {
  // The other answer of a pair is no earlier turn, and a side that is asked again does not read what was asked later.
  const start = turn.pair ? conversation.turns.findIndex(({ pair }) => pair === turn.pair) : -1;
  const earlier = historyOf(start < 0 ? conversation.turns : conversation.turns.slice(0, start));
  const body = { ...turn.options, question: turn.question, ...(earlier.length ? { history: earlier } : {}) };
  // The second answer of a pair stands behind the first, also if something was asked in between.
  if (!conversation.turns.includes(turn)) conversation.turns.splice(start < 0 ? conversation.turns.length : start + 1, 0, turn);
  const view = addTurn(turn, conversation);
  // The second answer of a pair does not move who reads the first.
  if (!turn.side || turn.side === "reader") (pairs.get(turn.pair) ?? view).node.scrollIntoView({ block: "start" });
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
  const view = new TurnView(turn, () => keepTurn(owner, turn), (allowed) => askAgain(turn, allowed));
  showWelcome(false);
  if (!turn.side) byId("turns").append(view.node);
  else {
    if (!pairs.has(turn.pair)) {
      pairs.set(turn.pair, new PairView(turn));
      byId("turns").append(pairs.get(turn.pair).node);
    }
    pairs.get(turn.pair).add(view);
  }
  return view;
}

// Choose again where and in which documents a turn searched. Returns a sentence that says so if something else was chosen.
function chooseAgain(turn, keepsOff = false) {
  const before = choices();
  const missing = chooseAsIn(turn, keepsOff);
  narrowAsIn(turn.options);
  attachAsIn(turn);
  return missing || (choices() === before ? "" : "Where to search is chosen again as for the last question here.");
}

function choices() {
  return JSON.stringify([chosenPipeline(), runOptions(), narrowing().options, attachedFiles().map((file) => file.hash)]);
}

function say(text) {
  byId("said").hidden = !text;
  byId("said").textContent = text;
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

function open(chosen) {
  // The list has the stored conversation, without the turn that is being asked.
  if (chosen.id !== conversation.id) show(chosen);
  showView("ask");
  showSidebar(false);
  question.focus();
}

function show(chosen) {
  running?.abort();
  const says = [waiting && "Not asked: you have opened another conversation while a file was being read."];
  waiting = null;
  conversation = chosen;
  const { turns } = chosen;
  byId("turns").replaceChildren();
  pairs.clear();
  showWelcome(!turns.length);
  suggest();
  turns.forEach((turn) => addTurn(turn, chosen).restore());
  if (turns.length && chosenPipeline()) says.push(chooseAgain(turns.at(-1)));
  say(says.filter(Boolean).join(" "));
  drawConversations();
}

function begin() {
  detachAll();
  open(newConversation());
}

onOtherTab(() => {
  // Go on as chosen, but without the conversation that another tab has deleted.
  if (isForgotten(conversation.id)) show(newConversation());
  const { turns = [], ...names } = readConversations().find(({ id }) => id === conversation.id) ?? {};
  Object.assign(conversation, names);
  for (const turn of turns) {
    if (conversation.turns.some(({ id }) => id === turn.id)) continue;
    conversation.turns.push(turn);
    addTurn(turn, conversation).restore();
  }
  drawConversations();
});

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
byId("show-documents").addEventListener("click", () => openDocuments());

async function openDocuments(showsFailed = false) {
  showView("documents");
  showSidebar(false);
  await showDocuments(collections ?? [], { writes: Boolean(access?.writes), takesNew, hasKey: Boolean(access?.needs_key) }, listAnew);
  const failed = showsFailed && document.querySelector("#documents-view .failed-files");
  if (!failed) return;
  failed.open = true;
  failed.scrollIntoView({ block: "center" });
}

// Whether questions may go to the web is asked about each collection, as in the terminal.
document.addEventListener("decide-on-web", async ({ detail: { name, open } }) => {
  const title = open ? "May questions go to the web?" : "Close the web?";
  const text = open ? `If ${name} does not suffice, words of your question are sent to a search engine. You are shown every query.`
    : `Questions on ${name} no longer go to the web.`;
  if (!(await confirm(title, text, open ? "Open the web" : "Close the web"))) return;
  try {
    await call(`collections/${encodeURIComponent(name)}/web`, { method: "PUT", json: { open } });
    await listAnew();
    if (!byId("documents-view").hidden) await openDocuments();
    announce(open ? `The web is open for ${name}.` : `The web is closed for ${name}.`);
  } catch (failure) {
    say(`${describe(failure).title}. ${describe(failure).text}`);
  }
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
  showProof(byId("welcome").hidden ? "" : chosenCollection());
}

document.addEventListener("options", () => {
  showAttaching();
  suggest();
  about();
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
    writeStored("prefrag.theme", null);
  } else {
    document.documentElement.dataset.theme = theme;
    writeStored("prefrag.theme", theme);
  }
  showTheme();
});

showTheme();
connectConversations({ current: () => conversation, open, begin });
question.focus();
// If the user opens the address that the terminal shows in this tab, browsers do not reload the page.
addEventListener("hashchange", () => location.hash && start());
start();
