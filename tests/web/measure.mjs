// What a browser costs and waits for, printed as one JSON object: measure.mjs URL COOKIE CONVERSATION.
// Cold inbox (bytes, requests), first paint on a slow line, opening a conversation, and how long a key takes to show.

import { chromium } from 'playwright-core';

const [url, cookie, conversation] = process.argv.slice(2);
const SLOW = { offline: false, downloadThroughput: 1.6e6 / 8, uploadThroughput: 0.75e6 / 8, latency: 150 };
const ROUNDS = 5;

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-dev-shm-usage'] });

/** A window with an empty cache, and what goes over its line. */
async function visit(slow = false) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const [name, value] = cookie.split(/=(.*)/s);
  const secure = name.startsWith('__');
  await context.addCookies([{ name, value, url: secure ? url.replace('http:', 'https:') : url, httpOnly: true, secure, sameSite: 'Lax' }]);
  const page = await context.newPage();
  const line = await context.newCDPSession(page);
  await line.send('Network.enable');
  if (slow) await line.send('Network.emulateNetworkConditions', SLOW);
  const kinds = new Map();
  const total = { bytes: 0, script: 0, requests: 0 };
  line.on('Network.responseReceived', ({ requestId, type }) => kinds.set(requestId, type));
  line.on('Network.requestWillBeSent', ({ request }) => {
    // The stream stays open; it is no part of the page.
    if (!request.url.endsWith('/live') && request.url.startsWith('http')) total.requests += 1;
  });
  line.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    total.bytes += encodedDataLength;
    if (kinds.get(requestId) === 'Script') total.script += encodedDataLength;
  });
  return { context, page, total };
}
const middle = (all) => all.sort((a, b) => a - b)[Math.floor(all.length / 2)];
const settled = (page) => page.waitForLoadState('load').then(() => page.waitForTimeout(700));

const cold = await visit();
await cold.page.goto(`${url}/inbox`);
await settled(cold.page);
const inbox = { ...cold.total };

// By a click, as people do: what script and cache save counts.
const open = await cold.page.locator('#list a[href^="/conversations/"]').first();
const before = { ...cold.total };
await open.click();
await settled(cold.page);
const opened = { bytes: cold.total.bytes - before.bytes, requests: cold.total.requests - before.requests };

const paints = [];
for (let round = 0; round < ROUNDS; round += 1) {
  const { context, page } = await visit(true);
  await page.goto(`${url}/inbox`, { waitUntil: 'commit' });
  paints.push(await page.evaluate(() => new Promise((done) => {
    new PerformanceObserver((list) => {
      const paint = list.getEntriesByName('first-contentful-paint')[0];
      if (paint) done(paint.startTime);
    }).observe({ type: 'paint', buffered: true });
  })));
  await context.close();
}

const { page, context } = await visit();
await page.goto(`${url}/inbox`);
await settled(page);
await page.evaluate(() => {
  window.waits = [];
  new PerformanceObserver((list) => window.waits.push(...list.getEntries().filter((one) => one.name === 'keydown').map((one) => one.duration))).observe({ type: 'event', durationThreshold: 16 });
});
const KEYS = 40;
for (let at = 0; at < KEYS; at += 1) {
  await page.keyboard.press(at % 5 === 4 ? 'k' : 'j');
  await page.waitForTimeout(60);
}
const slow = await page.evaluate(() => window.waits);
// Those below the threshold of 16 ms are not told.
const waits = [...Array(Math.max(0, KEYS - slow.length)).fill(16), ...slow].sort((a, b) => a - b);
await context.close();

let thread = null;
if (conversation) {
  const { page: long, total, context: there } = await visit();
  const began = Date.now();
  await long.goto(`${url}/conversations/${conversation}`);
  await long.waitForLoadState('load');
  thread = { milliseconds: Date.now() - began, bytes: total.bytes };
  await there.close();
}
await browser.close();
console.log(JSON.stringify({ inbox, opened, firstPaint: Math.round(middle(paints)), keyP75: waits[Math.floor(waits.length * 0.75)], thread }));
