// From an empty machine with the binary and PostgreSQL to a mail that was answered in the browser: the commands and the
// clicks are counted, and the time is told. A database and a server of its own, because the others are not empty.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test, { after } from 'node:test';
import { violations } from './axe.mjs';
import { finishAll, freePort, machine } from './machine.mjs';
import { deliver, nameServer, relay } from './outside.mjs';
import { DESK, PHONE, story, stranger, until, WRITING, writing } from './world.mjs';

const MOST_COMMANDS = 3;
const MOST_CLICKS = 10;
const MOST_SECONDS = 60;

const closing = [];
after(async () => {
  await finishAll();
  for (const one of closing) one.close();
});

for (const script of [true, false]) {
  story(test, `an empty machine answers its first mail, ${script ? 'with' : 'without'} script`, async () => {
    const here = await machine();
    const began = Date.now();
    await here.rookery('migrate');
    await here.serve();
    const printed = (await here.rookery('admin', 'first-owner')).stdout;
    const link = printed.match(/https?:\/\/\S+/)[0];
    assert.match(await readFile(here.log, 'utf8'), /rookery admin first-owner/, 'the log says how');
    assert.ok(!(await readFile(here.log, 'utf8')).includes(new URL(link).pathname.split('/').pop()), 'and not the link');

    let clicks = 0;
    const click = async (button) => {
      clicks += 1;
      await button.click();
    };
    const { page, context } = await stranger({ script, timezoneId: 'Europe/Berlin', baseURL: here.url });
    await page.goto(link);
    assert.deepEqual(await context.cookies(), [], 'opening it does nothing');
    await page.getByLabel('Name of the workspace').fill('Larkfield Homes');
    await page.getByLabel('Your name').fill('Tomás Herrera');
    await page.getByLabel('Your email address').fill('tomas@larkfield.test');
    assert.equal(await page.getByLabel('Time zone').inputValue(), script ? 'Europe/Berlin' : 'UTC');
    await click(page.getByRole('button', { name: 'Make the workspace' }));
    await page.getByRole('heading', { name: 'Your inbox in five steps' }).waitFor();
    await click(page.getByRole('button', { name: /Priya Raman/ }));
    await page.waitForURL(/\/conversations\//);
    await page.locator(script ? WRITING : '#composer-form #body').fill('We had a look: it is the deposit.');
    await click(page.locator('#composer-form #send'));
    await page.waitForURL((at) => !at.search.includes('compose='));
    await until('it has left', async () => {
      await page.goto('/inbox?view=waiting');
      return page.getByText('Priya Raman').first().isVisible();
    });
    const seconds = (Date.now() - began) / 1000;
    console.log(`first run ${script ? 'with' : 'without'} script: ${here.commands()} commands, ${clicks} clicks, ${seconds.toFixed(1)} s`);
    assert.ok(here.commands() <= MOST_COMMANDS, `${here.commands()} commands`);
    assert.ok(clicks <= MOST_CLICKS, `${clicks} clicks`);
    assert.ok(seconds <= MOST_SECONDS, `${seconds} s`);
    assert.ok(!(await readFile(here.log, 'utf8')).includes('"level":"ERROR"'));
  });
}

story(test, 'the first real mail: DNS rows, a test mail to oneself, its answer, and an answer to that', async () => {
  const [names, out, port] = [await nameServer(), await relay(), await freePort()];
  closing.push(names, out);
  const here = await machine({
    ROOKERY_DNS: names.address,
    ROOKERY_RELAY: out.url,
    ROOKERY_SMTP_LISTEN: `127.0.0.1:${port}`,
    ROOKERY_MAIL_NAME: 'desk.larkfield.example',
  });
  const began = Date.now();
  await here.rookery('migrate');
  await here.serve();
  const link = (await here.rookery('admin', 'first-owner')).stdout.match(/https?:\/\/\S+/)[0];
  let clicks = 0;
  const click = async (button) => {
    clicks += 1;
    await button.click();
  };
  const { page } = await stranger({ baseURL: here.url });
  await page.goto(link);
  await page.getByLabel('Name of the workspace').fill('Larkfield Homes');
  await page.getByLabel('Your name').fill('Tomás Herrera');
  await page.getByLabel('Your email address').fill('tomas@elsewhere.example');
  await click(page.getByRole('button', { name: 'Make the workspace' }));
  await page.getByLabel('Address', { exact: true }).fill('lettings@larkfield.example');
  await page.getByLabel('Inbox name').fill('Lettings');
  await click(page.getByRole('button', { name: 'Create inbox' }));
  // The owner copies what stands there into their DNS page.
  await page.getByText('v=DKIM1').waitFor();
  const shown = await page.locator('.mini-dns > li').evaluateAll((rows) => rows.map((row) => [...row.querySelectorAll('.copybox code')].map((code) => code.textContent.trim())));
  assert.equal(shown.length, 4);
  for (const [named, value] of shown) {
    const [type, name] = named.split(/\s+/);
    names.rows.set(`${type} ${name}`, [value]);
  }
  await click(page.getByRole('button', { name: 'Look now' }));
  await click(page.getByRole('button', { name: 'Send a test mail' }));
  await page.getByText('Sending works.').waitFor();
  const [mail] = await until('the relay has it', async () => out.mails.length > 0 && out.mails);
  assert.deepEqual(mail.to, ['tomas@elsewhere.example']);
  assert.match(mail.raw, /DKIM-Signature:[^]*d=larkfield\.example/, 'it is signed');
  const id = mail.raw.match(/^Message-ID: (<.*>)/im)[1];
  const raw = [`From: Tom\u00e1s <tomas@elsewhere.example>`, 'To: lettings@larkfield.example', 'Subject: Re: A test', 'Message-ID: <1@elsewhere.example>', `In-Reply-To: ${id}`, '', 'It came. Here is my answer.', ''].join('\n');
  assert.match(await deliver(port, { from: 'tomas@elsewhere.example', to: 'lettings@larkfield.example', raw }), /^250/);
  // Nobody reloads the page.
  await page.getByText('Receiving works.').waitFor();
  await click(page.getByRole('link', { name: 'Open it' }));
  await page.getByText('Here is my answer.').first().waitFor();
  await click(page.locator('#begin-reply'));
  await writing(page).fill('And this is mine.');
  await click(page.locator('#composer-form #send'));
  await until('the answer has left', async () => out.mails.length > 1);
  assert.match(out.mails[1].raw, /And this is mine\./);
  const seconds = (Date.now() - began) / 1000;
  console.log(`first real mail: ${here.commands()} commands, ${clicks} clicks, ${seconds.toFixed(1)} s`);
  assert.ok(here.commands() <= MOST_COMMANDS && clicks <= MOST_CLICKS && seconds <= MOST_SECONDS, `${clicks} clicks, ${seconds} s`);
  // The relay has a mail a moment before its row says so.
  await until('the third step is done', async () => {
    await page.goto('/welcome');
    return page.getByText('3 of 5 done').isVisible();
  });
});

story(test, 'the steps are set right, left out and found again; each page passes axe', async () => {
  const here = await machine();
  await here.rookery('migrate');
  await here.serve();
  const found = [];
  const look = async (page, what) => found.push(...(await violations(page)).map((one) => `${what}: ${one}`));
  const { page } = await stranger({ baseURL: here.url, allow: [/404/] });
  await page.goto('/sign-in');
  await page.getByText('Nobody is here yet').waitFor();
  await look(page, 'an empty service');
  const link = (await here.rookery('admin', 'first-owner')).stdout.match(/https?:\/\/\S+/)[0];
  await page.goto(link);
  await look(page, 'the first form');
  await page.getByLabel('Name of the workspace').fill('Larkfield Homes');
  await page.getByLabel('Your name').fill('Tomás Herrera');
  await page.getByLabel('Your email address').fill('tomas@larkfield.test');
  await page.getByLabel('Your email address').press('Enter');
  await page.getByLabel('Address', { exact: true }).fill('lettings@larkfield.example');
  await page.getByLabel('Inbox name').fill('Lettings');
  await page.getByRole('button', { name: 'Create inbox' }).click();
  await page.getByText('v=DKIM1').waitFor();
  await page.getByRole('button', { name: 'Skip this step' }).click();
  await page.getByRole('button', { name: 'Send a test mail' }).click();
  // Mail to .test stays here and counts as sent; nobody reloads the page.
  await page.getByText('Sending works.').waitFor();
  await page.getByRole('button', { name: 'Skip this step' }).click();
  await page.getByRole('link', { name: 'Invite people' }).waitFor();
  await page.getByRole('button', { name: /Take it up.*Set up DNS/ }).click();
  await page.getByText('v=DKIM1').waitFor();
  for (const size of [DESK, PHONE]) {
    await page.setViewportSize(size);
    for (const scheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme: scheme });
      for (const step of ['name', 'inbox', 'dns', 'test-mail', 'people', 'key']) {
        await page.goto(`/welcome?step=${step}`);
        await look(page, `${step}, ${size.width}, ${scheme}`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `${step} is ${wide} px too wide at ${size.width}`);
      }
    }
  }
  const stale = await stranger({ baseURL: here.url, allow: [/404/] });
  assert.equal((await stale.page.goto(link)).status(), 404, 'the link was used');
  assert.deepEqual(found, []);
});

