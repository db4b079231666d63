// Calls WebAssembly modules that Dalembert made: kernels, rollouts and searches over arrays of numbers.
//
//   const robot = await load(bytes, signatures);
//   robot.inverse_dynamics(q, qd, qdd)               a Float64Array, row by row; several results: an array of them
//   robot.inverse_dynamics.batch(1000, q, qd, qdd)   1000 states, one after another; what is given once holds for all
//   robot.pd.run({ x, u, p, dt, steps })             a simulation
//   robot.ik.solve(q, pose, starts, settings)        a search

const BYTES = 8; // of a number
const product = (shape) => shape.reduce((a, b) => a * b, 1);

/** The functions of a module, by name. */
export async function load(bytes, signatures) {
  if (typeof WebAssembly === "undefined") throw new Error("this browser has no WebAssembly: nothing can be computed here");
  const { instance } = await WebAssembly.instantiate(bytes);
  return bind(instance.exports, signatures);
}

/** The same of a module that was instantiated already. */
export function bind(exports, signatures) {
  const calls = callsOf(exports.memory, exports.base.value);
  const makers = { kernel: kernelOf, rollout: rolloutOf, search: searchOf };
  return Object.fromEntries(Object.entries(signatures).map(([name, s]) => [name, makers[s.kind](name, s, exports[name], calls)]));
}

/** How functions of the module are called. An input is {shape, values}: numbers of one state, which hold for all, or of
 *  `count` states; an output is {shape}, for one state. What a function reads and writes lies in the module's memory
 *  from `base` on: first its tables (64-bit words: where each array begins; the count; every array's stride from state
 *  to state, then those of its own dimensions), then its arrays. */
function callsOf(memory, base) {
  let top = base; // below it lies what `prepare` keeps
  let numbers, words;
  const view = (end) => {
    const missing = end - memory.buffer.byteLength;
    if (missing > 0) memory.grow(Math.ceil(missing / 65536));
    if (numbers?.buffer === memory.buffer) return;
    numbers = new Float64Array(memory.buffer);
    words = new Int32Array(memory.buffer); // in pairs, of which only the lower one is needed
  };
  const lay = (at, count, arrays) => {
    const own = arrays.flatMap(({ shape, strides }) => strides ?? shape.map((_, k) => BYTES * product(shape.slice(k + 1))));
    let end = at / BYTES + 2 * arrays.length + 1 + own.length;
    for (const a of arrays) {
      a.size = product(a.shape);
      a.at = end;
      end += a.values ? a.values.length : a.size * count;
    }
    view(end * BYTES);
    const over = arrays.map((a) => (a.values?.length === a.size ? 0 : a.size * BYTES));
    const table = [...arrays.map((a) => a.at * BYTES), count, ...over, ...own];
    table.forEach((x, k) => words.set([x, 0], at / 4 + 2 * k));
    return end * BYTES;
  };
  const run = (f, at, inputs, outputs, count) => {
    for (const a of inputs) numbers.set(a.values, a.at);
    const dims = at + (inputs.length + outputs.length) * BYTES;
    f(at, dims, dims + BYTES, 0);
    return outputs.map((a) => numbers.slice(a.at, a.at + a.size * count));
  };
  return {
    call(f, count, inputs, outputs) {
      lay(top, count, [...inputs, ...outputs]);
      return run(f, top, inputs, outputs, count);
    },
    /** A call of one state whose tables stay where they are: (name, names, given) → outputs, or the only one.
     *  Numbers are copied one by one, which for few is faster than what arrays have for it. */
    prepare(f, inputs, outputs) {
      const at = top, dims = at + (inputs.length + outputs.length) * BYTES;
      top = lay(at, 1, [...inputs, ...outputs]);
      const places = inputs.map((a) => a.at), sizes = inputs.map((a) => a.size);
      const copy = ({ at: first, size }) => {
        const found = new Float64Array(size);
        for (let i = 0; i < size; i++) found[i] = numbers[first + i];
        return found;
      };
      return (name, names, given) => {
        if (numbers.buffer !== memory.buffer) view(top);
        for (let k = 0; k < sizes.length; k++) {
          const values = given[k], first = places[k], size = sizes[k];
          if (values?.length !== size) read(name, names[k], values, inputs[k].shape);
          for (let i = 0; i < size; i++) numbers[first + i] = values[i];
        }
        f(at, dims, dims + BYTES, 0);
        return outputs.length === 1 ? copy(outputs[0]) : outputs.map(copy);
      };
    },
  };
}

