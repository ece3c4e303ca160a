// Formatted mail: typed and pasted, with keys and tools, in every script; saved, brought back, sent and taken back. What is
// only words stays only words. A report of the page's policy is an error of its console, and fails the story.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { inspect } from './axe.mjs';
import { CUT_OFF, finish, focused, PHONE, send, stop, story, until, workspace, write, writing } from './world.mjs';

after(finish);
let world, inbox, agent;
before(async () => {
  world = await workspace();
  inbox = await world.inbox('Lettings');
  agent = await world.agent();
});

async function conversation(subject) {
  await world.mail(inbox, { from: 'ada@customer.test', name: 'Ada', subject, text: 'When can we come?' });
  return (await until('it', async () => (await world.conversations(agent)).find((one) => one.subject === subject))).id;
}

/** A reply that is begun, with the cursor in it. */
async function replying(subject, options) {
  const id = await conversation(subject);
  const visit = await world.browser(world.owner, options);
  await visit.page.goto(`/conversations/${id}`);
  await write(visit.page, 'r', '');
  return { id, ...visit };
}

/** What the form would send, and what is seen. */
const written = (page) => page.evaluate(() => {
  const form = document.getElementById('composer-form');
  return { text: form.elements.body.value, html: form.elements.html.value, seen: form.querySelector('.rich').innerHTML };
});
/** The editor as it is when nothing was written, which a browser does not leave behind. */
const clear = (page) => page.evaluate(() => {
  const { editor } = document.querySelector('rich-body');
  editor.words.value = editor.html.value = '';
  editor.read();
  editor.focus();
});
async function paste(page, html, text = 'words') {
  await page.evaluate(([pasted, plain]) => {
    const data = new DataTransfer();
    data.setData('text/html', pasted);
    data.setData('text/plain', plain);
    document.querySelector('.rich').dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
  }, [html, text]);
  // A clipboard is read in its own time.
  await page.waitForTimeout(150);
  return written(page);
}
const tool = (page, name) => page.getByRole('toolbar', { name: 'Formatting' }).getByRole('button', { name, exact: true });
const type = (page, text) => page.keyboard.type(text);
const saved = (page) => page.locator('#saved[data-state=saved]').waitFor();

story(test, 'keys and tools format, Tab nests lists, and undo takes back what redo brings again', async () => {
  const { page } = await replying('By keys');
  await type(page, 'Hello ');
  await page.keyboard.press('Control+b');
  assert.equal(await tool(page, 'Bold').getAttribute('aria-pressed'), 'true');
  await type(page, 'bold');
  await page.keyboard.press('Control+b');
  await type(page, ' and ');
  await page.keyboard.press('Control+i');
  await type(page, 'slanted');
  await page.keyboard.press('Control+i');
  await type(page, ' end');
  let now = await written(page);
  assert.equal(now.html, '<div>Hello <b>bold</b> and <i>slanted</i> end</div>');
  assert.equal(now.text, 'Hello bold and slanted end');
  await page.keyboard.press('Control+a');
  await tool(page, 'Clear formatting').click();
  assert.equal((await written(page)).html, '', 'only words again');

  await clear(page);
  await type(page, 'one');
  await tool(page, 'Bulleted list').click();
  assert.equal(await focused(page), 'div Your message', 'one writes on');
  await page.keyboard.press('Enter');
  await type(page, 'two');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  await type(page, 'deep');
  now = await written(page);
  assert.equal(now.html, '<ul><li>one</li><li>two<ul><li>deep</li></ul></li></ul>');
  assert.equal(now.text, '- one\n- two\n  - deep');
  await page.keyboard.press('Tab');
  assert.notEqual(await focused(page), 'div Your message', 'Tab behind a word goes on');

  await clear(page);
  await type(page, 'first');
  await page.keyboard.press('Control+Shift+9');
  assert.equal((await written(page)).html, '<ol><li>first</li></ol>');
  await page.keyboard.press('Control+Shift+9');
  await page.keyboard.press('Control+]');
  assert.match((await written(page)).html, /^<blockquote>.*first.*<\/blockquote>$/);
  assert.equal((await written(page)).text, '> first');
  await page.keyboard.press('Control+[');
  assert.equal((await written(page)).html, '');

  // A new line begins as one wrote last.
  await clear(page);
  await page.keyboard.press('Control+b');
  await type(page, 'loud');
  await page.keyboard.press('Control+b');
  await page.keyboard.press('Enter');
  assert.equal(await tool(page, 'Bold').getAttribute('aria-pressed'), 'false', 'what was switched off stays off');
  await type(page, 'calm');
  await page.keyboard.press('Control+i');
  await page.keyboard.press('Enter');
  await type(page, 'slanted');
  await page.keyboard.press('Enter');
  await type(page, 'still');
  now = await written(page);
  assert.equal(now.html.replace(/<\/?div>/g, '|'), '|<b>loud</b>||calm||<i>slanted</i>||<i>still</i>|');
  assert.equal(now.text, 'loud\ncalm\nslanted\nstill');

  await clear(page);
  await type(page, 'abc');
  await page.keyboard.press('Control+b');
  await type(page, 'def');
  for (const key of ['z', 'z', 'y', 'y']) await page.keyboard.press(`Control+${key}`);
  assert.equal((await written(page)).text, 'abcdef');
});

