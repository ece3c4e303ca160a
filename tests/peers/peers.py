"""The peers of tests/peers/run: starts them, sends mail through them, and looks what became of it."""

import json
import os
import shutil
import smtplib
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import matrix
import zones
from waiting import free_port, listens, wait_until

HERE = Path(__file__).resolve().parent
ROOKERY = sys.argv[1]


def say(text):
    print(f"peers: {text}", flush=True)


class World:
    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="rookery-peers-"))
        self.folder.chmod(0o755)
        self.blobs = self.folder / "blobs"
        self.settings = {}
        self.processes = []
        self.cluster = Path(tempfile.mkdtemp(prefix="rookery-peers-pg-"))
        self.postfixes = []

    # What runs

    def spawn(self, *command, **more):
        log = open(self.folder / f"{Path(command[0]).name}.log", "ab")
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **more)
        self.processes.append(process)
        return process

    def start_database(self):
        url = subprocess.run([HERE / "../dev_cluster", self.cluster], check=True, capture_output=True, text=True).stdout
        self.database = url.strip()
        self.database_port = self.database.rsplit(":", 1)[1].split("/")[0]

    def control_database(self, *command):
        pg_ctl = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True).stdout.strip() + "/pg_ctl"
        if not os.path.exists(pg_ctl):
            pg_ctl = str(sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))[-1])
        as_server = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] if os.getuid() == 0 else []
        subprocess.run([*as_server, pg_ctl, "-D", self.cluster / "data", *command], check=True, cwd="/",
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def start_knot(self):
        self.dns = free_port()
        zones.write(self.folder, self.dns)
        self.spawn("/usr/sbin/knotd", "-c", str(self.folder / "knot.conf"))
        matrix.use_name_server(self.dns)
        wait_until("knot answers", matrix.name_server_answers)

    def start_rookery(self):
        self.smtp, self.lmtp, http = free_port(), free_port(), free_port()
        certificate, key = self.folder / "certificate.pem", self.folder / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=mx.acme.test",
                        "-keyout", key, "-out", certificate], check=True, capture_output=True)
        self.environment = {
            "ROOKERY_DATABASE_URL": self.database,
            "ROOKERY_BLOBS": f"file://{self.blobs}",
            "ROOKERY_SECRET_KEY": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
            "ROOKERY_LISTEN": f"127.0.0.1:{http}",
            "ROOKERY_SMTP_LISTEN": f"127.0.0.1:{self.smtp}",
            "ROOKERY_LMTP_LISTEN": f"127.0.0.1:{self.lmtp}",
            "ROOKERY_MAIL_NAME": "mx.acme.test",
            "ROOKERY_DNS": f"127.0.0.1:{self.dns}",
            "ROOKERY_TLS_CERTIFICATE": str(certificate),
            "ROOKERY_TLS_KEY": str(key),
            **self.settings,
        }
        self.rookery("migrate")
        made = json.loads(self.rookery("admin", "--json", "create-workspace", "--name", "Acme", "--plan", "pro",
                                       "--owner-email", "olga@acme.test", "--owner-name", "Olga Owner"))
        self.rookery("admin", "create-mailbox", "--workspace", made["workspace"], "--address", "help@acme.test",
                     "--name", "Help")
        self.spawn(ROOKERY, "serve", env=self.environment)
        wait_until("rookery listens", lambda: listens(self.smtp) and listens(self.lmtp))

    def start_postfix(self, name, *settings):
        folder, port = self.folder / name, free_port()
        subprocess.run([HERE / "postfix", "start", folder, f"127.0.0.1:{port}", *settings], check=True)
        self.postfixes.append(folder)
        wait_until("Postfix listens", lambda: listens(port))
        return folder, port

    def start_opendkim(self):
        port = free_port()
        (self.folder / "opendkim.conf").write_text(
            f"Mode s\nSyslog no\nDomain pass.test\nSelector s1\nKeyFile {self.folder}/dkim.pem\nRequireSafeKeys no\n"
            f"Socket inet:{port}@127.0.0.1\nCanonicalization relaxed/relaxed\nInternalHosts 127.0.0.0/8\n")
        self.spawn("/usr/sbin/opendkim", "-f", "-x", str(self.folder / "opendkim.conf"))
        wait_until("opendkim listens", lambda: listens(port))
        return port

    # What is asked

    def rookery(self, *arguments):
        done = subprocess.run([ROOKERY, *arguments], env=self.environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"peers: rookery {arguments}: {done.stderr}")
        return done.stdout

    def query(self, statement):
        done = subprocess.run(["psql", "-XAtq", "-c", statement, self.database], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def count(self):
        return int(self.query("select count(*) from messages"))

    def verdict(self, message_id):
        found = self.query(f"select verdict from messages where rfc_message_id = '{message_id}'")
        return json.loads(found) if found else None

    def print_logs(self):
        for log in [*self.folder.glob("*.log"), *self.folder.glob("*/log"), self.cluster / "server.log"]:
            if log.exists():
                print(f"--- {log.name}\n" + "\n".join(log.read_text(errors="replace").splitlines()[-30:]))

    def stop(self):
        for folder in self.postfixes:
            subprocess.run([HERE / "postfix", "stop", folder])
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
        subprocess.run([HERE / "../dev_cluster", "--stop", self.cluster])
        shutil.rmtree(self.folder, ignore_errors=True)


def check(holds, what):
    if not holds:
        raise SystemExit(f"peers: FAILED: {what}")


def letter(message_id, sender="anna@pass.test", text="Hello"):
    return (f"From: Anna <{sender}>\r\nTo: help@acme.test\r\nSubject: {message_id}\r\nMessage-ID: <{message_id}>\r\n"
            f"Date: Mon, 06 Jan 2031 09:00:00 +0000\r\n\r\n{text}\r\n").encode()


def through(port, sender, recipient, message, source="127.0.0.2"):
    with smtplib.SMTP("127.0.0.1", port, local_hostname="helo.pass.test", source_address=(source, 0)) as smtp:
        smtp.sendmail(sender, [recipient], message)


def postfix_delivers_over_tls(world, folder, port):
    through(port, "anna@pass.test", "help@acme.test", letter("tls@pass.test"))
    verdict = wait_until("the mail arrives", lambda: world.verdict("tls@pass.test"))
    check(verdict["dkim"] == "pass" and verdict["dkimDomains"] == ["pass.test"], f"opendkim's signature passes: {verdict}")
    check(verdict["dmarc"] == "pass", f"DMARC passes: {verdict}")
    log = (folder / "log").read_text()
    check("Untrusted TLS connection established to 127.0.0.1" in log, "Postfix used STARTTLS")
    say("Postfix delivered over STARTTLS, opendkim's signature passed")


def unknown_recipients_bounce(world, folder, port):
    through(port, "anna@pass.test", "nobody@acme.test", letter("unknown@pass.test"))
    wait_until("the refusal", lambda: "550 5.1.1 No such inbox here" in (folder / "log").read_text())
    say("an unknown recipient was refused at RCPT")


def postfix_waits_for_the_database(world, folder, port):
    before = world.count()
    world.control_database("stop", "-m", "immediate")
    for number in range(3):
        through(port, "anna@pass.test", "help@acme.test", letter(f"outage{number}@pass.test"))
    wait_until("a 451", lambda: "451 4.3.0" in (folder / "log").read_text())
    world.control_database("start", "-w", "-l", str(world.cluster / "server.log"), "-o", f"-p {world.database_port}")
    def arrived():
        subprocess.run(["postqueue", "-c", folder / "etc", "-f"], check=True)
        time.sleep(0.5)
        return world.count() >= before + 3
    wait_until("the mail arrives when PostgreSQL is back", arrived, 60)
    check(world.count() == before + 3, "each of them once")
    say("three mails waited at Postfix while PostgreSQL was away, and came once each")


def smuggling_through_postfix(world, folder, port):
    """Whatever Postfix makes of a hostile stream, we store what it says it sent, and no mail more."""
    ends = ["\n.\n", "\n.\r\n", "\r\n.\n", "\r.\r", "\r.\r\n", "\r\n.\r", "\r\r\n.\r\r\n", "\r\n\x00.\r\n"]
    before = world.count()
    sent = lambda: (folder / "log").read_text().count("status=sent")
    refused = lambda: (folder / "log").read_text().count("status=bounced")
    sent_before, refused_before, queued = sent(), refused(), 0
    for number, end in enumerate(ends):
        hostile = (f"From: eve@pass.test\r\nSubject: {number}\r\nMessage-ID: <s{number}@pass.test>\r\n\r\nHello{end}"
                   f"MAIL FROM:<boss@pass.test>\r\nRCPT TO:<help@acme.test>\r\nDATA\r\nFrom: boss@pass.test\r\n"
                   f"Subject: smuggled\r\nMessage-ID: <x{number}@pass.test>\r\n\r\nPay Eve\r\n.\r\nQUIT\r\n")
        with socket.create_connection(("127.0.0.1", port), source_address=("127.0.0.2", 0)) as s:
            answers = s.makefile("rb")
            answers.readline()
            for line in ["HELO eve", "MAIL FROM:<eve@pass.test>", "RCPT TO:<help@acme.test>", "DATA"]:
                s.sendall(f"{line}\r\n".encode())
                answers.readline()
            s.sendall(hostile.encode("latin-1"))
            queued += sum(1 for line in answers if b"queued as" in line)
    wait_until("Postfix has handed over everything", lambda: sent() + refused() - sent_before - refused_before >= queued)
    check(world.count() - before == sent() - sent_before,
          f"{world.count() - before} stored, but Postfix sent {sent() - sent_before}")
    say(f"{len(ends)} hostile streams: Postfix made {queued} mails of them, {sent() - sent_before} were taken, and stored once each")


def a_front_postfix_hands_over(world):
    """The settings of docs/mail.md, "A mail server in front"."""
    _, port = world.start_postfix(
        "front", "relay_domains = acme.test", f"relay_transport = lmtp:inet:127.0.0.1:{world.lmtp}",
        "lmtp_send_xforward_command = yes", "smtpd_relay_restrictions = permit_mynetworks, reject_unauth_destination",
        "smtpd_recipient_restrictions = reject_unauth_destination, reject_unverified_recipient",
        "unverified_recipient_reject_code = 550", "address_verify_negative_refresh_time = 5m")
    through(port, "anna@pass.test", "help@acme.test", letter("lmtp@pass.test"))
    verdict = wait_until("the mail arrives", lambda: world.verdict("lmtp@pass.test"))
    check(verdict["spf"] == "pass", f"SPF was asked about the address Postfix saw: {verdict}")
    refused = 0
    with smtplib.SMTP("127.0.0.1", port, local_hostname="helo.pass.test", source_address=("127.0.0.2", 0)) as smtp:
        for number in range(3):
            try:
                smtp.sendmail("anna@pass.test", [f"nobody{number}@acme.test"], letter(f"nobody{number}@pass.test"))
            except smtplib.SMTPRecipientsRefused as error:
                refused += [code for code, _ in error.recipients.values()] == [550]
    check(refused == 3, f"Postfix refused {refused} of 3 unknown recipients itself")
    through(port, "anna@pass.test", "help+inv-1@acme.test", letter("lmtp2@pass.test"))
    wait_until("the mail after them arrives", lambda: world.verdict("lmtp2@pass.test"))
    say("a front Postfix handed over by LMTP, told whose address to check, and refused unknown recipients itself")


def main():
    world = World()
    code = 1
    try:
        world.start_database()
        world.start_knot()
        world.start_rookery()
        matrix.compare(world, say)
        milter = world.start_opendkim()
        folder, port = world.start_postfix(
            "relay", f"relayhost = [127.0.0.1]:{world.smtp}", "smtp_tls_security_level = encrypt", "smtp_tls_loglevel = 1",
            f"smtpd_milters = inet:127.0.0.1:{milter}", "minimal_backoff_time = 1s", "maximal_backoff_time = 2s",
            "queue_run_delay = 2s", "smtp_bind_address = 127.0.0.2", "smtp_host_lookup = native")
        postfix_delivers_over_tls(world, folder, port)
        unknown_recipients_bounce(world, folder, port)
        postfix_waits_for_the_database(world, folder, port)
        smuggling_through_postfix(world, folder, port)
        a_front_postfix_hands_over(world)
        code = 0
    finally:
        if code != 0:
            world.print_logs()
        world.stop()


if __name__ == "__main__":
    main()
