"""Times of day: "3:15", "a quarter past three", "half past two", "ten to four", "3.15 pm"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hqm.scoring.number_words import NUMBER_WORDS, SMALL_NUMBERS

_HOURS = SMALL_NUMBERS[1:13]


def _minute_values(*names: str) -> dict[str, int]:
    return {name: int(NUMBER_WORDS[name.replace(" ", "-")]) for name in names}


_MINUTES = _minute_values(*_HOURS, "fifteen", "twenty", "twenty-five", "twenty five") | {
    "a quarter": 15,
    "quarter": 15,
    "half": 30,
    "half an hour": 30,
}
_MINUTE_NAMES = "|".join(sorted(_MINUTES, key=len, reverse=True))
# a half of the day is kept apart: most clocks in pictures do not show it
_HALF_OF_DAY = r"(?:\s*(?P<half>[ap])\.?\s?m\b\.?)?"
# a full stop separates hours and minutes only before exactly two digits: 3.5 is a number
_DIGITAL = re.compile(
    rf"(?<![\d:.])(?P<hour>[01]?\d|2[0-4])\s?(?:[:：h]|\.(?=\d\d(?!\d)))\s?"
    rf"(?P<minute>[0-5]\d)(?::[0-5]\d)?(?![\d:]){_HALF_OF_DAY}",
    re.IGNORECASE,
)
_SPOKEN = re.compile(
    rf"\b(?:(?P<minute>{_MINUTE_NAMES}|[0-5]?\d)(?:\s+minutes?)?\s+"
    rf"(?P<relation>past|after|to|before|till|until)\s+)"
    rf"(?P<hour>{'|'.join(_HOURS)}|1[0-2]|[1-9])\b(?:\s*o'?clock)?{_HALF_OF_DAY}",
    re.IGNORECASE,
)
_FULL_HOUR = re.compile(
    rf"\b(?P<hour>{'|'.join(_HOURS)}|1[0-2]|[1-9])\s*(?:o'?clock\b{_HALF_OF_DAY}"
    r"|(?P<half_only>[ap])\.?\s?m\b\.?)",
    re.IGNORECASE,
)
_SPELLED_MINUTES = _minute_values(
    "fifteen", "thirty", "forty-five", "forty five", "twenty", "ten", "forty", "fifty"
)
_MINUTE_VALUES = _MINUTES | _SPELLED_MINUTES
_SPELLED = re.compile(
    rf"\b(?P<hour>{'|'.join(_HOURS)})\s+(?P<minute>{'|'.join(_SPELLED_MINUTES)})\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ClockTime:
    """A time as a clock shows it."""

    hour: int
    minute: int
    half_of_day: str = ""
    """"a" or "p", where a time says whether it is before noon."""

    def matches(self, other: ClockTime) -> bool:
        """Whether two times are the same; of the half of the day only where both name it."""
        if self.half_of_day and other.half_of_day and self.half_of_day != other.half_of_day:
            return False
        # 15:20 and 3:20 are one position of the hands
        return (self.hour % 12, self.minute) == (other.hour % 12, other.minute)

    def __str__(self) -> str:
        suffix = f" {self.half_of_day}m" if self.half_of_day else ""
        return f"{self.hour}:{self.minute:02}{suffix}"


def times_in(text: str) -> list[tuple[ClockTime, int, int]]:
    """Return the times that a text names, each with where it begins and ends.

    >>> [str(time) for time, _, _ in times_in("a quarter past three, or 3:45 pm")]
    ['3:15', '3:45 pm']
    """
    times: list[tuple[ClockTime, int, int]] = []
    end_of_last = 0
    matches = [
        match
        for pattern in (_DIGITAL, _SPOKEN, _FULL_HOUR, _SPELLED)
        for match in pattern.finditer(text)
    ]
    # of two readings at one place the longer holds: in "ten past three o'clock" there is no 3:00
    for match in sorted(matches, key=lambda match: (match.start(), -match.end())):
        if match.start() < end_of_last:
            continue
        end_of_last = match.end()
        times.append((_parse_time(match), match.start(), match.end()))
    return times


def _parse_time(match: re.Match[str]) -> ClockTime:
    """The time that one of the patterns matched."""
    groups = {name: value for name, value in match.groupdict().items() if value}
    hour_text = groups["hour"].lower()
    if hour_text.isdigit():
        hour = int(hour_text)
    else:
        hour = _HOURS.index(hour_text) + 1
    minute_text = groups.get("minute", "0").lower()
    if minute_text.isdigit():
        minute = int(minute_text)
    else:
        minute = _MINUTE_VALUES[minute_text]
    # "ten to four" counts back from the hour that it names
    if groups.get("relation", "past").lower() not in ("past", "after"):
        hour = (hour - 2) % 12 + 1
        minute = 60 - minute
    half = groups.get("half") or groups.get("half_only") or ""
    return ClockTime(hour, minute, half.lower())


def sole_time(text: str) -> ClockTime | None:
    """Return the time that a text is, in digits, with nothing beside it; None for another text.

    >>> str(sole_time("3:15")), sole_time("3:15 to 4"), sole_time("7")
    ('3:15', None, None)
    """
    match = _DIGITAL.fullmatch(text.strip())
    # 3.15 alone is more often a number than a time
    is_decimal = match is not None and "." in match[0] and not match["half"]
    return _parse_time(match) if match and not is_decimal else None
