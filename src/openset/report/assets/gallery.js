// Gallery: examples by kind, true label and what they are called; a dialog to enlarge one.

const PAGE = 48;
let shownCards = PAGE;
let current = -1;
let drawnItems = null;

const KIND = new Map(DATA.gallery.kinds.map((kind) => [kind.name, kind]));

function startGallery() {
  $("#gallery-tools").hidden = false;
  const options = (name, key) =>
    $(name).addEventListener("change", (event) => set({ [key]: event.target.value || null }));
  options("#gallery-kind", "kind");
  options("#gallery-label", "label");
  options("#gallery-called", "called");
  $("#gallery-every").addEventListener("change", (event) => set({ every: event.target.checked ? 1 : null }));
  $("#gallery-clear").addEventListener("click", () => set({ kind: null, label: null, called: null, every: null }));
  $("#gallery-ids").addEventListener("click", () => {
    const names = [...new Set(chosen().map((item) => item.image))];
    copy(names.join("\n"), `${names.length} image names`);
  });
  $("#gallery-more").addEventListener("click", () => {
    shownCards += PAGE;
    drawGallery();
  });
  $("#cards").addEventListener("click", (event) => {
    const card = event.target.closest(".card");
    if (card) enlarge(Number(card.dataset.at));
  });
  $("#lightbox").addEventListener("close", () => set({ item: null, image: null }));
  $("#lightbox").addEventListener("click", (event) => {
    if (event.target === $("#lightbox")) $("#lightbox").close();
  });
  const disagree = $("[data-disagree]");
  if (disagree) {
    disagree.hidden = !DATA.gallery.items.some((item) => item.kind === "models-disagree");
    disagree.addEventListener("click", () => {
      set({ kind: "models-disagree", label: null, called: null, every: 1 });
      go("gallery");
    });
  }
  watch(["m", "kind", "label", "called", "every"], () => {
    shownCards = PAGE;
    drawGallery();
  });
  follow([$("#gallery")], redrawGallery, ["s", "u"]);
}

/** Draw the gallery again if the sliders stand elsewhere by now. */
function redrawGallery() {
  if (occurring() !== drawnItems) drawGallery();
}

/** From a number in "where unknowns go" to its examples. */
function openCell(cell) {
  const { cellModel, cellLabel, cellCalled, cellKind } = cell.dataset;
  set({ m: Number(cellModel) || null, kind: cellKind, label: cellLabel, called: cellCalled, every: null });
  go("gallery");
}

let here = { key: null, items: new Set() };

/** The examples that occur where the sliders stand; they were picked at the operating points. */
function occurring() {
  const places = MODELS.map((_, at) => placeOf(at));
  const key = places.map(({ i, j }) => `${i} ${j}`).join();
  if (here.key !== key) {
    const fates = places.map(({ model, i, j }) => fatesAt(model, i, j));
    const items = DATA.gallery.items.filter((item) => occurs(item, places[item.model], fates));
    here = { key, items: new Set(items) };
  }
  return here.items;
}

function occurs({ model, rungs, unknown, fate, object, unlike }, { i, j }, fates) {
  if (fate !== undefined && fates[model][object] !== fate) return false;
  if (unlike !== undefined && fates[unlike][object] === fate) return false;
  return !rungs || (rungs[0] > i && rungs[1] > j === unknown);
}

function fits(item, { kind, label, called, every, at }) {
  return (
    (every || item.model === at) &&
    (!kind || item.kind === kind) &&
    (!label || item.label === label) &&
    (!called || called.split("\n").includes(item.called))
  );
}

function filters() {
  return {
    kind: get("kind"),
    label: get("label"),
    called: get("called"),
    every: Boolean(get("every")),
    at: position().at,
  };
}

function chosen() {
  const wanted = filters();
  return [...occurring()].filter((item) => fits(item, wanted));
}

