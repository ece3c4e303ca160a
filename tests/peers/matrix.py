"""The same mail, judged by us and by authheaders: every combination of SPF, DKIM and DMARC that matters."""

import smtplib

import authheaders
import dkim
import dns.resolver

HERE, ELSEWHERE = "127.0.0.2", "127.0.0.3"


# The list's own rule for top-level domains that it does not know, such as `test`.
authheaders.get_org_domain = lambda domain: ".".join(domain.split(".")[-2:])


def key_record(name, timeout=5):
    """As dkimpy's own, but a server that cannot answer is an error and not a missing key."""
    try:
        return b"".join(next(iter(dns.resolver.resolve(name.decode(), "TXT"))).strings)
    except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
        return None


check_dkim = authheaders.check_dkim
authheaders.check_dkim = lambda message, dnsfunc=None: check_dkim(message, dnsfunc=key_record)


def use_name_server(port):
    resolver = dns.resolver.Resolver(configure=False)
    resolver.nameservers, resolver.port, resolver.lifetime = ["127.0.0.1"], port, 5
    dns.resolver.default_resolver = resolver


def name_server_answers():
    try:
        return dns.resolver.resolve("pass.test", "TXT")
    except Exception:
        return None


def cases():
    """Name, From header, envelope sender, source address, signing domain (or a way to spoil it)."""
    spf = {"pass": ("a@pass.test", HERE), "fail": ("a@pass.test", ELSEWHERE), "softfail": ("a@soft.test", ELSEWHERE),
           "neutral": ("a@neutral.test", ELSEWHERE), "none": ("a@nospf.test", HERE),
           "permerror": ("a@permerror.test", HERE), "temperror": ("a@x.broken.test", HERE)}
    signatures = {"none": None, "pass": "pass", "unaligned": "open", "changed": "changed", "nokey": "nokey", "temperror": "broken"}
    # Everything against a domain that asks for rejection.
    for spf_name, (envelope, source) in spf.items():
        for dkim_name, signature in signatures.items():
            yield f"spf {spf_name}, dkim {dkim_name}", "anna@pass.test", envelope, source, signature
    # Policies, subdomains, alignment.
    yield "relaxed: subdomain in From", "anna@sub.pass.test", "a@pass.test", HERE, None
    yield "relaxed: subdomain signs", "anna@pass.test", "a@shut.test", HERE, "sub.pass"
    yield "relaxed: parent signs for subdomain", "anna@sub.pass.test", "a@shut.test", HERE, "pass"
    yield "relaxed: subdomain in envelope", "anna@pass.test", "a@sub.pass.test", HERE, None
    yield "strict: same", "anna@strict.test", "a@strict.test", HERE, "strict"
    yield "strict: subdomain in envelope", "anna@strict.test", "a@sub.strict.test", HERE, None
    yield "strict: subdomain signs", "anna@strict.test", "a@shut.test", HERE, "sub.strict"
    yield "strict: subdomain in From", "anna@sub.strict.test", "a@strict.test", HERE, None
    yield "a subdomain's own record", "anna@own.pass.test", "a@shut.test", HERE, None
    yield "no DMARC, all passes", "anna@nodmarc.test", "a@nodmarc.test", HERE, "nodmarc"
    yield "no DMARC, nothing passes", "anna@nodmarc.test", "a@shut.test", HERE, None
    yield "no domain at all", "anna@nowhere.test", "a@nowhere.test", HERE, None
    yield "a DMARC record of another version", "anna@badrecord.test", "a@badrecord.test", HERE, None
    yield "SPF by include", "anna@include.test", "a@include.test", HERE, None
    yield "SPF by redirect", "anna@redirect.test", "a@redirect.test", HERE, None
    yield "SPF by name", "anna@byname.test", "a@byname.test", HERE, None
    yield "SPF that includes itself", "anna@loop.test", "a@loop.test", HERE, None
    yield "SPF that includes what cannot be asked", "anna@intobroken.test", "a@intobroken.test", HERE, None
    yield "policy none, fails", "anna@neutral.test", "a@shut.test", HERE, None
    yield "policy quarantine, passes", "anna@soft.test", "a@soft.test", HERE, None
    yield "everybody may send", "anna@open.test", "a@open.test", ELSEWHERE, None
    yield "null sender", "anna@pass.test", "", HERE, None
    yield "null sender, signed", "anna@pass.test", "", HERE, "pass"
    yield "revoked key", "anna@pass.test", "a@shut.test", HERE, "revoked"
    yield "DMARC cannot be asked", "anna@x.broken.test", "a@pass.test", HERE, None


