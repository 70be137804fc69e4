"""Tokens to a tree: cel-go's `CEL.g4`, one method per rule, macros expanded on the way.

Binary operators are parsed by precedence climbing; that counts nesting as ANTLR's left-recursive rules do,
which matters for the limit of 250. Chains of `&&` and `||` become balanced trees (cel-go's `logicManager`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from policygen.cel import ast, literals, messages
from policygen.cel.ast import Expr
from policygen.cel.lexer import Token, tokenize
from policygen.cel.recursion import room_for
from policygen.cel.source_errors import SourceErrors

MAX_DEPTH: Final = 250
MAX_SIZE: Final = 100_000
_NO_PLACE: Final = -1

RESERVED: Final = frozenset({
    "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let",
    "loop", "package", "namespace", "null", "return", "true", "var", "void", "while",
})  # fmt: skip
_RELATIONS: Final = {
    "<": "_<_",
    "<=": "_<=_",
    ">": "_>_",
    ">=": "_>=_",
    "==": "_==_",
    "!=": "_!=_",
    "in": "@in",
}
_SUMS: Final = {"+": "_+_", "-": "_-_"}
_PRODUCTS: Final = {"*": "_*_", "/": "_/_", "%": "_%_"}


@dataclass(frozen=True, slots=True)
class Macro:
    """A call that the parser rewrites. `expand` returns None when the call is no use of the macro."""

    name: str
    arity: int
    receiver: bool
    expand: Callable[[Parser, int, Expr | None, tuple[Expr, ...]], Expr | None]


MacroTable: TypeAlias = Mapping[tuple[str, int, bool], Macro]


class MacroError(Exception):
    """A macro is used wrongly; the place is that of a node."""

    def __init__(self, node: int, message: str) -> None:
        super().__init__(message)
        self.node = node
        self.message = message


class _SyntaxFaultError(Exception):
    """The text cannot be read any further."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset


def parse(text: str, macros: MacroTable, *, optional_syntax: bool = True) -> ast.Parsed:
    """Parse a text or raise `CompileError`."""
    errors = SourceErrors(text)
    if len(text) > MAX_SIZE:
        errors.report(_NO_PLACE, messages.size_limit(len(text), MAX_SIZE))
        errors.raise_if_any()
    parser = Parser(text, macros, errors, optional_syntax=optional_syntax)
    with room_for(MAX_DEPTH):
        try:
            expr = parser.start()
        except _SyntaxFaultError as fault:
            errors.report(fault.offset, str(fault))
            errors.raise_if_any()
            raise AssertionError("a fault is an error") from fault
    errors.raise_if_any()
    return ast.Parsed(expr, parser.info, parser.height(expr))


