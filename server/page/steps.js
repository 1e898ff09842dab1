/** The steps of a run, one line each, as they happen. */

import { count, icon, make, strange } from "./dom.js";
import { sourceName } from "./kinds.js";

const JUDGED_BY = {
  model: "by the model",
  classifier: "by the classifier",
  first_step: "the first search is not judged",
  nothing_found: "nothing was found",
  no_other_source: "no other source may be searched",
};
// What is shown otherwise: the passages that were observed are those that were found, and the answer stands below.
const LEFT_OUT = new Set(["observation", "answer"]);
const ICONS = {
  thought: "thought", rewritten: "thought", held_back: "shield", closed: "shield", error: "warning", unreadable: "warning",
  cut_off: "warning", exhausted: "warning", read: "answer", reflection: "answer", review: "answer", without_model: "warning",
};

/** The list of the steps of one run. */
export class Steps {
  /** @param {(name: string) => boolean} isExternal Whether a source is one of the web. */
  constructor(isExternal) {
    this.isExternal = isExternal;
    this.searches = 0;
    this.last = 0;
    this.summary = make("span", { class: "steps-summary" }, "Starting");
    this.list = make("ol", { class: "steps-list", role: "log", "aria-live": "polite", "aria-label": "Steps" });
    this.node = make("details", { class: "steps is-running", open: true },
      make("summary", {}, make("span", { class: "pulse", "aria-hidden": "true" }), this.summary), this.list);
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

  /** @param {number|null} seconds How long the run took; null where it broke off. */
  end(seconds) {
    this.node.classList.remove("is-running");
    this.node.open = false;
    const took = seconds === null ? [] : [seconds < 10 ? `${seconds.toFixed(1)} s` : `${Math.round(seconds)} s`];
    this.summary.textContent = ["How it got there: " + count(this.last, "step"), count(this.searches, "search"), ...took].join(", ");
  }

  _source(name) {
    return sourceName(name, this.isExternal(name));
  }

  _line({ kind, text, data }) {
    if (kind === "search") {
      const shape = this.isExternal(data.source) ? "web" : "own";
      return line(`search is-${shape}`, shape, `Search ${this._source(data.source)}`, strange("q", data.query));
    }
    if (kind === "found") return this._found(data);
    if (kind === "verdict") {
      const why = [JUDGED_BY[data.judged_by] ?? data.judged_by];
      if (data.parsed === false) why.push("two replies could not be read");
      const shown = ["first_step", "nothing_found", "no_other_source"].includes(data.judged_by) ? "" : data.analysis;
      return line(data.status ? "keep" : "switch", data.status ? "keep" : "switch",
        data.status ? "Verdict: keep" : "Verdict: switch to another source",
        make("span", { class: "muted" }, ` (${why.join("; ")}) `), shown && strange("span", shown));
    }
    const [, word, rest] = text.match(/^([^:(]{1,60}): (.*)$/s) ?? [null, null, text];
    return line(kind, ICONS[kind] ?? "dot", word, strange("span", rest));
  }

  _found(data) {
    const titles = data.titles ?? [];
    if (data.error && !titles.length) {
      return line("error", "warning", `${this._source(data.source)} failed`, strange("span", data.error));
    }
    const took = data.seconds < 1 ? `${Math.max(1, Math.round(data.seconds * 1000))} ms` : `${data.seconds.toFixed(1)} s`;
    const facts = [titles.length ? count(titles.length, "passage") : "Nothing found", took];
    return line("found", "found", facts.join(" in "),
      data.sent_out && make("span", { class: "tag tag-out" }, icon("out"), "the query left this machine"),
      make("span", { class: "titles" }, titles.map((title, place) =>
        strange("span", data.places?.[place] ? `${title} (${data.places[place]})` : title, "found-title"))),
      data.error && strange("span", `Part of it failed: ${data.error}`, "muted"));
  }
}

function line(className, name, word, ...rest) {
  return make("li", { class: `event event-${className}` }, icon(name),
    make("div", {}, word && make("span", { class: "event-word" }, capital(word)), " ", ...rest));
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
