// A workspace of its own for every spec: people, an inbox, customers' mail and an agent, made with the binary as an
// operator makes them; and browsers in which people are signed in by their link.
//
// A page tells its troubles: an exception, a refused script or style, a failed request or a dialog fails the story.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';

const run = promisify(execFile);
export const { BIN: bin, WORK: work } = process.env;
export let url = process.env.WEB_URL;
/** From now on everything happens on this machine. */
export function moveTo(machine) {
  Object.assign(process.env, machine.env);
  url = machine.url;
}
export const DESK = { width: 1440, height: 900 };
export const PHONE = { width: 375, height: 740 };

/** What the database of this machine says to a statement. */
export async function sql(statement) {
  return (await run('psql', ['-XAtq', process.env.ROOKERY_DATABASE_URL, '-c', statement])).stdout.trim();
}

/** Runs the binary and gives its output as JSON. */
export async function rookery(...words) {
  for (let tries = 1; ; tries += 1) {
    try {
      return JSON.parse((await run(bin, words, { cwd: work, maxBuffer: 64 << 20 })).stdout);
    } catch (error) {
      // A machine that is very busy: nothing was begun.
      if (tries === 5 || !/pool timed out/.test(error.stderr)) throw error;
    }
  }
}
export const admin = (...words) => rookery('admin', ...words, '--json');

let browser;
const opened = [];

/** One browser a spec; closed when the spec ends. */
async function chrome() {
  browser ??= await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--force-color-profile=srgb'],
  });
  return browser;
}

/** To be given to `after`: closes the browser, and fails when a page had troubles. */
export async function finish() {
  const troubles = opened.flatMap((visit) => visit.troubles);
  for (const visit of opened) await visit.context.close().catch(() => {});
  await browser?.close();
  browser = undefined;
  assert.deepEqual(troubles, [], 'a page had troubles');
}

/** Takes a picture of every open page when a story fails, so that one sees what the browser saw. */
export function story(test, name, body) {
  test(name, async (t) => {
    try {
      await body(t);
    } catch (error) {
      let number = 0;
      for (const visit of opened) {
        const file = path.join(work, 'pictures', `${name.replace(/[^a-z0-9]+/gi, '-').slice(0, 60)}-${++number}.png`);
        await visit.page.screenshot({ path: file }).catch(() => {});
      }
      throw error;
    }
  });
}

/** A workspace with an owner and an inbox. */
export async function workspace(name = 'Larkfield Homes') {
  const made = await admin('create-workspace', '--name', name, '--plan', 'team', '--owner-email', 'tomas@larkfield.test', '--owner-name', 'Tomás Herrera');
  return new Workspace(made.workspace, { id: made.owner, name: 'Tomás Herrera' });
}

/** A workspace with the whole demonstration in it. */
export async function demonstration() {
  const world = await workspace();
  const filled = await rookery('demo', '--workspace', world.id, '--json');
  world.filled = filled;
  for (const { user, name } of filled.people) world.people[name.split(' ')[0]] = { id: user, name };
  world.key = filled.agents[0].key;
  return world;
}

