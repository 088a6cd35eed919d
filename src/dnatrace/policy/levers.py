"""`levers`: tests for the highest scores and for symptoms, quarantine of several kinds, tracing.

Every lever is a file of its own with its own settings and budget, and is off by default; the levers
that are on are combined here. With all of them off this is `highest-scores`, bit for bit.
"""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from dnatrace.policy import stays
from dnatrace.policy.base import Evening, Ids, Measures, Policy, PolicySettings, Situation
from dnatrace.policy.highest_scores import HighestScores
from dnatrace.policy.household import Household, HouseholdSettings, Trigger
from dnatrace.policy.isolation import NEVER, IsolationRules
from dnatrace.policy.manual import Manual, ManualSettings
from dnatrace.policy.notification import Notification, NotificationSettings
from dnatrace.policy.quarantine import Quarantine, QuarantineSettings
from dnatrace.policy.release_tests import ReleaseTests, ReleaseTestsSettings
from dnatrace.policy.stays import Known, SendsHome
from dnatrace.policy.symptoms import Symptoms, SymptomsSettings
from dnatrace.privacy.release import Released
from dnatrace.records import Diary
from dnatrace.rng import Stream
from dnatrace.settings import Share, setting
from dnatrace.simulators.base import SimulatorSettings

_POSITIVE, _WAITING = "positive", "waiting"
_OPEN_END = np.iinfo(np.int32).max
_DIARY_DAYS = 14  # the number that decoders read


