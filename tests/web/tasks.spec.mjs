// A day's tasks, walked by the keyboard with every key counted: none may take more than it may. A key counts as one, also a
// letter that narrows a list; words of content (a text, an address, what is searched for) count as one, however long they are.
// The table is printed, with how soon a key shows among 200 conversations and what pages weigh (docs/performance.md).

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { brotliCompressSync } from 'node:zlib';
import { find, finish, focused, stop, story, until, workspace, writing } from './world.mjs';

const MANY = 200;
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const LATER = ['spam', 'block', 'an inbox for some people', 'a notification in another tab'];
let world, agent, all, visit;
const rows = [];

before(async () => {
  world = await workspace();
  const inbox = await world.inbox('Lettings');
  await world.inbox('Repairs');
  await world.person('Mia Lindqvist');
  await world.person('Ida Moreno');
  agent = await world.agent();
  await world.mails(inbox, Array.from({ length: MANY }, (_, n) => ({ from: `ada${n}@customer.test`, name: `Ada ${n}`, subject: `Question ${n}`, text: `Is flat ${n} still free?` })));
  all = (await world.conversations(agent)).map((one) => one.id);
  // What was deleted is asked for once more.
  visit = await world.browser(world.owner, { allow: [/404/] });
  const { page, context } = visit;
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto(`/settings/inboxes/${inbox.id}`);
  await page.locator('#alias').fill(inbox.address.replace('lettings@', 'sales@'));
  await page.locator('#aliases').getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('button', { name: /^Remove sales/ }).waitFor();
  await page.goto('/settings/saved-replies?new=1');
  await page.getByLabel('Name', { exact: true }).fill('Viewing');
  await page.getByRole('textbox', { name: 'Text', exact: true }).fill('Dear {{first name}},\n\ncome at ten. The plan is attached.');
  await page.getByRole('button', { name: 'Save', exact: true }).first().click();
  await page.getByRole('link', { name: /Viewing/ }).click();
  await page.locator('#reply-file').setInputFiles({ name: 'plan.txt', mimeType: 'text/plain', buffer: Buffer.from('Second floor.') });
  await page.getByRole('button', { name: 'Attach', exact: true }).click();
  await page.getByRole('button', { name: 'Remove plan.txt' }).waitFor();
});
after(() => {
  const lines = [['task', 'keys before', 'keys now'], ...rows, ...LATER.map((name) => [name, 'impossible', 'not yet'])];
  console.log(lines.map((line) => `| ${line.join(' | ')} |`).join('\n'));
  return finish();
});

/** Walks a task from where it begins: `before` is what it took when the app was looked at, `most` what it may take. */
async function task(name, before, most, walk) {
  const { page } = visit;
  let keys = 0;
  const press = async (...pressed) => {
    keys += pressed.length;
    for (const key of pressed) await page.keyboard.press(key);
  };
  const write = async (text) => {
    keys += 1;
    await page.keyboard.type(text);
  };
  await walk({ page, press, write });
  rows.push([name, before, keys]);
  assert.ok(keys <= most, `${name} takes ${keys} keys and may take ${most}`);
}
const whole = (id) => agent.api('GET', `/conversations/${id}`);
const rowHas = (page, id) => page.waitForFunction((row) => document.activeElement?.closest('.item')?.id === row, id);
const isWriting = (page) => until('one writes', async () => (await focused(page)) === 'div Your message');
const html = (page) => page.locator('#composer-form [name=html]').inputValue();

const at = (sorted, share) => Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? NaN);
function figures(waits) {
  const sorted = [...waits].sort((a, b) => a - b);
  return `${sorted.length} times, p50 ${at(sorted, 0.5)}, p75 ${at(sorted, 0.75)}, longest ${at(sorted, 1)} ms`;
}
/** From a key to the paint after it, as the browser counts it, in steps of 8 ms; what took less than 16 has no entry. */
const watch = (page) => page.evaluate(() => {
  window.shown = [];
  window.watch?.disconnect();
  window.watch = new PerformanceObserver((list) => window.shown.push(...list.getEntries().filter((one) => one.name === 'keydown').map((one) => one.duration)));
  window.watch.observe({ type: 'event', durationThreshold: 16 });
});
async function shows(name, keys, isCounted = false) {
  const slow = await visit.page.evaluate(() => window.shown);
  assert.ok(slow.length > 0 || !isCounted, `${name}: the browser counted nothing`);
  const waits = [...Array(Math.max(0, keys - slow.length)).fill(16), ...slow].sort((a, b) => a - b);
  console.log(`${name}, until it is painted: ${figures(waits)}`);
  // The goal is 50. A machine that is busy with something else has to pass, too.
  assert.ok(at(waits, 0.75) < 150, `${name}: ${waits}`);
}

