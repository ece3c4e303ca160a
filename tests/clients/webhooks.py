"""Receives real webhook deliveries and verifies them with the PyPI libraries `standardwebhooks` and `svix` and with
the sample of docs/webhooks.md; then hands the same requests to webhooks.mjs for the npm libraries.

    webhooks.py ROOKERY WORKSPACE OWNER NODE_MODULES
"""

import datetime
import http.server
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading

import standardwebhooks
import svix
from verify import verify as sample

rookery, workspace, owner, node_modules = sys.argv[1:]
received = queue.Queue()


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        received.put({"headers": {name.lower(): value for name, value in self.headers.items()}, "body": body.decode()})
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def admin(command, *arguments):
    line = [rookery, "admin", command, "--json", "--workspace", workspace, *arguments]
    return json.loads(subprocess.run(line, check=True, stdout=subprocess.PIPE).stdout)


def accepts(library, secret, request):
    headers, body = request["headers"], request["body"]
    if library == "sample":
        return sample(secret, headers, body.encode())
    try:
        {"standardwebhooks": standardwebhooks, "svix": svix}[library].Webhook(secret).verify(body, headers)
        return True
    except (standardwebhooks.WebhookVerificationError, svix.WebhookVerificationError):
        return False


def tested(webhook):
    """The delivery of a test event. What else happens in the workspace meanwhile is told as well, and passed over."""
    admin("test-webhook", "--webhook", webhook)
    while json.loads((request := received.get(timeout=20))["body"])["type"] != "webhook.test":
        pass
    return request


def check(request, good, bad):
    """Every library takes the request with the good secrets, and refuses it altered or too old."""
    for library in ["standardwebhooks", "svix", "sample"]:
        for secret in good:
            assert accepts(library, secret, request), (library, request)
            altered = {"headers": request["headers"], "body": request["body"] + " "}
            assert not accepts(library, secret, altered), (library, "altered body")
            renamed = {"headers": {**request["headers"], "webhook-id": "evt_other"}, "body": request["body"]}
            assert not accepts(library, secret, renamed), (library, "another id")
            for age, taken in [(290, True), (310, False)]:
                assert accepts(library, secret, signed_before(request, secret, age)) == taken, (library, age)
        for secret in bad:
            assert not accepts(library, secret, request), (library, "another secret")


def signed_before(request, secret, seconds):
    """The same request as it would have been signed so many seconds ago."""
    then = datetime.datetime.now(tz=datetime.timezone.utc) - datetime.timedelta(seconds=seconds)
    event = request["headers"]["webhook-id"]
    signature = standardwebhooks.Webhook(secret).sign(event, then, request["body"])
    headers = {"webhook-timestamp": str(int(then.timestamp())), "webhook-signature": signature}
    return {"headers": {**request["headers"], **headers}, "body": request["body"]}


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/hook"
made = admin("create-webhook", "--maker", owner, "--url", url, "--mode", "test", "--scope", "team")
other = admin("create-webhook", "--maker", owner, "--url", url, "--mode", "live", "--scope", "team")

first = tested(made["webhook"])
check(first, [made["secret"]], [other["secret"]])
rotated = admin("rotate-webhook", "--webhook", made["webhook"])
second = tested(made["webhook"])
assert len(second["headers"]["webhook-signature"].split(" ")) == 2, second
check(second, [rotated["secret"], made["secret"]], [other["secret"]])
assert not accepts("svix", rotated["secret"], first), "the new secret did not sign what came before it"

requests = [
    {"request": first, "good": [made["secret"]], "bad": [other["secret"], rotated["secret"]]},
    {"request": second, "good": [rotated["secret"], made["secret"]], "bad": [other["secret"]]},
]
with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
    json.dump(requests, file)
    file.flush()
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "webhooks.mjs")
    subprocess.run(["node", script, file.name, node_modules], check=True)
    languages = os.path.join(os.path.dirname(script), "languages.py")
    subprocess.run([sys.executable, languages, file.name], check=True)
print(f"{len(requests)} deliveries verified by standardwebhooks and svix of PyPI and npm, and by both samples")
