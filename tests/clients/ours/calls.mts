// What the tests of our TypeScript client ask of it: `node calls.mts URL`. Prints one line for each call.
import { readFileSync } from "node:fs";
import { Rookery, RookeryError, verifyWebhook } from "rookery-client";

const [url, cases] = process.argv.slice(2) as [string, string];
const rookery = new Rookery({ url, key: "rk_test_x", timeout: 5000 });
const say = async (name: string, call: () => Promise<unknown>) => {
  try {
    await call();
    console.log(name, "done");
  } catch (error) {
    console.log(name, error instanceof RookeryError ? `${error.status} ${error.message}` : "network");
  }
};
await say("me", () => rookery.me());
await say("tags", () => rookery.tags());
await say("note", () => rookery.addNote("cnv_1", { body: "x" }));
await say("reply", () => rookery.reply("cnv_1", { body: "x" }));
await say("status", () => rookery.setStatus("cnv_1", { status: "open" }));
await say("documents", () => rookery.requestDocuments("cnv_1", { documents: [{ label: "x" }] }));
console.log("file", (await rookery.documentContent("doc_1")).length, "bytes");
await say("missing", () => rookery.conversation("a/b?c"));
await say("elsewhere", () => rookery.mailboxes());
for (const { secret, headers, body } of JSON.parse(readFileSync(cases, "utf8"))) {
  console.log("webhook", await verifyWebhook(secret, headers, body).then((event) => event.type, () => "refused"));
}
