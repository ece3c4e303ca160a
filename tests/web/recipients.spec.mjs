// From, and whom a mail goes to: the address is chosen beside the words; recipients are chips that keys, pastes and suggestions
// make, and the form's field always has the whole line.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { inspect } from './axe.mjs';
import { finish, focused, PHONE, story, until, workspace, writing } from './world.mjs';

after(finish);
let world, inbox, agent;
before(async () => {
  world = await workspace();
  inbox = await world.inbox('Lettings');
  agent = await world.agent();
  await world.person('Priya Nair');
  await world.mail(inbox, { from: 'ada@customer.test', name: 'Ada Lovelace', subject: 'First', text: 'Hello' });
  await world.mail(inbox, { from: 'adam@customer.test', name: 'Adam Smith', subject: 'Second', text: 'Hello' });
  await until('they are there', async () => (await world.conversations(agent)).length === 2);
});

const line = (page, name = 'to') => page.locator(`#composer-form [name=${name}]`).inputValue();
const chips = (page) => page.locator('.composer__line--to .person bdi').allTextContents();
const options = (page) => page.locator('[role=option]');
const saved = (page) => page.locator('#saved[data-state=saved]').waitFor();

async function composing(options) {
  const visit = await world.browser(world.owner, options);
  await visit.page.goto('/compose');
  await visit.page.locator('.people__typed').first().waitFor();
  return visit;
}

story(test, 'keys make chips and take them away, and the form has the whole line at every moment', async () => {
  const { page } = await composing();
  assert.equal(await focused(page), '#to');
  await page.keyboard.type('one@customer.test,two@customer.test;');
  await page.keyboard.type('three@customer.test');
  assert.equal(await line(page), 'one@customer.test, two@customer.test, three@customer.test', 'also what is no chip yet');
  await page.keyboard.press('Enter');
  assert.deepEqual(await chips(page), ['one@customer.test', 'two@customer.test', 'three@customer.test']);
  await page.keyboard.type('"Lovelace, Ada" <ada@home.test>');
  await page.keyboard.press('Tab');
  assert.deepEqual((await chips(page)).at(-1), 'Lovelace, Ada', 'a comma between quotes parts nobody');
  assert.notEqual(await focused(page), '#to', 'Tab goes on');
  await page.locator('#to').focus();
  await page.keyboard.press('Backspace');
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  assert.match(await focused(page), /Remove two@customer.test/);
  await page.keyboard.press('Delete');
  assert.match(await focused(page), /Remove three@customer.test/);
  await page.keyboard.press('ArrowRight');
  assert.equal(await focused(page), '#to');
  assert.equal(await line(page), 'one@customer.test, three@customer.test');
  await page.keyboard.type('one@customer.test,');
  assert.equal((await chips(page)).length, 2, 'nobody twice');
  await saved(page);
  await page.reload();
  assert.deepEqual(await chips(page), ['one@customer.test', 'three@customer.test']);
  await page.getByRole('button', { name: 'Remove one@customer.test' }).click();
  assert.equal(await line(page), 'three@customer.test');
});

story(test, 'a pasted list is taken apart, and what is no address says so until it is corrected', async () => {
  const { page } = await composing();
  const paste = (text) => page.evaluate((given) => {
    const data = new DataTransfer();
    data.setData('text/plain', given);
    document.getElementById('to').dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
  }, text);
  await paste('Ada <ada@customer.test>\nbob@customer.test\r\ncarl@customer.test; not an address');
  assert.deepEqual(await chips(page), ['Ada', 'bob@customer.test', 'carl@customer.test', 'not an address']);
  await page.getByText('“not an address” is not an email address. Correct it or remove it.').waitFor();
  assert.equal(await page.locator('#to').getAttribute('aria-invalid'), 'true');
  await inspect(page, 'recipients-wrong');
  await page.locator('.person--wrong bdi').click();
  assert.equal(await page.locator('#to').inputValue(), 'not an address');
  await page.locator('#to').fill('dora@customer.test');
  await page.keyboard.press('Enter');
  assert.equal(await page.locator('.person--wrong').count(), 0);
  assert.equal(await page.locator('#to').getAttribute('aria-invalid'), null);
  await paste('x@customer.test y@customer.test');
  assert.equal((await chips(page)).length, 6, 'spaces part addresses, too');
});

