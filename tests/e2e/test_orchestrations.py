"""Orchestrations over OpenSSH: all steps of a target use one connection."""

from __future__ import annotations

STEP = """
{id}:
  salt.function:
    - name: cmd.run
    - tgt: t1
    - arg: ['echo $SSH_CONNECTION']
    - kwarg: {{python_shell: True}}
"""


def test_steps_use_the_connection_of_earlier_steps(make_project):
    project = make_project({"salt/orch.sls": "".join(STEP.format(id=id) for id in ("one", "two", "three"))})
    done = project.run("orchestrate", "orch", "--out", "json")
    assert done.code == 0, done.err
    [returns] = done.data["data"].values()
    ports = [ret["changes"]["ret"]["t1"] for ret in returns.values()]
    assert len(ports) == 3 and len(set(ports)) == 1 and ports[0].startswith("127.0.0.1 ")


def test_a_connection_that_broke_between_steps_is_opened_again(make_project, bed):
    """The state between the steps kills the server's processes of the connection, found by the client's port."""
    end = 'parents=$(pgrep -P {server}); test -n "$parents"; kill -KILL $parents; sleep 0.5'
    text = f"between:\n  cmd.run:\n    - name: '{end.format(server=bed.targets['t1'].process.pid)}'\n"
    project = make_project({"salt/orch.sls": STEP.format(id="one") + text + STEP.format(id="two")})
    done = project.run("orchestrate", "orch", "--out", "json")
    assert done.code == 0, done.out
    [returns] = done.data["data"].values()
    changes = {ret["__id__"]: ret["changes"] for ret in returns.values()}
    assert changes["one"]["ret"]["t1"] != changes["two"]["ret"]["t1"]
