// Main: start everything, keys, and moving about.

/** Scroll to a section or a term, which opens if it is folded. */
function show(name) {
  const target = document.getElementById(name);
  if (!target) return null;
  target.closest("details")?.setAttribute("open", "");
  target.scrollIntoView();
  set({ at: name });
  return target;
}

/** Go to a section or a term, with the focus, and leave the browser a way back. */
function go(name) {
  const target = show(name);
  if (!target) return;
  focusOn($(":scope > summary", target) ?? target);
  write("pushState");
}

/** Focus what is no control, for as long as it has the focus. */
function focusOn(target) {
  if (target.tabIndex < 0) {
    target.tabIndex = -1;
    target.addEventListener("blur", () => target.removeAttribute("tabindex"), { once: true });
  }
  target.focus({ preventScroll: true });
}

/** Follow the URL, at the start and when it changes: thresholds, place, and the example enlarged. */
function visit() {
  const place = readHash();
  if (place) show(place);
  const item = Number.parseInt(get("item"), 10);
  const image = Number.parseInt(get("image"), 10);
  if (DATA.gallery.items[item]) enlarge(item);
  else if (DATA.browsing && image >= 0) enlargeImage(image);
  else if ($("#lightbox").open) $("#lightbox").close();
}

function startLinks() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(decodeURIComponent(link.getAttribute("href").slice(1)));
  });
  $$("[data-copy-text]").forEach((button) =>
    button.addEventListener("click", () => copy(document.getElementById(button.dataset.copyText).textContent, "Command")),
  );
}

/** Where keys are text, or find an option. */
const TYPING = "select, textarea, [contenteditable], input:not([type=range], [type=radio], [type=checkbox])";

function startKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (event.target.closest(TYPING)) return;
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === "m" && MODELS.length > 1) switchModel();
    else if (by && $("#lightbox").open) enlarged.step(by);
    else if (by && event.target.closest(".cards")) stepFocus(event.target.closest(".cards"), by);
    else return;
    event.preventDefault();
  });
}

/** The next detector; cards are made anew, so the focus goes to the one in the same place. */
function switchModel() {
  const at = $$("#cards .card").indexOf(document.activeElement);
  nextModel();
  if (at < 0) return;
  const cards = $$("#cards .card");
  (cards[Math.min(at, cards.length - 1)] ?? $("#gallery-kind")).focus();
}

/** A closed lightbox gives the focus back, or to a card if the one before was made anew. */
function startFocus() {
  $("#lightbox").addEventListener("close", () => {
    if (!document.activeElement?.matches("body, #lightbox, #lightbox *")) return;
    ($(enlarged.card) ?? $("#cards .card"))?.focus({ preventScroll: true });
  });
}

/** Mark the section that is being read in the navigation, and bring the mark into sight. */
function startSpy() {
  const nav = $("header nav");
  const links = new Map($$("header nav a").map((link) => [link.getAttribute("href").slice(1), link]));
  const spy = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (!isIntersecting) continue;
        for (const [name, link] of links) {
          if (name === target.id) link.setAttribute("aria-current", "true");
          else link.removeAttribute("aria-current");
        }
        const link = links.get(target.id);
        if (link) nav.scrollLeft = link.offsetLeft + link.offsetWidth / 2 - nav.offsetLeft - nav.clientWidth / 2;
      }
    },
    { rootMargin: "-20% 0px -70% 0px" },
  );
  $$("main > section").forEach((section) => spy.observe(section));
}

/** On paper nothing unfolds: footnotes and findings are open there, and fold again later. */
function startPrint() {
  const unfolded = [];
  addEventListener("beforeprint", () => {
    unfolded.push(...$$("details.notes, #health details").filter((one) => !one.open));
    unfolded.forEach((one) => (one.open = true));
  });
  addEventListener("afterprint", () => unfolded.splice(0).forEach((one) => (one.open = false)));
}

function start() {
  startFlow();
  startBoard();
  startCharts();
  startAbsorption();
  startStrata();
  startGallery();
  startImages();
  startLinks();
  startKeys();
  startFocus();
  startSpy();
  startPrint();
  for (const [, callback] of listeners) callback();
  visit();
  addEventListener("hashchange", visit);
  document.documentElement.dataset.ready = "true";
}

start();
