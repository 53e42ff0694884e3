# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A primary steps down once, and is never asked to twice."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any, Callable, Dict, Mapping

import pytest
from ready_scenes import REPLICA, PatroniScene, RedisScene, Scene

BY = ["redis_switchover", "redis_switchover by Sentinel"]


@pytest.fixture
def postgresql(scene_of: Callable[[str], Scene]) -> PatroniScene:
    made = scene_of("postgresql_switchover")
    assert isinstance(made, PatroniScene)
    return made


@pytest.fixture(params=BY)
def redis(request: pytest.FixtureRequest, scene_of: Callable[[str], Scene]) -> RedisScene:
    made = scene_of(request.param)
    assert isinstance(made, RedisScene)
    return made


@pytest.fixture
def sentinel(scene_of: Callable[[str], Scene]) -> RedisScene:
    made = scene_of(BY[1])
    assert isinstance(made, RedisScene)
    return made


# --- PostgreSQL ----------------------------------------------------------------------------------------------------------


def test_the_leader_is_handed_over_by_its_name(postgresql: PatroniScene) -> None:
    assert postgresql.call("inspect") == (1, "pg1 is the leader.")
    assert postgresql.call("prepare") == (0, "pg1 has stepped down, and pg2 leads.")
    assert postgresql.patroni.posted == [{"leader": "pg1"}]
    assert postgresql.call("prepare").code == 0
    assert postgresql.call("recover").code == 0
    assert len(postgresql.patroni.posted) == 1


def test_it_is_handed_over_to_whom_one_wants(postgresql: PatroniScene) -> None:
    postgresql.patroni.members.append("pg3")
    postgresql.environment["PATRONI_CANDIDATE"] = "pg3"
    assert postgresql.call("prepare") == (0, "pg1 has stepped down, and pg3 leads.")
    assert postgresql.patroni.posted == [{"leader": "pg1", "candidate": "pg3"}]


def test_a_member_that_does_not_lead_is_left_alone(postgresql: PatroniScene) -> None:
    postgresql.take_out_by_hand()
    assert postgresql.call("prepare") == (77, "pg1 is not the leader; pg2 is.")
    postgresql.patroni.leader = None
    assert postgresql.call("prepare") == (77, "pg1 is not the leader; nobody is.")
    assert postgresql.patroni.posted == []


def test_what_patroni_refuses_is_told(postgresql: PatroniScene) -> None:
    postgresql.patroni.refuses = "no good candidates have been found"
    words = "Patroni at %s does not hand over the leadership of pg1 (412): no good candidates have been found."
    assert postgresql.call("prepare") == (1, words % postgresql.patroni.url)
    assert postgresql.call("recover").code == 0
    assert postgresql.kept() == []


def test_prepare_waits_until_it_has_stepped_down_and_somebody_leads(postgresql: PatroniScene) -> None:
    postgresql.patroni.lingers = True
    assert postgresql.call("prepare") == (75, "pg1 is about to step down.")
    assert postgresql.call("prepare") == (75, "pg1 has lost the leadership, and has not stepped down yet.")
    assert postgresql.call("inspect").code == 1
    postgresql.patroni.lingers, postgresql.patroni.leader = False, None
    assert postgresql.call("prepare") == (75, "pg1 has stepped down, and nobody leads yet.")
    postgresql.patroni.leader = "pg2"
    assert postgresql.call("prepare").code == 0
    assert len(postgresql.patroni.posted) == 1


def test_a_switchover_that_takes_longer_than_patroni_waits_is_waited_for(postgresql: PatroniScene, monkeypatch: pytest.MonkeyPatch) -> None:
    postgresql.patroni.is_late = True
    assert postgresql.call("prepare") == (75, "pg1 is about to step down.")
    monkeypatch.setattr(postgresql.patroni, "post", lambda wanted: (202, "Switchover scheduled"))
    assert postgresql.call("prepare") == (75, "pg1 is about to step down.")
    postgresql.take_out_by_hand()
    assert postgresql.call("prepare").code == 0


