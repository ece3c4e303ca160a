// The private page of a request for documents, as customers have it: a phone with its camera, a bad line, two tabs, a file that
// is far too large, no script. And the person's half beside the mail that asked.

import assert from 'node:assert/strict';
import { truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { violations } from './axe.mjs';
import { CUT_OFF, finish, PHONE, sql, story, stranger, until, work, workspace } from './world.mjs';

after(finish);
let world, inbox, agent, asks = 0;
before(async () => {
  world = await workspace();
  inbox = await world.inbox('Lettings');
  agent = await world.agent();
});

const PIXEL = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
/** A sound PDF of one page. */
function pdf(name, size = 200) {
  const content = `% ${name} ${'x'.repeat(size)}\n`;
  const objects = ['<< /Type /Catalog /Pages 2 0 R >>', '<< /Type /Pages /Kids [3 0 R] /Count 1 >>', '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents 4 0 R >>', `<< /Length ${content.length} >>\nstream\n${content}\nendstream`];
  let [file, places] = ['%PDF-1.4\n', ''];
  objects.forEach((object, at) => {
    places += `${String(file.length).padStart(10, '0')} 00000 n \n`;
    file += `${at + 1} 0 obj\n${object}\nendobj\n`;
  });
  file += `xref\n0 5\n0000000000 65535 f \n${places}trailer\n<< /Size 5 /Root 1 0 R >>\nstartxref\n${file.length}\n%%EOF\n`;
  return { name, mimeType: 'application/pdf', buffer: Buffer.from(file) };
}

/** Asks a customer for documents and lets the mail leave at once: the conversation and the private link. */
async function asked(...documents) {
  const subject = `Lease ${(asks += 1)}`;
  await world.mail(inbox, { from: `ada${asks}@customer.test`, name: 'Ada', subject, text: 'Hello' });
  const { id } = await until('it', async () => (await world.conversations(agent)).find((one) => one.subject === subject));
  const { messageId, requestId } = await agent.api('POST', `/conversations/${id}/document-requests`, { documents, send: true, dueDate: '2099-11-27' });
  await sql(`update messages set sends_at = now(), due_at = now() where rfc_message_id like '${messageId}.%'`);
  await until('its mail left', () => sql(`select 1 from document_requests where state = 'open' and message_id = (select id from messages where rfc_message_id like '${messageId}.%')`));
  const { timeline } = await agent.api('GET', `/conversations/${id}`);
  return { id, requestId, link: timeline.find((item) => item.id === messageId).text.match(/\S+\/upload\/\S+/)[0] };
}
const told = async (id, event) => (await agent.api('GET', `/conversations/${id}`)).timeline.filter((item) => item.event === event);
const choose = (page, n) => page.locator('.c-item').nth(n).locator('input[type=file]:not([capture])');

story(test, 'a phone sends a photo with its camera, in the language of the phone', async () => {
  const { id, link } = await asked({ label: 'Passport', description: 'Both pages' }, { label: 'Payslip' }, { label: 'Insurance', required: false });
  const { page, context } = await stranger({ size: PHONE, locale: 'de-DE' });
  await page.goto(link);
  await page.getByRole('heading', { name: 'Bitte senden Sie uns diese Unterlagen' }).waitFor();
  assert.equal(await page.locator('html').getAttribute('lang'), 'de');
  await page.getByText('0 von 2').waitFor();
  const item = page.locator('.c-item').first();
  await item.getByText('Foto aufnehmen').waitFor();
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `it scrolls sideways by ${wide} px`);
  assert.deepEqual(await violations(page), []);
  assert.equal(await item.locator('input[capture]').getAttribute('capture'), 'environment');
  await item.locator('input[capture]').setInputFiles({ name: 'IMG_1.png', mimeType: 'image/png', buffer: PIXEL });
  await page.getByText('1 von 2').waitFor();
  await item.getByText('Angekommen.').waitFor();
  await item.getByText('IMG_1.png').waitFor();
  assert.deepEqual(await violations(page), []);
  await choose(page, 1).setInputFiles([pdf('one.pdf'), pdf('two.pdf')]);
  await page.getByRole('heading', { name: 'Vielen Dank. Alles ist da.' }).waitFor();
  // The first payslip completes the list; the second may still be on its way.
  await until('all three are told', async () => (await told(id, 'document-uploaded')).length === 3);
  await page.locator('.c-item').nth(1).getByText('two.pdf').waitFor();
  assert.deepEqual(await context.cookies(), []);
  assert.equal((await told(id, 'documents-completed')).length, 1);
});