story(test, 'twenty conversations are sorted from the list, and the focus stays at its place', async () => {
  await task('triage 20 from the list', 'broken', 40, async ({ page, press, write }) => {
    await page.goto('/inbox');
    const dialog = page.locator('dialog.page-dialog');
    await watch(page);
    // How soon the next row is there, with all that the service does for it.
    await page.evaluate(() => {
      window.next = [];
      let began = 0;
      addEventListener('keydown', (event) => { if (event.key === 'e') began = event.timeStamp; }, true);
      addEventListener('focusin', () => {
        const since = began;
        began = 0;
        if (since) requestAnimationFrame(() => setTimeout(() => window.next.push(performance.now() - since)));
      });
    });
    const steps = {
      close: () => press('e'),
      snooze: async () => {
        await press('h');
        await dialog.waitFor();
        await press('1');
      },
      // These stay in the list, and one goes on from them.
      assign: async (id) => {
        await press('a');
        await dialog.waitFor();
        await press('m', 'i', 'Enter');
        await dialog.waitFor({ state: 'detached' });
        await rowHas(page, id);
        await press('j');
      },
      tag: async (id) => {
        await press('l');
        await dialog.waitFor();
        await write('viewing');
        await press('Enter');
        await dialog.waitFor({ state: 'detached' });
        await rowHas(page, id);
        await press('j');
      },
      leave: () => press('j'),
    };
    const day = ['close', 'close', 'snooze', 'close', 'assign', 'close', 'close', 'tag', 'close', 'snooze', 'close', 'leave', 'close', 'close', 'assign', 'close', 'snooze', 'close', 'close', 'close'];
    await press('j');
    for (const [at, step] of day.entries()) {
      await rowHas(page, all[at]);
      await steps[step](all[at]);
    }
    await rowHas(page, all[20]);
    const done = await Promise.all(all.slice(0, 20).map(whole));
    const found = done.map((one) => (one.status === 'closed' ? 'close' : one.snoozedUntil ? 'snooze' : one.assignee ? 'assign' : one.tags.length ? 'tag' : 'leave'));
    assert.deepEqual(found, day);
    console.log(`E in the list, until the next row has the focus: ${figures(await page.evaluate(() => window.next))}`);
  });
  // Some of so many take longer than 16 ms.
  await shows('keys of the triage', rows[0][2], true);
});

story(test, 'a saved reply with a file, a snooze, and handing over with a note', async () => {
  await task('saved reply with a file', 8, 8, async ({ page, press, write }) => {
    await page.goto(`/conversations/${all[20]}`);
    await press('r');
    await isWriting(page);
    await press('/');
    await until('it is asked for', async () => (await focused(page)) === 'input Find a saved reply');
    await press('v', 'Enter');
    await page.locator('#draft-files').getByText('plan.txt').waitFor();
    await isWriting(page);
    await write('Ada');
    await press('Control+Enter');
    await stop(page).first().waitFor();
    const said = JSON.stringify(await whole(all[20]));
    assert.ok(/Dear Ada,/.test(said) && /plan\.txt/.test(said), said);
  });
  await task('snooze, in a conversation', 2, 2, async ({ page, press }) => {
    await page.goto(`/conversations/${all[21]}`);
    await press('h', '1');
    await page.waitForURL(`**/conversations/${all[22]}**`);
    assert.ok((await whole(all[21])).snoozedUntil);
  });
  await task('snooze, from the list', 'a page', 2, async ({ page, press }) => {
    await page.goto('/inbox');
    await page.locator(`#${all[22]} a`).focus();
    await press('h');
    await page.locator('dialog.page-dialog').waitFor();
    await press('1');
    await rowHas(page, all[23]);
    assert.ok((await whole(all[22])).snoozedUntil);
  });
  await task('hand over with a note', 7, 7, async ({ page, press, write }) => {
    await page.goto(`/conversations/${all[23]}`);
    await press('a', 'm', 'i', 'Enter');
    await page.locator('#assign-menu > summary').getByText('Mia Lindqvist').waitFor();
    await press('n');
    await writing(page).waitFor();
    await write('She asks about the second floor.');
    await press('Control+Enter');
    await page.locator('#timeline').getByText('second floor').waitFor();
    await page.locator('#composer-form').waitFor({ state: 'detached' });
    assert.deepEqual(await page.evaluate(() => Object.keys(localStorage).filter((name) => name.startsWith('draft'))), [], 'what was added is not offered again');
  });
});

