/** How far the folder that `prefrag FOLDER` follows has been read. */

import { byId } from "./dom.js";

const TEXTS = {
  reading: (name, share) => `Reading ${name}${share} … You can already ask about what has been read.`,
  away: (name) => `${name} is not there, or cannot be read. You can still ask about what was read before.`,
  failed: (name) => `Some changes in ${name} could not be read yet. They will be tried again; the terminal shows the reason.`,
};
const SOON = 2000, LATER = 15000;
let timer = 0;

/**
 * Show the state of the folder, and look again after a while.
 * @param {object[]} listed What `GET /collections` lists.
 * @param {() => Promise<object[]>} again Lists the collections anew, and shows this again.
 */
export function showFolder(listed, again) {
  const { name, folder } = listed.find((one) => one.folder) ?? {};
  clearTimeout(timer);
  const text = TEXTS[folder?.state]?.(name, folder.bytes_total ? `: ${Math.floor(100 * folder.bytes_done / folder.bytes_total)}%` : "");
  byId("folder-state").hidden = !text;
  byId("folder-state").textContent = text ?? "";
  // If no server answers, the next question says so.
  if (folder) timer = setTimeout(() => again().catch(() => {}), text ? SOON : LATER);
}
