// What open pages ask for when something changes: what one looks at at once, lists a little later, and never more than
// is needed.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { finish, story, until, workspace } from './world.mjs';

after(finish);
let world, inbox, agent, id;
before(async () => {
  world = await workspace();
  inbox = await world.inbox('Lettings');
  agent = await world.agent();
  await world.mail(inbox, { from: 'ada@customer.test', name: 'Ada', subject: 'Question', text: 'Hello?' });
  ({ id } = await until('it', async () => (await world.conversations(agent)).find((one) => one.subject === 'Question')));
});

/** Milliseconds until the page asks anew after these topics were heard of, and what it asks for. */
async function asked(page, ...topics) {
  const asking = page.waitForRequest((request) => request.headers()['x-live'] !== undefined);
  const began = Date.now();
  await page.evaluate((all) => document.dispatchEvent(new CustomEvent('rookery:refresh', { detail: { topics: all } })), topics);
  const request = await asking;
  const after = Date.now() - began;
  await request.response();
  // Two refreshes have half a second between them.
  await page.waitForTimeout(700);
  return { after, topics: request.headers()['x-live'].split(' ').sort() };
}

story(test, 'the conversation one looks at is asked for at once, lists at a moment of the page’s own', async () => {
  const { page, context } = await world.browser(world.owner);
  await context.addInitScript(() => { Math.random = () => 0.99; });
  await page.goto(`/conversations/${id}`);
  await page.waitForTimeout(1000);
  const far = await asked(page, 'list', 'counts');
  const near = await asked(page, `conversation:${id}`, 'list', 'counts');
  const foreign = await asked(page, 'conversation:cnv_1', 'list', 'counts');
  assert.ok(far.after >= 450, `a list: ${far.after} ms`);
  assert.ok(foreign.after >= 450, `another conversation: ${foreign.after} ms`);
  assert.ok(near.after < 400, `the conversation: ${near.after} ms`);
  assert.deepEqual(far.topics, ['counts', 'list']);
  assert.deepEqual(near.topics, [`conversation:${id}`, 'counts', 'list']);
});

story(test, 'many words of who is where are one question, and only who comes back says that they have read', async () => {
  const said = [], questions = [];
  const visit = await world.browser(world.owner);
  visit.page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (pathname === '/presence') questions.push(Date.now());
    if (pathname === `/conversations/${id}/presence`) said.push(request.postData());
  });
  await visit.page.goto(`/conversations/${id}`);
  await until('the page says that somebody looks', async () => said.length > 0);
  assert.deepEqual(said.filter((words) => /seen/.test(words)), [], 'the page itself was noted as read');
  await visit.page.waitForTimeout(500);
  questions.length = 0;
  for (let word = 0; word < 10; word += 1) {
    await visit.page.evaluate(() => document.dispatchEvent(new CustomEvent('live:presence')));
    await visit.page.waitForTimeout(80);
  }
  await visit.page.waitForTimeout(2500);
  assert.ok(questions.length >= 1 && questions.length <= 2, `${questions.length} questions`);
  await agent.api('POST', `/conversations/${id}/notes`, { body: 'She called.' });
  await visit.page.getByText('She called.').first().waitFor();
  await until('what came while they look is read', async () => said.some((words) => /seen/.test(words)));
});
