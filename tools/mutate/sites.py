# SPDX-License-Identifier: Apache-2.0
"""Finds the places of a C file where one small change makes a wrong program: its mutants.

A site is one operator, condition, constant, returned value or statement of a function, and has one
mutant. Left out: static initialisers, case labels, sizes of arrays and of allocations, messages,
logs and assertions, and statements that only release memory."""

import dataclasses
import hashlib
import re

import tree_sitter
import tree_sitter_c

PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_c.language()))

# A wrong boundary, not the opposite: the negated conditions are mutants of their own.
SWAPPED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
           "+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "<<": ">>", ">>": "<<",
           "&": "|", "|": "&", "^": "&", "&&": "||", "||": "&&",
           "+=": "-=", "-=": "+=", "*=": "/=", "|=": "&=", "&=": "|=", "<<=": ">>=", ">>=": "<<=",
           "++": "--", "--": "++"}
KINDS = {"binary_expression": "operator", "assignment_expression": "assignment",
         "update_expression": "assignment"}
# Calls whose arguments are messages, checks or sizes of memory.
SKIPPED_CALLS = re.compile(
    r"ss_fail(_errno|_at)?|ss_bug|ss_log|assert|_?[sS]tatic_assert|m?alloc|calloc|realloc|mmap|"
    r"ss_\w*alloc|ss_vec_reserve|sizeof|offsetof|perror")
# Statements without a result that a test can see, but for a leak.
RELEASES = re.compile(r"(ss_)?free|\w+_(free|fini|close)|close|fclose|munmap|closedir")
SKIPPED_NODES = {"case_statement": "value", "array_declarator": "size", "bitfield_clause": None,
                 "subscript_designator": None, "sizeof_expression": None, "enumerator": None,
                 "static_assert_declaration": None, "preproc_def": None,
                 "preproc_function_def": None, "preproc_if": "condition", "ERROR": None,
                 "attribute_specifier": None, "alignas_qualifier": None}
INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)")
DECIMAL = re.compile(r"[\d.]*([eE][-+]?\d+)?[fF]?")
ARITHMETIC = re.compile(r"(const )?((unsigned|signed|int|long|short|char|float|double|size_t|"
                        r"ssize_t|u?int\d+_t|pid_t|off_t|uintptr_t|uid_t)\s*)+$")


@dataclasses.dataclass
class Site:
    path: str
    function: str
    line: int           # from 1
    text: str           # its first line, without the indentation
    kind: str
    change: str         # what becomes what, for people
    ordinal: int        # among the same changes of equal lines of the function
    start: int          # bytes of the node that is replaced
    end: int
    mutated: str        # what is written in its place in the mutant
    form: str           # how `schema` writes both: "value", "condition", "statement", "return"

    @property
    def key(self):
        """The same in every revision in which this line of the function is."""
        parts = (self.path, self.function, self.text, self.kind, self.change, str(self.ordinal))
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    def schema(self, number):
        """What to write before and after the original text, so that the program is the mutant if
        the environment turns on mutant `number`. One line: the numbers of the other lines stay."""
        on = f"ss_mutant_is({number})"
        mutated = " ".join(self.mutated.split("\n"))
        return {"condition": (f"({on} != !!(", "))"),
                "statement": (f"{{ if (!{on}) {{ ", " } }"),
                "return": (f"{{ if ({on}) {{ {mutated} }} ", " }"),
                "value": (f"({on} ? ({mutated}) : (", "))")}[self.form]


def find(path, source):
    """The sites of one file, in its order; `source` is bytes."""
    finder = _Finder(path, source)
    for node in _functions(PARSER.parse(source).root_node):
        finder.function(node)
    return finder.sites


def _functions(node):
    for child in node.children:
        if child.type == "function_definition":
            yield child
        elif child.type.startswith("preproc_"):
            yield from _functions(child)


