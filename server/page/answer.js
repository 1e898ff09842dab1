/** The card of an answer: its text with chips that open passages, its sources, and facts about the run. */

import { GIVEN, OWN_WORDS, checkOf, doubtsOf, isOfModel, notAnswered, nothingFound, splitUnsupported, unconfirmedWords } from "./certainty.js";
import { count, icon, make, strange } from "./dom.js";
import { feedbackForm } from "./feedback.js";
import { kindBadge, kindOf, placeLine, splitAtSentence, titleOf } from "./kinds.js";
import { openPassage } from "./passage.js";

const MARKS = /\[([AW]?\d+(?:, ?[AW]?\d+)*)\]/g;
// The list of sources gets this many characters of a passage: more than fit in the three lines that it shows.
const SNIPPET = 400;

/**
 * Make the card of a result.
 * @param {object} result The result of a run.
 * @param {import("./history.js").Turn} turn The turn of the result, in which the user's rating is stored.
 * @param {() => void} save Stores the turn.
 * @returns {HTMLElement}
 */
export function answerCard(result, turn, save) {
  const known = new Map((result.documents ?? []).map((document) => [document.mark, document]));
  const found = GIVEN[result.certainty] || (!result.answer && !result.asked_back && (result.not_found || result.evidence?.length));
  const answer = found ? sentencesFound(result, known) : result.answer ? answerText(result, known) : noAnswer(result);
  // If the extractive reader was not used, the sentences only share words with the question. So first say why not.
  const isNotRead = result.probability === 0 && !isOfModel(result) && result.without_model?.length > 0;
  return make("div", { class: "card" },
    make("div", { class: "card-part" }, ...(isNotRead ? [notes(result), answer] : [answer, notes(result)])),
    facts(result),
    make("div", { class: "card-part" }, sources(result, known), !turn.side && feedbackForm(result, turn, save)));
}

/**
 * Describe a result in one sentence, for screen readers.
 * @param {object} result The result.
 * @returns {string}
 */
export function spokenAnswer(result) {
  if (GIVEN[result.certainty]) {
    const doubt = result.unsupported?.length ? " A part of it stands in no passage." : "";
    return `${GIVEN[result.certainty]}: ${isOfModel(result) ? result.answer : result.evidence[0].sentence}${doubt}`;
  }
  if (result.answer) return `Answer: ${result.answer}. ${checkOf(result).word} ${checkOf(result).by ?? ""}.`;
  if (result.asked_back) return result.asked_back;
  return result.evidence?.length ? `${notAnswered(result)}. ${count(result.evidence.length, "sentence")} found.` : "No answer was found.";
}

/**
 * Make the list of passages that a run had found before it broke off.
 * @param {object|null} result The incomplete result.
 * @returns {HTMLElement|null}
 */
export function foundSoFar(result) {
  if (!result?.documents?.length) return null;
  const known = new Map(result.documents.map((document) => [document.mark, document]));
  return make("div", { class: "card" }, make("div", { class: "card-part" }, sources(result, known)), facts(result));
}

function answerText(result, known) {
  const parts = splitUnsupported(result.answer_with_citations || result.answer, result.unsupported);
  return make("div", { class: "answer strange", dir: "auto" }, parts.flatMap(({ text, isUnsupported }) => isUnsupported
    ? make("span", { class: "unsupported", title: "Stands in no passage" }, withChips(text, known),
      make("span", { class: "visually-hidden" }, " (stands in no passage)"))
    : withChips(text, known)));
}

function withChips(text, known) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(MARKS)) {
    const marks = match[1].split(/, ?/);
    // Brackets that name no passage, such as a year in brackets, are a part of the answer.
    if (!marks.every((mark) => known.has(mark))) continue;
    parts.push(text.slice(end, match.index), ...marks.map((mark) => chip(mark, known)));
    end = match.index + match[0].length;
  }
  return [...parts, text.slice(end)];
}

