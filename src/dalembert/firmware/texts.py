"""What the files of a firmware say: header, C source, example, build file, README."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dalembert.compile.c_source import c_source, guarded, literal
from dalembert.compile.kinds import SINGLE
from dalembert.firmware.cores import BARE
from dalembert.firmware.step import SAMPLES
from dalembert.names import identifier, in_line, in_markdown

if TYPE_CHECKING:
    from dalembert.firmware.make import Firmware

TESTS = 3  # states of the example's self-test
OPTIONS = ("-std=c99", "-O2", "-ffp-contract=off", "-fno-math-errno")  # of the C source: the same bits, no errno


def texts(firmware: Firmware) -> dict[str, str]:
    """All that is text, by the name of its file."""
    signature = firmware.signature
    return {
        f"{firmware.name}.h": _header(firmware),
        f"{firmware.name}.c": c_source(firmware.step.kernel.program, signature, "\n".join(_facts(firmware))),
        "main.c": _example(firmware),
        "CMakeLists.txt": _build(firmware),
        "README.md": _readme(firmware),
    }


def _facts(f: Firmware) -> Iterator[str]:
    """What is worth knowing at the call, a line each."""
    yield f"{in_line(f.step.law.name)} of {in_line(f.step.flow.name)}, for {f.core.title}."
    if f.step.h is not None:
        yield f"Call it every {f.step.h:g} s."
    if f.step.states:
        yield "A state of zeros is the start."
    else:
        yield "The law has no memory: state is not looked at, and may be NULL."
    again, off = f.step.cycle
    if f.step.h is not None and f.step.clock == SAMPLES and again:
        drift = 3600 * abs(off) / (again * f.step.h)
        late = f"; the motion is off by {drift:.1g} s an hour" if abs(off) > 1e-9 * f.step.h else ""
        yield (
            f"Samples are counted up to {again} ({again * f.step.h:g} s), where the motion is where it was, and from 1 "
            f"on again{late}."
        )
    elif f.step.h is not None and f.step.clock == SAMPLES and not f.step.ends:
        last = f.step.last_sample
        yield (
            f"Samples are counted up to {last} ({last * f.step.h / 3600:.3g} h); then time stands still, and "
            "rates that are wanted go on: start again before, with a state of zeros."
        )
    if f.code is not None:
        yield (
            f"Machine code: {f.code.size} bytes of flash. A call takes {f.step.kernel.operations} operations, the same "
            "for every state, and needs no other function."
        )
    if f.kind is SINGLE:
        _, largest, size = f.float32_errors
        proved = "no bound is proved" if f.proved is None else f"at most {f.proved:.2g}, proved"
        yield (
            f"Error of float32 over the ranges in README.md: {proved}; {largest.max():.2g} of {size.max():.3g} at "
            "random states."
        )
    yield f"Angles are right up to {f.kind.largest_angle:.0f} rad, and NaN beyond."


def _numbered(prefix: str, names: Iterable[str]) -> str:
    """An enum of places in an array; names that C takes for the same are told apart by their place."""
    seen: dict[str, int] = {}
    for k, name in enumerate(names):
        word = f"{prefix}_{identifier(name)}".upper()
        while word in seen:
            word = f"{word}_{k}"
        seen[word] = k
    return "enum {\n" + "".join(f"    {word} = {k},\n" for word, k in seen.items()) + "};\n" if seen else ""


def _header(f: Firmware) -> str:
    step, name = f.step, f.name.upper()
    sizes = {"STATES": max(len(step.states), 1), "INPUTS": len(step.inputs), "OUTPUTS": len(step.outputs)}
    parts = ["".join(f"#define {name}_{word} {size}\n" for word, size in sizes.items())]
    if step.h is not None:
        parts[0] += f"#define {name}_SAMPLE_TIME {literal(step.h, f.kind)} /* {step.h:g} s */\n"
    parts += [_numbered(f"{name}_{part}", getattr(step, names)) for part, names in _PARTS]
    parts.append(f"{f.signature.declaration};")
    return f.signature.comment("\n".join(_facts(f))) + guarded(f"DALEMBERT_{name}_H", "\n".join(filter(None, parts)))


_PARTS = (("STATE", "states"), ("IN", "inputs"), ("OUT", "outputs"))


def _table(f: Firmware, name: str, rows: np.ndarray) -> str:
    lines = (", ".join(literal(x, f.kind) for x in row) for row in rows.tolist())
    return f"static {name} = {{\n" + "".join(f"    {{{line}}},\n" for line in lines) + "};\n"


def _example(f: Firmware) -> str:
    """A control loop to fill in, and a test that what runs on the chip is what ran in Python."""
    name, word, real = f.name, f.name.upper(), f.kind.name
    state, given = f.sample(TESTS, seed=1)
    made = f.step.kernel(*(x.astype(f"f{f.kind.bytes}") for x in (state, given)))
    after, out = made if f.step.states else (state, made)
    tables = "".join(
        _table(f, f"{kind}{real} {array}[TESTS][{word}_{size}]", rows)
        for kind, array, size, rows in (
            ("", "states", "STATES", state),
            ("const ", "given", "INPUTS", given),
            ("const ", "after", "STATES", np.asarray(after)),
            ("const ", "wanted", "OUTPUTS", np.asarray(out)),
        )
    )
    every = f"every {f.step.h:g} s" if f.step.h is not None else "as often as you like"
    return f"""/* An example of {name}.h: a control loop to fill in, and a test of the code on the chip. */
#include "{name}.h"

#define TESTS {TESTS}

/* For a timer to call {every}. */
void control(void (*measure)({real} *in), void (*drive)(const {real} *out))
{{
    static {real} state[{word}_STATES]; /* zeros: the start */
    {real} in[{word}_INPUTS], out[{word}_OUTPUTS];
    measure(in);
    {name}_step(state, in, out);
    drive(out);
}}

