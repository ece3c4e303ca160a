// Keys, palette and help: they activate what the page's own markup offers, stay out of fields, and can be switched off.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { violations } from './axe.mjs';
import { finish, focused, story, until, words, workspace, write } from './world.mjs';

after(finish);
let world, inbox;
before(async () => {
  world = await workspace();
  inbox = await world.inbox('Lettings');
  const many = ['One', 'Two', 'Three'].map((subject) => ({ from: 'ada@customer.test', name: 'Ada', subject, text: 'Hello.' }));
  await world.mails(inbox, many);
});

const row = (page) => page.evaluate(() => document.activeElement?.closest('.item')?.id ?? null);
const at = (page) => new URL(page.url()).pathname;

story(test, 'J and K walk through the list, Enter opens, G and a letter goes somewhere', async () => {
  const { page } = await world.browser(world.owner);
  await page.goto('/inbox');
  const rows = await page.locator('.item').evaluateAll((all) => all.map((one) => one.id));
  assert.equal(rows.length, 3);
  for (const [key, at] of [['j', 0], ['j', 1], ['k', 0], ['k', 0]]) {
    await page.keyboard.press(key);
    assert.equal(await row(page), rows[at], key);
  }
  await page.keyboard.press('Enter');
  await page.waitForURL(`**/conversations/${rows[0]}**`);
  await page.keyboard.press('g');
  await page.keyboard.press('s');
  await page.waitForURL('**/settings');
});

story(test, 'the palette finds what can be done, teaches its key and runs it', async () => {
  const { page } = await world.browser(world.owner);
  await page.goto('/inbox');
  await page.keyboard.press('ControlOrMeta+k');
  const palette = page.getByRole('dialog', { name: 'Command palette' });
  const input = palette.getByRole('combobox');
  await input.fill('sett');
  const first = palette.getByRole('option').first();
  assert.match(await first.innerText(), /^Settings\s*G\s*S$/);
  assert.equal(await input.getAttribute('aria-activedescendant'), await first.getAttribute('id'));
  await page.keyboard.press('Enter');
  await page.waitForURL('**/settings');
  await page.goto('/inbox');
  await page.keyboard.press('ControlOrMeta+k');
  await input.fill('boiler & more');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/search?q=boiler*');
  assert.equal(new URL(page.url()).searchParams.get('q'), 'boiler & more');
  await page.keyboard.press('ControlOrMeta+k');
  await page.keyboard.press('Escape');
  await until('closed', async () => (await page.locator('dialog').count()) === 0);
});

story(test, 'the palette finds conversations while one types, and what is chosen stays chosen when they come', async () => {
  const { page } = await world.browser(world.owner);
  await page.goto('/inbox');
  await page.keyboard.press('ControlOrMeta+k');
  const palette = page.getByRole('dialog', { name: 'Command palette' });
  await palette.getByRole('combobox').pressSequentially('two');
  const hit = palette.getByRole('group', { name: 'Conversations' }).getByRole('option');
  await hit.waitFor();
  assert.equal(await hit.innerText(), 'Two · Ada');
  assert.match(await palette.locator('[aria-selected=true]').innerText(), /^Find “two”/);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/conversations/cnv_*');
  assert.match(await page.title(), /Two/);
});

story(test, 'the help lists the keys of this page, and fields keep their letters', async () => {
  const { page } = await world.browser(world.owner);
  await page.goto('/inbox');
  await page.keyboard.press('?');
  const help = page.getByRole('dialog', { name: 'Keys' });
  assert.match(await help.innerText(), /Next in the list/);
  await page.keyboard.press('Escape');
  await page.goto('/profile');
  await page.locator('.rich').waitFor();
  const signature = page.getByRole('textbox', { name: 'Signature' });
  await signature.fill('');
  await signature.pressSequentially('jk?gs/');
  assert.equal((await signature.innerText()).trim(), 'jk?gs/');
  assert.equal(at(page), '/profile');
  assert.equal(await page.locator('dialog').count(), 0);
});

