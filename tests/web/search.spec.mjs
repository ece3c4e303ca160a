// Search: by word, sender and file name, and in notes; hits are marked; nothing found is said in words.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { finish, focused, send, story, until, workspace, write, writing } from './world.mjs';

after(finish);
let world;
before(async () => {
  world = await workspace();
  const inbox = await world.inbox('Lettings');
  await world.mails(inbox, [
    { from: 'gwen@customer.test', name: 'Gwen Parry', subject: 'Thermostat', text: 'The thermostat in the hall is dead.' },
    { from: 'theo@customer.test', name: 'Theo Marchetti', subject: 'Bike room', text: 'May I have a place for my bicycle?' },
    { from: 'x@customer.test', name: '<b>Mallory</b>', subject: '<img src=x onerror=alert(1)> bicycle', text: 'A bicycle too.' },
  ]);
});

story(test, 'a word finds its conversations and is marked; markup in subjects is only text', async () => {
  const { page } = await world.browser(world.owner);
  await page.goto('/inbox');
  await page.keyboard.press('/');
  await until('the search field has the focus', async () => (await focused(page)) === '#q');
  await page.keyboard.type('bicycle');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/search?**');
  await until('two hits', async () => (await page.locator('main').getByText(/Bike room/).count()) > 0);
  await page.getByText('<img src=x onerror=alert(1)> bicycle').first().waitFor();
  assert.ok((await page.locator('main mark').count()) > 0, 'hits are marked');
  assert.equal(await page.getByText('Thermostat').count(), 0);
  await page.goto('/search?q=nosuchword');
  assert.match(await page.locator('main').innerText(), /no|nothing/i);
});

story(test, 'a word is found by its beginning, and results stay at the left of what is opened from them', async () => {
  const { page } = await world.browser(world.owner);
  await page.goto('/search');
  await page.locator('#q').fill('bicyc');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/search?**');
  await until('two hits', async () => (await page.locator('#hits .hit').count()) === 2);
  await page.locator('#hits .hit').first().click();
  await page.waitForURL('**/conversations/cnv_*?q=bicyc*');
  const list = page.getByRole('region', { name: 'Results for “bicyc”' });
  await list.waitFor();
  assert.equal(await list.locator('.item').count(), 2);
  assert.deepEqual((await list.locator('mark').allInnerTexts()).map((text) => text.toLowerCase()).filter((text) => text !== 'bicycle'), []);
  const read = () => list.locator('[aria-current=true] .item__subject').innerText();
  const first = await read();
  await page.keyboard.press('j');
  await until('J opens the next result', async () => (await read()) !== first);
  await page.keyboard.press('k');
  await until('K opens the one before', async () => (await read()) === first);
  await page.keyboard.press('r');
  await writing(page).waitFor();
  await page.waitForURL(/\/conversations\/cnv_\w+\?q=bicyc.*compose=reply/);
  await list.waitFor();
  assert.equal(await list.locator('.item').count(), 2, 'the results stay while one writes');
  await page.keyboard.press('Escape');
  await page.locator('#begin-reply').waitFor();
  await list.waitFor();
  assert.equal(await list.locator('.item').count(), 2);
  await page.keyboard.press('Escape');
  await page.waitForURL('**/search?q=bicyc*');
  assert.equal(await page.locator('#hits .hit').count(), 2);
});

story(test, 'a note is found, by search and palette, and says whose it is', async () => {
  const { page } = await world.browser(world.owner);
  await page.goto('/search?q=thermostat');
  await page.locator('#hits .hit').first().click();
  await page.waitForURL('**/conversations/cnv_*');
  await write(page, 'n', 'The plumber has the boiler key.');
  await send(page);
  await page.locator('.entry--note').getByText('boiler key').waitFor();
  await page.goto('/search?q=boiler');
  const hit = page.locator('#hits .hit');
  await until('one hit', async () => (await hit.count()) === 1);
  assert.match(await hit.locator('.hit__where').innerText(), new RegExp(`Note by ${world.owner.name}`));
  assert.equal(await hit.locator('mark').innerText(), 'boiler');
  assert.match(await hit.getAttribute('href'), /#not_\w+$/, 'it opens at the note');
  await hit.click();
  await page.waitForURL('**/conversations/cnv_*');
  const note = page.locator('.entry--note').getByText('boiler key');
  await note.waitFor();
  await until('the note is in sight', () => note.evaluate((one) => {
    const { top, bottom } = one.getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight;
  }));
  await page.locator('#items .item__snippet').filter({ hasText: `Note by ${world.owner.name}: ` }).waitFor();
  await page.goto('/inbox');
  await page.keyboard.press('Control+k');
  await page.keyboard.type('boiler');
  const line = page.locator('#palette-list').getByRole('option', { name: /^Note · .*Thermostat/ });
  await line.waitFor();
  await line.click();
  await page.waitForURL(/\/conversations\/cnv_\w+#not_/);
});
