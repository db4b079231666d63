"""A stranger's .xacro file: expressions are expressions, and expanding touches nothing but the description's files."""

from __future__ import annotations

import importlib.util
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dalembert.describe import xacro_worker
from dalembert.describe.xacro import expand
from dalembert.describe.xacro_expressions import Evaluator, NotAllowed
from dalembert.errors import DescriptionError
from errors import fields_of, raises

installed = pytest.mark.skipif(importlib.util.find_spec("xacro") is None, reason="the package xacro is not installed")

HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
SECRET = "hunter2"

# What people have used to leave restricted Python, over MARK, the folder that must not come to be. In ${…}:
EXPRESSIONS = {
    "lambda": "(lambda: [c for c in ().__class__.__base__.__subclasses__() if c.__name__ == 'BuiltinImporter'][0]"
    ".load_module('posix').mkdir('MARK'))()",
    "lambda default": "(lambda f=open: f('MARK', 'w'))()",
    "lambda alone": "list(map(lambda x: x, [1]))",
    "comprehension": "[c for c in ().__class__.__base__.__subclasses__()]",
    "nested comprehension": "[[x.__class__ for x in y] for y in [[1]]]",
    "generator": "list(x.__class__ for x in [1])",
    "generator frame": "(x for x in [1]).gi_frame",
    "generator frame called": "(x for x in [1]).gi_frame.f_back.f_builtins()",
    "walrus": "[y := 1, y.__class__]",
    "starred": "[*python.values()]",
    "starred argument": "max(*[1, 2])",
    "unpacked keywords": "dict(**dict(a=1))",
    "dunder": "().__class__",
    "dunder of a number": "(1).__class__.__mro__",
    "dunder of text": "''.__class__.mro()[1].__subclasses__()",
    "dunder of a function": "sin.__self__",
    "dunder of a method": "dict().get.__self__",
    "dunder globals": "load_yaml.__globals__['os'].mkdir('MARK')",
    "dunder code": "xacro.fatal.__code__",
    "look-alike letters": "()._＿class＿_.__base__",
    "look-alike name": "ｏｐｅｎ('MARK', 'w')",
    "math's loader": "math.__loader__",
    "math's loader by entry": "math['__loader__'].load_module('posix')",
    "namespace's parent": "xacro.parent",
    "namespace's root": "python.root.clear()",
    "namespace's table": "python.top()",
    "namespace's entries": "python.update(len=1)",
    "vars": "python.vars(python.type)",
    "type with three arguments": "python.type('X', (python.str,), dict())",
    "type of a type": "python.type(python.type(1))",
    "type of a function": "python.type(xacro.load_yaml)",
    "map of map": "list(map(map, [python.type], [[1]]))",
    "map over the functions": "list(map(map, list(dict(python).values())[0:1], [[1]]))",
    "format with an attribute": "'%c0.__class__%c'.format(1)".replace("%c0", "\x7b0").replace("%c", "\x7d"),
    "format by number": "str.format('a', 1)",
    "format_map": "'a'.format_map(python)",
    "print": "print(1)",
    "open": "open('MARK', 'w')",
    "import": "__import__('os').mkdir('MARK')",
    "builtins": "__builtins__['open']",
    "eval": "eval('1')",
    "exec": "exec('import os')",
    "compile": "compile('1', 'x', 'eval')",
    "globals": "globals()",
    "getattr": "getattr(1, 'real')",
    "f-string": "f'a'",
    "huge power": "9**9**9",
    "huge power in steps": "(2**4000)**4000",
    "huge shift": "1 << 10**6",
    "huge factorial": "factorial(10**9)",
    "long text": "'a'*10**10",
    "long text within memory": "'a'*10**8",
    "long list": "[0]*10**8",
    "wide format": "'%*d' % (10**8, 1)",
    "deep minus": "-" * 5000 + "1",
    "deep parentheses": "(" * 150 + "1" + ")" * 150 + "+" * 2000 + "[]",
    "await": "await x",
    "yield": "(yield 1)",
    "/etc/passwd as YAML": "load_yaml('/etc/passwd')",
    "a secret as YAML": "load_yaml('../secret.yaml')",
    "a link as YAML": "load_yaml('link.yaml')",
    "YAML that makes objects": "load_yaml('object.yaml')",
    "YAML with an expression": "load_yaml('unit.yaml')",
    "a pipe as YAML": "load_yaml('pipe')",
    "the environment as YAML": "load_yaml('/proc/self/environ')",
    "an endless file as YAML": "load_yaml('/dev/zero')",
    "message into a file": "xacro.message('a', file='MARK').x",
    "open as a key": "sorted(['MARK'], key=open)",
    "YAML as a key": "sorted(['/etc/passwd'], key=load_yaml)",
    "a class by map, as a key": "sorted([1], key=list(map(python.type, [xacro.load_yaml]))[0])",
    "a class by map, popped": "list(map(python.type, [xacro.message])).pop()",
    "a class by map, for isinstance": "python.isinstance(1, list(map(python.type, [xacro.message]))[0])",
    "a class by map, mapped": "list(map(list(map(python.type, [xacro.message]))[0], [1]))",
    "a class by map, in a comprehension": "[c for c in map(python.type, [xacro.message])]",
    "a method without its text": "list(map(''.join, [['a']]))",
    "a method of a class": "python.str.join('', ['a'])",
    "a class's maker": "python.dict.fromkeys(['a'])",
    "bytes of an integer": "int.from_bytes",
    "sort with a key": "['1'].sort(key=exec)",
    "% with Python's own": "'%(__class__)s' % python",
    "a namespace's own by entry": "math['__dict__']",
    "a record's own": "xacro.dotify(dict(a=1)).__dict__",
    "a record's reader": "xacro.dotify(dict(a=1)).__getattr__('a')",
    "a removed function by entry": "dict(python)['vars'](1)",
    "a traceback": "xacro.fatal(1).__traceback__",
    "a codec": "b'abc'.decode('rot13')",
    "a codec of text": "'a'.encode('idna')",
    "an attribute as target": "[1 for python.len in [len]]",
    "an entry as target": "[1 for python['len'] in [len]]",
    "a starred target": "[a for *a, in [[1]]]",
    "an asynchronous comprehension": "[x async for x in [1]]",
    "italic letters": "𝘰𝘱𝘦𝘯('MARK', 'w')",
    "a statement": "import os",
    "two statements": "1; import os",
    "an assignment": "x = 1",
    "a function from or": "(0 or open)('MARK', 'w')",
    "a function from a dictionary": "dict(a=open)['a']('MARK', 'w')",
    "a factorial by map": "list(map(factorial, [10**9]))",
    "a factorial as a key": "sorted([10**9], key=factorial)",
    "permutations as a key": "max([10**9], key=perm)",
    "a list that doubles": "[a.extend(a) for a in [[1]] for i in range(60)]",
    "wide text": "'1'.zfill(10**10)",
    "text in text": "('a'*10**6).replace('a', 'b'*10**6)",
    "long number": "int('9'*10**6)",
    "standard input as YAML": "load_yaml(0)",
    "bytes as a path": "load_yaml(b'/etc/passwd')",
    "a null in a path": "load_yaml('a\\0b')",
    "memory as YAML": "load_yaml('/proc/self/mem')",
    "the root through /proc": "load_yaml('/proc/self/root/etc/passwd')",
    "up and down": "load_yaml('a/../../secret.yaml')",
}
# And as elements, in which ${…} is evaluated too.
WHOLE = {
    "eval": "<xacro:property name='p' value=\"$$(open('MARK','w'))\"/><link name='$(eval ${p[1:]})'/>",
    "eval of text": "<xacro:property name='p' value='().__class__'/><link name='$(eval ${p})'/>",
    "eval of a builtin": "<link name='$(eval [open])'/>",
    "property": "<xacro:property name='p' value='${open}'/><link name='${p}'/>",
    "property named by code": "<xacro:property name='${().__class__}' value='1'/>",
    "property named by Python": "<xacro:property name='__builtins__' value='1'/>",
    "condition": "<xacro:if value='${().__class__}'><link name='a'/></xacro:if>",
    "unless": "<xacro:unless value='${print(1)}'><link name='a'/></xacro:unless>",
    "call": "<xacro:call macro='${().__class__}'/>",
    "macro default": "<xacro:macro name='m' params='a:=${().__class__}'><link name='${a}'/></xacro:macro><xacro:m/>",
    "argument default": "<xacro:arg name='a' default='${().__class__}'/><link name='$(arg a)'/>",
    "element": "<xacro:element xacro:name='${().__class__}'/>",
    "attribute": "<link><xacro:attribute name='name' value='${().__class__}'/></link>",
    "text": "<link name='a'>${().__class__}</link>",
    "comment": "<!-- xacro:eval-comments --><!-- ${().__class__} -->",
    "environment": "<link name='$(env DALEMBERT_TEST_SECRET)'/>",
    "path": "<link name='$(env PATH)'/>",
    "folder": "<link name='$(dirname)'/>",
    "found /etc": "<xacro:include filename='$(find etc)/passwd'/>",
    "found hidden": "<xacro:include filename='$(find .ssh)/config'/>",
    "found above": "<xacro:include filename='$(find ..)/secret.yaml'/>",
    "include": "<xacro:include filename='/etc/passwd'/>",
    "include by pattern": "<xacro:include filename='/etc/pass*'/>",
    "optional include": "<xacro:include filename='../secret.yaml' optional='true'/>",
    "endless include": "<xacro:include filename='/dev/zero'/>",
    "include of a pipe": "<xacro:include filename='pipe'/>",
    "found through a path": "<xacro:include filename='$(find a/../../etc)/passwd'/>",
    "found /proc": "<xacro:include filename='$(find proc)/self/environ'/>",
    "unknown substitution": "<link name='$(system true)'/>",
    "a set of functions": "<link name='$(eval {open})'/>",
    "a dictionary of functions": "<link name='$(eval {x: open for x in [1]})'/>",
    "a lazy function": "<xacro:property name='f' value='${xacro.load_yaml}'/>"
    "<link name='${f(&quot;/etc/passwd&quot;)}'/>",
    "a function under another's name": "<xacro:property name='len' value='${python.type}'/>"
    "<link name='${len(xacro.fatal)}'/>",
    "include from the network": "<xacro:include filename='http://127.0.0.1:1/r.xacro'/>",
    "include of standard input": "<xacro:include filename='/dev/stdin'/>",
    "include of a folder": "<xacro:include filename='/etc'/>",
    "include of a pipe by pattern": "<xacro:include filename='pip*'/>",
    "include of itself": "<xacro:include filename='r.xacro'/>",
}


