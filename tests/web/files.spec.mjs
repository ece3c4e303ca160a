// Files on a mail: nothing leaves before they are there, one that fails does not hold up the next, windows do not cross.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { CUT_OFF, finish, story, until, words, workspace, write, writing } from './world.mjs';

after(finish);
let world, inbox, agent;
before(async () => {
  world = await workspace();
  inbox = await world.inbox('Lettings');
  agent = await world.agent();
});

async function replying(subject, options) {
  await world.mail(inbox, { from: 'ada@customer.test', name: 'Ada', subject, text: 'Hello?' });
  const { id } = await until('it', async () => (await world.conversations(agent)).find((one) => one.subject === subject));
  const visit = await world.browser(world.owner, options);
  await visit.page.goto(`/conversations/${id}`);
  await write(visit.page, 'r', 'Here it is.');
  await visit.page.locator('#saved').getByText(/^Saved/).waitFor();
  return { id, ...visit };
}
const file = (name) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(`This is ${name}.`) });
const attach = (page, ...names) => page.locator('#file').setInputFiles(names.map(file));
const listed = (page, name) => page.locator('#draft-files').getByRole('button', { name: `Remove ${name}` });

story(test, 'nothing is sent, now or later, while files are on their way', async () => {
  const { id, page } = await replying('Slow line');
  const waiting = [];
  await page.route('**/write/files**', (route) => { waiting.push(route); });
  await attach(page, 'one.txt', 'two.txt');
  const later = async () => {
    await page.locator('#composer-form').getByLabel('Other ways to send').click();
    await page.locator('#composer-form button[name=later]').first().click();
    await page.getByText('Wait until the files are there').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.split details[open] summary').click().catch(() => {});
  };
  await until('the first is under way', async () => waiting.length === 1);
  await later();
  await waiting[0].continue();
  await until('the second is under way', async () => waiting.length === 2);
  await listed(page, 'one.txt').waitFor();
  await page.locator('#send').click();
  await page.getByText('Wait until the files are there').waitFor();
  assert.doesNotMatch(JSON.stringify(await agent.api('GET', `/conversations/${id}`)), /Here it is/);
  await waiting[1].continue();
  await listed(page, 'two.txt').waitFor();
  await page.locator('#send').click();
  await until('it leaves with both', async () => {
    const told = JSON.stringify(await agent.api('GET', `/conversations/${id}`));
    return /one\.txt/.test(told) && /two\.txt/.test(told) && /"status":"scheduled"/.test(told);
  });
});

story(test, 'a list that could not be asked for does not hold up the next file', async () => {
  const { page } = await replying('Flaky line', { allow: [CUT_OFF] });
  await page.route('**/conversations/*compose=*', (route) => route.abort(), { times: 1 });
  await attach(page, 'one.txt');
  await page.locator('#draft-files').getByText('one.txt').waitFor();
  await until('it is over', async () => (await page.locator('#draft-files progress').count()) === 0);
  await attach(page, 'two.txt');
  await listed(page, 'two.txt').waitFor();
  await listed(page, 'one.txt').waitFor();
});

story(test, 'a file that was refused takes no room, and room that became free is found', async () => {
  const { page } = await replying('Room', { allow: [/400/] });
  const room = async () => Number(await page.locator('file-drop').getAttribute('data-room'));
  const all = await room();
  await page.route('**/write/files**', (route) => route.fulfill({ status: 400, body: 'Not this one.' }), { times: 1 });
  await attach(page, 'one.txt');
  await page.getByText('Not this one.').waitFor();
  assert.equal(await room(), all);
  // As after pictures that were taken out of the text.
  await page.locator('file-drop').evaluate((drop) => { drop.dataset.room = '0'; });
  await attach(page, 'two.txt');
  await listed(page, 'two.txt').waitFor();
  assert.equal(await room(), all - file('two.txt').buffer.length);
});

story(test, 'a file from a window that another one crossed overwrites nothing', async () => {
  const { id, page, context } = await replying('Two windows', { allow: [/409/] });
  const other = await context.newPage();
  await other.goto(`/conversations/${id}?compose=reply`);
  await writing(other).fill('Written in the other window.');
  await other.locator('#saved').getByText(/^Saved/).waitFor();
  const draft = await other.locator('#composer-form [name=draft]').inputValue();
  await page.route('**/write/files**', (route) => route.fulfill({ status: 409, headers: { 'x-draft': draft, 'x-draft-version': '9' }, body: 'Written in the other window.' }));
  await attach(page, 'late.txt');
  await page.getByText('late.txt is not attached').waitFor();
  await page.getByRole('button', { name: 'Take the other words' }).click();
  assert.equal(await words(page), 'Written in the other window.');
});
