"""The words for numbers in the languages that are read, and the number of each."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

SMALL_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen"
).split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
# the numbers from zero to nineteen; "un" and "une" are articles more often than numbers
OTHER_LANGUAGES = (
    "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn"
    " sechzehn siebzehn achtzehn neunzehn",
    "zéro - deux trois quatre cinq - sept huit neuf dix onze douze treize quatorze quinze seize"
    " dix-sept dix-huit dix-neuf",
    "cero - dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince"
    " dieciséis diecisiete dieciocho diecinueve",
    "zero - due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici"
    " quindici sedici diciassette diciotto diciannove",
    "zero - dois três quatro cinco seis sete oito nove dez onze doze treze quatorze quinze"
    " dezesseis dezessete dezoito dezenove",
    "- - - - - - - - - - - - - - catorze - dezasseis dezassete - dezanove",
    "ноль один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать"
    " тринадцать четырнадцать пятнадцать шестнадцать семнадцать восемнадцать девятнадцать",
    "零 一 二 三 四 五 六 七 八 九 十 十一 十二 十三 十四 十五 十六 十七 十八 十九",
    "शून्य - दो तीन चार पाँच छह सात आठ नौ दस ग्यारह बारह तेरह चौदह पंद्रह सोलह सत्रह अठारह उन्नीस",
    "- - - - - पांच छः",
    "صفر واحد اثنان ثلاثة أربعة خمسة ستة سبعة ثمانية تسعة عشرة",
    "- واحدة اثنتان ثلاث أربع خمس ست سبع ثمان تسع عشر",
    "- - - - - - - - ثماني",
    "- 하나 둘 셋 넷 다섯 여섯 일곱 여덟 아홉 열 열하나 열둘 열셋 열넷 열다섯 열여섯 열일곱"
    " 열여덟 열아홉",
    "- - - - - - - - - - - 열한 열두 열세 열네",
    "- - - - - - - - - - - 십일 십이 십삼 십사 십오 십육 십칠 십팔 십구",
    "- - две - - - - - - -",
    "- - duas - - - - - - -",
    "- - двое трое четверо пятеро шестеро семеро - -",
    "- - двух трёх четырёх пяти шести семи восьми девяти десяти одиннадцати двенадцати тринадцати"
    " четырнадцати пятнадцати шестнадцати семнадцати восемнадцати девятнадцати",
    "- - двум трём четырём пятью шестью - восемью девятью десятью",
    "- - двумя тремя четырьмя",
    "- - - трех четырех",
)
# the tens from twenty on, what joins a digit to them, and the digits from one on
OTHER_TENS = (
    ("vingt trente quarante cinquante soixante", "-",
     "- deux trois quatre cinq six sept huit neuf"),
    ("vingt trente quarante cinquante soixante", " et ", "un"),
    ("vingt trente quarante cinquante soixante", " et ", "une"),
    ("vingt trente quarante cinquante soixante", "-et-", "un"),
    ("veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa", " y ", "una"),
    ("veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa", " y ", "un"),
    ("vinte trinta quarenta cinquenta sessenta setenta oitenta noventa", " e ", "uma duas"),
    ("двадцать тридцать сорок пятьдесят шестьдесят семьдесят восемьдесят девяносто", " ",
     "одна две"),
    # the genitive of forty is a magpie as well
    ("двадцати тридцати - пятидесяти шестидесяти семидесяти восьмидесяти девяноста", " ",
     "одного двух трёх четырёх пяти шести семи восьми девяти"),
    # "쉰" is fifty, and begins a verb as well
    ("스물 서른 마흔 - 예순 일흔 여든 아흔", "", "하나 둘 셋 넷 다섯 여섯 일곱 여덟 아홉"),
    ("스물 서른 마흔 - 예순 일흔 여든 아흔", "", "한 두 세 네"),
    ("veinti", "", "una"),
    ("veinti", "", "ún"),
    ("- - - - soixante - quatre-vingt", "-",
     "- - - - - - - - - dix onze douze treize quatorze quinze seize dix-sept dix-huit dix-neuf"),
    ("- - - - - - quatre-vingt", "-", "un deux trois quatre cinq six sept huit neuf"),
    ("veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa", " y ",
     "uno dos tres cuatro cinco seis siete ocho nueve"),
    ("vinte trinta quarenta cinquenta sessenta setenta oitenta noventa", " e ",
     "um dois três quatro cinco seis sete oito nove"),
    ("двадцать тридцать сорок пятьдесят шестьдесят семьдесят восемьдесят девяносто", " ",
     "один два три четыре пять шесть семь восемь девять"),
    ("二十 三十 四十 五十 六十 七十 八十 九十", "", "一 二 三 四 五 六 七 八 九"),
    ("이십 삼십 사십 오십 육십 칠십 팔십 구십", "", "일 이 삼 사 오 육 칠 팔 구"),
    ("venti trenta quaranta cinquanta sessanta settanta ottanta novanta", "",
     "- due tre quattro cinque sei sette otto nove"),
    ("veinti", "", "uno dós trés cuatro cinco séis siete ocho nueve"),
)  # fmt: skip
# the Arabic digits from one on behind which "ten" or "and twenty" stands
_ARABIC_DIGITS = (
    "واحد اثنان ثلاثة أربعة خمسة ستة سبعة ثمانية تسعة",
    "أحد اثنا ثلاث أربع خمس ست سبع ثماني تسع",
    "إحدى اثني - - - - - ثمان -",
)
_ARABIC_TENS = (
    "عشرون ثلاثون أربعون خمسون ستون سبعون ثمانون تسعون",
    "عشرين ثلاثين أربعين خمسين ستين سبعين ثمانين تسعين",
)
# each from twenty to forty has a word of its own, and the tens behind them
_HINDI_WORDS = (
    "बीस इक्कीस बाईस तेईस चौबीस पच्चीस छब्बीस सत्ताईस अट्ठाईस उनतीस तीस इकतीस बत्तीस तैंतीस "
    "चौंतीस पैंतीस"
    " छत्तीस सैंतीस अड़तीस उनतालीस चालीस इकतालीस बयालीस तैंतालीस चौवालीस पैंतालीस छियालीस सैंतालीस"
    " अड़तालीस उनचास पचास इक्यावन बावन तिरेपन चौवन पचपन छप्पन सत्तावन अट्ठावन उनसठ साठ इकसठ बासठ"
    " तिरेसठ चौंसठ पैंसठ छियासठ सड़सठ अड़सठ उनहत्तर सत्तर इकहत्तर बहत्तर तिहत्तर चौहत्तर पचहत्तर"
    " छिहत्तर सतहत्तर अठहत्तर उन्यासी अस्सी इक्यासी बयासी तिरासी चौरासी पचासी छियासी सत्तासी"
    " अट्ठासी नवासी नब्बे इक्यानवे बानवे तिरानवे चौरानवे पंचानवे छियानवे सत्तानवे अट्ठानवे"
    " निन्यानवे सौ"
)
# the hundreds from one on, behind which tens may stand
_HUNDREDS = (
    "hundert zweihundert dreihundert vierhundert fünfhundert sechshundert siebenhundert achthundert"
    " neunhundert",
    "einhundert",
    # "six cents" is an English price; "cent" alone is in `_NUMBER`
    "- deux_cents trois_cents quatre_cents cinq_cents - sept_cents huit_cents neuf_cents",
    "- deux_cent trois_cent quatre_cent cinq_cent - sept_cent huit_cent neuf_cent",
    "- 이백 삼백 사백 오백 육백 칠백 팔백 구백",
    "cien doscientos trescientos cuatrocientos quinientos seiscientos setecientos ochocientos"
    " novecientos",
    "ciento doscientas trescientas cuatrocientas quinientas seiscientas setecientas ochocientas"
    " novecientas",
    "cem duzentos trezentos quatrocentos quinhentos seiscentos setecentos oitocentos novecentos",
    "cento duzentas trezentas quatrocentas quinhentas seiscentas setecentas oitocentas novecentas",
    "сто двести триста четыреста пятьсот шестьсот семьсот восемьсот девятьсот",
    "مئة مئتان ثلاثمئة أربعمئة خمسمئة ستمئة سبعمئة ثمانمئة تسعمئة",
    "مائة مئتين ثلاثمائة أربعمائة خمسمائة ستمائة سبعمائة ثمانمائة تسعمائة",
)
_GERMAN_TENS = "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig"
_GERMAN_DIGITS = "ein zwei drei vier fünf sechs sieben acht neun"
# before a counter the first four Korean numbers are shortened, and mean other things elsewhere
KOREAN_COUNTERS = (
    "개 명 마리 대 권 장 그루 송이 사람 가지 번 잔 병 채 점 벌 자루 켤레 통 곳 쌍 척 칸 줄 살 시간"
    " 달 분 팀 조각 접시 그릇 다발"
).split()


def _compound_words() -> dict[str, int]:
    """Return the values of "twenty-one" to "ninety-nine"."""
    values = {}
    for tens_digit, tens in enumerate(TENS, 2):
        for digit, unit in enumerate(SMALL_NUMBERS[1:10], 1):
            values[f"{tens}-{unit}"] = 10 * tens_digit + digit
    return values


def _korean_thousands() -> dict[str, int]:
    """Thousands and ten thousands: "만 오천" is 15,000."""
    digits = {word: value for value, word in enumerate(" 이 삼 사 오 육 칠 팔 구".split(" "), 1)}
    # "이만" and "오만" are other words, and a thousand alone stands among the other numbers
    values = {f"{word}만": 10000 * digits[word] for word in "삼 사 육 칠 팔 구".split()}
    for word in filter(None, digits):
        thousands = 1000 * digits[word]
        values[f"{word}천"] = thousands
        for lead, ten_thousands in digits.items():
            value = 10000 * ten_thousands + thousands
            values |= dict.fromkeys((f"{lead}만{word}천", f"{lead}만 {word}천"), value)
    return values


def _foreign_words() -> dict[str, int]:
    """Return the values of the words of other languages."""
    values: dict[str, int] = {}
    for words in OTHER_LANGUAGES:
        values |= {word: value for value, word in enumerate(words.split())}
    for tens_words, joint, digits in OTHER_TENS:
        for tens, word in enumerate(tens_words.split(), 2):
            values[word] = 10 * tens
            values |= {
                f"{word}{joint}{unit}": 10 * tens + digit
                for digit, unit in enumerate(digits.split(), 1)
                if unit != "-"
            }
    for tens, word in enumerate(_GERMAN_TENS.split(), 2):
        values[word] = 10 * tens
        values |= {
            f"{unit}und{word}": 10 * tens + digit
            for digit, unit in enumerate(_GERMAN_DIGITS.split(), 1)
        }
    for digits in _ARABIC_DIGITS:
        for digit, unit in enumerate(digits.split(), 1):
            values |= {f"{unit} عشر": 10 + digit, f"{unit} عشرة": 10 + digit}
            for tens_words in _ARABIC_TENS:
                for tens, word in enumerate(tens_words.split(), 2):
                    values |= {word: 10 * tens} | dict.fromkeys(
                        (f"{unit} و{word}", f"{unit} و {word}"), 10 * tens + digit
                    )
    values |= {f"百{word}": 100 + values[word] for word in list(values) if "十" in word}
    values |= {word: value for value, word in enumerate(_HINDI_WORDS.split(), 20)}
    values = {word: value for word, value in values.items() if not word.startswith("-")}
    del values["veinti"]
    values |= _korean_thousands()
    for value, word in enumerate("한 두 세 네 다섯 여섯 일곱 여덟 아홉".split(), 1):
        for counter in KOREAN_COUNTERS:
            values |= dict.fromkeys((f"{word} {counter}", f"{word}{counter}"), value)
            values |= dict.fromkeys((f"열{word} {counter}", f"열{word}{counter}"), 10 + value)
    return values


_DOZENS = ("ein dutzend", "une douzaine", "una docena", "uma dúzia", "una dozzina", "дюжина")
_HALF_DOZENS = ("ein halbes dutzend", "une demi-douzaine", "media docena", "meia dúzia")
NUMBER_WORDS: Mapping[str, int | Fraction] = MappingProxyType(
    {word: i for i, word in enumerate(SMALL_NUMBERS)}
    | {word: 10 * i for i, word in enumerate(TENS, 2)}
    | _compound_words()
    | _foreign_words()
    | {
        word.replace("_", " "): 100 * digit
        for words in _HUNDREDS
        for digit, word in enumerate(words.split(), 1)
        if word != "-"
    }
    | {
        f"{word}tausend": 1000 * thousands
        for thousands, word in enumerate(["ein", *OTHER_LANGUAGES[0].split()[2:]], 1)
    }
    | {
        f"{word}einhalb": value + Fraction(1, 2)
        for value, word in enumerate(_GERMAN_DIGITS.split(), 1)
    }
    | {
        f"साढ़े {word}": value + Fraction(1, 2)
        for row in OTHER_LANGUAGES
        for value, word in enumerate(row.split())
        if "\u0900" < word < "\u0980"
    }
    | {
        **dict.fromkeys(("anderthalb", "डेढ़"), Fraction(3, 2)),
        "ढाई": Fraction(5, 2),
        "dozen": 12,
        "a couple": 2,
        "half a dozen": 6,
        **dict.fromkeys(_DOZENS, 12),
        **dict.fromkeys(_HALF_DOZENS, 6),
        "两": 2,
        "스무": 20,
        "a hundred": 100,
        "a thousand": 1000,
        "a million": 10**6,
        "cent": 100,
        **{"百": 100, "백": 100, "千": 1000},
        **{"une dizaine": 10, "une quinzaine": 15, "une vingtaine": 20, "une trentaine": 30},
        **{"une cinquantaine": 50, "une centaine": 100, "una decena": 10, "una veintena": 20},
        **{"uma dezena": 10, "десяток": 10},
        "six cent": 600,
        **dict.fromkeys(("ciento uno", "ciento una", "cento e um", "cento e uma", "cent un"), 101),
        "quatre-vingts": 80,
        "soixante et onze": 71,
        **dict.fromkeys("mil mille tausend тысяча ألف".split(), 1000),
        **dict.fromkeys("ألفان ألفين".split(), 2000),
        **dict.fromkeys(("مائتان", "مائتين"), 200),
        **dict.fromkeys(("un millón", "um milhão", "un million", "eine million"), 10**6),
    }
)
