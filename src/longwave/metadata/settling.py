"""A condition as an engine takes it: values of the types of their columns, under the names that columns have there."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from longwave.errors import InputError
from longwave.metadata.arrow import is_list, need
from longwave.metadata.conditions import AllOf, AnyOf, Compare, Condition, Exists, Not, OneOf
from longwave.metadata.messages import shown, unknown_column
from longwave.metadata.values import (
    EPOCH,
    Value,
    Wrong,
    as_bool,
    as_days,
    as_microseconds,
    as_number,
    as_text,
    rounded,
    whole_bound,
    whole_range,
)


def settled(condition: Condition, schema: Any, names: Mapping[str, str]) -> Condition:
    """The same for an engine: values of the type of their column, bounds of whole numbers whole, columns renamed.

    schema: of Arrow. names: what a column is called there. What does not suit its column is the error of `mask`.
    """
    if isinstance(condition, Not):
        return Not(settled(condition.part, schema, names))
    if isinstance(condition, AllOf | AnyOf):
        return type(condition)(tuple(settled(part, schema, names) for part in condition.parts))
    assert isinstance(condition, Compare | OneOf | Exists)
    if condition.column not in schema.names:
        raise unknown_column(condition.column, schema.names)
    name = names[condition.column]
    if isinstance(condition, Exists):
        return Exists(name)
    kind = schema.field(condition.column).type
    condition.mask(schema.empty_table())  # says what is wrong
    inner = kind.value_type if is_list(kind) or need("pyarrow.types").is_dictionary(kind) else kind
    if isinstance(condition, OneOf):
        fitting = (_settled_value(value, inner) for value in condition.values)
        return OneOf(name, tuple(value for value in fitting if value is not None))
    return _settled_bound(name, condition, inner)


def _settled_value(value: Value, kind: Any) -> Value | None:
    """A value as its column has it; None where the column cannot have it."""
    types = need("pyarrow.types")
    wrong: Wrong = lambda value, wanted: InputError(f"got {shown(value)}; give {wanted}")  # noqa: E731
    if types.is_null(kind):
        return None
    if types.is_boolean(kind):
        return as_bool(value, wrong)
    if types.is_string(kind):
        return as_text(value, wrong)
    if types.is_floating(kind):
        return rounded(as_number(value, wrong), kind)
    if types.is_date32(kind):
        return datetime.date.fromordinal(as_days(value, wrong) + EPOCH.toordinal())
    if types.is_timestamp(kind):
        since = EPOCH + datetime.timedelta(microseconds=as_microseconds(value, kind.tz, wrong))
        return since if kind.tz is not None else since.replace(tzinfo=None)
    number = as_number(value, wrong)
    low, high = whole_range(kind)
    return int(number) if low <= number <= high and number == int(number) else None


def _settled_bound(name: str, condition: Compare, kind: Any) -> Condition:
    types = need("pyarrow.types")
    if types.is_null(kind):
        return AnyOf(())
    if not types.is_integer(kind):
        value = _settled_value(condition.value, kind)
        assert value is not None
        return Compare(name, condition.operator, value)
    bound = whole_bound(condition.operator, as_number(condition.value, lambda v, w: InputError(w)), whole_range(kind))
    if isinstance(bound, bool):
        return Exists(name) if bound else AnyOf(())
    return Compare(name, "$lte" if condition.operator in ("$lt", "$lte") else "$gte", bound)


# Evaluation: every comparison becomes "is in a set" or one comparison with a scalar, and is then made chunk by chunk.
