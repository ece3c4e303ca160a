"""Runs every block of code in docs/: what can be run is run against a real server, what shows a command is held to the
command's own help, what shows a setting to the settings that the binary knows. A block that nothing here knows how to
judge fails the run, unless not-run.txt names it with a reason.

    blocks.py ROOKERY URL STATE.json PAGES…

STATE.json has workspace, owner, keys, a live conversation, and what stands for ids in the pages; tests/docs/run makes it. Behind a fence's
language may stand `file=NAME` (its name when it is run), `while=approve|listen` (what happens meanwhile) and
`check=mcp|mcp-add` (it is for a program that is not here).
"""

import collections
import concurrent.futures
import contextlib
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request

rookery, url, state_file, *pages = sys.argv[1:]
state = json.load(open(state_file))
here = os.path.dirname(os.path.abspath(__file__))
top = os.path.dirname(os.path.dirname(here))
work = os.getcwd()
# What examples have for the address of the service.
EXAMPLES = ["https://rookery.example", "https://desk.acme.example"]
Block = collections.namedtuple("Block", "page line language words text")


class Wrong(Exception):
    pass


def must(holds, sentence):
    if not holds:
        raise Wrong(sentence)


def blocks(page):
    """Fenced and indented blocks of a page, in their order."""
    lines = open(os.path.join(top, "docs", page)).read().split("\n")
    at = 0
    while at < len(lines):
        if fence := re.match(r"```(\S*)\s*(.*)", lines[at]):
            end = next(n for n in range(at + 1, len(lines)) if lines[n].startswith("```"))
            words = dict(word.split("=", 1) for word in fence[2].split())
            yield Block(page, at + 1, fence[1] or "text", words, "\n".join(lines[at + 1 : end]) + "\n")
            at = end + 1
        elif lines[at].startswith("    ") and (at == 0 or not lines[at - 1].strip()):
            end = at
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            text = "\n".join(line[4:] for line in lines[at:end]).rstrip() + "\n"
            yield Block(page, at + 1, "", {}, text)
            at = end
        else:
            at += 1


def real(text):
    """The text with this server's address, and ids where the page has `cnv_…`."""
    for example in EXAMPLES:
        text = text.replace(example, url)
    # A webhook needs an address that a name leads to.
    text = text.replace("https://app.example/hooks", "http://127.0.0.1:9/hooks")
    for begins, value in state["ids"].items():
        text = re.sub(rf"\b{begins}…", value, text)
    return text


def environment():
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    keys = {"ROOKERY_KEY": state["key"], "KEY": state["key"], "ROOKERY_LIVE_KEY": state["live_key"], "ROOKERY_HOOKS_KEY": state["hooks_key"]}
    return {**kept, **keys, **state["environment"]}


def run(line, **more):
    done = subprocess.run(line, env=environment(), cwd=work, text=True, timeout=120, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **more)
    must(done.returncode == 0, f"it ended with {done.returncode}:\n{done.stdout[-2000:]}")
    return done.stdout


def api(method, path, body=None, key=None, headers={}):
    asked = urllib.request.Request(f"{url}/api/v1{path}", method=method, data=body and json.dumps(body).encode(),
                                   headers={**headers, "Authorization": f"Bearer {key or state['key']}"})
    with urllib.request.urlopen(asked, timeout=30) as answer:
        return json.load(answer)


def admin(command, *arguments):
    line = [rookery, "admin", command, "--json", "--workspace", state["workspace"], *arguments]
    settings = {**os.environ, **state["settings"]}
    return json.loads(subprocess.run(line, check=True, env=settings, stdout=subprocess.PIPE).stdout)


class Beside:
    """A program that runs beside what happens meanwhile, until it says some words or ends."""

    def __init__(self, line):
        self.log = open(os.path.join(work, "beside.log"), "w+")
        self.program = subprocess.Popen(line, env=environment(), cwd=work, stdout=self.log, stderr=self.log,
                                        start_new_session=True)

    def said(self):
        return open(self.log.name).read()

    def wait_for(self, words, seconds=40):
        for _ in range(seconds * 5):
            if words in self.said():
                return
            if self.program.poll() is not None and words not in self.said():
                break
            time.sleep(0.2)
        raise Wrong(f"it never said {words!r}:\n{self.said()[-2000:]}")

    def stop(self):
        if self.program.poll() is None:
            os.killpg(self.program.pid, signal.SIGKILL)
        self.program.wait()


def wait_until_it_listens(port):
    for _ in range(100):
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        time.sleep(0.1)
    raise Wrong(f"nothing listens at {port}")


