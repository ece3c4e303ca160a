// Without JavaScript everything is a page and a form: read, answer, stop, close, tag, approve, search.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { finish, story, until, url, workspace } from './world.mjs';

after(finish);
let world, inbox, agent, visit;
before(async () => {
  world = await workspace();
  inbox = await world.inbox('Lettings');
  agent = await world.agent();
  await world.mails(inbox, [
    { from: 'ada@customer.test', name: 'Ada', subject: 'Keys', text: 'When do I get them?' },
    { from: 'theo@customer.test', name: 'Theo', subject: 'Bike room', text: 'May I have a place?' },
  ]);
  visit = await world.browser(world.owner, { script: false, allow: [/400/] });
});
const whole = async (id) => JSON.stringify(await agent.api('GET', `/conversations/${id}`));

story(test, 'a conversation is opened, answered and stopped by links and forms alone', async () => {
  const { page } = visit;
  await page.goto('/inbox');
  await page.getByRole('link', { name: /Keys/ }).first().click();
  await page.waitForURL('**/conversations/**');
  const id = page.url().match(/cnv_[0-9a-z]+/)[0];
  await page.locator('#begin-reply').click();
  await page.locator('#composer-form #body').fill('On Monday.');
  await page.locator('#send').click();
  await page.waitForURL('**/conversations/**');
  await page.locator('#timeline').getByText('On Monday.').filter({ visible: true }).first().waitFor();
  assert.match(await whole(id), /On Monday\./);
  await page.locator('#timeline').getByRole('button', { name: /^Undo/ }).first().click();
  await page.waitForURL('**compose=reply**');
  assert.equal(await page.locator('#composer-form #body').inputValue(), 'On Monday.');
  assert.doesNotMatch(await whole(id), /On Monday\./);
});

story(test, 'a conversation is closed by a form', async () => {
  const { page } = visit;
  await page.goto('/inbox');
  await page.getByRole('link', { name: /Bike room/ }).first().click();
  await page.waitForURL('**/conversations/**');
  const id = page.url().match(/cnv_[0-9a-z]+/)[0];
  await page.getByRole('button', { name: /^Close/ }).first().click();
  await until('closed', async () => /"status":"closed"/.test(await whole(id)));
  await page.goto('/inbox');
  assert.equal(await page.getByRole('link', { name: /Bike room/ }).count(), 0);
});

story(test, 'a draft is approved by a form', async () => {
  const { page } = visit;
  await world.mail(inbox, { from: 'gwen@customer.test', name: 'Gwen', subject: 'Thermostat', text: 'It is dead.' });
  const { id } = await until('it', async () => (await world.conversations(agent)).find((one) => one.subject === 'Thermostat'));
  await agent.api('POST', `/conversations/${id}/replies`, { body: 'We change the batteries.', summary: 'Batteries' });
  await page.goto('/approvals');
  await page.getByRole('link', { name: /Thermostat/ }).first().click();
  await page.locator('#approve').click();
  await until('scheduled', async () => /"status":"scheduled"/.test(await whole(id)));
});

story(test, 'search is a form too', async () => {
  const { page } = visit;
  await page.goto('/search?q=batteries');
  const box = page.getByRole('searchbox').or(page.locator('input[name=q]')).first();
  await box.fill('dead');
  await box.press('Enter');
  await page.getByText('Thermostat').first().waitFor();
});

story(test, 'a key is made and revoked, and agents are stopped and started, by forms', async () => {
  const { page } = visit;
  await page.goto('/settings/keys/new');
  await page.getByLabel('Name of the agent').fill('by-forms');
  await page.getByRole('button', { name: 'Create key' }).click();
  const key = await page.locator('#key').textContent();
  const asks = async () => (await fetch(`${url}/api/v1/me`, { headers: { authorization: `Bearer ${key}` } })).status;
  assert.equal(await asks(), 200);
  assert.equal(await page.getByRole('button', { name: 'Copy' }).count(), 0, 'what cannot copy is not there');
  await page.getByRole('radio', { name: 'Cursor' }).check({ force: true });
  assert.equal(await page.locator('.panel-of:visible pre').count(), 1);
  await page.goto('/settings/agents');
  await page.getByRole('button', { name: 'Stop every agent' }).click();
  await page.getByText('Every agent is stopped.').first().waitFor();
  assert.equal(await asks(), 403);
  await page.getByRole('link', { name: 'Start them again' }).first().click();
  await page.getByRole('button', { name: 'Start every agent' }).click();
  assert.equal(await asks(), 200);
  await page.goto('/settings/keys');
  await page.getByRole('link', { name: 'Revoke by-forms' }).click();
  await page.getByRole('button', { name: 'Revoke by-forms' }).click();
  assert.equal(await asks(), 401);
});

story(test, 'a mail is simulated by a form, and a webhook that cannot be is refused with a sentence', async () => {
  const { page } = visit;
  await page.goto('/settings/sandbox');
  await page.getByLabel('From').fill('priya@customer.test');
  await page.getByLabel('Text', { exact: true }).fill('Where does the deposit go?');
  await page.getByRole('button', { name: 'Simulate' }).click();
  await page.getByText('Taken in', { exact: true }).waitFor();
  await page.goto('/settings/webhooks/new');
  await page.getByLabel('Address').fill('https://10.0.0.1/');
  await page.getByRole('button', { name: 'Create webhook' }).click();
  await page.getByText('must lead to a public address').waitFor();
  assert.equal(await page.getByLabel('Address').inputValue(), 'https://10.0.0.1/');
});

story(test, 'a sending service is connected by links and forms', async () => {
  const { page } = visit;
  await page.goto('/settings/services');
  await page.getByRole('link', { name: /^Connect/ }).first().click();
  await page.getByRole('link', { name: /^Resend/ }).click();
  await page.getByRole('button', { name: 'Connect', exact: true }).click();
  await page.getByLabel('Signing secret').fill('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
  await page.getByRole('button', { name: 'Save the key' }).click();
  await page.getByText('The key is kept.').waitFor();
});
