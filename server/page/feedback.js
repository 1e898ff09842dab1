/** The form for feedback on an answer: thumbs, a comment and the right answer. */

import { call } from "./api.js";
import { announce, icon, make } from "./dom.js";

let isKept = true;

/**
 * Make the form under an answer.
 * @param {object} result The result.
 * @param {import("./history.js").Turn} turn The turn of the result.
 * @param {() => void} save Stores the turn.
 * @returns {HTMLElement|null}
 */
export function feedbackForm(result, turn, save) {
  if (!isKept) return null;
  const node = make("div", { class: "feedback" });
  const thanks = () => node.replaceChildren(make("p", { class: "hint" }, "Thank you. Your feedback is kept with this answer."));
  if (turn.rating) {
    thanks();
    return node;
  }
  const comment = make("textarea", { rows: 2, maxlength: 4000 });
  const right = make("input", { type: "text", maxlength: 1000, autocomplete: "off" });
  const problem = make("p", { class: "problem", role: "alert", hidden: true });
  const form = make("form", { class: "feedback-form", hidden: true },
    make("label", {}, "Comment (optional)", comment),
    make("label", {}, "The right answer (optional)", right),
    make("p", { class: "hint" }, "What is sent and kept: your rating, your comment, the question, the answer, its searches and the titles of its passages."),
    problem,
    make("div", { class: "actions" }, make("button", { type: "submit", class: "button" }, "Send feedback")));
  let rating = "";
  const thumb = (value, label) => make("button", {
    type: "button", class: "icon-button thumb", "aria-label": label, "aria-pressed": "false",
    on: { click: (event) => {
      rating = value;
      node.querySelectorAll(".thumb").forEach((one) => one.setAttribute("aria-pressed", String(one === event.currentTarget)));
      form.hidden = false;
      comment.focus();
    } },
  }, icon(value));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await call("feedback", { method: "POST", json: {
        rating, comment: comment.value, answer: right.value,
        pipeline: turn.pipeline, index: turn.options?.index, result: withoutTexts(result),
      } });
    } catch (failure) {
      isKept = failure.status !== 404;
      problem.textContent = isKept ? failure.message || "The feedback could not be sent." : "This service keeps no feedback.";
      problem.hidden = false;
      return;
    }
    turn.rating = rating;
    save();
    thanks();
    announce("Your feedback was kept.");
  });
  node.append(make("div", { class: "thumbs", role: "group", "aria-label": "Was this right?" },
    make("span", { class: "hint" }, "Was this right?"), thumb("up", "Yes, it was right"), thumb("down", "No, it was not")), form);
  return node;
}

function withoutTexts({ trace, steps, evidence, ...result }) {
  return { ...result, documents: (result.documents ?? []).map(({ content, ...document }) => document) };
}
