import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { tracedApp } from './traced-app.harness';

describe('tracing of a process that Node starts with --import agent-registry/otel', () => {
  const traced = tracedApp();

  const run = async (ending: string, env: NodeJS.ProcessEnv, args = ['--import', 'agent-registry/otel']) => {
    const script = path.resolve('dist/test/clients/typescript/traced-agent.child.js');
    const child = spawn(process.execPath, [...args, script, ending], {
      cwd: 'clients/typescript', // where the package knows its own name
      env: { PATH: process.env.PATH, OTEL_SERVICE_NAME: 'agent', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const log = text(child.stderr);
    const [printed] = (await once(child.stdout, 'data')) as [Buffer];
    if (ending !== 'status') child.kill('SIGTERM');
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
    return { code, signal, traceId: String(printed).trim(), log: await log };
  };

  it.each([
    ['status', { code: 3, signal: null }, undefined],
    ['signal', { code: null, signal: 'SIGTERM' }, undefined],
    ['listener', { code: 4, signal: null }, []],
  ])('sends what is left, and ends in the same way: by a %s', async (ending, expected, args) => {
    const { workspaceId } = traced.client;
    const env = {
      SERVICE_URL: traced.app.url,
      SERVICE_API_KEY: traced.apiKey,
      SERVICE_WORKSPACE_ID: workspaceId!,
    };
    const { traceId, ...ended } = await run(ending, env, args);
    expect(ended).toEqual({ ...expected, log: '' });
    const { body } = await traced.api.get(`/telemetry/v1/traces/${traceId}`);
    expect(body).toMatchObject({
      root_name: 'answer',
      service_name: 'agent',
      input: 'why?',
      output: 'WHY?',
    });
  });

  it('starts nothing without a configuration, and says so; nor without that argument', async () => {
    const { code, log, traceId } = await run('status', { HOME: '/nonexistent' });
    expect([code, traceId]).toEqual([3, 'no trace']);
    expect(log).toMatch(/^agent-registry: No traces are sent\. .*SERVICE_URL/s);
    const env = { SERVICE_URL: traced.app.url, SERVICE_API_KEY: traced.apiKey };
    expect(await run('status', env, [])).toMatchObject({ code: 3, traceId: 'no trace', log: '' });
  });
});
