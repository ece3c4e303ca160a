// A phone: one column, nothing scrolls sideways, everything can be reached and tapped.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { violations } from './axe.mjs';
import { demonstration, finish, focused, PHONE, stop, story, until, writing } from './world.mjs';

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

story(test, 'what one writes fills the phone, is kept when it is closed, and waits behind the bar', async () => {
  const { page } = visit;
  await page.goto('/inbox');
  await page.getByRole('link', { name: /Priya/ }).first().tap();
  await page.waitForURL('**/conversations/**');
  const conversation = page.url();
  await page.evaluate(() => window.scrollTo(0, 40));
  const place = await page.evaluate(() => window.scrollY);
  const sheet = page.getByRole('dialog', { name: /Reply|Note/ });
  await page.locator('#begin-reply').tap();
  await writing(page).waitFor();
  await page.locator('.rich__bar').waitFor();
  assert.deepEqual(await sheet.boundingBox(), { x: 0, y: 0, ...PHONE });
  assert.equal(await page.locator('#read').evaluate((one) => one.inert), true, 'nobody gets behind it');
  const rows = await page.locator('.rich__bar, .composer__foot').evaluateAll((all) => all.map((one) => one.getBoundingClientRect()).map(({ height, bottom }) => [height < 70, Math.round(bottom)]));
  assert.deepEqual(rows, [[true, PHONE.height - 61], [true, PHONE.height]], 'two rows at the very bottom');
  const copies = page.locator('.composer__copies');
  assert.equal(await copies.isVisible(), false);
  await page.getByRole('button', { name: 'From, Cc and Bcc' }).tap();
  await copies.locator('summary').tap();
  await page.locator('.composer__copies[open]').waitFor();
  // A long text scrolls between the head and the tools.
  const text = Array.from({ length: 60 }, (_, line) => `Line ${line}`).join('\n');
  await page.evaluate((lines) => document.querySelector('rich-body').editor.insert(lines), text);
  for (const part of ['#fold', '#send']) assert.ok(await page.locator(part).evaluate((one) => {
    const { left, top, width, height } = one.getBoundingClientRect();
    return one.contains(document.elementFromPoint(left + width / 2, top + height / 2));
  }), `${part} is in reach`);
  await fits(page);
  assert.deepEqual(await small(page), []);
  assert.deepEqual(await violations(page), []);
  await page.locator('#saved[data-state=saved]').waitFor();
  await page.locator('#fold').tap();
  await page.locator('#begin-reply .dot').waitFor();
  assert.equal(await focused(page), '#begin-reply');
  assert.equal(await page.evaluate(() => window.scrollY), place);
  assert.equal(await page.locator('#read').evaluate((one) => one.inert), false);
  // Opened again later, the mail is what one sees.
  await page.goto(conversation);
  await page.locator('#begin-reply .dot').waitFor();
  assert.equal(await page.locator('#composer-form').isVisible(), false);
  await page.locator('#begin-reply').tap();
  await writing(page).getByText('Line 59').waitFor();
  await page.keyboard.press('Escape');
  await sheet.waitFor({ state: 'detached' });
  await page.locator('#begin-note').tap();
  await sheet.waitFor();
  await page.goBack();
  await sheet.waitFor({ state: 'detached' });
  // What was closed is not opened again by Back.
  await page.locator('#begin-note').tap();
  await sheet.waitFor();
  await page.locator('#fold').tap();
  await sheet.waitFor({ state: 'detached' });
  await page.goBack();
  assert.doesNotMatch(page.url(), /compose=note/);
  // Nothing stays out of reach where one goes from the sheet.
  await page.locator('#begin-note').tap();
  await sheet.waitFor();
  await page.evaluate(() => document.querySelector('a[href="/inbox"]').click());
  await page.waitForURL('**/inbox');
  await until('everything is in reach', async () => (await page.locator('[inert]').count()) === 0);
  const plain = await world.browser(world.owner, { size: PHONE, script: false });
  await plain.page.goto(conversation);
  await plain.page.locator('#composer-form').waitFor();
  assert.equal(await plain.page.locator('#begin-reply').isVisible(), false);
  await fits(plain.page);
});

story(test, 'settings list every page once, and no heading is without pages', async () => {
  const { page } = visit;
  await page.goto('/settings');
  await fits(page);
  const links = await page.locator('a[href^="/"]:visible').evaluateAll((all) => all.map((one) => one.getAttribute('href')));
  assert.deepEqual(links.filter((link, at) => links.indexOf(link) !== at), []);
  const empty = await page.locator('h2:visible').evaluateAll((all) => all.filter((one) => !one.nextElementSibling?.querySelector('a')?.checkVisibility()).map((one) => one.textContent));
  assert.deepEqual(empty, []);
});

story(test, 'the side bar opens and leads to other views', async () => {
  const { page } = visit;
  await page.goto('/inbox');
  await page.getByRole('link', { name: 'More', exact: true }).tap();
  await page.getByRole('link', { name: /^Waiting/ }).first().tap();
  await until('the other view', async () => /waiting/i.test(page.url() + (await page.getByRole('heading').first().innerText())));
  await fits(page);
});
