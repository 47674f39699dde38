import { Agent, request } from 'node:http';
import { ownApp } from '#testing';
import { FileCallers, FORM_TYPE, formOf, newBytes, NO_FILES, ONE_FILE, sha256Of } from './files.fixture';

describe('an upload with an Idempotency-Key', () => {
  const app = ownApp({ env: { FILE_LIMIT_BYTES: '2000000' } });
  let callers: FileCallers;

  beforeEach(async () => {
    callers = await FileCallers.of(app);
  });

  const key = { 'idempotency-key': 'first' };

  it('runs once, and replays its response', async () => {
    const content = newBytes(1_000_000);
    const first = await callers.upload(content, {}, key);
    expect([first.status, first.headers.get('idempotency-replayed')]).toEqual([201, null]);
    for (let n = 0; n < 3; n++) {
      const again = await callers.upload(content, {}, key);
      expect([again.status, again.body, again.headers.get('idempotency-replayed')]).toEqual([
        201,
        first.body,
        'true',
      ]);
      expect(again.headers.get('location')).toBe(first.headers.get('location'));
      expect(again.headers.get('etag')).toBe(first.headers.get('etag'));
    }
    expect(await callers.counts()).toEqual(ONE_FILE);
  });

  it('replays an empty upload and the upload of a form', async () => {
    const body = formOf(callers.form('content'));
    const uploads = [
      () => callers.upload('', { name: 'empty' }, key),
      () =>
        callers.editor.post('/file/v1/files', body, { 'content-type': FORM_TYPE, 'idempotency-key': 'form' }),
    ];
    for (const upload of uploads) {
      const [first, again] = [await upload(), await upload()];
      expect([first.status, again.status, again.headers.get('idempotency-replayed')]).toEqual([
        201,
        201,
        'true',
      ]);
      expect(again.body).toEqual(first.body);
    }
    expect((await callers.counts()).files).toBe(2);
  });

  it('replays a version', async () => {
    const { path } = await callers.created('one');
    const add = () =>
      callers.editor.post(`${path}/versions`, Buffer.from('two'), { 'content-type': 'a/b', ...key });
    const [first, again] = [await add(), await add()];
    expect([first.status, again.status, again.body]).toEqual([201, 201, first.body]);
    expect((await callers.counts()).versions).toBe(2);
  });

  it('returns 422 with other bytes, another query or another media type', async () => {
    await callers.upload('one', { name: 'a' }, key);
    const others = [
      await callers.upload('two', { name: 'a' }, key),
      await callers.upload('', { name: 'a' }, key),
      await callers.upload('one', { name: 'b' }, key),
      await callers.upload('one', { name: 'a' }, { ...key, 'content-type': 'text/plain' }),
      await callers.upload(newBytes(1_999_999), { name: 'a' }, key),
    ];
    expect(others.map(({ status, body }) => [status, body.code])).toEqual(
      others.map(() => [422, 'validation_failed']),
    );
    expect(await callers.counts()).toEqual(ONE_FILE);
  });

  it('returns 409 while the first one is running', async () => {
    const first = callers.connection(`POST ${callers.pathOf()}`, {
      ...key,
      'content-type': 'text/plain',
      'content-length': '10',
    });
    await first.write('12345');
    await callers.untilCounts({ ...NO_FILES, writes: 1, incomplete: 1 });
    const second = await callers.upload('1234567890', {}, { ...key, 'content-type': 'text/plain' });
    expect([second.status, second.body.code]).toEqual([409, 'conflict']);
    await first.write('67890');
    expect(await first.response()).toMatch(/^HTTP\/1.1 201 /);
    first.socket.destroy();
    const third = await callers.upload('1234567890', {}, { ...key, 'content-type': 'text/plain' });
    expect([third.status, third.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
    expect(await callers.counts()).toEqual(ONE_FILE);
  });

  it('can be repeated after it was rejected or interrupted', async () => {
    await callers.created('x', { name: 'taken' });
    expect((await callers.upload('y', { name: 'taken' }, key)).status).toBe(409);
    const broken = callers.connection(`POST ${callers.pathOf({ name: 'free' })}`, {
      ...key,
      'content-length': '1000',
    });
    await broken.write('12345');
    await callers.untilCounts({ ...ONE_FILE, writes: 1, incomplete: 1 });
    broken.reset();
    await callers.untilCounts(ONE_FILE);
    const released = async (): Promise<number> => (await callers.upload('y', { name: 'free' }, key)).status;
    let status = await released();
    while (status === 409) status = await released();
    expect(status).toBe(201);
  });

  it('reads the body of a repeat, so that the connection stays usable', async () => {
    const content = newBytes(1_500_000);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const send = (body: Buffer, headers: Record<string, string>): Promise<[number, number]> =>
      new Promise((resolve, reject) => {
        const sent = request(app.url + callers.pathOf({ name: 'kept' }), {
          method: 'POST',
          agent,
          headers: { authorization: `Bearer ${callers.token}`, ...headers },
        });
        sent.once('error', reject).once('response', (answer) => {
          const { localPort } = answer.socket;
          answer.resume().once('end', () => resolve([answer.statusCode!, localPort!]));
        });
        sent.end(body);
      });
    const [[first, port], ...rest] = [
      await send(content, key),
      await send(content, key),
      await send(newBytes(1_500_000), key),
      await send(content, key),
    ];
    expect([first, ...rest.map(([status]) => status)]).toEqual([201, 201, 422, 201]);
    expect(rest.map(([, one]) => one)).toEqual(rest.map(() => port));
    agent.destroy();
    const [row] = await app.database.query<{ sha256: string }>('SELECT sha256 FROM files WHERE org_id = $1', [
      callers.org.orgId,
    ]);
    expect(row!.sha256).toBe(sha256Of(content));
  });

  it('is not replayed to a caller who has lost the role in the workspace', async () => {
    const { admin, org } = callers;
    const member = `/registry/v1/workspaces/${org.workspaceId}/members/ada`;
    await admin.post('/registry/v1/users', { user_id: 'ada' });
    await admin.put(member, { roles: ['editor'] });
    const otherWorkspace = await org.newWorkspace();
    await admin.put(`/registry/v1/workspaces/${otherWorkspace}/members/ada`, { roles: ['editor'] });
    const ada = app.api(await org.tokenOf('ada', { roles: [] }));
    expect((await callers.upload('x', {}, key, ada)).status).toBe(201);
    await admin.delete(member);
    expect(await callers.upload('x', {}, key, ada)).toMatchObject({
      status: 403,
      body: { code: 'access_denied' },
    });
  });
});
