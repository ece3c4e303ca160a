// Reads every mail's attached event with ical.js, and compares it with what was meant (meant.json).
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import assert from 'node:assert/strict';

const [modules, folder] = process.argv.slice(2);
const loaded = createRequire(join(modules, 'x.js'))('ical.js');
const ICAL = loaded.default ?? loaded;
const meant = JSON.parse(readFileSync(join(folder, 'meant.json'), 'utf8'));
for (const want of meant) {
  const calendar = new ICAL.Component(ICAL.parse(readFileSync(join(folder, want.file + '.ics'), 'utf8')));
  assert.equal(calendar.getFirstPropertyValue('method'), want.method);
  const events = calendar.getAllSubcomponents('vevent');
  assert.equal(events.length, 1);
  const event = new ICAL.Event(events[0]);
  assert.equal(event.uid, want.uid);
  assert.equal(event.sequence, want.sequence);
  assert.equal(event.startDate.toJSDate().toISOString(), new Date(want.starts).toISOString());
  assert.equal(event.summary, want.summary);
  assert.equal(event.attendees.length, 1);
  const name = events[0].getFirstProperty('organizer').getParameter('cn');
  // It takes \n in a parameter for the end of a line, which RFC 6868 does not.
  assert.equal(name, want.organizer.replaceAll('\\n', '\n'));
}
console.log(`${meant.length} invitations: ical.js reads one event each, as it was meant`);