story(test, 'keys that are switched off do nothing, and the palette stays', async () => {
  const colleague = await world.person('Mia Lindqvist');
  const { page } = await world.browser(colleague);
  await page.goto('/profile');
  await page.getByRole('switch').uncheck();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await until('saved', () => page.evaluate(() => document.documentElement.dataset.keys === 'off'));
  await page.goto('/inbox');
  for (const key of ['j', '?', 'g', 's']) await page.keyboard.press(key);
  assert.deepEqual([await row(page), at(page), await page.locator('dialog').count()], [null, '/inbox', 0]);
  await page.keyboard.press('ControlOrMeta+k');
  assert.equal(await page.getByRole('dialog', { name: 'Command palette' }).count(), 1);
});

story(test, 'Z takes back what was just done, and not what a colleague sends', async () => {
  const agent = await world.agent();
  const { id } = (await world.conversations(agent)).find((one) => one.subject === 'Two');
  await agent.api('POST', `/conversations/${id}/replies`, { body: 'It is on its way.', send: true });
  const whole = () => agent.api('GET', `/conversations/${id}`);
  const { page } = await world.browser(world.owner);
  await page.goto(`/conversations/${id}`);
  await page.keyboard.press('i');
  await page.locator('#toasts').getByRole('button', { name: 'Undo' }).waitFor();
  assert.ok((await whole()).assignee);
  await page.keyboard.press('z');
  await until('nobody has it', async () => !(await whole()).assignee);
  assert.match(JSON.stringify(await whole()), /"status":"scheduled"/);
});

/** The rows of docs/keys.md: a key, and where it does something. */
async function table() {
  const text = await readFile(path.join(import.meta.dirname, '../../docs/keys.md'), 'utf8');
  const rows = text.slice(text.indexOf('| key | does | list |')).split('\n\n')[0].split('\n').slice(2);
  return rows.flatMap((line) => {
    const [keys, , ...places] = line.split('|').slice(1, -1).map((cell) => cell.trim());
    const [list, conversation, draft] = places.map((cell) => cell === '✓');
    return keys.split(', ').map((key) => ({ key: key.toLowerCase(), list, conversation, draft }));
  });
}

/** A desk of its own: conversations, each with a draft of an agent, newest first. */
async function desk(many, drafts = 0) {
  const own = await workspace('Keys');
  const box = await own.inbox('Lettings');
  const agent = await own.agent();
  await own.mails(box, Array.from({ length: many }, (_, n) => ({ from: `ada${n}@customer.test`, name: `Ada ${n}`, subject: `Question ${n}`, text: `Hello, number ${n}.` })));
  const all = await until('all are there', async () => {
    const found = await own.conversations(agent);
    return found.length === many && found;
  });
  for (const { id } of all.slice(0, drafts)) await agent.api('POST', `/conversations/${id}/replies`, { body: 'On Monday.' });
  return { own, agent, all };
}
const status = async (agent, id) => (await agent.api('GET', `/conversations/${id}`)).status;

