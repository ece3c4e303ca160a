// A workspace connects a real provider of OpenID Connect; its people come in by it, with and without script, whichever way
// it signs; then it is the only way, and the operator's link is the way around.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import path from 'node:path';
import test, { after } from 'node:test';
import { violations } from '../web/axe.mjs';
import { bin, finish, PHONE, story, stranger, until, work, workspace } from '../web/world.mjs';
import { CLIENT, freePort, signInThere, start } from './provider.mjs';

const port = await freePort();
const here = `http://127.0.0.1:${port}`;
const log = openSync(path.join(work, 'sso.log'), 'a');
const server = spawn(bin, ['serve'], {
  cwd: work,
  stdio: ['ignore', log, log],
  env: { ...process.env, ROOKERY_LISTEN: `127.0.0.1:${port}`, ROOKERY_PUBLIC_URL: here, ROOKERY_WEBHOOK_ALLOW: '127.0.0.0/8' },
});
const providers = [];
after(async () => {
  providers.forEach((provider) => provider.stop());
  server.kill();
  await finish();
});
await until('the server is ready', async () => (await fetch(`${here}/readyz`).catch(() => null))?.ok, 60);

const PEOPLE = {
  tomas: { email: 'tomas@larkfield.test', email_verified: true, name: 'Tomás Herrera' },
  ada: { email: 'ada@larkfield.test', email_verified: true, name: 'Ada Okonkwo' },
  unconfirmed: { email: 'ada@larkfield.test', email_verified: false, name: 'Not Ada' },
  mallory: { email: 'mallory@evil.test', email_verified: true, name: 'Mallory' },
};
// The provider's own pages ask for fonts of the web, and refusals are answers with a status.
const options = { baseURL: here, allow: [/./] };
const linkHere = async (world, person) => here + new URL(await world.signInLink(person)).pathname;

async function provided(world, more = {}) {
  const provider = await start({ redirect: `${here}/sign-in/sso/${world.id}/callback`, people: PEOPLE, ...more });
  providers.push(provider);
  return provider;
}

/** The owner connects it on the settings page. */
async function connect(world, provider, more = {}) {
  const { page } = await world.browser(world.owner, { ...options, ...more, link: await linkHere(world, world.owner) });
  await page.goto(`${here}/settings/sign-in`);
  await page.getByLabel('Issuer').fill(provider.issuer);
  await page.getByLabel('Client ID').fill(CLIENT.id);
  await page.getByLabel('Client secret').fill(CLIENT.secret);
  await page.getByRole('button', { name: 'Connect' }).click();
  await page.getByText('Provider connected.').waitFor();
  return page;
}

async function signIn(world, name, more = {}) {
  const visit = await stranger({ ...options, ...more });
  await visit.page.goto(`${here}/sign-in/sso/${world.id}?next=/profile`);
  await visit.page.getByRole('button', { name: /^Continue to/ }).click();
  await signInThere(visit.page, name);
  await visit.page.waitForURL(`${here}/**`);
  return visit.page;
}

for (const script of [true, false]) {
  story(test, `an owner connects a provider and makes it the only way, ${script ? 'with' : 'without'} script`, async () => {
    const world = await workspace();
    await world.person('Ada Okonkwo');
    const page = await connect(world, await provided(world), { script });
    if (script) assert.deepEqual(await violations(page), []);
    await page.getByText('To turn it on, sign in by SSO yourself first').waitFor();
    await page.getByRole('button', { name: 'Try it' }).click();
    await signInThere(page, 'tomas');
    await page.waitForURL(`${here}/settings/sign-in*`);
    await page.getByRole('row', { name: /Tomás Herrera/ }).waitFor();
    // He is signed in there, and is asked who he is nevertheless: here it takes a new proof.
    await page.getByRole('button', { name: 'Try it' }).click();
    await page.waitForURL('**/interaction/**');
    await signInThere(page, 'tomas');
    await page.waitForURL(`${here}/settings/sign-in*`);
    await page.getByRole('button', { name: 'Allow only single sign-on' }).click();
    await page.getByText('From now on everybody signs in by single sign-on only.').waitFor();
    if (script) assert.deepEqual(await violations(page), []);

    const ada = await signIn(world, 'ada', { script, size: PHONE });
    await ada.getByRole('heading', { name: 'Ada Okonkwo' }).waitFor();
    await ada.getByRole('row', { name: /Single sign-on/ }).waitFor();
    const stranger = await signIn(world, 'mallory', { script });
    await stranger.getByText('Nobody with your address is on this team').waitFor();
    if (script) assert.deepEqual(await violations(stranger), []);
    // Another account with her address, which nobody has confirmed.
    const false_ada = await signIn(world, 'unconfirmed', { script });
    await false_ada.getByText('hasn’t verified your email address').waitFor();

    // The way around is the operator's.
    const { page: back } = await world.browser(world.owner, { ...options, script, link: await linkHere(world, world.owner) });
    await back.goto(`${here}/settings/sign-in`);
    await back.getByRole('button', { name: 'Allow other ways again' }).click();
    await back.getByText('Other ways to sign in are open again.').waitFor();
  });
}

for (const more of [{ alg: 'PS256' }, { alg: 'ES256' }, { alg: 'Ed25519' }, { alg: 'RS256', tells: false }, { alg: 'RS256', auth: 'client_secret_post' }]) {
  story(test, `somebody comes in by a provider with ${JSON.stringify(more)}`, async () => {
    const world = await workspace();
    await world.person('Ada Okonkwo');
    await connect(world, await provided(world, more));
    const page = await signIn(world, 'ada');
    await page.getByRole('heading', { name: 'Ada Okonkwo' }).waitFor();
  });
}

story(test, 'somebody who says no there is not in here', async () => {
  const world = await workspace();
  await connect(world, await provided(world));
  const { page } = await stranger(options);
  await page.goto(`${here}/sign-in/sso/${world.id}`);
  await page.getByRole('button', { name: /^Continue to/ }).click();
  await page.waitForURL('**/interaction/**');
  await page.getByRole('link', { name: /cancel/i }).click();
  await page.getByText(/did not sign you in \(access_denied\)/).waitFor();
});
