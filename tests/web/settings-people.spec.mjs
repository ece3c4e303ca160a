// Running the team: invite, join, give a role, ask for a second factor, and let somebody go.

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import test, { after } from 'node:test';
import { violations } from './axe.mjs';
import { finish, PHONE, sql, story, until, url, workspace } from './world.mjs';

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

for (const script of [true, false]) {
  story(test, `who signed in a while ago signs in again beside what was typed, ${script ? 'with' : 'without'} script`, async () => {
    const world = await workspace();
    const olga = await world.person(`Olga ${process.pid}${script ? 'a' : 'b'}`, 'admin');
    const time_passes = () => sql(`update sessions set proved_at = now() - interval '1 hour' where person_id = (select id from people where name = '${olga.name}')`);
    const { page, context } = await world.browser(olga, { script, allow: [/403 \(Forbidden\)/] });
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
    await beside.getByRole('heading', { name: 'It is you' }).waitFor();
    if (script) assert.deepEqual(await violations(beside), []);
    await beside.close();
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.getByText('Invitation sent.').waitFor();
    await page.getByRole('row', { name: /lea@larkfield\.test/ }).waitFor();
    // A page leads there and back.
    await page.goto('/settings/keys');
    await time_passes();
    await page.locator('a[href="/settings/keys/new"]').first().click();
    await page.getByRole('heading', { name: 'Confirm it’s you' }).waitFor();
    await page.getByRole('link', { name: 'Sign in again' }).click();
    await page.waitForURL(/\/sign-in\?again=on&next=%2Fsettings%2Fkeys%2Fnew/);
  });
}
