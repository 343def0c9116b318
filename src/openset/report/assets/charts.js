// Charts: Vega-Lite charts in the colours of the page, whose cursors follow the sliders.

const views = new Map();
const LIGHT = document.styleSheets[0].cssRules[0].style; // the sheet begins with the light theme
const PAPER_COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];

function startCharts() {
  if (typeof vegaEmbed !== "function") return;
  const drawer = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        target.dataset.near = isIntersecting ? "yes" : "";
        if (isIntersecting) bring(target);
      }
    },
    { rootMargin: "200px" },
  );
  $$("[data-figure]").forEach((box) => drawer.observe(box));
  $$("[data-save]").forEach((button) => button.addEventListener("click", () => saveChart(button.dataset.save)));
  let wait = 0;
  watch(["m", "s", "u", "r"], () => {
    cancelAnimationFrame(wait);
    wait = requestAnimationFrame(moveCursors);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  addEventListener("beforeprint", () => $$("[data-figure]").forEach(bring));
}

/** Draw a chart that is about to be seen, or move its cursor to where the sliders are by now. */
function bring(box) {
  const view = views.get(box.dataset.figure);
  if (view) moveCursor(box.dataset.figure, view);
  else drawChart(box);
}

function drawAll() {
  $$("[data-figure]").forEach((box) => views.has(box.dataset.figure) && drawChart(box));
}

async function drawChart(box) {
  const name = box.dataset.figure;
  const theme = getComputedStyle(document.documentElement);
  try {
    const { view } = await embed(box, withHandles(DATA.figures[name].spec), "container", theme, "transparent");
    views.set(name, view);
    moveCursor(name, view);
  } catch (error) {
    box.textContent = `This chart could not be drawn: ${error.message}`;
  }
}

/** Draw a specification into a box, in the colours of a theme. */
function embed(box, spec, width, theme, background) {
  const sized = { ...inColours(spec, theme), width, height: 260, autosize: { type: "fit", contains: "padding" } };
  const config = { ...chartConfig(theme), background };
  return vegaEmbed(box, sized, { actions: false, renderer: "svg", ast: true, config, tooltip: { theme: "openset" } });
}

/** The specification with invisible points on its lines, which are easier to hit than a line. */
function withHandles(spec) {
  const [lines, ...others] = spec.layer;
  const { strokeDash, ...encoding } = lines.encoding;
  return { ...spec, layer: [lines, { ...lines, mark: { type: "point", opacity: 0, size: 90 }, encoding }, ...others] };
}

/** The specification with the detectors' colours of a theme, dark or light. */
function inColours(spec, theme) {
  const own = PAPER_COLOURS.map((_, at) => theme.getPropertyValue(`--m${at}`).trim());
  const swap = (value) => (PAPER_COLOURS.includes(value) ? own[PAPER_COLOURS.indexOf(value)] : value);
  return JSON.parse(JSON.stringify(spec), (key, value) => (typeof value === "string" ? swap(value) : value));
}

function chartConfig(theme) {
  const [ink, soft, line, font] = ["--ink", "--soft", "--line", "--font"].map((name) => theme.getPropertyValue(name).trim());
  return {
    font,
    view: { stroke: null },
    axis: {
      labelColor: soft, titleColor: ink, gridColor: line, domainColor: soft, tickColor: soft,
      titleFontWeight: "normal", labelFontSize: 11, titleFontSize: 12, titlePadding: 8,
    },
    legend: { labelColor: ink, labelFontSize: 12, symbolStrokeWidth: 2, labelLimit: 220 },
    rule: { color: ink },
  };
}

/** Only charts that can be seen follow at once; the others when they come into sight. */
function moveCursors() {
  $$("[data-near=yes]").forEach((box) => views.has(box.dataset.figure) && bring(box));
}

/** Put a chart's cursor where the sliders stand. */
async function moveCursor(name, view) {
  const { cursor } = DATA.figures[name];
  if (cursor) await view.data("cursor", CURSORS[cursor]()).runAsync();
}

/** Every detector at the current slider positions. */
function everyModel(point) {
  const weight = weightOf(position().ratio);
  return MODELS.map((_, index) => {
    const { model, i, j } = placeOf(index);
    return { model: model.name, ...point(model, i, j, weight) };
  }).filter((row) => row.x !== null && row.y !== null && row.x !== undefined);
}

const CURSORS = {
  "pr-known": () =>
    everyModel((model, i, j, weight) => {
      const rate = rates(flowAt(model, i, j, weight));
      return { x: rate.knownRecall, y: rate.knownPrecision };
    }),
  "pr-unknown": () =>
    everyModel((model, i, j, weight) => {
      const rate = rates(flowAt(model, i, j, weight));
      return { x: rate.unknownRecall, y: rate.unknownPrecision };
    }),
  oscr: () =>
    everyModel((model, i, j, weight) => {
      const rate = rates(flowAt(model, i, j, weight));
      return { x: rate.unknownAsKnown, y: rate.knownRecall };
    }),
  roc: () => everyModel((model, i, j) => (model.roc ? { x: model.roc[0][j], y: model.roc[1][j] } : {})),
  ratio: () => [{ x: position().ratio ?? DATA.sliders.ratio }],
  score: () => [{ x: position().model.score[position().i] }],
  recall: () => [{ x: rates(currentFlow()).knownRecall ?? 0 }],
};

/** Save a chart as it is, but for paper: in light colours on white, also from a dark page. */
async function saveChart(name) {
  const width = $(`[data-figure="${name}"]`).clientWidth;
  const { view } = await embed(make("div"), DATA.figures[name].spec, width, LIGHT, "white");
  await moveCursor(name, view);
  const text = await view.toSVG();
  view.finalize();
  const link = make("a", { href: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`, download: `${name}.svg` });
  link.click();
}
