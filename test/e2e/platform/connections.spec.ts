import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import net from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Controller, Get, Module } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public, RequireRole } from '#platform/auth';
import type { ByteBudget, ByteLease } from '#platform/concurrency';
import { BodyBudgets, MEMORY_BUDGET } from '#platform/http';
import { Client } from 'pg';
import { createTestApp, newOrganization, type TestApp, type TestOrganization, until } from '#testing';
import { untilWaiting } from '../evaluation/human-scores.fixture';

const MIB = 1024 * 1024;

/** The requests that the handlers of the test received. */
const seen = {
  started: 0,
  running: 0,
  maxRunning: 0,
  release: (): void => undefined,
  blocked: Promise.resolve(),
};

@ApiExcludeController()
@Controller('test')
class TestController {
  @Get('blocked')
  @Public()
  async block(): Promise<object> {
    seen.started++;
    seen.maxRunning = Math.max(seen.maxRunning, ++seen.running);
    await seen.blocked;
    seen.running--;
    return { number: seen.started };
  }

  @Get('large')
  @RequireRole('viewer')
  large(): object {
    return { text: 'x'.repeat(12 * MIB) };
  }
}

@Module({ controllers: [TestController] })
class TestModule {}

const block = (): void => {
  seen.started = seen.running = seen.maxRunning = 0;
  seen.blocked = new Promise((resolve) => (seen.release = resolve));
};

