// Webhooks with a browser: make one, get a delivery, see one fail, send it again, rotate the secret; and the sandbox's page.
// The server is its own, with a database of its own: it alone opens loopback for webhooks, as a developer does, and a
// node that does not would deliver for it too.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import http from 'node:http';
import test, { after, before } from 'node:test';
import { violations } from './axe.mjs';

const listening = (one) => new Promise((done) => { one.listen(0, '127.0.0.1', () => done(one.address().port)); });
const free = http.createServer();
const port = await listening(free);
await new Promise((done) => { free.close(done); });
const origin = `http://127.0.0.1:${port}`;
const database = new URL(process.env.ROOKERY_DATABASE_URL);
const name = `hooks_${process.pid}`;
execFileSync('psql', ['-Xq', database.href, '-c', `create database ${name}`]);
database.pathname = `/${name}`;
Object.assign(process.env, {
  ROOKERY_DATABASE_URL: database.href,
  ROOKERY_LISTEN: `127.0.0.1:${port}`,
  ROOKERY_PUBLIC_URL: origin,
  ROOKERY_WEBHOOK_ALLOW: '127.0.0.0/8',
  WEB_URL: origin,
});
// The world reads where it is when it is loaded.
const { bin, finish, PHONE, story, until, work, workspace } = await import('./world.mjs');

let world, server, receiver, got, answers;
before(async () => {
  execFileSync(bin, ['migrate'], { cwd: work, stdio: 'ignore' });
  server = spawn(bin, ['serve'], { cwd: work, stdio: 'ignore' });
  got = [];
  answers = 200;
  receiver = http.createServer((request, response) => {
    const parts = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => {
      got.push({ headers: request.headers, body: Buffer.concat(parts) });
      response.writeHead(answers, { 'content-type': 'text/plain' });
      response.end(answers < 300 ? 'thanks' : 'relation "mail_events" does not exist');
    });
  });
  receiver.port = await listening(receiver);
  await until('the server is ready', async () => (await fetch(`${origin}/readyz`).catch(() => null))?.ok, 60);
  world = await workspace();
});
after(async () => {
  await finish();
  server?.kill();
  receiver?.close();
});

/** The owner, signed in. */
const owner = (options = {}) => world.browser(world.owner, options);

function verifies(secret, { headers, body }) {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const signed = Buffer.concat([Buffer.from(`${headers['webhook-id']}.${headers['webhook-timestamp']}.`), body]);
  const wanted = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
  return headers['webhook-signature'].split(' ').includes(wanted);
}

const taken = async (what) => {
  await until(what, async () => got.length > 0);
  return got.shift();
};

story(test, 'a webhook is made, delivers, fails, is sent again, and its secret rotates', async () => {
  const { page } = await owner();
  await page.goto('/settings/webhooks');
  await page.getByRole('link', { name: 'Add a webhook' }).first().click();
  await page.getByRole('heading', { name: 'Add a webhook' }).waitFor();
  // The sentence stands beside the field while one types.
  const field = page.getByLabel('Address');
  await field.pressSequentially('https://10.0.0.1/hooks');
  await page.locator('#url-state').getByText('must lead to a public address').waitFor();
  await field.fill(`http://127.0.0.1:${receiver.port}/hooks`);
  await page.locator('#url-state').getByText('It can be used').waitFor();
  await page.getByRole('button', { name: 'Create webhook' }).click();
  const secret = await page.locator('#secret').innerText();
  assert.match(secret, /^whsec_/);
  assert.equal(page.url().includes('whsec'), false);
  await page.getByRole('link', { name: 'I have stored the secret' }).click();
  await page.getByText('No deliveries yet').waitFor();

  // A test; its line comes by itself.
  await page.getByRole('button', { name: 'Send a test' }).click();
  const first = await taken('the test');
  assert.ok(verifies(secret, first));
  await page.locator('.delivery').getByText(/^200 ·/).waitFor();

  // One that fails: opened with a click, what was sent and what came back.
  answers = 500;
  await page.getByRole('button', { name: 'Send a test' }).click();
  const failed = await taken('the second test');
  const line = page.locator('.delivery').filter({ hasText: failed.headers['webhook-id'] });
  await line.getByText(/^500/).waitFor();
  await line.getByRole('link').click();
  await line.getByText('does not exist').waitFor();
  assert.match(await line.innerText(), new RegExp(`webhook-id: ${failed.headers['webhook-id']}`));
  assert.ok((await line.innerText()).includes(failed.headers['webhook-signature']), 'the very signature');
  await page.getByText(/Failing since/).waitFor();

  answers = 200;
  await line.getByRole('button', { name: 'Redeliver now' }).click();
  const again = await taken('the redelivery');
  assert.deepEqual(again.body, failed.body);
  await page.locator('.delivery').getByText('200 · 2 tries').waitFor();

  // Filters are links and forms.
  await page.locator('.log-filter').getByText('Failed', { exact: true }).click();
  await page.locator('.log-filter').getByRole('button', { name: 'Show' }).click();
  await page.getByText('Nothing here').waitFor();

  // Rotation: a question, the secret once, a countdown, both valid.
  await page.getByLabel('More', { exact: true }).click();
  await page.getByRole('link', { name: 'Rotate the secret' }).click();
  await page.getByRole('button', { name: 'Rotate the secret' }).click();
  const second = await page.locator('#secret').innerText();
  assert.notEqual(second, secret);
  await page.getByRole('link', { name: 'I have stored the secret' }).click();
  await page.getByText('Two secrets are signing').waitFor();
  const clock = page.locator('undo-clock time');
  const shown = await clock.innerText();
  assert.match(shown, /^(24:00:00|23:59:\d\d)$/);
  await until('it counts', async () => (await clock.innerText()) !== shown);
  await page.getByRole('button', { name: 'Send a test' }).click();
  const both = await taken('a test with both');
  assert.ok(verifies(secret, both) && verifies(second, both));
  await page.getByRole('button', { name: 'End the old one now' }).click();
  await page.getByText('The old secret has expired').waitFor();

  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('button', { name: 'Resume' }).waitFor();
  await page.getByLabel('More', { exact: true }).click();
  await page.getByRole('link', { name: 'Remove' }).click();
  await page.getByRole('link', { name: 'Keep it' }).click();
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('button', { name: 'Pause' }).waitFor();
});

