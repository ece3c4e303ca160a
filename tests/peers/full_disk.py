"""Disks that are really full, under the files and under PostgreSQL: mail gets a 452, the server stays up, what was
acknowledged stays, and the sender's retry is taken once when there is room again. Run by tests/peers/run as root."""

import base64
import os
import smtplib
import subprocess
import tempfile
import time
from pathlib import Path

from peers import World, check, letter, say
from waiting import listens


class Disk:
    """A small disk of its own."""

    def __init__(self, megabytes):
        self.folder = Path(tempfile.mkdtemp(prefix="rookery-disk-"))
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "rookery-disk", self.folder], check=True)
        self.ballast = self.folder / "ballast"

    def fill(self):
        with open(self.ballast, "wb", buffering=0) as ballast:
            for size in [1 << 20, 1 << 12]:
                try:
                    while ballast.write(bytes(size)):
                        pass
                except OSError:
                    pass
        status = os.statvfs(self.folder)
        check(status.f_bavail == 0, f"the disk is full: {status.f_bavail} blocks are left")

    def free(self):
        self.ballast.unlink()

    def remove(self):
        subprocess.run(["umount", "--lazy", self.folder])
        self.folder.rmdir()


class Sender:
    """Keeps a ledger of what was acknowledged."""

    def __init__(self, world):
        self.world, self.acknowledged = world, set()

    def send(self, name, message):
        """The code of the answer to the mail."""
        with smtplib.SMTP("127.0.0.1", self.world.smtp, local_hostname="helo.pass.test") as smtp:
            smtp.ehlo()
            smtp.mail("anna@pass.test")
            code, answer = smtp.rcpt("help@acme.test")
            if code == 250:
                code, answer = smtp.data(message)
        if code == 250:
            self.acknowledged.add(name)
        check(code in (250, 452), f"{name}: {code} {answer}")
        return code

    def small(self, name):
        return self.send(name, letter(name))

    def long(self, name):
        """Its bytes stand in the database."""
        return self.send(name, letter(name, text=noise(40_000)))

    def with_file(self, name, size=200_000):
        """Its bytes stand in files."""
        head, body = letter(name).split(b"\r\n\r\n", 1)
        parts = (f"--b\r\nContent-Type: text/plain\r\n\r\nHello\r\n--b\r\nContent-Type: application/pdf; name=a.pdf\r\n"
                 f"Content-Transfer-Encoding: base64\r\n\r\n{noise(size)}\r\n--b--\r\n")
        return self.send(name, head + b"\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n" + parts.encode())

    def judge(self):
        """Everything acknowledged is there once, whole, with its files; nothing else is there."""
        rows = self.world.query("select rfc_message_id, count(*), min(coalesce(length(raw), 0)), min(coalesce(raw_blob, ''))"
                                " from messages group by 1")
        rows = [row.split("|") for row in rows.splitlines()]
        check({row[0] for row in rows} == self.acknowledged, f"{sorted(row[0] for row in rows)} are stored, "
              f"{sorted(self.acknowledged)} were acknowledged")
        for name, times, length, blob in rows:
            check(times == "1", f"{name} is there {times} times")
            size = (self.world.blobs / blob).stat().st_size if blob else int(length)
            check(size > 200, f"{name} has its bytes")
        named = self.world.query("select raw_blob from messages where raw_blob is not null union"
                                 " select jsonb_array_elements(attachments)->>'blob' from messages").splitlines()
        files = {str(file.relative_to(self.world.blobs)) for file in self.world.blobs.rglob("*") if file.is_file()}
        check(files == set(named), f"files without a row, or rows without a file: {files ^ set(named)}")


def noise(size):
    """Lines that no database can make smaller."""
    text = base64.b64encode(os.urandom(size * 3 // 4)).decode()
    return "\r\n".join(text[at:at + 76] for at in range(0, len(text), 76))


def files_have_no_room(world, disk, sender):
    check(sender.with_file("file1@pass.test") == 250 and sender.small("small1@pass.test") == 250, "there is room at first")
    disk.fill()
    check(sender.with_file("file2@pass.test") == 452, "no room for its file")
    check(sender.with_file("file3@pass.test", 2_000_000) == 452, "no room for it even while it comes in")
    check(sender.small("small2@pass.test") == 250, "a small mail needs no file")
    sender.judge()
    disk.free()
    for name, size in [("file2@pass.test", 200_000), ("file3@pass.test", 2_000_000)]:
        check(sender.with_file(name, size) == 250, f"{name} is taken when there is room again")
    sender.judge()
    say("a full disk under the files: 452 for mail with a file, 250 for a small one, the retries were taken once each")


def database_has_no_room(world, disk, sender):
    for number in range(3):
        check(sender.long(f"long{number}@pass.test") == 250, "there is room at first")
    # The log has room of its own, as on any server that was running for a while: what is full are the tables.
    world.query("select pg_switch_wal()")
    world.query("checkpoint")
    disk.fill()
    refused = [f"refused{number}@pass.test" for number in range(4)]
    codes = [sender.long(name) for name in refused]
    check(codes == [452] * 4, f"no room in the database: {codes}")
    small = sender.small("small3@pass.test")
    check(listens(world.smtp) and all(process.poll() is None for process in world.processes), "the server is up")
    sender.judge()
    disk.free()
    for name in [*refused, "small3@pass.test"]:
        check((sender.small if "small" in name else sender.long)(name) == 250, f"{name} is taken when there is room again")
    sender.judge()
    say(f"a full disk under PostgreSQL: 452 four times, {small} for a small mail, what was acknowledged is whole, "
        "the retries were taken once each")


def main():
    began = time.monotonic()
    files, database = Disk(12), Disk(192)
    world = World()
    world.cluster.rmdir()
    world.cluster = database.folder / "pg"
    world.blobs = files.folder / "blobs"
    (files.folder / "tmp").mkdir()
    world.settings = {"TMPDIR": str(files.folder / "tmp")}
    code = 1
    try:
        world.start_database()
        world.start_knot()
        world.start_rookery()
        sender = Sender(world)
        files_have_no_room(world, files, sender)
        database_has_no_room(world, database, sender)
        say(f"full disks took {time.monotonic() - began:.0f} s")
        code = 0
    finally:
        if code != 0:
            world.print_logs()
        world.stop()
        files.remove()
        database.remove()


if __name__ == "__main__":
    main()