def hostile(folder: Path, body: str) -> str:
    """The sentence with which a file is refused, and that nothing else came of it."""
    inside = folder / "in"
    inside.mkdir()
    (folder / "secret.yaml").write_text(f"a: {SECRET}")
    (inside / "link.yaml").symlink_to(folder / "secret.yaml")
    (inside / "object.yaml").write_text(f"!!python/object/apply:os.mkdir ['{folder / 'mark'}']")
    (inside / "unit.yaml").write_text("!degrees ().__class__")
    os.mkfifo(inside / "pipe")
    path = inside / "r.xacro"
    path.write_text(f"{HEAD}{body.replace('MARK', str(folder / 'mark'))}</robot>", encoding="utf-8")
    before = sorted(folder.rglob("*"))
    with pytest.raises(DescriptionError) as error:
        expand(path)
    assert sorted(folder.rglob("*")) == before
    text = str(error.value)
    assert (fields_of(error.value), error.value.place) == ("syntax path", str(path))
    assert "\n" not in text and "Traceback" not in text
    assert SECRET not in text and "root:" not in text
    return text


@installed
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name on this system")
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions_do_nothing_else(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DALEMBERT_TEST_SECRET", SECRET)
    quoted = EXPRESSIONS[name].replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    if "\x7d" in quoted:  # what ends an expression reaches it through a property
        quoted, held = "p.format(1)", quoted.split("'")[1]
        hostile(tmp_path, f'<xacro:property name="p" value="{held}"/><link name="${{{quoted}}}"/>')
    else:
        hostile(tmp_path, f'<link name="${{{quoted}}}"/>')


@installed
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name on this system")
@pytest.mark.parametrize("name", WHOLE)
def test_elements_do_nothing_else(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DALEMBERT_TEST_SECRET", SECRET)
    hostile(tmp_path, WHOLE[name])


@installed
def test_the_message_names_what_is_refused(tmp_path: Path) -> None:
    assert "lambda: 1" in hostile(tmp_path, '<link name="${(lambda: 1)()}"/>')


@installed
def test_what_is_outside_is_read_when_its_folder_is_named(tmp_path: Path) -> None:
    path = tmp_path / "in" / "r.xacro"
    path.parent.mkdir()
    (tmp_path / "names.yaml").write_text("a: left")
    path.write_text(f"{HEAD}<link name=\"${{load_yaml('../names.yaml').a}}\"/></robot>")
    with raises(DescriptionError, "syntax path"):
        expand(path)
    assert 'name="left"' in expand(path, package_dirs=[tmp_path])
    (tmp_path / "package.xml").write_text("<package/>")  # the folder above is the package of this file
    assert 'name="left"' in expand(path)


def test_the_users_own_folder_is_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "robots"
    (folder / "arm").mkdir(parents=True)
    (folder / "arm" / "r.xacro").write_text(f"{HEAD}</robot>")
    found = [xacro_worker._candidates("robots", [], folder / "arm" / "r.xacro")]
    monkeypatch.setattr(xacro_worker, "_HOME", folder)  # $(find me)/.ssh/config, from ~/downloads/r.xacro
    found.append(xacro_worker._candidates("robots", [], folder / "arm" / "r.xacro"))
    (folder / "package.xml").write_text("<package/>")
    found.append(xacro_worker._candidates("robots", [], folder / "arm" / "r.xacro"))
    assert found == [[folder], [], [folder]]
    assert not xacro_worker._is_package(Path(tmp_path.anchor, "tmp"))  # where anybody's files lie


# Even if an expression could be more: what the worker gives up before it looks at the file.
TOUCHING = {
    "write": "open(MARK, 'w')",
    "append": "open(MARK, 'a')",
    "low-level write": "os.open(MARK, os.O_CREAT | os.O_WRONLY)",
    "make a folder": "os.mkdir(MARK)",
    "remove": "os.remove(MARK)",
    "system": "os.system('true')",
    "fork": "os.fork()",
    "subprocess": "subprocess.run(['true'])",
    "socket": "socket.socket()",
    "ctypes": "ctypes.CDLL(None)",
    "import": "__import__('wave')",
    "exec": "exec('1')",
    "read elsewhere": "open('/etc/passwd')",
}


@pytest.mark.parametrize("name", TOUCHING)
@pytest.mark.skipif(os.name != "posix", reason="written for POSIX")
def test_the_worker_gives_up_what_it_does_not_need(tmp_path: Path, name: str) -> None:
    mark = tmp_path / "mark"
    script = (
        f"import sys, runpy, os, subprocess, socket, ctypes\n"
        f"worker = runpy.run_path({xacro_worker.__file__!r})\n"
        f"sys.addaudithook(worker['_guard']([{str(tmp_path / 'in')!r}], [], 1 << 20))\n"
        f"try:\n    {TOUCHING[name].replace('MARK', repr(str(mark)))}\n"
        f"except worker['Refused'] as error:\n    print('refused:', error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.startswith("refused: "), done
    assert not mark.exists()


HONEST = [
    "1 + 2*3 - 4/5",
    "7//2 + 7%4 - -2**2",
    "~5 & 6 | 1 ^ 3",
    "1 << 4 >> 2",
    "not 1 or 2 and 3",
    "1 < 2 <= 2 != 3",
    "'a' in ['a', 'b'] and 3 not in (1, 2)",
    "x is None",
    "1.5e-3 if x is None else d",
    "[1, 'b', (2.0,), []]",
    "dict(a=1, b=[2, 3])['b'][1]",
    "{'a': 1, 'b': 2}['a']",
    "[i*i for i in range(5) if i % 2]",
    "'abc'[::-1]",
    "[a + b for a, b in zip([1, 2], [3, 4])]",
    "[(i, j) for i in range(3) for j in range(i)]",
    "[1, 2, 3][1:]",
    "sum(i for i in range(4))",
    "sin(pi/2) + radians(90)",
    "max(1, 2, 3) - min([4, 5])",
    "len('abc')",
    "round(2.567, 2)",
    "' '.join([str(i) for i in range(3)])",
    "'a,b'.split(',')",
    "'%.3f %s' % (1.5, 'm')",
    "'{:.2f}|{k}'.format(1.5, k=2)",
    "list(map(str, [1, 2]))",
    "sorted([3, 1, 2], reverse=True)",
    "d.get('a', 5)",
    "list(d.items())",
    "d['k'].upper()",
    "int('7') + float('1.5')",
    "bool('')",
    "u'é' * 3",
    "'A' + 'b'.upper()",
    "True",
    "None",
    "all([1, 1]) or any([])",
    "sorted(['bb', 'a'], key=len)",
    "type(1) == int",
    "[x for x in d if x]",
    "2**0.5 + 2**10",
    "hypot(3, 4)",
]


@pytest.mark.parametrize("text", HONEST)
def test_expressions_are_what_python_makes_of_them(text: str) -> None:
    functions: dict[str, Any] = {k: v for k, v in vars(math).items() if not k.startswith("_")}
    functions |= dict(
        dict=dict,
        list=list,
        map=map,
        zip=zip,
        range=range,
        sum=sum,
        max=max,
        min=min,
        len=len,
        round=round,
        str=str,
        sorted=sorted,
        int=int,
        float=float,
        bool=bool,
        all=all,
        any=any,
        type=type,
    )
    names = functions | {"x": None, "d": {"k": "v"}}
    ours = Evaluator([f for f in functions.values() if callable(f)]).evaluate(text, names)
    theirs = eval(text, {"__builtins__": {}}, names) if " for " not in text else eval(text, dict(names))
    assert (ours, type(ours)) == (theirs, type(theirs))


def test_values_nobody_has_looked_at_are_not_given() -> None:
    names = {"os": os, "f": print, "n": 1}
    for text in ("os", "os.mkdir", "f", "f(1)", "n.real", "[n][0].real", "[x for x in [n] if f]"):
        with pytest.raises(NotAllowed):
            Evaluator([len]).evaluate(text, names)
