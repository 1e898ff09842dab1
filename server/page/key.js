/** The API key. It is stored for this browser tab only, or in the browser for good. */

import { readStored, writeStored } from "./storage.js";

const NAME = "prefrag.key";
// If the browser blocks storage, the key stays in the page.
let unstored = "";

/** @returns {string} The key; empty if there is none. */
export function readKey() {
  return readStored(NAME, "session") ?? readStored(NAME) ?? unstored;
}

/** @returns {boolean} Whether the key is stored for longer than this tab. */
export function isRemembered() {
  return readStored(NAME) !== null;
}

/**
 * Store a key.
 * @param {string} key The key; an empty one removes the stored key.
 * @param {boolean} remember Whether to store it for longer than this tab.
 */
export function keepKey(key, remember) {
  writeStored(NAME, null, "session");
  writeStored(NAME, null);
  const problem = key && writeStored(NAME, key, remember ? "local" : "session");
  unstored = problem ? key : "";
}
