// The conversation: what came in, in its own frame, files as downloads, a reply that can be stopped, a note with @.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { violations } from './axe.mjs';
import { finish, focused, send, stop, story, until, words, workspace, write, writing } from './world.mjs';

after(finish);
let world, inbox, agent;
before(async () => {
  world = await workspace();
  inbox = await world.inbox('Lettings');
  agent = await world.agent();
});

async function conversation(subject, mail = {}) {
  await world.mail(inbox, { from: 'priya@customer.test', name: 'Priya Raghunathan', subject, text: 'When do I get the keys?', ...mail });
  const found = await until('the conversation', async () => (await world.conversations(agent)).find((one) => one.subject === subject));
  return found.id;
}

story(test, 'a reply leaves after the window, and stopping it brings the words back', async () => {
  const id = await conversation('Keys for flat 7');
  const { page } = await world.browser(world.owner);
  await page.goto(`/conversations/${id}`);
  await write(page, 'r', 'On Monday at ten, at the office.');
  assert.equal(await focused(page), 'div Your message', 'one can write at once');
  await send(page);
  await stop(page).first().waitFor();
  assert.match(JSON.stringify(await agent.api('GET', `/conversations/${id}`)), /On Monday at ten/, 'the agent reads it too');
  await until('the focus is somewhere', async () => (await focused(page)) !== 'body');
  // What the page hears of right after takes nothing away.
  await page.waitForTimeout(800);
  assert.notEqual(await focused(page), 'body');
  await stop(page).first().click();
  await until('it is stopped', async () => (await stop(page).count()) === 0);
  await writing(page).waitFor();
  assert.equal(await words(page), 'On Monday at ten, at the office.');
  await until('the focus is there', async () => (await focused(page)) === 'div Your message');
  await page.keyboard.type(' Ring twice.');
  assert.equal(await words(page), 'On Monday at ten, at the office. Ring twice.', 'one writes on at the end');
});

story(test, 'the HTML of a mail is shown in a frame, pictures of others only on a click, plain text beside it', async () => {
  const id = await conversation('Your order', { html: '<h1 style="color:#a33">Thank you!</h1><p>It is <b>on its way</b>.</p><img src="https://tracker.example/open.gif" width="200" height="40">', text: undefined });
  const visit = await world.browser(world.owner);
  const { page } = visit;
  await page.goto(`/conversations/${id}`);
  // A mail that is little more than its words is shown as words; the other form is a click away.
  await page.locator('#timeline').getByText('on its way').filter({ visible: true }).first().waitFor();
  await page.getByRole('link', { name: 'As it was laid out' }).click();
  const frame = page.frameLocator('iframe').first();
  await frame.getByText('Thank you!').waitFor();
  assert.deepEqual(visit.foreign, [], 'nothing is asked of the tracker');
  const height = await page.locator('iframe').first().evaluate((one) => one.getBoundingClientRect().height);
  assert.ok(height > 60 && height < 800, `the frame is as high as the mail: ${height}`);
  await page.locator('.mailframe').getByRole('link', { name: /text/i }).last().click();
  await until('no frame', async () => (await page.locator('iframe').count()) === 0);
  await page.locator('#timeline').getByText('on its way').filter({ visible: true }).first().waitFor();
});

story(test, 'quoted history in an HTML mail is folded, opens without script in the mail, and the frame grows', async () => {
  const quote = Array.from({ length: 30 }, (_, n) => `<p>Line ${n} of what was said before.</p>`).join('');
  const html = `<div>Yes, <b>please</b> do.</div><br><div class="gmail_quote"><div class="gmail_attr">On Monday we wrote:</div><blockquote class="gmail_quote">${quote}</blockquote></div>`;
  const id = await conversation('Shall we?', { html, text: undefined });
  const { page } = await world.browser(world.owner);
  await page.goto(`/conversations/${id}`);
  await page.getByRole('link', { name: 'As it was laid out' }).click();
  const frame = page.frameLocator('iframe').first();
  await frame.getByText('Yes, please do.').waitFor();
  assert.equal(await frame.getByText('Line 3 of what').isVisible(), false, 'folded');
  const height = () => page.locator('iframe').first().evaluate((one) => one.getBoundingClientRect().height);
  const before = await height();
  await frame.getByText('Earlier text').click();
  await frame.getByText('Line 3 of what').waitFor();
  await until('the frame grows with it', async () => (await height()) > before + 300);
});

