// Hostile mail: script, SVG, CSS, forms, base, meta refresh, links and frames. Two hundred mails are opened one by one,
// with plain text and HTML, and with their pictures allowed; nothing runs, nothing is loaded, nothing leaves the frame.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test, { after } from 'node:test';
import { finish, story, until, workspace } from './world.mjs';

after(finish);
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
  const corpus = (await readFile(CORPUS, 'utf8')).split(/^=== /m).slice(1);
  const mails = corpus.map((part, at) => {
    const [name, ...html] = part.split('\n');
    return { from: `mallory${at}@evil.test`, name: 'Mallory', subject: `Hostile ${at} ${name.replace(/[^ -~]/g, '?')}`, html: spelled(html.join('\n')) };
  });
  assert.ok(mails.length >= 200, `${mails.length} mails`);
  await world.mails(inbox, mails);
  const visit = await world.browser(world.owner, { allow: [/Refused|Content Security Policy|sandbox|404/] });
  const { page, context } = visit;
  let popups = 0;
  const ids = [];
  for (let where = '/inbox'; where; ) {
    await page.goto(where);
    ids.push(...(await page.locator('#list li.item').evaluateAll((rows) => rows.map((row) => row.id))));
    where = (await page.locator('#next-page').count()) && (await page.locator('#next-page').getAttribute('href'));
  }
  assert.equal(new Set(ids).size, mails.length);
  let framed = 0;
  const look = async (page, id) => {
    await page.goto(`/conversations/${id}`);
    const laidOut = page.getByRole('link', { name: 'As it was laid out' });
    if (await laidOut.count()) await page.goto(await laidOut.first().getAttribute('href'));
    for (const frame of page.frames()) await frame.waitForLoadState('load').catch(() => {});
    const pictures = page.getByRole('link', { name: /^Show them/ });
    // Through our own proxy, which finds nobody there; a few are enough, each waits for a name that is none.
    if (ids.indexOf(id) % 40 === 0 && (await pictures.count())) await pictures.first().click();
    assert.ok(page.url().includes(id), `${id} went to ${page.url()}`);
    const inside = page.frames().filter((one) => one !== page.mainFrame()).map((one) => one.url());
    framed += Math.sign(inside.length);
    for (const where of inside) assert.match(where, /^(about:blank|http:\/\/127\.0\.0\.1:\d+\/)/, `${id} has a frame at ${where}`);
    const ran = await page.evaluate(() => Boolean(window.hacked));
    assert.ok(!ran, `${id} ran a script`);
  };
  // Four windows of one browser: a window waits more than it works.
  const windows = [page, ...(await Promise.all([1, 2, 3].map(() => context.newPage())))];
  context.on('page', () => (popups += 1));
  const waiting = [...ids];
  await Promise.all(windows.map(async (window) => {
    for (let id = waiting.pop(); id; id = waiting.pop()) await look(window, id);
  }));
  assert.ok(framed > mails.length / 2, `only ${framed} were shown in a frame`);
  assert.deepEqual([visit.dialogs, popups, visit.foreign], [0, 0, []]);
  await until('the person is still signed in', async () => (await page.goto('/inbox')).ok());
});
