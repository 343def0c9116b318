// Board: sort, hide and copy the scoreboard. The table is in the page; this only rearranges it.

const LATEX = {
  "&": "\\&", "%": "\\%", $: "\\$", "#": "\\#", _: "\\_", "{": "\\{", "}": "\\}",
  "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "\\": "\\textbackslash{}",
  "↑": "$\\uparrow$", "↓": "$\\downarrow$", "–": "--",
};

function startBoard() {
  const board = $("#board");
  const body = board.tBodies[0];
  const given = [...body.rows];
  $("[data-tools]").hidden = false;
  $$("[data-sort]", board).forEach((button) =>
    button.addEventListener("click", () => {
      const column = button.dataset.sort;
      const falling = get("sort") === `${column}-`;
      set({ sort: falling ? `${column}+` : get("sort") === `${column}+` ? null : `${column}-` });
    }),
  );
  $$("[data-hide]", board).forEach((button) =>
    button.addEventListener("click", () => {
      const name = button.closest("tr").dataset.metric;
      set({ hide: [...hidden(), name].join(",") });
      say(`${name} hidden`);
    }),
  );
  $("[data-action=all]").addEventListener("click", () => set({ all: get("all") ? null : 1 }));
  $("[data-action=unhide]").addEventListener("click", () => set({ hide: null }));
  $$("[data-copy]").forEach((button) =>
    button.addEventListener("click", () => copy(WRITERS[button.dataset.copy](), button.textContent)),
  );
  watch(["sort", "hide", "all"], () => arrange(board, given));
}

function hidden() {
  return get("hide").split(",").filter(Boolean);
}

function arrange(board, given) {
  const gone = new Set(hidden());
  const all = Boolean(get("all"));
  for (const row of given) {
    row.hidden = gone.has(row.dataset.metric) || (!all && row.classList.contains("more"));
  }
  const [, column, direction] = get("sort").match(/^(\d+)([-+])$/) ?? [];
  const sorted = column === undefined ? given : sortRows(given, Number(column), direction === "-");
  board.tBodies[0].append(...sorted);
  $$("thead th", board).forEach((head, at) => {
    const here = column !== undefined && Number(column) === at;
    head.setAttribute("aria-sort", here ? (direction === "-" ? "descending" : "ascending") : "none");
  });
  const button = $("[data-action=all]");
  button.setAttribute("aria-pressed", all);
  $("[data-action=unhide]").hidden = !gone.size;
}

function sortRows(given, column, falling) {
  const key = (row) => {
    if (column === 0) return row.dataset.title.toLowerCase();
    const text = row.cells[column]?.dataset.value ?? "";
    return text === "" ? null : Number(text);
  };
  const sign = falling ? -1 : 1;
  return [...given].sort((a, b) => {
    const [x, y] = [key(a), key(b)];
    if (x === null || y === null) return (x === null) - (y === null);
    return x < y ? -sign : x > y ? sign : 0;
  });
}

/** The visible rows, and the cells of a row that hold a model's number. */
const visible = () => [...$("#board").tBodies[0].rows].filter((row) => !row.hidden);
const numbers = (row) => [...row.cells].filter((cell) => "text" in cell.dataset);
const named = (row) => `${row.dataset.title} ${row.dataset.arrow}`.trim();
const models = () => $$("#board [data-name]").map((button) => button.dataset.name);

/** The visible part of the table as texts: header first. */
function rows(best = (text) => text) {
  const cell = ({ dataset }) => {
    const text = [dataset.text + dataset.mark, dataset.interval].filter(Boolean).join(" ");
    return "best" in dataset ? best(text) : text;
  };
  return [["metric", ...models()], ...visible().map((row) => [named(row), ...numbers(row).map(cell)])];
}

/** The same as numbers, unrounded: of each model the value and the ends of its interval. */
function values() {
  const header = models().flatMap((name) => [name, `${name} low`, `${name} high`]);
  const three = ({ dataset }) => [dataset.value, dataset.low, dataset.high];
  return [["metric", ...header], ...visible().map((row) => [named(row), ...numbers(row).flatMap(three)])];
}

const oneLine = (text) => text.split(/[\r\n]+/).join(" ");
const escaped = (text) => oneLine(text).replace(/[&%$#_{}~^\\↑↓–]/g, (found) => LATEX[found]);
const BEST = "\u0002"; // before a cell that is to be bold: no text of ours begins so
const latex = (text) => (text.startsWith(BEST) ? `\\textbf{${escaped(text.slice(1))}}` : escaped(text));
const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);

const WRITERS = {
  markdown() {
    const [header, ...body] = rows();
    const piped = (row) => `| ${row.map((cell) => oneLine(cell).replace(/\|/g, "\\|")).join(" | ")} |`;
    const rule = ["---", ...header.slice(1).map(() => "---:")];
    return [piped(header), piped(rule), ...body.map(piped)].join("\n");
  },
  latex() {
    const [header, ...body] = rows((text) => BEST + text);
    const line = (row) => `${row.map(latex).join(" & ")} \\\\`;
    const columns = `l${"r".repeat(header.length - 1)}`;
    const top = [`\\begin{tabular}{${columns}}`, "\\toprule", line(header), "\\midrule"];
    return [...top, ...body.map(line), "\\bottomrule", "\\end{tabular}"].join("\n");
  },
  csv() {
    return `${values().map((row) => row.map(quoted).join(",")).join("\n")}\n`;
  },
};