story(test, 'what cannot be taken is said beside its document, and the rest goes on', async () => {
  const { link } = await asked({ label: 'Passport' }, { label: 'Payslip' });
  const { page } = await stranger({ allow: [/422/] });
  await page.goto(link);
  await choose(page, 0).setInputFiles({ name: 'pages.zip', mimeType: 'application/zip', buffer: Buffer.from('PK\x03\x04nothing') });
  await page.locator('.c-item').first().getByRole('alert').getByText('We could not take “pages.zip”.').waitFor();
  await page.getByText('It is an archive').waitFor();
  assert.deepEqual(await violations(page), []);
  await choose(page, 1).setInputFiles(pdf('payslip.pdf'));
  await page.getByText('1 of 2').waitFor();
});

story(test, '200 MB are refused politely, with script before a byte is sent and without it by the page', async () => {
  const { id, link } = await asked({ label: 'Video' });
  const file = path.join(work, 'film.mov');
  await writeFile(file, '');
  await truncate(file, 200 << 20);
  const { page } = await stranger();
  let posted = 0;
  page.on('request', (request) => { if (request.method() === 'POST') posted += 1; });
  await page.goto(link);
  await choose(page, 0).setInputFiles(file);
  await page.getByRole('alert').getByText('A file may have 25 MB at most').waitFor();
  assert.equal(posted, 0);
  const plain = await stranger({ script: false, allow: [/413/] });
  await plain.page.goto(link);
  await choose(plain.page, 0).setInputFiles(file);
  await plain.page.getByRole('button', { name: 'Send it' }).first().click();
  await plain.page.getByText('A file may have 25 MB at most').waitFor({ timeout: 60_000 });
  await plain.page.getByText('We could not take “film.mov”.').waitFor();
  assert.equal((await told(id, 'document-uploaded')).length, 0);
});

