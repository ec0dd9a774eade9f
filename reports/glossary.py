"""One sentence for every term of art; a page gives it where the term first appears."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

TERMS: Mapping[str, tuple[str, str]] = {
    "95% interval": (
        r"95% interval|these respondents",
        "a range made so that 95 of 100 such ranges hold the true value; 'these respondents' keeps the models and draws other "
        "items, 'others like them' draws other models too",
    ),
    "reliability": (
        r"[Rr]eliabilit",
        "how much of the differences between scores would come back if the named thing (seed, wording, items, judge) were drawn "
        "anew: 1 all of it, 0 nothing",
    ),
    "noise floor": (
        r"noise floor",
        "the correlation that coin flips at each respondent's own rate would reach with as many items: only what lies above it "
        "speaks for the benchmark",
    ),
    "Pearson r": (r"Pearson r|correlat", "how closely two sets of scores lie along a line, whatever its slope: 1 exactly, 0 not at all"),
    "rho_G": (r"rho_G", "reliability of one run, from the items whose outcome changed between runs"),
    "ICC(A,1)": (
        r"ICC\(A,1\)",
        "intraclass correlation of absolute agreement: 1 only if every respondent gets the very same score again; a shift of the "
        "mean lowers it",
    ),
    "ICC(C,1)": (r"ICC\(C,1\)", "intraclass correlation of consistency: a shift that is the same for all does not lower it"),
    "at 1,000 items": (
        r"[Aa]t 1,000 items",
        "the same reliability for a test of 1,000 items (Spearman and Brown), so that long and short benchmarks compare",
    ),
    "unadjusted, adjusted": (
        r"Unadjusted",
        "as observed, and with what is known of the other noise taken out; the column says by which statistic",
    ),
    "smallest real difference": (
        r"smallest real difference|mdc95",
        "two runs of one respondent that differ by less may differ by chance alone",
    ),
    "standard error of measurement": (r"standard error of measurement|\bSEM\b", "the spread of one respondent's score over repetitions"),
    "parallel form": (r"[Pp]arallel form|\bparallel\b", "the same items in another wording, with the right answer known"),
    "yes-ratio": (r"[Yy]es-ratio|[Ss]hare of answers yes", "the share of answers that say yes; the share of questions whose right answer is yes stands beside it"),
    "acquiescence": (r"[Aa]cquiescence", "the habit of saying yes whatever is asked: 0 none, positive yes, negative no"),
    "d′ and c": (
        r"d′",
        "from signal detection: d′ is how well yes-questions are told from no-questions; c is the leaning, positive towards no, "
        "negative towards yes",
    ),
    "elasticity": (r"[Ee]lasticity", "by how many percent the score changes when answers get one percent longer"),
    "limits of agreement": (
        r"[Ll]imits of agreement",
        "Bland and Altman's range that holds 95% of the differences between the two administrations",
    ),
    "rank flow": (r"[Rr]ank flow", "each line follows one respondent's place from administration to administration; crossings are lost order"),
    "tied set": (
        r"[Tt]ied set|[Tt]ied",
        "respondents whose differences are not more than chance (two-sided tests, Holm's correction): the benchmark cannot say who is better",
    ),
    "discrimination": (r"[Dd]iscrimination", "the correlation of an item with the rest of the test: near 0 it tells nothing apart, below 0 it works against the rest"),
    "difficulty": (r"[Dd]ifficulty", "here the share of respondents that get the item right: high is easy"),
    "blind solvability": (
        r"[Bb]lind solvab|words alone",
        "how many labels a simple classifier predicts from the question's words without the picture, on items it was not trained on",
    ),
    "leakage cue": (r"[Ll]eak", "a trait that should say nothing (position, length, an article) but predicts the right answer"),
    "G study": (
        r"G study",
        "splits the variance of the scores into respondents, items, seeds, forms and judges, and what they make together",
    ),
    "D-study": (r"D-study", "from those shares, what reliability another number of items, seeds, forms or judges would give"),
    "Phi and G": (r"\bPhi\b", "dependability of absolute scores (Phi) and of differences between respondents (G), over all facets at once"),
    "Cronbach's alpha": (r"Cronbach|\balpha\b(?! of| over)", "reliability from how far the items go together in one administration; many items raise it by themselves"),
    "omega": (r"omega", "like alpha, for types that measure one thing with different strength"),
    "disattenuated": (r"[Dd]isattenuated", "the correlation that would be seen without the sampling noise of either side"),
    "ceiling": (r"\bceiling\b", "the largest correlation that the noise of the two sides allows"),
    "sensitivity and specificity": (
        r"[Ss]ensitivity",
        "of the answers that people found faithful, the share scored as right; of those found hallucinated, the share scored as wrong",
    ),
    "kappa": (r"\bkappa\b", "agreement of single verdicts beyond what chance gives: 0 chance, 1 all"),
    "Krippendorff's alpha": (r"Krippendorff", "agreement of judgements beyond chance, for any number of judges"),
    "Gwet's AC1": (r"Gwet", "agreement beyond chance that does not collapse when one verdict is rare"),
    "prediction-powered": (
        r"[Pp]rediction[- ]powered|corrected by people",
        "the score of all items, corrected by what people said of the labelled ones",
    ),
    "Kendall's tau-b": (r"Kendall's tau|\btau_b", "pairs put in the same order less pairs put in the other, as a share of all"),
    "Spearman's rho": (r"Spearman's rho", "Pearson's correlation of the ranks"),
    "Kendall's W": (r"Kendall's W", "agreement of several rankings: 1 the same, 0 none"),
    "Lin's concordance": (r"Lin's", "correlation times closeness to the line of equality"),
    "CHAIR": (
        r"chair_[is]|CHAIR",
        "chair_i is the share of mentioned objects that are not in the picture, chair_s the share of captions with at least one",
    ),
    "F1": (r"\bf1\b", "the harmonic mean of precision and recall of the answer yes"),
    "Rasch": (r"Rasch", "a model in which one ability and one difficulty make the chance of a right answer"),
    "measurable type": (r"[Mm]easurable", "it has enough items for a standard error of .03"),
    "signature": (
        r"[Ss]ignature",
        "one line that says what a number was made of (benchmark, data, scorer, administrations, answers); equal lines, equal numbers",
    ),
}  # fmt: skip
"""Term -> how it is found in a text, and what it means in one sentence."""


class Reader:
    """Knows which terms a reader has met, block by block from the top of the page."""

    def __init__(self) -> None:
        self._met: set[str] = set()

    def meets(self, texts: Iterable[str]) -> list[tuple[str, str]]:
        """The terms that appear here for the first time, with their sentences.

        >>> reader = Reader()
        >>> [term for term, _ in reader.meets(["the noise floor"])], reader.meets(["a noise floor"])
        (['noise floor'], [])
        """
        text = "\n".join(texts)
        terms = []
        for term, (pattern, sentence) in TERMS.items():
            if term not in self._met and (place := re.search(pattern, text)):
                self._met.add(term)
                terms.append((place.start(), term, sentence))
        return [(term, sentence) for _, term, sentence in sorted(terms)]
