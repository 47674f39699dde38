import { once } from 'node:events';
import http from 'node:http';
import { sharedApp, newOrganization, until } from '#testing';
import { register, Upstream } from './upstream.fixture';

describe('the proxy', () => {
  const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });

  it('returns 408 to a client that stops sending, and aborts the upstream request', async () => {
    const org = await newOrganization(app);
    const upstream = await Upstream.listen();
    const path = await register(await org.member('admin'), org.workspaceId, { base_url: upstream.url });
    let isAborted = false;
    upstream.isEarly = true;
    upstream.answer = (request) => request.on('error', () => (isAborted = true)).resume();
    const { key } = await org.serviceAccount('runtime');
    const sending = http.request(`${app.url}${path}/x`, {
      method: 'POST',
      agent: false,
      headers: { authorization: `Bearer ${key}`, 'content-length': 1000 },
    });
    sending.on('error', () => undefined).write('begin');
    const [answer] = (await once(sending, 'response')) as [http.IncomingMessage];
    expect([answer.statusCode, answer.headers.connection]).toEqual([408, 'close']);
    expect(answer.headers['proxy-status']).toBe('agent-registry; error=http_request_denied');
    expect(JSON.parse(String((await answer.toArray())[0]))).toMatchObject({ code: 'request_timeout' });
    await until(() => isAborted);
    await upstream.close();
  }, 30_000);
});