class _Finder:
    def __init__(self, path, source):
        self.path, self.source, self.sites, self.seen = path, source, [], {}
        self.name = self.returns = ""

    def text(self, node):
        return self.source[node.start_byte:node.end_byte].decode()

    def function(self, node):
        declarator = node.child_by_field_name("declarator")
        pointer = ""
        while declarator is not None and declarator.type != "identifier":
            pointer += "*" * (declarator.type == "pointer_declarator")
            declarator = declarator.child_by_field_name("declarator")
        kind = node.child_by_field_name("type")
        if declarator is None or kind is None:
            return
        self.name, self.returns = self.text(declarator), self.text(kind) + pointer
        self.visit(node.child_by_field_name("body"))

    def visit(self, node):
        """Every node but those below which a change is not a mutant."""
        if node.type == "declaration" and any(
                child.type == "storage_class_specifier" for child in node.children):
            return
        if node.type == "call_expression" and SKIPPED_CALLS.fullmatch(self.called(node)):
            return
        if node.type in SKIPPED_NODES and SKIPPED_NODES[node.type] is None:
            return
        if not node.has_error:
            self.mutate(node)
        skipped = SKIPPED_NODES.get(node.type)
        left_out = node.child_by_field_name(skipped) if skipped else None
        for child in node.children:
            if child != left_out:
                self.visit(child)

    def called(self, node):
        function = node.child_by_field_name("function")
        return self.text(function) if function is not None else ""

    def mutate(self, node):
        if node.type in KINDS:
            self.operator(node)
        elif node.type in ("if_statement", "while_statement", "conditional_expression"):
            condition = node.child_by_field_name("condition")
            if not _is_equality(condition):
                text = self.text(condition)
                self.add(condition, "condition", f"{node.type.split('_')[0]} {_short(text)} negated",
                         f"(!({text}))", "condition")
        elif node.type in ("number_literal", "true", "false"):
            self.constant(node)
        elif node.type == "return_statement" and node.named_child_count == 1:
            self.returned(node, node.named_children[0])
        elif node.type == "expression_statement" and node.named_child_count == 1:
            self.statement(node, node.named_children[0])

    def operator(self, node):
        operator = node.child_by_field_name("operator")
        if operator is None or self.text(operator) not in SWAPPED:
            return
        old = self.text(operator)
        if old in ("++", "--") and node.parent.type == "for_statement":
            return  # the loop would not end: each run would cost its whole time limit
        begin, end = operator.start_byte - node.start_byte, operator.end_byte - node.start_byte
        text = self.source[node.start_byte:node.end_byte]
        mutated = (text[:begin] + SWAPPED[old].encode() + text[end:]).decode()
        kind = KINDS[node.type]
        if kind == "operator":
            kind = ("logical" if old in ("&&", "||") else
                    "relational" if SWAPPED[old] in ("<", "<=", ">", ">=", "==", "!=") else
                    "arithmetic")
        self.add(node, kind, f"{_short(self.text(node))}: {old} becomes {SWAPPED[old]}", mutated,
                 "value")

    def constant(self, node):
        text = self.text(node)
        integer = INTEGER.fullmatch(text)
        if text in ("true", "false"):
            mutated = "false" if text == "true" else "true"
        elif integer is not None:
            # Never what the type cannot hold.
            value = int(integer[1], 0 if integer[1][:2] in ("0x", "0X") else 10)
            mutated = str(value - 1 if value > 1 else value + 1) + integer[2]
        elif DECIMAL.fullmatch(text):
            mutated = "1.0" if float(text.rstrip("fF")) == 0 else f"2 * {text}"
        else:
            return
        self.add(node, "constant", f"{text} becomes {mutated}", mutated, "value")

    def returned(self, node, value):
        text = self.text(value)
        if value.type in ("number_literal", "true", "false") or _is_equality(value):
            return  # the constant, or the operator, has this mutant
        if self.returns == "bool":
            mutated = f"!({text})"
        elif self.returns.endswith("*") and text != "NULL":
            mutated = f"((void)({text}), NULL)"
        elif self.returns == "enum ss_status":
            mutated = "SS_E_FORMAT" if text == "SS_OK" else f"((void)({text}), SS_OK)"
        elif ARITHMETIC.fullmatch(self.returns):
            mutated = f"({text}) + 1"
        else:
            return
        self.add(node, "return", f"returns {_short(mutated)}", f"return {mutated};", "return")

    def statement(self, node, expression):
        if expression.type == "call_expression":
            name = self.called(expression)
            if SKIPPED_CALLS.fullmatch(name) or RELEASES.fullmatch(name):
                return
        elif expression.type not in ("assignment_expression", "update_expression"):
            return
        self.add(node, "statement", f"{_short(self.text(node))} removed", ";", "statement")

    def add(self, node, kind, change, mutated, form):
        if form != "statement" and re.search(r"//|\n\s*#", mutated):
            return  # it cannot be written in one line
        begin = self.source.rfind(b"\n", 0, node.start_byte) + 1
        end = self.source.find(b"\n", node.start_byte)
        text = self.source[begin:end].decode().strip()
        same = (self.name, text, kind, change)
        self.seen[same] = self.seen.get(same, -1) + 1
        self.sites.append(Site(self.path, self.name, node.start_point[0] + 1, text, kind, change,
                               self.seen[same], node.start_byte, node.end_byte, mutated, form))


def _is_equality(node):
    """Its negation is the mutant of its operator."""
    while node.type == "parenthesized_expression" and node.named_child_count == 1:
        node = node.named_children[0]
    operator = node.child_by_field_name("operator")
    return node.type == "binary_expression" and operator.type in ("==", "!=")


def _short(text):
    """One line for people."""
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "…"
