"""What other languages than English say for "that is so" and "that is not so".

Each is polar only where it stands alone or before a mark: "Das stimmt nicht, der Himmel ist grau".
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# language -> what agrees and what denies; a word in a row of words, or a phrase by itself
_ASSENTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = MappingProxyType(
    {
        "de": (
            ("richtig", "korrekt", "stimmt", "genau", "doch", "natürlich", "ich denke schon",
             "ich glaube schon", "sieht so aus", "so ist es", "das stimmt", "das ist richtig",
             "das ist korrekt", "das ist wahr"),
            ("falsch", "keineswegs", "nö", "ich glaube nicht", "ich denke nicht",
             "überhaupt nicht", "auf keinen fall", "eher nicht", "wahrscheinlich nicht",
             "vermutlich nicht", "stimmt nicht", "das stimmt nicht", "das ist falsch",
             "das ist nicht richtig", "das ist nicht wahr", "das ist nicht der fall"),
        ),
        "es": (
            ("correcto", "efectivamente", "cierto", "claro", "por supuesto", "así es",
             "desde luego", "es cierto", "es verdad", "es correcto", "eso es cierto",
             "eso es verdad"),
            ("incorrecto", "falso", "negativo", "en absoluto", "para nada", "claro que no",
             "es falso", "eso es falso", "eso no es cierto", "eso no es verdad",
             "esto no es cierto"),
        ),
        "fr": (
            ("exact", "exactement", "effectivement", "ouais", "tout à fait", "en effet",
             "bien sûr", "c'est vrai", "c'est exact", "c'est correct"),
            ("faux", "pas du tout", "absolument pas", "bien sûr que non", "probablement pas",
             "c'est faux", "ce n'est pas vrai", "ce n'est pas exact", "ce n'est pas le cas"),
        ),
        "pt": (
            ("exatamente", "correto", "com certeza", "isso mesmo", "é verdade",
             "isso é verdade"),
            ("incorreto", "de forma alguma", "de jeito nenhum", "de modo algum",
             "claro que não", "é falso", "isso é falso", "não é verdade",
             "isso não é verdade"),
        ),
        "ru": (
            ("верно", "правильно", "конечно", "разумеется", "ага", "угу", "это так",
             "это верно", "это правда"),
            ("неверно", "неправильно", "неправда", "вряд ли", "ни в коем случае", "это не так",
             "это неверно", "это неправда"),
        ),
        "ja": (
            ("そうです", "その通りです", "います", "あります", "ええ", "うん", "そう思います",
             "そうですね", "hai"),
            ("いません", "ありません", "違います", "いえ", "そうではありません", "そうではない",
             "そうじゃない", "iie"),
        ),
        "ko": (
            ("맞습니다", "맞아요", "그렇습니다", "있습니다", "있어요", "그래", "응",
             "그런 것 같습니다"),
            ("아닙니다", "없습니다", "없어요", "아뇨", "아니", "아니야", "틀렸습니다",
             "그렇지 않습니다", "그렇지 않아요", "사실이 아닙니다"),
        ),
        "zh": (
            ("没错", "正确", "存在", "当然", "确实"),
            ("不存在", "错误", "不正确", "没"),
        ),
        "ar": (
            ("أجل", "صحيح", "بالطبع", "بالتأكيد", "أظن ذلك", "هذا صحيح"),
            ("كلا", "أبدا", "خطأ", "هذا خطأ", "غير صحيح", "هذا غير صحيح", "ليس صحيحا",
             "ليس صحيحًا", "هذا ليس صحيحا", "هذا ليس صحيحًا"),
        ),
        "hi": (
            ("सही", "बिल्कुल", "ज़रूर", "जी हाँ", "जी, हाँ", "यह सही है", "यह सच है"),
            ("गलत", "ना", "जी नहीं", "बिल्कुल नहीं", "यह गलत है", "यह सही नहीं है",
             "यह सच नहीं है"),
        ),
    }
)  # fmt: skip
AGREES_ABROAD = tuple(phrase for agrees, _ in _ASSENTS.values() for phrase in agrees)
DENIES_ABROAD = tuple(phrase for _, denies in _ASSENTS.values() for phrase in denies)
