// Two real MCP clients and the app in one story: an agent drafts (the PyPI client), a person edits and approves in the
// browser, a second person undoes, and the agents read what happened (the PyPI client and the inspector).

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import path from 'node:path';
import test, { after } from 'node:test';
import { promisify } from 'node:util';
import { finish, story, until, url, work, workspace } from './world.mjs';

after(finish);
const run = promisify(execFile);
const cache = process.env.CLIENTS_CACHE;

/** One call with the PyPI `mcp` client; its answer as JSON. */
async function pypi(key, tool, input) {
  const script = new URL('mcp_call.py', import.meta.url).pathname;
  const { stdout } = await run(path.join(cache, 'venv/bin/python'), [script, `${url}/mcp`, key, tool, JSON.stringify(input)], { cwd: work });
  return JSON.parse(stdout);
}

/** The same with the MCP inspector's command line. */
async function inspector(key, tool, input) {
  const given = Object.entries(input).flatMap(([name, value]) => ['--tool-arg', `${name}=${value}`]);
  const { stdout } = await run(path.join(cache, 'npm/bin/mcp-inspector'), ['--cli', `${url}/mcp`, '--transport', 'http', '--header', `Authorization: Bearer ${key}`, '--method', 'tools/call', '--tool-name', tool, ...given], { cwd: work });
  return JSON.parse(JSON.parse(stdout).content[0].text);
}

story(test, 'an agent drafts, a person edits and approves, another undoes, and the agents read it', async () => {
  const world = await workspace();
  const inbox = await world.inbox('Lettings');
  const helper = await world.agent('Lease Helper');
  const watcher = await world.agent('Watcher');
  const mia = await world.person('Mia Lindqvist');
  await world.mail(inbox, { from: 'priya@customer.test', name: 'Priya', subject: 'The old deposit', text: 'When do I get it back?' });

  const listed = await inspector(watcher.key, 'list_conversations', { limit: 5 });
  const { id } = (listed.items ?? listed).find((one) => one.subject === 'The old deposit');
  const drafted = await pypi(helper.key, 'reply', { id, body: 'Within ten days.', summary: 'Promises ten days.' });
  assert.ok(JSON.stringify(drafted).includes('draft'), JSON.stringify(drafted));

  const one = await world.browser(world.owner);
  const two = await world.browser(mia);
  await two.page.goto('/outgoing');
  await one.page.goto('/approvals');
  await one.page.getByText('Promises ten days.').first().waitFor();
  await one.page.getByLabel('The text that is sent').fill('Within ten working days, to the same account.');
  await one.page.locator('#approve').click();

  // The second person hears of it without doing anything, and stops it.
  const stop = two.page.locator('main').getByRole('button', { name: /stop/i }).first();
  await stop.waitFor();
  assert.match(JSON.stringify(await pypi(helper.key, 'get_conversation', { id })), /Within ten working days, to the same account/);
  await stop.click();

  const told = await until('the agent reads that it was stopped', async () => {
    const whole = JSON.stringify(await pypi(helper.key, 'get_conversation', { id }));
    return /send-stopped/.test(whole) && whole;
  });
  assert.match(told, /"approved"/);
  assert.match(told, /Tomás Herrera/);
  assert.match(told, /Mia Lindqvist/);
  assert.match(JSON.stringify(await inspector(watcher.key, 'get_conversation', { id })), /send-stopped/);
});
