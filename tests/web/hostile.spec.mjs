// Hostile mail: script, SVG, CSS, forms, base, meta refresh, links and frames. Two hundred mails are opened one by one,
// with plain text and HTML, and with their pictures allowed; nothing runs, nothing is loaded, nothing leaves the frame.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test, { after } from 'node:test';
import { finish, story, until, workspace } from './world.mjs';

after(finish);
const MAX_HTML_BYTES = 2 * 1024 * 1024;
const CORPUS = new URL('../hostile_html/corpus.txt', import.meta.url);

/** `{{n*text}}` stands for that text n times, `\\0` and the like for those characters. */
function spelled(html) {
  return html
    .replace(/\{\{(\d+)\*(.*?)\}\}/g, (_, many, text) => text.repeat(Number(many)))
    .replace(/\\x([0-9a-fA-F]{2})/g, (_, code) => String.fromCharCode(parseInt(code, 16)))
    .replace(/\\([0tnrf])/g, (_, sign) => ({ 0: '\0', t: '\t', n: '\n', r: '\r', f: '\f' })[sign]);
}

story(test, 'every hostile mail of the corpus neither runs nor loads nor leaves its frame', async () => {
  const world = await workspace();
  const inbox = await world.inbox('Lettings');
  const agent = await world.agent();
  const corpus = (await readFile(CORPUS, 'utf8')).split(/^=== /m).slice(1);
  const mails = corpus.map((part, at) => {
    const [name, ...html] = part.split('\n');
    return { from: `mallory${at}@evil.test`, name: 'Mallory', subject: `Hostile ${at} ${name.replace(/[^ -~]/g, '?')}`, html: spelled(html.join('\n')) };
  });
  const kept = new Set(mails.filter((mail) => mail.html.length <= MAX_HTML_BYTES).map((mail) => mail.subject));
  assert.ok(kept.size >= 200, `${kept.size} mails`);
  await world.mails(inbox, mails);
  const visit = await world.browser(world.owner, { allow: [/Refused|Content Security Policy|sandbox|404/] });
  const { page, context } = visit;
  let popups = 0;
  context.on('page', () => (popups += 1));
  const answers = new Map();
  page.on('response', (answer) => answers.set(new URL(answer.url()).pathname, answer.status()));
  page.on('requestfailed', (request) => answers.set(new URL(request.url()).pathname, request.failure()?.errorText));
  const ids = [];
  for (let where = '/inbox'; where; ) {
    await page.goto(where);
    ids.push(...(await page.locator('#list li.item').evaluateAll((rows) => rows.map((row) => row.id))));
    where = (await page.locator('#next-page').count()) && (await page.locator('#next-page').getAttribute('href'));
  }
  assert.equal(new Set(ids).size, mails.length);

  // One in ten as a person opens it, with its pictures allowed: through our own proxy, which finds nobody there.
  for (const id of ids.filter((_, at) => at % 10 === 0)) {
    await page.goto(`/conversations/${id}`);
    const laidOut = page.getByRole('link', { name: 'As it was laid out' });
    if (await laidOut.count()) await page.goto(await laidOut.first().getAttribute('href'));
    const pictures = page.getByRole('link', { name: /^Show images/ });
    if (await pictures.count()) await page.goto(await pictures.first().getAttribute('href'));
    for (const frame of page.frames()) await frame.waitForLoadState('load').catch(() => {});
    assert.ok(page.url().includes(id), `${id} went to ${page.url()}`);
    assert.ok(!(await page.evaluate(() => window.hacked)), `${id} ran a script`);
  }

  // Then every one in a copy of the page's own frame, twenty at a time.
  const frames = [];
  for (const id of ids) {
    const whole = JSON.stringify(await agent.api('GET', `/conversations/${id}`));
    const frame = `/messages/${whole.match(/msg_[0-9a-z]+/)[0]}/html`;
    if (kept.has(JSON.parse(whole).subject)) frames.push(frame);
    else assert.equal((await page.request.get(frame)).status(), 404, 'too large to be kept: there is only its text');
  }
  await world.mail(inbox, { from: 'ada@customer.test', name: 'Ada', subject: 'A friendly one', html: '<p>Hello</p>' });
  const friendly = await until('it', async () => (await world.conversations(agent, 'limit=1'))[0].id);
  await page.goto(`/conversations/${friendly}`);
  await page.goto(await page.getByRole('link', { name: 'As it was laid out' }).first().getAttribute('href'));
  await page.locator('iframe').waitFor();
  const before = page.url();
  let shown = 0;
  while (frames.length) {
    shown += await page.evaluate(async (sources) => {
      const own = document.querySelector('mail-frame iframe');
      const made = sources.map((source) => {
        const copy = own.cloneNode(false);
        copy.loading = 'eager';
        copy.src = source;
        copy.dataset.hostile = '';
        return copy;
      });
      await Promise.all(made.map((frame) => new Promise((done) => {
        frame.addEventListener('load', done, { once: true });
        document.body.append(frame);
      })));
      await new Promise((done) => setTimeout(done, 100));
      return made.filter((frame, at) => frame.contentDocument?.location.pathname === sources[at] && frame.contentDocument.title === 'Mail').length;
    }, frames.splice(0, 20));
    assert.ok(!(await page.evaluate(() => window.hacked)), 'a script ran');
    assert.equal(page.url(), before, 'the page was led away');
    for (const frame of page.frames()) {
      const source = await (await frame.frameElement().catch(() => null))?.getAttribute('src');
      assert.match(frame.url(), /^http:\/\/127\.0\.0\.1:\d+\//, `the frame of ${source} was led away (answers: ${answers.get(source)})`);
    }
    await page.evaluate(() => document.querySelectorAll('[data-hostile]').forEach((frame) => frame.remove()));
  }
  assert.equal(shown, kept.size, 'every mail was shown');
  assert.deepEqual([visit.dialogs, popups, visit.foreign], [0, 0, []]);
  await until('the person is still signed in', async () => (await page.goto('/inbox')).ok());
});
