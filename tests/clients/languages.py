"""Runs the samples of docs/webhooks.md in Go, PHP and Ruby over captured deliveries, good ones and bad ones. A language
that the machine does not have is named and passed over, unless CI is set: the gate installs them.

    languages.py REQUESTS.json    (as webhooks.py writes it)
"""

import base64
import hashlib
import hmac
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# The part of Go's sample that is no sample: a program around it.
GO = """
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
)

func main() {
	var cases []struct {
		Secret  string
		Headers map[string]string
		Body    string
	}
	text, _ := os.ReadFile(os.Args[1])
	if err := json.Unmarshal(text, &cases); err != nil {
		panic(err)
	}
	for _, one := range cases {
		headers := http.Header{}
		for name, value := range one.Headers {
			headers.Set(name, value)
		}
		if Verify(one.Secret, headers, []byte(one.Body)) {
			fmt.Println("yes")
		} else {
			fmt.Println("no")
		}
	}
}
"""


def signed(secret, headers, body, age):
    """The same request as it would have been signed so many seconds ago."""
    timestamp = str(int(time.time()) - age)
    key = base64.b64decode(secret.removeprefix("whsec_"))
    text = f"{headers['webhook-id']}.{timestamp}.{body}".encode()
    signature = "v1," + base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()
    return {**headers, "webhook-timestamp": timestamp, "webhook-signature": signature}


def cases(requests):
    """What each sample is asked, with what it has to say."""
    for one in requests:
        headers, body = one["request"]["headers"], one["request"]["body"]
        for secret in one["good"]:
            yield secret, headers, body, "yes"
            yield secret, headers, body + " ", "no"
            yield secret, {**headers, "webhook-id": "evt_other"}, body, "no"
            yield secret, signed(secret, headers, body, 290), body, "yes"
            yield secret, signed(secret, headers, body, 310), body, "no"
            yield secret, {**headers, "webhook-timestamp": "soon"}, body, "no"
            yield secret, {**headers, "webhook-signature": "v1,ä v2,"}, body, "no"
        for secret in one["bad"]:
            yield secret, headers, body, "no"


requests = json.load(open(sys.argv[1]))
environment = {**os.environ, "GO111MODULE": "off", "GOFLAGS": ""}
ran, missing = [], []
with tempfile.TemporaryDirectory() as work:
    file, program = os.path.join(work, "cases.json"), os.path.join(work, "verify")
    languages = {
        "go": [program, file],
        "php": ["php", os.path.join(HERE, "verify.php"), file],
        "ruby": ["ruby", os.path.join(HERE, "verify.rb"), file],
    }
    for language, line in languages.items():
        if not shutil.which(language):
            missing.append(language)
            continue
        if language == "go":
            with open(os.path.join(work, "main.go"), "w") as out:
                out.write(GO)
            sources = [os.path.join(work, "main.go"), shutil.copy(os.path.join(HERE, "verify.go"), work)]
            environment["GOCACHE"] = os.path.join(work, "cache")
            subprocess.run(["go", "build", "-o", program, *sources], check=True, env=environment)
        # Made now: their age counts.
        asked = list(cases(requests))
        wanted = [said for *_, said in asked]
        assert {"yes", "no"} == set(wanted)
        with open(file, "w") as out:
            json.dump([{"secret": one, "headers": headers, "body": body} for one, headers, body, _ in asked], out)
        said = subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
        assert said == wanted, (language, [case for case, got in zip(asked, said) if case[3] != got])
        ran.append(language)
assert not (missing and os.environ.get("CI")), f"not on this machine: {missing}"
print(f"{len(asked)} requests judged by the samples in {', '.join(ran)}" + (f"; not here: {missing}" if missing else ""))