function chip(mark, known, sentence = "") {
  const document = known.get(mark);
  const kind = kindOf(mark);
  const names = { own: "your documents", web: "the web", attached: "what you attached" };
  return make("button", {
    type: "button", class: `chip chip-${kind}`, "data-mark": mark,
    "aria-label": `Passage ${mark} from ${names[kind]}: ${titleOf(document)}`,
    on: { click: () => openPassage([...known.values()], mark, sentence) },
  }, icon(kind), mark);
}

function sentencesFound(result, known) {
  const word = GIVEN[result.certainty];
  const sentences = givenSentences(result);
  const isOwn = isInOwnWords(result);
  return make("div", { class: "not-answered" },
    make("p", { class: "answer-state" }, icon(word ? "found" : "search"), word ?? notAnswered(result)),
    isOwn && answerText(result, known),
    !word && sentences.length > 0 && make("p", {}, "Nothing here is sure enough to be given as an answer. These sentences come nearest to your question:"),
    make("ul", { class: `evidence ${word && !isOwn ? "is-given" : ""}` },
      sentences.map((one) => evidenceItem(one, known, isOwn ? "" : result.answer))),
    guess(result));
}

// A model's answer that stands as a whole in no sentence is shown in its own words, above the sentences that carry it.
function isInOwnWords(result) {
  return Boolean(GIVEN[result.certainty]) && isOfModel(result) && !result.evidence?.[0]?.answer;
}

function givenSentences(result) {
  return (result.evidence ?? []).slice(0, GIVEN[result.certainty] && !isInOwnWords(result) ? 1 : undefined);
}

function evidenceItem(one, known, answer) {
  // A passage may lie in several sections and on several pages: each sentence has a place of its own.
  const { heading, line, page } = { ...known.get(one.mark), ...one };
  const document = known.get(one.mark) && { ...known.get(one.mark), heading, line, page };
  const [before, span, after] = splitAtSentence({ content: one.sentence, sentence: one.answer });
  return make("li", { class: `from-${kindOf(one.mark)}` },
    // Some answers, such as the title of the older of two films, are not in the sentence.
    make("blockquote", { class: "strange", dir: "auto" }, answer && !span && make("strong", {}, answer, ": "),
      before, span && make("strong", {}, span), after),
    make("span", { class: "evidence-from" }, document ? chip(one.mark, new Map(known).set(one.mark, document), one.sentence) : `[${one.mark}]`, " ",
      document ? placeLine(document, one.title) : strange("span", one.title)));
}

function guess(result) {
  const words = unconfirmedWords(result);
  return words ? make("p", { class: "guess" }, make("strong", {}, OWN_WORDS), strange("span", words)) : null;
}

function noAnswer(result) {
  if (result.asked_back) return make("p", { class: "not-answered strange", dir: "auto" }, result.asked_back);
  const nothing = result.documents?.length ? "Passages were found, but no answer was given." : `${nothingFound(result)}.`;
  return make("div", { class: "not-answered" },
    make("p", { class: "answer-state" }, icon("search"), "No answer was found"), make("p", {}, nothing),
    guess(result));
}

function notes(result) {
  const says = [];
  if (result.question && result.asked && result.question !== result.asked) says.push(["thought", "Your question was understood as: ", result.question]);
  if (result.label === "INCORRECT" && result.answer) says.push(["warning", "The model's own check calls this answer incorrect. ", result.explanation]);
  for (const text of doubtsOf(result)) says.push(["warning", text]);
  for (const reason of new Set((result.queries_held_back ?? []).map((held) => held.reason)))
    says.push(["shield", result.queries_sent_out?.length ? "A query was not sent: " : "The web was not searched: ", `${reason}.`]);
  for (const text of result.without_model ?? []) says.push(["warning", "", text]);
  for (const text of result.errors ?? []) says.push(["warning", "", text]);
  if (!says.length) return null;
  return make("ul", { class: "notes" }, says.map(([name, words, rest]) =>
    make("li", {}, icon(name), make("span", {}, words, rest && strange("span", rest)))));
}

