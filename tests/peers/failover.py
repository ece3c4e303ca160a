"""The story of tests/peers/failover: load on every door with a ledger for each, leaders that die, and the reckoning."""

import email
import email.policy
import http.client
import http.server
import json
import os
import random
import shutil
import smtplib
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from machines import Machines
from sink import Sink, serve_sink
from waiting import free_port, listens, wait_until

ROOKERY = sys.argv[1]
KILLS, PARTITIONS, FULL_DISKS = [int(given) for given in sys.argv[2:]] + [20, 5, 1][len(sys.argv) - 2:]
SECRET = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
BEGAN = time.monotonic()


def say(text):
    print(f"failover: {time.monotonic() - BEGAN:.0f} s: {text}", flush=True)


def check(holds, what):
    if not holds:
        raise SystemExit(f"failover: FAILED: {what}")


class Receiver(http.server.BaseHTTPRequestHandler):
    """Gets webhooks and writes down their ids and bytes."""

    got = {}
    times = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.got.setdefault(self.headers["webhook-id"], []).append(body)
        self.times.append(time.monotonic())
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


class Names(socketserver.BaseRequestHandler):
    """A name server that knows nobody, at once."""

    def handle(self):
        asked, socket = self.request
        question = asked[12:asked.index(b"\0", 12) + 5]
        socket.sendto(asked[:2] + b"\x81\x83\0\1\0\0\0\0\0\0" + question, self.client_address)


class Threads(socketserver.ThreadingMixIn):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 100


class NameServer(Threads, socketserver.UDPServer):
    pass


class WebServer(Threads, http.server.HTTPServer):
    pass


