# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The small mistakes that a source file could have: every one is a copy of its syntax tree with a single change."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple, Type

SPARED = "no mutate"  # a comment with this and a reason, on a line whose change nobody could notice
COMPARISONS: Dict[Type[ast.cmpop], Type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: Dict[Type[ast.operator], Type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}


@dataclass(frozen=True)
class Mutant:
    """One change: where, what, and the whole changed tree. `function` is set when the change is inside a function's body."""

    line: int
    change: str
    tree: ast.Module
    function: Optional[str]


def mutants(source: str) -> List[Mutant]:
    tree = ast.parse(source)
    spared = {number for number, line in enumerate(source.splitlines(), 1) if SPARED in line}
    return [each for each in _all(tree) if each.line not in spared]


def _all(tree: ast.Module) -> Iterator[Mutant]:
    for position, (node, function) in enumerate(_places(tree)):
        for before, after in _changes(node):
            changed = copy.deepcopy(tree)
            target, _function = _places(changed)[position]
            _become(target, after)
            ast.fix_missing_locations(changed)
            yield Mutant(getattr(node, "lineno", 0), f"{_say(before)}  ->  {_say(after)}", changed, function)


def _places(tree: ast.Module) -> List[Tuple[ast.AST, Optional[str]]]:
    """Every node that may be changed, in a fixed order: no docstrings, annotations, imports or decorators."""
    found: List[Tuple[ast.AST, Optional[str]]] = []
    _walk(tree, (), None, found)
    return found


def _walk(node: ast.AST, scope: Tuple[str, ...], function: Optional[str], found: List[Tuple[ast.AST, Optional[str]]]) -> None:
    if isinstance(node, (ast.Import, ast.ImportFrom, ast.Pass)) or _is_docstring(node):
        return
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        inside = (*scope, node.name)
        if isinstance(node, ast.FunctionDef):
            for default in [*node.args.defaults, *(each for each in node.args.kw_defaults if each)]:
                _walk(default, scope, function, found)
        within = function or (".".join(inside) if isinstance(node, ast.FunctionDef) else None)
        for statement in node.body:
            _walk(statement, inside, within, found)
        return
    found.append((node, function))
    for name, value in ast.iter_fields(node):
        if name == "annotation" or _is_type_variable(node):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                _walk(child, scope, function, found)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _is_type_variable(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("TypeVar", "cast")


def _changes(node: ast.AST) -> Iterator[Tuple[ast.AST, ast.AST]]:
    """This node and another that may stand in its place, for each small mistake that fits it."""
    for kinds, others in CHANGES:
        if isinstance(node, kinds):
            yield from ((node, other) for other in others(node))


def _other_comparisons(node: ast.Compare) -> Iterator[ast.AST]:
    for number, operator in enumerate(node.ops):
        other = copy.deepcopy(node)
        other.ops[number] = COMPARISONS[type(operator)]()
        yield other


def _other_operators(node: ast.BinOp) -> Iterator[ast.AST]:
    formats = isinstance(node, ast.BinOp) and isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
    if type(node.op) in OPERATORS and not formats:
        other = copy.deepcopy(node)
        other.op = OPERATORS[type(node.op)]()
        yield other


def _other_connectives(node: ast.BoolOp) -> Iterator[ast.AST]:
    other = copy.deepcopy(node)
    other.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield other


def _without_sign(node: ast.UnaryOp) -> Iterator[ast.AST]:
    if isinstance(node.op, (ast.Not, ast.USub)):
        yield copy.deepcopy(node.operand)


def _negated(node: ast.If) -> Iterator[ast.AST]:
    if not isinstance(node.test, (ast.Compare, ast.BoolOp, ast.UnaryOp)):  # those are changed themselves
        other = copy.deepcopy(node)
        other.test = ast.UnaryOp(op=ast.Not(), operand=other.test)
        yield other


def _other_constants(node: ast.Constant) -> Iterator[ast.AST]:
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, (int, float)):
        yield ast.Constant(node.value + 1)
    elif isinstance(node.value, str):
        yield ast.Constant("XX" + node.value)
    elif isinstance(node.value, bytes):
        yield ast.Constant(b"XX" + node.value)


def _nothing_returned(node: ast.Return) -> Iterator[ast.AST]:
    if node.value is not None and not _is_none(node.value):
        yield ast.Return(ast.Constant(None))


CHANGES: Tuple[Tuple[Any, Callable[[Any], Iterable[ast.AST]]], ...] = (
    (ast.Compare, _other_comparisons),
    ((ast.BinOp, ast.AugAssign), _other_operators),
    (ast.BoolOp, _other_connectives),
    (ast.UnaryOp, _without_sign),
    ((ast.If, ast.IfExp, ast.While), _negated),
    (ast.Constant, _other_constants),
    (ast.Return, _nothing_returned),
    ((ast.Raise, ast.Expr), lambda node: [ast.Pass()]),
    (ast.Break, lambda node: [ast.Continue()]),
    (ast.Continue, lambda node: [ast.Break()]),
)


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _become(target: ast.AST, other: ast.AST) -> None:
    """Turns a node of a tree into another one in its place, whoever refers to it."""
    other = copy.deepcopy(other)
    line = {name: getattr(target, name) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset") if hasattr(target, name)}
    target.__class__ = other.__class__
    target.__dict__.clear()
    target.__dict__.update(other.__dict__)
    target.__dict__.update(line)


def _say(node: ast.AST) -> str:
    text = ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))).splitlines()
    return text[0][:90]