def test_a_patroni_that_goes_away_while_it_is_asked_is_asked_again(postgresql: PatroniScene, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_off(wanted: Mapping[str, Any]) -> None:
        raise ConnectionAbortedError

    with monkeypatch.context() as broken:
        broken.setattr(postgresql.patroni, "post", break_off)
        broken.setattr(postgresql.patroni.server, "handle_error", lambda *_args: None)
        words = "Patroni at %s has not answered to the switchover yet." % postgresql.patroni.url
        assert postgresql.call("prepare") == (75, words)
    assert postgresql.call("prepare").code == 0
    assert postgresql.call("recover").code == 0


def test_a_password_comes_from_a_file(postgresql: PatroniScene, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s3cret\n", encoding="ascii")
    postgresql.environment.update(PATRONI_USERNAME="admin", PATRONI_PASSWORD_FILE=str(secret))
    postgresql.call("prepare")
    assert postgresql.patroni.headers == ["Basic " + base64.b64encode(b"admin:s3cret").decode()]
    secret.unlink()
    assert postgresql.call("prepare") == (1, "PATRONI_PASSWORD_FILE: %s cannot be read." % secret)


def test_a_member_that_the_cluster_does_not_have_is_named(postgresql: PatroniScene) -> None:
    postgresql.environment["PATRONI_MEMBER"] = "db1"
    words = "The cluster of %s has no member db1; it has pg1, pg2." % postgresql.patroni.url
    assert postgresql.call("prepare") == (1, words)
    assert postgresql.call("inspect") == (2, words)


@pytest.mark.parametrize("body", ["<html>", "[]"])
def test_something_else_that_answers_is_not_taken_for_patroni(postgresql: PatroniScene, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    monkeypatch.setattr(postgresql.patroni, "get", lambda path: (200, body))
    assert postgresql.call("prepare") == (1, "Patroni at %s/cluster answers what is not known: %s." % (postgresql.patroni.url, body))


def test_a_cluster_without_members_is_not_known(postgresql: PatroniScene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql.patroni, "get", lambda path: (200, "{}"))
    assert postgresql.call("inspect") == (2, "Patroni at %s does not list the members of its cluster." % postgresql.patroni.url)


# --- Redis ---------------------------------------------------------------------------------------------------------------


def test_the_primary_is_handed_over_once(redis: RedisScene) -> None:
    assert redis.call("inspect") == (1, "Redis at 127.0.0.1:6379 is the primary.")
    assert redis.call("prepare") == (0, "Redis at 127.0.0.1:6379 is a replica now.")
    assert redis.call("prepare").code == 0
    assert redis.read("failovers") == "x\n"


def test_a_primary_that_is_being_made_a_replica_is_not_handed_over_again(redis: RedisScene) -> None:
    """A second failover would go away from the new primary, maybe back to here."""
    redis.write(lingers="")
    assert redis.call("prepare").code == 75
    for _turn in range(3):
        assert redis.call("prepare") == (75, "Redis at 127.0.0.1:6379 is on its way to be a replica.")
        assert redis.call("inspect").code == 1
    redis.write(role="slave")
    assert redis.call("prepare").code == 0
    assert redis.read("failovers") == "x\n"


def test_a_primary_without_a_replica_stays_one(redis: RedisScene) -> None:
    redis.write(replicas="connected_slaves:0")
    assert redis.call("prepare") == (1, "Redis at 127.0.0.1:6379 is the primary and has no replica that could take over.")
    assert redis.read("failovers") == ""


def test_prepare_waits_for_a_replica_that_is_being_brought_up_to_date(redis: RedisScene) -> None:
    redis.write(replicas=REPLICA % "wait_bgsave")
    assert redis.call("prepare") == (75, "Redis at 127.0.0.1:6379 has no replica yet that is up to date.")
    assert redis.read("failovers") == ""
    redis.write(replicas=REPLICA % "online")
    assert redis.call("prepare").code == 0


def test_a_replica_that_left_after_a_failover_that_failed_is_waited_for(redis: RedisScene) -> None:
    redis.write(refuses="INPROG Failover already in progress")
    redis.call("prepare")
    redis.write(replicas="connected_slaves:0")
    assert redis.call("prepare").code == 75


def test_a_failover_that_goes_on_already_is_waited_for(redis: RedisScene) -> None:
    redis.write(refuses="INPROG Failover already in progress")
    assert redis.call("prepare").code == 75


def test_what_redis_refuses_is_told(redis: RedisScene) -> None:
    redis.write(refuses="NOGOODSLAVE No suitable replica to promote")
    said = redis.call("prepare")
    assert said.code == 1
    assert said.text.endswith(" does not hand over: NOGOODSLAVE No suitable replica to promote.")


def test_a_password_goes_by_the_environment_and_not_by_the_command(redis: RedisScene, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s3cret\n", encoding="ascii")
    redis.environment["REDIS_PASSWORD_FILE"] = str(secret)
    redis.call("inspect")
    assert set(redis.read("secrets").split()) == {"s3cret"}
    assert "s3cret" not in redis.read("log")


def test_sentinel_has_a_password_of_its_own(sentinel: RedisScene, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s3cret\n", encoding="ascii")
    sentinel.environment["REDIS_SENTINEL_PASSWORD_FILE"] = str(secret)
    sentinel.call("prepare")
    asked = zip(sentinel.read("log").splitlines(), sentinel.read("secrets").splitlines())
    assert {("26379" in line, key) for line, key in asked} == {(True, "s3cret"), (False, "")}


def test_a_redis_that_wants_a_password_says_so(redis: RedisScene) -> None:
    redis.write(locked="")
    words = "Redis at 127.0.0.1:6379 does not tell its role: NOAUTH Authentication required."
    assert redis.call("prepare") == (1, words)


def test_a_group_that_sentinel_does_not_know_is_named(sentinel: RedisScene) -> None:
    sentinel.environment["REDIS_MASTER_NAME"] = "other"
    assert sentinel.call("prepare") == (1, "Sentinel at 127.0.0.1:26379 does not know other: ERR unknown command.")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"REDIS_ADDRESS": "redis"}, "'redis' is no address of Redis: write host:port."),
        ({"REDIS_PASSWORD_FILE": "/nowhere"}, "REDIS_PASSWORD_FILE: /nowhere cannot be read."),
        ({"REDIS_CLI": "/nowhere"}, "/nowhere cannot be run (No such file or directory): is it installed?"),
    ],
)
def test_a_setting_that_is_wrong_is_named(redis: RedisScene, settings: Dict[str, str], words: str) -> None:
    redis.environment.update(settings)
    assert redis.call("prepare") == (1, words)
    assert redis.call("inspect") == (2, words)
