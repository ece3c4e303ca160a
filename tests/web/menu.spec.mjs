// The conversation's menu, that of a message, the viewer of pictures, and the groups of the side bar: by hand, by key, on a
// phone, without script, and on paper.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { violations } from './axe.mjs';
import { finish, focused, PHONE, story, until, workspace } from './world.mjs';

after(finish);
let world, inbox, agent;
before(async () => {
  world = await workspace();
  inbox = await world.inbox('Lettings');
  await world.inbox('Repairs');
  agent = await world.agent();
});

const PIXELS = {
  'red.png': 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'dot.gif': 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7',
};

async function found(subject) {
  return (await until(subject, async () => (await world.conversations(agent)).find((one) => one.subject === subject))).id;
}
async function conversation(subject, mail = {}) {
  await world.mail(inbox, { from: 'priya@customer.test', name: 'Priya Raghunathan', subject, text: 'When do I get the keys?', ...mail });
  return found(subject);
}
async function pictures(subject) {
  const part = ([name, data]) => ['--b', `Content-Type: image/${name.split('.')[1]}; name="${name}"`, `Content-Disposition: attachment; filename="${name}"`, 'Content-Transfer-Encoding: base64', '', data];
  const raw = ['From: Priya <priya@customer.test>', `To: ${inbox.address}`, `Subject: ${subject}`, `Message-ID: <${subject.replace(/\W/g, '')}@customer.test>`, 'MIME-Version: 1.0', 'Content-Type: multipart/mixed; boundary=b', '', '--b', 'Content-Type: text/plain', '', 'Two pictures.', ...Object.entries(PIXELS).flatMap(part), '--b--', ''];
  await world.mail(inbox, { raw: Buffer.from(raw.join('\r\n')) });
  return found(subject);
}
const more = (page) => page.locator('#more-menu > summary').click();

story(test, 'the link of a conversation and of a message is copied', async () => {
  const id = await conversation('Copied');
  const { page, context } = await world.browser(world.owner);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto(`/conversations/${id}?view=open`);
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  await more(page);
  await page.getByRole('button', { name: 'Copy link', exact: true }).click();
  await until('it is copied', async () => (await copied()).endsWith(`/conversations/${id}`));
  await page.locator('#more-menu').getByText('Copied', { exact: true }).waitFor();
  await page.locator('#more-menu:not([open])').waitFor();
  const message = await page.locator('#timeline .entry--in').getAttribute('id');
  await page.getByLabel('More actions for this message').click();
  await page.getByRole('button', { name: 'Copy link to this message' }).click();
  await until('that of the message', async () => (await copied()).endsWith(`/conversations/${id}#${message}`));
  // After the page was brought up to date it still copies.
  await page.evaluate(() => navigator.clipboard.writeText(''));
  await page.keyboard.press('Escape');
  await page.keyboard.press('i');
  await page.locator('#assign-menu').getByText(world.owner.name).first().waitFor();
  await more(page);
  await page.getByRole('button', { name: 'Copy link', exact: true }).click();
  await until('once more', async () => (await copied()).endsWith(`/conversations/${id}`));
  await page.locator('#more-menu:not([open])').waitFor();
  await page.keyboard.press('ControlOrMeta+k');
  await page.getByRole('dialog', { name: 'Command palette' }).getByRole('combobox').fill('copy link');
  await page.keyboard.press('Enter');
  await page.locator('#toasts').getByText('Copied.', { exact: true }).waitFor();
});

story(test, 'on a phone nothing covers the menu', async () => {
  const id = await conversation('By thumb');
  const { page } = await world.browser(world.owner, { size: PHONE });
  await page.goto(`/conversations/${id}`);
  await more(page);
  const entries = await page.locator('#more-menu .menu__item:visible').all();
  assert.ok(entries.length >= 7, `${entries.length} entries`);
  for (const entry of entries) await entry.click({ trial: true });
});