story(test, 'what is only words stays only words, also where an address became a link', async () => {
  const { id, page } = await replying('Only words');
  await type(page, 'Just words.');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  // At the pace of a person: a link is made in the moment after a space.
  await page.keyboard.type('  see https://inn.example/12 or  ask', { delay: 20 });
  let now = await written(page);
  assert.match(now.seen, /<a href="https:\/\/inn\.example\/12">/, 'it is a link while one writes');
  assert.deepEqual([now.html, now.text], ['', 'Just words.\n\n  see https://inn.example/12 or  ask']);
  await saved(page);
  await page.reload();
  await writing(page).waitFor();
  now = await written(page);
  assert.deepEqual([now.html, now.text], ['', 'Just words.\n\n  see https://inn.example/12 or  ask'], 'spaces stay');
  assert.equal(await page.locator('#composer-form').getAttribute('data-dirty'), null, 'looking at it changes nothing');
  await send(page);
  await stop(page).first().waitFor();
  assert.match(JSON.stringify(await agent.api('GET', `/conversations/${id}`)), /Just words\./);
});

const WORD = '<html xmlns:o="urn:schemas-microsoft-com:office:office"><head><style>p.MsoNormal{margin:0}</style><!--[if gte mso 9]><xml><o:OfficeDocumentSettings/></xml><![endif]--></head><body lang=EN-US><!--StartFragment-->'
  + "<p class=MsoNormal><b><span style='font-size:14.0pt;color:#2F5496'>Offer<o:p></o:p></span></b></p>"
  + "<p class=MsoListParagraphCxSpFirst style='text-indent:-.25in;mso-list:l0 level1 lfo1'><![if !supportLists]><span style='font-family:Symbol'><span style='mso-list:Ignore'>·<span style='font:7.0pt \"Times New Roman\"'>&nbsp;&nbsp; </span></span></span><![endif]>First<o:p></o:p></p>"
  + "<p class=MsoListParagraphCxSpMiddle style='margin-left:1.0in;mso-list:l0 level2 lfo1'><![if !supportLists]><span style='mso-list:Ignore'>o<span>&nbsp; </span></span><![endif]>Nested</p>"
  + "<p class=MsoListParagraphCxSpLast style='mso-list:l0 level1 lfo1'><![if !supportLists]><span style='mso-list:Ignore'>·<span>&nbsp; </span></span><![endif]>Second <span style='font-weight:bold'>fat</span></p>"
  + "<p class=MsoListParagraph style='mso-list:l1 level1 lfo2'><span style='mso-list:Ignore'>1.<span>&nbsp;</span></span>Numbered</p>"
  + "<table class=MsoTableGrid border=1><tr><td width=200 style='border:solid'><p class=MsoNormal>A</p></td><td><p class=MsoNormal>B</p></td></tr></table>"
  + '<p class=MsoNormal><img width=100 height=50 src="file:///C:/Users/x/clip_image001.png"></p><!--EndFragment--></body></html>';
