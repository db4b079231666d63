// A robot as WebAssembly, made by Dalembert. SI units, radians; matrices row by row.
import { load as loadModule, refuse } from "./wasm.js";
import { about, signatures } from "./robot.js";

export { about };

/** The robot's functions. Without `bytes` the module beside this file is read, in a browser, Node, Deno or Bun. */
export async function load(bytes) {
  const found = await loadModule(bytes ?? (await read(new URL(about.module, import.meta.url))), signatures);
  const { ik_search, ik_finish, ...functions } = found;
  if (ik_search) functions.ik = solverOf(ik_search, ik_finish, about.ik);
  return functions;
}

async function read(url) {
  if (url.protocol !== "file:") return (await fetch(url)).arrayBuffer();
  return (await import("node:fs/promises")).readFile(url);
}

/** Damped steps from q0, then from a table of starts; errors are recomputed at the answer. */
function solverOf(search, finish, { first, starts, steps, halfway, cost, beyond }) {
  return (T, q0 = first, { tolerance = 1e-6, ...rest } = {}) => {
    refuse("ik", rest, "tolerance");
    for (const [name, x, size] of [["T", T, 16], ["q0", q0, first.length]]) {
      if (x?.length !== size) throw new TypeError(`${name} of ik must have ${size} numbers, got ${x?.length ?? typeof x}`);
    }
    if (!(tolerance > 0)) throw new TypeError(`tolerance of ik must be above 0, got ${tolerance}`);
    const inside = 0.99 * tolerance;
    const limits = [inside ** 2, (2 * Math.sin(Math.min(inside, Math.PI) / 2)) ** 2];
    const { state, info } = search.solve(q0, T, starts, { limits, steps, halfway, cost });
    const [q, [position_error, orientation_error, past]] = finish(state, q0, T);
    const converged = position_error <= tolerance && orientation_error <= tolerance && past <= beyond;
    return { q, converged, position_error, orientation_error, iterations: info[0], restarts: info[1] - 1 };
  };
}
