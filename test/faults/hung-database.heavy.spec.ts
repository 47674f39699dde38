import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '#platform/embedded-postgres';
import { committedDocument, StandaloneService } from '#testing';

const REQUEST_TIMEOUT_MS = 2_000;
/** A request without a response by then is hung: several times every configured time. */
const HUNG_MS = 30_000;
const CONCURRENCY = 40;

interface Document {
  paths: Record<string, Record<string, Operation>>;
}

interface Operation {
  security?: unknown[];
  requestBody?: { content: Record<string, { examples?: Record<string, { value: unknown }> }> };
}

interface Outcome {
  call: string;
  /** 0 if there was no response. */
  status: number;
  code: string | undefined;
}

/**
 * PostgreSQL is stopped by a signal, as by a paused container or a stalled disk: its connections stay open, and nobody answers.
 */
describe('a database that hangs', () => {
  let directory: string;
  let postgres: EmbeddedPostgres;
  let service: StandaloneService;
  let stopped: number[] = [];

  beforeAll(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'hung-database-'));
    postgres = await startEmbeddedPostgres({ dataDir: directory });
    service = await StandaloneService.start({
      databaseUrl: postgres.url,
      env: {
        REQUEST_TIMEOUT_MS: String(REQUEST_TIMEOUT_MS),
        DATABASE_CONNECTION_TIMEOUT_MS: '500',
        OUTBOUND_ALLOW: '127.0.0.0/8',
        RATE_LIMIT_UNAUTHORIZED: '100000',
      },
    });
  });
  afterAll(async () => {
    resume();
    await service.stop();
    await postgres.stop();
    await rm(directory, { recursive: true });
  });

  const stop = (): void => {
    const server = Number(
      readFileSync(path.join(directory, 'cluster', 'postmaster.pid'), 'utf8').split('\n')[0],
    );
    // the first process starts all others, so it is stopped first
    process.kill(server, 'SIGSTOP');
    const others = readFileSync(`/proc/${server}/task/${server}/children`, 'utf8').trim().split(' ');
    stopped = [server, ...others.map(Number)];
    for (const pid of stopped) process.kill(pid, 'SIGSTOP');
  };

  const resume = (): void => {
    for (const pid of stopped.reverse()) process.kill(pid, 'SIGCONT');
    stopped = [];
  };

  const call = async (method: string, target: string, init: RequestInit = {}): Promise<Outcome> => {
    const name = `${method} ${target}`;
    try {
      const response = await fetch(`${service.bootstrap.base_url}${target}`, {
        method: method.toUpperCase(),
        signal: AbortSignal.timeout(HUNG_MS),
        ...init,
      });
      const text = await response.text();
      const isProblem = response.headers.get('content-type')?.startsWith('application/problem+json');
      // HEAD has no body
      const code = isProblem && text !== '' ? (JSON.parse(text) as { code: string }).code : undefined;
      return { call: name, status: response.status, code };
    } catch (error) {
      return { call: `${name}: ${String(error)}`, status: 0, code: undefined };
    }
  };

  const headersOf = (credential: string): Record<string, string> => ({
    authorization: `Bearer ${credential}`,
    'x-service-workspace-id': service.bootstrap.workspace_id,
  });

  /** Calls every operation, with an example of its body or with an empty one. */
  const callAll = async (credential: string): Promise<Outcome[]> => {
    const { paths } = committedDocument<Document>();
    const calls = Object.entries(paths).flatMap(([route, methods]) =>
      Object.entries(methods)
        .filter(([, { security }]) => security?.length !== 0)
        .map(
          ([method, operation]) =>
            () =>
              callOperation(credential, route, method, operation),
        ),
    );
    const outcomes: Outcome[] = [];
    const callNext = async (): Promise<void> => {
      for (let next = calls.pop(); next; next = calls.pop()) outcomes.push(await next());
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, callNext));
    return outcomes;
  };

  const callOperation = (
    credential: string,
    route: string,
    method: string,
    { requestBody }: Operation,
  ): Promise<Outcome> => {
    const target = route.replaceAll(/\{\w+\}/g, '1');
    const headers = headersOf(credential);
    const contents = Object.entries(requestBody?.content ?? {});
    const [media, content] = contents.find(([name]) => name === 'application/json') ?? contents[0] ?? [];
    if (media === undefined) return call(method, target, { headers });
    const [example] = Object.values(content?.examples ?? {});
    const body = media.includes('json') ? JSON.stringify(example?.value ?? {}) : 'text';
    const type = media === '*/*' ? 'text/plain' : media;
    return call(method, target, { headers: { ...headers, 'content-type': type }, body });
  };

  it('leaves no request without a response, and ends no process', async () => {
    const { api_key: key, workspace_id } = service.bootstrap;
    const headers = { ...headersOf(key), 'content-type': 'application/json' };
    const tokenOf = async (): Promise<string> => {
      const exchange = new URLSearchParams({ grant_type: 'client_credentials', client_secret: key });
      const response = await fetch(`${service.bootstrap.base_url}/registry/v1/tokens`, {
        method: 'POST',
        body: exchange,
      });
      return ((await response.json()) as { access_token: string }).access_token;
    };
    const [cached, fresh, revocable] = [await tokenOf(), await tokenOf(), await tokenOf()];
    expect((await call('get', '/registry/v1/org', { headers: headersOf(cached) })).status).toBe(200);
    expect((await call('get', '/registry/v1/org', { headers })).status).toBe(200);
    const body = JSON.stringify({ workspace_id, name: 'kept', kind: 'openai', base_url: 'https://a.test' });
    expect((await call('post', '/eval/v1/datasets', { headers, body })).status).toBe(400);
    const dataset = JSON.stringify({ workspace_id, name: 'kept' });
    expect((await call('post', '/eval/v1/datasets', { headers, body: dataset })).status).toBe(201);

    stop();
    try {
      // callers whose credential must be looked up
      const unknown = `rsk_${'A'.repeat(43)}`;
      const message = JSON.stringify({ model: 'm', max_tokens: 1, messages: [] });
      const uncached = [
        ...(await Promise.all([
          call('get', '/registry/v1/org', { headers: headersOf(fresh) }),
          call('post', '/mcp', { headers: { ...headers, ...headersOf(fresh) }, body: '{}' }),
          call('get', '/api/v1/apis/api_1/', { headers: headersOf(fresh) }),
          call('post', '/model/v1/messages', {
            headers: { 'x-api-key': unknown, 'content-type': 'application/json' },
            body: message,
          }),
          call('post', '/registry/v1/tokens', {
            body: new URLSearchParams({ grant_type: 'client_credentials', client_secret: unknown }),
          }),
          call('post', '/registry/v1/tokens/revoke', { headers, body: JSON.stringify({ token: revocable }) }),
        ])),
        ...(await callAll(unknown)),
      ];
      const isUnavailable = ({ call: name, status, code }: Outcome): boolean =>
        status === 503 && (code === 'auth_unavailable' || name.startsWith('head '));
      expect(uncached.filter((one) => !isUnavailable(one))).toEqual([]);

      const known = await callAll(cached);
      const answered = ({ call: name, status, code }: Outcome): boolean =>
        status > 0 &&
        (status < 500 ||
          code === 'service_unavailable' ||
          code === 'request_timeout' ||
          name.startsWith('head '));
      expect(known.filter((one) => !answered(one))).toEqual([]);
      // most operations need the database, and say that it does not respond
      expect(known.filter(({ status }) => status === 503 || status === 504).length).toBeGreaterThan(150);
      expect((await call('get', '/health/live')).status).toBe(200);
      expect((await call('get', '/health/ready')).status).toBe(503);
    } finally {
      resume();
    }
    const ready = async (): Promise<boolean> => (await call('get', '/health/ready')).status === 200;
    while (!(await ready())) await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await call('get', '/registry/v1/org', { headers: headersOf(fresh) })).status).toBe(200);
    expect((await call('post', '/eval/v1/datasets', { headers, body: dataset })).status).toBe(409);
    expect(service.isRunning).toBe(true);
  }, 300_000);
});
