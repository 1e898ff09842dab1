/** The conversations, which are stored in this browser and nowhere else. */

import { readStored, writeStored } from "./storage.js";

const NAME = "prefrag.conversations", FORGOTTEN = "prefrag.forgotten";
const MOST = 50, MOST_FORGOTTEN = 500;
const NOT_ANSWERED = "No sure answer.";
/** The words for the two answers of a question that is answered twice. */
export const SIDES = { reader: "Without the language model", model: "With the language model" };
// How many earlier messages are sent with a question. The service reads fewer.
const TURNS = 20;

/**
 * @typedef {{id: string, question: string, options: object, pipeline: string, events: object[], result: object|null,
 *     failure: {status: number, message: string}|null, attached: string[], narrowed: string, rating?: string,
 *     pair?: string, side?: "reader"|"model"}} Turn A question that is answered twice has two turns, which form a pair.
 * @typedef {{id: string, turns: Turn[], name?: string, pinned?: boolean}} Conversation
 */

// Other tabs write too. So each function below reads what is stored now, and changes only its own part of it.

/** @returns {Conversation[]} The conversations: first the pinned ones, then the others, both with the newest first. */
export function readConversations() {
  const stored = readJson(NAME, []);
  return Array.isArray(stored) ? stored.filter(isConversation).map(unpack).sort(byPin) : [];
}

const isConversation = (conversation) => Array.isArray(conversation?.turns) && conversation.turns.every((turn) => Array.isArray(turn?.events));

const byPin = (one, other) => Boolean(other.pinned) - Boolean(one.pinned);

/** @param {Conversation} conversation @returns {string} Its name, or else its first question. */
export function nameOf(conversation) {
  return conversation.name || (conversation.turns[0]?.question ?? "");
}

/**
 * Store a turn that has ended or was changed, with earlier ones that are not stored. A deleted conversation stays deleted.
 * @param {Conversation} conversation The conversation. The oldest unpinned ones are dropped for it.
 * @param {Turn} turn One of its turns.
 * @returns {string} Why the turn is not stored, in a sentence; empty if it is.
 */
export function keepTurn(conversation, turn) {
  if (isForgotten(conversation.id)) return "This conversation was deleted, so this is not stored.";
  const all = readConversations();
  const stored = all.find(({ id }) => id === conversation.id) ?? { ...conversation, turns: [] };
  const turns = new Map(stored.turns.map((earlier) => [earlier.id, earlier]));
  for (const own of conversation.turns) {
    const isMissing = !turns.has(own.id) && (own.result || own.failure);
    if (own === turn || isMissing) turns.set(own.id, own);
  }
  const others = all.filter(({ id }) => id !== conversation.id);
  for (;;) {
    const written = [{ ...stored, turns: inPairs([...turns.values()]) }, ...others];
    const problem = others.length < MOST ? write(written) : `${MOST} pinned conversations are stored already`;
    if (!problem) return "";
    const oldest = others.findLastIndex(({ pinned }) => !pinned);
    if (oldest < 0) return `${problem}, so this is lost when you close the page.`;
    others.splice(oldest, 1);
  }
}

// The second answer of a pair stands behind the first, also if something was asked in between.
function inPairs(turns) {
  const isFirst = (turn) => !turn.pair || turns.find(({ pair }) => pair === turn.pair) === turn;
  return turns.filter(isFirst).flatMap((turn) => (turn.pair ? turns.filter(({ pair }) => pair === turn.pair) : [turn]));
}

/**
 * Store a conversation from a file, without dropping another conversation for it.
 * @param {Conversation} conversation The conversation.
 * @returns {boolean} Whether there was room.
 */
export function addConversation(conversation) {
  const all = readConversations();
  return all.length < MOST && !write([conversation, ...all]);
}

/**
 * Name or pin a conversation.
 * @param {string} id The conversation.
 * @param {{name: string, pinned: boolean}} changes What changes.
 * @returns {string} Why this is not stored, in a sentence; empty if it is.
 */
export function changeConversation(id, changes) {
  const problem = write(readConversations().map((stored) => (stored.id === id ? { ...stored, ...changes } : stored)));
  return problem && `${problem}: delete some conversations first.`;
}

/** @param {string} id The conversation to forget. */
export function forgetConversation(id) {
  const { cleared, ids } = readForgotten();
  write(readConversations().filter((stored) => stored.id !== id));
  writeStored(FORGOTTEN, JSON.stringify({ cleared, ids: [...ids, id].slice(-MOST_FORGOTTEN) }));
}

/** Forget all conversations, also those that other tabs have not stored yet. */
export function clearConversations() {
  writeStored(NAME, null);
  writeStored(FORGOTTEN, JSON.stringify({ cleared: Date.now(), ids: [] }));
}

/** @param {string} id A conversation. @returns {boolean} Whether it was deleted, in this tab or in another one. */
export function isForgotten(id) {
  const { cleared, ids } = readForgotten();
  // An id begins with the time at which it was made.
  return ids.includes(id) || parseInt(id, 36) < cleared;
}

/** @param {() => void} listener Is called when another tab has changed or deleted conversations. */
export function onOtherTab(listener) {
  addEventListener("storage", ({ key }) => [null, NAME, FORGOTTEN].includes(key) && listener());
  // A page to which the user goes back has missed these events.
  addEventListener("pageshow", ({ persisted }) => persisted && listener());
}

function readForgotten() {
  return { cleared: 0, ids: [], ...readJson(FORGOTTEN, {}) };
}

function readJson(name, otherwise) {
  try {
    return JSON.parse(readStored(name)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

function write(conversations) {
  return writeStored(NAME, JSON.stringify(conversations.sort(byPin).map(pack)));
}

/** @returns {Conversation} A conversation without a turn. */
export function newConversation() {
  return { id: newId(), turns: [] };
}

/** @returns {string} The id of a new conversation or turn. */
export function newId() {
  const time = Math.max(Date.now(), readForgotten().cleared);
  return `${time.toString(36)}-${Math.random().toString(36).slice(2, 8)}`;
}

/**
 * Write the earlier turns in the form that the service expects with a follow-up question.
 * @param {Turn[]} turns The turns so far. Of two answers to a question the model's counts or, if it failed, the other.
 * @returns {{role: string, content: string}[]}
 */
export function historyOf(turns) {
  const answered = new Set(turns.filter((turn) => turn.result && turn.side === "model").map((turn) => turn.pair));
  const isEarlier = (turn) => !turn.side || turn.side === "model" || !answered.has(turn.pair);
  return turns.filter((turn) => turn.result && isEarlier(turn)).slice(-TURNS / 2).flatMap((turn) => [
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
  // Turns that an earlier version stored have no ids.
  return { ...conversation, turns: conversation.turns.map((turn, number) => ({
    id: String(number), ...turn, result: turn.result && { ...turn.result,
      trace: turn.events.map(({ kind, step, data }) => ({ kind, step, ...data })) },
  })) };
}
