/** The documents as a tree of folders. Only the rows on the screen are drawn. */

import { count, icon, make } from "./dom.js";
import { dateOf, formName, sizeName, standingOf } from "./kinds.js";

const BEYOND = 12;
const PAGE = 10;
const order = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" }).compare;
export const byName = (one, other) => order(one.name, other.name);

/** A treegrid. Arrow keys move and fold, Home and End go to the ends, Enter opens, Delete deletes. */
export class DocumentTree {
  /**
   * @param {HTMLElement} scroller The element that scrolls.
   * @param {{open: (one: object) => void, remove: ((one: object) => void)|null}} actions What can be done with a document.
   */
  constructor(scroller, actions) {
    this.actions = actions;
    this.scroller = scroller;
    this.rows = [];
    this.drawn = new Map();
    this.active = 0;
    this.toggled = new Set();
    this.body = make("div", { role: "rowgroup", class: "tree-rows" });
    this.node = make("div", { role: "treegrid", class: "tree files", "aria-label": "Documents", on: {
      keydown: (event) => this._key(event), focusin: (event) => this._focused(event), click: (event) => this._click(event) } },
    make("div", { role: "rowgroup" }, make("div", { role: "row", class: "tree-head" },
      ["Name", "Kind", "Date", "Size", "Passages"].map((name) => make("span", { role: "columnheader", class: `cell-${name.toLowerCase()}` }, name)),
      actions.remove && make("span", { role: "columnheader", class: "cell-delete" }, make("span", { class: "visually-hidden" }, "Delete")))),
    this.body);
    this.watcher = new ResizeObserver(() => this._draw(true));
    this.watcher.observe(this.node);
    scroller.onscroll = () => this._draw();
  }

  /**
   * Show documents.
   * @param {object[]} documents The documents, in the order of their names.
   * @param {boolean} isOpen Whether folders are open at first.
   * @param {boolean} [again] Whether folders that the user has opened or closed stay as they are.
   */
  show(documents, isOpen, again = false) {
    this.root = treeOf(documents);
    this.isOpen = isOpen;
    if (!again) this.toggled.clear();
    this.active = 0;
    this._list();
  }

  _isOpen(folder) {
    return this.isOpen !== this.toggled.has(folder.path);
  }

  _list() {
    this.rows = rowsOf(this.root, (folder) => this._isOpen(folder));
    this.active = Math.min(this.active, Math.max(0, this.rows.length - 1));
    this.node.setAttribute("aria-rowcount", this.rows.length + 1);
    this._draw(true);
  }

