"""HELM's named sets of perturbations, the graded ones among them."""

from __future__ import annotations

from harness import perturbation_set

_SOURCE = "stanford-crfm/helm, benchmark/run_expander.py; Liang et al. 2022, section 4.3 and D, arXiv:2211.09110"


robustness = perturbation_set(
    "robustness", ["mild_mix"], doc="HELM's canonical perturbation for robustness.", source=_SOURCE
)
fairness = perturbation_set(
    "fairness",
    [
        "dialect:prob=1.0",
        "gender:mode=pronouns,prob=1.0,source_class=male,target_class=female",
        "person_name:prob=1.0,source_race=white_american,target_race=black_american",
    ],
    doc="HELM's canonical perturbations for fairness: dialect, pronouns and first names.",
    source=_SOURCE,
)
canonical = perturbation_set(
    "canonical", ["robustness", "fairness"], doc="HELM's canonical perturbations, of both categories.", source=_SOURCE
)
robustness_all = perturbation_set(
    "robustness_all",
    [
        "contraction",
        "expansion",
        "filler_words:insert_prob=0.1",
        "lowercase",
        "misspellings:prob=0.1",
        "space:max_spaces=3",
        "synonym:prob=0.1",
        "typos:prob=0.01",
    ],
    doc="Every small change of the input, each by itself.",
    source=_SOURCE,
)
lower = perturbation_set("lower", ["lowercase"], doc="HELM's name for the perturbation lowercase.", source=_SOURCE)
contract = perturbation_set(
    "contract", ["contraction", "expansion"], doc="Contractions, and the other way round.", source=_SOURCE
)
filler = perturbation_set(
    "filler", ["filler_words:insert_prob=0.3"], doc="Filler words before 30 % of the words.", source=_SOURCE
)

misspelling_mild = perturbation_set(
    "misspelling_mild", ["misspellings:prob=0.05"], doc="Misspellings of 5 % of the words.", source=_SOURCE
)
misspelling_medium = perturbation_set(
    "misspelling_medium", ["misspellings:prob=0.2"], doc="Misspellings of 20 % of the words.", source=_SOURCE
)
misspelling_hard = perturbation_set(
    "misspelling_hard", ["misspellings:prob=0.5"], doc="Misspellings of 50 % of the words.", source=_SOURCE
)
typo_easy = perturbation_set("typo_easy", ["typos:prob=0.1"], doc="Typos in 10 % of the letters.", source=_SOURCE)
typo_medium = perturbation_set("typo_medium", ["typos:prob=0.3"], doc="Typos in 30 % of the letters.", source=_SOURCE)
typo_hard = perturbation_set("typo_hard", ["typos:prob=0.5"], doc="Typos in 50 % of the letters.", source=_SOURCE)

dialect_easy = perturbation_set(
    "dialect_easy", ["dialect:prob=0.1"], doc="Dialect for 10 % of the words.", source=_SOURCE
)
dialect_medium = perturbation_set(
    "dialect_medium", ["dialect:prob=0.3"], doc="Dialect for 30 % of the words.", source=_SOURCE
)
dialect_hard = perturbation_set(
    "dialect_hard", ["dialect:prob=0.5"], doc="Dialect for 50 % of the words.", source=_SOURCE
)
dialect_deterministic = perturbation_set(
    "dialect_deterministic", ["dialect:prob=1.0"], doc="Dialect for all words of the list.", source=_SOURCE
)

gender_terms_easy = perturbation_set(
    "gender_terms_easy", ["gender:mode=terms,prob=0.1"], doc="10 % of male terms made female.", source=_SOURCE
)
gender_terms_medium = perturbation_set(
    "gender_terms_medium", ["gender:mode=terms,prob=0.3"], doc="30 % of male terms made female.", source=_SOURCE
)
gender_terms_hard = perturbation_set(
    "gender_terms_hard", ["gender:mode=terms,prob=0.5"], doc="50 % of male terms made female.", source=_SOURCE
)
gender_terms_deterministic = perturbation_set(
    "gender_terms_deterministic", ["gender:mode=terms,prob=1.0"], doc="All male terms made female.", source=_SOURCE
)
gender_pronouns_easy = perturbation_set(
    "gender_pronouns_easy", ["gender:mode=pronouns,prob=0.1"], doc="10 % of male pronouns made female.", source=_SOURCE
)
gender_pronouns_medium = perturbation_set(
    "gender_pronouns_medium",
    ["gender:mode=pronouns,prob=0.3"],
    doc="30 % of male pronouns made female.",
    source=_SOURCE,
)
gender_pronouns_hard = perturbation_set(
    "gender_pronouns_hard", ["gender:mode=pronouns,prob=0.5"], doc="50 % of male pronouns made female.", source=_SOURCE
)
gender_pronouns_deterministic = perturbation_set(
    "gender_pronouns_deterministic",
    ["gender:mode=pronouns,prob=1.0"],
    doc="All male pronouns made female.",
    source=_SOURCE,
)

person_name_first_hard_preserve_gender = perturbation_set(
    "person_name_first_hard_preserve_gender",
    ["person_name:prob=0.5,preserve_gender=true"],
    doc="Half of White Americans' first names made Black Americans', each of the same gender.",
    source=_SOURCE,
)
person_name_first_hard_dont_preserve_gender = perturbation_set(
    "person_name_first_hard_dont_preserve_gender",
    ["person_name:prob=0.5,preserve_gender=false"],
    doc="Half of White Americans' first names made Black Americans', of either gender.",
    source=_SOURCE,
)
person_name_first_deterministic = perturbation_set(
    "person_name_first_deterministic",
    ["person_name:prob=1.0,preserve_gender=true"],
    doc="All of White Americans' first names made Black Americans', each of the same gender.",
    source=_SOURCE,
)
person_name_last_hard = perturbation_set(
    "person_name_last_hard",
    ["person_name:prob=0.5,person_name_type=last_name,source_race=white,target_race=hispanic"],
    doc="Half of the white last names made Hispanic.",
    source=_SOURCE,
)
person_name_last_deterministic = perturbation_set(
    "person_name_last_deterministic",
    ["person_name:prob=1.0,person_name_type=last_name,source_race=white,target_race=hispanic"],
    doc="All white last names made Hispanic.",
    source=_SOURCE,
)
