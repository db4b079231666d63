// The live page of a robot: posed by sliders or by its tip, run under a controller, dropped, pulled at, played back. What is
// computed is computed by `robot`, a module made from its description; without it (null) sliders still move the joints.
function livePage(root, data, robot) {
  const { scene, physics, panels } = data, n = scene.coordinates.length, end = n + scene.rates, WINDOW = 10; // [s] of the plots
  const runs = Boolean(robot) && physics.laws.length > 0;
  const laws = physics.laws.length ? physics.laws : [{ name: "none", title: "none", sentence: "", rows: [], orders: 0, settings: [], gains: [], initial: [] }];
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches, has = (panel) => panels.includes(panel);
  const box = root.querySelector("#scene"), tools = root.querySelector("#tools"), side = root.querySelector("#side"), plots = root.querySelector("#plots");

  // ---- the state of the page: all that a link to it must tell
  const first = () => ({
    q: scene.start.slice(), qd: Array(scene.rates).fill(0), aim: scene.start.slice(), // aim: the posture that a controller is to hold
    controller: laws[0].name, settings: Object.fromEntries(laws.map((l) => [l.name, l.settings.map((s) => s.default)])),
    payload: 0, gravity: physics.gravity, friction: physics.rough ? 1 : 0, stops: 1, running: runs && data.run && !calm,
  });
  const S = first();
  let step = 0, z = laws[0].initial.slice(), seen = null, pull = null, following = -1, quiet = 0, said = "", changed = false, stale = true; // to be written into the link, to be drawn
  let playback = data.log, playing = false, clock = 0;
  const past = []; // samples {t, q, qd, tau, energy}
  const law = () => laws.find((l) => l.name === S.controller);
  const gains = (l) => {
    const [omega, zeta] = S.settings[l.name];
    return l.gains.map(([b, a, c, f]) => (zeta ?? 1) ** b * Math.max(c * (omega ?? 1) ** a, f));
  };
  const touch = () => { quiet = 0; changed = stale = true; };
  const say = (words) => { if (words !== said) { said = words; message.textContent = words; message.hidden = !words; } };

  // ---- the loop: its parameters p, its rows of inputs u, and steps of it
  const parameters = () => {
    const hand = Array(8 + scene.bodies.length).fill(0);
    if (pull) { hand.splice(0, 8, pull.stiffness, pull.damping, ...pull.at, ...pull.to); hand[8 + pull.body] = 1; }
    return [S.payload, S.gravity, S.friction, S.stops, ...hand, ...gains(law())];
  };
  const driven = (x) => { const q = S.q.slice(); physics.driven.forEach((k, j) => { q[k] = x[j]; }); return q; }; // where drives put the robot
  const wanted = (l, t) => { // the reference and its rates, as far as the law follows them, [x, ẋ, ẍ]
    const m = l.rows.length, motion = following >= 0 ? [...robot.motion([t - following * physics.dt])] : null;
    if (motion && l.follows === "joints") return motion.slice(0, m * l.orders);
    const posture = motion ? driven(motion) : S.aim, point = l.follows === "tip" ? view.tipAt(posture) : posture;
    return [...l.rows.map((k) => point[k]), ...Array(m * (l.orders - 1)).fill(0)];
  };
  const inputs = (l, steps) => { // at the nodes of a step, then the times between these
    if (!l.orders) return [];
    const times = (k) => l.nodes.map((c) => (k + c) * physics.dt), row = (k) => {
      const t = times(k);
      return [...t.flatMap((x) => wanted(l, x)), ...t.slice(1).map((x, i) => (x + t[i]) / 2)];
    };
    return following < 0 ? row(0) : Array.from({ length: steps }, (_, k) => row(step + k)).flat();
  };
  const advance = (steps, every = steps) => { // so many steps of the compiled loop; what it kept on the way
    const l = law(), x = [...S.q, ...S.qd, ...z];
    const run = robot["loop_" + l.name].run({ x, u: inputs(l, steps), p: parameters(), t0: 0, dt: physics.dt, steps, every, first: step });
    const count = run.xs.length / x.length, ny = run.y.length, kept = [];
    const sample = (k, at, out) => ({ t: k * physics.dt, q: at.slice(0, n), qd: at.slice(n, end), kinetic: out[0], potential: out[1], tau: out.slice(2, 2 + physics.driven.length) });
    for (let k = 0; k < count; k++) kept.push(sample(step + k * every, [...run.xs.subarray(k * x.length, (k + 1) * x.length)], [...run.ys.subarray(k * ny, (k + 1) * ny)]));
    if (run.diverged >= 0) {
      S.running = false;
      say("The motion grew without bound: gains, friction or end stops are too stiff for steps of 1 ms. Turn them down, or start again.");
      return kept;
    }
    const reached = [...run.x], last = sample(step + steps, reached, [...run.y]);
    quiet = reached.every((v, k) => Math.abs(v - x[k]) < 1e-9) && !pull && following < 0 ? quiet + 1 : 0;
    S.q = last.q; S.qd = last.qd; z = reached.slice(end); step += steps; seen = last;
    if (following >= 0) S.aim = driven([...robot.motion([(step - following) * physics.dt])]);
    return [...kept, last];
  };
  const holds = () => { // whether the robot stays in bounds for a moment, as it is set now
    const x = [...S.q, ...S.qd, ...z], run = robot["loop_" + law().name].run({ x, u: inputs(law(), 1), p: parameters(), t0: 0, dt: physics.dt, steps: 200, every: 200, first: 0 });
    return run.diverged < 0 && run.x.slice(n, end).every((v) => Math.abs(v) < 100);
  };
  const calmDown = () => { // friction and gains of light joints may be too stiff for steps of this length: begin with less
    const own = S.settings[S.controller], before = [S.friction, own[0]], less = [];
    if (runs && !holds()) S.friction = 0;
    for (let k = 0; runs && k < 9 && law().settings.length && !holds(); k++) own[0] /= 2;
    if (S.friction !== before[0]) less.push("friction to 0");
    if (own[0] !== before[1]) less.push(`${law().settings[0].symbol} to ${own[0].toPrecision(2)} ${law().settings[0].unit}`);
    if (less.length) say(`Turned down for steps of 1 ms: ${less.join(", ")}.`);
  };
  const note = (sample) => { past.push(sample); while (past.length && past[0].t < sample.t - WINDOW) past.shift(); };
  const place = (q) => { // at rest there, aimed at there
    S.q = q.slice(); S.qd = Array(scene.rates).fill(0); S.aim = q.slice(); z = law().initial.slice(); following = -1;
    touch();
  };
  const begin = () => { step = 0; past.length = 0; seen = null; z = law().initial.slice(); following = -1; };

  // ---- kinematics: a posture with a joint, or the tip, elsewhere
  const reach = (q, place, joint = -1, value = 0) => {
    if (!robot || !robot.reach) return null;
    let goal;
    if (scene.loops) {
      const held = Array.from({ length: n }, (_, k) => (joint >= 0 && physics.sliders.includes(k) ? 1 : 0));
      goal = [...(place || [0, 0, 0]), place ? 1 : 0, ...q.map((x, k) => (k === joint ? value : x)), ...held];
    } else goal = [1, 0, 0, place[0], 0, 1, 0, place[1], 0, 0, 1, place[2], 0, 0, 0, 1];
    let found = robot.reach.solve(q, goal, [], physics.reach);
    if (scene.loops && !(found.info[2] > 0)) { // out of reach: a joint stays, a tip goes as near as the loops let it when they are shut
      if (joint >= 0) return null;
      found = robot.reach.solve([...found.state], [0, 0, 0, 0, ...q, ...Array(n).fill(0)], [], physics.reach);
      if (!(found.info[2] > 0)) return null;
    }
    return [...found.state];
  };
  const steer = (q) => { // a posture that was asked for: where a controller is to go, or where the robot is put
    if (!q) return;
    playing = false;
    if (S.running && law().orders) { S.aim = q; following = -1; touch(); } else place(q);
  };
  const moveJoint = (k, x) => {
    if (S.running && !physics.driven.includes(k)) { S.q[k] = S.aim[k] = x; touch(); return; } // no drive moves it there
    const q = (S.running && law().orders ? S.aim : S.q).slice();
    if (scene.loops) steer(reach(q, null, k, x)); else { q[k] = x; steer(q); }
  };

  // ---- hands in the view: the tip is dragged, a link that moves is pulled at, anything else turns the view
  const grab = (x, y) => {
    const handle = view.tipAt(S.running && law().orders ? S.aim : S.q), [hx, hy] = handle ? view.project(handle) : [-99, -99];
    if (robot && robot.reach && physics.carries && Math.hypot(x - hx, y - hy) < 22) {
      const start = handle, begun = view.place(x, y, handle, scene.plane);
      return {
        move: (u, v) => { const to = view.place(u, v, start, scene.plane); steer(reach(S.running && law().orders ? S.aim : S.q, start.map((c, k) => c + to[k] - begun[k]))); },
        end: touch,
      };
    }
    const hit = S.running ? view.pick(x, y) : null;
    if (!hit) return null;
    const stiffness = 25 * (physics.mass + 0.2) / scene.radius;
    pull = { body: hit.body, at: hit.at, to: hit.world, stiffness, damping: 0.1 * Math.sqrt(stiffness * (physics.mass + 0.2)) };
    const start = hit.world;
    touch();
    return { move: (u, v) => { if (pull) pull.to = view.place(u, v, start, scene.plane); touch(); }, end: () => { pull = null; touch(); } };
  };
  const view = openScene(box.querySelector("canvas"), scene, { grab, asked: () => { stale = changed = true; } });
  if (!view) return null; // the picture stays
  const marks = () => {
    const r = scene.radius / (scene.zoom || 1), T = view.forward(S.q), list = [], tip = view.tipAt(S.q), goal = view.tipAt(S.aim);
    if (view.state.ellipsoid && robot && robot.ellipsoid) {
      const [E, mu] = robot.ellipsoid(S.q), size = 0.25; // meters that a meter per second is drawn as
      list.push({ shape: "ball", pose: [...E].map((v, k) => (k % 4 === 3 ? v : size * v)), color: [0.25, 0.55, 0.9], alpha: 0.3 });
      readout.mu = mu[0];
    }
    if (robot && robot.reach && tip) list.push({ shape: "ball", pose: view.ballAt(S.running && law().orders ? goal : tip, 0.035 * r), color: [0.95, 0.55, 0.1], alpha: 0.75, above: true });
    if (S.payload > 0 && tip) list.push({ shape: "ball", pose: view.ballAt(tip, Math.min(0.15 * r, 0.05 * r + 0.03 * r * Math.cbrt(S.payload))), color: [0.35, 0.38, 0.43] });
    if (pull) {
      const held = (P) => [0, 4, 8].map((k) => P[k] * pull.at[0] + P[k + 1] * pull.at[1] + P[k + 2] * pull.at[2] + P[k + 3]);
      const from = held(T[pull.body]), by = 1e-6, step = S.qd.map((v) => by * v);
      const next = held(view.forward(robot.integrate ? [...robot.integrate(S.q, step)] : S.q.map((x, k) => x + step[k]))[pull.body]);
      list.push({ shape: "bar", pose: view.barBetween(from, pull.to, 0.008 * r), color: [0.85, 0.25, 0.2], above: true }, { shape: "ball", pose: view.ballAt(pull.to, 0.025 * r), color: [0.85, 0.25, 0.2], above: true });
      readout.force = Math.hypot(...from.map((v, k) => pull.stiffness * (pull.to[k] - v) - pull.damping * (next[k] - v) / by));
    }
    return list;
  };

  // ---- controls
  const button = (id, words, where, act) => { const b = make("button", words, where, { type: "button", id }); b.addEventListener("click", act); return b; };
  const check = (name, words) => {
    const label = make("label", "", tools), input = make("input", "", label, { type: "checkbox", id: "show-" + name });
    label.append(" " + words);
    input.addEventListener("change", () => { view.state[name] = input.checked; touch(); });
    return input;
  };
  const panel = (title, id) => { const p = make("section", "", side, { id, "aria-label": title }); make("h2", title, p); return p; };
  const refresh = []; // what shows the state again after it was changed elsewhere
  const slider = (where, id, words, unit, [low, high, by], get, set, digits = 2) => {
    const label = make("label", "", where, { class: "joint" });
    const name = make("span", words, label, { title: words });
    const input = make("input", "", label, { type: "range", id, min: low, max: high, step: by, "aria-label": words });
    const output = make("output", "", label);
    const show = () => {
      const x = get(), text = typeof unit === "function" ? unit(x) : x.toFixed(digits) + (unit && " " + unit);
      if (document.activeElement !== input || Math.abs(input.value - x) > by) input.value = x;
      if (output.textContent !== text) output.textContent = text;
    };
    input.addEventListener("input", () => { set(Number(input.value)); show(); touch(); });
    refresh.push(show);
    show();
    return { label, name, input };
  };
  const message = make("p", "", tools, { id: "message", role: "status" });
  message.hidden = true;
  const runButton = button("run", "Run", tools, () => { S.running = !S.running; playing = false; if (S.running) say(""); touch(); });
  const dropButton = button("drop", "Drop it", tools, () => { choose("none"); S.gravity ||= 1; S.running = true; say(""); touch(); });
  button("again", "Start again", tools, () => { Object.assign(S, { ...first(), controller: S.controller, settings: S.settings, payload: S.payload, gravity: S.gravity, friction: S.friction, stops: S.stops }); playing = false; begin(); view.reset(); say(""); calmDown(); tune(); touch(); });
  const share = button("share", "Copy link", tools, async () => {
    keep();
    try { await navigator.clipboard.writeText(location.href); share.textContent = "Copied"; } catch { share.textContent = "It is in the address bar"; }
    setTimeout(() => { share.textContent = "Copy link"; }, 2000);
  });
  share.hidden = !data.link;
  check("frames", "Frames"); check("centers", "Centers of mass");
  const ellipsoid = robot && robot.ellipsoid ? check("ellipsoid", "Velocity ellipsoid") : null;
  const readout = make("output", "", tools, { id: "tip" });
  dropButton.hidden = !laws.some((l) => l.name === "none");
  if (!runs) { runButton.hidden = dropButton.hidden = true; say(!data.signatures ? "" : robot ? `It can be posed, not run: ${physics.why}.` : `This browser has no WebAssembly: ${scene.loops ? "the view can be turned, and nothing is computed" : "sliders move the joints, and nothing else is computed"}.`); }

  const choose = (name) => { if (!laws.some((l) => l.name === name)) return; S.controller = name; z = law().initial.slice(); S.aim = S.q.slice(); following = -1; tune(); touch(); };
  let tune = () => {};
  if (runs && has("controller")) {
    const where = panel("Controller", "control"), list = make("select", "", where, { id: "controller", "aria-label": "Controller" });
    for (const l of laws) make("option", l.title, list, { value: l.name });
    const words = make("p", "", where, { class: "formula-line" }), settings = make("div", "", where, { class: "joints" });
    list.addEventListener("change", () => choose(list.value));
    tune = () => {
      const l = law();
      list.value = l.name; words.textContent = l.sentence; settings.textContent = "";
      refresh.splice(fixed);
      l.settings.forEach((s, k) => slider(settings, "setting-" + s.name, `${s.meaning} ${s.symbol}`, s.unit, [s.low, s.high, s.step], () => S.settings[l.name][k], (x) => { S.settings[l.name][k] = x; }));
    };
  }
  const heaviest = Math.max(1, Number(((physics.mass || 0) * 0.4).toPrecision(1))), roughest = physics.rough ? 3 : 10;
  if (runs && has("world")) {
    const where = panel("World", "world"), rows = make("div", "", where, { class: "joints" });
    if (physics.carries) slider(rows, "payload", "Payload", "kg", [0, heaviest, heaviest / 100], () => S.payload, (x) => { S.payload = x; });
    slider(rows, "gravity", "Gravity", (x) => (x * data.g).toFixed(2) + " m/s²", [0, 2, 0.01], () => S.gravity, (x) => { S.gravity = x; });
    if (physics.rough || physics.driven.length) slider(rows, "friction", "Friction", physics.rough ? "× own" : "1/s", [0, roughest, 0.05], () => S.friction, (x) => { S.friction = x; });
    if (physics.stops) {
      const label = make("label", "", where), input = make("input", "", label, { type: "checkbox", id: "stops" });
      label.append(" End stops at the joints' limits");
      input.addEventListener("change", () => { S.stops = Number(input.checked); touch(); });
      refresh.push(() => { input.checked = S.stops > 0; });
    }
    make("p", "Controllers use the nominal model. The payload, the friction and the changed gravity are not part of it.", where, { class: "aside" });
  }
  if (has("joints") && (robot || !scene.loops)) {
    const where = panel("Joints", "joints"), rows = make("div", "", where, { class: "joints" });
    physics.sliders.forEach((k) => {
      const c = scene.coordinates[k];
      const made = slider(rows, "joint-" + k, c.name, () => written(c, S.q[k]), [c.lower, c.upper, (c.upper - c.lower) / 2000 || 1], () => (S.running && law().orders && physics.driven.includes(k) ? S.aim : S.q)[k], (x) => moveJoint(k, x));
      made.name.prepend(make("i", "", made.name, { class: "dot", style: `background: var(--c${k % 8})` }));
    });
  }
  let timeline = null, playButton = null;
  const open = (log, words) => { playback = log; clock = 0; playing = Boolean(log) && !calm; S.running = false; say(words); if (timeline) { timeline.input.max = log.t.at(-1); } touch(); };
  if (has("playback")) {
    const where = panel("Playback", "playback"), row = make("div", "", where, { class: "row" });
    const label = make("label", "Open a log (CSV) ", row, { class: "file" }), file = make("input", "", label, { type: "file", id: "log", accept: ".csv,.txt,.tsv" });
    file.addEventListener("change", async () => { if (file.files[0]) readLog(file.files[0].name, await file.files[0].text()); });
    if (runs && physics.motion) button("follow", "Follow the motion", row, () => {
      if (!law().orders) choose(laws[0].name);
      place(driven([...robot.motion([0])])); begin(); following = step; S.running = true; playing = false; touch();
    });
    playButton = button("play", "Play", row, () => { if (!playing && clock >= playback.t.at(-1)) clock = 0; playing = !playing; S.running = false; touch(); });
    timeline = slider(make("div", "", where, { class: "joints" }), "time", "Time", "s", [0, playback ? playback.t.at(-1) : 1, 0.001], () => clock, (t) => { clock = t; playing = false; S.running = false; place(between(playback, t, scene.quaternions)); });
    refresh.push(() => { playButton.hidden = timeline.label.hidden = !playback; playButton.textContent = playing ? "Stop" : "Play"; });
  }
  const readLog = (name, text) => { // times, then the joints' positions, found by their names or in their order
    const rows = text.split(/\r?\n/).filter((line) => line.trim() && !line.startsWith("#")).map((line) => line.trim().split(/[,;\t]/.test(line) ? /[,;\t]/ : /\s+/).map((cell) => cell.trim().replace(/^"(.*)"$/, "$1")));
    const head = rows.length && rows[0].some((cell) => cell && Number.isNaN(Number(cell))) ? rows.shift() : null;
    const unit = / *[[(](s|rad|m|deg|°)[\])]$/, at = (names) => (head ? head.findIndex((cell) => names.includes(cell.toLowerCase().replace(unit, ""))) : -1), time = at(["t", "time"]);
    const named = scene.coordinates.map((c, k) => at([c.name, `q_${c.name}`, `${c.name}_q`, `q${k + 1}`, `q_${k + 1}`].map((x) => x.toLowerCase())));
    const columns = named.every((k) => k >= 0) ? named : scene.coordinates.map((_, k) => Math.max(time, 0) + 1 + k);
    const sizes = [1, ...columns.map((k) => (/^(deg|°)$/.test(head?.[k]?.match(unit)?.[1]) ? Math.PI / 180 : 1))];
    const numbers = rows.map((row) => [row[Math.max(time, 0)], ...columns.map((k) => row[k])].map((x, j) => (x === "" || x === undefined ? NaN : sizes[j] * Number(x))));
    const turns = (row) => scene.quaternions.every((k) => Math.abs(Math.hypot(...row.slice(k + 1, k + 5)) - 1) < 1e-3);
    const good = numbers.length > 1 && numbers.every(turns) && numbers.every((row, k) => row.every(Number.isFinite) && (!k || row[0] > numbers[k - 1][0]));
    if (!good) { say(`${name} is no log of this robot: a page reads times that rise and then ${n} positions [rad, m${scene.quaternions.length ? ", quaternions x, y, z, w" : ""}] in each row.`); return; }
    open({ t: numbers.map((row) => row[0] - numbers[0][0]), q: numbers.map((row) => row.slice(1)) }, `${name}: ${numbers.length} rows.`);
  };
  box.addEventListener("dragover", (e) => e.preventDefault());
  box.addEventListener("drop", async (e) => { e.preventDefault(); const file = e.dataTransfer.files[0]; if (file) readLog(file.name, await file.text()); });
  const fixed = refresh.length;

  // ---- plots
  const charts = [];
  const every = scene.coordinates.map((_, k) => k), numbers = every.filter((k) => scene.coordinates[k].unit);
  const unitsOf = (places) => ["rad", "m"].filter((unit) => places.some((k) => scene.coordinates[k].unit === unit));
  const lines = (places, get) => places.map((k, j) => ({ color: `--c${k % 8}`, x: past.map((s) => s.t), y: past.map((s) => get(s, k, j)) }));
  const overTime = (title, label, curves) => { const chart = makeChart(plots, title, label, 0.1); charts.push(() => { const last = past.length ? past.at(-1).t : 0; chart.draw(curves(), [Math.max(0, last - WINDOW), Math.max(WINDOW, last)], null, "t [s]"); }); return chart; };
  if (runs && has("plots")) {
    overTime(`Positions q [${unitsOf(numbers).join(", ")}]`, "Joint positions over time", () => lines(numbers, (s, k) => s.q[k]));
    const efforts = unitsOf(physics.driven).map((unit) => ({ rad: "N m", m: "N" })[unit]).join(", ");
    if (efforts) overTime(`Torques τ [${efforts}]`, "Joint torques over time", () => lines(physics.driven, (s, k, j) => s.tau[j]));
    const parts = [["kinetic", "--c0", (s) => s.kinetic], ["potential", "--c1", (s) => s.potential], ["total", "--c2", (s) => s.kinetic + s.potential]];
    const chart = overTime("Energy [J] ", "Energies over time", () => parts.map(([, color, get]) => ({ color, x: past.map((s) => s.t), y: past.map(get) })));
    for (const [name, color] of parts) { const mark = make("span", "", chart.caption, { class: "key" }); make("i", "", mark, { class: "dot", style: `background: var(${color})` }); mark.append(name); }
  }
  const phases = every.filter((k) => scene.coordinates[k].rate !== null); // those whose rate is the position's
  if (runs && has("phase") && phases.length) {
    const chart = makeChart(plots, "Phase portrait of ", "Rate over position of a joint", 0.1);
    const list = make("select", "", chart.caption, { id: "phase", "aria-label": "Joint of the phase portrait" });
    for (const k of phases) make("option", scene.coordinates[k].name, list, { value: k });
    list.addEventListener("change", touch);
    charts.push(() => { const k = Number(list.value), { unit: u, rate } = scene.coordinates[k]; chart.draw([{ color: `--c${k % 8}`, x: past.map((s) => s.q[k]), y: past.map((s) => s.qd[rate]), dot: true }], null, null, `q̇ [${u}/s] over q [${u}]`); });
  }

  // ---- the link: everything after #, written at most once a second, read at the start
  const short = (x) => String(Number(x.toPrecision(12)));
  const encode = () => {
    const words = new URLSearchParams(), list = (values) => values.map(short).join(",");
    words.set("q", list(S.q)); words.set("v", list(S.qd)); words.set("aim", list(S.aim));
    words.set("c", S.controller); words.set("g", list(S.settings[S.controller]));
    if (z.length) words.set("z", list(z));
    words.set("w", list([S.payload, S.friction, S.gravity, S.stops]));
    words.set("view", list([...view.state.V, view.state.zoom, ...view.state.center]));
    words.set("run", S.running ? "1" : "0");
    return words.toString().replaceAll("%2C", ",");
  };
  const keep = () => { changed = false; try { history.replaceState(null, "", "#" + encode()); } catch { /* a frame without an address has no link */ } };
  // What a link says is anybody's: numbers are brought into the ranges of the sliders, what is no camera is left out.
  const within = (x, low, high) => Math.min(high, Math.max(low, x));
  const decode = (text) => {
    const words = new URLSearchParams(text);
    const list = (key, count, low = -1e6, high = 1e6) => {
      const x = (words.get(key) || "").split(",").map(Number);
      return words.has(key) && x.length === count && x.every(Number.isFinite) ? x.map((y) => within(y, low, high)) : null;
    };
    const l = laws.find((x) => x.name === words.get("c"));
    if (l) {
      S.controller = l.name;
      z = list("z", l.initial.length) || l.initial.slice();
      const asked = list("g", l.settings.length);
      if (asked) S.settings[l.name] = asked.map((x, k) => within(x, l.settings[k].low / 512, l.settings[k].high)); // `calmDown` halves
    }
    const posture = (key) => { const q = list(key, n), made = q && unitary(q, scene.quaternions); return made && made.every(Number.isFinite) ? made : null; };
    S.q = posture("q") || S.q;
    S.qd = list("v", scene.rates, -1e3, 1e3) || S.qd;
    S.aim = posture("aim") || S.q.slice();
    const world = list("w", 4);
    if (world) {
      S.payload = physics.carries ? within(world[0], 0, heaviest) : 0;
      S.friction = within(world[1], 0, roughest);
      S.gravity = within(world[2], 0, 2);
      S.stops = world[3] ? 1 : 0;
    }
    const camera = list("view", 13), V = camera?.slice(0, 9);
    const dot = (i, j) => V[3 * i] * V[3 * j] + V[3 * i + 1] * V[3 * j + 1] + V[3 * i + 2] * V[3 * j + 2];
    const turns = V && [0, 1, 2].every((i) => [0, 1, 2].every((j) => Math.abs(dot(i, j) - (i === j)) < 1e-6));
    if (turns) Object.assign(view.state, { V, zoom: within(camera[9], 0.25, 12), center: camera.slice(10) });
    if (words.has("run")) S.running = runs && words.get("run") === "1" && !calm;
    tune();
  };
  if (runs && !physics.gravity) say("Nothing holds it up: it begins without gravity.");
  calmDown();
  tune();
  if (data.link) { // a page with contents of its own has other links
    if (location.hash.length > 1) decode(location.hash.slice(1));
    addEventListener("hashchange", () => { decode(location.hash.slice(1)); begin(); touch(); });
    setInterval(() => { if (changed) keep(); }, 1000);
  }

  // ---- frames: as many steps as time has passed; nothing while nobody looks, or nothing moves
  let before = 0, rest = 0, visible = true, turn = 0;
  const costs = []; // [ms] of script and physics, of the last frames
  new IntersectionObserver(([entry]) => { visible = entry.isIntersecting; }).observe(root);
  const frame = (now) => {
    requestAnimationFrame(frame);
    const passed = Math.min(0.1, (now - before) / 1000), begun = performance.now();
    before = now;
    if (!visible) return;
    if (playing && playback) {
      clock = Math.min(clock + passed, playback.t.at(-1));
      if (clock >= playback.t.at(-1)) playing = false;
      place(between(playback, clock, scene.quaternions));
    } else if (S.running && quiet < 120) {
      rest += passed / physics.dt;
      const steps = Math.floor(rest);
      rest -= steps;
      if (steps) { const kept = advance(steps); if (kept.length) note(kept.at(-1)); changed = true; }
    } else if (!stale) return;
    stale = false;
    render();
    costs.push(performance.now() - begun);
    if (costs.length > 600) costs.shift();
  };
  const render = () => { // what reads the layout comes first, then what changes it; one chart a frame will do while it runs
    view.state.marks = marks();
    view.draw(S.q);
    if (S.running && charts.length) charts[turn++ % charts.length](); else for (const draw of charts) draw();
    for (const show of refresh) show();
    runButton.textContent = S.running ? "Pause" : "Run";
    const p = view.tipAt(S.q), more = [];
    if (pull) more.push(`pull ${readout.force.toFixed(1)} N`);
    if (ellipsoid && ellipsoid.checked) more.push(`manipulability ${readout.mu.toPrecision(3)}`);
    readout.textContent = [p ? meters(p) : "", ...more].filter(Boolean).join(" · ");
  };
  if (!runs) root.querySelector("#stage > .aside")?.remove(); // of what cannot be done here
  box.classList.add("live"); root.classList.add("live");
  touch();
  requestAnimationFrame((now) => { before = now; frame(now); });

  // ---- for tests and for scripts of one's own
  return {
    get state() { return { ...S, t: step * physics.dt, z, energy: seen && seen.kinetic + seen.potential, tau: seen && seen.tau, pull: pull && { ...pull }, following: following >= 0, playing, clock }; },
    set(given) {
      if (given.controller !== undefined) choose(given.controller);
      const { settings, controller, q, ...rest_ } = given;
      if (settings) S.settings[S.controller] = settings;
      if (q) place(q);
      Object.assign(S, rest_);
      begin(); tune(); touch();
    },
    run(seconds, every = 1) { const kept = advance(Math.round(seconds / physics.dt), every); kept.slice(-1).forEach(note); touch(); return kept; },
    follow: () => root.querySelector("#follow").click(),
    view, costs, link: encode, readLog,
  };
}

