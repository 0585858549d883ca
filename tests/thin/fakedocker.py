"""An imitation of docker: it creates, compares and removes containers and images, and runs nothing.

Its answers have the shape of podman 4.3's, reduced to the used keys; their values are synthetic.
"""

import json


class Refused(Exception):
    pass


def option(words, name, many=False):
    found = [word.partition("=")[2] for word in words if word.startswith(name + "=")]
    return found if many else (found[-1] if found else None)


def bare(words):
    return [word for word in words if not word.startswith("-")]


def fail(text):
    raise Refused("Error: " + text)


class Engine:
    """``run`` returns what ``cmd.run_all`` would; ``state`` is the current state, ``calls`` the received calls."""

    def __init__(self):
        images = {"tiny:1": {"Id": "a" * 64, "RepoTags": ["tiny:1"]}}
        self.state = {"container": {}, "image": images, "network": {"default": {"name": "default"}}, "volume": {}}
        self.calls, self.env, self.stdin, self.out = [], {}, None, []

    def run(self, argv, env=None, stdin=None, **kwargs):
        self.calls.append(list(argv[1:]))
        self.env, self.stdin, self.out = env or {}, stdin, []
        try:
            self.main(argv[1:])
        except Refused as exc:
            return {"retcode": 125, "stdout": "", "stderr": str(exc), "pid": 1}
        return {"retcode": 0, "stdout": "\n".join(self.out), "stderr": "", "pid": 1}

    def find(self, kind, name):
        for key, about in self.state[kind].items():
            if name == key or str(about.get("Id", "")) == name:
                return key, about
        fail(f"no such {kind} {name}" if kind != "image" else f"{name}: image not known")

    def inspect(self, kind, names):
        self.out.append(json.dumps([self.find(kind, name)[1] for name in names]))

    def create(self, words):
        at = next(number for number, word in enumerate(words) if not word.startswith("-"))
        options, image, command = words[:at], words[at], words[at + 1 :]
        number = len(self.state["container"]) + self.state.setdefault("made", 0)
        self.state["made"] += 1
        name = option(options, "--name") or f"random{number}"
        if name in self.state["container"]:
            fail(f"the container name {name} is already in use")
        names = [word.partition("=")[0] for word in option(options, "--env", True)]
        about = {
            "Id": f"{self.state['made']:064x}",
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
                "CreateCommand": words,
            },
            "ImageName": image,
            "HostConfig": {"Binds": self.binds(options), "ContainerIDFile": "/" + name},
            "NetworkSettings": {"Ports": {}, "Networks": {"default": {}}},
        }
        self.state["container"][name] = about
        self.out.append(about["Id"])

    def binds(self, options):
        """a mount without a source is a volume of its own, with an id"""
        given = option(options, "--volume", True)
        return [each if ":" in each else f"{self.state['made'] + 9:064x}:{each}:rw" for each in given]

    def move(self, word, name):
        about = self.find("container", name)[1]
        running = word in ("start", "restart", "unpause")
        ends = about["Config"]["Cmd"][:1] == ["true"]
        status = "paused" if word == "pause" else "running" if running and not ends else "exited"
        about["State"] = {"Status": status, "Running": status == "running", "Paused": status == "paused", "Pid": 7}
        env = about["Config"]["Env"]
        env += ["HOME=/root"] if running and "HOME=/root" not in env else []  # like podman
        for endpoint in about["NetworkSettings"]["Networks"].values():
            endpoint["IPAddress"] = "10.89.0.7" if status == "running" else ""

    def main(self, words):
        kind, rest = words[0], words[1:]
        if kind == "--version":
            self.out.append("podman version 4.3.1")
        elif kind == "version":
            self.out.append('{"Client":{"APIVersion":"4.3.1","Version":"4.3.1","OsArch":"linux/amd64"}}')
        elif kind in ("container", "image", "network", "volume"):
            self.thing(kind, rest[0], rest[1:])
        elif kind == "create":
            self.create(rest)
        elif kind in ("start", "stop", "restart", "pause", "unpause"):
            self.move(kind, bare(rest)[0])
        elif kind == "kill":
            self.find("container", bare(rest)[0])[1].setdefault("Signals", []).append(option(rest, "--signal"))
        elif kind == "rename":
            name, about = self.find("container", rest[0])
            self.state["container"][rest[1]] = dict(self.state["container"].pop(name), Name=rest[1])
        elif kind == "rm":
            del self.state["container"][self.find("container", bare(rest)[0])[0]]
        elif kind == "ps":
            network = option(rest, "--filter")
            for name, about in self.state["container"].items():
                is_in_network = not network or network.split("=")[1] in about["NetworkSettings"]["Networks"]
                if is_in_network and ("-a" in rest or about["State"]["Running"]):
                    shown = f"{name} {about['Id']}" if any("{{.Names}} {{.ID}}" in word for word in rest) else name
                    shown = f"{about['Id']} Up 1 second" if any("{{.Status}}" in word for word in rest) else shown
                    self.out.append(about["Id"] if "-q" in rest else shown)
        elif kind == "images":
            for name, about in self.state["image"].items():
                self.out.append(about["Id"] if "-q" in rest else name)
        elif kind == "rmi":
            for name in bare(rest):
                del self.state["image"][self.find("image", name)[0]]
        elif kind == "pull":
            fail(f"initializing source docker://{rest[-1]}: connection refused")
        elif kind == "login":
            self.state["login"] = [rest, self.stdin]
        else:
            fail(f"unknown command {words}")

    def thing(self, kind, verb, rest):
        if verb == "inspect":
            self.inspect(kind, rest)
        elif verb == "ls":
            for name in self.state[kind]:
                self.out.append(name)
        elif verb == "create" and kind == "network":
            name = bare(rest)[-1]
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
            name = bare(rest)[-1]
            self.state[kind][name] = {"Name": name, "Driver": option(rest, "--driver") or "local"}
        elif verb == "rm":
            del self.state[kind][self.find(kind, bare(rest)[-1])[0]]
        else:
            network, container = bare(rest)
            self.find(kind, network)
            about = self.find("container", container)[1]
            networks = about["NetworkSettings"]["Networks"]
            if verb == "connect":
                address = "10.89.0.8" if about["State"]["Running"] else ""
                networks[network] = {"Aliases": option(rest, "--alias", True), "IPAddress": address}
            else:
                networks.pop(network, None)
