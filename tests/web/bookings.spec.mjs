// Times that visitors book, in real browsers: wherever they are the same instant is booked that the host sees; a phone, both
// themes, no script, no cookie; a robot that opens every mailed link and presses every button changes nothing.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { inspect } from './axe.mjs';
import { finishAll, machine } from './machine.mjs';
import { relay, textOf } from './outside.mjs';
import { admin, DESK, moveTo, PHONE, sql, story, stranger, until, words, workspace, writing } from './world.mjs';

let out, world, inbox, agent, type, letters = 0;
after(async () => {
  await finishAll();
  out.close();
});
before(async () => {
  out = await relay();
  const here = await machine({ ROOKERY_RELAY: out.url });
  await here.rookery('migrate');
  await here.serve();
  moveTo(here);
  world = await workspace();
  inbox = await world.inbox('Lettings');
  agent = await world.agent();
  type = await admin('create-booking-type', '--workspace', world.id, '--host', world.owner.id, '--name', 'A viewing', '--slug', 'viewing', '--minutes', '30', '--time-zone', 'Europe/Berlin');
});

/** The link by which the customer of a new conversation books. */
async function offered(from) {
  const subject = `A viewing ${(letters += 1)}`;
  await world.mail(inbox, { from, name: 'Ada', subject, text: 'When could I see the flat?' });
  const { id } = await until('it', async () => (await world.conversations(agent)).find((one) => one.subject === subject));
  const { url } = await agent.api('POST', `/conversations/${id}/booking-links`, { bookingTypeId: type.bookingType });
  return { id, url };
}
const booked = () => agent.api('GET', '/bookings');
const mailsTo = (address) => out.mails.filter((mail) => mail.to.includes(address));
const local = (instant, zone) => new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: '2-digit', minute: '2-digit' }).format(new Date(instant));

for (const zone of ['Asia/Kolkata', 'America/New_York', 'Australia/Lord_Howe', 'Pacific/Apia']) {
  story(test, `a visitor in ${zone} books the instant that the host sees`, async () => {
    const visitor = `ada@${zone.split('/')[1].replace('_', '').toLowerCase()}.example`;
    const { url } = await offered(visitor);
    const { page, context } = await stranger({ timezoneId: zone });
    await page.goto(url);
    // Browsers say some zones by older names, such as Asia/Calcutta.
    await page.waitForURL((at) => at.searchParams.has('zone'));
    const chosen = page.locator('.b-times button').nth(3);
    const [shown, at] = [await chosen.innerText(), await chosen.getAttribute('value')];
    await chosen.click();
    await page.getByRole('heading', { name: 'Almost booked' }).waitFor();
    await page.getByLabel('Your name').fill('Ada Lovelace');
    await page.getByRole('button', { name: /^Book/ }).click();
    await page.getByRole('heading', { name: 'Booked', exact: true }).waitFor();
    assert.ok((await page.locator('.b-when').innerText()).includes(shown), `what was chosen, ${shown}, is what is booked`);
    const [own] = (await booked()).filter((one) => new Date(one.startsAt).getTime() === new Date(at).getTime());
    assert.ok(own, `${at} is booked`);
    assert.equal(shown.match(/\d\d:\d\d/)[0], local(own.startsAt, zone));
    assert.deepEqual(await context.cookies(), []);
    const host = await world.browser(world.owner, { timezoneId: 'Europe/Berlin' });
    await host.page.goto('/bookings');
    const row = host.page.locator('.booking').filter({ hasText: visitor });
    assert.equal(new Date(await row.locator('time').getAttribute('datetime')).getTime(), new Date(at).getTime());
    const [mail] = await until('the invitation', async () => mailsTo(visitor).length > 0 && mailsTo(visitor));
    const stamp = new Date(at).toISOString().replace(/[-:]|\.000/g, '');
    assert.ok(mail.raw.replace(/\r\n /g, '').includes(stamp) || Buffer.from(mail.raw.match(/text\/calendar[^]*?\r\n\r\n([^]*?)\r\n--/)[1], 'base64').toString().includes(stamp), `the invitation says ${stamp}`);
  });
}

