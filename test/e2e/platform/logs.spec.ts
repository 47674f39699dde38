import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { sharedApp, newOrganization, type TestOrganization } from '#testing';

type Line = Record<string, unknown>;

const SECRET = 'what-nobody-else-may-read';

describe('the log of a process', () => {
  const app = sharedApp();
  let org: TestOrganization;
  let child: ChildProcess;
  let output = '';
  let url: string;

  beforeAll(async () => {
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
  });

  const lines = (): Line[] =>
    output
      .slice(0, output.lastIndexOf('\n') + 1)
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Line);

  async function lineWith(isMatch: (line: Line) => boolean): Promise<Line> {
    for (;;) {
      const line = lines().find(isMatch);
      if (line) return line;
      await sleep(10);
    }
  }

  /** Sends a request. Returns its log line, which is written after the response. */
  async function requestLine(path: string, request: RequestInit): Promise<Line> {
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
    expect(await requestLine('/eval/v1/datasets?limit=1', { headers: await headers() })).toEqual({
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

  it('has the route of rejected requests', async () => {
    const path = '/eval/v1/datasets/ds_1';
    const route = '/eval/v1/datasets/:dataset_id';
    expect(await requestLine(path, {})).toMatchObject({ route, status: 401, principal_id: null });
    const rejected = await requestLine(path, { method: 'PATCH', headers: await headers(), body: '{}' });
    expect(rejected).toMatchObject({ route, status: 403, org_id: org.orgId });
    expect(await requestLine('/eval/v1/nothing', {})).toMatchObject({ route: null, status: 404 });
  });

  it('contains no token, key, query or body', async () => {
    const credentials = await headers();
    const { key } = await org.serviceAccount('editor');
    const body = JSON.stringify({ workspace_id: org.workspaceId, name: SECRET });
    for (const authorization of [credentials.authorization!, `Bearer ${key}`, `Bearer ${SECRET}.x.y`]) {
      await requestLine('/eval/v1/datasets', {
        method: 'POST',
        headers: { ...credentials, authorization },
        body,
      });
    }
    await requestLine(`/eval/v1/datasets?q=${SECRET}`, { headers: credentials });
    await requestLine('/registry/v1/tokens', {
      method: 'POST',
      headers: credentials,
      body: `{"api_key":"${key}"}`,
    });
    for (const secret of [SECRET, key, credentials.authorization!.slice('Bearer '.length)]) {
      expect(output).not.toContain(secret);
    }
  });
});
