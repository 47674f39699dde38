/** Bodies that are more expensive than they look. */
import { setTimeout as delay } from 'node:timers/promises';
import { attack } from './attack';
import type { Attacker } from './attacker';
import { BODY_BYTES, filled, MIB, newDataset, newExperiment } from './prepared';

/** Time between the last bytes of a slow body, in milliseconds. The service rejects bodies that stall for 10 s. */
const DRIP_MS = 5_000;
/** Number of bytes at the end of a slow body, which are sent one by one. */
const WITHHELD = 100;

/** Calls `send` this many times at once, with 0, 1, 2, … */
const atOnce = async (count: number, send: (n: number) => Promise<unknown>): Promise<void> => {
  await Promise.all(Array.from({ length: count }, (_, n) => send(n)));
};

export const indexNames = attack({
  name: 'index-names',
  title: 'records with a million integer member names, either the same two or descending',
  sizes: { test: { requests: 10 }, bench: { requests: 40 } },
  async run(attacker, { requests }) {
    const path = `/eval/v1/datasets/${await newDataset(attacker)}/records`;
    const begin = `{"workspace_id":"${attacker.target.workspaceId}","input":{`;
    const same = filled(BODY_BYTES, begin, () => '"1":0,"0":0,', '}}');
    const descending = filled(BODY_BYTES, begin, (n) => `"${999_999 - n}":0,`, '}}');
    await atOnce(requests, (n) => attacker.send('POST', path, { body: n % 2 ? descending : same }));
  },
});

export const invalidBodies = attack({
  name: 'invalid-bodies',
  title: 'bodies of 4 MiB: truncated lists, and unknown members',
  sizes: { test: { requests: 8 }, bench: { requests: 40 } },
  async run(attacker, { requests }) {
    const dataset = await newDataset(attacker);
    const truncated = filled(BODY_BYTES, '[', () => '{},', ',');
    const unknown = filled(BODY_BYTES, '{', (n) => `"${String(n).padStart(7, 'a')}":0,`, '}');
    const paths = ['/datasets/search', `/datasets/${dataset}/records`, '/experiments', '/experiments/search'];
    await atOnce(requests, (n) =>
      attacker.send('POST', `/eval/v1${paths[(n >> 1) % paths.length]!}`, {
        body: n % 2 ? truncated : unknown,
        // half of them do not declare their length
        ...((n >> 3) % 2 && { headers: { 'transfer-encoding': 'chunked' } }),
      }),
    );
  },
});

export const deepBodies = attack({
  name: 'deep-bodies',
  title: 'bodies of a million levels',
  sizes: { test: { requests: 8 }, bench: { requests: 40 } },
  async run(attacker, { requests }) {
    const dataset = await newDataset(attacker);
    const body = Buffer.alloc(BODY_BYTES, '[');
    const paths = ['/datasets/search', `/datasets/${dataset}/records`, '/experiments'];
    await atOnce(requests, (n) => attacker.send('POST', `/eval/v1${paths[n % paths.length]!}`, { body }));
  },
});

export const slowBodies = attack({
  name: 'slow-bodies',
  title: 'bodies whose last bytes arrive one by one',
  sizes: {
    test: { connections: 80, holdMs: 3_000 },
    bench: { connections: 250, holdMs: 20_000 },
  },
  async run(attacker, { connections, holdMs }) {
    const path = `/eval/v1/datasets/${await newDataset(attacker)}/records`;
    const sent = Buffer.alloc(BODY_BYTES - WITHHELD, ' ');
    const head = (route: string): string => bodyHead(attacker, route, BODY_BYTES);
    const open = new Set<ReturnType<Attacker['connect']>>();
    const drip = setInterval(() => open.forEach((connection) => connection.write(' ')), DRIP_MS);
    await attacker.hold(connections, holdMs, () => {
      const connection = attacker.connect(head(open.size % 4 ? path : '/eval/v1/datasets/search'));
      connection.write(sent);
      open.add(connection);
      return connection;
    });
    clearInterval(drip);
  },
});

