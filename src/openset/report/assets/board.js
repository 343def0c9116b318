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
    button.addEventListener("click", () => copy(WRITERS[button.dataset.copy](rows()), button.textContent)),
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

/** The visible part of the table as texts: header first. */
function rows() {
  const visible = [...$("#board").tBodies[0].rows].filter((row) => !row.hidden);
  const header = ["metric", ...$$("#board [data-name]").map((button) => button.dataset.name)];
  return [
    header,
    ...visible.map((row) => [
      `${row.dataset.title} ${row.dataset.arrow}`.trim(),
      ...[...row.cells]
        .filter((cell) => "text" in cell.dataset)
        .map(({ dataset }) => [dataset.text + dataset.mark, dataset.interval].filter(Boolean).join(" ")),
    ]),
  ];
}

const oneLine = (text) => text.split(/[\r\n]+/).join(" ");
const latex = (text) => oneLine(text).replace(/[&%$#_{}~^\\↑↓–]/g, (found) => LATEX[found]);
const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);

const WRITERS = {
  markdown([header, ...body]) {
    const piped = (row) => `| ${row.map((cell) => oneLine(cell).replace(/\|/g, "\\|")).join(" | ")} |`;
    const rule = ["---", ...header.slice(1).map(() => "---:")];
    return [piped(header), piped(rule), ...body.map(piped)].join("\n");
  },
  latex([header, ...body]) {
    const line = (row) => `${row.map(latex).join(" & ")} \\\\`;
    const columns = `l${"r".repeat(header.length - 1)}`;
    const top = [`\\begin{tabular}{${columns}}`, "\\toprule", line(header), "\\midrule"];
    return [...top, ...body.map(line), "\\bottomrule", "\\end{tabular}"].join("\n");
  },
  csv(all) {
    return `${all.map((row) => row.map(quoted).join(",")).join("\n")}\n`;
  },
};
