"""Rename classes and constants that several modules define, as tools/unique_names.txt says: run once, then delete both.

A row is a module, its name of today and its new name. The module and whoever imports the name are rewritten. What it
cannot do is printed: names in strings, and `import … as …` of names that the importer defines itself.
"""

import ast
import collections
import io
import re
import tokenize
from pathlib import Path

ROOT = Path(".")
SRC = ROOT / "src/dalembert"


def load():
    rows = [line.split() for line in (ROOT / "tools" / "unique_names.txt").read_text().splitlines()]
    return [(path, old, new) for path, old, new in rows]


def modname(path):
    n = "dalembert." + path[:-3].replace("/", ".")
    return n[:-9] if n.endswith(".__init__") else n


def top_names(tree):
    out = set()
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            ts = node.targets if isinstance(node, ast.Assign) else [node.target]
            out |= {n.id for t in ts for n in ast.walk(t) if isinstance(n, ast.Name)}
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            out |= {(a.asname or a.name) for a in node.names}
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            out.add(node.name)
    return out


def replace_tokens(src, bare, attr, fixed):
    """bare: {old:new} for plain names; attr: {(base,old):new} for base.old"""
    toks = list(tokenize.generate_tokens(io.StringIO(src).readline))
    lines = src.splitlines(keepends=True)
    edits = []
    for i, t in enumerate(toks):
        if t.type in (tokenize.NAME, tokenize.STRING) and t.start in fixed:
            edits.append((t.start, t.end, fixed[t.start]))
        elif t.type == tokenize.NAME:
            prev = toks[i - 1] if i else None
            if prev is not None and prev.string == ".":
                base = toks[i - 2].string if i > 1 else ""
                if (base, t.string) in attr and not (i > 2 and toks[i - 3].string == "."):
                    edits.append((t.start, t.end, attr[(base, t.string)]))
            elif t.string in bare:
                edits.append((t.start, t.end, bare[t.string]))
        elif t.type == tokenize.STRING and re.match(r'(?i)(f|rf|fr)["\']', t.string):

            def sub(s):
                def inner(mm):
                    x = mm.group(0)
                    x = re.sub(r'(?<![\w."\'])([A-Z_][A-Z0-9_]*)\b', lambda k: bare.get(k.group(1), k.group(1)), x)
                    for (b, o), n in attr.items():
                        x = re.sub(rf"\b{b}\.{o}\b", f"{b}.{n}", x)
                    return x

                out = []
                depth = 0
                start = 0
                i = 0
                while i < len(s):
                    ch = s[i]
                    if depth == 0 and s[i : i + 2] in ("{{", "}}"):
                        i += 2
                        continue
                    if ch == "{":
                        if depth == 0:
                            out.append(s[start:i])
                            start = i
                        depth += 1
                    elif ch == "}" and depth:
                        depth -= 1
                        if depth == 0:
                            out.append(inner(re.match(r"(?s).*", s[start : i + 1])))
                            start = i + 1
                    i += 1
                out.append(s[start:])
                return "".join(out)

            s = sub(t.string)
            if s != t.string:
                edits.append((t.start, t.end, s))
    for (r0, c0), (r1, c1), new in sorted(edits, reverse=True):
        if r0 == r1:
            lines[r0 - 1] = lines[r0 - 1][:c0] + new + lines[r0 - 1][c1:]
        else:
            lines[r0 - 1 : r1] = [lines[r0 - 1][:c0] + new + lines[r1 - 1][c1:]]
    return "".join(lines)