story(test, 'booking with a code by mail, moving, cancelling and taking it back; each page passes axe, with a phone in the dark', async () => {
  for (const [size, scheme, name] of [[DESK, 'light', 'desk'], [PHONE, 'dark', 'phone']]) {
    const visitor = `grace@${name}.example`;
    const { page, context } = await stranger({ size, scheme, timezoneId: 'Europe/Paris', allow: [/422/] });
    await page.goto(type.url);
    await page.waitForURL((at) => at.searchParams.get('zone') === 'Europe/Paris');
    await inspect(page, `book-times-${name}`);
    await page.locator('.b-first').click();
    await page.getByLabel('Your name').fill('Grace Hopper');
    await page.getByLabel('Email').fill(visitor);
    await page.getByLabel('What is it about?').fill('Two rooms, please.');
    await inspect(page, `book-details-${name}`);
    await page.locator('.c-submit').click();
    await page.getByRole('heading', { name: 'Check your email' }).waitFor();
    assert.deepEqual((await booked()).filter((one) => one.email === visitor), []);
    await page.getByLabel('Code').fill('000000');
    await page.locator('.c-submit').click();
    await page.getByRole('alert').waitFor();
    await inspect(page, `book-code-${name}`);
    const [mail] = await until('the code', async () => mailsTo(visitor).length > 0 && mailsTo(visitor));
    assert.ok(!textOf(mail).includes('Two rooms'), 'a code mail has nothing of the visitor');
    await page.getByLabel('Code').fill(textOf(mail).match(/\b\d{3} ?\d{3}\b/)[0]);
    await page.locator('.c-submit').click();
    await page.getByRole('heading', { name: 'Booked', exact: true }).waitFor();
    await inspect(page, `book-booked-${name}`);
    await page.getByRole('link', { name: 'Move it' }).click();
    await inspect(page, `book-move-times-${name}`);
    await page.locator('.b-times button').nth(5).click();
    await page.getByLabel('Yes, I want to move it').check();
    await inspect(page, `book-move-${name}`);
    await page.getByRole('button', { name: 'Move it' }).click();
    await page.getByRole('heading', { name: 'Booked', exact: true }).waitFor();
    await page.getByRole('link', { name: 'Cancel it' }).click();
    await inspect(page, `book-cancel-${name}`);
    await page.getByLabel('It is solved').check();
    await page.getByRole('button', { name: 'Cancel the booking' }).click();
    await page.getByRole('heading', { name: 'Cancelled' }).waitFor();
    await inspect(page, `book-cancelled-${name}`);
    await page.getByRole('button', { name: 'Take it back' }).click();
    await page.getByRole('heading', { name: 'Booked', exact: true }).waitFor();
    assert.deepEqual(await context.cookies(), []);
  }
});

story(test, 'without script a time is booked in three pages, none of them large', async () => {
  const { url } = await offered('plain@customer.example');
  const { page } = await stranger({ script: false });
  let pages = 0;
  page.on('response', async (answer) => {
    if (!answer.headers()['content-type']?.startsWith('text/html') || answer.status() >= 300) return;
    pages += 1;
    const { length } = await answer.body();
    assert.ok(length < 30 * 1024, `${answer.url()} has ${length} bytes`);
  });
  await page.goto(url);
  await page.locator('#zone').selectOption('Asia/Tokyo');
  await page.getByRole('button', { name: 'Show' }).click();
  assert.equal(await page.locator('#zone').inputValue(), 'Asia/Tokyo');
  pages = 0;
  await page.goto(url);
  await page.locator('.b-first').click();
  await page.getByLabel('Your name').fill('Plain');
  await page.getByRole('button', { name: /^Book/ }).click();
  await page.getByRole('heading', { name: 'Booked', exact: true }).waitFor();
  assert.equal(pages, 3);
});

