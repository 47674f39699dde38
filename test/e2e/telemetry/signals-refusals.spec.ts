import { gzipSync } from 'node:zlib';
import { Client } from 'pg';
import { setTimeout as delay } from 'node:timers/promises';
import { ownApp, newOrganization, type TestOrganization } from '#testing';
import {
  answered,
  type ExportAnswer,
  type ExportOptions,
  JSON_MEDIA,
  PROTOBUF,
  RawExporter,
} from './otlp.harness';
import { SIGNALS } from './signals.harness';

const LIMIT = 64 * 1024;

describe.each(['logs', 'metrics'] as const)('a rejected export of %s', (name) => {
  const { path, table, json, protobuf } = SIGNALS[name];
  const app = ownApp({ env: { TELEMETRY_LIMIT_BYTES: String(LIMIT) } });
  let organization: TestOrganization;
  let token: string;

  beforeAll(async () => {
    organization = await newOrganization(app);
    token = await organization.token('runtime');
  });

  const good = (media: string): Buffer => (media === PROTOBUF ? protobuf : json)([{ text: 'good' }]);

  interface Sent extends ExportOptions {
    token?: string | null;
    workspaceId?: string | null;
    body?: Buffer;
  }

  function send(media: string, sent: Sent): Promise<ExportAnswer> {
    const {
      token: as = token,
      workspaceId = organization.workspaceId,
      body = good(media),
      ...options
    } = sent;
    return new RawExporter(app.url, as ?? undefined, workspaceId ?? undefined).send(body, {
      media,
      path,
      ...options,
    });
  }

  const REFUSALS: [string, number, string, number, (media: string) => Sent | Promise<Sent>][] = [
    ['without a token', 401, 'token_missing', 16, () => ({ token: null })],
    ['by a reader', 403, 'access_denied', 7, async () => ({ token: await organization.token('viewer') })],
    ['without a workspace', 400, 'invalid_request', 3, () => ({ workspaceId: null })],
    [
      'into a workspace of another organization',
      409,
      'conflict',
      10,
      async () => ({ workspaceId: (await newOrganization(app)).workspaceId }),
    ],
    [
      'with an unknown content encoding',
      415,
      'unsupported_content_encoding',
      3,
      () => ({ encoding: 'zstd' }),
    ],
    ['with too many bytes', 413, 'payload_too_large', 3, () => ({ body: Buffer.alloc(LIMIT + 1) })],
    [
      'that inflates to too many bytes',
      413,
      'compressed_payload_too_large',
      3,
      () => ({ body: gzipSync(Buffer.alloc(LIMIT + 1)), encoding: 'gzip' }),
    ],
    ['with invalid gzip', 400, 'invalid_request', 3, (media) => ({ body: good(media), encoding: 'gzip' })],
    ['with a truncated body', 400, 'invalid_request', 3, (media) => ({ body: good(media).subarray(0, -3) })],
    ['with another method', 405, 'method_not_allowed', 12, () => ({ method: 'PUT' })],
  ];

  describe.each([
    ['protobuf', PROTOBUF],
    ['JSON', JSON_MEDIA],
  ])('in %s', (_, media) => {
    it.each(REFUSALS)('%s gets an error in its own encoding', async (__, status, code, rpcCode, sent) => {
      expectRefusal(await send(media, await sent(media)), media, status, code, rpcCode);
    });

    it('gets Retry-After if the database is unavailable', async () => {
      const answer = await sendWhileDatabaseEnds(media);
      expectRefusal(answer, media, 503, 'service_unavailable', 14);
      expect(answer.headers['retry-after']).toMatch(/^\d+$/);
    });
  });

  function expectRefusal(
    answer: ExportAnswer,
    media: string,
    status: number,
    code: string,
    rpcCode: number,
  ): void {
    if (media === PROTOBUF) {
      expect(answer.headers['content-type']).toBe(PROTOBUF);
      const { reason, code: found } = answered.status(answer);
      expect([answer.status, reason, found]).toEqual([status, code, rpcCode]);
    } else {
      expect(answer.headers['content-type']).toBe('application/problem+json');
      expect([answer.status, answered.json(answer).code]).toEqual([status, code]);
    }
  }

  it('gets the supported media types in JSON if it uses another one', async () => {
    const answer = await send('text/plain', { body: good(JSON_MEDIA) });
    expect([answer.status, answered.json(answer).code]).toEqual([415, 'unsupported_media_type']);
  });

  it('stores nothing', async () => {
    const whole = protobuf([{ text: 'half' }]);
    expect((await send(PROTOBUF, { body: Buffer.concat([whole, Buffer.from([0x0a, 0xff])]) })).status).toBe(
      400,
    );
    const reader = await organization.as('viewer');
    expect((await reader.get(path)).body.page.total).toBe(0);
    expect((await send(PROTOBUF, { body: whole })).status).toBe(200);
    expect((await reader.get(path)).body.page.total).toBe(1);
  });

  /** Sends an export, and terminates the connection of its transaction. */
  async function sendWhileDatabaseEnds(media: string): Promise<ExportAnswer> {
    const database = new Client({ connectionString: app.databaseUrl });
    await database.connect();
    await database.query('BEGIN');
    await database.query(`LOCK TABLE ${table} IN EXCLUSIVE MODE`);
    const answer = send(media, {});
    const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE wait_event_type = 'Lock' AND datname = current_database()`;
    while ((await database.query(end)).rowCount === 0) await delay(10);
    const response = await answer;
    await database.query('ROLLBACK');
    await database.end();
    return response;
  }
});
