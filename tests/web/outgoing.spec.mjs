// What is leaving: the page and the strip show it with its clock, and anybody can stop it.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { finish, send, stop, story, until, workspace, write, writing } from './world.mjs';

after(finish);
let world, inbox, agent;
before(async () => {
  world = await workspace();
  inbox = await world.inbox('Lettings');
  agent = await world.agent();
});

story(test, 'what an agent sends stands on the page with its time, and stopping makes it a draft', async () => {
  await world.mail(inbox, { from: 'ada@customer.test', name: 'Ada', subject: 'Receipt', text: 'Could I have one?' });
  const { id } = await until('it', async () => (await world.conversations(agent)).find((one) => one.subject === 'Receipt'));
  await agent.api('POST', `/conversations/${id}/replies`, { body: 'It is attached.', send: true });
  const { page } = await world.browser(world.owner);
  await page.goto('/outgoing');
  await page.getByText('Receipt').first().waitFor();
  await until('the clock runs', async () => {
    const read = () => page.locator('.clock').first().innerText();
    const before = await read();
    await page.waitForTimeout(1500);
    return /\d:\d\d/.test(before) && (await read()) !== before;
  });
  await page.locator('main').getByRole('button', { name: /stop/i }).first().click();
  await until('a draft', async () => /"status":"draft"/.test(JSON.stringify(await agent.api('GET', `/conversations/${id}`))));
  await until('nothing is left to stop', async () => (await page.locator('main').getByRole('button', { name: /^stop/i }).count()) === 0);
  assert.ok(await page.getByText('Nothing scheduled').isVisible());
});

story(test, 'what one sends oneself waits as long as one chose, and can be sent now', async () => {
  await world.mail(inbox, { from: 'cy@customer.test', name: 'Cy', subject: 'Quick one', text: 'Is it open today?' });
  const { id } = await until('it', async () => (await world.conversations(agent)).find((one) => one.subject === 'Quick one'));
  const { page } = await world.browser(world.owner);
  await page.goto('/profile');
  await page.getByLabel('Undo', { exact: true }).selectOption('1 minute');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved.').first().waitFor();
  await page.goto(`/conversations/${id}`);
  await write(page, 'r', 'Until six.');
  await page.getByText('Sends in 1 minute').waitFor();
  await send(page);
  const now = page.locator('#timeline').getByRole('button', { name: 'Send now' });
  await now.waitFor();
  assert.match(await page.locator('#timeline .clock').innerText(), /^(0:[45]\d|1:00)$/);
  const strip = page.locator('#leaving');
  await strip.getByRole('button', { name: /^Undo/ }).waitFor();
  await strip.getByRole('button', { name: /^Send now/ }).click();
  await until('it is sent', async () => /"status":"sent"/.test(JSON.stringify(await agent.api('GET', `/conversations/${id}`))));
  await until('nothing can be stopped', async () => (await stop(page).count()) === 0);
});

story(test, 'what leaves later gets another time', async () => {
  await world.mail(inbox, { from: 'ben@customer.test', name: 'Ben', subject: 'Next week', text: 'Write me on Monday.' });
  const { id } = await until('it', async () => (await world.conversations(agent)).find((one) => one.subject === 'Next week'));
  const { page } = await world.browser(world.owner);
  await page.goto(`/conversations/${id}?compose=reply`);
  await writing(page).fill('Hello again.');
  await page.getByLabel('Other ways to send').click();
  await page.locator('[name=later]').last().click();
  await until('it waits', async () => /Hello again/.test(JSON.stringify(await agent.api('GET', `/conversations/${id}`))));
  await page.goto('/outgoing');
  const row = page.locator('.outrow').filter({ hasText: 'Next week' });
  await row.getByText('Change time').click();
  const day = new Date(Date.now() + 20 * 86_400_000).toISOString().slice(0, 10);
  await row.locator('[name=at]').fill(`${day}T09:15`);
  await row.getByRole('button', { name: 'Schedule' }).click();
  await page.getByText('Rescheduled.').waitFor();
  await page.locator('.outrow').filter({ hasText: 'Next week' }).getByText(/09:15/).first().waitFor();
});
