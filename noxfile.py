# Copyright: (c) 2026, cloud_maintenance contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One session per check. `make test` runs those with the tag FIRST, `make test-all` those with REST; `make check NAME=ruff` runs one alone.

Two sessions with another tag in common are never run at the same time; tests/tools/everything.py says what the tags WAITS and ALONE do.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import nox

sys.path.insert(0, str(Path(__file__).resolve().parent / "tests" / "tools"))

import ansible_test
import environments
import pythons
import system
import trees
from everything import ALONE, FIRST, REST, WAITS
from places import CACHE, COLLECTION, LAB, ROOT

nox.options.default_venv_backend = "none"

CORES = ("2.16", "newest")
RUNTIME = ("meta", "plugins", "roles", "playbooks")  # with these alone the collection must work
TOOLS = "tests/tools"
PYTEST = ("-m", "pytest")
# Of the playbook's scenarios those that fit into `make test-all`; docs/contributing.md names the others.
SCENARIOS = tuple(f"tests/rolling/{name}.py" for name in ("test_harness", "test_round", "test_events", "test_faults"))
UNITS = "tests/unit/plugins"  # the tests of the plugins, what they share with hosts included
SIMULATOR = "roles/imds_simulator/files"
HANDLERS = "roles/event_handlers/files"
PROGRAMS = ("-p", "imds_simulator", "-p", "azure_event_handlers", "-m", "installer", "-m", "start")  # for mypy
# Their examples are whole policies with windows, each a dozen times as much work as a document or a date.
LONG_PROPERTIES = ("tests/unit/plugins/module_utils/test_properties_policy.py",)
# Files of tests/lab/hosts that play many scenarios at the same time.
CROWDED = ("test_hosts_awkward", "test_hosts_through_events", "test_hosts_killed", "test_no_request_lost")
# Takes as long as all others together: `make check NAME=hosts ARGS=tests/lab/hosts/test_rolling_no_request_lost.py`.
LONG = "test_rolling_no_request_lost"


def check(*tags: str, name: Optional[str] = None) -> Any:
    """A session that is a check of `make test` (FIRST) or of `make test-all` (REST)."""
    return nox.session(tags=list(tags), name=name)


def program(session: nox.Session, environment: str, name: str = "python") -> str:
    """A program of an environment, which is made if need be; ends the session where the machine lacks something."""
    try:
        return str(environments.ensure(environment) / name)
    except environments.Missing as missing:
        session.error(str(missing))


def with_tree(**more: str) -> Dict[str, str]:
    """The environment in which plain Python and Ansible see the collection of this checkout."""
    top = str(trees.linked())
    own = {
        "PYTHONPATH": top,
        "ANSIBLE_COLLECTIONS_PATH": top,
        "ANSIBLE_HOME": str(environments.home("unit")),
    }
    return {**environments.clean_environment(), **own, **more}


def programs_of(session: nox.Session, *cores: str) -> str:
    """Where the programs of these versions of Ansible are, for tests that play with them."""
    return json.dumps({core: os.path.dirname(program(session, f"core-{core}")) for core in cores})


def with_locales(session: nox.Session) -> Dict[str, str]:
    """The variables under which tests find five locales."""
    try:
        return system.locales()
    except environments.Missing as missing:
        session.error(str(missing))


def on_path(session: nox.Session, environment: str) -> Dict[str, str]:
    """The environment in which programs of a virtual environment find each other."""
    folder = os.path.dirname(program(session, environment))
    base = environments.clean_environment()
    return {**base, "PATH": os.pathsep.join([folder, base["PATH"]]), "HOME": str(environments.home(environment))}


def run_ansible_test(session: nox.Session, core: str, *arguments: str) -> None:
    """Runs ansible-test on a fresh copy: what earlier runs left would be tested too."""
    executable = program(session, f"core-{core}", "ansible-test")
    copy = trees.copied(f"{arguments[0]}-{core}")
    session.chdir(copy)
    command = [executable, *arguments, *session.posargs]
    session.run(sys.executable, f"{ROOT / TOOLS}/loud.py", *command, env=ansible_test.environment(core, arguments[0]), external=True)


def target_python(session: nox.Session, *versions: str) -> str:
    version = pythons.first(*versions)
    if version is None:
        session.error(f"Python {versions[-1]} is missing; {environments.how_to_get(versions[-1])}")
    return version


