/** The API key: for this tab alone, or remembered in this browser. */

const NAME = "prefrag.key";

/** @returns {string} The key, or nothing. */
export function readKey() {
  return sessionStorage.getItem(NAME) ?? localStorage.getItem(NAME) ?? "";
}

/** @returns {boolean} Whether the key outlives this tab. */
export function isRemembered() {
  return localStorage.getItem(NAME) !== null;
}

/**
 * Keep a key.
 * @param {string} key The key; empty forgets the one that is kept.
 * @param {boolean} remember Whether it outlives this tab.
 */
export function keepKey(key, remember) {
  sessionStorage.removeItem(NAME);
  localStorage.removeItem(NAME);
  if (key) (remember ? localStorage : sessionStorage).setItem(NAME, key);
}