story(test, 'the sandbox takes a mail from its form and shows what the test webhook got', async () => {
  const { page } = await owner();
  await page.goto('/settings/sandbox');
  await page.getByRole('link', { name: 'Add a test webhook' }).click();
  assert.ok(await page.getByRole('radio', { name: /Sandbox/ }).isChecked());
  await page.getByLabel('Address').fill(`http://127.0.0.1:${receiver.port}/test`);
  await page.getByRole('button', { name: 'Create webhook' }).click();
  const secret = await page.locator('#secret').innerText();
  await page.goto('/settings/sandbox');
  await page.getByLabel('From').fill('priya@customer.test');
  await page.getByLabel('Text', { exact: true }).fill('Where does the deposit go?');
  await page.getByRole('button', { name: 'Simulate' }).click();
  await page.getByText('Taken in', { exact: true }).waitFor();
  const told = await taken('the event');
  assert.ok(verifies(secret, told));
  assert.equal(JSON.parse(told.body).livemode, false);
  await page.locator('.delivery').getByText(/^200 ·/).first().waitFor();
});

story(test, 'all of it fits a phone and has no violations, also with a failed delivery open', async () => {
  const { page } = await owner({ size: PHONE });
  await page.goto('/settings/webhooks');
  const hook = await page.locator('.hook-url').first().getAttribute('href');
  answers = 500;
  await page.goto(hook);
  await page.getByRole('button', { name: 'Send a test' }).tap();
  await taken('a test');
  await page.locator('.delivery').getByText(/^500/).first().waitFor();
  const open = await page.locator('.delivery-line').first().getAttribute('href');
  for (const where of ['/settings/webhooks', '/settings/webhooks/new', open, `${hook}/rotate`, `${hook}/remove`, `${hook}/address`, '/settings/sandbox']) {
    await page.goto(where);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= PHONE.width, `${where}: ${wide} px`);
    assert.deepEqual(await violations(page), [], where);
  }
  answers = 200;
});

story(test, 'without script a webhook is made, tested and removed', async () => {
  const { page } = await owner({ script: false });
  await page.goto('/settings/webhooks/new');
  await page.getByLabel('Address').fill('https://10.0.0.1/');
  await page.getByRole('button', { name: 'Check' }).click();
  await page.getByText('must lead to a public address').waitFor();
  await page.getByLabel('Address').fill(`http://127.0.0.1:${receiver.port}/plain`);
  await page.getByRole('button', { name: 'Create webhook' }).click();
  assert.match(await page.locator('#secret').innerText(), /^whsec_/);
  await page.getByRole('link', { name: 'I have stored the secret' }).click();
  await page.getByRole('button', { name: 'Send a test' }).click();
  await taken('the test');
  await until('its line', async () => {
    await page.reload();
    return page.locator('.delivery').getByText(/^200 ·/).count();
  });
  await page.locator('summary[aria-label=More]').click();
  await page.getByRole('link', { name: 'Remove' }).click();
  await page.getByRole('button', { name: 'Remove the webhook' }).click();
  await page.getByText('Webhook removed.').waitFor();
});
