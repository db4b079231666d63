"use strict";
// A page of exercises that grades itself: formulas are read, never run; nothing is fetched, nothing is sent.
// In order: reading formulas, reading numbers with units, grading, the page.

const LONGEST = 2000, WORD = 60, NAME = 16, DEEPEST = 80, CHANGES = 5000;  // characters, brackets, changes that are tried
const ONE_SLIP = 0.5, TWO_SLIPS = 0.25;
class Unreadable extends Error {}
const own = (table, key) => (Object.hasOwn(table, key) ? table[key] : undefined);  // not what every object inherits

// ------------------------------------------------------------------------------------------------ reading formulas
const GREEK = { α: "alpha", β: "beta", γ: "gamma", δ: "delta", ε: "epsilon", ζ: "zeta", η: "eta", θ: "theta", ϑ: "theta",
  κ: "kappa", λ: "lambda", μ: "mu", ν: "nu", ξ: "xi", π: "pi", ρ: "rho", σ: "sigma", τ: "tau", φ: "phi", ϕ: "phi",
  χ: "chi", ψ: "psi", ω: "omega", Γ: "Gamma", Δ: "Delta", Ω: "Omega" };
const HIGH = "⁰¹²³⁴⁵⁶⁷⁸⁹", LOW = "₀₁₂₃₄₅₆₇₈₉";
const FUNCTIONS = { sin: Math.sin, cos: Math.cos, tan: Math.tan, asin: Math.asin, acos: Math.acos, atan: Math.atan,
  atan2: Math.atan2, sqrt: Math.sqrt, exp: Math.exp, log: Math.log, abs: Math.abs, sgn: Math.sign };
const SPELLED = { arcsin: "asin", arccos: "acos", arctan: "atan", ln: "log", sign: "sgn", Sin: "sin", Cos: "cos" };

// One spelling for blackboard signs and LaTeX: q̇₁² and \dot{q}_1^2 become qd1^(2).
function plain(text) {
  if (text.length > LONGEST) throw new Unreadable(`your answer has ${text.length} characters; ${LONGEST} are the most that are read`);
  return text.normalize("NFD")
    .replace(/\$|\\(?:left|right|[bB]igg?[lr]?|displaystyle|quad|[,;:! ])(?![A-Za-z])|\\[,;:! ]/g, " ")
    .replace(/\\(d+)ot\s*(?:\{\s*\\?([A-Za-z]+)\s*\}|\\?([A-Za-z]+))/g, (m, dots, a, b) => ` ${a || b}${dots}`)
    .replace(/([A-Za-zα-ωϑϕ])\u0308/g, "$1\u0307\u0307").replace(/([α-ωϑϕΓΔΩ])/g, (c) => ` ${GREEK[c] || c}`)
    .replace(/\u0307/g, "d").replace(/µ/g, " mu")
    .replace(new RegExp(`[${HIGH}⁻]+`, "g"), (m) => `^(${[...m].map((c) => (c === "⁻" ? "-" : HIGH.indexOf(c))).join("")})`)
    .replace(new RegExp(`[${LOW}]`, "g"), (c) => LOW.indexOf(c)).replace(/½/g, "(1/2)").replace(/¼/g, "(1/4)")
    .replace(/\\(?:text|mathrm|mathit|operatorname|mathbf)\s*\{([^{}]*)\}/g, " $1 ")
    .replace(/\\[td]?frac\s*(\d)\s*(\d)/g, "($1/$2)").replace(/\\[td]frac/g, "\\frac")
    .replace(/\\(?:cdot|times|ast)(?![A-Za-z])|[·×⋅∙∗]/g, "*").replace(/\^\s*\{?\s*\\circ\s*\}?|\\deg(?:ree)?(?![A-Za-z])|°/g, " °")
    .replace(/_\s*\{([^{}]*)\}/g, (m, inner) => inner.replace(/[\s,\\]/g, "")).replace(/_/g, "")
    .replace(/√/g, " sqrt").replace(/[−–—]/g, "-").replace(/[÷∕]/g, "/").replace(/\*\*/g, "^")
    .replace(/\{/g, "(").replace(/\}/g, ")").replace(/\\([A-Za-z]+)/g, " $1 ").replace(/ (theta|alpha|beta|lambda|phi|psi|omega|tau|rho) (?=\d)/g, " $1").trim();
}

