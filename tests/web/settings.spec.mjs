// One's own settings: theme and name at once, sessions ended one by one.

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { violations } from './axe.mjs';
import { finish, PHONE, story, until, workspace } from './world.mjs';

after(finish);

story(test, 'a dark theme is dark at once, and another session can be ended', async () => {
  const world = await workspace();
  const here = await world.browser(world.owner);
  const there = await world.browser(world.owner);
  const { page } = here;
  await page.goto('/profile');
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await page.getByRole('radio', { name: /dark/i }).check({ force: true });
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await until('dark', async () => (await paper()) !== light);
  await page.goto('/profile');
  await page.getByRole('button', { name: 'Sign out everywhere else' }).click();
  await until('the other session is over', async () => {
    await there.page.goto('/inbox');
    return /sign-in/.test(there.page.url());
  });
  await page.goto('/inbox');
  assert.match(page.url(), /inbox/);
});

story(test, 'someone says that they are away, colleagues see it, and they come back', async () => {
  const world = await workspace();
  const mia = await world.person('Mia Brandt');
  const [own, { page: olgas }] = [await world.browser(mia), await world.browser(world.owner)];
  const { page } = own;
  await page.goto('/profile');
  const away = page.locator('#away');
  const day = (days) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 16);
  await away.getByLabel('Until').fill(day(5));
  await away.getByLabel('Automatic reply').fill('I am away.');
  await away.getByRole('button', { name: 'Save dates' }).click();
  await away.getByText(/^You’re away until/).waitFor();
  assert.deepEqual(await violations(page), []);
  await page.setViewportSize(PHONE);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${wide} px too wide`);
  await olgas.goto('/settings/people');
  await olgas.getByText(/^Away until/).waitFor();
  await away.getByRole('button', { name: 'I’m back' }).click();
  await page.getByText('Out of office is off.').waitFor();
  assert.equal(await away.getByLabel('Until').inputValue(), '');
});
