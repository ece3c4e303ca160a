// A phone: one column, nothing scrolls sideways, everything can be reached and tapped.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { demonstration, finish, PHONE, stop, story, until, writing } from './world.mjs';

after(finish);
let world, visit;
before(async () => {
  world = await demonstration();
  visit = await world.browser(world.owner, { size: PHONE });
});

async function fits(page) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `${page.url()} scrolls sideways by ${wide} px`);
}

/** Buttons and links one is meant to tap are at least 24 px high (WCAG 2.2), the main ones 44. */
async function small(page) {
  return page.evaluate(() =>
    [...document.querySelectorAll('button, a.btn, summary, input[type=submit]')]
      .filter((one) => one.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
      .map((one) => [one.getBoundingClientRect(), one])
      .filter(([box]) => box.width > 1 && (box.height < 24 || box.width < 24))
      .map(([box, one]) => `${one.outerHTML.slice(0, 90)} is ${Math.round(box.width)}x${Math.round(box.height)}`));
}

for (const where of ['/inbox', '/approvals', '/outgoing', '/search?q=deposit', '/documents', '/compose', '/drafts', '/notices', '/profile', '/settings/saved-replies', '/settings/inboxes', '/settings/domains', '/settings/keys', '/settings/keys/new', '/settings/agents', '/settings/assistants', '/settings/webhooks', '/settings/webhooks/new', '/settings/services', '/settings/services/new', '/settings/services/new?service=own', '/settings/sandbox', '/settings/audit', '/settings/health', '/settings/data', '/settings/data?who=nobody@customer.test', '/profile/second-factor', '/settings/people', '/settings/rules', '/settings/rules/new', '/settings/views', '/reports', '/settings/sign-in', '/welcome', '/welcome?step=name', '/docs', '/docs/start', '/docs/webhooks', '/docs/api', '/docs/search?q=webhook']) {
  story(test, `${where} fits on a phone`, async () => {
    const { page } = visit;
    await page.goto(where);
    await fits(page);
    assert.deepEqual(await small(page), []);
  });
}

story(test, 'a conversation is read and answered with a thumb', async () => {
  const { page } = visit;
  await page.goto('/inbox');
  await page.getByRole('link', { name: /Hannah Whitfield/ }).first().tap();
  await page.waitForURL('**/conversations/**');
  await fits(page);
  assert.deepEqual(await small(page), []);
  await page.locator('#begin-reply').tap();
  const box = writing(page);
  await box.fill('On my way.');
  const size = await box.evaluate((one) => parseFloat(getComputedStyle(one).fontSize));
  assert.ok(size >= 16, 'the phone does not zoom into the field');
  await fits(page);
  assert.deepEqual(await small(page), []);
  await page.locator('#send').tap();
  await stop(page).first().waitFor();
});

story(test, 'the side bar opens and leads to other views', async () => {
  const { page } = visit;
  await page.goto('/inbox');
  await page.getByRole('link', { name: 'More', exact: true }).tap();
  await page.getByRole('link', { name: /^Waiting/ }).first().tap();
  await until('the other view', async () => /waiting/i.test(page.url() + (await page.getByRole('heading').first().innerText())));
  await fits(page);
});
