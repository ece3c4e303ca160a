// An owner looks at the server's health: what is wrong stands first, with what mends it; what is right can be unfolded. Where
// several workspaces share a server, its inside is the operator's, and an owner sees the records of their own domains.

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { finishAll, machine } from './machine.mjs';
import { PHONE, story, stranger, until, workspace } from './world.mjs';

after(finishAll);

/** Presses "Run checks" and waits for the sentence that sums them up. */
async function runChecks(page) {
  await page.goto('/settings');
  await page.getByRole('link', { name: 'Health' }).first().click();
  await page.getByRole('button', { name: 'Run checks' }).click();
  await page.locator('.health-sum', { hasText: /checks (passed|failed)/ }).waitFor({ timeout: 60_000 });
}

story(test, 'a look tells what is wrong, what mends it, and what is right', async () => {
  const here = await machine();
  await here.rookery('migrate');
  await here.serve();
  const link = (await here.rookery('admin', 'first-owner')).stdout.match(/https?:\/\/\S+/)[0];
  const { page } = await stranger({ baseURL: here.url });
  await page.goto(link);
  await page.getByLabel('Name of the workspace').fill('Larkfield Homes');
  await page.getByLabel('Your name').fill('Tomás Herrera');
  await page.getByLabel('Your email address').fill('tomas@larkfield.test');
  await page.getByLabel('Your email address').press('Enter');
  await page.getByRole('heading', { name: 'Your inbox in five steps' }).waitFor();
  await runChecks(page);
  // No backups are made here.
  const row = page.locator('.health-row', { has: page.getByRole('heading', { name: 'Backup backup', exact: true }) });
  assert.match(await row.textContent(), /How to fix it/);
  const right = page.locator('details', { hasText: 'Database version' });
  assert.equal(await right.getByText('Database version').isVisible(), false);
  await right.locator('summary').focus();
  await page.keyboard.press('Enter');
  assert.equal(await right.getByText('Database version').isVisible(), true);
  await page.setViewportSize(PHONE);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${wide} pixels stand beside the page`);
});

story(test, 'on a server that others share, an owner sees the records of their own domains', async () => {
  const world = await workspace();
  await workspace();
  const inbox = await world.inbox('Lettings');
  const { page } = await world.browser(world.owner);
  await page.goto('/settings/domains');
  await page.getByRole('button', { name: 'Make its key' }).click();
  await page.getByRole('button', { name: /^Check again/ }).waitFor();
  await runChecks(page);
  await page.getByText('The server itself is checked by its operator.').waitFor();
  assert.ok((await page.locator('.health-row').first().textContent()).includes(inbox.address.split('@')[1]));
  assert.equal(await page.getByText('Database version').count(), 0);
});