export const abortedRequests = attack({
  name: 'aborted-requests',
  title: 'requests that are aborted midway',
  sizes: {
    test: { rounds: 2, requests: 40 },
    bench: { rounds: 10, requests: 100 },
  },
  async run(attacker, { rounds, requests }) {
    const dataset = await newDataset(attacker);
    const { workspaceId: workspace_id } = attacker.target;
    const body = Buffer.from(JSON.stringify({ workspace_id, input: 'x'.repeat(BODY_BYTES / 2) }));
    const path = `/eval/v1/datasets/${dataset}/records`;
    const abort = (n: number) =>
      attacker.send('POST', path, {
        headers: { 'content-type': 'application/json', 'content-length': String(body.length) },
        write: (request) => {
          // some while they send the body, others while the service processes it, at different times
          request.write(n % 3 ? body.subarray(0, (body.length * (n % 10)) / 10) : body);
          setTimeout(() => request.destroy(), 10 * (n % 50));
        },
      });
    for (let round = 0; round < rounds; round++) await atOnce(requests, abort);
  },
});

export const largeValues = attack({
  name: 'large-values',
  title: 'updates of a record and a configuration of 4 MiB',
  sizes: {
    test: { rounds: 1, requests: 1 },
    bench: { rounds: 3, requests: 1 },
  },
  async run(attacker, { rounds, requests }) {
    const { workspaceId: workspace_id } = attacker.target;
    const dataset = await newDataset(attacker);
    const value = (salt: number): string =>
      filled(
        BODY_BYTES - 1_000,
        '{',
        (n) => `"member ${n}":{"text":"${salt} of ${n}","list":[${n},1,2,null,true]},`,
        '}',
      ).toString();
    const records = `/eval/v1/datasets/${dataset}/records`;
    const record = await attacker.prepare<{ dataset_record_id: string }>('POST', records, {
      workspace_id,
      input: {},
    });
    const path = `${records}/${record.dataset_record_id}`;
    const experiment = `/eval/v1/experiments/${await newExperiment(attacker)}`;
    for (let round = 0; round < rounds; round++) {
      const text = value(round);
      await atOnce(requests, async () => {
        await attacker.send('PATCH', path, { body: `{"input":${text}}` });
        await attacker.send('PATCH', experiment, { body: `{"config":${text}}` });
        await attacker.send('POST', '/eval/v1/experiments', {
          body: `{"workspace_id":"${workspace_id}","name":"large","config":${text}}`,
        });
      });
    }
  },
});

export const keyedSearches = attack({
  name: 'keyed-searches',
  title: 'searches, each with an Idempotency-Key',
  sizes: { test: { requests: 40 }, bench: { requests: 300 } },
  async run(attacker, { requests }) {
    await newDataset(attacker, { description: 'x'.repeat(10_000) });
    const body = JSON.stringify({ limit: 100 });
    for (let sent = 0; sent < requests; sent += 20) {
      await atOnce(20, (n) =>
        attacker.send('POST', '/eval/v1/datasets/search', {
          body,
          headers: { 'idempotency-key': `search-${process.pid}-${sent + n}` },
        }),
      );
      await delay(10);
    }
  },
});

/** Returns the head of a request with a body. */
const bodyHead = ({ headers }: Attacker, path: string, length: number): string =>
  [
    `POST ${path} HTTP/1.1`,
    ...Object.entries({
      ...headers,
      'content-type': 'application/json',
      'content-length': String(length),
    }).map(([name, value]) => `${name}: ${value}`),
    '',
    '',
  ].join('\r\n');

export const mcpMessages = attack({
  name: 'mcp-messages',
  title: 'MCP messages with many values, which take long to validate',
  sizes: { test: { requests: 30 }, bench: { requests: 120 } },
  async run(attacker, { requests }) {
    const member = (n: number): string => `"m${n}":1,`;
    const begin = (method: string, member: string): string =>
      `{"jsonrpc":"2.0","id":1,"method":"${method}","params":{"name":"use_skill","${member}":{`;
    const rejected = filled(MIB, begin('tools/list', '_meta'), member, '}}}');
    const names = Array.from({ length: 9_900 }, (_, n) => member(n))
      .join('')
      .slice(0, -1);
    const validated = Buffer.from(`${begin('prompts/get', 'arguments')}${names}}}}`);
    const headers = { accept: 'application/json, text/event-stream' };
    await atOnce(requests, (n) =>
      attacker.send('POST', '/mcp', { body: n % 2 ? rejected : validated, headers }),
    );
  },
});
