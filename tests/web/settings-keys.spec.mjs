// Keys and agents in a real browser: a key is made, copied and used, its agent is watched, capped and stopped, and
// everybody sees that at once.

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { violations } from './axe.mjs';
import { finish, story, until, url, workspace } from './world.mjs';

after(finish);

const api = (key, method, where, body) =>
  fetch(`${url}/api/v1${where}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: body && JSON.stringify(body),
  });

story(test, 'a key is made with the keyboard, copied, used and revoked', async () => {
  const world = await workspace();
  await world.inbox();
  const { page, context } = await world.browser(world.owner);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto('/settings/keys');
  await page.getByRole('link', { name: 'Create the first key' }).focus();
  await page.keyboard.press('Enter');
  await page.waitForURL('**/settings/keys/new');
  await page.getByLabel('Name of the agent').fill('invoice-checker');
  await page.getByRole('checkbox', { name: /^Send/ }).check();
  assert.deepEqual(await violations(page), []);
  await page.getByLabel('Name of the agent').press('Enter');
  await page.getByRole('heading', { name: 'invoice-checker is ready' }).waitFor();
  const key = await page.locator('#key').textContent();
  assert.match(key, /^rk_live_[A-Za-z0-9]{48}$/);
  assert.ok(!page.url().includes('rk_'), 'the key stands in no address');
  assert.deepEqual(await violations(page), []);

  await page.getByRole('button', { name: 'Copy' }).first().click();
  await until('it is copied', async () => (await page.evaluate(() => navigator.clipboard.readText())) === key);
  await page.getByText('Copied').waitFor();
  for (const [way, words] of [['Claude Code', 'claude mcp add'], ['Cursor', 'mcpServers'], ['VS Code', '"servers"'], ['curl', 'curl ']]) {
    await page.getByRole('radio', { name: way, exact: true }).check({ force: true });
    const shown = page.locator('.panel-of:visible');
    assert.equal(await shown.count(), 1, way);
    const text = await shown.locator('pre').textContent();
    assert.ok(text.includes(words) && text.includes(key), `${way}: ${text}`);
  }
  assert.equal((await api(key, 'GET', '/me')).status, 200);

  await page.getByRole('link', { name: 'I have stored the key' }).click();
  await page.getByRole('link', { name: 'invoice-checker', exact: true }).waitFor();
  assert.ok(!(await page.content()).includes(key), 'it is not shown again');
  await page.getByRole('link', { name: 'Revoke invoice-checker' }).click();
  await page.getByText('Its next request gets').waitFor();
  assert.equal((await api(key, 'GET', '/me')).status, 200, 'the question does nothing');
  await page.getByRole('button', { name: 'Revoke invoice-checker' }).click();
  await page.getByText('Key revoked').waitFor();
  assert.equal((await api(key, 'GET', '/me')).status, 401);
});

story(test, 'an agent is capped, and one press stops all of them for everybody to see', async () => {
  const world = await workspace();
  const inbox = await world.inbox();
  const mia = await world.person('Mia Member');
  const agent = await world.agent('billing-bot');
  await world.mail(inbox, { from: 'ada@customer.test', subject: 'An invoice', text: 'Hello' });
  const [{ id: conversation }] = await world.conversations(agent);
  const reply = (words) => api(agent.key, 'POST', `/conversations/${conversation}/replies`, words);
  const owner = await world.browser(world.owner);
  const member = await world.browser(mia);
  const { page } = owner;
  await page.goto('/settings/agents');
  await page.getByRole('link', { name: 'billing-bot' }).click();
  await page.getByLabel('Both together').fill('1');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved.').waitFor();
  assert.equal((await reply({ body: 'Soon' })).status, 201);
  assert.equal((await reply({ body: 'Soon' })).status, 429);
  await page.reload();
  await page.getByRole('link', { name: 'Waits for approval' }).waitFor();
  assert.deepEqual(await violations(page), []);

  await member.page.goto('/inbox');
  await page.goto('/settings/agents');
  await page.getByRole('button', { name: 'Stop every agent' }).click();
  await page.getByText('Every agent is stopped.').first().waitFor();
  assert.equal((await api(agent.key, 'GET', '/me')).status, 403);
  await member.page.getByText('Every agent is stopped.').waitFor();
  assert.equal(await member.page.getByRole('link', { name: 'Start them again' }).count(), 0);
  assert.deepEqual(await violations(member.page), []);
  assert.deepEqual(await violations(page), []);

  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Agents are running again.').waitFor();
  assert.equal((await api(agent.key, 'GET', '/me')).status, 200);
  await member.page.getByText('Every agent is stopped.').waitFor({ state: 'detached' });
});
