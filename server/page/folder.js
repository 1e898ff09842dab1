/** Show how much of a followed folder (`prefrag FOLDER`) has been indexed. */

import { byId } from "./dom.js";

const TEXTS = {
  reading: (name, share) => `Reading ${name}${share} … You can already ask about what has been read.`,
  away: (name) => `${name} is not there, or cannot be read. You can still ask about what was read before.`,
  failed: (name) => `Some changes in ${name} could not be read yet. They will be tried again; the terminal shows the reason.`,
};
const SOON = 2000, LATER = 15000;
let timer = 0;

/**
 * Show the state of the folder, and update it regularly.
 * @param {object[]} listed The collections from `GET /collections`.
 * @param {() => Promise<object[]>} again Fetches the collections and calls this function again.
 */
export function showFolder(listed, again) {
  const { name, folder } = listed.find((one) => one.folder) ?? {};
  clearTimeout(timer);
  const text = TEXTS[folder?.state]?.(name, folder.bytes_total ? `: ${Math.floor(100 * folder.bytes_done / folder.bytes_total)}%` : "");
  byId("folder-state").hidden = !text;
  byId("folder-state").textContent = text ?? "";
  // Ignore a failed request: if the server is gone, the user's next question shows it.
  if (folder) timer = setTimeout(() => again().catch(() => {}), text ? SOON : LATER);
}
