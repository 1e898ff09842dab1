/** A conversation as Markdown, with its sources. */

import { GIVEN, OWN_WORDS, checkOf, notAnswered, unconfirmedWords } from "./certainty.js";
import { placeOf, titleOf } from "./kinds.js";
import { SIDES, nameOf } from "./history.js";

/**
 * @param {import("./history.js").Conversation} conversation The conversation.
 * @returns {string}
 */
export function markdownOf(conversation) {
  return [`# ${plain(nameOf(conversation))}`, ...conversation.turns.map(turnOf)].join("\n\n") + "\n";
}

function turnOf({ question, side, result }) {
  const isGiven = Boolean(GIVEN[result?.certainty]);
  const answer = result?.answer_with_citations || result?.answer || (isGiven && result.evidence?.[0]?.sentence) || result?.asked_back
    || (result?.evidence?.length ? `${notAnswered(result)}.` : "No answer was found.");
  const { word, by } = isGiven ? checkOf(result) : {};
  const state = isGiven && `${word}: ${by}.`;
  const own = result && unconfirmedWords(result);
  const unsupported = (result?.unsupported ?? []).map((sentence) => `Not in the passages: ${plain(sentence)}`);
  const sources = (result?.documents ?? []).map((one) =>
    `- \\[${plain(one.mark ?? "")}\\] ${[titleOf(one), placeOf(one), one.url].filter(Boolean).map(plain).join(", ")}`);
  // A query may have left several times, in several attempts.
  const sent = [...new Set((result?.queries_sent_out ?? []).map((one) => `- ${plain(one.query ?? "")}`))];
  return [
    `## ${plain(question)}`, SIDES[side] && `${SIDES[side]}:`, plain(answer), state, ...unsupported, own && OWN_WORDS + plain(own),
    sources.length && ["Sources:", ...sources].join("\n"),
    sent.length && ["Sent to the web:", ...sent].join("\n"),
  ].filter(Boolean).join("\n\n");
}

// Text from strangers must not act as markup: a picture could be loaded, and a link could hide its address.
function plain(text) {
  return String(text).replace(/\s+/g, " ").replace(/[\\`*_{}[\]<>#!|~]/g, "\\$&");
}
