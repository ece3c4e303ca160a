// axe finds nothing on any page, in both themes, at a desk and on a phone.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { violations } from './axe.mjs';
import { api, DESK, demonstration, find, finish, PHONE, story, stranger, url } from './world.mjs';

after(finish);
let world, pages;
/** Addresses that only pages say: the first link or field of each that is meant. */
async function said() {
  const { page, context } = await world.browser(world.owner);
  const first = async (where, selector, name) => {
    await page.goto(where);
    return page.locator(selector).first().getAttribute(name);
  };
  const found = {
    tag: new URL(await first('/inbox', '.list__tags a', 'href'), url).searchParams.get('tag'),
    document: await first('/documents', 'a[href^="/documents/doc_"]', 'href'),
    draft: await first('/approvals', '#picked input[name=id]', 'value'),
    failed: await first('/outgoing', 'a[href$="/again"]', 'href'),
  };
  await context.close();
  return found;
}
before(async () => {
  world = await demonstration();
  const of = (words) => find(world.key, words);
  const { agent } = await api(world.key, 'GET', '/me');
  const { tag, document, draft, failed } = await said();
  const whitfield = await of('Whitfield');
  pages = {
    inbox: '/inbox',
    mine: '/inbox?view=mine',
    waiting: '/inbox?view=waiting',
    snoozed: '/inbox?view=snoozed',
    closed: '/inbox?view=closed',
    'a busy conversation': `/conversations/${await of('Kastanienallee')}`,
    'a long conversation': `/conversations/${await of('Tannery')}`,
    'an HTML mail': `/conversations/${await of('Nestfinder')}`,
    'right to left': `/conversations/${await of('שרברב')}`,
    approvals: '/approvals',
    outgoing: '/outgoing',
    'approving several': `/approvals/many?id=${encodeURIComponent(draft)}`,
    'sending again': failed,
    'a tag': `/inbox?tag=${tag}`,
    'search with hits': '/search?q=deposit',
    'search without hits': '/search?q=nosuchword',
    library: '/documents',
    'a document': document,
    'a search in the library': '/documents?q=nosuchword',
    'writing a reply': `/conversations/${whitfield}?compose=reply`,
    'writing a note': `/conversations/${whitfield}?compose=note`,
    merging: `/conversations/${whitfield}/merge`,
    'moving it': `/conversations/${whitfield}/move`,
    'deleting it': `/settings/data/conversation?id=${whitfield}`,
    'saved replies for it': `/conversations/${whitfield}/saved-replies`,
    compose: '/compose',
    'saved replies for a new one': '/compose/saved-replies',
    drafts: '/drafts',
    'signed in again': '/signed-in',
    'saved replies': '/settings/saved-replies',
    'a new saved reply': '/settings/saved-replies?new=1',
    inboxes: '/settings/inboxes?new=1',
    domains: '/settings/domains',
    notices: '/notices',
    'what one is told': '/notices/choices',
    profile: '/profile',
    settings: '/settings',
    keys: '/settings/keys',
    'a new key': '/settings/keys/new',
    'revoking a key': `/settings/keys/${agent.id}/revoke`,
    agents: '/settings/agents',
    assistants: '/settings/assistants',
    'discarding their drafts': '/settings/assistants/discard',
    'an agent': `/settings/agents/${agent.id}`,
    'its day': `/settings/agents/${agent.id}/day`,
    webhooks: '/settings/webhooks',
    'a new webhook': '/settings/webhooks/new',
    services: '/settings/services',
    'a new service': '/settings/services/new',
    'a service with a token': '/settings/services/new?service=own',
    sandbox: '/settings/sandbox',
    'the audit log': '/settings/audit',
    health: '/settings/health',
    data: '/settings/data?who=nobody@customer.test',
    people: '/settings/people',
    'removing somebody': `/settings/people/${world.filled.people.at(-1).user}/remove`,
    rules: '/settings/rules',
    'a new rule': '/settings/rules/new',
    'own views': '/settings/views',
    reports: '/reports',
    'single sign-on': '/settings/sign-in',
    'a second factor': '/profile/second-factor',
    setup: '/welcome',
    'name and zone': '/welcome?step=name',
    'an inbox': `/settings/inboxes/${(await api(world.key, 'GET', '/mailboxes'))[0].id}`,
    documentation: '/docs',
    'a page of it': '/docs/start',
    'the reference': '/docs/api',
    'a search in it': '/docs/search?q=webhook',
    'no such page': '/conversations/cnv_nosuch',
  };
});

for (const size of [DESK, PHONE]) {
  story(test, `no violations, both themes, ${size.width} px`, async () => {
    const found = [];
    const look = async (page, name, where) => {
      await page.goto(where);
      found.push(...(await violations(page)).map((one) => `${name}: ${one}`));
    };
    const door = await stranger({ size });
    await look(door.page, 'sign-in', '/sign-in');
    await look(door.page, 'a link to sign in', await world.signInLink(world.owner));
    const { page } = await world.browser(world.owner, { size, allow: [/404/] });
    for (const [name, where] of Object.entries(pages)) await look(page, name, where);
    assert.deepEqual(found, []);
  });
}