describe('connections', () => {
  let app: TestApp;
  const sockets: net.Socket[] = [];

  beforeAll(async () => {
    app = await createTestApp({
      areas: [TestModule],
      env: {
        MEMORY_BUDGET_BYTES: String(40 * MIB),
        MAX_REQUESTS_IN_FLIGHT: '40',
      },
    });
  });
  afterEach(() => {
    seen.release();
    for (const socket of sockets.splice(0)) socket.destroy();
  });
  afterAll(() => app.close());

  const connect = (url = app.url): net.Socket => {
    const { hostname, port } = new URL(url);
    const socket = net.connect(Number(port), hostname);
    socket.on('error', () => undefined);
    sockets.push(socket);
    return socket;
  };
  const get = (path: string, token = '', headers = ''): string =>
    `GET ${path} HTTP/1.1\r\nHost: x\r\n${token && `Authorization: Bearer ${token}\r\n`}${headers}\r\n`;
  /** Returns the received text once it matches the pattern or the connection is closed. */
  const responseText = async (socket: net.Socket, pattern: RegExp): Promise<string> => {
    let text = '';
    socket.setEncoding('latin1').on('data', (part: string) => (text += part));
    await until(() => pattern.test(text) || socket.closed);
    return text;
  };

  const budget = (): ByteBudget => app.app.get(BodyBudgets).of(MEMORY_BUDGET);
  /** Acquires all but 1 MiB of the memory share of an organization. */
  const exhaust = ({ orgId }: TestOrganization): ByteLease =>
    budget().acquire(orgId, 19 * MIB - budget().usedBy(orgId));

  /** Runs work while a lock blocks all other access to a table. */
  const whileLocked = async <Result>(table: string, work: () => Promise<Result>): Promise<Result> => {
    const database = new Client({ connectionString: app.databaseUrl });
    await database.connect();
    try {
      await database.query(`BEGIN; LOCK TABLE ${table}`);
      return await work();
    } finally {
      await database.end();
    }
  };

  it('have one request in flight, and respond to pipelined requests in order', async () => {
    block();
    const socket = connect();
    socket.write(get('/test/blocked').repeat(200));
    await until(() => seen.running === 1);
    await delay(50);
    expect(seen.started).toBe(1);
    seen.release();
    const text = await responseText(socket, /"number":200\}/);
    const numbers = [...text.matchAll(/"number":(\d+)\}/g)].map(([, number]) => Number(number));
    expect(numbers).toEqual(Array.from({ length: 200 }, (_, index) => index + 1));
    expect(seen.maxRunning).toBe(1);
  });

  it('accept pipelined requests with bodies, in pieces of any size', async () => {
    const socket = connect();
    const body = '{"grant_type":"none\\r\\n\\r\\n"}';
    const post = `POST /registry/v1/tokens HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const chunked = `POST /registry/v1/tokens HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n\r\n\r\n\r\n2\r\n{}\r\n0\r\n\r\n`;
    const all = get('/health/live') + post + chunked + get('/health/live') + post;
    for (let at = 0; at < all.length; at += 7) {
      socket.write(all.slice(at, at + 7));
      if (at % 70 === 0) await delay(1);
    }
    const text = await responseText(socket, /(HTTP\/1\.1 [^]*){5}\}$/);
    const statuses = [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
    expect(statuses).toEqual([200, 400, 400, 200, 400]);
  });

  it('accept a large body that is full of line breaks', async () => {
    const socket = connect();
    const body = `{}${'\r\n\r\n'.repeat(3_000)}`;
    socket.write(
      `POST /registry/v1/tokens HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}${get('/health/live')}`,
    );
    expect(await responseText(socket, /"ok"/)).toMatch(/^HTTP\/1\.1 400 [^]*HTTP\/1\.1 200 /);
  });

  it('reject pipelined expectations one by one, even if the client reads nothing', async () => {
    const unread = connect().pause();
    const one = get('/health/live', '', 'Expect: something\r\n');
    unread.write(one.repeat(3_000));
    await delay(300);
    const socket = connect();
    socket.write(one + get('/health/live'));
    expect(await responseText(socket, /"ok"/)).toMatch(
      /^HTTP\/1\.1 417 [^]*problem\+json[^]*HTTP\/1\.1 200 /,
    );
  });

  it('stay open until a client that is still sending its body has read the last response', async () => {
    const socket = connect().pause();
    const length = 32 * MIB;
    const head = `POST /registry/v1/tokens HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
    socket.write(head);
    await new Promise((resolve) => socket.write(Buffer.alloc(length), resolve));
    expect(await responseText(socket.resume(), /\}$/)).toMatch(
      /^HTTP\/1\.1 413 [^]*"code":"payload_too_large"/,
    );
  });

  it('require exactly one Host header', async () => {
    for (const hosts of ['', 'Host: a\r\nhost: b\r\n', 'Host: a\r\nHost: a\r\n']) {
      const socket = connect();
      socket.write(`GET /health/live HTTP/1.1\r\n${hosts}Connection: close\r\n\r\n`);
      const text = await responseText(socket, /\}$/);
      expect(text).toMatch(/^HTTP\/1\.1 400 [^]*application\/problem\+json[^]*"code":"invalid_request"/);
      expect(text).toContain('Send exactly one Host header.');
    }
  });

  it('count unread responses as memory of their organization, which gets 503 at its limit', async () => {
    const [greedy, other] = await Promise.all([newOrganization(app), newOrganization(app)]);
    const token = await greedy.token('viewer');
    const unread = connect().pause();
    unread.write(get('/test/large', token));
    await until(() => budget().usedBy(greedy.orgId) >= 12 * MIB);
    const rejected = await fetch(`${app.url}/test/large`, { headers: { authorization: `Bearer ${token}` } });
    expect(rejected.status).toBe(503);
    expect(rejected.headers.get('retry-after')).toBe('1');
    expect(await rejected.json()).toMatchObject({ code: 'service_overloaded' });
    const otherToken = await other.token('viewer');
    const read = await fetch(`${app.url}/test/large`, { headers: { authorization: `Bearer ${otherToken}` } });
    expect([read.status, (await read.text()).length > 12 * MIB]).toEqual([200, true]);
    unread.destroy();
    await until(() => budget().usedBy(greedy.orgId) === 0);
    const again = await fetch(`${app.url}/test/large`, { headers: { authorization: `Bearer ${token}` } });
    expect([again.status, (await again.text()).length > 12 * MIB]).toEqual([200, true]);
  });

  it('get 503 after waiting for the database if the response no longer fits into memory', async () => {
    const organization = await newOrganization(app);
    const viewer = (await organization.as('viewer')).in(organization.workspaceId);
    const list = () => viewer.get('/eval/v1/datasets');
    expect((await list()).status).toBe(200);
    const answers = await whileLocked('datasets', async () => {
      // one organization's share of five connections
      const reading = [list(), list(), list()];
      await untilWaiting(app, 3);
      const waiting = list();
      const used = exhaust(organization);
      return [...reading, waiting.finally(() => used.release())];
    });
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect([statuses[0], statuses.at(-1)]).toEqual([200, 503]);
  });

  it('keep streaming when the memory of their organization is exhausted', async () => {
    const organization = await newOrganization(app);
    const editor = (await organization.as('editor')).in(organization.workspaceId);
    const { workspaceId: workspace_id } = organization;
    const { dataset_id } = (await editor.post('/eval/v1/datasets', { workspace_id, name: 'streamed' })).body;
    const items = Array.from({ length: 15 }, () => ({ input: { text: 'x'.repeat(256 * 1024) } }));
    for (let bulk = 0; bulk < 2; bulk++) {
      const created = await editor.post(`/eval/v1/datasets/${dataset_id}/records/bulk`, {
        workspace_id,
        items,
      });
      expect(created.status).toBe(207);
    }
    const workspace = `X-Service-Workspace-Id: ${workspace_id}\r\n`;
    const token = await organization.token('viewer');
    const exporting = connect().pause();
    exporting.write(get(`/eval/v1/datasets/${dataset_id}/records/export`, token, workspace));
    await until(() => budget().usedBy(organization.orgId) > 0);
    const used = exhaust(organization);
    const text = await responseText(exporting.resume(), /\r\n0\r\n\r\n$/);
    used.release();
    expect(text.match(/"text":"x/g)).toHaveLength(30);
  });

  describe('whose clients read nothing of a response', () => {
    const STALL_MS = 300;
    let strict: TestApp;
    let token: string;
    beforeAll(async () => {
      strict = await createTestApp({
        areas: [TestModule],
        databaseUrl: app.databaseUrl,
        issuer: app.issuer,
        env: { ANSWER_STALL_MS: String(STALL_MS) },
      });
      token = await (await newOrganization(app)).token('viewer');
      const headers = { authorization: `Bearer ${token}` };
      await (await fetch(`${strict.url}/registry/v1/me`, { headers })).text();
    });
    afterAll(() => strict.close());

    /** Opens a connection. Returns both ends of it. */
    const accepted = async (): Promise<{ client: net.Socket; server: net.Socket }> => {
      const arrival = once(strict.app.getHttpServer() as Server, 'connection');
      const client = connect(strict.url);
      const [server] = (await arrival) as [net.Socket];
      return { client, server };
    };
    const isIncomplete = async (client: net.Socket): Promise<boolean> =>
      (await responseText(client.resume(), /never/)).length < 12 * MIB;

    it('are closed, even if the clients keep sending', async () => {
      const { client, server } = await accepted();
      client.pause().write(get('/test/large', token, 'Content-Length: 100000\r\n'));
      const sending = setInterval(() => client.write(' '), STALL_MS / 10);
      await once(server, 'close');
      clearInterval(sending);
      expect(await isIncomplete(client)).toBe(true);
    });

    it('are closed, but not while the clients wait for the service', async () => {
      const { client, server } = await accepted();
      block();
      const patient = connect(strict.url);
      patient.write(get('/test/blocked'));
      client.pause().write(get('/test/large', token).repeat(3));
      await once(server, 'close');
      await delay(2 * STALL_MS);
      seen.release();
      expect(await responseText(patient, /"number"/)).toContain('"number":1');
      expect(await isIncomplete(client)).toBe(true);
    });
  });

  describe('with an unverified credential', () => {
    let roomy: TestApp;
    beforeAll(async () => {
      roomy = await createTestApp({
        areas: [TestModule],
        databaseUrl: app.databaseUrl,
        issuer: app.issuer,
        env: { MAX_REQUESTS_IN_FLIGHT: '400', TRUSTED_PROXIES: '127.0.0.1' },
      });
    });
    afterAll(() => roomy.close());

    const connectTo = (path: string, headers: Record<string, string>): net.Socket => {
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
      const socket = connect(roomy.url);
      socket.write(get(path, '', lines.join('')));
      return socket;
    };
    const me = async (token: string, address: string): Promise<number> => {
      const headers = { authorization: `Bearer ${token}`, 'x-forwarded-for': address };
      return (await fetch(`${roomy.url}/registry/v1/me`, { headers })).status;
    };
    const arrivals = (): { count: number; closed: number } => {
      const seen = { count: 0, closed: 0 };
      roomy.app.getHttpServer().on('request', (_: IncomingMessage, response: ServerResponse) => {
        seen.count++;
        response.once('close', () => seen.closed++);
      });
      return seen;
    };

    it('wait for each other instead of being rejected', async () => {
      const token = await (await newOrganization(app)).token('viewer');
      const arrived = arrivals();
      const answers = await whileLocked('users', async () => {
        const sent = Array.from({ length: 100 }, () => me(token, '10.0.0.1'));
        await until(() => arrived.count === 100);
        return sent;
      });
      expect(new Set(await Promise.all(answers))).toEqual(new Set([200]));
    });

    it('do not wait for requests from other addresses', async () => {
      const token = await (await newOrganization(app)).token('viewer');
      block();
      const arrived = arrivals();
      for (let n = 0; n < 300; n++) {
        connectTo('/test/blocked', { Authorization: 'Bearer junk', 'X-Forwarded-For': '10.0.0.2' });
      }
      for (let n = 0; n < 280; n++) connectTo('/test/blocked', { 'X-Forwarded-For': `10.0.1.${n % 4}` });
      await until(() => arrived.count === 580);
      // 64 with an invalid credential, and all 200 without a credential
      await until(() => seen.started === 264);
      expect(await me(token, '10.0.0.3')).toBe(200);
      expect(seen.started).toBe(264);
    });

    it('do not count towards their organization once their clients have disconnected', async () => {
      const organization = await newOrganization(app);
      const token = await organization.token('viewer');
      const arrived = arrivals();
      await whileLocked('users', async () => {
        const headers = { Authorization: `Bearer ${token}`, 'X-Forwarded-For': '10.0.0.4' };
        // more than the in-flight limit of an organization
        const clients = Array.from({ length: 220 }, () => connectTo('/registry/v1/me', headers));
        await until(() => arrived.count === 220);
        for (const socket of clients) socket.destroy();
        await until(() => arrived.closed === 220);
      });
      // admitted immediately, and not rejected
      expect(await me(token, '10.0.0.5')).toBe(200);
      block();
      const blocked = Array.from({ length: 200 }, () =>
        connectTo('/test/blocked', { Authorization: `Bearer ${token}` }),
      );
      await until(() => seen.started === 200 || blocked.some(({ bytesRead }) => bytesRead > 0));
      expect(seen.started).toBe(200);
    });
  });

  it('get 503 while the event loop is delayed, if their caller has many requests in flight', async () => {
    const late = await createTestApp({
      areas: [TestModule],
      databaseUrl: app.databaseUrl,
      issuer: app.issuer,
      env: { EVENT_LOOP_DELAY_LIMIT_MS: '10' },
    });
    try {
      const [busy, other] = await Promise.all([newOrganization(app), newOrganization(app)]);
      const [token, otherToken] = [await busy.token('viewer'), await other.token('viewer')];
      const me = (bearer: string): Promise<Response> =>
        fetch(`${late.url}/registry/v1/me`, { headers: { authorization: `Bearer ${bearer}` } });
      for (const bearer of [token, otherToken]) expect((await me(bearer)).status).toBe(200);
      block();
      for (let n = 0; n < 8; n++) connect(late.url).write(get('/test/blocked', token));
      await until(() => seen.started === 8);
      const statuses = new Set<number>();
      while (!statuses.has(503)) {
        for (const until = performance.now() + 300; performance.now() < until;);
        const answer = await me(token);
        statuses.add(answer.status);
        if (answer.status === 503) expect(await answer.json()).toMatchObject({ code: 'service_overloaded' });
        expect((await me(otherToken)).status).toBe(200);
        expect((await fetch(`${late.url}/health/ready`)).status).toBe(200);
      }
      // the event loop has recovered
      while ((await me(token)).status !== 200) await delay(100);
    } finally {
      seen.release();
      await late.close();
    }
  });

  it('use at most half of the in-flight limit without a credential', async () => {
    const organization = await newOrganization(app);
    const viewer = await organization.as('viewer');
    expect((await viewer.get('/registry/v1/me')).status).toBe(200);
    block();
    const many = Array.from({ length: 60 }, () => connect());
    for (const socket of many) socket.write(get('/test/blocked'));
    await until(() => seen.started === 20);
    const extra = connect();
    extra.write(get('/test/blocked'));
    const text = await responseText(extra, /\}$/);
    expect(text).toMatch(/^HTTP\/1\.1 503 [^]*Retry-After: 1[^]*"code":"service_overloaded"/);
    expect((await fetch(`${app.url}/health/ready`)).status).toBe(200);
    expect((await viewer.get('/registry/v1/me')).status).toBe(200);
    expect(seen.started).toBe(20);
  });
});
