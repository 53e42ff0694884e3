# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration of a host: what is taken, what is refused and in which words, and who may have written it."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import pytest
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._document import KNOWN_TYPES, Event
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._errors import ConfigurationError
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._policy import default_policy
from ansible_collections.cloud_maintenance.azure.plugins.module_utils._selection import TYPE_CHOICES
from azure_event_handlers import configuration as c
from azure_event_handlers.configuration import Configuration, Handler, Webhook, check, load
from azure_event_handlers.paths import Paths
from azure_event_handlers.systemd import OURS

ME = os.getuid()


class Host:
    """The tree of a rehearsal; its files are ours."""

    def __init__(self, root: Path) -> None:
        self.paths = Paths(str(root))
        self.etc = Path(self.paths.configuration).parent
        for folder in (root, root / "etc", self.etc, Path(self.paths.handlers), Path(self.paths.options)):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o755)
        self.config()

    def config(self, **values: Any) -> None:
        self.text(self.paths.configuration, json.dumps({"format": 1, **values}))

    def handler(self, name: str, options: Optional[Dict[str, Any]] = None) -> str:
        file = self.text(os.path.join(self.paths.handlers, name), "#!/bin/sh\n", mode=0o755)
        if options is not None:
            self.options(name, options)
        return file

    def options(self, name: str, options: Any) -> str:
        return self.text(os.path.join(self.paths.options, name + ".json"), json.dumps(options))

    def text(self, path: str, text: str, *, mode: int = 0o644) -> str:
        Path(path).write_text(text, encoding="utf-8")
        os.chmod(path, mode)
        return path

    def load(self, **more: Any) -> Configuration:
        return load(self.paths, **{"owner": ME, **more})

    def check(self, **more: Any) -> List[str]:
        """Short: without the folder, which is another one in each run."""
        return [
            problem.replace(str(self.etc) + "/", "").replace(str(self.etc), "ETC") for problem in check(self.paths, **{"owner": ME, **more})
        ]


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path / "root")


def event(kind: str) -> Event:
    return Event("id", kind, "Scheduled", None, "VirtualMachine", ("web_0",), None, "", None)


# --- what is taken -----------------------------------------------------------------------------------------------------


def test_a_configuration_with_nothing_in_it_is_the_safe_default(host: Host) -> None:
    found = host.load()
    assert found == Configuration()
    assert (found.mode, found.policy, found.handlers, found.webhook) == ("watch", default_policy(), (), None)
    assert (found.allow_empty_prepare, found.lease, found.hold_for, found.poll_interval) == (False, 120.0, 14400.0, 1.0)
    assert found.settings.shortest_preparation == 5.0
    assert host.check() == []


def test_nothing_counts_while_the_role_has_put_only_half_of_it_in_place(host: Host) -> None:
    """With half of the handlers a host would seem ready that is not."""
    host.handler("10-drain")
    mark = Path(host.text(host.paths.changing, ""))
    words = "run it again to its end"
    assert [problem.split(":")[0] for problem in host.check()] == [".changing"]
    with pytest.raises(ConfigurationError, match=words):
        host.load()
    mark.unlink()
    assert [handler.name for handler in host.load().handlers] == ["10-drain"]


