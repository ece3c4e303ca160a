#!/usr/bin/env python3
"""Usage: sign_in.py HOST SIGN_IN_LINK MODULES NODE

Real MCP clients sign in at HOST/mcp/sign-in: the PyPI `mcp` client, mcp-remote from npm, and the official conformance tests of
authorization servers. They know the address and nothing else. A stand-in for the browser has a session of SIGN_IN_LINK, opens the
address that each client wants opened, and presses Allow.
Exits 1 with one sentence on the first thing that is not as it must be.
"""

import asyncio
import html
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import httpx2
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

host, link, modules, node = sys.argv[1:]
door = f"{host}/mcp/sign-in"
TOOLS = {"list_conversations", "add_note", "reply"}


def must(holds, sentence):
    if not holds:
        sys.exit(f"FAILED: {sentence}")


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Browser:
    """Somebody of the team, in front of a page without script."""

    def __init__(self):
        self.opener = urllib.request.build_opener(NoRedirect)
        answer = self.ask(link, b"")
        self.cookie = answer.headers["set-cookie"].split(";")[0]

    def ask(self, address, form=None):
        headers = {"Cookie": getattr(self, "cookie", ""), "Origin": host}
        try:
            return self.opener.open(urllib.request.Request(address, data=form, headers=headers), timeout=30)
        except urllib.error.HTTPError as answer:
            must(answer.code in (302, 303), f"{address.split('?')[0]} answered {answer.code}: {answer.read().decode()[:2000]}")
            return answer

    def allows(self, address):
        """Reads the page, presses Allow, and gives where that leads."""
        page = self.ask(address).read().decode()
        form = re.search(r'<form class="form[^>]*action="/oauth/authorize".*?</form>', page, re.S)[0]
        fields = [("decision", "allow")]
        for tag in re.findall(r"<input[^>]*>", form):
            of = {name: html.unescape(value) for name, value in re.findall(r'([a-z]+)="([^"]*)"', tag)}
            choice = of.get("type") in ("radio", "checkbox")
            # It works on the sandbox, and everything that is ticked stays so.
            wanted = of.get("value") == "test" if of.get("name") == "mode" else " checked" in tag or not choice
            if wanted and " disabled" not in tag:
                fields.append((of["name"], of.get("value", "")))
        done = self.ask(f"{host}/oauth/authorize", urllib.parse.urlencode(fields).encode()).read().decode()
        return html.unescape(re.search(r'content="0;url=([^"]+)"', done)[1])

    def goes(self, address):
        """The whole way, to the program that listens on this machine."""
        back = self.allows(address)
        with urllib.request.urlopen(back, timeout=30) as answer:
            answer.read()


browser = Browser()


class Storage:
    def __init__(self):
        self.tokens = self.client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


async def python_client():
    storage, back = Storage(), {}

    async def opens(address):
        query = urllib.parse.urlsplit(await asyncio.to_thread(browser.allows, address)).query
        back.update(urllib.parse.parse_qsl(query))

    async def comes_back():
        return AuthorizationCodeResult(code=back["code"], state=back["state"], iss=back["iss"])

    about = OAuthClientMetadata(client_name="Python", redirect_uris=["http://127.0.0.1:1/callback"])

    auth = OAuthClientProvider(door, about, storage, opens, comes_back)

    async def works():
        async with httpx2.AsyncClient(auth=auth, timeout=30) as http:
            async with Client(streamable_http_client(door, http_client=http), read_timeout_seconds=30) as client:
                listed = {tool.name for tool in (await client.list_tools()).tools}
                must(TOOLS <= listed and "record_sent" not in listed, f"the tools are {sorted(listed)}")
                result = await client.call_tool("list_conversations", {"limit": 1})
                must(not result.is_error, result.content[0].text)

    await works()
    first = storage.tokens
    must(back.pop("code", None), "it did not sign in")
    await works()
    must("code" not in back, "a client with a token asked to sign in again")
    # As if its hour were over.
    auth.context.token_expiry_time = time.time() - 1
    await works()
    must("code" not in back and storage.tokens.refresh_token != first.refresh_token, "it did not refresh")
    print("ok mcp from PyPI: signed in, worked, refreshed")