const GMAIL = '<meta charset="utf-8"><div dir="ltr">Hi <b>Ada</b>,<div><br></div><div>see <a href="https://a.example/x?y=1" target="_blank" data-saferedirecturl="https://www.google.com/url?q=1">the page</a></div>'
  + '<div class="gmail_quote"><blockquote class="gmail_quote" style="margin:0 0 0 .8ex;border-left:1px solid #ccc">On Monday<blockquote>deeper</blockquote></blockquote></div></div>';
const DOCS = '<meta charset="utf-8"><b style="font-weight:normal;" id="docs-internal-guid-1"><p dir="ltr" style="line-height:1.38"><span style="font-size:11pt;font-weight:700;font-style:normal">Bold</span><span style="font-weight:400;font-style:italic"> and italic</span></p>'
  + '<ul><li dir="ltr" style="list-style-type:disc"><p role="presentation"><span>item</span></p></li></ul></b>';
const OUTLOOK = '<div style="font-family: Aptos, sans-serif; font-size: 12pt; color: rgb(0, 0, 0);" class="elementToProof">Outlook <span style="font-weight: bold">web</span></div><div style="display:none">hidden tracker</div>';

story(test, 'a paste from Word, Gmail, Google Docs or Outlook keeps its form and nothing else', async () => {
  const { page } = await replying('Pasted');
  let now = await paste(page, WORD);
  assert.match(now.html, /<b>Offer<\/b>.*<ul><li>.*First.*<ul><li>.*Nested.*Second <b>fat<\/b>.*<ol><li>.*Numbered.*<table><tbody><tr><td>/);
  assert.doesNotMatch(now.html + now.seen, /mso|style|class|o:p|img/i);
  await page.getByText('Pictures weren’t pasted.').waitFor();

  await clear(page);
  now = await paste(page, GMAIL);
  assert.match(now.html, /Hi <b>Ada<\/b>,.*<a href="https:\/\/a\.example\/x\?y=1">the page<\/a>.*<blockquote>.*On Monday.*<blockquote>.*deeper/);
  assert.doesNotMatch(now.html, /saferedirect|class|dir=/);
  assert.match(now.text, /the page <https:\/\/a\.example\/x\?y=1>\n+> On Monday\n> > deeper/);

  await clear(page);
  now = await paste(page, DOCS);
  assert.match(now.html, /<b>Bold<\/b><i> and italic<\/i>.*<ul><li>item/);
  assert.doesNotMatch(now.html, /<b><div|<b><ul/, 'what is around it is not bold');

  await clear(page);
  now = await paste(page, OUTLOOK);
  assert.equal(now.html, '<div>Outlook <b>web</b></div>');

  await clear(page);
  now = await paste(page, '<p>turn one = 1, only=2, style=3 on tuesday=4</p>');
  assert.deepEqual([now.text, now.html], ['turn one = 1, only=2, style=3 on tuesday=4', '']);
});

const HOSTILE = [
  '<img src=x onerror="window.hacked=1"><svg onload="window.hacked=1"><script>window.hacked=1</script>',
  '<a href="javascript:window.hacked=1">click</a><a href=" java\nscript:window.hacked=1">c</a><a href="data:text/html,<script>1</script>">d</a><a href="https://user:pw@bank.example">e</a>',
  '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=window.hacked=1&gt;">',
  '<form action="https://evil.example"><input name=body value=evil><button>send</button></form>text',
  '<iframe srcdoc="<script>parent.hacked=1</script>"></iframe><object data="x"></object>',
  '<img src="https://tracker.example/p.gif"><div style="position:fixed;inset:0;background:url(https://evil.example)">cover</div>',
  '<template><img src=x onerror=window.hacked=1></template><noscript><p title="</noscript><img src=x onerror=window.hacked=1>">',
  '<input type=hidden id="squire-selection-start"><p id=composer-form name=body>clobber</p>',
  `${'<div>'.repeat(5000)}deep${'</div>'.repeat(5000)}`,
  'a\u202egpj.exe\u2066',
];

