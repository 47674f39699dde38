import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { contentOf, storageAt, streamOf } from './storages.fixture';

const UNAVAILABLE = { status: 503, code: 'storage_unavailable' };

/** A bucket of a service without checksums. Like real ones, it rejects their headers, trailers and elements. */
class PlainBucket {
  readonly objects = new Map<string, Buffer>();
  /** The checksums that it rejected. */
  readonly rejected: string[] = [];
  private readonly parts = new Map<string, Buffer>();
  private readonly server: Server = createServer((request, response) => {
    void this.answer(request).then(([status, body = '']) =>
      response.writeHead(status, { 'Content-Length': Buffer.byteLength(body), ETag: '"e"' }).end(body),
    );
  });

  async start(): Promise<string> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    const { port } = this.server.address() as AddressInfo;
    return `s3://bucket/files?region=any&endpoint=http://127.0.0.1:${port}&path_style=true`;
  }

  async close(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }

  private async answer(request: IncomingMessage): Promise<[number, (string | Buffer)?]> {
    const { method, headers } = request;
    const body = await buffer(request);
    const names = Object.keys(headers).filter((name) => /^x-amz-(sdk-)?(checksum|trailer)/.test(name));
    if (headers['content-encoding'] !== undefined) names.push('content-encoding');
    if (body.includes('<Checksum')) names.push('element');
    if (names.length > 0) {
      this.rejected.push(...names);
      return [
        501,
        '<Error><Code>NotImplemented</Code><Message>A header is not implemented.</Message></Error>',
      ];
    }
    const sha256 = createHash('sha256').update(body).digest('hex');
    if (headers['x-amz-content-sha256'] !== sha256) return [400, '<Error><Code>BadDigest</Code></Error>'];
    const { pathname: key, searchParams } = new URL(request.url!, 'http://localhost');
    const part = searchParams.get('partNumber');
    switch (true) {
      case method === 'PUT' && part !== null:
        this.parts.set(part, body);
        return [200];
      case method === 'PUT':
        this.objects.set(key, body);
        return [200];
      case method === 'POST' && searchParams.has('uploads'):
        return [200, '<Result><UploadId>u</UploadId></Result>'];
      case method === 'POST':
        this.objects.set(key, Buffer.concat([...this.parts.values()]));
        return [200, '<Result><ETag>e</ETag></Result>'];
      case method === 'GET' && searchParams.has('uploads'):
        return [200, '<Result></Result>'];
      case method === 'GET':
        return [200, this.objects.get(key)];
      default:
        if (method === 'DELETE') this.objects.delete(key);
        return [method === 'DELETE' ? 204 : 200];
    }
  }
}

describe('a bucket of a service that does not know checksums', () => {
  let bucket: PlainBucket;
  let url: string;

  beforeAll(async () => {
    Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' });
    bucket = new PlainBucket();
    url = await bucket.start();
  });
  afterAll(() => bucket.close());

  it.each([0, 1_000, 11 * 1024 ** 2])(
    'stores objects of %d bytes, signed with their SHA-256',
    async (size) => {
      const storage = await storageAt(url);
      const bytes = randomBytes(size);
      await storage.write('org/object', streamOf(bytes));
      if (size > 0) expect((await contentOf(storage.read('org/object', size))).equals(bytes)).toBe(true);
      expect(bucket.objects.get('/bucket/files/org/object')!.equals(bytes)).toBe(true);
      await storage.delete('org/object');
      expect([bucket.objects.size, bucket.rejected]).toEqual([0, []]);
      storage.close();
    },
  );

  it('gets checksums only if STORAGE_URL demands them', async () => {
    const storage = await storageAt(`${url}&checksums=true`);
    await expect(storage.write('org/object', streamOf(Buffer.from('x')))).rejects.toMatchObject(UNAVAILABLE);
    expect(bucket.rejected).toContain('x-amz-checksum-crc32');
    storage.close();
  });
});
