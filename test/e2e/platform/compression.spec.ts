import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { type ApiClient, sharedApp, newOrganization } from '#testing';

describe('the encoding of a response', () => {
  const app = sharedApp();
  let editor: ApiClient;
  let token: string;
  let workspace_id: string;

  beforeAll(async () => {
    const organization = await newOrganization(app);
    workspace_id = organization.workspaceId;
    token = await organization.token('evaluator');
    editor = app.api(token).in(workspace_id);
  });

  /** Sends a request without decoding the response. */
  async function send(
    path: string,
    headers: Record<string, string>,
    { method = 'GET', body = undefined as string | undefined } = {},
  ): Promise<{ status: number; headers: IncomingMessage['headers']; bytes: Buffer }> {
    const sent = {
      authorization: `Bearer ${token}`,
      'x-service-workspace-id': workspace_id,
      'content-type': 'application/json',
      ...headers,
    };
    const outgoing = request(app.url + path, { method, headers: sent }).end(body);
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
    return { status: answer.statusCode!, headers: answer.headers, bytes: await buffer(answer) };
  }

  const newDataset = async (description: string): Promise<string> => {
    const created = await editor.post('/eval/v1/datasets', {
      workspace_id,
      name: `d ${Math.random()}`,
      description,
    });
    return created.headers.get('location')!;
  };

  it('is gzip for more than 1 KiB if the client accepts it', async () => {
    const path = await newDataset('x'.repeat(5_000));
    const plain = await send(path, {});
    expect([plain.headers['content-encoding'], plain.headers.vary]).toEqual([undefined, 'Accept-Encoding']);
    for (const accept of ['gzip', 'br, gzip;q=0.5', '*', 'deflate, gzip']) {
      const { status, headers, bytes } = await send(path, { 'accept-encoding': accept });
      expect([accept, status, headers['content-encoding'], headers.vary]).toEqual([
        accept,
        200,
        'gzip',
        'Accept-Encoding',
      ]);
      expect(Number(headers['content-length'])).toBe(bytes.length);
      expect(bytes.length).toBeLessThan(plain.bytes.length / 2);
      expect(gunzipSync(bytes)).toEqual(plain.bytes);
    }
    for (const accept of ['identity', 'br', 'gzip;q=0', 'gzip;q=0, *']) {
      const { headers, bytes } = await send(path, { 'accept-encoding': accept });
      expect([accept, headers['content-encoding'], bytes.equals(plain.bytes)]).toEqual([
        accept,
        undefined,
        true,
      ]);
    }
  });

  it('is not gzip for small responses', async () => {
    const { headers } = await send(await newDataset('x'), { 'accept-encoding': 'gzip' });
    expect([headers['content-encoding'], headers.vary]).toEqual([undefined, undefined]);
  });

  it('does not change the ETag, which is valid in conditions even if a proxy weakens it', async () => {
    const path = await newDataset('x'.repeat(5_000));
    const gzip = { 'accept-encoding': 'gzip' };
    const { headers } = await send(path, gzip);
    const etag = headers.etag!;
    expect(etag).toMatch(/^"\d+"$/);
    for (const condition of [etag, `W/${etag}`, `"other", W/${etag}`]) {
      const notModified = await send(path, { ...gzip, 'if-none-match': condition });
      expect([notModified.status, notModified.bytes.length, notModified.headers['content-encoding']]).toEqual(
        [304, 0, undefined],
      );
      const same = await send(path, { 'if-match': condition }, { method: 'PATCH', body: '{}' });
      expect([condition, same.status]).toEqual([condition, 200]);
    }
    const list = await send('/eval/v1/datasets', gzip);
    const again = await send('/eval/v1/datasets', { ...gzip, 'if-none-match': `W/${list.headers.etag!}` });
    expect([list.headers['content-encoding'], again.status]).toEqual(['gzip', 304]);
  });

  it('is gzip for responses to writes and for their replays', async () => {
    const body = JSON.stringify({ workspace_id, name: 'once', description: 'x'.repeat(5_000) });
    const headers = { 'accept-encoding': 'gzip', 'idempotency-key': 'once' };
    const [first, second] = [
      await send('/eval/v1/datasets', headers, { method: 'POST', body }),
      await send('/eval/v1/datasets', headers, { method: 'POST', body }),
    ];
    expect([first.status, first.headers['content-encoding']]).toEqual([201, 'gzip']);
    expect([second.headers['idempotency-replayed'], second.headers['content-encoding']]).toEqual([
      'true',
      'gzip',
    ]);
    expect(gunzipSync(second.bytes)).toEqual(gunzipSync(first.bytes));
  });

  it('is identity for file content and its ranges', async () => {
    const uploaded = await editor.post(
      `/file/v1/files?${new URLSearchParams({ workspace_id, name: 'a.txt' }).toString()}`,
      Buffer.from('x'.repeat(5_000)),
      { 'content-type': 'text/plain' },
    );
    const path = `${uploaded.headers.get('location')!}/content`;
    const whole = await send(path, { 'accept-encoding': 'gzip' });
    const part = await send(path, { 'accept-encoding': 'gzip', range: 'bytes=0-2999' });
    expect(
      [whole, part].map((one) => [one.status, one.headers['content-encoding'], one.bytes.length]),
    ).toEqual([
      [200, undefined, 5_000],
      [206, undefined, 3_000],
    ]);
  });
});