/** The numbers of an argument, refused where they are too few or too many. */
function read(where, name, values, shape, count = 1) {
  const size = product(shape);
  if (values?.length !== size && values?.length !== size * count) {
    const wanted = count > 1 ? `${size} numbers, or ${count} times as many` : `${size} numbers`;
    throw new TypeError(`${name} of ${where} must have ${wanted}, got ${values?.length ?? typeof values}`);
  }
  return { values, shape };
}

/** A count of something, refused where it is none. */
function whole(where, name, x, least = 0) {
  if (!Number.isInteger(x) || x < least) throw new TypeError(`${name} of ${where} must be a whole number, ${least} or more; got ${x}`);
  return x;
}

/** Options that nothing reads are refused: a misspelled one would have no effect. */
export function refuse(where, rest, known) {
  const strange = Object.keys(rest)[0];
  if (strange !== undefined) throw new TypeError(`${where} knows no option ${strange}; it has ${known}`);
}

function kernelOf(name, { arguments: names, inputs, outputs }, f, calls) {
  const results = () => outputs.map((shape) => ({ shape }));
  const check = (given) => {
    if (given.length !== names.length) throw new TypeError(`${name} takes ${names.join(", ")}; got ${given.length} arguments`);
  };
  const one = (found) => (found.length === 1 ? found[0] : found);
  const single = calls.prepare(f, inputs.map((shape) => ({ shape })), results());
  const batch = (count, ...given) => {
    whole(name, "count", count);
    check(given);
    return one(calls.call(f, count, given.map((a, k) => read(name, names[k], a, inputs[k], count)), results()));
  };
  const call = (...given) => {
    check(given);
    return single(name, names, given);
  };
  return Object.assign(call, { batch });
}

function rolloutOf(name, { x: n, u: m, p: l, y: ny }, f, calls) {
  /** `steps` steps of dt [s] from state x; u is one row that is held, or a row a step; `first` steps were taken before.
   *  → the last state x and what is observed of it y, those kept every so many steps (xs, ys), and the step after which
   *  a state was not finite, or −1. With `count` runs x, p and u may have as many parts, and results do; as many rows of
   *  u as there are runs are one for each run. */
  const run = ({ x, u = new Float64Array(m), p = new Float64Array(l), t0 = 0, dt, steps, every, first = 0, count = 1, ...rest }) => {
    refuse(name, rest, "x, u, p, t0, dt, steps, every, first, count");
    every ??= Math.max(steps, 1);
    const counts = [["steps", steps, 0], ["every", every, 1], ["first", first, 0], ["count", count, 0]];
    for (const [word, x, least] of counts) whole(name, word, x, least);
    if (!(dt > 0)) throw new TypeError(`dt of ${name} must be above 0 s, got ${dt}`);
    const rows = Math.max(steps, 1);
    const held = u.length === m || u.length === m * count;
    const inputs = [
      read(name, "x", x, [n], count),
      held ? { ...read(name, "u", u, [m], count), strides: [0, BYTES] } : read(name, "u", u, [rows, m], count),
      read(name, "p", p, [l], count),
      { values: [t0, dt], shape: [2] },
      { values: [first, steps, every], shape: [3] },
    ];
    if (held) inputs[1].shape = [m];
    const kept = Math.ceil(steps / every);
    const [xs, ys, end, y, diverged] = calls.call(f, count, inputs, [[kept, n], [kept, ny], [n], [ny], []].map((shape) => ({ shape })));
    return { x: end, y, xs, ys, diverged: count === 1 ? diverged[0] : diverged };
  };
  return { run };
}

function searchOf(name, { state: n, data: m }, f, calls) {
  /** From `state`, then from each row of `starts`. settings: {limits: [a, b] of the first two measures, steps, halfway,
   *  cost}. → the state found, and info: steps taken, starts used, converged (1) or not (0). */
  const solve = (state, data, starts = [], { limits, steps, halfway = 0, cost = 0 }, count = 1) => {
    const rows = starts.length / n;
    const table = rows ? starts : new Float64Array(n);
    const settings = { values: [...limits, steps, rows, halfway, cost], shape: [6] };
    const inputs = [read(name, "state", state, [n], count), read(name, "data", data, [m], count), { values: table, shape: [Math.max(rows, 1), n] }, settings];
    const [found, info] = calls.call(f, count, inputs, [{ shape: [n] }, { shape: [3] }]);
    return { state: found, info };
  };
  return { solve };
}