def run_units(session: nox.Session, core: str, *versions: str) -> None:
    """The tests of the plugins: the roles' programs do not meet Ansible."""
    run_ansible_test(session, core, "units", "--venv", "--python", target_python(session, *versions), f"{UNITS}/")


def run_integration(session: nox.Session, core: str, *versions: str) -> None:
    """The targets, where Ansible and the modules run with Pythons of their own."""
    target = target_python(session, *versions)
    controller = pythons.first(*environments.RECIPES[f"core-{core}"].pythons)
    places = ["--controller", f"origin:python=venv/{controller}", "--target", f"controller:python=venv/{target}"]
    run_ansible_test(session, core, "integration", *places)


@check(REST)
def properties(session: nox.Session) -> None:
    """The property tests, ten thousand examples each, of the policy a quarter of that."""
    files = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests" / "unit").rglob("test_properties_*.py"))
    if not set(LONG_PROPERTIES) < set(files):
        session.error(f"not all of {', '.join(LONG_PROPERTIES)} are there, or nothing else is")
    python = program(session, "core-newest")

    def play(profile: str, *arguments: str) -> None:
        environment = with_tree(HYPOTHESIS_PROFILE=profile)
        session.run(python, *PYTEST, *arguments, env=environment, external=True)

    if session.posargs:
        play("ci", *session.posargs)
        return
    several = ["--durations=10", "--numprocesses", "2"]
    play("ci", *several, *(name for name in files if name not in LONG_PROPERTIES))
    play("ci-long", *several, *LONG_PROPERTIES)


def play_hosts(session: nox.Session, *arguments: str) -> None:
    places = [trees.linked(), ROOT / HANDLERS, ROOT / SIMULATOR, ROOT / "tests" / "paths"]
    environment = with_tree(PYTHONPATH=os.pathsep.join(str(place) for place in places))
    session.run(program(session, "core-newest"), *PYTEST, *(session.posargs or arguments), env=environment, external=True)


@check(REST)
def paths(session: nox.Session) -> None:
    """Every path that two events can take through a host, with kills, reboots, failures and mistakes on it."""
    play_hosts(session, "--numprocesses", "2", "--durations=10", "tests/paths")


@check(REST, "home-units-2.16", name="units-2.16-lowest")
def units_2_16_lowest(session: nox.Session) -> None:
    """ansible-test units on ansible-core 2.16 with the lowest Python of a target."""
    run_units(session, "2.16", environments.TARGETS["2.16"][0])


@check(REST, "home-units-2.16", name="units-2.16-highest")
def units_2_16_highest(session: nox.Session) -> None:
    """ansible-test units on ansible-core 2.16 with its highest Python."""
    run_units(session, "2.16", *environments.TARGETS["2.16"][1])


@check(REST, name="units-newest-lowest")
def units_newest_lowest(session: nox.Session) -> None:
    """ansible-test units on the newest ansible-core with the lowest Python of a target."""
    run_units(session, "newest", environments.TARGETS["newest"][0])


@check(REST, name="sanity-2.16")
def sanity_2_16(session: nox.Session) -> None:
    """ansible-test sanity on ansible-core 2.16."""
    run_ansible_test(session, "2.16", "sanity", "--venv")


@check(FIRST, "home-sanity-newest", name="sanity-newest")
def sanity_newest(session: nox.Session) -> None:
    """ansible-test sanity on the newest ansible-core, with its highest Python."""
    run_ansible_test(session, "newest", "sanity", "--venv", "--python", target_python(session, *environments.TARGETS["newest"][1]))


@check(REST, "home-sanity-newest", name="sanity-pythons")
def sanity_pythons(session: nox.Session) -> None:
    """ansible-test sanity on the newest ansible-core: everything compiles, and can be imported, with each Python."""
    run_ansible_test(session, "newest", "sanity", "--venv", "--test", "compile", "--test", "import")


@check(REST, name="integration-2.16")
def integration_2_16(session: nox.Session) -> None:
    """Integration targets against the simulator: ansible-core 2.16, and its lowest Python on the target."""
    run_integration(session, "2.16", environments.TARGETS["2.16"][0])


@check(REST, name="integration-newest")
def integration_newest(session: nox.Session) -> None:
    """Integration targets against the simulator: the newest ansible-core, and its highest Python on the target."""
    run_integration(session, "newest", *environments.TARGETS["newest"][1])


