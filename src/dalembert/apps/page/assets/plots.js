// Lines over time, and a phase portrait: canvases with axes, drawn anew as often as they are told to.
function roundTicks(low, high, most) {
  const rough = (high - low) / most, ten = 10 ** Math.floor(Math.log10(rough)), step = ten * [1, 2, 5, 10].find((k) => k * ten >= rough);
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) ticks.push(k * step);
  return { ticks, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
}

// A figure with a title and an empty canvas; draw(curves, x, y): curves of points, x and y the ranges, null for
// what they fill, but no less than `least`.
function makeChart(where, title, label, least) {
  const figure = make("figure", "", where, { class: "chart" });
  const caption = make("figcaption", title, figure), canvas = make("canvas", "", figure, { role: "img", "aria-label": label });
  const range = (curves, k) => {
    let low = Infinity, high = -Infinity;
    for (const c of curves) for (const v of c[k]) { if (v < low) low = v; if (v > high) high = v; }
    if (!(high >= low)) return [-1, 1];
    const wide = Math.max(high - low, 0.02 * Math.max(Math.abs(low), Math.abs(high)), least);
    return [(low + high - 1.1 * wide) / 2, (low + high + 1.1 * wide) / 2];
  };
  const draw = (curves, x, y, units) => {
    const dense = Math.min(devicePixelRatio || 1, 2), w = canvas.clientWidth, h = canvas.clientHeight;
    if (!w || !h) return;
    if (canvas.width !== Math.round(w * dense)) canvas.width = Math.round(w * dense);
    if (canvas.height !== Math.round(h * dense)) canvas.height = Math.round(h * dense);
    const pen = canvas.getContext("2d"), look = getComputedStyle(canvas), color = (name) => look.getPropertyValue(name);
    const [x0, x1] = x || range(curves, "x"), [y0, y1] = y || range(curves, "y");
    const left = 46, right = 8, top = 6, bottom = 30, across = (v) => left + (v - x0) / (x1 - x0) * (w - left - right), up = (v) => h - bottom - (v - y0) / (y1 - y0) * (h - top - bottom);
    pen.setTransform(dense, 0, 0, dense, 0, 0);
    pen.clearRect(0, 0, w, h);
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = color("--soft"); pen.strokeStyle = color("--grid"); pen.lineWidth = 1;
    const rows = roundTicks(y0, y1, Math.max(2, (h - top - bottom) / 24)), columns = roundTicks(x0, x1, Math.max(2, (w - left - right) / 48));
    pen.beginPath();
    pen.textAlign = "right"; pen.textBaseline = "middle";
    for (const v of rows.ticks) { pen.moveTo(left, up(v)); pen.lineTo(w - right, up(v)); pen.fillText(v.toFixed(rows.digits), left - 6, up(v)); }
    pen.textAlign = "center"; pen.textBaseline = "top";
    for (const v of columns.ticks) { pen.moveTo(across(v), top); pen.lineTo(across(v), h - bottom); pen.fillText(v.toFixed(columns.digits), across(v), h - bottom + 4); }
    pen.stroke();
    pen.textAlign = "right"; pen.fillStyle = color("--faint"); pen.fillText(units, w - right, h - 12);
    pen.save();
    pen.beginPath(); pen.rect(left, top, w - left - right, h - top - bottom); pen.clip();
    pen.lineJoin = "round";
    for (const c of curves) {
      pen.strokeStyle = color(c.color); pen.lineWidth = c.thin ? 1 : 1.6; pen.setLineDash(c.thin ? [4, 3] : []);
      pen.beginPath();
      c.x.forEach((v, k) => { if (k) pen.lineTo(across(v), up(c.y[k])); else pen.moveTo(across(v), up(c.y[k])); });
      pen.stroke();
      if (c.dot && c.x.length) { pen.fillStyle = color(c.color); pen.beginPath(); pen.arc(across(c.x.at(-1)), up(c.y.at(-1)), 3.5, 0, 7); pen.fill(); }
    }
    pen.restore();
  };
  return { figure, caption, draw };
}
