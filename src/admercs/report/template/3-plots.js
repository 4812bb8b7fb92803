// The plots, drawn from numbers that are already in the data: nothing is estimated here.

const PLOT = { width: 380, height: 150, left: 10, right: 10, top: 22, bottom: 24 };

function frame(label, height, width) {
  return svg("svg", {
    viewBox: `0 0 ${width || PLOT.width} ${height || PLOT.height}`, class: "plot", role: "img", "aria-label": label,
  });
}

function scale(low, high, from, to) {
  const factor = (to - from) / (high - low || 1);
  return (value) => from + (value - low) * factor;
}

function svgText(x, y, content, attributes) {
  return svg("text", { x: x.toFixed(1), y: y.toFixed(1), text: content, ...attributes });
}

// Keep a centred label inside the drawing.
function anchor(x, content, width) {
  const half = content.length * 3.2;
  const right = (width || PLOT.width) - 2;
  if (x - half < 2) return ["start", 2];
  if (x + half > right) return ["end", right];
  return ["middle", x];
}

function drawAxis(target, axis, x, low, high, baseline) {
  target.append(svg("line", { x1: x(low), x2: x(high), y1: baseline, y2: baseline, class: "axis" }));
  for (const [value, label] of axisTicks(axis, low, high, axis === "time" ? 4 : 5)) {
    const [align, at] = anchor(x(value), label, x(high) + PLOT.right);
    target.append(svg("line", { x1: x(value), x2: x(value), y1: baseline, y2: baseline + 4, class: "axis" }));
    target.append(svgText(at, baseline + 16, label, { class: "tick", "text-anchor": align }));
  }
}

function curvePoints(curve) {
  return curve.y.map((height, k) => [curve.start + k * curve.step, height / 100]);
}

function interpolate(points, at) {
  const after = points.findIndex(([x]) => x >= at);
  if (after <= 0) return after === 0 && points[0][0] === at ? points[0][1] : 0;
  const [x0, y0] = points[after - 1];
  const [x1, y1] = points[after];
  return y0 + ((y1 - y0) * (at - x0)) / (x1 - x0 || 1);
}

function area(points, x, y) {
  if (!points.length) return "";
  const line = points.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join("L");
  return `M${x(points[0][0]).toFixed(1)},${y(0)}L${line}L${x(points.at(-1)[0]).toFixed(1)},${y(0)}Z`;
}

// The part of a curve between two places; beyond its own ends there is nothing.
function stretch(points, from, to) {
  if (!points.length || to < points[0][0] || from > points.at(-1)[0]) return [];
  const [low, high] = [Math.max(from, points[0][0]), Math.min(to, points.at(-1)[0])];
  const inside = points.filter(([x]) => x > low && x < high);
  return [[low, interpolate(points, low)], ...inside, [high, interpolate(points, high)]];
}

function extent(curves) {
  const ends = curves.flatMap((curve) => [curve.start, curve.start + curve.step * (curve.y.length - 1)]);
  return [Math.min(...ends), Math.max(...ends)];
}

// The axis covers both distributions and reaches out to the row's value unless that is so far away
// that nothing else could be seen; then the value is shown at the edge with an arrow. A long tail of
// the whole table is cut where it would squeeze the comparable rows into a corner.
function curveRange(table, context, mark) {
  let [low, high] = extent([table, context].filter((curve) => curve.y.length));
  let [near, far] = context.y.length ? extent([context]) : [low, high];
  const span = high - low || Math.abs(low) || 1;
  if (mark !== null && mark > low - 1.5 * span && mark < high + 1.5 * span) {
    [near, far] = [Math.min(near, mark), Math.max(far, mark)];
    [low, high] = [Math.min(low, near - 0.02 * span), Math.max(high, far + 0.02 * span)];
  }
  const room = 2 * (far - near);
  if (room > 0 && high - low > 3 * room) [low, high] = [Math.max(low, near - room), Math.min(high, far + room)];
  return high > low ? [low, high] : [low - span / 2, high + span / 2];
}

function drawMark(target, x, low, high, mark, label, baseline) {
  const beyond = mark < low ? "← " : mark > high ? "→ " : "";
  const at = x(Math.min(high, Math.max(low, mark)));
  const caption = mark > high ? shorten(label, 24) + " →" : beyond + shorten(label, 24);
  const [align, textAt] = anchor(at, caption);
  target.append(svg("line", { x1: at, x2: at, y1: PLOT.top - 6, y2: baseline, class: "mark" }));
  target.append(svg("circle", { cx: at, cy: baseline, r: 3.5, class: "mark-dot" }));
  target.append(svgText(textAt, PLOT.top - 10, caption, { class: "mark-label", "text-anchor": align }));
}

