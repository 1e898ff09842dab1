/** The choices for a question: the method, the collection, and the sources, such as the web. */

import { byId, icon, make } from "./dom.js";
import { sourceName } from "./kinds.js";

let pipelines = [];
let collections = null;
const chosen = { pipeline: "", index: "", off: new Set() };

/**
 * Show the choices.
 * @param {object[]} served The pipelines from `GET /pipelines`.
 * @param {object[]|null} searchable The collections from `GET /collections`, if the server has this route.
 */
export function showOptions(served, searchable) {
  pipelines = served;
  collections = searchable;
  if (!current()) chosen.pipeline = pipelines[0]?.name ?? "";
  if (!collections?.some((one) => one.name === chosen.index)) {
    chosen.index = (collections?.find((one) => one.default) ?? collections?.[0])?.name ?? "";
  }
  draw();
}

/** @returns {string} The chosen method, which is a pipeline. */
export function chosenPipeline() {
  return chosen.pipeline;
}

/** @returns {string} The chosen collection. If it is empty, the pipeline searches its own collection. */
export function chosenCollection() {
  return chosen.index;
}

/** @returns {{name: string, here: boolean}|null|undefined} The model of the chosen method; null if there is none. */
export function chosenModel() {
  return current()?.model;
}

/** @param {string} name The collection to choose. */
export function chooseCollection(name) {
  chosen.index = name;
  draw();
}

/**
 * Choose the method, the collection and the sources with which a turn was asked.
 * @param {import("./history.js").Turn} turn The turn.
 * @param {boolean} keepsOff Whether sources that are switched off now stay so.
 * @returns {string} What cannot be chosen, in a sentence; empty if everything can.
 */
export function chooseAsIn({ pipeline, options }, keepsOff) {
  if (pipelines.some(({ name }) => name === pipeline)) chosen.pipeline = pipeline;
  const index = options.index ?? collections?.find((collection) => collection.default)?.name;
  const isThere = collections?.some(({ name }) => name === index);
  if (isThere) chosen.index = index;
  if (!keepsOff) chosen.off.clear();
  for (const { name, external } of current()?.sources ?? []) {
    const isLeftOut = options.sources && !options.sources.includes(name);
    if (isLeftOut || (external && options.web === false)) chosen.off.add(name);
  }
  draw();
  return options.index && !isThere ? `The collection ${options.index} is not there any more: now ${chosen.index} is searched.` : "";
}

/**
 * Leave the sources out that are switched off now.
 * @param {object} options The options of an earlier question.
 * @returns {object} These options without such sources.
 */
export function withoutClosed(options) {
  if (!chosen.off.size) return options;
  const names = options.sources ?? (current()?.sources ?? []).map((source) => source.name);
  return { ...options, sources: names.filter((name) => !chosen.off.has(name)), ...(isWebClosed() ? { web: false } : {}) };
}

/** Switch the web off. */
export function closeWeb() {
  externalSources().forEach(({ name }) => chosen.off.add(name));
  draw();
}

/** @returns {object} Options with which a question searches only the user's own documents. */
export function onlyOwn() {
  return { sources: (current()?.sources ?? []).filter((source) => !source.external).map((source) => source.name), web: false };
}

/** @param {string} name @returns {boolean} Whether a source is on the web. */
export function isExternal(name) {
  return pipelines.some((one) => one.sources.some((source) => source.name === name && source.external));
}

/** @returns {object} The options of a run, without those that equal the service's defaults. */
export function runOptions() {
  const sources = current()?.sources ?? [];
  const options = {};
  const named = collections?.find((one) => one.name === chosen.index);
  if (named && !named.default) options.index = named.name;
  const off = sources.filter((source) => isOff(source) && isOpen(source));
  if (off.length) {
    options.sources = sources.filter((source) => !isOff(source)).map((source) => source.name);
    if (sources.filter((source) => source.external).every(isOff)) options.web = false;
  }
  return options;
}

function current() {
  return pipelines.find((one) => one.name === chosen.pipeline);
}

function isOpen(source) {
  const collection = collections?.find((one) => one.name === chosen.index);
  // Each collection has its own setting for whether questions on it may go to the web.
  return source.external && collection && !collection.default ? collection.web : source.open;
}

function isOff(source) {
  return chosen.off.has(source.name) || !isOpen(source);
}

function draw() {
  document.dispatchEvent(new CustomEvent("options"));
  const sources = current()?.sources ?? [];
  byId("options").replaceChildren(
    ...(collections?.length > 1 ? [choice("Collection", collections.map((one) => one.name), chosen.index, (name) => { chosen.index = name; })] : []),
    ...(pipelines.length > 1 ? [choice("Method", pipelines.map((one) => one.name), chosen.pipeline, chooseMethod)] : []),
    ...sources.map(sourceSwitch));
  const closed = sources.find((source) => !isOpen(source));
  byId("closed").hidden = !closed;
  if (closed) {
    const open = webButton();
    if (open) return byId("closed").replaceChildren("The web is closed for this collection. ", open);
    // The reason may name the pipeline's own index. If another collection is chosen, name that instead.
    const reason = closed.reason?.replace(/(?<=--collection )[^\s`]+/, (name) => chosen.index || name) ?? "the web is closed for this collection";
    // Commands in the reason are between backticks.
    byId("closed").replaceChildren(...`${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`.split("`").map(
      (part, at) => (at % 2 ? make("code", {}, part) : part)));
    byId("closed").title = byId("closed").textContent;
  }
}

// Whoever started the service may open the web here, unless a setting decides.
function webButton() {
  const collection = collections?.find((one) => one.name === chosen.index);
  if (!collection?.opens_web) return null;
  const open = make("button", { type: "button", class: "text-button" }, "Open the web …");
  open.addEventListener("click", () => document.dispatchEvent(new CustomEvent("decide-on-web", { detail: { name: collection.name, open: true } })));
  return open;
}

function externalSources() {
  return (current()?.sources ?? []).filter((source) => source.external);
}

function isWebClosed() {
  return externalSources().length > 0 && externalSources().every((source) => chosen.off.has(source.name));
}

// Another method may have other sources on the web. If the web is off, they are off too.
function chooseMethod(name) {
  const isClosed = isWebClosed();
  chosen.pipeline = name;
  if (isClosed) closeWeb();
}

function choice(label, names, value, choose) {
  const select = make("select", { on: { change: (event) => { choose(event.target.value); draw(); } } },
    names.map((name) => make("option", { value: name, selected: name === value }, name)));
  return make("label", { class: "choice" }, make("span", {}, label), select);
}

function sourceSwitch(source) {
  const kind = source.external ? "web" : "own";
  const name = sourceName(source.name, source.external).replace(/^the web$/, "web");
  const box = make("input", { type: "checkbox", role: "switch", checked: !isOff(source), disabled: !isOpen(source), "data-source": source.name });
  box.addEventListener("change", () => {
    if (box.checked) chosen.off.delete(source.name);
    else chosen.off.add(source.name);
    draw();
    byId("options").querySelector(`[data-source="${CSS.escape(source.name)}"]`)?.focus();
  });
  return make("label", { class: `source-switch switch-${kind}` }, box, icon(kind), name.charAt(0).toUpperCase() + name.slice(1));
}
