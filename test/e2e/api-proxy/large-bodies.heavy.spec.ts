import { createHash } from 'node:crypto';
import { once } from 'node:events';
import http, { type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import type { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { ownApp, newOrganization } from '#testing';
import { blocks, digestOf, MeasuredService, MIB } from '../files/file-memory.harness';
import { register, Upstream } from './upstream.fixture';

/** Size of a body, in MiB. Twice as much as may be buffered. */
const SIZE = 128;
/** MiB by which the memory of the API process may grow while it forwards one body. */
const GROWTH = 64;
/** The same while it forwards many bodies. */
const GROWTH_OF_MANY = 110;
/** Number of concurrent slow clients or slow upstreams. */
const SLOW = 50;
const SLOW_SECONDS = 2;
/** MiB of one body that may be buffered between client and upstream, nearly all of it in four kernel sockets. */
const BUFFERED = 64;

const FRAMINGS: [string, OutgoingHttpHeaders][] = [
  ['of a known length', { 'content-length': SIZE * MIB }],
  ['in chunks', { 'transfer-encoding': 'chunked' }],
];

/** Writes blocks as fast as the other side reads them. @returns the MiB written before the other side closed */
async function pump(to: Writable, mebibytes: number): Promise<number> {
  let isClosed = false;
  to.on('close', () => (isClosed = true)).on('error', () => (isClosed = true));
  let written = 0;
  for (const block of blocks(mebibytes)) {
    if (isClosed) return written;
    if (!to.write(block)) await drained(to);
    written += 1;
  }
  to.end();
  return written;
}

/** Waits until a stream can be written again, or is closed. */
const drained = (stream: Writable): Promise<void> =>
  new Promise((resolve) => {
    const go = (): void => {
      stream.off('drain', go).off('close', go);
      resolve();
    };
    stream.on('drain', go).on('close', go);
  });

async function digestFrom(from: IncomingMessage): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of from) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

describe('the memory of an API process that forwards large bodies', () => {
  const digest = digestOf(SIZE);
  const env = { OUTBOUND_ALLOW: '127.0.0.0/8', NODE_OPTIONS: '--max-semi-space-size=4' };
  const app = ownApp({ env });
  let service: MeasuredService;
  let upstream: Upstream;
  let path: string;
  let started: number;

  const logMemory = (mebibytes: number): void => {
    if (process.env.TEST_SHOW_MEMORY === '1') process.stderr.write(`${mebibytes} MiB\n`);
  };

  beforeAll(async () => {
    const org = await newOrganization(app);
    service = await MeasuredService.startApi(app, org);
    started = await service.peak();
    logMemory(started);
    upstream = await Upstream.listen();
    upstream.isEarly = true;
    path = await register(await org.member('admin'), org.workspaceId, {
      base_url: upstream.url,
      timeout_ms: 600_000,
    });
  }, 180_000);
  afterAll(async () => {
    await service.stop();
    await upstream.close();
  });
  const expectGrowthBelow = async (mebibytes: number): Promise<void> => {
    const peak = await service.peak();
    logMemory(peak);
    expect(peak - started).toBeLessThan(mebibytes);
  };

  const send = (method: string, headers: OutgoingHttpHeaders = {}): http.ClientRequest =>
    http.request(`${service.caller.url}${path}/x`, {
      method,
      agent: false,
      headers: { authorization: `Bearer ${service.caller.token}`, ...headers },
    });

  const answerOf = async (sent: http.ClientRequest): Promise<IncomingMessage> =>
    ((await once(sent, 'response')) as [IncomingMessage])[0];

  it.each(FRAMINGS)(
    'grows by less than 64 MiB for a response %s, which arrives intact',
    async (_, headers) => {
      upstream.answer = (_request, response) => void pump(response.writeHead(200, headers), SIZE);
      expect(await digestFrom(await answerOf(send('GET').end()))).toBe(digest);
      await expectGrowthBelow(GROWTH);
    },
    300_000,
  );

  it.each(FRAMINGS)(
    'grows by less than 64 MiB for a request %s, which arrives intact',
    async (_, headers) => {
      upstream.answer = (request, response) =>
        void digestFrom(request).then((actual) => response.end(actual));
      const sent = send('PUT', headers);
      const answered = answerOf(sent);
      await pump(sent, SIZE);
      expect((await (await answered).toArray()).join('')).toBe(digest);
      await expectGrowthBelow(GROWTH);
    },
    300_000,
  );

  it('grows by less than 110 MiB for slow clients, because the upstream has to wait', async () => {
    const amounts: number[] = [];
    upstream.answer = (_request, response) =>
      void pump(response, SIZE).then((mebibytes) => amounts.push(mebibytes));
    const answers = await Promise.all(Array.from({ length: SLOW }, () => answerOf(send('GET').end())));
    for (const answer of answers) answer.on('error', () => undefined).pause();
    for (let n = 0; n < SLOW_SECONDS * 10; n++) {
      for (const answer of answers) answer.read(16 * 1024);
      await sleep(100);
    }
    expect(answers.filter((answer) => answer.destroyed)).toEqual([]);
    expect(amounts).toEqual([]);
    for (const answer of answers) answer.destroy();
    while (amounts.length < SLOW) await sleep(50);
    expect(Math.max(...amounts)).toBeLessThan(BUFFERED);
    await expectGrowthBelow(GROWTH_OF_MANY);
  }, 120_000);

  it('grows by less than 110 MiB for slow upstreams, because the clients have to wait', async () => {
    const received: IncomingMessage[] = [];
    upstream.answer = (request) => received.push(request.on('error', () => undefined).pause());
    const amounts: number[] = [];
    const sent = Array.from({ length: SLOW }, () => send('PUT', { 'transfer-encoding': 'chunked' }));
    for (const one of sent) void pump(one, SIZE).then((mebibytes) => amounts.push(mebibytes));
    for (let n = 0; n < SLOW_SECONDS * 10; n++) {
      for (const request of received) request.read(16 * 1024);
      await sleep(100);
    }
    expect(received).toHaveLength(SLOW);
    expect(amounts).toEqual([]);
    for (const one of sent) one.destroy();
    while (amounts.length < SLOW) await sleep(50);
    expect(Math.max(...amounts)).toBeLessThan(BUFFERED);
    await expectGrowthBelow(GROWTH_OF_MANY);
    // The service does not read on, so it does not notice that the clients have left, and would wait when it stops.
    for (const request of received) request.destroy();
  }, 120_000);
});
