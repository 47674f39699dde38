import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTestApp, newOrganization, type TestApp, type TestOrganization } from '#testing';

type Line = Record<string, unknown>;

const SECRET = 'what-nobody-else-may-read';

describe('the log of a process', () => {
  let app: TestApp;
  let org: TestOrganization;
  let child: ChildProcess;
  let output = '';
  let url: string;

  beforeAll(async () => {
    app = await createTestApp();
    org = await newOrganization(app);
    child = spawn(process.execPath, ['dist/src/main.js'], {
      env: { PATH: process.env.PATH, ...app.env, PORT: '0', HOST: '127.0.0.1', LOG_LEVEL: 'info' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    child.stdout!.setEncoding('utf8').on('data', (text: string) => (output += text));
    url = String((await lineWith(({ msg }) => msg === 'the API is listening')).url);
  }, 60_000);
  afterAll(async () => {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    await app.close();
  });

  const lines = (): Line[] =>
    output
      .slice(0, output.lastIndexOf('\n') + 1)
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Line);

  async function lineWith(holds: (line: Line) => boolean): Promise<Line> {
    for (;;) {
      const found = lines().find(holds);
      if (found) return found;
      await sleep(10);
    }
  }

  /** The line of a request, which comes after its answer. */
  async function logged(path: string, request: RequestInit): Promise<Line> {
    const answer = await fetch(`${url}${path}`, request);
    const id = answer.headers.get('x-request-id');
    return lineWith((line) => line.request_id === id && line.msg === 'request');
  }

  const headers = async (): Promise<Record<string, string>> => ({
    authorization: `Bearer ${await org.token('viewer')}`,
    'x-service-workspace-id': org.workspaceId,
    'content-type': 'application/json',
  });

  it('has a JSON line for each request with route, status and principal', async () => {
    expect(await logged('/eval/v1/datasets?limit=1', { headers: await headers() })).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      pid: child.pid,
      msg: 'request',
      request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      method: 'GET',
      route: '/eval/v1/datasets',
      status: 200,
      completed: true,
      duration_ms: expect.any(Number),
      org_id: org.orgId,
      workspace_id: org.workspaceId,
      principal_id: expect.stringMatching(/./),
    });
  });

  it('has the route of refused requests too', async () => {
    const path = '/eval/v1/datasets/ds_1';
    const route = '/eval/v1/datasets/:dataset_id';
    expect(await logged(path, {})).toMatchObject({ route, status: 401, principal_id: null });
    const refused = await logged(path, { method: 'PATCH', headers: await headers(), body: '{}' });
    expect(refused).toMatchObject({ route, status: 403, org_id: org.orgId });
    expect(await logged('/eval/v1/nothing', {})).toMatchObject({ route: null, status: 404 });
  });

  it('holds no token, key, query or body', async () => {
    const given = await headers();
    const { key } = await org.serviceAccount('editor');
    const body = JSON.stringify({ workspace_id: org.workspaceId, name: SECRET });
    for (const authorization of [given.authorization!, `Bearer ${key}`, `Bearer ${SECRET}.x.y`]) {
      await logged('/eval/v1/datasets', { method: 'POST', headers: { ...given, authorization }, body });
    }
    await logged(`/eval/v1/datasets?q=${SECRET}`, { headers: given });
    await logged('/registry/v1/tokens', { method: 'POST', headers: given, body: `{"api_key":"${key}"}` });
    for (const secret of [SECRET, key, given.authorization!.slice('Bearer '.length)]) {
      expect(output).not.toContain(secret);
    }
  });
});
