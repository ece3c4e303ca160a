"""Zones below `test.` as knot serves them: SPF, DKIM and DMARC records in every state that the matrix needs."""

import subprocess

SENDS = "ip4:127.0.0.2"


def write(folder, port):
    key = folder / "dkim.pem"
    subprocess.run(["openssl", "genrsa", "-traditional", "-out", key, "2048"], check=True, capture_output=True)
    key.chmod(0o644)
    public = subprocess.run(["openssl", "rsa", "-in", key, "-pubout"], check=True, capture_output=True, text=True).stdout
    public = "".join(line for line in public.splitlines() if not line.startswith("-"))
    dkim = f"v=DKIM1; k=rsa; p={public}"
    rows = []

    def add(name, *texts):
        for text in texts:
            pieces = " ".join(f'"{text[at:at + 200]}"' for at in range(0, len(text), 200))
            rows.append(f"{name}.test. 60 IN TXT {pieces}")

    for name, spf, dmarc in [
        ("pass", f"v=spf1 {SENDS} -all", "v=DMARC1; p=reject"),
        ("soft", f"v=spf1 {SENDS} ~all", "v=DMARC1; p=quarantine"),
        ("neutral", f"v=spf1 {SENDS} ?all", "v=DMARC1; p=none"),
        ("open", "v=spf1 +all", "v=DMARC1; p=reject"),
        ("shut", "v=spf1 -all", "v=DMARC1; p=reject"),
        ("permerror", "v=spf1 ip4:nonsense -all", "v=DMARC1; p=reject"),
        ("nospf", None, "v=DMARC1; p=reject"),
        ("nodmarc", f"v=spf1 {SENDS} -all", None),
        ("strict", f"v=spf1 {SENDS} -all", "v=DMARC1; p=reject; adkim=s; aspf=s"),
        ("sub.pass", f"v=spf1 {SENDS} -all", None),
        ("sub.strict", f"v=spf1 {SENDS} -all", None),
        ("own.pass", f"v=spf1 {SENDS} -all", "v=DMARC1; p=none"),
        ("include", "v=spf1 include:pass.test -all", "v=DMARC1; p=reject"),
        ("redirect", "v=spf1 redirect=pass.test", "v=DMARC1; p=reject"),
        ("byname", "v=spf1 a:host.test -all", "v=DMARC1; p=reject"),
        ("loop", "v=spf1 include:loop.test -all", "v=DMARC1; p=reject"),
        ("intobroken", "v=spf1 include:x.broken.test -all", "v=DMARC1; p=reject"),
        ("badrecord", f"v=spf1 {SENDS} -all", "v=DMARC2; p=reject"),
        ("helo.pass", f"v=spf1 {SENDS} -all", None),
    ]:
        if spf:
            add(name, spf)
        if dmarc:
            add(f"_dmarc.{name}", dmarc)
        add(f"s1._domainkey.{name}", dkim)
    add("revoked._domainkey.pass", "v=DKIM1; k=rsa; p=")
    rows.append("host.test. 60 IN A 127.0.0.2")
    (folder / "test.zone").write_text(
        "test. 60 IN SOA ns.test. admin.test. 1 60 60 60 60\ntest. 60 IN NS ns.test.\nns.test. 60 IN A 127.0.0.1\n"
        "broken.test. 60 IN NS ns.test.\n" + "\n".join(rows) + "\n")
    # A zone whose file is not there is answered with SERVFAIL.
    (folder / "knot.conf").write_text(
        f"server:\n    listen: 127.0.0.1@{port}\n    rundir: {folder}\n"
        f"log:\n  - target: stderr\n    any: warning\ndatabase:\n    storage: {folder}/knot\n"
        f"template:\n  - id: default\n    storage: {folder}\n    file: \"%s.zone\"\n    zonefile-sync: -1\n    journal-content: none\n"
        f"zone:\n  - domain: test\n  - domain: broken.test\n")
    (folder / "knot").mkdir()
