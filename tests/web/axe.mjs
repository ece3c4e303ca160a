// What axe finds on a page. It is given to the page by `evaluate`, which the page's policy does not stop.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';

const source = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Every violation as a line, of all rules or those named; an empty list when there is none. */
export async function violations(page, rules) {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(source);
  return page.evaluate(async (runOnly) => {
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'], ...(runOnly && { runOnly }) });
    return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target.join(' ')}: ${node.failureSummary.replace(/\s+/g, ' ')}`));
  }, rules);
}

/** Nothing to find, nothing to scroll sideways. With WEB_SHOTS the page is also kept as a picture in that folder. */
export async function inspect(page, name) {
  assert.deepEqual(await violations(page), [], name);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `${name} scrolls sideways by ${wide} px`);
  if (process.env.WEB_SHOTS) await page.screenshot({ path: path.join(process.env.WEB_SHOTS, `${name}.png`), fullPage: true });
}