/** A draft that stands open and is decided meanwhile is asked for once more, and is gone. */
const DECIDED = /404 \(Not Found\) \(http:\S+\/approvals\/msg_/;

let letters = 0;

class Workspace {
  constructor(id, owner) {
    this.id = id;
    this.owner = owner;
    this.people = { [owner.name.split(' ')[0]]: owner };
  }

  async person(name, role = 'member', email) {
    email ??= `${name.split(' ')[0].toLowerCase().replace(/[^a-z]/g, '')}@larkfield.test`;
    const made = await admin('create-user', '--workspace', this.id, '--email', email, '--name', name, '--role', role);
    return (this.people[name.split(' ')[0]] = { id: made.user, name, email });
  }

  /** The address has to be new on the whole service, so it carries the workspace's name. */
  async inbox(name = 'Lettings', privateTo) {
    const address = `${name.toLowerCase().replace(/[^a-z]/g, '')}@${this.id.slice(4)}.test`;
    const only = privateTo ? ['--private-to', privateTo.id] : [];
    const made = await admin('create-mailbox', '--workspace', this.id, '--address', address, '--name', name, ...only);
    return { id: made.mailbox, name, address };
  }

  async agent(name = 'Lease Helper') {
    const made = await admin('create-key', '--workspace', this.id, '--maker', this.owner.id, '--name', name, '--scopes', 'read,write,draft,send', '--mode', 'live');
    return { id: made.agent, name, key: made.key, api: (method, where, body) => api(made.key, method, where, body) };
  }

  /** Mail that a customer wrote. `mail.raw` is the whole mail; otherwise it is put together from `text` or `html`. */
  async mail(inbox, mail) {
    return (await this.mails(inbox, [mail]))[0];
  }

  async mails(inbox, many) {
    const folder = await mkdtemp(path.join(work, 'mail-'));
    const files = [];
    for (const mail of many) {
      mail.id ??= `${++letters}.${process.pid}@customer.test`;
      const file = path.join(folder, `${files.length}.eml`);
      await writeFile(file, mail.raw ?? written(inbox, mail));
      files.push(file);
    }
    const said = await admin('import-mail', '--workspace', this.id, '--mailbox', inbox.id, ...files);
    assert.equal(said.failed, 0, JSON.stringify(said));
    return many;
  }

  /** The newest conversations, as an agent lists them: `[{ id, subject }]`. */
  async conversations(agent, query = 'limit=50') {
    return agent.api('GET', `/conversations?${query}`);
  }

  /** The Message-ID that a message of ours leaves with: customers' answers are known by it. */
  async messageId(message) {
    const asked = `select rfc_message_id from messages where rfc_message_id like '${message}.%'`;
    const found = await sql(asked);
    assert.match(found, /@/, `no message ${message}`);
    return found;
  }

  async signInLink(person) {
    return (await admin('sign-in-link', '--workspace', this.id, '--person', person.id)).url;
  }

  /** A browser window of its own with this person signed in. */
  async browser(person, options = {}) {
    const visit = await stranger(options);
    await this.signIn(visit.page, person, options.link);
    visit.person = person;
    return visit;
  }

  /** The person signs in here, whoever was before. */
  async signIn(page, person, link) {
    await page.goto(link ?? (await this.signInLink(person)));
    await page.locator('main form').getByRole('button').first().click();
    await page.waitForURL((at) => !at.pathname.startsWith('/sign-in'));
  }
}

function written(inbox, mail) {
  const head = [
    `From: ${mail.name ? `"${mail.name}" ` : ''}<${mail.from}>`,
    `To: ${inbox.address}`,
    ...(mail.cc ? [`Cc: ${mail.cc}`] : []),
    `Subject: ${mail.subject}`,
    `Message-ID: <${mail.id}>`,
    ...(mail.answers ? [`In-Reply-To: <${mail.answers}>`, `References: <${mail.answers}>`] : []),
    'MIME-Version: 1.0',
    `Content-Type: text/${mail.html ? 'html' : 'plain'}; charset=utf-8`,
    'Content-Transfer-Encoding: 8bit',
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${(mail.html ?? mail.text).replace(/\r?\n/g, '\r\n')}\r\n`);
}

/** The API, as an agent's program calls it. */
export async function api(key, method, where, body) {
  const answer = await fetch(`${url}/api/v1${where}`, {
    method,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: body && JSON.stringify(body),
  });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${where}: ${answer.status} ${text}`);
  return JSON.parse(text);
}

/** The first conversation with these words, whatever its status. The index follows mail by a moment. */
export function find(key, words) {
  return until(`${words} is found`, async () => {
    for (const view of ['open', 'waiting', 'closed', 'snoozed']) {
      const [found] = await api(key, 'GET', `/conversations?view=${view}&limit=1&q=${encodeURIComponent(words)}`);
      if (found) return found.id;
    }
    return null;
  });
}

/** The scripts of the tree instead of those in the binary, joined as build.rs does it: no build between two tries. */
async function scripts(...folders) {
  const top = path.join(import.meta.dirname, '../../crates/web/static');
  const all = [];
  for (const folder of folders) {
    for (const name of (await readdir(path.join(top, folder))).filter((one) => one.endsWith('.js')).sort()) all.push(await readFile(path.join(top, folder, name), 'utf8'));
  }
  return all.join(';\n');
}

/** A browser window in which nobody is signed in. */
export async function stranger({ size = DESK, scheme = 'light', script = true, allow = [], link, ...more } = {}) {
  const phone = size.width < 500;
  const context = await (await chrome()).newContext({
    baseURL: url,
    viewport: size,
    colorScheme: scheme,
    javaScriptEnabled: script,
    hasTouch: phone,
    isMobile: phone,
    // No animation has to end before something can be clicked.
    reducedMotion: 'reduce',
    ...more,
  });
  context.setDefaultTimeout(15_000);
  if (process.env.WEB_SCRIPTS) {
    const joined = { app: await scripts('vendor', 'js'), editor: await scripts('vendor/editor', 'js/editor') };
    for (const [name, body] of Object.entries(joined)) {
      await context.route(`**/assets/${name}-*.js`, (route) => route.fulfill({ contentType: 'text/javascript; charset=utf-8', body }));
    }
  }
  const page = await context.newPage();
  const visit = { context, page, troubles: [], foreign: [], dialogs: 0 };
  const trouble = (text) => {
    if (![DECIDED, ...allow].some((known) => known.test(text))) visit.troubles.push(text);
  };
  page.on('pageerror', (error) => trouble(`exception: ${error.message}`));
  page.on('console', (said) => {
    // A navigation cuts streams and pictures off, and browsers ask for an icon; that is no trouble.
    if (said.type() === 'error' && !said.location().url.endsWith('/favicon.ico') && !/net::ERR_(ABORTED|NETWORK_CHANGED|INCOMPLETE_CHUNKED_ENCODING|EMPTY_RESPONSE)/.test(said.text())) {
      trouble(`console: ${said.text()} (${page.url()})`);
    }
  });
  context.on('dialog', async (dialog) => {
    visit.dialogs += 1;
    trouble(`dialog: ${dialog.message()}`);
    await dialog.dismiss().catch(() => {});
  });
  context.on('request', (request) => {
    const at = new URL(request.url());
    if (at.protocol.startsWith('http') && at.origin !== new URL(url).origin) visit.foreign.push(request.url());
  });
  opened.push(visit);
  return visit;
}

/** What one writes into: the editor of a mail, or the field of a note. Without script it is `#body`, always. */
export const WRITING = '#composer-form :is(.rich, :not(rich-body) > .composer__body)';
export const writing = (page) => page.locator(WRITING);
/** The words in it, as the form has them. */
export const words = (page) => page.locator('#composer-form [name=body]').inputValue();

/** The composer of a conversation's page, opened by its key; gives what one writes into. */
export async function write(page, key, text) {
  await page.keyboard.press(key);
  const field = writing(page);
  await field.waitFor();
  await field.fill(text);
  return field;
}
export const send = (page) => page.locator('#composer-form #send').click();
/** Stops what is leaving in this conversation, or takes back what one sent oneself. */
export const stop = (page) => page.locator('#timeline').getByRole('button', { name: /^(Stop|Undo)/ });

/** What a browser says of requests that could not be made, or were answered with a refusal. */
export const CUT_OFF = /ERR_INTERNET_DISCONNECTED|ERR_FAILED|Failed to fetch|Failed to load resource|htmx:error/;

/** What has the focus: its id, or its tag and name. */
export function focused(page) {
  return page.evaluate(() => {
    const at = document.activeElement;
    if (!at || at === document.body) return 'body';
    return at.id ? `#${at.id}` : `${at.tagName.toLowerCase()} ${(at.getAttribute('aria-label') ?? at.textContent).trim().slice(0, 40)}`;
  });
}

/** Asks until it holds, and then gives what was seen. */
export async function until(what, ask, seconds = 15) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    // A page that is on its way to the next one cannot be asked.
    const seen = await ask().catch((error) => {
      if (!/context was destroyed|Not attached to an active page/.test(error.message)) throw error;
    });
    if (seen) return seen;
    assert.ok(Date.now() < end, `not within ${seconds} s: ${what}`);
    await new Promise((done) => setTimeout(done, 100));
  }
}