story(test, 'a robot that opens every mailed link and presses every button books, moves and cancels nothing', async () => {
  const visitor = 'robot@customer.example';
  const { url } = await offered(visitor);
  const one = await stranger();
  await one.page.goto(url);
  await one.page.locator('.b-times button').nth(8).click();
  await one.page.getByLabel('Your name').fill('Robot');
  await one.page.getByRole('button', { name: /^Book/ }).click();
  await one.page.getByRole('heading', { name: 'Booked', exact: true }).waitFor();
  const [mail] = await until('the invitation', async () => mailsTo(visitor).length > 0 && mailsTo(visitor));
  const before = JSON.stringify(await booked());
  const links = [url, ...new Set(textOf(mail).match(/https?:\/\/[^\s<>]+/g))];
  assert.ok(links.length > 1, 'the mail has its private link');
  const robot = await stranger({ allow: [/./] });
  const seen = new Set();
  while (links.length > 0 && seen.size < 60) {
    const link = links.pop();
    const plain = link.replace(/[?&](week|zone|at|lang)=[^&]*/g, '');
    if (seen.has(plain) || /\/calendar/.test(link)) continue;
    seen.add(plain);
    await robot.context.request.head(link);
    await robot.page.goto(link);
    links.push(...(await robot.page.locator('a[href]').evaluateAll((all) => all.map((a) => a.href))).filter((href) => href.startsWith(new URL(url).origin)));
    const buttons = await robot.page.locator('main button, main [type=submit]').count();
    for (let n = 0; n < Math.min(buttons, 4); n += 1) {
      await robot.page.goto(link);
      // What a browser would ask to be filled in first does not stop a robot.
      await robot.page.evaluate(() => { for (const form of document.forms) form.noValidate = true; });
      await robot.page.locator('main button, main [type=submit]').nth(n).click({ timeout: 2000 }).catch(() => {});
      await robot.page.waitForLoadState().catch(() => {});
      if ((await robot.page.locator('main form[method=post] button').count()) > 0) {
        await robot.page.evaluate(() => { for (const form of document.forms) form.noValidate = true; });
        await robot.page.locator('main form[method=post] button').first().click({ timeout: 2000 }).catch(() => {});
      }
    }
  }
  assert.ok(seen.size >= 4, `${seen.size} pages were met`);
  assert.equal(JSON.stringify(await booked()), before);
});

story(test, 'people set up types and hours and see what is booked; each page passes axe', async () => {
  for (const [size, scheme, name] of [[DESK, 'light', 'desk'], [PHONE, 'dark', 'phone'], [DESK, 'dark', 'desk-dark']]) {
    const { page } = await world.browser(world.owner, { size, scheme });
    for (const [where, what] of [['/bookings', 'bookings'], ['/settings/bookings', 'types'], ['/settings/bookings/new', 'new-type'], [`/settings/bookings/${type.bookingType}`, 'type'], ['/settings/bookings/hours', 'hours'], [`/settings/bookings/${type.bookingType}/remove`, 'remove-type']]) {
      await page.goto(where);
      await inspect(page, `app-${what}-${name}`);
    }
    const [own] = await booked();
    await page.goto(`/bookings/${own.id}/cancel`);
    await inspect(page, `app-cancel-${name}`);
  }
});

story(test, 'pages say when there is nothing, hold far too much, and say when they are not there', async () => {
  const bare = await workspace();
  await bare.inbox('Empty');
  const made = (slug) => admin('create-booking-type', '--workspace', bare.id, '--host', bare.owner.id, '--name', 'A call', '--slug', slug, '--minutes', '5');
  const looks = [[DESK, 'light', 'desk'], [PHONE, 'dark', 'phone']];
  for (const [size, scheme, name] of looks) {
    const { page } = await bare.browser(bare.owner, { size, scheme });
    for (const [where, what] of [['/bookings', 'bookings'], ['/settings/bookings', 'types']]) {
      await page.goto(where);
      await inspect(page, `empty-${what}-${name}`);
    }
  }
  const [full, much, paused] = [await made('full'), await made('much'), await made('paused')];
  // Nothing is free where the notice is longer than one can book ahead.
  await sql(`update booking_types set notice_minutes = 43200, horizon_days = 1 where slug = 'full'`);
  await sql(`update booking_types set state = 'paused' where slug = 'paused'`);
  const words = 'Besprechungsvorbereitungsunterlagen und was sonst noch dazugehört '.repeat(40);
  await sql(`update booking_types set name = left('${words}', 100), about = left('${words}', 2000), place = left('${words}', 500), step = 5, notice_minutes = 0,
    questions = (select jsonb_agg(jsonb_build_object('label', left('${words}', 200), 'required', true)) from generate_series(1, 5)) where slug = 'much'`);
  await sql(`update booking_hours set opens = 0, closes = 1440`);
  for (const [size, scheme, name] of looks) {
    const { page } = await stranger({ size, scheme, timezoneId: 'Europe/Paris', allow: [/404|410/] });
    for (const [where, what] of [[full.url, 'nothing-free'], [paused.url, 'paused'], [much.url, 'far-too-much'], [`${full.url}-nosuch`, 'not-there'], [new URL('/book/nosuch', full.url).href, 'cut-off']]) {
      await page.goto(where);
      await inspect(page, `book-${what}-${name}`);
    }
    await page.goto(much.url);
    await page.locator('.b-first').click();
    await page.getByRole('heading', { name: 'Almost booked' }).waitFor();
    await inspect(page, `book-far-too-much-details-${name}`);
    const app = await bare.browser(bare.owner, { size, scheme });
    for (const where of ['/settings/bookings', `/settings/bookings/${much.bookingType}`]) {
      await app.page.goto(where);
      await inspect(app.page, `far-too-much-${where.split('/').length}-${name}`);
    }
  }
});

