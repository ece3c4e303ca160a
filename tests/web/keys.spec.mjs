// Keys, palette and help: they activate what the page's own markup offers, stay out of fields, and can be switched off.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { finish, story, until, workspace } from './world.mjs';

after(finish);
let world, inbox;
before(async () => {
  world = await workspace();
  inbox = await world.inbox('Lettings');
  const many = ['One', 'Two', 'Three'].map((subject) => ({ from: 'ada@customer.test', name: 'Ada', subject, text: 'Hello.' }));
  await world.mails(inbox, many);
});

const row = (page) => page.evaluate(() => document.activeElement?.closest('.item')?.id ?? null);
const path = (page) => new URL(page.url()).pathname;

story(test, 'J and K walk through the list, Enter opens, G and a letter goes somewhere', async () => {
  const { page } = await world.browser(world.owner);
  await page.goto('/inbox');
  const rows = await page.locator('.item').evaluateAll((all) => all.map((one) => one.id));
  assert.equal(rows.length, 3);
  for (const [key, at] of [['j', 0], ['j', 1], ['k', 0], ['k', 0]]) {
    await page.keyboard.press(key);
    assert.equal(await row(page), rows[at], key);
  }
  await page.keyboard.press('Enter');
  await page.waitForURL(`**/conversations/${rows[0]}**`);
  await page.keyboard.press('g');
  await page.keyboard.press('s');
  await page.waitForURL('**/settings');
});

story(test, 'the palette finds what can be done, teaches its key and runs it', async () => {
  const { page } = await world.browser(world.owner);
  await page.goto('/inbox');
  await page.keyboard.press('ControlOrMeta+k');
  const palette = page.getByRole('dialog', { name: 'Command palette' });
  const input = palette.getByRole('combobox');
  await input.fill('sett');
  const first = palette.getByRole('option').first();
  assert.match(await first.innerText(), /^Settings\s*G\s*S$/);
  assert.equal(await input.getAttribute('aria-activedescendant'), await first.getAttribute('id'));
  await page.keyboard.press('Enter');
  await page.waitForURL('**/settings');
  await page.goto('/inbox');
  await page.keyboard.press('ControlOrMeta+k');
  await input.fill('boiler & more');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/search?q=boiler*');
  assert.equal(new URL(page.url()).searchParams.get('q'), 'boiler & more');
  await page.keyboard.press('ControlOrMeta+k');
  await page.keyboard.press('Escape');
  await until('closed', async () => (await page.locator('dialog').count()) === 0);
});

story(test, 'the help lists the keys of this page, and fields keep their letters', async () => {
  const { page } = await world.browser(world.owner);
  await page.goto('/inbox');
  await page.keyboard.press('?');
  const help = page.getByRole('dialog', { name: 'Keys' });
  assert.match(await help.innerText(), /Next in the list/);
  await page.keyboard.press('Escape');
  await page.goto('/profile');
  await page.getByLabel('Signature').fill('');
  await page.getByLabel('Signature').pressSequentially('jk?gs/');
  assert.equal(await page.getByLabel('Signature').inputValue(), 'jk?gs/');
  assert.equal(path(page), '/profile');
  assert.equal(await page.locator('dialog').count(), 0);
});

story(test, 'keys that are switched off do nothing, and the palette stays', async () => {
  const colleague = await world.person('Mia Lindqvist');
  const { page } = await world.browser(colleague);
  await page.goto('/profile');
  await page.getByRole('switch').uncheck();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await until('saved', () => page.evaluate(() => document.documentElement.dataset.keys === 'off'));
  await page.goto('/inbox');
  for (const key of ['j', '?', 'g', 's']) await page.keyboard.press(key);
  assert.deepEqual([await row(page), path(page), await page.locator('dialog').count()], [null, '/inbox', 0]);
  await page.keyboard.press('ControlOrMeta+k');
  assert.equal(await page.getByRole('dialog', { name: 'Command palette' }).count(), 1);
});

story(test, 'Z takes back what was just done, and not what a colleague sends', async () => {
  const agent = await world.agent();
  const { id } = (await world.conversations(agent)).find((one) => one.subject === 'Two');
  await agent.api('POST', `/conversations/${id}/replies`, { body: 'It is on its way.', send: true });
  const whole = () => agent.api('GET', `/conversations/${id}`);
  const { page } = await world.browser(world.owner);
  await page.goto(`/conversations/${id}`);
  await page.keyboard.press('i');
  await page.locator('#toasts').getByRole('button', { name: 'Undo' }).waitFor();
  assert.ok((await whole()).assignee);
  await page.keyboard.press('z');
  await until('nobody has it', async () => !(await whole()).assignee);
  assert.match(JSON.stringify(await whole()), /"status":"scheduled"/);
});
