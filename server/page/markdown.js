/** A conversation as Markdown, with its sources. */

import { placeOf, titleOf } from "./kinds.js";
import { nameOf } from "./history.js";

/**
 * @param {import("./history.js").Conversation} conversation The conversation.
 * @returns {string}
 */
export function markdownOf(conversation) {
  return [`# ${plain(nameOf(conversation))}`, ...conversation.turns.map(turnOf)].join("\n\n") + "\n";
}

function turnOf({ question, result }) {
  const answer = result?.answer_with_citations || result?.answer || result?.asked_back || "No answer was found.";
  const state = { stated: "Stated, word for word, in a passage.", probably: "Probably: a sentence that may answer the question." }[result?.certainty];
  const sources = (result?.documents ?? []).map((one) =>
    `- \\[${plain(one.mark ?? "")}\\] ${[titleOf(one), placeOf(one), one.url].filter(Boolean).map(plain).join(", ")}`);
  const sent = (result?.queries_sent_out ?? []).map((one) => `- ${plain(one.query ?? "")}`);
  return [
    `## ${plain(question)}`, plain(answer), state,
    sources.length && ["Sources:", ...sources].join("\n"),
    sent.length && ["Sent to the web:", ...sent].join("\n"),
  ].filter(Boolean).join("\n\n");
}

// Text from strangers must not act as markup: a picture could be loaded, and a link could hide its address.
function plain(text) {
  return String(text).replace(/\s+/g, " ").replace(/[\\`*_{}[\]<>#!|~]/g, "\\$&");
}
