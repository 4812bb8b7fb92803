// The table of anomalies: search, filters, sorting, pages, and opening a row.

// What a person should look at first: what a value should have been, or the strongest reason.
function mainReason(row) {
  return row.repair || (row.reasons[0] ? row.reasons[0].text : "");
}

const HEADINGS = [
  { key: "label", title: "Row", sort: (row) => row.row },
  { key: "score", title: "Score", sort: (row) => row.evidence, numeric: true, first: -1 },
  { key: "evidence", title: "Evidence", sort: (row) => row.evidence, first: -1 },
  { key: "kind", title: "Kind", sort: kindText },
  { key: "column", title: "Main column", sort: (row) => mainColumn(row) },
  { key: "why", title: "Why", sort: mainReason },
];
const state = { query: "", column: "", kind: "", context: "", sort: "score", direction: -1, page: 0, size: 25, open: null };

function mainColumn(row) {
  return row.column === null ? "" : data.columns[row.column].name;
}

function haystack(row) {
  row.haystack ??= [row.label, ...row.values, ...row.reasons.map((reason) => reason.text)].join("\n").toLowerCase();
  return row.haystack;
}

function matches(row) {
  const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.every((word) => haystack(row).includes(word))) return false;
  if (state.column !== "" && !row.reasons.some((reason) => reason.columns.includes(Number(state.column)))) return false;
  if (state.kind === "association" && !row.association) return false;
  if (state.kind === "pattern" && row.association) return false;
  return state.context === "" || row.contexts.includes(Number(state.context));
}

