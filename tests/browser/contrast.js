// Lists the texts of a page whose contrast with what lies under them is below 4.5.
() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgb = (colour, under) => {
    canvas.fillStyle = `rgb(${under})`; canvas.fillRect(0, 0, 1, 1);
    canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (c) => {
    const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = c.map(v => linear(v / 255));
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const ground = (node) => {
    const chain = [];
    for (let n = node; n; n = n.parentElement) chain.unshift(getComputedStyle(n).backgroundColor);
    return chain.reduce((under, colour) => rgb(colour, under), [255, 255, 255]);
  };
  const bad = [];
  for (const node of document.querySelectorAll("body *:not(script):not(option)")) {
    const own = [...node.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || !node.checkVisibility() || node.disabled || node.closest(".quiet, .skip, .toast")) continue;
    const style = getComputedStyle(node);
    const under = ground(node);
    const ink = rgb(node.namespaceURI.includes("svg") ? style.fill : style.color, under);
    const [a, b] = [light(ink), light(under)].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < 4.5) bad.push(`${node.tagName} ${node.className.baseVal ?? node.className} ${ratio.toFixed(2)} ${node.textContent.slice(0, 30)}`);
  }
  return bad;
}
