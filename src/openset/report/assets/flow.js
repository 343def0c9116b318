// Flow: the sliders, and the diagram of where objects go.

const RATIO_STEP = 0.1;
const RATIO_END = Math.max(50, Math.ceil(DATA.sliders.ratio / RATIO_STEP)); // in steps
const FATES = ["right", "wrong", "unknown", "missed"];
const FATE_TITLES = {
  right: "right class",
  wrong: "wrong known class",
  unknown: "called unknown",
  missed: "missed",
};
const SOURCES = ["known", "unknown", "background"];
const SOURCE_TITLES = {
  known: "known objects",
  unknown: "unknown objects",
  background: "background boxes",
};
const GLYPHS = { right: "✓", wrong: "✕", unknown: "?", missed: "○" };

/** Where the sliders stand: detector, positions, ratio (null: the data's). */
function position() {
  const at = Math.min(Math.max(Math.round(number("m", 0)), 0), MODELS.length - 1);
  const ratio = state.has("r") ? Math.min(Math.max(number("r", 0), 0), RATIO_END * RATIO_STEP) : null;
  return { at, ...placeOf(at), ratio };
}

/**
 * Where a detector stands: at its operating point, unless its sliders were moved. The ladder of scores
 * is that of all detectors, so the minimum score is; each has a second ladder, and a second threshold,
 * of its own.
 */
function placeOf(index) {
  const model = MODELS[index];
  const [i, j] = model.start;
  return { model, i: rung(get("s"), model.score, i), j: rung(seconds()[index], model.second, j) };
}

function rung(text, levels, start) {
  const at = Math.round(Number.parseFloat(text));
  return Number.isFinite(at) ? Math.min(Math.max(at, 0), levels.length - 1) : start;
}

/** The second positions that were chosen, by detector; empty where none was. */
function seconds() {
  return get("u").split(",");
}

/** The same with another one for the detector that is shown. */
function withSecond(j) {
  const all = seconds();
  all[position().at] = j;
  return all.join(",");
}

/** Thresholds in words; the second one only where it does something. */
function thresholds(model, i, j) {
  const score = `score ≥ ${level(model.score[i])}`;
  if (!model.saysUnknown || j === model.rest) return score;
  return `${score}, unknown: ${model.byScore ? "score " : j ? "unknownness " : ""}${secondLevel(model, j)}`;
}

/** The second threshold; the first of unknownness lies below all values. */
function secondLevel(model, j) {
  if (model.byScore) return `≥ ${level(model.second[j])}`;
  return j ? `> ${level(model.second[j])}` : "all boxes";
}

/**
 * Draw elements now and when one of the keys changes: those in sight at once, the others when they
 * come into sight. All are drawn at first, so that nothing jumps later, and before the page prints.
 */
function follow(elements, draw, keys) {
  let wait = 0;
  const seen = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        target.dataset.near = isIntersecting ? "yes" : "";
        if (isIntersecting) draw(target);
      }
    },
    { rootMargin: "200px" },
  );
  elements.forEach((element) => seen.observe(element));
  watch(keys, () => {
    cancelAnimationFrame(wait);
    wait = requestAnimationFrame(() => elements.forEach((element) => element.dataset.near !== "" && draw(element)));
  });
  addEventListener("beforeprint", () => elements.forEach((element) => draw(element)));
}

function currentFlow() {
  const { model, i, j, ratio } = position();
  return flowAt(model, i, j, weightOf(ratio));
}

function startFlow() {
  $("[data-controls]").hidden = false;
  $("#score").addEventListener("input", (event) => set({ s: event.target.value }));
  $("#second").addEventListener("input", (event) => set({ u: withSecond(event.target.value) }));
  $("#ratio").max = RATIO_END;
  $("#ratio").addEventListener("input", (event) =>
    set({ r: (event.target.value * RATIO_STEP).toFixed(1) }),
  );
  $$("input[name=model]").forEach((radio) =>
    radio.addEventListener("change", () => chooseModel(Number(radio.value))),
  );
  watch(["m", "s", "u", "r"], drawFlow);
  let wait = 0;
  addEventListener("resize", () => {
    cancelAnimationFrame(wait);
    wait = requestAnimationFrame(() => {
      drawFlow();
      drawAnswer();
    });
  });
  drawAnswer();
}

/** The picture of the first screen: unknown objects under the first detector, which no slider moves. */
function drawAnswer() {
  const svg = $("#unknown-flow");
  if (!svg) return;
  const [first] = MODELS;
  drawSankey(svg, flowAt(first, ...first.start, 1), ["unknown"], ["wrong", "unknown", "missed"]);
}

/** Show another detector. */
function chooseModel(at) {
  set({ m: at || null });
}

function drawFlow() {
  const { at, model, i, j, ratio } = position();
  const flow = flowAt(model, i, j, weightOf(ratio));
  drawControls(at, model, i, j, ratio);
  drawTable(flow);
  drawTiles(flow);
  drawSankey($("#sankey"), flow);
  $("#flow-sentence").textContent = sentence(flow);
}

