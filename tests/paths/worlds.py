# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small world around the executor's core, and a search through everything that can happen in it.

The executor keeps nothing in mind between two steps, so to kill it anywhere is to take the next step: each path has all kills in it.
What a bystander would have noted of the host (what is in service, what was begun and not undone) is kept beside what the core knows.

The search is made quick by three things. Alike records are one object with a number, so that a world is a small tuple. What nothing can
depend on any more is wiped out of a record (`_plain`). And the unkind moves (see DISTURBANCES) can be counted: a scenario says how many
of them a path has at most, and worlds are visited with the most left over first, so that each is visited once.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from random import Random
from typing import Callable, Deque, Dict, FrozenSet, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from ansible_collections.cloud_maintenance.azure.plugins.module_utils._decision import Times
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import Event
from azure_event_handlers import asked, reconcile
from azure_event_handlers import records as r
from azure_event_handlers.errors import RefusedError
from azure_event_handlers.reconcile import Discard, Facts, Run, Save, Stop, Unit
from azure_event_handlers.records import Driver, Record, Step, Work
from azure_event_handlers.terms import Moment, Term

NOW = 1000.0
FAR, NEAR = NOW + 1_000_000, NOW + 60
LATER = NOW + 1
AT = Moment(NOW, NOW, "")
VM = "11111111-0000-4000-8000-000000000000"
PLAYBOOK = Driver("playbook", "run 1", Term(NOW + 600))
LOST = replace(PLAYBOOK, lease=Term(NOW - 1))
# Who comes after one that is lost.
SECOND = replace(PLAYBOOK, run="run 2")
DRIVERS = (PLAYBOOK, SECOND)
LIMIT = 30.0

# What can go against the plan.
NOT_YET, FAILS, OVERRUNS, REBOOT = "a handler says not yet", "a handler fails", "a handler takes too long", "the machine stops"
IS_LOST, LETS_GO, TOO_LATE = "the driver is not heard of again", "the driver lets go", "the time to prepare is over"
COMES_NEAR, HELD, RELEASED, FORCED = "NotBefore comes near", "the host is held", "a person gives it back", "a person forces it back"
PUT_BACK, COMMIT_AGAIN = "a person puts it back by hand", "a commit is asked for once more"
TAKEN_OVER = "another run takes it over"
DISTURBANCES = (
    *(NOT_YET, FAILS, OVERRUNS, REBOOT, IS_LOST, LETS_GO, TOO_LATE, COMES_NEAR, HELD, RELEASED, FORCED, PUT_BACK, COMMIT_AGAIN),
    TAKEN_OVER,
)

# The same object in every step that nothing was done for.
UNTOUCHED: Work = Step("", "", LIMIT, True).prepare

# Of a unit, beside the exit code of one that ended.
KILLED, RUNNING, FOR_TOO_LONG = -1, -2, -3
CANNOT_TELL = 64
# A preparation that found the handler's work out of service already; and by nobody's doing of ours.
RUNNING_WAS_OUT, RUNNING_WAS_THEIRS = -4, -5
AT_WORK = frozenset((RUNNING, FOR_TOO_LONG, RUNNING_WAS_OUT, RUNNING_WAS_THEIRS))

Records = Tuple[int, ...]
Units = Tuple[Tuple[str, int], ...]
Names = FrozenSet[str]


@dataclass(frozen=True)
class Scenario:
    """Which events there are and with which handlers, what may disturb them, and how often a path is disturbed.

    theirs: handlers whose work somebody took out of service before. inspects: whether handlers can tell if their work is in service.
    """

    handlers: Mapping[str, Tuple[str, ...]]
    disturbances: Tuple[str, ...] = ()
    most: int = 99
    reboots: int = 1
    tries: int = 1
    attempts: int = 2
    theirs: Names = frozenset()
    inspects: bool = True


class World(NamedTuple):
    """What is durable, what runs, and what a bystander would have noted.

    dirty: handlers that were begun and not undone. serving: those whose work is in service. used: units of this boot that would be
    begun once more. completed: runs that ended well, by record, attempt, handler and phase. unseen: those that a person has put back
    since a committed host was last looked at, by record and handler.
    """

    records: Records
    units: Units = ()
    boot: int = 0
    held: bool = False
    dirty: Names = frozenset()
    serving: Names = frozenset()
    used: Names = frozenset()
    completed: Names = frozenset()
    unseen: Names = frozenset()


