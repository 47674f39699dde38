import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { RELEASE } from '#platform/release';
import { sharedApp } from '#testing';

const DOCUMENTS: [path: string, type: string][] = [
  ['/openapi.json', 'application/json; charset=utf-8'],
  ['/openapi.json?operation=getDataset', 'application/json; charset=utf-8'],
  ['/llms.txt', 'text/plain; charset=utf-8'],
  ['/docs', 'text/html; charset=utf-8'],
  ['/docs/start.js', 'text/javascript; charset=utf-8'],
  ['/docs/assets/swagger-ui.css', 'text/css; charset=utf-8'],
  ['/docs/assets/swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
  ['/docs/assets/favicon-16x16.png', 'image/png'],
  ['/docs/assets/favicon-32x32.png', 'image/png'],
  ['/docs/clients/agent-registry.tgz', 'application/gzip'],
  [`/docs/clients/agent-registry-${RELEASE}.tgz`, 'application/gzip'],
  ['/.well-known/jwks.json', 'application/json; charset=utf-8'],
];
const SMALL = /favicon|tgz|start\.js|jwks|docs$/;

describe('a public document', () => {
  const app = sharedApp();

  /** Sends a request without default headers, and does not decode the response. */
  async function read(path: string, headers: Record<string, string> = {}, method = 'GET') {
    const sending = request(app.url + path, { method, headers }).end();
    const [answer] = (await once(sending, 'response')) as [IncomingMessage];
    return { status: answer.statusCode, headers: answer.headers, bytes: await buffer(answer) };
  }

  it.each(DOCUMENTS)('has its type, its length and an ETag that revalidates it: %s', async (path, type) => {
    const first = await read(path);
    expect([first.status, first.headers['content-type']]).toEqual([200, type]);
    expect(first.headers['content-length']).toBe(String(first.bytes.length));
    const etag = first.headers.etag!;
    expect(etag).toMatch(/^"[\w-]+"$/);
    expect((await read(path)).headers.etag).toBe(etag);
    for (const condition of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const revalidated = await read(path, { 'if-none-match': condition });
      expect([revalidated.status, revalidated.bytes.length, revalidated.headers.etag]).toEqual([
        304,
        0,
        etag,
      ]);
      expect(revalidated.headers['content-length']).toBeUndefined();
    }
    expect((await read(path, { 'if-none-match': '"other"' })).status).toBe(200);
    const stale = await read(path, { 'if-match': '"other"' });
    expect([stale.status, JSON.parse(stale.bytes.toString())]).toMatchObject([
      412,
      { code: 'precondition_failed' },
    ]);
    const head = await read(path, {}, 'HEAD');
    expect([head.status, head.bytes.length]).toEqual([200, 0]);
    expect(head.headers).toMatchObject({ etag, 'content-length': first.headers['content-length'] });
  });

  it.each(DOCUMENTS.filter(([path]) => !SMALL.test(path)))(
    'is compressed for clients that accept it: %s',
    async (path) => {
      const plain = await read(path);
      const gzip = await read(path, { 'accept-encoding': 'br, gzip' });
      expect([plain.headers['content-encoding'], gzip.headers['content-encoding']]).toEqual([
        undefined,
        'gzip',
      ]);
      expect([plain.headers.vary, gzip.headers.vary]).toEqual(['Accept-Encoding', 'Accept-Encoding']);
      expect(gunzipSync(gzip.bytes).equals(plain.bytes)).toBe(true);
      expect(gzip.bytes.length).toBeLessThan(plain.bytes.length / 2);
      expect(gzip.headers['content-length']).toBe(String(gzip.bytes.length));
      const etag = gzip.headers.etag!;
      expect(etag).not.toBe(plain.headers.etag);
      const revalidated = await read(path, { 'accept-encoding': 'gzip', 'if-none-match': etag });
      expect([revalidated.status, revalidated.headers.vary]).toEqual([304, 'Accept-Encoding']);
      const uncompressed = await read(path, { 'accept-encoding': 'gzip;q=0' });
      expect(uncompressed.headers['content-encoding']).toBeUndefined();
    },
  );

  it('keeps the content security policy of the documentation page', async () => {
    const page = await read('/docs');
    expect(page.headers['content-security-policy']).toContain("script-src 'self'");
    const revalidated = await read('/docs', { 'if-none-match': page.headers.etag! });
    expect([revalidated.status, revalidated.headers['content-security-policy']]).toEqual([
      304,
      page.headers['content-security-policy'],
    ]);
  });

  it('is cacheable for the signing keys, and changes with them', async () => {
    const path = '/.well-known/jwks.json';
    const before = await read(path);
    expect(before.headers['cache-control']).toBe('public, max-age=300');
    await app.database.query(
      `UPDATE signing_keys SET public_jwk = public_jwk || '{"x5t": "changed"}', signs_from = signs_from - interval '1 s'`,
    );
    try {
      const after = await read(path, { 'if-none-match': before.headers.etag! });
      expect([after.status, after.bytes.toString()]).toEqual([200, expect.stringContaining('changed')]);
      expect((await read(path, { 'if-none-match': after.headers.etag! })).status).toBe(304);
    } finally {
      await app.database.query(
        `UPDATE signing_keys SET public_jwk = public_jwk - 'x5t', signs_from = signs_from + interval '1 s'`,
      );
    }
  });
});
