// One's own settings: theme and name at once, sessions ended one by one.

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { finish, story, until, workspace } from './world.mjs';

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
