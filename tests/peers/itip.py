"""Plays the visitor and the host with GNOME's calendar engine (Evolution Data Server): every mail of the folder is taken in,
in its order, as Evolution takes an invitation in. However often a booking moves, there is one event, at the newest time; when
it was cancelled, there is none.
"""

import json
import pathlib
import sys

import gi

gi.require_version("EDataServer", "1.2")
gi.require_version("ECal", "2.0")
gi.require_version("ICalGLib", "3.0")
from gi.repository import ECal, EDataServer, ICalGLib

folder = pathlib.Path(sys.argv[1])
meant = json.loads((folder / "meant.json").read_text())
registry = EDataServer.SourceRegistry.new_sync(None)
calendar = ECal.Client.connect_sync(registry.ref_builtin_calendar(), ECal.ClientSourceType.EVENTS, 30, None)


def events():
    return {event.get_uid(): event for event in calendar.get_object_list_sync("#t", None)[1]}


expected = {}
for mail in meant:
    invitation = ICalGLib.Component.new_from_string((folder / (mail["file"] + ".ics")).read_text())
    calendar.receive_objects_sync(invitation, ECal.OperationFlags.NONE, None)
    if mail["method"] == "CANCEL":
        expected.pop(mail["uid"])
    else:
        expected[mail["uid"]] = mail
    found = events()
    assert found.keys() == expected.keys(), (mail, found.keys(), expected.keys())
    for uid, event in found.items():
        starts = expected[uid]["starts"].replace("-", "").replace(":", "").replace("+0000", "Z")
        assert event.get_dtstart().as_ical_string() == starts, (event.get_dtstart().as_ical_string(), starts)
        assert event.get_sequence() == expected[uid]["sequence"]
assert not expected and any(mail["sequence"] > 0 for mail in meant), "every story moves and ends with a cancellation"
print(f"{len(meant)} invitations: Evolution's calendar had one event for each booking, and none at the end")
