// The audit log, and data and erasure, in a real browser, with script and without: a contact is held, released and erased,
// an export is made and downloaded, days are set, and the log tells of all of it.

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { violations } from './axe.mjs';
import { finish, story, until, workspace } from './world.mjs';

after(finish);

for (const script of [true, false]) {
  story(test, `a contact is held, exported and erased, ${script ? 'with' : 'without'} script`, async () => {
    const world = await workspace();
    const inbox = await world.inbox();
    await world.mail(inbox, { from: 'marek@customer.test', name: 'Marek Wójcik', subject: 'Deposit', text: 'Where is it?' });
    await world.mail(inbox, { from: 'anna@customer.test', name: 'Anna', subject: 'Other', text: 'Hello.' });
    const { page } = await world.browser(world.owner, { script, allow: [/400/] });
    const sound = async () => script && assert.deepEqual(await violations(page), []);
    await page.goto('/settings');
    await page.locator('#main').getByRole('link', { name: /^Data and erasure/ }).click();
    await sound();

    await page.getByLabel('Name', { exact: true }).fill('Deposit dispute');
    await page.locator('#hold-address').fill('marek@customer.test');
    await page.getByRole('button', { name: 'Place the hold' }).click();
    await page.getByText('Hold placed.').waitFor();
    await page.locator('#who').fill('Marek@customer.test');
    await page.getByRole('button', { name: 'Look' }).click();
    await page.getByText('It’s on hold').waitFor();
    assert.ok(await page.getByRole('button', { name: 'Erase for good' }).isDisabled());
    await sound();
    await page.getByRole('link', { name: /^End/ }).click();
    await sound();
    await page.getByRole('button', { name: 'End the hold' }).click();
    await page.getByText('Hold ended.').waitFor();

    await page.locator('#export-who').fill('marek@customer.test');
    await page.getByRole('button', { name: 'Prepare the export' }).click();
    await until('it is made', async () => {
      if (!script) await page.goto('/settings/data');
      return (await page.getByRole('link', { name: /^Download/ }).count()) > 0;
    });
    await page.getByRole('link', { name: /^Download/ }).click();
    await sound();
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download' }).click()]);
    assert.match(download.suggestedFilename(), /^export-exp_.*\.zip$/);

    await page.goto('/settings/data?who=marek@customer.test');
    await page.getByRole('heading', { name: 'Marek Wójcik' }).waitFor();
    await page.locator('#confirm').fill('marek@customer');
    await page.getByRole('button', { name: 'Erase for good' }).click();
    await page.getByText('is not the address above').waitFor();
    await sound();
    await page.locator('#confirm').fill('marek@customer.test');
    await page.locator('#confirm').press('Enter');
    await page.getByText('Erasing.').waitFor();
    await until('it is done', async () => {
      if (!script) await page.goto('/settings/data');
      return (await page.locator('#erasures').textContent()).includes('Finished');
    });
    await page.goto('/settings/data');
    assert.ok(!(await page.content()).includes('marek@'), 'nothing of them stands on the page');
    await page.goto('/inbox?view=open');
    await page.getByText('Other').first().waitFor();
    assert.equal(await page.getByText('Marek').count(), 0);

    await page.goto('/settings/data');
    await page.getByLabel(/^Days that/).first().fill('180');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('A shorter period takes effect in a day.').waitFor();

    await page.goto('/settings/audit');
    await page.getByRole('button', { name: 'Check now' }).click();
    await page.getByText('Log verified').waitFor();
    await page.getByLabel('What').selectOption({ label: 'Data, holds and exports' });
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    for (const words of ['Placed a hold on', 'Ended the hold on', 'Asked for an export of', 'Asked to erase', 'Changed how long closed mail is kept in']) {
      await page.getByText(words).first().waitFor();
    }
    assert.ok(!(await page.content()).includes('marek'), 'the log has no name');
    await sound();
    const [csv] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export CSV' }).click()]);
    assert.equal(csv.suggestedFilename(), 'audit-log.csv');
  });
}
