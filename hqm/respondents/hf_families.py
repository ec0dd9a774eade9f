"""The families of vision-language models: how each is asked, and what of a picture its questions
share.

One record a family. Nothing in it is needed to *run* an unknown family: its processor's chat
template says how it is asked, its prompts show whether the picture stands first, and the first
answers are compared with plain `generate`. The records hold what cannot be seen: the documented
prompt form of families older than chat templates, where the vision tower is, and, for those that
cannot work, why.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Sharing = Literal["prefix", "features", "nothing"]
"""What the questions about one picture share: the prefix's keys and values, the vision tower's
output, or nothing.
"""


@dataclass(frozen=True, slots=True)
class Family:
    """What HQM knows of a family of models.

    Examples
    --------
    >>> family_of("blip-2").fill_form("Is there a dog?")
    'Question: Is there a dog? Answer:'
    >>> family_of("paligemma").sharing
    'features'
    """

    name: str
    types: tuple[str, ...]
    """The values of `model_type` in config.json."""
    sharing: Sharing = "prefix"
    """The most its questions can share."""
    reason: str = ""
    """Why they share less than the prefix."""
    form: str = ""
    """The documented prompt, for a model without a chat template: `{question}` is put in; the
    picture's mark stands as it is written."""
    source: str = ""
    """Where the form is documented."""
    towers: tuple[str, ...] = (
        "model.vision_tower",
        "model.visual",
        "model.vision_model",
        "vision_model",
        "model.encoder.vision_tower",
    )
    """Where the vision tower may be within the model."""
    reads_pixels: bool = False
    """Whether its processor reads the finished pictures, which would have to come back from a
    GPU.
    """
    first_position: int = 0
    """The position that its decoder gives the first token."""
    refusal: str = ""
    """For a family that cannot answer: the sentence that says why."""

    def fill_form(self, question: str) -> str:
        """A question in the documented form."""
        return self.form.replace("{question}", question)


_BLIP = (
    "its Q-Former's few features are cheap to place before every question; the vision tower is the"
    " cost"
)

FAMILIES: tuple[Family, ...] = (
    Family(
        "LLaVA-1.5",
        ("llava",),
        form="USER: <image>\n{question} ASSISTANT:",
        source="transformers' page of LLaVa; the model card of llava-1.5-7b-hf",
        reads_pixels=True,
    ),
    Family("LLaVA-NeXT", ("llava_next",)),
    Family("LLaVA-OneVision", ("llava_onevision",)),
    Family("Qwen2-VL", ("qwen2_vl",)),
    Family("Qwen2.5-VL", ("qwen2_5_vl",)),
    Family("Qwen3-VL", ("qwen3_vl",)),
    Family("Qwen3.5", ("qwen3_5", "qwen3_5_moe")),
    Family("InternVL", ("internvl",)),
    Family("Idefics3", ("idefics3",)),
    Family("SmolVLM", ("smolvlm",)),
    Family("Gemma 3", ("gemma3",)),
    Family("Gemma 4", ("gemma4",)),
    Family("Aya Vision", ("aya_vision",)),
    Family(
        "PaliGemma",
        ("paligemma",),
        sharing="features",
        reason=(
            "its picture and question see each other both ways, so that no prefix is the same for"
            " two questions"
        ),
        form="<image>answer en {question}",
        source="transformers' page of PaliGemma; the task prefixes of its model cards",
        first_position=1,
    ),
    Family(
        "BLIP-2",
        ("blip-2",),
        sharing="features",
        reason=_BLIP,
        form="Question: {question} Answer:",
        source="transformers' page of BLIP-2; the model card of blip2-opt-2.7b",
    ),
    Family(
        "InstructBLIP",
        ("instructblip",),
        sharing="features",
        reason=(
            "its Q-Former reads the question with the picture, so that only the vision tower's"
            " output is the same"
        ),
        form="{question}",
        source="transformers' page of InstructBLIP; the model card of instructblip-vicuna-7b",
    ),
    Family("Pixtral", ("pixtral",)),
    Family("Mistral 3", ("mistral3",)),
    Family(
        "Llama 3.2 Vision",
        ("mllama",),
        sharing="nothing",
        reason="the picture enters by cross-attention and stands in no prefix",
    ),
    Family(
        "BLIP",
        ("blip",),
        refusal="BLIP's class for text from pictures writes captions and answers no questions",
    ),
    Family(
        "GIT",
        ("git",),
        refusal="GIT's class for text from pictures writes captions and answers no questions",
    ),
    Family(
        "Florence-2",
        ("florence2",),
        refusal="Florence-2 takes task tokens in place of free questions",
    ),
    Family(
        "Pix2Struct",
        ("pix2struct",),
        refusal="Pix2Struct takes the question drawn onto the picture",
    ),
)

_BY_TYPE: dict[str, Family] = {}
for _family in FAMILIES:
    _BY_TYPE |= dict.fromkeys(_family.types, _family)


def family_of(model_type: str) -> Family:
    """The family of a `model_type`; one that HQM does not know is tried as if its picture stood
    first.

    >>> family_of("qwen2_5_vl").name
    'Qwen2.5-VL'
    >>> family_of("brand_new").name
    'brand_new'
    """
    return _BY_TYPE.get(model_type) or Family(model_type, (model_type,))