def test_every_key_is_taken(host: Host) -> None:
    host.config(
        mode="prepare_and_approve",
        endpoint="http://127.0.0.1:8080/vm/web_0/",
        api_version="2019-08-01",
        timeout="20s",
        vm_name="web_0",
        approve="policy",
        rules=[{"name": "all", "action": "prepare_and_approve", "start": "window", "prepare_budget": "8m"}],
        windows=[{"days": ["Sat"], "from": "22:00", "to": "04:00", "timezone": "UTC"}],
        prepare_budget="7m",
        approve_reserve=30,
        recover_budget="3m",
        allow_empty_prepare=True,
        scope_size=8,
        lease="90s",
        hold_for="2h",
        keep_closed="30d",
        poll_interval=2,
        webhook={"url": "https://example.com/x", "secret_file": "/etc/secret", "form": "text", "events": ["prepared", "CLOSED"]},
    )
    found = host.load()
    assert (found.mode, found.endpoint, found.api_version, found.timeout) == (
        "prepare_and_approve",
        "http://127.0.0.1:8080/vm/web_0",
        "2019-08-01",
        20.0,
    )
    assert (found.vm_name, found.allow_empty_prepare, found.scope_size) == ("web_0", True, 8)
    assert (found.lease, found.hold_for, found.keep_closed, found.poll_interval) == (90.0, 7200.0, 30 * 86400.0, 2.0)
    assert [rule.name for rule in found.policy.rules] == ["all"]
    settings = found.settings
    assert (settings.prepare_budget, settings.approve_reserve, settings.recover_budget, settings.approve) == (420.0, 30.0, 180.0, True)
    assert [window.zone is not None for window in settings.windows] == [True]
    assert found.webhook == Webhook("https://example.com/x", "/etc/secret", "text", ("PREPARED", "CLOSED"))


def test_null_is_as_good_as_nothing_where_nothing_can_be_meant(host: Host) -> None:
    host.config(vm_name=None, rules=None, scope_size=None, webhook=None)
    assert host.load() == Configuration()
    host.config(webhook={"url": "https://example.com", "secret_file": None, "events": None})
    assert host.load().webhook == Webhook("https://example.com")


@pytest.mark.parametrize(
    ("mode", "approve", "expected"),
    [
        ("watch", "policy", True),
        ("watch", "none", False),
        ("prepare", "policy", False),
        ("prepare", "none", False),
        ("prepare_and_approve", "policy", True),
        ("prepare_and_approve", "none", False),
    ],
)
def test_approvals_are_decided_on_only_where_mode_and_approve_allow_it(host: Host, mode: str, approve: str, expected: bool) -> None:
    host.config(mode=mode, approve=approve)
    assert host.load().settings.approve is expected


def test_handlers_come_in_the_order_of_their_names_with_their_options(host: Host) -> None:
    second = host.handler("20-leave", {})
    first = host.handler(
        "10-drain",
        {
            "event_types": ["reboot", "unknown"],
            "limit": "2m",
            "required": False,
            "environment": {"SERVER": "a b", "PATH": "/bin", "EMPTY": ""},
            "properties": ["ProtectSystem=strict", "MemoryMax=1G"],
        },
    )
    assert host.load().handlers == (
        Handler(
            "10-drain",
            first,
            ("Reboot", "unknown"),
            120.0,
            False,
            ("EMPTY=", "PATH=/bin", "SERVER=a b"),
            ("ProtectSystem=strict", "MemoryMax=1G"),
        ),
        Handler("20-leave", second, KNOWN_TYPES, 60.0, True, (), ()),
    )


def test_no_folders_are_no_handlers(host: Host) -> None:
    Path(host.paths.handlers).rmdir()
    Path(host.paths.options).rmdir()
    assert host.load().handlers == ()


def test_a_file_that_is_being_written_is_not_looked_at(host: Host) -> None:
    host.text(os.path.join(host.paths.handlers, ".ansible_tmp10-drain"), "", mode=0o600)
    assert host.load().handlers == ()


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("Reboot", ["10-all", "20-reboot"]),
        ("rEBOOT", ["10-all", "20-reboot"]),
        ("Freeze", ["10-all"]),
        ("GuestPatch", ["30-strange"]),
        ("unknown", ["30-strange"]),
    ],
)
def test_a_handler_applies_to_the_types_it_was_made_for(host: Host, kind: str, expected: List[str]) -> None:
    """C-14: what nobody knows is for those handlers only that ask for it by name."""
    host.handler("10-all")
    host.handler("20-reboot", {"event_types": ["Reboot"]})
    host.handler("30-strange", {"event_types": ["unknown"]})
    assert [handler.name for handler in host.load().applicable(event(kind))] == expected


# --- what is refused ---------------------------------------------------------------------------------------------------