story(test, 'a hostile paste leaves words, loads nothing and runs nothing', async () => {
  const visit = await replying('Hostile');
  for (const [at, html] of HOSTILE.entries()) {
    await clear(visit.page);
    const now = await paste(visit.page, html);
    assert.doesNotMatch(now.html + now.seen, /script|onerror|onload|style=|<svg|<form|<input|<iframe|<img|javascript|data:|pw@|tracker|id=|name=|\u202e|\u2066/i, `number ${at}`);
    assert.ok(!(await visit.page.evaluate(() => window.hacked)), `number ${at}`);
  }
  assert.deepEqual(visit.foreign, []);
});

story(test, 'input methods write, also inside bold, and a script that runs right to left turns the box', async () => {
  const { page, context } = await replying('Scripts');
  const line = await context.newCDPSession(page);
  const compose = async (steps, end) => {
    for (const text of steps) await line.send('Input.imeSetComposition', { text, selectionStart: text.length, selectionEnd: text.length });
    await line.send('Input.insertText', { text: end });
  };
  await compose(['に', 'にほ', 'にほん'], '日本');
  await type(page, '!');
  assert.equal((await written(page)).text, '日本!');
  await page.keyboard.press('Enter');
  await tool(page, 'Bold').click();
  await compose(['ㅎ', '하', '한'], '한');
  await compose(['ㄱ'], '글');
  assert.equal((await written(page)).text, '日本!\n한글');
  await clear(page);
  const direction = () => writing(page).evaluate((box) => getComputedStyle(box).direction);
  assert.equal(await direction(), 'ltr');
  await page.keyboard.insertText('مرحبا بكم');
  assert.equal(await direction(), 'rtl');
});

story(test, 'a link is set, changed and removed by its key, and only to where a mail may lead', async () => {
  const { page } = await replying('Links');
  const field = page.getByRole('textbox', { name: 'Link address' });
  await type(page, 'our page');
  await page.keyboard.press('Control+a');
  await page.keyboard.press('Control+k');
  assert.equal(await page.getByRole('dialog').count(), 0, 'it is not the palette here');
  await type(page, 'rookery.example/help');
  await page.keyboard.press('Enter');
  let now = await written(page);
  assert.equal(now.html, '<div><a href="https://rookery.example/help">our page</a></div>');
  assert.equal(now.text, 'our page <https://rookery.example/help>');
  await page.keyboard.press('Control+a');
  await page.keyboard.press('Control+k');
  assert.equal(await field.inputValue(), 'https://rookery.example/help');
  await field.fill('javascript:alert(1)');
  await page.keyboard.press('Enter');
  assert.equal(await field.getAttribute('aria-invalid'), 'true');
  await page.getByText('Enter a web address or an email address.').waitFor();
  await page.keyboard.press('Escape');
  assert.equal(await focused(page), 'div Your message', 'the message is still open');
  // With the cursor inside, all of the link is meant.
  await page.keyboard.press('End');
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('Control+k');
  await field.fill('desk@rookery.example');
  await page.getByRole('button', { name: 'Save link' }).click();
  assert.equal((await written(page)).html, '<div><a href="mailto:desk@rookery.example">our page</a></div>');
  await page.keyboard.press('Control+a');
  await page.keyboard.press('Control+k');
  await page.getByRole('button', { name: 'Remove link' }).click();
  now = await written(page);
  assert.deepEqual([now.html, now.text], ['', 'our page']);
});