@check(FIRST)
def unit(session: nox.Session) -> None:
    """The unit tests on the newest ansible-core, fifty examples per property."""
    everything = ["--numprocesses", "3", "--durations=10", "tests/unit"]  # some wait for a time-out, and can do so together
    python = program(session, environments.play())
    session.run(python, *PYTEST, *(session.posargs or everything), env=with_tree(), external=True)


@check(REST)
def locales(session: nox.Session) -> None:
    """The tests that read dates, under five locales, with a thousand examples for each property."""
    python, environment = program(session, "core-newest"), with_tree(HYPOTHESIS_PROFILE="locales", **with_locales(session))
    probe = "import locale, os; [locale.setlocale(locale.LC_ALL, name) for name in os.environ['CLOUD_MAINTENANCE_LOCALES'].split()]"
    session.run(python, "-c", probe, env=environment, external=True)
    session.run(python, *PYTEST, "-k", "locale", "tests/unit", env=environment, external=True)


@check(REST)
def coverage(session: nox.Session) -> None:
    """Lines of the plugins at least 95 %, branches of the pure files 100 %."""
    data = CACHE / "coverage"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    environment = with_tree(COVERAGE_FILE=str(data / "data"), **with_locales(session))
    python = program(session, "core-newest")
    session.run(python, "-m", "coverage", "run", *PYTEST, UNITS, env=environment, external=True)
    session.run(python, "-m", "coverage", "combine", "--quiet", env=environment, external=True)
    session.run(python, "-m", "coverage", "report", "--show-missing", "--skip-covered", env=environment, external=True)
    session.run(python, "-m", "coverage", "json", "--quiet", "-o", str(data / "coverage.json"), env=environment, external=True)
    session.run(python, f"{TOOLS}/coverage_floor.py", str(data / "coverage.json"), external=True)


@check(FIRST, name="ansible-lint")
def ansible_lint(session: nox.Session) -> None:
    """ansible-lint with its production profile."""
    executable = program(session, "core-newest", "ansible-lint")
    copy = trees.copied("ansible-lint")
    session.chdir(copy)
    arguments = ["--offline", "--profile", "production", "--strict", *session.posargs]
    environment = {**on_path(session, "core-newest"), "ANSIBLE_COLLECTIONS_PATH": str(copy.parent.parent.parent)}
    session.run(executable, *arguments, env=environment, external=True)


@check(FIRST)
def ruff(session: nox.Session) -> None:
    """ruff: mistakes, unused code, the order of imports, and the layout of every Python file."""
    executable = program(session, "core-newest", "ruff")
    session.run(executable, "check", "--no-cache", *(session.posargs or ["."]), external=True)
    session.run(executable, "format", "--no-cache", "--check", *(session.posargs or ["."]), external=True)


def run_mypy(session: nox.Session, environment: str, paths: Sequence[str], *arguments: str) -> None:
    """mypy of this environment; `paths` are where it finds what is imported."""
    cache = str(CACHE / "mypy" / environment)
    command = [program(session, environment), "-m", "mypy", "--config-file", "pyproject.toml", "--cache-dir", cache]
    session.run(*command, *arguments, env={**with_tree(), "MYPYPATH": os.pathsep.join(paths)}, external=True)


@check(FIRST)
def mypy(session: nox.Session) -> None:
    """mypy: no untyped definition in the plugins, the roles' programs, the lab, the scenarios and the tools."""
    paths = [str(trees.linked()), SIMULATOR, HANDLERS]
    run_mypy(session, "core-newest", paths, "-p", f"ansible_collections.{COLLECTION}.plugins", *PROGRAMS)
    tools = [TOOLS, "tests/mutation", "tests/rolling", HANDLERS, str(trees.linked()), *LAB]
    folders = [ROOT / name for name in (TOOLS, "tests/mutation", "tests/rolling")]
    run_mypy(session, "core-newest", tools, *sorted(str(path.relative_to(ROOT)) for folder in folders for path in folder.glob("*.py")))
    run_mypy(session, "core-newest", tools, "-p", "lab")