story(test, 'why a message is here is asked in its menu, with and without script', async () => {
  const id = await conversation('Why');
  for (const script of [true, false]) {
    const { page } = await world.browser(world.owner, { script });
    await page.goto(`/conversations/${id}`);
    assert.equal(await page.getByText('Why is this here?').isVisible(), false);
    await page.getByLabel('More actions for this message').focus();
    await page.keyboard.press('Enter');
    if (script) await page.keyboard.press('ArrowDown');
    await page.getByText('Why is this here?').focus();
    await page.keyboard.press('Enter');
    await page.getByText('New: it answers no mail of this inbox.').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Copy link to this message' }).count(), script ? 1 : 0);
    if (!script) continue;
    assert.deepEqual(await violations(page), []);
    await page.keyboard.press('Escape');
    assert.match((await page.evaluate(() => document.activeElement.ariaLabel)) ?? '', /More actions/);
  }
});

story(test, 'on paper are the messages, whole and unfolded, and nothing to click', async () => {
  const first = { subject: 'On paper', text: 'The first of two.', cc: 'boss@customer.test' };
  const id = await conversation('On paper', first);
  const { messageId } = await agent.api('POST', `/conversations/${id}/replies`, { body: 'Tell us.', send: true });
  const answers = await world.messageId(messageId);
  await world.mail(inbox, { from: 'priya@customer.test', name: 'Priya', subject: 'Re: On paper', answers, text: 'The second of two.' });
  const { page } = await world.browser(world.owner);
  await page.goto(`/conversations/${id}`);
  await page.getByText('The second of two.').first().waitFor();
  await until('it was seen', async () => {
    await page.goto('/inbox');
    return (await page.locator(`#${id}.is-unread`).count()) === 0;
  });
  await page.goto(`/conversations/${id}`);
  const folded = page.locator('#timeline .msgfold:not([open])');
  assert.equal(await folded.count(), 1);
  await page.evaluate(() => {
    window.printed = [];
    window.print = () => {
      window.dispatchEvent(new Event('beforeprint'));
      window.printed.push(document.querySelectorAll('#timeline .msgfold:not([open])').length);
      window.dispatchEvent(new Event('afterprint'));
    };
  });
  await more(page);
  await page.getByRole('button', { name: 'Print' }).click();
  await until('it is printed', () => page.evaluate(() => window.printed.length === 1));
  await page.keyboard.press('ControlOrMeta+p');
  await until('by the key too', () => page.evaluate(() => window.printed.length === 2));
  assert.deepEqual(await page.evaluate(() => window.printed), [0, 0]);
  assert.equal(await folded.count(), 1, 'and it is folded again');

  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  const seen = (selector) => page.locator(selector).evaluateAll((all) => all.filter((one) => one.checkVisibility()).length);
  for (const gone of ['.side', '.list', '.thread__bar', '.dock', '.contact', '.btn', 'summary', '.leaving']) assert.equal(await seen(gone), 0, gone);
  assert.equal(await page.getByText('The first of two.').last().isVisible(), true, 'what is folded, without script too');
  const paper = await page.evaluate(() => ({
    ground: getComputedStyle(document.body).backgroundColor,
    to: getComputedStyle(document.querySelector('.entry__addr'), '::after').content,
    time: getComputedStyle(document.querySelector('.entry__head time'), '::after').content,
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  }));
  assert.equal(paper.ground, 'rgb(255, 255, 255)');
  assert.match(paper.to, /from priya@customer\.test to .*cc boss@customer\.test/);
  assert.match(paper.time, /day .* 20\d\d, \d/);
  assert.ok(paper.wide <= 0, `${paper.wide} px too wide`);
});