# --- what nothing can depend on ------------------------------------------------------------------------------------------


def _plain(record: Record) -> Record:
    """Without the times and words that nothing depends on, and what is done with, so that alike is equal."""
    record = replace(record, reason="", changed_at=0.0, last_seen=0.0, first_seen=0.0, started_at=None, gone_at=None)
    if record.state == r.COMMITTED:
        record = replace(record, commit_refused=None if record.commit_refused is None else "no")
    else:
        record = replace(record, commit_refused=None, given_to=())
    if record.state == r.CLOSED:
        over = replace(record, steps=(), driver=None, times=None, deadline=None, attempt=0, committing=False)
        return replace(over, view=r.GONE, event=_event(record.event.event_id), started_seen=False, hit_ready=None, result="over")
    if record.state not in (r.PREPARING, r.PREPARED, r.COMMITTED):
        record = replace(record, driver=None, deadline=None)
    if record.state == r.RECOVERING:
        record = replace(record, started_seen=False)
    if record.state in (r.IMPACT, r.RECOVERING):
        record = replace(record, hit_ready=None)
        return replace(record, times=None, steps=tuple(_last_step(step) for step in record.steps))
    return replace(record, steps=tuple(_plain_step(step) for step in record.steps))


def _plain_step(step: Step) -> Step:
    works = {phase: _plain_work(step.work(phase), phase) for phase in r.PHASES}
    return Step(step.handler, step.file, step.limit, step.required, **works)


def _plain_work(work: Work, phase: str) -> Work:
    if work is UNTOUCHED:
        return work
    if work.progress == r.ENDED and phase != r.CHECK:
        return Work(progress=r.ENDED, outcome=work.outcome)
    boot = work.boot if work.progress == r.INTENDED else ""
    later = LATER if work.not_before > NOW else 0.0
    return Work(work.progress, work.outcome, tries=work.tries, interrupted=work.interrupted, boot=boot, not_before=later)


def _last_step(step: Step) -> Step:
    """Of an event that was: whether there is something to undo, and how far that is."""
    kept = _plain_step(step)
    if any(kept.work(phase).progress == r.INTENDED for phase in (r.INSPECT, r.PREPARE, r.CHECK)):
        return kept
    bare = Step(step.handler, step.file, step.limit, step.required)
    done = Work(progress=r.ENDED, outcome=r.DONE)
    return replace(bare, prepare=done, recover=kept.recover) if step.claimed else bare


# --- the search ----------------------------------------------------------------------------------------------------------


