// The door: a link signs in once, a page one cannot see yet comes after signing in, and signing out ends it.

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { finish, story, stranger, workspace } from './world.mjs';

after(finish);

story(test, 'a link signs in once, and only by its button', async () => {
  const world = await workspace();
  const link = await world.signInLink(world.owner);
  const { page, context } = await stranger({ allow: [/404|403|410/] });
  await page.goto(link);
  assert.deepEqual(await context.cookies(), [], 'opening the link signs nobody in: scanners open links');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL('**/inbox');
  const [cookie] = await context.cookies();
  assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.path], [true, 'Lax', '/']);
  assert.ok(!(await page.evaluate(() => document.cookie)), 'no script reads the session');

  const other = await stranger({ allow: [/404|403|410/] });
  await other.page.goto(link);
  assert.equal(await other.page.getByRole('button', { name: 'Sign in', exact: true }).count(), 0, 'a link works once');
  assert.deepEqual(await other.context.cookies(), []);
});

story(test, 'what one wanted to see comes after signing in, and signing out ends it', async () => {
  const world = await workspace();
  const { page, context } = await stranger();
  await page.goto('/search?q=boiler');
  await page.waitForURL('**/sign-in**');
  assert.ok(await page.getByRole('heading', { name: 'Sign in' }).isVisible());
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'email', 'one can type at once');

  const signedIn = await world.browser(world.owner);
  await signedIn.page.goto('/inbox');
  const stolen = await signedIn.context.cookies();
  await signedIn.page.getByLabel(/menu/i).first().click();
  await signedIn.page.getByRole('button', { name: /sign out/i }).or(signedIn.page.getByRole('link', { name: /sign out/i })).first().click();
  await signedIn.page.waitForURL('**/sign-in**');
  await context.addCookies(stolen);
  await page.goto('/inbox');
  assert.match(page.url(), /sign-in/, 'the session is over for whoever has its cookie');
});

story(test, 'known and unknown addresses get the same answer, and what was typed stays', async () => {
  await workspace();
  const { page } = await stranger();
  const answers = [];
  for (const email of ['tomas@larkfield.test', 'nobody@larkfield.test']) {
    await page.goto('/sign-in');
    await page.getByLabel('Email address').fill(email);
    await page.getByRole('button', { name: /sign-in link/i }).click();
    await page.getByRole('heading', { name: 'Check your email' }).waitFor();
    answers.push((await page.locator('main').innerText()).replace(email, '…'));
  }
  assert.equal(answers[0], answers[1]);
});
