// Core: the payload, small helpers, and the state of the page, which lives in the URL's hash.

const DATA = JSON.parse(document.getElementById("data").textContent);

const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

/** An element with attributes and children; text is always text, never markup. */
function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "path", "rect", "text", "title", "line", "tspan"].includes(tag);
  const element = svg
    ? document.createElementNS("http://www.w3.org/2000/svg", tag)
    : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** The bytes of a base64 column. */
function bytes(text) {
  const raw = atob(text);
  const column = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at += 1) column[at] = raw.charCodeAt(at);
  return column;
}

/** A count with thin spaces; expected counts keep one decimal while they are small. */
function count(value) {
  const whole = Math.abs(value) >= 100 || Number.isInteger(value);
  const text = whole ? String(Math.round(value)) : value.toFixed(1);
  return text.replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

/** A name that is not longer than `longest`, cut in the middle. */
function cut(text, longest) {
  if (text.length <= longest) return text;
  const half = Math.floor((longest - 1) / 2);
  return `${text.slice(0, half)}…${text.slice(-half)}`;
}

function percent(value) {
  if (value === null) return "–";
  return `${(100 * value).toFixed(value && value < 0.0995 ? 1 : 0)}\u00a0%`;
}

function over(part, whole) {
  return whole ? part / whole : null;
}

// ---------------------------------------------------------------------- state

const listeners = [];
const state = new Map();
let writing = 0;
let lastHash = location.hash; // as we read or wrote it last

/** Call back now and whenever one of the keys changes. */
function watch(keys, callback) {
  listeners.push([keys, callback]);
}

/** Change the state, tell those who watch, and keep it in the URL. */
function set(changes) {
  const changed = new Set();
  for (const [key, value] of Object.entries(changes)) {
    const text = value === null || value === undefined || value === "" ? undefined : String(value);
    if (state.get(key) === text) continue;
    if (text === undefined) state.delete(key);
    else state.set(key, text);
    changed.add(key);
  }
  if (!changed.size) return;
  for (const [keys, callback] of listeners) if (keys.some((key) => changed.has(key))) callback();
  clearTimeout(writing);
  writing = setTimeout(write, 120);
}

function get(key, fallback = "") {
  return state.has(key) ? state.get(key) : fallback;
}

function number(key, fallback) {
  const value = Number.parseFloat(get(key));
  return Number.isFinite(value) ? value : fallback;
}

/** Keep the state in the URL, unless somebody has just changed that, which will be followed. */
function write(how = "replaceState") {
  const keys = [...state.keys()].sort();
  const text = new URLSearchParams(keys.map((key) => [key, state.get(key)])).toString();
  if (location.hash !== lastHash || location.hash.slice(1) === text) return;
  history[how](null, "", `#${text}`);
  lastHash = location.hash;
}

/** Take the state from the URL; a bare word is a section or a term. */
function readHash() {
  lastHash = location.hash;
  const text = location.hash.slice(1);
  if (text && !text.includes("=")) return text;
  const found = new URLSearchParams(text);
  const changes = Object.fromEntries([...state.keys()].map((key) => [key, null]));
  for (const [key, value] of found) changes[key] = value;
  set(changes);
  return get("at");
}

let toastTimer = 0;
function say(text) {
  const toast = $("#status");
  toast.textContent = text;
  toast.classList.add("on");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => toast.classList.remove("on"), 2600);
}

/** Copy text; pages opened from disk may lack the clipboard, so there is an old way too. */
async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = make("textarea", { readonly: "", class: "visually-hidden" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say(`${what} copied`);
}