story(test, 'every key does what the table says where it says so, and nothing anywhere else', async () => {
  const { own, all } = await desk(3, 3);
  const { page } = await own.browser(own.owner);
  const keys = await table();
  assert.ok(keys.length >= 19, 'the table is read');
  // Nothing is followed or sent; what would have been is noted.
  const watch = () => page.evaluate(() => {
    window.addEventListener('click', (event) => {
      window.acted = true;
      event.preventDefault();
      event.stopImmediatePropagation();
    }, true);
  });
  const press = async (key) => {
    const state = () => page.evaluate(() => [document.querySelectorAll('details.menu[open], dialog[open]').length, document.activeElement?.closest('.item, textarea')?.id ?? '', window.acted]);
    await page.evaluate(() => { window.acted = false; });
    const before = JSON.stringify(await state());
    await page.keyboard.press(key === '?' ? 'Shift+?' : key);
    return JSON.stringify(await state()) !== before;
  };
  const settle = (focus) => page.evaluate((selector) => {
    document.querySelectorAll('details.menu[open]').forEach((menu) => { menu.open = false; });
    document.querySelectorAll('dialog[open]').forEach((dialog) => dialog.close());
    document.activeElement?.blur();
    if (selector) document.querySelector(selector).focus();
  }, focus);
  const places = {
    list: ['/inbox', `#${all[1].id} a`],
    conversation: [`/conversations/${all[1].id}`, null],
    draft: ['/approvals', null],
  };
  for (const [place, [where, focus]] of Object.entries(places)) {
    await page.goto(where);
    if (place === 'draft') {
      await page.locator('#list .item a, .queue .item a, .item a').nth(1).click();
      await page.waitForURL('**/approvals/msg_**');
    }
    await watch();
    const wrong = [];
    for (const row of keys) {
      await settle(focus);
      if ((await press(row.key)) !== row[place]) wrong.push(row.key);
    }
    assert.deepEqual(wrong, [], place);
  }
  // Where something has the keyboard, no key of the table does anything: a menu, the palette, a field.
  const covers = {
    'a menu': async () => page.evaluate(() => { document.querySelector('#status-menu').open = true; }),
    'the palette': async () => page.keyboard.press('ControlOrMeta+k'),
  };
  await page.goto(`/conversations/${all[1].id}`);
  await watch();
  for (const [name, cover] of Object.entries(covers)) {
    const wrong = [];
    for (const { key } of keys) {
      await settle(null);
      await cover();
      if (name === 'the palette' && key === '?') continue;
      if (await press(key)) wrong.push(key);
    }
    assert.deepEqual(wrong, [], name);
  }
});

story(test, 'J opens the next conversation, and E closes the one that is read', async () => {
  const { own, agent, all } = await desk(4);
  const { page } = await own.browser(own.owner);
  await page.goto('/inbox');
  await page.locator(`#${all[0].id} a`).click();
  await page.waitForURL(`**/conversations/${all[0].id}**`);
  await page.keyboard.press('j');
  await page.waitForURL(`**/conversations/${all[1].id}**`);
  await page.locator('#subject').getByText(all[1].subject).waitFor();
  // Another row has the focus: that is not what one reads.
  await page.locator(`#${all[3].id} a`).focus();
  await page.keyboard.press('e');
  await page.waitForURL(`**/conversations/${all[2].id}**`);
  assert.deepEqual([await status(agent, all[1].id), await status(agent, all[3].id)], ['closed', 'open']);
  await page.keyboard.press('k');
  await page.waitForURL(`**/conversations/${all[0].id}**`);
  assert.equal(await row(page), null, 'the focus is where one reads');
});

story(test, 'a menu that is open has the keyboard: a name is typed, Enter assigns, Esc gives the focus back', async () => {
  const { own, agent, all } = await desk(2);
  await own.person('Mia Lindqvist');
  await own.person('Ida Moreno');
  const { page } = await own.browser(own.owner);
  const assignee = async (id) => (await agent.api('GET', `/conversations/${id}`)).assignee?.name ?? null;
  await page.goto(`/conversations/${all[0].id}`);
  await page.keyboard.press('a');
  await page.keyboard.type('mi');
  await page.keyboard.press('Enter');
  await until('it is Mia’s', async () => (await assignee(all[0].id)) === 'Mia Lindqvist');
  await until('the focus is somewhere', async () => (await focused(page)) !== 'body');
  await page.keyboard.press('a');
  assert.deepEqual(await violations(page), [], 'the menu');
  await page.keyboard.type('nobody of this name');
  await page.keyboard.press('Enter');
  assert.equal(await page.locator('#assign-menu').evaluate((menu) => menu.open), true, 'nothing is chosen');
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('#assign-menu').evaluate((menu) => menu.open), false);
  assert.equal(await page.evaluate(() => document.activeElement.parentElement.id), 'assign-menu');
  // A digit takes one of the times.
  await page.keyboard.press('h');
  await page.keyboard.press('2');
  await until('it is snoozed', async () => (await agent.api('GET', `/conversations/${all[0].id}`)).snoozedUntil);
  // From the list the same question stands over it.
  await page.goto('/inbox');
  await page.keyboard.press('j');
  await page.keyboard.press('a');
  const dialog = page.getByRole('dialog', { name: 'Assign 1 conversation' });
  await dialog.getByPlaceholder('Find a person').waitFor();
  assert.deepEqual(await violations(page), [], 'the dialog');
  await page.keyboard.press('Escape');
  await until('it is gone', async () => (await page.locator('dialog').count()) === 0);
  assert.deepEqual([at(page), await row(page), await page.locator('.item .check:checked').count()], ['/inbox', all[1].id, 0]);
  await page.keyboard.press('a');
  await dialog.getByPlaceholder('Find a person').waitFor();
  await page.keyboard.type('ida');
  await page.keyboard.press('Enter');
  await until('it is Ida’s', async () => (await assignee(all[1].id)) === 'Ida Moreno');
  await until('it is over', async () => (await page.locator('dialog').count()) === 0);
  await until('the row has the focus again', async () => (await row(page)) === all[1].id);
  assert.equal(await page.locator('.item .check:checked').count(), 0);
  await page.keyboard.press('h');
  await page.getByRole('dialog', { name: 'Snooze 1 conversation' }).waitFor();
  await page.keyboard.press('1');
  await until('it is snoozed, too', async () => (await agent.api('GET', `/conversations/${all[1].id}`)).snoozedUntil);
});

