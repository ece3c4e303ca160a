"""A visitor's calendar program: reads an invitation from standard input, and answers it as the argument says.

    visitor.py ACCEPTED|TENTATIVE|DECLINED < invitation.ics > reply.ics

It keeps what RFC 5546 says of a reply: the same UID, SEQUENCE and ORGANIZER, and the attendee with its new state.
"""

import sys

from icalendar import Calendar, Event

said = sys.argv[1]
invitation = Calendar.from_ical(sys.stdin.buffer.read())
assert invitation["METHOD"] == "REQUEST", invitation["METHOD"]
(event,) = invitation.walk("VEVENT")
attendee = event["ATTENDEE"]
assert not isinstance(attendee, list), "one attendee"
attendee.params["PARTSTAT"] = said
attendee.params.pop("RSVP", None)

answer = Calendar()
answer.add("prodid", "-//A visitor//EN")
answer.add("version", "2.0")
answer.add("method", "REPLY")
own = Event()
for name in ("UID", "SEQUENCE", "ORGANIZER", "DTSTART", "DTEND", "DTSTAMP"):
    own[name] = event[name]
own["ATTENDEE"] = attendee
answer.add_component(own)
sys.stdout.buffer.write(answer.to_ical())