def serve(kind, handler):
    server = kind(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


class Door:
    """Knocks again and again, at one node after the other, and writes down what was acknowledged and what may have been."""

    stop = threading.Event()

    def __init__(self, name, knock, pause):
        self.name, self.knock, self.pause = name, knock, pause
        self.acknowledged, self.uncertain, self.successes, self.failures = set(), set(), [], Counter()
        self.threads = [threading.Thread(target=self.run, args=(n,), daemon=True) for n in range(2)]
        for thread in self.threads:
            thread.start()

    def run(self, n):
        turn = 0
        while not self.stop.is_set():
            turn += 1
            words = f"{self.name}-{n}-{turn}"
            try:
                answer = self.knock(words, n + turn)
            except (OSError, http.client.HTTPException, smtplib.SMTPException) as error:
                answer = type(error).__name__
            if answer is True:
                self.acknowledged.add(words)
                self.successes.append(time.monotonic())
            else:
                # It may have happened all the same.
                self.uncertain.add(words)
                self.failures[answer] += 1
                time.sleep(0.2)
            time.sleep(self.pause)


def longest_gap(times, since, until):
    within = [since, *[at for at in sorted(times) if since < at < until], until]
    return max(after - before for before, after in zip(within, within[1:]))


class Fleet:
    """Three nodes, one workspace, and everything that knocks."""

    def __init__(self, machines, folder):
        self.machines, self.folder = machines, folder
        self.receiver, self.names = serve(WebServer, Receiver), serve(NameServer, Names)
        self.ports = [(free_port(), free_port()) for _ in range(3)]
        self.environment = {
            "PATH": os.environ["PATH"],
            "ROOKERY_DATABASE_URL": machines.url,
            "ROOKERY_BLOBS": f"file://{folder}/blobs",
            "ROOKERY_SECRET_KEY": SECRET,
            "ROOKERY_MAIL_NAME": "mx.acme.test",
            "ROOKERY_WEBHOOK_ALLOW": "127.0.0.0/8",
            "ROOKERY_LEASE_SECONDS": "10",
            "ROOKERY_RELAY": f"smtp://127.0.0.1:{serve_sink()}?tls=none",
            "ROOKERY_UNDO_WINDOW_SECONDS": "1",
            "ROOKERY_RATE_LIMIT_REQUESTS": "1000000",
            "ROOKERY_MAIL_SENDER_DAILY_MAILS": "1000000",
            "ROOKERY_MAIL_NETWORK_DAILY_MAILS": "1000000",
            "ROOKERY_DNS": f"127.0.0.1:{self.names}",
            "ROOKERY_LOG": "warn",
        }
        self.rookery("migrate")
        made = self.admin("create-workspace", "--name", "Acme", "--plan", "pro", "--owner-email", "olga@acme.test",
                          "--owner-name", "Olga")
        self.workspace, self.owner = made["workspace"], made["owner"]
        self.admin("create-mailbox", "--workspace", self.workspace, "--address", "help@acme.test", "--name", "Help")
        self.key = self.admin("create-key", "--workspace", self.workspace, "--maker", self.owner, "--name", "bot",
                              "--scopes", "read,write,send", "--mode", "live")["key"]
        self.admin("create-webhook", "--workspace", self.workspace, "--maker", self.owner, "--url",
                   f"http://127.0.0.1:{self.receiver}/hook", "--mode", "live", "--scope", "team")
        self.nodes = [self.start(n) for n in range(3)]
        for http_port, smtp_port in self.ports:
            wait_until("a node listens", lambda: listens(http_port) and listens(smtp_port), 60)

    def start(self, n):
        http_port, smtp_port = self.ports[n]
        environment = {**self.environment, "ROOKERY_LISTEN": f"127.0.0.1:{http_port}", "ROOKERY_SMTP_LISTEN": f"127.0.0.1:{smtp_port}"}
        log = open(self.folder / f"node{n}.log", "ab")
        return subprocess.Popen([ROOKERY, "serve"], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def rookery(self, *arguments):
        done = subprocess.run([ROOKERY, *arguments], env=self.environment, capture_output=True, text=True)
        check(done.returncode == 0, f"rookery {arguments}: {done.stderr}")
        return done.stdout

    def admin(self, *arguments):
        return json.loads(self.rookery("admin", "--json", *arguments))

    # Doors

    def ask(self, n, method, path, body=None, timeout=15, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[n % 3][0], timeout=timeout)
        try:
            headers = {"authorization": f"Bearer {self.key}", "content-type": "application/json", **headers}
            connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def reads(self, words, n):
        status, _ = self.ask(n, "GET", "/api/v1/conversations")
        return status == 200 or str(status)

    def notes(self, words, n):
        status, _ = self.ask(n, "POST", f"/api/v1/conversations/{self.conversation}/notes", {"body": words})
        return status == 201 or str(status)

    def tools(self, words, n):
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "add_note", "arguments": {"id": self.conversation, "body": words}}}
        status, body = self.ask(n, "POST", "/mcp", call, accept="application/json, text/event-stream")
        if status != 200:
            return str(status)
        text = body.decode()
        answer = json.loads(text[text.index("{"):])
        return answer.get("result", {}).get("isError") is False or "tool error"

    def mails(self, words, n):
        with smtplib.SMTP("127.0.0.1", self.ports[n % 3][1], local_hostname="a.test", timeout=30) as smtp:
            smtp.ehlo()
            smtp.mail("anna@customer.example")
            code, _ = smtp.rcpt("help@acme.test")
            if code == 250:
                code, _ = smtp.data(f"From: Anna <anna@customer.example>\r\nTo: help@acme.test\r\nSubject: {words}\r\n"
                                    f"Message-ID: <{words}@customer.example>\r\n\r\nHello\r\n")
        return code == 250 or str(code)

    def sends(self, words, n):
        status, _ = self.ask(n, "POST", f"/api/v1/conversations/{self.answered}/replies", {"body": words, "send": True})
        return status == 201 or str(status)

    def pages(self, words, n):
        status, _ = self.ask(n, "GET", f"/conversations/{self.conversation}", cookie=self.cookie)
        return status == 200 or str(status)

    def streams(self, words, n):
        """One that is open and is told of something, or at least greeted."""
        with socket.create_connection(("127.0.0.1", self.ports[n % 3][0]), timeout=40) as stream:
            stream.sendall(f"GET /live?topics=inbox HTTP/1.1\r\nhost: 127.0.0.1\r\ncookie: {self.cookie}\r\n\r\n".encode())
            head = stream.recv(4096)
            if b" 200 " not in head.split(b"\r\n")[0]:
                return head.split(b" ")[1].decode()
            until = time.monotonic() + 3
            while time.monotonic() < until:
                if not stream.recv(4096):
                    return "cut off"
            return True

    def sign_in(self):
        link = self.admin("sign-in-link", "--workspace", self.workspace, "--person", self.owner)["url"]
        path = link[link.index("/sign-in"):]
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[0][0])
        token = path.rsplit("/", 1)[1]
        connection.request("POST", path, f"token={token}", {"content-type": "application/x-www-form-urlencoded",
                                                              "origin": link[:link.index("/sign-in")]})
        answer = connection.getresponse()
        answer.read()
        cookies = [value for name, value in answer.getheaders() if name.lower() == "set-cookie"]
        check(cookies, f"signing in: {answer.status} {path}")
        return "; ".join(cookie.split(";")[0] for cookie in cookies)

    def open_doors(self):
        for words in ["first-0-0", "first-0-1"]:
            check(self.mails(words, 0) is True, "the first mails")
        self.conversation, self.answered = [one["id"] for one in json.loads(self.ask(0, "GET", "/api/v1/conversations")[1])]
        self.cookie = self.sign_in()
        self.doors = [Door("read", self.reads, 0.1), Door("note", self.notes, 0.1), Door("tool", self.tools, 0.2),
                      Door("mail", self.mails, 0.2), Door("send", self.sends, 0.3), Door("page", self.pages, 0.5),
                      Door("stream", self.streams, 0.5)]

    def gaps(self, since, until):
        found = {door.name: longest_gap(door.successes, since, until) for door in self.doors}
        found["webhook"] = longest_gap(Receiver.times, since, until)
        found["relay"] = longest_gap(Sink.times, since, until)
        return found

    # The reckoning

    def settle(self):
        Door.stop.set()
        for door in self.doors:
            for thread in door.threads:
                thread.join(60)

        def delivered():
            return int(self.machines.query("select count(*) from events where livemode")) <= len(Receiver.got)
        wait_until("webhooks have caught up", delivered, 180)

        def sent():
            return self.machines.query("select count(*) from messages where status in ('scheduled', 'sending')") == "0"
        wait_until("everything has left", sent, 180)

    def reckon(self):
        stored = {}
        notes = Counter(self.machines.query("select body from notes").split("\n"))
        stored["note"] = Counter({words: n for words, n in notes.items() if words.startswith("note-")})
        stored["tool"] = Counter({words: n for words, n in notes.items() if words.startswith("tool-")})
        mails = self.machines.query("select rfc_message_id from messages where direction = 'inbound'").split("\n")
        stored["mail"] = Counter(name.split("@")[0] for name in mails if name.startswith("mail-"))
        left = {}
        for _, _, raw in Sink.taken:
            mail = email.message_from_bytes(raw, policy=email.policy.default)
            words = mail.get_body(("plain",)).get_content().split()[0]
            left.setdefault(words, []).append(mail["message-id"])
        stored["send"] = Counter({words: len(set(ids)) for words, ids in left.items()})
        say(f"relay: {sum(len(ids) - len(set(ids)) for ids in left.values())} mails came again under the same Message-ID")
        for door in self.doors:
            if door.name not in stored:
                continue
            own = stored[door.name]
            lost = sorted(door.acknowledged - own.keys())
            twice = sorted(words for words, n in own.items() if n > 1)
            strange = sorted(own.keys() - door.acknowledged - door.uncertain)
            say(f"{door.name}: {len(door.acknowledged)} acknowledged, {len(lost)} of them lost; {len(own)} there, "
                f"{len(own.keys() - door.acknowledged)} of which nobody knew; {len(twice)} twice; refusals {dict(door.failures)}")
            check(not lost, f"{door.name} lost {lost[:5]}")
            check(not twice, f"{door.name} twice: {twice[:5]}")
            check(not strange, f"{door.name} nobody asked for: {strange[:5]}")
        differing = sum(1 for bodies in Receiver.got.values() if len(set(bodies)) > 1)
        say(f"webhooks: {len(Receiver.got)} events, {sum(len(bodies) - 1 for bodies in Receiver.got.values())} again under the same id")
        check(not differing, "an event came again with other bytes")
        check(all(node.poll() is None for node in self.nodes), "a node ended")


