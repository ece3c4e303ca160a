// Topic and urgency in a conversation, and the page of the assistants, in a real browser, with script and without: mail is
// sorted by rules, a person says something else and it stands; limits and topics are kept, and all three are stopped.

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { violations } from './axe.mjs';
import { finish, story, until, workspace } from './world.mjs';

after(finish);

for (const script of [true, false]) {
  story(test, `mail is sorted, corrected, and the assistants are stopped, ${script ? 'with' : 'without'} script`, async () => {
    const world = await workspace();
    const inbox = await world.inbox();
    const agent = await world.agent();
    await world.mail(inbox, { from: 'marek@customer.test', name: 'Marek', subject: 'Order 4411', text: 'Where is my order? The tracking has not moved for a week.' });
    const { id } = await until('it is in', async () => (await world.conversations(agent)).find((one) => one.subject === 'Order 4411'));
    const { page } = await world.browser(world.owner, { script, allow: [/400/] });
    const sound = async () => script && assert.deepEqual(await violations(page), []);
    await until('it is sorted', async () => {
      await page.goto(`/conversations/${id}`);
      return (await page.locator('#topic-menu summary').textContent()).includes('order');
    });
    await page.locator('#topic-menu summary').click();
    await page.locator('#topic-menu').getByText(/Sorted by rules/).waitFor();
    await sound();
    await page.locator('#topic-menu').getByRole('button', { name: 'refund' }).click();
    await page.getByText('Saved.').waitFor();
    assert.match(await page.locator('#topic-menu summary').textContent(), /refund/);
    await page.locator('#urgency-menu summary').click();
    await page.locator('#urgency-menu').getByRole('button', { name: 'high' }).click();
    await page.getByText('Saved.').waitFor();

    await page.goto('/settings');
    await page.locator('#main').getByRole('link', { name: /^Assistants/ }).click();
    await sound();
    await page.getByLabel('Monthly limit, €').fill('40');
    await page.locator('.spend-form').getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').first().waitFor();
    assert.equal(await page.getByLabel('Monthly limit, €').inputValue(), '40');
    assert.ok(await page.getByLabel('Model', { exact: true }).first().isDisabled());
    await page.locator('#topics').fill('deposit: money kept until somebody moves out');
    await page.locator('form:has(#topics)').getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').first().waitFor();
    await page.getByRole('button', { name: 'Stop all three' }).click();
    await page.getByText(/Stopped by/).waitFor();
    await sound();
    await page.getByRole('button', { name: 'Start them again' }).click();
    await page.getByText('Assistants are running again.').waitFor();
  });
}