class Search:
    """Everything that can happen in a scenario, and what must be so in all of it."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.every: Names = frozenset(name for names in scenario.handlers.values() for name in names)
        self._numbers: Dict[Record, int] = {}
        self._known: List[Record] = []
        self._actions: Dict[Tuple[Records, Units, int, bool], Optional[reconcile.Action]] = {}
        self._names_of: Dict[int, Names] = {}
        self._runs_of: Dict[int, Names] = {}
        self._memories: Dict[Records, Tuple[Names, Names]] = {}
        self._passed: Dict[int, int] = {}
        self._saved_as: Dict[int, int] = {}
        self._work: Dict[Tuple[Records, str], Optional[reconcile.Place]] = {}
        self._keys: List[str] = []
        self._asked: Dict[int, List[Tuple[Optional[str], int]]] = {}

    # Records and their numbers.

    def number(self, record: Record) -> int:
        kept = _plain(record)
        number = self._numbers.get(kept)
        if number is None:
            number = self._numbers[kept] = len(self._known)
            self._known.append(kept)
        return number

    def records(self, world: World) -> List[Record]:
        return [self._known[number] for number in world.records]

    def having(self, world: World, place: int, number: int) -> World:
        """The world with another record, without the memories that can play no part any more."""
        records = world.records[:place] + (number,) + world.records[place + 1 :]
        if records not in self._memories:
            names, runs = map(self._names, records), map(self._runs, records)
            self._memories[records] = frozenset().union(*names), frozenset().union(*runs)
        names_left, runs_left = self._memories[records]
        used, completed = world.used & names_left, world.completed & runs_left
        unseen = world.unseen and world.unseen & self._words(records)
        return World(records, world.units, world.boot, world.held, world.dirty, world.serving, used, completed, unseen)

    def _names(self, number: int) -> Names:
        """The units that the next runs of this record would be."""
        if number not in self._names_of:
            record = self._known[number]
            places = [(record, index, phase) for index, step in enumerate(record.steps) for phase in r.PHASES if not step.work(phase).over]
            self._names_of[number] = frozenset(r.unit_of(*place) for place in places)
        return self._names_of[number]

    def _words(self, records: Records) -> Names:
        """What a person can do behind the back of a host that has given its word."""
        known = [self._known[number] for number in records]
        return frozenset(_behind(record, handler) for record in known if record.state == r.COMMITTED for handler in self.every)

    def _runs(self, number: int) -> Names:
        """What a record can still be asked to begin."""
        if number not in self._runs_of:
            record = self._known[number]
            phases = (r.RECOVER,) if record.state in (r.IMPACT, r.RECOVERING) else (r.PREPARE, r.RECOVER)
            self._runs_of[number] = frozenset(_completed(record, index, phase) for index in range(len(record.steps)) for phase in phases)
        return self._runs_of[number]

    def begin(self) -> World:
        numbers = [self.number(Record(_event(event_id), 1, VM)) for event_id in sorted(self.scenario.handlers)]
        # By key, as the core sorts them.
        numbers.sort(key=lambda number: self._known[number].key)
        self._keys = [self._known[number].key for number in numbers]
        return World(tuple(numbers), serving=self.every - self.scenario.theirs)

    # The executor's step.

    def action(self, world: World) -> Optional[reconcile.Action]:
        seen = (world.records, world.units, world.boot, world.held)
        if seen not in self._actions:
            units = {name: _unit(state) for name, state in world.units}
            facts = Facts(now=NOW, boot=str(world.boot), vm_id=VM, units=units, held=world.held)
            self._actions[seen] = reconcile.next_action({record.key: record for record in self.records(world)}, facts)
        return self._actions[seen]

    def stepped(self, world: World) -> Optional[World]:
        action = self.action(world)
        if action is None:
            return None
        if isinstance(action, Save):
            return self._saved(world, action)
        if isinstance(action, Run):
            return self._ran(world, action)
        units = dict(world.units)
        if isinstance(action, Stop):
            assert units[action.unit] in AT_WORK
            return self.ended(world, action.unit, KILLED)
        if isinstance(action, Discard):
            assert units.pop(action.unit) not in AT_WORK
        return world._replace(units=tuple(sorted(units.items())))

    def _saved(self, world: World, action: Save) -> World:
        place = self._place(action.record.key)
        before, after = self._known[world.records[place]], action.record
        if after.state == r.COMMITTED and before.state != r.COMMITTED:
            self._check_commit(world, before, after)
        if after.state == r.CLOSED:
            assert not any(step.claimed for step in after.steps), "closed, and something of ours is not undone"
            assert after.gone, "closed before it was gone"
            assert after.result is not None, "closed without a result"
        if before.state == r.COMMITTED:
            assert after.state in (r.COMMITTED, r.IMPACT, r.RECOVERING), "a binding yes is taken back"
            assert set(after.given_to) >= set(before.given_to), "it is forgotten who may have posted"
            if before.committing and not after.committing and after.view == r.SCHEDULED:
                world = self._answered(world, after)
        # Actions are kept, so each is the same one for ever.
        if id(action) not in self._saved_as:
            self._saved_as[id(action)] = self.number(after)
        moved = self.having(world, place, self._saved_as[id(action)])
        assert moved != world, "a step that changes nothing goes on for ever: %s" % action.why
        return moved

    def _answered(self, world: World, after: Record) -> World:
        """A host that has given its word was looked at once more; from now on a person can put it back behind everybody's back again."""
        if _may_send(after, DRIVERS):
            self._check_word(world, after)
            self._check_out_of_service(world, after)
        return world._replace(unseen=world.unseen - {_behind(after, handler) for handler in self.every})

    def _check_commit(self, world: World, before: Record, after: Record) -> None:
        assert before.state == r.PREPARED, "committed from %s" % before.state
        assert before.view == r.SCHEDULED, "committed when the event is %s" % before.view
        self._check_word(world, before)
        self._check_out_of_service(world, after)

    def _check_word(self, world: World, record: Record) -> None:
        assert not world.held, "committed while held"
        assert record.driver is not None, "committed for nobody"
        assert record.driver.lease.until >= NOW, "committed for one who is not there any more"

    def _check_out_of_service(self, world: World, record: Record) -> None:
        serving = [step.handler for step in record.steps if step.handler in world.serving]
        assert not serving, "an approval of a host in service: %s" % serving

    def _ran(self, world: World, action: Run) -> World:
        record = self._known[world.records[self._place(action.key)]]
        step = record.steps[action.index]
        handler, work = step.handler, step.work(action.phase)
        assert not any(state in AT_WORK for _name, state in world.units), "two handlers at the same time"
        assert action.unit not in world.used, "the name of a unit is used twice in one boot"
        assert work.progress == r.INTENDED, "no intent was written"
        assert work.interrupted <= world.boot, "more cut runs than reboots"
        done = _completed(record, action.index, action.phase)
        assert done not in world.completed or work.interrupted, "a handler is started again that did not ask for it"
        state, dirty, serving = RUNNING, world.dirty, world.serving
        if action.phase == r.PREPARE:
            assert record.view == r.SCHEDULED, "prepared when the event is %s" % record.view
            spared = step.inspect.outcome == r.DONE and handler not in serving and handler not in dirty
            assert not spared, "a drain by hand is taken for ours"
            if handler not in serving:
                state = RUNNING_WAS_OUT if handler in dirty else RUNNING_WAS_THEIRS
            # From its first moment it may have had its effect.
            dirty, serving = dirty | {handler}, serving - {handler}
        if action.phase == r.RECOVER:
            self._check_recovery(world, record, action)
        units = tuple(sorted([*world.units, (action.unit, state)]))
        unseen = world.unseen if action.phase != r.PREPARE else world.unseen - {_behind(one, handler) for one in self.records(world)}
        return world._replace(units=units, used=world.used | {action.unit}, dirty=dirty, serving=serving, unseen=unseen)

    def _check_recovery(self, world: World, record: Record, action: Run) -> None:
        step = record.steps[action.index]
        # A recovery that ended as the machine stopped is run once more: nobody has written that it was done.
        assert step.handler in world.dirty or step.recover.interrupted, "what is not ours is undone"
        for other in self.records(world):
            if other is record or other.gone:
                continue
            assert not other.claims(step.handler), "a host is put back under another event"
            counting = other.step_of(step.handler) if other.state in (r.PREPARED, r.COMMITTED) else None
            assert counting is None or not counting.ready, "a host is put back under another event that counts on it"
        assert not any(later.claimed for later in record.steps[action.index + 1 :]), "not in reverse order"

    def _place(self, key: str) -> int:
        return self._keys.index(key)

    # What the world may do; each move with the disturbance that it is.

    def moves(self, world: World) -> Iterator[Tuple[Optional[str], World]]:
        stepped = self.stepped(world)
        if stepped is not None:
            yield None, stepped
        yield from self._handlers_end(world)
        passed = self.time_passed(world)
        if passed is not None:
            yield None, passed
        if world.boot < self.scenario.reboots:
            yield REBOOT, self._rebooted(world)
        if HELD in self.scenario.disturbances:
            yield HELD, world._replace(held=not world.held)
        for place, number in enumerate(world.records):
            for disturbance, asked_for in self._requests(number):
                yield disturbance, self.having(self._handed_on(world, number, asked_for), place, asked_for)
        yield from self._put_back(world)

    def _handed_on(self, world: World, before: int, after: int) -> World:
        """Who takes a host over has to have it looked at himself."""
        one, other = self._known[before].driver, self._known[after].driver
        if not world.unseen or one is None or other is None or one.is_same(other):
            return world
        return world._replace(unseen=world.unseen - {_behind(self._known[before], handler) for handler in self.every})

    def _rebooted(self, world: World) -> World:
        """Of what was about to begin nobody can tell afterwards whether it had begun, so it counts as begun."""
        intended = reconcile._intended(self.records(world))
        maybe = {record.steps[index].handler for record, index, phase in intended if phase == r.PREPARE}
        return world._replace(units=(), boot=world.boot + 1, used=frozenset(), dirty=world.dirty | maybe)

    def _put_back(self, world: World) -> Iterator[Tuple[Optional[str], World]]:
        """By hand and in the middle; behind the back of one that has just looked nobody can know, until the next one looks."""
        looking = any(record.committing for record in self.records(world))
        if looking or not any(record.state in (r.PREPARED, r.COMMITTED) for record in self.records(world)):
            return
        for handler in sorted(world.dirty - world.serving):
            behind = {_behind(record, handler) for record in self.records(world) if record.state == r.COMMITTED}
            yield PUT_BACK, world._replace(serving=world.serving | {handler}, unseen=world.unseen | behind)

    def _handlers_end(self, world: World) -> Iterator[Tuple[Optional[str], World]]:
        for name, state in world.units:
            if state in AT_WORK:
                place = self.work_of(world, name)
                if place is None:
                    continue  # Nobody waits for it any more, and it is stopped.
                record, index, phase = place
                for disturbance, code in self._codes(world, record.steps[index], phase, state):
                    yield disturbance, self.ended(world, name, code)
                if state != FOR_TOO_LONG and record.steps[index].work(phase).tries < self.scenario.tries:
                    yield OVERRUNS, world._replace(units=tuple(sorted({**dict(world.units), name: FOR_TOO_LONG}.items())))

    def _codes(self, world: World, step: Step, phase: str, state: int) -> Iterator[Tuple[Optional[str], int]]:
        again = step.work(phase).tries < self.scenario.tries
        if phase in (r.INSPECT, r.CHECK):
            tells = reconcile.IN_SERVICE if step.handler in world.serving else 0
            yield None, tells if self.scenario.inspects else CANNOT_TELL
            return
        yield None, 0
        if phase == r.PREPARE:
            if state in (RUNNING_WAS_OUT, RUNNING_WAS_THEIRS):
                yield None, reconcile.WAS_SO
            yield FAILS, 1
        if again:
            yield (NOT_YET, reconcile.NOT_YET) if phase == r.PREPARE else (FAILS, 1)

    def ended(self, world: World, name: str, code: int) -> World:
        units = tuple(sorted({**dict(world.units), name: code}.items()))
        dirty, serving, completed = world.dirty, world.serving, world.completed
        place = self.work_of(world, name)
        if place is None:
            return world._replace(units=units)
        record, index, phase = place
        handler, state = record.steps[index].handler, dict(world.units)[name]
        if phase == r.PREPARE and code == reconcile.WAS_SO and state == RUNNING_WAS_THEIRS:
            dirty = dirty - {handler}
        if phase == r.RECOVER and code == 0:
            dirty, serving = dirty - {handler}, serving | {handler}
        if (phase == r.PREPARE and code != reconcile.NOT_YET) or (phase == r.RECOVER and code == 0):
            completed = completed | {_completed(record, index, phase)}
        return world._replace(units=units, dirty=dirty, serving=serving, completed=completed)

    def work_of(self, world: World, name: str) -> Optional[reconcile.Place]:
        """None: nobody waits for it any more, as for a look at the host when another one is asked for."""
        asked_for = (world.records, name)
        if asked_for not in self._work:
            intended = reconcile._intended(self.records(world))
            self._work[asked_for] = next((place for place in intended if r.unit_of(*place) == name), None)
        return self._work[asked_for]

    def time_passed(self, world: World) -> Optional[World]:
        """All that waits for its time has waited."""
        moved = tuple(self._passed[number] if number in self._passed else self._let_pass(number) for number in world.records)
        return world._replace(records=moved) if moved != world.records else None

    def _let_pass(self, number: int) -> int:
        self._passed[number] = self.number(_without_waiting(self._known[number]))
        return self._passed[number]

    def _requests(self, number: int) -> List[Tuple[Optional[str], int]]:
        if number not in self._asked:
            record = self._known[number]
            found = [(word, self.number(after)) for word, after in (*_event_moves(record), *self._driver_moves(record))]
            self._asked[number] = [(word, after) for word, after in found if after != number]
        return self._asked[number]

    def _driver_moves(self, record: Record) -> Iterator[Tuple[Optional[str], Record]]:
        times = Times(record.event.not_before, 300.0, 60.0, 5.0)
        steps = tuple(Step(handler, handler, LIMIT, True) for handler in self.scenario.handlers[record.event.event_id])
        tried = any(step.check.begun for step in record.steps)
        again = any(step.check.tries >= self.scenario.tries for step in record.steps)
        asks: Sequence[Tuple[Optional[str], Callable[[], Record]]] = (
            (
                None,
                lambda: (
                    record
                    if record.attempt >= self.scenario.attempts
                    else asked.prepare(record, PLAYBOOK, times=times, within=300.0, steps=steps, empty_allowed=False, now=AT)
                ),
            ),
            (
                COMMIT_AGAIN if tried else None,
                lambda: record if again else asked.commit(record, PLAYBOOK, record.event, now=AT, held=None),
            ),
            (TAKEN_OVER, lambda: record if again else asked.commit(record, SECOND, record.event, now=AT, held=None)),
            (
                TAKEN_OVER,
                lambda: (
                    asked.prepare(record, SECOND, times=times, within=300.0, steps=(), empty_allowed=False, now=AT)
                    if record.state in (r.PREPARING, r.PREPARED, r.COMMITTED)
                    else record
                ),
            ),
            (LETS_GO, lambda: asked.abort(record, PLAYBOOK, now=AT)),
            (LETS_GO, lambda: asked.abort(record, SECOND, now=AT)),
            (IS_LOST, lambda: replace(record, driver=replace(record.driver, lease=LOST.lease)) if record.driver in DRIVERS else record),
            (TOO_LATE, lambda: replace(record, deadline=Term(NOW - 1)) if record.state == r.PREPARING else record),
            (RELEASED, lambda: asked.give_back(record, by="ann", forced=False, now=NOW)),
            (FORCED, lambda: asked.give_back(record, by="ann", forced=True, now=NOW) if record.state == r.COMMITTED else record),
        )
        for word, ask in asks:
            try:
                yield word, ask()
            except RefusedError:
                continue

    # What must be so everywhere, and where it all ends.

    def check(self, world: World) -> None:
        for record in self.records(world):
            # In any hands: who is lost may come back.
            if record.view == r.SCHEDULED and _may_send(record, DRIVERS):
                unseen = {handler for handler in self.every if _behind(record, handler) in world.unseen}
                self._check_out_of_service(world._replace(serving=world.serving - unseen), record)

    def calm(self, world: World) -> Optional[World]:
        """One move of a world that means well: handlers succeed, time passes, and only when nothing more comes of it, an event goes."""
        for name, state in world.units:
            if state in AT_WORK:
                place = self.work_of(world, name)
                return self.ended(world, name, reconcile.IN_SERVICE if place is not None and place[2] == r.CHECK else 0)
        moved = self.stepped(world) or self.time_passed(world)
        if moved is not None:
            return moved
        for index, record in enumerate(self.records(world)):
            assert not record.gone or not record.is_open, "gone and not closed, while another event is there"
            if record.is_open:
                return self.having(world, index, self.number(asked.observe(record, None, now=NOW, named=True)))
        return None

    def reach(self) -> Set[World]:
        """Every world that can be, each visited once, with as many disturbances left as can be."""
        begin = self.begin()
        came_from: Dict[World, Optional[World]] = {}
        waiting: Deque[Tuple[int, World, Optional[World]]] = deque([(self.scenario.most, begin, None)])
        while waiting:
            left, world, before = waiting.popleft()
            if world in came_from:
                continue
            came_from[world] = before
            try:
                self.check(world)
                for disturbance, moved in self.moves(world):
                    if moved in came_from:
                        continue
                    if disturbance is None:
                        waiting.appendleft((left, moved, world))
                    elif left and disturbance in self.scenario.disturbances:
                        waiting.append((left - 1, moved, world))
            except AssertionError as wrong:
                raise AssertionError("%s\n%s" % (wrong, self._story(world, came_from))) from wrong
        return set(came_from)

    def _story(self, world: Optional[World], came_from: Mapping[World, Optional[World]]) -> str:
        """How it came to this."""
        lines: List[str] = []
        while world is not None:
            said = ["%s(%s)" % (record.state, record.view) for record in self.records(world)]
            out = ", ".join(sorted(self.every - world.serving))
            action = self.action(world)
            done = getattr(action, "why", getattr(action, "unit", action))
            lines.append("%s | units %s | boot %d | out of service: %s | next: %s" % (said, world.units, world.boot, out, done))
            world = came_from[world]
        return "\n".join(reversed(lines))

    def walk(self, dice: Random, moves: int) -> World:
        """One path, with as many moves, by chance."""
        world = self.begin()
        for _move in range(moves):
            usual: List[World] = []
            unkind: List[World] = []
            for disturbance, moved in self.moves(world):
                (unkind if disturbance in self.scenario.disturbances else usual if disturbance is None else []).append(moved)
            possible = unkind if unkind and (not usual or dice.random() < 0.1) else usual
            if not possible:
                break
            # The executor's step is the first; what goes on outside is slower.
            world = possible[0] if dice.random() < 0.6 else dice.choice(possible)
            self.check(world)
        return world

    def check_ends(self, reached: Set[World]) -> None:
        """From each of them everything closes by itself, and the host is as it was."""
        well: Set[World] = set()
        for world in reached:
            path: List[World] = []
            current: Optional[World] = world
            while current is not None and current not in well:
                path.append(current)
                assert len(path) < 500, "no end"
                current = self.calm(current)
            if current is None:
                self._check_end(path[-1])
            well.update(path)

    def _check_end(self, world: World) -> None:
        assert {record.state for record in self.records(world)} == {r.CLOSED}, "a record does not close"
        assert not world.units, "units are left over"
        assert not world.dirty, "left drained: %s" % sorted(world.dirty)
        assert self.every - self.scenario.theirs <= world.serving, "out of service for ever"


