// Main: start everything, keys, and moving about.

/** Scroll to a section or a term, which opens if it is folded. */
function go(name) {
  const target = document.getElementById(name);
  if (!target) return;
  if (target.tagName === "DETAILS") target.open = true;
  target.closest("details")?.setAttribute("open", "");
  target.scrollIntoView();
  set({ at: name });
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

function startKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const field = event.target.closest("input, select, textarea");
    const open = $("#lightbox").open;
    if (event.key === "m" && MODELS.length > 1 && !(field && field.type === "text")) nextModel();
    else if (open && event.key === "ArrowRight") step(1);
    else if (open && event.key === "ArrowLeft") step(-1);
    else if (!open && !field && event.target.closest("#cards") && event.key === "ArrowRight") stepFocus(1);
    else if (!open && !field && event.target.closest("#cards") && event.key === "ArrowLeft") stepFocus(-1);
    else return;
    event.preventDefault();
  });
}

/** Mark the section that is being read in the navigation. */
function startSpy() {
  const links = new Map($$("header nav a").map((link) => [link.getAttribute("href").slice(1), link]));
  const spy = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (!isIntersecting) continue;
        for (const [name, link] of links) {
          if (name === target.id) link.setAttribute("aria-current", "true");
          else link.removeAttribute("aria-current");
        }
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
  startLinks();
  startKeys();
  startSpy();
  startPrint();
  const place = readHash();
  for (const [, callback] of listeners) callback();
  if (place) go(place);
  const item = Number.parseInt(get("item"), 10);
  if (DATA.gallery.items[item]) enlarge(item);
  addEventListener("hashchange", () => go(readHash()));
  document.documentElement.dataset.ready = "true";
}

start();
