// Secure messages in real browsers: written in the composer, opened with the mailed code or an agreed passphrase, answered
// with a file, read receipts, taken back; on a phone, in the dark, without script.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test, { after, before } from 'node:test';
import { inspect } from './axe.mjs';
import { finishAll, machine } from './machine.mjs';
import { relay, textOf } from './outside.mjs';
import { DESK, moveTo, PHONE, story, stranger, until, words, workspace, writing } from './world.mjs';

const SECRET = 'The door code is 4711 kestrel.';
const links = [];
let here, out, world, inbox, agent, letters = 0;
after(async () => {
  await finishAll();
  out.close();
});
before(async () => {
  out = await relay();
  here = await machine({ ROOKERY_RELAY: out.url, ROOKERY_LOG: 'trace' });
  await here.rookery('migrate');
  await here.serve();
  moveTo(here);
  world = await workspace();
  inbox = await world.inbox('Lettings');
  agent = await world.agent();
});

const mailsTo = (address) => out.mails.filter((mail) => mail.to.includes(address));
const newest = async (address, many) => (await until(`mail ${many} to ${address}`, async () => mailsTo(address).length >= many && mailsTo(address))).at(-1);

/** The button is the switch: once it is pressed, the words go sealed, and the form says so. */
async function seal(page) {
  const button = page.getByRole('button', { name: 'Secure link', exact: true });
  await button.click();
  assert.equal(await button.getAttribute('aria-pressed'), 'true');
  assert.ok(await page.getByLabel('Send as a secure link').isChecked());
  assert.match(await page.locator('#composer-form #send').innerText(), /Send secure link/);
}

/** Somebody of the team answers with a secure link: the conversation, the page in the app, and the link. */
async function sent(visitor, { passphrase, size = DESK, scheme = 'light', name } = {}) {
  const subject = `Keys ${(letters += 1)}`;
  await world.mail(inbox, { from: visitor, name: 'Ada', subject, text: 'How do I get in?' });
  const { id } = await until('it', async () => (await world.conversations(agent)).find((one) => one.subject === subject));
  const { page } = await world.browser(world.owner, { size, scheme });
  await page.goto(`/conversations/${id}?compose=reply`);
  await writing(page).fill(SECRET);
  await seal(page);
  if (passphrase) {
    await page.getByLabel('A passphrase you agreed on').check();
    await page.getByLabel('The passphrase').fill(passphrase);
  }
  if (name) await inspect(page, `secure-composer-${name}`);
  await page.locator('#composer-form #send').click();
  const mail = await newest(visitor, 1);
  assert.ok(!mail.raw.includes('4711') && !textOf(mail).includes('kestrel'), 'the mail holds no word of it');
  const [link] = textOf(mail).match(/https?:\/\/\S+\/secure\/\S+/);
  links.push(link);
  return { id, page, link };
}

for (const [size, scheme, name] of [[DESK, 'light', 'desk'], [PHONE, 'dark', 'phone']]) {
  story(test, `a secure message is opened by a code, answered with a file and taken back, ${name}`, async () => {
    const visitor = `ada@${name}.example`;
    const { id, page, link } = await sent(visitor, { size, scheme, name });
    const guest = await stranger({ size, scheme, allow: [/422|410/] });
    await guest.page.goto(link);
    await inspect(guest.page, `secure-gate-${name}`);
    assert.ok(!(await guest.page.content()).includes('4711'));
    await guest.page.getByRole('button', { name: 'Send me a code' }).click();
    const code = textOf(await newest(visitor, 2)).match(/\b\d{6}\b/)[0];
    await guest.page.getByLabel('Six digits').fill(code === '111111' ? '222222' : '111111');
    await guest.page.getByRole('button', { name: 'Open the message' }).click();
    await guest.page.getByRole('alert').waitFor();
    await inspect(guest.page, `secure-code-${name}`);
    await page.goto(`/conversations/${id}`);
    await page.getByText('not read yet').waitFor();
    await guest.page.getByLabel('Six digits').fill(code);
    await guest.page.getByRole('button', { name: 'Open the message' }).click();
    await guest.page.getByText(SECRET).waitFor();
    await inspect(guest.page, `secure-message-${name}`);
    await guest.page.getByLabel('Your reply').fill('Thank you, it opened.');
    await guest.page.locator('#file').setInputFiles({ name: 'door.txt', mimeType: 'text/plain', buffer: Buffer.from('a picture of the door') });
    await guest.page.getByRole('button', { name: 'Send securely' }).click();
    await guest.page.getByText('Your reply has arrived.').waitFor();
    await guest.page.getByText('door.txt').waitFor();
    await inspect(guest.page, `secure-answered-${name}`);
    await page.goto(`/conversations/${id}`);
    await page.getByText('Thank you, it opened.').first().waitFor();
    await page.getByText('Secure message, read').first().waitFor();
    await inspect(page, `secure-conversation-${name}`);
    const { timeline } = await agent.api('GET', `/conversations/${id}`);
    const secure = timeline.filter((item) => item.secure);
    assert.equal(secure.length, 2);
    assert.ok(secure.every((item) => item.text === 'Secure message'), 'agents read no word');
    await page.getByRole('button', { name: 'Revoke link' }).click();
    await page.getByText('Its link was taken back.').waitFor();
    await guest.page.goto(link);
    await guest.page.getByRole('heading', { name: 'This link has ended' }).waitFor();
    await inspect(guest.page, `secure-ended-${name}`);
  });
}