function drawGallery() {
  drawnItems = occurring();
  const wanted = filters();
  const items = chosen();
  drawOptions("#gallery-kind", wanted.kind, "all kinds", DATA.gallery.kinds.map((k) => [k.name, k.title]), wanted, "kind");
  drawOptions("#gallery-label", wanted.label, "all labels", null, wanted, "label");
  drawOptions("#gallery-called", wanted.called, "anything", null, wanted, "called");
  $("#gallery-every").checked = wanted.every;
  $("#gallery-every").closest("label").hidden = MODELS.length < 2;
  const whose = wanted.every ? "all detectors" : MODELS[wanted.at].name;
  const gone = DATA.gallery.items.filter((item) => fits(item, wanted)).length - items.length;
  const others = gone ? ` ${gone} more do${gone === 1 ? "es" : ""} not occur where the sliders stand.` : "";
  $("#gallery-count").textContent = items.length
    ? `${items.length} example${items.length === 1 ? "" : "s"} of ${whose}.${others}`
    : `No example of this in the gallery (${whose}).${others || ` It holds ${DATA.gallery.items.length} in all.`}`;
  $("#gallery-about").textContent = KIND.get(wanted.kind)?.note ?? "";
  const cards = items.slice(0, shownCards).map((item) => card(item, DATA.gallery.items.indexOf(item)));
  $("#cards").replaceChildren(...cards);
  $("#gallery-more").hidden = items.length <= shownCards;
  if ($("#lightbox").open) enlarged.fill();
}

/** The choices that the other filters leave, with their numbers. */
function drawOptions(where, value, all, named, wanted, key) {
  const counts = new Map();
  for (const item of occurring()) {
    if (item[key] && fits(item, { ...wanted, [key]: "" })) counts.set(item[key], (counts.get(item[key]) ?? 0) + 1);
  }
  const order = named ?? [...counts.keys()].sort().map((name) => [name, name]);
  const listed = order.filter(([name]) => counts.has(name) || name === value);
  if (value && !listed.some(([name]) => name === value)) listed.push([value, value.split("\n").join(", ")]);
  const options = [["", all], ...listed].map(([name, title]) => {
    const n = name ? ` (${name.split("\n").reduce((sum, one) => sum + (counts.get(one) ?? 0), 0)})` : "";
    const option = make("option", { value: name }, `${title.length > 40 ? `${title.slice(0, 39)}…` : title}${n}`);
    option.selected = name === value;
    return option;
  });
  $(where).replaceChildren(...options);
}

function card(item, at) {
  const button = make("button", { type: "button", class: "card", "data-at": at, "aria-label": `${caption(item)}, ${item.image}` });
  button.append(picture(item, overlayOf(item)), make("span", { class: "caption" }, ...captionParts(item)));
  return make("div", { role: "listitem" }, button);
}

/** Whose boxes are drawn: the detector the page shows, or the item's own if all are listed. */
function overlayOf(item) {
  return get("every") && !$("#lightbox").open ? item.model : position().at;
}

function caption(item) {
  const kind = KIND.get(item.kind)?.title ?? item.kind;
  return [kind, item.label, item.called && `called ${item.called}`].filter(Boolean).join(", ");
}

function captionParts(item) {
  const parts = [];
  if (item.label) parts.push(make("b", {}, item.label));
  if (item.called) parts.push(make("span", {}, `${item.label ? " → " : ""}${item.called} ${item.score.toFixed(2)}`));
  const kind = KIND.get(item.kind)?.title ?? "";
  parts.push(make("small", {}, MODELS.length > 1 && get("every") ? `${kind} · ${MODELS[item.model].name}` : kind));
  return parts;
}

/** What a box says where the sliders stand; nothing if it is dropped or has no name there. */
function words([who, , , , , name, score, s, u], { i, j }) {
  if (who === -1) return { text: name, role: score };
  if (s <= i) return null;
  const called = u > j ? "unknown" : DATA.sliders.classes[name];
  return called && { text: `${cut(called, 40)} ${score.toFixed(2)}`, role: u > j ? "unknown" : "known" };
}

/** Whether a detector has boxes there that would be drawn, were they not too many. */
function leftOut(item, { model, i, j }) {
  return (item.cut?.[MODELS.indexOf(model)] ?? 0) > (model.byScore ? Math.min(i, j) : i);
}

