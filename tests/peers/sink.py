"""A mail server that takes mail and writes it down; the last hop of what Rookery sends in the tests of peers."""

import re
import socketserver
import threading
import time

REFUSED = "nobody@refused.example"


class Sink(socketserver.StreamRequestHandler):
    """Takes mail and writes it down: (sender, recipient, bytes). Refuses one recipient for good."""

    taken = []
    times = []

    def say(self, line):
        self.wfile.write(line.encode() + b"\r\n")

    def handle(self):
        self.say("220 sink.test ESMTP")
        sender = recipient = None
        while line := self.rfile.readline():
            verb = line[:4].upper()
            address = re.search(rb"<(.*?)>", line)
            if verb == b"EHLO":
                self.say("250-sink.test\r\n250 8BITMIME")
            elif verb == b"MAIL":
                sender = address[1].decode()
                self.say("250 2.1.0 Ok")
            elif verb == b"RCPT":
                recipient = address[1].decode()
                self.say("550 5.1.1 No such user" if recipient == REFUSED else "250 2.1.5 Ok")
            elif verb == b"DATA":
                self.say("354 Go on")
                raw = b""
                while (line := self.rfile.readline()) not in (b".\r\n", b""):
                    raw += line[1:] if line.startswith(b".") else line
                if not line:
                    return
                self.taken.append((sender, recipient, raw))
                self.times.append(time.monotonic())
                self.say("250 2.0.0 Queued")
            elif verb == b"QUIT":
                self.say("221 Bye")
                return
            else:
                self.say("250 Ok")


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


def serve_sink():
    """Its port on loopback."""
    server = Server(("127.0.0.1", 0), Sink)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]