story(test, 'a conversation is moved in a dialog, and without script on a page', async () => {
  for (const script of [true, false]) {
    const id = await conversation(script ? 'Moved in a dialog' : 'Moved on a page');
    const { page } = await world.browser(world.owner, { script });
    await page.goto(`/conversations/${id}?view=open`);
    await more(page);
    await page.getByRole('link', { name: 'Move to another inbox…' }).click();
    if (script) {
      const dialog = page.getByRole('dialog', { name: 'Move to another inbox' });
      await dialog.waitFor();
      assert.deepEqual(await violations(page), []);
      await page.keyboard.press('Escape');
      await until('Escape closes it', async () => (await page.locator('dialog').count()) === 0);
      assert.equal(await focused(page), 'summary More actions');
      await more(page);
      await page.getByRole('link', { name: 'Move to another inbox…' }).click();
      await dialog.waitFor();
      await page.keyboard.type('repa');
      await page.keyboard.press('Enter');
    } else {
      await page.getByRole('button', { name: /^Repairs/ }).click();
    }
    await page.locator('#toasts').getByText('Moved to the other inbox').waitFor();
    await page.locator('#meta').getByText('Repairs', { exact: true }).waitFor();
    assert.match((await agent.api('GET', `/conversations/${id}`)).mailbox, /^repairs@/);
    assert.match(page.url(), new RegExp(`/conversations/${id}`));
  }
});

story(test, 'two conversations are merged in a dialog, and without script on a page', async () => {
  for (const script of [true, false]) {
    const how = script ? 'dialog' : 'page';
    const [kept, gone] = [await conversation(`Stays, ${how}`), await conversation(`Joins it, ${how}`)];
    const { page } = await world.browser(world.owner, { script, allow: [/status of 400/] });
    await page.goto(`/conversations/${kept}?view=open`);
    await more(page);
    await page.getByRole('link', { name: 'Merge with…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Merge two conversations' });
    const place = script ? dialog : page.locator('#pane');
    if (script) {
      await dialog.waitFor();
      assert.equal(await page.evaluate(() => document.activeElement.name), 'q', 'the focus comes in');
      assert.deepEqual(await violations(page), []);
      await page.keyboard.press('Escape');
      await until('Escape closes it', async () => (await page.locator('dialog').count()) === 0);
      assert.equal(await focused(page), 'summary More actions');
      await more(page);
      await page.getByRole('link', { name: 'Merge with…' }).click();
    }
    await place.getByRole('searchbox').fill('nosuchword');
    await page.keyboard.press('Enter');
    await place.getByText('Nothing found').waitFor();
    await place.getByRole('searchbox').fill(`${new URL(page.url()).origin}/conversations/${gone}`);
    await place.getByRole('button', { name: 'Find' }).click();
    await place.getByText('This can’t be undone.').waitFor();
    if (script) {
      assert.equal(await focused(page), `#${await dialog.getAttribute('aria-labelledby')}`, 'a second Enter merges nothing');
      assert.deepEqual(await violations(page), []);
      // What is refused is said in the dialog, which stays.
      await dialog.locator('[name=with]').evaluate((field) => { field.value = 'cnv_nosuch'; });
      await dialog.getByRole('button', { name: 'Merge', exact: true }).click();
      await dialog.getByRole('alert').waitFor();
      assert.equal(await page.locator('#toasts .toast').count(), 0);
      await dialog.getByRole('link', { name: 'Keep the other one' }).click();
      await dialog.getByRole('article', { name: 'Kept' }).getByText(`Joins it, ${how}`).waitFor();
      await dialog.getByRole('link', { name: 'Keep the other one' }).click();
      assert.equal(await dialog.getByRole('alert').count(), 0);
    }
    await place.getByRole('article', { name: 'Kept' }).getByText(`Stays, ${how}`).waitFor();
    await place.getByRole('button', { name: 'Merge', exact: true }).click();
    await page.locator('#toasts').getByText(/merged/i).waitFor();
    assert.equal(await page.locator('dialog').count(), 0);
    assert.equal((await agent.api('GET', `/conversations/${gone}`)).id, kept);
  }
});

