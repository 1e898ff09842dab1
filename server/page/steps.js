/** The steps of a run, with one line for each event. The words come from the service and are the same in a terminal. */

import { count, icon, make, strange } from "./dom.js";
import { sourceName } from "./kinds.js";

// Events without a line: an observation repeats the passages that were found, and the answer is shown below.
const LEFT_OUT = new Set(["observation", "answer"]);
const ICONS = {
  thought: "thought", rewritten: "thought", held_back: "shield", closed: "shield", error: "warning", unreadable: "warning",
  cut_off: "warning", exhausted: "warning", read: "answer", checked: "answer", model_failed: "warning", reflection: "answer", review: "answer", without_model: "warning",
};

/** The list of the steps of one run. */
export class Steps {
  /** @param {(name: string) => boolean} isExternal Whether a source is on the web. */
  constructor(isExternal) {
    this.isExternal = isExternal;
    this.searches = 0;
    this.last = 0;
    this.summary = make("span", { class: "steps-summary" }, "Starting");
    this.list = make("ol", { class: "steps-list" });
    // Around the list and not on it, because a log has no items.
    const log = make("div", { role: "log", "aria-live": "polite", "aria-label": "Steps" }, this.list);
    this.node = make("details", { class: "steps is-running", open: true },
      make("summary", {}, make("span", { class: "pulse", "aria-hidden": "true" }), this.summary), log);
  }

  /** @param {{kind: string, step: number, text: string, data: object}} event An event of the trace. */
  add(event) {
    if (LEFT_OUT.has(event.kind)) return;
    if (event.kind === "search") {
      this.searches += 1;
      this.summary.textContent = `Searching ${this._source(event.data.source)}`;
    } else if (event.kind === "found") {
      this.summary.textContent = "Reading what was found";
    }
    if (event.step > this.last) {
      this.last = event.step;
      this.items = make("ul");
      this.list.append(make("li", { class: "step" }, make("span", { class: "step-number" }, `Step ${event.step}`), this.items));
    }
    this.items ??= this.list.appendChild(make("li", { class: "step" }, make("ul"))).firstChild;
    this.items.append(this._line(event));
  }

  /** @param {number|null} seconds How long the run took; null if it did not finish. */
  end(seconds) {
    this.node.classList.remove("is-running");
    this.node.open = false;
    const took = seconds === null ? [] : [seconds < 10 ? `${seconds.toFixed(1)} s` : `${Math.round(seconds)} s`];
    this.summary.textContent = ["What was done: " + count(this.last, "step"), count(this.searches, "search"), ...took].join(", ");
  }

  _source(name) {
    return sourceName(name, this.isExternal(name));
  }

  _line({ kind, text, data }) {
    const [, head, rest] = text.match(/^([^:(]{1,60}(?: \([^():]{1,60}\))?): (.*)$/s) ?? [null, "", text];
    // The page shows a source by another name, such as "your documents" for `local`.
    const words = data.source ? head.replace(` ${data.source}`, () => ` ${this._source(data.source)}`) : head;
    const [className, name] = this._look(kind, data);
    if (kind === "search") return line(className, name, words, strange("q", rest));
    if (kind !== "found" || data.error) return line(className, name, words, strange("span", rest));
    return line(className, name, words, make("span", { class: "titles" }, (data.titles ?? []).map((title, place) =>
      strange("span", data.places?.[place] ? `${title} (${data.places[place]})` : title, "found-title"))));
  }

  /** Choose the class and the icon of an event. */
  _look(kind, data) {
    const shape = this.isExternal(data.source) ? "web" : "own";
    if (kind === "search") return [`search is-${shape}`, shape];
    if (kind === "verdict") return data.status ? ["keep", "keep"] : ["switch", "switch"];
    if (kind !== "found") return [kind, ICONS[kind] ?? "dot"];
    if (data.error && !data.titles?.length) return ["error", "warning"];
    return data.sent_out ? ["found is-out", "out"] : ["found", "found"];
  }
}

function line(className, name, word, ...rest) {
  return make("li", { class: `event event-${className}` }, icon(name),
    make("div", {}, word && make("span", { class: "event-word" }, capital(word)), " ", ...rest));
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
