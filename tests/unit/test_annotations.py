# SPDX-License-Identifier: Apache-2.0
"""What an annotation names of another module is there.

Annotations are not evaluated when the program runs, so that no run tells.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import testtools

from tests.unit import test_import_law as law


def defined(tree: ast.AST) -> set[str]:
    """The names that a module, or a statement of its, defines."""
    found = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        else:
            found |= defined(node)
    return found


def annotations(tree: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        yield from filter(None, (getattr(node, name, None)
                                 for name in ('annotation', 'returns')))


def missing(sources: dict[str, str]) -> list[str]:
    """What annotations of these modules name that the modules lack."""
    trees = {name: ast.parse(source) for name, source in sources.items()}
    names = {name: defined(tree) for name, tree in trees.items()}
    found = []
    for module, tree in trees.items():
        alias_of = {
            alias.asname or alias.name: f'{node.module}.{alias.name}'
            for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
            for alias in node.names}
        found += [
            f'{module}: {ast.unparse(node)}'
            for annotation in annotations(tree)
            for node in ast.walk(annotation)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.attr not in names.get(
                alias_of.get(node.value.id, ''), {node.attr})]
    return found


class AnnotationsTest(testtools.TestCase):

    def test_every_name_is_there(self):
        self.assertEqual([], missing({
            module: source for module, _, source in law.modules()}))

    def test_a_name_that_is_not_there_is_found(self):
        user = ('from a import b as c\n'
                'def f(x: list[c.Old] | c.New) -> c.None_: ...')
        self.assertEqual(
            ['u: c.None_', 'u: c.Old'],
            sorted(missing({'u': user, 'a.b': 'if 1:\n  New = int'})))
