"""What a study costs: a unit price for answers, verdicts, labels and new material, from a file or
from what an audit measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, TypedDict

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hqm.errors import DataError
from hqm.files.records import parse_toml, read_text
from hqm.files.toml_files import first_fault

Money = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)]
Count = Annotated[int, Field(ge=1, strict=True)]
ANSWERS = "answers"
"""The unit of cost where nothing has a price."""
_MILLION = 1e6


class Measured(TypedDict, total=False):
    """What an audit's record measured of a respondent or a judge; seconds are of one answer."""

    answers: int
    tokens_in: float
    tokens_out: float
    seconds: float
    price_in: float
    price_out: float
    name: str
    replies_a_verdict: float


class Costs(TypedDict, total=False):
    """What an audit's record measured of one benchmark."""

    respondents: Mapping[str, Measured]
    judge: Measured
    label_seconds: float


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TokenPrice(_Strict):
    """Money per million tokens read (`in`) and written (`out`)."""

    read: Money = Field(alias="in")
    output: Money = Field(alias="out")


class Labels(_Strict):
    """People's time: `minutes` a label (the audit's own median unless given), and money an
    `hour`.
    """

    minutes: Money | None = None
    hour: Money | None = None


class Machine(_Strict):
    """Money an `hour` of the machine that runs local models."""

    hour: Money | None = None


class Judge(_Strict):
    """Money a `verdict`."""

    verdict: Money | None = None


class New(_Strict):
    """Money for what the benchmark does not have yet."""

    picture: Money = 0.0
    item: Money = 0.0
    form: Money = 0.0


class StudyLimits(_Strict):
    """The largest study that can be made."""

    pictures: Count | None = None
    items_per_picture: Count | None = None
    forms: Count | None = None
    runs: Count | None = None
    askings: Count | None = None
    labels: Count | None = None
    respondents: Count | None = None


class PriceList(_Strict):
    """A `prices.toml`."""

    currency: str = "money"
    answers: Mapping[str, Money] = Field(default_factory=dict)
    """Respondent -> money an answer; `"*"` for the others."""
    tokens: Mapping[str, TokenPrice] = Field(default_factory=dict)
    """Respondent -> money per million tokens; `"*"` for the others."""
    machine: Machine = Machine()
    judge: Judge = Judge()
    labels: Labels = Labels()
    new: New = New()
    most: StudyLimits = StudyLimits()


def read_prices(path: Path | str) -> PriceList:
    """Read a `prices.toml`.

    Raises
    ------
    DataError
        The file is no TOML, or has a key that means nothing or a wrong value; the key is named.
    """
    return parse_prices(read_text(Path(path)), str(path))


