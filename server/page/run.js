/** One turn of a conversation: the question, the steps of its run, and the answer or failure. */

import { answerCard, foundSoFar, spokenAnswer } from "./answer.js";
import { Failure, streamRun } from "./api.js";
import { announce, icon, make, strange } from "./dom.js";
import { describe, failureBox } from "./failures.js";
import { openNarrowing } from "./narrow.js";
import { isExternal } from "./options.js";
import { Steps } from "./steps.js";

/** The status of a turn that the user has stopped. */
export const STOPPED = -1;

/** The view of a turn. */
export class TurnView {
  /**
   * @param {import("./history.js").Turn} turn The turn.
   * @param {() => string} save Stores the turn, or returns why it is not stored.
   * @param {(allowed?: string) => void} askAgain Asks the question of the turn again, with a web query that is allowed.
   */
  constructor(turn, save, askAgain) {
    this.turn = turn;
    this.save = save;
    this.askAgain = askAgain;
    this.ended = () => {};
    this.steps = new Steps(isExternal);
    this.outcome = make("div", { class: "outcome" });
    this.problem = make("p", { class: "problem", role: "status", hidden: true });
    this.node = make("article", { class: "turn" }, strange("h2", turn.question, "question"),
      turn.attached?.length > 0 && make("p", { class: "hint asked-of" }, icon("attached"),
        make("span", {}, "Asked about ", strange("span", turn.attached.join(", ")), " alone")),
      turn.narrowed && strange("p", `Only ${turn.narrowed}`, "hint asked-of"),
      whereOf(turn) && strange("p", whereOf(turn), "hint asked-of"), this.steps.node, this.outcome, this.problem);
  }

  /** Show a turn that ended earlier. */
  restore() {
    this.turn.events.forEach((event) => this.steps.add(event));
    this._end();
  }

  /**
   * Ask, and show each step as it happens.
   * @param {object} body The question with its options.
   * @param {AbortSignal} signal Ends the run.
   */
  async run(body, signal) {
    const { turn } = this;
    try {
      for await (const { event, result } of streamRun(turn.pipeline, body, signal)) {
        if (event?.kind === "progress") {
          this.steps.summary.textContent = event.text;
        } else if (event) {
          turn.events.push(event);
          this.steps.add(event);
        } else {
          turn.result = result;
        }
      }
      if (!turn.result) throw new Failure(0, "The connection broke off before the answer came. Ask again.");
      announce(spokenAnswer(turn.result));
    } catch (error) {
      if (!(error instanceof Failure) && error.name !== "AbortError") throw error;
      const stopped = error.name === "AbortError";
      turn.failure = stopped ? { status: STOPPED, message: "" } : { status: error.status, message: error.message, retryAfter: error.retryAfter };
      turn.partial = error.result ?? null;
      announce(stopped ? "Stopped." : describe(error).title);
    } finally {
      this._end();
      this._save();
    }
  }

  _save() {
    this.problem.textContent = this.save();
    this.problem.hidden = !this.problem.textContent;
  }

  _end() {
    const { turn } = this;
    this.steps.end(turn.result?.usage?.seconds ?? null);
    this.steps.node.hidden = turn.events.length === 0;
    // No document fits the chosen folder, kind and time, so asking again with the same choice would not help.
    const isRefused = turn.narrowed && turn.failure?.status === 422;
    const again = make("button", { type: "button", class: "quiet-button", on: { click: isRefused ? openNarrowing : () => this.askAgain() } },
      isRefused ? "Choose other documents" : "Ask again");
    if (turn.result) {
      for (const document of turn.result.documents ?? []) document.collection = turn.options?.index ?? "";
      this.outcome.replaceChildren(answerCard(turn.result, turn, () => this._save()), ...this._offer());
    } else if (turn.failure?.status === STOPPED) {
      this.outcome.replaceChildren(make("p", { class: "hint" }, "You stopped this run. "), again);
    } else {
      this.outcome.replaceChildren(...[failureBox(turn.failure ?? { status: 0 }, again), foundSoFar(turn.partial)].filter(Boolean));
    }
    this.ended();
  }

  /** Show the whole message, if a part was not sent to the web. Only a click sends it. */
  _offer() {
    const offer = this.turn.events.find(({ data }) => typeof data?.offer === "string")?.data.offer;
    if (!offer || this.turn.options?.web_query) return [];
    return [make("div", { class: "offer" },
      make("p", {}, "Not all of your message was sent to the web. If you allow it, this is sent as it stands here: ", strange("q", offer)),
      make("button", { type: "button", class: "quiet-button", on: { click: () => this.askAgain(offer) } }, "Search the web for this?"))];
  }
}

// The collection, unless it is the default one, and what was left out, unless another line says this already.
function whereOf({ options, attached, side }) {
  const isClosed = options?.web === false && !attached?.length;
  const isWithoutModel = options?.model === false && !side;
  return [options?.index && `In ${options.index}`, isClosed && "Without the web", isWithoutModel && "Without the language model"]
    .filter(Boolean).join(" · ");
}
