// Mail on an origin of its own (ROOKERY_CONTENT_URL): it is shown, with the pictures it brought, without a cookie, and the
// app has nothing of it on its own host.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { get } from 'node:http';
import { createServer } from 'node:net';
import path from 'node:path';
import test, { after } from 'node:test';
import { bin, finish, PHONE, story, until, work, workspace } from './world.mjs';

after(finish);

function freePort() {
  return new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

/** What the server answers to this host. */
function status(port, where, host) {
  return new Promise((done, failed) => {
    get({ host: '127.0.0.1', port, path: where, headers: { host: `${host}:${port}` } }, (answer) => {
      answer.resume();
      done(answer.statusCode);
    }).on('error', failed);
  });
}

story(test, 'mail is framed from another host, which knows nobody', async () => {
  const port = await freePort();
  const here = `http://127.0.0.1:${port}`;
  // Browsers find every name under localhost on this machine.
  const there = `http://mail.localhost:${port}`;
  const log = openSync(path.join(work, 'content.log'), 'a');
  const server = spawn(bin, ['serve'], {
    cwd: work,
    stdio: ['ignore', log, log],
    env: { ...process.env, ROOKERY_LISTEN: `127.0.0.1:${port}`, ROOKERY_PUBLIC_URL: here, ROOKERY_CONTENT_URL: there },
  });
  try {
    await until('the server is ready', async () => (await fetch(`${here}/readyz`).catch(() => null))?.ok, 60);
    const world = await workspace();
    const inbox = await world.inbox('Lettings');
    const agent = await world.agent();
    const cells = '<tr><td>One</td><td>Two</td></tr>'.repeat(8);
    const html = `<table>${cells}</table><p>The end of it.</p><img src="cid:logo" alt="Logo"><div class="gmail_quote">Before: <blockquote>Old words</blockquote></div>`;
    const raw = Buffer.from(['From: Ada <ada@customer.test>', `To: ${inbox.address}`, 'Subject: A newsletter', 'Message-ID: <content1@customer.test>', 'MIME-Version: 1.0', 'Content-Type: multipart/related; boundary=b', '', '--b', 'Content-Type: text/html; charset=utf-8', '', html, '--b', 'Content-Type: image/gif; name=logo.gif', 'Content-ID: <logo>', 'Content-Transfer-Encoding: base64', '', 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', '--b--', ''].join('\r\n'));
    await world.mail(inbox, { raw });
    const { id } = await until('it', async () => (await world.conversations(agent)).find((one) => one.subject === 'A newsletter'));
    // The pages outlive their server.
    // And what looks into the frame for us would run a script there.
    const allow = [/ERR_CONNECTION_REFUSED/, /Blocked script execution/];
    const link = here + new URL(await world.signInLink(world.owner)).pathname;
    const visit = await world.browser(world.owner, { baseURL: here, link, allow });
    const { page, context } = visit;
    const asked = [];
    context.on('response', async (answer) => {
      if (answer.url().startsWith(there)) asked.push({ path: new URL(answer.url()).pathname, status: answer.status(), cookie: (await answer.request().allHeaders()).cookie });
    });
    await page.goto(`/conversations/${id}`);
    const frame = page.frameLocator('iframe').first();
    await frame.getByText('The end of it.').waitFor();
    await until('its picture', async () => asked.some((one) => one.path.endsWith('/files/0')));
    assert.ok(asked.every((one) => one.status === 200 && !one.cookie), JSON.stringify(asked));
    const width = await frame.locator('img').evaluate((picture) => picture.naturalWidth);
    assert.equal(width, 1, 'the picture is shown');
    // It is as high as its words, scrolls, and its quote opens.
    const height = await page.locator('iframe').evaluate((one) => one.getBoundingClientRect().height);
    assert.ok(height > 150 && height < 800, `${height}`);
    await frame.getByText('Earlier text').click();
    await frame.getByText('Old words').waitFor();
    // Nothing else is there, also for who is signed in.
    const mail = await page.locator('iframe').getAttribute('src');
    for (const where of ['/inbox', `/conversations/${id}`, '/sign-in', '/livez']) {
      assert.equal(await status(port, where, 'mail.localhost'), 404, where);
    }
    assert.equal(await status(port, new URL(mail).pathname, 'mail.localhost'), 200);
    assert.equal(await status(port, new URL(mail).pathname, '127.0.0.1'), 404);
    // On a phone too.
    const phone = await world.browser(world.owner, { baseURL: here, link: here + new URL(await world.signInLink(world.owner)).pathname, size: PHONE, allow });
    await phone.page.goto(`/conversations/${id}`);
    await phone.page.frameLocator('iframe').first().getByText('The end of it.').waitFor();
    const wide = await phone.page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= PHONE.width, `${wide}`);
  } finally {
    server.kill('SIGTERM');
  }
});
