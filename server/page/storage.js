/** What this browser stores for the page. A browser may block this or have no room left: then nothing is thrown. */

/**
 * Read a stored text.
 * @param {string} name Its name.
 * @param {"local"|"session"} [area] Where it is stored: for good, or until the tab is closed.
 * @returns {string|null} The text; null if there is none, or if the browser blocks storage.
 */
export function readStored(name, area = "local") {
  try {
    return window[`${area}Storage`].getItem(name);
  } catch {
    return null;
  }
}

/**
 * Store a text, or remove it.
 * @param {string} name Its name.
 * @param {string|null} text The text; null removes it.
 * @param {"local"|"session"} [area] Where it is stored.
 * @returns {string} Why it could not be stored; empty if it was.
 */
export function writeStored(name, text, area = "local") {
  try {
    const storage = window[`${area}Storage`];
    if (text === null) storage.removeItem(name);
    else storage.setItem(name, text);
    return "";
  } catch (error) {
    return error.name === "QuotaExceededError" ? "This browser has no room left for this page" : "This browser stores nothing for this page";
  }
}
