// One row, opened: its reasons in words and pictures, its values, and ways to pass it on.

const LONG_TEXT = 120; // characters of a value that are shown at first

function reasonPlot(reason) {
  if (reason.kind === "context") return contextFigure(data.contexts[reason.context]);
  if (["isolation", "neighbours"].includes(reason.kind)) return null; // its text says all
  const column = data.columns[reason.target];
  const context = data.distributions[reason.distribution];
  if (!column || !context || !column.distribution) return null;
  const label = `Distribution of ${column.name} among ${count(context.n, "comparable row")}. ${reason.text}`;
  const missing = reason.value === null;
  let picture;
  if (reason.presence) {
    const recorded = (part) => 1 - part.missing;
    picture = barsPlot([
      { label: "recorded", context: recorded(context), table: recorded(column.distribution), own: !missing },
      { label: "missing", context: context.missing, table: column.distribution.missing, own: missing },
    ], label, context.whole);
  } else if (context.kind === "curve") {
    picture = curvePlot(column, context, reason.typical, reason.mark, reason.value, label);
  } else {
    picture = barsPlot(barRows(column, context, missing ? "missing" : reason.mark, reason.value), label, context.whole);
  }
  return el("figure", { class: "reason-plot" }, picture, plotCaption(column, context, reason.presence));
}

function key(kind, text) {
  return el("span", { class: "key" }, el("span", { class: "swatch " + kind, "aria-hidden": "true" }), text);
}

function plotCaption(column, context, presence) {
  const whole = context.whole === true;
  return el("figcaption", {},
    el("strong", { text: column.name }), " ",
    whole ? null : key("table", "whole table"),
    key("context", whole ? `all ${count(context.n, "row")}` : count(context.n, "comparable row")),
    context.kind === "curve" && !presence ? key("typical", "typical") : null,
    key("own", "this row"));
}

function contextFigure(context) {
  if (!context || !context.counts) return null;
  const label = `Evidence against the ${count(context.n_here, "row")} of this context, compared with the whole table`;
  return el("figure", { class: "reason-plot" },
    evidencePlot(data.histogram, context.counts, data.threshold.evidence, label),
    el("figcaption", {}, el("strong", { text: "evidence per row" }), " ",
      key("table", "whole table"), key("context flagged", count(context.n_here, "row") + " of this context")));
}

function reasonItem(reason) {
  const share = percent(reason.share);
  const text = el("div", { class: "reason-text" },
    el("p", {}, ...sentence(reason.text)),
    el("p", { class: "share" },
      el("span", { class: "meter", "aria-hidden": "true" }, el("span", { class: "meter-fill" })),
      el("span", { text: `${share} of the evidence` })),
    reason.context === null || reason.context === undefined ? null : el("button", {
      type: "button", class: "link", text: "Show only rows of this context",
      on: { click: () => showContext(reason.context) },
    }));
  if (["isolation", "neighbours"].includes(reason.kind)) text.append(neighbourList(reason.neighbours));
  text.querySelector(".meter-fill").style.width = `${Math.min(100, 100 * reason.share)}%`;
  return el("li", { class: "reason" }, text, reasonPlot(reason));
}

// The rows that a row is most like; those that are listed here can be opened.
function neighbourList(labels) {
  return el("ul", { class: "similar" }, ...labels.map((label) => {
    const listed = data.rows.find((row) => row.label === label || `row ${row.row}` === label);
    return el("li", {}, listed ? el("a", { href: "#row-" + listed.row, text: label }) : label);
  }));
}

// A value as the table has it, but for yes and no; a long text opens to its full length.
function valueText(column, value) {
  if (value === null) return ["missing"];
  if (column.kind === "yes / no") return [{ true: "yes", false: "no" }[value] ?? value];
  if (value.length <= LONG_TEXT) return [value];
  return [el("details", {}, el("summary", { text: shorten(value, LONG_TEXT) }), el("p", { class: "full", text: value }))];
}

function valuesList(row) {
  const total = row.evidence || 1;
  return el("dl", { class: "values" }, ...data.columns.map((column, k) => {
    const share = (row.cells[k] || 0) / total;
    const tinted = share >= 0.02;
    const cell = el("div", { class: tinted ? "cell tinted" : "cell" },
      el("dt", { text: column.name }),
      el("dd", { class: row.values[k] === null ? "absent" : null }, ...valueText(column, row.values[k])),
      tinted ? el("span", { class: "cell-share", text: percent(share), title: "of the evidence" },
        el("span", { class: "quiet", text: " of the evidence" })) : null);
    if (tinted) cell.style.setProperty("--tint", `${Math.round(8 + 42 * Math.min(1, share))}%`);
    return cell;
  }));
}

function kindText(row) {
  return row.association ? "by association" : "on its own";
}

function rowHeadline(row) {
  return `score ${formatScore(row.score)}, ${row.standing}`;
}

function rowText(row) {
  const lines = [`${row.label}   ${rowHeadline(row)}${row.association ? ", by association" : ""}`];
  if (row.repair) lines.push(`  ${row.repair}`);
  row.reasons.forEach((reason, k) => lines.push(`  ${k + 1}. ${reason.text} (${percent(reason.share)} of the evidence)`));
  if (row.rest > 0.0005) lines.push(`  The rest, each less: ${percent(row.rest)} of the evidence`);
  return lines.join("\n");
}

function rowLink(row) {
  return location.href.split("#")[0] + "#row-" + row.row;
}

function detail(row) {
  const actions = el("p", { class: "actions" },
    el("button", { type: "button", class: "button", text: "Copy explanation", on: { click: () => copyText(rowText(row), "Explanation copied") } }),
    el("button", { type: "button", class: "button", text: "Copy link", on: { click: () => copyText(rowLink(row), "Link copied") } }));
  return el("div", { class: "detail", role: "region", "aria-label": `Reasons for ${row.label}` },
    el("div", { class: "detail-head" },
      el("h3", {}, el("span", { text: row.label }), " ", el("small", { text: rowHeadline(row) })), actions),
    row.association ? el("p", { class: "muted", text: "It stands out mainly because of the rows it belongs with, less by its own values." }) : null,
    row.repair ? el("p", { class: "repair", text: row.repair }) : null,
    row.reasons.length ? el("ol", { class: "reasons" }, ...row.reasons.map(reasonItem)) : el("p", { class: "muted", text: "Nothing is unusual about this row." }),
    row.rest > 0.0005 ? el("p", { class: "muted small", text: `Smaller reasons, not listed: ${percent(row.rest)} of the evidence.` }) : null,
    el("h4", { text: "All values of this row" }),
    valuesList(row));
}
