"""Request and response bodies as pydantic models. OpenAPI, and from it the page's types, are made of these.

Requests are checked by their model, and refused in our words. Answers are written as they are: the tests hold
every answer that they get to what is said here.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SkipValidation, ValidationError

from langscape.analyses._typed_words import MOST as MOST_WORDS
from langscape.declarations.validation import shown
from langscape.errors import SettingsError
from langscape.studio.forms import offered
from langscape.studio.looking import TEXT
from langscape.studio.problem import STATUS, Problem

InputKind = Literal["text", "words", "documents", "vectors", "corpus", "table", "gaussians", "map"]
SettingType = Literal["integer", "number", "text", "choice", "flag", "numbers", "words", "vectors"]
JobState = Literal["queued", "running", "done", "failed", "cancelled"]
Word = Annotated[str, Field(min_length=1, max_length=200)]
Request = TypeVar("Request", bound="RequestBody")


class Answer(BaseModel):
    """What the server says; nothing in it is left out."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class ErrorDetail(Answer):
    """What went wrong."""

    code: Annotated[str, Field(json_schema_extra={"enum": [*STATUS]})]
    """Each code has one HTTP status."""
    message: str
    """The thing, its value, and what was expected."""
    hint: str
    """What to do about it; may be empty."""


class ErrorBody(Answer):
    """The one shape of everything that is refused."""

    error: ErrorDetail


class Choice(Answer):
    """One value of a setting that is a choice."""

    value: str | int | float
    label: str


class SettingInfo(Answer):
    """A setting of an analysis, or a parameter of a view, as a form shows it."""

    name: str
    label: str
    type: SettingType
    default: str | float | bool | list[str] | list[int] | None
    """null is "chosen for you", unless it is required."""
    low: float | None
    high: float | None
    choices: list[Choice] | None
    required: bool
    percent: bool
    """Whether the number is a share that a form shows as per cent."""
    help: str
    hint: str
    """A few words below the field; may be empty."""
    source: str
    """The work it comes from, by its number; may be empty."""


class InputInfo(Answer):
    """An input that an analysis takes."""

    name: str
    kind: InputKind
    label: str
    help: str
    required: bool
    default: str | None
    """The id of the sample that is taken where none is given."""


class ViewInfo(Answer):
    """A view that the result of an analysis has."""

    name: str
    kind: str
    parameters: list[SettingInfo]


class AnalysisInfo(Answer):
    """An analysis that can be run: its form, and the views of its result."""

    title: str
    room: str
    inputs: list[InputInfo]
    settings: list[SettingInfo]
    views: list[ViewInfo]


class ModelInfo(Answer):
    """A model that comes with langscape."""

    name: str
    """What it is asked for by."""
    short: str
    """What readers call it."""
    title: str
    kind: Literal["encoder", "decoder", "lstm"]
    layers: int
    heads: int | None
    """In each layer; none of a model without attention."""
    longest: int | None
    """Tokens of a text that it reads at most."""
    ready: bool
    hint: str
    """What to do where it is not ready."""
    serves: list[str]
    """The analyses that can be asked of it."""
    prompts: list[str]
    """Texts that its flow is offered."""
    counts: bool
    """Whether the tokens of a text can be counted for it beforehand."""
    vocabulary: list[str]
    """Its words, where it refuses a text that holds any other; else empty."""


class ModelState(Answer):
    """How a packaged model that is asked for stands."""

    name: str
    state: Literal["absent", "fetching", "ready", "failed"]
    doing: str
    done: int
    total: int
    error: str
    """Why it could not be fetched, and what to do; else empty."""


class SampleText(Answer):
    """A text that comes with langscape."""

    id: str
    name: str
    text: str


class SampleVectors(Answer):
    """Word vectors that come with langscape."""

    id: str
    name: str
    count: int
    dim: int


class SampleList(Answer):
    """A list of words that comes with langscape."""

    id: str
    name: str
    count: int


class SampleCorpus(Answer):
    """A corpus that comes with langscape."""

    id: str
    name: str


class Limits(Answer):
    """What is taken at most."""

    text: int
    """Characters of a text."""
    bytes: dict[str, int]
    """Bytes of an input, by its kind."""
    words: int
    """Words that are inserted in one call."""
    json_bytes: Annotated[int, Field(alias="json")]
    """Bytes of a JSON body."""


class About(Answer):
    """What this studio can do."""

    version: str
    models: list[ModelInfo]
    texts: list[SampleText]
    vectors: list[SampleVectors]
    lists: list[SampleList]
    corpora: list[SampleCorpus]
    examples: dict[str, str]
    """The job of each finished example, by its analysis."""
    limits: Limits
    analyses: dict[str, AnalysisInfo]
    insertion: list[SettingInfo]


class Input(Answer):
    """Something that was given."""

    id: str
    kind: InputKind
    name: str
    bytes: int
    summary: dict[str, Any]
    """What a look at it found, such as the number of words."""


class InputList(Answer):
    """What was given, the latest first."""

    inputs: list[Input]


class InputText(Answer):
    """A text or a list as it was given."""

    text: str


class TokenCount(Answer):
    """What a model would read of a text."""

    tokens: int
    """Of the text itself."""
    special: int
    """Tokens that are put around it."""
    most: int | None
    """Tokens of the text that the model reads at once; null where there is no limit."""
    unknown: list[str]
    """Some words that its vocabulary does not have."""
    unknown_tokens: int
    split: list[str]
    """Some words that are cut into four pieces or more."""
    split_words: int
    parts: list[list[int]]
    """Of a text that is too long: where each part that fits begins and ends, in characters."""
    sentences: int


class NamedInput(Answer):
    """An input of a job."""

    id: str
    name: str


