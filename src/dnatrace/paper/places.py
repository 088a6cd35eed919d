"""Where the paper leaves room: every such place, its options, and the evidence for each.

Programs are those that the authors published: `dpfn_aaai` (the simulation, of the previous paper),
`dpfn_cpp` (its inference) and `dna` (training of the network only; the simulation with the network
is not published). Files and lines are those of their latest versions. The first option of a place
is our reading, which is the text of the paper where it says something.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dnatrace.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One way to read a place.

    Attributes:
        name: a short name, unique within its place.
        evidence: a sentence of the paper, or a line of a program, that supports it.
        overrides: changes to the configuration; keys that a method does not know are left out.
        only: further overrides for one method.
        swaps: which error rates are exchanged: "" none, "tests" in tests and in what phones believe
            about them, "beliefs" only in what phones believe.
        noise_share: the noise of `dna` as a share of what its stated sensitivity requires.
        metric: the number of the summaries that is compared with the published peak.
        group: the people over whom the areas under the curve are taken.
    """

    name: str
    evidence: str
    overrides: Mapping[str, Any] = field(default_factory=dict)
    only: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    swaps: str = ""
    noise_share: float = 1.0
    metric: str | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A place where the paper leaves room.

    Attributes:
        name: a short name.
        question: the question in words.
        options: the first is our reading.
        methods: the methods on whose numbers it is tried: `dpfn-s`, whose program is published,
            unless the place is about the network.
        of_areas: whether it changes only the areas under the curve, which need datasets.
    """

    name: str
    question: str
    options: tuple[Option, ...]
    methods: tuple[str, ...] = ("dpfn-s",)
    of_areas: bool = False

    def option(self, name: str) -> Option:
        """Return an option by name."""
        for option in self.options:
            if option.name == name:
                return option
        known = ", ".join(option.name for option in self.options)
        raise InputError(f"place '{self.name}' has no option '{name}'; there are {known}")


PLACES = (
    Place(
        name="isolation",
        question="How long, and from whom, do people with a positive test isolate?",
        options=(
            Option(name="text", evidence='paper: "for ten days, and no contacts occur"'),
            Option(
                name="programs",
                evidence="dpfn_aaai simulator.py:205-208: until day + 1 + 10; OpenABM-Covid19 "
                "leaves household contacts",
                overrides={"isolation.days": 11, "isolation.keeps_household": True},
            ),
        ),
    ),
    Place(
        name="score",
        question="Which belief ranks people?",
        options=(
            Option(name="I", evidence="paper, general update rule: F(D) = b(z_T = I)"),
            Option(
                name="E+I",
                evidence="dpfn_aaai compare_abm.py:274 adds both; but inference.py:331-332 "
                "leaves P(E) at 0 when noise is added to the score",
                overrides={"method.score": "exposed-or-infected"},
            ),
        ),
    ),
    Place(
        name="calibration",
        question="How does noise follow from ε and δ?",
        options=(
            Option(name="exact", evidence="paper, Algorithm 1: Balle and Wang, Algorithm 1"),
            Option(
                name="classical",
                evidence="paper, footnote of July 2026: points were made with the classical "
                "formula; dpfn_aaai util_dp.py:118",
                overrides={"privacy.calibration": "classical"},
            ),
            Option(
                name="renyi",
                evidence="dpfn_aaai compare_abm.py:69-71, for noise on days",
                overrides={"privacy.calibration": "renyi"},
            ),
        ),
    ),
    Place(
        name="dates",
        question="From which day on does a contact count?",
        options=(
            Option(name="next day", evidence="paper: contacts of day t change the state of t + 1"),
            Option(
                name="at once",
                evidence="dpfn_aaai simulator.py:188-192: contacts are dated the day before the "
                "tests of the same step",
                overrides={"seir.contacts_before_tests": True},
            ),
        ),
    ),
    Place(
        name="gamma",
        question="At which γ are messages clipped?",
        options=(
            Option(name="0.7", evidence="the paper does not state it; ours"),
            Option(
                name="1",
                evidence="dpfn_aaai model_ABM01.ini:19: not clipped at all",
                overrides={"method.gamma": 1.0},
            ),
            Option(
                name="0.2",
                evidence="none; the best for sound releases",
                overrides={"method.gamma": 0.2},
            ),
        ),
    ),
    Place(
        name="p1",
        question="What do phones believe a contact transmits?",
        options=(
            Option(name="0.03", evidence="dpfn_aaai model_ABM01.ini:3"),
            Option(
                name="0.02",
                evidence='paper: "p1, typically around 0.02"',
                overrides={"seir.transmission_per_contact": 0.02},
            ),
            Option(
                name="0.01",
                evidence="dna default.ini:30",
                overrides={"seir.transmission_per_contact": 0.01},
            ),
        ),
    ),
    Place(
        name="swabs",
        question="In which states is a test truly positive?",
        options=(
            Option(name="E or I", evidence="dpfn_aaai prequential.py:75"),
            Option(
                name="I",
                evidence="paper, observation model: only z = I",
                overrides={"tests.detects": "infected"},
            ),
        ),
    ),
    Place(
        name="capacity",
        question="How many people are tested per day?",
        options=(
            Option(name="8 %", evidence='paper: "the top 8 %"'),
            Option(
                name="10 %",
                evidence="dpfn_aaai intermediate_graph_abm_02.ini:9",
                overrides={"tests.capacity": 0.1},
            ),
        ),
    ),
    Place(
        name="network",
        question="What does the network read, and what was it trained for?",
        methods=("dna",),
        options=(
            Option(name="messages, I", evidence="paper: x = [μ, t], label one if I"),
            Option(
                name="own tests and age too, E or I",
                evidence="dna util_model.py:161 has a part for own tests; util_dataset.py:51-53 "
                "has ages, and line 71 counts E as infected",
                only={"dna": {"method.model": "dna"}},
            ),
        ),
    ),
    Place(
        name="weight",
        question="Is the network scaled by p1?",
        methods=("dna",),
        options=(
            Option(name="p1", evidence="paper, Algorithm 1; dna util_model.py:198"),
            Option(
                name="1",
                evidence="paper, Theorem 2 and the lemma after it speak of G without p1",
                only={"dna": {"method.network_weight": 1.0}},
            ),
        ),
    ),
    Place(
        name="noise of dna",
        question="Which p1 has the noise of DNA?",
        methods=("dna",),
        options=(
            Option(name="the model's", evidence="paper, Algorithm 1: γ·p1·(1 + 1/C)"),
            Option(
                name="0.01 beside 0.03",
                evidence="dna default.ini:30 has 0.01 where dpfn_aaai model_ABM01.ini:3 has 0.03: "
                "a third of the noise",
                noise_share=1.0 / 3.0,
            ),
        ),
    ),
    Place(
        name="adherence",
        question="Who does not follow the protocol?",
        options=(
            Option(name="person", evidence='paper: "up to 50 % of the agents don\'t follow"'),
            Option(
                name="event",
                evidence='paper: "agents don\'t adhere ... after a positive test"; no published '
                "program has it",
                overrides={"isolation.adherence_unit": "event"},
            ),
        ),
    ),
    Place(
        name="rates",
        question="Which of the two rates is which?",
        options=(
            Option(
                name="as written",
                evidence="dpfn_aaai util_experiments.py:472-481, prequential.py:75-77",
            ),
            Option(
                name="swapped",
                evidence="dpfn_aaai inference.py:215-216 and dpfn_cpp fn.hpp:406-407 call α the "
                "false positive rate",
                swaps="tests",
            ),
            Option(
                name="swapped in the model",
                evidence="the same lines, of inference alone",
                swaps="beliefs",
            ),
        ),
    ),
    Place(
        name="peak",
        question="Which peak?",
        methods=("dpfn-s", "dna"),
        options=(
            Option(
                name="I",
                evidence="dpfn_aaai compare_abm.py:354",
                metric="peak_infected",
            ),
            Option(
                name="I and asymptomatic",
                evidence="none in these programs; the simulator's authors count so",
                metric="peak_infected_with_asymptomatic",
            ),
            Option(
                name="E or I",
                evidence="dpfn_aaai compare_abm.py:657, for Covasim",
                metric="peak_exposed_or_infected",
            ),
        ),
    ),
    Place(
        name="training",
        question="Whose scores choose the tests of the runs that the network is trained on?",
        of_areas=True,
        options=(
            Option(
                name="dpfn-s", evidence='paper: "users get tested according to the estimated" score'
            ),
            Option(
                name="fn", evidence="dna util_dataset.py:19, 69: what is recorded is that of FN"
            ),
            Option(name="random", evidence='paper: tests "can be assigned randomly"'),
            Option(name="none", evidence="none; then nobody is tested"),
        ),
    ),
    Place(
        name="areas",
        question="Over whom are the areas under the curve taken?",
        of_areas=True,
        options=(
            Option(
                name="everybody",
                evidence="paper: the test set has the same protocol as training, per agent per "
                "time step",
                group="everybody",
            ),
            Option(
                name="not isolated",
                evidence="paper: 77.0 for FN, which isolated people, known to be positive, raise",
                group="not isolated",
            ),
        ),
    ),
)
BY_NAME = {place.name: place for place in PLACES}