story(test, 'times are offered by the composer, and the conversation shows what was booked', async () => {
  const visitor = 'offer@customer.example';
  await world.mail(inbox, { from: visitor, name: 'Olga', subject: 'Offer me times', text: 'When?' });
  const { id } = await until('it', async () => (await world.conversations(agent)).find((one) => one.subject === 'Offer me times'));
  const { page } = await world.browser(world.owner);
  await page.goto(`/conversations/${id}?compose=reply`);
  await writing(page).fill('Choose what suits you:');
  await page.getByText('Offer times', { exact: true }).click();
  await page.getByRole('button', { name: 'A viewing' }).click();
  const ticks = page.locator('#offer-times input[name=time]');
  await ticks.first().waitFor();
  assert.equal(await page.locator('#offer-times input[name=time]:checked').count(), 3, 'one of each of three days');
  assert.equal(await page.locator('.offer__day:has(:checked)').count(), 3);
  assert.equal((await words(page)).trim(), 'Choose what suits you:', 'what was written is still there');
  await inspect(page, 'composer-offer-times');
  const small = await world.browser(world.owner, { size: PHONE, scheme: 'dark' });
  // The address of the page does not keep what is offered: a reload does not open the menu again.
  const at = new URL(page.url());
  assert.equal(at.searchParams.has('offer'), false);
  at.searchParams.set('offer', type.bookingType);
  await small.page.goto(at.href);
  await small.page.locator('#offer-times').waitFor();
  await inspect(small.page, 'composer-offer-times-phone');
  // Six are too many: it says so, and they are still ticked. Enter on a time adds them; it does not save.
  for (let n = 0; n < 3; n += 1) await page.locator('#offer-times input[name=time]:not(:checked)').first().check();
  await page.getByRole('button', { name: 'Add to your reply' }).click();
  await page.locator('#offer-times').getByText('Select up to five times.').waitFor();
  const six = page.locator('#offer-times input[name=time]:checked');
  assert.equal(await six.count(), 6);
  for (let n = 0; n < 3; n += 1) await six.first().uncheck();
  await six.first().press('Enter');
  const body = await until('the links are in the words', async () => {
    const text = await words(page);
    return text.includes('See all times') && text;
  });
  assert.match(body, /^Choose what suits you:\n\nChoose a time for A viewing \(\w+ time\):\n/);
  assert.equal(await page.locator('#offer[open]').count(), 0, 'the menu is closed');
  await inspect(page, 'composer-offer');
  await page.locator('#composer-form #send').click();
  const [mail] = await until('the mail left', async () => mailsTo(visitor).length > 0 && mailsTo(visitor));
  const links = textOf(mail).match(/https?:\/\/[^\s<>]+\/b\/[\w-]+/g);
  assert.equal(links.length, 4);
  assert.ok(links.every((link) => new URL(link).pathname.length <= 60), 'they are short');
  const guest = await stranger();
  await guest.page.goto(links[1]);
  await guest.page.getByRole('heading', { name: 'Almost booked' }).waitFor();
  await guest.page.getByLabel('Your name').fill('Olga');
  await guest.page.getByRole('button', { name: /^Book/ }).click();
  await guest.page.getByRole('heading', { name: 'Booked', exact: true }).waitFor();
  await guest.page.goto(links[0]);
  await guest.page.getByText('You’ve already booked').waitFor();
  await inspect(guest.page, 'book-booked-before');
  await page.goto(`/conversations/${id}`);
  await page.locator('#timeline').getByText(/booked/i).first().waitFor();
  await inspect(page, 'conversation-booked');
});
