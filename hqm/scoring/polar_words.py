"""The words by which other languages than English are told, by which they agree and deny, and what
any statement of them has, which decides nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise
from types import MappingProxyType

# Each phrase is polar only where it stands alone or before a mark: "Das stimmt nicht, der Himmel
# ist grau".
YES = (
    "yes yeah yep yup yea aye ja jawohl oui sí si sim да так tak evet evet ναι igen kyllä ano có"
    " đúng ya نعم بله כן हाँ हां 是 是的 对 对的 有 はい 네 예 ใช่"
).split()
NO = (
    *"no nope nah nay nein non não nao nee nej нет ні nie hayır όχι nem ei ne không tidak bukan"
    " لا خیر نه לא नहीं 否 不 不是 没有 不对 いいえ 아니요 아니오 ไม่".split(),
    "да нет",
)
# "Claro que sí", "Ich glaube, ja"
ASSURANCE = (
    r"(?:(?:(?:creo|parece|diría|claro|acho|penso|credo|je (?:pense|crois|dirais)) (?:que|che)"
    r"|por supuesto(?: que)?|bien sûr(?: que)?|il semble que|ich (?:glaube|denke)|natürlich|leider"
    r"|offenbar|anscheinend|vermutlich|wahrscheinlich|offensichtlich|seguramente|lamentablemente"
    r"|malheureusement|infelizmente|конечно|думаю|скорее всего|к сожалению|certamente)"
    r",? (?=[^\W\d]+\b))?"
)
# Chinese and Japanese set no space behind the word, so that no word boundary can be asked for
CJK_LEAD = re.compile(
    r"^[\W_]*(?:(?:应该|好像|似乎|看起来|确实|当然|并)(?=没有|不|是|有)|(?:おそらく|たぶん|恐らく)、?)?"
    r"(?P<word>不是|没有|不对|是的|对的|否|不|是(?![在由从用被])|对|有|いいえ|はい)"
)
# reasoning that ends in a yes or no
FINAL_POLARITY = re.compile(
    r"(?:[,:;→>—–]|\b(?:so|then|therefore|hence|thus|is|was|be|it|(?<!or )an?|again|definite|clear"
    r"|as|say"
    r"|with|effectively|basically|essentially|practically|así que|por (?:lo )?tanto|donc|also"
    r"|daher|quindi|portanto|поэтому|так что))"
    r"\s*[\"']?(yes|no|yep|yeah|nope|sí|oui|non|ja|nein|sim|não|да|нет)\b[\"']?[.!]?$"
    r"|[,;] (?:(?:but|so|and|then|still|though),? )(yes|no|yep|yeah|nope)\b(?=[,.;:!])"
    r"|(?:므로|니까|어서|때문에|서),? (그렇지 않습니다|그렇습니다|맞습니다|아닙니다)[.]?$",
    re.IGNORECASE,
)
# a first thought that the same sentence corrects
FIRST_THOUGHTS_ABROAD = (
    r"\b(?:zuerst|zunächst|anfangs|auf den ersten blick)\b[^.\n]{2,80}?,"
    r"\s*(?:(?:aber|doch|jedoch)\b|(?:tatsächlich|in wirklichkeit|eigentlich) (?:ist|sind) es\b)",
    r"\b(?:primero|inicialmente|al principio|a primera vista)\b[^.\n]{2,80}?,\s*pero\b",
    r"\b(?:d'abord|au début|à première vue)[^.\n]{2,80}?,\s*mais\b",
    r"\b(?:primeiro|a princípio|inicialmente|à primeira vista)\b[^.\n]{2,80}?,\s*mas\b",
    r"\b(?:parece|on dirait|sieht (?:zwar )?aus wie)\b[^.\n]{2,60}?,"
    r"\s*(?:aber|doch|pero|mais|mas)\b"
    r"(?=[^.\n]*\b(?:se trata|il s'agit|c'est|trata-se|handelt es sich|ist es)\b)",
    r"\b(?:сначала|вначале|на первый взгляд)\b[^.\n]{2,80}?,\s*(?:но|однако)\b",
)
# language -> what agrees and what denies; a word in a row of words, or a phrase by itself
_ASSENTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = MappingProxyType(
    {
        "de": (
            ("richtig", "korrekt", "stimmt", "genau", "doch", "natürlich", "ich denke schon",
             "ich glaube schon", "sieht so aus", "so ist es", "das stimmt", "das ist richtig",
             "das ist korrekt", "das ist wahr"),
            ("kein", "keine", "falsch", "keineswegs", "nö", "ich glaube nicht", "ich denke nicht",
             "überhaupt nicht", "auf keinen fall", "eher nicht", "wahrscheinlich nicht",
             "vermutlich nicht", "stimmt nicht", "das stimmt nicht", "das ist falsch",
             "das ist nicht richtig", "das ist nicht wahr", "das ist nicht der fall"),
        ),
        "es": (
            ("correcto", "efectivamente", "cierto", "claro", "por supuesto", "así es",
             "desde luego", "es cierto", "es verdad", "es correcto", "eso es cierto",
             "eso es verdad"),
            ("ninguno", "ninguna", "incorrecto", "falso", "negativo", "en absoluto",
             "para nada", "claro que no", "qué va",
             "ni hablar",
             "es falso", "eso es falso", "eso no es cierto", "eso no es verdad",
             "esto no es cierto"),
        ),
        "fr": (
            ("exact", "exactement", "effectivement", "ouais", "tout à fait", "en effet",
             "bien sûr", "c'est vrai", "c'est exact", "c'est correct"),
            ("aucun", "aucune", "faux", "pas du tout", "absolument pas",
             "mais non", "bien sûr que non",
             "probablement pas",
             "c'est faux", "ce n'est pas vrai", "ce n'est pas exact", "ce n'est pas le cas"),
        ),
        "pt": (
            ("exatamente", "correto", "certo", "com certeza", "isso mesmo", "é verdade",
             "isso é verdade"),
            ("nenhum", "nenhuma", "que nada", "nada disso", "incorreto",
             "de forma alguma", "de jeito nenhum",
             "de modo algum",
             "claro que não", "é falso", "isso é falso", "não é verdade",
             "isso não é verdade"),
        ),
        "ru": (
            ("верно", "правильно", "конечно", "разумеется", "действительно", "ага", "угу",
             "это так",
             "это верно", "это правда"),
            ("не", "неверно", "неправильно", "неправда", "вряд ли", "ни в коем случае",
             "это не так",
             "это неверно", "это неправда"),
        ),
        "ja": (
            ("そうです", "その通りです", "います", "あります", "いる", "ある", "有", "ええ",
             "うん", "そう思います",
             "そうですね", "hai"),
            ("いません", "ありません", "いない", "ない", "無", "無し", "なし", "違います",
             "いえ", "そうではありません", "そうではない",
             "そうじゃない", "iie"),
        ),
        "ko": (
            ("맞습니다", "맞아요", "그렇습니다", "있습니다", "있어요", "있다", "있음", "그래",
             "응", "물론입니다", "예입니다", "네입니다",
             "그런 것 같습니다"),
            ("아닙니다", "없습니다", "없어요", "없다", "없음", "아니에요", "아니다", "아뇨",
             "아니", "아니야", "아니요입니다", "아니오입니다", "틀렸습니다",
             "그렇지 않습니다", "그렇지 않아요", "사실이 아닙니다"),
        ),
        "zh": (
            ("没错", "正确", "存在", "当然", "确实", "可以", "能", "会", "需要"),
            ("不存在", "错误", "不正确", "没", "未", "无", "不能", "不可以"),
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

# language -> the yes and the no that a prompt offers
_OFFERED: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "de": ("ja", "nein"),
        "es": ("s[ií]", "no"),
        "fr": ("oui", "non"),
        "pt": ("sim", "não"),
        "ru": ("да", "нет"),
        "ja": ("はい", "いいえ"),
        "ko": ("[예네]", "아니[요오]"),
        "zh": ("是的?|有", "否|不是|没有"),
        "ar": ("نعم", "لا"),
        "hi": ("हा[ँं]", "नहीं"),
    }
)
_OFFER = "|".join(
    rf"(?:{yes})[.]?(?:\s*[,，、/]\s*|(?<=[ぁ-ん]) )(?:{no})" for yes, no in _OFFERED.values()
)
_OFFER_ALONE = re.compile(rf"[\s\"'“「]*(?:{_OFFER})(?=\W*$|[.。,，、!！])", re.IGNORECASE)
_OFFER_ASIDE = re.compile(rf"[(（]\s*(?:{_OFFER})\W*?(?:[)）]|$)", re.IGNORECASE)
YES_ABROAD = re.compile(
    rf"\W*(?:{'|'.join(yes for yes, _ in _OFFERED.values())})(?=[\s.,!。，、！،]|$)", re.IGNORECASE
)
"""A yes of another language than English at the beginning of a text."""


def in_hangul(text: str, question: str) -> str:
    """A text whose yes or no to a Korean question is in Latin letters, with that in Hangul.

    >>> in_hangul("Ne.", "개가 있나요?"), in_hangul("Ne.", "Je to pes?")
    ('네.', 'Ne.')
    """
    romanised = _ROMANISED_KOREAN.match(text)
    if romanised is None or re.search("[가-힣]", question) is None:
        return text
    return ("네", "아니요")[romanised[1] is not None] + text[romanised.end() :]


_ROMANISED_KOREAN = re.compile(r"\W*(?:ne|ye|(aniy?o))\b(?!\s*[a-z])", re.IGNORECASE)


def without_offer(text: str) -> str:
    """A text without the answers that its prompt offers: "(はい,いいえ)".

    >>> without_offer("No (sí,no)"), without_offer("Да, нет.")
    ('No ', '.')
    """
    if "(" in text or "（" in text:
        text = _OFFER_ASIDE.sub("", text)
    offer = _OFFER_ALONE.match(text)
    return text[offer.end() :] if offer else text


# --- languages ---

# the vowel signs of Hindi are no word characters of `re`
_WORD = re.compile(r"[^\s.,;:!?¿¡।؟،'’\"()«»„“”–—-]+")
_VOWEL_MARKS = re.compile("\u064b\u0627|\u0627\u064b|[\u064b-\u0652]")
"""The short vowels of Arabic, which most texts leave out, and the ending of an accusative."""
CLAUSE_END = re.compile(
    r"[.!?;\n。！？；،؛।]+\s*|[,，、:：—–]\s*(?=(?:sondern|aber|pero|sino|mais|mas|ma|но|а)\b)"
    r"|[,，]\s*(?=但|而是|不过|しかし|하지만|لكن|بل|लेकिन)|[,，](?!\s*(?:чем|нежели)\b)"
    r"|\s[—–]\s(?=[^,.;:—–]{0,40}\bнет\b)|(?<!は)、"
)


@dataclass(frozen=True, slots=True)
class Language:
    """What a language denies with, and the words that any question and statement of it has.

    Parameters
    ----------
    name
        Its ISO 639-1 code.
    script
        What a text has that can only be of this language, of those known here; empty for languages
        in Latin letters, which are told by their common words.
    denial
        The words that deny a statement.
    doubt
        The words of a statement that commits itself to nothing.
    common
        Words that decide nothing: articles, forms of be, "in the picture".
    unspaced
        Whether it sets no spaces between words, so that characters are compared.
    """

    name: str
    script: str
    denial: re.Pattern[str]
    doubt: re.Pattern[str]
    common: frozenset[str]
    unspaced: bool = False

    def content(self, text: str) -> list[str]:
        """Return the stems of the content words of a text, or its content characters."""
        text = self.denial.sub(" ", _VOWEL_MARKS.sub("", text.casefold()))
        if self.unspaced:
            if self.name == "ko":
                text = _KOREAN_PREDICATE.sub(_without_final, text)
            signs = [sign for sign in text if sign.isalnum() and sign not in self.common]
            return _numbered_repeats(signs)
        words = (_SYNONYMS.get(word, word) for word in _WORD.findall(text))
        return [stem(word) for word in words if word not in self.common]


def _numbered_repeats(signs: Sequence[str]) -> list[str]:
    """Signs, of which a run that comes again is told from the first one: "南昌路在南昌吗"."""
    earlier_pairs: set[tuple[str, str]] = set()
    numbered = list(signs)
    for index, pair in enumerate(pairwise(signs)):
        if pair in earlier_pairs:
            numbered[index : index + 2] = (f"{sign}2" for sign in pair)
        earlier_pairs.add(pair)
    return numbered


_KOREAN_PREDICATE = re.compile(
    "[가-힣](?=가요|가[?？]|니다|니까)|(?<=[가-힣])[가-힣](?=습니|지 |다[.]?$)"
)
"""The last syllable of a Korean predicate, before endings that may change it."""
_KOREAN_FINALS = 28
_DROPPED_FINALS = (4, 17, 27)
"""The consonants ㄴ, ㅂ and ㅎ, by their places among those that end a syllable."""


def _without_final(match: re.Match[str]) -> str:
    """A Korean syllable as it is in every form of its verb: "큰가요" and "큽니다" have "크"."""
    final = (ord(match[0]) - ord("가")) % _KOREAN_FINALS
    if final not in _DROPPED_FINALS or match[0] in "은인입습":
        return match[0]
    return chr(ord(match[0]) - final)


# one noun with two stems, of which the plural is another word
_SYNONYMS: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("люди", "людей", "человека", "людях"), "человек")
    | dict.fromkeys(("menschen", "mensch", "leute", "personen"), "person")
    | dict.fromkeys(("लोग", "लोगों"), "व्यक्ति")
    | dict.fromkeys(("أشخاص", "ناس", "الناس", "الأشخاص"), "شخص")
    | dict.fromkeys(("التقطت", "التقط", "تلتقط", "يلتقط"), "لقطة")
    | {"gente": "persona", "gens": "personne", "pessoal": "pessoa"}
)


def stem(word: str) -> str:
    """The beginning of a word, for languages inflect at the end; Arabic sets an article before."""
    if _CYRILLIC.match(word):
        return _FLEETING_VOWEL.sub("", _RUSSIAN_ENDING.sub("", word).rstrip("ь"))
    word = _HINDI_ENDING.sub("", word.removeprefix("ال"))
    if len(word) > 4:
        word = word.removesuffix("s")
    # two letters are enough for most endings; a shorter beginning would join different words
    return word[: max(3, len(word) - 2)] if len(word) > 3 else word


_CYRILLIC = re.compile("[\u0400-\u04ff]")
_HINDI_ENDING = re.compile("(?<=\\w{2})[\u0901-\u0903\u093e-\u094c]+$")
_FLEETING_VOWEL = re.compile(r"(?<=\w[бвгджзклмнпрстфхцчшщ])[ое](?=к$)")
"""What a genitive has between its last consonants: "лодок" of "лодка"."""
# the endings of nouns and adjectives, which are none, one, two or three letters long
_RUSSIAN_ENDING = re.compile(
    r"(?<=\w{3})(?:[ая]ми|[ое]го|[ое]му|[ыи]ми|[ое]в|[аеиоуыюя]?[йьмх]|[аеёиоуыэюя]{1,2})$"
)


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


def _pattern(alternatives: str) -> re.Pattern[str]:
    return re.compile(alternatives, re.IGNORECASE)


_LANGUAGES = (
    Language(
        "ja", "[\u3041-\u3096\u30a1-\u30fa]",
        _pattern("(?:わけでは)?(?:ありません|ない)|いません|ません|おらず|(?<!だけ)(?:で|では|じゃ|くは?)なく|ない|なし|いえません"),
        _pattern("かもしれ|分か|わか|できま|判断|おそらく|たぶん|かどうか|限らな|限りませ"),
        frozenset("はがをにのでもとへかょうですますあるいりっれてしたくこそ画像写真絵中見写映んこれそれ有存在当たつ姿"),
        unspaced=True,
    ),
    Language(
        "ko", "[\uac00-\ud7a3]",
        _pattern("없(?!이(?: |$))[가-힣]*|않[가-힣]*|아니[가-힣]*|아닙[가-힣]*"
                 "|(?:^|(?<=[가이는은도를을요,] ))[안못] (?=[가-힣])"),
        _pattern("아마|모르|알 수|판단|수도 있|[는은]지|반드시"),
        frozenset("이가은는을를에의도있습니다까요어음중사진미지그림속안보입나요네죠인되하고서찾수것"),
        unspaced=True,
    ),
    Language(
        "zh", "[\u4e00-\u9fff]",
        _pattern("没有|并没有|没|不是|不(?![仅止但错])|无|未|[并而绝]非"),
        _pattern("可能|能|知道|确定|清楚|判断|也许|大概|或许|是否|一定"),
        frozenset("图片中里像照画面张幅这那有是的了着吗么在一只个条位名辆把可以看到见存显示出现些任何并任他她它们您你我而子似乎好像应该所以因此"),
        unspaced=True,
    ),
    Language(
        "ru", "[\u0400-\u04ff]",
        _pattern(r"\b(?:нет|не|ни|ник(?:ак|т|ого)\w*|ничего|отсутству\w+|без(?! сомнени))\b"),
        _pattern(r"\b(?:возможно|могу|знаю|ли|может быть|вероятно|обязательно)\b"),
        _words("он она оно они на в и а с есть ли это этом изображении картинке фото видно видна "
               "виден изображен",
               "изображена является являются одной одного здесь там был была похоже что кажется "
               "присутствует "
               "эта "
               "этот этой"),
    ),
    Language(
        "ar", "[\u0600-\u06ff]",
        _pattern(r"(?:^|(?<=\s))[وف]?(?:لا|ليس|ليست|لم|لن|غير|بدون|بلا)(?=\s|$)"),
        _pattern("ربما|قد |أستطيع|يمكن|أعرف|ما إذا|بالضرورة"),
        _words("هل يوجد توجد في الصورة هذه هناك على أي من هو هي الصوره أن يبدو تبدو هذا موجود "
               "موجودة أنه أنها إنه إنها نلاحظ نرى وبالتالي إذن لذلك لذا فهو فهي"),
    ),
    Language(
        "hi", "[\u0900-\u097f]",
        _pattern(r"नहीं|(?:^|(?<=\s))(?:न|बिना)(?=\s)"),
        _pattern("शायद|सकता|पता|कह(?!ीं)|या नहीं|ज़रूरी|जरूरी"),
        _words("क्या में है हैं एक कोई चित्र तस्वीर छवि इस यह वह की का के पर दिखाई दे रहा रही दिख "
               "देता देती देते कहीं भी नज़र नजर आता आती मौजूद उपस्थित ने हुआ हुई हुए यानी"
               " इसलिए अतः उसने उन्होंने उसके उनके वे"),
    ),
    Language(
        "de", "",
        _pattern(r"\b(?:nicht(?! nur)|kein\w*|niemand|nichts|nirgends|weder"
                 r"|ohne(?! (?:zweifel|frage)))\b"),
        _pattern(r"\b(?:vielleicht|möglicherweise|vermutlich|könnte|kann|kannst|weiß|erkennbar"
                 r"|erkennen|ob|oder|unbedingt|zwangsläufig)\b"),
        _words("er sie diese dieser dieses der die das den dem des ein eine einen einem einer ist "
               "sind war es gibt auf im in zu",
               "irgendein irgendeine sehen bild foto sich befindet zeigt und hier da wird man "
               "kann abgebildet sichtbar dort ich leider scheint scheinen sein wohl offenbar "
               "diesem "
               "diesen "
               "vorhanden dabei darauf darin"),
    ),
    Language(
        "es", "",
        _pattern(r"\b(?:no(?! (?:solo|sólo)\b)|ning[uú]n[oa]?|nadie|nada|nunca|tampoco|ni"
                 r"|sin(?! (?:duda|embargo|lugar)))\b"),
        _pattern(r"\b(?:quizás?|tal vez|posiblemente|podría|puedo|puede|logro|distingo|sé"
                 r"|posible|si|o|necesariamente)\b"),
        _words("él ella ellos ellas el la los las un una unos es son está están hay en se ve ven "
               "imagen foto que y con de",
               "del al esta este puede ver observa aprecia aparece algún alguna alguno visible "
               "parece "
               "parecen ser estar esa ese presente sí"),
    ),
    Language(
        "fr", "",
        _pattern(
            r"\b(?:ne|n|pas|non(?! seulement)|aucune?|jamais|ni|rien"
            r"|sans(?! (?:aucun )?doute))\b|(?<=n['’]y a )(?:personne|point)"
            r"|\bpersonne (?=n[e'’])"
        ),
        _pattern(r"\b(?:peut-être|probablement|pourrait|peux|peut|arrive|parviens|distingue"
                 r"|sais|possible|si|ou|nécessairement|forcément)\b"),
        _words("le la les l un une des de d du est sont il elle ils elles y a dans sur cette cet "
               "ce image photo",
               "que qu et avec on voit peut voir t ils quelque visible bien semble semblent "
               "être ces "
               "présent présente à au aux"),
    ),
    Language(
        "pt", "",
        _pattern(r"\b(?:não(?! só\b)|nenhuma?|ninguém|nada|nunca|nem|sem(?! (?:dúvida|sombra)))\b"),
        _pattern(r"\b(?:talvez|possivelmente|poderia|posso|consigo|consegue|sei|possível|(?<!-)se"
                 r"|ou|necessariamente)\b"),
        _words("ele ela eles elas o a os as um uma é são está estão há em na no nas nos imagem "
               "foto que e com de do da",
               "esta este vê pode ver existe aparece algum alguma visível parece parecem ser estar "
               "nesta neste nessa nesse desta deste presente sim à às ao aos"),
    ),
    Language(
        "it", "",
        _pattern(r"\b(?:non(?! solo\b)|nessun[oa]?|mai|né)\b"),
        _pattern(r"\b(?:forse|probabilmente|potrebbe|sembra|posso|riesco|so|possibile|se|o)\b"),
        _words("il lo la i gli le l un una uno è sono c ci nella nell nel immagine foto che e con "
               "di",
               "del della si vede può vedere questa qualche alcun alcuna visibile"),
    ),
)  # fmt: skip
_ENGLISH = _words(
    "the a an is are was were there it this that in of on not no and with to image picture do does",
    "has have can see i you he she they any for at by be",
)


_ANY_SCRIPT = re.compile("|".join(filter(None, (row.script for row in _LANGUAGES))))
_SEPARATORS = str.maketrans(dict.fromkeys(".,;:!?'\"()-", " "))
"""The ASCII signs that are in no word."""


def _folded_words(text: str) -> list[str]:
    """The words of a text in lower case."""
    folded = text.casefold()
    if folded.isascii():
        return folded.translate(_SEPARATORS).split()
    return _WORD.findall(folded)


_TELLING_WORDS = _ENGLISH.union(
    *(language.common for language in _LANGUAGES if not language.script),
    _words(
        "nicht niemand nirgends weder no ningun ningún ninguno ningúno ninguna ningúna nunca "
        "tampoco",
        "ni ne n pas aucun aucune jamais não nenhum nenhuma nem non nessun nessuno nessuna mai né",
    ),
)
"""The words by which `language_of` tells languages, without those that begin with "kein"."""


_SURE_WORDS = _words(
    "nicht niemand ningún ninguno ninguna aucun aucune nenhum nenhuma nessun nessuna"
)
"""Words that are of one language only, and each as good as two."""


@lru_cache(maxsize=1024)
def _languages_with(word: str) -> tuple[str, ...]:
    """The languages in Latin letters that have a word among those of any statement; "" for
    English.
    """
    names = [""] if word in _ENGLISH else []
    for language in _LANGUAGES:
        is_common = word in language.common or language.denial.fullmatch(word) is not None
        if is_common and not language.script:
            names.append(language.name)
    return tuple(names)


def has_other_script(text: str) -> bool:
    """Whether a text has letters of a script other than Latin, of the languages known here."""
    return _ANY_SCRIPT.search(text) is not None


def is_english(text: str) -> bool:
    """Whether a text has words of English, and more of them than of each other language."""
    return language_of(text) is None and not _ENGLISH.isdisjoint(_folded_words(text))


@lru_cache(maxsize=4096)
def language_of(text: str) -> Language | None:
    """Return the language of a text, of those known here; None for English and others."""
    if not text.isascii() and _ANY_SCRIPT.search(text):
        for language in _LANGUAGES:
            if language.script and re.search(language.script, text):
                return language
    if "¿" in text:
        return next(language for language in _LANGUAGES if language.name == "es")
    counts = _language_counts(text)
    best_count = max(1, counts[""])
    best = None
    for language in _LANGUAGES if counts else ():
        if counts[language.name] > best_count:
            best = language
            best_count = counts[language.name]
    return best


@lru_cache(maxsize=4096)
def _language_counts(text: str) -> Counter[str]:
    """How many words of a text each language in Latin letters has; "" stands for English."""
    words = _folded_words(text)
    telling = [word for word in words if word in _TELLING_WORDS or word[:4] == "kein"]
    telling += [word for word in telling if word in _SURE_WORDS or word[:4] == "kein"]
    return Counter(chain.from_iterable(map(_languages_with, telling)))


def statement_language(text: str, question: str) -> Language | None:
    """Return the language of a statement; that of its question where it is too short to tell."""
    language = language_of(text)
    # "Nein, rot." is too short to tell its language, and follows that of the question
    if language is None and (_ACCENTED.search(text) or _ENGLISH.isdisjoint(_folded_words(text))):
        return language_of(question) or (language_of(f"{question} {text}") if question else None)
    if language is None or not language.script:
        # "La femme porte un chapeau" has words that French and Spanish share
        counts = _language_counts(text)
        question_language = language_of(question)
        name = "" if language is None else language.name
        if question_language is not None and counts[question_language.name] == counts[name]:
            return question_language
    return language


_ACCENTED = re.compile("[à-öø-ÿ]", re.IGNORECASE)
"""Letters that English has not: "A lâmpada" does not begin with its article."""
FINAL_VERB_LANGUAGES = ("ja", "ko", "hi")
"""Languages whose verb ends a clause."""
ASKS_PRESENCE = re.compile(
    r"\b(?:hay|gibt|a-t-il|il y a|há|tem|есть|existen?|sehen|voit|ve|vê|видн\w+|aparecen?"
    r"|befinde[nt]|هناك)\b"
    r"|\bist (?:ein|kein|auf|im|in)|(?<![てで])(?:います|いる|あり|ある)|写って|見え|映って"
    r"|(?:이|가|은|는) ?(?:있|보이)|有|(?:ي|ت)وجد|ترى|(?:में|पर) .*(?:है|हैं)\W*$",
    re.IGNORECASE,
)
"""What a question has that asks whether something is there."""


ASKS_ABSENCE = re.compile(
    r"^\W*(?:is|are|was|were) (?:the|an?|any|this|that|these|those) [^?,]*\b"
    r"(?:absent\b(?!-)|missing (?:from|in) (?:the|this) (?:image|picture|photo\w*|scene|frame)\b)",
    re.IGNORECASE,
)
"""A question that asks whether something is not there, so that a denial agrees with it."""
NOT_ABSENT = re.compile(r"\b(is|are|was|were)(?:n't| not) (?:absent|missing)\b", re.IGNORECASE)
BOUND_CUE = re.compile(
    r"\b(?:than|least|most|over|under|up to|m[ai][xn]imum|exactly|precisely) ", re.IGNORECASE
)
"""A question for a number within bounds, or for another comparison."""
YES_AND_NO = re.compile(r"[\W\d]*(?:yes[\W\d]+no|no[\W\d]+yes)\W*", re.IGNORECASE)
"""An answer that says both and nothing else: "Yes, no."."""