class LeversSettings(PolicySettings):
    """Tests and isolation as in `highest-scores`, and the levers that are switched on."""

    tests_at_home: ClassVar[bool] = True
    by_score: ClassVar[tuple[str, ...]] = ("quarantine",)
    name: Literal["levers"] = setting("levers", "who is tested and who isolates, and why")
    symptoms: SymptomsSettings = SymptomsSettings()
    household: HouseholdSettings = HouseholdSettings()
    quarantine: QuarantineSettings = QuarantineSettings()
    release_tests: ReleaseTestsSettings = ReleaseTestsSettings()
    manual: ManualSettings = ManualSettings()
    notification: NotificationSettings = NotificationSettings()
    most_tests: Share = setting(
        1.0, "share of the population tested per day in all: symptoms first, by score last"
    )
    most_quarantined: Share = setting(
        1.0,
        "share of the population at home at once for a reason other than their own positive "
        "result; beyond it, the highest scores are told; for other levers a lot decides",
    )

    @property
    def reads_contacts(self) -> bool:
        """Whether manual tracing or notifications learn who met whom."""
        return self.manual.is_on or self.notification.is_on

    @property
    def tells_of_cases(self) -> bool:
        """Whether contacts or housemates of a case are told of it."""
        return self.reads_contacts or self.household.is_on

    @property
    def told_of(self) -> str:
        """What it tells people of others, where it does."""
        if not self.household.is_on or self.household.trigger is Trigger.POSITIVE:
            return super().told_of
        at_home = "somebody they live with has symptoms, even of another illness"
        return (
            f"somebody they met tested positive, and {at_home}" if self.reads_contacts else at_home
        )

    def tells_of_cases_in(self, simulator: SimulatorSettings) -> bool:
        """Whether it does so with this simulator; without households nobody is told at home."""
        return self.reads_contacts or (self.household.is_on and simulator.has_households)

    @property
    def keeps_diary(self) -> bool:
        """Whether any lever is on."""
        return self.acts_alone or self.sends_home_by_score

    @property
    def sends_home_by_score(self) -> bool:
        """Whether the highest scores stay at home."""
        return self.quarantine.is_on

    @property
    def acts_alone(self) -> bool:
        """Whether a lever works without scores."""
        alone = (self.symptoms, self.household, self.release_tests, self.manual, self.notification)
        return any(lever.is_on for lever in alone)

    def notices(self, simulator: SimulatorSettings) -> list[str]:
        """Return which levers do nothing, or less than they say, and why."""
        told = []
        if self.household.is_on and not simulator.has_households:
            only_the_ill = self.household.trigger is Trigger.SYMPTOMS
            effect = "only the ill themselves stay at home" if only_the_ill else "no effect"
            told.append(f"household: {effect}: simulator '{simulator.name}' has no households")
        if self.manual.is_on and not any(self.manual.recall[list(simulator.kinds)]):
            kinds = ", ".join(kind.name.lower() for kind in simulator.kinds)
            told.append(
                f"manual: no effect: the meetings of simulator '{simulator.name}' are of kind "
                f"{kinds}, for which its share is 0"
            )
        ends = any(rules.is_on and rules.negative_ends for rules in self._stays)
        if self.release_tests.is_on and not ends:
            told.append("release_tests: no effect: no lever that is on has negative_ends")
        if self.quarantine.threshold is not None and not self.quarantine.is_on:
            told.append("quarantine.threshold: no effect: nobody is sent home by score")
        return told

    def idle(self) -> list[str]:
        """Return the settings of levers that are off, other than zeros, which switch them off."""
        others = ("household", "quarantine", "release_tests", "manual", "notification")
        off = [name for name in others if not getattr(self, name).is_on]
        return [
            f"{name}.{key}"
            for name in (off if self.symptoms.seen else ["symptoms", *off])
            for key, value in getattr(self, name)
            if value != 0
        ]

    @property
    def _stays(self) -> tuple[Any, ...]:
        return self.household, self.manual, self.notification, self.quarantine

    def budgets(self) -> list[tuple[str, float, str]]:
        """Return the budgets of the levers that are on."""
        symptoms, release, manual = self.symptoms, self.release_tests, self.manual
        by_score, home = self.quarantine, "nobody is sent home"
        stays_at_home = symptoms.waits_at_home or any(lever.is_on for lever in self._stays)
        found = (
            (symptoms.is_on, "symptoms.capacity", symptoms.capacity, "no tests for symptoms"),
            (release.is_on, "release_tests.capacity", release.capacity, "no tests for release"),
            (manual.is_on, "manual.capacity", manual.capacity, "nobody is asked whom they met"),
            (by_score.is_on, "quarantine.capacity", by_score.capacity, f"{home} by score"),
            (by_score.is_on, "quarantine.most_at_once", by_score.most_at_once, f"{home} by score"),
            (True, "most_tests", self.most_tests, "nobody is tested"),
            (stays_at_home, "most_quarantined", self.most_quarantined, home),
        )
        return [(key, share, then) for is_on, key, share, then in found if is_on]

    def build(self, isolation: IsolationRules, seed: int) -> Policy:
        """Return the policy of these settings."""
        senders: list[SendsHome] = []
        if self.household.is_on:
            senders.append(Household(rules=self.household))
        if self.manual.is_on:
            senders.append(Manual(rules=self.manual, seed=seed))
        if self.notification.is_on:
            senders.append(Notification(rules=self.notification, seed=seed))
        if self.quarantine.is_on:  # last, because it looks at who is at home already
            senders.append(Quarantine(rules=self.quarantine, seed=seed))
        return Levers(
            usual=HighestScores(rules=isolation, seed=seed),
            symptoms=Symptoms(settings=self.symptoms, seed=seed) if self.symptoms.is_on else None,
            release_tests=ReleaseTests(settings=self.release_tests, seed=seed)
            if self.release_tests.is_on
            else None,
            senders=tuple(senders),
            illness=Symptoms(settings=self.symptoms, seed=seed) if self.symptoms.seen else None,
            look_back=max(self.manual.look_back, self.notification.look_back),
            most_tests=self.most_tests,
            most_quarantined=self.most_quarantined,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeversState:
    """What the levers remember.

    Attributes:
        known: what all levers share.
        memories: the memory of each lever that sends people home, by name.
        quarantined: who is at home today for a reason other than their own positive result.
        diary: flags of the last days, uint8 [days, people], the newest last.
        told: who was told of a case the evening before, bool [people].
        n_told: how many people were asked today to be tested or to stay at home.
    """

    known: Known
    memories: dict[str, Any]
    quarantined: NDArray[np.bool_]
    diary: NDArray[np.uint8]
    told: NDArray[np.bool_]
    n_told: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Levers:
    """The levers that are on, applied one after another.

    A person stays at home as long as any reason lasts: reasons overlap, days at home are counted
    once. Nothing has consequences before the `start_day` of isolation.

    Attributes:
        usual: tests for the highest scores, isolation of positives.
        symptoms: tests of people with symptoms; None when off.
        release_tests: tests of people in quarantine; None when off.
        senders: the levers that send people home, in order.
        illness: draws other illness, which nobody can distinguish from this one; None for none.
        look_back: how many days of contacts are kept for levers that need them.
        most_tests: the largest share of people tested per day.
        most_quarantined: the largest share of people at home for a reason other than a positive
            result.
    """

    usual: HighestScores
    symptoms: Symptoms | None = None
    release_tests: ReleaseTests | None = None
    senders: tuple[SendsHome, ...] = field(default=())
    illness: Symptoms | None = None
    look_back: int = 7
    most_tests: float = 1.0
    most_quarantined: float = 1.0

    def start(self, n_people: int) -> LeversState:
        """Return a state in which nobody is at home."""
        free = np.zeros(n_people, dtype=np.bool_)
        reasons = (_POSITIVE, _WAITING, *(sender.name for sender in self.senders))
        known = Known(
            at_home=free,
            until={reason: stays.nobody(n_people) for reason in reasons},
            since=stays.nobody(n_people),
            releasable=free,
            positive_on=stays.nobody(n_people),
            tested_on=stays.nobody(n_people),
            days=(),
            room=n_people,
        )
        memories = {sender.name: sender.start() for sender in self.senders}
        blank = np.zeros((0, n_people), dtype=np.uint8)
        return LeversState(known=known, memories=memories, quarantined=free, diary=blank, told=free)

    def isolate(self, day: int, state: LeversState) -> tuple[NDArray[np.bool_], LeversState]:
        """Return who is at home for any reason, after those who give up have left."""
        known, until = state.known, dict(state.known.until)
        positive, until[_POSITIVE] = self.usual.isolate(day, until[_POSITIVE])
        kept = positive | (until[_WAITING] >= day)
        for sender in self.senders:
            stream = Stream(self.usual.seed, f"levers/{sender.name}/dropout")
            left = stays.drop_out(
                until[sender.name], day=day, dropout=sender.rules.dropout, stream=stream
            )
            until[sender.name] = left
            kept = kept | (left >= day) if not sender.rules.negative_ends else kept
        known = replace(known, until=until)
        at_home = known.stays(day)
        since = np.where(at_home, np.where(known.at_home, known.since, np.int32(day)), NEVER)
        known = replace(known, at_home=at_home, since=since, releasable=at_home & ~kept)
        quarantined = at_home & ~positive
        page = np.where(at_home, Diary.AT_HOME, 0) | np.where(state.told, Diary.TOLD, 0)
        page |= np.where(known.positive_on != NEVER, Diary.IMMUNE, 0)
        diary = np.concatenate([state.diary[1 - _DIARY_DAYS :], page[None].astype(np.uint8)])
        state = replace(state, known=known, quarantined=quarantined, diary=diary, n_told=0)
        return at_home, state

    def choose(
        self, released: Released, situation: Situation, state: LeversState
    ) -> tuple[Ids, LeversState]:
        """Return whom to test: for symptoms, for release, by score; each within its budget."""
        known, until = state.known, dict(state.known.until)
        n_people, asking = situation.eligible.size, np.empty(0, np.int64)
        room = stays.most_of(self.most_tests, n_people)
        if self.symptoms:
            asking = self.symptoms.choose(situation, known, room)
            until[_WAITING] = self._wait(self.symptoms, asking, situation.day, until)
        chosen = stays.mask_of(asking, n_people)
        if self.release_tests:
            left = room - int(chosen.sum())
            chosen[self.release_tests.choose(_but(situation, chosen), known, left)] = True
        left = min(situation.most_tests, room - int(chosen.sum()))
        others = replace(_but(situation, chosen), most_tests=left)
        by_score, _ = self.usual.choose(released, others, until[_POSITIVE])
        chosen[by_score] = True
        tested = np.flatnonzero(chosen)
        tested_on = known.tested_on.copy()
        tested_on[tested] = situation.day
        known = replace(known, until=until, tested_on=tested_on)
        diary = state.diary.copy()
        diary[-1:, asking] |= np.uint8(Diary.ASKED)
        return tested, replace(state, known=known, diary=diary, n_told=by_score.size)

    def diary(self, state: LeversState) -> NDArray[np.uint8]:
        """Return what people know about their last days."""
        return state.diary

    def _wait(
        self, symptoms: Symptoms, asking: Ids, day: int, until: dict[str, NDArray[np.int32]]
    ) -> NDArray[np.int32]:
        """Return the last days of waiting, open-ended for people who await a result at home."""
        if day < self.usual.rules.start_day:
            return until[_WAITING]
        stream = Stream(self.usual.seed, "levers/waiting/lot")
        waiting = symptoms.waits(asking, day)
        begun = until[_WAITING].copy()
        begun[stays.by_lot(waiting, self._room(until, day), day=day, stream=stream)] = _OPEN_END
        return begun

    def _room(self, until: dict[str, NDArray[np.int32]], day: int) -> int:
        """Return how many more may be sent home on a day, whoever at home turns out positive.

        A stay can only end earlier than planned, so what holds for tomorrow holds for all days
        after it.
        """
        others = [last > day for reason, last in until.items() if reason != _POSITIVE]
        most = stays.most_of(self.most_quarantined, others[0].size)
        return most - int(np.logical_or.reduce(others).sum())

    def respond(self, positives: Ids, day: int, state: LeversState) -> LeversState:
        """Return the state after positives were admitted to isolation."""
        until = dict(state.known.until)
        until[_POSITIVE] = self.usual.respond(positives, day, until[_POSITIVE])
        positive_on = state.known.positive_on.copy()
        positive_on[positives] = day
        return replace(state, known=replace(state.known, until=until, positive_on=positive_on))

    def follow_up(self, evening: Evening, state: LeversState) -> LeversState:
        """Return the state after results have ended stays and levers have sent people home."""
        known, memories, n_told = self._results(evening, state.known), dict(state.memories), 0
        of_cases = np.zeros(evening.alive.size, dtype=np.bool_)
        if self.illness is not None:
            ill = self.illness.ill(evening.onsets, evening.day)
            evening = replace(evening, onsets=ill)
        if evening.contacts is not None:
            days = (*known.days, evening.contacts)
            known = replace(known, days=days[-self.look_back :])
        for sender in self.senders:
            known = replace(known, room=self._room(known.until, evening.day))
            told, memories[sender.name] = sender.tell(evening, known, memories[sender.name])
            if evening.day < self.usual.rules.start_day:
                continue
            told = self._within(told, sender, known, evening.day)
            stream = Stream(self.usual.seed, f"levers/{sender.name}/adherence")
            begun = stays.begin(
                known.until[sender.name], told, day=evening.day, rules=sender.rules, stream=stream
            )
            known = replace(known, until=known.until | {sender.name: begun})
            n_told += told.size
            if sender.name != Quarantine.name:  # a high score does not tell of a case
                of_cases[told] = True
        n_told += state.n_told
        return replace(state, known=known, memories=memories, told=of_cases, n_told=n_told)

    def _within(self, told: Ids, sender: SendsHome, known: Known, day: int) -> Ids:
        """Return who is told: those already in quarantine, and others by lot, if there is room."""
        if self.most_quarantined >= 1.0:
            return told
        others = [last for reason, last in known.until.items() if reason != _POSITIVE]
        stays_anyway = np.max(others, axis=0) > day
        new = told[~stays_anyway[told]]
        stream = Stream(self.usual.seed, f"levers/{sender.name}/lot")
        drawn = stays.by_lot(new, known.room, day=day, stream=stream)
        return np.sort(np.concatenate([told[stays_anyway[told]], drawn]))

    def _results(self, evening: Evening, known: Known) -> Known:
        """End the waiting of people with a result, and the stays that a negative result ends."""
        until, day = dict(known.until), evening.day
        results = np.concatenate([evening.positives, evening.negatives])
        until[_WAITING] = stays.end(until[_WAITING], results, day=day)
        for sender in self.senders:
            if sender.rules.negative_ends:
                until[sender.name] = stays.end(until[sender.name], evening.negatives, day=day)
        return replace(known, until=until)

    def measures(self, state: LeversState) -> Measures:
        """Return who was in quarantine today, and how many people were told anything."""
        return Measures(quarantined=state.quarantined, notices=state.n_told)


def _but(situation: Situation, chosen: NDArray[np.bool_]) -> Situation:
    """Return a situation in which people already chosen cannot be chosen again."""
    return replace(
        situation,
        eligible=situation.eligible & ~chosen,
        reachable=situation.reachable & ~chosen,
    )