story(test, 'five drafts are approved, and one of them is edited first', async () => {
  const drafted = all.slice(24, 29);
  for (const id of drafted) await agent.api('POST', `/conversations/${id}/replies`, { body: 'Come on Monday.' });
  await task('approve 5, edit 1', 7, 7, async ({ page, press, write }) => {
    await page.goto('/approvals');
    for (let left = 5; left > 0; left -= 1) {
      await until(`${left} are left`, async () => (await page.locator('#picked .item').count()) === left);
      await page.locator('#approve').waitFor();
      if (left === 3) {
        await press('e');
        await write(' The plan is attached.');
      }
      await press('Control+Enter');
    }
    await page.getByText('No drafts to review').waitFor();
    const sent = JSON.stringify(await Promise.all(drafted.map(whole)));
    assert.equal(sent.match(/Come on Monday\. The plan is attached\./g)?.length, 1);
  });
});

story(test, 'mail of some days is found, from the list', async () => {
  await find(agent.key, 'Question');
  const day = (days) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  await task('mail of last month', 'not by its first day', 3, async ({ page, press, write }) => {
    await page.goto('/inbox');
    await press('/');
    await until('one can type', async () => (await focused(page)) === '#q');
    await write(`question after:${day(-31)} before:${day(2)}`);
    await press('Enter');
    await page.locator('#hits .hit').first().waitFor();
    await page.goto(`/search?q=${encodeURIComponent(`question after:${day(-61)} before:${day(-31)}`)}`);
    await page.getByText('No results for').waitFor();
  });
});

