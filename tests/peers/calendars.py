"""Reads every mail of a folder as a calendar program does, and compares what it finds with what was meant (meant.json)."""

import datetime
import email
import email.policy
import json
import pathlib
import sys

import icalendar
import recurring_ical_events

folder = pathlib.Path(sys.argv[1])
meant = json.loads((folder / "meant.json").read_text())
assert len(meant) >= 8, meant
for want in meant:
    mail = email.message_from_bytes((folder / want["file"]).read_bytes(), policy=email.policy.default)
    assert mail.get_content_type() == "multipart/mixed", mail.get_content_type()
    alternative, attached = list(mail.iter_parts())
    kinds = [part.get_content_type() for part in alternative.iter_parts()]
    assert kinds == ["text/plain", "text/html", "text/calendar"], kinds
    part = list(alternative.iter_parts())[2]
    assert part["content-type"].params["method"] == want["method"]
    text = part.get_content()
    assert attached.get_content_type() == "application/ics"
    assert attached.get_content().decode().replace("\r\n", "\n").strip() == text.replace("\r\n", "\n").strip()
    for line in attached.get_content().split(b"\r\n"):
        assert len(line) <= 75, line
    calendar = icalendar.Calendar.from_ical(attached.get_content())
    assert calendar["METHOD"] == want["method"]
    events = calendar.walk("VEVENT")
    assert len(events) == 1 and not events[0].errors, (events, events and events[0].errors)
    event = events[0]
    assert str(event["UID"]) == want["uid"], event["UID"]
    assert int(event["SEQUENCE"]) == want["sequence"]
    starts = datetime.datetime.fromisoformat(want["starts"])
    assert event["DTSTART"].dt == starts, (event["DTSTART"].dt, starts)
    assert str(event["SUMMARY"]) == want["summary"], (str(event["SUMMARY"]), want["summary"])
    assert str(event["ORGANIZER"]) == "mailto:" + mail["from"].addresses[0].addr_spec
    attendee = event["ATTENDEE"]
    assert not isinstance(attendee, list) and str(attendee) == "mailto:" + mail["to"].addresses[0].addr_spec
    found = recurring_ical_events.of(calendar).between(starts - datetime.timedelta(days=1), starts + datetime.timedelta(days=1))
    assert len(found) == 1, found
print(f"{len(meant)} invitations: icalendar and recurring-ical-events read one event each, as it was meant")
