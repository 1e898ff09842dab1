/** Send requests to the service. Addresses are relative to the page, so that it also works under a proxy's prefix. */

import { readKey } from "./key.js";

/** A failed request, with a message for people. */
export class Failure extends Error {
  /**
   * @param {number} status The HTTP status; 0 if no server answered.
   * @param {string} message What the service says.
   * @param {object|null} [result] What a run had found.
   * @param {number|null} [retryAfter] How many seconds to wait before asking again.
   */
  constructor(status, message, result = null, retryAfter = null) {
    super(message);
    this.status = status;
    this.result = result;
    this.retryAfter = retryAfter;
  }
}

/**
 * Call a route that answers with JSON.
 * @param {string} path The path, without a slash before it.
 * @param {{method?: string, json?: any}} [request] The body, if there is one.
 * @returns {Promise<any>}
 * @throws {Failure}
 */
export async function call(path, { method = "GET", json } = {}) {
  const response = await receive(path, {
    method,
    body: json === undefined ? undefined : JSON.stringify(json),
    headers: json === undefined ? {} : { "Content-Type": "application/json" },
  });
  return response.json();
}

/**
 * Fetch a file.
 * @param {string} path The path.
 * @returns {Promise<Blob>}
 * @throws {Failure}
 */
export async function callForFile(path) {
  return (await receive(path, { method: "GET" })).blob();
}

/**
 * Call a route that older servers do not have.
 * @param {string} path The path.
 * @returns {Promise<any|null>} The reply; null if there is no such route.
 */
export async function callIfThere(path) {
  try {
    return await call(path);
  } catch (failure) {
    if (failure.status === 404) return null;
    throw failure;
  }
}

/**
 * Ask a question and read the steps of its run as they happen.
 * @param {string} pipeline The pipeline.
 * @param {object} body The question and its options.
 * @param {AbortSignal} signal Ends the run.
 * @returns {AsyncGenerator<{event?: object, result?: object}>} The events, then the result.
 * @throws {Failure}
 */
export async function* streamRun(pipeline, body, signal) {
  const response = await receive(`${encodeURIComponent(pipeline)}/run`, {
    method: "POST",
    body: JSON.stringify({ ...body, stream: true }),
    headers: { "Content-Type": "application/json" },
    signal,
  });
  for await (const data of readEvents(response.body)) {
    if (data === "[DONE]") return;
    const message = JSON.parse(data);
    if (message.error) throw new Failure(message.error.status ?? 500, message.error.message, message.result);
    yield message;
  }
}

/**
 * Send a form and report the progress, which `fetch` cannot.
 * @param {string} path The path.
 * @param {FormData} form The form.
 * @param {(share: number) => void} onShare Is called with the share of the form that was sent, from 0 to 1.
 * @returns {Promise<any>} What the service answers.
 * @throws {Failure}
 */
export function send(path, form, onShare) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", new URL(path, document.baseURI));
    const key = readKey();
    if (key) request.setRequestHeader("Authorization", `Bearer ${key}`);
    request.responseType = "json";
    request.upload.onprogress = ({ loaded, total }) => onShare(total ? loaded / total : 0);
    request.upload.onload = () => onShare(1);
    request.onerror = () => reject(new Failure(0, ""));
    request.onload = () => {
      if (request.status < 300) return resolve(request.response);
      if (request.status === 401) document.dispatchEvent(new CustomEvent("key-needed"));
      return reject(new Failure(request.status, readDetail(request.response?.detail), null, Number(request.getResponseHeader("Retry-After")) || null));
    };
    request.send(form);
  });
}

async function receive(path, request) {
  const key = readKey();
  const headers = { ...request.headers, ...(key ? { Authorization: `Bearer ${key}` } : {}) };
  let response;
  try {
    response = await fetch(new URL(path, document.baseURI), { ...request, headers, credentials: "same-origin" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure(0, "");
  }
  if (response.ok) return response;
  if (response.status === 401) document.dispatchEvent(new CustomEvent("key-needed"));
  let content = {};
  try {
    content = await response.json();
  } catch {
    // The reply is not JSON, so it comes from a proxy in between.
  }
  throw new Failure(response.status, readDetail(content.detail), content.result ?? null,
    Number(response.headers.get("Retry-After")) || null);
}

function readDetail(detail) {
  if (!Array.isArray(detail)) return typeof detail === "string" ? detail : "";
  return detail.map((problem) => `${problem.loc.filter((part) => part !== "body").join(".")}: ${problem.msg}`).join("; ");
}

async function* readEvents(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += value;
      const events = text.split(/\r?\n\r?\n/);
      text = events.pop();
      for (const event of events) {
        const lines = event.split(/\r?\n/).filter((line) => line.startsWith("data:"));
        if (lines.length) yield lines.map((line) => line.slice(5).trimStart()).join("\n");
      }
    }
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure(0, "");
  } finally {
    reader.cancel().catch(() => {});
  }
}