// What a run of letters and digits means here: a symbol, a function, c12 for cos(q1 + q2); null if nothing.
function meaning(word, symbols) {
  if (symbols.includes(word)) return ["symbol", word];
  const name = own(SPELLED, word) || word;
  if (own(FUNCTIONS, name)) return ["function", name];
  if (word === "pi") return ["number", Math.PI];
  const short = /^([cs])(\d+)$/.exec(word);
  if (short) {
    for (const letter of ["q", "theta"]) {
      const joints = [...short[2]].map((k) => letter + k);
      if (joints.every((q) => symbols.includes(q))) {
        const angle = joints.map((q) => ["symbol", q]).reduce((a, b) => ["+", a, b]);
        return ["call", short[1] === "c" ? "cos" : "sin", angle];
      }
    }
  }
  const others = [[/^theta/, "q"], [/^q/, "theta"], [/^lc/, "r"], [/^r/, "lc"], [/^L/, "l"], [/^l(?!c)/, "L"], [/^(d+)([a-z]+?)(\d*)$/, "$2$1$3"],
    [/^([a-z]+?)(\d+)(d+)(?:ot)?$/, "$1$3$2"], [/^([a-z]+?)d(d?)ot(\d*)$/, "$1d$2$3"]].map(([from, to]) => word.replace(from, to));
  const found = [...new Set(others)].filter((one) => one !== word && symbols.includes(one));
  return found.length === 1 ? ["symbol", found[0]] : null;
}

// A run of letters and digits as meanings, the longest first: m2l1cos is m2, l1, cos; null if it has none.
function split(word, symbols, tried = new Set()) {
  if (tried.has(word.length) || word.length > WORD) return null;
  tried.add(word.length);
  for (let k = Math.min(word.length, NAME); k > 0; k--) {
    const first = /^\d/.test(word.slice(k)) ? null : meaning(word.slice(0, k), symbols);
    const rest = first && (k < word.length ? split(word.slice(k), symbols, tried) : []);
    if (rest) return [first, ...rest];
  }
  return null;
}

