# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers of HAProxy: their sessions, their addresses, and who else changes them."""

from __future__ import annotations

from typing import Any, Callable, Dict, List

import pytest
from ready_scenes import FakeHAProxy, FakeServer, HAProxyScene, Scene, load


@pytest.fixture
def scene(scene_of: Callable[[str], Scene]) -> HAProxyScene:
    made = scene_of("haproxy")
    assert isinstance(made, HAProxyScene)
    return made


# --- sessions ------------------------------------------------------------------------------------------------------------


def test_prepare_waits_for_sessions_to_end(scene: HAProxyScene) -> None:
    scene.ours()[0].sessions, scene.ours()[3].sessions = 2, 1
    said = scene.call("prepare")
    assert said.code == 75
    assert said.text.endswith(" have 3 sessions left.")
    assert scene.admin() == [8, 8, 8, 8]
    assert scene.call("inspect").code == 1
    scene.ours()[3].sessions = 0
    scene.now += 30
    scene.ours()[0].sessions = 1
    assert scene.call("prepare").text.endswith(" have 1 session left.")
    scene.ours()[0].sessions = 0
    assert scene.call("prepare").code == 0
    # A client that is bound to the server by a cookie comes all the same.
    scene.ours()[0].sessions = 1
    assert scene.call("inspect").code == 0


def test_sessions_that_stay_too_long_are_left(scene: HAProxyScene) -> None:
    scene.environment["HAPROXY_DRAIN_TIMEOUT"] = "2m"
    scene.ours()[0].sessions = 2
    scene.call("prepare")
    scene.now += 119
    assert scene.call("prepare").code == 75
    scene.now += 1
    said = scene.call("prepare")
    assert said.code == 0
    assert said.text.endswith(" are out of service with 2 sessions, whose time is over.")
    assert scene.call("inspect").code == 0
    assert scene.call("recover").code == 0
    assert scene.admin() == [0, 0, 0, 0]


def test_sessions_that_stay_too_long_are_a_failure_where_it_is_said(scene: HAProxyScene) -> None:
    scene.environment["HAPROXY_AFTER_TIMEOUT"] = "fail"
    scene.ours()[0].sessions = 2
    scene.call("prepare")
    scene.now += 60
    said = scene.call("prepare")
    assert said.code == 1
    assert said.text.endswith(" still have 2 sessions after 60 s.")
    assert scene.call("inspect").code == 1
    assert scene.call("recover").code == 0
    assert scene.admin() == [0, 0, 0, 0]


def test_sessions_of_servers_that_somebody_else_took_out_are_waited_for(scene: HAProxyScene) -> None:
    """W-42: and the servers are not put back, although it was asked more than once."""
    scene.take_out_by_hand()
    scene.ours()[0].sessions = 1
    assert scene.call("inspect").code == 1
    assert scene.call("prepare").code == 75
    scene.ours()[0].sessions = 0
    assert scene.call("prepare").code == 77
    assert scene.call("recover").code == 0
    assert scene.admin() == [1, 1, 1, 1]


def test_what_was_waited_for_in_one_event_is_waited_for_anew_in_the_next(scene: HAProxyScene) -> None:
    scene.take_out_by_hand()
    scene.ours()[0].sessions = 1
    scene.call("prepare")
    scene.now += 60
    assert scene.call("prepare").code == 77
    assert scene.call("inspect").code == 0
    assert scene.call("prepare", EVENT_KEY="e2").code == 75


def test_a_clock_that_was_set_back_begins_the_wait_anew(scene: HAProxyScene) -> None:
    """W-34: and not after an hour."""
    scene.ours()[0].sessions = 1
    scene.call("prepare")
    scene.now -= 3600
    assert scene.call("prepare").code == 75
    scene.now += 60
    assert scene.call("prepare").code == 0


# --- who else changes them -----------------------------------------------------------------------------------------------


def test_of_several_servers_only_those_that_were_in_service_are_put_back(scene: HAProxyScene) -> None:
    scene.ours()[1].set("drain")
    assert scene.call("prepare").code == 0
    assert scene.admin() == [8, 8, 8, 8]
    assert scene.call("recover").code == 0
    assert scene.admin() == [0, 8, 0, 0]


def test_what_a_person_has_put_into_maintenance_meanwhile_stays_so(scene: HAProxyScene) -> None:
    scene.call("prepare")
    scene.ours()[2].set("maint")
    said = scene.call("recover")
    assert said.code == 0
    assert said.text.endswith(" Somebody else has changed %s app/web1 meanwhile: that stays as it is." % scene.proxies[1].place)
    assert scene.admin() == [0, 0, 1, 0]
    assert scene.kept() == []


