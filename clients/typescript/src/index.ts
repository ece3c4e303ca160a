// The client of a Rookery service: every operation of its API as a method, with types made from its description.
// It needs nothing but `fetch` and Web Crypto, so it runs in Node 20 and later, Deno, Bun and on edges.
import type { components, operations } from "./types.js";

export type { components, operations, paths } from "./types.js";
export type Schemas = components["schemas"];
export type Conversation = Schemas["Conversation"];
export type ConversationSummary = Schemas["ConversationSummary"];
export type Event = Schemas["Event"];

type Query<Name extends keyof operations> = NonNullable<operations[Name]["parameters"]["query"]>;

export interface Options {
  /** Where the service is: `https://desk.example`. */
  url: string;
  /** `rk_live_…`, or `rk_test_…` for the sandbox. */
  key: string;
  /** How often a call is tried in all; 5 when left out. */
  tries?: number;
  /** Milliseconds for one try; 30,000 when left out. */
  timeout?: number;
  fetch?: typeof globalThis.fetch;
}

/** An answer that is no success. Go by `status`; the message is a sentence for people. */
export class RookeryError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly requestId: string | null,
  ) {
    super(message);
    this.name = "RookeryError";
  }
}

export class Rookery {
  readonly #base: string;
  readonly #options: Required<Options>;

  constructor(options: Options) {
    this.#options = { tries: 5, timeout: 30_000, fetch: (...asked) => globalThis.fetch(...asked), ...options };
    this.#base = `${options.url.replace(/\/+$/, "")}/api/v1`;
  }

  /** Who this key is. */
  me(): Promise<Schemas["Me"]> {
    return this.#get("/me");
  }
  conversations(query: Query<"list_conversations"> = {}): Promise<ConversationSummary[]> {
    return this.#get("/conversations", query);
  }
  /** `before` is `earlier` of an answer before. */
  conversation(id: string, before?: string): Promise<Conversation> {
    return this.#get(`/conversations/${encodeURIComponent(id)}`, { before });
  }
  mailboxes(): Promise<Schemas["Mailbox"][]> {
    return this.#get("/mailboxes");
  }
  tags(): Promise<Schemas["Tag"][]> {
    return this.#get("/tags");
  }
  documents(query: Query<"search_documents"> = {}): Promise<Schemas["DocumentSummary"][]> {
    return this.#get("/documents", query);
  }
  document(id: string): Promise<Schemas["Document"]> {
    return this.#get(`/documents/${encodeURIComponent(id)}`);
  }
  /** The file, as it came from outside: treat it as hostile. */
  documentContent(id: string): Promise<Uint8Array> {
    return this.#get(`/documents/${encodeURIComponent(id)}/content`);
  }
  addNote(id: string, note: Schemas["NewNote"]): Promise<Schemas["Done"]> {
    return this.#post(`/conversations/${encodeURIComponent(id)}/notes`, note);
  }
  setStatus(id: string, status: Schemas["NewStatus"]): Promise<Schemas["Done"]> {
    return this.#post(`/conversations/${encodeURIComponent(id)}/status`, status);
  }
  tag(id: string, change: Schemas["TagChange"]): Promise<Schemas["Done"]> {
    return this.#post(`/conversations/${encodeURIComponent(id)}/tags`, change);
  }
  assign(id: string, to: Schemas["NewAssignee"]): Promise<Schemas["Done"]> {
    return this.#post(`/conversations/${encodeURIComponent(id)}/assign`, to);
  }
  /** A draft for a person to approve, or with `send` a message that leaves after the undo window. */
  reply(id: string, reply: Schemas["NewReply"]): Promise<Schemas["Written"]> {
    return this.#post(`/conversations/${encodeURIComponent(id)}/replies`, reply);
  }
  requestDocuments(id: string, request: Schemas["NewDocumentRequest"]): Promise<Schemas["Written"]> {
    return this.#post(`/conversations/${encodeURIComponent(id)}/document-requests`, request);
  }
  recordSent(mail: Schemas["SentMail"]): Promise<Schemas["Done"]> {
    return this.#post("/app-mail", mail);
  }
  /** Test keys only: an email of a simulated customer. */
  simulateInbound(mail: Schemas["SimulatedMail"]): Promise<Schemas["Simulated"]> {
    return this.#post("/sandbox/inbound", mail);
  }
  /** Test keys only: what a person does with a request for documents. */
  simulateDecision(id: string, decision: Schemas["SimulatedDecision"]): Promise<Schemas["DecidedRequest"]> {
    return this.#post(`/sandbox/document-requests/${encodeURIComponent(id)}/decisions`, decision);
  }
  /** Test keys only: a person approves a draft. */
  simulateApproval(id: string, approval: Schemas["SimulatedApproval"] = {}): Promise<Schemas["ApprovedDraft"]> {
    return this.#post(`/sandbox/drafts/${encodeURIComponent(id)}/approve`, approval);
  }
  /** Test keys only: time passes in the sandbox. */
  advanceSandbox(time: Schemas["PassedTime"]): Promise<Schemas["AdvancedSandbox"]> {
    return this.#post("/sandbox/advance", time);
  }
  /** What happens from now on, or after `next` of an answer that was kept, as it happens: 30 days back at most. */
  async *events(options: { after?: string; types?: string; signal?: AbortSignal } = {}): AsyncGenerator<Event, void, undefined> {
    let after = options.after;
    while (!options.signal?.aborted) {
      const page = await this.eventPage({ after, types: options.types, wait: after === undefined ? 0 : 15 });
      for (const event of page.events) yield event as unknown as Event;
      after = page.next;
    }
  }
  /** One page of them, for whoever keeps `next` with what they made of the events. */
  eventPage(query: Query<"list_events"> = {}): Promise<Schemas["EventPage"]> {
    return this.#get("/events", query);
  }