def approve(line):
    """A live draft is approved while the program listens for webhooks; it says that it heard of it and checked it."""
    made = admin("create-webhook", "--maker", state["owner"], "--url", "http://127.0.0.1:3000/hooks", "--mode", "live",
                 "--scope", "team", "--events", "draft.approved")
    state["environment"]["ROOKERY_WEBHOOK_SECRET"] = made["secret"]
    beside = Beside(line)
    try:
        wait_until_it_listens(3000)
        draft = api("POST", f"/conversations/{state['live_conversation']}/replies", {"body": "It left."}, state["live_key"])
        admin("approve", "--message", draft["messageId"], "--person", state["owner"])
        beside.wait_for("verified draft.approved")
        # What nobody signed is refused.
        forged = urllib.request.Request("http://127.0.0.1:3000/hooks", data=b"{}", headers={"webhook-id": "evt_1"})
        try:
            urllib.request.urlopen(forged, timeout=10)
            raise Wrong("it took a request that nobody signed")
        except urllib.error.HTTPError as error:
            must(error.code == 400, f"it answered {error.code} to a request that nobody signed")
    finally:
        beside.stop()
        admin("remove-webhook", "--webhook", made["webhook"])


def listen(line):
    beside = Beside(line)
    try:
        beside.wait_for("whsec_", 20)
    finally:
        beside.stop()


MEANWHILE = {"approve": approve, "listen": listen}


def program(block, suffix, command):
    """Writes the block to a file and runs it."""
    name = os.path.join(work, block.words.get("file", f"block{suffix}"))
    with open(name, "w") as out:
        out.write(real(block.text))
    if block.words.get("file", "").startswith("first."):
        must(block.text.count("\n") <= 10, "the first call has at most ten lines")
    line = [*command, name]
    if "while" in block.words:
        MEANWHILE[block.words["while"]](line)
    elif ".events()" in block.text:
        # It waits for what happens, and so do others meanwhile.
        waiting.append((block, pool.submit(run, line)))
    else:
        run(line)
    return "run"


def typescript(block):
    # Types are checked for all files at once, at the end.
    return program(block, ".mts", [state["node"]])


def python(block):
    if sample := shown_sample(block):
        return sample
    return program(block, ".py", [state["python"]])


def shell(block):
    if block.words.get("check") == "mcp-add":
        words = shlex.split(real(block.text))
        address = words[words.index("rookery") + 1]
        if "--header" not in words:
            asks_to_sign_in(address)
        else:
            speaks_mcp(address, words[words.index("--header") + 1].split(": ", 1)[1])
        return "tried"
    return program(block, ".sh", ["bash", "-euo", "pipefail"])


def speaks_mcp(address, authorization):
    """The tools are listed at this address with this header, once the key is in its place."""
    given = re.sub(r"\$ROOKERY_KEY\b|\$\{env:ROOKERY_KEY\}|\$\{input:rookery-key\}|\{env:ROOKERY_KEY\}", state["key"], authorization)
    must(given == f"Bearer {state['key']}", f"the key does not get into {authorization!r}")
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    asked = urllib.request.Request(address, data=json.dumps(body).encode(), headers={"Authorization": given})
    with urllib.request.urlopen(asked, timeout=30) as answer:
        must(json.load(answer)["result"]["tools"], "no tools were listed")


def asks_to_sign_in(address):
    """Who has no key is told where to sign in, and what is told is about this address."""
    try:
        urllib.request.urlopen(urllib.request.Request(address, data=b"{}"), timeout=30)
    except urllib.error.HTTPError as refused:
        must(refused.code == 401, f"{address} answers {refused.code}")
        told = re.search(r'resource_metadata="([^"]+)"', refused.headers["WWW-Authenticate"])
    else:
        raise Wrong(f"{address} wants neither a key nor a sign-in")
    with urllib.request.urlopen(told[1], timeout=30) as answer:
        must(json.load(answer)["resource"] == address, "what is told is about another address")


def settings_of_a_client(block):
    text = real(block.text)
    given = tomllib.loads(text) if block.language == "toml" else json.loads(text)
    if block.words.get("check") != "mcp":
        return "read"
    found = []

    def look(value):
        if isinstance(value, dict):
            if "url" in value:
                found.append(value)
            for inner in value.values():
                look(inner)

    look(given)
    must(len(found) == 1, "it names no server")
    # Codex reads the key from a variable that it is told of.
    variable = found[0].get("bearer_token_env_var")
    header = f"Bearer ${variable}" if variable else found[0].get("headers", {}).get("Authorization", "")
    if header:
        speaks_mcp(found[0]["url"], header)
    else:
        asks_to_sign_in(found[0]["url"])
    return "tried"


def shown_sample(block):
    """A sample that tests/clients runs over real deliveries, or the Rust tests do."""
    for name in os.listdir(os.path.join(top, "tests/clients")):
        if name.startswith("verify."):
            text = open(os.path.join(top, "tests/clients", name)).read()
            text = re.split(r"(?:#|//) --- what follows", text)[0]
            text = re.sub(r"\A(//![^\n]*\n)+\n?", "", text)
            if text.strip() == block.text.strip():
                return "run by the tests of clients"
    return None


def sample(block):
    said = shown_sample(block)
    must(said, "it is not one of tests/clients/verify.*")
    return said


helps = {}


