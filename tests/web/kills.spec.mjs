// The server is killed (-9) while somebody writes, twenty times: whatever the page said was saved is there, and so is
// what was typed since, because the page keeps it until it is.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { openSync } from 'node:fs';
import path from 'node:path';
import test, { after } from 'node:test';
import { bin, finish, story, until, work, workspace } from './world.mjs';

after(finish);
const KILLS = Number(process.env.WEB_KILLS ?? 20);

function freePort() {
  return new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

story(test, `no draft is lost in ${KILLS} kills of the server`, async () => {
  const port = await freePort();
  const here = `http://127.0.0.1:${port}`;
  const log = openSync(path.join(work, 'killed.log'), 'a');
  let server;
  const start = async () => {
    server = spawn(bin, ['serve'], { cwd: work, stdio: ['ignore', log, log], env: { ...process.env, ROOKERY_LISTEN: `127.0.0.1:${port}`, ROOKERY_PUBLIC_URL: here } });
    await until('the server is ready', async () => (await fetch(`${here}/readyz`).catch(() => null))?.ok, 60);
  };
  await start();
  const world = await workspace();
  const inbox = await world.inbox('Lettings');
  const agent = await world.agent();
  await world.mail(inbox, { from: 'ada@customer.test', name: 'Ada', subject: 'A long story', text: 'Tell me everything.' });
  const { id } = await until('it', async () => (await world.conversations(agent)).find((one) => one.subject === 'A long story'));
  const link = new URL(await world.signInLink(world.owner));
  const visit = await world.browser(world.owner, { baseURL: here, link: here + link.pathname, allow: [/./] });
  const { page } = visit;
  try {
    await page.goto(`${here}/conversations/${id}`);
    await page.keyboard.press('r');
    const box = page.locator('#composer-form #body');
    await box.waitFor();
    let words = '';
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const more = `Sentence ${kill} of the story. `;
      await box.press('Control+End');
      await box.pressSequentially(more, { delay: 5 });
      words += more;
      // At another moment every time: before, during and after the pause that saves.
      await page.waitForTimeout((kill * 137) % 1600);
      server.kill('SIGKILL');
      await new Promise((gone) => server.once('exit', gone));
      const blind = `Typed into the dark ${kill}. `;
      await box.pressSequentially(blind, { delay: 5 });
      words += blind;
      await start();
      if (kill % 4 === 0) {
        // A new page, as after a crash of the browser: the service has the words, or the page offers them.
        await page.reload();
        await box.waitFor();
        const back = page.getByRole('button', { name: 'Bring it back' });
        await until('the words are there, or offered', async () => (await box.inputValue()) === words || (await back.count()) > 0);
        if (await back.count()) await back.click();
      }
      let seen;
      await until(`all words are there after kill ${kill}`, async () => (seen = await box.inputValue()) === words, 20).catch((error) => assert.equal(seen, words, error.message));
    }
    await until('the server has them', async () => {
      const other = await world.browser(world.owner, { baseURL: here, link: here + new URL(await world.signInLink(world.owner)).pathname, allow: [/./] });
      await other.page.goto(`${here}/conversations/${id}?compose=reply`);
      const there = other.page.locator('#composer-form #body');
      const value = await there.inputValue().catch(() => '');
      await other.context.close();
      return value === words;
    }, 40);
    assert.ok(words.length > 20 * KILLS);
  } finally {
    server.kill('SIGKILL');
  }
});
