"""For every indicator: when it misleads, and how a paper may write it.

A bracket stands for the audit's own number.
"""

from __future__ import annotations

from collections.abc import Mapping

READING: Mapping[str, tuple[str, str]] = {
    # do scores repeat?
    "rho_g": (
        (
            "It is high whenever the models differ widely, and says nothing about other wordings. A"
            " benchmark with drift between runs breaks its assumption."
        ),
        (
            "One run repeats with a reliability of [value] [interval] for these models (rho_G,"
            " seeds redrawn)."
        ),
    ),
    "rho_g_1000": (
        (
            "The conversion supposes more items of the same kind. It says what length does, not"
            " what this benchmark does."
        ),
        "At a common length of 1,000 items the reliability is [value].",
    ),
    "noise_floor": (
        (
            "It is no lower limit of quality: single answers may be coin flips while scores repeat"
            " perfectly."
        ),
        "Independent coin flips at the models' own rates would correlate by [value].",
    ),
    "gain": (
        (
            "A small gain is no fault where the reliability is already high enough; more items do"
            " not raise it."
        ),
        "The reliability lies [value] of the way from coin flips to identical answers.",
    ),
    "sem": (
        "Pooled over models it hides that each has its own; it is no interval for other items.",
        "The standard error of measurement of one run is [lowest] to [highest] points, by model.",
    ),
    "mdc95": (
        (
            "It concerns one model measured twice. Two models are compared by a test of their"
            " difference."
        ),
        "A change of less than [value] points between two runs of a model is within chance.",
    ),
    "drift": (
        (
            "A large p-value with few items shows little; a small one with many items may be a"
            " shift too small to matter."
        ),
        "Scores moved between runs by no more than item noise (p = [value]).",
    ),
    "same_winner": (
        "It is high where one model is far ahead, and then tells nothing about the others.",
        "Two runs would name the same best model with probability [value].",
    ),
    "top_k": (
        (
            "By chance alone, sets of three overlap much when there are few models; read the chance"
            " value beside it."
        ),
        "Two runs share [value] of their best three (by chance [value]).",
    ),
    "pair_flip": (
        "An average over pairs: a few neighbours may change places all the time.",
        "A pair of models changes its order between two runs with probability [value], on average.",
    ),
    "expected_tau": (
        "It supposes that only seeds change. Another wording reorders more.",
        "Rankings of two runs would agree by Kendall's tau of [value].",
    ),
    "reliability": (
        (
            "It is computed from the first token's probabilities, so it is blind to what a model"
            " says after it."
        ),
        "From the probabilities of the first token a reliability of [value] is to be expected.",
    ),
    # do two administrations agree?
    "icc_a1": (
        (
            "It falls with any shift of the mean, also a harmless one; and it rises with the spread"
            " of the models chosen."
        ),
        "Scores agree by ICC(A,1) = [value] [interval].",
    ),
    "icc_c1": (
        (
            "It forgives a shift that is the same for all; do not use it where scores of both"
            " administrations enter one table."
        ),
        "Apart from a common shift, scores agree by ICC(C,1) = [value] [interval].",
    ),
    "pearson": (
        (
            "It is blind to a shift and to a change of scale ([shorter"
            " captions](../audits/captions.md)), and a wide range of models drives it to 1."
        ),
        (
            "Scores of the two administrations correlate by r = [value] [interval]; agreement is"
            " ICC(A,1) = [value]."
        ),
    ),
    "spearman": (
        "Ties and few models make it coarse; it cannot tell a near-tie from a wide gap.",
        "Ranks correlate by Spearman's rho = [value] [interval].",
    ),
    "tau_b": (
        "It counts a change between two equal models like one between very different ones.",
        "Of all pairs of models, the orders agree by Kendall's tau-b = [value].",
    ),
    "mean_shift": (
        (
            "A mean of 0 may hide models that moved in opposite directions; look at the limits of"
            " agreement."
        ),
        "Scores are [value] points lower in the second administration [interval].",
    ),
    "limits_of_agreement": (
        (
            "With few models the limits themselves are uncertain, and a difference that grows with"
            " the score is not seen."
        ),
        (
            "A model's score differs between the administrations by [low] to [high] points (95%"
            " limits of agreement)."
        ),
    ),
    "item_agreement": (
        "Where nearly all answers are right, it is high by chance.",
        "[value] of the single verdicts come out the same.",
    ),
    "ccc": (
        (
            "It is close to ICC(A,1) with two administrations, and needs no report of its own"
            " beside it."
        ),
        "Lin's concordance is [value] [interval].",
    ),
    "icc_11": (
        "It is invalid where the mean moved, because it takes the shift for noise between models.",
        "ICC(1,1) = [value]; administrations are not crossed with models.",
    ),
    "icc_1k": (
        (
            "Larger by construction: it is the reliability of a mean over all administrations,"
            " which a leaderboard of single runs does not show."
        ),
        "The mean of [k] administrations has ICC(1,k) = [value].",
    ),
    "icc_ak": (
        "As every k-form it overstates what one score is worth.",
        "The mean of [k] administrations would agree by ICC(A,k) = [value].",
    ),
    "icc_ck": (
        "As every k-form it overstates what one score is worth, and it forgives a shift.",
        "The mean of [k] administrations is consistent by ICC(C,k) = [value].",
    ),
    "icc_a1_of_forms": (
        (
            "It falls with any wording that moves the mean, and wordings that rules make are no"
            " sample of all that people write."
        ),
        "Over [k] wordings, scores of one wording agree by ICC(A,1) = [value] [interval].",
    ),
    "phi_of_forms": (
        (
            "Larger by construction: it is the dependability of a mean over all wordings, which a"
            " leaderboard of one wording does not show. With three or four wordings the bound is"
            " too low to decide anything."
        ),
        (
            "The mean of [k] wordings is dependable by Phi = [value], at least [low] for other"
            " models and wordings."
        ),
    ),
    # does the wording move them?
    "form_correlation": (
        (
            "It removes the noise of seeds, so it exceeds what a user of one run sees; with noise"
            " near the spread it is unstable."
        ),
        "Without seed noise, scores of the two wordings correlate by [value].",
    ),
    "form_heterogeneity": (
        "It is a standard deviation: 0 is within its error with few items.",
        "The wording moves models by different amounts (standard deviation [value] points).",
    ),
    "equivalence": (
        (
            "A margin that was not declared before the data makes it worthless; a large p-value"
            " does not show a difference."
        ),
        "The means of both wordings are equivalent within ±[margin] points (TOST, p = [value]).",
    ),
    "acquiescence": (
        (
            "It takes the two truths to be opposite. A model that does not read the negation looks"
            " like one that says yes to everything."
        ),
        "Models lean towards yes by [value] on average over question and negation.",
    ),
    "coherence": (
        (
            "A model that always contradicts itself and one that guesses are both low; the chance"
            " level depends on the yes-ratio."
        ),
        "[value] of the question pairs are answered coherently.",
    ),
    "balanced_score": (
        "It cancels a leaning only if the leaning is equal in both forms.",
        "The mean of both forms has a reliability of [value].",
    ),
    "yes_ratio_shift": (
        "In a negated form the share of true yes changes too: compare with the base rates.",
        "The share of answers yes is [value] higher under the second wording.",
    ),
    "d_prime_shift": (
        "Where a rate is 0 or 1, d' depends on the correction used.",
        "Sensitivity d' falls by [value] under the second wording.",
    ),
    "criterion_shift": (
        "It is about the tendency to say no, not about accuracy.",
        "The response criterion moves by [value] towards no.",
    ),
    "length_shift": (
        (
            "It describes the answers and is no fault by itself; with scores that grow with length"
            " it explains a shift."
        ),
        "Answers to the second wording are [value] words shorter.",
    ),
    "length_elasticity": (
        "It is a slope over few points within models, not an experiment: length was not set.",
        "A one percent longer answer goes with a score [value] percent higher, within models.",
    ),
    "position_bias": (
        (
            "Cramer's V is above 0 by chance; right answers that are unevenly spread over the slots"
            " raise it."
        ),
        "Models prefer slots (mean Cramer's V = [value]).",
    ),
    # do they follow people?
    "disattenuated": (
        (
            "It may exceed 1, and describes a score without noise that nobody has. Never report it"
            " alone."
        ),
        (
            "The correlation with people is [raw], and [value] without the sampling noise of both"
            " sides (ceiling [value])."
        ),
    ),
    "ceiling": (
        "It knows the noise of the labels, not their bias.",
        "With these labels a correlation of at most [value] could be observed.",
    ),
    "pearson_same_items": (
        (
            "On the labelled items both sides share the same luck with items, so it exceeds the"
            " correlation with the full benchmark."
        ),
        "On the labelled items the correlation is [value].",
    ),
    "sensitivity": (
        "It depends on who answered: a judge may be good on short answers only.",
        "Of the answers that people call faithful, the scorer accepts [value] [interval].",
    ),
    "specificity": (
        "Where hallucinations are rare, a few labels decide it.",
        "Of the answers that people call hallucinated, the scorer rejects [value] [interval].",
    ),
    "kappa": (
        (
            "It falls to 0 where one verdict is rare, although nearly all verdicts agree: read"
            " `gwet_ac1` beside it."
        ),
        "Scorer and people agree by kappa = [value] (AC1 = [value]).",
    ),
    "judge_functioning": (
        "A large p-value with few labels shows nothing.",
        (
            "The scorer's errors differ between models (p = [value]): one correction for all would"
            " be wrong."
        ),
    ),
    "prediction_powered": (
        "It is unbiased only if the labelled answers were drawn at random.",
        "Corrected by people's labels (PPI++), the mean score is [value] [interval].",
    ),
    "rogan_gladen": (
        "It is biased where the scorer errs differently for different models.",
        "Corrected by pooled sensitivity and specificity, the mean score is [value].",
    ),
    "labels_needed": (
        "It supposes that further labels vary as these do.",
        "A reliability of .90 of people's scores takes about [value] labels a model.",
    ),
    "contradicted_items": (
        (
            "People may be wrong as well, and an item may be contradicted because its wording is"
            " unclear."
        ),
        "On [value] items people contradict the scorer whoever answered; we read them.",
    ),
    "pearson_given_length": (
        "With few models, taking out length leaves nearly nothing to correlate.",
        "Among models with answers of equal length the correlation is [value].",
    ),
    "within_respondents": (
        "A few types with few labels each make it noisy.",
        "Within models, types that are weak by the benchmark are weak by people (r = [value]).",
    ),
    "labelled_answers": (
        (
            "Many labels of few pictures say less than their number: answers about one picture are"
            " not independent."
        ),
        (
            "The comparison with people rests on [value] labelled answers of [n] respondents, [how"
            " they were chosen]."
        ),
    ),
    "labels_at_random": (
        (
            "A large p-value does not show that the labels are a random sample: they may differ in"
            " what no score shows."
        ),
        "The labelled answers were scored like the others (Mantel and Haenszel, p = [value]).",
    ),
    "accuracy": (
        (
            "Where nearly all answers are faithful it is high for a scorer that accepts everything:"
            " read `specificity` and `kappa` beside it."
        ),
        (
            "The scorer agrees with people on [value] [interval] of the answers (weighted; kappa ="
            " [value])."
        ),
    ),
    "answers_pearson": (
        (
            "Respondents of different ability raise it: it is no agreement within one respondent,"
            " and no correlation of scores."
        ),
        "Over single answers, scores and people's labels correlate by r = [value] [interval].",
    ),
    "answers_spearman": (
        (
            "Where scores and labels are all 0 or 1 it is Pearson's r again, and with labels of 0"
            " and 1 most ranks are tied; respondents of different ability raise it."
        ),
        (
            "Over single answers, scores and people's labels correlate by Spearman's rho = [value]"
            " [interval]."
        ),
    ),
    "answers_tau_b": (
        (
            "Where scores and labels are all 0 or 1 it is Pearson's r again, in spite of its name;"
            " respondents of different ability raise it."
        ),
        (
            "Over single answers, scores and people's labels agree by Kendall's tau-b = [value]"
            " [interval]."
        ),
    ),
    "items_pearson": (
        (
            "Items that are hard for all raise it: it says which questions are hard, and not which"
            " model is better. With few labels an item its means are noisy."
        ),
        "Over items, mean scores and mean labels correlate by r = [value] [interval].",
    ),
    "items_spearman": (
        (
            "Few respondents give an item few possible means, so that most are tied; it says"
            " nothing of the order of models."
        ),
        "Over items, mean scores and mean labels correlate by Spearman's rho = [value] [interval].",
    ),
    "items_tau_b": (
        (
            "Few respondents give an item few possible means, and pairs that are tied on either"
            " side count for nothing; it tells nothing about the order of models."
        ),
        "Over items, mean scores and mean labels agree by Kendall's tau-b = [value] [interval].",
    ),
    # do raters and judges agree?
    "human_agreement": (
        "High agreement of people who were trained together is not validity.",
        "People agree by Krippendorff's alpha = [value] [interval].",
    ),
    "fleiss_kappa": (
        (
            "It takes only answers with the commonest number of labels, and falls where one verdict"
            " is rare."
        ),
        "People agree by Fleiss' kappa = [value].",
    ),
    "rater_share": (
        "With two raters it rests on one comparison.",
        "[value] of the variance of single labels is strictness of raters.",
    ),
    "krippendorff_alpha": (
        "It falls to 0 where one verdict is rare, although nearly all verdicts agree.",
        "Judgements of the same answers agree by Krippendorff's alpha = [value].",
    ),
    "gwet_ac1": (
        "It is kind where one verdict prevails; agreement on the rare verdict may be none.",
        "Judgements agree by Gwet's AC1 = [value].",
    ),
    "flip_rate": (
        "A judge that always says the same has a rate of 0.",
        "[value] of the verdicts change when the judge is asked again.",
    ),
    "judge_share": (
        "A share of a small variance: the judge may make all of nearly nothing.",
        "The judge makes [value] [interval] of the run-to-run variance.",
    ),
    # do the items hang together?
    "alpha": (
        "Many items raise it by themselves, and it is no evidence that they measure one thing.",
        "Cronbach's alpha is [value] [interval] over [n] items.",
    ),
    "omega_types": (
        "It supposes one factor; with three or four types that can hardly be tested.",
        "Omega of one factor over the types is [value].",
    ),
    "alpha_types": (
        "With few types the number depends on each of them.",
        "Alpha over the type scores is [value].",
    ),
    "split_half": (
        "A mean over random halves; the single halves vary.",
        "Split halves give a reliability of [value] (Spearman and Brown).",
    ),
    "alpha_standardized": (
        "It is about a sum of standardised items, which no leaderboard uses.",
        "Standardised alpha is [value].",
    ),
    "g": (
        "It forgives what shifts all models alike, and covers only the facets that were varied.",
        "The generalizability coefficient over items, seeds and forms is [value] [interval].",
    ),
    "phi": (
        "It counts the difficulty of items as error, which matters only where levels are cited.",
        "Dependability (Phi) over items, seeds and forms is [value] [interval].",
    ),
    # which models are separated?
    "separable_pairs": (
        "It depends on which models were chosen: distant ones are easy to separate.",
        "[value] of all pairs are shown to differ (paired tests, Holm over all pairs).",
    ),
    "separable_adjacent": (
        "Neighbours in a long list are close by construction; respondents far below change none.",
        "[value] of the neighbours on the leaderboard are shown to differ on new items (planned"
        " contrasts, fallback procedure).",
    ),
    "minimum_difference": (
        "It is about one comparison that was planned; among all pairs the larger one holds.",
        "One planned comparison finds a difference of [value] points with 80% power.",
    ),
    "minimum_difference_holm": (
        "It grows with the number of models compared.",
        "Among all pairs a difference of [value] points is found with 80% power (Holm).",
    ),
    "lead": (
        "The best of many is partly lucky; its lead shrinks in another sample.",
        "The first model leads the second by [value] points [interval].",
    ),
    "above_chance": (
        (
            "Blind guessing by the commonest answer is the weakest strategy; see `blind_accuracy`"
            " for a better one."
        ),
        "Beyond blind guessing the models reach [value] of what is left.",
    ),
    "headroom": (
        "Wrong keys take part of it away: the best score to be had may be below 1.",
        "[value] is left above the best score.",
    ),
    "solved_by_all": (
        "With few or weak models it is small, whatever the items are.",
        "[value] of the items are solved by every model.",
    ),
    # which items are bad?
    "reading_list": (
        (
            "An item that able models fail for a good reason ranks high too. A wrong key where all"
            " guess leaves no trace."
        ),
        "We read the [n] items ranked first, of which [value] were expected to have wrong keys.",
    ),
    "label_errors": (
        "A count of 0 is no good news where its power is low; the detail has the power.",
        (
            "[value] items show the pattern of a wrong key; planted ones would be found with power"
            " [value]."
        ),
    ),
    "negative_items": (
        "With few models hardly any item can be shown to be negative.",
        "[value] items correlate negatively with the rest.",
    ),
    "discrimination": (
        "A median near 0 is usual with few models of equal ability.",
        "The median item discriminates by [value].",
    ),
    "dead_items": (
        "An item that is dead for these models may separate weaker or stronger ones.",
        "[value] items separate none of these models.",
    ),
    "misfit_items": (
        (
            "Misfit to the Rasch model is no fault where items are allowed to differ in"
            " discrimination."
        ),
        "[value] items misfit the Rasch model.",
    ),
    "duplicate_items": (
        "Equal questions about equal pictures only; paraphrases are not counted.",
        "[value] items repeat a question and picture.",
    ),
    # is the picture needed?
    "blind_accuracy": (
        (
            "Pooled over parts it hides the part that leaks ([POPE](../audits/pope_words.md)). A"
            " plain classifier is a floor, and shows what could be used, not what a model uses."
        ),
        (
            "A reader of the questions alone gets [value] [interval] right (commonest answer:"
            " [baseline])."
        ),
    ),
    "length_accuracy": (
        (
            "It is the best type and part of several, and length may stand for something else that"
            " differs. It shows what could be used, not what a model uses."
        ),
        "Counting words gets [value] [interval] of the labels right in [type and part].",
    ),
    "leakage_cues": (
        "Position and numbering harm only where a model, or who trains it, sees the file.",
        "[value] surface cues predict the right answer in some type or part.",
    ),
    "measures_up_to": (
        "It is about one comparison with a full score; two models below it may be as close.",
        "From [value] on, a model is not told from a full score with 80 % power.",
    ),
    "own_strengths": (
        (
            "It sees only what all items of a type share: items of two kinds under one type cancel."
            " Without a p below .05 read what would have been missed, not the number."
        ),
        "Models differ within types by [value] logits beyond one ability (p = [p]).",
    ),
    "family_types": (
        (
            "It is the largest of several differences, so it is never 0; below 10 models against 10"
            " it describes these models."
        ),
        "The type [type] is [value] logits easier for [family] than its other answers let expect.",
    ),
    "family_keys": (
        "A family that leans to yes and one that sees less of what is absent look the same.",
        "Questions with the key yes are [value] logits easier for [family].",
    ),
    "released_advantage": (
        (
            "A rewording may be harder or clumsier, and then all lose; only what one model has beyond"
            " the others suggests memory, and does not prove it."
        ),
        "The released wording scores [value] points more than its rewordings.",
    ),
    "older_advantage": (
        "Later items are often made harder on purpose; compare models, not dates.",
        "Items added earlier score [value] points more than later ones.",
    ),
    # which types are covered?
    "index": (
        "It asks for precision, not for validity of the types' labels.",
        "[value] of the eight types are measured with a standard error of at most .03.",
    ),
    "effective": (
        "Equal numbers of items are not equal coverage of what matters.",
        "The items spread like [value] equally frequent types.",
    ),
    "added_value": (
        "With few models a type seldom adds value although it is different.",
        "[value] types say more of themselves than the total does (Haberman).",
    ),
    # stages of a judge against people
    "decided_alike": (
        (
            "Where nearly all units have one answer, it is high by chance: read precision and"
            " recall of both answers."
        ),
        "The [role] decides [value] [interval] of the [n] labelled units as people do.",
    ),
    "precision": (
        "It depends on which answers were labelled: labels on hard answers lower it.",
        "Of what the [role] affirms, people affirm [value] [interval].",
    ),
    "recall": (
        "Units that the judge was never asked about are missing from it: read how many.",
        "Of what people affirm, the [role] affirms [value] [interval].",
    ),
    "f1": (
        "It ignores what both deny, and rises with the share of yes.",
        "The [role] reaches F1 = [value] [interval] against people.",
    ),
    # would fewer items do?
    "full_scale": (
        (
            "It is an estimate by a calibration from other models: for a family unlike all of them"
            " the interval is too narrow."
        ),
        (
            "On the full benchmark's scale the mean score is [value] [interval], estimated from [n]"
            " items."
        ),
    ),
    "mean_error": (
        "It was measured on families at hand when the form was made, not on yours.",
        "On held-out families the short form misses the full score by [value] on average.",
    ),
    "tau": (
        "Models that stand close together change places even where every error is small.",
        (
            "On held-out families the short form orders models as the full benchmark does with"
            " tau-b = [value]."
        ),
    ),
    "coverage": (
        "With few held-out families it is coarse: one respondent moves it by several points.",
        "Of the 95% intervals, [value] contained the held-out family's full score.",
    ),
    "parallel_reliability": (
        "It rises with the spread of the models, as every correlation does.",
        "The two short forms correlate by [value] over held-out families.",
    ),
}
"""Statistic -> when it misleads, and a sentence for a paper."""