  _draw(anew = false) {
    if (!this.node.isConnected || !this.node.checkVisibility()) return;
    const height = parseFloat(getComputedStyle(this.body).lineHeight);
    this.body.style.height = `${this.rows.length * height}px`;
    const hadFocus = anew && this.body.contains(document.activeElement);
    if (anew) this.drawn.forEach((node) => node.remove()), this.drawn.clear();
    const above = this.scroller.getBoundingClientRect().top - this.body.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(above / height) - BEYOND);
    const last = Math.min(this.rows.length - 1, Math.ceil((above + this.scroller.clientHeight) / height) + BEYOND);
    const wanted = new Set(this.rows.length ? [this.active] : []);
    for (let at = first; at <= last; at += 1) wanted.add(at);
    for (const [at, node] of this.drawn) if (!wanted.has(at)) node.remove(), this.drawn.delete(at);
    let next = this.body.firstChild;
    // Leave rows that are drawn already in place, so that they keep the focus.
    for (const at of [...wanted].sort((one, other) => one - other)) {
      let node = this.drawn.get(at);
      if (node) { next = node.nextSibling; continue; }
      node = this._row(this.rows[at], at);
      node.style.top = `${at * height}px`;
      this.drawn.set(at, node);
      this.body.insertBefore(node, next);
    }
    if (hadFocus) this.drawn.get(this.active)?.focus({ preventScroll: true });
  }

  _row(row, at) {
    const { folder, document: one } = row;
    const node = make("div", { role: "row", class: `tree-row ${folder ? "is-folder" : "file"}`, tabindex: at === this.active ? 0 : -1, "data-at": at,
      "aria-rowindex": at + 2, "aria-level": row.level, "aria-posinset": row.place, "aria-setsize": row.size,
      "aria-expanded": folder ? String(this._isOpen(folder)) : null }, ...(folder ? folderCells(folder) : this._fileCells(one)));
    node.style.setProperty("--level", Math.min(row.level - 1, 8));
    return node;
  }

  _fileCells(one) {
    const cell = (name, text) => make("span", { role: "gridcell", class: `cell-${name} hint` }, text);
    const open = make("button", { type: "button", tabindex: -1, class: "file-name link-button strange", dir: "auto", title: one.name,
      on: { click: () => this.actions.open(one) } }, one.name);
    const remove = this.actions.remove && make("span", { role: "gridcell", class: "cell-delete" }, make("button", {
      type: "button", tabindex: -1, class: "icon-button", "aria-label": `Delete ${one.name}`, on: { click: () => this.actions.remove(one) } }, icon("trash")));
    return [make("span", { role: "gridcell", class: "cell-name" }, icon("own"), open, standingOf(one)), cell("kind", formName(one.kind)), cell("date", dateCell(one)),
      cell("size", sizeName(one.size)), cell("passages", String(one.passages)), remove].filter(Boolean);
  }

  _go(at) {
    const to = Math.max(0, Math.min(this.rows.length - 1, at));
    const height = parseFloat(getComputedStyle(this.body).lineHeight);
    const view = this.scroller.getBoundingClientRect();
    const top = this.body.getBoundingClientRect().top + to * height;
    if (top < view.top) this.scroller.scrollTop -= view.top - top + height;
    if (top + height > view.bottom) this.scroller.scrollTop += top + height - view.bottom + height;
    this._activate(to);
    this._draw();
    this.drawn.get(to)?.focus({ preventScroll: true });
  }

  _activate(at) {
    this.drawn.get(this.active)?.setAttribute("tabindex", -1);
    this.active = at;
    this.drawn.get(at)?.setAttribute("tabindex", 0);
  }

  _toggle(folder) {
    if (!this.toggled.delete(folder.path)) this.toggled.add(folder.path);
    this._list();
  }

  _focused({ target }) {
    const row = target.closest(".tree-row");
    if (row) this._activate(Number(row.dataset.at));
  }

  _click({ target }) {
    const row = this.rows[target.closest(".tree-row")?.dataset.at];
    if (!row || target.closest("button")) return;
    if (row.folder) this._toggle(row.folder);
    else this.actions.open(row.document);
  }

  _key(event) {
    const row = this.rows[this.active];
    const isOnRow = event.target.classList.contains("tree-row");
    if (!row || event.altKey || event.ctrlKey || event.metaKey) return;
    const isOpen = row.folder && this._isOpen(row.folder);
    const moves = {
      ArrowDown: () => this._go(this.active + 1), ArrowUp: () => this._go(this.active - 1),
      PageDown: () => this._go(this.active + PAGE), PageUp: () => this._go(this.active - PAGE),
      Home: () => this._go(0), End: () => this._go(this.rows.length - 1),
      ArrowRight: () => (row.folder && !isOpen ? this._toggle(row.folder) : row.folder && this._go(this.active + 1)),
      ArrowLeft: () => (isOpen ? this._toggle(row.folder) : this._go(this._parent())),
      Enter: isOnRow && (() => (row.folder ? this._toggle(row.folder) : this.actions.open(row.document))),
      Delete: row.document && this.actions.remove && (() => this.actions.remove(row.document)),
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  }

  _parent() {
    let at = this.active;
    while (at > 0 && this.rows[at].level >= this.rows[this.active].level) at -= 1;
    return this.rows[at].level < this.rows[this.active].level ? at : this.active;
  }
}

function dateCell(listed) {
  const [date, zone] = (listed.date ?? dateOf(listed)).split(/(?= \(UTC\))/);
  // A phone has no room for the zone.
  return make("span", { title: dateOf(listed) }, date, zone && make("span", { class: "zone" }, zone));
}

function folderCells(folder) {
  return [make("span", { role: "gridcell", class: "cell-name" }, icon("next"), icon("folder"),
    make("span", { class: "folder-name strange", dir: "auto", title: folder.name }, folder.name)),
  make("span", { role: "gridcell", class: "cell-count hint" }, count(folder.count, "document"))];
}

function treeOf(documents) {
  const root = { name: "", path: "", folders: new Map(), files: [], count: 0 };
  for (const one of documents) {
    let at = root;
    for (const name of one.folder ? one.folder.split("/") : []) {
      const path = at.path ? `${at.path}/${name}` : name;
      if (!at.folders.has(name)) at.folders.set(name, { name, path, folders: new Map(), files: [], count: 0 });
      at = at.folders.get(name);
      at.count += 1;
    }
    at.files.push(one);
  }
  return root;
}

function rowsOf(node, isOpen, level = 1, rows = []) {
  const folders = [...node.folders.values()].sort(byName);
  const size = folders.length + node.files.length;
  folders.forEach((folder, at) => {
    rows.push({ folder, level, place: at + 1, size });
    if (isOpen(folder)) rowsOf(folder, isOpen, level + 1, rows);
  });
  node.files.forEach((one, at) => rows.push({ document: one, level, place: folders.length + at + 1, size }));
  return rows;
}