story(test, 'a long thread opens where it is new, and without script a link leads there', async () => {
  const text = (n) => Array.from({ length: 12 }, (_, line) => `Mail ${n}, line ${line}.`).join('\n\n');
  const first = { from: 'priya@customer.test', name: 'Priya', subject: 'A long story', text: text(0) };
  const more = (from, to) => Array.from({ length: to - from }, (_, n) => ({ ...first, id: `long-${from + n}@customer.test`, answers, subject: 'Re: A long story', text: text(from + n) }));
  await world.mail(inbox, { ...first });
  const { id } = await until('it', async () => (await world.conversations(agent)).find((one) => one.subject === 'A long story'));
  const { messageId } = await agent.api('POST', `/conversations/${id}/replies`, { body: 'Tell us.', send: true });
  const answers = await world.messageId(messageId);
  await world.mails(inbox, more(1, 8));
  const { page } = await world.browser(world.owner);
  await page.goto(`/conversations/${id}`);
  const top = () => page.locator('#thread').evaluate((part) => part.scrollTop);
  assert.equal(await top(), 0, 'all of it is new: it opens at its top');
  await page.goto('/inbox');
  await world.mails(inbox, more(8, 11));
  await until('it is unread again', async () => {
    await page.goto('/inbox');
    return (await page.locator(`#${id}.is-unread`).count()) === 1;
  });
  await page.locator(`#${id} a.item__body`).click();
  await page.locator('#new').waitFor();
  const inSight = () => page.locator('#new').evaluate((mark) => {
    const part = document.getElementById('thread').getBoundingClientRect();
    const at = mark.getBoundingClientRect();
    return at.top >= part.top && at.bottom <= part.bottom - 100;
  });
  // What was read is a line each, so what is new is in sight.
  await until('the mark is in sight, with something under it', inSight);
  await page.locator('#timeline').getByText('Mail 8, line 0.').waitFor();
  // What comes while one reads moves nothing.
  const before = await top();
  await world.mails(inbox, more(11, 12));
  await page.locator('#timeline').getByText('Mail 11, line 0.').waitFor();
  assert.ok(Math.abs((await top()) - before) < 40, 'the page stays where it is');

  // An open page reads along.
  await page.goto('/settings');
  const plain = await world.browser(world.owner, { script: false });
  await world.mails(inbox, more(12, 14));
  await until('it is unread', async () => {
    await plain.page.goto('/inbox');
    return (await plain.page.locator(`#${id}.is-unread`).count()) === 1;
  });
  await plain.page.goto(`/conversations/${id}`);
  await plain.page.getByRole('link', { name: 'New since your last visit' }).click();
  assert.match(plain.page.url(), /#new$/);
  assert.ok(await plain.page.locator('#new').evaluate((mark) => mark.getBoundingClientRect().top < innerHeight));
});

story(test, 'documents are asked for with a day, and the request is a card', async () => {
  const id = await conversation('Papers for the flat');
  const { page } = await world.browser(world.owner);
  await page.goto(`/conversations/${id}`);
  await write(page, 'r', 'We need these:');
  await page.getByRole('button', { name: 'Ask for documents' }).click();
  const form = page.getByRole('dialog', { name: 'Ask for documents' });
  await form.getByLabel('Document 1', { exact: true }).fill('Passport');
  await form.getByLabel('Hint for document 1').fill('both pages');
  assert.deepEqual(await violations(page), []);
  // Enter goes on to the next row, and adds one after the last.
  for (const name of ['Payslip', 'Lease', 'Insurance']) {
    const at = ['Payslip', 'Lease', 'Insurance'].indexOf(name) + 2;
    await page.keyboard.press('Enter');
    const row = form.getByLabel(`Document ${at}`, { exact: true });
    await page.waitForFunction((label) => document.activeElement?.getAttribute('aria-label') === label, `Document ${at}`);
    await row.fill(name);
  }
  await form.getByRole('button', { name: 'Remove document 4' }).click();
  await form.getByLabel('Document 4', { exact: true }).waitFor({ state: 'detached' });
  await form.getByLabel('Optional: document 3').check();
  await form.getByLabel('List name').fill('New flat');
  await page.keyboard.press('Enter');
  await form.getByText('List “New flat” saved.').waitFor();
  await form.getByLabel('Due date (optional)').fill('2031-05-09');
  await page.keyboard.press('Enter');
  await form.getByLabel('Customer’s language').selectOption('de');
  // What cannot be asked for is said in the dialog, over the same page.
  await form.getByRole('button', { name: 'Add a row' }).click();
  await form.getByLabel('Hint for document 4').fill('of this year');
  const { pathname } = new URL(page.url());
  await form.getByRole('button', { name: 'Add to reply' }).click();
  await form.getByText('Enter a name for document 4, or remove its hint.').waitFor();
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Document 4');
  assert.equal(new URL(page.url()).pathname, pathname);
  assert.equal(await words(page), 'We need these:', 'the reply is as it was');
  await form.getByRole('button', { name: 'Remove document 4' }).click();
  await form.getByLabel('Document 4', { exact: true }).waitFor({ state: 'detached' });
  await form.getByRole('button', { name: 'Add to reply' }).click();
  await form.waitFor({ state: 'detached' });
  await page.getByText('Requests Passport, Payslip, Lease').waitFor();
  await page.getByText('due 9 May 2031 · Deutsch').waitFor();
  assert.equal(await words(page), 'We need these:');
  // What is put in is not asked for when the form is left.
  await page.getByRole('button', { name: 'Edit the document request' }).click();
  await form.getByLabel('Saved list', { exact: true }).selectOption({ label: 'New flat' });
  await form.getByRole('button', { name: 'Remove document 1' }).click();
  await page.keyboard.press('Escape');
  await form.waitFor({ state: 'detached' });
  await page.getByText('Requests Passport, Payslip, Lease').waitFor();
  await send(page);
  const card = page.getByRole('region', { name: 'Documents asked for' });
  await card.waitFor();
  const said = await card.innerText();
  assert.match(said, /0 of 3/);
  assert.match(said, /both pages/);
  assert.match(said, /Due 9 May 2031/);
});

story(test, 'a file is a download, never a page', async () => {
  const boundary = 'b0undary';
  const raw = Buffer.from(['From: Priya <priya@customer.test>', `To: ${inbox.address}`, 'Subject: The floor plan', 'Message-ID: <files1@customer.test>', 'MIME-Version: 1.0', `Content-Type: multipart/mixed; boundary=${boundary}`, '', `--${boundary}`, 'Content-Type: text/plain', '', 'Here it is.', `--${boundary}`, 'Content-Type: text/html; name="plan.html"', 'Content-Disposition: attachment; filename="plan.html"', '', '<script>alert(1)</script>', `--${boundary}--`, ''].join('\r\n'));
  await world.mail(inbox, { raw });
  const id = (await until('it', async () => (await world.conversations(agent)).find((one) => one.subject === 'The floor plan'))).id;
  const { page } = await world.browser(world.owner);
  await page.goto(`/conversations/${id}`);
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: /plan\.html/ }).first().click()]);
  assert.equal(download.suggestedFilename(), 'plan.html');
  assert.match(page.url(), /conversations/);
});

story(test, 'a note is for the team, and @ tells a colleague', async () => {
  const colleague = await world.person('Ada Okonkwo');
  const id = await conversation('Who calls her?');
  const { page } = await world.browser(world.owner);
  await page.goto(`/conversations/${id}`);
  await write(page, 'n', '@Ada could you call her?');
  await send(page);
  await page.locator('.entry--note').getByText('could you call her?').waitFor();
  const other = await world.browser(colleague);
  await other.page.goto('/notices');
  await other.page.getByText(/Who calls her/).first().waitFor();
});

story(test, 'status, assignee and tags change without a new page, and the focus stays', async () => {
  const id = await conversation('The hedge again');
  const { page } = await world.browser(world.owner);
  await page.goto(`/conversations/${id}`);
  await page.keyboard.press('i');
  await until('assigned', async () => JSON.stringify(await agent.api('GET', `/conversations/${id}`)).includes('Tomás Herrera'));
  assert.match(page.url(), new RegExp(id), 'it is the same page');
  await page.keyboard.press('e');
  await until('closed', async () => JSON.stringify(await agent.api('GET', `/conversations/${id}`)).includes('"status":"closed"'));
});
