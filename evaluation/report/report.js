"use strict";
// Shows the questions that only one of two runs answers right. All texts are inserted as text, never as markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const shown = 50;
  const of = (id) => document.getElementById(id);
  const element = (name, text, className) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  };
  const fill = (select, entries) => {
    select.replaceChildren(...entries.map(([value, text]) => new Option(text, value)));
  };

  const chosenDataset = of("dataset"), chosenA = of("run-a"), chosenB = of("run-b");
  const kind = of("kind"), words = of("words"), list = of("list"), count = of("count"), more = of("more");
  let found = [], open = 0;

  fill(chosenDataset, Object.keys(data.datasets).map((name) => [name, name]));

  function chooseRuns() {
    const runs = data.runs.map((run, number) => [number, run]).filter(([, run]) => run.dataset === chosenDataset.value);
    const entries = runs.map(([number, run]) => {
      const alike = runs.filter(([, other]) => other.method === run.method).length;
      return [number, alike > 1 ? `${run.method} (${run.name})` : run.method];
    });
    fill(chosenA, entries);
    fill(chosenB, entries);
    // Start with the last line of the first comparison table: the method most like the reference.
    const pairs = data.pairs.filter(([a]) => data.runs[a].dataset === chosenDataset.value);
    const pair = pairs.filter(([a]) => a === pairs[0][0]).at(-1);
    if (pair) [chosenA.value, chosenB.value] = pair;
    search();
  }

  function search() {
    const a = data.runs[chosenA.value], b = data.runs[chosenB.value];
    const questions = data.datasets[chosenDataset.value];
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const sums = { "11": 0, "10": 0, "01": 0, "00": 0 };
    found = [];
    questions.forEach((question, number) => {
      const both = a.right[number] + b.right[number];
      if (!(both in sums)) return;
      sums[both] += 1;
      if (both !== "10" && both !== "01") return;
      if (kind.value !== "either" && kind.value !== both) return;
      const text = `${question.id} ${question.q} ${question.gold.join(" ")}`.toLowerCase();
      if (wanted.every((word) => text.includes(word))) found.push(number);
    });
    count.textContent =
      `Both right ${sums["11"]}, only ${a.method} ${sums["10"]}, only ${b.method} ${sums["01"]}, both wrong ${sums["00"]}. ` +
      `${found.length} to look at.`;
    open = 0;
    list.replaceChildren();
    showMore();
  }

  function showMore() {
    for (const number of found.slice(open, open + shown)) list.append(questionOf(number));
    open = Math.min(open + shown, found.length);
    more.hidden = open >= found.length;
    more.textContent = `Show more (${found.length - open} left)`;
  }

  function questionOf(number) {
    const question = data.datasets[chosenDataset.value][number];
    const a = chosenA.value, b = chosenB.value;
    const winner = data.runs[data.runs[a].right[number] === "1" ? a : b];
    const details = element("details", undefined, "question");
    const summary = element("summary", `${question.q} `);
    summary.append(element("span", `${winner.method} is right`, "right"));
    details.append(summary);
    // The traces are built only when a question is opened.
    details.addEventListener("toggle", () => {
      if (!details.open || details.dataset.laid) return;
      details.dataset.laid = "yes";
      details.append(element("p", `${question.id} · gold: ${question.gold.join(" / ") || "none"}`, "note"));
      const sides = element("div", undefined, "sides");
      sides.append(sideOf(a, number), sideOf(b, number));
      details.append(sides);
    });
    return details;
  }

  function sideOf(run, number) {
    const side = element("div", undefined, "side");
    const trace = (data.traces[run] || {})[number];
    const right = data.runs[run].right[number] === "1";
    side.append(element("h4", `${data.runs[run].method}: ${right ? "right" : "wrong"}`, right ? "better" : "worse"));
    if (!trace) {
      side.append(element("p", `This page has no space for the trace: look for the id in predictions.jsonl of ${data.runs[run].name}.`, "note"));
      return side;
    }
    const top = element("dl");
    add(top, trace.forced ? "Forced answer" : "Answer", trace.answer || "none");
    add(top, "Label", trace.label);
    if (trace.gold && trace.gold[1]) add(top, "Gold passages", `${trace.gold[0]} of ${trace.gold[1]} given to the model`);
    for (const error of trace.errors || []) add(top, "Error", error);
    side.append(top);
    const steps = element("ol");
    for (const step of trace.steps || []) steps.append(stepOf(step));
    side.append(steps);
    return side;
  }

  function stepOf(step) {
    const item = element("li"), parts = element("dl");
    add(parts, "Thought", step.thought);
    add(parts, "Action", (step.action || "").replaceAll("_", " "));
    add(parts, "Query", step.query);
    add(parts, "Searched", step.searched);
    add(parts, "Verdict", step.verdict);
    add(parts, "Kept from", step.kept);
    if (step.documents) {
      parts.append(element("dt", "Documents"));
      const documents = element("dd");
      step.documents.forEach(([title, gold], place) => {
        if (place) documents.append(" · ");
        documents.append(element(gold ? "mark" : "span", gold ? `${title} (gold)` : title));
      });
      parts.append(documents);
    }
    add(parts, step.forced ? "Forced answer" : "Answer", step.answer);
    add(parts, "Label", step.label);
    item.append(parts);
    return item;
  }

  function add(parts, name, text) {
    if (!text) return;
    parts.append(element("dt", name), element("dd", text));
  }

  chosenDataset.addEventListener("change", chooseRuns);
  for (const chosen of [chosenA, chosenB, kind]) chosen.addEventListener("change", search);
  words.addEventListener("input", search);
  more.addEventListener("click", showMore);
  chooseRuns();
})();
