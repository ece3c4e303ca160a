// Fresh pictures of the app from a demonstration workspace, for docs/pictures and the README: pictures.mjs FOLDER.
// Each is webp, because that is a third of a png.

import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DESK, demonstration, find, finish, PHONE } from './world.mjs';

const folder = process.argv[2];
const MOST_BYTES = 150 * 1024;

const world = await demonstration();
const busy = `/conversations/${await find(world.key, 'Kastanienallee')}`;

// Somebody else is there too.
const colleague = await world.browser(world.people.Mia);
await colleague.page.goto(busy);

async function take(visit, name, where, ready) {
  const { page, context } = visit;
  await page.goto(where);
  await ready?.(page);
  await page.evaluate(() => document.fonts.ready);
  // Presence and the undo clocks come a moment later.
  await page.waitForTimeout(1500);
  const line = await context.newCDPSession(page);
  let bytes;
  for (const quality of [90, 80, 70, 60, 50]) {
    const { data } = await line.send('Page.captureScreenshot', { format: 'webp', quality });
    bytes = Buffer.from(data, 'base64');
    if (bytes.length <= MOST_BYTES) break;
  }
  await writeFile(path.join(folder, `${name}.webp`), bytes);
  console.log(`${name}.webp, ${Math.round(bytes.length / 1024)} KB`);
}

for (const scheme of ['light', 'dark']) {
  const desk = await world.browser(world.owner, { size: DESK, scheme, deviceScaleFactor: 2 });
  await take(desk, `inbox-${scheme}`, '/inbox');
  await take(desk, `conversation-${scheme}`, busy);
  await take(desk, `approvals-${scheme}`, '/approvals');
  const phone = await world.browser(world.owner, { size: { ...PHONE, height: 812 }, scheme, deviceScaleFactor: 2 });
  await take(phone, `phone-inbox-${scheme}`, '/inbox');
  await take(phone, `phone-conversation-${scheme}`, busy);
}

// How a workspace is run: the pages of docs/workspace.md, each with something on it.
const owner = await world.browser(world.owner, { size: DESK, deviceScaleFactor: 1.5 });
const { page } = owner;
await page.goto('/settings/rules/new');
await page.getByLabel('Name', { exact: true }).fill('Invoices to accounts');
await page.getByLabel('Sender of condition 1').fill('larkfield-supplies.test');
await page.getByLabel('Target of action 1').fill('invoice');
await page.getByRole('button', { name: 'Save the rule' }).click();
await page.getByText('Saved. It applies to new mail.').waitFor();
for (const where of [
  '/welcome',
  '/settings/people',
  '/settings/inboxes',
  '/settings/keys',
  '/settings/agents',
  '/settings/webhooks/new',
  '/settings/sandbox',
  '/settings/services',
  '/settings/rules',
  '/reports',
  '/settings/audit',
  '/settings/data',
]) {
  await take(owner, where.slice(1).replaceAll('/', '-'), where);
}
await finish();