class Parser:
    """One pass over the tokens of one text. Macros use `new_id`, `offset_of` and the node classes."""

    def __init__(self, text: str, macros: MacroTable, errors: SourceErrors, *, optional_syntax: bool) -> None:
        self.info = ast.SourceInfo(text)
        self._macros = macros
        self._errors = errors
        self._optional_syntax = optional_syntax
        self._tokens = tokenize(text)
        self._at = 0
        self._token = self._tokens[0]
        self._next_id = 1
        self._depths = {"expr": 0, "relation": 0, "calc": 0}

    # --- ids and errors -------------------------------------------------------------------------------

    def new_id(self, offset: int) -> int:
        """A fresh node id that stands at an offset."""
        number = self._next_id
        self._next_id = number + 1
        self.info.offsets[number] = offset
        return number

    def offset_of(self, node: int) -> int:
        """Where a node stands."""
        return self.info.offsets[node]

    def height(self, expr: Expr) -> int:
        """An upper bound of the height of the tree."""
        level, count = [expr], 0
        while level:
            count += 1
            level = [child for node in level for child in ast.children(node)]
        return count

    def _report(self, offset: int, message: str) -> Expr:
        self._errors.report(offset, message)
        return ast.Literal(self.new_id(offset), None)

    def _advance(self) -> Token:
        token = self._token
        if token.kind != "end":
            self._at += 1
            self._token = self._tokens[self._at]
        return token

    def _accept(self, kind: str) -> Token | None:
        return self._advance() if self._token.kind == kind else None

    def _expect(self, kind: str, expected: str) -> Token:
        if self._token.kind != kind:
            self._fault(expected)
        return self._advance()

    def _fault(self, expected: str) -> None:
        token = self._token
        if token.kind == "error":
            raise _SyntaxFaultError(token.offset, messages.unrecognized(token.text))
        found = "the end of the expression" if token.kind == "end" else f"`{token.text}`"
        raise _SyntaxFaultError(token.offset, messages.syntax(found, expected))

    def _enter(self, rule: str) -> None:
        self._depths[rule] += 1
        if self._depths[rule] > MAX_DEPTH:
            raise _SyntaxFaultError(_NO_PLACE, messages.recursion_limit(MAX_DEPTH))

    # --- operators ------------------------------------------------------------------------------------

    def start(self) -> Expr:
        """`start: expr EOF`."""
        expr = self._expr()
        if self._token.kind != "end":
            self._fault("the end of the expression")
        return expr

    def _expr(self) -> Expr:
        """`expr: or ('?' or ':' expr)?`."""
        self._enter("expr")
        result = self._or()
        if self._token.kind == "?":
            number = self.new_id(self._advance().offset)
            truthy = self._or()
            self._expect(":", "`:`")
            falsy = self._expr()
            result = ast.Call(number, "_?_:_", (result, truthy, falsy))
        self._depths["expr"] -= 1
        return result

    def _or(self) -> Expr:
        """`or: and ('||' and)*`."""
        return self._logic("||", "_||_", self._and)

    def _and(self) -> Expr:
        """`and: relation ('&&' relation)*`."""
        return self._logic("&&", "_&&_", self._relation)

    def _logic(self, kind: str, function: str, operand: Callable[[], Expr]) -> Expr:
        first = operand()
        if self._token.kind != kind:
            return first
        terms, ids = [first], []
        while self._token.kind == kind:
            ids.append(self.new_id(self._advance().offset))
            terms.append(operand())
        return _balance(function, terms, ids, 0, len(ids) - 1)

    def _relation(self) -> Expr:
        """`relation: calc | relation op relation`."""
        self._enter("relation")
        left = self._sum()
        while (function := _RELATIONS.get(self._token.kind)) is not None:
            number = self.new_id(self._advance().offset)
            self._enter("relation")
            right = self._sum()
            self._depths["relation"] -= 1
            left = ast.Call(number, function, (left, right))
        self._depths["relation"] -= 1
        return left

    def _sum(self) -> Expr:
        """`calc: unary | calc ('*'|'/'|'%') calc | calc ('+'|'-') calc`."""
        self._enter("calc")
        left = self._product()
        while (function := _SUMS.get(self._token.kind)) is not None:
            number = self.new_id(self._advance().offset)
            self._enter("calc")
            right = self._product()
            self._depths["calc"] -= 1
            left = ast.Call(number, function, (left, right))
        self._depths["calc"] -= 1
        return left

    def _product(self) -> Expr:
        left = self._unary()
        while (function := _PRODUCTS.get(self._token.kind)) is not None:
            number = self.new_id(self._advance().offset)
            self._enter("calc")
            right = self._unary()
            self._depths["calc"] -= 1
            left = ast.Call(number, function, (left, right))
        return left

    def _unary(self) -> Expr:
        """`unary: member | '!'+ member | '-'+ member`; a minus before a number belongs to the number."""
        kind = self._token.kind
        if kind not in {"!", "-"} or (kind == "-" and self._is_number(self._at + 1)):
            return self._member()
        first, count = self._token, 0
        while self._token.kind == kind:
            self._advance()
            count += 1
        if count % 2 == 0:
            return self._member()
        number = self.new_id(first.offset)
        return ast.Call(number, "!_" if kind == "!" else "-_", (self._member(),))

    def _is_number(self, index: int) -> bool:
        return index < len(self._tokens) and self._tokens[index].kind in {"int", "float"}

    # --- members --------------------------------------------------------------------------------------

    def _member(self) -> Expr:
        """`member: primary | member '.' '?'? name ('(' args ')')? | member '[' '?'? expr ']'`."""
        operand = self._primary()
        while True:
            if self._token.kind == ".":
                operand = self._selection(operand)
            elif self._token.kind == "[":
                operand = self._index(operand)
            else:
                return operand

    def _selection(self, operand: Expr) -> Expr:
        dot = self._advance()
        question = self._accept("?")
        if self._token.kind not in {"ident", "escaped"}:
            self._fault("a field name")
        name = self._advance()
        if question is not None:
            if not self._optional_syntax:
                return self._report(dot.offset, messages.unsupported_syntax(".?"))
            number = self.new_id(dot.offset)
            field = ast.Literal(self.new_id(name.offset), self._field_name(name))
            return ast.Call(number, "_?._", (operand, field))
        if name.kind == "ident" and self._token.kind == "(":
            opening = self._advance()
            number = self.new_id(opening.offset)
            return self._call_or_macro(number, name.text, operand, self._arguments())
        return ast.Select(self.new_id(dot.offset), operand, self._field_name(name))

    def _field_name(self, name: Token) -> str:
        if name.kind == "escaped":
            self._errors.report(name.offset, messages.unsupported_syntax("`"))
        return name.text

    def _index(self, operand: Expr) -> Expr:
        opening = self._advance()
        number = self.new_id(opening.offset)
        question = self._accept("?")
        index = self._expr()
        self._expect("]", "`]`")
        if question is None:
            return ast.Call(number, "_[_]", (operand, index))
        if not self._optional_syntax:
            return self._report(opening.offset, messages.unsupported_syntax("[?"))
        return ast.Call(number, "_[?_]", (operand, index))

    def _arguments(self) -> tuple[Expr, ...]:
        """`args: expr (',' expr)*`, the closing bracket included."""
        if self._accept(")") is not None:
            return ()
        args = [self._expr()]
        while self._accept(",") is not None:
            args.append(self._expr())
        self._expect(")", "`)` or `,`")
        return tuple(args)

    def _call_or_macro(self, number: int, function: str, target: Expr | None, args: tuple[Expr, ...]) -> Expr:
        macro = self._macros.get((function, len(args), target is not None)) or self._macros.get(
            (function, -1, target is not None)
        )
        call = ast.Call(number, function, args, target)
        if macro is None:
            return call
        try:
            expanded = macro.expand(self, self.offset_of(number), target, args)
        except MacroError as error:
            return self._report(self.offset_of(error.node), error.message)
        if expanded is None:
            return call
        self.info.macro_calls[expanded.id] = call
        return expanded

    # --- primaries ------------------------------------------------------------------------------------

    def _primary(self) -> Expr:
        """`primary: '.'? name | '.'? name '(' args ')' | '(' expr ')' | list | map | struct | literal`."""
        token = self._token
        match token.kind:
            case "ident" | ".":
                return self._name()
            case "(":
                self._advance()
                expr = self._expr()
                self._expect(")", "`)`")
                return expr
            case "[":
                return self._list()
            case "{":
                return self._map()
            case "true" | "false" | "null":
                self._advance()
                return ast.Literal(
                    self.new_id(token.offset), {"true": True, "false": False, "null": None}[token.kind]
                )
            case "int" | "uint" | "float" | "string" | "bytes" | "-":
                return self._literal()
            case _:
                self._fault("an expression")
                raise AssertionError("a fault does not return")

    def _literal(self) -> Expr:
        sign = self._accept("-")
        token = self._token
        if sign is not None and token.kind not in {"int", "float"}:
            self._fault("an expression")
        self._advance()
        offset = sign.offset if sign is not None else token.offset
        text = f"-{token.text}" if sign is not None else token.text
        try:
            value: object
            match token.kind:
                case "int":
                    value = literals.int_value(text)
                case "uint":
                    value = literals.uint_value(text)
                case "float":
                    value = literals.float_value(text)
                case "string":
                    value = literals.string_value(text)
                case _:
                    value = literals.bytes_value(text[1:])
        except literals.LiteralError as error:
            return self._report(offset, str(error))
        return ast.Literal(self.new_id(offset), value)

    def _name(self) -> Expr:
        leading = self._accept(".")
        if self._token.kind != "ident":
            self._fault("a name")
        if self._is_struct():
            return self._struct(leading)
        name = self._advance()
        text = f".{name.text}" if leading is not None else name.text
        if name.text in RESERVED:
            return self._reserved(name.text, (leading or name).offset)
        if self._token.kind == "(":
            opening = self._advance()
            number = self.new_id(opening.offset)
            return self._call_or_macro(number, text, None, self._arguments())
        return ast.Ident(self.new_id(name.offset), text)

    def _reserved(self, name: str, offset: int) -> Expr:
        """A reserved name, whose arguments are not looked at any more but for their syntax."""
        reported = self._report(offset, messages.reserved(name))
        if self._accept("(") is not None:
            known = len(self._errors.issues)
            self._arguments()
            del self._errors.issues[known:]
        return reported

    def _is_struct(self) -> bool:
        """Whether `name ('.' name)* '{'` follows."""
        tokens, at = self._tokens, self._at + 1
        while tokens[at].kind == "." and tokens[at + 1].kind == "ident":
            at += 2
        return tokens[at].kind == "{"

    def _struct(self, leading: Token | None) -> Expr:
        """`struct: '.'? name ('.' name)* '{' fields? ','? '}'`."""
        names = [self._advance().text]
        while self._accept(".") is not None:
            names.append(self._advance().text)
        type_name = ".".join(names) if leading is None else "." + ".".join(names)
        number = self.new_id(self._advance().offset)
        fields: list[ast.FieldInit] = []
        while self._token.kind not in {"}", ","} or (fields and self._token.kind != "}"):
            question = self._accept("?")
            if self._token.kind not in {"ident", "escaped"}:
                self._fault("a field name")
            name = self._advance()
            field_name = self._field_name(name)
            colon = self._expect(":", "`:`")
            field_id = self.new_id(colon.offset)
            if question is not None and not self._optional_syntax:
                self._errors.report(question.offset, messages.unsupported_syntax("?"))
            fields.append(ast.FieldInit(field_id, field_name, self._expr(), question is not None))
            if self._accept(",") is None:
                break
        if not fields:
            self._accept(",")
        self._expect("}", "`}` or `,`")
        return ast.StructExpr(number, type_name, tuple(fields))

    def _list(self) -> Expr:
        """`list: '[' (('?'? expr) (',' …)*)? ','? ']'`."""
        number = self.new_id(self._advance().offset)
        elements: list[Expr] = []
        optional: set[int] = set()
        while self._token.kind not in {"]", ","} or (elements and self._token.kind != "]"):
            if (question := self._accept("?")) is not None:
                optional.add(len(elements))
                if not self._optional_syntax:
                    self._errors.report(question.offset, messages.unsupported_syntax("?"))
            elements.append(self._expr())
            if self._accept(",") is None:
                break
        if not elements:
            self._accept(",")
        self._expect("]", "`]` or `,`")
        return ast.ListExpr(number, tuple(elements), frozenset(optional))

    def _map(self) -> Expr:
        """`map: '{' (('?'? expr ':' expr) (',' …)*)? ','? '}'`."""
        number = self.new_id(self._advance().offset)
        entries: list[ast.Entry] = []
        while self._token.kind not in {"}", ","} or (entries and self._token.kind != "}"):
            question = self._accept("?")
            if question is not None and not self._optional_syntax:
                self._errors.report(question.offset, messages.unsupported_syntax("?"))
            key = self._expr()
            colon = self._expect(":", "`:`")
            entry_id = self.new_id(colon.offset)
            entries.append(ast.Entry(entry_id, key, self._expr(), question is not None))
            if self._accept(",") is None:
                break
        if not entries:
            self._accept(",")
        self._expect("}", "`}` or `,`")
        return ast.MapExpr(number, tuple(entries))


def _balance(function: str, terms: Sequence[Expr], ids: Sequence[int], low: int, high: int) -> Expr:
    middle = (low + high + 1) // 2
    left = terms[middle] if middle == low else _balance(function, terms, ids, low, middle - 1)
    right = terms[middle + 1] if middle == high else _balance(function, terms, ids, middle + 1, high)
    return ast.Call(ids[middle], function, (left, right))