story(test, 'an automatic reply is written, and answers the next mail by itself', async () => {
  const here = await machine();
  await here.rookery('migrate');
  await here.serve();
  const link = (await here.rookery('admin', 'first-owner')).stdout.match(/https?:\/\/\S+/)[0];
  const { page } = await stranger({ baseURL: here.url });
  await page.goto(link);
  await page.getByLabel('Name of the workspace').fill('Larkfield Homes');
  await page.getByLabel('Your name').fill('Tomás Herrera');
  await page.getByLabel('Your email address').fill('tomas@larkfield.test');
  await page.getByLabel('Your email address').press('Enter');
  await page.getByRole('button', { name: /Priya Raman/ }).click();
  await page.waitForURL(/\/conversations\//);
  await page.goto('/settings/inboxes');
  await page.getByRole('link', { name: 'Try it' }).click();
  await page.getByRole('switch', { name: 'Send automatic replies' }).check();
  await page.getByRole('radio', { name: /^Always/ }).check();
  await page.getByRole('switch', { name: 'Saturday' }).check();
  await page.getByLabel('Saturday, until').fill('13:00');
  await page.getByLabel('Text').fill('Thank you. We answer within a day.');
  await page.getByRole('button', { name: 'Save the reply' }).click();
  await page.getByText('Saved.', { exact: true }).waitFor();
  assert.equal(await page.getByLabel('Saturday, until').inputValue(), '13:00');
  assert.deepEqual(await violations(page), []);
  await page.goto('/welcome');
  await page.getByRole('button', { name: /Tom Okafor/ }).click();
  await page.getByText('Automatic reply').first().waitFor();
  // Until it is sent, the strip of what is outgoing has it too.
  await page.getByRole('article').getByText('We answer within a day.').waitFor();
});