NOT_A_DURATION = "is not a duration: give seconds, or a number with s, m, h or d such as 15m"

REFUSED: List[Tuple[Dict[str, Any], str]] = [
    ({"format": 2}, "format: it is 2, and this program reads 1"),
    ({"format": True}, "format: it is True, and this program reads 1"),
    ({"mode": "auto"}, "mode: 'auto' is none of watch, prepare, prepare_and_approve"),
    ({"mode": None}, "mode: None is not text"),
    ({"approve": "all"}, "approve: 'all' is none of policy, none"),
    ({"endpoint": 5}, "endpoint: 5 is not text"),
    ({"timeout": "soon"}, "timeout: 'soon' " + NOT_A_DURATION),
    ({"timeout": True}, "timeout: True " + NOT_A_DURATION),
    ({"vm_name": ["web_0"]}, "vm_name: a list is not text"),
    ({"windows": None}, "windows: None is not a list of windows"),
    ({"rules": []}, "rules: the list of rules is empty: every event would be refused"),
    ({"rules": [{"action": "approve", "event_types": ["Preempt"]}]},
     "rules: rule 1, action: approve of Preempt, a deletion, needs approve_deletion: true as well"),
    ({"rules": [{"action": "prepare", "start": "window"}]}, "rules: rule number 1, start: there is no window"),
    ({"rules": [{"name": "x", "action": "prepare", "start": {"before": "1m"}}]},
     "rules: rule x, start: 1 min before NotBefore is too late, 5 min 5 s are needed"),
    ({"prepare_budget": 0}, "prepare_budget: it must be from 1 s to 365 d, not 0"),
    ({"recover_budget": "0s"}, "recover_budget: it must be from 1 s to 365 d, not '0s'"),
    ({"approve_reserve": -1}, "approve_reserve: -1 " + NOT_A_DURATION),
    ({"allow_empty_prepare": "yes"}, "allow_empty_prepare: 'yes' is not true or false"),
    ({"scope_size": 0}, "scope_size: 0 is not a number of VMs"),
    ({"scope_size": True}, "scope_size: True is not a number of VMs"),
    ({"scope_size": 2.5}, "scope_size: 2.5 is not a number of VMs"),
    ({"lease": "4s"}, "lease: it must be from 5 s to 365 d, not '4s'"),
    ({"lease": "20s", "poll_interval": 10}, "lease: it must be from 30 s to 365 d, not '20s'"),
    ({"hold_for": 0}, "hold_for: it must be from 1 s to 365 d, not 0"),
    ({"poll_interval": 0.2}, "poll_interval: it must be from 1 s to 15 s, not 0.2"),
    ({"poll_interval": "1m"}, "poll_interval: it must be from 1 s to 15 s, not '1m'"),
    ({"keep_closed": "800d"}, "keep_closed: it must be from 0 s to 365 d, not '800d'"),
    ({"webhook": "https://example.com"}, "webhook: it is not a JSON object"),
    ({"webhook": {}}, "webhook: the key url is missing"),
    ({"webhook": {"url": "https://x", "retries": 3}}, "webhook: 'retries' is not a key of it; it has url, secret_file, form, events"),
    ({"webhook": {"url": "http://example.com/x"}},
     "webhook, url: it must begin with https://; only to this machine itself http:// will do"),
    ({"webhook": {"url": "http://127.0.0.1.example.com/x"}},
     "webhook, url: it must begin with https://; only to this machine itself http:// will do"),
    ({"webhook": {"url": "file:///etc/shadow"}}, "webhook, url: it is not a URL such as https://example.com/path"),
    ({"webhook": {"url": "https://example.com/x y"}}, "webhook, url: it is not a URL such as https://example.com/path"),
    ({"webhook": {"url": "https://example.com:port/"}}, "webhook, url: it is not a URL"),
    ({"webhook": {"url": "https://[::1"}}, "webhook, url: it is not a URL"),
    ({"webhook": {"url": "https://x", "secret_file": "secret"}}, "webhook, secret_file: 'secret' is not an absolute path"),
    ({"webhook": {"url": "https://x", "form": "xml"}}, "webhook, form: 'xml' is none of json, text"),
    ({"webhook": {"url": "https://x", "events": []}}, "webhook, events: the list is empty"),
]  # fmt: skip


