"""Three machines with PostgreSQL, Patroni and etcd, set up by the page: network and mount namespaces on one bridge, so that
addresses, ports and paths are those that the page names, and a machine can be cut off or killed as a whole."""

import json
import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from waiting import wait_until

PAGE = Path(__file__).resolve().parents[2] / "docs/high-availability.md"
PASSWORDS = {"REPLICATION": "one-two", "SUPERUSER": "three-four", "ROOKERY": "five-six"}
# Of each machine; what stands there is its own.
FOLDERS = ["/etc/patroni", "/var/lib/etcd", "/var/lib/postgresql", "/run/postgresql", "/etc/default",
           "/etc/systemd/system"]
# Room for an hour of mail and for the log of it that a machine which is away still needs.
DISK = "4g"


def blocks():
    found = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    assert len(found) == 3, f"the page has {len(found)} blocks, this knows 3"
    return found


def sh(script, **settings):
    subprocess.run(["bash", "-euc", script], check=True, env={**os.environ, **PASSWORDS, **settings})


class Machine:
    def __init__(self, number, script, folder):
        self.name, self.address, self.link, self.log = f"db{number}", f"10.0.0.1{number}", f"veth{number}", folder / f"db{number}.log"
        self.keeper = subprocess.Popen(["unshare", "--net", "--mount", "sleep", "infinity"])
        wait_until("a namespace", lambda: os.readlink(f"/proc/{self.keeper.pid}/ns/net") != os.readlink("/proc/self/ns/net"))
        self.net = os.readlink(f"/proc/{self.keeper.pid}/ns/net")
        sh(f"ip link add {self.link} type veth peer name eth0 netns /proc/{self.keeper.pid}/ns/net; "
           f"ip link set {self.link} master br0 up")
        mounts = "; ".join(f"mount -t tmpfs -o mode=755,size={DISK} tmpfs {path}" for path in FOLDERS)
        self.run("bash", "-euc", f"ip link set lo up; ip addr add {self.address}/24 dev eth0; ip link set eth0 up; "
                 f"ip route add default via 10.0.0.1; {mounts}; chown postgres: /var/lib/postgresql /run/postgresql; "
                 "chown etcd: /var/lib/etcd")
        self.run("bash", "-euc", script, NAME=self.name, ADDRESS=self.address)

    def command(self, *command, user=None):
        inside = ["nsenter", "-t", str(self.keeper.pid), "--net", "--mount"]
        return [*inside, *(["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"] if user else []), *command]

    def run(self, *command, **settings):
        subprocess.run(self.command(*command), check=True, env={**os.environ, **PASSWORDS, **settings})

    def spawn(self, *command, user, **settings):
        with open(self.log, "ab") as log:
            subprocess.Popen(self.command(*command, user=user), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
                             env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **settings})

    def start_etcd(self):
        """As Debian's unit does."""
        text = subprocess.run(self.command("cat", "/etc/default/etcd"), check=True, capture_output=True, text=True).stdout
        self.spawn("etcd", user="etcd", **dict(line.split("=", 1) for line in text.splitlines() if not line.startswith("#")))

    def start_patroni(self):
        self.spawn("/opt/patroni/bin/patroni", "/etc/patroni/config.yml", user="postgres")

    def processes(self):
        found = []
        for entry in os.listdir("/proc"):
            try:
                if entry.isdigit() and int(entry) != self.keeper.pid and os.readlink(f"/proc/{entry}/ns/net") == self.net:
                    found.append((int(entry), Path(f"/proc/{entry}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")))
            except OSError:
                pass
        return found

    def kill(self):
        """Patroni and PostgreSQL, all at once; the machine's etcd stays."""
        for pid, command in self.processes():
            if not command.startswith("etcd "):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def cut(self):
        sh(f"ip link set {self.link} down")

    def join(self):
        sh(f"ip link set {self.link} up")

    def fill(self):
        self.run("bash", "-c", "dd if=/dev/zero of=/var/lib/postgresql/ballast bs=1M 2>/dev/null; "
                 "dd if=/dev/zero of=/var/lib/postgresql/ballast bs=4k oflag=append conv=notrunc 2>/dev/null; true")

    def empty(self):
        self.run("rm", "-f", "/var/lib/postgresql/ballast")

    def status(self):
        try:
            with urllib.request.urlopen(f"http://{self.address}:8008/patroni", timeout=2) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return json.load(error)
        except OSError:
            return {}


class Machines:
    def __init__(self, folder):
        databases, roles, proxy = blocks()
        sh("ip link set lo up; ip link add br0 type bridge; ip addr add 10.0.0.1/24 dev br0; ip link set br0 up")
        self.all = [Machine(number, databases, folder) for number in [1, 2, 3]]
        for machine in self.all:
            machine.start_etcd()
        for machine in self.all:
            machine.start_patroni()
        wait_until("a leader and a synchronous follower", self.is_whole, 120)
        sh(roles)
        sh("mount -t tmpfs tmpfs /etc/haproxy\n" + proxy)
        self.proxy = subprocess.Popen(["/usr/sbin/haproxy", "-db", "-f", "/etc/haproxy/haproxy.cfg"], stdin=subprocess.DEVNULL,
                                      stdout=open(folder / "haproxy.log", "ab"), stderr=subprocess.STDOUT)
        # It takes everybody for a leader until it has asked twice.
        time.sleep(4)
        self.url = f"postgres://rookery:{PASSWORDS['ROOKERY']}@127.0.0.1:5433/rookery"

    def leader(self):
        for machine in self.all:
            status = machine.status()
            if status.get("role") in ("master", "primary") and status.get("state") == "running":
                return machine
        return None

    def is_whole(self):
        """One leads, the others follow, and one of them has everything that is acknowledged."""
        statuses = [machine.status() for machine in self.all]
        leads = [status for status in statuses if status.get("role") in ("master", "primary") and status.get("state") == "running"]
        if len(leads) != 1:
            return False
        followers = [one for one in leads[0].get("replication", []) if one.get("state") == "streaming"]
        return len(followers) == 2 and any(one.get("sync_state") == "sync" for one in followers)

    def wait_for_another(self, old):
        def another():
            leader = self.leader()
            return leader is not None and leader is not old and leader
        return wait_until("another leader", another, 90)

    def query(self, statement):
        for _ in range(60):
            done = subprocess.run(["psql", "-XAtq", "-c", statement, self.url], capture_output=True, text=True)
            if done.returncode == 0:
                return done.stdout.strip()
            time.sleep(1)
        raise SystemExit(f"failover: {statement}: {done.stderr}")