@check(REST, name="mypy-3.8")
def mypy_3_8(session: nox.Session) -> None:
    """mypy: the code of targets, as Python 3.8 sees it."""
    # The older mypy is there for what Python 3.8 lacks; it follows a None less well than the newer one, which has just looked.
    older = ["--python-version", "3.8", "--disable-error-code", "union-attr"]
    paths = [str(trees.linked()), SIMULATOR, HANDLERS]
    run_mypy(session, "static-3.8", paths, *older, "-p", f"ansible_collections.{COLLECTION}.plugins.module_utils", *PROGRAMS)
    # Each stands alone, and has no ending in its name.
    for handler in sorted((ROOT / HANDLERS / "handlers").iterdir()):
        run_mypy(session, "static-3.8", paths, *older, "--scripts-are-modules", str(handler.relative_to(ROOT)))


@check(FIRST, name="docs-lint")
def docs_lint(session: nox.Session) -> None:
    """antsibull-docs: documentation of plugins and roles, with every reference validated."""
    executable = program(session, "core-newest", "antsibull-docs")
    session.chdir(trees.copied("docs-lint"))
    arguments = ["lint-collection-docs", "--plugin-docs", "--validate-collection-refs=all", "."]
    session.run(executable, *arguments, env=on_path(session, "core-newest"), external=True)


@check(FIRST)
def site(session: nox.Session) -> None:
    """The documentation site, without a warning, in .cache/site/html."""
    session.run(program(session, "core-newest"), f"{TOOLS}/site.py", env=on_path(session, "core-newest"), external=True)


@check(FIRST)
def changelog(session: nox.Session) -> None:
    """antsibull-changelog: fragments and changelog are well formed, and CHANGELOG.md says what they say."""
    copy = trees.copied("changelog")
    executable, environment = program(session, "core-newest", "antsibull-changelog"), on_path(session, "core-newest")
    session.chdir(copy)
    session.run(executable, "lint", env=environment, external=True)
    session.run(executable, "lint-changelog-yaml", "--strict", "changelogs/changelog.yaml", env=environment, external=True)
    session.run(executable, "generate", env=environment, external=True)
    if (copy / "CHANGELOG.md").read_bytes() != (ROOT / "CHANGELOG.md").read_bytes():
        session.error("CHANGELOG.md is not what antsibull-changelog makes of changelogs/changelog.yaml: run `antsibull-changelog generate`")


def run_package(session: nox.Session, core: str) -> None:
    built = trees.copied(f"package-{core}")
    bare = trees.copied(f"package-bare-{core}", only=RUNTIME)
    environment = on_path(session, f"core-{core}")
    session.run(program(session, f"core-{core}"), f"{TOOLS}/package.py", core, str(built), str(bare), env=environment, external=True)


@check(FIRST)
def package(session: nox.Session) -> None:
    """Build, install into an empty folder, list the plugins; the same with only meta, plugins, roles and playbooks."""
    run_package(session, "newest")


@check(REST, name="package-2.16")
def package_2_16(session: nox.Session) -> None:
    """The package on ansible-core 2.16."""
    run_package(session, "2.16")


@check(FIRST)
def importer(session: nox.Session) -> None:
    """galaxy-importer: what Galaxy and Automation Hub check when a collection is uploaded."""
    copy = trees.copied("importer")
    session.run(program(session, "core-newest"), f"{TOOLS}/import_check.py", str(copy), env=on_path(session, "core-newest"), external=True)


def rehearsing() -> Dict[str, str]:
    """The environment of a rehearsal, where modules are not compiled again in each process."""
    environment = trees.play_environment()
    return {**environment, "PYTHONPATH": os.pathsep.join([environment["PYTHONPATH"], str(ROOT / "tests" / "rolling" / "startup")])}


@check(FIRST, WAITS)
def rehearse(session: nox.Session) -> None:
    """What `make rehearse` shows: each step of a shared Reboot does what it says."""
    python = program(session, environments.play())
    session.run(python, f"{TOOLS}/rehearse.py", *session.posargs, env=rehearsing(), external=True)


def play_fleets(session: nox.Session, cores: Sequence[str], *arguments: str) -> None:
    runner = program(session, "core-newest", "ansible-runner")
    environment = {**with_tree(), "CLOUD_MAINTENANCE_CORES": programs_of(session, *cores), "CLOUD_MAINTENANCE_RUNNER": runner}
    session.run(program(session, "core-newest"), *PYTEST, *(session.posargs or arguments), env=environment, external=True)


