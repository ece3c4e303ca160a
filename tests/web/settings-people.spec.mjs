// Running the team: invite, join, give a role, ask for a second factor, and let somebody go.

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import test, { after } from 'node:test';
import { violations } from './axe.mjs';
import { DESK, finish, PHONE, sql, story, until, url, workspace } from './world.mjs';

after(finish);

/** What an authenticator app shows for a key, at a time. */
function code(key, at = Date.now()) {
  const bits = [...key.replace(/ /g, '')].map((letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0')).join('');
  const secret = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  const step = Buffer.alloc(8);
  step.writeBigUInt64BE(BigInt(Math.floor(at / 30_000)));
  const mac = createHmac('sha1', secret).update(step).digest();
  return String((mac.readUInt32BE(mac.at(-1) & 15) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

for (const script of [true, false]) {
  story(test, `somebody is invited, made an admin, and removed, ${script ? 'with' : 'without'} script`, async () => {
    const world = await workspace();
    const inbox = await world.inbox('Lettings');
    const ada = await world.person('Ada Okonkwo');
    await world.mail(inbox, { from: 'cyd@customer.test', name: 'Cyd', subject: 'Keys', text: 'Where are they?' });
    const { page } = await world.browser(world.owner, { script });
    await page.goto('/settings');
    await page.locator('#main').getByRole('link', { name: /^People/ }).click();
    await page.getByLabel('Addresses, one or more').fill('lea@larkfield.test');
    await page.getByRole('button', { name: 'Send invitations' }).click();
    await page.getByText('Invitation sent.').waitFor();
    const row = page.getByRole('row', { name: /lea@larkfield\.test/ });
    // The page that follows looks the same, so wait for it and not for its words.
    await page.goto('/settings/people');
    await row.getByRole('button', { name: /Send again/ }).click();
    await page.getByText('Invitation sent.').waitFor();
    await page.goto('/settings/people');
    await row.getByRole('button', { name: /Withdraw/ }).click();
    await page.getByText('Invitation withdrawn.').waitFor();
    assert.equal(await page.getByRole('row', { name: /lea@larkfield\.test/ }).count(), 0);

    await page.getByLabel('Role of Ada Okonkwo').selectOption({ label: 'Admin' });
    await page.getByRole('button', { name: 'Save roles' }).click();
    await page.getByText('Roles saved.').waitFor();
    assert.match(await page.getByLabel('Role of Ada Okonkwo').inputValue(), /:admin$/);

    const adas = await world.browser(ada);
    await adas.page.goto('/settings/people');
    assert.match(await adas.page.title(), /People/);
    await sql(`update conversations set assignee_type = 'user', assignee_id = (select id from people where workspace_id = conversations.workspace_id and name like 'Ada%') where mailbox_id = (select id from mailboxes where address = '${inbox.address}')`);
    await page.getByRole('link', { name: 'Remove Ada Okonkwo' }).click();
    await page.getByText('1 open conversation').waitFor();
    if (script) assert.deepEqual(await violations(page), []);
    await page.getByLabel('Open conversations go to').selectOption({ label: 'Tomás Herrera (you)' });
    await page.getByRole('button', { name: /^Remove\s+Ada\s+and hand over/ }).click();
    await page.getByText('Removed. Their work is being handed over.').waitFor();
    assert.equal(await page.getByRole('row', { name: /Ada Okonkwo/ }).count(), 0);
    await adas.page.goto('/inbox');
    assert.match(adas.page.url(), /sign-in/, 'signed out at once');
    await until('the conversation is Tomás’s', async () => {
      await page.goto('/inbox?view=mine');
      return (await page.getByRole('link', { name: /Keys/ }).count()) > 0;
    });
  });
}

story(test, 'a second factor is set up by its QR code and asked for at the next sign-in', async () => {
  const world = await workspace();
  const { page } = await world.browser(world.owner, { size: PHONE });
  await page.goto('/profile');
  await page.getByRole('link', { name: 'Set up two-step verification' }).click();
  const picture = page.getByRole('img', { name: /QR code/ });
  const box = await picture.boundingBox();
  assert.ok(box.width > 180 && Math.abs(box.width - box.height) < 1, JSON.stringify(box));
  await page.getByText('It cannot be scanned').click();
  const key = await page.locator('details code').textContent();
  await page.getByLabel(/six digits/i).fill(code(key));
  await page.getByRole('button', { name: 'Turn on' }).click();
  await page.getByText('Keep these recovery codes now').waitFor();
  const codes = await page.getByRole('list', { name: 'Recovery codes' }).getByRole('listitem').allTextContents();
  assert.equal(codes.length, 10);
  assert.deepEqual(await violations(page), []);
  await page.getByRole('link', { name: 'I’ve saved them' }).click();
  await page.getByText('On: you’re asked for a code').waitFor();

  // Another device, by a link: half of it.
  const link = await world.signInLink(world.owner);
  await page.getByRole('button', { name: 'Sign out', exact: true }).first().click();
  await page.goto(link.replace(/^https?:\/\/[^/]+/, url));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL('**/sign-in/code*');
  assert.deepEqual(await violations(page), []);
  await page.goto('/inbox');
  assert.match(page.url(), /sign-in/, 'half a sign-in opens nothing');
  await page.goto('/sign-in/code');
  await page.getByLabel(/six digits/i).fill(codes[0].toUpperCase());
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL('**/inbox*');
});

const PASSWORD = 'correct horse battery staple';

/** Somebody with a password, whose last proof is a while ago whenever `time_passes`. */
async function someone(world, name, options = {}) {
  const olga = await world.person(name, 'admin');
  const visit = await world.browser(olga, { allow: [/401 \(Unauthorized\)/, /403 \(Forbidden\)/], ...options });
  if (options.password !== false) {
    await visit.page.goto('/profile');
    await visit.page.getByLabel('New password').fill(PASSWORD);
    await visit.page.getByRole('button', { name: 'Set a password' }).click();
    await visit.page.getByText('Password saved.').waitFor();
  }
  const time_passes = () => sql(`update sessions set proved_at = now() - interval '2 hours' where person_id = (select id from people where name = '${name}')`);
  return { olga, time_passes, ...visit };
}

for (const size of [DESK, PHONE]) {
  story(test, `who signed in a while ago invites somebody with a password, in a dialog over the form, ${size.width} px`, async () => {
    const world = await workspace();
    const { page, time_passes } = await someone(world, `Olga ${process.pid}d${size.width}`, { size });
    await page.goto('/settings/people');
    await page.getByLabel('Addresses, one or more').fill('lea@larkfield.test');
    await time_passes();
    const sent = [];
    page.on('request', (request) => { if (request.url().endsWith('/settings/people/invite')) sent.push(request.method()); });
    const invite = page.getByRole('button', { name: 'Send invitations' });
    await invite.click();
    const dialog = page.getByRole('dialog', { name: 'Confirm it’s you' });
    await dialog.getByText('“Send invitations”').waitFor();
    await until('the field has the focus', async () => (await page.evaluate(() => document.activeElement.name)) === 'password');
    assert.deepEqual(await violations(page), []);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, 'nothing is pushed out');

    // Turned away from: nothing is lost, nothing is sent, and the focus is where it was.
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    assert.equal(await page.getByLabel('Addresses, one or more').inputValue(), 'lea@larkfield.test');
    await until('the focus is back', () => invite.evaluate((button) => button === document.activeElement));
    await invite.click();
    await dialog.getByLabel('Password').fill('not my password at all');
    await page.keyboard.press('Enter');
    await dialog.getByText('Incorrect password.').waitFor();
    await until('the field has the focus again', async () => (await page.evaluate(() => document.activeElement.name)) === 'password');
    assert.deepEqual(await violations(page), []);
    assert.deepEqual(sent, [], 'nothing left before the proof');
    await dialog.getByLabel('Password').fill(PASSWORD);
    await dialog.getByRole('button', { name: 'Confirm', exact: true }).click();
    await page.getByText('Invitation sent.').waitFor();
    await page.getByRole('row', { name: /lea@larkfield\.test/ }).waitFor();
    assert.deepEqual(sent, ['POST'], 'once');
    assert.ok(!page.url().includes('lea') && !page.url().includes('password'), page.url());

    // It is known now, and nobody is asked.
    await page.getByLabel('Addresses, one or more').fill('sam@larkfield.test');
    await invite.click();
    await page.getByRole('row', { name: /sam@larkfield\.test/ }).waitFor();
    // A link is gone to after the same question.
    await page.goto('/settings/keys');
    await time_passes();
    await page.locator('a[href="/settings/keys/new"]').first().click();
    await dialog.getByLabel('Password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/settings/keys/new');
  });
}

story(test, 'who signed in a while ago invites somebody with a password, without script', async () => {
  const world = await workspace();
  const { page, time_passes } = await someone(world, `Olga ${process.pid}n`, { script: false, size: PHONE });
  await page.goto('/settings/people');
  await page.getByLabel('Addresses, one or more').fill('lea@larkfield.test');
  await time_passes();
  await page.getByRole('button', { name: 'Send invitations' }).click();
  await page.getByRole('heading', { name: 'Confirm it’s you' }).waitFor();
  await page.getByLabel('Password').fill('not my password at all');
  await page.getByRole('button', { name: 'Confirm', exact: true }).click();
  await page.getByText('Incorrect password.').waitFor();
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Confirm', exact: true }).click();
  await page.getByRole('heading', { name: 'Confirmed' }).waitFor();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText('Invitation sent.').waitFor();
  await page.getByRole('row', { name: /lea@larkfield\.test/ }).waitFor();
  // A page leads there and back at once.
  await page.goto('/settings/keys');
  await time_passes();
  await page.locator('a[href="/settings/keys/new"]').first().click();
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Confirm', exact: true }).click();
  await page.waitForURL('**/settings/keys/new');
});

for (const script of [true, false]) {
  story(test, `who has only email signs in again beside what was typed, ${script ? 'with' : 'without'} script`, async () => {
    const world = await workspace();
    const { olga, page, context, time_passes } = await someone(world, `Olga ${process.pid}${script ? 'a' : 'b'}`, { script, password: false });
    await page.goto('/settings/people');
    await page.getByLabel('Addresses, one or more').fill('lea@larkfield.test');
    await time_passes();
    await page.getByRole('button', { name: 'Send invitations' }).click();
    await page.getByRole('heading', { name: 'Confirm it’s you' }).waitFor();
    if (script) assert.deepEqual(await violations(page), []);
    const [beside] = await Promise.all([context.waitForEvent('page'), page.getByRole('link', { name: /^Sign in again/ }).click()]);
    await beside.getByRole('heading', { name: 'Sign in again' }).waitFor();
    // Where the link leads is known by the browser that asked for it.
    await beside.getByLabel('Email address').fill(olga.email);
    await beside.getByRole('button', { name: 'Send me a sign-in link' }).click();
    await beside.getByRole('heading', { name: /mail/i }).waitFor();
    await world.signIn(beside, olga);
    await beside.getByRole('heading', { name: 'Confirmed' }).waitFor();
    if (script) assert.deepEqual(await violations(beside), []);
    await beside.close();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('Invitation sent.').waitFor();
    await page.getByRole('row', { name: /lea@larkfield\.test/ }).waitFor();
  });
}
