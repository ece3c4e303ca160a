// The list: newest first, opened by a click or by keys, unread by person, closed with one key, page after page.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { finish, focused, PHONE, story, until, workspace } from './world.mjs';

after(finish);
let world, inbox, agent;
before(async () => {
  world = await workspace();
  inbox = await world.inbox('Lettings');
  agent = await world.agent();
  const many = Array.from({ length: 130 }, (_, at) => ({ from: `ada${at}@customer.test`, name: `Ada ${at}`, subject: `Question ${at}`, text: `Hello, this is question ${at}.` }));
  await world.mails(inbox, many);
});

const rows = (page) => page.locator('#list li.item');

story(test, 'the newest is on top, and pages go on where the last one ended', async () => {
  const { page } = await world.browser(world.owner);
  await page.goto('/inbox');
  const seen = new Set();
  for (let pages = 1; ; pages += 1) {
    for (const subject of await page.locator('#list .item__subject').allTextContents()) {
      assert.ok(!seen.has(subject), `${subject} is on two pages`);
      seen.add(subject);
    }
    const older = page.locator('#next-page');
    if (!(await older.count())) break;
    assert.ok(pages < 20);
    const next = await older.getAttribute('href');
    await older.click();
    // In one look: the last page has no such link.
    const leads = () => page.evaluate(() => document.getElementById('next-page')?.getAttribute('href'));
    await until('the next page', async () => (await leads()) !== next);
  }
  assert.equal(seen.size, 130);
  assert.equal([...seen][0], 'Question 129');
});

story(test, 'a conversation that one has read is unread for others until they have', async () => {
  const colleague = await world.person('Mia Lindqvist');
  const { page } = await world.browser(world.owner);
  await page.goto('/inbox');
  const first = rows(page).filter({ hasText: 'Question 129' });
  assert.match(await first.getAttribute('class'), /is-unread/);
  await first.locator('a').first().click();
  await page.waitForURL('**/conversations/**');
  await page.getByRole('heading', { name: 'Question 129' }).first().waitFor();
  await page.goto('/inbox');
  await until('read', async () => !/is-unread/.test(await rows(page).filter({ hasText: 'Question 129' }).getAttribute('class')));
  const other = await world.browser(colleague);
  await other.page.goto('/inbox');
  assert.match(await rows(other.page).filter({ hasText: 'Question 129' }).getAttribute('class'), /is-unread/);
});

story(test, 'keys go down the list, open a conversation and close it, and the focus is never lost', async () => {
  const { page } = await world.browser(world.owner);
  await page.goto('/inbox');
  await page.keyboard.press('j');
  const on = await focused(page);
  await page.keyboard.press('j');
  assert.notEqual(await focused(page), on, 'J goes down');
  await page.keyboard.press('k');
  assert.equal(await focused(page), on, 'K goes up');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/conversations/**');
  const id = page.url().match(/cnv_[0-9a-z]+/)[0];
  await page.keyboard.press('e');
  await until('closed', async () => /"status":"closed"/.test(JSON.stringify(await agent.api('GET', `/conversations/${id}`))));
  await until('the focus is somewhere', async () => (await focused(page)) !== 'body');
});

story(test, 'an inbox without mail says so in words', async () => {
  const empty = await workspace('Nothing yet');
  const { page } = await empty.browser(empty.owner);
  await page.goto('/inbox');
  assert.ok((await page.locator('main').innerText()).trim().length > 20);
});

story(test, 'new mail waits behind a pill, and no row that is still open is struck out', async () => {
  const { page } = await world.browser(world.owner);
  await page.goto('/inbox');
  await rows(page).first().hover();
  const pill = page.locator('new-pill a');
  const gone = page.locator('.item.is-gone');
  const before = await rows(page).count();
  await world.mail(inbox, { from: 'new@customer.test', name: 'New', subject: 'Something new', text: 'Hello.' });
  await pill.getByText('1 new').waitFor();
  assert.deepEqual([await gone.count(), await rows(page).count()], [0, before], 'the last row is on the next page now, not gone');
  // Something else of the page is refreshed.
  const asked = page.waitForResponse((answer) => answer.request().headers()['x-live']);
  await page.evaluate(() => document.dispatchEvent(new CustomEvent('rookery:refresh', { detail: { topics: ['notices'] } })));
  await asked;
  await page.waitForTimeout(300);
  assert.equal(await pill.innerText(), '1 new', 'what is new in the list is still new');
  // More than a page: no row is known any more.
  await world.mails(inbox, Array.from({ length: before + 5 }, (_, at) => ({ from: `late${at}@customer.test`, name: 'Late', subject: `Late ${at}`, text: 'Hello.' })));
  await pill.getByText(`${before} new`).waitFor();
  assert.equal(await gone.count(), 0);
  await pill.click();
  await until('they are there', async () => (await rows(page).first().innerText()).includes(`Late ${before + 4}`));
});

story(test, 'at the top of a list that nobody’s hand is at, new mail comes in without a click', async () => {
  const { page } = await world.browser(world.owner);
  await page.goto('/inbox');
  const before = await rows(page).count();
  await page.mouse.move(1200, 500);
  await world.mail(inbox, { from: 'now@customer.test', name: 'Now', subject: 'Comes in', text: 'Hello.' });
  await rows(page).first().getByText('Comes in').waitFor();
  assert.deepEqual([await page.locator('new-pill a').count(), await page.locator('.item.is-gone').count(), await rows(page).count()], [0, 0, before]);
  // A row has the focus: nothing moves.
  await page.keyboard.press('j');
  const on = await focused(page);
  await world.mail(inbox, { from: 'wait@customer.test', name: 'Wait', subject: 'Waits', text: 'Hello.' });
  await page.locator('new-pill a').getByText('1 new').waitFor();
  assert.equal(await focused(page), on);
  await rows(page).first().getByText('Comes in').waitFor();
  // On a phone the thumb may be on its way.
  const phone = await world.browser(world.owner, { size: PHONE });
  await phone.page.goto('/inbox');
  await world.mail(inbox, { from: 'thumb@customer.test', name: 'Thumb', subject: 'Under the thumb', text: 'Hello.' });
  await phone.page.locator('new-pill a').getByText('1 new').waitFor();
});
