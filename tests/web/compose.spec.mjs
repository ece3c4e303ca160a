// A new conversation: an address is enough, and it leaves as every reply does.

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { finish, story, until, workspace, writing } from './world.mjs';

after(finish);

story(test, 'a new mail to somebody unknown becomes a conversation with an undo window', async () => {
  const world = await workspace();
  await world.inbox('Lettings');
  const agent = await world.agent();
  const { page } = await world.browser(world.owner);
  await page.goto('/compose');
  await page.getByLabel('To', { exact: true }).fill('newcomer@customer.test');
  await page.getByLabel(/subject/i).fill('Your application');
  await writing(page).fill('Welcome! Please send us your papers.');
  await page.locator('#send').click();
  await page.waitForURL('**/conversations/**');
  await page.getByRole('heading', { name: 'Your application' }).first().waitFor();
  const [made] = await until('listed', async () => {
    const listed = await world.conversations(agent);
    return listed.length && listed;
  });
  assert.equal(made.subject, 'Your application');
});
