import { createHmac, timingSafeEqual } from "node:crypto";

// True when one of the signatures fits and the request is not older than five minutes. `body` is a Buffer.
export function verify(secret, headers, body) {
  const timestamp = headers["webhook-timestamp"];
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const signed = Buffer.concat([Buffer.from(`${headers["webhook-id"]}.${timestamp}.`), body]);
  const wanted = Buffer.from("v1," + createHmac("sha256", key).update(signed).digest("base64"));
  return headers["webhook-signature"].split(" ").some((text) => {
    const given = Buffer.from(text);
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  });
}

// --- what follows is not part of the sample
