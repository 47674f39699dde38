/** Attacks that need only the port, without credentials or with those of a viewer. */
import { setTimeout as delay } from 'node:timers/promises';
import { attack } from './attack';
import type { Attacker, Connection } from './attacker';
import { exported, filledDataset, PAGE_BYTES } from './prepared';

const KIB = 1024;

/** Returns a request without a body. */
const requestTo = ({ headers }: Attacker, path: string, extra: Record<string, string> = {}): string =>
  [
    `GET ${path} HTTP/1.1`,
    ...Object.entries({ ...headers, ...extra }).map(([name, value]) => `${name}: ${value}`),
    '',
    '',
  ].join('\r\n');

const anonymous = ({ target }: Attacker, path: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: ${target.host}\r\n\r\n`;

export const unreadDocuments = attack({
  name: 'unread-documents',
  title: 'pipelined requests for the OpenAPI document whose responses nobody reads',
  sizes: {
    test: { connections: 60, requests: 20, holdMs: 2_000 },
    bench: { connections: 100, requests: 20, holdMs: 10_000 },
  },
  async run(attacker, { connections, requests, holdMs }) {
    const bytes = Buffer.from(anonymous(attacker, '/openapi.json').repeat(requests));
    await attacker.hold(connections, holdMs, () => attacker.connect(bytes, { reads: false }));
  },
});

export const tinyRequests = attack({
  name: 'tiny-requests',
  title: '64 KiB of pipelined requests on each connection',
  sizes: {
    test: { connections: 2, ms: 60_000 },
    bench: { connections: 100, ms: 120_000 },
  },
  async run(attacker, { connections, ms }) {
    const one = anonymous(attacker, '/health/live');
    const count = Math.floor((64 * KIB) / one.length);
    const bytes = Buffer.from(one.repeat(count));
    const opened = Array.from({ length: connections }, () => attacker.connect(bytes));
    const finished = Promise.all(opened.map((connection) => connection.waitForResponses(count)));
    await Promise.race([finished, delay(ms, undefined, { ref: false })]);
    if (!attacker.responses['200']) attacker.count('timed out');
    for (const connection of opened) connection.close();
  },
});

export const unreadPages = attack({
  name: 'unread-pages',
  title: 'pages of large records that nobody reads',
  sizes: {
    test: { connections: 60, holdMs: 3_000 },
    bench: { connections: 250, holdMs: 20_000 },
  },
  async run(attacker, { connections, holdMs }) {
    const dataset = await filledDataset(attacker, 500, PAGE_BYTES / 500);
    const bytes = requestTo(attacker, `/eval/v1/datasets/${dataset}/records?limit=500`);
    await attacker.hold(connections, holdMs, () => attacker.connect(bytes, { reads: false }));
  },
});

export const readPages = attack({
  name: 'read-pages',
  title: 'pages of large records, read on connections that stay open',
  sizes: {
    test: { connections: 70 },
    bench: { connections: 500 },
  },
  async run(attacker, { connections }) {
    const dataset = await filledDataset(attacker, 500, PAGE_BYTES / 500);
    const bytes = requestTo(attacker, `/eval/v1/datasets/${dataset}/records?limit=500`);
    const opened: Connection[] = [];
    const read = async (): Promise<void> => {
      while (opened.length < connections) {
        const connection = attacker.connect(bytes);
        opened.push(connection);
        await connection.waitForResponses(1);
      }
    };
    await Promise.all(Array.from({ length: 4 }, read));
    if ((attacker.responses['200'] ?? 0) < connections / 2) attacker.count('rejected too often');
    for (const connection of opened) connection.close();
  },
});

export const idleConnections = attack({
  name: 'idle-connections',
  title: 'connections that send nothing',
  sizes: {
    test: { connections: 300, holdMs: 1_000 },
    bench: { connections: 2_000, holdMs: 10_000 },
  },
  async run(attacker, { connections, holdMs }) {
    await attacker.hold(connections, holdMs, () => attacker.connect());
  },
});

export const unfinishedHeaders = attack({
  name: 'unfinished-headers',
  title: 'headers that are sent slowly and never end',
  sizes: {
    test: { connections: 300, holdMs: 1_000 },
    bench: { connections: 2_000, holdMs: 14_000 },
  },
  async run(attacker, { connections, holdMs }) {
    const bytes = `GET /health/live HTTP/1.1\r\nHost: a\r\nX-Filler: ${'x'.repeat(8 * KIB)}`;
    const open = new Set<ReturnType<Attacker['connect']>>();
    const drip = setInterval(() => open.forEach((connection) => connection.write('x')), 1_000);
    await attacker.hold(connections, holdMs, () => {
      const connection = attacker.connect(bytes);
      open.add(connection);
      return connection;
    });
    clearInterval(drip);
  },
});

export const cheapReads = attack({
  name: 'cheap-reads',
  title: 'cheap requests on many connections, without pauses',
  sizes: {
    test: { connections: 100, ms: 2_000 },
    bench: { connections: 500, ms: 10_000 },
  },
  async run(attacker, { connections, ms }) {
    const until = Date.now() + ms;
    const bytes = requestTo(attacker, '/eval/v1/datasets?limit=1');
    const read = async (): Promise<void> => {
      let connection = attacker.connect();
      for (let count = 1; Date.now() < until; count++) {
        if (!connection.isOpen) {
          await delay(100);
          connection = attacker.connect();
          count = 1;
        }
        connection.write(bytes);
        await connection.waitForResponses(count);
      }
      connection.close();
    };
    await Promise.all(Array.from({ length: connections }, read));
  },
});

export const hostHeaders = attack({
  name: 'host-headers',
  title: 'requests with two Host headers or none',
  sizes: { test: { requests: 10 }, bench: { requests: 500 } },
  async run(attacker, { requests }) {
    for (let n = 0; n < requests; n++) {
      for (const hosts of ['Host: a\r\nHost: b\r\n', '']) {
        const connection = attacker.connect(`GET /health/live HTTP/1.1\r\n${hosts}\r\n`);
        await connection.waitForResponses(1);
        // a problem document, like every rejection
        if (!/^HTTP\/1\.1 400 [^]*application\/problem\+json/.test(connection.text)) {
          attacker.count('not rejected with a problem');
        }
        connection.close();
      }
    }
  },
});

export const wideSpans = attack({
  name: 'wide-spans',
  title: 'spans with 900,000 attributes',
  sizes: {
    test: { senders: 2, attributes: 900_000 },
    bench: { senders: 6, attributes: 900_000 },
  },
  async run(attacker, { senders, attributes }) {
    const body = exported(attributes);
    const type = 'application/x-protobuf';
    const send = () => attacker.send('POST', '/telemetry/v1/traces', { body, type });
    await Promise.all(Array.from({ length: senders }, send));
  },
});