  #get<T>(path: string, query: object = {}): Promise<T> {
    const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
    const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
    return this.#call("GET", search ? `${path}?${search}` : path);
  }

  #post<T>(path: string, body: object): Promise<T> {
    return this.#call("POST", path, JSON.stringify(body));
  }
  async #call<T>(method: string, path: string, body?: string): Promise<T> {
    const { key, tries, timeout, fetch } = this.#options;
    // By its name the service knows a call that comes again, and does not carry it out twice.
    const name = crypto.randomUUID();
    for (let tried = 1; ; tried++) {
      let answer: Response | undefined;
      try {
        const headers: Record<string, string> = { Authorization: `Bearer ${key}`, "User-Agent": "rookery-typescript/1" };
        if (body !== undefined) Object.assign(headers, { "Content-Type": "application/json", "Idempotency-Key": name });
        // A redirect is an error like any other: the key goes nowhere else.
        answer = await fetch(this.#base + path, { method, headers, body, signal: AbortSignal.timeout(timeout), redirect: "manual" });
        const isFile = answer.headers.get("content-type") === "application/octet-stream";
        if (answer.ok) return (isFile ? new Uint8Array(await answer.arrayBuffer()) : await answer.json()) as T;
        throw new RookeryError(answer.status, sentence(await answer.text()), answer.headers.get("x-request-id"));
      } catch (error) {
        const isRefused = error instanceof RookeryError && error.status !== 429 && error.status < 500;
        if (isRefused || tried >= tries) throw error;
        const asked = Number(answer?.headers.get("retry-after")) * 1000;
        const growing = 250 * 2 ** tried * (0.75 + Math.random() / 2);
        await new Promise((done) => setTimeout(done, Math.min(asked || growing, 60_000)));
      }
    }
  }
}

function sentence(text: string): string {
  try {
    return String((JSON.parse(text) as Schemas["Error"]).error);
  } catch {
    return text.slice(0, 200) || "The answer was empty.";
  }
}

/**
 * The event of a webhook's request, or an error when the request is not from the service or older than five minutes.
 * `body` is what came, before any parser has touched it.
 */
export async function verifyWebhook(
  secret: string,
  headers: Headers | Record<string, string | string[] | undefined>,
  body: string | Uint8Array,
): Promise<Event> {
  const header = (name: string) => String((headers instanceof Headers ? headers.get(name) : headers[name]) ?? "");
  const timestamp = header("webhook-timestamp");
  const age = Math.abs(Date.now() / 1000 - Number(timestamp));
  if (!(age <= 300)) throw new Error("The request is older than five minutes, or has no time.");
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const signed = new Uint8Array([...new TextEncoder().encode(`${header("webhook-id")}.${timestamp}.`), ...bytes]);
  const key = await crypto.subtle.importKey("raw", decode(secret.replace(/^whsec_/, "")), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  for (const given of header("webhook-signature").split(" ")) {
    const [version, signature] = given.split(",");
    if (version !== "v1" || !signature) continue;
    // `verify` takes the same time whatever differs.
    if (await crypto.subtle.verify("HMAC", key, decode(signature), signed)) {
      return JSON.parse(new TextDecoder().decode(bytes)) as Event;
    }
  }
  throw new Error("No signature fits.");
}

function decode(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}
