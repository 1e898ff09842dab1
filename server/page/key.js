/** The API key. It is stored for this browser tab only, or in the browser for good. */

const NAME = "prefrag.key";

/** @returns {string} The key; empty if there is none. */
export function readKey() {
  return sessionStorage.getItem(NAME) ?? localStorage.getItem(NAME) ?? "";
}

/** @returns {boolean} Whether the key is stored for longer than this tab. */
export function isRemembered() {
  return localStorage.getItem(NAME) !== null;
}

/**
 * Store a key.
 * @param {string} key The key; an empty one removes the stored key.
 * @param {boolean} remember Whether to store it for longer than this tab.
 */
export function keepKey(key, remember) {
  sessionStorage.removeItem(NAME);
  localStorage.removeItem(NAME);
  if (key) (remember ? localStorage : sessionStorage).setItem(NAME, key);
}
