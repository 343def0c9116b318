// Strata: what becomes of objects in slices of the data, at the sliders' thresholds.

const NO_SLICE = 255;
const STRATA = DATA.strata.map(({ names, place }) => ({ names, place: bytes(place) }));
const ROLES = [1, 0]; // unknown objects first: they are what the page is about

function startStrata() {
  follow([$("#slices")], drawStrata, ["m", "s", "u"]);
}

function drawStrata(section) {
  const places = MODELS.map((_, at) => placeOf(at));
  const drawn = places.map(({ i, j }) => `${i} ${j}`).join();
  if (section.dataset.drawn === drawn) return;
  section.dataset.drawn = drawn;
  const fates = places.map(({ model, i, j }) => fatesAt(model, i, j));
  $$("[data-stratum]", section).forEach((box) => {
    const stratum = STRATA[box.dataset.stratum];
    const counts = fates.map((fate) => sliced(stratum, fate));
    box.replaceChildren(...ROLES.map((role) => slicesTable(stratum.names, counts, role)).filter(Boolean));
  });
}

/** Objects by slice, role and fate. */
function sliced({ names, place }, fate) {
  const counts = new Uint32Array(names.length * 8);
  for (let at = 0; at < place.length; at += 1) {
    if (place[at] !== NO_SLICE) counts[(place[at] * 2 + OBJECTS.unknown[at]) * 4 + fate[at]] += 1;
  }
  return counts;
}

function slicesTable(names, counts, role) {
  const cells = names.map((_, at) => counts.map((of) => of.subarray((at * 2 + role) * 4, (at * 2 + role + 1) * 4)));
  const total = (four) => four[0] + four[1] + four[2] + four[3];
  const rows = names.flatMap((name, at) => (total(cells[at][0]) ? [[name, cells[at]]] : []));
  if (!rows.length) return null;
  const heads = MODELS.map((_, at) => head(MODELS.length > 1 ? modelName(at) : "right · wrong known"));
  const line = ([name, fours]) =>
    make(
      "tr",
      {},
      make("th", { scope: "row", title: name }, `${cut(name, 28)} `, make("small", {}, count(total(fours[0])))),
      ...fours.map((four) => stackCell(four, role, total(four))),
    );
  const table = make(
    "table",
    { class: "slices" },
    make("thead", {}, make("tr", {}, head(role ? "unknown objects" : "known objects"), ...heads)),
    make("tbody", {}, ...rows.map(line)),
  );
  return make("div", { class: "scroll" }, table);
}

/** Right, wrong, called unknown and missed as a bar; of an unknown object "unknown" is right. */
function stackCell([right, wrong, unknown, missed], role, total) {
  const parts = role ? { right: unknown, wrong, missed } : { right, wrong, unknown, missed };
  const bar = make("svg", { class: "stack", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" });
  let x = 0;
  for (const [name, n] of Object.entries(parts)) {
    const width = (100 * n) / total;
    if (n) bar.append(make("rect", { class: name, x: x.toFixed(2), y: 0, width: width.toFixed(2), height: 10 }));
    x += width;
  }
  const share = (n) => `${Math.round((100 * n) / total)}\u00a0%`;
  const [low, high] = wilson(parts.right, total);
  const numbers = make(
    "span", { class: "nums" },
    make("b", {}, share(parts.right)), ` ${Math.round(100 * low)}–${Math.round(100 * high)}`, " · ", make("span", { class: "bad" }, share(wrong)),
  );
  const title = Object.entries(parts).map(([name, n]) => `${name} ${n}`).join(", ");
  return make("td", { title }, bar, numbers);
}

/** The 95 % interval of a share (Wilson 1927), objects taken as independent. */
function wilson(part, whole) {
  const z2 = 1.959963984540054 ** 2;
  const share = part / whole;
  const middle = share + z2 / (2 * whole);
  const reach = Math.sqrt(z2 * ((share * (1 - share)) / whole + z2 / (4 * whole * whole)));
  return [middle - reach, middle + reach].map((end) => Math.min(Math.max(end / (1 + z2 / whole), 0), 1));
}

function modelName(at) {
  return make("span", { class: "model" }, make("span", { class: `swatch s${at % 6}`, "aria-hidden": "true" }), MODELS[at].name);
}
