import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { sharedApp, newOrganization } from '#testing';
import { Nginx } from '../../../bench/nginx';
import { register } from './upstream.fixture';

const isInstalled = spawnSync('nginx', ['-v']).status === 0;
const TEXT = 'x'.repeat(100_000);

const LOCATIONS = `
    add_header X-Connection $connection;
    location /zipped { gzip on; gzip_types *; gzip_min_length 0; gzip_proxied any; alias ../files; }
    location /small { client_max_body_size 1k; dav_methods PUT; }
    location /moved { return 301 /text.txt; }
`;

/** Like `describe`. Without nginx, one test replaces the others, and its title says that nothing was tested. */
function describeWithNginx(name: string, fn: () => void): void {
  describe(name, () => {
    if (isInstalled) return fn();
    process.stderr.write(`\nWARNING (nginx): nginx is not on the PATH: "${name}" was NOT tested.\n`);
    it('was NOT tested, because nginx is not installed', () => undefined);
  });
}

interface ForwardedResponse {
  status: number;
  headers: http.IncomingHttpHeaders;
  body: Buffer;
}

describeWithNginx('an API behind nginx', () => {
  const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
  let directory: string;
  let nginx: Nginx;
  let api: string;
  let key: string;

  beforeAll(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'nginx-'));
    const locations = LOCATIONS.replace('../files', path.join(directory, 'files'));
    nginx = (await Nginx.start(directory, locations))!;
    await writeFile(path.join(directory, 'files', 'text.txt'), TEXT);
    const org = await newOrganization(app);
    key = (await org.serviceAccount('runtime')).key;
    const base_url = `http://127.0.0.1:${nginx.port}`;
    api = await register(await org.member('admin'), org.workspaceId, { base_url });
  });
  afterAll(async () => {
    await nginx.stop();
    await rm(directory, { recursive: true, force: true });
  });

  async function send(
    method: string,
    target: string,
    headers: http.OutgoingHttpHeaders = {},
  ): Promise<ForwardedResponse> {
    const sending = http.request(`${app.url}${api}${target}`, {
      method,
      agent: false,
      headers: { authorization: `Bearer ${key}`, ...headers },
    });
    sending.end();
    const [answer] = (await once(sending, 'response')) as [http.IncomingMessage];
    const body = Buffer.concat((await answer.toArray()) as Buffer[]);
    return { status: answer.statusCode!, headers: answer.headers, body };
  }

  it('receives successive requests on one connection', async () => {
    const connections = new Set<unknown>();
    for (let sent = 0; sent < 5; sent++) {
      const { status, headers } = await send('GET', '/text.txt');
      expect(status).toBe(200);
      connections.add(headers['x-connection']);
    }
    expect(connections.size).toBe(1);
  });

  it('keeps lengths and ETags, and supports HEAD', async () => {
    const got = await send('GET', '/text.txt');
    expect([got.headers['content-length'], got.body.toString() === TEXT]).toEqual(['100000', true]);
    const head = await send('HEAD', '/text.txt');
    expect([head.status, head.headers['content-length'], head.headers.etag, head.body.length]).toEqual([
      200,
      '100000',
      got.headers.etag,
      0,
    ]);
    const same = await send('GET', '/text.txt', { 'if-none-match': got.headers.etag });
    expect([same.status, same.body.length, same.headers.etag]).toEqual([304, 0, got.headers.etag]);
  });

  it('keeps gzip and chunked responses as they are', async () => {
    const got = await send('GET', '/zipped/text.txt', { 'accept-encoding': 'gzip' });
    expect(got.headers).toMatchObject({ 'content-encoding': 'gzip', 'transfer-encoding': 'chunked' });
    expect(gunzipSync(got.body).toString() === TEXT).toBe(true);
    const plain = await send('GET', '/zipped/text.txt');
    expect(plain.headers).not.toHaveProperty('content-encoding');
    expect(plain.body.toString() === TEXT).toBe(true);
  });

  it('supports one range, several ranges and an unsatisfiable range', async () => {
    const range = await send('GET', '/text.txt', { range: 'bytes=10-19' });
    expect([range.status, range.headers['content-range'], range.body.toString()]).toEqual([
      206,
      'bytes 10-19/100000',
      'x'.repeat(10),
    ]);
    const several = await send('GET', '/text.txt', { range: 'bytes=0-1,5-6' });
    expect([several.status, several.headers['content-type']]).toEqual([
      206,
      expect.stringMatching(/^multipart\/byteranges/),
    ]);
    expect((await send('GET', '/text.txt', { range: 'bytes=100001-' })).status).toBe(416);
  });

  it('may redirect to itself, which is not followed', async () => {
    const got = await send('GET', '/moved');
    expect([got.status, got.headers.location]).toEqual([
      301,
      expect.stringMatching(/^http:\/\/127.*\/text\.txt$/),
    ]);
  });

  it('may reject a body before it has arrived', async () => {
    const sending = http.request(`${app.url}${api}/small/x`, {
      method: 'PUT',
      agent: false,
      headers: { authorization: `Bearer ${key}`, 'content-length': 10_000_000 },
    });
    sending.on('error', () => undefined).write('begin');
    const [answer] = (await once(sending, 'response')) as [http.IncomingMessage];
    expect([answer.statusCode, answer.headers.connection]).toEqual([413, 'close']);
    expect((await answer.toArray()).join('')).toContain('413 Request Entity Too Large');
    sending.destroy();
  });
});