def help_of(command):
    if command not in helps:
        done = subprocess.run([rookery, *command, "--help"], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        helps[command] = done.stdout if done.returncode == 0 else None
    return helps[command]


def synopsis(line):
    """`rookery admin a | b --x N [--y]`: each command is there, and has every option."""
    words = line.split()[line.split().index("rookery") + 1 :]
    plain = []
    for word in words:
        if not re.fullmatch(r"[a-z][a-z-]*|\|", word):
            break
        plain.append(word)
    names = " ".join(plain).split(" | ")
    first = tuple(names[0].split())
    commands = [first] + [(*first[:-1], name) for name in names[1:]]
    for command in commands:
        known = help_of(command)
        must(known, f"there is no command {' '.join(command)}")
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", line):
            must(option in known, f"{' '.join(command)} has no {option}")


def known_settings():
    settings = {**os.environ, "ROOKERY_NEVER_WAS": "1", "ROOKERY_DATABASE_URL": "postgres://nowhere@127.0.0.1:1/x"}
    told = subprocess.run([rookery, "migrate"], text=True, env=settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    names = {f"ROOKERY_{name.upper()}" for name in re.findall(r"`(\w+)`", told.stdout)}
    # What other commands take, and every setting from a file.
    return names | {f"{name}_FILE" for name in names} | {"ROOKERY_KEY", "ROOKERY_LISTEN_SECRET"}


def shown(block):
    """An indented block: commands, settings, recipes, a request."""
    text = re.sub(r"\\\n\s*", " ", block.text)
    lines = [re.sub(r"\s{2,}#.*|^#.*", "", line).strip() for line in text.split("\n")]
    lines = [line for line in lines if line]
    if re.match(r"(GET|POST) /", lines[0]):
        return request(block, lines)
    for line in lines:
        if re.match(r"(\w+=\S+ +)*rookery ", line):
            synopsis(line)
        elif line.startswith("just "):
            recipes = open(os.path.join(top, "justfile")).read()
            must(re.search(rf"^{re.escape(line.split()[1])}\b.*:", recipes, re.M), f"no recipe for {line!r}")
        elif not re.match(r"ROOKERY_\w+=", line):
            raise Wrong(f"nothing here can judge {line!r}")
        for name in re.findall(r"\b(ROOKERY_\w+)=", line):
            must(name in known, f"there is no setting {name}")
    return "held to the help"


def request(block, lines):
    """`POST /path`, headers, a body: it is sent. With `HTTP/1.1` it is what is sent to somebody else, and its JSON is read."""
    method, path, *version = lines[0].split()
    body = "\n".join(lines[1:]) if "{" in block.text else None
    body = body and body[body.index("{") :]
    if body:
        body = json.loads(real(body).replace("\n", " ").replace("…", "x"))
    if version:
        must(body or method == "GET", "it has no body")
        return "read"
    path = real(path).replace("after=…&", "").replace("&wait=15", "").replace("?wait=15", "")
    headers = dict(line.split(": ", 1) for line in lines[1:] if re.match(r"[A-Z][\w-]+: ", line))
    for tried in range(20):
        try:
            api(method, path, body, headers=headers)
            return "sent"
        except urllib.error.HTTPError as error:
            said = error.read().decode()
            # What was sent a moment ago leaves when its undo window is over.
            must("has not left" in said and tried < 19, f"it was answered {error.code}: {said}")
            time.sleep(0.5)


JUDGES = {"ts": typescript, "python": python, "sh": shell, "json": settings_of_a_client, "toml": settings_of_a_client,
          "js": sample, "go": sample, "php": sample, "ruby": sample, "rust": sample, "": shown}


def not_run():
    """`page.md: first line of the block`, or `page.md: *` for all of a page, with the reason behind a tab."""
    excused = {}
    for line in open(os.path.join(here, "not-run.txt")):
        if line.strip() and not line.startswith("#"):
            begins, reason = line.rstrip("\n").split("\t")
            excused[begins] = reason.strip()
    return excused


known = known_settings()
pool, waiting = concurrent.futures.ThreadPoolExecutor(), []
excused, used, counts, wrong = not_run(), set(), collections.Counter(), []
for page in pages:
    for block in blocks(page):
        begins = f"{page}: {block.text.strip().split(chr(10))[0]}"
        if begins not in excused:
            begins = f"{page}: *"
        if begins in excused:
            used.add(begins)
            counts["not run, with a reason"] += 1
            continue
        try:
            must(block.language in JUDGES, f"nothing here runs {block.language!r}")
            counts[JUDGES[block.language](block)] += 1
        except (Wrong, OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
            wrong.append(f"docs/{page}:{block.line}: {error}")
for block, ends in waiting:
    try:
        ends.result()
    except (Wrong, OSError, subprocess.SubprocessError) as error:
        wrong.append(f"docs/{block.page}:{block.line}: {error}")
if "tsc" in state:
    files = [name for name in os.listdir(work) if name.endswith(".mts")]
    line = [state["tsc"], "--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--types", "node", *files]
    try:
        run(line)
    except Wrong as error:
        wrong.append(f"TypeScript: {error}")
wrong += [f"not-run.txt: no block begins so: {begins}" for begins in excused.keys() - used if begins.split(":")[0] in pages]
for problem in wrong:
    print(problem, file=sys.stderr)
print(", ".join(f"{count} {how}" for how, count in counts.items()))
sys.exit(1 if wrong else 0)
