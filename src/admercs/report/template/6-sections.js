// The parts around the table: figures, contexts, patterns and columns.

function figure(value, text) {
  return el("div", {}, el("dt", { text }), el("dd", { text: value }));
}

function drawOverview() {
  byId("title").textContent = data.name;
  byId("subtitle").textContent = `${count(data.n_rows, "row")}, ${count(data.n_columns, "column")} · ${data.created.slice(0, 10)}`;
  const used = data.columns.filter((column) => column.role !== "set aside").length;
  byId("figures").append(
    figure(data.n_flagged.toLocaleString("en"), data.n_flagged === 1 ? "row flagged" : "rows flagged"),
    figure(percent(data.n_flagged / Math.max(1, data.n_rows)), "of the table"),
    figure(data.threshold.evidence.toFixed(1), `threshold on the evidence (score ${formatScore(data.threshold.score)})`),
    figure(`${used} / ${data.columns.length}`, "columns used"));
  const label = `Distribution of the evidence over ${count(data.n_rows, "row")}; ${count(data.n_flagged, "row")} above the threshold`;
  byId("scores").append(
    el("figcaption", {}, el("strong", { text: "Evidence against each row" }), "number of rows, on a log scale"),
    evidencePlot(data.histogram, null, data.threshold.evidence, label, byId("scores").clientWidth - 38),
    el("figcaption", { text: data.threshold.meaning }));
  const unlisted = data.n_flagged - data.rows.filter((row) => row.flagged).length;
  byId("anomalies-note").textContent =
    `The ${count(data.rows.length, "most anomalous row")}, ${data.rows.filter((row) => row.flagged).length} of them flagged.` +
    (unlisted > 0 ? ` ${count(unlisted, "further flagged row")} not listed here.` : "") +
    (data.n_suspicious > 0 ? ` ${count(data.n_suspicious, "more row looks", "more rows look")} suspicious: ` +
      `evidence above ${data.threshold.suspicious.toFixed(1)}.` : "");
  byId("download").disabled = !data.rows.some((row) => row.flagged);
  byId("colophon").textContent = `Made by ${data.generator} on ${data.created.replace("T", " ").slice(0, 16)} UTC. This page is complete in itself and loads nothing from the network.`;
}

function drawValues() {
  const lines = data.values.map((value) => {
    const listed = data.rows.find((row) => row.label === value.label);
    const label = listed ? el("a", { href: "#row-" + listed.row, text: value.label }) : value.label;
    return el("tr", {},
      el("th", { scope: "row" }, label),
      el("td", { text: data.columns[value.column].name }),
      el("td", { class: "odd", text: shorten(value.value, 60) }),
      el("td", { class: "expected" }, shorten(value.expected, 80), value.slip ? el("small", { class: "muted", text: ` ${value.slip}` }) : null),
      el("td", {}, ...sentence(value.text)));
  });
  const none = el("tr", {}, el("td", { colspan: 5, text: "None: no value of this table is odd for its row." }));
  document.querySelector("#value-table tbody").append(...(lines.length ? lines : [none]));
}

function contextCard(context, k) {
  const members = context.members.slice(0, 12).map((member) => {
    const listed = data.rows.find((row) => row.row === member.row);
    return listed ? el("a", { href: "#row-" + member.row, text: member.label }) : el("span", { text: member.label });
  });
  const more = context.n_here - members.length;
  const list = el("p", { class: "members" }, el("span", { class: "muted", text: "Members: " }));
  members.forEach((member, i) => list.append(i ? ", " : "", member));
  if (more > 0) list.append(` and ${more.toLocaleString("en")} more`);
  const listed = data.rows.some((row) => row.contexts.includes(k));
  return el("article", { class: "card", id: "context-" + k },
    el("div", {},
      el("h3", {}, ...sentence(context.text)),
      el("p", { class: "muted", text: `score ${formatScore(context.score)} · ${count(context.n_here, "row")} here` }),
      members.length ? list : null,
      listed ? el("button", { type: "button", class: "button", text: "Show these rows", on: { click: () => showContext(k) } }) : null),
    contextFigure(context));
}

function drawContexts() {
  const cards = data.contexts.map((context, k) => (context.shown ? contextCard(context, k) : null)).filter(Boolean);
  const none = el("p", { text: "None: every anomaly in this table stands for itself." });
  byId("context-list").append(...(cards.length ? cards : [none]));
}

function drawPatterns() {
  const items = data.patterns.map((pattern) => el("li", {}, ...sentence(pattern.text)));
  const none = el("li", { text: "No column depends noticeably on the others; rows were scored value by value." });
  byId("pattern-list").append(...(items.length ? items : [none]));
}

const FINDINGS_FIRST = ["exceptions", "code", "look-alike", "duplicates", "gaps", "reading"];
const FINDINGS_SHOWN = 10;

// What stands out in columns is the first thing to know of a new table.
function drawFindings() {
  const found = [...data.findings.map((finding) => ["", finding]),
    ...data.columns.flatMap((column) => column.findings.map((finding) => [column.name + ": ", finding]))];
  found.sort((one, other) => FINDINGS_FIRST.indexOf(one[1].kind) - FINDINGS_FIRST.indexOf(other[1].kind));
  const items = found.slice(0, FINDINGS_SHOWN).map(([name, finding]) =>
    el("li", {}, el("strong", { text: name }), finding.text));
  const box = byId("standing-out");
  box.hidden = !found.length;
  box.querySelector("ul").append(...items);
  const more = found.length - items.length;
  if (more > 0) box.querySelector("a").textContent = `${more} more, and all columns`;
}

function drawColumns() {
  const largest = Math.max(...data.columns.map((column) => column.evidence), 1e-9);
  const lines = data.columns.map((column) => {
    const bar = el("span", { class: "meter" }, el("span", { class: "meter-fill" }));
    bar.firstChild.style.width = `${(100 * column.evidence) / largest}%`;
    const used = column.role !== "set aside";
    return el("tr", { class: used ? null : "unused" },
      el("th", { scope: "row", text: column.name }),
      el("td", { text: column.kind }),
      el("td", { class: "num", text: column.missing ? percent(column.missing) : "none" }),
      el("td", {}, used ? el("span", { class: "evidence" }, bar, el("span", { text: percent(column.evidence) })) : "–"),
      el("td", {}, column.remark,
        ...column.findings.map((finding) => el("p", { class: "finding", text: finding.text }))));
  });
  document.querySelector("#column-table tbody").append(...lines);
  byId("column-table").closest(".table-frame").before(...data.findings.map((finding) => el("p", { class: "finding", text: finding.text })));
}

// A spreadsheet would run text such as =1+1 as a formula. An apostrophe before it keeps it text; numbers stay numbers,
// and a lone sign, which stands for nothing in many tables, stays as it is.
function guarded(text) {
  const formula = /^\s*[=+\-@＝＋－＠].*[\p{L}\p{N}]/su.test(text);
  return formula && !Number.isFinite(Number(text)) ? "'" + text : text;
}

function csvField(value) {
  const text = guarded(value === null || value === undefined ? "" : String(value));
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function flaggedCsv() {
  const lines = [["row", "score", "evidence", "kind", "reasons", ...data.columns.map((column) => column.name)]];
  for (const row of data.rows.filter((candidate) => candidate.flagged)) {
    const reasons = row.reasons.map((reason) => reason.text).join(" | ");
    lines.push([row.label, row.score, row.evidence, kindText(row), reasons, ...row.values]);
  }
  return lines.map((line) => line.map(csvField).join(",")).join("\r\n") + "\r\n";
}
