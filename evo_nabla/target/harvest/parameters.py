"""Parameter names, kinds, defaults, types and choices of torch APIs, from schemas, Python signatures and docstrings."""

from __future__ import annotations

import ast
import contextlib
import inspect
import re
from typing import Any, Callable, Dict, Iterable, List, Optional, Set, Tuple

import torch

from evo_nabla.call import argument_to_json

from .encode import Encoder, UnencodableError
from .names import PublicNames, members, resolve

Parameter = Dict[str, Any]
Signature = Dict[str, Any]

KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "positional",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "positional",
    inspect.Parameter.KEYWORD_ONLY: "keyword",
    inspect.Parameter.VAR_POSITIONAL: "var",
    inspect.Parameter.VAR_KEYWORD: "var",
}
# Schemas of old torches give these as plain int.
NAMED_TYPES = {"dtype": "dtype", "layout": "layout", "memory_format": "memory_format", "device": "device"}
SPELLED_TYPES = (
    ("ScalarType", "dtype"),
    ("Layout", "layout"),
    ("MemoryFormat", "memory_format"),
    ("Device", "device"),
    ("SymInt", "int"),
    ("number", "Scalar"),
)
QUOTED_CHOICE = re.compile(r"'([a-z][a-z0-9_]*)'|\"([a-z][a-z0-9_]*)\"")


class Signatures:
    """Reads signatures of this torch; the tables of schemas and overrides are built once."""

    def __init__(self) -> None:
        self._encoder = Encoder(PublicNames())
        self._common_choices = _choices_agreed_on()
        self._overrides: Dict[int, Callable[..., Any]] = {
            id(function): override for function, override in torch.overrides.get_testing_overrides().items()
        }

    def of(self, api: str) -> Optional[Signature]:
        """The signature of one API as JSON, or None where the path leads nowhere or nothing is known of its parameters.

        {"parameters": […], "method": bool, "module": bool}; of a module or transform, "parameters" are those of calling
        an instance, and its constructor's stand under "init". A parameter: {"name", "kind": "positional" | "keyword" |
        "var", "default": Argument JSON if there is one, "type": text or null, "choices": strings where documented}.
        """
        try:
            function = resolve(api)
        except (ImportError, AttributeError, RuntimeError):
            return None
        if isinstance(function, type):
            return self._of_class(function)
        method = api.startswith("torch.Tensor.")
        parameters = self._parameters(api, function, method)
        if parameters is None:
            return None
        return {"parameters": parameters, "method": method, "module": False}

    def _of_class(self, cls: type) -> Optional[Signature]:
        forward = getattr(cls, "forward", None) or inspect.getattr_static(cls, "__call__", None)
        called = self._from_python(forward) if forward is not None else None
        constructed = self._from_python(cls)
        if called is None or constructed is None:
            return None
        documentation = inspect.getdoc(cls) or ""
        return {
            "parameters": self._with_choices(called[1:], documentation),
            "method": False,
            "module": True,
            "init": self._with_choices(constructed, documentation),
        }

    def _parameters(self, api: str, function: Any, method: bool) -> Optional[List[Parameter]]:
        documentation = inspect.getdoc(function) or ""
        found = self._from_schema(_operator_name(api, function)) if api.startswith("torch.") else None
        if found is not None and not method and not api.startswith("torch.ops."):
            for parameter in found:  # what a schema calls self, torch's functions call input
                parameter["name"] = "input" if parameter["name"] == "self" else parameter["name"]
        if found is None or inspect.isfunction(function):
            found = self._from_python(function) or found
        if found is None or all(parameter["kind"] == "var" for parameter in found):
            found = self._from_override(function) or found
        if found is None:
            found = self._from_documentation(documentation, method)
        return None if found is None else self._with_choices(found, documentation)

    def _from_schema(self, name: str) -> Optional[List[Parameter]]:
        operator, _, overload = name.partition(".")
        schemas = [
            schema
            for schema in torch._C._jit_get_schemas_for_operator("aten::" + operator)
            if (not overload or schema.overload_name == overload.replace("default", ""))
        ]
        usable = [schema for schema in schemas if _is_usable(schema)]
        if not usable:
            return None
        # The longest overload knows every argument that the operator can take.
        longest = max(usable, key=lambda schema: len(schema.arguments))
        return [self._from_schema_argument(argument) for argument in longest.arguments]

    def _with_choices(self, parameters: List[Parameter], documentation: str) -> List[Parameter]:
        """Adds the words that a text parameter may be: those its documentation lists, else those torch.nn agrees on."""
        for parameter in parameters:
            if _takes_text(parameter):
                known = _choices(parameter, documentation) or self._common_choices.get(parameter["name"], [])
                default = parameter.get("default")
                if known and (not isinstance(default, str) or default in known):
                    parameter["choices"] = known
        return parameters

    def _from_schema_argument(self, argument: Any) -> Parameter:
        parameter: Parameter = {
            "name": argument.name,
            "kind": "keyword" if argument.kwarg_only else "positional",
            "type": _schema_type(argument),
        }
        if argument.has_default_value():
            self._set_default(parameter, argument.default_value)
        return parameter

    def _from_python(self, function: Any) -> Optional[List[Parameter]]:
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):
            return None
        return [self._from_python_parameter(parameter) for parameter in signature.parameters.values()]

    def _from_python_parameter(self, source: inspect.Parameter) -> Parameter:
        parameter: Parameter = {"name": source.name, "kind": KINDS[source.kind], "type": _annotation(source)}
        if source.default is not inspect.Parameter.empty:
            self._set_default(parameter, source.default)
        return parameter

    def _from_override(self, function: Any) -> Optional[List[Parameter]]:
        override = self._overrides.get(id(function))
        return None if override is None else self._from_python(override)

    def _from_documentation(self, documentation: str, method: bool) -> Optional[List[Parameter]]:
        """The parameters of a first line such as "gelu(input, approximate='none') -> Tensor"; parsed, never run."""
        first = documentation.strip().partition("\n")[0].partition("->")[0].strip()
        try:
            parsed = ast.parse("def " + first.rpartition(".")[2] + ": pass").body[0]
        except (SyntaxError, ValueError, IndexError):
            return None
        if not isinstance(parsed, ast.FunctionDef):
            return None
        found: List[Parameter] = [{"name": "self", "kind": "positional", "type": "Tensor"}] if method else []
        positional = parsed.args.args
        defaults: List[Optional[ast.expr]] = [None] * (len(positional) - len(parsed.args.defaults))
        defaults.extend(parsed.args.defaults)
        for argument, default in zip(positional, defaults):
            found.append(self._from_documented(argument.arg, "positional", default))
        for argument, default in zip(parsed.args.kwonlyargs, parsed.args.kw_defaults):
            found.append(self._from_documented(argument.arg, "keyword", default))
        return found

    def _from_documented(self, name: str, kind: str, default: Optional[ast.expr]) -> Parameter:
        parameter: Parameter = {"name": name, "kind": kind, "type": "Tensor" if name in ("self", "input") else None}
        if default is not None:
            with contextlib.suppress(ValueError):  # a default that is not a literal (torch.strided) stays unknown
                self._set_default(parameter, ast.literal_eval(default))
        return parameter

    def _set_default(self, parameter: Parameter, value: Any) -> None:
        try:
            parameter["default"] = argument_to_json(self._encoder.argument(value))
        except UnencodableError:
            return
        if parameter["type"] is None and isinstance(value, (bool, int, float, str)):
            parameter["type"] = type(value).__name__


