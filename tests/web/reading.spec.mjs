// Reading: who wrote, with the address in sight; a mail that may be a fraud leads nowhere; what was read is a line; the
// contact beside it; and on a phone all of it at the width of the hand.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { finish, PHONE, sql, story, until, workspace } from './world.mjs';

after(finish);
let world, inbox, agent;
before(async () => {
  world = await workspace();
  inbox = await world.inbox('Lettings');
  agent = await world.agent();
});

const WIDE = '<table width="640"><tr><td width="320">The left half of a newsletter</td><td width="320"><h1>The right half</h1></td></tr></table>';

async function conversation(subject, mail = {}) {
  await world.mail(inbox, { from: 'priya@customer.test', name: 'Priya Raghunathan', subject, text: 'When do I get the keys?', ...mail });
  return (await until('the conversation', async () => (await world.conversations(agent)).find((one) => one.subject === subject))).id;
}

story(test, 'the address of a sender is in sight, and links of a mail that may be a fraud lead nowhere', async () => {
  const id = await conversation('Your account', { from: 'billing@evil.test', name: 'Larkfield Billing', text: 'Sign in at https://evil.test/sign-in today.' });
  const html = await conversation('Your account, laid out', { from: 'billing@evil.test', name: 'Larkfield Billing', html: `<p>Sign in <a href="https://evil.test/">here</a></p>${WIDE}`, text: undefined });
  const { page, context } = await world.browser(world.owner, { allow: [/Blocked opening/] });
  await page.goto(`/conversations/${id}`);
  await page.getByText('<billing@evil.test>').waitFor();
  assert.equal(await page.locator('.entry__text a').count(), 1);
  await sql(`update conversations set risk = 'phishing', risk_reasons = '{"It asks for a password"}' where id in (select conversation_id from messages where from_email = 'billing@evil.test')`);
  await page.reload();
  await page.locator('.deadlink').getByText('https://evil.test/sign-in').waitFor();
  assert.equal(await page.locator('.entry__text a').count(), 0);
  // The laid out form of one is behind glass.
  await page.goto(`/conversations/${html}`);
  await page.getByRole('link', { name: 'As it was laid out' }).click();
  await page.getByText('Links are disabled.').waitFor();
  await page.frameLocator('iframe').first().getByText('here').click();
  await page.waitForTimeout(300);
  assert.equal(context.pages().length, 1, 'nothing is opened');
  await page.getByRole('button', { name: 'Not a scam' }).click();
  await until('its links lead on', async () => (await page.getByText('Links are disabled.').count()) === 0);
});

story(test, 'what was read is a line, the newest stands open, and an address names one of them', async () => {
  const first = { from: 'priya@customer.test', name: 'Priya', subject: 'A long story', text: 'The first of many.' };
  const id = await conversation('A long story', first);
  const { messageId } = await agent.api('POST', `/conversations/${id}/replies`, { body: 'Tell us.', send: true });
  const answers = await world.messageId(messageId);
  const mail = (n) => ({ ...first, id: `story-${n}@customer.test`, answers, subject: 'Re: A long story', text: `Part ${n}.${'\n\nAnd so it went on.'.repeat(12)}` });
  await world.mails(inbox, [mail(1), mail(2), mail(3)]);
  const { page } = await world.browser(world.owner);
  const parts = page.locator('#timeline .entry--in');
  const open = () => parts.locator('> .msgfold[open]').count();
  await page.goto(`/conversations/${id}`);
  await until('all of it is new', async () => (await open()) === 4);
  await until('it was seen', async () => {
    await page.goto('/inbox');
    return (await page.locator(`#${id}.is-unread`).count()) === 0;
  });
  await page.goto(`/conversations/${id}`);
  assert.equal(await open(), 1, 'only the newest');
  const last = parts.last();
  assert.ok(await last.getByText('Part 3.', { exact: true }).isVisible());
  const seen = await last.evaluate((one) => one.getBoundingClientRect().top < innerHeight - 200);
  assert.ok(seen, 'the newest is in sight');
  await parts.nth(1).getByText('Part 1.').first().click();
  await until('it is unfolded', async () => (await open()) === 2);
  // What comes meanwhile folds nothing that is open.
  await world.mail(inbox, mail(4));
  await page.locator('#timeline').getByText('Part 4.', { exact: true }).waitFor();
  assert.equal(await open(), 3);
  const named = await parts.first().getAttribute('id');
  await page.goto(`/conversations/${id}#${named}`);
  await page.reload();
  await until('the one that is named stands open', async () => parts.first().locator('> .msgfold[open]').count());
  const plain = await world.browser(world.owner, { script: false });
  await plain.page.goto(`/conversations/${id}`);
  await plain.page.locator('#timeline .msgfold__line').first().click();
  assert.ok(await plain.page.getByText('The first of many.').last().isVisible(), 'and without script');
});