function drawControls(at, model, i, j, ratio) {
  $$("input[name=model]").forEach((radio) => (radio.checked = Number(radio.value) === at));
  const score = $("#score");
  score.max = model.score.length - 1;
  score.value = i;
  $("[data-score-title]").textContent = model.byScore ? "minimum score, known classes" : "minimum score";
  describe(score, $("#score-out"), `≥ ${level(model.score[i])}`);
  const second = $("#second");
  second.max = model.second.length - 1;
  second.value = j;
  $("[data-second-title]").textContent = model.byScore
    ? "minimum score, labelled unknown"
    : "unknown above this unknownness";
  $("#second-box").hidden = !model.saysUnknown;
  $("#second-note").hidden = model.saysUnknown;
  const off = !model.byScore && j === model.rest;
  describe(second, $("#second-out"), off ? "off: as labelled" : secondLevel(model, j));
  const slider = $("#ratio");
  const own = DATA.sliders.ratio;
  slider.value = Math.round((ratio ?? own) / RATIO_STEP);
  const shown = (ratio ?? own).toFixed(2).replace(/0$/, "");
  describe(slider, $("#ratio-out"), ratio === null ? `${shown} (the data's)` : shown);
  $("#ratio-box").hidden = !own;
  drawPresets(model, i, j, ratio);
}

function describe(input, output, text) {
  output.textContent = text;
  input.setAttribute("aria-valuetext", text);
}

function level(value) {
  return Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}

/** Presets are pressed where they are true: at both positions, and at the data's ratio if it matters. */
function drawPresets(model, i, j, ratio) {
  const buttons = model.presets.map((preset) => {
    const here = preset.i === i && preset.j === j && (ratio === null || !preset.ownRatio);
    const button = make("button", { type: "button", "data-preset": preset.name, "aria-pressed": here });
    button.textContent = preset.title;
    button.addEventListener("click", () => choosePreset(preset, preset === model.presets[0]));
    return button;
  });
  if (DATA.sliders.ratio) {
    const own = make("button", { type: "button", "data-preset": "data-ratio", "aria-pressed": ratio === null });
    own.textContent = "the data's wilderness";
    own.addEventListener("click", () => set({ r: null }));
    buttons.push(own);
  }
  const box = $("#presets");
  const focused = document.activeElement?.dataset?.preset;
  box.replaceChildren(...buttons);
  if (focused) $(`[data-preset="${focused}"]`, box)?.focus();
}

/** Put the sliders at a preset; the operating point is that of every detector, each at its own. */
function choosePreset({ i, j, ownRatio }, operatingPoint) {
  const place = operatingPoint ? { s: null, u: null } : { s: i, u: withSecond(j) };
  set(ownRatio ? { ...place, r: null } : place);
}

function drawTable(flow) {
  $$("#flow-table [data-cell]").forEach((cell) => {
    const value = flow[cell.dataset.cell];
    const of = cell.dataset.cell.split("_")[0];
    const total = SOURCES.includes(of) ? totalOf(flow, of) : 0;
    cell.dataset.value = value;
    cell.replaceChildren(count(value));
    if (total && of !== "background") cell.append(make("small", {}, percent(value / total)));
  });
  $("#flow-both").textContent = flow.unknown_both
    ? `Of the unknown objects with a known name, ${count(flow.unknown_both)} are called unknown as well; unknown recall counts them.`
    : "";
}

function totalOf(flow, source) {
  return FATES.reduce((sum, fate) => sum + (flow[`${source}_${fate}`] ?? 0), 0);
}

function drawTiles(flow) {
  const rate = rates(flow);
  const tiles = [
    ["known precision", percent(rate.knownPrecision), "boxes with a known name that are right"],
    ["known recall", percent(rate.knownRecall), "known objects called by their class"],
    ["unknowns called known", percent(rate.unknownAsKnown), "unknown objects under a known name"],
    ["unknown recall", percent(rate.unknownRecall), "unknown objects called unknown"],
    ["unknown precision", percent(rate.unknownPrecision), "boxes called unknown that are right"],
    [
      "false alarms / image",
      rate.falseAlarms === null ? "–" : rate.falseAlarms.toFixed(2),
      "boxes with a known name that are wrong, and boxes on nothing called unknown",
    ],
  ];
  $("#tiles").replaceChildren(
    ...tiles.map(([title, value, note]) =>
      make("div", { class: "tile", title: note }, make("b", {}, value), make("span", {}, title)),
    ),
  );
}

function sentence(flow) {
  const rate = rates(flow);
  if (!rate.unknown) return `${percent(rate.knownRecall)} of known objects are found; there is no unknown object.`;
  const parts = [flow.unknown_wrong, flow.unknown_unknown, flow.unknown_missed];
  const [wrong, seen, missed] = parts.map((part) => percent(part / rate.unknown));
  return (
    `Of the unknown objects ${wrong} get a known name, ${seen} are called only unknown, ${missed} are missed. ` +
    `Of the known ones ${percent(rate.knownRecall)} are found; ${percent(rate.knownPrecision)} of known boxes are right.`
  );
}