story(test, 'Esc leaves step by step, keeps the draft, and comes back to the row', async () => {
  const { own, all } = await desk(3);
  const { page } = await own.browser(own.owner);
  await page.goto('/inbox');
  await page.locator(`#${all[1].id} a`).click();
  await page.waitForURL('**/conversations/**');
  await write(page, 'r', 'On Monday at ten.');
  await page.keyboard.press('Escape');
  await page.locator('#begin-reply').waitFor();
  await until('the draft is saved', async () => {
    await page.goto(`/conversations/${all[1].id}?compose=none`);
    return (await page.locator('#begin-reply .dot').count()) === 1;
  });
  await page.keyboard.press('r');
  await until('its words are there', async () => (await words(page)) === 'On Monday at ten.');
  await page.keyboard.press('Escape');
  await page.locator('#begin-reply').waitFor();
  await page.keyboard.press('Escape');
  await page.waitForURL('**/inbox**');
  await until('its row has the focus', async () => (await row(page)) === all[1].id);
  // Picked rows are let go before anything else.
  await page.keyboard.press('x');
  assert.equal(await page.locator('.item .check:checked').count(), 1);
  await page.keyboard.press('Escape');
  assert.deepEqual([at(page), await page.locator('.item .check:checked').count()], ['/inbox', 0]);
});

story(test, 'menus stay inside the window, and two of one first name are told apart', async () => {
  const { own, all } = await desk(1);
  await own.person('Ada Moreno');
  await own.person('Ada Berg', 'member', 'berg@larkfield.test');
  const { page } = await own.browser(own.owner);
  await page.goto(`/conversations/${all[0].id}`);
  for (const menu of ['#workspace-menu', '#assign-menu', '#more-menu', '#list-menu']) {
    await page.locator(`${menu} > summary`).click();
    const box = await page.locator(`${menu} > .menu__panel`).boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= 1440, `${menu} at ${box.x}, ${box.width} wide`);
    await page.keyboard.press('Escape');
  }
  const field = await write(page, 'n', 'Ask ');
  await field.pressSequentially('@ad');
  const names = page.locator('#callable');
  assert.deepEqual(await names.locator('li:visible').allInnerTexts(), ['Ada Berg', 'Ada Moreno']);
  const [list, area] = [await names.boundingBox(), await field.boundingBox()];
  assert.ok(list.x > area.x && list.x < area.x + 120 && list.y + list.height < area.y + 40, 'it stands at the cursor');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  assert.equal(await field.inputValue(), 'Ask @Ada Moreno ');
  await field.pressSequentially('@to');
  await page.keyboard.press('Escape');
  await page.waitForTimeout(500);
  assert.equal(await field.count(), 1, 'only the names are closed');
  await field.pressSequentially('m');
  await page.keyboard.press('Enter');
  assert.equal(await field.inputValue(), 'Ask @Ada Moreno @Tomás ');
});