@check(FIRST, WAITS, name="rolling-round")
def rolling_round(session: nox.Session) -> None:
    """One short round of the rolling playbook with the newest ansible-core, on a small fleet of hosts in folders."""
    play_fleets(session, ["newest"], "-k", "newest", "tests/rolling/test_round.py")


@check(REST, ALONE)
def rolling(session: nox.Session) -> None:
    """Events and faults under the rolling playbook, each scenario with one version of Ansible; all scenarios: ARGS="-n 3 tests/rolling"."""
    play_fleets(session, CORES, "--numprocesses", "3", "--one-core-each", "--durations=20", *SCENARIOS)


def play_in_lab(session: nox.Session, *parts: Sequence[str], cores: Sequence[str] = CORES, targets: Sequence[str] = ("3.8", "3.9")) -> None:
    """Each part is a run of pytest, one after the other; or what the command line says."""
    try:
        system.prepare_lab()
    except environments.Missing as missing:
        session.error(str(missing))
    own = with_tree()
    environment = {
        **own,
        "PYTHONPATH": os.pathsep.join([own["PYTHONPATH"], *LAB]),
        "CLOUD_MAINTENANCE_CORES": programs_of(session, *cores),
        "CLOUD_MAINTENANCE_TARGETS": json.dumps({version: program(session, f"target-{version}") for version in targets}),
    }
    for arguments in [session.posargs] if session.posargs else parts:
        session.run(program(session, "core-newest"), *PYTEST, *arguments, env=environment, external=True)


def so_many(files: int) -> List[str]:
    """Most of the time they wait for hosts, so more files at a time than there are cores keep those busy."""
    return ["--numprocesses", str(files), "--dist", "loadfile", "--durations=10"]


@check(FIRST, WAITS, name="hosts-round")
def hosts_round(session: nox.Session) -> None:
    """Real hosts with the role event_handlers through a Reboot, a Freeze and a killed executor (as root)."""
    if os.geteuid() != 0:
        session.skip("it starts real hosts, which only root can do")
    files = [f"tests/lab/hosts/{name}.py" for name in ("test_hosts_through_events", "test_hosts_killed")]
    some = "a_reboot_is_approved_and_recovered or a_freeze_is_approved_and_recovered or kill-unit"
    play_in_lab(session, [*so_many(2), "-k", some, *files], cores=["newest"], targets=())


@check(REST, WAITS)
def hosts(session: nox.Session) -> None:
    """The role event_handlers on hosts of the lab: every event, every fault and every crash (as root)."""
    # Those with many hosts do several things at a time by themselves.
    crowded = [f"tests/lab/hosts/{name}.py" for name in CROWDED]
    others = [f"--ignore={name}" for name in (*crowded, f"tests/lab/hosts/{LONG}.py")]
    play_in_lab(session, [*so_many(3), *others, "tests/lab/hosts"], ["--durations=5", *crowded])


@check(REST, WAITS)
def lab(session: nox.Session) -> None:
    """Real hosts that freeze, reboot and vanish, with both versions of Ansible and the oldest Pythons of targets (as root)."""
    play_in_lab(session, [*so_many(4), "tests/lab/tests"])


@check(REST, WAITS)
def rehearsal(session: nox.Session) -> None:
    """The rehearsal fails where a step does not hold, and leaves nothing behind."""
    python, arguments = program(session, "core-newest"), session.posargs or ["--numprocesses", "2", "tests/rehearsal"]
    session.run(python, *PYTEST, *arguments, env=rehearsing(), external=True)


@check(REST, WAITS)
def lives(session: nox.Session) -> None:
    """Real processes of a host, killed anywhere; handlers cut short anywhere; an hour of an agent with faults."""
    play_hosts(session, "--numprocesses", "2", "--durations=10", "tests/lives")


@nox.session
def mutation(session: nox.Session) -> None:
    """Changes each expression of the pure files and counts the changes that no unit test notices (takes minutes)."""
    session.run(program(session, "core-newest"), "tests/mutation/mutate.py", *session.posargs, env=with_tree(), external=True)


@nox.session(name="format", default=False)  # it changes files
def reformat(session: nox.Session) -> None:
    """Lays out every Python file as the check `ruff` wants it."""
    executable = program(session, "core-newest", "ruff")
    session.run(executable, "check", "--no-cache", "--select", "I", "--fix", *(session.posargs or ["."]), external=True)
    session.run(executable, "format", "--no-cache", *(session.posargs or ["."]), external=True)