@pytest.mark.parametrize(("values", "expected"), REFUSED, ids=[expected[:60] for _values, expected in REFUSED])
def test_what_cannot_be_meant_is_refused_by_file_and_key(host: Host, values: Dict[str, Any], expected: str) -> None:
    host.config(**values)
    assert host.check() == ["config.json, " + expected]
    with pytest.raises(ConfigurationError) as refusal:
        host.load()
    assert refusal.value.message == "%s, %s" % (host.paths.configuration, expected)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"timeouts": 5}, "config.json: 'timeouts' is not a key of it; it has format, mode, endpoint, api_version, timeout, vm_name, "
         "approve, rules, windows, prepare_budget, approve_reserve, recover_budget, allow_empty_prepare, scope_size, lease, hold_for, "
         "keep_closed, poll_interval, webhook"),
        ({"endpoint": "ftp://x"}, "config.json, endpoint: 'ftp://x' is not the base URL of a metadata service; give something like "
         "http://169.254.169.254"),
        ({"api_version": "newest"}, "config.json, api_version: 'newest' is not a version; give a date such as 2020-07-01"),
        ({"timeout": "0.5s"}, "config.json, timeout must be at least 1 s, not '0.5s'"),
        ({"vm_name": "web 0"}, "config.json, vm_name: 'web 0' is not a name or id of Azure; give a YAML list of whole names, "
         "not the text of a list"),
        ({"windows": [{"from": "22:00", "to": "04:00", "timezone": "Mars/Base"}]}, None),
    ],
)  # fmt: skip
def test_what_other_parts_refuse_is_told_with_the_file(host: Host, values: Dict[str, Any], expected: Optional[str]) -> None:
    host.config(**values)
    (problem,) = host.check()
    if expected is None:
        assert problem.startswith("config.json, windows: there are no data of the time zone 'Mars/Base' in ")
    else:
        assert problem == expected


@pytest.mark.parametrize("url", ["http://localhost:8080/x", "http://127.0.0.7/", "http://[::1]:80/x", "https://example.com:8443/x"])
def test_a_webhook_may_be_on_this_machine_or_behind_tls(host: Host, url: str) -> None:
    host.config(webhook={"url": url})
    found = host.load().webhook
    assert found is not None
    assert found.url == url


def test_the_address_of_a_webhook_is_not_repeated(host: Host) -> None:
    """With many services whoever knows the path may write there."""
    host.config(webhook={"url": "http://example.com/services/T000/very-secret"})
    assert "very-secret" not in "".join(host.check())


def test_a_secret_that_is_not_there_is_named_by_the_check_only(host: Host, tmp_path: Path) -> None:
    secret = str(tmp_path / "s")
    host.config(webhook={"url": "https://example.com", "secret_file": secret})
    assert host.check() == ["config.json, webhook, secret_file: there is no file '%s'" % secret]
    assert host.load().webhook == Webhook("https://example.com", secret)


def test_all_problems_are_told_and_the_first_with_the_number_of_the_others(host: Host) -> None:
    host.config(mode="auto", lease=1, scope_size="two")
    assert [problem.split(":")[0] for problem in host.check()] == ["config.json, mode", "config.json, scope_size", "config.json, lease"]
    with pytest.raises(ConfigurationError) as refusal:
        host.load()
    assert refusal.value.message == (
        "%s, mode: 'auto' is none of watch, prepare, prepare_and_approve; and 2 more: see `azure-event-handlers check-config`"
        % host.paths.configuration
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "config.json is not JSON: Expecting value: line 1 column 1 (char 0)"),
        ("[]", "config.json: it is not a JSON object"),
        ('{"format": 1, "format": 1}', "config.json is not JSON: a key twice in one object"),
        ('{"format": 1, "lease": NaN}', "config.json is not JSON: NaN is not JSON"),
        ("{}", "config.json, format: it is None, and this program reads 1"),
        (" " * (1024 * 1024 + 1), "config.json is larger than 1048576 bytes"),
    ],
)
def test_a_file_that_is_not_the_configuration_is_refused(host: Host, text: str, expected: str) -> None:
    host.text(host.paths.configuration, text)
    assert host.check() == [expected]