function compare(a, b) {
  if (typeof a === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

function selectedRows() {
  const value = HEADINGS.find((heading) => heading.key === state.sort).sort;
  const found = data.rows.filter(matches);
  found.sort((a, b) => state.direction * compare(value(a), value(b)) || b.evidence - a.evidence || a.row - b.row);
  return found;
}

function drawHeadings() {
  const cells = HEADINGS.map((heading) => {
    const sorted = state.sort === heading.key;
    const direction = state.direction > 0 ? "ascending" : "descending";
    const arrow = sorted ? (state.direction > 0 ? "▴" : "▾") : "";
    return el("th", { scope: "col", role: "columnheader", class: "col-" + heading.key, "aria-sort": sorted ? direction : null },
      el("button", { type: "button", class: "sort", "data-key": heading.key, on: { click: () => sortBy(heading) } },
        heading.title, el("span", { class: "arrow", "aria-hidden": "true", text: arrow })));
  });
  document.querySelector("#rows thead tr").replaceChildren(...cells);
}

function sortBy(heading) {
  if (state.sort === heading.key) state.direction = -state.direction;
  else Object.assign(state, { sort: heading.key, direction: heading.first || 1 });
  state.page = 0;
  drawHeadings();
  drawRows();
  document.querySelector(`#rows .sort[data-key=${heading.key}]`).focus();
}

function evidenceBar(row) {
  const bar = el("span", { class: "meter" }, el("span", { class: "meter-fill" }));
  bar.firstChild.style.width = `${(100 * row.evidence) / (data.rows[0].evidence || 1)}%`;
  return el("span", { class: "evidence" }, bar, el("span", { text: row.evidence.toFixed(1) }));
}

function rowCells(row) {
  const open = state.open === row.row;
  const button = el("button", {
    type: "button", class: "opener", "aria-expanded": String(open), "aria-controls": open ? "detail-" + row.row : null,
    on: { click: () => toggle(row) },
  }, el("span", { class: "chevron", "aria-hidden": "true" }), el("span", { text: row.label }));
  const onRow = (event) => {
    if (!event.target.closest("button") && !String(getSelection())) toggle(row);
  };
  // The roles stay when a narrow screen turns rows into cards, which takes them from the elements.
  const cell = (key, attributes, ...children) => el("td", { role: "cell", class: "col-" + key, ...attributes }, ...children);
  const kind = el("span", { class: row.association ? "badge association" : "badge", text: kindText(row) });
  const why = el("span", { class: "clamp", text: mainReason(row) });
  const classes = (open ? "opened" : "") + (row.flagged ? " flagged" : "");
  return el("tr", { id: "row-" + row.row, role: "row", class: classes, on: { click: onRow } },
    el("th", { scope: "row", role: "rowheader", class: "col-label" }, button),
    cell("score", { text: formatScore(row.score) }),
    cell("evidence", {}, evidenceBar(row)),
    cell("kind", {}, kind),
    cell("column", { text: mainColumn(row) }),
    cell("why", {}, why));
}

function drawRows() {
  const found = selectedRows();
  const pages = Math.max(1, Math.ceil(found.length / state.size));
  state.page = Math.min(state.page, pages - 1);
  const visible = found.slice(state.page * state.size, (state.page + 1) * state.size);
  const lines = visible.flatMap((row) => (state.open === row.row ? [rowCells(row), detailLine(row)] : [rowCells(row)]));
  const empty = el("tr", {}, el("td", { colspan: HEADINGS.length, class: "empty", text: "No row matches." }));
  document.querySelector("#rows tbody").replaceChildren(...(lines.length ? lines : [empty]));
  const filtered = found.length === data.rows.length ? "" : ` of ${data.rows.length.toLocaleString("en")}`;
  byId("count").textContent = `${found.length.toLocaleString("en")}${filtered} ${found.length === 1 && !filtered ? "row" : "rows"}`;
  drawPager(pages);
}

function detailLine(row) {
  return el("tr", { id: "detail-" + row.row, role: "row", class: "detail-line" }, el("td", { role: "cell", colspan: HEADINGS.length }, detail(row)));
}

function toggle(row) {
  const opening = state.open !== row.row;
  const before = state.open === null ? null : byId("row-" + state.open);
  if (before) {
    before.nextElementSibling.remove();
    before.classList.remove("opened");
    const closing = before.querySelector(".opener");
    closing.setAttribute("aria-expanded", "false");
    closing.removeAttribute("aria-controls");
  }
  state.open = opening ? row.row : null;
  remember(opening ? "#row-" + row.row : "#anomalies");
  if (!opening) return;
  const line = byId("row-" + row.row);
  line.classList.add("opened");
  line.after(detailLine(row));
  const opener = line.querySelector(".opener");
  opener.setAttribute("aria-expanded", "true");
  opener.setAttribute("aria-controls", "detail-" + row.row);
}

function remember(fragment) {
  try {
    history.replaceState(null, "", fragment);
  } catch {
    // A page inside a notebook has no address of its own; the row opens all the same.
  }
}

function drawPager(pages) {
  const pager = byId("pager");
  const step = (text, label, by) => el("button", {
    type: "button", class: "button", text, "aria-label": label, "data-step": by,
    disabled: state.page + by < 0 || state.page + by >= pages, on: { click: () => turn(by) },
  });
  const sizes = el("select", { "aria-label": "Rows per page", on: { change: (event) => resize(Number(event.target.value)) } },
    ...[25, 50, 100, 500].map((size) => el("option", { value: size, text: `${size} per page`, selected: size === state.size })));
  pager.replaceChildren(
    step("‹ Previous", "Previous page", -1),
    el("span", { text: `Page ${state.page + 1} of ${pages}` }),
    step("Next ›", "Next page", 1), sizes);
  pager.hidden = pages === 1 && state.size === 25;
}

function turn(by) {
  state.page += by;
  drawRows();
  byId("anomalies").scrollIntoView();
  const again = document.querySelector(`#pager [data-step="${by}"]`);
  (again.disabled ? document.querySelector("#rows .opener") : again).focus({ preventScroll: true });
}

function resize(size) {
  Object.assign(state, { size, page: 0 });
  drawRows();
  document.querySelector("#pager select").focus();
}
