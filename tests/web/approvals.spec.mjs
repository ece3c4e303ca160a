// The queue: an agent's draft, edited in place and approved with one key; an outdated one shows what is new first;
// a risky one is never among several.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { CUT_OFF, finish, focused, story, until, workspace } from './world.mjs';

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
  return { id, mail: sent, draft, at: `/approvals/${draft.messageId ?? draft.id}` };
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
  await page.getByLabel('I’ve read what’s new').check();
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
  await page.getByLabel('Feedback for Lease Helper').fill('We never give discounts.');
  await page.getByRole('button', { name: 'Discard the draft' }).click();
  await until('gone', async () => !/You get half off/.test(await whole(id)));
  assert.match(await whole(id), /We never give discounts/, 'the agent reads why');
});

story(test, 'the bar says how many are picked', async () => {
  await drafted('Pick one', 'Yes.');
  await drafted('Pick two', 'Yes, too.');
  const { page } = await world.browser(world.owner);
  await page.goto('/approvals');
  const bar = page.getByRole('toolbar', { name: 'With the selected drafts' });
  for (const [n, subject] of ['Pick one', 'Pick two'].entries()) {
    await page.locator('.item', { hasText: subject }).locator('.check').check();
    await until(`${n + 1} picked`, async () => (await bar.innerText()).includes(`${n + 1} picked`));
  }
  await bar.getByRole('button', { name: 'Approve' }).click();
  await page.getByRole('heading', { name: 'Send these 2 emails?' }).waitFor();
  await page.getByText('Yes, too.').waitFor();
  await page.getByRole('button', { name: 'Approve and send 2' }).click();
  await until('both leave', async () => (await page.locator('.item', { hasText: 'Pick one' }).count()) === 0);
});

const TEXT = 'The text that is sent';
const back = (page) => page.getByRole('button', { name: 'Bring it back' });

story(test, 'an approval that did not get through loses no word', async () => {
  const { at } = await drafted('Offline', 'Come on Monday.');
  await drafted('Behind it', 'Come on Tuesday.');
  const { page } = await world.browser(world.owner, { allow: [CUT_OFF] });
  await page.goto(at);
  await page.route('**/messages/**', (route) => route.abort());
  await page.getByLabel(TEXT).fill('Come on Monday, at noon.');
  await page.keyboard.press('Control+Enter');
  await page.getByText('The service can’t be reached').waitFor();
  await page.getByLabel('Next draft').click();
  await until('another draft', async () => !page.url().includes(at));
  await page.unroute('**/messages/**');
  await page.goto(at);
  // What was tried again by itself may have arrived meanwhile; else it is offered.
  await until('the words', async () => {
    if (await back(page).count()) await back(page).click();
    return (await page.getByLabel(TEXT).inputValue()) === 'Come on Monday, at noon.';
  });
  await until('they are saved, and nothing is offered any more', async () => {
    await page.waitForTimeout(1500);
    await page.reload();
    return (await page.getByLabel(TEXT).inputValue()) === 'Come on Monday, at noon.' && !(await back(page).count());
  });
});

story(test, 'a save that failed is tried again by itself', async () => {
  const { at } = await drafted('Flaky', 'Come on Monday.');
  const { page } = await world.browser(world.owner, { allow: [CUT_OFF] });
  await page.goto(at);
  await page.route('**/edit', (route) => route.abort());
  await page.getByLabel(TEXT).fill('Come on Monday, if it is dry.');
  await page.locator('#kept').getByText('Not saved yet').waitFor();
  await page.unroute('**/edit');
  await page.locator('#kept').getByText(/^saved/).waitFor();
  await page.reload();
  assert.equal(await page.getByLabel(TEXT).inputValue(), 'Come on Monday, if it is dry.');
});

