// The documentation, as somebody reads it who is not signed in: from the front page to a call with a test key; a search;
// and the same without script.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { PHONE, admin, finish, story, stranger, url, workspace } from './world.mjs';

after(finish);
let world, key, live;
before(async () => {
  world = await workspace();
  const make = (mode) => admin('create-key', '--workspace', world.id, '--maker', world.owner.id, '--name', `Docs ${mode}`, '--scopes', 'write,draft', '--mode', mode);
  key = (await make('test')).key;
  live = (await make('live')).key;
});

story(test, 'a test key is tried on the page and stays for the tab; a live key is refused', async () => {
  const { page } = await stranger();
  const asked = [];
  page.on('request', (request) => asked.push(request.url()));
  await page.goto('/docs');
  const first = page.locator('try-it').first();
  await first.getByLabel('Test key').fill(live);
  await first.getByRole('button', { name: 'Send to the sandbox' }).click();
  await first.getByText('Use a test key').waitFor();
  assert.ok(!asked.some((one) => one.includes('/api/v1/')), 'nothing is sent with a live key');
  await first.getByLabel('Test key').fill(key);
  await first.getByRole('button', { name: 'Send to the sandbox' }).click();
  await first.getByText('"livemode": false').waitFor();

  await page.goto('/docs/api#simulate_inbound');
  const simulate = page.locator('try-it[data-path="/sandbox/inbound"]');
  await simulate.getByText('Try it with your test key').click();
  assert.equal(await simulate.getByLabel('Test key').inputValue(), key, 'it is kept for this tab');
  await simulate.getByRole('button', { name: 'Send to the sandbox' }).click();
  await simulate.getByText(/"conversationId": "cnv_/).waitFor();
  assert.deepEqual(asked.filter((one) => !one.startsWith(url)), [], 'nobody else is asked');
});

story(test, 'a search leads to the part of a page', async () => {
  const { page } = await stranger();
  await page.goto('/docs');
  await page.getByLabel('Search the documentation').fill('signature');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/docs/search?q=signature');
  assert.ok((await page.locator('main mark').count()) > 0);
  await page.getByRole('link', { name: /Check the signature/ }).first().click();
  await page.waitForURL('**/docs/webhooks#check-the-signature');
});

story(test, 'lines for agents are copied with this service in them', async () => {
  const { page, context } = await stranger();
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto('/docs/agents');
  for (const name of ['Claude Code', 'Codex', 'Cursor', 'VS Code', 'opencode']) {
    await page.getByRole('heading', { name, exact: true }).waitFor();
  }
  await page.getByRole('button', { name: 'Copy' }).first().click();
  await page.getByText('Copied').first().waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(copied, /^claude mcp add --transport http rookery /);
  assert.ok(copied.includes(`${url}/mcp`), copied);
});

story(test, 'the old address of the explorer leads to the reference', async () => {
  const { page } = await stranger();
  await page.goto('/docs/api/explore');
  assert.equal(new URL(page.url()).pathname, '/docs/api');
  await page.getByRole('heading', { name: 'API reference', exact: true }).waitFor();
});

story(test, 'without script the pages, the search and the reference are there', async () => {
  const { page } = await stranger({ script: false, size: PHONE });
  for (const where of ['/docs', '/docs/start', '/docs/api', '/docs/changelog', '/docs/search?q=webhook']) {
    await page.goto(where);
    await page.locator('main h1').waitFor();
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    assert.equal(wide, false, `${where} is wider than the screen`);
  }
  assert.equal(await page.locator('try-it:visible').count(), 0);
});