story(test, 'a saved reply is opened by a slash, stands where the cursor was, and its blank is filled by typing', async () => {
  const { id, page } = await replying('By heart');
  await page.goto('/settings/saved-replies?new=1');
  await page.getByLabel('Name', { exact: true }).fill('Viewing');
  await page.locator('#edit .rich').click();
  assert.equal(await page.locator('#edit .rich__bar [data-tag=IMG]').count(), 0, 'it has no pictures');
  await type(page, 'Dear {{first name}},');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Control+b');
  await type(page, 'come');
  await page.keyboard.press('Control+b');
  await type(page, ' at ten.');
  await page.getByRole('button', { name: 'Save', exact: true }).first().click();
  await page.getByRole('link', { name: /Viewing/ }).click();
  assert.equal(await page.locator('#edit .rich b').textContent(), 'come', 'it is kept with its formatting');
  await page.goto(`/conversations/${id}`);
  await write(page, 'r', '');
  await page.keyboard.press('Control+b');
  await type(page, 'Good news');
  await page.keyboard.press('Control+b');
  await type(page, ' 1/2');
  assert.equal(await page.getByLabel('Find a saved reply').count(), 0, 'a slash in a line is a slash');
  await page.keyboard.press('Enter');
  await type(page, '/');
  const find = page.getByLabel('Find a saved reply');
  await find.waitFor();
  await page.keyboard.press('Escape');
  assert.equal((await written(page)).text, 'Good news 1/2\n/', 'one was meant');
  await page.keyboard.press('Backspace');
  await type(page, '/');
  await until('it has the keyboard', async () => (await focused(page)) === 'input Find a saved reply');
  await page.keyboard.press('Enter');
  await until('it is there', async () => /come at ten/.test((await written(page)).text));
  await type(page, 'Ada');
  const now = await written(page);
  assert.equal(now.text, 'Good news 1/2\nDear Ada,\n\ncome at ten.');
  assert.match(now.html, /<b>Good news<\/b> 1\/2.*Dear Ada,.*<b>come<\/b> at ten\./);
});

story(test, 'a formatted draft is saved, kept in the browser while it cannot be, and brought back', async () => {
  const { id, page, context } = await replying('Kept', { allow: [CUT_OFF] });
  const at = `/conversations/${id}?compose=reply`;
  await type(page, 'Many ');
  await page.keyboard.press('Control+b');
  await type(page, 'thanks');
  await saved(page);
  await page.goto(at);
  await writing(page).waitFor();
  let now = await written(page);
  assert.deepEqual([now.html, now.text], ['<div>Many <b>thanks</b></div>', 'Many thanks']);
  assert.match(now.seen, /<b>thanks<\/b>/);
  // A page that cannot reach the service asks for nothing more, and is closed.
  const lost = await context.newPage();
  await lost.goto(at);
  await writing(lost).waitFor();
  await lost.evaluate(() => {
    window.fetch = () => Promise.reject(new TypeError('Failed to fetch'));
    navigator.sendBeacon = () => false;
  });
  await writing(lost).focus();
  await lost.keyboard.press('Control+a');
  await lost.keyboard.press('Control+i');
  await lost.close();
  await page.goto(at);
  await page.locator('.composer__asks').getByText('Draft restored').waitFor();
  await writing(page).waitFor();
  assert.match((await written(page)).seen, /<i>.*Many/);
  await saved(page);
  await page.reload();
  await writing(page).waitFor();
  now = await written(page);
  assert.match(now.html, /<i>/);
  assert.equal(now.text, 'Many thanks');
  // A note is only text, and what was formatted stays where it was.
  await page.locator('#tab-note').click();
  await page.getByPlaceholder('Write a note').waitFor();
  assert.equal(await page.locator('rich-body, .rich__bar').count(), 0);
  await page.locator('#tab-reply').click();
  await page.locator('.rich').waitFor();
  assert.match((await written(page)).seen, /<i>/);
  assert.equal(await tool(page, 'Bold').count(), 1);
});

story(test, 'a window that another one crossed gets the other’s formatting, or keeps its own', async () => {
  const { id, page, context } = await replying('Two windows', { allow: [/409/] });
  const other = await context.newPage();
  await other.goto(`/conversations/${id}?compose=reply`);
  await writing(other).waitFor();
  await writing(other).focus();
  await other.keyboard.press('Control+b');
  await type(other, 'Theirs');
  await saved(other);
  await type(page, 'Mine');
  await page.getByText('You wrote on in another window.').waitFor();
  await page.getByRole('button', { name: 'Take the other words' }).click();
  const now = await written(page);
  assert.deepEqual([now.text, now.html], ['Theirs', '<div><b>Theirs</b></div>']);
  assert.match(now.seen, /<b>Theirs<\/b>/);
});

