/** Upload files to a collection, and say why a file or folder was refused. */

import { Failure, send } from "./api.js";
import { describe } from "./failures.js";

export const MAY_NOT_WRITE = "With your access key you can ask, but not add files.";

/**
 * Upload files.
 * @param {string} collection The collection.
 * @param {File[]} files The files.
 * @param {(words: string) => void} show Is called with the progress in words.
 * @param {string[]} [names] The names under which the files are stored.
 * @returns {Promise<object>} The service's report on what it indexed.
 * @throws {Failure}
 */
export async function upload(collection, files, show, names = files.map((file) => file.name)) {
  const form = new FormData();
  files.forEach((file, position) => form.append("files", file, names[position]));
  show("Sending …");
  return send(`collections/${encodeURIComponent(collection)}/documents`, form, (share) => {
    show(share < 1 ? `Sending ${Math.floor(100 * share)}% …` : "Reading …");
  });
}

/** @param {Error} failure What was thrown. @returns {string} One sentence. */
export function sentenceOf(failure) {
  if (!(failure instanceof Failure)) throw failure;
  const { title, text } = describe(failure);
  const said = (failure.message || title).trim();
  return failure.status === 403 ? MAY_NOT_WRITE : `${said}${/[.!?]$/.test(said) ? "" : "."}${failure.message ? "" : ` ${text}`}`.trim();
}

/**
 * Separate the files from the folders that were dropped on the page.
 * @param {DataTransfer} dropped The dropped items.
 * @returns {{files: File[], folders: string[]}} The files, and the names of folders, which cannot be uploaded.
 */
export function filesOf(dropped) {
  const items = [...dropped.items].filter((item) => item.kind === "file").map((item) => [item.getAsFile(), item.webkitGetAsEntry?.()]);
  const isFolder = ([, entry]) => Boolean(entry?.isDirectory);
  return { files: items.filter((one) => !isFolder(one)).map(([file]) => file).filter(Boolean),
    folders: items.filter(isFolder).map(([, entry]) => entry.name) };
}

/** @param {string} name @returns {string} Why a folder is refused. */
export const folderRefusal = (name) => `${name} is a folder. Open it and drop its files here instead.`;
