// The queue: an agent's draft, edited in place and approved with one key; an outdated one shows what is new first;
// a risky one is never among several.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { finish, focused, story, until, workspace } from './world.mjs';

after(finish);
let world, inbox, agent;
before(async () => {
  world = await workspace();
  inbox = await world.inbox('Lettings');
  agent = await world.agent();
});

async function drafted(subject, words, mail = {}) {
  const sent = await world.mail(inbox, { from: 'priya@customer.test', name: 'Priya Raghunathan', subject, text: 'When can I come?', ...mail });
  const { id } = await until('the conversation', async () => (await world.conversations(agent)).find((one) => one.subject === subject));
  const draft = await agent.api('POST', `/conversations/${id}/replies`, { body: words, summary: `About ${subject}` });
  return { id, mail: sent, draft };
}
const whole = async (id) => JSON.stringify(await agent.api('GET', `/conversations/${id}`));

story(test, 'a draft is edited in place, approved with one key, and the next one opens', async () => {
  const first = await drafted('Viewing one', 'Come on Monday.');
  const second = await drafted('Viewing two', 'Come on Tuesday.');
  const { page } = await world.browser(world.owner);
  await page.goto('/approvals');
  await page.getByRole('heading', { name: 'Viewing one' }).first().waitFor();
  const words = page.getByLabel('The text that is sent');
  await words.fill('Come on Monday at ten.');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('heading', { name: 'Viewing two' }).first().waitFor();
  await until('scheduled', async () => /Come on Monday at ten/.test(await whole(first.id)));
  assert.match(await whole(first.id), /"status":"scheduled"/);
  assert.match(await whole(second.id), /"status":"draft"/);
  assert.notEqual(await focused(page), 'body');
});

story(test, 'a draft that the customer has overtaken shows what is new before it can be approved', async () => {
  const { id, draft } = await drafted('Moving van', 'Two bays are free.');
  await world.mail(inbox, { from: 'priya@customer.test', name: 'Priya Raghunathan', subject: 'Re: Moving van', text: 'We come a day later, sorry!', answers: await world.messageId(draft.messageId ?? draft.id) });
  const { page } = await world.browser(world.owner);
  await page.goto('/approvals');
  await page.getByRole('link', { name: /Moving van/ }).first().click();
  await page.getByText(/outdated/i).first().waitFor();
  await page.getByText('We come a day later').first().waitFor();
  await page.locator('#approve').click();
  await page.waitForTimeout(500);
  assert.match(await whole(id), /"status":"draft"/, 'it waits until somebody says that they have read it');
  await page.getByLabel('I have read what is new').check();
  await page.locator('#approve').click();
  await until('approved', async () => /"status":"scheduled"/.test(await whole(id)));
});

story(test, 'discarding with a word tells the agent why', async () => {
  const { id } = await drafted('A discount', 'You get half off.');
  const { page } = await world.browser(world.owner);
  await page.goto('/approvals');
  await page.getByRole('link', { name: /A discount/ }).first().click();
  await page.getByRole('heading', { name: 'A discount' }).first().waitFor();
  await page.keyboard.press('d');
  await page.getByLabel('A word to Lease Helper').fill('We never give discounts.');
  await page.getByRole('button', { name: 'Discard the draft' }).click();
  await until('gone', async () => !/You get half off/.test(await whole(id)));
  assert.match(await whole(id), /We never give discounts/, 'the agent reads why');
});
