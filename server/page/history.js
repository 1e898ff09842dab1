/** The conversations, which are stored in this browser and nowhere else. */

const NAME = "prefrag.conversations";
const MOST = 50;
const NOT_ANSWERED = "Found, not answered.";
// How many earlier messages are sent with a question. The service reads fewer.
const TURNS = 20;

/**
 * @typedef {{question: string, options: object, pipeline: string, events: object[], result: object|null,
 *     failure: {status: number, message: string}|null, rating?: string}} Turn
 * @typedef {{id: string, turns: Turn[], name?: string, pinned?: boolean}} Conversation
 */

/** @returns {Conversation[]} The conversations: first the pinned ones, then the others, both with the newest first. */
export function readConversations() {
  try {
    const kept = JSON.parse(localStorage.getItem(NAME) ?? "[]");
    return Array.isArray(kept) ? kept.filter((one) => Array.isArray(one?.turns)).map(unpack).sort(byPin) : [];
  } catch {
    return [];
  }
}

const byPin = (one, other) => Boolean(other.pinned) - Boolean(one.pinned);

/** @param {Conversation} conversation @returns {string} Its name, or else its first question. */
export function nameOf(conversation) {
  return conversation.name || (conversation.turns[0]?.question ?? "");
}

/** @param {Conversation} conversation The conversation to store. The oldest unpinned ones are dropped for it. */
export function keepConversation(conversation) {
  const others = readConversations().filter((one) => one.id !== conversation.id);
  const all = [conversation, ...others].sort(byPin).slice(0, MOST).map(pack);
  while (all.length) {
    try {
      localStorage.setItem(NAME, JSON.stringify(all));
      return;
    } catch {
      all.pop();
    }
  }
}

/**
 * Store a conversation from a file, without dropping another conversation for it.
 * @param {Conversation} conversation The conversation.
 * @returns {boolean} Whether there was room.
 */
export function addConversation(conversation) {
  const all = readConversations();
  if (all.length >= MOST) return false;
  try {
    localStorage.setItem(NAME, JSON.stringify([conversation, ...all].map(pack)));
  } catch {
    return false;
  }
  return true;
}

/** @param {string} id The conversation to change. @param {{name?: string, pinned?: boolean}} changes What changes. */
export function changeConversation(id, changes) {
  const all = readConversations().map((one) => (one.id === id ? { ...one, ...changes } : one));
  localStorage.setItem(NAME, JSON.stringify(all.map(pack)));
}

/** @param {string} id The conversation to forget. */
export function forgetConversation(id) {
  localStorage.setItem(NAME, JSON.stringify(readConversations().filter((one) => one.id !== id).map(pack)));
}

/** Forget all conversations. */
export function clearConversations() {
  localStorage.removeItem(NAME);
}

/** @returns {Conversation} A conversation without a turn. */
export function newConversation() {
  return { id: `${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 8)}`, turns: [] };
}

/**
 * Write the earlier turns in the form that the service expects with a follow-up question.
 * @param {Turn[]} turns The turns so far.
 * @returns {{role: string, content: string}[]}
 */
export function historyOf(turns) {
  return turns.filter((turn) => turn.result).slice(-TURNS / 2).flatMap((turn) => [
    { role: "user", content: turn.question },
    { role: "assistant", content: turn.result.answer || turn.result.asked_back || NOT_ANSWERED },
  ]);
}

// The trace is not stored, because it repeats the events of the turn.
function pack(conversation) {
  return { ...conversation, turns: conversation.turns.map((turn) => ({
    ...turn, result: turn.result && { ...turn.result, trace: undefined },
  })) };
}

function unpack(conversation) {
  return { ...conversation, turns: conversation.turns.map((turn) => ({
    ...turn, result: turn.result && { ...turn.result,
      trace: turn.events.map(({ kind, step, data }) => ({ kind, step, ...data })) },
  })) };
}
