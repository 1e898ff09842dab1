/** How sure an answer is, and what the page says of it: by what code has checked, and only then by the model's label. */

/** The words for an answer that is given. */
export const GIVEN = { stated: "Stated", probably: "Probably" };
const READ = { stated: "word for word in a passage", probably: "a sentence that may answer" };
const CHECKED = { stated: "by its words, in a passage", probably: "compared with the passages" };
const LABELS = {
  CORRECT: { word: "Correct", name: "keep", className: "label-good" },
  "PARTIALLY CORRECT": { word: "Partly correct", name: "warning", className: "label-doubt" },
  INCORRECT: { word: "Incorrect", name: "warning", className: "label-bad" },
};
const OWN_CHECK = "by the model's own check";

/** @param {object} result A result. @returns {boolean} Whether a language model has proposed its answer. */
export const isOfModel = (result) => result.answered_by === "model";

/** @param {object} result A result. @returns {{word: string, by?: string, name: string, className: string}} How the answer was checked. */
export function checkOf(result) {
  // The model's own CORRECT says nothing where there is no passage.
  const label = result.label === "CORRECT" && !result.documents?.length ? undefined : LABELS[result.label];
  const word = GIVEN[result.certainty];
  if (word) {
    const by = isOfModel(result) ? CHECKED : READ;
    const added = label ? `; ${label.word.toLowerCase()} ${OWN_CHECK}` : "";
    return { word, by: by[result.certainty] + added, name: "found", className: "label-none" };
  }
  if (!result.answer) return { word: "Not answered", name: "search", className: "label-none" };
  return label ? { ...label, by: OWN_CHECK } : { word: "Not checked", name: "dot", className: "label-none" };
}

/** @param {object} result A result without an answer. @returns {string} Its heading. */
export function notAnswered(result) {
  const last = (result.trace ?? []).findLast(({ kind }) => kind === "checked" || kind === "read");
  // An answer with a probability stands in a passage, but is not likely enough.
  if (last?.kind !== "checked" || last.certainty !== "not_found" || result.probability) return "No sure answer";
  const isOwn = !result.counts?.total_web && !result.documents?.some(({ mark }) => mark.startsWith("W"));
  return isOwn ? "Not found in your documents" : "Not in the passages found";
}

/** What stands before the words of a model that are not given as an answer. */
export const OWN_WORDS = "The language model's own words, not confirmed: ";

/** @param {object} result A result. @returns {string} Such words; empty if there are none. The reader's are not shown. */
export const unconfirmedWords = (result) => (isOfModel(result) && result.guess) || "";

/** @param {object} result A result. @returns {string[]} What the reader of an answer should know about it. */
export function doubtsOf(result) {
  const doubts = [];
  if (result.forced && result.certainty !== "stated" && result.certainty !== "not_found") {
    const ranOut = result.trace?.some(({ kind }) => kind === "exhausted");
    const why = ranOut ? "ran out of steps and had to answer" : "did not end by itself";
    doubts.push(`The model ${why}, so this answer may be incomplete.`);
  }
  if (result.unsupported?.length) doubts.push("What is underlined stands in no passage.");
  if (result.answer && !result.documents?.length) doubts.push(`${nothingFound(result)}: this answer is the model's own.`);
  else if (result.uncited && !GIVEN[result.certainty]) doubts.push("The answer cites none of the passages.");
  return doubts;
}

/** @param {object} result A result without passages. @returns {string} Why it has none. */
export const nothingFound = (result) => (result.counts?.total ? "No passage was found" : "Nothing was searched");

/**
 * Split an answer where its unsupported sentences begin and end. In the answer, marks may stand within a sentence.
 * @param {string} text The answer, with its marks.
 * @param {string[]} [unsupported] Its sentences that stand in no passage, without marks.
 * @returns {{text: string, isUnsupported: boolean}[]}
 */
export function splitUnsupported(text, unsupported = []) {
  const parts = [];
  let end = 0;
  for (const sentence of unsupported) {
    const words = sentence.match(/[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu) ?? [];
    const pattern = words.map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")).join("(?:\\s|\\[[^\\]]{1,60}\\])*");
    const found = words.length ? new RegExp(pattern, "u").exec(text.slice(end)) : null;
    if (!found) continue;
    const start = end + found.index;
    parts.push({ text: text.slice(end, start), isUnsupported: false }, { text: found[0], isUnsupported: true });
    end = start + found[0].length;
  }
  return [...parts, { text: text.slice(end), isUnsupported: false }].filter((part) => part.text);
}
