// What axe finds on a page. It is given to the page by `evaluate`, which the page's policy does not stop.

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

const source = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Every violation as a line; an empty list when there is none. */
export async function violations(page) {
  await page.evaluate(source);
  return page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
    return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target.join(' ')}: ${node.failureSummary.replace(/\s+/g, ' ')}`));
  });
}
