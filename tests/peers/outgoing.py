"""The peers of tests/peers/out: starts them, has Rookery send mail through them, and looks at what arrives."""

import email
import email.policy
import json
import os
import re
import shutil
import smtplib
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import dkim
import dns.resolver
from sink import REFUSED, Sink, serve_sink
from waiting import free_port, listens, wait_until

HERE = Path(__file__).resolve().parent
ROOKERY = sys.argv[1]


def say(text):
    print(f"peers-out: {text}", flush=True)


class World:
    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="rookery-out-"))
        self.folder.chmod(0o755)
        self.cluster = Path(tempfile.mkdtemp(prefix="rookery-out-pg-"))
        self.processes = []
        self.postfix = None

    def spawn(self, *command, **more):
        log = open(self.folder / f"{Path(command[0]).name}.log", "ab")
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **more)
        self.processes.append(process)
        return process

    def rookery(self, *arguments):
        done = subprocess.run([ROOKERY, *arguments], env=self.environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"peers-out: rookery {arguments}: {done.stderr}")
        return done.stdout

    def admin(self, *arguments):
        return json.loads(self.rookery("admin", "--json", *arguments))

    def query(self, statement):
        done = subprocess.run(["psql", "-XAtq", "-c", statement, self.database], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def api(self, path, body):
        request = urllib.request.Request(f"http://127.0.0.1:{self.http}/api/v1{path}", json.dumps(body).encode(),
                                         {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def certificates(self):
        """An authority of our own and a certificate for localhost: TLS is checked, not only spoken."""
        def openssl(*arguments):
            subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=self.folder)

        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=Test authority",
                "-keyout", "ca.key", "-out", "ca.pem")
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", "tls.key", "-out", "tls.csr")
        (self.folder / "tls.ext").write_text("subjectAltName=DNS:localhost\n")
        openssl("x509", "-req", "-in", "tls.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
                "-extfile", "tls.ext", "-out", "tls.pem")

    def start(self):
        self.certificates()
        sink = serve_sink()
        relay, self.http, self.dns, self.smtp = free_port(), free_port(), free_port(), free_port()
        self.postfix = self.folder / "postfix"
        subprocess.run([HERE / "postfix", "start", self.postfix, f"127.0.0.1:{relay}",
                        f"relayhost = [127.0.0.1]:{sink}", "smtpd_tls_security_level = encrypt",
                        f"smtpd_tls_cert_file = {self.folder}/tls.pem", f"smtpd_tls_key_file = {self.folder}/tls.key",
                        "relay_domains = *", "double_bounce_sender = bounces"], check=True)
        wait_until("Postfix listens", lambda: listens(relay))
        started = subprocess.run([HERE / "../dev_cluster", self.cluster], check=True, capture_output=True, text=True)
        self.database = started.stdout.strip()
        self.environment = {
            "ROOKERY_DATABASE_URL": self.database,
            "ROOKERY_BLOBS": f"file://{self.folder}/blobs",
            "ROOKERY_SECRET_KEY": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
            "ROOKERY_LISTEN": f"127.0.0.1:{self.http}",
            "ROOKERY_SMTP_LISTEN": f"127.0.0.1:{self.smtp}",
            "ROOKERY_MAIL_NAME": "mx.acme.test",
            "ROOKERY_DNS": f"127.0.0.1:{self.dns}",
            "ROOKERY_RELAY": f"smtp://localhost:{relay}?tls=required",
            "ROOKERY_UNDO_WINDOW_SECONDS": "1",
            "ROOKERY_TRUST_CA_FILE": str(self.folder / "ca.pem"),
        }
        self.rookery("migrate")
        made = self.admin("create-workspace", "--name", "Acme", "--plan", "pro", "--owner-email", "olga@acme.test",
                          "--owner-name", "Olga Owner")
        self.workspace = made["workspace"]
        self.mailbox = self.admin("create-mailbox", "--workspace", self.workspace, "--address", "help@acme.test",
                                  "--name", "Hilfe für Kunden")["mailbox"]
        self.key = self.admin("create-key", "--workspace", self.workspace, "--maker", made["owner"], "--name", "bot",
                              "--scopes", "read,send", "--mode", "live")["key"]
        self.domain = self.admin("add-domain", "--workspace", self.workspace, "--domain", "acme.test")
        self.serve_zone([row["zone"] for row in self.domain["rows"]])
        self.node = self.spawn(ROOKERY, "serve", env=self.environment)
        wait_until("rookery listens", lambda: listens(self.http))

    def serve_zone(self, rows):
        """The rows exactly as they were printed, in a real zone file of a real name server."""
        zone = ["$ORIGIN acme.test.", "@ 3600 IN SOA ns hostmaster 1 3600 600 86400 60", "@ 3600 IN NS ns",
                "ns 3600 IN A 127.0.0.1", *rows]
        (self.folder / "acme.test.zone").write_text("\n".join(zone) + "\n")
        (self.folder / "knot.conf").write_text(
            f"server:\n  rundir: {self.folder}\n  listen: 127.0.0.1@{self.dns}\ndatabase:\n  storage: {self.folder}/knot\n"
            f"zone:\n  - domain: acme.test\n    file: {self.folder}/acme.test.zone\n")
        self.spawn("/usr/sbin/knotd", "-c", str(self.folder / "knot.conf"))
        self.resolver = dns.resolver.Resolver(configure=False)
        self.resolver.nameservers, self.resolver.port = ["127.0.0.1"], self.dns
        self.resolver.lifetime = 2

        def answers():
            try:
                return self.resolver.resolve("acme.test", "SOA")
            except Exception:
                return None

        wait_until("knot serves the zone", answers)

    def serve_again(self, **settings):
        """Another node with other settings, instead of the first."""
        self.node.terminate()
        self.node.wait(20)
        self.log = self.folder / "again.log"
        with open(self.log, "wb") as log:
            self.node = subprocess.Popen([ROOKERY, "serve"], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                         env={**self.environment, **settings})
        self.processes.append(self.node)
        wait_until("rookery listens again", lambda: listens(self.http))

    def text(self, name, timeout=5):
        """For dkimpy: the TXT record of a name."""
        try:
            answer = self.resolver.resolve(name.decode().rstrip("."), "TXT")
        except dns.resolver.NXDOMAIN:
            return None
        return b"".join(answer[0].strings)

    def conversation(self, customer, subject, text):
        number = self.query("select count(*) from conversations")
        eml = self.folder / f"{number}.eml"
        eml.write_bytes(
            f"Message-ID: <{number}@customer.example>\r\nFrom: Ada <{customer}>\r\nTo: help@acme.test\r\n"
            f"Subject: {subject}\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n{text}\r\n".encode())
        self.rookery("admin", "import-mail", "--workspace", self.workspace, "--mailbox", self.mailbox, str(eml))
        newest = f"select id from conversations where contact_email = '{customer}' order by created_at desc limit 1"
        id = int(self.query(newest))
        digits = ""
        for _ in range(13):
            id, digit = divmod(id, 36)
            digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
        return f"cnv_{digits}", f"<{number}@customer.example>"

    def sends(self, conversation, body):
        before = len(Sink.taken)
        self.api(f"/conversations/{conversation}/replies", {"body": body, "send": True})
        wait_until("the mail is at the sink", lambda: len(Sink.taken) > before)
        return Sink.taken[before]

    def status(self, conversation):
        request = urllib.request.Request(f"http://127.0.0.1:{self.http}/api/v1/conversations/{conversation}",
                                         headers={"Authorization": f"Bearer {self.key}"})
        with urllib.request.urlopen(request) as answer:
            read = json.load(answer)
        return [item["status"] for item in read["timeline"] if item.get("direction") == "outbound"][-1]

    def stop(self, failed):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
        if self.postfix:
            subprocess.run([HERE / "postfix", "stop", self.postfix])
        subprocess.run([HERE / "../dev_cluster", "--stop", self.cluster])
        if failed:
            for log in [*self.folder.glob("*.log"), self.postfix / "log"]:
                if log.exists():
                    say(f"the end of {log.name}:")
                    print(log.read_text(errors="replace")[-4000:])
        shutil.rmtree(self.folder, ignore_errors=True)


def own_part(raw):
    """Our mail without the field that Postfix put above it."""
    start = raw.index(b"DKIM-Signature:")
    assert raw[:start].startswith(b"Received:"), raw[:start]
    return raw[start:]


def play(world):
    say("check-domain finds the rows that add-domain printed, at knot")
    checked = world.admin("check-domain", "--workspace", world.workspace, "--domain", "acme.test")
    assert checked["ok"], checked

    say("mail goes through Postfix over verified TLS, is signed, and dkimpy agrees")
    texts = ["Hello.", "Grüße aus München — 🙂\n\n  eingerückt  \n.\n..\nFrom here on\n\tTab", "x" * 2000 + "\n\nشكرا",
             "Trailing spaces   \n\n\n\n", "a\u00a0b & <c> \"d\" https://acme.test/?a=1&b=2"]
    for number, text in enumerate(texts):
        subject = ["Parcel", "Größe?", "=?utf-8?q?Trick?=", "x" * 300, "Re: again"][number]
        conversation, asked = world.conversation(f"ada{number}@customer.example", subject, f"Frage {number} ä")
        sender, recipient, raw = world.sends(conversation, text)
        assert recipient == f"ada{number}@customer.example", recipient
        assert re.fullmatch(r"help\+r=[0-9a-z]{13}=[0-9a-z_-]{13}@acme\.test", sender), sender
        assert dkim.verify(own_part(raw), dnsfunc=world.text), f"dkimpy refuses mail {number}"
        changed = own_part(raw).replace(b"ada", b"eve", 1)
        assert not dkim.verify(changed, dnsfunc=world.text), "dkimpy takes a changed mail"
        mail = email.message_from_bytes(raw, policy=email.policy.default)
        assert (mail["In-Reply-To"], mail["References"]) == (asked, asked), mail.items()
        assert mail["From"].addresses[0].addr_spec == "help@acme.test"
        assert mail["From"].addresses[0].display_name == "Hilfe für Kunden", mail["From"]
        plain = mail.get_body(["plain"]).get_content().replace("\r\n", "\n")
        assert plain.startswith(text.rstrip()) and f"> Frage {number} ä" in plain, plain
        html = mail.get_body(["html"]).get_content()
        assert "<blockquote" in html and f"Frage {number} ä" in html
        wait_until("it is sent", lambda: world.status(conversation) == "sent")
        if number == 0:
            first = (conversation, mail["Message-ID"], own_part(raw), sender)

    say("a second answer names both earlier mails")
    conversation, ours, _, _ = first
    _, _, raw = world.sends(conversation, "More.")
    mail = email.message_from_bytes(raw, policy=email.policy.default)
    assert mail["References"].split() == [ours, "<0@customer.example>"], mail["References"]
    assert mail["In-Reply-To"] == "<0@customer.example>"

    say("a handover that was not written down is repeated with the same bytes")
    before = len(Sink.taken)
    name = ours.strip("<>")
    world.query(f"update messages set status = 'sending', due_at = now() where rfc_message_id = '{name}'")
    wait_until("the repeat is at the sink", lambda: len(Sink.taken) > before)
    sender, _, raw = Sink.taken[before]
    assert own_part(raw) == first[2] and sender == first[3], "the repeat is another mail"

    bounces(world)

    say("a certificate for another name gets no mail")
    conversation, _ = world.conversation("ada9@customer.example", "Hello", "Hi")
    before = len(Sink.taken)
    world.serve_again(ROOKERY_RELAY=world.environment["ROOKERY_RELAY"].replace("localhost", "127.0.0.1"))
    world.api(f"/conversations/{conversation}/replies", {"body": "Hello.", "send": True})
    wait_until("the relay was refused", lambda: "the relay did not take a mail" in world.log.read_text())
    assert len(Sink.taken) == before and world.status(conversation) == "sending"


def bounces(world):
    say("Postfix bounces a refused recipient to the return path of its message")
    conversation, _ = world.conversation(REFUSED, "Hello", "Hi")
    before = len(Sink.taken)
    world.api(f"/conversations/{conversation}/replies", {"body": "Hello.", "send": True})
    wait_until("the bounce is at the sink", lambda: len(Sink.taken) > before)
    sender, recipient, raw = Sink.taken[before]
    assert sender == "" and re.fullmatch(r"help\+r=[0-9a-z]{13}=[0-9a-z_-]{13}@acme\.test", recipient), (sender, recipient)
    report = email.message_from_bytes(raw, policy=email.policy.default)
    assert report.get_content_type() == "multipart/report" and b"5.1.1" in raw

    say("the bounce counts at the return path it was sent to, and nowhere else")

    def arrives(to, bounce):
        with smtplib.SMTP("127.0.0.1", world.smtp) as client:
            client.sendmail("", [to], bounce)
        suppressed = world.admin("list-suppressed", "--workspace", world.workspace)["suppressed"]
        return world.status(conversation), [(one["address"], one["reason"]) for one in suppressed]

    copy = re.sub(rb"(?im)^(message-id: )<", rb"\1<copy.", raw, count=1)
    assert arrives("help@acme.test", copy) == ("sent", []), "a copy to the inbox was believed"
    assert arrives(recipient, raw) == ("failed", [(REFUSED, "bounce")])
    lifted = world.admin("unsuppress", "--workspace", world.workspace, "--address", REFUSED)
    assert lifted == {"address": REFUSED, "lifted": True}, lifted


def main():
    began = time.monotonic()
    world = World()
    failed = True
    try:
        world.start()
        play(world)
        failed = False
    finally:
        world.stop(failed)
    say(f"all held in {time.monotonic() - began:.0f} s")


main()