def message(number, sender, signature, key):
    text = (f"From: Anna <{sender}>\r\nTo: help@acme.test\r\nSubject: Matrix {number}\r\n"
            f"Message-ID: <matrix{number}@matrix.test>\r\nDate: Mon, 06 Jan 2031 09:00:00 +0000\r\n\r\nHello Ben\r\n").encode()
    if signature is None:
        return text
    domain = {"changed": "pass", "nokey": "unsigned", "broken": "x.broken", "revoked": "pass"}.get(signature, signature)
    selector = b"revoked" if signature == "revoked" else b"s1"
    header = dkim.sign(text, selector, f"{domain}.test".encode(), key, include_headers=[b"from", b"subject", b"message-id"])
    text = header + text
    return text.replace(b"Hello Ben", b"Hello Eve") if signature == "changed" else text


def theirs(text, envelope, source):
    helo = "helo.pass.test"
    # RFC 7208 2.4: without a sender, the postmaster of the greeting is asked about.
    envelope = envelope or f"postmaster@{helo}"
    found = authheaders.authenticate_message(text, "mx.acme.test", spf=True, ip=source, mail_from=envelope, helo=helo, dmarcbis=True)
    results = {}
    for piece in found.split(":", 1)[1].split(";")[1:]:
        words = piece.strip().replace("\r\n", " ").split()
        if words and "=" in words[0]:
            check, result = words[0].split("=", 1)
            results.setdefault(check, result.lower())
    return results


# authheaders says "fail" to every signature that is no pass; a key that is not there is "permerror" to us.
SAME_DKIM = {"pass": "pass", "none": "none", "fail": "fail", "neutral": "fail", "permerror": "fail", "temperror": "temperror"}


# Where the two may differ, each with the reason why ours is right.
MEANT = {
    # RFC 9989 5.3.6: when a lookup for an aligned name fails, DMARC neither passes nor fails.
    ("SPF that includes what cannot be asked", "dmarc"): ("temperror", "fail"),
    ("DMARC cannot be asked", "dmarc"): ("temperror", "none"),
}


def compare(world, say):
    key = (world.folder / "dkim.pem").read_bytes()
    differences, seen = [], {"spf": set(), "dkim": set(), "dmarc": set()}
    number = 0
    for number, (name, sender, envelope, source, signature) in enumerate(cases(), 1):
        text = message(number, sender, signature, key)
        with smtplib.SMTP("127.0.0.1", world.smtp, local_hostname="helo.pass.test", source_address=(source, 0)) as smtp:
            smtp.sendmail(envelope, ["help@acme.test"], text)
        ours, others = world.verdict(f"matrix{number}@matrix.test"), theirs(text, envelope, source)
        for check in ["spf", "dkim", "dmarc"]:
            seen[check].add(ours[check])
            us, them = ours[check], others.get(check, "none")
            if check == "dkim":
                us, them = SAME_DKIM[us], SAME_DKIM.get(them, them)
                them = "none" if signature is None else them
            if us != them and MEANT.get((name, check)) != (us, them):
                differences.append(f"{name}: {check} is {ours[check]} to us, {others.get(check)} to authheaders")
    for difference in differences:
        say(difference)
    if differences:
        raise SystemExit(f"peers: FAILED: {len(differences)} verdicts of {number} mails differ from authheaders")
    for check, wanted in {"spf": 7, "dkim": 4, "dmarc": 4}.items():
        if len(seen[check]) < wanted:
            raise SystemExit(f"peers: FAILED: the matrix saw only {seen[check]} of {check}")
    say(f"{number} mails: SPF, DKIM and DMARC are the same to us and to authheaders")
