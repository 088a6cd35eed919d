"""The methods by name. A new one is a file beside this one and a line here."""

from dnatrace.methods.base import MethodSettings
from dnatrace.methods.bp import BpSettings
from dnatrace.methods.chance import NoneSettings, RandomSettings
from dnatrace.methods.dna import DnaSettings
from dnatrace.methods.dpfn import DpfnSettings
from dnatrace.methods.dpfn_s import DpfnSSettings
from dnatrace.methods.fn import FnSettings
from dnatrace.methods.headcount import HeadcountSettings
from dnatrace.methods.one_round import OneRoundSettings
from dnatrace.methods.oracle import OracleSettings
from dnatrace.methods.per_message import PerMessageSettings
from dnatrace.methods.public_facts import PublicFactsSettings
from dnatrace.methods.public_only import PublicOnlySettings
from dnatrace.methods.tally import TallySettings
from dnatrace.methods.traditional import TraditionalSettings
from dnatrace.plugins import Catalogue

METHODS: Catalogue[MethodSettings] = Catalogue(
    MethodSettings,  # type: ignore[type-abstract]
    "dnatrace.methods",
    (
        NoneSettings,
        RandomSettings,
        OracleSettings,
        PublicOnlySettings,
        FnSettings,
        OneRoundSettings,
        BpSettings,
        TraditionalSettings,
        PerMessageSettings,
        DpfnSettings,
        DpfnSSettings,
        DnaSettings,
        TallySettings,
        PublicFactsSettings,
        HeadcountSettings,
    ),
    own=("release",),
)
