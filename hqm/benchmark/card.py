"""The card of a benchmark: `card.toml`, read into a checked value.

A card says what a benchmark is, where its items lie, what their fields are called, and how an
answer is read and scored. Unknown keys are refused, so that a typing error is never taken for a
setting.
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from hqm.errors import CardError, DataError, meant
from hqm.files.records import read_toml
from hqm.signature import digest
from hqm.text import check_name
from hqm.types import HALLUCINATION_TYPES, Task

_MAX_CARD_CHARS = 20_000
"""Characters of a text of a card at most."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*")
    @classmethod
    def _storable(cls, value: object) -> object:
        # TOML can write it as \u0000, and no path can hold it.
        if isinstance(value, str) and "\0" in value:
            raise ValueError("it holds the character NUL, which no text has")
        if isinstance(value, str) and len(value) > _MAX_CARD_CHARS:
            raise ValueError(f"it has {len(value):,} characters, more than {_MAX_CARD_CHARS:,}")
        return value


class DataSection(_Section):
    """`[data]`: where the items and pictures lie."""

    folder: str = ""
    """The folder below the data root (`HQM_DATA` or `--data`), or
    `hf://datasets/<owner>/<name>[@<revision>]`; empty for data beside the card."""
    items: str = ""
    """The file of items, below the folder: JSON lines, a JSON array, CSV or Parquet.

    An adapter may read it instead.
    """
    images: str = ""
    """The pictures: a folder, a zip or parquet files below the folder, or a web address; `--images`
    replaces it.
    """
    checksums: str = ""
    """The file with the sizes or SHA-256 sums of the pictures, below the folder: records, or what
    `sha256sum` prints.
    """
    encoding: str = "utf-8"
    """The encoding of the items file."""

    @field_validator("folder", "items", "checksums")
    @classmethod
    def _check_below_folder(cls, name: str) -> str:
        # Windows takes a backslash for a separator, too: a card must not reach out of its folder
        # there.
        path = PurePosixPath(name.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts:
            raise ValueError(f"{name!r} lies outside the benchmark's folder; name a place in it")
        return name

    @field_validator("encoding")
    @classmethod
    def _check_encoding(cls, encoding: str) -> str:
        try:
            # A codec that is no text encoding (hex, rot13) raises LookupError here, too.
            "a".encode(encoding)
        except (LookupError, ValueError):
            raise ValueError(
                f"there is no encoding {encoding!r}; write utf-8, latin-1, utf-16, ..."
            ) from None
        return encoding


class FieldsSection(_Section):
    """`[fields]`: the names that the items file gives to an item's fields."""

    id: str = "id"
    """The item's id, unique in the file."""
    prompt: str = "prompt"
    """The question."""
    target: str = "target"
    """The right answer."""
    image: str = "image"
    """The picture's path below the image folder."""
    type: str = "type"
    """The hallucination type of the item."""
    part: str = "part"
    """The split that the item belongs to."""
    cluster: str = "cluster"
    """What the item shares with others; the picture unless the file says otherwise."""
    options: str = "options"
    """The options of a multiple choice: a list, or one text with | between the options."""

    @model_validator(mode="after")
    def _check_distinct(self) -> FieldsSection:
        meanings = {
            "the question": self.prompt,
            "the right answer": self.target,
            "the options": self.options,
            "the id": self.id,
        }
        for (first, name), (second, second_name) in combinations(meanings.items(), 2):
            if name == second_name:
                raise ValueError(f"{first} and {second} are both the field {name!r}")
        return self


class PromptSection(_Section):
    """`[prompt]`: what is written before and after every question."""

    prefix: str = ""
    """The text before the question."""
    suffix: str = ""
    """The text after the question and its options."""


class ScoringSection(_Section):
    """`[scoring]`: how an answer is read, and which metrics are audited."""

    parser: str = "strict"
    """The name of the parser of yes/no answers; `--parser` replaces it."""
    audited: tuple[str, ...] = ()
    """The metrics that an audit looks at; the benchmark's first metric when empty."""


class GenerationSection(_Section):
    """`[generation]`: how a respondent is asked, unless the command line says otherwise."""

    # `true` is no number of tokens
    model_config = ConfigDict(strict=True)

    max_tokens: int = Field(default=64, gt=0)
    """The longest answer, in tokens."""
    temperature: float = Field(default=1.0, ge=0)
    """Sampling temperature; 0 always takes the likeliest token, so that a retest is not
    informative.
    """
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Nucleus sampling."""


class JudgingSection(_Section):
    """`[judging]`: how the models of a judge procedure are asked, unless the command line says
    otherwise.
    """

    max_tokens: int = Field(default=512, gt=0)
    """The longest reply, in tokens."""
    temperature: float = Field(default=0.0, ge=0)
    """Sampling temperature of the judge."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Nucleus sampling."""


class SourceFile(_Section):
    """`[[source.files]]`: one file of the release."""

    path: str
    """Its path below the benchmark's data folder."""
    url: str = ""
    """Its address at the pinned revision; empty for a file that must be fetched by hand."""
    sha256: str = Field(default="", pattern=r"^([0-9a-f]{64})?$")
    """Its checksum."""
    size: int = Field(default=0, ge=0)
    """Its size in bytes."""
    optional: bool = False
    """Whether the benchmark works without it."""
    instead: str = ""
    """Another file or folder with the same content in another layout; it is used where it is
    already there.
    """
    made_from: tuple[str, ...] = ()
    """The files that the adapter makes this one from (`make_files`); it has no address of its
    own.
    """
    how: str = ""
    """What must be accepted or done by hand to get it."""


class SourceSection(_Section):
    """`[source]`: where `hqm fetch` gets the release from."""

    revision: str = ""
    """The commit or version that the addresses are pinned to."""
    files: tuple[SourceFile, ...] = ()
    """The files of the release."""
    images: str = ""
    """Where the pictures come from, and what must be accepted or done by hand."""
    images_url: str = ""
    """The address of the pictures."""
    images_licence: str = ""
    """The licence of the pictures."""


class RespondentsSection(_Section):
    """`[respondents]`: the respondents that come with an embedded benchmark."""

    embedded: tuple[str, ...] = ()
    """Their names; they are asked when a command names no respondent."""


class ShortenedSection(_Section):
    """`[shortened]`: of which benchmark this is a short form; `hqm shorten` writes it."""

    of: str = ""
    """The full benchmark, with its version."""
    items: int = Field(default=0, ge=0)
    """How many items the full benchmark has."""
    audit: str = ""
    """The content hash of the audit that the items were chosen by."""
    calibration: str = ""
    """The file, beside the items, with their weights and with what is lost."""


class RaiSection(_Section):
    """`[rai]`: what only the makers know of their data; metadata of data sets have it as `rai:`."""

    data_collection: str = ""
    """Where the pictures and questions come from, and how they were chosen."""
    data_annotation_protocol: str = ""
    """Who wrote and who checked the right answers, and how."""
    data_limitations: str = ""
    """What a score does not say; what `hqm check` finds is added."""
    data_biases: str = ""
    """Which groups, places or answers are over-represented; leaks that are found are added."""
    personal_sensitive_information: str = ""
    """What the data hold of persons: faces, names, places."""
    data_use_cases: str = ""
    """What a score may be used for, and what not."""
    data_social_impact: str = ""
    """Whom the use of the data may help or harm."""
    data_release_maintenance_plan: str = ""
    """Who mends the data, and where faults are reported."""

    @property
    def unsaid(self) -> list[str]:
        """The fields that are empty and that no check can fill, by their names in metadata."""
        # Metadata add what the check and an audit find.
        filled_by_check = ("data_limitations", "data_biases")
        texts: dict[str, str] = self.model_dump()
        return [
            rai_name(name)
            for name, text in texts.items()
            if not text and name not in filled_by_check
        ]


def rai_name(field: str) -> str:
    """Return the name of a field in the metadata of a data set.

    >>> rai_name("data_use_cases")
    'rai:dataUseCases'
    """
    first, *later_words = field.split("_")
    return f"rai:{first}{''.join(map(str.title, later_words))}"


class Card(_Section):
    """Everything a benchmark says of itself.

    Raises
    ------
    CardError
        From `Card.load`: the file is not TOML, a required key is missing, or a key is unknown or
        has a wrong value.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_]*$", max_length=100)
    """Its name in commands and signatures: lower-case letters, digits and underscores."""
    title: str = Field(min_length=1)
    """Its name in reports."""
    version: str = Field(min_length=1)
    """The revision of its data; part of every signature."""
    task: Task
    """`yes_no`, `choice`, `caption` or `vqa`."""
    summary: str = ""
    """One sentence for lists and reports."""
    group: str = ""
    """The name that stands for several benchmarks together (`shapes`, `amber`)."""
    adapter: str = Field(default="", pattern=r"^[a-z0-9_]*$")
    """The module in `adapters` that scores it; when empty, the module of the benchmark's name, if
    there is one.
    """
    types: tuple[str, ...] = ()
    """The types it claims to measure: those of hallucination, or its own, which have a capital
    letter where they look like one of those.
    """
    labelled: bool = False
    """Whether its items carry type labels."""
    citation: str = ""
    """The paper to cite."""
    url: str = ""
    """The web page of the release."""
    licence: str = ""
    """The licence of its data."""
    data: DataSection = DataSection()
    fields: FieldsSection = FieldsSection()
    prompt: PromptSection = PromptSection()
    scoring: ScoringSection = ScoringSection()
    generation: GenerationSection = GenerationSection()
    judging: JudgingSection = JudgingSection()
    source: SourceSection = SourceSection()
    respondents: RespondentsSection = RespondentsSection()
    shortened: ShortenedSection = ShortenedSection()
    rai: RaiSection | None = None
    """What only the makers know of their data."""

    @field_validator("title", "version", "group", "types")
    @classmethod
    def _check_names(cls, value: str | tuple[str, ...]) -> str | tuple[str, ...]:
        for name in (value,) if isinstance(value, str) else value:
            try:
                check_name(name, "name")
            except DataError as error:
                raise ValueError(error.message) from None
        return value

    @field_validator("types")
    @classmethod
    def _check_types(cls, types: tuple[str, ...]) -> tuple[str, ...]:
        if not all(types) or len(set(types)) < len(types):
            raise ValueError("a type is empty, or named twice")
        for unknown in sorted(set(types) - set(HALLUCINATION_TYPES)):
            suggestion = meant(unknown, HALLUCINATION_TYPES)
            # the known types are in lower case: "Accounting" is no slip of "counting"
            if suggestion and unknown.islower():
                type_names = ", ".join(HALLUCINATION_TYPES)
                raise ValueError(
                    f"unknown {unknown}; the types are {type_names}. {suggestion} A type of the"
                    " benchmark's own that looks like one of them has a capital letter"
                )
        return types

    @classmethod
    def load(cls, path: Path | str) -> Card:
        """Read a card.toml."""
        path = Path(path)
        if not path.exists():
            raise CardError(
                "there is no such card",
                location=str(path),
                remedy="Write one, or correct the path.",
            )
        try:
            data = read_toml(path)
        except DataError as error:
            raise CardError(error.message, location=error.location, remedy=error.remedy) from None
        return cls.parse(data, str(path))

    @classmethod
    def parse(cls, data: dict[str, object], location: str) -> Card:
        """Check a card's data; `location` names its file in the error."""
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise CardError(_sentence(error), location=location) from None

    @property
    def digest(self) -> str:
        return digest(self.model_dump(mode="json"))


def _sentence(error: ValidationError) -> str:
    """The first error that pydantic reports, as a sentence, with the number of the others."""
    from hqm.files.toml_files import first_fault

    errors = error.errors()
    n_further = len(errors) - 1
    return f"{first_fault(Card, errors)}{f' (and {n_further} more)' if n_further else ''}"