def explore(scenario: Scenario) -> int:
    """The number of worlds, after all was found to be right in them."""
    search = Search(scenario)
    reached = search.reach()
    search.check_ends(reached)
    return len(reached)


def _may_send(record: Record, drivers: Sequence[Driver]) -> bool:
    """Whether one of them would be let to approve."""
    for driver in drivers:
        try:
            asked.sending(record, driver, witness="web_5", held=None, now=NOW)
        except RefusedError:
            continue
        return True
    return False


def _behind(record: Record, handler: str) -> str:
    return "%s %s" % (record.key, handler)


def _completed(record: Record, index: int, phase: str) -> str:
    return "%s %d %d %s" % (record.key, record.attempt, index, phase)


def _unit(state: int) -> Unit:
    if state in AT_WORK:
        return Unit(running=True, ran=LIMIT + 1 if state == FOR_TOO_LONG else 0.0)
    return Unit(running=False, exit=None if state == KILLED else state)


def _event(event_id: str) -> Event:
    return Event(event_id, "Reboot", "Scheduled", "Platform", "VirtualMachine", ("web_0",), FAR, "", 9)


def _event_moves(record: Record) -> Iterator[Tuple[Optional[str], Record]]:
    yield None, asked.observe(record, None, now=NOW, named=True)
    if record.view == r.SCHEDULED:
        started = replace(record.event, event_status="Started", not_before=None)
        yield None, asked.observe(record, started, now=NOW, named=True)
        for word, moment in ((COMES_NEAR, NEAR), (COMES_NEAR, FAR)):
            yield word, asked.observe(record, replace(record.event, not_before=moment), now=NOW, named=True)


def _without_waiting(record: Record) -> Record:
    for index, step in enumerate(record.steps):
        for phase in r.PHASES:
            if step.work(phase).not_before:
                record = record.having(index, phase, replace(record.steps[index].work(phase), not_before=0.0))
    return record
