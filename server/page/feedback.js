/** The form for feedback on an answer, or on two answers to the same question: buttons, a comment and the right answer. */

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
  const thumb = (rating, label) => ({ label, content: icon(rating), className: "icon-button", ratings: () => [{ turn, rating, save }] });
  return makeForm("Was this right?", [thumb("up", "Yes, it was right"), thumb("down", "No, it was not")], Boolean(turn.rating));
}

/**
 * Make the form under two answers to the same question.
 * @param {import("./run.js").TurnView} reader The view of the answer without the language model.
 * @param {import("./run.js").TurnView} model The view of the model's answer.
 * @returns {HTMLElement|null}
 */
export function feedbackOnPair(reader, model) {
  const choice = (content, ...right) => ({ content, className: "quiet-button", ratings: () => [reader, model]
    .map(({ turn, save }) => ({ turn, save, rating: right.includes(turn.side) ? "up" : "down" }))
    // The last rating of a question decides which answer is exported for it.
    .sort((one, other) => (one.rating === "up") - (other.rating === "up")) });
  return makeForm("Which answer was right?", [choice("The one without the model", "reader"), choice("The model’s", "model"),
    choice("Both", "reader", "model"), choice("Neither")], Boolean(reader.turn.rating && model.turn.rating));
}

function makeForm(question, choices, isGiven) {
  if (!isKept) return null;
  const node = make("div", { class: "feedback" });
  const thanks = () => node.replaceChildren(make("p", { class: "hint" }, "Thank you. Your feedback is kept with this answer."));
  if (isGiven) {
    thanks();
    return node;
  }
  const comment = make("textarea", { rows: 2, maxlength: 4000 });
  const right = make("input", { type: "text", maxlength: 1000, autocomplete: "off" });
  const problem = make("p", { class: "problem", role: "alert", hidden: true });
  const form = make("form", { class: "feedback-form", hidden: true },
    make("label", {}, "Comment (optional)", comment),
    make("label", {}, "The right answer (optional)", right),
    make("p", { class: "hint" }, "What is sent and kept: your rating, your comment, the question, the answer, how long it took, its searches and the titles of its passages."),
    problem,
    make("div", { class: "actions" }, make("button", { type: "submit", class: "button" }, "Send feedback")));
  let chosen = null;
  const button = (choice) => make("button", {
    type: "button", class: `${choice.className} thumb`, "aria-label": choice.label, "aria-pressed": "false",
    on: { click: (event) => {
      chosen = choice;
      node.querySelectorAll(".thumb").forEach((one) => one.setAttribute("aria-pressed", String(one === event.currentTarget)));
      form.hidden = false;
      comment.focus();
    } },
  }, choice.content);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      for (const { turn, rating, save } of chosen.ratings()) {
        // If only the first of two arrived, the next click sends the other one.
        if (turn.rating) continue;
        await call("feedback", { method: "POST", json: {
          rating, comment: comment.value, answer: right.value, ...(turn.side ? { compared: turn.side } : {}),
          pipeline: turn.pipeline, index: turn.options?.index, result: withoutTexts(turn.result),
        } });
        turn.rating = rating;
        save();
      }
    } catch (failure) {
      isKept = failure.status !== 404;
      // One of two may have arrived: only the same choice can be sent on.
      if (chosen.ratings().some(({ turn }) => turn.side && turn.rating)) {
        node.querySelectorAll(".thumb").forEach((thumb) => { thumb.disabled = thumb.getAttribute("aria-pressed") !== "true"; });
      }
      problem.textContent = isKept ? failure.message || "The feedback could not be sent." : "This service keeps no feedback.";
      problem.hidden = false;
      return;
    }
    thanks();
    announce("Your feedback was kept.");
  });
  node.append(make("div", { class: "thumbs", role: "group", "aria-label": question },
    make("span", { class: "hint" }, question), choices.map(button)), form);
  return node;
}

function withoutTexts({ trace, steps, evidence, ...result }) {
  return { ...result, documents: (result.documents ?? []).map(({ content, ...document }) => document) };
}