story(test, 'a passphrase opens it without script, and the page is locked again', async () => {
  const { link } = await sent('bob@customer.example', { passphrase: 'correct horse battery' });
  const { page } = await stranger({ script: false, allow: [/422/] });
  await page.goto(link);
  await page.getByLabel('The passphrase that was agreed with you').fill('wrong horse');
  await page.getByRole('button', { name: 'Open the message' }).click();
  await page.getByRole('alert').waitFor();
  const look = await stranger();
  await look.page.goto(link);
  await inspect(look.page, 'secure-passphrase');
  await page.getByLabel('The passphrase that was agreed with you').fill('correct horse battery');
  await page.getByRole('button', { name: 'Open the message' }).click();
  await page.getByText(SECRET).waitFor();
  await page.getByRole('button', { name: 'Lock' }).click();
  await page.getByLabel('The passphrase that was agreed with you').waitFor();
  assert.ok(!(await page.content()).includes('4711'));
  assert.equal(mailsTo('bob@customer.example').length, 1, 'no code was sent');
});

story(test, 'a robot that presses every button reads nothing, and the code it had sent still opens', async () => {
  const visitor = 'robot@customer.example';
  const { id, page, link } = await sent(visitor);
  const robot = await stranger({ allow: [/./] });
  for (let round = 0; round < 3; round += 1) {
    await robot.context.request.head(link);
    await robot.page.goto(link);
    const buttons = await robot.page.locator('button').count();
    for (let n = 0; n < buttons; n += 1) {
      await robot.page.goto(link);
      await robot.page.evaluate(() => { for (const form of document.forms) form.noValidate = true; });
      await robot.page.locator('button').nth(n).click({ timeout: 2000 }).catch(() => {});
      for (const again of await robot.page.locator('main button').all()) {
        await robot.page.evaluate(() => { for (const form of document.forms) form.noValidate = true; });
        await again.click({ timeout: 2000 }).catch(() => {});
      }
    }
  }
  await page.goto(`/conversations/${id}`);
  await page.getByText('not read yet').waitFor();
  const code = textOf(await newest(visitor, 2)).match(/\b\d{6}\b/)[0];
  const guest = await stranger();
  await guest.page.goto(`${link}${link.includes('?') ? '&' : '?'}step=code`);
  await guest.page.getByLabel('Six digits').fill(code);
  await guest.page.getByRole('button', { name: 'Open the message' }).click();
  await guest.page.getByText(SECRET).waitFor();
});

story(test, 'the choice is saved without a word typed, stays after a reload, and no words stay in the browser', async () => {
  const subject = `Keys ${(letters += 1)}`;
  await world.mail(inbox, { from: 'dana@customer.example', name: 'Dana', subject, text: 'How do I get in?' });
  const { id } = await until('it', async () => (await world.conversations(agent)).find((one) => one.subject === subject));
  const { page, context } = await world.browser(world.owner, { allow: [/ERR_INTERNET_DISCONNECTED|Failed to fetch|htmx:error|Failed to load/] });
  const kept = () => page.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith('draft ')).map((key) => localStorage.getItem(key)).join());
  await page.goto(`/conversations/${id}?compose=reply`);
  const body = writing(page);
  await body.fill(SECRET);
  await seal(page);
  await page.getByLabel('A passphrase you agreed on').check();
  await until('it is saved', async () => {
    const reader = await context.newPage();
    await reader.goto(`/conversations/${id}?compose=reply`);
    const saved = (await reader.locator('#send-secure').isChecked()) && (await reader.locator('#proof-passphrase').isChecked()) && (await words(reader)) === SECRET;
    await reader.close();
    return saved;
  });
  await context.setOffline(true);
  await body.fill(`${SECRET} And a second one.`);
  await page.waitForTimeout(2500);
  assert.ok(!(await kept()).includes('kestrel'), 'no word stands in the browser');
  await context.setOffline(false);
  await body.press('End');
  await page.keyboard.type(' Done.');
  await until('it is saved', async () => {
    const reader = await context.newPage();
    await reader.goto(`/conversations/${id}?compose=reply`);
    const saved = (await words(reader)).endsWith('Done.');
    await reader.close();
    return saved;
  }, 30);
});

// The last one: it reads what all stories before it left in the log.
story(test, 'the most talkative log has no word of a secure message, no passphrase, no code and no link', async () => {
  const log = (await readFile(here.log, 'utf8')).replace(/"timestamp":"[^"]*"/g, '');
  const told = log.match(/"status":\d+/g)?.length ?? 0;
  assert.ok(told >= 5, `it tells of the requests of agents: ${told}`);
  const codes = out.mails.filter((mail) => !textOf(mail).includes('/secure/')).flatMap((mail) => textOf(mail).match(/\b\d{6}\b/g) ?? []);
  const tokens = links.map((link) => new URL(link).pathname.split('/').at(-1));
  assert.ok(codes.length >= 3 && tokens.length >= 4 && tokens.every((token) => token.length > 20), `${codes} ${tokens}`);
  for (const word of ['kestrel', 'it opened', 'picture of the door', 'horse', ...tokens]) assert.ok(!log.includes(word), word);
  // A plain number behind a colon is a figure.
  for (const code of codes) assert.ok(!new RegExp(`(?<![\\d.:])${code}(?!\\d)`).test(log), 'a code');
});