def test_a_missing_configuration_says_who_installs_it(host: Host) -> None:
    os.unlink(host.paths.configuration)
    assert host.check() == ["config.json is missing: let the role event_handlers install it"]


# --- handlers ----------------------------------------------------------------------------------------------------------

OPTIONS: List[Tuple[Any, str]] = [
    ([], ": it is not a JSON object"),
    ({"type": "Reboot"}, ": 'type' is not a key of it; it has event_types, limit, required, environment, properties"),
    ({"event_types": "Reboot"}, ", event_types: 'Reboot' is not a list"),
    ({"event_types": []}, ", event_types: the list is empty"),
    ({"event_types": ["Nap"]}, ", event_types: 'Nap' is none of Freeze, Reboot, Redeploy, Preempt, Terminate, unknown"),
    ({"limit": 0}, ", limit: it must be from 1 s to 365 d, not 0"),
    ({"limit": None}, ", limit: None " + NOT_A_DURATION),
    ({"required": "true"}, ", required: 'true' is not true or false"),
    ({"environment": ["A=b"]}, ", environment: a list is not an object of names and texts"),
    ({"environment": {"lower": "x"}}, ", environment: 'lower' is not the name of a variable: capital letters, digits and underscores"),
    ({"environment": {"A B": "x"}}, ", environment: 'A B' is not the name of a variable: capital letters, digits and underscores"),
    ({"environment": {"PORT": 80}}, ", environment: the value of PORT is 80, not text: put it in quotes"),
    ({"environment": {"A": "x\ny"}}, ", environment: the value of A has a control character, such as the end of a line"),
    ({"environment": {"A": "x\u009by"}}, ", environment: the value of A has a control character, such as the end of a line"),
    *[({"environment": {name: "x"}}, ", environment: %s is set by the executor: choose another name" % name)
      for name in ("PHASE", "ATTEMPT", "TRY", "INTERRUPTED", "EVENT_TYPE", "EVENT_")],
    ({"properties": "A=b"}, ", properties: 'A=b' is not a list of texts such as ProtectSystem=strict"),
    ({"properties": ["strict"]}, ", properties: 'strict' is not a property such as ProtectSystem=strict"),
    ({"properties": [5]}, ", properties: 5 is not a property such as ProtectSystem=strict"),
    ({"properties": ["User=x\nType=exec"]}, ", properties: 'User=x\\nType=exec' is not a property such as ProtectSystem=strict"),
    *[({"properties": ["User=x", "%s=x" % name]},
       ", properties: %s is the executor's to set, or would break what it promises: leave it out" % name)
      for name in ("Type", "RemainAfterExit", "RuntimeMaxSec", "KillMode", "StandardInput", "StandardOutput", "ExecStartPre",
                   "ExecStopPost", "Restart", "Environment", "RefuseManualStop", "FailureAction")],
]  # fmt: skip


@pytest.mark.parametrize(("options", "expected"), OPTIONS, ids=[expected[:60] for _options, expected in OPTIONS])
def test_options_of_a_handler_that_cannot_be_meant_are_refused(host: Host, options: Any, expected: str) -> None:
    host.handler("10-drain", options)
    assert host.check() == ["options.d/10-drain.json" + expected]


def test_what_would_break_the_contract_with_a_handler_is_forbidden() -> None:
    """Of each of these: when it begins, how long it may take, what it reads, what is kept, that all of it ends."""
    promised = {"Type", "RemainAfterExit", "RuntimeMaxSec", "KillMode", "StandardInput", "StandardOutput", "StandardError", "ExecStart"}
    assert promised | {"Restart", "TimeoutStopSec", "CollectMode", "Environment"} <= OURS
    confinement = {"User", "ProtectSystem", "MemoryMax", "PrivateTmp", "NoNewPrivileges", "CapabilityBoundingSet", "Slice", "Nice"}
    assert not confinement & OURS