story(test, 'contacts and the team are suggested as one types, and arrows choose', async () => {
  const { page } = await composing();
  await page.keyboard.type('ad');
  await until('two', async () => (await options(page).count()) === 2);
  const field = page.locator('#to');
  assert.equal(await field.getAttribute('aria-expanded'), 'true');
  const active = () => page.evaluate(() => document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))?.textContent ?? '');
  const first = await active();
  await page.keyboard.press('ArrowDown');
  assert.notEqual(await active(), first);
  await page.keyboard.press('ArrowUp');
  assert.equal(await active(), first);
  await inspect(page, 'recipients-suggested');
  await page.keyboard.press('Escape');
  assert.equal(await field.getAttribute('aria-expanded'), 'false');
  assert.equal(await page.locator('#composer-form').count(), 1, 'Esc closes the list and nothing else');
  await page.keyboard.type('a');
  await until('they come again', async () => (await options(page).count()) === 2);
  await options(page).filter({ hasText: 'ada@customer.test' }).click();
  assert.equal(await focused(page), '#to');
  assert.match(await line(page), /ada@customer\.test/);
  await page.keyboard.type('priya');
  await options(page).filter({ hasText: 'Team' }).waitFor();
  await page.keyboard.press('Enter');
  assert.match(await line(page), /priya@larkfield\.test/);
  await page.keyboard.type('ada');
  await until('who is there is not offered again', async () => (await options(page).allTextContents()).every((one) => !one.includes('ada@customer.test')));
  await field.fill('');
  // The whole ring of the focus is seen: nothing lies over its end.
  const [ring, copies] = await Promise.all([page.locator('.composer__line--to .people').boundingBox(), page.locator('.composer__copies summary').boundingBox()]);
  assert.ok(ring.x + ring.width <= copies.x + 1, `${ring.x + ring.width} ${copies.x}`);
});

story(test, 'who was found is not who is typed on, and letters beside a chip are written', async () => {
  const { page } = await composing();
  await page.keyboard.type('ad');
  await until('one of them is marked', async () => (await page.locator('[role=option][aria-selected=true]').count()) === 1);
  await page.keyboard.type('rian@other.test');
  await page.keyboard.press('Enter');
  assert.deepEqual(await chips(page), ['adrian@other.test']);
  await page.keyboard.press('ArrowLeft');
  assert.match(await focused(page), /Remove adrian@other.test/);
  await page.keyboard.type('eve@other.test,');
  assert.equal(await focused(page), '#to');
  assert.deepEqual(await chips(page), ['adrian@other.test', 'eve@other.test']);
  await page.getByRole('button', { name: 'Remove adrian@other.test' }).click();
  assert.equal(await focused(page), '#to', 'a click leads to no other button');
  assert.equal(await line(page), 'eve@other.test');
});

story(test, 'a phone has room for fingers, and right-to-left turns the arrows', async () => {
  const { page } = await composing({ size: PHONE });
  await page.locator('#to').fill('one@customer.test,two@customer.test,');
  for (const part of ['.person > button', '.people__typed']) {
    for (const box of await page.locator(`.composer__line--to ${part}`).all()) {
      assert.ok((await box.boundingBox()).height >= 44, part);
    }
  }
  await page.locator('#to').fill('ad');
  await options(page).first().waitFor();
  assert.ok((await options(page).first().boundingBox()).height >= 44);
  await inspect(page, 'recipients-phone');
  await page.locator('#to').fill('');
  await page.evaluate(() => { document.documentElement.dir = 'rtl'; });
  await page.locator('#to').focus();
  await page.keyboard.press('ArrowRight');
  assert.match(await focused(page), /Remove two@customer.test/);
});

story(test, 'without script the line is a field, and a click on Send without a chip loses nobody', async () => {
  const { page: plain } = await world.browser(world.owner, { script: false });
  await plain.goto('/compose');
  assert.equal(await plain.locator('#to').getAttribute('name'), 'to');
  const { page } = await composing();
  await page.locator('#to').fill('newcomer@customer.test');
  await page.getByLabel(/subject/i).fill('No chip');
  await writing(page).fill('Hello.');
  await page.keyboard.press('ControlOrMeta+Enter');
  await page.waitForURL('**/conversations/**');
});

story(test, 'an answer begins with the address that was written to, and another can be chosen before the click', async () => {
  const { page } = await world.browser(world.owner);
  const further = inbox.address.replace('lettings@', 'sales@');
  await page.goto(`/settings/inboxes/${inbox.id}`);
  await page.locator('#alias').fill(further);
  await page.locator('#aliases').getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('button', { name: `Remove ${further}` }).waitFor();
  const raw = `Message-ID: <from@customer.test>\r\nFrom: Eve <eve@customer.test>\r\nTo: ${further}\r\nSubject: From which\r\n\r\nHello?\r\n`;
  await world.mail(inbox, { raw });
  const { id } = await until('it', async () => (await world.conversations(agent)).find((one) => one.subject === 'From which'));
  await page.goto(`/conversations/${id}?compose=reply`);
  const from = page.getByLabel('From', { exact: true });
  assert.equal(await from.inputValue(), further);
  await inspect(page, 'from');
  await from.selectOption(inbox.address);
  await saved(page);
  await page.reload();
  assert.equal(await from.inputValue(), inbox.address, 'the draft keeps it');
  await from.selectOption(further);
  await writing(page).fill('From sales.');
  await page.locator('#send').click();
  await page.locator('#timeline').getByText(`<${further}>`).waitFor();
  await page.goto('/compose');
  assert.deepEqual(await page.getByLabel('From', { exact: true }).locator('option').allTextContents(), [`Lettings <${inbox.address}>`, `Lettings <${further}>`]);
});