story(test, 'words that cross a colleague’s are kept, shown beside theirs and offered again', async () => {
  const { at } = await drafted('Two editors', 'Come on Monday.');
  const mia = await world.person('Mia Lindqvist');
  const one = await world.browser(world.owner, { allow: [/409/] });
  const two = await world.browser(mia, { allow: [/409/] });
  await one.page.goto(at);
  await two.page.goto(at);
  await two.page.getByLabel(TEXT).fill('Mia: come on Friday.');
  await two.page.locator('#kept').getByText(/^saved/).waitFor();
  await one.page.getByLabel(TEXT).fill('Tomás: come on Sunday.');
  await one.page.getByText('A colleague changed this draft too').waitFor();
  await one.page.goto('/inbox');
  await one.page.goto(at);
  assert.equal(await one.page.getByLabel(TEXT).inputValue(), 'Mia: come on Friday.', 'nothing of hers is overwritten');
  await back(one.page).click();
  assert.equal(await one.page.getByLabel(TEXT).inputValue(), 'Tomás: come on Sunday.');
  await one.page.locator('#kept').getByText(/^saved/).waitFor();
  await two.page.getByLabel(TEXT).fill('Mia: come on Saturday.');
  await two.page.getByRole('button', { name: 'See both' }).click();
  await two.page.getByText('changed this draft while you were editing').waitFor();
  assert.equal(await two.page.getByLabel(TEXT).inputValue(), 'Mia: come on Saturday.');
  // She has seen both and chosen nothing yet.
  await two.page.goto(at);
  assert.equal(await two.page.getByLabel(TEXT).inputValue(), 'Tomás: come on Sunday.');
  await back(two.page).waitFor();
});

story(test, 'approving while the last words are being saved does not cross oneself', async () => {
  const { id, at } = await drafted('Quick hands', 'Come on Monday.');
  const { page } = await world.browser(world.owner);
  await page.goto(at);
  let saved;
  const reached = new Promise((done) => { saved = done; });
  await page.route('**/edit', async (route) => {
    const answer = await route.fetch();
    saved();
    await new Promise((done) => setTimeout(done, 1500));
    await route.fulfill({ response: answer });
  });
  await page.getByLabel(TEXT).fill('Come on Monday at nine.');
  await reached;
  await page.keyboard.press('Control+Enter');
  await until('approved', async () => /"status":"scheduled"/.test(await whole(id)), 10);
  assert.match(await whole(id), /Come on Monday at nine/);
});

story(test, 'C shows the changes of the draft, and the help says so', async () => {
  const { at } = await drafted('Keys', 'Come on Monday.');
  const { page } = await world.browser(world.owner);
  await page.goto(at);
  await page.keyboard.press('?');
  const help = page.getByRole('dialog', { name: 'Keys' });
  assert.match(await help.innerText(), /C\s*Show the changes/);
  assert.doesNotMatch(await help.innerText(), /C\s*New message/);
  await page.keyboard.press('Escape');
  const isWriting = () => page.getByLabel(TEXT).evaluate((field) => field === document.activeElement);
  await page.keyboard.press('e');
  assert.ok(await isWriting());
  await page.keyboard.type(' At nine.');
  // Out of the text again, and into it from the changes.
  await page.keyboard.press('Escape');
  await page.keyboard.press('c');
  await page.waitForURL(`**${at}?show=changes`);
  await page.locator('a[data-key=e]').waitFor();
  await page.keyboard.press('e');
  await until('the cursor is in the text', isWriting);
});

story(test, 'what came of several drafts is told once, for as long as the page is open', async () => {
  await drafted('Batch one', 'Yes.');
  const { page } = await world.browser(world.owner);
  await page.goto('/approvals');
  await page.locator('.item').filter({ hasText: 'Batch one' }).getByRole('checkbox').check();
  await page.getByRole('toolbar', { name: 'With the selected drafts' }).getByRole('button', { name: 'Approve' }).click();
  await page.getByRole('button', { name: 'Approve and send it' }).click();
  await page.getByText('1 approved.').waitFor();
  assert.doesNotMatch(page.url(), /many|approved/);
  const asked = page.waitForRequest((request) => request.headers()['x-live']);
  await page.evaluate(() => document.dispatchEvent(new CustomEvent('rookery:refresh', { detail: { topics: ['approvals'] } })));
  await (await asked).response();
  await page.waitForTimeout(200);
  assert.ok(await page.getByText('1 approved.').isVisible(), 'a refresh leaves it');
  await page.reload();
  assert.equal(await page.getByText('1 approved.').count(), 0);
});
