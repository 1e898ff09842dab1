/** The three kinds of passages. They differ in icon, word and border, not only in colour. */

import { icon, make, strange } from "./dom.js";

const WORDS = { own: "Your documents", web: "Web", attached: "Attached" };

/**
 * Find the kind of a passage from its mark: `1` (the user's documents), `W1` (the web) or `A1` (attached).
 * @param {string} mark The mark.
 * @returns {"own"|"web"|"attached"}
 */
export function kindOf(mark) {
  return mark.startsWith("W") ? "web" : mark.startsWith("A") ? "attached" : "own";
}

/**
 * Make the badge of a kind, with an icon and a word.
 * @param {"own"|"web"|"attached"} kind The kind.
 * @param {string} [source] The name of the source, which is shown if it says more than the word.
 * @returns {HTMLElement}
 */
export function kindBadge(kind, source = "") {
  const plain = ["local", "web", "attached", ""].includes(source);
  return make("span", { class: `kind kind-${kind}` }, icon(kind), plain ? WORDS[kind] : `${WORDS[kind]}: ${source}`);
}

/**
 * Name a source in words.
 * @param {string} name Its name in the pipeline.
 * @param {boolean} external Whether it is on the web.
 * @returns {string}
 */
export function sourceName(name, external) {
  if (name === "local") return "your documents";
  if (name === "web") return "the web";
  return external ? `${name} (web)` : name;
}

/** @param {object|null|undefined} document A document of a result. @returns {string} What it is called. */
export function titleOf(document) {
  return document.title || document.file || document.id || "Untitled";
}

/** @param {string} title @param {string} file @returns {boolean} Whether a title is the name of a file, with or without the file's ending. */
export const isNamed = (title, file) => [file, file.replace(/\.\w{1,8}$/, "")].includes(title);

/** @param {object} document A document of a result. @returns {string} The place in its file; may be empty. */
export function placeOf(document) {
  const { attachment, file, heading = "", line, mail, page, position } = document;
  const title = titleOf(document);
  return [
    file && !isNamed(title, file) ? file : "",
    // Do not repeat the title, which is often the first of the headings.
    `${heading ?? ""} > `.startsWith(`${title} > `) ? heading.slice(title.length + 3) : heading ?? "",
    attachment && mail ? `attached to ${mail}` : "",
    page === undefined || page === null ? "" : `page ${page}`,
    line === undefined || line === null ? "" : `line ${line}`,
    position ? `part ${position.number} of ${position.of}` : "",
  ].filter(Boolean).join(" · ");
}

/** @param {object} document A document of a result, or an opened one. @returns {string} Its date, and whether the date is from the file's name or last change. May be empty. */
export function dateOf({ date, date_in: where, modified }) {
  if (date) return where === "name" ? `${date} (in the file name)` : date;
  return modified ? `changed ${modified} (UTC)` : "";
}

const STANDINGS = { superseded: "superseded", draft: "draft", old: "old" };

/** @param {object} document A document that may call itself superseded, a draft or old. @returns {HTMLElement|undefined} The label for this. */
export function standingOf({ standing }) {
  return STANDINGS[standing] && make("span", { class: "standing" }, STANDINGS[standing]);
}

/**
 * Write the place and the date of a document of a result.
 * @param {object} document The document. @param {string} [title] Its title, unless this is shown beside it.
 * @returns {Array} What is shown.
 */
export function placeLine(document, title = "") {
  const place = [title, placeOf(document)].filter(Boolean).join(" · ");
  const date = dateOf(document);
  return [place && strange("span", place), place && date && " · ", date && make("span", { class: "date" }, date), standingOf(document)];
}

/**
 * Check whether a date (a day or a month) is between two days. An empty day sets no limit.
 * @param {string|undefined} date @param {string} from @param {string} to @returns {boolean}
 */
export function isWithin(date, from, to) {
  if (!from && !to) return true;
  return Boolean(date) && date >= from.slice(0, date.length) && (!to || date <= to.slice(0, date.length));
}

const FORMS = {
  code: "Code", corpus: "Corpus", csv: "Table", docx: "Word", epub: "Book", html: "Web page", mail: "Mail", markdown: "Markdown",
  pptx: "Slides", text: "Text", xlsx: "Excel",
};

/** @param {string} form The form in which a file is read. @returns {string} Its name. */
export const formName = (form) => FORMS[form] ?? form.toUpperCase();

/** @param {number|null} bytes @returns {string} The size, such as `12 kB`; empty if it is not known. */
export function sizeName(bytes) {
  if (typeof bytes !== "number") return "";
  const [unit, divisor] = bytes < 1e3 ? ["B", 1] : bytes < 1e6 ? ["kB", 1e3] : ["MB", 1e6];
  const size = bytes / divisor;
  return `${size < 10 && divisor > 1 ? size.toFixed(1) : Math.round(size)} ${unit}`;
}

/**
 * Split a passage at its best sentence.
 * @param {object} document A document of a result; `sentence` counts characters as Python does, not as JavaScript.
 * @param {string} [wanted] A sentence of the passage to use instead of the best one.
 * @returns {[string, string, string]} The text before the sentence, the sentence, and the text after it. Without a
 *     sentence, the first text is the whole passage.
 */
export function splitAtSentence(document, wanted = "") {
  const content = document.content ?? "";
  const { start, end } = document.sentence ?? {};
  const characters = Array.from(content);
  const hasBest = Number.isInteger(start) && Number.isInteger(end) && start >= 0 && start < end && end <= characters.length;
  const best = hasBest ? [[0, start], [start, end], [end]].map(([from, to]) => characters.slice(from, to).join("")) : [content, "", ""];
  // A sentence may stand in the passage several times: then the best one is meant, if it has the same words.
  const place = wanted && wanted !== best[1] ? content.indexOf(wanted) : -1;
  return place < 0 ? best : [content.slice(0, place), wanted, content.slice(place + wanted.length)];
}
