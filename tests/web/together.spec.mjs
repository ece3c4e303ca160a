// Two people in two browsers: what one does the other sees at once, what one writes survives, nobody answers twice.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { finish, send, stop, story, until, words, workspace, write } from './world.mjs';

after(finish);
let world, inbox, agent, mia;
before(async () => {
  world = await workspace();
  inbox = await world.inbox('Lettings');
  agent = await world.agent();
  mia = await world.person('Mia Lindqvist');
});

let number = 0;
async function conversation() {
  const subject = `Question ${++number}`;
  const mail = await world.mail(inbox, { from: `ada${number}@customer.test`, name: 'Ada', subject, text: 'Hello?' });
  const { id } = await until('it', async () => (await world.conversations(agent)).find((one) => one.subject === subject));
  return { id, subject, mail };
}
const reply = (page, text) => write(page, 'r', text);

story(test, 'a live update preserves an edit in progress', async () => {
  const { id, subject } = await conversation();
  const answer = await agent.api('POST', `/conversations/${id}/replies`, { body: 'One moment.', summary: 'Asks for patience.' });
  const { page } = await world.browser(world.owner);
  await page.goto(`/conversations/${id}`);
  const box = await reply(page, 'Dear Ada, I was just about to');
  const caret = 9;
  await box.evaluate((at, where) => getSelection().collapse(document.createTreeWalker(at, NodeFilter.SHOW_TEXT).nextNode(), where), caret);
  await world.mail(inbox, { from: `ada${number}@customer.test`, name: 'Ada', subject: `Re: ${subject}`, text: 'One more thing: is the cellar dry?', answers: await world.messageId(answer.messageId ?? answer.id) });
  await agent.api('POST', `/conversations/${id}/notes`, { body: 'The cellar is dry.' });
  await page.getByText('is the cellar dry?').first().waitFor();
  await page.getByText('The cellar is dry.').first().waitFor();
  assert.equal(await words(page), 'Dear Ada, I was just about to');
  assert.deepEqual(await box.evaluate((at) => [document.activeElement === at, getSelection().anchorOffset]), [true, caret], 'the caret stays where it was');
});

story(test, 'what one sends the other sees within a second, and either can stop it', async () => {
  const { id } = await conversation();
  const one = await world.browser(world.owner);
  const two = await world.browser(mia);
  await one.page.goto(`/conversations/${id}`);
  await two.page.goto(`/conversations/${id}`);
  await reply(one.page, 'Yes, at ten.');
  await send(one.page);
  const began = Date.now();
  await stop(two.page).first().waitFor();
  console.log(`# seen by the other after ${Date.now() - began} ms`);
  await stop(two.page).first().click();
  await until('the first sees that it was stopped', async () => (await stop(one.page).count()) === 0);
  await until('a draft again', async () => /"status":"draft"/.test(JSON.stringify(await agent.api('GET', `/conversations/${id}`))));
});

story(test, 'a send that would cross somebody else’s answer stops and shows it', async () => {
  const { id } = await conversation();
  const one = await world.browser(world.owner, { allow: [/ERR_INTERNET_DISCONNECTED|ERR_FAILED|Failed to fetch/] });
  const two = await world.browser(mia);
  await one.page.goto(`/conversations/${id}`);
  await two.page.goto(`/conversations/${id}`);
  await reply(two.page, 'Mia answers first.');
  await reply(one.page, 'Tomás answers too.');
  // The first tab hears of nothing any more: the worst case.
  await one.context.setOffline(true);
  await send(two.page);
  await stop(two.page).first().waitFor();
  await one.context.setOffline(false);
  await send(one.page);
  await one.page.getByRole('button', { name: /send anyway/i }).first().waitFor();
  await one.page.getByText('Mia answers first.').first().waitFor();
  const told = JSON.stringify(await agent.api('GET', `/conversations/${id}`));
  assert.ok(!/Tomás answers too/.test(told), 'it did not leave');
  assert.equal(await words(one.page), 'Tomás answers too.');
});

story(test, 'people see who looks and who writes', async () => {
  const { id } = await conversation();
  const one = await world.browser(world.owner);
  const two = await world.browser(mia);
  await one.page.goto(`/conversations/${id}`);
  await two.page.goto(`/conversations/${id}`);
  await one.page.getByText(/Mia.*(here|looking)/).or(one.page.getByLabel(/Mia Lindqvist/)).first().waitFor();
  const box = await reply(two.page, '');
  await box.pressSequentially('Dear Ada, thank you for', { delay: 30 });
  await one.page.getByText(/Mia.*writing/).first().waitFor();
  await reply(one.page, 'Dear Ada,');
  await one.page.locator('#composer-form #near').getByText(/Mia.*writing/).waitFor();
});