story(test, 'a line that is cut in mid-file is tried again by itself', async () => {
  const { id, link } = await asked({ label: 'Lease' });
  const { page, context } = await stranger({ allow: [CUT_OFF] });
  await page.goto(link);
  const wire = await context.newCDPSession(page);
  const line = (offline) => wire.send('Network.emulateNetworkConditions', { offline, latency: 20, downloadThroughput: -1, uploadThroughput: 400_000 });
  await wire.send('Network.enable');
  await line(false);
  await choose(page, 0).setInputFiles(pdf('lease.pdf', 3_000_000));
  await until('some of it is sent', async () => Number(await page.locator('progress').first().getAttribute('value').catch(() => 0)) > 0 || (await page.locator('.is-going progress').evaluate((bar) => bar.value).catch(() => 0)) > 0);
  await line(true);
  await page.getByText('The connection broke. We try again by ourselves.').waitFor();
  await wire.send('Network.emulateNetworkConditions', { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
  await page.getByRole('heading', { name: 'Thank you. Everything is here.' }).waitFor({ timeout: 60_000 });
  assert.equal((await told(id, 'document-uploaded')).length, 1, 'it is there once');
});

story(test, 'two tabs at once: everything arrives, and it is complete once', async () => {
  const { id, link } = await asked({ label: 'Passport' }, { label: 'Payslip' });
  const [one, two] = [await stranger(), await stranger()];
  await Promise.all([one.page.goto(link), two.page.goto(link)]);
  await Promise.all([choose(one.page, 0).setInputFiles(pdf('a.pdf', 900_000)), choose(two.page, 1).setInputFiles(pdf('b.pdf', 900_000))]);
  await until('both are in', async () => (await told(id, 'documents-completed')).length > 0);
  await Promise.all([one.page.getByText('Received.').first().waitFor(), two.page.getByText('Received.').first().waitFor()]);
  assert.equal((await told(id, 'documents-completed')).length, 1);
  await one.page.reload();
  await one.page.getByText('2 of 2').waitFor();
});

story(test, 'without script files are chosen and sent by a form', async () => {
  const { link } = await asked({ label: 'Passport' });
  const { page } = await stranger({ script: false, locale: 'fr-FR' });
  await page.goto(link);
  await choose(page, 0).setInputFiles(pdf('passeport.pdf'));
  await page.getByRole('button', { name: 'Envoyer' }).first().click();
  await page.getByRole('heading', { name: 'Merci. Tout est là.' }).waitFor();
  await page.getByText('passeport.pdf').waitFor();
  await page.getByText('Français').click();
  await page.getByRole('link', { name: 'Italiano' }).click();
  await page.getByRole('heading', { name: 'Grazie. C’è tutto.' }).waitFor();
});

story(test, 'a person ticks off, accepts, asks again and cancels beside the mail that asked', async () => {
  const { id, link, requestId } = await asked({ label: 'Passport' }, { label: 'Payslip' });
  const customer = await stranger();
  await customer.page.goto(link);
  const { page } = await world.browser(world.owner);
  await page.goto(`/conversations/${id}`);
  const card = page.locator(`#ask-${requestId}`);
  await card.getByText('0 of 2').waitFor();
  await choose(customer.page, 0).setInputFiles(pdf('passport.pdf'));
  await card.getByText('came, to be looked at').waitFor();
  await card.getByRole('link', { name: /passport\.pdf/ }).waitFor();
  assert.deepEqual(await violations(page), []);
  await card.getByRole('link', { name: /Ask again/ }).click();
  await page.getByLabel('It can’t be read').check();
  await page.getByLabel('Add a message (optional)').fill('It is too dark.');
  assert.deepEqual(await violations(page), []);
  await page.getByRole('button', { name: 'Ask again' }).click();
  await card.getByText('will not do, asked again').waitFor();
  await page.getByText('It is too dark.').first().waitFor();
  await customer.page.reload();
  await customer.page.getByText('What you sent could not be read.').waitFor();
  await choose(customer.page, 0).setInputFiles(pdf('passport-2.pdf'));
  await card.getByText('came, to be looked at').waitFor();
  await card.getByRole('button', { name: /^Accept/ }).click();
  await card.getByText('accepted', { exact: true }).waitFor();
  await card.getByRole('link', { name: 'More time, or cancel' }).click();
  assert.deepEqual(await violations(page), []);
  await page.getByRole('link', { name: 'Keep it' }).click();
  await card.getByRole('button', { name: /^Tick off/ }).click();
  await card.getByText('Complete').waitFor();
  assert.equal((await told(id, 'documents-completed')).length, 1);
  const small = await world.browser(world.owner, { size: PHONE });
  for (const where of [`/requests/${requestId}`, `/requests/${requestId}/items/${(await card.locator('form').first().getAttribute('action')).match(/itm_\w+/)[0]}/again`, `/conversations/${id}`]) {
    await small.page.goto(where);
    const wide = await small.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(wide <= 0, `${where} scrolls sideways by ${wide} px`);
  }
  const ended = await asked({ label: 'Contract' });
  await page.goto(`/requests/${ended.requestId}`);
  await page.getByRole('button', { name: 'Cancel the request' }).click();
  await page.locator(`#ask-${ended.requestId}`).getByText('Cancelled').waitFor();
  const late = await stranger({ allow: [/410/] });
  await late.page.goto(ended.link);
  await late.page.getByRole('heading', { name: 'This link has ended' }).waitFor();
  assert.deepEqual(await violations(late.page), []);
});
