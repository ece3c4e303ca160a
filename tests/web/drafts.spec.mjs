// What somebody writes: nothing is lost, nobody else is shown it, nothing is sent twice, and no window overwrites another.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { CUT_OFF, finish, send, sql, stop, story, until, words, workspace, write, writing } from './world.mjs';

after(finish);
let world, inbox, agent, mia;
before(async () => {
  world = await workspace();
  inbox = await world.inbox('Lettings');
  agent = await world.agent();
  mia = await world.person('Mia Lindqvist');
});

async function conversation(subject) {
  await world.mail(inbox, { from: 'ada@customer.test', name: 'Ada', subject, text: 'Hello?' });
  return (await until('it', async () => (await world.conversations(agent)).find((one) => one.subject === subject))).id;
}
const back = (page) => page.getByRole('button', { name: 'Bring it back' });
const asks = (page) => page.locator('.composer__asks');
// Said of these very words, not of what the page came with.
const saved = (page) => page.locator('#saved[data-state=saved]').waitFor();
const kept = (page) => page.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith('draft ')));

/** Types into a page that cannot reach the service, and closes it. A browser that ends a page may still carry out what
 * the page asked for, so it is the page that asks for nothing. */
async function lost(context, at, text) {
  const page = await context.newPage();
  await page.goto(at);
  await writing(page).waitFor();
  await page.evaluate(() => {
    window.fetch = () => Promise.reject(new TypeError('Failed to fetch'));
    navigator.sendBeacon = () => false;
  });
  await writing(page).fill(text);
  await page.close();
}

story(test, 'a new message has an address once it is saved, and what was typed since is offered with a way there', async () => {
  const { page, context } = await world.browser(world.owner, { allow: [CUT_OFF] });
  await page.goto('/compose');
  await page.getByLabel('To', { exact: true }).fill('newcomer@customer.test');
  await page.getByLabel(/subject/i).fill('Your flat');
  await writing(page).fill('Welcome!');
  await page.waitForURL('**/compose?draft=dft_*');
  const at = page.url();
  await page.reload();
  assert.equal(await words(page), 'Welcome!');
  await lost(context, at, 'Welcome! The keys are at the office.');
  await page.goto('/compose');
  assert.equal(await words(page), '');
  assert.match(await asks(page).innerText(), /wrote at \d\d:\d\d\./, 'hours as the profile has them');
  await page.getByRole('link', { name: 'Open that draft' }).click();
  await page.waitForURL(at);
  await asks(page).getByText('Draft restored').waitFor();
  assert.equal(await words(page), 'Welcome! The keys are at the office.');
  await saved(page);
  await page.reload();
  assert.equal(await words(page), 'Welcome! The keys are at the office.');
  await until('no copy stays behind', async () => (await kept(page)).length === 0);
  assert.equal(await asks(page).count(), 0);
  await page.locator('#send').click();
  await page.waitForURL('**/conversations/**');
  await page.goBack();
  await page.waitForURL('**/compose');
  assert.equal(await words(page), '', 'the way back leads to a new message');
});

story(test, 'two new messages that were never saved are both offered', async () => {
  const { page, context } = await world.browser(world.owner, { allow: [CUT_OFF] });
  await lost(context, '/compose', 'The first one.');
  await lost(context, '/compose', 'The second one.');
  await page.goto('/compose');
  await asks(page).getByText('The second one.').waitFor({ state: 'attached' });
  await page.getByRole('button', { name: 'Throw it away' }).click();
  await asks(page).getByText('The first one.').waitFor({ state: 'attached' });
  await back(page).click();
  assert.equal(await words(page), 'The first one.');
  await saved(page);
  await until('no copy stays behind', async () => (await kept(page)).length === 0);
});

