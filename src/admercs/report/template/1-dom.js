// Building blocks: elements, numbers and words. Text from the table only ever passes through
// textContent or setAttribute with a fixed name, so no cell value can become markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "text") node.textContent = value;
    else if (name === "on") for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  for (const child of children) if (child !== null && child !== undefined) node.append(child);
  return node;
}

function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function byId(id) {
  return document.getElementById(id);
}

function count(number, one, many) {
  return number.toLocaleString("en") + " " + (number === 1 ? one : many || one + "s");
}

function percent(share) {
  const value = 100 * share;
  if (value > 0 && value < 0.1) return "<0.1%";
  return (value < 10 && value > 0 ? Number(value.toFixed(1)) : Math.round(value)) + "%";
}

// As sentences write it: 0.98 stays 0.98, but 0.99996 must not read as 1.00.
function formatScore(score) {
  if (score > 0.9999) return "> 0.9999";
  if (score < 0.99) return score.toFixed(2);
  const scale = score < 0.999 ? 1000 : 10000;
  return String(Math.floor(score * scale) / scale);
}

// A sentence; its dates are kept from being broken at their hyphens.
function sentence(text) {
  const parts = text.split(/(\d{4}-\d\d-\d\d)/);
  return parts.map((part, k) => (k % 2 ? el("span", { class: "date", text: part }) : part));
}

function shorten(text, length) {
  return text.length > length ? text.slice(0, length - 1) + "…" : text;
}

function toast(message) {
  const box = byId("toast");
  box.textContent = message;
  box.classList.add("visible");
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => box.classList.remove("visible"), 2500);
}

async function copyText(text, message) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without permission (an old browser, a page inside a notebook) the selection still can be copied.
    const area = el("textarea", { class: "quiet", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    if (!copied) return toast("Could not copy: the browser does not allow it here");
  }
  toast(message);
}

function download(name, type, text) {
  const link = el("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