story(test, 'a formatted reply is sent, seen in the timeline as it leaves, and taken back as it was', async () => {
  const { page } = await replying('Sent');
  await type(page, 'Come ');
  await page.keyboard.press('Control+b');
  await type(page, 'on Monday');
  await page.keyboard.press('Control+b');
  await type(page, '.');
  await page.keyboard.press('Enter');
  await tool(page, 'Bulleted list').click();
  await type(page, 'with the papers');
  const before = await written(page);
  assert.equal(before.html, '<div>Come <b>on Monday</b>.</div><ul><li>with the papers</li></ul>');
  await page.keyboard.press('Control+Enter');
  await stop(page).first().waitFor();
  const mail = page.locator('#timeline .entry__rich').last();
  await mail.locator('b').getByText('on Monday').waitFor();
  await mail.locator('li').getByText('with the papers').waitFor();
  await stop(page).first().click();
  await writing(page).waitFor();
  await until('it is back', async () => (await written(page)).text === before.text);
  assert.equal((await written(page)).html, before.html);
});

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
/** Files as a browser hands them over, pasted or dropped into the text. */
const hand = (page, kind, ...files) => page.evaluate(([event, given, pixel]) => {
  const data = new DataTransfer(), box = document.querySelector('.rich');
  for (const [name, type] of given) data.items.add(new File([Uint8Array.from(atob(pixel), (letter) => letter.charCodeAt(0))], name, { type }));
  const { left, top } = box.getBoundingClientRect();
  const shared = { bubbles: true, cancelable: true };
  box.dispatchEvent(event === 'paste' ? new ClipboardEvent(event, { clipboardData: data, ...shared }) : new DragEvent(event, { dataTransfer: data, clientX: left + 16, clientY: top + 16, ...shared }));
}, [kind, files, PIXEL]);
const PICTURE = /<img alt="([^"]*)" height="1" src="cid:dfl_\w{13}" width="1">/g;
const described = async (page, count) => {
  let found = [];
  await until('the pictures are there', async () => (found = [...(await written(page)).html.matchAll(PICTURE)]).length === count);
  return found.map(([, alt]) => alt);
};

story(test, 'a pasted picture stands in the text, is described, sent, seen in the timeline and taken back', async () => {
  const { page } = await replying('A picture');
  await type(page, 'The door: ');
  await hand(page, 'paste', ['door.png', 'image/png']);
  assert.deepEqual(await described(page, 1), ['door']);
  assert.equal((await written(page)).text, 'The door: [door]');
  assert.equal(await page.locator('#draft-files li').count(), 0, 'it is in no list of files');
  const shown = page.locator('.rich img');
  assert.ok(await shown.evaluate((image) => image.naturalWidth === 1), 'it comes from our own origin');
  await shown.click();
  await page.getByRole('button', { name: 'Small', exact: true }).click();
  assert.equal(await focused(page), 'div Your message', 'letters are still written');
  await page.getByRole('textbox', { name: 'What the picture shows' }).fill('The blue door');
  await inspect(page, 'editor-picture');
  await page.keyboard.press('Enter');
  assert.deepEqual(await described(page, 1), ['The blue door']);
  await saved(page);
  await page.reload();
  await writing(page).waitFor();
  assert.deepEqual(await described(page, 1), ['The blue door']);
  assert.equal(await page.locator('#composer-form').getAttribute('data-dirty'), null, 'looking at it changes nothing');
  await send(page);
  await stop(page).first().waitFor();
  const mail = page.locator('#timeline .entry:has(.entry__rich)').last();
  await mail.getByRole('img', { name: 'The blue door' }).waitFor();
  assert.ok(await mail.locator('.entry__rich img').evaluate((image) => image.decode().then(() => image.naturalWidth === 1)));
  assert.equal(await mail.locator('.files').count(), 0, 'nor is it listed here');
  await stop(page).first().click();
  await writing(page).waitFor();
  assert.deepEqual(await described(page, 1), ['The blue door']);
});

