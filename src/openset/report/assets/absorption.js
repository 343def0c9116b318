// Absorption: where unknown objects go at the sliders' thresholds, as a table per detector.

const MOST_COLUMNS = 9;
const FIRST_ROWS = 12;
const MOST_ROWS = 100;

function startAbsorption() {
  follow($$("[data-absorption]"), drawAbsorption, ["m", "s", "u"]);
  $("#absorption").addEventListener("click", (event) => {
    const cell = event.target.closest("[data-cell-label]");
    if (cell) openCell(cell);
    const more = event.target.closest("[data-more]");
    if (!more) return;
    const box = more.closest("[data-absorption]");
    box.classList.add("full");
    drawAbsorption(box);
  });
}

/** Unknown labels against known classes, "only unknown" and "missed", most absorbed first. */
function absorptionTable(counts) {
  const { labels, classes } = DATA.sliders;
  const width = classes.length + 2;
  const sum = (numbers) => numbers.reduce((total, n) => total + n, 0);
  const rows = labels.map((label, at) => {
    const cells = counts.subarray(at * width, (at + 1) * width);
    return { label, cells, total: sum(cells), wrong: sum(cells.subarray(0, classes.length)) };
  });
  const mass = classes.map((name, at) => ({ name, at, sum: sum(rows.map((row) => row.cells[at])) }));
  const order = mass.filter((one) => one.sum).sort((a, b) => b.sum - a.sum);
  rows.sort((a, b) => b.wrong - a.wrong || b.total - a.total);
  return { shown: order.slice(0, MOST_COLUMNS), rest: order.slice(MOST_COLUMNS), rows };
}

function drawAbsorption(box) {
  const at = Number(box.dataset.absorption);
  const { model, i, j } = placeOf(at);
  const full = box.classList.contains("full");
  const drawn = `${i} ${j} ${full}`;
  if (box.dataset.drawn === drawn) return;
  box.dataset.drawn = drawn;
  const table = absorptionTable(absorbedAt(model, i, j));
  const known = DATA.sliders.classes.length;
  const columns = [
    ...table.shown.map(({ name, at: place }) => ({ title: name, called: name, of: (row) => row.cells[place] })),
    ...(table.rest.length
      ? [{ title: `${table.rest.length} others`, called: table.rest.map((one) => one.name).join("\n"), of: (row) => table.rest.reduce((n, one) => n + row.cells[one.at], 0) }]
      : []),
    { title: "only unknown", kind: "unknown-found", style: "sep good", of: (row) => row.cells[known] },
    { title: "missed", kind: "missed-unknown", style: "lost", of: (row) => row.cells[known + 1] },
  ];
  const rows = table.rows.slice(0, full ? MOST_ROWS : FIRST_ROWS);
  const examples = [...occurring()];
  $("[data-where]", box).textContent = thresholds(model, i, j);
  $("table", box).replaceChildren(
    make("thead", {}, make("tr", {}, head("unknown label"), head("objects", "total"), ...columns.map(tilted))),
    make("tbody", {}, ...rows.map((row) => line(row, columns, at, examples))),
  );
  const more = $("[data-more]", box);
  more.hidden = full || table.rows.length <= FIRST_ROWS;
  const hidden = table.rows.length - MOST_ROWS;
  more.textContent = hidden > 0 ? `The first ${MOST_ROWS} of ${table.rows.length} labels` : `All ${table.rows.length} labels`;
}

function head(text, style = null) {
  return make("th", { scope: "col", class: style }, text);
}

function tilted({ title, style }) {
  const separate = style?.includes("sep") ? " sep" : "";
  return make("th", { scope: "col", class: `tilt${separate}`, title }, make("span", {}, cut(title, 18)));
}

function line(row, columns, model, examples) {
  const cells = columns.map((column) => {
    const n = column.of(row);
    const heat = n ? 1 + Math.min(4, Math.floor((5 * n) / row.total)) : 0;
    const cell = make("td", { class: column.style, "data-heat": heat });
    cell.append(n ? cellNumber(row, column, n, model, examples) : make("span", { class: "zero" }, "·"));
    return cell;
  });
  const name = make("th", { scope: "row", title: row.label }, cut(row.label, 24));
  return make("tr", {}, name, make("td", { class: "total" }, String(row.total)), ...cells);
}

/** A number, which leads to its examples where the gallery has some. */
function cellNumber(row, { title, called = "", kind = "unknown-as-known" }, n, model, examples) {
  const wanted = { kind, called, label: row.label, at: model };
  if (!examples.some((item) => fits(item, wanted))) return make("span", { class: "plain" }, String(n));
  const attributes = {
    type: "button",
    "data-cell-model": model,
    "data-cell-label": row.label,
    "data-cell-kind": kind,
    "data-cell-called": called,
    "aria-label": `${n} of ${row.total} ${cut(row.label, 40)}: ${title}`,
  };
  return make("button", attributes, String(n));
}
