import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { sharedApp } from '#testing';
import { TraceEndpoint, tracedTo } from './tracing.fixture';

/** The last command of `npm start`. */
const START = `await import('${pathToFileURL(path.resolve('dist/src/standalone.js')).href}')`;

describe('the traces of the standalone process', () => {
  const app = sharedApp();
  let endpoint: TraceEndpoint;
  let directory: string;
  let service: ChildProcess;

  beforeAll(async () => {
    endpoint = await TraceEndpoint.listen();
    directory = mkdtempSync(path.join(os.tmpdir(), 'standalone-'));
    service = spawn(process.execPath, ['--input-type=module', '--eval', START], {
      env: { PATH: process.env.PATH, ...app.env, DATA_DIR: directory, PORT: '0', ...tracedTo(endpoint) },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  });
  afterAll(async () => {
    service.kill('SIGKILL');
    await endpoint.close();
    rmSync(directory, { recursive: true });
  });

  it('are sent to the configured endpoint with the role standalone', async () => {
    await new Promise<void>((resolve, reject) => {
      let output = '';
      service.stdout!.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        if (output.includes('Try it:')) resolve();
      });
      service.once('exit', (code) => reject(new Error(`It ended with ${code}: ${output}`)));
    });
    const reported = JSON.parse(readFileSync(path.join(directory, 'bootstrap.json'), 'utf8')) as {
      base_url: string;
      api_key: string;
    };
    const answer = await fetch(`${reported.base_url}/registry/v1/me`, {
      headers: { Authorization: `Bearer ${reported.api_key}` },
    });
    expect(answer.status).toBe(200);
    const [span] = await endpoint.received(({ name }) => name === 'GET /registry/v1/me');
    expect(span!.resource.attributes).toMatchObject({ 'registry.role': 'standalone' });
    const exited = once(service, 'exit');
    service.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  }, 120_000);
});