// ---- the module: bytes that were compressed and written in base 64
async function unpack(text) {
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
function offerTheme(toggle) {
  const page = document.documentElement;
  toggle.hidden = false;
  toggle.addEventListener("click", () => {
    const dark = page.dataset.theme ? page.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    page.dataset.theme = dark ? "light" : "dark";
  });
}
function talkToFrame(root) { // a page around this one chooses light or dark, and is told how high this one is
  addEventListener("message", ({ data }) => {
    if (data?.theme === "light" || data?.theme === "dark") document.documentElement.dataset.theme = data.theme;
  });
  const tell = () => parent.postMessage({ height: Math.ceil(root.getBoundingClientRect().bottom + scrollY) }, "*");
  new ResizeObserver(tell).observe(root);
}
async function openPage() { // "?embed" and "?panels=plots,…" after the address choose a smaller layout, and panels
  const toggle = document.getElementById("theme");
  if (toggle) offerTheme(toggle);

  const root = document.getElementById("live"), source = document.getElementById("live-data");
  if (!root || !source) return null;
  const data = JSON.parse(source.textContent);
  const asked = new URLSearchParams(location.search), panels = (asked.get("panels") || "controller,plots").split(",");
  if (asked.has("embed")) root.classList.add("embed");
  if (asked.has("embed") || asked.has("panels")) data.panels = panels;
  if (parent !== window) talkToFrame(root);
  let robot = null;
  if (typeof WebAssembly === "object" && typeof DecompressionStream === "function" && data.signatures) {
    robot = await load(await unpack(document.getElementById("live-module").textContent), data.signatures);
  }
  return livePage(root, data, robot);
}
