# Made by `make export` from book/3-workshop/10-attention-scores.ipynb
"""Typed configurations in parts: fields that are checked, and JSON that reads back."""

# book/3-workshop/10-attention-scores.ipynb, cell base-config-imports
import inspect
import linecache
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Any, TypeVar, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError

from aiayn.errors import InputError, did_you_mean, nearest

MAY_CHANGE = "may change when a run is resumed"  # marks a field, in its Annotated
C = TypeVar("C", bound="BaseConfig")


@cache
def _adapters(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: TypeAdapter(hints[field.name]) for field in fields(kind)}


def _check(kind: type, values: dict[str, Any]) -> None:
    """Raise an InputError if a field of such a configuration has no such value."""
    for name, adapter in _adapters(kind).items():
        try:
            adapter.validate_python(values[name], strict=True)
        except ValidationError as error:
            wanted = error.errors()[0]["msg"].replace("Input should", "should")
            raise InputError(f"{name}={values[name]!r:.60}: {wanted}") from None


@contextmanager
def within(place: str) -> Iterator[None]:
    """Within it, the message of an InputError begins with a place."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{place}{error}") from None


# book/3-workshop/10-attention-scores.ipynb, cell field-comments
@cache
def field_comments(kind: type) -> dict[str, str]:
    """What comments above and beside the fields of a class say, by the fields."""
    found, comments = dict[str, str](), list[str]()
    module = sys.modules.get(kind.__module__)
    # A notebook has no file. Of a file, inspect would parse the whole for each class.
    text = "".join(linecache.getlines(getattr(module, "__file__", None) or ""))
    body = re.search(rf"^class {kind.__name__}\b.*?(?=^\w|\Z)", text, re.M | re.S)
    for line in map(str.strip, body[0].splitlines() if body else ()):
        code, _, comment = line.partition("# ")
        comments += [comment] if comment else []
        field = re.match(r"(\w+): ", code)
        if field and field[1] in kind.__annotations__:
            found.setdefault(field[1], " ".join(comments))
        comments = [] if code else comments
    return found


def with_attributes(kind: type) -> str | None:
    """The docstring of a configuration, and below it what its fields are."""
    found = dict[str, str]()
    for each in reversed(kind.__mro__[:-1]):
        found |= field_comments(each)
    if not (kind.__doc__ and found):
        return kind.__doc__
    listed, hints = list[str](), get_type_hints(kind)
    for name, text in found.items():
        values, default = hints[name], getattr(kind, name, None)
        type_name = getattr(values, "__name__", "")
        if get_args(values):  # such as int | None
            type_name = str(values).replace("typing.", "")
        what = f"{name} : {type_name}"
        if not is_dataclass(default):
            what += f", default {default!r}" * hasattr(kind, name)
        listed.append(f"    {what}\n        {text}")
    title = ["", "    Attributes", "    ----------"]
    return "\n".join([kind.__doc__.rstrip(), *title, *listed])


# book/3-workshop/10-attention-scores.ipynb, cell field-signature
class FieldSignature:
    """The signature that `help` shows of a dataclass: names and defaults alone."""

    def __get__(self, instance: Any, kind: Any) -> inspect.Signature:
        parameters = [
            inspect.Parameter(
                each.name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=inspect.Parameter.empty
                if each.default is MISSING
                else each.default,
            )
            for each in fields(kind)
        ]
        return inspect.Signature(parameters)


# book/3-workshop/10-attention-scores.ipynb, cell base-config
@dataclass(frozen=True)
class BaseConfig:
    """A dataclass whose fields are checked, and which JSON gives back as it was.

    Bounds stand in a field's `Annotated`; an `InputError` names a value out of them.
    """

    __signature__ = FieldSignature()

    def __init_subclass__(cls) -> None:
        """Let `help` show the comments on the fields."""
        cls.__doc__ = with_attributes(cls)

    def __post_init__(self) -> None:
        """Check every field."""
        _check(type(self), vars(self))

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it: what `from_dict` reads."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: value.to_dict() if isinstance(value, BaseConfig) else value
            for name, value in values.items()
        }

    @classmethod
    def from_dict(cls: type[C], values: Any) -> C:
        """The configuration that `to_dict` wrote, or else an InputError."""
        if not isinstance(values, dict):
            raise InputError(f"{values!r:.60} has no fields")
        names, read = [field.name for field in fields(cls)], dict[str, Any]()
        for name in [*values, *names]:
            if name not in values:
                raise InputError(f"{name}: is missing")
            if name not in names:
                raise InputError(f"{name!r:.60}: no such field")
            hint, value = get_type_hints(cls)[name], values[name]
            kinds = [kind for kind in (hint, *get_args(hint)) if isinstance(kind, type)]
            parts = [kind for kind in kinds if issubclass(kind, BaseConfig)]
            if parts and isinstance(value, dict):
                with within(f"{name}."):
                    value = parts[0].from_dict(value)
            read[name] = value
        _check(cls, read)  # before a type checker, if any, does so in its own words
        return cls(**read)


# book/3-workshop/10-attention-scores.ipynb, cell settings
def settings(config: BaseConfig, fixed: bool = False) -> dict[str, Any]:
    """All fields by their full names, such as `optimizer.warmup`.

    With `fixed`, only those that may not change when a run is resumed.
    """
    values, hints = dict[str, Any](), get_type_hints(type(config), include_extras=True)
    for name, value in config.to_dict().items():
        nested, hint = getattr(config, name, None), hints.get(name)
        if isinstance(nested, BaseConfig):
            inner = settings(nested, fixed)
            values |= {f"{name}.{field}": value for field, value in inner.items()}
        elif not fixed or MAY_CHANGE not in getattr(hint, "__metadata__", ()):
            values[name] = value
    return values


def differences(
    one: BaseConfig, other: BaseConfig, fixed: bool = False
) -> dict[str, tuple[Any, Any]]:
    """The `settings` in which two configurations differ, with both values."""
    a, b = settings(one, fixed), settings(other, fixed)
    names = [name for name in {**a, **b} if a.get(name) != b.get(name)]
    return {name: (a.get(name), b.get(name)) for name in names}


# book/3-workshop/10-attention-scores.ipynb, cell nearest-setting
# What other programs call a setting of a recipe, and what it is here.
INSTEAD = {
    "epochs": ("steps", "minutes"),
    "lr": ("learning_rate",),
    "batch_size": ("batches.tokens",),
    "layers": ("model.N",),
    "heads": ("model.h",),
    "hidden_size": ("model.d_model",),
}


def nearest_setting(config: BaseConfig, name: str, value: Any) -> str:
    """What to say of a setting that is not there: how to write the one most like it."""
    own = [field.name for field in fields(config)]
    if name in INSTEAD and "steps" in own:
        parts = [full.rpartition(".") for full in INSTEAD[name]]
        ways = (f'{part}={{"{last}": …}}' if part else last for part, _, last in parts)
        return f"give {' or '.join(ways)}"
    if (there := INSTEAD.get(name, ("",))[0].rpartition(".")[2]) in own:
        return f"did you mean {there}?"
    last = {full.rpartition(".")[2]: full for full in settings(config)}
    near = nearest(name, [*last, *last.values()]) or ""
    part, _, field = last.get(near, near).rpartition(".")
    if part:
        return f'did you mean {part}={{"{field}": {value!r:.60}}}?'
    near = nearest(name, own) or ""
    inner = getattr(config, near, None)
    if isinstance(inner, BaseConfig):
        return f"{near}={{…}} has {', '.join(inner.to_dict())}"
    return did_you_mean(name, own)


# book/3-workshop/10-attention-scores.ipynb, cell changed
def changed(config: C, **changes: Any) -> C:
    """A copy with other values; a dictionary changes fields of a part.

    So does a full name. An `InputError` names a field that is not there, and one that
    is like it.
    """
    for full in [name for name in changes if "." in name]:
        part, _, name = full.partition(".")
        changes[part] = {**changes.get(part, {}), name: changes.pop(full)}
    for name, value in changes.items():
        if name not in (field.name for field in fields(config)):
            hint = nearest_setting(config, name, value)
            raise InputError(f"{name}={value!r:.60}: no such setting; {hint}")
        part = getattr(config, name)
        if isinstance(part, BaseConfig) and isinstance(value, dict):
            with within(f"{name}."):
                changes[name] = changed(part, **value)
    return replace(config, **changes)
