// What axe finds on a page. It is given to the page by `evaluate`, which the page's policy does not stop.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';

const source = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const run = (page, rules) => page.evaluate(async (runOnly) => {
  const { violations } = await window.axe.run(document, { resultTypes: ['violations'], ...(runOnly && { runOnly }) });
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target.join(' ')}: ${node.failureSummary.replace(/\s+/g, ' ')}`));
}, rules);

/** Every violation as a line, in both themes; an empty list when there is none. */
export async function violations(page) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(source);
  const found = await run(page);
  const now = await page.evaluate(() => (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'));
  const other = now === 'dark' ? 'light' : 'dark';
  // The themes differ in colours and in nothing else.
  await page.emulateMedia({ colorScheme: other });
  found.push(...(await run(page, ['color-contrast'])).map((one) => `${other}: ${one}`));
  await page.emulateMedia({ colorScheme: now });
  return found;
}

/** Nothing to find, nothing to scroll sideways. With WEB_SHOTS the page is also kept as a picture in that folder. */
export async function inspect(page, name) {
  assert.deepEqual(await violations(page), [], name);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `${name} scrolls sideways by ${wide} px`);
  if (process.env.WEB_SHOTS) await page.screenshot({ path: path.join(process.env.WEB_SHOTS, `${name}.png`), fullPage: true });
}