@pytest.mark.parametrize("name", ["drain", "1-drain", "10-Drain", "10-", "10-_x", "10-drain.sh", "10-drain~", "010-drain", "10-dr\nain"])
def test_a_name_that_is_no_handlers_is_refused_and_not_passed_over(host: Host, name: str) -> None:
    host.handler(name)
    (problem,) = host.check()
    assert problem.endswith("is not the name of a handler, such as 10-drain: rename it, or take it out of this folder")
    assert "\n" not in problem


@pytest.mark.parametrize("name", ["20-other", "10-drain.json", ".."])
def test_options_that_belong_to_no_handler_are_refused(host: Host, name: str) -> None:
    host.handler("10-drain")
    host.options(name, {})
    expected = [] if name == ".." else ["options.d/%s.json belongs to no handler: remove it, or install its handler" % name]
    assert host.check() == expected  # a hidden file is one that is being written


def test_a_handler_that_was_renumbered_and_left_behind_is_noticed(host: Host) -> None:
    host.handler("10-drain")
    host.handler("15-drain")
    assert host.check() == ["handlers.d/15-drain: handlers.d/10-drain has the same name: remove or rename one of them"]


def test_required_handlers_fit_into_the_prepare_budget(host: Host) -> None:
    host.handler("10-drain", {"limit": "4m"})
    host.handler("20-leave", {"limit": "2m", "event_types": ["Reboot"]})
    host.handler("30-nice-to-have", {"limit": "9m", "required": False})
    expected = (
        "config.json, prepare_budget: the required handlers for Reboot may take 6 min together, more than these 5 min: "
        "raise it, or lower their limits"
    )
    assert host.check() == [expected]
    host.config(prepare_budget="6m")
    assert host.check() == []


def test_required_handlers_fit_into_the_budget_of_each_rule_that_prepares_for_their_type(host: Host) -> None:
    host.handler("10-drain", {"limit": "4m", "event_types": ["Freeze"]})
    rules = [
        {"name": "short", "action": "prepare", "event_types": ["Freeze", "Redeploy"], "prepare_budget": "3m"},
        {"name": "other", "action": "prepare", "event_types": ["Reboot"], "prepare_budget": "1m"},
    ]
    host.config(rules=rules)
    expected = (
        "config.json, rules, prepare_budget of 'short': the required handlers for Freeze may take 4 min together, more than these 3 min: "
        "raise it, or lower their limits"
    )
    assert host.check() == [expected]


def test_the_budget_is_checked_for_each_type_there_is(host: Host) -> None:
    host.handler("10-drain", {"limit": "10m", "event_types": list(TYPE_CHOICES)})
    assert len(host.check()) == len(TYPE_CHOICES)


# --- who may have written it -------------------------------------------------------------------------------------------


def at(host: Host, name: str) -> str:
    return str(host.etc / name) if name else str(host.etc)


FILES = ["config.json", "handlers.d/10-drain", "options.d/10-drain.json"]
FOLDERS = ["", "handlers.d", "options.d"]


@pytest.mark.parametrize("name", [*FILES, *FOLDERS])
@pytest.mark.parametrize(("bits", "who"), [(0o020, "its group"), (0o002, "everybody"), (0o022, "its group and everybody")])
def test_what_others_can_write_is_not_taken(host: Host, name: str, bits: int, who: str) -> None:
    host.handler("10-drain", {})
    path = at(host, name)
    os.chmod(path, stat.S_IMODE(os.stat(path).st_mode) | bits)
    assert host.check() == ["%s can be written by %s: chmod go-w it, and look at what is in it" % (name or "ETC", who)]
    with pytest.raises(ConfigurationError):
        host.load()


