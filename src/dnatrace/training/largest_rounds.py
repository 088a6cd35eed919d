"""The decoder of `tally` for the largest beliefs after one exchange.

As `decoder_rounds`, with the capacities of `person_rounds` mixed, because messages decide where
tests are scarce, and without the days on which the epidemic is lost. The first runs are made under
the decoder that ships for messages of rounds.
"""

from dnatrace.methods.tally import DECODERS, TallyRelease
from dnatrace.networks.decoder import DEFAULT_DECODER
from dnatrace.training.decoder import Settings
from dnatrace.training.decoder_cases import ALARM
from dnatrace.training.decoder_rounds import Plan, Student, watch_tallies
from dnatrace.training.person_rounds import SCENARIOS

NAME = DECODERS[TallyRelease.LARGEST]

LARGEST = Plan(
    network=NAME,
    students=(Student(name=NAME, alarm=ALARM),),
    watch=watch_tallies,
    settings=Settings(most_noise=100.0),
    first_seed=23_001,
    epsilons=(1.0, 0.3, 4.0, 1.0, 0.1),
    scenarios=SCENARIOS,
    always={"method": "tally", "release": TallyRelease.LARGEST, "method.decoder": DEFAULT_DECODER},
    most_infected=0.02,
)
