// A program asks to be let in, and a person decides in a real browser: by keyboard, on a phone, without script, in both themes. The
// program is a listener on this machine that knows the server's address and nothing else.

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import test, { after } from 'node:test';
import { violations } from './axe.mjs';
import { DESK, finish, PHONE, story, stranger, url, workspace } from './world.mjs';

after(finish);

/** Registers and listens; `address` is what it opens, `back` what came to it. */
async function program(name) {
  let came;
  const back = new Promise((resolve) => (came = resolve));
  const listener = createServer((request, answer) => {
    if (request.url.startsWith('/callback')) came(new URL(request.url, 'http://localhost').searchParams);
    answer.setHeader('content-type', 'text/html');
    answer.end('<h1>Back in the program</h1>');
  });
  await new Promise((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const redirect = `http://127.0.0.1:${listener.address().port}/callback`;
  const made = await fetch(`${url}/oauth/register`, {
    method: 'POST',
    body: JSON.stringify({ client_name: name, redirect_uris: ['http://127.0.0.1/callback'] }),
  });
  const { client_id } = await made.json();
  const verifier = randomBytes(32).toString('base64url');
  const asked = new URLSearchParams({
    response_type: 'code',
    client_id,
    redirect_uri: redirect,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    scope: 'read write draft send',
    state: randomBytes(24).toString('base64url'),
    resource: `${url}/mcp/sign-in`,
  });
  const redeem = async (code) => {
    const grant = { grant_type: 'authorization_code', code, client_id, redirect_uri: redirect, code_verifier: verifier };
    return (await fetch(`${url}/oauth/token`, { method: 'POST', body: new URLSearchParams(grant) })).json();
  };
  return { address: `/oauth/authorize?${asked}`, back, redeem, state: asked.get('state'), close: () => listener.close() };
}

story(test, 'a program is let in with the keyboard, on the way through the sign-in page', async () => {
  const world = await workspace();
  const helper = await program('Helper <b>\u202e</b>');
  const { page } = await stranger();
  await page.goto(helper.address);
  await page.waitForURL('**/sign-in?next=**');
  // No mail leads to a page that lets a program in: who is in opens it once more.
  await world.signIn(page, world.owner);
  await page.goto(helper.address);
  await page.getByRole('heading', { name: /^Let Helper/ }).waitFor();
  assert.deepEqual(await violations(page), []);
  assert.ok(!(await page.getByRole('checkbox', { name: /^Send/ }).isChecked()), 'sending is for the person to tick');
  await page.getByRole('checkbox', { name: /^Write/ }).focus();
  await page.keyboard.press('Space');
  await page.getByRole('radio', { name: /^Sandbox/ }).focus();
  await page.keyboard.press('Space');
  await page.getByLabel('Name of the agent').fill('keyboard-helper');
  await page.getByRole('button', { name: 'Allow', exact: true }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Back in the program' }).waitFor();
  const back = await helper.back;
  assert.equal(back.get('state'), helper.state);
  assert.equal(back.get('iss'), `${url}/oauth`);
  assert.equal((await helper.redeem(back.get('code'))).scope, 'read draft');
  await page.goto('/settings/agents');
  await page.getByRole('link', { name: 'keyboard-helper' }).first().waitFor();
  helper.close();
});

story(test, 'the page fits a phone and a desk in both themes, and works without script', async () => {
  const world = await workspace();
  for (const [size, name] of [[DESK, 'desk'], [PHONE, 'phone']]) {
    for (const scheme of ['light', 'dark']) {
      const helper = await program('Claude Code');
      const { page } = await world.browser(world.owner, { size, scheme, script: false });
      await page.goto(helper.address);
      await page.getByRole('button', { name: 'Allow', exact: true }).waitFor();
      const wide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth).catch(() => false);
      assert.ok(!wide, `${name} ${scheme}: it does not fit`);
      if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/consent-${name}-${scheme}.png`, fullPage: true });
      await page.getByRole('button', { name: 'Do not allow' }).click();
      await page.getByRole('heading', { name: 'Back in the program' }).waitFor();
      assert.equal((await helper.back).get('error'), 'access_denied');
      helper.close();
    }
  }
});
