"""Answers that say that there is none: the picture is missing, unreadable or does not tell."""

from __future__ import annotations

import re

from hqm.scoring.cue_search import WordSearch

# every cue in one of these scripts has such a letter
UNSPACED_LETTERS = "\u0400-\u04ff\u0600-\u06ff\u0900-\u097f\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3"
_IMAGE = (
    r"(?:image|picture|photo|photograph|figure|chart|graph|diagram|file|attachment|screenshot)s?"
)
NO_IMAGE_ABROAD = (
    r"\b(?:bild|foto|abbildung)\b[^.\n]{0,30}\b(?:nicht (?:sehen|laden|öffnen|anzeigen|geladen"
    r"|vorhanden|sichtbar|einsehen)|fehlt)|\bkein(?:e|en)? (?:bild|foto)\b[^.\n]{0,20}"
    r"\b(?:erhalten|angehängt|vorhanden|hochgeladen|beigefügt|sehen|bekommen)",
    r"\bno (?:puedo|logro|consigo) (?:ver|abrir|acceder|cargar"
    r"|visualizar)\b[^.\n]{0,6}\b(?:imagen|foto)"
    r"|\b(?:imagen|foto)\b[^.\n]{0,12}\bno (?:se (?:ha |pudo )?(?:carg|adjunt|mostr)"
    r"|está disponible|fue)"
    r"|\bno (?:hay|veo|recibí|se ha proporcionado) (?:la |ninguna )?(?:imagen|foto)\b",
    r"\bne (?:vois|peux pas (?:voir|ouvrir)|trouve|parviens pas à (?:voir|ouvrir))\b[^.\n]{0,14}"
    r"\b(?:image|photo)|\b(?:image|photo)\b[^.\n]{0,12}\bn'(?:a|est)\b[^.\n]{0,16}"
    r"(?:fournie|chargée|jointe|disponible|affichée)|\baucune (?:image|photo) (?:n'|fournie"
    r"|jointe)",
    r"\bnão (?:consigo|posso|estou conseguindo) (?:ver|abrir|visualizar|acessar)\b[^.\n]{0,6}"
    r"\b(?:imagem|foto)|\b(?:imagem|foto)\b[^.\n]{0,12}\bnão (?:foi|carregou|está disponível)"
    r"|\bnenhuma (?:imagem|foto) (?:foi|anexada)",
    r"(?:изображени|картинк|фото)\w*[^.\n]{0,12} (?:не (?:загру|прикреп|откры|предостав)|отсутству)"
    r"|не (?:вижу|могу увидеть|могу открыть) (?:изображени|картинк|фото)",
    "(?:画像|写真|図)[がを][^。]{0,10}(?:ません|ない)",
    "(?:이미지|사진|그림)(?:를|을|가|이)? ?(?:볼 수 없|보이지 않|열 수 없|확인할 수 없|첨부되지"
    "|제공되지)",
    "(?:没有|未|看不到|没)[^。,，]{0,4}(?:图片|图像|照片)(?![中里上])|(?:图片|图像|照片)(?:未|没有|无法|不能)"
    "(?:加载|显示|打开|上传|提供)",
    "لا أرى (?:أي )?صورة|الصورة (?:غير (?:متاحة|ظاهرة|موجودة)|لم)",
    "(?:चित्र|छवि|तस्वीर|इमेज)(?! में)[^।]{0,16}नहीं (?:दे|देख|दिख|खुल|लोड|मिल)",
)
"""What says that there is no image to look at, or that it cannot be opened."""
UNABLE_ABROAD = (
    *NO_IMAGE_ABROAD,
    r"(?:kann|lässt sich|ist)(?: [\wäöü]+){0,4} nicht (?:\w+ )?(?:sagen|beurteil|bestimm|feststell"
    r"|beantwort|möglich|sicher|klar|eindeutig)\w*"
    r"|\bdas (?:kann|lässt) (?:ich|man|sich) (?:\w+ ){0,3}?nicht (?:erkennen|sehen|lesen)"
    r"|kann nicht|weiß nicht|\bunklar\b",
    r"\bno (?:es posible|est[áo]y? (?:claro|segur\w)|(?:lo )?sé|puedo (?!ver)|se (?:puede|sabe"
    r"|distingue)"
    r"(?! (?:ver|apreciar|observar)))",
    r"\bne (?:peu[xt]|sais|permet|peut-on) pas(?! (?:le |la )?voir)|\bimpossible de\b"
    r"|\bpas (?:possible|certain|sûr|clair)\b",
    r"\bnão (?:posso (?!ver)|sei|é possível|dá para|está claro|se pode (?!ver))",
    r"не (?:могу (?!увид)|знаю|ясно|удаётся)|невозможно|неизвестно|неясно|трудно сказать",
    "无法|不能确定|不确定|不知道|不清楚|看不清|难以",
    "(?:分|わ)か(?:らない|りません)|(?:判断|判別|特定)でき|不明",
    "알 수 없|모르|(?:판단|확인)할 수 없|불분명|어렵",
    "لا (?:يمكن|أستطيع|أعرف)|غير واضح|نمی‌توان",
    "नहीं (?:बता|कह)|पता नहीं|स्पष्ट नहीं",
)
_UNABLE = WordSearch(
    re.compile(
        r"\b(?:can(?:no|')t|cannot|could(?: no|n')t|isn't possible to|unable to|(?:\bnot"
        r"|n't) (?:able"
        r"|possible) to"
        r"|impossible to)\s+"
        r"(?:be\s+)?(?:\w+ly\s+)?(?:\w+\s+or\s+)?(?:determin|tell|told|answer|see|say|said|identif"
        r"|provid"
        r"|calculat"
        r"|know|give|measur|find|read|assist|help|view|count|accurate|definit|solv|represent|verif"
        r"|compare|evaluat|analy[sz]|interpret|judg"
        r"|make out|recogni[sz]|discern|infer|access|choose|confirm|settle|decide|pick"
        r"|establish|ascertain|assess|estimat|deduc|deriv|obtain|distinguish)\w*"
        r"|(?:\b(?:insufficient|not enough|more)|n't enough) information|(?:\bnot"
        r"|n't) (?:\w+ly )?(?:sure|clear|certain|visible|legible"
        r"|specified|mentioned|provided|determinable|listed|among|yet determined|labell?ed|named"
        r"|marked"
        r"|readable|evident|apparent|discernible|stated|indicated|loaded|attached|supplied)\b"
        r"|(?:\bnot"
        r"|n't|\bto) load\b"
        r"|\b(?:does|do|did|is|are|was)(?:n't| not) (?:provide|contain|include|show|give|have"
        r"|mention"
        r"|specif|match)\w*"
        r"|\b(?:unknown|undetermined|indeterminate|unanswerable|unclear|illegible|unreadable)\b"
        r"|\bn/a\b|\btoo [\w-]+ (?:for me )?to (?:be )?(?:\w+ly )?(?:read|see|seen|tell|make out"
        r"|made out"
        r"|count|identif|discern|recogni[sz]|judge|distinguish|determine|decipher)\w*"
        r"|\b(?:text|writing|lettering|label|name|title|display|inscription|caption|date|logo|digits|letters)"
        r" (?:is|are) (?:\w+ly )?(?:obscured|covered|cut off|cropped|hidden|blocked|washed out"
        r"|overexposed"
        r"|out of focus|smudged|blurred|pixelated)\b|\btoo (?:blurr(?:y|ed)|grainy|pixelated"
        r"|small|dark|faint|far|low)\b"
        r"|\bi (?:do not|don't) (?:know|have|make|provide|identify|speculate|recogni[sz]e"
        r"|(?:currently |actually )?see (?:any|an|the|a) (?:attached |uploaded )?(?:image|picture"
        r"|photo|chart|graph|figure|diagram|table|file|attachment|screenshot)s?\b)"
        rf"|\bno {_IMAGE} (?:(?:was|were|is|are|has been|have been) )?(?:provided|attached|included"
        r"|uploaded|given|supplied|shared|found|available)\b|\bno access to\b"
        rf"|\b{_IMAGE} (?:(?:is|was|seems?|appears?|looks?) )?(?:to (?:be|have been) )?(?:missing"
        r"|unavailable|broken|corrupted|blank)\b|\bplease (?:upload|share|attach|send)\b"
        r"|\bcould you (?:please )?(?:upload|share|attach|send|provide|clarify|specify)\b"
        r"|\bno (?:idea|way to|answer|clue)\b|\bit depends\b"
        r"|\bnone of (?:the|these)\b|\bneither of\b|\bplease provide\b|\bi(?:'m| am) sorry\b"
        r"|\bwithout (?:the|any|more|a|specific|further|knowing|access)\b|\bhard to (?:say|tell)\b"
        rf"|{'|'.join(UNABLE_ABROAD)}",
        re.IGNORECASE,
    ),
    first_words=frozenset(
        "can t,cannot,could not,couldn t,isn t,unable to,not,impossible,insufficient,n a,to load"
        ",more information,does not,doesn t,do not,don t,did not,didn t,is not,are not,aren t"
        ",was not,wasn t,i do,i don,i am,i m,no,it depends,none of,neither of,ne,unknown,too"
        ",undetermined,indeterminate,unanswerable,unclear,illegible,unreadable,please provide"
        ",without,hard to,kann,pas,unklar,please upload,please share,please attach,please send"
        ",could you,text is,writing is,lettering is,label is,name is,title is,display"
        " is,inscription is"
        ",caption is,date is,logo is,digits are,letters are,image is,image was,image seems,image"
        " appears,image missing,picture is"
        ",picture was,picture seems,picture appears,photo is,photo seems,file is,attachment is"
        ",bild,foto,abbildung,kein,keine,imagen,aucune,nenhuma,imagem,image n".split(",")
    ),
    foreign=(
        re.compile(f"[äÄßẞãÃ{UNSPACED_LETTERS}]|[tTnN](?:(?<=[iI][sS][tT])|(?<=[aA][nN][nN])) "),
        re.compile("|".join(UNABLE_ABROAD), re.IGNORECASE),
    ),
)


def says_unable(text: str) -> bool:
    """Whether a passage says that there is no answer.

    >>> says_unable("It cannot be determined from the picture."), says_unable("B")
    (True, False)
    """
    return _UNABLE.is_in(text)


def says_unable_abroad(text: str) -> bool:
    """Whether a passage says so in another language than English."""
    if text.isascii():
        lowered = text.lower()
        if not any(map(lowered.count, _UNABLE_ABROAD_PARTS)):
            return False
    return _UNABLE_ABROAD.search(text) is not None


_UNABLE_ABROAD = re.compile("|".join(UNABLE_ABROAD), re.IGNORECASE)
# in ASCII every such statement has one of these
_UNABLE_ABROAD_PARTS = (
    "bild",
    "foto",
    "image",
    "nicht",
    "unklar",
    "no ",
    "ne ",
    "impossible de",
    "pas ",
)
