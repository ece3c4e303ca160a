// Verifies captured deliveries with the npm libraries `standardwebhooks` and `svix` and with the sample of
// docs/webhooks.md. Called by webhooks.py:   node webhooks.mjs REQUESTS.json NODE_MODULES
import assert from "node:assert";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { verify as sample } from "./verify.mjs";

const [file, modules] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const standard = require("standardwebhooks").Webhook;
const svix = require("svix").Webhook;

const throws = (check) => {
  try {
    check();
    return false;
  } catch {
    return true;
  }
};
const libraries = {
  standardwebhooks: (secret, { headers, body }) => !throws(() => new standard(secret).verify(body, headers)),
  svix: (secret, { headers, body }) => !throws(() => new svix(secret).verify(body, headers)),
  sample: (secret, { headers, body }) => sample(secret, headers, Buffer.from(body)),
};

// The same request as it would have been signed so many seconds ago.
function signedBefore({ headers, body }, secret, seconds) {
  const then = new Date(Date.now() - seconds * 1000);
  const signature = new standard(secret).sign(headers["webhook-id"], then, body);
  const timestamp = String(Math.floor(then.getTime() / 1000));
  return { headers: { ...headers, "webhook-timestamp": timestamp, "webhook-signature": signature }, body };
}

for (const { request, good, bad } of JSON.parse(readFileSync(file))) {
  for (const [name, accepts] of Object.entries(libraries)) {
    for (const secret of good) {
      assert(accepts(secret, request), name);
      assert(!accepts(secret, { ...request, body: `${request.body} ` }), `${name}: altered body`);
      const renamed = { ...request.headers, "webhook-id": "evt_other" };
      assert(!accepts(secret, { ...request, headers: renamed }), `${name}: another id`);
      assert(accepts(secret, signedBefore(request, secret, 290)), `${name}: not five minutes old`);
      assert(!accepts(secret, signedBefore(request, secret, 310)), `${name}: too old`);
    }
    for (const secret of bad) assert(!accepts(secret, request), `${name}: another secret`);
  }
}
