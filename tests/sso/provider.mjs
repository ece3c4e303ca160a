// A provider as a company has one: people with confirmed addresses and one without, our client, and a key for each way of
// signing that Rookery accepts. Its own pages ask for a name and for leave.

import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:net';
import Provider from 'oidc-provider';

export const CLIENT = { id: 'rookery', secret: 'a-secret-of-the:client%&+' };

export function freePort() {
  return new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

const KINDS = { RS256: ['rsa', { modulusLength: 2048 }], PS256: ['rsa', { modulusLength: 2048 }], ES256: ['ec', { namedCurve: 'P-256' }], Ed25519: ['ed25519', {}] };

function key(alg) {
  const { privateKey } = generateKeyPairSync(...KINDS[alg]);
  return { ...privateKey.export({ format: 'jwk' }), alg, use: 'sig', kid: `key-${alg}` };
}

/** `people` by the name they type; `tells` whether the address stands in the token or is told when asked for. */
export async function start({ redirect, people, alg = 'RS256', tells = true, auth = 'client_secret_basic' }) {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [redirect],
        response_types: ['code'],
        grant_types: ['authorization_code'],
        token_endpoint_auth_method: auth,
        id_token_signed_response_alg: alg,
      },
    ],
    clientAuthMethods: [auth],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    conformIdTokenClaims: !tells,
    cookies: { keys: ['only for tests'] },
    enabledJWA: { idTokenSigningAlgValues: Object.keys(KINDS) },
    features: { devInteractions: { enabled: true } },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...people[id] }) }),
    jwks: { keys: Object.keys(KINDS).map(key) },
    pkce: { required: () => true },
  });
  const server = await new Promise((done) => {
    const listening = provider.listen(port, '127.0.0.1', () => done(listening));
  });
  return { issuer, stop: () => { server.closeAllConnections(); server.close(); } };
}

/** Somebody signs in on the provider's own pages. */
export async function signInThere(page, name) {
  await page.waitForURL('**/interaction/**');
  await page.locator('input[name=login]').fill(name);
  await page.locator('input[name=password]').fill('anything');
  await page.locator('button[type=submit]').click();
  // It asks once whether Rookery may know; who has said so before is not asked.
  const leave = page.locator('form:has(input[value=consent]) button[type=submit]');
  await Promise.race([leave.waitFor(), page.waitForURL((at) => !at.pathname.startsWith('/interaction'))]);
  if (await leave.count()) await leave.click();
}