def main():
    by = collections.defaultdict(dict)
    missing = []
    moved = []
    for path, old, new in load():
        f = SRC / path
        if not f.exists() or old not in top_names(ast.parse(f.read_text())):
            moved.append((path, old, new))
            continue
        by[path][old] = new
    # rows whose module moved: the one file that binds the name and that no row claims
    binds = collections.defaultdict(list)
    for f in sorted(SRC.rglob("*.py")):
        for node in ast.parse(f.read_text()).body:
            if isinstance(node, (ast.Assign, ast.AnnAssign)):
                for t in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    for n in ast.walk(t):
                        if isinstance(n, ast.Name):
                            binds[n.id].append(f.relative_to(SRC).as_posix())
            elif isinstance(node, ast.ClassDef):
                binds[node.name].append(f.relative_to(SRC).as_posix())
    for path, old, new in moved:
        name = path.rsplit("/", 1)[-1]
        free = [p for p in binds[old] if old not in by.get(p, {})]
        same = [p for p in free if p.rsplit("/", 1)[-1] == name] or (
            [p for p in free if p.split("/")[0] == path.split("/")[0]]
            if len([q for q in moved if q[1] == old]) == 1
            else []
        )
        if len(same) == 1:
            by[same[0]][old] = new
            print("moved", path, old, "->", same[0])
        else:
            missing.append((path, old, "no file or name", free))
    # check
    own = collections.defaultdict(dict)
    for path, mp in list(by.items()):
        names = top_names(ast.parse((SRC / path).read_text()))
        for old, new in list(mp.items()):
            if old not in names:
                missing.append((path, old, "not there"))
                del mp[old]
                continue
            if new in names:
                missing.append((path, old, f"{new} taken"))
                del mp[old]
                continue
            own[modname(path)][old] = new
    changed = True
    while changed:
        changed = False
        for f in sorted([*SRC.rglob("*.py"), *SRC.rglob("*.pyi")]):
            rel = (
                f.relative_to(SRC).as_posix().removesuffix("i") if f.suffix == ".pyi" else f.relative_to(SRC).as_posix()
            )
            mod = modname(rel)
            for node in ast.parse(f.read_text()).body:
                if isinstance(node, ast.ImportFrom) and node.module in own:
                    for a in node.names:
                        if a.name in own[node.module] and a.asname in (None, a.name) and a.name not in own.get(mod, {}):
                            own[mod][a.name] = own[node.module][a.name]
                            changed = True
    files = [
        f
        for d in ("src", "tests", "benchmarks", "fuzz", "docs", "tools")
        for f in sorted([*(ROOT / d).rglob("*.py"), *(ROOT / d).rglob("*.pyi")])
    ]
    n = 0
    for f in files:
        src = f.read_text()
        try:
            tree = ast.parse(src)
        except SyntaxError:
            continue
        bare = {}
        attr = {}
        fixed = {}
        rel = f.relative_to(SRC).as_posix() if SRC in f.parents else None
        if rel and f.suffix == ".pyi":
            rel = rel[:-1]
        if rel:
            bare.update(own.get(modname(rel), {}))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("dalembert"):
                for a in node.names:
                    if a.name in own.get(node.module, {}):
                        if a.asname in (None, a.name):
                            bare[a.name] = own[node.module][a.name]
                        else:
                            fixed[(a.lineno, a.col_offset)] = own[node.module][a.name]
                    sub = f"{node.module}.{a.name}"
                    if sub in own:
                        for o, nw in own[sub].items():
                            attr[(a.asname or a.name, o)] = nw
            elif isinstance(node, ast.Import):
                for a in node.names:
                    if a.name in own and a.asname:
                        for o, nw in own[a.name].items():
                            attr[(a.asname, o)] = nw
        for node in tree.body:
            if isinstance(node, (ast.Assign, ast.AugAssign)) and any(
                isinstance(t, ast.Name) and t.id == "__all__"
                for t in ([node.target] if isinstance(node, ast.AugAssign) else node.targets)
            ):
                for c in ast.walk(node.value):
                    if isinstance(c, ast.Constant) and isinstance(c.value, str) and c.value in bare:
                        fixed[(c.lineno, c.col_offset)] = '"' + bare[c.value] + '"'
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and node.value in bare
                and bare[node.value]
                and rel
                and not node.value.isupper()
                and src.splitlines()[node.lineno - 1][node.col_offset : node.col_offset + 1] == '"'
            ):
                print("string annotation?", f, node.lineno, node.value)
        if not bare and not attr and not fixed:
            continue
        # conflicts: name also a local definition in an importing module
        if rel:
            names = top_names(tree)
            for o, nw in list(bare.items()):
                if nw in names and o in names and own.get(modname(rel), {}).get(o) != nw:
                    print("clash", f, o, nw)
        new = replace_tokens(src, bare, attr, fixed)
        # setattr strings
        for (b, o), nw in attr.items():
            new = re.sub(rf'(setattr\(\s*{b},\s*")({o})"', lambda k, nw=nw: k.group(1) + nw + '"', new)
        if new != src:
            f.write_text(new)
            n += 1
        for mm in re.finditer(r'["\'](dalembert\.[\w.]+)[.:]([A-Z_]+)["\']', new):
            if mm.group(2) in own.get(mm.group(1), {}):
                print("string", f, mm.group(0))
    print(n, "files")
    for m in missing:
        print("missing", *m)


main()
