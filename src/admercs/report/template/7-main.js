// Wiring: controls, keys and the address bar.

const FILTERS = { search: "query", "filter-column": "column", "filter-kind": "kind", "filter-context": "context" };

function options(select, first, choices) {
  select.append(el("option", { value: "", text: first }), ...choices.map(([value, text]) => el("option", { value, text: shorten(text, 90) })));
}

function drawFilters() {
  const involved = new Set(data.rows.flatMap((row) => row.reasons.flatMap((reason) => reason.columns)));
  const inside = new Set(data.rows.flatMap((row) => row.contexts));
  options(byId("filter-column"), "any", data.columns.map((column, k) => [k, column.name]).filter(([k]) => involved.has(k)));
  options(byId("filter-kind"), "any", [["pattern", "on its own"], ["association", "by association"]]);
  options(byId("filter-context"), "any", data.contexts.map((context, k) => [k, context.text]).filter(([k]) => inside.has(k)));
}

function applyFilters() {
  for (const [id, field] of Object.entries(FILTERS)) state[field] = byId(id).value;
  state.page = 0;
  drawRows();
}

function clearFilters() {
  byId("filters").reset();
  applyFilters();
}

function showContext(k) {
  byId("filters").reset();
  byId("filter-context").value = String(k);
  applyFilters();
  byId("anomalies").scrollIntoView();
  byId("filter-context").focus({ preventScroll: true });
}

function followFragment() {
  const wanted = /^#row-(\d+)$/.exec(location.hash);
  if (!wanted) return;
  const row = data.rows.find((candidate) => candidate.row === Number(wanted[1]));
  if (!row) return toast(`Row ${wanted[1]} is not among the rows listed here`);
  if (!selectedRows().includes(row)) clearFilters();
  state.page = Math.floor(selectedRows().indexOf(row) / state.size);
  state.open = row.row;
  drawRows();
  const line = byId("row-" + row.row);
  line.scrollIntoView({ block: "start" });
  line.querySelector(".opener").focus({ preventScroll: true });
}

function onKey(event) {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    byId("search").focus();
  } else if (event.key === "Escape" && !typing && state.open !== null) {
    const row = data.rows.find((candidate) => candidate.row === state.open);
    const line = byId("row-" + row.row);
    if (!line) return;
    toggle(row);
    line.querySelector(".opener").focus();
  } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && event.target.classList.contains("opener")) {
    event.preventDefault();
    const all = [...document.querySelectorAll("#rows .opener")];
    const next = all[all.indexOf(event.target) + (event.key === "ArrowDown" ? 1 : -1)];
    if (next) next.focus();
  }
}

function start() {
  drawOverview();
  drawFindings();
  drawFilters();
  drawHeadings();
  drawRows();
  drawValues();
  drawContexts();
  drawPatterns();
  drawColumns();
  byId("filters").addEventListener("input", applyFilters);
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("clear").addEventListener("click", clearFilters);
  byId("download").addEventListener("click", () => download("flagged-rows.csv", "text/csv;charset=utf-8", "\ufeff" + flaggedCsv()));
  document.addEventListener("keydown", onKey);
  window.addEventListener("hashchange", followFragment);
  followFragment();
}

const data = JSON.parse(byId("report-data").textContent);
start();
