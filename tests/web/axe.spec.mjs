// axe finds nothing on any page, in both themes, at a desk and on a phone.

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { violations } from './axe.mjs';
import { api, DESK, demonstration, find, finish, PHONE, story, stranger } from './world.mjs';

after(finish);
let world, pages;
/** The tags that the list offers, as addresses have them. */
async function tags() {
  const { page, context } = await world.browser(world.owner);
  await page.goto('/inbox');
  const links = await page.locator('.list__tags a').evaluateAll((all) => all.map((one) => new URL(one.href).searchParams.get('tag')));
  await context.close();
  return links;
}
before(async () => {
  world = await demonstration();
  const of = (words) => find(world.key, words);
  const { agent } = await api(world.key, 'GET', '/me');
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
    'a tag': `/inbox?tag=${(await tags())[0]}`,
    'search with hits': '/search?q=deposit',
    'search without hits': '/search?q=nosuchword',
    library: '/documents',
    'a search in the library': '/documents?q=nosuchword',
    'writing a reply': `/conversations/${await of('Whitfield')}?compose=reply`,
    'writing a note': `/conversations/${await of('Whitfield')}?compose=note`,
    merging: `/conversations/${await of('Whitfield')}/merge`,
    'moving it': `/conversations/${await of('Whitfield')}/move`,
    compose: '/compose',
    drafts: '/drafts',
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
      await page.emulateMedia({ colorScheme: 'light' });
      await page.goto(where);
      found.push(...(await violations(page)).map((one) => `${name}: ${one}`));
      // The themes differ in colours and in nothing else.
      await page.emulateMedia({ colorScheme: 'dark' });
      found.push(...(await violations(page, ['color-contrast'])).map((one) => `${name}, dark: ${one}`));
    };
    const door = await stranger({ size });
    await look(door.page, 'sign-in', '/sign-in');
    const { page } = await world.browser(world.owner, { size, allow: [/404/] });
    for (const [name, where] of Object.entries(pages)) await look(page, name, where);
    assert.deepEqual(found, []);
  });
}