/* States at random, and what Python computes there. */
{tables}
/* Zero if the chip computes the same numbers as Python did. */
int main(void)
{{
    int test, k, wrong = 0;
    {real} out[{word}_OUTPUTS];
    for (test = 0; test < TESTS; test++) {{
        {name}_step(states[test], given[test], out);
        for (k = 0; k < {word}_STATES; k++)
            wrong += states[test][k] != after[test][k];
        for (k = 0; k < {word}_OUTPUTS; k++)
            wrong += out[k] != wanted[test][k];
    }}
    return wrong;
}}
"""


def _build(f: Firmware) -> str:
    name, flags = f.name, " ".join(f.core.flags)
    generic = "    set(CMAKE_SYSTEM_NAME Generic)\n" if f.core.link == BARE else ""
    chosen = f"""if(NOT DEFINED CMAKE_C_COMPILER AND NOT DEFINED CMAKE_TOOLCHAIN_FILE)
{generic}    set(CMAKE_C_COMPILER {f.core.compiler})
    set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
endif()
"""
    source = f"add_library({name} STATIC {name}.c)\ntarget_compile_options({name} PRIVATE {' '.join(OPTIONS)} {flags})"
    library = f"""option(FROM_SOURCE "Compile {name}.c instead of taking {name}.o" OFF)
if(FROM_SOURCE)
    {source.replace(chr(10), chr(10) + "    ")}
else()
    add_library({name} STATIC {name}.o)
    set_target_properties({name} PROPERTIES LINKER_LANGUAGE C)
endif()"""
    bare = f.core.link == BARE
    how = ", which starts at main: who loads it sets up the stack and the floating-point unit" if bare else ""
    return f"""cmake_minimum_required(VERSION 3.16)
{chosen if f.code is not None else ""}project({name} C)

{source if f.code is None else library}
target_include_directories({name} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})

# The self-test of main.c{how}.
add_executable(example main.c)
target_compile_options(example PRIVATE -std=c99 {flags})
target_link_options(example PRIVATE {" ".join((*f.core.flags, *f.core.link))})
target_link_libraries(example PRIVATE {name}{"" if bare else " m"})
"""


def _rows(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [" | ".join(str(cell) for cell in row) for row in (heads, ["---"] * len(heads), *rows)]
    return "".join(f"| {line} |\n" for line in lines)


def _readme(f: Firmware) -> str:
    step = f.step
    parts = [f"# {in_markdown(step.law.name)} of {in_markdown(step.flow.name)}\n"]
    parts.append("".join(f"- {in_markdown(line)}\n" for line in _facts(f)))
    parts.append(f"```c\n{f.signature.declaration};\n```\n")
    ranges = {name: f"{low:.6g} … {high:.6g}" for name, (low, high) in f.ranges.items()}
    parts.append(
        "The ranges are those the law is made for: joint limits, what nothing limits as it was assumed, and states "
        "that follow from other numbers as random ones leave them.\n"
    )
    for array, names in (("in", step.inputs), ("state", step.states)):
        if names:
            places = ((k, in_markdown(x), ranges[x]) for k, x in enumerate(names))
            parts.append(f"## {array}\n\n" + _rows(("place", "name", "range"), places))
    heads = ["place", "name"]
    rows: list[list[object]] = [[k, in_markdown(x)] for k, x in enumerate(step.outputs)]
    if f.kind is SINGLE:
        heads += ["largest", "error of float32: half below", "largest met", "never above"]
        columns = zip(*f.float32_errors, f.float32_bound.bounds[-1].tolist(), strict=True)
        for row, (median, worst, size, bound) in zip(rows, columns, strict=True):
            row += [f"{size:.3g}", f"{median:.2g}", f"{worst:.2g}", f"{bound:.2g}" if bound < size else "?"]
    parts.append("## out\n\n" + _rows(heads, rows))
    if f.kind is SINGLE:
        parts.append(
            "Errors are met against doubles at 1000 random states of the ranges above; what they are never above is "
            "proved for every state in them (`kernel.float32_error`).\n"
        )
        parts += [f"{in_markdown(sentence)}.\n" for sentence in f.float32_bound.why]
    if f.left_out:
        parts.append("## Left out\n\n" + "".join(f"- {in_markdown(sentence)}\n" for sentence in f.left_out))
    parts.append(_how(f))
    return "\n".join(parts)


def _how(f: Firmware) -> str:
    name, code = f.name, f.code is not None
    files = [f"| `{name}.h` | the declaration, sizes, places in the arrays |"]
    if code:
        files.append(f"| `{name}.o` | machine code for {f.core.title}: link it, it needs nothing else |")
    files += [
        f"| `{name}.c` | the same in C99: the same bits, if multiply–adds are left as they are written |",
        "| `main.c` | a control loop to fill in, and a self-test: zero if the chip computes what Python did |",
        "| `CMakeLists.txt` | builds the example |",
    ]
    by_hand = f"{f.core.compiler} {' '.join((*f.core.flags, *OPTIONS))} -c {name}.c"
    return "\n".join(
        [
            "## Files\n\n| file | |\n|---|---|",
            *files,
            "\n```sh\ncmake -B build . && cmake --build build",
            *(["cmake -B build -DFROM_SOURCE=ON .   # the C source instead of the object file"] if code else []),
            f"{by_hand}   # without CMake\n```\n",
            "No allocation, no recursion, no interrupt is disabled; the function may be interrupted, and called for "
            "several robots with a state each. `state`, `in` and `out` must not overlap.",
            *(
                ["The machine code has no branch that depends on data; that of a C compiler may have some."]
                if code
                else []
            ),
            "",
        ]
    )