def signatures(apis: Iterable[str]) -> Dict[str, Optional[Signature]]:
    """The signature of each API, None for those of which nothing is known."""
    reader = Signatures()
    return {api: reader.of(api) for api in apis}


def _operator_name(api: str, function: Any) -> str:
    """The aten operator behind an API: torch.special.erf → special_erf, torch.ops.aten.add.Tensor → add.Tensor."""
    if api.startswith("torch.ops.aten."):
        return api[len("torch.ops.aten.") :]
    name = getattr(function, "__name__", api.rpartition(".")[2])
    return str(name)


def _is_usable(schema: Any) -> bool:
    takes = any("Tensor" in str(argument.type) for argument in schema.arguments)
    named = "Dimname" in schema.overload_name or "dimname" in schema.overload_name
    written = any(argument.name in ("out", "out0", "out1") for argument in schema.arguments)
    return takes and not named and not written


def _schema_type(argument: Any) -> str:
    text = str(getattr(argument, "real_type", None) or argument.type)
    if argument.name in NAMED_TYPES and "Tensor" not in text:
        text = text.replace("int", NAMED_TYPES[argument.name])
    for spelled, ours in SPELLED_TYPES:
        text = text.replace(spelled, ours)
    while True:
        shorter = re.sub(r"List\[([^\[\]]*(?:\[\][^\[\]]*)*)\]", r"\1[]", text)
        if shorter == text:
            return text
        text = shorter


def _annotation(source: inspect.Parameter) -> Optional[str]:
    if source.annotation is inspect.Parameter.empty:
        return "Tensor" if source.name in ("self", "input", "other") else None
    annotation = source.annotation
    if annotation is None or annotation is type(None):  # torch's BroadcastingList types evaluate to None
        return None
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = re.sub(r"ForwardRef\('(\w+)'\)", r"\1", text)
    text = re.sub(r"typing\.|torch\._tensor\.|torch\.|collections\.abc\.", "", text)
    optional = re.match(r"Union\[(.+), None(?:Type)?\]$", text) or re.match(r"([^|]+) \| None$", text)
    return f"Optional[{optional.group(1).strip()}]" if optional else text


def _choices_agreed_on() -> Dict[str, List[str]]:
    """Parameter name → choices, where all classes of torch.nn that document some for that name document the same."""
    found: Dict[str, Set[Tuple[str, ...]]] = {}
    for _, member in members("torch.nn"):
        if not isinstance(member, type) or not issubclass(member, torch.nn.Module):
            continue
        documentation = inspect.getdoc(member) or ""
        for name, source in inspect.signature(member).parameters.items():
            if isinstance(source.default, str):
                choices = _choices({"name": name, "default": source.default}, documentation)
                if choices:
                    found.setdefault(name, set()).add(tuple(choices))
    return {name: list(next(iter(choices))) for name, choices in found.items() if len(choices) == 1}


def _takes_text(parameter: Parameter) -> bool:
    kind = parameter["type"] or ""
    return isinstance(parameter.get("default"), str) or re.search(r"\bstr\b", kind) is not None


def _choices(parameter: Parameter, documentation: str) -> List[str]:
    """Words in quotes in the paragraph on the parameter, and its default; empty where they are fewer than two."""
    name = re.escape(parameter["name"])
    starts = re.search(rf"^[ \t]*{name}[ \t]*(?:\([^\n]*)?:", documentation, re.MULTILINE)
    if starts is None:
        return []
    paragraph = re.split(
        r"\n[ \t]*\n|\n[ \t]*\*{0,2}[A-Za-z_]\w*[ \t]*\([^)\n]*\)[ \t]*:", documentation[starts.start() :]
    )[0]
    found = {first or second for first, second in QUOTED_CHOICE.findall(paragraph)}
    default = parameter.get("default")
    if isinstance(default, str):
        found.add(default)
    return sorted(found) if len(found) > 1 else []
