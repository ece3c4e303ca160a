#!/usr/bin/env python3
"""Usage: sign_in_agents.py HOST SIGN_IN_LINK MODULES NODE    (MODULES has claude, codex and opencode in .bin)

Claude Code, Codex and opencode sign in by their own commands, each in a home of its own, and then say that they are connected.
The first two describe themselves by a document on the web, which a server without a way out cannot fetch. So they meet a front
that does not say that documents are taken, and register instead. It has a port of its own, which it hides from both sides.
"""

import http.server
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import urllib.error
import urllib.request

from sign_in import NoRedirect, browser, door, free_port, host, modules, must, opened, reads

FLAG = "client_id_metadata_document_supported"
port = free_port()
front = f"http://127.0.0.1:{port}"
# An address as it is, and as it stands in queries and forms.
THERE = [(host, front), (host.replace(":", "%3A").replace("/", "%2F"), front.replace(":", "%3A").replace("/", "%2F"))]


def swapped(text, back=False):
    for ours, theirs in THERE:
        text = text.replace(theirs, ours) if back else text.replace(ours, theirs)
    return text


class Front(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    opener = urllib.request.build_opener(NoRedirect)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
        dropped = ("host", "connection", "content-length", "accept-encoding")
        headers = {name: value for name, value in self.headers.items() if name.lower() not in dropped}
        form = swapped(body, back=True).encode() if self.command == "POST" else None
        asked = urllib.request.Request(host + self.path, data=form, headers=headers, method=self.command)
        try:
            answer = self.opener.open(asked, timeout=30)
        except urllib.error.HTTPError as refused:
            answer = refused
        told = swapped(answer.read().decode())
        if FLAG in told:
            told = json.dumps({name: value for name, value in json.loads(told).items() if name != FLAG})
        self.send_response(answer.status)
        for name in ("content-type", "www-authenticate", "allow"):
            if answer.headers[name]:
                self.send_header(name, swapped(answer.headers[name]))
        self.send_header("content-length", str(len(told.encode())))
        self.end_headers()
        self.wfile.write(told.encode())

    do_GET = do_DELETE = do_POST

    def log_message(self, *_):
        pass


def signs_in(name, settings, command, look):
    """The program opens a page, somebody allows it there, and it is connected."""
    home = tempfile.mkdtemp()
    os.mkdir(f"{home}/bin")
    for path, text in [("bin/xdg-open", "#!/bin/sh\n"), *settings]:
        os.makedirs(os.path.dirname(f"{home}/{path}"), exist_ok=True)
        with open(f"{home}/{path}", "w") as file:
            file.write(text)
    os.chmod(f"{home}/bin/xdg-open", 0o755)
    env = {**os.environ, "HOME": home, "BROWSER": "true", "PATH": f"{modules}/.bin:{home}/bin:{os.environ['PATH']}"}
    pipes = dict(stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=env, cwd=home)
    # They want a terminal.
    program = subprocess.Popen(["script", "-qec", command, "/dev/null"], stdin=subprocess.PIPE, **pipes)
    said = []
    threading.Thread(target=reads, args=(iter(lambda: program.stdout.read(1), ""), said), daemon=True).start()
    page = r"/oauth/authorize\?[!#-&(-;=?-~]+(?=[^!#-&(-;=?-~])"
    address = opened(said, re.escape(front) + page, program)
    back = swapped(browser.allows(swapped(address, back=True)))
    with urllib.request.urlopen(back, timeout=30) as answer:
        answer.read()
    program.wait(60)
    listed = subprocess.run(["bash", "-c", look], stdin=subprocess.DEVNULL, timeout=60, **pipes)
    must(listed.returncode == 0, f"{name}: {''.join(said)[-1000:]} {listed.stdout}")
    shutil.rmtree(home, ignore_errors=True)
    print(f"ok {name} from npm: signed in and connected")


if __name__ == "__main__":
    threading.Thread(target=http.server.ThreadingHTTPServer(("127.0.0.1", port), Front).serve_forever, daemon=True).start()
    door = swapped(door)
    opencode = json.dumps({"mcp": {"rookery": {"type": "remote", "url": door}}})
    signs_in("opencode", [("opencode.json", opencode)], "opencode mcp auth rookery", "opencode mcp list | grep connected")
    codex = f'[mcp_servers.rookery]\nurl = "{door}"\n'
    signs_in("Codex", [(".codex/config.toml", codex)], "codex mcp login rookery", "codex mcp list | grep OAuth")
    claude = f"claude mcp add --scope user --transport http rookery {door} >/dev/null && claude mcp login rookery"
    signs_in("Claude Code", [], claude, "claude mcp list | grep Connected")