story(test, 'on a shared computer nobody is offered what another person wrote', async () => {
  const id = await conversation('Shared desk');
  const at = `/conversations/${id}?compose=reply`;
  const { page, context } = await world.browser(world.owner, { allow: [CUT_OFF] });
  await lost(context, at, 'Between us: he never pays.');
  await context.clearCookies();
  await world.signIn(page, mia);
  await page.goto(at);
  await writing(page).waitFor();
  assert.equal(await asks(page).count(), 0);
  assert.doesNotMatch(await page.locator('main').innerText(), /never pays/);
  await context.clearCookies();
  await world.signIn(page, world.owner);
  await page.goto(at);
  await asks(page).getByText('Draft restored').waitFor();
  assert.equal(await words(page), 'Between us: he never pays.');
  await page.getByRole('button', { name: 'Discard', exact: true }).click();
  assert.equal(await words(page), '');
  await writing(page).fill('Between us: he pays.');
  await saved(page);
  // What is saved by signing out stays with the service only.
  await writing(page).fill('He pays late.');
  await page.getByLabel(/^Menu of/).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL('**/sign-in**');
  await until('no copy stays behind', async () => (await kept(page)).length === 0);
  await world.signIn(page, world.owner);
  await page.goto(at);
  assert.equal(await words(page), 'He pays late.');
});

story(test, 'what was sent quickly is not offered again, and its last words are in it', async () => {
  // Both must still be there to be counted.
  await sql('update people set undo_seconds = 600');
  const id = await conversation('Quick answer');
  const { page } = await world.browser(world.owner);
  await page.goto(`/conversations/${id}`);
  await write(page, 'r', 'Yes.');
  await saved(page);
  await writing(page).fill('Yes, at ten.');
  await send(page);
  await stop(page).first().waitFor();
  assert.match(JSON.stringify(await agent.api('GET', `/conversations/${id}`)), /Yes, at ten\./);
  await until('no copy stays behind', async () => (await kept(page)).length === 0);
  await page.keyboard.press('r');
  await writing(page).waitFor();
  assert.equal(await words(page), '');
  await writing(page).fill('And bring the keys.');
  await send(page);
  await until('both leave', async () => (await stop(page).count()) === 2);
  await page.keyboard.press('r');
  await writing(page).waitFor();
  await page.waitForTimeout(300);
  assert.equal(await asks(page).count(), 0, 'nothing is called unsaved');
});

story(test, 'a send that did not get through is kept and saved later', async () => {
  const id = await conversation('No network');
  const { page } = await world.browser(world.owner, { allow: [CUT_OFF] });
  await page.goto(`/conversations/${id}`);
  await write(page, 'r', 'It will get there.');
  await page.route('**/write', (route) => route.abort());
  await send(page);
  await page.getByText('The service can’t be reached').waitFor();
  await page.locator('#saved').getByText(/kept in this browser/).waitFor();
  await page.unroute('**/write');
  await saved(page);
  await page.reload();
  assert.equal(await words(page), 'It will get there.');
});

story(test, 'a window that another one crossed asks before recipients are replaced', async () => {
  const id = await conversation('Two windows');
  const { page, context } = await world.browser(world.owner, { allow: [/409/] });
  const at = `/conversations/${id}?compose=reply`;
  const other = await context.newPage();
  await page.goto(at);
  await other.goto(at);
  await other.locator('.composer__copies summary').click();
  await other.locator('#cc').fill('boss@customer.test');
  await saved(other);
  await writing(page).fill('Only for you.');
  await page.getByText('You wrote on in another window.').waitFor();
  await asks(page).getByText('Cc: boss@customer.test').waitFor({ state: 'attached' });
  await page.getByRole('button', { name: 'Take the other words' }).click();
  assert.deepEqual([await page.locator('#composer-form [name=cc]').inputValue(), await words(page)], ['boss@customer.test', '']);
  await saved(page);
  await page.reload();
  assert.equal(await page.locator('#composer-form [name=cc]').inputValue(), 'boss@customer.test');
});

story(test, 'what cannot be saved says why and is not tried for ever', async () => {
  const id = await conversation('Too long');
  const { page } = await world.browser(world.owner, { allow: [/400/] });
  await page.goto(`/conversations/${id}`);
  await write(page, 'r', '');
  let tries = 0;
  page.on('request', (request) => { if (request.url().endsWith('/write')) tries += 1; });
  await writing(page).fill('x'.repeat(200_001));
  await page.locator('#saved').getByText(/too long to keep/).waitFor();
  await page.waitForTimeout(6500);
  assert.equal(tries, 1);
  await writing(page).fill('Short.');
  await saved(page);
});
