"""Our own clients at a service that fails in every way: what fails is tried again, later each time, and what writes has a
name by which the service knows it; what is refused is not. And webhooks, good and bad.

    run.py NODE PYTHON FOLDER    (FOLDER has rookery-client in its node_modules, PYTHON has rookery)
"""

import base64
import hashlib
import hmac
import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
import time

node, python, folder = sys.argv[1:]
here = os.path.dirname(os.path.abspath(__file__))
# What each path answers, one after the other; the last one again and again. None hangs up.
ANSWERS = {
    "GET /me": [(500, {}), (503, {}), (200, {})],
    "GET /tags": [(429, {"Retry-After": "1"}), (200, {})],
    "POST /conversations/cnv_1/notes": [(500, {}), (201, {})],
    "POST /conversations/cnv_1/replies": [None, (422, {})],
    "POST /conversations/cnv_1/status": [None, (200, {})],
    "POST /conversations/cnv_1/document-requests": [(429, {"Retry-After": "1"}), (201, {})],
    "GET /documents/doc_1/content": [(503, {}), (200, {"Content-Type": "application/octet-stream"})],
    "GET /conversations/a%2Fb%3Fc": [(404, {})],
    "GET /mailboxes": [(307, {"Location": "/api/v1/elsewhere"})],
}
WANTED = {
    "GET /me": 3,
    "GET /tags": 2,
    "POST /conversations/cnv_1/notes": 2,
    "POST /conversations/cnv_1/replies": 2,
    "POST /conversations/cnv_1/status": 2,
    "POST /conversations/cnv_1/document-requests": 2,
    "GET /documents/doc_1/content": 2,
    "GET /conversations/a%2Fb%3Fc": 1,
    "GET /mailboxes": 1,
}
SAID = ["me done", "tags done", "note done", "reply 422 A sentence.", "status done", "documents done", "file 11 bytes", "missing 404 A sentence.", "elsewhere 307 A sentence."]
asked = {}
names = {}


class Failing(http.server.BaseHTTPRequestHandler):
    def answer(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        name = f"{self.command} {self.path.removeprefix('/api/v1')}"
        assert self.headers["authorization"] == "Bearer rk_test_x"
        if self.command == "POST":
            names.setdefault(name, []).append(self.headers["idempotency-key"])
        times = asked.setdefault(name, [])
        times.append(time.monotonic())
        answer = ANSWERS[name][min(len(times), len(ANSWERS[name])) - 1]
        if answer is None:
            self.close_connection = True
            self.connection.close()
            return
        status, headers = answer
        body = b'{"ok":true}' if status < 300 else b'{"error":"A sentence."}'
        self.send_response(status)
        for header, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(header, value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


def deliveries():
    """Requests with what has to be said of each."""
    secret, other = ("whsec_" + base64.b64encode(letter * 24).decode() for letter in (b"a", b"b"))
    body = '{"type":"webhook.test","data":{"summary":"Hällo"}}'

    def signed(age, with_secret=secret):
        timestamp = str(int(time.time()) - age)
        key = base64.b64decode(with_secret.removeprefix("whsec_"))
        digest = hmac.new(key, f"evt_1.{timestamp}.{body}".encode(), hashlib.sha256).digest()
        return {"webhook-id": "evt_1", "webhook-timestamp": timestamp,
                "webhook-signature": "v1," + base64.b64encode(digest).decode()}

    both = signed(0)
    both["webhook-signature"] = signed(0, other)["webhook-signature"] + " " + both["webhook-signature"]
    return [
        (signed(0), body, True), (signed(200), body, True), (both, body, True),
        (signed(400), body, False), (signed(-400), body, False), (signed(0, other), body, False),
        (signed(0), body + " ", False), ({**signed(0), "webhook-id": "evt_2"}, body, False),
        ({**signed(0), "webhook-timestamp": "soon"}, body, False), ({}, body, False),
        ({**signed(0), "webhook-timestamp": "²"}, body, False),
        ({**signed(0), "webhook-signature": "v1,ä v2, v1"}, body, False),
    ], secret


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Failing)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
# TypeScript looks for its packages from where it stands.
script = shutil.copy(os.path.join(here, "calls.mts"), folder)
for name, line in {"TypeScript": [node, script], "Python": [python, os.path.join(here, "calls.py")]}.items():
    asked.clear()
    names.clear()
    cases, secret = deliveries()
    file = os.path.join(folder, "deliveries.json")
    with open(file, "w") as out:
        json.dump([{"secret": secret, "headers": headers, "body": body} for headers, body, _ in cases], out)
    done = subprocess.run([*line, url, file], stdout=subprocess.PIPE, text=True, timeout=120)
    wanted = SAID + ["webhook " + ("webhook.test" if good else "refused") for *_, good in cases]
    assert done.stdout.splitlines() == wanted, (name, done.stdout)
    assert {path: len(times) for path, times in asked.items()} == WANTED, (name, asked)
    assert all(len(set(given)) == 1 and given[0] for given in names.values()), f"{name} keeps a call's name: {names}"
    assert len({given[0] for given in names.values()}) == len(names), f"{name} has a name for each call: {names}"
    first, second, third = asked["GET /me"]
    assert third - second > second - first > 0.3, f"{name} waits longer each time: {asked['GET /me']}"
    before, after = asked["GET /tags"]
    assert after - before >= 1, f"{name} waits as long as it is told"
    print(f"ok our client for {name}: {sum(WANTED.values())} tries of {len(WANTED)} calls, {len(cases)} webhooks")
