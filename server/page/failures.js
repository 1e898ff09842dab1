/** Describe failed requests in plain words. */

import { icon, make, strange } from "./dom.js";

const TITLES = {
  0: "The service does not answer",
  401: "A key is needed",
  403: "That is not allowed",
  404: "Not found",
  408: "The request took too long to send",
  413: "The request is too large",
  422: "Something in the question or its settings is not allowed",
  429: "Too many requests at once",
  500: "The service failed",
  502: "The answer broke off",
  503: "The service is busy",
  504: "It took too long",
  507: "The service has no space left",
};
const ADVICE = {
  0: "Check that it runs and that you are connected, then ask again.",
  401: "Enter a key that this service knows.",
  500: "The service's log has the details.",
};

/**
 * Describe a failure in a few words.
 * @param {import("./api.js").Failure} failure The failure.
 * @returns {{title: string, text: string}}
 */
export function describe(failure) {
  const again = failure.retryAfter ? ` Ask again in ${failure.retryAfter} s.` : "";
  return { title: TITLES[failure.status] ?? `The service replied with error ${failure.status}`,
    text: `${failure.message || ADVICE[failure.status] || ""}${again}` };
}

/**
 * Make the box that shows a failure.
 * @param {import("./api.js").Failure} failure The failure.
 * @param {...Node} actions Buttons for what the user can do.
 * @returns {HTMLElement}
 */
export function failureBox(failure, ...actions) {
  const { title, text } = describe(failure);
  return make("div", { class: "failure", role: "alert" }, icon("warning"),
    make("div", {}, make("strong", {}, title), strange("p", text), actions));
}
