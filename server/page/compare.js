/** Two answers to one question, side by side: the reader's and the language model's, and which of them was right. */

import { feedbackOnPair } from "./feedback.js";
import { make, strange } from "./dom.js";
import { SIDES } from "./history.js";

/** @returns {boolean} Whether each question is to be answered twice: if the address ends with `?compare`. */
export const isComparing = () => new URLSearchParams(location.search).has("compare");

/**
 * Make the two turns of a question that is answered twice.
 * @param {import("./history.js").Turn} turn The turn as it would be asked once.
 * @param {string} id The id of the other turn.
 * @returns {import("./history.js").Turn[]} First the turn without the language model, which takes less time.
 */
export function pairOf(turn, id) {
  const pair = turn.id;
  return [
    { ...turn, id, pair, side: "reader", options: { ...turn.options, model: false }, events: [] },
    { ...turn, pair, side: "model" },
  ];
}

/**
 * Let the language model answer too.
 * @param {object} options The options of either turn.
 * @returns {object} The options of the turn with the language model.
 */
export function withModel({ model: _, ...options }) {
  return options;
}

/** The view of the two turns of a question. */
export class PairView {
  /** @param {import("./history.js").Turn} turn The first of the turns. */
  constructor(turn) {
    this.views = [];
    this.sides = make("div", { class: "sides" });
    this.verdict = make("div");
    this.node = make("article", { class: "turn pair" }, strange("h2", turn.question, "question"), this.sides, this.verdict);
  }

  /**
   * Add the view of one of the turns. It takes the place of an earlier one, if this turn was asked again.
   * @param {import("./run.js").TurnView} view The view.
   */
  add(view) {
    view.node.classList.remove("turn");
    view.node.classList.add("side");
    view.node.querySelector(".question").replaceWith(make("h3", {}, SIDES[view.turn.side]));
    const at = this.views.findIndex(({ turn }) => turn === view.turn);
    if (at < 0) this.sides.append(view.node);
    else this.views[at].node.replaceWith(view.node);
    this.views.splice(at < 0 ? this.views.length : at, 1, view);
    view.ended = () => this.ask();
    this.ask();
  }

  /** Ask which answer was right, as soon as both are there. */
  ask() {
    const ended = this.views.filter(({ turn }) => turn.result);
    this.verdict.replaceChildren(...(ended.length === 2 ? [feedbackOnPair(...ended)] : []).filter(Boolean));
  }
}