story(test, 'pictures are dropped, chosen and pasted with their bytes; other files stay beside the text, and the web stays out', async () => {
  const visit = await replying('Many pictures');
  const { page } = visit;
  await hand(page, 'drop', ['one.png', 'image/png'], ['lease.txt', 'text/plain'], ['two.png', 'image/png']);
  assert.deepEqual((await described(page, 2)).sort(), ['one', 'two']);
  await page.locator('#draft-files').getByRole('button', { name: 'Remove lease.txt' }).waitFor();
  await clear(page);
  const choosing = page.waitForEvent('filechooser');
  await tool(page, 'Picture').click();
  await (await choosing).setFiles({ name: 'three.png', mimeType: 'image/png', buffer: Buffer.from(PIXEL, 'base64') });
  await until('it asks what the picture shows', async () => (await focused(page)) === 'input What the picture shows');
  await page.keyboard.press('Escape');
  assert.deepEqual(await described(page, 1), ['three']);
  await clear(page);
  await paste(page, `<p>See <img alt="inside" src="data:image/png;base64,${PIXEL}"> and <img alt="far" src="https://tracker.example/p.gif"></p>`);
  assert.deepEqual(await described(page, 1), ['inside']);
  assert.match((await written(page)).text, /^See \[inside\] and/);
  await page.getByText('Pictures weren’t pasted.').waitFor();
  assert.deepEqual(visit.foreign, []);
  // What was taken out comes back as long as one writes.
  await page.keyboard.press('Control+a');
  await page.keyboard.press('Delete');
  await until('it is gone', async () => (await written(page)).html === '');
  await page.keyboard.press('Control+z');
  assert.deepEqual(await described(page, 1), ['inside']);
});

story(test, 'a picture of another draft is fetched and becomes one of this', async () => {
  const { page } = await replying('Its own picture');
  await hand(page, 'paste', ['door.png', 'image/png']);
  await described(page, 1);
  await saved(page);
  const { text: body, html } = await written(page);
  await page.goto(`/conversations/${await conversation('Another draft')}?compose=reply`);
  await writing(page).waitFor();
  await page.evaluate((words) => document.querySelector('draft-keeper').fill(words, true), { body, html });
  assert.deepEqual(await described(page, 1), ['door']);
  assert.notEqual((await written(page)).html, html, 'it is a file of its own');
  await saved(page);
  await page.reload();
  await writing(page).waitFor();
  assert.deepEqual(await described(page, 1), ['door']);
});

story(test, 'a secure link sends text, and says so', async () => {
  const { page } = await replying('Sealed');
  await page.keyboard.press('Control+b');
  await type(page, 'Between us');
  await page.getByRole('button', { name: 'Secure link', exact: true }).click();
  await page.getByText('A secure link sends your text without formatting.').waitFor();
  assert.equal(await page.getByRole('toolbar', { name: 'Formatting' }).isVisible(), false);
  await saved(page);
  await page.reload();
  await writing(page).waitFor();
  const now = await written(page);
  assert.deepEqual([now.html, now.text], ['', 'Between us']);
});

story(test, 'single keys stay letters, the tools are one stop of Tab, and Esc goes back to the text', async () => {
  const { page } = await replying('Tools');
  await type(page, 'jk?gs/exz');
  assert.equal((await written(page)).text, 'jk?gs/exz');
  assert.match(page.url(), /conversations/);
  await page.keyboard.press('Shift+Tab');
  assert.equal(await focused(page), 'button Bold');
  for (const [key, name] of [['ArrowRight', 'Italic'], ['End', 'Clear formatting'], ['ArrowRight', 'Bold'], ['ArrowLeft', 'Clear formatting'], ['Home', 'Bold'], ['ArrowRight', 'Italic']]) {
    await page.keyboard.press(key);
    assert.equal(await focused(page), `button ${name}`, key);
  }
  await page.keyboard.press('Escape');
  assert.equal(await focused(page), 'div Your message');
  await page.keyboard.press('Shift+Tab');
  assert.equal(await focused(page), 'button Italic', 'it is the one that was used last');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await page.locator('#begin-reply').waitFor();
});

