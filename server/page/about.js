/** Say before the first question which documents are searched, and who answers. */

import { byId, count, icon, make, strange } from "./dom.js";

const WHEN = { dateStyle: "medium", timeStyle: "short" };

/**
 * Show what is known of a collection and of the model.
 * @param {object|undefined} collection The collection, from `GET /collections`.
 * @param {{name: string, here: boolean}|null|undefined} model The model, from `GET /pipelines`; null if there is none.
 * @param {{isOwner: boolean, isComparing: boolean, showDocuments: () => void}} page Whether the user started the service, whether
 *     each question is answered twice, and how the documents are shown.
 */
export function showAbout(collection, model, { isOwner, isComparing, showDocuments }) {
  const lines = [collection && aboutDocuments(collection, showDocuments), model !== undefined && aboutModel(model, isOwner, isComparing)].filter(Boolean);
  byId("about").hidden = !lines.length;
  byId("about").replaceChildren(...lines);
}

function aboutDocuments({ name, path, files, passages, changed, unread }, showDocuments) {
  if (!passages) return make("li", {}, icon("own"), make("span", {}, "Searched first: ", strange("strong", path ?? name), ", of which nothing has been read yet."));
  const size = files ? count(files, "file") : count(passages, "passage");
  const read = changed && make("time", { datetime: changed }, new Date(changed).toLocaleString("en", WHEN));
  return make("li", {}, icon("own"), make("span", {},
    "Searched first: ", strange("strong", path ?? name), `, ${size}`, read && [", last changed ", read], ".",
    unread > 0 && [" ", make("button", { type: "button", class: "text-button", on: { click: showDocuments } },
      `${count(unread, "file")} could not be read, or only in part`)]));
}

function aboutModel(model, isOwner, isComparing) {
  if (model) {
    return make("li", {}, icon("thought"), make("span", {}, "Answers come from the language model ", strange("strong", model.name || "of this service"),
      model.here ? ", on this machine, and are compared with your documents. " : ", on another machine, which gets the passages. They are compared with your documents. ",
      isComparing && "Each question is answered twice, first with sentences alone, and then you can say which answer was right. ",
      pageLink(isComparing ? "?" : "?compare", isComparing ? "Answer once" : "Compare them with sentences alone")));
  }
  return make("li", {}, icon("thought"), make("span", {}, "There is no language model: answers are sentences from your files.",
    isComparing && " So there are no two answers to compare.",
    isOwner && [" To add a model, type ", make("code", {}, "prefrag model"), " in a terminal."]));
}

function pageLink(address, words) {
  const link = make("a", { class: "text-button" }, words);
  link.href = address;
  return link;
}
