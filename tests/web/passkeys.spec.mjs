// Passkeys with a device that Chromium plays: one is added on the profile, signs in, is named and removed; a device that does
// not know its owner signs nothing. Browsers bind passkeys to a host name, so the server has one here.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import test, { after } from 'node:test';
import { violations } from './axe.mjs';
import { bin, DESK, finish, PHONE, sql, story, until, work, workspace } from './world.mjs';

const port = await new Promise((done) => {
  const listening = createServer().listen(0, '127.0.0.1', () => {
    const { port } = listening.address();
    listening.close(() => done(port));
  });
});
const here = `http://localhost:${port}`;
const log = openSync(path.join(work, 'passkeys.log'), 'a');
const server = spawn(bin, ['serve'], {
  cwd: work,
  stdio: ['ignore', log, log],
  env: { ...process.env, ROOKERY_LISTEN: `127.0.0.1:${port}`, ROOKERY_PUBLIC_URL: here },
});
after(async () => {
  server.kill();
  await finish();
});
await until('the server is ready', async () => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null))?.ok, 60);

/** A phone or laptop with a finger on it. */
async function device(visit) {
  const cdp = await visit.context.newCDPSession(visit.page);
  await cdp.send('WebAuthn.enable');
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
  });
  return { knows: (isUserVerified) => cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified }) };
}

for (const size of [DESK, PHONE]) {
  story(test, `a passkey is added, signs in and is removed, ${size.width} px`, async () => {
    const world = await workspace();
    const link = here + new URL(await world.signInLink(world.owner)).pathname;
    const visit = await world.browser(world.owner, { size, baseURL: here, link, allow: [/401/] });
    const { page } = visit;
    const finger = await device(visit);
    await page.goto('/profile');
    await page.getByLabel('Its name').fill('Blue laptop');
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByText('Passkey added.').waitFor();
    await page.getByText('Blue laptop', { exact: true }).first().waitFor();
    assert.deepEqual(await violations(page), []);
    // Who is there is confirmed by a finger, over the form that waits.
    await page.goto('/settings/people');
    await page.getByLabel('Addresses, one or more').fill('lea@larkfield.test');
    await sql(`update sessions set proved_at = now() - interval '2 hours'
      where person_id = (select person_id from passkeys where name = 'Blue laptop' order by id desc limit 1)`);
    await page.getByRole('button', { name: 'Send invitations' }).click();
    const dialog = page.getByRole('dialog', { name: 'Confirm it’s you' });
    await dialog.getByRole('button', { name: 'Use a passkey' }).waitFor();
    assert.deepEqual(await violations(page), []);
    await finger.knows(false);
    await dialog.getByRole('button', { name: 'Use a passkey' }).click();
    await dialog.getByText('Nothing was done').waitFor();
    await finger.knows(true);
    await dialog.getByRole('button', { name: 'Use a passkey' }).click();
    await page.getByText('Invitation sent.').waitFor();
    await page.goto('/profile');
    // The same device does not get a second one.
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByText('This device has a passkey of yours already.').waitFor();

    await page.getByRole('button', { name: 'Sign out', exact: true }).first().click();
    await page.waitForURL('**/sign-in*');
    assert.deepEqual(await violations(page), []);
    assert.equal(await page.getByRole('alert').count(), 0, 'nothing is wrong yet');
    await finger.knows(false);
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await page.getByText('Nothing was done').waitFor();
    assert.deepEqual(await violations(page), []);
    await finger.knows(true);
    await page.goto('/sign-in?next=/profile');
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await page.waitForURL('**/profile');
    await page.getByRole('row', { name: /Passkey/ }).waitFor();

    await page.getByText('Blue laptop', { exact: true }).first().click();
    await page.getByLabel('New name of Blue laptop').fill('Old laptop');
    await page.getByRole('button', { name: 'Rename' }).click();
    await page.getByText('Passkey renamed.').waitFor();
    await page.getByRole('link', { name: 'Remove Old laptop' }).click();
    assert.deepEqual(await violations(page), []);
    await page.getByRole('button', { name: 'Remove it' }).click();
    await page.getByText('Passkey removed.').waitFor();
    await page.getByRole('button', { name: 'Sign out', exact: true }).first().click();
    await page.waitForURL('**/sign-in*');
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await page.getByText('That passkey did not work here.').waitFor();
  });
}

story(test, 'without script the page offers every other way and no passkey', async () => {
  const world = await workspace();
  const link = here + new URL(await world.signInLink(world.owner)).pathname;
  const { page } = await world.browser(world.owner, { script: false, baseURL: here, link });
  await page.goto('/profile');
  await page.getByText(/^To add a passkey, you need JavaScript/).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Add a passkey' }).count(), 0);
  await page.getByRole('button', { name: 'Sign out', exact: true }).first().click();
  await page.waitForURL('**/sign-in*');
  assert.equal(await page.getByRole('button', { name: 'Use a passkey' }).count(), 0);
  await page.getByRole('button', { name: 'Send me a sign-in link' }).waitFor();
});
