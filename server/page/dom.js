/** Build DOM nodes. Every text is set as text: nothing that comes from a document or a model is parsed as markup. */

const REFUSED = /^(on|href$|src|style$|action$|formaction$|innerhtml$|outerhtml$)/i;

/**
 * Make an element.
 * @param {string} tag Its name.
 * @param {Object<string, any>} [properties] `on` (listeners by event) and attributes, but no addresses, styles or markup.
 * @param {...(Node|string|number|null|undefined|false)} children Its content; strings become text nodes.
 * @returns {HTMLElement}
 */
export function make(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    } else if (REFUSED.test(name)) {
      throw new Error(`make() sets no ${name}`);
    } else if (value === true) {
      node.setAttribute(name, "");
    } else if (value !== false && value !== null && value !== undefined) {
      node.setAttribute(name, String(value));
    }
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false).map(
    (child) => (child instanceof Node ? child : document.createTextNode(String(child)))));
  return node;
}

/**
 * Make one of the icons in index.html. Screen readers skip it, because a word beside it says the same.
 * @param {string} name Its name.
 * @returns {SVGElement}
 */
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", `#i-${name}`);
  svg.append(use);
  return svg;
}

/**
 * Make an element for a text that strangers wrote. Its writing direction does not affect the text around it.
 * @param {string} tag Its name.
 * @param {string} text The text.
 * @param {string} [className] Its class.
 * @returns {HTMLElement}
 */
export function strange(tag, text, className = "") {
  return make(tag, { class: `strange ${className}`.trim(), dir: "auto" }, text);
}

/**
 * Make a link to a web address, or nothing if it is another kind of address.
 * @param {string|null|undefined} address The address, from a document.
 * @returns {HTMLElement|null}
 */
export function webLink(address) {
  let url;
  try {
    url = new URL(address ?? "");
  } catch {
    return null;
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") return null;
  const link = make("a", { rel: "noopener noreferrer", target: "_blank", class: "web-link strange" }, url.href);
  link.href = url.href;
  return link;
}

/** @param {string} id @returns {HTMLElement} */
export const byId = (id) => document.getElementById(id);

/**
 * Say something to users of a screen reader.
 * @param {string} text What to say.
 */
export function announce(text) {
  byId("announcer").textContent = text;
}

/** @param {number} number @param {string} noun @returns {string} For example `1 step` and `2 steps`. */
export function count(number, noun) {
  const several = /(s|x|ch)$/.test(noun) ? `${noun}es` : noun.replace(/y$/, "ie") + "s";
  return `${number.toLocaleString("en")} ${number === 1 ? noun : several}`;
}