def test_a_haproxy_that_has_forgotten_it_is_told_again(scene: HAProxyScene) -> None:
    scene.call("prepare")
    for server in scene.ours():
        server.set("ready")
    assert scene.call("inspect").code == 1
    assert scene.call("prepare").code == 0
    assert scene.admin() == [8, 8, 8, 8]
    scene.call("recover")
    assert scene.admin() == [0, 0, 0, 0]


def test_a_server_that_is_disabled_in_the_configuration_counts_until_it_is_enabled(scene: HAProxyScene) -> None:
    for server in scene.ours():
        server.admin = 4 | 1
    assert scene.call("inspect").code == 0
    assert scene.call("prepare").code == 77
    for server in scene.ours():
        server.admin = 4
    assert scene.call("inspect").code == 1
    assert scene.call("prepare").code == 0
    assert scene.admin() == [12, 12, 12, 12]
    assert scene.call("recover").code == 0
    assert scene.admin() == [4, 4, 4, 4]


def test_a_server_that_follows_another_one_out_is_out(scene: HAProxyScene) -> None:
    for server in scene.ours():
        server.admin = 2
    assert scene.call("prepare").code == 77


def test_servers_that_are_not_there_any_more_are_in_nobodys_way(scene: HAProxyScene) -> None:
    scene.call("prepare")
    for proxy in scene.proxies:
        del proxy.servers["api/web1"]
    assert scene.call("recover").code == 0
    assert [proxy.servers["app/web1"].admin for proxy in scene.proxies] == [0, 0]
    assert scene.kept() == []


# --- maintenance, and up again -------------------------------------------------------------------------------------------


def test_recover_waits_until_the_servers_are_up(scene: HAProxyScene) -> None:
    scene.environment["HAPROXY_STATE"] = "maint"
    scene.call("prepare")
    assert scene.admin() == [1, 1, 1, 1]
    scene.ours()[3].rises = 3
    said = scene.call("recover")
    assert said == (75, "The servers api/web1 at %s may serve again, but are not up yet." % scene.proxies[1].place)
    assert scene.until_done("recover").code == 0
    assert scene.ours()[3].is_up


def test_a_server_that_is_taken_out_again_before_it_was_up_is_waited_for(scene: HAProxyScene) -> None:
    scene.environment["HAPROXY_STATE"] = "maint"
    scene.call("prepare")
    scene.ours()[3].rises = 5
    assert scene.call("recover").code == 75
    assert scene.call("prepare").code == 0
    assert scene.call("recover").code == 75


def test_a_server_that_was_down_before_is_not_waited_for(scene: HAProxyScene) -> None:
    scene.ours()[3].is_up, scene.ours()[3].rises = False, 1000
    assert scene.call("prepare").code == 0
    assert scene.call("prepare").code == 0
    assert scene.call("recover").code == 0
    assert scene.admin() == [0, 0, 0, 0]


def test_one_haproxy_that_does_not_answer_is_not_in_the_way_of_the_other(scene: HAProxyScene) -> None:
    scene.call("prepare")
    words = scene.vanish()
    assert scene.call("recover") == (1, words)
    assert scene.admin() == [0, 0, 8, 8]
    assert len(scene.kept()) == 1
    assert scene.call("inspect") == (2, words)


# --- idle connections ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("state", "admin"), [("drain", 8), ("maint", 1)])
def test_idle_connections_are_closed_when_the_last_session_has_ended(scene: HAProxyScene, state: str, admin: int) -> None:
    """HAProxy does so when a server enters maintenance, and from there it goes back to the state that is wanted."""
    scene.environment["HAPROXY_STATE"] = state
    first, other = scene.ours()[0], scene.proxies[0].servers["app/web2"]
    first.sessions, other.idle = 1, 7
    assert scene.call("prepare").code == 75
    first.sessions, first.idle = 0, 3
    assert scene.call("prepare").code == 0
    assert (first.idle, other.idle) == (0, 7)
    assert scene.admin() == [admin] * 4
    words = [command.split()[-1] for command in scene.proxies[0].commands if command.startswith("set server app/web1 ")]
    assert words == [state, {"drain": "maint", "maint": "drain"}[state], state]
    assert not [command for command in scene.proxies[0].commands if command.startswith("set server app/web2 ")]
    assert scene.call("recover").code == 0
    assert scene.admin() == [0] * 4
    assert scene.kept() == []


def test_where_nothing_is_idle_a_server_is_told_once(scene: HAProxyScene) -> None:
    assert scene.call("prepare").code == 0
    assert scene.call("prepare").code == 0
    assert len([command for command in scene.proxies[0].commands if command.startswith("set server app/web1 ")]) == 1


