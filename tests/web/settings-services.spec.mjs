// Sending services with a browser: one is connected, set up as the page says, reports a mail, is refused with another
// secret, paused, given a new secret and disconnected; and one whose key is entered by hand.

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import test, { after } from 'node:test';
import { violations } from './axe.mjs';
import { finish, PHONE, story, until, url, workspace } from './world.mjs';

after(finish);

const delivery = (address) => JSON.stringify({
  RecordType: 'Delivery', ServerID: 23, MessageStream: 'outbound', MessageID: '883953f4-6105-42a2-a16a-77a8eac79483',
  Recipient: address, DeliveredAt: '2026-11-05T16:33:54.9070259Z', Details: 'OK', Metadata: {},
});

/** The hook, wherever the page says the service is. */
const posts = async (address, headers, body) =>
  (await fetch(url + new URL(address).pathname, { method: 'POST', headers, body })).status;

for (const script of [true, false]) {
  story(test, `a service is connected, reports, and is disconnected, ${script ? 'with' : 'without'} script`, async () => {
    const world = await workspace();
    const { page } = await world.browser(world.owner, { script });
    await page.goto('/settings');
    await page.locator('#main').getByRole('link', { name: /^Sending services/ }).click();
    await page.getByRole('link', { name: 'Connect the first service' }).click();
    await page.getByRole('heading', { name: 'Connect a service' }).waitFor();
    if (script) assert.deepEqual(await violations(page), []);
    await page.getByRole('link', { name: /^Postmark/ }).click();
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Postmark');
    await page.getByLabel('Name', { exact: true }).fill('Shop mail');
    if (script) assert.deepEqual(await violations(page), []);
    await page.getByRole('button', { name: 'Connect', exact: true }).click();
    await page.getByRole('heading', { name: 'Shop mail is connected' }).waitFor();
    if (script) assert.deepEqual(await violations(page), []);
    const secret = await page.locator('#secret').innerText();
    const address = await page.locator('#address').innerText();
    assert.equal(page.url().includes(secret), false);
    await page.getByRole('link', { name: 'I have stored the secret' }).click();
    await page.getByText('No reports yet').waitFor();
    assert.equal((await page.content()).includes(secret), false, 'it is shown once');

    const signed = (word) => ({ authorization: `Basic ${Buffer.from(`rookery:${word}`).toString('base64')}` });
    assert.equal(await posts(address, signed('wrong'), delivery('ada@customer.test')), 401);
    await page.reload();
    await page.getByText(/was not signed with the key of this connection/).first().waitFor();
    if (script) assert.deepEqual(await violations(page), []);
    assert.equal(await posts(address, signed(secret), delivery('ada@customer.test')), 200);
    await page.reload();
    await page.getByRole('row', { name: /Delivered.*ada@customer\.test.*On record from now on/s }).waitFor();

    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('Reports are refused', { exact: true }).waitFor();
    assert.equal(await posts(address, signed(secret), delivery('ada@customer.test')), 503);
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByText('Working').first().waitFor();

    await page.locator('summary[aria-label=More]').click();
    await page.getByRole('link', { name: 'Replace the secret' }).click();
    await page.getByRole('button', { name: 'Replace the secret' }).click();
    await page.getByRole('heading', { name: 'The new secret' }).waitFor();
    const second = await page.locator('#secret').innerText();
    await page.getByRole('link', { name: 'I have stored the secret' }).click();
    await page.getByRole('button', { name: 'End it now' }).click();
    await page.getByText('Only the new one is valid').waitFor();
    assert.equal(await posts(address, signed(secret), delivery('ada@customer.test')), 401);
    assert.equal(await posts(address, signed(second), delivery('ben@customer.test')), 200);

    await page.goto('/settings/services');
    await page.getByText('2 reports today').waitFor();
    if (script) assert.deepEqual(await violations(page), []);
    await page.getByRole('link', { name: 'Shop mail' }).click();
    await page.locator('summary[aria-label=More]').click();
    await page.getByRole('link', { name: 'Disconnect' }).click();
    if (script) assert.deepEqual(await violations(page), []);
    await page.getByRole('button', { name: 'Disconnect the service' }).click();
    await page.getByText('No service is connected').waitFor();
  });
}

story(test, 'a key is entered by hand, also on a phone, and a wrong one is refused beside its field', async () => {
  const world = await workspace();
  const { page } = await world.browser(world.owner, { size: PHONE, allow: [/status of 400/] });
  await page.goto('/settings/services/new?service=mailgun');
  await page.getByRole('button', { name: 'Connect', exact: true }).click();
  await page.getByText('Needs its key').first().waitFor();
  const key = page.getByLabel('HTTP webhook signing key');
  await key.fill('two words');
  await page.getByRole('button', { name: 'Save the key' }).click();
  await page.getByText('must be the HTTP webhook signing key').waitFor();
  assert.deepEqual(await violations(page), []);
  await key.fill('key-of-the-account');
  await page.getByRole('button', { name: 'Save the key' }).click();
  await page.getByText('The key is kept.').waitFor();
  const address = await page.locator('#address').innerText();
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = createHmac('sha256', 'key-of-the-account').update(`${timestamp}t1`).digest('hex');
  const body = JSON.stringify({
    signature: { timestamp, token: 't1', signature },
    'event-data': {
      event: 'failed', id: 'e1', severity: 'permanent', reason: 'bounce', recipient: 'ada@customer.test',
      message: { headers: { 'message-id': 'm1@shop.test' } },
    },
  });
  assert.equal(await posts(address, {}, body), 200);
  await until('the report', async () => {
    await page.reload();
    return page.getByText('Unknown mail').isVisible();
  });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= PHONE.width, `${wide} px`);
  assert.deepEqual(await violations(page), []);
});