story(test, 'many tags push nothing away, one is found or created where one types', async () => {
  const id = await conversation('So many tags');
  const { page } = await world.browser(world.owner);
  await page.goto(`/conversations/${id}`);
  const tags = async () => (await agent.api('GET', `/conversations/${id}`)).tags;
  await page.keyboard.press('l');
  await page.keyboard.type('a new one');
  await page.keyboard.press('Enter');
  await until('it is created', async () => (await tags()).includes('a new one'));
  for (const name of ['second', 'third', 'fourth']) {
    await until('the menu can be opened', async () => (await page.locator('#tag-menu[open]').count()) === 0);
    await page.keyboard.press('l');
    await page.keyboard.type(name);
    await page.keyboard.press('Enter');
    await until(`${name} is created`, async () => (await tags()).includes(name));
    await page.locator('#tag-menu:not([open])').waitFor();
  }
  assert.equal(await page.locator('#meta > .doing__tag').count(), 3);
  await page.locator('#further-tags > summary').click();
  await page.locator('#further-tags').getByRole('button', { name: /^Remove the tag/ }).first().waitFor();
  await page.keyboard.press('Escape');
  const other = await conversation('Tagged by its beginning');
  await page.goto(`/conversations/${other}`);
  await page.keyboard.press('l');
  await page.keyboard.type('third'.slice(0, 3));
  await page.keyboard.press('Enter');
  await until('the one that is known', async () => (await agent.api('GET', `/conversations/${other}`)).tags.includes('third'));
});

story(test, 'the contact stands beside the mail and folds away, and its address is written to here', async () => {
  const id = await conversation('Who is it');
  const { page } = await world.browser(world.owner);
  await page.goto(`/conversations/${id}`);
  const contact = page.locator('#contact');
  assert.ok(await contact.isVisible());
  await page.keyboard.press(']');
  assert.equal(await contact.isVisible(), false);
  await page.reload();
  assert.equal(await contact.isVisible(), false, 'it is remembered');
  await page.keyboard.press(']');
  await contact.getByRole('link', { name: 'priya@customer.test' }).click();
  await page.waitForURL('**/compose?to=*');
  assert.equal(await page.locator('#composer-form [name=to]').inputValue(), 'priya@customer.test');
});

story(test, 'a toast covers no action', async () => {
  const id = await conversation('Covered');
  await agent.api('POST', `/conversations/${id}/replies`, { body: 'On Monday.' });
  const { page } = await world.browser(world.owner);
  await page.goto('/approvals');
  await page.locator('.item a').first().click();
  await page.waitForURL('**/approvals/msg_**');
  await page.evaluate(() => {
    const toast = document.createElement('div');
    toast.className = 'toast';
    toast.dataset.said = '';
    toast.textContent = 'Something was done with many words, so that it is as wide as it gets, and then some more.';
    document.getElementById('toasts').append(toast);
  });
  for (const viewport of [{ width: 1440, height: 900 }, PHONE]) {
    await page.setViewportSize(viewport);
    const covered = await page.evaluate(() => {
      const toast = document.querySelector('#toasts .toast').getBoundingClientRect();
      const buttons = [...document.querySelectorAll('.verdict .btn')].filter((one) => one.checkVisibility());
      return buttons.map((one) => one.getBoundingClientRect()).filter((box) => box.left < toast.right && box.right > toast.left && box.top < toast.bottom && box.bottom > toast.top).length;
    });
    assert.equal(covered, 0, `at ${viewport.width}`);
  }
});

story(test, 'on a phone one answers from anywhere in the thread, and a wide mail is as wide as the phone', async () => {
  const id = await conversation('A newsletter', { html: WIDE + '<p>More of it.</p>'.repeat(60), text: undefined });
  const { page } = await world.browser(world.owner, { size: PHONE });
  await page.goto(`/conversations/${id}`);
  const bar = await page.locator('#begin-reply').boundingBox();
  assert.ok(bar.y + bar.height <= PHONE.height && bar.height >= 44, `Reply is at ${bar.y}`);
  await page.getByRole('link', { name: 'As it was laid out' }).click();
  await page.locator('iframe').first().scrollIntoViewIfNeeded();
  await until('it is drawn smaller', async () => page.locator('iframe').first().evaluate((one) => {
    const { width } = one.getBoundingClientRect();
    return width <= 376 && one.contentDocument.documentElement.scrollWidth <= one.clientWidth + 1;
  }));
  await page.goto('/compose');
  const tabs = await page.locator('#tabs').boundingBox();
  assert.ok(Math.abs(tabs.y + tabs.height - PHONE.height) <= 1 || tabs.y + tabs.height > PHONE.height, `the tabs end at ${tabs.y + tabs.height}`);
});