def parse_prices(text: str, location: str = "") -> PriceList:
    """Read the text of a `prices.toml`.

    >>> parse_prices('[answers]\\n"*" = 0.002\\n[new]\\npicture = 1.5').new.picture
    1.5
    """
    remedy = "The keys are described in docs/design.md."
    try:
        return PriceList.model_validate(parse_toml(text))
    except DataError as error:
        raise DataError(error.message, location=location, remedy=error.remedy or remedy) from None
    except ValidationError as error:
        raise DataError(
            first_fault(PriceList, error.errors(include_url=False)),
            location=location,
            remedy=remedy,
        ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitPrices:
    """What a unit of everything costs, for this study.

    - `answer`: The mean over the respondents. `label` is None where people's time has no price.
    - `unit`: The currency, or `answers` where nothing has a price: then only answers and verdicts
      are counted.
    - `sources`: In words, where the prices come from, and which are missing.
    """

    answer: float = 1.0
    verdict: float = 0.0
    label: float | None = None
    picture: float = 0.0
    item: float = 0.0
    form: float = 0.0
    unit: str = ANSWERS
    sources: tuple[str, ...] = ()
    limits: StudyLimits = field(default_factory=StudyLimits)


def unit_prices(
    prices: PriceList | None, costs: Costs, respondents: Sequence[str], *, judged: bool
) -> UnitPrices:
    """The prices of a study: those of a list, else those that the audit's record has measured.

    Parameters
    ----------
    prices
        A `prices.toml`; it decides wherever it says something.
    costs
        What the record of an audit says of its benchmark: `respondents` (tokens, seconds and prices
        of each), `verdict_tokens`, `label_seconds`.
    respondents
        The respondents, each once.
    judged
        Whether a judge has to score each answer.
    """
    price_list = prices or PriceList()
    measured = costs.get("respondents", {})
    known_prices = []
    price_sources: dict[str, None] = {}
    for name in respondents:
        price, source = _answer_price(name, price_list, measured.get(name, {}))
        if price is not None:
            known_prices.append(price)
            price_sources[f"answers: {source}"] = None
    verdict, verdict_source = (
        _verdict_price(price_list, costs.get("judge", {})) if judged else (0.0, "")
    )
    label, label_source = _label_price(price_list, costs)
    new = price_list.new
    priced = (
        bool(known_prices)
        or bool(verdict)
        or any((new.picture, new.item, new.form))
        or label is not None
    )
    if not priced:
        reason = (
            "nothing has a price, so cost is counted in answers; new pictures and wordings are free"
            " in this count"
        )
        return UnitPrices(verdict=1.0 if judged else 0.0, sources=(reason,), limits=price_list.most)
    sources = list(price_sources)
    if unpriced := len(respondents) - len(known_prices):
        sources.append(
            f"{unpriced} of {len(respondents)} respondents have no price and cost nothing in this"
            " count"
        )
    if verdict_source:
        sources.append(f"verdicts: {verdict_source}")
    if label_source:
        sources.append(f"labels: {label_source}")
    if not any((new.picture, new.item, new.form)):
        sources.append(
            "new pictures, items and wordings are free in this count: price them under [new] in"
            " prices.toml"
        )
    return UnitPrices(
        answer=sum(known_prices) / max(len(respondents), 1),
        verdict=verdict or 0.0,
        label=label,
        picture=new.picture,
        item=new.item,
        form=new.form,
        unit=price_list.currency,
        sources=tuple(sources),
        limits=price_list.most,
    )


def _answer_price(name: str, prices: PriceList, measured: Measured) -> tuple[float | None, str]:
    """Money an answer of one respondent, and where that comes from."""
    price = prices.answers.get(name, prices.answers.get("*"))
    if price is not None:
        return price, "prices.toml"
    tokens = _tokens_per_answer(measured)
    rate = prices.tokens.get(name, prices.tokens.get("*"))
    if rate is not None and tokens is not None:
        return (
            tokens[0] * rate.read + tokens[1] * rate.output
        ) / _MILLION, "tokens of the store, prices.toml"
    if measured.get("price_in") is not None and tokens is not None:
        paid = tokens[0] * float(measured["price_in"]) + tokens[1] * float(measured["price_out"])
        return paid / _MILLION, "tokens of the store, prices in the respondents' names"
    if prices.machine.hour is not None and measured.get("seconds") is not None:
        return (
            float(measured["seconds"]) / 3600 * prices.machine.hour,
            "seconds of the store, prices.toml",
        )
    return None, ""


def _tokens_per_answer(measured: Measured) -> tuple[float, float] | None:
    if not measured.get("answers") or not measured.get("tokens_in"):
        return None
    answers = float(measured["answers"])
    return float(measured["tokens_in"]) / answers, float(measured["tokens_out"]) / answers


def _verdict_price(prices: PriceList, measured: Measured) -> tuple[float | None, str]:
    if prices.judge.verdict is not None:
        return prices.judge.verdict, "prices.toml"
    name = str(measured.get("name", ""))
    judge_prices = PriceList(tokens=prices.tokens)
    # A judge is paid by its tokens alone: the seconds of its machine are those of the respondents.
    priced = measured.copy()
    priced.pop("seconds", None)
    price, source = _answer_price(name, judge_prices, priced)
    replies = float(measured.get("replies_a_verdict", 1.0))
    if price is None:
        return (None, "the judge has no price and costs nothing in this count")
    return (price * replies, source)


def _label_price(prices: PriceList, costs: Costs) -> tuple[float | None, str]:
    """Money a label, of the minutes that one takes."""
    if prices.labels.hour is None:
        return None, ""
    if prices.labels.minutes is not None:
        return prices.labels.minutes / 60 * prices.labels.hour, "prices.toml"
    if costs.get("label_seconds") is not None:
        return (
            float(costs["label_seconds"]) / 3600 * prices.labels.hour,
            "seconds of the labels, prices.toml",
        )
    return None, "no label of the audit has a time: give minutes under [labels]"