function curvePlot(column, context, typical, mark, valueText, label) {
  const [low, high] = curveRange(column.distribution, context, mark);
  const baseline = PLOT.height - PLOT.bottom;
  const x = scale(low, high, PLOT.left, PLOT.width - PLOT.right);
  const heights = (part) => (height) => baseline - height * part * (baseline - PLOT.top);
  const picture = frame(label);
  if (!context.whole) {
    picture.append(svg("path", { d: area(stretch(curvePoints(column.distribution), low, high), x, heights(0.6)), class: "table-area" }));
  }
  const points = stretch(curvePoints(context), low, high);
  picture.append(svg("path", { d: area(points, x, heights(1)), class: "context-area" }));
  for (const [from, to] of typical || []) {
    const [a, b] = [Math.max(low, from), Math.min(high, to)];
    if (!(b >= a)) continue;
    picture.append(svg("path", { d: area(stretch(points, a, b), x, heights(1)), class: "typical-area" }));
    picture.append(svg("line", { x1: x(a), x2: x(b) + 0.5, y1: baseline + 1.5, y2: baseline + 1.5, class: "typical-line" }));
  }
  drawAxis(picture, column.axis, x, low, high, baseline);
  if (mark !== null && mark !== undefined) drawMark(picture, x, low, high, mark, valueText, baseline);
  return picture;
}

// Bars: the most frequent values of the context, the row's own value, and the rest in one bar.
function barRows(column, context, own, ownText) {
  const table = column.distribution;
  const shares = new Map(context.shares);
  const codes = context.shares.slice(0, 5).map(([code]) => code);
  if (own !== null && own !== undefined && !codes.includes(own)) codes.push(own);
  for (let code = 0; code < table.labels.length && codes.length < 6; code += 1) {
    if (!codes.includes(code)) codes.push(code);
  }
  const left = table.labels.map((_, code) => code).filter((code) => !codes.includes(code));
  if (left.length === 1) codes.push(left.pop());
  if (table.ordered) codes.sort((a, b) => a - b);
  const rows = codes.map((code) => ({
    label: code === own ? ownText : table.labels[code], context: shares.get(code) || 0,
    table: table.shares[code] || 0, own: code === own,
  }));
  if (left.length) {
    const rest = (all, part) => Math.max(0, all - rows.reduce((sum, row) => sum + row[part], 0));
    rows.push({
      label: count(left.length, "other"), own: false,
      context: rest(1, "context"), table: rest(1, "table"),
    });
  }
  if (context.missing > 0 || own === "missing") {
    rows.push({ label: "missing", context: context.missing, table: table.missing, own: own === "missing" });
  }
  return rows;
}

function barsPlot(rows, label, single) {
  const pitch = single ? 20 : 24;
  const picture = frame(label, rows.length * pitch + 6);
  const x = scale(0, 1, 128, PLOT.width - 52);
  rows.forEach((row, k) => {
    const top = k * pitch + 4;
    const own = row.own ? " own" : "";
    picture.append(svgText(120, top + 12, shorten(row.label, 18), { class: "bar-label" + own, "text-anchor": "end" }));
    picture.append(svg("rect", { x: x(0), y: top + 2, width: Math.max(1, x(row.context) - x(0)), height: 10, class: "context-bar" + own }));
    if (!single) picture.append(svg("rect", { x: x(0), y: top + 13, width: Math.max(1, x(row.table) - x(0)), height: 4, class: "table-bar" }));
    picture.append(svgText(x(row.context) + 5, top + 11, percent(row.context) + (row.own ? " ◂" : ""), { class: "bar-label" + own }));
  });
  return picture;
}

// How anomalous rows are: evidence from left to right, heights on a log scale so that few rows stay visible.
function evidencePlot(histogram, members, threshold, label, wanted) {
  const edges = histogram.edges;
  const baseline = PLOT.height - PLOT.bottom;
  // As wide as the place it is for, so that its letters are as large as everyone else's.
  const width = Math.min(760, Math.max(PLOT.width - 80, wanted || PLOT.width));
  const x = scale(edges[0], edges.at(-1), PLOT.left, width - PLOT.right);
  const picture = frame(label, PLOT.height, width);
  const draw = (counts, kind) => {
    const top = Math.log1p(Math.max(1, ...counts));
    counts.forEach((number, k) => {
      if (!number) return;
      const height = (Math.log1p(number) / top) * (baseline - PLOT.top) * (kind === "table-bar" && members ? 0.7 : 1);
      const flagged = kind !== "table-bar" || (!members && edges[k] >= threshold - 1e-9) ? " flagged" : "";
      picture.append(svg("rect", {
        x: x(edges[k]) + 0.5, y: baseline - height, height,
        width: Math.max(1, x(edges[k + 1]) - x(edges[k]) - 1), class: kind + flagged,
      }));
    });
  };
  draw(histogram.counts, "table-bar");
  if (members) draw(members, "context-bar");
  drawAxis(picture, "number", x, edges[0], edges.at(-1), baseline);
  if (threshold < edges.at(-1)) {
    const [align, at] = anchor(x(threshold), "threshold", width);
    picture.append(svg("line", { x1: x(threshold), x2: x(threshold), y1: PLOT.top - 6, y2: baseline, class: "threshold" }));
    picture.append(svgText(at, PLOT.top - 10, "threshold", { class: "tick", "text-anchor": align }));
  }
  return picture;
}