for (const [name, size, scheme] of [['desk', undefined, 'light'], ['phone', PHONE, 'dark']]) {
  story(test, `the editor passes axe and fits, ${name}`, async () => {
    const id = await conversation(`Looks, ${name}`);
    const { page } = await world.browser(world.owner, { scheme, ...(size && { size }) });
    await page.goto(`/conversations/${id}?compose=reply`);
    await writing(page).waitFor();
    await inspect(page, `editor-empty-${name}`);
    await writing(page).focus();
    await paste(page, '<div>Dear Ada,</div><div><br></div><div>here is <b>what we agreed</b>:</div><ul><li>two nights, <a href="https://a.example/">room 12</a></li><li>breakfast</li></ul><blockquote>When can we come?</blockquote><div>Any time after 3 pm.</div><pre>code</pre><table><tr><th>Night</th><td>1</td></tr></table>');
    await page.keyboard.press('Control+k');
    await inspect(page, `editor-${name}`);
    const least = size ? 44 : 24;
    const small = await page.locator('.rich__bar button:visible, .rich__ask :is(button, input):visible').evaluateAll((all, wanted) =>
      all.map((one) => [one.getBoundingClientRect(), one.textContent || one.ariaLabel]).filter(([box]) => box.width < wanted || box.height < wanted).map(([box, label]) => `${label}: ${box.width}x${box.height}`), least);
    assert.deepEqual(small, []);
  });
}

story(test, 'without the editor the text is written as it is', async () => {
  const id = await conversation('No editor');
  const { page, context } = await world.browser(world.owner, { allow: [CUT_OFF] });
  await context.route('**/assets/editor-*.js', (route) => route.abort());
  await page.goto(`/conversations/${id}?compose=reply`);
  const field = page.locator('#composer-form #body');
  await field.fill('Plain and simple.');
  await saved(page);
  await page.reload();
  assert.equal(await field.inputValue(), 'Plain and simple.');
  assert.equal(await page.locator('.rich').count(), 0);
});

story(test, 'a signature is formatted and has a logo, and is seen under what one writes, also when the inbox changes', async () => {
  const flats = await world.inbox('Flats');
  const { page } = await world.browser(world.owner);
  await page.goto('/settings/saved-replies');
  const form = page.locator(`form:has(#sig-${flats.id})`);
  await form.locator('.rich').click();
  await page.keyboard.press('Control+b');
  await type(page, 'Flats');
  await page.keyboard.press('Control+b');
  const choosing = page.waitForEvent('filechooser');
  await form.getByRole('button', { name: 'Picture', exact: true }).click();
  await (await choosing).setFiles({ name: 'logo.png', mimeType: 'image/png', buffer: Buffer.from(PIXEL, 'base64') });
  await form.locator('.rich img[src^="/pictures/sgf_"]').waitFor();
  await until('it asks what the picture shows', async () => (await focused(page)) === 'input What the picture shows');
  await page.keyboard.press('Escape');
  await inspect(page, 'editor-signature');
  await form.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved.').first().waitFor();
  await page.goto('/compose');
  const from = page.locator('#from'), signs = page.locator('#signs');
  await from.selectOption(flats.id);
  await signs.locator('b').getByText('Flats').waitFor();
  assert.ok(await signs.locator('img').evaluate((image) => image.decode().then(() => image.naturalWidth === 1)));
  const sealed = page.getByRole('button', { name: 'Secure link', exact: true });
  await sealed.click();
  await until('a secure link signs in text', async () => (await signs.locator('b').count()) === 0);
  await signs.getByText('Flats').first().waitFor();
  await sealed.click();
  await signs.locator('b').getByText('Flats').waitFor();
  await from.selectOption(inbox.id);
  await until('the other inbox has none', async () => (await signs.locator('b').count()) === 0);
});
