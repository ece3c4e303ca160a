"""What the tests of our Python client ask of it: `calls.py URL CASES`. Prints one line for each call."""

import json
import sys
from collections.abc import Callable

from rookery import Rookery, RookeryError, WebhookError, verify_webhook

url, cases = sys.argv[1:]
rookery = Rookery(url, "rk_test_x", timeout=5)


def say(name: str, call: Callable[[], object]) -> None:
    try:
        call()
        print(name, "done")
    except RookeryError as error:
        print(name, error.status, error)
    except OSError:
        print(name, "network")


say("me", lambda: rookery.me())
say("tags", lambda: rookery.tags())
say("note", lambda: rookery.add_note("cnv_1", {"body": "x"}))
say("reply", lambda: rookery.reply("cnv_1", {"body": "x"}))
say("status", lambda: rookery.set_status("cnv_1", {"status": "open"}))
say("documents", lambda: rookery.request_documents("cnv_1", {"documents": [{"label": "x"}]}))
print("file", len(rookery.document_content("doc_1")), "bytes")
say("missing", lambda: rookery.conversation("a/b?c"))
say("elsewhere", lambda: rookery.mailboxes())
for one in json.load(open(cases)):
    try:
        print("webhook", verify_webhook(one["secret"], one["headers"], one["body"].encode())["type"])
    except WebhookError:
        print("webhook refused")