function tokens(text, symbols) {
  const found = [], pattern = /\s*(?:((?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|([A-Za-z][A-Za-z0-9]*)|([-+*/^(),°]))/y;
  let at = 0;
  while (at < text.length) {
    pattern.lastIndex = at;
    const m = pattern.exec(text);
    if (!m) throw new Unreadable(`'${text.slice(at).trim().slice(0, 20)}' is no part of a formula`);
    if (m[1]) found.push(["number", Number(m[1])]);
    else if (m[3]) found.push([m[3]]);
    else if (m[2] === "frac") found.push(["frac"]);
    else {
      const parts = split(m[2], symbols);
      if (!parts) throw new Unreadable(`'${m[2].slice(0, 20)}' means nothing here; ${symbols.length ? `the symbols are ${symbols.join(", ")}` : "write a number"}`);
      found.push(...parts);
    }
    at = pattern.lastIndex;
  }
  return found;
}

// The tree of a formula: ["number", x], ["symbol", name], ["+", a, b], …, ["neg", a], ["call", name, a, b].
function read(text, symbols = []) {
  const list = tokens(plain(text), symbols);
  let at = 0, depth = 0;
  const next = () => (at < list.length ? list[at][0] : "end");
  const take = (kind) => { if (next() !== kind) throw new Unreadable(next() === "end" ? "it ends too early" : `a ${kind} is missing`); return list[at++]; };
  const deeper = (part) => { if (++depth > DEEPEST) throw new Unreadable("its brackets are nested too deeply"); const made = part(); depth--; return made; };
  const starts = () => ["number", "symbol", "function", "call", "(", "frac"].includes(next());
  function sum() {
    let left = next() === "-" ? (at++, ["neg", product()]) : next() === "+" ? (at++, product()) : product();
    while (next() === "+" || next() === "-") left = [list[at++][0], left, product()];
    return left;
  }
  function product() {
    let left = factor();
    for (;;) {
      if (next() === "*" || next() === "/") left = [list[at++][0], left, factor()];
      else if (starts() && next() !== "number") left = ["*", left, factor()];
      else return left;
    }
  }
  function factor() {
    if (next() === "-") { at++; return deeper(() => ["neg", factor()]); }
    if (next() === "+") { at++; return deeper(factor); }
    let base = atom();
    while (next() === "°") { at++; base = ["*", base, ["number", Math.PI / 180]]; }
    return next() === "^" ? (at++, deeper(() => ["^", base, factor()])) : base;
  }
  function group() { take("("); const made = deeper(sum); take(")"); return made; }
  function atom() {
    const kind = next();
    if (kind === "(") return group();
    if (kind === "frac") { at++; const above = group(); return ["/", above, group()]; }
    if (kind === "function") return call();
    if (kind === "number" || kind === "symbol" || kind === "call") return list[at++];
    throw new Unreadable(kind === "end" ? "it ends too early" : `'${kind}' is in the wrong place`);
  }
  function call() {
    const name = list[at++][1];
    let power = null;
    if (next() === "^") { at++; power = next() === "(" ? group() : take("number"); }
    let made;
    if (next() === "(") {
      at++;
      const inner = [deeper(sum)];
      while (next() === ",") { at++; inner.push(deeper(sum)); }
      take(")");
      if (inner.length !== (name === "atan2" ? 2 : 1)) throw new Unreadable(`${name} takes ${name === "atan2" ? "two numbers" : "one"}`);
      made = ["call", name, ...inner];
    } else {
      let inner = deeper(factor);
      if (inner[0] === "number" && next() === "symbol") inner = ["*", inner, deeper(factor)];
      made = ["call", name, inner];
    }
    return power ? ["^", made, power] : made;
  }
  if (!list.length) throw new Unreadable("there is nothing");
  const made = sum();
  if (at < list.length) throw new Unreadable(`'${list[at][1] ?? list[at][0]}' is in the wrong place`);
  return made;
}

function value(tree, at) {
  const [kind, a, b] = tree;
  switch (kind) {
    case "number": return a;
    case "symbol": return at[a];
    case "neg": return -value(a, at);
    case "+": return value(a, at) + value(b, at);
    case "-": return value(a, at) - value(b, at);
    case "*": return value(a, at) * value(b, at);
    case "/": return value(a, at) / value(b, at);
    case "^": return value(a, at) ** value(b, at);
    default: return FUNCTIONS[a](...tree.slice(2).map((inner) => value(inner, at)));
  }
}

// The formula with one thing changed, and in words what is then repaired.
function* changes(tree, symbols) {
  const [kind, a, b] = tree;
  if (kind === "+" || kind === "-") {
    yield [[kind === "+" ? "-" : "+", a, b], "a sign is wrong"];
    yield [a, "a term is too many"];
    yield [b, "a term is too many"];
  }
  if (kind === "neg") yield [a, "a sign is wrong"];
  if (kind === "call" && (a === "sin" || a === "cos")) yield [["call", a === "sin" ? "cos" : "sin", b], "sine and cosine are exchanged"];
  if (kind === "^") yield [a, "a power is wrong"];
  if (kind === "number" && a) yield [["number", -a], "a sign is wrong"];
  if (kind === "symbol") {
    yield [["^", tree, ["number", 2]], `${a} should be squared`];
    for (const other of symbols) if (other !== a && other.replace(/\d/g, "") === a.replace(/\d/g, "")) yield [["symbol", other], `an index is wrong: ${a} should be ${other}`];
    for (const other of symbols) if (other !== a && other.replace(/\D/g, "") === a.replace(/\D/g, "")) yield [["symbol", other], `${a} should be ${other}`];
  }
  if (kind !== "+" && kind !== "-") {
    yield [["*", ["number", 2], tree], "a factor 2 is missing"];
    yield [["*", ["number", 0.5], tree], "a factor ½ is missing"];
  }
  for (let k = 1; k < tree.length; k++) {
    if (!Array.isArray(tree[k])) continue;
    for (const [inner, words] of changes(tree[k], symbols)) yield [tree.map((part, i) => (i === k ? inner : part)), words];
  }
}

// ------------------------------------------------------------------------------------------- numbers with units
function readUnit(text, table) {
  const pattern = /\s*(?:([A-Za-zµΩ°%]+)(?:\^?\(?(-?\d)\)?)?|(1?\/|[()])|\*)\s*/y;
  const raised = text.replace(new RegExp(`[${HIGH}⁻]+`, "g"), (m) => "^" + [...m].map((c) => (c === "⁻" ? "-" : HIGH.indexOf(c))).join(""))
    .replace(/[·×⋅∙]/g, "*").replace(/[−–]/g, "-").replace(/μ/g, "µ");
  let unit = [1, [0, 0, 0, 0]], outer = [1], sign = 1, at = 0;
  while (at < raised.length) {
    pattern.lastIndex = at;
    const m = pattern.exec(raised);
    if (!m) return null;
    at = pattern.lastIndex;
    if (m[1]) {
      const found = oneUnit(m[1], table), power = outer[outer.length - 1] * sign * Number(m[2] || 1);
      if (!found) return null;
      unit = [unit[0] * found[0] ** power, unit[1].map((d, k) => d + power * found[1][k])];
      sign = 1;
    } else if (m[3] === "(") { outer.push(outer[outer.length - 1] * sign); sign = 1; }
    else if (m[3] === ")") { if (outer.length === 1) return null; outer.pop(); }
    else if (m[3]) sign = -1;
  }
  return sign === 1 && outer.length === 1 ? unit : null;
}

function oneUnit(word, table) {
  const singular = word.length > 2 ? word.toLowerCase().replace(/s$/, "") : word, name = own(table.words, word) || own(table.words, singular) || word;
  if (name !== word) return readUnit(name, table);
  const known = own(table.units, name) || own(table.unprefixed, name);
  if (known) return known;
  if (own(table.prefixes, name[0]) && own(table.units, name.slice(1))) {
    const [factor, dimension] = table.units[name.slice(1)];
    return [table.prefixes[name[0]] * factor, dimension];
  }
  for (let k = 1; word.length <= 8 && k < Math.min(word.length, 4); k++) {
    const first = oneUnit(word.slice(0, k), table), rest = first && oneUnit(word.slice(k), table);
    if (rest) return [first[0] * rest[0], first[1].map((d, i) => d + rest[1][i])];
  }
  return null;
}

function readNumber(text, table) {
  if (text.length > LONGEST) plain(text);
  let body = text.split(/[=≈]/).pop().replace(/\$|\\[,;:! ]/g, " ").replace(/\\(?:text|mathrm)\s*\{([^{}]*)\}/g, " $1 ").replace(/\^\s*\{?\s*\\circ\s*\}?/g, "°").trim();
  if (/\b(nan|inf|infinity)\b|∞/i.test(body)) throw new Unreadable("the answer is a finite number");
  for (let k = 0; k <= body.length; k++) {
    const before = body.slice(0, k);
    if (k < body.length && (!/[\d.)}\s]$|pi$|π$/.test(before) || /^\s*[*(/]/.test(body.slice(k)))) continue;
    const unit = k < body.length ? readUnit(body.slice(k), table) : null;
    if (!unit && k < body.length) continue;
    const written = before.trim().replace(/^([-+−]?\d+),(\d+)$/, "$1.$2"), x = value(read(written), {});
    if (!Number.isFinite(x)) throw new Unreadable("the answer is a finite number");
    return { value: x, unit, rounding: rounding(written) };
  }
}

function rounding(written) {
  const m = /^[-+−]?0*\.?0*(\d[\d.]*)(?:e([-+]?\d+))?$/i.exec(written);
  if (!m || m[1].replace(/\D/g, "").length < 2) return 0;
  const decimals = written.includes(".") ? written.toLowerCase().split("e")[0].split(".")[1].length : 0;
  return 0.5 * 10 ** (Math.min(Number(m[2] || 0), 99) - decimals);
}

// ------------------------------------------------------------------------------------------------------ grading
// [share of the points, why]; `why` is text, or {html} where it comes with the exercise.
const told = (wrong) => [wrong.credit, { html: wrong.reveals }];
const size = (answer) => (answer.size ? ` The answer is ${answer.size}.` : "");

function inUnit(number, answer, table) {
  const wanted = readUnit(answer.unit, table);
  if (!number.unit) return { x: number.value, note: answer.unit ? ` Without a unit it was taken to be in ${answer.unit}.` : "" };
  if (!wanted || number.unit[1].some((d, k) => d !== wanted[1][k])) return { x: NaN, note: `This has the unit of another quantity: the answer is in ${answer.unit || "no unit"}.` };
  return { x: (number.value * number.unit[0]) / wanted[0], note: "" };
}

function near(answer, x, wanted, rounding = 0) {
  const turn = { rad: 2 * Math.PI, deg: 360 }[answer.unit], off = x - wanted;
  return Math.abs(turn ? off - turn * Math.round(off / turn) : off) <= Math.max(1.0001 * answer.tolerance * Math.max(Math.abs(wanted), 1e-9), rounding);
}

function gradeNumber(answer, text, table) {
  const number = readNumber(text, table), { x, note } = inUnit(number, answer, table), wanted = answer.right[0][0];
  if (Number.isNaN(x)) {
    if (near(answer, number.value, wanted)) return [ONE_SLIP, `The number is right, but not its unit: the answer is in ${answer.unit || "no unit"}.`];
    return [0, note];
  }
  if (near(answer, x, wanted)) return [1, `Right.${note}`];
  for (const wrong of answer.wrong) if (near(answer, x, wrong.values[0][0])) return told(wrong);
  if (wanted && number.rounding && near(answer, x, wanted, number.rounding * Math.abs(x / number.value))) return [ONE_SLIP, `This is rounded too far: the answer is wanted within ${+(100 * answer.tolerance).toPrecision(3)} %.`];
  for (const [factor, words, share] of table.factors) {
    if (/degrees/.test(words) && (!/^(rad|deg)/.test(answer.unit) || number.unit)) continue;
    if (wanted && Math.abs(x - factor * wanted) <= answer.tolerance * Math.abs(factor * wanted)) return [share, words];
  }
  return [0, `This is not right.${size(answer)}`];
}

const column = (rows, k) => rows.map((row) => row[k]);
const same = (given, wanted, bound) => {
  const scale = Math.max(...wanted.map(Math.abs), 1e-9);
  return given.every((x, p) => Math.abs(x - wanted[p]) <= bound * scale);
};

function valuesAt(tree, answer) {
  const found = answer.at.map((point) => value(tree, point));
  if (!found.every(Number.isFinite)) throw new Unreadable("it has no value at the numbers that were tried: it divides by zero, or grows too large");
  return found;
}

function gradeFormula(answer, text) {
  const tree = read(text.split("=").pop(), answer.symbols), given = valuesAt(tree, answer), right = column(answer.right, 0);
  if (same(given, right, 1e-7)) return [1, "Right."];
  for (const wrong of answer.wrong) if (same(given, column(wrong.values, 0), 1e-7)) return told(wrong);
  let tried = 0;
  for (const [changed, words] of changes(tree, answer.symbols)) {
    if (++tried > CHANGES) break;
    if (same(answer.at.map((point) => value(changed, point)), right, 1e-7)) return [ONE_SLIP, `Not quite: ${words}.`];
  }
  return [0, `This is not right.${size(answer)}`];
}

// A matrix: texts of its entries, row by row.
function gradeMatrix(answer, texts, table) {
  const [rows, columns] = answer.shape, symbols = answer.symbols;
  const entry = (text, k) => {
    try {
      if (symbols.length) return valuesAt(read(text, symbols), answer);
      const { x, note } = inUnit(readNumber(text, table), answer, table);
      if (Number.isNaN(x)) throw new Unreadable(note.replace(/\.$/, ""));
      return [x];
    } catch (error) { throw error instanceof Unreadable ? new Unreadable(`entry (${place(k)}): ${error.message}`) : error; }
  };
  const place = (k) => (answer.vector ? `${k + 1}` : `${Math.floor(k / columns) + 1}, ${(k % columns) + 1}`);
  const given = texts.map(entry);
  const equal = (wanted, order = (k) => k, sign = 1) => {
    const scale = symbols.length ? 0 : Math.max(...wanted.flat().map(Math.abs)) || 1e-9;
    return given.map((x, k) => {
      const y = column(wanted, order(k)).map((v) => sign * v);
      return symbols.length ? same(x, y, 1e-7) : Math.abs(x[0] - y[0]) <= answer.tolerance * scale;
    });
  };
  const right = equal(answer.right), all = (list) => list.every(Boolean);
  if (all(right)) return [1, "Right."];
  for (const wrong of answer.wrong) if (wrong.values[0].length === given.length && all(equal(wrong.values))) return told(wrong);
  if (rows === columns && !answer.vector && all(equal(answer.right, (k) => (k % columns) * columns + Math.floor(k / columns)))) return [ONE_SLIP, "This is the transpose of the right matrix: rows and columns are exchanged."];
  if (!symbols.length && all(equal(answer.right, (k) => k, -1))) return [ONE_SLIP, "Every entry has the wrong sign."];
  const off = right.map((ok, k) => (ok ? -1 : k)).filter((k) => k >= 0);
  const counted = right.filter((ok, k) => ok && column(answer.right, k).some(Boolean)).length;  // zeros are easily right
  const share = counted >= off.length ? { 1: ONE_SLIP, 2: TWO_SLIPS }[off.length] || 0 : 0;
  if (share) return [share, `Not quite: ${off.length === 1 ? `entry (${place(off[0])}) is` : `entries (${place(off[0])}) and (${place(off[1])}) are`} not right, the others are.`];
  return [0, `This is not right: ${off.length} of ${given.length} entries are off, (${place(off[0])}) first.`];
}

function gradeChoice(answer, text) {
  if (answer.choices.indexOf(text) === answer.choice) return [1, "Right."];
  const wrong = answer.wrong.find((one) => one.choice === text);
  return wrong ? told(wrong) : [0, "This is not right."];
}

// What an answer earns: [points, why]. Texts are one, or as many as a matrix has entries.
function grade(answer, texts, table) {
  if (texts.every((text) => !text.trim())) return [0, "There is no answer."];
  try {
    const [share, why] = { number: () => gradeNumber(answer, texts[0], table), formula: () => gradeFormula(answer, texts[0]),
      matrix: () => gradeMatrix(answer, texts, table), choice: () => gradeChoice(answer, texts[0]) }[answer.kind]();
    return [share * answer.points, why];
  } catch (error) {
    if (!(error instanceof Unreadable) && !(error instanceof RangeError)) throw error;
    const wanted = { number: "a number", formula: "a formula", matrix: "a matrix", choice: "a choice" }[answer.kind];
    return [0, `This cannot be read as ${wanted}: ${error instanceof Unreadable ? error.message : "it is too long"}.`];
  }
}

// ----------------------------------------------------------------------------------------------------- the page
// What is not to be read by accident is stored as bytes that a small generator has shifted; no secret is kept by that.
function decode(text, seed) {
  let state = seed >>> 0;
  const bytes = Uint8Array.from(atob(text), (c) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return c.charCodeAt(0) ^ (state >>> 24);
  });
  return JSON.parse(new TextDecoder().decode(bytes));
}