function sources(result, known) {
  const documents = [...known.values()];
  if (!documents.length) return null;
  const cited = new Set([...(result.citations ?? []), ...givenSentences(result)].map((one) => one.mark));
  const first = documents.filter((document) => cited.has(document.mark));
  const rest = documents.filter((document) => !cited.has(document.mark));
  return make("div", { class: "sources", role: "group", "aria-label": "Sources" },
    first.length > 0 && make("h3", {}, "Sources"),
    first.length > 0 && make("ul", { class: "source-list" }, first.map((document) => sourceItem(document, documents))),
    rest.length > 0 && make("details", {},
      make("summary", {}, `${count(rest.length, first.length ? "more passage" : "passage")} found`),
      make("ul", { class: "source-list" }, rest.map((document) => sourceItem(document, documents)))));
}

function sourceItem(document, documents) {
  const kind = kindOf(document.mark);
  const [, sentence] = splitAtSentence(document);
  const shown = sentence || document.content || "";
  return make("li", {}, make("button", {
    type: "button", class: `source source-${kind}`, on: { click: () => openPassage(documents, document.mark) },
  },
    make("span", { class: "source-head" }, make("span", { class: `chip chip-${kind}` }, document.mark),
      strange("span", titleOf(document), "source-title"), kindBadge(kind, document.source)),
    placeLine(document).some(Boolean) && make("span", { class: "hint" }, placeLine(document)),
    strange("span", shown.slice(0, SNIPPET), "snippet")));
}

function facts(result) {
  const { word, by, name, className } = checkOf(result);
  const usage = result.usage ?? {};
  // A group and no landmark, because a page has as many of them as answers.
  return make("div", { class: "facts", role: "group", "aria-label": "About this answer" },
    make("dl", {},
      fact("Check", make("span", { class: `label ${className}` }, icon(name), word), by && make("span", { class: "checked-by" }, by)),
      fact("Work", [count((result.steps ?? []).length, "step"), count(result.counts?.total ?? 0, "search"),
        usage.llm_calls ? count(usage.llm_calls, "model call") : "no language model"].join(", ")),
      fact("What left this machine", whatLeft(result))));
}

function fact(term, ...words) {
  return make("div", {}, make("dt", {}, term), make("dd", {}, words));
}

function whatLeft(result) {
  // A query may have left several times, in several attempts.
  const attempts = result.queries_sent_out ?? [];
  const sent = [...new Map(attempts.map((one) => [`${one.source}\n${one.query}`, one])).values()];
  const held = result.queries_held_back ?? [];
  const remote = (result.sent_to_models ?? []).filter((one) => one.remote);
  const near = (result.sent_to_models ?? []).filter((one) => !one.remote).reduce((sum, one) => sum + one.calls, 0);
  const items = [];
  const traced = result.sent_to_tracing === "content";
  if (!sent.length && !remote.length && !traced) items.push(leftItem("shield", "is-kept", "Nothing: neither a query nor a passage."));
  for (const one of sent) items.push(leftItem("out", "is-out", `To ${one.source === "web" ? "the web" : one.source}: `, strange("q", one.query)));
  for (const one of remote) {
    const tokens = one.prompt_tokens + one.completion_tokens;
    const content = one.role === "embedder" ? "your queries" : "your passages";
    const model = `remote model (${one.role})`;
    const begin = one.role === "embedder" || result.usage?.llm_calls ? `To a ${model}:` : `A ${model} was unreachable or did not reply. Attempted:`;
    items.push(leftItem("out", "is-out", `${begin} ${count(one.calls, "call")}` +
      `${tokens ? `, ${tokens.toLocaleString("en")} tokens` : ""}, with ${content}.`));
  }
  if (traced) items.push(leftItem("out", "is-out", "To the program in which whoever runs this service records what it does (tracing): your question, the conversation, what you attached, and the answer."));
  for (const one of held) items.push(leftItem("shield", "is-kept", "Not sent: ", strange("q", one.query), ` (${one.reason})`));
  if (near) items.push(leftItem("shield", "is-kept", `${count(near, "model call")} went only to this machine or its local network.`));
  return make("ul", { class: "left" }, items);
}

function leftItem(name, className, ...content) {
  return make("li", { class: className }, icon(name), make("span", {}, ...content));
}
