// An owner looks at the server's health: what is wrong stands first, with what mends it; what is right can be unfolded.

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { finish, PHONE, story, until, workspace } from './world.mjs';

after(finish);

story(test, 'a look tells what is wrong, what mends it, and what is right', async () => {
  const world = await workspace();
  // Another on the same server: its inside is the operator's.
  await workspace();
  const { page } = await world.browser(world.owner);
  await page.goto('/settings');
  await page.getByRole('link', { name: 'Health' }).first().click();
  await page.getByRole('button', { name: 'Run checks' }).click();
  await until('the look is there', async () => /checks (is|are)/.test(await page.locator('.health-sum').textContent()), 60);
  // No backups are made here.
  const row = page.locator('.health-row', { has: page.getByRole('heading', { name: 'Backup backup', exact: true }) });
  assert.match(await row.textContent(), /Tell whoever runs this server/);
  const right = page.locator('details', { hasText: 'Database version' });
  assert.equal(await right.getByText('Database version').isVisible(), false);
  await right.locator('summary').focus();
  await page.keyboard.press('Enter');
  assert.equal(await right.getByText('Database version').isVisible(), true);
  await page.setViewportSize(PHONE);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${wide} pixels stand beside the page`);
});
