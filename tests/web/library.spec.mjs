// The library: what was read stands in columns, a document shows its page, and a field that a person sets stays.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { demonstration, finish, PHONE, story, until } from './world.mjs';

after(finish);
let world;
before(async () => {
  world = await demonstration();
});

async function first(page) {
  await page.goto('/documents');
  const link = page.locator('.lib-doc').first();
  await link.waitFor();
  const path = new URL(await link.getAttribute('href'), page.url()).pathname;
  await link.click();
  await page.waitForURL(`**${path}`);
  return path;
}

story(test, 'a document is found by a part of its name and shows its page', async () => {
  const { page } = await world.browser(world.owner);
  await page.goto('/documents');
  const name = (await page.locator('.lib-doc .title').first().innerText()).trim();
  await page.locator('#q').fill(name.slice(0, 5));
  await page.keyboard.press('Enter');
  await page.waitForURL('**/documents?**');
  await until('the document is found', async () => (await page.locator('.lib-doc').count()) > 0);
  await first(page);
  await page.locator('.doc-see').waitFor();
  assert.ok((await page.locator('svg.doc-sheet, .doc-text, .doc-see .empty').count()) > 0, 'there is something to see');
});

story(test, 'a field that a person sets stays, with who set it', async () => {
  const { page } = await world.browser(world.owner);
  await first(page);
  await page.getByLabel('Vendor').fill('Nordwind <b>GmbH</b>');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').first().waitFor();
  assert.equal(await page.getByLabel('Vendor').inputValue(), 'Nordwind <b>GmbH</b>');
  await page.getByText(/Nothing overwrites a person/).first().waitFor();
  await page.getByRole('button', { name: 'Read again' }).click();
  await page.getByText('It will be read again in a moment.').first().waitFor();
  await page.reload();
  assert.equal(await page.getByLabel('Vendor').inputValue(), 'Nordwind <b>GmbH</b>');
});

story(test, 'a wrong value says what to type, and what was typed stays', async () => {
  const { page } = await world.browser(world.owner, { script: false, size: PHONE, allow: [/status of 400/] });
  await first(page);
  await page.locator('#f-amount').fill('a lot');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('must be a number such as 1487.50').waitFor();
  assert.equal(await page.locator('#f-amount').inputValue(), 'a lot');
});