class Job(Answer):
    """How a job stands."""

    id: str
    analysis: str
    title: str
    state: JobState
    doing: str
    done: int
    total: int
    figures: dict[str, Any]
    """Numbers of what is being done, such as KL."""
    counts: bool = True
    """Whether `done` and `total` are things a reader counts; else a share is shown."""
    seconds: float
    """Computing time so far."""
    left: float | None
    """Seconds left of what is being done, where it is known."""
    settings: dict[str, Any]
    inputs: dict[str, NamedInput]
    digest: str | None
    """The name of its result in the store."""
    error: ErrorDetail | None
    made: float
    """When it was asked for, in seconds since 1970."""
    changed: float
    """When it last changed."""
    here: bool
    """Whether this studio computes it, and not another one over the same store."""
    views: list[str]


class JobList(Answer):
    """Every job, the latest first."""

    jobs: list[Job]


class DeletedJob(Answer):
    """A job that was taken off the list."""

    id: str
    state: Literal["deleted"]


class ArrayInfo(Answer):
    """An array of a view; its bytes are little-endian, rows one after the other."""

    dtype: Literal["float32", "int32", "uint16", "uint8"]
    shape: list[int]
    url: str


class View(Answer):
    """A picture as data: properties, and where its arrays are."""

    kind: str
    properties: dict[str, Any]
    arrays: dict[str, ArrayInfo]


class Neighbour(Answer):
    """A word of the map that is like another one."""

    word: str
    row: int
    similarity: float


class InsertedWord(Answer):
    """A new word, and where it landed."""

    word: str
    xy: list[float]
    dissimilar: bool
    nearest: list[Neighbour]
    local_score: Annotated[float | None, Field(alias="local")]
    global_score: Annotated[float | None, Field(alias="global")]
    verdict: str
    """How far its place can be read: good, partly, or not to be read; empty where that is not known."""
    reason: str
    """Why: how many of its nearest lie near it on the map, against chance."""


class KnownWord(Answer):
    """A word that is on the map already."""

    word: str
    row: int
    xy: list[float]
    nearest: list[Neighbour]


class MissingWord(Answer):
    """A word that has no vector, and words that are spelled alike."""

    word: str
    like: list[str]


class Inserted(Answer):
    """Where new words land on a finished map, and how far to trust that, in a line."""

    words: list[InsertedWord]
    trust: str
    known: list[KnownWord]
    missing: list[MissingWord]
    seconds: float


class RequestBody(BaseModel):
    """What is sent to the server as JSON."""

    model_config = ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True)

    @classmethod
    def refusal(cls, name: str, given: dict[str, Any]) -> Exception:
        """What is wrong with the value of that name."""
        return Problem("bad_request", f"{name} is {shown(given.get(name))}, which is not understood")


class JobRequest(RequestBody):
    """An analysis to run; its own model (`openapi.request_model`) says which inputs and settings it takes."""

    analysis: str
    inputs: dict[str, SkipValidation[str]] = {}
    settings: SkipValidation[dict[str, Any]] = {}

    @classmethod
    def refusal(cls, name: str, given: dict[str, Any]) -> Exception:
        """An analysis that is not known is said before all else."""
        offered(given.get("analysis"))
        return Problem("bad_request", "inputs are not an object of names with ids")


class RenameRequest(RequestBody):
    """What a job or an input is to be called."""

    name: Annotated[str, Field(max_length=200)]
    """A job without a name is called by what it computes."""

    @classmethod
    def refusal(cls, name: str, given: dict[str, Any]) -> Exception:
        """One sentence for each name."""
        return SettingsError("name is not a text of at most 200 characters")


class TokenRequest(RequestBody):
    """A text whose tokens are to be counted."""

    model: str
    """The name of a packaged model."""
    text: Annotated[str, Field(max_length=TEXT)]

    @classmethod
    def refusal(cls, name: str, given: dict[str, Any]) -> Exception:
        """One sentence for each name."""
        if name == "text" and isinstance(given.get("text"), str):
            return Problem("too_large", f"the text has more than {TEXT:,} characters, the most taken")
        return Problem("bad_request", f"{name} is {shown(given.get(name))}; expected a text")


class InsertionRequest(RequestBody):
    """Words, or a name and a vector, to be placed on a finished map."""

    job: str
    """The id of a finished map of words."""
    words: Annotated[list[Word], Field(min_length=1, max_length=MOST_WORDS)] | None = None
    name: Word = "new"
    """What the vector is called."""
    vector: SkipValidation[list[float]] | None = None
    """As many numbers as the map's vectors have."""
    settings: SkipValidation[dict[str, Any]] = {}

    @classmethod
    def refusal(cls, name: str, given: dict[str, Any]) -> Exception:
        """One sentence for each name."""
        if name == "job":
            return Problem("bad_request", "job is missing; expected the id of a map of words")
        if name == "name":
            return SettingsError("name is not a text of 1 to 200 characters")
        words = given.get("words")
        if isinstance(words, list) and 0 < len(words) <= MOST_WORDS:
            return SettingsError("a word is no text of 1 to 200 characters")
        return SettingsError(f"words are no list of 1 to {MOST_WORDS:,}")


def read_body(model: type[Request], given: Any) -> Request:
    """A body that was sent, as its model; what is wrong with it is said in our words, not pydantic's."""
    if not isinstance(given, dict):
        raise Problem("bad_request", f"the request is {type(given).__name__}; expected an object with names")
    for name in given:
        if name not in model.model_fields:
            listed = ", ".join(sorted(model.model_fields))
            raise Problem("bad_request", f"the request has {name[:60]!r}; it may have {listed}")
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise model.refusal(str(error.errors()[0]["loc"][0]), given) from None
