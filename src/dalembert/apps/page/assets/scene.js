// A robot in a canvas: what the report, the page and the notebook share. `grab(x, y)`, if given, is asked first what a
// pointer that goes down at (x, y) [px] takes in hand: {move(x, y), end()}, or nothing, and then the view is turned.
// `drawn` hears of each picture; `asked`, that one is wanted, and then calls draw(q) itself. Null where there is no WebGL.
function openScene(canvas, scene, { grab = () => null, drawn = () => {}, asked = null } = {}) {
  const gl = canvas.getContext("webgl", { antialias: true, alpha: true });
  if (!gl) return null; // the picture stays

  // ---- poses as 12 numbers, three rows of (R | p)
  const identity = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0];
  const times = (A, B) => {
    const C = new Array(12);
    for (let i = 0; i < 3; i++) for (let j = 0; j < 4; j++) {
      C[4 * i + j] = A[4 * i] * B[j] + A[4 * i + 1] * B[4 + j] + A[4 * i + 2] * B[8 + j] + (j === 3 ? A[4 * i + 3] : 0);
    }
    return C;
  };
  const turnedAbout = ([a, b, c], x, p) => {
    const s = Math.sin(x), k = Math.cos(x), v = 1 - k;
    return [k + a * a * v, a * b * v - c * s, a * c * v + b * s, p[0],
      a * b * v + c * s, k + b * b * v, b * c * v - a * s, p[1],
      a * c * v - b * s, b * c * v + a * s, k + c * c * v, p[2]];
  };
  const turnedBy = ([x, y, z, w], p) => { // a quaternion, of any length
    const s = 2 / (x * x + y * y + z * z + w * w);
    return [1 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w), p[0],
      s * (x * y + z * w), 1 - s * (x * x + z * z), s * (y * z - x * w), p[1],
      s * (x * z - y * w), s * (y * z + x * w), 1 - s * (x * x + y * y), p[2]];
  };
  const jointMotion = ({ slides, quaternion, axis, along, position, multiplier, offset }, q) => { // first it slides, then it turns
    const value = (k) => multiplier * q[position + k] + offset, p = [0, 1, 2].map((j) => slides.reduce((sum, d, k) => sum + d[j] * value(k), 0));
    const m = slides.length;
    if (quaternion) return turnedBy(q.slice(position + m, position + m + 4), p);
    return axis ? turnedAbout(axis, value(m), p.map((x, j) => x + along[j] * value(m))) : [1, 0, 0, p[0], 0, 1, 0, p[1], 0, 0, 1, p[2]];
  };
  const forward = (q) => {
    const out = [];
    for (const body of scene.bodies) {
      const local = times(body.placement, jointMotion(body, q));
      out.push(body.parent < 0 ? local : times(out[body.parent], local));
    }
    return out;
  };
  const rotated = (V, axis, angle) => { // V: rows; turned about a direction of the world
    const R = turnedAbout(axis, angle, [0, 0, 0]), W = new Array(9);
    for (let i = 0; i < 3; i++) for (let j = 0; j < 3; j++) {
      W[3 * i + j] = V[3 * i] * R[j] + V[3 * i + 1] * R[4 + j] + V[3 * i + 2] * R[8 + j];
    }
    return W;
  };

  // ---- solids
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
  const corners = (positions, faces) => { // corner by corner with normals, smooth where faces meet at less than 40°
    const n = faces.length / 3, flat = new Float32Array(3 * n), at = new Map();
    for (let t = 0; t < n; t++) {
      const p = [0, 1, 2].map((k) => positions.subarray(3 * faces[3 * t + k], 3 * faces[3 * t + k] + 3));
      const u = [0, 1, 2].map((k) => p[1][k] - p[0][k]), v = [0, 1, 2].map((k) => p[2][k] - p[0][k]);
      flat.set([u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]], 3 * t);
      for (let k = 0; k < 3; k++) {
        const i = faces[3 * t + k];
        if (at.has(i)) at.get(i).push(t); else at.set(i, [t]);
      }
    }
    const size = new Float32Array(n);
    for (let t = 0; t < n; t++) size[t] = Math.hypot(flat[3 * t], flat[3 * t + 1], flat[3 * t + 2]) || 1e-30;
    const out = new Float32Array(18 * n);
    for (let t = 0; t < n; t++) for (let k = 0; k < 3; k++) {
      const i = faces[3 * t + k], sum = [0, 0, 0];
      for (const o of at.get(i)) {
        const dot = (flat[3 * t] * flat[3 * o] + flat[3 * t + 1] * flat[3 * o + 1] + flat[3 * t + 2] * flat[3 * o + 2]) / (size[t] * size[o]);
        if (dot > 0.766) for (let j = 0; j < 3; j++) sum[j] += flat[3 * o + j];
      }
      const length = Math.hypot(...sum) || 1;
      out.set([positions[3 * i], positions[3 * i + 1], positions[3 * i + 2], sum[0] / length, sum[1] / length, sum[2] / length], 18 * t + 6 * k);
    }
    return out;
  };
  const loaded = (data) => {
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
    return { buffer, count: data.length / 6 };
  };
  const rgb = (text) => [1, 3, 5].map((k) => parseInt(text.slice(k, k + 2), 16) / 255);
  const parts = scene.parts.map((part) => {
    const raw = new Uint16Array(bytes(part.vertices)), positions = new Float32Array(raw.length);
    for (let i = 0; i < raw.length; i++) positions[i] = part.low[i % 3] + part.span[i % 3] * raw[i] / 65535;
    const faces = part.wide ? new Uint32Array(bytes(part.faces)) : new Uint16Array(bytes(part.faces));
    return { ...loaded(corners(positions, faces)), positions, faces, body: part.body, color: rgb(part.color) };
  });
  const turned = (profile, around = 14) => { // a profile (radius, z) turned about z
    const p = [], f = [];
    for (const [r, z] of profile) for (let k = 0; k < around; k++) {
      p.push(r * Math.cos(2 * Math.PI * k / around), r * Math.sin(2 * Math.PI * k / around), z);
    }
    for (let i = 0; i + 1 < profile.length; i++) for (let k = 0; k < around; k++) {
      const n = (k + 1) % around, a = i * around, b = a + around;
      f.push(a + k, a + n, b + n, a + k, b + n, b + k);
    }
    return loaded(corners(new Float32Array(p), f));
  };
  const L = 0.13 * scene.radius / (scene.zoom || 1), arrow = turned([[0, 0], [0.045 * L, 0], [0.045 * L, 0.78 * L], [0.12 * L, 0.78 * L], [0, L]]);
  const shapes = { // of unit size: a ball about the origin, a bar from it along z
    ball: turned(Array.from({ length: 17 }, (_, k) => [Math.sin(Math.PI * k / 16), -Math.cos(Math.PI * k / 16)]), 28),
    bar: turned([[0, 0], [1, 0], [1, 1], [0, 1]]),
  };
  const floor = () => { // lines a round number apart, across the vertical, below everything
    const u = scene.up, e = Math.abs(u[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0], along = e[0] * u[0] + e[1] * u[1];
    const a = e.map((x, k) => x - along * u[k]), size = Math.hypot(...a), x = a.map((v) => v / size);
    const y = [u[1] * x[2] - u[2] * x[1], u[2] * x[0] - u[0] * x[2], u[0] * x[1] - u[1] * x[0]];
    const ten = 10 ** Math.floor(Math.log10(scene.radius / 2)), gap = ten * [5, 2, 1].find((k) => k * ten <= scene.radius / 2);
    const data = [], half = 6;
    for (let k = -half; k <= half; k++) for (const [s, t] of [[x, y], [y, x]]) for (const end of [-half, half]) {
      data.push(...s.map((v, j) => gap * (k * v + end * t[j]) + scene.floor * u[j]), ...u);
    }
    return { ...loaded(new Float32Array(data)), lines: true };
  };
  const toAxis = [[0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0], [1, 0, 0, 0, 0, 0, 1, 0, 0, -1, 0, 0], identity];
  const axisColor = [[0.83, 0.23, 0.2], [0.2, 0.62, 0.3], [0.2, 0.4, 0.85]];

  // ---- shaders: world = pose · body point; then turned, and seen with a little perspective
  const vertex = `attribute vec3 position; attribute vec3 normal; uniform vec4 pose[3]; uniform vec3 view[3]; uniform vec3 center;
    uniform vec4 lens; varying vec3 n;
    void main() {
      vec4 p = vec4(position, 1.0); vec3 world = vec3(dot(pose[0], p), dot(pose[1], p), dot(pose[2], p)) - center;
      vec3 turned = vec3(dot(pose[0].xyz, normal), dot(pose[1].xyz, normal), dot(pose[2].xyz, normal));
      vec3 seen = vec3(dot(view[0], world), dot(view[1], world), dot(view[2], world));
      n = vec3(dot(view[0], turned), dot(view[1], turned), dot(view[2], turned));
      float w = lens.z - seen.z; gl_Position = vec4(seen.x * lens.x, seen.y * lens.y, (-seen.z / lens.w) * w, w);
    }`;
  const fragment = `precision mediump float; varying vec3 n; uniform vec4 color;
    void main() {
      vec3 u = normalize(gl_FrontFacing ? n : -n);
      float light = 0.46 + 0.5 * max(dot(u, vec3(0.35, 0.6, 0.72)), 0.0) + 0.14 * max(dot(u, vec3(-0.8, 0.1, 0.5)), 0.0);
      gl_FragColor = vec4(color.rgb * light, 1.0) * color.a;
    }`;
  const program = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text); gl.compileShader(shader); gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return null;
  gl.useProgram(program);
  const uniform = (name) => gl.getUniformLocation(program, name);
  const at = { pose: uniform("pose"), view: uniform("view"), center: uniform("center"), lens: uniform("lens"), color: uniform("color") };
  const position = gl.getAttribLocation(program, "position"), normal = gl.getAttribLocation(program, "normal");
  gl.enableVertexAttribArray(position); gl.enableVertexAttribArray(normal);
  gl.enable(gl.DEPTH_TEST); gl.enable(gl.BLEND); gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);

  // ---- state
  const state = { q: scene.start.slice(), V: scene.view.slice(), zoom: scene.zoom || 1, center: scene.center.slice(), frames: false, centers: false, marks: [] };
  const grid = scene.floor === undefined ? null : floor();
  let wanted = false, T = [], known = null;
  const lineColor = () => { // looked up twice a second: it changes with the light
    const now = performance.now();
    if (!known || now - known.at > 500) known = { at: now, color: rgb(getComputedStyle(canvas).getPropertyValue("--line").trim() || "#9aa1ad") };
    return known.color;
  };
  const ask = asked || (() => { if (!wanted) { wanted = true; requestAnimationFrame(draw); } });
  const one = (mesh, pose, color, alpha) => {
    gl.bindBuffer(gl.ARRAY_BUFFER, mesh.buffer);
    gl.vertexAttribPointer(position, 3, gl.FLOAT, false, 24, 0);
    gl.vertexAttribPointer(normal, 3, gl.FLOAT, false, 24, 12);
    gl.uniform4fv(at.pose, pose);
    gl.uniform4f(at.color, ...color, alpha);
    gl.drawArrays(mesh.lines ? gl.LINES : gl.TRIANGLES, 0, mesh.count);
  };
  const poseOf = (body) => (body < 0 ? identity : T[body]);
  const ballAt = (p, r) => [r, 0, 0, p[0], 0, r, 0, p[1], 0, 0, r, p[2]];
  const barBetween = (a, b, r) => {
    const d = [0, 1, 2].map((k) => b[k] - a[k]), length = Math.hypot(...d) || 1e-9, z = d.map((x) => x / length);
    const e = Math.abs(z[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0];
    const x = [z[1] * e[2] - z[2] * e[1], z[2] * e[0] - z[0] * e[2], z[0] * e[1] - z[1] * e[0]], s = Math.hypot(...x);
    const y = [z[1] * x[2] - z[2] * x[1], z[2] * x[0] - z[0] * x[2], z[0] * x[1] - z[1] * x[0]];
    return [0, 1, 2].flatMap((k) => [r * x[k] / s, r * y[k] / s, d[k], a[k]]);
  };
  const tip = scene.frames.find((f) => f.name === scene.tip);
  const tipAt = (q) => { // where the tip is at q
    if (!tip) return null;
    const p = tip.body < 0 ? tip.pose : times(forward(q)[tip.body], tip.pose);
    return [p[3], p[7], p[11]];
  };
  const lens = () => { // how far the eye is, and what one unit across is at that distance, along the sides of the canvas
    const w = canvas.clientWidth, h = canvas.clientHeight, far = 5 * scene.radius, scale = far * state.zoom / (1.04 * scene.radius), side = Math.min(w, h);
    return { w, h, far, x: scale * side / w, y: scale * side / h };
  };
  function draw() {
    wanted = false;
    const dense = Math.min(devicePixelRatio || 1, 2), w = Math.round(canvas.clientWidth * dense), h = Math.round(canvas.clientHeight * dense);
    if (!w || !h) return;
    if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
    gl.viewport(0, 0, w, h);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    const l = lens();
    gl.uniform4f(at.lens, l.x, l.y, l.far, 12 * scene.radius);
    gl.uniform3fv(at.view, state.V); gl.uniform3fv(at.center, state.center);
    T = forward(state.q);
    if (grid) one(grid, identity, lineColor(), 0.7);
    for (const part of parts) one(part, poseOf(part.body), part.color, 1);
    for (const { body, radius, color } of scene.rails) { // from the frame of a sliding joint at q = 0 to the body
      const ends = [times(poseOf(scene.bodies[body].parent), scene.bodies[body].placement), T[body]].map((P) => [P[3], P[7], P[11]]);
      one(shapes.bar, barBetween(...ends, radius), rgb(color), 1);
    }
    const shown = state.frames ? scene.frames : scene.frames.filter((f) => f.name === scene.tip);
    for (const frame of shown) {
      const pose = times(poseOf(frame.body), frame.pose);
      for (let k = 0; k < 3; k++) one(arrow, times(pose, toAxis[k]), axisColor[k], 1);
    }
    if (state.centers) {
      gl.disable(gl.DEPTH_TEST);
      scene.bodies.forEach((body, k) => { if (body.com) one(shapes.ball, times(T[k], ballAt(body.com, 0.17 * L)), [0.75, 0.15, 0.5], 0.8); });
      gl.enable(gl.DEPTH_TEST);
    }
    for (const mark of state.marks) {
      gl.depthMask(!(mark.alpha < 1));
      gl.depthFunc(mark.above ? gl.ALWAYS : gl.LESS);
      one(shapes[mark.shape], mark.pose, mark.color, mark.alpha || 1);
    }
    gl.depthMask(true); gl.depthFunc(gl.LESS);
    drawn();
  }

  // ---- from the screen into space and back; x, y in pixels of the canvas
  const ray = (x, y) => { // from the eye, in base axes
    const l = lens(), d = [(2 * x / l.w - 1) / l.x, (1 - 2 * y / l.h) / l.y, -1], V = state.V;
    const turnedBack = (v) => [0, 1, 2].map((k) => v[0] * V[k] + v[1] * V[3 + k] + v[2] * V[6 + k]);
    return { from: turnedBack([0, 0, l.far]).map((v, k) => v + state.center[k]), along: turnedBack(d) };
  };
  const project = (p) => {
    const l = lens(), d = p.map((v, k) => v - state.center[k]), V = state.V;
    const [a, b, c] = [0, 3, 6].map((k) => V[k] * d[0] + V[k + 1] * d[1] + V[k + 2] * d[2]);
    return [(1 + a * l.x / (l.far - c)) * l.w / 2, (1 - b * l.y / (l.far - c)) * l.h / 2];
  };
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const place = (x, y, p, across) => { // the point under (x, y) of the plane through p that faces us, or is normal to `across`
    const { from, along } = ray(x, y);
    const n = across && Math.abs(dot(across, along)) > 0.15 * Math.hypot(...along) ? across : state.V.slice(6, 9);
    const s = dot(n, p.map((v, k) => v - from[k])) / dot(n, along);
    return from.map((v, k) => v + s * along[k]);
  };
  const pick = (x, y) => { // the moving body under (x, y), and the point of it that is seen there
    const { from, along } = ray(x, y);
    let best = null, least = Infinity;
    for (const part of parts) {
      const P = poseOf(part.body), back = (v) => [0, 1, 2].map((k) => v[0] * P[k] + v[1] * P[4 + k] + v[2] * P[8 + k]);
      const o = back(from.map((v, k) => v - P[4 * k + 3])), d = back(along), v = part.positions, f = part.faces;
      for (let t = 0; t < f.length; t += 3) { // Möller and Trumbore 1997
        const i = 3 * f[t], j = 3 * f[t + 1], k = 3 * f[t + 2];
        const ax = v[j] - v[i], ay = v[j + 1] - v[i + 1], az = v[j + 2] - v[i + 2], bx = v[k] - v[i], by = v[k + 1] - v[i + 1], bz = v[k + 2] - v[i + 2];
        const px = d[1] * bz - d[2] * by, py = d[2] * bx - d[0] * bz, pz = d[0] * by - d[1] * bx, det = ax * px + ay * py + az * pz;
        if (Math.abs(det) < 1e-14) continue;
        const sx = o[0] - v[i], sy = o[1] - v[i + 1], sz = o[2] - v[i + 2], u = (sx * px + sy * py + sz * pz) / det;
        if (u < 0 || u > 1) continue;
        const qx = sy * az - sz * ay, qy = sz * ax - sx * az, qz = sx * ay - sy * ax, w = (d[0] * qx + d[1] * qy + d[2] * qz) / det;
        const s = (bx * qx + by * qy + bz * qz) / det;
        if (w < 0 || u + w > 1 || s <= 0 || s >= least) continue;
        least = s;
        best = { body: part.body, at: o.map((c, m) => c + s * d[m]), world: from.map((c, m) => c + s * along[m]) };
      }
    }
    return best && best.body >= 0 ? best : null;
  };

  // ---- hands
  const turn = (dx, dy) => { state.V = rotated(rotated(state.V, scene.up, -dx), state.V.slice(0, 3), -dy); ask(); };
  const zoom = (factor) => { state.zoom = Math.min(12, Math.max(0.25, state.zoom * factor)); ask(); };
  const shift = (dx, dy) => {
    const k = 2.08 * scene.radius / (state.zoom * Math.min(canvas.clientWidth, canvas.clientHeight));
    for (let j = 0; j < 3; j++) state.center[j] += k * (-dx * state.V[j] + dy * state.V[3 + j]);
    ask();
  };
  const reset = () => { state.V = scene.view.slice(); state.zoom = scene.zoom || 1; state.center = scene.center.slice(); ask(); };
  const fingers = new Map();
  let held = null;
  const inside = (e) => { const r = canvas.getBoundingClientRect(); return [e.clientX - r.left, e.clientY - r.top]; };
  canvas.addEventListener("pointerdown", (e) => {
    canvas.setPointerCapture(e.pointerId);
    fingers.set(e.pointerId, [e.clientX, e.clientY]);
    if (fingers.size > 1) { if (held) held.end(); held = null; } // two fingers zoom
    else if (e.button === 0 && !e.shiftKey) held = grab(...inside(e));
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, (e) => {
    fingers.delete(e.pointerId);
    if (held) held.end();
    held = null;
  });
  canvas.addEventListener("pointermove", (e) => {
    const before = fingers.get(e.pointerId);
    if (!before) return;
    const dx = e.clientX - before[0], dy = e.clientY - before[1];
    if (held) held.move(...inside(e));
    else if (fingers.size === 2) {
      const other = [...fingers].find(([id]) => id !== e.pointerId)[1];
      const gap = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
      zoom(gap([e.clientX, e.clientY]) / gap(before)); shift(dx / 2, dy / 2);
    } else if (e.shiftKey || e.buttons === 2) shift(dx, dy); else turn(dx * 0.01, dy * 0.01);
    fingers.set(e.pointerId, [e.clientX, e.clientY]);
  });
  canvas.addEventListener("contextmenu", (e) => e.preventDefault());
  canvas.addEventListener("wheel", (e) => { // the page scrolls unless the scene was taken in hand
    if (document.activeElement !== canvas && !e.ctrlKey) return;
    e.preventDefault(); zoom(Math.exp(-0.0012 * e.deltaY));
  }, { passive: false });
  canvas.addEventListener("keydown", (e) => {
    const keys = { ArrowLeft: () => turn(-0.1, 0), ArrowRight: () => turn(0.1, 0), ArrowUp: () => turn(0, -0.1), ArrowDown: () => turn(0, 0.1),
      "+": () => zoom(1.15), "=": () => zoom(1.15), "-": () => zoom(1 / 1.15), 0: reset };
    if (keys[e.key]) { keys[e.key](); e.preventDefault(); }
  });
  new ResizeObserver(ask).observe(canvas);
  ask();
  const show = (q) => { state.q = q.slice(); ask(); };
  return { state, show, draw: (q) => { state.q = q; draw(); }, ask, reset, forward, tipAt, pick, place, project, ballAt, barBetween };
}

// What scripts make: an element of a kind with its words, inside another. Without a script there is none of them.
function make(kind, words, where, attributes = {}) {
  const element = document.createElement(kind);
  element.textContent = words;
  for (const [k, v] of Object.entries(attributes)) element.setAttribute(k, v);
  where.appendChild(element);
  return element;
}
const meters = (p) => "tip at (" + p.map((x) => (Math.abs(x) < 5e-5 ? 0 : x).toFixed(4)).join(", ") + ") m";
const written = (c, x) => (c.unit === "m" ? x.toFixed(3) + " m" : (x * 180 / Math.PI).toFixed(1) + "°").replace(/^-(?=0\.0+\D)/, "");

// A robot with sliders among the controls. `moved` is told where the sliders put it; the answer has show(q).
function viewRobot(box, canvas, controls, scene, moved = () => {}) {
  const readout = document.createElement("output"), sliders = [], home = scene.start, motion = scene.motion;
  const view = openScene(canvas, scene, { drawn: () => { const p = view.tipAt(view.state.q); if (p) readout.textContent = meters(p); } });
  if (!view) return null;
  let playing = 0;
  const tools = make("div", "", controls, { class: "tools" }), joints = make("div", "", controls, { class: "joints" });
  readout.id = "tip";
  const show = (q) => {
    view.show(q);
    sliders.forEach(([input, output, k]) => { if (document.activeElement !== input || playing) input.value = q[k]; output.textContent = written(scene.coordinates[k], q[k]); });
  };
  const stop = () => { if (playing) { cancelAnimationFrame(playing); playing = 0; play.textContent = "Play the task"; } };
  make("button", "Start again", tools, { type: "button", id: "again" }).addEventListener("click", () => { stop(); view.reset(); show(home); moved(home); });
  const play = motion ? make("button", "Play the task", tools, { type: "button", id: "play" }) : null;
  if (play) play.addEventListener("click", () => {
    if (playing) { stop(); return; }
    play.textContent = "Stop";
    const begun = performance.now(), last = motion.t[motion.t.length - 1];
    const step = (now) => {
      const t = Math.max(0, (now - begun) / 1000);
      show(between(motion, t, scene.quaternions));
      if (t >= last) stop(); else playing = requestAnimationFrame(step);
    };
    playing = requestAnimationFrame(step);
  });
  for (const [name, words] of [["frames", "Frames"], ["centers", "Centers of mass"]]) {
    const label = make("label", "", tools), input = make("input", "", label, { type: "checkbox", id: "show-" + name });
    label.appendChild(document.createTextNode(" " + words));
    input.addEventListener("change", () => { view.state[name] = input.checked; view.ask(); });
  }
  tools.appendChild(readout);
  if (!scene.loops) scene.coordinates.forEach((c, k) => {
    if (!c.unit) return; // a quaternion's numbers mean nothing alone
    const label = make("label", "", joints, { class: "joint" });
    make("span", c.name, label, { title: c.name });
    const input = make("input", "", label, { type: "range", min: c.lower, max: c.upper, step: (c.upper - c.lower) / 2000 || 1, value: home[k], "aria-label": c.name });
    const output = make("output", written(c, home[k]), label);
    sliders.push([input, output, k]);
    input.addEventListener("input", () => { stop(); const q = view.state.q.slice(); q[k] = Number(input.value); show(q); moved(q); });
  });
  box.classList.add("live"); controls.classList.add("live");
  return { show: (q) => { stop(); show(q); } };
}

// Positions with their quaternions, which begin at these places, brought to length one.
function unitary(q, places) {
  const out = q.slice();
  for (const k of places) { const size = Math.hypot(...q.slice(k, k + 4)); for (let j = k; j < k + 4; j++) out[j] /= size; }
  return out;
}
// A recorded motion {t, q} at a time, on the line between its samples; quaternions on the shorter way.
function between(motion, t, quaternions) {
  const { t: times, q } = motion, last = times.length - 1;
  if (t >= times[last]) return unitary(q[last], quaternions);
  let low = 0, high = last;
  while (high - low > 1) { const k = (low + high) >> 1; if (times[k] <= t) low = k; else high = k; }
  const part = Math.max(0, (t - times[low]) / (times[high] - times[low]));
  const sign = Array(q[low].length).fill(1), dot = (k) => [0, 1, 2, 3].reduce((sum, j) => sum + q[low][k + j] * q[high][k + j], 0);
  for (const k of quaternions) if (dot(k) < 0) sign.fill(-1, k, k + 4);
  return unitary(q[low].map((x, j) => x + part * (sign[j] * q[high][j] - x)), quaternions);
}
