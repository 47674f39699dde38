import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { type ApiClient, ownApp, newOrganization } from '#testing';
import { base64, ENCODED, sendInPieces, sendWithLines } from './encoded-bodies.fixture';
import { ScoringFixture } from './scoring.fixture';

const LIMIT = 64 * 1024;

describe('a request to score with an encoded body', () => {
  const app = ownApp({ env: { SCORING_LIMIT_BYTES: String(LIMIT) } });
  let on: ScoringFixture;
  let scorer: any;
  let path: string;
  let plain: object;
  let json: string;

  beforeEach(async () => {
    on = await ScoringFixture.create(app);
    scorer = await on.scorer();
    path = `/eval/v1/scorers/${scorer.scorer_id}/score`;
    plain = { mode: 'preview', trace_ids: [await on.trace({ input: 'ä', output: 'b' })] };
    json = JSON.stringify(plain);
  });

  const send = (
    body: Buffer | string,
    encoding: string,
    headers: object = {},
    by: ApiClient = on.evaluator,
  ) =>
    by.post(path, typeof body === 'string' ? Buffer.from(body) : body, {
      'content-encoding': encoding,
      ...headers,
    });

  /** Returns the request padded to this many bytes of JSON. */
  const padded = (bytes: number): string => json + ' '.repeat(bytes - json.length);

  describe('with a valid encoding', () => {
    it.each(Object.keys(ENCODED))('equals the plain request in %s', async (encoding) => {
      const expected = await on.score(scorer, plain);
      expect(expected.status).toBe(200);
      const answer = await send(ENCODED[encoding]!(json), encoding);
      expect([answer.status, answer.body]).toEqual([200, expected.body]);
      const run = await send(ENCODED[encoding]!(json.replace('preview', 'score')), encoding);
      expect([run.status, run.body.total, run.body.run_status]).toEqual([202, 1, 'queued']);
    });

    it('needs no Content-Length, and may arrive in pieces of any size', async () => {
      const token = await on.organization.token('evaluator');
      const caller = { baseUrl: app.url, token, workspaceId: on.workspaceId };
      for (const [encoding, encode] of Object.entries(ENCODED)) {
        const { status } = await sendInPieces(caller, path, encoding, encode(json), 7);
        expect([encoding, status]).toEqual([encoding, 200]);
      }
    });

    it('may spell its codings in different ways', async () => {
      const { gzip, base64: inBase64, 'gzip, base64': both } = ENCODED;
      for (const [encoding, encode] of [
        ['GZip', gzip],
        ['x-gzip', gzip],
        ['BASE64', inBase64],
        [' gzip ,base64', both],
        ['identity, gzip, , identity, base64', both],
        ['identity', (text: string) => Buffer.from(text)],
      ] as [string, (text: string) => Buffer][]) {
        const { status } = await send(encode(json), encoding);
        expect([encoding, status]).toEqual([encoding, 200]);
      }
      const token = await on.organization.token('evaluator');
      const lines = ['gzip', 'base64'];
      expect(await sendWithLines(on.evaluator, token, path, lines, both!(json))).toBe(200);
      expect(await sendWithLines(on.evaluator, token, path, lines.reverse(), both!(json))).toBe(400);
    });

    it('may contain the line breaks of the base64 command and of MIME', async () => {
      const text = base64(json).toString();
      for (const lines of [`${text}\n`, text.replace(/.{76}/g, '$&\n'), text.replace(/.{64}/g, '$&\r\n')]) {
        expect((await send(lines, 'base64')).status).toBe(200);
      }
    });

    it('may have the maximum size after decoding', async () => {
      const full = padded(LIMIT);
      expect((await on.evaluator.post(path, full)).status).toBe(200);
      for (const [encoding, encode] of Object.entries(ENCODED)) {
        expect([encoding, (await send(encode(full), encoding)).status]).toEqual([encoding, 200]);
        const answer = await send(encode(`${full} `), encoding);
        expect([encoding, answer.status, answer.body.code]).toEqual([
          encoding,
          413,
          'compressed_payload_too_large',
        ]);
      }
    });

    it('is replayed for its Idempotency-Key, whatever the encoding', async () => {
      const run = json.replace('preview', 'score');
      const key = { 'idempotency-key': 'encoded' };
      const first = await send(ENCODED.gzip!(run), 'gzip', key);
      expect([first.status, first.headers.get('idempotency-replayed')]).toEqual([202, null]);
      for (const [encoding, encode] of Object.entries(ENCODED)) {
        const again = await send(encode(run), encoding, key);
        expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([202, 'true']);
        expect(again.body).toEqual(first.body);
      }
      expect((await on.evaluator.post(path, run, key)).headers.get('idempotency-replayed')).toBe('true');
      const other = await send(ENCODED.gzip!(`${run} `), 'gzip', key);
      expect([other.status, other.body.code]).toEqual([422, 'validation_failed']);
      expect((await on.evaluator.get('/eval/v1/score-runs')).body.page.total).toBe(1);
    });
  });

  it.each(['br', 'deflate', 'gzip, gzip', 'x-gzip, gzip', 'gzip, base64, gzip', 'base64url', 'gzip; q=1'])(
    'returns 415 in %s, and lists the supported codings',
    async (encoding) => {
      const answer = await send(gzipSync(json), encoding);
      expect([answer.status, answer.body.code]).toEqual([415, 'unsupported_content_encoding']);
      expect(answer.headers.get('accept-encoding')).toBe('gzip, base64, identity');
    },
  );

  it('returns 415 in base64 for operations that do not support it', async () => {
    const body = base64(JSON.stringify({ workspace_id: on.workspaceId, name: 'a' }));
    const answer = await on.evaluator.post('/eval/v1/datasets', body, { 'content-encoding': 'base64' });
    expect([answer.status, answer.body.code]).toEqual([415, 'unsupported_content_encoding']);
    expect(answer.headers.get('accept-encoding')).toBe('gzip, identity');
  });

  it.each<[string, string, number, string, (json: string) => Buffer | string]>([
    ['truncated gzip', 'gzip', 400, 'invalid_request', (text) => gzipSync(text).subarray(0, -9)],
    [
      'gzip with trailing text',
      'gzip',
      400,
      'invalid_request',
      (text) => `${gzipSync(text).toString('latin1')}x`,
    ],
    [
      'gzip with a wrong checksum',
      'gzip',
      400,
      'invalid_request',
      (text) => Buffer.from(gzipSync(text).map((byte, at, all) => (at === all.length - 6 ? byte ^ 1 : byte))),
    ],
    ['plain text', 'gzip', 400, 'invalid_request', (text) => text],
    ['an empty body', 'gzip', 400, 'invalid_request', () => ''],
    ['an empty body', 'base64', 400, 'invalid_request', () => ''],
    ['gzip of an empty body', 'gzip', 400, 'invalid_request', () => gzipSync('')],
    ['gzip of invalid JSON', 'gzip', 400, 'invalid_request', () => gzipSync('{')],
    ['gzip within gzip', 'gzip', 400, 'invalid_request', (text) => gzipSync(gzipSync(text))],
    ['gzip without base64', 'base64', 400, 'invalid_base64', (text) => gzipSync(text)],
    ['truncated base64', 'base64', 400, 'invalid_base64', (text) => base64(text).subarray(0, -1)],
    [
      'base64 with trailing data',
      'base64',
      400,
      'invalid_base64',
      (text) => `${base64(text).toString()}====`,
    ],
    ['base64 for URLs', 'base64', 400, 'invalid_base64', () => '-_-_'],
    ['base64 with a space', 'base64', 400, 'invalid_base64', (text) => ` ${base64(text).toString()}`],
    ['base64 of plain text', 'gzip, base64', 400, 'invalid_request', (text) => base64(text)],
    ['gzip of plain text', 'base64, gzip', 400, 'invalid_base64', (text) => gzipSync(text)],
  ])('is rejected for %s, declared as %s, with %i', async (_, encoding, status, code, bodyOf) => {
    const body = bodyOf(json);
    const bytes = typeof body === 'string' ? Buffer.from(body, 'latin1') : body;
    const answer = await send(bytes, encoding);
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    expect(answer.body.detail).not.toBe('');
  });

  it('returns 413 if it is too large before decoding, with or without Content-Length', async () => {
    const token = await on.organization.token('evaluator');
    const caller = { baseUrl: app.url, token, workspaceId: on.workspaceId };
    for (const [encoding, limit] of [
      ['gzip', LIMIT],
      ['base64', (LIMIT * 3) / 2],
      ['gzip, base64', (LIMIT * 3) / 2],
    ] as const) {
      const answer = await send(Buffer.alloc(limit + 1, 'A'), encoding);
      expect([answer.status, answer.body.code]).toEqual([413, 'payload_too_large']);
    }
    // Line breaks decode to nothing, so the decoded body is not too large.
    const lines = Buffer.alloc(LIMIT * 2, '\n');
    expect(await sendInPieces(caller, path, 'base64', lines, LIMIT)).toMatchObject({
      status: 413,
      code: 'payload_too_large',
    });
  });

  it('returns 415 for another media type, whatever the coding', async () => {
    const answer = await send(gzipSync(json), 'gzip', { 'content-type': 'text/plain' });
    expect([answer.status, answer.body.code]).toEqual([415, 'unsupported_media_type']);
  });

  it.each<[string, number, string, () => Promise<string>]>([
    ['without credentials', 401, 'token_missing', () => Promise.resolve('')],
    [
      'with an unknown API key',
      401,
      'invalid_api_key',
      () => Promise.resolve('Authorization: Bearer rsk_x\r\n'),
    ],
    [
      'by an editor',
      403,
      'access_denied',
      async () => `Authorization: Bearer ${await on.organization.token('editor')}\r\n`,
    ],
    [
      'from another organization',
      409,
      'conflict',
      async () => `Authorization: Bearer ${await (await newOrganization(app)).token('owner')}\r\n`,
    ],
  ])('is rejected before its body arrives: %s', async (_, status, code, authorization) => {
    const { hostname, port } = new URL(app.url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: test\r\n${await authorization()}X-Service-Workspace-Id: ${on.workspaceId}\r\n` +
        'Content-Type: application/json\r\nContent-Encoding: gzip, gzip, br\r\nContent-Length: 1000\r\n\r\n',
    );
    const [answer] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    expect(answer.toString()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^]*"code":"${code}"`));
  });
});