/** The crop, or an empty frame, with the boxes of the truth and of one detector. */
function picture(item, model, labels = false) {
  const [x, y, w, h] = item.region;
  const frame = make("span", { class: "picture" });
  const source = item.source ?? (item.crop && `data:image/jpeg;base64,${item.crop}`);
  if (source) frame.append(make("img", { src: source, alt: "", decoding: "async" }));
  else frame.classList.add("drawn");
  const svg = make("svg", { viewBox: `${x} ${y} ${w} ${h}`, preserveAspectRatio: "xMidYMid meet", "aria-hidden": "true" });
  const unit = Math.max(w, h) / (labels ? 520 : 190);
  const place = placeOf(model);
  const drawn = item.boxes.filter((box) => box[0] === -1 || box[0] === model);
  drawn.sort((a, b) => a.at(-1) - b.at(-1)); // what it is about goes on top
  for (const box of drawn) {
    const said = words(box, place);
    if (said) svg.append(outline(box, said, unit, labels || (!source && box.at(-1))));
  }
  frame.append(svg);
  return frame;
}

function outline(box, { text, role }, unit, labelled) {
  const [who, x, y, w, h] = box;
  const truth = who === -1;
  const group = make("g", { class: `box ${truth ? "truth" : "said"} ${role}${box.at(-1) ? " focus" : ""}` });
  const line = (kind, width) =>
    make("rect", { x, y, width: w, height: h, class: kind, "stroke-width": (width * unit).toFixed(2) });
  group.append(line("halo", 4), line("line", truth ? 1.8 : 2.4));
  if (truth) group.lastChild.setAttribute("stroke-dasharray", `${3 * unit} ${3 * unit}`);
  if (labelled) {
    const size = 11 * unit;
    const at = truth ? y + h - 3 * unit : y + size;
    group.append(make("text", { x: x + 3 * unit, y: at, "font-size": size.toFixed(2), "stroke-width": (2.6 * unit).toFixed(2) }, text));
  }
  return group;
}

// ---------------------------------------------------------------------- enlarged

/** What the lightbox shows: how it is filled, what the arrows do, and the card it came from. */
let enlarged = null;

function openLightbox(what) {
  enlarged = what;
  const box = $("#lightbox");
  if (!box.open) box.showModal();
  enlarged.fill();
}

function enlarge(at) {
  current = at;
  set({ item: at, image: null });
  const item = DATA.gallery.items[at];
  openLightbox({ fill: () => fillLightbox(item, itemFacts(item)), step, card: `#cards [data-at="${at}"]` });
}

function itemFacts(item) {
  const kind = KIND.get(item.kind)?.title;
  const present = occurring().has(item);
  return [
    ["kind", present ? kind : `${kind}: not where the sliders stand`],
    ["true label", item.label],
    ["called", present ? item.called : ""],
    ["score", item.score?.toFixed(3)],
    ["unknownness", item.unknownness],
    ["example of", MODELS[item.model].name],
    ...shownFacts(item),
  ];
}

function shownFacts(item) {
  const model = position().at;
  const place = placeOf(model);
  return [
    ["boxes shown", MODELS[model].name],
    ["at", thresholds(place.model, place.i, place.j)],
    ["not drawn", leftOut(item, place) ? "more boxes, of lower scores" : ""],
    ["image", item.image],
  ];
}

function fillLightbox(item, facts) {
  const told = facts.filter(([, value]) => value !== undefined && value !== "");
  const list = make("dl", {}, ...told.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, String(value)))));
  const button = (text, action) => {
    const made = make("button", { type: "button" }, text);
    made.addEventListener("click", action);
    return made;
  };
  const buttons = make(
    "div",
    { class: "tools" },
    button("← Previous", () => enlarged.step(-1)),
    button("Next →", () => enlarged.step(1)),
    MODELS.length > 1 ? button("Other detector (m)", nextModel) : null,
    make("span", { class: "gap" }),
    button("Close", () => $("#lightbox").close()),
  );
  const focused = [...($("#lightbox .tools")?.children ?? [])].indexOf(document.activeElement);
  $("#lightbox").replaceChildren(picture(item, position().at, true), list, buttons);
  if (focused >= 0) buttons.children[focused]?.focus();
}

function step(by) {
  const items = chosen();
  if (!items.length) return;
  const at = items.indexOf(DATA.gallery.items[current]);
  const next = items[(at + by + items.length) % items.length];
  enlarge(DATA.gallery.items.indexOf(next));
}

function stepFocus(among, by) {
  const cards = $$(".card", among);
  const at = cards.indexOf(document.activeElement);
  cards[Math.min(Math.max(at + by, 0), cards.length - 1)]?.focus();
}

function nextModel() {
  chooseModel((position().at + 1) % MODELS.length);
}