story(test, 'an owner deletes a conversation after a question, and goes on in the list', async () => {
  const id = await conversation('Deleted');
  const { page } = await world.browser(world.owner, { allow: [/404/] });
  await page.goto(`/conversations/${id}?view=unassigned`);
  await more(page);
  await page.getByRole('link', { name: 'Delete…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete Deleted?' });
  await dialog.getByText('gone for good').waitFor();
  await dialog.getByRole('button', { name: 'Delete for good' }).click();
  await page.waitForURL((at) => at.pathname === '/inbox' && at.searchParams.get('view') === 'unassigned');
  assert.equal(await page.locator(`#${id}`).count(), 0);
  const gone = await page.goto(`/conversations/${id}`);
  assert.equal(gone.status(), 404);
  await page.getByRole('link', { name: 'Go to the inbox' }).click();
  await page.waitForURL('**/inbox');
  const colleague = await world.person('Mia Lindqvist');
  const other = await world.browser(colleague);
  await other.page.goto(`/conversations/${await conversation('Not hers to delete')}`);
  await more(other.page);
  assert.equal(await other.page.getByRole('link', { name: 'Delete…' }).count(), 0);
});

story(test, 'pictures open over the page, arrows move, Escape closes', async () => {
  const id = await pictures('Two pictures');
  const { page, context } = await world.browser(world.owner);
  await page.goto(`/conversations/${id}`);
  await page.getByRole('link', { name: 'red.png', exact: true }).click();
  const viewer = page.getByRole('dialog', { name: 'Picture' });
  await viewer.getByText('1 of 2').waitFor();
  await until('it is drawn', () => viewer.locator('img').evaluate((one) => one.complete && one.naturalWidth === 1));
  assert.deepEqual(await violations(page), []);
  await page.keyboard.press('ArrowRight');
  await viewer.getByText('dot.gif').waitFor();
  await page.keyboard.press('ArrowRight');
  await viewer.getByText('red.png').waitFor();
  await page.keyboard.press('e');
  const [download] = await Promise.all([page.waitForEvent('download'), viewer.getByRole('link', { name: 'Download' }).click()]);
  assert.equal(download.suggestedFilename(), 'red.png');
  await page.keyboard.press('Escape');
  await until('it is closed', async () => (await page.locator('dialog').count()) === 0);
  assert.equal(await page.evaluate(() => document.activeElement.title), 'red.png');
  assert.equal((await agent.api('GET', `/conversations/${id}`)).status, 'open', 'no key reached the conversation');
  // With Ctrl it is what it was: a tab of its own.
  const [tab] = await Promise.all([context.waitForEvent('page'), page.getByRole('link', { name: 'dot.gif', exact: true }).click({ modifiers: ['ControlOrMeta'] })]);
  await until('the file', async () => /\/files\/1\/preview$/.test(tab.url()));
  const phone = await world.browser(world.owner, { size: PHONE });
  await phone.page.goto(`/conversations/${id}`);
  await phone.page.getByRole('link', { name: 'red.png', exact: true }).tap();
  await phone.page.getByRole('dialog', { name: 'Picture' }).getByRole('button', { name: 'Next picture' }).tap();
  await phone.page.getByText('2 of 2').waitFor();
});

story(test, 'the side bar has groups, every link of it is reached by Tab, also on a phone', async () => {
  for (const size of [undefined, { width: 900, height: 800 }, PHONE]) {
    const { page } = await world.browser(world.owner, size && { size });
    await page.goto(size === PHONE ? '/inbox#side' : '/inbox');
    const side = page.locator('#side');
    const lists = await side.getByRole('list').evaluateAll((all) => all.map((one) => document.getElementById(one.getAttribute('aria-labelledby'))?.textContent ?? ''));
    assert.deepEqual(lists.filter(Boolean), ['Team', 'Inboxes', 'Workspace']);
    const links = side.locator('.side__link:visible');
    const names = await links.evaluateAll((all) => all.map((one) => one.title));
    assert.deepEqual(names.slice(0, 5), ['New message', 'Notices', 'Mine', 'Mentioned', 'Drafts']);
    assert.equal(names.length, 16);
    await links.first().focus();
    for (const name of names.slice(1)) {
      await page.keyboard.press('Tab');
      assert.equal(await page.evaluate(() => document.activeElement.title), name);
    }
  }
});
