import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { Client } from 'pg';
import {
  ownApp,
  newOrganization,
  type TestOrganization,
  jsonExport,
  newSpan,
  protobufExport,
} from '#testing';
import {
  answered,
  type ExportAnswer,
  type ExportOptions,
  JSON_MEDIA,
  PROTOBUF,
  RawExporter,
  TRACES,
} from './otlp.harness';

const LIMIT = 64 * 1024;

interface Refusal {
  title: string;
  status: number;
  code: string;
  /** The google.rpc.Code. */
  rpcCode: number;
  /** Headers of the response. */
  headers?: Record<string, string | RegExp>;
  send: (media: string) => Promise<ExportAnswer>;
}

describe('an export', () => {
  const app = ownApp({ env: { TELEMETRY_LIMIT_BYTES: String(LIMIT) } });
  let organization: TestOrganization;
  let token: string;
  let exporter: RawExporter;

  beforeAll(async () => {
    organization = await newOrganization(app);
    token = await organization.token('runtime');
    exporter = new RawExporter(app.url, token, organization.workspaceId);
  });

  const bodyOf = (media: string): Buffer =>
    media === PROTOBUF ? protobufExport([newSpan()]) : jsonExport([newSpan()]);

  /** Sends an export of one valid span, as another caller or with other headers. */
  const sendAs = async (
    media: string,
    caller: { token?: string; workspaceId?: string },
    options: ExportOptions = {},
  ): Promise<ExportAnswer> => {
    const other = new RawExporter(app.url, caller.token, caller.workspaceId);
    return other.send(bodyOf(media), { media, ...options });
  };

  const workspaceId = (): string => organization.workspaceId;

  const REFUSALS: Refusal[] = [
    {
      title: 'without a token',
      status: 401,
      code: 'token_missing',
      rpcCode: 16,
      headers: { 'www-authenticate': 'Bearer' },
      send: (media) => sendAs(media, { workspaceId: workspaceId() }),
    },
    {
      title: 'with an invalid API key',
      status: 401,
      code: 'invalid_api_key',
      rpcCode: 16,
      headers: { 'www-authenticate': /invalid_token/ },
      send: (media) => sendAs(media, { token: 'rsk_nobody', workspaceId: workspaceId() }),
    },
    {
      title: 'by a reader',
      status: 403,
      code: 'access_denied',
      rpcCode: 7,
      send: async (media) =>
        sendAs(media, { token: await organization.token('viewer'), workspaceId: workspaceId() }),
    },
    {
      title: 'into a workspace without access',
      status: 403,
      code: 'access_denied',
      rpcCode: 7,
      send: async (media) => {
        const key = (await organization.serviceAccount('runtime')).key;
        return sendAs(media, { token: key, workspaceId: await organization.newWorkspace() });
      },
    },
    {
      title: 'without the workspace header',
      status: 400,
      code: 'invalid_request',
      rpcCode: 3,
      send: (media) => sendAs(media, { token }),
    },
    {
      title: 'into a workspace of another organization',
      status: 409,
      code: 'conflict',
      rpcCode: 10,
      send: async (media) => sendAs(media, { token, workspaceId: (await newOrganization(app)).workspaceId }),
    },
    ...['deflate', 'br', 'zstd', 'gzip, gzip', 'gzip, deflate'].map((encoding) => ({
      title: `with the content encoding ${encoding}`,
      status: 415,
      code: 'unsupported_content_encoding',
      rpcCode: 3,
      headers: { 'accept-encoding': 'gzip, identity' },
      send: (media: string) => exporter.send(bodyOf(media), { media, encoding }),
    })),
    {
      title: 'with more bytes than the limit',
      status: 413,
      code: 'payload_too_large',
      rpcCode: 3,
      send: (media) => exporter.send(Buffer.alloc(LIMIT + 1), { media }),
    },
    {
      title: 'with more bytes than the limit, without a Content-Length',
      status: 413,
      code: 'payload_too_large',
      rpcCode: 3,
      send: (media) => exporter.send(Buffer.alloc(LIMIT + 1), { media, isChunked: true }),
    },
    {
      title: 'that inflates to more bytes than the limit',
      status: 413,
      code: 'compressed_payload_too_large',
      rpcCode: 3,
      send: (media) => exporter.send(gzipSync(Buffer.alloc(LIMIT + 1)), { media, encoding: 'gzip' }),
    },
    {
      title: 'that inflates to a thousand times its size',
      status: 413,
      code: 'compressed_payload_too_large',
      rpcCode: 3,
      send: (media) => exporter.send(gzipSync(Buffer.alloc(900 * LIMIT)), { media, encoding: 'gzip' }),
    },
    {
      title: 'with corrupt gzip',
      status: 400,
      code: 'invalid_request',
      rpcCode: 3,
      send: (media) => {
        const bytes = gzipSync(bodyOf(media));
        bytes.fill(0x55, 12, 24);
        return exporter.send(bytes, { media, encoding: 'gzip' });
      },
    },
    {
      title: 'with truncated gzip',
      status: 400,
      code: 'invalid_request',
      rpcCode: 3,
      send: (media) => exporter.send(gzipSync(bodyOf(media)).subarray(0, -9), { media, encoding: 'gzip' }),
    },
    {
      title: 'with a body that is not gzip',
      status: 400,
      code: 'invalid_request',
      rpcCode: 3,
      send: (media) => exporter.send(bodyOf(media), { media, encoding: 'gzip' }),
    },
    {
      title: 'that cannot be decoded',
      status: 400,
      code: 'invalid_request',
      rpcCode: 3,
      send: (media) => exporter.send(bodyOf(media).subarray(0, -3), { media }),
    },
    {
      title: 'to an unknown path',
      status: 404,
      code: 'not_found',
      rpcCode: 5,
      send: (media) => exporter.send(bodyOf(media), { media, path: '/telemetry/v1/nothing' }),
    },
    {
      title: 'with another method',
      status: 405,
      code: 'method_not_allowed',
      rpcCode: 12,
      headers: { allow: /POST/ },
      send: (media) => exporter.send(bodyOf(media), { media, method: 'PUT' }),
    },
    {
      title: 'during loss of the database',
      status: 503,
      code: 'service_unavailable',
      rpcCode: 14,
      headers: { 'retry-after': /^\d+$/ },
      send: (media) => sendWhileDatabaseEnds(media),
    },
  ];

  describe.each([
    ['protobuf', PROTOBUF],
    ['JSON', JSON_MEDIA],
  ])('in %s', (_, media) => {
    it.each(REFUSALS.map((refusal) => [refusal.title, refusal] as const))(
      '%s gets an error in its own encoding',
      async (__, { status, code, rpcCode, headers, send }) => {
        const answer = await send(media);
        if (media === PROTOBUF) {
          expect(answer.headers['content-type']).toBe(PROTOBUF);
          const statusBody = answered.status(answer);
          expect([answer.status, statusBody.reason, statusBody.code]).toEqual([status, code, rpcCode]);
          expect(statusBody.message).not.toBe('');
        } else {
          expect(answer.headers['content-type']).toBe('application/problem+json');
          const problemBody = answered.json(answer);
          expect([answer.status, problemBody.code, problemBody.status]).toEqual([status, code, status]);
          expect(problemBody).toMatchObject({ title: expect.any(String), trace_id: expect.any(String) });
        }
        expect(answer.headers).toMatchObject(
          Object.fromEntries(
            Object.entries(headers ?? {}).map(([name, value]) => [name, expect.stringMatching(value)]),
          ),
        );
        expect(answer.headers['x-request-id']).toEqual(expect.any(String));
      },
    );
  });

  it.each(['', 'text/plain', 'application/protobuf', 'application/x-protobuf2'])(
    'gets the supported media types in JSON for the media type "%s"',
    async (media) => {
      const answer = await exporter.send(protobufExport([newSpan()]), { media });
      expect(answer.status).toBe(415);
      expect(answered.json(answer)).toMatchObject({
        code: 'unsupported_media_type',
        detail: expect.stringContaining(PROTOBUF),
      });
    },
  );

  it('gets 415 for JSON in another charset than UTF-8', async () => {
    const media = `${JSON_MEDIA}; charset=utf-16`;
    const answer = await exporter.send(jsonExport([newSpan()]), { media });
    expect([answer.status, answered.json(answer).code]).toEqual([415, 'unsupported_media_type']);
    const utf8 = await exporter.send(jsonExport([newSpan()]), { media: `${JSON_MEDIA}; charset=UTF-8` });
    expect(utf8.status).toBe(200);
  });

  it('stores none of its spans if it is rejected', async () => {
    const good = newSpan();
    const body = Buffer.concat([protobufExport([good]), Buffer.from([0x0a, 0xff])]);
    expect((await exporter.send(body)).status).toBe(400);
    const rows = await app.database.query(
      'SELECT 1 FROM spans JOIN traces USING (workspace_id, day, trace_no) WHERE trace_id = $1',
      [good.traceId],
    );
    expect(rows).toEqual([]);
  });

  it('gets 401 without a token before its body is read', async () => {
    const { hostname, port } = new URL(app.url);
    const socket = connect(Number(port), hostname);
    socket.write(
      [
        `POST ${TRACES} HTTP/1.1`,
        'Host: test',
        `Content-Type: ${PROTOBUF}`,
        'Content-Length: 1000',
        '',
        '',
      ].join('\r\n'),
    );
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 401 /);
    socket.destroy();
  });

  it('is accepted at exactly the limit, before and after decompression', async () => {
    const body = protobufExport([newSpan()]);
    const rest = LIMIT - body.length;
    // an unknown bytes field with number 15: one byte of tag, three bytes of length
    const filler = Buffer.concat([Buffer.from([0x7a]), varint(rest - 4), Buffer.alloc(rest - 4)]);
    const full = Buffer.concat([body, filler]);
    expect(full.length).toBe(LIMIT);
    expect((await exporter.send(full)).status).toBe(200);
    expect((await exporter.send(gzipSync(full), { encoding: 'gzip' })).status).toBe(200);
  });

  /** Sends an export, and terminates the connection of its transaction. */
  async function sendWhileDatabaseEnds(media: string): Promise<ExportAnswer> {
    const database = new Client({ connectionString: app.databaseUrl });
    await database.connect();
    await database.query('BEGIN');
    await database.query('LOCK TABLE spans IN EXCLUSIVE MODE');
    const answer = exporter.send(bodyOf(media), { media });
    const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE wait_event_type = 'Lock' AND datname = current_database()`;
    while ((await database.query(end)).rowCount === 0) await delay(10);
    const response = await answer;
    await database.query('ROLLBACK');
    await database.end();
    return response;
  }
});

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest & 127) | 128);
  }
}