def test_idle_connections_are_left_where_sessions_are(scene: HAProxyScene) -> None:
    """Those whose time is over may yet end by themselves. Nothing is in use at the other servers."""
    scene.ours()[0].sessions = 1
    for server in scene.ours():
        server.idle = 3
    scene.call("prepare")
    assert [server.idle for server in scene.ours()] == [3, 3, 3, 3]
    scene.now += 60
    assert scene.call("prepare").code == 0
    assert [server.idle for server in scene.ours()] == [3, 0, 0, 0]
    assert scene.admin() == [8, 8, 8, 8]


def test_who_came_in_while_idle_connections_were_closed_is_waited_for(scene: HAProxyScene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers in maintenance let nobody in, and for that moment they are not."""
    scene.environment["HAPROXY_STATE"] = "maint"
    first = scene.ours()[0]
    first.idle = 3
    module = load("haproxy")
    tell = module.HAProxy.set_state

    def somebody_comes(self: Any, server: Any, state: str) -> None:
        tell(self, server, state)
        first.sessions = 1 if state == "drain" else first.sessions

    monkeypatch.setattr(module.HAProxy, "set_state", somebody_comes)
    first.sessions = 1
    assert scene.call("prepare").code == 75
    first.sessions, first.idle = 0, 3
    assert scene.call("prepare").text.endswith(" have 1 session left.")
    first.sessions = 0
    assert scene.call("prepare").code == 0


def killed_half_way(scene: HAProxyScene) -> None:
    """Between the two words to the first server, which has idle connections."""
    scene.ours()[0].idle = 3
    module = load("haproxy")
    tell = module.HAProxy.set_state

    def killed(self: Any, server: Any, state: str) -> None:
        if state == "drain" and server.place == scene.proxies[0].place and scene.ours()[0].admin == 1:
            raise KeyboardInterrupt
        tell(self, server, state)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.HAProxy, "set_state", killed)
        with pytest.raises(KeyboardInterrupt):
            scene.call("prepare")
    assert scene.admin() == [1, 8, 8, 8]


@pytest.mark.parametrize("phase", ["recover", "prepare"])
def test_a_server_that_is_left_half_way_is_this_handlers_all_the_same(scene: HAProxyScene, phase: str) -> None:
    """Nobody else would put it back."""
    killed_half_way(scene)
    assert scene.call("inspect").code == 0
    if phase == "prepare":
        assert scene.call("prepare").code == 0
        assert scene.admin() == [8] * 4
    said = scene.call("recover")
    assert (said.code, "Somebody else" in said.text) == (0, False)
    assert scene.admin() == [0] * 4


@pytest.mark.parametrize("phase", ["recover", "prepare"])
def test_whoever_puts_a_server_into_maintenance_after_that_is_somebody_else(scene: HAProxyScene, phase: str) -> None:
    """W-42: once this handler has set it right the mark is over."""
    killed_half_way(scene)
    scene.ours()[3].is_up, scene.ours()[3].rises = phase == "prepare", 5
    assert scene.call(phase).code == {"prepare": 0, "recover": 75}[phase]
    scene.ours()[0].set("maint")
    scene.call("recover")
    assert scene.admin() == [1, 0, 0, 0]


def test_idle_connections_of_a_server_that_a_person_put_into_maintenance_are_left(scene: HAProxyScene) -> None:
    """W-42: it stays as that person has it."""
    scene.ours()[0].sessions = 1
    scene.call("prepare")
    scene.ours()[0].set("maint")
    scene.ours()[0].sessions, scene.ours()[0].idle = 0, 2
    assert scene.call("prepare").code == 0
    assert scene.admin() == [1, 8, 8, 8]
    scene.call("recover")
    assert scene.admin() == [1, 0, 0, 0]


@pytest.mark.parametrize("answer", ["Unknown command.", "", "# bkname/svname idle_cur\napp/web1\napp/web1 many\n"])
def test_a_haproxy_that_does_not_tell_of_idle_connections_keeps_them(
    scene: HAProxyScene, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    scene.ours()[0].idle = 2
    for proxy in scene.proxies:
        known = proxy.answer
        monkeypatch.setattr(proxy, "answer", lambda command, known=known: answer if command == "show servers conn" else known(command))
    assert scene.call("prepare").code == 0
    assert scene.ours()[0].idle == 2
    assert scene.admin() == [8] * 4


# --- which servers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("10.0.0.5", [8, 8]),
        ("10.0.0.5:80", [8, 0]),
        ("10.0.0.5:81", [0, 8]),
        ("10.0.0.5:80 10.0.0.5:81", [8, 8]),
    ],
)
def test_servers_are_found_by_their_address(scene: HAProxyScene, wanted: str, expected: List[int]) -> None:
    del scene.environment["HAPROXY_SERVERS"]
    scene.environment["HAPROXY_ADDRESS"] = wanted
    assert scene.call("prepare").code == 0
    assert scene.admin() == expected * 2
    assert not scene.proxies[0].servers["app/web2"].admin
    assert scene.call("recover").code == 0
    assert scene.admin() == [0] * 4


@pytest.mark.parametrize("wanted", ["fd00::5", "FD00:0::5", "[fd00::5]:80", "[fd00::5]"])
def test_an_address_is_the_same_however_it_is_written(scene: HAProxyScene, wanted: str) -> None:
    server = FakeServer("app/web1", "fd00:0:0::5", 80)
    proxy = FakeHAProxy([server])
    try:
        del scene.environment["HAPROXY_SERVERS"]
        scene.environment.update(HAPROXY_SOCKETS=proxy.place, HAPROXY_ADDRESS=wanted)
        assert scene.call("prepare").code == 0
        assert server.admin == 8
    finally:
        proxy.close()


def test_a_name_that_haproxy_resolves_is_an_address_too() -> None:
    module = load("haproxy")
    server = module.Server("p", "app/web1", "10.0.0.5", "web1.internal", "80", 0, True, 0)
    cases = {"WEB1.internal": True, "web1.internal:80": True, "web1.internal:81": False, "web": False, "10.0.0.50": False, "": False}
    assert {wanted: module.has_address(server, wanted) for wanted in cases} == cases


# --- what is wrong is said -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"HAPROXY_SERVERS": "web1"}, "HAPROXY_SERVERS has 'web1': write backend/server."),
        ({"HAPROXY_SERVERS": "app/web1;shutdown"}, "HAPROXY_SERVERS has 'app/web1;shutdown': write backend/server."),
        ({"HAPROXY_SERVERS": ""}, "Set either HAPROXY_SERVERS, as backend/server, or HAPROXY_ADDRESS."),
        ({"HAPROXY_ADDRESS": "10.0.0.5"}, "Set either HAPROXY_SERVERS, as backend/server, or HAPROXY_ADDRESS."),
        ({"HAPROXY_STATE": "stop"}, "The variable HAPROXY_STATE is 'stop': it can be drain or maint."),
        ({"HAPROXY_DRAIN_TIMEOUT": "soon"}, "The variable HAPROXY_DRAIN_TIMEOUT is 'soon': write seconds, or a time like 90s or 5m."),
        ({"HAPROXY_SOCKETS": "haproxy"}, "HAPROXY_SOCKETS has 'haproxy': write the path of a socket, or host:port."),
        ({"HAPROXY_SOCKETS": "/nowhere"}, "HAProxy at /nowhere does not answer: No such file or directory."),
    ],
)
def test_a_setting_that_is_wrong_is_named(scene: HAProxyScene, settings: Dict[str, str], words: str) -> None:
    scene.environment.update(settings)
    assert scene.call("prepare") == (1, words)
    assert scene.admin() == [0, 0, 0, 0]


def test_a_server_that_haproxy_does_not_have_is_named_before_anything_is_done(scene: HAProxyScene) -> None:
    scene.environment["HAPROXY_SERVERS"] = "app/web1 app/web9"
    words = "HAProxy at %s has no server app/web9; it has api/web1, app/web1, app/web2."
    assert scene.call("prepare") == (1, words % scene.proxies[0].place)
    scene.environment.update(HAPROXY_SERVERS="", HAPROXY_ADDRESS="10.9.9.9")
    assert scene.call("prepare") == (1, "HAProxy at %s has no server with the address 10.9.9.9." % scene.proxies[0].place)
    assert scene.admin() == [0, 0, 0, 0]


def test_a_socket_without_the_right_to_change_says_so(scene: HAProxyScene) -> None:
    scene.proxies[0].refuses = "Permission denied\n"
    said = scene.call("prepare")
    words = "HAProxy at %s refuses 'set server app/web1 state drain': Permission denied Its socket needs `level admin`."
    assert said == (1, words % scene.proxies[0].place)
    scene.proxies[0].refuses = None
    assert scene.call("recover").code == 0
    assert scene.admin() == [0, 0, 0, 0]


def test_something_else_that_answers_is_not_taken_for_haproxy(scene: HAProxyScene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scene.proxies[0], "answer", lambda command: "220 mail.example.org ESMTP")
    words = "HAProxy at %s does not tell the state of its servers: it says '220 mail.example.org ESMTP'."
    assert scene.call("prepare") == (1, words % scene.proxies[0].place)