def reads(pipe, into):
    for line in pipe:
        into.append(line)


def opened(lines, pattern, program, seconds=60):
    """The address that a program wants opened, among what it prints."""
    end = time.time() + seconds
    while time.time() < end:
        found = re.search(pattern, "".join(lines))
        if found:
            return found[0]
        must(program.poll() is None, f"it ended: {''.join(lines)[-3000:]}")
        time.sleep(0.1)
    must(False, f"it opened nothing: {''.join(lines)[-3000:]}")


AUTHORIZE = re.escape(host) + r"/oauth/authorize\?[!#-&(-;=?-~]+(?=[^!#-&(-;=?-~])"


def remote():
    home = tempfile.mkdtemp()
    # No browser to start: it prints the address too.
    env = {**os.environ, "MCP_REMOTE_CONFIG_DIR": home, "HOME": home, "BROWSER": "true", "PATH": f"{home}:{os.environ['PATH']}"}
    with open(f"{home}/xdg-open", "w") as nothing:
        nothing.write("#!/bin/sh\n")
    os.chmod(f"{home}/xdg-open", 0o755)
    command = [node, f"{modules}/mcp-remote/dist/proxy.js", door, "--allow-http"]
    pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)

    def asked(signs_in):
        program = subprocess.Popen(command, **pipes)
        told, said = [], []
        for pipe, into in ((program.stderr, told), (program.stdout, said)):
            threading.Thread(target=reads, args=(pipe, into), daemon=True).start()

        def say(message):
            program.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            program.stdin.flush()

        try:
            hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
            say({"id": 1, "method": "initialize", "params": hello})
            if signs_in:
                browser.goes(opened(told, AUTHORIZE, program))
            end = time.time() + 60
            while not said and time.time() < end and program.poll() is None:
                time.sleep(0.1)
            must(said, f"mcp-remote said nothing: {''.join(told)[-3000:]}")
            say({"method": "notifications/initialized"})
            say({"id": 2, "method": "tools/list"})
            while len(said) < 2 and time.time() < end and program.poll() is None:
                time.sleep(0.1)
            listed = {tool["name"] for tool in json.loads(said[1])["result"]["tools"]}
            must(TOOLS <= listed, f"mcp-remote lists {sorted(listed)}")
            must(signs_in or "authorize" not in "".join(told), "mcp-remote signed in a second time")
        finally:
            program.kill()
            program.wait()

    asked(True)
    asked(False)
    shutil.rmtree(home, ignore_errors=True)
    print("ok mcp-remote from npm: signed in, and came again without")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def conformance():
    port = free_port()
    about = {"client_name": "Conformance", "redirect_uris": [f"http://127.0.0.1:{port}/callback"]}
    headers = {"Content-Type": "application/json"}
    made = urllib.request.Request(f"{host}/oauth/register", data=json.dumps(about).encode(), headers=headers)
    with urllib.request.urlopen(made, timeout=30) as answer:
        client = json.load(answer)["client_id"]
    command = [node, f"{modules}/@modelcontextprotocol/conformance/dist/index.js", "authorization"]
    command += ["--url", f"{host}/oauth", "--client-id", client, "--resource", door, "--port", str(port)]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said = []
    reading = threading.Thread(target=reads, args=(program.stdout, said), daemon=True)
    reading.start()
    browser.goes(opened(said, AUTHORIZE, program))
    must(program.wait(60) == 0, f"conformance: {''.join(said)[-4000:]}")
    reading.join(5)
    total = re.findall(r"Total: .*", "".join(said)) or ["all passed"]
    print(f"ok conformance of authorization servers: {total[-1]}")


if __name__ == "__main__":
    asyncio.run(python_client())
    remote()
    conformance()