// ---------------------------------------------------------------------- diagram

/** How good it is that objects of a source end in a fate. */
function tone(source, fate) {
  if (source === "unknown" && fate === "unknown") return "right";
  return fate;
}

function drawSankey(svg, flow, from = SOURCES, to = FATES) {
  const width = Math.max(svg.clientWidth || svg.parentElement.clientWidth, 280);
  const narrow = width < 500;
  const part = to.length < FATES.length ? 0.55 : 1; // of the height, for a part of the fates
  const frame = {
    width,
    height: part * (narrow ? 390 : 350),
    left: narrow ? 86 : 132,
    right: width - (narrow ? 84 : 168),
    gap: narrow ? 42 : 34, // the height of a label: nodes may be as thin as nothing
    bar: narrow ? 7 : 10,
    narrow,
    rows: to.length,
  };
  svg.setAttribute("viewBox", `0 0 ${width} ${frame.height}`);
  svg.setAttribute("height", frame.height);
  const links = [];
  for (const source of from) {
    for (const fate of to) {
      const value = flow[`${source}_${fate}`] ?? 0;
      if (value > 0) links.push({ source, fate, value });
    }
  }
  const sources = stackNodes(from, links, "source", frame);
  const fates = stackNodes(to, links, "fate", frame);
  svg.replaceChildren(
    hatching(),
    make("g", { class: "links" }, ...links.map((link) => ribbon(link, sources, fates, frame))),
    ...nodeLabels(from, sources, frame, "left"),
    ...nodeLabels(to, fates, frame, "right"),
  );
}

/** Lines over ribbons that are errors, so that colour is not the only sign. */
function hatching() {
  const pattern = make("g", {});
  pattern.innerHTML =
    '<defs><pattern id="hatch" width="6" height="6" patternTransform="rotate(45)" patternUnits="userSpaceOnUse">' +
    '<rect width="6" height="6" class="hatch-ground"/><path d="M0 0V6" class="hatch-line"/></pattern></defs>';
  return pattern;
}

function stackNodes(names, links, side, frame) {
  const total = links.reduce((sum, link) => sum + link.value, 0) || 1;
  const room = frame.height - frame.gap * frame.rows; // one scale for both sides
  const nodes = {};
  let y = 8;
  for (const name of names) {
    const value = links.filter((link) => link[side] === name).reduce((sum, link) => sum + link.value, 0);
    const height = (value / total) * room;
    nodes[name] = { y, height, value, used: 0, scale: room / total };
    y += height + frame.gap;
  }
  return nodes;
}

function ribbon(link, sources, fates, frame) {
  const from = sources[link.source];
  const to = fates[link.fate];
  const thickness = link.value * from.scale;
  const y0 = from.y + from.used + thickness / 2;
  const y1 = to.y + to.used + thickness / 2;
  from.used += thickness;
  to.used += thickness;
  const [x0, x1] = [frame.left + frame.bar, frame.right - frame.bar];
  const middle = (x0 + x1) / 2;
  const path = make("path", {
    d: `M${x0} ${y0.toFixed(1)}C${middle} ${y0.toFixed(1)} ${middle} ${y1.toFixed(1)} ${x1} ${y1.toFixed(1)}`,
    "stroke-width": Math.max(thickness, 0.75).toFixed(2),
    class: `ribbon ${tone(link.source, link.fate)}`,
  });
  path.append(make("title", {}, `${SOURCE_TITLES[link.source]} → ${FATE_TITLES[link.fate]}: ${count(link.value)}`));
  return path;
}

function nodeLabels(names, nodes, frame, side) {
  const shown = [];
  for (const name of names) {
    const node = nodes[name];
    const x = side === "left" ? frame.left : frame.right - frame.bar;
    const kind = side === "left" ? `source-${name}` : name;
    const height = Math.max(node.height, 1);
    shown.push(make("rect", { x, y: node.y, width: frame.bar, height, class: `node ${kind}` }));
    const [title, glyph] = side === "left" ? [SOURCE_TITLES[name], ""] : [FATE_TITLES[name], GLYPHS[name]];
    const anchor = side === "left" ? "end" : "start";
    const tx = side === "left" ? x - 8 : x + frame.bar + 8;
    const ty = node.y + Math.max(node.height / 2 - 4, 4);
    const style = frame.narrow ? "node-text narrow-text" : "node-text";
    const text = make("text", { x: tx, y: ty, "text-anchor": anchor, class: style });
    text.append(make("tspan", { x: tx, class: "node-count" }, `${glyph ? `${glyph} ` : ""}${count(node.value)}`));
    const [first, ...others] = title.split(" ");
    const lines = frame.narrow ? [first, others.join(" ")].filter(Boolean) : [title];
    for (const line of lines) text.append(make("tspan", { x: tx, dy: "1.15em" }, line));
    shown.push(text);
  }
  return shown;
}