@pytest.mark.parametrize("name", FILES)
def test_a_symbolic_link_is_not_followed(host: Host, name: str) -> None:
    host.handler("10-drain", {})
    path = at(host, name)
    os.rename(path, path.replace("10-drain", ".elsewhere").replace("config.json", ".elsewhere"))
    os.symlink(".elsewhere" if "json" not in name or name == "config.json" else ".elsewhere.json", path)
    assert os.path.isfile(path)
    assert host.check() == ["%s is a symbolic link: put the file itself there" % name]


@pytest.mark.parametrize("name", ["handlers.d", "options.d", ""])
def test_a_folder_that_is_a_symbolic_link_is_not_followed(host: Host, name: str) -> None:
    host.handler("10-drain", {})
    path = at(host, name)
    os.rename(path, path + "-elsewhere")
    os.symlink(path + "-elsewhere", path)
    assert host.check() == ["%s is a symbolic link: put the folder itself there" % (name or "ETC")]


@pytest.mark.parametrize("name", FILES)
def test_what_is_no_regular_file_is_not_opened(host: Host, name: str) -> None:
    """A pipe would be waited for."""
    host.handler("10-drain", {})
    path = at(host, name)
    os.unlink(path)
    os.mkfifo(path, 0o755)
    assert host.check() == ["%s is not a regular file: take it out of this folder" % name]


def test_a_file_where_a_folder_belongs_is_refused(host: Host) -> None:
    Path(host.paths.handlers).rmdir()
    host.text(host.paths.handlers, "")
    assert host.check() == ["handlers.d is not a folder", "handlers.d cannot be read: Not a directory"]


def test_a_handler_that_cannot_be_executed_is_refused(host: Host) -> None:
    os.chmod(host.handler("10-drain"), 0o644)
    assert host.check() == ["handlers.d/10-drain cannot be executed: chmod 755 it, or take it out of this folder"]


def test_what_somebody_else_owns_is_not_taken(host: Host) -> None:
    """The files are ours; to whoever expects another owner, they are somebody else's."""
    host.handler("10-drain", {})
    theirs, said = (
        ME + 1,
        "who could put there what runs as the user %d: chown it to the user %d, and look at what is in it" % (ME + 1, ME + 1),
    )
    problems = host.check(owner=theirs)
    # Folders above may be root's in any case.
    folders = ["ETC", "handlers.d", "options.d"] + ([] if ME == 0 else [str(host.etc.parent), str(host.paths.root)])
    expected = ["%s belongs to the user %d, %s" % (name, ME, said) for name in [*folders, *FILES[1:]]]
    assert sorted(problems) == sorted(expected)
    with pytest.raises(ConfigurationError):
        load(host.paths, owner=theirs)


def test_a_folder_above_that_others_can_write_is_refused(host: Host) -> None:
    """Who can write there puts another folder in the place of this one."""
    host.etc.parent.chmod(0o777)
    assert host.check() == ["%s can be written by its group and everybody: chmod go-w it, and look at what is in it" % host.etc.parent]


def status(mode: int, uid: int) -> os.stat_result:
    return os.stat_result((mode, 1, 1, 1, uid, 0, 0, 0, 0, 0))


@pytest.mark.parametrize(
    ("mode", "uid", "owner", "above", "safe"),
    [
        (0o755, 0, 0, True, True),
        (0o755, 0, 1000, True, True),  # root may do everything in any case
        (0o755, 0, 1000, False, False),
        (0o755, 1000, 0, True, False),
        (0o755, 1001, 1000, True, False),
        (0o1777, 0, 0, True, False),  # /tmp is no place for what root runs
        (0o1777, 0, 1000, True, True),  # but for a rehearsal it is
        (0o777, 0, 1000, True, False),
        (0o775, 0, 0, True, False),
    ],
)
def test_folders_above_are_safe_if_only_the_owner_and_root_can_change_them(
    mode: int, uid: int, owner: int, above: bool, safe: bool
) -> None:
    found = list(c.folder_problems("/tmp", status(stat.S_IFDIR | mode, uid), owner=owner, above=above))
    assert (found == []) is safe