function start() {
  const page = JSON.parse(document.getElementById("data").textContent), table = page.table, key = `dalembert ${page.id}`;
  const exercises = page.exercises.map((text, k) => decode(text, page.seed + k));
  const fields = (k, i) => [...document.querySelectorAll(`[data-answer="${k}-${i}"]`)];
  const name = document.getElementById("student");
  let state = { name: "", given: {}, hints: {}, checked: {} };
  try { state = { ...state, ...JSON.parse(localStorage.getItem(key) || "{}") }; } catch { /* no storage: nothing is kept */ }
  const save = () => { try { localStorage.setItem(key, JSON.stringify(state)); } catch { /* as above */ } };
  const texts = (k, i) => {
    const list = fields(k, i);
    return list[0].type === "radio" ? [list.find((f) => f.checked)?.value || ""] : list.map((f) => f.value);
  };
  const numbers = (x) => String(Math.round(x * 100) / 100);

  function check(k) {
    let earned = 0;
    exercises[k].answers.forEach((answer, i) => {
      const [points, why] = grade(answer, texts(k, i), table), place = document.getElementById(`why-${k}-${i}`);
      earned += points;
      place.className = `why ${points >= answer.points ? "good" : points > 0 ? "doubt" : "bad"}`;
      if (why.html) place.innerHTML = why.html; else place.textContent = why;
      place.append(` (${numbers(points)} of ${answer.points})`);
    });
    state.checked[k] = earned;
    document.getElementById(`points-${k}`).textContent = `${numbers(earned)} of ${exercises[k].answers.reduce((sum, a) => sum + a.points, 0)} points`;
    total();
    save();
  }

  function total() {
    const sum = Object.values(state.checked).reduce((a, b) => a + b, 0);
    const of = exercises.flatMap((e) => e.answers).reduce((all, a) => all + a.points, 0);
    document.getElementById("total").textContent = `${numbers(sum)} of ${of} points`;
  }

  function hint(k, count) {
    const list = document.getElementById(`hints-${k}`), button = document.getElementById(`hint-${k}`), all = exercises[k].hints;
    while (list.children.length < Math.min(count, all.length)) {
      const item = document.createElement("li");
      item.innerHTML = all[list.children.length];
      list.append(item);
    }
    state.hints[k] = list.children.length;
    button.textContent = `Hint ${Math.min(state.hints[k] + 1, all.length)} of ${all.length}`;
    button.hidden = state.hints[k] >= all.length;
  }

  // The answers as a file that `dalembert exercise grade` takes.
  function answersFile() {
    const quoted = (text) => JSON.stringify(text).replace(/\x7f/g, "\\u007f");
    const lines = [`# Answers to ${page.title.replace(/\s+/g, " ")}`, `student = ${quoted(state.name || page.student)}`];
    exercises.forEach((exercise, k) => {
      lines.push("", "[[exercise]]", `family = ${quoted(exercise.family)}`, `seed = ${exercise.seed}`, "[exercise.answers]");
      exercise.answers.forEach((answer, i) => {
        const list = texts(k, i).map((text) => text.trim().replace(/^([-+−]?\d+),(\d+)$/, "$1.$2")), [, columns] = answer.shape || [];
        let text = answer.kind === "matrix" ? texts(k, i)[0] : list[0];
        if (answer.kind === "matrix" && list.some(Boolean)) {
          const rows = Array.from({ length: list.length / columns }, (_, r) => `[${list.slice(r * columns, (r + 1) * columns).join(", ")}]`);
          text = answer.vector ? `[${list.join(", ")}]` : `[${rows.join(", ")}]`;
        }
        lines.push(`${quoted(answer.name)} = ${quoted(text)}`);
      });
    });
    return lines.join("\n") + "\n";
  }

  exercises.forEach((exercise, k) => {
    exercise.answers.forEach((answer, i) => fields(k, i).forEach((field, j) => {
      const id = `${k}-${i}-${field.type === "radio" ? 0 : j}`;
      if (field.type === "radio") field.checked = state.given[id] === field.value;
      else field.value = state.given[id] || "";
      field.addEventListener("input", () => { state.given[id] = field.value; save(); });
    }));
    document.getElementById(`form-${k}`).addEventListener("submit", (event) => { event.preventDefault(); check(k); });
    document.getElementById(`hint-${k}`).addEventListener("click", () => { hint(k, (state.hints[k] || 0) + 1); save(); });
    hint(k, state.hints[k] || 0);
    const solution = document.getElementById(`solution-${k}`);
    if (solution) solution.addEventListener("toggle", () => { solution.querySelector("div").innerHTML = exercise.solution; });
    if (k in state.checked) check(k);
  });
  name.value = state.name || page.student;
  name.addEventListener("input", () => { state.name = name.value; save(); });
  document.getElementById("save").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([answersFile()], { type: "application/toml" }));
    link.download = `${(name.value || "answers").replace(/[^\p{L}\p{N}_.-]+/gu, "-")}.toml`;
    link.click();
  });
  document.getElementById("clear").addEventListener("click", () => {
    try { localStorage.removeItem(key); } catch { /* as above */ }
    location.reload();
  });
  total();
}

start();