def faulted(fleet, what, strike, mend):
    machines = fleet.machines
    old = wait_until("a leader", machines.leader, 60)
    time.sleep(random.uniform(1, 6))
    began = time.monotonic()
    strike(old)
    new = machines.wait_for_another(old)
    led = time.monotonic() - began
    time.sleep(8)
    mend(old)
    wait_until("three machines again", machines.is_whole, 180)
    time.sleep(3)
    gaps = fleet.gaps(began, time.monotonic())
    say(f"{what}: {old.name} to {new.name} in {led:.1f} s; " + ", ".join(f"{name} {gap:.1f}" for name, gap in gaps.items()))
    return gaps


def main():
    folder = Path(tempfile.mkdtemp(prefix="rookery-failover-"))
    folder.chmod(0o755)
    random.seed(17)
    done = False
    try:
        machines = Machines(folder)
        say("three machines under Patroni")
        fleet = Fleet(machines, folder)
        fleet.open_doors()
        time.sleep(5)
        calm = fleet.gaps(time.monotonic() - 4, time.monotonic())
        say("without a fault: " + ", ".join(f"{name} {gap:.1f}" for name, gap in calm.items()))
        kinds = [("kill", KILLS, lambda old: old.kill(), lambda old: old.start_patroni()),
                 ("partition", PARTITIONS, lambda old: old.cut(), lambda old: old.join())]
        worst = {}

        def keep(what, gaps):
            worst[what] = {name: max(gap, worst.get(what, {}).get(name, 0)) for name, gap in gaps.items()}

        for what, times, strike, mend in kinds:
            for n in range(times):
                keep(what, faulted(fleet, f"{what} {n + 1}", strike, mend))
        for _ in range(FULL_DISKS):
            began = time.monotonic()
            old = machines.leader()
            old.fill()
            time.sleep(25)
            old.empty()
            if not machines.is_whole():
                old.kill()
                time.sleep(1)
                old.start_patroni()
            wait_until("three machines again", machines.is_whole, 180)
            time.sleep(5)
            keep("full disk", fleet.gaps(began, time.monotonic()))
        fleet.settle()
        fleet.reckon()
        names = list(calm)
        print("| longest without an answer, seconds | " + " | ".join(names) + " |\n|---|" + "---|" * len(names))
        for what, gaps in worst.items():
            print(f"| {what} | " + " | ".join(f"{gaps[name]:.1f}" for name in names) + " |")
        done = True
    finally:
        if not done:
            for log in sorted(folder.glob("*.log")):
                print(f"--- {log.name}\n" + "\n".join(log.read_text(errors="replace").splitlines()[-15:]))
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
