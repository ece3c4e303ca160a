// Rules, own views and reports: a rule is put together by its buttons, tried, saved and seen at work; a list is saved under
// a name; the numbers have their pictures.

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { violations } from './axe.mjs';
import { finish, PHONE, story, until, workspace } from './world.mjs';

after(finish);

for (const script of [true, false]) {
  story(test, `a rule is made, tried, and acts on the next mail, ${script ? 'with' : 'without'} script`, async () => {
    const world = await workspace();
    const inbox = await world.inbox('Lettings');
    await world.mail(inbox, { from: 'ada@customer.test', name: 'Ada', subject: 'Invoice 7', text: 'Here it is.' });
    await world.mail(inbox, { from: 'theo@customer.test', name: 'Theo', subject: 'Keys', text: 'Where are they?' });
    const { page } = await world.browser(world.owner, { script });
    await page.goto('/settings');
    await page.locator('#main').getByRole('link', { name: /^Rules/ }).click();
    await page.getByRole('link', { name: 'Add the first rule' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Invoices');
    await page.getByLabel('Sender of condition 1').fill('customer.test');
    await page.getByLabel('Kind of the new condition').selectOption({ label: 'Subject' });
    await page.getByRole('button', { name: 'Add a condition' }).click();
    await page.getByLabel('Words of condition 2').fill('invoice, rechnung');
    assert.equal(await page.getByLabel('Sender of condition 1').inputValue(), 'customer.test', 'nothing typed is lost');
    await page.getByLabel('Target of action 1').fill('billing');
    await page.getByLabel('Kind of the new action').selectOption({ label: 'Set the status' });
    await page.getByRole('button', { name: 'Add an action' }).click();
    await page.getByLabel('Target of action 2').selectOption({ label: 'Waiting' });
    await page.getByRole('button', { name: 'Test on recent mail' }).click();
    await page.getByRole('heading', { name: 'It would have matched 1 of 2 mails' }).waitFor();
    await page.getByRole('row', { name: /Invoice 7.*tag billing, set to waiting/s }).waitFor();
    if (script) assert.deepEqual(await violations(page), []);
    await page.getByRole('button', { name: 'Remove condition 1' }).click();
    await page.getByLabel('Words of condition 1').waitFor();
    // Enter in a field saves, and adds or removes nothing.
    await page.getByLabel('Name', { exact: true }).press('Enter');
    await page.getByText('Saved. It applies to new mail.').waitFor();
    await page.getByText(/Subject contains/).waitFor();
    if (script) assert.deepEqual(await violations(page), []);

    await world.mail(inbox, { from: 'eve@other.test', name: 'Eve', subject: 'Rechnung 9', text: 'Bitte.' });
    await page.goto('/inbox?view=waiting');
    await page.getByRole('link', { name: /Rechnung 9/ }).first().click();
    await page.locator('#timeline').getByText(/Rule “Invoices”/).first().waitFor();
    await page.goto('/settings/rules');
    await page.getByText('1 in 7 days').waitFor();
    await page.getByRole('switch', { name: 'Invoices' }).click();
    await page.getByText('The rule is off.').waitFor();
    assert.equal(await page.getByRole('switch', { name: 'Invoices' }).getAttribute('aria-checked'), 'false');
    await page.getByRole('link', { name: 'Invoices', exact: true }).click();
    await page.getByRole('link', { name: 'Remove', exact: true }).click();
    await page.getByRole('button', { name: 'Remove the rule' }).waitFor();
    if (script) assert.deepEqual(await violations(page), []);
    await page.getByRole('button', { name: 'Remove the rule' }).click();
    await page.getByText('No rules yet').waitFor();
  });

  story(test, `a list is saved under a name and opened from the side bar, ${script ? 'with' : 'without'} script`, async () => {
    const world = await workspace();
    const [one, two] = [await world.inbox('Lettings'), await world.inbox('Accounts')];
    await world.mail(one, { from: 'ada@customer.test', name: 'Ada', subject: 'In Lettings', text: 'Hello.' });
    await world.mail(two, { from: 'ada@customer.test', name: 'Ada', subject: 'In Accounts', text: 'Hello.' });
    const { page } = await world.browser(world.owner, { script });
    await page.goto('/inbox');
    await page.locator('#inboxes').getByRole('link', { name: /Accounts/ }).click();
    await page.waitForURL('**/inbox?view=open&inbox=**');
    await page.locator('#list-menu summary').first().click();
    await page.locator('#list-menu').getByRole('link', { name: 'Oldest first' }).click();
    await page.waitForURL('**order=oldest**');
    await page.locator('#list-menu summary').first().click();
    await page.locator('#list-menu').getByLabel('Name of this view').fill('Money first');
    await page.locator('#list-menu').getByRole('button', { name: 'Save this view' }).click();
    const saved = page.locator('#saved-views').getByRole('link', { name: 'Money first' });
    await saved.waitFor();
    await page.goto('/inbox');
    await page.getByRole('link', { name: /In Lettings/ }).first().waitFor();
    await saved.click();
    await page.waitForURL('**order=oldest**');
    await page.getByRole('heading', { name: 'Money first' }).waitFor();
    await page.getByRole('link', { name: /In Accounts/ }).first().waitFor();
    assert.equal(await page.getByRole('link', { name: /In Lettings/ }).count(), 0);
    assert.equal(await saved.getAttribute('aria-current'), 'page');
    if (script) assert.deepEqual(await violations(page), []);
    await page.goto('/settings/views');
    await page.getByLabel('Name of Money first').fill('Accounts, oldest');
    await page.getByRole('button', { name: 'Rename Money first' }).click();
    await page.getByRole('link', { name: 'Remove Accounts, oldest' }).click();
    await page.getByRole('button', { name: 'Remove the view' }).waitFor();
    if (script) assert.deepEqual(await violations(page), []);
    await page.getByRole('button', { name: 'Remove the view' }).click();
    await page.getByText('No views yet').waitFor();
  });
}

story(test, 'reports have five numbers with their pictures, also on a phone and in the dark', async () => {
  const world = await workspace();
  const inbox = await world.inbox('Lettings');
  const person = await world.person('Mia Member');
  await world.mail(inbox, { from: 'ada@customer.test', name: 'Ada', subject: 'Hello', text: 'Hi.' });
  for (const options of [{}, { size: PHONE, scheme: 'dark' }]) {
    const { page } = await world.browser(person, options);
    await until('the mail is counted', async () => {
      await page.goto('/reports');
      return (await page.getByRole('img', { name: /Mails that arrived, by week: .*, 1$/ }).count()) === 1;
    });
    assert.equal(await page.locator('svg.chart').count(), 5);
    assert.deepEqual(await violations(page), []);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(wide <= 0, `scrolls sideways by ${wide} px`);
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: /CSV/ }).click()]);
    assert.equal(file.suggestedFilename(), 'reports.csv');
  }
});
