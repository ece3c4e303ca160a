// The server is killed (-9) while somebody writes a reply, a new message and into an agent's draft, five times in the gate and
// twenty with `just kill-drafts`: whatever a page said was saved is there, and so is what was typed since, because the page
// keeps it until it is.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import path from 'node:path';
import test, { after } from 'node:test';
import { freePort } from './machine.mjs';
import { bin, finish, story, until, work, workspace, WRITING } from './world.mjs';

after(finish);
const KILLS = Number(process.env.WEB_KILLS ?? 5);

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
  const draft = await agent.api('POST', `/conversations/${id}/replies`, { body: 'Once upon a time.', summary: 'Tells it.' });
  const signedIn = async () => world.browser(world.owner, { baseURL: here, link: here + new URL(await world.signInLink(world.owner)).pathname, allow: [/./] });
  const { context, page } = await signedIn();
  /** Where somebody writes: the page, its box, the field that has its words, and what must be in it. */
  const place = async (where, at, box, field) => {
    await where.goto(here + at);
    const written = { page: where, at: () => at, box: where.locator(box), field: where.locator(field), words: '' };
    await written.box.waitFor();
    written.words = await written.field.inputValue();
    return written;
  };
  const [BODY, EDIT] = ['#composer-form #body', 'draft-edit textarea'];
  const fresh = await place(await context.newPage(), '/compose', WRITING, BODY);
  // Its address is known once it was saved.
  fresh.at = () => fresh.page.url().replace(here, '');
  const places = [
    await place(page, `/conversations/${id}?compose=reply`, WRITING, BODY),
    fresh,
    await place(await context.newPage(), `/approvals/${draft.messageId ?? draft.id}`, EDIT, EDIT),
  ];
  const type = async (sentence) => {
    for (const one of places) {
      // No text that is kept ends with a blank.
      const more = one.words ? ` ${sentence}` : sentence;
      await one.box.press('Control+End');
      await one.box.pressSequentially(more, { delay: 2 });
      one.words += more;
    }
  };
  try {
    for (let kill = 1; kill <= KILLS; kill += 1) {
      await type(`Sentence ${kill} of it.`);
      // At another moment every time: before, during and after the pause that saves.
      await page.waitForTimeout((kill * 137) % 1600);
      server.kill('SIGKILL');
      await new Promise((gone) => server.once('exit', gone));
      await type(`In the dark ${kill}.`);
      await start();
      for (const one of places) {
        const back = one.page.getByRole('button', { name: 'Bring it back' });
        if (kill % 4 === 0) {
          // A new page, as after a crash of the browser: the service has the words, or the page offers them.
          await one.page.goto(here + one.at());
          await one.box.waitFor();
          await until(`the words of ${one.at()} are there, or offered`, async () => (await one.field.inputValue()) === one.words || (await back.count()) > 0);
          if (await back.count()) await back.click();
        }
        let seen;
        await until(`all words are there after kill ${kill}`, async () => (seen = await one.field.inputValue()) === one.words, 20).catch((error) => assert.equal(seen, one.words, `${one.at()}: ${error.message}`));
      }
    }
    const other = await signedIn();
    for (const one of places) {
      await until(`the server has the words of ${one.at()}`, async () => {
        await other.page.goto(here + one.at());
        // Nothing of another browser is offered here: this is what the service has.
        const there = other.page.locator(one === places[2] ? EDIT : BODY);
        return (await there.inputValue().catch(() => '')) === one.words;
      }, 40);
      assert.ok(one.words.length > 20 * KILLS);
    }
  } finally {
    server.kill('SIGKILL');
  }
});