story(test, 'bold, a link, a list, a picture and another From, while one writes', async () => {
  await visit.page.goto(`/conversations/${all[30]}?compose=reply`);
  await isWriting(visit.page);
  await task('bold', 'impossible', 3, async ({ page, press, write }) => {
    await press('Control+b');
    await write('Monday');
    await press('Control+b');
    assert.match(await html(page), /<b>Monday<\/b>/);
  });
  await task('link', 'impossible', 3, async ({ page, press, write }) => {
    await press('Control+k');
    await write('rookery.example/help');
    await press('Enter');
    await page.keyboard.type(' and');
    assert.match(await html(page), /<a href="https:\/\/rookery.example\/help">rookery.example\/help<\/a> and/);
  });
  await visit.page.keyboard.press('Enter');
  await task('list', 'impossible', 1, async ({ page, press }) => {
    await press('Control+Shift+8');
    await page.keyboard.type('the keys');
    assert.match(await html(page), /<ul><li>the keys<\/li><\/ul>/);
  });
  await task('picture', 'impossible', 1, async ({ page, press }) => {
    await page.evaluate(async (picture) => {
      const bytes = Uint8Array.from(atob(picture), (letter) => letter.charCodeAt(0));
      await navigator.clipboard.write([new ClipboardItem({ 'image/png': new Blob([bytes], { type: 'image/png' }) })]);
    }, PIXEL);
    await press('Control+v');
    await until('it is in the text', async () => /<img [^>]*src="cid:/.test(await html(page)));
  });
  await task('From of a reply', 'impossible', 5, async ({ page, press }) => {
    await press('Shift+Tab', 'Shift+Tab', 'Shift+Tab', 'Shift+Tab', 'ArrowDown');
    assert.match(await page.getByLabel('From', { exact: true }).inputValue(), /^sales@/);
  });
});

story(test, 'a link is copied, a conversation moved, another deleted, and an own undo time set', async () => {
  await task('copy link', 'impossible', 4, async ({ page, press }) => {
    await page.goto(`/conversations/${all[35]}`);
    await press('Control+k', 'c', 'o', 'Enter');
    await until('it is copied', () => page.evaluate(async (id) => (await navigator.clipboard.readText()).endsWith(`/conversations/${id}`), all[35]));
  });
  await task('move to another inbox', 'impossible', 6, async ({ page, press }) => {
    await press('Control+k', 'm', 'o', 'Enter');
    await page.getByRole('dialog', { name: 'Move to another inbox' }).waitFor();
    await press('r', 'Enter');
    await until('it is there', async () => /^repairs@/.test((await whole(all[35])).mailbox));
  });
  await task('delete', 'impossible', 5, async ({ page, press }) => {
    await page.goto(`/conversations/${all[36]}`);
    await press('Control+k', 'd', 'e', 'Enter');
    await page.getByRole('dialog', { name: /^Delete / }).waitFor();
    await press('Enter');
    await page.waitForURL('**/inbox**');
  });
  // A place that is opened, a field that is gone to by Tab, and a choice that is saved.
  await task('own undo time', 'impossible', 12, async ({ page, press }) => {
    await page.goto('/inbox');
    await press('g', 'p');
    await until('it is there', async () => (await focused(page)) === `h1 ${world.owner.name}`);
    for (let tabs = 0; tabs < 10 && (await focused(page)) !== '#undo-seconds'; tabs += 1) await press('Tab');
    await press('ArrowDown', 'Tab', 'Enter');
    await page.getByText('Saved.').first().waitFor();
    assert.equal(await page.locator('#undo-seconds').inputValue(), '30');
  });
});

story(test, 'a key shows at once, in the list and in the text', async () => {
  const { page } = visit;
  const measure = async (name, keys) => {
    await watch(page);
    for (const key of keys) {
      await page.keyboard.press(key);
      await page.waitForTimeout(30);
    }
    await shows(name, keys.length);
  };
  await page.goto('/inbox');
  await measure('J and K in the list', [...'jjjjkjjjjkjjjjkjjjjk']);
  await page.goto(`/conversations/${all[31]}?compose=reply`);
  await isWriting(page);
  await measure('a letter in the text', [...'Come on Monday at ten']);
});

story(test, 'a cold inbox has no editor, and opening a conversation is one page', async () => {
  const { page, context } = await world.browser(world.owner);
  const line = await context.newCDPSession(page);
  await line.send('Network.enable');
  await line.send('Network.clearBrowserCache');
  let bytes, pages, files;
  const from = new Map();
  // What others do meanwhile is no part of it.
  line.on('Network.requestWillBeSent', ({ requestId, request }) => { if (request.url.startsWith('http') && !request.headers['x-live']) from.set(requestId, new URL(request.url).pathname); });
  line.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const path = from.get(requestId);
    if (!path) return;
    bytes += encodedDataLength;
    if (path.startsWith('/assets/')) files.push([path, encodedDataLength]);
    else if (!path.endsWith('/presence')) pages.push(path);
  });
  const weigh = async (name, act) => {
    [bytes, pages, files] = [0, [], []];
    await act();
    await page.waitForTimeout(500);
    // The best compression is a release's; here it is done to what came.
    for (const [path, came] of files) {
      if (!came || path.endsWith('.woff2')) continue;
      const plain = Buffer.from(await (await fetch(new URL(path, page.url()))).arrayBuffer());
      bytes -= came - brotliCompressSync(plain).length;
    }
    console.log(`${name}: ${(bytes / 1024).toFixed(1)} KB, ${pages.length} page, ${files.filter(([, came]) => came).length} files`);
  };
  const hasEditor = () => files.some(([path]) => path.includes('/editor-'));
  await weigh('a cold inbox', () => page.goto('/inbox'));
  assert.ok(!hasEditor(), 'the editor comes when somebody writes');
  // The goal is 120 KB (docs/performance.md).
  assert.ok(bytes < 140 * 1024, `a cold inbox of ${bytes} bytes`);
  await weigh('opening a conversation', () => page.locator('#list .item a').nth(1).click());
  assert.deepEqual([pages.length, hasEditor()], [1, false]);
  assert.ok(bytes < 12 * 1024, `a conversation of ${bytes} bytes`);
  await weigh('beginning to write', () => page.keyboard.press('r'));
  assert.ok(hasEditor());
});
