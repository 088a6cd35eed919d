"""A stand-in for OpenABM-Covid19 with its interface and memory layout, and no epidemic in it.

It lets the reading of memory, the isolation and the process around it be tested where the real
simulator is not installed. It writes its people and pairs as the real one does: records in one
block of memory, pairs as two interactions that point at each other's person.

`install(folder, variant)` writes modules `covid19` and `COVID19` that are this one.
"""

import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from dnatrace.simulators import _openabm_model as layout

DAYS_KEPT, WARDS = 8, 2
HOUSEHOLD_SIZE = 4


def install(folder, variant, *, flaw=""):
    """Write the two modules, for a path that is put before all others."""
    root = Path(__file__).parents[1]
    head = f"import sys; sys.path.append({str(root)!r})\n"
    (folder / "covid19.py").write_text(
        f"{head}from tests.fake_openabm import compiled as _c\n"
        f"globals().update(vars(_c({variant!r}, {flaw!r})))\n"
    )
    package = folder / "COVID19"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "model.py").write_text(
        "import covid19\nfrom tests.fake_openabm import Parameters\n"
        "Model = lambda parameters: covid19.build(parameters)\n"
    )


class Parameters:
    def __init__(self, *, input_households, output_file_dir, read_param_file=True):
        self.values = {}
        self.n_rows = len(Path(input_households).read_text().splitlines())

    def set_param(self, name, value):
        self.values[name] = value


def compiled(variant, flaw):
    """Return what the compiled module offers."""
    kept = {"interaction_blocks": None} if variant == "upstream" else {"interactions": None}
    return SimpleNamespace(
        model=SimpleNamespace(**kept),
        MAX_TIME=230,
        MAX_DAILY_INTERACTIONS_KEPT=DAYS_KEPT,
        N_HOSPITAL_WARD_TYPES=WARDS,
        build=lambda parameters: SimpleNamespace(c_model=Memory(variant, flaw, parameters)),
        one_time_step=lambda memory: memory.step(),
    )


def records(fields, n):
    """Return n zeroed records in memory that stays where it is."""
    return np.zeros(n, dtype=np.dtype(fields, align=True))


def at(array):
    return array.ctypes.data


class Memory:
    def __init__(self, variant, flaw, parameters):
        if flaw == "exits":
            os.write(1, b"Household sampling failed\n")
            os._exit(1)
        self.variant = variant
        upstream = variant == "upstream"
        n = int(parameters.values["n_total"])
        assert parameters.n_rows == 10_001
        assert parameters.values["infectious_rate"] == float(
            os.environ.get("EXPECTED_RATE", "5.75")
        )
        self.generator = np.random.default_rng(int(parameters.values["rng_seed"]))
        fields = layout._person_upstream(WARDS) if upstream else layout._person_fork(DAYS_KEPT)
        self.people = records(fields, n + 1)  # one spare, so that a wrong layout stays in memory
        self.people["idx"][:n] = np.arange(n)
        self.people["house_no"][:n] = np.arange(n) // HOUSEHOLD_SIZE
        self.people["age_group"][:n] = np.arange(n) % 9
        self.people["base_random_interactions"][:n] = self.people["random_interactions"][:n] = 3
        first = self.generator.permutation(n)[: int(parameters.values["n_seed_infection"])]
        self.people["status"][first] = 1
        if flaw == "shifted":
            self.people["idx"][3] = 4
        self.n = n
        self.population = at(self.people)
        self._lay_networks(upstream)

    def _lay_networks(self, upstream):
        one, other = (
            np.ravel(v) for v in np.meshgrid(np.arange(HOUSEHOLD_SIZE), np.arange(HOUSEHOLD_SIZE))
        )
        starts = np.arange(0, self.n, HOUSEHOLD_SIZE)[:, None]
        self.edges = records(layout._EDGE, starts.size * (one < other).sum())
        self.edges["id1"] = (starts + one[one < other]).ravel()
        self.edges["id2"] = (starts + other[one < other]).ravel()
        fields = layout._NETWORK_UPSTREAM if upstream else layout._NETWORK_FORK
        self.network = records(fields, 1)
        self.network["edges"], self.network["n_edges"] = at(self.edges), self.edges.size
        self.household_network = at(self.network)
        room = 20 * self.n
        self.interaction_idx = self.interaction_day_idx = 0
        self.pairs = records(
            layout._INTERACTION_UPSTREAM if upstream else layout._INTERACTION_FORK, room
        )
        self.interactions = at(self.pairs)
        # Two blocks in a chain, the second empty until the first is full.
        self.block = records(layout._BLOCK, 2)
        self.block["interactions"] = at(self.pairs), at(self.pairs[room // 2 :])
        self.block["next"][0] = self.block.ctypes.data + self.block.dtype.itemsize
        self.blocks = np.full(layout._DAYS_KEPT, at(self.block), dtype=np.uintp)
        self.interaction_blocks = at(self.blocks)

    def step(self):
        edges = self.edges[: int(self.network["n_edges"][0])]
        home = np.stack([edges["id1"], edges["id2"]])
        if self.variant == "upstream" and self.network["skip_quarantined"][0]:
            home = home[:, ~self.people["quarantined"].astype(bool)[home].any(axis=0)]
        slots = np.repeat(np.arange(self.n), self.people["random_interactions"][: self.n])
        slots = self.generator.permutation(slots)[: slots.size // 2 * 2].reshape(2, -1)
        chance = slots[:, slots[0] != slots[1]]
        self._write(np.hstack([home, chance]), np.repeat([0, 2], [home.shape[1], chance.shape[1]]))
        ill = self.people["status"][: self.n] > 0
        met = np.hstack([home, home[::-1], chance, chance[::-1]])
        newly = met[1][ill[met[0]] & (self.generator.random(met.shape[1]) < 0.1)]
        well = newly[self.people["status"][newly] == 0]
        self.people["status"][well] = 1

    def _write(self, ids, kinds):
        size = self.people.dtype.itemsize
        half = self.pairs.size // 2 if self.variant == "upstream" else self.pairs.size
        split = ids.shape[1] // 2 if self.variant == "upstream" else ids.shape[1]
        for part, begin in ((slice(0, split), 0), (slice(split, None), half)):
            n = ids[:, part].shape[1]
            written = self.pairs[begin : begin + 2 * n]
            written["person"][0::2] = self.population + ids[1, part] * size
            written["person"][1::2] = self.population + ids[0, part] * size
            written["type"] = np.repeat(kinds[part], 2)
        self.interaction_idx = 2 * ids.shape[1]
        self.block["used"] = 2 * split, 2 * (ids.shape[1] - split)
