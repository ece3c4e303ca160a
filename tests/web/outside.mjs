// The world around a server, as far as a story needs it: a name server with rows that the story writes, a relay that keeps
// what it is given, and somebody who sends mail by SMTP.

import { once } from 'node:events';
import { createSocket } from 'node:dgram';
import { connect, createServer } from 'node:net';
import { createInterface } from 'node:readline';

const TYPES = { MX: 15, TXT: 16 };
const labels = (name) => Buffer.concat([...name.replace(/\.$/, '').split('.').map((label) => Buffer.from([label.length, ...Buffer.from(label)])), Buffer.from([0])]);
const short = (number) => Buffer.from([number >> 8, number & 255]);

/** What stands in a row: a text in strings of at most 255 bytes, or `10 mx.example.` */
function data(type, value) {
  if (type === 'MX') {
    const [preference, server] = value.split(' ');
    return Buffer.concat([short(Number(preference)), labels(server)]);
  }
  const parts = value.match(/.{1,255}/g).map((part) => Buffer.from([part.length, ...Buffer.from(part)]));
  return Buffer.concat(parts);
}

/** A name server over UDP. `rows` is a Map of `TYPE name` to values. */
export async function nameServer() {
  const rows = new Map();
  const socket = createSocket('udp4');
  socket.on('message', (asked, peer) => {
    let at = 12;
    const name = [];
    while (asked[at]) {
      name.push(asked.subarray(at + 1, at + 1 + asked[at]).toString().toLowerCase());
      at += asked[at] + 1;
    }
    const kind = asked.readUInt16BE(at + 1);
    const type = Object.keys(TYPES).find((one) => TYPES[one] === kind);
    const found = rows.get(`${type} ${name.join('.')}`) ?? [];
    const answers = found.map((value) => {
      const bytes = data(type, value);
      return Buffer.concat([short(0xc00c), short(kind), short(1), Buffer.alloc(4), short(bytes.length), bytes]);
    });
    const head = Buffer.concat([asked.subarray(0, 2), short(0x8580), short(1), short(answers.length), short(0), short(0)]);
    socket.send(Buffer.concat([head, asked.subarray(12, at + 5), ...answers]), peer.port, peer.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { address: `127.0.0.1:${socket.address().port}`, rows, close: () => socket.close() };
}

/** A relay that takes every mail and keeps it: `[{ from, to, raw }]`. */
export async function relay() {
  const mails = [];
  const server = createServer((socket) => {
    socket.setEncoding('utf8');
    socket.on('error', () => {});
    let mail = { to: [] };
    let text = null;
    const say = (line) => socket.write(`${line}\r\n`);
    say('220 relay');
    createInterface({ input: socket, crlfDelay: Infinity }).on('line', (line) => {
      if (text !== null) {
        if (line !== '.') return void text.push(line.replace(/^\.\./, '.'));
        mails.push({ ...mail, raw: text.join('\r\n') });
        [text, mail] = [null, { to: [] }];
        return void say('250 taken');
      }
      const word = line.slice(0, 4).toUpperCase();
      if (word === 'EHLO') return void say('250 relay');
      if (word === 'DATA') {
        text = [];
        return void say('354 go on');
      }
      if (word === 'MAIL') mail.from = line.match(/<(.*?)>/)[1];
      if (word === 'RCPT') mail.to.push(line.match(/<(.*?)>/)[1]);
      say(word === 'QUIT' ? '221 bye' : '250 fine');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `smtp://127.0.0.1:${server.address().port}?tls=none`, mails, close: () => server.close() };
}

/** What a mail says: its text, however it was written for the way. */
export function textOf({ raw }) {
  const [, head, body] = raw.match(/^([^]*?)\r\n\r\n([^]*)$/);
  const boundary = head.match(/boundary="?([^"\r\n;]+)/i)?.[1];
  if (boundary) {
    const parts = body.split(`--${boundary}`).map((part) => part.replace(/^\r\n/, ''));
    return textOf({ raw: parts.find((part) => /^content-type: (text\/plain|multipart)/im.test(part)) });
  }
  if (/^content-transfer-encoding: base64/im.test(head)) return Buffer.from(body, 'base64').toString();
  const bytes = body.replace(/=\r\n/g, '').replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}

/** Sends a mail to a port, and gives the last answer. */
export async function deliver(port, { from, to, raw }) {
  const socket = connect(port, '127.0.0.1');
  const lines = createInterface({ input: socket, crlfDelay: Infinity })[Symbol.asyncIterator]();
  const hear = async () => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done || value[3] !== '-') return value;
    }
  };
  await hear();
  let answer;
  const quoted = raw.replace(/\r?\n/g, '\r\n').replace(/^\./gm, '..');
  for (const line of ['EHLO customer.example', `MAIL FROM:<${from}>`, `RCPT TO:<${to}>`, 'DATA', `${quoted}\r\n.`]) {
    socket.write(`${line}\r\n`);
    answer = await hear();
  }
  socket.end('QUIT\r\n');
  return answer;
}
