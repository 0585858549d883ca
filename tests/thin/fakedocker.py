"""An imitation of docker: it creates, compares and removes containers and images, and executes none.

Its output has the shape of podman 4.3's, reduced to the used keys; their values are synthetic.
"""

import json


class Failure(Exception):
    pass


def option(arguments, name, many=False):
    values = [argument.partition("=")[2] for argument in arguments if argument.startswith(name + "=")]
    return values if many else (values[-1] if values else None)


def positional(arguments):
    return [argument for argument in arguments if not argument.startswith("-")]


def fail(text):
    raise Failure("Error: " + text)


class Engine:
    """``run`` has the returns of ``cmd.run_all``; ``state`` is the current state, ``calls`` has the received calls."""

    def __init__(self):
        images = {"tiny:1": {"Id": "a" * 64, "RepoTags": ["tiny:1"]}}
        self.state = {"container": {}, "image": images, "network": {"default": {"name": "default"}}, "volume": {}}
        self.calls, self.env, self.stdin, self.out = [], {}, None, []

    def run(self, argv, env=None, stdin=None, **kwargs):
        self.calls.append(list(argv[1:]))
        self.env, self.stdin, self.out = env or {}, stdin, []
        try:
            self.main(argv[1:])
        except Failure as exc:
            return {"retcode": 125, "stdout": "", "stderr": str(exc), "pid": 1}
        return {"retcode": 0, "stdout": "\n".join(self.out), "stderr": "", "pid": 1}

    def find(self, kind, name):
        for key, record in self.state[kind].items():
            if name == key or str(record.get("Id", "")) == name:
                return key, record
        fail(f"no such {kind} {name}" if kind != "image" else f"{name}: image not known")

    def inspect(self, kind, names):
        self.out.append(json.dumps([self.find(kind, name)[1] for name in names]))

    def create(self, arguments):
        position = next(number for number, argument in enumerate(arguments) if not argument.startswith("-"))
        options, image, command = arguments[:position], arguments[position], arguments[position + 1 :]
        number = len(self.state["container"]) + self.state.setdefault("created", 0)
        self.state["created"] += 1
        name = option(options, "--name") or f"random{number}"
        if name in self.state["container"]:
            fail(f"the container name {name} is already in use")
        names = [word.partition("=")[0] for word in option(options, "--env", True)]
        record = {
            "Id": f"{self.state['created']:064x}",
            "Name": name,
            "Image": self.find("image", image)[1]["Id"],
            "Created": "2026-11-21T21:09:32.5Z",
            "Path": (command or ["sh"])[0],
            "Args": command[1:],
            "State": {"Status": "created", "Running": False, "Paused": False, "Pid": 0},
            "Config": {
                "Image": image,
                "Cmd": command,
                "Hostname": option(options, "--hostname") or name[:12],
                "Env": [f"{key}={self.env.get(key, '')}" for key in names] + [f"HOSTNAME={name}"],
                "Labels": dict(word.split("=") for word in option(options, "--label", True)) or None,
                "Tty": "--tty" in options,
                "CreateCommand": arguments,
            },
            "ImageName": image,
            "HostConfig": {"Binds": self.binds(options), "ContainerIDFile": "/" + name},
            "NetworkSettings": {"Ports": {}, "Networks": {"default": {}}},
        }
        self.state["container"][name] = record
        self.out.append(record["Id"])

    def binds(self, options):
        """The volumes of the options; one without a source gets an id."""
        volumes = option(options, "--volume", True)
        return [volume if ":" in volume else f"{self.state['created'] + 9:064x}:{volume}:rw" for volume in volumes]

    def move(self, verb, name):
        record = self.find("container", name)[1]
        running = verb in ("start", "restart", "unpause")
        ends = record["Config"]["Cmd"][:1] == ["true"]
        status = "paused" if verb == "pause" else "running" if running and not ends else "exited"
        record["State"] = {"Status": status, "Running": status == "running", "Paused": status == "paused", "Pid": 7}
        env = record["Config"]["Env"]
        env += ["HOME=/root"] if running and "HOME=/root" not in env else []  # like podman
        for endpoint in record["NetworkSettings"]["Networks"].values():
            endpoint["IPAddress"] = "10.89.0.7" if status == "running" else ""

    def main(self, arguments):
        kind, rest = arguments[0], arguments[1:]
        if kind == "--version":
            self.out.append("podman version 4.3.1")
        elif kind == "version":
            self.out.append('{"Client":{"APIVersion":"4.3.1","Version":"4.3.1","OsArch":"linux/amd64"}}')
        elif kind in ("container", "image", "network", "volume"):
            self.manage(kind, rest[0], rest[1:])
        elif kind == "create":
            self.create(rest)
        elif kind in ("start", "stop", "restart", "pause", "unpause"):
            self.move(kind, positional(rest)[0])
        elif kind == "wait":
            self.move("stop", rest[0])
            self.out.append("1" if self.find("container", rest[0])[1]["Config"]["Cmd"][:1] == ["false"] else "0")
        elif kind == "logs":
            self.out.append("output of " + " ".join(self.find("container", rest[0])[1]["Config"]["Cmd"]))
        elif kind == "kill":
            self.find("container", positional(rest)[0])[1].setdefault("Signals", []).append(option(rest, "--signal"))
        elif kind == "rename":
            name, record = self.find("container", rest[0])
            self.state["container"][rest[1]] = dict(self.state["container"].pop(name), Name=rest[1])
        elif kind == "rm":
            del self.state["container"][self.find("container", positional(rest)[0])[0]]
        elif kind == "ps":
            network = option(rest, "--filter")
            for name, record in self.state["container"].items():
                is_in_network = not network or network.split("=")[1] in record["NetworkSettings"]["Networks"]
                if is_in_network and ("-a" in rest or record["State"]["Running"]):
                    line = f"{name} {record['Id']}" if any("{{.Names}} {{.ID}}" in word for word in rest) else name
                    line = f"{record['Id']} Up 1 second" if any("{{.Status}}" in word for word in rest) else line
                    self.out.append(record["Id"] if "-q" in rest else line)
        elif kind == "images":
            for name, record in self.state["image"].items():
                self.out.append(record["Id"] if "-q" in rest else name)
        elif kind == "rmi":
            for name in positional(rest):
                del self.state["image"][self.find("image", name)[0]]
        elif kind == "pull":
            fail(f"initializing source docker://{rest[-1]}: connection refused")
        elif kind == "login":
            self.state["login"] = [rest, self.stdin]
        else:
            fail(f"unknown command {arguments}")

    def manage(self, kind, verb, rest):
        if verb == "inspect":
            self.inspect(kind, rest)
        elif verb == "ls":
            for name in self.state[kind]:
                self.out.append(name)
        elif verb == "create" and kind == "network":
            name = positional(rest)[-1]
            pool = {"subnet": option(rest, "--subnet"), "gateway": option(rest, "--gateway")}
            labels = dict(word.split("=") for word in option(rest, "--label", True))
            self.state[kind][name] = {
                "name": name,
                "id": name * 3,
                "driver": option(rest, "--driver") or "bridge",
                "labels": labels,
                "subnets": [pool] if pool["subnet"] else [{"subnet": "10.89.0.0/24", "gateway": "10.89.0.1"}],
            }
        elif verb == "create":
            name = positional(rest)[-1]
            self.state[kind][name] = {"Name": name, "Driver": option(rest, "--driver") or "local"}
        elif verb == "rm":
            del self.state[kind][self.find(kind, positional(rest)[-1])[0]]
        else:
            network, container = positional(rest)
            self.find(kind, network)
            record = self.find("container", container)[1]
            networks = record["NetworkSettings"]["Networks"]
            if verb == "connect":
                address = "10.89.0.8" if record["State"]["Running"] else ""
                networks[network] = {"Aliases": option(rest, "--alias", True), "IPAddress": address}
            else:
                networks.pop(network, None)
